/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads and logs of one storage into the index. Blocking; down's thread. LIST is a hint only (C10): how far a log reaches is said by
 * heads, and a segment counts only when its hash chain fits. */
#include "sk-flow.h"

#include <string.h>

#include "sk-epochs.h"
#include "sk-hash.h"
#include "sk-heads.h"
#include "sk-test-hooks.h"
#include "sk-rollback.h"
#include "sk-snapshot-flow.h"
#include "sk-membership.h"

typedef struct
{
  SkFlowStorage *storage;
  SkConfig *config;
  GArray *local;                 /* SkPosition: merged here */
  GArray *wanted;                /* SkPosition: offered by heads of this storage */
  SkPullResult *out;
  SkHead *best;                  /* that names the newest snapshot; NULL when none does */
  SkHead *own;                   /* of this device; NULL when there is none */
  guint64 last_put;              /* counter of the own head that must be there */
  /* one segment on its way into the index */
  SkPosition position;
  GBytes *object;
  GPtrArray *records;
  gboolean config_changed;
  SkEpochs *epochs;              /* of all rounds */
} Pull;

/* Something sealed with keys that are not here, perhaps. */
static void
note_refusal (Pull *pull, const GError *why)
{
  pull->epochs->refused |= g_error_matches (why, SK_ERROR, SK_ERROR_UNTRUSTED);
}

static void
want (GArray *wanted, const SkPosition *position)
{
  for (guint i = 0; i < wanted->len; i++)
    {
      SkPosition *at = &g_array_index (wanted, SkPosition, i);

      if (!sk_id_equal (&at->writer, &position->writer))
        continue;
      if (position->seq > at->seq)
        *at = *position;
      return;
    }
  g_array_append_val (wanted, *position);
}

typedef struct
{
  char *key;
  guint64 counter, seen;
  SkDeviceId device;
  gint64 wall;                   /* of the head, by its device's clock */
} CounterCall;

char *
sk_pull_last_seen_key (const SkDeviceId *device)
{
  char hex[SK_DEVICE_ID_HEX_SIZE];

  sk_device_id_format (device, hex);
  return g_strdup_printf ("last-seen:%s", hex);
}

/* Index thread, in a transaction. */
static gboolean
note_counter (SkSession *session, gpointer data, GError **error)
{
  CounterCall *call = data;

  g_autofree char *last_seen = sk_pull_last_seen_key (&call->device);

  call->seen = sk_index_get_u64 (session->index, call->key, 0);
  if (call->counter <= call->seen)
    return TRUE;
  return sk_index_set_u64 (session->index, call->key, call->counter, error)
         && sk_index_set_u64 (session->index, last_seen, (guint64) CLAMP (call->wall, 0, sk_session_wall (session)), error);
}

char *
sk_pull_seen_key (gint64 storage, const SkDeviceId *device)
{
  char hex[SK_DEVICE_ID_HEX_SIZE];

  sk_device_id_format (device, hex);
  return g_strdup_printf ("head-seen:%" G_GINT64_FORMAT ":%s", storage, hex);
}

/* RULES B3: nobody goes back. An older head than one that was read here before is a rolled back or copied storage. */
static gboolean
is_rolled_back (SkSession *session, Pull *pull, const SkHead *head)
{
  g_autofree char *key = sk_pull_seen_key (pull->storage->row, &head->device);
  CounterCall call = { .key = key, .counter = head->counter, .device = head->device, .wall = head->wall };
  g_autoptr(GError) error = NULL;

  if (!sk_session_transact (session, note_counter, &call, &error))
    {
      g_ptr_array_add (pull->out->problems, g_strdup (error->message));
      return FALSE;
    }
  return call.counter < call.seen;
}

/* Somebody this device has not heard of. His record comes with a log that is read first, or lies beside his head (a device that was restored
 * from the phrase stands in no log but its own); he is looked at again in the next round. */
static void
read_stranger (SkSession *session, Pull *pull, const SkDeviceId *device, GCancellable *cancellable)
{
  g_autoptr(GError) error = NULL;
  gboolean learnt = FALSE;

  if (!sk_membership_learn (session, pull->storage, pull->config, device, &learnt, cancellable, &error))
    {
      note_refusal (pull, error);
      g_message ("storage “%s” has a head of a device that is not known: %s", pull->storage->name, error->message);
    }
  pull->config_changed |= learnt;
}

/* Index thread, in a transaction. */
static gboolean
forget_head (SkSession *session, gpointer data, GError **error)
{
  return sk_rollback_forget_head (session, ((Pull *) data)->storage->row, error);
}

/* A damaged head of this device is put again, even when there is nothing new to say; the others wait for theirs. */
static void
meet_bad_head (SkSession *session, Pull *pull, const char *name, const GError *why)
{
  g_autofree char *own = sk_head_object_name (&session->who.device);
  g_autoptr(GError) error = NULL;
  SkDeviceId device;
  const SkDevice *known = NULL;

  if (strcmp (name, own) == 0 && why->code != SK_ERROR_TOO_NEW && sk_session_transact (session, forget_head, pull, &error))
    {
      g_message ("the own head in storage “%s” is damaged (%s); it is put there again", pull->storage->name, why->message);
      sk_up_publish (session->up);
      return;
    }
  if (sk_device_id_parse (name + strlen ("heads/"), &device, NULL))
    known = sk_members_find (pull->config->members, &device);
  g_ptr_array_add (pull->out->problems,
                   g_strdup_printf ("storage “%s”: “%s” is damaged (%s). Device “%s” puts it there again when it syncs next", pull->storage->name,
                                    name, why->message, known != NULL ? known->name : "?"));
}

static gboolean
check_head_name (const char *name, const SkDeviceId *device, GError **error)
{
  g_autofree char *should = sk_head_object_name (device);

  return strcmp (name, should) == 0 || sk_fail (error, SK_ERROR_CORRUPT, "it is the head of another device");
}

static void
read_head (SkSession *session, Pull *pull, const char *name, GBytes *object, GCancellable *cancellable)
{
  SkDeviceId device;
  const SkPublicKey *key;
  g_autoptr(SkHead) head = NULL;
  g_autoptr(GError) error = NULL;
  const SkDevice *known;

  if (!sk_head_peek (object, &device, &error) || !check_head_name (name, &device, &error))
    {
      meet_bad_head (session, pull, name, error);
      return;
    }
  key = sk_members_sign_key (pull->config->members, &device);
  if (key == NULL)
    {
      read_stranger (session, pull, &device, cancellable);
      return;
    }
  head = sk_head_open (object, key, &session->who.vault, &pull->storage->id, pull->config->keys, &error);
  if (head == NULL)
    {
      note_refusal (pull, error);
      meet_bad_head (session, pull, name, error);
      return;
    }
  if (is_rolled_back (session, pull, head) && !sk_device_id_equal (&device, &session->who.device))
    {
      known = sk_members_find (pull->config->members, &device);
      g_ptr_array_add (pull->out->problems,
                       g_strdup_printf ("storage “%s” shows an older state of device “%s” than before: it was rolled back or is a copy; nothing "
                                        "is taken as removed from it", pull->storage->name, known != NULL ? known->name : "?"));
      return;
    }
  if (sk_device_id_equal (&device, &session->who.device))
    pull->own = sk_head_open (object, key, &session->who.vault, &pull->storage->id, pull->config->keys, NULL);
  for (guint i = 0; i < head->read->len; i++)
    want (pull->wanted, &g_array_index (head->read, SkPosition, i));
  /* The newest snapshot anybody names: of the head written last. */
  if (head->snapshot_seq > 0 && (pull->best == NULL || head->wall > pull->best->wall))
    {
      g_clear_pointer (&pull->best, sk_head_free);
      pull->best = g_steal_pointer (&head);
    }
}

static gboolean
read_heads (SkSession *session, Pull *pull, GPtrArray *items, GCancellable *cancellable, GError **error)
{
  for (guint i = 0; i < items->len; i++)
    {
      SkStoreItem *item = items->pdata[i];
      g_autoptr(GError) local = NULL;
      g_autoptr(GBytes) object = sk_heads_get (session, pull->storage, item, cancellable, &local);

      if (object == NULL && g_error_matches (local, SK_ERROR, SK_ERROR_OFFLINE))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (object == NULL && (g_error_matches (local, SK_ERROR, SK_ERROR_CORRUPT) || g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT)))
        meet_bad_head (session, pull, item->name, local);
      else if (object == NULL)
        g_ptr_array_add (pull->out->problems, g_strdup_printf ("%s: %s", item->name, local->message));
      else
        read_head (session, pull, item->name, object, cancellable);
    }
  return TRUE;
}

/* Index thread. */
static gboolean
load_local (SkSession *session, gpointer data, GError **error)
{
  Pull *pull = data;

  pull->last_put = sk_rollback_last_put (session, pull->storage->row);
  pull->local = sk_index_positions (session->index, error);
  return pull->local != NULL;
}

/* Index thread: one transaction per received segment. */
static gboolean
merge_segment (SkSession *session, gpointer data, GError **error)
{
  Pull *pull = data;

  for (guint i = 0; i < pull->records->len; i++)
    {
      SkRecord *record = pull->records->pdata[i];

      if (!sk_log_apply (session, record, &pull->position.writer, pull->position.seq, pull->out->problems, error))
        return FALSE;
      pull->config_changed |= record->type == SK_RECORD_MEMBER || record->type == SK_RECORD_FOLDER || record->type == SK_RECORD_STORAGE;
    }
  return sk_index_segment_keep (session->index, &pull->position, pull->object, error)
         && sk_index_set_position (session->index, &pull->position, error)
         && sk_index_set_storage_position (session->index, pull->storage->row, FALSE, &pull->position, error);
}

/* Index thread, in a transaction: read here what was already merged from elsewhere. */
static gboolean
note_read (SkSession *session, gpointer data, GError **error)
{
  Pull *pull = data;

  return sk_index_set_storage_position (session->index, pull->storage->row, FALSE, &pull->position, error);
}

/* Names of a writer's segments in this storage, by sequence number. */
static GHashTable *
list_segments (Pull *pull, const SkId *writer, GCancellable *cancellable, GError **error)
{
  char hex[SK_ID_HEX_SIZE];
  g_autofree char *prefix = NULL;
  g_autoptr(GPtrArray) items = NULL;
  GHashTable *names;

  sk_id_format (writer, hex);
  prefix = g_strdup_printf ("log/%s/", hex);
  items = sk_store_list_sync (pull->storage->store, prefix, cancellable, error);
  if (items == NULL)
    return NULL;
  names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify) g_ptr_array_unref);
  for (guint i = 0; i < items->len; i++)
    {
      SkStoreItem *item = items->pdata[i];
      SkId of;
      guint64 seq;
      guint8 prefix_bytes[8];
      GPtrArray *same;

      if (!sk_segment_parse_name (item->name, &of, &seq, prefix_bytes) || !sk_id_equal (&of, writer))
        continue;
      same = g_hash_table_lookup (names, &seq);
      if (same == NULL)
        {
          same = g_ptr_array_new_with_free_func (g_free);
          g_hash_table_insert (names, g_memdup2 (&seq, sizeof seq), same);
        }
      g_ptr_array_add (same, g_strdup (item->name));
    }
  return names;
}

/* What is damaged says nothing about another candidate. A storage that is away, or a key that is not here yet, says it about all. */
static gboolean
is_damage (const GError *error)
{
  return g_error_matches (error, SK_ERROR, SK_ERROR_CORRUPT) || g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND)
         || g_error_matches (error, SK_ERROR, SK_ERROR_UNTRUSTED) || g_error_matches (error, SK_ERROR, SK_ERROR_LIMIT);
}

/* The segment that continues the chain at (seq, prev), or NULL with an error. Several candidates: two devices with one identity, or what
 * somebody put there; the one that fits the chain we follow is taken, the other branch is reported (A5). */
static gboolean
fetch_next (SkSession *session, Pull *pull, GPtrArray *candidates, const SkHash *prev, const SkPublicKey *key, GCancellable *cancellable,
            GError **error)
{
  g_autoptr(GError) damage = NULL;

  for (guint i = 0; i < candidates->len; i++)
    {
      SkSegmentHeader header;
      g_autoptr(GError) local = NULL;
      g_autoptr(GPtrArray) refused = g_ptr_array_new_with_free_func (g_free);
      SkCompressor *z;
      gsize len;
      const guint8 *bytes;
      gboolean ok;

      g_clear_pointer (&pull->object, g_bytes_unref);
      pull->object = sk_store_get_sync (pull->storage->store, candidates->pdata[i], SK_SEGMENT_SIZE_MAX, cancellable, &local);
      ok = pull->object != NULL;
      if (ok)
        {
          z = sk_session_take_compressor (session);
          ok = sk_segment_open (pull->object, key, &session->who.vault, pull->config->keys, z, &header, &pull->records, refused, &local);
          sk_session_give_compressor (session, z);
        }
      if (!ok && !is_damage (local))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (!ok)
        {
          if (damage == NULL)
            damage = g_steal_pointer (&local);
          continue;
        }
      if (!sk_id_equal (&header.writer, &pull->position.writer) || header.seq != pull->position.seq || !sk_hash_equal (&header.prev, prev))
        {
          g_clear_pointer (&pull->records, g_ptr_array_unref);
          continue;
        }
      for (guint k = 0; k < refused->len; k++)
        g_ptr_array_add (pull->out->problems, g_steal_pointer (&refused->pdata[k]));
      bytes = g_bytes_get_data (pull->object, &len);
      sk_sha256 (bytes, len, &pull->position.hash);
      return TRUE;
    }
  if (damage != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&damage));
      return FALSE;
    }
  return sk_fail (error, SK_ERROR_CORRUPT, "no segment in the storage continues this log");
}

static gboolean
pull_writer (SkSession *session, Pull *pull, const SkPosition *target, GCancellable *cancellable, GError **error)
{
  const SkPosition *have = sk_positions_find (pull->local, &target->writer);
  SkHash prev = have != NULL ? have->hash : (SkHash) { 0 };
  guint64 seq = have != NULL ? have->seq : 0;
  SkDeviceId device = sk_id_device (&target->writer);
  const SkPublicKey *key = sk_members_sign_key (pull->config->members, &device);
  g_autoptr(GHashTable) names = NULL;

  if (seq >= target->seq)
    {
      if (seq == target->seq && sk_hash_equal (&prev, &target->hash))
        {
          pull->position = *target;
          return sk_session_transact (session, note_read, pull, error);
        }
      return TRUE;
    }
  if (key == NULL)
    return TRUE;
  names = list_segments (pull, &target->writer, cancellable, error);
  if (names == NULL)
    return FALSE;
  for (seq++; seq <= target->seq; seq++)
    {
      GPtrArray *candidates = g_hash_table_lookup (names, &seq);

      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      if (candidates == NULL)
        return sk_fail (error, SK_ERROR_NOT_FOUND, "segment %" G_GUINT64_FORMAT " of a log is not in the storage (yet)", seq);
      pull->position = (SkPosition) { .writer = target->writer, .seq = seq };
      if (!fetch_next (session, pull, candidates, &prev, key, cancellable, error))
        return FALSE;
      if (!sk_session_transact (session, merge_segment, pull, error))
        return FALSE;
      pull->out->segments++;
      pull->out->entries += pull->records->len;
      pull->out->merged = TRUE;
      prev = pull->position.hash;
      g_clear_pointer (&pull->records, g_ptr_array_unref);
    }
  return TRUE;
}

static void
pull_clear (Pull *pull)
{
  g_clear_pointer (&pull->config, sk_config_unref);
  g_clear_pointer (&pull->local, g_array_unref);
  g_clear_pointer (&pull->best, sk_head_free);
  g_clear_pointer (&pull->own, sk_head_free);
  g_clear_pointer (&pull->wanted, g_array_unref);
  g_clear_pointer (&pull->object, g_bytes_unref);
  g_clear_pointer (&pull->records, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Pull, pull_clear)

/* Index thread. The way up may have put a head there after the positions were read: the own one is read again after the heads. Or it would be
 * taken for a log that is ahead of this device, and the own segments for news, with which the position would go back. */
static gboolean
load_own (SkSession *session, gpointer data, GError **error)
{
  Pull *pull = data;
  SkPosition own;

  if (sk_index_position (session->index, &session->who.writer, &own))
    want (pull->local, &own);
  return TRUE;
}

/* RULES A5: the own log reaches further there than here, or forks from it. */
static gboolean
is_ahead_of_me (SkSession *session, Pull *pull)
{
  const SkPosition *there = sk_positions_find (pull->wanted, &session->who.writer);
  const SkPosition *here = sk_positions_find (pull->local, &session->who.writer);

  if (there == NULL)
    return FALSE;
  if (here == NULL || there->seq > here->seq)
    return TRUE;
  return there->seq == here->seq && !sk_hash_equal (&there->hash, &here->hash);
}

/* TRUE when a snapshot was read: then everything is looked at again from there. One that cannot be read is no loss: the logs tell the same. */
static gboolean
read_snapshot (SkSession *session, Pull *pull, GCancellable *cancellable)
{
  g_autoptr(GError) error = NULL;
  gboolean read = FALSE;

  if (pull->best == NULL
      || sk_snapshot_read (session, pull->storage, pull->best, pull->local, &read, pull->out->problems, cancellable, &error))
    {
      pull->out->merged |= read;
      return read;
    }
  g_ptr_array_add (pull->out->problems, g_strdup_printf ("a snapshot in storage “%s” could not be read: %s", pull->storage->name, error->message));
  return FALSE;
}

/* For people: how far a log is known to reach. */
static void
note_offered (SkSession *session, GArray *wanted)
{
  g_mutex_lock (&session->lock);
  for (guint i = 0; i < wanted->len; i++)
    want (session->offered, &g_array_index (wanted, SkPosition, i));
  g_mutex_unlock (&session->lock);
}

static gboolean
pull_once (SkSession *session, SkFlowStorage *storage, GPtrArray *items, SkPullResult *out, SkEpochs *epochs, gboolean *again,
           GCancellable *cancellable, GError **error)
{
  g_auto(Pull) pull = { .storage = storage, .out = out, .epochs = epochs };

  *again = FALSE;
  pull.config = sk_session_config (session);
  pull.wanted = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  if (!sk_session_index (session, load_local, &pull, error))
    return FALSE;
  sk_test_stage ("pull");
  if (!read_heads (session, &pull, items, cancellable, error) || !sk_session_index (session, load_own, &pull, error))
    return FALSE;
  note_offered (session, pull.wanted);
  if (!sk_rollback_check (session, storage, pull.own, pull.last_put, cancellable, error))
    return FALSE;
  if (is_ahead_of_me (session, &pull))
    {
      *again = TRUE;
      return sk_session_new_incarnation (session, error);
    }
  if (read_snapshot (session, &pull, cancellable))
    {
      *again = TRUE;
      return sk_session_reload (session, error);
    }
  for (guint i = 0; i < pull.wanted->len; i++)
    {
      SkPosition *target = &g_array_index (pull.wanted, SkPosition, i);
      g_autoptr(GError) local = NULL;

      if (pull_writer (session, &pull, target, cancellable, &local))
        continue;
      if (g_cancellable_is_cancelled (cancellable) || g_error_matches (local, SK_ERROR, SK_ERROR_OFFLINE))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      note_refusal (&pull, local);
      g_ptr_array_add (out->problems, g_strdup_printf ("a log in storage “%s” could not be read: %s", storage->name, local->message));
    }
  if (pull.config_changed)
    {
      /* Perhaps a device that was not known before: its head and log can be read now. */
      *again = TRUE;
      return sk_session_reload (session, error);
    }
  return TRUE;
}

/* Keys of another device that were missing: with them everything is looked at once more. */
static gboolean
read_epochs (SkSession *session, SkFlowStorage *storage, SkEpochs *epochs, gboolean *again, GCancellable *cancellable, GError **error)
{
  gboolean learnt = FALSE;

  if (!epochs->refused || *again)
    return TRUE;
  epochs->refused = FALSE;
  if (!sk_epochs_read (epochs, session, storage, &learnt, cancellable, error))
    return FALSE;
  *again = learnt;
  return TRUE;
}

static GPtrArray *
list_heads (SkSession *session, SkFlowStorage *storage, GCancellable *cancellable, GError **error)
{
  g_autoptr(GError) local = NULL;
  GPtrArray *items = sk_store_list_sync (storage->store, "heads/", cancellable, &local);

  /* What is wrong with the place is told best by a look at its marker. */
  if (items == NULL && sk_store_check_marker_sync (storage->store, &session->who.vault, &storage->id, cancellable, error))
    g_propagate_error (error, g_steal_pointer (&local));
  return items;
}

gboolean
sk_pull_storage (SkSession *session, SkFlowStorage *storage, SkPullResult *out, GCancellable *cancellable, GError **error)
{
  g_auto(SkEpochs) epochs = { NULL };
  g_autoptr(GPtrArray) items = list_heads (session, storage, cancellable, error);
  gboolean again = TRUE;

  if (items == NULL)
    return FALSE;
  out->unchanged = sk_heads_unchanged (session, storage, items);
  if (out->unchanged)
    return TRUE;
  sk_heads_forget_all (session, storage);
  if (!sk_store_check_marker_sync (storage->store, &session->who.vault, &storage->id, cancellable, error))
    return FALSE;
  for (guint round = 0; again && round < SK_DEVICES_MAX; round++)
    {
      g_ptr_array_set_size (out->problems, 0);
      if (round > 0)
        {
          g_ptr_array_unref (items);
          items = list_heads (session, storage, cancellable, error);
        }
      if (items == NULL || !pull_once (session, storage, items, out, &epochs, &again, cancellable, error)
          || !read_epochs (session, storage, &epochs, &again, cancellable, error))
        return FALSE;
    }
  if (!sk_epochs_settle (&epochs, session, error))
    return FALSE;
  if (!again && out->problems->len == 0)
    sk_heads_read_all (session, storage, items->len);
  return TRUE;
}
