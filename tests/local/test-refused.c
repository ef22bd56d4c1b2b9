/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is not done: to files that are not as expected, through links, outside of the folder, without
 * the rights. Races are in test-race.c. */
#include "write-support.h"

/* Each of inode, size, mtime and ctime alone stops everything that would destroy the file. */
static void
test_any_difference (void)
{
  static const char *const text = "as it was";

  for (guint i = 0; i < 6; i++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autoptr(GError) error = NULL;
      SkStat expected = given (tree, "f", text), out;

      expected.ino += i == 0;
      expected.size += i == 1;
      expected.mtime += i == 2;
      expected.ctime += i == 3;
      if (i == 4)
        expected.kind = SK_KIND_SYMLINK;
      if (i == 5)
        expected.kind = SK_KIND_DIR;
      g_assert_false (write_small (tree, "f", "new", &expected, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      g_assert_false (sk_target_remove (tree->root, "f", &expected, BATCH, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      g_assert_false (
          sk_target_rename (tree->root, "f", &expected, "g", NULL, NULL, BATCH, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "");
      g_assert_false (sk_target_set_meta (tree->root, "f", &expected, &plain_meta, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      assert_text (tree, "f", text);
      g_assert_false (tree_has (tree, "g"));
      assert_tmp_empty (tree);
    }
}

/* Somebody appends to a file that is to be deleted. */
static void
test_appended (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *full = tree_path (tree, "f");
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "one\n");
  FILE *file = fopen (full, "ae");

  fputs ("two\n", file);
  fflush (file);
  g_assert_false (sk_target_remove (tree->root, "f", &old, BATCH, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  fputs ("three\n", file);
  fclose (file);
  assert_text (tree, "f", "one\ntwo\nthree\n");
}

static void
test_file_as_parent (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat out;

  tree_text (tree, "f", "x");
  g_assert_false (write_small (tree, "f/g", "y", NULL, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "f/g");
  g_assert_false (write_small (tree, "f/g/h", "y", NULL, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "f/g/h");
  g_assert_false (sk_target_mkdir (tree->root, "f", 0755, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  assert_text (tree, "f", "x");
}

static void
test_paths_refused (void)
{
  static const char *const bad[]
      = { "../x", "/etc/x", "a//b", "a/../../x", ".", "", ".skerry/folder", "a/.skerry/x" };
  g_autoptr(Tree) tree = tree_new_prepared ();

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr(GError) error = NULL;
      SkStat some = { .kind = SK_KIND_FILE }, out;

      g_assert_false (write_small (tree, bad[i], "x", NULL, &out, &error));
      assert_code (error, SK_ERROR_CORRUPT, "");
      g_assert_false (sk_target_mkdir (tree->root, bad[i], 0755, &out, &error));
      assert_code (error, SK_ERROR_CORRUPT, "");
      g_assert_false (sk_target_symlink (tree->root, bad[i], "x", NULL, 0, BATCH, &out, &error));
      assert_code (error, SK_ERROR_CORRUPT, "");
      g_assert_false (sk_target_remove (tree->root, bad[i], &some, BATCH, &error));
      assert_code (error, SK_ERROR_CORRUPT, "");
      g_assert_false (sk_target_set_meta (tree->root, bad[i], &some, &plain_meta, &out, &error));
      assert_code (error, SK_ERROR_CORRUPT, "");
    }
}

/* rm -r d1; ln -s d2 d1: what was planned for d1 does not happen in d2. */
static void
test_directory_became_link (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *d1 = tree_path (tree, "d1");
  g_autoptr(GError) error = NULL;
  SkStat d1_stat, f1 = given (tree, "d1/f", "one"), f2 = given (tree, "d2/f", "two"), out;

  d1_stat = tree_stat (tree, "d1");
  tree_remove (d1);
  tree_link (tree, "d2", "d1");

  g_assert_false (sk_target_remove (tree->root, "d1/f", &f1, BATCH, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/f");
  g_assert_false (sk_target_remove (tree->root, "d1/f", &f2, BATCH, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/f");
  g_assert_false (sk_target_remove (tree->root, "d1", &d1_stat, BATCH, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"d1\"");
  g_assert_false (write_small (tree, "d1/new", "x", NULL, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/new");
  g_assert_false (sk_target_mkdir (tree->root, "d1/dir", 0755, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/dir");
  g_assert_false (sk_target_mkdir (tree->root, "d1/more/dir", 0755, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/more/dir");
  g_assert_false (sk_target_mkdir (tree->root, "d1", 0755, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"d1\"");
  g_assert_false (sk_target_rename (tree->root, "d1/f", &f2, "g", NULL, NULL, BATCH, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/f");
  g_assert_false (sk_target_set_meta (tree->root, "d1/f", &f2, &plain_meta, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "d1/f");

  out = tree_stat (tree, "d2/f");
  assert_same (&f2, &out);
  g_assert_cmpuint (tree_count (tree, "d2"), ==, 1);
}

/* ---- refusals of the system ---- */

static void
assert_nothing_changes (Tree *tree, const char *dir, const SkStat *file)
{
  g_autofree char *f = g_build_filename (dir, "f", NULL), *g = g_build_filename (dir, "g", NULL);
  g_autoptr(GError) error = NULL;
  SkStat out;

  g_assert_false (sk_target_remove (tree->root, f, file, BATCH, &error));
  assert_code (error, SK_ERROR_PERMISSION, f);
  g_assert_false (write_small (tree, f, "new", file, &out, &error));
  assert_code (error, SK_ERROR_PERMISSION, f);
  g_assert_false (write_small (tree, g, "new", NULL, &out, &error));
  assert_code (error, SK_ERROR_PERMISSION, g);
  g_assert_false (sk_target_mkdir (tree->root, g, 0755, &out, &error));
  assert_code (error, SK_ERROR_PERMISSION, g);
  g_assert_false (
      sk_target_rename (tree->root, f, file, "elsewhere", NULL, NULL, BATCH, &out, &error));
  assert_code (error, SK_ERROR_PERMISSION, "");
}

static void
test_read_only_directory (void)
{
  for (guint way = 0; way < 3; way++)
    {
      g_autoptr(Tree) tree = tree_new ();
      g_autofree char *dir = tree_path (tree, "d");
      g_autoptr(GError) error = NULL;
      SkStat file, after;

      sk_write_hooks = (SkWriteHooks) { .refuse_flags = way > 0, .refuse_links = way > 1 };
      be_ordinary (tree, "");
      tree_prepare (tree);
      file = given (tree, "d/f", "kept");
      g_assert_cmpint (chmod (dir, 0555), ==, 0);
      assert_nothing_changes (tree, "d", &file);
      g_assert_false (sk_target_may_change (tree->root, "d", &error));
      assert_code (error, SK_ERROR_PERMISSION, "\"d\"");
      g_assert_true (sk_target_may_change (tree->root, "", &error));
      g_assert_true (sk_target_may_change (tree->root, "not/there", &error));
      after = tree_stat (tree, "d/f");
      g_assert_cmpuint (after.ino, ==, file.ino);
      assert_text (tree, "d/f", "kept");
      assert_tmp_empty (tree);
      /* And the retry after the person allowed it. */
      g_assert_cmpint (chmod (dir, 0755), ==, 0);
      g_assert_true (sk_target_may_change (tree->root, "d", &error));
      g_assert_true (sk_target_remove (tree->root, "d/f", &after, BATCH, &error));
      g_assert_no_error (error);
      be_oneself ();
    }
}

static void
test_read_only_file_system (void)
{
  g_autoptr(Tree) outer = tree_new ();
  g_autofree char *mounted = tree_path (outer, "m");
  g_autoptr(GError) error = NULL;
  Tree tree = { .top = mounted };
  SkStat file;

  tree_mkdir (outer, "m");
  if (!tree_mount (outer, "m"))
    return;
  sk_write_hooks = (SkWriteHooks) { 0 };
  tree.root = sk_root_open (mounted, &error);
  tree_prepare (&tree);
  file = given (&tree, "f", "kept");
  given (&tree, "d/f", "kept");
  g_assert_cmpint (mount ("skerry-test", mounted, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
  file = tree_stat (&tree, "d/f");
  assert_nothing_changes (&tree, "d", &file);
  assert_text (&tree, "d/f", "kept");
  sk_root_unref (tree.root);
  tree_unmount (outer, "m");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/refused/sit-B022/any-difference-stops", test_any_difference);
  g_test_add_func ("/refused/sit-B023/appended-is-kept", test_appended);
  g_test_add_func ("/refused/file-as-parent", test_file_as_parent);
  g_test_add_func ("/refused/sit-B040/paths-refused", test_paths_refused);
  g_test_add_func ("/refused/sit-B033/directory-became-link", test_directory_became_link);
  g_test_add_func ("/refused/sit-B082/read-only-directory", test_read_only_directory);
  g_test_add_func ("/refused/sit-B082/read-only-file-system", test_read_only_file_system);
  return g_test_run ();
}
