/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Something that wants the person: what, why, and a button for each thing that can be done. */
#pragma once
#include <gtk/gtk.h>

#include "sk-item.h"

#define SKA_TYPE_ISSUE_ROW (ska_issue_row_get_type ())
G_DECLARE_FINAL_TYPE (SkaIssueRow, ska_issue_row, SKA, ISSUE_ROW, GtkListBoxRow)

GtkWidget *ska_issue_row_new (SkItem *issue);
