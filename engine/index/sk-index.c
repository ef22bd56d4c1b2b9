/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection: open, transactions, settings, repeated strings. */
#include "sk-index-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages of 4 KiB in the log of changes before they go to the main file. The log grows to this and the largest transaction, then
 * it is written from the start again (B101). */
#define CHECKPOINT_PAGES 4096
#define JOURNAL_KEPT_BYTES 33554432      /* a longer log, left by one huge transaction, is cut to this */
#define CACHE_KIB 32768

/* --- open --- */

/* Memory mapping stays off: a disk that fails under a mapping is SIGBUS, not an error that can be waited out (B099). The
 * exclusive lock also spares the shared-memory file, for the same reason, and several system calls per statement. The
 * lock must come before the first access in WAL mode. */
static const char pragmas[] =
  "PRAGMA locking_mode = EXCLUSIVE;"
  "PRAGMA temp_store = MEMORY;"          /* never a temporary file in a TMPDIR that may be full (B094) */
  "PRAGMA mmap_size = 0;"
  "PRAGMA trusted_schema = OFF;"
  "PRAGMA cell_size_check = ON;"
  "PRAGMA foreign_keys = ON;"
  "PRAGMA secure_delete = OFF;"
  "PRAGMA cache_size = -" G_STRINGIFY (CACHE_KIB) ";";

/* Only once the file is known to be ours and not newer. */
static const char pragmas_to_write[] =
  "PRAGMA synchronous = FULL;"
  "PRAGMA wal_autocheckpoint = " G_STRINGIFY (CHECKPOINT_PAGES) ";";

/* Nobody asks SQLite how much memory it takes, and counting it costs a lock for every piece. */
static void
leave_memory_uncounted (void)
{
  static gsize once = 0;

  if (!g_once_init_enter (&once))
    return;
  /* Refused, without harm, when another part of the program has used SQLite before. */
  sqlite3_config (SQLITE_CONFIG_MEMSTATUS, 0);
  g_once_init_leave (&once, 1);
}

static sqlite3 *
connect (const char *path, const char *name, GError **error)
{
  /* SQLite takes a name that begins with "file:" for an address. */
  g_autofree char *plain = g_path_is_absolute (path) ? g_strdup (path) : g_strconcat ("./", path, NULL);
  sqlite3 *db = NULL;
  int rc;

  leave_memory_uncounted ();
  rc = sqlite3_open_v2 (plain, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

  if (rc == SQLITE_OK)
    rc = sqlite3_db_config (db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_exec (db, pragmas, NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_create_function_v2 (db, "sk_differs", 8, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                     sk_node_differs_sql, NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_create_function_v2 (db, "sk_key", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                     sk_hash_key_sql, NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    return db;
  sk_index_set_error (db, rc, name, error);
  sqlite3_close (db);
  return NULL;
}

static gboolean
sync_directory_of (const char *path)
{
  g_autofree char *directory = g_path_get_dirname (path);
  int fd = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  gboolean ok = fd >= 0 && fsync (fd) == 0;

  if (fd >= 0)
    close (fd);
  return ok;
}

static gboolean
fill_fresh (const char *path, const char *name, GError **error)
{
  static const char head[] = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL;"
                             "PRAGMA application_id = " G_STRINGIFY (SK_INDEX_APPLICATION_ID) ";";
  sqlite3 *db = connect (path, name, error);
  gboolean ok;

  if (db == NULL)
    return FALSE;
  ok = sk_index_exec (db, head, name, error) && sk_index_migrate (db, name, sk_index_steps, sk_index_n_steps, error);
  sqlite3_close (db);
  return ok;
}

/* Made beside and renamed when complete: so an empty or half-made file at @path is always damage, never a beginning (B086). */
static gboolean
create_fresh (const char *path, GError **error)
{
  g_autofree char *made = g_strconcat (path, ".new", NULL);
  int fd;

  unlink (made);
  fd = open (made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return sk_index_set_errno (errno, path, "created", error);
  close (fd);
  if (!fill_fresh (made, path, error))
    {
      unlink (made);
      return FALSE;
    }
  if (rename (made, path) == 0 && sync_directory_of (path))
    return TRUE;
  sk_index_set_errno (errno, path, "created", error);
  unlink (made);
  return FALSE;
}

/* TRUE in *@missing when there is no database and never was one here. */
static gboolean
look_at_file (const char *path, gboolean *missing, GError **error)
{
  g_autofree char *log = g_strconcat (path, "-wal", NULL);
  struct stat st;

  *missing = FALSE;
  if (stat (path, &st) != 0)
    {
      if (errno != ENOENT)
        return sk_index_set_errno (errno, path, "read", error);
      if (access (log, F_OK) == 0)
        return sk_fail (error, SK_ERROR_CORRUPT, "The database %s is gone, but its log of changes is still there", path);
      *missing = TRUE;
      return TRUE;
    }
  if (!S_ISREG (st.st_mode))
    return sk_fail (error, SK_ERROR_IO, "The database %s is not a file", path);
  if (st.st_size == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "The database %s is empty", path);
  return TRUE;
}

static gboolean
read_pragma (sqlite3 *db, const char *name, const char *sql, char **out, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (db, sql, -1, &statement, NULL);

  if (rc == SQLITE_OK)
    rc = sqlite3_step (statement);
  if (rc == SQLITE_ROW)
    *out = g_strdup ((const char *) sqlite3_column_text (statement, 0));
  sqlite3_finalize (statement);
  return rc == SQLITE_ROW ? TRUE : sk_index_set_error (db, rc, name, error);
}

static gboolean
accept (sqlite3 *db, const char *path, GError **error)
{
  g_autofree char *id = NULL, *mode = NULL, *limit = NULL;
  int version;

  /* A newer database is refused untouched; closing must not even move its log of changes into it. */
  sqlite3_db_config (db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  if (!read_pragma (db, path, "PRAGMA application_id", &id, error) || !sk_index_user_version (db, path, &version, error))
    return FALSE;
  if (g_ascii_strtoll (id, NULL, 10) != SK_INDEX_APPLICATION_ID || version < 1)
    return sk_fail (error, SK_ERROR_CORRUPT, "The file %s is not a database of this program", path);
  if ((guint) version > sk_index_n_steps)
    return sk_index_migrate (db, path, sk_index_steps, sk_index_n_steps, error);
  sqlite3_db_config (db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);

  if (!read_pragma (db, path, "PRAGMA journal_mode = WAL", &mode, error)
      || !read_pragma (db, path, "PRAGMA journal_size_limit = " G_STRINGIFY (JOURNAL_KEPT_BYTES), &limit, error))
    return FALSE;
  if (g_strcmp0 (mode, "wal") != 0)
    return sk_fail (error, SK_ERROR_UNSUPPORTED, "The disk of the database %s cannot keep a log of changes", path);
  return sk_index_exec (db, pragmas_to_write, path, error) && sk_index_migrate (db, path, sk_index_steps, sk_index_n_steps, error);
}

/* A newer version that is written in the file itself is refused before SQLite looks at the file at all. */
static gboolean
refuse_newer (const char *path, GError **error)
{
  guint8 head[100];
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = fd >= 0 ? pread (fd, head, sizeof head, 0) : -1;
  int errnum = errno;
  guint32 id, version;

  if (fd >= 0)
    close (fd);
  if (n < 0)
    return sk_index_set_errno (errnum, path, "read", error);
  if (n < (gssize) sizeof head || memcmp (head, "SQLite format 3", 16) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "The file %s is not a database", path);
  memcpy (&version, head + 60, sizeof version);
  memcpy (&id, head + 68, sizeof id);
  version = GUINT32_FROM_BE (version);
  if (GUINT32_FROM_BE (id) == SK_INDEX_APPLICATION_ID && version <= G_MAXINT32 && version > sk_index_n_steps)
    return sk_fail (error, SK_ERROR_TOO_NEW, "The database %s was written by a newer version of this program (format %u, this one "
                    "knows %u). Install the newer version; the file was not changed", path, version, sk_index_n_steps);
  return TRUE;
}

/* Compiling every statement proves that the tables are the ones we know. */
static gboolean
prepare_all (SkIndex *self, GError **error)
{
  for (guint i = 0; i < SK_SQL_COUNT; i++)
    if (!sk_sql_prepare (self, i, error))
      return FALSE;
  return TRUE;
}

SkIndex *
sk_index_open (const char *path, GError **error)
{
  gboolean missing;
  sqlite3 *db;
  g_autoptr(SkIndex) self = NULL;

  if (!look_at_file (path, &missing, error) || (missing && !create_fresh (path, error)) || !refuse_newer (path, error))
    return NULL;
  db = connect (path, path, error);
  if (db == NULL)
    return NULL;

  self = g_new0 (SkIndex, 1);
  self->db = db;
  self->path = g_strdup (path);
  self->statements = g_new0 (sqlite3_stmt *, SK_SQL_COUNT);
  self->sees_nodes = g_new0 (gboolean, SK_SQL_COUNT);
  self->parents = sk_parent_cache_new ();
  self->nodes = sk_node_cache_new ();
  self->interned = g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, g_free);
  self->interned_by_row = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->folder_ids = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->folder_rows = g_hash_table_new_full (sk_id_hash, sk_id_equal_func, g_free, g_free);
  self->known_contents = g_new0 (SkKnownContent, SK_KNOWN_CONTENTS);
  self->known_chunks = g_new0 (SkKnownChunk, SK_KNOWN_CHUNKS);
  /* Not what an index opened earlier had. */
  self->losses = (guint64) g_get_monotonic_time () << 16;
  self->counts = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->content_hashes = sk_hash_index_new (SK_SQL_CONTENT_KEY_FIND, SK_SQL_CONTENT_KEY_MERGE, SK_SQL_CONTENT_TAIL, SK_SQL_CONTENT_LAST,
                                            SK_SQL_CONTENT_KEY_ALL, "contents in index");
  self->chunk_hashes = sk_hash_index_new (SK_SQL_CHUNK_KEY_FIND, SK_SQL_CHUNK_KEY_MERGE, SK_SQL_CHUNK_TAIL, SK_SQL_CHUNK_LAST,
                                          SK_SQL_CHUNK_KEY_ALL, "chunks in index");
  if (!accept (db, path, error) || !prepare_all (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
sk_index_close (SkIndex *self)
{
  if (self == NULL)
    return;
  sk_index_rollback (self);
  for (guint i = 0; i < SK_SQL_COUNT; i++)
    sqlite3_finalize (self->statements[i]);
  sqlite3_close (self->db);
  g_free (self->statements);
  g_free (self->sees_nodes);
  sk_parent_cache_free (self->parents);
  sk_node_cache_free (self->nodes);
  sk_offset_cache_free (self->offsets);
  sk_hash_index_free (self->content_hashes);
  sk_hash_index_free (self->chunk_hashes);
  g_hash_table_unref (self->interned_by_row);
  g_hash_table_unref (self->interned);
  g_hash_table_unref (self->folder_ids);
  g_hash_table_unref (self->folder_rows);
  g_free (self->known_contents);
  g_free (self->known_chunks);
  g_hash_table_unref (self->counts);
  g_clear_error (&self->failure);
  g_clear_error (&self->unreported);
  g_free (self->path);
  g_free (self);
}

gboolean
sk_index_set_aside (const char *path, const char *kept, GError **error)
{
  /* The log of changes last: alone it says that there was a database, while the file without it would look sound and be old. */
  static const char *const parts[] = { "", "-journal", "-shm", "-wal" };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_autofree char *from = g_strconcat (path, parts[i], NULL);
      g_autofree char *to = g_strconcat (kept, parts[i], NULL);

      if (rename (from, to) != 0 && errno != ENOENT)
        return sk_index_set_errno (errno, path, "set aside", error);
    }
  return sync_directory_of (path) ? TRUE : sk_index_set_errno (errno, path, "set aside", error);
}

/* --- transactions --- */

static void
drop_caches (SkIndex *self)
{
  sk_parent_cache_clear (self->parents);
  sk_node_cache_drop (self->nodes);
  g_hash_table_remove_all (self->interned_by_row);
  g_hash_table_remove_all (self->interned);
  g_hash_table_remove_all (self->folder_ids);
  g_hash_table_remove_all (self->folder_rows);
  sk_index_forget_contents (self);
  g_hash_table_remove_all (self->counts);
  g_clear_pointer (&self->offsets, sk_offset_cache_free);
  sk_hash_index_forget (self->content_hashes);
  sk_hash_index_forget (self->chunk_hashes);
  self->next_content = self->next_node = 0;
  self->losses++;
  self->virtuals = SK_VIRTUALS_UNKNOWN;
}

gboolean
sk_index_begin (SkIndex *self, GError **error)
{
  g_assert (!self->in_transaction);
  if (self->unreported != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&self->unreported));
      return FALSE;
    }
  self->in_transaction = sqlite3_step (self->statements[SK_SQL_BEGIN]) == SQLITE_DONE;
  if (!self->in_transaction)
    sk_index_set_error (self->db, sqlite3_extended_errcode (self->db), self->path, error);
  sqlite3_reset (self->statements[SK_SQL_BEGIN]);
  return self->in_transaction;
}

gboolean
sk_index_commit (SkIndex *self, GError **error)
{
  int rc, errnum;

  g_assert (self->in_transaction);
  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      sk_index_rollback (self);
      return FALSE;
    }
  if (!sk_node_cache_flush (self, error))
    {
      sk_index_rollback (self);
      return FALSE;
    }
  /* As in sk_index_exec. */
  errno = 0;
  rc = sqlite3_step (self->statements[SK_SQL_COMMIT]);
  errnum = errno;
  if (rc != SQLITE_DONE)
    sk_index_set_error_seen (self->db, sqlite3_extended_errcode (self->db), errnum, self->path, error);
  sqlite3_reset (self->statements[SK_SQL_COMMIT]);
  if (rc != SQLITE_DONE)
    {
      sk_index_rollback (self);
      return FALSE;
    }
  self->in_transaction = FALSE;
  self->transactions++;
  return TRUE;
}

void
sk_index_rollback (SkIndex *self)
{
  if (!self->in_transaction)
    return;
  /* Nothing to do when SQLite did it itself; when it fails there is nothing more that could be tried. */
  if (!sqlite3_get_autocommit (self->db))
    {
      sqlite3_step (self->statements[SK_SQL_ROLLBACK]);
      sqlite3_reset (self->statements[SK_SQL_ROLLBACK]);
    }
  self->in_transaction = FALSE;
  g_clear_error (&self->failure);
  drop_caches (self);
}

guint64
sk_index_transactions (SkIndex *self)
{
  return self->transactions;
}
