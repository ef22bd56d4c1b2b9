/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-home-page.h"

#include "sk-device-object.h"
#include "sk-folder.h"
#include "sk-storage-object.h"
#include "ska-device-row.h"
#include "ska-folder-row.h"
#include "ska-issue-row.h"
#include "ska-state-card.h"
#include "ska-storage-row.h"

struct _SkaHomePage
{
  AdwBin parent_instance;
  SkEngine *engine;

  AdwWindowTitle *title;
  SkaStateCard *card;
  GtkWidget *issues_group;
  GtkListBox *issues;
  GtkListBox *folders;
  GtkListBox *devices;
  GtkListBox *storages;
};

G_DEFINE_FINAL_TYPE (SkaHomePage, ska_home_page, ADW_TYPE_BIN)

/* --- rows --- */

static GtkWidget *
new_folder_row (gpointer item, gpointer data)
{
  return ska_folder_row_new (item);
}

static GtkWidget *
new_device_row (gpointer item, gpointer data)
{
  return ska_device_row_new (item);
}

static GtkWidget *
new_storage_row (gpointer item, gpointer data)
{
  return ska_storage_row_new (item);
}

static GtkWidget *
new_issue_row (gpointer item, gpointer data)
{
  return ska_issue_row_new (item);
}

/* By name, as a person sorts names. */
static void
bind_sorted (GtkListBox *box, GListModel *items, GType type, GtkListBoxCreateWidgetFunc create)
{
  GtkSorter *sorter = GTK_SORTER (gtk_string_sorter_new (gtk_property_expression_new (type, NULL, "name")));
  g_autoptr(GtkSortListModel) sorted = gtk_sort_list_model_new (g_object_ref (items), sorter);

  gtk_list_box_bind_model (box, G_LIST_MODEL (sorted), create, NULL, NULL);
}

/* --- refresh --- */

static void
show_title (SkaHomePage *self)
{
  g_autofree char *vault = NULL;
  g_autofree char *device = NULL;

  g_object_get (self->engine, "vault-name", &vault, "device-name", &device, NULL);
  adw_window_title_set_title (self->title, *vault != '\0' ? vault : "Skerry");
  adw_window_title_set_subtitle (self->title, device);
}

static void
show_issues (SkaHomePage *self)
{
  gtk_widget_set_visible (self->issues_group, g_list_model_get_n_items (sk_engine_get_issues (self->engine)) > 0);
}

/* --- GObject --- */

static void
ska_home_page_finalize (GObject *object)
{
  g_clear_object (&SKA_HOME_PAGE (object)->engine);
  G_OBJECT_CLASS (ska_home_page_parent_class)->finalize (object);
}

static void
ska_home_page_class_init (SkaHomePageClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_home_page_finalize;
  g_type_ensure (SKA_TYPE_STATE_CARD);
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-home-page.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, title);
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, card);
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, issues_group);
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, issues);
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, folders);
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, devices);
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, storages);
}

static void
ska_home_page_init (SkaHomePage *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

void
ska_home_page_set_engine (SkaHomePage *self, SkEngine *engine)
{
  self->engine = g_object_ref (engine);
  ska_state_card_set_engine (self->card, engine);
  bind_sorted (self->folders, sk_engine_get_folders (engine), SK_TYPE_FOLDER, new_folder_row);
  bind_sorted (self->devices, sk_engine_get_devices (engine), SK_TYPE_DEVICE, new_device_row);
  bind_sorted (self->storages, sk_engine_get_storages (engine), SK_TYPE_STORAGE, new_storage_row);
  gtk_list_box_bind_model (self->issues, sk_engine_get_issues (engine), new_issue_row, NULL, NULL);
  g_signal_connect_object (engine, "notify::vault-name", G_CALLBACK (show_title), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (engine, "notify::device-name", G_CALLBACK (show_title), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (sk_engine_get_issues (engine), "items-changed", G_CALLBACK (show_issues), self, G_CONNECT_SWAPPED);
  show_title (self);
  show_issues (self);
}
