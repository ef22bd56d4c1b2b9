/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage at any place that GIO reaches through gvfs: sftp:, smb:, dav: and others.
 *
 * The calls are the blocking ones of GFile, in a few threads of this store's own. GIO has no asynchronous form of seeking,
 * and its asynchronous moves and file operations are these blocking calls in a pool that the whole process shares, TLS
 * handshakes included (RULES C4). Each request is a round trip to a far place, so there are more threads than for a disk.
 *
 * A far place has no descriptor to hold on to: before "not found" is said, the marker is read again and the object is
 * asked for once more. What a server has taken counts as durable; gvfs has no way to ask for more. */
#pragma once
#include "sk-store-job.h"

#define SK_TYPE_STORE_GIO (sk_store_gio_get_type ())
G_DECLARE_FINAL_TYPE (SkStoreGio, sk_store_gio, SK, STORE_GIO, SkStore)

struct _SkStoreGio
{
  SkStore parent_instance;
  GFile *location;
  GFile *root;              /* the vault's directory; the location when there is no vault */

  GMutex mount_lock;        /* held while mounting: one thread does it, the others wait */
  GMutex lock;              /* guards what follows */
  SkPool *pool;             /* made with the first operation */
  gboolean checked;         /* mounted, and the marker was read */
  gboolean unmarked;        /* prepared, no marker yet */
};

/* All of these are for the store's own threads. Errors are GIO's or ours; sk_store_gio_run() makes them ours. */

/* Runs @work where the storage is there; once more when its mount turns out to be gone. */
gboolean sk_store_gio_run (SkStoreJob *job, SkStoreJobFunc work, const char *what, GCancellable *cancellable, GError **error);
/* Makes the directory of a new storage. SK_ERROR_EXISTS when it has a marker. */
gboolean sk_store_gio_prepare_run (SkStoreJob *job, GCancellable *cancellable, GError **error);
/* Whether the marker is there and ours, before an answer is given that something is absent. */
gboolean sk_store_gio_confirm (SkStoreGio *self, GCancellable *cancellable, GError **error);
/* The marker of a prepared storage was written. */
void sk_store_gio_marked (SkStoreGio *self);
/* A whole object of at most @max_size bytes, or @len bytes of it from @offset. */
GBytes *sk_store_gio_read (SkStoreGio *self, const char *name, guint64 offset, guint64 len, guint64 max_size, GCancellable *cancellable, GError **error);
/* Whether the error says that there is no such object. */
gboolean sk_store_gio_is_absent (const GError *error);
GFile *sk_store_gio_file (SkStoreGio *self, const char *name);
/* Makes @dir and those above it; TRUE when it is there. */
gboolean sk_store_gio_make (GFile *dir, GCancellable *cancellable, GError **error);

/* --- sk-store-gio-put.c --- */
gboolean sk_store_gio_put_run (SkStoreJob *job, GCancellable *cancellable, GError **error);
