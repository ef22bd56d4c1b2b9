/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-index-private.h"

#include "index-support.h"

#include <sys/wait.h>

static char *
read_hash (const char *path)
{
  g_autofree char *data = NULL;
  gsize len;

  if (!g_file_get_contents (path, &data, &len, NULL))
    return g_strdup ("none");
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, (guchar *) data, len);
}

static sqlite3 *
open_raw (const char *path)
{
  sqlite3 *db;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  return db;
}

static void
run_raw (sqlite3 *db, const char *sql)
{
  g_assert_cmpint (sqlite3_exec (db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
}

static int
version_of (sqlite3 *db)
{
  int version = -1;

  g_assert_true (sk_index_user_version (db, "x", &version, NULL));
  return version;
}

/* --- steps --- */

static const char *const fake_steps[] = {
  "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);",
  "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = 2;",
  "CREATE TABLE b (z INTEGER) STRICT;",
};

static void
test_steps (void)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *stepwise = NULL, *at_once = NULL;
  sqlite3 *db = open_raw (":memory:"), *other = open_raw (":memory:");

  for (guint i = 0; i <= G_N_ELEMENTS (fake_steps); i++)
    {
      g_assert_true (sk_index_migrate (db, "x", fake_steps, i, &error));
      g_assert_no_error (error);
      g_assert_cmpint (version_of (db), ==, (int) i);
    }
  g_assert_true (sk_index_migrate (other, "x", fake_steps, G_N_ELEMENTS (fake_steps), &error));
  stepwise = sk_index_schema_dump (db, "x", &error);
  at_once = sk_index_schema_dump (other, "x", &error);
  g_assert_cmpstr (stepwise, ==, at_once);
  run_raw (db, "SELECT x, y FROM a, b");
  sqlite3_close (db);
  sqlite3_close (other);
}

/* The version moves with the step or not at all. */
static void
test_failing_step (void)
{
  static const char *const bad[] = { "CREATE TABLE a (x INTEGER) STRICT;", "CREATE TABLE b (y INTEGER) STRICT; INSERT INTO nothing VALUES (1);" };
  g_autoptr(GError) error = NULL;
  g_autofree char *before = NULL, *after = NULL;
  sqlite3 *db = open_raw (":memory:");

  g_assert_true (sk_index_migrate (db, "x", bad, 1, &error));
  before = sk_index_schema_dump (db, "x", NULL);
  g_assert_false (sk_index_migrate (db, "x", bad, 2, &error));
  g_assert_nonnull (error);
  after = sk_index_schema_dump (db, "x", NULL);
  g_assert_cmpint (version_of (db), ==, 1);
  g_assert_cmpstr (before, ==, after);
  g_assert_true (sqlite3_get_autocommit (db));
  sqlite3_close (db);
}

/* Killed after any number of instructions, a database is at one version or the next, with the tables that belong to it. */
static int
stop (void *data)
{
  guint *left = data;

  return (*left)-- == 0;
}

static void
test_interrupted_step (void)
{
  g_autofree char *dir = g_dir_make_tmp ("skerry-schema-XXXXXX", NULL), *path = g_build_filename (dir, "db", NULL);
  gboolean done = FALSE;

  for (guint at = 0; !done; at++)
    {
      g_autoptr(GError) error = NULL;
      g_autofree char *found = NULL, *expected = NULL;
      sqlite3 *db = open_raw (path), *model = open_raw (":memory:");
      guint left = at;

      sqlite3_progress_handler (db, 1, stop, &left);
      done = sk_index_migrate (db, path, fake_steps, G_N_ELEMENTS (fake_steps), &error);
      sqlite3_progress_handler (db, 0, NULL, NULL);
      sqlite3_close (db);
      db = open_raw (path);
      g_assert_true (sk_index_migrate (model, "x", fake_steps, (guint) version_of (db), NULL));
      found = sk_index_schema_dump (db, path, NULL);
      expected = sk_index_schema_dump (model, "x", NULL);
      g_assert_cmpstr (found, ==, expected);
      sqlite3_close (db);
      sqlite3_close (model);
    }
  remove_tree (dir);
}

/* --- newer --- */

static void
set_newer (const char *path, gboolean leave_in_log)
{
  if (!leave_in_log)
    {
      sqlite3 *db = open_raw (path);

      run_raw (db, "PRAGMA user_version = 1000");
      sqlite3_close (db);
    }
  else
    {
      int status;
      pid_t pid = fork ();

      if (pid == 0)
        {
          run_raw (open_raw (path), "PRAGMA user_version = 1000");
          _exit (0);      /* without closing: it stays in the log of changes */
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (status, ==, 0);
    }
}

static void
test_newer_is_refused_untouched (void)
{
  for (guint in_log = 0; in_log < 2; in_log++)
    {
      Fixture f = { 0 };
      g_autoptr(GError) error = NULL;
      g_autofree char *log = NULL, *before = NULL, *log_before = NULL, *after = NULL, *log_after = NULL;

      fixture_open (&f);
      fill_every_table (&f);
      sk_index_close (f.index);
      set_newer (f.path, in_log);
      log = g_strconcat (f.path, "-wal", NULL);
      before = read_hash (f.path);
      log_before = read_hash (log);
      g_assert_cmpint (g_strcmp0 (log_before, "none") != 0, ==, in_log);

      f.index = sk_index_open (f.path, &error);
      g_assert_null (f.index);
      g_assert_error (error, SK_ERROR, SK_ERROR_TOO_NEW);
      after = read_hash (f.path);
      log_after = read_hash (log);
      g_assert_cmpstr (before, ==, after);
      g_assert_cmpstr (log_before, ==, log_after);
      fixture_close (&f);
    }
}

/* --- what was released --- */

static void
test_fresh_is_as_expected (void)
{
  Fixture f = { 0 };
  g_autofree char *fresh = NULL, *model_dump = NULL;
  sqlite3 *model = open_raw (":memory:");

  fixture_open (&f);
  fresh = sk_index_schema_dump (f.index->db, f.path, NULL);
  g_assert_true (sk_index_migrate (model, "x", sk_index_steps, sk_index_n_steps, NULL));
  model_dump = sk_index_schema_dump (model, "x", NULL);
  g_assert_cmpstr (fresh, ==, model_dump);
  g_assert_nonnull (strstr (fresh, "CREATE TABLE node"));
  g_assert_cmpint (version_of (f.index->db), ==, (int) sk_index_n_steps);
  assert_sound (f.index);
  sqlite3_close (model);
  fixture_close (&f);
}

/* The tables were altered behind our back: said at once, not when a statement fails later. */
static void
test_altered_tables (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  sqlite3 *db;

  fixture_open (&f);
  sk_index_close (f.index);
  db = open_raw (f.path);
  run_raw (db, "ALTER TABLE node RENAME COLUMN name TO title");
  sqlite3_close (db);
  f.index = sk_index_open (f.path, &error);
  g_assert_null (f.index);
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  fixture_close (&f);
}

static void
test_fixture (gconstpointer data)
{
  g_autofree char *from = g_test_build_filename (G_TEST_DIST, "fixtures", data, NULL), *bytes = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(SkNode) file = NULL;
  g_autoptr(GArray) chunks = NULL;
  g_autoptr(GPtrArray) versions = NULL;
  const SkVersion *version;
  Fixture f = { 0 };
  gsize len;

  f.dir = g_dir_make_tmp ("skerry-fixture-XXXXXX", NULL);
  f.path = g_build_filename (f.dir, "index.sqlite", NULL);
  g_assert_true (g_file_get_contents (from, &bytes, &len, &error));
  g_assert_no_error (error);
  g_assert_true (g_file_set_contents (f.path, bytes, (gssize) len, NULL));
  f.index = open_index (f.path);
  assert_sound (f.index);
  g_assert_cmpint (version_of (f.index->db), ==, (int) sk_index_n_steps);
  g_assert_cmpuint (sk_index_get_u64 (f.index, "counter", 0), ==, 300);

  file = sk_index_node (f.index, 1, "dir3/sub/file-62.txt", &error);
  g_assert_no_error (error);
  g_assert_cmpint (file->base.kind, ==, SK_KIND_FILE);
  g_assert_cmpuint (file->base.ino, ==, 1063);
  versions = sk_index_versions (f.index, file->row, TRUE, &error);
  g_assert_cmpuint (versions->len, ==, 1);
  version = g_ptr_array_index (versions, 0);
  g_assert_cmpstr (version->entry->device_name, ==, "laptop");
  chunks = sk_index_content_chunks (f.index, file->base.content, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (chunks->len, ==, 3);
  change_something (f.index);
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  const char *make = g_getenv ("SKERRY_MAKE_FIXTURE");

  g_test_init (&argc, &argv, NULL);
  /* Writes the fixture of the present version, once, when that version is released. */
  if (make != NULL)
    {
      Fixture f = { 0 };
      g_autofree char *bytes = NULL;
      gsize len;

      fixture_open (&f);
      fill_every_table (&f);
      sk_index_close (f.index);
      f.index = NULL;
      g_assert_true (g_file_get_contents (f.path, &bytes, &len, NULL));
      g_assert_true (g_file_set_contents (make, bytes, (gssize) len, NULL));
      fixture_close (&f);
      return 0;
    }
  g_test_add_func ("/schema/steps", test_steps);
  g_test_add_func ("/schema/failing-step", test_failing_step);
  g_test_add_func ("/schema/interrupted-step", test_interrupted_step);
  g_test_add_func ("/schema/sit-B100/newer-is-refused-untouched", test_newer_is_refused_untouched);
  g_test_add_func ("/schema/fresh-is-as-expected", test_fresh_is_as_expected);
  g_test_add_func ("/schema/altered-tables", test_altered_tables);
  g_test_add_data_func ("/schema/fixture-1", "index-v1.sqlite", test_fixture);
  return g_test_run ();
}
