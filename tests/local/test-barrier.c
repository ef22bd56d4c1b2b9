/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "write-support.h"

#define MANY 200u

typedef struct
{
  int files, dirs, systems;
} Syncs;

static Syncs
syncs_since (void)
{
  Syncs syncs = { g_atomic_int_get (&sk_write_hooks.file_syncs),
                  g_atomic_int_get (&sk_write_hooks.dir_syncs),
                  g_atomic_int_get (&sk_write_hooks.fs_syncs) };

  sk_write_hooks.file_syncs = sk_write_hooks.dir_syncs = sk_write_hooks.fs_syncs = 0;
  return syncs;
}

static Syncs
barrier (Tree *tree)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_root_barrier (tree->root, &error));
  g_assert_no_error (error);
  return syncs_since ();
}

static void
place_many (Tree *tree, const char *dir, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/%u", dir, i);

      given (tree, path, "x");
    }
}

/* Nothing is synced before the barrier, and then each file and each directory. */
static void
test_covers (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat stat, dir;
  Syncs syncs;

  g_assert_cmpint (barrier (tree).files, ==, 0);
  stat = given (tree, "d/a", "x");
  given (tree, "d/b", "x");
  given (tree, "e/a", "x");
  syncs = syncs_since ();
  g_assert_cmpint (syncs.files + syncs.dirs + syncs.systems, ==, 0);
  syncs = barrier (tree);
  g_assert_cmpint (syncs.files, ==, 3);
  g_assert_cmpint (syncs.dirs, ==, 3); /* d, e, and the root in which they were made */
  g_assert_cmpint (syncs.systems, ==, 0);
  syncs = barrier (tree);
  g_assert_cmpint (syncs.files + syncs.dirs + syncs.systems, ==, 0);

  /* A replacement changes two directories: d, the trash's; the trash's batch was made in two more.
   */
  g_assert_true (write_small (tree, "d/a", "y", &stat, &stat, &error));
  syncs = barrier (tree);
  g_assert_cmpint (syncs.files, ==, 1);
  g_assert_cmpint (syncs.dirs, ==, 4);

  g_assert_true (
      sk_target_rename (tree->root, "d/a", &stat, "e/b", NULL, NULL, BATCH, &stat, &error));
  g_assert_cmpint (barrier (tree).dirs, ==, 2);
  g_assert_true (
      sk_target_set_meta (tree->root, "e/b", &stat, &(SkMeta) { 0600, 5, NULL }, &stat, &error));
  g_assert_cmpint (barrier (tree).files, ==, 1);
  stat = given (tree, "e/c", "x");
  given (tree, "e/d", "x");
  g_assert_true (sk_target_remove (tree->root, "e/c", &stat, BATCH, &error));
  barrier (tree);
  /* The trash has its directory already: the two in which a name changed. */
  stat = tree_stat (tree, "e/d");
  g_assert_true (sk_target_remove (tree->root, "e/d", &stat, BATCH, &error));
  g_assert_cmpint (barrier (tree).dirs, ==, 2);
  g_assert_true (sk_target_symlink (tree->root, "e/l", "x", NULL, 0, BATCH, &stat, &error));
  g_assert_cmpint (barrier (tree).dirs, ==, 1);
  g_assert_true (sk_target_mkdir (tree->root, "e/dir", 0755, &dir, &error));
  g_assert_cmpint (barrier (tree).dirs, ==, 2);
  g_assert_true (sk_target_remove (tree->root, "e/dir", &dir, BATCH, &error));
  g_assert_cmpint (barrier (tree).dirs, ==, 1);
}

/* Without a batch everything is durable when the call returns. */
static void
test_single (void)
{
  static const SkHash content = { { 1 } };
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkPartial *partial = sk_partial_open (tree->root, &content, 3, &error);
  SkStat stat;
  Syncs syncs;

  g_assert_true (sk_partial_write (partial, 0, (const guint8 *) "abc", 3, &error));
  g_assert_true (
      sk_target_place (tree->root, partial, "d/f", NULL, &plain_meta, FALSE, BATCH, &stat, &error));
  sk_partial_close (partial);
  syncs = syncs_since ();
  g_assert_cmpint (syncs.files, ==, 1);
  g_assert_cmpint (syncs.dirs, ==, 2);
  syncs = barrier (tree);
  g_assert_cmpint (syncs.files + syncs.dirs + syncs.systems, ==, 0);
}

static guint
count_descriptors (void)
{
  g_autoptr(GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint count = 0;

  while (g_dir_read_name (dir) != NULL)
    count++;
  return count;
}

/* 63 files and directories one by one, 64 by one syncfs; never more than 63 descriptors. */
static void
test_many (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  guint before = count_descriptors ();
  Syncs syncs;

  tree_mkdir (tree, "d");
  place_many (tree, "d", 62);
  syncs = barrier (tree);
  g_assert_cmpint (syncs.files, ==, 62);
  g_assert_cmpint (syncs.dirs, ==, 1);
  g_assert_cmpint (syncs.systems, ==, 0);

  tree_mkdir (tree, "e");
  place_many (tree, "e", 62);
  g_assert_cmpuint (count_descriptors (), <=, before + 63);
  given (tree, "e/one more", "x");
  syncs = barrier (tree);
  g_assert_cmpint (syncs.files + syncs.dirs, ==, 0);
  g_assert_cmpint (syncs.systems, ==, 1);

  place_many (tree, "f", MANY);
  g_assert_cmpuint (count_descriptors (), <=, before + 63);
  g_assert_cmpint (barrier (tree).systems, ==, 1);
  g_assert_cmpuint (count_descriptors (), <=, before);
}

/* After a slow syncfs, and on network mounts at all times: one by one, early, so that descriptors
 * stay bounded. */
static void
test_no_syncfs (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  guint before = count_descriptors ();
  Syncs early, late;

  sk_write_hooks.syncfs_takes = 3 * G_USEC_PER_SEC;
  place_many (tree, "d", MANY);
  g_assert_cmpint (barrier (tree).systems, ==, 1);
  for (guint i = 0; i < 2; i++)
    {
      place_many (tree, i == 0 ? "e" : "f", MANY);
      g_assert_cmpuint (count_descriptors (), <=, before + 63);
      early = syncs_since ();
      late = barrier (tree);
      g_assert_cmpint (early.files + late.files, ==, MANY);
      g_assert_cmpint (early.systems + late.systems, ==, 0);
      g_assert_cmpint (early.files, >=, 126);

      g_clear_pointer (&tree, tree_free);
      tree = tree_new_prepared ();
      sk_root_test_abilities (tree->root)->whole_sync = FALSE;
    }
}

/* What could not be made durable is told, also when it was tried early; and not by a later barrier.
 */
static void
test_failure (void)
{
  static const guint counts[] = { 1, MANY, MANY };

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autoptr(GError) error = NULL;
      SkStat stat;

      sk_root_test_abilities (tree->root)->whole_sync = i != 2;
      sk_write_hooks.sync_errnum = EIO;
      place_many (tree, "d", counts[i]);
      g_assert_false (sk_target_write_small (tree->root, "single", (const guint8 *) "x", 1, NULL,
                                             &plain_meta, FALSE, BATCH, &stat, &error));
      assert_code (error, SK_ERROR_IO, "single");
      g_assert_false (tree_has (tree, "single"));
      if (i == 2)
        sk_write_hooks.sync_errnum = 0;
      g_assert_false (sk_root_barrier (tree->root, &error));
      assert_code (error, SK_ERROR_IO, tree->top);
      sk_write_hooks.sync_errnum = 0;
      barrier (tree);
      assert_tmp_empty (tree);
    }
}

/* ---- several threads ---- */

typedef struct
{
  Tree *tree;
  guint number;
} Worker;

static gpointer
work (gpointer data)
{
  Worker *self = data;

  for (guint i = 0; i < 40; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/%u/%u", i % 3, self->number, i);
      g_autoptr(GError) error = NULL;
      SkStat stat = given (self->tree, path, "one");

      g_assert_true (write_small (self->tree, path, "two", &stat, &stat, &error));
      g_assert_no_error (error);
      if (i % 10 == 9)
        g_assert_true (sk_root_barrier (self->tree->root, &error));
    }
  return NULL;
}

static void
test_threads (void)
{
  for (guint network = 0; network < 2; network++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autoptr(GPtrArray) items = NULL;
      Worker workers[4];
      GThread *threads[4];

      sk_root_test_abilities (tree->root)->network = network == 1;
      for (guint i = 0; i < G_N_ELEMENTS (workers); i++)
        {
          workers[i] = (Worker) { tree, i };
          threads[i] = g_thread_new ("worker", work, &workers[i]);
        }
      for (guint i = 0; i < G_N_ELEMENTS (workers); i++)
        g_thread_join (threads[i]);
      barrier (tree);
      items = sk_trash_list (tree->root, NULL);
      g_assert_cmpuint (items->len, ==, 160);
      assert_text (tree, "d0/3/39", "two");
      assert_tmp_empty (tree);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/barrier/rule-a12/covers-file-and-directory", test_covers);
  g_test_add_func ("/barrier/rule-a12/single-file", test_single);
  g_test_add_func ("/barrier/rule-c8/one-syncfs-for-many", test_many);
  g_test_add_func ("/barrier/rule-c8/no-syncfs-when-slow-or-remote", test_no_syncfs);
  g_test_add_func ("/barrier/rule-a12/failure-is-told", test_failure);
  g_test_add_func ("/barrier/threads", test_threads);
  return g_test_run ();
}
