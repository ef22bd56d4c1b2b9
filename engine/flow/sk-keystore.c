/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The secret half of what a device keeps, in one of three keeps. The file "keep" says which one
 * counts, so that a change of keep is never half done. */
#include "sk-home.h"

#include <string.h>

#include "sk-bytes.h"
#include "sk-seal.h"
#include "sk-secret-service.h"

#define BLOB_VERSION 2
#define BLOB_VERSION_UNCHECKED 1 /* without the hash at the end */
/* Seed, id key and SK_EPOCHS_MAX epochs of 48 bytes. */
#define BLOB_MAX 65536u
#define KEEP_MAX 128u

#define KEEP_FILE "keep"
#define PLAIN_FILE "keys"
#define SEALED_FILE "keys.sealed"
#define ITEM_WHAT "keys"
#define ITEM_LABEL "Skerry: keys of a device"

const char *
sk_keep_name (SkKeep keep)
{
  static const char *const names[] = { "keyring", "passphrase", "plain" };

  return names[keep];
}

/* --- the keep file: "keyring <32 hex>\n", "passphrase\n", "plain\n" --- */

static gboolean
read_keep (SkHome *home, SkKeep *keep, SkId *item, GError **error)
{
  g_autoptr(GBytes) bytes = sk_home_read_file (home, KEEP_FILE, KEEP_MAX, error);
  g_autofree char *text = NULL;
  g_auto(GStrv) words = NULL;

  if (bytes == NULL)
    return FALSE;
  text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  words = g_strsplit (g_strstrip (text), " ", 3);
  for (guint i = SK_KEEP_KEYRING; i <= SK_KEEP_PLAIN; i++)
    {
      guint wanted = i == SK_KEEP_KEYRING ? 2 : 1;

      if (g_strv_length (words) != wanted || strcmp (words[0], sk_keep_name (i)) != 0)
        continue;
      if (i == SK_KEEP_KEYRING && !sk_id_parse (words[1], item, NULL))
        break;
      *keep = i;
      return TRUE;
    }
  return sk_fail (error, SK_ERROR_CORRUPT,
                  "The file “" KEEP_FILE
                  "” of the home is damaged; it should say where the keys are");
}

static gboolean
write_keep (SkHome *home, SkKeep keep, const SkId *item, GError **error)
{
  g_autofree char *text = NULL;
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (item, hex);
  text = g_strdup_printf ("%s%s%s\n", sk_keep_name (keep), keep == SK_KEEP_KEYRING ? " " : "",
                          keep == SK_KEEP_KEYRING ? hex : "");
  return sk_home_write_file (home, KEEP_FILE, text, strlen (text), error);
}

/* --- the secret as bytes --- */

static gboolean
put_secret (SkHome *home, SkKeep keep, const char *passphrase, const SkId *item, GBytes *secret,
            GError **error)
{
  g_autoptr(GBytes) sealed = NULL;
  char hex[SK_ID_HEX_SIZE];

  if (keep == SK_KEEP_PLAIN)
    return sk_home_write_file (home, PLAIN_FILE, g_bytes_get_data (secret, NULL),
                               g_bytes_get_size (secret), error);
  if (keep == SK_KEEP_KEYRING)
    {
      sk_id_format (item, hex);
      return sk_secret_service_store (hex, ITEM_WHAT, ITEM_LABEL, secret, error);
    }
  if (passphrase == NULL || *passphrase == '\0')
    return sk_fail (error, SK_ERROR_USAGE,
                    "The keys of this home are kept under a passphrase, and none was given");
  sealed = sk_passphrase_seal (passphrase, g_bytes_get_data (secret, NULL),
                               g_bytes_get_size (secret), error);
  if (sealed == NULL)
    return FALSE;
  return sk_home_write_file (home, SEALED_FILE, g_bytes_get_data (sealed, NULL),
                             g_bytes_get_size (sealed), error);
}

static gboolean
drop_secret (SkHome *home, SkKeep keep, const SkId *item, GError **error)
{
  char hex[SK_ID_HEX_SIZE];

  if (keep != SK_KEEP_KEYRING)
    return sk_home_remove_file (home, keep == SK_KEEP_PLAIN ? PLAIN_FILE : SEALED_FILE, error);
  sk_id_format (item, hex);
  return sk_secret_service_clear (hex, ITEM_WHAT, error);
}

static gboolean
save_secret (SkHome *home, SkKeep keep, const char *passphrase, GBytes *secret, GError **error)
{
  SkKeep old = keep;
  SkId item;
  SkId old_item;
  gboolean had = read_keep (home, &old, &old_item, NULL);

  if (had && old == SK_KEEP_KEYRING)
    item = old_item;
  else
    sk_id_random (&item);
  if (!put_secret (home, keep, passphrase, &item, secret, error))
    return FALSE;
  if (had && old == keep)
    return TRUE;
  if (!write_keep (home, keep, &item, error))
    return FALSE;
  /* What is left behind when this fails is dead weight, not wrong: the keep file decides. */
  return !had || drop_secret (home, old, &old_item, error);
}

static GBytes *
open_sealed (SkHome *home, const char *passphrase, GError **error)
{
  g_autoptr(GBytes) sealed = NULL;

  if (passphrase == NULL || *passphrase == '\0')
    {
      sk_fail (error, SK_ERROR_WRONG_KEY,
               "The keys of this home are under a passphrase: give --passphrase-file or "
               "SKERRY_PASSPHRASE_FILE");
      return NULL;
    }
  sealed = sk_home_read_file (home, SEALED_FILE, BLOB_MAX + 4096, error);
  if (sealed == NULL)
    return NULL;
  return sk_passphrase_open (passphrase, g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed),
                             error);
}

static GBytes *
load_secret (SkHome *home, const char *passphrase, SkKeep *keep, GError **error)
{
  SkId item;
  char hex[SK_ID_HEX_SIZE];

  if (!read_keep (home, keep, &item, error))
    return NULL;
  switch (*keep)
    {
    case SK_KEEP_PLAIN:
      return sk_home_read_file (home, PLAIN_FILE, BLOB_MAX, error);
    case SK_KEEP_PASSPHRASE:
      return open_sealed (home, passphrase, error);
    case SK_KEEP_KEYRING:
    default:
      sk_id_format (&item, hex);
      return sk_secret_service_lookup (hex, ITEM_WHAT, error);
    }
}

/* --- the device's keys --- */

/* u8 version, seed (32), the keyring as FORMAT.md lays it out, SHA-256 of all before. The hash is for
 * the plain file and for keyrings: a device that went on with a wrong key would publish what nobody
 * can read, and its log could not be mended any more. */
static GBytes *
build_blob (SkIdentity *device, SkKeyring *keys)
{
  g_autoptr(GBytes) ring = sk_keyring_serialise (keys);
  g_auto(SkKey) seed = { 0 };
  gsize len = 1 + sizeof seed.bytes + g_bytes_get_size (ring);
  guint8 *blob = sk_secret_alloc (len + sizeof (SkHash));
  SkHash hash;

  sk_identity_copy_seed (device, &seed);
  blob[0] = BLOB_VERSION;
  memcpy (blob + 1, seed.bytes, sizeof seed.bytes);
  memcpy (blob + 1 + sizeof seed.bytes, g_bytes_get_data (ring, NULL), g_bytes_get_size (ring));
  sk_sha256 (blob, len, &hash);
  memcpy (blob + len, &hash, sizeof hash);
  return sk_secret_take (blob, len + sizeof hash);
}

/* Takes the hash off the end. */
static gboolean
check_blob (const guint8 *blob, gsize *len)
{
  SkHash hash;

  if (*len > 0 && blob[0] == BLOB_VERSION_UNCHECKED)
    return TRUE;
  if (*len < sizeof hash)
    return FALSE;
  *len -= sizeof hash;
  sk_sha256 (blob, *len, &hash);
  return memcmp (blob + *len, &hash, sizeof hash) == 0;
}

static gboolean
parse_blob (GBytes *blob, SkIdentity **device, SkKeyring **keys, GError **error)
{
  g_auto(SkKey) seed = { 0 };
  g_autoptr(SkKeyring) ring = NULL;
  SkReader reader;
  gsize len;
  const guint8 *bytes = g_bytes_get_data (blob, &len);
  gboolean whole = check_blob (bytes, &len);
  guint8 version;

  sk_reader_init (&reader, bytes, len);
  version = sk_reader_u8 (&reader);
  bytes = sk_reader_take (&reader, sizeof seed.bytes);
  if (version > BLOB_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "The keys of this home were written by a newer Skerry");
  if (bytes == NULL || version == 0 || !whole)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The keys of this home are damaged: restore them from a backup, or let the "
                    "device join again in a new home");
  memcpy (seed.bytes, bytes, sizeof seed.bytes);
  ring = sk_keyring_parse (reader.data + reader.pos, sk_reader_left (&reader), error);
  if (ring == NULL)
    return FALSE;
  *device = sk_identity_new_from_seed (&seed);
  *keys = g_steal_pointer (&ring);
  return TRUE;
}

gboolean
sk_home_save_secrets (SkHome *self, SkKeep keep, const char *passphrase, SkIdentity *device,
                      SkKeyring *keys, GError **error)
{
  g_autoptr(GBytes) blob = build_blob (device, keys);

  return save_secret (self, keep, passphrase, blob, error);
}

gboolean
sk_home_load_secrets (SkHome *self, const char *passphrase, SkIdentity **device, SkKeyring **keys,
                      SkKeep *keep, GError **error)
{
  SkKeep found = SK_KEEP_PLAIN;
  g_autoptr(GBytes) blob = load_secret (self, passphrase, &found, error);

  if (blob == NULL || !parse_blob (blob, device, keys, error))
    return FALSE;
  if (keep != NULL)
    *keep = found;
  return TRUE;
}

char *
sk_home_key_file (SkHome *self, SkKeep keep)
{
  if (keep == SK_KEEP_KEYRING)
    return NULL;
  return sk_home_file (self, keep == SK_KEEP_PLAIN ? PLAIN_FILE : SEALED_FILE);
}

char *
sk_home_keep_warning (SkHome *self, SkKeep keep)
{
  g_autofree char *file = sk_home_key_file (self, keep);
  g_autofree char *shown = NULL;

  if (keep != SK_KEEP_PLAIN)
    return g_strdup ("");
  shown = g_filename_display_name (file);
  return g_strdup_printf (
      "The keys are not protected: whoever can read “%s” can open the vault (--no-passphrase)",
      shown);
}

gboolean
sk_home_choose_keep (gboolean no_passphrase, const char *passphrase, SkKeep *keep, GError **error)
{
  g_autoptr(GError) local = NULL;

  if (no_passphrase && passphrase != NULL)
    return sk_fail (error, SK_ERROR_USAGE, "A passphrase and --no-passphrase exclude each other");
  if (passphrase != NULL && *passphrase == '\0')
    return sk_fail (error, SK_ERROR_USAGE, "The passphrase is empty");
  if (no_passphrase || passphrase != NULL)
    {
      *keep = no_passphrase ? SK_KEEP_PLAIN : SK_KEEP_PASSPHRASE;
      return TRUE;
    }
  if (!sk_secret_service_probe (&local))
    return sk_fail (error, SK_ERROR_USAGE,
                    "The keys have no safe place: %s. Give a passphrase (--passphrase-file FILE), "
                    "or --no-passphrase to "
                    "keep them unprotected in a file that only you can read",
                    local->message);
  *keep = SK_KEEP_KEYRING;
  return TRUE;
}
