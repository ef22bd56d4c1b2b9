/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-chooser.h"

#include <glib/gi18n.h>

typedef struct
{
  SkaChooserFunc done;
  gpointer user_data;
  GDestroyNotify destroy;
} Choosing;

static void
on_response (GtkNativeDialog *dialog, int response, gpointer data)
{
  g_autofree Choosing *self = data;

  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr(GFile) directory = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));

      if (directory != NULL)
        self->done (directory, self->user_data);
    }
  if (self->destroy != NULL)
    self->destroy (self->user_data);
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

void
ska_choose_directory (GtkWindow *parent, const char *title, const char *accept, SkaChooserFunc done, gpointer user_data, GDestroyNotify destroy)
{
  /* Owned by itself until the response; a native dialog is no widget that its parent would keep. */
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (title, parent, GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, accept, _("Cancel"));
  Choosing *self = g_new0 (Choosing, 1);

  self->done = done;
  self->user_data = user_data;
  self->destroy = destroy;
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect (dialog, "response", G_CALLBACK (on_response), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}
