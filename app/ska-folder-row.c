/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-folder-row.h"

struct _SkaFolderRow
{
  SkaItemRow parent_instance;
  GtkWidget *attach;
  GtkWidget *more;
};

G_DEFINE_FINAL_TYPE (SkaFolderRow, ska_folder_row, SKA_TYPE_ITEM_ROW)

static void
ska_folder_row_refresh (SkaItemRow *row, SkItem *folder)
{
  SkaFolderRow *self = SKA_FOLDER_ROW (row);
  const char *state = sk_item_get_string (folder, "state");
  gboolean here = !g_str_equal (state, "detached");
  gboolean moving = g_str_equal (state, "syncing") && sk_item_get_number (folder, "dirty-files") > 0;
  g_autofree char *line = ska_words_folder (folder);
  g_autofree char *detail = ska_words_folder_detail (folder);

  ska_item_row_set_lines (row, line, detail);
  ska_item_row_set_look (row, ska_words_folder_look (state));
  ska_item_row_set_progress (row, moving ? sk_item_get_double (folder, "progress") : -1);
  gtk_widget_set_visible (self->attach, !here);
  gtk_widget_set_visible (self->more, here);
}

static void
ska_folder_row_class_init (SkaFolderRowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  SKA_ITEM_ROW_CLASS (class)->refresh = ska_folder_row_refresh;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-folder-row.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaFolderRow, attach);
  gtk_widget_class_bind_template_child (widget_class, SkaFolderRow, more);
}

static void
ska_folder_row_init (SkaFolderRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  ska_item_row_set_icon (SKA_ITEM_ROW (self), "folder-symbolic");
}

GtkWidget *
ska_folder_row_new (SkItem *folder)
{
  return g_object_new (SKA_TYPE_FOLDER_ROW, "item", folder, NULL);
}
