/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-support.h"
#include "sk-beneath.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const SkId folder = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };
static const SkId other_folder = { { 9 } };

static void
prepare (Tree *tree)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_root_prepare (tree->root, &folder, &error));
  g_assert_no_error (error);
}

/* ---- opening and looking, in both ways ---- */

#define FINE (-1)

static void
assert_dir (Tree *tree, const char *path, int code)
{
  g_autoptr(GError) error = NULL;
  int fd = sk_root_open_dir (tree->root, path, &error);

  if (code == FINE)
    {
      g_assert_no_error (error);
      g_assert_cmpint (fd, >=, 0);
      close (fd);
      return;
    }
  g_assert_cmpint (fd, ==, -1);
  g_assert_error (error, SK_ERROR, code);
}

static void
assert_parent (Tree *tree, const char *path, int code)
{
  g_autoptr(GError) error = NULL;
  const char *name = NULL;
  int fd = sk_root_open_parent (tree->root, path, &name, &error);

  if (code == FINE)
    {
      g_assert_no_error (error);
      g_assert_cmpint (fd, >=, 0);
      g_assert_true (name >= path && name <= path + strlen (path));
      close (fd);
      return;
    }
  g_assert_cmpint (fd, ==, -1);
  g_assert_error (error, SK_ERROR, code);
}

/* FINE or the code of the error. */
static int
look (Tree *tree, const char *path, SkStat *out)
{
  g_autoptr(GError) error = NULL;

  if (sk_root_stat (tree->root, path, out, &error))
    {
      g_assert_no_error (error);
      return FINE;
    }
  g_assert_error (error, SK_ERROR, error->code);
  return error->code;
}

static void
each_way (void (*check) (Tree *tree), Tree *tree)
{
  SkRootAbilities *can = sk_root_test_abilities (tree->root);
  gboolean had = can->openat2;

  check (tree);
  can->openat2 = FALSE;
  check (tree);
  can->openat2 = had;
}

static void
check_opens (Tree *tree)
{
  SkStat stat;

  assert_dir (tree, "", FINE);
  assert_dir (tree, "a", FINE);
  assert_dir (tree, "a/b", FINE);
  assert_dir (tree, "a/none", SK_ERROR_NOT_FOUND);
  assert_dir (tree, "a/file", SK_ERROR_CHANGED);
  assert_dir (tree, "to-a", SK_ERROR_CHANGED);
  assert_dir (tree, "to-a/b", SK_ERROR_CHANGED);
  assert_dir (tree, "up", SK_ERROR_CHANGED);
  assert_parent (tree, "x", FINE);
  assert_parent (tree, "a/x", FINE);
  assert_parent (tree, "a/b/x", FINE);
  assert_parent (tree, "none/x", SK_ERROR_NOT_FOUND);
  assert_parent (tree, "a/file/x", SK_ERROR_CHANGED);
  assert_parent (tree, "to-a/x", SK_ERROR_CHANGED);
  assert_parent (tree, "up/x", SK_ERROR_CHANGED);

  g_assert_cmpint (look (tree, "a/file", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_FILE);
  g_assert_cmpuint (stat.size, ==, 5);
  g_assert_cmpint (look (tree, "to-a", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_SYMLINK);
  g_assert_cmpint (look (tree, "", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_DIR);
  g_assert_cmpint (look (tree, "none", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_NONE);
  g_assert_false (stat.special);
  g_assert_cmpint (look (tree, "none/x", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_NONE);
  g_assert_cmpint (look (tree, "a/file/x", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_NONE);
  g_assert_cmpint (look (tree, "to-a/file", &stat), ==, SK_ERROR_CHANGED);
  g_assert_cmpint (look (tree, "pipe", &stat), ==, FINE);
  g_assert_true (stat.special);
}

static void
check_escapes (Tree *tree)
{
  static const char *const bad[] = { "..", ".", "../x", "a/..", "a/../..", "a/../../x", "/etc", "/",
                                     "a//b", "a/", "a/./b", "./a", "//" };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      SkStat stat;
      const char *name;

      g_assert_cmpint (sk_root_open_dir (tree->root, bad[i], NULL), ==, -1);
      g_assert_cmpint (sk_root_open_parent (tree->root, bad[i], &name, NULL), ==, -1);
      g_assert_cmpint (look (tree, bad[i], &stat), !=, FINE);
    }
}

/* O_PATH would open a link itself. */
static void
check_links (Tree *tree)
{
  SkBeneathFlags flags = sk_root_abilities (tree->root)->openat2 ? 0 : SK_BENEATH_WALK;
  static const char *const links[] = { "to-a", "up", "to-a/file", "a/../to-a" };
  static const int ways[] = { O_PATH, O_PATH | O_NOFOLLOW, O_RDONLY, O_PATH | O_DIRECTORY, O_RDONLY | O_DIRECTORY };

  for (guint i = 0; i < G_N_ELEMENTS (links); i++)
    for (guint k = 0; k < G_N_ELEMENTS (ways); k++)
      {
        g_assert_cmpint (sk_beneath_open (sk_root_fd (tree->root), links[i], ways[k], flags), ==, -1);
        g_assert_cmpint (errno, ==, strstr (links[i], "..") != NULL ? EINVAL : ELOOP);
      }
}

static Tree *
varied_tree (void)
{
  Tree *tree = tree_new ();
  g_autofree char *pipe = tree_path (tree, "pipe");

  tree_mkdir (tree, "a/b");
  tree_text (tree, "a/file", "hello");
  tree_link (tree, "a", "to-a");
  tree_link (tree, "..", "up");
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  return tree;
}

static void
test_both_ways_agree (void)
{
  g_autoptr(Tree) tree = varied_tree ();

  each_way (check_opens, tree);
  each_way (check_escapes, tree);
  each_way (check_links, tree);
}

static void
refuse_call (long call, int errnum)
{
  struct sock_filter program[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, (guint32) call, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (guint32) errnum),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = { .len = G_N_ELEMENTS (program), .filter = program };

  g_assert_cmpint (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
  g_assert_cmpint (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), ==, 0);
}

static void
in_a_container (int errnum)
{
  g_autoptr(Tree) tree = NULL;
  SkStat stat;

  refuse_call (SYS_openat2, errnum);
  refuse_call (SYS_renameat2, errnum);
  refuse_call (SYS_statx, errnum);
  tree = varied_tree ();
  prepare (tree);
  g_assert_false (sk_root_abilities (tree->root)->openat2);
  g_assert_false (sk_root_abilities (tree->root)->rename_exchange);
  g_assert_false (sk_root_abilities (tree->root)->rename_noreplace);
  g_assert_true (sk_root_abilities (tree->root)->symlinks);
  check_opens (tree);
  check_escapes (tree);
  g_assert_cmpint (look (tree, "a/file", &stat), ==, FINE);
  g_assert_cmpint (stat.mtime, >, G_GINT64_CONSTANT (1000000000000000000));
  g_assert_cmpint (sk_root_check (tree->root, &folder, NULL), ==, SK_ROOT_OK);
}

static void
test_refused_calls (gconstpointer data)
{
  if (g_test_subprocess ())
    {
      in_a_container (GPOINTER_TO_INT (data));
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

static void
check_deep (Tree *tree)
{
  g_autofree char *part = g_strnfill (200, 'd');
  g_autoptr(GString) path = g_string_new (part);
  SkStat stat;

  for (guint i = 1; i < 30; i++)
    g_string_append_printf (path, "/%s", part);
  assert_dir (tree, path->str, FINE);
  g_string_append (path, "/leaf");
  assert_parent (tree, path->str, FINE);
  g_assert_cmpint (look (tree, path->str, &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_FILE);
}

static void
test_deeper_than_path_max (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *part = g_strnfill (200, 'd');
  int at = openat (sk_root_fd (tree->root), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  for (guint i = 0; i < 30; i++)
    {
      int next;

      g_assert_cmpint (mkdirat (at, part, 0755), ==, 0);
      next = openat (at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      g_assert_cmpint (next, >=, 0);
      close (at);
      at = next;
    }
  close (openat (at, "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  close (at);
  each_way (check_deep, tree);
}

static void
check_mounted (Tree *tree)
{
  SkStat stat;

  g_assert_cmpint (look (tree, "disk", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_DIR);
  g_assert_true (stat.mount_root);
  g_assert_cmpint (look (tree, "plain", &stat), ==, FINE);
  g_assert_false (stat.mount_root);
  assert_dir (tree, "disk", SK_ERROR_OFFLINE);
  assert_dir (tree, "disk/in", SK_ERROR_OFFLINE);
  assert_parent (tree, "disk/x", SK_ERROR_OFFLINE);
  /* What lies below is unknown, not absent. */
  g_assert_cmpint (look (tree, "disk/x", &stat), ==, SK_ERROR_OFFLINE);
}

static void
test_mounts (void)
{
  g_autoptr(Tree) tree = tree_new ();
  SkStat stat;

  tree_mkdir (tree, "disk");
  tree_mkdir (tree, "plain");
  if (!tree_mount (tree, "disk"))
    return;
  tree_mkdir (tree, "disk/in");
  each_way (check_mounted, tree);
  tree_unmount (tree, "disk");
  g_assert_cmpint (look (tree, "disk", &stat), ==, FINE);
  g_assert_false (stat.mount_root);
}

static void
check_unreadable (Tree *tree)
{
  SkStat stat;

  g_assert_cmpint (look (tree, "shut/file", &stat), ==, SK_ERROR_PERMISSION);
  assert_dir (tree, "shut", SK_ERROR_PERMISSION);
}

static void
check_searchable (Tree *tree)
{
  SkStat stat;

  assert_dir (tree, "shut", SK_ERROR_PERMISSION);
  assert_parent (tree, "shut/file", FINE);
  g_assert_cmpint (look (tree, "shut/file", &stat), ==, FINE);
  g_assert_cmpint (stat.kind, ==, SK_KIND_FILE);
}

static void
test_unreadable_is_not_absent (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *shut = NULL;

  tree_mkdir (tree, "shut");
  tree_text (tree, "shut/file", "x");
  shut = tree_path (tree, "shut");
  g_assert_cmpint (chmod (shut, 0), ==, 0);
  be_ordinary (tree, "shut");
  each_way (check_unreadable, tree);
  g_assert_cmpint (chmod (shut, 0100), ==, 0);
  each_way (check_searchable, tree);
  be_oneself ();
  g_assert_cmpint (chmod (shut, 0700), ==, 0);
}

/* rename(2) changes the ctime of a file: who waits for equal ctimes never sees a rename. */
static void
test_rename_changes_ctime (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *from = tree_path (tree, "from"), *to = tree_path (tree, "to");
  SkStat before, after;
  gint64 limit = g_get_monotonic_time () + 2 * G_USEC_PER_SEC;

  tree_text (tree, "from", "same");
  g_assert_cmpint (look (tree, "from", &before), ==, FINE);
  do    /* the clock of a file system ticks in milliseconds */
    {
      g_assert_cmpint (g_rename (from, to), ==, 0);
      g_assert_cmpint (look (tree, "to", &after), ==, FINE);
      g_assert_cmpint (g_rename (to, from), ==, 0);
    }
  while (after.ctime == before.ctime && g_get_monotonic_time () < limit);
  g_assert_cmpint (after.ctime, !=, before.ctime);
  g_assert_false (sk_stat_same (&before, &after));
  g_assert_cmpuint (after.ino, ==, before.ino);
  g_assert_cmpint (after.mtime, ==, before.mtime);
  g_assert_cmpint (after.btime, ==, before.btime);
  g_assert_cmpuint (after.size, ==, before.size);
  g_assert_true (sk_stat_same (&after, &after));
}

/* ---- the marker ---- */

static void
test_own_directory (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autofree char *own = tree_path (tree, ".skerry"), *ignore = tree_path (tree, ".skerry/.gitignore");
  g_autofree char *text = NULL;
  struct stat st;

  prepare (tree);
  g_assert_cmpint (stat (own, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
  g_assert_true (tree_has (tree, ".skerry/tmp/CACHEDIR.TAG"));
  g_assert_true (tree_has (tree, ".skerry/trash"));
  g_assert_true (g_file_get_contents (ignore, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "*\n");

  /* Once more is fine and heals; another folder's marker is not replaced. */
  g_assert_cmpint (unlink (ignore), ==, 0);
  prepare (tree);
  g_assert_true (tree_has (tree, ".skerry/.gitignore"));
  g_assert_false (sk_root_prepare (tree->root, &other_folder, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_assert_cmpint (sk_root_check (tree->root, &folder, NULL), ==, SK_ROOT_OK);
}

static void
test_release_keeps_trash (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;

  prepare (tree);
  tree_mkdir (tree, ".skerry/trash/batch");
  tree_text (tree, ".skerry/trash/batch/x", "kept");
  tree_text (tree, ".skerry/tmp/partial", "not kept");
  tree_mkdir (tree, ".skerry/tmp/deep/er");
  g_assert_true (sk_root_release (tree->root, &error));
  g_assert_no_error (error);
  g_assert_true (tree_has (tree, ".skerry/trash/batch/x"));
  g_assert_false (tree_has (tree, ".skerry/tmp"));
  g_assert_false (tree_has (tree, ".skerry/folder"));
  g_assert_cmpint (sk_root_check (tree->root, &folder, NULL), ==, SK_ROOT_NO_MARKER);

  /* With an empty trash nothing is left. */
  tree_mkdir (tree, "other");
  {
    g_autofree char *path = tree_path (tree, "other");
    g_autoptr(SkRoot) root = sk_root_open (path, &error);

    g_assert_true (sk_root_prepare (root, &other_folder, &error));
    g_assert_true (sk_root_release (root, &error));
    g_assert_false (tree_has (tree, "other/.skerry"));
    g_assert_true (sk_root_release (root, &error));
  }
}

/* .skerry as a link must not lead the engine elsewhere. */
static void
test_linked_own_directory (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;

  tree_mkdir (tree, "elsewhere");
  tree_link (tree, "elsewhere", ".skerry");
  g_assert_false (sk_root_prepare (tree->root, &folder, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
  g_assert_false (tree_has (tree, "elsewhere/folder"));
}

static void
test_marker_damaged (void)
{
  static const char *const bad[] = { "", "\n", "skerry folder 1\n", "skerry folder 2\n0102030405060708090a0b0c0d0e0f10\n",
                                     "skerry folder 1\n0102030405060708090a0b0c0d0e0f1\n",
                                     "skerry folder 1\n0102030405060708090a0b0c0d0e0f10",
                                     "skerry folder 1\n0102030405060708090a0b0c0d0e0fzz\n",
                                     "skerry folder 1\n0102030405060708090a0b0c0d0e0f10\n\n" };
  g_autoptr(Tree) tree = tree_new ();

  prepare (tree);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      tree_text (tree, ".skerry/folder", bad[i]);
      g_assert_cmpint (sk_root_check (tree->root, &folder, NULL), ==, SK_ROOT_NO_MARKER);
    }
  tree_text (tree, ".skerry/folder", "skerry folder 1\n0102030405060708090a0b0c0d0e0f10\n");
  g_assert_cmpint (sk_root_check (tree->root, &folder, NULL), ==, SK_ROOT_OK);
}

static void
test_numbers_are_only_a_trigger (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *away = g_strconcat (tree->top, ".away", NULL);
  SkRootNumbers numbers, others;

  prepare (tree);
  sk_root_numbers (tree->root, &numbers);
  g_assert_cmpint (sk_root_check (tree->root, &folder, &numbers), ==, SK_ROOT_OK);
  g_assert_cmpint (sk_root_check (tree->root, &other_folder, &numbers), ==, SK_ROOT_FOREIGN);
  others = numbers;
  others.ino++;
  g_assert_cmpint (sk_root_check (tree->root, &folder, &others), ==, SK_ROOT_NEW_NUMBERS);
  others = numbers;
  others.dev++;
  g_assert_cmpint (sk_root_check (tree->root, &folder, &others), ==, SK_ROOT_NEW_NUMBERS);
  others = numbers;
  others.fsid.bytes[9] ^= 1;
  g_assert_cmpint (sk_root_check (tree->root, &folder, &others), ==, SK_ROOT_NEW_NUMBERS);

  /* A copy in its place has the marker and another inode; an empty directory has none; then nothing is there. */
  g_assert_cmpint (g_rename (tree->top, away), ==, 0);
  g_assert_cmpint (sk_root_check (tree->root, &folder, &numbers), ==, SK_ROOT_MISSING);
  g_assert_cmpint (g_mkdir (tree->top, 0755), ==, 0);
  g_assert_cmpint (sk_root_check (tree->root, &folder, &numbers), ==, SK_ROOT_NO_MARKER);
  tree_mkdir (tree, ".skerry");
  tree_text (tree, ".skerry/folder", "skerry folder 1\n0102030405060708090a0b0c0d0e0f10\n");
  g_assert_cmpint (sk_root_check (tree->root, &folder, NULL), ==, SK_ROOT_NEW_NUMBERS);
  tree_remove (tree->top);
  g_assert_true (g_file_set_contents (tree->top, "a file", -1, NULL));
  g_assert_cmpint (sk_root_check (tree->root, &folder, &numbers), ==, SK_ROOT_MISSING);
  g_assert_cmpint (g_unlink (tree->top), ==, 0);
  g_assert_cmpint (g_rename (away, tree->top), ==, 0);
  g_assert_cmpint (sk_root_check (tree->root, &folder, &numbers), ==, SK_ROOT_OK);
}

static void
test_root_link_turned_elsewhere (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autoptr(SkRoot) root = NULL;
  g_autofree char *link = tree_path (tree, "link"), *real = tree_path (tree, "real");
  SkStat stat;

  tree_mkdir (tree, "real");
  tree_text (tree, "real/file", "x");
  tree_mkdir (tree, "empty");
  tree_link (tree, "real", "link");
  root = sk_root_open (link, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sk_root_path (root), ==, real);
  g_assert_true (sk_root_prepare (root, &folder, &error));
  g_assert_cmpint (sk_root_check (root, &folder, NULL), ==, SK_ROOT_OK);

  g_assert_cmpint (unlink (link), ==, 0);
  tree_link (tree, "empty", "link");
  g_assert_cmpint (sk_root_check (root, &folder, NULL), ==, SK_ROOT_NO_MARKER);
  /* What is read is still the directory that was opened, so nothing looks deleted. */
  g_assert_true (sk_root_stat (root, "file", &stat, &error));
  g_assert_cmpint (stat.kind, ==, SK_KIND_FILE);
  g_assert_cmpint (unlink (link), ==, 0);
  g_assert_cmpint (sk_root_check (root, &folder, NULL), ==, SK_ROOT_MISSING);
  tree_link (tree, "real", "link");
  g_assert_cmpint (sk_root_check (root, &folder, NULL), ==, SK_ROOT_OK);
}

/* ---- choosing a root, and what it can do ---- */

static void
assert_unacceptable (Tree *tree, const char *path, const char *const *others, const char *text)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *full = g_path_is_absolute (path) ? g_strdup (path) : tree_path (tree, path);

  g_assert_false (sk_root_acceptable (full, others, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, text));
}

static void
test_nested_roots_refused (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autofree char *used = tree_path (tree, "x/used"), *fine = tree_path (tree, "x/used2");
  g_autofree char *none = tree_path (tree, "none");
  const char *const others[] = { used, NULL };

  tree_mkdir (tree, "x/used/in");
  tree_mkdir (tree, "x/used2");
  tree_mkdir (tree, "marked/a/b");
  tree_mkdir (tree, "marked/.skerry/trash");
  tree_text (tree, "marked/.skerry/folder", "skerry folder 1\n0102030405060708090a0b0c0d0e0f10\n");
  tree_text (tree, "file", "x");
  tree_link (tree, "x/used/in", "sly");
  assert_unacceptable (tree, "x/used", others, "in use");
  assert_unacceptable (tree, "x/used/in", others, "lies in");
  assert_unacceptable (tree, "sly", others, "lies in");
  assert_unacceptable (tree, "x", others, "contains");
  assert_unacceptable (tree, "/", others, "contains");
  assert_unacceptable (tree, "marked/a/b", others, "synced folder");
  assert_unacceptable (tree, "marked/.skerry/trash", NULL, "for itself");
  assert_unacceptable (tree, "file", NULL, "not a folder");
  g_assert_true (sk_root_acceptable (fine, others, &error));
  g_assert_no_error (error);
  g_assert_false (sk_root_acceptable (none, others, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_NOT_FOUND);
}

static void
test_document_portal_refused (void)
{
  if (g_mkdir_with_parents ("/run/user/4294967/doc/1234", 0755) != 0)
    {
      g_test_skip ("only root can make such a path");
      return;
    }
  assert_unacceptable (NULL, "/run/user/4294967/doc/1234", NULL, "portal");
  assert_unacceptable (NULL, "/run/user/4294967/doc", NULL, "portal");
  g_rmdir ("/run/user/4294967/doc/1234");
  g_rmdir ("/run/user/4294967/doc");
  g_rmdir ("/run/user/4294967");
}

static void
test_warnings (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *none = sk_root_warning (tree->root);
  g_autofree char *some = NULL;

  g_assert_null (none);
  tree_mkdir (tree, ".git");
  tree_mkdir (tree, ".stfolder");
  tree_text (tree, ".sync_abc.db", "");
  some = sk_root_warning (tree->root);
  g_assert_nonnull (strstr (some, "git"));
  g_assert_nonnull (strstr (some, "Syncthing"));
  g_assert_nonnull (strstr (some, "Nextcloud"));
}

static void
test_abilities (void)
{
  g_autoptr(Tree) tree = tree_new ();
  const SkRootAbilities *can = sk_root_abilities (tree->root);
  g_autoptr(GDir) dir = NULL;
  g_autofree char *tmp = tree_path (tree, ".skerry/tmp");

  g_assert_false (can->symlinks);    /* nothing is written before the root is prepared */
  g_assert_false (tree_has (tree, ".skerry"));
  prepare (tree);
  g_assert_true (can->symlinks);
  g_assert_true (can->modes);
  g_assert_false (can->case_folding);
  g_assert_false (can->normalising);
  g_assert_false (can->network);
  g_test_message ("openat2 %d, exchange %d, noreplace %d, reflink %d, xattr %d, birth time %d", can->openat2,
                  can->rename_exchange, can->rename_noreplace, can->reflink, can->xattr, can->birth_time);
  dir = g_dir_open (tmp, 0, NULL);
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    g_assert_cmpstr (name, ==, "CACHEDIR.TAG");
  g_assert_cmpint (sk_root_space (tree->root), >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/root/rule-c16/both-ways-agree", test_both_ways_agree);
  g_test_add_data_func ("/root/rule-c16/container-refuses", GINT_TO_POINTER (EPERM), test_refused_calls);
  g_test_add_data_func ("/root/rule-c16/old-kernel", GINT_TO_POINTER (ENOSYS), test_refused_calls);
  g_test_add_func ("/root/sit-B060/deeper-than-path-max", test_deeper_than_path_max);
  g_test_add_func ("/root/rule-a10/mounts-are-not-entered", test_mounts);
  g_test_add_func ("/root/sit-B005/unreadable-is-not-absent", test_unreadable_is_not_absent);
  g_test_add_func ("/root/rule-c14/rename-changes-ctime", test_rename_changes_ctime);
  g_test_add_func ("/root/rule-c13/own-directory", test_own_directory);
  g_test_add_func ("/root/release-keeps-trash", test_release_keeps_trash);
  g_test_add_func ("/root/linked-own-directory-refused", test_linked_own_directory);
  g_test_add_func ("/root/marker-damaged", test_marker_damaged);
  g_test_add_func ("/root/rule-c12/numbers-are-only-a-trigger", test_numbers_are_only_a_trigger);
  g_test_add_func ("/root/sit-B013/link-turned-elsewhere", test_root_link_turned_elsewhere);
  g_test_add_func ("/root/nested-roots-refused", test_nested_roots_refused);
  g_test_add_func ("/root/rule-c16/document-portal-refused", test_document_portal_refused);
  g_test_add_func ("/root/warnings", test_warnings);
  g_test_add_func ("/root/abilities", test_abilities);
  return g_test_run ();
}
