/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A place that holds opaque objects. Async operations may be started on any thread with a thread-default context; the
 * callback arrives there. Blocking variants (…_sync) are for flow and task threads only. Names are relative to the
 * vault's prefix in the storage ("packs/ab/…"); get verifies objects whose name carries their hash before it returns.
 *
 * Errors: SK_ERROR_NOT_FOUND means that the storage is there and the object is not. A storage that is not there, or whose
 * marker is missing or foreign, is SK_ERROR_OFFLINE for every operation, and never an empty list (B003, B004).
 * NO_SPACE, PERMISSION, IO and CORRUPT as they say; LIMIT: the object is larger than the caller allows; USAGE: a name that
 * is none ([A-Za-z0-9._-] in components, no "." or "..", at most 512 bytes); CANCELLED. */
#pragma once
#include <gio/gio.h>
#include "sk-error.h"
#include "sk-id.h"
#include "sk-pool.h"

#define SK_TYPE_STORE (sk_store_get_type ())
G_DECLARE_DERIVABLE_TYPE (SkStore, sk_store, SK, STORE, GObject)

/* @mtime in µs since 1970, -1 unknown; @etag NULL, or a string that differs when the object was replaced. */
typedef struct { char *name; guint64 size; gint64 mtime; char *etag; } SkStoreItem;
void sk_store_item_free (SkStoreItem *self);

typedef enum { SK_PUT_NONE = 0, SK_PUT_OVERWRITE = 1 << 0 /* only heads and presence */ } SkPutFlags;

struct _SkStoreClass
{
  GObjectClass parent_class;
  /* One vfunc per operation; each implementation returns through the GTask (transfer none: it takes its own reference),
   * on any thread: booleans, a GBytes for get, a GPtrArray of SkStoreItem for list. Names were checked; hashes, bounds and
   * foreign names in lists are checked by the front. Strings are the caller's and end with the call. */
  void (*put) (SkStore *self, const char *name, GBytes *data, SkPutFlags flags, GTask *task);
  void (*get) (SkStore *self, const char *name, guint64 offset, guint64 len /* G_MAXUINT64: to the end */, guint64 max_size, GTask *task);
  void (*list) (SkStore *self, const char *prefix, GTask *task);
  void (*remove) (SkStore *self, const char *const *names, GTask *task);
  /* Makes the place for a new storage and from then on lets operations through although there is no marker yet.
   * SK_ERROR_EXISTS when there is one. NULL: objects need no place. */
  void (*prepare) (SkStore *self, GTask *task);
};

/* file: URI, plain path, or any GIO location. The vault's objects lie under "<location>/<vault hex>/". @vault NULL: the
 * location itself, to look for markers. Opening does no I/O. */
SkStore *sk_store_new (const char *uri, const SkId *vault, SkPool *disk_pool, GError **error);
const char *sk_store_uri (SkStore *self);
/* For implementations outside of this layer, once after g_object_new(). @vault may be NULL, @pool may be NULL. */
void sk_store_bind (SkStore *self, const char *uri, const SkId *vault, SkPool *pool);

void sk_store_put_async (SkStore *self, const char *name, GBytes *data, SkPutFlags flags, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/* An object that exists already with the same bytes is success; one under a content name with other bytes is damaged and
 * replaced; any other one is SK_ERROR_EXISTS without SK_PUT_OVERWRITE. Returns when the object is durable. */
gboolean sk_store_put_finish (SkStore *self, GAsyncResult *result, GError **error);
void sk_store_get_async (SkStore *self, const char *name, guint64 max_size, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/* Exactly @len bytes (a shorter object is SK_ERROR_CORRUPT), or from @offset to the end with G_MAXUINT64. Not verified. */
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
/* Makes the place for a new storage's first objects; operations work from then on. SK_ERROR_EXISTS when there is a marker. */
gboolean sk_store_prepare_sync (SkStore *self, GCancellable *cancellable, GError **error);
/* The last step of a new storage: prepares it unless that was done, writes the marker after everything else and reads it
 * back (C11). SK_ERROR_EXISTS when there is a marker already. */
gboolean sk_store_initialise_sync (SkStore *self, const SkStoreMarker *marker, GCancellable *cancellable, GError **error);
/* SK_ERROR_OFFLINE with the reason when the marker is missing or names another vault or storage; never re-initialises.
 * @vault and @storage may be NULL (any). From then on every operation expects @storage here. */
gboolean sk_store_check_marker_sync (SkStore *self, const SkId *vault, const SkId *storage, GCancellable *cancellable, GError **error);
/* Vault ids that have a marker under this location (a store opened with vault NULL). (transfer full) of SkStoreMarker* */
GPtrArray *sk_store_find_vaults_sync (SkStore *location, GCancellable *cancellable, GError **error);
