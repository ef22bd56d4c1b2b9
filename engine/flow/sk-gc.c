/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-gc.h"

typedef struct
{
  SkSession *session;
  SkFlowStorage *storage;
  SkGcResult *out;
  gboolean dry_run;
  gint64 wall;
  GPtrArray *heads;              /* SkHead of the other live devices */
  gboolean head_missing;         /* a live device has no head here: nobody knows what it builds on */
  GPtrArray *records;
  GPtrArray *names;              /* char*: objects to remove */
  GArray *removing;              /* SkHash */
} Work;

void
sk_gc_result_clear (SkGcResult *self)
{
  g_clear_pointer (&self->skipped, g_free);
}

/* A test waits neither a day nor a month. */
static gint64
period (gint64 seconds)
{
#if SK_TEST_HOOKS
  const char *text = g_getenv ("SKERRY_TEST_GC_PERIOD");

  if (text != NULL)
    return g_ascii_strtoll (text, NULL, 10);
#endif
  return seconds;
}

static char *
condemned_key (const Work *work, const SkHash *name)
{
  char hex[SK_HASH_HEX_SIZE];

  sk_hash_format (name, hex);
  return g_strdup_printf ("condemned:%" G_GINT64_FORMAT ":%s", work->storage->row, hex);
}

/* --- who has seen what --- */

static gboolean
read_heads (Work *work, SkConfig *config, GCancellable *cancellable, GError **error)
{
  GPtrArray *devices = sk_members_devices (config->members);

  for (guint i = 0; i < devices->len; i++)
    {
      SkDevice *device = devices->pdata[i];
      g_autofree char *name = sk_head_object_name (&device->id);
      g_autoptr(GError) local = NULL;
      g_autoptr(GBytes) object = NULL;
      SkHead *head;

      if (device->revoked || sk_device_id_equal (&device->id, &work->session->who.device))
        continue;
      object = sk_store_get_sync (work->storage->store, name, SK_HEAD_SIZE_MAX, cancellable, &local);
      if (object == NULL && !g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      head = object != NULL ? sk_head_open (object, &device->sign_key, &work->session->who.vault, &work->storage->id, config->keys, NULL) : NULL;
      if (head == NULL)
        work->head_missing = TRUE;
      else
        g_ptr_array_add (work->heads, head);
    }
  return TRUE;
}

/* Every device that may still write has merged the own log up to @seq. */
static gboolean
everybody_saw (const Work *work, guint64 seq)
{
  if (work->head_missing)
    return FALSE;
  for (guint i = 0; i < work->heads->len; i++)
    {
      SkHead *head = work->heads->pdata[i];
      const SkPosition *at = sk_positions_find (head->merged, &work->session->who.writer);

      if (head->wall < work->wall - SK_GC_AWAY_S)
        continue;
      if (at == NULL || at->seq < seq)
        return FALSE;
    }
  return TRUE;
}

/* --- what is garbage; index thread --- */

/* Another pack in this storage that nobody condemned holds the chunk; with @smaller only packs with a smaller name count, so that of
 * duplicates exactly the one with the smallest name stays, whoever looks (A2). */
static gboolean
held_elsewhere (Work *work, const SkHash *chunk, const SkPackInfo *pack, gboolean smaller, gboolean *held, GError **error)
{
  g_autoptr(GArray) places = sk_index_chunk_places (work->session->index, chunk, error);

  *held = FALSE;
  if (places == NULL)
    return FALSE;
  for (guint i = 0; i < places->len; i++)
    {
      SkChunkPlace *place = &g_array_index (places, SkChunkPlace, i);

      if (place->storage != work->storage->row || place->condemned || sk_hash_equal (&place->pack, &pack->name))
        continue;
      if (!smaller || sk_hash_compare (&place->pack, &pack->name) < 0)
        *held = TRUE;
    }
  return TRUE;
}

static gboolean
is_redundant (Work *work, const SkPackInfo *pack, gboolean smaller, gboolean *redundant, GError **error)
{
  g_autoptr(GPtrArray) puts = sk_index_pack_rows (work->session->index, pack->row, error);
  SkPackPut *put;

  if (puts == NULL)
    return FALSE;
  *redundant = pack->live_chunks == 0;
  if (puts->len == 0 || *redundant)
    return TRUE;
  put = puts->pdata[0];
  for (guint i = 0; i < put->rows->len; i++)
    {
      gboolean held;

      if (!held_elsewhere (work, &g_array_index (put->rows, SkPackRow, i).id, pack, smaller, &held, error))
        return FALSE;
      if (!held)
        return TRUE;
    }
  *redundant = TRUE;
  return TRUE;
}

static gboolean
condemn (Work *work, const SkPackInfo *pack, guint64 seq, GError **error)
{
  g_autofree char *key = condemned_key (work, &pack->name);

  work->out->condemned++;
  work->out->condemned_bytes += pack->size;
  if (work->dry_run)
    return TRUE;
  g_ptr_array_add (work->records, sk_record_new_pack_ref (SK_RECORD_PACK_DROP, &work->storage->id, &pack->name));
  return sk_index_pack_set_state (work->session->index, work->storage->row, &pack->name, SK_PACK_CONDEMNED, &work->session->who.writer, work->wall, error)
         && sk_index_set_u64 (work->session->index, key, seq, error);
}

/* A condemned pack of ours: back to life when a live chunk would lose its last holder, gone when everybody has seen it long enough. */
static gboolean
review (Work *work, const SkPackInfo *pack, GError **error)
{
  g_autofree char *key = condemned_key (work, &pack->name);
  guint64 seq = sk_index_get_u64 (work->session->index, key, 0);
  gboolean redundant;

  if (!is_redundant (work, pack, FALSE, &redundant, error))
    return FALSE;
  if (!redundant)
    {
      work->out->kept++;
      if (work->dry_run)
        return TRUE;
      g_ptr_array_add (work->records, sk_record_new_pack_ref (SK_RECORD_PACK_KEEP, &work->storage->id, &pack->name));
      return sk_index_pack_set_state (work->session->index, work->storage->row, &pack->name, SK_PACK_LIVE, &work->session->who.writer, work->wall, error);
    }
  if (seq == 0 || pack->wall > work->wall - period (SK_GC_GRACE_S) || !everybody_saw (work, seq))
    return TRUE;
  work->out->removed++;
  work->out->removed_bytes += pack->size;
  if (!work->dry_run)
    {
      g_ptr_array_add (work->names, sk_pack_object_name (&pack->name));
      g_array_append_val (work->removing, pack->name);
    }
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
mark (SkSession *session, gpointer data, GError **error)
{
  Work *work = data;
  g_autoptr(GArray) packs = NULL;
  guint64 seq, expired = 0;
  SkHash prev;

  if (!work->dry_run && !sk_index_versions_expire (session->index, work->wall - period (SK_GC_RETENTION_S), &expired, error))
    return FALSE;
  packs = sk_index_packs (session->index, work->storage->row, error);
  if (packs == NULL || !sk_log_next (session, &seq, &prev, error))
    return FALSE;
  for (guint i = 0; i < packs->len; i++)
    {
      SkPackInfo *pack = &g_array_index (packs, SkPackInfo, i);
      SkDeviceId by = sk_id_device (&pack->by);
      gboolean redundant;

      work->out->packs++;
      if (pack->state == SK_PACK_CONDEMNED && sk_device_id_equal (&by, &session->who.device))
        {
          if (!review (work, pack, error))
            return FALSE;
        }
      else if (pack->state == SK_PACK_LIVE)
        {
          if (!is_redundant (work, pack, TRUE, &redundant, error) || (redundant && !condemn (work, pack, seq, error)))
            return FALSE;
        }
    }
  return sk_log_append (session, work->records, error);
}

/* Index thread, in a transaction: before the objects go, so that nobody here relies on them any more. */
static gboolean
forget_removed (SkSession *session, gpointer data, GError **error)
{
  Work *work = data;

  for (guint i = 0; i < work->removing->len; i++)
    if (!sk_index_pack_set_state (session->index, work->storage->row, &g_array_index (work->removing, SkHash, i), SK_PACK_GONE, &session->who.writer,
                                  work->wall, error))
      return FALSE;
  return TRUE;
}

/* --- clocks --- */

/* Grace periods mean nothing when the storage's clock and ours disagree (C10, B133). *@off is set then. */
static gboolean
clocks_differ (Work *work, gboolean *off, GCancellable *cancellable, GError **error)
{
  char device[SK_DEVICE_ID_HEX_SIZE];
  g_autofree char *name = NULL;
  g_autoptr(GBytes) nothing = g_bytes_new_static ("clock", 5);
  g_autoptr(GPtrArray) items = NULL;
  const char *names[2] = { NULL, NULL };

  sk_device_id_format (&work->session->who.device, device);
  name = g_strdup_printf ("probe/%s", device);
  names[0] = name;
  if (!sk_store_put_sync (work->storage->store, name, nothing, SK_PUT_OVERWRITE, cancellable, error))
    return FALSE;
  items = sk_store_list_sync (work->storage->store, "probe/", cancellable, error);
  if (items == NULL)
    return FALSE;
  *off = FALSE;
  for (guint i = 0; i < items->len; i++)
    {
      SkStoreItem *item = items->pdata[i];

      if (g_str_equal (item->name, name))
        *off = ABS (item->mtime - g_get_real_time ()) > SK_GC_CLOCK_US;
    }
  return sk_store_remove_sync (work->storage->store, names, cancellable, error);
}

static void
work_clear (Work *work)
{
  g_clear_pointer (&work->heads, g_ptr_array_unref);
  g_clear_pointer (&work->records, g_ptr_array_unref);
  g_clear_pointer (&work->names, g_ptr_array_unref);
  g_clear_pointer (&work->removing, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

gboolean
sk_gc_storage (SkSession *session, SkFlowStorage *storage, gboolean dry_run, SkGcResult *out, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_auto(Work) work = { .session = session, .storage = storage, .out = out, .dry_run = dry_run, .wall = sk_session_wall (session) };
  gboolean off;

  work.heads = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_head_free);
  work.records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  work.names = g_ptr_array_new_with_free_func (g_free);
  work.removing = g_array_new (FALSE, FALSE, sizeof (SkHash));
  if (!clocks_differ (&work, &off, cancellable, error))
    return FALSE;
  if (off)
    {
      out->skipped = g_strdup ("the clock of the storage and the clock of this device differ by more than an hour: set them first");
      return TRUE;
    }
  if (!read_heads (&work, config, cancellable, error) || !sk_session_transact (session, mark, &work, error))
    return FALSE;
  if (work.removing->len > 0)
    {
      if (!sk_session_transact (session, forget_removed, &work, error))
        return FALSE;
      g_ptr_array_add (work.names, NULL);
      if (!sk_store_remove_sync (storage->store, (const char *const *) work.names->pdata, cancellable, error))
        return FALSE;
    }
  sk_up_publish (session->up);
  return TRUE;
}
