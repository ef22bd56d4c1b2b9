/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epoch objects: the keys of an epoch, boxed to everybody who shall have them. FORMAT.md,
 * "Membership". */
#include "sk-member-private.h"

#include "sk-limits.h"
#include "sk-seal.h"

#include <string.h>

#define MAGIC "SKEP"
#define MAGIC_SIZE 4u
#define VERSION 1u
#define SECRET_SIZE (2 * sizeof (SkKey))
#define BOX_SIZE (SECRET_SIZE + SK_BOX_OVERHEAD)
#define RECIPIENTS_MAX (SK_DEVICES_MAX + 1)
#define RECORDS_SIZE_MAX (SK_SMALL_OBJECT_MAX / 2)

typedef struct
{
  SkId epoch;
  SkPublicKey recovery_sign, recovery_box;
  SkDeviceId signer;
  GArray *recipients;  /* SkDeviceId, ascending, the recovery identity (zero) first */
  const guint8 *boxes; /* of BOX_SIZE, BOX_SIZE + 8 apart; borrowed */
  gsize records_at;    /* where the sealed records begin */
  const guint8 *sealed;
  gsize sealed_len;
} EpochParts;

static void
epoch_parts_clear (EpochParts *self)
{
  g_clear_pointer (&self->recipients, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (EpochParts, epoch_parts_clear)

char *
sk_epoch_object_name (const SkId *epoch)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (epoch, hex);
  return g_strdup_printf ("epochs/%s", hex);
}

/* --- building --- */

static int
compare_devices (gconstpointer a, gconstpointer b)
{
  return sk_device_id_compare (&(*(SkDevice *const *) a)->id, &(*(SkDevice *const *) b)->id);
}

static void
put_recipient (SkWriter *w, const SkDeviceId *device, const SkPublicKey *box_key, GBytes *secret)
{
  g_autoptr(GBytes) box
      = sk_box_seal (box_key, g_bytes_get_data (secret, NULL), g_bytes_get_size (secret));

  g_assert (g_bytes_get_size (box) == BOX_SIZE);
  sk_writer_raw (w, device->bytes, sizeof device->bytes);
  sk_writer_raw (w, g_bytes_get_data (box, NULL), BOX_SIZE);
}

static void
put_recipients (SkWriter *w, SkMembers *members, GBytes *secret)
{
  static const SkDeviceId recovery = { { 0 } };
  g_autoptr(GPtrArray) live = g_ptr_array_new ();
  GPtrArray *devices = sk_members_devices (members);

  for (guint i = 0; i < devices->len; i++)
    if (!((SkDevice *) g_ptr_array_index (devices, i))->revoked)
      g_ptr_array_add (live, g_ptr_array_index (devices, i));
  g_ptr_array_sort (live, compare_devices);
  sk_writer_u16 (w, (guint16) (live->len + 1));
  put_recipient (w, &recovery, &members->recovery_box, secret);
  for (guint i = 0; i < live->len; i++)
    {
      const SkDevice *device = g_ptr_array_index (live, i);

      put_recipient (w, &device->id, &device->box_key, secret);
    }
}

/* The records by which somebody who knows nobody can find out who the signer is. */
static void
put_records (SkWriter *w, SkMembers *members, const SkDeviceId *signer_id, const SkKey *key)
{
  g_autoptr(GPtrArray) valid = sk_members_valid_records (members, signer_id);
  g_auto(SkWriter) plain = { 0 };
  g_autoptr(GBytes) sealed = NULL;
  gsize size = 0;
  guint n = 0;

  for (; n < valid->len; n++)
    {
      size += g_bytes_get_size (((SkMemberRecord *) g_ptr_array_index (valid, n))->bytes) + 3;
      if (size > RECORDS_SIZE_MAX)
        break;
    }
  sk_writer_init (&plain);
  sk_writer_varint (&plain, n);
  for (guint i = 0; i < n; i++)
    {
      GBytes *bytes = ((SkMemberRecord *) g_ptr_array_index (valid, i))->bytes;

      sk_writer_blob (&plain, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
    }
  sk_writer_u32 (w, (guint32) (plain.bytes->len + SK_SEAL_OVERHEAD));
  sealed = sk_seal_bytes (key, w->bytes->data, w->bytes->len, plain.bytes->data, plain.bytes->len);
  sk_writer_raw (w, g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed));
}

GBytes *
sk_epoch_build (const SkId *vault, SkKeyring *keys, const SkId *epoch, SkMembers *members,
                const SkDeviceId *signer_id, SkIdentity *signer, GError **error)
{
  g_auto(SkWriter) w = { 0 };
  g_auto(SkKey) key = { 0 };
  g_autoptr(GBytes) secret = sk_keyring_epoch_secret (keys, epoch, error);
  SkSignature signature;

  if (secret == NULL || !sk_keyring_get (keys, epoch, SK_USE_RECORDS, &key, error))
    return NULL;
  if (!sk_device_id_is_zero (signer_id) && !sk_members_is_live (members, signer_id))
    return sk_fail (error, SK_ERROR_UNTRUSTED,
                    "This device is no member of the vault, so it can make no new keys"),
           NULL;

  sk_writer_init (&w);
  sk_writer_raw (&w, MAGIC, MAGIC_SIZE);
  sk_writer_u32 (&w, VERSION);
  sk_writer_id (&w, vault);
  sk_writer_id (&w, epoch);
  sk_writer_raw (&w, members->recovery_sign.bytes, sizeof (SkPublicKey));
  sk_writer_raw (&w, members->recovery_box.bytes, sizeof (SkPublicKey));
  sk_writer_raw (&w, signer_id->bytes, sizeof signer_id->bytes);
  put_recipients (&w, members, secret);
  put_records (&w, members, signer_id, &key);
  sk_identity_sign (signer, w.bytes->data, w.bytes->len, &signature);
  sk_writer_raw (&w, signature.bytes, sizeof signature);
  return sk_writer_finish (&w);
}

/* --- reading --- */

static void
read_bytes (SkReader *r, guint8 *out, gsize len)
{
  const guint8 *p = sk_reader_take (r, len);

  if (p != NULL)
    memcpy (out, p, len);
}

static gboolean
read_recipients (EpochParts *self, SkReader *r)
{
  guint n = sk_reader_u16 (r);

  self->recipients = g_array_new (FALSE, FALSE, sizeof (SkDeviceId));
  self->boxes = r->data + r->pos + sizeof (SkDeviceId);
  if (n == 0 || n > RECIPIENTS_MAX)
    return FALSE;
  for (guint i = 0; i < n && !r->failed; i++)
    {
      SkDeviceId device = { { 0 } };

      read_bytes (r, device.bytes, sizeof device.bytes);
      sk_reader_take (r, BOX_SIZE);
      if (i == 0
              ? !sk_device_id_is_zero (&device)
              : sk_device_id_compare (&g_array_index (self->recipients, SkDeviceId, i - 1), &device)
                    >= 0)
        return FALSE;
      g_array_append_val (self->recipients, device);
    }
  return !r->failed;
}

static gboolean
split (GBytes *object, const SkId *vault, EpochParts *out, GError **error)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (object, &len), *magic;
  guint32 version;
  SkReader r;
  SkId named, certified;

  if (len > SK_SMALL_OBJECT_MAX || len < sizeof (SkSignature))
    return sk_fail (error, SK_ERROR_CORRUPT, "An epoch object has an impossible size");
  sk_reader_init (&r, data, len - sizeof (SkSignature));
  magic = sk_reader_take (&r, MAGIC_SIZE);
  version = sk_reader_u32 (&r);
  if (r.failed || memcmp (magic, MAGIC, MAGIC_SIZE) != 0 || version == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "This is not an epoch object");
  if (version > VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "An epoch object was written by a newer version of this program");
  sk_reader_id (&r, &named);
  sk_reader_id (&r, &out->epoch);
  read_bytes (&r, out->recovery_sign.bytes, sizeof (SkPublicKey));
  read_bytes (&r, out->recovery_box.bytes, sizeof (SkPublicKey));
  read_bytes (&r, out->signer.bytes, sizeof out->signer.bytes);
  if (r.failed || !read_recipients (out, &r))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "An epoch object is damaged: its recipients do not parse");
  out->sealed_len = sk_reader_u32 (&r);
  out->records_at = r.pos;
  out->sealed = sk_reader_take (&r, out->sealed_len);
  if (!sk_reader_done (&r))
    return sk_fail (error, SK_ERROR_CORRUPT, "An epoch object is damaged: its length is wrong");
  sk_vault_id_from_recovery (&out->recovery_sign, &out->recovery_box, &certified);
  if (!sk_id_equal (&named, vault) || !sk_id_equal (&certified, vault))
    return sk_fail (error, SK_ERROR_UNTRUSTED, "An epoch object belongs to another vault");
  return TRUE;
}

static gboolean
is_signed_by (GBytes *object, const SkPublicKey *key)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (object, &len);
  SkSignature signature;

  memcpy (signature.bytes, data + len - sizeof signature, sizeof signature);
  return sk_verify (key, data, len - sizeof signature, &signature);
}

/* A recipient is not told by name which box is his: he tries. */
static SkKeyring *
unbox (const EpochParts *parts, SkIdentity *reader, GError **error)
{
  for (guint i = 0; i < parts->recipients->len; i++)
    {
      g_autoptr(GBytes) secret = sk_identity_unbox (
          reader, parts->boxes + i * (BOX_SIZE + sizeof (SkDeviceId)), BOX_SIZE, NULL);

      if (secret != NULL)
        return sk_keyring_from_epoch_secret (&parts->epoch, g_bytes_get_data (secret, NULL),
                                             g_bytes_get_size (secret), error);
    }
  return sk_fail (error, SK_ERROR_PERMISSION, "The keys of an epoch were not given to this device"),
         NULL;
}

/* @known and the records inside. */
static SkMembers *
members_with_records (GBytes *object, const EpochParts *parts, const SkId *vault, SkMembers *known,
                      SkKeyring *keys, GError **error)
{
  g_auto(SkKey) key = { 0 };
  g_autoptr(GBytes) plain = NULL;
  g_autoptr(SkMembers) members
      = known != NULL ? sk_members_copy (known)
                      : sk_members_new (vault, &parts->recovery_sign, &parts->recovery_box, error);
  SkReader r;
  guint n;

  if (members == NULL || !sk_keyring_get (keys, &parts->epoch, SK_USE_RECORDS, &key, error))
    return NULL;
  plain = sk_open_bytes (&key, g_bytes_get_data (object, NULL), parts->records_at, parts->sealed,
                         parts->sealed_len, error);
  if (plain == NULL)
    return NULL;
  sk_reader_init (&r, g_bytes_get_data (plain, NULL), g_bytes_get_size (plain));
  n = (guint) sk_reader_varint (&r, 2 * SK_MEMBER_RECORDS_MAX);
  for (guint i = 0; i < n; i++)
    {
      gsize len;
      const guint8 *bytes = sk_reader_blob (&r, SK_MEMBER_MAX, &len);
      g_autoptr(GBytes) record = NULL;

      if (bytes == NULL)
        break;
      record = g_bytes_new (bytes, len);
      if (!sk_members_add (members, record, NULL, error))
        return NULL;
    }
  if (!sk_reader_done (&r))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "An epoch object is damaged: its membership records do not parse"),
           NULL;
  return g_steal_pointer (&members);
}

static gboolean
fail_signature (GError **error)
{
  return sk_fail (error, SK_ERROR_UNTRUSTED,
                  "An epoch object is not signed by a member of the vault");
}

/* The key the object has to be signed with, as far as @members tell. */
static const SkPublicKey *
signer_key (const EpochParts *parts, SkMembers *members)
{
  if (sk_device_id_is_zero (&parts->signer))
    return &parts->recovery_sign;
  return members != NULL ? sk_members_sign_key (members, &parts->signer) : NULL;
}

gboolean
sk_epoch_open (GBytes *object, const SkId *vault, SkMembers *members, SkIdentity *reader,
               SkId *epoch, SkKeyring **keys, SkPublicKey *recovery_sign, SkPublicKey *recovery_box,
               GError **error)
{
  g_auto(EpochParts) parts = { 0 };
  g_autoptr(SkKeyring) opened = NULL;
  g_autoptr(SkMembers) found = NULL;
  const SkPublicKey *key;

  if (!split (object, vault, &parts, error))
    return FALSE;
  key = signer_key (&parts, members);
  if (key != NULL && !is_signed_by (object, key))
    return fail_signature (error);
  opened = unbox (&parts, reader, error);
  if (opened == NULL)
    return FALSE;
  if (key == NULL)
    {
      /* Nothing that was unboxed is used for more than finding the signer before its signature was
       * verified. */
      found = members_with_records (object, &parts, vault, members, opened, error);
      if (found == NULL)
        return FALSE;
      key = signer_key (&parts, found);
      if (key == NULL || !is_signed_by (object, key))
        return fail_signature (error);
    }
  *epoch = parts.epoch;
  *keys = g_steal_pointer (&opened);
  *recovery_sign = parts.recovery_sign;
  *recovery_box = parts.recovery_box;
  return TRUE;
}

static gboolean
split_genuine (GBytes *object, const SkId *vault, SkMembers *members, EpochParts *parts,
               GError **error)
{
  const SkPublicKey *key;

  if (!split (object, vault, parts, error))
    return FALSE;
  key = signer_key (parts, members);
  return (key != NULL && is_signed_by (object, key)) || fail_signature (error);
}

gboolean
sk_epoch_is_genuine (GBytes *object, const SkId *vault, SkMembers *members, SkId *epoch,
                     GError **error)
{
  g_auto(EpochParts) parts = { 0 };

  if (!split_genuine (object, vault, members, &parts, error))
    return FALSE;
  *epoch = parts.epoch;
  return TRUE;
}

gboolean
sk_epoch_usable (GBytes *object, const SkId *vault, SkMembers *members, SkId *epoch, GError **error)
{
  g_auto(EpochParts) parts = { 0 };

  if (!split_genuine (object, vault, members, &parts, error))
    return FALSE;
  if (!sk_device_id_is_zero (&parts.signer) && !sk_members_is_live (members, &parts.signer))
    return sk_fail (error, SK_ERROR_UNTRUSTED,
                    "The epoch was made by a device that is no member any more");
  for (guint i = 1; i < parts.recipients->len; i++)
    if (!sk_members_is_live (members, &g_array_index (parts.recipients, SkDeviceId, i)))
      return sk_fail (error, SK_ERROR_UNTRUSTED,
                      "A device that is no member any more has the keys of the epoch");
  *epoch = parts.epoch;
  return TRUE;
}

