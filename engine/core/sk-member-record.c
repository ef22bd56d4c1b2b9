/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One membership record: bytes to values and back. */
#include "sk-member-private.h"

#include "sk-hash.h"
#include "sk-limits.h"
#include "sk-position-private.h"

#include <string.h>

#define MAGIC "SKMB"
#define MAGIC_SIZE 4u
#define VERSION 1u
/* Together they leave room in SK_MEMBER_MAX. */
#define CUT_MAX 512u
#define KEPT_MAX 1024u

gboolean
sk_device_id_is_zero (const SkDeviceId *self)
{
  static const SkDeviceId zero = { { 0 } };

  return sk_device_id_equal (self, &zero);
}

void
sk_member_record_free (SkMemberRecord *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->bytes, g_bytes_unref);
  g_clear_pointer (&self->cut, g_array_unref);
  g_clear_pointer (&self->kept, g_array_unref);
  g_free (self->name);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkMemberRecord, sk_member_record_free)

gboolean
sk_member_record_verify (SkMemberRecord *self, const SkPublicKey *key)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (self->bytes, &len);
  SkSignature signature;

  if (self->was_checked && memcmp (&self->checked_key, key, sizeof *key) == 0)
    return self->check_result;
  memcpy (signature.bytes, data + len - sizeof signature, sizeof signature);
  self->check_result = sk_verify (key, data, len - sizeof signature, &signature);
  self->checked_key = *key;
  self->was_checked = TRUE;
  return self->check_result;
}

/* --- reading --- */

static void
read_key (SkReader *r, SkPublicKey *out)
{
  const guint8 *p = sk_reader_take (r, sizeof out->bytes);

  if (p != NULL)
    memcpy (out->bytes, p, sizeof out->bytes);
}

static void
read_device (SkReader *r, SkDeviceId *out)
{
  const guint8 *p = sk_reader_take (r, sizeof out->bytes);

  if (p != NULL)
    memcpy (out->bytes, p, sizeof out->bytes);
}

static gboolean
read_name (SkMemberRecord *self, SkReader *r)
{
  self->name = sk_reader_string (r, SK_LABEL_MAX);
  return self->name != NULL && sk_label_check (self->name, NULL);
}

static gboolean
read_revocation (SkMemberRecord *self, SkReader *r)
{
  guint n;

  self->cut = sk_positions_get (r);
  if (self->cut == NULL || self->cut->len > CUT_MAX)
    return FALSE;
  for (guint i = 0; i < self->cut->len; i++)
    {
      SkDeviceId device = sk_id_device (&g_array_index (self->cut, SkPosition, i).writer);

      if (!sk_device_id_equal (&device, &self->subject))
        return FALSE;
    }
  self->kept = g_array_new (FALSE, FALSE, sizeof (SkHash));
  n = (guint) sk_reader_varint (r, KEPT_MAX);
  for (guint i = 0; i < n && !r->failed; i++)
    {
      SkHash hash;

      sk_reader_hash (r, &hash);
      if (i > 0 && sk_hash_compare (&g_array_index (self->kept, SkHash, i - 1), &hash) >= 0)
        return FALSE;
      g_array_append_val (self->kept, hash);
    }
  return TRUE;
}

static gboolean
read_content (SkMemberRecord *self, SkReader *r)
{
  switch (self->type)
    {
    case SK_MEMBER_ADD:
      if (!read_name (self, r))
        return FALSE;
      read_key (r, &self->sign_key);
      read_key (r, &self->box_key);
      break;
    case SK_MEMBER_RENAME:
      self->lamport = sk_reader_varint (r, SK_COUNTER_MAX);
      if (!read_name (self, r))
        return FALSE;
      break;
    case SK_MEMBER_REVOKE:
      if (!read_revocation (self, r))
        return FALSE;
      break;
    default:
      return self->type != 0;
    }
  return sk_reader_done (r);
}

SkMemberRecord *
sk_member_record_parse (GBytes *bytes, const SkId *vault, GError **error)
{
  g_autoptr(SkMemberRecord) self = g_new0 (SkMemberRecord, 1);
  gsize len;
  const guint8 *data = g_bytes_get_data (bytes, &len), *magic;
  SkReader r;
  guint32 version;
  SkId named;

  if (len > SK_MEMBER_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A membership record is too large"), NULL;
  if (len < sizeof (SkSignature))
    return sk_fail (error, SK_ERROR_CORRUPT, "A membership record is too short"), NULL;
  sk_reader_init (&r, data, len - sizeof (SkSignature));
  magic = sk_reader_take (&r, MAGIC_SIZE);
  version = sk_reader_u32 (&r);
  if (r.failed || memcmp (magic, MAGIC, MAGIC_SIZE) != 0 || version == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "This is not a membership record"), NULL;
  if (version > VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "A membership record was written by a newer version of this program"),
           NULL;

  self->type = sk_reader_u8 (&r);
  sk_reader_id (&r, &named);
  read_device (&r, &self->signer);
  read_device (&r, &self->subject);
  self->time = (gint64) sk_reader_u64 (&r);
  self->by_recovery = sk_device_id_is_zero (&self->signer);
  if (!r.failed && !sk_id_equal (&named, vault))
    return sk_fail (error, SK_ERROR_CORRUPT, "A membership record belongs to another vault"), NULL;
  if (r.failed || sk_device_id_is_zero (&self->subject) || self->time < SK_WALL_MIN
      || self->time > SK_WALL_MAX || !read_content (self, &r))
    return sk_fail (error, SK_ERROR_CORRUPT, "A membership record is damaged"), NULL;

  self->bytes = g_bytes_ref (bytes);
  sk_blake2b (data, len, &self->hash);
  return g_steal_pointer (&self);
}

/* --- writing --- */

static void
begin (SkWriter *w, guint8 type, const SkId *vault, const SkDeviceId *signer_id,
       const SkDeviceId *subject, gint64 now)
{
  sk_writer_init (w);
  sk_writer_raw (w, MAGIC, MAGIC_SIZE);
  sk_writer_u32 (w, VERSION);
  sk_writer_u8 (w, type);
  sk_writer_id (w, vault);
  sk_writer_raw (w, signer_id->bytes, sizeof signer_id->bytes);
  sk_writer_raw (w, subject->bytes, sizeof subject->bytes);
  sk_writer_u64 (w, (guint64) now);
}

static GBytes *
sign (SkWriter *w, SkIdentity *signer)
{
  SkSignature signature;

  sk_identity_sign (signer, w->bytes->data, w->bytes->len, &signature);
  sk_writer_raw (w, signature.bytes, sizeof signature);
  return sk_writer_finish (w);
}

GBytes *
sk_member_build_add (const SkId *vault, const SkDeviceId *device, const char *name,
                     const SkPublicKey *sign_key, const SkPublicKey *box_key,
                     const SkDeviceId *signer_id, SkIdentity *signer, gint64 now)
{
  g_auto(SkWriter) w = { 0 };

  g_return_val_if_fail (sk_label_check (name, NULL) && !sk_device_id_is_zero (device), NULL);
  begin (&w, SK_MEMBER_ADD, vault, signer_id, device, now);
  sk_writer_string (&w, name);
  sk_writer_raw (&w, sign_key->bytes, sizeof sign_key->bytes);
  sk_writer_raw (&w, box_key->bytes, sizeof box_key->bytes);
  return sign (&w, signer);
}

GBytes *
sk_member_build_rename (const SkId *vault, const SkDeviceId *device, const char *name,
                        guint64 lamport, const SkDeviceId *signer_id, SkIdentity *signer,
                        gint64 now)
{
  g_auto(SkWriter) w = { 0 };

  g_return_val_if_fail (sk_label_check (name, NULL) && !sk_device_id_is_zero (device)
                            && lamport <= SK_COUNTER_MAX,
                        NULL);
  begin (&w, SK_MEMBER_RENAME, vault, signer_id, device, now);
  sk_writer_varint (&w, lamport);
  sk_writer_string (&w, name);
  return sign (&w, signer);
}

/* Of the records @device signed, those that the revocation leaves standing. */
static GArray *
choose_kept (SkMembers *members, const SkDeviceId *device, const SkDeviceId *signer_id,
             gboolean undo_revocations)
{
  static const guint8 order[] = { SK_MEMBER_ADD, SK_MEMBER_REVOKE, SK_MEMBER_RENAME };
  GArray *kept = g_array_new (FALSE, FALSE, sizeof (SkHash));

  sk_members_evaluate (members);
  for (guint pass = 0; pass < G_N_ELEMENTS (order); pass++)
    for (guint i = 0; i < members->records->len && kept->len < KEPT_MAX; i++)
      {
        const SkMemberRecord *record = g_ptr_array_index (members->records, i);
        gboolean fits = record->type == order[pass] && record->state == SK_MEMBER_IN
                        && !record->by_recovery && sk_device_id_equal (&record->signer, device);

        /* Who revokes is not going to confirm that he was revoked himself. */
        if (record->type == SK_MEMBER_REVOKE
            && (undo_revocations || sk_device_id_equal (&record->subject, signer_id)))
          continue;
        if (fits)
          g_array_append_val (kept, record->hash);
      }
  g_array_sort (kept, (GCompareFunc) sk_hash_compare);
  return kept;
}

GBytes *
sk_member_build_revoke (const SkId *vault, const SkDeviceId *device, GArray *cut,
                        SkMembers *members, gboolean undo_revocations, const SkDeviceId *signer_id,
                        SkIdentity *signer, gint64 now)
{
  g_auto(SkWriter) w = { 0 };
  g_autoptr(GArray) own = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  g_autoptr(GArray) kept = choose_kept (members, device, signer_id, undo_revocations);

  g_return_val_if_fail (!sk_device_id_is_zero (device), NULL);
  for (guint i = 0; cut != NULL && i < cut->len && own->len < CUT_MAX; i++)
    {
      const SkPosition *position = &g_array_index (cut, SkPosition, i);
      SkDeviceId writer_device = sk_id_device (&position->writer);

      if (sk_device_id_equal (&writer_device, device) && position->seq > 0)
        g_array_append_val (own, *position);
    }
  begin (&w, SK_MEMBER_REVOKE, vault, signer_id, device, now);
  if (!sk_positions_put (&w, own, NULL))
    g_return_val_if_reached (NULL);
  sk_writer_varint (&w, kept->len);
  for (guint i = 0; i < kept->len; i++)
    sk_writer_hash (&w, &g_array_index (kept, SkHash, i));
  return sign (&w, signer);
}
