/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far logs were read and written, copies of their segments, and the membership records. */
#include "sk-index-private.h"

/* --- positions --- */

static void
bind_position (SkStatement *statement, int first, const SkPosition *position)
{
  sk_bind_id (statement, first, &position->writer);
  sk_bind_int (statement, first + 1, (gint64) position->seq);
  sk_bind_hash (statement, first + 2, &position->hash);
}

static GArray *
read_positions (SkIndex *self, SkStatement *statement, GError **error)
{
  g_autoptr(GArray) positions = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  gboolean damaged = FALSE;
  SkStep step;

  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkPosition position = { 0 };

      sk_col_id (statement, 0, &position.writer, &damaged);
      position.seq = (guint64) sk_col_int (statement, 1);
      sk_col_hash (statement, 2, &position.hash, &damaged);
      g_array_append_val (positions, position);
    }
  if (damaged)
    return sk_index_damaged (self, "a position in a log is impossible", error), NULL;
  return step == SK_STEP_DONE ? g_steal_pointer (&positions) : NULL;
}

gboolean
sk_index_set_position (SkIndex *self, const SkPosition *position, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_POSITION_SET, error);

  if (statement == NULL)
    return FALSE;
  bind_position (statement, 1, position);
  return sk_run (self, statement, error);
}

gboolean
sk_index_position (SkIndex *self, const SkId *writer, SkPosition *out)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_POSITION_GET, &error);
  g_autoptr(GArray) positions = NULL;

  if (statement != NULL)
    {
      sk_bind_id (statement, 1, writer);
      positions = read_positions (self, statement, &error);
    }
  if (error != NULL)
    sk_index_keep_error (self, g_steal_pointer (&error));
  if (positions == NULL || positions->len == 0)
    return FALSE;
  *out = g_array_index (positions, SkPosition, 0);
  return TRUE;
}

GArray *
sk_index_positions (SkIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_POSITION_LIST, error);

  return statement != NULL ? read_positions (self, statement, error) : NULL;
}

gboolean
sk_index_set_storage_position (SkIndex *self, gint64 storage, gboolean written, const SkPosition *position, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_STORAGE_POSITION_SET, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, storage);
  sk_bind_int (statement, 2, written != 0);
  bind_position (statement, 3, position);
  return sk_run (self, statement, error);
}

GArray *
sk_index_storage_positions (SkIndex *self, gint64 storage, gboolean written, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_STORAGE_POSITION_LIST, error);

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, storage);
  sk_bind_int (statement, 2, written != 0);
  return read_positions (self, statement, error);
}

/* --- segments --- */

gboolean
sk_index_segment_keep (SkIndex *self, const SkPosition *position, GBytes *object, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;

  if (g_bytes_get_size (object) > SK_SEGMENT_SIZE_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A log segment is larger than %u MiB", SK_SEGMENT_SIZE_MAX >> 20);
  statement = sk_sql (self, SK_SQL_SEGMENT_ADD, error);
  if (statement == NULL)
    return FALSE;
  bind_position (statement, 1, position);
  sk_bind_bytes (statement, 4, object);
  return sk_run (self, statement, error);
}

GBytes *
sk_index_segment_bytes (SkIndex *self, const SkId *writer, guint64 seq, SkHash *hash)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_SEGMENT_GET, &error);
  g_autoptr(GBytes) object = NULL;
  gboolean damaged = FALSE;
  SkHash stored;

  if (statement != NULL)
    {
      sk_bind_id (statement, 1, writer);
      sk_bind_int (statement, 2, (gint64) seq);
      if (sk_step (self, statement, &error) == SK_STEP_ROW)
        {
          object = sk_col_bytes (statement, 0);
          sk_col_hash (statement, 1, &stored, &damaged);
        }
    }
  if (damaged)
    sk_index_damaged (self, "a log segment is impossible", &error);
  if (error != NULL)
    {
      sk_index_keep_error (self, g_steal_pointer (&error));
      return NULL;
    }
  if (object != NULL && hash != NULL)
    *hash = stored;
  return g_steal_pointer (&object);
}

/* --- membership --- */

gboolean
sk_index_member_add (SkIndex *self, GBytes *record, GError **error)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (record, &len);
  g_autoptr(SkStatement) statement = NULL;
  SkHash hash;

  if (len > SK_MEMBER_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A membership record is larger than %u bytes", SK_MEMBER_MAX);
  sk_blake2b (data, len, &hash);
  statement = sk_sql (self, SK_SQL_MEMBER_ADD, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_hash (statement, 1, &hash);
  sk_bind_bytes (statement, 2, record);
  return sk_run (self, statement, error);
}

GPtrArray *
sk_index_members (SkIndex *self, GError **error)
{
  g_autoptr(GPtrArray) members = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_MEMBER_LIST, error);
  SkStep step;

  if (statement == NULL)
    return NULL;
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      GBytes *record = sk_col_bytes (statement, 0);

      if (record == NULL)
        return sk_index_damaged (self, "a membership record is missing", error), NULL;
      g_ptr_array_add (members, record);
    }
  return step == SK_STEP_DONE ? g_steal_pointer (&members) : NULL;
}
