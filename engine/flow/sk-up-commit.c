/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries are appended to the log only when all content they name is durable (C1, and A3 (b) checked again inside the transaction);
 * segments and the head follow into the storages after that. */
#include "sk-up-private.h"

#include "sk-crash.h"
#include "sk-mass.h"
#include "sk-up-scan.h"
#include "sk-test-hooks.h"

typedef struct
{
  SkUp *up;
  GPtrArray *items, *packs;
  SkTreeOutcome *outcomes;
  gboolean *lost;                /* a chunk of the item has no uncondemned pack any more: read it again */
  gboolean *parked;              /* replaced by zeros or noise: the end of the pass decides (C17) */
  guint64 entries;
  gboolean damaged;              /* something is to be fetched again */
} Commit;

static gboolean
add_packs (SkSession *session, GPtrArray *packs, GPtrArray *records, SkConfig *config, GError **error)
{
  for (guint i = 0; i < packs->len; i++)
    {
      SkUpPack *pack = packs->pdata[i];

      for (guint k = 0; k < pack->stored->len; k++)
        {
          SkFlowStorage *storage = sk_config_storage (config, g_array_index (pack->stored, gint64, k));
          SkPackPut *put;

          if (storage == NULL)
            continue;
          put = g_new0 (SkPackPut, 1);
          put->storage = storage->id;
          put->name = pack->name;
          put->epoch = pack->epoch;
          put->size = pack->size;
          put->rows = g_array_ref (pack->rows);
          g_ptr_array_add (records, sk_record_new_pack (put));
          if (!sk_index_pack_add (session->index, put, error))
            return FALSE;
        }
    }
  return TRUE;
}

/* RULES A3 (b): what was known when the file was read may have been condemned since. */
static gboolean
still_held (SkSession *session, SkUpItem *item, gboolean *lost, GError **error)
{
  GArray *storages = item->folder->flow->storages;
  g_autoptr(GArray) ids = NULL;
  g_autofree gboolean *held = NULL;

  *lost = FALSE;
  /* Since it was asked nothing was condemned, and what was missing then is in packs that are stored and noted. */
  if (item->asked && !item->unsent && item->asked_config == item->up->configs && item->asked_losses == sk_index_losses (session->index))
    return TRUE;
  if (item->content == NULL || item->content->chunks == NULL || storages->len == 0 || !sk_up_may_publish (item->folder))
    return TRUE;
  ids = g_array_new (FALSE, FALSE, sizeof (SkHash));
  for (guint i = 0; i < item->content->chunks->len; i++)
    {
      SkChunkRef *ref = &g_array_index (item->content->chunks, SkChunkRef, i);

      if (!sk_chunk_ref_is_zero (ref))
        g_array_append_val (ids, ref->id);
    }
  held = g_new0 (gboolean, ids->len + 1);
  if (ids->len > 0
      && !sk_index_chunks_held (session->index, (const SkHash *) (gpointer) ids->data, ids->len, (const gint64 *) (gpointer) storages->data,
                                storages->len, held, error))
    return FALSE;
  for (guint i = 0; i < ids->len; i++)
    *lost |= !held[i];
  return TRUE;
}

static void
change_of (SkUpItem *item, gint64 wall, SkLocalChange *out)
{
  const SkStat *stat = &item->found->stat;

  *out = (SkLocalChange) {
    .folder = item->found->folder,
    .path = item->found->path,
    .generation = item->found->generation,
    .kind = stat->kind,
    .found = item->content,
    .first_contact = FALSE,
    .withhold = !sk_up_may_publish (item->folder),
    .confirmed = item->folder->confirmed || item->folder->publish,
    .moved = item->found->moved_away,
    .written_here = item->written_here,
    .wall = wall,
  };
  out->disk = (SkBase) {
    .mode = item->found->mode,
    .mtime = stat->mtime,
    .size = stat->size,
    .ino = stat->ino,
    .dev = stat->dev,
    .stat_mtime = stat->mtime,
    .ctime = stat->ctime,
    .btime = stat->btime,
    .mount_root = stat->mount_root,
    .unproven = item->unproven,
  };
}

/* RULES C17: is this a file that was overwritten with zeros or with what cannot be compressed? */
static gboolean
must_park (SkSession *session, SkUpItem *item, const SkFolderRow *folder, gboolean *park, GError **error)
{
  const SkFound *found = item->found;

  *park = FALSE;
  if (item->cleared || found->what != SK_FOUND_CHANGED || found->base_kind != SK_KIND_FILE || found->stat.kind != SK_KIND_FILE
      || item->folder->confirmed || folder->first_contact || !sk_up_may_publish (item->folder))
    return TRUE;
  /* Read again only to be sure of it. */
  if (sk_index_content_row (session->index, &item->content->content) == found->base_content)
    return TRUE;
  return sk_mass_is_wiped (session, found->base_content, item->content, park, error);
}

/* A local change that stays here; whether only its metadata differ is worth knowing when it is taken back. */
static void
note_withheld (SkSession *session, SkUpItem *item)
{
  SkFound *found = item->found;
  gboolean has_content = found->stat.kind == SK_KIND_FILE || found->stat.kind == SK_KIND_SYMLINK;

  if (found->what == SK_FOUND_CHANGED && has_content && found->base_kind == found->stat.kind
      && sk_index_content_row (session->index, &item->content->content) == found->base_content)
    found->what = SK_FOUND_META;
}

/* Index thread, inside the transaction. */
static gboolean
commit_batch (SkSession *session, gpointer data, GError **error)
{
  Commit *commit = data;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  g_autoptr(SkFolderRow) folder = NULL;      /* of the item before, mostly that of this one too */
  guint64 seq;
  SkHash prev;
  gint64 wall = sk_session_wall (session);

  if (!sk_log_next (session, &seq, &prev, error) || !add_packs (session, commit->packs, records, commit->up->config, error))
    return FALSE;
  for (guint i = 0; i < commit->items->len; i++)
    {
      SkUpItem *item = commit->items->pdata[i];
      SkLocalChange change;

      if (folder == NULL || folder->row != item->found->folder)
        {
          g_clear_pointer (&folder, sk_folder_row_free);
          folder = sk_index_folder (session->index, item->found->folder);
        }
      if (folder == NULL || folder->path == NULL || item->folder->flow == NULL)
        {
          commit->outcomes[i] = SK_TREE_NOTHING;    /* detached meanwhile */
          continue;
        }
      if (item->damaged)
        {
          gboolean stale;

          if (!sk_crash_forget_content (session, item, wall, &stale, error))
            return FALSE;
          commit->outcomes[i] = stale ? SK_TREE_STALE : SK_TREE_NOTHING;
          commit->damaged = TRUE;
          continue;
        }
      if (!still_held (session, item, &commit->lost[i], error))
        return FALSE;
      if (!commit->lost[i] && !must_park (session, item, folder, &commit->parked[i], error))
        return FALSE;
      if (commit->lost[i] || commit->parked[i])
        continue;
      change_of (item, wall, &change);
      change.base_unsure = sk_crash_base_is_unsure (session, item);
      change.first_contact = folder->first_contact || (change.base_unsure && item->found->what == SK_FOUND_GONE);
      if (!sk_tree_local (session->tree, &change, &session->who.writer, seq, records, &commit->outcomes[i], error))
        return FALSE;
      if ((commit->outcomes[i] == SK_TREE_WRITTEN || commit->outcomes[i] == SK_TREE_NOTHING) && !sk_up_attributes_note (session, item, error))
        return FALSE;
      if (commit->outcomes[i] == SK_TREE_WITHHELD)
        note_withheld (session, item);
      else if (item->unkept && commit->outcomes[i] != SK_TREE_STALE)
        {
          if (!sk_crash_forget_kept (session, item, wall, error))
            return FALSE;
          commit->damaged = TRUE;
        }
    }
  commit->entries = records->len;
  sk_test_stage ("log-commit");
  return sk_log_append (session, records, error);
}

static void
note_again (SkUp *self, SkUpItem *item)
{
  if (item->folder->settle != NULL)
    sk_settle_note (item->folder->settle, item->found->path, FALSE, 0, sk_clock_now (self->session->clock));
}

static void
item_committed (SkUp *self, SkUpItem *item, SkTreeOutcome outcome, gboolean lost, SkCounters *add)
{
  g_autofree char *key = sk_up_issue_key ("item", item->folder, item->found->path);

  if (lost || outcome == SK_TREE_STALE)
    note_again (self, item);
  else if (outcome == SK_TREE_WITHHELD)
    {
      char *path = g_strdup (item->found->path);

      g_hash_table_replace (item->folder->withheld, path, g_steal_pointer (&item->found));
      item->folder->withheld_changed = TRUE;
    }
  else
    {
      item->folder->withheld_changed |= g_hash_table_remove (item->folder->withheld, item->found->path);
      if (outcome == SK_TREE_WRITTEN && item->found->stat.kind == SK_KIND_FILE)
        {
          add->files_up++;
          add->bytes_up += item->found->stat.size;
        }
    }
  sk_session_settle_issue (self->session, key);
  g_hash_table_remove (self->items, item);
}

/* Of the items from @first on, those of one folder; *@rest: the first of another. */
static gboolean
keep_folder (GPtrArray *items, guint first, guint *rest, GError **error)
{
  SkUpFolder *folder = ((SkUpItem *) items->pdata[first])->folder;
  g_autoptr(GArray) reads = g_array_new (FALSE, TRUE, sizeof (SkRootRead));
  gboolean ok;

  for (*rest = first; *rest < items->len && ((SkUpItem *) items->pdata[*rest])->folder == folder; (*rest)++)
    {
      const SkUpItem *item = items->pdata[*rest];
      SkRootRead read = { .path = item->found->path, .stat = &item->found->stat };

      g_array_append_val (reads, read);
    }
  if (folder->flow == NULL || folder->flow->root == NULL || !sk_up_may_publish (folder) || sk_test_mistake ("publish-unsynced"))
    return TRUE;
  ok = sk_root_keep (folder->flow->root, (SkRootRead *) (gpointer) reads->data, reads->len, error);
  for (guint i = 0; i < reads->len; i++)
    ((SkUpItem *) items->pdata[first + i])->unkept = g_array_index (reads, SkRootRead, i).lost;
  return ok;
}

/* What others are told must not be lost here by a power cut. What this disk cannot keep is published, as perhaps the last there is of it, and then
 * brought back from the storage. */
static gboolean
keep_items (GPtrArray *items, GError **error)
{
  guint next = 0;

  while (next < items->len)
    if (!keep_folder (items, next, &next, error))
      return FALSE;
  return TRUE;
}

void
sk_up_commit (SkUp *self)
{
  g_autoptr(GPtrArray) items = g_steal_pointer (&self->ready);
  g_autoptr(GPtrArray) packs = g_steal_pointer (&self->finished);
  g_autofree SkTreeOutcome *outcomes = g_new0 (SkTreeOutcome, items->len + 1);
  g_autofree gboolean *lost = g_new0 (gboolean, items->len + 1), *parked = g_new0 (gboolean, items->len + 1);
  Commit commit = { .up = self, .items = items, .packs = packs, .outcomes = outcomes, .lost = lost, .parked = parked };
  g_autoptr(GError) error = NULL;
  SkCounters add = { 0 };

  self->ready = g_ptr_array_new ();
  self->finished = g_ptr_array_new_with_free_func (sk_up_pack_free);
  if (self->commit_source != NULL)
    {
      g_source_destroy (self->commit_source);
      g_clear_pointer (&self->commit_source, g_source_unref);
    }
  if (items->len == 0 && packs->len == 0)
    return;
  if (!keep_items (items, &error) || !sk_session_transact (self->session, commit_batch, &commit, &error))
    {
      for (guint i = 0; i < items->len; i++)
        {
          SkUpItem *item = items->pdata[i];

          g_clear_error (&item->error);
          item->error = g_error_copy (error);
          sk_up_item_fail (self, item);
        }
      return;
    }
  sk_test_stage ("log-commit");
  for (guint i = 0; i < items->len; i++)
    if (parked[i])
      g_ptr_array_add (((SkUpItem *) items->pdata[i])->folder->suspects, items->pdata[i]);
    else
      item_committed (self, items->pdata[i], outcomes[i], lost[i], &add);
  self->files += add.files_up;
  self->bytes += add.bytes_up;
  self->entries += commit.entries;
  sk_session_count (self->session, &add);
  self->push_wanted |= commit.entries > 0;
  if (commit.entries > 0 || commit.damaged)
    sk_down_wake (self->session->down);
  sk_session_touch_report (self->session);
}

static gboolean
commit_due (gpointer data)
{
  SkUp *self = data;

  g_clear_pointer (&self->commit_source, g_source_unref);
  sk_up_commit (self);
  sk_up_turn (self);
  return G_SOURCE_REMOVE;
}

/* Nothing more is coming: what the last commit has to do nobody else can do something beside. */
static gboolean
is_draining (SkUp *self)
{
  return self->reads_out == 0 && g_queue_is_empty (&self->candidates) && g_queue_is_empty (&self->large) && sk_up_scan_idle (self);
}

void
sk_up_ready (SkUp *self, SkUpItem *item)
{
  g_ptr_array_add (self->ready, item);
  if (self->ready->len >= (is_draining (self) ? SK_UP_COMMIT_ITEMS / 4 : SK_UP_COMMIT_ITEMS))
    {
      sk_up_commit (self);
      return;
    }
  if (self->commit_source != NULL)
    return;
  self->commit_source = g_timeout_source_new (SK_UP_COMMIT_DELAY_US / 1000);
  g_source_set_callback (self->commit_source, commit_due, self, NULL);
  g_source_attach (self->commit_source, sk_worker_context (self->worker));
}

/* One pass may push several times. (transfer full) */
static void
add_failed_once (SkUp *self, char *text)
{
  if (g_ptr_array_find_with_equal_func (self->failed, text, g_str_equal, NULL))
    g_free (text);
  else
    g_ptr_array_add (self->failed, text);
}

void
sk_up_push (SkUp *self)
{
  gboolean all_ok = TRUE;

  for (guint i = 0; i < self->config->storages->len; i++)
    {
      SkFlowStorage *storage = self->config->storages->pdata[i];
      /* Not the key of the way down: what can be read cannot always be written. */
      g_autofree char *key = g_strdup_printf ("storage-put:%" G_GINT64_FORMAT, storage->row);
      g_autoptr(GError) error = NULL;

      if (sk_push_storage (self->session, storage, self->session->stopping, &error))
        {
          sk_session_settle_issue (self->session, key);
          sk_live_storage_seen (self->session->live, storage->row, sk_session_wall (self->session));
          continue;
        }
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED))
        return;
      all_ok = FALSE;
      /* The way down tells of one that is away. */
      if (!g_error_matches (error, SK_ERROR, SK_ERROR_OFFLINE))
        sk_session_raise (self->session, key, "storage", 0, NULL, "Storage “%s”: %s", storage->name, error->message);
      add_failed_once (self, g_strdup_printf ("storage “%s”: %s", storage->name, error->message));
    }
  self->push_wanted = !all_ok;
  self->push_at = sk_clock_now (self->session->clock) + SK_UP_AGAIN_US;
}
