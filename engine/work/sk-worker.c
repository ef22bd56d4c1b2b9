/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-worker.h"

#include "sk-mailbox.h"

typedef struct
{
  SkFunc func;          /* NULL: the last message, end the thread */
  gpointer data;
  GDestroyNotify free_data;
} SkWorkerMessage;

struct _SkWorker
{
  GThread *thread;
  GMainContext *context;
  SkMailbox *mailbox;
  gboolean running;     /* worker thread only, after the start */

  GMutex lock;
  gboolean stopping;    /* guarded by lock: nothing is queued behind the last message */
};

static void
sk_worker_message_free (gpointer data)
{
  SkWorkerMessage *message = data;

  if (message->free_data != NULL)
    message->free_data (message->data);
  g_free (message);
}

/* worker thread */
static void
sk_worker_handle (gpointer data, gpointer user_data)
{
  SkWorker *self = user_data;
  SkWorkerMessage *message = data;

  if (message->func != NULL)
    message->func (message->data);
  else
    self->running = FALSE;
  sk_worker_message_free (message);
}

/* worker thread */
static gpointer
sk_worker_main (gpointer data)
{
  SkWorker *self = data;

  g_main_context_push_thread_default (self->context);
  while (self->running)
    g_main_context_iteration (self->context, TRUE);
  sk_mailbox_close (self->mailbox);
  g_main_context_pop_thread_default (self->context);
  return NULL;
}

SkWorker *
sk_worker_new (const char *name)
{
  SkWorker *self = g_new0 (SkWorker, 1);

  g_mutex_init (&self->lock);
  self->running = TRUE;
  self->context = g_main_context_new ();
  self->mailbox = sk_mailbox_new (self->context, sk_worker_handle, self, sk_worker_message_free);
  self->thread = g_thread_new (name, sk_worker_main, self);
  return self;
}

void
sk_worker_push (SkWorker *self, SkFunc func, gpointer data, GDestroyNotify free_data)
{
  SkWorkerMessage *message;
  gboolean refused;

  g_return_if_fail (func != NULL);

  message = g_new0 (SkWorkerMessage, 1);
  message->func = func;
  message->data = data;
  message->free_data = free_data;

  g_mutex_lock (&self->lock);
  refused = self->stopping;
  if (!refused)
    sk_mailbox_push (self->mailbox, message);
  g_mutex_unlock (&self->lock);

  if (refused)
    sk_worker_message_free (message);
}

typedef struct
{
  SkFunc func;
  gpointer data;
  GMutex lock;
  GCond cond;
  gboolean finished;
} SkWorkerCall;

static void
sk_worker_call_run (gpointer data)
{
  SkWorkerCall *call = data;

  call->func (call->data);
}

/* As the message's free function it is reached in every case, also when the worker was stopping
 * and nothing ran. */
static void
sk_worker_call_finished (gpointer data)
{
  SkWorkerCall *call = data;

  g_mutex_lock (&call->lock);
  call->finished = TRUE;
  g_cond_signal (&call->cond);
  g_mutex_unlock (&call->lock);
}

void
sk_worker_call (SkWorker *self, SkFunc func, gpointer data)
{
  SkWorkerCall call = { .func = func, .data = data };

  g_assert (!sk_worker_is_current (self));

  g_mutex_init (&call.lock);
  g_cond_init (&call.cond);
  sk_worker_push (self, sk_worker_call_run, &call, sk_worker_call_finished);

  g_mutex_lock (&call.lock);
  while (!call.finished)
    g_cond_wait (&call.cond, &call.lock);
  g_mutex_unlock (&call.lock);
  g_cond_clear (&call.cond);
  g_mutex_clear (&call.lock);
}

GMainContext *
sk_worker_context (SkWorker *self)
{
  return self->context;
}

gboolean
sk_worker_is_current (SkWorker *self)
{
  return g_thread_self () == self->thread;
}

void
sk_worker_end (SkWorker *self)
{
  g_assert (!sk_worker_is_current (self));

  g_mutex_lock (&self->lock);
  if (!self->stopping)
    sk_mailbox_push (self->mailbox, g_new0 (SkWorkerMessage, 1));
  self->stopping = TRUE;
  g_mutex_unlock (&self->lock);
  if (self->thread != NULL)
    g_thread_join (self->thread);
  self->thread = NULL;
}

void
sk_worker_stop (SkWorker *self)
{
  sk_worker_end (self);
  sk_mailbox_unref (self->mailbox);
  g_main_context_unref (self->context);
  g_mutex_clear (&self->lock);
  g_free (self);
}
