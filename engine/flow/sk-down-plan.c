/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has to happen on this disk, and what of the content is here already. Down thread; questions to the index thread. */
#include "sk-down-private.h"

#include <string.h>

#include "sk-merge.h"
#include "sk-rules.h"

void
sk_down_source_file_free (gpointer data)
{
  SkDownSourceFile *self = data;

  if (self == NULL)
    return;
  sk_root_unref (self->root);
  g_free (self->path);
  g_free (self);
}

void
sk_down_item_free (SkDownItem *self)
{
  if (self == NULL)
    return;
  sk_node_free (self->node);
  sk_node_free (self->move_node);
  sk_entry_free (self->entry);
  g_free (self->path);
  g_free (self->move_from);
  g_clear_pointer (&self->sources, g_ptr_array_unref);
  g_free (self->have);
  g_clear_pointer (&self->data, g_ptr_array_unref);
  g_clear_pointer (&self->partial, sk_partial_close);
  g_clear_error (&self->error);
  g_free (self);
}

void
sk_down_expect_base (const SkBase *base, SkStat *out)
{
  *out = (SkStat) { .kind = base->kind, .size = base->size, .mode = base->mode, .mtime = base->stat_mtime, .ctime = base->ctime,
                    .btime = base->btime, .ino = base->ino, .dev = base->dev, .mount_root = base->mount_root };
}

typedef struct { gint64 row; guint32 hold; } Hold;

typedef struct
{
  SkDown *down;
  SkFlowFolder *folder;
  gboolean gone;
  gint64 *after;
  SkIgnore *ignore;              /* NULL: the rules themselves are on their way */
  GPtrArray *plan;
  SkDownMoves *moves;
  GArray *holds;                 /* Hold: left out by --only or the rules */
} Plan;

static SkDownSourceFile *
source_of (SkSession *session, Plan *plan, gint64 content, guint64 offset, GError **error)
{
  g_autoptr(GPtrArray) nodes = sk_index_nodes_by_content (session->index, content, 1, error);
  SkDownSourceFile *source;
  SkNode *node;
  SkFlowFolder *folder;

  if (nodes == NULL || nodes->len == 0)
    return NULL;
  node = nodes->pdata[0];
  folder = sk_config_folder (plan->down->config, node->folder);
  if (folder == NULL || folder->root == NULL)
    return NULL;
  source = g_new0 (SkDownSourceFile, 1);
  source->root = sk_root_ref (folder->root);
  source->path = sk_index_node_path (session->index, node->row, error);
  source->offset = offset;
  return source;
}

/* Where each chunk lies on this disk: first the old version of the same file, then whatever the index remembers of the chunk. */
static gboolean
look_for_chunks (SkSession *session, Plan *plan, SkDownItem *item, GError **error)
{
  g_autoptr(GArray) old = NULL;
  g_autoptr(GHashTable) offsets = NULL;    /* in the old version */
  guint64 at = 0;

  item->sources = g_ptr_array_new_with_free_func (sk_down_source_file_free);
  if (item->node->base.kind == SK_KIND_FILE && item->node->base.content != 0)
    {
      old = sk_index_content_chunks (session->index, item->node->base.content, error);
      if (old == NULL)
        return FALSE;
      offsets = g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, NULL, g_free);
      for (guint i = 0; i < old->len; i++)
        {
          SkChunkRef *ref = &g_array_index (old, SkChunkRef, i);

          if (!sk_chunk_ref_is_zero (ref))
            g_hash_table_insert (offsets, &ref->id, g_memdup2 (&at, sizeof at));
          at += ref->size;
        }
    }
  for (guint i = 0; i < item->entry->chunks->len; i++)
    {
      SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, i);
      guint64 *offset = offsets == NULL || sk_chunk_ref_is_zero (ref) ? NULL : g_hash_table_lookup (offsets, &ref->id);
      SkDownSourceFile *source = NULL;

      if (offset != NULL)
        {
          source = g_new0 (SkDownSourceFile, 1);
          source->root = sk_root_ref (plan->folder->root);
          source->path = g_strdup (item->path);
          source->offset = *offset;
        }
      else if (!sk_chunk_ref_is_zero (ref))
        {
          gint64 content = 0;
          guint64 from = 0;

          if (sk_index_chunk_local (session->index, &ref->id, &content, &from, NULL) != 0)
            source = source_of (session, plan, content, from, error);
        }
      g_ptr_array_add (item->sources, source);
    }
  return TRUE;
}

static gboolean
load_target (SkSession *session, SkDownItem *item, GError **error)
{
  g_autoptr(SkVersion) version = NULL;

  if (item->node->target.version == 0)
    return TRUE;
  version = sk_index_version (session->index, item->node->target.version, error);
  if (version == NULL)
    return FALSE;
  item->entry = g_steal_pointer (&version->entry);
  return TRUE;
}

/* What a move or other numbers do not need. */
static gboolean
load_chunks (SkSession *session, SkDownItem *item, GError **error)
{
  if (item->entry->kind == SK_KIND_FILE && item->entry->chunks == NULL)
    item->entry->chunks = sk_index_content_chunks (session->index, item->node->target.content, error);
  return item->entry->kind != SK_KIND_FILE || item->entry->chunks != NULL;
}

static guint32
hold_for (Plan *plan, const char *path, const SkNode *node)
{
  gboolean is_dir = (node->target.kind != SK_KIND_NONE ? node->target.kind : node->base.kind) == SK_KIND_DIR;

  if (node->target.kind == SK_KIND_SYMLINK && !sk_root_abilities (plan->folder->root)->symlinks)
    return SK_HOLD_UNSUPPORTED;
  if (!sk_only_match ((const char *const *) plan->folder->only, path, is_dir))
    return SK_HOLD_NOT_SELECTED;
  return plan->ignore != NULL && sk_ignore_match (plan->ignore, path, is_dir) ? SK_HOLD_IGNORED : 0;
}

static gboolean
plan_node (SkSession *session, Plan *plan, const SkNode *dirty, GError **error)
{
  g_autofree char *path = sk_index_node_path (session->index, dirty->row, error);
  Hold hold = { .row = dirty->row };
  SkDownItem *item;
  SkNode *node;
  gboolean content_equal, meta_equal;

  if (path == NULL)
    return FALSE;
  hold.hold = hold_for (plan, path, dirty);
  if (hold.hold != 0)
    {
      g_array_append_val (plan->holds, hold);
      return TRUE;
    }
  item = g_new0 (SkDownItem, 1);
  g_ptr_array_add (plan->plan, item);
  item->path = g_steal_pointer (&path);
  item->node = node = sk_index_node_by_row (session->index, dirty->row, error);
  if (node == NULL)
    return FALSE;
  content_equal = node->base.kind == node->target.kind && node->base.content == node->target.content;
  meta_equal = (node->target.kind == SK_KIND_SYMLINK || node->base.mode == node->target.mode)
               && (node->target.kind == SK_KIND_DIR || node->base.mtime == node->target.mtime);
  item->action = sk_merge_apply (node->base.kind, node->target.kind, content_equal, meta_equal);
  sk_down_expect_base (&node->base, &item->expected);
  if (!load_target (session, item, error))
    return FALSE;
  if (plan->folder->mode == SK_FOLDER_BOTH && !content_equal
      && !sk_tree_before_replace (session->tree, node, item->entry, &item->replace, error))
    return FALSE;
  if (node->target.kind != SK_KIND_FILE || content_equal || item->entry == NULL)
    return TRUE;
  if (node->base.kind == SK_KIND_NONE && !sk_down_moves_look (plan->moves, session, item, error))
    return FALSE;
  return item->move_from != NULL || (load_chunks (session, item, error) && look_for_chunks (session, plan, item, error));
}

static gboolean
plan_window (SkSession *session, gpointer data, GError **error)
{
  Plan *plan = data;
  g_autoptr(GPtrArray) dirty = sk_index_dirty_part (session->index, plan->folder->row, plan->gone, *plan->after, SK_DOWN_WINDOW, error);

  if (dirty == NULL)
    return FALSE;
  *plan->after = 0;
  for (guint i = 0; i < dirty->len; i++)
    {
      SkNode *node = dirty->pdata[i];

      *plan->after = node->row;
      /* They come before everything else. */
      if (plan->ignore == NULL && (node->parent != 0 || strcmp (node->name, SK_RULES_NAME) != 0))
        continue;
      if (!plan_node (session, plan, node, error))
        return FALSE;
    }
  if (dirty->len < SK_DOWN_WINDOW)
    *plan->after = 0;
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
set_holds (SkSession *session, gpointer data, GError **error)
{
  GArray *holds = data;

  for (guint i = 0; i < holds->len; i++)
    {
      Hold *hold = &g_array_index (holds, Hold, i);
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, hold->row, error);

      if (node == NULL || !sk_index_set_hold (session->index, hold->row, node->hold | hold->hold, error))
        return FALSE;
    }
  return TRUE;
}

typedef struct
{
  gint64 folder;
  const char *rules;             /* what the choice depends on */
} ReleaseCall;

/* Index thread, in a transaction. */
static gboolean
release_holds (SkSession *session, gpointer data, GError **error)
{
  ReleaseCall *call = data;
  const guint32 mask = SK_HOLD_NOT_SELECTED | SK_HOLD_IGNORED | SK_HOLD_UNSUPPORTED;
  g_autofree char *key = g_strdup_printf ("held-by:%" G_GINT64_FORMAT, call->folder);
  g_autoptr(GBytes) old = sk_index_get (session->index, key);
  g_autoptr(GBytes) now = g_bytes_new_static (call->rules, strlen (call->rules));

  if (old != NULL && g_bytes_equal (old, now))
    return TRUE;
  for (;;)
    {
      g_autoptr(GPtrArray) held = sk_index_held (session->index, call->folder, mask, 1000, error);

      if (held == NULL)
        return FALSE;
      for (guint i = 0; i < held->len; i++)
        if (!sk_index_set_hold (session->index, ((SkNode *) held->pdata[i])->row, ((SkNode *) held->pdata[i])->hold & ~mask, error))
          return FALSE;
      if (held->len == 0)
        return sk_index_set (session->index, key, call->rules, strlen (call->rules), error);
    }
}

void
sk_down_release_holds (SkDown *self, SkFlowFolder *folder)
{
  g_autofree char *only = folder->only != NULL ? g_strjoinv ("\n", folder->only) : g_strdup ("");
  g_autofree char *rules = NULL;
  ReleaseCall call = { .folder = folder->row };
  SkStat stat = { 0 };
  g_autoptr(GError) error = NULL;

  /* Rules that cannot be looked at are others, in any case. */
  (void) sk_root_stat (folder->root, SK_RULES_NAME, &stat, NULL);
  rules = g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %d\n%s", stat.ino, stat.size, stat.mtime,
                           stat.ctime, sk_root_abilities (folder->root)->symlinks, only);
  call.rules = rules;
  if (!sk_session_transact (self->session, release_holds, &call, &error))
    g_message ("“%s”: %s", folder->name, error->message);
}

/* Links on a file system that has none: not here, and nowhere else less for that (A14). */
static void
tell_unsupported (SkDown *self, SkFlowFolder *folder, const GArray *holds)
{
  g_autofree char *key = g_strdup_printf ("unsupported:%" G_GINT64_FORMAT, folder->row);
  guint n = 0;

  for (guint i = 0; i < holds->len; i++)
    n += (g_array_index (holds, Hold, i).hold & SK_HOLD_UNSUPPORTED) != 0;
  if (n > 0)
    sk_session_raise (self->session, key, "not-synced", folder->row, NULL,
                      "The disk of “%s” cannot hold links: they are left out here, and stay as they are on the other devices", folder->name);
  else if (sk_root_abilities (folder->root)->symlinks)
    sk_session_settle_issue (self->session, key);
}

GPtrArray *
sk_down_plan (SkDown *self, SkFlowFolder *folder, gboolean gone, gint64 *after, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(SkIgnore) ignore = sk_rules_read (self->session, folder->row, folder->name, folder->root, &local);
  g_autoptr(SkDownMoves) moves = sk_down_moves_new ();
  g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_down_item_free);
  g_autoptr(GArray) holds = g_array_new (FALSE, FALSE, sizeof (Hold));
  Plan plan = { .down = self, .folder = folder, .gone = gone, .after = after, .ignore = ignore, .plan = items, .moves = moves, .holds = holds };

  if (ignore == NULL && !g_error_matches (local, SK_ERROR, SK_ERROR_BUSY))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  if (!sk_session_index (self->session, plan_window, &plan, error)
      || (holds->len > 0 && !sk_session_transact (self->session, set_holds, holds, error)))
    return NULL;
  tell_unsupported (self, folder, holds);
  return g_steal_pointer (&items);
}
