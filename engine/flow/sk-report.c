/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-report.h"

#include "sk-issues.h"
#include "sk-live.h"

#include <string.h>
#include <unistd.h>

#define REPORT_ISSUES_MAX 1000u

typedef struct
{
  SkConfig *config;
  GPtrArray *folders, *storages, *issues;
  GArray *counts;                /* SkFolderCounts per folder */
  GHashTable *seen;              /* char* device id -> gint64: unix seconds of the newest head that was read */
  gint64 paused_until;
} Rows;

static void
read_seen (SkSession *session, Rows *rows)
{
  GPtrArray *devices = sk_members_devices (rows->config->members);

  rows->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; i < devices->len; i++)
    {
      const SkDevice *device = devices->pdata[i];
      g_autofree char *key = sk_pull_last_seen_key (&device->id);
      gint64 wall = (gint64) sk_index_get_u64 (session->index, key, 0);
      char hex[SK_DEVICE_ID_HEX_SIZE];

      sk_device_id_format (&device->id, hex);
      g_hash_table_insert (rows->seen, g_strdup (hex), g_memdup2 (&wall, sizeof wall));
    }
}

static gboolean
read_rows (SkSession *session, gpointer data, GError **error)
{
  Rows *rows = data;

  rows->folders = sk_index_folders (session->index);
  rows->storages = sk_index_storages (session->index);
  rows->issues = sk_issues_list (session, error);
  rows->paused_until = (gint64) MIN (sk_index_get_u64 (session->index, "paused-until", 0), (guint64) G_MAXINT64);
  rows->counts = g_array_new (FALSE, TRUE, sizeof (SkFolderCounts));
  read_seen (session, rows);
  for (guint i = 0; i < rows->folders->len; i++)
    {
      SkFolderCounts counts = { 0 };

      if (!sk_index_folder_counts (session->index, ((SkFolderRow *) rows->folders->pdata[i])->row, &counts, error))
        return FALSE;
      g_array_append_val (rows->counts, counts);
    }
  return rows->issues != NULL;
}

static void
rows_clear (Rows *rows)
{
  g_clear_pointer (&rows->config, sk_config_unref);
  g_clear_pointer (&rows->folders, g_ptr_array_unref);
  g_clear_pointer (&rows->storages, g_ptr_array_unref);
  g_clear_pointer (&rows->issues, g_ptr_array_unref);
  g_clear_pointer (&rows->counts, g_array_unref);
  g_clear_pointer (&rows->seen, g_hash_table_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rows, rows_clear)

static void
add_id (GVariantBuilder *builder, const SkId *id)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  g_variant_builder_add (builder, "{sv}", "id", g_variant_new_string (hex));
}

static void
add_string (GVariantBuilder *builder, const char *key, const char *value)
{
  g_variant_builder_add (builder, "{sv}", key, g_variant_new_string (value != NULL ? value : ""));
}

static void
add_number (GVariantBuilder *builder, const char *key, guint64 value)
{
  g_variant_builder_add (builder, "{sv}", key, g_variant_new_uint64 (value));
}

static guint
issues_of (Rows *rows, gint64 folder)
{
  guint n = 0;

  for (guint i = 0; i < rows->issues->len; i++)
    n += ((SkIssueRow *) rows->issues->pdata[i])->folder == folder;
  return n;
}

static const char *
folder_state (SkSession *session, Rows *rows, const SkFolderRow *row, const SkFolderCounts *counts, const SkLiveFolder *live, const char **message)
{
  SkFlowFolder *flow = rows->config != NULL ? sk_config_folder (rows->config, row->row) : NULL;

  *message = "";
  if (row->path == NULL)
    return "detached";
  if (flow == NULL || flow->root == NULL)
    {
      *message = flow != NULL ? flow->why : "";
      return "unavailable";
    }
  if (g_atomic_int_get (&session->paused))
    return "paused";
  if (issues_of (rows, row->row) > 0)
    return "needs-you";
  /* What happened while no engine ran is not known before the first pass has ended. */
  if (row->first_contact || (session->watch && live->last_scan == 0))
    return "scanning";
  if (counts->dirty_nodes > 0 || live->queued > 0)
    return "syncing";
  return "up-to-date";
}

static GVariant *
folder_names (Rows *rows, const SkFolderRow *row)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("as"));
  for (guint i = 0; i < rows->storages->len; i++)
    {
      SkStorageRow *storage = rows->storages->pdata[i];
      gboolean placed = row->storages == NULL || row->storages->len == 0;

      for (guint k = 0; !placed && k < row->storages->len; k++)
        placed = sk_id_equal (&g_array_index (row->storages, SkId, k), &storage->id);
      if (placed && !storage->deleted)
        g_variant_builder_add (&builder, "s", storage->name);
    }
  return g_variant_builder_end (&builder);
}

static const char *const mode_names[] = { "both", "send", "receive" };

static GVariant *
folder_dict (SkSession *session, Rows *rows, guint i)
{
  SkFolderRow *row = rows->folders->pdata[i];
  SkFolderCounts *counts = &g_array_index (rows->counts, SkFolderCounts, i);
  GVariantBuilder builder;
  const char *message, *state;
  SkLiveFolder live;

  sk_live_folder (session->live, row->row, sk_clock_now (session->clock), &live);
  state = folder_state (session, rows, row, counts, &live, &message);

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_id (&builder, &row->id);
  add_string (&builder, "name", row->name);
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (row->path != NULL ? row->path : ""));
  add_string (&builder, "mode", mode_names[row->mode]);
  add_string (&builder, "state", state);
  add_string (&builder, "message", message);
  add_number (&builder, "files", (guint64) counts->files);
  add_number (&builder, "dirs", (guint64) counts->dirs);
  add_number (&builder, "bytes", counts->bytes);
  add_number (&builder, "dirty-files", (guint64) counts->dirty_nodes);
  add_number (&builder, "dirty-bytes", counts->dirty_bytes);
  add_number (&builder, "up-queue", live.queued);
  add_number (&builder, "up-bytes", live.queued_bytes);
  add_number (&builder, "down-rate", live.down_rate);
  add_number (&builder, "up-rate", live.up_rate);
  g_variant_builder_add (&builder, "{sv}", "storages", folder_names (rows, row));
  g_variant_builder_add (&builder, "{sv}", "issues", g_variant_new_uint32 (issues_of (rows, row->row)));
  g_variant_builder_add (&builder, "{sv}", "last-scan", g_variant_new_int64 (live.last_scan));
  return g_variant_builder_end (&builder);
}

static const char *
storage_trouble (Rows *rows, const char *what, gint64 row)
{
  g_autofree char *key = g_strdup_printf ("%s:%" G_GINT64_FORMAT, what, row);

  for (guint i = 0; i < rows->issues->len; i++)
    if (g_str_equal (((SkIssueRow *) rows->issues->pdata[i])->key, key))
      return ((SkIssueRow *) rows->issues->pdata[i])->text;
  return NULL;
}

static GVariant *
storage_dict (SkSession *session, Rows *rows, const SkStorageRow *row)
{
  SkFlowStorage *flow = rows->config != NULL ? sk_config_storage (rows->config, row->row) : NULL;
  const char *away = storage_trouble (rows, "storage", row->row);
  const char *behind = storage_trouble (rows, "storage-put", row->row);
  SkStoreCounters counters = { 0 };
  SkLiveStorage live;
  GVariantBuilder builder;

  sk_live_storage (session->live, row->row, sk_clock_now (session->clock), &live);
  if (flow != NULL)
    sk_store_counters (flow->store, &counters);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_id (&builder, &row->id);
  add_string (&builder, "name", row->name);
  add_string (&builder, "uri", row->uri);
  add_string (&builder, "state", row->uri == NULL ? "detached" : away != NULL ? "offline" : behind != NULL ? "behind" : "online");
  add_string (&builder, "message", away != NULL ? away : behind);
  add_number (&builder, "puts", counters.puts);
  add_number (&builder, "gets", counters.gets);
  add_number (&builder, "lists", counters.lists);
  add_number (&builder, "removes", counters.removes);
  add_number (&builder, "errors", counters.errors);
  add_number (&builder, "bytes-up", counters.bytes_up);
  add_number (&builder, "bytes-down", counters.bytes_down);
  add_number (&builder, "up-queue", live.queued_bytes);
  add_number (&builder, "up-rate", live.up_rate);
  add_number (&builder, "down-rate", live.down_rate);
  g_variant_builder_add (&builder, "{sv}", "last-seen", g_variant_new_int64 (live.last_seen));
  return g_variant_builder_end (&builder);
}

static GVariant *
device_dict (SkSession *session, Rows *rows, const SkDevice *device)
{
  SkMembers *members = rows->config->members;
  char hex[SK_DEVICE_ID_HEX_SIZE];
  gboolean is_self = sk_device_id_equal (&device->id, &session->who.device);
  const SkDevice *sponsor = sk_members_find (members, &device->added_by);
  const gint64 *seen;
  GVariantBuilder builder;

  sk_device_id_format (&device->id, hex);
  seen = g_hash_table_lookup (rows->seen, hex);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_string (&builder, "id", hex);
  add_string (&builder, "name", device->name);
  g_variant_builder_add (&builder, "{sv}", "self", g_variant_new_boolean (is_self));
  add_string (&builder, "state", device->revoked ? "revoked" : is_self ? "this" : "away");
  add_string (&builder, "via", is_self ? "" : "storage");
  g_variant_builder_add (&builder, "{sv}", "last-seen", g_variant_new_int64 (is_self ? sk_session_wall (session) : seen != NULL ? *seen : 0));
  g_variant_builder_add (&builder, "{sv}", "added", g_variant_new_int64 (device->added));
  add_string (&builder, "added-by", sponsor != NULL ? sponsor->name : "recovery phrase");
  add_number (&builder, "up-rate", 0);
  add_number (&builder, "down-rate", 0);
  return g_variant_builder_end (&builder);
}

static const char *
folder_name (Rows *rows, gint64 folder)
{
  for (guint i = 0; i < rows->folders->len; i++)
    if (((SkFolderRow *) rows->folders->pdata[i])->row == folder)
      return ((SkFolderRow *) rows->folders->pdata[i])->name;
  return "";
}

static GVariant *
issue_choices (const char *kind)
{
  static const char *const mass[] = { "accept", "refuse", NULL };
  static const char *const again[] = { "retry", NULL };
  static const char *const missing[] = { "accept", "retry", NULL };

  if (g_str_equal (kind, "folder-missing") || g_str_equal (kind, "folder-copy"))
    return g_variant_new_strv (missing, -1);
  return g_variant_new_strv (g_str_equal (kind, "mass-change") || g_str_equal (kind, "newcomer") || g_str_equal (kind, "local-changes") ? mass : again, -1);
}

static GVariant *
issue_dict (Rows *rows, const SkIssueRow *row)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_number (&builder, "id", (guint64) row->row);
  add_string (&builder, "kind", row->kind);
  add_string (&builder, "folder", folder_name (rows, row->folder));
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (row->path != NULL ? row->path : ""));
  add_string (&builder, "text", row->text);
  g_variant_builder_add (&builder, "{sv}", "since", g_variant_new_int64 (row->since));
  g_variant_builder_add (&builder, "{sv}", "choices", issue_choices (row->kind));
  return g_variant_builder_end (&builder);
}

static GVariant *
folder_list (SkSession *session, Rows *rows, guint *n_live, guint64 *left_files, guint64 *left_bytes)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < rows->folders->len; i++)
    {
      SkFolderRow *row = rows->folders->pdata[i];
      SkFolderCounts *counts = &g_array_index (rows->counts, SkFolderCounts, i);

      if (row->deleted || (row->lamport == 0 && *row->name == '\0'))
        continue;
      (*n_live)++;
      if (row->path != NULL)
        {
          *left_files += (guint64) counts->dirty_nodes;
          *left_bytes += counts->dirty_bytes;
        }
      g_variant_builder_add_value (&builder, folder_dict (session, rows, i));
    }
  return g_variant_builder_end (&builder);
}

static gboolean
is_scanning (SkSession *session, Rows *rows)
{
  gboolean scanning = FALSE;

  for (guint i = 0; i < rows->folders->len && session->watch && !scanning; i++)
    {
      const SkFolderRow *row = rows->folders->pdata[i];
      SkLiveFolder live;

      sk_live_folder (session->live, row->row, sk_clock_now (session->clock), &live);
      scanning = row->path != NULL && !row->deleted && (row->first_contact || live.last_scan == 0);
    }
  return scanning;
}

static const char *
overall_state (SkSession *session, Rows *rows, guint64 left_files, const SkLiveFolder *live, const char **message)
{
  guint attached = 0, offline = 0;

  *message = "";
  if (g_atomic_int_get (&session->paused))
    return "paused";
  for (guint i = 0; i < rows->storages->len; i++)
    {
      SkStorageRow *row = rows->storages->pdata[i];

      if (row->deleted || row->uri == NULL)
        continue;
      attached++;
      if (storage_trouble (rows, "storage", row->row) != NULL)
        offline++;
    }
  if (attached > 0 && offline == attached)
    {
      *message = "No storage can be reached.";
      return "offline";
    }
  if (rows->issues->len > 0)
    {
      *message = ((SkIssueRow *) rows->issues->pdata[0])->text;
      return "needs-you";
    }
  if (left_files > 0 || live->queued > 0 || is_scanning (session, rows))
    return "syncing";
  return "up-to-date";
}

static GVariant *
vault_dict (SkSession *session)
{
  g_autofree char *warning = sk_home_keep_warning (session->home, session->keep);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  add_id (&builder, &session->who.vault);
  add_string (&builder, "name", session->who.vault_name);
  add_string (&builder, "keys", sk_keep_name (session->keep));
  add_string (&builder, "warning", warning);
  return g_variant_builder_end (&builder);
}

static void
add_lists (SkSession *session, Rows *rows, GVariantBuilder *builder)
{
  GVariantBuilder list;
  GPtrArray *devices = sk_members_devices (rows->config->members);

  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < rows->storages->len; i++)
    if (!((SkStorageRow *) rows->storages->pdata[i])->deleted)
      g_variant_builder_add_value (&list, storage_dict (session, rows, rows->storages->pdata[i]));
  g_variant_builder_add (builder, "{sv}", "storages", g_variant_builder_end (&list));
  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < devices->len; i++)
    g_variant_builder_add_value (&list, device_dict (session, rows, devices->pdata[i]));
  g_variant_builder_add (builder, "{sv}", "devices", g_variant_builder_end (&list));
  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < rows->issues->len && i < REPORT_ISSUES_MAX; i++)
    g_variant_builder_add_value (&list, issue_dict (rows, rows->issues->pdata[i]));
  g_variant_builder_add (builder, "{sv}", "issues", g_variant_builder_end (&list));
  g_variant_builder_add (builder, "{sv}", "n-issues", g_variant_new_uint32 (rows->issues->len));
  g_variant_builder_add (builder, "{sv}", "attention", g_variant_new_boolean (rows->issues->len > 0));
}

/* The slower of the two ways; 0: nothing moves, so nobody knows. */
static guint64
seconds_left (guint64 down, guint64 up, const SkLiveFolder *live)
{
  guint64 down_seconds = live->down_rate > 0 ? down / live->down_rate + 1 : 0, up_seconds = live->up_rate > 0 ? up / live->up_rate + 1 : 0;

  if ((down > 0 && live->down_rate == 0) || (up > 0 && live->up_rate == 0) || down + up == 0)
    return 0;
  return MAX (down > 0 ? down_seconds : 0, up > 0 ? up_seconds : 0);
}

static GVariant *
build (SkSession *session)
{
  g_auto(Rows) rows = { NULL };
  GVariantBuilder builder, device;
  guint n_folders = 0;
  guint64 left_files = 0, left_bytes = 0;
  const char *message = "";
  g_autoptr(GVariant) folders = NULL;
  char hex[SK_DEVICE_ID_HEX_SIZE];
  SkLiveFolder live;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "running", g_variant_new_boolean (session->watch));
  g_variant_builder_add (&builder, "{sv}", "pid", g_variant_new_uint32 ((guint32) getpid ()));
  if (g_atomic_int_get (&session->is_open))
    rows.config = sk_session_config (session);
  if (rows.config == NULL || !sk_session_index (session, read_rows, &rows, NULL))
    {
      add_string (&builder, "state", session->has_vault ? "syncing" : "no-vault");
      add_string (&builder, "message", session->has_vault ? "" : "There is no vault in this home yet.");
      return g_variant_builder_end (&builder);
    }
  sk_live_folder (session->live, 0, sk_clock_now (session->clock), &live);
  folders = g_variant_ref_sink (folder_list (session, &rows, &n_folders, &left_files, &left_bytes));
  add_string (&builder, "state", overall_state (session, &rows, left_files, &live, &message));
  add_string (&builder, "message", message);
  g_variant_builder_add (&builder, "{sv}", "paused-until", g_variant_new_int64 (g_atomic_int_get (&session->paused) && rows.paused_until != G_MAXINT64 ? rows.paused_until : 0));
  g_variant_builder_add (&builder, "{sv}", "vault", vault_dict (session));
  sk_device_id_format (&session->who.device, hex);
  g_variant_builder_init (&device, G_VARIANT_TYPE_VARDICT);
  add_string (&device, "id", hex);
  add_string (&device, "name", session->who.device_name);
  g_variant_builder_add (&builder, "{sv}", "device", g_variant_builder_end (&device));
  g_variant_builder_add (&builder, "{sv}", "folders", folders);
  add_lists (session, &rows, &builder);
  g_variant_builder_init (&device, G_VARIANT_TYPE_VARDICT);
  add_number (&device, "up", live.up_rate);
  add_number (&device, "down", live.down_rate);
  g_variant_builder_add (&builder, "{sv}", "rates", g_variant_builder_end (&device));
  g_mutex_lock (&session->lock);
  add_number (&builder, "looked", session->counters.looked);
  g_mutex_unlock (&session->lock);
  g_variant_builder_init (&device, G_VARIANT_TYPE_VARDICT);
  add_number (&device, "files", left_files + live.queued);
  add_number (&device, "bytes", left_bytes + live.queued_bytes);
  add_number (&device, "seconds", seconds_left (left_bytes, live.queued_bytes, &live));
  g_variant_builder_add (&builder, "{sv}", "left", g_variant_builder_end (&device));
  return g_variant_builder_end (&builder);
}

void
sk_report_build (SkSession *session)
{
  GVariant *fresh = g_variant_ref_sink (build (session));
  GVariant *old;

  g_mutex_lock (&session->lock);
  old = session->report;
  session->report = fresh;
  g_mutex_unlock (&session->lock);
  g_clear_pointer (&old, g_variant_unref);
  if (session->report_func != NULL)
    session->report_func (session->report_data);
}

GVariant *
sk_session_report (SkSession *self)
{
  GVariant *report;

  g_mutex_lock (&self->lock);
  report = self->report != NULL ? g_variant_ref (self->report) : NULL;
  g_mutex_unlock (&self->lock);
  return report != NULL ? report : g_variant_ref_sink (g_variant_new ("a{sv}", NULL));
}

void
sk_session_set_report_func (SkSession *self, SkReportFunc func, gpointer user_data)
{
  self->report_data = user_data;
  self->report_func = func;
}

GVariant *
sk_report_part (SkSession *session, const char *name, GError **error)
{
  g_autoptr(GVariant) report = NULL;
  g_autoptr(GVariant) list = NULL;
  GVariantBuilder builder;

  sk_report_build (session);
  report = sk_session_report (session);
  list = g_variant_lookup_value (report, name, NULL);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  if (list != NULL)
    g_variant_builder_add (&builder, "{sv}", name, list);
  return g_variant_builder_end (&builder);
}

GVariant *
sk_report_one (SkSession *session, const char *name, const SkId *id, GError **error)
{
  g_autoptr(GVariant) part = g_variant_ref_sink (sk_report_part (session, name, error));
  g_autoptr(GVariant) list = g_variant_lookup_value (part, name, NULL);
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  for (gsize i = 0; list != NULL && i < g_variant_n_children (list); i++)
    {
      g_autoptr(GVariant) dict = g_variant_get_child_value (list, i);
      const char *at;

      if (g_variant_lookup (dict, "id", "&s", &at) && g_str_equal (at, hex))
        return g_variant_ref (dict);
    }
  sk_fail (error, SK_ERROR_NOT_FOUND, "there is no such thing in the report");
  return NULL;
}

static gboolean
take_lamport (SkSession *session, gpointer data, GError **error)
{
  *(guint64 *) data = sk_tree_lamport (session->tree) + 1;
  return TRUE;
}

guint64
sk_report_next_lamport (SkSession *session)
{
  guint64 lamport = 1;

  (void) sk_session_index (session, take_lamport, &lamport, NULL);
  return lamport;
}
