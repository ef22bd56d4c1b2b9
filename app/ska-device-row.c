/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-device-row.h"

struct _SkaDeviceRow { SkaItemRow parent_instance; };
G_DEFINE_FINAL_TYPE (SkaDeviceRow, ska_device_row, SKA_TYPE_ITEM_ROW)

static void
ska_device_row_refresh (SkaItemRow *row, SkItem *device)
{
  g_autofree char *line = ska_words_device (device);

  ska_item_row_set_lines (row, line, "");
  ska_item_row_set_look (row, ska_words_device_look (sk_item_get_string (device, "state")));
}

static void
ska_device_row_class_init (SkaDeviceRowClass *class)
{
  SKA_ITEM_ROW_CLASS (class)->refresh = ska_device_row_refresh;
}

static void
ska_device_row_init (SkaDeviceRow *self)
{
  ska_item_row_set_icon (SKA_ITEM_ROW (self), "computer-symbolic");
}

GtkWidget *
ska_device_row_new (SkItem *device)
{
  return g_object_new (SKA_TYPE_DEVICE_ROW, "item", device, NULL);
}
