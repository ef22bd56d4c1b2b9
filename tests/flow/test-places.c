/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storages and folders that must not lie in one another. */
#include "sk-pair.h"

#include <glib/gstdio.h>
#include <string.h>
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/places/storage-in-folder", test_storage_in_folder);
  g_test_add_func ("/places/folder-over-storage", test_folder_over_storage);
  g_test_add_func ("/places/refused-leaves-nothing", test_refused_leaves_nothing);
  return g_test_run ();
}
