/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database file among full disks, failing disks, killed processes, other programs and damage. */
#include "sk-index-private.h"

#include "index-support.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *
beside (const Fixture *f, const char *suffix)
{
  return g_strconcat (f->path, suffix, NULL);
}

static void
assert_open_fails (const char *path, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkIndex) index = sk_index_open (path, &error);

  g_assert_null (index);
  g_assert_error (error, SK_ERROR, (int) code);
  g_assert_nonnull (strstr (error->message, path));      /* the message names the file */
}

/* Runs @func in a child that ends without closing anything. */
static int
run_killed (void (*func) (const char *path, guint step), const char *path, guint step)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      func (path, step);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

/* --- opening --- */

static void
test_file_is_private (void)
{
  Fixture f = { 0 };
  GStatBuf st;
  mode_t old = umask (0);

  fixture_open (&f);
  umask (old);
  g_assert_cmpint (g_stat (f.path, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 0777, ==, 0600);
  fixture_close (&f);
}

static void
test_only_one (void)
{
  Fixture f = { 0 };

  fixture_open (&f);
  assert_open_fails (f.path, SK_ERROR_BUSY);
  ensure_node (&f, (begin (f.index), "still/works"));
  commit (f.index);
  fixture_close (&f);
}

static void
test_not_ours (void)
{
  Fixture f = { 0 };
  g_autofree char *foreign = NULL, *garbage = NULL, *missing = NULL;
  sqlite3 *db;

  fixture_open (&f);
  foreign = beside (&f, ".foreign");
  garbage = beside (&f, ".garbage");
  missing = g_build_filename (f.dir, "no", "such", NULL);
  g_assert_cmpint (sqlite3_open (foreign, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, "CREATE TABLE t (x); PRAGMA user_version = 1", NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (db);
  assert_open_fails (foreign, SK_ERROR_CORRUPT);
  g_assert_true (g_file_set_contents (garbage, "this is no database, but it is long enough to have a header of one hundred bytes, "
                                               "which one can see by counting them", -1, NULL));
  assert_open_fails (garbage, SK_ERROR_CORRUPT);
  assert_open_fails (missing, SK_ERROR_IO);
  assert_open_fails (f.dir, SK_ERROR_IO);
  fixture_close (&f);
}

/* --- transactions --- */

static void
test_failed_statement_poisons (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL, again = NULL, last = NULL;

  fixture_open (&f);
  begin (f.index);
  ensure_node (&f, "before");
  g_assert_false (sk_index_set_base (f.index, 99999, &(SkBase) { .kind = SK_KIND_DIR }, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_cmpint (sk_index_node_ensure (f.index, f.folder, "after", &again), ==, 0);
  g_assert_error (again, SK_ERROR, SK_ERROR_CORRUPT);      /* the reason is repeated */
  g_assert_false (sk_index_commit (f.index, &last));
  g_assert_nonnull (last);
  sk_index_rollback (f.index);      /* the failed commit did it already */

  g_clear_error (&error);
  g_assert_null (sk_index_node (f.index, f.folder, "before", &error));
  g_assert_no_error (error);
  begin (f.index);
  ensure_node (&f, "before");
  commit (f.index);
  fixture_close (&f);
}

static void
test_transactions_are_counted (void)
{
  Fixture f = { 0 };

  fixture_open (&f);
  g_assert_cmpuint (sk_index_transactions (f.index), ==, 1);
  begin (f.index);
  commit (f.index);
  begin (f.index);
  sk_index_rollback (f.index);
  g_assert_cmpuint (sk_index_transactions (f.index), ==, 2);
  fixture_close (&f);
}

/* --- killed --- */

static void
write_until (const char *path, guint step)
{
  Fixture f = { .path = (char *) path, .folder_id = make_id (77), .writer = make_id (1), .index = open_index (path), .folder = 1 };
  g_autofree char *name = g_strdup_printf ("step%u/x", step);
  guint at = 0;

  begin (f.index);
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *file = g_strdup_printf ("step%u/n%u", step, i);

      if (at++ == step)
        _exit (0);
      put_file (&f, file, i + 1, step * 100 + i * 10, 3);
    }
  if (at++ == step)
    _exit (0);
  ensure_node (&f, name);
  commit (f.index);
  _exit (1);
}

static void
test_killed_between_statements (void)
{
  Fixture f = { 0 };

  fixture_open (&f);
  sk_index_close (f.index);
  for (guint step = 0; step <= 12; step++)
    {
      g_autoptr(GError) error = NULL;
      g_autoptr(SkNode) node = NULL;
      g_autofree char *name = g_strdup_printf ("step%u/x", step);
      int committed = run_killed (write_until, f.path, step);

      f.index = open_index (f.path);
      node = sk_index_node (f.index, f.folder, name, &error);
      g_assert_no_error (error);
      g_assert_cmpint (node != NULL, ==, committed);
      assert_sound (f.index);
      sk_index_close (f.index);
    }
  f.index = open_index (f.path);
  fixture_close (&f);
}

/* --- damage --- */

static void
leave_log_behind (const char *path, guint step)
{
  SkIndex *index = open_index (path);

  begin (index);
  g_assert_true (sk_index_set_u64 (index, "left", step, NULL));
  commit (index);
}

static void
assert_starts_again (Fixture *f)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *kept = beside (f, ".damaged"), *log = beside (f, "-wal");

  g_assert_true (sk_index_set_aside (f->path, kept, &error));
  g_assert_no_error (error);
  g_assert_false (g_file_test (f->path, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (log, G_FILE_TEST_EXISTS));
  f->index = open_index (f->path);
  g_assert_cmpuint (sk_index_get_u64 (f->index, "left", 0), ==, 0);
  assert_sound (f->index);
  sk_index_close (f->index);
}

static void
test_truncated (void)
{
  static const goffset lengths[] = { 0, 1, 99, 100, 4096, 40960 };

  for (guint with_log = 0; with_log < 2; with_log++)
    for (guint i = 0; i < G_N_ELEMENTS (lengths); i++)
      {
        Fixture f = { 0 };

        fixture_open (&f);
        fill_every_table (&f);
        sk_index_close (f.index);
        if (with_log)
          run_killed (leave_log_behind, f.path, 7);
        g_assert_cmpint (truncate (f.path, lengths[i]), ==, 0);
        assert_open_fails (f.path, SK_ERROR_CORRUPT);
        assert_open_fails (f.path, SK_ERROR_CORRUPT);      /* looking at it has not made it a good one */
        assert_starts_again (&f);
        f.index = NULL;
        fixture_close (&f);
      }
}

static void
test_gone_with_log_left (void)
{
  Fixture f = { 0 };

  fixture_open (&f);
  sk_index_close (f.index);
  run_killed (leave_log_behind, f.path, 7);
  g_assert_cmpint (g_unlink (f.path), ==, 0);
  assert_open_fails (f.path, SK_ERROR_CORRUPT);
  assert_starts_again (&f);
  f.index = NULL;
  fixture_close (&f);
}

/* The beginning of a database was interrupted: what was left of it is not taken for one. */
static void
test_half_made (void)
{
  Fixture f = { 0 };
  g_autofree char *made = NULL;

  fixture_open (&f);
  sk_index_close (f.index);
  made = beside (&f, ".new");
  g_assert_cmpint (g_rename (f.path, made), ==, 0);
  g_assert_cmpint (truncate (made, 5000), ==, 0);
  f.index = open_index (f.path);
  g_assert_false (g_file_test (made, G_FILE_TEST_EXISTS));
  assert_sound (f.index);
  fixture_close (&f);
}

static void
flip_and_use (GRand *rand, const char *path, const guint8 *good, gsize len)
{
  g_autofree guint8 *bad = g_memdup2 (good, len);
  guint flips = (guint) g_rand_int_range (rand, 1, 40);

  for (guint i = 0; i < flips; i++)
    bad[g_rand_int_range (rand, 0, (gint32) len)] ^= (guint8) g_rand_int_range (rand, 1, 256);
  g_assert_true (g_file_set_contents (path, (char *) bad, (gssize) len, NULL));
  use_damaged (path);
}

/* SQLite repeats what stands in the file: a message is text all the same. */
static void
test_name_of_any_bytes (void)
{
  static const char was[] = "REFERENCES storage", is[] = "REFERENCES stor\xffge";
  Fixture f = { 0 };
  g_autofree char *bytes = NULL;
  g_autoptr(GError) error = NULL;
  char *found;
  gsize len;

  fixture_open (&f);
  sk_index_close (f.index);
  f.index = NULL;
  g_assert_true (g_file_get_contents (f.path, &bytes, &len, NULL));
  found = memmem (bytes, len, was, strlen (was));
  g_assert_nonnull (found);
  for (; found != NULL; found = memmem (found, len - (gsize) (found - bytes), was, strlen (was)))
    memcpy (found, is, strlen (is));
  g_assert_true (g_file_set_contents (f.path, bytes, (gssize) len, NULL));
  g_assert_null (sk_index_open (f.path, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_nonnull (strstr (error->message, f.path));
  fixture_close (&f);
}

static void
test_flipped_bytes (void)
{
  Fixture f = { 0 };
  guint32 seed = g_test_rand_int () & G_MAXINT32;
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);
  g_autofree char *good = NULL, *log = NULL, *good_log = NULL;
  gsize len, log_len;

  g_test_message ("seed %u", seed);
  fixture_open (&f);
  fill_every_table (&f);
  sk_index_close (f.index);
  f.index = NULL;
  g_assert_true (g_file_get_contents (f.path, &good, &len, NULL));
  for (guint i = 0; i < 40; i++)
    flip_and_use (rand, f.path, (guint8 *) good, len);

  /* A damaged log of changes beside a good file: what was not complete did not happen. */
  g_assert_true (g_file_set_contents (f.path, good, (gssize) len, NULL));
  run_killed (leave_log_behind, f.path, 7);
  log = beside (&f, "-wal");
  g_assert_true (g_file_get_contents (log, &good_log, &log_len, NULL));
  for (guint i = 0; i < 10; i++)
    {
      g_assert_true (g_file_set_contents (f.path, good, (gssize) len, NULL));
      flip_and_use (rand, log, (guint8 *) good_log, log_len);
      use_damaged (f.path);
    }
  fixture_close (&f);
}

/* --- which error is what --- */

static void
test_error_codes (void)
{
  static const struct { int rc, errnum; SkErrorCode code; } cases[] = {
    { SQLITE_CORRUPT, 0, SK_ERROR_CORRUPT },
    { SQLITE_CORRUPT_INDEX, 0, SK_ERROR_CORRUPT },
    { SQLITE_NOTADB, 0, SK_ERROR_CORRUPT },
    { SQLITE_FULL, 0, SK_ERROR_NO_SPACE },
    { SQLITE_IOERR_WRITE, ENOSPC, SK_ERROR_NO_SPACE },
    { SQLITE_IOERR_WRITE, EDQUOT, SK_ERROR_NO_SPACE },
    { SQLITE_CANTOPEN, ENOSPC, SK_ERROR_NO_SPACE },
    { SQLITE_CANTOPEN, EACCES, SK_ERROR_PERMISSION },
    { SQLITE_CANTOPEN, EROFS, SK_ERROR_PERMISSION },
    { SQLITE_CANTOPEN, ENOENT, SK_ERROR_IO },
    { SQLITE_READONLY_DIRECTORY, 0, SK_ERROR_PERMISSION },
    { SQLITE_PERM, 0, SK_ERROR_PERMISSION },
    { SQLITE_IOERR_READ, EIO, SK_ERROR_IO },
    { SQLITE_IOERR_CORRUPTFS, EIO, SK_ERROR_IO },
    { SQLITE_IOERR_FSYNC, EIO, SK_ERROR_IO },
    { SQLITE_IOERR_READ, 0, SK_ERROR_IO },
    { SQLITE_BUSY, 0, SK_ERROR_BUSY },
    { SQLITE_TOOBIG, 0, SK_ERROR_LIMIT },
    { SQLITE_NOMEM, 0, SK_ERROR_FAILED },
    { SQLITE_CONSTRAINT_UNIQUE, 0, SK_ERROR_FAILED },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_test_message ("code %d, errno %d", cases[i].rc, cases[i].errnum);
      g_assert_cmpint (sk_index_error_code (cases[i].rc, cases[i].errnum), ==, cases[i].code);
    }
}

/* --- full disks --- */

static gboolean
mount_small (const char *dir, const char *options)
{
  if (geteuid () == 0 && unshare (CLONE_NEWNS) == 0 && mount ("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
      && mount ("tmpfs", dir, "tmpfs", 0, options) == 0)
    return TRUE;
  g_test_skip ("needs the right to mount a small file system");
  return FALSE;
}

/* Returns the file that takes all that was free. */
static char *
fill_disk (const char *dir)
{
  char *path = g_build_filename (dir, "filler", NULL);
  g_autofree char *block = g_malloc0 (4096);
  int fd = open (path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

  g_assert_cmpint (fd, >=, 0);
  while (write (fd, block, 4096) > 0)
    ;
  close (fd);
  return path;
}

static void
test_full_disk (void)
{
  g_autofree char *dir = g_dir_make_tmp ("skerry-full-XXXXXX", NULL), *path = g_build_filename (dir, "index.sqlite", NULL);
  g_autofree char *filler = NULL, *made = g_strconcat (path, ".new", NULL), *noise = g_malloc0 (3 << 20);
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) large = g_bytes_new_static (noise, 3 << 20);
  SkPosition position = { make_id (1), 1, make_hash (1) };
  gboolean failed = FALSE;
  SkIndex *index;

  if (!mount_small (dir, "size=2m"))
    return;
  filler = fill_disk (dir);
  assert_open_fails (path, SK_ERROR_NO_SPACE);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (made, G_FILE_TEST_EXISTS));

  g_unlink (filler);
  index = open_index (path);
  begin (index);
  g_assert_true (sk_index_set_u64 (index, "kept", 1, NULL));
  commit (index);
  sk_index_close (index);
  g_free (filler);
  filler = fill_disk (dir);
  index = open_index (path);      /* starting on a full disk is no damage */
  begin (index);
  failed = !sk_index_segment_keep (index, &position, large, &error) || !sk_index_commit (index, &error);
  g_assert_true (failed);
  g_assert_error (error, SK_ERROR, SK_ERROR_NO_SPACE);
  g_assert_nonnull (strstr (error->message, path));
  sk_index_rollback (index);
  g_assert_cmpuint (sk_index_get_u64 (index, "kept", 0), ==, 1);

  g_unlink (filler);      /* and it goes on without being opened again */
  begin (index);
  g_assert_true (sk_index_set_u64 (index, "kept", 2, NULL));
  commit (index);
  assert_sound (index);
  sk_index_close (index);
  index = open_index (path);
  g_assert_cmpuint (sk_index_get_u64 (index, "kept", 0), ==, 2);
  sk_index_close (index);
  umount2 (dir, MNT_DETACH);
  g_rmdir (dir);
}

/* Temporary data goes nowhere near a full folder for temporary files. The program under test is a new process, because SQLite reads
 * the variables once; and it is SQLite's own variable, because the test needs a TMPDIR itself. */
static void
use_temporary_data (void)
{
  static const char sql[] = "CREATE TEMP TABLE t AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
                            "SELECT randomblob (40) AS x FROM n; CREATE INDEX temp.t_x ON t (x)";
  Fixture f = { 0 };

  fixture_open (&f);
  g_assert_cmpint (sqlite3_exec (f.index->db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  begin (f.index);
  for (guint i = 0; i < 200000; i++)
    {
      SkHash id = make_hash (i);

      g_assert_cmpint (sk_index_chunk_ensure (f.index, &id, 1000, 0, NULL, NULL), >, 0);
    }
  commit (f.index);
  fixture_close (&f);
}

static void
test_full_tmpdir (void)
{
  g_autofree char *tmp = g_dir_make_tmp ("skerry-tmp-XXXXXX", NULL), *filler = NULL;

  if (!mount_small (tmp, "size=1m"))
    return;
  filler = fill_disk (tmp);
  g_setenv ("SQLITE_TMPDIR", tmp, TRUE);
  g_test_trap_subprocess ("/index/sit-B094/full-tmpdir/subprocess", 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
  g_unsetenv ("SQLITE_TMPDIR");
  umount2 (tmp, MNT_DETACH);
  g_rmdir (tmp);
}

/* --- the log of changes stays small --- */

static void
test_log_is_bounded (void)
{
  enum { N = 200000 };
  Fixture f = { 0 };
  g_autofree char *log = NULL;
  goffset largest = 0;
  GStatBuf st;

  fixture_open (&f);
  log = beside (&f, "-wal");
  for (guint i = 0; i < N; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir%u/file-with-a-longer-name-%u", i / 500, i);

      if (i % 1000 == 0)
        begin (f.index);
      set_base (&f, ensure_node (&f, path), &(SkBase) { .kind = SK_KIND_FILE, .content = i + 1, .ino = i, .size = i, .ctime = G_MAXINT64 - i });
      if (i % 1000 != 999)
        continue;
      commit (f.index);
      g_assert_cmpint (g_stat (log, &st), ==, 0);
      largest = MAX (largest, st.st_size);
    }
  g_test_message ("largest log: %.1f MiB", (double) largest / (1 << 20));
  g_assert_cmpint (largest, <, 32 << 20);
  fixture_close (&f);
}

/* A log left by one huge transaction is cut when it is next begun from the start. */
static void
test_log_shrinks (void)
{
  Fixture f = { 0 };
  g_autofree char *log = NULL, *noise = g_malloc0 (60 << 20);
  g_autoptr(GBytes) large = g_bytes_new_static (noise, 60 << 20);
  SkPosition position = { make_id (1), 1, make_hash (1) };
  GStatBuf st;

  fixture_open (&f);
  log = beside (&f, "-wal");
  begin (f.index);
  g_assert_true (sk_index_segment_keep (f.index, &position, large, NULL));
  commit (f.index);
  g_assert_cmpint (g_stat (log, &st), ==, 0);
  g_assert_cmpint (st.st_size, >, 60 << 20);
  for (guint i = 0; i < 2; i++)
    {
      begin (f.index);
      g_assert_true (sk_index_set_u64 (f.index, "x", i, NULL));
      commit (f.index);
    }
  g_assert_cmpint (g_stat (log, &st), ==, 0);
  g_assert_cmpint (st.st_size, <=, 32 << 20);
  fixture_close (&f);
}

typedef struct { guint calls, until, done, total; } Asked;

static gboolean
go_on (guint done, guint total, gpointer user_data)
{
  Asked *asked = user_data;

  g_assert_cmpuint (done, >=, asked->done);
  g_assert_cmpuint (done, <, total);
  asked->done = done;
  asked->total = total;
  return ++asked->calls < asked->until;
}

/* At every moment at which it asks, also in the middle of a statement; nothing is different afterwards. */
static void
test_check_is_cancelled (void)
{
  Fixture f = { 0 };
  Asked all = { .until = G_MAXUINT };
  g_autoptr(GPtrArray) problems = NULL;

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < 8000; i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i);

      put_file (&f, path, i + 1, 2 * i, 2);
    }
  commit (f.index);
  problems = sk_index_check (f.index, go_on, &all, NULL);
  g_assert_nonnull (problems);
  g_assert_cmpuint (all.done, ==, all.total - 1);
  g_assert_cmpuint (all.calls, >, all.total);
  for (guint i = 1; i <= all.calls; i++)
    {
      Asked some = { .until = i };
      g_autoptr(GError) error = NULL;

      g_assert_null (sk_index_check (f.index, go_on, &some, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CANCELLED);
      g_assert_cmpuint (some.calls, ==, i);
    }
  assert_sound (f.index);
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/index/file-is-private", test_file_is_private);
  g_test_add_func ("/index/only-one", test_only_one);
  g_test_add_func ("/index/not-ours", test_not_ours);
  g_test_add_func ("/index/failed-statement-poisons", test_failed_statement_poisons);
  g_test_add_func ("/index/check-is-cancelled", test_check_is_cancelled);
  g_test_add_func ("/index/transactions-are-counted", test_transactions_are_counted);
  g_test_add_func ("/index/killed-between-statements", test_killed_between_statements);
  g_test_add_func ("/index/sit-B086/truncated", test_truncated);
  g_test_add_func ("/index/sit-B086/gone-with-log-left", test_gone_with_log_left);
  g_test_add_func ("/index/half-made", test_half_made);
  g_test_add_func ("/index/flipped-bytes", test_flipped_bytes);
  g_test_add_func ("/index/name-of-any-bytes", test_name_of_any_bytes);
  g_test_add_func ("/index/error-codes", test_error_codes);
  g_test_add_func ("/index/sit-B091/full-disk", test_full_disk);
  g_test_add_func ("/index/sit-B094/full-tmpdir", test_full_tmpdir);
  g_test_add_func ("/index/sit-B094/full-tmpdir/subprocess", use_temporary_data);
  g_test_add_func ("/index/sit-B101/log-is-bounded", test_log_is_bounded);
  g_test_add_func ("/index/sit-B101/log-shrinks", test_log_shrinks);
  return g_test_run ();
}
