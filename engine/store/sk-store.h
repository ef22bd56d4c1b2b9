/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A place that holds opaque objects. Async operations may be started on any thread with a thread-default context; the
 * callback arrives there. Blocking variants (…_sync) are for flow and task threads only. Names are relative to the
 * vault's prefix in the storage ("packs/ab/…"); get verifies objects whose name carries their hash before it returns. */
#pragma once
#include <gio/gio.h>
#include "sk-error.h"
#include "sk-id.h"
#include "sk-pool.h"

#define SK_TYPE_STORE (sk_store_get_type ())
G_DECLARE_DERIVABLE_TYPE (SkStore, sk_store, SK, STORE, GObject)

typedef struct { char *name; guint64 size; gint64 mtime; char *etag; } SkStoreItem;
void sk_store_item_free (SkStoreItem *self);

typedef enum { SK_PUT_NONE = 0, SK_PUT_OVERWRITE = 1 << 0 /* only heads and presence */ } SkPutFlags;

struct _SkStoreClass
{
  GObjectClass parent_class;
  /* One vfunc per operation; each implementation returns through the GTask. */
  void (*put) (SkStore *self, const char *name, GBytes *data, SkPutFlags flags, GTask *task);
  void (*get) (SkStore *self, const char *name, guint64 offset, guint64 len /* G_MAXUINT64: to the end */, guint64 max_size, GTask *task);
  void (*list) (SkStore *self, const char *prefix, GTask *task);
  void (*remove) (SkStore *self, const char *const *names, GTask *task);
};

/* file: URI, plain path, or any GIO location. The vault's objects lie under "<location>/<vault hex>/". @vault NULL: the
 * location itself, to look for markers. Opening does no I/O. */
SkStore *sk_store_new (const char *uri, const SkId *vault, SkPool *disk_pool, GError **error);
const char *sk_store_uri (SkStore *self);

void sk_store_put_async (SkStore *self, const char *name, GBytes *data, SkPutFlags flags, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/* An object that exists already under a content name is success. */
gboolean sk_store_put_finish (SkStore *self, GAsyncResult *result, GError **error);
void sk_store_get_async (SkStore *self, const char *name, guint64 max_size, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
void sk_store_get_range_async (SkStore *self, const char *name, guint64 offset, guint64 len, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GBytes *sk_store_get_finish (SkStore *self, GAsyncResult *result, GError **error);      /* both gets */
void sk_store_list_async (SkStore *self, const char *prefix, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *sk_store_list_finish (SkStore *self, GAsyncResult *result, GError **error);  /* of SkStoreItem, recursive, full names */
void sk_store_remove_async (SkStore *self, const char *const *names, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean sk_store_remove_finish (SkStore *self, GAsyncResult *result, GError **error);  /* absent is success */

gboolean sk_store_put_sync (SkStore *self, const char *name, GBytes *data, SkPutFlags flags, GCancellable *cancellable, GError **error);
GBytes *sk_store_get_sync (SkStore *self, const char *name, guint64 max_size, GCancellable *cancellable, GError **error);
GBytes *sk_store_get_range_sync (SkStore *self, const char *name, guint64 offset, guint64 len, GCancellable *cancellable, GError **error);
GPtrArray *sk_store_list_sync (SkStore *self, const char *prefix, GCancellable *cancellable, GError **error);
gboolean sk_store_remove_sync (SkStore *self, const char *const *names, GCancellable *cancellable, GError **error);

/* Counters since creation: requests and bytes per direction. Any thread. */
typedef struct { guint64 puts, gets, lists, removes, bytes_up, bytes_down, errors; } SkStoreCounters;
void sk_store_counters (SkStore *self, SkStoreCounters *out);

/* --- the marker "skerry.json": plain, the last object of 'storage add' (RULES C11) --- */
typedef struct { guint format; SkId vault, storage; } SkStoreMarker;
GBytes *sk_store_marker_build (const SkStoreMarker *marker);
gboolean sk_store_marker_parse (GBytes *data, SkStoreMarker *out, GError **error);
/* SK_ERROR_OFFLINE with the reason when the marker is missing or names another vault or storage; never re-initialises. */
gboolean sk_store_check_marker_sync (SkStore *self, const SkId *vault, const SkId *storage, GCancellable *cancellable, GError **error);
/* Vault ids that have a marker under this location. (transfer container of SkStoreMarker*) */
GPtrArray *sk_store_find_vaults_sync (SkStore *location, GCancellable *cancellable, GError **error);
