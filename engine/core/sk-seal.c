/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Byte layouts: FORMAT.md, "Keys". */
#include "sk-seal.h"

#include <sodium.h>
#include <string.h>

#define NONCE_SIZE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_SIZE crypto_aead_xchacha20poly1305_ietf_ABYTES

G_STATIC_ASSERT (SK_SEAL_OVERHEAD == NONCE_SIZE + TAG_SIZE);
G_STATIC_ASSERT (sizeof (SkKey) == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

void
sk_seal (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *plain, gsize len,
         guint8 *out)
{
  randombytes_buf (out, NONCE_SIZE);
  crypto_aead_xchacha20poly1305_ietf_encrypt (out + NONCE_SIZE, NULL, plain, len, ad, ad_len, NULL,
                                              out, key->bytes);
}

gboolean
sk_open (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *sealed, gsize len,
         guint8 *out, GError **error)
{
  if (len < SK_SEAL_OVERHEAD)
    return sk_fail (error, SK_ERROR_CORRUPT, "Sealed data is too short");
  if (crypto_aead_xchacha20poly1305_ietf_decrypt (out, NULL, NULL, sealed + NONCE_SIZE,
                                                  len - NONCE_SIZE, ad, ad_len, sealed, key->bytes)
      != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "Sealed data is damaged or does not belong here");
  return TRUE;
}

GBytes *
sk_seal_bytes (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *plain, gsize len)
{
  guint8 *out = g_malloc (len + SK_SEAL_OVERHEAD);

  sk_seal (key, ad, ad_len, plain, len, out);
  return g_bytes_new_take (out, len + SK_SEAL_OVERHEAD);
}

GBytes *
sk_open_bytes (const SkKey *key, const guint8 *ad, gsize ad_len, const guint8 *sealed, gsize len,
               GError **error)
{
  g_autofree guint8 *out = NULL;
  gsize plain_len;

  if (len < SK_SEAL_OVERHEAD)
    return sk_fail (error, SK_ERROR_CORRUPT, "Sealed data is too short"), NULL;
  plain_len = len - SK_SEAL_OVERHEAD;
  out = g_malloc (MAX (plain_len, 1));
  if (!sk_open (key, ad, ad_len, sealed, len, out, error))
    return NULL;
  return g_bytes_new_take (g_steal_pointer (&out), plain_len);
}

/* --- under a passphrase --- */

#define PASSPHRASE_VERSION 1
#define PASSPHRASE_HEADER (4 + 1 + 4 + 4 + crypto_pwhash_SALTBYTES)
/* RFC 9106, section 4, second recommended choice: a small NAS can afford it too. */
#define WRITE_PASSES 3u
#define WRITE_MEMORY_KIB (64u << 10)
/* What a blob from elsewhere may ask for. The lower bounds are those of libsodium. */
#define READ_PASSES_MAX 16u
#define READ_MEMORY_KIB_MIN 8u
#define READ_MEMORY_KIB_MAX (1u << 20)

static const guint8 passphrase_magic[4] = { 'S', 'K', 'P', 'W' };

static gboolean
derive_from_passphrase (const char *passphrase, const guint8 *salt, guint32 passes,
                        guint32 memory_kib, SkKey *out, GError **error)
{
  if (crypto_pwhash (out->bytes, sizeof out->bytes, passphrase, strlen (passphrase), salt, passes,
                     (gsize) memory_kib * 1024, crypto_pwhash_ALG_ARGON2ID13) != 0)
    return sk_fail (error, SK_ERROR_FAILED,
                    "Not enough memory to check the passphrase (%u MiB are needed)",
                    memory_kib >> 10);
  return TRUE;
}

GBytes *
sk_passphrase_seal (const char *passphrase, const guint8 *plain, gsize len, GError **error)
{
  g_auto(SkWriter) writer = { 0 };
  g_auto(SkKey) key = { 0 };
  guint8 salt[crypto_pwhash_SALTBYTES];
  gsize at;

  randombytes_buf (salt, sizeof salt);
  if (!derive_from_passphrase (passphrase, salt, WRITE_PASSES, WRITE_MEMORY_KIB, &key, error))
    return NULL;

  sk_writer_init (&writer);
  sk_writer_raw (&writer, passphrase_magic, sizeof passphrase_magic);
  sk_writer_u8 (&writer, PASSPHRASE_VERSION);
  sk_writer_u32 (&writer, WRITE_PASSES);
  sk_writer_u32 (&writer, WRITE_MEMORY_KIB);
  sk_writer_raw (&writer, salt, sizeof salt);
  at = writer.bytes->len;
  g_assert (at == PASSPHRASE_HEADER);
  g_byte_array_set_size (writer.bytes, (guint) (at + len + SK_SEAL_OVERHEAD));
  sk_seal (&key, writer.bytes->data, at, plain, len, writer.bytes->data + at);
  return sk_writer_finish (&writer);
}

GBytes *
sk_passphrase_open (const char *passphrase, const guint8 *sealed, gsize len, GError **error)
{
  g_auto(SkKey) key = { 0 };
  SkReader reader;
  guint8 *plain;
  const guint8 *magic, *salt;
  guint8 version;
  guint32 passes, memory_kib;
  gsize left;

  sk_reader_init (&reader, sealed, len);
  magic = sk_reader_take (&reader, sizeof passphrase_magic);
  version = sk_reader_u8 (&reader);
  passes = sk_reader_u32 (&reader);
  memory_kib = sk_reader_u32 (&reader);
  salt = sk_reader_take (&reader, crypto_pwhash_SALTBYTES);
  left = sk_reader_left (&reader);

  if (salt == NULL || sodium_memcmp (magic, passphrase_magic, sizeof passphrase_magic) != 0
      || left < SK_SEAL_OVERHEAD)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file of keys is damaged: it does not begin or end as it should"),
           NULL;
  if (version > PASSPHRASE_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "The file of keys was written by a newer version of this program"),
           NULL;
  if (version == 0 || passes == 0 || passes > READ_PASSES_MAX
      || memory_kib < READ_MEMORY_KIB_MIN || memory_kib > READ_MEMORY_KIB_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file of keys is damaged: its passphrase settings are out of range"),
           NULL;

  if (!derive_from_passphrase (passphrase, salt, passes, memory_kib, &key, error))
    return NULL;
  plain = sk_secret_alloc (left - SK_SEAL_OVERHEAD);
  if (!sk_open (&key, sealed, PASSPHRASE_HEADER, sealed + PASSPHRASE_HEADER, left, plain, NULL))
    {
      sodium_free (plain);
      sk_fail (error, SK_ERROR_WRONG_KEY,
               "The passphrase is wrong, or the file of keys is damaged");
      return NULL;
    }
  return sk_secret_take (plain, left - SK_SEAL_OVERHEAD);
}

/* --- padding --- */

guint64
sk_padme (guint64 len)
{
  /* Nikitin and others, "Reducing Metadata Leakage from Encrypted Files and Communication with
   * PURBs", PETS 2019. */
  guint exponent, kept;
  guint64 mask;

  if (len < 2)
    return len;
  exponent = g_bit_storage (len) - 1;
  kept = g_bit_storage (exponent);       /* floor (log2 (exponent)) + 1 */
  mask = (G_GUINT64_CONSTANT (1) << (exponent - kept)) - 1;
  g_assert (len <= G_MAXUINT64 - mask);
  return (len + mask) & ~mask;
}
