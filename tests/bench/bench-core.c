/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MB/s of each step that content passes in core, on one thread, and of the whole way into a pack
 * beside their sum. Argument: MiB per step (default 64). */
#include "sk-chunker.h"
#include "sk-limits.h"
#include "sk-pack.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (256u << 10)

typedef struct
{
  guint8 *data;
  gsize len;
  SkKeyring *keys;
  SkKey id_key;
  SkGear gear;
  SkCompressor *z;
  guint8 *out;
  guint64 sink;       /* keeps results alive */
} Bench;

typedef void (*Step) (Bench *bench);

static double
run (const char *name, Bench *bench, Step step)
{
  double best = 0;

  /* The best of three: other programs only ever make it slower. */
  for (guint i = 0; i < 3; i++)
    {
      gint64 start = g_get_monotonic_time ();
      double seconds;

      step (bench);
      seconds = (double) (g_get_monotonic_time () - start) / 1e6;
      best = MAX (best, (double) bench->len / 1e6 / MAX (seconds, 1e-6));
    }
  printf ("%-28s %8.0f MB/s\n", name, best);
  return best;
}

static void
step_gear (Bench *bench)
{
  SkChunker chunker;
  gsize pos = 0;

  sk_chunker_init (&chunker, &bench->gear, sk_chunk_sizes_for (bench->len));
  while (pos < bench->len)
    {
      gsize n = sk_chunker_feed (&chunker, bench->data + pos, bench->len - pos);

      pos = n > 0 ? pos + n : bench->len;
      bench->sink++;
    }
}

/* A minimum of zero: every byte goes through the hash. */
static void
step_gear_every_byte (Bench *bench)
{
  SkChunker chunker;
  gsize pos = 0;

  sk_chunker_init (&chunker, &bench->gear,
                   (SkChunkSizes){ .min = 0, .avg = CHUNK, .max = 4 * CHUNK });
  while (pos < bench->len)
    {
      gsize n = sk_chunker_feed (&chunker, bench->data + pos, bench->len - pos);

      pos = n > 0 ? pos + n : bench->len;
      bench->sink++;
    }
}

static void
step_id (Bench *bench)
{
  SkHash id;

  for (gsize pos = 0; pos < bench->len; pos += CHUNK)
    {
      sk_chunk_id (&bench->id_key, bench->data + pos, CHUNK, &id);
      bench->sink += id.bytes[0];
    }
}

static void
step_sha256 (Bench *bench)
{
  SkHash hash;

  sk_sha256 (bench->data, bench->len, &hash);
  bench->sink += hash.bytes[0];
}

static void
step_zstd3 (Bench *bench)
{
  for (gsize pos = 0; pos < bench->len; pos += CHUNK)
    {
      gsize len;

      sk_compress (bench->z, 3, bench->data + pos, CHUNK, bench->out, sk_compress_bound (CHUNK),
                   &len);
      bench->sink += len;
    }
}

static void
step_seal (Bench *bench)
{
  for (gsize pos = 0; pos < bench->len; pos += CHUNK)
    sk_seal (&bench->id_key, NULL, 0, bench->data + pos, CHUNK, bench->out);
}

static void
step_zero (Bench *bench)
{
  guint8 *zeros = g_malloc0 (bench->len);

  bench->sink += (guint64) sk_all_zero (zeros, bench->len);
  g_free (zeros);
}

static void
step_pack (Bench *bench)
{
  SkId vault = { { 1 } };
  SkHash id, name;

  for (gsize pos = 0; pos < bench->len;)
    {
      g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&vault, bench->keys, NULL, NULL);
      g_autoptr(GArray) rows = NULL;
      g_autoptr(GBytes) object = NULL;
      gsize end = MIN (pos + SK_PACK_TARGET_MAX, bench->len);

      for (; pos < end; pos += CHUNK)
        {
          sk_chunk_id (&bench->id_key, bench->data + pos, CHUNK, &id);
          if (!sk_pack_builder_add (builder, bench->z, 3, &id, bench->data + pos, CHUNK,
                                    (pos / CHUNK) % 16 == 0, NULL))
            abort ();
        }
      object = sk_pack_builder_finish (builder, &name, &rows, NULL);
      bench->sink += g_bytes_get_size (object);
    }
}

static void
fill_text (Bench *bench)
{
  static const char *const words[]
      = { "river ", "under ",   "the ",   "a ",  "window ", "letter ", "of ",   "and ",
          "seven ", "morning ", "paper ", "to ", "in ",     "stone ",  "walk ", "copper\n" };
  g_autoptr(GRand) rand = g_rand_new_with_seed (1);
  gsize pos = 0;

  while (pos < bench->len)
    {
      guint32 r = g_rand_int (rand);
      char number[16];
      const char *word = words[r % G_N_ELEMENTS (words)];
      gsize n;

      if ((r >> 8) % 6 == 0)
        {
          g_snprintf (number, sizeof number, "%u ", r >> 12);
          word = number;
        }
      n = MIN (strlen (word), bench->len - pos);
      memcpy (bench->data + pos, word, n);
      pos += n;
    }
}

static void
run_kind (const char *kind, Bench *bench)
{
  g_autofree char *zstd_name = g_strdup_printf ("zstd 3, %s", kind);
  g_autofree char *pack_name = g_strdup_printf ("id + pack, %s", kind);
  double seconds = 0;
  double pack;

  seconds += 1 / run ("chunk id", bench, step_id);
  seconds += 1 / run (zstd_name, bench, step_zstd3);
  seconds += 1 / run ("seal", bench, step_seal);
  seconds += 1 / run ("sha256", bench, step_sha256);
  pack = run (pack_name, bench, step_pack);
  printf ("%-28s %8.2f x the time of the four steps on the full length\n", "", 1 / pack / seconds);
}

int
main (int argc, char **argv)
{
  Bench bench = { 0 };
  guint64 mib = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : 64;

  if (!sk_crypto_init (NULL) || mib == 0 || mib > 4096)
    return 1;
  bench.len = (gsize) mib << 20;
  bench.data = g_malloc (bench.len);
  bench.out = g_malloc (sk_compress_bound (CHUNK) + SK_SEAL_OVERHEAD);
  bench.keys = sk_keyring_new_vault ();
  bench.z = sk_compressor_new ();
  sk_keyring_id_key (bench.keys, &bench.id_key);
  sk_gear_init (&bench.gear, &bench.id_key);

  randombytes_buf (bench.data, bench.len);
  run ("gear", &bench, step_gear);
  run ("gear, every byte", &bench, step_gear_every_byte);
  run ("all zero", &bench, step_zero);
  run_kind ("random", &bench);
  fill_text (&bench);
  run_kind ("text", &bench);

  sk_compressor_free (bench.z);
  sk_keyring_unref (bench.keys);
  sk_key_clear (&bench.id_key);
  g_free (bench.out);
  g_free (bench.data);
  return bench.sink == 0;
}
