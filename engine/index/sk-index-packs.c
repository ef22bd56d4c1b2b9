/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packs and where chunks are stored. RULES A2 to A4: a chunk is held only by packs that nobody has condemned, in a storage that
 * counts for the folder. */
#include "sk-index-private.h"

static gboolean
find_pack (SkIndex *self, gint64 storage, const SkHash *name, gint64 *row, gboolean *filled, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PACK_FIND, error);
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, storage);
  sk_bind_hash (statement, 2, name);
  step = sk_step (self, statement, error);
  *row = step == SK_STEP_ROW ? sk_col_int (statement, 0) : 0;
  *filled = step == SK_STEP_ROW && sk_col_int (statement, 1) != 0;
  return step != SK_STEP_ERROR;
}

static gint64
insert_pack (SkIndex *self, gint64 storage, const SkHash *name, const SkId *epoch, guint64 size, gboolean filled, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PACK_ADD, error);

  if (statement == NULL)
    return 0;
  sk_bind_int (statement, 1, storage);
  sk_bind_hash (statement, 2, name);
  sk_bind_id (statement, 3, epoch);
  sk_bind_int (statement, 4, (gint64) size);
  sk_bind_int (statement, 5, filled);
  return sk_run (self, statement, error) ? sqlite3_last_insert_rowid (self->db) : 0;
}

static gboolean
fill_pack (SkIndex *self, gint64 row, const SkPackPut *pack, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PACK_FILL, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_id (statement, 2, &pack->epoch);
  sk_bind_int (statement, 3, (gint64) pack->size);
  return sk_run (self, statement, error);
}

static gboolean
add_place (SkIndex *self, gint64 pack, const SkPackRow *row, GError **error)
{
  gint64 chunk = sk_index_chunk_ensure (self, &row->id, row->plain_len, 0, NULL, error);
  g_autoptr(SkStatement) statement = chunk != 0 ? sk_sql (self, SK_SQL_PLACE_ADD, error) : NULL;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, pack);
  sk_bind_int (statement, 2, chunk);
  sk_bind_int (statement, 3, (gint64) row->offset);
  sk_bind_int (statement, 4, row->stored_len);
  sk_bind_int (statement, 5, row->method);
  return sk_run (self, statement, error);
}

gboolean
sk_index_pack_add (SkIndex *self, const SkPackPut *pack, GError **error)
{
  gint64 storage = sk_index_storage_ensure (self, &pack->storage, error), row;
  gboolean filled;

  if (storage == 0 || !find_pack (self, storage, &pack->name, &row, &filled, error))
    return FALSE;
  if (filled)
    return TRUE;
  /* Somebody's word about a pack may arrive before the record that describes it. */
  if (row != 0 && !fill_pack (self, row, pack, error))
    return FALSE;
  if (row == 0)
    row = insert_pack (self, storage, &pack->name, &pack->epoch, pack->size, TRUE, error);
  if (row == 0)
    return FALSE;
  for (guint i = 0; pack->rows != NULL && i < pack->rows->len; i++)
    if (!add_place (self, row, &g_array_index (pack->rows, SkPackRow, i), error))
      return FALSE;
  return TRUE;
}

gboolean
sk_index_pack_set_state (SkIndex *self, gint64 storage, const SkHash *name, SkPackState state, const SkId *by, gint64 wall, GError **error)
{
  static const SkId unknown = { 0 };
  g_autoptr(SkStatement) statement = NULL;
  gboolean filled;
  gint64 row;

  if (!find_pack (self, storage, name, &row, &filled, error))
    return FALSE;
  if (row == 0)
    row = insert_pack (self, storage, name, &unknown, 0, FALSE, error);
  statement = row != 0 ? sk_sql (self, SK_SQL_PACK_SET_STATE, error) : NULL;
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, row);
  sk_bind_int (statement, 2, state);
  if (by != NULL)
    sk_bind_id (statement, 3, by);
  sk_bind_int (statement, 4, wall);
  self->losses += state != SK_PACK_LIVE;
  return sk_run (self, statement, error);
}

guint64
sk_index_losses (SkIndex *self)
{
  return self->losses;
}

/* --- who holds a chunk --- */

static gboolean
is_one_of (gint64 storage, const gint64 *storages, guint n)
{
  for (guint i = 0; i < n; i++)
    if (storages[i] == storage)
      return TRUE;
  return FALSE;
}

static gboolean
row_held (SkIndex *self, gint64 chunk, const gint64 *storages, guint n, gboolean *held, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CHUNK_HELD, error);
  SkStep step = SK_STEP_DONE;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, chunk);
  while (!*held && (step = sk_step (self, statement, error)) == SK_STEP_ROW)
    *held = is_one_of (sk_col_int (statement, 0), storages, n);
  return step != SK_STEP_ERROR;
}

gboolean
sk_index_chunks_held (SkIndex *self, const SkHash *ids, guint n, const gint64 *storages, guint n_storages, gboolean *held, GError **error)
{
  for (guint i = 0; i < n; i++)
    {
      const SkChunkRow *known = sk_index_known_chunk (self, &ids[i]);
      g_autoptr(GArray) chunks = known == NULL ? sk_index_chunk_rows (self, &ids[i], error) : NULL;

      held[i] = FALSE;
      if (known == NULL && chunks == NULL)
        return FALSE;
      if (known != NULL)
        {
          if (!row_held (self, known->row, storages, n_storages, &held[i], error))
            return FALSE;
          continue;
        }
      for (guint j = 0; j < chunks->len; j++)
        if (!row_held (self, g_array_index (chunks, SkChunkRow, j).row, storages, n_storages, &held[i], error))
          return FALSE;
    }
  return TRUE;
}

static gboolean
read_places (SkIndex *self, const SkHash *id, const SkChunkRow *chunk, GArray *places, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_CHUNK_PLACES, error);
  gboolean damaged = chunk->size == 0 || chunk->size > SK_CHUNK_SIZE_MAX;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, chunk->row);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkChunkPlace place = { .storage = sk_col_int (statement, 0), .row = { .id = *id, .plain_len = (guint32) chunk->size } };

      sk_col_hash (statement, 1, &place.pack, &damaged);
      sk_col_id (statement, 2, &place.epoch, &damaged);
      place.pack_size = (guint64) sk_col_int (statement, 3);
      place.condemned = sk_col_int (statement, 4) != SK_PACK_LIVE;
      place.row.offset = sk_col_bounded (statement, 5, SK_PACK_SIZE_MAX, &damaged);
      place.row.stored_len = sk_col_bounded (statement, 6, SK_PACK_SIZE_MAX, &damaged);
      place.row.method = sk_col_bounded (statement, 7, G_MAXUINT8, &damaged);
      g_array_append_val (places, place);
    }
  if (step == SK_STEP_DONE && damaged)
    return sk_index_damaged (self, "the place of a chunk is impossible", error);
  return step == SK_STEP_DONE;
}

/* Uncondemned first; of these the smallest name, which is the one that stays when there are several (A2). */
static int
compare_places (gconstpointer a, gconstpointer b)
{
  const SkChunkPlace *x = a, *y = b;

  if (x->condemned != y->condemned)
    return x->condemned ? 1 : -1;
  return sk_hash_compare (&x->pack, &y->pack);
}

GArray *
sk_index_chunk_places (SkIndex *self, const SkHash *id, GError **error)
{
  g_autoptr(GArray) places = g_array_new (FALSE, TRUE, sizeof (SkChunkPlace));
  g_autoptr(GArray) chunks = sk_index_chunk_rows (self, id, error);

  if (chunks == NULL)
    return NULL;
  for (guint i = 0; i < chunks->len; i++)
    if (!read_places (self, id, &g_array_index (chunks, SkChunkRow, i), places, error))
      return NULL;
  g_array_sort (places, compare_places);
  return g_steal_pointer (&places);
}

/* --- lists of packs --- */

static gboolean
count_chunks (SkIndex *self, SkPackInfo *info, const SkMarks *marks, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PLACE_CHUNKS, error);
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, info->row);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      info->chunks++;
      info->live_chunks += sk_marks_has_chunk (marks, sk_col_int (statement, 0));
    }
  return step == SK_STEP_DONE;
}

static gboolean
read_packs (SkIndex *self, gint64 storage, GArray *packs, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PACK_LIST, error);
  gboolean damaged = FALSE;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, storage);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkPackInfo info = { .row = sk_col_int (statement, 0), .storage = sk_col_int (statement, 1) };

      sk_col_hash (statement, 2, &info.name, &damaged);
      sk_col_id (statement, 3, &info.epoch, &damaged);
      info.size = (guint64) sk_col_int (statement, 4);
      info.state = sk_col_bounded (statement, 5, SK_PACK_GONE, &damaged);
      sk_col_id (statement, 6, &info.by, &damaged);
      info.wall = sk_col_int (statement, 7);
      g_array_append_val (packs, info);
    }
  if (damaged)
    return sk_index_damaged (self, "a pack is impossible", error);
  return step == SK_STEP_DONE;
}

GArray *
sk_index_packs (SkIndex *self, gint64 storage, GError **error)
{
  g_autoptr(GArray) packs = g_array_new (FALSE, FALSE, sizeof (SkPackInfo));
  g_autoptr(SkMarks) marks = sk_marks_new (self, error);

  if (marks == NULL || !read_packs (self, storage, packs, error))
    return NULL;
  for (guint i = 0; i < packs->len; i++)
    if (!count_chunks (self, &g_array_index (packs, SkPackInfo, i), marks, error))
      return NULL;
  return g_steal_pointer (&packs);
}

static gboolean
read_pack_rows (SkIndex *self, gint64 pack, GArray *rows, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PLACE_ROWS, error);
  gboolean damaged = FALSE;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, pack);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkPackRow row = { 0 };

      sk_col_hash (statement, 0, &row.id, &damaged);
      row.offset = sk_col_bounded (statement, 1, SK_PACK_SIZE_MAX, &damaged);
      row.stored_len = sk_col_bounded (statement, 2, SK_PACK_SIZE_MAX, &damaged);
      row.plain_len = sk_col_bounded (statement, 3, SK_CHUNK_SIZE_MAX, &damaged);
      row.method = sk_col_bounded (statement, 4, G_MAXUINT8, &damaged);
      g_array_append_val (rows, row);
    }
  if (damaged)
    return sk_index_damaged (self, "the table of a pack is impossible", error);
  return step == SK_STEP_DONE;
}

GPtrArray *
sk_index_pack_rows (SkIndex *self, gint64 pack, GError **error)
{
  g_autoptr(GPtrArray) result = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_pack_put_free);
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_PACK_GET, error);
  gboolean damaged = FALSE;
  SkPackPut *put;
  SkStep step;

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, pack);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ERROR)
    return NULL;
  if (step == SK_STEP_DONE)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "The database %s does not know the pack that was asked for", self->path), NULL;
  put = g_new0 (SkPackPut, 1);
  put->rows = g_array_new (FALSE, FALSE, sizeof (SkPackRow));
  g_ptr_array_add (result, put);
  sk_col_id (statement, 0, &put->storage, &damaged);
  sk_col_hash (statement, 1, &put->name, &damaged);
  sk_col_id (statement, 2, &put->epoch, &damaged);
  put->size = (guint64) sk_col_int (statement, 3);
  if (damaged)
    return sk_index_damaged (self, "a pack is impossible", error), NULL;
  return read_pack_rows (self, pack, put->rows, error) ? g_steal_pointer (&result) : NULL;
}
