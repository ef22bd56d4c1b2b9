/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XChaCha20-Poly1305-IETF with a fresh random 24-byte nonce: nonce | ciphertext | tag. */
#pragma once
#include "sk-keys.h"

#define SK_SEAL_OVERHEAD 40u
/* Writes @len + SK_SEAL_OVERHEAD bytes to @out. */
void sk_seal (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *plain, gsize len, guint8 *out);
/* Writes @len - SK_SEAL_OVERHEAD bytes to @out; SK_ERROR_CORRUPT when the tag does not fit. */
gboolean sk_open (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *sealed, gsize len,
                  guint8 *out, GError **error);
GBytes *sk_seal_bytes (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *plain, gsize len);
GBytes *sk_open_bytes (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *sealed, gsize len, GError **error);

/* A blob under a passphrase: Argon2id (salt, ops, mem in the clear, bounded on reading) then the seal. */
GBytes *sk_passphrase_seal (const char *passphrase, const guint8 *plain, gsize len, GError **error);
/* SK_ERROR_WRONG_KEY when the passphrase is wrong or the blob damaged; SK_ERROR_CORRUPT or _TOO_NEW when it is
 * no such blob at all, whatever the passphrase. Result is secret bytes. */
GBytes *sk_passphrase_open (const char *passphrase, const guint8 *sealed, gsize len, GError **error);

/* Padmé: the padded length for @len (at most 12 % more), and zero bytes to append. RULES B8. */
guint64 sk_padme (guint64 len);
