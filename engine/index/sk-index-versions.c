/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Versions: every entry of a path that is kept. */
#include "sk-index-private.h"

#include <string.h>

/* In the order of SK_VERSION_SELECT. */
enum
{
  COL_ROW, COL_NODE, COL_MAXIMAL, COL_IS_VIRTUAL, COL_ORIGIN, COL_KIND, COL_FLAGS, COL_VECTOR, COL_LAMPORT, COL_WRITER, COL_WALL,
  COL_DEVICE, COL_META_LAMPORT, COL_META_WRITER, COL_MODE, COL_MTIME, COL_CONTENT, COL_LOG_WRITER, COL_LOG_SEQ,
  COL_HASH, COL_SIZE, COL_SYMLINK, COL_XATTRS
};

#define FEW_VERSIONS 2         /* a node has one maximal version as a rule, and perhaps older ones */

void
sk_version_free (SkVersion *self)
{
  if (self == NULL)
    return;
  sk_entry_free (self->entry);
  g_free (self);
}

/* --- memory: see sk-index-node-cache.c --- */

static SkEntry *
copy_entry (const SkEntry *entry)
{
  SkEntry without_chunks = *entry;

  without_chunks.chunks = NULL;
  return sk_entry_copy (&without_chunks);
}

static SkVersion *
copy_version (const SkVersion *version)
{
  SkVersion *copy = g_memdup2 (version, sizeof *version);

  copy->entry = copy_entry (version->entry);
  return copy;
}

static GPtrArray *
copy_versions (const GPtrArray *versions)
{
  GPtrArray *copies = g_ptr_array_new_full (versions->len, (GDestroyNotify) sk_version_free);

  for (guint i = 0; i < versions->len; i++)
    g_ptr_array_add (copies, copy_version (versions->pdata[i]));
  return copies;
}

static void
remember (SkIndex *self, const SkVersion *version)
{
  SkVersion *copy = copy_version (version);
  gboolean has_content = version->entry->kind == SK_KIND_FILE || version->entry->kind == SK_KIND_SYMLINK;

  copy->maximal = TRUE;
  if (!has_content)
    copy->content = 0;
  if (sk_id_is_zero (&copy->log_writer))
    copy->log_seq = 0;
  sk_cached_version_add (self, copy);
}

/* --- adding --- */

static gint64
intern_log (SkIndex *self, const SkId *log_writer, GError **error)
{
  return log_writer != NULL && !sk_id_is_zero (log_writer) ? sk_intern_id (self, log_writer, error) : 0;
}

gint64
sk_index_version_add (SkIndex *self, gint64 node, const SkEntry *entry, gboolean is_virtual, gint64 origin,
                      const SkId *log_writer, guint64 log_seq, GError **error)
{
  gboolean in_log = log_writer != NULL && !sk_id_is_zero (log_writer);
  gint64 writer = sk_intern_id (self, &entry->writer, error), meta_writer = 0, log = 0, device = 0, content = 0, row;
  g_autoptr(GBytes) vector = sk_vector_encode (entry->vector);
  g_autoptr(SkStatement) statement = NULL;

  if (writer != 0)
    meta_writer = sk_id_equal (&entry->writer, &entry->meta_writer) ? writer : sk_intern_id (self, &entry->meta_writer, error);
  if (meta_writer != 0)
    device = sk_intern (self, entry->device_name, strlen (entry->device_name), error);
  if (device != 0)
    log = intern_log (self, log_writer, error);
  if (device != 0 && (!in_log || log != 0))
    content = sk_index_content_add (self, entry, error);
  statement = content != 0 ? sk_sql (self, SK_SQL_VERSION_ADD, error) : NULL;
  if (statement == NULL)
    return 0;

  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, is_virtual != 0);
  sk_bind_int (statement, 3, origin);
  sk_bind_int (statement, 4, entry->kind);
  sk_bind_int (statement, 5, entry->flags);
  sk_bind_bytes (statement, 6, vector);
  sk_bind_int (statement, 7, (gint64) entry->lamport);
  sk_bind_int (statement, 8, writer);
  sk_bind_int (statement, 9, entry->wall);
  sk_bind_int (statement, 10, device);
  sk_bind_int (statement, 11, (gint64) entry->meta_lamport);
  sk_bind_int (statement, 12, meta_writer);
  sk_bind_int (statement, 13, entry->mode);
  sk_bind_int (statement, 14, entry->mtime);
  sk_bind_int (statement, 15, content);
  sk_bind_int (statement, 16, log);
  sk_bind_int (statement, 17, (gint64) log_seq);
  if (!sk_run (self, statement, error))
    return 0;
  row = sqlite3_last_insert_rowid (self->db);
  if (origin != 0)
    self->virtuals = SK_VIRTUALS_SOME;
  remember (self, &(SkVersion) { .row = row, .node = node, .entry = (SkEntry *) entry, .content = content, .is_virtual = is_virtual != 0,
                                 .origin = origin, .log_writer = in_log ? *log_writer : (SkId) { { 0 } }, .log_seq = log_seq });
  if (entry->kind == SK_KIND_TOMBSTONE && !sk_index_count_tombstone (self, node, 1, error))
    return 0;
  return row;
}

/* --- reading --- */

static gboolean
read_stamps (SkIndex *self, SkStatement *statement, SkEntry *entry, gboolean *damaged, GError **error)
{
  gsize len;
  const guint8 *vector = sk_col_blob (statement, COL_VECTOR, &len);
  GBytes *device;
  gsize device_len;

  entry->vector = sk_vector_decode (vector, len, error);
  if (entry->vector == NULL)
    return FALSE;
  if (!sk_interned_id (self, sk_col_int (statement, COL_WRITER), &entry->writer, error)
      || !sk_interned_id (self, sk_col_int (statement, COL_META_WRITER), &entry->meta_writer, error))
    return FALSE;
  device = sk_interned (self, sk_col_int (statement, COL_DEVICE), error);
  if (device == NULL)
    return FALSE;
  entry->device_name = g_strndup (g_bytes_get_data (device, NULL), g_bytes_get_size (device));
  g_bytes_get_data (device, &device_len);
  entry->lamport = (guint64) sk_col_int (statement, COL_LAMPORT);
  entry->wall = sk_col_int (statement, COL_WALL);
  entry->meta_lamport = (guint64) sk_col_int (statement, COL_META_LAMPORT);
  entry->mode = sk_col_bounded (statement, COL_MODE, G_MAXUINT32, damaged);
  entry->mtime = sk_col_int (statement, COL_MTIME);
  return TRUE;
}

/* The entry is put together here and not by sk_entry_new: its content hash is known and need not be computed again. */
static SkEntry *
read_entry (SkIndex *self, SkStatement *statement, GError **error)
{
  g_autoptr(SkEntry) entry = g_new0 (SkEntry, 1);
  gboolean damaged = FALSE;
  g_autoptr(GError) why = NULL;
  gint64 folder;

  entry->path = sk_index_node_locate (self, sk_col_int (statement, COL_NODE), &folder, error);
  if (entry->path == NULL || !sk_index_folder_id (self, folder, &entry->folder, error))
    return NULL;
  entry->kind = sk_col_bounded (statement, COL_KIND, SK_KIND_TOMBSTONE, &damaged);
  entry->flags = sk_col_bounded (statement, COL_FLAGS, G_MAXUINT32, &damaged);
  sk_col_hash (statement, COL_HASH, &entry->content, &damaged);
  entry->size = (guint64) sk_col_int (statement, COL_SIZE);
  entry->symlink = sk_col_text (statement, COL_SYMLINK, &damaged);
  entry->xattrs = sk_col_bytes (statement, COL_XATTRS);
  damaged |= entry->size > SK_FILE_SIZE_MAX || (entry->kind == SK_KIND_SYMLINK) != (entry->symlink != NULL);
  if (!read_stamps (self, statement, entry, &damaged, &why) || damaged)
    return sk_index_damaged (self, why != NULL ? why->message : "a version is impossible", error), NULL;
  return g_steal_pointer (&entry);
}

static SkVersion *
read_version (SkIndex *self, SkStatement *statement, GError **error)
{
  g_autoptr(SkVersion) version = g_new0 (SkVersion, 1);
  gint64 log_writer = sk_col_int (statement, COL_LOG_WRITER);

  version->row = sk_col_int (statement, COL_ROW);
  version->node = sk_col_int (statement, COL_NODE);
  version->maximal = sk_col_int (statement, COL_MAXIMAL) != 0;
  version->is_virtual = sk_col_int (statement, COL_IS_VIRTUAL) != 0;
  version->origin = sk_col_int (statement, COL_ORIGIN);
  version->log_seq = (guint64) sk_col_int (statement, COL_LOG_SEQ);
  version->entry = read_entry (self, statement, error);
  if (version->entry == NULL || (log_writer != 0 && !sk_interned_id (self, log_writer, &version->log_writer, error)))
    return NULL;
  /* The row of a directory's or tombstone's content only serves to keep its hash. */
  if (version->entry->kind == SK_KIND_FILE || version->entry->kind == SK_KIND_SYMLINK)
    version->content = sk_col_int (statement, COL_CONTENT);
  return g_steal_pointer (&version);
}

static gboolean
read_list (SkIndex *self, SkStatement *statement, gint64 node, GPtrArray *out, GError **error)
{
  SkStep step;

  sk_bind_int (statement, 1, node);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkVersion *version = read_version (self, statement, error);

      if (version == NULL)
        return FALSE;
      g_ptr_array_add (out, version);
    }
  return step == SK_STEP_DONE;
}

static GPtrArray *
list (SkIndex *self, SkSql id, gint64 node, GError **error)
{
  g_autoptr(GPtrArray) versions = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_version_free);
  g_autoptr(SkStatement) statement = sk_sql (self, id, error);

  return statement != NULL && read_list (self, statement, node, versions, error) ? g_steal_pointer (&versions) : NULL;
}

static gint
compare_rows (gconstpointer a, gconstpointer b)
{
  const SkVersion *x = *(SkVersion *const *) a, *y = *(SkVersion *const *) b;

  return (x->row > y->row) - (x->row < y->row);
}

/* All maximal ones, oldest row first; *@no_more: the node has no others. One question answers both as a rule, and however long the history
 * of a name is, no more of it is read. */
static GPtrArray *
read_maximal (SkIndex *self, gint64 node, gboolean *no_more, GError **error)
{
  g_autoptr(GPtrArray) few = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_version_free);
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_VERSION_FEW, error);
  SkStep step;

  *no_more = FALSE;
  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, FEW_VERSIONS);
  /* The maximal ones come first. */
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW && sk_col_int (statement, COL_MAXIMAL) != 0)
    {
      SkVersion *version = read_version (self, statement, error);

      if (version == NULL)
        return NULL;
      g_ptr_array_add (few, version);
    }
  if (step == SK_STEP_ERROR)
    return NULL;
  if (few->len == FEW_VERSIONS)
    return list (self, SK_SQL_VERSION_MAXIMAL, node, error);
  g_ptr_array_sort (few, compare_rows);
  *no_more = step == SK_STEP_DONE;
  return g_steal_pointer (&few);
}

/* The node with its maximal versions. */
static SkCachedNode *
node_with_versions (SkIndex *self, gint64 node, GError **error)
{
  SkCachedNode *cached = sk_cached_node_needed (self, node, error);
  g_autoptr(GPtrArray) versions = NULL;
  gboolean no_more;

  if (cached == NULL || cached->versions != NULL)
    return cached;
  versions = read_maximal (self, node, &no_more, error);
  /* Reading them may have pushed the node out. */
  cached = versions != NULL ? sk_cached_node_needed (self, node, error) : NULL;
  if (cached == NULL)
    return NULL;
  sk_cached_versions_set (self, cached, versions);
  cached->no_more_versions = no_more;
  return cached;
}

const GPtrArray *
sk_index_peek_maximal (SkIndex *self, gint64 node, GError **error)
{
  const SkCachedNode *cached = node_with_versions (self, node, error);

  return cached != NULL ? cached->versions : NULL;
}

static GPtrArray *
list_maximal (SkIndex *self, gint64 node, GError **error)
{
  const GPtrArray *versions = sk_index_peek_maximal (self, node, error);

  return versions != NULL ? copy_versions (versions) : NULL;
}

GPtrArray *
sk_index_versions (SkIndex *self, gint64 node, gboolean only_maximal, GError **error)
{
  return only_maximal ? list_maximal (self, node, error) : list (self, SK_SQL_VERSION_LIST, node, error);
}

/* Most vaults have none at all. */
static gboolean
may_have_virtuals (SkIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gint64 row;

  if (self->virtuals != SK_VIRTUALS_UNKNOWN)
    return self->virtuals == SK_VIRTUALS_SOME;
  statement = sk_sql (self, SK_SQL_VERSION_VIRTUAL_ANY, error);
  if (statement == NULL || !sk_read_int (self, statement, 0, &row, error))
    return TRUE;
  self->virtuals = row != 0 ? SK_VIRTUALS_SOME : SK_VIRTUALS_NONE;
  return row != 0;
}

gboolean
sk_index_may_have_virtuals (SkIndex *self)
{
  return may_have_virtuals (self, NULL);
}

GPtrArray *
sk_index_virtuals_of (SkIndex *self, gint64 node, GError **error)
{
  g_autoptr(GError) why = NULL;
  gboolean may = may_have_virtuals (self, &why);

  if (why != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&why));
      return NULL;
    }
  return may ? list (self, SK_SQL_VERSION_VIRTUALS, node, error) : g_ptr_array_new_with_free_func ((GDestroyNotify) sk_version_free);
}

SkVersion *
sk_index_version (SkIndex *self, gint64 row, GError **error)
{
  const SkVersion *cached = sk_cached_version (self, row);
  g_autoptr(SkStatement) statement = NULL;

  if (cached != NULL)
    return copy_version (cached);
  statement = sk_sql (self, SK_SQL_VERSION_GET, error);
  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, row);
  return sk_step (self, statement, error) == SK_STEP_ROW ? read_version (self, statement, error) : NULL;
}

SkVersion *
sk_index_version_of (SkIndex *self, gint64 node, gint64 row, GError **error)
{
  return node_with_versions (self, node, error) != NULL ? sk_index_version (self, row, error) : NULL;
}

/* --- finding --- */

/* 0: no version has it; negative on error. */
static gint64
row_of_content (SkIndex *self, const SkHash *content, GError **error)
{
  g_autoptr(GError) why = NULL;
  gint64 row = sk_index_content_find (self, content, &why);

  if (why == NULL)
    return row;
  g_propagate_error (error, g_steal_pointer (&why));
  return -1;
}

/* With @vector. */
static gint64
find_same (SkIndex *self, gint64 node, gint64 content, const SkVector *vector, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_VERSION_FIND, error);
  g_autoptr(GBytes) encoded = sk_vector_encode (vector);
  gint64 row = -1;

  if (statement == NULL)
    return -1;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, content);
  sk_bind_bytes (statement, 3, encoded);
  return sk_read_int (self, statement, 0, &row, error) ? row : -1;
}

/* With any vector. */
static gint64
find_newest (SkIndex *self, gint64 node, gint64 content, gboolean maximal, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_VERSION_WITH_CONTENT, error);
  gint64 row = -1;

  if (statement == NULL)
    return -1;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, content);
  sk_bind_int (statement, 3, maximal != 0);
  return sk_read_int (self, statement, 0, &row, error) ? row : -1;
}

/* Among what is in memory, newest first; 0 when it is not there. *@no_more: it is nowhere else either. @vector NULL: any. */
static gint64
find_cached (SkIndex *self, gint64 node, const SkVector *vector, const SkHash *content, gboolean *no_more)
{
  g_autoptr(GError) error = NULL;
  const SkCachedNode *cached = node_with_versions (self, node, &error);

  *no_more = cached != NULL && cached->no_more_versions;
  if (cached == NULL || (vector == NULL && !*no_more))
    return 0;
  for (guint i = cached->versions->len; i > 0; i--)
    {
      const SkVersion *version = cached->versions->pdata[i - 1];

      if (sk_hash_equal (&version->entry->content, content)
          && (vector == NULL || sk_vector_compare (version->entry->vector, vector) == SK_ORDER_EQUAL))
        return version->row;
    }
  return 0;
}

gint64
sk_index_version_find (SkIndex *self, gint64 node, const SkVector *vector, const SkHash *content, GError **error)
{
  gboolean no_more;
  gint64 row = find_cached (self, node, vector, content, &no_more), content_row;

  if (row != 0 || no_more)
    return row;
  content_row = row_of_content (self, content, error);
  return content_row > 0 ? find_same (self, node, content_row, vector, error) : content_row;
}

gint64
sk_index_version_with_content (SkIndex *self, gint64 node, const SkHash *content, GError **error)
{
  gboolean no_more;
  gint64 row = find_cached (self, node, NULL, content, &no_more), content_row, old, new;

  if (row != 0 || no_more)
    return row;
  content_row = row_of_content (self, content, error);
  if (content_row <= 0)
    return content_row;
  old = find_newest (self, node, content_row, FALSE, error);
  new = old >= 0 ? find_newest (self, node, content_row, TRUE, error) : -1;
  return new >= 0 ? MAX (old, new) : -1;
}

/* --- changing --- */

static gboolean
read_brief (SkIndex *self, gint64 row, gint64 *node, SkKind *kind, gboolean *maximal, GError **error)
{
  const SkVersion *cached = sk_cached_version (self, row);
  g_autoptr(SkStatement) statement = NULL;
  SkStep step;

  if (cached != NULL)
    {
      *node = cached->node;
      *kind = cached->entry->kind;
      *maximal = TRUE;
      return TRUE;
    }
  statement = sk_sql (self, SK_SQL_VERSION_BRIEF, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ERROR)
    return FALSE;
  if (step == SK_STEP_DONE)
    return sk_index_damaged (self, "a version is missing", error);
  *node = sk_col_int (statement, 0);
  *kind = (SkKind) sk_col_int (statement, 1);
  *maximal = sk_col_int (statement, 2) != 0;
  return TRUE;
}

gboolean
sk_index_version_set_maximal (SkIndex *self, gint64 row, gboolean maximal, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gboolean before;
  SkKind kind;
  gint64 node;

  if (!read_brief (self, row, &node, &kind, &before, error))
    return FALSE;
  if (before == (maximal != 0))
    return TRUE;
  statement = sk_sql (self, SK_SQL_VERSION_SET_MAXIMAL, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, maximal != 0);
  if (!sk_run (self, statement, error))
    return FALSE;
  if (maximal)
    sk_cached_versions_forget (self, node);
  else
    sk_cached_version_remove (self, row);
  return kind != SK_KIND_TOMBSTONE || sk_index_count_tombstone (self, node, maximal ? 1 : -1, error);
}

/* The version changes in a way that is rare: read again when it is asked for. */
static void
forget_node_of (SkIndex *self, gint64 row)
{
  const SkVersion *version = sk_cached_version (self, row);

  if (version != NULL)
    sk_cached_versions_forget (self, version->node);
}

gboolean
sk_index_version_publish (SkIndex *self, gint64 row, const SkId *log_writer, guint64 log_seq, GError **error)
{
  gint64 writer = sk_intern_id (self, log_writer, error);
  g_autoptr(SkStatement) statement = writer != 0 ? sk_sql (self, SK_SQL_VERSION_PUBLISH, error) : NULL;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, writer);
  sk_bind_int (statement, 3, (gint64) log_seq);
  forget_node_of (self, row);
  return sk_run (self, statement, error);
}

gboolean
sk_index_version_remove (SkIndex *self, gint64 row, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gboolean maximal;
  SkKind kind;
  gint64 node;

  if (!read_brief (self, row, &node, &kind, &maximal, error))
    return FALSE;
  statement = sk_sql (self, SK_SQL_VERSION_REMOVE, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  if (!sk_run (self, statement, error))
    return FALSE;
  sk_cached_version_remove (self, row);
  return kind != SK_KIND_TOMBSTONE || !maximal || sk_index_count_tombstone (self, node, -1, error);
}

gboolean
sk_index_version_set_meta (SkIndex *self, gint64 row, guint64 lamport, const SkId *writer, guint32 mode, gint64 mtime, GError **error)
{
  gint64 writer_row = sk_intern_id (self, writer, error);
  g_autoptr(SkStatement) statement = writer_row != 0 ? sk_sql (self, SK_SQL_VERSION_SET_META, error) : NULL;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, (gint64) lamport);
  sk_bind_int (statement, 3, writer_row);
  sk_bind_int (statement, 4, mode);
  sk_bind_int (statement, 5, mtime);
  forget_node_of (self, row);
  return sk_run (self, statement, error);
}

gboolean
sk_index_versions_expire (SkIndex *self, gint64 before_wall, guint64 *removed, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_VERSION_EXPIRE, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, before_wall);
  if (!sk_run (self, statement, error))
    return FALSE;
  *removed = (guint64) sqlite3_changes (self->db);
  return TRUE;
}
