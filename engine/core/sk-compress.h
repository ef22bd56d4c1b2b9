/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One chunk and zstd. Level by class, not by format: a probe decides whether it shrinks at all. */
#pragma once
#include "sk-error.h"

typedef enum { SK_METHOD_RAW = 0, SK_METHOD_ZSTD = 1 } SkMethod;

/* Contexts are reused; one object per thread at a time (a pool lends them). */
typedef struct _SkCompressor SkCompressor;
SkCompressor *sk_compressor_new (void);
void sk_compressor_free (SkCompressor *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkCompressor, sk_compressor_free)
/* Working memory of at least @size bytes that belongs to @self; its content lasts until the next call with the
 * same @which (below SK_SCRATCH_COUNT). Saves an allocation per chunk. */
#define SK_SCRATCH_COUNT 2u
guint8 *sk_compressor_scratch (SkCompressor *self, guint which, gsize size);
gsize sk_compress_bound (gsize len);
/* Compresses @len bytes into @out (@out_size >= sk_compress_bound). Returns the method; *@out_len is the
 * result length. SK_METHOD_RAW means "store as it is" and @out is unspecified (the probe or the result did
 * not shrink by 1/16). @level 0 = never compress. */
SkMethod sk_compress (SkCompressor *self, int level, const guint8 *data, gsize len, guint8 *out, gsize out_size, gsize *out_len);
/* @plain_len is known and was bounded by the caller; anything else than exactly that length is SK_ERROR_CORRUPT. */
gboolean sk_decompress (SkCompressor *self, SkMethod method, const guint8 *data, gsize len, guint8 *out, gsize plain_len, GError **error);
