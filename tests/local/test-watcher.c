/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Most tests keep a model: the set of paths that somebody knows who looks only where the watcher says. It must come to equal the
 * tree. */
#include "sk-watcher.h"

#include "local-support.h"
#include "sk-path.h"
#include "sk-scan.h"

#include <sched.h>
#include <sys/wait.h>

#define LIMIT (10 * G_TIME_SPAN_SECOND)

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkScanDir, sk_scan_dir_free)

typedef struct
{
  Tree *tree;
  SkWatcher *watcher;
  GHashTable *known;       /* char* -> inode */
  GString *log;            /* "D path\n" and so on, since the last clearing */
  guint n_trees, n_overflows, n_limits, n_gone, n_moved;
} Model;

static void
forget_below (Model *self, const char *path)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->known);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (sk_path_is_below (key, path))
      g_hash_table_iter_remove (&iter);
}

static void
learn (Model *self, const char *path, guint64 ino)
{
  g_hash_table_replace (self->known, g_strdup (path), GSIZE_TO_POINTER (ino));
}

static void
learn_below (Model *self, GHashTable *set, const char *path)
{
  g_autoptr(GQueue) queue = g_queue_new ();

  g_queue_push_tail (queue, g_strdup (path));
  while (!g_queue_is_empty (queue))
    {
      g_autofree char *at = g_queue_pop_head (queue);
      g_autoptr(SkScanDir) dir = sk_scan_dir (self->tree->root, at, NULL, NULL);

      for (guint i = 0; i < dir->items->len; i++)
        {
          const SkScanItem *item = dir->items->pdata[i];
          char *child = sk_path_join (at, item->name);

          g_hash_table_replace (set, child, GSIZE_TO_POINTER (item->stat.ino));
          if (item->stat.kind == SK_KIND_DIR)
            g_queue_push_tail (queue, g_strdup (child));
        }
    }
}

static void
look_at (Model *self, const char *path)
{
  gboolean was_known = g_hash_table_contains (self->known, path);
  SkStat stat;

  if (!sk_root_stat (self->tree->root, path, &stat, NULL) || (stat.kind != SK_KIND_DIR && was_known))
    forget_below (self, path);
  if (stat.kind != SK_KIND_NONE)
    learn (self, path, stat.ino);
}

static void
look_below (Model *self, const char *path)
{
  SkStat stat;

  forget_below (self, path);
  if (!sk_root_stat (self->tree->root, path, &stat, NULL) || stat.kind == SK_KIND_NONE)
    return;
  if (path[0] != '\0')
    learn (self, path, stat.ino);
  if (stat.kind == SK_KIND_DIR)
    learn_below (self, self->known, path);
}

typedef struct { char *path; guint64 ino; } Moved;

static void
moved_free (gpointer data)
{
  Moved *self = data;

  g_free (self->path);
  g_free (self);
}

static void
rename_below (Model *self, const char *from, const char *to)
{
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func (moved_free);
  GHashTableIter iter;
  gpointer key, ino;
  SkStat stat;

  if (!sk_root_stat (self->tree->root, to, &stat, NULL)
      || GPOINTER_TO_SIZE (g_hash_table_lookup (self->known, from)) != stat.ino)
    {
      look_below (self, from);
      look_below (self, to);
      return;
    }
  g_hash_table_iter_init (&iter, self->known);
  while (g_hash_table_iter_next (&iter, &key, &ino))
    if (sk_path_is_below (key, from))
      {
        Moved *moved = g_new (Moved, 1);

        moved->path = g_strconcat (to, (const char *) key + strlen (from), NULL);
        moved->ino = GPOINTER_TO_SIZE (ino);
        g_ptr_array_add (all, moved);
        g_hash_table_iter_remove (&iter);
      }
  forget_below (self, to);
  for (guint i = 0; i < all->len; i++)
    learn (self, ((Moved *) all->pdata[i])->path, ((Moved *) all->pdata[i])->ino);
}

static void
on_report (SkWatchEvent event, const char *path, const char *other, gpointer data)
{
  Model *self = data;

  g_assert_nonnull (path);
  g_assert_true ((other != NULL) == (event == SK_WATCH_MOVED));
  g_assert_false (g_str_has_prefix (path, ".skerry"));
  g_string_append_printf (self->log, "%c %s%s%s\n", "DWTMOGL"[event], path, other != NULL ? " < " : "",
                          other != NULL ? other : "");
  switch (event)
    {
    case SK_WATCH_DIRTY:
    case SK_WATCH_WRITING:
      look_at (self, path);
      break;
    case SK_WATCH_TREE:
      self->n_trees++;
      look_below (self, path);
      break;
    case SK_WATCH_MOVED:
      self->n_moved++;
      rename_below (self, other, path);
      break;
    case SK_WATCH_OVERFLOW:
      self->n_overflows++;
      look_below (self, "");
      break;
    case SK_WATCH_LIMIT:
      self->n_limits++;
      break;
    case SK_WATCH_ROOT_GONE:
      self->n_gone++;
      break;
    default:
      g_assert_not_reached ();
    }
}

static Model *
model_new (SkIgnore *ignore)
{
  Model *self = g_new0 (Model, 1);

  self->tree = tree_new ();
  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->log = g_string_new (NULL);
  return self;
}

static void
model_free (Model *self)
{
  sk_watcher_free (self->watcher);
  g_hash_table_destroy (self->known);
  g_string_free (self->log, TRUE);
  tree_free (self->tree);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Model, model_free)

static gboolean
turn (gint64 end)
{
  g_autoptr(GSource) timeout = g_timeout_source_new (10);

  g_source_set_callback (timeout, G_SOURCE_FUNC (g_source_is_destroyed), timeout, NULL);
  g_source_attach (timeout, NULL);
  g_main_context_iteration (NULL, TRUE);
  g_source_destroy (timeout);
  return g_get_monotonic_time () < end;
}

#define wait_until(condition)                                          \
  G_STMT_START                                                         \
  {                                                                    \
    gint64 end_ = g_get_monotonic_time () + LIMIT;                     \
    while (!(condition) && turn (end_))                                \
      ;                                                                \
    g_assert_true (condition);                                         \
  }                                                                    \
  G_STMT_END

static void
start (Model *self, SkIgnore *ignore)
{
  g_autoptr(GError) error = NULL;

  self->watcher = sk_watcher_new (self->tree->root, ignore, on_report, self, &error);
  g_assert_no_error (error);
  wait_until (sk_watcher_ready (self->watcher));
  g_assert_cmpuint (self->n_trees, ==, 1);
  g_string_truncate (self->log, 0);
}

/* Nothing is left to do for the loop but to wait for the kernel. */
static gboolean
is_idle (void)
{
  GMainContext *context = g_main_context_default ();
  GPollFD fds[16];
  gint timeout, priority;
  gboolean ready;

  g_assert_true (g_main_context_acquire (context));
  ready = g_main_context_prepare (context, &priority);
  g_main_context_query (context, G_MAXINT, &timeout, fds, G_N_ELEMENTS (fds));
  g_main_context_release (context);
  return !ready && timeout == -1;
}

static gboolean
model_is_true (Model *self)
{
  g_autoptr(GHashTable) truth = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer key;

  learn_below (self, truth, "");
  if (g_hash_table_size (truth) != g_hash_table_size (self->known))
    return FALSE;
  g_hash_table_iter_init (&iter, truth);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (!g_hash_table_contains (self->known, key))
      return FALSE;
  return TRUE;
}

static gboolean
has (Model *self, const char *line)
{
  return strstr (self->log->str, line) != NULL;
}

static void
rename_in (Model *self, const char *from, const char *to)
{
  g_autofree char *a = tree_path (self->tree, from), *b = tree_path (self->tree, to);

  g_assert_cmpint (rename (a, b), ==, 0);
}

/* ---- events ---- */

static void
test_files (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autofree char *path = tree_path (model->tree, "dir/file");
  int fd;

  tree_mkdir (model->tree, "dir");
  tree_text (model->tree, "dir/old", "x");
  start (model, NULL);
  g_assert_true (model_is_true (model));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 2);
  wait_until (is_idle ());

  fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  g_assert_cmpint (write (fd, "x", 1), ==, 1);
  wait_until (has (model, "W dir/file\n"));
  g_assert_false (has (model, "D dir/file\n"));
  close (fd);
  wait_until (has (model, "D dir/file\n"));
  wait_until (is_idle ());
  g_string_truncate (model->log, 0);

  close (open (path, O_RDONLY | O_CLOEXEC));    /* reading is no event */
  g_assert_cmpint (chmod (path, 0600), ==, 0);
  wait_until (has (model, "D dir/file\n"));
  g_assert_cmpint (unlink (path), ==, 0);
  wait_until (!g_hash_table_contains (model->known, "dir/file"));
  wait_until (is_idle ());
  g_assert_true (model_is_true (model));
}

/* A hundred writes between two looks are one report. */
static void
test_coalesced (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autofree char *path = tree_path (model->tree, "file"), *other = tree_path (model->tree, "other");
  guint lines = 0;
  int fd, fd2;

  start (model, NULL);
  fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  fd2 = open (other, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  for (guint i = 0; i < 100; i++)
    {
      g_assert_cmpint (write (fd, "x", 1), ==, 1);
      g_assert_cmpint (write (fd2, "x", 1), ==, 1);
    }
  close (fd);
  wait_until (has (model, "D file\n"));
  wait_until (has (model, "W other\n"));
  close (fd2);
  for (const char *p = model->log->str; (p = strchr (p, '\n')) != NULL; p++)
    lines++;
  g_assert_cmpuint (lines, ==, 2);
}

static void
test_moves (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autofree char *outside = g_strconcat (model->tree->top, ".outside", NULL);
  g_autofree char *dir = tree_path (model->tree, "e"), *back = tree_path (model->tree, "back");

  tree_mkdir (model->tree, "a/b/c");
  tree_mkdir (model->tree, "d");
  tree_text (model->tree, "a/b/c/file", "x");
  start (model, NULL);

  rename_in (model, "a/b/c/file", "a/file");
  wait_until (has (model, "M a/file < a/b/c/file\n"));
  rename_in (model, "a", "d/e");
  wait_until (has (model, "M d/e < a\n"));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 5);
  /* Below it too, names are the new ones. */
  tree_text (model->tree, "d/e/b/c/new", "x");
  wait_until (has (model, "D d/e/b/c/new\n"));
  rename_in (model, "d/e", "e");
  wait_until (has (model, "M e < d/e\n"));
  wait_until (is_idle ());
  g_assert_true (model_is_true (model));

  /* Out of the folder: gone, and no more events from there. */
  g_assert_cmpint (rename (dir, outside), ==, 0);
  wait_until (has (model, "D e\n"));
  wait_until (sk_watcher_count (model->watcher) == 2);
  g_assert_true (model_is_true (model));
  /* In from outside, with all that is in it (RULES C15). */
  g_assert_cmpint (rename (outside, back), ==, 0);
  wait_until (has (model, "T back\n"));
  g_assert_true (model_is_true (model));
  tree_text (model->tree, "back/b/c/another", "x");
  wait_until (has (model, "D back/b/c/another\n"));
}

/* As rename(2) with RENAME_EXCHANGE, and over an empty directory: who is where must be right afterwards. */
static void
test_exchanged (void)
{
  g_autoptr(Model) model = model_new (NULL);

  tree_mkdir (model->tree, "a/in-a");
  tree_mkdir (model->tree, "b/in-b");
  tree_mkdir (model->tree, "empty");
  start (model, NULL);
  if (renameat2 (sk_root_fd (model->tree->root), "a", sk_root_fd (model->tree->root), "b", RENAME_EXCHANGE) == 0)
    {
      wait_until (has (model, "M "));
      wait_until (model_is_true (model) && sk_watcher_ready (model->watcher) && is_idle ());
      tree_text (model->tree, "a/in-b/file", "x");
      tree_text (model->tree, "b/in-a/file", "x");
      wait_until (has (model, "a/in-b/file\n") && has (model, "b/in-a/file\n"));
    }
  rename_in (model, "a", "empty");
  wait_until (model_is_true (model));
  tree_text (model->tree, "empty/in-b/more", "x");
  wait_until (has (model, "empty/in-b/more\n"));
}

static void
test_ignored (void)
{
  static const char rules[] = "*.o\nbuild/\n";
  g_autoptr(SkIgnore) ignore = sk_ignore_new (rules, strlen (rules));
  g_autoptr(Model) model = model_new (NULL);

  tree_mkdir (model->tree, "build/deep");
  tree_mkdir (model->tree, ".skerry/tmp");
  start (model, ignore);
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 1);
  tree_text (model->tree, "a.o", "x");
  tree_text (model->tree, "build/deep/file", "x");
  tree_text (model->tree, ".skerry/tmp/partial", "x");
  tree_mkdir (model->tree, "src/build");
  tree_text (model->tree, "src/file", "x");
  wait_until (has (model, "T src\n"));
  /* Saved under a name that is ignored, then renamed: it appears. */
  rename_in (model, "a.o", "a.c");
  wait_until (has (model, "D a.c\n"));
  rename_in (model, "a.c", "b.o");
  wait_until (!g_hash_table_contains (model->known, "a.c"));
  /* Put in place by this engine itself. */
  rename_in (model, ".skerry/tmp/partial", "placed");
  wait_until (has (model, "D placed\n"));
  wait_until (is_idle ());
  g_assert_null (strstr (model->log->str, ".o"));
  g_assert_null (strstr (model->log->str, "build"));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 2);
}

static void
test_root_gone (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autofree char *away = g_strconcat (model->tree->top, ".away", NULL);

  tree_text (model->tree, "file", "x");
  start (model, NULL);
  g_assert_cmpint (rename (model->tree->top, away), ==, 0);
  wait_until (model->n_gone == 1);
  g_assert_cmpint (rename (away, model->tree->top), ==, 0);
  wait_until (model->n_gone == 2);
  wait_until (is_idle ());
  tree_remove (model->tree->top);
  wait_until (model->n_gone == 3);
  wait_until (is_idle ());
  g_assert_cmpuint (model->n_gone, ==, 3);
}

static void
on_report_free (SkWatchEvent event, const char *path, const char *other, gpointer data)
{
  Model *self = data;

  self->n_trees++;
  g_clear_pointer (&self->watcher, sk_watcher_free);
}

static void
test_freed_in_report (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autoptr(GError) error = NULL;

  tree_mkdir (model->tree, "a/b");
  model->watcher = sk_watcher_new (model->tree->root, NULL, on_report_free, model, &error);
  wait_until (model->watcher == NULL);
  g_assert_cmpuint (model->n_trees, ==, 1);
  g_assert_true (is_idle ());
}

/* ---- the situations ---- */

static void
test_mkdir_and_write_at_once (void)
{
  g_autoptr(Model) model = model_new (NULL);

  start (model, NULL);
  for (guint i = 0; i < 1000; i++)
    {
      g_autofree char *dir = g_strdup_printf ("a%u/b/c/d", i);
      g_autofree char *file = g_strconcat (dir, "/file", NULL);

      tree_mkdir (model->tree, dir);
      tree_text (model->tree, file, "x");
      if (i % 3 == 0)    /* at all stages of the watcher */
        g_main_context_iteration (NULL, FALSE);
    }
  wait_until (g_hash_table_size (model->known) == 5000);
  g_assert_true (model_is_true (model));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 4001);
  g_assert_cmpuint (model->n_overflows, ==, 0);
}

typedef struct { Model *model; GRand *rand; int stop; } Storm;

static gpointer
storm (gpointer data)
{
  Storm *self = data;
  int top = sk_root_fd (self->model->tree->root);

  for (guint i = 0; i < 3000; i++)
    {
      char a[64], b[64];

      g_snprintf (a, sizeof a, "%c/%c", 'a' + g_rand_int_range (self->rand, 0, 5), 'a' + g_rand_int_range (self->rand, 0, 5));
      g_snprintf (b, sizeof b, "%c/%c", 'a' + g_rand_int_range (self->rand, 0, 5), 'a' + g_rand_int_range (self->rand, 0, 5));
      if (g_rand_int_range (self->rand, 0, 4) == 0)
        a[1] = '\0';
      if (g_rand_int_range (self->rand, 0, 4) == 0)
        b[1] = '\0';
      switch (g_rand_int_range (self->rand, 0, 5))
        {
        case 0:
          mkdirat (top, a, 0755);
          break;
        case 1:
          close (openat (top, a, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
          break;
        case 2:
          if (unlinkat (top, a, 0) != 0)
            unlinkat (top, a, AT_REMOVEDIR);
          break;
        default:
          renameat (top, a, top, b);
        }
    }
  g_atomic_int_set (&self->stop, 1);
  return NULL;
}

/* Every directory is watched under its right name: what is written into it is reported. */
static void
check_watches (Model *model)
{
  g_autoptr(GHashTable) truth = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GPtrArray) probes = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer key;

  learn_below (model, truth, "");
  g_hash_table_iter_init (&iter, truth);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      SkStat stat;
      char *probe;

      if (!sk_root_stat (model->tree->root, key, &stat, NULL) || stat.kind != SK_KIND_DIR)
        continue;
      probe = g_strconcat (key, "/probe", NULL);
      g_ptr_array_add (probes, probe);
      tree_text (model->tree, probe, "x");
    }
  for (guint i = 0; i < probes->len; i++)
    wait_until (g_hash_table_contains (model->known, probes->pdata[i]));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, probes->len + 1);
}

/* Directories are made, moved into each other, replaced and deleted by another thread while the watcher runs. */
static void
test_storm (void)
{
  guint32 seed = (guint32) g_test_rand_int ();

  g_test_message ("seed %u", seed);
  for (guint round = 0; round < (g_test_perf () ? 100 : 5); round++)
    {
      g_autoptr(Model) model = model_new (NULL);
      g_autoptr(GRand) rand = g_rand_new_with_seed (seed + round);
      Storm self = { .model = model, .rand = rand };
      GThread *thread;

      start (model, NULL);
      thread = g_thread_new ("storm", storm, &self);
      wait_until (g_atomic_int_get (&self.stop));
      g_thread_join (thread);
      wait_until (sk_watcher_ready (model->watcher) && is_idle () && model_is_true (model));
      check_watches (model);
    }
}

static void
test_overflow (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autofree char *text = NULL;
  guint n = 16384;

  if (g_file_get_contents ("/proc/sys/fs/inotify/max_queued_events", &text, NULL, NULL))
    n = (guint) g_ascii_strtoull (text, NULL, 10);
  if (n > 50000)
    {
      g_test_skip ("the queue is too long here");
      return;
    }
  tree_mkdir (model->tree, "moves");
  tree_text (model->tree, "ball", "x");
  start (model, NULL);
  for (guint i = 0; i < n / 2 + 100; i++)    /* two events each */
    {
      int top = sk_root_fd (model->tree->root);

      g_assert_cmpint (renameat (top, i % 2 == 0 ? "ball" : "thrown", top, i % 2 == 0 ? "thrown" : "ball"), ==, 0);
    }
  /* Nothing of this is in the queue. */
  tree_mkdir (model->tree, "unseen/deep");
  tree_text (model->tree, "unseen/deep/file", "x");
  rename_in (model, "moves", "unseen/moved");
  wait_until (model->n_overflows > 0);
  wait_until (sk_watcher_ready (model->watcher) && is_idle ());
  g_assert_true (model_is_true (model));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 4);
  tree_text (model->tree, "unseen/moved/file", "x");
  wait_until (has (model, "D unseen/moved/file\n"));
  tree_text (model->tree, "unseen/deep/more", "x");
  wait_until (has (model, "D unseen/deep/more\n"));
}

static void
test_unreadable (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autofree char *shut = tree_path (model->tree, "shut"), *late = tree_path (model->tree, "late");

  tree_mkdir (model->tree, "shut/in");
  g_assert_cmpint (chmod (shut, 0), ==, 0);
  be_ordinary (model->tree, "shut");
  start (model, NULL);
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 1);
  g_assert_cmpint (mkdir (late, 0), ==, 0);
  wait_until (has (model, "D late\n"));
  wait_until (is_idle ());
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 1);

  g_assert_cmpint (chmod (shut, 0755), ==, 0);
  g_assert_cmpint (chmod (late, 0755), ==, 0);
  wait_until (has (model, "T shut\n") && has (model, "T late\n"));
  g_assert_cmpuint (sk_watcher_count (model->watcher), ==, 4);
  tree_text (model->tree, "late/file", "x");
  wait_until (has (model, "D late/file\n"));
  be_oneself ();
}

static gboolean
put_text (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);
  gboolean done = fd >= 0 && write (fd, text, strlen (text)) == (gssize) strlen (text);

  if (fd >= 0)
    close (fd);
  return done;
}

static void
with_fifty_watches (void)
{
  g_autofree char *map = g_strdup_printf ("0 %u 1", geteuid ());
  g_autoptr(Model) model = NULL;
  guint limit, needed;

  if (unshare (CLONE_NEWUSER) != 0 || !put_text ("/proc/self/uid_map", map)
      || !put_text ("/proc/sys/user/max_inotify_watches", "50"))
    {
      g_test_skip ("no user namespace of one's own here");
      return;
    }
  model = model_new (NULL);
  for (guint i = 0; i < 500; i++)
    {
      g_autofree char *dir = g_strdup_printf ("d%03u", i);

      tree_mkdir (model->tree, dir);
    }
  start (model, NULL);
  g_assert_cmpuint (model->n_limits, ==, 1);
  sk_watcher_limit (model->watcher, &limit, &needed);
  g_assert_cmpuint (limit, ==, 50);
  g_assert_cmpuint (needed, ==, 501);
  g_assert_cmpuint (sk_watcher_count (model->watcher), <, 50);    /* others want to watch as well */
  g_assert_cmpuint (sk_watcher_count (model->watcher), >, 10);
  /* What is watched, is; and one that appears is at least reported. */
  tree_text (model->tree, "top", "x");
  wait_until (has (model, "D top\n"));
  tree_mkdir (model->tree, "new/deep");
  tree_text (model->tree, "new/deep/file", "x");
  wait_until (model_is_true (model));
  g_assert_cmpuint (model->n_limits, ==, 1);
}

static void
test_limit (void)
{
  if (g_test_subprocess ())
    {
      with_fifty_watches ();
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

/* Adding goes on in small steps, so that the thread stays free for others. */
static void
test_steps (void)
{
  g_autoptr(Model) model = model_new (NULL);
  g_autoptr(GError) error = NULL;
  guint last;

  for (guint i = 0; i < 1000; i++)
    {
      g_autofree char *dir = g_strdup_printf ("%u/%u", i / 100, i % 100);

      tree_mkdir (model->tree, dir);
    }
  model->watcher = sk_watcher_new (model->tree->root, NULL, on_report, model, &error);
  g_assert_no_error (error);
  for (last = sk_watcher_count (model->watcher); !sk_watcher_ready (model->watcher); last = sk_watcher_count (model->watcher))
    {
      g_main_context_iteration (NULL, FALSE);
      g_assert_cmpuint (sk_watcher_count (model->watcher) - last, <=, 200);
    }
  g_assert_cmpuint (last, ==, 1011);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/watcher/files", test_files);
  g_test_add_func ("/watcher/coalesced", test_coalesced);
  g_test_add_func ("/watcher/rule-c15/moves", test_moves);
  g_test_add_func ("/watcher/exchanged", test_exchanged);
  g_test_add_func ("/watcher/ignored", test_ignored);
  g_test_add_func ("/watcher/sit-B001/root-gone", test_root_gone);
  g_test_add_func ("/watcher/freed-in-report", test_freed_in_report);
  g_test_add_func ("/watcher/sit-B161/mkdir-and-write-at-once", test_mkdir_and_write_at_once);
  g_test_add_func ("/watcher/rule-c15/storm", test_storm);
  g_test_add_func ("/watcher/sit-B159/overflow", test_overflow);
  g_test_add_func ("/watcher/sit-B160/unreadable-is-tried-again", test_unreadable);
  g_test_add_func ("/watcher/sit-B158/limit", test_limit);
  g_test_add_func ("/watcher/steps", test_steps);
  return g_test_run ();
}
