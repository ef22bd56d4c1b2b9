/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two devices, one folder, one directory storage. */
#include "sk-fleet-check.h"
#include "sk-test-hooks.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
assert_equal_trees (SkFleet *fleet, const char *name)
{
  g_autofree char *first_path = sk_fleet_path (fleet, 0, name);
  g_autofree char *first = sk_tree_listing (first_path);

  for (guint i = 1; i < fleet->n; i++)
    {
      g_autofree char *path = sk_fleet_path (fleet, i, name);
      g_autofree char *other = sk_tree_listing (path);

      g_assert_cmpstr (first, ==, other);
    }
}

static void
test_one_small_file (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autofree char *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *got = NULL;

  sk_put_file (a, "hello.txt", "hello, world\n", -1);
  sk_fleet_share (fleet, "f");
  got = sk_get_file (b, "hello.txt");
  g_assert_cmpstr (got, ==, "hello, world\n");
  assert_equal_trees (fleet, "f");
}

/* Tiny files fill a pack by their number long before they fill it by their bytes. */
static void
test_many_tiny_files (void)
{
  enum { N = 9000 };
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *path = sk_fleet_path (fleet, 0, "f");
  g_autoptr(GVariant) added = NULL, report = NULL, sent = NULL;
  guint64 packs = 0, files = 0;

  for (guint i = 0; i < N; i++)
    {
      g_autofree char *name = g_strdup_printf ("d%u/%u", i / 1000, i);

      sk_put_file (path, name, name, -1);      /* each its own content */
    }
  added = sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", path);
  report = sk_fleet_sync (fleet, 0);
  sent = g_variant_lookup_value (report, "sent", G_VARIANT_TYPE_VARDICT);
  g_assert_true (g_variant_lookup (sent, "packs", "t", &packs) && g_variant_lookup (sent, "files", "t", &files));
  g_assert_cmpuint (files, ==, N);
  g_assert_cmpuint (packs, >=, 2);
}

static void
test_tree (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autofree char *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *old = g_build_filename (a, "dir3/file3", NULL), *new = g_build_filename (a, "moved", NULL);
  g_autofree char *big = g_malloc (9 << 20);
  GRand *rand = g_rand_new_with_seed (7);
  g_autofree char *link = g_build_filename (a, "link", NULL), *empty = g_build_filename (a, "empty-dir", NULL);

  for (guint i = 0; i < (9 << 20) / 4; i++)
    ((guint32 *) (gpointer) big)[i] = g_rand_int (rand);
  for (guint i = 0; i < 40; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir%u/file%u", i % 5, i);
      g_autofree char *data = g_strdup_printf ("content %u\n", i);

      sk_put_file (a, path, data, -1);
    }
  sk_put_file (a, "big", big, 9 << 20);
  sk_put_file (a, "nothing", "", 0);
  g_assert_cmpint (symlink ("dir1/file1", link), ==, 0);
  g_assert_cmpint (g_mkdir (empty, 0750), ==, 0);
  sk_fleet_share (fleet, "f");
  assert_equal_trees (fleet, "f");
  /* Changes on both sides. */
  sk_put_file (b, "dir2/new-on-b", "from b", -1);
  sk_put_file (b, "dir0/file0", "changed on b", -1);
  big[5 << 20] ^= 1;
  sk_put_file (a, "big", big, 9 << 20);
  g_assert_cmpint (g_rename (old, new), ==, 0);
  g_assert_cmpint (g_rmdir (empty), ==, 0);
  g_assert_cmpint (g_unlink (link), ==, 0);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet, "f");
  g_rand_free (rand);
}

static void
test_conflict (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autofree char *b = sk_fleet_path (fleet, 1, "f");
  g_autoptr(GDir) dir = NULL;
  const char *name;
  guint n = 0;

  sk_put_file (a, "x.txt", "base", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, "x.txt", "from a", -1);
  sk_put_file (b, "x.txt", "from b!", -1);
  sk_fleet_settle (fleet, 8);
  assert_equal_trees (fleet, "f");
  dir = g_dir_open (a, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    n += g_str_has_prefix (name, "x");
  g_assert_cmpuint (n, ==, 2);
}

static void
test_delete_and_restart (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autofree char *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *one = g_build_filename (a, "d/one", NULL), *there = g_build_filename (b, "d/one", NULL);

  sk_put_file (a, "d/one", "1", -1);
  sk_put_file (a, "d/two", "2", -1);
  sk_fleet_share (fleet, "f");
  g_assert_true (g_file_test (there, G_FILE_TEST_EXISTS));
  sk_fleet_restart (fleet, 0);
  sk_fleet_restart (fleet, 1);
  g_assert_cmpint (g_unlink (one), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_false (g_file_test (there, G_FILE_TEST_EXISTS));
  assert_equal_trees (fleet, "f");
}

/* An engine that is paused: what is asked for comes, and nothing else; what it says it took is what it counts. */
static void
test_one_folder_while_paused (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = NULL, *b = NULL, *got = NULL, *not_asked_for = NULL;
  g_autoptr(GVariant) report = NULL, chunks = NULL;
  SkCounters *counters;
  guint64 storage, files;

  for (const char *name = "xy"; *name != '\0'; name++)
    {
      const char folder[] = { *name, '\0' };

      g_free (a);
      a = sk_fleet_path (fleet, 0, folder);
      sk_put_file (a, "file", folder, -1);
      g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <%s>, 'path': <%^ay>}", folder, a));
    }
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_fleet_close (fleet, 1);
  fleet->watch = TRUE;
  sk_fleet_open (fleet, 1);
  g_variant_unref (sk_fleet_run (fleet, 1, "pause", NULL));
  for (const char *name = "xy"; *name != '\0'; name++)
    {
      const char folder[] = { *name, '\0' };

      g_free (b);
      b = sk_fleet_path (fleet, 1, folder);
      g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <%s>, 'path': <%^ay>}", folder, b));
    }
  report = sk_fleet_run (fleet, 1, "sync", "{'folders': <['y']>}");
  got = sk_get_file (b, "file");
  g_assert_cmpstr (got, ==, "y");
  g_free (b);
  b = sk_fleet_path (fleet, 1, "x");
  not_asked_for = sk_get_file (b, "file");
  g_assert_null (not_asked_for);
  g_assert_true (g_variant_lookup (report, "files", "t", &files));
  chunks = g_variant_lookup_value (report, "chunks", G_VARIANT_TYPE_VARDICT);
  g_assert_true (g_variant_lookup (chunks, "storage", "t", &storage));
  counters = &fleet->devices[1]->counters;
  g_assert_cmpuint (files, ==, 1);
  g_assert_cmpuint (counters->files_down, ==, files);
  g_assert_cmpuint (storage, ==, 1);
  g_assert_cmpuint (counters->chunks_storage, ==, storage);
  sk_fleet_close (fleet, 1);
}

static int round_reached, round_goes_on;    /* atomic */

static void
hold_round (const char *stage)
{
  if (strcmp (stage, "pull") != 0 || !g_atomic_int_compare_and_exchange (&round_reached, 0, 1))
    return;
  for (guint i = 0; i < 500 && !g_atomic_int_get (&round_goes_on); i++)
    g_usleep (10000);
}

static gboolean
round_is_held (gpointer data)
{
  return g_atomic_int_get (&round_reached) != 0;
}

/* A round of a watching engine that had begun when it was paused touches nothing that is attached after that. */
static void
test_paused_in_a_round (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "x"), *b = sk_fleet_path (fleet, 1, "x"), *other = sk_fleet_path (fleet, 1, "y"), *got = NULL;

  sk_put_file (a, "file", "x", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'x'>, 'path': <%^ay>}", a));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.add", "{'name': <'y'>, 'path': <%^ay>}", other));
  sk_fleet_close (fleet, 1);
  round_reached = round_goes_on = 0;
  sk_test_stage_hook = hold_round;
  fleet->watch = TRUE;
  sk_fleet_open (fleet, 1);
  g_assert_true (sk_wait (round_is_held, NULL, 5));
  g_variant_unref (sk_fleet_run (fleet, 1, "pause", NULL));
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'x'>, 'path': <%^ay>}", b));
  g_atomic_int_set (&round_goes_on, 1);
  /* It waits until the round has ended. */
  g_variant_unref (sk_fleet_run (fleet, 1, "sync", "{'folders': <['y']>}"));
  got = sk_get_file (b, "file");
  g_assert_null (got);
  sk_fleet_close (fleet, 1);
  sk_test_stage_hook = NULL;
}

/* What stands in a folder that is asked about wants the person, also when nothing failed in this pass. */
static void
test_open_issue (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *one = sk_fleet_path (fleet, 0, "one"), *two = sk_fleet_path (fleet, 0, "two"), *pipe = g_build_filename (one, "pipe", NULL);
  g_autoptr(GVariant) all = NULL, first = NULL, second = NULL, after = NULL;
  gboolean attention;

  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'one'>, 'path': <%^ay>}", one));
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'two'>, 'path': <%^ay>}", two));
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  all = sk_fleet_sync (fleet, 0);
  g_assert_true (g_variant_lookup (all, "attention", "b", &attention) && attention);
  first = sk_fleet_run (fleet, 0, "sync", "{'folders': <['one']>}");
  g_assert_true (g_variant_lookup (first, "attention", "b", &attention) && attention);
  second = sk_fleet_run (fleet, 0, "sync", "{'folders': <['two']>}");
  g_assert_true (g_variant_lookup (second, "attention", "b", &attention) && !attention);
  g_assert_cmpint (unlink (pipe), ==, 0);
  after = sk_fleet_sync (fleet, 0);
  g_assert_true (g_variant_lookup (after, "attention", "b", &attention) && !attention);
}

static GVariant *
first_of (GVariant *report, const char *list)
{
  g_autoptr(GVariant) items = g_variant_lookup_value (report, list, G_VARIANT_TYPE ("aa{sv}"));

  g_assert_cmpuint (g_variant_n_children (items), >, 0);
  return g_variant_get_child_value (items, 0);
}

static gint64
time_of (GVariant *dict, const char *key)
{
  gint64 value = -1;

  g_assert_true (g_variant_lookup (dict, key, "x", &value));
  return value;
}

static gboolean
is_up_to_date (gpointer fleet)
{
  g_autofree char *state = sk_folder_state (fleet, 0, "f");

  return g_str_equal (state, "up-to-date");
}

static SkFleet *first_pass;      /* until its first listing was read */
static char *state_before;

static gboolean
is_opened (gpointer fleet)
{
  return g_atomic_pointer_get (&((SkFleet *) fleet)->devices[0]) != NULL;
}

static void
ask_before (const char *stage)
{
  SkFleet *fleet = first_pass;

  if (fleet == NULL || strcmp (stage, "listed") != 0)
    return;
  first_pass = NULL;
  /* It is just being opened. */
  g_assert_true (sk_wait (is_opened, fleet, 5));
  state_before = sk_folder_state (fleet, 0, "f");
}

/* What a report says of the moment: before the first pass of an engine nothing is called up to date; afterwards it says when it looked. */
static void
test_report_of_the_moment (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;
  g_autoptr(GVariant) report = NULL, folder = NULL, storage = NULL, devices = NULL;

  sk_put_file (a, "file", "content", -1);
  sk_fleet_share (fleet, "f");
  sk_fleet_close (fleet, 0);
  fleet->watch = TRUE;
  first_pass = fleet;
  sk_test_stage_hook = ask_before;
  sk_fleet_open (fleet, 0);
  g_assert_true (sk_wait (is_up_to_date, fleet, 20));
  sk_test_stage_hook = NULL;
  g_assert_cmpstr (state_before, ==, "scanning");
  g_clear_pointer (&state_before, g_free);
  report = sk_fleet_run (fleet, 0, "status", NULL);
  folder = first_of (report, "folders");
  storage = first_of (report, "storages");
  g_assert_cmpint (time_of (folder, "last-scan"), >=, now);
  g_assert_cmpint (time_of (storage, "last-seen"), >=, now);
  devices = g_variant_lookup_value (report, "devices", G_VARIANT_TYPE ("aa{sv}"));
  g_assert_cmpuint (g_variant_n_children (devices), ==, 2);
  for (gsize i = 0; i < 2; i++)
    {
      g_autoptr(GVariant) device = g_variant_get_child_value (devices, i);

      g_assert_cmpint (time_of (device, "last-seen"), >=, now);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sync/one-small-file", test_one_small_file);
  g_test_add_func ("/sync/many-tiny-files", test_many_tiny_files);
  g_test_add_func ("/sync/tree", test_tree);
  g_test_add_func ("/sync/conflict", test_conflict);
  g_test_add_func ("/sync/one-folder-while-paused", test_one_folder_while_paused);
  g_test_add_func ("/sync/paused-in-a-round", test_paused_in_a_round);
  g_test_add_func ("/sync/delete-and-restart", test_delete_and_restart);
  g_test_add_func ("/sync/open-issue", test_open_issue);
  g_test_add_func ("/sync/report-of-the-moment", test_report_of_the_moment);
  return g_test_run ();
}
