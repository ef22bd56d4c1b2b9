/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chunks that no storage of their folder holds go into packs: compress, seal, put. One pack is one job of the cpu pool. */
#include "sk-up-private.h"

#include "sk-memory.h"
#include "sk-pack.h"
#include "sk-test-hooks.h"

static void
split_chunk_clear (gpointer data)
{
  sk_split_chunk_clear (data);
}

static GArray *
chunk_array_new (void)
{
  GArray *array = g_array_new (FALSE, FALSE, sizeof (SkSplitChunk));

  g_array_set_clear_func (array, split_chunk_clear);
  return array;
}

static void
up_chunk_free (gpointer data)
{
  SkUpChunk *self = data;

  g_ptr_array_unref (self->items);
  g_free (self);
}

void
sk_up_lane_free (gpointer data)
{
  SkUpLane *self = data;

  g_free (self->key);
  g_array_unref (self->storages);
  g_array_unref (self->open);
  g_hash_table_unref (self->in_flight);
  g_free (self);
}

static GHashTable *
in_flight_new (void)
{
  return g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, NULL, up_chunk_free);
}

static SkUpLane *
lane_of (SkUp *self, GArray *storages)
{
  g_autoptr(GString) key = g_string_new (NULL);
  SkUpLane *lane;

  for (guint i = 0; i < storages->len; i++)
    g_string_append_printf (key, "%" G_GINT64_FORMAT ",", g_array_index (storages, gint64, i));
  for (guint i = 0; i < self->lanes->len; i++)
    if (g_str_equal (((SkUpLane *) self->lanes->pdata[i])->key, key->str))
      return self->lanes->pdata[i];
  lane = g_new0 (SkUpLane, 1);
  lane->key = g_strdup (key->str);
  lane->storages = g_array_ref (storages);
  lane->open = chunk_array_new ();
  lane->in_flight = in_flight_new ();
  g_ptr_array_add (self->lanes, lane);
  return lane;
}

void
sk_up_pack_free (gpointer data)
{
  SkUpPack *self = data;

  g_clear_pointer (&self->chunks, g_array_unref);
  g_clear_pointer (&self->keys, sk_keyring_unref);
  g_clear_pointer (&self->object, g_bytes_unref);
  g_clear_pointer (&self->rows, g_array_unref);
  g_clear_pointer (&self->stored, g_array_unref);
  g_clear_error (&self->error);
  g_free (self);
}

void
sk_up_give_budget (SkUp *self, guint64 cost)
{
  if (cost > 0)
    sk_budget_give (&self->budget, cost);
}

/* One waiter less; a failed pack fails the item, an item with nothing left to wait for goes on. */
static void
chunk_settled (SkUp *self, SkUpItem *item, const GError *error)
{
  item->waiting--;
  if (error != NULL && item->error == NULL)
    item->error = g_error_copy (error);
  if (item->waiting > 0 || item->reading || !item->read_done)
    return;
  if (item->error != NULL)
    sk_up_item_fail (self, item);
  else
    sk_up_ready (self, item);
}

static gboolean
is_given_up (const SkUpPack *pack)
{
  return pack->generation != g_atomic_int_get (&pack->up->generation);
}

/* What a large file still waits for becomes less while it is read. */
static void
chunk_arrived (SkUp *self, SkUpItem *item, guint64 size, gint64 now)
{
  guint64 less = MIN (size, item->queued);

  item->queued -= less;
  sk_live_queue (self->session->live, item->folder->row, 0, -(gint64) less);
  sk_live_moved (self->session->live, item->folder->row, size, 0, now);
}

static void
pack_ended (SkUp *self, SkUpPack *pack)
{
  SkUpLane *lane = pack->lane;
  g_autoptr(GArray) chunks = g_steal_pointer (&pack->chunks);
  g_autoptr(GError) error = NULL;
  SkCounters add = { .chunks_new = chunks->len };
  gint64 now = sk_clock_now (self->session->clock);
  gboolean given_up = is_given_up (pack);

  self->packs_out--;
  sk_up_give_budget (self, pack->cost);
  if (pack->stored->len > 0)
    {
      /* First of all, so that a commit that the settled items bring about has the pack's record before their entries. */
      pack->size = g_bytes_get_size (pack->object);
      g_clear_pointer (&pack->object, g_bytes_unref);
      add.wire_up = pack->size;
      add.packs_up = 1;
      sk_session_count (self->session, &add);
      g_ptr_array_add (self->finished, pack);
      /* Of a very large file the packs go into the log while it is still being read: after a kill they are known. */
      if (self->finished->len >= SK_UP_COMMIT_PACKS)
        sk_up_commit (self);
    }
  else
    {
      error = g_steal_pointer (&pack->error);
      sk_up_pack_free (pack);
    }
  for (guint i = 0; i < chunks->len && !given_up; i++)
    {
      SkHash id = g_array_index (chunks, SkSplitChunk, i).ref.id;
      gpointer value = NULL;
      SkUpChunk *chunk;

      if (!g_hash_table_steal_extended (lane->in_flight, &id, NULL, &value))
        continue;
      chunk = value;
      if (error == NULL)
        chunk_arrived (self, chunk->items->pdata[0], g_array_index (chunks, SkSplitChunk, i).ref.size, now);
      for (guint k = 0; k < chunk->items->len; k++)
        chunk_settled (self, chunk->items->pdata[k], error);
      up_chunk_free (chunk);
    }
  sk_up_turn (self);
}

typedef struct
{
  SkUpPack *pack;
  gint64 storage;
} PutCall;

static void
put_done (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree PutCall *call = data;
  SkUpPack *pack = call->pack;
  SkLive *live = pack->up->session->live;
  g_autoptr(GError) error = NULL;

  sk_test_stage ("put");
  sk_live_storage_queue (live, call->storage, -(gint64) g_bytes_get_size (pack->object));
  if (sk_store_put_finish (SK_STORE (source), result, &error))
    {
      g_array_append_val (pack->stored, call->storage);
      sk_live_storage_moved (live, call->storage, g_bytes_get_size (pack->object), 0, sk_clock_now (pack->up->session->clock));
    }
  else if (pack->error == NULL)
    pack->error = g_steal_pointer (&error);
  if (--pack->puts_left == 0)
    pack_ended (pack->up, pack);
}

/* up thread: the sealed pack goes to every storage of its lane that is attached here. */
static void
seal_done (gpointer data)
{
  SkUpPack *pack = data;
  SkUp *self = pack->up;
  g_autofree char *name = NULL;
  GPtrArray *targets = self->config->storages;

  self->seals_out--;
  if (pack->error == NULL && is_given_up (pack))
    sk_fail (&pack->error, SK_ERROR_CANCELLED, "nobody asks for it any more");
  if (pack->error != NULL)
    {
      pack_ended (self, pack);
      return;
    }
  name = sk_pack_object_name (&pack->name);
  pack->puts_left = 1;             /* held while the loop starts puts */
  for (guint i = 0; i < pack->lane->storages->len; i++)
    {
      gint64 row = g_array_index (pack->lane->storages, gint64, i);
      SkFlowStorage *storage = sk_config_storage (self->config, row);
      PutCall *call;

      if (storage == NULL)
        continue;
      call = g_new0 (PutCall, 1);
      call->pack = pack;
      call->storage = row;
      pack->puts_left++;
      sk_live_storage_queue (self->session->live, row, (gint64) g_bytes_get_size (pack->object));
      sk_test_stage ("put");
      sk_store_put_async (storage->store, name, pack->object, SK_PUT_NONE, self->session->stopping, put_done, call);
    }
  if (pack->puts_left == 1 && pack->error == NULL)
    g_set_error (&pack->error, SK_ERROR, SK_ERROR_OFFLINE, "no storage of this folder is attached here (%u in the vault)", targets->len);
  if (--pack->puts_left == 0)
    pack_ended (self, pack);
  else
    sk_up_read_more (self);
}

/* At most: compressed chunks are never larger. */
static gsize
object_size (const GArray *chunks)
{
  gsize size = SK_UP_PACK_FRAME;

  for (guint i = 0; i < chunks->len; i++)
    size += g_array_index (chunks, SkSplitChunk, i).ref.size + SK_UP_PACK_ROW;
  return sk_padme (size);
}

/* cpu pool */
static void
run_seal (gpointer data)
{
  SkUpPack *pack = data;
  SkSession *session = pack->up->session;
  g_autoptr(SkPackBuilder) builder = sk_pack_builder_new (&session->who.vault, pack->keys, sk_memory_block (object_size (pack->chunks)), &pack->error);
  SkCompressor *z = sk_session_take_compressor (session);

  for (guint i = 0; builder != NULL && pack->error == NULL && i < pack->chunks->len && !is_given_up (pack); i++)
    {
      SkSplitChunk *chunk = &g_array_index (pack->chunks, SkSplitChunk, i);
      gsize len;
      const guint8 *bytes = g_bytes_get_data (chunk->data, &len);

      /* One in sixteen is opened again from its sealed bytes (RULES C18); the id chooses, so that it is not always the first. */
      sk_pack_builder_add (builder, z, pack->level, &chunk->ref.id, bytes, len, pack->verify || (chunk->ref.id.bytes[31] & 15) == 0, &pack->error);
      /* From here it is in the pack; both at once would take twice what the budget knows of, until the pack is stored. */
      g_clear_pointer (&chunk->data, g_bytes_unref);
    }
  if (builder != NULL && pack->error == NULL && !is_given_up (pack))
    pack->object = sk_pack_builder_finish (builder, &pack->name, &pack->rows, &pack->error);
  pack->epoch = *sk_keyring_current (pack->keys);
  sk_session_give_compressor (session, z);
}

static void
seal_lane (SkUp *self, SkUpLane *lane)
{
  SkUpPack *pack;
  SkFlowStorage *first;

  if (lane->open->len == 0)
    return;
  first = lane->storages->len > 0 ? sk_config_storage (self->config, g_array_index (lane->storages, gint64, 0)) : NULL;
  pack = g_new0 (SkUpPack, 1);
  pack->up = self;
  pack->lane = lane;
  pack->generation = self->generation;
  pack->chunks = lane->open;
  pack->cost = lane->open_cost;
  pack->level = first != NULL ? first->level : 3;
  pack->verify = first != NULL && first->verify;
  pack->keys = sk_keyring_ref (self->config->keys);
  pack->stored = g_array_new (FALSE, FALSE, sizeof (gint64));
  lane->open = chunk_array_new ();
  lane->open_bytes = lane->open_cost = 0;
  self->packs_out++;
  self->seals_out++;
  sk_pool_push (self->session->cpu, run_seal, seal_done, pack, NULL, NULL, sk_worker_context (self->worker));
}

static void
give_up_lane (SkUp *self, SkUpLane *lane, const GError *error)
{
  g_autoptr(GHashTable) waiting = g_steal_pointer (&lane->in_flight);
  GHashTableIter iter;
  gpointer value;

  lane->in_flight = in_flight_new ();
  sk_up_give_budget (self, lane->open_cost);
  lane->open_bytes = lane->open_cost = 0;
  g_array_set_size (lane->open, 0);
  g_hash_table_iter_init (&iter, waiting);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    for (guint i = 0; i < ((SkUpChunk *) value)->items->len; i++)
      chunk_settled (self, ((SkUpChunk *) value)->items->pdata[i], error);
}

void
sk_up_pack_give_up (SkUp *self)
{
  g_autoptr(GError) error = g_error_new_literal (SK_ERROR, SK_ERROR_CANCELLED, "nobody asks for it any more");

  g_atomic_int_inc (&self->generation);
  for (guint i = 0; i < self->lanes->len; i++)
    give_up_lane (self, self->lanes->pdata[i], error);
}

void
sk_up_seal_idle (SkUp *self)
{
  for (guint i = 0; i < self->lanes->len; i++)
    seal_lane (self, self->lanes->pdata[i]);
}

typedef struct
{
  GPtrArray *items;
  GArray *ids;                   /* SkHash of every fresh chunk, in order */
  gboolean *held;
} HeldCall;

/* Index thread: one question per folder for all fresh chunks of the batch. */
static gboolean
ask_held (SkSession *session, gpointer data, GError **error)
{
  HeldCall *call = data;
  guint at = 0;

  for (guint i = 0; i < call->items->len; i++)
    {
      SkUpItem *item = call->items->pdata[i];
      GArray *storages = item->folder->flow->storages;

      if (item->fresh->len == 0)
        continue;
      if (!item->asked)
        {
          item->asked = TRUE;
          item->asked_losses = sk_index_losses (session->index);
          item->asked_config = item->up->configs;
        }
      if (!sk_index_chunks_held (session->index, &g_array_index (call->ids, SkHash, at), item->fresh->len,
                                 (const gint64 *) (gpointer) storages->data, storages->len, call->held + at, error))
        return FALSE;
      at += item->fresh->len;
    }
  return TRUE;
}

static void
wait_for (SkUpLane *lane, SkUpItem *item, SkSplitChunk *chunk, SkUp *self)
{
  SkUpChunk *pending = g_hash_table_lookup (lane->in_flight, &chunk->ref.id);
  guint64 credit;

  if (pending == NULL)
    {
      pending = g_new0 (SkUpChunk, 1);
      pending->id = chunk->ref.id;
      pending->items = g_ptr_array_new ();
      g_hash_table_insert (lane->in_flight, &pending->id, pending);
      if (lane->open_bytes + chunk->ref.size + SK_UP_PACK_ROW > SK_UP_PACK_TARGET - SK_UP_PACK_FRAME || lane->open->len >= SK_UP_PACK_CHUNKS)
        seal_lane (self, lane);
      lane->open_bytes += chunk->ref.size + SK_UP_PACK_ROW;
      /* The pack holds the credit from here. A chunk that spans two steps may be larger than what the last step took. */
      credit = MIN (item->cost, chunk->ref.size);
      item->cost -= credit;
      lane->open_cost += credit;
      g_array_append_val (lane->open, *chunk);
      chunk->data = NULL;
    }
  if (pending->items->len == 0 || pending->items->pdata[pending->items->len - 1] != item)
    {
      g_ptr_array_add (pending->items, item);
      item->waiting++;
    }
}

static void
route_item (SkUp *self, SkUpItem *item, const gboolean *held)
{
  GArray *storages = item->folder->flow->storages;
  SkUpLane *lane = storages->len > 0 && sk_up_may_publish (item->folder) ? lane_of (self, storages) : NULL;
  SkCounters add = { 0 };

  item->unsent |= lane == NULL;
  for (guint i = 0; i < item->fresh->len; i++)
    {
      SkSplitChunk *chunk = &g_array_index (item->fresh, SkSplitChunk, i);

      /* A folder without a storage: peers are served from the file itself. One that only receives: nothing leaves. */
      if (lane == NULL || chunk->data == NULL || held[i])
        {
          add.chunks_known++;
          continue;
        }
      wait_for (lane, item, chunk, self);
    }
  g_array_set_size (item->fresh, 0);
  sk_session_count (self->session, &add);
  sk_up_give_budget (self, item->cost);
  item->cost = 0;
  if (!item->read_done)
    g_queue_push_tail (&self->large, item);
  else if (item->waiting == 0)
    sk_up_ready (self, item);
}

gboolean
sk_up_route (SkUp *self, GPtrArray *items, GError **error)
{
  g_autoptr(GArray) ids = g_array_new (FALSE, FALSE, sizeof (SkHash));
  g_autofree gboolean *held = NULL;
  HeldCall call = { .items = items, .ids = ids };
  guint at = 0;

  for (guint i = 0; i < items->len; i++)
    {
      SkUpItem *item = items->pdata[i];

      for (guint k = 0; k < item->fresh->len; k++)
        g_array_append_val (ids, g_array_index (item->fresh, SkSplitChunk, k).ref.id);
    }
  held = g_new0 (gboolean, ids->len + 1);
  call.held = held;
  if (ids->len > 0 && !sk_session_index (self->session, ask_held, &call, error))
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    {
      SkUpItem *item = items->pdata[i];
      guint n = item->fresh->len;

      route_item (self, item, held + at);
      at += n;
    }
  return TRUE;
}
