/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-rate.h"

#define MS (G_USEC_PER_SEC / 1000)

static void
test_steady (void)
{
  SkRate rate = { { 0 } };

  g_assert_cmpuint (sk_rate_get (&rate, 0), ==, 0);
  /* 1000 bytes every 100 ms. */
  for (gint64 t = 1000 * MS; t <= 21000 * MS; t += 100 * MS)
    {
      guint64 now;

      sk_rate_add (&rate, 1000, t);
      now = sk_rate_get (&rate, t);
      if (t >= 2000 * MS)
        g_assert_cmpuint (now, >=, 8000);
      g_assert_cmpuint (now, <=, 12000);
    }
}

static void
test_ends (void)
{
  SkRate rate = { { 0 } };

  sk_rate_add (&rate, 1 << 20, 5000 * MS);
  g_assert_cmpuint (sk_rate_get (&rate, 5000 * MS), ==, 2 << 20);
  g_assert_cmpuint (sk_rate_get (&rate, 7000 * MS), ==, 1 << 19);
  g_assert_cmpuint (sk_rate_get (&rate, 9001 * MS), ==, 0);
  g_assert_cmpuint (sk_rate_get (&rate, G_MAXINT64), ==, 0);
  /* After a pause the time before does not count. */
  sk_rate_add (&rate, 1000, 100000 * MS);
  g_assert_cmpuint (sk_rate_get (&rate, 101000 * MS), ==, 1000);
}

static void
test_clock_goes_back (void)
{
  SkRate rate = { { 0 } };

  sk_rate_add (&rate, 1000, 50000 * MS);
  sk_rate_add (&rate, 1000, 10000 * MS);
  sk_rate_add (&rate, 1000, -5);
  g_assert_cmpuint (sk_rate_get (&rate, 50500 * MS), ==, 6000);
  g_assert_cmpuint (sk_rate_get (&rate, 10000 * MS), ==, 6000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rate/steady", test_steady);
  g_test_add_func ("/rate/ends", test_ends);
  g_test_add_func ("/rate/clock-goes-back", test_clock_goes_back);
  return g_test_run ();
}
