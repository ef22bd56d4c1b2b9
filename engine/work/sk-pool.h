/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bounded pool of threads for blocking work (disk) or arithmetic (cpu). */
#pragma once
#include "sk-worker.h"

typedef struct _SkPool SkPool;
/* Exclusive threads. */
SkPool *sk_pool_new (const char *name, guint n_threads);
/* Jobs run from low-priority sources: deterministic, for tests. A job runs on the context that was given or that gets its
 * done, so that a blocking call that turns a context of its own gets on; one that has neither runs on @context. */
SkPool *sk_pool_new_inline (GMainContext *context);
/* @run on a pool thread (skipped when @cancellable is cancelled by then); then @done on @context (NULL: the caller's
 * thread-default), always, unless the pool was freed before, in which case only @free_data is called. @done may be NULL.
 * @free_data after @done, on the same thread (on the pool thread when there is no @done). Order of completion is not the order of pushing. */
void sk_pool_push (SkPool *self, SkFunc run, SkFunc done, gpointer data, GDestroyNotify free_data, GCancellable *cancellable, GMainContext *context);
guint sk_pool_pending (SkPool *self);       /* queued and running */
guint sk_pool_threads (SkPool *self);
/* Waits for running jobs; queued ones, and those whose done has not been called, are dropped through free_data. Not from
 * a run. */
void sk_pool_free (SkPool *self);
