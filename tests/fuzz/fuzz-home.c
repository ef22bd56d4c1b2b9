/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small files of a home: the first byte chooses which one has the rest as its content. */
#include "sk-home.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *dir;
static SkHome *home;

static void
clean_up (void)
{
  static const char *const names[] = { "vault.json", "keep", "keys", "lock" };

  sk_home_close (home);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (dir, names[i], NULL);

      g_unlink (path);
    }
  g_rmdir (dir);
  g_free (dir);
}

static void
set_up (void)
{
  g_assert_true (sk_crypto_init (NULL));
  dir = g_dir_make_tmp ("fuzz-home-XXXXXX", NULL);
  home = sk_home_open (dir, NULL);
  g_assert_nonnull (home);
  atexit (clean_up);
}

static void
write_it (const char *name, gconstpointer data, gsize len)
{
  g_autofree char *path = sk_home_file (home, name);

  g_assert_true (g_file_set_contents_full (path, data != NULL ? data : "", (gssize) len, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* What was understood is written again, and means the same. */
static void
read_config (void)
{
  SkHomeConfig config = { .vault_name = NULL }, again = { .vault_name = NULL };

  if (sk_home_load_config (home, &config, NULL))
    {
      g_assert_true (g_utf8_validate (config.vault_name, -1, NULL) && g_utf8_validate (config.device_name, -1, NULL));
      g_assert_true (sk_home_save_config (home, &config, NULL));
      g_assert_true (sk_home_load_config (home, &again, NULL));
      g_assert_cmpstr (config.vault_name, ==, again.vault_name);
      g_assert_cmpstr (config.device_name, ==, again.device_name);
      g_assert_true (sk_id_equal (&config.vault, &again.vault) && sk_id_equal (&config.writer, &again.writer)
                     && sk_device_id_equal (&config.device, &again.device));
      g_assert_cmpmem (&config.recovery_sign, sizeof config.recovery_sign, &again.recovery_sign, sizeof again.recovery_sign);
      g_assert_cmpmem (&config.recovery_box, sizeof config.recovery_box, &again.recovery_box, sizeof again.recovery_box);
    }
  sk_home_config_clear (&config);
  sk_home_config_clear (&again);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(SkIdentity) device = NULL;
  g_autoptr(SkKeyring) keys = NULL;
  g_autoptr(GError) error = NULL;
  SkKeep keep;

  if (home == NULL)
    set_up ();
  if (size == 0)
    return 0;
  if (data[0] % 3 == 0)
    {
      write_it ("vault.json", data + 1, size - 1);
      read_config ();
      return 0;
    }
  /* What lies in a keyring is asked for over a bus, which is not here. */
  if (data[0] % 3 == 1 && size > 3 && memcmp (data + 1, "key", 3) == 0)
    return 0;
  write_it ("keep", data[0] % 3 == 1 ? data + 1 : (gconstpointer) "plain\n", data[0] % 3 == 1 ? size - 1 : 6);
  write_it ("keys", data + 1, size - 1);
  if (!sk_home_load_secrets (home, NULL, &device, &keys, &keep, &error))
    g_assert_nonnull (error);
  return 0;
}
