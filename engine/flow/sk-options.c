/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-options.h"

#include <string.h>

static char *
option_key (SkSettingScope scope, const SkId *id, const char *key)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  return g_strdup_printf ("option:%s:%s:%s", scope == SK_SETTING_STORAGE ? "storage" : "folder", hex, key);
}

char *
sk_option_get (SkSession *session, SkSettingScope scope, const SkId *id, const char *key)
{
  g_autofree char *name = option_key (scope, id, key);
  g_autoptr(GBytes) bytes = sk_index_get (session->index, name);

  if (bytes != NULL && g_bytes_get_size (bytes) > 0)
    return g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  for (const SkSettingDefault *setting = sk_setting_defaults (scope); setting->key != NULL; setting++)
    if (g_str_equal (setting->key, key))
      return g_strdup (setting->fallback);
  return NULL;
}

gint64
sk_option_number (SkSession *session, SkSettingScope scope, const SkId *id, const char *key)
{
  g_autofree char *text = sk_option_get (session, scope, id, key);

  return text != NULL ? g_ascii_strtoll (text, NULL, 10) : 0;
}

gboolean
sk_option_set (SkSession *session, SkSettingScope scope, const SkId *id, const char *key, const char *value, GError **error)
{
  g_autofree char *name = option_key (scope, id, key);

  return sk_index_set (session->index, name, value, strlen (value), error);
}
