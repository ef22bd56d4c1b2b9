/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disks that fail when something is to be made durable: after that the bytes may be lost, although they can be read. */
#include "sk-flow.h"
#include "sk-fleet-check.h"
#include "sk-test-hooks.h"
#include "sk-write-private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES 4u

static void
write_files (SkFleet *fleet, const char *text)
{
  g_autofree char *root = sk_fleet_path (fleet, 0, "f");

  for (guint i = 0; i < FILES; i++)
    {
      g_autofree char *name = g_strdup_printf ("file%u", i), *data = g_strdup_printf ("%s %u", text, i);

      sk_put_file (root, name, data, -1);
    }
}

static void
inodes (SkFleet *fleet, guint device, guint64 *out)
{
  g_autofree char *root = sk_fleet_path (fleet, device, "f");

  for (guint i = 0; i < FILES; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/file%u", root, i);
      struct stat st;

      g_assert_cmpint (stat (path, &st), ==, 0);
      out[i] = st.st_ino;
    }
}

static void
assert_equal_trees (SkFleet *fleet)
{
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *left = sk_tree_listing (a), *right = sk_tree_listing (b);

  g_assert_cmpstr (left, ==, right);
  g_assert_null (strstr (left, "conflict"));
}

static void
assert_all_anew (const guint64 *before, const guint64 *after)
{
  for (guint i = 0; i < FILES; i++)
    g_assert_cmpuint (before[i], !=, after[i]);
}

/* What was put in its place and could not be made durable is written once more, new and replaced files alike. */
static void
test_received (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  guint64 before[FILES], after[FILES];

  sk_fleet_share (fleet, "f");
  for (guint round = 0; round < 2; round++)
    {
      write_files (fleet, round == 0 ? "first" : "second");
      g_variant_unref (sk_fleet_sync (fleet, 0));
      sk_write_hooks.sync_errnum = EIO;
      g_variant_unref (sk_fleet_sync (fleet, 1));
      inodes (fleet, 1, before);
      sk_write_hooks.sync_errnum = 0;
      sk_fleet_settle (fleet, 6);
      inodes (fleet, 1, after);
      assert_all_anew (before, after);
      assert_equal_trees (fleet);
    }
}

/* A directory that was made, and then the disk failed before it had its mode: that is made good, and nobody takes it for a wish. */
static void
test_directory (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  static const mode_t modes[] = { 0777, 0700, 0555, 02755 };

  sk_fleet_share (fleet, "f");
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *name = g_strdup_printf ("d%u", i), *dir = g_build_filename (a, name, NULL), *file = g_build_filename (name, "x", NULL);

      sk_put_file (a, file, "in it", -1);
      g_assert_cmpint (chmod (dir, modes[i]), ==, 0);
    }
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_write_hooks.made_errnum = EIO;
  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_write_hooks.made_errnum = 0;
  sk_fleet_settle (fleet, 6);
  assert_equal_trees (fleet);
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *dir = g_strdup_printf ("%s/d%u", b, i);
      struct stat st;

      g_assert_cmpint (stat (dir, &st), ==, 0);
      g_assert_cmpuint (st.st_mode & 07777, ==, modes[i]);
    }
}

/* A removal that could not be made durable is not noted before it is: where it came undone later, the file would look like a new one and come back
 * everywhere. By others, and by the person here. */
static void
test_removal (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *there = g_build_filename (b, "file0", NULL);

  sk_fleet_share (fleet, "f");
  write_files (fleet, "of a person");
  sk_fleet_settle (fleet, 6);
  sk_unlink (a, "file0");
  sk_write_hooks.dir_syncs = 0;
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_assert_cmpint (g_atomic_int_get (&sk_write_hooks.dir_syncs), >, 0);

  sk_write_hooks.sync_errnum = EIO;
  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_write_hooks.sync_errnum = 0;
  g_assert_false (g_file_test (there, G_FILE_TEST_EXISTS));
  sk_write_hooks.dir_syncs = 0;
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_assert_cmpint (g_atomic_int_get (&sk_write_hooks.dir_syncs), >, 0);
  sk_fleet_settle (fleet, 6);
  assert_equal_trees (fleet);
}

/* What its person's disk could not keep is published, and brought back from the storage as another file. */
static void
test_own (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  guint64 before[FILES], after[FILES];

  sk_fleet_share (fleet, "f");
  write_files (fleet, "of a person");
  inodes (fleet, 0, before);
  sk_write_hooks.file_sync_errnum = EIO;
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_write_hooks.file_sync_errnum = 0;
  sk_fleet_settle (fleet, 6);
  inodes (fleet, 0, after);
  assert_all_anew (before, after);
  assert_equal_trees (fleet);
}

/* --- the order --- */

static int synced_first;

static void
note_syncs (const char *stage)
{
  if (strcmp (stage, "log-commit") == 0 && synced_first < 0)
    synced_first = g_atomic_int_get (&sk_write_hooks.file_syncs);
}

/* No entry is written before its file is durable where it came from. */
static void
test_before_entry (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);

  sk_fleet_share (fleet, "f");
  write_files (fleet, "of a person");
  sk_write_hooks.file_syncs = 0;
  synced_first = -1;
  sk_test_stage_hook = note_syncs;
  sk_fleet_restart (fleet, 0);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_test_stage_hook = NULL;
  g_assert_cmpint (synced_first, ==, (int) FILES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/durable/sit-B099/directory-without-its-mode", test_directory);
  g_test_add_func ("/durable/rule-a12/received-files-are-written-anew", test_received);
  g_test_add_func ("/durable/rule-a12/removal", test_removal);
  g_test_add_func ("/durable/own-files-are-brought-back", test_own);
  g_test_add_func ("/durable/rule-a12/before-the-entry", test_before_entry);
  return g_test_run ();
}
