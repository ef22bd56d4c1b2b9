/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base and target of a node, what follows from them, and how many there are of each. */
#include "sk-index-private.h"

/* --- does this disk have work --- */

gboolean
sk_node_sides_differ (const SkNodeSide *base, const SkNodeSide *target)
{
  if (base->kind != target->kind)
    return TRUE;
  switch (base->kind)
    {
    case SK_KIND_FILE:
      return base->content != target->content || base->mode != target->mode || base->mtime != target->mtime;
    case SK_KIND_DIR:
      return base->mode != target->mode;
    case SK_KIND_SYMLINK:
      return base->content != target->content || base->mtime != target->mtime;    /* Linux keeps no mode of a link */
    default:
      return FALSE;
    }
}

/* sk_differs (base kind, content, mode, mtime, target kind, content, mode, mtime), for statements about many rows. */
void
sk_node_differs_sql (sqlite3_context *context, int n, sqlite3_value **values)
{
  SkNodeSide sides[2];

  for (int i = 0; i < 2; i++)
    {
      sqlite3_value **side = values + 4 * i;

      sides[i].kind = (SkKind) sqlite3_value_int (side[0]);
      sides[i].content = sqlite3_value_int64 (side[1]);
      sides[i].mode = (guint32) sqlite3_value_int64 (side[2]);
      sides[i].mtime = sqlite3_value_int64 (side[3]);
    }
  sqlite3_result_int (context, sk_node_sides_differ (&sides[0], &sides[1]));
}

/* --- the state of one node --- */

typedef struct
{
  gint64 folder;
  guint32 hold;
  gboolean dirty;
  SkNodeSide base, target;
  gint64 target_version;
  guint64 target_size;
  SkModeStamp stamps[2];
} State;

static gboolean
read_state (SkIndex *self, gint64 node, State *out, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_STATE, error);
  const guint8 *stamps;
  gsize len;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, node);
  step = sk_step (self, statement, error);
  if (step == SK_STEP_ERROR)
    return FALSE;
  if (step == SK_STEP_DONE)
    return sk_index_damaged (self, "a node is missing", error);
  *out = (State) {
    .folder = sk_col_int (statement, 0),
    .hold = (guint32) sk_col_int (statement, 1),
    .dirty = sk_col_int (statement, 2) != 0,
    .base = { (SkKind) sk_col_int (statement, 3), sk_col_int (statement, 4), (guint32) sk_col_int (statement, 5), sk_col_int (statement, 6) },
    .target = { (SkKind) sk_col_int (statement, 7), sk_col_int (statement, 9), (guint32) sk_col_int (statement, 11), sk_col_int (statement, 12) },
    .target_version = sk_col_int (statement, 8),
    .target_size = (guint64) sk_col_int (statement, 10),
  };
  stamps = sk_col_blob (statement, 13, &len);
  return stamps == NULL || sk_mode_stamps_decode (self, stamps, len, out->stamps, error);
}

/* --- counts: one walk when a folder is first asked for, then kept up with every change --- */

static void
count_state (SkFolderCounts *counts, const State *state, gint64 sign)
{
  gboolean work = state->dirty && state->hold == 0;

  if (state->target.kind == SK_KIND_FILE)
    {
      counts->files += sign;
      counts->bytes += (guint64) sign * state->target_size;
    }
  counts->dirs += state->target.kind == SK_KIND_DIR ? sign : 0;
  counts->links += state->target.kind == SK_KIND_SYMLINK ? sign : 0;
  counts->dirty_nodes += work ? sign : 0;
  if (work && state->base.content != state->target.content)
    counts->dirty_bytes += (guint64) sign * state->target_size;
}

static void
recount (SkIndex *self, const State *before, const State *after)
{
  SkFolderCounts *counts = g_hash_table_lookup (self->counts, &before->folder);

  if (counts == NULL)
    return;
  count_state (counts, before, -1);
  count_state (counts, after, 1);
}

gboolean
sk_index_count_tombstone (SkIndex *self, gint64 node, gint64 delta, GError **error)
{
  g_autoptr(GError) why = NULL;
  SkFolderCounts *counts;
  gint64 folder, parent;

  if (g_hash_table_size (self->counts) == 0)
    return TRUE;
  if (!sk_index_node_place (self, node, &folder, &parent, NULL, &why))
    {
      if (why == NULL)
        return sk_index_damaged (self, "a version has no node", error);
      g_propagate_error (error, g_steal_pointer (&why));
      return FALSE;
    }
  counts = g_hash_table_lookup (self->counts, &folder);
  if (counts != NULL)
    counts->tombstones += delta;
  return TRUE;
}

static gboolean
walk_counts (SkIndex *self, gint64 folder, SkFolderCounts *out, GError **error)
{
  g_autoptr(SkStatement) nodes = sk_sql (self, SK_SQL_NODE_COUNTS, error);
  g_autoptr(SkStatement) tombstones = sk_sql (self, SK_SQL_NODE_TOMBSTONES, error);
  SkStep step;

  if (nodes == NULL || tombstones == NULL)
    return FALSE;
  sk_bind_int (nodes, 1, folder);
  while ((step = sk_step (self, nodes, error)) == SK_STEP_ROW)
    {
      gint64 kind = sk_col_int (nodes, 0), n = sk_col_int (nodes, 1);

      out->files += kind == SK_KIND_FILE ? n : 0;
      out->dirs += kind == SK_KIND_DIR ? n : 0;
      out->links += kind == SK_KIND_SYMLINK ? n : 0;
      out->bytes += kind == SK_KIND_FILE ? (guint64) sk_col_int (nodes, 2) : 0;
      out->dirty_nodes += sk_col_int (nodes, 3);
      out->dirty_bytes += (guint64) sk_col_int (nodes, 4);
    }
  if (step == SK_STEP_ERROR)
    return FALSE;
  sk_bind_int (tombstones, 1, folder);
  return sk_read_int (self, tombstones, 0, &out->tombstones, error);
}

gboolean
sk_index_folder_counts (SkIndex *self, gint64 folder, SkFolderCounts *out, GError **error)
{
  const SkFolderCounts *known = g_hash_table_lookup (self->counts, &folder);
  SkFolderCounts fresh = { 0 };

  if (known == NULL)
    {
      if (!walk_counts (self, folder, &fresh, error))
        return FALSE;
      g_hash_table_insert (self->counts, g_memdup2 (&folder, sizeof folder), g_memdup2 (&fresh, sizeof fresh));
      known = &fresh;
    }
  *out = *known;
  return TRUE;
}

/* --- changes --- */

static void
bind_base (SkStatement *statement, const SkBase *base, GBytes *vector)
{
  sk_bind_int (statement, 3, base->kind);
  sk_bind_int (statement, 4, base->version);
  sk_bind_bytes (statement, 5, vector);
  sk_bind_int (statement, 6, base->content);
  sk_bind_int (statement, 7, base->mode);
  sk_bind_int (statement, 8, base->mtime);
  sk_bind_int (statement, 9, (gint64) base->size);
  sk_bind_int (statement, 10, (gint64) base->ino);
  sk_bind_int (statement, 11, (gint64) base->dev);
  sk_bind_int (statement, 12, base->stat_mtime);
  sk_bind_int (statement, 13, base->ctime);
  sk_bind_int (statement, 14, base->btime);
  sk_bind_int (statement, 15, base->mount_root != 0);
  sk_bind_int (statement, 16, base->unproven != 0);
}

gboolean
sk_index_set_base (SkIndex *self, gint64 node, const SkBase *base, GError **error)
{
  static const SkBase nothing = { 0 };
  SkBase stored = base->kind != SK_KIND_NONE ? *base : nothing;
  g_autoptr(GBytes) vector = base->vector != NULL ? sk_vector_encode (base->vector) : NULL;
  g_autoptr(SkStatement) statement = NULL;
  State before, after;

  g_assert (base->kind <= SK_KIND_SYMLINK);
  if (!read_state (self, node, &before, error))
    return FALSE;
  after = before;
  after.base = (SkNodeSide) { stored.kind, stored.content, stored.mode, stored.mtime };
  after.dirty = sk_node_sides_differ (&after.base, &after.target);

  statement = sk_sql (self, SK_SQL_NODE_SET_BASE, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, after.dirty);
  bind_base (statement, &stored, vector);
  if (!sk_run (self, statement, error))
    return FALSE;
  recount (self, &before, &after);
  return TRUE;
}

static gboolean
same_target (const State *a, const State *b)
{
  return a->target.kind == b->target.kind && a->target.content == b->target.content && a->target.mode == b->target.mode
         && a->target.mtime == b->target.mtime && a->target_version == b->target_version && a->target_size == b->target_size
         && a->dirty == b->dirty;
}

gboolean
sk_index_set_target (SkIndex *self, gint64 node, const SkTarget *target, GError **error)
{
  static const SkTarget nothing = { 0 };
  SkTarget stored = target->kind != SK_KIND_NONE ? *target : nothing;
  g_autoptr(SkStatement) statement = NULL;
  State before, after;

  g_assert (target->kind <= SK_KIND_SYMLINK);
  if (!read_state (self, node, &before, error))
    return FALSE;
  after = before;
  after.target = (SkNodeSide) { stored.kind, stored.content, stored.mode, stored.mtime };
  after.target_version = stored.version;
  after.target_size = stored.size;
  after.dirty = sk_node_sides_differ (&after.base, &after.target);
  /* Merging looks at many paths whose visible state stays as it is. */
  if (same_target (&before, &after))
    return TRUE;

  statement = sk_sql (self, SK_SQL_NODE_SET_TARGET, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, after.dirty);
  sk_bind_int (statement, 3, stored.kind);
  sk_bind_int (statement, 4, stored.version);
  sk_bind_int (statement, 5, stored.content);
  sk_bind_int (statement, 6, (gint64) stored.size);
  sk_bind_int (statement, 7, stored.mode);
  sk_bind_int (statement, 8, stored.mtime);
  if (!sk_run (self, statement, error))
    return FALSE;
  recount (self, &before, &after);
  return TRUE;
}

gboolean
sk_index_set_hold (SkIndex *self, gint64 node, guint32 hold, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  State before, after;

  if (!read_state (self, node, &before, error))
    return FALSE;
  if (before.hold == hold)
    return TRUE;
  after = before;
  after.hold = hold;
  statement = sk_sql (self, SK_SQL_NODE_SET_HOLD, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, hold);
  if (!sk_run (self, statement, error))
    return FALSE;
  recount (self, &before, &after);
  return TRUE;
}

gboolean
sk_index_add_live_children (SkIndex *self, gint64 node, gint64 delta, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_LIVE_CHILDREN, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, node);
  sk_bind_int (statement, 2, delta);
  return sk_run (self, statement, error);
}

gboolean
sk_index_forget_bases (SkIndex *self, gint64 folder, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_FORGET_BASES, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, folder);
  g_hash_table_remove (self->counts, &folder);
  return sk_run (self, statement, error);
}

/* --- mode stamps: per class the writer's row (0: none), Lamport number and mode, as varints --- */

gboolean
sk_mode_stamps_decode (SkIndex *self, const guint8 *data, gsize len, SkModeStamp out[2], GError **error)
{
  SkReader reader;

  sk_reader_init (&reader, data, len);
  for (int i = 0; i < 2; i++)
    {
      gint64 writer = (gint64) sk_reader_varint (&reader, G_MAXINT64);

      out[i].lamport = sk_reader_varint (&reader, G_MAXUINT64);
      out[i].mode = (guint32) sk_reader_varint (&reader, G_MAXUINT32);
      out[i].set = writer != 0;
      if (reader.failed)
        break;
      if (out[i].set && !sk_interned_id (self, writer, &out[i].writer, error))
        return FALSE;
    }
  return sk_reader_done (&reader) ? TRUE : sk_index_damaged (self, "the mode of a node is impossible", error);
}

gboolean
sk_index_set_mode_stamp (SkIndex *self, gint64 node, int class, const SkModeStamp *stamp, GError **error)
{
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(SkStatement) statement = NULL;
  State state;

  g_assert (class == 0 || class == 1);
  if (!read_state (self, node, &state, error))
    return FALSE;
  state.stamps[class] = *stamp;
  sk_writer_init (&writer);
  for (int i = 0; i < 2; i++)
    {
      const SkModeStamp *one = &state.stamps[i];
      gint64 row = one->set ? sk_intern_id (self, &one->writer, error) : 0;

      if (one->set && row == 0)
        return FALSE;
      sk_writer_varint (&writer, (guint64) row);
      sk_writer_varint (&writer, one->set ? one->lamport : 0);
      sk_writer_varint (&writer, one->set ? one->mode : 0);
    }
  statement = sk_sql (self, SK_SQL_NODE_SET_STAMPS, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, node);
  sk_bind_blob (statement, 2, writer.bytes->data, writer.bytes->len);
  return sk_run (self, statement, error);
}
