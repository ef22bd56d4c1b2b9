/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-storage-object.h"

struct _SkStorage { SkItem parent_instance; };
G_DEFINE_FINAL_TYPE (SkStorage, sk_storage, SK_TYPE_ITEM)

static const SkItemField fields[] = {
  { "id", SK_ITEM_STRING, "id", NULL },
  { "name", SK_ITEM_STRING, "name", NULL },
  { "uri", SK_ITEM_STRING, "uri", NULL },
  { "state", SK_ITEM_STRING, "state", NULL },
  { "message", SK_ITEM_STRING, "message", NULL },
  { "puts", SK_ITEM_NUMBER, "puts", NULL },
  { "gets", SK_ITEM_NUMBER, "gets", NULL },
  { "lists", SK_ITEM_NUMBER, "lists", NULL },
  { "removes", SK_ITEM_NUMBER, "removes", NULL },
  { "errors", SK_ITEM_NUMBER, "errors", NULL },
  { "bytes-up", SK_ITEM_NUMBER, "bytes-up", NULL },
  { "bytes-down", SK_ITEM_NUMBER, "bytes-down", NULL },
  { "up-queue", SK_ITEM_NUMBER, "up-queue", NULL },
  { "last-seen", SK_ITEM_TIME, "last-seen", NULL },
  { NULL, SK_ITEM_STRING, NULL, NULL },
};

static void
sk_storage_class_init (SkStorageClass *class)
{
  sk_item_class_install (SK_ITEM_CLASS (class), fields);
}

static void
sk_storage_init (SkStorage *self)
{
}
