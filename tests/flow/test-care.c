/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings, the trash that is emptied, and a report that tells nothing about what somebody has. */
#include "sk-fleet-check.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define DAY_US (G_GINT64_CONSTANT (86400) * G_USEC_PER_SEC)

static char *
setting (GVariant *reply, const char *key)
{
  g_autoptr(GVariant) settings = g_variant_lookup_value (reply, "settings", G_VARIANT_TYPE ("a{ss}"));
  char *value = NULL;

  g_assert_nonnull (settings);
  g_assert_true (g_variant_lookup (settings, key, "s", &value));
  return value;
}

static void
test_storage_settings (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *got = NULL, *level = NULL, *kept = NULL;
  g_autoptr(GVariant) set = NULL;
  g_autoptr(GVariant) show = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(SkConfig) config = NULL;
  g_autofree const char **changed = NULL;
  guint64 packs = 0;

  sk_put_file (a, "x", "something to store", -1);
  set = sk_fleet_run (fleet, 0, "storage.set", "{'name': <'main'>, 'settings': <{'level': '99', 'verify': 'yes'}>}");
  got = setting (set, "level");
  g_assert_cmpstr (got, ==, "19");
  g_assert_true (g_variant_lookup (set, "changed", "^a&s", &changed));
  g_assert_cmpuint (g_strv_length ((char **) changed), ==, 1);
  sk_fleet_share (fleet, "f");
  sk_fleet_restart (fleet, 0);
  config = sk_session_config (fleet->devices[0]);
  g_assert_cmpint (((SkFlowStorage *) config->storages->pdata[0])->level, ==, 19);
  g_assert_true (((SkFlowStorage *) config->storages->pdata[0])->verify);
  show = sk_fleet_run (fleet, 0, "storage.show", "{'name': <'main'>}");
  level = setting (show, "level");
  kept = setting (show, "verify");
  g_assert_cmpstr (level, ==, "19");
  g_assert_cmpstr (kept, ==, "on");
  g_assert_true (g_variant_lookup (show, "packs", "t", &packs));
  g_assert_cmpuint (packs, >=, 1);
  g_assert_null (sk_session_command (fleet->devices[0], "storage.set", g_variant_new_parsed ("{'name': <'main'>, 'settings': <{'price.out': '5'}>}"), NULL,
                                     NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNSUPPORTED);
}

/* Staggered, so that a fortnight keeps what was removed once; beyond the setting nothing is left. */
static void
test_trash_days (void)
{
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *x = g_build_filename (a, "x", NULL), *days = NULL;
  g_autoptr(GVariant) set = NULL;

  fleet->clock = clock;
  sk_fleet_restart (fleet, 0);
  sk_fleet_restart (fleet, 1);
  sk_put_file (a, "x", "to be removed", -1);
  sk_put_file (a, "y", "to be kept", -1);
  sk_fleet_share (fleet, "f");
  set = sk_fleet_run (fleet, 1, "folder.set", "{'name': <'f'>, 'settings': <{'trash-days': '7'}>}");
  days = setting (set, "trash-days");
  g_assert_cmpstr (days, ==, "7");
  g_assert_cmpint (g_unlink (x), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (b, "x"));
  g_assert_true (sk_in_trash (b, "x", "to be removed"));
  sk_clock_step (clock, 6 * DAY_US);
  g_variant_unref (sk_fleet_run (fleet, 1, "gc", NULL));
  g_assert_true (sk_in_trash (b, "x", "to be removed"));
  sk_clock_step (clock, 2 * DAY_US);
  g_variant_unref (sk_fleet_run (fleet, 1, "gc", "{'dry-run': <true>}"));
  g_assert_true (sk_in_trash (b, "x", "to be removed"));
  g_variant_unref (sk_fleet_run (fleet, 1, "gc", NULL));
  g_assert_false (sk_in_trash (b, "x", NULL));
  g_assert_true (sk_there (b, "y"));
}

static void
assert_absent (const char *text, const char *what)
{
  if (strstr (text, what) != NULL)
    g_error ("the report holds “%s”", what);
}

static void
test_diagnostics (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "letters-to-anna"), *b = sk_fleet_path (fleet, 1, "letters-to-anna");
  g_autofree char *file = g_build_filename (fleet->base, "report", NULL), *text = NULL;
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GError) error = NULL;
  char vault[SK_ID_HEX_SIZE], device[SK_DEVICE_ID_HEX_SIZE];
  guint64 bytes = 0;
  struct stat st;

  sk_put_file (a, "secret-plan.txt", "hidden words", -1);
  sk_fleet_share (fleet, "letters-to-anna");
  sk_put_file (a, "secret-plan.txt", "hidden words a", -1);
  sk_put_file (b, "secret-plan.txt", "hidden words bb", -1);
  sk_fleet_settle (fleet, 8);
  sk_session_raise (fleet->devices[0], "test:1", "unreadable", 0, "secret-plan.txt", "“secret-plan.txt” cannot be read");
  reply = sk_fleet_run (fleet, 0, "diagnostics", "{'file': <%^ay>}", file);
  g_assert_true (g_variant_lookup (reply, "bytes", "t", &bytes));
  g_assert_cmpint (g_stat (file, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0600);
  g_assert_cmpuint ((guint64) st.st_size, ==, bytes);
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  sk_id_format (&fleet->devices[0]->who.vault, vault);
  sk_device_id_format (&fleet->devices[0]->who.device, device);
  assert_absent (text, "secret-plan");
  assert_absent (text, "anna");
  assert_absent (text, "hidden");
  assert_absent (text, "device-0");
  assert_absent (text, fleet->base);
  assert_absent (text, "main");
  assert_absent (text, vault);
  assert_absent (text, device);
  assert_absent (text, g_get_host_name ());
  assert_absent (text, g_get_user_name ());
  /* No run of hex that could be a key or an id. */
  g_assert_false (g_regex_match_simple ("[0-9a-f]{16}", text, 0, 0));
  g_assert_nonnull (strstr (text, "unreadable: 1"));
  g_assert_nonnull (strstr (text, "folder 1"));
  g_assert_null (sk_session_command (fleet->devices[0], "diagnostics", g_variant_new_parsed ("{'file': <%^ay>}", file), NULL, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
}

static void
test_traffic (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autoptr(GVariant) traffic = NULL;
  g_autoptr(GVariant) transfers = NULL;
  g_autoptr(GVariant) list = NULL;
  g_autoptr(GVariant) vault = NULL;
  guint64 up = 0;
  gint64 since = 0;
  guint32 epochs = 0;

  sk_put_file (a, "x", "content", -1);
  sk_fleet_share (fleet, "f");
  traffic = sk_fleet_run (fleet, 0, "traffic", NULL);
  g_assert_true (g_variant_lookup (traffic, "up", "t", &up) && g_variant_lookup (traffic, "since", "x", &since));
  g_assert_cmpuint (up, >, 0);
  g_assert_cmpint (since, >, 0);
  transfers = sk_fleet_run (fleet, 1, "transfers", NULL);
  list = g_variant_lookup_value (transfers, "transfers", G_VARIANT_TYPE ("aa{sv}"));
  g_assert_cmpuint (g_variant_n_children (list), ==, 0);
  vault = sk_fleet_run (fleet, 0, "vault.show", NULL);
  g_assert_true (g_variant_lookup (vault, "epochs", "u", &epochs));
  g_assert_cmpuint (epochs, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/care/storage-settings", test_storage_settings);
  g_test_add_func ("/care/trash-days", test_trash_days);
  g_test_add_func ("/care/diagnostics-tells-nothing", test_diagnostics);
  g_test_add_func ("/care/traffic", test_traffic);
  return g_test_run ();
}
