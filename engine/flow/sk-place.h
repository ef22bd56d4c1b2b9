/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories of this computer that one home uses. A storage in a folder of its own vault would be synced into itself, and grow for ever. */
#pragma once
#include "sk-command.h"

/* Where the objects of a storage at @uri lie, links resolved, also when it is not there yet; NULL: not a directory of this computer. (transfer full) */
char *sk_place_of_storage (const char *uri, const SkId *vault);
/* Adds those of all storages that are attached here to @paths (char *). Index thread. */
void sk_place_list_storages (SkSession *session, GPtrArray *paths);
/* A storage at @uri would lie in a folder that is attached here, or in the home: SK_ERROR_USAGE. */
gboolean sk_place_check_storage (SkCommand *self, const char *uri, GError **error);
