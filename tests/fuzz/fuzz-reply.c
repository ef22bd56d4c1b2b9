/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an engine may answer: the first byte chooses the command, the rest is the dictionary. It is printed for people, and as JSON that can be read
 * back; neither holds a control character that came with it. */
#include "ska-cli.h"

#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
assert_harmless (const char *text)
{
  g_assert_true (g_utf8_validate (text, -1, NULL));
  for (const char *c = text; *c != '\0'; c++)
    g_assert_true (((guchar) *c >= ' ' && *c != 127) || *c == '\n');
}

static void
print (const SkaCommand *command, GVariant *reply)
{
  char *text = NULL;
  size_t len = 0;
  SkaCli cli = { .command = command };

  cli.out = cli.err = open_memstream (&text, &len);
  cli.values = g_hash_table_new (g_str_hash, g_str_equal);
  cli.own = g_hash_table_new (g_str_hash, g_str_equal);
  if (command->print != NULL)
    command->print (&cli, reply);
  fclose (cli.out);
  assert_harmless (text);
  g_hash_table_unref (cli.values);
  g_hash_table_unref (cli.own);
  free (text);
}

static void
print_json (GVariant *reply)
{
  g_autofree char *text = ska_json (reply);
  g_autoptr(JsonParser) parser = json_parser_new ();
  g_autoptr(GError) error = NULL;

  assert_harmless (text);
  json_parser_load_from_data (parser, text, -1, &error);
  g_assert_no_error (error);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(GBytes) bytes = NULL;
  g_autoptr(GVariant) given = NULL;
  guint n;
  const SkaCommand *commands = ska_commands (&n);

  if (size < 1 || size > 65536)
    return 0;
  bytes = g_bytes_new (data + 1, size - 1);
  given = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE_VARDICT, bytes, FALSE));
  if (!g_variant_is_normal_form (given))         /* the socket lets nothing else through */
    return 0;
  print (&commands[data[0] % n], given);
  print_json (given);
  return 0;
}
