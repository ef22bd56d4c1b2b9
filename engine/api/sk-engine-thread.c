/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-engine-thread.h"

#include <string.h>

SkEngineLink *
sk_engine_link_ref (SkEngineLink *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
sk_engine_link_unref (SkEngineLink *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  sk_mailbox_unref (self->box);
  g_free (self);
}

static gpointer
close_client (gpointer data)
{
  sk_client_close (data);
  return NULL;
}

/* Any thread. A client that nobody took is closed, but not here: this may be the main thread. */
void
sk_engine_message_free (gpointer data)
{
  SkEngineMessage *message = data;

  if (message->client != NULL)
    g_thread_unref (g_thread_new ("skerry-close", close_client, message->client));
  g_clear_error (&message->error);
  g_clear_pointer (&message->value, g_variant_unref);
  g_free (message);
}

static void
say (SkEngineLink *link, SkEngineSays says, SkClient *client, GError *error, GTask *task,
     GVariant *value)
{
  SkEngineMessage *message = g_new0 (SkEngineMessage, 1);

  message->says = says;
  message->client = client;
  message->error = error;
  message->task = task;
  message->value = value;
  sk_mailbox_push (link->box, message);
}

/* --- threads --- */

/* A thread of the client. One waiting message stands for any number of reports. */
static void
on_report (gpointer data)
{
  SkEngineLink *link = data;

  if (g_atomic_int_compare_and_exchange (&link->report_pending, 0, 1))
    say (link, SAYS_REPORT, NULL, NULL, NULL, NULL);
}

/* A thread of the client. */
static void
on_lost (gpointer data)
{
  say (data, SAYS_LOST, NULL, NULL, NULL, NULL);
}

gpointer
sk_engine_open_thread (gpointer data)
{
  SkEngineOpening *opening = data;
  SkClientOptions options = { .home = opening->home,
                              .passphrase = opening->passphrase,
                              .flags = SK_CLIENT_WATCH | SK_CLIENT_SERVE,
                              .report = on_report,
                              .lost = on_lost,
                              .user_data = opening->link };
  GError *error = NULL;
  SkClient *client = sk_client_open (&options, opening->cancellable, &error);

  say (opening->link, SAYS_OPENED, client, error, NULL, NULL);
  if (opening->passphrase != NULL)
    explicit_bzero (opening->passphrase, strlen (opening->passphrase));
  g_free (opening->passphrase);
  g_free (opening->home);
  g_object_unref (opening->cancellable);
  sk_engine_link_unref (opening->link);
  g_free (opening);
  return NULL;
}

/* The commands first: they use the client. */
gpointer
sk_engine_close_thread (gpointer data)
{
  SkEngineClosing *closing = data;

  if (closing->pool != NULL)
    g_thread_pool_free (closing->pool, FALSE, TRUE);
  sk_client_close (closing->client);
  say (closing->link, SAYS_CLOSED, NULL, NULL, NULL, NULL);
  sk_engine_link_unref (closing->link);
  g_free (closing);
  return NULL;
}

/* A thread of the client, or of the pool. */
static void
on_progress (GVariant *progress, gpointer data)
{
  SkEngineCommand *command = data;

  say (command->link, SAYS_PROGRESS, NULL, NULL, command->task, g_variant_ref_sink (progress));
}

/* A thread of the pool. */
void
sk_engine_run_command (gpointer data, gpointer unused)
{
  SkEngineCommand *command = data;
  GError *error = NULL;
  GVariant *reply = NULL;

  if (g_cancellable_is_cancelled (command->cancellable))
    sk_fail (&error, SK_ERROR_CANCELLED, "The command was cancelled before it began");
  else
    reply = sk_client_command (command->client, command->name, command->args,
                               command->progress != NULL ? on_progress : NULL, command,
                               command->cancellable, &error);
  say (command->link, SAYS_REPLY, NULL, error, command->task, reply);
}
