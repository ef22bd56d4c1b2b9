/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The window: shows the page that fits the engine's state. What it can do lies in ska-window-actions.c, as actions "win.…". */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_WINDOW (ska_window_get_type ())
G_DECLARE_FINAL_TYPE (SkaWindow, ska_window, SKA, WINDOW, AdwApplicationWindow)

SkaWindow *ska_window_new (GtkApplication *application, SkEngine *engine);
SkEngine *ska_window_get_engine (SkaWindow *self);                /* (transfer none) */
/* A short word at the bottom that goes by itself. @text is not markup. */
void ska_window_toast (SkaWindow *self, const char *text);
