/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A passphrase blob. Plausible passes and memory are replaced by the cheapest, or each input would
 * take a second; what is out of range stays as it is. Random bytes never open; the corpus has one
 * blob that does. */
#include "sk-seal.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const guint8 cheap[8] = { 1, 0, 0, 0, 8, 0, 0, 0 };
  g_autofree guint8 *blob = g_memdup2 (data, size);
  g_autoptr(GBytes) plain = NULL;
  SkReader reader;
  guint32 passes, memory_kib;

  g_assert_true (sk_crypto_init (NULL));      /* cheap after the first time */
  sk_reader_init (&reader, data, size);
  sk_reader_take (&reader, 5);
  passes = sk_reader_u32 (&reader);
  memory_kib = sk_reader_u32 (&reader);
  if (!reader.failed && passes > 0 && passes <= 16 && memory_kib >= 8 && memory_kib <= 1 << 20)
    memcpy (blob + 5, cheap, sizeof cheap);
  plain = sk_passphrase_open ("fuzz", blob, size, NULL);
  if (plain != NULL)
    g_assert_cmpuint (g_bytes_get_size (plain), ==, size - 29 - SK_SEAL_OVERHEAD);
  return 0;
}
