/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-segment.h"

#include "sk-envelope.h"
#include "sk-limits.h"

#include <string.h>

static const SkEnvelopeKind segment_kind = {
  .what = "log segment",
  .magic = "SKLS",
  .fields_len = 3 * sizeof (SkId) + 8 + sizeof (SkHash) + 8,
  .size_max = SK_SEGMENT_SIZE_MAX,
  .plain_max = SK_SEGMENT_PLAIN_MAX,
  .is_signed = TRUE,
};

static gboolean
check_header (const SkSegmentHeader *header, GError **error)
{
  if (header->seq == 0 || header->seq > SK_SEQ_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A log segment has an impossible number");
  if ((header->seq == 1) != sk_hash_is_zero (&header->prev))
    return sk_fail (
        error, SK_ERROR_CORRUPT,
        "A log segment does not fit into a chain: first and without a predecessor are one");
  if (sk_id_is_zero (&header->writer) || header->wall < SK_WALL_MIN || header->wall > SK_WALL_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A log segment has no writer or an impossible time");
  return TRUE;
}

GBytes *
sk_segment_build (const SkSegmentHeader *header, GPtrArray *records, SkKeyring *keys,
                  SkIdentity *signer, SkCompressor *z, SkHash *hash, GError **error)
{
  g_auto(SkWriter) clear = { 0 };
  g_auto(SkKey) key = { 0 };
  g_autoptr(GBytes) body = NULL;
  GBytes *object;

  if (!check_header (header, error)
      || !sk_keyring_get (keys, &header->epoch, SK_USE_LOG, &key, error))
    return NULL;
  body = sk_records_encode (records, error);
  if (body == NULL)
    return NULL;

  sk_writer_init (&clear);
  sk_envelope_begin (&segment_kind, &clear);
  sk_writer_id (&clear, &header->vault);
  sk_writer_id (&clear, &header->writer);
  sk_writer_id (&clear, &header->epoch);
  sk_writer_u64 (&clear, header->seq);
  sk_writer_hash (&clear, &header->prev);
  sk_writer_u64 (&clear, (guint64) header->wall);
  object = sk_envelope_build (&segment_kind, &clear, g_bytes_get_data (body, NULL),
                              g_bytes_get_size (body), &key, z, signer, error);
  if (object != NULL)
    sk_sha256 (g_bytes_get_data (object, NULL), g_bytes_get_size (object), hash);
  return object;
}

gboolean
sk_segment_peek (GBytes *object, SkSegmentHeader *out, GError **error)
{
  SkSegmentHeader header = { .version = SK_ENVELOPE_VERSION };
  SkReader r;

  if (!sk_envelope_peek (&segment_kind, object, &r, error))
    return FALSE;
  sk_reader_id (&r, &header.vault);
  sk_reader_id (&r, &header.writer);
  sk_reader_id (&r, &header.epoch);
  header.seq = sk_reader_u64 (&r);
  sk_reader_hash (&r, &header.prev);
  header.wall = (gint64) sk_reader_u64 (&r);
  g_assert (sk_reader_done (&r));
  if (!check_header (&header, error))
    return FALSE;
  *out = header;
  return TRUE;
}

gboolean
sk_segment_open (GBytes *object, const SkPublicKey *signer, const SkId *vault, SkKeyring *keys,
                 SkCompressor *z, SkSegmentHeader *header, GPtrArray **records, GPtrArray *refused,
                 GError **error)
{
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) found = NULL;
  g_auto(SkKey) key = { 0 };
  SkSegmentHeader clear;

  if (!sk_segment_peek (object, &clear, error))
    return FALSE;
  if (!sk_id_equal (&clear.vault, vault))
    return sk_fail (error, SK_ERROR_CORRUPT, "The log segment belongs to another vault");
  if (!sk_envelope_verify (&segment_kind, object, signer, error)
      || !sk_keyring_get (keys, &clear.epoch, SK_USE_LOG, &key, error))
    return FALSE;
  body = sk_envelope_open (&segment_kind, object, &key, z, error);
  if (body == NULL)
    return FALSE;
  found
      = sk_records_decode (g_bytes_get_data (body, NULL), g_bytes_get_size (body), refused, error);
  if (found == NULL)
    return FALSE;
  *header = clear;
  *records = g_steal_pointer (&found);
  return TRUE;
}

/* --- names --- */

#define HASH_PREFIX 8u
#define SEQ_DIGITS 12u

char *
sk_segment_object_name (const SkId *writer, guint64 seq, const SkHash *hash)
{
  char writer_hex[SK_ID_HEX_SIZE], hash_hex[SK_HASH_HEX_SIZE];

  g_assert (seq <= SK_SEQ_MAX);
  sk_id_format (writer, writer_hex);
  sk_hash_format (hash, hash_hex);
  return g_strdup_printf ("log/%s/%012" G_GUINT64_FORMAT "-%.16s", writer_hex, seq, hash_hex);
}

/* Names are lower-case, so that one object has one name. */
static int
nibble (char c)
{
  return g_ascii_isupper (c) ? -1 : g_ascii_xdigit_value (c);
}

gboolean
sk_segment_parse_name (const char *name, SkId *writer, guint64 *seq, guint8 hash_prefix[8])
{
  static const gsize length = 4 + 2 * sizeof (SkId) + 1 + SEQ_DIGITS + 1 + 2 * HASH_PREFIX;
  char hex[SK_ID_HEX_SIZE] = { 0 };
  guint8 prefix[HASH_PREFIX];
  guint64 number = 0;
  SkId found;
  const char *p;

  if (strnlen (name, length + 1) != length || strncmp (name, "log/", 4) != 0)
    return FALSE;
  p = name + 4;
  memcpy (hex, p, SK_ID_HEX_SIZE - 1);
  p += SK_ID_HEX_SIZE - 1;
  for (guint i = 0; i < SK_ID_HEX_SIZE - 1; i++)
    if (nibble (hex[i]) < 0)
      return FALSE;
  if (!sk_id_parse (hex, &found, NULL) || *p++ != '/')
    return FALSE;
  for (guint i = 0; i < SEQ_DIGITS; i++, p++)
    {
      if (!g_ascii_isdigit (*p))
        return FALSE;
      number = number * 10 + (guint64) (*p - '0');
    }
  if (number == 0 || *p++ != '-')
    return FALSE;
  for (guint i = 0; i < HASH_PREFIX; i++, p += 2)
    {
      if (nibble (p[0]) < 0 || nibble (p[1]) < 0)
        return FALSE;
      prefix[i] = (guint8) (nibble (p[0]) << 4 | nibble (p[1]));
    }
  *writer = found;
  *seq = number;
  memcpy (hash_prefix, prefix, sizeof prefix);
  return TRUE;
}
