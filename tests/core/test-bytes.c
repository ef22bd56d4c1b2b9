/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-bytes.h"
#include "sk-error.h"

#include <string.h>

static void
assert_bytes (GBytes *bytes, gconstpointer data, gsize len)
{
  gsize have;
  gconstpointer p = g_bytes_get_data (bytes, &have);

  g_assert_cmpmem (p, have, data, len);
}

static void
test_little_endian (void)
{
  static const guint8 expected[] = { 1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8 };
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GBytes) bytes = NULL;
  SkReader reader;

  sk_writer_init (&writer);
  sk_writer_u8 (&writer, 0x01);
  sk_writer_u16 (&writer, 0x0203);
  sk_writer_u32 (&writer, 0x04050607);
  sk_writer_u64 (&writer, G_GUINT64_CONSTANT (0x08090a0b0c0d0e0f));
  bytes = sk_writer_finish (&writer);
  assert_bytes (bytes, expected, sizeof expected);

  sk_reader_init (&reader, expected, sizeof expected);
  g_assert_cmpuint (sk_reader_u8 (&reader), ==, 0x01);
  g_assert_cmpuint (sk_reader_u16 (&reader), ==, 0x0203);
  g_assert_cmpuint (sk_reader_u32 (&reader), ==, 0x04050607);
  g_assert_false (sk_reader_done (&reader));
  g_assert_cmpuint (sk_reader_u64 (&reader), ==, G_GUINT64_CONSTANT (0x08090a0b0c0d0e0f));
  g_assert_true (sk_reader_done (&reader));
}

static const struct { guint64 value; guint8 len; guint8 bytes[10]; } varints[] = {
  { 0, 1, { 0 } },
  { 1, 1, { 1 } },
  { 127, 1, { 0x7f } },
  { 128, 2, { 0x80, 0x01 } },
  { 300, 2, { 0xac, 0x02 } },
  { 16383, 2, { 0xff, 0x7f } },
  { 16384, 3, { 0x80, 0x80, 0x01 } },
  { G_MAXUINT32, 5, { 0xff, 0xff, 0xff, 0xff, 0x0f } },
  { G_MAXINT64, 9, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f } },
  { G_MAXUINT64, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
};

static void
test_varint (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (varints); i++)
    {
      g_auto(SkWriter) writer = { 0 };
      g_autoptr(GBytes) bytes = NULL;
      SkReader reader;

      sk_writer_init (&writer);
      sk_writer_varint (&writer, varints[i].value);
      bytes = sk_writer_finish (&writer);
      assert_bytes (bytes, varints[i].bytes, varints[i].len);

      sk_reader_init (&reader, varints[i].bytes, varints[i].len);
      g_assert_cmpuint (sk_reader_varint (&reader, varints[i].value), ==, varints[i].value);
      g_assert_true (sk_reader_done (&reader));

      if (varints[i].value > 0)
        {
          sk_reader_init (&reader, varints[i].bytes, varints[i].len);
          g_assert_cmpuint (sk_reader_varint (&reader, varints[i].value - 1), ==, 0);
          g_assert_true (reader.failed);
        }
      for (gsize cut = 0; cut < varints[i].len; cut++)
        {
          sk_reader_init (&reader, varints[i].bytes, cut);
          g_assert_cmpuint (sk_reader_varint (&reader, G_MAXUINT64), ==, 0);
          g_assert_true (reader.failed);
        }
    }
}

static void
test_varint_refused (void)
{
  static const struct { guint8 len; guint8 bytes[12]; } bad[] = {
    { 2, { 0x80, 0x00 } },                                                  /* a longer 0 */
    { 3, { 0xff, 0x80, 0x00 } },                                            /* a longer 127 */
    { 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 } }, /* bit 64 */
    { 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81 } },
    { 11, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x01 } }, /* 11 bytes */
    { 12, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      SkReader reader;

      sk_reader_init (&reader, bad[i].bytes, bad[i].len);
      g_assert_cmpuint (sk_reader_varint (&reader, G_MAXUINT64), ==, 0);
      g_assert_true (reader.failed);
    }
}

static void
test_svarint (void)
{
  static const gint64 values[]
      = { 0, -1, 1, -2, 63, -64, 64, G_MAXINT64, G_MININT64, G_MININT64 + 1, 1700000000000000000 };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_auto(SkWriter) writer = { 0 };
      g_autoptr(GBytes) bytes = NULL;
      SkReader reader;
      gsize len;

      sk_writer_init (&writer);
      sk_writer_svarint (&writer, values[i]);
      bytes = sk_writer_finish (&writer);
      sk_reader_init (&reader, g_bytes_get_data (bytes, &len), g_bytes_get_size (bytes));
      g_assert_cmpint (sk_reader_svarint (&reader), ==, values[i]);
      g_assert_true (sk_reader_done (&reader));
      if (values[i] >= -64 && values[i] < 64)
        g_assert_cmpuint (len, ==, 1);
    }
}

static void
test_blob_string (void)
{
  static const guint8 with_nul[] = { 3, 'a', 0, 'b' };
  static const guint8 too_long[] = { 4, 'a', 'b', 'c' };
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GBytes) bytes = NULL;
  g_autofree char *text = NULL;
  SkReader reader;
  const guint8 *blob;
  gsize len;

  sk_writer_init (&writer);
  sk_writer_blob (&writer, "", 0);
  sk_writer_string (&writer, "räksmörgås");
  sk_writer_blob (&writer, "x\0y", 3);
  bytes = sk_writer_finish (&writer);

  sk_reader_init (&reader, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  blob = sk_reader_blob (&reader, 0, &len);
  g_assert_nonnull (blob);
  g_assert_cmpuint (len, ==, 0);
  text = sk_reader_string (&reader, 100);
  g_assert_cmpstr (text, ==, "räksmörgås");
  blob = sk_reader_blob (&reader, 3, &len);
  g_assert_cmpmem (blob, len, "x\0y", 3);
  g_assert_true (sk_reader_done (&reader));

  sk_reader_init (&reader, with_nul, sizeof with_nul);
  g_assert_null (sk_reader_string (&reader, 100));
  g_assert_true (reader.failed);
  sk_reader_init (&reader, too_long, sizeof too_long);
  g_assert_null (sk_reader_string (&reader, 100));
  g_assert_true (reader.failed);
  sk_reader_init (&reader, with_nul, sizeof with_nul);
  g_assert_null (sk_reader_blob (&reader, 2, &len));
  g_assert_cmpuint (len, ==, 0);
  g_assert_true (reader.failed);
}

/* Reads the message of test_every_prefix; TRUE when all of it was there. */
static gboolean
read_message (const guint8 *data, gsize len)
{
  SkReader reader;
  SkId id;
  SkHash hash;
  gsize blob_len;
  g_autofree char *text = NULL;

  sk_reader_init (&reader, data, len);
  sk_reader_u8 (&reader);
  sk_reader_u16 (&reader);
  sk_reader_id (&reader, &id);
  sk_reader_varint (&reader, G_MAXUINT64);
  sk_reader_hash (&reader, &hash);
  sk_reader_blob (&reader, 1000, &blob_len);
  text = sk_reader_string (&reader, 1000);
  sk_reader_u32 (&reader);
  sk_reader_svarint (&reader);
  sk_reader_u64 (&reader);
  return sk_reader_done (&reader);
}

static void
test_every_prefix (void)
{
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GBytes) bytes = NULL;
  SkHash hash = { { 9 } };
  const guint8 *data;
  gsize len;

  sk_writer_init (&writer);
  sk_writer_u8 (&writer, 1);
  sk_writer_u16 (&writer, 2);
  sk_writer_id (&writer, &(SkId) { { 3 } });
  sk_writer_varint (&writer, 1u << 20);
  sk_writer_hash (&writer, &hash);
  sk_writer_blob (&writer, "blob", 4);
  sk_writer_string (&writer, "string");
  sk_writer_u32 (&writer, 5);
  sk_writer_svarint (&writer, -1000);
  sk_writer_u64 (&writer, 6);
  bytes = sk_writer_finish (&writer);
  data = g_bytes_get_data (bytes, &len);

  g_assert_true (read_message (data, len));
  for (gsize cut = 0; cut < len; cut++)
    {
      g_autofree guint8 *prefix
          = g_memdup2 (data, cut); /* exact, so that a sanitizer sees one byte too far */

      g_assert_false (read_message (prefix, cut));
    }
}

static void
test_failure_stays (void)
{
  static const guint8 data[] = { 1, 2, 3, 4 };
  SkReader reader;
  SkId id = { { 7 } };

  sk_reader_init (&reader, data, sizeof data);
  g_assert_cmpuint (sk_reader_u64 (&reader), ==, 0);
  g_assert_true (reader.failed);
  g_assert_cmpuint (sk_reader_u8 (&reader), ==, 0);      /* although four bytes are there */
  sk_reader_id (&reader, &id);
  g_assert_true (sk_id_is_zero (&id));
  g_assert_null (sk_reader_take (&reader, 0));
  g_assert_cmpuint (sk_reader_left (&reader), ==, 0);
  g_assert_false (sk_reader_done (&reader));

  sk_reader_init (&reader, NULL, 0);
  g_assert_nonnull (sk_reader_take (&reader, 0));
  g_assert_true (sk_reader_done (&reader));
  g_assert_null (sk_reader_take (&reader, G_MAXSIZE));
  g_assert_true (reader.failed);
}

static void
test_finish_empties (void)
{
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GBytes) first = NULL;
  g_autoptr(GBytes) second = NULL;

  sk_writer_init (&writer);
  sk_writer_u8 (&writer, 1);
  first = sk_writer_finish (&writer);
  sk_writer_u8 (&writer, 2);
  second = sk_writer_finish (&writer);
  assert_bytes (first, "\1", 1);
  assert_bytes (second, "\2", 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bytes/little-endian", test_little_endian);
  g_test_add_func ("/bytes/varint", test_varint);
  g_test_add_func ("/bytes/varint-refused", test_varint_refused);
  g_test_add_func ("/bytes/svarint", test_svarint);
  g_test_add_func ("/bytes/blob-string", test_blob_string);
  g_test_add_func ("/bytes/every-prefix", test_every_prefix);
  g_test_add_func ("/bytes/failure-stays", test_failure_stays);
  g_test_add_func ("/bytes/finish-empties", test_finish_empties);
  return g_test_run ();
}
