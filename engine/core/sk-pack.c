/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes and reasons: FORMAT.md, "Chunk and pack". */
#include "sk-pack.h"

#include "sk-limits.h"

#include <sodium.h>
#include <string.h>

#define PACK_VERSION 1u
#define HEADER_SIZE 40u
#define LENGTH_SIZE (4u + SK_SEAL_OVERHEAD)      /* the sealed length of the table */
#define TRAILER_SIZE (LENGTH_SIZE + 4u)
#define ROW_SIZE_MIN (32u + 1u + 1u + 1u)
#define ROW_SIZE_MAX (32u + 1u + 5u + 5u)
#define AD_SIZE_MAX 80u

static const guint8 head_magic[4] = { 'S', 'K', 'P', 'K' };
static const guint8 tail_magic[4] = { 'S', 'K', 'P', 'E' };

/* First byte of the associated data. */
enum { KIND_CHUNK = 1, KIND_TABLE = 2, KIND_LENGTH = 3 };

#if SK_TEST_HOOKS
void (*sk_pack_test_corrupt) (guint8 *plain, gsize len) = NULL;
#endif

/* --- associated data --- */

typedef struct { guint8 bytes[AD_SIZE_MAX]; gsize len; } Ad;

static void
ad_raw (Ad *ad, gconstpointer data, gsize len)
{
  g_assert (len <= sizeof ad->bytes - ad->len);
  memcpy (ad->bytes + ad->len, data, len);
  ad->len += len;
}

static void
ad_begin (Ad *ad, guint8 kind, const SkId *vault, const SkId *epoch)
{
  const guint8 start[2] = { kind, PACK_VERSION };

  ad->len = 0;
  ad_raw (ad, start, sizeof start);
  ad_raw (ad, vault, sizeof *vault);
  ad_raw (ad, epoch, sizeof *epoch);
}

static void
ad_chunk (Ad *ad, const SkId *vault, const SkId *epoch, const SkPackRow *row)
{
  guint8 method = (guint8) row->method;
  guint32 plain_len = GUINT32_TO_LE (row->plain_len);

  ad_begin (ad, KIND_CHUNK, vault, epoch);
  ad_raw (ad, &row->id, sizeof row->id);
  ad_raw (ad, &method, sizeof method);
  ad_raw (ad, &plain_len, sizeof plain_len);
}

static void
ad_table (Ad *ad, const SkId *vault, const SkId *epoch, const SkHash *before)
{
  ad_begin (ad, KIND_TABLE, vault, epoch);
  ad_raw (ad, before, sizeof *before);
}

static void
ad_length (Ad *ad, const SkId *vault, const SkId *epoch, guint64 object_size)
{
  object_size = GUINT64_TO_LE (object_size);
  ad_begin (ad, KIND_LENGTH, vault, epoch);
  ad_raw (ad, &object_size, sizeof object_size);
}

/* --- one chunk --- */

gboolean
sk_pack_row_is_valid (const SkPackRow *row)
{
  guint32 body;

  if (row->plain_len == 0 || row->plain_len > SK_CHUNK_SIZE_MAX
      || row->stored_len <= SK_SEAL_OVERHEAD)
    return FALSE;
  body = row->stored_len - SK_SEAL_OVERHEAD;
  return (row->method == SK_METHOD_RAW && body == row->plain_len)
         || (row->method == SK_METHOD_ZSTD && body < row->plain_len);
}

/* Opens into @plain (row->plain_len bytes) and compares the id. @row is valid and @sealed has
 * row->stored_len bytes. */
static gboolean
open_chunk (const SkKey *chunk_key, const SkKey *id_key, const SkId *vault, const SkId *epoch,
            const SkPackRow *row, const guint8 *sealed, SkCompressor *z, guint8 *plain,
            GError **error)
{
  gboolean raw = row->method == SK_METHOD_RAW;
  gsize body_len = row->stored_len - SK_SEAL_OVERHEAD;
  guint8 *body = raw ? plain : sk_compressor_scratch (z, 0, body_len);
  SkHash id;
  Ad ad;

  ad_chunk (&ad, vault, epoch, row);
  if (!sk_open (chunk_key, ad.bytes, ad.len, sealed, row->stored_len, body, error))
    return FALSE;
  if (!raw && !sk_decompress (z, row->method, body, body_len, plain, row->plain_len, error))
    return FALSE;
  sk_chunk_id (id_key, plain, row->plain_len, &id);
  if (!sk_hash_equal (&id, &row->id))
    return sk_fail (error, SK_ERROR_CORRUPT, "A chunk holds other content than its id says");
  return TRUE;
}

gboolean
sk_pack_open_chunk_into (const SkPackRow *row, const guint8 *sealed, gsize len, const SkId *vault,
                         const SkId *epoch, SkKeyring *keys, SkCompressor *z, guint8 *plain,
                         GError **error)
{
  g_auto(SkKey) chunk_key = { 0 };
  g_auto(SkKey) id_key = { 0 };

  if (!sk_pack_row_is_valid (row) || len != row->stored_len)
    return sk_fail (error, SK_ERROR_CORRUPT, "A chunk has the wrong length");
  if (!sk_keyring_get (keys, epoch, SK_USE_CHUNK, &chunk_key, error))
    return FALSE;
  sk_keyring_id_key (keys, &id_key);
  return open_chunk (&chunk_key, &id_key, vault, epoch, row, sealed, z, plain, error);
}

GBytes *
sk_pack_open_chunk (const SkPackRow *row, const guint8 *sealed, gsize len, const SkId *vault,
                    const SkId *epoch, SkKeyring *keys, SkCompressor *z, GError **error)
{
  g_autofree guint8 *plain = sk_pack_row_is_valid (row) ? g_malloc (row->plain_len) : NULL;

  if (!sk_pack_open_chunk_into (row, sealed, len, vault, epoch, keys, z, plain, error))
    return NULL;
  return g_bytes_new_take (g_steal_pointer (&plain), row->plain_len);
}

/* --- building --- */

struct _SkPackBuilder
{
  SkId vault;
  SkId epoch;
  SkKey chunk_key;
  SkKey id_key;
  GBytes *room;            /* where the object is built */
  guint8 *object;          /* in @room: header and sealed chunks so far */
  gsize len, size;         /* of @object, of @room */
  SkSha256 *hash;          /* of the same bytes */
  GArray *rows;            /* SkPackRow */
  SkWriter table;          /* the rows as they will be sealed, without the count */
};

static void
take_room (SkPackBuilder *self, GBytes *room)
{
  g_clear_pointer (&self->room, g_bytes_unref);
  self->room = room;
  self->object = (guint8 *) g_bytes_get_data (room, &self->size);
}

/* Where the next @len bytes of the object go. */
static guint8 *
extend (SkPackBuilder *self, gsize len)
{
  if (len > self->size - self->len)
    {
      gsize larger = MAX (2 * self->size, self->len + len);
      guint8 *moved = g_malloc (larger);

      if (self->len > 0)
        memcpy (moved, self->object, self->len);
      take_room (self, g_bytes_new_take (moved, larger));
    }
  self->len += len;
  return self->object + self->len - len;
}

static void
append (SkPackBuilder *self, gconstpointer data, gsize len)
{
  memcpy (extend (self, len), data, len);
}

SkPackBuilder *
sk_pack_builder_new (const SkId *vault, SkKeyring *keys, GBytes *room, GError **error)
{
  g_autoptr(SkPackBuilder) self = g_new0 (SkPackBuilder, 1);
  guint32 version = GUINT32_TO_LE (PACK_VERSION);

  self->vault = *vault;
  self->epoch = *sk_keyring_current (keys);
  if (room != NULL)
    take_room (self, room);
  self->hash = sk_sha256_new ();
  self->rows = g_array_new (FALSE, FALSE, sizeof (SkPackRow));
  sk_writer_init (&self->table);
  if (!sk_keyring_get (keys, &self->epoch, SK_USE_CHUNK, &self->chunk_key, error))
    return NULL;
  sk_keyring_id_key (keys, &self->id_key);

  append (self, head_magic, sizeof head_magic);
  append (self, &version, sizeof version);
  append (self, self->vault.bytes, sizeof self->vault.bytes);
  append (self, self->epoch.bytes, sizeof self->epoch.bytes);
  g_assert (self->len == HEADER_SIZE);
  sk_sha256_update (self->hash, self->object, self->len);
  return g_steal_pointer (&self);
}

void
sk_pack_builder_free (SkPackBuilder *self)
{
  if (self == NULL)
    return;
  sk_key_clear (&self->chunk_key);
  sk_key_clear (&self->id_key);
  g_clear_pointer (&self->room, g_bytes_unref);
  g_clear_pointer (&self->hash, sk_sha256_free);
  g_clear_pointer (&self->rows, g_array_unref);
  sk_writer_clear (&self->table);
  g_free (self);
}

gsize
sk_pack_builder_size (SkPackBuilder *self)
{
  return self->len + SK_SEAL_OVERHEAD + 3 + self->table.bytes->len + TRAILER_SIZE;
}

/* Whether a chunk of @stored_len sealed bytes still fits, padding included. */
static gboolean
check_room (SkPackBuilder *self, gsize stored_len, GError **error)
{
  if (self->rows->len >= SK_PACK_CHUNKS_MAX
      || sk_padme (sk_pack_builder_size (self) + stored_len + ROW_SIZE_MAX) > SK_PACK_SIZE_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "The pack is full");
  return TRUE;
}

/* Makes the last row->stored_len bytes of the object a chunk. */
static void
take_row (SkPackBuilder *self, const SkPackRow *row)
{
  sk_sha256_update (self->hash, self->object + row->offset, row->stored_len);
  g_array_append_val (self->rows, *row);
  sk_writer_hash (&self->table, &row->id);
  sk_writer_u8 (&self->table, (guint8) row->method);
  sk_writer_varint (&self->table, row->stored_len);
  sk_writer_varint (&self->table, row->plain_len);
}

#if SK_TEST_HOOKS
static const guint8 *
corrupted (const guint8 *plain, gsize len, guint8 **owned)
{
  if (sk_pack_test_corrupt == NULL)
    return plain;
  *owned = g_memdup2 (plain, len);
  sk_pack_test_corrupt (*owned, len);
  return *owned;
}
#endif

gboolean
sk_pack_builder_add (SkPackBuilder *self, SkCompressor *z, int level, const SkHash *id,
                     const guint8 *plain, gsize len, gboolean verify, GError **error)
{
  g_autofree guint8 *altered = NULL;
  SkPackRow row = { .id = *id, .offset = self->len };
  const guint8 *body;
  guint8 *packed;
  gsize bound, body_len;
  Ad ad;

  if (len == 0 || len > SK_CHUNK_SIZE_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A chunk of %" G_GSIZE_FORMAT " bytes cannot be stored",
                    len);
  if (!check_room (self, len + SK_SEAL_OVERHEAD, error))
    return FALSE;
#if SK_TEST_HOOKS
  plain = corrupted (plain, len, &altered);
#endif

  bound = sk_compress_bound (len);
  packed = sk_compressor_scratch (z, 0, bound);
  row.method = sk_compress (z, level, plain, len, packed, bound, &body_len);
  body = row.method == SK_METHOD_RAW ? plain : packed;
  row.plain_len = (guint32) len;
  row.stored_len = (guint32) (body_len + SK_SEAL_OVERHEAD);

  ad_chunk (&ad, &self->vault, &self->epoch, &row);
  sk_seal (&self->chunk_key, ad.bytes, ad.len, body, body_len, extend (self, row.stored_len));
  if (verify
      && !open_chunk (&self->chunk_key, &self->id_key, &self->vault, &self->epoch, &row,
                      self->object + row.offset, z, sk_compressor_scratch (z, 1, len), error))
    {
      self->len = row.offset;
      g_prefix_error_literal (
          error, "Sealed content read back wrong; the memory of this machine may be faulty: ");
      return FALSE;
    }
  take_row (self, &row);
  return TRUE;
}

/* The table with its count and padding, so long that the whole object has its Padmé size. */
static GByteArray *
padded_table (SkPackBuilder *self)
{
  g_auto(SkWriter) plain = { 0 };
  gsize around = self->len + SK_SEAL_OVERHEAD + TRAILER_SIZE;
  gsize filled;

  sk_writer_init (&plain);
  sk_writer_varint (&plain, self->rows->len);
  sk_writer_raw (&plain, self->table.bytes->data, self->table.bytes->len);
  filled = plain.bytes->len;
  g_byte_array_set_size (plain.bytes, (guint) (sk_padme (around + filled) - around));
  memset (plain.bytes->data + filled, 0, plain.bytes->len - filled);
  return g_steal_pointer (&plain.bytes);
}

GBytes *
sk_pack_builder_finish (SkPackBuilder *self, SkHash *name, GArray **rows, GError **error)
{
  g_autoptr(GByteArray) table = NULL;
  gsize body_end = self->len;
  guint8 *tail;
  guint32 table_len;
  SkHash before;
  Ad ad;

  if (self->rows->len == 0)
    return sk_fail (error, SK_ERROR_USAGE, "A pack must hold at least one chunk"), NULL;
  table = padded_table (self);
  table_len = GUINT32_TO_LE (table->len + SK_SEAL_OVERHEAD);
  tail = extend (self, table->len + SK_SEAL_OVERHEAD + TRAILER_SIZE);
  g_assert (self->len <= SK_PACK_SIZE_MAX);

  if (!sk_sha256_peek (self->hash, &before))
    sk_sha256 (self->object, body_end, &before);
  ad_table (&ad, &self->vault, &self->epoch, &before);
  sk_seal (&self->chunk_key, ad.bytes, ad.len, table->data, table->len, tail);
  ad_length (&ad, &self->vault, &self->epoch, self->len);
  sk_seal (&self->chunk_key, ad.bytes, ad.len, (const guint8 *) &table_len, sizeof table_len, self->object + self->len - TRAILER_SIZE);
  memcpy (self->object + self->len - sizeof tail_magic, tail_magic, sizeof tail_magic);

  sk_sha256_update (self->hash, tail, self->len - body_end);
  sk_sha256_finish (g_steal_pointer (&self->hash), name);
  *rows = g_steal_pointer (&self->rows);
  return g_bytes_new_from_bytes (self->room, 0, self->len);
}

/* --- reading --- */

/* Checks header and trailer magic, version and vault; *@epoch is set. */
static gboolean
read_header (const guint8 *data, gsize size, const SkId *vault, SkId *epoch, GError **error)
{
  SkReader reader;
  SkId owner;
  const guint8 *magic;
  guint32 version;

  if (size > SK_PACK_SIZE_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A pack is larger than any pack may be");
  sk_reader_init (&reader, data, size);
  magic = sk_reader_take (&reader, sizeof head_magic);
  version = sk_reader_u32 (&reader);
  sk_reader_id (&reader, &owner);
  sk_reader_id (&reader, epoch);
  if (reader.failed || sodium_memcmp (magic, head_magic, sizeof head_magic) != 0 || version == 0)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A pack is damaged: its beginning is not that of a pack");
  if (version > PACK_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "A pack was written by a newer version of this program");
  if (!sk_id_equal (&owner, vault))
    return sk_fail (error, SK_ERROR_UNTRUSTED, "A pack belongs to another vault");
  if (sk_reader_left (&reader) < SK_SEAL_OVERHEAD + ROW_SIZE_MIN + TRAILER_SIZE
      || sodium_memcmp (data + size - sizeof tail_magic, tail_magic, sizeof tail_magic) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack is damaged: its end is missing");
  return TRUE;
}

/* Where the sealed table begins; 0 on error. */
static gsize
read_table_start (const SkKey *key, const SkId *vault, const SkId *epoch, const guint8 *data,
                  gsize size, GError **error)
{
  guint32 table_len;
  Ad ad;

  ad_length (&ad, vault, epoch, size);
  if (!sk_open (key, ad.bytes, ad.len, data + size - TRAILER_SIZE, LENGTH_SIZE,
                (guint8 *) &table_len, error))
    {
      g_prefix_error_literal (error, "A pack is damaged or cut: ");
      return 0;
    }
  table_len = GUINT32_FROM_LE (table_len);
  if (table_len <= SK_SEAL_OVERHEAD || table_len > size - TRAILER_SIZE - HEADER_SIZE)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A pack is damaged: the length of its table is impossible"),
           0;
  return size - TRAILER_SIZE - table_len;
}

/* Rows of a table behind a body that ends at @body_end; NULL with SK_ERROR_CORRUPT. */
static GArray *
parse_table (const guint8 *data, gsize len, gsize body_end, GError **error)
{
  g_autoptr(GArray) rows = NULL;
  guint64 offset = HEADER_SIZE;
  SkReader reader;
  guint n;
  gsize left;

  sk_reader_init (&reader, data, len);
  n = (guint) sk_reader_varint (&reader, SK_PACK_CHUNKS_MAX);
  if (reader.failed || n == 0 || n > sk_reader_left (&reader) / ROW_SIZE_MIN)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A pack has a table with an impossible number of rows"),
           NULL;

  rows = g_array_sized_new (FALSE, FALSE, sizeof (SkPackRow), n);
  for (guint i = 0; i < n; i++)
    {
      SkPackRow row = { .offset = offset };

      sk_reader_hash (&reader, &row.id);
      row.method = (SkMethod) sk_reader_u8 (&reader);
      row.stored_len = (guint32) sk_reader_varint (&reader, SK_CHUNK_SIZE_MAX + SK_SEAL_OVERHEAD);
      row.plain_len = (guint32) sk_reader_varint (&reader, SK_CHUNK_SIZE_MAX);
      if (reader.failed || !sk_pack_row_is_valid (&row) || row.stored_len > body_end - offset)
        return sk_fail (error, SK_ERROR_CORRUPT, "A pack has a table with an impossible row"), NULL;
      offset += row.stored_len;
      g_array_append_val (rows, row);
    }

  left = sk_reader_left (&reader);
  if (offset != body_end || !sodium_is_zero (data + len - left, left))
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack has a table that does not fit its chunks"),
           NULL;
  return g_steal_pointer (&rows);
}

/* Hashes the object once: *@before covers what stands before the table, *@whole everything. */
static void
hash_object (const guint8 *data, gsize size, gsize body_end, SkHash *before, SkHash *whole)
{
  SkSha256 *hash = sk_sha256_new ();

  sk_sha256_update (hash, data, body_end);
  if (!sk_sha256_peek (hash, before))
    sk_sha256 (data, body_end, before);
  sk_sha256_update (hash, data + body_end, size - body_end);
  sk_sha256_finish (hash, whole);
}

GArray *
sk_pack_read_table (GBytes *object, const SkId *vault, SkKeyring *keys, const SkHash *name,
                    SkId *epoch, GError **error)
{
  g_auto(SkKey) key = { 0 };
  g_autofree guint8 *table = NULL;
  gsize size, body_end, table_len;
  const guint8 *data = g_bytes_get_data (object, &size);
  SkHash before, whole;
  SkId pack_epoch;
  Ad ad;

  if (!read_header (data, size, vault, &pack_epoch, error)
      || !sk_keyring_get (keys, &pack_epoch, SK_USE_CHUNK, &key, error))
    return NULL;
  body_end = read_table_start (&key, vault, &pack_epoch, data, size, error);
  if (body_end == 0)
    return NULL;
  hash_object (data, size, body_end, &before, &whole);
  if (name != NULL && !sk_hash_equal (name, &whole))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A pack is damaged: its content does not fit its name"),
           NULL;

  table_len = size - TRAILER_SIZE - body_end;
  table = g_malloc (table_len);
  ad_table (&ad, vault, &pack_epoch, &before);
  if (!sk_open (&key, ad.bytes, ad.len, data + body_end, table_len, table, error))
    {
      g_prefix_error_literal (error, "A pack is damaged: ");
      return NULL;
    }
  if (epoch != NULL)
    *epoch = pack_epoch;
  return parse_table (table, table_len - SK_SEAL_OVERHEAD, body_end, error);
}

char *
sk_pack_object_name (const SkHash *name)
{
  char hex[SK_HASH_HEX_SIZE];

  sk_hash_format (name, hex);
  return g_strdup_printf ("packs/%.2s/%s", hex, hex);
}
