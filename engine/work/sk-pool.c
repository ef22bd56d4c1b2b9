/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pool has threads of its own rather than a GThreadPool: they bear the pool's name, belong
 * to nobody else and have ended when sk_pool_free() returns. */
#include "sk-pool.h"

#include "sk-mailbox.h"

/* Where finished jobs of one context go: one mailbox, so one source however many jobs finish. It
 * exists while jobs of that context are under way; blocking calls come with a context each, so
 * keeping them would grow for ever. */
typedef struct
{
  GMainContext *context;
  SkMailbox *mailbox;
  guint n_jobs;
} SkPoolPort;

typedef struct
{
  SkPool *pool;             /* a reference */
  SkPoolPort *port;         /* NULL when there is no done, or the pool is inline */
  SkFunc run;
  SkFunc done;
  gpointer data;
  GDestroyNotify free_data;
  GCancellable *cancellable;
  GSource *source;          /* inline: what will run it */
} SkPoolJob;

struct _SkPool
{
  gatomicrefcount ref_count;    /* the owner's and one per job */
  GPtrArray *threads;
  GMainContext *inline_context; /* NULL: a pool with threads */

  GMutex lock;                  /* guards what follows */
  GCond wake;
  GQueue queue;                 /* of SkPoolJob */
  GHashTable *ports;            /* GMainContext* -> SkPoolPort, owned */
  guint pending;
  gboolean freed;
};

static void
sk_pool_unref (SkPool *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_clear_pointer (&self->threads, g_ptr_array_unref);
  g_clear_pointer (&self->inline_context, g_main_context_unref);
  g_hash_table_unref (self->ports);
  g_cond_clear (&self->wake);
  g_mutex_clear (&self->lock);
  g_free (self);
}

static void
sk_pool_port_free (gpointer data)
{
  SkPoolPort *port = data;

  sk_mailbox_unref (port->mailbox);
  g_main_context_unref (port->context);
  g_free (port);
}

static void
sk_pool_job_free (gpointer data)
{
  SkPoolJob *job = data;

  if (job->free_data != NULL)
    job->free_data (job->data);
  g_clear_object (&job->cancellable);
  g_clear_pointer (&job->source, g_source_unref);
  sk_pool_unref (job->pool);
  g_free (job);
}

static gboolean
sk_pool_is_freed (SkPool *self)
{
  gboolean freed;

  g_mutex_lock (&self->lock);
  freed = self->freed;
  g_mutex_unlock (&self->lock);
  return freed;
}

static void
sk_pool_job_run (SkPoolJob *job)
{
  if (!g_cancellable_is_cancelled (job->cancellable))
    job->run (job->data);

  g_mutex_lock (&job->pool->lock);
  job->pool->pending--;
  g_mutex_unlock (&job->pool->lock);
}

static void
sk_pool_port_release (SkPool *self, SkPoolPort *port)
{
  gboolean last;

  g_mutex_lock (&self->lock);
  last = --port->n_jobs == 0;
  if (last)
    g_hash_table_steal (self->ports, port->context);
  g_mutex_unlock (&self->lock);

  /* Outside the lock: the end of a context frees whatever else was attached to it. */
  if (last)
    sk_pool_port_free (port);
}

/* The job's context. */
static void
sk_pool_job_deliver (gpointer message, gpointer user_data)
{
  SkPoolJob *job = message;

  if (!sk_pool_is_freed (job->pool))
    job->done (job->data);
  /* After done, which often pushes the next job: that one finds the port. */
  sk_pool_port_release (job->pool, job->port);
  sk_pool_job_free (job);
}

/* A message that nobody received, because its pool was freed. */
static void
sk_pool_job_undelivered (gpointer message)
{
  SkPoolJob *job = message;

  sk_pool_port_release (job->pool, job->port);
  sk_pool_job_free (job);
}

/* pool thread; NULL: end */
static SkPoolJob *
sk_pool_next (SkPool *self)
{
  SkPoolJob *job;

  g_mutex_lock (&self->lock);
  while (!self->freed && g_queue_is_empty (&self->queue))
    g_cond_wait (&self->wake, &self->lock);
  job = self->freed ? NULL : g_queue_pop_head (&self->queue);
  g_mutex_unlock (&self->lock);
  return job;
}

static gpointer
sk_pool_thread (gpointer data)
{
  SkPool *self = data;
  SkPoolJob *job;

  while ((job = sk_pool_next (self)) != NULL)
    {
      sk_pool_job_run (job);
      if (job->port != NULL)
        sk_mailbox_push (job->port->mailbox, job);
      else
        sk_pool_job_free (job);
    }
  return NULL;
}

static SkPool *
sk_pool_create (void)
{
  SkPool *self = g_new0 (SkPool, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->lock);
  g_cond_init (&self->wake);
  g_queue_init (&self->queue);
  self->threads = g_ptr_array_new ();
  self->ports = g_hash_table_new_full (NULL, NULL, NULL, sk_pool_port_free);
  return self;
}

SkPool *
sk_pool_new (const char *name, guint n_threads)
{
  SkPool *self = sk_pool_create ();

  for (guint i = 0; i < MAX (n_threads, 1); i++)
    g_ptr_array_add (self->threads, g_thread_new (name, sk_pool_thread, self));
  return self;
}

SkPool *
sk_pool_new_inline (GMainContext *context)
{
  SkPool *self = sk_pool_create ();

  self->inline_context = context != NULL ? g_main_context_ref (context)
                                  : g_main_context_ref_thread_default ();
  return self;
}

static gboolean
sk_pool_inline_run (gpointer data)
{
  SkPoolJob *job = data;
  SkPool *self = job->pool;

  g_mutex_lock (&self->lock);
  g_queue_remove (&self->queue, job);
  g_mutex_unlock (&self->lock);

  sk_pool_job_run (job);
  if (job->done != NULL && !sk_pool_is_freed (self))
    job->done (job->data);
  return G_SOURCE_REMOVE;       /* and the source frees the job */
}

/* A job that somebody waits for runs on the context that he iterates: a blocking call iterates a
 * private one only. */
static void
sk_pool_inline_push (SkPool *self, SkPoolJob *job, GMainContext *context)
{
  g_autoptr(GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_LOW);
  g_source_set_can_recurse (source, FALSE);
  g_source_set_static_name (source, "SkPool");
  g_source_set_callback (source, sk_pool_inline_run, job, sk_pool_job_free);

  if (sk_pool_is_freed (self))
    return;     /* the source goes and takes the job with it */

  job->source = g_source_ref (source);
  g_mutex_lock (&self->lock);
  g_queue_push_tail (&self->queue, job);
  self->pending++;
  g_source_attach (source, context);
  g_mutex_unlock (&self->lock);
}

/* lock held */
static SkPoolPort *
sk_pool_get_port (SkPool *self, GMainContext *context)
{
  SkPoolPort *port = g_hash_table_lookup (self->ports, context);

  if (port == NULL)
    {
      port = g_new0 (SkPoolPort, 1);
      port->context = g_main_context_ref (context);
      port->mailbox = sk_mailbox_new (context, sk_pool_job_deliver, NULL, sk_pool_job_undelivered);
      g_hash_table_insert (self->ports, context, port);
    }
  port->n_jobs++;
  return port;
}

static void
sk_pool_enqueue (SkPool *self, SkPoolJob *job, GMainContext *context)
{
  gboolean refused;

  g_mutex_lock (&self->lock);
  refused = self->freed;
  if (!refused)
    {
      if (job->done != NULL)
        job->port = sk_pool_get_port (self, context);
      g_queue_push_tail (&self->queue, job);
      self->pending++;
      g_cond_signal (&self->wake);
    }
  g_mutex_unlock (&self->lock);

  /* A done that runs while another thread frees the pool may still push. */
  if (refused)
    sk_pool_job_free (job);
}

void
sk_pool_push (SkPool *self, SkFunc run, SkFunc done, gpointer data, GDestroyNotify free_data,
              GCancellable *cancellable, GMainContext *context)
{
  g_autoptr(GMainContext) target = NULL;
  SkPoolJob *job;

  g_return_if_fail (run != NULL);

  target = context != NULL ? g_main_context_ref (context)
                                  : g_main_context_ref_thread_default ();
  job = g_new0 (SkPoolJob, 1);
  job->pool = self;
  g_atomic_ref_count_inc (&self->ref_count);
  job->run = run;
  job->done = done;
  job->data = data;
  job->free_data = free_data;
  job->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;

  if (self->inline_context != NULL)
    sk_pool_inline_push (self, job, done != NULL || context != NULL ? target : self->inline_context);
  else
    sk_pool_enqueue (self, job, target);
}
guint
sk_pool_pending (SkPool *self)
{
  guint pending;

  g_mutex_lock (&self->lock);
  pending = self->pending;
  g_mutex_unlock (&self->lock);
  return pending;
}

guint
sk_pool_threads (SkPool *self)
{
  return MAX (self->threads->len, 1);
}

/* Frees what waits to be delivered, here and now: its contexts may never be iterated again. */
static void
sk_pool_close_ports (SkPool *self)
{
  g_autoptr(GPtrArray) boxes = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_mailbox_unref);
  GHashTableIter iter;
  gpointer value;

  g_mutex_lock (&self->lock);
  g_hash_table_iter_init (&iter, self->ports);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    g_ptr_array_add (boxes, sk_mailbox_ref (((SkPoolPort *) value)->mailbox));
  g_mutex_unlock (&self->lock);

  for (guint i = 0; i < boxes->len; i++)
    sk_mailbox_close (g_ptr_array_index (boxes, i));
}

static void
sk_pool_drop (SkPoolJob *job)
{
  if (job->source != NULL)
    g_source_destroy (job->source);     /* frees the job */
  else if (job->port != NULL)
    sk_pool_job_undelivered (job);
  else
    sk_pool_job_free (job);
}

void
sk_pool_free (SkPool *self)
{
  GQueue dropped;
  SkPoolJob *job;

  if (self == NULL)
    return;

  g_mutex_lock (&self->lock);
  self->freed = TRUE;
  dropped = self->queue;
  g_queue_init (&self->queue);
  self->pending -= dropped.length;
  g_cond_broadcast (&self->wake);
  g_mutex_unlock (&self->lock);

  while ((job = g_queue_pop_head (&dropped)) != NULL)
    sk_pool_drop (job);
  for (guint i = 0; i < self->threads->len; i++)
    g_thread_join (g_ptr_array_index (self->threads, i));
  sk_pool_close_ports (self);
  sk_pool_unref (self);
}
