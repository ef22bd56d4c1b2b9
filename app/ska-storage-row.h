/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage of the vault: whether it can be reached, and what waits for it. */
#pragma once
#include "ska-item-row.h"

#define SKA_TYPE_STORAGE_ROW (ska_storage_row_get_type ())
G_DECLARE_FINAL_TYPE (SkaStorageRow, ska_storage_row, SKA, STORAGE_ROW, SkaItemRow)

GtkWidget *ska_storage_row_new (SkItem *storage);
