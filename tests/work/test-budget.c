/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-budget.h"

static void
test_high_water (void)
{
  SkBudget budget;

  sk_budget_init (&budget, 100);
  g_assert_true (sk_budget_take (&budget, 60));
  g_assert_true (sk_budget_take (&budget, 40));
  g_assert_false (sk_budget_take (&budget, 1));
  g_assert_false (sk_budget_take (&budget, 0));     /* at high water nothing is granted */
  g_assert_cmpuint (budget.peak, ==, 100);

  g_assert_false (sk_budget_give (&budget, 40));    /* 60: still above half */
  g_assert_true (sk_budget_give (&budget, 20));     /* 40: the starved taker is called once */
  g_assert_false (sk_budget_give (&budget, 40));
  g_assert_cmpuint (budget.used, ==, 0);
}

static void
test_too_large_alone (void)
{
  SkBudget budget;

  sk_budget_init (&budget, 100);
  g_assert_true (sk_budget_take (&budget, 1));
  g_assert_false (sk_budget_take (&budget, 500));
  g_assert_true (sk_budget_give (&budget, 1));
  g_assert_true (sk_budget_take (&budget, 500));
  g_assert_false (sk_budget_take (&budget, 1));
  g_assert_true (sk_budget_give (&budget, 500));
  g_assert_false (sk_budget_take (&budget, G_MAXUINT64) && sk_budget_take (&budget, 1));
}

static void
test_random (void)
{
  SkBudget budget;
  g_autoptr(GQueue) held = g_queue_new ();

  sk_budget_init (&budget, 16 << 20);
  for (guint i = 0; i < 20000; i++)
    {
      guint cost = (guint) g_test_rand_int_range (1, 2 << 20);

      if (sk_budget_take (&budget, cost))
        g_queue_push_tail (held, GUINT_TO_POINTER (cost));
      else
        {
          gboolean called = FALSE;

          /* Giving everything back always calls the starved taker, so no flow stands still. */
          while (!g_queue_is_empty (held))
            called |= sk_budget_give (&budget, GPOINTER_TO_UINT (g_queue_pop_head (held)));
          g_assert_true (called);
          g_assert_cmpuint (budget.used, ==, 0);
        }
      g_assert_cmpuint (budget.used, <=, 16 << 20);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/budget/high-water", test_high_water);
  g_test_add_func ("/budget/too-large-alone", test_too_large_alone);
  g_test_add_func ("/budget/random", test_random);
  return g_test_run ();
}
