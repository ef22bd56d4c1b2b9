/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device of the vault and the way to it. */
#pragma once
#include "ska-item-row.h"

#define SKA_TYPE_DEVICE_ROW (ska_device_row_get_type ())
G_DECLARE_FINAL_TYPE (SkaDeviceRow, ska_device_row, SKA, DEVICE_ROW, SkaItemRow)

GtkWidget *ska_device_row_new (SkItem *device);
