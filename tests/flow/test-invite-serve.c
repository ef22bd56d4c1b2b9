/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an invitation withstands (RULES B5). */
#include <string.h>

#include "sk-guests.h"
#include "sk-invite.h"

/* --- somebody who can write into the storage --- */

static SkStore *
attacker_store (SkGuests *guests, SkPool *pool)
{
  g_autoptr(GError) error = NULL;
  SkStore *store = sk_store_new (guests->storage, &guests->sessions[0]->who.vault, pool, &error);

  g_assert_no_error (error);
  return store;
}

static void
overwrite (SkStore *store, const SkId *tag, const char *part, GBytes *bytes)
{
  g_autofree char *name = sk_invite_object_name (tag, part);
  g_autoptr(GError) error = NULL;

  sk_store_put_sync (store, name, bytes, SK_PUT_OVERWRITE, NULL, &error);
  g_assert_no_error (error);
}

static GBytes *
fetch (SkStore *store, const SkId *tag, const char *part)
{
  g_autofree char *name = sk_invite_object_name (tag, part);

  return sk_store_get_sync (store, name, 1 << 20, NULL, NULL);
}

static gboolean
is_there (SkStore *store, const SkId *tag, const char *part)
{
  g_autoptr(GBytes) bytes = fetch (store, tag, part);

  return bytes != NULL;
}

static void
parse_code (const char *text, SkInviteCode *code, SkId *tag)
{
  g_autoptr(GError) error = NULL;

  sk_invite_code_parse (text, code, &error);
  g_assert_no_error (error);
  sk_invite_tag (code, tag);
}

/* --- an invitation --- */

static void
test_needs_yes (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *issue = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, FALSE, &invite);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (guests, 1, code, "second", NULL, 30);
  g_autoptr(GVariant) asked = sk_guests_await (guests, 0, invite, "asked");
  g_autoptr(GVariant) issues = sk_guests_run (guests, 0, "issues", NULL), list = g_variant_lookup_value (issues, "issues", NULL), one = NULL;
  guint64 id;

  sk_guests_fail (guests, 0, SK_ERROR_UNTRUSTED, "invite.confirm", "{'invite': <%s>, 'device': <'0123456789abcdef'>}", invite);
  g_assert_cmpuint (sk_guests_count_objects (guests, "join"), ==, 2);
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 1);
  /* The desktop asks through the issue. */
  g_assert_cmpuint (g_variant_n_children (list), ==, 1);
  one = g_variant_get_child_value (list, 0);
  issue = sk_guests_text (one, "kind");
  g_assert_cmpstr (issue, ==, "newcomer");
  g_assert_true (g_variant_lookup (one, "id", "t", &id));
  g_variant_unref (sk_guests_run (guests, 0, "resolve", "{'issue': <uint64 %t>, 'choice': <'accept'>}", id));
  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 2);
}

static void
test_refused (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *state = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, FALSE, &invite);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (guests, 1, code, "second", NULL, 30);
  g_autoptr(GVariant) asked = sk_guests_await (guests, 0, invite, "asked");

  g_variant_unref (sk_guests_run (guests, 0, "invite.refuse", "{'invite': <%s>}", invite));
  sk_joiner_end (joiner);
  g_assert_error (joiner->error, SK_ERROR, SK_ERROR_NOT_FOUND);
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 1);
  g_assert_false (guests->sessions[1]->has_vault);
  sk_guests_until (sk_guests_count_objects (guests, "join") == 0);
  state = sk_guests_state (guests, 0, invite);
  g_assert_cmpstr (state, ==, "refused");
}

static void
test_wrong_code (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *state = NULL, *other = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, &invite);
  g_auto(SkInviteCode) right = { 0 }, wrong = { 0 };
  g_autofree char *typo = g_strdup (code);
  SkId tag;

  parse_code (code, &right, &tag);
  sk_invite_code_new (&right.vault, &right.storage, right.storage_uri, &wrong);
  other = sk_invite_code_format (&wrong);
  sk_guests_fail (guests, 1, SK_ERROR_NOT_FOUND, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", other);
  typo[10] = typo[10] == 'a' ? 'b' : 'a';
  sk_guests_fail (guests, 1, SK_ERROR_WRONG_KEY, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", typo);
  sk_guests_fail (guests, 1, SK_ERROR_USAGE, "vault.join", "{'code': <'come in'>, 'no-passphrase': <true>}");
  g_assert_false (guests->sessions[1]->has_vault);
  state = sk_guests_state (guests, 0, invite);
  g_assert_cmpstr (state, ==, "open");
}

/* Somebody who can write into the storage and has no code changes keys on the way. */
static void
test_storage_swaps_keys (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *state = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, &invite);
  SkPool *pool = sk_pool_new ("attacker", 1);
  g_autoptr(SkStore) store = attacker_store (guests, pool);
  g_auto(SkInviteCode) parsed = { 0 };
  g_autoptr(GBytes) offer = NULL, forged = NULL;
  g_autofree guint8 *bytes = NULL;
  SkId tag;
  gsize len;

  parse_code (code, &parsed, &tag);
  offer = fetch (store, &tag, "offer");
  bytes = g_memdup2 (g_bytes_get_data (offer, &len), g_bytes_get_size (offer));
  bytes[len - 40] ^= 1;                                            /* in the inviter's key */
  forged = g_bytes_new (bytes, g_bytes_get_size (offer));
  overwrite (store, &tag, "offer", forged);
  sk_guests_fail (guests, 1, SK_ERROR_WRONG_KEY, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
  g_assert_false (is_there (store, &tag, "answer"));
  state = sk_guests_state (guests, 0, invite);
  g_assert_cmpstr (state, ==, "open");
  g_clear_object (&store);
  sk_pool_free (pool);
}

/* Somebody who has the code as well stands between the two. He cannot have the same words on both sides. */
static void
test_mitm (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, FALSE, &invite);
  SkPool *pool = sk_pool_new ("attacker", 1);
  g_autoptr(SkStore) store = attacker_store (guests, pool);
  g_auto(SkInviteCode) parsed = { 0 };
  g_autoptr(SkInviteSide) as_inviter = NULL, as_newcomer = NULL;
  g_autoptr(SkIdentity) identity = sk_identity_new_random ();
  g_autoptr(GBytes) offer = NULL, own_offer = NULL, own_answer = NULL;
  g_autoptr(SkJoiner) joiner = NULL;
  g_autoptr(GVariant) asked = NULL;
  g_autofree char *here = NULL, *there = NULL;
  const SkDeviceId device = { { 7 } };
  SkId tag;

  parse_code (code, &parsed, &tag);
  as_inviter = sk_invite_side_new (&parsed);
  as_newcomer = sk_invite_side_new (&parsed);
  offer = fetch (store, &tag, "offer");
  g_assert_true (sk_invite_read_offer (as_newcomer, offer, NULL));
  own_offer = sk_invite_build_offer (as_inviter);
  overwrite (store, &tag, "offer", own_offer);
  own_answer = sk_invite_build_answer (as_newcomer, &device, "second", identity);
  overwrite (store, &tag, "answer", own_answer);
  asked = sk_guests_await (guests, 0, invite, "asked");
  /* The newcomer finds the attacker's offer; its own answer has no place yet. */
  joiner = sk_joiner_start (guests, 1, code, "second", NULL, 20);
  there = sk_joiner_words (joiner);
  here = sk_guests_text (asked, "words");
  g_assert_cmpstr (here, !=, there);
  g_variant_unref (sk_guests_run (guests, 0, "invite.refuse", "{'invite': <%s>}", invite));
  sk_joiner_end (joiner);
  g_assert_error (joiner->error, SK_ERROR, SK_ERROR_NOT_FOUND);
  g_assert_false (is_there (store, &tag, "grant"));
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 1);
  g_clear_object (&store);
  sk_pool_free (pool);
}

static void
test_third_failure (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, &invite);
  SkPool *pool = sk_pool_new ("attacker", 1);
  g_autoptr(SkStore) store = attacker_store (guests, pool);
  g_auto(SkInviteCode) parsed = { 0 };
  g_autoptr(GVariant) failed = NULL;
  SkId tag;

  parse_code (code, &parsed, &tag);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *rubbish = g_strdup_printf ("rubbish %u", i);
      g_autoptr(GBytes) bytes = g_bytes_new (rubbish, strlen (rubbish));
      g_autofree char *state = sk_guests_state (guests, 0, invite);

      g_assert_cmpstr (state, ==, "open");
      overwrite (store, &tag, "answer", bytes);
      sk_guests_until (!is_there (store, &tag, "answer"));
    }
  failed = sk_guests_await (guests, 0, invite, "failed");
  sk_guests_until (!is_there (store, &tag, "offer"));
  /* The right code does not help any more. */
  sk_guests_fail (guests, 1, SK_ERROR_NOT_FOUND, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
  g_clear_object (&store);
  sk_pool_free (pool);
}

/* Two bad answers, and the right one is still taken. */
static void
test_two_failures (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, &invite);
  SkPool *pool = sk_pool_new ("attacker", 1);
  g_autoptr(SkStore) store = attacker_store (guests, pool);
  g_auto(SkInviteCode) parsed = { 0 };
  g_autoptr(GBytes) huge = g_bytes_new_take (g_malloc0 (2 << 20), 2 << 20), small = g_bytes_new_static ("x", 1);
  g_autoptr(SkJoiner) joiner = NULL;
  SkId tag;

  parse_code (code, &parsed, &tag);
  overwrite (store, &tag, "answer", huge);
  sk_guests_until (!is_there (store, &tag, "answer"));
  overwrite (store, &tag, "answer", small);
  joiner = sk_joiner_start (guests, 1, code, "second", NULL, 10);
  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
  g_clear_object (&store);
  sk_pool_free (pool);
}

static gboolean
is_in_state (SkGuests *guests, const char *invite, const char *wanted, SkClock *clock)
{
  g_autofree char *state = sk_guests_state (guests, 0, invite);

  sk_clock_step (clock, G_USEC_PER_SEC);
  return g_str_equal (state, wanted);
}

static void
test_expiry (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (G_GINT64_CONSTANT (1800000000) * G_USEC_PER_SEC);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *code = NULL, *state = NULL;
  SkPool *pool = sk_pool_new ("attacker", 1);
  g_autoptr(SkStore) store = NULL;
  g_auto(SkInviteCode) parsed = { 0 };
  g_autoptr(SkInviteSide) side = NULL;
  g_autoptr(SkIdentity) identity = sk_identity_new_random ();
  g_autoptr(GBytes) offer = NULL, late = NULL;
  g_autoptr(GVariant) expired = NULL;
  const SkDeviceId device = { { 7 } };
  SkId tag;

  sk_guests_close (guests, 0);
  sk_guests_open (guests, 0, clock, FALSE);
  code = sk_guests_invite (guests, 0, TRUE, &invite);
  store = attacker_store (guests, pool);
  parse_code (code, &parsed, &tag);
  side = sk_invite_side_new (&parsed);
  offer = fetch (store, &tag, "offer");
  g_assert_true (sk_invite_read_offer (side, offer, NULL));
  /* Time goes on: a look that began before this step knows nothing of it. */
  sk_clock_step (clock, 601 * G_USEC_PER_SEC);
  sk_guests_until (is_in_state (guests, invite, "expired", clock));
  expired = sk_guests_await (guests, 0, invite, "expired");
  sk_guests_until (!is_there (store, &tag, "offer"));
  /* A proof that comes too late, whatever the other side's clock says. */
  late = sk_invite_build_answer (side, &device, "late", identity);
  overwrite (store, &tag, "answer", late);
  for (guint i = 0; i < 20; i++)
    sk_clock_step (clock, 10 * G_USEC_PER_SEC);
  sk_guests_fail (guests, 0, SK_ERROR_NOT_FOUND, "invite.confirm", "{'invite': <%s>, 'device': <'0700000000000000'>}", invite);
  state = sk_guests_state (guests, 0, invite);
  g_assert_cmpstr (state, ==, "expired");
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 1);
  g_assert_false (is_there (store, &tag, "grant"));
  sk_guests_fail (guests, 1, SK_ERROR_NOT_FOUND, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
  g_clear_object (&store);
  sk_pool_free (pool);
}

static void
test_used_once (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, NULL);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (guests, 1, code, "second", NULL, 10);

  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
  sk_guests_fail (guests, 2, SK_ERROR_NOT_FOUND, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 2);
}

/* The code holds no password of the storage, and nothing that was kept opens the grant later. */
static void
test_engine_ends (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, NULL);
  g_autoptr(GVariant) list = NULL, invites = NULL;

  g_assert_cmpuint (sk_guests_count_objects (guests, "join"), ==, 1);
  sk_guests_close (guests, 0);
  sk_guests_open (guests, 0, NULL, FALSE);
  g_assert_cmpuint (sk_guests_count_objects (guests, "join"), ==, 0);
  sk_guests_fail (guests, 1, SK_ERROR_NOT_FOUND, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
  list = sk_guests_run (guests, 0, "invite.list", NULL);
  invites = g_variant_lookup_value (list, "invites", NULL);
  g_assert_cmpuint (g_variant_n_children (invites), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/invite/rule-b5/needs-a-yes-for-this-device", test_needs_yes);
  g_test_add_func ("/invite/rule-b5/refused", test_refused);
  g_test_add_func ("/invite/rule-b5/wrong-code-refused", test_wrong_code);
  g_test_add_func ("/invite/rule-b5/storage-that-swaps-keys-refused", test_storage_swaps_keys);
  g_test_add_func ("/invite/rule-b5/mitm-with-the-code-has-other-words", test_mitm);
  g_test_add_func ("/invite/rule-b5/third-failure-ends-it", test_third_failure);
  g_test_add_func ("/invite/rule-b5/two-failures-do-not", test_two_failures);
  g_test_add_func ("/invite/rule-b5/expiry", test_expiry);
  g_test_add_func ("/invite/rule-b5/used-once", test_used_once);
  g_test_add_func ("/invite/rule-b5/ends-with-its-engine", test_engine_ends);
  return g_test_run ();
}
