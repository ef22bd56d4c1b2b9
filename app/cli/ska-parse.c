/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Global options may stand anywhere; options of a command after its words. "--" ends the
 * options. */
#include "ska-cli.h"

#include <string.h>

/* Where the parser is. */
typedef struct
{
  SkaCli *cli;
  int argc;
  char **argv;
  int next;
  GString *words; /* of the command, so far */
  guint positional; /* next positional argument of the command */
  gboolean plain; /* after "--" */
  GHashTable *lists; /* key -> GPtrArray of char*, for arguments that collect */
} Parser;

static gboolean
is_prefix_of_command (const char *words)
{
  guint n;
  const SkaCommand *commands = ska_commands (&n);
  gsize len = strlen (words);

  for (guint i = 0; i < n; i++)
    {
      if (strncmp (commands[i].words, words, len) == 0
          && (commands[i].words[len] == ' ' || commands[i].words[len] == '\0'))
        return TRUE;
    }
  return FALSE;
}

static const SkaCommand *
find_command (const char *words)
{
  guint n;
  const SkaCommand *commands = ska_commands (&n);

  for (guint i = 0; i < n; i++)
    {
      if (strcmp (commands[i].words, words) == 0)
        return &commands[i];
    }
  return NULL;
}

/* --- storing --- */

static gboolean
collects (SkaKind kind)
{
  return kind == SKA_NAMES || kind == SKA_SETTINGS || kind == SKA_GLOBS;
}

static void
store (SkaCli *cli, const SkaArg *arg, GVariant *value)
{
  gboolean own = arg->key[0] == '.';

  g_hash_table_insert (own ? cli->own : cli->values, (gpointer) arg->key,
                       g_variant_ref_sink (value));
}

static gboolean
check_collected (const SkaArg *arg, const char *text, GError **error)
{
  g_autofree char *shown = ska_escape (text);

  if (arg->kind != SKA_GLOBS && !g_utf8_validate (text, -1, NULL))
    return sk_fail (error, SK_ERROR_USAGE, "“%s” is not UTF-8", shown);
  if (arg->kind == SKA_SETTINGS && (strchr (text, '=') == NULL || *text == '='))
    return sk_fail (error, SK_ERROR_USAGE, "“%s” is no setting: it must be key=value", shown);
  return TRUE;
}

static gboolean
take_value (Parser *self, const SkaArg *arg, const char *text, GError **error)
{
  GVariant *value;

  if (collects (arg->kind))
    {
      GPtrArray *list = g_hash_table_lookup (self->lists, arg);

      if (!check_collected (arg, text, error))
        return FALSE;
      if (list == NULL)
        {
          list = g_ptr_array_new ();
          g_hash_table_insert (self->lists, (gpointer) arg, list);
        }
      g_ptr_array_add (list, (gpointer) text);
      return TRUE;
    }
  if (g_hash_table_contains (self->cli->values, arg->key)
      || g_hash_table_contains (self->cli->own, arg->key))
    return sk_fail (error, SK_ERROR_USAGE, "“%s” was given twice", arg->name);
  value = ska_value (self->cli, arg, text, error);
  if (value == NULL)
    return FALSE;
  store (self->cli, arg, value);
  return TRUE;
}

static GVariant *
build_settings (GPtrArray *list)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  for (guint i = 0; i < list->len; i++)
    {
      const char *text = g_ptr_array_index (list, i);
      const char *equals = strchr (text, '=');
      g_autofree char *key = g_strndup (text, (gsize) (equals - text));

      g_variant_builder_add (&builder, "{ss}", key, equals + 1);
    }
  return g_variant_builder_end (&builder);
}

static void
store_lists (Parser *self)
{
  GHashTableIter iter;
  gpointer key;
  gpointer value;

  g_hash_table_iter_init (&iter, self->lists);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      const SkaArg *arg = key;
      GPtrArray *list = value;

      if (arg->kind == SKA_SETTINGS)
        store (self->cli, arg, build_settings (list));
      else if (arg->kind == SKA_GLOBS)
        store (self->cli, arg,
               g_variant_new_bytestring_array ((const char *const *) list->pdata, list->len));
      else
        store (self->cli, arg, g_variant_new_strv ((const char *const *) list->pdata, list->len));
    }
}

/* --- options --- */

static const SkaArg *
find_in (const SkaArg *args, const char *name, gsize len)
{
  for (const SkaArg *arg = args; arg != NULL && arg->name != NULL; arg++)
    {
      if (strncmp (arg->name, name, len) == 0 && arg->name[len] == '\0')
        return arg;
    }
  return NULL;
}

static const SkaArg *
find_option (SkaCli *cli, const char *text, gsize len)
{
  const SkaArg *arg = NULL;

  if (len == 2 && strncmp (text, "-h", 2) == 0)
    {
      text = "--help";
      len = strlen (text);
    }
  if (cli->command != NULL)
    arg = find_in (cli->command->args, text, len);
  return arg != NULL ? arg : find_in (ska_global_options (), text, len);
}

static gboolean
parse_option (Parser *self, const char *text, GError **error)
{
  const char *equals = strchr (text, '=');
  gsize len = equals != NULL ? (gsize) (equals - text) : strlen (text);
  const SkaArg *arg = find_option (self->cli, text, len);
  g_autofree char *shown = NULL;

  if (arg == NULL)
    {
      g_autofree char *option = g_strndup (text, len);

      shown = ska_escape (option);
      if (self->cli->command == NULL && self->words->len == 0)
        return sk_fail (error, SK_ERROR_USAGE, "There is no option “%s” before a command", shown);
      return sk_fail (error, SK_ERROR_USAGE, "“%s” has no option “%s”", self->words->str, shown);
    }
  if (arg->kind == SKA_FLAG)
    {
      if (equals != NULL)
        return sk_fail (error, SK_ERROR_USAGE, "The option “%s” takes no value", arg->name);
      store (self->cli, arg, g_variant_new_boolean (TRUE));
      return TRUE;
    }
  if (equals != NULL)
    return take_value (self, arg, equals + 1, error);
  if (self->next >= self->argc)
    return sk_fail (error, SK_ERROR_USAGE, "The option “%s” needs a value: %s", arg->name,
                    arg->value);
  return take_value (self, arg, self->argv[self->next++], error);
}

/* --- words and positional arguments --- */

static const SkaArg *
positional_at (const SkaCommand *command, guint index)
{
  for (const SkaArg *arg = command->args; arg->name != NULL; arg++)
    {
      if (arg->name[0] == '-')
        continue;
      if (index == 0 || collects (arg->kind))
        return arg;
      index--;
    }
  return NULL;
}

/* A further word of the command, when there is such a command: "invite list" is not "invite". */
static gboolean
try_word (Parser *self, const char *text)
{
  g_autofree char *longer
      = g_strconcat (self->words->str, self->words->len > 0 ? " " : "", text, NULL);

  if (self->positional > 0 || !is_prefix_of_command (longer))
    return FALSE;
  g_string_assign (self->words, longer);
  self->cli->command = find_command (longer);
  return TRUE;
}

static gboolean
fail_unknown (Parser *self, const char *text, GError **error)
{
  g_autofree char *shown = ska_escape (text);

  return sk_fail (error, SK_ERROR_USAGE,
                  "There is no command “%s%s%s”; “skerryctl --help” lists them", self->words->str,
                  self->words->len > 0 ? " " : "", shown);
}

static gboolean
parse_word (Parser *self, const char *text, GError **error)
{
  const SkaArg *arg;
  g_autofree char *shown = NULL;

  if (!self->plain && try_word (self, text))
    return TRUE;
  if (self->words->len == 0 && strcmp (text, "help") == 0)
    {
      self->cli->help = TRUE;
      return TRUE;
    }
  if (self->cli->command == NULL)
    return fail_unknown (self, text, error);
  arg = positional_at (self->cli->command, self->positional);
  if (arg == NULL)
    {
      shown = ska_escape (text);
      return sk_fail (error, SK_ERROR_USAGE, "“%s” takes no further argument: “%s”",
                      self->words->str, shown);
    }
  self->positional++;
  return take_value (self, arg, text, error);
}

static gboolean
check_required (SkaCli *cli, GError **error)
{
  for (const SkaArg *arg = cli->command->args; arg->name != NULL; arg++)
    {
      if (arg->required && !g_hash_table_contains (cli->values, arg->key)
          && !g_hash_table_contains (cli->own, arg->key))
        return sk_fail (error, SK_ERROR_USAGE, "“%s” needs %s: %s", cli->command->words, arg->name,
                        arg->help);
    }
  return TRUE;
}

gboolean
ska_own_flag (SkaCli *cli, const char *key)
{
  return g_hash_table_contains (cli->own, key);
}

/* The environment counts only when the command line says nothing. */
static gboolean
take_globals (SkaCli *cli, GError **error)
{
  GVariant *home = g_hash_table_lookup (cli->own, ".home");
  GVariant *passphrase = g_hash_table_lookup (cli->own, ".passphrase");
  const char *file = g_getenv ("SKERRY_PASSPHRASE_FILE");
  char *line_end;

  cli->json = ska_own_flag (cli, ".json");
  cli->version = ska_own_flag (cli, ".version");
  cli->help = cli->help || ska_own_flag (cli, ".help");
  cli->no_passphrase = ska_own_flag (cli, ".no-passphrase");
  if (home != NULL)
    cli->home = g_canonicalize_filename (g_variant_get_bytestring (home), NULL);
  if (cli->help || cli->version)
    return TRUE;
  if (passphrase != NULL && cli->no_passphrase)
    return sk_fail (error, SK_ERROR_USAGE,
                    "--passphrase-file and --no-passphrase exclude each other");
  if (passphrase != NULL)
    cli->passphrase = g_variant_dup_string (passphrase, NULL);
  else if (!cli->no_passphrase && file != NULL && *file != '\0')
    cli->passphrase = ska_read_text (cli, file, error);
  else
    return TRUE;
  if (cli->passphrase == NULL)
    return FALSE;
  line_end = strpbrk (cli->passphrase, "\r\n");
  if (line_end != NULL)
    *line_end = '\0';
  if (*cli->passphrase == '\0')
    return sk_fail (error, SK_ERROR_USAGE, "The first line of the passphrase file is empty");
  return TRUE;
}

static gboolean
parse_tokens (Parser *self, GError **error)
{
  while (self->next < self->argc)
    {
      const char *text = self->argv[self->next++];
      gboolean option = !self->plain && text[0] == '-' && text[1] != '\0';

      if (option && strcmp (text, "--") == 0)
        self->plain = TRUE;
      else if (!(option ? parse_option (self, text, error) : parse_word (self, text, error)))
        return FALSE;
    }
  store_lists (self);
  return TRUE;
}

gboolean
ska_parse (SkaCli *cli, int argc, char **argv, GError **error)
{
  Parser parser = { .cli = cli, .argc = argc, .argv = argv, .next = 1 };
  g_autoptr(GString) words = g_string_new (NULL);
  g_autoptr(GHashTable) lists
      = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  gboolean done;

  parser.words = words;
  parser.lists = lists;
  done = parse_tokens (&parser, error);
  if (!done)
    {
      /* What is known already decides how the error is shown. */
      cli->json = ska_own_flag (cli, ".json");
      return FALSE;
    }
  if (!take_globals (cli, error))
    return FALSE;
  if (cli->help || cli->version)
    {
      if (cli->command == NULL && words->len > 0)
        g_hash_table_insert (cli->own, (gpointer) ".group",
                             g_variant_ref_sink (g_variant_new_string (words->str)));
      return TRUE;
    }
  if (cli->command == NULL && words->len > 0)
    return sk_fail (error, SK_ERROR_USAGE,
                    "“%s” needs a further word; “skerryctl %s --help” lists them", words->str,
                    words->str);
  if (cli->command == NULL)
    return sk_fail (error, SK_ERROR_USAGE, "No command; “skerryctl --help” lists them");
  return check_required (cli, error);
}
