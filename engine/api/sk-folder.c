/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-folder.h"

struct _SkFolder { SkItem parent_instance; };
G_DEFINE_FINAL_TYPE (SkFolder, sk_folder, SK_TYPE_ITEM)

static double
progress_of (GVariant *dictionary)
{
  guint64 bytes = 0;
  guint64 dirty = 0;

  g_variant_lookup (dictionary, "bytes", "t", &bytes);
  g_variant_lookup (dictionary, "dirty-bytes", "t", &dirty);
  if (dirty == 0)
    return 1;
  /* What is dirty may be more than what there is: deletions that wait, replaced files. */
  return dirty >= bytes ? 0 : 1 - (double) dirty / (double) bytes;
}

static const SkItemField fields[] = {
  { "id", SK_ITEM_STRING, "id", NULL },
  { "name", SK_ITEM_STRING, "name", NULL },
  { "mode", SK_ITEM_STRING, "mode", NULL },
  { "state", SK_ITEM_STRING, "state", NULL },
  { "message", SK_ITEM_STRING, "message", NULL },
  { "path", SK_ITEM_FILENAME, "path", NULL },
  { "display-path", SK_ITEM_DISPLAY, "path", NULL },
  { "storages", SK_ITEM_STRINGS, "storages", NULL },
  { "files", SK_ITEM_NUMBER, "files", NULL },
  { "dirs", SK_ITEM_NUMBER, "dirs", NULL },
  { "bytes", SK_ITEM_NUMBER, "bytes", NULL },
  { "dirty-files", SK_ITEM_NUMBER, "dirty-files", NULL },
  { "dirty-bytes", SK_ITEM_NUMBER, "dirty-bytes", NULL },
  { "up-queue", SK_ITEM_NUMBER, "up-queue", NULL },
  { "up-bytes", SK_ITEM_NUMBER, "up-bytes", NULL },
  { "up-rate", SK_ITEM_NUMBER, "up-rate", NULL },
  { "down-rate", SK_ITEM_NUMBER, "down-rate", NULL },
  { "issues", SK_ITEM_NUMBER, "issues", NULL },
  { "last-scan", SK_ITEM_TIME, "last-scan", NULL },
  { "progress", SK_ITEM_DOUBLE, NULL, progress_of },
  { NULL, SK_ITEM_STRING, NULL, NULL },
};

static void
sk_folder_class_init (SkFolderClass *class)
{
  sk_item_class_install (SK_ITEM_CLASS (class), fields);
}

static void
sk_folder_init (SkFolder *self)
{
}
