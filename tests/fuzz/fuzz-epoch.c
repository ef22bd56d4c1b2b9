/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An epoch object. The input is one; or, after a zero byte, says what is done to a good one: a position (16 bits, modulo its length) and a value that
 * the byte there is XOR-ed with; or, after a byte 1 and one of flags, what follows in the sealed list of records: behind a right seal and the
 * signature of a device that only those records can make a member (flag 1: its genuine record stands first). */
#include "../support/member-fixture.h"

#include "sk-seal.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static MemberFixture vault;
static SkKeyring *keys;
static GBytes *good;
static SkId first;

static void
set_up (void)
{
  SkDeviceId recovery = member_id (RECOVERY);
  g_autoptr(GBytes) record = NULL;

  g_assert_true (sk_crypto_init (NULL));
  member_set_up (&vault, NULL);
  record = member_add (&vault, RECOVERY, 0, 1);
  g_assert_true (sk_members_add (vault.members, record, NULL, NULL));
  keys = sk_keyring_new_vault ();
  first = *sk_keyring_current (keys);
  good = sk_epoch_build (&vault.vault, keys, &first, vault.members, &recovery, vault.recovery, NULL);
  g_assert_nonnull (good);
}

static gboolean
open_it (GBytes *object)
{
  g_autoptr(SkKeyring) found = NULL;
  SkPublicKey sign, box;
  SkId epoch;

  (void) sk_epoch_usable (object, &vault.vault, vault.members, &epoch, NULL);
  (void) sk_epoch_is_genuine (object, &vault.vault, vault.members, &epoch, NULL);
  return sk_epoch_open (object, &vault.vault, vault.members, vault.devices[0], &epoch, &found, &sign, &box, NULL);
}

/* The good one up to its signer, then @device as the signer, the same recipients, and @plain as the records. */
static GBytes *
forge_records (const SkDeviceId *device, const guint8 *plain, gsize len)
{
  enum { SIGNER_AT = 4 + 4 + 16 + 16 + 32 + 32, RECIPIENTS_AT = SIGNER_AT + 8, RECIPIENTS = 2 + 2 * (8 + 2 * sizeof (SkKey) + SK_BOX_OVERHEAD) };
  const guint8 *from = g_bytes_get_data (good, NULL);
  g_auto(SkWriter) w = { 0 };
  g_auto(SkKey) key = { 0 };
  g_autoptr(GBytes) sealed = NULL;
  SkSignature signature;

  sk_writer_init (&w);
  sk_writer_raw (&w, from, SIGNER_AT);
  sk_writer_raw (&w, device->bytes, sizeof device->bytes);
  sk_writer_raw (&w, from + RECIPIENTS_AT, RECIPIENTS);
  sk_writer_u32 (&w, (guint32) (len + SK_SEAL_OVERHEAD));
  g_assert_true (sk_keyring_get (keys, &first, SK_USE_RECORDS, &key, NULL));
  sealed = sk_seal_bytes (&key, w.bytes->data, w.bytes->len, plain, len);
  sk_writer_raw (&w, g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed));
  sk_identity_sign (vault.devices[0], w.bytes->data, w.bytes->len, &signature);
  sk_writer_raw (&w, signature.bytes, sizeof signature);
  return sk_writer_finish (&w);
}

static void
read_records (const guint8 *data, gsize size)
{
  const gboolean genuine = size > 0 && (data[0] & 1) != 0;
  SkDeviceId device = member_id (0);
  g_autoptr(GBytes) record = member_add (&vault, RECOVERY, 0, 1), object = NULL;
  g_autoptr(SkKeyring) found = NULL;
  g_auto(SkWriter) plain = { 0 };
  SkPublicKey sign, box;
  SkId epoch;
  gboolean opened;

  sk_writer_init (&plain);
  sk_writer_varint (&plain, size > 0 ? data[0] >> 1 : 0);
  if (genuine)
    sk_writer_blob (&plain, g_bytes_get_data (record, NULL), g_bytes_get_size (record));
  if (size > 1)
    sk_writer_raw (&plain, data + 1, size - 1);
  object = forge_records (&device, plain.bytes->data, plain.bytes->len);
  opened = sk_epoch_open (object, &vault.vault, NULL, vault.recovery, &epoch, &found, &sign, &box, NULL);
  g_assert_true (!opened || genuine);
  /* The genuine one alone is enough, so everything around it is right. */
  g_assert_true (opened || !genuine || data[0] >> 1 != 1 || size > 1);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  gsize len;
  gconstpointer bytes;
  g_autofree guint8 *copy = NULL;
  g_autoptr(GBytes) object = NULL;
  gboolean same = TRUE;

  if (good == NULL)
    set_up ();
  if (size > 0 && data[0] == 1)
    {
      read_records (data + 1, size - 1);
      return 0;
    }
  bytes = g_bytes_get_data (good, &len);
  copy = g_memdup2 (bytes, len);
  if (size > 0 && data[0] != 0)
    {
      object = g_bytes_new (data, size);
      g_assert_false (open_it (object));           /* nobody can sign it */
      return 0;
    }
  for (gsize at = 1; at + 3 <= size; at += 3)
    copy[((gsize) data[at] | (gsize) data[at + 1] << 8) % len] ^= data[at + 2];
  same = memcmp (copy, bytes, len) == 0;
  object = g_bytes_new (copy, len);
  g_assert_true (open_it (object) == same);
  return 0;
}
