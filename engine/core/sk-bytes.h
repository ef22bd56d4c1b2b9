/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds-checked reading and growing writing of little-endian data. A reader that fails once stays
 * failed and yields zeros, so decoders read straight on and check once. One read per statement. */
#pragma once
#include "sk-id.h"

typedef struct { const guint8 *data; gsize len, pos; gboolean failed; } SkReader;

void sk_reader_init (SkReader *self, const guint8 *data, gsize len);
/* NULL and failed when fewer than @n bytes are left. */
const guint8 *sk_reader_take (SkReader *self, gsize n);
guint8 sk_reader_u8 (SkReader *self);
guint16 sk_reader_u16 (SkReader *self);
guint32 sk_reader_u32 (SkReader *self);
guint64 sk_reader_u64 (SkReader *self);
/* LEB128, at most 10 bytes, shortest form only; fails above @max. */
guint64 sk_reader_varint (SkReader *self, guint64 max);
/* Zig-zag varint, any gint64. */
gint64 sk_reader_svarint (SkReader *self);
void sk_reader_id (SkReader *self, SkId *out);
void sk_reader_hash (SkReader *self, SkHash *out);
/* varint length (at most @max) then the bytes; *@len receives it. */
const guint8 *sk_reader_blob (SkReader *self, gsize max, gsize *len);
/* As blob, copied and NUL-terminated; NULL when failed or when the bytes contain NUL. (transfer full) */
char *sk_reader_string (SkReader *self, gsize max);
gsize sk_reader_left (const SkReader *self);
/* TRUE when nothing failed and every byte was read. */
gboolean sk_reader_done (const SkReader *self);

typedef struct { GByteArray *bytes; } SkWriter;

void sk_writer_init (SkWriter *self);
void sk_writer_clear (SkWriter *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkWriter, sk_writer_clear)
void sk_writer_raw (SkWriter *self, gconstpointer data, gsize len);
void sk_writer_u8 (SkWriter *self, guint8 v);
void sk_writer_u16 (SkWriter *self, guint16 v);
void sk_writer_u32 (SkWriter *self, guint32 v);
void sk_writer_u64 (SkWriter *self, guint64 v);
void sk_writer_varint (SkWriter *self, guint64 v);
void sk_writer_svarint (SkWriter *self, gint64 v);
void sk_writer_id (SkWriter *self, const SkId *id);
void sk_writer_hash (SkWriter *self, const SkHash *hash);
void sk_writer_blob (SkWriter *self, gconstpointer data, gsize len);
void sk_writer_string (SkWriter *self, const char *s);
/* The bytes so far; the writer is empty afterwards. (transfer full) */
GBytes *sk_writer_finish (SkWriter *self);
