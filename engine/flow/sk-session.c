/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-attachments.h"
#include "sk-crash.h"
#include "sk-invite-serve.h"
#include "sk-issues.h"
#include "sk-live.h"
#include "sk-memory.h"
#include "sk-report.h"
#include "sk-watch.h"

#define LARGE_WORK (32u << 20)

typedef struct
{
  SkSession *session;
  SkIndexFunc func;
  gpointer data;
  gboolean in_transaction;
  gboolean ok;
  GError *error;
  GMainContext *turning;         /* that of the caller, which turns it meanwhile; NULL: it sleeps */
  int ended;                     /* atomic */
} IndexCall;

static void
run_index_call (gpointer data)
{
  IndexCall *call = data;
  SkSession *self = call->session;

  if (!call->in_transaction)
    {
      call->ok = call->func (self, call->data, &call->error);
      return;
    }
  if (!sk_index_begin (self->index, &call->error))
    return;
  call->ok = call->func (self, call->data, &call->error)
             && (self->tree == NULL || sk_tree_flush (self->tree, &call->error))
             && sk_index_commit (self->index, &call->error);
  if (!call->ok)
    sk_index_rollback (self->index);
}

static gboolean
index_answer (const IndexCall *call, GError **error)
{
  if (call->ok)
    return TRUE;
  if (call->error == NULL)
    return sk_fail (error, SK_ERROR_FAILED, "the database gave no answer");
  g_propagate_error (error, call->error);
  return FALSE;
}

static gboolean
index_call (SkSession *self, SkIndexFunc func, gpointer data, gboolean in_transaction, GError **error)
{
  IndexCall call = { .session = self, .func = func, .data = data, .in_transaction = in_transaction };

  sk_worker_call (self->index_worker, run_index_call, &call);
  return index_answer (&call, error);
}

gboolean
sk_session_index (SkSession *self, SkIndexFunc func, gpointer data, GError **error)
{
  return index_call (self, func, data, FALSE, error);
}

gboolean
sk_session_transact (SkSession *self, SkIndexFunc func, gpointer data, GError **error)
{
  return index_call (self, func, data, TRUE, error);
}

static void
run_turning_call (gpointer data)
{
  IndexCall *call = data;
  g_autoptr(GMainContext) context = g_main_context_ref (call->turning);

  run_index_call (call);
  g_atomic_int_set (&call->ended, 1);            /* from here on @call may be gone */
  g_main_context_wakeup (context);
}

gboolean
sk_session_transact_turning (SkSession *self, SkIndexFunc func, gpointer data, GMainContext *context, GError **error)
{
  IndexCall call = { .session = self, .func = func, .data = data, .in_transaction = TRUE, .turning = context };

  sk_worker_push (self->index_worker, run_turning_call, &call, NULL);
  while (!g_atomic_int_get (&call.ended))
    g_main_context_iteration (context, TRUE);
  return index_answer (&call, error);
}

SkCompressor *
sk_session_take_compressor (SkSession *self)
{
  SkCompressor *z = g_async_queue_try_pop (self->compressors);

  return z != NULL ? z : sk_compressor_new ();
}

void
sk_session_give_compressor (SkSession *self, SkCompressor *z)
{
  g_async_queue_push (self->compressors, z);
}

void
sk_session_count (SkSession *self, const SkCounters *add)
{
  g_mutex_lock (&self->lock);
  self->counters.files_up += add->files_up;
  self->counters.bytes_up += add->bytes_up;
  self->counters.chunks_new += add->chunks_new;
  self->counters.packs_up += add->packs_up;
  self->counters.chunks_known += add->chunks_known;
  self->counters.files_down += add->files_down;
  self->counters.bytes_down += add->bytes_down;
  self->counters.chunks_local += add->chunks_local;
  self->counters.chunks_storage += add->chunks_storage;
  self->counters.looked += add->looked;
  self->counters.listed += add->listed;
  self->counters.wire_up += add->wire_up;
  self->counters.wire_down += add->wire_down;
  g_mutex_unlock (&self->lock);
}

void
sk_session_rest (SkSession *self)
{
  guint64 moved;
  gboolean due;

  g_mutex_lock (&self->lock);
  moved = self->counters.wire_up + self->counters.wire_down;
  /* A program that ends now need not tidy up. */
  due = self->watch && moved - self->rested >= LARGE_WORK;
  if (due)
    self->rested = moved;
  g_mutex_unlock (&self->lock);
  if (due)
    sk_memory_give_back ();
}

gboolean
sk_session_has_met (SkSession *self, gint64 storage)
{
  gboolean met;

  g_mutex_lock (&self->lock);
  met = g_hash_table_contains (self->met, &storage);
  g_mutex_unlock (&self->lock);
  return met;
}

gboolean
sk_session_meet (SkSession *self, gint64 storage)
{
  gboolean first;

  g_mutex_lock (&self->lock);
  first = g_hash_table_add (self->met, g_memdup2 (&storage, sizeof storage));
  g_mutex_unlock (&self->lock);
  return first;
}

gint64
sk_session_wall (SkSession *self)
{
  return sk_clock_wall (self->clock) / G_USEC_PER_SEC;
}

static gboolean report_again (gpointer data);

static void
arm (SkSession *self, guint ms, GSourceFunc func)
{
  g_autoptr(GSource) source = g_timeout_source_new (ms);

  g_source_set_callback (source, func, self, NULL);
  g_source_attach (source, sk_worker_context (self->reporter));
}

/* reporter thread */
static void
report (SkSession *self)
{
  SkLiveFolder live;

  if (g_cancellable_is_cancelled (self->stopping))
    return;
  sk_report_build (self);
  sk_live_folder (self->live, 0, sk_clock_now (self->clock), &live);
  /* Rates sink by themselves: while there are any, nobody needs to say so. */
  if (live.up_rate + live.down_rate == 0 || self->report_again)
    return;
  self->report_again = TRUE;
  arm (self, 1000, report_again);
}

static gboolean
report_again (gpointer data)
{
  SkSession *self = data;

  self->report_again = FALSE;
  report (self);
  return G_SOURCE_REMOVE;
}

static gboolean
report_due (gpointer data)
{
  SkSession *self = data;

  g_atomic_int_set (&self->report_wanted, 0);
  report (self);
  return G_SOURCE_REMOVE;
}

static void
arm_report (gpointer data)
{
  arm (data, 100, report_due);
}

void
sk_session_touch_report (SkSession *self)
{
  /* Without an engine that runs, a report is built when somebody asks. */
  if (self->reporter != NULL && g_atomic_int_compare_and_exchange (&self->report_wanted, 0, 1))
    sk_worker_push (self->reporter, arm_report, self, NULL);
}

static void
stop_flows (SkSession *self)
{
  g_cancellable_cancel (self->stopping);
  /* Whoever else runs still asks it for reports. */
  if (self->reporter != NULL)
    sk_worker_end (self->reporter);
  g_clear_pointer (&self->invites, sk_invites_free);
  g_clear_pointer (&self->watcher, sk_watch_free);
  /* The two ways call each other: both are there until one of them has ended. */
  if (self->down != NULL)
    sk_down_end (self->down);
  g_clear_pointer (&self->up, sk_up_free);
  g_clear_pointer (&self->down, sk_down_free);
  g_clear_pointer (&self->reporter, sk_worker_stop);
}

static void
close_index (gpointer data)
{
  SkSession *self = data;
  g_autoptr(GError) error = NULL;

  if (self->index != NULL && (!sk_index_begin (self->index, &error) || !sk_crash_end (self, NULL, &error) || !sk_index_commit (self->index, &error)))
    g_message ("that the engine stopped cleanly could not be noted: %s", error->message);
  g_clear_pointer (&self->tree, sk_tree_free);
  g_clear_pointer (&self->mass, g_hash_table_unref);
  g_clear_pointer (&self->index, sk_index_close);
}

void
sk_session_close (SkSession *self)
{
  if (self == NULL)
    return;
  stop_flows (self);
  if (self->index_worker != NULL)
    {
      sk_worker_call (self->index_worker, close_index, self);
      sk_worker_stop (self->index_worker);
    }
  g_clear_pointer (&self->config, sk_config_unref);
  g_clear_pointer (&self->disk, sk_pool_free);
  g_clear_pointer (&self->cpu, sk_pool_free);
  g_clear_pointer (&self->store_pool, sk_pool_free);
  g_clear_pointer (&self->compressors, g_async_queue_unref);
  g_clear_pointer (&self->identity, sk_identity_unref);
  g_clear_pointer (&self->report, g_variant_unref);
  sk_key_clear (&self->id_key);
  sk_home_config_clear (&self->who);
  g_clear_pointer (&self->home, sk_home_close);
  g_clear_object (&self->stopping);
  g_hash_table_unref (self->open_issues);
  sk_issues_free (self->issues);
  sk_clock_unref (self->clock);
  g_clear_pointer (&self->attachments, sk_attachments_free);
  g_clear_pointer (&self->root_locks, g_hash_table_unref);
  g_clear_pointer (&self->heads, g_hash_table_unref);
  g_clear_pointer (&self->heads_read, g_hash_table_unref);
  g_clear_pointer (&self->offered, g_array_unref);
  g_clear_pointer (&self->live, sk_live_free);
  g_clear_pointer (&self->met, g_hash_table_unref);
  g_mutex_clear (&self->reloading);
  g_mutex_clear (&self->lock);
  g_free (self);
}

SkSession *
sk_session_open (const SkSessionOptions *options, GError **error)
{
  SkSession *self;
  g_autoptr(SkHome) home = NULL;

  if (!sk_crypto_init (error))
    return NULL;
  sk_memory_keep ();
  home = sk_home_open (options->home, error);
  if (home == NULL)
    return NULL;
  self = g_new0 (SkSession, 1);
  g_mutex_init (&self->lock);
  g_mutex_init (&self->reloading);
  self->attachments = sk_attachments_new ();
  self->met = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->offered = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  self->live = sk_live_new ();
  self->home = g_steal_pointer (&home);
  self->clock = options->clock != NULL ? sk_clock_ref (options->clock) : sk_clock_new_real ();
  self->watch = options->watch;
  self->stopping = g_cancellable_new ();
  self->open_issues = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->issues = sk_issues_new ();
  self->compressors = g_async_queue_new_full ((GDestroyNotify) sk_compressor_free);
  self->disk = sk_pool_new ("disk", 2);
  self->cpu = sk_pool_new ("cpu", CLAMP (g_get_num_processors (), 1, 8));
  self->store_pool = sk_pool_new ("store", 4);
  if (self->watch)
    self->reporter = sk_worker_new ("report");
  if (!sk_session_open_vault (self, options->passphrase, error))
    {
      sk_session_close (self);
      return NULL;
    }
  return self;
}
