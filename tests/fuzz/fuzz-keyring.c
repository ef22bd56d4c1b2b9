/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small things that stand in larger ones: keys of a vault, version vectors, ids as text, names of stored objects. */
#include "sk-id.h"
#include "sk-keys.h"
#include "sk-vector.h"

#include "sk-store-private.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
read_keys (const guint8 *data, gsize size)
{
  g_autoptr(SkKeyring) keys = sk_keyring_parse (data, size, NULL);
  g_autoptr(GBytes) again = keys != NULL ? sk_keyring_serialise (keys) : NULL;

  if (again != NULL)
    g_assert_cmpmem (g_bytes_get_data (again, NULL), g_bytes_get_size (again), data, size);
}

static void
read_vector (const guint8 *data, gsize size)
{
  SkVector *vector = sk_vector_decode (data, size, NULL);
  g_autoptr(GBytes) again = NULL;

  if (vector == NULL)
    return;
  again = sk_vector_encode (vector);
  g_assert_cmpmem (g_bytes_get_data (again, NULL), g_bytes_get_size (again), data, size);
  sk_vector_unref (vector);
}

static void
read_text (const char *text)
{
  char hex[SK_ID_HEX_SIZE];
  g_autoptr(GError) error = NULL;
  SkId id;
  SkHash hash;

  if (sk_id_parse (text, &id, NULL))
    {
      sk_id_format (&id, hex);
      g_assert_cmpstr (hex, ==, text);
    }
  (void) sk_hash_parse (text, &hash, NULL);
  if (sk_store_name_check (text, &error))
    {
      g_autoptr(GBytes) nothing = g_bytes_new_static ("", 0);

      g_assert_true (sk_store_prefix_check (text, NULL));
      g_assert_false (g_str_has_prefix (text, ".") || strstr (text, "/.") != NULL);
      (void) sk_store_verify (text, nothing, NULL);
    }
  else
    g_assert_true (g_utf8_validate (error->message, -1, NULL));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);

  g_assert_true (sk_crypto_init (NULL));
  read_keys (data, size);
  read_vector (data, size);
  read_text (text);
  return 0;
}
