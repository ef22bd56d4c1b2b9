/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forge-pack.h"
#include "sk-limits.h"

#include <string.h>

typedef struct
{
  SkKeyring *keys;
  SkKey id_key;
  SkCompressor *z;
} Fixture;

static void
setup (Fixture *f, gconstpointer data)
{
  f->keys = forge_keys ();
  f->z = sk_compressor_new ();
  sk_keyring_id_key (f->keys, &f->id_key);
}

static void
teardown (Fixture *f, gconstpointer data)
{
  sk_keyring_unref (f->keys);
  sk_compressor_free (f->z);
}

/* Content number @n: text when even, random when odd. */
static GBytes *
content (guint n, gsize len)
{
  guint8 *data = g_malloc (len);
  g_autoptr(GRand) rand = g_rand_new_with_seed (1000 + n);

  for (gsize i = 0; i < len; i++)
    data[i] = n % 2 == 0 ? (guint8) "aeiou nst"[g_rand_int_range (rand, 0, 9)]
                         : (guint8) g_rand_int (rand);
  return g_bytes_new_take (data, len);
}

static gboolean
add (Fixture *f, SkPackBuilder *builder, GBytes *plain, gboolean verify, GError **error)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (plain, &len);
  SkHash id;

  sk_chunk_id (&f->id_key, data, len, &id);
  return sk_pack_builder_add (builder, f->z, 3, &id, data, len, verify, error);
}

static const gsize lengths[] = { 1, 20, 5000, 5001, 100000, 100001, 262144, 300001 };
#define N_CHUNKS G_N_ELEMENTS (lengths)

/* A pack of content 0 to N_CHUNKS - 1. */
static GBytes *
make_pack (Fixture *f, SkKeyring *keys, SkHash *name, GArray **rows)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, keys, NULL, NULL);
  g_autoptr(GError) error = NULL;
  GBytes *object;

  for (guint i = 0; i < N_CHUNKS; i++)
    {
      g_autoptr(GBytes) plain = content (i, lengths[i]);

      g_assert_true (add (f, builder, plain, i % 3 == 0, &error));
      g_assert_no_error (error);
    }
  object = sk_pack_builder_finish (builder, name, rows, &error);
  g_assert_no_error (error);
  return object;
}

static GBytes *
open_row (Fixture *f, GBytes *object, const SkPackRow *row, SkKeyring *keys, GError **error)
{
  const guint8 *data = g_bytes_get_data (object, NULL);
  SkId epoch = *sk_keyring_current (keys);

  g_assert_cmpuint (row->offset + row->stored_len, <=, g_bytes_get_size (object));
  return sk_pack_open_chunk (row, data + row->offset, row->stored_len, &forge_vault, &epoch, keys,
                             f->z, error);
}

static void
test_round_trip (Fixture *f, gconstpointer data)
{
  SkHash name, computed;
  SkId epoch;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  g_autoptr(GArray) read = NULL;
  g_autoptr(GError) error = NULL;
  g_autofree char *path = sk_pack_object_name (&name);
  char hex[SK_HASH_HEX_SIZE];

  sk_sha256 (g_bytes_get_data (object, NULL), g_bytes_get_size (object), &computed);
  g_assert_true (sk_hash_equal (&name, &computed));
  sk_hash_format (&name, hex);
  g_assert_true (g_str_has_prefix (path, "packs/"));
  g_assert_true (strncmp (path + 6, hex, 2) == 0 && path[8] == '/');
  g_assert_cmpstr (path + 9, ==, hex);

  read = sk_pack_read_table (object, &forge_vault, f->keys, &name, &epoch, &error);
  g_assert_no_error (error);
  g_assert_true (sk_id_equal (&epoch, sk_keyring_current (f->keys)));
  g_assert_cmpuint (read->len, ==, N_CHUNKS);
  for (guint i = 0; i < N_CHUNKS; i++)
    {
      const SkPackRow *row = &g_array_index (read, SkPackRow, i);
      const SkPackRow *made = &g_array_index (rows, SkPackRow, i);
      g_autoptr(GBytes) expected = content (i, lengths[i]);
      g_autoptr(GBytes) plain = open_row (f, object, row, f->keys, &error);

      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (plain, expected));
      g_assert_true (sk_hash_equal (&row->id, &made->id));
      g_assert_cmpuint (row->offset, ==, made->offset);
      g_assert_cmpuint (row->stored_len, ==, made->stored_len);
      g_assert_cmpuint (row->plain_len, ==, made->plain_len);
      g_assert_cmpint (row->method, ==, made->method);
      g_assert_cmpint (row->method, ==,
                       i % 2 == 0 && lengths[i] > 16 ? SK_METHOD_ZSTD : SK_METHOD_RAW);
    }
}

static void
test_limits (Fixture *f, gconstpointer data)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
  g_autofree guint8 *large = g_malloc0 (SK_CHUNK_SIZE_MAX + 1);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GError) error = NULL;
  SkHash id = { 0 }, name;
  guint n = 0;

  g_assert_null (sk_pack_builder_finish (builder, &name, &rows, &error));       /* empty */
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_false (sk_pack_builder_add (builder, f->z, 0, &id, large, 0, FALSE, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_false (
      sk_pack_builder_add (builder, f->z, 0, &id, large, SK_CHUNK_SIZE_MAX + 1, FALSE, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  g_clear_error (&error);

  while (sk_pack_builder_add (builder, f->z, 0, &id, large, 5 << 20, FALSE, &error))
    n++;
  g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  g_assert_cmpuint (n, >=, 8);
  g_clear_error (&error);
  object = sk_pack_builder_finish (builder, &name, &rows, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rows->len, ==, n);
  g_assert_cmpuint (g_bytes_get_size (object), <=, SK_PACK_SIZE_MAX);
}

static void
test_row_validity (Fixture *f, gconstpointer data)
{
  static const struct { SkPackRow row; gboolean valid; } cases[] = {
    { { .plain_len = 1, .stored_len = 41, .method = SK_METHOD_RAW }, TRUE },
    { { .plain_len = SK_CHUNK_SIZE_MAX,
        .stored_len = SK_CHUNK_SIZE_MAX + 40,
        .method = SK_METHOD_RAW },
      TRUE },
    { { .plain_len = SK_CHUNK_SIZE_MAX, .stored_len = 41, .method = SK_METHOD_ZSTD }, TRUE },
    { { .plain_len = SK_CHUNK_SIZE_MAX + 1,
        .stored_len = SK_CHUNK_SIZE_MAX + 41,
        .method = SK_METHOD_RAW },
      FALSE },
    { { .plain_len = SK_CHUNK_SIZE_MAX + 1, .stored_len = 100, .method = SK_METHOD_ZSTD }, FALSE },
    { { .plain_len = G_MAXUINT32, .stored_len = 39, .method = SK_METHOD_RAW },
      FALSE }, /* a sum that wraps */
    { { .plain_len = 0, .stored_len = 40, .method = SK_METHOD_RAW }, FALSE },
    { { .plain_len = 60, .stored_len = 40, .method = SK_METHOD_ZSTD }, FALSE },
    { { .plain_len = 60, .stored_len = 100, .method = SK_METHOD_ZSTD }, FALSE },
    { { .plain_len = 60, .stored_len = 100, .method = (SkMethod) 2 }, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpint (sk_pack_row_is_valid (&cases[i].row), ==, cases[i].valid);
      if (!cases[i].valid)
        g_assert_null (sk_pack_open_chunk (&cases[i].row, NULL, cases[i].row.stored_len,
                                           &forge_vault, sk_keyring_current (f->keys), f->keys,
                                           f->z, NULL));
    }
}

static void
test_many_rows (Fixture *f, gconstpointer data)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GArray) read = NULL;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GError) error = NULL;
  SkHash id = { 0 }, name;

  for (guint i = 0; i < SK_PACK_CHUNKS_MAX; i++)
    g_assert_true (
        sk_pack_builder_add (builder, f->z, 3, &id, (const guint8 *) &i, sizeof i, FALSE, NULL));
  g_assert_false (
      sk_pack_builder_add (builder, f->z, 3, &id, (const guint8 *) "x", 1, FALSE, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  g_clear_error (&error);
  object = sk_pack_builder_finish (builder, &name, &rows, &error);
  g_assert_no_error (error);
  read = sk_pack_read_table (object, &forge_vault, f->keys, &name, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (read->len, ==, SK_PACK_CHUNKS_MAX);
}

/* --- RULES B6: what is bound to what --- */

static void
assert_does_not_open (Fixture *f, const SkPackRow *row, const guint8 *sealed, const SkId *vault,
                      const SkId *epoch, SkKeyring *keys)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (
      sk_pack_open_chunk (row, sealed, row->stored_len, vault, epoch, keys, f->z, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
}

static void
test_chunk_is_bound (Fixture *f, gconstpointer data)
{
  g_autoptr(SkKeyring) later = sk_keyring_with_new_epoch (f->keys);
  SkId epoch = *sk_keyring_current (f->keys);
  SkId other_vault = forge_vault;
  SkHash name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  const guint8 *bytes = g_bytes_get_data (object, NULL);
  const SkPackRow *third = &g_array_index (rows, SkPackRow, 3);
  const guint8 *sealed = bytes + third->offset;
  SkPackRow row = *third;

  g_assert_cmpint (row.method, ==, SK_METHOD_RAW);
  row.id.bytes[5] ^= 1;                                             /* another id */
  assert_does_not_open (f, &row, sealed, &forge_vault, &epoch, f->keys);
  other_vault.bytes[0] ^= 1;                                        /* another vault */
  assert_does_not_open (f, third, sealed, &other_vault, &epoch, f->keys);
  assert_does_not_open (f, third, sealed, &forge_vault, sk_keyring_current (later), later);
  row = *third;
  row.method = SK_METHOD_ZSTD; /* another method, another length */
  row.plain_len++;
  assert_does_not_open (f, &row, sealed, &forge_vault, &epoch, f->keys);
  row = g_array_index (rows, SkPackRow, 4);
  row.plain_len++;
  assert_does_not_open (f, &row, bytes + row.offset, &forge_vault, &epoch, f->keys);
  row = g_array_index (rows, SkPackRow, 4);
  row.stored_len--;
  assert_does_not_open (f, &row, bytes + row.offset, &forge_vault, &epoch, f->keys);
}

/* The associated data as FORMAT.md lists it, and nothing else, opens a chunk. */
static void
test_exact_bytes (Fixture *f, gconstpointer data)
{
  SkHash name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  const SkId *epoch = sk_keyring_current (f->keys);
  SkKey key;

  g_assert_true (sk_keyring_get (f->keys, epoch, SK_USE_CHUNK, &key, NULL));
  for (guint i = 0; i < rows->len; i++)
    {
      const SkPackRow *row = &g_array_index (rows, SkPackRow, i);
      const guint8 *sealed = (const guint8 *) g_bytes_get_data (object, NULL) + row->offset;
      g_auto(SkWriter) ad = { 0 };
      g_autoptr(GBytes) body = NULL;
      g_autoptr(GError) error = NULL;

      forge_ad (&ad, 1, &forge_vault, epoch);
      sk_writer_hash (&ad, &row->id);
      sk_writer_u8 (&ad, (guint8) row->method);
      sk_writer_u32 (&ad, row->plain_len);
      body = sk_open_bytes (&key, ad.bytes->data, ad.bytes->len, sealed, row->stored_len, &error);
      g_assert_no_error (error);
      g_assert_nonnull (body);
    }
}

/* Two epochs may even have one master key: the epoch's id itself is bound. */
static void
test_epoch_id_is_bound (Fixture *f, gconstpointer data)
{
  g_autoptr(GBytes) secret = sk_keyring_epoch_secret (f->keys, sk_keyring_current (f->keys), NULL);
  SkId twin_id = { { 0x77 } };
  g_autoptr(SkKeyring) twin
      = sk_keyring_from_epoch_secret (&twin_id, g_bytes_get_data (secret, NULL), 64, NULL);
  SkHash name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  const SkPackRow *row = &g_array_index (rows, SkPackRow, 2);
  g_autofree guint8 *moved = g_memdup2 (g_bytes_get_data (object, NULL), g_bytes_get_size (object));
  g_autoptr(GBytes) moved_object = NULL;

  assert_does_not_open (f, row, (const guint8 *) g_bytes_get_data (object, NULL) + row->offset,
                        &forge_vault, &twin_id, twin);
  memcpy (moved + 24, &twin_id, sizeof twin_id);
  moved_object = g_bytes_new_take (g_steal_pointer (&moved), g_bytes_get_size (object));
  g_assert_null (sk_pack_read_table (moved_object, &forge_vault, twin, NULL, NULL, NULL));
}

static void
test_swapped_chunks (Fixture *f, gconstpointer data)
{
  SkHash name, other_name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GArray) other_rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  g_autoptr(GBytes) other = make_pack (f, f->keys, &other_name, &other_rows);
  gsize size = g_bytes_get_size (object);
  const SkPackRow *row = &g_array_index (rows, SkPackRow, 3);
  g_autofree guint8 *mixed = g_memdup2 (g_bytes_get_data (object, NULL), size);
  g_autoptr(GBytes) mixed_object = NULL;
  g_autoptr(GError) error = NULL;

  /* The same chunk as sealed for another pack, at the same place: valid by itself, but not what
   * this table saw. */
  g_assert_cmpuint (g_array_index (other_rows, SkPackRow, 3).offset, ==, row->offset);
  memcpy (mixed + row->offset, (const guint8 *) g_bytes_get_data (other, NULL) + row->offset,
          row->stored_len);
  mixed_object = g_bytes_new_take (g_steal_pointer (&mixed), size);
  {
    g_autoptr(GBytes) plain = open_row (f, mixed_object, row, f->keys, &error);

    g_assert_no_error (error);
    g_assert_nonnull (plain);
  }
  g_assert_null (sk_pack_read_table (mixed_object, &forge_vault, f->keys, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
}

static void
test_table_is_bound (Fixture *f, gconstpointer data)
{
  g_autoptr(SkKeyring) stranger = sk_keyring_new_vault ();
  SkId other_vault = forge_vault;
  SkHash name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  g_autoptr(GError) error = NULL;

  other_vault.bytes[3] ^= 4;
  g_assert_null (sk_pack_read_table (object, &other_vault, f->keys, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
  g_clear_error (&error);
  g_assert_null (sk_pack_read_table (object, &forge_vault, stranger, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
}

/* --- hostile tables under the right key --- */

static void
put_row (SkWriter *table, guint8 method, guint64 stored_len, guint64 plain_len)
{
  SkHash id = { { 1 } };

  sk_writer_hash (table, &id);
  sk_writer_u8 (table, method);
  sk_writer_varint (table, stored_len);
  sk_writer_varint (table, plain_len);
}

static void
test_hostile_tables (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *what;
    guint64 count;
    guint n_rows;
    struct
    {
      guint8 method;
      guint64 stored, plain;
    } rows[2];
    guint8 pad;
    gboolean good;
  } cases[] = {
    { "fine", 1, 1, { { 0, 100, 60 } }, 0, TRUE },
    { "fine, padded", 2, 2, { { 0, 50, 10 }, { 1, 50, 4000 } }, 30, TRUE },
    { "no rows", 0, 0, { { 0 } }, 90, FALSE },
    { "more rows than bytes", 2, 1, { { 0, 100, 60 } }, 0, FALSE },
    { "a million rows", 1000000, 1, { { 0, 100, 60 } }, 0, FALSE },
    { "gap before the table", 1, 1, { { 0, 99, 59 } }, 0, FALSE },
    { "beyond the body", 1, 1, { { 0, 101, 61 } }, 0, FALSE },
    { "second beyond the body", 2, 2, { { 0, 60, 20 }, { 0, 60, 20 } }, 0, FALSE },
    { "no seal", 2, 2, { { 1, 40, 60 }, { 0, 60, 20 } }, 0, FALSE },
    { "raw of another length", 1, 1, { { 0, 100, 61 } }, 0, FALSE },
    { "zstd that grew", 1, 1, { { 1, 100, 60 } }, 0, FALSE },
    { "empty chunk", 1, 1, { { 1, 100, 0 } }, 0, FALSE },
    { "bomb", 1, 1, { { 1, 100, SK_CHUNK_SIZE_MAX + 1 } }, 0, FALSE },
    { "largest", 1, 1, { { 1, 100, SK_CHUNK_SIZE_MAX } }, 0, TRUE },
    { "unknown method", 1, 1, { { 2, 100, 60 } }, 0, FALSE },
    { "length of 2^63", 1, 1, { { 0, G_GUINT64_CONSTANT (1) << 63, 60 } }, 0, FALSE },
  };
  guint8 body[100] = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto(SkWriter) table = { 0 };
      g_autoptr(GBytes) object = NULL;
      g_autoptr(GArray) rows = NULL;
      g_autoptr(GError) error = NULL;

      g_test_message ("%s", cases[i].what);
      sk_writer_init (&table);
      sk_writer_varint (&table, cases[i].count);
      for (guint n = 0; n < cases[i].n_rows; n++)
        put_row (&table, cases[i].rows[n].method, cases[i].rows[n].stored, cases[i].rows[n].plain);
      for (guint n = 0; n < cases[i].pad; n++)
        sk_writer_u8 (&table, 0);
      object = forge_pack (f->keys, body, sizeof body, table.bytes->data, table.bytes->len, 0);
      rows = sk_pack_read_table (object, &forge_vault, f->keys, NULL, NULL, &error);
      if (cases[i].good)
        g_assert_no_error (error);
      else
        g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
      g_assert_true ((rows != NULL) == cases[i].good);
    }
}

static void
test_hostile_padding (Fixture *f, gconstpointer data)
{
  static const guint32 said[] = { 1, 40, 41, 5000, G_MAXUINT32 };
  guint8 body[100] = { 0 };
  g_auto(SkWriter) table = { 0 };
  g_autoptr(GBytes) hidden = NULL;
  g_autoptr(GError) error = NULL;

  sk_writer_init (&table);
  sk_writer_varint (&table, 1);
  put_row (&table, 0, 100, 60);
  for (guint i = 0; i < G_N_ELEMENTS (said); i++)
    {
      g_autoptr(GBytes) object
          = forge_pack (f->keys, body, sizeof body, table.bytes->data, table.bytes->len, said[i]);

      g_assert_null (sk_pack_read_table (object, &forge_vault, f->keys, NULL, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
      g_clear_error (&error);
    }
  sk_writer_raw (&table, "\0\0\1", 3); /* bytes hidden in the padding */
  hidden = forge_pack (f->keys, body, sizeof body, table.bytes->data, table.bytes->len, 0);
  g_assert_null (sk_pack_read_table (hidden, &forge_vault, f->keys, NULL, NULL, NULL));
}

/* The seal is right, the key is right, only the id is not that of the content. */
static void
test_wrong_id_under_right_seal (Fixture *f, gconstpointer data)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
  SkHash id = { { 0xee } }, name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GError) error = NULL;

  g_assert_true (
      sk_pack_builder_add (builder, f->z, 3, &id, (const guint8 *) "content", 7, FALSE, NULL));
  object = sk_pack_builder_finish (builder, &name, &rows, NULL);
  g_assert_null (open_row (f, object, &g_array_index (rows, SkPackRow, 0), f->keys, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
}

/* --- situation B126: what storages and disks do to objects --- */

static GBytes *
small_pack (Fixture *f, SkHash *name)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
  g_autoptr(GArray) rows = NULL;

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr(GBytes) plain = content (i, 60 + i);

      g_assert_true (add (f, builder, plain, TRUE, NULL));
    }
  return sk_pack_builder_finish (builder, name, &rows, NULL);
}

static void
test_cut (Fixture *f, gconstpointer data)
{
  SkHash name;
  g_autoptr(GBytes) object = small_pack (f, &name);
  gsize size = g_bytes_get_size (object);

  for (gsize cut = 0; cut < size; cut++)
    {
      g_autoptr(GBytes) prefix = g_bytes_new (g_bytes_get_data (object, NULL), cut);
      g_autoptr(GError) error = NULL;

      g_assert_null (sk_pack_read_table (prefix, &forge_vault, f->keys, NULL, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
    }
  {
    g_autofree guint8 *longer = g_malloc0 (size + 1);
    g_autoptr(GBytes) appended = NULL;

    memcpy (longer, g_bytes_get_data (object, NULL), size);
    appended = g_bytes_new (longer, size + 1);
    g_assert_null (sk_pack_read_table (appended, &forge_vault, f->keys, NULL, NULL, NULL));
  }
}

static void
test_flipped (Fixture *f, gconstpointer data)
{
  SkHash name;
  g_autoptr(GBytes) object = small_pack (f, &name);
  gsize size = g_bytes_get_size (object);
  g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), size);

  for (gsize bit = 0; bit < 8 * size; bit++)
    {
      g_autoptr(GBytes) flipped = NULL;

      copy[bit / 8] ^= (guint8) (1 << bit % 8);
      flipped = g_bytes_new_static (copy, size);
      g_assert_null (sk_pack_read_table (flipped, &forge_vault, f->keys, NULL, NULL, NULL));
      copy[bit / 8] ^= (guint8) (1 << bit % 8);
    }
}

static void
test_another_pack (Fixture *f, gconstpointer data)
{
  SkHash name, other_name;
  g_autoptr(GBytes) object = small_pack (f, &name);
  g_autoptr(GBytes) other = small_pack (f, &other_name);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GError) error = NULL;

  g_assert_false (sk_hash_equal (&name, &other_name));
  g_assert_null (sk_pack_read_table (other, &forge_vault, f->keys, &name, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  rows = sk_pack_read_table (other, &forge_vault, f->keys, &other_name, NULL, NULL);
  g_assert_nonnull (rows);
}

static void
test_damaged_chunk (Fixture *f, gconstpointer data)
{
  SkHash name;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = make_pack (f, f->keys, &name, &rows);
  SkId epoch = *sk_keyring_current (f->keys);

  for (guint i = 0; i < 3; i++)
    {
      const SkPackRow *row = &g_array_index (rows, SkPackRow, i);
      const guint8 *sealed = (const guint8 *) g_bytes_get_data (object, NULL) + row->offset;

      for (gsize bit = 0; bit < 8 * MIN (row->stored_len, 200); bit++)
        {
          g_autofree guint8 *flipped = g_memdup2 (sealed, row->stored_len);

          flipped[bit / 8] ^= (guint8) (1 << bit % 8);
          assert_does_not_open (f, row, flipped, &forge_vault, &epoch, f->keys);
        }
      for (gsize cut = 0; cut < row->stored_len; cut += 1 + cut / 20)
        g_assert_null (
            sk_pack_open_chunk (row, sealed, cut, &forge_vault, &epoch, f->keys, f->z, NULL));
    }
}

static void
test_too_new (Fixture *f, gconstpointer data)
{
  SkHash name;
  g_autoptr(GBytes) object = small_pack (f, &name);
  g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), g_bytes_get_size (object));
  g_autoptr(GBytes) newer = g_bytes_new_static (copy, g_bytes_get_size (object));
  g_autoptr(GError) error = NULL;

  copy[4] = 2;
  g_assert_null (sk_pack_read_table (newer, &forge_vault, f->keys, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_TOO_NEW);
}

/* --- RULES C18, situation B127: memory that lies --- */

#if SK_TEST_HOOKS
static void
flip_a_bit (guint8 *plain, gsize len)
{
  plain[len / 3] ^= 4;
}

static void
test_bad_memory (Fixture *f, gconstpointer data)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = NULL;
  SkHash name;

  for (guint i = 0; i < N_CHUNKS; i++)
    {
      g_autoptr(GBytes) plain = content (i, lengths[i]);
      gsize size = sk_pack_builder_size (builder);
      g_autoptr(GError) error = NULL;

      sk_pack_test_corrupt = flip_a_bit;
      g_assert_false (add (f, builder, plain, TRUE, &error));
      sk_pack_test_corrupt = NULL;
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
      g_clear_error (&error);
      g_assert_cmpuint (sk_pack_builder_size (builder), ==, size);

      g_assert_true (
          add (f, builder, plain, TRUE, &error)); /* the next attempt is fine, and the pack too */
      g_assert_no_error (error);
    }
  object = sk_pack_builder_finish (builder, &name, &rows, NULL);
  for (guint i = 0; i < N_CHUNKS; i++)
    {
      g_autoptr(GBytes) plain
          = open_row (f, object, &g_array_index (rows, SkPackRow, i), f->keys, NULL);

      g_assert_nonnull (plain);
    }
}

/* Shows that the test above has teeth: without the check the damage gets into the pack. */
static void
test_bad_memory_unchecked (Fixture *f, gconstpointer data)
{
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
  g_autoptr(GBytes) plain = content (2, 5000);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GBytes) object = NULL;
  SkHash name;

  sk_pack_test_corrupt = flip_a_bit;
  g_assert_true (add (f, builder, plain, FALSE, NULL));
  sk_pack_test_corrupt = NULL;
  object = sk_pack_builder_finish (builder, &name, &rows, NULL);
  g_assert_null (open_row (f, object, &g_array_index (rows, SkPackRow, 0), f->keys, NULL));
}
#endif

/* --- RULES B8 --- */

static void
test_padded (Fixture *f, gconstpointer data)
{
  for (gsize len = 1; len < 3000000; len += 1 + len / 3)
    {
      g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
      g_autoptr(GBytes) plain = content (1, len);
      g_autoptr(GArray) rows = NULL;
      g_autoptr(GArray) read = NULL;
      g_autoptr(GBytes) object = NULL;
      SkHash name;
      gsize size, bare;

      g_assert_true (add (f, builder, plain, FALSE, NULL));
      bare = sk_pack_builder_size (builder);
      object = sk_pack_builder_finish (builder, &name, &rows, NULL);
      size = g_bytes_get_size (object);
      g_assert_cmpuint (size, ==, sk_padme (size));
      g_assert_cmpuint (size, <=, bare + bare * 12 / 100);
      read = sk_pack_read_table (object, &forge_vault, f->keys, &name, NULL, NULL);
      g_assert_nonnull (read);
    }
}

/* Two files of different length, one padded size: no byte outside the seals tells them apart. */
static void
test_length_is_not_in_clear (Fixture *f, gconstpointer data)
{
  static const gsize file_lengths[] = { 100801, 101900 };
  GBytes *objects[2];
  const guint8 *a, *b;
  gsize size;

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&forge_vault, f->keys, NULL, NULL);
      g_autoptr(GBytes) plain = content (1, file_lengths[i]);
      g_autoptr(GArray) rows = NULL;
      SkHash name;

      g_assert_true (add (f, builder, plain, FALSE, NULL));
      objects[i] = sk_pack_builder_finish (builder, &name, &rows, NULL);
    }
  size = g_bytes_get_size (objects[0]);
  g_assert_cmpuint (size, ==, g_bytes_get_size (objects[1]));
  a = g_bytes_get_data (objects[0], NULL);
  b = g_bytes_get_data (objects[1], NULL);
  g_assert_cmpmem (a, 40, b, 40);                              /* header */
  g_assert_cmpmem (a + size - 4, 4, b + size - 4, 4);          /* magic; all between is sealed */
  g_assert_false (memcmp (a + size - 48, b + size - 48, 44) == 0);
  g_bytes_unref (objects[0]);
  g_bytes_unref (objects[1]);
}

/* --- fixture --- */

/* An object that an earlier build of version 1 wrote. */
static void
test_version_1 (Fixture *f, gconstpointer data)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "fixtures", "pack-v1.bin", NULL);
  g_autofree char *bytes = NULL;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GError) error = NULL;
  gsize len;

  g_file_get_contents (path, &bytes, &len, &error);
  g_assert_no_error (error);
  object = g_bytes_new_take (g_steal_pointer (&bytes), len);
  rows = sk_pack_read_table (object, &forge_vault, f->keys, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rows->len, ==, 3);
  for (guint i = 0; i < rows->len; i++)
    {
      g_autoptr(GBytes) plain
          = open_row (f, object, &g_array_index (rows, SkPackRow, i), f->keys, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (g_bytes_get_size (plain), ==, 60 + i);
    }
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    void (*test) (Fixture *f, gconstpointer data);
  } tests[]
      = { { "/pack/round-trip", test_round_trip },
          { "/pack/limits", test_limits },
          { "/pack/row-validity", test_row_validity },
          { "/pack/many-rows", test_many_rows },
          { "/pack/rule-b6/chunk-is-bound", test_chunk_is_bound },
          { "/pack/rule-b6/exact-bytes", test_exact_bytes },
          { "/pack/rule-b6/epoch-id-is-bound", test_epoch_id_is_bound },
          { "/pack/rule-b6/swapped-chunks", test_swapped_chunks },
          { "/pack/rule-b6/table-is-bound", test_table_is_bound },
          { "/pack/rule-b6/hostile-tables", test_hostile_tables },
          { "/pack/rule-b6/hostile-padding", test_hostile_padding },
          { "/pack/wrong-id-under-right-seal", test_wrong_id_under_right_seal },
          { "/pack/sit-B126/cut", test_cut },
          { "/pack/sit-B126/flipped", test_flipped },
          { "/pack/sit-B126/another-pack", test_another_pack },
          { "/pack/sit-B126/damaged-chunk", test_damaged_chunk },
          { "/pack/too-new", test_too_new },
#if SK_TEST_HOOKS
          { "/pack/rule-c18/sit-B127/bad-memory", test_bad_memory },
          { "/pack/rule-c18/sit-B127/unchecked", test_bad_memory_unchecked },
#endif
          { "/pack/rule-b8/padded", test_padded },
          { "/pack/rule-b8/length-is-not-in-clear", test_length_is_not_in_clear },
          { "/pack/version-1", test_version_1 },
        };

  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, Fixture, NULL, setup, tests[i].test, teardown);
  return g_test_run ();
}
