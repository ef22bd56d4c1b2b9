/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-envelope.h"
#include "sk-limits.h"
#include "sk-position-private.h"

static const SkEnvelopeKind head_kind = {
  .what = "head",
  .magic = "SKHD",
  .fields_len = 4 * sizeof (SkId) + 8,
  .size_max = SK_HEAD_SIZE_MAX,
  .plain_max = SK_HEAD_SIZE_MAX,
  .is_signed = TRUE,
};

SkHead *
sk_head_new (void)
{
  SkHead *self = g_new0 (SkHead, 1);

  self->merged = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  self->read = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  return self;
}

void
sk_head_free (SkHead *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->merged, g_array_unref);
  g_clear_pointer (&self->read, g_array_unref);
  g_free (self);
}

/* Number of the position in @merged that is the same, from 1; 0 when there is none. Both lists
 * ascend, so *@at only grows. */
static guint
same_in_merged (GArray *merged, guint *at, const SkPosition *position)
{
  const SkPosition *other;

  while (*at < merged->len
         && sk_id_compare (&g_array_index (merged, SkPosition, *at).writer, &position->writer) < 0)
    (*at)++;
  if (*at == merged->len)
    return 0;
  other = &g_array_index (merged, SkPosition, *at);
  return sk_id_equal (&other->writer, &position->writer) && other->seq == position->seq
                 && sk_hash_equal (&other->hash, &position->hash)
             ? *at + 1
             : 0;
}

static gboolean
put_read (const SkHead *self, SkWriter *w, GError **error)
{
  g_autoptr(GArray) merged = sk_positions_sorted (self->merged);
  g_autoptr(GArray) read = sk_positions_sorted (self->read);
  guint at = 0;

  if (read->len > SK_POSITIONS_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A list of log positions is too long");
  sk_writer_varint (w, read->len);
  for (guint i = 0; i < read->len; i++)
    {
      const SkPosition *position = &g_array_index (read, SkPosition, i);
      guint same = same_in_merged (merged, &at, position);

      if (position->seq == 0 || position->seq > SK_SEQ_MAX
          || (i > 0 && sk_id_compare (&(position - 1)->writer, &position->writer) >= 0))
        return sk_fail (error, SK_ERROR_CORRUPT,
                        "A list of log positions names a writer twice or an impossible number");
      sk_writer_varint (w, same);
      if (same == 0)
        sk_position_put (w, position);
    }
  return TRUE;
}

GBytes *
sk_head_build (const SkHead *self, SkKeyring *keys, SkIdentity *signer, GError **error)
{
  g_auto(SkWriter) clear = { 0 }, body = { 0 };
  g_auto(SkKey) key = { 0 };
  SkDeviceId device = sk_id_device (&self->writer);

  if (!sk_device_id_equal (&device, &self->device) || self->counter == 0
      || self->counter > SK_COUNTER_MAX || self->wall < SK_WALL_MIN || self->wall > SK_WALL_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A head has an impossible writer, counter or time"),
           NULL;
  if (!sk_keyring_get (keys, &self->epoch, SK_USE_LOG, &key, error))
    return NULL;

  sk_writer_init (&clear);
  sk_envelope_begin (&head_kind, &clear);
  sk_writer_id (&clear, &self->vault);
  sk_writer_id (&clear, &self->storage);
  sk_writer_id (&clear, &self->writer);
  sk_writer_id (&clear, &self->epoch);
  sk_writer_u64 (&clear, self->counter);

  sk_writer_init (&body);
  sk_writer_svarint (&body, self->wall);
  if (!sk_positions_put (&body, self->merged, error) || !put_read (self, &body, error))
    return NULL;
  sk_writer_u8 (&body, self->snapshot_seq != 0);
  if (self->snapshot_seq != 0)
    sk_position_put (
        &body, &(SkPosition) { self->snapshot_writer, self->snapshot_seq, self->snapshot_hash });
  return sk_envelope_build (&head_kind, &clear, body.bytes->data, body.bytes->len, &key, NULL,
                            signer, error);
}

static gboolean
peek (GBytes *object, SkHead *out, GError **error)
{
  SkReader r;

  if (!sk_envelope_peek (&head_kind, object, &r, error))
    return FALSE;
  sk_reader_id (&r, &out->vault);
  sk_reader_id (&r, &out->storage);
  sk_reader_id (&r, &out->writer);
  sk_reader_id (&r, &out->epoch);
  out->counter = sk_reader_u64 (&r);
  g_assert (sk_reader_done (&r));
  out->device = sk_id_device (&out->writer);
  if (out->counter == 0 || out->counter > SK_COUNTER_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A head has an impossible counter");
  return TRUE;
}

gboolean
sk_head_peek (GBytes *object, SkDeviceId *device, GError **error)
{
  SkHead head = { 0 };

  if (!peek (object, &head, error))
    return FALSE;
  *device = head.device;
  return TRUE;
}

static gboolean
get_read (SkHead *self, SkReader *r)
{
  guint n = (guint) sk_reader_varint (r, SK_POSITIONS_MAX);

  for (guint i = 0; i < n; i++)
    {
      guint same = (guint) sk_reader_varint (r, self->merged->len);
      SkPosition position;

      if (r->failed)
        return FALSE;
      if (same > 0)
        position = g_array_index (self->merged, SkPosition, same - 1);
      else if (!sk_position_get (r, &position))
        return FALSE;
      if (i > 0
          && sk_id_compare (&g_array_index (self->read, SkPosition, i - 1).writer, &position.writer)
                 >= 0)
        return FALSE;
      g_array_append_val (self->read, position);
    }
  return !r->failed;
}

static gboolean
parse_body (SkHead *self, GBytes *body)
{
  SkReader r;
  SkPosition snapshot;
  guint8 has_snapshot;

  sk_reader_init (&r, g_bytes_get_data (body, NULL), g_bytes_get_size (body));
  self->wall = sk_reader_svarint (&r);
  g_clear_pointer (&self->merged, g_array_unref);
  self->merged = sk_positions_get (&r);
  if (self->merged == NULL || !get_read (self, &r))
    return FALSE;
  has_snapshot = sk_reader_u8 (&r);
  if (has_snapshot > 1 || (has_snapshot == 1 && !sk_position_get (&r, &snapshot)))
    return FALSE;
  if (has_snapshot == 1)
    {
      self->snapshot_writer = snapshot.writer;
      self->snapshot_seq = snapshot.seq;
      self->snapshot_hash = snapshot.hash;
    }
  return sk_reader_done (&r) && self->wall >= SK_WALL_MIN && self->wall <= SK_WALL_MAX;
}

SkHead *
sk_head_open (GBytes *object, const SkPublicKey *signer, const SkId *vault, const SkId *storage,
              SkKeyring *keys, GError **error)
{
  g_autoptr(SkHead) self = sk_head_new ();
  g_autoptr(GBytes) body = NULL;
  g_auto(SkKey) key = { 0 };

  if (!peek (object, self, error))
    return NULL;
  if (!sk_id_equal (&self->vault, vault))
    return sk_fail (error, SK_ERROR_CORRUPT, "The head belongs to another vault"), NULL;
  if (!sk_envelope_verify (&head_kind, object, signer, error))
    return NULL;
  if (!sk_id_equal (&self->storage, storage))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The head was made for another storage: objects were copied from there"),
           NULL;
  if (!sk_keyring_get (keys, &self->epoch, SK_USE_LOG, &key, error))
    return NULL;
  body = sk_envelope_open (&head_kind, object, &key, NULL, error);
  if (body == NULL)
    return NULL;
  if (!parse_body (self, body))
    return sk_fail (error, SK_ERROR_CORRUPT, "The head is damaged: its lists do not parse"), NULL;
  return g_steal_pointer (&self);
}

char *
sk_head_object_name (const SkDeviceId *device)
{
  char hex[SK_DEVICE_ID_HEX_SIZE];

  sk_device_id_format (device, hex);
  return g_strdup_printf ("heads/%s", hex);
}
