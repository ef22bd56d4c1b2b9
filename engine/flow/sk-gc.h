/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Garbage in a storage. Nothing is locked: a pack is first condemned in the log, and removed later by the device that condemned it, when nobody can
 * have built on it (RULES A2, A3; FORMAT.md, "Garbage"). */
#pragma once
#include "sk-flow.h"

#define SK_GC_RETENTION_S (G_GINT64_CONSTANT (30) * 86400)     /* versions that were replaced are kept this long */
#define SK_GC_GRACE_S (G_GINT64_CONSTANT (86400))               /* between condemning and removing */
#define SK_GC_AWAY_S (G_GINT64_CONSTANT (180) * 86400)          /* a device whose head is older does not hold things up (A3 (d)) */
#define SK_GC_CLOCK_US (G_GINT64_CONSTANT (3600) * G_USEC_PER_SEC)

typedef struct
{
  guint64 packs, condemned, condemned_bytes, kept, removed, removed_bytes;
  char *skipped;                 /* why nothing was done; NULL */
} SkGcResult;
void sk_gc_result_clear (SkGcResult *self);
/* Blocking, task thread; pull before. */
gboolean sk_gc_storage (SkSession *session, SkFlowStorage *storage, gboolean dry_run, SkGcResult *out, GCancellable *cancellable, GError **error);
