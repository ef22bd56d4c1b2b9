/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-snapshot.h"

#include "sk-envelope.h"
#include "sk-limits.h"
#include "sk-position-private.h"

#include <string.h>

/* One record in so many ends a part: about 400 KB of entries. */
#define PART_RECORDS 4096u
#define PART_REF_MIN (2 * sizeof (SkHash) + 1)

static const SkEnvelopeKind list_kind = {
  .what = "snapshot",
  .magic = "SKSN",
  .fields_len = 3 * sizeof (SkId) + 8 + 8,
  .size_max = SK_SEGMENT_SIZE_MAX,
  .plain_max = SK_SEGMENT_SIZE_MAX,
  .is_signed = TRUE,
};

static const SkEnvelopeKind part_kind = {
  .what = "snapshot part",
  .magic = "SKSP",
  .fields_len = 2 * sizeof (SkId),
  .size_max = SK_SEGMENT_SIZE_MAX,
  .plain_max = SK_SEGMENT_PLAIN_MAX,
  .is_signed = FALSE,
};

SkSnapshot *
sk_snapshot_new (void)
{
  SkSnapshot *self = g_new0 (SkSnapshot, 1);

  self->coverage = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  self->parts = g_array_new (FALSE, FALSE, sizeof (SkPartRef));
  return self;
}

void
sk_snapshot_free (SkSnapshot *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->coverage, g_array_unref);
  g_clear_pointer (&self->parts, g_array_unref);
  g_free (self);
}

static void
compute_state (const SkSnapshot *self, SkHash *out)
{
  g_auto(SkWriter) plain = { 0 };

  sk_writer_init (&plain);
  for (guint i = 0; i < self->parts->len; i++)
    sk_writer_hash (&plain, &g_array_index (self->parts, SkPartRef, i).plain);
  sk_blake2b (plain.bytes->data, plain.bytes->len, out);
}

static gboolean
put_body (const SkSnapshot *self, SkWriter *body, GError **error)
{
  if (self->parts->len > SK_SNAPSHOT_PARTS_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A snapshot has too many parts");
  sk_writer_hash (body, &self->state);
  if (!sk_positions_put (body, self->coverage, error))
    return FALSE;
  sk_writer_varint (body, self->parts->len);
  for (guint i = 0; i < self->parts->len; i++)
    {
      const SkPartRef *part = &g_array_index (self->parts, SkPartRef, i);

      if (part->size == 0 || part->size > SK_SEGMENT_SIZE_MAX)
        return sk_fail (error, SK_ERROR_LIMIT, "A part of a snapshot has an impossible size");
      sk_writer_hash (body, &part->name);
      sk_writer_hash (body, &part->plain);
      sk_writer_varint (body, part->size);
    }
  return TRUE;
}

GBytes *
sk_snapshot_build (SkSnapshot *self, SkKeyring *keys, SkIdentity *signer, SkHash *hash,
                   GError **error)
{
  g_auto(SkWriter) clear = { 0 }, body = { 0 };
  g_auto(SkKey) key = { 0 };
  GBytes *object;

  if (self->seq == 0 || self->seq > SK_SEQ_MAX || self->wall < SK_WALL_MIN
      || self->wall > SK_WALL_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A snapshot has an impossible number or time"), NULL;
  if (!sk_keyring_get (keys, &self->epoch, SK_USE_SNAPSHOT, &key, error))
    return NULL;
  compute_state (self, &self->state);

  sk_writer_init (&clear);
  sk_envelope_begin (&list_kind, &clear);
  sk_writer_id (&clear, &self->vault);
  sk_writer_id (&clear, &self->writer);
  sk_writer_id (&clear, &self->epoch);
  sk_writer_u64 (&clear, self->seq);
  sk_writer_u64 (&clear, (guint64) self->wall);
  sk_writer_init (&body);
  if (!put_body (self, &body, error))
    return NULL;
  object = sk_envelope_build (&list_kind, &clear, body.bytes->data, body.bytes->len, &key, NULL,
                              signer, error);
  if (object != NULL)
    sk_sha256 (g_bytes_get_data (object, NULL), g_bytes_get_size (object), hash);
  return object;
}

static gboolean
peek (GBytes *object, SkSnapshot *out, GError **error)
{
  SkReader r;

  if (!sk_envelope_peek (&list_kind, object, &r, error))
    return FALSE;
  sk_reader_id (&r, &out->vault);
  sk_reader_id (&r, &out->writer);
  sk_reader_id (&r, &out->epoch);
  out->seq = sk_reader_u64 (&r);
  out->wall = (gint64) sk_reader_u64 (&r);
  g_assert (sk_reader_done (&r));
  if (out->seq == 0 || out->seq > SK_SEQ_MAX || out->wall < SK_WALL_MIN || out->wall > SK_WALL_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A snapshot has an impossible number or time");
  return TRUE;
}

static gboolean
parse_body (SkSnapshot *self, GBytes *body)
{
  SkHash state;
  SkReader r;
  guint n;

  sk_reader_init (&r, g_bytes_get_data (body, NULL), g_bytes_get_size (body));
  sk_reader_hash (&r, &self->state);
  g_clear_pointer (&self->coverage, g_array_unref);
  self->coverage = sk_positions_get (&r);
  n = (guint) sk_reader_varint (&r, SK_SNAPSHOT_PARTS_MAX);
  if (self->coverage == NULL || r.failed || n > sk_reader_left (&r) / PART_REF_MIN)
    return FALSE;
  for (guint i = 0; i < n && !r.failed; i++)
    {
      SkPartRef part;

      sk_reader_hash (&r, &part.name);
      sk_reader_hash (&r, &part.plain);
      part.size = sk_reader_varint (&r, SK_SEGMENT_SIZE_MAX);
      if (part.size == 0)
        return FALSE;
      g_array_append_val (self->parts, part);
    }
  compute_state (self, &state);
  return sk_reader_done (&r) && sk_hash_equal (&state, &self->state);
}

SkSnapshot *
sk_snapshot_open (GBytes *object, const SkPublicKey *signer, const SkId *vault, SkKeyring *keys,
                  GError **error)
{
  g_autoptr(SkSnapshot) self = sk_snapshot_new ();
  g_autoptr(GBytes) body = NULL;
  g_auto(SkKey) key = { 0 };

  if (!peek (object, self, error))
    return NULL;
  if (!sk_id_equal (&self->vault, vault))
    return sk_fail (error, SK_ERROR_CORRUPT, "The snapshot belongs to another vault"), NULL;
  if (!sk_envelope_verify (&list_kind, object, signer, error)
      || !sk_keyring_get (keys, &self->epoch, SK_USE_SNAPSHOT, &key, error))
    return NULL;
  body = sk_envelope_open (&list_kind, object, &key, NULL, error);
  if (body == NULL)
    return NULL;
  if (!parse_body (self, body))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The snapshot is damaged: its lists do not parse or do not give its state"),
           NULL;
  return g_steal_pointer (&self);
}

/* --- parts --- */

static void
plain_hash (SkKeyring *keys, GBytes *body, SkHash *out)
{
  static const char domain[] = "skerry snapshot part";
  g_auto(SkKey) id_key = { 0 }, part_key = { 0 };
  SkHash derived;

  sk_keyring_id_key (keys, &id_key);
  sk_blake2b_keyed (&id_key, (const guint8 *) domain, strlen (domain), &derived);
  memcpy (part_key.bytes, derived.bytes, sizeof part_key);
  sk_blake2b_keyed (&part_key, g_bytes_get_data (body, NULL), g_bytes_get_size (body), out);
}

GBytes *
sk_part_build (GPtrArray *records, const SkId *vault, SkKeyring *keys, SkCompressor *z,
               SkPartRef *ref, GError **error)
{
  g_auto(SkWriter) clear = { 0 };
  g_auto(SkKey) key = { 0 };
  const SkId *epoch = sk_keyring_current (keys);
  g_autoptr(GBytes) body = sk_records_encode (records, error);
  GBytes *object;

  if (body == NULL || !sk_keyring_get (keys, epoch, SK_USE_SNAPSHOT, &key, error))
    return NULL;
  sk_writer_init (&clear);
  sk_envelope_begin (&part_kind, &clear);
  sk_writer_id (&clear, vault);
  sk_writer_id (&clear, epoch);
  object = sk_envelope_build (&part_kind, &clear, g_bytes_get_data (body, NULL),
                              g_bytes_get_size (body), &key, z, NULL, error);
  if (object == NULL)
    return NULL;
  plain_hash (keys, body, &ref->plain);
  ref->size = g_bytes_get_size (object);
  sk_sha256 (g_bytes_get_data (object, NULL), ref->size, &ref->name);
  return object;
}

GPtrArray *
sk_part_open (GBytes *object, const SkPartRef *ref, const SkId *vault, SkKeyring *keys,
              SkCompressor *z, GPtrArray *refused, GError **error)
{
  g_autoptr(GBytes) body = NULL;
  g_auto(SkKey) key = { 0 };
  SkId part_vault, epoch;
  SkHash hash;
  SkReader r;

  if (g_bytes_get_size (object) != ref->size)
    return sk_fail (error, SK_ERROR_CORRUPT, "A snapshot part has not the size its snapshot names"),
           NULL;
  sk_sha256 (g_bytes_get_data (object, NULL), ref->size, &hash);
  if (!sk_hash_equal (&hash, &ref->name))
    return sk_fail (error, SK_ERROR_CORRUPT, "A snapshot part is not the one its snapshot names"),
           NULL;
  if (!sk_envelope_peek (&part_kind, object, &r, error))
    return NULL;
  sk_reader_id (&r, &part_vault);
  sk_reader_id (&r, &epoch);
  if (!sk_id_equal (&part_vault, vault))
    return sk_fail (error, SK_ERROR_CORRUPT, "The snapshot part belongs to another vault"), NULL;
  if (!sk_keyring_get (keys, &epoch, SK_USE_SNAPSHOT, &key, error))
    return NULL;
  body = sk_envelope_open (&part_kind, object, &key, z, error);
  if (body == NULL)
    return NULL;
  plain_hash (keys, body, &hash);
  if (!sk_hash_equal (&hash, &ref->plain))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A snapshot part does not hold what its snapshot names"),
           NULL;
  return sk_records_decode (g_bytes_get_data (body, NULL), g_bytes_get_size (body), refused, error);
}

gboolean
sk_part_ends_after (const guint8 *key, gsize len)
{
  SkHash hash;
  SkReader r;

  sk_blake2b (key, len, &hash);
  sk_reader_init (&r, hash.bytes, sizeof hash);
  return sk_reader_u32 (&r) % PART_RECORDS == 0;
}

char *
sk_snapshot_object_name (const SkId *writer, guint64 seq)
{
  char hex[SK_ID_HEX_SIZE];

  g_assert (seq <= SK_SEQ_MAX);
  sk_id_format (writer, hex);
  return g_strdup_printf ("snap/%s/%012" G_GUINT64_FORMAT, hex, seq);
}

char *
sk_part_object_name (const SkHash *name)
{
  char hex[SK_HASH_HEX_SIZE];

  sk_hash_format (name, hex);
  return g_strdup_printf ("snap/parts/%.2s/%s", hex, hex);
}
