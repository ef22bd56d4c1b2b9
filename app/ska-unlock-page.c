/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-unlock-page.h"

struct _SkaUnlockPage
{
  AdwBin parent_instance;
  SkEngine *engine;

  AdwStatusPage *page;
  GtkEditable *passphrase;
};

G_DEFINE_FINAL_TYPE (SkaUnlockPage, ska_unlock_page, ADW_TYPE_BIN)

static void
on_unlock (SkaUnlockPage *self)
{
  if (*gtk_editable_get_text (self->passphrase) == '\0')
    return;
  sk_engine_unlock (self->engine, gtk_editable_get_text (self->passphrase));
  gtk_editable_set_text (self->passphrase, "");
}

static void
ska_unlock_page_finalize (GObject *object)
{
  g_clear_object (&SKA_UNLOCK_PAGE (object)->engine);
  G_OBJECT_CLASS (ska_unlock_page_parent_class)->finalize (object);
}

static void
ska_unlock_page_class_init (SkaUnlockPageClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_unlock_page_finalize;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-unlock-page.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaUnlockPage, page);
  gtk_widget_class_bind_template_child (widget_class, SkaUnlockPage, passphrase);
  gtk_widget_class_bind_template_callback (widget_class, on_unlock);
}

static void
ska_unlock_page_init (SkaUnlockPage *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

void
ska_unlock_page_set_engine (SkaUnlockPage *self, SkEngine *engine)
{
  self->engine = g_object_ref (engine);
}

void
ska_unlock_page_set_reason (SkaUnlockPage *self, const char *reason)
{
  g_autofree char *markup = g_markup_escape_text (reason, -1);

  adw_status_page_set_description (self->page, markup);
}
