/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes: finding, making and listing them. What changes their state is in sk-index-states.c. */
#include "sk-index-private.h"

#include <string.h>

/* In the order of SK_NODE_COLUMNS. */
enum
{
  COL_ROW, COL_FOLDER, COL_PARENT, COL_NAME, COL_GENERATION, COL_LIVE_CHILDREN, COL_HOLD, COL_DIRTY, COL_MODE_STAMPS,
  COL_BASE_KIND, COL_BASE_VERSION, COL_BASE_VECTOR, COL_BASE_CONTENT, COL_BASE_MODE, COL_BASE_MTIME, COL_BASE_SIZE,
  COL_BASE_INO, COL_BASE_DEV, COL_BASE_STAT_MTIME, COL_BASE_CTIME, COL_BASE_BTIME, COL_BASE_MOUNT_ROOT, COL_BASE_UNPROVEN,
  COL_TARGET_KIND, COL_TARGET_VERSION, COL_TARGET_CONTENT, COL_TARGET_SIZE, COL_TARGET_MODE, COL_TARGET_MTIME
};

void
sk_base_clear (SkBase *self)
{
  g_clear_pointer (&self->vector, sk_vector_unref);
  memset (self, 0, sizeof *self);
}

void
sk_node_free (SkNode *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->base.vector, sk_vector_unref);
  g_free (self->name);
  g_free (self);
}

/* --- reading a row --- */

/* A name goes into paths that are opened: whatever happened to the file, it is one component. */
gboolean
sk_node_name_is_sound (const char *name, gsize len)
{
  return len > 0 && len <= SK_NAME_MAX && memchr (name, 0, len) == NULL && memchr (name, '/', len) == NULL
         && !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

static char *
read_name (SkStatement *statement, int at, gboolean *damaged)
{
  gsize len;
  const char *name = sk_col_blob (statement, at, &len);

  if (!sk_node_name_is_sound (name, len))
    {
      *damaged = TRUE;
      return g_strdup ("");
    }
  return g_strndup (name, len);
}

/* See encode_stamps in sk-index-node-cache.c. */
static gboolean
read_stamps (SkIndex *self, SkStatement *statement, SkModeStamp out[2], GError **error)
{
  gsize len;
  const guint8 *data = sk_col_blob (statement, COL_MODE_STAMPS, &len);
  SkReader reader;

  if (data == NULL)
    return TRUE;
  sk_reader_init (&reader, data, len);
  for (int i = 0; i < 2; i++)
    {
      gint64 writer = (gint64) sk_reader_varint (&reader, G_MAXINT64);

      out[i].lamport = sk_reader_varint (&reader, G_MAXUINT64);
      out[i].mode = (guint32) sk_reader_varint (&reader, G_MAXUINT32);
      out[i].set = writer != 0;
      if (reader.failed)
        break;
      if (out[i].set && !sk_interned_id (self, writer, &out[i].writer, error))
        return FALSE;
    }
  return sk_reader_done (&reader) ? TRUE : sk_index_damaged (self, "the mode of a node is impossible", error);
}

static gboolean
read_base (SkIndex *self, SkStatement *statement, SkBase *base, gboolean *damaged, GError **error)
{
  gsize len;
  const guint8 *vector = sk_col_blob (statement, COL_BASE_VECTOR, &len);

  if (vector != NULL)
    {
      base->vector = sk_vector_decode (vector, len, error);
      if (base->vector == NULL)
        return FALSE;
    }
  base->kind = sk_col_bounded (statement, COL_BASE_KIND, SK_KIND_SYMLINK, damaged);
  if (base->kind == SK_KIND_NONE)
    return TRUE;
  base->version = sk_col_int (statement, COL_BASE_VERSION);
  base->content = sk_col_int (statement, COL_BASE_CONTENT);
  base->mode = sk_col_bounded (statement, COL_BASE_MODE, G_MAXUINT, damaged);
  base->mtime = sk_col_int (statement, COL_BASE_MTIME);
  base->size = (guint64) sk_col_int (statement, COL_BASE_SIZE);
  base->ino = (guint64) sk_col_int (statement, COL_BASE_INO);
  base->dev = (guint64) sk_col_int (statement, COL_BASE_DEV);
  base->stat_mtime = sk_col_int (statement, COL_BASE_STAT_MTIME);
  base->ctime = sk_col_int (statement, COL_BASE_CTIME);
  base->btime = sk_col_int (statement, COL_BASE_BTIME);
  base->mount_root = sk_col_int (statement, COL_BASE_MOUNT_ROOT) != 0;
  base->unproven = sk_col_int (statement, COL_BASE_UNPROVEN) != 0;
  return TRUE;
}

static void
read_target (SkStatement *statement, SkTarget *target, gboolean *damaged)
{
  target->kind = sk_col_bounded (statement, COL_TARGET_KIND, SK_KIND_SYMLINK, damaged);
  if (target->kind == SK_KIND_NONE)
    return;
  target->version = sk_col_int (statement, COL_TARGET_VERSION);
  target->content = sk_col_int (statement, COL_TARGET_CONTENT);
  target->size = (guint64) sk_col_int (statement, COL_TARGET_SIZE);
  target->mode = sk_col_bounded (statement, COL_TARGET_MODE, G_MAXUINT, damaged);
  target->mtime = sk_col_int (statement, COL_TARGET_MTIME);
}

static SkNode *
read_node (SkIndex *self, SkStatement *statement, GError **error)
{
  g_autoptr(SkNode) node = g_new0 (SkNode, 1);
  gboolean damaged = FALSE;
  g_autoptr(GError) why = NULL;

  node->row = sk_col_int (statement, COL_ROW);
  node->folder = sk_col_int (statement, COL_FOLDER);
  node->parent = MAX (sk_col_int (statement, COL_PARENT), 0);
  node->name = read_name (statement, COL_NAME, &damaged);
  node->generation = sk_col_bounded (statement, COL_GENERATION, G_MAXUINT32, &damaged);
  node->live_children = sk_col_int (statement, COL_LIVE_CHILDREN);
  node->hold = sk_col_bounded (statement, COL_HOLD, G_MAXUINT32, &damaged);
  node->dirty = sk_col_int (statement, COL_DIRTY) != 0;
  if (!read_stamps (self, statement, node->mode_stamp, error))
    return NULL;
  read_target (statement, &node->target, &damaged);
  if (!read_base (self, statement, &node->base, &damaged, &why) || damaged)
    return sk_index_damaged (self, why != NULL ? why->message : "a node is impossible", error), NULL;
  return g_steal_pointer (&node);
}

SkNode *
sk_node_read_row (SkIndex *self, gint64 row, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_GET, error);

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, row);
  return sk_step (self, statement, error) == SK_STEP_ROW ? read_node (self, statement, error) : NULL;
}

static GPtrArray *
read_all (SkIndex *self, SkStatement *statement, GError **error)
{
  g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_node_free);
  SkStep step;

  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkNode *node = read_node (self, statement, error);

      if (node == NULL)
        return NULL;
      g_ptr_array_add (nodes, node);
    }
  return step == SK_STEP_DONE ? g_steal_pointer (&nodes) : NULL;
}

/* --- paths --- */

static gboolean
find_child (SkIndex *self, gint64 folder, gint64 parent, const char *name, gsize len, gint64 *row, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;

  *row = sk_cached_node_find (self, folder, parent, name, len);
  if (*row != 0)
    return TRUE;
  statement = sk_sql (self, SK_SQL_NODE_FIND, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, parent);
  sk_bind_blob (statement, 2, name, len);
  return sk_read_int (self, statement, 0, row, error);
}

/* The row of the child, made when there is none; 0 on error. */
static gint64
ensure_child (SkIndex *self, gint64 folder, gint64 parent, const char *name, gsize len, GError **error)
{
  gint64 row;

  if (!find_child (self, folder, parent, name, len, &row, error) || row != 0)
    return row;
  return sk_cached_node_add (self, folder, parent, name, len, error);
}

/* Length of the parent's path in the first @len bytes of @path. */
static gsize
parent_length (const char *path, gsize len)
{
  const char *slash = memrchr (path, '/', len);

  return slash != NULL ? (gsize) (slash - path) : 0;
}

/* The value of the column "parent" for what lies in the directory of the first @len bytes of @path. *@parent is 0 when there is no
 * such directory; with @create it is made. */
static gboolean
resolve_directory (SkIndex *self, gint64 folder, const char *path, gsize len, gboolean create, gint64 *parent, GError **error)
{
  gsize at = len;
  gint64 row = 0;

  while (at > 0 && (row = sk_parent_cache_row (self->parents, folder, path, at)) == 0)
    at = parent_length (path, at);
  if (at == 0)
    row = SK_TOP_PARENT (folder);

  while (at < len && row != 0)
    {
      gsize start = at == 0 ? 0 : at + 1;
      const char *slash = memchr (path + start, '/', len - start);
      gsize end = slash != NULL ? (gsize) (slash - path) : len;
      gint64 child = 0;

      if (create)
        child = ensure_child (self, folder, row, path + start, end - start, error);
      if (create ? child == 0 : !find_child (self, folder, row, path + start, end - start, &child, error))
        return FALSE;
      if (child != 0)
        sk_parent_cache_add (self->parents, folder, path, end, child);
      row = child;
      at = end;
    }
  *parent = row;
  return TRUE;
}

SkNode *
sk_index_node (SkIndex *self, gint64 folder, const char *path, GError **error)
{
  const char *name = sk_path_name (path);
  gint64 parent, row;

  if (!resolve_directory (self, folder, path, parent_length (path, strlen (path)), FALSE, &parent, error) || parent == 0)
    return NULL;
  return find_child (self, folder, parent, name, strlen (name), &row, error) && row != 0 ? sk_index_node_by_row (self, row, error) : NULL;
}

SkNode *
sk_index_node_by_row (SkIndex *self, gint64 row, GError **error)
{
  SkCachedNode *cached = sk_cached_node (self, row, error);

  return cached != NULL ? sk_node_copy (&cached->node) : NULL;
}

gint64
sk_index_node_ensure (SkIndex *self, gint64 folder, const char *path, GError **error)
{
  gsize len = strlen (path);
  const char *name = sk_path_name (path);
  gint64 parent;

  if (folder <= 0 || !sk_path_check (path, len, error))
    return 0;
  if (!resolve_directory (self, folder, path, parent_length (path, len), TRUE, &parent, error))
    return 0;
  return ensure_child (self, folder, parent, name, strlen (name), error);
}

gboolean
sk_index_node_place (SkIndex *self, gint64 row, gint64 *folder, gint64 *parent, char **name, GError **error)
{
  SkCachedNode *cached = sk_cached_node (self, row, error);

  if (cached == NULL)
    return FALSE;
  *folder = cached->node.folder;
  *parent = cached->node.parent;
  if (name != NULL)
    *name = g_strdup (cached->node.name);
  return TRUE;
}

/* Names from @row upwards until the top (*@known NULL) or a directory whose path is in memory. */
static GPtrArray *
names_upwards (SkIndex *self, gint64 row, gint64 *folder, gint64 *parent, const char **known, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  gint64 at = row;

  *known = NULL;
  while (at > 0 && *known == NULL)
    {
      g_autoptr(GError) why = NULL;
      char *name = NULL;

      /* A ring of parents in a damaged file must not turn for ever. */
      if (names->len > SK_DEPTH_MAX || !sk_index_node_place (self, at, folder, &at, &name, &why))
        {
          g_free (name);
          if (why == NULL)
            return sk_index_damaged (self, "a node has no way to the top of its folder", error), NULL;
          g_propagate_error (error, g_steal_pointer (&why));
          return NULL;
        }
      g_ptr_array_add (names, name);
      if (names->len == 1)
        *parent = at;
      *known = at > 0 ? sk_parent_cache_path (self->parents, at) : NULL;
    }
  return names->len > 0 ? g_steal_pointer (&names) : (sk_index_damaged (self, "a node is missing", error), NULL);
}

char *
sk_index_node_locate (SkIndex *self, gint64 row, gint64 *folder, GError **error)
{
  gint64 parent = 0;
  const char *known;
  g_autoptr(GPtrArray) names = names_upwards (self, row, folder, &parent, &known, error);
  g_autoptr(GString) path = NULL;

  if (names == NULL)
    return NULL;
  path = g_string_new (known);
  for (guint i = names->len; i > 1; i--)
    g_string_append_printf (path, "%s%s", path->len > 0 ? "/" : "", (const char *) g_ptr_array_index (names, i - 1));
  /* The parent is worth knowing: its other children are likely to be asked for next. */
  if (names->len > 1)
    sk_parent_cache_add (self->parents, *folder, path->str, path->len, parent);
  g_string_append_printf (path, "%s%s", path->len > 0 ? "/" : "", (const char *) g_ptr_array_index (names, 0));
  return g_string_free (g_steal_pointer (&path), FALSE);
}

char *
sk_index_node_path (SkIndex *self, gint64 row, GError **error)
{
  gint64 folder;

  return sk_index_node_locate (self, row, &folder, error);
}

/* --- lists --- */

GPtrArray *
sk_index_children (SkIndex *self, gint64 folder, gint64 parent, gboolean with_base, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, with_base ? SK_SQL_NODE_CHILDREN_BASE : SK_SQL_NODE_CHILDREN, error);

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, parent > 0 ? parent : SK_TOP_PARENT (folder));
  return read_all (self, statement, error);
}

/* Three numbers are all that these questions have. */
static GPtrArray *
list (SkIndex *self, SkSql id, gint64 a, gint64 b, gint64 c, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, id, error);
  int n;

  if (statement == NULL)
    return NULL;
  n = sqlite3_bind_parameter_count (statement);
  sk_bind_int (statement, 1, a);
  sk_bind_int (statement, 2, b);
  if (n > 2)
    sk_bind_int (statement, 3, c);
  return read_all (self, statement, error);
}

GPtrArray *
sk_index_dirty (SkIndex *self, gint64 folder, gint64 after_row, guint limit, GError **error)
{
  return list (self, SK_SQL_NODE_DIRTY, folder, after_row, limit, error);
}

GPtrArray *
sk_index_dirty_part (SkIndex *self, gint64 folder, gboolean gone, gint64 after_row, guint limit, GError **error)
{
  g_autoptr(GPtrArray) nodes = list (self, gone ? SK_SQL_NODE_DIRTY_GONE : SK_SQL_NODE_DIRTY_WANTED, folder, after_row, limit, error);

  /* Who asks for a part is about to ask for each of them by itself, and to change it. */
  return nodes != NULL && sk_cached_nodes_take (self, nodes, error) ? g_steal_pointer (&nodes) : NULL;
}

GPtrArray *
sk_index_held (SkIndex *self, gint64 folder, guint32 mask, guint limit, GError **error)
{
  return list (self, SK_SQL_NODE_HELD, folder, mask, limit, error);
}

GPtrArray *
sk_index_nodes_by_inode (SkIndex *self, gint64 folder, guint64 ino, GError **error)
{
  return list (self, SK_SQL_NODE_INODE, folder, (gint64) ino, 0, error);
}

GPtrArray *
sk_index_nodes_by_content (SkIndex *self, gint64 content, guint limit, GError **error)
{
  return list (self, SK_SQL_NODE_CONTENT, content, limit, 0, error);
}

gboolean
sk_index_content_is_elsewhere (SkIndex *self, gint64 folder, gint64 content, GHashTable *except, guint limit, gboolean *elsewhere,
                               GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_CONTENT_ROWS, error);
  SkStep step = SK_STEP_DONE;

  *elsewhere = FALSE;
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, content);
  sk_bind_int (statement, 2, limit);
  while (!*elsewhere && (step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      gint64 row = sk_col_int (statement, 0);

      *elsewhere = sk_col_int (statement, 1) == folder && sk_col_int (statement, 2) == SK_KIND_FILE && !g_hash_table_contains (except, &row);
    }
  return step != SK_STEP_ERROR;
}

GArray *
sk_index_node_rows (SkIndex *self, gint64 after_row, guint limit, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_ROWS, error);
  g_autoptr(GArray) rows = g_array_new (FALSE, FALSE, sizeof (gint64));
  SkStep step;

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, after_row);
  sk_bind_int (statement, 2, limit);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      gint64 row = sk_col_int (statement, 0);

      g_array_append_val (rows, row);
    }
  return step == SK_STEP_DONE ? g_steal_pointer (&rows) : NULL;
}
