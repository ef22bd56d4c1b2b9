/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front that all kinds of storage share: it checks names, bounds and hashes and counts, so that
 * no kind can forget to. Each operation has two tasks: the caller's, and an inner one that the kind
 * returns; what comes back through the inner one is looked at on the caller's context before the
 * caller gets it. */
#include "sk-store-private.h"

#include "sk-limits.h"

typedef struct
{
  char *uri;
  char *place;
  gboolean has_vault;
  SkId vault;
  SkPool *pool; /* not owned: pools end after stores */

  GMutex lock; /* guards what follows */
  gboolean has_storage;
  SkId storage;
  gboolean told_foreign; /* names that are not ours were reported once */
  SkStoreCounters counters;
} SkStorePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (SkStore, sk_store, G_TYPE_OBJECT)

void
sk_store_item_free (SkStoreItem *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->etag);
  g_free (self);
}

static void
sk_store_finalize (GObject *object)
{
  SkStorePrivate *priv = sk_store_get_instance_private (SK_STORE (object));

  g_free (priv->uri);
  g_free (priv->place);
  g_mutex_clear (&priv->lock);
  G_OBJECT_CLASS (sk_store_parent_class)->finalize (object);
}

static void
sk_store_class_init (SkStoreClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sk_store_finalize;
}

static void
sk_store_init (SkStore *self)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  g_mutex_init (&priv->lock);
}

/* --- what a store is --- */

void
sk_store_bind (SkStore *self, const char *uri, const SkId *vault, SkPool *pool)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  g_return_if_fail (priv->uri == NULL);

  priv->uri = g_strdup (uri);
  priv->has_vault = vault != NULL;
  if (vault != NULL)
    priv->vault = *vault;
  priv->pool = pool;
  priv->place = g_str_has_prefix (uri, "file:") ? g_filename_from_uri (uri, NULL, NULL) : NULL;
  if (priv->place != NULL || uri[0] == '/')
    {
      g_autofree char *path = g_steal_pointer (&priv->place);

      priv->place = g_filename_display_name (path != NULL ? path : uri);
    }
  else
    priv->place = g_utf8_make_valid (uri, -1);
}

const char *
sk_store_uri (SkStore *self)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  return priv->uri;
}

const char *
sk_store_place (SkStore *self)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  return priv->place;
}

const SkId *
sk_store_vault (SkStore *self)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  return priv->has_vault ? &priv->vault : NULL;
}

SkPool *
sk_store_pool (SkStore *self)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  return priv->pool;
}

gboolean
sk_store_expected (SkStore *self, SkId *out)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);
  gboolean has_storage;

  g_mutex_lock (&priv->lock);
  has_storage = priv->has_storage;
  *out = priv->storage;
  g_mutex_unlock (&priv->lock);
  return has_storage;
}

void
sk_store_expect (SkStore *self, const SkId *storage)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  priv->has_storage = TRUE;
  priv->storage = *storage;
  g_mutex_unlock (&priv->lock);
}

/* A location without a vault is there to be looked at. */
gboolean
sk_store_refuse_writing (SkStore *self, GTask *task)
{
  if (sk_store_vault (self) != NULL)
    return FALSE;
  g_task_return_new_error (task, SK_ERROR, SK_ERROR_USAGE,
                           "“%s” was opened without a vault, only to look for some",
                           sk_store_place (self));
  return TRUE;
}

/* --- counting and returning --- */

typedef enum
{
  COUNT_PUT,
  COUNT_GET,
  COUNT_LIST,
  COUNT_REMOVE,
  COUNT_UP,
  COUNT_DOWN,
  COUNT_ERROR
} SkStoreCount;

static void
sk_store_count (SkStore *self, SkStoreCount what, guint64 n)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);
  guint64 *fields[] = {
    [COUNT_PUT] = &priv->counters.puts,     [COUNT_GET] = &priv->counters.gets,
    [COUNT_LIST] = &priv->counters.lists,   [COUNT_REMOVE] = &priv->counters.removes,
    [COUNT_UP] = &priv->counters.bytes_up,  [COUNT_DOWN] = &priv->counters.bytes_down,
    [COUNT_ERROR] = &priv->counters.errors,
  };

  g_mutex_lock (&priv->lock);
  *fields[what] += n;
  g_mutex_unlock (&priv->lock);
}

void
sk_store_counters (SkStore *self, SkStoreCounters *out)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  *out = priv->counters;
  g_mutex_unlock (&priv->lock);
}

static GTask *
sk_store_begin (SkStore *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                gpointer user_data, gpointer tag)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, tag);
  /* What was done is reported as done, also when somebody cancelled meanwhile. */
  g_task_set_check_cancellable (task, FALSE);
  return task;
}

/* The task that the implementation returns; its callback gets @outer (transfer full). */
static GTask *
sk_store_inner (SkStore *self, GTask *outer, GAsyncReadyCallback callback)
{
  GTask *task = g_task_new (self, g_task_get_cancellable (outer), callback, outer);

  g_task_set_check_cancellable (task, FALSE);
  return task;
}

static void
sk_store_return_error (GTask *outer, GError *error)
{
  g_autoptr(GError) owned = error;
  SkStore *self = g_task_get_source_object (outer);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      g_task_return_new_error (outer, SK_ERROR, SK_ERROR_CANCELLED, "The operation was cancelled");
      return;
    }
  if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED)
      && !g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND))
    sk_store_count (self, COUNT_ERROR, 1);
  g_task_return_error (outer, g_steal_pointer (&owned));
}

static void
sk_store_boolean_ready (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr(GTask) outer = user_data;
  g_autoptr(GError) error = NULL;

  if (!g_task_propagate_boolean (G_TASK (result), &error))
    {
      sk_store_return_error (outer, g_steal_pointer (&error));
      return;
    }
  sk_store_count (SK_STORE (object), COUNT_UP, GPOINTER_TO_SIZE (g_task_get_task_data (outer)));
  g_task_return_boolean (outer, TRUE);
}

static gboolean
sk_store_propagate_boolean (SkStore *self, GAsyncResult *result, gpointer tag, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_task_get_source_tag (G_TASK (result)) == tag, FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/* --- put --- */

void
sk_store_put_async (SkStore *self, const char *name, GBytes *data, SkPutFlags flags,
                    GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr(GTask) outer
      = sk_store_begin (self, cancellable, callback, user_data, sk_store_put_async);
  g_autoptr(GTask) inner = NULL;
  GError *error = NULL;

  sk_store_count (self, COUNT_PUT, 1);
  g_task_set_task_data (outer, GSIZE_TO_POINTER (g_bytes_get_size (data)), NULL);
  if (!sk_store_name_check (name, &error))
    {
      sk_store_return_error (outer, error);
      return;
    }
  inner = sk_store_inner (self, g_steal_pointer (&outer), sk_store_boolean_ready);
  SK_STORE_GET_CLASS (self)->put (self, name, data, flags, inner);
}

gboolean
sk_store_put_finish (SkStore *self, GAsyncResult *result, GError **error)
{
  return sk_store_propagate_boolean (self, result, sk_store_put_async, error);
}

/* --- get --- */

typedef struct
{
  char *name;
  guint64 offset;
  guint64 len; /* G_MAXUINT64: to the end */
  guint64 max_size;
  gboolean whole;
  GBytes *data;
  GError *error;
  gboolean returned;
} SkStoreGet;

static void
sk_store_get_free (gpointer data)
{
  SkStoreGet *get = data;

  g_free (get->name);
  g_clear_pointer (&get->data, g_bytes_unref);
  g_clear_error (&get->error);
  g_free (get);
}

/* pool thread, or the caller's when the store has no pool */
static void
sk_store_get_verify (gpointer task)
{
  SkStoreGet *get = g_task_get_task_data (task);

  if (!sk_store_verify (get->name, get->data, &get->error))
    g_clear_pointer (&get->data, g_bytes_unref);
}

static void
sk_store_get_return (gpointer task)
{
  SkStoreGet *get = g_task_get_task_data (task);

  get->returned = TRUE;
  if (get->error != NULL)
    {
      sk_store_return_error (task, g_steal_pointer (&get->error));
      return;
    }
  sk_store_count (g_task_get_source_object (task), COUNT_DOWN, g_bytes_get_size (get->data));
  g_task_return_pointer (task, g_steal_pointer (&get->data), (GDestroyNotify) g_bytes_unref);
}

/* Also reached when the pool ended before it verified. */
static void
sk_store_get_unref (gpointer task)
{
  SkStoreGet *get = g_task_get_task_data (task);

  if (!get->returned)
    g_task_return_new_error (task, SK_ERROR, SK_ERROR_CANCELLED, "The storage is being closed");
  g_object_unref (task);
}

static gboolean
sk_store_get_check_size (SkStoreGet *get, GError **error)
{
  gsize size = g_bytes_get_size (get->data);

  if (size > get->max_size)
    return sk_fail (error, SK_ERROR_LIMIT,
                    "The stored object “%s” is larger than the %" G_GUINT64_FORMAT
                    " bytes that it may have",
                    get->name, get->max_size);
  if (get->len != G_MAXUINT64 && size != get->len)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The stored object “%s” ends early: %" G_GSIZE_FORMAT " of %" G_GUINT64_FORMAT
                    " bytes from position %" G_GUINT64_FORMAT,
                    get->name, size, get->len, get->offset);
  return TRUE;
}

static gboolean
sk_store_task_is_verified (GTask *task)
{
  return g_object_get_data (G_OBJECT (task), "sk-verified") != NULL;
}

void
sk_store_task_set_verified (GTask *task)
{
  g_object_set_data (G_OBJECT (task), "sk-verified", GINT_TO_POINTER (TRUE));
}

static void
sk_store_get_ready (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr(GTask) outer = user_data;
  SkStoreGet *get = g_task_get_task_data (outer);
  SkPool *pool = sk_store_pool (SK_STORE (object));
  gboolean verify;

  get->data = g_task_propagate_pointer (G_TASK (result), &get->error);
  if (get->data != NULL && !sk_store_get_check_size (get, &get->error))
    g_clear_pointer (&get->data, g_bytes_unref);
  verify = get->data != NULL && get->whole && sk_store_name_is_content (get->name)
           && !sk_store_task_is_verified (G_TASK (result));

  if (verify && pool != NULL)
    {
      sk_pool_push (pool, sk_store_get_verify, sk_store_get_return, g_steal_pointer (&outer),
                    sk_store_get_unref, NULL, NULL);
      return;
    }
  if (verify)
    sk_store_get_verify (outer);
  sk_store_get_return (outer);
}

static void
sk_store_get_start (SkStore *self, SkStoreGet *get, GTask *task)
{
  g_autoptr(GTask) outer = task;
  g_autoptr(GTask) inner = NULL;
  GError *error = NULL;

  sk_store_count (self, COUNT_GET, 1);
  g_task_set_task_data (outer, get, sk_store_get_free);
  if (!sk_store_name_check (get->name, &error))
    {
      sk_store_return_error (outer, error);
      return;
    }
  inner = sk_store_inner (self, g_steal_pointer (&outer), sk_store_get_ready);
  SK_STORE_GET_CLASS (self)->get (self, get->name, get->offset, get->len, get->max_size, inner);
}

void
sk_store_get_async (SkStore *self, const char *name, guint64 max_size, GCancellable *cancellable,
                    GAsyncReadyCallback callback, gpointer user_data)
{
  SkStoreGet *get = g_new0 (SkStoreGet, 1);

  get->name = g_strdup (name);
  get->len = G_MAXUINT64;
  get->max_size = max_size;
  get->whole = TRUE;
  sk_store_get_start (self, get,
                      sk_store_begin (self, cancellable, callback, user_data, sk_store_get_async));
}

void
sk_store_get_range_async (SkStore *self, const char *name, guint64 offset, guint64 len,
                          GCancellable *cancellable, GAsyncReadyCallback callback,
                          gpointer user_data)
{
  SkStoreGet *get = g_new0 (SkStoreGet, 1);

  get->name = g_strdup (name);
  get->offset = offset;
  get->len = len;
  /* No object is larger than a segment, so no part of one is. */
  get->max_size = MIN (len, SK_SEGMENT_SIZE_MAX);
  sk_store_get_start (self, get,
                      sk_store_begin (self, cancellable, callback, user_data, sk_store_get_async));
}

GBytes *
sk_store_get_finish (SkStore *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_task_get_source_tag (G_TASK (result)) == sk_store_get_async, NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- list --- */

void
sk_store_note_foreign (SkStore *self, guint n)
{
  SkStorePrivate *priv = sk_store_get_instance_private (self);
  gboolean tell;

  g_mutex_lock (&priv->lock);
  tell = n > 0 && !priv->told_foreign;
  priv->told_foreign |= tell;
  g_mutex_unlock (&priv->lock);
  if (tell)
    g_message ("Storage “%s”: %u names that are not Skerry's are ignored", priv->place, n);
}

/* A person's own files may lie in a storage, and a server may offer anything: what is no name of
 * ours is left out (B061). */
static void
sk_store_list_filter (SkStore *self, const char *prefix, GPtrArray *items)
{
  guint n_kept = 0;

  for (guint i = 0; i < items->len; i++)
    {
      SkStoreItem *item = g_ptr_array_index (items, i);

      if (!sk_store_name_check (item->name, NULL) || !g_str_has_prefix (item->name, prefix))
        sk_store_item_free (item);
      else
        items->pdata[n_kept++] = item;
    }
  sk_store_note_foreign (self, items->len - n_kept);

  /* The ones beyond are freed already. */
  g_ptr_array_set_free_func (items, NULL);
  g_ptr_array_set_size (items, (int) n_kept);
  g_ptr_array_set_free_func (items, (GDestroyNotify) sk_store_item_free);
}

static void
sk_store_list_ready (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr(GTask) outer = user_data;
  g_autoptr(GPtrArray) items = NULL;
  GError *error = NULL;

  items = g_task_propagate_pointer (G_TASK (result), &error);
  if (items == NULL)
    {
      sk_store_return_error (outer, error);
      return;
    }
  sk_store_list_filter (SK_STORE (object), g_task_get_task_data (outer), items);
  g_task_return_pointer (outer, g_steal_pointer (&items), (GDestroyNotify) g_ptr_array_unref);
}

void
sk_store_list_async (SkStore *self, const char *prefix, GCancellable *cancellable,
                     GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr(GTask) outer
      = sk_store_begin (self, cancellable, callback, user_data, sk_store_list_async);
  g_autoptr(GTask) inner = NULL;
  GError *error = NULL;

  sk_store_count (self, COUNT_LIST, 1);
  g_task_set_task_data (outer, g_strdup (prefix), g_free);
  if (!sk_store_prefix_check (prefix, &error))
    {
      sk_store_return_error (outer, error);
      return;
    }
  inner = sk_store_inner (self, g_steal_pointer (&outer), sk_store_list_ready);
  SK_STORE_GET_CLASS (self)->list (self, prefix, inner);
}

GPtrArray *
sk_store_list_finish (SkStore *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_task_get_source_tag (G_TASK (result)) == sk_store_list_async, NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- remove and prepare --- */

void
sk_store_remove_async (SkStore *self, const char *const *names, GCancellable *cancellable,
                       GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr(GTask) outer
      = sk_store_begin (self, cancellable, callback, user_data, sk_store_remove_async);
  g_autoptr(GTask) inner = NULL;
  GError *error = NULL;

  sk_store_count (self, COUNT_REMOVE, 1);
  for (guint i = 0; names[i] != NULL; i++)
    {
      if (!sk_store_name_check (names[i], &error))
        {
          sk_store_return_error (outer, error);
          return;
        }
    }
  inner = sk_store_inner (self, g_steal_pointer (&outer), sk_store_boolean_ready);
  SK_STORE_GET_CLASS (self)->remove (self, names, inner);
}

gboolean
sk_store_remove_finish (SkStore *self, GAsyncResult *result, GError **error)
{
  return sk_store_propagate_boolean (self, result, sk_store_remove_async, error);
}

void
sk_store_prepare_async (SkStore *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                        gpointer user_data)
{
  g_autoptr(GTask) outer
      = sk_store_begin (self, cancellable, callback, user_data, sk_store_prepare_async);
  g_autoptr(GTask) inner = NULL;

  if (SK_STORE_GET_CLASS (self)->prepare == NULL)
    {
      g_task_return_boolean (outer, TRUE);
      return;
    }
  inner = sk_store_inner (self, g_steal_pointer (&outer), sk_store_boolean_ready);
  SK_STORE_GET_CLASS (self)->prepare (self, inner);
}

gboolean
sk_store_prepare_finish (SkStore *self, GAsyncResult *result, GError **error)
{
  return sk_store_propagate_boolean (self, result, sk_store_prepare_async, error);
}
