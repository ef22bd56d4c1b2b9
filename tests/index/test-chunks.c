/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-index-private.h"

#include "index-support.h"

/* --- chunk lists --- */

static void
test_list_codec (void)
{
  const gint64 rows[] = { 1, 2, 3, 1000000, 999999, 1, (G_GINT64_CONSTANT (1) << 60), 5 };
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GArray) items = NULL;
  gint64 previous = 0;

  sk_writer_init (&writer);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      sk_chunk_list_add_chunk (&writer, rows[i], &previous);
      sk_chunk_list_add_zeros (&writer, (guint64) (i + 1) * SK_ZERO_BLOCK);
    }
  items = sk_chunk_list_decode (writer.bytes->data, writer.bytes->len);
  g_assert_nonnull (items);
  g_assert_cmpuint (items->len, ==, 2 * G_N_ELEMENTS (rows));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_cmpint (g_array_index (items, SkChunkListItem, 2 * i).chunk, ==, rows[i]);
      g_assert_cmpint (g_array_index (items, SkChunkListItem, 2 * i + 1).chunk, ==, 0);
      g_assert_cmpuint (g_array_index (items, SkChunkListItem, 2 * i + 1).zero_size, ==, (guint64) (i + 1) * SK_ZERO_BLOCK);
    }
}

/* Whatever the bytes are: refused, or a list of sensible elements. */
static void
test_list_bit_flips (void)
{
  g_auto(SkWriter) writer = { 0 };
  gint64 previous = 0;

  sk_writer_init (&writer);
  for (gint64 row = 1; row < 100000; row = row * 3 + 1)
    sk_chunk_list_add_chunk (&writer, row, &previous);
  sk_chunk_list_add_zeros (&writer, 5 * SK_ZERO_BLOCK);
  for (guint bit = 0; bit < writer.bytes->len * 8; bit++)
    {
      g_autoptr(GArray) items = NULL;

      writer.bytes->data[bit / 8] ^= (guint8) (1u << bit % 8);
      items = sk_chunk_list_decode (writer.bytes->data, writer.bytes->len);
      writer.bytes->data[bit / 8] ^= (guint8) (1u << bit % 8);
      for (guint i = 0; items != NULL && i < items->len; i++)
        {
          const SkChunkListItem *item = &g_array_index (items, SkChunkListItem, i);

          g_assert_true ((item->chunk > 0) != (item->zero_size > 0));
          g_assert_cmpuint (item->zero_size, <=, SK_FILE_SIZE_MAX);
        }
    }
}

static void
test_content_chunks (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkEntry) first = NULL, entry = NULL;
  g_autoptr(GArray) chunks = NULL;
  gint64 content;

  fixture_open (&f);
  first = make_entry (&f, "old", SK_KIND_FILE, 1, 3, 4);
  entry = make_entry (&f, "x", SK_KIND_FILE, 1, 0, 10);     /* 3 to 6 are known with other sizes: those are other chunks */
  g_array_insert_val (entry->chunks, 4, ((SkChunkRef) { .size = 7 * SK_ZERO_BLOCK }));
  g_array_append_val (entry->chunks, g_array_index (entry->chunks, SkChunkRef, 2));      /* one twice */
  entry->size += 7 * SK_ZERO_BLOCK + 1002;
  sk_entry_seal_content (entry);
  begin (f.index);
  add_version (&f, ensure_node (&f, "old"), first);
  add_version (&f, ensure_node (&f, "x"), entry);
  commit (f.index);
  fixture_reopen (&f);
  content = sk_index_content_row (f.index, &entry->content);
  g_assert_cmpint (content, >, 0);
  chunks = sk_index_content_chunks (f.index, content, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (chunks->len, ==, entry->chunks->len);
  for (guint i = 0; i < chunks->len; i++)
    {
      const SkChunkRef *a = &g_array_index (chunks, SkChunkRef, i), *b = &g_array_index (entry->chunks, SkChunkRef, i);

      g_assert_true (sk_hash_equal (&a->id, &b->id));
      g_assert_cmpuint (a->size, ==, b->size);
    }
  g_clear_pointer (&chunks, g_array_unref);
  chunks = sk_index_content_chunks (f.index, 4711, &error);
  g_assert_error (error, SK_ERROR, SK_ERROR_NOT_FOUND);
  assert_sound (f.index);
  fixture_close (&f);
}

/* --- where a chunk lies on this disk --- */

static void
assert_local (Fixture *f, guint64 chunk, gint64 node, guint64 offset)
{
  g_autoptr(GError) error = NULL;
  SkHash id = make_hash (chunk);
  gint64 content = 0, found;
  guint64 at = 0;

  found = sk_index_chunk_local (f->index, &id, &content, &at, &error);
  g_assert_no_error (error);
  g_assert_cmpint (found, ==, node);
  if (node != 0)
    g_assert_cmpuint (at, ==, offset);
}

static void
test_chunk_local (void)
{
  Fixture f = { 0 };
  g_autoptr(SkEntry) newer = NULL;
  gint64 node;

  fixture_open (&f);
  begin (f.index);
  node = put_file (&f, "x", 1, 100, 4);     /* 1000, 1001, 1002, 1003 bytes */
  commit (f.index);
  assert_local (&f, 100, node, 0);
  assert_local (&f, 103, node, 3003);
  assert_local (&f, 99, 0, 0);

  /* A newer version that shares three chunks becomes known: the old file still has them. */
  newer = make_entry (&f, "x", SK_KIND_FILE, 2, 100, 3);
  begin (f.index);
  add_version (&f, node, newer);
  commit (f.index);
  assert_local (&f, 101, node, 1000);

  /* It arrives on the disk: the same chunks are found in it, and the last one is gone. */
  begin (f.index);
  set_base (&f, node, &(SkBase) { .kind = SK_KIND_FILE, .content = sk_index_content_row (f.index, &newer->content), .size = newer->size });
  commit (f.index);
  assert_local (&f, 101, node, 1000);
  assert_local (&f, 103, 0, 0);

  begin (f.index);
  set_base (&f, node, &(SkBase) { .kind = SK_KIND_NONE });
  commit (f.index);
  assert_local (&f, 101, 0, 0);
  fixture_close (&f);
}

/* Asking for each chunk of a large file must not walk its list each time. */
static void
test_chunk_local_is_not_quadratic (void)
{
  enum { N = 20000 };
  Fixture f = { 0 };
  gint64 node, started;

  fixture_open (&f);
  begin (f.index);
  node = put_file (&f, "x", 1, 0, N);
  commit (f.index);
  started = g_get_monotonic_time ();
  for (guint i = 0; i < N; i++)
    assert_local (&f, i, node, (guint64) i * 1000 + (guint64) i * (i - 1) / 2 * (i > 0));
  g_test_message ("%d questions in %.3f s", N, (double) (g_get_monotonic_time () - started) / 1e6);
  g_assert_cmpint (g_get_monotonic_time () - started, <, 5 * G_USEC_PER_SEC);
  fixture_close (&f);
}

/* --- packs --- */

static SkPackPut *
make_pack (const SkId *storage, guint64 name, guint64 first_chunk, guint n)
{
  SkPackPut *pack = g_new0 (SkPackPut, 1);
  guint64 offset = 40;

  pack->storage = *storage;
  pack->name = make_hash (name);
  pack->epoch = make_id (600);
  pack->rows = g_array_new (FALSE, FALSE, sizeof (SkPackRow));
  for (guint i = 0; i < n; i++)
    {
      SkPackRow row = { make_hash (first_chunk + i), offset, 500 + i, 1000 + i, 1 };

      g_array_append_val (pack->rows, row);
      offset += row.stored_len;
    }
  pack->size = offset;
  return pack;
}

static void
add_pack (Fixture *f, const SkId *storage, guint64 name, guint64 first_chunk, guint n)
{
  g_autoptr(GError) error = NULL;
  SkPackPut *pack = make_pack (storage, name, first_chunk, n);

  g_assert_true (sk_index_pack_add (f->index, pack, &error));
  g_assert_no_error (error);
  sk_pack_put_free (pack);
}

static gboolean
held_in (Fixture *f, guint64 chunk, const gint64 *storages, guint n)
{
  g_autoptr(GError) error = NULL;
  SkHash id = make_hash (chunk);
  gboolean held = 42;

  g_assert_true (sk_index_chunks_held (f->index, &id, 1, storages, n, &held, &error));
  g_assert_no_error (error);
  return held;
}

static void
set_pack_state (Fixture *f, gint64 storage, guint64 name, SkPackState state)
{
  g_autoptr(GError) error = NULL;
  SkHash hash = make_hash (name);
  SkId by = make_id (9);

  g_assert_true (sk_index_pack_set_state (f->index, storage, &hash, state, &by, 1234, &error));
  g_assert_no_error (error);
}

/* Known in one storage is not known in another. */
static void
test_held_per_storage (void)
{
  Fixture f = { 0 };
  SkId first = make_id (501), second = make_id (502);
  gint64 rows[2];

  fixture_open (&f);
  begin (f.index);
  rows[0] = define_storage (f.index, &first, "bucket");
  rows[1] = define_storage (f.index, &second, "disk");
  add_pack (&f, &first, 1, 100, 3);
  commit (f.index);
  g_assert_true (held_in (&f, 101, &rows[0], 1));
  g_assert_false (held_in (&f, 101, &rows[1], 1));
  g_assert_true (held_in (&f, 101, rows, 2));
  g_assert_false (held_in (&f, 101, NULL, 0));
  g_assert_false (held_in (&f, 103, rows, 2));
  fixture_close (&f);
}

/* Held only by condemned packs is not held; by one more pack that nobody condemned, it is. */
static void
test_condemned_is_not_held (void)
{
  Fixture f = { 0 };
  SkId id = make_id (501);
  gint64 storage;

  fixture_open (&f);
  begin (f.index);
  storage = define_storage (f.index, &id, "bucket");
  add_pack (&f, &id, 1, 100, 3);
  set_pack_state (&f, storage, 1, SK_PACK_CONDEMNED);
  g_assert_false (held_in (&f, 100, &storage, 1));
  add_pack (&f, &id, 2, 100, 1);
  g_assert_true (held_in (&f, 100, &storage, 1));
  g_assert_false (held_in (&f, 101, &storage, 1));
  set_pack_state (&f, storage, 2, SK_PACK_GONE);
  g_assert_false (held_in (&f, 100, &storage, 1));
  set_pack_state (&f, storage, 1, SK_PACK_LIVE);
  g_assert_true (held_in (&f, 100, &storage, 1));
  commit (f.index);
  fixture_close (&f);
}

/* Who was told that a chunk is held, or put it into a pack himself, learns when that may be over. */
static void
test_losses (void)
{
  Fixture f = { 0 };
  SkId id = make_id (501);
  gint64 storage;
  guint64 before;

  fixture_open (&f);
  begin (f.index);
  storage = define_storage (f.index, &id, "bucket");
  commit (f.index);
  before = sk_index_losses (f.index);
  begin (f.index);
  add_pack (&f, &id, 1, 100, 3);
  commit (f.index);
  g_assert_cmpuint (sk_index_losses (f.index), ==, before);

  begin (f.index);
  set_pack_state (&f, storage, 1, SK_PACK_CONDEMNED);
  g_assert_cmpuint (sk_index_losses (f.index), !=, before);
  commit (f.index);
  before = sk_index_losses (f.index);
  begin (f.index);
  set_pack_state (&f, storage, 1, SK_PACK_LIVE);
  commit (f.index);
  g_assert_cmpuint (sk_index_losses (f.index), ==, before);

  /* A pack of a transaction that was taken back is nowhere. */
  begin (f.index);
  add_pack (&f, &id, 2, 200, 3);
  sk_index_rollback (f.index);
  g_assert_cmpuint (sk_index_losses (f.index), !=, before);
  g_assert_false (held_in (&f, 200, &storage, 1));
  before = sk_index_losses (f.index);
  fixture_close (&f);
  fixture_open (&f);
  g_assert_cmpuint (sk_index_losses (f.index), !=, before);
  fixture_close (&f);
}

/* The condemnation of a pack that is not known yet is remembered; adding it again changes nothing. */
static void
test_state_before_pack (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) before = NULL, packs = NULL;
  SkId id = make_id (501);
  gint64 storage;

  fixture_open (&f);
  begin (f.index);
  storage = sk_index_storage_ensure (f.index, &id, &error);
  set_pack_state (&f, storage, 1, SK_PACK_CONDEMNED);
  before = sk_index_packs (f.index, storage, &error);
  g_assert_cmpuint (before->len, ==, 0);
  for (int i = 0; i < 2; i++)
    add_pack (&f, &id, 1, 100, 3);
  g_assert_false (held_in (&f, 100, &storage, 1));
  packs = sk_index_packs (f.index, storage, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (packs->len, ==, 1);
  g_assert_cmpint (g_array_index (packs, SkPackInfo, 0).state, ==, SK_PACK_CONDEMNED);
  g_assert_cmpuint (g_array_index (packs, SkPackInfo, 0).chunks, ==, 3);
  g_assert_cmpint (g_array_index (packs, SkPackInfo, 0).wall, ==, 1234);
  commit (f.index);
  fixture_close (&f);
}

static void
test_places (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) places = NULL;
  SkId id = make_id (501);
  SkHash chunk = make_hash (102);
  static const guint64 expected[] = { 2, 5, 1 };
  gint64 storage;

  fixture_open (&f);
  begin (f.index);
  storage = define_storage (f.index, &id, "bucket");
  add_pack (&f, &id, 5, 100, 3);
  add_pack (&f, &id, 1, 100, 3);
  add_pack (&f, &id, 2, 102, 1);
  add_pack (&f, &id, 3, 102, 1);
  set_pack_state (&f, storage, 1, SK_PACK_CONDEMNED);
  set_pack_state (&f, storage, 3, SK_PACK_GONE);
  commit (f.index);

  /* Pack 2 and 3 say another length for chunk 102 than the others: another row, but the same question. */
  places = sk_index_chunk_places (f.index, &chunk, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (places->len, ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      const SkChunkPlace *place = &g_array_index (places, SkChunkPlace, i);
      SkHash name = make_hash (expected[i]);

      g_assert_true (sk_hash_equal (&place->pack, &name));
      g_assert_true (sk_hash_equal (&place->row.id, &chunk));
      g_assert_cmpint (place->condemned, ==, i == 2);
      g_assert_cmpuint (place->row.plain_len, ==, i == 0 ? 1000 : 1002);
      g_assert_cmpuint (place->row.offset, ==, i == 0 ? 40 : 40 + 500 + 501);
      g_assert_cmpint (place->storage, ==, storage);
    }
  fixture_close (&f);
}

static void
test_pack_rows (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) packs = NULL;
  g_autoptr(GPtrArray) rows = NULL, none = NULL;
  SkId id = make_id (501);
  SkPackPut *put, *expected;
  gint64 storage;

  fixture_open (&f);
  begin (f.index);
  storage = define_storage (f.index, &id, "bucket");
  add_pack (&f, &id, 1, 200, 3);
  add_pack (&f, &id, 2, 100, 50);
  commit (f.index);
  packs = sk_index_packs (f.index, storage, &error);
  rows = sk_index_pack_rows (f.index, g_array_index (packs, SkPackInfo, 1).row, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rows->len, ==, 1);
  put = g_ptr_array_index (rows, 0);
  expected = make_pack (&id, 2, 100, 50);
  g_assert_true (sk_id_equal (&put->storage, &id));
  g_assert_true (sk_hash_equal (&put->name, &expected->name));
  g_assert_true (sk_id_equal (&put->epoch, &expected->epoch));
  g_assert_cmpuint (put->size, ==, expected->size);
  g_assert_cmpuint (put->rows->len, ==, 50);
  for (guint i = 0; i < 50; i++)
    {
      const SkPackRow *a = &g_array_index (put->rows, SkPackRow, i), *b = &g_array_index (expected->rows, SkPackRow, i);

      g_assert_true (sk_hash_equal (&a->id, &b->id));
      g_assert_cmpuint (a->offset, ==, b->offset);
      g_assert_cmpuint (a->stored_len, ==, b->stored_len);
      g_assert_cmpuint (a->plain_len, ==, b->plain_len);
      g_assert_cmpint (a->method, ==, b->method);
    }
  sk_pack_put_free (expected);
  none = sk_index_pack_rows (f.index, 4711, &error);
  g_assert_null (none);
  g_assert_error (error, SK_ERROR, SK_ERROR_NOT_FOUND);
  fixture_close (&f);
}

static guint
live_chunks (Fixture *f, gint64 storage, guint *chunks)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) packs = sk_index_packs (f->index, storage, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (packs->len, ==, 1);
  *chunks = g_array_index (packs, SkPackInfo, 0).chunks;
  return g_array_index (packs, SkPackInfo, 0).live_chunks;
}

static void
test_live_chunks (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  SkId id = make_id (501);
  gint64 storage, node;
  guint chunks;

  fixture_open (&f);
  begin (f.index);
  storage = define_storage (f.index, &id, "bucket");
  add_pack (&f, &id, 1, 100, 10);
  commit (f.index);
  g_assert_cmpuint (live_chunks (&f, storage, &chunks), ==, 0);
  g_assert_cmpuint (chunks, ==, 10);

  begin (f.index);
  node = ensure_node (&f, "x");
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr(SkEntry) entry = make_entry (&f, "x", SK_KIND_FILE, i + 1, 100, 2 + i * 3);

      g_assert_true (sk_index_version_set_maximal (f.index, add_version (&f, node, entry), i == 1, &error));
    }
  commit (f.index);
  g_assert_cmpuint (live_chunks (&f, storage, &chunks), ==, 5);     /* history counts as well */

  /* Versions gone: only what a file of this disk has is left. */
  begin (f.index);
  g_assert_true (sk_index_version_remove (f.index, 1, &error));
  g_assert_true (sk_index_version_remove (f.index, 2, &error));
  set_base (&f, node, &(SkBase) { .kind = SK_KIND_FILE, .content = 1 });
  commit (f.index);
  g_assert_cmpuint (live_chunks (&f, storage, &chunks), ==, 2);
  fixture_close (&f);
}

/* --- rows by hash: in memory, on disk, after a rollback and a start --- */

static void
assert_chunks_known (Fixture *f, guint64 first, guint n, gint64 first_row)
{
  for (guint i = 0; i < n; i += 997)
    {
      g_autoptr(GError) error = NULL;
      SkHash id = make_hash (first + i);
      g_autoptr(GArray) rows = sk_index_chunk_rows (f->index, &id, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (rows->len, ==, 1);
      g_assert_cmpint (g_array_index (rows, SkChunkRow, 0).row, ==, first_row + i);
    }
}

static void
ensure_chunks (Fixture *f, guint64 first, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autoptr(GError) error = NULL;
      SkHash id = make_hash (first + i);

      g_assert_cmpint (sk_index_chunk_ensure (f->index, &id, 1000, 0, NULL, &error), >, 0);
      g_assert_no_error (error);
    }
}

static void
test_more_than_a_batch (void)
{
  enum { A = 60000, B = 20000, C = 60000 };
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;

  fixture_open (&f);
  begin (f.index);
  ensure_chunks (&f, 0, A);
  commit (f.index);
  begin (f.index);
  ensure_chunks (&f, A, B);      /* goes over a batch */
  assert_chunks_known (&f, 0, A + B, 1);
  sk_index_rollback (f.index);
  assert_chunks_known (&f, 0, A, 1);
  begin (f.index);
  ensure_chunks (&f, A, B);
  ensure_chunks (&f, 0, A + B);     /* again: nothing new */
  commit (f.index);
  assert_chunks_known (&f, 0, A + B, 1);
  fixture_reopen (&f);
  assert_chunks_known (&f, 0, A + B, 1);
  begin (f.index);
  ensure_chunks (&f, A + B, C);      /* and another batch after a start, with the filter made before it goes to the disk */
  commit (f.index);
  assert_chunks_known (&f, 0, A + B + C, 1);
  fixture_reopen (&f);
  assert_chunks_known (&f, 0, A + B + C, 1);
  assert_sound (f.index);
  fixture_close (&f);
}

/* What is remembered of an id is not all of it any more when a row of another size comes, and nothing after a rollback. */
static void
test_remembered_chunk (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  SkHash id = make_hash (7);

  fixture_open (&f);
  begin (f.index);
  g_assert_cmpint (sk_index_chunk_ensure (f.index, &id, 10, 0, NULL, &error), ==, 1);
  g_assert_nonnull (sk_index_known_chunk (f.index, &id));
  sk_index_rollback (f.index);
  g_assert_null (sk_index_known_chunk (f.index, &id));
  begin (f.index);
  g_assert_cmpint (sk_index_chunk_ensure (f.index, &id, 10, 0, NULL, &error), ==, 1);
  g_assert_cmpint (sk_index_chunk_ensure (f.index, &id, 20, 0, NULL, &error), ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr(GArray) rows = sk_index_chunk_rows (f.index, &id, &error);

      g_assert_cmpuint (rows->len, ==, 2);
      g_assert_cmpint (sk_index_chunk_ensure (f.index, &id, i == 0 ? 10 : 20, 0, NULL, &error), ==, 1 + i);
    }
  commit (f.index);
  g_assert_no_error (error);
  fixture_close (&f);
}

/* --- sweeping --- */

static guint
sweep (Fixture *f, gint64 gone_before, guint limit)
{
  g_autoptr(GError) error = NULL;
  guint removed;

  begin (f->index);
  g_assert_true (sk_index_sweep (f->index, gone_before, limit, &removed, &error));
  g_assert_no_error (error);
  commit (f->index);
  return removed;
}

static void
test_sweep (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkEntry) old = NULL, kept = NULL;
  SkId id = make_id (501);
  gint64 node, row, storage;

  fixture_open (&f);
  old = make_entry (&f, "x", SK_KIND_FILE, 1, 100, 10);
  kept = make_entry (&f, "x", SK_KIND_FILE, 2, 100, 4);      /* four of the chunks */
  begin (f.index);
  node = ensure_node (&f, "x");
  row = add_version (&f, node, old);
  add_version (&f, node, kept);
  storage = define_storage (f.index, &id, "bucket");
  add_pack (&f, &id, 1, 105, 1);      /* other length than in the file: another chunk */
  set_pack_state (&f, storage, 1, SK_PACK_GONE);
  commit (f.index);
  g_assert_cmpuint (sweep (&f, 1234, 1000), ==, 0);      /* gone at 1234, which is not before */

  begin (f.index);
  g_assert_true (sk_index_version_remove (f.index, row, &error));
  commit (f.index);
  g_assert_cmpuint (sweep (&f, 1235, 3), ==, 3);
  g_assert_cmpuint (sweep (&f, 1235, 1000), ==, 1 + 1 + 6 + 1 - 3);      /* place, content, six chunks, the chunk of the place */
  g_assert_cmpuint (sweep (&f, 1235, 1000), ==, 0);
  g_assert_cmpint (sk_index_content_row (f.index, &old->content), ==, 0);
  g_assert_cmpint (sk_index_content_row (f.index, &kept->content), >, 0);
  assert_chunks_known (&f, 100, 4, 1);
  assert_sound (f.index);
  fixture_close (&f);
}

/* Row numbers that are given a second time are found after a start as well. */
static void
test_sweep_over_a_batch (void)
{
  enum { N = 66000 };
  Fixture f = { 0 };

  fixture_open (&f);
  begin (f.index);
  ensure_chunks (&f, 0, N);      /* 65 536 of them go into the index on disk */
  commit (f.index);
  g_assert_cmpuint (sweep (&f, 0, G_MAXUINT), ==, N);
  begin (f.index);
  ensure_chunks (&f, 500000, 1000);
  commit (f.index);
  assert_chunks_known (&f, 500000, 1000, 1);
  fixture_reopen (&f);
  assert_chunks_known (&f, 500000, 1000, 1);
  assert_sound (f.index);
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/chunks/list-codec", test_list_codec);
  g_test_add_func ("/chunks/list-bit-flips", test_list_bit_flips);
  g_test_add_func ("/chunks/content-chunks", test_content_chunks);
  g_test_add_func ("/chunks/local", test_chunk_local);
  g_test_add_func ("/chunks/local-is-not-quadratic", test_chunk_local_is_not_quadratic);
  g_test_add_func ("/chunks/rule-a4/held-per-storage", test_held_per_storage);
  g_test_add_func ("/chunks/rule-a3a/condemned-is-not-held", test_condemned_is_not_held);
  g_test_add_func ("/chunks/rule-a3b/losses", test_losses);
  g_test_add_func ("/chunks/state-before-pack", test_state_before_pack);
  g_test_add_func ("/chunks/places", test_places);
  g_test_add_func ("/chunks/pack-rows", test_pack_rows);
  g_test_add_func ("/chunks/live-chunks", test_live_chunks);
  g_test_add_func ("/chunks/more-than-a-batch", test_more_than_a_batch);
  g_test_add_func ("/chunks/remembered", test_remembered_chunk);
  g_test_add_func ("/chunks/sweep", test_sweep);
  g_test_add_func ("/chunks/sweep-over-a-batch", test_sweep_over_a_batch);
  return g_test_run ();
}
