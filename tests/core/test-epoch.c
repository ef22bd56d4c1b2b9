/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-member.h"

#include "sk-error.h"
#include "member-fixture.h"

enum { ADA, BOB, CYN, DAN, EVE };

typedef struct
{
  MemberFixture vault;
  SkKeyring *keys;
  SkId epoch;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  member_set_up (&self->vault, NULL);
  member_take (self->vault.members, member_add (&self->vault, RECOVERY, ADA, 100));
  member_take (self->vault.members, member_add (&self->vault, ADA, BOB, 200));
  member_take (self->vault.members, member_add (&self->vault, BOB, CYN, 300));
  self->keys = sk_keyring_new_vault ();
  self->epoch = *sk_keyring_current (self->keys);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  sk_keyring_unref (self->keys);
  member_tear_down (&self->vault, NULL);
}

static GBytes *
build (Fixture *self, int signer)
{
  SkDeviceId signer_id = member_id (signer);
  g_autoptr(GError) error = NULL;
  GBytes *object = sk_epoch_build (&self->vault.vault, self->keys, &self->epoch, self->vault.members, &signer_id,
                                   member_identity (&self->vault, signer), &error);

  g_assert_no_error (error);
  return object;
}

static gboolean
open_epoch (Fixture *self, GBytes *object, SkMembers *members, int reader, GError **error)
{
  g_autoptr(SkKeyring) keys = NULL;
  SkPublicKey sign, box;
  SkKey mine, theirs;
  SkId epoch;

  if (!sk_epoch_open (object, &self->vault.vault, members, member_identity (&self->vault, reader), &epoch, &keys, &sign, &box, error))
    return FALSE;
  g_assert_true (sk_id_equal (&epoch, &self->epoch));
  g_assert_cmpmem (&sign, 32, sk_identity_sign_key (self->vault.recovery), 32);
  g_assert_cmpmem (&box, 32, sk_identity_box_key (self->vault.recovery), 32);
  g_assert_true (sk_keyring_get (self->keys, &epoch, SK_USE_LOG, &mine, NULL));
  g_assert_true (sk_keyring_get (keys, &epoch, SK_USE_LOG, &theirs, NULL));
  g_assert_cmpmem (&mine, 32, &theirs, 32);
  sk_keyring_id_key (self->keys, &mine);
  sk_keyring_id_key (keys, &theirs);
  g_assert_cmpmem (&mine, 32, &theirs, 32);
  return TRUE;
}

static void
test_recipients (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = build (self, ADA);
  g_autoptr(GError) error = NULL;

  for (int reader = RECOVERY; reader <= CYN; reader++)
    g_assert_true (open_epoch (self, object, self->vault.members, reader, NULL));
  g_assert_false (open_epoch (self, object, self->vault.members, EVE, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_PERMISSION);
}

/* With nothing but the 24 words: the signer is found and verified through the records inside. */
static void
test_only_the_phrase (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) by_recovery = build (self, RECOVERY), by_cyn = build (self, CYN);

  g_assert_true (open_epoch (self, by_recovery, NULL, RECOVERY, NULL));
  g_assert_true (open_epoch (self, by_cyn, NULL, RECOVERY, NULL));
  g_assert_true (open_epoch (self, by_cyn, NULL, BOB, NULL));
}

/* The storage knows the recovery identity's public keys and can box to it, but not sign. */
static void
test_made_up_by_the_storage (Fixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) made_up = sk_members_copy (self->vault.members);
  SkDeviceId eve = member_id (EVE), ada = member_id (ADA);
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GBytes) as_ada = NULL;
  g_autoptr(GError) error = NULL;

  as_ada = sk_epoch_build (&self->vault.vault, self->keys, &self->epoch, made_up, &ada, self->vault.devices[EVE], NULL);
  g_assert_false (open_epoch (self, as_ada, NULL, RECOVERY, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
  g_assert_false (open_epoch (self, as_ada, self->vault.members, RECOVERY, NULL));
  object = sk_epoch_build (&self->vault.vault, self->keys, &self->epoch, made_up, &eve, self->vault.devices[EVE], NULL);
  g_assert_null (object);
}

static void
test_newcomer_signed (Fixture *self, gconstpointer data)
{
  g_autoptr(SkMembers) before = sk_members_copy (self->vault.members);
  g_autoptr(GBytes) object = NULL;

  member_take (self->vault.members, member_add (&self->vault, CYN, DAN, 400));
  object = build (self, DAN);
  g_assert_true (open_epoch (self, object, before, BOB, NULL));
}

static void
test_usable (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) by_ada = build (self, ADA), by_cyn = build (self, CYN), by_recovery = build (self, RECOVERY), after = NULL;
  g_autoptr(GError) error = NULL;
  SkId epoch;

  g_assert_true (sk_epoch_usable (by_ada, &self->vault.vault, self->vault.members, &epoch, NULL));
  g_assert_true (sk_id_equal (&epoch, &self->epoch));
  g_assert_true (sk_epoch_usable (by_recovery, &self->vault.vault, self->vault.members, &epoch, NULL));
  member_take (self->vault.members, member_revoke (&self->vault, ADA, CYN, self->vault.members, FALSE));
  /* CYN has the keys of each: none may be written with, also the one she signs now; all can be read with. */
  g_assert_false (sk_epoch_usable (by_ada, &self->vault.vault, self->vault.members, &epoch, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
  g_assert_false (sk_epoch_usable (by_cyn, &self->vault.vault, self->vault.members, &epoch, NULL));
  g_assert_false (sk_epoch_usable (by_recovery, &self->vault.vault, self->vault.members, &epoch, NULL));
  g_assert_true (open_epoch (self, by_cyn, self->vault.members, BOB, NULL));
  after = build (self, BOB);
  g_assert_true (sk_epoch_usable (after, &self->vault.vault, self->vault.members, &epoch, NULL));
  g_assert_false (open_epoch (self, after, self->vault.members, CYN, NULL));
}

static void
test_flips_and_prefixes (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = build (self, CYN);
  gsize len = g_bytes_get_size (object);
  SkId epoch;

  for (gsize i = 0; i < len; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len);
      g_autoptr(GBytes) prefix = g_bytes_new (copy, i);

      copy[i] ^= 1 << i % 8;
      g_assert_false (sk_epoch_usable (spoilt, &self->vault.vault, self->vault.members, &epoch, NULL));
      g_assert_false (sk_epoch_usable (prefix, &self->vault.vault, self->vault.members, &epoch, NULL));
      if (i % 11 == 0)
        g_assert_false (open_epoch (self, spoilt, NULL, RECOVERY, NULL));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add ("/epoch/rule-b1/recipients", Fixture, NULL, set_up, test_recipients, tear_down);
  g_test_add ("/epoch/rule-b1/only-the-phrase", Fixture, NULL, set_up, test_only_the_phrase, tear_down);
  g_test_add ("/epoch/rule-b1/made-up-by-the-storage", Fixture, NULL, set_up, test_made_up_by_the_storage, tear_down);
  g_test_add ("/epoch/rule-b1/newcomer-signed", Fixture, NULL, set_up, test_newcomer_signed, tear_down);
  g_test_add ("/epoch/rule-b1/usable-only-with-live-recipients", Fixture, NULL, set_up, test_usable, tear_down);
  g_test_add ("/epoch/flips-and-prefixes", Fixture, NULL, set_up, test_flips_and_prefixes, tear_down);
  return g_test_run ();
}
