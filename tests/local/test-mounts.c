/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-mounts.h"

#include <string.h>

static const char *const table =
  "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
  "23 22 0:21 / /proc rw - proc proc rw\n"
  "30 22 8:17 / /media/disk rw,relatime shared:1 - ext4 /dev/sdb1 rw\n"
  "31 22 8:1 /home/a/docs /mnt/again rw - ext4 /dev/sda1 rw\n"
  "32 22 8:1 /home/with\\040space /mnt/sp\\134ace rw - ext4 /dev/sda1 rw\n"
  "33 22 0:40 / /mnt/over rw - tmpfs none rw\n"
  "34 22 8:17 /photos /mnt/over rw - ext4 /dev/sdb1 rw\n"
  "not a line\n"
  "35 22 bad / /bad\n";

static void
test_places (void)
{
  static const struct { const char *path, *place; } cases[] = {
    { "/", "8:1" },
    { "/home/a/docs", "8:1/home/a/docs" },
    { "/mnt/again", "8:1/home/a/docs" },
    { "/mnt/again/sub", "8:1/home/a/docs/sub" },
    { "/mnt/again2", "8:1/mnt/again2" },
    { "/mnt/sp\\ace/x", "8:1/home/with space/x" },
    { "/media/disk/photos/x", "8:17/photos/x" },
    { "/mnt/over/x", "8:17/photos/x" },
    { "/bad/x", "8:1/bad/x" },
  };
  g_autoptr(SkMounts) mounts = sk_mounts_parse (table);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *place = sk_mounts_place (mounts, cases[i].path);

      g_assert_cmpstr (place, ==, cases[i].place);
    }
}

/* Any part of the text parses to something, and to nothing outside of it. */
static void
test_prefixes (void)
{
  for (gsize len = 0; len < strlen (table); len++)
    {
      g_autofree char *part = g_strndup (table, len);
      g_autoptr(SkMounts) mounts = sk_mounts_parse (part);
      g_autofree char *place = sk_mounts_place (mounts, "/mnt/again/sub");

      g_assert_true (place != NULL || len < strlen ("22 1 8:1 / /"));
    }
}

static void
test_here (void)
{
  g_autoptr(SkMounts) mounts = sk_mounts_new ();
  g_autofree char *root = sk_mounts_place (mounts, "/");

  g_assert_nonnull (root);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mounts/places", test_places);
  g_test_add_func ("/mounts/prefixes", test_prefixes);
  g_test_add_func ("/mounts/here", test_here);
  return g_test_run ();
}
