/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way down: heads -> log -> merge -> plan -> fetch -> write -> rename. Straight-line code on a thread of its own; what can run side by side
 * goes to the pools, and the thread iterates its context until that came home. */
#include "sk-down-private.h"

#include <string.h>

#include "sk-attributes.h"
#include "sk-crash.h"
#include "sk-rules.h"
#include "sk-live.h"

#define ROUNDS_MAX 20u           /* ordering between windows settles in two or three */
#define BUSY_S 60

static void
failure_free (gpointer data)
{
  SkDownFailure *self = data;

  g_free (self->path);
  g_free (self->why);
  g_free (self);
}

void
sk_down_result_init (SkDownResult *self)
{
  *self = (SkDownResult) { .ok = TRUE };
  self->sources = g_array_new (FALSE, TRUE, sizeof (SkDownSource));
  self->failed = g_ptr_array_new_with_free_func (failure_free);
}

void
sk_down_result_clear (SkDownResult *self)
{
  g_clear_pointer (&self->sources, g_array_unref);
  g_clear_pointer (&self->failed, g_ptr_array_unref);
}

void
sk_down_wait_for (SkDown *self, const guint *left)
{
  while (*left > 0)
    g_main_context_iteration (self->jobs, TRUE);
}

void
sk_down_spawn (SkDown *self, SkPool *pool, SkFunc run, SkFunc done, gpointer data, GDestroyNotify free_data)
{
  sk_pool_push (pool, run, done, data, free_data, NULL, self->jobs);
}

typedef struct
{
  SkFunc run;
  gpointer data;
  guint left;
} Awaited;

static void
awaited_run (gpointer data)
{
  Awaited *awaited = data;

  awaited->run (awaited->data);
}

static void
awaited_done (gpointer data)
{
  ((Awaited *) data)->left = 0;
}

void
sk_down_run (SkDown *self, SkPool *pool, SkFunc run, gpointer data)
{
  Awaited awaited = { .run = run, .data = data, .left = 1 };

  sk_pool_push (pool, awaited_run, awaited_done, &awaited, NULL, NULL, self->jobs);
  sk_down_wait_for (self, &awaited.left);
}

/* --- pulling --- */

static void
add_failure (SkDownResult *result, const char *path, const char *why)
{
  SkDownFailure *failure = g_new0 (SkDownFailure, 1);

  failure->path = g_strdup (path);
  failure->why = g_strdup (why);
  g_ptr_array_add (result->failed, failure);
}

/* --- level: everything is as it is wanted, so while the storages say nothing new there is nothing to look at either --- */

static void
not_level (SkDown *self)
{
  g_clear_pointer (&self->level, sk_config_unref);
}

/* After a round over @all folders, in the configuration of this round. */
static void
note_level (SkDown *self, gboolean all)
{
  not_level (self);
  if (all && self->result->dirty_left == 0 && self->result->failed->len == 0 && !self->result->again && !g_cancellable_is_cancelled (self->cancellable))
    self->level = sk_config_ref (self->config);
}

static gboolean
is_level (SkDown *self)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);

  return self->level == config;
}

static gboolean
pull_all (SkDown *self, gboolean *unchanged, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  gboolean merged = FALSE, met = FALSE;

  *unchanged = TRUE;
  for (guint i = 0; i < config->storages->len; i++)
    {
      SkFlowStorage *storage = config->storages->pdata[i];
      g_autofree char *key = g_strdup_printf ("storage:%" G_GINT64_FORMAT, storage->row);
      g_autofree char *log_key = g_strdup_printf ("storage-log:%" G_GINT64_FORMAT, storage->row);
      g_autoptr(GError) local = NULL;
      SkPullResult pulled = { .problems = g_ptr_array_new_with_free_func (g_free) };
      g_autoptr(GPtrArray) problems = pulled.problems;
      gboolean ok = sk_pull_storage (self->session, storage, &pulled, self->cancellable, &local);

      /* What could not be read then says nothing about the storage. */
      if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
        return FALSE;
      if (ok)
        {
          met |= sk_session_meet (self->session, storage->row);
          sk_session_settle_issue (self->session, key);
          sk_live_storage_seen (self->session->live, storage->row, sk_session_wall (self->session));
          if (problems->len == 0)
            sk_session_settle_issue (self->session, log_key);
          else
            {
              sk_session_raise (self->session, log_key, "storage-log", 0, NULL, "%s", (const char *) problems->pdata[0]);
              add_failure (self->result, storage->name, problems->pdata[0]);
            }
        }
      else
        {
          sk_session_raise (self->session, key, "storage", 0, NULL, "Storage “%s”: %s", storage->name, local->message);
          add_failure (self->result, storage->name, local->message);
        }
      merged |= pulled.merged;
      *unchanged = *unchanged && ok && pulled.unchanged;
    }
  if (merged)
    {
      not_level (self);        /* also where only what is told was asked for, and the next poll finds it told */
      sk_down_expect (self);
      sk_up_publish (self->session->up);
    }
  if (g_atomic_int_compare_and_exchange (&self->session->compared, 0, 1) || met)
    sk_up_publish (self->session->up);       /* the way up may write now (A5) */
  return TRUE;
}

int
sk_down_steps (SkDown *self)
{
  return g_atomic_int_get (&self->steps);
}

void
sk_down_expect (SkDown *self)
{
  g_atomic_int_set (&self->busy_until, (int) (sk_clock_now (self->session->clock) / G_USEC_PER_SEC) + BUSY_S);
}

gboolean
sk_down_is_busy (SkDown *self)
{
  return g_atomic_int_get (&self->busy_until) > (int) (sk_clock_now (self->session->clock) / G_USEC_PER_SEC);
}

/* --- bringing folders to their targets --- */

typedef struct
{
  gint64 folder;
  gsize prefix;                  /* length of what stands before the path in a key */
  GPtrArray *keys;               /* char*: of open issues; left are those that nothing is to be done about any more */
} OverCall;

/* Index thread. */
static gboolean
keep_what_is_over (SkSession *session, gpointer data, GError **error)
{
  OverCall *call = data;

  for (guint i = call->keys->len; i > 0; i--)
    {
      const char *key = call->keys->pdata[i - 1];
      g_autoptr(GError) local = NULL;
      g_autoptr(SkNode) node = sk_index_node (session->index, call->folder, key + call->prefix, &local);

      if (local != NULL || (node != NULL && node->dirty))
        g_ptr_array_remove_index_fast (call->keys, i - 1);
    }
  return TRUE;
}

/* What could not be carried out and is not wanted any more, since the vault moved on, is no issue either. */
static void
settle_what_is_over (SkDown *self, SkFlowFolder *folder)
{
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *prefix = g_strdup_printf ("apply:%" G_GINT64_FORMAT ":", folder->row);
  OverCall call = { .folder = folder->row, .prefix = strlen (prefix), .keys = keys };
  GHashTableIter iter;
  gpointer key;

  g_mutex_lock (&self->session->lock);
  g_hash_table_iter_init (&iter, self->session->open_issues);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (g_str_has_prefix (key, prefix))
      g_ptr_array_add (keys, g_strdup (key));
  g_mutex_unlock (&self->session->lock);
  if (keys->len == 0 || !sk_session_index (self->session, keep_what_is_over, &call, NULL))
    return;
  for (guint i = 0; i < keys->len; i++)
    sk_session_settle_issue (self->session, keys->pdata[i]);
}

/* One pass over what is to be nothing (@gone), or to be something. FALSE: it cannot go on. */
static gboolean
apply_part (SkDown *self, SkFlowFolder *folder, gboolean gone, guint *done)
{
  gint64 after = 0;

  do
    {
      g_autoptr(GError) error = NULL;
      g_autoptr(GPtrArray) plan = sk_down_plan (self, folder, gone, &after, &error);

      if (plan == NULL || (plan->len > 0 && !sk_crash_begin_writing (self->session, &error)))
        {
          add_failure (self->result, folder->name, error->message);
          return FALSE;
        }
      if (!sk_down_spare (self, folder, plan, &error))
        {
          add_failure (self->result, folder->name, error->message);
          return FALSE;
        }
      *done += sk_down_carry_out (self, folder, plan);
    }
  while (after != 0 && !g_cancellable_is_cancelled (self->cancellable));
  return TRUE;
}

static void
apply_folder (SkDown *self, SkFlowFolder *folder)
{
  gboolean only_rules;

  if (folder->root == NULL || folder->mode == SK_FOLDER_SEND)
    return;
  only_rules = sk_rules_are_coming (self->session, folder->row, folder->root);
  sk_down_release_holds (self, folder);
  for (guint round = 0; round < ROUNDS_MAX && !g_cancellable_is_cancelled (self->cancellable); round++)
    {
      guint done = 0;

      /* What was moved is wanted somewhere before it is taken away where it was, however many there are. */
      if (!apply_part (self, folder, FALSE, &done) || !apply_part (self, folder, TRUE, &done))
        return;
      if (done == 0)
        return;
      if (only_rules)
        {
          /* What lies here is looked at by them first. */
          self->result->again = TRUE;
          if (self->session->watch)
            sk_up_note (self->session->up, folder->row, "", TRUE, FALSE);
          sk_down_wake (self);
          return;
        }
      sk_down_expect (self);
    }
}

typedef struct
{
  const gint64 *folders;
  guint n;
  guint64 left;
} LeftCall;

/* Index thread: what could not be carried out yet. */
static gboolean
count_left (SkSession *session, gpointer data, GError **error)
{
  LeftCall *call = data;
  g_autoptr(SkConfig) config = sk_session_config (session);

  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *folder = config->folders->pdata[i];
      g_autoptr(GPtrArray) dirty = NULL;

      if (folder->mode == SK_FOLDER_SEND)
        continue;
      dirty = sk_index_dirty (session->index, folder->row, 0, 1000, error);
      if (dirty == NULL)
        return FALSE;
      call->left += dirty->len;
    }
  return TRUE;
}

static void
apply_all (SkDown *self, const gint64 *folders, guint n)
{
  LeftCall left = { 0 };

  sk_config_unref (self->config);
  self->config = sk_session_config (self->session);
  g_hash_table_remove_all (self->bad_packs);
  g_hash_table_remove_all (self->not_placed);
  g_free (self->trash_batch);
  self->trash_batch = sk_trash_new_batch (sk_clock_wall (self->session->clock));
  for (guint i = 0; i < self->config->folders->len; i++)
    {
      SkFlowFolder *folder = self->config->folders->pdata[i];
      gboolean wanted = n == 0;

      for (guint k = 0; !wanted && k < n; k++)
        wanted = folders[k] == folder->row;
      if (!wanted)
        continue;
      self->pass = sk_activity_pass_new (self->session, folder->row);
      apply_folder (self, folder);
      settle_what_is_over (self, folder);
      sk_attributes_settle (self->session, folder);
      g_clear_pointer (&self->pass, sk_activity_pass_end);
    }
  if (sk_session_index (self->session, count_left, &left, NULL))
    self->result->dirty_left = left.left;
  note_level (self, n == 0);
  sk_session_rest (self->session);
}

/* --- requests --- */

typedef struct
{
  SkDown *down;
  const gint64 *folders;
  guint n;
  gboolean only_pull, is_poll;
  SkDownResult *result;
  GCancellable *cancellable;
  GError *error;
  gboolean ok;
} Request;

static void
run_request (gpointer data)
{
  Request *request = data;
  SkDown *self = request->down;
  gint64 begin = g_get_monotonic_time ();
  gboolean unchanged = FALSE;

  self->result = request->result;
  self->cancellable = request->cancellable != NULL ? request->cancellable : self->session->stopping;
  g_main_context_push_thread_default (self->jobs);
  request->ok = pull_all (self, &unchanged, &request->error);
  if (request->ok && !request->only_pull && !(request->is_poll && unchanged && is_level (self)))
    apply_all (self, request->folders, request->n);
  if (request->ok && g_cancellable_set_error_if_cancelled (self->cancellable, &request->error))
    request->ok = FALSE;
  g_main_context_pop_thread_default (self->jobs);
  self->result->needed = self->result->local + self->result->peer + self->result->storage;
  self->result->ok = self->result->failed->len == 0;
  self->result->seconds += (double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC;
  self->result = NULL;
  self->cancellable = NULL;
  sk_session_touch_report (self->session);
}

static gboolean
request (SkDown *self, Request *request, GError **error)
{
  request->down = self;
  sk_worker_call (self->worker, run_request, request);
  if (request->error != NULL)
    g_propagate_error (error, request->error);
  return request->ok;
}

gboolean
sk_down_pull (SkDown *self, GCancellable *cancellable, GError **error)
{
  SkDownResult result;
  Request pull = { .only_pull = TRUE, .result = &result, .cancellable = cancellable };
  gboolean ok;

  sk_down_result_init (&result);
  ok = request (self, &pull, error);
  sk_down_result_clear (&result);
  return ok;
}

gboolean
sk_down_sync (SkDown *self, const gint64 *folders, guint n, SkDownResult *out, GCancellable *cancellable, GError **error)
{
  Request sync = { .folders = folders, .n = n, .result = out, .cancellable = cancellable };

  return request (self, &sync, error);
}

/* What ends when the engine stops, and when it is paused. */
static GCancellable *
begin_wake (SkDown *self)
{
  GCancellable *wake = g_cancellable_new ();

  g_mutex_lock (&self->lock);
  g_set_object (&self->wake, wake);
  g_mutex_unlock (&self->lock);
  return wake;
}

void
sk_down_pause (SkDown *self)
{
  g_mutex_lock (&self->lock);
  if (self->wake != NULL)
    g_cancellable_cancel (self->wake);
  g_mutex_unlock (&self->lock);
}

static void
run_wake (SkDown *self, gboolean poll)
{
  g_autoptr(GCancellable) cancellable = begin_wake (self);
  SkDownResult result;
  Request wake = { .down = self, .result = &result, .cancellable = cancellable };

  /* Asked after @cancellable is there: whoever stops or pauses from here on cancels it. */
  if (g_cancellable_is_cancelled (self->session->stopping) || g_atomic_int_get (&self->session->paused))
    {
      not_level (self);        /* what this one would have done is left to the first poll afterwards */
      return;
    }
  sk_down_result_init (&result);
  wake.is_poll = poll;
  if (poll)
    run_request (&wake);
  else
    {
      self->result = &result;
      self->cancellable = cancellable;
      g_main_context_push_thread_default (self->jobs);
      apply_all (self, NULL, 0);
      g_main_context_pop_thread_default (self->jobs);
      self->result = NULL;
      self->cancellable = NULL;
    }
  g_clear_error (&wake.error);
  sk_down_result_clear (&result);
}

static void
on_wake (gpointer data)
{
  SkDown *self = data;

  g_atomic_int_set (&self->wanted, 0);
  run_wake (self, FALSE);
}

static void
on_poll (gpointer data)
{
  run_wake (data, TRUE);
}

void
sk_down_wake (SkDown *self)
{
  /* Without an engine that runs, commands decide when the disk is changed. */
  if (self == NULL || !self->session->watch || !g_atomic_int_compare_and_exchange (&self->wanted, 0, 1))
    return;
  sk_worker_push (self->worker, on_wake, self, NULL);
}

void
sk_down_poll (SkDown *self)
{
  if (!self->session->watch)
    return;
  sk_worker_push (self->worker, on_poll, self, NULL);
}

SkDown *
sk_down_new (SkSession *session)
{
  SkDown *self = g_new0 (SkDown, 1);

  self->session = session;
  self->config = sk_session_config (session);
  self->jobs = g_main_context_new ();
  self->bad_packs = g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, g_free, NULL);
  self->planned_dirs = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->not_placed = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_mutex_init (&self->lock);
  self->worker = sk_worker_new ("down");
  return self;
}

void
sk_down_end (SkDown *self)
{
  sk_down_pause (self);
  sk_worker_end (self->worker);        /* 'stopping' is cancelled: what runs ends at its next step */
}

void
sk_down_free (SkDown *self)
{
  if (self == NULL)
    return;
  sk_worker_stop (self->worker);
  g_clear_object (&self->wake);
  g_mutex_clear (&self->lock);
  g_main_context_unref (self->jobs);
  g_hash_table_unref (self->bad_packs);
  g_hash_table_unref (self->planned_dirs);
  g_hash_table_unref (self->not_placed);
  sk_config_unref (self->config);
  not_level (self);
  g_free (self->trash_batch);
  g_free (self);
}
