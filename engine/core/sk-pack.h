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

typedef struct _SkPackBuilder SkPackBuilder;
SkPackBuilder *sk_pack_builder_new (const SkId *vault, SkKeyring *keys, GError **error);
void sk_pack_builder_free (SkPackBuilder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkPackBuilder, sk_pack_builder_free)
/* Compresses, seals and appends one chunk whose id is @id. With @verify the sealed bytes are opened again
 * and the id compared before the call returns (RULES C18): SK_ERROR_CORRUPT means memory lied. */
gboolean sk_pack_builder_add (SkPackBuilder *self, SkCompressor *z, int level, const SkHash *id,
                              const guint8 *plain, gsize len, gboolean verify, GError **error);
/* Copies a sealed chunk of the same epoch from another pack (repack). */
gboolean sk_pack_builder_add_sealed (SkPackBuilder *self, const SkPackRow *row, const guint8 *sealed, GError **error);
gsize sk_pack_builder_size (SkPackBuilder *self);
guint sk_pack_builder_count (SkPackBuilder *self);
/* Closes the pack: table, padding, name. *@rows (SkPackRow) and *@name are set. (transfer full) */
GBytes *sk_pack_builder_finish (SkPackBuilder *self, SkHash *name, GArray **rows, GError **error);

/* Opens the table of a whole pack object. The name is checked when @name is given. Returns rows of SkPackRow,
 * ascending, inside the body, not overlapping. */
GArray *sk_pack_read_table (GBytes *object, const SkId *vault, SkKeyring *keys, const SkHash *name, SkId *epoch, GError **error);
/* Opens one sealed chunk (row->stored_len bytes at @sealed) and verifies its id. (transfer full) */
GBytes *sk_pack_open_chunk (const SkPackRow *row, const guint8 *sealed, gsize len, const SkId *vault, const SkId *epoch,
                            SkKeyring *keys, SkCompressor *z, GError **error);
/* "packs/<2 hex>/<64 hex>" (transfer full) */
char *sk_pack_object_name (const SkHash *name);
