/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-vector.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "log-fixture.h"

typedef struct
{
  guint64 a, b, c;
} Counters;

/* Zero leaves a writer out. */
static SkVector *
make (Counters n)
{
  SkVectorItem items[3];
  guint len = 0;

  /* Not in order, so that the constructor has something to sort. */
  if (n.c > 0)
    items[len++] = (SkVectorItem) { fixture_id (3), n.c };
  if (n.a > 0)
    items[len++] = (SkVectorItem) { fixture_id (1), n.a };
  if (n.b > 0)
    items[len++] = (SkVectorItem) { fixture_id (2), n.b };
  return sk_vector_new (items, len);
}

static SkOrder
expected_order (Counters x, Counters y)
{
  gboolean less = x.a < y.a || x.b < y.b || x.c < y.c;
  gboolean more = x.a > y.a || x.b > y.b || x.c > y.c;

  if (less && more)
    return SK_ORDER_CONCURRENT;
  return less ? SK_ORDER_BEFORE : more ? SK_ORDER_AFTER : SK_ORDER_EQUAL;
}

static void
check_pair (Counters x, Counters y)
{
  g_autoptr(SkVector) a = make (x);
  g_autoptr(SkVector) b = make (y);
  g_autoptr(SkVector) joined = sk_vector_join (a, b);
  g_autoptr(SkVector) most = make ((Counters) { MAX (x.a, y.a), MAX (x.b, y.b), MAX (x.c, y.c) });

  g_assert_cmpint (sk_vector_compare (a, b), ==, expected_order (x, y));
  g_assert_cmpint (sk_vector_compare (joined, most), ==, SK_ORDER_EQUAL);
  g_assert_cmpuint (sk_vector_length (joined), ==, sk_vector_length (most));
}

static void
test_every_pair (void)
{
  for (guint i = 0; i < 27; i++)
    for (guint j = 0; j < 27; j++)
      check_pair ((Counters) { i % 3, i / 3 % 3, i / 9 }, (Counters) { j % 3, j / 3 % 3, j / 9 });
}

static void
test_with (void)
{
  g_autoptr(SkVector) empty = sk_vector_empty ();
  SkId writer = fixture_id (2), other = fixture_id (5);
  g_autoptr(SkVector) one = sk_vector_with (empty, &writer, 4);
  g_autoptr(SkVector) two = sk_vector_with (one, &other, 1);
  g_autoptr(SkVector) three = sk_vector_with (two, &writer, 9);

  g_assert_cmpuint (sk_vector_get (three, &writer), ==, 9);
  g_assert_cmpuint (sk_vector_get (three, &other), ==, 1);
  g_assert_cmpuint (sk_vector_get (one, &other), ==, 0);
  g_assert_cmpuint (sk_vector_length (three), ==, 2);
  g_assert_cmpint (sk_vector_compare (empty, one), ==, SK_ORDER_BEFORE);
  g_assert_cmpint (sk_vector_compare (three, two), ==, SK_ORDER_AFTER);
}

static void
test_round_trip (void)
{
  g_autoptr(SkVector) vector = make ((Counters) { 1, SK_COUNTER_MAX, 300 });
  g_autoptr(GBytes) bytes = sk_vector_encode (vector);
  gsize len;
  const guint8 *data = g_bytes_get_data (bytes, &len);
  g_autoptr(SkVector) again = sk_vector_decode (data, len, NULL);
  g_autoptr(GBytes) twice = sk_vector_encode (again);

  g_assert_true (g_bytes_equal (bytes, twice));
  for (gsize i = 0; i < len; i++)
    {
      g_autoptr(GError) error = NULL;

      g_assert_null (sk_vector_decode (data, i, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
    }
  for (gsize i = 0; i < len * 8; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (data, len);
      g_autoptr(SkVector) flipped = NULL;

      copy[i / 8] ^= 1 << i % 8;
      flipped = sk_vector_decode (copy, len, NULL);
      if (flipped != NULL)
        {
          g_autoptr(GBytes) other = sk_vector_encode (flipped);

          /* One set of counters has one form. */
          g_assert_cmpmem (copy, len, g_bytes_get_data (other, NULL), g_bytes_get_size (other));
        }
    }
}

static void
refuse (const guint8 *data, gsize len)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_vector_decode (data, len, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
}

static void
test_refused (void)
{
  g_auto(SkWriter) w = { 0 };
  SkId low = fixture_id (1), high = fixture_id (2);

  sk_writer_init (&w);
  sk_writer_varint (&w, 2);
  sk_writer_id (&w, &high);
  sk_writer_varint (&w, 1);
  sk_writer_id (&w, &low);
  sk_writer_varint (&w, 1);
  refuse (w.bytes->data, w.bytes->len);             /* out of order */

  g_byte_array_set_size (w.bytes, 0);
  sk_writer_varint (&w, 2);
  sk_writer_id (&w, &low);
  sk_writer_varint (&w, 1);
  sk_writer_id (&w, &low);
  sk_writer_varint (&w, 1);
  refuse (w.bytes->data, w.bytes->len);             /* one writer twice */

  g_byte_array_set_size (w.bytes, 0);
  sk_writer_varint (&w, 1);
  sk_writer_id (&w, &low);
  sk_writer_varint (&w, 0);
  refuse (w.bytes->data, w.bytes->len);             /* counter zero */

  g_byte_array_set_size (w.bytes, 0);
  sk_writer_varint (&w, 1);
  sk_writer_id (&w, &low);
  sk_writer_varint (&w, SK_COUNTER_MAX + 1);
  refuse (w.bytes->data, w.bytes->len);             /* counter out of bounds */

  g_byte_array_set_size (w.bytes, 0);
  sk_writer_varint (&w, SK_VECTOR_MAX + 1);
  refuse (w.bytes->data, w.bytes->len);
  refuse ((const guint8 *) "\xff\xff\xff\xff\x0f", 5);
  refuse ((const guint8 *) "\0\0", 2);              /* left over */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vector/every-pair", test_every_pair);
  g_test_add_func ("/vector/with", test_with);
  g_test_add_func ("/vector/round-trip", test_round_trip);
  g_test_add_func ("/vector/refused", test_refused);
  return g_test_run ();
}
