/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-watcher-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "sk-path.h"

/* IN_DONT_FOLLOW would refuse the /proc name by which an open directory is watched; that one was opened without following. */
#define EVENTS (IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF \
                | IN_ONLYDIR | IN_EXCL_UNLINK)
#define STEP 200u                /* visits in one turn of the loop */
/* Watches of this person that are left to other programs. */
#define ROOM_FOR_OTHERS 512u

static void set_walking (SkWatcher *self);

/* ---- one watch ---- */

static guint
read_number (const char *path)
{
  g_autofree char *text = NULL;
  guint64 value;

  if (!g_file_get_contents (path, &text, NULL, NULL)
      || !g_ascii_string_to_unsigned (g_strchomp (text), 10, 0, G_MAXUINT, &value, NULL))
    return G_MAXUINT;
  return (guint) value;
}

static void
read_limits (SkWatcher *self)
{
  self->limit = MIN (read_number ("/proc/sys/fs/inotify/max_user_watches"),
                     read_number ("/proc/sys/user/max_inotify_watches"));
  self->room = MAX (self->limit / 2, self->limit > ROOM_FOR_OTHERS ? self->limit - ROOM_FOR_OTHERS : 0);
}

static void
tell_limit (SkWatcher *self)
{
  if (!self->limit_told)
    sk_watcher_tell (self, SK_WATCH_LIMIT, "", NULL);
  self->limit_told = TRUE;
}

/* Others use more than was thought: give back what they may need, the latest first. */
static void
make_room (SkWatcher *self)
{
  guint size = sk_watch_tree_size (&self->tree);

  self->room = size - MIN (ROOM_FOR_OTHERS, size / 2);
  while (sk_watch_tree_size (&self->tree) > MAX (self->room, 1) && self->tree.by_age.tail->data != self->tree.root)
    sk_watch_tree_drop (&self->tree, self->tree.by_age.tail->data);
  self->unwatched += size - sk_watch_tree_size (&self->tree);
}

/* Watch descriptor of an open directory, or -1 with errno. For one that is watched already it is the same. */
static int
add_watch (SkWatcher *self, int fd, guint32 events)
{
  char name[64];

  g_snprintf (name, sizeof name, "/proc/self/fd/%d", fd);
  return inotify_add_watch (self->fd, name, events);
}

/* The open directory is @parent's child @name. */
static void
watch (SkWatcher *self, SkWatchNode *parent, const char *name, int fd)
{
  SkWatchNode *there = sk_watch_tree_child (&self->tree, parent, name);
  SkWatchNode *node;
  int wd;

  if (there == NULL && sk_watch_tree_size (&self->tree) >= self->room)
    {
      self->unwatched++;
      tell_limit (self);
      return;
    }
  wd = add_watch (self, fd, EVENTS);
  if (wd < 0)
    {
      if (errno == ENOSPC || errno == ENOMEM)
        {
          make_room (self);
          self->unwatched++;
          tell_limit (self);
        }
      return;
    }
  node = sk_watch_tree_put (&self->tree, parent, name, wd);
  if (node == NULL)
    {
      sk_watch_distrust (self);    /* above and below have changed places */
      return;
    }
  node->generation = self->generation;
  sk_watcher_node_placed (self, node);
}

gboolean
sk_watch_root (SkWatcher *self, GError **error)
{
  int wd = add_watch (self, sk_root_fd (self->root), EVENTS | IN_MOVE_SELF);

  if (wd < 0)
    return sk_fail_errno (error, errno == ENOSPC ? EMFILE : errno, "watch the folder", sk_root_path (self->root));
  sk_watch_tree_put (&self->tree, NULL, "", wd);
  read_limits (self);
  return TRUE;
}

/* ---- visiting ---- */

/* Names of subdirectories that are to be watched, to @found. Closes @fd. */
static void
list_directories (SkWatcher *self, int fd, const char *path, GQueue *found)
{
  DIR *dir = fdopendir (fd);
  struct dirent *item;

  if (dir == NULL)
    {
      close (fd);
      return;
    }
  while ((item = readdir (dir)) != NULL)
    {
      gboolean is_dir = item->d_type == DT_DIR;
      g_autofree char *child = NULL;
      SkStat stat;

      if (strcmp (item->d_name, ".") == 0 || strcmp (item->d_name, "..") == 0 || sk_name_is_own (item->d_name, strlen (item->d_name)))
        continue;
      if (item->d_type == DT_UNKNOWN)
        is_dir = sk_stat_at (fd, item->d_name, &stat) && stat.kind == SK_KIND_DIR;
      if (!is_dir)
        continue;
      child = sk_path_join (path, item->d_name);
      if (self->ignore == NULL || !sk_ignore_match_here (self->ignore, child, TRUE))
        g_queue_push_tail (found, g_steal_pointer (&child));
    }
  closedir (dir);
}

/* The open directory, when its parent is watched. Else, if there are watches enough, one above was moved just now: what is in it is
 * visited when that event is read. */
static void
visit_open (SkWatcher *self, const char *path, int fd)
{
  g_autofree char *up = sk_path_parent (path);
  SkWatchNode *parent = sk_watch_tree_find (&self->tree, up);

  if (parent != NULL)
    watch (self, parent, sk_path_name (path), fd);
  else if (self->limit_told)
    self->unwatched++;
}

/* Watches @path, then looks for directories in it (RULES C15). Where that is not possible, nothing is: a directory that cannot be read is
 * tried again when its attributes change. */
static void
visit (SkWatcher *self, const char *path, GQueue *found)
{
  int fd = sk_root_openat (self->root, path, O_RDONLY | O_DIRECTORY);

  if (fd < 0)
    return;
  if (path[0] != '\0')
    visit_open (self, path, fd);
  list_directories (self, fd, path, found);
}

static void
push_front_all (GQueue *queue, GQueue *items)
{
  while (!g_queue_is_empty (items))
    g_queue_push_head_link (queue, g_queue_pop_tail_link (items));
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* All that appeared is watched now: a look at it misses nothing. */
static void
tell_fresh (SkWatcher *self)
{
  g_autoptr(GPtrArray) tops = self->tops;
  const char *last = NULL;

  self->tops = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_sort (tops, compare_paths);
  for (guint i = 0; i < tops->len; i++)
    {
      const char *path = tops->pdata[i];

      if (last != NULL && sk_path_is_below (path, last))
        continue;
      sk_watcher_tell (self, SK_WATCH_TREE, path, NULL);
      last = path;
    }
}

static void
start_walk (SkWatcher *self)
{
  self->generation++;
  self->walk_again = FALSE;
  self->ready = FALSE;
  self->unwatched = 0;
  self->tree.root->generation = self->generation;
  g_queue_push_tail (&self->walk, g_strdup (""));
  set_walking (self);
}

static void
end_walk (SkWatcher *self)
{
  gboolean first = self->walk_is_first;

  sk_watch_tree_drop_unseen (&self->tree, self->generation);
  self->walk_is_first = FALSE;
  self->ready = TRUE;
  if (self->walk_again)
    start_walk (self);
  sk_watcher_tell (self, first ? SK_WATCH_TREE : SK_WATCH_OVERFLOW, "", NULL);
}

void
sk_watch_distrust (SkWatcher *self)
{
  if (!g_queue_is_empty (&self->walk))
    self->walk_again = TRUE;
  else if (self->tree.root != NULL)
    start_walk (self);
}

void
sk_watch_add_fresh (SkWatcher *self, const char *path)
{
  g_queue_push_tail (&self->fresh, g_strdup (path));
  g_ptr_array_add (self->tops, g_strdup (path));
  set_walking (self);
}

void
sk_watch_walk_on (SkWatcher *self)
{
  for (guint i = 0; i < STEP && !self->closed; i++)
    {
      gboolean is_fresh = !g_queue_is_empty (&self->fresh);
      GQueue *queue = is_fresh ? &self->fresh : &self->walk;
      g_autofree char *path = g_queue_pop_head (queue);
      GQueue found = G_QUEUE_INIT;

      if (path == NULL)
        return;
      visit (self, path, &found);
      push_front_all (queue, &found);
      if (is_fresh && g_queue_is_empty (queue))
        tell_fresh (self);
      else if (!is_fresh && g_queue_is_empty (queue))
        end_walk (self);
    }
}

static gboolean
on_walking (gpointer data)
{
  SkWatcher *self = data;

  self->refs++;    /* a report may free the watcher */
  sk_watch_walk_on (self);
  if (!self->closed && g_queue_is_empty (&self->walk) && g_queue_is_empty (&self->fresh))
    {
      g_source_destroy (self->walking);
      g_clear_pointer (&self->walking, g_source_unref);
    }
  sk_watcher_unref (self);
  return G_SOURCE_CONTINUE;
}

static void
set_walking (SkWatcher *self)
{
  if (self->walking != NULL || self->closed)
    return;
  self->walking = g_idle_source_new ();
  g_source_set_callback (self->walking, on_walking, self, NULL);
  g_source_attach (self->walking, self->context);
}
