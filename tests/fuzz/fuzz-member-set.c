/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a whole object. Else: the body behind a right seal. What opens are records that parse. */
#include "forge-log.h"
#include "sk-limits.h"
#include "sk-member-set.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const SkEnvelopeKind kind = { .what = "list of members", .magic = "SKMS", .fields_len = 2 * 16 + 8, .size_max = SK_MEMBER_SET_MAX,
                                     .plain_max = SK_MEMBER_SET_MAX, .is_signed = FALSE };

static GBytes *
forge (const SkId *vault, const SkDeviceId *device, const guint8 *body, gsize len)
{
  ForgeLog *log = forge_log ();
  g_auto(SkWriter) header = { 0 };
  g_auto(SkKey) key = { 0 };

  sk_writer_init (&header);
  sk_envelope_begin (&kind, &header);
  sk_writer_id (&header, vault);
  sk_writer_raw (&header, device->bytes, sizeof device->bytes);
  sk_writer_id (&header, &log->epoch);
  g_assert_true (sk_keyring_get (log->keys, &log->epoch, SK_USE_RECORDS, &key, NULL));
  return sk_envelope_build (&kind, &header, body, len, &key, NULL, NULL, NULL);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  ForgeLog *log = forge_log ();
  const SkDeviceId device = { { 1, 2, 3 } };
  const SkKey seed = { { 1 } };
  g_autoptr(SkIdentity) recovery = sk_identity_new_from_seed (&seed);
  g_autoptr(SkMembers) members = NULL;
  g_autoptr(GBytes) object = NULL;
  g_auto(SkMemberSet) set = { 0 };
  SkId vault;

  sk_vault_id_from_recovery (sk_identity_sign_key (recovery), sk_identity_box_key (recovery), &vault);
  if (size == 0)
    return 0;
  object = data[0] == 0 ? g_bytes_new (data + 1, size - 1) : forge (&vault, &device, data + 1, size - 1);
  if (object == NULL || !sk_member_set_open (object, &vault, &device, log->keys, &set, NULL))
    return 0;
  members = sk_members_new (&vault, sk_identity_sign_key (recovery), sk_identity_box_key (recovery), NULL);
  for (guint i = 0; i < set.records->len; i++)
    {
      g_autoptr(GError) error = NULL;

      /* A record may still be unsigned by the recovery identity it names; it never fails to parse. */
      if (!sk_members_add (members, g_ptr_array_index (set.records, i), NULL, &error))
        g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
    }
  return 0;
}
