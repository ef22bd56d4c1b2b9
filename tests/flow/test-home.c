/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-home.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "sk-limits.h"

typedef struct { char *dir; char *home; } Fixture;

static void
remove_tree (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR) && !g_file_test (child, G_FILE_TEST_IS_SYMLINK))
        remove_tree (child);
      else
        g_unlink (child);
    }
  g_rmdir (path);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  f->dir = g_dir_make_tmp ("skerry-home-XXXXXX", NULL);
  f->home = g_build_filename (f->dir, "a", "home", NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->dir);
  g_free (f->dir);
  g_free (f->home);
}

static guint
mode_of (const char *path)
{
  struct stat st;

  g_assert_cmpint (lstat (path, &st), ==, 0);
  return st.st_mode & 07777;
}

static void
put_file (const char *dir, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
test_second_open (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkHome) first = sk_home_open (f->home, &error);
  g_autofree char *pid = g_strdup_printf ("process %ld)", (long) getpid ());

  g_assert_no_error (error);
  g_assert_cmpuint (mode_of (f->home), ==, 0700);
  g_assert_null (sk_home_open (f->home, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  g_assert_nonnull (strstr (error->message, pid));
  g_assert_nonnull (strstr (error->message, f->home));
  g_clear_error (&error);

  /* By another name as well: the lock is on the directory's own file. */
  {
    g_autofree char *link = g_build_filename (f->dir, "link", NULL);

    g_assert_cmpint (symlink (f->home, link), ==, 0);
    g_assert_null (sk_home_open (link, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
    g_clear_error (&error);
  }

  g_clear_pointer (&first, sk_home_close);
  first = sk_home_open (f->home, &error);
  g_assert_no_error (error);
  g_assert_nonnull (first);
}

static void
test_other_process (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkHome) home = NULL;
  g_autofree char *pid = NULL;
  int ready[2];
  int status;
  char byte;
  pid_t child;

  g_assert_cmpint (pipe (ready), ==, 0);
  child = fork ();
  if (child == 0)
    {
      SkHome *held = sk_home_open (f->home, NULL);

      if (held == NULL || write (ready[1], "x", 1) != 1)
        _exit (1);
      pause ();
      _exit (0);
    }
  g_assert_cmpint (read (ready[0], &byte, 1), ==, 1);
  g_assert_null (sk_home_open (f->home, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  pid = g_strdup_printf ("process %ld)", (long) child);
  g_assert_nonnull (strstr (error->message, pid));
  g_clear_error (&error);

  /* A killed owner leaves no lock behind. */
  kill (child, SIGKILL);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  home = sk_home_open (f->home, &error);
  g_assert_no_error (error);
  g_assert_nonnull (home);
  close (ready[0]);
  close (ready[1]);
}

static void
test_refused_places (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *file = g_build_filename (f->dir, "file", NULL);
  g_autofree char *wide = g_build_filename (f->dir, "wide", NULL);
  g_autoptr(SkHome) home = NULL;

  put_file (f->dir, "file", "x");
  g_chmod (f->dir, 0755);
  g_assert_null (sk_home_open (f->dir, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_assert_cmpuint (mode_of (f->dir), ==, 0755);
  g_clear_error (&error);
  g_assert_null (sk_home_open (file, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_null (sk_home_open ("", &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_clear_error (&error);

  g_mkdir (wide, 0777);
  home = sk_home_open (wide, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (mode_of (wide), ==, 0700);
}

static void
fill_config (SkHomeConfig *config)
{
  memset (config, 0, sizeof *config);
  sk_id_random (&config->vault);
  sk_device_id_random (&config->device);
  sk_id_new_writer (&config->device, &config->writer);
  config->vault_name = g_strdup ("Fotos \"ä\" \n\\");
  config->device_name = g_strdup ("läptop");
  memset (config->recovery_sign.bytes, 0xab, 32);
  memset (config->recovery_box.bytes, 0x01, 32);
}

static void
test_config_round_trip (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkHome) home = sk_home_open (f->home, &error);
  g_autofree char *path = sk_home_file (home, "vault.json");
  SkHomeConfig config;
  SkHomeConfig back;

  g_assert_false (sk_home_load_config (home, &back, &error));
  g_assert_no_error (error);
  fill_config (&config);
  g_assert_true (sk_home_save_config (home, &config, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (mode_of (path), ==, 0600);
  g_assert_true (sk_home_load_config (home, &back, &error));
  g_assert_no_error (error);
  g_assert_true (sk_id_equal (&back.vault, &config.vault));
  g_assert_true (sk_id_equal (&back.writer, &config.writer));
  g_assert_true (sk_device_id_equal (&back.device, &config.device));
  g_assert_cmpstr (back.vault_name, ==, config.vault_name);
  g_assert_cmpstr (back.device_name, ==, config.device_name);
  g_assert_cmpmem (back.recovery_sign.bytes, 32, config.recovery_sign.bytes, 32);
  g_assert_cmpmem (back.recovery_box.bytes, 32, config.recovery_box.bytes, 32);
  sk_home_config_clear (&back);

  g_free (config.vault_name);
  config.vault_name = g_strnfill (SK_LABEL_MAX + 1, 'x');
  g_assert_false (sk_home_save_config (home, &config, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  sk_home_config_clear (&config);
}

static void
assert_config_refused (SkHome *home, const char *text, gsize len, int code)
{
  g_autoptr(GError) error = NULL;
  SkHomeConfig config;

  g_assert_true (sk_home_write_file (home, "vault.json", text, len, NULL));
  g_assert_false (sk_home_load_config (home, &config, &error));
  g_assert_error (error, SK_ERROR, code);
}

static void
test_config_hostile (Fixture *f, gconstpointer data)
{
  g_autoptr(SkHome) home = sk_home_open (f->home, NULL);
  g_autofree char *path = sk_home_file (home, "vault.json");
  g_autofree char *text = NULL;
  g_autofree char *big = g_strnfill (9000, '[');
  SkHomeConfig config;
  gsize len;

  fill_config (&config);
  g_assert_true (sk_home_save_config (home, &config, NULL));
  sk_home_config_clear (&config);
  g_assert_true (g_file_get_contents (path, &text, &len, NULL));
  /* The last byte is a newline, the one before the closing brace. */
  for (gsize i = 0; i + 1 < len; i++)
    assert_config_refused (home, text, i, SK_ERROR_CORRUPT);
  assert_config_refused (home, big, 9000, SK_ERROR_LIMIT);
  assert_config_refused (home, big, 8000, SK_ERROR_CORRUPT);
  assert_config_refused (home, "[1]", 3, SK_ERROR_CORRUPT);
  assert_config_refused (home, "{\"version\": 1}", 14, SK_ERROR_CORRUPT);
  assert_config_refused (home, "{\"version\": null}", 17, SK_ERROR_CORRUPT);
  /* Written twice over: neither is believed. */
  assert_config_refused (home, "{\"version\": 1}{\"version\": 2}", 28, SK_ERROR_CORRUPT);
  assert_config_refused (home, "{\"version\": 2}", 14, SK_ERROR_TOO_NEW);
  for (gsize i = 0; i < len; i++)
    {
      g_autofree char *flipped = g_strndup (text, len);
      SkHomeConfig out;

      flipped[i] ^= 0x04;
      g_assert_true (sk_home_write_file (home, "vault.json", flipped, len, NULL));
      if (sk_home_load_config (home, &out, NULL))
        g_assert_nonnull (out.vault_name);
      sk_home_config_clear (&out);
    }

  g_unlink (path);
  g_assert_cmpint (symlink ("/dev/zero", path), ==, 0);
  g_assert_false (sk_home_load_config (home, &config, NULL));
  g_unlink (path);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  g_assert_false (sk_home_load_config (home, &config, NULL));
}

static void
test_identity (Fixture *f, gconstpointer data)
{
  g_autoptr(SkHome) home = sk_home_open (f->home, NULL);
  g_autofree char *database = sk_home_file (home, "index.db");
  g_autofree char *copy = sk_home_file (home, "index.copy");
  SkHash first;
  SkHash again;
  SkHash other;

  put_file (f->home, "index.db", "database");
  sk_home_identity (home, database, &first);
  sk_home_identity (home, "index.db", &again);
  g_assert_true (sk_hash_equal (&first, &again));
  put_file (f->home, "index.copy", "database");
  g_assert_cmpint (g_rename (copy, database), ==, 0);
  sk_home_identity (home, database, &other);
  g_assert_false (sk_hash_equal (&first, &other));
}

static void
test_write_file (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkHome) home = sk_home_open (f->home, NULL);
  g_autofree char *path = sk_home_file (home, "x");
  g_autofree char *temp = sk_home_file (home, "x.new");
  g_autoptr(GBytes) bytes = NULL;

  put_file (f->home, "x.new", "left by a crash");
  g_assert_true (sk_home_write_file (home, "x", "abc", 3, &error));
  g_assert_no_error (error);
  g_assert_false (g_file_test (temp, G_FILE_TEST_EXISTS));
  g_chmod (path, 0644);
  bytes = sk_home_read_file (home, "x", 3, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "abc", 3);
  g_assert_cmpuint (mode_of (path), ==, 0600);
  g_assert_null (sk_home_read_file (home, "x", 2, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_true (sk_home_remove_file (home, "x", &error));
  g_assert_true (sk_home_remove_file (home, "x", &error));
  g_assert_null (sk_home_read_file (home, "x", 3, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_NOT_FOUND);
}

/* Somebody took the lock for a stale one and removed it. */
static void
test_lock_removed (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkHome) home = sk_home_open (f->home, &error);
  g_autofree char *lock = g_build_filename (f->home, "lock", NULL);

  g_assert_no_error (error);
  g_assert_true (sk_home_write_file (home, SK_HOME_CONFIG_NAME, "{}", 2, &error));
  g_assert_no_error (error);
  g_clear_pointer (&home, sk_home_close);
  g_assert_cmpint (g_unlink (lock), ==, 0);
  home = sk_home_open (f->home, &error);
  g_assert_no_error (error);
  g_assert_nonnull (home);
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/home/sit-B096/second-open-names-pid", test_second_open);
  ADD ("/home/sit-B096/other-process-names-pid", test_other_process);
  ADD ("/home/lock-removed", test_lock_removed);
  ADD ("/home/refused-places", test_refused_places);
  ADD ("/home/config-round-trip", test_config_round_trip);
  ADD ("/home/config-hostile", test_config_hostile);
  ADD ("/home/identity", test_identity);
  ADD ("/home/write-file", test_write_file);
  return g_test_run ();
}
