/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object names: what may be one, and what it promises about the object. */
#include "sk-store-private.h"

#include <string.h>

#include "sk-hash.h"

#define LOG_DIGITS 16u /* of the hash in the name of a segment */

static gboolean
sk_store_component_ok_len (const char *component, gsize len)
{
  if (len == 0 || len > SK_STORE_COMPONENT_MAX || component[0] == '.')
    return FALSE;

  for (gsize i = 0; i < len; i++)
    {
      if (!g_ascii_isalnum (component[i]) && strchr ("._-", component[i]) == NULL)
        return FALSE;
    }
  return TRUE;
}

gboolean
sk_store_component_ok (const char *component)
{
  return sk_store_component_ok_len (component, strnlen (component, SK_STORE_COMPONENT_MAX + 1));
}

/* @open_end: the last component may be missing, as in a prefix. */
static gboolean
sk_store_name_ok (const char *name, gboolean open_end)
{
  gsize len = strnlen (name, SK_STORE_NAME_MAX + 1);
  const char *start = name;
  guint depth = 1;

  if (len > SK_STORE_NAME_MAX)
    return FALSE;

  for (const char *p = name; p < name + len; p++)
    {
      if (*p != '/')
        continue;
      if (!sk_store_component_ok_len (start, (gsize) (p - start)) || ++depth > SK_STORE_DEPTH_MAX)
        return FALSE;
      start = p + 1;
    }
  return (open_end && *start == '\0')
         || sk_store_component_ok_len (start, (gsize) (name + len - start));
}

static gboolean
sk_store_name_refuse (const char *name, const char *what, GError **error)
{
  g_autofree char *shown = g_strndup (name, strnlen (name, 80));
  g_autofree char *escaped = g_strescape (shown, NULL);

  return sk_fail (error, SK_ERROR_USAGE, "“%s” is not the %s of a stored object", escaped, what);
}

gboolean
sk_store_name_check (const char *name, GError **error)
{
  if (!sk_store_name_ok (name, FALSE) || g_str_has_prefix (name, SK_STORE_TEMP "/"))
    return sk_store_name_refuse (name, "name", error);
  return TRUE;
}

gboolean
sk_store_prefix_check (const char *prefix, GError **error)
{
  return sk_store_name_ok (prefix, TRUE)
         || sk_store_name_refuse (prefix, "beginning of the name", error);
}

gboolean
sk_store_name_is_content (const char *name)
{
  return g_str_has_prefix (name, "packs/") || g_str_has_prefix (name, "snap/parts/")
         || g_str_has_prefix (name, "log/");
}

/* The hexadecimal digits at the end of the name, NULL when there are not exactly as many as
 * expected. */
static const char *
sk_store_name_digits (const char *name, gsize *n_digits)
{
  const char *base = strrchr (name, '/') + 1;
  const char *digits = base;

  *n_digits = 2 * sizeof (SkHash);
  if (g_str_has_prefix (name, "log/"))
    {
      const char *dash = strrchr (base, '-');

      digits = dash != NULL ? dash + 1 : "";
      *n_digits = LOG_DIGITS;
    }
  return strlen (digits) == *n_digits ? digits : NULL;
}

gboolean
sk_store_verify (const char *name, GBytes *data, GError **error)
{
  char hex[SK_HASH_HEX_SIZE];
  const char *digits;
  const guint8 *bytes;
  gsize n_digits;
  gsize len;
  SkHash hash;

  if (!sk_store_name_is_content (name))
    return TRUE;
  digits = sk_store_name_digits (name, &n_digits);
  if (digits == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The name “%s” does not carry the hash that it should",
                    name);

  bytes = g_bytes_get_data (data, &len);
  sk_sha256 (bytes, len, &hash);
  sk_hash_format (&hash, hex);
  if (strncmp (hex, digits, n_digits) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The stored object “%s” is damaged: its %" G_GSIZE_FORMAT
                    " bytes do not match its name",
                    name, len);
  return TRUE;
}
