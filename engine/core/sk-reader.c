/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-bytes.h"

#include <string.h>

void
sk_reader_init (SkReader *self, const guint8 *data, gsize len)
{
  *self = (SkReader) { .data = data, .len = len };
}

const guint8 *
sk_reader_take (SkReader *self, gsize n)
{
  const guint8 *p;

  if (self->failed || n > self->len - self->pos)
    {
      self->failed = TRUE;
      return NULL;
    }
  /* Never NULL on success, also for an empty read of an empty reader. */
  p = self->data != NULL ? self->data + self->pos : (const guint8 *) "";
  self->pos += n;
  return p;
}

guint8
sk_reader_u8 (SkReader *self)
{
  const guint8 *p = sk_reader_take (self, 1);

  return p != NULL ? p[0] : 0;
}

guint16
sk_reader_u16 (SkReader *self)
{
  const guint8 *p = sk_reader_take (self, 2);
  guint16 v;

  if (p == NULL)
    return 0;
  memcpy (&v, p, sizeof v);
  return GUINT16_FROM_LE (v);
}

guint32
sk_reader_u32 (SkReader *self)
{
  const guint8 *p = sk_reader_take (self, 4);
  guint32 v;

  if (p == NULL)
    return 0;
  memcpy (&v, p, sizeof v);
  return GUINT32_FROM_LE (v);
}

guint64
sk_reader_u64 (SkReader *self)
{
  const guint8 *p = sk_reader_take (self, 8);
  guint64 v;

  if (p == NULL)
    return 0;
  memcpy (&v, p, sizeof v);
  return GUINT64_FROM_LE (v);
}

guint64
sk_reader_varint (SkReader *self, guint64 max)
{
  guint64 v = 0;

  for (guint shift = 0; shift < 70; shift += 7)
    {
      const guint8 *p = sk_reader_take (self, 1);

      if (p == NULL)
        return 0;
      /* The tenth byte has room for bit 63 only; a last byte of zero is a longer form of the same
       * number. */
      if ((shift == 63 && *p > 1) || (shift > 0 && *p == 0))
        break;
      v |= (guint64) (*p & 0x7f) << shift;
      if ((*p & 0x80) == 0)
        {
          if (v > max)
            break;
          return v;
        }
    }
  self->failed = TRUE;
  return 0;
}

gint64
sk_reader_svarint (SkReader *self)
{
  guint64 v = sk_reader_varint (self, G_MAXUINT64);

  return (gint64) (v >> 1 ^ (0 - (v & 1)));
}

void
sk_reader_id (SkReader *self, SkId *out)
{
  const guint8 *p = sk_reader_take (self, sizeof out->bytes);

  if (p == NULL)
    memset (out, 0, sizeof *out);
  else
    memcpy (out->bytes, p, sizeof out->bytes);
}

void
sk_reader_hash (SkReader *self, SkHash *out)
{
  const guint8 *p = sk_reader_take (self, sizeof out->bytes);

  if (p == NULL)
    memset (out, 0, sizeof *out);
  else
    memcpy (out->bytes, p, sizeof out->bytes);
}

const guint8 *
sk_reader_blob (SkReader *self, gsize max, gsize *len)
{
  gsize n = sk_reader_varint (self, max);
  const guint8 *p = sk_reader_take (self, n);

  *len = p != NULL ? n : 0;
  return p;
}

char *
sk_reader_string (SkReader *self, gsize max)
{
  gsize len;
  const guint8 *p = sk_reader_blob (self, max, &len);

  if (p == NULL)
    return NULL;
  if (memchr (p, 0, len) != NULL)
    {
      self->failed = TRUE;
      return NULL;
    }
  return g_strndup ((const char *) p, len);
}

gsize
sk_reader_left (const SkReader *self)
{
  return self->failed ? 0 : self->len - self->pos;
}

gboolean
sk_reader_done (const SkReader *self)
{
  return !self->failed && self->pos == self->len;
}
