/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An epoch object. The input is one; or, after a zero byte, says what is done to a good one: a position (16 bits, modulo its length) and a value that
 * the byte there is XOR-ed with. */
#include "../support/member-fixture.h"

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
