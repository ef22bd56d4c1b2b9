/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything a person can do to a vault that is there. Widgets activate the actions; parameters are ids of the report:
 * add-folder, attach-folder (s), open-folder (s), detach-folder (s), add-storage, attach-storage (s), remove-storage (s), invite, sync,
 * pause, resume, resolve ((ts): issue, choice), recovery. */
#pragma once
#include "ska-window.h"

/* In class_init of the window. */
void ska_window_actions_install (GtkWidgetClass *class);
/* Enables what the state allows; after each change of the state. */
void ska_window_actions_update (SkaWindow *self, SkEngineState state);
/* A directory that a person chose or dropped becomes a folder; asks when a folder of that name waits in the vault. @path: exact bytes. */
void ska_window_actions_take_directory (SkaWindow *self, const char *path);
