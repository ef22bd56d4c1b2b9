/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-control.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <gio/gunixsocketaddress.h>

#include "sk-test-hooks.h"

/* How long the answer to a cancelled command is awaited. */
#define CANCEL_SECONDS 30
/* An engine that gives no sign of life for so long is stopped or hangs: an answer, a report of progress, or the answer to a ping,
 * which is given by a thread that has nothing else to do, however long a command takes. */
#define SILENCE_MS 10000

static guint
silence_ms (void)
{
#if SK_TEST_HOOKS
  const char *ms = g_getenv ("SKERRY_TEST_SILENCE_MS");

  if (ms != NULL)
    return (guint) g_ascii_strtoull (ms, NULL, 10);
#endif
  return SILENCE_MS;
}

static gboolean
fail_silent (GSocket *socket, GError **error)
{
  g_autoptr(GCredentials) credentials = g_socket_get_credentials (socket, NULL);
  pid_t pid = credentials != NULL ? g_credentials_get_unix_pid (credentials, NULL) : -1;

  if (pid <= 0)
    return sk_fail (error, SK_ERROR_BUSY, "The engine of this home does not answer: its process is stopped or hangs");
  return sk_fail (error, SK_ERROR_BUSY, "The engine of this home (process %d) does not answer: it is stopped or hangs. 'kill -CONT %d' lets a stopped "
                  "one go on; 'kill %d', and 'kill -KILL %d' if that does not help, ends it: nothing is lost by that", (int) pid, (int) pid, (int) pid, (int) pid);
}

/* --- a blocking call with a limit --- */

typedef struct
{
  GMutex lock;
  GCond changed;
  gboolean done, struck;
  GCancellable *cancellable;
} Deadline;

static gpointer
run_deadline (gpointer data)
{
  Deadline *self = data;
  gint64 end = g_get_monotonic_time () + silence_ms () * G_TIME_SPAN_MILLISECOND;

  g_mutex_lock (&self->lock);
  while (!self->done && !self->struck)
    self->struck = !g_cond_wait_until (&self->changed, &self->lock, end);
  g_mutex_unlock (&self->lock);
  if (self->struck)
    g_cancellable_cancel (self->cancellable);
  return NULL;
}

static void
pass_on_cancel (GCancellable *cancellable, gpointer other)
{
  g_cancellable_cancel (other);
}

/* As g_dbus_connection_new_sync, which waits for ever for the first words of a process that is stopped. */
static GDBusConnection *
greet (GSocketConnection *stream, GCancellable *cancellable, gboolean *silent, GError **error)
{
  Deadline deadline = { .cancellable = g_cancellable_new () };
  gulong handler = cancellable != NULL ? g_cancellable_connect (cancellable, G_CALLBACK (pass_on_cancel), deadline.cancellable, NULL) : 0;
  GDBusConnection *connection;
  GThread *thread;

  g_mutex_init (&deadline.lock);
  g_cond_init (&deadline.changed);
  thread = g_thread_new ("deadline", run_deadline, &deadline);
  connection = g_dbus_connection_new_sync (G_IO_STREAM (stream), NULL, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, deadline.cancellable, error);
  g_mutex_lock (&deadline.lock);
  deadline.done = TRUE;
  g_cond_signal (&deadline.changed);
  g_mutex_unlock (&deadline.lock);
  g_thread_join (thread);
  *silent = connection == NULL && deadline.struck;
  if (cancellable != NULL)
    g_cancellable_disconnect (cancellable, handler);
  g_object_unref (deadline.cancellable);
  g_cond_clear (&deadline.changed);
  g_mutex_clear (&deadline.lock);
  return connection;
}

/* --- connecting --- */

static gboolean
nobody_there (const GError *error)
{
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND)
         || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED);
}

static GSocketConnection *
connect_socket (const char *path, GCancellable *cancellable, GError **error)
{
  g_autoptr(GSocketClient) client = g_socket_client_new ();
  g_autoptr(GSocketAddress) address = g_unix_socket_address_new (path);
  g_autoptr(GSocketConnection) connection = NULL;
  g_autoptr(GCredentials) credentials = NULL;
  g_autoptr(GError) local = NULL;

  connection
      = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), cancellable, &local);
  if (connection == NULL)
    {
      if (g_error_matches (local, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        sk_fail (error, SK_ERROR_CANCELLED, "Cancelled");
      else if (g_error_matches (local, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
        sk_fail (error, SK_ERROR_BUSY, "Too many programs want the engine of this home at once");
      else if (!nobody_there (local))
        sk_fail (error, SK_ERROR_IO, "Cannot reach the engine of this home: %s", local->message);
      return NULL;
    }
  credentials = g_socket_get_credentials (g_socket_connection_get_socket (connection), NULL);
  if (credentials == NULL || g_credentials_get_unix_user (credentials, NULL) != geteuid ())
    {
      sk_fail (error, SK_ERROR_UNTRUSTED, "The engine of this home runs as another user");
      return NULL;
    }
  return g_steal_pointer (&connection);
}

GDBusConnection *
sk_control_connect (const char *home, GCancellable *cancellable, GError **error)
{
  g_autofree char *path = NULL;
  g_autoptr(GSocketConnection) stream = NULL;
  g_autoptr(GError) local = NULL;
  GDBusConnection *connection;
  gboolean silent;
  int dir = open (home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  sk_control_register_errors ();
  if (dir < 0)
    return NULL;
  path = sk_control_socket (home, dir);
  stream = connect_socket (path, cancellable, error);
  close (dir);
  if (stream == NULL)
    return NULL;
  connection = greet (stream, cancellable, &silent, &local);
  /* The engine ended between accepting and answering: the same as nobody there. */
  if (connection == NULL && g_cancellable_is_cancelled (cancellable))
    sk_fail (error, SK_ERROR_CANCELLED, "Cancelled");
  else if (silent)
    fail_silent (g_socket_connection_get_socket (stream), error);
  else if (connection == NULL)
    g_debug ("The control socket did not answer: %s", local->message);
  return connection;
}

/* --- one call --- */

typedef struct
{
  GDBusConnection *connection;
  guint32 serial;
  SkProgressFunc progress;
  gpointer user_data;
  GDBusMessage *reply;
  GError *error;
  gboolean done;
  gboolean gave_up;
  gboolean silent;
  GCancellable *abandon;
  guint pings;                   /* not answered yet */
  gint64 alive_at;               /* monotonic µs: the last sign of life */
} Wait;

static void
on_progress (GDBusConnection *connection, const char *sender, const char *path,
             const char *interface, const char *signal, GVariant *parameters, gpointer user_data)
{
  Wait *wait = user_data;
  g_autoptr(GVariant) progress = NULL;
  guint32 serial;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(ua{sv})")))
    return;
  wait->alive_at = g_get_monotonic_time ();
  g_variant_get (parameters, "(u@a{sv})", &serial, &progress);
  if (serial == wait->serial && !wait->done)
    wait->progress (progress, wait->user_data);
}

static void
on_reply (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Wait *wait = user_data;

  wait->reply = g_dbus_connection_send_message_with_reply_finish (G_DBUS_CONNECTION (source),
                                                                  result, &wait->error);
  wait->done = TRUE;
}

static void
on_pong (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Wait *wait = user_data;
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) pong = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  wait->pings--;
  /* A refusal is an answer as well. */
  if (pong != NULL || g_dbus_error_is_remote_error (error))
    wait->alive_at = g_get_monotonic_time ();
}

static gboolean
on_tick (gpointer user_data)
{
  Wait *wait = user_data;

  if (g_get_monotonic_time () - wait->alive_at >= silence_ms () * G_TIME_SPAN_MILLISECOND && wait->pings > 0)
    wait->silent = TRUE;
  else if (wait->pings == 0)
    {
      wait->pings++;
      g_dbus_connection_call (wait->connection, NULL, SK_CONTROL_PATH, "org.freedesktop.DBus.Peer", "Ping", NULL, NULL, G_DBUS_CALL_FLAGS_NONE,
                              G_MAXINT, wait->abandon, on_pong, wait);
    }
  return G_SOURCE_CONTINUE;
}

static gboolean
on_cancel_limit (gpointer user_data)
{
  Wait *wait = user_data;

  wait->gave_up = TRUE;
  return G_SOURCE_REMOVE;
}

/* The engine ends the command and answers as usual; until then the wait goes on. */
static gboolean
on_cancelled (GCancellable *cancellable, gpointer user_data)
{
  Wait *wait = user_data;

  g_dbus_connection_call (wait->connection, NULL, SK_CONTROL_PATH, SK_CONTROL_INTERFACE, "Cancel",
                          g_variant_new ("(u)", wait->serial), NULL, G_DBUS_CALL_FLAGS_NONE, -1,
                          NULL, NULL, NULL);
  return G_SOURCE_REMOVE;
}

static void
attach (GSource *source, GMainContext *context, GSourceFunc func, gpointer data)
{
  g_source_set_callback (source, func, data, NULL);
  g_source_attach (source, context);
}

static void
wait_for_reply (Wait *wait, GMainContext *context, GCancellable *cancellable)
{
  g_autoptr(GSource) cancel = NULL;
  g_autoptr(GSource) limit = NULL;
  g_autoptr(GSource) tick = g_timeout_source_new (silence_ms () / 4);

  wait->alive_at = g_get_monotonic_time ();
  attach (tick, context, on_tick, wait);
  if (cancellable != NULL)
    {
      cancel = g_cancellable_source_new (cancellable);
      attach (cancel, context, G_SOURCE_FUNC (on_cancelled), wait);
    }
  while (!wait->done && !wait->gave_up && !wait->silent)
    {
      g_main_context_iteration (context, TRUE);
      if (cancellable != NULL && limit == NULL && g_cancellable_is_cancelled (cancellable))
        {
          limit = g_timeout_source_new_seconds (CANCEL_SECONDS);
          attach (limit, context, on_cancel_limit, wait);
        }
    }
  g_source_destroy (tick);
  if (cancel != NULL)
    g_source_destroy (cancel);
  if (limit != NULL)
    g_source_destroy (limit);
}

static GVariant *
take_reply (Wait *wait, GError **error)
{
  g_autoptr(GError) local = g_steal_pointer (&wait->error);
  GVariant *body;
  GVariant *reply = NULL;

  if (wait->silent)
    {
      fail_silent (g_socket_connection_get_socket (G_SOCKET_CONNECTION (g_dbus_connection_get_stream (wait->connection))), error);
      return NULL;
    }
  if (wait->gave_up)
    {
      sk_fail (error, SK_ERROR_CANCELLED, "Cancelled; the engine has not yet answered");
      return NULL;
    }
  if (local == NULL && g_dbus_message_to_gerror (wait->reply, &local))
    g_dbus_error_strip_remote_error (local);
  if (local != NULL)
    {
      if (local->domain == SK_ERROR)
        g_propagate_error (error, g_steal_pointer (&local));
      else
        sk_fail (error, SK_ERROR_IO, "The engine did not answer: %s", local->message);
      return NULL;
    }
  body = g_dbus_message_get_body (wait->reply);
  if (body == NULL || !g_variant_is_of_type (body, G_VARIANT_TYPE ("(a{sv})")))
    {
      sk_fail (error, SK_ERROR_IO, "The engine gave an answer of another form");
      return NULL;
    }
  g_variant_get (body, "(@a{sv})", &reply);
  return reply;
}

static GDBusMessage *
build_call (const char *name, GVariant *args)
{
  GDBusMessage *message
      = g_dbus_message_new_method_call (NULL, SK_CONTROL_PATH, SK_CONTROL_INTERFACE, "Call");

  g_dbus_message_set_body (message, g_variant_new ("(s@a{sv})", name, args));
  return message;
}

GVariant *
sk_control_call (GDBusConnection *connection, const char *name, GVariant *args,
                 SkProgressFunc progress, gpointer user_data, GCancellable *cancellable,
                 GError **error)
{
  g_autoptr(GMainContext) context = g_main_context_new ();
  g_autoptr(GVariant) owned
      = g_variant_ref_sink (args != NULL ? args : g_variant_new ("a{sv}", NULL));
  g_autoptr(GDBusMessage) message = build_call (name, owned);
  g_autoptr(GCancellable) abandon = g_cancellable_new ();
  Wait wait = { .connection = connection, .progress = progress, .user_data = user_data, .abandon = abandon };
  GVariant *reply;
  guint subscription = 0;

  g_main_context_push_thread_default (context);
  if (progress != NULL)
    subscription = g_dbus_connection_signal_subscribe (
        connection, NULL, SK_CONTROL_INTERFACE, "Progress", SK_CONTROL_PATH, NULL,
        G_DBUS_SIGNAL_FLAGS_NONE, on_progress, &wait, NULL);
  g_dbus_connection_send_message_with_reply (connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE,
                                             G_MAXINT, &wait.serial, abandon, on_reply, &wait);
  wait_for_reply (&wait, context, cancellable);
  if (wait.done)
    wait.silent = wait.gave_up = FALSE;
  if (!wait.done || wait.pings > 0)
    {
      gboolean answered = wait.done;

      /* No callback may find a stack frame that is gone. */
      g_cancellable_cancel (abandon);
      while (!wait.done || wait.pings > 0)
        g_main_context_iteration (context, TRUE);
      if (!answered)
        g_clear_error (&wait.error);
    }
  if (subscription != 0)
    g_dbus_connection_signal_unsubscribe (connection, subscription);
  /* Signals that are still queued hold a reference to the subscription and run before this
   * context ends. */
  while (g_main_context_iteration (context, FALSE))
    ;
  g_main_context_pop_thread_default (context);
  reply = take_reply (&wait, error);
  g_clear_object (&wait.reply);
  g_clear_error (&wait.error);
  return reply;
}
