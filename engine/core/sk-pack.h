/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pack: one stored object holding many sealed chunks. Layout in FORMAT.md, "Pack". */
#pragma once
#include "sk-compress.h"
#include "sk-hash.h"
#include "sk-seal.h"

/* One row of a pack's table. Offsets are from the start of the object. */
typedef struct
{
  SkHash id;
  guint64 offset;
  guint32 stored_len;      /* sealed bytes */
  guint32 plain_len;
  SkMethod method;
} SkPackRow;

/* TRUE if lengths and method can be true together and are inside the limits. For every row read from outside. */
gboolean sk_pack_row_is_valid (const SkPackRow *row);

/* Not for several threads at once; may move from one to another. */
typedef struct _SkPackBuilder SkPackBuilder;
/* @room: memory that nobody else reads, in which the object is built as long as it fits; NULL for none. (transfer full) */
SkPackBuilder *sk_pack_builder_new (const SkId *vault, SkKeyring *keys, GBytes *room, GError **error);
void sk_pack_builder_free (SkPackBuilder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkPackBuilder, sk_pack_builder_free)
/* Compresses, seals and appends one chunk whose id is @id. With @verify the sealed bytes are opened again
 * and the id compared before the call returns (RULES C18): SK_ERROR_CORRUPT means memory lied, nothing was added.
 * SK_ERROR_LIMIT: the chunk is empty or too large, or the pack is full (close it and begin another). */
gboolean sk_pack_builder_add (SkPackBuilder *self, SkCompressor *z, int level, const SkHash *id,
                              const guint8 *plain, gsize len, gboolean verify, GError **error);
/* Bytes, at most, that the object would have if closed now, before padding. */
gsize sk_pack_builder_size (SkPackBuilder *self);
/* Closes the pack, which must hold a chunk: table, padding, name. *@rows (SkPackRow) and *@name are set. The builder
 * can only be freed afterwards. (transfer full) */
GBytes *sk_pack_builder_finish (SkPackBuilder *self, SkHash *name, GArray **rows, GError **error);

#if SK_TEST_HOOKS
/* When set, called with a copy of the plaintext between id and seal, so that a test can play bad memory. */
extern void (*sk_pack_test_corrupt) (guint8 *plain, gsize len);
#endif

/* Opens the table of a whole pack object. The name is checked when @name is given. Returns rows of SkPackRow,
 * ascending, inside the body, not overlapping. */
GArray *sk_pack_read_table (GBytes *object, const SkId *vault, SkKeyring *keys, const SkHash *name, SkId *epoch, GError **error);
/* Opens one sealed chunk (row->stored_len bytes at @sealed) and verifies its id. (transfer full) */
GBytes *sk_pack_open_chunk (const SkPackRow *row, const guint8 *sealed, gsize len, const SkId *vault, const SkId *epoch,
                            SkKeyring *keys, SkCompressor *z, GError **error);
/* The same into memory of row->plain_len bytes. */
gboolean sk_pack_open_chunk_into (const SkPackRow *row, const guint8 *sealed, gsize len, const SkId *vault, const SkId *epoch,
                                  SkKeyring *keys, SkCompressor *z, guint8 *plain, GError **error);
/* "packs/<2 hex>/<64 hex>" (transfer full) */
char *sk_pack_object_name (const SkHash *name);
