/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-hash.h"

#include <gnutls/crypto.h>
#include <sodium.h>

struct _SkSha256
{
  gnutls_hash_hd_t handle;
};

/* GnuTLS refuses SHA-256 only when it could not initialise itself: nothing can go on then. */
static void
check (int code, const char *what)
{
  if (code < 0)
    g_error ("%s: %s", what, gnutls_strerror (code));
}

void
sk_chunk_id (const SkKey *id_key, const guint8 *data, gsize len, SkHash *out)
{
  sk_blake2b_keyed (id_key, data, len, out);
}

void
sk_blake2b (const guint8 *data, gsize len, SkHash *out)
{
  crypto_generichash (out->bytes, sizeof out->bytes, data, len, NULL, 0);
}

void
sk_blake2b_keyed (const SkKey *key, const guint8 *data, gsize len, SkHash *out)
{
  crypto_generichash (out->bytes, sizeof out->bytes, data, len, key->bytes, sizeof key->bytes);
}

void
sk_sha256 (const guint8 *data, gsize len, SkHash *out)
{
  check (gnutls_hash_fast (GNUTLS_DIG_SHA256, data, len, out->bytes), "SHA-256");
}

SkSha256 *
sk_sha256_new (void)
{
  SkSha256 *self = g_new0 (SkSha256, 1);

  check (gnutls_hash_init (&self->handle, GNUTLS_DIG_SHA256), "SHA-256");
  return self;
}

void
sk_sha256_update (SkSha256 *self, const guint8 *data, gsize len)
{
  if (len > 0)
    check (gnutls_hash (self->handle, data, len), "SHA-256");
}

gboolean
sk_sha256_peek (SkSha256 *self, SkHash *out)
{
  gnutls_hash_hd_t copy = gnutls_hash_copy (self->handle);

  if (copy == NULL)
    return FALSE;
  gnutls_hash_deinit (copy, out->bytes);
  return TRUE;
}

void
sk_sha256_finish (SkSha256 *self, SkHash *out)
{
  gnutls_hash_deinit (self->handle, out->bytes);
  g_free (self);
}

void
sk_sha256_free (SkSha256 *self)
{
  SkHash unused;

  sk_sha256_finish (self, &unused);
}
