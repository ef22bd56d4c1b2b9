/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-snapshot-flow.h"

#include "sk-snapshot.h"

typedef struct
{
  SkSnapshot *snapshot;
  GPtrArray *records;
  GPtrArray *problems;
  gint64 storage;
  SkSnapshotRef ref;
} Reading;

/* An impossible one is one problem, not an unreadable snapshot. */
static gboolean
take_modes (SkSession *session, const SkModes *modes, GPtrArray *problems, GError **error)
{
  g_autoptr(GError) local = NULL;

  if (sk_tree_take_modes (session->tree, modes, &local))
    return TRUE;
  if (g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT))
    {
      g_ptr_array_add (problems, g_strdup (local->message));
      return TRUE;
    }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* Index thread, in a transaction: records of a part are state, so applying them again changes nothing. */
static gboolean
merge_part (SkSession *session, gpointer data, GError **error)
{
  Reading *reading = data;
  const SkId nobody = { 0 };

  for (guint i = 0; i < reading->records->len; i++)
    {
      SkRecord *record = reading->records->pdata[i];
      const SkId *writer = record->type == SK_RECORD_ENTRY ? &record->entry->writer : &nobody;

      if (record->type == SK_RECORD_MODES)
        {
          if (!take_modes (session, record->modes, reading->problems, error))
            return FALSE;
        }
      else if (!sk_log_apply (session, record, writer, 0, reading->problems, error))
        return FALSE;
    }
  return TRUE;
}

/* Index thread, in a transaction: only now, with every part merged, do the logs count as read up to the coverage. */
static gboolean
take_coverage (SkSession *session, gpointer data, GError **error)
{
  Reading *reading = data;
  GArray *coverage = reading->snapshot->coverage;
  g_autofree char *ref_key = g_strdup_printf ("snapshot-ref:%" G_GINT64_FORMAT, reading->storage);
  g_autofree char *coverage_key = g_strdup_printf ("snapshot-coverage:%" G_GINT64_FORMAT, reading->storage);

  for (guint i = 0; i < coverage->len; i++)
    {
      SkPosition *at = &g_array_index (coverage, SkPosition, i);
      SkPosition have;

      if (sk_id_equal (&at->writer, &session->who.writer) || (sk_index_position (session->index, &at->writer, &have) && have.seq >= at->seq))
        continue;
      if (!sk_index_set_position (session->index, at, error)
          || !sk_index_set_storage_position (session->index, reading->storage, FALSE, at, error))
        return FALSE;
    }
  return sk_index_set (session->index, ref_key, &reading->ref, sizeof reading->ref, error)
         && sk_index_set (session->index, coverage_key, coverage->data, coverage->len * sizeof (SkPosition), error);
}

/* How many segments the snapshot would save reading: what its writer's head covered, less what is here. */
static guint64
worth (const SkHead *head, GArray *local)
{
  guint64 saved = 0;

  for (guint i = 0; i < head->merged->len; i++)
    {
      const SkPosition *at = &g_array_index (head->merged, SkPosition, i);
      const SkPosition *have = sk_positions_find (local, &at->writer);

      saved += at->seq - (have != NULL ? MIN (have->seq, at->seq) : 0);
    }
  return saved;
}

static guint64
worth_limit (void)
{
#if SK_TEST_HOOKS
  if (g_getenv ("SKERRY_TEST_SNAPSHOT_TAIL") != NULL)
    return 1;
#endif
  return SK_SNAPSHOT_WORTH;
}

static void
reading_clear (Reading *reading)
{
  g_clear_pointer (&reading->snapshot, sk_snapshot_free);
  g_clear_pointer (&reading->records, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Reading, reading_clear)

static gboolean
read_parts (SkSession *session, SkFlowStorage *storage, SkConfig *config, Reading *reading, GCancellable *cancellable, GError **error)
{
  for (guint i = 0; i < reading->snapshot->parts->len; i++)
    {
      SkPartRef *ref = &g_array_index (reading->snapshot->parts, SkPartRef, i);
      g_autofree char *name = sk_part_object_name (&ref->name);
      g_autoptr(GBytes) object = sk_store_get_sync (storage->store, name, ref->size, cancellable, error);
      SkCompressor *z;

      if (object == NULL)
        return FALSE;
      z = sk_session_take_compressor (session);
      g_clear_pointer (&reading->records, g_ptr_array_unref);
      reading->records = sk_part_open (object, ref, &session->who.vault, config->keys, z, reading->problems, error);
      sk_session_give_compressor (session, z);
      if (reading->records == NULL || !sk_session_transact (session, merge_part, reading, error))
        return FALSE;
    }
  return sk_session_transact (session, take_coverage, reading, error);
}

gboolean
sk_snapshot_read (SkSession *session, SkFlowStorage *storage, const SkHead *head, GArray *local, gboolean *read, GPtrArray *problems,
                  GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_auto(Reading) reading = { .problems = problems, .storage = storage->row };
  g_autofree char *name = NULL;
  g_autoptr(GBytes) object = NULL;
  SkDeviceId device = sk_id_device (&head->snapshot_writer);
  const SkPublicKey *key;
  SkHash hash;
  gsize len;
  const guint8 *bytes;

  *read = FALSE;
  if (head->snapshot_seq == 0 || worth (head, local) < worth_limit ())
    return TRUE;
  key = sk_members_sign_key (config->members, &device);
  if (key == NULL)
    return TRUE;
  name = sk_snapshot_object_name (&head->snapshot_writer, head->snapshot_seq);
  object = sk_store_get_sync (storage->store, name, SK_SEGMENT_SIZE_MAX, cancellable, error);
  if (object == NULL)
    return FALSE;
  bytes = g_bytes_get_data (object, &len);
  sk_sha256 (bytes, len, &hash);
  if (!sk_hash_equal (&hash, &head->snapshot_hash))
    return sk_fail (error, SK_ERROR_CORRUPT, "the snapshot in storage “%s” is not the one its writer named", storage->name);
  reading.snapshot = sk_snapshot_open (object, key, &session->who.vault, config->keys, error);
  if (reading.snapshot == NULL)
    return FALSE;
  reading.ref = (SkSnapshotRef) { .writer = head->snapshot_writer, .seq = head->snapshot_seq, .hash = head->snapshot_hash };
  if (!read_parts (session, storage, config, &reading, cancellable, error))
    return FALSE;
  *read = TRUE;
  return TRUE;
}
