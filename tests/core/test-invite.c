/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-invite.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "sk-phrase.h"
#include "log-fixture.h"
#include "member-fixture.h"

enum { ADA, BOB };

typedef struct
{
  MemberFixture vault;
  SkKeyring *keys;
  SkInviteCode code;
  SkInviteSide *inviter, *newcomer;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  SkId storage = fixture_id (3);

  member_set_up (&self->vault, NULL);
  member_take (self->vault.members, member_add (&self->vault, RECOVERY, ADA, 100));
  self->keys = sk_keyring_new_vault ();
  sk_invite_code_new (&self->vault.vault, &storage, "s3://bucket/prefix?endpoint=https://h:9000&style=path", &self->code);
  self->inviter = sk_invite_side_new (&self->code);
  self->newcomer = sk_invite_side_new (&self->code);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  sk_invite_side_free (self->inviter);
  sk_invite_side_free (self->newcomer);
  sk_invite_code_clear (&self->code);
  sk_keyring_unref (self->keys);
  member_tear_down (&self->vault, NULL);
}

static GBytes *
answer_as_bob (Fixture *self, SkInviteSide *side)
{
  SkDeviceId bob = member_id (BOB);

  return sk_invite_build_answer (side, &bob, "Bob's laptop", self->vault.devices[BOB]);
}

/* Offer and answer, honestly. */
static GBytes *
meet (Fixture *self)
{
  g_autoptr(GBytes) offer = sk_invite_build_offer (self->inviter);
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_invite_read_offer (self->newcomer, offer, &error));
  g_assert_no_error (error);
  return answer_as_bob (self, self->newcomer);
}

static void
fill_grant (Fixture *self, SkInviteGrant *grant)
{
  SkPosition position = { fixture_id (2), 41, fixture_hash (41) };

  *grant = (SkInviteGrant) { .keys = sk_keyring_ref (self->keys), .members = sk_members_records (self->vault.members),
                             .recovery_sign = *sk_identity_sign_key (self->vault.recovery),
                             .recovery_box = *sk_identity_box_key (self->vault.recovery), .vault_name = g_strdup ("Home"),
                             .positions = g_array_new (FALSE, FALSE, sizeof (SkPosition)) };
  g_array_append_val (grant->positions, position);
}

static GBytes *
grant_now (Fixture *self, GError **error)
{
  SkInviteGrant grant;
  GBytes *object;

  fill_grant (self, &grant);
  object = sk_invite_build_grant (self->inviter, &grant, error);
  sk_invite_grant_clear (&grant);
  return object;
}

static void
test_whole (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) answer = meet (self), object = NULL;
  SkInviteAnswer found = { 0 };
  SkInviteGrant grant = { 0 };
  SkDeviceId bob = member_id (BOB);
  g_autofree char *here = NULL, *there = NULL;
  g_auto(GStrv) words = NULL;
  SkKey mine, theirs;
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_invite_words (self->inviter));
  g_assert_true (sk_invite_read_answer (self->inviter, answer, &found, &error));
  g_assert_no_error (error);
  g_assert_true (sk_device_id_equal (&found.device, &bob));
  g_assert_cmpstr (found.name, ==, "Bob's laptop");
  g_assert_cmpmem (&found.sign_key, 32, sk_identity_sign_key (self->vault.devices[BOB]), 32);
  g_assert_cmpmem (&found.box_key, 32, sk_identity_box_key (self->vault.devices[BOB]), 32);
  here = sk_invite_words (self->inviter);
  there = sk_invite_words (self->newcomer);
  g_assert_cmpstr (here, ==, there);
  words = g_strsplit (here, " ", -1);
  g_assert_cmpuint (g_strv_length (words), ==, 6);

  member_take (self->vault.members, member_add (&self->vault, ADA, BOB, 200));
  object = grant_now (self, &error);
  g_assert_no_error (error);
  g_assert_true (sk_invite_read_grant (self->newcomer, object, &grant, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (grant.vault_name, ==, "Home");
  g_assert_cmpuint (grant.members->len, ==, 2);
  g_assert_cmpuint (grant.positions->len, ==, 1);
  sk_keyring_id_key (self->keys, &mine);
  sk_keyring_id_key (grant.keys, &theirs);
  g_assert_cmpmem (&mine, 32, &theirs, 32);
  sk_invite_answer_clear (&found);
  sk_invite_grant_clear (&grant);
}

static void
test_sizes_tell_nothing (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) offer = sk_invite_build_offer (self->inviter), a = NULL, b = NULL;
  g_autoptr(SkInviteSide) other = sk_invite_side_new (&self->code);
  g_autofree char *longest = g_strnfill (SK_LABEL_MAX, 'n');
  SkDeviceId bob = member_id (BOB);

  g_assert_true (sk_invite_read_offer (self->newcomer, offer, NULL));
  g_assert_true (sk_invite_read_offer (other, offer, NULL));
  a = sk_invite_build_answer (self->newcomer, &bob, "b", self->vault.devices[BOB]);
  b = sk_invite_build_answer (other, &bob, longest, self->vault.devices[BOB]);
  g_assert_cmpuint (g_bytes_get_size (a), ==, g_bytes_get_size (b));
}

static void
test_without_code (Fixture *self, gconstpointer data)
{
  g_auto(SkInviteCode) other = { 0 };
  g_autoptr(SkInviteSide) stranger = NULL;
  g_autoptr(GBytes) offer = sk_invite_build_offer (self->inviter), foreign = NULL;
  SkId tag, other_tag;

  sk_invite_code_new (&self->code.vault, &self->code.storage, self->code.storage_uri, &other);
  sk_invite_tag (&self->code, &tag);
  sk_invite_tag (&other, &other_tag);
  g_assert_false (sk_id_equal (&tag, &other_tag));
  stranger = sk_invite_side_new (&other);
  g_assert_false (sk_invite_read_offer (stranger, offer, NULL));
  foreign = sk_invite_build_offer (stranger);
  g_assert_false (sk_invite_read_offer (self->newcomer, foreign, NULL));
}

/* Every flipped bit of each message is noticed; each prefix is refused. */
static void
test_messages_are_whole (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) offer = sk_invite_build_offer (self->inviter), answer = meet (self), grant = NULL;
  SkInviteAnswer found = { 0 };
  SkInviteGrant got = { 0 };
  gsize len = g_bytes_get_size (offer);

  for (gsize i = 0; i < len; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (offer, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len), prefix = g_bytes_new (copy, i);
      g_autoptr(SkInviteSide) side = sk_invite_side_new (&self->code);

      copy[i] ^= 1 << i % 8;
      g_assert_false (sk_invite_read_offer (side, spoilt, NULL));
      g_assert_false (sk_invite_read_offer (side, prefix, NULL));
    }
  g_assert_true (sk_invite_read_answer (self->inviter, answer, &found, NULL));
  sk_invite_answer_clear (&found);
  member_take (self->vault.members, member_add (&self->vault, ADA, BOB, 200));
  grant = grant_now (self, NULL);
  len = g_bytes_get_size (grant);
  for (gsize i = 0; i < len; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (grant, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len), prefix = g_bytes_new (copy, i);

      copy[i] ^= 1 << i % 8;
      g_assert_false (sk_invite_read_grant (self->newcomer, spoilt, &got, NULL));
      g_assert_false (sk_invite_read_grant (self->newcomer, prefix, &got, NULL));
    }
  g_assert_true (sk_invite_read_grant (self->newcomer, grant, &got, NULL));
  sk_invite_grant_clear (&got);
}

static void
test_third_failure (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) answer = meet (self);
  gsize len = g_bytes_get_size (answer);
  SkInviteAnswer found = { 0 };
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < 3; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (answer, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len);

      copy[60 + i] ^= 1;
      g_assert_false (sk_invite_read_answer (self->inviter, spoilt, &found, NULL));
    }
  g_assert_false (sk_invite_read_answer (self->inviter, answer, &found, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_PERMISSION);
}

static void
test_two_failures (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) answer = meet (self), junk = g_bytes_new_static ("junk", 4);
  SkInviteAnswer found = { 0 };

  g_assert_false (sk_invite_read_answer (self->inviter, junk, &found, NULL));
  g_assert_false (sk_invite_read_answer (self->inviter, junk, &found, NULL));
  g_assert_true (sk_invite_read_answer (self->inviter, answer, &found, NULL));
  sk_invite_answer_clear (&found);
}

static void
test_once (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) answer = meet (self), offer = sk_invite_build_offer (self->inviter), second = NULL, grant = NULL, again = NULL;
  g_autoptr(SkInviteSide) other = sk_invite_side_new (&self->code);
  SkInviteAnswer found = { 0 };
  SkInviteGrant got = { 0 };
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_invite_read_answer (self->inviter, answer, &found, NULL));
  sk_invite_answer_clear (&found);
  g_assert_true (sk_invite_read_offer (other, offer, NULL));
  second = answer_as_bob (self, other);
  g_assert_false (sk_invite_read_answer (self->inviter, second, &found, NULL));

  member_take (self->vault.members, member_add (&self->vault, ADA, BOB, 200));
  grant = grant_now (self, NULL);
  again = grant_now (self, &error);
  g_assert_null (again);
  g_assert_error (error, SK_ERROR, SK_ERROR_PERMISSION);
  /* The other one's session is another. */
  g_assert_false (sk_invite_read_grant (other, grant, &got, NULL));
}

/* Somebody with the code stands in between: both sides see other words. */
static void
test_in_between (Fixture *self, gconstpointer data)
{
  g_autoptr(SkInviteSide) to_newcomer = sk_invite_side_new (&self->code), to_inviter = sk_invite_side_new (&self->code);
  g_autoptr(GBytes) offer = sk_invite_build_offer (self->inviter), false_offer = sk_invite_build_offer (to_newcomer);
  g_autoptr(GBytes) answer = NULL, false_answer = NULL;
  SkInviteAnswer found = { 0 };
  g_autofree char *here = NULL, *there = NULL;

  g_assert_true (sk_invite_read_offer (self->newcomer, false_offer, NULL));
  answer = answer_as_bob (self, self->newcomer);
  g_assert_true (sk_invite_read_offer (to_inviter, offer, NULL));
  false_answer = answer_as_bob (self, to_inviter);
  /* The newcomer's answer to another offer is not taken; one of his own is, and gives other words. */
  g_assert_false (sk_invite_read_answer (self->inviter, answer, &found, NULL));
  g_assert_true (sk_invite_read_answer (self->inviter, false_answer, &found, NULL));
  here = sk_invite_words (self->inviter);
  there = sk_invite_words (self->newcomer);
  g_assert_cmpstr (here, !=, there);
  sk_invite_answer_clear (&found);
}

static void
test_not_enrolled (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) answer = meet (self), grant = NULL;
  SkInviteAnswer found = { 0 };
  SkInviteGrant got = { 0 };
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_invite_read_answer (self->inviter, answer, &found, NULL));
  sk_invite_answer_clear (&found);
  grant = grant_now (self, NULL);
  g_assert_false (sk_invite_read_grant (self->newcomer, grant, &got, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
}

/* The inviter has the keys of another vault than the code names. */
static void
test_other_vault (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) answer = meet (self), object = NULL;
  MemberFixture other;
  SkInviteAnswer found = { 0 };
  SkInviteGrant grant, got = { 0 };

  g_assert_true (sk_invite_read_answer (self->inviter, answer, &found, NULL));
  sk_invite_answer_clear (&found);
  member_set_up (&other, NULL);
  fill_grant (self, &grant);
  grant.recovery_sign = *sk_identity_sign_key (other.recovery);
  object = sk_invite_build_grant (self->inviter, &grant, NULL);
  g_assert_false (sk_invite_read_grant (self->newcomer, object, &got, NULL));
  sk_invite_grant_clear (&grant);
  member_tear_down (&other, NULL);
}

/* --- the text form --- */

static void
assert_same_code (const SkInviteCode *a, const char *text)
{
  g_auto(SkInviteCode) b = { 0 };
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_invite_code_parse (text, &b, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (&a->code, 32, &b.code, 32);
  g_assert_true (sk_id_equal (&a->vault, &b.vault));
  g_assert_true (sk_id_equal (&a->storage, &b.storage));
  g_assert_cmpstr (a->storage_uri, ==, b.storage_uri);
}

static void
test_code_tolerates (Fixture *self, gconstpointer data)
{
  g_autofree char *line = sk_invite_code_format (&self->code);
  g_autofree char *upper = g_ascii_strup (line, -1);
  g_autofree char *quoted = g_strdup_printf ("Join with \"%s\".\n", line);
  g_autofree char *angled = g_strdup_printf ("<%s>", line);
  g_autofree char *slashed = g_strdup_printf ("skerry://%s", line + strlen ("skerry:"));
  g_autofree char *odd = g_strdup (line);
  g_autoptr(GString) dirty = g_string_new ("\xef\xbb\xbf  \t");

  g_assert_true (g_str_has_prefix (line, "skerry:"));
  for (const char *p = line; *p != '\0'; p++)
    {
      g_assert_true (g_ascii_isalnum (*p) || strchr (":.", *p) != NULL);
      g_string_append_c (dirty, (p - line) % 2 == 0 ? *p : g_ascii_toupper (*p));
      if ((p - line) % 7 == 0)
        g_string_append (dirty, "\xe2\x80\x8b");         /* U+200B */
      if ((p - line) % 40 == 39)
        g_string_append (dirty, "\r\n  ");
      if ((p - line) % 13 == 0)
        g_string_append (dirty, "-");
    }
  for (char *p = odd + strlen ("skerry:"); *p != '\0'; p++)
    *p = *p == '0' ? 'O' : *p == '1' ? 'l' : *p;
  assert_same_code (&self->code, line);
  assert_same_code (&self->code, upper);
  assert_same_code (&self->code, quoted);
  assert_same_code (&self->code, angled);
  assert_same_code (&self->code, slashed);
  assert_same_code (&self->code, odd);
  assert_same_code (&self->code, dirty->str);
}

static void
test_code_refuses (Fixture *self, gconstpointer data)
{
  static const char *const bad[] = { "", "skerry:", "hello", "skerry:.", "skerry:abc", "skerry:\xff", "SKERRY:0.0" };
  g_autofree char *line = sk_invite_code_format (&self->code);
  g_autofree char *huge = g_strnfill (200000, 'a');
  g_auto(SkInviteCode) out = { 0 };
  guint accepted = 0;

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_false (sk_invite_code_parse (bad[i], &out, NULL));
  memcpy (huge, "skerry:", 7);
  g_assert_false (sk_invite_code_parse (huge, &out, NULL));
  /* Any one character wrong, missing or doubled: noticed but for one chance in a million. */
  for (gsize i = strlen ("skerry:"); line[i] != '\0'; i++)
    {
      g_autofree char *wrong = g_strdup (line);
      g_autofree char *missing = g_strdup_printf ("%.*s%s", (int) i, line, line + i + 1);
      g_autofree char *doubled = g_strdup_printf ("%.*s%c%s", (int) i, line, line[i], line + i);

      wrong[i] = line[i] == 'z' ? 'y' : 'z';
      accepted += sk_invite_code_parse (wrong, &out, NULL);
      accepted += sk_invite_code_parse (missing, &out, NULL);
      accepted += sk_invite_code_parse (doubled, &out, NULL);
    }
  g_assert_cmpuint (accepted, ==, 0);
}

/* A code holds no credentials. */
static void
test_code_without_password (void)
{
  static const char *const cases[][2] = {
    { "sftp://me:secret@host/x", "sftp://me@host/x" },
    { "sftp://me:se:c@ret@host:22/x", "sftp://me@host:22/x" },
    { "sftp://me@host:22/x", "sftp://me@host:22/x" },
    { "s3://bucket/a:b@c", "s3://bucket/a:b@c" },
    { "/mnt/disk:1/a@b", "/mnt/disk:1/a@b" },
    { "", "" },
  };
  SkId id = fixture_id (1);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto(SkInviteCode) code = { 0 };
      g_autofree char *line = NULL;

      sk_invite_code_new (&id, &id, cases[i][0], &code);
      g_assert_cmpstr (code.storage_uri, ==, cases[i][1]);
      line = sk_invite_code_format (&code);
      assert_same_code (&code, line);
    }
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/invite/rule-b5/whole", test_whole);
  ADD ("/invite/rule-b5/sizes-tell-nothing", test_sizes_tell_nothing);
  ADD ("/invite/rule-b5/without-code", test_without_code);
  ADD ("/invite/rule-b5/messages-are-whole", test_messages_are_whole);
  ADD ("/invite/rule-b5/third-failure-ends-it", test_third_failure);
  ADD ("/invite/rule-b5/two-failures-do-not", test_two_failures);
  ADD ("/invite/rule-b5/only-once", test_once);
  ADD ("/invite/rule-b5/in-between-shows-in-the-words", test_in_between);
  ADD ("/invite/rule-b5/not-enrolled", test_not_enrolled);
  ADD ("/invite/rule-b5/other-vault", test_other_vault);
  ADD ("/invite/sit-B154/code-tolerates", test_code_tolerates);
  ADD ("/invite/sit-B154/code-refuses", test_code_refuses);
  g_test_add_func ("/invite/rule-b5/code-without-password", test_code_without_password);
  return g_test_run ();
}
