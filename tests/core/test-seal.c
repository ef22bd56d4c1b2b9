/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-seal.h"

#include <string.h>

static const SkKey key = { { 1, 2, 3 } };
static const guint8 ad[] = "what and where";

static void
test_round_trip (void)
{
  static const gsize sizes[] = { 0, 1, 15, 16, 17, 4096, 100001 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree guint8 *plain = g_malloc (MAX (sizes[i], 1));
      g_autoptr(GBytes) sealed = NULL;
      g_autoptr(GBytes) opened = NULL;
      g_autoptr(GError) error = NULL;

      memset (plain, 0x5a, sizes[i]);
      sealed = sk_seal_bytes (&key, ad, sizeof ad, plain, sizes[i]);
      g_assert_cmpuint (g_bytes_get_size (sealed), ==, sizes[i] + SK_SEAL_OVERHEAD);
      opened = sk_open_bytes (&key, ad, sizeof ad, g_bytes_get_data (sealed, NULL),
                              g_bytes_get_size (sealed), &error);
      g_assert_no_error (error);
      g_assert_cmpmem (g_bytes_get_data (opened, NULL), g_bytes_get_size (opened), plain, sizes[i]);
    }
}

static void
test_nothing_else_opens (void)
{
  g_autoptr(GBytes) sealed = sk_seal_bytes (&key, ad, sizeof ad, (const guint8 *) "content", 7);
  const guint8 *data = g_bytes_get_data (sealed, NULL);
  gsize len = g_bytes_get_size (sealed);
  SkKey other = key;
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_open_bytes (&key, ad, sizeof ad - 1, data, len, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_null (sk_open_bytes (&key, NULL, 0, data, len, NULL));
  other.bytes[31] ^= 1;
  g_assert_null (sk_open_bytes (&other, ad, sizeof ad, data, len, NULL));
  for (gsize cut = 0; cut < len; cut++)
    {
      g_autofree guint8 *prefix = g_memdup2 (data, cut);

      g_assert_null (sk_open_bytes (&key, ad, sizeof ad, prefix, cut, NULL));
    }
  for (gsize bit = 0; bit < 8 * len; bit++)
    {
      g_autofree guint8 *flipped = g_memdup2 (data, len);

      flipped[bit / 8] ^= (guint8) (1 << bit % 8);
      g_assert_null (sk_open_bytes (&key, ad, sizeof ad, flipped, len, NULL));
    }
}

static void
test_fresh_nonce (void)
{
  g_autoptr(GBytes) a = sk_seal_bytes (&key, ad, sizeof ad, (const guint8 *) "content", 7);
  g_autoptr(GBytes) b = sk_seal_bytes (&key, ad, sizeof ad, (const guint8 *) "content", 7);

  g_assert_false (memcmp (g_bytes_get_data (a, NULL), g_bytes_get_data (b, NULL), 24) == 0);
  g_assert_false (g_bytes_equal (a, b));
}

/* --- passphrase --- */

static void
test_passphrase (void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) sealed
      = sk_passphrase_seal ("korrekt häst", (const guint8 *) "keys", 4, &error);
  g_autoptr(GBytes) opened = NULL;
  const guint8 *data;
  g_autofree guint8 *flipped = NULL;
  gsize len;

  g_assert_no_error (error);
  data = g_bytes_get_data (sealed, &len);
  opened = sk_passphrase_open ("korrekt häst", data, len, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (opened, NULL), g_bytes_get_size (opened), "keys", 4);

  g_assert_null (sk_passphrase_open ("korrekt hast", data, len, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_WRONG_KEY);
  g_assert_null (strstr (error->message, "hast"));
  g_clear_error (&error);

  flipped = g_memdup2 (data, len);
  flipped[len - 1] ^= 1;
  g_assert_null (sk_passphrase_open ("korrekt häst", flipped, len, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_WRONG_KEY);
}

/* A blob of the cheapest kind, so that many can be tried. */
static GBytes *
cheap_blob (guint8 version, guint32 passes, guint32 memory_kib)
{
  g_auto(SkWriter) writer = { 0 };
  guint8 rest[16 + SK_SEAL_OVERHEAD + 4] = { 0 };

  sk_writer_init (&writer);
  sk_writer_raw (&writer, "SKPW", 4);
  sk_writer_u8 (&writer, version);
  sk_writer_u32 (&writer, passes);
  sk_writer_u32 (&writer, memory_kib);
  sk_writer_raw (&writer, rest, sizeof rest);
  return sk_writer_finish (&writer);
}

static void
test_passphrase_bounds (void)
{
  static const struct { guint8 version; guint32 passes, memory_kib; SkErrorCode code; } cases[] = {
    { 1, 1, 8, SK_ERROR_WRONG_KEY },
    { 1, 0, 8, SK_ERROR_CORRUPT },
    { 1, 17, 8, SK_ERROR_CORRUPT },
    { 1, G_MAXUINT32, 8, SK_ERROR_CORRUPT },
    { 1, 1, 7, SK_ERROR_CORRUPT },
    { 1, 1, (1u << 20) + 1, SK_ERROR_CORRUPT },
    { 1, 1, G_MAXUINT32, SK_ERROR_CORRUPT },
    { 0, 1, 8, SK_ERROR_CORRUPT },
    { 2, 1, 8, SK_ERROR_TOO_NEW },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr(GBytes) blob = cheap_blob (cases[i].version, cases[i].passes, cases[i].memory_kib);
      g_autoptr(GError) error = NULL;

      g_assert_null (
          sk_passphrase_open ("x", g_bytes_get_data (blob, NULL), g_bytes_get_size (blob), &error));
      g_assert_error (error, SK_ERROR, (int) cases[i].code);
    }
}

static void
test_passphrase_prefixes (void)
{
  g_autoptr(GBytes) blob = cheap_blob (1, 1, 8);
  gsize len = g_bytes_get_size (blob);

  for (gsize cut = 0; cut < len; cut++)
    {
      g_autofree guint8 *prefix = g_memdup2 (g_bytes_get_data (blob, NULL), cut);

      g_assert_null (sk_passphrase_open ("x", prefix, cut, NULL));
    }
}

/* --- padding --- */

static void
test_padme (void)
{
  static const struct { guint64 len, padded; } cases[] = {
    { 0, 0 },
    { 1, 1 },
    { 2, 2 },
    { 3, 3 },
    { 9, 10 },
    { 100, 104 },
    { 1000, 1024 },
    { 1025, 1088 },
    { 1 << 20, 1 << 20 },
    { (1 << 20) + 1, (1 << 20) + (1 << 15) },
    { (16u << 20) + 1, (16u << 20) + (1u << 19) },
    { G_GUINT64_CONSTANT (1) << 40, G_GUINT64_CONSTANT (1) << 40 },
  };
  guint64 before = 0;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpuint (sk_padme (cases[i].len), ==, cases[i].padded);

  for (guint64 len = 1; len < 300000; len++)
    {
      guint64 padded = sk_padme (len);

      g_assert_cmpuint (padded, >=, len);
      g_assert_cmpuint ((padded - len) * 100, <=, len * 12);
      g_assert_cmpuint (padded, >=, before);
      g_assert_cmpuint (sk_padme (padded), ==, padded);
      before = padded;
    }
}

/* How many sizes an observer can tell apart: log2 log2 n bits stay, not log2 n. */
static void
test_padme_hides (void)
{
  guint steps = 0;
  guint64 before = 0;

  for (guint64 len = 1 << 20; len < 2 << 20; len += 64)
    {
      guint64 padded = sk_padme (len);

      steps += padded != before;
      before = padded;
    }
  g_assert_cmpuint (steps, <=, 33);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/seal/round-trip", test_round_trip);
  g_test_add_func ("/seal/nothing-else-opens", test_nothing_else_opens);
  g_test_add_func ("/seal/fresh-nonce", test_fresh_nonce);
  g_test_add_func ("/seal/passphrase", test_passphrase);
  g_test_add_func ("/seal/passphrase-bounds", test_passphrase_bounds);
  g_test_add_func ("/seal/passphrase-prefixes", test_passphrase_prefixes);
  g_test_add_func ("/seal/rule-b8/padme", test_padme);
  g_test_add_func ("/seal/rule-b8/padme-hides", test_padme_hides);
  return g_test_run ();
}
