/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-store-gio.h"

#include <string.h>

#define N_THREADS 8u /* requests under way at once */

#define LIST_ATTRIBUTES                                                                            \
  G_FILE_ATTRIBUTE_STANDARD_NAME                                                                   \
  "," G_FILE_ATTRIBUTE_STANDARD_TYPE "," G_FILE_ATTRIBUTE_STANDARD_SIZE                            \
  "," G_FILE_ATTRIBUTE_TIME_MODIFIED "," G_FILE_ATTRIBUTE_TIME_MODIFIED_USEC                       \
  "," G_FILE_ATTRIBUTE_ETAG_VALUE

G_DEFINE_FINAL_TYPE (SkStoreGio, sk_store_gio, SK_TYPE_STORE)

static void
sk_store_gio_push (SkStoreJob *job)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  SkPool *pool;

  g_mutex_lock (&self->lock);
  if (self->pool == NULL)
    self->pool = sk_pool_new ("sk-gio", N_THREADS);
  pool = self->pool;
  g_mutex_unlock (&self->lock);
  sk_store_job_push_home (job, pool);
}

/* --- get --- */

static gboolean
sk_store_gio_fetch (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  gboolean whole = job->offset == 0 && job->len == G_MAXUINT64;
  g_autoptr(GBytes) data = NULL;

  data = sk_store_gio_read (self, job->name, job->offset, job->len, job->max_size, cancellable,
                            error);
  if (data == NULL || (whole && !sk_store_verify (job->name, data, error)))
    return FALSE;
  if (whole)
    sk_store_task_set_verified (job->task);
  job->result = g_steal_pointer (&data);
  job->free_result = (GDestroyNotify) g_bytes_unref;
  return TRUE;
}

/* An object counts as absent when it was not found twice with the marker between and after. */
static gboolean
sk_store_gio_fetch_surely (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  g_autoptr(GError) reason = NULL;

  for (guint attempt = 0; attempt < 2; attempt++)
    {
      g_clear_error (&reason);
      if (sk_store_gio_fetch (job, cancellable, &reason))
        return TRUE;
      if (!sk_store_gio_is_absent (reason))
        {
          g_propagate_error (error, g_steal_pointer (&reason));
          return FALSE;
        }
      if (!sk_store_gio_confirm (self, cancellable, error))
        return FALSE;
    }
  return sk_fail (error, SK_ERROR_NOT_FOUND, "Storage “%s” has no “%s”",
                  sk_store_place (SK_STORE (self)), job->name);
}

static gboolean
sk_store_gio_get_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  return sk_store_gio_run (job, sk_store_gio_fetch_surely, "read", cancellable, error);
}

static void
sk_store_gio_get (SkStore *store, const char *name, guint64 offset, guint64 len, guint64 max_size,
                  GTask *task)
{
  SkStoreJob *job = sk_store_job_new (task, sk_store_gio_get_run);

  job->name = g_strdup (name);
  job->offset = offset;
  job->len = len;
  job->max_size = max_size;
  sk_store_gio_push (job);
}

/* --- list --- */

typedef struct
{
  SkStoreGio *self;
  GCancellable *cancellable;
  const char *prefix;
  gboolean markers_only; /* no vault: only "<vault>/skerry.json" counts */
  GPtrArray *items;
  guint n_foreign;
} SkGioWalk;

static gboolean sk_gio_walk (SkGioWalk *walk, GFile *dir, const char *path, guint depth,
                             GError **error);

static void
sk_gio_walk_add (SkGioWalk *walk, const char *path, GFileInfo *info)
{
  g_autoptr(GDateTime) modified = NULL;
  SkStoreItem *item;

  if (!g_str_has_prefix (path, walk->prefix))
    return;
  modified = g_file_info_get_modification_date_time (info);
  item = g_new0 (SkStoreItem, 1);
  item->name = g_strdup (path);
  item->size = (guint64) MAX (g_file_info_get_size (info), 0);
  item->mtime = modified != NULL ? g_date_time_to_unix (modified) * G_USEC_PER_SEC
                                       + g_date_time_get_microsecond (modified)
                                 : -1;
  item->etag = g_strdup (g_file_info_get_etag (info));
  g_ptr_array_add (walk->items, item);
}

/* Without a vault only the markers are looked at, not the objects beside them. */
static void
sk_gio_walk_marker (SkGioWalk *walk, GFile *child, const char *path)
{
  g_autoptr(GFile) file = g_file_get_child (child, SK_STORE_MARKER);
  g_autofree char *name = g_strconcat (path, "/" SK_STORE_MARKER, NULL);
  g_autoptr(GFileInfo) info = NULL;

  info = g_file_query_info (file, LIST_ATTRIBUTES, G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS,
                            walk->cancellable, NULL);
  if (info != NULL && g_file_info_get_file_type (info) == G_FILE_TYPE_REGULAR)
    sk_gio_walk_add (walk, name, info);
}

/* Whether a directory can hold names with the prefix. */
static gboolean
sk_gio_walk_wants (SkGioWalk *walk, const char *path)
{
  gsize len = strlen (path);

  return strlen (walk->prefix) <= len
             ? g_str_has_prefix (path, walk->prefix)
             : strncmp (path, walk->prefix, len) == 0 && walk->prefix[len] == '/';
}

static gboolean
sk_gio_walk_entry (SkGioWalk *walk, GFile *child, GFileInfo *info, const char *path, guint depth,
                   GError **error)
{
  GFileType type = g_file_info_get_file_type (info);

  if (type == G_FILE_TYPE_DIRECTORY && walk->markers_only)
    sk_gio_walk_marker (walk, child, path);
  else if (type == G_FILE_TYPE_DIRECTORY)
    return !sk_gio_walk_wants (walk, path) || sk_gio_walk (walk, child, path, depth + 1, error);
  else if (type == G_FILE_TYPE_REGULAR && !walk->markers_only)
    sk_gio_walk_add (walk, path, info);
  if (walk->items->len > SK_STORE_LIST_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "Storage “%s” has more than %u objects under “%s”",
                    sk_store_place (SK_STORE (walk->self)), SK_STORE_LIST_MAX, walk->prefix);
  return TRUE;
}

static gboolean
sk_gio_walk_child (SkGioWalk *walk, GFile *child, GFileInfo *info, const char *path, guint depth,
                   GError **error)
{
  const char *name = g_file_info_get_name (info);
  g_autofree char *child_path = NULL;

  if (depth == 1 && strcmp (name, SK_STORE_TEMP) == 0)
    return TRUE;
  if (!sk_store_component_ok (name) || depth > SK_STORE_DEPTH_MAX)
    {
      walk->n_foreign++;
      return TRUE;
    }
  child_path = path[0] == '\0' ? g_strdup (name) : g_strconcat (path, "/", name, NULL);
  return sk_gio_walk_entry (walk, child, info, child_path, depth, error);
}

/* A directory that cannot be read fails the whole list: half a list would pass for absence. */
static gboolean
sk_gio_walk (SkGioWalk *walk, GFile *dir, const char *path, guint depth, GError **error)
{
  g_autoptr(GFileEnumerator) children = NULL;
  GFileInfo *info;
  GFile *child;

  children = g_file_enumerate_children (dir, LIST_ATTRIBUTES, G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS,
                                        walk->cancellable, error);
  if (children == NULL)
    return FALSE;
  for (;;)
    {
      if (!g_file_enumerator_iterate (children, &info, &child, walk->cancellable, error))
        return FALSE;
      if (info == NULL)
        return TRUE;
      if (!sk_gio_walk_child (walk, child, info, path, depth, error))
        return FALSE;
    }
}

static int
sk_gio_walk_compare (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(SkStoreItem *const *) a)->name, (*(SkStoreItem *const *) b)->name);
}

/* From the directory that the prefix names. Its absence is an empty list, that of a directory
 * inside is not. */
static gboolean
sk_gio_walk_start (SkGioWalk *walk, GError **error)
{
  const char *slash = strrchr (walk->prefix, '/');
  g_autofree char *path
      = slash != NULL ? g_strndup (walk->prefix, (gsize) (slash - walk->prefix)) : g_strdup ("");
  g_autoptr(GFile) dir
      = path[0] != '\0' ? sk_store_gio_file (walk->self, path) : g_object_ref (walk->self->root);
  g_autoptr(GError) reason = NULL;
  guint depth = path[0] != '\0' ? 2 : 1;

  for (const char *p = path; *p != '\0'; p++)
    depth += *p == '/';
  if (sk_gio_walk (walk, dir, path, depth, &reason))
    return TRUE;
  if (path[0] != '\0' && sk_store_gio_is_absent (reason)
      && !g_file_query_exists (dir, walk->cancellable))
    {
      g_ptr_array_set_size (walk->items, 0);
      return TRUE;
    }
  if (sk_store_gio_is_absent (reason))
    return sk_fail (error, SK_ERROR_OFFLINE, "Storage “%s” went away while it was listed: %s",
                    sk_store_place (SK_STORE (walk->self)), reason->message);
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

static gboolean
sk_store_gio_list_work (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  g_autoptr(GPtrArray) items
      = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_store_item_free);
  SkGioWalk walk
      = { .self = self, .cancellable = cancellable, .prefix = job->name, .items = items };

  walk.markers_only = sk_store_vault (SK_STORE (self)) == NULL;
  if (!sk_gio_walk_start (&walk, error) || !sk_store_gio_confirm (self, cancellable, error))
    return FALSE;
  g_ptr_array_sort (items, sk_gio_walk_compare);
  sk_store_note_foreign (SK_STORE (self), walk.n_foreign);
  job->result = g_steal_pointer (&items);
  job->free_result = (GDestroyNotify) g_ptr_array_unref;
  return TRUE;
}

static gboolean
sk_store_gio_list_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  return sk_store_gio_run (job, sk_store_gio_list_work, "list", cancellable, error);
}

static void
sk_store_gio_list (SkStore *store, const char *prefix, GTask *task)
{
  SkStoreJob *job = sk_store_job_new (task, sk_store_gio_list_run);

  job->name = g_strdup (prefix);
  sk_store_gio_push (job);
}

/* --- remove --- */

static gboolean
sk_store_gio_remove_work (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  gboolean absent = FALSE;

  for (guint i = 0; job->names[i] != NULL; i++)
    {
      g_autoptr(GFile) file = sk_store_gio_file (self, job->names[i]);
      g_autoptr(GError) reason = NULL;

      if (g_file_delete (file, cancellable, &reason))
        continue;
      if (!sk_store_gio_is_absent (reason))
        {
          g_propagate_error (error, g_steal_pointer (&reason));
          return FALSE;
        }
      absent = TRUE;
    }
  return !absent || sk_store_gio_confirm (self, cancellable, error);
}

static gboolean
sk_store_gio_remove_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  return sk_store_gio_run (job, sk_store_gio_remove_work, "remove", cancellable, error);
}

static void
sk_store_gio_remove (SkStore *store, const char *const *names, GTask *task)
{
  SkStoreJob *job;

  if (sk_store_refuse_writing (store, task))
    return;
  job = sk_store_job_new (task, sk_store_gio_remove_run);
  job->names = g_strdupv ((char **) names);
  sk_store_gio_push (job);
}

/* --- put and prepare --- */

static void
sk_store_gio_put (SkStore *store, const char *name, GBytes *data, SkPutFlags flags, GTask *task)
{
  SkStoreJob *job;

  if (sk_store_refuse_writing (store, task))
    return;
  job = sk_store_job_new (task, sk_store_gio_put_run);
  job->name = g_strdup (name);
  job->data = g_bytes_ref (data);
  job->flags = flags;
  sk_store_gio_push (job);
}

static void
sk_store_gio_prepare (SkStore *store, GTask *task)
{
  if (!sk_store_refuse_writing (store, task))
    sk_store_gio_push (sk_store_job_new (task, sk_store_gio_prepare_run));
}

/* --- the object --- */

static void
sk_store_gio_finalize (GObject *object)
{
  SkStoreGio *self = SK_STORE_GIO (object);

  /* Not on one of its threads: its jobs are returned on their callers' contexts. */
  g_clear_pointer (&self->pool, sk_pool_free);
  g_object_unref (self->location);
  g_object_unref (self->root);
  g_mutex_clear (&self->mount_lock);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (sk_store_gio_parent_class)->finalize (object);
}

static void
sk_store_gio_class_init (SkStoreGioClass *klass)
{
  SkStoreClass *store_class = SK_STORE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sk_store_gio_finalize;
  store_class->put = sk_store_gio_put;
  store_class->get = sk_store_gio_get;
  store_class->list = sk_store_gio_list;
  store_class->remove = sk_store_gio_remove;
  store_class->prepare = sk_store_gio_prepare;
}

static void
sk_store_gio_init (SkStoreGio *self)
{
  g_mutex_init (&self->mount_lock);
  g_mutex_init (&self->lock);
}

SkStore *
sk_store_gio_new (const char *uri, const SkId *vault, SkPool *pool)
{
  SkStoreGio *self = g_object_new (SK_TYPE_STORE_GIO, NULL);
  char hex[SK_ID_HEX_SIZE];

  sk_store_bind (SK_STORE (self), uri, vault, pool);
  self->location = g_file_new_for_uri (uri);
  if (vault != NULL)
    {
      sk_id_format (vault, hex);
      self->root = g_file_get_child (self->location, hex);
    }
  else
    self->root = g_object_ref (self->location);
  return SK_STORE (self);
}
