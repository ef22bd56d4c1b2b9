/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <glib-unix.h>

#include "config.h"

typedef struct
{
  SkaCli *cli;
  GMainLoop *loop;
  GError *error;
  gboolean done;
  gboolean interrupted;
} Work;

static gboolean
on_work_over (gpointer data)
{
  Work *work = data;

  g_main_loop_quit (work->loop);
  return G_SOURCE_REMOVE;
}

static gpointer
run_work (gpointer data)
{
  Work *work = data;
  SkaCli *cli = work->cli;
  GSource *over;

  work->done = cli->command->run != NULL ? cli->command->run (cli, &work->error)
                                         : ska_run_plain (cli, &work->error);
  ska_progress_end (cli);
  g_clear_pointer (&cli->client, sk_client_close);
  over = g_idle_source_new ();
  g_source_set_callback (over, on_work_over, work, NULL);
  g_source_attach (over, g_main_loop_get_context (work->loop));
  g_source_unref (over);
  return NULL;
}

/* The first time the command is asked to end; the second time the program ends at once, which is
 * safe at any instruction. */
static gboolean
on_signal (gpointer data)
{
  Work *work = data;

  if (work->interrupted)
    _exit (SKA_FAILED);
  work->interrupted = TRUE;
  g_cancellable_cancel (work->cli->cancellable);
  return G_SOURCE_CONTINUE;
}

/* Signals are taken by this thread's loop while a thread does the work, so that a blocked
 * command can be cancelled. */
static gboolean
run_command (SkaCli *cli, GError **error)
{
  g_autoptr(GMainContext) context = g_main_context_new ();
  static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
  GSource *sources[G_N_ELEMENTS (signals)];
  Work work = { .cli = cli };
  GThread *thread;

  work.loop = g_main_loop_new (context, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      sources[i] = g_unix_signal_source_new (signals[i]);
      g_source_set_callback (sources[i], on_signal, &work, NULL);
      g_source_attach (sources[i], context);
    }
  thread = g_thread_new ("command", run_work, &work);
  g_main_loop_run (work.loop);
  g_thread_join (thread);
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_source_destroy (sources[i]);
      g_source_unref (sources[i]);
    }
  g_main_loop_unref (work.loop);
  if (!work.done)
    g_propagate_error (error, work.error);
  return work.done;
}

static void
show_error (SkaCli *cli, const GError *error)
{
  g_autofree char *shown = ska_escape (error->message);

  if (cli->json)
    ska_json_error (cli, error);
  fprintf (cli->err, "skerryctl: %s\n", shown);
  if (!cli->json && g_error_matches (error, SK_ERROR, SK_ERROR_USAGE) && cli->command != NULL)
    fprintf (cli->err, "“skerryctl %s --help” explains the command.\n", cli->command->words);
}

static void
clear (SkaCli *cli)
{
  g_clear_pointer (&cli->client, sk_client_close);
  g_hash_table_unref (cli->values);
  g_hash_table_unref (cli->own);
  g_object_unref (cli->cancellable);
  ska_wipe (cli->passphrase);
  g_free (cli->home);
  g_free (cli->words);
}

static void
act (SkaCli *cli, int argc, char **argv, GError **error)
{
  if (!ska_parse (cli, argc, argv, error))
    return;
  if (cli->help)
    ska_help (cli, cli->out);
  else if (cli->version)
    fprintf (cli->out, "skerryctl %s\n", SK_VERSION);
  else
    run_command (cli, error);
}

int
ska_cli_run (int argc, char **argv, FILE *in, FILE *out, FILE *err)
{
  SkaCli cli = { .in = in, .out = out, .err = err, .status = SKA_DONE };
  g_autoptr(GError) error = NULL;
  int status;

  cli.values
      = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) g_variant_unref);
  cli.own = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) g_variant_unref);
  cli.cancellable = g_cancellable_new ();
  act (&cli, argc, argv, &error);
  if (error != NULL)
    {
      show_error (&cli, error);
      cli.status = g_error_matches (error, SK_ERROR, SK_ERROR_USAGE) ? SKA_USAGE : SKA_FAILED;
    }
  status = cli.status;
  /* A full disk or a closed pipe: what was to be said is lost. */
  if (fflush (out) != 0 && status == SKA_DONE)
    status = SKA_FAILED;
  clear (&cli);
  return status;
}
