/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-error.h"
#include "sk-keys.h"

#include <string.h>

static void
test_format_parse (void)
{
  const char *hex = "000102030405060708090a0b0c0d0eff";
  char again[SK_ID_HEX_SIZE];
  char device_hex[SK_DEVICE_ID_HEX_SIZE];
  char hash_hex[SK_HASH_HEX_SIZE];
  SkId id;
  SkDeviceId device, same_device;
  SkHash hash, same_hash;
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_id_parse (hex, &id, &error));
  g_assert_no_error (error);
  g_assert_cmpint (id.bytes[1], ==, 1);
  g_assert_cmpint (id.bytes[15], ==, 255);
  sk_id_format (&id, again);
  g_assert_cmpstr (again, ==, hex);

  sk_device_id_random (&device);
  sk_device_id_format (&device, device_hex);
  g_assert_cmpuint (strlen (device_hex), ==, 16);
  g_assert_true (sk_device_id_parse (device_hex, &same_device, &error));
  g_assert_true (sk_device_id_equal (&device, &same_device));

  for (guint i = 0; i < sizeof hash.bytes; i++)
    hash.bytes[i] = (guint8) (200 + i);
  sk_hash_format (&hash, hash_hex);
  g_assert_cmpuint (strlen (hash_hex), ==, 64);
  g_assert_true (sk_hash_parse (hash_hex, &same_hash, &error));
  g_assert_true (sk_hash_equal (&hash, &same_hash));
}

static void
test_parse_refused (void)
{
  static const char *const bad[] = {
    "",
    "0",
    "000102030405060708090a0b0c0d0e",
    "000102030405060708090a0b0c0d0e0f0",
    "000102030405060708090a0b0c0d0e0",
    "000102030405060708090a0b0c0d0e0g",
    "000102030405060708090A0b0c0d0e0f",
    " 00102030405060708090a0b0c0d0e0f",
    "000102030405060708090a0b0c0d0e0\xc3",
    "../../../../../../../../../../..",
  };
  const SkId untouched = { { 9, 9, 9 } };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      SkId id = untouched;
      g_autoptr(GError) error = NULL;

      g_assert_false (sk_id_parse (bad[i], &id, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
      g_assert_true (sk_id_equal (&id, &untouched));
    }
  g_assert_false (sk_id_parse (NULL, &(SkId) { 0 }, NULL));
}

static void
test_order (void)
{
  SkId a = { { 1, 2 } }, b = { { 1, 3 } };
  SkHash zero = { 0 }, one = { .bytes[31] = 1 };
  SkDeviceId d1 = { { 0x7f } }, d2 = { { 0x80 } };

  g_assert_cmpint (sk_id_compare (&a, &b), <, 0);
  g_assert_cmpint (sk_id_compare (&b, &a), >, 0);
  g_assert_cmpint (sk_id_compare (&a, &a), ==, 0);
  g_assert_cmpint (sk_device_id_compare (&d1, &d2), <, 0);
  g_assert_cmpint (sk_hash_compare (&zero, &one), <, 0);
  g_assert_true (sk_hash_is_zero (&zero));
  g_assert_false (sk_hash_is_zero (&one));
  g_assert_true (sk_id_is_zero (&(SkId) { 0 }));
  g_assert_false (sk_id_is_zero (&(SkId) { .bytes[15] = 1 }));
}

static void
test_writer_of_device (void)
{
  SkDeviceId device, part;
  SkId first, second;

  sk_device_id_random (&device);
  sk_id_new_writer (&device, &first);
  sk_id_new_writer (&device, &second);
  part = sk_id_device (&first);
  g_assert_true (sk_device_id_equal (&part, &device));
  part = sk_id_device (&second);
  g_assert_true (sk_device_id_equal (&part, &device));
  g_assert_false (sk_id_equal (&first, &second));     /* another incarnation */
}

static void
test_tables (void)
{
  g_autoptr(GHashTable) hashes = g_hash_table_new (sk_hash_hash, sk_hash_equal_func);
  g_autoptr(GHashTable) ids = g_hash_table_new (sk_id_hash, sk_id_equal_func);
  SkHash hash = { { 5 } }, same_hash = { { 5 } }, other_hash = { { 5, 0, 0, 0, 1 } };
  SkId id = { { 6 } }, same_id = { { 6 } }, other_id = { .bytes = { 6 }, .bytes[12] = 1 };

  g_hash_table_add (hashes, &hash);
  g_assert_true (g_hash_table_contains (hashes, &same_hash));
  g_assert_false (g_hash_table_contains (hashes, &other_hash));
  g_hash_table_add (ids, &id);
  g_assert_true (g_hash_table_contains (ids, &same_id));
  g_assert_false (g_hash_table_contains (ids, &other_id));
}

static void
test_error_names (void)
{
  g_autoptr(GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr(GError) error = NULL;

  for (guint code = SK_ERROR_FAILED; code <= SK_ERROR_IO; code++)
    g_assert_true (g_hash_table_add (seen, (gpointer) sk_error_code_name ((SkErrorCode) code)));
  g_assert_cmpstr (sk_error_code_name (SK_ERROR_NO_SPACE), ==, "no-space");
  g_assert_cmpstr (sk_error_code_name ((SkErrorCode) 12345), ==, "failed");

  g_assert_false (sk_fail (&error, SK_ERROR_BUSY, "%s is locked (%d)", "home", 7));
  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  g_assert_cmpstr (error->message, ==, "home is locked (7)");
  g_assert_false (sk_fail (NULL, SK_ERROR_BUSY, "nobody asks"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/id/format-parse", test_format_parse);
  g_test_add_func ("/id/parse-refused", test_parse_refused);
  g_test_add_func ("/id/order", test_order);
  g_test_add_func ("/id/writer-of-device", test_writer_of_device);
  g_test_add_func ("/id/tables", test_tables);
  g_test_add_func ("/error/names", test_error_names);
  return g_test_run ();
}
