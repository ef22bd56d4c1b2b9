/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-application.h"

#include <glib-unix.h>
#include <glib/gi18n.h>

#include "sk-engine.h"
#include "ska-window.h"

struct _SkaApplication
{
  AdwApplication parent_instance;
  char *home;                    /* NULL: the default place */
  SkEngine *engine;              /* from the first activation until it has stopped; holds the application */
  gboolean stopping;
  gboolean again;                /* activated while the engine was stopping */
};

G_DEFINE_FINAL_TYPE (SkaApplication, ska_application, ADW_TYPE_APPLICATION)

/* --- life of the engine --- */

static void
on_stopped (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaApplication) self = SKA_APPLICATION (data);

  sk_engine_stop_finish (SK_ENGINE (source), result, NULL);
  g_clear_object (&self->engine);
  self->stopping = FALSE;
  if (self->again)
    {
      self->again = FALSE;
      g_application_activate (G_APPLICATION (self));
    }
  g_application_release (G_APPLICATION (self));
}

/* The windows go at once; the program ends when the engine has put everything away. */
static void
stop (SkaApplication *self)
{
  GList *windows = gtk_application_get_windows (GTK_APPLICATION (self));

  self->again = FALSE;
  if (self->engine != NULL && !self->stopping)
    {
      self->stopping = TRUE;
      sk_engine_stop_async (self->engine, on_stopped, g_object_ref (self));
    }
  while (windows != NULL)
    {
      GtkWindow *window = windows->data;

      windows = windows->next;
      gtk_window_destroy (window);
    }
}

static gboolean
on_close_request (GtkWindow *window, gpointer data)
{
  stop (SKA_APPLICATION (data));
  return GDK_EVENT_STOP;
}

static gboolean
on_signal (gpointer data)
{
  stop (SKA_APPLICATION (data));
  return G_SOURCE_CONTINUE;
}

/* --- actions --- */

static void
on_quit (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  stop (SKA_APPLICATION (data));
}

static void
on_about (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  adw_show_about_window (gtk_application_get_active_window (GTK_APPLICATION (data)),
                         "application-name", "Skerry",
                         "application-icon", SK_APP_ID,
                         "version", SK_VERSION,
                         "license-type", GTK_LICENSE_GPL_3_0,
                         "comments", _("Keeps your folders the same on all of your devices, encrypted on each of them."),
                         NULL);
}

static const GActionEntry actions[] = { { .name = "quit", .activate = on_quit }, { .name = "about", .activate = on_about } };

/* --- GApplication --- */

static void
ska_application_activate (GApplication *application)
{
  SkaApplication *self = SKA_APPLICATION (application);
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (self));

  if (self->stopping)
    {
      self->again = TRUE;
      return;
    }
  if (self->engine == NULL)
    {
      self->engine = sk_engine_new (self->home);
      g_application_hold (application);
    }
  if (window == NULL)
    {
      window = GTK_WINDOW (ska_window_new (GTK_APPLICATION (self), self->engine));
      g_signal_connect (window, "close-request", G_CALLBACK (on_close_request), self);
    }
  gtk_window_present (window);
}

static void
ska_application_startup (GApplication *application)
{
  static const char *const quit[] = { "<Control>q", NULL };
  static const char *const close[] = { "<Control>w", NULL };
  static const char *const add[] = { "<Control>o", NULL };
  static const char *const sync[] = { "F5", "<Control>r", NULL };
  GtkApplication *gtk = GTK_APPLICATION (application);

  G_APPLICATION_CLASS (ska_application_parent_class)->startup (application);
  g_action_map_add_action_entries (G_ACTION_MAP (application), actions, G_N_ELEMENTS (actions), application);
  gtk_application_set_accels_for_action (gtk, "app.quit", quit);
  gtk_application_set_accels_for_action (gtk, "window.close", close);
  gtk_application_set_accels_for_action (gtk, "win.add-folder", add);
  gtk_application_set_accels_for_action (gtk, "win.sync", sync);
  gtk_window_set_default_icon_name (SK_APP_ID);
  g_unix_signal_add (SIGTERM, on_signal, application);
  g_unix_signal_add (SIGINT, on_signal, application);
}

static int
ska_application_handle_local_options (GApplication *application, GVariantDict *options)
{
  SkaApplication *self = SKA_APPLICATION (application);
  g_autofree char *home = NULL;

  if (g_variant_dict_contains (options, "version"))
    {
      g_print ("skerry %s\n", SK_VERSION);
      return 0;
    }
  if (g_variant_dict_lookup (options, "home", "^ay", &home))
    {
      self->home = g_canonicalize_filename (home, NULL);
      g_application_set_flags (application, g_application_get_flags (application) | G_APPLICATION_NON_UNIQUE);
    }
  return -1;
}

static void
ska_application_finalize (GObject *object)
{
  SkaApplication *self = SKA_APPLICATION (object);

  g_free (self->home);
  g_clear_object (&self->engine);
  G_OBJECT_CLASS (ska_application_parent_class)->finalize (object);
}

static void
ska_application_class_init (SkaApplicationClass *class)
{
  GApplicationClass *application_class = G_APPLICATION_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_application_finalize;
  application_class->activate = ska_application_activate;
  application_class->startup = ska_application_startup;
  application_class->handle_local_options = ska_application_handle_local_options;
}

static void
ska_application_init (SkaApplication *self)
{
  static const GOptionEntry options[] = {
    { "home", 0, 0, G_OPTION_ARG_FILENAME, NULL, N_("Where this device keeps its state; each home is a device of its own"), N_("DIRECTORY") },
    { "version", 0, 0, G_OPTION_ARG_NONE, NULL, N_("Show the version"), NULL },
    { NULL }
  };

  g_application_add_main_option_entries (G_APPLICATION (self), options);
}

SkaApplication *
ska_application_new (void)
{
  return g_object_new (SKA_TYPE_APPLICATION, "application-id", SK_APP_ID, "resource-base-path", SKA_RESOURCE, NULL);
}
