/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-scan.h"

#include "local-support.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkScanDir, sk_scan_dir_free)

static SkScanDir *
scan (Tree *tree, const char *path)
{
  SkScanDir *dir = sk_scan_dir (tree->root, path, NULL, NULL);

  g_assert_no_error (dir->error);
  for (guint i = 1; i < dir->items->len; i++)
    g_assert_cmpstr (((SkScanItem *) dir->items->pdata[i - 1])->name, <, ((SkScanItem *) dir->items->pdata[i])->name);
  return dir;
}

/* It must be there. */
static const SkScanItem *
find (SkScanDir *dir, const char *name)
{
  for (guint i = 0; i < dir->items->len; i++)
    {
      const SkScanItem *item = dir->items->pdata[i];

      if (strcmp (item->name, name) == 0)
        return item;
    }
  g_test_message ("\"%s\" was not found", name);
  g_assert_not_reached ();
}

static gboolean
lists (GPtrArray *names, const char *name)
{
  return g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL);
}

static void
test_kinds (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkScanDir) top = NULL;
  g_autoptr(SkScanDir) inner = NULL;
  g_autofree char *file = tree_path (tree, "file");
  struct timespec times[2] = { { 1, 1 }, { -1000000000, 123456789 } };

  tree_text (tree, "file", "hello");
  g_assert_cmpint (utimensat (AT_FDCWD, file, times, 0), ==, 0);
  g_assert_cmpint (chmod (file, 0751), ==, 0);
  tree_mkdir (tree, "dir/in");
  tree_link (tree, "nowhere", "link");
  tree_mkdir (tree, ".skerry/tmp");
  tree_mkdir (tree, "dir/.skerry");
  top = scan (tree, "");
  g_assert_cmpuint (top->items->len, ==, 3);
  g_assert_cmpint (find (top, "file")->stat.kind, ==, SK_KIND_FILE);
  g_assert_cmpuint (find (top, "file")->stat.size, ==, 5);
  g_assert_cmpuint (find (top, "file")->stat.mode, ==, 0751);
  g_assert_cmpint (find (top, "file")->stat.mtime, ==, G_GINT64_CONSTANT (-1000000000) * 1000000000 + 123456789);
  g_assert_cmpint (find (top, "dir")->stat.kind, ==, SK_KIND_DIR);
  g_assert_false (find (top, "dir")->stat.mount_root);
  g_assert_cmpint (find (top, "link")->stat.kind, ==, SK_KIND_SYMLINK);
  g_assert_cmpint (top->stat.kind, ==, SK_KIND_DIR);
  inner = scan (tree, "dir");
  g_assert_cmpuint (inner->items->len, ==, 1);
  g_assert_cmpstr (inner->path, ==, "dir");
}

static void
make_special (Tree *tree, const char *path, mode_t type)
{
  g_autofree char *full = tree_path (tree, path);

  g_assert_cmpint (mknod (full, type | 0600, 0), ==, 0);
}

static void
test_specials_are_not_opened (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkScanDir) top = NULL;
  g_autofree char *where = tree_path (tree, "socket");
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  make_special (tree, "pipe", S_IFIFO);
  if (getuid () == 0)
    make_special (tree, "device", S_IFCHR);
  g_strlcpy (address.sun_path, where, sizeof address.sun_path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  tree_text (tree, "file", "x");
  top = scan (tree, "");    /* opening the pipe would wait for ever */
  g_assert_cmpuint (top->items->len, ==, 1);
  g_assert_true (lists (top->specials, "pipe"));
  g_assert_true (lists (top->specials, "socket"));
  g_assert_cmpint (lists (top->specials, "device"), ==, getuid () == 0);
  close (fd);
}

static void
test_mounts_are_not_entered (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkScanDir) top = NULL;
  g_autoptr(SkScanDir) inner = NULL;
  g_autoptr(SkScanDir) after = NULL;

  tree_mkdir (tree, "disk");
  tree_text (tree, "disk/hidden", "x");
  tree_text (tree, "target", "x");
  if (!tree_mount (tree, "disk"))
    return;
  top = scan (tree, "");
  g_assert_true (find (top, "disk")->stat.mount_root);
  g_assert_true (lists (top->specials, "disk"));
  /* Its emptiness says nothing about what was there before. */
  inner = sk_scan_dir (tree->root, "disk", NULL, NULL);
  g_assert_error (inner->error, SK_ERROR, SK_ERROR_OFFLINE);
  g_assert_cmpuint (inner->items->len, ==, 0);
  tree_unmount (tree, "disk");
  after = scan (tree, "");
  g_assert_false (find (after, "disk")->stat.mount_root);
  g_assert_false (lists (after->specials, "disk"));
}

/* The same file system mounted on itself has the same device number: only the mount attribute tells. */
static void
test_bind_mount (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkScanDir) top = NULL;
  g_autofree char *from = tree_path (tree, "from"), *to = tree_path (tree, "to");

  tree_mkdir (tree, "from");
  tree_mkdir (tree, "to");
  if (mount (from, to, NULL, MS_BIND, NULL) != 0)
    {
      g_test_skip ("mounting is not allowed here");
      return;
    }
  top = scan (tree, "");
  tree_unmount (tree, "to");
  g_assert_true (find (top, "to")->stat.mount_root);
  g_assert_false (find (top, "from")->stat.mount_root);
  g_assert_cmpuint (find (top, "to")->stat.dev, ==, find (top, "from")->stat.dev);
}

static void
test_unreadable (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkScanDir) shut = NULL;
  g_autoptr(SkScanDir) listed = NULL;
  g_autoptr(SkScanDir) none = NULL;
  g_autoptr(SkScanDir) file = NULL;
  g_autoptr(SkScanDir) link = NULL;
  g_autofree char *path = NULL;

  tree_mkdir (tree, "shut");
  tree_text (tree, "shut/file", "x");
  tree_link (tree, "shut", "link");
  path = tree_path (tree, "shut");
  g_assert_cmpint (chmod (path, 0), ==, 0);
  be_ordinary (tree, "shut");
  shut = sk_scan_dir (tree->root, "shut", NULL, NULL);
  g_assert_error (shut->error, SK_ERROR, SK_ERROR_PERMISSION);
  /* Names may be read but not looked at: still an error, and no empty directory. */
  g_assert_cmpint (chmod (path, 0400), ==, 0);
  listed = sk_scan_dir (tree->root, "shut", NULL, NULL);
  g_assert_error (listed->error, SK_ERROR, SK_ERROR_PERMISSION);
  be_oneself ();
  none = sk_scan_dir (tree->root, "none", NULL, NULL);
  g_assert_error (none->error, SK_ERROR, SK_ERROR_NOT_FOUND);
  file = sk_scan_dir (tree->root, "shut/file", NULL, NULL);
  g_assert_error (file->error, SK_ERROR, SK_ERROR_CHANGED);
  link = sk_scan_dir (tree->root, "link", NULL, NULL);
  g_assert_error (link->error, SK_ERROR, SK_ERROR_CHANGED);
}

static void
test_names (gconstpointer data)
{
  const char *const *names = data;
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkScanDir) top = NULL;
  guint n = 0;

  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *good = g_strdup_printf ("good %u", i);

      tree_text (tree, good, "x");
    }
  for (; names[n] != NULL; n++)
    tree_text (tree, names[n], names[n]);
  top = scan (tree, "");
  g_assert_cmpuint (top->items->len, ==, 100 + n);
  for (guint i = 0; i < n; i++)
    {
      SkStat stat;

      g_assert_nonnull (find (top, names[i]));
      g_assert_true (sk_root_stat (tree->root, names[i], &stat, NULL));
      g_assert_cmpuint (stat.size, ==, strlen (names[i]));
    }
}

static const char *const not_utf8[] = { "bad\xff\xfe", "\x80", "caf\xe9", NULL };
static const char *const control[] = { "a\nb", "a\bb", "trailing ", " leading", "\x1b[31m", "\n", NULL };
static const char *const options[] = { "-rf", "--help", "-", "--", NULL };
static const char *const backslash[] = { "a\\b", "\\", "\\\\server\\share", NULL };

typedef struct { Tree *tree; int stop; } Churn;

static gpointer
churn (gpointer data)
{
  Churn *self = data;
  int fd = sk_root_fd (self->tree->root);

  for (guint i = 0; !g_atomic_int_get (&self->stop); i++)
    {
      char name[32];

      g_snprintf (name, sizeof name, "passing-%u", i % 500);
      close (openat (fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
      g_snprintf (name, sizeof name, "passing-%u", (i + 250) % 500);
      unlinkat (fd, name, 0);
    }
  return NULL;
}

static void
test_vanishing_files (void)
{
  g_autoptr(Tree) tree = tree_new ();
  Churn self = { .tree = tree };
  GThread *thread;

  for (guint i = 0; i < 50; i++)
    {
      g_autofree char *name = g_strdup_printf ("staying-%02u", i);

      tree_text (tree, name, "x");
    }
  thread = g_thread_new ("churn", churn, &self);
  for (guint i = 0; i < 300; i++)
    {
      g_autoptr(SkScanDir) top = scan (tree, "");
      guint staying = 0;

      for (guint k = 0; k < top->items->len; k++)
        staying += g_str_has_prefix (((SkScanItem *) top->items->pdata[k])->name, "staying-") ? 1 : 0;
      g_assert_cmpuint (staying, ==, 50);
    }
  g_atomic_int_set (&self.stop, 1);
  g_thread_join (thread);
}

static void
test_ignored (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkIgnore) ignore = NULL;
  g_autoptr(SkScanDir) top = NULL;

  tree_text (tree, ".skerryignore", "*.o\nbuild/\n");
  tree_text (tree, "a.o", "x");
  tree_text (tree, "a.c", "x");
  tree_mkdir (tree, "build");
  tree_mkdir (tree, "sub/build");
  ignore = sk_scan_read_ignore (tree->root, NULL);
  g_assert_nonnull (ignore);
  top = sk_scan_dir (tree->root, "", ignore, NULL);
  g_assert_no_error (top->error);
  g_assert_cmpuint (top->items->len, ==, 3);
  g_assert_true (lists (top->ignored, "a.o"));
  g_assert_true (lists (top->ignored, "build"));
  g_assert_nonnull (find (top, ".skerryignore"));
}

/* A list that cannot be read must not lay open what it hides. */
static void
test_ignore_unreadable (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autoptr(SkIgnore) none = sk_scan_read_ignore (tree->root, &error);

  g_assert_no_error (error);
  g_assert_nonnull (none);
  tree_text (tree, "secret", "x");
  tree_link (tree, "secret", ".skerryignore");
  g_assert_null (sk_scan_read_ignore (tree->root, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
}

static void
test_cancelled (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  g_autoptr(SkScanDir) dir = NULL;

  tree_text (tree, "file", "x");
  g_cancellable_cancel (cancellable);
  dir = sk_scan_dir (tree->root, "", NULL, cancellable);
  g_assert_error (dir->error, SK_ERROR, SK_ERROR_CANCELLED);
}

/* An engine that trusted a hostile index would be led here. */
static void
test_bad_paths (void)
{
  static const char *const bad[] = { "..", "a/..", "/", "/etc", ".skerry", ".skerry/trash", "a//b", "." };
  g_autoptr(Tree) tree = tree_new ();

  tree_mkdir (tree, "a");
  tree_mkdir (tree, ".skerry/trash");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr(SkScanDir) dir = sk_scan_dir (tree->root, bad[i], NULL, NULL);

      g_assert_error (dir->error, SK_ERROR, SK_ERROR_CORRUPT);
    }
}

/* ---- speed ---- */

static void
fill (Tree *tree, guint n_dirs, guint n_files)
{
  for (guint d = 0; d < n_dirs; d++)
    {
      char name[32];
      int fd;

      g_snprintf (name, sizeof name, "directory-%05u", d);
      g_assert_cmpint (mkdirat (sk_root_fd (tree->root), name, 0755), ==, 0);
      fd = openat (sk_root_fd (tree->root), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      for (guint f = 0; f < n_files; f++)
        {
          g_snprintf (name, sizeof name, "some file name %04u.txt", f);
          g_assert_cmpint (mknodat (fd, name, S_IFREG | 0644, 0), ==, 0);
        }
      close (fd);
    }
}

static guint
scan_everything (Tree *tree, SkIgnore *ignore)
{
  g_autoptr(GQueue) queue = g_queue_new ();
  guint n = 0;

  g_queue_push_tail (queue, g_strdup (""));
  while (!g_queue_is_empty (queue))
    {
      g_autofree char *path = g_queue_pop_head (queue);
      g_autoptr(SkScanDir) dir = sk_scan_dir (tree->root, path, ignore, NULL);

      g_assert_no_error (dir->error);
      for (guint i = 0; i < dir->items->len; i++)
        {
          const SkScanItem *item = dir->items->pdata[i];

          n++;
          if (item->stat.kind == SK_KIND_DIR)
            g_queue_push_tail (queue, path[0] == '\0' ? g_strdup (item->name)
                                                      : g_strconcat (path, "/", item->name, NULL));
        }
    }
  return n;
}

static double
run_find (Tree *tree)
{
  const char *argv[] = { "find", tree->top, "-printf", "%p %s %T@ %C@ %m %i\\n", NULL };
  gint64 began = g_get_monotonic_time ();

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                NULL, NULL);
  return (double) (g_get_monotonic_time () - began) / 1000;
}

static void
test_speed (void)
{
  guint n_dirs = g_test_perf () ? 1000 : 100;
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(SkIgnore) ignore = sk_ignore_new (NULL, 0);
  double ours = G_MAXDOUBLE, reference = G_MAXDOUBLE;

  fill (tree, n_dirs, 100);
  for (guint round = 0; round < 3; round++)
    {
      gint64 began;

      reference = MIN (reference, run_find (tree));
      began = g_get_monotonic_time ();
      g_assert_cmpuint (scan_everything (tree, ignore), ==, n_dirs * 101);
      ours = MIN (ours, (double) (g_get_monotonic_time () - began) / 1000);
    }
  g_test_message ("%u files: scan %.1f ms, find -printf %.1f ms, ratio %.2f", n_dirs * 100, ours, reference,
                  ours / reference);
  if (g_test_perf ())
    g_assert_cmpfloat (ours, <, 2 * reference);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan/kinds", test_kinds);
  g_test_add_func ("/scan/sit-B041/specials-are-not-opened", test_specials_are_not_opened);
  g_test_add_func ("/scan/rule-a10/mounts-are-not-entered", test_mounts_are_not_entered);
  g_test_add_func ("/scan/rule-a10/bind-mount", test_bind_mount);
  g_test_add_func ("/scan/sit-B005/unreadable-is-not-empty", test_unreadable);
  g_test_add_data_func ("/scan/sit-B054/not-utf8", not_utf8, test_names);
  g_test_add_data_func ("/scan/sit-B055/control-characters", control, test_names);
  g_test_add_data_func ("/scan/sit-B065/like-options", options, test_names);
  g_test_add_data_func ("/scan/sit-B066/backslash", backslash, test_names);
  g_test_add_func ("/scan/sit-B080/vanishing-files", test_vanishing_files);
  g_test_add_func ("/scan/rule-a14/ignored", test_ignored);
  g_test_add_func ("/scan/rule-a14/ignore-unreadable", test_ignore_unreadable);
  g_test_add_func ("/scan/cancelled", test_cancelled);
  g_test_add_func ("/scan/sit-B040/bad-paths", test_bad_paths);
  g_test_add_func ("/scan/speed", test_speed);
  return g_test_run ();
}
