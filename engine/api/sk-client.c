/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-client.h"

#include <string.h>

#include "sk-control.h"
#include "sk-session.h"
#include "sk-worker.h"

/* A command-line program has the home for a moment; an engine that starts has its socket a
 * moment after the lock. */
#define BUSY_US (5 * G_USEC_PER_SEC)
#define BUSY_STEP_MS 40

struct _SkClient
{
  char *home;
  SkClientFlags flags;
  SkClientFunc report_func, lost_func;
  gpointer user_data;
  SkWorker *worker; /* of the control socket, or of a connection with reports */

  SkSession *session; /* in this process */
  GMutex lock; /* control, last */
  SkControl *control;

  GDBusConnection *connection; /* joined */
  guint subscription;
  gulong closed;
  GVariant *last; /* latest report of a joined engine */
};

/* A job for the worker, with its result. */
typedef struct
{
  SkClient *self;
  GCancellable *cancellable;
  GError **error;
  gboolean done;
} Job;

char *
sk_client_default_home (void)
{
  return g_build_filename (g_get_user_data_dir (), "skerry", NULL);
}

/* --- in this process --- */

static void
on_session_report (gpointer user_data)
{
  SkClient *self = user_data;

  g_mutex_lock (&self->lock);
  if (self->control != NULL)
    sk_control_report_changed (self->control);
  g_mutex_unlock (&self->lock);
  if (self->report_func != NULL)
    self->report_func (self->user_data);
}

/* Worker. */
static void
serve (gpointer data)
{
  Job *job = data;
  SkControl *control = sk_control_new (job->self->session, job->self->home,
                                       (job->self->flags & SK_CLIENT_WATCH) != 0, job->error);

  job->done = control != NULL;
  g_mutex_lock (&job->self->lock);
  job->self->control = control;
  g_mutex_unlock (&job->self->lock);
}

/* Worker. */
static void
stop_serving (gpointer data)
{
  SkClient *self = data;
  SkControl *control;

  g_mutex_lock (&self->lock);
  control = g_steal_pointer (&self->control);
  g_mutex_unlock (&self->lock);
  sk_control_free (control);
}

static gboolean
open_session (SkClient *self, const char *passphrase, GError **error)
{
  SkSessionOptions options = { .home = self->home,
                               .passphrase = passphrase,
                               .watch = (self->flags & SK_CLIENT_WATCH) != 0 };
  Job job = { .self = self, .error = error };

  self->session = sk_session_open (&options, error);
  if (self->session == NULL)
    return FALSE;
  sk_session_set_report_func (self->session, on_session_report, self);
  if ((self->flags & SK_CLIENT_SERVE) == 0)
    return TRUE;
  self->worker = sk_worker_new ("sk-control");
  sk_worker_call (self->worker, serve, &job);
  return job.done;
}

/* --- joined --- */

static void
on_remote_report (GDBusConnection *connection, const char *sender, const char *path,
                  const char *interface, const char *signal, GVariant *parameters,
                  gpointer user_data)
{
  SkClient *self = user_data;
  GVariant *report = NULL;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a{sv})")))
    return;
  g_variant_get (parameters, "(@a{sv})", &report);
  g_mutex_lock (&self->lock);
  g_clear_pointer (&self->last, g_variant_unref);
  self->last = report;
  g_mutex_unlock (&self->lock);
  self->report_func (self->user_data);
}

static void
on_closed (GDBusConnection *connection, gboolean by_peer, GError *error, gpointer user_data)
{
  SkClient *self = user_data;

  if (self->lost_func != NULL)
    self->lost_func (self->user_data);
}

/* FALSE: the engine was just ending. After TRUE the end of the connection will be told. */
static gboolean
subscribe (SkClient *self)
{
  GVariant *report;

  self->closed = g_signal_connect (self->connection, "closed", G_CALLBACK (on_closed), self);
  self->subscription = g_dbus_connection_signal_subscribe (
      self->connection, NULL, SK_CONTROL_INTERFACE, "Report", SK_CONTROL_PATH, NULL,
      G_DBUS_SIGNAL_FLAGS_NONE, on_remote_report, self, NULL);
  report = sk_control_call (self->connection, "report", NULL, NULL, NULL, NULL, NULL);
  g_mutex_lock (&self->lock);
  if (self->last == NULL)
    self->last = g_steal_pointer (&report);
  g_mutex_unlock (&self->lock);
  g_clear_pointer (&report, g_variant_unref);
  return self->last != NULL && !g_dbus_connection_is_closed (self->connection);
}

/* Worker. */
static void
leave (gpointer data)
{
  SkClient *self = data;

  g_signal_handler_disconnect (self->connection, self->closed);
  g_dbus_connection_signal_unsubscribe (self->connection, self->subscription);
}

/* Worker, when reports are wanted: signals arrive on the context the connection was made under. */
static void
join (gpointer data)
{
  Job *job = data;
  SkClient *self = job->self;

  self->connection = sk_control_connect (self->home, job->cancellable, job->error);
  job->done = self->connection != NULL;
  if (!job->done || self->report_func == NULL || subscribe (self))
    return;
  leave (self);
  g_clear_object (&self->connection);
  g_clear_pointer (&self->last, g_variant_unref);
  job->done = FALSE;
}

/* FALSE without error: nobody there. */
static gboolean
try_join (SkClient *self, GCancellable *cancellable, GError **error)
{
  Job job = { .self = self, .cancellable = cancellable, .error = error };

  if (self->report_func == NULL)
    {
      join (&job);
      return job.done;
    }
  self->worker = sk_worker_new ("sk-client");
  sk_worker_call (self->worker, join, &job);
  if (!job.done)
    g_clear_pointer (&self->worker, sk_worker_stop);
  return job.done;
}

/* --- both --- */

static void
pause_a_little (GCancellable *cancellable)
{
  GPollFD fd;

  if (cancellable != NULL && g_cancellable_make_pollfd (cancellable, &fd))
    {
      g_poll (&fd, 1, BUSY_STEP_MS);
      g_cancellable_release_fd (cancellable);
      return;
    }
  g_usleep (BUSY_STEP_MS * 1000);
}

static gboolean
open_either (SkClient *self, const char *passphrase, GCancellable *cancellable, GError **error)
{
  gboolean alone = (self->flags & SK_CLIENT_ALONE) != 0;
  gint64 end = g_get_monotonic_time () + BUSY_US;

  for (;;)
    {
      g_autoptr(GError) local = NULL;

      if (!alone && try_join (self, cancellable, &local))
        return TRUE;
      if (local == NULL && open_session (self, passphrase, &local))
        return TRUE;
      if (self->session != NULL || alone || !g_error_matches (local, SK_ERROR, SK_ERROR_BUSY)
          || g_get_monotonic_time () > end)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      pause_a_little (cancellable);
      if (g_cancellable_is_cancelled (cancellable))
        return sk_fail (error, SK_ERROR_CANCELLED, "Cancelled");
    }
}

SkClient *
sk_client_open (const SkClientOptions *options, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkClient) self = g_new0 (SkClient, 1);

  g_mutex_init (&self->lock);
  self->home = options->home != NULL ? g_strdup (options->home) : sk_client_default_home ();
  self->flags = options->flags;
  self->report_func = options->report;
  self->lost_func = options->lost;
  self->user_data = options->user_data;
  if (!open_either (self, options->passphrase, cancellable, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
sk_client_close (SkClient *self)
{
  if (self == NULL)
    return;
  if (self->worker != NULL && self->session != NULL)
    sk_worker_call (self->worker, stop_serving, self);
  if (self->worker != NULL && self->connection != NULL)
    sk_worker_call (self->worker, leave, self);
  if (self->session != NULL)
    sk_session_close (self->session);
  if (self->connection != NULL)
    {
      g_dbus_connection_close_sync (self->connection, NULL, NULL);
      g_object_unref (self->connection);
    }
  g_clear_pointer (&self->worker, sk_worker_stop);
  g_clear_pointer (&self->last, g_variant_unref);
  g_mutex_clear (&self->lock);
  g_free (self->home);
  g_free (self);
}

gboolean
sk_client_is_remote (SkClient *self)
{
  return self->connection != NULL;
}

gboolean
sk_client_is_lost (SkClient *self)
{
  return self->connection != NULL && g_dbus_connection_is_closed (self->connection);
}

GVariant *
sk_client_command (SkClient *self, const char *name, GVariant *args, SkClientProgressFunc progress,
                   gpointer user_data, GCancellable *cancellable, GError **error)
{
  g_autoptr(GVariant) owned = args != NULL ? g_variant_ref_sink (args) : NULL;
  GError *local = NULL;
  GVariant *reply;

  if (self->connection != NULL)
    return sk_control_call (self->connection, name, owned, progress, user_data, cancellable, error);
  if ((self->flags & SK_CLIENT_WATCH) != 0
      && (strcmp (name, "status") == 0 || strcmp (name, "report") == 0))
    {
      g_autoptr(GVariant) report = sk_session_report (self->session);

      if (g_variant_n_children (report) > 0)
        return g_steal_pointer (&report);
    }
  reply = sk_session_command (self->session, name, owned, progress, user_data, cancellable, &local);
  if (reply == NULL)
    g_propagate_error (error, sk_control_own_error (local));
  return reply;
}

GVariant *
sk_client_report (SkClient *self)
{
  GVariant *report;

  if (self->session != NULL)
    return sk_session_report (self->session);
  g_mutex_lock (&self->lock);
  report = self->last != NULL ? g_variant_ref (self->last)
                              : g_variant_ref_sink (g_variant_new ("a{sv}", NULL));
  g_mutex_unlock (&self->lock);
  return report;
}
