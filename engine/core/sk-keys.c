/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Byte layouts and derivation contexts: FORMAT.md, "Keys". */
#include "sk-keys.h"

#include <sodium.h>
#include <string.h>

#define KDF_NUMBER 1

G_STATIC_ASSERT (sizeof (SkKey) == crypto_kdf_KEYBYTES);
G_STATIC_ASSERT (sizeof (SkPublicKey) == crypto_sign_PUBLICKEYBYTES);
G_STATIC_ASSERT (sizeof (SkPublicKey) == crypto_box_PUBLICKEYBYTES);
G_STATIC_ASSERT (sizeof (SkSignature) == crypto_sign_BYTES);
G_STATIC_ASSERT (SK_BOX_OVERHEAD == crypto_box_SEALBYTES);

gpointer
sk_secret_alloc (gsize size)
{
  gpointer memory = sodium_malloc (size);

  if (memory == NULL)
    g_error ("Out of memory for %" G_GSIZE_FORMAT " secret bytes", size);
  return memory;
}

void
sk_key_clear (SkKey *self)
{
  sodium_memzero (self, sizeof *self);
}

gboolean
sk_crypto_init (GError **error)
{
  if (sodium_init () < 0)
    return sk_fail (error, SK_ERROR_FAILED,
                    "The cryptographic library could not be started: no source of random numbers");
  return TRUE;
}

GBytes *
sk_secret_bytes (gconstpointer data, gsize len)
{
  gpointer copy = sk_secret_alloc (len);

  if (len > 0)
    memcpy (copy, data, len);
  return sk_secret_take (copy, len);
}

GBytes *
sk_secret_take (gpointer secret, gsize len)
{
  return g_bytes_new_with_free_func (secret, len, sodium_free, secret);
}

static void
derive (const SkKey *key, const char *context, SkKey *out)
{
  g_assert (strlen (context) == crypto_kdf_CONTEXTBYTES);
  crypto_kdf_derive_from_key (out->bytes, sizeof out->bytes, KDF_NUMBER, context, key->bytes);
}

/* --- identities --- */

typedef struct
{
  SkKey seed;
  guint8 sign[crypto_sign_SECRETKEYBYTES];
  guint8 box[crypto_box_SECRETKEYBYTES];
} IdentitySecret;

struct _SkIdentity
{
  gatomicrefcount refs;
  SkPublicKey sign_key;
  SkPublicKey box_key;
  IdentitySecret *secret;      /* read-only pages after creation */
};

SkIdentity *
sk_identity_new_from_seed (const SkKey *seed)
{
  g_auto(SkKey) sign_seed = { 0 };
  g_auto(SkKey) box_seed = { 0 };
  SkIdentity *self = g_new0 (SkIdentity, 1);

  g_atomic_ref_count_init (&self->refs);
  self->secret = sk_secret_alloc (sizeof *self->secret);
  self->secret->seed = *seed;
  derive (seed, "skidsign", &sign_seed);
  derive (seed, "skid-box", &box_seed);
  crypto_sign_seed_keypair (self->sign_key.bytes, self->secret->sign, sign_seed.bytes);
  crypto_box_seed_keypair (self->box_key.bytes, self->secret->box, box_seed.bytes);
  sodium_mprotect_readonly (self->secret);
  return self;
}

SkIdentity *
sk_identity_new_random (void)
{
  g_auto(SkKey) seed = { 0 };

  randombytes_buf (&seed, sizeof seed);
  return sk_identity_new_from_seed (&seed);
}

void
sk_identity_unref (SkIdentity *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  sodium_free (self->secret);
  g_free (self);
}

const SkPublicKey *
sk_identity_sign_key (SkIdentity *self)
{
  return &self->sign_key;
}

const SkPublicKey *
sk_identity_box_key (SkIdentity *self)
{
  return &self->box_key;
}

void
sk_identity_sign (SkIdentity *self, const guint8 *data, gsize len, SkSignature *out)
{
  crypto_sign_detached (out->bytes, NULL, data, len, self->secret->sign);
}

GBytes *
sk_identity_unbox (SkIdentity *self, const guint8 *box, gsize len, GError **error)
{
  gpointer plain;

  if (len < SK_BOX_OVERHEAD)
    {
      sk_fail (error, SK_ERROR_CORRUPT, "A sealed box is too short");
      return NULL;
    }

  plain = sk_secret_alloc (len - SK_BOX_OVERHEAD);
  if (crypto_box_seal_open (plain, box, len, self->box_key.bytes, self->secret->box) != 0)
    {
      sodium_free (plain);
      sk_fail (error, SK_ERROR_CORRUPT, "A sealed box is damaged, or was made for another device");
      return NULL;
    }
  return sk_secret_take (plain, len - SK_BOX_OVERHEAD);
}

void
sk_identity_copy_seed (SkIdentity *self, SkKey *out)
{
  *out = self->secret->seed;
}

gboolean
sk_verify (const SkPublicKey *key, const guint8 *data, gsize len, const SkSignature *sig)
{
  return crypto_sign_verify_detached (sig->bytes, data, len, key->bytes) == 0;
}

GBytes *
sk_box_seal (const SkPublicKey *box_key, const guint8 *data, gsize len)
{
  g_autofree guint8 *box = g_malloc (len + SK_BOX_OVERHEAD);

  if (crypto_box_seal (box, data, len, box_key->bytes) != 0)
    return NULL;
  return g_bytes_new_take (g_steal_pointer (&box), len + SK_BOX_OVERHEAD);
}

void
sk_vault_id_from_recovery (const SkPublicKey *sign_key, const SkPublicKey *box_key, SkId *out)
{
  guint8 keys[2 * sizeof (SkPublicKey)];
  guint8 digest[crypto_generichash_BYTES];

  memcpy (keys, sign_key->bytes, sizeof sign_key->bytes);
  memcpy (keys + sizeof sign_key->bytes, box_key->bytes, sizeof box_key->bytes);
  crypto_generichash (digest, sizeof digest, keys, sizeof keys, NULL, 0);
  memcpy (out->bytes, digest, sizeof out->bytes);
}
