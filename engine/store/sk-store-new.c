/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an address to the kind of storage that serves it. */
#include "sk-store-private.h"

#include <string.h>

/* A password in an address would end in the database, in logs and in messages. */
static gboolean
sk_store_uri_has_password (const char *uri)
{
  const char *start = strstr (uri, "://");
  const char *end;
  const char *at;
  const char *colon;

  if (start == NULL)
    return FALSE;
  start += 3;
  end = start + strcspn (start, "/?#");
  at = memchr (start, '@', (gsize) (end - start));
  colon = memchr (start, ':', (gsize) (end - start));
  return at != NULL && colon != NULL && colon < at;
}

static SkStore *
sk_store_new_file (const char *uri, const SkId *vault, SkPool *disk_pool, GError **error)
{
  g_autofree char *host = NULL;
  g_autofree char *path = g_filename_from_uri (uri, &host, NULL);

  if (path == NULL || (host != NULL && g_ascii_strcasecmp (host, "localhost") != 0))
    {
      g_autofree char *shown = g_utf8_make_valid (uri, -1);

      sk_fail (error, SK_ERROR_USAGE,
               "“%s” is not the address of a directory on this computer; give its plain path",
               shown);
      return NULL;
    }
  return sk_store_dir_new (path, uri, vault, disk_pool);
}

SkStore *
sk_store_new (const char *uri, const SkId *vault, SkPool *disk_pool, GError **error)
{
  g_autofree char *scheme = g_uri_parse_scheme (uri);

  if (uri[0] == '/')
    return sk_store_dir_new (uri, uri, vault, disk_pool);
  if (scheme == NULL)
    {
      sk_fail (error, SK_ERROR_USAGE,
               "A storage is given by an absolute path or by an address such as sftp://host/path");
      return NULL;
    }
  if (sk_store_uri_has_password (uri))
    {
      sk_fail (error, SK_ERROR_USAGE,
               "Leave the password out of the storage's address: it would be shown wherever the "
               "address is");
      return NULL;
    }
  if (g_ascii_strcasecmp (scheme, "file") == 0)
    return sk_store_new_file (uri, vault, disk_pool, error);
  if (g_ascii_strcasecmp (scheme, "s3") == 0)
    {
      sk_fail (error, SK_ERROR_UNSUPPORTED, "Buckets (s3:) are not supported by this version");
      return NULL;
    }
  return sk_store_gio_new (uri, vault, disk_pool);
}
