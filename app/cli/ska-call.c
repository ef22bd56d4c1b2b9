/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Worker thread of the program: opening the engine, calling it, asking the person. */
#include "ska-cli.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define PASSPHRASE_TRIES 3
/* Times that a command is begun anew because the program that did it ended. */
#define LEFT_ALONE_MAX 100u
#define LEFT_ALONE_PAUSE_US 20000

gboolean
ska_is_terminal (FILE *stream)
{
  int fd = fileno (stream);

  return fd >= 0 && isatty (fd);
}

/* --- asking --- */

/* FALSE: cancelled, or the end. */
static gboolean
read_byte (SkaCli *cli, int fd, char *byte)
{
  GPollFD cancel;
  struct pollfd fds[2] = { { .fd = fd, .events = POLLIN } };
  gboolean cancellable = g_cancellable_make_pollfd (cli->cancellable, &cancel);
  gssize n = -1;

  if (cancellable)
    fds[1] = (struct pollfd){ .fd = cancel.fd, .events = POLLIN };
  if (poll (fds, cancellable ? 2 : 1, -1) > 0 && fds[0].revents != 0)
    n = read (fd, byte, 1);
  if (cancellable)
    g_cancellable_release_fd (cli->cancellable);
  return n == 1;
}

char *
ska_ask (SkaCli *cli, const char *question, gboolean secret)
{
  int fd = fileno (cli->in);
  struct termios before;
  gboolean quiet = secret && tcgetattr (fd, &before) == 0;
  char line[LINE_MAX_BYTES];
  gsize len = 0;
  char byte = 0;
  gboolean ended = FALSE;
  char *text;

  ska_progress_end (cli);
  fputs (question, cli->err);
  fflush (cli->err);
  if (quiet)
    {
      struct termios silent = before;

      silent.c_lflag &= ~(tcflag_t) ECHO;
      tcsetattr (fd, TCSAFLUSH, &silent);
    }
  while (len + 1 < sizeof line && byte != '\n' && !(ended = !read_byte (cli, fd, &byte)))
    line[len++] = byte;
  if (quiet)
    {
      tcsetattr (fd, TCSAFLUSH, &before);
      fputc ('\n', cli->err);
    }
  while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
    len--;
  text = ended && len == 0 ? NULL : g_strndup (line, len);
  explicit_bzero (line, sizeof line);
  return text;
}

/* --- opening --- */

static gboolean
try_open (SkaCli *cli, SkClientFlags flags, GError **error)
{
  SkClientOptions options = { .home = cli->home, .passphrase = cli->passphrase, .flags = flags };

  cli->client = sk_client_open (&options, cli->cancellable, error);
  return cli->client != NULL;
}

gboolean
ska_open (SkaCli *cli, SkClientFlags flags, GError **error)
{
  gboolean may_ask = cli->passphrase == NULL && ska_is_terminal (cli->in);

  for (guint i = 0;; i++)
    {
      g_autoptr(GError) local = NULL;

      if (try_open (cli, flags, &local))
        return TRUE;
      if (!may_ask || i == PASSPHRASE_TRIES
          || !g_error_matches (local, SK_ERROR, SK_ERROR_WRONG_KEY))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      ska_wipe (g_steal_pointer (&cli->passphrase));
      cli->passphrase = ska_ask (cli, "Passphrase of this home: ", TRUE);
      if (cli->passphrase == NULL)
        return sk_fail (error, SK_ERROR_CANCELLED, "No passphrase was given");
    }
}

/* --- calling --- */

GVariant *
ska_arguments (SkaCli *cli)
{
  GVariantBuilder builder;
  GHashTableIter iter;
  gpointer key;
  gpointer value;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_hash_table_iter_init (&iter, cli->values);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_variant_builder_add (&builder, "{sv}", key, value);
  if (cli->passphrase != NULL && (cli->command->flags & (SKA_KEYS | SKA_PASSPHRASE)) != 0)
    g_variant_builder_add (&builder, "{sv}", "passphrase", g_variant_new_string (cli->passphrase));
  if (cli->no_passphrase && (cli->command->flags & SKA_KEYS) != 0)
    g_variant_builder_add (&builder, "{sv}", "no-passphrase", g_variant_new_boolean (TRUE));
  return g_variant_builder_end (&builder);
}

GVariant *
ska_call (SkaCli *cli, const char *wire, GVariant *args, GError **error)
{
  GVariant *reply
      = sk_client_command (cli->client, wire, args, ska_progress, cli, cli->cancellable, error);

  ska_progress_end (cli);
  return reply;
}

static void
show (SkaCli *cli, GVariant *reply)
{
  if (cli->json)
    ska_json_reply (cli, reply);
  else
    cli->command->print (cli, reply);
  fflush (cli->out);
  cli->status = ska_get_flag (reply, "attention") ? SKA_ATTENTION : SKA_DONE;
}

/* The other program ended, and with it what it did for this one. A command that was cancelled can
 * be repeated; it is done by the next one that has the home, or here. */
static gboolean
was_left_alone (SkaCli *cli, const GError *error)
{
  if (!sk_client_is_remote (cli->client) || g_cancellable_is_cancelled (cli->cancellable))
    return FALSE;
  return g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED) || sk_client_is_lost (cli->client);
}

gboolean
ska_run_plain (SkaCli *cli, GError **error)
{
  SkClientFlags flags
      = (cli->command->flags & SKA_LONG) != 0 ? SK_CLIENT_SERVE : SK_CLIENT_NONE;
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GError) local = NULL;

  for (guint i = 0; reply == NULL && (i == 0 || (i < LEFT_ALONE_MAX && was_left_alone (cli, local))); i++)
    {
      g_clear_error (&local);
      g_clear_pointer (&cli->client, sk_client_close);
      if (i > 0)
        g_usleep (LEFT_ALONE_PAUSE_US);
      if (!ska_open (cli, flags, error))
        return FALSE;
      reply = ska_call (cli, cli->command->wire, ska_arguments (cli), &local);
    }
  if (reply == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  show (cli, reply);
  return TRUE;
}
