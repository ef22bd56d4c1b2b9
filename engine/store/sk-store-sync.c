/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking variants: the async operation on a context of its own, which this thread turns until
 * the answer is there. */
#include "sk-store-private.h"

typedef struct
{
  GMainContext *context;
  GAsyncResult *result;
} SkSync;

static void
sk_sync_begin (SkSync *sync)
{
  sync->context = g_main_context_new ();
  sync->result = NULL;
  g_main_context_push_thread_default (sync->context);
}

static void
sk_sync_ready (GObject *object, GAsyncResult *result, gpointer user_data)
{
  SkSync *sync = user_data;

  sync->result = g_object_ref (result);
}

/* (transfer full) */
static GAsyncResult *
sk_sync_end (SkSync *sync)
{
  while (sync->result == NULL)
    g_main_context_iteration (sync->context, TRUE);
  g_main_context_pop_thread_default (sync->context);
  g_main_context_unref (sync->context);
  return sync->result;
}

gboolean
sk_store_put_sync (SkStore *self, const char *name, GBytes *data, SkPutFlags flags,
                   GCancellable *cancellable, GError **error)
{
  g_autoptr(GAsyncResult) result = NULL;
  SkSync sync;

  sk_sync_begin (&sync);
  sk_store_put_async (self, name, data, flags, cancellable, sk_sync_ready, &sync);
  result = sk_sync_end (&sync);
  return sk_store_put_finish (self, result, error);
}

GBytes *
sk_store_get_sync (SkStore *self, const char *name, guint64 max_size, GCancellable *cancellable,
                   GError **error)
{
  g_autoptr(GAsyncResult) result = NULL;
  SkSync sync;

  sk_sync_begin (&sync);
  sk_store_get_async (self, name, max_size, cancellable, sk_sync_ready, &sync);
  result = sk_sync_end (&sync);
  return sk_store_get_finish (self, result, error);
}

GBytes *
sk_store_get_range_sync (SkStore *self, const char *name, guint64 offset, guint64 len,
                         GCancellable *cancellable, GError **error)
{
  g_autoptr(GAsyncResult) result = NULL;
  SkSync sync;

  sk_sync_begin (&sync);
  sk_store_get_range_async (self, name, offset, len, cancellable, sk_sync_ready, &sync);
  result = sk_sync_end (&sync);
  return sk_store_get_finish (self, result, error);
}

GPtrArray *
sk_store_list_sync (SkStore *self, const char *prefix, GCancellable *cancellable, GError **error)
{
  g_autoptr(GAsyncResult) result = NULL;
  SkSync sync;

  sk_sync_begin (&sync);
  sk_store_list_async (self, prefix, cancellable, sk_sync_ready, &sync);
  result = sk_sync_end (&sync);
  return sk_store_list_finish (self, result, error);
}

gboolean
sk_store_remove_sync (SkStore *self, const char *const *names, GCancellable *cancellable,
                      GError **error)
{
  g_autoptr(GAsyncResult) result = NULL;
  SkSync sync;

  sk_sync_begin (&sync);
  sk_store_remove_async (self, names, cancellable, sk_sync_ready, &sync);
  result = sk_sync_end (&sync);
  return sk_store_remove_finish (self, result, error);
}

gboolean
sk_store_prepare_sync (SkStore *self, GCancellable *cancellable, GError **error)
{
  g_autoptr(GAsyncResult) result = NULL;
  SkSync sync;

  sk_sync_begin (&sync);
  sk_store_prepare_async (self, cancellable, sk_sync_ready, &sync);
  result = sk_sync_end (&sync);
  return sk_store_prepare_finish (self, result, error);
}
