/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-home-page.h"

#include <glib/gi18n.h>

#include "sk-device-object.h"
#include "sk-folder.h"
#include "sk-storage-object.h"
#include "ska-device-row.h"
#include "ska-folder-row.h"
#include "ska-issue-row.h"
#include "ska-state-card.h"
#include "ska-storage-row.h"
#include "ska-words.h"

/* Nobody answers more at once, and a list box makes a widget of each. */
#define ISSUES_SHOWN 50u

struct _SkaHomePage
{
  AdwBin parent_instance;
  SkEngine *engine;

  AdwWindowTitle *title;
  SkaStateCard *card;
  GtkWidget *issues_group;
  GtkListBox *issues;
  GtkLabel *more_issues;
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
  guint n;
  g_autofree char *number = NULL;
  g_autofree char *more = NULL;

  g_object_get (self->engine, "n-issues", &n, NULL);
  gtk_widget_set_visible (self->issues_group, n > 0);
  gtk_widget_set_visible (GTK_WIDGET (self->more_issues), n > ISSUES_SHOWN);
  if (n <= ISSUES_SHOWN)
    return;
  number = ska_words_number (n - ISSUES_SHOWN);
  more = g_strdup_printf (ngettext ("and %s more", "and %s more", n - ISSUES_SHOWN), number);
  gtk_label_set_text (self->more_issues, more);
}

static void
bind_issues (SkaHomePage *self)
{
  g_autoptr(GtkSliceListModel) first = gtk_slice_list_model_new (g_object_ref (sk_engine_get_issues (self->engine)), 0, ISSUES_SHOWN);

  gtk_list_box_bind_model (self->issues, G_LIST_MODEL (first), new_issue_row, NULL, NULL);
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
  gtk_widget_class_bind_template_child (widget_class, SkaHomePage, more_issues);
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
  bind_issues (self);
  g_signal_connect_object (engine, "notify::vault-name", G_CALLBACK (show_title), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (engine, "notify::device-name", G_CALLBACK (show_title), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (engine, "notify::n-issues", G_CALLBACK (show_issues), self, G_CONNECT_SWAPPED);
  show_title (self);
  show_issues (self);
}
