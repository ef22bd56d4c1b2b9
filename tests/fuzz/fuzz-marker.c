/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-store.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(GBytes) bytes = g_bytes_new_static (data, size);
  SkStoreMarker marker;

  if (sk_store_marker_parse (bytes, &marker, NULL))
    {
      g_autoptr(GBytes) again = sk_store_marker_build (&marker);
      SkStoreMarker back;

      /* What was understood can be said again and means the same. */
      g_assert_true (sk_store_marker_parse (again, &back, NULL));
      g_assert_true (sk_id_equal (&back.vault, &marker.vault));
      g_assert_true (sk_id_equal (&back.storage, &marker.storage));
    }
  return 0;
}
