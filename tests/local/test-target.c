/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the calls do when nobody interferes, and with which metadata. */
#include "write-support.h"

#include "sk-limits.h"
#include "sk-xattr.h"

#include <sys/xattr.h>

static SkPartial *
partial_with (Tree *tree, const char *text)
{
  static const SkHash content = { { 0x42 } };
  g_autoptr(GError) error = NULL;
  SkPartial *partial = sk_partial_open (tree->root, &content, strlen (text), &error);

  g_assert_no_error (error);
  g_assert_true (sk_partial_write (partial, 0, (const guint8 *) text, strlen (text), &error));
  return partial;
}

/* ---- placing ---- */

static void
test_creates (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkPartial *partial = partial_with (tree, "hello");
  SkStat out, there;

  g_assert_true (sk_target_place (tree->root, partial, "a/b/c", NULL, &plain_meta, FALSE, BATCH,
                                  &out, &error));
  g_assert_no_error (error);
  sk_partial_discard (partial); /* belongs to nobody in .skerry any more */
  there = tree_stat (tree, "a/b/c");
  assert_same (&out, &there);
  assert_text (tree, "a/b/c", "hello");
  g_assert_cmpuint (out.mode, ==, 0644);
  g_assert_cmpint (out.mtime, ==, plain_meta.mtime);
  g_assert_cmpuint (tree_stat (tree, "a/b").mode, ==, 0755);
  assert_tmp_empty (tree);
}

static void
test_replaces (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "d/f", "old"), out, there;
  SkPartial *partial = partial_with (tree, "new");

  g_assert_true (
      sk_target_place (tree->root, partial, "d/f", &old, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_no_error (error);
  sk_partial_close (partial);
  there = tree_stat (tree, "d/f");
  assert_same (&out, &there);
  g_assert_cmpuint (out.ino, !=, old.ino);
  assert_text (tree, "d/f", "new");
  assert_trash (tree, "d/f", "old");
  g_assert_cmpuint (tree_stat (tree, SK_OWN_TRASH "/" BATCH "/d/f").ino, ==, old.ino);

  g_assert_true (write_small (tree, "d/f", "newer", &out, &out, &error));
  assert_text (tree, "d/f", "newer");
  g_assert_true (sk_target_remove (tree->root, "d/f", &out, BATCH, &error));
  g_assert_false (tree_has (tree, "d/f"));
  g_assert_true (tree_has (tree, "d"));
  assert_tmp_empty (tree);
}

/* The partial is still there after a refusal, and can be placed elsewhere. */
static void
test_refusal_keeps_partial (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "old"), out;
  SkPartial *partial = partial_with (tree, "new");

  person_saves (tree, "f", "edit");
  g_assert_false (
      sk_target_place (tree->root, partial, "f", &old, &plain_meta, TRUE, BATCH, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  g_assert_false (
      sk_target_place (tree->root, partial, "f", NULL, &plain_meta, TRUE, BATCH, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  assert_text (tree, "f", "edit");
  g_assert_true (
      sk_target_place (tree->root, partial, "g", NULL, &plain_meta, TRUE, BATCH, &out, &error));
  assert_text (tree, "g", "new");
  g_assert_false (
      sk_target_place (tree->root, partial, "h", NULL, &plain_meta, TRUE, BATCH, &out, &error));
  assert_code (error, SK_ERROR_NOT_FOUND, "");
  sk_partial_close (partial);
  assert_tmp_empty (tree);
}

/* ---- links ---- */

/* A file where a symlink to a file outside is expected to be gone. */
static void
test_link_is_not_followed (void)
{
  g_autoptr(Tree) tree = tree_new_prepared (), outside = tree_new ();
  g_autofree char *target = tree_path (outside, "precious");
  g_autoptr(GError) error = NULL;
  SkStat link, out;

  tree_text (outside, "precious", "gold");
  tree_link (tree, target, "f");
  link = tree_stat (tree, "f");
  g_assert_true (sk_target_set_meta (tree->root, "f", &link, &(SkMeta) { .mode = 0, .mtime = 1 },
                                     &link, &error));
  g_assert_no_error (error);
  g_assert_cmpint (link.mtime, ==, 1);
  g_assert_true (write_small (tree, "f", "mine", &link, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpint (tree_stat (tree, "f").kind, ==, SK_KIND_FILE);
  g_assert_cmpint (tree_stat (tree, SK_OWN_TRASH "/" BATCH "/f").kind, ==, SK_KIND_SYMLINK);
  assert_text (outside, "precious", "gold");
  g_assert_cmpint (tree_stat (outside, "precious").mtime, !=, 1);
  g_assert_cmpuint (tree_stat (outside, "precious").mode, !=, 0);
}

static void
test_symlink (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *full = tree_path (tree, "d/l"), *read = NULL,
                  *endless = g_strnfill (SK_SYMLINK_MAX + 1, 'x');
  g_autoptr(GError) error = NULL;
  SkStat out, file = given (tree, "f", "text");

  g_assert_true (
      sk_target_symlink (tree->root, "d/l", "../nowhere", NULL, -1500000000, BATCH, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpint (out.kind, ==, SK_KIND_SYMLINK);
  g_assert_cmpint (out.mtime, ==, -1500000000);
  read = g_file_read_link (full, NULL);
  g_assert_cmpstr (read, ==, "../nowhere");
  g_assert_false (sk_target_symlink (tree->root, "d/l", "other", NULL, 0, BATCH, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "d/l");
  g_assert_true (sk_target_symlink (tree->root, "f", "d", &file, 0, BATCH, &out, &error));
  assert_trash (tree, "f", "text");
  g_assert_true (sk_target_remove (tree->root, "f", &out, BATCH, &error));
  g_assert_no_error (error);
  g_assert_true (tree_has (tree, "d/l"));
  g_assert_false (sk_target_symlink (tree->root, "m", endless, NULL, 0, BATCH, &out, &error));
  assert_code (error, SK_ERROR_LIMIT, "");
  g_assert_false (sk_target_symlink (tree->root, "m", "", NULL, 0, BATCH, &out, &error));
  assert_code (error, SK_ERROR_LIMIT, "");
  assert_tmp_empty (tree);
}

/* Of two names of one file only the one that is replaced changes; also one outside of the folder.
 */
static void
test_hard_link (void)
{
  g_autoptr(Tree) tree = tree_new_prepared (), outside = tree_new ();
  g_autofree char *a = tree_path (tree, "a"), *b = tree_path (tree, "b"),
                  *c = tree_path (outside, "c");
  g_autoptr(GError) error = NULL;
  SkStat stat, out;

  tree_text (tree, "a", "shared");
  g_assert_cmpint (link (a, b), ==, 0);
  g_assert_cmpint (link (a, c), ==, 0);
  stat = tree_stat (tree, "b");
  g_assert_cmpuint (stat.nlink, ==, 3);
  g_assert_true (write_small (tree, "b", "edited", &stat, &out, &error));
  g_assert_no_error (error);
  assert_text (tree, "b", "edited");
  assert_text (tree, "a", "shared");
  assert_text (outside, "c", "shared");
  g_assert_cmpuint (out.nlink, ==, 1);
}

/* ---- directories ---- */

static void
test_mkdir (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat out, there;
  mode_t mask = umask (077);

  g_assert_true (sk_target_mkdir (tree->root, "a/b/c", 02775, &out, &error));
  umask (mask);
  g_assert_no_error (error);
  there = tree_stat (tree, "a/b/c");
  assert_same (&out, &there);
  g_assert_cmpuint (out.mode, ==, 02775);
  g_assert_true (sk_target_mkdir (tree->root, "a/b/c", 0700, &out, &error));
  g_assert_cmpuint (out.mode, ==, 02775);

  tree_text (tree, "a/b/c/unknown", "x");
  g_assert_false (sk_target_remove (tree->root, "a/b/c", &out, BATCH, &error));
  assert_code (error, SK_ERROR_EXISTS, "a/b/c");
  assert_text (tree, "a/b/c/unknown", "x");
  person_removes (tree, "a/b/c/unknown");
  g_assert_true (sk_target_remove (tree->root, "a/b/c", &out, BATCH, &error));
  g_assert_false (tree_has (tree, "a/b/c"));
  g_assert_false (sk_target_remove (tree->root, "a/b/c", &out, BATCH, &error));
  assert_code (error, SK_ERROR_CHANGED, "a/b/c");
}

/* A directory is replaced only when it is empty. */
static void
test_replaces_directory (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat dir, out;

  for (guint way = 0; way < 3; way++)
    {
      sk_write_hooks.refuse_flags = way > 0;
      sk_write_hooks.refuse_links = way > 1;
      g_assert_true (sk_target_mkdir (tree->root, "d", 0755, &dir, &error));
      tree_text (tree, "d/unknown", "x");
      g_assert_false (write_small (tree, "d", "file", &dir, &out, &error));
      assert_code (error, SK_ERROR_EXISTS, "\"d\"");
      assert_text (tree, "d/unknown", "x");
      g_assert_cmpuint (tree_stat (tree, "d").ino, ==, dir.ino);
      person_removes (tree, "d/unknown");
      g_assert_true (write_small (tree, "d", "file", &dir, &out, &error));
      g_assert_no_error (error);
      assert_text (tree, "d", "file");
      g_assert_true (sk_target_remove (tree->root, "d", &out, NULL, &error));
      assert_tmp_empty (tree);
    }
}

/* What is replaced is kept, and what is not as expected stays. */
static void
test_directory_over_file (void)
{
  for (guint way = 0; way < 3; way++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autoptr(GError) error = NULL;
      SkStat old = given (tree, "d/f", "old"), out, there;

      sk_write_hooks.refuse_flags = way > 0;
      sk_write_hooks.refuse_links = way > 1;
      tree_text (tree, "d/f", "saved since");
      g_assert_false (sk_target_mkdir_over (tree->root, "d/f", 0750, &old, BATCH, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "d/f");
      assert_text (tree, "d/f", "saved since");
      old = tree_stat (tree, "d/f");
      g_assert_true (sk_target_mkdir_over (tree->root, "d/f", 0750, &old, BATCH, &out, &error));
      g_assert_no_error (error);
      there = tree_stat (tree, "d/f");
      g_assert_cmpint (there.kind, ==, SK_KIND_DIR);
      g_assert_cmpuint (there.mode, ==, 0750);
      g_assert_cmpuint (there.ino, ==, out.ino);
      assert_trash (tree, "d/f", "saved since");
      assert_tmp_empty (tree);
      sk_write_hooks.refuse_flags = sk_write_hooks.refuse_links = FALSE;
    }
}

/* ---- metadata ---- */

static void
test_meta (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat out, there;
  SkMeta meta = { 0104755, -1, NULL };

  g_assert_true (sk_target_write_small (tree->root, "f", (const guint8 *) "x", 1, NULL, &meta, TRUE,
                                        BATCH, &out, &error));
  g_assert_cmpuint (out.mode, ==, 04755);
  g_assert_cmpint (out.mtime, ==, -1);
  g_assert_true (
      sk_target_set_meta (tree->root, "f", &out, &(SkMeta) { 0, 5000000001, NULL }, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (out.mode, ==, 0);
  g_assert_cmpint (out.mtime, ==, 5000000001);
  there = tree_stat (tree, "f");
  assert_same (&out, &there);
  assert_text (tree, "f", "x");

  /* Directories: the mode alone. */
  g_assert_true (sk_target_mkdir (tree->root, "d", 0755, &out, &error));
  there = out;
  tree_text (tree, "d/child", "x");
  g_assert_true (
      sk_target_set_meta (tree->root, "d", &there, &(SkMeta) { 0555, 0, NULL }, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (out.mode, ==, 0555);
  g_assert_cmpint (out.mtime, !=, 0);
}

/* A disk that fails between two steps is no change of the person's. What was made has its mode all the same; and metadata that cannot be made durable
 * are not told as set, but for a file that nobody may open. */
static void
test_disk_fails_between (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkMeta meta = { 0640, 5000000001, NULL };
  SkStat out;

  sk_write_hooks.made_errnum = EIO;
  g_assert_false (sk_target_mkdir (tree->root, "d", 0755, &out, &error));
  sk_write_hooks.made_errnum = 0;
  assert_code (error, SK_ERROR_IO, "d");
  g_clear_error (&error);
  g_assert_cmpuint (tree_stat (tree, "d").mode, ==, 0755);

  tree_text (tree, "f", "x");
  out = tree_stat (tree, "f");
  sk_write_hooks.kept_errnum = EIO;
  g_assert_false (sk_target_set_meta (tree->root, "f", &out, &meta, &out, &error));
  assert_code (error, SK_ERROR_IO, "f");
  g_clear_error (&error);
  sk_write_hooks.kept_errnum = EACCES;
  out = tree_stat (tree, "f");
  g_assert_true (sk_target_set_meta (tree->root, "f", &out, &meta, &out, &error));
  sk_write_hooks.kept_errnum = 0;
  g_assert_no_error (error);
}

/* A file that its owner may not read is still moved, chmodded, replaced and trashed; so is one in a
 * folder that may only be searched. */
static void
test_unreadable (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *searchable = tree_path (tree, "s");
  g_autoptr(GError) error = NULL;
  SkStat out;

  sk_write_hooks = (SkWriteHooks) { 0 };
  be_ordinary (tree, "");
  tree_prepare (tree);
  out = given (tree, "d/f", "secret");
  g_assert_true (
      sk_target_set_meta (tree->root, "d/f", &out, &(SkMeta) { 0, 1, NULL }, &out, &error));
  g_assert_true (sk_target_rename (tree->root, "d/f", &out, "d/g", NULL, &(SkMeta) { 0, 2, NULL },
                                   BATCH, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpint (out.mtime, ==, 2);
  g_assert_true (write_small (tree, "d/g", "next", &out, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (tree_stat (tree, SK_OWN_TRASH "/" BATCH "/d/g").mode, ==, 0);
  g_assert_true (
      sk_target_set_meta (tree->root, "d/g", &out, &(SkMeta) { 0444, 3, NULL }, &out, &error));
  g_assert_true (sk_target_remove (tree->root, "d/g", &out, BATCH, &error));

  out = given (tree, "s/f", "x");
  g_assert_cmpint (chmod (searchable, 0311), ==, 0);
  g_assert_true (write_small (tree, "s/f", "y", &out, &out, &error));
  g_assert_true (sk_root_barrier (tree->root, &error));
  be_oneself ();
  g_assert_no_error (error);
}

static void
test_xattrs (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GBytes) value = g_bytes_new_static ("\006user.a\001x\006user.b\000", 17), back = NULL,
                     none = g_bytes_new_static ("", 0);
  g_autofree char *full = tree_path (tree, "f");
  g_autoptr(GError) error = NULL;
  SkMeta meta = { 0444, 7, value };
  SkStat out;
  char x;
  int errnum;
  int fd;

  g_assert_true (sk_xattr_check (value));
  if (!sk_root_abilities (tree->root)->xattr)
    {
      g_test_skip ("no extended attributes on this file system");
      return;
    }
  g_assert_true (sk_target_write_small (tree->root, "f", (const guint8 *) "x", 1, NULL, &meta, TRUE,
                                        BATCH, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (out.mode, ==, 0444);
  g_assert_cmpint (getxattr (full, "user.a", &x, 1), ==, 1);
  g_assert_cmpint (x, ==, 'x');
  fd = open (full, O_RDONLY | O_CLOEXEC);
  back = sk_xattr_read (fd, &errnum);
  close (fd);
  g_assert_cmpint (errnum, ==, 0);
  g_assert_true (g_bytes_equal (value, back));

  meta.xattrs = none;
  g_assert_true (sk_target_set_meta (tree->root, "f", &out, &meta, &out, &error));
  g_assert_no_error (error);
  g_assert_cmpint (getxattr (full, "user.a", &x, 1), ==, -1);
  g_assert_cmpuint (out.mode, ==, 0444);
}

/* ---- moving ---- */

static void
test_rename (void)
{
  for (guint way = 0; way < 3; way++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autoptr(GError) error = NULL;
      SkStat a = given (tree, "d/a", "A"), b = given (tree, "b", "B"), dir, out, there;
      guint64 ino = a.ino;

      sk_write_hooks.refuse_flags = way > 0;
      sk_write_hooks.refuse_links = way > 1;
      g_assert_true (
          sk_target_rename (tree->root, "d/a", &a, "e/c", NULL, NULL, BATCH, &out, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (out.ino, ==, ino);
      g_assert_false (tree_has (tree, "d/a"));
      there = tree_stat (tree, "e/c");
      assert_same (&out, &there);

      g_assert_true (sk_target_rename (tree->root, "e/c", &out, "b", &b, &(SkMeta) { 0600, 9, NULL },
                                       BATCH, &out, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (out.ino, ==, ino);
      g_assert_cmpuint (out.mode, ==, 0600);
      g_assert_cmpint (out.mtime, ==, 9);
      assert_text (tree, "b", "A");
      assert_trash (tree, "b", "B");
      g_assert_false (tree_has (tree, "e/c"));

      /* Something is there that should not be. */
      tree_text (tree, "taken", "T");
      g_assert_false (
          sk_target_rename (tree->root, "b", &out, "taken", NULL, NULL, BATCH, &there, &error));
      assert_code (error, SK_ERROR_CHANGED, "taken");
      assert_text (tree, "taken", "T");
      assert_text (tree, "b", "A");
      out = tree_stat (tree, "b");

      /* A whole directory. */
      given (tree, "tree/x/y", "deep");
      dir = tree_stat (tree, "tree");
      g_assert_true (
          sk_target_rename (tree->root, "tree", &dir, "e/moved", NULL, NULL, BATCH, &out, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (out.ino, ==, dir.ino);
      assert_text (tree, "e/moved/x/y", "deep");
      g_assert_false (sk_target_rename (tree->root, "e", &out, "e/moved/inside", NULL, NULL, BATCH,
                                        &out, &error));
      g_assert_nonnull (error);
      assert_text (tree, "e/moved/x/y", "deep");
      assert_tmp_empty (tree);
    }
}

/* ---- names ---- */

static void
test_names (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *longest = g_strnfill (SK_NAME_MAX, '\xff');
  g_autoptr(GString) deep = g_string_new ("deep");
  g_autoptr(GError) error = NULL;
  const char *paths[] = { "\x01\x02 \n\t\\\"'*?", longest, NULL, "-rf" };

  while (deep->len < 9000)
    g_string_append_printf (deep, "/%0200d", 7);
  paths[2] = deep->str;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      SkStat out;

      g_assert_true (write_small (tree, paths[i], "one", NULL, &out, &error));
      g_assert_no_error (error);
      g_assert_true (write_small (tree, paths[i], "two", &out, &out, &error));
      g_assert_no_error (error);
      g_assert_true (
          sk_target_set_meta (tree->root, paths[i], &out, &(SkMeta) { 0, 8, NULL }, &out, &error));
      g_assert_no_error (error);
      g_assert_true (sk_target_remove (tree->root, paths[i], &out, BATCH, &error));
      g_assert_no_error (error);
    }
  assert_tmp_empty (tree);
}

/* A program that was just placed can be run before the barrier. */
static void
test_program_runs (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *full = tree_path (tree, "program"), *image = NULL;
  const char *argv[] = { full, NULL };
  g_autoptr(GError) error = NULL;
  SkMeta meta = { 0755, 1, NULL };
  int status = -1;
  SkStat out;
  gsize len;

  g_assert_true (g_file_get_contents ("/bin/true", &image, &len, &error));
  g_assert_true (sk_target_write_small (tree->root, "program", (const guint8 *) image, len, NULL,
                                        &meta, TRUE, BATCH, &out, &error));
  g_assert_true (
      g_spawn_sync (NULL, (char **) argv, NULL, 0, NULL, NULL, NULL, NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
}

/* ---- how fast ---- */

#define FAST 10000u

/* Files a second of one step, for all files. */
static void
time_step (Tree *tree, const char *what, SkStat *stats,
           gboolean (*step) (Tree *tree, const char *path, SkStat *stat, GError **error))
{
  g_autoptr(GTimer) timer = g_timer_new ();
  g_autoptr(GError) error = NULL;
  double seconds;

  for (guint i = 0; i < FAST; i++)
    {
      char path[32];

      g_snprintf (path, sizeof path, "d%u/f%u", i % 100, i);
      if (!step (tree, path, &stats[i], &error))
        g_assert_no_error (error);
    }
  seconds = g_timer_elapsed (timer, NULL);
  g_assert_true (sk_root_barrier (tree->root, &error));
  g_test_maximized_result (FAST / seconds, "%s: %.0f files a second in %s; barrier %.2f s", what,
                           FAST / seconds, tree->top, g_timer_elapsed (timer, NULL) - seconds);
}

static gboolean
step_create (Tree *tree, const char *path, SkStat *stat, GError **error)
{
  static const guint8 data[1000] = { 1 };

  return sk_target_write_small (tree->root, path, data, sizeof data, NULL, &plain_meta, TRUE, BATCH,
                                stat, error);
}

static gboolean
step_replace (Tree *tree, const char *path, SkStat *stat, GError **error)
{
  static const guint8 data[1000] = { 2 };

  return sk_target_write_small (tree->root, path, data, sizeof data, stat, &plain_meta, TRUE, BATCH,
                                stat, error);
}

static gboolean
step_rename (Tree *tree, const char *path, SkStat *stat, GError **error)
{
  g_autofree char *to = g_strconcat ("moved/", path, NULL);

  return sk_target_rename (tree->root, path, stat, to, NULL, NULL, BATCH, stat, error);
}

static gboolean
step_remove (Tree *tree, const char *path, SkStat *stat, GError **error)
{
  g_autofree char *from = g_strconcat ("moved/", path, NULL);

  return sk_target_remove (tree->root, from, stat, BATCH, error);
}

static void
test_speed (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree SkStat *stats = g_new0 (SkStat, FAST);

  time_step (tree, "create", stats, step_create);
  time_step (tree, "replace", stats, step_replace);
  time_step (tree, "rename", stats, step_rename);
  time_step (tree, "remove", stats, step_remove);
}

/* A directory that a person moves or removes between two files of a run: the second goes along, or is refused; nothing is left over. */
static void
test_run (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_auto(SkTargetRun) run = SK_TARGET_RUN (tree->root);
  g_autoptr(GError) error = NULL;
  g_autofree char *e = tree_path (tree, "d/e"), *moved = tree_path (tree, "moved"), *gone = tree_path (tree, "gone");
  const guint8 *text = (const guint8 *) "text";
  SkStat out;

  g_assert_true (sk_target_run_write (&run, "d/e/a", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_true (sk_target_run_write (&run, "d/e/b", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_true (sk_target_run_write (&run, "d/c", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_true (sk_target_run_write (&run, "top", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_true (sk_target_run_write (&run, "d/e/b2", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_no_error (error);
  assert_text (tree, "d/e/b", "text");
  assert_text (tree, "d/c", "text");
  assert_text (tree, "top", "text");
  assert_text (tree, "d/e/b2", "text");

  /* The same name again is no new file. */
  g_assert_false (sk_target_run_write (&run, "d/e/b2", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
  g_clear_error (&error);

  g_assert_cmpint (rename (e, moved), ==, 0);
  g_assert_true (sk_target_run_write (&run, "d/e/c", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  assert_text (tree, "moved/c", "text");
  g_assert_false (tree_has (tree, "d/e"));

  g_assert_true (sk_target_run_write (&run, "gone/a", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_true (sk_target_remove (tree->root, "gone/a", &out, BATCH, &error));
  g_assert_cmpint (rmdir (gone), ==, 0);
  g_assert_false (sk_target_run_write (&run, "gone/b", text, 4, NULL, &plain_meta, TRUE, BATCH, &out, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
  assert_tmp_empty (tree);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/target/creates", test_creates);
  g_test_add_func ("/target/run", test_run);
  g_test_add_func ("/target/replaces", test_replaces);
  g_test_add_func ("/target/refusal-keeps-partial", test_refusal_keeps_partial);
  g_test_add_func ("/target/sit-B033/link-is-not-followed", test_link_is_not_followed);
  g_test_add_func ("/target/symlink", test_symlink);
  g_test_add_func ("/target/sit-B166/hard-link", test_hard_link);
  g_test_add_func ("/target/mkdir", test_mkdir);
  g_test_add_func ("/target/disk-fails-between", test_disk_fails_between);
  g_test_add_func ("/target/replaces-directory", test_replaces_directory);
  g_test_add_func ("/target/directory-over-file", test_directory_over_file);
  g_test_add_func ("/target/meta", test_meta);
  g_test_add_func ("/target/unreadable", test_unreadable);
  g_test_add_func ("/target/xattrs", test_xattrs);
  g_test_add_func ("/target/rename-keeps-inode", test_rename);
  g_test_add_func ("/target/names", test_names);
  g_test_add_func ("/target/program-runs", test_program_runs);
  if (g_test_perf ())
    g_test_add_func ("/target/speed", test_speed);
  return g_test_run ();
}
