/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content: from this disk where it is, from storages where it is not. Ranges of one pack that lie close together are one request; a pack that
 * is mostly wanted is fetched whole. Every chunk is verified by its id before it is used. */
#include "sk-down-private.h"

#include "sk-pack.h"
#include "sk-split.h"
#include "sk-test-hooks.h"
#include "sk-live.h"

#define RANGE_GAP (64u << 10)            /* fetched along rather than asked for separately */
#define RANGE_MAX (16u << 20)

/* --- from this disk --- */

typedef struct
{
  SkDown *down;
  SkDownItem *item;
  guint from, to;                /* chunks */
  guint64 offset;                /* of chunk @from */
  guint found;
} LocalJob;

/* disk pool: what the sources hold is put in place; a source that changed simply does not help. */
static void
run_local (gpointer data)
{
  LocalJob *job = data;
  SkDownItem *item = job->item;
  const SkKey *id_key = &job->down->session->id_key;
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
          item->missing--;
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

  job->down->result->local += job->found;
  sk_session_count (job->down->session, &add);
}

/* --- from storages --- */

typedef struct
{
  SkDown *down;
  SkFlowFolder *folder;
  GHashTable *needs;             /* SkHash -> SkDownNeed */
  GQueue requests;               /* Request */
  guint gets_out;
  gboolean try_again;            /* a pack was bad: perhaps another one holds the same */
} Group;

typedef struct
{
  Group *group;
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

/* cpu pool */
static void
run_open (gpointer data)
{
  Request *request = data;
  SkSession *session = request->group->down->session;
  SkKeyring *keys = request->group->down->config->keys;
  SkCompressor *z = sk_session_take_compressor (session);
  gsize len;
  const guint8 *bytes = g_bytes_get_data (request->bytes, &len);

  request->plain = g_ptr_array_new_full (request->needs->len, bytes_free);
  for (guint i = 0; i < request->needs->len; i++)
    {
      SkDownNeed *need = request->needs->pdata[i];
      guint64 at = need->place.row.offset - request->offset;
      GBytes *plain = NULL;

      if (at <= len && need->place.row.stored_len <= len - at)
        plain = sk_pack_open_chunk (&need->place.row, bytes + at, need->place.row.stored_len, &session->who.vault, &request->epoch, keys, z,
                                    request->error == NULL ? &request->error : NULL);
      g_ptr_array_add (request->plain, plain);
    }
  sk_session_give_compressor (session, z);
}

typedef struct
{
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

static void
deliver (Group *group, SkDownNeed *need, GBytes *plain)
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

          job->item = use->item;
          job->offset = use->offset;
          job->bytes = g_bytes_ref (plain);
          sk_down_spawn (group->down, group->down->session->disk, run_write_chunk, NULL, job, write_job_free);
        }
    }
}

static void start_requests (Group *group);

static void
request_failed (Request *request, const GError *error)
{
  if (g_error_matches (error, SK_ERROR, SK_ERROR_CORRUPT) || g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND))
    {
      /* Not the end: find_places looks for another holder, and says so when there is none. */
      g_hash_table_add (request->group->down->bad_packs, g_memdup2 (&request->pack, sizeof request->pack));
      request->group->try_again = TRUE;
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
  Group *group = request->group;
  SkDownResult *result = group->down->result;
  SkDownSource *source = source_row (result, request->storage);
  SkCounters add = { 0 };
  guint64 bytes = 0;

  for (guint i = 0; i < request->needs->len; i++)
    if (request->plain->pdata[i] != NULL)
      {
        const SkDownNeed *need = request->needs->pdata[i];

        deliver (group, request->needs->pdata[i], request->plain->pdata[i]);
        add.chunks_storage += need->uses->len;
        bytes += (guint64) need->uses->len * need->place.row.plain_len;
      }
  sk_live_moved (group->down->session->live, group->folder->row, 0, bytes, sk_clock_now (group->down->session->clock));
  sk_session_touch_report (group->down->session);
  source->chunks += add.chunks_storage;
  result->storage += add.chunks_storage;
  sk_session_count (group->down->session, &add);
  if (request->error != NULL)
    request_failed (request, request->error);
  group->gets_out--;
  start_requests (group);
}

static void
get_done (GObject *object, GAsyncResult *result, gpointer data)
{
  Request *request = data;
  Group *group = request->group;
  SkDown *down = group->down;
  SkDownSource *source = source_row (down->result, request->storage);
  SkCounters add = { 0 };

  sk_test_stage ("fetch");
  down->outstanding--;
  source->requests++;
  request->bytes = sk_store_get_finish (SK_STORE (object), result, &request->error);
  if (request->bytes == NULL)
    {
      request_failed (request, request->error);
      request_free (request);
      group->gets_out--;
      start_requests (group);
      return;
    }
  source->wire_bytes += g_bytes_get_size (request->bytes);
  add.wire_down = g_bytes_get_size (request->bytes);
  sk_live_storage_moved (down->session->live, request->storage, 0, add.wire_down, sk_clock_now (down->session->clock));
  sk_session_count (down->session, &add);
  sk_down_spawn (down, down->session->cpu, run_open, open_done, request, request_free);
}

static void
start_requests (Group *group)
{
  SkDown *down = group->down;

  while (group->gets_out < SK_DOWN_GETS && !g_queue_is_empty (&group->requests))
    {
      Request *request = g_queue_pop_head (&group->requests);
      SkFlowStorage *storage = sk_config_storage (down->config, request->storage);
      g_autofree char *name = sk_pack_object_name (&request->pack);

      group->gets_out++;
      down->outstanding++;
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
request_new (Group *group, const SkDownNeed *first)
{
  Request *request = g_new0 (Request, 1);

  request->group = group;
  request->storage = first->place.storage;
  request->pack = first->place.pack;
  request->epoch = first->place.epoch;
  request->offset = first->place.row.offset;
  request->needs = g_ptr_array_new ();
  return request;
}

/* Neighbouring needs of one pack in one range. */
static void
make_requests (Group *group)
{
  g_autoptr(GPtrArray) sorted = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer value;
  Request *request = NULL;

  g_hash_table_iter_init (&iter, group->needs);
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
          request = request_new (group, need);
          g_queue_push_tail (&group->requests, request);
        }
      request->len = end - request->offset;
      g_ptr_array_add (request->needs, need);
    }
}

typedef struct
{
  Group *group;
  GPtrArray *items;
  guint *from, *to;
  guint64 *offsets;
} PlacesCall;

static gboolean
place_usable (SkDown *down, const SkChunkPlace *place)
{
  return sk_config_storage (down->config, place->storage) != NULL && !g_hash_table_contains (down->bad_packs, &place->pack);
}

/* Index thread: where each missing chunk is stored. */
static gboolean
find_places (SkSession *session, gpointer data, GError **error)
{
  PlacesCall *call = data;
  Group *group = call->group;

  for (guint i = 0; i < call->items->len; i++)
    {
      SkDownItem *item = call->items->pdata[i];
      guint64 offset = call->offsets[i];

      for (guint k = call->from[i]; k < call->to[i]; k++)
        {
          SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, k);
          SkDownUse use = { .item = item, .chunk = k, .offset = offset };
          SkDownNeed *need;

          offset += ref->size;
          if (sk_chunk_ref_is_zero (ref) || item->have[k] || item->error != NULL)
            continue;
          need = g_hash_table_lookup (group->needs, &ref->id);
          if (need == NULL)
            {
              g_autoptr(GArray) places = sk_index_chunk_places (session->index, &ref->id, error);
              const SkChunkPlace *found = NULL;

              if (places == NULL)
                return FALSE;
              for (guint p = 0; p < places->len && found == NULL; p++)
                if (place_usable (group->down, &g_array_index (places, SkChunkPlace, p)))
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
              g_hash_table_insert (group->needs, &need->place.row.id, need);
            }
          g_array_append_val (need->uses, use);
        }
    }
  return TRUE;
}

/* Chunks [from, to) of each item: from this disk, then from storages. Returns when everything arrived or failed. */
static void
fetch_group (SkDown *self, SkFlowFolder *folder, GPtrArray *items, guint *from, guint *to, guint64 *offsets)
{
  Group group = { .down = self, .folder = folder };
  PlacesCall call = { .group = &group, .items = items, .from = from, .to = to, .offsets = offsets };
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < items->len; i++)
    {
      LocalJob *job = g_new0 (LocalJob, 1);

      *job = (LocalJob) { .down = self, .item = items->pdata[i], .from = from[i], .to = to[i], .offset = offsets[i] };
      sk_down_spawn (self, self->session->disk, run_local, local_done, job, g_free);
    }
  sk_down_wait (self);
  do
    {
      group.try_again = FALSE;
      group.needs = g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, NULL, need_free);
      if (!sk_session_index (self->session, find_places, &call, &error))
        {
          for (guint i = 0; i < items->len; i++)
            if (((SkDownItem *) items->pdata[i])->error == NULL)
              ((SkDownItem *) items->pdata[i])->error = g_error_copy (error);
        }
      else
        {
          make_requests (&group);
          start_requests (&group);
          sk_down_wait (self);
        }
      g_hash_table_unref (group.needs);
    }
  while (group.try_again && error == NULL && !g_cancellable_is_cancelled (self->cancellable));
}

void
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
  fetch_group (self, folder, items, from, to, offsets);
}

void
sk_down_fetch_large (SkDown *self, SkFlowFolder *folder, SkDownItem *item)
{
  g_autoptr(GPtrArray) one = g_ptr_array_new ();
  guint from = 0;
  guint64 offset = 0;

  g_ptr_array_add (one, item);
  item->partial = sk_partial_open (folder->root, &item->entry->content, item->entry->size, &item->error);
  item->missing = item->entry->chunks->len;
  item->have = g_new0 (guint8, item->missing + 1);
  while (item->partial != NULL && item->error == NULL && from < item->entry->chunks->len
         && !g_cancellable_is_cancelled (self->cancellable))
    {
      guint to = from;
      guint64 bytes = 0;

      while (to < item->entry->chunks->len && bytes < SK_DOWN_GROUP_BYTES)
        {
          SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, to++);

          bytes += sk_chunk_ref_is_zero (ref) ? 0 : ref->size;
        }
      fetch_group (self, folder, one, &from, &to, &offset);
      for (; from < to; from++)
        offset += g_array_index (item->entry->chunks, SkChunkRef, from).size;
    }
  if (item->error == NULL && item->missing > 0)
    g_set_error (&item->error, SK_ERROR, SK_ERROR_CANCELLED, "it was interrupted; what arrived is kept");
}
