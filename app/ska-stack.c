/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-stack.h"

void
ska_stack_show (GtkStack *stack, const char *name)
{
  GtkWidget *shown = gtk_stack_get_child_by_name (stack, name);

  gtk_widget_show (shown);
  gtk_stack_set_visible_child (stack, shown);
  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (stack)); child != NULL; child = gtk_widget_get_next_sibling (child))
    gtk_widget_set_visible (child, child == shown);
}
