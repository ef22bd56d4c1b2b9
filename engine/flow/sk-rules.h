/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of a folder (.skerryignore), or why there are none. */
#pragma once
#include "sk-flow.h"

#define SK_RULES_NAME ".skerryignore"

/* The vault has rules for this folder that were never here, and the way down will bring them: until then nobody knows what they hide. */
gboolean sk_rules_are_coming (SkSession *session, gint64 folder, SkRoot *root);
/* NULL with SK_ERROR_BUSY while the rules are coming; NULL when there are rules that cannot be read: an issue names file and reason, and nothing of
 * the folder is taken in, written or taken as removed by the caller. The issue is over when they can be read again. Blocking; any thread but the
 * index thread. @name: of the folder, for people. */
SkIgnore *sk_rules_read (SkSession *session, gint64 folder, const char *name, SkRoot *root, GError **error);
/* The numbers of the file that holds the rules, kind NONE when there is none. Other numbers after something was looked at than before the rules were read:
 * it may have been looked at by rules older than itself. Blocking; any thread. */
void sk_rules_stat (SkRoot *root, SkStat *out);
