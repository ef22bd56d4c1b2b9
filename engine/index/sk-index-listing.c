/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory as a scan needs it: few columns, and one block for all names. Of a million files nearly every one is as it was, and nothing else about
 * it is asked then. */
#include "sk-index-private.h"

#include <string.h>

/* In the order of NODE_LISTING. */
enum { COL_ROW, COL_NAME, COL_KIND, COL_MODE, COL_SIZE, COL_INO, COL_STAT_MTIME, COL_CTIME, COL_MOUNT_ROOT, COL_UNPROVEN };

struct _SkChildList
{
  GArray *children;              /* SkChild; names are set when all are read */
  GByteArray *names;             /* each with its NUL */
};

SkChildList *
sk_child_list_new (void)
{
  SkChildList *self = g_new0 (SkChildList, 1);

  self->children = g_array_new (FALSE, FALSE, sizeof (SkChild));
  self->names = g_byte_array_new ();
  return self;
}

void
sk_child_list_free (SkChildList *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->children);
  g_byte_array_unref (self->names);
  g_free (self);
}

const SkChild *
sk_child_list_get (const SkChildList *self, guint *n)
{
  *n = self->children->len;
  return (const SkChild *) (gconstpointer) self->children->data;
}

static gboolean
read_child (SkChildList *self, SkStatement *statement)
{
  gboolean damaged = FALSE;
  gsize len;
  const char *name = sk_col_blob (statement, COL_NAME, &len);
  SkChild child = { .row = sk_col_int (statement, COL_ROW) };

  if (!sk_node_name_is_sound (name, len))
    return FALSE;
  child.kind = sk_col_bounded (statement, COL_KIND, SK_KIND_SYMLINK, &damaged);
  if (child.kind != SK_KIND_NONE)
    {
      child.mode = sk_col_bounded (statement, COL_MODE, G_MAXUINT, &damaged);
      child.size = (guint64) sk_col_int (statement, COL_SIZE);
      child.ino = (guint64) sk_col_int (statement, COL_INO);
      child.stat_mtime = sk_col_int (statement, COL_STAT_MTIME);
      child.ctime = sk_col_int (statement, COL_CTIME);
      child.mount_root = sk_col_int (statement, COL_MOUNT_ROOT) != 0;
      child.unproven = sk_col_int (statement, COL_UNPROVEN) != 0;
    }
  g_array_append_val (self->children, child);
  g_byte_array_append (self->names, (const guint8 *) name, (guint) len);
  g_byte_array_append (self->names, (const guint8 *) "", 1);
  return !damaged;
}

gboolean
sk_index_child_list (SkIndex *self, gint64 folder, gint64 parent, SkChildList *list, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_LISTING, error);
  const char *name;
  SkStep step;

  g_array_set_size (list->children, 0);
  g_byte_array_set_size (list->names, 0);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, parent > 0 ? parent : SK_TOP_PARENT (folder));
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    if (!read_child (list, statement))
      return sk_index_damaged (self, "a node is impossible", error);
  /* The block has stopped moving. */
  name = (const char *) list->names->data;
  for (guint i = 0; i < list->children->len; i++)
    {
      g_array_index (list->children, SkChild, i).name = name;
      name += strlen (name) + 1;
    }
  return step == SK_STEP_DONE;
}
