/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content: from this disk where it is, from storages where it is not. Ranges of one pack that lie close together are one request; a pack that
 * is mostly wanted is fetched whole. Every chunk is verified by its id before it is used. */
#include "sk-down-private.h"

#include "sk-memory.h"
#include "sk-pack.h"
#include "sk-split.h"
#include "sk-test-hooks.h"
#include "sk-live.h"

#define RANGE_GAP (64u << 10)            /* fetched along rather than asked for separately */
#define RANGE_MAX (16u << 20)

/* Chunks [from, to) of each item: first from this disk, then from storages, in as many rounds as bad packs ask for. */
struct _SkDownFetch
{
  SkDown *down;
  SkFlowFolder *folder;
  GPtrArray *items;              /* SkDownItem, borrowed */
  guint *from, *to;              /* per item */
  guint64 *offsets;              /* of chunk @from */
  GHashTable *needs;             /* SkHash -> SkDownNeed; NULL: what is on this disk is still being looked at */
  GQueue requests;               /* Request */
  guint gets_out;
  guint left;                    /* jobs and gets that have not come home, and one as long as a round may follow */
  gboolean try_again;            /* a pack was bad: perhaps another one holds the same */
};

static void job_ended (SkDownFetch *self);

/* --- from this disk --- */

typedef struct
{
  SkDownFetch *fetch;
  SkDownItem *item;
  guint from, to;                /* chunks */
  guint64 offset;                /* of chunk @from */
  guint found, here;             /* chunks that a source had, and those that need not come */
} LocalJob;

/* Whether the disk has to be asked for any of these chunks. */
static gboolean
may_be_local (const SkDownItem *item, guint from, guint to)
{
  if (item->partial != NULL && sk_partial_was_there (item->partial))
    return TRUE;
  for (guint i = from; i < to; i++)
    if (item->sources->pdata[i] != NULL)
      return TRUE;
  return FALSE;
}

/* disk pool: what the sources hold is put in place; a source that changed simply does not help. */
static void
run_local (gpointer data)
{
  LocalJob *job = data;
  SkDownItem *item = job->item;
  const SkKey *id_key = &job->fetch->down->session->id_key;
  guint64 offset = job->offset;

  for (guint i = job->from; i < job->to; i++)
    {
      SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, i);
      SkDownSourceFile *source = item->sources->pdata[i];
      gboolean here = sk_chunk_ref_is_zero (ref);

      if (!here && item->partial != NULL && sk_partial_was_there (item->partial))
        here = sk_partial_has (item->partial, offset, ref, id_key);
      if (!here && source != NULL && item->partial != NULL)
        here = sk_partial_copy (item->partial, offset, source->root, source->path, source->offset, ref, id_key, NULL);
      else if (!here && source != NULL)
        {
          GBytes *bytes = sk_local_read_chunk (source->root, source->path, source->offset, ref, id_key, NULL);

          here = bytes != NULL;
          item->data->pdata[i] = bytes;
        }
      if (here)
        {
          item->have[i] = 1;
          job->here++;
          job->found += !sk_chunk_ref_is_zero (ref);
        }
      else
        sk_down_source_file_free (g_steal_pointer (&item->sources->pdata[i]));
      offset += ref->size;
    }
}

/* down thread */
static void
local_done (gpointer data)
{
  LocalJob *job = data;
  SkCounters add = { .chunks_local = job->found };

  job->item->missing -= job->here;
  job->fetch->down->result->local += job->found;
  sk_session_count (job->fetch->down->session, &add);
  job_ended (job->fetch);
}

/* --- from storages --- */

typedef struct
{
  SkDownFetch *fetch;
  gint64 storage;
  SkHash pack;
  SkId epoch;
  guint64 offset, len;           /* len 0: the whole pack */
  GPtrArray *needs;              /* SkDownNeed */
  GBytes *bytes;
  GPtrArray *plain;              /* GBytes per need, NULL where opening failed */
  GError *error;
} Request;

static void
need_free (gpointer data)
{
  SkDownNeed *self = data;

  g_array_unref (self->uses);
  g_free (self);
}

static void
bytes_free (gpointer data)
{
  if (data != NULL)
    g_bytes_unref (data);
}

static void
request_free (gpointer data)
{
  Request *self = data;

  g_ptr_array_unref (self->needs);
  g_clear_pointer (&self->bytes, g_bytes_unref);
  g_clear_pointer (&self->plain, g_ptr_array_unref);
  g_clear_error (&self->error);
  g_free (self);
}

/* What the chunks will have together, as far as they share one block. Lengths come from outside: a row that lies gets no more than this. */
static gsize
plain_room (const Request *request)
{
  gsize size = 0;

  for (guint i = 0; i < request->needs->len; i++)
    {
      const SkPackRow *row = &((const SkDownNeed *) request->needs->pdata[i])->place.row;

      if (sk_pack_row_is_valid (row) && size + row->plain_len <= RANGE_MAX)
        size += row->plain_len;
    }
  return size;
}

static GBytes *
open_need (Request *request, const SkPackRow *row, const guint8 *sealed, SkSlab *slab, SkCompressor *z, GError **error)
{
  SkSession *session = request->fetch->down->session;
  SkKeyring *keys = request->fetch->down->config->keys;
  guint8 *room = sk_slab_room (slab, row->plain_len);

  if (room == NULL)
    return sk_pack_open_chunk (row, sealed, row->stored_len, &session->who.vault, &request->epoch, keys, z, error);
  if (!sk_pack_open_chunk_into (row, sealed, row->stored_len, &session->who.vault, &request->epoch, keys, z, room, error))
    return NULL;
  return sk_slab_take (slab, row->plain_len);
}

/* cpu pool */
static void
run_open (gpointer data)
{
  Request *request = data;
  SkSession *session = request->fetch->down->session;
  SkCompressor *z = sk_session_take_compressor (session);
  SkSlab slab;
  gsize len;
  const guint8 *bytes = g_bytes_get_data (request->bytes, &len);

  sk_slab_init (&slab, plain_room (request));
  request->plain = g_ptr_array_new_full (request->needs->len, bytes_free);
  for (guint i = 0; i < request->needs->len; i++)
    {
      SkDownNeed *need = request->needs->pdata[i];
      guint64 at = need->place.row.offset - request->offset;
      GBytes *plain = NULL;

      if (at <= len && need->place.row.stored_len <= len - at)
        plain = open_need (request, &need->place.row, bytes + at, &slab, z, request->error == NULL ? &request->error : NULL);
      g_ptr_array_add (request->plain, plain);
    }
  sk_slab_clear (&slab);
  g_clear_pointer (&request->bytes, g_bytes_unref);
  sk_session_give_compressor (session, z);
}

typedef struct
{
  SkDownFetch *fetch;
  SkDownItem *item;
  guint64 offset;
  GBytes *bytes;
} WriteJob;

static void
write_job_free (gpointer data)
{
  WriteJob *job = data;

  g_bytes_unref (job->bytes);
  g_free (job);
}

/* disk pool */
static void
run_write_chunk (gpointer data)
{
  WriteJob *job = data;
  gsize len;
  const guint8 *bytes = g_bytes_get_data (job->bytes, &len);
  g_autoptr(GError) error = NULL;

  if (!sk_partial_write (job->item->partial, job->offset, bytes, len, &error))
    {
      g_atomic_pointer_compare_and_exchange (&job->item->error, NULL, error);
      if (g_atomic_pointer_get (&job->item->error) == error)
        error = NULL;
    }
}

/* down thread */
static void
write_chunk_done (gpointer data)
{
  job_ended (((WriteJob *) data)->fetch);
}

static void
deliver (SkDownFetch *fetch, SkDownNeed *need, GBytes *plain)
{
  for (guint i = 0; i < need->uses->len; i++)
    {
      SkDownUse *use = &g_array_index (need->uses, SkDownUse, i);

      if (use->item->have[use->chunk])
        continue;
      use->item->have[use->chunk] = 1;
      use->item->missing--;
      if (use->item->partial == NULL)
        use->item->data->pdata[use->chunk] = g_bytes_ref (plain);
      else
        {
          WriteJob *job = g_new0 (WriteJob, 1);

          job->fetch = fetch;
          job->item = use->item;
          job->offset = use->offset;
          job->bytes = g_bytes_ref (plain);
          fetch->left++;
          sk_down_spawn (fetch->down, fetch->down->session->disk, run_write_chunk, write_chunk_done, job, write_job_free);
        }
    }
}

static void start_requests (SkDownFetch *fetch);

static void
request_failed (Request *request, const GError *error)
{
  if (g_error_matches (error, SK_ERROR, SK_ERROR_CORRUPT) || g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND))
    {
      /* Not the end: find_places looks for another holder, and says so when there is none. */
      g_hash_table_add (request->fetch->down->bad_packs, g_memdup2 (&request->pack, sizeof request->pack));
      request->fetch->try_again = TRUE;
      return;
    }
  for (guint i = 0; i < request->needs->len; i++)
    {
      SkDownNeed *need = request->needs->pdata[i];

      for (guint k = 0; k < need->uses->len; k++)
        {
          SkDownItem *item = g_array_index (need->uses, SkDownUse, k).item;

          if (item->error == NULL)
            item->error = g_error_copy (error);
        }
    }
}

static SkDownSource *
source_row (SkDownResult *result, gint64 storage)
{
  SkDownSource fresh = { .storage = storage };

  for (guint i = 0; i < result->sources->len; i++)
    if (g_array_index (result->sources, SkDownSource, i).storage == storage)
      return &g_array_index (result->sources, SkDownSource, i);
  g_array_append_val (result->sources, fresh);
  return &g_array_index (result->sources, SkDownSource, result->sources->len - 1);
}

/* down thread */
static void
open_done (gpointer data)
{
  Request *request = data;
  SkDownFetch *fetch = request->fetch;
  SkDownResult *result = fetch->down->result;
  SkDownSource *source = source_row (result, request->storage);
  SkCounters add = { 0 };
  guint64 bytes = 0;

  for (guint i = 0; i < request->needs->len; i++)
    if (request->plain->pdata[i] != NULL)
      {
        const SkDownNeed *need = request->needs->pdata[i];

        deliver (fetch, request->needs->pdata[i], request->plain->pdata[i]);
        add.chunks_storage += need->uses->len;
        bytes += (guint64) need->uses->len * need->place.row.plain_len;
      }
  sk_live_moved (fetch->down->session->live, fetch->folder->row, 0, bytes, sk_clock_now (fetch->down->session->clock));
  sk_session_touch_report (fetch->down->session);
  source->chunks += add.chunks_storage;
  result->storage += add.chunks_storage;
  sk_session_count (fetch->down->session, &add);
  if (request->error != NULL)
    request_failed (request, request->error);
  fetch->gets_out--;
  start_requests (fetch);
  job_ended (fetch);
}

static void
get_done (GObject *object, GAsyncResult *result, gpointer data)
{
  Request *request = data;
  SkDownFetch *fetch = request->fetch;
  SkDown *down = fetch->down;
  SkDownSource *source = source_row (down->result, request->storage);
  SkCounters add = { 0 };

  sk_test_stage ("fetch");
  source->requests++;
  request->bytes = sk_store_get_finish (SK_STORE (object), result, &request->error);
  if (request->bytes == NULL)
    {
      request_failed (request, request->error);
      request_free (request);
      fetch->gets_out--;
      start_requests (fetch);
      job_ended (fetch);
      return;
    }
  source->wire_bytes += g_bytes_get_size (request->bytes);
  add.wire_down = g_bytes_get_size (request->bytes);
  sk_live_storage_moved (down->session->live, request->storage, 0, add.wire_down, sk_clock_now (down->session->clock));
  sk_session_count (down->session, &add);
  sk_down_spawn (down, down->session->cpu, run_open, open_done, request, request_free);
}

static void
start_requests (SkDownFetch *fetch)
{
  SkDown *down = fetch->down;

  while (fetch->gets_out < SK_DOWN_GETS && !g_queue_is_empty (&fetch->requests))
    {
      Request *request = g_queue_pop_head (&fetch->requests);
      SkFlowStorage *storage = sk_config_storage (down->config, request->storage);
      g_autofree char *name = sk_pack_object_name (&request->pack);

      fetch->gets_out++;
      fetch->left++;
      if (request->len == 0)
        sk_store_get_async (storage->store, name, SK_PACK_SIZE_MAX, down->cancellable, get_done, request);
      else
        sk_store_get_range_async (storage->store, name, request->offset, request->len, down->cancellable, get_done, request);
    }
}

static int
by_place (gconstpointer a, gconstpointer b)
{
  const SkDownNeed *x = *(SkDownNeed *const *) a, *y = *(SkDownNeed *const *) b;
  int order = sk_hash_compare (&x->place.pack, &y->place.pack);

  if (x->place.storage != y->place.storage)
    return x->place.storage < y->place.storage ? -1 : 1;
  if (order != 0)
    return order;
  return x->place.row.offset < y->place.row.offset ? -1 : x->place.row.offset > y->place.row.offset;
}

static Request *
request_new (SkDownFetch *fetch, const SkDownNeed *first)
{
  Request *request = g_new0 (Request, 1);

  request->fetch = fetch;
  request->storage = first->place.storage;
  request->pack = first->place.pack;
  request->epoch = first->place.epoch;
  request->offset = first->place.row.offset;
  request->needs = g_ptr_array_new ();
  return request;
}

/* Neighbouring needs of one pack in one range. */
static void
make_requests (SkDownFetch *fetch)
{
  g_autoptr(GPtrArray) sorted = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer value;
  Request *request = NULL;

  g_hash_table_iter_init (&iter, fetch->needs);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    g_ptr_array_add (sorted, value);
  g_ptr_array_sort (sorted, by_place);
  for (guint i = 0; i < sorted->len; i++)
    {
      SkDownNeed *need = sorted->pdata[i];
      guint64 end = need->place.row.offset + need->place.row.stored_len;

      if (request == NULL || request->storage != need->place.storage || !sk_hash_equal (&request->pack, &need->place.pack)
          || need->place.row.offset > request->offset + request->len + RANGE_GAP || end - request->offset > RANGE_MAX)
        {
          request = request_new (fetch, need);
          g_queue_push_tail (&fetch->requests, request);
        }
      request->len = end - request->offset;
      g_ptr_array_add (request->needs, need);
    }
}

static gboolean
place_usable (SkDown *down, const SkChunkPlace *place)
{
  return sk_config_storage (down->config, place->storage) != NULL && !g_hash_table_contains (down->bad_packs, &place->pack);
}

/* Index thread: where each missing chunk is stored. */
static gboolean
find_places (SkSession *session, gpointer data, GError **error)
{
  SkDownFetch *fetch = data;

  for (guint i = 0; i < fetch->items->len; i++)
    {
      SkDownItem *item = fetch->items->pdata[i];
      guint64 offset = fetch->offsets[i];

      for (guint k = fetch->from[i]; k < fetch->to[i]; k++)
        {
          SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, k);
          SkDownUse use = { .item = item, .chunk = k, .offset = offset };
          SkDownNeed *need;

          offset += ref->size;
          if (sk_chunk_ref_is_zero (ref) || item->have[k] || item->error != NULL)
            continue;
          need = g_hash_table_lookup (fetch->needs, &ref->id);
          if (need == NULL)
            {
              g_autoptr(GArray) places = sk_index_chunk_places (session->index, &ref->id, error);
              const SkChunkPlace *found = NULL;

              if (places == NULL)
                return FALSE;
              for (guint p = 0; p < places->len && found == NULL; p++)
                if (place_usable (fetch->down, &g_array_index (places, SkChunkPlace, p)))
                  found = &g_array_index (places, SkChunkPlace, p);
              if (found == NULL)
                {
                  g_set_error (&item->error, SK_ERROR, SK_ERROR_NOT_FOUND, "a part of it is missing or damaged in every storage "
                               "that is attached here; a device that has the file mends it ('skerryctl storage verify' there)");
                  continue;
                }
              need = g_new0 (SkDownNeed, 1);
              need->place = *found;
              need->place.row.id = ref->id;
              need->uses = g_array_new (FALSE, FALSE, sizeof (SkDownUse));
              g_hash_table_insert (fetch->needs, &need->place.row.id, need);
            }
          g_array_append_val (need->uses, use);
        }
    }
  return TRUE;
}

/* A round: places are looked up, requests go out. */
static void
begin_round (SkDownFetch *self)
{
  g_autoptr(GError) error = NULL;

  self->try_again = FALSE;
  g_clear_pointer (&self->needs, g_hash_table_unref);
  self->needs = g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, NULL, need_free);
  if (sk_session_index (self->down->session, find_places, self, &error))
    {
      make_requests (self);
      start_requests (self);
      return;
    }
  for (guint i = 0; i < self->items->len; i++)
    if (((SkDownItem *) self->items->pdata[i])->error == NULL)
      ((SkDownItem *) self->items->pdata[i])->error = g_error_copy (error);
}

/* down thread. The last of a round decides whether there is another one. */
static void
job_ended (SkDownFetch *self)
{
  self->left--;
  while (self->left == 1)
    {
      if (self->needs != NULL && (!self->try_again || g_cancellable_is_cancelled (self->down->cancellable)))
        self->left = 0;
      else
        begin_round (self);
    }
}

/* Takes nothing but memory of its own: from, to and offsets are copied. */
static SkDownFetch *
fetch_begin (SkDown *down, SkFlowFolder *folder, GPtrArray *items, const guint *from, const guint *to, const guint64 *offsets)
{
  SkDownFetch *self = g_new0 (SkDownFetch, 1);

  *self = (SkDownFetch) { .down = down, .folder = folder, .items = g_ptr_array_ref (items), .left = 2 };
  self->from = g_memdup2 (from, items->len * sizeof *from);
  self->to = g_memdup2 (to, items->len * sizeof *to);
  self->offsets = g_memdup2 (offsets, items->len * sizeof *offsets);
  for (guint i = 0; i < items->len; i++)
    {
      LocalJob job = { .fetch = self, .item = items->pdata[i], .from = from[i], .to = to[i], .offset = offsets[i] };

      self->left++;
      if (may_be_local (job.item, from[i], to[i]))
        {
          sk_down_spawn (down, down->session->disk, run_local, local_done, g_memdup2 (&job, sizeof job), g_free);
          continue;
        }
      /* Zero runs at most. */
      run_local (&job);
      local_done (&job);
    }
  job_ended (self);
  return self;
}

void
sk_down_fetch_end (SkDownFetch *self)
{
  if (self == NULL)
    return;
  sk_down_wait_for (self->down, &self->left);
  g_clear_pointer (&self->needs, g_hash_table_unref);
  g_ptr_array_unref (self->items);
  g_free (self->from);
  g_free (self->to);
  g_free (self->offsets);
  g_free (self);
}

SkDownFetch *
sk_down_fetch_small (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  g_autofree guint *from = g_new0 (guint, items->len + 1), *to = g_new0 (guint, items->len + 1);
  g_autofree guint64 *offsets = g_new0 (guint64, items->len + 1);

  for (guint i = 0; i < items->len; i++)
    {
      SkDownItem *item = items->pdata[i];

      to[i] = item->missing = item->entry->chunks->len;
      item->have = g_new0 (guint8, to[i] + 1);
      item->data = g_ptr_array_new_full (to[i], bytes_free);
      g_ptr_array_set_size (item->data, (int) to[i]);
    }
  return fetch_begin (self, folder, items, from, to, offsets);
}

/* From chunk *@from on as many as one group may have; *@from and *@offset move behind them. */
static SkDownFetch *
fetch_part (SkDown *self, SkFlowFolder *folder, GPtrArray *one, guint *from, guint64 *offset)
{
  SkDownItem *item = one->pdata[0];
  guint first = *from;
  guint64 begin = *offset, bytes = 0;

  while (*from < item->entry->chunks->len && bytes < SK_DOWN_GROUP_BYTES)
    {
      SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, (*from)++);

      bytes += sk_chunk_ref_is_zero (ref) ? 0 : ref->size;
      *offset += ref->size;
    }
  return fetch_begin (self, folder, one, &first, from, &begin);
}

void
sk_down_fetch_large (SkDown *self, SkFlowFolder *folder, SkDownItem *item)
{
  g_autoptr(GPtrArray) one = g_ptr_array_new ();
  SkDownFetch *before = NULL;
  guint from = 0;
  guint64 offset = 0;

  g_ptr_array_add (one, item);
  item->partial = sk_partial_open (folder->root, &item->entry->content, item->entry->size, &item->error);
  item->missing = item->entry->chunks->len;
  item->have = g_new0 (guint8, item->missing + 1);
  /* While one part comes to its end the next one is on its way. */
  while (item->partial != NULL && item->error == NULL && from < item->entry->chunks->len
         && !g_cancellable_is_cancelled (self->cancellable))
    {
      SkDownFetch *part = fetch_part (self, folder, one, &from, &offset);

      sk_down_fetch_end (before);
      before = part;
    }
  sk_down_fetch_end (before);
  if (item->error == NULL && item->missing > 0)
    g_set_error (&item->error, SK_ERROR, SK_ERROR_CANCELLED, "it was interrupted; what arrived is kept");
}
