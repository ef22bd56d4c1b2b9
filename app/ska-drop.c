/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names are read as text/uri-list where the source offers it. GTK itself prefers the transfer of files through the document portal,
 * which refuses directories without telling the receiver: the drop would be lost without a word. */
#include "config.h"

#include "ska-drop.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ska-deed.h"
#include "ska-window-actions.h"

/* Names only. More than this is no drop of some folders. */
#define DROP_BYTES_MAX (1024 * 1024)
#define DROP_FOLDERS_MAX 16u

typedef struct
{
  SkaWindow *window;
  GdkDrop *drop;
  GOutputStream *names;
} Drop;

static void
drop_end (Drop *self, gboolean taken)
{
  gdk_drop_finish (self->drop, taken ? GDK_ACTION_COPY : 0);
  g_object_unref (self->drop);
  g_clear_object (&self->names);
  g_object_unref (self->window);
  g_free (self);
}

static void
on_file_info (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaWindow) window = SKA_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GFileInfo) info = g_file_query_info_finish (G_FILE (source), result, &error);
  const char *path = g_file_peek_path (G_FILE (source));
  g_autofree char *name = NULL;
  g_autofree char *text = NULL;

  if (info != NULL && path != NULL && g_file_info_get_file_type (info) == G_FILE_TYPE_DIRECTORY)
    {
      ska_window_actions_take_directory (window, path);
      return;
    }
  name = g_file_get_parse_name (G_FILE (source));
  text = info == NULL ? g_strdup (error->message)
         : path == NULL ? g_strdup_printf (_("“%s” is not on this computer. Choose a folder of a disk."), name)
                        : g_strdup_printf (_("“%s” is not a folder. Only whole folders are kept the same."), name);
  ska_say (GTK_WIDGET (window), _("This Cannot Be Added"), text);
}

static void
take_file (SkaWindow *window, GFile *file)
{
  g_file_query_info_async (file, G_FILE_ATTRIBUTE_STANDARD_TYPE, G_FILE_QUERY_INFO_NONE, G_PRIORITY_DEFAULT, NULL, on_file_info, g_object_ref (window));
}

static gboolean
too_many (SkaWindow *window, guint n)
{
  if (n <= DROP_FOLDERS_MAX)
    return FALSE;
  ska_say (GTK_WIDGET (window), _("Too Many at Once"), _("Please drop the folder that they lie in, or a few folders at a time."));
  return TRUE;
}

static void
on_names_read (GObject *source, GAsyncResult *result, gpointer data)
{
  Drop *self = data;
  GMemoryOutputStream *memory = G_MEMORY_OUTPUT_STREAM (source);
  gssize size = g_output_stream_splice_finish (G_OUTPUT_STREAM (source), result, NULL);
  g_autofree char *list = NULL;
  g_auto(GStrv) uris = NULL;

  if (size < 0 || size > DROP_BYTES_MAX)
    {
      drop_end (self, FALSE);
      return;
    }
  list = g_strndup (g_memory_output_stream_get_data (memory), g_memory_output_stream_get_data_size (memory));
  uris = g_uri_list_extract_uris (list);
  if (!too_many (self->window, g_strv_length (uris)))
    for (char **uri = uris; *uri != NULL; uri++)
      {
        g_autoptr(GFile) file = g_file_new_for_uri (*uri);

        take_file (self->window, file);
      }
  drop_end (self, TRUE);
}

static void
on_names (GObject *source, GAsyncResult *result, gpointer data)
{
  Drop *self = data;
  const char *type = NULL;
  g_autoptr(GInputStream) stream = gdk_drop_read_finish (GDK_DROP (source), result, &type, NULL);

  if (stream == NULL)
    {
      drop_end (self, FALSE);
      return;
    }
  self->names = g_memory_output_stream_new_resizable ();
  g_output_stream_splice_async (self->names, stream, G_OUTPUT_STREAM_SPLICE_CLOSE_SOURCE | G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, G_PRIORITY_DEFAULT,
                                NULL, on_names_read, self);
}

static void
on_files (GObject *source, GAsyncResult *result, gpointer data)
{
  Drop *self = data;
  const GValue *value = gdk_drop_read_value_finish (GDK_DROP (source), result, NULL);
  GSList *files;

  if (value == NULL)
    {
      drop_end (self, FALSE);
      return;
    }
  files = gdk_file_list_get_files (g_value_get_boxed (value));
  if (!too_many (self->window, g_slist_length (files)))
    for (GSList *item = files; item != NULL; item = item->next)
      take_file (self->window, item->data);
  g_slist_free (files);
  drop_end (self, TRUE);
}

static gboolean
on_drop (GtkDropTargetAsync *target, GdkDrop *drop, double x, double y, gpointer data)
{
  static const char *types[] = { "text/uri-list", NULL };
  Drop *self = g_new0 (Drop, 1);

  /* GTK 4.8 sends no leave after a drop, and would go on showing the place as one to drop on. */
  gtk_widget_unset_state_flags (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (target)), GTK_STATE_FLAG_DROP_ACTIVE);
  self->window = g_object_ref (SKA_WINDOW (data));
  self->drop = g_object_ref (drop);
  if (gdk_content_formats_contain_mime_type (gdk_drop_get_formats (drop), types[0]))
    gdk_drop_read_async (drop, types, G_PRIORITY_DEFAULT, NULL, on_names, self);
  else
    gdk_drop_read_value_async (drop, GDK_TYPE_FILE_LIST, G_PRIORITY_DEFAULT, NULL, on_files, self);
  return TRUE;
}

void
ska_drop_accept_directories (GtkWidget *widget, SkaWindow *window)
{
  GdkContentFormatsBuilder *builder = gdk_content_formats_builder_new ();
  GtkDropTargetAsync *target;

  gdk_content_formats_builder_add_mime_type (builder, "text/uri-list");
  gdk_content_formats_builder_add_gtype (builder, GDK_TYPE_FILE_LIST);
  target = gtk_drop_target_async_new (gdk_content_formats_builder_free_to_formats (builder), GDK_ACTION_COPY | GDK_ACTION_MOVE | GDK_ACTION_LINK);
  g_signal_connect (target, "drop", G_CALLBACK (on_drop), window);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (target));
}
