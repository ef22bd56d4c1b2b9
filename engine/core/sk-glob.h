/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pattern in gitignore's syntax, compiled. '*' and '?' and "[...]" stay inside a component, "**" as a whole
 * component spans any number of them. '?' and "[...]" take one UTF-8 character, or one byte that is not UTF-8.
 * Time to match: at most (length of the pattern) x (length of the path); nothing recurses. */
#pragma once
#include <glib.h>

typedef struct _SkGlob SkGlob;    /* immutable */

/* NULL when @pattern is empty, too long, has an empty component, an open bracket or a '\' at its end. */
SkGlob *sk_glob_new (const char *pattern, gsize len);
void sk_glob_free (SkGlob *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkGlob, sk_glob_free)

/* TRUE when the whole of @path matches. */
gboolean sk_glob_match (const SkGlob *self, const char *path);
/* TRUE when something below the directory @path could match. */
gboolean sk_glob_match_below (const SkGlob *self, const char *path);

typedef enum
{
  SK_GLOB_LITERAL,    /* the text and nothing else; may contain '/' */
  SK_GLOB_SUFFIX,     /* a single component: '*', then the text */
  SK_GLOB_PREFIX,     /* a single component: the text, then '*' */
  SK_GLOB_GENERAL,    /* the text is what every match begins with, perhaps empty */
} SkGlobShape;
/* What a quick test can know of the pattern. @text: owned by @self. */
SkGlobShape sk_glob_shape (const SkGlob *self, const char **text);
