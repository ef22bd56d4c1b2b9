/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: ignore rules, a zero byte, a path. */
#include "sk-glob.h"
#include "sk-ignore.h"
#include "sk-path.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static gboolean
ignored_with (const guint8 *text, gsize len, const char *last_rule, const char *path)
{
  g_autoptr(GString) rules = g_string_new_len ((const char *) text, (gssize) len);
  g_autoptr(SkIgnore) ignore = NULL;

  g_string_append (rules, last_rule);
  ignore = sk_ignore_new (rules->str, rules->len);
  return sk_ignore_match (ignore, path, FALSE);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const guint8 *zero = size > 0 ? memchr (data, 0, size) : NULL;
  gsize len = zero != NULL ? (gsize) (zero - data) : size;
  g_autofree char *text = g_strndup ((const char *) data, len);
  g_autofree char *path = zero != NULL ? g_strndup ((const char *) zero + 1, size - len - 1) : g_strdup ("a/b");
  const char *globs[] = { text, NULL };
  g_autoptr(SkOnly) only = NULL;
  g_autoptr(SkGlob) glob = sk_glob_new (text, len);

  if (glob != NULL)
    {
      const char *literal;

      if (sk_glob_match (glob, path) && sk_glob_shape (glob, &literal) != SK_GLOB_SUFFIX)
        g_assert_true (g_str_has_prefix (path, literal));
      sk_glob_match_below (glob, path);
    }
  if (!sk_path_check (path, strlen (path), NULL) || size > 65536)
    return 0;

  only = sk_only_new (globs, NULL);
  if (only != NULL)
    g_assert_cmpint (sk_only_selects (only, path, TRUE), ==, sk_only_match (globs, path, TRUE));

  /* The last rule decides, whatever stands before it. (Behind too many rules it does not count.) */
  if (len < 4096)
    {
      g_assert_true (ignored_with (data, len, "\n**\n", path));
      g_assert_false (ignored_with (data, len, "\n!**\n", path));
    }
  return 0;
}
