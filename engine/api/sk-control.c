/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>

#define CALLS_MAX 16
#define SOCKET_NAME "control"
/* Connections at once; each costs a few descriptors, and only our own user can make them. */
#define CLIENTS_MAX 64

static const char introspection[]
    = "<node><interface name='" SK_CONTROL_INTERFACE "'>"
      "<method name='Call'><arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg "
      "type='a{sv}' direction='out'/></method>"
      "<method name='Cancel'><arg type='u' direction='in'/></method>"
      "<signal name='Progress'><arg type='u'/><arg type='a{sv}'/></signal>"
      "<signal name='Report'><arg type='a{sv}'/></signal>"
      "</interface></node>";

typedef struct
{
  SkControl *control;
  GDBusConnection *connection;
  GSource *hangup; /* on the server's context */
  guint object;
  gboolean wants_reports; /* under the lock */
} Client;

typedef struct
{
  GDBusConnection *connection;
  guint32 serial;
  GDBusMethodInvocation *invocation;
  char *name;
  GVariant *args;
  GCancellable *cancellable;
} Call;

struct _SkControl
{
  SkSession *session;
  char *path;
  int dir;
  GDBusServer *server;
  GDBusNodeInfo *node;
  GThreadPool *pool;
  gboolean watching, stopping;

  GMutex lock; /* clients, calls */
  GPtrArray *clients;
  GPtrArray *calls; /* borrowed; a call takes itself out */
};

/* --- errors over D-Bus --- */

static const GDBusErrorEntry error_entries[] = {
  { SK_ERROR_FAILED, "org.skerry.Error.Failed" },
  { SK_ERROR_CORRUPT, "org.skerry.Error.Corrupt" },
  { SK_ERROR_TOO_NEW, "org.skerry.Error.TooNew" },
  { SK_ERROR_LIMIT, "org.skerry.Error.Limit" },
  { SK_ERROR_NOT_FOUND, "org.skerry.Error.NotFound" },
  { SK_ERROR_EXISTS, "org.skerry.Error.Exists" },
  { SK_ERROR_BUSY, "org.skerry.Error.Busy" },
  { SK_ERROR_CHANGED, "org.skerry.Error.Changed" },
  { SK_ERROR_OFFLINE, "org.skerry.Error.Offline" },
  { SK_ERROR_NO_SPACE, "org.skerry.Error.NoSpace" },
  { SK_ERROR_PERMISSION, "org.skerry.Error.Permission" },
  { SK_ERROR_UNSUPPORTED, "org.skerry.Error.Unsupported" },
  { SK_ERROR_WRONG_KEY, "org.skerry.Error.WrongKey" },
  { SK_ERROR_UNTRUSTED, "org.skerry.Error.Untrusted" },
  { SK_ERROR_USAGE, "org.skerry.Error.Usage" },
  { SK_ERROR_CANCELLED, "org.skerry.Error.Cancelled" },
  { SK_ERROR_IO, "org.skerry.Error.Io" },
};

void
sk_control_register_errors (void)
{
  static gsize done = 0;

  if (!g_once_init_enter (&done))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (error_entries); i++)
    g_dbus_error_register_error (SK_ERROR, error_entries[i].error_code,
                                 error_entries[i].dbus_error_name);
  g_once_init_leave (&done, 1);
}

GError *
sk_control_own_error (GError *error)
{
  gboolean cancelled = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  GError *own;

  if (error->domain == SK_ERROR)
    return error;
  own = g_error_new_literal (SK_ERROR, cancelled ? SK_ERROR_CANCELLED : SK_ERROR_FAILED,
                             cancelled ? "Cancelled" : error->message);
  g_error_free (error);
  return own;
}

char *
sk_control_socket (const char *home, int dir)
{
  struct sockaddr_un address;
  char *path = g_build_filename (home, SOCKET_NAME, NULL);

  if (strlen (path) < sizeof address.sun_path)
    return path;
  g_free (path);
  return g_strdup_printf ("/proc/self/fd/%d/" SOCKET_NAME, dir);
}

/* --- calls --- */

static void
call_free (Call *call)
{
  g_object_unref (call->connection);
  g_object_unref (call->cancellable);
  g_variant_unref (call->args);
  g_free (call->name);
  g_free (call);
}

/* Task thread, or whichever thread of the engine the session reports progress on. */
static void
on_progress (GVariant *progress, gpointer user_data)
{
  Call *call = user_data;
  g_autoptr(GVariant) owned = g_variant_ref_sink (progress);

  g_dbus_connection_emit_signal (call->connection, NULL, SK_CONTROL_PATH, SK_CONTROL_INTERFACE,
                                 "Progress", g_variant_new ("(u@a{sv})", call->serial, owned),
                                 NULL);
}

/* Task thread. */
static void
run_call (gpointer data, gpointer user_data)
{
  Call *call = data;
  SkControl *self = user_data;
  GDBusMethodInvocation *invocation = call->invocation;
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = NULL;

  if (g_cancellable_is_cancelled (call->cancellable))
    sk_fail (&error, SK_ERROR_CANCELLED, "The command was cancelled before it began");
  else
    reply = sk_session_command (self->session, call->name, call->args, on_progress, call,
                                call->cancellable, &error);

  g_mutex_lock (&self->lock);
  g_ptr_array_remove_fast (self->calls, call);
  g_mutex_unlock (&self->lock);

  if (reply != NULL)
    g_dbus_method_invocation_return_value (invocation, g_variant_new ("(@a{sv})", reply));
  else
    g_dbus_method_invocation_take_error (invocation,
                                         sk_control_own_error (g_steal_pointer (&error)));
  call_free (call);
}

static Client *
find_client (SkControl *self, GDBusConnection *connection)
{
  for (guint i = 0; i < self->clients->len; i++)
    {
      Client *client = g_ptr_array_index (self->clients, i);

      if (client->connection == connection)
        return client;
    }
  return NULL;
}

/* FALSE: there is no report yet, or it may be an old one; then it is a command like others. */
static gboolean
answer_report (SkControl *self, const char *name, GDBusMethodInvocation *invocation)
{
  g_autoptr(GVariant) report = NULL;

  if (strcmp (name, "report") == 0)
    {
      Client *client;

      g_mutex_lock (&self->lock);
      client = find_client (self, g_dbus_method_invocation_get_connection (invocation));
      if (client != NULL)
        client->wants_reports = TRUE;
      g_mutex_unlock (&self->lock);
    }
  if (!self->watching)
    return FALSE;
  report = sk_session_report (self->session);
  if (g_variant_n_children (report) == 0)
    return FALSE;
  g_dbus_method_invocation_return_value (invocation, g_variant_new ("(@a{sv})", report));
  return TRUE;
}

static void
start_call (SkControl *self, GVariant *parameters, GDBusMethodInvocation *invocation)
{
  const char *name;
  g_autoptr(GVariant) args = NULL;
  Call *call;

  g_variant_get (parameters, "(&s@a{sv})", &name, &args);
  if (self->stopping)
    {
      g_dbus_method_invocation_take_error (
          invocation,
          g_error_new_literal (SK_ERROR, SK_ERROR_CANCELLED, "The engine is about to end"));
      return;
    }
  if ((strcmp (name, "status") == 0 || strcmp (name, "report") == 0)
      && answer_report (self, name, invocation))
    return;
  call = g_new0 (Call, 1);
  call->connection = g_object_ref (g_dbus_method_invocation_get_connection (invocation));
  call->serial = g_dbus_message_get_serial (g_dbus_method_invocation_get_message (invocation));
  call->invocation = invocation;
  call->name = g_strdup (name);
  call->args = g_steal_pointer (&args);
  call->cancellable = g_cancellable_new ();
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->calls, call);
  g_mutex_unlock (&self->lock);
  g_thread_pool_push (self->pool, call, NULL);
}

/* @serial 0: every call of the connection; @connection NULL: of every one. */
static void
cancel_calls (SkControl *self, GDBusConnection *connection, guint32 serial)
{
  g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func (g_object_unref);

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->calls->len; i++)
    {
      Call *call = g_ptr_array_index (self->calls, i);

      if ((connection == NULL || call->connection == connection)
          && (serial == 0 || call->serial == serial))
        g_ptr_array_add (found, g_object_ref (call->cancellable));
    }
  g_mutex_unlock (&self->lock);
  /* Outside the lock: handlers of the cancellable run here. */
  for (guint i = 0; i < found->len; i++)
    g_cancellable_cancel (g_ptr_array_index (found, i));
}

static void
on_method (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
           const char *method, GVariant *parameters, GDBusMethodInvocation *invocation,
           gpointer user_data)
{
  SkControl *self = user_data;
  guint32 serial;

  if (strcmp (method, "Call") == 0)
    {
      start_call (self, parameters, invocation);
      return;
    }
  g_variant_get (parameters, "(u)", &serial);
  if (serial != 0)
    cancel_calls (self, connection, serial);
  g_dbus_method_invocation_return_value (invocation, NULL);
}

static const GDBusInterfaceVTable vtable = { .method_call = on_method };

/* --- connections --- */

static void
client_free (gpointer data)
{
  Client *client = data;

  /* A call that waits in the context is then answered by GIO, and never sees the control that is
   * gone. */
  g_dbus_connection_unregister_object (client->connection, client->object);
  g_source_destroy (client->hangup);
  g_source_unref (client->hangup);
  g_object_unref (client->connection);
  g_free (client);
}

/* The peer is gone. Seen at the socket: GDBus tells "closed" on the context under which it made the connection, that is the process's
 * default one, and nobody may be iterating that. */
static gboolean
on_hangup (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  Client *client = user_data;
  SkControl *self = client->control;

  cancel_calls (self, client->connection, 0);
  g_mutex_lock (&self->lock);
  g_ptr_array_remove_fast (self->clients, client);
  g_mutex_unlock (&self->lock);
  return G_SOURCE_REMOVE;
}

static GSource *
watch_hangup (Client *client)
{
  GIOStream *stream = g_dbus_connection_get_stream (client->connection);
  GSource *source = g_socket_create_source (
      g_socket_connection_get_socket (G_SOCKET_CONNECTION (stream)), G_IO_HUP | G_IO_ERR, NULL);

  g_source_set_callback (source, G_SOURCE_FUNC (on_hangup), client, NULL);
  g_source_attach (source, g_main_context_get_thread_default ());
  return source;
}

static gboolean
on_new_connection (GDBusServer *server, GDBusConnection *connection, gpointer user_data)
{
  SkControl *self = user_data;
  g_autoptr(GError) error = NULL;
  Client *client;
  guint object;

  if (self->stopping || self->clients->len >= CLIENTS_MAX)
    return FALSE;
  object = g_dbus_connection_register_object (
      connection, SK_CONTROL_PATH, self->node->interfaces[0], &vtable, self, NULL, &error);
  if (object == 0)
    {
      g_warning ("The control socket could not serve a connection: %s", error->message);
      return FALSE;
    }
  client = g_new0 (Client, 1);
  client->object = object;
  client->connection = g_object_ref (connection);
  client->control = self;
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->clients, client);
  g_mutex_unlock (&self->lock);
  client->hangup = watch_hangup (client);
  return TRUE;
}

static gboolean
on_allow_mechanism (GDBusAuthObserver *observer, const char *mechanism, gpointer user_data)
{
  return strcmp (mechanism, "EXTERNAL") == 0;
}

/* A thread of the server. */
static gboolean
on_authorize (GDBusAuthObserver *observer, GIOStream *stream, GCredentials *credentials,
              gpointer user_data)
{
  return credentials != NULL && g_credentials_get_unix_user (credentials, NULL) == geteuid ();
}

static gboolean
listen_at (SkControl *self, GError **error)
{
  g_autoptr(GDBusAuthObserver) observer = g_dbus_auth_observer_new ();
  g_autofree char *escaped = g_dbus_address_escape_value (self->path);
  g_autofree char *address = g_strdup_printf ("unix:path=%s", escaped);
  g_autofree char *guid = g_dbus_generate_guid ();
  g_autoptr(GError) local = NULL;

  g_signal_connect (observer, "allow-mechanism", G_CALLBACK (on_allow_mechanism), NULL);
  g_signal_connect (observer, "authorize-authenticated-peer", G_CALLBACK (on_authorize), NULL);
  if (g_unlink (self->path) != 0 && errno != ENOENT)
    return sk_fail (error, SK_ERROR_IO, "Cannot remove the old control socket of the home: %s",
                    g_strerror (errno));
  self->server = g_dbus_server_new_sync (
      address, G_DBUS_SERVER_FLAGS_AUTHENTICATION_REQUIRE_SAME_USER, guid, observer, NULL, &local);
  if (self->server == NULL)
    return sk_fail (error, SK_ERROR_IO, "Cannot make the control socket of the home: %s",
                    local->message);
  /* Until here the 0700 of the home keeps others out; the process's umask is not ours to change. */
  if (g_chmod (self->path, 0600) != 0)
    return sk_fail (error, SK_ERROR_IO, "Cannot protect the control socket of the home: %s",
                    g_strerror (errno));
  g_signal_connect (self->server, "new-connection", G_CALLBACK (on_new_connection), self);
  g_dbus_server_start (self->server);
  return TRUE;
}

SkControl *
sk_control_new (SkSession *session, const char *home, gboolean watching, GError **error)
{
  g_autoptr(SkControl) self = g_new0 (SkControl, 1);

  sk_control_register_errors ();
  self->session = session;
  self->watching = watching;
  g_mutex_init (&self->lock);
  self->clients = g_ptr_array_new_with_free_func (client_free);
  self->calls = g_ptr_array_new ();
  self->node = g_dbus_node_info_new_for_xml (introspection, NULL);
  self->pool = g_thread_pool_new (run_call, self, CALLS_MAX, FALSE, NULL);
  self->dir = open (home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (self->dir < 0)
    {
      sk_fail (error, SK_ERROR_IO, "Cannot open the home “%s”: %s", home, g_strerror (errno));
      return NULL;
    }
  self->path = sk_control_socket (home, self->dir);
  if (!listen_at (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

static void
on_flushed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  guint *left = user_data;

  g_dbus_connection_flush_finish (G_DBUS_CONNECTION (source), result, NULL);
  (*left)--;
}

static gboolean
on_flush_limit (gpointer user_data)
{
  g_cancellable_cancel (user_data);
  return G_SOURCE_REMOVE;
}

/* Closing drops what was not written yet, so the last answers are flushed first; a peer that
 * reads nothing gets a second. */
static void
flush_clients (GPtrArray *clients)
{
  g_autoptr(GMainContext) context = g_main_context_new ();
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  g_autoptr(GSource) limit = g_timeout_source_new_seconds (1);
  guint left = clients->len;

  g_source_set_callback (limit, on_flush_limit, cancellable, NULL);
  g_source_attach (limit, context);
  g_main_context_push_thread_default (context);
  for (guint i = 0; i < clients->len; i++)
    {
      Client *client = g_ptr_array_index (clients, i);

      g_dbus_connection_flush (client->connection, cancellable, on_flushed, &left);
    }
  while (left > 0)
    g_main_context_iteration (context, TRUE);
  g_main_context_pop_thread_default (context);
  g_source_destroy (limit);
}

static void
close_clients (SkControl *self)
{
  g_autoptr(GPtrArray) clients = NULL;

  g_mutex_lock (&self->lock);
  clients = g_steal_pointer (&self->clients);
  self->clients = g_ptr_array_new_with_free_func (client_free);
  g_mutex_unlock (&self->lock);
  flush_clients (clients);
  for (guint i = 0; i < clients->len; i++)
    {
      Client *client = g_ptr_array_index (clients, i);

      g_dbus_connection_close (client->connection, NULL, NULL, NULL);
    }
}

void
sk_control_free (SkControl *self)
{
  if (self == NULL)
    return;
  self->stopping = TRUE;
  if (self->server != NULL)
    {
      g_dbus_server_stop (self->server);
      g_signal_handlers_disconnect_by_data (self->server, self);
      /* Still under the home's lock, so it is ours. */
      g_unlink (self->path);
      g_object_unref (self->server);
    }
  cancel_calls (self, NULL, 0);
  g_thread_pool_free (self->pool, FALSE, TRUE);
  close_clients (self);
  g_ptr_array_unref (self->clients);
  g_ptr_array_unref (self->calls);
  g_dbus_node_info_unref (self->node);
  if (self->dir >= 0)
    close (self->dir);
  g_mutex_clear (&self->lock);
  g_free (self->path);
  g_free (self);
}

void
sk_control_report_changed (SkControl *self)
{
  g_autoptr(GPtrArray) wanting = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr(GVariant) report = NULL;

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->clients->len; i++)
    {
      Client *client = g_ptr_array_index (self->clients, i);

      if (client->wants_reports)
        g_ptr_array_add (wanting, g_object_ref (client->connection));
    }
  g_mutex_unlock (&self->lock);
  if (wanting->len == 0)
    return;
  report = sk_session_report (self->session);
  for (guint i = 0; i < wanting->len; i++)
    g_dbus_connection_emit_signal (g_ptr_array_index (wanting, i), NULL, SK_CONTROL_PATH,
                                   SK_CONTROL_INTERFACE, "Report",
                                   g_variant_new ("(@a{sv})", report), NULL);
}
