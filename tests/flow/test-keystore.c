/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-home.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "sk-secret-service.h"

typedef struct { char *dir; SkHome *home; SkIdentity *device; SkKeyring *keys; } Fixture;

static void
remove_tree (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR))
        remove_tree (child);
      else
        g_unlink (child);
    }
  g_rmdir (path);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr(SkKeyring) vault = sk_keyring_new_vault ();
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;

  f->dir = g_dir_make_tmp ("skerry-keys-XXXXXX", NULL);
  path = g_build_filename (f->dir, "home", NULL);
  f->home = sk_home_open (path, &error);
  g_assert_no_error (error);
  f->device = sk_identity_new_random ();
  f->keys = sk_keyring_with_new_epoch (vault);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  sk_identity_unref (f->device);
  sk_keyring_unref (f->keys);
  sk_home_close (f->home);
  remove_tree (f->dir);
  g_free (f->dir);
}

static void
assert_loads (Fixture *f, const char *passphrase, SkKeep wanted)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkIdentity) device = NULL;
  g_autoptr(SkKeyring) keys = NULL;
  g_autoptr(GBytes) a = NULL;
  g_autoptr(GBytes) b = NULL;
  SkKeep keep;

  g_assert_true (sk_home_load_secrets (f->home, passphrase, &device, &keys, &keep, &error));
  g_assert_no_error (error);
  g_assert_cmpint (keep, ==, wanted);
  g_assert_cmpmem (sk_identity_sign_key (device), sizeof (SkPublicKey), sk_identity_sign_key (f->device), sizeof (SkPublicKey));
  a = sk_keyring_serialise (keys);
  b = sk_keyring_serialise (f->keys);
  g_assert_true (g_bytes_equal (a, b));
}

static void
assert_fails (Fixture *f, const char *passphrase, int code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkIdentity) device = NULL;
  g_autoptr(SkKeyring) keys = NULL;
  SkKeep keep;

  g_assert_false (sk_home_load_secrets (f->home, passphrase, &device, &keys, &keep, &error));
  g_assert_error (error, SK_ERROR, code);
  g_assert_null (device);
  g_assert_null (keys);
  if (passphrase != NULL && *passphrase != 0)
    g_assert_null (strstr (error->message, passphrase));
}

static void
save (Fixture *f, SkKeep keep, const char *passphrase)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_home_save_secrets (f->home, keep, passphrase, f->device, f->keys, &error));
  g_assert_no_error (error);
}

static void
test_plain (Fixture *f, gconstpointer data)
{
  g_autofree char *file = sk_home_file (f->home, "keys");
  g_autofree char *named = NULL;
  g_autofree char *warning = NULL;
  g_autofree char *quiet = NULL;
  g_autoptr(GError) error = NULL;
  struct stat st;
  SkKeep keep;

  assert_fails (f, NULL, SK_ERROR_NOT_FOUND);
  g_assert_true (sk_home_choose_keep (TRUE, NULL, &keep, &error));
  g_assert_no_error (error);
  g_assert_cmpint (keep, ==, SK_KEEP_PLAIN);
  save (f, keep, NULL);
  g_assert_cmpint (stat (file, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0600);
  assert_loads (f, NULL, SK_KEEP_PLAIN);

  /* Every status can say so, and where. */
  named = sk_home_key_file (f->home, keep);
  g_assert_cmpstr (named, ==, file);
  warning = sk_home_keep_warning (f->home, keep);
  g_assert_nonnull (strstr (warning, file));
  g_assert_nonnull (strstr (warning, "--no-passphrase"));
  quiet = sk_home_keep_warning (f->home, SK_KEEP_PASSPHRASE);
  g_assert_cmpstr (quiet, ==, "");

  /* A restore that lost the mode gets it back. */
  g_chmod (file, 0644);
  assert_loads (f, NULL, SK_KEEP_PLAIN);
  g_assert_cmpint (stat (file, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0600);
}

static void
test_passphrase (Fixture *f, gconstpointer data)
{
  g_autofree char *file = sk_home_file (f->home, "keys.sealed");
  g_autofree char *text = NULL;
  g_auto(SkKey) seed = { 0 };
  gsize len;

  save (f, SK_KEEP_PASSPHRASE, "correct horse");
  assert_loads (f, "correct horse", SK_KEEP_PASSPHRASE);
  assert_fails (f, "correct horsf", SK_ERROR_WRONG_KEY);
  assert_fails (f, NULL, SK_ERROR_WRONG_KEY);
  assert_fails (f, "", SK_ERROR_WRONG_KEY);
  g_assert_true (g_file_get_contents (file, &text, &len, NULL));
  sk_identity_copy_seed (f->device, &seed);
  g_assert_null (memmem (text, len, seed.bytes, sizeof seed.bytes));
}

static void
test_change (Fixture *f, gconstpointer data)
{
  g_autofree char *plain = sk_home_file (f->home, "keys");
  g_autofree char *sealed = sk_home_file (f->home, "keys.sealed");
  g_autoptr(SkKeyring) more = sk_keyring_with_new_epoch (f->keys);

  save (f, SK_KEEP_PLAIN, NULL);
  save (f, SK_KEEP_PASSPHRASE, "p");
  g_assert_false (g_file_test (plain, G_FILE_TEST_EXISTS));
  assert_loads (f, "p", SK_KEEP_PASSPHRASE);

  /* Killed between the new secrets and the keep file: the old ones still count. */
  g_assert_true (g_file_set_contents (plain, "half", 4, NULL));
  assert_loads (f, "p", SK_KEEP_PASSPHRASE);

  sk_keyring_unref (f->keys);
  f->keys = g_steal_pointer (&more);
  save (f, SK_KEEP_PASSPHRASE, "p");
  assert_loads (f, "p", SK_KEEP_PASSPHRASE);
  save (f, SK_KEEP_PLAIN, NULL);
  g_assert_false (g_file_test (sealed, G_FILE_TEST_EXISTS));
  assert_loads (f, NULL, SK_KEEP_PLAIN);
}

static void
test_hostile (Fixture *f, gconstpointer data)
{
  static const char *const keeps[] = { "", "plain x", "keyring", "keyring 12", "nothing", "keyring 0 1 2" };
  g_autofree char *file = sk_home_file (f->home, "keys");
  g_autofree char *keep = sk_home_file (f->home, "keep");
  g_autofree char *text = NULL;
  gsize len;

  save (f, SK_KEEP_PLAIN, NULL);
  g_assert_true (g_file_get_contents (file, &text, &len, NULL));
  for (gsize i = 0; i < len; i++)
    {
      g_assert_true (g_file_set_contents (file, text, (gssize) i, NULL));
      assert_fails (f, NULL, SK_ERROR_CORRUPT);
    }
  text[0] = 9;
  g_assert_true (g_file_set_contents (file, text, (gssize) len, NULL));
  assert_fails (f, NULL, SK_ERROR_TOO_NEW);
  for (guint i = 0; i < G_N_ELEMENTS (keeps); i++)
    {
      g_assert_true (g_file_set_contents (keep, keeps[i], -1, NULL));
      assert_fails (f, NULL, SK_ERROR_CORRUPT);
    }
}

/* Every bit of the plain file counts: a device that goes on with a wrong key publishes what nobody can read. */
static void
test_damaged (Fixture *f, gconstpointer data)
{
  g_autofree char *file = sk_home_file (f->home, "keys");
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;
  gsize len;

  save (f, SK_KEEP_PLAIN, NULL);
  g_assert_true (g_file_get_contents (file, &text, &len, NULL));
  for (gsize i = 1; i < len; i++)
    {
      text[i] ^= (char) (1 << (i % 8));
      g_assert_true (g_file_set_contents (file, text, (gssize) len, NULL));
      assert_fails (f, NULL, SK_ERROR_CORRUPT);
      text[i] ^= (char) (1 << (i % 8));
    }
  /* As it was written before there was a hash. */
  text[0] = 1;
  g_assert_true (g_file_set_contents (file, text, (gssize) (len - sizeof (SkHash)), &error));
  assert_loads (f, NULL, SK_KEEP_PLAIN);
}

static void
test_choose (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  SkKeep keep;
  gint64 start = g_get_monotonic_time ();

  g_assert_true (sk_home_choose_keep (FALSE, "secret", &keep, &error));
  g_assert_cmpint (keep, ==, SK_KEEP_PASSPHRASE);
  g_assert_false (sk_home_choose_keep (TRUE, "secret", &keep, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_false (sk_home_choose_keep (FALSE, "", &keep, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_clear_error (&error);

  /* No bus: the answer comes at once and says what to do. */
  g_assert_false (sk_home_choose_keep (FALSE, NULL, &keep, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "--passphrase-file"));
  g_assert_nonnull (strstr (error->message, "--no-passphrase"));
  g_assert_cmpint (g_get_monotonic_time () - start, <, G_USEC_PER_SEC);
}

/* --- with a session bus of our own; each in a process of its own, since the bus connection is one for a process --- */

static GTestDBus *
start_bus (void)
{
  GTestDBus *bus = g_test_dbus_new (G_TEST_DBUS_NONE);

  g_test_dbus_up (bus);
  return bus;
}

static GDBusMessage *
swallow (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer data)
{
  if (!incoming || g_dbus_message_get_message_type (message) != G_DBUS_MESSAGE_TYPE_METHOD_CALL)
    return message;
  g_object_unref (message);
  return NULL;
}

/* A keyring that owns its name and never answers. */
static void
test_stuck_process (void)
{
  GTestDBus *bus = start_bus ();
  g_autoptr(GError) error = NULL;
  g_autoptr(GDBusConnection) keyring = NULL;
  g_autoptr(GVariant) owned = NULL;
  SkKeep keep;
  gint64 start;

  keyring = g_dbus_connection_new_for_address_sync (g_test_dbus_get_bus_address (bus),
                                                    G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                                    NULL, NULL, &error);
  g_assert_no_error (error);
  owned = g_dbus_connection_call_sync (keyring, "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName",
                                       g_variant_new ("(su)", "org.freedesktop.secrets", 4), NULL, 0, -1, NULL, &error);
  g_assert_no_error (error);
  g_dbus_connection_add_filter (keyring, swallow, NULL, NULL);

  sk_secret_service_test_limit (300);
  start = g_get_monotonic_time ();
  g_assert_false (sk_home_choose_keep (FALSE, NULL, &keep, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "did not answer"));
  g_assert_cmpint (g_get_monotonic_time () - start, <, 5 * G_USEC_PER_SEC);
  g_assert_true (g_dbus_connection_close_sync (keyring, NULL, NULL));
  g_test_dbus_stop (bus);
}

static void
test_stuck (void)
{
  g_autofree char *options = g_strconcat (g_getenv ("ASAN_OPTIONS") != NULL ? g_getenv ("ASAN_OPTIONS") : "", ":detect_leaks=0", NULL);

  /* GDBus still holds the unanswered call when the process ends: that is what is tested, not a leak. */
  g_setenv ("ASAN_OPTIONS", options, TRUE);
  g_test_trap_subprocess ("/keystore/stuck/subprocess", 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

static gboolean
name_has_owner (GDBusConnection *connection)
{
  g_autoptr(GVariant) reply = NULL;
  gboolean has = FALSE;

  reply = g_dbus_connection_call_sync (connection, "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner",
                                       g_variant_new ("(s)", "org.freedesktop.secrets"), NULL, 0, -1, NULL, NULL);
  if (reply != NULL)
    g_variant_get (reply, "(b)", &has);
  return has;
}

static GSubprocess *
start_keyring (const char *dir)
{
  g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE |
                                                                       G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr(GDBusConnection) connection = g_bus_get_sync (G_BUS_TYPE_SESSION, NULL, NULL);
  gint64 end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC;
  GSubprocess *process;

  g_subprocess_launcher_setenv (launcher, "HOME", dir, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", dir, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", dir, TRUE);
  process = g_subprocess_launcher_spawn (launcher, NULL, "gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock", NULL);
  g_assert_nonnull (process);
  g_assert_true (g_output_stream_write_all (g_subprocess_get_stdin_pipe (process), "login", 5, NULL, NULL, NULL));
  g_assert_true (g_output_stream_close (g_subprocess_get_stdin_pipe (process), NULL, NULL));
  while (!name_has_owner (connection))
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (5000);
    }
  return process;
}

static void
check_in_keyring (Fixture *f)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *plain = sk_home_file (f->home, "keys");
  SkKeep keep;

  g_assert_true (sk_home_choose_keep (FALSE, NULL, &keep, &error));
  g_assert_no_error (error);
  g_assert_cmpint (keep, ==, SK_KEEP_KEYRING);
  save (f, SK_KEEP_PLAIN, NULL);
  save (f, keep, NULL);
  g_assert_false (g_file_test (plain, G_FILE_TEST_EXISTS));
  assert_loads (f, NULL, SK_KEEP_KEYRING);
  g_assert_null (sk_home_key_file (f->home, keep));

  /* From the keyring into a file: nothing stays behind there. */
  {
    g_autofree char *text = NULL;
    g_autofree char *path = sk_home_file (f->home, "keep");
    g_auto(GStrv) words = NULL;

    g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
    words = g_strsplit (g_strstrip (text), " ", 0);
    save (f, SK_KEEP_PASSPHRASE, "p");
    g_assert_null (sk_secret_service_lookup (words[1], "keys", &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_NOT_FOUND);
  }
}

static void
test_keyring_process (void)
{
  GTestDBus *bus = start_bus ();
  g_autofree char *dir = g_dir_make_tmp ("skerry-ring-XXXXXX", NULL);
  g_autoptr(GSubprocess) daemon = start_keyring (dir);
  Fixture f = { 0 };

  set_up (&f, NULL);
  check_in_keyring (&f);
  tear_down (&f, NULL);
  g_subprocess_force_exit (daemon);
  g_subprocess_wait (daemon, NULL, NULL);
  g_test_dbus_stop (bus);
  remove_tree (dir);
}

static void
test_keyring (void)
{
  g_autofree char *program = g_find_program_in_path ("gnome-keyring-daemon");

  if (program == NULL)
    {
      g_test_skip ("gnome-keyring-daemon is not installed");
      return;
    }
  g_test_trap_subprocess ("/keystore/keyring/subprocess", 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  /* Without a bus, unless a test starts one. */
  g_unsetenv ("DBUS_SESSION_BUS_ADDRESS");
  g_setenv ("XDG_RUNTIME_DIR", "/nonexistent", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/keystore/rule-b9/plain-file-0600-and-said", test_plain);
  ADD ("/keystore/passphrase", test_passphrase);
  ADD ("/keystore/change-of-keep", test_change);
  ADD ("/keystore/hostile", test_hostile);
  ADD ("/keystore/damaged", test_damaged);
  ADD ("/keystore/choose-without-bus", test_choose);
  g_test_add_func ("/keystore/stuck", test_stuck);
  g_test_add_func ("/keystore/stuck/subprocess", test_stuck_process);
  g_test_add_func ("/keystore/keyring", test_keyring);
  g_test_add_func ("/keystore/keyring/subprocess", test_keyring_process);
  return g_test_run ();
}
