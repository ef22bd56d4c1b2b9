/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-keys-group.h"

struct _SkaKeysGroup
{
  AdwBin parent_instance;
  GtkCheckButton *keyring;
  GtkCheckButton *sealed;
  GtkCheckButton *open;
  GtkEditable *passphrase;
  GtkEditable *again;
};

enum { PROP_0, PROP_COMPLETE, N_PROPS };
static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (SkaKeysGroup, ska_keys_group, ADW_TYPE_BIN)

gboolean
ska_keys_group_is_complete (SkaKeysGroup *self)
{
  const char *passphrase;

  if (!gtk_check_button_get_active (self->sealed))
    return TRUE;
  passphrase = gtk_editable_get_text (self->passphrase);
  return *passphrase != '\0' && g_str_equal (passphrase, gtk_editable_get_text (self->again));
}

static void
on_changed (SkaKeysGroup *self)
{
  gboolean differ = gtk_check_button_get_active (self->sealed) && *gtk_editable_get_text (self->again) != '\0' && !ska_keys_group_is_complete (self);

  if (differ)
    gtk_widget_add_css_class (GTK_WIDGET (self->again), "error");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self->again), "error");
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_COMPLETE]);
}

void
ska_keys_group_add_arguments (SkaKeysGroup *self, GVariantDict *args)
{
  if (gtk_check_button_get_active (self->sealed))
    g_variant_dict_insert (args, "passphrase", "s", gtk_editable_get_text (self->passphrase));
  if (gtk_check_button_get_active (self->open))
    g_variant_dict_insert (args, "no-passphrase", "b", TRUE);
}

void
ska_keys_group_clear (SkaKeysGroup *self)
{
  gtk_editable_set_text (self->passphrase, "");
  gtk_editable_set_text (self->again, "");
}

static void
ska_keys_group_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_COMPLETE)
    g_value_set_boolean (value, ska_keys_group_is_complete (SKA_KEYS_GROUP (object)));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
ska_keys_group_class_init (SkaKeysGroupClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->get_property = ska_keys_group_get_property;
  properties[PROP_COMPLETE] = g_param_spec_boolean ("complete", NULL, NULL, TRUE, G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (class), N_PROPS, properties);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-keys-group.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaKeysGroup, keyring);
  gtk_widget_class_bind_template_child (widget_class, SkaKeysGroup, sealed);
  gtk_widget_class_bind_template_child (widget_class, SkaKeysGroup, open);
  gtk_widget_class_bind_template_child (widget_class, SkaKeysGroup, passphrase);
  gtk_widget_class_bind_template_child (widget_class, SkaKeysGroup, again);
  gtk_widget_class_bind_template_callback (widget_class, on_changed);
}

static void
ska_keys_group_init (SkaKeysGroup *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}
