/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which contents and chunks are in use, and removing those that are not. */
#include "sk-index-private.h"

#include <string.h>

/* --- one bit per row --- */

#define BITS_MAX (G_GINT64_CONSTANT (1) << 31)    /* 256 MiB; a larger row number means a damaged file */
typedef struct { GByteArray *bytes; } Bits;

static gboolean
bits_get (const Bits *self, gint64 at)
{
  return at > 0 && (guint64) at / 8 < self->bytes->len && (self->bytes->data[at / 8] >> (at % 8) & 1) != 0;
}

static gboolean
bits_set (Bits *self, gint64 at)
{
  guint need, before = self->bytes->len;

  if (at <= 0 || at >= BITS_MAX)
    return FALSE;
  need = (guint) (at / 8 + 1);
  if (need > before)
    {
      need = MAX (need, MIN (before * 2, (guint) (BITS_MAX / 8)));
      g_byte_array_set_size (self->bytes, need);
      memset (self->bytes->data + before, 0, need - before);
    }
  self->bytes->data[at / 8] |= (guint8) (1u << (at % 8));
  return TRUE;
}

/* --- marking --- */

struct _SkMarks { Bits contents, chunks; };

void
sk_marks_free (SkMarks *self)
{
  if (self == NULL)
    return;
  g_byte_array_unref (self->contents.bytes);
  g_byte_array_unref (self->chunks.bytes);
  g_free (self);
}

static gboolean
mark_contents (SkIndex *index, SkSql id, SkMarks *self, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, id, error);
  SkStep step;

  if (statement == NULL)
    return FALSE;
  while ((step = sk_step (index, statement, error)) == SK_STEP_ROW)
    if (!bits_set (&self->contents, sk_col_int (statement, 0)))
      return sk_index_damaged (index, "a content has an impossible row", error);
  return step == SK_STEP_DONE;
}

static gboolean
mark_list (SkMarks *self, const guint8 *data, gsize len)
{
  g_autoptr(GArray) items = sk_chunk_list_decode (data, len);

  for (guint i = 0; items != NULL && i < items->len; i++)
    {
      gint64 chunk = g_array_index (items, SkChunkListItem, i).chunk;

      if (chunk != 0 && !bits_set (&self->chunks, chunk))
        return FALSE;
    }
  return items != NULL;
}

static gboolean
mark_chunks (SkIndex *index, SkMarks *self, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, SK_SQL_MARK_CONTENTS, error);
  SkStep step;

  if (statement == NULL)
    return FALSE;
  while ((step = sk_step (index, statement, error)) == SK_STEP_ROW)
    {
      gsize len;
      const guint8 *data = sk_col_blob (statement, 1, &len);

      /* What cannot be read is not known to be unused: the caller must not go on. */
      if (bits_get (&self->contents, sk_col_int (statement, 0)) && !mark_list (self, data, len))
        return sk_index_damaged (index, "a chunk list cannot be read", error);
    }
  return step == SK_STEP_DONE;
}

SkMarks *
sk_marks_new (SkIndex *index, GError **error)
{
  g_autoptr(SkMarks) self = g_new0 (SkMarks, 1);

  self->contents.bytes = g_byte_array_new ();
  self->chunks.bytes = g_byte_array_new ();
  if (!mark_contents (index, SK_SQL_MARK_VERSIONS, self, error) || !mark_contents (index, SK_SQL_MARK_BASES, self, error)
      || !mark_chunks (index, self, error))
    return NULL;
  return g_steal_pointer (&self);
}

gboolean
sk_marks_has_chunk (const SkMarks *self, gint64 row)
{
  return bits_get (&self->chunks, row);
}

/* --- sweeping --- */

typedef struct { gint64 row; guint64 key; } Victim;

/* Rows of @list that are not in @kept, at most @limit. */
static GArray *
find_victims (SkIndex *index, SkSql list, const Bits *kept, guint limit, GError **error)
{
  g_autoptr(GArray) victims = g_array_new (FALSE, FALSE, sizeof (Victim));
  g_autoptr(SkStatement) statement = sk_sql (index, list, error);
  SkStep step = SK_STEP_DONE;

  if (statement == NULL)
    return NULL;
  while (victims->len < limit && (step = sk_step (index, statement, error)) == SK_STEP_ROW)
    {
      Victim victim = { sk_col_int (statement, 0), (guint64) sk_col_int (statement, 1) };

      if (!bits_get (kept, victim.row))
        g_array_append_val (victims, victim);
    }
  return step != SK_STEP_ERROR ? g_steal_pointer (&victims) : NULL;
}

static gboolean
remove_one (SkIndex *index, SkSql id, gint64 a, gint64 b, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, id, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, a);
  if (sqlite3_bind_parameter_count (statement) > 1)
    sk_bind_int (statement, 2, b);
  return sk_run (index, statement, error);
}

static gboolean
sweep_table (SkIndex *index, SkSql list, SkSql row, SkSql key, const Bits *kept, guint limit, guint *removed, GError **error)
{
  g_autoptr(GArray) victims = find_victims (index, list, kept, limit - *removed, error);

  if (victims == NULL)
    return FALSE;
  for (guint i = 0; i < victims->len; i++)
    {
      const Victim *victim = &g_array_index (victims, Victim, i);

      if (!remove_one (index, row, victim->row, 0, error) || !remove_one (index, key, (gint64) victim->key, victim->row, error))
        return FALSE;
    }
  *removed += victims->len;
  return TRUE;
}

static gboolean
sweep_places (SkIndex *index, gint64 gone_before, guint limit, guint *removed, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, SK_SQL_SWEEP_PLACES, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, gone_before);
  sk_bind_int (statement, 2, limit - *removed);
  if (!sk_run (index, statement, error))
    return FALSE;
  *removed += (guint) sqlite3_changes (index->db);
  return TRUE;
}

gboolean
sk_index_sweep (SkIndex *self, gint64 gone_before, guint limit, guint *removed, GError **error)
{
  g_autoptr(SkMarks) marks = sk_marks_new (self, error);

  *removed = 0;
  if (marks == NULL
      || !sweep_places (self, gone_before, limit, removed, error)
      || !sweep_table (self, SK_SQL_SWEEP_CONTENTS, SK_SQL_CONTENT_REMOVE, SK_SQL_CONTENT_KEY_REMOVE, &marks->contents, limit, removed, error)
      || !sweep_table (self, SK_SQL_SWEEP_CHUNKS, SK_SQL_CHUNK_REMOVE, SK_SQL_CHUNK_KEY_REMOVE, &marks->chunks, limit, removed, error))
    return FALSE;
  g_clear_pointer (&self->offsets, sk_offset_cache_free);
  self->next_content = 0;
  self->losses++;
  sk_index_forget_contents (self);
  return sk_hash_index_rewind (self, self->content_hashes, error) && sk_hash_index_rewind (self, self->chunk_hashes, error);
}
