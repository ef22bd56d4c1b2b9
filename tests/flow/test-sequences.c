/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short sequences that the model of three devices found to go wrong once. */
#include "sk-fleet-check.h"
#include "sk-flow.h"
#include "sk-pair.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void
assert_equal_trees (SkFleet *fleet)
{
  g_autofree char *first_path = sk_fleet_path (fleet, 0, "f");
  g_autofree char *first = sk_tree_listing (first_path);

  for (guint i = 1; i < fleet->n; i++)
    {
      g_autofree char *path = sk_fleet_path (fleet, i, "f");
      g_autofree char *other = sk_tree_listing (path);

      g_assert_cmpstr (first, ==, other);
    }
}

/* A sync of which nothing failed. */
static void
sync_cleanly (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) report = sk_fleet_sync (fleet, i);
  g_autoptr(GVariant) failed = g_variant_lookup_value (report, "failed", G_VARIANT_TYPE ("aa{sv}"));
  g_autofree char *shown = g_variant_print (failed, FALSE);

  g_assert_cmpstr (shown, ==, "[]");
}

static void
set_time (const char *dir, const char *name, time_t seconds)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);
  const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = seconds, .tv_nsec = 5 } };

  g_assert_cmpint (utimensat (AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), ==, 0);
}

static gint64
time_of (const char *dir, const char *name)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);
  struct stat st;

  g_assert_cmpint (lstat (path, &st), ==, 0);
  return st.st_mtim.tv_sec;
}

static gboolean
is_there (const char *dir, const char *name)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);

  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
test_made_again (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *file = g_build_filename (a, "d/x", NULL), *got = NULL;

  sk_put_file (a, "d/x", "first", -1);
  sk_put_file (a, "d/stays", "stays", -1);
  sk_fleet_share (fleet, "f");
  g_assert_cmpint (g_unlink (file), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_false (is_there (b, "d/x"));
  sk_put_file (a, "d/x", "second", -1);
  sync_cleanly (fleet, 0);
  sync_cleanly (fleet, 1);
  got = sk_get_file (b, "d/x");
  g_assert_cmpstr (got, ==, "second");
}

/* What is wanted only because of what lies in it goes with that; but not what a person made. */
static void
test_directory_that_became_empty (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *there = g_build_filename (b, "d/e", NULL), *inner = g_build_filename (there, "x", NULL);
  g_autofree char *last = g_build_filename (a, "d/e/z", NULL);

  sk_put_file (a, "d/e/x", "x", -1);
  sk_put_file (a, "d/y", "y", -1);
  sk_fleet_share (fleet, "f");
  g_assert_cmpint (g_unlink (inner), ==, 0);
  g_assert_cmpint (g_rmdir (there), ==, 0);
  sync_cleanly (fleet, 1);
  sk_put_file (a, "d/e/z", "at the same time", -1);
  sync_cleanly (fleet, 0);
  g_assert_cmpint (g_mkdir (there, 0755), ==, 0);
  sync_cleanly (fleet, 1);
  sk_fleet_settle (fleet, 8);
  g_assert_true (is_there (b, "d/e/z"));
  g_assert_cmpint (g_unlink (last), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_true (is_there (a, "d/e"));
  assert_equal_trees (fleet);
}

static void
lose_database (SkFleet *fleet, guint i)
{
  const char *const names[] = { "index.sqlite", "index.sqlite-wal", "index.sqlite-shm" };
  g_autofree char *home = sk_fleet_home (fleet, i);

  sk_fleet_close (fleet, i);
  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    {
      g_autofree char *path = g_build_filename (home, names[k], NULL);

      g_remove (path);
    }
  sk_fleet_open (fleet, i);
}

/* Its head must not look older than it was, and its deletions must count again. */
static void
test_lost_database (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *file = g_build_filename (a, "gone", NULL);

  sk_put_file (a, "gone", "1", -1);
  sk_put_file (a, "stays", "2", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, "stays", "22", -1);
  sync_cleanly (fleet, 0);
  sync_cleanly (fleet, 1);
  lose_database (fleet, 0);
  sync_cleanly (fleet, 0);
  sync_cleanly (fleet, 1);
  assert_equal_trees (fleet);
  g_assert_cmpint (g_unlink (file), ==, 0);
  sync_cleanly (fleet, 0);
  sync_cleanly (fleet, 1);
  g_assert_false (is_there (b, "gone"));
  g_assert_true (is_there (b, "stays"));
}

static void
test_time_of_link (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *link = g_build_filename (a, "link", NULL);

  g_assert_cmpint (symlink ("nowhere", link), ==, 0);
  set_time (a, "link", 1000000000);
  sk_fleet_share (fleet, "f");
  g_assert_cmpint (time_of (b, "link"), ==, 1000000000);
  set_time (a, "link", 1100000000);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpint (time_of (b, "link"), ==, 1100000000);
}

/* "x" with the content of device 0, which is not the base's, wins over what @other wrote; the name of the copy device 0 has. (transfer full) */
static char *
make_conflict (SkFleet *fleet, guint other)
{
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, other, "f");
  g_autoptr(GDir) dir = NULL;
  const char *name;

  sk_put_file (a, "x", "base", -1);
  sk_fleet_share (fleet, "f");
  /* A higher Lamport number. */
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *text = g_strdup_printf ("%u", i);

      sk_put_file (a, "y", text, -1);
      sync_cleanly (fleet, 0);
    }
  sk_put_file (b, "x", "loses", -1);
  sync_cleanly (fleet, other);
  sk_put_file (b, "z", "more", -1);
  sk_put_file (a, "x", "wins", -1);
  sync_cleanly (fleet, 0);
  dir = g_dir_open (a, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (name, "x (conflict, "))
      return g_strdup (name);
  g_assert_not_reached ();
}

/* The loser is written again where nobody knows of the conflict yet; meanwhile its copy is changed. */
static void
test_withdrawn_copy (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *copy = make_conflict (fleet, 1);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *file = g_build_filename (a, copy, NULL);

  sk_put_file (b, "x", "loses again", -1);
  sync_cleanly (fleet, 1);
  g_assert_cmpint (g_chmod (file, 0600), ==, 0);
  sync_cleanly (fleet, 0);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
}

/* A touch of what lost its name, where that is not known yet, goes with the copy on all devices. */
static void
test_touched_loser (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (3, FALSE);
  g_autofree char *copy = make_conflict (fleet, 1);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *c = sk_fleet_path (fleet, 2, "f");

  sync_cleanly (fleet, 2);
  g_assert_true (is_there (c, copy));
  set_time (b, "x", 1200000000);
  sync_cleanly (fleet, 1);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
  g_assert_cmpint (time_of (a, copy), ==, 1200000000);
  g_assert_cmpint (time_of (c, copy), ==, 1200000000);
}

typedef struct
{
  SkSession *session;
  gint64 folder;
  const char *path;
  SkKind kind;                   /* by the base */
} Taken;

static gboolean
look_at_base (SkSession *session, gpointer data, GError **error)
{
  Taken *taken = data;
  g_autoptr(SkNode) node = sk_index_node (session->index, taken->folder, taken->path, NULL);

  taken->kind = node != NULL ? node->base.kind : SK_KIND_NONE;
  return TRUE;
}

static gboolean
is_taken (gpointer data)
{
  Taken *taken = data;

  return sk_session_index (taken->session, look_at_base, taken, NULL) && taken->kind == SK_KIND_FILE;
}

/* What a person put into a new directory was taken in before the directory itself, and the way down went in between: it is still his directory,
 * and stays when what lies in it goes. */
static void
test_directory_taken_after_its_file (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  SkDownResult result;
  g_autoptr(SkConfig) config = NULL;
  Taken taken = { .path = "d/x" };

  sk_fleet_share (fleet, "f");
  config = sk_session_config (fleet->devices[0]);
  taken.session = fleet->devices[0];
  taken.folder = ((SkFlowFolder *) config->folders->pdata[0])->row;
  sk_put_file (a, "d/x", "in a new directory", -1);
  sk_up_note (taken.session->up, taken.folder, taken.path, FALSE, FALSE);
  g_assert_true (sk_wait (is_taken, &taken, 5));
  sk_down_result_init (&result);
  g_assert_true (sk_down_sync (taken.session->down, NULL, 0, &result, NULL, NULL));
  g_assert_cmpuint (result.failed->len, ==, 0);
  sk_down_result_clear (&result);
  sync_cleanly (fleet, 0);
  sync_cleanly (fleet, 1);
  assert_equal_trees (fleet);
  sk_unlink (b, "d/x");
  sync_cleanly (fleet, 1);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
  g_assert_true (sk_there (a, "d"));
  g_assert_false (sk_there (a, "d/x"));
}

static gboolean
is_forgotten (gpointer data)
{
  Taken *taken = data;

  return sk_session_index (taken->session, look_at_base, taken, NULL) && taken->kind == SK_KIND_NONE;
}

/* A directory became a link, and what was in it is looked at by its path: it is not there, and nobody waits for it for ever. */
static void
test_file_behind_a_link (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *dir = g_build_filename (a, "d", NULL);
  g_autoptr(SkConfig) config = NULL;
  Taken taken = { .path = "d/x" };

  sk_put_file (a, "d/x", "in a directory", -1);
  sk_put_file (a, "e/x", "behind the link", -1);
  sk_put_file (a, "y", "beside it", -1);
  sk_fleet_share (fleet, "f");
  config = sk_session_config (fleet->devices[0]);
  taken.session = fleet->devices[0];
  taken.folder = ((SkFlowFolder *) config->folders->pdata[0])->row;
  sk_unlink (a, "d/x");
  g_assert_cmpint (g_rmdir (dir), ==, 0);
  g_assert_cmpint (symlink ("e", dir), ==, 0);
  sk_up_note (taken.session->up, taken.folder, taken.path, FALSE, FALSE);
  g_assert_true (sk_wait (is_forgotten, &taken, 5));
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
}

int
main (int argc, char **argv)
{
  if (g_getenv ("TMPDIR") == NULL && access ("/dev/shm", W_OK | X_OK) == 0)
    g_setenv ("TMPDIR", "/dev/shm", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sequences/made-again-where-it-was-removed", test_made_again);
  g_test_add_func ("/sequences/rule-A5/lost-database", test_lost_database);
  g_test_add_func ("/sequences/directory-that-became-empty", test_directory_that_became_empty);
  g_test_add_func ("/sequences/rule-A15/directory-taken-after-its-file", test_directory_taken_after_its_file);
  g_test_add_func ("/sequences/file-behind-a-link", test_file_behind_a_link);
  g_test_add_func ("/sequences/time-of-a-link", test_time_of_link);
  g_test_add_func ("/sequences/rule-A7/withdrawn-copy-that-was-changed", test_withdrawn_copy);
  g_test_add_func ("/sequences/rule-A7/touched-loser", test_touched_loser);
  return g_test_run ();
}
