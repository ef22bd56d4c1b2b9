/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people do every day and no sync may stumble over: renames in quick succession, odd times, empty files, names that differ in one letter's
 * case, files that may not be read, a storage whose clock is wrong. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-fleet-check.h"
#include "sk-pair.h"

#define NOBODY 65534

static SkFleet *
share (guint n, char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (n, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = n > 1 ? sk_fleet_path (fleet, 1, "f") : NULL;
  return fleet;
}

static void
stat_of (const char *dir, const char *path, struct stat *out)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (lstat (full, out), ==, 0);
}

/* Files of a sync's report: what was received, and what was sent. */
static guint64
moved_by_sync (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_sync (fleet, i);
  g_autoptr(GVariant) sent = g_variant_lookup_value (reply, "sent", G_VARIANT_TYPE_VARDICT);
  guint64 down = 0, up = 0;

  g_assert_true (g_variant_lookup (reply, "files", "t", &down));
  g_assert_true (g_variant_lookup (sent, "files", "t", &up));
  return down + up;
}

static void
assert_rest (SkFleet *fleet)
{
  for (guint round = 0; round < 2; round++)
    for (guint i = 0; i < fleet->n; i++)
      g_assert_cmpuint (moved_by_sync (fleet, i), ==, 0);
}

/* --- B042 --- */

typedef struct { SkFleet *fleet; gint64 at; } Published;

/* Everything of what device 0 saw is in the storage, and has been for a while. */
static gboolean
all_published (gpointer data)
{
  Published *published = data;
  g_autofree char *state = sk_folder_state (published->fleet, 0, "f");
  const gint64 now = g_get_monotonic_time ();

  if (!g_str_equal (state, "up-to-date"))
    published->at = now;
  return now - published->at > 2 * G_USEC_PER_SEC;
}

static void
test_moved_twice (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);
  g_autoptr(GRand) rand = g_rand_new_with_seed (42);
  const guint n = 200, size = 40000;
  Published published = { .fleet = fleet };
  guint64 wire, chunks;
  struct stat before, after;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("first/file%u", i);
      g_autofree guint32 *data = g_new (guint32, size / 4);

      for (guint k = 0; k < size / 4; k++)
        data[k] = g_rand_int (rand);
      sk_put_file (a, path, (const char *) data, size);
    }
  sk_fleet_share (fleet, "f");
  stat_of (b, "first/file7", &before);
  sk_fleet_close (fleet, 0);
  fleet->watch = TRUE;
  sk_fleet_open (fleet, 0);
  published.at = g_get_monotonic_time ();
  g_assert_true (sk_wait (all_published, &published, 30));
  wire = fleet->devices[0]->counters.wire_up;
  chunks = fleet->devices[1]->counters.chunks_storage;
  sk_rename (a, "first", "second");
  g_usleep (50 * 1000);
  sk_rename (a, "second", "third");
  published.at = g_get_monotonic_time ();
  g_assert_true (sk_wait (all_published, &published, 30));
  sk_sync (fleet, 1);
  g_assert_true (sk_there (b, "third"));
  sk_assert_equal_trees (fleet, "f");
  stat_of (b, "third/file7", &after);
  g_assert_cmpuint (after.st_ino, ==, before.st_ino);
  g_assert_cmpuint (fleet->devices[0]->counters.wire_up - wire, <, (guint64) n * size / 100);
  g_assert_cmpuint (fleet->devices[1]->counters.chunks_storage, ==, chunks);
}

/* --- B044 --- */

typedef struct { const char *dir; int done; } Renamer;

static gpointer
rename_again_and_again (gpointer data)
{
  Renamer *renamer = data;

  for (guint i = 0; i < 50; i++)
    {
      for (guint d = 0; d < 3; d++)
        {
          g_autofree char *from = g_strdup_printf ("dir%u-%u", d, i), *to = g_strdup_printf ("dir%u-%u", d, i + 1);

          sk_rename (renamer->dir, from, to);
        }
      g_usleep (10 * 1000);
    }
  g_atomic_int_set (&renamer->done, 1);
  return NULL;
}

static void
test_renamed_while_syncing (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);
  Renamer renamer = { 0 };
  GThread *thread;

  for (guint d = 0; d < 3; d++)
    for (guint i = 0; i < 20; i++)
      {
        g_autofree char *path = g_strdup_printf ("dir%u-0/below/file%u", d, i);

        sk_put_file (a, path, path, -1);
      }
  sk_fleet_share (fleet, "f");
  renamer.dir = b;
  thread = g_thread_new ("person", rename_again_and_again, &renamer);
  while (!g_atomic_int_get (&renamer.done))
    {
      sk_put_file (a, "meanwhile", "on a", -1);
      sk_sync_all (fleet, 1);
    }
  g_thread_join (thread);
  sk_fleet_settle (fleet, 12);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_count_names (a, "dir"), ==, 3);
  for (guint d = 0; d < 3; d++)
    {
      g_autofree char *last = g_strdup_printf ("dir%u-50/below", d), *full = g_build_filename (a, last, NULL);

      g_assert_cmpuint (sk_count_names (full, "file"), ==, 20);
    }
}

/* --- B064 --- */

static void
test_names_that_differ_in_case (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);

  sk_put_file (a, "a.pdf", "small", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (b, "A.pdf", "large", -1);
  sk_put_file (a, "Dir/x", "1", -1);
  sk_put_file (b, "dir/x", "2", -1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (a, "a.pdf", "small");
  sk_assert_content (a, "A.pdf", "large");
  sk_assert_content (b, "Dir/x", "1");
  sk_assert_content (b, "dir/x", "2");
  sk_assert_no_issues (fleet, 0);
  sk_assert_no_issues (fleet, 1);
}

/* --- B068, B072 --- */

static void
set_time (const char *dir, const char *path, gint64 seconds, long nanoseconds)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = seconds, .tv_nsec = nanoseconds } };

  g_assert_cmpint (utimensat (AT_FDCWD, full, times, 0), ==, 0);
}

static void
test_odd_times (void)
{
  const gint64 ten_years = G_GINT64_CONSTANT (315576000), now = g_get_real_time () / G_USEC_PER_SEC;
  const gint64 seconds[] = { now + ten_years, -2147483648 + 3600 * 24 * 30, 0, -1, 2208988800 };
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);

  for (guint i = 0; i < G_N_ELEMENTS (seconds); i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i);

      sk_put_file (a, path, path, -1);
      set_time (a, path, seconds[i], 123456789);
    }
  sk_fleet_share (fleet, "f");
  for (guint i = 0; i < G_N_ELEMENTS (seconds); i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i);
      struct stat here, there;

      stat_of (a, path, &here);
      stat_of (b, path, &there);
      g_assert_cmpint (here.st_mtim.tv_sec, ==, seconds[i]);
      g_assert_cmpint (there.st_mtim.tv_sec, ==, seconds[i]);
      g_assert_cmpint (there.st_mtim.tv_nsec, ==, here.st_mtim.tv_nsec);
    }
  assert_rest (fleet);
  sk_fleet_restart (fleet, 0);
  sk_fleet_restart (fleet, 1);
  assert_rest (fleet);
  sk_assert_no_issues (fleet, 0);
  sk_assert_no_issues (fleet, 1);
}

static void
test_touched (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);
  struct stat here, there;

  sk_put_file (a, "one", "one", -1);
  sk_put_file (a, "both", "both", -1);
  sk_fleet_share (fleet, "f");
  set_time (a, "one", 1000000000, 0);
  set_time (a, "both", 1100000000, 0);
  set_time (b, "both", 1200000000, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");            /* also the times */
  stat_of (b, "one", &there);
  g_assert_cmpint (there.st_mtim.tv_sec, ==, 1000000000);
  stat_of (a, "both", &here);
  g_assert_true (here.st_mtim.tv_sec == 1100000000 || here.st_mtim.tv_sec == 1200000000);
  g_assert_cmpuint (sk_count_files (a), ==, 2);
  assert_rest (fleet);
  sk_assert_no_issues (fleet, 0);
  sk_assert_no_issues (fleet, 1);
}

/* --- B079 --- */

/* Root may read everything. */
static void
unreadable_as_nobody (void)
{
  const gid_t groups[] = { NOBODY };
  g_autofree char *a = NULL, *b = NULL, *text = NULL, *state = NULL, *full = NULL;
  g_autoptr(SkFleet) fleet = NULL;
  g_autoptr(GVariant) status = NULL;
  gboolean attention = FALSE;

  if (!g_test_subprocess ())
    return;
  if (geteuid () == 0)
    {
      g_assert_cmpint (setgroups (1, groups), ==, 0);
      g_assert_cmpint (setresgid (NOBODY, NOBODY, NOBODY), ==, 0);
      g_assert_cmpint (setresuid (NOBODY, NOBODY, NOBODY), ==, 0);
    }
  fleet = share (2, &a, &b);
  sk_put_file (a, "file", "before", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, "file", "changed, and then shut", -1);
  sk_put_file (a, "other", "other", -1);
  full = g_build_filename (a, "file", NULL);
  g_assert_cmpint (chmod (full, 0), ==, 0);
  g_assert_true (sk_sync_attention (fleet, 0));
  sk_sync (fleet, 1);
  g_assert_cmpuint (sk_issue (fleet, 0, "failed-item", &text), !=, 0);
  g_assert_nonnull (strstr (text, "file"));
  state = sk_folder_state (fleet, 0, "f");
  g_assert_cmpstr (state, ==, "needs-you");
  status = sk_fleet_run (fleet, 0, "status", NULL);
  g_assert_true (g_variant_lookup (status, "attention", "b", &attention) && attention);
  sk_assert_content (b, "file", "before");
  sk_assert_content (b, "other", "other");
  g_assert_cmpint (chmod (full, 0600), ==, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, "file", "changed, and then shut");
  sk_assert_no_issues (fleet, 0);
}

static void
test_unreadable (void)
{
  g_test_trap_subprocess ("/everyday/subprocess/unreadable-as-nobody", 0, 0);
  g_test_trap_assert_passed ();
}

/* --- B171 --- */

static void
test_empty_files (void)
{
  g_autofree char *a = NULL, *b = NULL, *empty = NULL, *full = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);

  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *none = g_strdup_printf ("empty/file%u", i), *some = g_strdup_printf ("full/file%u", i);

      sk_put_file (a, none, "", 0);
      sk_put_file (a, some, some, -1);
    }
  sk_fleet_share (fleet, "f");
  sk_assert_equal_trees (fleet, "f");
  empty = g_build_filename (b, "empty", NULL);
  full = g_build_filename (b, "full", NULL);
  g_assert_cmpuint (sk_count_names (empty, "file"), ==, 100);
  g_assert_cmpuint (sk_count_names (full, "file"), ==, 100);
  g_assert_cmpuint (sk_count_content (b, ""), ==, 100);
  assert_rest (fleet);
}

/* --- B133 --- */

static void
test_clock_of_the_storage (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share (2, &a, &b);

  sk_put_file (a, "file", "first", -1);
  sk_fleet_share (fleet, "f");
  for (int way = -1; way <= 1; way += 2)
    {
      g_autofree char *text = g_strdup_printf ("written while it was %d h off", 2 * way);
      g_autoptr(GVariant) reply = NULL, storages = NULL, first = NULL;
      guint64 removed = 1;
      const char *skipped = "";

      for (guint i = 0; i < 2; i++)
        {
          sk_fleet_restart (fleet, i);
          sk_flaky_set_clock (sk_fleet_make_flaky (fleet, i), way * 2 * G_TIME_SPAN_HOUR);
        }
      sk_put_file (a, "file", text, -1);
      sk_fleet_settle (fleet, 8);
      sk_assert_content (b, "file", text);
      reply = sk_fleet_run (fleet, 0, "gc", NULL);
      storages = g_variant_lookup_value (reply, "storages", NULL);
      first = g_variant_get_child_value (storages, 0);
      g_assert_true (g_variant_lookup (first, "skipped", "&s", &skipped));
      g_assert_nonnull (strstr (skipped, "clock"));
      g_assert_true (g_variant_lookup (first, "removed", "t", &removed));
      g_assert_cmpuint (removed, ==, 0);
    }
}

/* --- one look is enough --- */

static guint64
scanned_by_sync (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_sync (fleet, i);
  guint64 scanned = 0;

  g_assert_true (g_variant_lookup (reply, "scanned", "t", &scanned));
  return scanned;
}

/* What only goes up, or comes to where nothing was, is not looked at twice; what takes the place of something is. */
static void
test_one_look (void)
{
  char *in, *there;
  g_autoptr(SkFleet) fleet = share (2, &in, &there);
  g_autofree char *a = in, *b = there, *text = NULL;

  sk_fleet_share (fleet, "f");
  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *name = g_strdup_printf ("file-%02u", i);

      sk_put_file (a, name, name, -1);
    }
  g_assert_cmpuint (scanned_by_sync (fleet, 0), ==, 20);
  g_assert_cmpuint (scanned_by_sync (fleet, 1), ==, 0);

  sk_put_file (a, "file-03", "other words", -1);
  g_assert_cmpuint (scanned_by_sync (fleet, 0), ==, 20);
  g_assert_cmpuint (scanned_by_sync (fleet, 1), ==, 40);

  /* Both at once: what came is looked at together with what went. */
  sk_put_file (a, "new-a", "a", -1);
  sk_put_file (b, "new-b", "b", -1);
  g_assert_cmpuint (scanned_by_sync (fleet, 0), ==, 21);
  g_assert_cmpuint (scanned_by_sync (fleet, 1), ==, 21 + 22);
  sk_fleet_settle (fleet, 4);
  text = sk_get_file (b, "file-03");
  g_assert_cmpstr (text, ==, "other words");
}

/* Rules that arrive are followed in the same command. */
static void
test_rules_arrive (void)
{
  char *in, *there;
  g_autoptr(SkFleet) fleet = share (2, &in, &there);
  g_autofree char *a = in, *b = there, *hidden = NULL;

  sk_fleet_share (fleet, "f");
  sk_put_file (a, ".skerryignore", "*.o\n", -1);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_put_file (b, "x.o", "here only", -1);
  sk_put_file (b, "y.c", "for all", -1);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_fleet_settle (fleet, 4);
  hidden = sk_get_file (a, "x.o");
  g_assert_null (hidden);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/everyday/sit-B042/moved-twice", test_moved_twice);
  g_test_add_func ("/everyday/sit-B044/renamed-while-syncing", test_renamed_while_syncing);
  g_test_add_func ("/everyday/sit-B064/names-that-differ-in-case", test_names_that_differ_in_case);
  g_test_add_func ("/everyday/sit-B068/odd-times", test_odd_times);
  g_test_add_func ("/everyday/sit-B072/touched", test_touched);
  g_test_add_func ("/everyday/sit-B079/unreadable", test_unreadable);
  g_test_add_func ("/everyday/subprocess/unreadable-as-nobody", unreadable_as_nobody);
  g_test_add_func ("/everyday/sit-B133/clock-of-the-storage", test_clock_of_the_storage);
  g_test_add_func ("/everyday/sit-B171/empty-files", test_empty_files);
  g_test_add_func ("/everyday/one-look", test_one_look);
  g_test_add_func ("/everyday/rules-arrive", test_rules_arrive);
  return g_test_run ();
}
