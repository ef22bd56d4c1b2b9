/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epochs that another device made (a vault recovered from the phrase, a revocation), learnt from the storage while the engine runs. FORMAT.md, "Epoch object".
 * What was learnt is kept in the home as the objects themselves ("epochs.bin"): each holds a box that only this device's key opens, so neither
 * the passphrase nor the keyring is needed to keep them. */
#pragma once
#include "sk-flow.h"

/* Objects that were read in one pull and are not judged yet. */
typedef struct
{
  GPtrArray *objects;            /* GBytes */
  gboolean refused;              /* something could not be read: keys may be missing */
} SkEpochs;
void sk_epochs_clear (SkEpochs *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkEpochs, sk_epochs_clear)

/* Every epoch object of @storage that is for this device and has keys it lacks: things can be read with them from now on. *@learnt: there were some.
 * What does not verify is left out. Blocking; down's thread. */
gboolean sk_epochs_read (SkEpochs *self, SkSession *session, SkFlowStorage *storage, gboolean *learnt, GCancellable *cancellable, GError **error);
/* When the members are known: new things are sealed with the newest of these that is usable, and all are kept in the home. */
gboolean sk_epochs_settle (SkEpochs *self, SkSession *session, GError **error);
/* Puts the object @name of an older epoch into @storage, as another storage or the home has it. NOT_FOUND when nobody has it, OFFLINE when one that
 * may have it cannot be read now. Blocking; up's thread and task threads. */
gboolean sk_epochs_copy (SkSession *session, SkFlowStorage *storage, SkConfig *config, const char *name, GCancellable *cancellable, GError **error);
/* Puts the objects of all epochs that @storage lacks: it was added, or attached here, after they had begun. Looks again only when there are others,
 * or when one could not be put. Blocking; up's thread, before the head. */
gboolean sk_epochs_push (SkSession *session, SkFlowStorage *storage, SkConfig *config, GCancellable *cancellable, GError **error);
/* @keys and those kept in the home. When the vault is opened. (transfer full), never NULL */
SkKeyring *sk_epochs_load (SkHome *home, const SkId *vault, SkIdentity *identity, SkKeyring *keys);
