/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-revive.h"

#define BATCH 1000u                      /* entries of one segment */

void
sk_revived_clear (SkRevived *self)
{
  g_clear_pointer (&self->lost_nodes, g_array_unref);
  if (self->down.sources != NULL)
    sk_down_result_clear (&self->down);
}

gboolean
sk_revive_prepare (SkCommand *self, const SkFolderRow *folder, GError **error)
{
  SkUpResult up;
  g_autoptr(GError) local = NULL;

  if (folder->path == NULL)
    return sk_fail (error, SK_ERROR_USAGE, "“%s” is not attached here: give a directory with --to", folder->name);
  if (folder->mode != SK_FOLDER_BOTH)
    return sk_fail (error, SK_ERROR_USAGE, "“%s” only %s changes on this device: give a directory with --to, or restore on another device",
                    folder->name, folder->mode == SK_FOLDER_SEND ? "sends" : "receives");
  if (!sk_command_reload (self, error) || !sk_down_pull (self->session->down, self->cancellable, error))
    return FALSE;
  if (sk_up_sync (self->session->up, &folder->row, 1, &up, self->cancellable, &local))
    sk_up_result_clear (&up);
  return !g_cancellable_set_error_if_cancelled (self->cancellable, error);
}

/* Every chunk of @content (row; 0: none) is held by a storage of the folder, or the folder has none. */
static gboolean
is_held (SkSession *session, SkConfig *config, gint64 folder, gint64 content, gboolean *held, GError **error)
{
  SkFlowFolder *flow = sk_config_folder (config, folder);
  g_autoptr(GArray) chunks = NULL;
  g_autoptr(GArray) ids = g_array_new (FALSE, FALSE, sizeof (SkHash));
  g_autofree gboolean *each = NULL;

  *held = TRUE;
  if (content == 0 || flow == NULL || flow->storages->len == 0)
    return TRUE;
  chunks = sk_index_content_chunks (session->index, content, error);
  if (chunks == NULL)
    return FALSE;
  for (guint i = 0; i < chunks->len; i++)
    if (!sk_chunk_ref_is_zero (&g_array_index (chunks, SkChunkRef, i)))
      g_array_append_val (ids, g_array_index (chunks, SkChunkRef, i).id);
  if (ids->len == 0)
    return TRUE;
  each = g_new0 (gboolean, ids->len);
  if (!sk_index_chunks_held (session->index, (const SkHash *) (gpointer) ids->data, ids->len, (const gint64 *) (gpointer) flow->storages->data,
                             flow->storages->len, each, error))
    return FALSE;
  for (guint i = 0; i < ids->len; i++)
    *held = *held && each[i];
  return TRUE;
}

typedef struct
{
  gint64 folder;
  const GArray *revivals;
  guint from, to;
  SkConfig *config;
  SkRevived *out;
} Batch;

/* A version that nobody needed any more may be gone, and its row another one's by now. */
static SkVersion *
version_of (SkSession *session, const SkRevival *revival)
{
  g_autoptr(GError) ignored = NULL;
  SkVersion *version = sk_index_version (session->index, revival->version, &ignored);

  if (version != NULL && version->node == revival->node && version->entry->kind != SK_KIND_TOMBSTONE)
    return version;
  g_clear_pointer (&version, sk_version_free);
  return NULL;
}

/* A decision about a mass change that is open does not hold back what a person asked for by name. */
static gboolean
release_hold (SkSession *session, gint64 row, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (session->index, row, error);

  return node != NULL && ((node->hold & SK_HOLD_MASS) == 0 || sk_index_set_hold (session->index, row, node->hold & ~(guint32) SK_HOLD_MASS, error));
}

static gboolean
revive_one (SkSession *session, Batch *batch, const SkRevival *revival, guint64 seq, GPtrArray *records, GError **error)
{
  SkVersion *version = version_of (session, revival);
  gboolean is_file = version != NULL && version->entry->kind == SK_KIND_FILE;
  guint64 size = is_file ? version->entry->size : 0;
  gint64 content = is_file ? version->content : 0;
  gboolean held = version != NULL;

  g_clear_pointer (&version, sk_version_free);
  if (held && !is_held (session, batch->config, batch->folder, content, &held, error))
    return FALSE;
  if (!held)
    {
      batch->out->lost++;
      g_array_append_val (batch->out->lost_nodes, revival->node);
      return TRUE;
    }
  batch->out->files++;
  batch->out->bytes += size;
  return release_hold (session, revival->node, error)
         && sk_tree_revive (session->tree, revival->node, revival->version, &session->who.writer, seq, sk_session_wall (session), records, error);
}

/* Index thread, in a transaction. */
static gboolean
revive_batch (SkSession *session, gpointer data, GError **error)
{
  Batch *batch = data;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  guint64 seq;
  SkHash prev;

  if (!sk_log_next (session, &seq, &prev, error))
    return FALSE;
  for (guint i = batch->from; i < batch->to; i++)
    if (!revive_one (session, batch, &g_array_index (batch->revivals, SkRevival, i), seq, records, error))
      return FALSE;
  return sk_log_append (session, records, error);
}

gboolean
sk_revive (SkCommand *self, gint64 folder, const GArray *revivals, SkRevived *out, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  Batch batch = { .folder = folder, .revivals = revivals, .config = config, .out = out };
  SkUpResult pushed;
  const gint64 none = -1;

  *out = (SkRevived) { .lost_nodes = g_array_new (FALSE, FALSE, sizeof (gint64)) };
  sk_down_result_init (&out->down);
  for (; batch.from < revivals->len; batch.from = batch.to)
    {
      batch.to = MIN (batch.from + BATCH, revivals->len);
      if (!sk_session_transact (self->session, revive_batch, &batch, error))
        return FALSE;
    }
  if (out->files == 0)
    return TRUE;
  /* Without a storage within reach it is published later; this disk need not wait for that. */
  sk_up_publish (self->session->up);
  if (sk_up_sync (self->session->up, &none, 1, &pushed, self->cancellable, NULL))
    sk_up_result_clear (&pushed);
  return sk_down_sync (self->session->down, &folder, 1, &out->down, self->cancellable, error);
}
