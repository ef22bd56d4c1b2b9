/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a hostile member can do: bodies and segments made by hand, after FORMAT.md, past the checks of the encoder. */
#pragma once
#include "log-fixture.h"

/* Frames of a body whose ids are folder (0) and writer (1) and whose only string is "laptop". */
typedef struct
{
  SkWriter frames;
  guint n;
} Forge;

static inline void
forge_init (Forge *self)
{
  sk_writer_init (&self->frames);
  self->n = 0;
}

static inline void
forge_frame (Forge *self, guint8 type, const SkWriter *content)
{
  sk_writer_u8 (&self->frames, type);
  sk_writer_blob (&self->frames, content->bytes->data, content->bytes->len);
  self->n++;
}

/* The fields of an entry up to and with its xattrs. */
static inline void
forge_entry_fields (SkWriter *w, SkKind kind, guint64 shared, const char *rest, gsize rest_len)
{
  sk_writer_u8 (w, (guint8) kind);
  sk_writer_varint (w, 0);                 /* flags */
  sk_writer_varint (w, 0);                 /* folder */
  sk_writer_varint (w, shared);
  sk_writer_blob (w, rest, rest_len);
  sk_writer_varint (w, 1);                 /* vector */
  sk_writer_varint (w, 1);
  sk_writer_varint (w, 7);
  sk_writer_varint (w, 7);                 /* lamport, writer, wall, device */
  sk_writer_varint (w, 1);
  sk_writer_svarint (w, 1700000000);
  sk_writer_varint (w, 0);
  sk_writer_varint (w, 7);                 /* metadata lamport, writer, mode, mtime */
  sk_writer_varint (w, 1);
  sk_writer_varint (w, 0755);
  sk_writer_svarint (w, 0);
  sk_writer_varint (w, 0);                 /* no xattrs */
}

static inline void
forge_directory (Forge *self, guint64 shared, const char *rest, gsize rest_len)
{
  g_auto(SkWriter) w = { 0 };

  sk_writer_init (&w);
  forge_entry_fields (&w, SK_KIND_DIR, shared, rest, rest_len);
  forge_frame (self, SK_RECORD_ENTRY, &w);
}

/* A body with @n_chunks chunks of 1000 bytes, fixture_hash (0) and so on. */
static inline GBytes *
forge_body (Forge *self, guint n_chunks)
{
  g_auto(SkWriter) w = { 0 };
  SkId folder = fixture_id (1), writer = fixture_id (2);

  sk_writer_init (&w);
  sk_writer_u8 (&w, 1);
  sk_writer_varint (&w, 2);
  sk_writer_id (&w, &folder);
  sk_writer_id (&w, &writer);
  sk_writer_varint (&w, 1);
  sk_writer_string (&w, "laptop");
  sk_writer_varint (&w, self->n);
  sk_writer_blob (&w, self->frames.bytes->data, self->frames.bytes->len);
  sk_writer_varint (&w, n_chunks);
  for (guint i = 0; i < n_chunks; i++)
    sk_writer_varint (&w, 1000);
  for (guint i = 0; i < n_chunks; i++)
    {
      SkHash id = fixture_hash (i);

      sk_writer_hash (&w, &id);
    }
  sk_writer_clear (&self->frames);
  return sk_writer_finish (&w);
}

/* A whole segment, validly sealed and signed, whose sealed bytes are @inner as they are. */
static inline GBytes *
forge_segment_inner (const SkSegmentHeader *header, const guint8 *inner, gsize inner_len, SkKeyring *keys, SkIdentity *signer)
{
  g_auto(SkWriter) w = { 0 };
  g_auto(SkKey) key = { 0 };
  g_autoptr(GByteArray) signed_bytes = g_byte_array_new ();
  g_autoptr(GBytes) sealed = NULL;
  SkSignature signature;
  SkHash hash;

  sk_writer_init (&w);
  sk_writer_raw (&w, "SKLS", 4);
  sk_writer_u32 (&w, 1);
  sk_writer_id (&w, &header->vault);
  sk_writer_id (&w, &header->writer);
  sk_writer_id (&w, &header->epoch);
  sk_writer_u64 (&w, header->seq);
  sk_writer_hash (&w, &header->prev);
  sk_writer_u64 (&w, (guint64) header->wall);
  sk_writer_u32 (&w, (guint32) (inner_len + SK_SEAL_OVERHEAD));
  g_assert_true (sk_keyring_get (keys, &header->epoch, SK_USE_LOG, &key, NULL));
  sealed = sk_seal_bytes (&key, w.bytes->data, w.bytes->len, inner, inner_len);
  sk_blake2b (g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed), &hash);
  g_byte_array_append (signed_bytes, w.bytes->data, w.bytes->len);
  g_byte_array_append (signed_bytes, hash.bytes, sizeof hash);
  sk_identity_sign (signer, signed_bytes->data, signed_bytes->len, &signature);
  sk_writer_raw (&w, g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed));
  sk_writer_raw (&w, signature.bytes, sizeof signature);
  return sk_writer_finish (&w);
}

static inline GBytes *
forge_segment (const SkSegmentHeader *header, GBytes *body, SkKeyring *keys, SkIdentity *signer)
{
  g_auto(SkWriter) w = { 0 };

  sk_writer_init (&w);
  sk_writer_u8 (&w, 0);
  sk_writer_u32 (&w, (guint32) g_bytes_get_size (body));
  sk_writer_u32 (&w, (guint32) g_bytes_get_size (body));
  sk_writer_raw (&w, g_bytes_get_data (body, NULL), g_bytes_get_size (body));
  return forge_segment_inner (header, w.bytes->data, w.bytes->len, keys, signer);
}
