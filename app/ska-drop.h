/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories dropped on a widget become folders. */
#pragma once
#include "ska-window.h"

/* @widget belongs to @window and does not outlive it. */
void ska_drop_accept_directories (GtkWidget *widget, SkaWindow *window);
