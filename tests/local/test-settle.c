/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-settle.h"

#define MS (G_TIME_SPAN_MILLISECOND)
#define S (G_TIME_SPAN_SECOND)
#define MIB (G_GUINT64_CONSTANT (1) << 20)

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkSettle, sk_settle_free)

static guint
take (SkSettle *settle, gint64 now)
{
  g_autoptr(GPtrArray) due = sk_settle_due (settle, now);

  return due->len;
}

/* When the next one is taken, with nothing else happening. */
static gint64
take_next (SkSettle *settle)
{
  gint64 at = sk_settle_next (settle);

  g_assert_cmpint (at, !=, G_MAXINT64);
  g_assert_cmpuint (take (settle, at - 1), ==, 0);
  g_assert_cmpuint (take (settle, at), >=, 1);
  return at;
}

static void
test_small_after_close (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();

  g_assert_cmpint (sk_settle_next (settle), ==, G_MAXINT64);
  sk_settle_note (settle, "a", TRUE, 10, 100 * S);
  g_assert_cmpint (sk_settle_next (settle), ==, 102 * S);
  sk_settle_note (settle, "a", FALSE, 10, 100 * S + 50 * MS);
  g_assert_cmpint (sk_settle_next (settle), ==, 100 * S + 350 * MS);
  g_assert_cmpuint (sk_settle_count (settle), ==, 1);
  g_assert_cmpuint (take (settle, 100 * S + 349 * MS), ==, 0);
  g_assert_cmpuint (take (settle, 100 * S + 350 * MS), ==, 1);
  g_assert_cmpuint (sk_settle_count (settle), ==, 0);
  g_assert_cmpuint (take (settle, 200 * S), ==, 0);
}

static void
test_growing (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();

  for (gint64 t = 0; t < 60 * S; t += S)    /* a megabyte each second for a minute */
    {
      sk_settle_note (settle, "big", TRUE, 0, t);
      g_assert_cmpuint (take (settle, t + 500 * MS), ==, 0);
    }
  sk_settle_note (settle, "big", FALSE, 60 * MIB, 59 * S + 1 * MS);
  g_assert_cmpint (take_next (settle), ==, 60 * S);
}

/* Twenty files that never rest are tried at most once in a while, ever more seldom; an ordinary one is not held up. */
static void
test_restless_back_off (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();
  guint restless = 0, ordinary = 0;
  gint64 noted = 0, longest = 0;

  for (gint64 t = 0; t < 600 * S; t += 200 * MS)
    {
      g_autoptr(GPtrArray) due = NULL;

      for (guint i = 0; i < 20; i++)
        {
          g_autofree char *path = g_strdup_printf ("log-%u", i);

          sk_settle_note (settle, path, FALSE, 1000, t);
        }
      if (t % (5 * S) == 0)
        {
          sk_settle_note (settle, "letter", FALSE, 1000, t);
          noted = t;
        }
      due = sk_settle_due (settle, t + 100 * MS);
      for (guint i = 0; i < due->len; i++)
        {
          const char *path = g_ptr_array_index (due, i);

          if (g_str_has_prefix (path, "log-"))
            {
              restless++;
              sk_settle_again (settle, path, t + 100 * MS);
            }
          else
            {
              ordinary++;
              longest = MAX (longest, t + 100 * MS - noted);
            }
        }
    }
  g_assert_cmpuint (ordinary, ==, 120);
  g_assert_cmpint (longest, <=, 500 * MS);
  g_assert_cmpuint (restless, >=, 20 * 3);
  g_assert_cmpuint (restless, <=, 20 * 11);
}

static void
test_again_doubles (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();
  static const gint64 waits[] = { 2, 4, 8, 16, 32, 60, 60, 60 };
  gint64 now;

  sk_settle_note (settle, "f", FALSE, 10, 0);
  now = take_next (settle);
  for (guint i = 0; i < G_N_ELEMENTS (waits); i++)
    {
      gint64 at;

      sk_settle_again (settle, "f", now);
      at = take_next (settle);
      g_assert_cmpint (at - now, ==, waits[i] * S);
      now = at;
    }
  /* Left alone for long, it is quick again. */
  now += 300 * S;
  sk_settle_note (settle, "f", FALSE, 10, now);
  g_assert_cmpint (take_next (settle) - now, ==, 300 * MS);
}

/* A large file that is saved every few seconds is not read again each time. */
static void
test_large_and_often (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();
  guint reads = 0;

  for (gint64 t = 0; t < 300 * S; t += 5 * S)
    {
      sk_settle_note (settle, "disk.img", FALSE, 1000 * MIB, t);
      for (gint64 u = 0; u < 5 * S; u += 100 * MS)
        reads += take (settle, t + u);
    }
  g_assert_cmpuint (reads, >=, 6);
  g_assert_cmpuint (reads, <=, 12);
}

/* A small one that is saved, synced and saved again is never slowed down. */
static void
test_small_and_often (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();
  gint64 now = 0;

  for (guint i = 0; i < 500; i++)
    {
      gint64 at;

      sk_settle_note (settle, "f", FALSE, 10, now);
      at = take_next (settle);
      g_assert_cmpint (at - now, ==, 300 * MS);
      now = at + MS;
    }
}

static void
test_database_moves_together (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();

  sk_settle_note (settle, "d/data.db", FALSE, 10, 0);
  sk_settle_note (settle, "other", FALSE, 10, 0);
  sk_settle_note (settle, "d/data.db-wal", TRUE, 10, 200 * MS);
  g_assert_cmpint (take_next (settle), ==, 300 * MS);    /* other */
  sk_settle_note (settle, "d/data.db-shm", TRUE, 10, S);
  sk_settle_note (settle, "d/data.db-wal", FALSE, 10, S + 100 * MS);
  g_assert_cmpuint (take (settle, 3 * S - 1), ==, 0);
  g_assert_cmpuint (take (settle, 3 * S), ==, 3);
}

static void
test_many (void)
{
  g_autoptr(SkSettle) settle = sk_settle_new ();
  gint64 began = g_get_monotonic_time ();

  for (guint i = 0; i < 100000; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir-%u/file-%u", i % 100, i);

      sk_settle_note (settle, path, TRUE, 10, i);
      sk_settle_note (settle, path, FALSE, 10, i + 1);
    }
  g_assert_cmpuint (sk_settle_count (settle), ==, 100000);
  g_assert_cmpuint (take (settle, 10 * S), ==, 100000);
  g_test_message ("100000 paths noted twice and taken in %.0f ms", (double) (g_get_monotonic_time () - began) / 1000);
}

/* Whatever happens, everything noted is taken in the end and nothing is taken that was not noted. */
static void
test_random (void)
{
  guint32 seed = g_test_rand_int_range (0, G_MAXINT32);
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr(SkSettle) settle = sk_settle_new ();
  gboolean waiting[16] = { FALSE };
  gint64 now = 0;

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 20000; i++)
    {
      guint which = (guint) g_rand_int_range (rand, 0, 16);
      char path[2] = { (char) ('a' + which), '\0' };
      g_autoptr(GPtrArray) due = NULL;

      now += g_rand_int_range (rand, 0, 2000000);
      if (g_rand_int_range (rand, 0, 5) == 0)
        sk_settle_again (settle, path, now);
      else
        sk_settle_note (settle, path, g_rand_boolean (rand), (guint64) g_rand_int (rand), now);
      waiting[which] = TRUE;
      due = sk_settle_due (settle, now);
      for (guint d = 0; d < due->len; d++)
        {
          guint taken = (guint) (((const char *) g_ptr_array_index (due, d))[0] - 'a');

          g_assert_true (waiting[taken]);
          waiting[taken] = FALSE;
        }
    }
  take (settle, now + 200 * S);
  g_assert_cmpuint (sk_settle_count (settle), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/settle/small-after-close", test_small_after_close);
  g_test_add_func ("/settle/sit-B075/growing-waits", test_growing);
  g_test_add_func ("/settle/sit-B078/restless-back-off", test_restless_back_off);
  g_test_add_func ("/settle/sit-B078/again-doubles", test_again_doubles);
  g_test_add_func ("/settle/large-and-often", test_large_and_often);
  g_test_add_func ("/settle/small-and-often", test_small_and_often);
  g_test_add_func ("/settle/sit-B175/database-moves-together", test_database_moves_together);
  g_test_add_func ("/settle/many", test_many);
  g_test_add_func ("/settle/random", test_random);
  return g_test_run ();
}
