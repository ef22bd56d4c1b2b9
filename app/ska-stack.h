/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages of a stack, of which a screen reader shall see the one that is shown. */
#pragma once
#include <gtk/gtk.h>

/* Shows the page with this name and hides all others: GTK 4.8 tells a screen reader of every page that is not hidden itself. */
void ska_stack_show (GtkStack *stack, const char *name);
