/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command line: words that end with a zero byte. What the program takes from it has the types and keys that the engine wants. */
#include "ska-cli.h"

#include "sk-args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 32

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *dir;
static FILE *nothing, *sink;

static void
clean_up (void)
{
  fclose (nothing);
  fclose (sink);
  rmdir (dir);
  g_free (dir);
}

/* An empty directory to stand in: a word may name a file that is to be read. */
static void
set_up (void)
{
  dir = g_dir_make_tmp ("fuzz-cli-XXXXXX", NULL);
  g_assert_cmpint (chdir (dir), ==, 0);
  nothing = fopen ("/dev/null", "r");
  sink = fopen ("/dev/null", "w");
  unsetenv ("SKERRY_PASSPHRASE_FILE");
  atexit (clean_up);
}

static void
use (SkaCli *cli)
{
  g_autoptr(GVariant) args = NULL;
  g_autoptr(GError) error = NULL;

  if (cli->help)
    ska_help (cli, sink);
  if (cli->help || cli->version || cli->command->wire == NULL)
    return;
  args = g_variant_ref_sink (ska_arguments (cli));
  /* Ranges that belong together are the engine's to judge. */
  if (!sk_args_check (cli->command->wire, args, &error))
    g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  char *words[WORDS_MAX + 2] = { (char *) "skerryctl" };
  SkaCli cli = { .status = SKA_DONE };
  g_autoptr(GError) error = NULL;
  int n = 1;

  if (dir == NULL)
    set_up ();
  memcpy (text, data, size);
  for (gsize at = 0; at < size && n <= WORDS_MAX; at += strlen (text + at) + 1)
    words[n++] = text + at;
  /* No device or pipe is opened: their reading has no end. */
  for (int i = 1; i < n; i++)
    if (strstr (words[i], "-file") != NULL)
      for (gsize k = 0; k < size; k++)
        text[k] = text[k] == '/' ? '_' : text[k];
  cli.in = nothing;
  cli.out = cli.err = sink;
  cli.values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) g_variant_unref);
  cli.own = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) g_variant_unref);
  if (ska_parse (&cli, n, words, &error))
    use (&cli);
  else
    g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_hash_table_unref (cli.values);
  g_hash_table_unref (cli.own);
  ska_wipe (cli.passphrase);
  g_free (cli.home);
  return 0;
}
