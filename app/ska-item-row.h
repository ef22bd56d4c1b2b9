/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rows of folders, devices and storages have in common: an icon, the name, two lines, a mark for the state, and room for buttons
 * (in a template: child type "suffix"). A subclass says in refresh what is shown. The action "row.do" of a row activates the window's action that is
 * its target ('win.open-folder'), with the id of the item. */
#pragma once
#include <gtk/gtk.h>

#include "sk-item.h"
#include "ska-words.h"

#define SKA_TYPE_ITEM_ROW (ska_item_row_get_type ())
G_DECLARE_DERIVABLE_TYPE (SkaItemRow, ska_item_row, SKA, ITEM_ROW, GtkListBoxRow)

struct _SkaItemRowClass
{
  GtkListBoxRowClass parent_class;
  void (*refresh) (SkaItemRow *self, SkItem *item);    /* after each change of the item, and once at the start */
};

/* Construct property: "item" (SkItem). */

void ska_item_row_set_icon (SkaItemRow *self, const char *icon);
/* @line: the state in words. @detail: "" hides the second line. */
void ska_item_row_set_lines (SkaItemRow *self, const char *line, const char *detail);
void ska_item_row_set_look (SkaItemRow *self, SkaLook look);
/* 0 to 1; below 0 hides the bar. */
void ska_item_row_set_progress (SkaItemRow *self, double fraction);
