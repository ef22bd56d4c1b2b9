/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joining from a snapshot, and what a snapshot must not lose. */
#include "sk-pair.h"

#include <glib/gstdio.h>
#include <unistd.h>

static void
attach_and_compare (SkFleet *fleet, guint i)
{
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autofree char *b = sk_fleet_path (fleet, i, "f");
  g_autofree char *first = NULL, *other = NULL;

  g_variant_unref (sk_fleet_sync (fleet, i));
  g_variant_unref (sk_fleet_run (fleet, i, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  g_variant_unref (sk_fleet_sync (fleet, i));
  first = sk_tree_listing (a);
  other = sk_tree_listing (b);
  g_assert_cmpstr (first, ==, other);
}

static guint
count_below (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  guint n = 0;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *below = g_build_filename (path, name, NULL);

      n += g_file_test (below, G_FILE_TEST_IS_DIR) ? count_below (below) : 1;
    }
  return n;
}

static void
put_away (SkFleet *fleet, gboolean away)
{
  g_autoptr(GDir) dir = g_dir_open (fleet->storage, 0, NULL);
  g_autofree char *log = g_build_filename (fleet->storage, g_dir_read_name (dir), "log", NULL);
  g_autofree char *other = g_build_filename (fleet->base, "log-away", NULL);

  g_assert_cmpint (away ? g_rename (log, other) : g_rename (other, log), ==, 0);
}

/* The logs are gone from the storage: only the snapshot can tell a new device. Tombstones are in it, so that what was deleted stays deleted. */
static void
test_join_without_logs (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (3, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autofree char *gone = g_build_filename (a, "d/gone", NULL);
  g_autofree char *vault = NULL, *parts = NULL;
  g_autoptr(GDir) dir = g_dir_open (fleet->storage, 0, NULL);

  for (guint i = 0; i < 50; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i);

      sk_put_file (a, path, path, -1);
    }
  sk_put_file (a, "d/gone", "gone", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_assert_cmpint (g_unlink (gone), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  vault = g_build_filename (fleet->storage, g_dir_read_name (dir), NULL);
  parts = g_build_filename (vault, "snap/parts", NULL);
  g_assert_cmpuint (count_below (parts), >, 0);
  put_away (fleet, TRUE);
  attach_and_compare (fleet, 1);
  put_away (fleet, FALSE);
  /* With both, the other newcomer sees the same. */
  attach_and_compare (fleet, 2);
}

static guint
mode_of (SkFleet *fleet, guint i, const char *path)
{
  g_autofree char *folder = sk_fleet_path (fleet, i, "f");
  g_autofree char *full = g_build_filename (folder, path, NULL);
  GStatBuf st;

  g_assert_cmpint (g_lstat (full, &st), ==, 0);
  return st.st_mode & 07777;
}

static void
set_mode (const char *folder, const char *path, int mode)
{
  g_autofree char *full = g_build_filename (folder, path, NULL);

  g_assert_cmpint (g_chmod (full, mode), ==, 0);
}

/* The entries that the modes come from are replaced by ones that did not know of them, and so are in no snapshot. */
static void
test_modes_of_replaced (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (4, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *dir = g_build_filename (b, "d", NULL), *dir_a = g_build_filename (a, "d", NULL);

  sk_put_file (a, "tool", "first", -1);
  sk_put_file (a, "plain", "plain", -1);
  g_assert_cmpint (g_mkdir (dir_a, 0755), ==, 0);
  set_mode (a, "tool", 0644);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  attach_and_compare (fleet, 1);

  /* Neither knows of the other's. */
  set_mode (a, "tool", 0755);
  set_mode (a, "d", 0700);
  sk_put_file (a, "d/new", "new", -1);
  sk_put_file (b, "tool", "second", -1);
  set_mode (b, "tool", 0644);
  g_assert_cmpint (g_rmdir (dir), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  for (guint round = 0; round < 3; round++)
    for (guint i = 0; i < 2; i++)
      g_variant_unref (sk_fleet_sync (fleet, i));
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpuint (mode_of (fleet, i, "tool"), ==, 0755);
      g_assert_cmpuint (mode_of (fleet, i, "d"), ==, 0700);
    }

  put_away (fleet, TRUE);
  attach_and_compare (fleet, 2);
  g_assert_cmpuint (mode_of (fleet, 2, "tool"), ==, 0755);
  g_assert_cmpuint (mode_of (fleet, 2, "d"), ==, 0700);
  put_away (fleet, FALSE);
  attach_and_compare (fleet, 3);
}

/* Parts are cut by content: a second snapshot after a small change writes few new ones. */
static void
test_parts_are_reused (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autoptr(GDir) dir = g_dir_open (fleet->storage, 0, NULL);
  g_autofree char *parts = g_build_filename (fleet->storage, g_dir_read_name (dir), "snap/parts", NULL);
  guint before, after;

  for (guint i = 0; i < 20000; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/file%u", i % 50, i);

      sk_put_file (a, path, path, -1);
    }
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  before = count_below (parts);
  sk_put_file (a, "d0/file0", "changed", -1);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  after = count_below (parts);
  g_test_message ("%u parts, %u after a change of one file", before, after);
  g_assert_cmpuint (before, >=, 4);
  g_assert_cmpuint (after - before, <=, 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("SKERRY_TEST_SNAPSHOT_TAIL", "1", TRUE);
  g_test_add_func ("/snapshot/rule-a9/join-without-logs", test_join_without_logs);
  g_test_add_func ("/snapshot/rule-a8/modes-of-replaced-entries", test_modes_of_replaced);
  g_test_add_func ("/snapshot/parts-are-reused", test_parts_are_reused);
  return g_test_run ();
}
