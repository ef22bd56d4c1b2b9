/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-phrase-grid.h"

/* 24 words in rows of four, six in rows of three; where it is narrow, two. */
#define COLUMNS_MANY 4u
#define COLUMNS_FEW 3u

struct _SkaPhraseGrid
{
  AdwBin parent_instance;
  char *shown;
  GtkFlowBox *words;
};

G_DEFINE_FINAL_TYPE (SkaPhraseGrid, ska_phrase_grid, ADW_TYPE_BIN)

static void
ska_phrase_grid_finalize (GObject *object)
{
  g_free (SKA_PHRASE_GRID (object)->shown);
  G_OBJECT_CLASS (ska_phrase_grid_parent_class)->finalize (object);
}

static void
ska_phrase_grid_class_init (SkaPhraseGridClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = ska_phrase_grid_finalize;
  gtk_widget_class_set_template_from_resource (widget_class, SKA_RESOURCE "/ska-phrase-grid.ui");
  gtk_widget_class_bind_template_child (widget_class, SkaPhraseGrid, words);
}

static void
ska_phrase_grid_init (SkaPhraseGrid *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

void
ska_phrase_grid_set_words (SkaPhraseGrid *self, const char *words)
{
  g_auto(GStrv) list = g_strsplit (words, " ", -1);
  guint columns = g_strv_length (list) > COLUMNS_FEW * COLUMNS_FEW ? COLUMNS_MANY : COLUMNS_FEW;
  GtkWidget *child;
  guint number = 1;

  /* Said again and again while somebody reads them. */
  if (g_strcmp0 (self->shown, words) == 0)
    return;
  g_free (self->shown);
  self->shown = g_strdup (words);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->words))) != NULL)
    gtk_flow_box_remove (self->words, child);
  gtk_flow_box_set_max_children_per_line (self->words, columns);
  for (char **word = list; *word != NULL; word++)
    {
      g_autofree char *text = g_strdup_printf ("%u. %s", number, *word);
      GtkWidget *label;

      if (**word == '\0')
        continue;
      label = gtk_label_new (text);
      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_widget_add_css_class (label, "word");
      gtk_flow_box_append (self->words, label);
      number++;
    }
}
