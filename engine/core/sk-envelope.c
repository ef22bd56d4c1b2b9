/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-envelope.h"

#include "sk-hash.h"
#include "sk-limits.h"

#include <string.h>

#define MAGIC_SIZE 4u
#define PREFIX_SIZE 9u /* method, plain length, stored length */
#define LEVEL 3        /* metadata is written often and read by every device: fast both ways */

static gsize
header_size (const SkEnvelopeKind *kind)
{
  return MAGIC_SIZE + 4 + kind->fields_len + 4;
}

static gsize
signature_size (const SkEnvelopeKind *kind)
{
  return kind->is_signed ? sizeof (SkSignature) : 0;
}

static void
put_u32 (guint8 *out, guint32 v)
{
  v = GUINT32_TO_LE (v);
  memcpy (out, &v, sizeof v);
}

void
sk_envelope_begin (const SkEnvelopeKind *kind, SkWriter *header)
{
  sk_writer_raw (header, kind->magic, MAGIC_SIZE);
  sk_writer_u32 (header, SK_ENVELOPE_VERSION);
}

/* What is sealed: prefix, stored body, zeros up to the padded size of the object. (transfer full) */
static guint8 *
make_inner (const SkEnvelopeKind *kind, const guint8 *body, gsize len, SkCompressor *z,
            gsize *inner_len)
{
  gsize outside = header_size (kind) + SK_SEAL_OVERHEAD + signature_size (kind);
  gsize room = z != NULL ? sk_compress_bound (len) : len, stored = 0, size;
  guint8 *inner = g_malloc (PREFIX_SIZE + MAX (room, len));
  SkMethod method = z != NULL
                        ? sk_compress (z, LEVEL, body, len, inner + PREFIX_SIZE, room, &stored)
                        : SK_METHOD_RAW;

  if (method == SK_METHOD_RAW)
    {
      stored = len;
      if (len > 0)
        memcpy (inner + PREFIX_SIZE, body, len);
    }
  inner[0] = (guint8) method;
  put_u32 (inner + 1, (guint32) len);
  put_u32 (inner + 5, (guint32) stored);

  size = MAX (outside + PREFIX_SIZE + stored, SK_ENVELOPE_SIZE_MIN);
  *inner_len = (gsize) sk_padme (size) - outside;
  inner = g_realloc (inner, *inner_len);
  memset (inner + PREFIX_SIZE + stored, 0, *inner_len - PREFIX_SIZE - stored);
  return inner;
}

/* Header and hash of the sealed body: what the signature covers. (transfer full) */
static guint8 *
signed_bytes (const guint8 *object, gsize header_len, gsize sealed_len, gsize *len)
{
  guint8 *bytes = g_malloc (header_len + sizeof (SkHash));
  SkHash hash;

  sk_blake2b (object + header_len, sealed_len, &hash);
  memcpy (bytes, object, header_len);
  memcpy (bytes + header_len, hash.bytes, sizeof hash);
  *len = header_len + sizeof hash;
  return bytes;
}

GBytes *
sk_envelope_build (const SkEnvelopeKind *kind, SkWriter *header, const guint8 *body, gsize len,
                   const SkKey *key, SkCompressor *z, SkIdentity *signer, GError **error)
{
  g_autofree guint8 *inner = NULL, *object = NULL;
  gsize inner_len, head = header_size (kind), size;

  g_assert (header->bytes->len + 4 == head && (signer != NULL) == kind->is_signed);
  if (len > kind->plain_max)
    return sk_fail (error, SK_ERROR_LIMIT, "The %s would be too large (%" G_GSIZE_FORMAT " bytes)",
                    kind->what, len),
           NULL;
  inner = make_inner (kind, body, len, z, &inner_len);
  size = head + inner_len + SK_SEAL_OVERHEAD + signature_size (kind);
  if (size > kind->size_max)
    return sk_fail (error, SK_ERROR_LIMIT, "The %s would be too large (%" G_GSIZE_FORMAT " bytes)",
                    kind->what, size),
           NULL;

  sk_writer_u32 (header, (guint32) (inner_len + SK_SEAL_OVERHEAD));
  object = g_malloc (size);
  memcpy (object, header->bytes->data, head);
  sk_seal (key, object, head, inner, inner_len, object + head);
  if (kind->is_signed)
    {
      gsize signed_len;
      g_autofree guint8 *bytes
          = signed_bytes (object, head, inner_len + SK_SEAL_OVERHEAD, &signed_len);
      SkSignature signature;

      sk_identity_sign (signer, bytes, signed_len, &signature);
      memcpy (object + size - sizeof signature, signature.bytes, sizeof signature);
    }
  return g_bytes_new_take (g_steal_pointer (&object), size);
}

gboolean
sk_envelope_peek (const SkEnvelopeKind *kind, GBytes *object, SkReader *fields, GError **error)
{
  gsize len, head = header_size (kind), sealed_len;
  const guint8 *data = g_bytes_get_data (object, &len);
  SkReader r;
  guint32 version;

  if (len > kind->size_max)
    return sk_fail (error, SK_ERROR_LIMIT, "The %s is too large (%" G_GSIZE_FORMAT " bytes)",
                    kind->what, len);
  if (len < MAGIC_SIZE + 4 || memcmp (data, kind->magic, MAGIC_SIZE) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "This is not a %s", kind->what);
  sk_reader_init (&r, data + MAGIC_SIZE, len - MAGIC_SIZE);
  version = sk_reader_u32 (&r);
  if (version > SK_ENVELOPE_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "The %s was written by a newer version of this program", kind->what);
  if (version == 0 || len < head + SK_SEAL_OVERHEAD + PREFIX_SIZE + signature_size (kind))
    return sk_fail (error, SK_ERROR_CORRUPT, "The %s is damaged: it is too short", kind->what);

  sk_reader_init (fields, data + MAGIC_SIZE + 4, kind->fields_len);
  sk_reader_init (&r, data + head - 4, 4);
  sealed_len = sk_reader_u32 (&r);
  if (sealed_len != len - head - signature_size (kind))
    return sk_fail (error, SK_ERROR_CORRUPT, "The %s is damaged: its length is wrong", kind->what);
  return TRUE;
}

gboolean
sk_envelope_verify (const SkEnvelopeKind *kind, GBytes *object, const SkPublicKey *signer,
                    GError **error)
{
  gsize len, head = header_size (kind), signed_len;
  const guint8 *data = g_bytes_get_data (object, &len);
  g_autofree guint8 *bytes = NULL;
  SkSignature signature;

  g_assert (kind->is_signed);
  bytes = signed_bytes (data, head, len - head - sizeof signature, &signed_len);
  memcpy (signature.bytes, data + len - sizeof signature, sizeof signature);
  if (!sk_verify (signer, bytes, signed_len, &signature))
    return sk_fail (error, SK_ERROR_UNTRUSTED,
                    "The signature of the %s is not by the device it names", kind->what);
  return TRUE;
}

/* The stored body inside the opened seal, unpacked. */
static GBytes *
take_body (const SkEnvelopeKind *kind, GBytes *inner, SkCompressor *z, GError **error)
{
  gsize inner_len;
  const guint8 *data = g_bytes_get_data (inner, &inner_len);
  g_autofree guint8 *plain = NULL;
  SkReader r;
  guint8 method;
  guint32 plain_len, stored_len;
  const guint8 *stored;

  sk_reader_init (&r, data, inner_len);
  method = sk_reader_u8 (&r);
  plain_len = sk_reader_u32 (&r);
  stored_len = sk_reader_u32 (&r);
  stored = sk_reader_take (&r, stored_len);
  if (stored == NULL || method > SK_METHOD_ZSTD
      || (method == SK_METHOD_RAW && stored_len != plain_len)
      || (method == SK_METHOD_ZSTD && z == NULL))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The %s is damaged: its body has an impossible length or method", kind->what),
           NULL;
  if (plain_len > kind->plain_max)
    return sk_fail (error, SK_ERROR_LIMIT, "The %s is too large when unpacked (%u bytes)",
                    kind->what, plain_len),
           NULL;
  for (gsize i = r.pos; i < inner_len; i++)
    if (data[i] != 0)
      return sk_fail (error, SK_ERROR_CORRUPT, "The %s is damaged: its padding is not empty",
                      kind->what),
             NULL;
  if (method == SK_METHOD_RAW)
    return g_bytes_new_from_bytes (inner, PREFIX_SIZE, plain_len);

  plain = g_try_malloc (MAX (plain_len, 1));
  if (plain == NULL)
    return sk_fail (error, SK_ERROR_LIMIT, "Not enough memory to unpack the %s", kind->what), NULL;
  if (!sk_decompress (z, method, stored, stored_len, plain, plain_len, NULL))
    return sk_fail (error, SK_ERROR_CORRUPT, "The %s is damaged: its body does not unpack",
                    kind->what),
           NULL;
  return g_bytes_new_take (g_steal_pointer (&plain), plain_len);
}

GBytes *
sk_envelope_open (const SkEnvelopeKind *kind, GBytes *object, const SkKey *key, SkCompressor *z,
                  GError **error)
{
  gsize len, head = header_size (kind);
  const guint8 *data = g_bytes_get_data (object, &len);
  g_autoptr(GBytes) inner
      = sk_open_bytes (key, data, head, data + head, len - head - signature_size (kind), error);

  if (inner == NULL)
    return g_prefix_error (error, "The %s: ", kind->what), NULL;
  return take_body (kind, inner, z, error);
}
