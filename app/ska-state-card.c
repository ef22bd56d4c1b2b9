/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-state-card.h"

#include <glib/gi18n.h>

#include "ska-words.h"

struct _SkaStateCard
{
  AdwBin parent_instance;
  SkEngine *engine;
  const char *style;             /* the CSS class the mark has now */

  GtkImage *mark;
  GtkLabel *title;
  GtkLabel *line;
  GtkLabel *warning;
  GtkButton *pause;
};

G_DEFINE_FINAL_TYPE (SkaStateCard, ska_state_card, ADW_TYPE_BIN)

static char *
what_is_left (SkEngine *engine)
{
  guint64 files, bytes, seconds, up, down;
  g_autofree char *amount = NULL;
  g_autofree char *left = NULL;
  g_autofree char *down_rate = NULL;
  g_autofree char *up_rate = NULL;
  g_autofree char *rates = NULL;

  g_object_get (engine, "left-files", &files, "left-bytes", &bytes, "left-seconds", &seconds, "bytes-up-per-second", &up, "bytes-down-per-second", &down,
                NULL);
  amount = ska_words_to_come (files, bytes);
  left = ska_words_left (seconds);
  down_rate = ska_words_rate (down);
  up_rate = ska_words_rate (up);
  rates = up + down > 0 ? g_strdup_printf ("↓ %s  ↑ %s", down_rate, up_rate) : g_strdup ("");
  return ska_words_join (amount, left, rates, NULL);
}

static void
show_pause (SkaStateCard *self, gboolean paused)
{
  const char *label = paused ? _("Go On Syncing") : _("Pause Syncing");

  gtk_button_set_icon_name (self->pause, paused ? "media-playback-start-symbolic" : "media-playback-pause-symbolic");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->pause), paused ? "win.resume" : "win.pause");
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->pause), label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->pause), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static void
refresh (SkaStateCard *self)
{
  SkEngineState state;
  gboolean paused, joined;
  g_autofree char *message = NULL;
  g_autofree char *keys_warning = NULL;
  g_autofree char *sentence = NULL;
  g_autofree char *left = what_is_left (self->engine);
  g_autofree char *line = NULL;
  SkaLook look;

  g_object_get (self->engine, "state", &state, "message", &message, "paused", &paused, "joined", &joined, "keys-warning", &keys_warning, NULL);
  look = ska_words_engine_look (state);
  sentence = ska_words_sentence (message);
  line = ska_words_join (sentence, left, joined ? _("Another program runs the engine of this home.") : "", NULL);

  gtk_image_set_from_icon_name (self->mark, look.icon);
  if (self->style != NULL)
    gtk_widget_remove_css_class (GTK_WIDGET (self->mark), self->style);
  gtk_widget_add_css_class (GTK_WIDGET (self->mark), look.style);
  self->style = look.style;
  gtk_label_set_text (self->title, look.word);
  gtk_label_set_text (self->line, line);
  gtk_widget_set_visible (GTK_WIDGET (self->line), *line != '\0');
  gtk_widget_set_visible (GTK_WIDGET (self->warning), *keys_warning != '\0');
  show_pause (self, paused);
}

static void
ska_state_card_finalize (GObject *object)
{
  g_clear_object (&SKA_STATE_CARD (object)->engine);
  G_OBJECT_CLASS (ska_state_card_parent_class)->finalize (object);
}

static void
ska_state_card_class_init (SkaStateCardClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_state_card_finalize;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-state-card.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaStateCard, mark);
  gtk_widget_class_bind_template_child (widget_class, SkaStateCard, title);
  gtk_widget_class_bind_template_child (widget_class, SkaStateCard, line);
  gtk_widget_class_bind_template_child (widget_class, SkaStateCard, warning);
  gtk_widget_class_bind_template_child (widget_class, SkaStateCard, pause);
}

static void
ska_state_card_init (SkaStateCard *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

void
ska_state_card_set_engine (SkaStateCard *self, SkEngine *engine)
{
  self->engine = g_object_ref (engine);
  g_signal_connect_object (engine, "notify", G_CALLBACK (refresh), self, G_CONNECT_SWAPPED);
  refresh (self);
}
