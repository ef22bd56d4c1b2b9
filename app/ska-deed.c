/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-deed.h"

#include <glib/gi18n.h>

#include "sk-client.h"
#include "ska-words.h"

typedef struct
{
  SkaWindow *window;
  char *failed, *done;
  SkaDeedFunc reply;
  gpointer user_data;
  GDestroyNotify destroy;
} Running;

static void
running_free (Running *self)
{
  if (self->destroy != NULL)
    self->destroy (self->user_data);
  g_object_unref (self->window);
  g_free (self->failed);
  g_free (self->done);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Running, running_free)

void
ska_say (GtkWidget *widget, const char *heading, const char *text)
{
  GtkRoot *root = gtk_widget_get_root (widget);
  g_autofree char *sentence = ska_words_sentence (text);
  GtkWidget *dialog;

  /* The window was closed meanwhile: nobody is there to be told. */
  if (root == NULL || !gtk_widget_get_mapped (GTK_WIDGET (root)))
    return;
  dialog = adw_message_dialog_new (GTK_WINDOW (root), heading, sentence);
  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", _("Close"));
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
on_reply (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(Running) self = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);
  const char *warning = "";

  if (reply == NULL)
    {
      if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
        ska_say (GTK_WIDGET (self->window), self->failed, error->message);
      return;
    }
  if (self->done != NULL)
    ska_window_toast (self->window, self->done);
  if (g_variant_lookup (reply, "warning", "&s", &warning) && *warning != '\0')
    ska_say (GTK_WIDGET (self->window), _("Please Note"), warning);
  if (self->reply != NULL)
    self->reply (self->window, reply, self->user_data);
}

void
ska_deed_start (SkaWindow *window, const char *command, GVariant *args, const SkaDeed *deed)
{
  Running *running = g_new0 (Running, 1);

  running->window = g_object_ref (window);
  running->failed = g_strdup (deed->failed);
  running->done = g_strdup (deed->done);
  running->reply = deed->reply;
  running->user_data = deed->user_data;
  running->destroy = deed->destroy;
  sk_engine_command_async (ska_window_get_engine (window), command, args, NULL, on_reply, running);
}
