/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ignore rules: gitignore syntax, one file at the folder's root (.skerryignore), and built-in defaults. */
#pragma once
#include "sk-error.h"

typedef struct _SkIgnore SkIgnore;      /* immutable, atomic reference count */
/* @text: content of .skerryignore, any bytes, may be NULL; bad lines are skipped. Defaults come first, so that
 * "!pattern" can take one back. */
SkIgnore *sk_ignore_new (const char *text, gsize len);
SkIgnore *sk_ignore_ref (SkIgnore *self);
void sk_ignore_unref (SkIgnore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkIgnore, sk_ignore_unref)
/* @path relative to the folder root. Parents are checked too: a path below an ignored directory is ignored. */
gboolean sk_ignore_match (SkIgnore *self, const char *path, gboolean is_dir);
/* Only the last component; for a scanner that already knows that the parent is not ignored. */
gboolean sk_ignore_match_here (SkIgnore *self, const char *path, gboolean is_dir);

/* The globs of --only, compiled. A glob without '/' is compared with the name at any depth, one with '/' with the
 * whole path; what lies below a selected directory is selected. */
typedef struct _SkOnly SkOnly;          /* immutable */
/* @globs: NULL-terminated; NULL or empty selects all. SK_ERROR_USAGE names a glob that cannot be understood. */
SkOnly *sk_only_new (const char *const *globs, GError **error);
void sk_only_free (SkOnly *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkOnly, sk_only_free)
/* TRUE when @path is selected, or is a parent of something that can be. */
gboolean sk_only_selects (const SkOnly *self, const char *path, gboolean is_dir);
/* The same for a single question; compiles @globs each time. A glob that cannot be understood selects nothing. */
gboolean sk_only_match (const char *const *globs, const char *path, gboolean is_dir);
