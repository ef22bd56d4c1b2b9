/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that are more than one call. Worker thread. */
#include "ska-cli.h"

#include <string.h>
#include <unistd.h>

/* --- invite --- */

static GVariant *
call_invitation (SkaCli *cli, const char *wire, const char *invite, const char *key,
                 const char *value, GError **error)
{
  GVariantDict dict;

  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "invite", "s", invite);
  if (key != NULL)
    g_variant_dict_insert (&dict, key, "s", value);
  return ska_call (cli, wire, g_variant_dict_end (&dict), error);
}

static GVariant *
ask_about (SkaCli *cli, GVariant *invitation, GError **error)
{
  g_autofree char *name = ska_escape (ska_get (invitation, "device-name"));
  g_autofree char *words = ska_escape (ska_get (invitation, "words"));
  g_autofree char *question = g_strdup_printf (
      "“%s” wants to join the vault and must show these words:\n\n  %s\n\nDoes it? [y/N] ", name,
      words);
  g_autofree char *answer = ska_ask (cli, question, FALSE);
  const char *invite = ska_get (invitation, "invite");

  if (answer != NULL
      && (g_ascii_strcasecmp (answer, "y") == 0 || g_ascii_strcasecmp (answer, "yes") == 0))
    return call_invitation (cli, "invite.confirm", invite, "device", ska_get (invitation, "device"),
                            error);
  return call_invitation (cli, "invite.refuse", invite, NULL, NULL, error);
}

static void
tell_about (SkaCli *cli, GVariant *invitation)
{
  g_autofree char *name = ska_escape (ska_get (invitation, "device-name"));
  g_autofree char *words = ska_escape (ska_get (invitation, "words"));

  fprintf (cli->err,
           "“%s” wants to join the vault and must show these words: %s\nAgree or refuse with "
           "“skerryctl issues” and “skerryctl resolve”.\n",
           name, words);
  fflush (cli->err);
}

/* TRUE: over, one way or the other. */
static gboolean
is_final (const char *state)
{
  return strcmp (state, "open") != 0 && strcmp (state, "asked") != 0;
}

static gboolean
finish_invitation (SkaCli *cli, GVariant *invitation, GError **error)
{
  const char *state = ska_get (invitation, "state");
  g_autofree char *name = ska_escape (ska_get (invitation, "device-name"));

  if (strcmp (state, "admitted") != 0)
    return sk_fail (error, SK_ERROR_FAILED, "The invitation was not used: %s",
                    strcmp (state, "expired") == 0 ? "its time is over"
                    : strcmp (state, "refused") == 0
                        ? "the device was refused"
                        : "a device failed three times to prove the code");
  if (cli->json)
    ska_json_reply (cli, invitation);
  else
    fprintf (cli->err, "“%s” is now a device of the vault.\n", name);
  return TRUE;
}

static gboolean
wait_for_use (SkaCli *cli, const char *invite, GError **error)
{
  gboolean may_ask = ska_is_terminal (cli->in) && ska_is_terminal (cli->err)
                     && !g_hash_table_contains (cli->values, "yes");
  g_autofree char *state = g_strdup ("open");

  for (;;)
    {
      g_autoptr(GVariant) invitation
          = call_invitation (cli, "invite.wait", invite, "state", state, error);

      if (invitation == NULL)
        return FALSE;
      if (strcmp (ska_get (invitation, "state"), "asked") == 0 && strcmp (state, "asked") != 0)
        {
          if (may_ask)
            {
              GVariant *answered = ask_about (cli, invitation, error);

              if (answered == NULL)
                return FALSE;
              g_variant_unref (invitation);
              invitation = answered;
            }
          else
            tell_about (cli, invitation);
        }
      if (is_final (ska_get (invitation, "state")))
        return finish_invitation (cli, invitation, error);
      g_free (state);
      state = g_strdup (ska_get (invitation, "state"));
    }
}

gboolean
ska_run_invite (SkaCli *cli, GError **error)
{
  g_autoptr(GVariant) reply = NULL;
  gboolean wait = ska_own_flag (cli, ".wait");

  if (!ska_open (cli, SK_CLIENT_SERVE, error))
    return FALSE;
  reply = ska_call (cli, "invite", ska_arguments (cli), error);
  if (reply == NULL)
    return FALSE;
  if (cli->json)
    ska_json_reply (cli, reply);
  else
    fprintf (cli->out, "%s\n", ska_get (reply, "code"));
  fflush (cli->out);
  cli->status = SKA_DONE;
  if (!wait && sk_client_is_remote (cli->client))
    return TRUE;
  if (!wait)
    fputs ("No engine runs on this home, so this command stays until the invitation is used.\n",
           cli->err);
  return wait_for_use (cli, ska_get (reply, "invite"), error);
}

/* --- recovery --- */

static char *
get_phrase (SkaCli *cli, GError **error)
{
  GVariant *given = g_hash_table_lookup (cli->own, ".phrase");
  char *phrase;

  if (given != NULL)
    return g_variant_dup_string (given, NULL);
  if (!ska_is_terminal (cli->in))
    return ska_read_text (cli, "-", error);
  phrase = ska_ask (cli, "The 24 words, on one line: ", TRUE);
  if (phrase == NULL)
    sk_fail (error, SK_ERROR_CANCELLED, "No phrase was given");
  return phrase;
}

gboolean
ska_run_recovery (SkaCli *cli, GError **error)
{
  char *phrase;

  if (!g_hash_table_contains (cli->values, "check"))
    {
      if (ska_own_flag (cli, ".phrase"))
        return sk_fail (error, SK_ERROR_USAGE, "--phrase-file is for --check");
      return ska_run_plain (cli, error);
    }
  phrase = get_phrase (cli, error);
  if (phrase == NULL)
    return FALSE;
  if (!g_utf8_validate (phrase, -1, NULL) || *phrase == '\0')
    {
      ska_wipe (phrase);
      return sk_fail (error, SK_ERROR_USAGE, "The phrase is empty or no text");
    }
  g_hash_table_insert (cli->values, (gpointer) "phrase",
                       g_variant_ref_sink (g_variant_new_string (phrase)));
  ska_wipe (phrase);
  return ska_run_plain (cli, error);
}

/* --- run --- */

typedef struct
{
  SkaCli *cli;
  GMutex lock;
  char *state; /* last one written */
} Log;

static void
write_state (Log *log, const char *state, const char *message)
{
  g_autofree char *shown = ska_escape (message);

  if (log->cli->json)
    {
      g_autoptr(GVariant) line = g_variant_ref_sink (
          g_variant_new_parsed ("{'state': <%s>, 'message': <%s>}", state, message));
      g_autofree char *text = ska_json (line);

      fprintf (log->cli->out, "%s\n", text);
    }
  else
    fprintf (log->cli->out, "%s%s%s\n", state, *shown != '\0' ? ": " : "", shown);
  fflush (log->cli->out);
}

/* A thread of the engine. One line when the state changes, not one for each report. */
static void
on_report (gpointer data)
{
  Log *log = data;
  g_autoptr(GVariant) report = NULL;
  const char *state;

  g_mutex_lock (&log->lock);
  /* Not before the first line: the client is set under the lock. */
  if (log->cli->client != NULL)
    {
      report = sk_client_report (log->cli->client);
      state = ska_get (report, "state");
      if (*state != '\0' && g_strcmp0 (state, log->state) != 0)
        {
          g_free (log->state);
          log->state = g_strdup (state);
          write_state (log, state, ska_get (report, "message"));
        }
    }
  g_mutex_unlock (&log->lock);
}

static gboolean
on_cancelled (GCancellable *cancellable, gpointer data)
{
  return G_SOURCE_REMOVE;
}

/* The default context is iterated meanwhile: GDBus ends its connections there, and keeps them until somebody does. */
static void
wait_for_signal (SkaCli *cli)
{
  GSource *source = g_cancellable_source_new (cli->cancellable);

  g_source_set_callback (source, G_SOURCE_FUNC (on_cancelled), NULL, NULL);
  g_source_attach (source, NULL);
  while (!g_cancellable_is_cancelled (cli->cancellable))
    g_main_context_iteration (NULL, TRUE);
  g_source_destroy (source);
  g_source_unref (source);
}

static void
write_ready (SkaCli *cli)
{
  g_autofree char *home = cli->home != NULL ? ska_escape (cli->home) : NULL;

  if (cli->json)
    {
      g_autoptr(GVariant) line = NULL;
      g_autofree char *text = NULL;

      line = g_variant_ref_sink (g_variant_new_parsed (
          "{'running': <true>, 'pid': <%u>, 'home': <%^ay>}", (guint) getpid (), cli->home));
      text = ska_json (line);
      fprintf (cli->out, "%s\n", text);
    }
  else
    fprintf (cli->out, "Skerry runs on %s (process %ld)\n", home, (long) getpid ());
  fflush (cli->out);
}

static gboolean
open_engine (Log *log, GError **error)
{
  SkaCli *cli = log->cli;
  gboolean may_ask = cli->passphrase == NULL && ska_is_terminal (cli->in);
  SkClientOptions options = { .home = cli->home,
                              .flags = SK_CLIENT_WATCH | SK_CLIENT_SERVE | SK_CLIENT_ALONE,
                              .report = on_report,
                              .user_data = log };
  g_autoptr(GError) local = NULL;
  SkClient *client;

  options.passphrase = cli->passphrase;
  client = sk_client_open (&options, cli->cancellable, &local);
  if (client == NULL && may_ask && g_error_matches (local, SK_ERROR, SK_ERROR_WRONG_KEY))
    {
      g_clear_error (&local);
      cli->passphrase = ska_ask (cli, "Passphrase of this home: ", TRUE);
      options.passphrase = cli->passphrase;
      client = sk_client_open (&options, cli->cancellable, &local);
    }
  if (client == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  g_mutex_lock (&log->lock);
  cli->client = client;
  write_ready (cli);
  g_mutex_unlock (&log->lock);
  return TRUE;
}

gboolean
ska_run_engine (SkaCli *cli, GError **error)
{
  Log log = { .cli = cli };

  g_mutex_init (&log.lock);
  if (cli->home == NULL)
    cli->home = sk_client_default_home ();
  if (!open_engine (&log, error))
    {
      g_mutex_clear (&log.lock);
      return FALSE;
    }
  on_report (&log);
  wait_for_signal (cli);
  g_mutex_lock (&log.lock);
  {
    SkClient *client = g_steal_pointer (&cli->client);

    g_mutex_unlock (&log.lock);
    sk_client_close (client);
  }
  g_mutex_clear (&log.lock);
  g_free (log.state);
  cli->status = SKA_DONE;
  return TRUE;
}
