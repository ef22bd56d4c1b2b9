/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way up: what to look at, and when everything asked for is done. The rest of the way: sk-up-private.h. */
#include "sk-up-private.h"
#include "sk-up-scan.h"

#include "sk-test-hooks.h"

#include <string.h>

static void
item_free (gpointer data)
{
  SkUpItem *self = data;

  sk_live_queue (self->up->session->live, self->folder->row, -1, -(gint64) self->queued);
  sk_found_free (self->found);
  sk_entry_free (self->content);
  g_clear_pointer (&self->xattrs, g_bytes_unref);
  g_clear_pointer (&self->splitter, sk_splitter_free);
  g_array_unref (self->fresh);
  g_clear_error (&self->error);
  g_free (self);
}

SkUpItem *
sk_up_item_new (SkUp *self, SkUpFolder *folder, SkFound *found)
{
  SkUpItem *item = g_new0 (SkUpItem, 1);

  item->up = self;
  item->folder = folder;
  item->found = found;
  item->queued = found->stat.kind == SK_KIND_FILE ? found->stat.size : 0;
  sk_live_queue (self->session->live, folder->row, 1, (gint64) item->queued);
  item->fresh = g_array_new (FALSE, TRUE, sizeof (SkSplitChunk));
  g_array_set_clear_func (item->fresh, (GDestroyNotify) sk_split_chunk_clear);
  g_hash_table_add (self->items, item);
  return item;
}

char *
sk_up_issue_key (const char *kind, const SkUpFolder *folder, const char *path)
{
  return g_strdup_printf ("%s:%" G_GINT64_FORMAT ":%s", kind, folder->row, path);
}

void
sk_up_item_fail (SkUp *self, SkUpItem *item)
{
  const char *path = item->found->path;
  g_autofree char *shown = sk_path_display (path);
  gint64 now = sk_clock_now (self->session->clock);

  sk_up_give_budget (self, item->cost);
  if (g_error_matches (item->error, SK_ERROR, SK_ERROR_CHANGED))
    {
      /* Somebody writes to it: not an error, look again when it is quiet. */
      sk_settle_again (item->folder->settle, path, now);
    }
  else if (g_error_matches (item->error, SK_ERROR, SK_ERROR_CANCELLED))
    {
      /* Without an engine that watches, the next command looks at everything. */
      if (self->session->watch)
        sk_settle_again (item->folder->settle, path, now);
    }
  else if (g_error_matches (item->error, SK_ERROR, SK_ERROR_NOT_FOUND))
    sk_settle_note (item->folder->settle, path, FALSE, 0, now);
  else if (!g_cancellable_is_cancelled (self->session->stopping))
    {
      g_autofree char *key = sk_up_issue_key ("item", item->folder, path);

      g_hash_table_add (item->folder->troubles, g_strdup (key));
      sk_session_raise (self->session, key, "failed-item", item->folder->row, path, "“%s” could not be taken in: %s", shown,
                        item->error->message);
      sk_settle_again (item->folder->settle, path, now);
      g_ptr_array_add (self->failed, g_strdup_printf ("%s: %s", shown, item->error->message));
    }
  g_hash_table_remove (self->items, item);
}

static void
up_folder_free (gpointer data)
{
  SkUpFolder *self = data;

  g_clear_pointer (&self->ignore, sk_ignore_unref);
  g_queue_clear_full (&self->dirs, g_free);
  g_clear_pointer (&self->recent, g_array_unref);
  g_ptr_array_unref (self->gone);
  g_ptr_array_unref (self->suspects);
  g_hash_table_unref (self->troubles);
  sk_settle_free (self->settle);
  g_hash_table_unref (self->withheld);
  g_free (self);
}

static SkUpFolder *
folder_of (SkUp *self, gint64 row)
{
  SkUpFolder *folder = g_hash_table_lookup (self->folders, &row);

  if (folder != NULL)
    return folder;
  folder = g_new0 (SkUpFolder, 1);
  folder->row = row;
  folder->flow = sk_config_folder (self->config, row);
  folder->gone = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_found_free);
  folder->suspects = g_ptr_array_new ();
  folder->troubles = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  folder->settle = sk_settle_new ();
  folder->withheld = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) sk_found_free);
  g_hash_table_insert (self->folders, &folder->row, folder);
  return folder;
}

static gboolean
pipeline_idle (SkUp *self)
{
  return g_queue_is_empty (&self->candidates) && g_queue_is_empty (&self->large) && self->reads_out == 0 && self->packs_out == 0;
}

static gboolean
looks_again (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (sk_settle_count (((SkUpFolder *) value)->settle) > 0 || ((SkUpFolder *) value)->again_at != 0)
      return TRUE;
  return FALSE;
}

static void
answer_request (SkUp *self, SkUpRequest *request)
{
  SkUpResult *result = request->result;

  result->files = self->files;
  result->bytes = self->bytes;
  result->entries = self->entries;
  result->scanned = self->scanned;
  result->again = looks_again (self);
  result->failed = self->failed;
  result->ok = self->failed->len == 0;
  if (request->started && request->n == 0 && !self->closing)
    g_atomic_int_set (&self->session->swept, 1);
  self->failed = g_ptr_array_new_with_free_func (g_free);
  self->files = self->bytes = self->entries = self->scanned = 0;
  g_async_queue_push (request->reply, request);
}

static void
start_request (SkUp *self, SkUpRequest *request)
{
  request->started = TRUE;
  self->push_wanted = TRUE;
  for (guint i = 0; i < self->config->folders->len; i++)
    {
      SkFlowFolder *folder = self->config->folders->pdata[i];
      gboolean wanted = request->n == 0;

      for (guint k = 0; !wanted && k < request->n; k++)
        wanted = request->folders[k] == folder->row;
      if (wanted)
        sk_up_scan_all (self, folder_of (self, folder->row));
    }
}

guint
sk_up_dirs_left (SkUp *self)
{
  return (guint) g_atomic_int_get (&self->dirs_left);
}

void
sk_up_turn (SkUp *self)
{
  if (self->closing)
    return;
  sk_up_scan_more (self);
  g_atomic_int_set (&self->dirs_left, (int) sk_up_scan_left (self));
  sk_up_read_more (self);
  if (self->reads_out == 0 && g_queue_is_empty (&self->candidates) && g_queue_is_empty (&self->large))
    sk_up_seal_idle (self);
  if (!pipeline_idle (self) || !sk_up_scan_idle (self))
    return;
  if (self->ready->len > 0 || self->finished->len > 0)
    sk_up_commit (self);
  if (sk_up_scan_finish (self))
    {
      /* What was missing has become candidates; they go the same way. */
      sk_up_turn (self);
      return;
    }
  if (self->push_wanted)
    sk_up_push (self);
  if (self->session->watch && self->scanned > 0 && !sk_up_hold_any (self))
    g_atomic_int_set (&self->session->swept, 1);
  while (!g_queue_is_empty (&self->requests) && pipeline_idle (self) && sk_up_scan_idle (self))
    {
      SkUpRequest *request = g_queue_peek_head (&self->requests);

      if (!request->started)
        {
          start_request (self, request);
          sk_up_turn (self);
          return;
        }
      g_queue_pop_head (&self->requests);
      answer_request (self, request);
    }
  /* What went wrong while nobody asked is told by issues, and is not part of the next answer. */
  if (g_queue_is_empty (&self->requests))
    g_ptr_array_set_size (self->failed, 0);
  sk_session_rest (self->session);
  sk_up_arm_settle (self);
}

/* --- messages from other threads --- */

typedef struct
{
  SkUp *up;
  gint64 folder;
  char *path;
  gboolean tree, writing, yes;
  SkUpRequest *request;
} UpMessage;

static void
message_free (gpointer data)
{
  UpMessage *message = data;

  g_free (message->path);
  g_free (message);
}

static UpMessage *
message_new (SkUp *up, gint64 folder, const char *path)
{
  UpMessage *message = g_new0 (UpMessage, 1);

  message->up = up;
  message->folder = folder;
  message->path = g_strdup (path);
  return message;
}

static void
on_note (gpointer data)
{
  UpMessage *message = data;
  SkUpFolder *folder = folder_of (message->up, message->folder);

  if (folder->flow == NULL)
    return;
  /* Other rules: nothing is looked at by the old ones any more. */
  if ((message->tree && *message->path == '\0') || (!message->tree && !message->writing && strcmp (message->path, ".skerryignore") == 0))
    {
      sk_up_scan_all (message->up, folder);
      sk_up_turn (message->up);
      return;
    }
  if (message->tree)
    {
      g_queue_push_tail (&folder->dirs, g_strdup (message->path));
      sk_up_turn (message->up);
      return;
    }
  sk_settle_note (folder->settle, message->path, message->writing, 0, sk_clock_now (message->up->session->clock));
  sk_test_stage ("noted");
  sk_up_arm_settle (message->up);
}

void
sk_up_note (SkUp *self, gint64 folder, const char *path, gboolean tree, gboolean writing)
{
  UpMessage *message = message_new (self, folder, path);

  message->tree = tree;
  message->writing = writing;
  sk_worker_push (self->worker, on_note, message, message_free);
}

static void
on_publish (gpointer data)
{
  UpMessage *message = data;

  message->up->push_wanted = TRUE;
  sk_up_turn (message->up);
}

void
sk_up_publish (SkUp *self)
{
  sk_worker_push (self->worker, on_publish, message_new (self, 0, NULL), message_free);
}

static void
on_step_done (gpointer data)
{
  sk_up_turn (data);
}

void
sk_up_step_done (SkUp *self)
{
  if (self != NULL && g_atomic_int_compare_and_exchange (&self->waits_for_step, 1, 0))
    sk_worker_push (self->worker, on_step_done, self, NULL);
}

typedef struct
{
  SkUp *up;
  gint64 storage;
  GCancellable *cancellable;
  gboolean ok;
  GError *error;
} PushCall;

static void
on_push_now (gpointer data)
{
  PushCall *call = data;
  g_autoptr(SkConfig) config = sk_session_config (call->up->session);
  SkFlowStorage *storage = sk_config_storage (config, call->storage);

  call->ok = storage != NULL ? sk_push_storage (call->up->session, storage, call->cancellable, &call->error)
                             : sk_fail (&call->error, SK_ERROR_NOT_FOUND, "the storage is not attached here any more");
}

gboolean
sk_up_push_now (SkUp *self, gint64 storage, GCancellable *cancellable, GError **error)
{
  PushCall call = { .up = self, .storage = storage, .cancellable = cancellable };

  sk_worker_call (self->worker, on_push_now, &call);
  if (call.error != NULL)
    g_propagate_error (error, call.error);
  return call.ok;
}

static void
on_reload (gpointer data)
{
  UpMessage *message = data;
  SkUp *self = message->up;
  GHashTableIter iter;
  gpointer value;

  sk_config_unref (self->config);
  self->config = sk_session_config (self->session);
  self->configs++;
  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      SkUpFolder *folder = value;

      folder->flow = sk_config_folder (self->config, folder->row);
    }
  sk_up_scan_due (self);
  sk_up_turn (self);
}

void
sk_up_reload (SkUp *self)
{
  if (self != NULL)
    sk_worker_call (self->worker, on_reload, &(UpMessage) { .up = self });
}

void
sk_up_refresh (SkUp *self)
{
  if (self != NULL)
    sk_worker_push (self->worker, on_reload, message_new (self, 0, NULL), message_free);
}

static void
on_confirm (gpointer data)
{
  UpMessage *message = data;

  sk_up_gone_decide (message->up, folder_of (message->up, message->folder), message->yes);
  sk_up_turn (message->up);
}

static void
on_decide_local (gpointer data)
{
  UpMessage *message = data;

  sk_up_gone_decide_local (message->up, folder_of (message->up, message->folder), message->yes);
  sk_up_turn (message->up);
}

void
sk_up_decide_local (SkUp *self, gint64 folder, gboolean publish)
{
  UpMessage *message = message_new (self, folder, NULL);

  message->yes = publish;
  sk_worker_push (self->worker, on_decide_local, message, message_free);
}

void
sk_up_confirm (SkUp *self, gint64 folder, gboolean yes)
{
  UpMessage *message = message_new (self, folder, NULL);

  message->yes = yes;
  sk_worker_push (self->worker, on_confirm, message, message_free);
}

static void
on_request (gpointer data)
{
  UpMessage *message = data;

  g_queue_push_tail (&message->up->requests, message->request);
  sk_up_turn (message->up);
}

static void
drop (SkUp *self, GQueue *items)
{
  while (!g_queue_is_empty (items))
    {
      SkUpItem *item = g_queue_pop_head (items);

      g_set_error_literal (&item->error, SK_ERROR, SK_ERROR_CANCELLED, "nobody asks for it any more");
      item->read_done = TRUE;
      /* Chunks of it may be on their way; then the item ends when they have arrived. */
      if (item->waiting == 0)
        sk_up_item_fail (self, item);
    }
}

/* What a request began ends with it, unless the engine would do the same by itself. Packs that are under way are put and noted. */
static void
stop_what_was_asked (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;

  if (!g_queue_is_empty (&self->requests) || self->closing || (self->session->watch && !g_atomic_int_get (&self->session->paused)))
    return;
  sk_up_pack_give_up (self);
  drop (self, &self->candidates);
  drop (self, &self->large);
  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((SkUpFolder *) value)->full_scan)
      sk_up_scan_give_up (self, value);
}

static void
on_withdraw (gpointer data)
{
  UpMessage *message = data;
  SkUp *self = message->up;

  if (!g_queue_remove (&self->requests, message->request))
    return;
  message->request->started = FALSE;       /* not everything was looked at */
  answer_request (self, message->request);
  stop_what_was_asked (self);
  sk_up_turn (self);
}

void
sk_up_result_clear (SkUpResult *self)
{
  g_clear_pointer (&self->failed, g_ptr_array_unref);
}

gboolean
sk_up_sync (SkUp *self, const gint64 *folders, guint n, SkUpResult *out, GCancellable *cancellable, GError **error)
{
  SkUpRequest request = { .folders = (gint64 *) folders, .n = n, .result = out };
  UpMessage *message = message_new (self, 0, NULL);

  *out = (SkUpResult) { 0 };
  request.reply = g_async_queue_new ();
  message->request = &request;
  sk_worker_push (self->worker, on_request, message, message_free);
  /* The answer always comes: stopping answers every request, and a cancelled caller takes his back; what is in flight goes on. */
  while (g_async_queue_timeout_pop (request.reply, 100 * 1000) == NULL)
    if (g_cancellable_is_cancelled (cancellable))
      sk_worker_call (self->worker, on_withdraw, &(UpMessage) { .up = self, .request = &request });
  g_async_queue_unref (request.reply);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    {
      sk_up_result_clear (out);
      return FALSE;
    }
  return TRUE;
}

SkUp *
sk_up_new (SkSession *session)
{
  SkUp *self = g_new0 (SkUp, 1);

  self->session = session;
  self->config = sk_session_config (session);
  sk_budget_init (&self->budget, SK_UP_BYTES_MAX);
  self->folders = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, up_folder_free);
  self->lanes = g_ptr_array_new_with_free_func (sk_up_lane_free);
  self->finished = g_ptr_array_new_with_free_func (sk_up_pack_free);
  self->ready = g_ptr_array_new ();
  self->failed = g_ptr_array_new_with_free_func (g_free);
  self->items = g_hash_table_new_full (NULL, NULL, item_free, NULL);
  self->worker = sk_worker_new ("up");
  return self;
}

static void
on_stop (gpointer data)
{
  SkUp *self = data;

  self->closing = TRUE;
  g_clear_pointer (&self->settle_timer, sk_timer_free);
  if (self->commit_source != NULL)
    {
      g_source_destroy (self->commit_source);
      g_clear_pointer (&self->commit_source, g_source_unref);
    }
  while (!g_queue_is_empty (&self->requests))
    answer_request (self, g_queue_pop_head (&self->requests));
}

typedef struct { SkUp *up; guint out; } DrainCall;

static void
count_out (gpointer data)
{
  DrainCall *call = data;

  call->out = call->up->reads_out + call->up->packs_out + sk_up_scans_out (call->up);
}

void
sk_up_free (SkUp *self)
{
  DrainCall drain = { .up = self };

  if (self == NULL)
    return;
  sk_worker_call (self->worker, on_stop, self);
  /* Jobs in flight come home; 'stopping' is cancelled, so they are short. */
  do
    {
      sk_worker_call (self->worker, count_out, &drain);
      if (drain.out > 0)
        g_usleep (1000);
    }
  while (drain.out > 0);
  sk_worker_stop (self->worker);
  g_ptr_array_unref (self->ready);
  g_queue_clear (&self->candidates);
  g_queue_clear (&self->large);
  g_hash_table_unref (self->items);
  g_ptr_array_unref (self->lanes);
  g_ptr_array_unref (self->finished);
  g_ptr_array_unref (self->failed);
  g_hash_table_unref (self->folders);
  sk_config_unref (self->config);
  g_free (self);
}
