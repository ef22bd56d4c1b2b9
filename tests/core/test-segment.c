/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-segment.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "forge-segment.h"

#define HEADER_SIZE 108u

typedef struct
{
  SkKeyring *keys;
  SkIdentity *signer;
  SkPublicKey sign_key;
  SkCompressor *z;
  SkSegmentHeader header;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  self->keys = sk_keyring_new_vault ();
  self->signer = sk_identity_new_random ();
  self->sign_key = *sk_identity_sign_key (self->signer);
  self->z = sk_compressor_new ();
  self->header = (SkSegmentHeader) { .version = 1, .vault = fixture_id (9), .writer = fixture_id (2),
                                     .epoch = *sk_keyring_current (self->keys), .seq = 41, .prev = fixture_hash (40),
                                     .wall = 1700000000 };
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  sk_keyring_unref (self->keys);
  sk_identity_unref (self->signer);
  sk_compressor_free (self->z);
}

static GPtrArray *
some_records (guint n)
{
  GPtrArray *records = fixture_records ();

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("documents/%u/letter %u.txt", i / 100, i);

      g_ptr_array_add (records, sk_record_new_entry (fixture_entry (SK_KIND_DIR, path, i + 1)));
    }
  return records;
}

static GBytes *
build (Fixture *self, GPtrArray *records, SkHash *hash)
{
  g_autoptr(GError) error = NULL;
  GBytes *object = sk_segment_build (&self->header, records, self->keys, self->signer, self->z, hash, &error);

  g_assert_no_error (error);
  return object;
}

/* The number of records, or -1. */
static int
open_segment (Fixture *self, GBytes *object, GPtrArray *refused, GError **error)
{
  g_autoptr(GPtrArray) records = NULL;
  SkSegmentHeader header;

  if (!sk_segment_open (object, &self->sign_key, &self->header.vault, self->keys, self->z, &header, &records, refused, error))
    return -1;
  g_assert_cmpuint (header.seq, ==, self->header.seq);
  return (int) records->len;
}

static void
assert_refused (Fixture *self, GBytes *object, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;

  g_assert_cmpint (open_segment (self, object, NULL, &error), ==, -1);
  g_assert_error (error, SK_ERROR, (int) code);
}

static void
test_round_trip (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = some_records (500);
  SkHash hash, again;
  g_autoptr(GBytes) object = build (self, records, &hash);
  SkSegmentHeader header;

  g_assert_cmpint (open_segment (self, object, NULL, NULL), ==, 500);
  sk_sha256 (g_bytes_get_data (object, NULL), g_bytes_get_size (object), &again);
  g_assert_true (sk_hash_equal (&hash, &again));
  g_assert_true (sk_segment_peek (object, &header, NULL));
  g_assert_true (sk_id_equal (&header.writer, &self->header.writer));
  g_assert_true (sk_id_equal (&header.epoch, &self->header.epoch));
  g_assert_true (sk_hash_equal (&header.prev, &self->header.prev));
  g_assert_cmpint (header.wall, ==, self->header.wall);
  g_assert_cmpuint (g_bytes_get_size (object), <, 500 * 40);         /* it was compressed */
}

static void
test_large (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = fixture_records ();
  SkEntry *file = fixture_entry (SK_KIND_FILE, "disk.img", 1);
  const guint n = 400000;
  SkHash hash;
  g_autoptr(GBytes) object = NULL;

  for (guint i = 0; i < n; i++)
    {
      SkChunkRef chunk = { .id = fixture_hash (i), .size = 1 << 20 };

      g_array_append_val (file->chunks, chunk);
      file->size += chunk.size;
    }
  sk_entry_seal_content (file);
  g_ptr_array_add (records, sk_record_new_entry (file));
  object = build (self, records, &hash);
  g_assert_cmpuint (g_bytes_get_size (object), >, 12 << 20);
  g_assert_cmpint (open_segment (self, object, NULL, NULL), ==, 1);
}

static void
test_padded (Fixture *self, gconstpointer data)
{
  for (guint n = 0; n < 300; n += 7)
    {
      g_autoptr(GPtrArray) records = some_records (n);
      SkHash hash;
      g_autoptr(GBytes) object = build (self, records, &hash);
      gsize size = g_bytes_get_size (object);

      g_assert_cmpuint (size, >=, SK_ENVELOPE_SIZE_MIN);
      g_assert_cmpuint (sk_padme (size), ==, size);
    }
}

/* Sealed bytes that a member made by hand: everything about the padding and lengths inside the seal is checked. */
static void
test_inner (Fixture *self, gconstpointer data)
{
  Forge forge;
  g_autoptr(GBytes) body = NULL;
  g_auto(SkWriter) w = { 0 };
  const gsize padding = 50;
  gsize len;

  forge_init (&forge);
  forge_directory (&forge, 0, "a", 1);
  body = forge_body (&forge, 0);
  len = g_bytes_get_size (body);
  sk_writer_init (&w);
  sk_writer_u8 (&w, 0);
  sk_writer_u32 (&w, (guint32) len);
  sk_writer_u32 (&w, (guint32) len);
  sk_writer_raw (&w, g_bytes_get_data (body, NULL), len);
  for (gsize i = 0; i < padding; i++)
    sk_writer_u8 (&w, 0);

  for (guint i = 0; i < 7; i++)
    {
      g_autofree guint8 *inner = g_memdup2 (w.bytes->data, w.bytes->len);
      g_autoptr(GBytes) object = NULL;

      switch (i)
        {
        case 0: break;
        case 1: inner[w.bytes->len - 1] = 1; break;       /* something in the padding */
        case 2: inner[9 + len] = 1; break;
        case 3: inner[0] = 1; break;                      /* not zstd */
        case 4: inner[0] = 2; break;
        case 5: inner[4] = 0x7f; break;                   /* plain length out of bounds */
        default: inner[8] = 0x7f; break;                  /* stored length out of the seal */
        }
      object = forge_segment_inner (&self->header, inner, w.bytes->len, self->keys, self->signer);
      if (i == 0)
        g_assert_cmpint (open_segment (self, object, NULL, NULL), ==, 1);
      else
        assert_refused (self, object, SK_ERROR_CORRUPT);
    }
  {
    g_autofree guint8 *inner = g_memdup2 (w.bytes->data, w.bytes->len);
    g_autoptr(GBytes) object = NULL;

    /* More than the limit, said by a zstd body: refused before memory is taken. */
    inner[0] = 1;
    inner[4] = 0x7f;
    object = forge_segment_inner (&self->header, inner, w.bytes->len, self->keys, self->signer);
    assert_refused (self, object, SK_ERROR_LIMIT);
  }
}

static void
test_header_is_signed (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = some_records (3);
  SkHash hash;
  g_autoptr(GBytes) object = build (self, records, &hash);
  gsize len = g_bytes_get_size (object);

  for (gsize i = 0; i < len; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), len);
      g_autoptr(GBytes) spoilt = NULL;

      copy[i] ^= 1 << i % 8;
      spoilt = g_bytes_new_static (copy, len);
      g_assert_cmpint (open_segment (self, spoilt, NULL, NULL), ==, -1);
    }
  for (gsize i = 0; i < len; i++)
    {
      g_autoptr(GBytes) prefix = g_bytes_new (g_bytes_get_data (object, NULL), i);

      g_assert_cmpint (open_segment (self, prefix, NULL, NULL), ==, -1);
    }
}

/* Somebody with the vault's key, but not the device's, puts a body under another header and signs as himself. */
static void
test_body_is_bound (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = some_records (3);
  SkHash hash, body_hash;
  g_autoptr(GBytes) object = build (self, records, &hash);
  gsize len = g_bytes_get_size (object);
  g_autoptr(SkIdentity) other = sk_identity_new_random ();

  for (gsize i = 8; i < HEADER_SIZE - 4; i += 4)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), len);
      g_autoptr(GBytes) moved = g_bytes_new_static (copy, len);
      guint8 signed_bytes[HEADER_SIZE + 32];
      SkSignature signature;
      Fixture reader = *self;
      g_autoptr(GPtrArray) found = NULL;
      SkSegmentHeader header;

      copy[i] ^= 1;
      sk_blake2b (copy + HEADER_SIZE, len - HEADER_SIZE - 64, &body_hash);
      memcpy (signed_bytes, copy, HEADER_SIZE);
      memcpy (signed_bytes + HEADER_SIZE, body_hash.bytes, 32);
      sk_identity_sign (other, signed_bytes, sizeof signed_bytes, &signature);
      memcpy (copy + len - 64, signature.bytes, 64);
      reader.sign_key = *sk_identity_sign_key (other);
      if (sk_segment_peek (moved, &header, NULL))
        g_assert_false (sk_segment_open (moved, &reader.sign_key, &header.vault, self->keys, self->z, &header, &found, NULL, NULL));
    }
}

static void
test_strangers (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = some_records (3);
  SkHash hash;
  g_autoptr(GBytes) object = build (self, records, &hash);
  g_autoptr(SkIdentity) other = sk_identity_new_random ();
  g_autoptr(SkKeyring) other_keys = sk_keyring_new_vault ();
  Fixture stranger = *self;

  stranger.sign_key = *sk_identity_sign_key (other);
  assert_refused (&stranger, object, SK_ERROR_UNTRUSTED);
  stranger = *self;
  stranger.header.vault = fixture_id (10);
  assert_refused (&stranger, object, SK_ERROR_CORRUPT);
  stranger = *self;
  stranger.keys = other_keys;
  assert_refused (&stranger, object, SK_ERROR_UNTRUSTED);
}

static void
test_newer (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = some_records (1);
  SkHash hash;
  g_autoptr(GBytes) object = build (self, records, &hash);
  g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), g_bytes_get_size (object));
  g_autoptr(GBytes) newer = g_bytes_new_static (copy, g_bytes_get_size (object));

  copy[4] = 2;
  assert_refused (self, newer, SK_ERROR_TOO_NEW);
}

static void
test_chain_start (Fixture *self, gconstpointer data)
{
  g_autoptr(GPtrArray) records = some_records (1);
  SkHash hash, zero = { 0 };

  self->header.seq = 1;
  g_assert_null (sk_segment_build (&self->header, records, self->keys, self->signer, self->z, &hash, NULL));
  self->header.prev = zero;
  {
    g_autoptr(GBytes) object = build (self, records, &hash);

    g_assert_cmpint (open_segment (self, object, NULL, NULL), ==, 1);
  }
  self->header.seq = 2;
  g_assert_null (sk_segment_build (&self->header, records, self->keys, self->signer, self->z, &hash, NULL));
  self->header.seq = 0;
  g_assert_null (sk_segment_build (&self->header, records, self->keys, self->signer, self->z, &hash, NULL));
}

static void
test_hand_made (Fixture *self, gconstpointer data)
{
  static const struct { const char *bytes; gsize len; } bad[] = {
    { "../x", 4 }, { "/etc/x", 6 }, { "a//b", 4 }, { ".", 1 }, { "", 0 }, { "a\0b", 3 },
  };
  Forge forge;
  g_autoptr(GBytes) body = NULL, object = NULL;
  g_autoptr(GPtrArray) refused = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GPtrArray) records = NULL;
  SkSegmentHeader header;

  forge_init (&forge);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      forge_directory (&forge, 0, "kept", 4);
      forge_directory (&forge, 0, bad[i].bytes, bad[i].len);
    }
  forge_directory (&forge, 0, "kept", 4);
  body = forge_body (&forge, 0);
  object = forge_segment (&self->header, body, self->keys, self->signer);
  g_assert_true (sk_segment_open (object, &self->sign_key, &self->header.vault, self->keys, self->z, &header, &records, refused, NULL));
  g_assert_cmpuint (refused->len, ==, G_N_ELEMENTS (bad));
  g_assert_cmpuint (records->len, ==, G_N_ELEMENTS (bad) + 1);
  for (guint i = 0; i < records->len; i++)
    g_assert_cmpstr (((SkRecord *) g_ptr_array_index (records, i))->entry->path, ==, "kept");
}

static void
test_names (void)
{
  SkId writer = fixture_id (2), found;
  SkHash hash = fixture_hash (1);
  g_autofree char *name = sk_segment_object_name (&writer, 41, &hash);
  g_autofree char *last = sk_segment_object_name (&writer, SK_SEQ_MAX, &hash);
  guint64 seq;
  guint8 prefix[8];

  g_assert_true (sk_segment_parse_name (name, &found, &seq, prefix));
  g_assert_true (sk_id_equal (&found, &writer));
  g_assert_cmpuint (seq, ==, 41);
  g_assert_cmpmem (prefix, 8, hash.bytes, 8);
  g_assert_true (sk_segment_parse_name (last, &found, &seq, prefix));
  g_assert_cmpuint (seq, ==, SK_SEQ_MAX);

  for (gsize i = 0; i < strlen (name); i++)
    {
      g_autofree char *prefix_of = g_strndup (name, i);
      g_autofree char *odd = g_strdup (name);

      g_assert_false (sk_segment_parse_name (prefix_of, &found, &seq, prefix));
      odd[i] = odd[i] == 'z' ? 'y' : 'z';
      g_assert_false (sk_segment_parse_name (odd, &found, &seq, prefix));
      odd[i] = g_ascii_toupper (name[i]);
      g_assert_true (odd[i] == name[i] || !sk_segment_parse_name (odd, &found, &seq, prefix));
    }
}

static void
test_foreign_names (void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed (61);
  g_autofree char *long_name = g_strnfill (900, 'x');
  SkId writer;
  guint64 seq;
  guint8 prefix[8];

  for (gsize i = 0; i < 900; i++)
    long_name[i] = (char) g_rand_int_range (rand, 1, 256);
  g_assert_false (sk_segment_parse_name (long_name, &writer, &seq, prefix));
  memcpy (long_name, "log/", 4);
  g_assert_false (sk_segment_parse_name (long_name, &writer, &seq, prefix));
  g_assert_false (sk_segment_parse_name ("", &writer, &seq, prefix));
  g_assert_false (sk_segment_parse_name ("log/", &writer, &seq, prefix));
  g_assert_false (sk_segment_parse_name ("log/00000000000000000000000000000000/000000000000-0000000000000000", &writer, &seq, prefix));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add ("/segment/round-trip", Fixture, NULL, set_up, test_round_trip, tear_down);
  g_test_add ("/segment/large", Fixture, NULL, set_up, test_large, tear_down);
  g_test_add ("/segment/rule-b8/padded", Fixture, NULL, set_up, test_padded, tear_down);
  g_test_add ("/segment/rule-b8/inside-the-seal", Fixture, NULL, set_up, test_inner, tear_down);
  g_test_add ("/segment/rule-b6/header-and-body-are-signed", Fixture, NULL, set_up, test_header_is_signed, tear_down);
  g_test_add ("/segment/rule-b6/body-is-bound-to-header", Fixture, NULL, set_up, test_body_is_bound, tear_down);
  g_test_add ("/segment/strangers", Fixture, NULL, set_up, test_strangers, tear_down);
  g_test_add ("/segment/newer", Fixture, NULL, set_up, test_newer, tear_down);
  g_test_add ("/segment/chain-start", Fixture, NULL, set_up, test_chain_start, tear_down);
  g_test_add ("/segment/sit-B040/hand-made", Fixture, NULL, set_up, test_hand_made, tear_down);
  g_test_add_func ("/segment/names", test_names);
  g_test_add_func ("/segment/sit-B061/foreign-names", test_foreign_names);
  return g_test_run ();
}
