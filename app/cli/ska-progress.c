/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bar on the terminal's last line; nothing where standard error is no terminal. */
#include "ska-cli.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_CELLS 24

static guint
terminal_width (FILE *stream)
{
  struct winsize size;

  if (ioctl (fileno (stream), TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
    return 80;
  return size.ws_col;
}

void
ska_progress_end (SkaCli *cli)
{
  if (!cli->bar)
    return;
  cli->bar = FALSE;
  fputs ("\r\033[K", cli->err);
  fflush (cli->err);
}

/* The six words are for the person, terminal or not. */
static void
show_words (SkaCli *cli, const char *words)
{
  if (*words == '\0' || g_strcmp0 (cli->words, words) == 0)
    return;
  g_free (cli->words);
  cli->words = ska_escape (words);
  ska_progress_end (cli);
  fprintf (cli->err, "The other device must show the same six words:\n\n  %s\n\n", cli->words);
  fflush (cli->err);
}

static char *
build_line (GVariant *progress)
{
  guint64 total = ska_get_number (progress, "total");
  guint64 done = MIN (ska_get_number (progress, "done"), total);
  guint64 bytes = ska_get_number (progress, "bytes");
  g_autofree char *text = ska_escape (ska_get (progress, "text"));
  g_autofree char *moved = bytes > 0 ? ska_size (bytes) : g_strdup ("");
  guint filled;
  char bar[BAR_CELLS + 1];

  if (total == 0)
    return g_strdup_printf ("%s  %s", text, moved);
  filled = (guint) ((double) done / (double) total * BAR_CELLS);
  memset (bar, ' ', BAR_CELLS);
  memset (bar, '#', MIN (filled, BAR_CELLS));
  bar[BAR_CELLS] = '\0';
  return g_strdup_printf ("[%s] %3u %%  %s  %s", bar,
                          (guint) ((double) done / (double) total * 100), text, moved);
}

void
ska_progress (GVariant *progress, gpointer data)
{
  SkaCli *cli = data;
  g_autofree char *line = NULL;
  g_autofree char *cut = NULL;

  show_words (cli, ska_get (progress, "words"));
  if (cli->json || !ska_is_terminal (cli->err))
    return;
  line = build_line (progress);
  cut = g_utf8_substring (line, 0,
                          MIN (g_utf8_strlen (line, -1), (glong) terminal_width (cli->err) - 1));
  fprintf (cli->err, "\r%s\033[K", cut);
  fflush (cli->err);
  cli->bar = TRUE;
}
