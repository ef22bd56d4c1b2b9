/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "index-support.h"

#include "sk-tree.h"

/* An entry of writer @who, ranked by @lamport, concurrent to those of all others. */
static SkEntry *
entry_by (Fixture *f, const char *path, guint64 who, guint64 lamport)
{
  SkEntry *entry;

  f->writer = make_id (who);
  entry = make_entry (f, path, SK_KIND_FILE, 1, 100 * who, 1);
  entry->lamport = entry->meta_lamport = lamport;
  return entry;
}

static void
apply (SkTree *tree, const SkEntry *entry)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_tree_apply (tree, entry, &entry->writer, 1, &error));
  g_assert_no_error (error);
}

/* Kind NONE where there is nothing. */
static SkTarget
target_at (Fixture *f, const char *path)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkNode) node = sk_index_node (f->index, f->folder, path, &error);

  g_assert_no_error (error);
  return node != NULL ? node->target : (SkTarget) { .kind = SK_KIND_NONE };
}

static gint64
mtime_at (Fixture *f, const char *path)
{
  const SkTarget target = target_at (f, path);

  g_assert_cmpint (target.kind, ==, SK_KIND_FILE);
  return target.mtime;
}

/* A file that loses its name to @winner, and its @copy that loses that one to @rival. The name of the copy of the copy. (transfer full, all) */
static char *
lose_twice (Fixture *f, SkEntry **loser, SkEntry **winner, SkEntry **copy, SkEntry **rival)
{
  *loser = entry_by (f, "report.txt", 1, 5);
  *winner = entry_by (f, "report.txt", 2, 10);
  *copy = sk_conflict_entry (*loser);
  *rival = entry_by (f, (*copy)->path, 3, 20);
  return sk_conflict_path (*copy);
}

/* A file lost its name, and its copy lost that of the copy: who touches the file touches both, whenever that is heard of. */
static void
test_touch_reaches_copy_of_copy (void)
{
  for (guint order = 0; order < 4; order++)
    {
      Fixture f = { 0 };
      g_autoptr(SkTree) tree = NULL;
      g_autoptr(SkEntry) loser = NULL, winner = NULL, touched = NULL, copy = NULL, rival = NULL;
      g_autofree char *last = NULL;
      SkId device = make_id (9);

      fixture_open (&f);
      last = lose_twice (&f, &loser, &winner, &copy, &rival);
      g_assert_cmpstr (last, !=, copy->path);
      touched = sk_entry_copy (loser);
      touched->meta_lamport = 30;
      touched->mtime = 1650000000000000000;

      begin (f.index);
      tree = sk_tree_new (f.index, &device, "desktop");
      if (order == 1)
        apply (tree, touched);
      apply (tree, loser);
      apply (tree, winner);
      if (order == 2)
        apply (tree, touched);
      apply (tree, rival);
      if (order == 3)
        {
          /* Somebody appended the copy, as it was before. */
          apply (tree, copy);
        }
      if (order == 0 || order == 3)
        apply (tree, touched);
      g_assert_cmpint (mtime_at (&f, last), ==, touched->mtime);
      g_assert_cmpint (mtime_at (&f, copy->path), ==, rival->mtime);
      g_assert_cmpint (mtime_at (&f, "report.txt"), ==, winner->mtime);
      g_assert_true (sk_tree_flush (tree, NULL));
      commit (f.index);
      fixture_close (&f);
    }
}

/* A file lost its name, its copy lost that of the copy, and then somebody deletes or replaces the file: both copies go, whenever that is heard of,
 * or one device would go on showing what no other does. */
static void
test_copy_of_copy_goes (void)
{
  for (guint order = 0; order < 3; order++)
    {
      Fixture f = { 0 };
      g_autoptr(SkTree) tree = NULL;
      g_autoptr(SkEntry) loser = NULL, winner = NULL, after = NULL, copy = NULL, rival = NULL;
      g_autoptr(GPtrArray) problems = NULL;
      g_autofree char *last = NULL;
      SkId device = make_id (9);

      fixture_open (&f);
      last = lose_twice (&f, &loser, &winner, &copy, &rival);
      after = entry_by (&f, "report.txt", 4, 30);
      sk_vector_unref (after->vector);
      after->vector = sk_vector_with (loser->vector, &after->writer, 1);

      begin (f.index);
      tree = sk_tree_new (f.index, &device, "desktop");
      if (order == 1)
        apply (tree, after);
      apply (tree, loser);
      apply (tree, winner);
      if (order == 2)
        apply (tree, after);
      apply (tree, rival);
      if (order == 0)
        {
          g_assert_cmpint (target_at (&f, last).kind, ==, SK_KIND_FILE);
          apply (tree, after);
        }
      g_assert_cmpint (target_at (&f, last).kind, ==, SK_KIND_NONE);
      g_assert_cmpint (mtime_at (&f, copy->path), ==, rival->mtime);
      g_assert_cmpint (mtime_at (&f, "report.txt"), ==, after->mtime);
      g_assert_true (sk_tree_flush (tree, NULL));
      commit (f.index);
      problems = sk_index_check (f.index, NULL, NULL, NULL);
      g_assert_nonnull (problems);
      for (guint i = 0; i < problems->len; i++)
        g_assert_null (strstr (g_ptr_array_index (problems, i), "copies"));
      fixture_close (&f);
    }
}

/* A copy that nobody appended goes when its loser is replaced. What stands at its name afterwards has a mode of its own: who reads the log later never
 * meets the copy. */
static void
test_withdrawn_copy_leaves_no_mode (void)
{
  for (guint order = 0; order < 4; order++)
    {
      Fixture f = { 0 };
      g_autoptr(SkTree) tree = NULL;
      g_autoptr(SkEntry) loser = NULL, winner = NULL, after = NULL, copy = NULL, rival = NULL;
      g_autofree char *last = NULL;
      SkId device = make_id (9);

      fixture_open (&f);
      last = lose_twice (&f, &loser, &winner, &copy, &rival);
      rival->meta_lamport = 0;
      rival->mode = 0600;
      after = entry_by (&f, "report.txt", 1, 30);
      sk_vector_unref (after->vector);
      after->vector = sk_vector_with (loser->vector, &after->writer, 2);

      begin (f.index);
      tree = sk_tree_new (f.index, &device, "desktop");
      apply (tree, order % 2 == 0 ? loser : after);
      if (order / 2 == 0)
        apply (tree, winner);
      apply (tree, order % 2 == 0 ? after : loser);
      if (order / 2 != 0)
        apply (tree, winner);
      apply (tree, rival);
      g_assert_cmpint (mtime_at (&f, copy->path), ==, rival->mtime);
      g_assert_cmpuint (target_at (&f, copy->path).mode, ==, 0600);
      g_assert_true (sk_tree_flush (tree, NULL));
      commit (f.index);
      fixture_close (&f);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tree/rule-a7/withdrawn-copy-leaves-no-mode", test_withdrawn_copy_leaves_no_mode);
  g_test_add_func ("/tree/rule-a7/touch-reaches-copy-of-copy", test_touch_reaches_copy_of_copy);
  g_test_add_func ("/tree/rule-a7/copy-of-copy-goes", test_copy_of_copy_goes);
  return g_test_run ();
}
