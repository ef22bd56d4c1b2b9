/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots: so that a device that joins reads the merged state and not its history (FORMAT.md, "Snapshot"). */
#pragma once
#include "sk-flow.h"

/* What the newest own or foreign snapshot of a storage is, kept as a setting per storage. */
typedef struct { SkId writer; guint64 seq; SkHash hash; } SkSnapshotRef;
/* Index thread. */
gboolean sk_snapshot_ref_load (SkSession *session, gint64 storage, SkSnapshotRef *out);
/* Index thread, in a transaction: what is known of snapshots in this storage is not true any more (it was rolled back). */
gboolean sk_snapshot_forget (SkSession *session, gint64 storage, GError **error);

/* Writes one into @storage when the logs have grown by SK_SNAPSHOT_TAIL segments since the last, and one more for every SK_SNAPSHOT_NODES
 * paths; blocking, up's thread. The parts are read back before the snapshot counts (A9). */
#define SK_SNAPSHOT_TAIL 256u
#define SK_SNAPSHOT_NODES 512u
gboolean sk_snapshot_write_if_due (SkSession *session, SkFlowStorage *storage, GCancellable *cancellable, GError **error);

/* Reads the snapshot a head names when that saves reading at least SK_SNAPSHOT_WORTH segments; blocking, down's thread. *@read tells. */
#define SK_SNAPSHOT_WORTH 64u
gboolean sk_snapshot_read (SkSession *session, SkFlowStorage *storage, const SkHead *head, GArray *local, gboolean *read, GPtrArray *problems,
                           GCancellable *cancellable, GError **error);
