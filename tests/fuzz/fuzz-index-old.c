/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A damaged database file of the first version, which is brought to the present one when it is opened. */
#include "fuzz-damaged.h"

static void
make_good (void)
{
  g_assert_true (g_file_get_contents (SK_FUZZ_FIXTURES "/index-v1.sqlite", &good, &good_len, NULL));
  dir = g_dir_make_tmp ("fuzz-index-XXXXXX", NULL);
  path = g_build_filename (dir, "index.sqlite", NULL);
}
