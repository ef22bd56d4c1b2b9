/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small values by name, and byte strings that repeat in many rows. */
#include "sk-index-private.h"

#include <string.h>

#define INTERNED_MAX 4096u    /* strings in memory; writers and device names are a few dozen */

/* --- settings --- */

gboolean
sk_index_set (SkIndex *self, const char *key, const void *data, gsize len, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_SETTING_SET, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_text (statement, 1, key);
  sk_bind_blob (statement, 2, data, len);
  return sk_run (self, statement, error);
}

/* *@out is NULL when there is none. */
static gboolean
read_setting (SkIndex *self, const char *key, GBytes **out, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_SETTING_GET, error);
  SkStep step;

  *out = NULL;
  if (statement == NULL)
    return FALSE;
  sk_bind_text (statement, 1, key);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ROW)
    *out = sk_col_bytes (statement, 0);
  return step != SK_STEP_ERROR;
}

GBytes *
sk_index_get (SkIndex *self, const char *key)
{
  GError *error = NULL;
  GBytes *bytes;

  if (!read_setting (self, key, &bytes, &error))
    sk_index_keep_error (self, error);
  return bytes;
}

gboolean
sk_index_unset (SkIndex *self, const char *key, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_SETTING_UNSET, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_text (statement, 1, key);
  return sk_run (self, statement, error);
}

GPtrArray *
sk_index_keys (SkIndex *self, const char *prefix, const char *after, guint limit, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_SETTING_KEYS, error);
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *end = g_strconcat (prefix, "\xff", NULL);
  SkStep step;

  if (statement == NULL)
    return NULL;
  sk_bind_text (statement, 1, after != NULL ? after : prefix);
  sk_bind_text (statement, 2, end);
  sk_bind_int (statement, 3, limit);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      g_autoptr(GBytes) key = sk_col_bytes (statement, 0);

      g_ptr_array_add (keys, g_strndup (g_bytes_get_data (key, NULL), g_bytes_get_size (key)));
    }
  return step == SK_STEP_DONE ? g_steal_pointer (&keys) : NULL;
}

gboolean
sk_index_set_u64 (SkIndex *self, const char *key, guint64 value, GError **error)
{
  guint64 bytes = GUINT64_TO_LE (value);

  return sk_index_set (self, key, &bytes, sizeof bytes, error);
}

gboolean
sk_index_read_u64 (SkIndex *self, const char *key, guint64 fallback, guint64 *out, GError **error)
{
  g_autoptr(GBytes) bytes = NULL;

  *out = fallback;
  if (!read_setting (self, key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return TRUE;
  if (g_bytes_get_size (bytes) != sizeof *out)
    return sk_index_damaged (self, "a number among the settings has another length", error);
  memcpy (out, g_bytes_get_data (bytes, NULL), sizeof *out);
  *out = GUINT64_FROM_LE (*out);
  return TRUE;
}

guint64
sk_index_get_u64 (SkIndex *self, const char *key, guint64 fallback)
{
  GError *error = NULL;
  guint64 value;

  if (!sk_index_read_u64 (self, key, fallback, &value, &error))
    sk_index_keep_error (self, error);
  return value;
}

/* --- repeated strings --- */

static GBytes *
remember (SkIndex *self, GBytes *bytes, gint64 row)
{
  gint64 *held;

  if (g_hash_table_size (self->interned) >= INTERNED_MAX)
    {
      g_hash_table_remove_all (self->interned_by_row);
      g_hash_table_remove_all (self->interned);
    }
  held = g_memdup2 (&row, sizeof row);
  bytes = g_bytes_ref (bytes);
  g_hash_table_insert (self->interned, bytes, held);
  g_hash_table_insert (self->interned_by_row, held, bytes);
  return bytes;
}

static gint64
intern_in_table (SkIndex *self, GBytes *bytes, GError **error)
{
  g_autoptr(SkStatement) find = sk_sql (self, SK_SQL_INTERN_FIND, error);
  g_autoptr(SkStatement) add = NULL;
  gint64 row;

  if (find == NULL)
    return 0;
  sk_bind_bytes (find, 1, bytes);
  if (!sk_read_int (self, find, 0, &row, error))
    return 0;
  if (row != 0)
    return row;
  add = sk_sql (self, SK_SQL_INTERN_ADD, error);
  if (add == NULL)
    return 0;
  sk_bind_bytes (add, 1, bytes);
  return sk_run (self, add, error) ? sqlite3_last_insert_rowid (self->db) : 0;
}

gint64
sk_intern (SkIndex *self, gconstpointer data, gsize len, GError **error)
{
  g_autoptr(GBytes) key = g_bytes_new_static (data, len);
  const gint64 *known = g_hash_table_lookup (self->interned, key);
  g_autoptr(GBytes) copy = NULL;
  gint64 row;

  if (known != NULL)
    return *known;
  copy = g_bytes_new (data, len);
  row = intern_in_table (self, copy, error);
  if (row != 0)
    remember (self, copy, row);
  return row;
}

GBytes *
sk_interned (SkIndex *self, gint64 row, GError **error)
{
  GBytes *known = g_hash_table_lookup (self->interned_by_row, &row);
  g_autoptr(SkStatement) statement = NULL;
  g_autoptr(GBytes) bytes = NULL;
  SkStep step;

  if (known != NULL)
    return known;
  statement = sk_sql (self, SK_SQL_INTERN_GET, error);
  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, row);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ERROR)
    return NULL;
  bytes = step == SK_STEP_ROW ? sk_col_bytes (statement, 0) : NULL;
  if (bytes == NULL)
    return sk_index_damaged (self, "a writer or device name is missing", error), NULL;
  return remember (self, bytes, row);
}

gint64
sk_intern_id (SkIndex *self, const SkId *id, GError **error)
{
  return sk_intern (self, id->bytes, sizeof id->bytes, error);
}

gboolean
sk_interned_id (SkIndex *self, gint64 row, SkId *out, GError **error)
{
  GBytes *bytes = sk_interned (self, row, error);

  if (bytes == NULL)
    return FALSE;
  if (g_bytes_get_size (bytes) != sizeof out->bytes)
    return sk_index_damaged (self, "a writer has another length", error);
  memcpy (out->bytes, g_bytes_get_data (bytes, NULL), sizeof out->bytes);
  return TRUE;
}
