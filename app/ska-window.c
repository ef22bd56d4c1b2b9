/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-window.h"

#include "ska-drop.h"
#include "ska-home-page.h"
#include "ska-setup-page.h"
#include "ska-stack.h"
#include "ska-unlock-page.h"
#include "ska-window-actions.h"
#include "ska-words.h"

struct _SkaWindow
{
  AdwApplicationWindow parent_instance;
  SkEngine *engine;

  AdwToastOverlay *toasts;
  GtkStack *pages;
  AdwStatusPage *failed;
  SkaUnlockPage *unlock;
  SkaSetupPage *setup;
  SkaHomePage *home;
};

G_DEFINE_FINAL_TYPE (SkaWindow, ska_window, ADW_TYPE_APPLICATION_WINDOW)

static const char *
page_for (SkaWindow *self, SkEngineState state)
{
  /* A vault that is being made is there before its words were shown. */
  if (ska_setup_page_is_holding (self->setup))
    return "setup";
  switch (state)
    {
    case SK_STATE_STARTING:
    case SK_STATE_STOPPED:
      return "starting";
    case SK_STATE_NO_VAULT:
      return "setup";
    case SK_STATE_LOCKED:
      return "locked";
    case SK_STATE_FAILED:
      return "failed";
    case SK_STATE_UP_TO_DATE:
    case SK_STATE_SYNCING:
    case SK_STATE_NEEDS_YOU:
    case SK_STATE_PAUSED:
    case SK_STATE_OFFLINE:
    default:
      return "home";
    }
}

static void
update (SkaWindow *self)
{
  SkEngineState state = SK_STATE_STARTING;
  g_autofree char *message = NULL;
  g_autofree char *sentence = NULL;
  g_autofree char *markup = NULL;

  g_object_get (self->engine, "state", &state, "message", &message, NULL);
  sentence = ska_words_sentence (message);
  /* A status page reads its description as markup. */
  markup = g_markup_escape_text (sentence, -1);
  if (state == SK_STATE_FAILED)
    adw_status_page_set_description (self->failed, markup);
  if (state == SK_STATE_LOCKED)
    ska_unlock_page_set_reason (self->unlock, sentence);
  ska_stack_show (self->pages, page_for (self, state));
  ska_window_actions_update (self, state);
}

static void
set_engine (SkaWindow *self, SkEngine *engine)
{
  self->engine = g_object_ref (engine);
  ska_unlock_page_set_engine (self->unlock, engine);
  ska_setup_page_set_engine (self->setup, engine);
  ska_home_page_set_engine (self->home, engine);
  g_signal_connect_object (engine, "notify::state", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (engine, "notify::message", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->setup, "notify::holding", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  update (self);
}

static void
ska_window_finalize (GObject *object)
{
  g_object_unref (SKA_WINDOW (object)->engine);
  G_OBJECT_CLASS (ska_window_parent_class)->finalize (object);
}

static void
ska_window_class_init (SkaWindowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_window_finalize;
  g_type_ensure (SKA_TYPE_UNLOCK_PAGE);
  g_type_ensure (SKA_TYPE_SETUP_PAGE);
  g_type_ensure (SKA_TYPE_HOME_PAGE);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-window.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaWindow, toasts);
  gtk_widget_class_bind_template_child (widget_class, SkaWindow, pages);
  gtk_widget_class_bind_template_child (widget_class, SkaWindow, failed);
  gtk_widget_class_bind_template_child (widget_class, SkaWindow, unlock);
  gtk_widget_class_bind_template_child (widget_class, SkaWindow, setup);
  gtk_widget_class_bind_template_child (widget_class, SkaWindow, home);
  ska_window_actions_install (widget_class);
}

static void
ska_window_init (SkaWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  ska_drop_accept_directories (GTK_WIDGET (self->home), self);
}

SkaWindow *
ska_window_new (GtkApplication *application, SkEngine *engine)
{
  SkaWindow *self = g_object_new (SKA_TYPE_WINDOW, "application", application, NULL);

  set_engine (self, engine);
  return self;
}

SkEngine *
ska_window_get_engine (SkaWindow *self)
{
  return self->engine;
}

void
ska_window_toast (SkaWindow *self, const char *text)
{
  g_autofree char *markup = g_markup_escape_text (text, -1);

  adw_toast_overlay_add_toast (self->toasts, adw_toast_new (markup));
}
