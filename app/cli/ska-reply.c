/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

const char *
ska_get (GVariant *dictionary, const char *key)
{
  const char *text = "";

  if (!g_variant_lookup (dictionary, key, "&s", &text))
    g_variant_lookup (dictionary, key, "^&ay", &text);
  return text;
}

guint64
ska_get_number (GVariant *dictionary, const char *key)
{
  g_autoptr(GVariant) value = g_variant_lookup_value (dictionary, key, NULL);

  if (value == NULL)
    return 0;
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    return g_variant_get_uint64 (value);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32))
    return g_variant_get_uint32 (value);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_INT64))
    return (guint64) MAX (0, g_variant_get_int64 (value));
  return 0;
}

double
ska_get_double (GVariant *dictionary, const char *key)
{
  double value = 0;

  g_variant_lookup (dictionary, key, "d", &value);
  return value;
}

gboolean
ska_get_flag (GVariant *dictionary, const char *key)
{
  gboolean value = FALSE;

  g_variant_lookup (dictionary, key, "b", &value);
  return value;
}

GVariant *
ska_get_list (GVariant *dictionary, const char *key)
{
  GVariant *list = g_variant_lookup_value (dictionary, key, G_VARIANT_TYPE ("aa{sv}"));

  return list != NULL ? list : g_variant_ref_sink (g_variant_new ("aa{sv}", NULL));
}

GVariant *
ska_get_dictionary (GVariant *dictionary, const char *key)
{
  GVariant *value = g_variant_lookup_value (dictionary, key, G_VARIANT_TYPE_VARDICT);

  return value != NULL ? value : g_variant_ref_sink (g_variant_new ("a{sv}", NULL));
}
