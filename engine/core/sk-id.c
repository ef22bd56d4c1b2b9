/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-id.h"

#include "sk-error.h"

#include <sodium.h>
#include <string.h>

/* --- hex, shared by the three sizes --- */

static void
hex_format (const guint8 *bytes, gsize len, char *out)
{
  static const char digits[] = "0123456789abcdef";

  for (gsize i = 0; i < len; i++)
    {
      out[2 * i] = digits[bytes[i] >> 4];
      out[2 * i + 1] = digits[bytes[i] & 15];
    }
  out[2 * len] = '\0';
}

/* Lower case only: an id has one spelling, so that names of objects compare as strings. */
static int
hex_digit (char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}

static gboolean
hex_parse (const char *hex, guint8 *out, gsize len, GError **error)
{
  guint8 bytes[32];

  g_assert (len <= sizeof bytes);
  if (hex == NULL || strnlen (hex, 2 * len + 1) != 2 * len)
    return sk_fail (error, SK_ERROR_CORRUPT, "An identifier must have %u hexadecimal digits",
                    (guint) (2 * len));

  for (gsize i = 0; i < len; i++)
    {
      int high = hex_digit (hex[2 * i]);
      int low = hex_digit (hex[2 * i + 1]);

      if (high < 0 || low < 0)
        return sk_fail (error, SK_ERROR_CORRUPT,
                        "An identifier may only have the digits 0-9 and a-f");
      bytes[i] = (guint8) (high << 4 | low);
    }
  memcpy (out, bytes, len);
  return TRUE;
}

/* Ids are uniformly distributed (random or a hash), so a few of their bytes are a good hash. */
static guint
first_word (const guint8 *bytes)
{
  guint32 v;

  memcpy (&v, bytes, sizeof v);
  return v;
}

/* --- 16 bytes --- */

void
sk_id_format (const SkId *self, char out[SK_ID_HEX_SIZE])
{
  hex_format (self->bytes, sizeof self->bytes, out);
}

gboolean
sk_id_parse (const char *hex, SkId *out, GError **error)
{
  return hex_parse (hex, out->bytes, sizeof out->bytes, error);
}

gboolean
sk_id_equal (const SkId *a, const SkId *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

int
sk_id_compare (const SkId *a, const SkId *b)
{
  return memcmp (a, b, sizeof *a);
}

gboolean
sk_id_is_zero (const SkId *self)
{
  static const SkId zero;

  return memcmp (self, &zero, sizeof zero) == 0;
}

void
sk_id_random (SkId *out)
{
  randombytes_buf (out, sizeof *out);
}

guint
sk_id_hash (gconstpointer key)
{
  const SkId *id = key;

  /* The first half of a writer id is its device, equal for all its incarnations. */
  return first_word (id->bytes) ^ first_word (id->bytes + 8);
}

gboolean
sk_id_equal_func (gconstpointer a, gconstpointer b)
{
  return sk_id_equal (a, b);
}

SkDeviceId
sk_id_device (const SkId *writer)
{
  SkDeviceId device;

  memcpy (device.bytes, writer->bytes, sizeof device.bytes);
  return device;
}

void
sk_id_new_writer (const SkDeviceId *device, SkId *out)
{
  SkId writer;

  memcpy (writer.bytes, device->bytes, sizeof device->bytes);
  randombytes_buf (writer.bytes + sizeof device->bytes, sizeof writer.bytes - sizeof device->bytes);
  *out = writer;
}

/* --- 8 bytes --- */

void
sk_device_id_format (const SkDeviceId *self, char out[SK_DEVICE_ID_HEX_SIZE])
{
  hex_format (self->bytes, sizeof self->bytes, out);
}

gboolean
sk_device_id_parse (const char *hex, SkDeviceId *out, GError **error)
{
  return hex_parse (hex, out->bytes, sizeof out->bytes, error);
}

gboolean
sk_device_id_equal (const SkDeviceId *a, const SkDeviceId *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

int
sk_device_id_compare (const SkDeviceId *a, const SkDeviceId *b)
{
  return memcmp (a, b, sizeof *a);
}

void
sk_device_id_random (SkDeviceId *out)
{
  randombytes_buf (out, sizeof *out);
}

/* --- 32 bytes --- */

void
sk_hash_format (const SkHash *self, char out[SK_HASH_HEX_SIZE])
{
  hex_format (self->bytes, sizeof self->bytes, out);
}

gboolean
sk_hash_parse (const char *hex, SkHash *out, GError **error)
{
  return hex_parse (hex, out->bytes, sizeof out->bytes, error);
}

gboolean
sk_hash_equal (const SkHash *a, const SkHash *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

int
sk_hash_compare (const SkHash *a, const SkHash *b)
{
  return memcmp (a, b, sizeof *a);
}

gboolean
sk_hash_is_zero (const SkHash *self)
{
  static const SkHash zero;

  return memcmp (self, &zero, sizeof zero) == 0;
}

guint
sk_hash_hash (gconstpointer key)
{
  const SkHash *hash = key;

  return first_word (hash->bytes);
}

gboolean
sk_hash_equal_func (gconstpointer a, gconstpointer b)
{
  return sk_hash_equal (a, b);
}
