/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-join-page.h"

#include <glib/gi18n.h>

#include "sk-client.h"
#include "ska-deed.h"
#include "ska-keys-group.h"
#include "ska-phrase-grid.h"
#include "ska-stack.h"

/* Somebody has to walk to the other device. */
#define WAIT_SECONDS 600u

struct _SkaJoinPage
{
  AdwBin parent_instance;
  SkEngine *engine;
  GCancellable *joining;         /* while busy */

  GtkWidget *back;
  GtkStack *steps;
  GtkEditable *code;
  GtkEditable *device;
  GtkEditable *storage;
  SkaKeysGroup *keys;
  GtkWidget *join;
  GtkLabel *what;
  SkaPhraseGrid *words;
};

enum { PROP_0, PROP_BUSY, N_PROPS };
static GParamSpec *properties[N_PROPS];
enum { SIGNAL_BACK, SIGNAL_JOINED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (SkaJoinPage, ska_join_page, ADW_TYPE_BIN)

static gboolean
is_complete (SkaJoinPage *self)
{
  return *gtk_editable_get_text (self->code) != '\0' && *gtk_editable_get_text (self->device) != '\0' && ska_keys_group_is_complete (self->keys);
}

static void
on_changed (SkaJoinPage *self)
{
  gtk_widget_set_sensitive (self->join, is_complete (self));
}

/* @words "": not known yet. */
static void
show_waiting (SkaJoinPage *self, const char *words)
{
  ska_phrase_grid_set_words (self->words, words);
  gtk_label_set_text (self->what, *words == '\0' ? _("Looking for the other device…")
                                                 : _("The other device shows these six words as well. When they are the same, confirm there."));
}

static void
set_joining (SkaJoinPage *self, GCancellable *joining)
{
  g_set_object (&self->joining, joining);
  gtk_widget_set_sensitive (self->back, joining == NULL);
  show_waiting (self, "");
  ska_stack_show (self->steps, joining != NULL ? "waiting" : "form");
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BUSY]);
}

static void
on_progress (GVariant *progress, gpointer data)
{
  const char *words = "";

  if (g_variant_lookup (progress, "words", "&s", &words) && *words != '\0')
    show_waiting (SKA_JOIN_PAGE (data), words);
}

static void
on_joined (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaJoinPage) self = SKA_JOIN_PAGE (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);

  if (reply != NULL)
    {
      ska_keys_group_clear (self->keys);
      g_signal_emit (self, signals[SIGNAL_JOINED], 0);
    }
  else if (!g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
    ska_say (GTK_WIDGET (self), _("This Device Did Not Join"), error->message);
  set_joining (self, NULL);
}

static void
on_join (SkaJoinPage *self)
{
  g_autoptr(GCancellable) joining = NULL;
  g_autofree char *code = g_strstrip (g_strdup (gtk_editable_get_text (self->code)));
  const char *storage = gtk_editable_get_text (self->storage);
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  /* Also reached with the Enter key. */
  if (!is_complete (self) || self->joining != NULL)
    return;
  joining = g_cancellable_new ();
  set_joining (self, joining);
  g_variant_dict_insert (&args, "code", "s", code);
  g_variant_dict_insert (&args, "device-name", "s", gtk_editable_get_text (self->device));
  g_variant_dict_insert (&args, "wait", "u", WAIT_SECONDS);
  if (*storage != '\0')
    g_variant_dict_insert (&args, "storage", "s", storage);
  ska_keys_group_add_arguments (self->keys, &args);
  sk_engine_command_progress_async (self->engine, "vault.join", g_variant_dict_end (&args), joining, on_progress, self, on_joined, g_object_ref (self));
}

static void
on_cancel (SkaJoinPage *self)
{
  if (self->joining != NULL)
    g_cancellable_cancel (self->joining);
}

static void
on_back (SkaJoinPage *self)
{
  g_signal_emit (self, signals[SIGNAL_BACK], 0);
}

/* --- GObject --- */

static void
ska_join_page_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_BUSY)
    g_value_set_boolean (value, SKA_JOIN_PAGE (object)->joining != NULL);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
ska_join_page_finalize (GObject *object)
{
  SkaJoinPage *self = SKA_JOIN_PAGE (object);

  g_clear_object (&self->engine);
  g_clear_object (&self->joining);
  G_OBJECT_CLASS (ska_join_page_parent_class)->finalize (object);
}

static void
ska_join_page_class_init (SkaJoinPageClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->get_property = ska_join_page_get_property;
  G_OBJECT_CLASS (class)->finalize = ska_join_page_finalize;
  properties[PROP_BUSY] = g_param_spec_boolean ("busy", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (class), N_PROPS, properties);
  signals[SIGNAL_BACK] = g_signal_new ("back", SKA_TYPE_JOIN_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_JOINED] = g_signal_new ("joined", SKA_TYPE_JOIN_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  g_type_ensure (SKA_TYPE_KEYS_GROUP);
  g_type_ensure (SKA_TYPE_PHRASE_GRID);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-join-page.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, back);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, steps);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, code);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, device);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, storage);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, keys);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, join);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, what);
  gtk_widget_class_bind_template_child (widget_class, SkaJoinPage, words);
  gtk_widget_class_bind_template_callback (widget_class, on_changed);
  gtk_widget_class_bind_template_callback (widget_class, on_join);
  gtk_widget_class_bind_template_callback (widget_class, on_cancel);
  gtk_widget_class_bind_template_callback (widget_class, on_back);
}

static void
ska_join_page_init (SkaJoinPage *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_editable_set_text (self->device, g_get_host_name ());
  ska_stack_show (self->steps, "form");
}

void
ska_join_page_set_engine (SkaJoinPage *self, SkEngine *engine)
{
  self->engine = g_object_ref (engine);
}
