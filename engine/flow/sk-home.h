/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folder that holds all state of one device: lock, key files, database, config. */
#pragma once
#include "sk-clock.h"
#include "sk-hash.h"
#include "sk-keys.h"

typedef struct _SkHome SkHome;
/* Creates (0700) when missing, takes the lock. SK_ERROR_BUSY names the process that has it. */
SkHome *sk_home_open (const char *path, GError **error);
void sk_home_close (SkHome *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkHome, sk_home_close)
const char *sk_home_path (SkHome *self);
char *sk_home_file (SkHome *self, const char *name);          /* (transfer full) */
/* Something that changes when a home is copied, restored or cloned: database file's inode and birth time, machine id (A5). */
void sk_home_identity (SkHome *self, const char *database, SkHash *out);

/* --- what a device keeps: the config (public) and the secrets --- */
typedef struct
{
  SkId vault; SkDeviceId device; SkId writer;
  char *vault_name, *device_name;
  SkPublicKey recovery_sign, recovery_box;
} SkHomeConfig;
void sk_home_config_clear (SkHomeConfig *self);
/* FALSE without error when there is no vault in this home. File "vault.json", written by temp and rename, fsynced. */
gboolean sk_home_load_config (SkHome *self, SkHomeConfig *out, GError **error);
gboolean sk_home_save_config (SkHome *self, const SkHomeConfig *config, GError **error);

typedef enum { SK_KEEP_KEYRING, SK_KEEP_PASSPHRASE, SK_KEEP_PLAIN } SkKeep;
/* Secrets: device seed and serialised keyring, one blob. KEYRING: Secret Service (libsecret), asynchronous with a time limit of
 * 10 s, since a locked keyring blocks for ever; PASSPHRASE: "keys.sealed" under Argon2id; PLAIN: "keys" 0600. */
gboolean sk_home_save_secrets (SkHome *self, SkKeep keep, const char *passphrase, SkIdentity *device, SkKeyring *keys, GError **error);
/* SK_ERROR_WRONG_KEY: passphrase missing or wrong. */
gboolean sk_home_load_secrets (SkHome *self, const char *passphrase, SkIdentity **device, SkKeyring **keys, SkKeep *keep, GError **error);
/* KEYRING when a bus with a keyring answers in time, else PASSPHRASE when one is given, else an error that says what to do. */
gboolean sk_home_choose_keep (gboolean no_passphrase, const char *passphrase, SkKeep *keep, GError **error);
