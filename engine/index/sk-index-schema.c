/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables, and how a database of an older version gets to them. */
#include "sk-index-private.h"

/* Names, paths and texts are bytes: a file name need not be UTF-8, and a BLOB is compared byte by byte.
 *
 * node: one row holds base and target, since they are nearly always read together. The unique index serves the scan of a
 * directory. Partial indexes keep what is rare (work, holds) or asked from the other side (inode, content) out of the way of
 * the many rows that are none of it.
 * content: everything its hash covers, once, whatever the number of versions that have it. chunks: see sk-index-contents.c.
 * chunk: hint and hint_newer are contents that hold it. Unique by id and size, see sk_index_chunk_ensure.
 * content_key, chunk_key: rows by 64 bits of their hash, except for the newest rows, see sk-index-hashes.c.
 * place: by pack, so that a new pack is appended to the table and its rows are read in one go. */
static const char step_1[] =
  "CREATE TABLE setting (key BLOB PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;"
  "CREATE TABLE intern (row INTEGER PRIMARY KEY, value BLOB NOT NULL UNIQUE) STRICT;"

  "CREATE TABLE storage (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, defined INTEGER NOT NULL,"
  " name BLOB NOT NULL, defined_uri BLOB, uri BLOB, deleted INTEGER NOT NULL, lamport INTEGER NOT NULL,"
  " writer BLOB NOT NULL) STRICT;"
  "CREATE TABLE folder (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, defined INTEGER NOT NULL,"
  " name BLOB NOT NULL, deleted INTEGER NOT NULL, lamport INTEGER NOT NULL, writer BLOB NOT NULL,"
  " storages BLOB NOT NULL, path BLOB, mode INTEGER NOT NULL, only_globs BLOB, first_contact INTEGER NOT NULL,"
  " root_dev INTEGER NOT NULL, root_ino INTEGER NOT NULL, root_fsid BLOB) STRICT;"

  "CREATE TABLE node (row INTEGER PRIMARY KEY, folder INTEGER NOT NULL, parent INTEGER NOT NULL, name BLOB NOT NULL,"
  " generation INTEGER NOT NULL DEFAULT 0, live_children INTEGER NOT NULL DEFAULT 0,"
  " hold INTEGER NOT NULL DEFAULT 0, dirty INTEGER NOT NULL DEFAULT 0, mode_stamps BLOB,"
  " base_kind INTEGER NOT NULL DEFAULT 0, base_version INTEGER NOT NULL DEFAULT 0, base_vector BLOB,"
  " base_content INTEGER NOT NULL DEFAULT 0, base_mode INTEGER NOT NULL DEFAULT 0,"
  " base_mtime INTEGER NOT NULL DEFAULT 0, base_size INTEGER NOT NULL DEFAULT 0,"
  " base_ino INTEGER NOT NULL DEFAULT 0, base_dev INTEGER NOT NULL DEFAULT 0,"
  " base_stat_mtime INTEGER NOT NULL DEFAULT 0, base_ctime INTEGER NOT NULL DEFAULT 0,"
  " base_btime INTEGER NOT NULL DEFAULT 0, base_mount_root INTEGER NOT NULL DEFAULT 0,"
  " base_unproven INTEGER NOT NULL DEFAULT 0,"
  " target_kind INTEGER NOT NULL DEFAULT 0, target_version INTEGER NOT NULL DEFAULT 0,"
  " target_content INTEGER NOT NULL DEFAULT 0, target_size INTEGER NOT NULL DEFAULT 0,"
  " target_mode INTEGER NOT NULL DEFAULT 0, target_mtime INTEGER NOT NULL DEFAULT 0) STRICT;"
  "CREATE UNIQUE INDEX node_name ON node (parent, name);"
  "CREATE INDEX node_dirty ON node (folder) WHERE dirty = 1 AND hold = 0;"
  "CREATE INDEX node_held ON node (folder) WHERE hold <> 0;"
  "CREATE INDEX node_inode ON node (folder, base_ino) WHERE base_kind <> 0;"
  "CREATE INDEX node_content ON node (base_content) WHERE base_content <> 0;"
  "CREATE INDEX node_unproven ON node (folder) WHERE base_unproven = 1;"

  "CREATE TABLE version (row INTEGER PRIMARY KEY, node INTEGER NOT NULL, maximal INTEGER NOT NULL,"
  " is_virtual INTEGER NOT NULL, origin INTEGER NOT NULL, kind INTEGER NOT NULL, flags INTEGER NOT NULL,"
  " vector BLOB NOT NULL, lamport INTEGER NOT NULL, writer INTEGER NOT NULL, wall INTEGER NOT NULL,"
  " device INTEGER NOT NULL, meta_lamport INTEGER NOT NULL, meta_writer INTEGER NOT NULL, mode INTEGER NOT NULL,"
  " mtime INTEGER NOT NULL, content INTEGER NOT NULL, log_writer INTEGER NOT NULL, log_seq INTEGER NOT NULL) STRICT;"
  "CREATE INDEX version_node ON version (node, maximal);"
  "CREATE INDEX version_origin ON version (origin) WHERE origin <> 0;"
  "CREATE INDEX version_tombstone ON version (node) WHERE kind = 4 AND maximal = 1;"

  "CREATE TABLE content (row INTEGER PRIMARY KEY, hash BLOB NOT NULL, size INTEGER NOT NULL, chunks BLOB,"
  " symlink BLOB, xattrs BLOB) STRICT;"
  "CREATE TABLE content_key (key INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) STRICT, WITHOUT ROWID;"
  "CREATE TABLE chunk (row INTEGER PRIMARY KEY, id BLOB NOT NULL, size INTEGER NOT NULL,"
  " hint INTEGER NOT NULL, hint_newer INTEGER NOT NULL) STRICT;"
  "CREATE TABLE chunk_key (key INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) STRICT, WITHOUT ROWID;"

  "CREATE TABLE pack (row INTEGER PRIMARY KEY, storage INTEGER NOT NULL REFERENCES storage (row), name BLOB NOT NULL,"
  " epoch BLOB NOT NULL, size INTEGER NOT NULL, filled INTEGER NOT NULL, state INTEGER NOT NULL, state_by BLOB,"
  " state_wall INTEGER NOT NULL, UNIQUE (storage, name)) STRICT;"
  "CREATE TABLE place (pack INTEGER NOT NULL, chunk INTEGER NOT NULL, start INTEGER NOT NULL,"
  " stored_len INTEGER NOT NULL, method INTEGER NOT NULL, PRIMARY KEY (pack, chunk)) STRICT, WITHOUT ROWID;"
  "CREATE INDEX place_chunk ON place (chunk);"

  "CREATE TABLE position (writer BLOB PRIMARY KEY, seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT, WITHOUT ROWID;"
  "CREATE TABLE storage_position (storage INTEGER NOT NULL REFERENCES storage (row), written INTEGER NOT NULL,"
  " writer BLOB NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL,"
  " PRIMARY KEY (storage, written, writer)) STRICT, WITHOUT ROWID;"
  "CREATE TABLE segment (row INTEGER PRIMARY KEY, writer BLOB NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL,"
  " object BLOB NOT NULL, UNIQUE (writer, seq, hash)) STRICT;"
  "CREATE TABLE member (row INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, record BLOB NOT NULL) STRICT;"

  "CREATE TABLE issue (row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kind BLOB NOT NULL, folder INTEGER NOT NULL,"
  " path BLOB, text BLOB NOT NULL, since INTEGER NOT NULL) STRICT;"
  "CREATE TABLE activity (row INTEGER PRIMARY KEY, wall INTEGER NOT NULL, kind BLOB NOT NULL, folder INTEGER NOT NULL,"
  " path BLOB, detail BLOB) STRICT;";

/* A name that is changed and changed back has many versions: one of a content is found without reading all of them. */
static const char step_2[] =
  "DROP INDEX version_node;"
  "CREATE INDEX version_node ON version (node, maximal, content);";

const char *const sk_index_steps[] = { step_1, step_2 };
const guint sk_index_n_steps = G_N_ELEMENTS (sk_index_steps);

gboolean
sk_index_user_version (sqlite3 *db, const char *path, int *version, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (db, "PRAGMA user_version", -1, &statement, NULL);

  if (rc == SQLITE_OK)
    rc = sqlite3_step (statement);
  if (rc == SQLITE_ROW)
    *version = sqlite3_column_int (statement, 0);
  sqlite3_finalize (statement);
  return rc == SQLITE_ROW ? TRUE : sk_index_set_error (db, rc, path, error);
}

static gboolean
take_step (sqlite3 *db, const char *path, const char *step, guint version, GError **error)
{
  g_autofree char *sql = g_strdup_printf ("BEGIN IMMEDIATE; %s PRAGMA user_version = %u; COMMIT;", step, version);

  if (sk_index_exec (db, sql, path, error))
    return TRUE;
  if (!sqlite3_get_autocommit (db))
    sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

gboolean
sk_index_migrate (sqlite3 *db, const char *path, const char *const *steps, guint n_steps, GError **error)
{
  int version;

  if (!sk_index_user_version (db, path, &version, error))
    return FALSE;
  if (version < 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "The database %s has the impossible version %d", path, version);
  if ((guint) version > n_steps)
    return sk_fail (error, SK_ERROR_TOO_NEW, "The database %s was written by a newer version of this program (format %d, this one "
                    "knows %u). Install the newer version; the file was not changed", path, version, n_steps);

  for (guint i = (guint) version; i < n_steps; i++)
    if (!take_step (db, path, steps[i], i + 1, error))
      return FALSE;
  return TRUE;
}

char *
sk_index_schema_dump (sqlite3 *db, const char *path, GError **error)
{
  static const char sql[] = "SELECT type || ' ' || name || ' ' || coalesce (sql, '') FROM sqlite_schema ORDER BY type, name";
  g_autoptr(GString) dump = g_string_new (NULL);
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (db, sql, -1, &statement, NULL);

  while (rc == SQLITE_OK || rc == SQLITE_ROW)
    {
      rc = sqlite3_step (statement);
      if (rc == SQLITE_ROW)
        g_string_append_printf (dump, "%s\n", (const char *) sqlite3_column_text (statement, 0));
    }
  sqlite3_finalize (statement);
  if (rc != SQLITE_DONE)
    return sk_index_set_error (db, rc, path, error), NULL;
  return g_string_free (g_steal_pointer (&dump), FALSE);
}
