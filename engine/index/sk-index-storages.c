/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storages: what the vault's members defined, and how this device reaches them. */
#include "sk-index-private.h"

void
sk_storage_row_free (SkStorageRow *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->defined_uri);
  g_free (self->uri);
  g_free (self);
}

GPtrArray *
sk_index_storages (SkIndex *self)
{
  g_autoptr(GPtrArray) storages = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_storage_row_free);
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_STORAGE_LIST, &error);
  gboolean damaged = FALSE;

  while (statement != NULL && sk_step (self, statement, &error) == SK_STEP_ROW)
    {
      SkStorageRow *row = g_new0 (SkStorageRow, 1);

      g_ptr_array_add (storages, row);
      row->row = sk_col_int (statement, 0);
      sk_col_id (statement, 1, &row->id, &damaged);
      row->name = sk_col_text (statement, 2, &damaged);
      row->defined_uri = sk_col_text (statement, 3, &damaged);
      row->uri = sk_col_text (statement, 4, &damaged);
      row->deleted = sk_col_int (statement, 5) != 0;
      row->lamport = (guint64) sk_col_int (statement, 6);
      sk_col_id (statement, 7, &row->writer, &damaged);
    }
  if (damaged && error == NULL)
    sk_index_damaged (self, "a storage is impossible", &error);
  if (error != NULL)
    sk_index_keep_error (self, g_steal_pointer (&error));
  return g_steal_pointer (&storages);
}

gint64
sk_index_storage_row (SkIndex *self, const SkId *id)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_STORAGE_FIND, &error);
  gint64 row = 0;

  if (statement != NULL)
    {
      sk_bind_id (statement, 1, id);
      sk_read_int (self, statement, 0, &row, &error);
    }
  if (error != NULL)
    sk_index_keep_error (self, g_steal_pointer (&error));
  return row;
}

/* --- definitions --- */

gint64
sk_index_definition_ensure (SkIndex *self, const SkDefinitionSql *sql, const SkId *id, GError **error)
{
  g_autoptr(SkStatement) find = sk_sql (self, sql->find, error);
  g_autoptr(SkStatement) add = NULL;
  gint64 row;

  if (find == NULL)
    return 0;
  sk_bind_id (find, 1, id);
  if (!sk_read_int (self, find, 0, &row, error) || row != 0)
    return row;
  add = sk_sql (self, sql->add, error);
  if (add == NULL)
    return 0;
  sk_bind_id (add, 1, id);
  return sk_run (self, add, error) ? sqlite3_last_insert_rowid (self->db) : 0;
}

/* *@row is 0 when @id is unknown. */
static gboolean
is_newer (SkIndex *self, SkSql stamp, const SkId *id, guint64 lamport, const SkId *writer, gint64 *row, gboolean *newer, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, stamp, error);
  gboolean damaged = FALSE;
  SkId known_writer;
  guint64 known;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_id (statement, 1, id);
  step = sk_step (self, statement, error);
  *row = 0;
  *newer = TRUE;
  if (step != SK_STEP_ROW)
    return step == SK_STEP_DONE;
  *row = sk_col_int (statement, 0);
  known = (guint64) sk_col_int (statement, 2);
  sk_col_id (statement, 3, &known_writer, &damaged);
  if (sk_col_int (statement, 1) != 0)
    *newer = lamport > known || (lamport == known && sk_id_compare (writer, &known_writer) > 0);
  return damaged ? sk_index_damaged (self, "the writer of a definition is impossible", error) : TRUE;
}

SkStatement *
sk_index_definition_begin (SkIndex *self, const SkDefinitionSql *sql, const SkId *id, guint64 lamport, const SkId *writer,
                           gboolean *newer, GError **error)
{
  SkStatement *statement;
  gint64 row;

  if (!is_newer (self, sql->stamp, id, lamport, writer, &row, newer, error))
    {
      *newer = TRUE;    /* FALSE would say that there was no error */
      return NULL;
    }
  if (!*newer)
    return NULL;
  row = row != 0 ? row : sk_index_definition_ensure (self, sql, id, error);
  statement = row != 0 ? sk_sql (self, sql->define, error) : NULL;
  if (statement != NULL)
    sk_bind_int (statement, 1, row);
  return statement;
}

static const SkDefinitionSql storage_sql = { SK_SQL_STORAGE_FIND, SK_SQL_STORAGE_ADD, SK_SQL_STORAGE_STAMP, SK_SQL_STORAGE_DEFINE };

gint64
sk_index_storage_ensure (SkIndex *self, const SkId *id, GError **error)
{
  return sk_index_definition_ensure (self, &storage_sql, id, error);
}

gboolean
sk_index_storage_define (SkIndex *self, const SkStorageDef *def, gboolean *changed, GError **error)
{
  gboolean newer;
  g_autoptr(SkStatement) statement = sk_index_definition_begin (self, &storage_sql, &def->id, def->lamport, &def->writer, &newer, error);

  if (changed != NULL)
    *changed = newer;
  if (statement == NULL)
    return !newer;
  sk_bind_text (statement, 2, def->name != NULL ? def->name : "");
  sk_bind_text (statement, 3, def->uri);
  sk_bind_int (statement, 4, def->deleted != 0);
  sk_bind_int (statement, 5, (gint64) def->lamport);
  sk_bind_id (statement, 6, &def->writer);
  return sk_run (self, statement, error);
}

gboolean
sk_index_storage_attach (SkIndex *self, gint64 row, const char *uri, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_STORAGE_ATTACH, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_text (statement, 2, uri);
  return sk_run (self, statement, error);
}
