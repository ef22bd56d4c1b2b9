/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one read of the watcher brought, each path once. Pure; the watcher's thread. */
#pragma once
#include "sk-watcher.h"

typedef struct { SkWatchEvent event; char *path, *other; } SkWatchReport;
typedef struct
{
  GPtrArray *reports;      /* SkWatchReport */
  GHashTable *latest;      /* path (of its report) -> SkWatchReport, DIRTY or WRITING, since the last move */
} SkWatchBatch;

void sk_watch_batch_init (SkWatchBatch *self);
void sk_watch_batch_clear (SkWatchBatch *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkWatchBatch, sk_watch_batch_clear)
/* (transfer full) @path and @other. A later DIRTY or WRITING of a path replaces the earlier one, unless something was moved between
 * the two: then names may have changed their meaning. */
void sk_watch_batch_add (SkWatchBatch *self, SkWatchEvent event, char *path, char *other);
