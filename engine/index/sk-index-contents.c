/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contents and the chunks they are made of. */
#include "sk-index-private.h"

#include <string.h>

/* --- chunk lists --- */

void
sk_chunk_list_add_zeros (SkWriter *writer, guint64 size)
{
  sk_writer_varint (writer, size / SK_ZERO_BLOCK << 1 | 1);
}

void
sk_chunk_list_add_chunk (SkWriter *writer, gint64 row, gint64 *previous)
{
  gint64 step = row - *previous;

  sk_writer_varint (writer, ((guint64) step << 1 ^ (guint64) (step >> 63)) << 1);
  *previous = row;
}

GArray *
sk_chunk_list_decode (const guint8 *data, gsize len)
{
  g_autoptr(GArray) items = g_array_new (FALSE, FALSE, sizeof (SkChunkListItem));
  gint64 previous = 0;
  SkReader reader;

  sk_reader_init (&reader, data, len);
  while (sk_reader_left (&reader) > 0 && !reader.failed)
    {
      guint64 v = sk_reader_varint (&reader, G_MAXUINT64);
      guint64 folded = v >> 1;
      SkChunkListItem item = { 0 };

      if ((v & 1) != 0 && folded > 0 && folded <= SK_FILE_SIZE_MAX / SK_ZERO_BLOCK)
        item.zero_size = folded * SK_ZERO_BLOCK;
      else if ((v & 1) == 0)
        item.chunk = previous = (gint64) ((guint64) previous + (folded >> 1 ^ (0 - (folded & 1))));
      if ((item.chunk <= 0 && item.zero_size == 0) || items->len >= SK_ENTRY_CHUNKS_MAX)
        return NULL;
      g_array_append_val (items, item);
    }
  return sk_reader_done (&reader) ? g_steal_pointer (&items) : NULL;
}

/* --- chunk rows --- */

/* The id is a hash, and SK_KNOWN_CHUNKS a power of two. */
static SkKnownChunk *
chunk_slot (SkIndex *self, const SkHash *id)
{
  return &self->known_chunks[sk_hash_hash (id) % SK_KNOWN_CHUNKS];
}

const SkChunkRow *
sk_index_known_chunk (SkIndex *self, const SkHash *id)
{
  const SkKnownChunk *known = chunk_slot (self, id);

  return known->chunk.row != 0 && sk_hash_equal (&known->id, id) ? &known->chunk : NULL;
}

static void
remember_chunk (SkIndex *self, const SkHash *id, SkChunkRow chunk)
{
  *chunk_slot (self, id) = (SkKnownChunk) { *id, chunk };
}

static void
forget_chunk (SkIndex *self, const SkHash *id)
{
  if (sk_index_known_chunk (self, id) != NULL)
    chunk_slot (self, id)->chunk.row = 0;
}

static gboolean
content_is_here (SkIndex *self, gint64 content, SkHintMemo *memo, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gint64 node;

  if (content == 0)
    {
      memo->here = FALSE;
      memo->content = 0;
      return TRUE;
    }
  if (memo->content == content)
    return TRUE;
  statement = sk_sql (self, SK_SQL_NODE_CONTENT_ANY, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, content);
  if (!sk_read_int (self, statement, 0, &node, error))
    return FALSE;
  *memo = (SkHintMemo) { content, node != 0 };
  return TRUE;
}

/* A chunk keeps a content that is on this disk as its first hint, and the newest one as its second: while a new version of a
 * file is on its way, the old one still says where its chunks are. */
static gboolean
update_hints (SkIndex *self, const SkHash *id, SkChunkRow chunk, gint64 content, SkHintMemo *memo, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gint64 hint = chunk.hint, newer = chunk.hint_newer;

  if (content == 0 || content == hint || content == newer)
    return TRUE;
  forget_chunk (self, id);
  if (!content_is_here (self, hint, memo, error))
    return FALSE;
  statement = sk_sql (self, SK_SQL_CHUNK_SET_HINTS, error);
  if (statement == NULL)
    return FALSE;
  if (!memo->here)
    hint = newer != 0 ? newer : content;
  sk_bind_int (statement, 1, chunk.row);
  sk_bind_int (statement, 2, hint);
  sk_bind_int (statement, 3, hint != content ? content : 0);
  return sk_run (self, statement, error);
}

static gboolean
read_chunk_row (SkIndex *self, gint64 row, const SkHash *id, GArray *out, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CHUNK_IS, error);
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_hash (statement, 2, id);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ROW)
    {
      SkChunkRow chunk = { row, (guint64) sk_col_int (statement, 0), sk_col_int (statement, 1), sk_col_int (statement, 2) };

      g_array_append_val (out, chunk);
    }
  return step != SK_STEP_ERROR;
}

GArray *
sk_index_chunk_rows (SkIndex *self, const SkHash *id, GError **error)
{
  g_autoptr(GArray) candidates = NULL;
  g_autoptr(GArray) chunks = g_array_new (FALSE, FALSE, sizeof (SkChunkRow));
  const SkChunkRow *known = sk_index_known_chunk (self, id);

  if (known != NULL)
    {
      g_array_append_vals (chunks, known, 1);
      return g_steal_pointer (&chunks);
    }
  candidates = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (!sk_hash_index_find (self, self->chunk_hashes, id, candidates, error))
    return NULL;
  for (guint i = 0; i < candidates->len; i++)
    if (!read_chunk_row (self, g_array_index (candidates, gint64, i), id, chunks, error))
      return NULL;
  if (chunks->len == 1)
    remember_chunk (self, id, g_array_index (chunks, SkChunkRow, 0));
  return g_steal_pointer (&chunks);
}

static gint64
insert_chunk (SkIndex *self, const SkHash *id, guint64 size, gint64 content, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CHUNK_ADD, error);
  gint64 row;

  if (statement == NULL)
    return 0;
  sk_bind_hash (statement, 1, id);
  sk_bind_int (statement, 2, (gint64) size);
  sk_bind_int (statement, 3, content);
  if (!sk_run (self, statement, error))
    return 0;
  row = sqlite3_last_insert_rowid (self->db);
  return sk_hash_index_add (self, self->chunk_hashes, id, row, error) ? row : 0;
}

gint64
sk_index_chunk_ensure (SkIndex *self, const SkHash *id, guint64 size, gint64 content, SkHintMemo *memo, GError **error)
{
  const SkChunkRow *known = sk_index_known_chunk (self, id);
  g_autoptr(GArray) chunks = NULL;
  gint64 row;

  if (known != NULL && known->size == size)
    {
      row = known->row;
      return update_hints (self, id, *known, content, memo, error) ? row : 0;
    }
  chunks = sk_index_chunk_rows (self, id, error);
  for (guint i = 0; chunks != NULL && i < chunks->len; i++)
    {
      const SkChunkRow *chunk = &g_array_index (chunks, SkChunkRow, i);

      if (chunk->size == size)
        return update_hints (self, id, *chunk, content, memo, error) ? chunk->row : 0;
    }
  row = chunks != NULL ? insert_chunk (self, id, size, content, error) : 0;
  if (row != 0 && chunks->len == 0)
    remember_chunk (self, id, (SkChunkRow) { row, size, content, 0 });
  else
    forget_chunk (self, id);
  return row;
}

/* --- contents --- */

static gboolean
is_content (SkIndex *self, gint64 row, const SkHash *content, gboolean *is, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CONTENT_IS, error);
  gint64 found;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_hash (statement, 2, content);
  if (!sk_read_int (self, statement, 0, &found, error))
    return FALSE;
  *is = found != 0;
  return TRUE;
}

static SkKnownContent *
known_slot (SkIndex *self, const SkHash *content)
{
  return &self->known_contents[sk_hash_hash (content) % SK_KNOWN_CONTENTS];
}

void
sk_index_forget_contents (SkIndex *self)
{
  memset (self->known_contents, 0, SK_KNOWN_CONTENTS * sizeof (SkKnownContent));
  memset (self->known_chunks, 0, SK_KNOWN_CHUNKS * sizeof (SkKnownChunk));
}

gint64
sk_index_content_find (SkIndex *self, const SkHash *content, GError **error)
{
  SkKnownContent *known = known_slot (self, content);
  g_autoptr(GArray) candidates = NULL;

  if (known->row != 0 && sk_hash_equal (&known->hash, content))
    return known->row;
  candidates = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (!sk_hash_index_find (self, self->content_hashes, content, candidates, error))
    return 0;
  for (guint i = 0; i < candidates->len; i++)
    {
      gint64 row = g_array_index (candidates, gint64, i);
      gboolean is;

      if (!is_content (self, row, content, &is, error))
        return 0;
      if (is)
        {
          *known = (SkKnownContent) { *content, row };
          return row;
        }
    }
  return 0;
}

gint64
sk_index_content_row (SkIndex *self, const SkHash *content)
{
  g_autoptr(GError) error = NULL;
  gint64 row = sk_index_content_find (self, content, &error);

  if (error != NULL)
    sk_index_keep_error (self, g_steal_pointer (&error));
  return row;
}

/* The row comes first, because the chunks point to it. */
static gint64
next_content_row (SkIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gint64 last;

  if (self->next_content == 0)
    {
      statement = sk_sql (self, SK_SQL_CONTENT_LAST, error);
      if (statement == NULL || !sk_read_int (self, statement, 0, &last, error))
        return 0;
      self->next_content = last + 1;
    }
  return self->next_content++;
}

static gboolean
write_chunk_list (SkIndex *self, const SkEntry *entry, gint64 content, SkWriter *writer, GError **error)
{
  SkHintMemo memo = { 0 };
  gint64 previous = 0;
  guint64 sum = 0;

  for (guint i = 0; entry->chunks != NULL && i < entry->chunks->len; i++)
    {
      const SkChunkRef *chunk = &g_array_index (entry->chunks, SkChunkRef, i);
      gint64 row;

      sum += chunk->size;
      if (sk_chunk_ref_is_zero (chunk))
        {
          sk_chunk_list_add_zeros (writer, chunk->size);
          continue;
        }
      row = sk_index_chunk_ensure (self, &chunk->id, chunk->size, content, &memo, error);
      if (row == 0)
        return FALSE;
      sk_chunk_list_add_chunk (writer, row, &previous);
    }
  if (sum != entry->size)
    return sk_fail (error, SK_ERROR_CORRUPT, "The chunks of a file do not add up to its size");
  return TRUE;
}

static gboolean
insert_content (SkIndex *self, gint64 row, const SkEntry *entry, const SkWriter *chunks, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CONTENT_ADD, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_hash (statement, 2, &entry->content);
  sk_bind_int (statement, 3, (gint64) entry->size);
  if (entry->kind == SK_KIND_FILE)
    sk_bind_blob (statement, 4, chunks->bytes->data, chunks->bytes->len);
  sk_bind_text (statement, 5, entry->symlink);
  sk_bind_bytes (statement, 6, entry->xattrs);
  return sk_run (self, statement, error) && sk_hash_index_add (self, self->content_hashes, &entry->content, row, error);
}

gint64
sk_index_content_add (SkIndex *self, const SkEntry *entry, GError **error)
{
  g_auto(SkWriter) writer = { 0 };
  GError *why = NULL;
  gint64 row = sk_index_content_find (self, &entry->content, &why);

  if (row != 0)
    return row;
  sk_writer_init (&writer);
  row = why == NULL ? next_content_row (self, &why) : 0;
  if (row != 0 && write_chunk_list (self, entry, row, &writer, &why) && insert_content (self, row, entry, &writer, &why))
    return row;
  sk_index_lose (self, why, error);    /* chunks may point to a content that is not there */
  return 0;
}

/* --- reading chunk lists --- */

/* The list of a content; empty for one that is no file. *@size: bytes of the file. */
static GArray *
read_chunk_list (SkIndex *self, gint64 content, guint64 *size, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CONTENT_CHUNKS, error);
  g_autoptr(GArray) items = NULL;
  const guint8 *data;
  gsize len;
  SkStep step;

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, content);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ERROR)
    return NULL;
  if (step == SK_STEP_DONE)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "The database %s does not know the content that was asked for", self->path), NULL;
  *size = (guint64) sk_col_int (statement, 0);
  data = sk_col_blob (statement, 1, &len);
  items = sk_chunk_list_decode (data, len);
  return items != NULL ? g_steal_pointer (&items) : (sk_index_damaged (self, "a chunk list cannot be read", error), NULL);
}

/* How many elements from @from on are chunks in consecutive rows: they are read with one question. */
static guint
run_length (const SkChunkListItem *items, guint from, guint n)
{
  guint at = from + 1;

  while (at < n && items[at].chunk != 0 && items[at].chunk == items[at - 1].chunk + 1)
    at++;
  return at - from;
}

static gboolean
read_run (SkIndex *self, const SkChunkListItem *items, guint n, GArray *out, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CHUNK_RANGE, error);
  gboolean damaged = FALSE;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, items[0].chunk);
  sk_bind_int (statement, 2, items[n - 1].chunk);
  for (guint i = 0; i < n && !damaged; i++)
    {
      SkStep step = sk_step (self, statement, error);
      SkChunkRef chunk;

      if (step == SK_STEP_ERROR)
        return FALSE;
      if (step == SK_STEP_DONE || sk_col_int (statement, 0) != items[i].chunk)
        return sk_index_damaged (self, "a chunk is missing", error);
      sk_col_hash (statement, 1, &chunk.id, &damaged);
      chunk.size = sk_col_bounded (statement, 2, SK_CHUNK_SIZE_MAX, &damaged);
      g_array_append_val (out, chunk);
    }
  return damaged ? sk_index_damaged (self, "a chunk is impossible", error) : TRUE;
}

static GArray *
resolve_chunk_list (SkIndex *self, const GArray *items, guint64 size, GError **error)
{
  g_autoptr(GArray) chunks = g_array_sized_new (FALSE, TRUE, sizeof (SkChunkRef), items->len);
  const SkChunkListItem *list = (const SkChunkListItem *) (gconstpointer) items->data;
  guint64 sum = 0;

  for (guint i = 0; i < items->len;)
    {
      guint n = 1;

      if (list[i].chunk == 0)
        g_array_append_val (chunks, ((SkChunkRef) { .size = list[i].zero_size }));
      else
        {
          n = run_length (list, i, items->len);
          if (!read_run (self, list + i, n, chunks, error))
            return NULL;
        }
      i += n;
    }
  for (guint i = 0; i < chunks->len; i++)
    sum += g_array_index (chunks, SkChunkRef, i).size;
  return sum == size ? g_steal_pointer (&chunks) : (sk_index_damaged (self, "a chunk list has another length than its file", error), NULL);
}

GArray *
sk_index_content_chunks (SkIndex *self, gint64 content, GError **error)
{
  guint64 size;
  g_autoptr(GArray) items = read_chunk_list (self, content, &size, error);

  return items != NULL ? resolve_chunk_list (self, items, size, error) : NULL;
}

gboolean
sk_index_content_xattrs (SkIndex *self, gint64 content, GBytes **out, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  SkStep step;

  *out = NULL;
  if (content == 0)
    return TRUE;
  statement = sk_sql (self, SK_SQL_CONTENT_XATTRS, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, content);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ROW)
    *out = sk_col_bytes (statement, 0);
  return step != SK_STEP_ERROR;
}

/* --- where a chunk lies in a file of this disk --- */

/* The chunks of the content that was asked for last, ascending by row: a planner asks for many chunks of one file. */
typedef struct { gint64 chunk; guint64 offset; } Offset;
struct _SkOffsetCache { gint64 content; GArray *offsets; };

void
sk_offset_cache_free (SkOffsetCache *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->offsets);
  g_free (self);
}

static int
compare_offsets (gconstpointer a, gconstpointer b)
{
  const Offset *x = a, *y = b;

  if (x->chunk != y->chunk)
    return x->chunk < y->chunk ? -1 : 1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static gboolean
load_offsets (SkIndex *self, gint64 content, GError **error)
{
  guint64 size, at = 0;
  g_autoptr(GArray) items = read_chunk_list (self, content, &size, error);
  g_autoptr(GArray) chunks = items != NULL ? resolve_chunk_list (self, items, size, error) : NULL;
  SkOffsetCache *cache;

  if (chunks == NULL)
    return FALSE;
  g_clear_pointer (&self->offsets, sk_offset_cache_free);
  cache = self->offsets = g_new0 (SkOffsetCache, 1);
  cache->content = content;
  cache->offsets = g_array_sized_new (FALSE, FALSE, sizeof (Offset), items->len);
  for (guint i = 0; i < items->len; i++)
    {
      Offset offset = { g_array_index (items, SkChunkListItem, i).chunk, at };

      at += g_array_index (chunks, SkChunkRef, i).size;
      if (offset.chunk != 0)
        g_array_append_val (cache->offsets, offset);
    }
  g_array_sort (cache->offsets, compare_offsets);
  return TRUE;
}

static gboolean
find_offset (SkIndex *self, gint64 content, gint64 chunk, guint64 *offset, gboolean *found, GError **error)
{
  guint low = 0, high;

  if ((self->offsets == NULL || self->offsets->content != content) && !load_offsets (self, content, error))
    return FALSE;
  high = self->offsets->offsets->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->offsets->offsets, Offset, middle).chunk < chunk)
        low = middle + 1;
      else
        high = middle;
    }
  *found = low < self->offsets->offsets->len && g_array_index (self->offsets->offsets, Offset, low).chunk == chunk;
  if (*found)
    *offset = g_array_index (self->offsets->offsets, Offset, low).offset;
  return TRUE;
}

static gboolean
node_with_content (SkIndex *self, gint64 content, gint64 *node, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_CONTENT_ANY, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, content);
  return sk_read_int (self, statement, 0, node, error);
}

/* *@node stays 0 when the hint is of no use. */
static gboolean
try_hint (SkIndex *self, gint64 chunk, gint64 hint, gint64 *node, guint64 *offset, GError **error)
{
  gboolean found = FALSE;

  *node = 0;
  if (hint == 0)
    return TRUE;
  if (!node_with_content (self, hint, node, error))
    return FALSE;
  if (*node != 0 && !find_offset (self, hint, chunk, offset, &found, error))
    return FALSE;
  if (!found)
    *node = 0;
  return TRUE;
}

gint64
sk_index_chunk_local (SkIndex *self, const SkHash *id, gint64 *content, guint64 *offset, GError **error)
{
  g_autoptr(GArray) chunks = sk_index_chunk_rows (self, id, error);

  for (guint i = 0; chunks != NULL && i < chunks->len; i++)
    {
      const SkChunkRow *chunk = &g_array_index (chunks, SkChunkRow, i);
      const gint64 hints[] = { chunk->hint, chunk->hint_newer };

      for (guint j = 0; j < G_N_ELEMENTS (hints); j++)
        {
          gint64 node;

          if (!try_hint (self, chunk->row, hints[j], &node, offset, error))
            return 0;
          if (node != 0)
            {
              *content = hints[j];
              return node;
            }
        }
    }
  return 0;
}
