/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is the directory at a folder's path the folder? Its marker decides, its numbers only make one look closer (RULES C12). Blocking; any thread but
 * the index thread. */
#pragma once
#include "sk-flow.h"

/* The root of an attached folder, or NULL with *@why (a sentence for the person) when it is not to be used now. @known: the same folder in the
 * previous configuration, whose root goes on being used while it is right; NULL: none. After a change of the numbers that was believed, what is
 * missing in the next pass waits for the person. */
SkRoot *sk_known_root (SkSession *session, const SkFolderRow *row, const SkFlowFolder *known, char **why);
/* Before the directory is attached: takes the lock on it, so that no other engine can. SK_ERROR_BUSY when one has it, SK_ERROR_USAGE when it is a root of
 * this session under whatever path. Not while a configuration is being made. */
gboolean sk_known_root_claim (SkSession *session, SkRoot *root, GError **error);
/* Locks end that no folder of @config needs. With session->reloading held. */
void sk_known_root_release (SkSession *session, SkConfig *config);
/* The folder whose marker stands at @folder's path, where that folder's own root is in use as well: one is a copy of the other (RULES C12). NULL: none. */
SkFlowFolder *sk_known_root_original (SkConfig *config, const SkFlowFolder *folder);
/* The person says that this copy is the folder that is attached there: it is marked so, and met for the first time. */
gboolean sk_known_root_accept_copy (SkSession *session, gint64 folder, GError **error);
/* The person says that this is the folder: the marker is written where it is missing, every base is forgotten, and the next pass is a first
 * contact, which deletes nothing. SK_ERROR_EXISTS when the directory is marked as another folder. */
gboolean sk_known_root_accept (SkSession *session, gint64 folder, GError **error);
