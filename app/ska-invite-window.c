/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-invite-window.h"

#include <glib/gi18n.h>

#include "sk-client.h"
#include "ska-deed.h"
#include "ska-phrase-grid.h"
#include "ska-stack.h"
#include "ska-words.h"

#define EXPIRES_SECONDS 600u
/* How long one question to the engine may last; then it is asked again. */
#define WAIT_SECONDS 60u

struct _SkaInviteWindow
{
  AdwWindow parent_instance;
  SkaWindow *window;             /* that it lies over */
  GCancellable *cancellable;     /* until the window is closed */
  char *invite;                  /* id of the invitation */
  char *state;                   /* the last one seen */
  char *newcomer;                /* id of the device that asked */

  AdwToastOverlay *toasts;
  GtkStack *steps;
  GtkLabel *code;
  GtkLabel *until;
  GtkLabel *who;
  SkaPhraseGrid *words;
  GtkWidget *answers;
  AdwStatusPage *end;
};

G_DEFINE_FINAL_TYPE (SkaInviteWindow, ska_invite_window, ADW_TYPE_WINDOW)

static void watch (SkaInviteWindow *self);

static void
command (SkaInviteWindow *self, const char *name, GVariant *args, GAsyncReadyCallback callback)
{
  sk_engine_command_async (ska_window_get_engine (self->window), name, args, self->cancellable, callback, g_object_ref (self));
}

/* --- what is shown --- */

static void
show_end (SkaInviteWindow *self, const char *icon, const char *title, const char *text)
{
  g_autofree char *sentence = ska_words_sentence (text);
  g_autofree char *markup = g_markup_escape_text (sentence, -1);

  adw_status_page_set_icon_name (self->end, icon);
  adw_status_page_set_title (self->end, title);
  adw_status_page_set_description (self->end, markup);
  ska_stack_show (self->steps, "end");
}

static void
show_error (SkaInviteWindow *self, const GError *error)
{
  if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
    show_end (self, "dialog-error-symbolic", _("No Device Was Invited"), error->message);
}

static void
show_newcomer (SkaInviteWindow *self, GVariant *invitation)
{
  const char *name = "", *words = "", *device = "";
  g_autofree char *text = NULL;

  g_variant_lookup (invitation, "device-name", "&s", &name);
  g_variant_lookup (invitation, "words", "&s", &words);
  g_variant_lookup (invitation, "device", "&s", &device);
  g_free (self->newcomer);
  self->newcomer = g_strdup (device);
  text = g_strdup_printf (_("“%s” wants to join. Does it show the same six words?"), name);
  gtk_label_set_text (self->who, text);
  ska_phrase_grid_set_words (self->words, words);
  gtk_widget_set_sensitive (self->answers, TRUE);
  ska_stack_show (self->steps, "asked");
}

/* TRUE when there is more to come. */
static gboolean
show_state (SkaInviteWindow *self, GVariant *invitation)
{
  const char *state = "", *name = "";
  g_autofree char *welcome = NULL;

  g_variant_lookup (invitation, "state", "&s", &state);
  g_variant_lookup (invitation, "device-name", "&s", &name);
  if (g_strcmp0 (state, self->state) == 0)
    return g_str_equal (state, "open") || g_str_equal (state, "asked");
  g_free (self->state);
  self->state = g_strdup (state);
  if (g_str_equal (state, "open"))
    return TRUE;
  if (g_str_equal (state, "asked"))
    {
      show_newcomer (self, invitation);
      return TRUE;
    }
  welcome = g_strdup_printf (_("“%s” belongs to the vault now."), name);
  if (g_str_equal (state, "admitted"))
    show_end (self, "emblem-ok-symbolic", _("Welcome Aboard"), welcome);
  else if (g_str_equal (state, "refused"))
    show_end (self, "action-unavailable-symbolic", _("Refused"), _("The device was not let in. The code cannot be used any more."));
  else if (g_str_equal (state, "expired"))
    show_end (self, "alarm-symbolic", _("The Code Ran Out"), _("Nobody came in time. Invite again for a new code."));
  else
    show_end (self, "dialog-warning-symbolic", _("The Code Is Blocked"), _("Somebody tried wrong codes. Invite again for a new one."));
  return FALSE;
}

/* --- what the engine says --- */

static void
on_watched (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaInviteWindow) self = SKA_INVITE_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) invitation = sk_engine_command_finish (SK_ENGINE (source), result, &error);

  if (invitation == NULL)
    show_error (self, error);
  else if (show_state (self, invitation))
    watch (self);
}

static void
watch (SkaInviteWindow *self)
{
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  g_variant_dict_insert (&args, "invite", "s", self->invite);
  g_variant_dict_insert (&args, "state", "s", self->state);
  g_variant_dict_insert (&args, "timeout", "u", WAIT_SECONDS);
  command (self, "invite.wait", g_variant_dict_end (&args), on_watched);
}

static void
show_until (SkaInviteWindow *self, gint64 expires)
{
  g_autoptr(GDateTime) when = g_date_time_new_from_unix_local (expires);
  g_autofree char *clock = when != NULL ? g_date_time_format (when, "%H:%M") : g_strdup ("");
  g_autofree char *text = g_strdup_printf (_("Waiting for the new device, until %s"), clock);

  gtk_label_set_text (self->until, text);
}

static void
on_invited (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaInviteWindow) self = SKA_INVITE_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);
  const char *invite = "", *code = "";
  gint64 expires = 0;

  if (reply == NULL)
    {
      show_error (self, error);
      return;
    }
  g_variant_lookup (reply, "invite", "&s", &invite);
  g_variant_lookup (reply, "code", "&s", &code);
  g_variant_lookup (reply, "expires", "x", &expires);
  self->invite = g_strdup (invite);
  self->state = g_strdup ("open");
  gtk_label_set_text (self->code, code);
  show_until (self, expires);
  ska_stack_show (self->steps, "code");
  watch (self);
}

/* --- what the person does --- */

static void
on_copy (SkaInviteWindow *self)
{
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), gtk_label_get_text (self->code));
  adw_toast_overlay_add_toast (self->toasts, adw_toast_new (_("The code was copied")));
}

/* The new state itself comes through invite.wait. */
static void
on_answered (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaInviteWindow) self = SKA_INVITE_WINDOW (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) invitation = sk_engine_command_finish (SK_ENGINE (source), result, &error);

  if (invitation != NULL || g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
    return;
  gtk_widget_set_sensitive (self->answers, TRUE);
  ska_say (GTK_WIDGET (self), _("That Did Not Work"), error->message);
}

static void
on_confirm (SkaInviteWindow *self)
{
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  gtk_widget_set_sensitive (self->answers, FALSE);
  g_variant_dict_insert (&args, "invite", "s", self->invite);
  g_variant_dict_insert (&args, "device", "s", self->newcomer);
  command (self, "invite.confirm", g_variant_dict_end (&args), on_answered);
}

static void
on_refuse (SkaInviteWindow *self)
{
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  gtk_widget_set_sensitive (self->answers, FALSE);
  g_variant_dict_insert (&args, "invite", "s", self->invite);
  command (self, "invite.refuse", g_variant_dict_end (&args), on_answered);
}

/* --- GObject --- */

static gboolean
ska_invite_window_close_request (GtkWindow *window)
{
  g_cancellable_cancel (SKA_INVITE_WINDOW (window)->cancellable);
  return GTK_WINDOW_CLASS (ska_invite_window_parent_class)->close_request (window);
}

static void
ska_invite_window_finalize (GObject *object)
{
  SkaInviteWindow *self = SKA_INVITE_WINDOW (object);

  g_clear_object (&self->window);
  g_clear_object (&self->cancellable);
  g_free (self->invite);
  g_free (self->state);
  g_free (self->newcomer);
  G_OBJECT_CLASS (ska_invite_window_parent_class)->finalize (object);
}

static void
ska_invite_window_class_init (SkaInviteWindowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_invite_window_finalize;
  GTK_WINDOW_CLASS (class)->close_request = ska_invite_window_close_request;
  g_type_ensure (SKA_TYPE_PHRASE_GRID);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-invite-window.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, toasts);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, steps);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, code);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, until);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, who);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, words);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, answers);
  gtk_widget_class_bind_template_child (widget_class, SkaInviteWindow, end);
  gtk_widget_class_bind_template_callback (widget_class, on_copy);
  gtk_widget_class_bind_template_callback (widget_class, on_confirm);
  gtk_widget_class_bind_template_callback (widget_class, on_refuse);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
}

static void
ska_invite_window_init (SkaInviteWindow *self)
{
  self->cancellable = g_cancellable_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  ska_stack_show (self->steps, "starting");
}

SkaInviteWindow *
ska_invite_window_new (SkaWindow *window)
{
  SkaInviteWindow *self = g_object_new (SKA_TYPE_INVITE_WINDOW, "transient-for", window, NULL);
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  self->window = g_object_ref (window);
  g_variant_dict_insert (&args, "expires", "u", EXPIRES_SECONDS);
  command (self, "invite", g_variant_dict_end (&args), on_invited);
  return self;
}
