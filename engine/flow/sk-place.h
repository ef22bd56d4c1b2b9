/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories of this computer that one home uses. A storage in a folder of its own vault would be synced into itself, and grow for ever. */
#pragma once
#include "sk-command.h"

/* Adds those of all storages that are attached here to @paths (char *). Index thread. */
void sk_place_list_storages (SkSession *session, GPtrArray *paths);
/* A storage at @uri would lie in a folder that is attached here, or in the home: SK_ERROR_USAGE. */
gboolean sk_place_check_storage (SkCommand *self, const char *uri, GError **error);
