/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A damaged database file of the present version. */
#include "fuzz-damaged.h"

static void
make_good (void)
{
  Fixture f = { 0 };

  fixture_open (&f);
  fill_every_table (&f);
  sk_index_close (f.index);
  g_assert_true (g_file_get_contents (f.path, &good, &good_len, NULL));
  path = f.path;
  dir = f.dir;
}
