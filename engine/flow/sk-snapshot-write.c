/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-snapshot-flow.h"

#include <string.h>

#include "sk-snapshot.h"

#define PART_RECORDS_MAX 16384u          /* bounds memory where no content-defined end comes */
#define READ_NODES 2000u                 /* nodes per visit to the index thread */

typedef enum { STAGE_DEFINITIONS, STAGE_ENTRIES, STAGE_PACKS, STAGE_DONE } Stage;

typedef struct
{
  SkSession *session;
  SkFlowStorage *storage;
  SkConfig *config;
  GCancellable *cancellable;
  Stage stage;
  gint64 after_node;
  guint pack_at;
  GArray *packs;                 /* SkPackInfo of the storage being listed */
  GPtrArray *storages;           /* SkStorageRow */
  guint storage_at;
  GPtrArray *records;            /* of the part being filled */
  gboolean part_full;
  SkSnapshot *snapshot;
  GHashTable *previous;          /* plain hash -> SkPartRef of the last own snapshot */
  GArray *previous_parts;
  guint64 tail, nodes;
  SkSnapshotRef ref;
} Work;

static char *
key_of (const char *what, gint64 storage)
{
  return g_strdup_printf ("snapshot-%s:%" G_GINT64_FORMAT, what, storage);
}

gboolean
sk_snapshot_ref_load (SkSession *session, gint64 storage, SkSnapshotRef *out)
{
  g_autofree char *key = key_of ("ref", storage);
  g_autoptr(GBytes) bytes = sk_index_get (session->index, key);

  if (bytes == NULL || g_bytes_get_size (bytes) != sizeof *out)
    return FALSE;
  memcpy (out, g_bytes_get_data (bytes, NULL), sizeof *out);
  return TRUE;
}

gboolean
sk_snapshot_forget (SkSession *session, gint64 storage, GError **error)
{
  static const char *const what[] = { "ref", "coverage", "parts" };

  for (guint i = 0; i < G_N_ELEMENTS (what); i++)
    {
      g_autofree char *key = key_of (what[i], storage);

      if (!sk_index_set (session->index, key, "", 0, error))
        return FALSE;
    }
  return TRUE;
}

/* Index thread: how many segments were merged since the last snapshot known here. */
static gboolean
measure_tail (SkSession *session, gpointer data, GError **error)
{
  Work *work = data;
  g_autofree char *key = key_of ("coverage", work->storage->row);
  g_autoptr(GBytes) bytes = sk_index_get (session->index, key);
  g_autoptr(GArray) covered = g_array_new (FALSE, FALSE, sizeof (SkPosition));

  if (bytes != NULL && g_bytes_get_size (bytes) % sizeof (SkPosition) == 0)
    g_array_append_vals (covered, g_bytes_get_data (bytes, NULL), (guint) (g_bytes_get_size (bytes) / sizeof (SkPosition)));
  work->snapshot->coverage = sk_index_positions (session->index, error);
  if (work->snapshot->coverage == NULL)
    return FALSE;
  for (guint i = 0; i < work->snapshot->coverage->len; i++)
    {
      SkPosition *at = &g_array_index (work->snapshot->coverage, SkPosition, i);
      const SkPosition *before = sk_positions_find (covered, &at->writer);

      work->tail += at->seq - (before != NULL ? MIN (before->seq, at->seq) : 0);
    }
  return sk_index_nodes_made (session->index, &work->nodes, error);
}

/* Index thread. */
static gboolean
load_previous (SkSession *session, gpointer data, GError **error)
{
  Work *work = data;
  g_autofree char *key = key_of ("parts", work->storage->row), *seq_key = key_of ("seq", work->storage->row);
  g_autoptr(GBytes) bytes = sk_index_get (session->index, key);

  work->snapshot->seq = sk_index_get_u64 (session->index, seq_key, 0) + 1;
  work->previous_parts = g_array_new (FALSE, FALSE, sizeof (SkPartRef));
  if (bytes != NULL && g_bytes_get_size (bytes) % sizeof (SkPartRef) == 0)
    g_array_append_vals (work->previous_parts, g_bytes_get_data (bytes, NULL), (guint) (g_bytes_get_size (bytes) / sizeof (SkPartRef)));
  work->previous = g_hash_table_new (sk_hash_hash, sk_hash_equal_func);
  for (guint i = 0; i < work->previous_parts->len; i++)
    {
      SkPartRef *ref = &g_array_index (work->previous_parts, SkPartRef, i);

      g_hash_table_insert (work->previous, &ref->plain, ref);
    }
  work->storages = sk_index_storages (session->index);
  return TRUE;
}

static gboolean
add_definitions (SkSession *session, Work *work, GError **error)
{
  g_autoptr(GPtrArray) members = sk_index_members (session->index, error);
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);

  if (members == NULL)
    return FALSE;
  for (guint i = 0; i < members->len; i++)
    g_ptr_array_add (work->records, sk_record_new_member (g_bytes_ref (members->pdata[i])));
  for (guint i = 0; i < work->storages->len; i++)
    {
      SkStorageRow *row = work->storages->pdata[i];
      SkStorageDef *def = g_new0 (SkStorageDef, 1);

      *def = (SkStorageDef) { .id = row->id, .name = g_strdup (row->name), .uri = g_strdup (row->uri != NULL ? row->uri : ""), .deleted = row->deleted,
                              .lamport = row->lamport, .writer = row->writer };
      g_ptr_array_add (work->records, sk_record_new_storage (def));
    }
  for (guint i = 0; i < folders->len; i++)
    {
      SkFolderRow *row = folders->pdata[i];
      SkFolderDef *def = g_new0 (SkFolderDef, 1);

      *def = (SkFolderDef) { .id = row->id, .name = g_strdup (row->name), .deleted = row->deleted, .lamport = row->lamport, .writer = row->writer,
                             .storages = row->storages != NULL ? g_array_ref (row->storages) : NULL };
      g_ptr_array_add (work->records, sk_record_new_folder (def));
    }
  work->stage = STAGE_ENTRIES;
  work->part_full = TRUE;
  return TRUE;
}

/* Every maximal version of a node, and what only replaced ones tell about its mode; virtual conflict copies are recomputed by the reader. */
static gboolean
add_node (SkSession *session, Work *work, gint64 node, gboolean *is_end, GError **error)
{
  g_autoptr(GPtrArray) versions = sk_index_versions (session->index, node, TRUE, error);
  g_autoptr(SkModes) modes = NULL;

  if (versions == NULL || !sk_tree_modes_beyond (session->tree, node, versions, &modes, error))
    return FALSE;
  for (guint i = 0; i < versions->len; i++)
    {
      SkVersion *version = versions->pdata[i];

      if (version->is_virtual)
        continue;
      if (version->entry->kind == SK_KIND_FILE && version->entry->chunks == NULL)
        {
          version->entry->chunks = sk_index_content_chunks (session->index, version->content, error);
          if (version->entry->chunks == NULL)
            return FALSE;
        }
      *is_end |= sk_part_ends_after ((const guint8 *) version->entry->path, strlen (version->entry->path));
      g_ptr_array_add (work->records, sk_record_new_entry (g_steal_pointer (&version->entry)));
    }
  if (modes != NULL)
    g_ptr_array_add (work->records, sk_record_new_modes (g_steal_pointer (&modes)));
  return TRUE;
}

static gboolean
add_entries (SkSession *session, Work *work, GError **error)
{
  g_autoptr(GArray) rows = sk_index_node_rows (session->index, work->after_node, READ_NODES, error);

  if (rows == NULL)
    return FALSE;
  for (guint i = 0; i < rows->len && !work->part_full; i++)
    {
      gboolean is_end = FALSE;

      work->after_node = g_array_index (rows, gint64, i);
      if (!add_node (session, work, work->after_node, &is_end, error))
        return FALSE;
      work->part_full = is_end || work->records->len >= PART_RECORDS_MAX;
    }
  if (rows->len == 0)
    {
      work->stage = STAGE_PACKS;
      work->part_full = TRUE;
    }
  return TRUE;
}

static gboolean
add_packs (SkSession *session, Work *work, GError **error)
{
  SkStorageRow *storage;

  if (work->storage_at >= work->storages->len)
    {
      work->stage = STAGE_DONE;
      work->part_full = TRUE;
      return TRUE;
    }
  storage = work->storages->pdata[work->storage_at];
  if (work->packs == NULL)
    work->packs = sk_index_packs (session->index, storage->row, error);
  if (work->packs == NULL)
    return FALSE;
  for (guint n = 0; work->pack_at < work->packs->len && n < 64 && !work->part_full; n++)
    {
      SkPackInfo *info = &g_array_index (work->packs, SkPackInfo, work->pack_at++);
      g_autoptr(GPtrArray) puts = NULL;

      if (info->state == SK_PACK_GONE)
        continue;
      puts = sk_index_pack_rows (session->index, info->row, error);
      if (puts == NULL || puts->len == 0)
        return FALSE;
      g_ptr_array_add (work->records, sk_record_new_pack (g_ptr_array_steal_index (puts, 0)));
      if (info->state == SK_PACK_CONDEMNED)
        g_ptr_array_add (work->records, sk_record_new_pack_ref (SK_RECORD_PACK_DROP, &storage->id, &info->name));
      work->part_full = sk_part_ends_after (info->name.bytes, sizeof info->name.bytes) || work->records->len >= PART_RECORDS_MAX / 16;
    }
  if (work->pack_at >= work->packs->len)
    {
      g_clear_pointer (&work->packs, g_array_unref);
      work->pack_at = 0;
      work->storage_at++;
    }
  return TRUE;
}

/* Index thread: some more records; a visit is short, so that others get their turn. */
static gboolean
gather (SkSession *session, gpointer data, GError **error)
{
  Work *work = data;

  switch (work->stage)
    {
    case STAGE_DEFINITIONS:
      return add_definitions (session, work, error);
    case STAGE_ENTRIES:
      return add_entries (session, work, error);
    case STAGE_PACKS:
      return add_packs (session, work, error);
    case STAGE_DONE:
    default:
      return TRUE;
    }
}

static gboolean
put_part (Work *work, GError **error)
{
  SkSession *session = work->session;
  SkPartRef ref;
  SkPartRef *known;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GBytes) back = NULL;
  g_autofree char *name = NULL;
  SkCompressor *z = sk_session_take_compressor (session);

  object = sk_part_build (work->records, &session->who.vault, work->config->keys, z, &ref, error);
  sk_session_give_compressor (session, z);
  if (object == NULL)
    return FALSE;
  known = g_hash_table_lookup (work->previous, &ref.plain);
  if (known != NULL)
    {
      g_array_append_val (work->snapshot->parts, *known);
      return TRUE;
    }
  name = sk_part_object_name (&ref.name);
  if (!sk_store_put_sync (work->storage->store, name, object, SK_PUT_NONE, work->cancellable, error))
    return FALSE;
  back = sk_store_get_sync (work->storage->store, name, G_MAXINT32, work->cancellable, error);
  if (back == NULL)
    return FALSE;
  g_array_append_val (work->snapshot->parts, ref);
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
remember (SkSession *session, gpointer data, GError **error)
{
  Work *work = data;
  g_autofree char *ref = key_of ("ref", work->storage->row), *parts = key_of ("parts", work->storage->row);
  g_autofree char *coverage = key_of ("coverage", work->storage->row), *seq = key_of ("seq", work->storage->row);
  GArray *p = work->snapshot->parts, *c = work->snapshot->coverage;

  return sk_index_set (session->index, ref, &work->ref, sizeof work->ref, error)
         && sk_index_set (session->index, parts, p->data, p->len * sizeof (SkPartRef), error)
         && sk_index_set (session->index, coverage, c->data, c->len * sizeof (SkPosition), error)
         && sk_index_set_u64 (session->index, seq, work->snapshot->seq, error);
}

static gboolean
write_all (Work *work, GError **error)
{
  SkSession *session = work->session;
  g_autoptr(GBytes) object = NULL;
  g_autofree char *name = NULL;

  while (work->stage != STAGE_DONE || work->records->len > 0)
    {
      work->part_full = FALSE;
      while (!work->part_full && work->stage != STAGE_DONE)
        if (g_cancellable_set_error_if_cancelled (work->cancellable, error) || !sk_session_index (session, gather, work, error))
          return FALSE;
      if (work->records->len > 0 && !put_part (work, error))
        return FALSE;
      g_ptr_array_set_size (work->records, 0);
    }
  work->snapshot->vault = session->who.vault;
  work->snapshot->writer = session->who.writer;
  work->snapshot->epoch = *sk_keyring_current (work->config->keys);
  work->snapshot->wall = sk_session_wall (session);
  object = sk_snapshot_build (work->snapshot, work->config->keys, session->identity, &work->ref.hash, error);
  if (object == NULL)
    return FALSE;
  name = sk_snapshot_object_name (&session->who.writer, work->snapshot->seq);
  work->ref.writer = session->who.writer;
  work->ref.seq = work->snapshot->seq;
  return sk_store_put_sync (work->storage->store, name, object, SK_PUT_OVERWRITE, work->cancellable, error)
         && sk_session_transact (session, remember, work, error);
}

static void
work_clear (Work *work)
{
  g_clear_pointer (&work->config, sk_config_unref);
  g_clear_pointer (&work->packs, g_array_unref);
  g_clear_pointer (&work->storages, g_ptr_array_unref);
  g_clear_pointer (&work->records, g_ptr_array_unref);
  g_clear_pointer (&work->previous, g_hash_table_unref);
  g_clear_pointer (&work->previous_parts, g_array_unref);
  g_clear_pointer (&work->snapshot, sk_snapshot_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

/* A snapshot costs as much as the tree is large, so that the log must have grown in proportion. A test asks for them sooner. */
static guint64
tail_limit (const Work *work)
{
#if SK_TEST_HOOKS
  const char *text = g_getenv ("SKERRY_TEST_SNAPSHOT_TAIL");

  if (text != NULL)
    return g_ascii_strtoull (text, NULL, 10);
#endif
  return SK_SNAPSHOT_TAIL + work->nodes / SK_SNAPSHOT_NODES;
}

gboolean
sk_snapshot_write_if_due (SkSession *session, SkFlowStorage *storage, GCancellable *cancellable, GError **error)
{
  g_auto(Work) work = { .session = session, .storage = storage, .cancellable = cancellable };

  work.snapshot = sk_snapshot_new ();
  g_clear_pointer (&work.snapshot->coverage, g_array_unref);
  if (!sk_session_index (session, measure_tail, &work, error))
    return FALSE;
  if (work.tail < tail_limit (&work))
    return TRUE;
  work.config = sk_session_config (session);
  work.records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  if (work.snapshot->parts == NULL)
    work.snapshot->parts = g_array_new (FALSE, FALSE, sizeof (SkPartRef));
  return sk_session_index (session, load_previous, &work, error) && write_all (&work, error);
}
