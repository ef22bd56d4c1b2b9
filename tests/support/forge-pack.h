/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Written from FORMAT.md alone, not from sk-pack.c: makes packs whose seals are right and whose
 * table says whatever a test wants, and the fixed keys of fixtures and corpora. */
#pragma once
#include "sk-pack.h"

#include <string.h>

static const SkId forge_vault = { { 0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } };

/* One epoch; id key, epoch id and master are ascending bytes. (transfer full) */
static inline SkKeyring *
forge_keys (void)
{
  guint8 stored[1 + 32 + 2 + 16 + 32];

  for (guint i = 0; i < sizeof stored; i++)
    stored[i] = (guint8) i;
  stored[0] = 1;
  stored[33] = 1;
  stored[34] = 0;
  return sk_keyring_parse (stored, sizeof stored, NULL);
}

static inline void
forge_ad (SkWriter *ad, guint8 kind, const SkId *vault, const SkId *epoch)
{
  sk_writer_init (ad);
  sk_writer_u8 (ad, kind);
  sk_writer_u8 (ad, 1);
  sk_writer_id (ad, vault);
  sk_writer_id (ad, epoch);
}

static inline void
forge_sealed (SkWriter *object, const SkKey *key, SkWriter *ad, const guint8 *plain, gsize len)
{
  g_autoptr(GBytes) sealed = sk_seal_bytes (key, ad->bytes->data, ad->bytes->len, plain, len);

  sk_writer_raw (object, g_bytes_get_data (sealed, NULL), len + SK_SEAL_OVERHEAD);
}

/* A pack with @body where its sealed chunks should be and @table as the plain table. @said_len:
 * what the sealed length says; 0 = the truth. (transfer full) */
static inline GBytes *
forge_pack (SkKeyring *keys, const guint8 *body, gsize body_len, const guint8 *table,
            gsize table_len, guint32 said_len)
{
  g_auto(SkWriter) object = { 0 };
  g_auto(SkWriter) table_ad = { 0 };
  g_auto(SkWriter) length_ad = { 0 };
  g_auto(SkKey) key = { 0 };
  const SkId *epoch = sk_keyring_current (keys);
  gsize total = 40 + body_len + table_len + SK_SEAL_OVERHEAD + 4 + SK_SEAL_OVERHEAD + 4;
  guint8 length[4];
  SkHash before;

  sk_keyring_get (keys, epoch, SK_USE_CHUNK, &key, NULL);
  sk_writer_init (&object);
  sk_writer_raw (&object, "SKPK", 4);
  sk_writer_u32 (&object, 1);
  sk_writer_id (&object, &forge_vault);
  sk_writer_id (&object, epoch);
  sk_writer_raw (&object, body, body_len);

  sk_sha256 (object.bytes->data, object.bytes->len, &before);
  forge_ad (&table_ad, 2, &forge_vault, epoch);
  sk_writer_hash (&table_ad, &before);
  forge_sealed (&object, &key, &table_ad, table, table_len);

  if (said_len == 0)
    said_len = (guint32) (table_len + SK_SEAL_OVERHEAD);
  said_len = GUINT32_TO_LE (said_len);
  memcpy (length, &said_len, sizeof length);
  forge_ad (&length_ad, 3, &forge_vault, epoch);
  sk_writer_u64 (&length_ad, total);
  forge_sealed (&object, &key, &length_ad, length, sizeof length);
  sk_writer_raw (&object, "SKPE", 4);
  g_assert (object.bytes->len == total);
  return sk_writer_finish (&object);
}
