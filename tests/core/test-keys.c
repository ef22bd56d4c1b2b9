/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expected bytes were computed by another program (Python's hashlib and cryptography) from
 * FORMAT.md. */
#include "forge-pack.h"
#include "sk-chunker.h"
#include "sk-limits.h"

static void
assert_hex (gconstpointer data, gsize len, const char *expected)
{
  g_autoptr(GString) hex = g_string_new (NULL);

  for (gsize i = 0; i < len; i++)
    g_string_append_printf (hex, "%02x", ((const guint8 *) data)[i]);
  g_assert_cmpstr (hex->str, ==, expected);
}

static void
ascending_seed (SkKey *seed)
{
  for (guint i = 0; i < sizeof seed->bytes; i++)
    seed->bytes[i] = (guint8) i;
}

/* --- identities --- */

static void
test_identity_vector (void)
{
  g_autoptr(SkIdentity) identity = NULL;
  SkKey seed, copy;

  ascending_seed (&seed);
  identity = sk_identity_new_from_seed (&seed);
  assert_hex (sk_identity_sign_key (identity), 32,
              "3c067d506820343778de5b3126e2e5192717b500de6d940647cbda79cd91b36d");
  assert_hex (sk_identity_box_key (identity), 32,
              "d36ebef11700db187c38d2e5bbd9270a1456cb8f0870dd4490d4d8bbe88ce922");
  sk_identity_copy_seed (identity, &copy);
  g_assert_cmpmem (copy.bytes, 32, seed.bytes, 32);
}

static void
test_vault_id (void)
{
  SkPublicKey sign_key, box_key;
  SkId vault;

  for (guint i = 0; i < 32; i++)
    {
      sign_key.bytes[i] = (guint8) i;
      box_key.bytes[i] = (guint8) (32 + i);
    }
  sk_vault_id_from_recovery (&sign_key, &box_key, &vault);
  assert_hex (&vault, sizeof vault, "10d8e6d534b00939843fe9dcc4dae48c");
}

static void
test_sign (void)
{
  g_autoptr(SkIdentity) identity = sk_identity_new_random ();
  g_autoptr(SkIdentity) other = sk_identity_new_random ();
  guint8 data[] = "the clear header and a hash";
  SkSignature sig, bad;
  const SkPublicKey *key = sk_identity_sign_key (identity);

  sk_identity_sign (identity, data, sizeof data, &sig);
  g_assert_true (sk_verify (key, data, sizeof data, &sig));
  g_assert_false (sk_verify (sk_identity_sign_key (other), data, sizeof data, &sig));
  g_assert_false (sk_verify (key, data, sizeof data - 1, &sig));
  for (guint bit = 0; bit < 8 * sizeof sig; bit++)
    {
      bad = sig;
      bad.bytes[bit / 8] ^= (guint8) (1 << bit % 8);
      g_assert_false (sk_verify (key, data, sizeof data, &bad));
    }
  data[3] ^= 1;
  g_assert_false (sk_verify (key, data, sizeof data, &sig));
  /* The neutral point as a key would accept a signature over anything. */
  memset (&bad, 0, sizeof bad);
  bad.bytes[0] = 1;
  g_assert_false (sk_verify (&(SkPublicKey) { { 1 } }, data, sizeof data, &bad));
}

static void
test_box (void)
{
  g_autoptr(SkIdentity) identity = sk_identity_new_random ();
  g_autoptr(SkIdentity) other = sk_identity_new_random ();
  g_autoptr(GBytes) box
      = sk_box_seal (sk_identity_box_key (identity), (const guint8 *) "secret", 6);
  g_autoptr(GBytes) plain = NULL;
  g_autoptr(GBytes) empty = sk_box_seal (sk_identity_box_key (identity), NULL, 0);
  g_autoptr(GBytes) nothing = NULL;
  g_autoptr(GError) error = NULL;
  const guint8 *data = g_bytes_get_data (box, NULL);
  gsize len = g_bytes_get_size (box);

  g_assert_cmpuint (len, ==, 6 + SK_BOX_OVERHEAD);
  plain = sk_identity_unbox (identity, data, len, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (plain, NULL), g_bytes_get_size (plain), "secret", 6);
  nothing = sk_identity_unbox (identity, g_bytes_get_data (empty, NULL), SK_BOX_OVERHEAD, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (nothing), ==, 0);

  g_assert_null (sk_identity_unbox (other, data, len, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  for (gsize cut = 0; cut < len; cut++)
    g_assert_null (sk_identity_unbox (identity, data, cut, NULL));
  for (gsize bit = 0; bit < 8 * len; bit++)
    {
      g_autofree guint8 *flipped = g_memdup2 (data, len);

      flipped[bit / 8] ^= (guint8) (1 << bit % 8);
      /* X25519 ignores the top bit of a point, but the nonce is made from its bytes. */
      g_assert_null (sk_identity_unbox (identity, flipped, len, NULL));
    }
  g_assert_null (sk_box_seal (&(SkPublicKey) { { 0 } }, data, len));
}

/* --- keyring --- */

static void
test_derived_vectors (void)
{
  static const char * const expected[] = {
    [SK_USE_CHUNK] = "6e241fdd0b6b5a4b5731a6d19e2cac5c9a6101be36eedb2d293c1821d1805704",
    [SK_USE_LOG] = "50da135edc15611011eca58d10c3f4e59464458fbf8d0ff41682e90b3fe7e420",
    [SK_USE_SNAPSHOT] = "e9a5ad6c00e21b03a91caeb446a16a333759cca15afe2055334ecaec3626b153",
    [SK_USE_RECORDS] = "0a9bb598d8373817b325824bb689ca0f88820b43cea767b87445305c8c15ef5e",
    [SK_USE_PRESENCE] = "7a11563dd0ed87b9b8e3ee222d8d579db338ea7daa8736656da2f20f57a7c9dd",
    [SK_USE_BEACON] = "f264889768beff82e9617f5e81bb85b70f9d2dd2b4da14bd81d452f3c8eee9ad",
  };
  g_autoptr(SkKeyring) keys = forge_keys ();
  SkGear gear;
  SkHash id;
  SkKey key;

  for (guint use = 0; use < G_N_ELEMENTS (expected); use++)
    {
      g_assert_true (sk_keyring_get (keys, sk_keyring_current (keys), (SkKeyUse) use, &key, NULL));
      assert_hex (&key, sizeof key, expected[use]);
    }
  sk_keyring_id_key (keys, &key);
  sk_chunk_id (&key, (const guint8 *) "abc", 3, &id);
  assert_hex (&id, sizeof id, "280776135edcd561b55edb7abec985333c3995dda3d493de3d29ee5bc45fb333");
  sk_gear_init (&gear, &key);
  g_assert_cmphex (gear.table[0], ==, G_GUINT64_CONSTANT (0xa2d07b7e2f33ea85));
  g_assert_cmphex (gear.table[255], ==, G_GUINT64_CONSTANT (0x2453eaccaf1a3aed));
}

static void
test_epochs (void)
{
  g_autoptr(SkKeyring) first = sk_keyring_new_vault ();
  g_autoptr(SkKeyring) second = sk_keyring_with_new_epoch (first);
  g_autoptr(SkKeyring) again = NULL;
  g_autoptr(GError) error = NULL;
  SkId old = *sk_keyring_current (first);
  SkId new = *sk_keyring_current (second);
  SkKey a, b, other = { { 77 } };

  g_assert_false (sk_id_equal (&old, &new));
  g_assert_true (sk_keyring_has_epoch (second, &old));
  g_assert_false (sk_keyring_has_epoch (first, &new));       /* immutable */

  sk_keyring_id_key (first, &a);
  sk_keyring_id_key (second, &b);
  g_assert_cmpmem (&a, sizeof a, &b, sizeof b);
  g_assert_true (sk_keyring_get (first, &old, SK_USE_CHUNK, &a, NULL));
  g_assert_true (sk_keyring_get (second, &old, SK_USE_CHUNK, &b, NULL));
  g_assert_cmpmem (&a, sizeof a, &b, sizeof b);
  g_assert_true (sk_keyring_get (second, &new, SK_USE_CHUNK, &b, NULL));
  g_assert_false (memcmp (&a, &b, sizeof a) == 0);

  /* A known epoch becomes current again, and cannot be given another key. */
  again = sk_keyring_with_epoch (second, &old, &other);
  g_assert_true (sk_id_equal (sk_keyring_current (again), &old));
  g_assert_true (sk_keyring_get (again, &old, SK_USE_CHUNK, &b, NULL));
  g_assert_cmpmem (&a, sizeof a, &b, sizeof b);
  g_assert_true (sk_keyring_has_epoch (again, &new));

  g_assert_false (sk_keyring_get (first, &new, SK_USE_LOG, &a, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
}

static void
test_keyring_round_trip (void)
{
  g_autoptr(SkKeyring) one = sk_keyring_new_vault ();
  g_autoptr(SkKeyring) two = sk_keyring_with_new_epoch (one);
  g_autoptr(GBytes) stored = sk_keyring_serialise (two);
  g_autoptr(SkKeyring) parsed = NULL;
  g_autoptr(GBytes) again = NULL;
  g_autoptr(GError) error = NULL;
  const guint8 *data = g_bytes_get_data (stored, NULL);
  gsize len = g_bytes_get_size (stored);

  g_assert_cmpuint (len, ==, 35 + 2 * 48);
  parsed = sk_keyring_parse (data, len, &error);
  g_assert_no_error (error);
  again = sk_keyring_serialise (parsed);
  g_assert_true (g_bytes_equal (again, stored));
  g_assert_true (sk_id_equal (sk_keyring_current (parsed), sk_keyring_current (two)));

  for (gsize cut = 0; cut < len; cut++)
    {
      g_autofree guint8 *prefix = g_memdup2 (data, cut);

      g_assert_null (sk_keyring_parse (prefix, cut, NULL));
    }
}

static void
test_keyring_refused (void)
{
  g_autoptr(SkKeyring) keys = sk_keyring_new_vault ();
  g_autoptr(GBytes) stored = sk_keyring_serialise (keys);
  g_autofree guint8 *data = g_malloc0 (35 + 2 * 48);
  g_autoptr(GError) error = NULL;

  memcpy (data, g_bytes_get_data (stored, NULL), 35 + 48);
  g_assert_null (sk_keyring_parse (data, 35 + 49, &error));        /* something behind it */
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_clear_error (&error);

  memcpy (data + 35 + 48, data + 35, 48);                          /* an epoch twice */
  data[33] = 2;
  g_assert_null (sk_keyring_parse (data, 35 + 2 * 48, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_clear_error (&error);
  data[35 + 48] ^= 1;
  {
    g_autoptr(SkKeyring) fine = sk_keyring_parse (data, 35 + 2 * 48, NULL);

    g_assert_nonnull (fine);
  }

  data[33] = 0;
  g_assert_null (sk_keyring_parse (data, 35, NULL));
  data[0] = 0;
  g_assert_null (sk_keyring_parse (data, 35 + 48, NULL));
  data[0] = 2;
  g_assert_null (sk_keyring_parse (data, 35 + 48, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_TOO_NEW);
}

static void
test_keyring_full (void)
{
  g_autofree guint8 *data = g_malloc0 (35 + (SK_EPOCHS_MAX + 1) * 48);
  g_autoptr(SkKeyring) full = NULL;
  g_autoptr(SkKeyring) more = NULL;
  SkId extra = { { 0xff, 0xff } };

  data[0] = 1;
  data[33] = SK_EPOCHS_MAX & 0xff;
  data[34] = SK_EPOCHS_MAX >> 8;
  for (guint i = 0; i <= SK_EPOCHS_MAX; i++)
    {
      data[35 + 48 * i] = (guint8) i;
      data[36 + 48 * i] = (guint8) (i >> 8);
    }
  full = sk_keyring_parse (data, 35 + SK_EPOCHS_MAX * 48, NULL);
  g_assert_nonnull (full);
  more = sk_keyring_with_epoch (full, &extra, &(SkKey) { { 1 } });
  g_assert_false (sk_keyring_has_epoch (more, &extra));

  data[33] = (SK_EPOCHS_MAX + 1) & 0xff;
  data[34] = (SK_EPOCHS_MAX + 1) >> 8;
  g_assert_null (sk_keyring_parse (data, 35 + (SK_EPOCHS_MAX + 1) * 48, NULL));
}

static void
test_epoch_secret (void)
{
  g_autoptr(SkKeyring) keys = sk_keyring_new_vault ();
  const SkId *epoch = sk_keyring_current (keys);
  g_autoptr(GBytes) secret = sk_keyring_epoch_secret (keys, epoch, NULL);
  g_autoptr(SkKeyring) got = NULL;
  g_autoptr(GBytes) a = sk_keyring_serialise (keys);
  g_autoptr(GBytes) b = NULL;
  g_autoptr(GError) error = NULL;

  g_assert_cmpuint (g_bytes_get_size (secret), ==, 64);
  got = sk_keyring_from_epoch_secret (epoch, g_bytes_get_data (secret, NULL), 64, &error);
  g_assert_no_error (error);
  b = sk_keyring_serialise (got);
  g_assert_true (g_bytes_equal (a, b));

  g_assert_null (sk_keyring_from_epoch_secret (epoch, g_bytes_get_data (secret, NULL), 63, NULL));
  g_assert_null (sk_keyring_epoch_secret (keys, &(SkId) { { 1 } }, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
}

static gpointer
use_keyring (gpointer data)
{
  SkKeyring *keys = data;

  for (guint i = 0; i < 20000; i++)
    {
      g_autoptr(SkKeyring) held = sk_keyring_ref (keys);
      g_auto(SkKey) key = { 0 };

      g_assert_true (sk_keyring_get (held, sk_keyring_current (held), SK_USE_LOG, &key, NULL));
    }
  sk_keyring_unref (keys);
  return NULL;
}

static void
test_shared_by_threads (void)
{
  SkKeyring *keys = sk_keyring_new_vault ();
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("keys", use_keyring, sk_keyring_ref (keys));
  sk_keyring_unref (keys);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_key_wiped (void)
{
  SkKey key = { { 1, 2, 3 } };
  static const SkKey zero;

  sk_key_clear (&key);
  g_assert_cmpmem (&key, sizeof key, &zero, sizeof zero);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/keys/identity-vector", test_identity_vector);
  g_test_add_func ("/keys/vault-id", test_vault_id);
  g_test_add_func ("/keys/sign", test_sign);
  g_test_add_func ("/keys/box", test_box);
  g_test_add_func ("/keys/derived-vectors", test_derived_vectors);
  g_test_add_func ("/keys/epochs", test_epochs);
  g_test_add_func ("/keys/round-trip", test_keyring_round_trip);
  g_test_add_func ("/keys/refused", test_keyring_refused);
  g_test_add_func ("/keys/full", test_keyring_full);
  g_test_add_func ("/keys/epoch-secret", test_epoch_secret);
  g_test_add_func ("/keys/shared-by-threads", test_shared_by_threads);
  g_test_add_func ("/keys/wiped", test_key_wiped);
  return g_test_run ();
}
