/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: one byte n, n operations, then the data they are done on. A reader never goes past its
 * end, stays failed, and a number that it accepted is written back as the same bytes. */
#include "sk-bytes.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_varint (SkReader *reader)
{
  gsize before = reader->pos;
  guint64 v = sk_reader_varint (reader, G_MAXUINT64);
  g_auto(SkWriter) writer = { 0 };

  if (reader->failed)
    return;
  sk_writer_init (&writer);
  sk_writer_varint (&writer, v);
  g_assert_cmpmem (writer.bytes->data, writer.bytes->len, reader->data + before,
                   reader->pos - before);
}

static void
do_operation (SkReader *reader, guint8 operation)
{
  gsize len;
  SkId id;
  SkHash hash;
  g_autofree char *text = NULL;

  switch (operation % 10)
    {
    case 0: sk_reader_u8 (reader); break;
    case 1: sk_reader_u16 (reader); break;
    case 2: sk_reader_u32 (reader); break;
    case 3: sk_reader_u64 (reader); break;
    case 4: check_varint (reader); break;
    case 5: sk_reader_svarint (reader); break;
    case 6: sk_reader_id (reader, &id); break;
    case 7: sk_reader_hash (reader, &hash); break;
    case 8: sk_reader_blob (reader, operation, &len); break;
    default: text = sk_reader_string (reader, operation); break;
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  SkReader reader;
  gsize n;

  if (size == 0 || size - 1 < data[0])
    return 0;
  n = data[0];
  sk_reader_init (&reader, data + 1 + n, size - 1 - n);
  for (gsize i = 0; i < n; i++)
    {
      gboolean failed = reader.failed;

      do_operation (&reader, data[1 + i]);
      g_assert_true (reader.pos <= reader.len);
      g_assert_true (!failed || reader.failed);
    }
  return 0;
}
