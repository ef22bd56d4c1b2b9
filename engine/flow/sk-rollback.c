/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-rollback.h"

#include "sk-pack.h"
#include "sk-snapshot-flow.h"

#define ROWS_AT_ONCE 2000u

static char *
put_key (gint64 storage)
{
  return g_strdup_printf ("head-put:%" G_GINT64_FORMAT, storage);
}

gboolean
sk_rollback_note_put (SkSession *session, gint64 storage, guint64 counter, GError **error)
{
  g_autofree char *key = put_key (storage);

  return counter <= sk_index_get_u64 (session->index, key, 0) || sk_index_set_u64 (session->index, key, counter, error);
}

gboolean
sk_rollback_forget_head (SkSession *session, gint64 storage, GError **error)
{
  g_autofree char *state = g_strdup_printf ("head-state:%" G_GINT64_FORMAT, storage);

  return sk_index_set (session->index, state, "", 0, error);
}

/* --- files whose content is nowhere --- */

typedef struct
{
  gint64 folder, after;
  gboolean more;
} MarkCall;

static gboolean
is_lost (SkSession *session, const SkFlowFolder *folder, gint64 content, gboolean *lost, GError **error)
{
  g_autoptr(GArray) chunks = sk_index_content_chunks (session->index, content, error);

  *lost = FALSE;
  if (chunks == NULL)
    return FALSE;
  for (guint i = 0; i < chunks->len && !*lost; i++)
    {
      SkChunkRef *ref = &g_array_index (chunks, SkChunkRef, i);
      gboolean held = TRUE;

      if (!sk_chunk_ref_is_zero (ref)
          && !sk_index_chunks_held (session->index, &ref->id, 1, (const gint64 *) (gpointer) folder->storages->data, folder->storages->len, &held,
                                    error))
        return FALSE;
      *lost = !held;
    }
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
mark_some (SkSession *session, gpointer data, GError **error)
{
  MarkCall *call = data;
  g_autoptr(SkConfig) config = sk_session_config (session);
  SkFlowFolder *folder = sk_config_folder (config, call->folder);
  g_autoptr(GArray) rows = sk_index_node_rows (session->index, call->after, ROWS_AT_ONCE, error);

  call->more = FALSE;
  if (rows == NULL || folder == NULL || folder->storages->len == 0)
    return rows != NULL;
  call->more = rows->len > 0;
  for (guint i = 0; i < rows->len; i++)
    {
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, g_array_index (rows, gint64, i), error);
      gboolean lost;

      if (node == NULL)
        return FALSE;
      call->after = node->row;
      if (node->folder != call->folder || node->base.kind != SK_KIND_FILE || node->base.content == 0)
        continue;
      if (!is_lost (session, folder, node->base.content, &lost, error))
        return FALSE;
      node->base.unproven = TRUE;
      if (lost && !sk_index_set_base (session->index, node->row, &node->base, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
sk_rollback_mark_files (SkSession *session, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);

  for (guint i = 0; i < config->folders->len; i++)
    {
      MarkCall call = { .folder = ((SkFlowFolder *) config->folders->pdata[i])->row };

      do
        if (g_cancellable_set_error_if_cancelled (cancellable, error) || !sk_session_transact (session, mark_some, &call, error))
          return FALSE;
      while (call.more);
    }
  return TRUE;
}

/* --- the storage --- */

typedef struct
{
  SkFlowStorage *storage;
  const SkHead *own;
  GArray *packs;                 /* SkPackInfo that the log names; later those that are missing */
} RollbackCall;

guint64
sk_rollback_last_put (SkSession *session, gint64 storage)
{
  g_autofree char *key = put_key (storage);

  return sk_index_get_u64 (session->index, key, 0);
}

/* Index thread. */
static gboolean
load_packs (SkSession *session, gpointer data, GError **error)
{
  RollbackCall *call = data;

  call->packs = sk_index_packs (session->index, call->storage->row, error);
  return call->packs != NULL;
}

/* LIST is a hint (C10): what it does not show is asked for by name. */
static gboolean
keep_missing (RollbackCall *call, GCancellable *cancellable, GError **error)
{
  g_autoptr(GPtrArray) items = sk_store_list_sync (call->storage->store, "packs/", cancellable, error);
  g_autoptr(GHashTable) there = g_hash_table_new (g_str_hash, g_str_equal);

  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    g_hash_table_add (there, ((SkStoreItem *) items->pdata[i])->name);
  for (guint i = call->packs->len; i > 0; i--)
    {
      SkPackInfo *pack = &g_array_index (call->packs, SkPackInfo, i - 1);
      g_autofree char *name = sk_pack_object_name (&pack->name);
      g_autoptr(GBytes) byte = NULL;
      g_autoptr(GError) local = NULL;

      if (pack->state != SK_PACK_LIVE || g_hash_table_contains (there, name)
          || (byte = sk_store_get_range_sync (call->storage->store, name, 0, 1, cancellable, &local)) != NULL)
        g_array_remove_index (call->packs, i - 1);
      else if (!g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
    }
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
take_back (SkSession *session, gpointer data, GError **error)
{
  RollbackCall *call = data;
  gint64 row = call->storage->row;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  const SkPosition *there = call->own != NULL ? sk_positions_find (call->own->read, &session->who.writer) : NULL;
  SkPosition written = there != NULL ? *there : (SkPosition) { .writer = session->who.writer };
  g_autofree char *put = put_key (row);

  for (guint i = 0; i < call->packs->len; i++)
    {
      const SkHash *name = &g_array_index (call->packs, SkPackInfo, i).name;

      g_ptr_array_add (records, sk_record_new_pack_ref (SK_RECORD_PACK_DROP, &call->storage->id, name));
      if (!sk_index_pack_set_state (session->index, row, name, SK_PACK_GONE, &session->who.writer, sk_session_wall (session), error))
        return FALSE;
    }
  return sk_log_append (session, records, error) && sk_index_set_storage_position (session->index, row, TRUE, &written, error)
         && sk_rollback_forget_head (session, row, error) && sk_snapshot_forget (session, row, error) && sk_index_set_u64 (session->index, put, 0, error);
}

/* A head that cannot be read, or that LIST does not show yet (C10), is not a missing one. */
static gboolean
is_missing (SkSession *session, SkFlowStorage *storage, GCancellable *cancellable)
{
  g_autofree char *name = sk_head_object_name (&session->who.device);
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) object = sk_store_get_sync (storage->store, name, SK_HEAD_SIZE_MAX, cancellable, &error);

  return object == NULL && g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND);
}

gboolean
sk_rollback_check (SkSession *session, SkFlowStorage *storage, const SkHead *own, guint64 last_put, GCancellable *cancellable, GError **error)
{
  RollbackCall call = { .storage = storage, .own = own };
  g_autofree char *key = g_strdup_printf ("rolled-back:%" G_GINT64_FORMAT, storage->row);
  g_autoptr(GArray) packs = NULL;

  if (last_put == 0 || (own != NULL ? own->counter >= last_put : !is_missing (session, storage, cancellable)))
    return TRUE;
  if (!sk_session_index (session, load_packs, &call, error))
    return FALSE;
  packs = call.packs;
  if (!keep_missing (&call, cancellable, error) || !sk_session_transact (session, take_back, &call, error)
      || !sk_rollback_mark_files (session, cancellable, error))
    return FALSE;
  sk_session_raise (session, key, "rolled-back", 0, NULL,
                    "Storage “%s” has lost what this device put there last: it was restored from a backup, or is a copy. Nothing is taken as removed "
                    "from it, and what is missing is put there again. If the other one is still in use somewhere, give up one of the two",
                    storage->name);
  sk_up_publish (session->up);
  return TRUE;
}
