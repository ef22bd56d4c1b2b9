/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands inside the seals of an invitation, written by somebody who has the code: after a zero byte a grant, else the end of an answer, from the
 * device's name on, behind a right signature. Both are static functions, so the file that has them is compiled in here. */
#include "sk-invite.c"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* What was understood is written again as the same bytes, but for the zeros that fill it up. */
static void
read_grant (const guint8 *data, gsize size)
{
  SkInviteGrant grant = { 0 };
  g_autoptr(GError) error = NULL;

  if (parse_grant (data, size, &grant, &error))
    {
      g_autoptr(GBytes) keys = sk_keyring_serialise (grant.keys);
      g_auto(SkWriter) all = { 0 }, rest = { 0 };

      g_assert_true (put_grant (&rest, &grant, NULL));
      sk_writer_init (&all);
      sk_writer_blob (&all, g_bytes_get_data (keys, NULL), g_bytes_get_size (keys));
      sk_writer_raw (&all, rest.bytes->data, rest.bytes->len);
      g_assert_cmpuint (all.bytes->len, <=, size);
      g_assert_cmpmem (all.bytes->data, all.bytes->len, data, all.bytes->len);
      for (gsize i = all.bytes->len; i < size; i++)
        g_assert_cmpuint (data[i], ==, 0);
    }
  else
    g_assert_nonnull (error);
  sk_invite_grant_clear (&grant);
}

static void
read_answer (const guint8 *data, gsize size)
{
  static const SkKey seed = { { 3 } };
  static const SkPublicKey newcomer = { { 4 } };
  static const SkHash offer = { { 5 } };
  g_autoptr(SkIdentity) identity = sk_identity_new_from_seed (&seed);
  g_auto(SkWriter) plain = { 0 }, to_sign = { 0 };
  g_auto(SkInviteAnswer) answer = { 0 };
  SkInviteAnswer meant = { .device = { { 1 } }, .sign_key = *sk_identity_sign_key (identity), .box_key = *sk_identity_box_key (identity) };
  g_autoptr(GBytes) bytes = NULL;
  SkSignature signature;
  SkReader r;

  sk_reader_init (&r, data, size);
  meant.name = sk_reader_string (&r, SK_LABEL_MAX);
  put_signed (&to_sign, &offer, &newcomer, &(SkInviteAnswer) { meant.device, meant.name != NULL ? meant.name : (char *) "", meant.sign_key, meant.box_key });
  sk_identity_sign (identity, to_sign.bytes->data, to_sign.bytes->len, &signature);
  sk_writer_init (&plain);
  sk_writer_raw (&plain, meant.device.bytes, sizeof meant.device.bytes);
  sk_writer_raw (&plain, meant.sign_key.bytes, sizeof meant.sign_key.bytes);
  sk_writer_raw (&plain, meant.box_key.bytes, sizeof meant.box_key.bytes);
  sk_writer_raw (&plain, signature.bytes, sizeof signature.bytes);
  sk_writer_raw (&plain, data, MIN (size, ANSWER_PLAIN - plain.bytes->len));
  while (plain.bytes->len < ANSWER_PLAIN)
    sk_writer_u8 (&plain, 0);
  bytes = sk_writer_finish (&plain);
  if (parse_answer (bytes, &offer, &newcomer, &answer))
    {
      g_assert_cmpstr (answer.name, ==, meant.name);
      g_assert_true (sk_label_check (answer.name, NULL));
    }
  g_free (meant.name);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_assert_true (sk_crypto_init (NULL));
  if (size == 0)
    return 0;
  if (data[0] == 0)
    read_grant (data + 1, size - 1);
  else
    read_answer (data + 1, size - 1);
  return 0;
}
