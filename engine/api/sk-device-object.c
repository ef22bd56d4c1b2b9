/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-device-object.h"

struct _SkDevice { SkItem parent_instance; };
G_DEFINE_FINAL_TYPE (SkDevice, sk_device, SK_TYPE_ITEM)

static const SkItemField fields[] = {
  { "id", SK_ITEM_STRING, "id", NULL },
  { "name", SK_ITEM_STRING, "name", NULL },
  { "state", SK_ITEM_STRING, "state", NULL },
  { "via", SK_ITEM_STRING, "via", NULL },
  { "added-by", SK_ITEM_STRING, "added-by", NULL },
  { "self", SK_ITEM_BOOLEAN, "self", NULL },
  { "last-seen", SK_ITEM_TIME, "last-seen", NULL },
  { "added", SK_ITEM_TIME, "added", NULL },
  { "up-rate", SK_ITEM_NUMBER, "up-rate", NULL },
  { "down-rate", SK_ITEM_NUMBER, "down-rate", NULL },
  { NULL, SK_ITEM_STRING, NULL, NULL },
};

static void
sk_device_class_init (SkDeviceClass *class)
{
  sk_item_class_install (SK_ITEM_CLASS (class), fields);
}

static void
sk_device_init (SkDevice *self)
{
}
