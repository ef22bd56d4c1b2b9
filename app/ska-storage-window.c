/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-storage-window.h"

#include <glib/gi18n.h>

#include "sk-client.h"
#include "ska-chooser.h"
#include "ska-deed.h"

struct _SkaStorageWindow
{
  AdwWindow parent_instance;
  SkaWindow *window;             /* that it lies over */
  GCancellable *adding;          /* while the engine looks */

  GtkWidget *form;
  GtkEditable *name;
  GtkEditable *place;
  GtkWidget *add;
  GtkSpinner *spinner;
};

G_DEFINE_FINAL_TYPE (SkaStorageWindow, ska_storage_window, ADW_TYPE_WINDOW)

static gboolean
is_complete (SkaStorageWindow *self)
{
  return *gtk_editable_get_text (self->name) != '\0' && *gtk_editable_get_text (self->place) != '\0';
}

static void
on_changed (SkaStorageWindow *self)
{
  gtk_widget_set_sensitive (self->add, is_complete (self) && self->adding == NULL);
}

static void
set_adding (SkaStorageWindow *self, GCancellable *adding)
{
  g_set_object (&self->adding, adding);
  gtk_widget_set_sensitive (self->form, adding == NULL);
  gtk_spinner_set_spinning (self->spinner, adding != NULL);
  on_changed (self);
}

static void
on_added (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaStorageWindow) self = SKA_STORAGE_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);
  g_autofree char *text = NULL;
  const char *warning = "";

  set_adding (self, NULL);
  if (reply == NULL)
    {
      if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
        ska_say (GTK_WIDGET (self), _("The Storage Could Not Be Added"), error->message);
      return;
    }
  text = g_strdup_printf (_("“%s” was added"), gtk_editable_get_text (self->name));
  ska_window_toast (self->window, text);
  if (g_variant_lookup (reply, "warning", "&s", &warning) && *warning != '\0')
    ska_say (GTK_WIDGET (self->window), _("Please Note"), warning);
  gtk_window_destroy (GTK_WINDOW (self));
}

static void
on_add (SkaStorageWindow *self)
{
  g_autoptr(GCancellable) adding = NULL;
  g_autofree char *place = g_strstrip (g_strdup (gtk_editable_get_text (self->place)));
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  /* Also reached with the Enter key. */
  if (!is_complete (self) || self->adding != NULL)
    return;
  adding = g_cancellable_new ();
  set_adding (self, adding);
  g_variant_dict_insert (&args, "name", "s", gtk_editable_get_text (self->name));
  g_variant_dict_insert (&args, "uri", "s", place);
  sk_engine_command_async (ska_window_get_engine (self->window), "storage.add", g_variant_dict_end (&args), adding, on_added, g_object_ref (self));
}

static void
on_chosen (GFile *directory, gpointer data)
{
  SkaStorageWindow *self = SKA_STORAGE_WINDOW (data);
  g_autofree char *path = g_file_get_path (directory);
  g_autofree char *uri = g_file_get_uri (directory);

  /* A path that is not UTF-8 cannot stand in an entry; its URI can. */
  gtk_editable_set_text (self->place, path != NULL && g_utf8_validate (path, -1, NULL) ? path : uri);
  if (*gtk_editable_get_text (self->name) == '\0')
    {
      g_autofree char *base = g_file_get_basename (directory);
      g_autofree char *display = g_filename_display_name (base);

      gtk_editable_set_text (self->name, display);
    }
}

static void
on_choose (SkaStorageWindow *self)
{
  ska_choose_directory (GTK_WINDOW (self), _("Choose a Folder for the Storage"), _("Choose"), on_chosen, g_object_ref (self), g_object_unref);
}

static gboolean
ska_storage_window_close_request (GtkWindow *window)
{
  SkaStorageWindow *self = SKA_STORAGE_WINDOW (window);

  if (self->adding != NULL)
    g_cancellable_cancel (self->adding);
  return GTK_WINDOW_CLASS (ska_storage_window_parent_class)->close_request (window);
}

static void
ska_storage_window_finalize (GObject *object)
{
  SkaStorageWindow *self = SKA_STORAGE_WINDOW (object);

  g_clear_object (&self->adding);
  g_clear_object (&self->window);
  G_OBJECT_CLASS (ska_storage_window_parent_class)->finalize (object);
}

static void
ska_storage_window_class_init (SkaStorageWindowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_storage_window_finalize;
  GTK_WINDOW_CLASS (class)->close_request = ska_storage_window_close_request;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-storage-window.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaStorageWindow, form);
  gtk_widget_class_bind_template_child (widget_class, SkaStorageWindow, name);
  gtk_widget_class_bind_template_child (widget_class, SkaStorageWindow, place);
  gtk_widget_class_bind_template_child (widget_class, SkaStorageWindow, add);
  gtk_widget_class_bind_template_child (widget_class, SkaStorageWindow, spinner);
  gtk_widget_class_bind_template_callback (widget_class, on_add);
  gtk_widget_class_bind_template_callback (widget_class, on_changed);
  gtk_widget_class_bind_template_callback (widget_class, on_choose);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
}

static void
ska_storage_window_init (SkaStorageWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

SkaStorageWindow *
ska_storage_window_new (SkaWindow *window, const char *name)
{
  SkaStorageWindow *self = g_object_new (SKA_TYPE_STORAGE_WINDOW, "transient-for", window, NULL);

  self->window = g_object_ref (window);
  if (name != NULL)
    {
      gtk_window_set_title (GTK_WINDOW (self), _("Set Up Storage"));
      gtk_editable_set_text (self->name, name);
      gtk_editable_set_editable (self->name, FALSE);
    }
  return self;
}
