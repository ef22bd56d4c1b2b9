/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-record-private.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "forge-segment.h"

static GBytes *
encode (GPtrArray *records)
{
  g_autoptr(GError) error = NULL;
  GBytes *bytes = sk_records_encode (records, &error);

  g_assert_no_error (error);
  return bytes;
}

static GPtrArray *
decode (GBytes *bytes, guint expected_refused)
{
  g_autoptr(GPtrArray) refused = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GError) error = NULL;
  GPtrArray *records = sk_records_decode (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), refused, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < MIN (refused->len, 12); i++)
    g_test_message ("%s", (char *) g_ptr_array_index (refused, i));
  g_assert_cmpuint (refused->len, ==, expected_refused);
  return records;
}

static SkEntry *
nth_entry (GPtrArray *records, guint i)
{
  SkRecord *record = g_ptr_array_index (records, i);

  g_assert_cmpint (record->type, ==, SK_RECORD_ENTRY);
  return record->entry;
}

static void
add_modes (GPtrArray *records, const char *path, gboolean files, gboolean directories)
{
  SkModes *modes = g_new0 (SkModes, 1);

  *modes = (SkModes) { .folder = fixture_id (1), .path = g_strdup (path) };
  modes->stamp[0] = files ? (SkModeStamp) { 12, fixture_id (2), 0751, TRUE } : (SkModeStamp) { 0 };
  modes->stamp[1] = directories ? (SkModeStamp) { SK_COUNTER_MAX, fixture_id (0x300), 07777, TRUE } : (SkModeStamp) { 0 };
  g_ptr_array_add (records, sk_record_new_modes (modes));
}

/* One of each, with every optional field used somewhere. */
static GPtrArray *
every_type (void)
{
  GPtrArray *records = fixture_records ();
  SkEntry *file = fixture_entry (SK_KIND_FILE, "photos/2023/a.jpg", 3);
  SkEntry *again = fixture_entry (SK_KIND_FILE, "photos/2023/b.jpg", 4);
  SkEntry *gone = fixture_entry (SK_KIND_TOMBSTONE, "photos/2022", 7);
  SkFolderDef *folder = g_new0 (SkFolderDef, 1);
  SkStorageDef *storage = g_new0 (SkStorageDef, 1);
  SkPackPut *pack = fixture_pack (1), *placed = fixture_pack (2);
  SkHash ids[6], zero = { 0 };
  SkId other = fixture_id (0x300);

  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    ids[i] = fixture_hash (i);
  fixture_add_chunk (file, &ids[0], 1000);
  fixture_add_chunk (file, &ids[1], 2000);
  fixture_add_chunk (file, &zero, 5 * SK_ZERO_BLOCK);
  fixture_add_chunk (file, &ids[0], 1000);
  fixture_add_chunk (again, &ids[1], 2000);
  fixture_add_chunk (again, &ids[5], SK_CHUNK_SIZE_MAX);
  fixture_add_chunk (again, &ids[1], 1999);               /* the same id with another size: a hostile member may say so */
  again->xattrs = g_bytes_new ("user.tag\0x", 10);
  sk_entry_seal_content (again);
  gone->vector = (sk_vector_unref (gone->vector), sk_vector_new ((SkVectorItem[]) { { other, 12 }, { fixture_id (2), 9 } }, 2));
  gone->flags = SK_ENTRY_CONFIRMED;
  gone->wall = -5;
  gone->meta_writer = other;
  for (guint i = 0; i < 4; i++)
    fixture_add_row (pack, &ids[i], 1000 * (i + 1), i == 2 ? 500 : 1000 * (i + 1) + SK_SEAL_OVERHEAD, 0);
  fixture_add_row (placed, &ids[3], 4000, 4040, 3);
  fixture_add_row (placed, &ids[0], 1000, 700, 0);
  fixture_add_row (placed, &ids[1], 2000, 900, 12);

  *folder = (SkFolderDef) { .id = fixture_id (1), .name = g_strdup ("Photos"), .lamport = 4, .writer = fixture_id (2),
                            .storages = g_array_new (FALSE, FALSE, sizeof (SkId)) };
  g_array_append_val (folder->storages, pack->storage);
  g_array_append_val (folder->storages, other);
  *storage = (SkStorageDef) { .id = pack->storage, .name = g_strdup ("Bucket"), .uri = g_strdup ("s3://b/p?region=x"),
                              .deleted = TRUE, .lamport = SK_COUNTER_MAX, .writer = other };

  g_ptr_array_add (records, sk_record_new_folder (folder));
  g_ptr_array_add (records, sk_record_new_storage (storage));
  g_ptr_array_add (records, sk_record_new_entry (file));
  g_ptr_array_add (records, sk_record_new_pack (pack));
  g_ptr_array_add (records, sk_record_new_entry (again));
  g_ptr_array_add (records, sk_record_new_pack (placed));
  g_ptr_array_add (records, sk_record_new_entry (gone));
  g_ptr_array_add (records, sk_record_new_entry (fixture_entry (SK_KIND_DIR, "photos/2022", 8)));
  g_ptr_array_add (records, sk_record_new_entry (fixture_entry (SK_KIND_SYMLINK, "photos/latest", 9)));
  g_ptr_array_add (records, sk_record_new_pack_ref (SK_RECORD_PACK_DROP, &other, &ids[4]));
  g_ptr_array_add (records, sk_record_new_pack_ref (SK_RECORD_PACK_KEEP, &other, &ids[4]));
  g_ptr_array_add (records, sk_record_new_pack_ref (SK_RECORD_PACK_VERIFIED, &other, &ids[3]));
  g_ptr_array_add (records, sk_record_new_member (g_bytes_new ("verbatim", 8)));
  add_modes (records, "photos/2022", FALSE, TRUE);       /* behind a path of its own and behind another one's */
  g_ptr_array_add (records, sk_record_new_entry (fixture_entry (SK_KIND_DIR, "photos/2021", 11)));
  add_modes (records, "photos/2021", TRUE, TRUE);
  add_modes (records, "notes", TRUE, FALSE);
  return records;
}

static void
assert_same_entry (const SkEntry *a, const SkEntry *b)
{
  g_assert_cmpstr (a->path, ==, b->path);
  g_assert_cmpstr (a->device_name, ==, b->device_name);
  g_assert_cmpstr (a->symlink, ==, b->symlink);
  g_assert_cmpint (a->kind, ==, b->kind);
  g_assert_cmpuint (a->flags, ==, b->flags);
  g_assert_cmpint (sk_vector_compare (a->vector, b->vector), ==, SK_ORDER_EQUAL);
  g_assert_cmpuint (a->lamport, ==, b->lamport);
  g_assert_true (sk_id_equal (&a->writer, &b->writer));
  g_assert_cmpint (a->wall, ==, b->wall);
  g_assert_cmpuint (a->meta_lamport, ==, b->meta_lamport);
  g_assert_true (sk_id_equal (&a->meta_writer, &b->meta_writer));
  g_assert_cmpuint (a->mode, ==, b->mode);
  g_assert_cmpint (a->mtime, ==, b->mtime);
  g_assert_cmpuint (a->size, ==, b->size);
  g_assert_true (sk_hash_equal (&a->content, &b->content));
  g_assert_true ((a->chunks == NULL) == (b->chunks == NULL));
  if (a->chunks != NULL)
    g_assert_cmpmem (a->chunks->data, a->chunks->len * sizeof (SkChunkRef), b->chunks->data, b->chunks->len * sizeof (SkChunkRef));
  g_assert_true ((a->xattrs == NULL && b->xattrs == NULL) || g_bytes_equal (a->xattrs, b->xattrs));
}

static void
assert_same_rows (GArray *a, GArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const SkPackRow *x = &g_array_index (a, SkPackRow, i), *y = &g_array_index (b, SkPackRow, i);

      g_assert_true (sk_hash_equal (&x->id, &y->id));
      g_assert_cmpuint (x->offset, ==, y->offset);
      g_assert_cmpuint (x->stored_len, ==, y->stored_len);
      g_assert_cmpuint (x->plain_len, ==, y->plain_len);
      g_assert_cmpint (x->method, ==, y->method);
    }
}

static void
test_round_trip (void)
{
  g_autoptr(GPtrArray) records = every_type ();
  g_autoptr(GBytes) bytes = encode (records);
  g_autoptr(GPtrArray) again = decode (bytes, 0);
  g_autoptr(GBytes) twice = encode (again);

  g_assert_cmpuint (again->len, ==, records->len);
  for (guint i = 0; i < records->len; i++)
    {
      const SkRecord *a = g_ptr_array_index (records, i), *b = g_ptr_array_index (again, i);

      g_assert_cmpint (a->type, ==, b->type);
      if (a->type == SK_RECORD_ENTRY)
        assert_same_entry (a->entry, b->entry);
      if (a->type == SK_RECORD_PACK_PUT)
        assert_same_rows (a->pack->rows, b->pack->rows);
      if (a->type == SK_RECORD_MODES)
        {
          g_assert_true (sk_id_equal (&a->modes->folder, &b->modes->folder));
          g_assert_cmpstr (a->modes->path, ==, b->modes->path);
          g_assert_cmpmem (a->modes->stamp, sizeof a->modes->stamp, b->modes->stamp, sizeof b->modes->stamp);
        }
    }
  {
    const SkRecord *folder = g_ptr_array_index (again, 0), *storage = g_ptr_array_index (again, 1);

    g_assert_cmpstr (folder->folder->name, ==, "Photos");
    g_assert_cmpuint (folder->folder->storages->len, ==, 2);
    g_assert_cmpstr (storage->storage->uri, ==, "s3://b/p?region=x");
    g_assert_true (storage->storage->deleted);
  }
  /* Deterministic, also from decoded values. */
  g_assert_true (g_bytes_equal (bytes, twice));
}

static void
test_empty (void)
{
  g_autoptr(GPtrArray) records = fixture_records ();
  g_autoptr(GBytes) bytes = encode (records);
  g_autoptr(GPtrArray) again = decode (bytes, 0);

  g_assert_cmpuint (again->len, ==, 0);
}

static void
test_prefixes (void)
{
  g_autoptr(GPtrArray) records = every_type ();
  g_autoptr(GBytes) bytes = encode (records);
  const guint8 *data = g_bytes_get_data (bytes, NULL);

  for (gsize i = 0; i < g_bytes_get_size (bytes); i++)
    {
      g_autoptr(GError) error = NULL;
      g_autofree guint8 *exact = g_memdup2 (data, i);      /* so that a sanitizer sees one byte too far */

      g_assert_null (sk_records_decode (exact, i, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
    }
}

/* Whatever decodes also encodes, so a snapshot can take over everything that was let in. */
static void
test_bit_flips (void)
{
  g_autoptr(GPtrArray) records = every_type ();
  g_autoptr(GBytes) bytes = encode (records);
  gsize len = g_bytes_get_size (bytes);
  guint taken = 0;

  for (gsize i = 0; i < len * 8; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (bytes, NULL), len);
      g_autoptr(GPtrArray) flipped = NULL;

      copy[i / 8] ^= 1 << i % 8;
      flipped = sk_records_decode (copy, len, NULL, NULL);
      if (flipped != NULL)
        {
          g_autoptr(GBytes) other = encode (flipped);

          taken++;
        }
    }
  g_test_message ("%u of %" G_GSIZE_FORMAT " flips were taken", taken, len * 8);
}

static void
test_newer (void)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_records_decode ((const guint8 *) "\2\0\0\0\0\0", 6, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_TOO_NEW);
}

/* --- by hand --- */

static void
test_bad_paths (void)
{
  static const struct { const char *bytes; gsize len; } bad[] = {
    { "../x", 4 }, { "/etc/x", 6 }, { "a//b", 4 }, { ".", 1 }, { "", 0 }, { "a\0b", 3 }, { "..", 2 }, { "a/", 2 },
    { "a/../../b", 9 }, { ".skerry/tmp", 11 }, { "\0", 1 },
  };
  Forge forge;
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;

  forge_init (&forge);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *good = g_strdup_printf ("good-%u", i);

      forge_directory (&forge, 0, good, strlen (good));
      forge_directory (&forge, 0, bad[i].bytes, bad[i].len);
    }
  forge_directory (&forge, 0, "last", 4);
  body = forge_body (&forge, 0);
  records = decode (body, G_N_ELEMENTS (bad));
  g_assert_cmpuint (records->len, ==, G_N_ELEMENTS (bad) + 1);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *good = g_strdup_printf ("good-%u", i);

      g_assert_cmpstr (nth_entry (records, i)->path, ==, good);
    }
  g_assert_cmpstr (nth_entry (records, G_N_ELEMENTS (bad))->path, ==, "last");
}

/* The path of a refused entry is still the base of the next; an unreadable one makes no path be guessed. */
static void
test_shared_prefix (void)
{
  Forge forge;
  g_auto(SkWriter) broken = { 0 };
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;

  forge_init (&forge);
  forge_directory (&forge, 0, "../abc", 6);          /* refused, known */
  forge_directory (&forge, 3, "x", 1);               /* "../x": refused */
  forge_directory (&forge, 0, "abc", 3);
  forge_directory (&forge, 2, "d/e", 3);             /* "abd/e" */
  forge_directory (&forge, 6, "z", 1);               /* more than there is: refused, not known */
  forge_directory (&forge, 1, "zz", 2);              /* refused: continues the unknown */
  forge_directory (&forge, 0, "new", 3);
  forge_directory (&forge, 3, "er", 2);              /* "newer" */
  sk_writer_init (&broken);
  sk_writer_u8 (&broken, SK_KIND_DIR);
  forge_frame (&forge, SK_RECORD_ENTRY, &broken);    /* refused, not known */
  forge_directory (&forge, 3, "est", 3);             /* refused */
  body = forge_body (&forge, 0);
  records = decode (body, 6);
  g_assert_cmpuint (records->len, ==, 4);
  g_assert_cmpstr (nth_entry (records, 0)->path, ==, "abc");
  g_assert_cmpstr (nth_entry (records, 1)->path, ==, "abd/e");
  g_assert_cmpstr (nth_entry (records, 2)->path, ==, "new");
  g_assert_cmpstr (nth_entry (records, 3)->path, ==, "newer");
}

static void
forge_file (Forge *forge, const char *name, const gint64 *numbers, guint n)
{
  g_auto(SkWriter) w = { 0 };

  sk_writer_init (&w);
  forge_entry_fields (&w, SK_KIND_FILE, 0, name, strlen (name));
  sk_writer_varint (&w, n / 2);
  for (guint i = 0; i < n; i += 2)
    {
      sk_writer_varint (&w, (guint64) numbers[i]);
      if (numbers[i] % 2 == 0)
        sk_writer_svarint (&w, numbers[i + 1]);
    }
  forge_frame (forge, SK_RECORD_ENTRY, &w);
}

static void
test_index_outside (void)
{
  static const gint64 bad[][4] = {
    { 2, 5, 2, 0 },            /* first index behind the table */
    { 12, 0, 2, 0 },           /* runs over its end */
    { 2, -1, 2, 0 },           /* before it */
    { 2, 4, 2, 0 },            /* the second run begins at the end */
    { 2, 0, 2, -2 },
    { 0, 0, 2, 0 },            /* a run of nothing */
    { 1, 0, 2, 0 },            /* no zeros */
    { 2, G_MAXINT64, 2, 0 },
    { 2, G_MININT64, 2, 0 },
    { G_MAXINT64 - 1, 0, 2, 0 },
    { 2, 0, G_MAXINT64, 0 },   /* zeros without end */
  };
  static const gint64 good[] = { 10, 0, 2, -5, 7, 0, 4, 1 };
  Forge forge;
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;

  forge_init (&forge);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    forge_file (&forge, "bad", bad[i], 4);
  forge_file (&forge, "good", good, G_N_ELEMENTS (good));
  body = forge_body (&forge, 5);
  records = decode (body, G_N_ELEMENTS (bad));
  g_assert_cmpuint (records->len, ==, 1);
  g_assert_cmpuint (nth_entry (records, 0)->chunks->len, ==, 5 + 1 + 1 + 2);
  g_assert_cmpuint (nth_entry (records, 0)->size, ==, 8 * 1000 + 3 * SK_ZERO_BLOCK);
}

/* A segment of a few bytes cannot fill the memory: what would exceed the budget is refused, the rest stands. */
static void
test_amplification (void)
{
  const guint n_chunks = 2000, n_runs = 70, n_entries = 5;
  const gsize budget = 10 << 20;
  Forge forge;
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;
  g_autoptr(GPtrArray) refused = g_ptr_array_new_with_free_func (g_free);
  guint64 memory = 0;
  g_autofree gint64 *numbers = g_new (gint64, 2 * n_runs);

  for (guint i = 0; i < n_runs; i++)
    {
      numbers[2 * i] = 2 * (gint64) n_chunks;
      numbers[2 * i + 1] = i == 0 ? 0 : -(gint64) n_chunks;
    }
  forge_init (&forge);
  for (guint i = 0; i < n_entries; i++)
    forge_file (&forge, "large", numbers, 2 * n_runs);
  forge_directory (&forge, 0, "small", 5);
  body = forge_body (&forge, n_chunks);
  records = sk_records_decode_within (g_bytes_get_data (body, NULL), g_bytes_get_size (body), budget, refused, NULL);
  g_assert_nonnull (records);
  g_assert_cmpuint (refused->len, ==, n_entries - 1);
  for (guint i = 0; i < records->len; i++)
    memory += nth_entry (records, i)->chunks != NULL ? nth_entry (records, i)->chunks->len * sizeof (SkChunkRef) : 0;
  g_assert_cmpuint (memory, <=, budget);
  g_assert_cmpstr (nth_entry (records, records->len - 1)->path, ==, "small");
}

static void
test_frames (void)
{
  Forge forge;
  g_auto(SkWriter) w = { 0 };
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;

  sk_writer_init (&w);
  forge_entry_fields (&w, SK_KIND_DIR, 0, "left-over", 9);
  sk_writer_u8 (&w, 0);
  forge_init (&forge);
  forge_frame (&forge, SK_RECORD_ENTRY, &w);         /* a byte too many */
  g_byte_array_set_size (w.bytes, w.bytes->len - 2);
  forge_frame (&forge, SK_RECORD_ENTRY, &w);         /* and one too few */
  forge_frame (&forge, 0, &w);                       /* unknown types */
  forge_frame (&forge, 10, &w);
  forge_frame (&forge, 255, &w);
  g_byte_array_set_size (w.bytes, 0);
  forge_frame (&forge, SK_RECORD_MEMBER, &w);        /* empty */
  forge_frame (&forge, SK_RECORD_FOLDER, &w);
  forge_frame (&forge, SK_RECORD_STORAGE, &w);
  forge_frame (&forge, SK_RECORD_PACK_PUT, &w);
  forge_frame (&forge, SK_RECORD_PACK_DROP, &w);
  forge_directory (&forge, 0, "good", 4);
  body = forge_body (&forge, 0);
  records = decode (body, 10);
  g_assert_cmpuint (records->len, ==, 1);
}

/* A report of refused records is bounded, whatever a segment holds. */
static void
test_report_is_bounded (void)
{
  Forge forge;
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;

  forge_init (&forge);
  for (guint i = 0; i < 5000; i++)
    forge_directory (&forge, 0, "../x", 4);
  body = forge_body (&forge, 0);
  records = decode (body, 257);
  g_assert_cmpuint (records->len, ==, 0);
}

static void
forge_modes (Forge *forge, guint64 shared, const char *rest, guint8 classes, guint n, guint64 lamport, guint32 mode)
{
  g_auto(SkWriter) w = { 0 };

  sk_writer_init (&w);
  sk_writer_varint (&w, 0);                /* folder */
  sk_writer_varint (&w, shared);
  sk_writer_string (&w, rest);
  sk_writer_u8 (&w, classes);
  for (guint i = 0; i < n; i++)
    {
      sk_writer_varint (&w, lamport);
      sk_writer_varint (&w, 1);            /* writer */
      sk_writer_varint (&w, mode);
    }
  forge_frame (forge, SK_RECORD_MODES, &w);
}

/* Modes share prefixes with entries, and a bad one is dropped alone. */
static void
test_modes_table (void)
{
  static const struct { const char *rest; guint8 classes; guint n; guint64 lamport; guint32 mode; gboolean good; } rows[] = {
    { "a", 1, 1, 1, 0644, TRUE },
    { "a", 2, 1, 0, 0, TRUE },
    { "a", 3, 2, SK_COUNTER_MAX, 07777, TRUE },
    { "a", 0, 0, 1, 0644, FALSE },               /* of nothing */
    { "a", 4, 1, 1, 0644, FALSE },               /* of a class that there is not */
    { "a", 7, 3, 1, 0644, FALSE },
    { "a", 3, 1, 1, 0644, FALSE },               /* one too few */
    { "a", 1, 2, 1, 0644, FALSE },               /* one too many */
    { "a", 1, 1, 1, 010000, FALSE },
    { "a", 1, 1, (guint64) SK_COUNTER_MAX + 1, 0644, FALSE },
    { "../a", 1, 1, 1, 0644, FALSE },
    { "", 1, 1, 1, 0644, FALSE },
    { ".skerry/tmp", 1, 1, 1, 0644, FALSE },
  };
  Forge forge;
  g_autoptr(GBytes) body = NULL;
  g_autoptr(GPtrArray) records = NULL;
  guint n_good = 0, n_bad = 0;

  forge_init (&forge);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      forge_modes (&forge, 0, rows[i].rest, rows[i].classes, rows[i].n, rows[i].lamport, rows[i].mode);
      n_good += rows[i].good;
      n_bad += !rows[i].good;
    }
  forge_directory (&forge, 0, "abc", 3);
  forge_modes (&forge, 3, "", 2, 1, 5, 0700);              /* "abc" */
  forge_directory (&forge, 2, "d", 1);                     /* "abd" */
  body = forge_body (&forge, 0);
  records = decode (body, n_bad);
  g_assert_cmpuint (records->len, ==, n_good + 3);
  {
    const SkRecord *modes = g_ptr_array_index (records, n_good + 1);

    g_assert_cmpint (modes->type, ==, SK_RECORD_MODES);
    g_assert_cmpstr (modes->modes->path, ==, "abc");
    g_assert_false (modes->modes->stamp[0].set);
    g_assert_true (modes->modes->stamp[1].set);
    g_assert_cmpuint (modes->modes->stamp[1].mode, ==, 0700);
    g_assert_cmpuint (modes->modes->stamp[1].lamport, ==, 5);
  }
  g_assert_cmpstr (nth_entry (records, n_good + 2)->path, ==, "abd");
}

static void
test_packs_refused (void)
{
  for (guint i = 0; i < 9; i++)
    {
      g_autoptr(GPtrArray) records = fixture_records ();
      SkPackPut *pack = fixture_pack (1);
      SkHash id = fixture_hash (1), zero = { 0 };
      SkPackRow *rows;

      fixture_add_row (pack, &id, 1000, 1040, 0);
      fixture_add_row (pack, &id, 1000, 1040, 0);
      rows = (SkPackRow *) (gpointer) pack->rows->data;
      switch (i)
        {
        case 0: rows[1].offset--; break;                      /* overlaps */
        case 1: rows[0].offset = 39; break;                   /* in the header */
        case 2: pack->size = 2119; break;                     /* outside */
        case 3: rows[1].id = zero; break;
        case 4: rows[1].method = 2; break;
        case 5: rows[1].stored_len = 1039; break;             /* raw, but shorter */
        case 6: rows[1].plain_len = 0; break;
        case 7: pack->size = SK_PACK_SIZE_MAX + 1; break;
        default: g_array_set_size (pack->rows, 0); break;
        }
      g_ptr_array_add (records, sk_record_new_pack (pack));
      g_assert_null (sk_records_encode (records, NULL));
    }
}

/* --- cost --- */

static gsize
segment_size (GPtrArray *records)
{
  g_autoptr(SkKeyring) keys = sk_keyring_new_vault ();
  g_autoptr(SkIdentity) signer = sk_identity_new_random ();
  g_autoptr(SkCompressor) z = sk_compressor_new ();
  g_autoptr(GBytes) object = NULL;
  SkSegmentHeader header = { .vault = fixture_id (9), .writer = fixture_id (2), .epoch = *sk_keyring_current (keys), .seq = 1 };
  SkHash hash;

  object = sk_segment_build (&header, records, keys, signer, z, &hash, NULL);
  g_assert_nonnull (object);
  return g_bytes_get_size (object);
}

/* @per_file chunks in each file. Sizes as content-defined chunking of 256 KiB gives them; every second pack compresses. */
static double
cost_per_chunk (guint per_file, gboolean compressible)
{
  const guint n = 4096, per_pack = 16;
  g_autoptr(GPtrArray) records = fixture_records ();
  g_autoptr(GRand) rand = g_rand_new_with_seed (4096);
  SkPackPut *pack = NULL;
  SkEntry *file = NULL;
  gsize size;

  for (guint i = 0; i < n; i++)
    {
      SkHash id = fixture_hash (i);
      guint32 plain = (guint32) g_rand_int_range (rand, 64 << 10, 1 << 20), stored = plain + SK_SEAL_OVERHEAD;

      if (i % per_pack == 0)
        g_ptr_array_add (records, sk_record_new_pack (pack = fixture_pack (i)));
      if (compressible)
        stored -= (guint32) g_rand_int_range (rand, 1, (gint32) plain / 2);
      fixture_add_row (pack, &id, plain, stored, 0);
      if (i % per_file == 0)
        {
          g_autofree char *path = g_strdup_printf ("Pictures/2023/holiday/IMG_%04u.raw", i / per_file);

          file = fixture_entry (SK_KIND_FILE, path, i + 1);
          file->mtime += (gint64) g_rand_int (rand) * 1000;
          g_ptr_array_add (records, sk_record_new_entry (file));
        }
      fixture_add_chunk (file, &id, plain);
    }
  size = segment_size (records);
  g_test_message ("%u chunks a file%s: %" G_GSIZE_FORMAT " bytes of log, %.2f a chunk", per_file,
                  compressible ? ", compressible" : "", size, (double) size / n);
  return (double) size / n;
}

static void
test_cost (void)
{
  g_assert_cmpfloat (cost_per_chunk (4096, FALSE), <, 48);
  g_assert_cmpfloat (cost_per_chunk (64, FALSE), <, 48);
  g_assert_cmpfloat (cost_per_chunk (16, FALSE), <, 48);
  g_assert_cmpfloat (cost_per_chunk (16, TRUE), <, 48);
  g_assert_cmpfloat (cost_per_chunk (1, FALSE), <, 72);      /* a file of one chunk: its whole entry beside it */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/record/round-trip", test_round_trip);
  g_test_add_func ("/record/empty", test_empty);
  g_test_add_func ("/record/prefixes", test_prefixes);
  g_test_add_func ("/record/bit-flips", test_bit_flips);
  g_test_add_func ("/record/newer", test_newer);
  g_test_add_func ("/record/sit-B040/bad-paths-refused-one-by-one", test_bad_paths);
  g_test_add_func ("/record/sit-B040/no-path-is-guessed", test_shared_prefix);
  g_test_add_func ("/record/rule-c2/index-outside-own-table", test_index_outside);
  g_test_add_func ("/record/amplification", test_amplification);
  g_test_add_func ("/record/frames", test_frames);
  g_test_add_func ("/record/report-is-bounded", test_report_is_bounded);
  g_test_add_func ("/record/rule-a8/modes-table", test_modes_table);
  g_test_add_func ("/record/packs-refused", test_packs_refused);
  g_test_add_func ("/record/cost-per-chunk", test_cost);
  return g_test_run ();
}
