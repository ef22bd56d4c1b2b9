/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-member-set.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "sk-seal.h"
#include "member-fixture.h"

enum { ADA, BOB, CYN, DAN };

typedef struct
{
  MemberFixture vault;
  SkKeyring *keys;
  SkDeviceId ada;
  GBytes *object;
} Fixture;

static GBytes *
build (Fixture *self, SkKeyring *keys)
{
  g_autoptr(GError) error = NULL;
  GBytes *object = sk_member_set_build (&self->vault.vault, &self->ada, "home", self->vault.members, keys, &error);

  g_assert_no_error (error);
  return object;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  member_set_up (&self->vault, NULL);
  self->keys = sk_keyring_new_vault ();
  self->ada = member_id (ADA);
  member_take (self->vault.members, member_add (&self->vault, RECOVERY, ADA, 1000));
  member_take (self->vault.members, member_add (&self->vault, ADA, BOB, 1001));
  member_take (self->vault.members, member_add (&self->vault, BOB, CYN, 1002));
  member_take (self->vault.members, member_revoke (&self->vault, ADA, BOB, self->vault.members, FALSE));
  self->object = build (self, self->keys);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  g_bytes_unref (self->object);
  sk_keyring_unref (self->keys);
  member_tear_down (&self->vault, NULL);
}

static void
test_round_trip (Fixture *self, gconstpointer data)
{
  g_auto(SkMemberSet) set = { 0 };
  g_autoptr(SkMembers) again = sk_members_new (&self->vault.vault, sk_identity_sign_key (self->vault.recovery),
                                               sk_identity_box_key (self->vault.recovery), NULL);
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_member_set_open (self->object, &self->vault.vault, &self->ada, self->keys, &set, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (set.vault_name, ==, "home");
  g_assert_true (sk_id_equal (&set.epoch, sk_keyring_current (self->keys)));
  g_assert_cmpuint (set.records->len, ==, 4);
  for (guint i = 0; i < set.records->len; i++)
    member_take (again, g_bytes_ref (g_ptr_array_index (set.records, i)));
  g_assert_true (member_is_live (again, ADA));
  g_assert_false (member_is_live (again, BOB));
  g_assert_true (member_is_live (again, CYN));
}

/* The size of the stored object does not tell how many records are in it. */
static void
test_padded (Fixture *self, gconstpointer data)
{
  guint64 size = g_bytes_get_size (self->object);

  g_assert_cmpuint (size, >=, SK_ENVELOPE_SIZE_MIN);
  g_assert_cmpuint (sk_padme (size), ==, size);
}

static void
assert_refused (Fixture *self, GBytes *object, const SkId *vault, const SkDeviceId *device, SkKeyring *keys, int code)
{
  g_auto(SkMemberSet) set = { 0 };
  g_autoptr(GError) error = NULL;

  g_assert_false (sk_member_set_open (object, vault, device, keys, &set, &error));
  g_assert_error (error, SK_ERROR, code);
  g_assert_null (set.records);
}

static void
test_other_place (Fixture *self, gconstpointer data)
{
  SkDeviceId bob = member_id (BOB);
  SkId other = { { 1 } };
  g_autoptr(SkKeyring) keys = sk_keyring_new_vault ();

  assert_refused (self, self->object, &self->vault.vault, &bob, self->keys, SK_ERROR_CORRUPT);
  assert_refused (self, self->object, &other, &self->ada, self->keys, SK_ERROR_CORRUPT);
  assert_refused (self, self->object, &self->vault.vault, &self->ada, keys, SK_ERROR_UNTRUSTED);
}

static void
test_cut (Fixture *self, gconstpointer data)
{
  gsize len = g_bytes_get_size (self->object);

  for (gsize i = 0; i < len; i++)
    {
      g_autoptr(GBytes) cut = g_bytes_new_from_bytes (self->object, 0, i);
      g_auto(SkMemberSet) set = { 0 };

      g_assert_false (sk_member_set_open (cut, &self->vault.vault, &self->ada, self->keys, &set, NULL));
    }
}

static void
test_bits (Fixture *self, gconstpointer data)
{
  gsize len;
  const guint8 *bytes = g_bytes_get_data (self->object, &len);

  for (gsize bit = 0; bit < 8 * len; bit++)
    {
      g_autofree guint8 *copy = g_memdup2 (bytes, len);
      g_autoptr(GBytes) object = NULL;
      g_auto(SkMemberSet) set = { 0 };

      copy[bit / 8] ^= (guint8) (1u << bit % 8);
      object = g_bytes_new_static (copy, len);
      g_assert_false (sk_member_set_open (object, &self->vault.vault, &self->ada, self->keys, &set, NULL));
    }
}

/* The set grows to its limit: what counts is in it, and it still opens. */
static void
test_flood (Fixture *self, gconstpointer data)
{
  g_auto(SkMemberSet) set = { 0 };
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(SkMembers) again = sk_members_new (&self->vault.vault, sk_identity_sign_key (self->vault.recovery),
                                               sk_identity_box_key (self->vault.recovery), NULL);
  g_autoptr(GArray) cut = g_array_new (FALSE, FALSE, sizeof (SkPosition));

  for (guint i = 0; i < 1000; i++)
    {
      SkPosition position = { .seq = 1 + i };

      memcpy (position.writer.bytes, member_id (DAN).bytes, sizeof (SkDeviceId));
      position.writer.bytes[14] = (guint8) (i >> 8);
      position.writer.bytes[15] = (guint8) i;
      g_array_append_val (cut, position);
    }
  for (guint i = 0; i < 600; i++)
    {
      SkDeviceId dan = member_id (DAN), nobody = { { 0xee, 1 } };

      member_take (self->vault.members, sk_member_build_revoke (&self->vault.vault, &dan, cut, self->vault.members, FALSE, &nobody,
                                                                self->vault.devices[DAN], 5000 + i));
    }
  object = build (self, self->keys);
  g_assert_cmpuint (g_bytes_get_size (object), <=, SK_MEMBER_SET_MAX);
  g_assert_true (sk_member_set_open (object, &self->vault.vault, &self->ada, self->keys, &set, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (set.records->len, <, 604);
  g_assert_cmpuint (set.records->len, >, 30);
  for (guint i = 0; i < 4; i++)
    member_take (again, g_bytes_ref (g_ptr_array_index (set.records, i)));
  g_assert_true (member_is_live (again, ADA));
  g_assert_true (member_is_live (again, CYN));
}

static void
test_state (Fixture *self, gconstpointer data)
{
  SkHash a, b;
  g_autoptr(SkKeyring) more = sk_keyring_with_new_epoch (self->keys);

  sk_member_set_state ("home", self->vault.members, self->keys, &a);
  sk_member_set_state ("home", self->vault.members, self->keys, &b);
  g_assert_true (sk_hash_equal (&a, &b));
  sk_member_set_state ("home", self->vault.members, more, &b);
  g_assert_false (sk_hash_equal (&a, &b));
  member_take (self->vault.members, member_add (&self->vault, ADA, DAN, 1003));
  sk_member_set_state ("home", self->vault.members, self->keys, &b);
  g_assert_false (sk_hash_equal (&a, &b));
}

static void
test_name (Fixture *self, gconstpointer data)
{
  g_autofree char *name = sk_member_set_object_name (&self->ada);
  static const char *const bad[] = { "", "members/", "members/11", "heads/1111111111111111", "members/1111111111111111x",
                                     "members/111111111111111G", "members/../11111111111111" };
  SkDeviceId device;

  g_assert_cmpstr (name, ==, "members/1111111111111111");
  g_assert_true (sk_member_set_parse_name (name, &device));
  g_assert_true (sk_device_id_equal (&device, &self->ada));
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_false (sk_member_set_parse_name (bad[i], &device));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add ("/member-set/round-trip", Fixture, NULL, set_up, test_round_trip, tear_down);
  g_test_add ("/member-set/rule-b8/padded", Fixture, NULL, set_up, test_padded, tear_down);
  g_test_add ("/member-set/another-vault-device-or-epoch-refused", Fixture, NULL, set_up, test_other_place, tear_down);
  g_test_add ("/member-set/every-prefix-refused", Fixture, NULL, set_up, test_cut, tear_down);
  g_test_add ("/member-set/every-bit-flip-refused", Fixture, NULL, set_up, test_bits, tear_down);
  g_test_add ("/member-set/what-counts-goes-first", Fixture, NULL, set_up, test_flood, tear_down);
  g_test_add ("/member-set/state", Fixture, NULL, set_up, test_state, tear_down);
  g_test_add ("/member-set/name", Fixture, NULL, set_up, test_name, tear_down);
  return g_test_run ();
}
