/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-item-row.h"

typedef struct
{
  SkItem *item;
  const char *style;             /* the CSS class the mark has now */

  GtkImage *icon;
  GtkLabel *title;
  GtkLabel *line;
  GtkLabel *detail;
  GtkProgressBar *progress;
  GtkImage *mark;
  GtkBox *suffixes;
} SkaItemRowPrivate;

enum { PROP_0, PROP_ITEM, N_PROPS };
static GParamSpec *properties[N_PROPS];
static GtkBuildableIface *parent_buildable;

static void ska_item_row_buildable_init (GtkBuildableIface *iface);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (SkaItemRow, ska_item_row, GTK_TYPE_LIST_BOX_ROW, G_ADD_PRIVATE (SkaItemRow)
                                  G_IMPLEMENT_INTERFACE (GTK_TYPE_BUILDABLE, ska_item_row_buildable_init))

static SkaItemRowPrivate *
private_of (SkaItemRow *self)
{
  return ska_item_row_get_instance_private (self);
}

static void
ska_item_row_add_child (GtkBuildable *buildable, GtkBuilder *builder, GObject *child, const char *type)
{
  if (g_strcmp0 (type, "suffix") == 0)
    gtk_box_append (private_of (SKA_ITEM_ROW (buildable))->suffixes, GTK_WIDGET (child));
  else
    parent_buildable->add_child (buildable, builder, child, type);
}

static void
ska_item_row_buildable_init (GtkBuildableIface *iface)
{
  parent_buildable = g_type_interface_peek_parent (iface);
  iface->add_child = ska_item_row_add_child;
}

static void
on_do (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gtk_widget_activate_action (widget, g_variant_get_string (parameter, NULL), "s", sk_item_get_id (private_of (SKA_ITEM_ROW (widget))->item));
}

static void
refresh (SkaItemRow *self)
{
  SkaItemRowPrivate *priv = private_of (self);

  gtk_label_set_text (priv->title, sk_item_get_string (priv->item, "name"));
  SKA_ITEM_ROW_GET_CLASS (self)->refresh (self, priv->item);
}

/* --- GObject --- */

static void
ska_item_row_constructed (GObject *object)
{
  SkaItemRow *self = SKA_ITEM_ROW (object);

  G_OBJECT_CLASS (ska_item_row_parent_class)->constructed (object);
  g_signal_connect_object (private_of (self)->item, "notify", G_CALLBACK (refresh), self, G_CONNECT_SWAPPED);
  refresh (self);
}

static void
ska_item_row_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  if (id == PROP_ITEM)
    private_of (SKA_ITEM_ROW (object))->item = g_value_dup_object (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
ska_item_row_finalize (GObject *object)
{
  g_object_unref (private_of (SKA_ITEM_ROW (object))->item);
  G_OBJECT_CLASS (ska_item_row_parent_class)->finalize (object);
}

static void
ska_item_row_class_init (SkaItemRowClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  object_class->constructed = ska_item_row_constructed;
  object_class->set_property = ska_item_row_set_property;
  object_class->finalize = ska_item_row_finalize;
  properties[PROP_ITEM] = g_param_spec_object ("item", NULL, NULL, SK_TYPE_ITEM, G_PARAM_WRITABLE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-item-row.ui");
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, icon);
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, title);
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, line);
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, detail);
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, progress);
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, mark);
  gtk_widget_class_bind_template_child_private (widget_class, SkaItemRow, suffixes);
  gtk_widget_class_install_action (widget_class, "row.do", "s", on_do);
}

static void
ska_item_row_init (SkaItemRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

/* --- for subclasses --- */

void
ska_item_row_set_icon (SkaItemRow *self, const char *icon)
{
  gtk_image_set_from_icon_name (private_of (self)->icon, icon);
}

void
ska_item_row_set_lines (SkaItemRow *self, const char *line, const char *detail)
{
  SkaItemRowPrivate *priv = private_of (self);

  gtk_label_set_text (priv->line, line);
  gtk_label_set_text (priv->detail, detail);
  gtk_widget_set_visible (GTK_WIDGET (priv->detail), *detail != '\0');
  gtk_widget_set_tooltip_text (GTK_WIDGET (priv->detail), detail);
}

void
ska_item_row_set_look (SkaItemRow *self, SkaLook look)
{
  SkaItemRowPrivate *priv = private_of (self);

  gtk_widget_set_visible (GTK_WIDGET (priv->mark), *look.icon != '\0');
  gtk_image_set_from_icon_name (priv->mark, look.icon);
  gtk_widget_set_tooltip_text (GTK_WIDGET (priv->mark), look.word);
  if (priv->style != NULL)
    gtk_widget_remove_css_class (GTK_WIDGET (priv->mark), priv->style);
  gtk_widget_add_css_class (GTK_WIDGET (priv->mark), look.style);
  priv->style = look.style;
}

void
ska_item_row_set_progress (SkaItemRow *self, double fraction)
{
  SkaItemRowPrivate *priv = private_of (self);

  gtk_widget_set_visible (GTK_WIDGET (priv->progress), fraction >= 0);
  if (fraction >= 0)
    gtk_progress_bar_set_fraction (priv->progress, MIN (fraction, 1));
}
