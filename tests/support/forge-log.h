/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fixed keys and envelopes for fuzz targets of the log: what stands behind a seal is reached with any bytes. */
#pragma once
#include "forge-pack.h"
#include "sk-envelope.h"
#include "sk-head.h"

typedef struct
{
  SkKeyring *keys;
  SkIdentity *signer;
  SkCompressor *z;
  SkId epoch, writer, storage;
} ForgeLog;

static inline ForgeLog *
forge_log (void)
{
  static ForgeLog self;

  if (self.keys == NULL)
    {
      SkKey seed = { { 7 } };

      g_assert_true (sk_crypto_init (NULL));
      self.keys = forge_keys ();
      self.signer = sk_identity_new_from_seed (&seed);
      self.z = sk_compressor_new ();
      self.epoch = *sk_keyring_current (self.keys);
      self.writer = (SkId) { { 0xde, 0x71, 0xce, 1, 2, 3, 4, 5, 1 } };
      self.storage = (SkId) { { 0x57 } };
    }
  return &self;
}

/* An envelope of @kind whose fields are @ids (in order), then @numbers of 8 bytes, with @body in it. */
static inline GBytes *
forge_envelope (const SkEnvelopeKind *kind, SkKeyUse use, const SkId *const *ids, guint n_ids, const guint64 *numbers,
                guint n_numbers, const guint8 *body, gsize len)
{
  ForgeLog *log = forge_log ();
  g_auto(SkWriter) header = { 0 };
  g_auto(SkKey) key = { 0 };

  sk_writer_init (&header);
  sk_envelope_begin (kind, &header);
  for (guint i = 0; i < n_ids; i++)
    sk_writer_id (&header, ids[i]);
  for (guint i = 0; i < n_numbers; i++)
    sk_writer_u64 (&header, numbers[i]);
  g_assert_true (sk_keyring_get (log->keys, &log->epoch, use, &key, NULL));
  return sk_envelope_build (kind, &header, body, len, &key, NULL, kind->is_signed ? log->signer : NULL, NULL);
}
