/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is a member, as a storage tells it: members/ and epochs/ objects. And what a new device has to have merged before it may write.
 * Blocking functions run on flow and task threads. FORMAT.md, "Membership". */
#pragma once
#include "sk-flow.h"

/* Puts members/<this device> when it would say something new. On up's thread, before the head. */
gboolean sk_membership_push (SkSession *session, SkFlowStorage *storage, SkConfig *config, GCancellable *cancellable, GError **error);
/* The same, whatever was put there before: for a storage that lost it. */
gboolean sk_membership_put (SkSession *session, SkFlowStorage *storage, SkConfig *config, GCancellable *cancellable, GError **error);
/* Reads members/<@device> of a device that is not known. New records go into the index and *@learnt becomes TRUE; the caller reloads. An
 * object that is missing or says nothing is no error. */
gboolean sk_membership_learn (SkSession *session, SkFlowStorage *storage, SkConfig *config, const SkDeviceId *device, gboolean *learnt,
                              GCancellable *cancellable, GError **error);
/* Every members/ object of @store into @members; what does not verify is left out. *@vault_name: as the first
 * device that is still a member calls the vault, or NULL (transfer full). */
gboolean sk_membership_read_all (SkStore *store, const SkId *vault, SkKeyring *keys, SkMembers *members, char **vault_name,
                                 GCancellable *cancellable, GError **error);
/* The object of the current epoch, boxed to every live member and the recovery identity. */
gboolean sk_membership_put_epoch (SkSession *session, SkStore *store, GCancellable *cancellable, GError **error);

/* --- the sponsor's positions (RULES A3e); index thread --- */
/* @positions: of SkPosition; inside a transaction. */
gboolean sk_sponsor_keep (SkIndex *index, gint64 storage, GArray *positions, GError **error);
/* TRUE when all of them are merged here, or there are none. */
gboolean sk_sponsor_is_reached (SkIndex *index, gint64 storage);
