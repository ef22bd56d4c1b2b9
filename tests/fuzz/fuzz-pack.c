/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a whole object. Otherwise the rest is a plain table behind a body of 16
 * times that many bytes, sealed with the right key, so that the parser behind the seal is reached.
 * What is accepted keeps its promises. */
#include "forge-pack.h"
#include "sk-limits.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_rows (GArray *rows, GBytes *object)
{
  guint64 end = 40;

  g_assert_true (rows->len > 0 && rows->len <= SK_PACK_CHUNKS_MAX);
  for (guint i = 0; i < rows->len; i++)
    {
      const SkPackRow *row = &g_array_index (rows, SkPackRow, i);

      g_assert_true (sk_pack_row_is_valid (row));
      g_assert_cmpuint (row->offset, ==, end);
      end += row->stored_len;
    }
  g_assert_cmpuint (end, <, g_bytes_get_size (object));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const guint8 zeros[255 * 16];
  static SkKeyring *keys;
  static SkCompressor *z;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GArray) rows = NULL;
  SkId epoch;

  if (keys == NULL)
    {
      g_assert_true (sk_crypto_init (NULL));
      keys = forge_keys ();
      z = sk_compressor_new ();
    }
  if (size == 0)
    return 0;
  if (data[0] == 0)
    object = g_bytes_new (data + 1, size - 1);
  else
    object = forge_pack (keys, zeros, data[0] * 16u, data + 1, size - 1, 0);

  rows = sk_pack_read_table (object, &forge_vault, keys, NULL, &epoch, NULL);
  if (rows == NULL)
    return 0;
  check_rows (rows, object);
  for (guint i = 0; i < rows->len; i++)
    {
      const SkPackRow *row = &g_array_index (rows, SkPackRow, i);
      const guint8 *sealed = (const guint8 *) g_bytes_get_data (object, NULL) + row->offset;
      g_autoptr(GBytes) plain
          = sk_pack_open_chunk (row, sealed, row->stored_len, &forge_vault, &epoch, keys, z, NULL);

      g_assert_true (plain == NULL || g_bytes_get_size (plain) == row->plain_len);
    }
  return 0;
}
