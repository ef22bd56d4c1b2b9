/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Membership: signed records that chain to the recovery identity. FORMAT.md, "Membership". Verbatim bytes travel in
 * logs, snapshots and join answers; the live set is a pure function of the set of records (RULES B1). */
#pragma once
#include "sk-head.h"

typedef struct
{
  SkDeviceId id;
  char *name;
  SkPublicKey sign_key, box_key;
  SkDeviceId added_by;           /* zero: by the recovery identity */
  gint64 added;                  /* unix seconds */
  gboolean revoked;
  GArray *cut;                   /* revoked: SkPosition per writer of it; of a writer not in it nothing counts */
} SkDevice;

typedef struct _SkMembers SkMembers;
/* @vault certifies the recovery keys (sk_vault_id_from_recovery). */
SkMembers *sk_members_new (const SkId *vault, const SkPublicKey *recovery_sign, const SkPublicKey *recovery_box, GError **error);
SkMembers *sk_members_copy (SkMembers *self);
void sk_members_free (SkMembers *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkMembers, sk_members_free)
/* Adds a record; the order in which records arrive does not matter. FALSE only for bytes that do not parse or belong to
 * another vault, a false signature of the recovery identity, and above SK_MEMBER_RECORDS_MAX (SK_ERROR_LIMIT). A record
 * whose signer is not (yet) known is kept and counts when its signer appears. *@is_new: not seen before; may be NULL. */
gboolean sk_members_add (SkMembers *self, GBytes *record, gboolean *is_new, GError **error);
/* Every record, verbatim, in a fixed order. (transfer container of GBytes) */
GPtrArray *sk_members_records (SkMembers *self);
/* Live and revoked devices that chain to the recovery identity; (transfer none), valid until the next add. */
GPtrArray *sk_members_devices (SkMembers *self);
const SkDevice *sk_members_find (SkMembers *self, const SkDeviceId *device);   /* NULL when unknown */
gboolean sk_members_is_live (SkMembers *self, const SkDeviceId *device);
/* The key a device's objects are signed with, revoked ones included (their log up to the cut still counts). */
const SkPublicKey *sk_members_sign_key (SkMembers *self, const SkDeviceId *device);

/* Building records. @signer_id zero = the recovery identity. Names pass sk_label_check. (transfer full) */
GBytes *sk_member_build_add (const SkId *vault, const SkDeviceId *device, const char *name, const SkPublicKey *sign_key,
                             const SkPublicKey *box_key, const SkDeviceId *signer_id, SkIdentity *signer, gint64 now);
GBytes *sk_member_build_rename (const SkId *vault, const SkDeviceId *device, const char *name, guint64 lamport,
                                const SkDeviceId *signer_id, SkIdentity *signer, gint64 now);
/* @cut: SkPosition, NULL for none; those of other devices are left out. What the device signed and @members counts stays
 * valid (devices it enrolled, renames, its revocations) but for its revocation of the signer; with @undo_revocations its
 * revocations do not: for a stolen device that turned against the others. Whoever undoes them signs anew those that
 * should stand. */
GBytes *sk_member_build_revoke (const SkId *vault, const SkDeviceId *device, GArray *cut, SkMembers *members,
                                gboolean undo_revocations, const SkDeviceId *signer_id, SkIdentity *signer, gint64 now);

/* The epoch object "epochs/<32 hex>": signed, in the clear but for the boxes; one box per recipient, the recovery
 * identity always among them. */
GBytes *sk_epoch_build (const SkId *vault, SkKeyring *keys, const SkId *epoch, SkMembers *members, const SkDeviceId *signer_id,
                        SkIdentity *signer, GError **error);
/* Verifies and opens the box for @reader. The recovery keys inside must give @vault. A signer whom @members (may be NULL: the
 * reader has only the recovery phrase) do not know is looked for in the membership records inside. Signers that were
 * revoked are taken: their epochs are needed to read. *@keys receives id key and epoch; the caller compares the id key
 * with its own. */
gboolean sk_epoch_open (GBytes *object, const SkId *vault, SkMembers *members, SkIdentity *reader, SkId *epoch, SkKeyring **keys,
                        SkPublicKey *recovery_sign, SkPublicKey *recovery_box, GError **error);
/* TRUE when new data may be sealed under it: signed by a live device (or the recovery identity) and boxed to live devices
 * only. Opening an epoch is not enough for that: a revoked device can still publish one. */
gboolean sk_epoch_usable (GBytes *object, const SkId *vault, SkMembers *members, SkId *epoch, GError **error);
/* TRUE when it is as somebody signed it who is or was a member: what was sealed under it can be read with what is inside. */
gboolean sk_epoch_is_genuine (GBytes *object, const SkId *vault, SkMembers *members, SkId *epoch, GError **error);
char *sk_epoch_object_name (const SkId *epoch);
