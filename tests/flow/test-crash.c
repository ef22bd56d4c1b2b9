/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stops without warning, lost databases, clocks that are wrong. */
#include "sk-flow.h"
#include "sk-fleet-check.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- helpers --- */

static char *
tree_of (SkFleet *fleet, guint i)
{
  g_autofree char *path = sk_fleet_path (fleet, i, "f");

  return sk_tree_listing (path);
}

static void
assert_equal_trees (SkFleet *fleet)
{
  g_autofree char *a = tree_of (fleet, 0), *b = tree_of (fleet, 1);

  g_assert_cmpstr (a, ==, b);
}

static guint64
number (GVariant *report, const char *dictionary, const char *key)
{
  g_autoptr(GVariant) inner = dictionary != NULL ? g_variant_lookup_value (report, dictionary, G_VARIANT_TYPE_VARDICT) : g_variant_ref (report);
  guint64 value = 0;

  g_assert_nonnull (inner);
  g_assert_true (g_variant_lookup (inner, key, "t", &value));
  return value;
}

/* Writes @len bytes in place at @offset and puts the modification time back when @keep. @len < 0: cuts the file to nothing. */
static void
overwrite (const char *path, gint64 offset, const char *data, gssize len, gboolean keep)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);
  struct stat st;

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fstat (fd, &st), ==, 0);
  if (len < 0)
    g_assert_cmpint (ftruncate (fd, 0), ==, 0);
  else
    g_assert_cmpint (pwrite (fd, data, (gsize) len, offset), ==, len);
  if (keep)
    g_assert_cmpint (futimens (fd, (struct timespec[]) { st.st_atim, st.st_mtim }), ==, 0);
  close (fd);
}

static SkFleet *
pair_with_files (guint n)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");

  sk_fleet_share (fleet, "f");
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("d%u/file%03u", i % 7, i);
      g_autofree char *data = g_strnfill (1000 + i, (char) ('a' + i % 26));

      sk_put_file (a, name, data, -1);
    }
  g_variant_unref (sk_fleet_sync (fleet, 0));
  return fleet;
}

static char *
file_of (SkFleet *fleet, guint device, guint i)
{
  g_autofree char *root = sk_fleet_path (fleet, device, "f");

  return g_strdup_printf ("%s/d%u/file%03u", root, i % 7, i);
}

/* --- tests --- */

static void
damage (SkFleet *fleet, guint count, gboolean keep)
{
  for (guint i = 0; i < count; i++)
    {
      g_autofree char *emptied = file_of (fleet, 1, i), *zeroed = file_of (fleet, 1, 50 + i);
      g_autofree char *zeros = g_malloc0 (1000 + 50 + i);

      overwrite (emptied, 0, NULL, -1, keep);
      overwrite (zeroed, 0, zeros, 1000 + 50 + i, keep);
    }
}

/* After an unclean stop what this engine wrote and what is empty or zeros now is fetched again and never published. */
static void
check_damage (gboolean keep)
{
  g_autoptr(SkFleet) fleet = pair_with_files (100);
  g_autofree char *before = tree_of (fleet, 0), *after = NULL;
  g_autoptr(GVariant) report = NULL;

  g_assert_true (sk_sync_and_die (fleet, 1, NULL));
  assert_equal_trees (fleet);
  sk_fleet_close (fleet, 1);
  damage (fleet, 20, keep);
  sk_fleet_open (fleet, 1);
  report = sk_fleet_sync (fleet, 1);
  g_assert_cmpuint (number (report, "sent", "files"), ==, 0);
  g_assert_cmpuint (number (report, NULL, "files"), ==, 40);
  sk_fleet_settle (fleet, 6);
  after = tree_of (fleet, 0);
  g_assert_cmpstr (after, ==, before);
  assert_equal_trees (fleet);
}

static void
test_damage (void)
{
  check_damage (TRUE);
}

static void
test_damage_new_times (void)
{
  check_damage (FALSE);
}

/* The same after the engine died in the middle of writing: some files have a base, some do not. */
static void
test_damage_mid_write (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (100);
  g_autofree char *before = tree_of (fleet, 0), *after = NULL;
  guint emptied = 0;

  g_assert_true (sk_sync_and_die (fleet, 1, "rename:121"));
  sk_fleet_close (fleet, 1);
  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *path = file_of (fleet, 1, i);

      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        continue;
      if (i % 2 == 0)
        overwrite (path, 0, NULL, -1, TRUE);
      else
        overwrite (path, 500, "\0\0\0\0\0\0\0\0", 8, TRUE);
      emptied++;
    }
  g_assert_cmpuint (emptied, >, 10);
  sk_fleet_open (fleet, 1);
  sk_fleet_settle (fleet, 6);
  after = tree_of (fleet, 0);
  g_assert_cmpstr (after, ==, before);
  assert_equal_trees (fleet);
}

/* A person edits what the dead engine had put there, and keeps its time: in place, by another file, longer and shorter. */
static void
test_edit_mid_write (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (40);
  g_autoptr(GPtrArray) edits = g_ptr_array_new_with_free_func (g_free);

  g_assert_true (sk_sync_and_die (fleet, 1, "rename:30"));
  sk_fleet_close (fleet, 1);
  for (guint i = 0; i < 40; i++)
    {
      g_autofree char *path = file_of (fleet, 1, i), *edit = g_strdup_printf ("edit %u by a person", i), *copy = g_strconcat (path, "~", NULL);
      struct stat st;

      if (stat (path, &st) != 0)
        continue;
      if (i % 4 == 0)
        {
          /* As one that saves by another file and puts the time back. */
          g_assert_true (g_file_set_contents (copy, edit, -1, NULL));
          g_assert_cmpint (utimensat (AT_FDCWD, copy, (struct timespec[]) { st.st_atim, st.st_mtim }, 0), ==, 0);
          g_assert_cmpint (g_rename (copy, path), ==, 0);
        }
      else if (i % 4 == 1)
        overwrite (path, 2000, edit, (gssize) strlen (edit), TRUE);
      else
        overwrite (path, 400, edit, (gssize) strlen (edit), TRUE);
      g_ptr_array_add (edits, g_steal_pointer (&edit));
    }
  g_assert_cmpuint (edits->len, >, 10);
  sk_fleet_open (fleet, 1);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
  for (guint i = 0; i < edits->len; i++)
    {
      const char *argv[] = { "grep", "-rqaF", "--exclude-dir=.skerry", edits->pdata[i], NULL, NULL };
      g_autofree char *there = sk_fleet_path (fleet, 0, "f");
      int status = -1;

      argv[4] = there;
      g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL));
      if (status != 0)
        g_test_message ("“%s” is lost", (char *) edits->pdata[i]);
      g_assert_cmpint (status, ==, 0);
    }
}

/* After a clean stop the same is a person's change. */
static void
test_clean_stop (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (60);
  g_autofree char *path = file_of (fleet, 1, 3), *there = file_of (fleet, 0, 3);
  GStatBuf st;

  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_fleet_close (fleet, 1);
  overwrite (path, 0, NULL, -1, FALSE);
  sk_fleet_open (fleet, 1);
  sk_fleet_settle (fleet, 6);
  g_assert_cmpint (g_stat (there, &st), ==, 0);
  g_assert_cmpint (st.st_size, ==, 0);
  assert_equal_trees (fleet);
}

/* And so is what a person does while the engine runs again after a crash. */
static void
test_change_after_crash (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (60);
  g_autofree char *path = file_of (fleet, 1, 3), *there = file_of (fleet, 0, 3);
  GStatBuf st;

  g_assert_true (sk_sync_and_die (fleet, 1, NULL));
  g_usleep (20 * 1000);        /* a tick of the file system's clock, which lags behind */
  overwrite (path, 0, NULL, -1, FALSE);
  sk_fleet_settle (fleet, 6);
  g_assert_cmpint (g_stat (there, &st), ==, 0);
  g_assert_cmpint (st.st_size, ==, 0);
}

/* The database was cut to nothing between two runs. */
static void
test_lost_database (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (60);
  g_autofree char *home = sk_fleet_home (fleet, 1), *database = g_build_filename (home, "index.sqlite", NULL);
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr(GVariant) report = NULL;

  g_variant_unref (sk_fleet_sync (fleet, 1));
  before = tree_of (fleet, 0);
  sk_fleet_close (fleet, 1);
  g_assert_cmpint (truncate (database, 0), ==, 0);
  sk_fleet_open (fleet, 1);
  report = sk_fleet_sync (fleet, 1);
  g_assert_cmpuint (number (report, "sent", "files"), ==, 0);
  g_assert_cmpuint (number (report, NULL, "files"), ==, 0);
  g_assert_cmpuint (number (report, "chunks", "storage"), ==, 0);
  sk_fleet_settle (fleet, 6);
  after = tree_of (fleet, 0);
  g_assert_cmpstr (before, ==, after);      /* no deletion, no conflict copy */
  assert_equal_trees (fleet);
}

/* Killed between the log in the database and the head in the storage, and around it: replay changes nothing twice. */
static void
test_replay (void)
{
  static const char *const stages[] = { "log-commit:1", "log-commit:2", "put:1", "put:2", "put:3", "put:4", "head:1", "head:2" };
  g_autoptr(SkFleet) fleet = pair_with_files (20);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");

  g_variant_unref (sk_fleet_sync (fleet, 1));
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    {
      g_autofree char *text = g_strdup_printf ("written before %s\n", stages[i]);
      g_autofree char *tree = NULL, *got = NULL, *b = sk_fleet_path (fleet, 1, "f");

      sk_put_file (a, "journal.txt", text, -1);
      g_assert_true (sk_sync_and_die (fleet, 0, stages[i]));
      sk_fleet_settle (fleet, 6);
      tree = tree_of (fleet, 1);
      g_assert_null (strstr (tree, "conflict"));
      got = sk_get_file (b, "journal.txt");
      g_assert_cmpstr (got, ==, text);
      assert_equal_trees (fleet);
    }
}

/* Killed after a file was put in its place and before the base followed; then the file changes once more elsewhere. What lies here is no change. */
static void
test_replay_of_writes (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (3);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *got = NULL, *tree = NULL;

  sk_put_file (a, "journal.txt", "one\n", -1);
  sk_fleet_settle (fleet, 6);
  sk_put_file (a, "journal.txt", "one two\n", -1);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_assert_true (sk_sync_and_die (fleet, 1, "rename:2"));
  got = sk_get_file (b, "journal.txt");
  g_assert_cmpstr (got, ==, "one two\n");
  sk_put_file (a, "journal.txt", "one two three\n", -1);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_fleet_settle (fleet, 6);
  tree = tree_of (fleet, 0);
  g_assert_null (strstr (tree, "conflict"));
  assert_equal_trees (fleet);
}

/* Killed when it was noted that a link stands in the place of a directory, and not yet that what was in that is gone. */
static void
test_replaced_directory (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (3);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *d = g_build_filename (a, "d", NULL);

  sk_put_many (a, "d/in ", 3);
  sk_fleet_settle (fleet, 6);
  sk_rename (b, "d", "moved");
  sk_sync (fleet, 1);
  sk_rename (a, "d", "../d");
  g_assert_cmpint (symlink ("elsewhere", d), ==, 0);
  g_assert_true (sk_sync_and_die (fleet, 0, "log-commit:2"));     /* the link is noted; two calls for each commit */
  sk_sync_all (fleet, 3);
  assert_equal_trees (fleet);
  g_assert_true (sk_there (a, "moved/in 0"));
  sk_assert_no_issues (fleet, 0);
}

/* Killed after new files were put in their places and before the bases followed; then they are removed elsewhere. They do not come back. */
static void
test_replay_of_removals (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (10);

  g_assert_true (sk_sync_and_die (fleet, 1, "rename:20"));
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *path = file_of (fleet, 0, i), *there = file_of (fleet, 1, i);

      g_assert_true (g_file_test (there, G_FILE_TEST_EXISTS));
      if (i < 5)
        g_assert_cmpint (g_unlink (path), ==, 0);
    }
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_fleet_settle (fleet, 6);
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *path = file_of (fleet, 0, i);

      g_assert_cmpint (g_file_test (path, G_FILE_TEST_EXISTS), ==, i >= 5);
    }
  assert_equal_trees (fleet);
}

static void
copy_storage (const char *how, const char *from, const char *to)
{
  const char *argv[] = { "cp", how, "--", from, to, NULL };
  int status = -1;

  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL));
  g_assert_cmpint (status, ==, 0);
}

/* Killed after a directory took the place of a file that lost its name to it, and before the base followed; then the directory is removed elsewhere, and
 * nothing is wanted any more but the file. That a directory is here was no wish of anybody: the file is not lost. */
static void
test_replay_of_a_directory (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (3);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *dir = g_build_filename (a, "x", NULL);
  g_autofree char *there = g_build_filename (b, "x", NULL);
  g_autofree char *before = g_strconcat (fleet->storage, ".before", NULL), *after = g_strconcat (fleet->storage, ".after", NULL);
  g_autofree char *all = g_strconcat (after, "/.", NULL);

  sk_put_file (a, "x", "base", -1);
  sk_fleet_settle (fleet, 6);
  sk_unlink (b, "x");
  g_assert_cmpint (g_mkdir (there, 0755), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_put_file (a, "x", "edited by a person", -1);
  copy_storage ("-a", fleet->storage, before);
  g_assert_true (sk_sync_and_die (fleet, 0, "write:2"));
  g_assert_true (g_file_test (dir, G_FILE_TEST_IS_DIR));
  /* Who removes the directory has not heard of the edit. */
  g_assert_cmpint (g_rename (fleet->storage, after), ==, 0);
  g_assert_cmpint (g_rename (before, fleet->storage), ==, 0);
  g_assert_cmpint (g_rmdir (there), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  copy_storage ("-au", all, fleet->storage);
  g_assert_true (sk_down_pull (fleet->devices[0]->down, NULL, NULL));
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
  g_assert_cmpuint (sk_count_content (b, "edited by a person"), ==, 1);
}

/* After a kill a person puts back what he had before: that is his wish, and no copy of what he replaced is made. */
static void
test_put_back_after_kill (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (3);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");

  sk_put_file (a, "x", "first", -1);
  sk_fleet_settle (fleet, 6);
  sk_put_file (a, "x", "second one", -1);
  sk_fleet_settle (fleet, 6);
  sk_put_file (b, "other", "other", -1);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_assert_true (sk_sync_and_die (fleet, 0, "write:1"));
  sk_put_file (a, "x", "first", -1);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
  g_assert_cmpuint (sk_count_content (b, "first"), ==, 1);
  g_assert_cmpuint (sk_count_content (b, "second one"), ==, 0);
}

/* Written, synced, and written again with the same size at once. */
static void
test_same_size (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (1);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *inside = g_build_filename (a, "f.txt", NULL);
  guint missed = 0;

  for (guint i = 0; i < 50; i++)
    {
      g_autofree char *first = g_strdup_printf ("round %03u one\n", i), *second = g_strdup_printf ("round %03u two\n", i), *got = NULL;

      sk_put_file (a, "f.txt", first, -1);
      g_variant_unref (sk_fleet_sync (fleet, 0));
      overwrite (inside, 0, second, (gssize) strlen (second), i % 2 == 0);
      g_variant_unref (sk_fleet_sync (fleet, 0));
      g_variant_unref (sk_fleet_sync (fleet, 1));
      got = sk_get_file (b, "f.txt");
      missed += g_strcmp0 (got, second) != 0;
    }
  g_assert_cmpuint (missed, ==, 0);
}

/* A part is overwritten in place, the size stays, and the modification time is put back. */
static void
test_time_put_back (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (1);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *inside = g_build_filename (a, "image.raw", NULL), *data = g_strnfill (300 * 1000, 'x'), *got = NULL;

  sk_put_file (a, "image.raw", data, -1);
  sk_fleet_settle (fleet, 6);
  overwrite (inside, 150 * 1000, "HERE", 4, TRUE);
  sk_fleet_settle (fleet, 6);
  got = sk_get_file (b, "image.raw");
  g_assert_cmpmem (got + 150 * 1000, 4, "HERE", 4);
  assert_equal_trees (fleet);
}

static void
write_long_ago (const char *root, const char *name, const char *text)
{
  g_autofree char *full = g_build_filename (root, name, NULL);
  struct timespec now, times[2];

  sk_put_file (root, name, text, -1);
  clock_gettime (CLOCK_REALTIME, &now);
  times[0] = times[1] = (struct timespec) { now.tv_sec - 7200, now.tv_nsec };
  g_assert_cmpint (utimensat (AT_FDCWD, full, times, 0), ==, 0);
}

/* Device 0's clock and files are two hours behind. */
static void
test_wrong_clock (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (1);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *got_a = NULL, *got_b = NULL, *got_second = NULL;
  g_autofree char *tree = NULL;
  g_autoptr(SkClock) slow = sk_clock_new_stepped (g_get_real_time () - G_GINT64_CONSTANT (7200) * G_USEC_PER_SEC);

  sk_put_file (b, "f.txt", "first, on b\n", -1);
  sk_fleet_settle (fleet, 6);
  fleet->clock = slow;
  sk_fleet_restart (fleet, 0);
  fleet->clock = NULL;
  /* A knows b's edit and follows it with its own: an old time does not make it older. */
  write_long_ago (a, "f.txt", "second, on a\n");
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  got_second = sk_get_file (b, "f.txt");
  g_assert_cmpstr (got_second, ==, "second, on a\n");
  /* Neither knows the other's: both stay. */
  sk_put_file (b, "f.txt", "third, on b\n", -1);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  write_long_ago (a, "f.txt", "fourth, on a\n");
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet);
  tree = tree_of (fleet, 0);
  g_assert_nonnull (strstr (tree, "f (conflict"));
  {
    g_autofree char *third = g_compute_checksum_for_string (G_CHECKSUM_SHA256, "third, on b\n", -1);
    g_autofree char *fourth = g_compute_checksum_for_string (G_CHECKSUM_SHA256, "fourth, on a\n", -1);

    g_assert_nonnull (strstr (tree, third));
    g_assert_nonnull (strstr (tree, fourth));
  }
  sk_fleet_close (fleet, 0);
}

/* One engine per home. */
static void
test_one_engine (void)
{
  g_autoptr(SkFleet) fleet = pair_with_files (3);
  g_autofree char *home = sk_fleet_home (fleet, 0);
  SkSessionOptions options = { .home = home };
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_session_open (&options, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  /* And nothing was disturbed. */
  sk_fleet_settle (fleet, 6);
  assert_equal_trees (fleet);
}

/* And one engine per directory: a second home is not let near it while the first one's engine is there. */
static void
test_one_engine_per_root (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *root = sk_fleet_path (fleet, 0, "f"), *before = NULL, *after = NULL;
  g_autoptr(SkConfig) config = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = NULL;

  sk_put_file (root, "one", "1", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", root));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  before = sk_tree_listing (root);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  reply = sk_session_command (fleet->devices[1], "folder.attach", g_variant_new_parsed ("{'name': <'f'>, 'path': <%^ay>}", root), NULL, NULL, NULL, &error);
  config = sk_session_config (fleet->devices[1]);
  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *folder = config->folders->pdata[i];

      g_assert_null (folder->root);
      g_assert_nonnull (strstr (folder->why, "in use by another engine"));
    }
  g_assert_true (error != NULL || config->folders->len == 1);
  sk_fleet_settle (fleet, 6);
  after = sk_tree_listing (root);
  g_assert_cmpstr (before, ==, after);
}

int
main (int argc, char **argv)
{
  if (sk_is_child (argc, argv))
    return sk_run_child (argv);
  sk_set_child_program (argv[0]);
  /* Every stop and start is made durable: on a busy disk that takes longer than the tests. */
  if (g_access ("/dev/shm", W_OK) == 0)
    g_setenv ("TMPDIR", "/dev/shm", FALSE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/crash/sit-B084/rule-a12/damage-is-fetched-again", test_damage);
  g_test_add_func ("/crash/sit-B084/damage-with-new-times", test_damage_new_times);
  g_test_add_func ("/crash/sit-B084/rule-a12/damage-in-the-middle-of-writing", test_damage_mid_write);
  g_test_add_func ("/crash/sit-B084/rule-a12/edit-in-the-middle-of-writing", test_edit_mid_write);
  g_test_add_func ("/crash/sit-B084/after-a-clean-stop-it-is-a-change", test_clean_stop);
  g_test_add_func ("/crash/sit-B084/while-the-engine-runs-it-is-a-change", test_change_after_crash);
  g_test_add_func ("/crash/sit-B086/lost-database", test_lost_database);
  g_test_add_func ("/crash/sit-B089/replay", test_replay);
  g_test_add_func ("/crash/sit-B089/replay-of-writes", test_replay_of_writes);
  g_test_add_func ("/crash/sit-B089/replay-of-removals", test_replay_of_removals);
  g_test_add_func ("/crash/sit-B089/replay-of-a-directory", test_replay_of_a_directory);
  g_test_add_func ("/crash/replaced-directory", test_replaced_directory);
  g_test_add_func ("/crash/sit-B089/put-back-after-kill", test_put_back_after_kill);
  g_test_add_func ("/crash/sit-B070/same-size-at-once", test_same_size);
  g_test_add_func ("/crash/sit-B071/time-put-back", test_time_put_back);
  g_test_add_func ("/crash/sit-B069/versions-not-clocks", test_wrong_clock);
  g_test_add_func ("/crash/sit-B096/one-engine-per-home", test_one_engine);
  g_test_add_func ("/crash/sit-B096/one-engine-per-root", test_one_engine_per_root);
  return g_test_run ();
}
