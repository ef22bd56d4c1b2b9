/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-bytes.h"

#include <string.h>

void
sk_writer_init (SkWriter *self)
{
  self->bytes = g_byte_array_new ();
}

void
sk_writer_clear (SkWriter *self)
{
  g_clear_pointer (&self->bytes, g_byte_array_unref);
}

void
sk_writer_raw (SkWriter *self, gconstpointer data, gsize len)
{
  /* A GByteArray counts with guint; every format is bounded far below. */
  g_assert (len <= G_MAXUINT / 2 - self->bytes->len);
  if (len > 0)
    g_byte_array_append (self->bytes, data, (guint) len);
}

void
sk_writer_u8 (SkWriter *self, guint8 v)
{
  sk_writer_raw (self, &v, sizeof v);
}

void
sk_writer_u16 (SkWriter *self, guint16 v)
{
  v = GUINT16_TO_LE (v);
  sk_writer_raw (self, &v, sizeof v);
}

void
sk_writer_u32 (SkWriter *self, guint32 v)
{
  v = GUINT32_TO_LE (v);
  sk_writer_raw (self, &v, sizeof v);
}

void
sk_writer_u64 (SkWriter *self, guint64 v)
{
  v = GUINT64_TO_LE (v);
  sk_writer_raw (self, &v, sizeof v);
}

void
sk_writer_varint (SkWriter *self, guint64 v)
{
  guint8 buf[10];
  gsize n = 0;

  for (; v >= 0x80; v >>= 7)
    buf[n++] = (guint8) (v | 0x80);
  buf[n++] = (guint8) v;
  sk_writer_raw (self, buf, n);
}

void
sk_writer_svarint (SkWriter *self, gint64 v)
{
  sk_writer_varint (self, (guint64) v << 1 ^ (v < 0 ? G_MAXUINT64 : 0));
}

void
sk_writer_id (SkWriter *self, const SkId *id)
{
  sk_writer_raw (self, id->bytes, sizeof id->bytes);
}

void
sk_writer_hash (SkWriter *self, const SkHash *hash)
{
  sk_writer_raw (self, hash->bytes, sizeof hash->bytes);
}

void
sk_writer_blob (SkWriter *self, gconstpointer data, gsize len)
{
  sk_writer_varint (self, len);
  sk_writer_raw (self, data, len);
}

void
sk_writer_string (SkWriter *self, const char *s)
{
  sk_writer_blob (self, s, strlen (s));
}

GBytes *
sk_writer_finish (SkWriter *self)
{
  GByteArray *bytes = g_steal_pointer (&self->bytes);

  self->bytes = g_byte_array_new ();
  return g_byte_array_free_to_bytes (bytes);
}
