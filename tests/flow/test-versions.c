/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a path was before, and bringing it back: in place, elsewhere, a whole folder as it was, and what another device took away. */
#include "sk-fleet-check.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define HOUR_US (G_GINT64_CONSTANT (3600) * G_USEC_PER_SEC)

static GVariant *
versions_of (SkFleet *fleet, guint i, const char *path)
{
  g_autoptr(GVariant) reply = sk_fleet_run (fleet, i, "versions", "{'folder': <'f'>, 'path': <%^ay>}", path);

  return g_variant_lookup_value (reply, "versions", G_VARIANT_TYPE ("aa{sv}"));
}

/* A text of version @n of @path. */
static char *
version_text (SkFleet *fleet, guint i, const char *path, guint n, const char *key)
{
  g_autoptr(GVariant) versions = versions_of (fleet, i, path);
  g_autoptr(GVariant) one = g_variant_get_child_value (versions, n);
  char *text = NULL;

  g_assert_true (g_variant_lookup (one, key, "s", &text));
  return text;
}

static guint64
restored_files (GVariant *reply)
{
  g_autoptr(GVariant) failed = g_variant_lookup_value (reply, "failed", G_VARIANT_TYPE ("aa{sv}"));
  guint64 files = 0;

  g_assert_cmpuint (g_variant_n_children (failed), ==, 0);
  g_variant_lookup (reply, "files", "t", &files);
  return files;
}

/* The error that a command ends with. */
static int
fails_with (SkFleet *fleet, guint i, const char *command, const char *format, ...)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = NULL;
  GVariant *args;
  va_list list;

  va_start (list, format);
  args = g_variant_new_parsed_va (format, &list);
  va_end (list);
  reply = sk_session_command (fleet->devices[i], command, args, NULL, NULL, NULL, &error);
  g_assert_null (reply);
  g_assert_true (error->domain == SK_ERROR);
  g_test_message ("%s", error->message);
  return error->code;
}

static void
test_list_and_restore (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *kind = NULL, *device = NULL, *version = NULL;
  g_autoptr(GVariant) before = NULL;
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GVariant) again = NULL;
  g_autoptr(GVariant) newest = NULL;
  gboolean current = FALSE;

  sk_put_file (a, "d/x", "one", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (b, "d/x", "two, longer", -1);
  sk_fleet_settle (fleet, 8);
  before = versions_of (fleet, 0, "d/x");
  g_assert_cmpuint (g_variant_n_children (before), ==, 2);
  newest = g_variant_get_child_value (before, 0);
  g_assert_true (g_variant_lookup (newest, "current", "b", &current) && current);
  device = version_text (fleet, 0, "d/x", 0, "device-name");
  g_assert_cmpstr (device, ==, "device-1");
  kind = version_text (fleet, 0, "d/x", 1, "kind");
  g_assert_cmpstr (kind, ==, "file");
  reply = sk_fleet_run (fleet, 0, "restore", "{'folder': <'f'>, 'path': <b'd/x'>}");
  g_assert_cmpuint (restored_files (reply), ==, 1);
  sk_assert_content (a, "d/x", "one");
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, "d/x", "one");
  sk_assert_equal_trees (fleet, "f");
  /* By name, on the other device: the names are the same everywhere. */
  version = version_text (fleet, 0, "d/x", 1, "version");
  again = sk_fleet_run (fleet, 1, "restore", "{'folder': <'f'>, 'path': <b'd/x'>, 'version': <%s>}", version);
  g_assert_cmpuint (restored_files (again), ==, 1);
  sk_fleet_settle (fleet, 8);
  sk_assert_content (a, "d/x", "two, longer");
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpint (fails_with (fleet, 0, "versions", "{'folder': <'f'>, 'path': <b'../x'>}"), ==, SK_ERROR_NOT_FOUND);
  g_assert_cmpint (fails_with (fleet, 0, "restore", "{'folder': <'f'>, 'path': <b'd/x'>, 'version': <'none'>}"), ==, SK_ERROR_NOT_FOUND);
}

static guint
mode_of (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  GStatBuf st;

  g_assert_cmpint (g_stat (full, &st), ==, 0);
  return st.st_mode & 07777;
}

/* Directories that come with a new folder are described with it, with their modes, whichever is taken in first: they or what lies in them. */
static void
test_directories_of_a_new_folder (void)
{
  for (guint i = 0; i < 12; i++)
    {
      g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
      g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
      g_autofree char *kind = NULL, *dir = g_build_filename (a, "d", NULL);

      sk_put_file (a, "d/one", "1", -1);
      sk_put_file (a, "d/sub/two", "22", -1);
      sk_put_file (a, "x", "x", -1);
      g_assert_cmpint (g_chmod (dir, 0700), ==, 0);
      sk_fleet_share (fleet, "f");
      g_assert_cmpuint (mode_of (a, "d"), ==, 0700);
      g_assert_cmpuint (mode_of (b, "d"), ==, 0700);
      kind = version_text (fleet, 0, "d", 0, "kind");
      g_assert_cmpstr (kind, ==, "dir");
    }
}

static void
test_deleted (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *kind = NULL, *dir = g_build_filename (a, "d", NULL), *sub = g_build_filename (a, "d/sub", NULL);
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GVariant) tree = NULL;

  sk_put_file (a, "x", "content of x", -1);
  sk_put_file (a, "d/one", "1", -1);
  sk_put_file (a, "d/sub/two", "22", -1);
  sk_put_file (a, "kept", "kept", -1);
  sk_fleet_share (fleet, "f");
  sk_unlink (a, "x");
  sk_unlink (a, "d/one");
  sk_unlink (a, "d/sub/two");
  g_assert_cmpint (g_rmdir (sub), ==, 0);
  g_assert_cmpint (g_rmdir (dir), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (b, "x"));
  g_assert_false (sk_there (b, "d"));
  kind = version_text (fleet, 1, "x", 0, "kind");
  g_assert_cmpstr (kind, ==, "deleted");
  reply = sk_fleet_run (fleet, 1, "restore", "{'folder': <'f'>, 'path': <b'x'>}");
  g_assert_cmpuint (restored_files (reply), ==, 1);
  sk_assert_content (b, "x", "content of x");
  tree = sk_fleet_run (fleet, 1, "restore", "{'folder': <'f'>, 'path': <b'd'>}");
  g_assert_cmpuint (restored_files (tree), ==, 4);
  sk_fleet_settle (fleet, 8);
  sk_assert_content (a, "x", "content of x");
  sk_assert_content (a, "d/one", "1");
  sk_assert_content (a, "d/sub/two", "22");
  sk_assert_equal_trees (fleet, "f");
}

/* 20 MiB with zeros in the middle and at the end; the old content is on no disk any more. */
static void
test_large_elsewhere (void)
{
  const gsize len = 20 << 20;
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *out = g_build_filename (fleet->base, "out", NULL);
  g_autofree char *big = g_malloc0 (len), *file = g_build_filename (out, "big", NULL), *got = NULL;
  g_autoptr(GRand) rand = g_rand_new_with_seed (11);
  g_autoptr(GVariant) reply = NULL;
  gsize got_len = 0;
  guint64 bytes = 0;

  for (gsize i = 0; i < (16 << 20) / 4; i++)
    if (i < (4 << 20) / 4 || i >= (10 << 20) / 4)
      ((guint32 *) (gpointer) big)[i] = g_rand_int (rand);
  sk_put_file (a, "sub/big", big, (gssize) len);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, "sub/big", "small now", -1);
  sk_fleet_settle (fleet, 8);
  reply = sk_fleet_run (fleet, 0, "restore", "{'folder': <'f'>, 'path': <b'sub/big'>, 'to': <%^ay>}", out);
  g_assert_cmpuint (restored_files (reply), ==, 1);
  g_variant_lookup (reply, "bytes", "t", &bytes);
  g_assert_cmpuint (bytes, ==, len);
  g_assert_true (g_file_get_contents (file, &got, &got_len, NULL));
  g_assert_cmpuint (got_len, ==, len);
  g_assert_true (memcmp (got, big, len) == 0);
  sk_assert_content (a, "sub/big", "small now");
  /* Never over something. */
  g_assert_cmpint (truncate (file, 5), ==, 0);
  g_assert_cmpint (fails_with (fleet, 0, "restore", "{'folder': <'f'>, 'path': <b'sub/big'>, 'to': <%^ay>}", out), ==, SK_ERROR_EXISTS);
  g_assert_cmpuint (sk_count_files (out), ==, 1);
}

static void
test_conflict (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *out = g_build_filename (fleet->base, "out", NULL);
  g_autofree char *winner = NULL, *version = NULL, *lost = NULL;
  g_autoptr(GVariant) versions = NULL;
  g_autoptr(GVariant) reply = NULL;

  sk_put_file (a, "x.txt", "base", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, "x.txt", "from a", -1);
  sk_put_file (b, "x.txt", "from b!", -1);
  sk_fleet_settle (fleet, 8);
  versions = versions_of (fleet, 0, "x.txt");
  g_assert_cmpuint (g_variant_n_children (versions), ==, 3);
  winner = sk_get_file (a, "x.txt");
  version = version_text (fleet, 0, "x.txt", 1, "version");
  reply = sk_fleet_run (fleet, 0, "restore", "{'folder': <'f'>, 'path': <b'x.txt'>, 'version': <%s>, 'to': <%^ay>}", version, out);
  g_assert_cmpuint (restored_files (reply), ==, 1);
  lost = sk_get_file (out, "x.txt");
  g_assert_cmpstr (lost, ==, g_str_equal (winner, "from a") ? "from b!" : "from a");
}

static void
use_clock (SkFleet *fleet, SkClock *clock)
{
  fleet->clock = clock;
  for (guint i = 0; i < fleet->n; i++)
    sk_fleet_restart (fleet, i);
}

/* Files are overwritten with noise and renamed, in numbers that raise no alarm; the folder comes back as it was before. */
static void
test_at_a_time (void)
{
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *out = g_build_filename (fleet->base, "out", NULL), *before = NULL, *after = NULL;
  g_autoptr(GVariant) reply = NULL;
  gint64 at;

  use_clock (fleet, clock);
  sk_put_many (a, "docs/file", 40);
  sk_put_file (a, "docs/sub/more", "more", -1);
  sk_fleet_share (fleet, "f");
  before = sk_tree_listing (a);
  at = sk_clock_wall (clock) / G_USEC_PER_SEC;
  sk_clock_step (clock, HOUR_US);
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *path = g_strdup_printf ("docs/%u.locked", i), *full = g_build_filename (a, path, NULL);
      g_autofree char *old = g_strdup_printf ("%s/docs/file%u", a, i);

      g_assert_cmpint (g_rename (old, full), ==, 0);
      sk_put_file (a, path, "\x93\x7f\x01\xfe noise", -1);
    }
  sk_put_file (a, "docs/sub/more", "overwritten", -1);
  sk_put_file (a, "new", "made later", -1);
  sk_fleet_settle (fleet, 8);
  reply = sk_fleet_run (fleet, 1, "restore", "{'folder': <'f'>, 'at': <%x>, 'to': <%^ay>}", at, out);
  g_assert_cmpuint (restored_files (reply), >=, 41);
  after = sk_tree_listing (out);
  g_assert_cmpstr (before, ==, after);
  /* Before there was anything. */
  g_assert_cmpint (fails_with (fleet, 1, "restore", "{'folder': <'f'>, 'at': <%x>}", at), ==, SK_ERROR_USAGE);
}

static void
test_zeroed (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  const char zeros[6000] = { 0 };

  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i), *text = g_strnfill (6000, (char) ('a' + i));

      sk_put_file (a, path, text, -1);
    }
  sk_fleet_share (fleet, "f");
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i);

      sk_put_file (a, path, zeros, sizeof zeros);
    }
  sk_fleet_settle (fleet, 8);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i), *text = g_strnfill (6000, (char) ('a' + i));
      g_autoptr(GVariant) versions = versions_of (fleet, 1, path);
      g_autoptr(GVariant) reply = sk_fleet_run (fleet, 1, "restore", "{'folder': <'f'>, 'path': <%^ay>}", path);

      g_assert_cmpuint (g_variant_n_children (versions), ==, 2);
      g_assert_cmpuint (restored_files (reply), ==, 1);
      sk_assert_content (b, path, text);
    }
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
}

/* Id of the newest activity of @kind, and whether it can be undone. */
static guint64
find_activity (SkFleet *fleet, guint i, const char *kind, gboolean *undo)
{
  g_autoptr(GVariant) reply = sk_fleet_run (fleet, i, "activity", NULL);
  g_autoptr(GVariant) list = g_variant_lookup_value (reply, "activity", G_VARIANT_TYPE ("aa{sv}"));

  for (gsize k = 0; k < g_variant_n_children (list); k++)
    {
      g_autoptr(GVariant) row = g_variant_get_child_value (list, k);
      const char *at, *folder;
      guint64 id = 0;

      g_assert_true (g_variant_lookup (row, "kind", "&s", &at) && g_variant_lookup (row, "folder", "&s", &folder));
      if (!g_str_equal (at, kind))
        continue;
      g_assert_cmpstr (folder, ==, "f");
      g_variant_lookup (row, "undo", "b", undo);
      g_variant_lookup (row, "id", "t", &id);
      return id;
    }
  return 0;
}

static void
test_undo_removal (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autoptr(GVariant) reply = NULL;
  gboolean undo = FALSE;
  guint64 id, files = 0;

  sk_put_many (a, "file", 9);
  sk_fleet_share (fleet, "f");
  g_assert_cmpuint (find_activity (fleet, 1, "received", &undo), !=, 0);
  g_assert_false (undo);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("file%u", i);

      sk_unlink (b, path);
    }
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 6);
  id = find_activity (fleet, 0, "removed", &undo);
  g_assert_cmpuint (id, !=, 0);
  g_assert_true (undo);
  /* What a person made since stays as it is. */
  sk_put_file (a, "file0", "made anew", -1);
  reply = sk_fleet_run (fleet, 0, "undo", "{'activity': <%t>}", id);
  g_variant_lookup (reply, "files", "t", &files);
  g_assert_cmpuint (files, ==, 2);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 9);
  sk_assert_content (b, "file0", "made anew");
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpint (fails_with (fleet, 0, "undo", "{'activity': <%t>}", id), ==, SK_ERROR_USAGE);
}

static void
test_undo_replacement (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  gboolean undo = FALSE;
  guint64 id;

  sk_put_file (a, "x", "first", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (b, "x", "second one", -1);
  sk_fleet_settle (fleet, 8);
  id = find_activity (fleet, 0, "replaced", &undo);
  g_assert_true (undo);
  g_variant_unref (sk_fleet_run (fleet, 0, "undo", "{'activity': <%t>}", id));
  sk_assert_content (a, "x", "first");
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, "x", "first");
}

/* As if every pack had gone from the storage. */
static gboolean
lose_packs (SkSession *session, gpointer data, GError **error)
{
  g_autoptr(GPtrArray) storages = sk_index_storages (session->index);
  gint64 storage = ((SkStorageRow *) storages->pdata[0])->row;
  g_autoptr(GArray) packs = sk_index_packs (session->index, storage, error);

  g_assert_cmpuint (packs->len, >, 0);
  for (guint i = 0; i < packs->len; i++)
    if (!sk_index_pack_set_state (session->index, storage, &g_array_index (packs, SkPackInfo, i).name, SK_PACK_GONE, &session->who.writer, 1, error))
      return FALSE;
  return TRUE;
}

static void
test_undo_from_trash (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = NULL;
  gboolean undo = FALSE;
  guint64 id, files = 0;

  sk_put_file (a, "d/x", "only in the trash", -1);
  sk_put_file (a, "y", "something else", -1);
  sk_fleet_share (fleet, "f");
  sk_unlink (b, "d/x");
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (a, "d/x"));
  sk_session_transact (fleet->devices[0], lose_packs, NULL, &error);
  g_assert_no_error (error);
  /* In place it would be promised to others who could never have it. */
  reply = sk_fleet_run (fleet, 0, "restore", "{'folder': <'f'>, 'path': <b'd/x'>}");
  g_variant_lookup (reply, "files", "t", &files);
  g_assert_cmpuint (files, ==, 0);
  id = find_activity (fleet, 0, "removed", &undo);
  g_assert_true (undo);
  g_variant_unref (g_steal_pointer (&reply));
  reply = sk_fleet_run (fleet, 0, "undo", "{'activity': <%t>}", id);
  g_variant_lookup (reply, "files", "t", &files);
  g_assert_cmpuint (files, ==, 1);
  sk_assert_content (a, "d/x", "only in the trash");
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, "d/x", "only in the trash");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/versions/list-and-restore", test_list_and_restore);
  g_test_add_func ("/versions/directories-of-a-new-folder", test_directories_of_a_new_folder);
  g_test_add_func ("/versions/deleted", test_deleted);
  g_test_add_func ("/versions/large-elsewhere", test_large_elsewhere);
  g_test_add_func ("/versions/conflict", test_conflict);
  g_test_add_func ("/versions/sit-B016/folder-as-it-was", test_at_a_time);
  g_test_add_func ("/versions/sit-B085/zeroed-files-come-back", test_zeroed);
  g_test_add_func ("/versions/undo-removal", test_undo_removal);
  g_test_add_func ("/versions/undo-replacement", test_undo_replacement);
  g_test_add_func ("/versions/rule-a11/undo-from-trash", test_undo_from_trash);
  return g_test_run ();
}
