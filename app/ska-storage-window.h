/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds a storage to the vault, or says where one of the vault lies as seen from this device. */
#pragma once
#include "ska-window.h"

#define SKA_TYPE_STORAGE_WINDOW (ska_storage_window_get_type ())
G_DECLARE_FINAL_TYPE (SkaStorageWindow, ska_storage_window, SKA, STORAGE_WINDOW, AdwWindow)

/* @name: of a storage the vault has already; NULL: a new one. Belongs to GTK, as every window. */
SkaStorageWindow *ska_storage_window_new (SkaWindow *window, const char *name);
