/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-compress.h"

#include "sk-limits.h"

#include <string.h>
#include <zstd.h>

/* Chunks up to here are simply tried; a probe would cost as much as it saves. */
#define PROBE_ABOVE (64u << 10)
#define SLICE_SIZE 4096u
#define SLICES_MIN 4u
#define SLICES_MAX 16u
#define PROBE_LEVEL 1

struct _SkCompressor
{
  ZSTD_CCtx *compress;
  ZSTD_CCtx *probe; /* own context: a change of level would rebuild the tables of the other */
  ZSTD_DCtx *decompress;
  int level;                    /* what compress is set to; 0 = not yet */
  guint8 *scratch[SK_SCRATCH_COUNT];
  gsize scratch_size[SK_SCRATCH_COUNT];
  guint8 sample[SLICES_MAX * SLICE_SIZE];
};

SkCompressor *
sk_compressor_new (void)
{
  return g_new0 (SkCompressor, 1);
}

void
sk_compressor_free (SkCompressor *self)
{
  if (self == NULL)
    return;
  ZSTD_freeCCtx (self->compress);
  ZSTD_freeCCtx (self->probe);
  ZSTD_freeDCtx (self->decompress);
  for (guint i = 0; i < SK_SCRATCH_COUNT; i++)
    g_free (self->scratch[i]);
  g_free (self);
}

guint8 *
sk_compressor_scratch (SkCompressor *self, guint which, gsize size)
{
  g_assert (which < SK_SCRATCH_COUNT);
  if (self->scratch_size[which] < size)
    {
      g_free (self->scratch[which]);
      self->scratch[which] = g_malloc (size);
      self->scratch_size[which] = size;
    }
  return self->scratch[which];
}

gsize
sk_compress_bound (gsize len)
{
  return ZSTD_compressBound (len);
}

/* zstd's own choice for its level 3 differs below and above 256 KiB, which is where chunks lie. One
 * setting for all: FORMAT.md, "Compression", has the measurement. */
static void
set_level (ZSTD_CCtx *context, int level)
{
  gboolean ours = level == SK_ZSTD_LEVEL_DEFAULT;

  ZSTD_CCtx_setParameter (context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter (context, ZSTD_c_minMatch, ours ? 5 : 0);
  ZSTD_CCtx_setParameter (context, ZSTD_c_hashLog, ours ? 15 : 0);
  ZSTD_CCtx_setParameter (context, ZSTD_c_chainLog, ours ? 13 : 0);
}

static ZSTD_CCtx *
new_context (int level)
{
  ZSTD_CCtx *context = ZSTD_createCCtx ();

  if (context == NULL)
    g_error ("Out of memory for compression");
  /* The length stands in the table and the seal proves the bytes: a frame needs to say neither. */
  ZSTD_CCtx_setParameter (context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter (context, ZSTD_c_checksumFlag, 0);
  set_level (context, level);
  return context;
}

/* Whether a sample spread over @data shrinks by 1/32 at the fastest level. @out has room for it: a
 * sample is smaller than any chunk that is probed. */
static gboolean
probe (SkCompressor *self, const guint8 *data, gsize len, guint8 *out)
{
  guint slices = (guint) CLAMP (len / PROBE_ABOVE, SLICES_MIN, SLICES_MAX);
  gsize step = (len - SLICE_SIZE) / (slices - 1);
  gsize sample_len = slices * SLICE_SIZE;
  gsize limit = sample_len - sample_len / 32;
  gsize n;

  for (guint i = 0; i < slices; i++)
    memcpy (self->sample + i * SLICE_SIZE, data + i * step, SLICE_SIZE);
  if (self->probe == NULL)
    self->probe = new_context (PROBE_LEVEL);
  n = ZSTD_compress2 (self->probe, out, limit, self->sample, sample_len);
  return !ZSTD_isError (n);      /* an error: it did not fit below the limit */
}

SkMethod
sk_compress (SkCompressor *self, int level, const guint8 *data, gsize len, guint8 *out,
             gsize out_size, gsize *out_len)
{
  gsize limit = len - len / 16;
  gsize n;

  *out_len = len;
  if (level <= 0 || len / 16 == 0 || (len > PROBE_ABOVE && !probe (self, data, len, out)))
    return SK_METHOD_RAW;

  level = MIN (level, SK_ZSTD_LEVEL_MAX);
  if (self->compress == NULL)
    self->compress = new_context (level);
  else if (self->level != level)
    set_level (self->compress, level);
  self->level = level;

  /* Given no more room than is worth using, zstd gives up early where it does not pay. */
  n = ZSTD_compress2 (self->compress, out, MIN (out_size, limit), data, len);
  if (ZSTD_isError (n))
    return SK_METHOD_RAW;
  *out_len = n;
  return SK_METHOD_ZSTD;
}

gboolean
sk_decompress (SkCompressor *self, SkMethod method, const guint8 *data, gsize len, guint8 *out,
               gsize plain_len, GError **error)
{
  gsize n;

  switch (method)
    {
    case SK_METHOD_RAW:
      if (len != plain_len)
        return sk_fail (error, SK_ERROR_CORRUPT, "A chunk has the wrong length");
      if (len > 0)
        memcpy (out, data, len);
      return TRUE;

    case SK_METHOD_ZSTD:
      if (self->decompress == NULL)
        self->decompress = ZSTD_createDCtx ();
      if (self->decompress == NULL)
        g_error ("Out of memory for decompression");
      n = ZSTD_decompressDCtx (self->decompress, out, plain_len, data, len);
      if (ZSTD_isError (n))
        return sk_fail (error, SK_ERROR_CORRUPT, "A chunk does not decompress: %s",
                        ZSTD_getErrorName (n));
      if (n != plain_len)
        return sk_fail (error, SK_ERROR_CORRUPT, "A chunk has the wrong length");
      return TRUE;

    default:
      return sk_fail (error, SK_ERROR_CORRUPT, "A chunk has an unknown compression method %u",
                      (guint) method);
    }
}
