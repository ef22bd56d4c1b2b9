/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-backoff.h"

static void
test_doubles_to_the_ceiling (void)
{
  SkBackoff low;
  SkBackoff high;
  gint64 expected = 1000;

  sk_backoff_init (&low, 1000, 60000);
  sk_backoff_init (&high, 1000, 60000);
  for (guint i = 0; i < 100; i++)
    {
      g_assert_cmpint (sk_backoff_next (&low, 0.0), ==, expected / 2);
      g_assert_cmpint (sk_backoff_next (&high, 1.0), ==, expected);
      expected = MIN (expected * 2, 60000);
    }
  sk_backoff_reset (&low);
  g_assert_cmpint (sk_backoff_next (&low, 0.0), ==, 500);
}

static void
test_jitter_stays_inside (void)
{
  SkBackoff backoff;
  gint64 smallest = G_MAXINT64;
  gint64 largest = 0;

  sk_backoff_init (&backoff, 8000, 8000);
  for (guint i = 0; i < 2000; i++)
    {
      gint64 delay = sk_backoff_next (&backoff, g_test_rand_double ());

      g_assert_cmpint (delay, >=, 4000);
      g_assert_cmpint (delay, <=, 8000);
      smallest = MIN (smallest, delay);
      largest = MAX (largest, delay);
    }
  g_assert_cmpint (smallest, <, 4500);
  g_assert_cmpint (largest, >, 7500);
}

static void
test_huge_does_not_wrap (void)
{
  SkBackoff backoff;

  sk_backoff_init (&backoff, 3, G_MAXINT64);
  for (guint i = 0; i < 200; i++)
    g_assert_cmpint (sk_backoff_next (&backoff, 0.0), >, 0);
  g_assert_cmpint (sk_backoff_next (&backoff, 0.0), ==, G_MAXINT64 / 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/backoff/doubles-to-the-ceiling", test_doubles_to_the_ceiling);
  g_test_add_func ("/backoff/jitter-stays-inside", test_jitter_stays_inside);
  g_test_add_func ("/backoff/huge-does-not-wrap", test_huge_does_not_wrap);
  return g_test_run ();
}
