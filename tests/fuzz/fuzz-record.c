/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A body of records. What is let in passes all checks, encodes again, and then gives the same bytes for ever. */
#include "sk-record-private.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static gboolean ready;
  g_autoptr(GPtrArray) refused = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GPtrArray) records = NULL, again = NULL;
  g_autoptr(GBytes) bytes = NULL, twice = NULL;

  if (!ready)
    ready = sk_crypto_init (NULL);
  /* Small, so that the budget is met in small inputs too. */
  records = sk_records_decode_within (data, size, 4 << 20, refused, NULL);
  if (records == NULL)
    return 0;
  for (guint i = 0; i < records->len; i++)
    g_assert_true (sk_record_check (g_ptr_array_index (records, i), NULL));
  for (guint i = 0; i < refused->len; i++)
    g_assert_true (g_utf8_validate (g_ptr_array_index (refused, i), -1, NULL));

  bytes = sk_records_encode (records, NULL);
  g_assert_nonnull (bytes);
  again = sk_records_decode (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), refused, NULL);
  g_assert_nonnull (again);
  g_assert_cmpuint (again->len, ==, records->len);
  twice = sk_records_encode (again, NULL);
  g_assert_true (g_bytes_equal (bytes, twice));
  return 0;
}
