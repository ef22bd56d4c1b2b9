/* SPDX-License-Identifier: GPL-3.0-or-later */
/* While events come, the queue is looked at fifty times a second, not at each event: a program that writes in small pieces would wake
 * this thread thousands of times. */
#include "sk-watcher-private.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "sk-path.h"
#include "sk-watch-batch.h"

#define BREATH_MS 20u            /* between two reads while events come */
#define READ_BYTES (64u << 10)
#define READS_PER_TURN 32u

/* The first half of a move. */
typedef struct { char *path; gboolean is_dir; SkWatchNode *node; /* NULL: not watched */ guint turn; } Leaving;

static void wait_for_events (SkWatcher *self, gboolean busy);

/* ---- reports ---- */

void
sk_watcher_tell (SkWatcher *self, SkWatchEvent event, const char *path, const char *other)
{
  if (!self->closed)
    self->func (event, path, other, self->user_data);
}

static void
tell_all (SkWatcher *self, SkWatchBatch *batch)
{
  for (guint i = 0; i < batch->reports->len; i++)
    {
      const SkWatchReport *report = batch->reports->pdata[i];

      sk_watcher_tell (self, report->event, report->path, report->other);
    }
}

/* ---- events ---- */

static void
leaving_free (gpointer data)
{
  Leaving *self = data;

  g_free (self->path);
  g_free (self);
}

void
sk_watcher_node_placed (SkWatcher *self, SkWatchNode *node)
{
  GHashTableIter iter;
  gpointer leaving;

  g_hash_table_iter_init (&iter, self->leaving);
  while (g_hash_table_iter_next (&iter, NULL, &leaving))
    if (((Leaving *) leaving)->node == node)
      ((Leaving *) leaving)->node = NULL;
}

static void
on_node_gone (SkWatchNode *node, gpointer data)
{
  SkWatcher *self = data;

  if (!self->closed)                        /* then closing the descriptor does it for all at once */
    inotify_rm_watch (self->fd, node->wd);  /* fails when the kernel was first: fine */
  sk_watcher_node_placed (self, node);
}

static void
drop_child (SkWatcher *self, SkWatchNode *parent, const char *name)
{
  SkWatchNode *node = sk_watch_tree_child (&self->tree, parent, name);

  if (node != NULL)
    sk_watch_tree_drop (&self->tree, node);
}

static void
on_moved_from (SkWatcher *self, SkWatchNode *parent, const struct inotify_event *event, const char *path)
{
  Leaving *leaving = g_new (Leaving, 1);

  *leaving = (Leaving) {
    .path = g_strdup (path),
    .is_dir = (event->mask & IN_ISDIR) != 0,
    .node = sk_watch_tree_child (&self->tree, parent, event->name),
    .turn = self->turn,
  };
  g_hash_table_replace (self->leaving, GUINT_TO_POINTER (event->cookie), leaving);
}

/* A directory came to @path, with the watches of @node and below (NULL when it has none). It is visited also when all of it is watched:
 * @node may be one of the same old name that was made later, and what was reported below the old path may have been looked for there
 * in vain. */
static void
move_watches (SkWatcher *self, SkWatchNode *node, SkWatchNode *parent, const char *name, const char *path)
{
  if (node != NULL && !sk_watch_tree_move (&self->tree, node, parent, name))
    sk_watch_distrust (self);
  sk_watch_add_fresh (self, path);
}

static void
on_moved_to (SkWatcher *self, SkWatchNode *parent, const struct inotify_event *event, const char *path, SkWatchBatch *batch)
{
  gpointer key, value;
  gboolean is_dir = (event->mask & IN_ISDIR) != 0;
  Leaving *leaving;

  if (!g_hash_table_steal_extended (self->leaving, GUINT_TO_POINTER (event->cookie), &key, &value))
    {
      sk_watch_batch_add (batch, SK_WATCH_DIRTY, g_strdup (path), NULL);
      if (is_dir)
        sk_watch_add_fresh (self, path);
      return;
    }
  leaving = value;
  if (is_dir)
    move_watches (self, leaving->node, parent, event->name, path);
  sk_watch_batch_add (batch, SK_WATCH_MOVED, g_strdup (path), g_strdup (leaving->path));
  leaving_free (leaving);
}

/* Moved to where nobody watches: out of the folder, or under an ignored name. */
static void
is_gone_for_good (SkWatcher *self, Leaving *leaving, SkWatchBatch *batch)
{
  if (leaving->node != NULL)
    sk_watch_tree_drop (&self->tree, leaving->node);
  sk_watch_batch_add (batch, SK_WATCH_DIRTY, g_strdup (leaving->path), NULL);
}

/* First halves since which the queue was empty twice: the second would be here. */
static void
expire_leaving (SkWatcher *self, SkWatchBatch *batch)
{
  GHashTableIter iter;
  gpointer leaving;

  /* Each stays in the table while its watches go: it may lie below another, and then hears of it there. */
  g_hash_table_iter_init (&iter, self->leaving);
  while (g_hash_table_iter_next (&iter, NULL, &leaving))
    if (self->turn - ((Leaving *) leaving)->turn >= 2)
      {
        is_gone_for_good (self, leaving, batch);
        g_hash_table_iter_remove (&iter);
      }
}

/* New, or with other rights than when it could not be read. */
static gboolean
may_need_watch (SkWatcher *self, SkWatchNode *parent, const struct inotify_event *event)
{
  if (event->mask & IN_CREATE)
    return TRUE;
  return (event->mask & IN_ATTRIB) && sk_watch_tree_child (&self->tree, parent, event->name) == NULL;
}

static void
on_child (SkWatcher *self, SkWatchNode *parent, const struct inotify_event *event, SkWatchBatch *batch)
{
  gboolean is_dir = (event->mask & IN_ISDIR) != 0;
  g_autofree char *path = NULL;

  if (sk_name_is_own (event->name, strlen (event->name)))
    return;
  path = sk_watch_tree_path (parent, event->name);
  if (self->ignore != NULL && sk_ignore_match_here (self->ignore, path, is_dir))
    return;
  if (event->mask & IN_MOVED_FROM)
    on_moved_from (self, parent, event, path);
  else if (event->mask & IN_MOVED_TO)
    on_moved_to (self, parent, event, path, batch);
  else
    {
      if (is_dir && (event->mask & IN_DELETE))
        drop_child (self, parent, event->name);
      else if (is_dir && may_need_watch (self, parent, event))
        sk_watch_add_fresh (self, path);
      sk_watch_batch_add (batch, event->mask & IN_MODIFY ? SK_WATCH_WRITING : SK_WATCH_DIRTY, g_steal_pointer (&path),
                          NULL);
    }
}

/* It will not come back: told once. */
static void
tell_gone (SkWatcher *self, SkWatchBatch *batch)
{
  if (!self->gone_told)
    sk_watch_batch_add (batch, SK_WATCH_ROOT_GONE, g_strdup (""), NULL);
  self->gone_told = TRUE;
}

/* The root's descriptor is held open, so its deletion causes no event; what was deleted in it before does. */
static void
look_at_root (SkWatcher *self, SkWatchBatch *batch)
{
  SkStat stat;

  if (sk_stat_at (sk_root_fd (self->root), "", &stat) && stat.nlink == 0)
    tell_gone (self, batch);
}

/* An event of the directory itself. */
static void
on_self (SkWatcher *self, SkWatchNode *node, const struct inotify_event *event, SkWatchBatch *batch)
{
  gboolean is_root = node == self->tree.root;
  g_autofree char *path = NULL;

  if (is_root)
    {
      if (event->mask & (IN_DELETE_SELF | IN_UNMOUNT | IN_IGNORED))
        tell_gone (self, batch);
      else if (event->mask & IN_MOVE_SELF)
        sk_watch_batch_add (batch, SK_WATCH_ROOT_GONE, g_strdup (""), NULL);
      return;
    }
  if (event->mask & IN_DELETE_SELF)
    {
      sk_watch_batch_add (batch, SK_WATCH_DIRTY, sk_watch_tree_path (node, NULL), NULL);
      sk_watch_tree_drop (&self->tree, node);
      return;
    }
  if (!(event->mask & (IN_IGNORED | IN_UNMOUNT)))
    return;
  /* The kernel took the watch away, for a reason it does not tell. */
  path = sk_watch_tree_path (node, NULL);
  sk_watch_tree_drop (&self->tree, node);
  sk_watch_add_fresh (self, path);
}

static void
on_event (SkWatcher *self, const struct inotify_event *event, SkWatchBatch *batch)
{
  SkWatchNode *node;

  if (event->mask & IN_Q_OVERFLOW)
    {
      /* Directories may have come, gone and moved unseen. */
      sk_watch_distrust (self);
      return;
    }
  node = sk_watch_tree_by_wd (&self->tree, event->wd);
  if (node == NULL)
    return;
  if (event->len > 0 && event->name[0] != '\0')
    on_child (self, node, event, batch);
  else
    on_self (self, node, event, batch);
}

/* TRUE when something was read. */
static gboolean
read_events (SkWatcher *self, SkWatchBatch *batch)
{
  g_autofree char *buffer = g_malloc (READ_BYTES);
  gboolean any = FALSE;

  for (guint i = 0; i < READS_PER_TURN; i++)
    {
      gssize n = read (self->fd, buffer, READ_BYTES);

      if (n <= 0)
        {
          self->turn++;
          break;
        }
      any = TRUE;
      for (gssize at = 0; at < n;)
        {
          const struct inotify_event *event = (const struct inotify_event *) (buffer + at);

          on_event (self, event, batch);
          at += (gssize) sizeof *event + event->len;
        }
    }
  return any;
}

static void
take_events (SkWatcher *self)
{
  g_auto(SkWatchBatch) batch = { 0 };
  gboolean busy;

  sk_watch_batch_init (&batch);
  busy = read_events (self, &batch);
  expire_leaving (self, &batch);
  look_at_root (self, &batch);
  tell_all (self, &batch);
  if (self->closed)
    return;
  /* New directories at once, before more happens in them. */
  if (!g_queue_is_empty (&self->fresh))
    sk_watch_walk_on (self);
  wait_for_events (self, busy || g_hash_table_size (self->leaving) > 0);
}

static gboolean
on_breath (gpointer data)
{
  SkWatcher *self = data;

  self->refs++;    /* a report may free the watcher */
  take_events (self);
  sk_watcher_unref (self);
  return G_SOURCE_REMOVE;
}

static gboolean
on_readable (int fd, GIOCondition condition, gpointer data)
{
  return on_breath (data);
}

static void
drop_source (GSource **source)
{
  if (*source == NULL)
    return;
  g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static void
wait_for_events (SkWatcher *self, gboolean busy)
{
  drop_source (&self->events);
  if (self->closed)
    return;
  if (busy)
    {
      self->events = g_timeout_source_new (BREATH_MS);
      g_source_set_callback (self->events, on_breath, self, NULL);
    }
  else
    {
      self->events = g_unix_fd_source_new (self->fd, G_IO_IN);
      g_source_set_callback (self->events, G_SOURCE_FUNC (on_readable), self, NULL);
    }
  g_source_attach (self->events, self->context);
}

/* ---- life ---- */

void
sk_watcher_unref (SkWatcher *self)
{
  if (--self->refs > 0)
    return;
  self->closed = TRUE;
  sk_watch_tree_clear (&self->tree);
  g_hash_table_destroy (self->leaving);
  g_queue_clear_full (&self->walk, g_free);
  g_queue_clear_full (&self->fresh, g_free);
  g_ptr_array_unref (self->tops);
  close (self->fd);
  g_main_context_unref (self->context);
  g_clear_pointer (&self->ignore, sk_ignore_unref);
  sk_root_unref (self->root);
  g_free (self);
}

SkWatcher *
sk_watcher_new (SkRoot *root, SkIgnore *ignore, SkWatchFunc func, gpointer user_data, GError **error)
{
  int fd = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
  SkWatcher *self;

  if (fd < 0)
    {
      sk_fail_errno (error, errno, "watch the folder", sk_root_path (root));
      return NULL;
    }
  self = g_new0 (SkWatcher, 1);
  self->refs = 1;
  self->fd = fd;
  self->root = sk_root_ref (root);
  self->ignore = ignore != NULL ? sk_ignore_ref (ignore) : NULL;
  self->func = func;
  self->user_data = user_data;
  self->context = g_main_context_ref_thread_default ();
  self->leaving = g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, leaving_free);
  self->tops = g_ptr_array_new_with_free_func (g_free);
  self->walk_is_first = TRUE;
  g_queue_init (&self->walk);
  g_queue_init (&self->fresh);
  sk_watch_tree_init (&self->tree, on_node_gone, self);
  if (!sk_watch_root (self, error))
    {
      sk_watcher_unref (self);
      return NULL;
    }
  wait_for_events (self, FALSE);
  sk_watch_distrust (self);
  return self;
}

void
sk_watcher_free (SkWatcher *self)
{
  if (self == NULL)
    return;
  self->closed = TRUE;
  drop_source (&self->events);
  drop_source (&self->walking);
  sk_watcher_unref (self);
}

gboolean
sk_watcher_ready (SkWatcher *self)
{
  return self->ready;
}

guint
sk_watcher_count (SkWatcher *self)
{
  return sk_watch_tree_size (&self->tree);
}

void
sk_watcher_limit (SkWatcher *self, guint *limit, guint *needed)
{
  *limit = self->limit;
  *needed = sk_watch_tree_size (&self->tree) + self->unwatched;
}
