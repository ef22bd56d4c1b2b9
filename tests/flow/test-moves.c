/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that become something else: directories turned into links, moves against edits, inodes that come back. */
#include "sk-fleet-check.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static SkFleet *
share_tree (char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (*a, "d1/one", 3);
  sk_put_many (*a, "d2/two", 3);
  sk_fleet_share (fleet, "f");
  return fleet;
}

static void
remove_dir (const char *dir, const char *path, const char *prefix, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *file = g_strdup_printf ("%s/%s%u", path, prefix, i);

      sk_unlink (dir, file);
    }
  sk_unlink (dir, path);
}

static void
make_link (const char *dir, const char *path, const char *target)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (symlink (target, full), ==, 0);
}

static void
make_dir (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (g_mkdir (full, 0755), ==, 0);
}

static gboolean
is_link (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  return g_file_test (full, G_FILE_TEST_IS_SYMLINK);
}

/* A directory is replaced by a link to another one: nothing is removed through the link. */
static void
test_directory_becomes_link (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  remove_dir (a, "d1", "one", 3);
  make_link (a, "d1", "d2");
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_true (is_link (b, "d1"));
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("d2/two%u", i), *through = g_strdup_printf ("d1/two%u", i);

      g_assert_true (sk_there (b, path));
      g_assert_true (sk_there (b, through));
      g_assert_true (sk_there (a, path));
    }
  g_assert_true (sk_in_trash (b, "d1/one0", NULL));
  sk_assert_no_issues (fleet, 1);
}

/* mv x x_; mkdir x; mv x_ x/x: a file becomes a directory that holds it. */
static void
test_file_moves_below_itself (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  sk_put_file (a, "x", "the content of x", -1);
  sk_fleet_settle (fleet, 8);
  sk_rename (a, "x", "x_");
  make_dir (a, "x");
  sk_rename (a, "x_", "x/x");
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "x/x", "the content of x");
  g_assert_false (sk_there (b, "x_"));
  /* And back again, and a directory the same way. */
  sk_rename (a, "x/x", "x_");
  sk_unlink (a, "x");
  sk_rename (a, "x_", "x");
  sk_rename (a, "d1", "d_");
  make_dir (a, "d1");
  sk_rename (a, "d_", "d1/d1");
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "x", "the content of x");
  g_assert_true (sk_there (b, "d1/d1/one2"));
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
}

/* While B is away A replaces a directory by a link and then removes the link. */
static void
test_directory_to_link_to_nothing (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  remove_dir (a, "d1", "one", 3);
  make_link (a, "d1", "d2");
  sk_sync (fleet, 0);
  sk_unlink (a, "d1");
  sk_sync (fleet, 0);
  sk_put_file (b, "d1/one1", "changed on b meanwhile", -1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_count_content (a, "changed on b meanwhile"), ==, 1);
  g_assert_false (sk_there (b, "d1/one0"));
  g_assert_true (sk_there (b, "d2/two0"));
}

static void
test_unchanged_directory_to_link_to_nothing (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  remove_dir (a, "d1", "one", 3);
  make_link (a, "d1", "d2");
  sk_sync (fleet, 0);
  sk_unlink (a, "d1");
  sk_sync (fleet, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_false (sk_there (b, "d1"));
  g_assert_true (sk_there (b, "d2/two0"));
  g_assert_true (sk_in_trash (b, "d1/one0", NULL));
}

/* A file system without links: they are not written there, and not deleted anywhere. */
static void
test_links_unsupported (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  g_autoptr(SkConfig) config = sk_session_config (fleet->devices[1]);
  SkFlowFolder *folder = config->folders->pdata[0];

  sk_root_test_abilities (folder->root)->symlinks = FALSE;
  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *name = g_strdup_printf ("link%u", i);

      make_link (a, name, "d2/two0");
    }
  sk_sync_all (fleet, 3);
  g_assert_cmpuint (sk_count_names (b, "link"), ==, 0);
  g_assert_cmpuint (sk_count_names (a, "link"), ==, 20);
  g_assert_cmpuint (sk_issues (fleet, 1), >, 0);
  /* The rest goes on, both ways. */
  sk_put_file (b, "d1/of-b", "from b", -1);
  sk_put_file (a, "d1/of-a", "from a", -1);
  sk_sync_all (fleet, 3);
  sk_assert_content (a, "d1/of-b", "from b");
  sk_assert_content (b, "d1/of-a", "from a");
  g_assert_cmpuint (sk_count_names (a, "link"), ==, 20);
}

/* A edits d/f while B moves d to e and then to g. */
static void
test_edit_against_moves (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  sk_put_file (a, "d1/one1", "edited on a, offline", -1);
  sk_rename (b, "d1", "e");
  sk_sync (fleet, 1);
  sk_rename (b, "e", "g");
  sk_sync (fleet, 1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_count_content (a, "edited on a, offline"), ==, 1);
  g_assert_cmpuint (sk_count_content (b, "edited on a, offline"), ==, 1);
  g_assert_true (sk_there (b, "g/one0"));
  g_assert_true (sk_there (a, "g/one1"));
  g_assert_false (sk_there (a, "d1/one0"));
  g_assert_false (sk_there (a, "e"));
}

/* A file is removed and a new one with another content gets its inode, its size and its time: that is no move. */
static void
test_inode_comes_back (void)
{
  g_autofree char *a = NULL, *b = NULL, *old = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  struct stat before, after = { 0 };
  guint tries = 0;

  sk_put_file (a, "pics/p", "picture", -1);
  sk_fleet_settle (fleet, 8);
  old = g_build_filename (a, "pics/p", NULL);
  g_assert_cmpint (lstat (old, &before), ==, 0);
  sk_unlink (a, "pics/p");
  sk_unlink (a, "pics");
  make_dir (a, "pics2");
  /* The file system may take another inode first; those are kept until it is the turn of the old one. */
  while (after.st_ino != before.st_ino && tries < 200)
    {
      g_autofree char *name = g_strdup_printf ("pics2/q%u", tries++), *path = g_build_filename (a, name, NULL);
      struct timespec times[2] = { before.st_atim, before.st_mtim };

      sk_put_file (a, name, "PICTURE", -1);
      g_assert_cmpint (utimensat (AT_FDCWD, path, times, 0), ==, 0);
      g_assert_cmpint (lstat (path, &after), ==, 0);
    }
  g_test_message ("inode %s after %u files", after.st_ino == before.st_ino ? "came back" : "did not come back", tries);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_false (sk_there (b, "pics"));
  g_assert_cmpuint (sk_count_content (b, "PICTURE"), ==, tries);
  g_assert_cmpuint (sk_count_content (b, "picture"), ==, 0);
  g_assert_true (sk_in_trash (b, "pics/p", "picture"));
  /* It never was the old file, not even until a later pass looked closer. */
  {
    g_autofree char *name = g_strdup_printf ("pics2/q%u", tries - 1);
    g_autoptr(GVariant) reply = sk_fleet_run (fleet, 0, "versions", "{'folder': <'f'>, 'path': <%^ay>}", name);
    g_autoptr(GVariant) list = g_variant_lookup_value (reply, "versions", G_VARIANT_TYPE ("aa{sv}"));

    g_assert_cmpuint (g_variant_n_children (list), ==, 1);
  }
}

/* a is moved over b; the commit at the storage is cut off in between. B never lacks both, and the old b is in the trash. */
static void
test_move_over_another (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  SkFlaky *flaky;

  sk_put_file (a, "a", "content of a", -1);
  sk_put_file (a, "b", "content of b", -1);
  sk_fleet_settle (fleet, 8);
  sk_rename (a, "a", "b");
  flaky = sk_fleet_make_flaky (fleet, 0);
  sk_flaky_fail_puts (flaky, "heads/", 1, SK_ERROR_OFFLINE);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_sync (fleet, 1);
  g_assert_true (sk_there (b, "a") || sk_there (b, "b"));
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "b", "content of a");
  g_assert_false (sk_there (b, "a"));
  g_assert_true (sk_in_trash (b, "b", "content of b"));
}

/* The network is cut while B carries it out: what is there is one of the two states. */
static void
test_move_cut_off_on_the_way_down (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  SkFlaky *flaky;

  sk_put_file (a, "a", "content of a", -1);
  sk_put_file (a, "b", "content of b", -1);
  sk_fleet_settle (fleet, 8);
  sk_rename (a, "a", "b");
  sk_put_file (a, "b", "content of a and more", -1);
  sk_sync (fleet, 0);
  flaky = sk_fleet_make_flaky (fleet, 1);
  sk_flaky_fail_gets (flaky, "packs/", G_MAXUINT, SK_ERROR_OFFLINE);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  sk_assert_content (b, "b", "content of b");
  sk_flaky_fail_gets (flaky, NULL, 0, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "b", "content of a and more");
  g_assert_true (sk_in_trash (b, "b", "content of b"));
}

/* A directory is moved, and the storage answers the commit with an error once: afterwards it is the same as without. */
static void
commit_fails (const char *prefix)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  SkFlaky *flaky = sk_fleet_make_flaky (fleet, 0);

  sk_flaky_fail_puts (flaky, prefix, 1, SK_ERROR_IO);
  sk_rename (a, "d1", "moved");
  g_assert_true (sk_sync_attention (fleet, 0) || sk_flaky_failed (flaky) == 1);
  g_assert_cmpuint (sk_flaky_failed (flaky), ==, 1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_true (sk_there (b, "moved/one2"));
  g_assert_false (sk_there (b, "d1"));
  g_assert_cmpuint (sk_count_files (a), ==, 6);
  g_assert_cmpuint (sk_count_files (b), ==, 6);
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
}

static void
test_segment_fails_once (void)
{
  commit_fails ("log/");
}

static void
test_head_fails_once (void)
{
  commit_fails ("heads/");
}

/* The answer is lost, not the object: it is there, and is put again. */
static void
test_committed_twice (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  SkFlaky *flaky = sk_fleet_make_flaky (fleet, 0);

  sk_flaky_lose_answers (flaky, "log/", 1);
  sk_rename (a, "d1", "moved");
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_assert_cmpuint (sk_flaky_failed (flaky), ==, 1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_count_files (b), ==, 6);
  g_assert_cmpuint (sk_count_names (b, "moved"), ==, 1);
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
}

/* RULES A15: of a deleted directory only the file that was changed comes back. */
static void
test_directory_comes_back_with_what_changed (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  sk_put_many (a, "dd/e/file", 4);
  make_dir (a, "dd/empty");
  sk_fleet_settle (fleet, 8);
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *path = g_strdup_printf ("dd/e/file%u", i);

      sk_unlink (a, path);
    }
  sk_unlink (a, "dd/e");
  sk_unlink (a, "dd/empty");
  sk_unlink (a, "dd");
  sk_put_file (b, "dd/e/file2", "changed on b", -1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (a, "dd/e/file2", "changed on b");
  g_assert_cmpuint (sk_count_files (a), ==, 6 + 1);
  g_assert_false (sk_there (a, "dd/empty"));
}

/* An unknown local file keeps its directory. */
static void
test_unknown_file_keeps_directory (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);

  sk_put_file (a, ".skerryignore", "*.secret\n", -1);
  sk_put_many (a, "dd/file", 2);
  sk_fleet_settle (fleet, 8);
  sk_put_file (b, "dd/local.secret", "nobody else's", -1);
  sk_unlink (a, "dd/file0");
  sk_unlink (a, "dd/file1");
  sk_unlink (a, "dd");
  sk_sync_all (fleet, 3);
  sk_assert_content (b, "dd/local.secret", "nobody else's");
  g_assert_false (sk_there (b, "dd/file0"));
  g_assert_false (sk_there (a, "dd/file0"));
}

static guint
count_chunks_from_storage (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_run (fleet, i, "sync", NULL);
  g_autoptr(GVariant) chunks = g_variant_lookup_value (reply, "chunks", G_VARIANT_TYPE ("a{sv}"));
  guint64 needed = 0;

  g_assert_nonnull (chunks);
  g_assert_true (g_variant_lookup (chunks, "needed", "t", &needed));
  return (guint) needed;
}

/* More files than are planned at once: none is taken away at its old name before it was looked for under the new one. */
static void
test_large_directory (void)
{
  g_autofree char *a = NULL, *b = NULL, *from = NULL, *to = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "old/file", 4100);
  sk_fleet_share (fleet, "f");
  from = g_build_filename (a, "old", NULL);
  to = g_build_filename (a, "new", NULL);
  g_assert_cmpint (g_rename (from, to), ==, 0);
  sk_sync (fleet, 0);
  g_assert_cmpuint (count_chunks_from_storage (fleet, 1), ==, 0);
  sk_assert_equal_trees (fleet, "f");
  g_assert_false (sk_in_trash (b, "old/file0", NULL));
}

static guint64
inode_of (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  GStatBuf st;

  g_assert_cmpint (g_stat (full, &st), ==, 0);
  return st.st_ino;
}

/* Files that are equal, known in another order than that of their names: each stays itself. */
static void
test_equal_files_keep_their_inodes (void)
{
  static const char *const names[] = { "7", "3", "5", "1", "6", "0", "4", "2" };
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  g_autofree char *old = g_build_filename (a, "old", NULL), *new = g_build_filename (a, "new", NULL);
  guint64 inodes[G_N_ELEMENTS (names)];

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename ("old", names[i], NULL);

      sk_put_file (a, path, "all the same", -1);
      g_variant_unref (sk_fleet_sync (fleet, 0));
      g_variant_unref (sk_fleet_sync (fleet, 1));
      inodes[i] = inode_of (b, path);
    }
  g_assert_cmpint (g_rename (old, new), ==, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename ("new", names[i], NULL);

      g_assert_cmpuint (inode_of (b, path), ==, inodes[i]);
    }
}

/* Far more equal ones than are looked at, empty ones among them, in directories of directories. */
static void
test_many_equal_files (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_tree (&a, &b);
  g_autofree char *old = g_build_filename (a, "old", NULL), *new = g_build_filename (a, "new", NULL);
  g_autoptr(GHashTable) inodes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  GHashTableIter iter;
  gpointer name, inode;

  for (guint i = 0; i < 120; i++)
    {
      char *path = g_strdup_printf ("d%u/e%u/%u", i % 5, i % 3, i * 7919 % 1000);
      g_autofree char *full = g_build_filename ("old", path, NULL);

      sk_put_file (a, full, i % 2 == 0 ? "" : "all the same", -1);
      g_hash_table_insert (inodes, path, NULL);
    }
  sk_fleet_settle (fleet, 8);
  g_hash_table_iter_init (&iter, inodes);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    {
      g_autofree char *full = g_build_filename ("old", name, NULL);
      guint64 number = inode_of (b, full);

      g_hash_table_iter_replace (&iter, g_memdup2 (&number, sizeof number));
    }
  g_assert_cmpint (g_rename (old, new), ==, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  g_hash_table_iter_init (&iter, inodes);
  while (g_hash_table_iter_next (&iter, &name, &inode))
    {
      g_autofree char *full = g_build_filename ("new", name, NULL);

      g_assert_cmpuint (inode_of (b, full), ==, *(guint64 *) inode);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/moves/sit-B033/directory-becomes-link", test_directory_becomes_link);
  g_test_add_func ("/moves/sit-B035/file-moves-below-itself", test_file_moves_below_itself);
  g_test_add_func ("/moves/sit-B036/changed-directory-to-link-to-nothing", test_directory_to_link_to_nothing);
  g_test_add_func ("/moves/sit-B036/unchanged-directory-to-link-to-nothing", test_unchanged_directory_to_link_to_nothing);
  g_test_add_func ("/moves/sit-B037/links-unsupported", test_links_unsupported);
  g_test_add_func ("/moves/sit-B045/edit-against-moves", test_edit_against_moves);
  g_test_add_func ("/moves/sit-B047/inode-comes-back", test_inode_comes_back);
  g_test_add_func ("/moves/sit-B049/move-over-another", test_move_over_another);
  g_test_add_func ("/moves/sit-B049/cut-off-on-the-way-down", test_move_cut_off_on_the_way_down);
  g_test_add_func ("/moves/sit-B050/segment-fails-once", test_segment_fails_once);
  g_test_add_func ("/moves/sit-B050/head-fails-once", test_head_fails_once);
  g_test_add_func ("/moves/sit-B050/committed-twice", test_committed_twice);
  g_test_add_func ("/moves/rule-a15/comes-back-with-what-changed", test_directory_comes_back_with_what_changed);
  g_test_add_func ("/moves/rule-a15/unknown-file-keeps-directory", test_unknown_file_keeps_directory);
  g_test_add_func ("/moves/equal-files-keep-their-inodes", test_equal_files_keep_their_inodes);
  g_test_add_func ("/moves/many-equal-files-keep-their-inodes", test_many_equal_files);
  g_test_add_func ("/moves/large-directory/no-content-moved", test_large_directory);
  return g_test_run ();
}
