/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of the vault: how it stands, how far it is and how fast. */
#pragma once
#include "ska-item-row.h"

#define SKA_TYPE_FOLDER_ROW (ska_folder_row_get_type ())
G_DECLARE_FINAL_TYPE (SkaFolderRow, ska_folder_row, SKA, FOLDER_ROW, SkaItemRow)

GtkWidget *ska_folder_row_new (SkItem *folder);
