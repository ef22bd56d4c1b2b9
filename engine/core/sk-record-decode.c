/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-record-private.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "sk-path.h"

#include <string.h>

/* Lines a report of refused records has at most. */
#define REPORTS_MAX 256u

typedef struct
{
  const guint8 *ids; /* n_ids x 16, borrowed from the body */
  gsize n_ids;
  GPtrArray *strings;      /* char *, NULL where the bytes contain NUL */
  const guint8 *chunk_ids; /* n_chunks x 32, borrowed */
  GArray *chunk_sizes;     /* guint32 */
  GString *base;           /* path bytes of the record with a path before */
  gboolean base_known;
  gsize memory, budget; /* bytes taken by the records so far, and at most */
} Decoder;

static void
decoder_clear (Decoder *self)
{
  g_clear_pointer (&self->strings, g_ptr_array_unref);
  g_clear_pointer (&self->chunk_sizes, g_array_unref);
  if (self->base != NULL)
    g_string_free (g_steal_pointer (&self->base), TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Decoder, decoder_clear)

/* Memory is counted before it is taken: a few bytes can stand for much. */
static gboolean
take_memory (Decoder *self, gsize n, GError **error)
{
  if (n > self->budget - self->memory)
    return sk_fail (error, SK_ERROR_LIMIT, "The records of one segment would take too much memory");
  self->memory += n;
  return TRUE;
}

static void
get_id (Decoder *self, SkReader *r, SkId *out)
{
  gsize i = sk_reader_varint (r, G_MAXUINT32);

  memset (out, 0, sizeof *out);
  if (r->failed || i >= self->n_ids)
    r->failed = TRUE;
  else
    memcpy (out->bytes, self->ids + i * sizeof *out, sizeof *out);
}

/* --- entries --- */

static char *
get_path (Decoder *self, SkReader *r, GError **error)
{
  gsize shared = sk_reader_varint (r, SK_PATH_MAX), len = 0;
  const guint8 *rest = sk_reader_blob (r, SK_PATH_MAX, &len);
  gboolean known = self->base_known || shared == 0;

  self->base_known = FALSE;
  if (rest == NULL || shared > self->base->len || len > SK_PATH_MAX - shared)
    return sk_fail (error, SK_ERROR_CORRUPT, "The path cannot be read"), NULL;
  if (!known)
    return sk_fail (error, SK_ERROR_CORRUPT, "The path continues one that could not be read"), NULL;
  g_string_truncate (self->base, shared);
  g_string_append_len (self->base, (const char *) rest, (gssize) len);
  self->base_known = TRUE;
  if (!sk_path_check (self->base->str, self->base->len, error))
    return NULL;
  if (!take_memory (self, self->base->len, error))
    return NULL;
  return g_strndup (self->base->str, self->base->len);
}

static SkVector *
get_vector (Decoder *self, SkReader *r, GError **error)
{
  g_autofree SkVectorItem *items = NULL;
  guint n = (guint) sk_reader_varint (r, SK_VECTOR_MAX);

  /* Each item takes two bytes or more. */
  if (r->failed || n > sk_reader_left (r) / 2)
    return sk_fail (error, SK_ERROR_CORRUPT, "The version vector has an impossible length"), NULL;
  if (!take_memory (self, n * sizeof *items, error))
    return NULL;
  items = g_new0 (SkVectorItem, n);
  for (guint i = 0; i < n; i++)
    {
      get_id (self, r, &items[i].writer);
      items[i].counter = sk_reader_varint (r, SK_COUNTER_MAX);
      if (r->failed || items[i].counter == 0
          || (i > 0 && sk_id_compare (&items[i - 1].writer, &items[i].writer) >= 0))
        return sk_fail (error, SK_ERROR_CORRUPT, "The version vector is out of order or bounds"),
               NULL;
    }
  return sk_vector_new (items, n);
}

static gboolean
get_chunk (Decoder *self, guint64 index, SkChunkRef *out, GError **error)
{
  if (index >= self->chunk_sizes->len)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A chunk index points outside the segment's own table");
  memcpy (out->id.bytes, self->chunk_ids + index * sizeof (SkHash), sizeof (SkHash));
  out->size = g_array_index (self->chunk_sizes, guint32, index);
  if (sk_hash_is_zero (&out->id))
    return sk_fail (error, SK_ERROR_CORRUPT, "A chunk has no id");
  return TRUE;
}

/* First index of a run of @count, @step away from the end of the run before it. */
static gboolean
run_start (Decoder *self, gint64 step, guint64 expected, guint64 count, guint64 *first,
           GError **error)
{
  gint64 n = self->chunk_sizes->len, start;

  /* @expected is at most n, so nothing wraps once the step is bounded. */
  if (step < -n || step > n)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A chunk index points outside the segment's own table");
  start = (gint64) expected + step;
  if (start < 0 || start > n || count > (guint64) (n - start))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A chunk index points outside the segment's own table");
  *first = (guint64) start;
  return TRUE;
}

static gboolean
get_run (Decoder *self, SkReader *r, SkEntry *entry, guint64 *expected, GError **error)
{
  guint64 head = sk_reader_varint (r, G_MAXUINT64), count = head / 2, first;
  gint64 step = head % 2 == 0 ? sk_reader_svarint (r) : 0;
  SkChunkRef chunk = { 0 };

  if (r->failed || count == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A chunk list cannot be read");
  if (head % 2 != 0)
    {
      if (count > SK_FILE_SIZE_MAX / SK_ZERO_BLOCK || entry->chunks->len >= SK_ENTRY_CHUNKS_MAX)
        return sk_fail (error, SK_ERROR_LIMIT, "A run of zeros is too long");
      if (!take_memory (self, sizeof chunk, error))
        return FALSE;
      chunk.size = count * SK_ZERO_BLOCK;
      entry->size += chunk.size;
      g_array_append_val (entry->chunks, chunk);
      return TRUE;
    }
  if (count > SK_ENTRY_CHUNKS_MAX - entry->chunks->len)
    return sk_fail (error, SK_ERROR_LIMIT, "A file has too many chunks");
  if (!run_start (self, step, *expected, count, &first, error)
      || !take_memory (self, count * sizeof chunk, error))
    return FALSE;
  for (guint64 i = 0; i < count; i++)
    {
      if (!get_chunk (self, first + i, &chunk, error))
        return FALSE;
      entry->size += chunk.size;
      g_array_append_val (entry->chunks, chunk);
    }
  *expected = first + count;
  return TRUE;
}

static gboolean
get_runs (Decoder *self, SkReader *r, SkEntry *entry, GError **error)
{
  guint64 n = sk_reader_varint (r, SK_ENTRY_CHUNKS_MAX), expected = 0;

  for (guint64 i = 0; i < n; i++)
    {
      if (!get_run (self, r, entry, &expected, error))
        return FALSE;
      if (entry->size > SK_FILE_SIZE_MAX)
        return sk_fail (error, SK_ERROR_LIMIT, "A file is larger than 1 PiB");
    }
  return TRUE;
}

static gboolean
get_stamps (Decoder *self, SkReader *r, SkEntry *entry, GError **error)
{
  guint64 device;
  const char *name;

  g_clear_pointer (&entry->vector, sk_vector_unref);
  entry->vector = get_vector (self, r, error);
  if (entry->vector == NULL)
    return FALSE;
  entry->lamport = sk_reader_varint (r, SK_COUNTER_MAX);
  get_id (self, r, &entry->writer);
  entry->wall = sk_reader_svarint (r);
  device = sk_reader_varint (r, G_MAXUINT32);
  entry->meta_lamport = sk_reader_varint (r, SK_COUNTER_MAX);
  get_id (self, r, &entry->meta_writer);
  entry->mode = (guint32) sk_reader_varint (r, G_MAXUINT32);
  entry->mtime = sk_reader_svarint (r);
  if (r->failed || device >= self->strings->len)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The entry cannot be read, or an index in it points outside its table");
  name = g_ptr_array_index (self->strings, device);
  if (name == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The device name contains a NUL");
  g_free (entry->device_name);
  entry->device_name = g_strdup (name);
  return take_memory (self, strlen (name), error);
}

static gboolean
get_entry (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  guint8 kind = sk_reader_u8 (r);
  guint32 flags = (guint32) sk_reader_varint (r, G_MAXUINT32);
  g_autofree char *path = NULL;
  SkId folder;
  gsize xattrs_len;
  SkEntry *entry;

  get_id (self, r, &folder);
  path = get_path (self, r, error);
  if (path == NULL || !take_memory (self, sizeof *entry, error))
    return FALSE;
  if (kind < SK_KIND_FILE || kind > SK_KIND_TOMBSTONE)
    return sk_fail (error, SK_ERROR_CORRUPT, "The kind %u is unknown", kind);

  entry = record->entry = sk_entry_new (&folder, path, kind);
  entry->flags = flags;
  if (!get_stamps (self, r, entry, error))
    return FALSE;
  xattrs_len = sk_reader_varint (r, SK_XATTR_MAX + 1);
  if (xattrs_len > 0)
    {
      const guint8 *xattrs = sk_reader_take (r, xattrs_len - 1);

      if (xattrs == NULL || !take_memory (self, xattrs_len - 1, error))
        return FALSE;
      entry->xattrs = g_bytes_new (xattrs, xattrs_len - 1);
    }
  if (kind == SK_KIND_SYMLINK)
    {
      g_free (entry->symlink);
      entry->symlink = sk_reader_string (r, SK_SYMLINK_MAX);
      return entry->symlink != NULL && take_memory (self, strlen (entry->symlink), error);
    }
  return kind != SK_KIND_FILE || get_runs (self, r, entry, error);
}

/* --- packs and definitions --- */

static gboolean
get_row (Decoder *self, SkReader *r, guint64 index, SkMethod method, gboolean placed,
         guint64 *place, SkPackRow *out, GError **error)
{
  SkChunkRef chunk;
  guint64 gap = placed ? sk_reader_varint (r, SK_PACK_SIZE_MAX) : 0;
  gint64 saved = sk_reader_svarint (r), stored;

  if (!get_chunk (self, index, &chunk, error))
    return FALSE;
  if (saved > G_MAXUINT32 || saved < -(gint64) G_MAXUINT32)
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack holds a chunk of impossible length");
  stored = (gint64) chunk.size + SK_SEAL_OVERHEAD - saved;
  if (stored < 0 || stored > SK_PACK_SIZE_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack holds a chunk of impossible length");
  *out = (SkPackRow) { .id = chunk.id,
                       .offset = *place + gap,
                       .stored_len = (guint32) stored,
                       .plain_len = (guint32) chunk.size,
                       .method = method };
  *place = out->offset + out->stored_len;
  return TRUE;
}

static gboolean
get_rows (Decoder *self, SkReader *r, SkPackPut *pack, gboolean placed, GError **error)
{
  guint n = (guint) sk_reader_varint (r, SK_PACK_CHUNKS_MAX);
  guint64 place = placed ? 0 : SK_PACK_BODY_START, expected = 0;

  /* Each row takes a byte or more. */
  if (r->failed || n > sk_reader_left (r))
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack has an impossible number of chunks");
  if (!take_memory (self, n * sizeof (SkPackRow), error))
    return FALSE;
  pack->rows = g_array_sized_new (FALSE, FALSE, sizeof (SkPackRow), n);
  while (pack->rows->len < n)
    {
      SkMethod method = sk_reader_u8 (r);
      gint64 step = sk_reader_svarint (r);
      guint64 count = sk_reader_varint (r, n - pack->rows->len), first;

      if (r->failed || count == 0)
        return sk_fail (error, SK_ERROR_CORRUPT, "The chunks of a pack cannot be read");
      if (!run_start (self, step, expected, count, &first, error))
        return FALSE;
      for (guint64 i = 0; i < count; i++)
        {
          SkPackRow row;

          if (!get_row (self, r, first + i, method, placed, &place, &row, error))
            return FALSE;
          g_array_append_val (pack->rows, row);
        }
      expected = first + count;
    }
  return TRUE;
}

static gboolean
get_pack (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  SkPackPut *pack = record->pack = g_new0 (SkPackPut, 1);
  guint8 flags;

  get_id (self, r, &pack->storage);
  sk_reader_hash (r, &pack->name);
  get_id (self, r, &pack->epoch);
  pack->size = sk_reader_varint (r, SK_PACK_SIZE_MAX);
  flags = sk_reader_u8 (r);
  if (r->failed || (flags & ~SK_PACK_PUT_PLACED) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack cannot be read, or has unknown flags");
  return take_memory (self, sizeof *pack, error) && get_rows (self, r, pack, flags != 0, error);
}

static gboolean
get_pack_ref (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  record->pack_ref = g_new0 (SkPackRef, 1);
  get_id (self, r, &record->pack_ref->storage);
  sk_reader_hash (r, &record->pack_ref->name);
  return take_memory (self, sizeof *record->pack_ref, error);
}

static gboolean
get_definition (Decoder *self, SkReader *r, SkId *id, guint64 *lamport, SkId *writer,
                gboolean *deleted, char **name)
{
  guint8 flag;

  get_id (self, r, id);
  *lamport = sk_reader_varint (r, SK_COUNTER_MAX);
  get_id (self, r, writer);
  flag = sk_reader_u8 (r);
  if (flag > 1)
    r->failed = TRUE;
  *deleted = flag == 1;
  *name = sk_reader_string (r, SK_LABEL_MAX);
  return !r->failed;
}

static gboolean
get_folder (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  SkFolderDef *folder = record->folder = g_new0 (SkFolderDef, 1);
  guint n;

  folder->storages = g_array_new (FALSE, FALSE, sizeof (SkId));
  if (!get_definition (self, r, &folder->id, &folder->lamport, &folder->writer, &folder->deleted,
                       &folder->name))
    return sk_fail (error, SK_ERROR_CORRUPT, "A folder cannot be read");
  n = (guint) sk_reader_varint (r, SK_STORAGES_MAX);
  for (guint i = 0; i < n; i++)
    {
      SkId storage;

      get_id (self, r, &storage);
      g_array_append_val (folder->storages, storage);
    }
  return take_memory (self, sizeof *folder + strlen (folder->name) + n * sizeof (SkId), error);
}

static gboolean
get_storage (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  SkStorageDef *storage = record->storage = g_new0 (SkStorageDef, 1);

  if (!get_definition (self, r, &storage->id, &storage->lamport, &storage->writer,
                       &storage->deleted, &storage->name))
    return sk_fail (error, SK_ERROR_CORRUPT, "A storage cannot be read");
  storage->uri = sk_reader_string (r, SK_URI_MAX);
  if (storage->uri == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The address of a storage cannot be read");
  return take_memory (self, sizeof *storage + strlen (storage->name) + strlen (storage->uri),
                      error);
}

static gboolean
get_member (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  gsize len = sk_reader_left (r);
  const guint8 *bytes = len <= SK_MEMBER_MAX ? sk_reader_take (r, len) : NULL;

  record->member = g_bytes_new (bytes, bytes != NULL ? len : 0);
  if (bytes == NULL)
    return sk_fail (error, SK_ERROR_LIMIT, "A membership record is too large");
  return take_memory (self, len, error);
}

static gboolean
get_modes (Decoder *self, SkReader *r, SkRecord *record, GError **error)
{
  SkModes *modes = record->modes = g_new0 (SkModes, 1);
  guint8 classes;

  get_id (self, r, &modes->folder);
  modes->path = get_path (self, r, error);
  if (modes->path == NULL || !take_memory (self, sizeof *modes, error))
    return FALSE;
  classes = sk_reader_u8 (r);
  if (classes == 0 || classes > 3)
    return sk_fail (error, SK_ERROR_CORRUPT, "The modes of a path cannot be read");
  for (guint i = 0; i < G_N_ELEMENTS (modes->stamp); i++)
    {
      SkModeStamp *stamp = &modes->stamp[i];

      stamp->set = (classes >> i & 1) != 0;
      if (!stamp->set)
        continue;
      stamp->lamport = sk_reader_varint (r, SK_COUNTER_MAX);
      get_id (self, r, &stamp->writer);
      stamp->mode = (guint32) sk_reader_varint (r, G_MAXUINT32);
    }
  return !r->failed;
}

/* --- the body --- */

static SkRecord *
get_record (Decoder *self, guint8 type, const guint8 *content, gsize len, GError **error)
{
  static gboolean (*const getters[]) (Decoder *, SkReader *, SkRecord *, GError **) = {
    [SK_RECORD_FOLDER] = get_folder,      [SK_RECORD_ENTRY] = get_entry,
    [SK_RECORD_PACK_PUT] = get_pack,      [SK_RECORD_PACK_DROP] = get_pack_ref,
    [SK_RECORD_PACK_KEEP] = get_pack_ref, [SK_RECORD_PACK_VERIFIED] = get_pack_ref,
    [SK_RECORD_STORAGE] = get_storage,    [SK_RECORD_MEMBER] = get_member,
    [SK_RECORD_MODES] = get_modes,
  };
  g_autoptr(SkRecord) record = NULL;
  SkReader r;

  if (type >= G_N_ELEMENTS (getters) || getters[type] == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The type %u of the record is unknown", type), NULL;
  sk_reader_init (&r, content, len);
  record = g_new0 (SkRecord, 1);
  record->type = type;
  if (!take_memory (self, sizeof *record, error))
    return NULL;
  if (!getters[type](self, &r, record, error))
    {
      if (error != NULL && *error == NULL)
        sk_fail (error, SK_ERROR_CORRUPT, "The record cannot be read");
      return NULL;
    }
  if (!sk_reader_done (&r))
    return sk_fail (error, SK_ERROR_CORRUPT, "The record cannot be read, or bytes are left over"),
           NULL;
  if (!sk_record_check (record, error))
    return NULL;
  if (type == SK_RECORD_ENTRY)
    sk_entry_seal_content (record->entry);
  return g_steal_pointer (&record);
}

static gboolean
read_strings (Decoder *self, SkReader *r)
{
  gsize n = sk_reader_varint (r, G_MAXUINT32);

  self->strings = g_ptr_array_new_with_free_func (g_free);
  /* Each is used by a record at least: an empty one takes a byte here and much more in memory. */
  if (r->failed || n > SK_SEGMENT_RECORDS_MAX)
    return FALSE;
  for (gsize i = 0; i < n && !r->failed; i++)
    {
      gsize len;
      const guint8 *bytes = sk_reader_blob (r, SK_LABEL_MAX, &len);

      /* Not refused here: a bad name concerns the entries that use it, not the segment. */
      g_ptr_array_add (self->strings, bytes == NULL || memchr (bytes, 0, len) != NULL
                                          ? NULL
                                          : g_strndup ((const char *) bytes, len));
    }
  return !r->failed;
}

static gboolean
read_chunks (Decoder *self, SkReader *r)
{
  gsize n = sk_reader_varint (r, G_MAXUINT32);

  self->chunk_sizes = g_array_new (FALSE, FALSE, sizeof (guint32));
  if (r->failed || n > sk_reader_left (r) / (1 + sizeof (SkHash)))
    return FALSE;
  for (gsize i = 0; i < n && !r->failed; i++)
    {
      guint32 size = (guint32) sk_reader_varint (r, G_MAXUINT32);

      g_array_append_val (self->chunk_sizes, size);
    }
  self->chunk_ids = sk_reader_take (r, n * sizeof (SkHash));
  return sk_reader_done (r);
}

static gboolean
read_tables (Decoder *self, SkReader *r, SkReader *frames, guint *n)
{
  const guint8 *bytes;
  gsize len;

  self->n_ids = sk_reader_varint (r, G_MAXUINT32);
  self->ids = sk_reader_take (r, self->n_ids * sizeof (SkId));
  if (!read_strings (self, r))
    return FALSE;
  *n = (guint) sk_reader_varint (r, SK_SEGMENT_RECORDS_MAX);
  bytes = sk_reader_blob (r, SK_SEGMENT_PLAIN_MAX, &len);
  if (bytes == NULL)
    return FALSE;
  sk_reader_init (frames, bytes, len);
  return read_chunks (self, r);
}

static void
report (GPtrArray *refused, guint number, const GError *error)
{
  if (refused == NULL || refused->len > REPORTS_MAX)
    return;
  if (refused->len == REPORTS_MAX)
    g_ptr_array_add (refused,
                     g_strdup_printf ("Record %u and perhaps more were refused as well", number));
  else
    g_ptr_array_add (refused, g_strdup_printf ("Record %u: %s", number, error->message));
}

GPtrArray *
sk_records_decode (const guint8 *data, gsize len, GPtrArray *refused, GError **error)
{
  return sk_records_decode_within (data, len, SK_BODY_MEMORY_MAX, refused, error);
}

GPtrArray *
sk_records_decode_within (const guint8 *data, gsize len, gsize budget, GPtrArray *refused,
                          GError **error)
{
  g_auto(Decoder) self = { .base = g_string_new (NULL), .base_known = TRUE, .budget = budget };
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  SkReader r, frames;
  guint8 version;
  guint n = 0;

  sk_reader_init (&r, data, len);
  version = sk_reader_u8 (&r);
  if (version > SK_BODY_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "The records were written by a newer version of this program"),
           NULL;
  if (version == 0 || !read_tables (&self, &r, &frames, &n))
    return sk_fail (error, SK_ERROR_CORRUPT, "The tables of the records are damaged"), NULL;

  for (guint i = 0; i < n; i++)
    {
      guint8 type = sk_reader_u8 (&frames);
      gsize content_len, memory = self.memory;
      const guint8 *content = sk_reader_blob (&frames, SK_SEGMENT_PLAIN_MAX, &content_len);
      g_autoptr(GError) why = NULL;
      SkRecord *record;

      if (content == NULL)
        return sk_fail (error, SK_ERROR_CORRUPT, "Record %u runs over the end of the records", i),
               NULL;
      record = get_record (&self, type, content, content_len, &why);
      if (record != NULL)
        {
          g_ptr_array_add (records, record);
          continue;
        }
      self.memory = memory;
      report (refused, i, why);
    }
  if (!sk_reader_done (&frames))
    return sk_fail (error, SK_ERROR_CORRUPT, "Bytes are left over behind the records"), NULL;
  return g_steal_pointer (&records);
}
