/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vault's id key and epochs. FORMAT.md, "Keys". */
#include "sk-keys.h"

#include "sk-limits.h"

#include <sodium.h>
#include <string.h>

#define KEYRING_VERSION 1
#define KEYRING_HEADER (1 + sizeof (SkKey) + 2)
#define KEYRING_ROW (sizeof (SkId) + sizeof (SkKey))

typedef struct
{
  SkId id;
  SkKey master;
} Epoch;

typedef struct
{
  SkKey id_key;
  Epoch epochs[];       /* oldest first; the last is the current one */
} KeyringSecret;

struct _SkKeyring
{
  gatomicrefcount refs;
  guint n_epochs;
  KeyringSecret *secret;       /* wiped when freed; read-only pages once handed out */
};

/* All keys are zero until filled in; then call keyring_seal(). */
static SkKeyring *
keyring_alloc (guint n_epochs)
{
  SkKeyring *self = g_new0 (SkKeyring, 1);
  gsize size = sizeof *self->secret + n_epochs * sizeof (Epoch);

  g_assert (n_epochs > 0 && n_epochs <= SK_EPOCHS_MAX);
  g_atomic_ref_count_init (&self->refs);
  self->n_epochs = n_epochs;
  self->secret = sk_secret_alloc (size);
  memset (self->secret, 0, size);
  return self;
}

static SkKeyring *
keyring_seal (SkKeyring *self)
{
  sodium_mprotect_readonly (self->secret);
  return self;
}

static const Epoch *
find_epoch (SkKeyring *self, const SkId *epoch)
{
  /* From the newest: nearly every object asked for belongs to the current epoch. */
  for (guint i = self->n_epochs; i > 0; i--)
    if (sk_id_equal (&self->secret->epochs[i - 1].id, epoch))
      return &self->secret->epochs[i - 1];
  return NULL;
}

SkKeyring *
sk_keyring_new_vault (void)
{
  SkKeyring *self = keyring_alloc (1);

  randombytes_buf (&self->secret->id_key, sizeof (SkKey));
  randombytes_buf (&self->secret->epochs[0], sizeof (Epoch));
  return keyring_seal (self);
}

SkKeyring *
sk_keyring_with_epoch (SkKeyring *self, const SkId *epoch, const SkKey *master)
{
  const Epoch *known = find_epoch (self, epoch);
  guint n = self->n_epochs + (known == NULL ? 1 : 0);
  SkKeyring *next;
  guint filled = 0;

  if (n > SK_EPOCHS_MAX)
    return sk_keyring_ref (self);

  next = keyring_alloc (n);
  next->secret->id_key = self->secret->id_key;
  for (guint i = 0; i < self->n_epochs; i++)
    if (&self->secret->epochs[i] != known)
      next->secret->epochs[filled++] = self->secret->epochs[i];
  next->secret->epochs[filled].id = *epoch;
  next->secret->epochs[filled].master = known != NULL ? known->master : *master;
  return keyring_seal (next);
}

SkKeyring *
sk_keyring_with_new_epoch (SkKeyring *self)
{
  g_auto(SkKey) master = { 0 };
  SkId epoch;

  sk_id_random (&epoch);
  randombytes_buf (&master, sizeof master);
  return sk_keyring_with_epoch (self, &epoch, &master);
}

SkKeyring *
sk_keyring_with_epochs_of (SkKeyring *self, SkKeyring *other)
{
  SkKeyring *keys = sk_keyring_ref (self);

  for (guint i = 0; i < other->n_epochs; i++)
    {
      SkKeyring *more = sk_keyring_with_epoch (keys, &other->secret->epochs[i].id, &other->secret->epochs[i].master);

      sk_keyring_unref (keys);
      keys = more;
    }
  return keys;
}

gboolean
sk_keyring_shares_id_key (SkKeyring *a, SkKeyring *b)
{
  return sodium_memcmp (&a->secret->id_key, &b->secret->id_key, sizeof (SkKey)) == 0;
}

SkKeyring *
sk_keyring_ref (SkKeyring *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
sk_keyring_unref (SkKeyring *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  sodium_free (self->secret);
  g_free (self);
}

guint
sk_keyring_n_epochs (SkKeyring *self)
{
  return self->n_epochs;
}

const SkId *
sk_keyring_epoch (SkKeyring *self, guint i)
{
  g_assert (i < self->n_epochs);
  return &self->secret->epochs[i].id;
}

const SkId *
sk_keyring_current (SkKeyring *self)
{
  return sk_keyring_epoch (self, self->n_epochs - 1);
}

gboolean
sk_keyring_has_epoch (SkKeyring *self, const SkId *epoch)
{
  return find_epoch (self, epoch) != NULL;
}

static gboolean
fail_unknown (const SkId *epoch, GError **error)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (epoch, hex);
  return sk_fail (error, SK_ERROR_UNTRUSTED, "This device has no key of the epoch %s", hex);
}

gboolean
sk_keyring_get (SkKeyring *self, const SkId *epoch, SkKeyUse use, SkKey *out, GError **error)
{
  static const char contexts[][crypto_kdf_CONTEXTBYTES + 1] = {
    [SK_USE_CHUNK] = "skchunk1",
    [SK_USE_LOG] = "sklogs-1",
    [SK_USE_SNAPSHOT] = "sksnaps1",
    [SK_USE_RECORDS] = "skrecrd1",
    [SK_USE_PRESENCE] = "skpresn1",
    [SK_USE_BEACON] = "skbeacn1",
  };
  const Epoch *found = find_epoch (self, epoch);

  g_assert ((guint) use < G_N_ELEMENTS (contexts));
  if (found == NULL)
    return fail_unknown (epoch, error);
  crypto_kdf_derive_from_key (out->bytes, sizeof out->bytes, 1, contexts[use], found->master.bytes);
  return TRUE;
}

void
sk_keyring_id_key (SkKeyring *self, SkKey *out)
{
  *out = self->secret->id_key;
}

GBytes *
sk_keyring_serialise (SkKeyring *self)
{
  gsize len = KEYRING_HEADER + self->n_epochs * KEYRING_ROW;
  guint8 *out = sk_secret_alloc (len);     /* filled in place, so that no copy is left behind */
  guint8 *p = out;

  *p++ = KEYRING_VERSION;
  memcpy (p, self->secret->id_key.bytes, sizeof (SkKey));
  p += sizeof (SkKey);
  *p++ = (guint8) (self->n_epochs & 0xff);
  *p++ = (guint8) (self->n_epochs >> 8);
  for (guint i = 0; i < self->n_epochs; i++)
    {
      memcpy (p, self->secret->epochs[i].id.bytes, sizeof (SkId));
      memcpy (p + sizeof (SkId), self->secret->epochs[i].master.bytes, sizeof (SkKey));
      p += KEYRING_ROW;
    }
  g_assert (p == out + len);
  return sk_secret_take (out, len);
}

static void
read_key (SkReader *reader, SkKey *out)
{
  const guint8 *p = sk_reader_take (reader, sizeof out->bytes);

  if (p != NULL)
    memcpy (out->bytes, p, sizeof out->bytes);
}

SkKeyring *
sk_keyring_parse (const guint8 *data, gsize len, GError **error)
{
  g_autoptr(SkKeyring) self = NULL;
  g_autoptr(GHashTable) seen = g_hash_table_new (sk_id_hash, sk_id_equal_func);
  g_auto(SkKey) id_key = { 0 };
  SkReader reader;
  guint8 version;
  guint n;

  sk_reader_init (&reader, data, len);
  version = sk_reader_u8 (&reader);
  read_key (&reader, &id_key);
  n = sk_reader_u16 (&reader);
  if (!reader.failed && version > KEYRING_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "The stored keys were written by a newer version of this program"),
           NULL;
  if (reader.failed || version == 0 || n == 0 || n > SK_EPOCHS_MAX
      || sk_reader_left (&reader) != n * KEYRING_ROW)
    return sk_fail (error, SK_ERROR_CORRUPT, "The stored keys are damaged: wrong length"), NULL;

  self = keyring_alloc (n);
  self->secret->id_key = id_key;
  for (guint i = 0; i < n; i++)
    {
      Epoch *epoch = &self->secret->epochs[i];

      sk_reader_id (&reader, &epoch->id);
      read_key (&reader, &epoch->master);
      if (!g_hash_table_add (seen, &epoch->id))
        return sk_fail (error, SK_ERROR_CORRUPT,
                        "The stored keys are damaged: an epoch stands there twice"),
               NULL;
    }
  return keyring_seal (g_steal_pointer (&self));
}

GBytes *
sk_keyring_epoch_secret (SkKeyring *self, const SkId *epoch, GError **error)
{
  const Epoch *found = find_epoch (self, epoch);
  guint8 *out;

  if (found == NULL)
    return fail_unknown (epoch, error), NULL;
  out = sk_secret_alloc (2 * sizeof (SkKey));
  memcpy (out, self->secret->id_key.bytes, sizeof (SkKey));
  memcpy (out + sizeof (SkKey), found->master.bytes, sizeof (SkKey));
  return sk_secret_take (out, 2 * sizeof (SkKey));
}

SkKeyring *
sk_keyring_from_epoch_secret (const SkId *epoch, const guint8 *secret, gsize len, GError **error)
{
  SkKeyring *self;

  if (len != 2 * sizeof (SkKey))
    return sk_fail (error, SK_ERROR_CORRUPT, "The key of an epoch has the wrong length"), NULL;
  self = keyring_alloc (1);
  memcpy (self->secret->id_key.bytes, secret, sizeof (SkKey));
  self->secret->epochs[0].id = *epoch;
  memcpy (self->secret->epochs[0].master.bytes, secret + sizeof (SkKey), sizeof (SkKey));
  return keyring_seal (self);
}
