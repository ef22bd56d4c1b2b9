/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statements: prepared once, bound, stepped, read; and how SQLite's result codes become errors of ours. */
#include "sk-index-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <string.h>

static const char *const texts[SK_SQL_COUNT] = {
#define SK_STATEMENT(name, sql) [SK_SQL_##name] = sql,
#include "sk-index-statements.h"
#undef SK_STATEMENT
};

const char *
sk_sql_text (SkSql id)
{
  return texts[id];
}

/* --- errors --- */

static SkErrorCode
errno_code (int errnum)
{
  switch (errnum)
    {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return SK_ERROR_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
      return SK_ERROR_PERMISSION;
    default:
      return SK_ERROR_IO;
    }
}

SkErrorCode
sk_index_error_code (int rc, int system_errno)
{
  switch (rc & 0xff)
    {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return SK_ERROR_CORRUPT;
    case SQLITE_FULL:
      return SK_ERROR_NO_SPACE;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return SK_ERROR_PERMISSION;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return SK_ERROR_BUSY;
    case SQLITE_INTERRUPT:
      return SK_ERROR_CANCELLED;
    case SQLITE_TOOBIG:
      return SK_ERROR_LIMIT;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return errno_code (system_errno);
    default:
      return SK_ERROR_FAILED;
    }
}

/* What SQLite says names tables and columns as they stand in the file, which can be any bytes when it is damaged. (transfer full) */
static char *
message_of (sqlite3 *db)
{
  return g_utf8_make_valid (sqlite3_errmsg (db), -1);
}

/* Where SQLite cannot create a file it tries to open one that is there, and then knows only that there is none. So a file is made here to see why not. */
static int
why_not_created (const char *path)
{
  g_autofree char *tried = g_strconcat (path, ".try", NULL);
  int fd = open (tried, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int errnum = errno;

  if (fd < 0)
    return errnum;
  close (fd);
  unlink (tried);
  return ENOENT;
}

gboolean
sk_index_set_error (sqlite3 *db, int rc, const char *path, GError **error)
{
  return sk_index_set_error_seen (db, rc, db != NULL ? sqlite3_system_errno (db) : 0, path, error);
}

gboolean
sk_index_set_error_seen (sqlite3 *db, int rc, int errnum, const char *path, GError **error)
{
  g_autofree char *message = db != NULL ? message_of (db) : NULL;
  SkErrorCode code;

  if (errnum == ENOENT && (rc & 0xff) == SQLITE_CANTOPEN && access (path, F_OK) == 0)
    errnum = why_not_created (path);
  code = sk_index_error_code (rc, errnum);

  switch (code)
    {
    case SK_ERROR_CORRUPT:
      return sk_fail (error, code, "The database %s is damaged (%s)", path, sqlite3_errstr (rc));
    case SK_ERROR_NO_SPACE:
      return sk_fail (error, code, "There is no space left on the disk of the database %s. Make room there; it goes on by itself", path);
    case SK_ERROR_PERMISSION:
      return sk_fail (error, code, "The database %s cannot be written (%s). Check the permissions of the file and its folder", path,
                      errnum != 0 ? g_strerror (errnum) : sqlite3_errstr (rc));
    case SK_ERROR_BUSY:
      return sk_fail (error, code, "The database %s is in use by another program", path);
    case SK_ERROR_IO:
      return sk_fail (error, code, "The disk of the database %s reports an error (%s). The database was not changed; try again when "
                      "the disk answers", path, errnum != 0 ? g_strerror (errnum) : sqlite3_errstr (rc));
    default:
      return sk_fail (error, code, "The database %s: %s", path, message != NULL ? message : sqlite3_errstr (rc));
    }
}

gboolean
sk_index_set_errno (int errnum, const char *path, const char *what, GError **error)
{
  return sk_fail (error, errno_code (errnum), "The database %s cannot be %s: %s", path, what, g_strerror (errnum));
}

gboolean
sk_index_lose (SkIndex *self, GError *why, GError **error)
{
  if (self->in_transaction && self->failure == NULL)
    self->failure = g_error_copy (why);
  g_propagate_error (error, why);
  return FALSE;
}

gboolean
sk_index_damaged (SkIndex *self, const char *what, GError **error)
{
  GError *why = NULL;

  sk_fail (&why, SK_ERROR_CORRUPT, "The database %s is damaged: %s", self->path, what);
  return sk_index_lose (self, why, error);
}

void
sk_index_keep_error (SkIndex *self, GError *error)
{
  /* Inside a transaction it is lost with the statement that failed, and the commit says so. */
  if (self->unreported == NULL && !self->in_transaction)
    self->unreported = error;
  else
    g_error_free (error);
}

/* --- prepare and step --- */

/* Where a commit fails SQLite does not note the errno, and sqlite3_system_errno says what it was at another time. */
gboolean
sk_index_exec (sqlite3 *db, const char *sql, const char *path, GError **error)
{
  int rc, errnum;

  errno = 0;
  rc = sqlite3_exec (db, sql, NULL, NULL, NULL);
  errnum = errno;
  return rc == SQLITE_OK || sk_index_set_error_seen (db, rc, errnum, path, error);
}

/* Whether it sees columns of nodes whose changes may wait in memory. Those that go by row serve that memory itself. */
static gboolean
sees_nodes (SkSql id)
{
  static const SkSql by_row[] = { SK_SQL_NODE_GET, SK_SQL_NODE_FIND, SK_SQL_NODE_ADD, SK_SQL_NODE_STORE, SK_SQL_NODE_STORE_TARGET };

  for (guint i = 0; i < G_N_ELEMENTS (by_row); i++)
    if (id == by_row[i])
      return FALSE;
  return strstr (texts[id], "FROM node ") != NULL || strstr (texts[id], "JOIN node ") != NULL || strstr (texts[id], "UPDATE node ") != NULL;
}

gboolean
sk_sql_prepare (SkIndex *self, SkSql id, GError **error)
{
  int rc = sqlite3_prepare_v3 (self->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT, &self->statements[id], NULL);
  g_autofree char *message = NULL;

  self->sees_nodes[id] = sees_nodes (id);
  if (rc == SQLITE_OK)
    return TRUE;
  message = message_of (self->db);
  /* The texts are right for our tables: when one does not compile, the tables are not ours any more. */
  if (rc == SQLITE_ERROR)
    return sk_fail (error, SK_ERROR_CORRUPT, "The database %s is damaged: its tables are not as they were made (%s)", self->path,
                    message);
  return sk_index_set_error (self->db, rc, self->path, error);
}

SkStatement *
sk_sql (SkIndex *self, SkSql id, GError **error)
{
  sqlite3_stmt *statement = self->statements[id];

  g_assert (!sqlite3_stmt_busy (statement));
  if (self->sees_nodes[id] && sk_node_cache_has_changes (self->nodes) && !sk_node_cache_flush (self, error))
    return NULL;
  if (sqlite3_stmt_readonly (statement))
    return statement;
  g_assert (self->in_transaction);
  /* After a failure SQLite may have rolled back by itself (disk full, I/O error). Were a change made now, it would be a transaction
   * of its own, without what was to come before it. */
  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return NULL;
    }
  return statement;
}

SkStep
sk_step (SkIndex *self, SkStatement *statement, GError **error)
{
  int rc = sqlite3_step (statement);
  GError *why = NULL;

  if (rc == SQLITE_ROW)
    return SK_STEP_ROW;
  if (rc == SQLITE_DONE)
    return SK_STEP_DONE;
  sk_index_set_error (self->db, rc, self->path, &why);
  sk_index_lose (self, why, error);
  return SK_STEP_ERROR;
}

gboolean
sk_run (SkIndex *self, SkStatement *statement, GError **error)
{
  SkStep step = sk_step (self, statement, error);

  g_assert (step != SK_STEP_ROW);
  return step == SK_STEP_DONE;
}

gboolean
sk_read_int (SkIndex *self, SkStatement *statement, gint64 fallback, gint64 *out, GError **error)
{
  SkStep step = sk_step (self, statement, error);

  *out = step == SK_STEP_ROW ? sk_col_int (statement, 0) : fallback;
  return step != SK_STEP_ERROR;
}

/* --- bind --- */

/* A bind fails only when the place is wrong, which is a mistake of ours, or when memory is gone. */
void
sk_bind_int (SkStatement *statement, int at, gint64 value)
{
  int rc = sqlite3_bind_int64 (statement, at, value);

  g_assert (rc == SQLITE_OK);
}

void
sk_bind_blob (SkStatement *statement, int at, gconstpointer data, gsize len)
{
  /* A NULL pointer would bind NULL, also with length 0. */
  int rc = sqlite3_bind_blob64 (statement, at, data != NULL ? data : "", len, SQLITE_STATIC);

  g_assert (rc == SQLITE_OK);
}

void
sk_bind_text (SkStatement *statement, int at, const char *text)
{
  if (text != NULL)
    sk_bind_blob (statement, at, text, strlen (text));
}

void
sk_bind_bytes (SkStatement *statement, int at, GBytes *bytes)
{
  gsize len;

  if (bytes != NULL)
    {
      gconstpointer data = g_bytes_get_data (bytes, &len);

      sk_bind_blob (statement, at, data, len);
    }
}

void
sk_bind_id (SkStatement *statement, int at, const SkId *id)
{
  sk_bind_blob (statement, at, id->bytes, sizeof id->bytes);
}

void
sk_bind_hash (SkStatement *statement, int at, const SkHash *hash)
{
  sk_bind_blob (statement, at, hash->bytes, sizeof hash->bytes);
}

/* --- read --- */

gconstpointer
sk_col_blob (SkStatement *statement, int at, gsize *len)
{
  gconstpointer data = sqlite3_column_blob (statement, at);

  *len = data != NULL ? (gsize) sqlite3_column_bytes (statement, at) : 0;
  return data;
}

char *
sk_col_text (SkStatement *statement, int at, gboolean *damaged)
{
  gsize len;
  const char *data;

  if (sqlite3_column_type (statement, at) == SQLITE_NULL)
    return NULL;
  data = sk_col_blob (statement, at, &len);
  if (len > 0 && memchr (data, 0, len) != NULL)
    *damaged = TRUE;
  return g_strndup (data != NULL ? data : "", len);
}

GBytes *
sk_col_bytes (SkStatement *statement, int at)
{
  gsize len;
  gconstpointer data;

  if (sqlite3_column_type (statement, at) == SQLITE_NULL)
    return NULL;
  data = sk_col_blob (statement, at, &len);
  return g_bytes_new (data, len);
}

static void
col_fixed (SkStatement *statement, int at, guint8 *out, gsize size, gboolean *damaged)
{
  gsize len;
  gconstpointer data = sk_col_blob (statement, at, &len);

  if (len == size)
    memcpy (out, data, size);
  else
    memset (out, 0, size);
  if (len != size && sqlite3_column_type (statement, at) != SQLITE_NULL)
    *damaged = TRUE;
}

void
sk_col_id (SkStatement *statement, int at, SkId *out, gboolean *damaged)
{
  col_fixed (statement, at, out->bytes, sizeof out->bytes, damaged);
}

void
sk_col_hash (SkStatement *statement, int at, SkHash *out, gboolean *damaged)
{
  col_fixed (statement, at, out->bytes, sizeof out->bytes, damaged);
}

guint
sk_col_bounded (SkStatement *statement, int at, guint max, gboolean *damaged)
{
  gint64 value = sk_col_int (statement, at);

  if (value >= 0 && value <= (gint64) max)
    return (guint) value;
  *damaged = TRUE;
  return 0;
}
