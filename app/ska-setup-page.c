/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-setup-page.h"

#include "ska-create-page.h"
#include "ska-join-page.h"
#include "ska-phrase-grid.h"
#include "ska-stack.h"

struct _SkaSetupPage
{
  AdwBin parent_instance;
  gboolean showing_words;

  GtkStack *pages;
  AdwStatusPage *welcome;
  SkaCreatePage *create;
  SkaJoinPage *join;
  SkaPhraseGrid *phrase;
};

enum { PROP_0, PROP_HOLDING, N_PROPS };
static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (SkaSetupPage, ska_setup_page, ADW_TYPE_BIN)

gboolean
ska_setup_page_is_holding (SkaSetupPage *self)
{
  gboolean creating, joining;

  g_object_get (self->create, "busy", &creating, NULL);
  g_object_get (self->join, "busy", &joining, NULL);
  return creating || joining || self->showing_words;
}

static void
on_busy (SkaSetupPage *self)
{
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_HOLDING]);
}

static void
show (SkaSetupPage *self, const char *page)
{
  ska_stack_show (self->pages, page);
}

static void
on_want_create (SkaSetupPage *self)
{
  show (self, "create");
}

static void
on_want_join (SkaSetupPage *self)
{
  show (self, "join");
}

static void
on_back (SkaSetupPage *self)
{
  show (self, "welcome");
}

static void
on_created (SkaCreatePage *page, const char *words, SkaSetupPage *self)
{
  ska_phrase_grid_set_words (self->phrase, words);
  self->showing_words = TRUE;
  show (self, "phrase");
}

static void
on_written (SkaSetupPage *self)
{
  ska_phrase_grid_set_words (self->phrase, "");
  self->showing_words = FALSE;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_HOLDING]);
  show (self, "welcome");
}

/* --- GObject --- */

static void
ska_setup_page_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_HOLDING)
    g_value_set_boolean (value, ska_setup_page_is_holding (SKA_SETUP_PAGE (object)));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
ska_setup_page_class_init (SkaSetupPageClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->get_property = ska_setup_page_get_property;
  properties[PROP_HOLDING] = g_param_spec_boolean ("holding", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (class), N_PROPS, properties);
  g_type_ensure (SKA_TYPE_CREATE_PAGE);
  g_type_ensure (SKA_TYPE_JOIN_PAGE);
  g_type_ensure (SKA_TYPE_PHRASE_GRID);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-setup-page.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaSetupPage, pages);
  gtk_widget_class_bind_template_child (widget_class, SkaSetupPage, welcome);
  gtk_widget_class_bind_template_child (widget_class, SkaSetupPage, create);
  gtk_widget_class_bind_template_child (widget_class, SkaSetupPage, join);
  gtk_widget_class_bind_template_child (widget_class, SkaSetupPage, phrase);
  gtk_widget_class_bind_template_callback (widget_class, on_busy);
  gtk_widget_class_bind_template_callback (widget_class, on_want_create);
  gtk_widget_class_bind_template_callback (widget_class, on_want_join);
  gtk_widget_class_bind_template_callback (widget_class, on_back);
  gtk_widget_class_bind_template_callback (widget_class, on_created);
  gtk_widget_class_bind_template_callback (widget_class, on_written);
}

static void
ska_setup_page_init (SkaSetupPage *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  adw_status_page_set_icon_name (self->welcome, SK_APP_ID);
  show (self, "welcome");
}

void
ska_setup_page_set_engine (SkaSetupPage *self, SkEngine *engine)
{
  ska_create_page_set_engine (self->create, engine);
  ska_join_page_set_engine (self->join, engine);
}
