/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two devices change the same thing: both contents are on both devices afterwards, and nothing goes round in circles. */
#include "sk-fleet-check.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-limits.h"
#include "sk-test-hooks.h"

static void
set_mtime (const char *dir, const char *path, gint64 seconds)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

  g_assert_cmpint (utimensat (AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW), ==, 0);
}

/* Same name, same size, same mtime, other bytes. */
static void
test_same_size_and_time (void)
{
  g_auto(SkThree) t = { NULL };

  sk_three_init (&t, 2);
  sk_put_file (t.a, "n.txt", "aaaa", -1);
  sk_put_file (t.b, "n.txt", "bbbb", -1);
  set_mtime (t.a, "n.txt", 1600000000);
  set_mtime (t.b, "n.txt", 1600000000);
  sk_put_file (t.a, "x.txt", "AAAA", -1);
  sk_put_file (t.b, "x.txt", "BBBB", -1);
  set_mtime (t.a, "x.txt", 1600000000);
  set_mtime (t.b, "x.txt", 1600000000);
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  sk_three_assert_everywhere (&t, "aaaa", 1);
  sk_three_assert_everywhere (&t, "bbbb", 1);
  sk_three_assert_everywhere (&t, "AAAA", 1);
  sk_three_assert_everywhere (&t, "BBBB", 1);
}

static void
test_edit_wins_over_deletion (void)
{
  for (guint order = 0; order < 2; order++)
    {
      g_auto(SkThree) t = { NULL };

      sk_three_init (&t, 2);
      sk_unlink (t.a, "x.txt");
      sk_put_file (t.b, "x.txt", "edited", -1);
      sk_sync (t.fleet, order);
      sk_fleet_settle (t.fleet, 8);
      sk_assert_content (t.a, "x.txt", "edited");
      sk_assert_content (t.b, "x.txt", "edited");
      g_assert_cmpuint (sk_count_files (t.a), ==, 1);
      sk_assert_equal_trees (t.fleet, "f");
      for (guint i = 0; i < 2; i++)
        sk_assert_no_issues (t.fleet, i);
    }
}

/* A deletion of what nobody touched stays one. */
static void
test_deletion_of_unchanged (void)
{
  g_auto(SkThree) t = { NULL };

  sk_three_init (&t, 2);
  sk_unlink (t.a, "x.txt");
  sk_sync (t.fleet, 0);
  sk_put_file (t.b, "y.txt", "another file", -1);
  sk_fleet_settle (t.fleet, 8);
  g_assert_false (sk_there (t.b, "x.txt"));
  g_assert_true (sk_in_trash (t.b, "x.txt", "base"));
  sk_three_assert_everywhere (&t, "another file", 1);
}

/* Files are made one by one while passes run. */
typedef struct { const char *dir; guint n; int stop; } Maker;

static gpointer
make_files (gpointer data)
{
  Maker *maker = data;

  for (guint i = 0; i < maker->n; i++)
    {
      g_autofree char *path = g_strdup_printf ("made/file%u", i), *text = g_strdup_printf ("number %u", i);

      sk_put_file (maker->dir, path, text, -1);
      g_usleep (1000);
    }
  g_atomic_int_set (&maker->stop, 1);
  return NULL;
}

static void
test_made_during_passes (void)
{
  g_auto(SkThree) t = { NULL };
  Maker maker = { .n = 200 };
  GThread *thread;
  guint of_b = 0;

  sk_three_init (&t, 2);
  maker.dir = t.a;
  thread = g_thread_new ("maker", make_files, &maker);
  while (!g_atomic_int_get (&maker.stop))
    {
      g_autofree char *path = g_strdup_printf ("made/of-b%u", of_b++);

      sk_put_file (t.b, path, "from b", -1);
      sk_sync_all (t.fleet, 1);
    }
  g_thread_join (thread);
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  g_assert_cmpuint (sk_count_files (t.b), ==, 201 + of_b);
  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *path = g_strdup_printf ("made/file%u", i), *text = g_strdup_printf ("number %u", i);

      sk_assert_content (t.b, path, text);
    }
}

/* Between "the disk is as the base says" and the replacing a person saves: the save is kept. */
static const char *saved_in;

static void
save_once (const char *stage)
{
  if (saved_in == NULL || !g_str_equal (stage, "write"))
    return;
  sk_put_file (saved_in, "x.txt", "saved in the last moment", -1);
  saved_in = NULL;
}

static void
test_saved_before_replacing (void)
{
  g_auto(SkThree) t = { NULL };

  sk_three_init (&t, 2);
  sk_put_file (t.b, "x.txt", "from b", -1);
  sk_sync (t.fleet, 1);
  saved_in = t.a;
  sk_test_stage_hook = save_once;
  sk_fleet_settle (t.fleet, 8);
  sk_test_stage_hook = NULL;
  g_assert_null (saved_in);
  sk_three_assert_everywhere (&t, "saved in the last moment", 1);
  sk_three_assert_everywhere (&t, "from b", 1);
  sk_assert_equal_trees (t.fleet, "f");
}

/* The same before a removal. */
static void
test_saved_before_removing (void)
{
  g_auto(SkThree) t = { NULL };

  sk_three_init (&t, 2);
  sk_unlink (t.b, "x.txt");
  sk_sync (t.fleet, 1);
  saved_in = t.a;
  sk_test_stage_hook = save_once;
  sk_fleet_settle (t.fleet, 8);
  sk_test_stage_hook = NULL;
  g_assert_null (saved_in);
  sk_three_assert_everywhere (&t, "saved in the last moment", 1);
  sk_assert_content (t.b, "x.txt", "saved in the last moment");
}

/* RULES A11: a program keeps the file open that is deleted or replaced under it, and goes on writing. */
static void
held_open (gboolean replaced)
{
  g_auto(SkThree) t = { NULL };
  g_autofree char *path = NULL;
  int fd;

  sk_three_init (&t, 2);
  path = g_build_filename (t.a, "x.txt", NULL);
  fd = open (path, O_WRONLY | O_APPEND);
  g_assert_cmpint (fd, >=, 0);
  if (replaced)
    sk_put_file (t.b, "x.txt", "from b", -1);
  else
    sk_unlink (t.b, "x.txt");
  sk_sync (t.fleet, 1);
  sk_sync (t.fleet, 0);
  g_assert_true (sk_in_trash (t.a, "x.txt", "base"));
  g_assert_cmpint ((int) write (fd, " and more", 9), ==, 9);
  close (fd);
  sk_fleet_settle (t.fleet, 8);
  sk_three_assert_everywhere (&t, "base and more", 1);
  g_assert_false (sk_in_trash (t.a, "x.txt", "base and more"));
  g_assert_cmpuint (sk_count_names (t.b, "x (conflict, device-0, "), ==, 1);
  if (replaced)
    sk_three_assert_everywhere (&t, "from b", 1);
  else
    g_assert_false (sk_there (t.a, "x.txt"));
  sk_assert_equal_trees (t.fleet, "f");
}

static void
test_writer_into_deleted (void)
{
  held_open (FALSE);
}

static void
test_writer_into_replaced (void)
{
  held_open (TRUE);
}

/* An open writer that wrote before the deletion arrives: an edit, and it wins. */
static void
test_appended_before_deletion (void)
{
  g_auto(SkThree) t = { NULL };
  g_autofree char *path = NULL;
  int fd;

  sk_three_init (&t, 2);
  path = g_build_filename (t.a, "x.txt", NULL);
  fd = open (path, O_WRONLY | O_APPEND);
  g_assert_cmpint ((int) write (fd, " and more", 9), ==, 9);
  sk_unlink (t.b, "x.txt");
  sk_sync (t.fleet, 1);
  sk_fleet_settle (t.fleet, 8);
  close (fd);
  sk_three_assert_everywhere (&t, "base and more", 1);
  sk_assert_content (t.b, "x.txt", "base and more");
}

/* The upload of the losing copy fails once. */
static void
test_upload_of_loser_fails (void)
{
  g_auto(SkThree) t = { NULL };
  SkFlaky *flaky;

  sk_three_init (&t, 2);
  sk_put_file (t.a, "x.txt", "from a", -1);
  sk_put_file (t.b, "x.txt", "from b", -1);
  sk_sync (t.fleet, 0);
  flaky = sk_fleet_make_flaky (t.fleet, 1);
  sk_flaky_fail_puts (flaky, "packs/", 1, SK_ERROR_IO);
  g_variant_unref (sk_fleet_sync (t.fleet, 1));
  g_assert_cmpuint (sk_flaky_failed (flaky), ==, 1);
  g_assert_cmpuint (sk_count_content (t.b, "from b"), ==, 1);
  sk_fleet_settle (t.fleet, 8);
  sk_three_assert_everywhere (&t, "from a", 1);
  sk_three_assert_everywhere (&t, "from b", 1);
  sk_assert_equal_trees (t.fleet, "f");
  sk_assert_no_issues (t.fleet, 1);
}

/* Both sides rewrite the file again and again: every text that lost is there once, and it ends when they stop. */
static void
test_rewritten_on_both (void)
{
  const guint rounds = 12;
  g_auto(SkThree) t = { NULL };
  g_autofree char *before = NULL, *after = NULL;

  sk_three_init (&t, 2);
  for (guint i = 0; i < rounds; i++)
    {
      g_autofree char *of_a = g_strdup_printf ("a%u", i), *of_b = g_strdup_printf ("b%u", i);

      sk_put_file (t.a, "x.txt", of_a, -1);
      sk_put_file (t.b, "x.txt", of_b, -1);
      sk_sync_all (t.fleet, 1);
    }
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  g_assert_cmpuint (sk_count_files (t.a), <=, rounds + 1);
  before = sk_tree_listing (t.a);
  g_assert_null (strstr (before, "(conflict, device-0, (conflict"));
  sk_sync_all (t.fleet, 2);
  after = sk_tree_listing (t.a);
  g_assert_cmpstr (before, ==, after);
  for (guint i = 0; i < 2; i++)
    g_assert_cmpuint (sk_issues (t.fleet, i), <=, 1);
}

static char *
find_copy (const char *dir)
{
  g_autoptr(GDir) open = g_dir_open (dir, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (open)) != NULL)
    if (strstr (name, "(conflict, ") != NULL)
      return g_strdup (name);
  return NULL;
}

/* A conflict on the conflict copy. */
static void
test_copy_edited_on_both (void)
{
  g_auto(SkThree) t = { NULL };
  g_autofree char *copy = NULL;
  g_autoptr(GDir) dir = NULL;
  const char *name;

  sk_three_init (&t, 2);
  sk_put_file (t.a, "x.txt", "from a", -1);
  sk_put_file (t.b, "x.txt", "from b", -1);
  sk_fleet_settle (t.fleet, 8);
  copy = find_copy (t.a);
  g_assert_nonnull (copy);
  sk_put_file (t.a, copy, "copy edited on a", -1);
  sk_put_file (t.b, copy, "copy edited on b", -1);
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  sk_three_assert_everywhere (&t, "copy edited on a", 1);
  sk_three_assert_everywhere (&t, "copy edited on b", 1);
  dir = g_dir_open (t.a, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      const char *first = strstr (name, "(conflict, ");

      g_assert_true (first == NULL || strstr (first + 1, "(conflict, ") == NULL);
    }
}

/* Three devices, two contents, in every order: the same names everywhere, equal contents once. */
static void
test_three_devices_two_contents (void)
{
  static const guint orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 }, { 2, 0, 1 } };
  g_autofree char *first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (orders); i++)
    {
      g_auto(SkThree) t = { NULL };

      sk_three_init (&t, 3);
      sk_put_file (t.a, "x.txt", "one", -1);
      sk_put_file (t.b, "x.txt", "other", -1);
      sk_put_file (t.c, "x.txt", "one", -1);
      for (guint k = 0; k < 3; k++)
        sk_sync (t.fleet, orders[i][k]);
      sk_fleet_settle (t.fleet, 8);
      sk_assert_equal_trees (t.fleet, "f");
      sk_three_assert_everywhere (&t, "one", 1);
      sk_three_assert_everywhere (&t, "other", 1);
      g_assert_cmpuint (sk_count_files (t.a), ==, 2);
    }
}

/* A name of nearly 255 bytes. */
static void
test_long_name (void)
{
  g_auto(SkThree) t = { NULL };
  g_autoptr(GString) name = g_string_new (NULL);
  g_autofree char *copy = NULL;

  for (guint i = 0; i < 123; i++)
    g_string_append (name, "ä");
  g_string_append (name, ".txt");
  g_assert_cmpuint (name->len, ==, 250);
  sk_three_init (&t, 2);
  sk_put_file (t.a, name->str, "from a", -1);
  sk_put_file (t.b, name->str, "from b", -1);
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  sk_three_assert_everywhere (&t, "from a", 1);
  sk_three_assert_everywhere (&t, "from b", 1);
  copy = find_copy (t.b);
  g_assert_nonnull (copy);
  g_assert_cmpuint (strlen (copy), <=, SK_NAME_MAX);
  g_assert_true (g_utf8_validate (copy, -1, NULL));
  g_assert_true (g_str_has_suffix (copy, ".txt"));
}

/* RULES A1: an edit made while a newer version is known but not on this disk. */
static void
known_but_not_here (gboolean deleted)
{
  g_auto(SkThree) t = { NULL };
  SkFlaky *flaky;

  sk_three_init (&t, 2);
  sk_put_file (t.a, "x.txt", "newer, from a", -1);
  sk_sync (t.fleet, 0);
  flaky = sk_fleet_make_flaky (t.fleet, 1);
  sk_flaky_fail_gets (flaky, "packs/", G_MAXUINT, SK_ERROR_IO);
  g_variant_unref (sk_fleet_sync (t.fleet, 1));
  g_assert_cmpuint (sk_flaky_failed (flaky), >, 0);
  sk_assert_content (t.b, "x.txt", "base");
  /* Its metadata are merged; only now somebody acts on what he sees, the old version. */
  if (deleted)
    sk_unlink (t.b, "x.txt");
  else
    sk_put_file (t.b, "x.txt", "an edit of the base, on b", -1);
  g_variant_unref (sk_fleet_sync (t.fleet, 1));
  sk_flaky_fail_gets (flaky, NULL, 0, 0);
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  sk_three_assert_everywhere (&t, "newer, from a", 1);
  if (!deleted)
    sk_three_assert_everywhere (&t, "an edit of the base, on b", 1);
  g_assert_cmpuint (sk_count_files (t.a), ==, deleted ? 1 : 2);
}

static void
test_edit_builds_on_disk (void)
{
  known_but_not_here (FALSE);
}

static void
test_deletion_builds_on_disk (void)
{
  known_but_not_here (TRUE);
}

/* RULES A7: the names of copies are the same whoever meets the conflict first, and one who edits the winner loses nothing. */
static void
test_copy_is_written_before_it_is_dominated (void)
{
  g_auto(SkThree) t = { NULL };

  sk_three_init (&t, 3);
  sk_put_file (t.a, "x.txt", "from a", -1);
  sk_put_file (t.b, "x.txt", "from b", -1);
  sk_sync (t.fleet, 0);
  sk_sync (t.fleet, 1);
  /* B has both; the winner is edited there before C hears of any. */
  sk_put_file (t.b, "x.txt", "edited after the conflict", -1);
  sk_sync (t.fleet, 1);
  sk_sync (t.fleet, 2);
  sk_fleet_settle (t.fleet, 8);
  sk_assert_equal_trees (t.fleet, "f");
  sk_assert_content (t.c, "x.txt", "edited after the conflict");
  g_assert_cmpuint (sk_count_content (t.c, "from a") + sk_count_content (t.c, "from b"), ==, 1);
  g_assert_cmpuint (sk_count_files (t.c), ==, 2);
}

/* RULES A8: chmod against an edit. */
static void
test_chmod_against_edit (void)
{
  for (guint order = 0; order < 2; order++)
    {
      g_auto(SkThree) t = { NULL };
      g_autofree char *of_b = NULL, *of_a = NULL;
      struct stat st;

      sk_three_init (&t, 2);
      of_a = g_build_filename (t.a, "x.txt", NULL);
      of_b = g_build_filename (t.b, "x.txt", NULL);
      sk_put_file (t.a, "x.txt", "edited on a", -1);
      g_assert_cmpint (g_chmod (of_b, 0750), ==, 0);
      sk_sync (t.fleet, order);
      sk_fleet_settle (t.fleet, 8);
      sk_assert_equal_trees (t.fleet, "f");
      sk_assert_content (t.b, "x.txt", "edited on a");
      g_assert_cmpuint (sk_count_files (t.a), ==, 1);
      g_assert_cmpint (stat (of_a, &st), ==, 0);
      g_assert_cmpuint (st.st_mode & 07777, ==, 0750);
    }
}

/* touch against a deletion does not bring the file back. */
static void
test_touch_against_deletion (void)
{
  for (guint order = 0; order < 2; order++)
    {
      g_auto(SkThree) t = { NULL };

      sk_three_init (&t, 2);
      sk_unlink (t.a, "x.txt");
      set_mtime (t.b, "x.txt", 1600000000);
      sk_sync (t.fleet, order);
      sk_fleet_settle (t.fleet, 8);
      g_assert_false (sk_there (t.a, "x.txt"));
      g_assert_false (sk_there (t.b, "x.txt"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/conflicts/sit-B018/same-size-and-time", test_same_size_and_time);
  g_test_add_func ("/conflicts/sit-B019/edit-wins-over-deletion", test_edit_wins_over_deletion);
  g_test_add_func ("/conflicts/sit-B019/deletion-of-unchanged", test_deletion_of_unchanged);
  g_test_add_func ("/conflicts/sit-B022/made-during-passes", test_made_during_passes);
  g_test_add_func ("/conflicts/sit-B022/saved-before-replacing", test_saved_before_replacing);
  g_test_add_func ("/conflicts/sit-B023/saved-before-removing", test_saved_before_removing);
  g_test_add_func ("/conflicts/sit-B023/appended-before-deletion", test_appended_before_deletion);
  g_test_add_func ("/conflicts/rule-a11/writer-into-deleted", test_writer_into_deleted);
  g_test_add_func ("/conflicts/rule-a11/writer-into-replaced", test_writer_into_replaced);
  g_test_add_func ("/conflicts/sit-B024/upload-of-loser-fails", test_upload_of_loser_fails);
  g_test_add_func ("/conflicts/sit-B025/rewritten-on-both", test_rewritten_on_both);
  g_test_add_func ("/conflicts/sit-B026/copy-edited-on-both", test_copy_edited_on_both);
  g_test_add_func ("/conflicts/sit-B027/three-devices-two-contents", test_three_devices_two_contents);
  g_test_add_func ("/conflicts/sit-B028/long-name", test_long_name);
  g_test_add_func ("/conflicts/rule-a1/edit-builds-on-disk", test_edit_builds_on_disk);
  g_test_add_func ("/conflicts/rule-a1/deletion-builds-on-disk", test_deletion_builds_on_disk);
  g_test_add_func ("/conflicts/rule-a7/copy-is-written-before-it-is-dominated", test_copy_is_written_before_it_is_dominated);
  g_test_add_func ("/conflicts/rule-a8/chmod-against-edit", test_chmod_against_edit);
  g_test_add_func ("/conflicts/rule-a8/touch-against-deletion", test_touch_against_deletion);
  return g_test_run ();
}
