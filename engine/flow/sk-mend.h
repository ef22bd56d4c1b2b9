/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a storage needs besides packs, and what every device can put there again, byte for byte or with the same keys: segments of the logs, the
 * object of the current epoch (without it the recovery phrase opens nothing), the own list of members and, as another one, the newest snapshot;
 * older epochs only where another storage has them. Blocking; task threads. */
#pragma once
#include "sk-flow.h"

typedef enum
{
  SK_MEND_READ = 1 << 0, /* segments and parts of snapshots are read back; else a LIST and their sizes have to do */
  SK_MEND_PUT = 1 << 1,  /* what is missing or damaged is put again */
} SkMendFlags;

/* @name: of the object; @why: what is wrong with it, and why it could not be put again. */
typedef void (*SkMendFunc) (const SkFlowStorage *storage, const char *name, const char *why, gboolean mended, gpointer user_data);

typedef struct { guint64 objects, bytes; } SkMendCount;

/* Looks at what this device put into @storage or has read there; @found hears of all that is wrong. FALSE: the storage cannot be read. */
gboolean sk_mend_storage (SkSession *session, SkFlowStorage *storage, SkMendFlags flags, SkMendFunc found, gpointer user_data, SkMendCount *count,
                          GCancellable *cancellable, GError **error);
