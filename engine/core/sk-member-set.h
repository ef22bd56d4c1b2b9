/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The membership records that one device knows, as one sealed object: "members/<16 hex device>" in a storage, and the copy in
 * a home. It lets somebody read the logs who knows no device yet. FORMAT.md, "Membership". */
#pragma once
#include "sk-member.h"

typedef struct
{
  SkId epoch;
  char *vault_name;              /* as the writing device calls the vault; for a device that is restored from the phrase */
  GPtrArray *records;            /* GBytes, each parses as a record of the vault; what they are worth their signatures decide */
} SkMemberSet;
void sk_member_set_clear (SkMemberSet *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkMemberSet, sk_member_set_clear)

/* Sealed with the records key of the current epoch. When not all records fit, those that count go first, and of these the ones
 * that enrol @device. (transfer full) */
GBytes *sk_member_set_build (const SkId *vault, const SkDeviceId *device, const char *vault_name, SkMembers *members, SkKeyring *keys,
                             GError **error);
/* @device: whose object it was asked for; another device's is refused. SK_ERROR_UNTRUSTED when its epoch is unknown. */
gboolean sk_member_set_open (GBytes *object, const SkId *vault, const SkDeviceId *device, SkKeyring *keys, SkMemberSet *out, GError **error);
/* Equal values: an object built now would say the same. */
void sk_member_set_state (const char *vault_name, SkMembers *members, SkKeyring *keys, SkHash *out);
char *sk_member_set_object_name (const SkDeviceId *device);
gboolean sk_member_set_parse_name (const char *name, SkDeviceId *device);
