/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-mailbox.h"

struct _SkMailbox
{
  gatomicrefcount ref_count;
  GMainContext *context;
  SkMailboxFunc handler;
  gpointer user_data;
  GDestroyNotify free_message;

  GMutex lock;          /* guards what follows */
  GQueue queue;
  GSource *source;      /* attached and not yet ended; NULL when no message waits */
  gboolean closed;
};

SkMailbox *
sk_mailbox_new (GMainContext *context, SkMailboxFunc handler, gpointer user_data,
                GDestroyNotify free_message)
{
  SkMailbox *self;

  g_return_val_if_fail (handler != NULL, NULL);

  self = g_new0 (SkMailbox, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->context = context != NULL ? g_main_context_ref (context)
                                  : g_main_context_ref_thread_default ();
  self->handler = handler;
  self->user_data = user_data;
  self->free_message = free_message;
  g_mutex_init (&self->lock);
  g_queue_init (&self->queue);
  return self;
}

SkMailbox *
sk_mailbox_ref (SkMailbox *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

static void
sk_mailbox_free_queue (SkMailbox *self, GQueue *queue)
{
  gpointer message;

  while ((message = g_queue_pop_head (queue)) != NULL)
    {
      if (self->free_message != NULL)
        self->free_message (message);
    }
}

void
sk_mailbox_unref (SkMailbox *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  sk_mailbox_free_queue (self, &self->queue);
  g_mutex_clear (&self->lock);
  g_main_context_unref (self->context);
  g_free (self);
}

static gpointer
sk_mailbox_take (SkMailbox *self)
{
  gpointer message;

  g_mutex_lock (&self->lock);
  message = g_queue_pop_head (&self->queue);
  g_mutex_unlock (&self->lock);
  return message;
}

/* Receiving thread. Takes what was there at the start, so that a fast sender cannot keep the
 * other sources of the context waiting. Messages are taken one at a time and the source may
 * recurse, so a handler that iterates the context itself sees the following messages, still in
 * order. */
static gboolean
sk_mailbox_drain (gpointer data)
{
  SkMailbox *self = data;
  gboolean more;
  guint n;

  g_mutex_lock (&self->lock);
  n = self->queue.length;
  g_mutex_unlock (&self->lock);

  for (guint i = 0; i < n; i++)
    {
      gpointer message = sk_mailbox_take (self);

      if (message == NULL)
        break;
      self->handler (message, self->user_data);
    }

  g_mutex_lock (&self->lock);
  more = self->queue.length > 0;
  /* A loop inside a handler may have ended this source and a later push attached another. */
  if (!more && self->source == g_main_current_source ())
    g_clear_pointer (&self->source, g_source_unref);
  g_mutex_unlock (&self->lock);
  return more ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* Lock held. */
static void
sk_mailbox_attach (SkMailbox *self)
{
  self->source = g_idle_source_new ();
  g_source_set_priority (self->source, G_PRIORITY_DEFAULT);
  g_source_set_can_recurse (self->source, TRUE);
  g_source_set_static_name (self->source, "SkMailbox");
  g_source_set_callback (self->source, sk_mailbox_drain, sk_mailbox_ref (self),
                         (GDestroyNotify) sk_mailbox_unref);
  /* Attached, never invoked: g_main_context_invoke() would run it here when this thread happens to
   * own the context. */
  g_source_attach (self->source, self->context);
}

void
sk_mailbox_push (SkMailbox *self, gpointer message)
{
  gboolean closed;

  g_return_if_fail (message != NULL);

  g_mutex_lock (&self->lock);
  closed = self->closed;
  if (!closed)
    {
      g_queue_push_tail (&self->queue, message);
      if (self->source == NULL)
        sk_mailbox_attach (self);
    }
  g_mutex_unlock (&self->lock);

  if (closed && self->free_message != NULL)
    self->free_message (message);
}

void
sk_mailbox_close (SkMailbox *self)
{
  g_autoptr(GSource) source = NULL;
  GQueue waiting;

  g_mutex_lock (&self->lock);
  self->closed = TRUE;
  source = g_steal_pointer (&self->source);
  waiting = self->queue;
  g_queue_init (&self->queue);
  g_mutex_unlock (&self->lock);

  sk_mailbox_free_queue (self, &waiting);
  /* It holds the mailbox, which holds the context, which holds it. */
  if (source != NULL)
    g_source_destroy (source);
}
