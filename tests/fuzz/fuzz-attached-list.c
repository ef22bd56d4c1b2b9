/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of what is attached: what was understood can be written again and means the same. */
#include "sk-attachments.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(GBytes) bytes = g_bytes_new (data, size), again = NULL, twice = NULL;
  g_auto(SkAttachedList) list = { NULL }, back = { NULL };

  if (!sk_attached_list_parse (bytes, &list, NULL))
    return 0;
  again = sk_attached_list_format (&list);
  g_assert_true (sk_attached_list_parse (again, &back, NULL));
  twice = sk_attached_list_format (&back);
  g_assert_true (g_bytes_equal (again, twice));
  return 0;
}
