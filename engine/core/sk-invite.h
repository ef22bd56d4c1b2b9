/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joining through a storage (RULES B5). Code: 128 random bits, 26 base-32 characters and check characters, the vault id and
 * the storage's address beside it, no credentials. Three objects under "join/<32 hex tag>/": offer (inviter's ephemeral
 * key), answer (newcomer's ephemeral key, name, device keys), grant (everything secret, sealed under the session key).
 * FORMAT.md, "Joining". */
#pragma once
#include "sk-member.h"

typedef struct { SkKey code; /* 16 bytes used */ SkId vault; char *storage_uri; SkId storage; } SkInviteCode;
void sk_invite_code_clear (SkInviteCode *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkInviteCode, sk_invite_code_clear)
void sk_invite_code_new (const SkId *vault, const SkId *storage, const char *storage_uri, SkInviteCode *out);
/* One line "skerry:..." (transfer full) */
char *sk_invite_code_format (const SkInviteCode *self);
/* Tolerates case, white space, line breaks, U+200B, BOM (B154); check characters must fit. */
gboolean sk_invite_code_parse (const char *text, SkInviteCode *out, GError **error);
void sk_invite_tag (const SkInviteCode *code, SkId *out);
char *sk_invite_object_name (const SkId *tag, const char *part);   /* part: "offer", "answer", "grant" */

typedef struct _SkInviteSide SkInviteSide;    /* ephemeral key of one side; wiped when freed */
SkInviteSide *sk_invite_side_new (const SkInviteCode *code);
void sk_invite_side_free (SkInviteSide *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkInviteSide, sk_invite_side_free)
GBytes *sk_invite_build_offer (SkInviteSide *inviter);
/* Newcomer: reads the offer, makes the answer, and knows the session afterwards. */
gboolean sk_invite_read_offer (SkInviteSide *newcomer, GBytes *offer, GError **error);
GBytes *sk_invite_build_answer (SkInviteSide *newcomer, const SkDeviceId *device, const char *name, SkIdentity *identity);
typedef struct { SkDeviceId device; char *name; SkPublicKey sign_key, box_key; } SkInviteAnswer;
void sk_invite_answer_clear (SkInviteAnswer *self);
gboolean sk_invite_read_answer (SkInviteSide *inviter, GBytes *answer, SkInviteAnswer *out, GError **error);
/* Six words both sides show; from the whole transcript. (transfer full) */
char *sk_invite_words (SkInviteSide *self);
typedef struct
{
  SkKeyring *keys;
  GPtrArray *members;            /* GBytes */
  SkPublicKey recovery_sign, recovery_box;
  char *vault_name;
  GArray *positions;             /* SkPosition: sponsor's merged coverage, A3(e) */
} SkInviteGrant;
void sk_invite_grant_clear (SkInviteGrant *self);
GBytes *sk_invite_build_grant (SkInviteSide *inviter, const SkInviteGrant *grant, GError **error);
gboolean sk_invite_read_grant (SkInviteSide *newcomer, GBytes *object, SkInviteGrant *out, GError **error);
