/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must not be replaced yet. A version that lost its name has a conflict copy; somebody may have taken that away while this disk had the content at the
 * name itself. Then it is the last one, and is written anew before it is replaced. The way up does that, as with every change of this disk: it
 * reads the file and sees to it that its content is stored. */
#include "sk-down-private.h"

typedef struct
{
  GPtrArray *nodes;              /* SkNode, borrowed */
} MarkCall;

/* Index thread, in a transaction: the way up looks at what is unproven, although its numbers are as they were. Only once, since the mark makes what
 * was read before stale. */
static gboolean
mark_unproven (SkSession *session, gpointer data, GError **error)
{
  MarkCall *call = data;

  for (guint i = 0; i < call->nodes->len; i++)
    {
      const SkNode *planned = call->nodes->pdata[i];
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, planned->row, error);

      if (node == NULL)
        return FALSE;
      if (node->generation != planned->generation || node->base.unproven)
        continue;
      node->base.unproven = TRUE;
      if (!sk_index_set_base (session->index, node->row, &node->base, error))
        return FALSE;
    }
  return TRUE;
}

typedef struct
{
  gint64 row;
  SkNode *node;
  char *path;
} CopyCall;

/* Index thread. */
static gboolean
load_copy (SkSession *session, gpointer data, GError **error)
{
  CopyCall *call = data;

  call->node = sk_index_node_by_row (session->index, call->row, error);
  call->path = call->node != NULL ? sk_index_node_path (session->index, call->row, error) : NULL;
  return call->path != NULL;
}

/* TRUE when a person did something to the conflict copy that is not taken in yet. */
static gboolean
copy_is_touched (SkDown *self, SkFlowFolder *folder, gint64 row, gboolean *touched, GError **error)
{
  CopyCall call = { .row = row };
  g_autoptr(SkNode) node = NULL;
  g_autofree char *path = NULL;
  gboolean ok = sk_session_index (self->session, load_copy, &call, error);
  SkStat now;

  node = call.node;
  path = call.path;
  *touched = FALSE;
  if (!ok)
    return FALSE;
  if (node->base.kind == SK_KIND_NONE)
    return TRUE;
  /* What cannot be looked at is not taken for gone. */
  if (!sk_root_stat (folder->root, path, &now, NULL))
    return TRUE;
  *touched = now.kind != node->base.kind || now.size != node->base.size || now.ino != node->base.ino || now.mtime != node->base.stat_mtime
             || now.ctime != node->base.ctime;
  if (*touched)
    sk_up_note (self->session->up, folder->row, path, FALSE, FALSE);
  return TRUE;
}

gboolean
sk_down_spare (SkDown *self, SkFlowFolder *folder, GPtrArray *plan, GError **error)
{
  g_autoptr(GPtrArray) spared = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_down_item_free);
  g_autoptr(GPtrArray) nodes = g_ptr_array_new ();
  MarkCall call = { .nodes = nodes };

  for (guint i = plan->len; i > 0; i--)
    {
      SkDownItem *item = plan->pdata[i - 1];
      gboolean touched = FALSE;

      if (item->replace.look_at != 0 && !copy_is_touched (self, folder, item->replace.look_at, &touched, error))
        return FALSE;
      if (!touched && !item->replace.restate)
        continue;
      if (item->replace.restate)
        g_ptr_array_add (nodes, item->node);
      g_ptr_array_add (spared, g_ptr_array_steal_index (plan, i - 1));
    }
  if (nodes->len == 0)
    return TRUE;
  if (!sk_session_transact (self->session, mark_unproven, &call, error))
    return FALSE;
  for (guint i = 0; i < spared->len; i++)
    {
      SkDownItem *item = spared->pdata[i];

      if (item->replace.restate)
        sk_up_note (self->session->up, folder->row, item->path, FALSE, FALSE);
    }
  return TRUE;
}
