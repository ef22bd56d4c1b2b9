/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-store.h"

#include <string.h>

#define V "00112233445566778899aabbccddeeff"
#define S "ffeeddccbbaa99887766554433221100"

static gboolean
parse (const char *text, gsize len, SkStoreMarker *out, GError **error)
{
  /* An exact-size copy, so that a sanitizer sees one byte too far. */
  g_autoptr(GBytes) data = g_bytes_new (text, len);

  return sk_store_marker_parse (data, out, error);
}

static void
test_round_trip (void)
{
  for (guint i = 0; i < 100; i++)
    {
      SkStoreMarker marker = { .format = 1 };
      SkStoreMarker back = { 0 };
      g_autoptr(GBytes) data = NULL;
      g_autoptr(GError) error = NULL;

      sk_id_random (&marker.vault);
      sk_id_random (&marker.storage);
      data = sk_store_marker_build (&marker);
      g_assert_true (sk_store_marker_parse (data, &back, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (back.format, ==, 1);
      g_assert_true (sk_id_equal (&back.vault, &marker.vault));
      g_assert_true (sk_id_equal (&back.storage, &marker.storage));
    }
}

static void
test_taken (void)
{
  static const char *const good[] = {
    "{\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\"}",
    " { \"storage\" : \"" S "\" ,\n\t\"vault\":\"" V "\",\r\n \"format\" : 1 } \n",
    "{\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\",\"made\":\"2026\",\"n\":77}",
  };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      SkStoreMarker marker;
      g_autoptr(GError) error = NULL;

      g_assert_true (parse (good[i], strlen (good[i]), &marker, &error));
      g_assert_no_error (error);
      g_assert_cmphex (marker.vault.bytes[1], ==, 0x11);
      g_assert_cmphex (marker.storage.bytes[0], ==, 0xff);
    }
}

static void
test_refused (void)
{
  static const struct
  {
    const char *text;
    SkErrorCode code;
  } bad[] = {
    { "", SK_ERROR_CORRUPT },
    { "{}", SK_ERROR_CORRUPT },
    { "null", SK_ERROR_CORRUPT },
    { "{\"format\":1}", SK_ERROR_CORRUPT },
    { "{\"format\":0,\"vault\":\"" V "\",\"storage\":\"" S "\"}", SK_ERROR_CORRUPT },
    { "{\"format\":2,\"vault\":\"" V "\",\"storage\":\"" S "\"}", SK_ERROR_TOO_NEW },
    { "{\"format\":2}", SK_ERROR_TOO_NEW },
    { "{\"format\":\"1\",\"vault\":\"" V "\",\"storage\":\"" S "\"}", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\"}", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"" V "\",\"vault\":\"" V "\",\"storage\":\"" S "\"}",
      SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"" V "0\",\"storage\":\"" S "\"}", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"" V "\",\"storage\":7}", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"\\u0030\",\"storage\":\"" S "\"}", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\"}x", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\",}", SK_ERROR_CORRUPT },
    { "{\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\",\"x\":{}}", SK_ERROR_CORRUPT },
    { "{\"format\":99999999999999999999}", SK_ERROR_CORRUPT },
    { "{\"format\":-1}", SK_ERROR_CORRUPT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      SkStoreMarker marker = { 0 };
      g_autoptr(GError) error = NULL;

      g_test_message ("%s", bad[i].text);
      g_assert_false (parse (bad[i].text, strlen (bad[i].text), &marker, &error));
      g_assert_error (error, SK_ERROR, (int) bad[i].code);
      g_assert_cmpuint (marker.format, ==, 0);
    }
}

static void
test_huge_refused (void)
{
  g_autofree char *spaces = g_strnfill (1 << 20, ' ');
  SkStoreMarker marker;

  g_assert_false (parse (spaces, 1 << 20, &marker, NULL));
  {
    g_autofree char *value = g_strnfill (300, 'a');
    g_autofree char *text = g_strdup_printf (
        "{\"x\":\"%s\",\"format\":1,\"vault\":\"" V "\",\"storage\":\"" S "\"}", value);

    g_assert_false (parse (text, strlen (text), &marker, NULL));
  }
}

static void
test_prefixes_and_bits (void)
{
  SkStoreMarker marker = { .format = 1 };
  g_autoptr(GBytes) data = NULL;
  g_autofree char *copy = NULL;
  const char *text;
  gsize len;

  sk_id_random (&marker.vault);
  sk_id_random (&marker.storage);
  data = sk_store_marker_build (&marker);
  text = g_bytes_get_data (data, &len);
  g_assert_cmpint (text[len - 1], ==, '\n');
  for (gsize n = 0; n < len - 1; n++)
    {
      SkStoreMarker out;

      g_assert_false (parse (text, n, &out, NULL));
    }
  copy = g_memdup2 (text, len);
  for (gsize bit = 0; bit < 8 * len; bit++)
    {
      SkStoreMarker out;

      copy[bit / 8] = (char) (text[bit / 8] ^ (1 << (bit % 8)));
      if (parse (copy, len, &out, NULL))
        {
          /* A digit became another digit; that is another id, and so another storage. */
          g_autoptr(GBytes) again = sk_store_marker_build (&out);
          SkStoreMarker twice;

          g_assert_true (sk_store_marker_parse (again, &twice, NULL));
          g_assert_cmpuint (out.format, ==, 1);
        }
      copy[bit / 8] = text[bit / 8];
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/marker/round-trip", test_round_trip);
  g_test_add_func ("/marker/taken", test_taken);
  g_test_add_func ("/marker/refused", test_refused);
  g_test_add_func ("/marker/huge-refused", test_huge_refused);
  g_test_add_func ("/marker/prefixes-and-bits", test_prefixes_and_bits);
  return g_test_run ();
}
