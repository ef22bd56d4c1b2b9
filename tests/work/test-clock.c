/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-clock.h"
#include "sk-worker.h"

static GString *fired;

typedef struct
{
  SkTimer *timer;
  char letter;
} Alarm;

static gboolean
note (gpointer data)
{
  Alarm *alarm = data;

  g_string_append_c (fired, alarm->letter);
  return G_SOURCE_CONTINUE;     /* must not matter: a timer fires once */
}

static gboolean
note_and_free (gpointer data)
{
  Alarm *alarm = data;

  g_string_append_c (fired, alarm->letter);
  g_clear_pointer (&alarm->timer, sk_timer_free);
  return G_SOURCE_REMOVE;
}

static void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    continue;
}

static void
test_stepped (void)
{
  g_autoptr(SkClock) clock = sk_clock_new_stepped (5000000);
  Alarm alarms[] = { { NULL, 'd' }, { NULL, 'b' }, { NULL, 'a' }, { NULL, 'c' } };
  static const gint64 delays[] = { 400, 200, 100, 200 };

  g_string_truncate (fired, 0);
  g_assert_true (sk_clock_is_stepped (clock));
  for (guint i = 0; i < 4; i++)
    alarms[i].timer = sk_clock_timer (clock, NULL, delays[i], note, &alarms[i]);
  settle ();
  g_assert_cmpstr (fired->str, ==, "");
  sk_clock_step (clock, 99);
  settle ();
  g_assert_cmpstr (fired->str, ==, "");
  sk_clock_step (clock, 200);
  g_assert_cmpstr (fired->str, ==, "");     /* on their context, not inside the step */
  settle ();
  g_assert_cmpstr (fired->str, ==, "abc");  /* in order of time, equal times in order of age */
  g_assert_cmpint (sk_clock_wall (clock), ==, 5000299);
  g_assert_cmpint (sk_clock_now (clock), ==, 299);
  sk_clock_step (clock, G_TIME_SPAN_DAY);
  settle ();
  g_assert_cmpstr (fired->str, ==, "abcd");
  for (guint i = 0; i < 4; i++)
    sk_timer_free (alarms[i].timer);
}

static void
test_freed_does_not_fire (void)
{
  g_autoptr(SkClock) clock = sk_clock_new_stepped (0);
  Alarm waiting = { NULL, 'w' };
  Alarm due = { NULL, 'd' };
  Alarm self = { NULL, 's' };

  g_string_truncate (fired, 0);
  waiting.timer = sk_clock_timer (clock, NULL, 10, note, &waiting);
  due.timer = sk_clock_timer (clock, NULL, 5, note, &due);
  self.timer = sk_clock_timer (clock, NULL, 0, note_and_free, &self);
  sk_clock_step (clock, 7);
  sk_timer_free (due.timer);        /* attached already, not yet dispatched */
  sk_timer_free (waiting.timer);
  sk_clock_step (clock, 100);
  settle ();
  g_assert_cmpstr (fired->str, ==, "s");
  g_assert_null (self.timer);
}

typedef struct
{
  SkClock *clock;
  SkWorker *worker;
  SkTimer *timer;
  gint n_fired;         /* atomic */
} Remote;

static gboolean
remote_fired (gpointer data)
{
  Remote *remote = data;

  g_assert_true (sk_worker_is_current (remote->worker));
  g_atomic_int_inc (&remote->n_fired);
  return G_SOURCE_REMOVE;
}

static void
remote_arm (gpointer data)
{
  Remote *remote = data;

  remote->timer = sk_clock_timer (remote->clock, NULL, 1000, remote_fired, remote);
}

static void
remote_free (gpointer data)
{
  Remote *remote = data;

  sk_timer_free (remote->timer);
}

static void
test_fires_on_its_context (void)
{
  SkClock *clocks[] = { sk_clock_new_real (), sk_clock_new_stepped (0) };

  for (guint i = 0; i < 2; i++)
    {
      Remote remote = { .clock = clocks[i], .worker = sk_worker_new ("timer") };
      gint64 limit = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;

      sk_worker_call (remote.worker, remote_arm, &remote);
      if (sk_clock_is_stepped (clocks[i]))
        sk_clock_step (clocks[i], 1000);
      while (g_atomic_int_get (&remote.n_fired) == 0)
        {
          g_assert_cmpint (g_get_monotonic_time (), <, limit);
          g_thread_yield ();
        }
      sk_worker_call (remote.worker, remote_free, &remote);
      sk_worker_stop (remote.worker);
      g_assert_cmpint (remote.n_fired, ==, 1);
      sk_clock_unref (clocks[i]);
    }
}

static void
test_real (void)
{
  g_autoptr(SkClock) clock = sk_clock_new_real ();
  Alarm alarm = { NULL, 'r' };
  gint64 start = sk_clock_now (clock);

  g_string_truncate (fired, 0);
  alarm.timer = sk_clock_timer (clock, NULL, 3000, note, &alarm);
  while (fired->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (sk_clock_now (clock) - start, >=, 3000);
  g_assert_cmpint (ABS (sk_clock_wall (clock) - g_get_real_time ()), <, G_TIME_SPAN_SECOND);
  settle ();
  g_assert_cmpstr (fired->str, ==, "r");
  sk_timer_free (alarm.timer);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  fired = g_string_new (NULL);
  g_test_add_func ("/clock/stepped", test_stepped);
  g_test_add_func ("/clock/freed-does-not-fire", test_freed_does_not_fire);
  g_test_add_func ("/clock/fires-on-its-context", test_fires_on_its_context);
  g_test_add_func ("/clock/real", test_real);
  status = g_test_run ();
  g_string_free (fired, TRUE);
  return status;
}
