/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-member-set.h"

#include "sk-envelope.h"
#include "sk-hash.h"
#include "sk-limits.h"
#include "sk-member-private.h"

#include <string.h>

#define PREFIX "members/"

/* Not signed: every record in it is. What binds it to its device and vault is the associated data of its seal. */
static const SkEnvelopeKind set_kind = {
  .what = "list of members",
  .magic = "SKMS",
  .fields_len = 2 * sizeof (SkId) + sizeof (SkDeviceId),
  .size_max = SK_MEMBER_SET_MAX,
  .plain_max = SK_MEMBER_SET_MAX,
  .is_signed = FALSE,
};

void
sk_member_set_clear (SkMemberSet *self)
{
  g_clear_pointer (&self->vault_name, g_free);
  g_clear_pointer (&self->records, g_ptr_array_unref);
}

/* --- building --- */

static gboolean
take_record (GPtrArray *chosen, GHashTable *seen, GBytes *record, gsize *room)
{
  gsize size = g_bytes_get_size (record) + 3;

  if (size > *room || !g_hash_table_add (seen, record))
    return FALSE;
  *room -= size;
  g_ptr_array_add (chosen, record);
  return TRUE;
}

/* What counts first, then what may count one day, as far as there is room. Borrowed from @members. */
static GPtrArray *
choose_records (SkMembers *members, const SkDeviceId *device)
{
  g_autoptr(GPtrArray) valid = sk_members_valid_records (members, device);
  g_autoptr(GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *chosen = g_ptr_array_new ();
  gsize room = SK_MEMBER_SET_MAX / 2;

  for (guint i = 0; i < valid->len; i++)
    take_record (chosen, seen, ((SkMemberRecord *) g_ptr_array_index (valid, i))->bytes, &room);
  for (guint i = 0; i < members->records->len; i++)
    take_record (chosen, seen, ((SkMemberRecord *) g_ptr_array_index (members->records, i))->bytes, &room);
  return chosen;
}

GBytes *
sk_member_set_build (const SkId *vault, const SkDeviceId *device, const char *vault_name, SkMembers *members, SkKeyring *keys,
                     GError **error)
{
  g_autoptr(GPtrArray) records = choose_records (members, device);
  const SkId *epoch = sk_keyring_current (keys);
  g_auto(SkWriter) header = { 0 }, body = { 0 };
  g_auto(SkKey) key = { 0 };

  if (!sk_label_check (vault_name, error) || !sk_keyring_get (keys, epoch, SK_USE_RECORDS, &key, error))
    return NULL;
  sk_writer_init (&header);
  sk_envelope_begin (&set_kind, &header);
  sk_writer_id (&header, vault);
  sk_writer_raw (&header, device->bytes, sizeof device->bytes);
  sk_writer_id (&header, epoch);
  sk_writer_init (&body);
  sk_writer_string (&body, vault_name);
  sk_writer_varint (&body, records->len);
  for (guint i = 0; i < records->len; i++)
    {
      GBytes *record = g_ptr_array_index (records, i);

      sk_writer_blob (&body, g_bytes_get_data (record, NULL), g_bytes_get_size (record));
    }
  return sk_envelope_build (&set_kind, &header, body.bytes->data, body.bytes->len, &key, NULL, NULL, error);
}

void
sk_member_set_state (const char *vault_name, SkMembers *members, SkKeyring *keys, SkHash *out)
{
  g_auto(SkWriter) w = { 0 };

  sk_writer_init (&w);
  sk_writer_id (&w, sk_keyring_current (keys));
  sk_writer_string (&w, vault_name);
  for (guint i = 0; i < members->records->len; i++)
    sk_writer_hash (&w, &((SkMemberRecord *) g_ptr_array_index (members->records, i))->hash);
  sk_blake2b (w.bytes->data, w.bytes->len, out);
}

/* --- reading --- */

static gboolean
parse_body (GBytes *body, const SkId *vault, SkMemberSet *out)
{
  SkReader r;
  guint n;

  sk_reader_init (&r, g_bytes_get_data (body, NULL), g_bytes_get_size (body));
  out->vault_name = sk_reader_string (&r, SK_LABEL_MAX);
  if (out->vault_name == NULL || !sk_label_check (out->vault_name, NULL))
    return FALSE;
  out->records = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  n = (guint) sk_reader_varint (&r, 2 * SK_MEMBER_RECORDS_MAX);
  for (guint i = 0; i < n; i++)
    {
      gsize len;
      const guint8 *bytes = sk_reader_blob (&r, SK_MEMBER_MAX, &len);
      GBytes *record = bytes != NULL ? g_bytes_new (bytes, len) : NULL;
      SkMemberRecord *parsed;

      if (record == NULL)
        return FALSE;
      g_ptr_array_add (out->records, record);
      parsed = sk_member_record_parse (record, vault, NULL);
      if (parsed == NULL)
        return FALSE;
      sk_member_record_free (parsed);
    }
  return sk_reader_done (&r);
}

gboolean
sk_member_set_open (GBytes *object, const SkId *vault, const SkDeviceId *device, SkKeyring *keys, SkMemberSet *out, GError **error)
{
  g_auto(SkMemberSet) found = { 0 };
  g_autoptr(GBytes) body = NULL;
  g_auto(SkKey) key = { 0 };
  SkReader fields;
  SkId named;
  const guint8 *of;

  if (!sk_envelope_peek (&set_kind, object, &fields, error))
    return FALSE;
  sk_reader_id (&fields, &named);
  of = sk_reader_take (&fields, sizeof device->bytes);
  sk_reader_id (&fields, &found.epoch);
  if (!sk_id_equal (&named, vault) || memcmp (of, device->bytes, sizeof device->bytes) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A list of members belongs to another vault or device");
  if (!sk_keyring_get (keys, &found.epoch, SK_USE_RECORDS, &key, error))
    return FALSE;
  body = sk_envelope_open (&set_kind, object, &key, NULL, error);
  if (body == NULL)
    return FALSE;
  if (!parse_body (body, vault, &found))
    return sk_fail (error, SK_ERROR_CORRUPT, "A list of members is damaged: its records do not parse");
  *out = found;
  memset (&found, 0, sizeof found);
  return TRUE;
}

/* --- names --- */

char *
sk_member_set_object_name (const SkDeviceId *device)
{
  char hex[SK_DEVICE_ID_HEX_SIZE];

  sk_device_id_format (device, hex);
  return g_strdup_printf (PREFIX "%s", hex);
}

gboolean
sk_member_set_parse_name (const char *name, SkDeviceId *device)
{
  return g_str_has_prefix (name, PREFIX) && sk_device_id_parse (name + strlen (PREFIX), device, NULL);
}
