/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-storage-row.h"

struct _SkaStorageRow
{
  SkaItemRow parent_instance;
  GtkWidget *attach;
  GtkWidget *more;
};

G_DEFINE_FINAL_TYPE (SkaStorageRow, ska_storage_row, SKA_TYPE_ITEM_ROW)

static void
ska_storage_row_refresh (SkaItemRow *row, SkItem *storage)
{
  SkaStorageRow *self = SKA_STORAGE_ROW (row);
  const char *state = sk_item_get_string (storage, "state");
  const char *uri = sk_item_get_string (storage, "uri");
  gboolean here = !g_str_equal (state, "detached");
  gboolean disk = *uri == '\0' || *uri == '/' || g_str_has_prefix (uri, "file:");
  g_autofree char *line = ska_words_storage (storage);
  g_autofree char *detail = ska_words_storage_detail (storage);

  ska_item_row_set_icon (row, disk ? "drive-harddisk-symbolic" : "network-server-symbolic");
  ska_item_row_set_lines (row, line, detail);
  ska_item_row_set_look (row, ska_words_storage_look (state));
  gtk_widget_set_visible (self->attach, !here);
  gtk_widget_set_visible (self->more, here);
}

static void
ska_storage_row_class_init (SkaStorageRowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  SKA_ITEM_ROW_CLASS (class)->refresh = ska_storage_row_refresh;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-storage-row.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaStorageRow, attach);
  gtk_widget_class_bind_template_child (widget_class, SkaStorageRow, more);
}

static void
ska_storage_row_init (SkaStorageRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
ska_storage_row_new (SkItem *storage)
{
  return g_object_new (SKA_TYPE_STORAGE_ROW, "item", storage, NULL);
}
