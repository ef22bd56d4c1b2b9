/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storages and folders that must not lie in one another. */
#include "sk-fleet-check.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void
assert_refused (SkFleet *fleet, const char *command, GVariant *args, const char *why)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_session_command (fleet->devices[0], command, args, NULL, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, why));
}

static GVariant *
storage_at (const char *uri)
{
  return g_variant_new_parsed ("{'name': <'s'>, 'uri': <%s>}", uri);
}

static GVariant *
folder_at (const char *name, const char *path)
{
  return g_variant_new_parsed ("{'name': <%s>, 'path': <%^ay>}", name, path);
}

/* It would be synced into itself, and grow with every pass. */
static void
test_storage_in_folder (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *dir = sk_fleet_path (fleet, 0, "f"), *in = g_build_filename (dir, "a", "b", NULL), *uri = g_filename_to_uri (in, NULL, NULL);
  g_autofree char *link = g_build_filename (fleet->base, "link", NULL), *by_link = g_build_filename (link, "a", NULL), *home = sk_fleet_home (fleet, 0);
  g_autofree char *beside = g_strconcat (dir, "-beside", NULL);

  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", dir));
  g_assert_cmpint (symlink (dir, link), ==, 0);
  assert_refused (fleet, "storage.add", storage_at (dir), "synced into itself");
  assert_refused (fleet, "storage.add", storage_at (in), "synced into itself");
  assert_refused (fleet, "storage.add", storage_at (uri), "synced into itself");
  assert_refused (fleet, "storage.add", storage_at (by_link), "synced into itself");
  assert_refused (fleet, "storage.add", storage_at (home), "in the home");
  g_assert_false (g_file_test (in, G_FILE_TEST_EXISTS));
  g_variant_unref (sk_fleet_run (fleet, 0, "storage.add", "{'name': <'s'>, 'uri': <%s>}", beside));
}

static void
test_folder_over_storage (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *disk = g_path_get_dirname (fleet->storage), *beside = g_build_filename (fleet->storage, "photos", NULL);

  assert_refused (fleet, "folder.add", folder_at ("f", disk), "in use already");
  assert_refused (fleet, "folder.add", folder_at ("f", fleet->storage), "in use already");
  /* A disk may hold both: the storage is the directory of the vault on it. */
  g_assert_cmpint (g_mkdir (beside, 0755), ==, 0);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", beside));
}

/* Nothing stays in a directory that was not taken: its marker would keep it from every other folder. */
static void
test_refused_leaves_nothing (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *dir = sk_fleet_path (fleet, 0, "f"), *marks = g_build_filename (dir, ".skerry", NULL);

  assert_refused (fleet, "folder.add", folder_at ("a/b", dir), "not allowed");
  g_assert_false (g_file_test (marks, G_FILE_TEST_EXISTS));
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", dir));
}

/* --- roots that are in use --- */

static void
refuse (SkFleet *fleet, guint i, const char *command, GVariant *args, int code, const char *why)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_session_command (fleet->devices[i], command, args, NULL, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, code);
  g_assert_nonnull (strstr (error->message, why));
}

static char *
run (const char *program, const char *one, const char *two, const char *three)
{
  const char *argv[] = { program, one, two, three, NULL };
  int status = -1;
  char *out = NULL;

  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, &status, NULL));
  g_assert_cmpint (status, ==, 0);
  return out;
}

/* Everything that tells whether something was written below @dir; where it is tried what a disk can do does not count. */
static char *
look (const char *dir)
{
  return run ("sh", "-c", "find \"$0\" ! -name tmp -printf '%p %i %C@ %T@\\n' | sort", dir);
}

/* Two homes of one vault on one machine: the second is refused, and works as soon as the first let go. */
static void
test_other_engine (void)
{
  g_autofree char *dir = NULL, *before = NULL, *after = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  dir = sk_fleet_path (fleet, 0, "f");
  sk_put_file (dir, "x", "x", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", dir));
  sk_sync_all (fleet, 1);
  before = look (dir);
  refuse (fleet, 1, "folder.attach", folder_at ("f", dir), SK_ERROR_BUSY, "another engine");
  after = look (dir);
  g_assert_cmpstr (before, ==, after);
  sk_assert_no_issues (fleet, 1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.detach", "{'name': <'f'>}"));
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", dir));
  sk_sync_all (fleet, 1);
  sk_assert_no_issues (fleet, 1);
  sk_put_file (dir, "y", "y", -1);
  sk_sync (fleet, 1);
  /* And back again. */
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.detach", "{'name': <'f'>}"));
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", dir));
  sk_sync (fleet, 0);
  sk_assert_no_issues (fleet, 0);
}

/* The same directory by another name: nothing is written into it. */
static void
test_same_directory (void)
{
  g_autofree char *dir = NULL, *sub = NULL, *other = NULL, *link = NULL, *before = NULL, *after = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);

  dir = sk_fleet_path (fleet, 0, "f");
  sub = g_build_filename (dir, "sub", NULL);
  other = sk_fleet_path (fleet, 0, "other");
  link = g_build_filename (fleet->base, "link", NULL);
  sk_put_file (dir, "sub/x", "x", -1);
  g_assert_cmpint (symlink (dir, link), ==, 0);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", dir));
  before = look (dir);
  refuse (fleet, 0, "folder.add", folder_at ("g", dir), SK_ERROR_USAGE, "in use already");
  refuse (fleet, 0, "folder.add", folder_at ("g", sub), SK_ERROR_USAGE, "in use already");
  refuse (fleet, 0, "folder.add", folder_at ("g", link), SK_ERROR_USAGE, "in use already");
  refuse (fleet, 0, "folder.add", folder_at ("g", fleet->base), SK_ERROR_USAGE, "in use already");
  if (mount (dir, other, NULL, MS_BIND, NULL) == 0)
    {
      refuse (fleet, 0, "folder.add", folder_at ("g", other), SK_ERROR_USAGE, "in use already");
      g_assert_cmpint (umount (other), ==, 0);
      g_assert_cmpint (mount (sub, other, NULL, MS_BIND, NULL), ==, 0);
      refuse (fleet, 0, "folder.add", folder_at ("g", other), SK_ERROR_USAGE, "in use already");
      g_assert_cmpint (umount (other), ==, 0);
    }
  else
    g_test_message ("no bind mounts here: %s", g_strerror (errno));
  after = look (dir);
  g_assert_cmpstr (before, ==, after);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'g'>, 'path': <%^ay>}", other));
}

static void
copy_tree (const char *from, const char *to)
{
  g_free (run ("rm", "-rf", to, NULL));
  g_free (run ("cp", "-a", from, to));
}

/* A copy of an attached folder is not taken for another one; who says so is told which. */
static void
test_copy_is_refused (void)
{
  g_autofree char *dir = NULL, *copy = NULL, *marks = NULL, *before = NULL, *after = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);

  dir = sk_fleet_path (fleet, 0, "f");
  copy = sk_fleet_path (fleet, 0, "copy");
  marks = g_build_filename (copy, ".skerry", NULL);
  sk_put_file (dir, "x", "x", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", dir));
  copy_tree (dir, copy);
  before = look (copy);
  refuse (fleet, 0, "folder.add", folder_at ("g", copy), SK_ERROR_EXISTS, dir);
  after = look (copy);
  g_assert_cmpstr (before, ==, after);
  g_free (run ("rm", "-rf", marks, NULL));
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'g'>, 'path': <%^ay>}", copy));
}

/* RULES C12: of two roots with one marker one is a copy; neither removes anything until it is known which. */
static SkFleet *
copied_over (char **f, char **g, char **f1, char **g1)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);

  *f = sk_fleet_path (fleet, 0, "f");
  *g = sk_fleet_path (fleet, 0, "g");
  *f1 = sk_fleet_path (fleet, 1, "f");
  *g1 = sk_fleet_path (fleet, 1, "g");
  sk_put_many (*f, "file", 5);
  sk_put_many (*g, "photo", 5);
  sk_fleet_share (fleet, "f");
  sk_fleet_share (fleet, "g");
  sk_fleet_settle (fleet, 8);
  copy_tree (*f, *g);
  sk_unlink (*f, "file1");
  sk_unlink (*g, "file2");
  sk_sync_all (fleet, 2);
  return fleet;
}

static void
test_copied_root (void)
{
  g_autofree char *f = NULL, *g = NULL, *f1 = NULL, *g1 = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = copied_over (&f, &g, &f1, &g1);

  g_assert_cmpuint (sk_issue (fleet, 0, "folder-copy", &text), !=, 0);
  g_assert_nonnull (strstr (text, f));
  g_assert_nonnull (strstr (text, g));
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 1);
  sk_fleet_restart (fleet, 0);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 1);
  g_assert_cmpuint (sk_count_files (f1), ==, 5);
  g_assert_cmpuint (sk_count_files (g1), ==, 5);
  g_assert_false (sk_there (g1, "file3"));
  /* What is there is the folder "g": united with what it held, and nothing is missing. */
  sk_resolve (fleet, 0, "folder-copy", "accept");
  sk_fleet_settle (fleet, 10);
  sk_assert_no_issues (fleet, 0);
  g_assert_false (sk_there (f1, "file1"));
  g_assert_true (sk_there (f1, "file2"));
  g_assert_cmpuint (sk_count_files (g1), ==, 9);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_equal_trees (fleet, "g");
}

static void
test_copied_root_detached (void)
{
  g_autofree char *f = NULL, *g = NULL, *f1 = NULL, *g1 = NULL;
  g_autoptr(SkFleet) fleet = copied_over (&f, &g, &f1, &g1);

  g_variant_unref (sk_fleet_run (fleet, 0, "folder.detach", "{'name': <'g'>}"));
  sk_sync_all (fleet, 2);
  sk_assert_no_issues (fleet, 0);
  g_assert_false (sk_there (f1, "file1"));
  g_assert_cmpuint (sk_count_files (f1), ==, 4);
  g_assert_cmpuint (sk_count_files (g1), ==, 5);
}

/* One name is one storage, and one storage has one name. */
static void
test_storage_names (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *beside = g_build_filename (fleet->base, "beside", NULL);
  g_autoptr(GVariant) args = g_variant_ref_sink (g_variant_new_parsed ("{'name': <'main'>, 'uri': <%s>}", beside)), again = NULL;
  g_autoptr(GVariant) list = NULL, storages = NULL;
  g_autoptr(GError) error = NULL;
  const char *name, *warning;
  gboolean is_new;

  g_assert_null (sk_session_command (fleet->devices[0], "storage.add", args, NULL, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_assert_nonnull (strstr (error->message, "another name"));
  g_assert_false (g_file_test (beside, G_FILE_TEST_EXISTS));
  again = sk_fleet_run (fleet, 0, "storage.add", "{'name': <'other'>, 'uri': <%s>}", fleet->storage);
  g_assert_true (g_variant_lookup (again, "name", "&s", &name) && g_variant_lookup (again, "warning", "&s", &warning)
                 && g_variant_lookup (again, "new", "b", &is_new));
  g_assert_cmpstr (name, ==, "main");
  g_assert_nonnull (strstr (warning, "“main”"));
  g_assert_false (is_new);
  list = sk_fleet_run (fleet, 0, "storage.list", NULL);
  storages = g_variant_lookup_value (list, "storages", NULL);
  g_assert_cmpuint (g_variant_n_children (storages), ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/places/storage-in-folder", test_storage_in_folder);
  g_test_add_func ("/places/folder-over-storage", test_folder_over_storage);
  g_test_add_func ("/places/refused-leaves-nothing", test_refused_leaves_nothing);
  g_test_add_func ("/places/in-use/other-engine", test_other_engine);
  g_test_add_func ("/places/in-use/same-directory", test_same_directory);
  g_test_add_func ("/places/rule-c12/copy-is-refused", test_copy_is_refused);
  g_test_add_func ("/places/rule-c12/copied-root", test_copied_root);
  g_test_add_func ("/places/rule-c12/copied-root-detached", test_copied_root_detached);
  g_test_add_func ("/places/storage-names", test_storage_names);
  return g_test_run ();
}
