/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-control.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <gio/gunixsocketaddress.h>

/* How long the answer to a cancelled command is awaited. */
#define CANCEL_SECONDS 30

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
  int dir = open (home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  sk_control_register_errors ();
  if (dir < 0)
    return NULL;
  path = sk_control_socket (home, dir);
  stream = connect_socket (path, cancellable, error);
  close (dir);
  if (stream == NULL)
    return NULL;
  connection = g_dbus_connection_new_sync (G_IO_STREAM (stream), NULL,
                                           G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL,
                                           cancellable, &local);
  /* The engine ended between accepting and answering: the same as nobody there. */
  if (connection == NULL && g_cancellable_is_cancelled (cancellable))
    sk_fail (error, SK_ERROR_CANCELLED, "Cancelled");
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

  if (cancellable != NULL)
    {
      cancel = g_cancellable_source_new (cancellable);
      attach (cancel, context, G_SOURCE_FUNC (on_cancelled), wait);
    }
  while (!wait->done && !wait->gave_up)
    {
      g_main_context_iteration (context, TRUE);
      if (cancellable != NULL && limit == NULL && g_cancellable_is_cancelled (cancellable))
        {
          limit = g_timeout_source_new_seconds (CANCEL_SECONDS);
          attach (limit, context, on_cancel_limit, wait);
        }
    }
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
  Wait wait = { .connection = connection, .progress = progress, .user_data = user_data };
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
  if (!wait.done)
    {
      /* The callback must not find a stack frame that is gone. */
      g_cancellable_cancel (abandon);
      while (!wait.done)
        g_main_context_iteration (context, TRUE);
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
