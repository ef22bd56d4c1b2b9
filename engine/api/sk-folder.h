/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of the vault as the app sees it. Properties: id, name, mode, state, message, storages
 * (strings: names); path (exact bytes, "" when not on this device), display-path; files, dirs,
 * bytes, dirty-files, dirty-bytes, up-queue, up-bytes, up-rate, down-rate, issues (numbers);
 * last-scan (time); progress (0 to 1: how much of the bytes is here as it should be). */
#pragma once
#include "sk-item.h"

#define SK_TYPE_FOLDER (sk_folder_get_type ())
G_DECLARE_FINAL_TYPE (SkFolder, sk_folder, SK, FOLDER, SkItem)
