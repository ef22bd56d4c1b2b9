/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A disk that fails: every call of SQLite to the file goes through a file system of ours that can be told to fail. */
#include "sk-index-private.h"

#include "index-support.h"

typedef struct { sqlite3_file base; sqlite3_file *real; } FaultyFile;

static sqlite3_vfs faulty;
static sqlite3_vfs *real;
static gint calls, fail_from = -1, fail_for;    /* calls @fail_from to @fail_from + @fail_for - 1 fail */
static int fail_errno;
static int fail_syncs;    /* an errno: all syncs fail with it, and nothing else does */

/* What can find no space: writes, and also syncs, where a disk gives room only then. */
static gboolean
fails (gboolean needs_room)
{
  gint at = calls;

  if (fail_errno == ENOSPC && !needs_room)
    return FALSE;
  calls++;
  if (fail_from < 0 || at < fail_from || at - fail_from >= fail_for)
    return FALSE;
  errno = fail_errno;
  return TRUE;
}

#define REAL(file) (((FaultyFile *) (file))->real)

static int
faulty_close (sqlite3_file *file)
{
  return REAL (file)->pMethods->xClose (REAL (file));
}

static int
faulty_read (sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
  return fails (FALSE) ? SQLITE_IOERR_READ : REAL (file)->pMethods->xRead (REAL (file), data, n, at);
}

static int
faulty_write (sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
  if (fails (TRUE))
    return fail_errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  return REAL (file)->pMethods->xWrite (REAL (file), data, n, at);
}

static int
faulty_truncate (sqlite3_file *file, sqlite3_int64 size)
{
  return fails (FALSE) ? SQLITE_IOERR_TRUNCATE : REAL (file)->pMethods->xTruncate (REAL (file), size);
}

static int
faulty_sync (sqlite3_file *file, int flags)
{
  if (fail_syncs != 0)
    {
      errno = fail_syncs;
      return SQLITE_IOERR_FSYNC;
    }
  return fails (TRUE) ? SQLITE_IOERR_FSYNC : REAL (file)->pMethods->xSync (REAL (file), flags);
}

static int
faulty_size (sqlite3_file *file, sqlite3_int64 *size)
{
  return fails (FALSE) ? SQLITE_IOERR_FSTAT : REAL (file)->pMethods->xFileSize (REAL (file), size);
}

static int
faulty_lock (sqlite3_file *file, int level)
{
  return REAL (file)->pMethods->xLock (REAL (file), level);
}

static int
faulty_unlock (sqlite3_file *file, int level)
{
  return REAL (file)->pMethods->xUnlock (REAL (file), level);
}

static int
faulty_reserved (sqlite3_file *file, int *out)
{
  return REAL (file)->pMethods->xCheckReservedLock (REAL (file), out);
}

static int
faulty_control (sqlite3_file *file, int op, void *arg)
{
  return REAL (file)->pMethods->xFileControl (REAL (file), op, arg);
}

static int
faulty_sector (sqlite3_file *file)
{
  return REAL (file)->pMethods->xSectorSize (REAL (file));
}

static int
faulty_device (sqlite3_file *file)
{
  return REAL (file)->pMethods->xDeviceCharacteristics (REAL (file));
}

static const sqlite3_io_methods methods = {
  1, faulty_close, faulty_read, faulty_write, faulty_truncate, faulty_sync, faulty_size, faulty_lock, faulty_unlock,
  faulty_reserved, faulty_control, faulty_sector, faulty_device,
};

static int
faulty_open (sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
  FaultyFile *self = (FaultyFile *) file;
  int rc;

  self->base.pMethods = NULL;
  self->real = (sqlite3_file *) (self + 1);
  if (fails (FALSE))
    return SQLITE_CANTOPEN;
  rc = real->xOpen (real, name, self->real, flags, out_flags);
  if (rc == SQLITE_OK)
    self->base.pMethods = &methods;
  return rc;
}

static void
install (void)
{
  real = sqlite3_vfs_find (NULL);
  faulty = *real;
  faulty.zName = "faulty";
  faulty.szOsFile = (int) sizeof (FaultyFile) + real->szOsFile;
  faulty.xOpen = faulty_open;
  g_assert_cmpint (sqlite3_vfs_register (&faulty, TRUE), ==, SQLITE_OK);
}

static void
fail_calls (gint from, gint n, int errnum)
{
  calls = 0;
  fail_from = from;
  fail_for = n;
  fail_errno = errnum;
}

static void
fixture_filled (Fixture *f)
{
  fail_calls (-1, 0, 0);
  fixture_open (f);
  fill_every_table (f);
  fixture_reopen (f);
}

/* The disk is gone for a while: everything says so, nothing says "damaged" or "not there", and afterwards all is as before. */
static void
test_reads_fail_for_a_while (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL, opening = NULL, kept = NULL;
  g_autoptr(SkNode) node = NULL;
  SkIndex *none;

  fixture_filled (&f);
  fail_calls (0, G_MAXINT, EIO);
  g_assert_null (sk_index_node (f.index, f.folder, "dir3/sub/file-62.txt", &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_IO);
  g_assert_nonnull (strstr (error->message, f.path));

  /* A value that could not be read looks like none; nothing may be built on it. */
  g_assert_cmpuint (sk_index_get_u64 (f.index, "counter", 0), ==, 0);
  fail_calls (-1, 0, 0);
  g_assert_false (sk_index_begin (f.index, &kept));
  g_assert_error (kept, SK_ERROR, SK_ERROR_IO);
  g_assert_cmpuint (sk_index_get_u64 (f.index, "counter", 0), ==, 300);
  begin (f.index);
  commit (f.index);

  sk_index_close (f.index);
  fail_calls (0, G_MAXINT, EIO);
  none = sk_index_open (f.path, &opening);
  g_assert_null (none);
  g_assert_error (opening, SK_ERROR, SK_ERROR_IO);
  fail_calls (-1, 0, 0);
  f.index = open_index (f.path);
  g_clear_error (&error);
  node = sk_index_node (f.index, f.folder, "dir3/sub/file-62.txt", &error);
  g_assert_nonnull (node);
  assert_sound (f.index);
  fixture_close (&f);
}

/* A setting that cannot be read inside a transaction spoils the commit. */
static void
test_unread_value_spoils_the_commit (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;

  fixture_filled (&f);
  begin (f.index);
  fail_calls (0, 1, EIO);
  if (sk_index_get_u64 (f.index, "counter", 0) == 0)
    {
      fail_calls (-1, 0, 0);
      sk_index_node_ensure (f.index, f.folder, "built/on/nothing", NULL);
      g_assert_false (sk_index_commit (f.index, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_IO);
      g_clear_error (&error);
      g_assert_null (sk_index_node (f.index, f.folder, "built/on/nothing", &error));
      g_assert_no_error (error);
    }
  else
    g_assert_not_reached ();
  begin (f.index);
  commit (f.index);
  fixture_close (&f);
}

static gboolean
change (Fixture *f, guint round, GError **error)
{
  g_autofree char *path = g_strdup_printf ("new/n%u", round);
  g_autoptr(SkEntry) entry = make_entry (f, path, SK_KIND_FILE, round + 1, 5000 + round, 2);
  gint64 node;

  if (!sk_index_begin (f->index, error))
    return FALSE;
  node = sk_index_node_ensure (f->index, f->folder, path, error);
  if (node == 0 || sk_index_version_add (f->index, node, entry, FALSE, 0, NULL, 0, error) == 0
      || !sk_index_set_base (f->index, node, &(SkBase) { .kind = SK_KIND_FILE, .content = 1 }, error))
    {
      sk_index_rollback (f->index);
      return FALSE;
    }
  return sk_index_commit (f->index, error);
}

/* One call fails, each in turn: the change happens or it does not, the code is the right one, and what follows works. */
static void
test_each_call_fails_once (gconstpointer data)
{
  const int errnum = GPOINTER_TO_INT (data);
  Fixture f = { 0 };
  guint failed = 0;

  fixture_filled (&f);
  for (guint at = 0; at < 60; at++)
    {
      g_autoptr(GError) error = NULL, later = NULL;
      g_autoptr(SkNode) node = NULL;
      g_autofree char *path = g_strdup_printf ("new/n%u", at);
      gboolean done;

      fixture_reopen (&f);      /* nothing in memory: reads happen as well */
      fail_calls ((gint) at, 1, errnum);
      done = change (&f, at, &error);
      fail_calls (-1, 0, 0);
      failed += !done;
      if (!done)
        g_assert_error (error, SK_ERROR, (int) (errnum == ENOSPC ? SK_ERROR_NO_SPACE : SK_ERROR_IO));
      node = sk_index_node (f.index, f.folder, path, &later);
      g_assert_no_error (later);
      g_assert_cmpint (node != NULL, ==, done);
      g_assert_true (change (&f, at + 1000, &later));
      g_assert_no_error (later);
      if (at % 10 == 0)
        assert_sound (f.index);
    }
  g_test_message ("%u of 60 changes failed", failed);
  g_assert_cmpuint (failed, >, 5);
  assert_sound (f.index);
  fixture_close (&f);
}

/* A commit that fails says why by itself, whatever failed before it. */
static void
test_each_commit_says_why (void)
{
  static const int errnums[] = { ENOSPC, EIO, EDQUOT, EIO, ENOSPC };
  Fixture f = { 0 };

  fixture_filled (&f);
  for (guint i = 0; i < G_N_ELEMENTS (errnums); i++)
    {
      g_autoptr(GError) error = NULL;
      gboolean is_full = errnums[i] != EIO;

      fail_syncs = errnums[i];
      g_assert_false (change (&f, i, &error));
      fail_syncs = 0;
      g_assert_error (error, SK_ERROR, (int) (is_full ? SK_ERROR_NO_SPACE : SK_ERROR_IO));
      g_assert_nonnull (strstr (error->message, is_full ? "no space left" : g_strerror (EIO)));
    }
  g_assert_true (change (&f, 100, NULL));
  assert_sound (f.index);
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  install ();
  g_test_add_func ("/faults/sit-B099/reads-fail-for-a-while", test_reads_fail_for_a_while);
  g_test_add_func ("/faults/sit-B099/unread-value-spoils-the-commit", test_unread_value_spoils_the_commit);
  g_test_add_data_func ("/faults/sit-B099/each-call-fails-once", GINT_TO_POINTER (EIO), test_each_call_fails_once);
  g_test_add_func ("/faults/sit-B091/each-commit-says-why", test_each_commit_says_why);
  g_test_add_data_func ("/faults/sit-B091/each-call-finds-no-space", GINT_TO_POINTER (ENOSPC), test_each_call_fails_once);
  return g_test_run ();
}
