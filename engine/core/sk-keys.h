/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets: the recovery identity, a device's keys, the vault's epochs and what is derived from them.
 * Every secret lives in one of these opaque or self-wiping types. Immutable after creation, so they
 * may be shared by threads through references. */
#pragma once
#include "sk-bytes.h"
#include "sk-error.h"

typedef struct { guint8 bytes[32]; } SkKey;
void sk_key_clear (SkKey *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkKey, sk_key_clear)

typedef struct { guint8 bytes[32]; } SkPublicKey;    /* Ed25519 or X25519 */
typedef struct { guint8 bytes[64]; } SkSignature;

/* sodium_init (); call in each program before anything else here, or making a key aborts. May be called again. */
gboolean sk_crypto_init (GError **error);

/* --- identities: a device, or the recovery identity of a vault --- */
typedef struct _SkIdentity SkIdentity;
SkIdentity *sk_identity_new_random (void);
SkIdentity *sk_identity_new_from_seed (const SkKey *seed);   /* the 24 words give the seed */
void sk_identity_unref (SkIdentity *self);                   /* wipes */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkIdentity, sk_identity_unref)
const SkPublicKey *sk_identity_sign_key (SkIdentity *self);
const SkPublicKey *sk_identity_box_key (SkIdentity *self);
void sk_identity_sign (SkIdentity *self, const guint8 *data, gsize len, SkSignature *out);
/* Opens a crypto_box_seal box. (transfer full): bytes wiped when freed. */
GBytes *sk_identity_unbox (SkIdentity *self, const guint8 *box, gsize len, GError **error);
/* The 32-byte seed all keys come from; to be sealed by the key store. */
void sk_identity_copy_seed (SkIdentity *self, SkKey *out);

gboolean sk_verify (const SkPublicKey *key, const guint8 *data, gsize len, const SkSignature *sig);
#define SK_BOX_OVERHEAD 48u
/* NULL when @box_key is no usable point (a hostile record). */
GBytes *sk_box_seal (const SkPublicKey *box_key, const guint8 *data, gsize len);
/* First 16 bytes of BLAKE2b over both public keys of the recovery identity: a vault id certifies itself. */
void sk_vault_id_from_recovery (const SkPublicKey *sign_key, const SkPublicKey *box_key, SkId *out);

/* --- the vault's keys --- */
typedef enum
{
  SK_USE_CHUNK,      /* seal of chunks and pack tables */
  SK_USE_LOG,        /* seal of segment bodies and heads */
  SK_USE_SNAPSHOT,
  SK_USE_RECORDS,
  SK_USE_PRESENCE,
  SK_USE_BEACON,
} SkKeyUse;

typedef struct _SkKeyring SkKeyring;
/* A new vault: random id key, one random epoch. */
SkKeyring *sk_keyring_new_vault (void);
/* Same id key, one more epoch, which becomes the current one. A known epoch keeps its first master. With
 * SK_EPOCHS_MAX epochs nothing is added: see sk_keyring_has_epoch. (transfer full) */
SkKeyring *sk_keyring_with_epoch (SkKeyring *self, const SkId *epoch, const SkKey *master);
SkKeyring *sk_keyring_with_new_epoch (SkKeyring *self);
/* @self and the epochs of @other that it lacks, in their order; the last of @other becomes the current one. The id key stays that of
 * @self. (transfer full) */
SkKeyring *sk_keyring_with_epochs_of (SkKeyring *self, SkKeyring *other);
gboolean sk_keyring_shares_id_key (SkKeyring *a, SkKeyring *b);
SkKeyring *sk_keyring_ref (SkKeyring *self);
void sk_keyring_unref (SkKeyring *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkKeyring, sk_keyring_unref)
const SkId *sk_keyring_current (SkKeyring *self);
guint sk_keyring_n_epochs (SkKeyring *self);
/* @i < n_epochs; the oldest first. */
const SkId *sk_keyring_epoch (SkKeyring *self, guint i);
gboolean sk_keyring_has_epoch (SkKeyring *self, const SkId *epoch);
/* FALSE with SK_ERROR_UNTRUSTED when the epoch is unknown. */
gboolean sk_keyring_get (SkKeyring *self, const SkId *epoch, SkKeyUse use, SkKey *out, GError **error);
void sk_keyring_id_key (SkKeyring *self, SkKey *out);
/* Secret bytes: id key and every epoch; to be sealed by whoever stores or sends them. */
GBytes *sk_keyring_serialise (SkKeyring *self);
SkKeyring *sk_keyring_parse (const guint8 *data, gsize len, GError **error);
/* What an epoch box holds: id key and this epoch's master (64 bytes, wiped when freed). */
GBytes *sk_keyring_epoch_secret (SkKeyring *self, const SkId *epoch, GError **error);
SkKeyring *sk_keyring_from_epoch_secret (const SkId *epoch, const guint8 *secret, gsize len, GError **error);

/* Memory that is locked where allowed, kept out of core dumps, and wiped by sodium_free or by the last
 * reference of sk_secret_take, which takes it over. Each block costs whole pages: for keys, not for content. */
gpointer sk_secret_alloc (gsize size);
GBytes *sk_secret_take (gpointer secret, gsize len);
/* A copy of @data in such memory. */
GBytes *sk_secret_bytes (gconstpointer data, gsize len);
