/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-hash.h"

#include <string.h>

static void
assert_hash (const SkHash *hash, const char *expected)
{
  char hex[SK_HASH_HEX_SIZE];

  sk_hash_format (hash, hex);
  g_assert_cmpstr (hex, ==, expected);
}

static void
test_vectors (void)
{
  SkHash hash;

  sk_sha256 ((const guint8 *) "abc", 3, &hash);
  assert_hash (&hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  sk_sha256 (NULL, 0, &hash);
  assert_hash (&hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sk_blake2b ((const guint8 *) "abc", 3, &hash);
  assert_hash (&hash, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static void
test_keyed (void)
{
  SkKey a = { { 1 } }, b = { { 2 } };
  SkHash by_a, by_b, plain, again;
  const guint8 data[] = "same content";

  sk_chunk_id (&a, data, sizeof data, &by_a);
  sk_chunk_id (&b, data, sizeof data, &by_b);
  sk_blake2b (data, sizeof data, &plain);
  sk_blake2b_keyed (&a, data, sizeof data, &again);
  g_assert_false (sk_hash_equal (&by_a, &by_b));
  g_assert_false (sk_hash_equal (&by_a, &plain));
  g_assert_true (sk_hash_equal (&by_a, &again));
}

static void
test_in_pieces (void)
{
  guint8 data[1000];
  SkHash whole, prefix, peeked, end;
  SkSha256 *hash = sk_sha256_new ();

  for (guint i = 0; i < sizeof data; i++)
    data[i] = (guint8) (i * 7);
  sk_sha256 (data, sizeof data, &whole);
  sk_sha256 (data, 333, &prefix);

  sk_sha256_update (hash, data, 0);
  sk_sha256_update (hash, data, 100);
  sk_sha256_update (hash, data + 100, 233);
  if (sk_sha256_peek (hash, &peeked))
    g_assert_true (sk_hash_equal (&peeked, &prefix));
  else
    g_test_message ("this GnuTLS cannot copy a hash state");
  sk_sha256_update (hash, data + 333, sizeof data - 333);
  sk_sha256_finish (hash, &end);
  g_assert_true (sk_hash_equal (&end, &whole));
}

static void
test_free_unfinished (void)
{
  g_autoptr(SkSha256) hash = sk_sha256_new ();

  sk_sha256_update (hash, (const guint8 *) "abc", 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/hash/vectors", test_vectors);
  g_test_add_func ("/hash/keyed", test_keyed);
  g_test_add_func ("/hash/in-pieces", test_in_pieces);
  g_test_add_func ("/hash/free-unfinished", test_free_unfinished);
  return g_test_run ();
}
