/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A damaged database file. The input says what is done to a good one: records of four bytes, a position (24 bits, modulo the
 * length of the file) and a value that the byte there is XOR-ed with; the value 0 cuts the file at the position. Whoever includes this
 * defines make_good. */
#pragma once
#include "../index/index-support.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *good, *path, *dir;
static gsize good_len;

/* Sets all four, once. */
static void make_good (void);

static void
clean_up (void)
{
  remove_tree (dir);
  g_free (good);
  g_free (path);
  g_free (dir);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const companions[] = { "-wal", "-journal", ".new" };
  g_autofree char *bad = NULL;
  gsize len;

  if (good == NULL)
    {
      make_good ();
      atexit (clean_up);
    }
  bad = g_memdup2 (good, good_len);
  len = good_len;
  for (gsize at = 0; at + 4 <= size && at < 4096; at += 4)
    {
      gsize position = ((gsize) data[at] | (gsize) data[at + 1] << 8 | (gsize) data[at + 2] << 16) % good_len;

      if (data[at + 3] == 0)
        len = MIN (len, position);
      else
        bad[position] = (char) (bad[position] ^ (char) data[at + 3]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (companions); i++)
    {
      g_autofree char *companion = g_strconcat (path, companions[i], NULL);

      g_unlink (companion);
    }
  g_assert_true (g_file_set_contents (path, bad, (gssize) len, NULL));
  use_damaged (path);
  return 0;
}
