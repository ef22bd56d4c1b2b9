/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange by which a device joins. Bytes, and why each protection holds: FORMAT.md, "Joining". */
#include "sk-invite.h"

#include "sk-limits.h"
#include "sk-member-private.h"
#include "sk-phrase.h"
#include "sk-position-private.h"
#include "sk-seal.h"

#include <sodium.h>
#include <string.h>

#define VERSION 1u
#define CODE_BYTES 16u
#define OFFER_SIZE (4 + 4 + 16 + 16 + 32 + 32)
#define ANSWER_PLAIN 272u /* with the longest name; shorter ones are filled up */
#define ANSWER_HEADER (4 + 4 + 16 + 32)
#define ANSWER_SIZE (ANSWER_HEADER + ANSWER_PLAIN + SK_SEAL_OVERHEAD + 32)
#define GRANT_HEADER (4 + 4 + 16)
#define FAILURES_MAX 3u
#define N_WORDS 6u

G_STATIC_ASSERT (8 + 32 + 32 + 64 + 2 + SK_LABEL_MAX <= ANSWER_PLAIN);

struct _SkInviteSide
{
  SkKey code;
  SkId vault, tag;
  SkKey mac_key;
  SkKey secret; /* ephemeral X25519 */
  SkPublicKey public;
  GBytes *offer, *answer;
  SkPublicKey peer; /* newcomer: the inviter's ephemeral key */
  SkKey shared;     /* newcomer: between offer and answer */
  SkKey session;
  gboolean has_peer, has_session, spent;
  guint failures;
  char *words;
  SkDeviceId device; /* newcomer: what it asked to be enrolled */
  SkPublicKey sign_key;
};

SkInviteSide *
sk_invite_side_new (const SkInviteCode *code)
{
  static const char domain[] = "skerry join mac";
  SkInviteSide *self = sk_secret_alloc (sizeof *self);
  SkHash hash;

  memset (self, 0, sizeof *self);
  self->code = code->code;
  self->vault = code->vault;
  sk_invite_tag (code, &self->tag);
  sk_blake2b_keyed (&self->code, (const guint8 *) domain, strlen (domain), &hash);
  memcpy (self->mac_key.bytes, hash.bytes, sizeof self->mac_key);
  sodium_memzero (&hash, sizeof hash);
  randombytes_buf (self->secret.bytes, sizeof self->secret);
  crypto_scalarmult_base (self->public.bytes, self->secret.bytes);
  return self;
}

/* From here on nothing can be opened or accepted any more, whatever a clock says. */
static void
forget (SkInviteSide *self)
{
  sk_key_clear (&self->secret);
  sk_key_clear (&self->shared);
  sk_key_clear (&self->session);
  self->has_session = FALSE;
  self->spent = TRUE;
}

void
sk_invite_side_free (SkInviteSide *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->offer, g_bytes_unref);
  g_clear_pointer (&self->answer, g_bytes_unref);
  sk_phrase_free (self->words);
  sodium_free (self); /* wipes */
}

/* --- what both sides compute --- */

static void
hash_bytes (GBytes *bytes, SkHash *out)
{
  sk_blake2b (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), out);
}

/* h (shared, label, code, a, b) */
static void
derive (SkInviteSide *self, const SkKey *shared, const char *label, const guint8 a[32],
        const guint8 b[32], SkKey *out)
{
  guint8 input[64 + CODE_BYTES + 64];
  gsize label_len = strlen (label);
  SkHash hash;

  g_assert (label_len <= 64);
  memcpy (input, label, label_len);
  memcpy (input + label_len, self->code.bytes, CODE_BYTES);
  memcpy (input + label_len + CODE_BYTES, a, 32);
  memcpy (input + label_len + CODE_BYTES + 32, b, 32);
  sk_blake2b_keyed (shared, input, label_len + CODE_BYTES + 64, &hash);
  memcpy (out->bytes, hash.bytes, sizeof *out);
  sodium_memzero (&hash, sizeof hash);
  sodium_memzero (input, sizeof input);
}

static void
mac (const SkInviteSide *self, const SkHash *before, const guint8 *data, gsize len, SkHash *out)
{
  crypto_generichash_state state;

  crypto_generichash_init (&state, self->mac_key.bytes, sizeof self->mac_key.bytes,
                           sizeof out->bytes);
  if (before != NULL)
    crypto_generichash_update (&state, before->bytes, sizeof before->bytes);
  crypto_generichash_update (&state, data, len);
  crypto_generichash_final (&state, out->bytes, sizeof out->bytes);
  sodium_memzero (&state, sizeof state);
}

/* Once both objects are known: the session key and the six words. */
static void
start_session (SkInviteSide *self, const SkKey *shared)
{
  static const char domain[] = "skerry join words";
  g_auto(SkKey) seed = { 0 };
  SkHash offer, answer, hash;
  char *phrase;
  guint n = 0;

  hash_bytes (self->offer, &offer);
  hash_bytes (self->answer, &answer);
  derive (self, shared, "skerry join session", offer.bytes, answer.bytes, &self->session);
  self->has_session = TRUE;
  sk_blake2b_keyed (&self->session, (const guint8 *) domain, strlen (domain), &hash);
  memcpy (seed.bytes, hash.bytes, sizeof seed);
  phrase = sk_phrase_format (&seed);
  for (char *p = phrase; *p != '\0'; p++)
    if (*p == ' ' && ++n == N_WORDS)
      {
        self->words = g_strndup (phrase, (gsize) (p - phrase));
        break;
      }
  sk_phrase_free (phrase);
}

char *
sk_invite_words (SkInviteSide *self)
{
  return g_strdup (self->words);
}

static void
begin (SkWriter *w, const char *magic, const SkInviteSide *self)
{
  sk_writer_init (w);
  sk_writer_raw (w, magic, 4);
  sk_writer_u32 (w, VERSION);
  sk_writer_id (w, &self->tag);
}

/* Magic, version, tag. */
static gboolean
check_start (SkReader *r, const char *magic, const SkInviteSide *self, GError **error)
{
  const guint8 *found = sk_reader_take (r, 4);
  guint32 version = sk_reader_u32 (r);
  SkId tag;

  sk_reader_id (r, &tag);
  if (r->failed || sodium_memcmp (found, magic, 4) != 0 || version == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A message of an invitation is damaged");
  if (version > VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "The other device uses a newer version of this program");
  if (!sk_id_equal (&tag, &self->tag))
    return sk_fail (error, SK_ERROR_CORRUPT, "A message of an invitation belongs to another one");
  return TRUE;
}

static gboolean
fail_spent (GError **error)
{
  return sk_fail (error, SK_ERROR_PERMISSION,
                  "The invitation was used or is not valid any more; make a new one");
}

/* --- offer --- */

GBytes *
sk_invite_build_offer (SkInviteSide *inviter)
{
  g_auto(SkWriter) w = { 0 };
  SkHash tag;

  if (inviter->offer != NULL)
    return g_bytes_ref (inviter->offer);
  begin (&w, "SKJO", inviter);
  sk_writer_id (&w, &inviter->vault);
  sk_writer_raw (&w, inviter->public.bytes, sizeof inviter->public.bytes);
  mac (inviter, NULL, w.bytes->data, w.bytes->len, &tag);
  sk_writer_hash (&w, &tag);
  g_assert (w.bytes->len == OFFER_SIZE);
  inviter->offer = sk_writer_finish (&w);
  return g_bytes_ref (inviter->offer);
}

gboolean
sk_invite_read_offer (SkInviteSide *newcomer, GBytes *offer, GError **error)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (offer, &len);
  SkReader r;
  SkHash expected;
  SkId vault;

  if (newcomer->has_peer || newcomer->spent)
    return fail_spent (error);
  sk_reader_init (&r, data, len);
  if (len != OFFER_SIZE)
    return sk_fail (error, SK_ERROR_CORRUPT, "A message of an invitation is damaged: wrong length");
  if (!check_start (&r, "SKJO", newcomer, error))
    return FALSE;
  mac (newcomer, NULL, data, OFFER_SIZE - sizeof expected, &expected);
  if (sodium_memcmp (expected.bytes, data + OFFER_SIZE - sizeof expected, sizeof expected) != 0)
    return sk_fail (error, SK_ERROR_WRONG_KEY,
                    "The invitation in the storage was not made with this code");
  sk_reader_id (&r, &vault);
  if (!sk_id_equal (&vault, &newcomer->vault))
    return sk_fail (error, SK_ERROR_UNTRUSTED,
                    "The invitation is for another vault than its code says");
  memcpy (newcomer->peer.bytes, sk_reader_take (&r, sizeof (SkPublicKey)), sizeof (SkPublicKey));
  if (crypto_scalarmult (newcomer->shared.bytes, newcomer->secret.bytes, newcomer->peer.bytes) != 0)
    return sk_fail (error, SK_ERROR_UNTRUSTED, "The invitation has an invalid key");
  newcomer->offer = g_bytes_ref (offer);
  newcomer->has_peer = TRUE;
  return TRUE;
}

/* --- answer --- */

/* What the new device signs: it holds this key, and asks for this, now. */
static void
put_signed (SkWriter *w, const SkHash *offer, const SkPublicKey *newcomer,
            const SkInviteAnswer *answer)
{
  sk_writer_init (w);
  sk_writer_raw (w, "SKJA", 4);
  sk_writer_hash (w, offer);
  sk_writer_raw (w, newcomer->bytes, sizeof newcomer->bytes);
  sk_writer_raw (w, answer->device.bytes, sizeof answer->device.bytes);
  sk_writer_raw (w, answer->sign_key.bytes, sizeof answer->sign_key.bytes);
  sk_writer_raw (w, answer->box_key.bytes, sizeof answer->box_key.bytes);
  sk_writer_string (w, answer->name);
}

GBytes *
sk_invite_build_answer (SkInviteSide *newcomer, const SkDeviceId *device, const char *name,
                        SkIdentity *identity)
{
  g_auto(SkWriter) w = { 0 }, plain = { 0 }, to_sign = { 0 };
  g_auto(SkKey) key = { 0 };
  g_autoptr(GBytes) sealed = NULL;
  SkInviteAnswer answer = { .device = *device,
                            .name = (char *) name,
                            .sign_key = *sk_identity_sign_key (identity),
                            .box_key = *sk_identity_box_key (identity) };
  SkSignature signature;
  SkHash offer, tag;

  g_return_val_if_fail (newcomer->has_peer && sk_label_check (name, NULL), NULL);
  if (newcomer->answer != NULL)
    return g_bytes_ref (newcomer->answer);
  hash_bytes (newcomer->offer, &offer);
  put_signed (&to_sign, &offer, &newcomer->public, &answer);
  sk_identity_sign (identity, to_sign.bytes->data, to_sign.bytes->len, &signature);

  sk_writer_init (&plain);
  sk_writer_raw (&plain, answer.device.bytes, sizeof answer.device.bytes);
  sk_writer_raw (&plain, answer.sign_key.bytes, sizeof answer.sign_key.bytes);
  sk_writer_raw (&plain, answer.box_key.bytes, sizeof answer.box_key.bytes);
  sk_writer_raw (&plain, signature.bytes, sizeof signature.bytes);
  sk_writer_string (&plain, name);
  while (plain.bytes->len < ANSWER_PLAIN)
    sk_writer_u8 (&plain, 0);

  derive (newcomer, &newcomer->shared, "skerry join answer", offer.bytes, newcomer->public.bytes,
          &key);
  begin (&w, "SKJA", newcomer);
  sk_writer_raw (&w, newcomer->public.bytes, sizeof newcomer->public.bytes);
  sealed = sk_seal_bytes (&key, w.bytes->data, w.bytes->len, plain.bytes->data, plain.bytes->len);
  sk_writer_raw (&w, g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed));
  mac (newcomer, &offer, w.bytes->data, w.bytes->len, &tag);
  sk_writer_hash (&w, &tag);
  g_assert (w.bytes->len == ANSWER_SIZE);

  newcomer->answer = sk_writer_finish (&w);
  newcomer->device = answer.device;
  newcomer->sign_key = answer.sign_key;
  start_session (newcomer, &newcomer->shared);
  sk_key_clear (&newcomer->shared);
  sk_key_clear (&newcomer->secret);
  return g_bytes_ref (newcomer->answer);
}

void
sk_invite_answer_clear (SkInviteAnswer *self)
{
  g_clear_pointer (&self->name, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkInviteAnswer, sk_invite_answer_clear)

static gboolean
parse_answer (GBytes *plain, const SkHash *offer, const SkPublicKey *newcomer, SkInviteAnswer *out)
{
  g_auto(SkWriter) to_sign = { 0 };
  SkSignature signature;
  SkReader r;

  sk_reader_init (&r, g_bytes_get_data (plain, NULL), g_bytes_get_size (plain));
  g_assert (sk_reader_left (&r) == ANSWER_PLAIN);
  memcpy (out->device.bytes, sk_reader_take (&r, 8), 8);
  memcpy (out->sign_key.bytes, sk_reader_take (&r, 32), 32);
  memcpy (out->box_key.bytes, sk_reader_take (&r, 32), 32);
  memcpy (signature.bytes, sk_reader_take (&r, 64), 64);
  out->name = sk_reader_string (&r, SK_LABEL_MAX);
  if (out->name == NULL || !sk_label_check (out->name, NULL) || sk_device_id_is_zero (&out->device))
    return FALSE;
  while (sk_reader_left (&r) > 0)
    if (sk_reader_u8 (&r) != 0)
      return FALSE;
  put_signed (&to_sign, offer, newcomer, out);
  return sk_verify (&out->sign_key, to_sign.bytes->data, to_sign.bytes->len, &signature);
}

static gboolean
open_answer (SkInviteSide *self, GBytes *object, SkKey *shared, SkInviteAnswer *out, GError **error)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (object, &len);
  g_auto(SkKey) key = { 0 };
  g_autoptr(GBytes) plain = NULL;
  SkPublicKey newcomer;
  SkHash offer, expected;
  SkReader r;

  sk_reader_init (&r, data, len);
  if (len != ANSWER_SIZE)
    return sk_fail (error, SK_ERROR_CORRUPT, "A message of an invitation is damaged: wrong length");
  if (!check_start (&r, "SKJA", self, error))
    return FALSE;
  hash_bytes (self->offer, &offer);
  mac (self, &offer, data, ANSWER_SIZE - sizeof expected, &expected);
  if (sodium_memcmp (expected.bytes, data + ANSWER_SIZE - sizeof expected, sizeof expected) != 0)
    return sk_fail (error, SK_ERROR_WRONG_KEY, "A device that asks to join does not have the code");
  memcpy (newcomer.bytes, sk_reader_take (&r, sizeof newcomer), sizeof newcomer);
  if (crypto_scalarmult (shared->bytes, self->secret.bytes, newcomer.bytes) != 0)
    return sk_fail (error, SK_ERROR_UNTRUSTED, "A device that asks to join has an invalid key");
  derive (self, shared, "skerry join answer", offer.bytes, newcomer.bytes, &key);
  plain = sk_open_bytes (&key, data, ANSWER_HEADER, data + ANSWER_HEADER,
                         ANSWER_PLAIN + SK_SEAL_OVERHEAD, error);
  if (plain == NULL)
    return FALSE;
  if (!parse_answer (plain, &offer, &newcomer, out))
    return sk_fail (error, SK_ERROR_UNTRUSTED,
                    "A device that asks to join does not prove its keys or has no proper name");
  return TRUE;
}

gboolean
sk_invite_read_answer (SkInviteSide *inviter, GBytes *answer, SkInviteAnswer *out, GError **error)
{
  g_auto(SkKey) shared = { 0 };
  g_auto(SkInviteAnswer) found = { 0 };

  if (inviter->spent || inviter->has_session || inviter->offer == NULL)
    return fail_spent (error);
  if (!open_answer (inviter, answer, &shared, &found, error))
    {
      if (++inviter->failures >= FAILURES_MAX)
        forget (inviter);
      return FALSE;
    }
  inviter->answer = g_bytes_ref (answer);
  start_session (inviter, &shared);
  sk_key_clear (&inviter->secret);
  *out = found;
  found.name = NULL;
  return TRUE;
}

/* --- grant --- */

void
sk_invite_grant_clear (SkInviteGrant *self)
{
  g_clear_pointer (&self->keys, sk_keyring_unref);
  g_clear_pointer (&self->members, g_ptr_array_unref);
  g_clear_pointer (&self->vault_name, g_free);
  g_clear_pointer (&self->positions, g_array_unref);
}

/* All of a grant but the keyring. */
static gboolean
put_grant (SkWriter *w, const SkInviteGrant *grant, GError **error)
{
  gsize size = 0;

  for (guint i = 0; i < grant->members->len; i++)
    size += g_bytes_get_size (g_ptr_array_index (grant->members, i)) + 3;
  if (size > SK_SMALL_OBJECT_MAX)
    return sk_fail (error, SK_ERROR_LIMIT,
                    "The vault has too many membership records to invite somebody");
  sk_writer_init (w);
  sk_writer_raw (w, grant->recovery_sign.bytes, sizeof grant->recovery_sign.bytes);
  sk_writer_raw (w, grant->recovery_box.bytes, sizeof grant->recovery_box.bytes);
  sk_writer_string (w, grant->vault_name);
  if (!sk_positions_put (w, grant->positions, error))
    return FALSE;
  sk_writer_varint (w, grant->members->len);
  for (guint i = 0; i < grant->members->len; i++)
    {
      GBytes *record = g_ptr_array_index (grant->members, i);

      sk_writer_blob (w, g_bytes_get_data (record, NULL), g_bytes_get_size (record));
    }
  return TRUE;
}

GBytes *
sk_invite_build_grant (SkInviteSide *inviter, const SkInviteGrant *grant, GError **error)
{
  g_auto(SkWriter) w = { 0 }, open = { 0 }, length = { 0 };
  g_autoptr(GBytes) keys = NULL;
  gsize keys_len, used, size;
  guint8 *plain;

  if (inviter->spent || !inviter->has_session)
    return fail_spent (error), NULL;
  if (!sk_label_check (grant->vault_name, error) || !put_grant (&open, grant, error))
    return NULL;
  keys = sk_keyring_serialise (grant->keys);
  keys_len = g_bytes_get_size (keys);
  sk_writer_init (&length);
  sk_writer_varint (&length, keys_len);
  used = length.bytes->len + keys_len + open.bytes->len;
  size = (gsize) sk_padme (MAX (used + GRANT_HEADER + SK_SEAL_OVERHEAD, SK_ENVELOPE_SIZE_MIN))
         - GRANT_HEADER - SK_SEAL_OVERHEAD;
  if (size + GRANT_HEADER + SK_SEAL_OVERHEAD > SK_SMALL_OBJECT_MAX)
    return sk_fail (error, SK_ERROR_LIMIT,
                    "The vault has too many membership records to invite somebody"),
           NULL;

  plain = sk_secret_alloc (size);
  memset (plain, 0, size);
  memcpy (plain, length.bytes->data, length.bytes->len);
  memcpy (plain + length.bytes->len, g_bytes_get_data (keys, NULL), keys_len);
  memcpy (plain + length.bytes->len + keys_len, open.bytes->data, open.bytes->len);
  begin (&w, "SKJG", inviter);
  g_byte_array_set_size (w.bytes, (guint) (GRANT_HEADER + size + SK_SEAL_OVERHEAD));
  sk_seal (&inviter->session, w.bytes->data, GRANT_HEADER, plain, size,
           w.bytes->data + GRANT_HEADER);
  sodium_free (plain);
  forget (inviter);
  return sk_writer_finish (&w);
}

static gboolean
read_members (SkReader *r, SkInviteGrant *out)
{
  guint n = (guint) sk_reader_varint (r, 2 * SK_MEMBER_RECORDS_MAX);

  out->members = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  for (guint i = 0; i < n; i++)
    {
      gsize len;
      const guint8 *bytes = sk_reader_blob (r, SK_MEMBER_MAX, &len);

      if (bytes == NULL)
        return FALSE;
      g_ptr_array_add (out->members, g_bytes_new (bytes, len));
    }
  while (sk_reader_left (r) > 0)
    if (sk_reader_u8 (r) != 0)
      return FALSE;
  return sk_reader_done (r);
}

static gboolean
parse_grant (const guint8 *plain, gsize len, SkInviteGrant *out, GError **error)
{
  SkReader r;
  gsize keys_len;
  const guint8 *keys, *key;

  sk_reader_init (&r, plain, len);
  keys = sk_reader_blob (&r, SK_SMALL_OBJECT_MAX, &keys_len);
  if (keys == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The answer to the request to join is damaged");
  out->keys = sk_keyring_parse (keys, keys_len, error);
  if (out->keys == NULL)
    return FALSE;
  key = sk_reader_take (&r, sizeof (SkPublicKey));
  if (key != NULL)
    memcpy (out->recovery_sign.bytes, key, sizeof (SkPublicKey));
  key = sk_reader_take (&r, sizeof (SkPublicKey));
  if (key != NULL)
    memcpy (out->recovery_box.bytes, key, sizeof (SkPublicKey));
  out->vault_name = sk_reader_string (&r, SK_LABEL_MAX);
  if (out->vault_name == NULL || !sk_label_check (out->vault_name, NULL))
    return sk_fail (error, SK_ERROR_CORRUPT, "The answer to the request to join is damaged");
  out->positions = sk_positions_get (&r);
  if (out->positions == NULL || !read_members (&r, out))
    return sk_fail (error, SK_ERROR_CORRUPT, "The answer to the request to join is damaged");
  return TRUE;
}

/* The vault is the one of the code, and this device is a member of it with its own key. */
static gboolean
check_grant (SkInviteSide *self, const SkInviteGrant *grant, GError **error)
{
  g_autoptr(SkMembers) members
      = sk_members_new (&self->vault, &grant->recovery_sign, &grant->recovery_box, error);
  const SkPublicKey *key;

  if (members == NULL)
    return FALSE;
  for (guint i = 0; i < grant->members->len; i++)
    if (!sk_members_add (members, g_ptr_array_index (grant->members, i), NULL, error))
      return FALSE;
  key = sk_members_is_live (members, &self->device) ? sk_members_sign_key (members, &self->device)
                                                    : NULL;
  if (key == NULL || sodium_memcmp (key, &self->sign_key, sizeof *key) != 0)
    return sk_fail (error, SK_ERROR_UNTRUSTED,
                    "The inviting device let this device in, but did not enrol it in the vault");
  return TRUE;
}

gboolean
sk_invite_read_grant (SkInviteSide *newcomer, GBytes *object, SkInviteGrant *out, GError **error)
{
  gsize len, plain_len;
  const guint8 *data = g_bytes_get_data (object, &len);
  g_autoptr(GBytes) holder = NULL;
  SkInviteGrant found = { 0 };
  guint8 *plain;
  SkReader r;

  if (newcomer->spent || !newcomer->has_session)
    return fail_spent (error);
  sk_reader_init (&r, data, len);
  if (len > SK_SMALL_OBJECT_MAX || len < GRANT_HEADER + SK_SEAL_OVERHEAD)
    return sk_fail (error, SK_ERROR_CORRUPT, "A message of an invitation is damaged: wrong length");
  if (!check_start (&r, "SKJG", newcomer, error))
    return FALSE;
  plain_len = len - GRANT_HEADER - SK_SEAL_OVERHEAD;
  plain = sk_secret_alloc (plain_len);
  holder = sk_secret_take (plain, plain_len);
  if (!sk_open (&newcomer->session, data, GRANT_HEADER, data + GRANT_HEADER, len - GRANT_HEADER,
                plain, error))
    return FALSE;
  if (!parse_grant (plain, plain_len, &found, error) || !check_grant (newcomer, &found, error))
    {
      sk_invite_grant_clear (&found);
      return FALSE;
    }
  forget (newcomer);
  *out = found;
  return TRUE;
}
