/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-compress.h"
#include "sk-limits.h"

#include <string.h>

typedef enum { TEXT, RANDOM, ZEROS, HALF } Kind;

static guint8 *
content (Kind kind, gsize len)
{
  guint8 *data = g_malloc0 (MAX (len, 1));
  g_autoptr(GRand) rand = g_rand_new_with_seed (42);

  for (gsize i = 0; i < len; i++)
    if (kind == RANDOM || (kind == HALF && i >= len / 2))
      data[i] = (guint8) g_rand_int (rand);
    else if (kind != ZEROS)
      data[i] = (guint8) "etaoin shrdlu\n"[g_rand_int_range (rand, 0, 14)];
  return data;
}

static SkMethod
try (SkCompressor *z, int level, Kind kind, gsize len, gsize *out_len)
{
  g_autofree guint8 *data = content (kind, len);
  gsize bound = sk_compress_bound (len);
  g_autofree guint8 *out = g_malloc (bound);
  SkMethod method = sk_compress (z, level, data, len, out, bound, out_len);

  if (method == SK_METHOD_ZSTD)
    {
      g_autofree guint8 *back = g_malloc (len);
      g_autoptr(GError) error = NULL;

      g_assert_cmpuint (*out_len, <=, len - len / 16);
      g_assert_true (sk_decompress (z, method, out, *out_len, back, len, &error));
      g_assert_no_error (error);
      g_assert_cmpmem (back, len, data, len);
    }
  else
    g_assert_cmpuint (*out_len, ==, len);
  return method;
}

static void
test_decision (void)
{
  static const struct { int level; Kind kind; gsize len; SkMethod method; } cases[] = {
    { 3, TEXT, 0, SK_METHOD_RAW },
    { 3, TEXT, 1, SK_METHOD_RAW },
    { 3, TEXT, 15, SK_METHOD_RAW },
    { 3, TEXT, 1000, SK_METHOD_ZSTD },
    { 3, TEXT, 64 << 10, SK_METHOD_ZSTD },
    { 3, TEXT, (64 << 10) + 1, SK_METHOD_ZSTD },
    { 3, TEXT, 1 << 20, SK_METHOD_ZSTD },
    { 3, RANDOM, 1000, SK_METHOD_RAW },
    { 3, RANDOM, 64 << 10, SK_METHOD_RAW },
    { 3, RANDOM, (64 << 10) + 1, SK_METHOD_RAW },
    { 3, RANDOM, 4 << 20, SK_METHOD_RAW },
    { 3, ZEROS, 300, SK_METHOD_ZSTD },
    { 3, ZEROS, 1 << 20, SK_METHOD_ZSTD },
    { 3, HALF, 200 << 10, SK_METHOD_ZSTD },
    { 3, HALF, 3 << 20, SK_METHOD_ZSTD },
    { 0, TEXT, 1 << 20, SK_METHOD_RAW },
    { -1, TEXT, 1 << 20, SK_METHOD_RAW },
    { 1, TEXT, 100000, SK_METHOD_ZSTD },
    { SK_ZSTD_LEVEL_MAX, TEXT, 100000, SK_METHOD_ZSTD },
    { 100, TEXT, 100000, SK_METHOD_ZSTD },
  };
  g_autoptr(SkCompressor) z = sk_compressor_new ();
  gsize out_len;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_test_message ("case %u", i);
      g_assert_cmpint (try (z, cases[i].level, cases[i].kind, cases[i].len, &out_len), ==,
                       cases[i].method);
    }
}

/* The contexts are used again after errors and with other levels, and give the same bytes. */
static void
test_reuse (void)
{
  g_autoptr(SkCompressor) z = sk_compressor_new ();
  gsize first, fast, again;

  try (z, 9, TEXT, 100000, &first);
  try (z, 3, RANDOM, 50000, &again);
  try (z, 1, TEXT, 100000, &fast);
  g_assert_cmpuint (fast, !=, first);      /* the level did change */
  try (z, 9, TEXT, 100000, &again);
  g_assert_cmpuint (again, ==, first);
}

static void
test_decompress_refused (void)
{
  g_autoptr(SkCompressor) z = sk_compressor_new ();
  gsize len = 5000, out_len;
  g_autofree guint8 *data = content (TEXT, len);
  g_autofree guint8 *out = g_malloc (sk_compress_bound (len));
  g_autofree guint8 *back = g_malloc (len + 1);
  g_autoptr(GError) error = NULL;

  g_assert_cmpint (sk_compress (z, 3, data, len, out, sk_compress_bound (len), &out_len), ==,
                   SK_METHOD_ZSTD);
  g_assert_false (sk_decompress (z, SK_METHOD_ZSTD, out, out_len, back, len - 1, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_false (sk_decompress (z, SK_METHOD_ZSTD, out, out_len, back, len + 1, NULL));
  for (gsize cut = 0; cut < out_len; cut++)
    {
      g_autofree guint8 *prefix = g_memdup2 (out, cut);

      g_assert_false (sk_decompress (z, SK_METHOD_ZSTD, prefix, cut, back, len, NULL));
    }
  g_assert_false (sk_decompress (z, SK_METHOD_RAW, data, len, back, len + 1, NULL));
  g_assert_false (sk_decompress (z, (SkMethod) 2, data, len, back, len, NULL));
  g_assert_true (sk_decompress (z, SK_METHOD_RAW, data, len, back, len, NULL));
  g_assert_cmpmem (back, len, data, len);
  /* Still usable. */
  g_assert_true (sk_decompress (z, SK_METHOD_ZSTD, out, out_len, back, len, NULL));
}

static void
test_flipped_bits (void)
{
  g_autoptr(SkCompressor) z = sk_compressor_new ();
  gsize len = 700, out_len;
  g_autofree guint8 *data = content (TEXT, len);
  g_autofree guint8 *out = g_malloc (sk_compress_bound (len));
  g_autofree guint8 *back = g_malloc (len);

  sk_compress (z, 3, data, len, out, sk_compress_bound (len), &out_len);
  for (gsize bit = 0; bit < 8 * out_len; bit++)
    {
      g_autofree guint8 *flipped = g_memdup2 (out, out_len);

      flipped[bit / 8] ^= (guint8) (1 << bit % 8);
      (void) sk_decompress (z, SK_METHOD_ZSTD, flipped, out_len, back, len,
                            NULL); /* no crash; the id decides */
    }
}

static void
test_scratch (void)
{
  g_autoptr(SkCompressor) z = sk_compressor_new ();
  guint8 *a = sk_compressor_scratch (z, 0, 100);
  guint8 *b = sk_compressor_scratch (z, 1, 100);

  memset (a, 1, 100);
  memset (b, 2, 100);
  g_assert_cmpint (a[99], ==, 1);
  g_assert_true (sk_compressor_scratch (z, 0, 50) == a);
  memset (sk_compressor_scratch (z, 0, 100000), 3, 100000);
  g_assert_cmpint (b[0], ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/compress/decision", test_decision);
  g_test_add_func ("/compress/reuse", test_reuse);
  g_test_add_func ("/compress/refused", test_decompress_refused);
  g_test_add_func ("/compress/flipped-bits", test_flipped_bits);
  g_test_add_func ("/compress/scratch", test_scratch);
  return g_test_run ();
}
