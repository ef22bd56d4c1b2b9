/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-member.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "member-fixture.h"

enum { ADA, BOB, CYN, DAN, EVE, FAY };

/* "ADA live, BOB revoked" as letters: upper case live, lower case revoked, '.' unknown. */
static char *
picture (SkMembers *members)
{
  static const char letters[] = "ABCDEF";
  char out[FIXTURE_DEVICES + 1] = { 0 };

  for (int i = 0; i < FIXTURE_DEVICES; i++)
    {
      SkDeviceId id = member_id (i);
      const SkDevice *device = sk_members_find (members, &id);

      out[i] = device == NULL ? '.' : device->revoked ? g_ascii_tolower (letters[i]) : letters[i];
    }
  return g_strdup (out);
}

/* The same set in other orders gives the same members; then compares with @expected. */
static void
assert_members (MemberFixture *self, const char *expected)
{
  g_autoptr(GPtrArray) records = sk_members_records (self->members);
  g_autofree char *here = picture (self->members);
  g_autoptr(GRand) rand = g_rand_new_with_seed (1);

  g_assert_cmpstr (here, ==, expected);
  for (guint round = 0; round < 5; round++)
    {
      g_autoptr(SkMembers) other = sk_members_new (&self->vault, sk_identity_sign_key (self->recovery),
                                                   sk_identity_box_key (self->recovery), NULL);
      g_autofree char *there = NULL;

      for (guint i = records->len; i > 1; i--)
        {
          guint j = (guint) g_rand_int_range (rand, 0, (gint32) i);
          gpointer swap = records->pdata[i - 1];

          records->pdata[i - 1] = records->pdata[j];
          records->pdata[j] = swap;
        }
      for (guint i = 0; i < records->len; i++)
        {
          member_take (other, g_bytes_ref (g_ptr_array_index (records, i)));
          sk_members_devices (other);      /* an answer in between changes nothing later */
        }
      there = picture (other);
      g_assert_cmpstr (there, ==, expected);
    }
}

/* ADA by the recovery identity, then BOB by ADA, CYN by BOB, DAN by ADA. */
static void
family (MemberFixture *self)
{
  member_take (self->members, member_add (self, RECOVERY, ADA, 100));
  member_take (self->members, member_add (self, ADA, BOB, 200));
  member_take (self->members, member_add (self, BOB, CYN, 300));
  member_take (self->members, member_add (self, ADA, DAN, 400));
}

static void
test_chain (MemberFixture *self, gconstpointer data)
{
  SkDeviceId cyn = member_id (CYN), bob = member_id (BOB);
  const SkDevice *device;
  gboolean is_new;
  g_autoptr(GBytes) again = member_add (self, ADA, DAN, 400);

  family (self);
  assert_members (self, "ABCD..");
  device = sk_members_find (self->members, &cyn);
  g_assert_cmpstr (device->name, ==, "cyn");
  g_assert_cmpint (device->added, ==, 300);
  g_assert_true (sk_device_id_equal (&device->added_by, &bob));
  g_assert_cmpmem (&device->box_key, 32, sk_identity_box_key (self->devices[CYN]), 32);
  g_assert_cmpmem (sk_members_sign_key (self->members, &cyn), 32, sk_identity_sign_key (self->devices[CYN]), 32);
  g_assert_true (sk_members_add (self->members, again, &is_new, NULL));
  g_assert_false (is_new);
  g_assert_cmpuint (sk_members_devices (self->members)->len, ==, 4);
}

static void
test_signer_comes_later (MemberFixture *self, gconstpointer data)
{
  member_take (self->members, member_add (self, BOB, CYN, 300));
  member_take (self->members, member_add (self, ADA, BOB, 200));
  assert_members (self, "......");
  member_take (self->members, member_add (self, RECOVERY, ADA, 100));
  assert_members (self, "ABC...");
}

static void
test_strangers (MemberFixture *self, gconstpointer data)
{
  SkDeviceId ada = member_id (ADA), eve = member_id (EVE), zero = member_id (RECOVERY);
  g_autoptr(GBytes) forged = NULL;

  family (self);
  /* EVE enrols herself; signs as ADA with her own key; signs as the recovery identity. */
  member_take (self->members, member_add (self, EVE, EVE, 1));
  member_take (self->members, sk_member_build_add (&self->vault, &eve, "eve", sk_identity_sign_key (self->devices[EVE]),
                                                   sk_identity_box_key (self->devices[EVE]), &ada, self->devices[EVE], 1));
  forged = sk_member_build_add (&self->vault, &eve, "eve", sk_identity_sign_key (self->devices[EVE]),
                                sk_identity_box_key (self->devices[EVE]), &zero, self->devices[EVE], 1);
  g_assert_false (sk_members_add (self->members, forged, NULL, NULL));
  assert_members (self, "ABCD..");
}

static void
test_circle_of_adds (MemberFixture *self, gconstpointer data)
{
  member_take (self->members, member_add (self, RECOVERY, ADA, 100));
  member_take (self->members, member_add (self, EVE, FAY, 1));
  member_take (self->members, member_add (self, FAY, EVE, 1));
  assert_members (self, "A.....");
  /* Enrolled by somebody who is then revoked and not confirmed: they do not hold each other up. */
  member_take (self->members, member_add (self, ADA, BOB, 200));
  {
    g_autoptr(SkMembers) before = sk_members_copy (self->members);

    member_take (self->members, member_add (self, BOB, EVE, 300));
    assert_members (self, "AB..EF");
    member_take (self->members, member_revoke (self, ADA, BOB, before, FALSE));
  }
  assert_members (self, "Ab....");
}

static void
test_revoke (MemberFixture *self, gconstpointer data)
{
  SkDeviceId dan = member_id (DAN);
  g_autoptr(GArray) cut = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  SkDeviceId ada = member_id (ADA);
  SkPosition mine = { .seq = 12 }, foreign = { .seq = 3 };
  const SkDevice *device;

  family (self);
  sk_id_new_writer (&dan, &mine.writer);
  sk_id_new_writer (&ada, &foreign.writer);
  g_array_append_val (cut, foreign);
  g_array_append_val (cut, mine);
  member_take (self->members, sk_member_build_revoke (&self->vault, &dan, cut, self->members, FALSE, &ada, self->devices[ADA], 500));
  assert_members (self, "ABCd..");
  device = sk_members_find (self->members, &dan);
  g_assert_cmpuint (device->cut->len, ==, 1);
  g_assert_cmpuint (sk_positions_find (device->cut, &mine.writer)->seq, ==, 12);
  g_assert_nonnull (sk_members_sign_key (self->members, &dan));
}

/* A later device can revoke the first one, if that does not hit back. */
static void
test_first_is_lost (MemberFixture *self, gconstpointer data)
{
  family (self);
  member_take (self->members, member_revoke (self, CYN, ADA, self->members, FALSE));
  /* What ADA had enrolled stays: CYN knew it, and her own chain goes through it. */
  assert_members (self, "aBCD..");
}

static void
test_each_other (MemberFixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = NULL;

  family (self);
  before = sk_members_copy (self->members);
  member_take (self->members, member_revoke (self, DAN, ADA, before, FALSE));
  assert_members (self, "aBCD..");
  member_take (self->members, member_revoke (self, ADA, DAN, before, FALSE));
  assert_members (self, "ABCd..");
}

/* The second to act knows what the first did, and does not confirm it. */
static void
test_each_other_in_turn (MemberFixture *self, gconstpointer data)
{
  family (self);
  member_take (self->members, member_revoke (self, DAN, ADA, self->members, FALSE));
  member_take (self->members, member_revoke (self, ADA, DAN, self->members, FALSE));
  assert_members (self, "ABCd..");
}

static void
test_thief_revokes_the_rest (MemberFixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = NULL;

  family (self);
  before = sk_members_copy (self->members);
  /* DAN is stolen; the thief revokes all, with whatever date, and enrols EVE. */
  member_take (self->members, member_add (self, DAN, EVE, SK_WALL_MIN));
  member_take (self->members, member_revoke (self, DAN, ADA, before, TRUE));
  member_take (self->members, member_revoke (self, DAN, BOB, before, TRUE));
  member_take (self->members, member_revoke (self, EVE, CYN, self->members, TRUE));
  assert_members (self, "abcDE.");
  /* ADA had seen nothing of it. */
  member_take (self->members, member_revoke (self, ADA, DAN, before, FALSE));
  assert_members (self, "ABCd..");
}

/* The same, but ADA has seen everything: the revocations are undone on request, the new device has to be revoked too. */
static void
test_thief_was_seen (MemberFixture *self, gconstpointer data)
{
  family (self);
  member_take (self->members, member_add (self, DAN, EVE, 1));
  member_take (self->members, member_revoke (self, DAN, BOB, self->members, TRUE));
  assert_members (self, "AbCDE.");
  member_take (self->members, member_revoke (self, ADA, DAN, self->members, TRUE));
  assert_members (self, "ABCdE.");
  member_take (self->members, member_revoke (self, ADA, EVE, self->members, TRUE));
  assert_members (self, "ABCde.");
}

static void
test_old_revocation_stays (MemberFixture *self, gconstpointer data)
{
  family (self);
  member_take (self->members, member_revoke (self, BOB, DAN, self->members, FALSE));
  member_take (self->members, member_revoke (self, ADA, BOB, self->members, FALSE));
  /* DAN stays revoked, and CYN, whom BOB enrolled, stays a member. */
  assert_members (self, "AbCd..");
}

/* The earliest device is the stolen one: between devices it stands, the recovery identity ends it. */
static void
test_recovery_overrides (MemberFixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = NULL;

  family (self);
  before = sk_members_copy (self->members);
  member_take (self->members, member_revoke (self, ADA, BOB, before, TRUE));
  member_take (self->members, member_revoke (self, ADA, CYN, before, TRUE));
  member_take (self->members, member_revoke (self, ADA, DAN, before, TRUE));
  member_take (self->members, member_revoke (self, BOB, ADA, before, FALSE));
  assert_members (self, "Abcd..");
  member_take (self->members, member_revoke (self, RECOVERY, ADA, self->members, TRUE));
  assert_members (self, "aBCD..");
  /* And a new device by the phrase, which ADA cannot touch any more. */
  member_take (self->members, member_add (self, RECOVERY, FAY, 900));
  member_take (self->members, member_revoke (self, ADA, FAY, before, TRUE));
  assert_members (self, "aBCD.F");
}

static void
test_recovery_cannot_be_revoked (MemberFixture *self, gconstpointer data)
{
  SkDeviceId zero = member_id (RECOVERY), ada = member_id (ADA);
  g_autoptr(GBytes) record = NULL;
  g_autofree guint8 *copy = NULL;
  gsize len;
  SkSignature signature;
  g_autoptr(GBytes) forged = NULL;
  g_autoptr(GError) error = NULL;

  family (self);
  record = member_revoke (self, ADA, BOB, self->members, FALSE);
  len = g_bytes_get_size (record);
  copy = g_memdup2 (g_bytes_get_data (record, NULL), len);
  memcpy (copy + 4 + 4 + 1 + 16 + 8, zero.bytes, 8);
  sk_identity_sign (self->devices[ADA], copy, len - 64, &signature);
  memcpy (copy + len - 64, signature.bytes, 64);
  forged = g_bytes_new_static (copy, len);
  g_assert_false (sk_members_add (self->members, forged, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_true (sk_members_is_live (self->members, &ada));
}

/* Three in a circle: the earliest stands, so its victim falls, and the victim's word does not count. */
static void
test_circle_of_three (MemberFixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = NULL;

  family (self);
  before = sk_members_copy (self->members);
  member_take (self->members, member_revoke (self, BOB, CYN, before, FALSE));
  member_take (self->members, member_revoke (self, CYN, DAN, before, FALSE));
  member_take (self->members, member_revoke (self, DAN, BOB, before, FALSE));
  assert_members (self, "ABcD..");
}

/* A circle among others does not give weight to somebody outside of it who was revoked. */
static void
test_outside_the_circle (MemberFixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = NULL;

  family (self);
  before = sk_members_copy (self->members);
  member_take (self->members, member_revoke (self, BOB, DAN, before, FALSE));
  member_take (self->members, member_revoke (self, DAN, BOB, before, FALSE));
  member_take (self->members, member_revoke (self, BOB, ADA, before, FALSE));
  member_take (self->members, member_revoke (self, ADA, CYN, before, FALSE));
  /* BOB and DAN: BOB stands. He revoked ADA, who did not revoke him; so her revocation of CYN is void. */
  assert_members (self, "aBCd..");
}

static void
test_stolen_id (MemberFixture *self, gconstpointer data)
{
  SkDeviceId ada = member_id (ADA), dan = member_id (DAN);

  family (self);
  /* DAN enrols ADA's id with keys of his own, dated before everything. */
  member_take (self->members, sk_member_build_add (&self->vault, &ada, "ada", sk_identity_sign_key (self->devices[EVE]),
                                                   sk_identity_box_key (self->devices[EVE]), &dan, self->devices[DAN], SK_WALL_MIN));
  /* And with her signing key, but his box key, to receive what is boxed for her. */
  member_take (self->members, sk_member_build_add (&self->vault, &ada, "ada", sk_identity_sign_key (self->devices[ADA]),
                                                   sk_identity_box_key (self->devices[EVE]), &dan, self->devices[DAN], SK_WALL_MIN));
  assert_members (self, "ABCD..");
  g_assert_cmpmem (sk_members_sign_key (self->members, &ada), 32, sk_identity_sign_key (self->devices[ADA]), 32);
  g_assert_cmpmem (&sk_members_find (self->members, &ada)->box_key, 32, sk_identity_box_key (self->devices[ADA]), 32);
}

static void
test_enrolled_again (MemberFixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = NULL;

  family (self);
  before = sk_members_copy (self->members);
  member_take (self->members, member_add (self, DAN, EVE, 500));
  member_take (self->members, member_revoke (self, ADA, DAN, before, FALSE));
  assert_members (self, "ABCd..");
  member_take (self->members, member_add (self, BOB, EVE, 600));
  assert_members (self, "ABCdE.");
}

static void
test_names (MemberFixture *self, gconstpointer data)
{
  SkDeviceId bob = member_id (BOB);

  family (self);
  member_take (self->members, member_rename (self, BOB, BOB, "laptop", 5));
  member_take (self->members, member_rename (self, ADA, BOB, "desk", 7));
  member_take (self->members, member_rename (self, CYN, BOB, "old", 6));
  g_assert_cmpstr (sk_members_find (self->members, &bob)->name, ==, "desk");
  member_take (self->members, member_rename (self, EVE, BOB, "stranger", 99));
  g_assert_cmpstr (sk_members_find (self->members, &bob)->name, ==, "desk");
  member_take (self->members, member_rename (self, RECOVERY, BOB, "mine", 1));
  g_assert_cmpstr (sk_members_find (self->members, &bob)->name, ==, "mine");
}

static void
test_leaves (MemberFixture *self, gconstpointer data)
{
  family (self);
  member_take (self->members, member_revoke (self, BOB, BOB, self->members, FALSE));
  assert_members (self, "AbCD..");
}

static void
test_other_vault (MemberFixture *self, gconstpointer data)
{
  MemberFixture other;
  g_autoptr(GBytes) record = NULL;

  member_set_up (&other, NULL);
  record = member_add (&other, RECOVERY, ADA, 100);
  g_assert_false (sk_members_add (self->members, record, NULL, NULL));
  g_assert_null (sk_members_new (&self->vault, sk_identity_sign_key (other.recovery), sk_identity_box_key (other.recovery), NULL));
  member_tear_down (&other, NULL);
}

static void
test_bytes (MemberFixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  family (self);
  g_ptr_array_add (records, member_add (self, ADA, EVE, 500));
  g_ptr_array_add (records, member_rename (self, ADA, BOB, "desk", 7));
  g_ptr_array_add (records, member_revoke (self, ADA, BOB, self->members, FALSE));
  for (guint r = 0; r < records->len; r++)
    {
      gsize len;
      const guint8 *bytes = g_bytes_get_data (g_ptr_array_index (records, r), &len);

      for (gsize i = 0; i < len; i++)
        {
          g_autofree guint8 *copy = g_memdup2 (bytes, len);
          g_autoptr(GBytes) spoilt = NULL, prefix = g_bytes_new (bytes, i);
          g_autoptr(SkMembers) members = sk_members_copy (self->members);
          g_autofree char *here = NULL;

          copy[i] ^= 1 << i % 8;
          spoilt = g_bytes_new (copy, len);
          /* Either it does not parse, or it stays without effect: nobody's key verifies it. */
          sk_members_add (members, spoilt, NULL, NULL);
          sk_members_add (members, prefix, NULL, NULL);
          here = picture (members);
          g_assert_cmpstr (here, ==, "ABCD..");
        }
    }
}

static void
test_unknown_type (MemberFixture *self, gconstpointer data)
{
  g_autoptr(GBytes) record = member_add (self, RECOVERY, ADA, 100);
  gsize len = g_bytes_get_size (record);
  g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (record, NULL), len);
  SkSignature signature;
  g_autoptr(GPtrArray) records = NULL;

  copy[8] = 77;
  sk_identity_sign (self->recovery, copy, len - 64, &signature);
  memcpy (copy + len - 64, signature.bytes, 64);
  member_take (self->members, g_bytes_new (copy, len));
  assert_members (self, "......");
  records = sk_members_records (self->members);
  g_assert_cmpuint (records->len, ==, 1);
  g_assert_cmpmem (copy, len, g_bytes_get_data (g_ptr_array_index (records, 0), NULL), len);
}

/* A member that floods the set cannot keep the recovery identity from ending it, and 256 devices count. */
static void
test_bounds (MemberFixture *self, gconstpointer data)
{
  SkDeviceId ada = member_id (ADA);
  const SkPublicKey *sign_key = sk_identity_sign_key (self->devices[EVE]), *box_key = sk_identity_box_key (self->devices[EVE]);
  g_autoptr(SkMembers) before = NULL;
  guint refused = 0, live = 0;

  member_take (self->members, member_add (self, RECOVERY, ADA, 100));
  member_take (self->members, member_add (self, RECOVERY, BOB, 100));
  before = sk_members_copy (self->members);
  for (guint i = 0; i < SK_MEMBER_RECORDS_MAX + 10; i++)
    {
      SkDeviceId id = { { 0xee, (guint8) (i >> 8), (guint8) i } };
      g_autoptr(GBytes) record = sk_member_build_add (&self->vault, &id, "flood", sign_key, box_key, &ada, self->devices[ADA], 1);

      refused += !sk_members_add (self->members, record, NULL, NULL);
    }
  g_assert_cmpuint (refused, ==, 10);
  for (guint i = 0; i < sk_members_devices (self->members)->len; i++)
    live += !((SkDevice *) g_ptr_array_index (sk_members_devices (self->members), i))->revoked;
  g_assert_cmpuint (live, ==, SK_DEVICES_MAX);
  member_take (self->members, member_revoke (self, RECOVERY, ADA, before, TRUE));
  g_assert_false (member_is_live (self->members, ADA));
  g_assert_true (member_is_live (self->members, BOB));
  g_assert_cmpuint (sk_members_devices (self->members)->len, ==, 2);
}

/* Random sets of records: the order never matters (assert_members), and the recovery identity's word holds. */
static void
test_random (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);

  g_test_message ("seed %u", seed);
  for (guint round = 0; round < 25; round++)
    {
      MemberFixture self;
      g_autofree char *expected = NULL;

      member_set_up (&self, NULL);
      family (&self);
      for (guint i = 0; i < 12; i++)
        {
          g_autoptr(SkMembers) known = sk_members_copy (self.members);
          int signer = g_rand_int_range (rand, ADA, FAY + 1), device = g_rand_int_range (rand, ADA, FAY + 1);

          if (g_rand_boolean (rand))
            member_take (self.members, member_add (&self, signer, device, g_rand_int_range (rand, 0, 1000)));
          else
            member_take (self.members, member_revoke (&self, signer, device, known, g_rand_boolean (rand)));
        }
      expected = picture (self.members);
      assert_members (&self, expected);
      member_take (self.members, member_revoke (&self, RECOVERY, DAN, self.members, TRUE));
      g_assert_false (member_is_live (self.members, DAN));
      member_tear_down (&self, NULL);
    }
}

#define ADD(path, func) g_test_add (path, MemberFixture, NULL, member_set_up, func, member_tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/member/rule-b1/chain-to-recovery", test_chain);
  ADD ("/member/rule-b1/signer-comes-later", test_signer_comes_later);
  ADD ("/member/rule-b1/strangers-do-not-count", test_strangers);
  ADD ("/member/rule-b1/circle-of-adds", test_circle_of_adds);
  ADD ("/member/rule-a13/revoke-names-the-cut", test_revoke);
  ADD ("/member/rule-b1/first-device-lost", test_first_is_lost);
  ADD ("/member/rule-b1/each-other", test_each_other);
  ADD ("/member/rule-b1/each-other-in-turn", test_each_other_in_turn);
  ADD ("/member/rule-b1/thief-revokes-the-rest", test_thief_revokes_the_rest);
  ADD ("/member/rule-b1/thief-was-seen", test_thief_was_seen);
  ADD ("/member/rule-b1/old-revocation-stays", test_old_revocation_stays);
  ADD ("/member/rule-b1/recovery-overrides", test_recovery_overrides);
  ADD ("/member/rule-b1/recovery-cannot-be-revoked", test_recovery_cannot_be_revoked);
  ADD ("/member/rule-b1/circle-of-three", test_circle_of_three);
  ADD ("/member/rule-b1/outside-the-circle", test_outside_the_circle);
  ADD ("/member/rule-b1/stolen-id", test_stolen_id);
  ADD ("/member/rule-b1/enrolled-again", test_enrolled_again);
  g_test_add_func ("/member/rule-b1/random-sets", test_random);
  ADD ("/member/names", test_names);
  ADD ("/member/leaves", test_leaves);
  ADD ("/member/other-vault", test_other_vault);
  ADD ("/member/bytes", test_bytes);
  ADD ("/member/unknown-type", test_unknown_type);
  ADD ("/member/bounds", test_bounds);
  return g_test_run ();
}
