/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of mounts, and the marker of a folder: after a zero byte the input is a marker, else it is a list. */
#include "sk-mounts.h"
#include "sk-root.h"

#include <glib/gstdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *dir, *own, *marker;
static SkRoot *root;

static void
clean_up (void)
{
  sk_root_unref (root);
  g_unlink (marker);
  g_rmdir (own);
  g_rmdir (dir);
  g_free (marker);
  g_free (own);
  g_free (dir);
}

static void
set_up (void)
{
  dir = g_dir_make_tmp ("fuzz-marker-XXXXXX", NULL);
  own = g_build_filename (dir, ".skerry", NULL);
  marker = g_build_filename (own, "folder", NULL);
  g_assert_cmpint (g_mkdir (own, 0700), ==, 0);
  root = sk_root_open (dir, NULL);
  g_assert_nonnull (root);
  atexit (clean_up);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const places[] = { "/", "/home/a", "/media/disk/x y", "/a\\040b" };
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autoptr(SkMounts) mounts = NULL;
  SkId id;

  if (root == NULL)
    set_up ();
  if (size > 0 && data[0] == 0)
    {
      g_assert_true (g_file_set_contents_full (marker, (const char *) data + 1, (gssize) size - 1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
      if (sk_root_marker (root, &id))
        g_assert_cmpint (sk_root_check (root, &id, NULL), ==, SK_ROOT_OK);
      return 0;
    }
  mounts = sk_mounts_parse (text);
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    g_free (sk_mounts_place (mounts, places[i]));
  return 0;
}
