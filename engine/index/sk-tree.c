/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-tree-private.h"

#include "sk-test-hooks.h"

SkTree *
sk_tree_new (SkIndex *index, const SkId *writer, const char *device_name)
{
  SkTree *self = g_new0 (SkTree, 1);

  self->index = index;
  self->writer = *writer;
  self->device_name = g_strdup (device_name);
  self->lamport = sk_index_get_u64 (index, "lamport", 0);
  self->counter = sk_index_get_u64 (index, "counter", 0);
  return self;
}

void
sk_tree_free (SkTree *self)
{
  if (self == NULL)
    return;
  g_free (self->device_name);
  g_free (self);
}

guint64
sk_tree_lamport (SkTree *self)
{
  return self->lamport;
}

gboolean
sk_tree_accepts_lamport (SkTree *self, guint64 lamport)
{
  return lamport <= self->lamport || lamport - self->lamport <= SK_LAMPORT_JUMP_MAX;
}

gboolean
sk_tree_flush (SkTree *self, GError **error)
{
  return sk_index_set_u64 (self->index, "lamport", self->lamport, error)
         && sk_index_set_u64 (self->index, "counter", self->counter, error);
}

/* Puts @entry, which is not known, into the set of maximal versions of @node. */
gboolean
sk_tree_insert (SkTree *self, gint64 node, const SkEntry *entry, gboolean is_virtual, gint64 origin, const SkId *log_writer,
                guint64 log_seq, gint64 *row, GError **error)
{
  const GPtrArray *versions = sk_index_peek_maximal (self->index, node, error);
  g_autoptr(GArray) replaced = NULL;
  gboolean dominated = FALSE;

  if (versions == NULL)
    return FALSE;
  for (guint i = 0; i < versions->len; i++)
    {
      const SkVersion *v = versions->pdata[i];
      SkOrder order = sk_vector_compare (entry->vector, v->entry->vector);

      dominated |= order == SK_ORDER_BEFORE;
      if (order != SK_ORDER_AFTER)
        continue;
      if (replaced == NULL)
        replaced = g_array_new (FALSE, FALSE, sizeof (gint64));
      g_array_append_val (replaced, v->row);
    }
  for (guint i = 0; replaced != NULL && i < replaced->len; i++)
    if (!sk_index_version_set_maximal (self->index, g_array_index (replaced, gint64, i), FALSE, error))
      return FALSE;
  *row = sk_index_version_add (self->index, node, entry, is_virtual, origin, log_writer, log_seq, error);
  if (*row == 0)
    return FALSE;
  return !dominated || sk_index_version_set_maximal (self->index, *row, FALSE, error);
}

/* The row of @entry when it is a version of @node already, else 0; negative on error. A version that is known is maximal or older than one
 * that is: what is newer than all of them, or concurrent to them, need not be looked for in the history of the name. */
static gint64
find_known (SkTree *self, gint64 node, const SkEntry *entry, GError **error)
{
  const GPtrArray *versions = sk_index_peek_maximal (self->index, node, error);
  gboolean may_be = FALSE;

  if (versions == NULL)
    return -1;
  for (guint i = 0; i < versions->len && !may_be; i++)
    {
      SkOrder order = sk_vector_compare (entry->vector, ((SkVersion *) versions->pdata[i])->entry->vector);

      may_be = order == SK_ORDER_BEFORE || order == SK_ORDER_EQUAL;
    }
  /* Without any, what there was has been taken away, and what it had replaced may still be there. */
  if (!may_be && versions->len > 0)
    return 0;
  return sk_index_version_find (self->index, node, entry->vector, &entry->content, error);
}

/* An entry with the same vector and content is the same version: only its metadata stamp and its place in a log can be news. */
static gboolean
apply_same (SkTree *self, gint64 row, const SkEntry *entry, const SkId *log_writer, guint64 log_seq, GError **error)
{
  g_autoptr(SkVersion) v = sk_index_version (self->index, row, error);

  if (v == NULL)
    return FALSE;
  if (v->is_virtual && !sk_index_version_publish (self->index, row, log_writer, log_seq, error))
    return FALSE;
  if (sk_entry_meta_rank (entry, v->entry) > 0
      && !sk_index_version_set_meta (self->index, row, entry->meta_lamport, &entry->meta_writer, entry->mode, entry->mtime, error))
    return FALSE;
  /* From now on its stamp is one of the path. */
  return !v->is_virtual || sk_tree_note_mode (self, v->node, v->entry, error);
}

gboolean
sk_tree_apply (SkTree *self, const SkEntry *entry, const SkId *log_writer, guint64 log_seq, GError **error)
{
  gint64 folder, node, known, row;
  guint64 highest = MAX (entry->lamport, entry->meta_lamport);

  if (!sk_tree_accepts_lamport (self, highest))
    return sk_fail (error, SK_ERROR_LIMIT, "an entry for “%s” by “%s” jumps too far ahead and was refused", entry->path,
                    entry->device_name);
  folder = sk_index_folder_row (self->index, &entry->folder);
  if (folder == 0)
    {
      /* Its definition is in a log that was not read yet. */
      SkFolderDef def = { .id = entry->folder, .name = (char *) "", .storages = NULL };
      gboolean changed;

      if (!sk_index_folder_define (self->index, &def, &changed, error))
        return FALSE;
      folder = sk_index_folder_row (self->index, &entry->folder);
    }
  node = sk_index_node_ensure (self->index, folder, entry->path, error);
  if (node == 0)
    return FALSE;
  self->lamport = MAX (self->lamport, highest);
  /* Own entries come back when the index is rebuilt: no counter is used twice. */
  self->counter = MAX (self->counter, sk_vector_get (entry->vector, &self->writer));
  if (!sk_tree_note_mode (self, node, entry, error))
    return FALSE;

  known = find_known (self, node, entry, error);
  if (known < 0)
    return FALSE;
  if (known > 0)
    {
      if (!apply_same (self, known, entry, log_writer, log_seq, error))
        return FALSE;
    }
  else if (!sk_tree_insert (self, node, entry, FALSE, 0, log_writer, log_seq, &row, error))
    return FALSE;
  return sk_tree_lift (self, folder, entry, error) && sk_tree_recompute (self, node, error);
}

/* What the node's versions come to: who is visible, the target, and the row and vector of the winner (NULL when there is none). */
typedef struct { SkVisible visible; SkTarget target; gint64 winner; SkVector *vector; } Outcome;

/* Same bytes on disk as the target wants: then the base also stands for the target's history (equal contents join). */
static gboolean
join_base (SkTree *self, const SkNode *node, const Outcome *out, GError **error)
{
  const SkBase *base = &node->base;
  g_autoptr(SkVector) joined = NULL;
  SkBase now = *base;

  if (out->vector == NULL || base->kind == SK_KIND_NONE || base->kind != out->target.kind || base->content != out->target.content)
    return TRUE;
  joined = base->vector != NULL ? sk_vector_join (base->vector, out->vector) : sk_vector_ref (out->vector);
  if (base->version == out->winner && base->vector != NULL && sk_vector_compare (joined, base->vector) == SK_ORDER_EQUAL)
    return TRUE;
  now.version = out->winner;
  now.vector = joined;
  return sk_index_set_base (self->index, node->row, &now, error);
}

static void
target_from (const SkVisible *visible, const GPtrArray *versions, const SkNode *node, SkTarget *out)
{
  const SkVersion *winner = visible->winner >= 0 ? versions->pdata[visible->winner] : NULL;
  SkModeStamp stamp = { .set = FALSE };

  *out = (SkTarget) { .kind = visible->kind, .mode = visible->mode, .mtime = visible->mtime };
  if (visible->kind == SK_KIND_FILE)
    stamp = sk_tree_mode_stamp (node, 0, (SkVersion **) versions->pdata, versions->len);
  else if (visible->kind == SK_KIND_DIR)
    stamp = node->mode_stamp[1];
  if (stamp.set)
    out->mode = stamp.mode;
  if (visible->kind == SK_KIND_DIR)
    out->mtime = 0;
  if (winner != NULL)
    {
      out->version = winner->row;
      out->content = winner->content;
      out->size = winner->entry->size;
    }
}

static gboolean
target_equal (const SkTarget *a, const SkTarget *b)
{
  return a->kind == b->kind && a->version == b->version && a->content == b->content && a->size == b->size && a->mode == b->mode
         && a->mtime == b->mtime;
}

static gboolean recompute_at (SkTree *self, gint64 node_row, guint depth, GError **error);

/* What lost the name does not lose it any more. The copy may be on this disk already: its base then stands for no version, since the row
 * can be given to any other one. */
static gboolean
withdraw_copy (SkTree *self, const SkVersion *copy, guint depth, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (self->index, copy->node, error);
  g_autoptr(GPtrArray) further = node != NULL ? sk_index_virtuals_of (self->index, copy->node, error) : NULL;

  if (further == NULL)
    return FALSE;
  /* It can have lost its own name. That copy goes first: it is found by the row that it comes from. */
  for (guint i = 0; i < further->len; i++)
    if (((SkVersion *) further->pdata[i])->origin == copy->row && !withdraw_copy (self, further->pdata[i], depth + 1, error))
      return FALSE;
  if (node->base.version == copy->row)
    {
      node->base.version = 0;
      if (!sk_index_set_base (self->index, node->row, &node->base, error))
        return FALSE;
    }
  return sk_index_version_remove (self->index, copy->row, error) && recompute_at (self, copy->node, depth + 1, error);
}

/* Losers live on as virtual versions of the path of their conflict copy; what is no loser any more takes its copy along. */
static gboolean
sync_copies (SkTree *self, const SkNode *node, const SkVisible *visible, guint depth, GError **error)
{
  g_autoptr(GPtrArray) versions = sk_index_versions (self->index, node->row, TRUE, error);
  g_autoptr(GPtrArray) existing = versions != NULL ? sk_index_virtuals_of (self->index, node->row, error) : NULL;
  g_autoptr(GHashTable) wanted = g_hash_table_new (g_int64_hash, g_int64_equal);

  if (existing == NULL)
    return FALSE;
  for (guint i = 0; i < visible->n_losers; i++)
    g_hash_table_add (wanted, &((SkVersion *) versions->pdata[visible->losers[i]])->row);
  for (guint i = 0; i < existing->len; i++)
    {
      SkVersion *copy = existing->pdata[i];

      if (g_hash_table_remove (wanted, &copy->origin))
        continue;      /* stays */
      if (!withdraw_copy (self, copy, depth, error))
        return FALSE;
    }
  for (guint i = 0; i < visible->n_losers; i++)
    {
      SkVersion *loser = versions->pdata[visible->losers[i]];
      gint64 at, row;
      gint64 known;

      if (!g_hash_table_contains (wanted, &loser->row))
        continue;
      if (!sk_tree_load_chunks (self, loser, error))
        return FALSE;
      {
        g_autoptr(SkEntry) copy = sk_conflict_entry (loser->entry);

        at = sk_index_node_ensure (self->index, node->folder, copy->path, error);
        if (at == 0)
          return FALSE;
        known = sk_index_version_find (self->index, at, copy->vector, &copy->content, error);
        if (known < 0)
          return FALSE;
        if (known > 0)
          {
            /* Somebody appended it already. */
            if (!sk_tree_lift_copy (self, node->folder, loser->entry, error))
              return FALSE;
            continue;
          }
        if (!sk_tree_insert (self, at, copy, TRUE, loser->row, NULL, 0, &row, error)
            || !recompute_at (self, at, depth + 1, error))
          return FALSE;
      }
    }
  return TRUE;
}

/* For tests: half of the devices choose the other one. */
static void
swap_winner (SkTree *self, SkEntry **entries, SkVisible *visible)
{
  int winner = visible->winner;

  if (visible->n_losers == 0 || winner < 0 || visible->kind == SK_KIND_DIR || (self->writer.bytes[0] & 1) == 0)
    return;
  visible->winner = visible->losers[0];
  visible->losers[0] = winner;
  visible->kind = entries[visible->winner]->kind;
}

static gboolean
work_out (SkTree *self, const SkNode *node, Outcome *out, GError **error)
{
  const GPtrArray *versions = sk_index_peek_maximal (self->index, node->row, error);
  g_autofree SkEntry **entries = NULL;

  if (versions == NULL)
    return FALSE;
  entries = g_new0 (SkEntry *, versions->len + 1);
  for (guint i = 0; i < versions->len; i++)
    entries[i] = ((SkVersion *) versions->pdata[i])->entry;
  sk_merge_visible (entries, versions->len, node->live_children > 0, &out->visible);
  if (sk_test_mistake ("swapped-winner"))
    swap_winner (self, entries, &out->visible);
  target_from (&out->visible, versions, node, &out->target);
  if (out->visible.winner < 0)
    return TRUE;
  out->winner = ((SkVersion *) versions->pdata[out->visible.winner])->row;
  out->vector = sk_vector_ref (entries[out->visible.winner]->vector);
  return TRUE;
}

static gboolean
recompute_at (SkTree *self, gint64 node_row, guint depth, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (self->index, node_row, error);
  Outcome out = { 0 };
  g_autoptr(SkVector) vector = NULL;
  gboolean was_live, is_live;

  if (node == NULL || !work_out (self, node, &out, error))
    return FALSE;
  vector = out.vector;
  was_live = node->target.kind != SK_KIND_NONE;
  is_live = out.target.kind != SK_KIND_NONE;
  if (!target_equal (&out.target, &node->target) && !sk_index_set_target (self->index, node_row, &out.target, error))
    return FALSE;
  if (!join_base (self, node, &out, error))
    return FALSE;
  /* Deeper than honest conflicts nest, copies are not made: the entries stay in the set. */
  if (depth < SK_TREE_DEPTH_MAX && (out.visible.n_losers > 0 || sk_index_may_have_virtuals (self->index))
      && !sync_copies (self, node, &out.visible, depth, error))
    return FALSE;
  if (was_live == is_live || node->parent == 0)
    return TRUE;
  if (!sk_index_add_live_children (self->index, node->parent, is_live ? 1 : -1, error))
    return FALSE;
  return sk_tree_parent_changed (self, node->parent, is_live, error);
}

/* A directory is implied by live children (A15): only the step between none and one matters to the parent. */
gboolean
sk_tree_parent_changed (SkTree *self, gint64 parent_row, gboolean gained, GError **error)
{
  g_autoptr(SkNode) parent = sk_index_node_by_row (self->index, parent_row, error);

  if (parent == NULL)
    return FALSE;
  if ((gained && parent->live_children != 1) || (!gained && parent->live_children != 0))
    return TRUE;
  return recompute_at (self, parent_row, 0, error);
}

gboolean
sk_tree_recompute (SkTree *self, gint64 node, GError **error)
{
  return recompute_at (self, node, 0, error);
}

gboolean
sk_tree_load_chunks (SkTree *self, SkVersion *version, GError **error)
{
  if (version->entry->kind != SK_KIND_FILE || version->entry->chunks != NULL)
    return TRUE;
  version->entry->chunks = sk_index_content_chunks (self->index, version->content, error);
  return version->entry->chunks != NULL;
}

/* The version that was carried out, or NULL when it was a copy that has been withdrawn since it was planned. */
static SkVersion *
version_done (SkTree *self, gint64 node, const SkBase *done)
{
  g_autoptr(SkVersion) version = sk_index_version (self->index, done->version, NULL);

  return version != NULL && version->node == node && version->content == done->content ? g_steal_pointer (&version) : NULL;
}

gboolean
sk_tree_done (SkTree *self, gint64 node_row, guint32 generation, const SkBase *done, gboolean *stale, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (self->index, node_row, error);
  g_autoptr(SkVersion) version = NULL;
  g_autoptr(SkVector) vector = NULL;
  SkBase base;

  if (node == NULL)
    return FALSE;
  *stale = node->generation != generation;
  if (*stale)
    return TRUE;
  base = *done;
  if (done->version != 0)
    {
      version = version_done (self, node_row, done);
      base.version = version != NULL ? done->version : 0;
      vector = version != NULL ? sk_vector_ref (version->entry->vector) : sk_vector_empty ();
    }
  else if (done->kind == SK_KIND_NONE)
    {
      /* What was carried out is the deletion by every maximal tombstone. */
      vector = sk_tree_join_maximal (self, node_row, error);
      if (vector == NULL)
        return FALSE;
    }
  else
    vector = sk_vector_empty ();
  base.vector = vector;
  if (!sk_index_set_base (self->index, node_row, &base, error))
    return FALSE;
  return sk_tree_recompute (self, node_row, error);
}
