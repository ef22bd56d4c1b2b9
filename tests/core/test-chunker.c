/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-chunker.h"
#include "sk-hash.h"
#include "sk-limits.h"

#include <string.h>

static const SkKey id_key = { { 0x11, 0x22, 0x33 } };

static guint8 *
random_data (gsize len, guint32 seed)
{
  guint8 *data = g_malloc (len);
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < len; i += 4)
    {
      guint32 v = g_rand_int (rand);

      memcpy (data + i, &v, MIN (4, len - i));
    }
  return data;
}

typedef gsize (*SliceSize) (gsize left, GRand *rand);

static gsize slice_whole (gsize left, GRand *rand) { return left; }
static gsize slice_1 (gsize left, GRand *rand) { return 1; }
static gsize slice_7 (gsize left, GRand *rand) { return MIN (left, 7); }
static gsize slice_4096 (gsize left, GRand *rand) { return MIN (left, 4096); }

static gsize
slice_random (gsize left, GRand *rand)
{
  gsize n = (gsize) g_rand_int_range (rand, 1, 200000);

  return MIN (left, n);
}

/* Lengths (gsize) of all chunks, the last remainder included. */
static GArray *
cut (const guint8 *data, gsize len, const SkGear *gear, SkChunkSizes sizes, SliceSize slice,
     GRand *rand)
{
  GArray *lengths = g_array_new (FALSE, FALSE, sizeof (gsize));
  SkChunker chunker;
  gsize pos = 0, start = 0;
  gsize rest;

  sk_chunker_init (&chunker, gear, sizes);
  while (pos < len)
    {
      gsize n = slice (len - pos, rand);
      gsize border = sk_chunker_feed (&chunker, data + pos, n);

      g_assert_cmpuint (border, <=, n);
      pos += border > 0 ? border : n;
      if (border > 0)
        {
          gsize length = pos - start;

          g_array_append_val (lengths, length);
          start = pos;
        }
    }
  rest = pos - start;
  if (rest > 0)
    g_array_append_val (lengths, rest);
  return lengths;
}

static void
assert_same_lengths (GArray *a, GArray *b)
{
  g_assert_cmpmem (a->data, a->len * sizeof (gsize), b->data, b->len * sizeof (gsize));
}

static void
test_slices (void)
{
  static const SliceSize slices[] = { slice_1, slice_7, slice_4096, slice_random, slice_random };
  gsize len = 12 << 20;
  guint32 seed = (guint32) g_test_rand_int ();
  g_autofree guint8 *data = random_data (len, seed);
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr(GArray) whole = NULL;
  SkGear gear;
  SkChunkSizes sizes = sk_chunk_sizes_for (len);

  g_test_message ("seed %u", seed);
  memset (data + (3 << 20), 0, 3 << 20);      /* a stretch where only the maximum cuts */
  sk_gear_init (&gear, &id_key);
  whole = cut (data, len, &gear, sizes, slice_whole, NULL);
  g_assert_cmpuint (whole->len, >, 10);
  for (guint i = 0; i < G_N_ELEMENTS (slices); i++)
    {
      g_autoptr(GArray) pieces = cut (data, len, &gear, sizes, slices[i], rand);

      assert_same_lengths (whole, pieces);
    }
}

/* Written out from FORMAT.md, byte by byte. */
static gsize
reference_border (const guint8 *data, gsize len, const SkGear *gear, SkChunkSizes sizes)
{
  guint b = g_bit_storage (sizes.avg) - 1;
  guint64 hash = 0;

  for (gsize i = sizes.min; i < MIN (len, sizes.max); i++)
    {
      guint bits = i < sizes.avg / 32 * 27 ? b + 2 : b - 2;

      hash = (hash << 1) + gear->table[data[i]];
      if (hash >> (64 - bits) == 0)
        return i + 1;
    }
  return len >= sizes.max ? sizes.max : 0;
}

static void
test_reference (void)
{
  gsize len = 8 << 20;
  guint32 seed = (guint32) g_test_rand_int ();
  g_autofree guint8 *data = random_data (len, seed);
  g_autoptr(GArray) lengths = NULL;
  SkGear gear;
  SkChunkSizes sizes = { .min = 1 << 10, .avg = 1 << 12, .max = 1 << 14 };
  gsize pos = 0;

  g_test_message ("seed %u", seed);
  sk_gear_init (&gear, &id_key);
  lengths = cut (data, len, &gear, sizes, slice_whole, NULL);
  for (guint i = 0; i + 1 < lengths->len; i++)
    {
      gsize length = g_array_index (lengths, gsize, i);

      g_assert_cmpuint (reference_border (data + pos, len - pos, &gear, sizes), ==, length);
      pos += length;
    }
}

static GHashTable *
ids_of (const guint8 *data, gsize len, const SkGear *gear)
{
  GHashTable *ids = g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, g_free, NULL);
  g_autoptr(GArray) lengths = cut (data, len, gear, sk_chunk_sizes_for (len), slice_whole, NULL);
  gsize pos = 0;

  for (guint i = 0; i < lengths->len; i++)
    {
      SkHash *id = g_new (SkHash, 1);

      sk_chunk_id (&id_key, data + pos, g_array_index (lengths, gsize, i), id);
      pos += g_array_index (lengths, gsize, i);
      g_hash_table_add (ids, id);
    }
  return ids;
}

static guint
count_missing (GHashTable *in, GHashTable *from)
{
  GHashTableIter iter;
  gpointer id;
  guint missing = 0;

  g_hash_table_iter_init (&iter, in);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    missing += !g_hash_table_contains (from, id);
  return missing;
}

static void
test_change_is_local (void)
{
  gsize len = 24 << 20;
  guint32 seed = (guint32) g_test_rand_int ();
  g_autofree guint8 *data = random_data (len, seed);
  g_autofree guint8 *longer = g_malloc (len + 1);
  g_autoptr(GHashTable) before = NULL;
  g_autoptr(GHashTable) inserted = NULL;
  g_autoptr(GHashTable) changed = NULL;
  SkGear gear;

  g_test_message ("seed %u", seed);
  sk_gear_init (&gear, &id_key);
  before = ids_of (data, len, &gear);
  longer[0] = 'x';
  memcpy (longer + 1, data, len);
  inserted = ids_of (longer, len + 1, &gear);
  g_assert_cmpuint (count_missing (inserted, before), <=, 8);

  data[len / 2] ^= 1;
  changed = ids_of (data, len, &gear);
  g_assert_cmpuint (count_missing (changed, before), <=, 6);
  g_assert_cmpuint (count_missing (changed, before), >=, 1);
}

static void
test_sizes (void)
{
  static const struct { guint64 file; guint32 avg; } cases[] = {
    { 0, 256 << 10 },
    { (G_GUINT64_CONSTANT (4) << 30) - 1, 256 << 10 },
    { G_GUINT64_CONSTANT (4) << 30, 1 << 20 },
    { (G_GUINT64_CONSTANT (64) << 30) - 1, 1 << 20 },
    { G_GUINT64_CONSTANT (64) << 30, 4 << 20 },
    { SK_FILE_SIZE_MAX, 4 << 20 },
  };
  gsize len = 64 << 20;
  g_autofree guint8 *data = random_data (len, 20);
  g_autoptr(GArray) lengths = NULL;
  SkChunkSizes sizes = { .min = 4 << 10, .avg = 16 << 10, .max = 64 << 10 };
  SkGear gear;
  guint small = 0;
  gsize mean;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      SkChunkSizes got = sk_chunk_sizes_for (cases[i].file);

      g_assert_cmpuint (got.avg, ==, cases[i].avg);
      g_assert_cmpuint (got.min, ==, cases[i].avg / 4);
      g_assert_cmpuint (got.max, ==, cases[i].avg * 4);
      g_assert_cmpuint (got.max, <=, SK_CHUNK_SIZE_MAX);
    }

  /* The same shape at a sixteenth of the size: enough chunks to judge the mean. */
  sk_gear_init (&gear, &id_key);
  lengths = cut (data, len, &gear, sizes, slice_whole, NULL);
  for (guint i = 0; i + 1 < lengths->len; i++)
    {
      gsize length = g_array_index (lengths, gsize, i);

      g_assert_cmpuint (length, >, sizes.min);
      g_assert_cmpuint (length, <=, sizes.max);
      small += length < sizes.avg / 2;
    }
  mean = len / lengths->len;
  g_test_message ("mean %" G_GSIZE_FORMAT " for an average of %u; below half of it: %u of %u", mean,
                  sizes.avg, small, lengths->len);
  g_assert_cmpuint (mean, >, sizes.avg / 100 * 95);
  g_assert_cmpuint (mean, <, sizes.avg / 100 * 105);
  g_assert_cmpuint (small, <, lengths->len / 10);
}

static void
test_keyed_borders (void)
{
  gsize len = 8 << 20;
  g_autofree guint8 *data = random_data (len, 3);
  SkChunkSizes sizes = sk_chunk_sizes_for (len);
  SkKey other_key = id_key;
  SkGear gear, other;
  g_autoptr(GArray) a = NULL;
  g_autoptr(GArray) b = NULL;

  other_key.bytes[9] ^= 1;
  sk_gear_init (&gear, &id_key);
  sk_gear_init (&other, &other_key);
  a = cut (data, len, &gear, sizes, slice_whole, NULL);
  b = cut (data, len, &other, sizes, slice_whole, NULL);
  g_assert_false (g_array_index (a, gsize, 0) == g_array_index (b, gsize, 0)
                  && g_array_index (a, gsize, 1) == g_array_index (b, gsize, 1));
}

static void
test_all_zero (void)
{
  g_autofree guint8 *data = g_malloc0 (300);

  for (gsize len = 0; len <= 200; len++)
    {
      g_assert_true (sk_all_zero (data, len));
      for (gsize at = 0; at < len; at++)
        {
          data[at] = 0x80;
          g_assert_false (sk_all_zero (data, len));
          data[at] = 0;
        }
      data[len] = 1;      /* just behind it */
      g_assert_true (sk_all_zero (data, len));
      data[len] = 0;
    }
  memset (data, 7, 300);
  g_assert_false (sk_all_zero (data, 300));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/chunker/slices", test_slices);
  g_test_add_func ("/chunker/reference", test_reference);
  g_test_add_func ("/chunker/change-is-local", test_change_is_local);
  g_test_add_func ("/chunker/sizes", test_sizes);
  g_test_add_func ("/chunker/keyed-borders", test_keyed_borders);
  g_test_add_func ("/chunker/all-zero", test_all_zero);
  return g_test_run ();
}
