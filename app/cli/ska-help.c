/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

#include <string.h>

#define WIDTH 78
#define OPTION_COLUMN 26

/* Writes words with line breaks; lines that follow are indented by @indent. @column: where the
 * cursor is. */
static void
write_wrapped (const char *text, guint indent, guint column, FILE *to)
{
  g_auto(GStrv) words = g_strsplit (text, " ", 0);

  for (guint i = 0; words[i] != NULL; i++)
    {
      guint width = (guint) g_utf8_strlen (words[i], -1);

      if (column + 1 + width > WIDTH && column > indent)
        {
          fprintf (to, "\n%*s", (int) indent, "");
          column = indent;
        }
      else if (i > 0)
        {
          fputc (' ', to);
          column++;
        }
      fputs (words[i], to);
      column += width;
    }
  fputc ('\n', to);
}

static void
write_paragraphs (const char *text, FILE *to)
{
  g_auto(GStrv) lines = g_strsplit (text, "\n", 0);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      /* Lines that are laid out in columns stay as they are. */
      if (strstr (lines[i], "  ") != NULL)
        fprintf (to, "  %s\n", lines[i]);
      else
        write_wrapped (lines[i], 0, 0, to);
    }
}

static void
write_entry (const char *name, const char *value, const char *help, FILE *to)
{
  g_autofree char *left
      = g_strdup_printf ("  %s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
  guint width = (guint) g_utf8_strlen (left, -1);

  if (width + 2 > OPTION_COLUMN)
    fprintf (to, "%s\n%*s", left, OPTION_COLUMN, "");
  else
    fprintf (to, "%s%*s", left, (int) (OPTION_COLUMN - width), "");
  write_wrapped (help, OPTION_COLUMN, OPTION_COLUMN, to);
}

static void
write_options (const SkaArg *args, gboolean options, const char *title, FILE *to)
{
  gboolean any = FALSE;

  for (const SkaArg *arg = args; arg->name != NULL; arg++)
    {
      if ((arg->name[0] == '-') != options)
        continue;
      if (!any)
        fprintf (to, "\n%s\n", title);
      any = TRUE;
      write_entry (arg->name, options ? arg->value : NULL, arg->help, to);
    }
}

static void
write_usage (const SkaCommand *command, FILE *to)
{
  fprintf (to, "Usage: skerryctl [GLOBAL OPTIONS] %s", command->words);
  for (const SkaArg *arg = command->args; arg->name != NULL; arg++)
    {
      gboolean rest = arg->kind == SKA_NAMES || arg->kind == SKA_SETTINGS || arg->kind == SKA_GLOBS;
      g_autofree char *shown = arg->value == NULL
                                   ? g_strdup (arg->name)
                                   : g_strdup_printf ("%s %s", arg->name, arg->value);

      fprintf (to, arg->required ? " %s%s" : " [%s]%s", shown, rest ? "..." : "");
    }
  fputc ('\n', to);
}

static void
write_command (const SkaCommand *command, FILE *to)
{
  write_usage (command, to);
  fputc ('\n', to);
  {
    g_autofree char *first = g_utf8_strup (command->summary, 1);
    g_autofree char *sentence
        = g_strdup_printf ("%s%s.", first, g_utf8_next_char (command->summary));

    write_wrapped (sentence, 0, 0, to);
  }
  if (command->about != NULL)
    {
      fputc ('\n', to);
      write_paragraphs (command->about, to);
    }
  write_options (command->args, FALSE, "Arguments:", to);
  write_options (command->args, TRUE, "Options:", to);
  if (command->examples != NULL)
    {
      g_auto(GStrv) lines = g_strsplit (command->examples, "\n", 0);

      fputs ("\nExamples:\n", to);
      for (guint i = 0; lines[i] != NULL; i++)
        fprintf (to, "  %s\n", lines[i]);
    }
  fputs ("\nGlobal options: --home DIR, --json, --passphrase-file FILE, --no-passphrase; see "
         "“skerryctl --help”.\n",
         to);
}

static void
help_group (const char *group, FILE *to)
{
  guint n;
  const SkaCommand *commands = ska_commands (&n);
  gsize len = group != NULL ? strlen (group) : 0;

  for (guint i = 0; i < n; i++)
    {
      if (group == NULL
          || (strncmp (commands[i].words, group, len) == 0 && commands[i].words[len] == ' '))
        write_entry (commands[i].words, NULL, commands[i].summary, to);
    }
}

static void
write_all (FILE *to)
{
  fputs ("Usage: skerryctl [GLOBAL OPTIONS] COMMAND [ARGUMENTS]\n\n", to);
  write_wrapped ("Keeps folders the same on all your devices. Controls the engine that runs on a "
                 "home, or does the work itself when none runs.",
                 0, 0, to);
  fputs ("\nCommands:\n", to);
  help_group (NULL, to);
  write_options (ska_global_options (), TRUE, "Global options, in any position:", to);
  fputs ("\nExit status: 0 done, 1 failed, 2 wrong usage, 3 done but something wants attention.\n"
         "“skerryctl COMMAND --help” explains a command.\n",
         to);
}

void
ska_help (SkaCli *cli, FILE *to)
{
  GVariant *group = g_hash_table_lookup (cli->own, ".group");

  if (cli->command != NULL)
    write_command (cli->command, to);
  else if (group != NULL)
    {
      fprintf (to, "Usage: skerryctl [GLOBAL OPTIONS] %s COMMAND [ARGUMENTS]\n\nCommands:\n",
               g_variant_get_string (group, NULL));
      help_group (g_variant_get_string (group, NULL), to);
    }
  else
    write_all (to);
}
