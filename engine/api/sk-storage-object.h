/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage of the vault as the app sees it. Properties: id, name, uri, state, message
 * (strings); puts, gets, lists, removes, errors, bytes-up, bytes-down, up-queue (numbers);
 * last-seen (time). */
#pragma once
#include "sk-item.h"

#define SK_TYPE_STORAGE (sk_storage_get_type ())
G_DECLARE_FINAL_TYPE (SkStorage, sk_storage, SK, STORAGE, SkItem)
