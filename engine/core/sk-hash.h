/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes. Chunk ids are BLAKE2b-256 keyed with the vault's id key over the plaintext. Names of stored
 * objects are SHA-256 (GnuTLS), so that anyone can scrub a storage without keys. */
#pragma once
#include "sk-keys.h"

void sk_chunk_id (const SkKey *id_key, const guint8 *data, gsize len, SkHash *out);
void sk_sha256 (const guint8 *data, gsize len, SkHash *out);

typedef struct _SkSha256 SkSha256;
SkSha256 *sk_sha256_new (void);
void sk_sha256_update (SkSha256 *self, const guint8 *data, gsize len);
/* The hash of what was fed so far; feeding goes on after it. FALSE if GnuTLS cannot copy a state here. */
gboolean sk_sha256_peek (SkSha256 *self, SkHash *out);
void sk_sha256_finish (SkSha256 *self, SkHash *out);          /* frees */
void sk_sha256_free (SkSha256 *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkSha256, sk_sha256_free)
/* Unkeyed BLAKE2b-256, for values that stay inside sealed data or the database. */
void sk_blake2b (const guint8 *data, gsize len, SkHash *out);
/* Keyed BLAKE2b-256 with a derived key. */
void sk_blake2b_keyed (const SkKey *key, const guint8 *data, gsize len, SkHash *out);
