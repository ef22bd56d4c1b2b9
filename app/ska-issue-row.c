/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-issue-row.h"

#include "ska-words.h"

struct _SkaIssueRow
{
  GtkListBoxRow parent_instance;
  SkItem *issue;
  GStrv shown;                   /* choices that have a button now */

  GtkLabel *title;
  GtkLabel *reason;
  GtkLabel *where;
  GtkBox *choices;
};

G_DEFINE_FINAL_TYPE (SkaIssueRow, ska_issue_row, GTK_TYPE_LIST_BOX_ROW)

/* Built anew only when they are others, so that a button under the pointer stays. */
static void
show_choices (SkaIssueRow *self)
{
  g_auto(GStrv) choices = NULL;
  GtkWidget *child;

  g_object_get (self->issue, "choices", &choices, NULL);
  if (self->shown != NULL && g_strv_equal ((const char *const *) self->shown, (const char *const *) choices))
    return;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->choices))) != NULL)
    gtk_box_remove (self->choices, child);
  for (char **choice = choices; *choice != NULL; choice++)
    {
      GtkWidget *button = gtk_button_new_with_label (ska_words_choice (*choice));

      gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "(ts)", sk_item_get_number (self->issue, "number"), *choice);
      gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.resolve");
      gtk_box_append (self->choices, button);
    }
  gtk_widget_set_visible (GTK_WIDGET (self->choices), choices[0] != NULL);
  g_strfreev (self->shown);
  self->shown = g_steal_pointer (&choices);
}

static void
refresh (SkaIssueRow *self)
{
  g_autofree char *reason = ska_words_sentence (sk_item_get_string (self->issue, "text"));
  g_autofree char *ago = ska_words_ago (sk_item_get_time (self->issue, "since"), g_get_real_time () / G_USEC_PER_SEC);
  g_autofree char *where = ska_words_join (sk_item_get_string (self->issue, "folder"), sk_item_get_string (self->issue, "display-path"),
                                           ago != NULL ? ago : "", NULL);

  gtk_label_set_text (self->title, ska_words_issue (sk_item_get_string (self->issue, "kind")));
  gtk_label_set_text (self->reason, reason);
  gtk_label_set_text (self->where, where);
  show_choices (self);
}

static void
ska_issue_row_finalize (GObject *object)
{
  SkaIssueRow *self = SKA_ISSUE_ROW (object);

  g_strfreev (self->shown);
  g_clear_object (&self->issue);
  G_OBJECT_CLASS (ska_issue_row_parent_class)->finalize (object);
}

static void
ska_issue_row_class_init (SkaIssueRowClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_issue_row_finalize;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-issue-row.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaIssueRow, title);
  gtk_widget_class_bind_template_child (widget_class, SkaIssueRow, reason);
  gtk_widget_class_bind_template_child (widget_class, SkaIssueRow, where);
  gtk_widget_class_bind_template_child (widget_class, SkaIssueRow, choices);
}

static void
ska_issue_row_init (SkaIssueRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
ska_issue_row_new (SkItem *issue)
{
  SkaIssueRow *self = g_object_new (SKA_TYPE_ISSUE_ROW, NULL);

  self->issue = g_object_ref (issue);
  g_signal_connect_object (issue, "notify", G_CALLBACK (refresh), self, G_CONNECT_SWAPPED);
  refresh (self);
  return GTK_WIDGET (self);
}
