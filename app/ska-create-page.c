/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-create-page.h"

#include <glib/gi18n.h>

#include "ska-deed.h"
#include "ska-keys-group.h"

struct _SkaCreatePage
{
  AdwBin parent_instance;
  SkEngine *engine;
  gboolean busy;

  GtkWidget *back;
  GtkWidget *form;
  GtkEditable *vault;
  GtkEditable *device;
  SkaKeysGroup *keys;
  GtkWidget *create;
  GtkSpinner *spinner;
};

enum { PROP_0, PROP_BUSY, N_PROPS };
static GParamSpec *properties[N_PROPS];
enum { SIGNAL_BACK, SIGNAL_CREATED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (SkaCreatePage, ska_create_page, ADW_TYPE_BIN)

static gboolean
is_complete (SkaCreatePage *self)
{
  return *gtk_editable_get_text (self->vault) != '\0' && *gtk_editable_get_text (self->device) != '\0' && ska_keys_group_is_complete (self->keys);
}

static void
on_changed (SkaCreatePage *self)
{
  gtk_widget_set_sensitive (self->create, is_complete (self));
}

static void
set_busy (SkaCreatePage *self, gboolean busy)
{
  self->busy = busy;
  gtk_widget_set_sensitive (self->back, !busy);
  gtk_widget_set_sensitive (self->form, !busy);
  gtk_widget_set_visible (GTK_WIDGET (self->spinner), busy);
  gtk_spinner_set_spinning (self->spinner, busy);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BUSY]);
}

static void
on_created (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(SkaCreatePage) self = SKA_CREATE_PAGE (data);
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = sk_engine_command_finish (SK_ENGINE (source), result, &error);
  const char *words = "";

  if (reply == NULL)
    ska_say (GTK_WIDGET (self), _("The Vault Could Not Be Created"), error->message);
  else
    {
      ska_keys_group_clear (self->keys);
      g_variant_lookup (reply, "phrase", "&s", &words);
      g_signal_emit (self, signals[SIGNAL_CREATED], 0, words);
    }
  set_busy (self, FALSE);
}

static void
on_create (SkaCreatePage *self)
{
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  /* Also reached with the Enter key. */
  if (!is_complete (self) || self->busy)
    return;
  set_busy (self, TRUE);
  g_variant_dict_insert (&args, "name", "s", gtk_editable_get_text (self->vault));
  g_variant_dict_insert (&args, "device-name", "s", gtk_editable_get_text (self->device));
  ska_keys_group_add_arguments (self->keys, &args);
  sk_engine_command_async (self->engine, "vault.create", g_variant_dict_end (&args), NULL, on_created, g_object_ref (self));
}

static void
on_back (SkaCreatePage *self)
{
  g_signal_emit (self, signals[SIGNAL_BACK], 0);
}

/* --- GObject --- */

static void
ska_create_page_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_BUSY)
    g_value_set_boolean (value, SKA_CREATE_PAGE (object)->busy);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
ska_create_page_finalize (GObject *object)
{
  g_clear_object (&SKA_CREATE_PAGE (object)->engine);
  G_OBJECT_CLASS (ska_create_page_parent_class)->finalize (object);
}

static void
ska_create_page_class_init (SkaCreatePageClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->get_property = ska_create_page_get_property;
  G_OBJECT_CLASS (class)->finalize = ska_create_page_finalize;
  properties[PROP_BUSY] = g_param_spec_boolean ("busy", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (class), N_PROPS, properties);
  signals[SIGNAL_BACK] = g_signal_new ("back", SKA_TYPE_CREATE_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_CREATED] = g_signal_new ("created", SKA_TYPE_CREATE_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  g_type_ensure (SKA_TYPE_KEYS_GROUP);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-create-page.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, back);
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, form);
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, vault);
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, device);
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, keys);
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, create);
  gtk_widget_class_bind_template_child (widget_class, SkaCreatePage, spinner);
  gtk_widget_class_bind_template_callback (widget_class, on_changed);
  gtk_widget_class_bind_template_callback (widget_class, on_create);
  gtk_widget_class_bind_template_callback (widget_class, on_back);
}

static void
ska_create_page_init (SkaCreatePage *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_editable_set_text (self->vault, _("My files"));
  gtk_editable_set_text (self->device, g_get_host_name ());
}

void
ska_create_page_set_engine (SkaCreatePage *self, SkEngine *engine)
{
  self->engine = g_object_ref (engine);
}
