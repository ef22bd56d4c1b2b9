/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Own segments, then the head that names them, into one storage. */
#include "sk-flow.h"
#include "sk-rollback.h"
#include "sk-snapshot-flow.h"

#include "sk-epochs.h"
#include "sk-membership.h"
#include "sk-test-hooks.h"

typedef struct
{
  SkFlowStorage *storage;
  SkConfig *config;
  SkPosition own, written;       /* of the own writer */
  gboolean has_own, has_written, behind;
  GBytes *segment;
  guint64 seq;
  SkHash hash;
  GBytes *head;
  guint64 counter;               /* of @head */
  GBytes *head_state;            /* what the last head put here said, to see whether a new one is due */
} Push;

static void
push_clear (Push *push)
{
  g_clear_pointer (&push->segment, g_bytes_unref);
  g_clear_pointer (&push->head, g_bytes_unref);
  g_clear_pointer (&push->head_state, g_bytes_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Push, push_clear)

/* Index thread. */
static gboolean
load_positions (SkSession *session, gpointer data, GError **error)
{
  Push *push = data;
  g_autoptr(GArray) written = sk_index_storage_positions (session->index, push->storage->row, TRUE, error);
  const SkPosition *mine;

  if (written == NULL)
    return FALSE;
  push->has_own = sk_index_position (session->index, &session->who.writer, &push->own);
  mine = sk_positions_find (written, &session->who.writer);
  push->has_written = mine != NULL;
  if (mine != NULL)
    push->written = *mine;
  push->behind = !sk_sponsor_is_reached (session->index, push->storage->row);
  return TRUE;
}

/* Index thread. */
static gboolean
load_segment (SkSession *session, gpointer data, GError **error)
{
  Push *push = data;

  g_clear_pointer (&push->segment, g_bytes_unref);
  push->segment = sk_index_segment_bytes (session->index, &session->who.writer, push->seq, &push->hash);
  if (push->segment == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "the own log lacks segment %" G_GUINT64_FORMAT " (run 'skerryctl fsck --repair')", push->seq);
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
store_written (SkSession *session, gpointer data, GError **error)
{
  Push *push = data;
  const SkPosition at = { .writer = session->who.writer, .seq = push->seq, .hash = push->hash };

  return sk_index_set_storage_position (session->index, push->storage->row, TRUE, &at, error);
}

static char *
head_key (const SkFlowStorage *storage, const char *what)
{
  return g_strdup_printf ("head-%s:%" G_GINT64_FORMAT, what, storage->row);
}

static void
set_position (GArray *positions, const SkPosition *position)
{
  for (guint i = 0; i < positions->len; i++)
    {
      SkPosition *at = &g_array_index (positions, SkPosition, i);

      if (sk_id_equal (&at->writer, &position->writer))
        {
          *at = *position;
          return;
        }
    }
  g_array_append_val (positions, *position);
}

/* Above every counter of an own head: also of one that was put here before the database was lost, which the others have seen (B3). */
static guint64
next_counter (SkSession *session, const SkFlowStorage *storage)
{
  g_autofree char *key = head_key (storage, "counter"), *seen_key = sk_pull_seen_key (storage->row, &session->who.device);

  return MAX (sk_index_get_u64 (session->index, key, 0), sk_index_get_u64 (session->index, seen_key, 0)) + 1;
}

/* Index thread, in a transaction: the head is built only when it says something new. */
static gboolean
build_head (SkSession *session, gpointer data, GError **error)
{
  Push *push = data;
  g_autoptr(SkHead) head = sk_head_new ();
  g_autoptr(GArray) merged = sk_index_positions (session->index, error);
  g_autoptr(GArray) read = sk_index_storage_positions (session->index, push->storage->row, FALSE, error);
  g_autofree char *state_key = head_key (push->storage, "state"), *counter_key = head_key (push->storage, "counter");
  g_autoptr(GBytes) old = sk_index_get (session->index, state_key);
  g_auto(SkWriter) state = { 0 };
  SkSnapshotRef snapshot;

  if (merged == NULL || read == NULL)
    return FALSE;
  if (push->has_written)
    set_position (read, &push->written);
  sk_writer_init (&state);
  sk_writer_id (&state, sk_keyring_current (push->config->keys));
  sk_writer_raw (&state, merged->data, merged->len * sizeof (SkPosition));
  sk_writer_raw (&state, read->data, read->len * sizeof (SkPosition));
  if (sk_snapshot_ref_load (session, push->storage->row, &snapshot))
    {
      head->snapshot_writer = snapshot.writer;
      head->snapshot_seq = snapshot.seq;
      head->snapshot_hash = snapshot.hash;
      sk_writer_hash (&state, &snapshot.hash);
    }
  push->head_state = sk_writer_finish (&state);
  if (old != NULL && g_bytes_equal (old, push->head_state))
    return TRUE;
  head->vault = session->who.vault;
  head->storage = push->storage->id;
  head->epoch = *sk_keyring_current (push->config->keys);
  head->device = session->who.device;
  head->writer = session->who.writer;
  head->counter = next_counter (session, push->storage);
  push->counter = head->counter;
  head->wall = sk_session_wall (session);
  g_clear_pointer (&head->merged, g_array_unref);
  g_clear_pointer (&head->read, g_array_unref);
  head->merged = g_array_ref (merged);
  head->read = g_array_ref (read);
  push->head = sk_head_build (head, push->config->keys, session->identity, error);
  return push->head != NULL && sk_index_set_u64 (session->index, counter_key, head->counter, error);
}

/* Index thread, in a transaction. */
static gboolean
store_head_state (SkSession *session, gpointer data, GError **error)
{
  Push *push = data;
  g_autofree char *key = head_key (push->storage, "state");

  return sk_rollback_note_put (session, push->storage->row, push->counter, error)
         && sk_index_set (session->index, key, g_bytes_get_data (push->head_state, NULL), g_bytes_get_size (push->head_state), error);
}

static gboolean
push_segments (SkSession *session, Push *push, GCancellable *cancellable, GError **error)
{
  SkCounters add = { 0 };

  for (push->seq = push->has_written ? push->written.seq + 1 : 1; push->has_own && push->seq <= push->own.seq; push->seq++)
    {
      g_autofree char *name = NULL;

      if (!sk_session_index (session, load_segment, push, error))
        return FALSE;
      name = sk_segment_object_name (&session->who.writer, push->seq, &push->hash);
      sk_test_stage ("put");
      if (!sk_store_put_sync (push->storage->store, name, push->segment, SK_PUT_NONE, cancellable, error))
        return FALSE;
      sk_test_stage ("put");
      add.wire_up += g_bytes_get_size (push->segment);
      if (!sk_session_transact (session, store_written, push, error))
        return FALSE;
      push->has_written = TRUE;
      push->written = (SkPosition) { .writer = session->who.writer, .seq = push->seq, .hash = push->hash };
    }
  sk_session_count (session, &add);
  return TRUE;
}

/* RULES A3e: until this device has merged what its sponsor knew, what it would publish could build on what is gone. */
static void
tell_behind (SkSession *session, SkFlowStorage *storage, gboolean behind)
{
  g_autofree char *key = g_strdup_printf ("sponsor:%" G_GINT64_FORMAT, storage->row);

  if (behind)
    sk_session_raise (session, key, "storage", 0, NULL,
                      "Storage “%s” does not show yet what it showed to the device that let this one in; nothing is sent there until it does", storage->name);
  else
    sk_session_settle_issue (session, key);
}

gboolean
sk_push_storage (SkSession *session, SkFlowStorage *storage, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_auto(Push) push = { .storage = storage, .config = config };
  g_autofree char *name = sk_head_object_name (&session->who.device);

  /* What is there may be ahead of what this database knows: it was lost, or restored, while the storage was out of reach. */
  if (!sk_session_has_met (session, storage->row))
    {
      sk_down_poll (session->down);
      return sk_fail (error, SK_ERROR_OFFLINE, "what is there was not read yet");
    }
  if (!sk_session_index (session, load_positions, &push, error))
    return FALSE;
  tell_behind (session, storage, push.behind);
  if (push.behind)
    return TRUE;
  if (!push_segments (session, &push, cancellable, error) || !sk_epochs_push (session, storage, config, cancellable, error)
      || !sk_membership_push (session, storage, config, cancellable, error)
      || !sk_snapshot_write_if_due (session, storage, cancellable, error) || !sk_session_transact (session, build_head, &push, error))
    return FALSE;
  if (push.head == NULL)
    return TRUE;
  sk_test_stage ("head");
  if (!sk_store_put_sync (storage->store, name, push.head, SK_PUT_OVERWRITE, cancellable, error))
    return FALSE;
  sk_test_stage ("head");
  return sk_session_transact (session, store_head_state, &push, error);
}
