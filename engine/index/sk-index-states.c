/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base and target of a node, what follows from them, and how many there are of each. */
#include "sk-index-private.h"

/* --- does this disk have work --- */

/* The columns that decide whether disk and merged state differ. */
typedef struct { SkKind kind; gint64 content; guint32 mode; gint64 mtime; } NodeSide;

/* The one place that says whether base and target ask for work on this disk. */
static gboolean
sides_differ (const NodeSide *base, const NodeSide *target)
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
  NodeSide sides[2];

  for (int i = 0; i < 2; i++)
    {
      sqlite3_value **side = values + 4 * i;

      sides[i].kind = (SkKind) sqlite3_value_int (side[0]);
      sides[i].content = sqlite3_value_int64 (side[1]);
      sides[i].mode = (guint32) sqlite3_value_int64 (side[2]);
      sides[i].mtime = sqlite3_value_int64 (side[3]);
    }
  sqlite3_result_int (context, sides_differ (&sides[0], &sides[1]));
}

/* --- counts: one walk when a folder is first asked for, then kept up with every change --- */

static void
count_node (SkFolderCounts *counts, const SkNode *node, gint64 sign)
{
  gboolean work = node->dirty && node->hold == 0;

  if (node->target.kind == SK_KIND_FILE)
    {
      counts->files += sign;
      counts->bytes += (guint64) sign * node->target.size;
    }
  counts->dirs += node->target.kind == SK_KIND_DIR ? sign : 0;
  counts->links += node->target.kind == SK_KIND_SYMLINK ? sign : 0;
  counts->dirty_nodes += work ? sign : 0;
  if (work && node->base.content != node->target.content)
    counts->dirty_bytes += (guint64) sign * node->target.size;
}

static void
recount (SkIndex *self, const SkNode *before, const SkNode *after)
{
  SkFolderCounts *counts = g_hash_table_lookup (self->counts, &before->folder);

  if (counts == NULL)
    return;
  count_node (counts, before, -1);
  count_node (counts, after, 1);
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

/* --- changes: in memory, written by sk_node_cache_flush --- */

static gboolean
is_dirty (const SkNode *node)
{
  const NodeSide base = { node->base.kind, node->base.content, node->base.mode, node->base.mtime };
  const NodeSide target = { node->target.kind, node->target.content, node->target.mode, node->target.mtime };

  return sides_differ (&base, &target);
}

gboolean
sk_index_set_base (SkIndex *self, gint64 row, const SkBase *base, GError **error)
{
  SkCachedNode *cached = sk_cached_node_needed (self, row, error);
  SkNode before;

  g_assert (base->kind <= SK_KIND_SYMLINK);
  if (cached == NULL)
    return FALSE;
  before = cached->node;
  cached->node.base = base->kind != SK_KIND_NONE ? *base : (SkBase) { 0 };
  cached->node.base.vector = base->vector != NULL ? sk_vector_ref (base->vector) : NULL;
  g_clear_pointer (&before.base.vector, sk_vector_unref);
  sk_cached_node_changed (self, cached);
  cached->base_changed = TRUE;
  cached->node.generation++;
  cached->node.dirty = is_dirty (&cached->node);
  recount (self, &before, &cached->node);
  return TRUE;
}

static gboolean
same_target (const SkTarget *a, const SkTarget *b)
{
  return a->kind == b->kind && a->content == b->content && a->mode == b->mode && a->mtime == b->mtime && a->version == b->version
         && a->size == b->size;
}

gboolean
sk_index_set_target (SkIndex *self, gint64 row, const SkTarget *target, GError **error)
{
  const SkTarget stored = target->kind != SK_KIND_NONE ? *target : (SkTarget) { 0 };
  SkCachedNode *cached = sk_cached_node_needed (self, row, error);
  SkNode before;

  g_assert (target->kind <= SK_KIND_SYMLINK);
  if (cached == NULL)
    return FALSE;
  before = cached->node;
  /* Merging looks at many paths whose visible state stays as it is. */
  if (same_target (&before.target, &stored) && before.dirty == is_dirty (&before))
    return TRUE;
  sk_cached_node_changed (self, cached);
  cached->node.target = stored;
  cached->node.dirty = is_dirty (&cached->node);
  recount (self, &before, &cached->node);
  return TRUE;
}

gboolean
sk_index_set_hold (SkIndex *self, gint64 row, guint32 hold, GError **error)
{
  SkCachedNode *cached = sk_cached_node_needed (self, row, error);
  SkNode before;

  if (cached == NULL)
    return FALSE;
  before = cached->node;
  if (before.hold == hold)
    return TRUE;
  sk_cached_node_changed (self, cached);
  cached->node.hold = hold;
  recount (self, &before, &cached->node);
  return TRUE;
}

gboolean
sk_index_add_live_children (SkIndex *self, gint64 row, gint64 delta, GError **error)
{
  SkCachedNode *cached = sk_cached_node_needed (self, row, error);

  if (cached == NULL)
    return FALSE;
  sk_cached_node_changed (self, cached);
  cached->node.live_children += delta;
  return TRUE;
}

gboolean
sk_index_set_mode_stamp (SkIndex *self, gint64 row, int class, const SkModeStamp *stamp, GError **error)
{
  SkCachedNode *cached = sk_cached_node_needed (self, row, error);

  g_assert (class == 0 || class == 1);
  if (cached == NULL)
    return FALSE;
  sk_cached_node_changed (self, cached);
  cached->node.mode_stamp[class] = *stamp;
  return TRUE;
}

gboolean
sk_index_forget_bases (SkIndex *self, gint64 folder, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_NODE_FORGET_BASES, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, folder);
  g_hash_table_remove (self->counts, &folder);
  sk_node_cache_drop (self->nodes);     /* sk_sql wrote what had changed */
  return sk_run (self, statement, error);
}
