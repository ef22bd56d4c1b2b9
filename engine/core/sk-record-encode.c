/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-record-private.h"

#include "sk-error.h"
#include "sk-limits.h"

#include <sodium.h>
#include <string.h>

G_STATIC_ASSERT (sizeof (SkChunkRef) == 40); /* hashed and compared as bytes: no padding */

/* Chunks in the order of first use, found again by an open-addressed table of index + 1. GHashTable
 * would take three times the memory for millions of chunks, and its hash of an id can be flooded by
 * whoever chose the ids. */
typedef struct
{
  GArray *chunks; /* SkChunkRef */
  guint32 *slots;
  gsize n_slots; /* a power of two */
  guint8 seed[crypto_shorthash_KEYBYTES];
} ChunkTable;

typedef struct
{
  SkWriter records, scratch;
  GHashTable *id_index, *string_index; /* borrowed key -> index + 1 */
  GPtrArray *ids, *strings;            /* borrowed from the records */
  ChunkTable table;
  const char *base; /* path of the record with a path before */
} Encoder;

static void
encoder_init (Encoder *self)
{
  *self = (Encoder) { .base = "" };
  sk_writer_init (&self->records);
  sk_writer_init (&self->scratch);
  self->id_index = g_hash_table_new (sk_id_hash, sk_id_equal_func);
  self->string_index = g_hash_table_new (g_str_hash, g_str_equal);
  self->ids = g_ptr_array_new ();
  self->strings = g_ptr_array_new ();
  self->table.chunks = g_array_new (FALSE, FALSE, sizeof (SkChunkRef));
  self->table.n_slots = 64;
  self->table.slots = g_new0 (guint32, self->table.n_slots);
  randombytes_buf (self->table.seed, sizeof self->table.seed);
}

static void
encoder_clear (Encoder *self)
{
  sk_writer_clear (&self->records);
  sk_writer_clear (&self->scratch);
  g_hash_table_unref (self->id_index);
  g_hash_table_unref (self->string_index);
  g_ptr_array_unref (self->ids);
  g_ptr_array_unref (self->strings);
  g_array_unref (self->table.chunks);
  g_free (self->table.slots);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Encoder, encoder_clear)

/* The slot of @chunk, or the empty one where it belongs. */
static guint32 *
find_slot (ChunkTable *self, const SkChunkRef *chunk)
{
  guint64 hash;
  gsize i;

  crypto_shorthash ((guint8 *) &hash, (const guint8 *) chunk, sizeof *chunk, self->seed);
  for (i = hash & (self->n_slots - 1); self->slots[i] != 0; i = (i + 1) & (self->n_slots - 1))
    if (memcmp (&g_array_index (self->chunks, SkChunkRef, self->slots[i] - 1), chunk, sizeof *chunk)
        == 0)
      break;
  return &self->slots[i];
}

static void
grow (ChunkTable *self)
{
  g_free (self->slots);
  self->n_slots *= 2;
  self->slots = g_new0 (guint32, self->n_slots);
  for (guint i = 0; i < self->chunks->len; i++)
    *find_slot (self, &g_array_index (self->chunks, SkChunkRef, i)) = i + 1;
}

static guint32
chunk_number (ChunkTable *self, const SkHash *id, guint64 size)
{
  SkChunkRef chunk = { .id = *id, .size = size };
  guint32 *slot = find_slot (self, &chunk);

  if (*slot != 0)
    return *slot - 1;
  g_array_append_val (self->chunks, chunk);
  *slot = self->chunks->len;
  if (self->chunks->len > self->n_slots / 4 * 3)
    grow (self);
  return self->chunks->len - 1;
}

static guint
number_of (GHashTable *index, GPtrArray *list, gconstpointer key)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (index, key));

  if (known != 0)
    return known - 1;
  g_ptr_array_add (list, (gpointer) key);
  g_hash_table_insert (index, (gpointer) key, GUINT_TO_POINTER (list->len));
  return list->len - 1;
}

static void
put_id (Encoder *self, const SkId *id)
{
  sk_writer_varint (&self->scratch, number_of (self->id_index, self->ids, id));
}

static void
put_path (Encoder *self, const char *path)
{
  gsize shared = 0;

  while (path[shared] != '\0' && path[shared] == self->base[shared])
    shared++;
  sk_writer_varint (&self->scratch, shared);
  sk_writer_string (&self->scratch, path + shared);
  self->base = path;
}

static void
put_runs (Encoder *self, GArray *chunks)
{
  g_auto(SkWriter) runs = { 0 };
  guint64 n_runs = 0, expected = 0;

  sk_writer_init (&runs);
  for (guint i = 0; i < chunks->len; n_runs++)
    {
      const SkChunkRef *chunk = &g_array_index (chunks, SkChunkRef, i);
      guint64 first, count = 1;

      i++;
      if (sk_chunk_ref_is_zero (chunk))
        {
          sk_writer_varint (&runs, chunk->size / SK_ZERO_BLOCK * 2 + 1);
          continue;
        }
      first = chunk_number (&self->table, &chunk->id, chunk->size);
      for (; i < chunks->len; i++, count++)
        {
          chunk = &g_array_index (chunks, SkChunkRef, i);
          /* Looking a chunk up gives it a number, and it is the next one either way: no order
           * changes by this. */
          if (sk_chunk_ref_is_zero (chunk)
              || chunk_number (&self->table, &chunk->id, chunk->size) != first + count)
            break;
        }
      sk_writer_varint (&runs, count * 2);
      sk_writer_svarint (&runs, (gint64) first - (gint64) expected);
      expected = first + count;
    }
  sk_writer_varint (&self->scratch, n_runs);
  sk_writer_raw (&self->scratch, runs.bytes->data, runs.bytes->len);
}

static void
put_entry (Encoder *self, const SkEntry *entry)
{
  SkWriter *w = &self->scratch;
  guint n = sk_vector_length (entry->vector);

  sk_writer_u8 (w, (guint8) entry->kind);
  sk_writer_varint (w, entry->flags);
  put_id (self, &entry->folder);
  put_path (self, entry->path);
  sk_writer_varint (w, n);
  for (guint i = 0; i < n; i++)
    {
      put_id (self, &sk_vector_items (entry->vector)[i].writer);
      sk_writer_varint (w, sk_vector_items (entry->vector)[i].counter);
    }
  sk_writer_varint (w, entry->lamport);
  put_id (self, &entry->writer);
  sk_writer_svarint (w, entry->wall);
  sk_writer_varint (w, number_of (self->string_index, self->strings, entry->device_name));
  sk_writer_varint (w, entry->meta_lamport);
  put_id (self, &entry->meta_writer);
  sk_writer_varint (w, entry->mode);
  sk_writer_svarint (w, entry->mtime);
  if (entry->xattrs == NULL)
    sk_writer_varint (w, 0);
  else
    {
      sk_writer_varint (w, g_bytes_get_size (entry->xattrs) + 1);
      sk_writer_raw (w, g_bytes_get_data (entry->xattrs, NULL), g_bytes_get_size (entry->xattrs));
    }
  if (entry->kind == SK_KIND_SYMLINK)
    sk_writer_string (w, entry->symlink);
  if (entry->kind == SK_KIND_FILE)
    put_runs (self, entry->chunks);
}

static gboolean
lies_back_to_back (GArray *rows)
{
  guint64 place = SK_PACK_BODY_START;

  for (guint i = 0; i < rows->len; i++)
    {
      const SkPackRow *row = &g_array_index (rows, SkPackRow, i);

      if (row->offset != place)
        return FALSE;
      place += row->stored_len;
    }
  return TRUE;
}

static void
put_pack (Encoder *self, const SkPackPut *pack)
{
  SkWriter *w = &self->scratch;
  gboolean placed = !lies_back_to_back (pack->rows);
  g_autofree guint32 *numbers = g_new (guint32, pack->rows->len);
  guint64 place = 0, expected = 0;

  put_id (self, &pack->storage);
  sk_writer_hash (w, &pack->name);
  put_id (self, &pack->epoch);
  sk_writer_varint (w, pack->size);
  sk_writer_u8 (w, placed ? SK_PACK_PUT_PLACED : 0);
  sk_writer_varint (w, pack->rows->len);
  for (guint i = 0; i < pack->rows->len; i++)
    {
      const SkPackRow *row = &g_array_index (pack->rows, SkPackRow, i);

      numbers[i] = chunk_number (&self->table, &row->id, row->plain_len);
    }
  for (guint i = 0; i < pack->rows->len;)
    {
      const SkPackRow *row = &g_array_index (pack->rows, SkPackRow, i);
      SkMethod method = row->method;
      guint count = 1;

      while (i + count < pack->rows->len && numbers[i + count] == numbers[i] + count
             && g_array_index (pack->rows, SkPackRow, i + count).method == method)
        count++;
      sk_writer_u8 (w, (guint8) method);
      sk_writer_svarint (w, (gint64) numbers[i] - (gint64) expected);
      sk_writer_varint (w, count);
      expected = (guint64) numbers[i] + count;
      for (guint end = i + count; i < end; i++)
        {
          row = &g_array_index (pack->rows, SkPackRow, i);
          if (placed)
            sk_writer_varint (w, row->offset - place);
          place = row->offset + row->stored_len;
          sk_writer_svarint (w,
                             (gint64) row->plain_len + SK_SEAL_OVERHEAD - (gint64) row->stored_len);
        }
    }
}

static void
put_definition (Encoder *self, const SkId *id, guint64 lamport, const SkId *writer,
                gboolean deleted, const char *name)
{
  put_id (self, id);
  sk_writer_varint (&self->scratch, lamport);
  put_id (self, writer);
  sk_writer_u8 (&self->scratch, deleted ? 1 : 0);
  sk_writer_string (&self->scratch, name);
}

static void
put_modes (Encoder *self, const SkModes *modes)
{
  put_id (self, &modes->folder);
  put_path (self, modes->path);
  sk_writer_u8 (&self->scratch, (modes->stamp[0].set ? 1 : 0) | (modes->stamp[1].set ? 2 : 0));
  for (guint i = 0; i < G_N_ELEMENTS (modes->stamp); i++)
    {
      const SkModeStamp *stamp = &modes->stamp[i];

      if (!stamp->set)
        continue;
      sk_writer_varint (&self->scratch, stamp->lamport);
      put_id (self, &stamp->writer);
      sk_writer_varint (&self->scratch, stamp->mode);
    }
}

static void
put_content (Encoder *self, const SkRecord *record)
{
  SkWriter *w = &self->scratch;

  switch (record->type)
    {
    case SK_RECORD_FOLDER:
      {
        const SkFolderDef *folder = record->folder;
        guint n = folder->storages != NULL ? folder->storages->len : 0;

        put_definition (self, &folder->id, folder->lamport, &folder->writer, folder->deleted,
                        folder->name);
        sk_writer_varint (w, n);
        for (guint i = 0; i < n; i++)
          put_id (self, &g_array_index (folder->storages, SkId, i));
        break;
      }
    case SK_RECORD_ENTRY:
      put_entry (self, record->entry);
      break;
    case SK_RECORD_PACK_PUT:
      put_pack (self, record->pack);
      break;
    case SK_RECORD_PACK_DROP:
    case SK_RECORD_PACK_KEEP:
    case SK_RECORD_PACK_VERIFIED:
      put_id (self, &record->pack_ref->storage);
      sk_writer_hash (w, &record->pack_ref->name);
      break;
    case SK_RECORD_STORAGE:
      put_definition (self, &record->storage->id, record->storage->lamport,
                      &record->storage->writer, record->storage->deleted, record->storage->name);
      sk_writer_string (w, record->storage->uri);
      break;
    case SK_RECORD_MEMBER:
      sk_writer_raw (w, g_bytes_get_data (record->member, NULL), g_bytes_get_size (record->member));
      break;
    case SK_RECORD_MODES:
      put_modes (self, record->modes);
      break;
    }
}

static GBytes *
assemble (Encoder *self, guint n_records)
{
  g_auto(SkWriter) out = { 0 };
  GArray *chunks = self->table.chunks;

  sk_writer_init (&out);
  sk_writer_u8 (&out, SK_BODY_VERSION);
  sk_writer_varint (&out, self->ids->len);
  for (guint i = 0; i < self->ids->len; i++)
    sk_writer_id (&out, g_ptr_array_index (self->ids, i));
  sk_writer_varint (&out, self->strings->len);
  for (guint i = 0; i < self->strings->len; i++)
    sk_writer_string (&out, g_ptr_array_index (self->strings, i));
  sk_writer_varint (&out, n_records);
  sk_writer_blob (&out, self->records.bytes->data, self->records.bytes->len);
  sk_writer_varint (&out, chunks->len);
  for (guint i = 0; i < chunks->len; i++)
    sk_writer_varint (&out, g_array_index (chunks, SkChunkRef, i).size);
  for (guint i = 0; i < chunks->len; i++)
    sk_writer_hash (&out, &g_array_index (chunks, SkChunkRef, i).id);
  return sk_writer_finish (&out);
}

GBytes *
sk_records_encode (GPtrArray *records, GError **error)
{
  g_auto(Encoder) self = { 0 };
  gsize memory = 0;

  encoder_init (&self);
  if (records->len > SK_SEGMENT_RECORDS_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "More than %u records in one segment",
                    SK_SEGMENT_RECORDS_MAX),
           NULL;
  for (guint i = 0; i < records->len; i++)
    {
      const SkRecord *record = g_ptr_array_index (records, i);

      if (!sk_record_check (record, error))
        {
          g_autofree char *what = sk_record_describe (record);

          g_prefix_error (error, "Record %u (%s): ", i, what);
          return NULL;
        }
      memory += sk_record_memory (record);
      if (memory > SK_BODY_MEMORY_MAX)
        return sk_fail (error, SK_ERROR_LIMIT, "The records are too many for one segment"), NULL;
      g_byte_array_set_size (self.scratch.bytes, 0);
      put_content (&self, record);
      sk_writer_u8 (&self.records, (guint8) record->type);
      sk_writer_blob (&self.records, self.scratch.bytes->data, self.scratch.bytes->len);
    }
  return assemble (&self, records->len);
}
