/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-path.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
look_at_name (const char *name)
{
  g_autofree char *key = sk_name_fold_key (name, TRUE, TRUE);
  g_autofree char *again = sk_name_fold_key (key, TRUE, TRUE);
  g_autofree char *named = sk_name_with_suffix (name, " (mark)");

  /* A key is a fixed point, or two names could clash without being seen. */
  g_assert_cmpstr (key, ==, again);
  g_assert_cmpuint (strlen (named), <=, SK_NAME_MAX);
  g_assert_true (sk_path_check (named, strlen (named), NULL));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *path = g_strndup ((const char *) data, size);
  g_autofree char *shown = sk_path_display (path);

  g_assert_true (g_utf8_validate (shown, -1, NULL));
  if (sk_path_check ((const char *) data, size, NULL))
    {
      g_autofree char *parent = sk_path_parent (path);
      g_autofree char *joined = sk_path_join (parent, sk_path_name (path));

      g_assert_cmpuint (strlen (path), ==, size);
      g_assert_cmpstr (joined, ==, path);
      g_assert_true (parent[0] == '\0' || sk_path_check (parent, strlen (parent), NULL));
      g_assert_true (sk_path_is_below (path, parent));
      look_at_name (sk_path_name (path));
    }
  return 0;
}
