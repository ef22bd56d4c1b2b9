/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a code, and the three messages as somebody without the code could send them. */
#include "sk-invite.h"

#include "sk-limits.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
look_at_code (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_auto(SkInviteCode) code = { 0 }, again = { 0 };
  g_autofree char *line = NULL;

  if (!sk_invite_code_parse (text, &code, NULL))
    return;
  g_assert_true (strlen (code.storage_uri) <= SK_URI_MAX);
  line = sk_invite_code_format (&code);
  g_assert_true (sk_invite_code_parse (line, &again, NULL));
  g_assert_cmpmem (&code.code, sizeof code.code, &again.code, sizeof again.code);
  g_assert_cmpstr (code.storage_uri, ==, again.storage_uri);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static SkInviteCode code;
  static const SkId id = { { 5 } };
  g_autoptr(GBytes) object = g_bytes_new (data, size), offer = NULL, answer = NULL;
  g_autoptr(SkInviteSide) inviter = NULL, newcomer = NULL;
  g_autoptr(SkIdentity) identity = NULL;
  SkDeviceId device = { { 1 } };
  SkInviteAnswer asked = { 0 };
  SkInviteGrant grant = { 0 };
  SkKey seed = { { 9 } };

  if (code.storage_uri == NULL)
    {
      g_assert_true (sk_crypto_init (NULL));
      sk_invite_code_new (&id, &id, "file:///x", &code);
    }
  look_at_code (data, size);
  inviter = sk_invite_side_new (&code);
  newcomer = sk_invite_side_new (&code);
  offer = sk_invite_build_offer (inviter);
  g_assert_false (sk_invite_read_offer (newcomer, object, NULL));
  g_assert_false (sk_invite_read_answer (inviter, object, &asked, NULL));
  g_assert_true (sk_invite_read_offer (newcomer, offer, NULL));
  identity = sk_identity_new_from_seed (&seed);
  answer = sk_invite_build_answer (newcomer, &device, "x", identity);
  g_assert_false (sk_invite_read_grant (newcomer, object, &grant, NULL));
  return 0;
}
