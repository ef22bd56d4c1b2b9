/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-worker.h"

typedef struct
{
  SkWorker *worker;
  guint n_run;
  gint n_freed;         /* atomic */
  gboolean again;
} Record;

static void
count_run (gpointer data)
{
  Record *record = data;

  g_assert_true (sk_worker_is_current (record->worker));
  g_assert_true (g_main_context_get_thread_default () == sk_worker_context (record->worker));
  record->n_run++;
}

static void
count_free (gpointer data)
{
  Record *record = data;

  g_atomic_int_inc (&record->n_freed);
}

static void
push_again (gpointer data)
{
  Record *record = data;

  record->n_run++;
  sk_worker_push (record->worker, count_run, record, count_free);
}

static void
test_call_waits (void)
{
  Record record = { .worker = sk_worker_new ("test") };

  g_assert_false (sk_worker_is_current (record.worker));
  for (guint i = 0; i < 1000; i++)
    {
      sk_worker_push (record.worker, count_run, &record, count_free);
      sk_worker_call (record.worker, count_run, &record);
      g_assert_cmpuint (record.n_run, ==, 2 * (i + 1));     /* in order, and waited for */
    }
  sk_worker_stop (record.worker);
  g_assert_cmpint (record.n_freed, ==, 1000);
}

static void
test_stop_runs_queue (void)
{
  Record record = { .worker = sk_worker_new ("test") };

  for (guint i = 0; i < 5000; i++)
    sk_worker_push (record.worker, count_run, &record, count_free);
  sk_worker_stop (record.worker);
  g_assert_cmpuint (record.n_run, ==, 5000);
  g_assert_cmpint (record.n_freed, ==, 5000);
}

static void
wait_for_stop (gpointer data)
{
  Record *record = data;

  /* Until the stop is under way, a push of the worker to itself is taken like any other. */
  while (g_atomic_int_get (&record->again))
    g_thread_yield ();
}

static gpointer
stop_main (gpointer data)
{
  sk_worker_stop (data);
  return NULL;
}

static void
test_push_while_stopping (void)
{
  Record record = { .worker = sk_worker_new ("test"), .again = TRUE };
  GThread *thread;

  sk_worker_push (record.worker, wait_for_stop, &record, NULL);
  for (guint i = 0; i < 100; i++)
    sk_worker_push (record.worker, push_again, &record, count_free);
  thread = g_thread_new ("stop", stop_main, record.worker);
  g_atomic_int_set (&record.again, FALSE);
  g_thread_join (thread);
  /* Whether a late push ran depends on the moment; that it was freed does not. */
  g_assert_cmpuint (record.n_run, >=, 100);
  g_assert_cmpint (record.n_freed, ==, 200);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/worker/call-waits", test_call_waits);
  g_test_add_func ("/worker/stop-runs-queue", test_stop_runs_queue);
  g_test_add_func ("/worker/push-while-stopping", test_push_while_stopping);
  return g_test_run ();
}
