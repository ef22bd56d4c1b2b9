/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sk-command.h"
#include "sk-issues.h"
#include "sk-progress.h"
#include "sk-report.h"

/* Up writes what down must know and down meets changes that up must take first; two devices at rest need one round. */
#define SYNC_ROUNDS_MAX 8u
/* Of what failed so many are listed, and how many more there are. */
#define SYNC_FAILED_MAX 1000u

static gboolean
folder_rows (SkCommand *self, GArray *rows, GError **error)
{
  g_autofree const char **names = sk_args_list (self->args, "folders");

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autoptr(SkFolderRow) row = sk_command_folder (self, names[i], error);

      if (row == NULL)
        return FALSE;
      if (row->path == NULL)
        return sk_fail (error, SK_ERROR_NOT_FOUND, "“%s” is not attached here: 'skerryctl folder attach %s PATH'", row->name, row->name);
      g_array_append_val (rows, row->row);
    }
  return TRUE;
}

static GVariant *
chunk_counts (const SkDownResult *down)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "needed", g_variant_new_uint64 (down->local + down->peer + down->storage));
  g_variant_builder_add (&builder, "{sv}", "local", g_variant_new_uint64 (down->local));
  g_variant_builder_add (&builder, "{sv}", "peer", g_variant_new_uint64 (down->peer));
  g_variant_builder_add (&builder, "{sv}", "storage", g_variant_new_uint64 (down->storage));
  return g_variant_builder_end (&builder);
}

static GVariant *
source_list (SkCommand *self, const SkDownResult *down)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  GVariantBuilder list;

  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < down->sources->len; i++)
    {
      const SkDownSource *source = &g_array_index (down->sources, SkDownSource, i);
      SkFlowStorage *storage = sk_config_storage (config, source->storage);
      GVariantBuilder builder;

      g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
      g_variant_builder_add (&builder, "{sv}", "kind", g_variant_new_string ("storage"));
      g_variant_builder_add (&builder, "{sv}", "name", g_variant_new_string (storage != NULL ? storage->name : ""));
      g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_string (""));
      g_variant_builder_add (&builder, "{sv}", "chunks", g_variant_new_uint64 (source->chunks));
      g_variant_builder_add (&builder, "{sv}", "wire_bytes", g_variant_new_uint64 (source->wire_bytes));
      g_variant_builder_add (&builder, "{sv}", "requests", g_variant_new_uint64 (source->requests));
      g_variant_builder_add_value (&list, g_variant_builder_end (&builder));
    }
  return g_variant_builder_end (&list);
}

static void
add_failed (GVariantBuilder *list, const char *path, const char *why)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (path));
  g_variant_builder_add (&builder, "{sv}", "why", g_variant_new_string (why));
  g_variant_builder_add (&builder, "{sv}", "folder", g_variant_new_string (""));
  g_variant_builder_add_value (list, g_variant_builder_end (&builder));
}

typedef struct
{
  SkDownResult down;
  GPtrArray *up_failed;          /* char*: of the last pass */
  guint64 sent_files, sent_bytes, scanned;
  SkCounters before;
} Sync;

static guint
n_failed (const Sync *sync)
{
  return sync->down.failed->len + (sync->up_failed != NULL ? sync->up_failed->len : 0);
}

static GVariant *
failed_list (const Sync *sync)
{
  guint n = n_failed (sync);
  GVariantBuilder list;

  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < sync->down.failed->len && i < SYNC_FAILED_MAX; i++)
    {
      const SkDownFailure *failure = sync->down.failed->pdata[i];

      add_failed (&list, failure->path, failure->why);
    }
  for (guint i = 0; sync->up_failed != NULL && i < sync->up_failed->len && sync->down.failed->len + i < SYNC_FAILED_MAX; i++)
    {
      g_autofree char *text = g_strdup (sync->up_failed->pdata[i]);
      char *colon = strstr (text, ": ");

      if (colon != NULL)
        *colon = '\0';
      add_failed (&list, text, colon != NULL ? colon + 2 : text);
    }
  if (n > SYNC_FAILED_MAX)
    {
      g_autofree char *more = g_strdup_printf ("%u more failed", n - SYNC_FAILED_MAX);

      add_failed (&list, "", more);
    }
  return g_variant_builder_end (&list);
}

static GVariant *
sent_counts (SkCommand *self, const Sync *sync)
{
  SkCounters now;
  GVariantBuilder builder;

  g_mutex_lock (&self->session->lock);
  now = self->session->counters;
  g_mutex_unlock (&self->session->lock);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "files", g_variant_new_uint64 (sync->sent_files));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (sync->sent_bytes));
  g_variant_builder_add (&builder, "{sv}", "chunks", g_variant_new_uint64 (now.chunks_new - sync->before.chunks_new));
  g_variant_builder_add (&builder, "{sv}", "packs", g_variant_new_uint64 (now.packs_up - sync->before.packs_up));
  g_variant_builder_add (&builder, "{sv}", "wire_bytes", g_variant_new_uint64 (now.wire_up - sync->before.wire_up));
  g_variant_builder_add (&builder, "{sv}", "requests", g_variant_new_uint64 (now.packs_up - sync->before.packs_up));
  return g_variant_builder_end (&builder);
}

/* Whether a further round would find nothing to do, as far as this program knows. What only went up, or only came down to where nothing was,
 * is not looked at again for its own sake: that would be a second scan of everything. @files, @placed: in this round. */
static gboolean
is_level (const SkUpResult *up, const SkDownResult *down, guint64 files, guint64 placed, gboolean last)
{
  if (files == 0 && up->entries == 0)
    return down->dirty_left == 0 || last;
  return (placed == 0 || up->entries == 0) && !up->again && !down->again && down->failed->len == 0 && down->dirty_left == 0;
}

static gboolean
run_rounds (SkCommand *self, const gint64 *rows, guint n, Sync *sync, GError **error)
{
  g_autoptr(SkProgress) progress = sk_progress_new (self, rows, n);

  for (guint round = 0; round < SYNC_ROUNDS_MAX; round++)
    {
      SkUpResult up;
      guint64 files = sync->down.files, placed = sync->down.placed;

      sk_progress_turn (progress, FALSE);
      if (!sk_up_sync (self->session->up, rows, n, &up, self->cancellable, error))
        return FALSE;
      g_clear_pointer (&sync->up_failed, g_ptr_array_unref);
      sync->up_failed = g_steal_pointer (&up.failed);
      sync->sent_files += up.files;
      sync->sent_bytes += up.bytes;
      sync->scanned += up.scanned;
      sk_progress_turn (progress, TRUE);
      /* Failures of an earlier round that this one mends are no failures. */
      g_ptr_array_set_size (sync->down.failed, 0);
      sync->down.again = FALSE;
      if (!sk_down_sync (self->session->down, rows, n, &sync->down, self->cancellable, error))
        return FALSE;
      if (is_level (&up, &sync->down, sync->down.files - files, sync->down.placed - placed, round > 2))
        return TRUE;
    }
  return TRUE;
}

typedef struct
{
  const GArray *rows;            /* gint64: of the folders that are asked about, none for all */
  gboolean open;
} IssueCall;

/* Index thread. What stands there without a failure in this pass: a device node, say, or a question. */
static gboolean
look_for_issues (SkSession *session, gpointer data, GError **error)
{
  IssueCall *call = data;
  g_autoptr(GPtrArray) issues = sk_issues_list (session, error);

  if (issues == NULL)
    return FALSE;
  for (guint i = 0; i < issues->len && !call->open; i++)
    {
      const SkIssueRow *row = issues->pdata[i];
      gint64 folder = row->folder;

      /* A home that takes nothing concerns every folder. */
      call->open = (call->rows->len == 0 && folder != 0) || g_str_equal (row->kind, "home");
      for (guint k = 0; k < call->rows->len && !call->open; k++)
        call->open = folder == g_array_index (call->rows, gint64, k);
    }
  return TRUE;
}

GVariant *
sk_cmd_sync (SkCommand *self, GError **error)
{
  g_autoptr(GArray) rows = g_array_new (FALSE, FALSE, sizeof (gint64));
  Sync sync = { .up_failed = NULL };
  GVariantBuilder builder;
  IssueCall issues = { .rows = rows };
  gboolean ok, attention;
  gint64 begin = g_get_monotonic_time ();

  if (!folder_rows (self, rows, error) || !sk_command_reload (self, error))
    return NULL;
  g_mutex_lock (&self->session->lock);
  sync.before = self->session->counters;
  g_mutex_unlock (&self->session->lock);
  sk_down_result_init (&sync.down);
  /* First of all what the others wrote: then a first contact recognises what it has (A6), and the own head is compared (A5). */
  sk_command_progress (self, "Reading what the others wrote", 0, 0, 0, 0);
  ok = sk_down_pull (self->session->down, self->cancellable, error)
       && run_rounds (self, (const gint64 *) (gpointer) rows->data, rows->len, &sync, error)
       && sk_session_index (self->session, look_for_issues, &issues, error);
  if (!ok)
    {
      g_clear_pointer (&sync.up_failed, g_ptr_array_unref);
      sk_down_result_clear (&sync.down);
      return NULL;
    }
  attention = issues.open || n_failed (&sync) > 0;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "seconds", g_variant_new_double ((double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC));
  g_variant_builder_add (&builder, "{sv}", "files", g_variant_new_uint64 (sync.down.files));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (sync.down.bytes));
  g_variant_builder_add (&builder, "{sv}", "chunks", chunk_counts (&sync.down));
  g_variant_builder_add (&builder, "{sv}", "sources", source_list (self, &sync.down));
  g_variant_builder_add (&builder, "{sv}", "failed", failed_list (&sync));
  g_variant_builder_add (&builder, "{sv}", "n-failed", g_variant_new_uint64 (n_failed (&sync)));
  g_variant_builder_add (&builder, "{sv}", "sent", sent_counts (self, &sync));
  g_variant_builder_add (&builder, "{sv}", "scanned", g_variant_new_uint64 (sync.scanned));
  g_variant_builder_add (&builder, "{sv}", "attention", g_variant_new_boolean (attention));
  g_clear_pointer (&sync.up_failed, g_ptr_array_unref);
  sk_down_result_clear (&sync.down);
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_status (SkCommand *self, GError **error)
{
  g_autoptr(GVariant) report = NULL;

  report = self->session->watch ? sk_session_report (self->session) : NULL;
  if (report == NULL || g_variant_n_children (report) == 0)
    {
      /* No engine runs, or it has only just begun. */
      sk_report_build (self->session);
      g_clear_pointer (&report, g_variant_unref);
      report = sk_session_report (self->session);
    }
  return g_variant_ref (report);
}

typedef struct { gint64 until; } PauseCall;

static gboolean
store_pause (SkSession *session, gpointer data, GError **error)
{
  return sk_index_set_u64 (session->index, "paused-until", (guint64) ((PauseCall *) data)->until, error);
}

/* Also kept over a restart: a person who paused does not expect a reboot to undo it. */
GVariant *
sk_cmd_pause (SkCommand *self, GError **error)
{
  guint64 seconds = sk_args_number (self->args, "seconds");
  PauseCall call = { .until = seconds > 0 ? sk_session_wall (self->session) + (gint64) seconds : G_MAXINT64 };
  GVariantBuilder builder;

  if (!sk_session_transact (self->session, store_pause, &call, error))
    return NULL;
  g_atomic_int_set (&self->session->paused, 1);
  sk_down_pause (self->session->down);
  sk_session_touch_report (self->session);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "until", g_variant_new_int64 (seconds > 0 ? call.until : 0));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_resume (SkCommand *self, GError **error)
{
  PauseCall call = { .until = 0 };

  if (!sk_session_transact (self->session, store_pause, &call, error))
    return NULL;
  sk_session_check_pause (self->session);
  return g_variant_new ("a{sv}", NULL);
}
