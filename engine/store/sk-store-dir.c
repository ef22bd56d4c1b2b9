/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-store-dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_FINAL_TYPE (SkStoreDir, sk_store_dir, SK_TYPE_STORE)

static int
sk_store_dir_job_open (SkStoreJob *job, GError **error)
{
  return sk_store_dir_open (SK_STORE_DIR (sk_store_job_store (job)), error);
}

/* --- get --- */

static GBytes *
sk_store_dir_get_beneath (SkStoreJob *job, int root, GCancellable *cancellable, GError **error)
{
  SkStoreDir *self = SK_STORE_DIR (sk_store_job_store (job));
  GBytes *data;
  /* Without blocking, should somebody have put a pipe there. */
  int fd = sk_store_dir_open_beneath (root, job->name, O_RDONLY | O_NONBLOCK);

  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
    {
      if (sk_store_dir_confirm (self, root, error))
        sk_fail (error, SK_ERROR_NOT_FOUND, "Storage “%s” has no “%s”",
                 sk_store_place (SK_STORE (self)), job->name);
      return NULL;
    }
  if (fd < 0)
    return sk_store_dir_fail (self, errno, "read", job->name, error), NULL;

  data = sk_store_dir_read (self, fd, job->name, job->offset, job->len, job->max_size, cancellable,
                            error);
  close (fd);
  return data;
}

static gboolean
sk_store_dir_get_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  gboolean whole = job->offset == 0 && job->len == G_MAXUINT64;
  g_autoptr(GBytes) data = NULL;
  int root = sk_store_dir_job_open (job, error);

  if (root < 0)
    return FALSE;
  data = sk_store_dir_get_beneath (job, root, cancellable, error);
  close (root);
  if (data == NULL)
    return FALSE;
  if (whole)
    {
      if (!sk_store_verify (job->name, data, error))
        return FALSE;
      sk_store_task_set_verified (job->task);
    }
  sk_store_job_return (job, g_steal_pointer (&data), (GDestroyNotify) g_bytes_unref);
  return TRUE;
}

static void
sk_store_dir_get (SkStore *store, const char *name, guint64 offset, guint64 len, guint64 max_size,
                  GTask *task)
{
  SkStoreJob *job = sk_store_job_new (task, sk_store_dir_get_run);

  job->name = g_strdup (name);
  job->offset = offset;
  job->len = len;
  job->max_size = max_size;
  sk_store_job_push (job, sk_store_pool (store));
}

/* --- list --- */

typedef struct
{
  SkStoreDir *self;
  GCancellable *cancellable;
  const char *prefix;
  gboolean markers_only; /* no vault: only "<vault>/skerry.json" counts */
  GPtrArray *items;
  guint n_foreign;
} SkDirWalk;

static gboolean sk_store_dir_walk (SkDirWalk *walk, int dir_fd, const char *path, guint depth,
                                   GError **error);

static void
sk_store_dir_walk_add (SkDirWalk *walk, const char *path, const struct stat *info)
{
  SkStoreItem *item;

  if (!g_str_has_prefix (path, walk->prefix))
    return;
  item = g_new0 (SkStoreItem, 1);
  item->name = g_strdup (path);
  item->size = (guint64) info->st_size;
  item->mtime = (gint64) info->st_mtim.tv_sec * G_USEC_PER_SEC + info->st_mtim.tv_nsec / 1000;
  /* A put renames a new file into place, so another inode is another object. */
  item->etag = g_strdup_printf (
      "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", (guint64) info->st_ino,
      (guint64) info->st_mtim.tv_sec * 1000000000u + (guint64) info->st_mtim.tv_nsec);
  g_ptr_array_add (walk->items, item);
}

/* Whether a directory can hold names with the prefix. */
static gboolean
sk_store_dir_walk_wants (SkDirWalk *walk, const char *path)
{
  gsize len = strlen (path);
  gsize prefix_len = strlen (walk->prefix);

  if (prefix_len <= len)
    return strncmp (path, walk->prefix, prefix_len) == 0;
  return strncmp (path, walk->prefix, len) == 0 && walk->prefix[len] == '/';
}

static gboolean
sk_store_dir_walk_down (SkDirWalk *walk, int dir_fd, const char *name, const char *path,
                        guint depth, GError **error)
{
  int fd;

  if (!sk_store_dir_walk_wants (walk, path))
    return TRUE;
  fd = openat (dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0)
    return sk_store_dir_walk (walk, fd, path, depth, error);
  /* Gone since it was read. */
  return errno == ENOENT || sk_store_dir_fail (walk->self, errno, "list", path, error);
}

/* Without a vault only the markers are looked at, not the million objects beside them. */
static gboolean
sk_store_dir_walk_marker (SkDirWalk *walk, int dir_fd, const char *name, GError **error)
{
  g_autofree char *path = g_strconcat (name, "/" SK_STORE_MARKER, NULL);
  struct stat info;

  if (fstatat (dir_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG (info.st_mode))
    sk_store_dir_walk_add (walk, path, &info);
  return TRUE;
}

static gboolean
sk_store_dir_walk_entry (SkDirWalk *walk, int dir_fd, const char *name, const char *path,
                         guint depth, GError **error)
{
  struct stat info;

  if (fstatat (dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT || sk_store_dir_fail (walk->self, errno, "list", path, error);
  if (S_ISDIR (info.st_mode) && walk->markers_only)
    return sk_store_dir_walk_marker (walk, dir_fd, name, error);
  if (S_ISDIR (info.st_mode))
    return sk_store_dir_walk_down (walk, dir_fd, name, path, depth + 1, error);
  if (S_ISREG (info.st_mode) && !walk->markers_only)
    sk_store_dir_walk_add (walk, path, &info);
  if (walk->items->len > SK_STORE_LIST_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "Storage “%s” has more than %u objects under “%s”",
                    sk_store_place (SK_STORE (walk->self)), SK_STORE_LIST_MAX, walk->prefix);
  return TRUE;
}

static gboolean
sk_store_dir_walk_next (SkDirWalk *walk, DIR *dir, const char *path, guint depth, gboolean *more,
                        GError **error)
{
  g_autofree char *child = NULL;
  struct dirent *entry;

  if (g_cancellable_set_error_if_cancelled (walk->cancellable, error))
    return FALSE;
  errno = 0;
  entry = readdir (dir);
  *more = entry != NULL;
  if (entry == NULL)
    return errno == 0
           || sk_store_dir_fail (walk->self, errno, "list", path[0] != '\0' ? path : "/", error);

  if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0
      || (depth == 1 && strcmp (entry->d_name, SK_STORE_TEMP) == 0))
    return TRUE;
  if (!sk_store_component_ok (entry->d_name) || depth > SK_STORE_DEPTH_MAX)
    {
      walk->n_foreign++;
      return TRUE;
    }
  child = path[0] == '\0' ? g_strdup (entry->d_name) : g_strconcat (path, "/", entry->d_name, NULL);
  return sk_store_dir_walk_entry (walk, dirfd (dir), entry->d_name, child, depth, error);
}

/* Takes @dir_fd. A directory that cannot be read fails the whole list: half a list would pass for
 * absence. */
static gboolean
sk_store_dir_walk (SkDirWalk *walk, int dir_fd, const char *path, guint depth, GError **error)
{
  DIR *dir = fdopendir (dir_fd);
  gboolean more = TRUE;
  gboolean ok = TRUE;

  if (dir == NULL)
    {
      close (dir_fd);
      return sk_store_dir_fail (walk->self, errno, "list", path, error);
    }
  while (ok && more)
    ok = sk_store_dir_walk_next (walk, dir, path, depth, &more, error);
  closedir (dir);
  return ok;
}

static int
sk_store_dir_compare (gconstpointer a, gconstpointer b)
{
  const SkStoreItem *first = *(SkStoreItem *const *) a;
  const SkStoreItem *second = *(SkStoreItem *const *) b;

  return strcmp (first->name, second->name);
}

/* Beneath @root, from the directory that the prefix names, so that a list of heads does not read
 * the packs. */
static gboolean
sk_store_dir_walk_start (SkDirWalk *walk, int root, GError **error)
{
  const char *slash = strrchr (walk->prefix, '/');
  g_autofree char *start
      = slash != NULL ? g_strndup (walk->prefix, (gsize) (slash - walk->prefix)) : g_strdup ("");
  guint depth = 1;
  int fd;

  for (const char *p = start; *p != '\0'; p++)
    depth += *p == '/';
  fd = sk_store_dir_open_beneath (root, start[0] != '\0' ? start : ".", O_RDONLY | O_DIRECTORY);
  if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
    return sk_store_dir_fail (walk->self, errno, "list", start, error);
  return fd < 0 || sk_store_dir_walk (walk, fd, start, start[0] != '\0' ? depth + 1 : 1, error);
}

static gboolean
sk_store_dir_list_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreDir *self = SK_STORE_DIR (sk_store_job_store (job));
  g_autoptr(GPtrArray) items
      = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_store_item_free);
  SkDirWalk walk
      = { .self = self, .cancellable = cancellable, .prefix = job->name, .items = items };
  int root = sk_store_dir_open (self, error);
  gboolean ok;

  if (root < 0)
    return FALSE;
  walk.markers_only = sk_store_vault (SK_STORE (self)) == NULL;
  ok = sk_store_dir_walk_start (&walk, root, error) && sk_store_dir_confirm (self, root, error);
  close (root);
  if (!ok)
    return FALSE;

  g_ptr_array_sort (items, sk_store_dir_compare);
  sk_store_note_foreign (SK_STORE (self), walk.n_foreign);
  sk_store_job_return (job, g_steal_pointer (&items), (GDestroyNotify) g_ptr_array_unref);
  return TRUE;
}

static void
sk_store_dir_list (SkStore *store, const char *prefix, GTask *task)
{
  SkStoreJob *job = sk_store_job_new (task, sk_store_dir_list_run);

  job->name = g_strdup (prefix);
  sk_store_job_push (job, sk_store_pool (store));
}

/* --- remove --- */

static gboolean
sk_store_dir_unlink (SkStoreJob *job, int root, const char *name, gboolean *absent, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (name);
  const char *slash = strrchr (name, '/');
  /* By the parent, which is opened without following links. */
  int dir = sk_store_dir_open_beneath (root, parent, O_PATH | O_DIRECTORY);
  int code = 0;

  if (dir < 0 || unlinkat (dir, slash != NULL ? slash + 1 : name, 0) != 0)
    code = errno;
  if (dir >= 0)
    close (dir);
  *absent |= code == ENOENT || code == ENOTDIR;
  return code == 0 || code == ENOENT || code == ENOTDIR
         || sk_store_dir_fail (SK_STORE_DIR (sk_store_job_store (job)), code, "remove", name,
                               error);
}

static gboolean
sk_store_dir_remove_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreDir *self = SK_STORE_DIR (sk_store_job_store (job));
  gboolean absent = FALSE;
  gboolean ok = TRUE;
  int root = sk_store_dir_open (self, error);

  if (root < 0)
    return FALSE;
  for (guint i = 0; ok && job->names[i] != NULL; i++)
    ok = !g_cancellable_set_error_if_cancelled (cancellable, error)
         && sk_store_dir_unlink (job, root, job->names[i], &absent, error);
  if (ok && absent)
    ok = sk_store_dir_confirm (self, root, error);
  close (root);
  if (ok)
    sk_store_job_return (job, NULL, NULL);
  return ok;
}

static void
sk_store_dir_remove (SkStore *store, const char *const *names, GTask *task)
{
  SkStoreJob *job;

  if (sk_store_refuse_writing (store, task))
    return;
  job = sk_store_job_new (task, sk_store_dir_remove_run);
  job->names = g_strdupv ((char **) names);
  sk_store_job_push (job, sk_store_pool (store));
}

/* --- put and prepare --- */

static void
sk_store_dir_put (SkStore *store, const char *name, GBytes *data, SkPutFlags flags, GTask *task)
{
  SkStoreJob *job;

  if (sk_store_refuse_writing (store, task))
    return;
  job = sk_store_job_new (task, sk_store_dir_put_run);
  job->name = g_strdup (name);
  job->data = g_bytes_ref (data);
  job->flags = flags;
  sk_store_job_push (job, sk_store_pool (store));
}

static gboolean
sk_store_dir_prepare_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  if (!sk_store_dir_prepare (SK_STORE_DIR (sk_store_job_store (job)), error))
    return FALSE;
  sk_store_job_return (job, NULL, NULL);
  return TRUE;
}

static void
sk_store_dir_prepare_start (SkStore *store, GTask *task)
{
  if (!sk_store_refuse_writing (store, task))
    sk_store_job_push (sk_store_job_new (task, sk_store_dir_prepare_run), sk_store_pool (store));
}

/* --- the object --- */

static void
sk_store_dir_finalize (GObject *object)
{
  SkStoreDir *self = SK_STORE_DIR (object);

  g_free (self->location);
  g_free (self->path);
  g_hash_table_unref (self->durable);
  g_ptr_array_unref (self->placing); /* empty: what waits there holds the store */
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (sk_store_dir_parent_class)->finalize (object);
}

static void
sk_store_dir_class_init (SkStoreDirClass *klass)
{
  SkStoreClass *store_class = SK_STORE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sk_store_dir_finalize;
  store_class->put = sk_store_dir_put;
  store_class->get = sk_store_dir_get;
  store_class->list = sk_store_dir_list;
  store_class->remove = sk_store_dir_remove;
  store_class->prepare = sk_store_dir_prepare_start;
}

static void
sk_store_dir_init (SkStoreDir *self)
{
  g_mutex_init (&self->lock);
  self->durable = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->placing = g_ptr_array_new ();
}

SkStore *
sk_store_dir_new (const char *path, const char *uri, const SkId *vault, SkPool *pool)
{
  SkStoreDir *self = g_object_new (SK_TYPE_STORE_DIR, NULL);
  char hex[SK_ID_HEX_SIZE] = "";

  sk_store_bind (SK_STORE (self), uri, vault, pool);
  if (vault != NULL)
    sk_id_format (vault, hex);
  self->location = g_strdup (path);
  self->path = vault != NULL ? g_build_filename (path, hex, NULL) : g_strdup (path);
  return SK_STORE (self);
}
