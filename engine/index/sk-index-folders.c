/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders: what the vault's members defined, and where they are attached on this device. */
#include "sk-index-private.h"

#include <string.h>

void
sk_folder_row_free (SkFolderRow *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->path);
  g_strfreev (self->only);
  g_clear_pointer (&self->storages, g_array_unref);
  g_free (self);
}

/* --- globs: each ended by a NUL --- */

static GBytes *
globs_encode (const char *const *globs)
{
  g_autoptr(GByteArray) bytes = g_byte_array_new ();

  if (globs == NULL || globs[0] == NULL)
    return NULL;
  for (; *globs != NULL; globs++)
    g_byte_array_append (bytes, (const guint8 *) *globs, strlen (*globs) + 1);
  return g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
}

static char **
globs_decode (const char *data, gsize len, gboolean *damaged)
{
  g_autoptr(GStrvBuilder) builder = g_strv_builder_new ();

  if (data == NULL || len == 0 || data[len - 1] != '\0')
    {
      *damaged |= data != NULL;
      return NULL;
    }
  for (gsize at = 0; at < len; at += strlen (data + at) + 1)
    g_strv_builder_add (builder, data + at);
  return g_strv_builder_end (builder);
}

/* --- reading --- */

static SkFolderRow *
read_folder (SkStatement *statement, gboolean *damaged)
{
  SkFolderRow *row = g_new0 (SkFolderRow, 1);
  const guint8 *data;
  gsize len;

  row->row = sk_col_int (statement, 0);
  sk_col_id (statement, 1, &row->id, damaged);
  row->name = sk_col_text (statement, 2, damaged);
  row->deleted = sk_col_int (statement, 3) != 0;
  row->lamport = (guint64) sk_col_int (statement, 4);
  sk_col_id (statement, 5, &row->writer, damaged);
  row->storages = g_array_new (FALSE, FALSE, sizeof (SkId));
  data = sk_col_blob (statement, 6, &len);
  if (len % sizeof (SkId) != 0)
    *damaged = TRUE;
  else
    g_array_append_vals (row->storages, data, (guint) (len / sizeof (SkId)));
  row->path = sk_col_text (statement, 7, damaged);
  row->mode = sk_col_bounded (statement, 8, SK_FOLDER_RECEIVE, damaged);
  data = sk_col_blob (statement, 9, &len);
  row->only = globs_decode ((const char *) data, len, damaged);
  row->first_contact = sk_col_int (statement, 10) != 0;
  row->root_dev = (guint64) sk_col_int (statement, 11);
  row->root_ino = (guint64) sk_col_int (statement, 12);
  sk_col_hash (statement, 13, &row->root_fsid, damaged);
  return row;
}

static GPtrArray *
read_folders (SkIndex *self, SkSql id, gint64 row)
{
  g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_folder_row_free);
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStatement) statement = sk_sql (self, id, &error);
  gboolean damaged = FALSE;

  if (statement != NULL && row != 0)
    sk_bind_int (statement, 1, row);
  while (statement != NULL && sk_step (self, statement, &error) == SK_STEP_ROW)
    g_ptr_array_add (folders, read_folder (statement, &damaged));
  if (damaged && error == NULL)
    sk_index_damaged (self, "a folder is impossible", &error);
  if (error != NULL)
    sk_index_keep_error (self, g_steal_pointer (&error));
  return g_steal_pointer (&folders);
}

GPtrArray *
sk_index_folders (SkIndex *self)
{
  return read_folders (self, SK_SQL_FOLDER_LIST, 0);
}

SkFolderRow *
sk_index_folder (SkIndex *self, gint64 row)
{
  g_autoptr(GPtrArray) folders = row > 0 ? read_folders (self, SK_SQL_FOLDER_GET, row) : NULL;

  return folders != NULL && folders->len > 0 ? g_ptr_array_steal_index (folders, 0) : NULL;
}

gint64
sk_index_folder_row (SkIndex *self, const SkId *id)
{
  const gint64 *known = g_hash_table_lookup (self->folder_rows, id);
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStatement) statement = NULL;
  gint64 row = 0;

  if (known != NULL)
    return *known;
  statement = sk_sql (self, SK_SQL_FOLDER_FIND, &error);
  if (statement != NULL)
    {
      sk_bind_id (statement, 1, id);
      sk_read_int (self, statement, 0, &row, &error);
    }
  if (error != NULL)
    sk_index_keep_error (self, g_steal_pointer (&error));
  else if (row != 0)
    g_hash_table_insert (self->folder_rows, g_memdup2 (id, sizeof *id), g_memdup2 (&row, sizeof row));
  return row;
}

gboolean
sk_index_folder_id (SkIndex *self, gint64 folder, SkId *out, GError **error)
{
  const SkId *known = g_hash_table_lookup (self->folder_ids, &folder);
  g_autoptr(SkStatement) statement = NULL;
  gboolean damaged = FALSE;
  SkStep step;

  if (known != NULL)
    {
      *out = *known;
      return TRUE;
    }
  statement = sk_sql (self, SK_SQL_FOLDER_ID, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, folder);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ERROR)
    return FALSE;
  if (step == SK_STEP_ROW)
    sk_col_id (statement, 0, out, &damaged);
  if (step == SK_STEP_DONE || damaged)
    return sk_index_damaged (self, "a folder is missing", error);
  g_hash_table_insert (self->folder_ids, g_memdup2 (&folder, sizeof folder), g_memdup2 (out, sizeof *out));
  return TRUE;
}

/* --- definitions --- */

static const SkDefinitionSql folder_sql = { SK_SQL_FOLDER_FIND, SK_SQL_FOLDER_ADD, SK_SQL_FOLDER_STAMP, SK_SQL_FOLDER_DEFINE };

gint64
sk_index_folder_ensure (SkIndex *self, const SkId *id, GError **error)
{
  return sk_index_definition_ensure (self, &folder_sql, id, error);
}

gboolean
sk_index_folder_define (SkIndex *self, const SkFolderDef *def, gboolean *changed, GError **error)
{
  gboolean newer;
  g_autoptr(SkStatement) statement = sk_index_definition_begin (self, &folder_sql, &def->id, def->lamport, &def->writer, &newer, error);

  if (changed != NULL)
    *changed = newer;
  if (statement == NULL)
    return !newer;
  sk_bind_text (statement, 2, def->name != NULL ? def->name : "");
  sk_bind_int (statement, 3, def->deleted != 0);
  sk_bind_int (statement, 4, (gint64) def->lamport);
  sk_bind_id (statement, 5, &def->writer);
  if (def->storages != NULL)
    sk_bind_blob (statement, 6, def->storages->data, def->storages->len * sizeof (SkId));
  else
    sk_bind_blob (statement, 6, "", 0);
  return sk_run (self, statement, error);
}

/* --- this device --- */

gboolean
sk_index_folder_attach (SkIndex *self, gint64 row, const char *path, SkFolderMode mode, const char *const *only, GError **error)
{
  g_autoptr(GBytes) globs = globs_encode (only);
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_FOLDER_ATTACH, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_text (statement, 2, path);
  sk_bind_int (statement, 3, mode);
  sk_bind_bytes (statement, 4, globs);
  return sk_run (self, statement, error);
}

gboolean
sk_index_folder_detach (SkIndex *self, gint64 row, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_FOLDER_DETACH, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  return sk_run (self, statement, error) && sk_index_forget_bases (self, row, error);
}

gboolean
sk_index_folder_set_numbers (SkIndex *self, gint64 row, guint64 dev, guint64 ino, const SkHash *fsid, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_FOLDER_NUMBERS, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, (gint64) dev);
  sk_bind_int (statement, 3, (gint64) ino);
  sk_bind_hash (statement, 4, fsid);
  return sk_run (self, statement, error);
}

gboolean
sk_index_folder_set_mode (SkIndex *self, gint64 row, SkFolderMode mode, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_FOLDER_MODE, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, mode);
  return sk_run (self, statement, error);
}

gboolean
sk_index_folder_set_first_contact (SkIndex *self, gint64 row, gboolean value, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_FOLDER_FIRST_CONTACT, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, value != 0);
  return sk_run (self, statement, error);
}
