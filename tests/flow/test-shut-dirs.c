/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories that keep their owner out (no write or search permission): they arrive with their content, and what changes in them arrives as well.
 * Everything here is done as an ordinary user: for the superuser no directory is shut. */
#include "sk-fleet-check.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534u

static gboolean was_root;

static void
become (uid_t user)
{
  if (!was_root)
    return;
  g_assert_cmpint (seteuid (0), ==, 0);
  g_assert_cmpint (seteuid (user), ==, 0);
  /* Or /proc/self belongs to the superuser. */
  g_assert_cmpint (prctl (PR_SET_DUMPABLE, 1), ==, 0);
}

static void
set_mode (const char *dir, const char *path, mode_t mode)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (chmod (full, mode), ==, 0);
}

static mode_t
mode_of (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  struct stat st;

  g_assert_cmpint (lstat (full, &st), ==, 0);
  return st.st_mode & 07777;
}

static SkFleet *
pair (char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_fleet_share (fleet, "f");
  return fleet;
}

static void
shut (const char *a)
{
  set_mode (a, "p/q", 0500);
  set_mode (a, "p", 0555);
}

static void
open_up (const char *a)
{
  set_mode (a, "p", 0755);
  set_mode (a, "p/q", 0755);
}

/* p 0555 with x, y, link and q 0500 with z. */
static SkFleet *
pair_with_shut (char **a, char **b)
{
  SkFleet *fleet = pair (a, b);
  g_autofree char *link = g_build_filename (*a, "p/link", NULL);

  sk_put_file (*a, "p/x", "one", -1);
  sk_put_file (*a, "p/y", "two", -1);
  sk_put_file (*a, "p/q/z", "three", -1);
  g_assert_cmpint (symlink ("x", link), ==, 0);
  shut (*a);
  sk_sync_all (fleet, 2);
  return fleet;
}

static void
test_arrives (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = pair_with_shut (&a, &b);

  sk_assert_no_issues (fleet, 1);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "p/q/z", "three");
  g_assert_cmpuint (mode_of (b, "p"), ==, 0555);
  g_assert_cmpuint (mode_of (b, "p/q"), ==, 0500);
  /* And nobody takes anything of it for news. */
  sk_fleet_settle (fleet, 4);
  g_assert_cmpuint (mode_of (a, "p"), ==, 0555);
}

static void
test_not_even_searched (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = pair (&a, &b);

  sk_put_file (a, "p/q/z", "three", -1);
  sk_sync_all (fleet, 2);
  sk_put_file (a, "p/q/z", "changed", -1);
  sk_put_file (a, "p/new", "new", -1);
  sk_sync (fleet, 0);
  set_mode (a, "p/q", 0400);
  set_mode (a, "p", 0400);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (mode_of (b, "p"), ==, 0400);
  set_mode (b, "p", 0700);
  g_assert_cmpuint (mode_of (b, "p/q"), ==, 0755);   /* nobody could see that any more */
  sk_assert_content (b, "p/q/z", "changed");
  sk_assert_content (b, "p/new", "new");
}

static void
test_later_changes (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = pair_with_shut (&a, &b);

  open_up (a);
  sk_put_file (a, "p/x", "one, edited", -1);
  sk_put_file (a, "p/q/new", "a new one", -1);
  sk_put_file (a, "p/r/s/t", "deeper", -1);
  sk_unlink (a, "p/y");
  sk_rename (a, "p/q/z", "moved out");
  set_mode (a, "p/r", 0111);
  shut (a);
  set_mode (a, "p/r", 0555);
  sk_sync_all (fleet, 2);
  sk_assert_no_issues (fleet, 1);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "p/x", "one, edited");
  sk_assert_content (b, "p/r/s/t", "deeper");
  sk_assert_content (b, "moved out", "three");
  g_assert_true (sk_in_trash (b, "p/x", "one"));
  g_assert_true (sk_in_trash (b, "p/y", "two"));
  g_assert_cmpuint (mode_of (b, "p"), ==, 0555);
  g_assert_cmpuint (mode_of (b, "p/q"), ==, 0500);
  /* The whole of it goes. */
  open_up (a);
  set_mode (a, "p/r", 0755);
  {
    static const char *const files[] = { "p/x", "p/link", "p/q/new", "p/r/s/t" }, *const dirs[] = { "p/r/s", "p/r", "p/q", "p" };

    for (guint i = 0; i < G_N_ELEMENTS (files); i++)
      sk_unlink (a, files[i]);
    for (guint i = 0; i < G_N_ELEMENTS (dirs); i++)
      {
        g_autofree char *full = g_build_filename (a, dirs[i], NULL);

        g_assert_cmpint (rmdir (full), ==, 0);
      }
  }
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (b, "p"));
  sk_assert_equal_trees (fleet, "f");
}

/* Made open and shut by the same pass as what lies in it changes. */
static void
test_modes_and_content_together (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = pair (&a, &b);

  sk_put_file (a, "p/x", "one", -1);
  sk_sync_all (fleet, 2);
  sk_put_file (a, "p/x", "edited", -1);
  set_mode (a, "p", 0555);
  sk_sync_all (fleet, 2);
  sk_assert_equal_trees (fleet, "f");
  set_mode (a, "p", 0755);
  sk_put_file (a, "p/x", "edited again", -1);
  sk_sync_all (fleet, 2);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (mode_of (b, "p"), ==, 0755);
}

static guint
segments_of (SkFleet *fleet, guint i)
{
  char vault[SK_ID_HEX_SIZE], writer[SK_ID_HEX_SIZE];
  g_autofree char *dir = NULL;

  sk_id_format (&fleet->devices[i]->who.vault, vault);
  sk_id_format (&fleet->devices[i]->who.writer, writer);
  dir = g_build_filename (fleet->storage, vault, "log", writer, NULL);
  return g_file_test (dir, G_FILE_TEST_IS_DIR) ? sk_count_files (dir) : 0;
}

/* An engine that watches, and scans everything again and again, sees the directory open and shut, and has nothing to say about it. */
static void
test_momentary_mode_is_no_news (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = pair_with_shut (&a, &b);
  guint before;

  fleet->watch = TRUE;
  sk_fleet_restart (fleet, 1);
  sk_sync (fleet, 1);
  before = segments_of (fleet, 1);
  for (guint i = 0; i < 12; i++)
    {
      g_autofree char *text = g_strdup_printf ("text %u", i), *name = g_strdup_printf ("p/new %u", i);

      open_up (a);
      sk_put_file (a, "p/x", text, -1);
      sk_put_file (a, name, text, -1);
      sk_put_file (a, "p/q/z", text, -1);
      shut (a);
      sk_sync (fleet, 0);
      sk_sync (fleet, 1);
      g_assert_cmpuint (mode_of (b, "p"), ==, 0555);
      g_assert_cmpuint (mode_of (b, "p/q"), ==, 0500);
    }
  sk_sync (fleet, 1);
  sk_sync (fleet, 0);
  g_assert_cmpuint (segments_of (fleet, 1), ==, before);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (mode_of (a, "p"), ==, 0555);
}

/* --- a kill while it is open --- */

static void
test_killed (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = NULL;
  guint kills = 0, open = 0;

  fleet = pair_with_shut (&a, &b);
  for (guint i = 1; i <= 12; i++)
    {
      g_autofree char *stage = g_strdup_printf ("%s:%u", i % 2 == 0 ? "write" : "rename", (i + 1) / 2);
      g_autofree char *text = g_strdup_printf ("text %u", i);
      g_autofree char *name = g_strdup_printf ("p/new %u/in it", i);

      open_up (a);
      sk_put_file (a, "p/x", text, -1);
      sk_put_file (a, name, text, -1);
      shut (a);
      sk_sync (fleet, 0);
      kills += sk_sync_and_die (fleet, 1, stage);
      open += mode_of (b, "p") != 0555;
      sk_sync_all (fleet, 2);
      sk_assert_equal_trees (fleet, "f");
      g_assert_cmpuint (mode_of (a, "p"), ==, 0555);
      g_assert_cmpuint (mode_of (a, "p/q"), ==, 0500);
    }
  g_test_message ("%u kills, %u of them with an open directory", kills, open);
  g_assert_cmpuint (kills, >=, 6);
  g_assert_cmpuint (open, >=, 2);
}

/* --- where it cannot be opened --- */

static guint64
chunks_fetched (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) report = sk_fleet_sync (fleet, i);
  g_autoptr(GVariant) chunks = g_variant_lookup_value (report, "chunks", G_VARIANT_TYPE_VARDICT);
  guint64 n = 0;

  g_assert_true (g_variant_lookup (chunks, "storage", "t", &n));
  return n;
}

/* What cannot be placed is not fetched, and by no means again and again. */
static void
test_foreign_directory (void)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL, *theirs = NULL;
  g_autofree char *noise = g_malloc (3 << 20);
  g_autoptr(SkFleet) fleet = NULL;

  if (!was_root)
    {
      g_test_skip ("only the superuser can give a directory away");
      return;
    }
  fleet = pair (&a, &b);
  sk_put_file (a, "p/x", "one", -1);
  sk_sync_all (fleet, 2);
  theirs = g_build_filename (b, "p", NULL);
  become (0);
  g_assert_cmpint (chown (theirs, 0, 0), ==, 0);
  become (NOBODY);
  for (gsize i = 0; i < 3 << 20; i++)
    noise[i] = (char) g_random_int ();
  sk_put_file (a, "p/big", noise, 3 << 20);
  sk_put_file (a, "elsewhere", "arrives", -1);
  sk_sync (fleet, 0);
  g_assert_cmpuint (chunks_fetched (fleet, 1), ==, 1);
  sk_assert_content (b, "elsewhere", "arrives");
  g_assert_cmpuint (sk_issue (fleet, 1, "failed-item", &text), !=, 0);
  g_assert_nonnull (strstr (text, "permission denied"));
  g_assert_cmpuint (chunks_fetched (fleet, 1), ==, 0);
  become (0);
  g_assert_cmpint (chown (theirs, NOBODY, NOBODY), ==, 0);
  become (NOBODY);
  sk_sync_all (fleet, 1);
  sk_assert_no_issues (fleet, 1);
  sk_assert_equal_trees (fleet, "f");
}

/* The place where this program was built need not let an ordinary user in. (transfer full) */
static char *
copy_self (const char *dir)
{
  char *copy = g_build_filename (dir, "program", NULL);
  g_autofree char *bytes = NULL;
  gsize len;

  g_assert_true (g_file_get_contents ("/proc/self/exe", &bytes, &len, NULL));
  g_assert_true (g_file_set_contents (copy, bytes, (gssize) len, NULL));
  g_assert_cmpint (chmod (copy, 0755), ==, 0);
  sk_set_child_program (copy);
  return copy;
}

int
main (int argc, char **argv)
{
  g_autofree char *dir = NULL, *copy = NULL;
  int result;

  was_root = getuid () == 0;
  if (sk_is_child (argc, argv))
    {
      /* For good, so that a sanitizer may look into it. */
      g_assert_cmpint (setresuid (geteuid (), geteuid (), geteuid ()), ==, 0);
      g_assert_cmpint (prctl (PR_SET_DUMPABLE, 1), ==, 0);
      return sk_run_child (argv);
    }
  g_test_init (&argc, &argv, NULL);
  dir = g_dir_make_tmp ("skerry-program-XXXXXX", NULL);
  g_assert_nonnull (dir);
  g_assert_cmpint (chmod (dir, 0755), ==, 0);
  copy = copy_self (dir);
  become (NOBODY);
  g_test_add_func ("/shut-dirs/sit-B082/arrives", test_arrives);
  g_test_add_func ("/shut-dirs/sit-B082/not-even-searched", test_not_even_searched);
  g_test_add_func ("/shut-dirs/sit-B082/later-changes", test_later_changes);
  g_test_add_func ("/shut-dirs/sit-B082/modes-and-content-together", test_modes_and_content_together);
  g_test_add_func ("/shut-dirs/sit-B082/momentary-mode-is-no-news", test_momentary_mode_is_no_news);
  g_test_add_func ("/shut-dirs/sit-B082/killed-while-open", test_killed);
  g_test_add_func ("/shut-dirs/sit-B082/foreign-directory", test_foreign_directory);
  result = g_test_run ();
  become (0);
  g_assert_cmpint (unlink (copy), ==, 0);
  g_assert_cmpint (rmdir (dir), ==, 0);
  return result;
}
