/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Relative paths and names. Names are bytes on Linux: nothing is normalised; keys for clash checks are. */
#pragma once
#include "sk-error.h"
#include "sk-limits.h"

/* The name of the engine's own directory, ".skerry", or one that some file system takes for it: other case, trailing dots, characters that do not
 * count, the short name that vfat gives it. */
gboolean sk_name_is_own (const char *name, gsize len);
/* No empty, ".", ".." component, no leading or trailing '/', no NUL, lengths in bounds, no component that sk_name_is_own. */
gboolean sk_path_check (const char *path, gsize len, GError **error);
/* Name at the end, and the parent ("" at the top; transfer full). */
const char *sk_path_name (const char *path);
char *sk_path_parent (const char *path);
char *sk_path_join (const char *parent, const char *name);      /* parent "" allowed */
/* TRUE when @path is @prefix or below it. */
gboolean sk_path_is_below (const char *path, const char *prefix);
/* Key under which names clash on a case-insensitive or normalising file system (casefold, NFC). (transfer full) */
char *sk_name_fold_key (const char *name, gboolean fold_case, gboolean normalise);
/* For people and logs: control and invalid bytes shown as \\xNN. (transfer full) */
char *sk_path_display (const char *path);
/* Cut @name so that @name with @suffix inserted before its extension fits SK_NAME_MAX bytes; cuts at a character border. */
char *sk_name_with_suffix (const char *name, const char *suffix);
