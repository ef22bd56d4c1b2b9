/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-clock.h"

struct _SkClock
{
  gatomicrefcount ref_count;
  gboolean stepped;

  GMutex lock;              /* guards what follows; used by a stepped clock only */
  gint64 wall_us;
  gint64 now_us;
  GSequence *timers;        /* SkTimer*, not owned: wait for a step; by time, then age */
};

struct _SkTimer
{
  SkClock *clock;
  GMainContext *context;
  GSource *source;
  GSourceFunc func;
  gpointer data;
  gint64 due_us;            /* in the clock's monotonic time */
  GSequenceIter *waiting;   /* guarded by the clock's lock; NULL once due */
};

static SkClock *
sk_clock_new (gboolean stepped, gint64 wall_us)
{
  SkClock *self = g_new0 (SkClock, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->lock);
  self->stepped = stepped;
  self->wall_us = wall_us;
  self->timers = g_sequence_new (NULL);
  return self;
}

SkClock *
sk_clock_new_real (void)
{
  return sk_clock_new (FALSE, 0);
}

SkClock *
sk_clock_new_stepped (gint64 wall_us)
{
  return sk_clock_new (TRUE, wall_us);
}

SkClock *
sk_clock_ref (SkClock *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
sk_clock_unref (SkClock *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_sequence_free (self->timers);   /* empty: each timer holds a reference */
  g_mutex_clear (&self->lock);
  g_free (self);
}

gboolean
sk_clock_is_stepped (SkClock *self)
{
  return self->stepped;
}

static gint64
sk_clock_read (SkClock *self, const gint64 *field)
{
  gint64 us;

  g_mutex_lock (&self->lock);
  us = *field;
  g_mutex_unlock (&self->lock);
  return us;
}

gint64
sk_clock_wall (SkClock *self)
{
  return self->stepped ? sk_clock_read (self, &self->wall_us) : g_get_real_time ();
}

gint64
sk_clock_now (SkClock *self)
{
  return self->stepped ? sk_clock_read (self, &self->now_us) : g_get_monotonic_time ();
}

void
sk_clock_step (SkClock *self, gint64 us)
{
  GSequenceIter *first;

  g_return_if_fail (self->stepped && us >= 0);

  g_mutex_lock (&self->lock);
  self->wall_us += us;
  self->now_us += us;
  while (!g_sequence_iter_is_end (first = g_sequence_get_begin_iter (self->timers)))
    {
      SkTimer *timer = g_sequence_get (first);

      if (timer->due_us > self->now_us)
        break;
      g_sequence_remove (first);
      timer->waiting = NULL;
      /* A context runs its sources in the order in which they were attached, so timers fire in
       * order of time. */
      g_source_attach (timer->source, timer->context);
    }
  g_mutex_unlock (&self->lock);
}

/* The timer's context. @func may free the timer. */
static gboolean
sk_timer_fire (gpointer data)
{
  SkTimer *self = data;

  self->func (self->data);
  return G_SOURCE_REMOVE;
}

static gboolean
sk_timer_source_dispatch (GSource *source, GSourceFunc callback, gpointer data)
{
  return callback (data);
}

static GSourceFuncs sk_timer_source_funcs = { .dispatch = sk_timer_source_dispatch };

static int
sk_timer_compare (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const SkTimer *first = a;
  const SkTimer *second = b;

  return (first->due_us > second->due_us) - (first->due_us < second->due_us);
}

SkTimer *
sk_clock_timer (SkClock *self, GMainContext *context, gint64 us, GSourceFunc func, gpointer data)
{
  SkTimer *timer;

  g_return_val_if_fail (func != NULL, NULL);

  timer = g_new0 (SkTimer, 1);
  timer->clock = sk_clock_ref (self);
  timer->context = context != NULL ? g_main_context_ref (context)
                                  : g_main_context_ref_thread_default ();
  timer->func = func;
  timer->data = data;
  timer->source = g_source_new (&sk_timer_source_funcs, sizeof (GSource));
  g_source_set_static_name (timer->source, "SkTimer");
  g_source_set_callback (timer->source, sk_timer_fire, timer, NULL);

  if (!self->stepped)
    {
      g_source_set_ready_time (timer->source, g_get_monotonic_time () + MAX (us, 0));
      g_source_attach (timer->source, timer->context);
      return timer;
    }

  g_source_set_ready_time (timer->source, 0);
  g_mutex_lock (&self->lock);
  timer->due_us = self->now_us + MAX (us, 0);
  if (timer->due_us <= self->now_us)
    g_source_attach (timer->source, timer->context);
  else
    timer->waiting = g_sequence_insert_sorted (self->timers, timer, sk_timer_compare, NULL);
  g_mutex_unlock (&self->lock);
  return timer;
}

void
sk_timer_free (SkTimer *self)
{
  if (self == NULL)
    return;

  g_mutex_lock (&self->clock->lock);
  if (self->waiting != NULL)
    g_sequence_remove (self->waiting);
  g_mutex_unlock (&self->clock->lock);

  g_source_destroy (self->source);
  g_source_unref (self->source);
  g_main_context_unref (self->context);
  sk_clock_unref (self->clock);
  g_free (self);
}
