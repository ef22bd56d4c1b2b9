/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-recovery-window.h"

#include <glib/gi18n.h>

#include "sk-client.h"
#include "ska-deed.h"
#include "ska-phrase-grid.h"
#include "ska-stack.h"
#include "ska-words.h"

struct _SkaRecoveryWindow
{
  AdwWindow parent_instance;
  SkEngine *engine;
  GCancellable *cancellable;     /* until the window is closed */

  GtkStack *steps;
  SkaPhraseGrid *words;
  GtkEditable *typed;
  AdwStatusPage *end;
};

G_DEFINE_FINAL_TYPE (SkaRecoveryWindow, ska_recovery_window, ADW_TYPE_WINDOW)

static void
show_end (SkaRecoveryWindow *self, const char *icon, const char *title, const char *text)
{
  g_autofree char *sentence = ska_words_sentence (text);
  g_autofree char *markup = g_markup_escape_text (sentence, -1);

  ska_phrase_grid_set_words (self->words, "");
  adw_status_page_set_icon_name (self->end, icon);
  adw_status_page_set_title (self->end, title);
  adw_status_page_set_description (self->end, markup);
  ska_stack_show (self->steps, "end");
}

static void
on_words (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaRecoveryWindow) self = SKA_RECOVERY_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);
  const char *words = "";

  if (reply == NULL)
    {
      if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
        show_end (self, "dialog-information-symbolic", _("Not on This Device"), error->message);
      return;
    }
  g_variant_lookup (reply, "phrase", "&s", &words);
  ska_phrase_grid_set_words (self->words, words);
  ska_stack_show (self->steps, "words");
}

static void
on_checked (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaRecoveryWindow) self = SKA_RECOVERY_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);

  gtk_widget_set_sensitive (GTK_WIDGET (self->typed), TRUE);
  if (reply == NULL)
    {
      if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
        ska_say (GTK_WIDGET (self), _("Please Look Again"), error->message);
      return;
    }
  gtk_editable_set_text (self->typed, "");
  show_end (self, "emblem-ok-symbolic", _("They Are Right"), _("From now on the words exist on your paper only. Keep it in a safe place."));
}

static void
on_check (SkaRecoveryWindow *self)
{
  g_autofree char *typed = g_strstrip (g_strdup (gtk_editable_get_text (self->typed)));
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  if (*typed == '\0')
    return;
  gtk_widget_set_sensitive (GTK_WIDGET (self->typed), FALSE);
  g_variant_dict_insert (&args, "check", "b", TRUE);
  g_variant_dict_insert (&args, "phrase", "s", typed);
  sk_engine_command_async (self->engine, "vault.recovery", g_variant_dict_end (&args), self->cancellable, on_checked, g_object_ref (self));
}

static gboolean
ska_recovery_window_close_request (GtkWindow *window)
{
  g_cancellable_cancel (SKA_RECOVERY_WINDOW (window)->cancellable);
  return GTK_WINDOW_CLASS (ska_recovery_window_parent_class)->close_request (window);
}

static void
ska_recovery_window_finalize (GObject *object)
{
  SkaRecoveryWindow *self = SKA_RECOVERY_WINDOW (object);

  g_clear_object (&self->engine);
  g_clear_object (&self->cancellable);
  G_OBJECT_CLASS (ska_recovery_window_parent_class)->finalize (object);
}

static void
ska_recovery_window_class_init (SkaRecoveryWindowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_recovery_window_finalize;
  GTK_WINDOW_CLASS (class)->close_request = ska_recovery_window_close_request;
  g_type_ensure (SKA_TYPE_PHRASE_GRID);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-recovery-window.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaRecoveryWindow, steps);
  gtk_widget_class_bind_template_child (widget_class, SkaRecoveryWindow, words);
  gtk_widget_class_bind_template_child (widget_class, SkaRecoveryWindow, typed);
  gtk_widget_class_bind_template_child (widget_class, SkaRecoveryWindow, end);
  gtk_widget_class_bind_template_callback (widget_class, on_check);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
}

static void
ska_recovery_window_init (SkaRecoveryWindow *self)
{
  self->cancellable = g_cancellable_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  ska_stack_show (self->steps, "starting");
}

SkaRecoveryWindow *
ska_recovery_window_new (SkaWindow *window)
{
  SkaRecoveryWindow *self = g_object_new (SKA_TYPE_RECOVERY_WINDOW, "transient-for", window, NULL);

  self->engine = g_object_ref (ska_window_get_engine (window));
  sk_engine_command_async (self->engine, "vault.recovery", NULL, self->cancellable, on_words, g_object_ref (self));
  return self;
}
