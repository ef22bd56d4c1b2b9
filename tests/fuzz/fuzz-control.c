/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One message on the control socket, as it arrives: a call with a name and arguments, of which the engine believes nothing. And key=value settings,
 * which stand in such arguments. */
#include <gio/gio.h>

#include "sk-args.h"
#include "sk-control.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
use_arguments (GVariant *args)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, args);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      if (g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING))
        g_assert_nonnull (sk_args_bytes (args, key, NULL));
      else if (g_variant_is_of_type (value, G_VARIANT_TYPE ("as")) || g_variant_is_of_type (value, G_VARIANT_TYPE ("aay")))
        {
          g_autofree const char **list = sk_args_list (args, key);

          g_assert_cmpuint (g_strv_length ((char **) list), ==, g_variant_n_children (value));
        }
      else if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
        g_assert_nonnull (sk_args_string (args, key, NULL));
      else if (!g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN) && !g_variant_is_container (value))
        (void) sk_args_number (args, key);
      g_variant_unref (value);
    }
}

static void
use_settings (GVariant *args, SkSettingScope scope)
{
  g_autoptr(GVariant) settings = g_variant_lookup_value (args, "settings", G_VARIANT_TYPE ("a{ss}"));
  GVariantIter iter;
  const char *key, *value;

  if (settings == NULL)
    return;
  g_variant_iter_init (&iter, settings);
  while (g_variant_iter_next (&iter, "{&s&s}", &key, &value))
    {
      g_autofree char *normal = NULL, *note = NULL, *again = NULL, *nothing = NULL;

      if (!sk_setting_check (scope, key, value, &normal, &note, NULL))
        continue;
      g_assert_true (sk_setting_check (scope, key, normal, &again, &nothing, NULL));
      g_assert_cmpstr (again, ==, normal);
      g_assert_null (nothing);
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(GDBusMessage) message = g_dbus_message_new_from_blob ((guchar *) data, size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
  GVariant *body = message != NULL ? g_dbus_message_get_body (message) : NULL;
  g_autoptr(GVariant) args = NULL;
  g_autoptr(GError) error = NULL;
  const char *name;

  if (body == NULL || !g_variant_is_of_type (body, G_VARIANT_TYPE ("(sa{sv})")))
    return 0;
  g_variant_get (body, "(&s@a{sv})", &name, &args);
  if (sk_args_check (name, args, &error))
    use_arguments (args);
  else
    {
      g_assert_true (g_error_matches (error, SK_ERROR, SK_ERROR_USAGE) || g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
  use_settings (args, SK_SETTING_STORAGE);
  use_settings (args, SK_SETTING_FOLDER);
  return 0;
}
