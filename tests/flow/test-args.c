/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-args.h"

#include <string.h>

static void
assert_setting (SkSettingScope scope, const char *key, const char *value, const char *wanted, gboolean noted)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *normal = NULL;
  g_autofree char *note = NULL;

  g_assert_true (sk_setting_check (scope, key, value, &normal, &note, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (normal, ==, wanted);
  g_assert_cmpint (note != NULL, ==, noted);
  if (noted)
    g_assert_nonnull (strstr (note, key));
}

static void
assert_setting_refused (SkSettingScope scope, const char *key, const char *value)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *normal = NULL;
  g_autofree char *note = NULL;

  g_assert_false (sk_setting_check (scope, key, value, &normal, &note, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_assert_null (normal);
  g_assert_null (note);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (strlen (error->message), <, 400);
}

static void
test_odd_values (void)
{
  static const char *const text[] = { "", "x", "1x", "0x10", "1e9", "inf", "nan", "--1", "1.", ".5", "1 2", "\xff\xfe", "auto " };
  static const char *const numeric[] = { "concurrency", "pack-size", "level", "price.stored", "price.out", "price.free-out", "price.request" };
  g_autofree char *digits = g_strnfill (390, '9');
  g_autofree char *endless = g_strnfill (100000, '9');

  assert_setting (SK_SETTING_STORAGE, "concurrency", "0", "1", TRUE);
  assert_setting (SK_SETTING_STORAGE, "concurrency", "-1", "1", TRUE);
  assert_setting (SK_SETTING_STORAGE, "concurrency", "99999999999999999999999", "512", TRUE);
  assert_setting (SK_SETTING_STORAGE, "concurrency", "512", "512", FALSE);
  assert_setting (SK_SETTING_STORAGE, "concurrency", "513", "512", TRUE);
  assert_setting (SK_SETTING_STORAGE, "concurrency", "auto", "auto", FALSE);
  assert_setting (SK_SETTING_STORAGE, "pack-size", "0", "1048576", TRUE);
  assert_setting (SK_SETTING_STORAGE, "pack-size", "-1", "1048576", TRUE);
  assert_setting (SK_SETTING_STORAGE, "pack-size", "1T", "16777216", TRUE);
  assert_setting (SK_SETTING_STORAGE, "pack-size", "4M", "4194304", FALSE);
  assert_setting (SK_SETTING_STORAGE, "pack-size", "1.5 MiB", "1572864", FALSE);
  assert_setting (SK_SETTING_STORAGE, "level", "0", "1", TRUE);
  assert_setting (SK_SETTING_STORAGE, "level", "22", "19", TRUE);
  assert_setting (SK_SETTING_STORAGE, "verify", "yes", "on", FALSE);
  assert_setting (SK_SETTING_STORAGE, "verify", "0", "off", FALSE);
  assert_setting (SK_SETTING_STORAGE, "price.stored", "0.0153", "0.0153", FALSE);
  assert_setting (SK_SETTING_STORAGE, "price.out", "-3", "0", TRUE);
  assert_setting (SK_SETTING_FOLDER, "trash-days", "0", "1", TRUE);
  assert_setting (SK_SETTING_FOLDER, "trash-days", "-1", "1", TRUE);
  assert_setting (SK_SETTING_FOLDER, "trash-days", "100000", "3650", TRUE);
  assert_setting (SK_SETTING_FOLDER, "mode", "send", "send", FALSE);
  assert_setting (SK_SETTING_FOLDER, "xattrs", "yes", "on", FALSE);
  assert_setting_refused (SK_SETTING_FOLDER, "xattrs", "some");
  assert_setting_refused (SK_SETTING_FOLDER, "mode", "");
  assert_setting_refused (SK_SETTING_FOLDER, "mode", "up");
  assert_setting_refused (SK_SETTING_FOLDER, "name", "");
  assert_setting_refused (SK_SETTING_FOLDER, "name", endless);
  assert_setting_refused (SK_SETTING_FOLDER, "storages", "");
  assert_setting_refused (SK_SETTING_STORAGE, "verify", "2");
  assert_setting_refused (SK_SETTING_STORAGE, "level", "auto");
  for (guint i = 0; i < G_N_ELEMENTS (numeric); i++)
    {
      for (guint j = 0; j < G_N_ELEMENTS (text); j++)
        assert_setting_refused (SK_SETTING_STORAGE, numeric[i], text[j]);
      assert_setting_refused (SK_SETTING_STORAGE, numeric[i], digits);
      assert_setting_refused (SK_SETTING_STORAGE, numeric[i], endless);
    }
  assert_setting_refused (SK_SETTING_STORAGE, "nothing", "1");
  assert_setting_refused (SK_SETTING_STORAGE, "", "1");
  assert_setting_refused (SK_SETTING_STORAGE, "\xff", "1");
}

static void
test_defaults (void)
{
  for (guint scope = SK_SETTING_STORAGE; scope <= SK_SETTING_FOLDER; scope++)
    {
      for (const SkSettingDefault *d = sk_setting_defaults (scope); d->key != NULL; d++)
        assert_setting (scope, d->key, d->fallback, d->fallback, FALSE);
    }
}

static void
check (const char *command, const char *text, int code, const char *word)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) args = text != NULL ? g_variant_parse (NULL, text, NULL, NULL, &error) : NULL;
  gboolean taken;

  g_assert_no_error (error);
  taken = sk_args_check (command, args, &error);
  if (code < 0)
    {
      g_assert_no_error (error);
      g_assert_true (taken);
      return;
    }
  g_assert_false (taken);
  g_assert_error (error, SK_ERROR, code);
  if (word != NULL)
    g_assert_nonnull (strstr (error->message, word));
}

static void
test_check (void)
{
  g_autofree char *label = g_strnfill (129, 'x');
  g_autofree char *long_name = g_strdup_printf ("@a{sv} {'name': <'%s'>}", label);

  check ("status", NULL, -1, NULL);
  check ("status", "@a{sv} {}", -1, NULL);
  check ("status", "{'x': <1>}", SK_ERROR_USAGE, "“x”");
  check ("nothing", NULL, SK_ERROR_NOT_FOUND, "nothing");
  check ("status", "'x'", SK_ERROR_USAGE, NULL);
  check ("vault.create", NULL, SK_ERROR_USAGE, "“name”");
  check ("vault.create", "{'name': <'n'>}", -1, NULL);
  check ("vault.create", "{'name': <1>}", SK_ERROR_USAGE, "“name”");
  check ("vault.create", "{'name': <''>}", SK_ERROR_USAGE, "empty");
  check ("vault.create", long_name, SK_ERROR_USAGE, "128");
  check ("vault.create", "{'name': <'n'>, 'passphrase': <'p'>, 'no-passphrase': <true>}", SK_ERROR_USAGE, "exclude");
  check ("invite", "{'expires': <uint32 9>}", SK_ERROR_USAGE, "10");
  check ("invite", "{'expires': <uint32 4000000000>}", SK_ERROR_USAGE, "604800");
  check ("invite", "{'expires': <int32 600>}", SK_ERROR_USAGE, "type");
  check ("traffic", "{'since': <int64 -1>}", SK_ERROR_USAGE, "since");
  check ("folder.attach", "{'name': <'f'>, 'path': <b'/x'>, 'mode': <'up'>}", SK_ERROR_USAGE, "receive");
  check ("folder.attach", "{'name': <'f'>, 'path': <b'/x'>, 'mode': <'send'>, 'only': <[b'*.c']>}", -1, NULL);
  check ("folder.attach", "{'name': <'f'>, 'path': <b''>}", SK_ERROR_USAGE, "empty");
  check ("folder.attach", "{'name': <'f'>, 'path': <[byte 47, 0, 65, 0]>}", SK_ERROR_USAGE, "zero");
  check ("folder.attach", "{'name': <'f'>, 'path': <[byte 47, 65]>}", SK_ERROR_USAGE, "zero");
  check ("storage.set", "{'name': <'s'>, 'settings': <@a{ss} {}>}", SK_ERROR_USAGE, "settings");
  check ("resolve", "{'issue': <uint64 1>, 'choice': <'retry'>}", -1, NULL);
  check ("resolve", "{'issue': <uint64 0>, 'choice': <'retry'>}", SK_ERROR_USAGE, "issue");
  check ("resolve", "{'issue': <uint64 1>, 'choice': <'locate'>}", SK_ERROR_USAGE, "path");
  check ("restore", "{'folder': <'f'>, 'path': <b'a'>}", -1, NULL);
  check ("restore", "{'folder': <'f'>}", SK_ERROR_USAGE, "--at");
  check ("restore", "{'folder': <'f'>, 'at': <int64 5>}", SK_ERROR_USAGE, "--to");
  check ("restore", "{'folder': <'f'>, 'at': <int64 5>, 'to': <b'/t'>}", -1, NULL);
  check ("vault.recovery", "{'check': <true>}", SK_ERROR_USAGE, "phrase");
}

static void
test_access (void)
{
  g_autoptr(GVariant) args = g_variant_ref_sink (g_variant_new_parsed ("{'name': <'n'>, 'path': <b'/a'>, 'only': <[b'x', b'y']>, 'expires': <uint32 20>}"));
  g_autofree const char **list = sk_args_list (args, "only");

  g_assert_cmpstr (sk_args_string (args, "name", "d"), ==, "n");
  g_assert_cmpstr (sk_args_string (args, "none", "d"), ==, "d");
  g_assert_cmpstr (sk_args_string (NULL, "none", "d"), ==, "d");
  g_assert_cmpstr (sk_args_bytes (args, "path", NULL), ==, "/a");
  g_assert_cmpstr (list[1], ==, "y");
  g_assert_null (list[2]);
  g_assert_null (sk_args_list (args, "folders"));
  g_assert_cmpuint (sk_args_number (args, "expires"), ==, 20);
  g_assert_cmpuint (sk_args_number (args, "wait"), ==, 60);
  g_assert_false (sk_args_bool (args, "yes"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/args/sit-B184/settings-clamped-or-refused", test_odd_values);
  g_test_add_func ("/args/defaults-are-values", test_defaults);
  g_test_add_func ("/args/sit-B184/check", test_check);
  g_test_add_func ("/args/access", test_access);
  return g_test_run ();
}
