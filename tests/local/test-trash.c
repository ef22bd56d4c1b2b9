/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "write-support.h"

#include "sk-limits.h"

#define SECOND ((gint64) G_USEC_PER_SEC)
#define DAY (24 * 60 * 60 * SECOND)
/* 2026-01-02 03:04:05 UTC. */
#define THEN (G_GINT64_CONSTANT (1767323045) * SECOND)

static void
trash (Tree *tree, const char *path, const char *text, gint64 when)
{
  g_autofree char *batch = sk_trash_new_batch (when);
  g_autoptr(GError) error = NULL;
  SkStat stat = given (tree, path, text);

  g_assert_true (sk_target_remove (tree->root, path, &stat, batch, &error));
  g_assert_no_error (error);
}

static GPtrArray *
list (Tree *tree)
{
  g_autoptr(GError) error = NULL;
  GPtrArray *items = sk_trash_list (tree->root, &error);

  g_assert_no_error (error);
  return items;
}

static void
test_names (void)
{
  g_autofree char *batch = sk_trash_new_batch (THEN), *odd = sk_trash_new_batch (G_MININT64),
                  *late = sk_trash_new_batch (G_MAXINT64);

  g_assert_true (g_str_has_prefix (batch, "20260102T030405Z-"));
  g_assert_cmpuint (strlen (batch), ==, 21);
  g_assert_cmpuint (strlen (odd), ==, 21);
  g_assert_cmpuint (strlen (late), ==, 21);
}

/* Versions of one path in one batch, and a file where another's directory should be: every path
 * stays as it was. */
static void
test_collisions (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *longest = g_strnfill (SK_NAME_MAX, 'n');
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;
  guint same = 0, below = 0;
  SkStat stat;

  for (guint i = 0; i < 100; i++)
    {
      stat = given (tree, longest, "x");
      g_assert_true (sk_target_remove (tree->root, longest, &stat, BATCH, &error));
      g_assert_no_error (error);
    }
  stat = given (tree, "f", "file");
  g_assert_true (sk_target_remove (tree->root, "f", &stat, BATCH, &error));
  stat = given (tree, "f/g/h", "below");
  g_assert_true (sk_target_remove (tree->root, "f/g/h", &stat, BATCH, &error));
  g_assert_no_error (error);

  items = list (tree);
  g_assert_cmpuint (items->len, ==, 102);
  for (guint i = 0; i < items->len; i++)
    {
      const SkTrashItem *item = g_ptr_array_index (items, i);

      g_assert_true (g_str_has_prefix (item->batch, "20260102T030405Z-"));
      same += strcmp (item->path, longest) == 0;
      below += strcmp (item->path, "f/g/h") == 0;
    }
  g_assert_cmpuint (same, ==, 100);
  g_assert_cmpuint (below, ==, 1);
}

static void
test_restores (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;
  const SkTrashItem *item;
  SkTrashItem wrong = { .batch = (char *) "../../..", .path = (char *) "f" };

  trash (tree, "d/f", "text", THEN);
  items = list (tree);
  g_assert_cmpuint (items->len, ==, 1);
  item = g_ptr_array_index (items, 0);
  g_assert_cmpstr (item->path, ==, "d/f");
  g_assert_cmpuint (item->stat.size, ==, 4);

  tree_text (tree, "taken", "mine");
  g_assert_false (sk_trash_restore (tree->root, item, "taken", &error));
  assert_code (error, SK_ERROR_EXISTS, "taken");
  assert_text (tree, "taken", "mine");
  g_assert_true (sk_trash_restore (tree->root, item, "new/place", &error));
  g_assert_no_error (error);
  assert_text (tree, "new/place", "text");
  g_assert_cmpuint (tree_stat (tree, "new/place").ino, ==, item->stat.ino);
  g_assert_false (sk_trash_restore (tree->root, item, "again", &error));
  assert_code (error, SK_ERROR_NOT_FOUND, "");
  g_assert_false (sk_trash_restore (tree->root, &wrong, "x", &error));
  assert_code (error, SK_ERROR_USAGE, "");
  g_assert_false (sk_trash_restore (tree->root, item, "../x", &error));
  assert_code (error, SK_ERROR_CORRUPT, "");
}

/* ---- expiry ---- */

static void
test_staggered (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GPtrArray) left = NULL;
  gint64 noon = THEN - THEN % DAY + DAY / 2;
  const char *expected[] = { "old", "day-3 last", "day-3 other", "today 1", "today 2", "tomorrow" };

  trash (tree, "ancient", "x", noon - 31 * DAY);
  trash (tree, "f", "old", noon - 29 * DAY);
  trash (tree, "f", "day-3 first", noon - 3 * DAY);
  trash (tree, "f", "day-3 middle", noon - 3 * DAY + 60 * SECOND);
  trash (tree, "f", "day-3 last", noon - 3 * DAY + 3600 * SECOND);
  trash (tree, "d/other", "day-3 other", noon - 3 * DAY);
  trash (tree, "f", "today 1", noon - 60 * SECOND);
  trash (tree, "f", "today 2", noon - 50 * SECOND);
  trash (tree, "f", "tomorrow", noon + DAY);
  tree_text (tree, SK_OWN_TRASH "/not a batch", "stays");

  g_assert_cmpuint (sk_trash_expire (tree->root, noon, 30 * DAY, NULL), ==, 3);
  g_assert_cmpuint (sk_trash_expire (tree->root, noon, 30 * DAY, NULL), ==, 0);
  left = list (tree);
  g_assert_cmpuint (left->len, ==, G_N_ELEMENTS (expected));
  for (guint i = 0; i < left->len; i++)
    {
      const SkTrashItem *item = g_ptr_array_index (left, i);
      g_autofree char *path = g_build_filename (SK_OWN_TRASH, item->batch, item->path, NULL);
      g_autofree char *text = tree_read (tree, path);

      g_assert_true (
          g_strv_contains ((const char *const[]) { "old", "day-3 last", "day-3 other", "today 1",
                                                  "today 2", "tomorrow", NULL },
                           text));
    }
  assert_text (tree, SK_OWN_TRASH "/not a batch", "stays");

  /* All of it, and the directories too. */
  g_assert_cmpuint (sk_trash_expire (tree->root, noon + 100 * DAY, 30 * DAY, NULL), ==,
                    G_N_ELEMENTS (expected));
  {
    g_autofree char *top = tree_path (tree, SK_OWN_TRASH);
    g_autoptr(GDir) dir = g_dir_open (top, 0, NULL);

    g_assert_cmpstr (g_dir_read_name (dir), ==, "not a batch");
    g_assert_null (g_dir_read_name (dir));
  }
}

/* What is in the trash does not lead out of it. */
static void
test_expire_stays_inside (void)
{
  g_autoptr(Tree) tree = tree_new_prepared (), outside = tree_new ();
  g_autofree char *inner = g_build_filename (SK_OWN_TRASH, BATCH, NULL),
                  *links = tree_path (tree, SK_OWN_TRASH "/20260102T030405Z-0000");
  g_autofree char *link = g_build_filename (inner, "link", NULL);

  tree_text (outside, "precious", "gold");
  tree_mkdir (tree, inner);
  tree_link (tree, outside->top, link);
  g_assert_cmpint (symlink (outside->top, links), ==, 0);
  g_assert_cmpuint (sk_trash_expire (tree->root, THEN + 100 * DAY, DAY, NULL), ==, 1);
  g_assert_false (tree_has (tree, link));
  assert_text (outside, "precious", "gold");
}

/* A cancelled one goes on another time. */
static void
test_cancelled (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();

  trash (tree, "f", "x", THEN);
  g_cancellable_cancel (cancellable);
  g_assert_cmpuint (sk_trash_expire (tree->root, THEN + 100 * DAY, DAY, cancellable), ==, 0);
  g_assert_cmpuint (sk_trash_expire (tree->root, THEN + 100 * DAY, DAY, NULL), ==, 1);
}

static void
test_any_file (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GString) deep = g_string_new ("d");
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;
  const char *paths[] = { "none", "read", "\xff\xfe", NULL };
  const guint32 modes[] = { 0, 0444, 0644, 0400 };

  sk_write_hooks = (SkWriteHooks) { 0 };
  be_ordinary (tree, "");
  tree_prepare (tree);
  while (deep->len < 5000)
    g_string_append_printf (deep, "/%0250d", 1);
  paths[3] = deep->str;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      SkStat stat = given (tree, paths[i], "x");

      g_assert_true (sk_target_set_meta (tree->root, paths[i], &stat,
                                         &(SkMeta) { modes[i], 1, NULL }, &stat, &error));
      g_assert_true (sk_target_remove (tree->root, paths[i], &stat, BATCH, &error));
      g_assert_no_error (error);
    }
  items = list (tree);
  g_assert_cmpuint (items->len, ==, G_N_ELEMENTS (paths));
  g_assert_cmpuint (sk_trash_expire (tree->root, THEN + 100 * DAY, DAY, NULL), ==,
                    G_N_ELEMENTS (paths));
  be_oneself ();
}

/* ---- written to after it came here ---- */

static guint
touched (Tree *tree, const char *path)
{
  g_autoptr(GPtrArray) items = sk_trash_touched (tree->root, G_MININT64);

  for (guint i = 0; i < items->len; i++)
    g_assert_cmpstr (((const SkTrashItem *) g_ptr_array_index (items, i))->path, ==, path);
  return items->len;
}

static void
tree_set_mtime (Tree *tree, const char *path, gint64 mtime)
{
  g_autofree char *full = tree_path (tree, path);
  struct timespec times[2]
      = { { .tv_nsec = UTIME_OMIT }, { mtime / 1000000000, mtime % 1000000000 } };

  g_assert_cmpint (utimensat (AT_FDCWD, full, times, 0), ==, 0);
}

/* As the next run of the engine. */
static void
forget (Tree *tree)
{
  g_autoptr(GError) error = NULL;

  sk_root_unref (tree->root);
  tree->root = sk_root_open (tree->top, &error);
  g_assert_no_error (error);
}

static void
test_open_handle (void)
{
  /* Removed and replaced; and looked at by the same engine and by the next one. */
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autofree char *full = tree_path (tree, "d/f"),
                      *batch = sk_trash_new_batch (g_get_real_time ());
      g_autoptr(GError) error = NULL;
      SkStat stat = given (tree, "d/f", "text"), out;
      int fd = open (full, O_RDWR | O_CLOEXEC);

      trash (tree, "d/other", "quiet", g_get_real_time () - SECOND);
      if (i % 2 == 0)
        g_assert_true (sk_target_remove (tree->root, "d/f", &stat, batch, &error));
      else
        g_assert_true (sk_target_write_small (tree->root, "d/f", (const guint8 *) "new", 3, &stat,
                                              &plain_meta, TRUE, batch, &out, &error));
      g_assert_no_error (error);
      if (i >= 2)
        forget (tree);
      g_assert_cmpuint (touched (tree, ""), ==, 0);
      g_assert_cmpint (pwrite (fd, "TEXT", 4, 0), ==, 4);
      g_assert_cmpuint (touched (tree, "d/f"), ==, 1);
      close (fd);
    }
}

/* A save that a removal met, and that could not be put back since there was a newer one, lies in the trash: it counts as touched however old it is. */
static void
save_twice (const char *point, gpointer data)
{
  Tree *tree = data;

  if (strcmp (point, "checked") == 0 || strcmp (point, "swapped") == 0)
    {
      g_autofree char *full = tree_path (tree, "f");

      unlink (full);
      tree_text (tree, "f", point);
      tree_set_mtime (tree, "f", 1000000000);
    }
}

static void
test_lost_save (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat stat = given (tree, "f", "text");
  guint before = sk_trash_arrivals (tree->root);

  sk_write_hooks = (SkWriteHooks) { .at = save_twice, .data = tree };
  g_assert_false (sk_target_remove (tree->root, "f", &stat, BATCH, &error));
  sk_write_hooks = (SkWriteHooks) { 0 };
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
  g_assert_cmpuint (touched (tree, "f"), ==, 1);
  g_assert_cmpuint (sk_trash_arrivals (tree->root), ==, before + 1);
}

/* A writer that sets the time back afterwards is found while the same engine runs. */
static void
test_quiet_handle (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *full = tree_path (tree, "f");
  struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { 1000000000, 0 } };
  g_autoptr(GError) error = NULL;
  SkStat stat = given (tree, "f", "text");
  int fd = open (full, O_RDWR | O_CLOEXEC);

  g_assert_true (sk_target_remove (tree->root, "f", &stat, BATCH, &error));
  g_assert_cmpint (pwrite (fd, "TEXT", 4, 0), ==, 4);
  g_assert_cmpint (futimens (fd, times), ==, 0);
  close (fd);
  g_assert_cmpuint (touched (tree, "f"), ==, 1);
}

/* What only looks like it: other metadata, an mtime in the future, another name of the file. */
static void
test_untouched (void)
{
  for (guint next = 0; next < 2; next++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autofree char *batch = sk_trash_new_batch (g_get_real_time () - 10 * SECOND),
                      *a = tree_path (tree, "a"), *b = tree_path (tree, "b");
      g_autofree char *in_trash = NULL;
      g_autoptr(GError) error = NULL;
      SkMeta future = { 0644, (g_get_real_time () + DAY) * 1000, NULL };
      SkStat stat;

      g_assert_true (sk_target_write_small (tree->root, "a", (const guint8 *) "x", 1, NULL, &future,
                                            TRUE, batch, &stat, &error));
      g_assert_true (sk_target_remove (tree->root, "a", &stat, batch, &error));
      in_trash = g_build_filename (tree->top, SK_OWN_TRASH, batch, "a", NULL);
      g_assert_cmpint (chmod (in_trash, 0600), ==, 0);

      tree_text (tree, "a", "linked");
      g_assert_cmpint (link (a, b), ==, 0);
      stat = tree_stat (tree, "b");
      g_assert_true (sk_target_remove (tree->root, "b", &stat, batch, &error));
      tree_text (tree, "a", "edited");

      /* Saved while the batch was under way, but before it came here. */
      given (tree, "c", "saved");
      tree_set_mtime (tree, "c", (g_get_real_time () - SECOND) * 1000);
      stat = tree_stat (tree, "c");
      g_assert_true (sk_target_remove (tree->root, "c", &stat, batch, &error));
      g_assert_no_error (error);
      if (next)
        forget (tree);
      g_assert_cmpuint (touched (tree, ""), ==, 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trash/names-of-batches", test_names);
  g_test_add_func ("/trash/collisions", test_collisions);
  g_test_add_func ("/trash/restores", test_restores);
  g_test_add_func ("/trash/staggered", test_staggered);
  g_test_add_func ("/trash/expire-stays-inside", test_expire_stays_inside);
  g_test_add_func ("/trash/cancelled", test_cancelled);
  g_test_add_func ("/trash/any-file", test_any_file);
  g_test_add_func ("/trash/rule-a11/open-handle", test_open_handle);
  g_test_add_func ("/trash/rule-a11/lost-save", test_lost_save);
  g_test_add_func ("/trash/rule-a11/quiet-handle", test_quiet_handle);
  g_test_add_func ("/trash/rule-a11/untouched", test_untouched);
  return g_test_run ();
}
