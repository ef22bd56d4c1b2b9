/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-pool.h"

typedef struct
{
  gint n_run;           /* atomic, as are the others */
  gint n_done;
  gint n_freed;
  gint open;            /* jobs of "hold" wait for it */
  GThread *owner;
  SkPool *pool;
  guint chain;
} Tally;

static void
run (gpointer data)
{
  Tally *tally = data;

  g_assert_true (g_thread_self () != tally->owner);
  g_atomic_int_inc (&tally->n_run);
}

static void
run_anywhere (gpointer data)
{
  g_atomic_int_inc (&((Tally *) data)->n_run);
}

static void
hold (gpointer data)
{
  Tally *tally = data;

  g_atomic_int_inc (&tally->n_run);
  while (!g_atomic_int_get (&tally->open))
    g_thread_yield ();
}

static void
done (gpointer data)
{
  Tally *tally = data;

  g_assert_true (g_thread_self () == tally->owner);
  g_atomic_int_inc (&tally->n_done);
}

static void
freed (gpointer data)
{
  g_atomic_int_inc (&((Tally *) data)->n_freed);
}

/* Each done pushes the next job, as a flow does. */
static void
done_and_next (gpointer data)
{
  Tally *tally = data;

  done (tally);
  if (tally->chain-- > 0)
    sk_pool_push (tally->pool, run, done_and_next, tally, freed, NULL, NULL);
}

static void
wait_for (gint *value, gint expected)
{
  gint64 limit = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;

  while (g_atomic_int_get (value) < expected)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      if (!g_main_context_iteration (NULL, FALSE))
        g_thread_yield ();
    }
}

static void
test_done_on_context (void)
{
  Tally tally = { .owner = g_thread_self () };
  SkPool *pool = sk_pool_new ("test", 3);

  g_assert_cmpuint (sk_pool_threads (pool), ==, 3);
  for (guint i = 0; i < 5000; i++)
    sk_pool_push (pool, run, done, &tally, freed, NULL, NULL);
  wait_for (&tally.n_freed, 5000);
  g_assert_cmpint (tally.n_run, ==, 5000);
  g_assert_cmpint (tally.n_done, ==, 5000);
  g_assert_cmpuint (sk_pool_pending (pool), ==, 0);
  sk_pool_free (pool);
}

static void
test_one_source_per_context (void)
{
  Tally tally = { .owner = g_thread_self () };
  g_autoptr(GMainContext) context = g_main_context_new ();
  SkPool *pool = sk_pool_new ("test", 2);

  for (guint i = 0; i < 100; i++)
    sk_pool_push (pool, run, done, &tally, freed, NULL, context);
  while (sk_pool_pending (pool) > 0)
    g_thread_yield ();
  /* A last job may still be on its way into the box; the others came in one turn. */
  g_main_context_iteration (context, TRUE);
  g_assert_cmpint (tally.n_done, >=, 98);
  while (tally.n_done < 100)
    g_main_context_iteration (context, TRUE);
  g_assert_false (g_main_context_iteration (context, FALSE));
  sk_pool_free (pool);
}

static void
test_shutdown_loses_nothing (void)
{
  for (guint round = 0; round < 20; round++)
    {
      Tally tally = { .owner = g_thread_self (), .open = TRUE };
      SkPool *pool = sk_pool_new ("test", 2);

      for (guint i = 0; i < 100; i++)
        sk_pool_push (pool, hold, i % 3 == 0 ? NULL : done, &tally, freed, NULL, NULL);
      while (g_atomic_int_get (&tally.n_run) < (gint) round)
        g_thread_yield ();
      sk_pool_free (pool);
      /* Ran + dropped = pushed, at once: nothing waits for a loop that may never turn again. */
      g_assert_cmpint (tally.n_freed, ==, 100);
      while (g_main_context_iteration (NULL, FALSE))
        continue;
      g_assert_cmpint (tally.n_done, ==, 0);
      g_assert_cmpint (tally.n_freed, ==, 100);
    }
}

static void
test_cancelled_is_not_run (void)
{
  Tally tally = { .owner = g_thread_self () };
  Tally holder = { .owner = g_thread_self () };
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  SkPool *pool = sk_pool_new ("test", 1);

  sk_pool_push (pool, hold, done, &holder, freed, NULL, NULL);
  for (guint i = 0; i < 10; i++)
    sk_pool_push (pool, run, done, &tally, freed, cancellable, NULL);
  g_assert_cmpuint (sk_pool_pending (pool), ==, 11);
  g_cancellable_cancel (cancellable);
  g_atomic_int_set (&holder.open, TRUE);
  wait_for (&tally.n_freed, 10);
  g_assert_cmpint (tally.n_run, ==, 0);
  g_assert_cmpint (tally.n_done, ==, 10);
  wait_for (&holder.n_freed, 1);
  sk_pool_free (pool);
}

static void
test_many_contexts (void)
{
  SkPool *pool = sk_pool_new ("test", 2);
  Tally tally = { .owner = g_thread_self () };

  /* As blocking calls do: a context for one job, gone afterwards. */
  for (gint i = 0; i < 2000; i++)
    {
      g_autoptr(GMainContext) context = g_main_context_new ();

      sk_pool_push (pool, run, done, &tally, freed, NULL, context);
      while (tally.n_freed <= i)
        g_main_context_iteration (context, TRUE);
    }
  sk_pool_free (pool);
}

static void
test_chain (void)
{
  Tally tally = { .owner = g_thread_self (), .chain = 999 };

  tally.pool = sk_pool_new ("test", 2);
  sk_pool_push (tally.pool, run, done_and_next, &tally, freed, NULL, NULL);
  wait_for (&tally.n_freed, 1000);
  sk_pool_free (tally.pool);
}

static void
free_pool (gpointer data)
{
  Tally *tally = data;

  g_clear_pointer (&tally->pool, sk_pool_free);
}

static void
test_freed_by_a_done (void)
{
  Tally tally = { .owner = g_thread_self () };

  tally.pool = sk_pool_new ("test", 2);
  sk_pool_push (tally.pool, run, free_pool, &tally, freed, NULL, NULL);
  for (guint i = 0; i < 50; i++)
    sk_pool_push (tally.pool, run, done, &tally, freed, NULL, NULL);
  wait_for (&tally.n_freed, 51);
  g_assert_null (tally.pool);
}

static void
test_inline (void)
{
  Tally tally = { .owner = g_thread_self () };
  g_autoptr(GMainContext) own = g_main_context_new ();
  SkPool *pool = sk_pool_new_inline (NULL);

  for (guint i = 0; i < 10; i++)
    sk_pool_push (pool, run_anywhere, done, &tally, freed, NULL, NULL);
  g_assert_cmpuint (sk_pool_pending (pool), ==, 10);
  g_assert_cmpint (tally.n_run, ==, 0);
  wait_for (&tally.n_freed, 10);
  g_assert_cmpint (tally.n_run, ==, 10);

  /* A job with a context of its own runs there: whoever waits for it turns that loop only. */
  sk_pool_push (pool, run_anywhere, done, &tally, freed, NULL, own);
  while (tally.n_done < 11)
    g_main_context_iteration (own, TRUE);

  for (guint i = 0; i < 5; i++)
    sk_pool_push (pool, run_anywhere, done, &tally, freed, NULL, NULL);
  sk_pool_free (pool);
  g_assert_cmpint (tally.n_freed, ==, 16);
  g_assert_cmpint (tally.n_run, ==, 11);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pool/done-on-context", test_done_on_context);
  g_test_add_func ("/pool/one-source-per-context", test_one_source_per_context);
  g_test_add_func ("/pool/shutdown-loses-nothing", test_shutdown_loses_nothing);
  g_test_add_func ("/pool/cancelled-is-not-run", test_cancelled_is_not_run);
  g_test_add_func ("/pool/many-contexts", test_many_contexts);
  g_test_add_func ("/pool/chain", test_chain);
  g_test_add_func ("/pool/freed-by-a-done", test_freed_by_a_done);
  g_test_add_func ("/pool/inline", test_inline);
  return g_test_run ();
}
