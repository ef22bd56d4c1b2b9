/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-root.h"
#include <glib/gstdio.h>

static void
test_opens (void)
{
  g_autofree char *top = g_dir_make_tmp ("skerry-root-XXXXXX", NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(SkRoot) root = sk_root_open (top, &error);

  g_assert_no_error (error);
  g_assert_nonnull (root);
  g_assert_cmpint (g_rmdir (top), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/root/opens", test_opens);
  return g_test_run ();
}
