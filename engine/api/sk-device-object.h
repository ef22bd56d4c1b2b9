/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device of the vault as the app sees it. Properties: id, name, state, via, added-by
 * (strings); self (boolean); last-seen, added (times); up-rate, down-rate (numbers). */
#pragma once
#include "sk-item.h"

#define SK_TYPE_DEVICE (sk_device_get_type ())
G_DECLARE_FINAL_TYPE (SkDevice, sk_device, SK, DEVICE, SkItem)
