/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A named thread with a GMainContext of its own (pushed thread-default). Functions posted to it run there in order. The
 * index thread, the engine thread and the flow threads are workers. */
#pragma once
#include <gio/gio.h>

typedef struct _SkWorker SkWorker;
typedef void (*SkFunc) (gpointer data);
SkWorker *sk_worker_new (const char *name);
/* Runs @func (data) on the worker's thread, in order; then @free_data. Any thread. */
void sk_worker_push (SkWorker *self, SkFunc func, gpointer data, GDestroyNotify free_data);
/* The same and waits until it ran. Not from the worker itself (asserted). */
void sk_worker_call (SkWorker *self, SkFunc func, gpointer data);
GMainContext *sk_worker_context (SkWorker *self);
gboolean sk_worker_is_current (SkWorker *self);
/* Runs what is queued, then ends and joins the thread. Later pushes free their data. One thread. */
void sk_worker_end (SkWorker *self);
/* The same if that was not done yet; frees the worker. */
void sk_worker_stop (SkWorker *self);
