/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content-defined chunk borders: FastCDC-style gear hash, normalised with two masks (Xia et al.,
 * "FastCDC", USENIX ATC 2016). The gear table comes from the vault's id key, so that borders do not
 * fingerprint known files. No I/O, no allocation per call. */
#pragma once
#include "sk-keys.h"

typedef struct { guint64 table[256]; } SkGear;
void sk_gear_init (SkGear *self, const SkKey *id_key);

typedef struct { guint32 min, avg, max; } SkChunkSizes;
/* 256 KiB average below 4 GiB, 1 MiB below 64 GiB, 4 MiB above; min avg/4, max avg*4. */
SkChunkSizes sk_chunk_sizes_for (guint64 file_size);

typedef struct { const SkGear *gear; SkChunkSizes sizes; guint64 hash, mask_small, mask_large; gsize taken; } SkChunker;
void sk_chunker_init (SkChunker *self, const SkGear *gear, SkChunkSizes sizes);
/* Bytes of @data up to and including the next border, or 0 if all @len bytes were taken in without one.
 * State carries over, so a caller may feed any slices. After a border the state is as new. */
gsize sk_chunker_feed (SkChunker *self, const guint8 *data, gsize len);
/* TRUE if @len bytes are all zero. */
gboolean sk_all_zero (const guint8 *data, gsize len);
