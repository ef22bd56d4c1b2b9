/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-xattr.h"

#include "sk-limits.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(GBytes) value = g_bytes_new (data, size);

  if (sk_xattr_check (value))
    {
      g_autoptr(GByteArray) twice = g_byte_array_new ();
      g_autoptr(GBytes) doubled = NULL;

      g_assert_cmpuint (size, <=, SK_XATTR_MAX);
      g_byte_array_append (twice, data, (guint) size);
      g_byte_array_append (twice, data, (guint) size);
      doubled = g_byte_array_free_to_bytes (g_steal_pointer (&twice));
      /* No attribute twice. */
      g_assert_true (size == 0 || !sk_xattr_check (doubled));
    }
  return 0;
}
