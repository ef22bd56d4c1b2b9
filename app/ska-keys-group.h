/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the keys of this device are kept: in the keyring of the session, under a passphrase, or open. */
#pragma once
#include <adwaita.h>

#define SKA_TYPE_KEYS_GROUP (ska_keys_group_get_type ())
G_DECLARE_FINAL_TYPE (SkaKeysGroup, ska_keys_group, SKA, KEYS_GROUP, AdwBin)

/* Property "complete" (boolean): a choice is made that can be used. */
gboolean ska_keys_group_is_complete (SkaKeysGroup *self);
/* Adds what vault.create and vault.join take: passphrase or no-passphrase. */
void ska_keys_group_add_arguments (SkaKeysGroup *self, GVariantDict *args);
/* Forgets what was typed. */
void ska_keys_group_clear (SkaKeysGroup *self);
