/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why these masks and numbers: FORMAT.md, "Chunk and pack". */
#include "sk-chunker.h"

#include "sk-limits.h"

#include <sodium.h>
#include <string.h>

#define GIB (G_GUINT64_CONSTANT (1) << 30)
/* Normalisation: the mask is this many bits harder before the normal point, easier behind it. */
#define NORMAL_BITS 2u

G_STATIC_ASSERT (sizeof (SkKey) == randombytes_SEEDBYTES);

void
sk_gear_init (SkGear *self, const SkKey *id_key)
{
  g_auto(SkKey) seed = { 0 };

  crypto_kdf_derive_from_key (seed.bytes, sizeof seed.bytes, 1, "skgear-1", id_key->bytes);
  randombytes_buf_deterministic (self->table, sizeof self->table, seed.bytes);
  for (guint i = 0; i < G_N_ELEMENTS (self->table); i++)
    self->table[i] = GUINT64_FROM_LE (self->table[i]);
}

SkChunkSizes
sk_chunk_sizes_for (guint64 file_size)
{
  guint32 avg;

  if (file_size < 4 * GIB)
    avg = 256u << 10;
  else if (file_size < 64 * GIB)
    avg = 1u << 20;
  else
    avg = 4u << 20;
  G_STATIC_ASSERT (4 * (4u << 20) <= SK_CHUNK_SIZE_MAX);
  return (SkChunkSizes) { .min = avg / 4, .avg = avg, .max = avg * 4 };
}

/* The upper @bits bits: those depend on the most bytes before. */
static guint64
upper_bits (guint bits)
{
  return ~(G_MAXUINT64 >> bits);
}

void
sk_chunker_init (SkChunker *self, const SkGear *gear, SkChunkSizes sizes)
{
  guint bits = g_bit_storage (sizes.avg) - 1;

  g_assert (sizes.min < sizes.avg && sizes.avg < sizes.max && bits > NORMAL_BITS);
  *self = (SkChunker) {
    .gear = gear,
    .sizes = sizes,
    .mask_small = upper_bits (bits + NORMAL_BITS),
    .mask_large = upper_bits (bits - NORMAL_BITS),
  };
}

/* Rolls over @data; the count of bytes up to and including the first border, or 0 when there is
 * none. */
static gsize
roll (SkChunker *self, guint64 mask, const guint8 *data, gsize len)
{
  const guint64 *table = self->gear->table;
  guint64 hash = self->hash;
  gsize i = 0;

  /* Four at a time: one loop test per four bytes, and the additions are the only chain between
   * them. */
  for (; i + 4 <= len; i += 4)
    {
      guint64 a = (hash << 1) + table[data[i]];
      guint64 b = (a << 1) + table[data[i + 1]];
      guint64 c = (b << 1) + table[data[i + 2]];

      hash = (c << 1) + table[data[i + 3]];
      if (G_LIKELY ((a & mask) != 0 && (b & mask) != 0 && (c & mask) != 0 && (hash & mask) != 0))
        continue;
      return i + ((a & mask) == 0 ? 1 : (b & mask) == 0 ? 2 : (c & mask) == 0 ? 3 : 4);
    }
  for (; i < len; i++)
    {
      hash = (hash << 1) + table[data[i]];
      if ((hash & mask) == 0)
        return i + 1;
    }
  self->hash = hash;
  return 0;
}

/* Goes over as much of @data as lies before position @until of the chunk. As roll(); *@pos moves on
 * when there is no border. */
static gsize
roll_until (SkChunker *self, gsize until, guint64 mask, const guint8 *data, gsize len, gsize *pos)
{
  gsize n, border;

  if (self->taken >= until)
    return 0;
  n = MIN (until - self->taken, len - *pos);
  border = roll (self, mask, data + *pos, n);
  if (border > 0)
    return *pos + border;
  self->taken += n;
  *pos += n;
  return 0;
}

gsize
sk_chunker_feed (SkChunker *self, const guint8 *data, gsize len)
{
  gsize normal = self->sizes.avg - self->sizes.avg / 32 * 5;
  gsize pos = 0;
  gsize border;

  if (self->taken < self->sizes.min)
    {
      pos = MIN (self->sizes.min - self->taken, len);
      self->taken += pos;
    }
  border = roll_until (self, normal, self->mask_small, data, len, &pos);
  if (border == 0)
    border = roll_until (self, self->sizes.max, self->mask_large, data, len, &pos);
  if (border == 0 && self->taken == self->sizes.max)
    border = pos;
  if (border > 0)
    {
      self->hash = 0;
      self->taken = 0;
    }
  return border;
}

gboolean
sk_all_zero (const guint8 *data, gsize len)
{
  gsize head = MIN (len, 16);

  for (gsize i = 0; i < head; i++)
    if (data[i] != 0)
      return FALSE;
  /* The first 16 are zero; if each byte equals the one 16 before it, all are. memcmp runs at memory
   * speed. */
  return len <= 16 || memcmp (data, data + 16, len - 16) == 0;
}
