/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The desktop's dialog that chooses a directory. */
#pragma once
#include <gtk/gtk.h>

/* The chosen directory (transfer none). */
typedef void (*SkaChooserFunc) (GFile *directory, gpointer user_data);

/* Over @parent. @done is called at most once, @destroy always, when the dialog has gone. */
void ska_choose_directory (GtkWindow *parent, const char *title, const char *accept, SkaChooserFunc done, gpointer user_data, GDestroyNotify destroy);
