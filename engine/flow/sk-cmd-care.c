/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking after a vault: checking, mending, garbage. */
#include <string.h>

#include "sk-care.h"
#include "sk-command.h"
#include "sk-gc.h"
#include "sk-mend.h"
#include "sk-progress.h"
#include "sk-rollback.h"

#define PROGRESS_US (100 * 1000)

typedef struct
{
  SkCommand *command;
  GVariantBuilder list;
  guint64 checked;
  gint64 told_at;                /* monotonic µs: the last report of progress */
  gboolean left, repair;
} Check;

static void
add_problem (Check *check, const char *kind, const char *path, const char *text, gboolean repaired)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "kind", g_variant_new_string (kind));
  g_variant_builder_add (&builder, "{sv}", "folder", g_variant_new_string (""));
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (path));
  g_variant_builder_add (&builder, "{sv}", "text", g_variant_new_string (text));
  g_variant_builder_add (&builder, "{sv}", "repaired", g_variant_new_boolean (repaired));
  g_variant_builder_add_value (&check->list, g_variant_builder_end (&builder));
  check->left |= !repaired;
}

/* Index thread. */
static gboolean
on_step (guint done, guint total, gpointer user_data)
{
  Check *check = user_data;
  gint64 now = g_get_monotonic_time ();

  if (now - check->told_at >= PROGRESS_US)
    {
      check->told_at = now;
      sk_command_progress (check->command, "Checking the database", done, total, 0, 0);
    }
  return !g_cancellable_is_cancelled (check->command->cancellable);
}

/* Index thread: the database itself. */
static gboolean
check_database (SkSession *session, gpointer data, GError **error)
{
  Check *check = data;
  g_autoptr(GPtrArray) problems = sk_index_check (session->index, on_step, check, error);

  if (problems == NULL)
    return FALSE;
  for (guint i = 0; i < problems->len; i++)
    add_problem (check, "database", "", problems->pdata[i], FALSE);
  check->checked++;
  return TRUE;
}

/* Index thread: the own log is a valid chain of signed segments. */
static gboolean
check_log (SkSession *session, gpointer data, GError **error)
{
  Check *check = data;
  g_autoptr(SkConfig) config = sk_session_config (session);
  SkPosition end;
  SkHash prev = { 0 };

  if (!sk_index_position (session->index, &session->who.writer, &end))
    return TRUE;
  for (guint64 seq = 1; seq <= end.seq; seq++)
    {
      SkHash hash, found;
      SkSegmentHeader header;
      g_autoptr(GBytes) object = sk_index_segment_bytes (session->index, &session->who.writer, seq, &hash);
      g_autofree char *text = NULL;

      check->checked++;
      if (g_cancellable_set_error_if_cancelled (check->command->cancellable, error))
        return FALSE;
      if (object == NULL)
        {
          text = g_strdup_printf ("segment %" G_GUINT64_FORMAT " of the own log is missing", seq);
          add_problem (check, "log", "", text, FALSE);
          return TRUE;
        }
      sk_sha256 (g_bytes_get_data (object, NULL), g_bytes_get_size (object), &found);
      if (!sk_hash_equal (&found, &hash) || !sk_segment_peek (object, &header, NULL) || header.seq != seq || !sk_hash_equal (&header.prev, &prev))
        {
          text = g_strdup_printf ("segment %" G_GUINT64_FORMAT " of the own log is damaged or does not continue the chain", seq);
          add_problem (check, "log", "", text, FALSE);
          return TRUE;
        }
      prev = hash;
    }
  if (!sk_hash_equal (&prev, &end.hash))
    add_problem (check, "log", "", "the own log ends elsewhere than the database says", FALSE);
  return TRUE;
}

typedef struct
{
  Check *check;
  SkFlowStorage *storage;
  GHashTable *there;             /* name -> size */
  guint missing;
} PackCall;

/* What a storage has for this pack is not what was put there: it counts no more, here and, by the log, on the other devices. */
static gboolean
give_up (SkSession *session, const SkFlowStorage *storage, const SkHash *name, GPtrArray *records, GError **error)
{
  g_ptr_array_add (records, sk_record_new_pack_ref (SK_RECORD_PACK_DROP, &storage->id, name));
  return sk_index_pack_set_state (session->index, storage->row, name, SK_PACK_GONE, &session->who.writer, sk_session_wall (session), error);
}

/* Index thread, in a transaction: packs the log names and the storage does not have (A4: a LIST corrects the table). */
static gboolean
compare_packs (SkSession *session, gpointer data, GError **error)
{
  PackCall *call = data;
  g_autoptr(GArray) packs = sk_index_packs (session->index, call->storage->row, error);

  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);

  if (packs == NULL)
    return FALSE;
  for (guint i = 0; i < packs->len; i++)
    {
      SkPackInfo *pack = &g_array_index (packs, SkPackInfo, i);
      g_autofree char *name = sk_pack_object_name (&pack->name);
      guint64 *size = g_hash_table_lookup (call->there, name);
      g_autofree char *text = NULL;

      call->check->checked++;
      if (pack->state != SK_PACK_LIVE || (size != NULL && *size == pack->size))
        continue;
      call->missing++;
      text = g_strdup_printf ("storage “%s”: %s is %s", call->storage->name, name, size == NULL ? "missing" : "not as long as it should be");
      if (call->check->repair && !give_up (session, call->storage, &pack->name, records, error))
        return FALSE;
      add_problem (call->check, "pack", "", text, call->check->repair);
    }
  return sk_log_append (session, records, error);
}

static void
on_object_bad (const SkFlowStorage *storage, const char *name, const char *why, gboolean mended, gpointer user_data)
{
  Check *check = user_data;
  g_autofree char *text = g_strdup_printf ("storage “%s”: %s: %s", storage->name, name, why);

  add_problem (check, g_str_has_prefix (name, "log/") ? "log" : g_str_has_prefix (name, "snap/") ? "snapshot" : "keys", "", text, mended);
}

/* Packs, and what is beside them. */
static gboolean
check_objects (SkCommand *self, Check *check, SkFlowStorage *storage, PackCall *call, GError **error)
{
  SkMendCount count = { 0 };
  gboolean ok = sk_session_transact (self->session, compare_packs, call, error)
                && sk_mend_storage (self->session, storage, check->repair ? SK_MEND_PUT : 0, on_object_bad, check, &count, self->cancellable, error);

  check->checked += count.objects;
  return ok;
}

static gboolean
check_storage (SkCommand *self, Check *check, SkFlowStorage *storage, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GPtrArray) items = sk_store_list_sync (storage->store, "packs/", self->cancellable, &local);
  g_autoptr(GHashTable) there = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, NULL);
  PackCall call = { .check = check, .storage = storage, .there = there };

  if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
    return FALSE;
  if (items == NULL)
    {
      g_autofree char *text = g_strdup_printf ("storage “%s”: %s", storage->name, local->message);

      add_problem (check, "storage", "", text, FALSE);
      return TRUE;
    }
  for (guint i = 0; i < items->len; i++)
    g_hash_table_insert (there, ((SkStoreItem *) items->pdata[i])->name, &((SkStoreItem *) items->pdata[i])->size);
  return check_objects (self, check, storage, &call, error);
}

static gboolean
mend_folders (SkCommand *self, GError **error)
{
  SkUpResult result;
  g_autoptr(SkProgress) progress = sk_progress_new (self, NULL, 0);

  if (!sk_rollback_mark_files (self->session, self->cancellable, error)
      || !sk_up_sync (self->session->up, NULL, 0, &result, self->cancellable, error))
    return FALSE;
  sk_up_result_clear (&result);
  return TRUE;
}

GVariant *
sk_cmd_fsck (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  Check check = { .command = self, .repair = sk_args_bool (self->args, "repair") };
  gint64 begin = g_get_monotonic_time ();
  GVariantBuilder builder;
  gboolean ok;

  g_variant_builder_init (&check.list, G_VARIANT_TYPE ("aa{sv}"));
  ok = sk_session_index (self->session, check_database, &check, error) && sk_session_index (self->session, check_log, &check, error);
  for (guint i = 0; ok && i < config->storages->len; i++)
    {
      sk_command_progress (self, "Checking the storages", i, config->storages->len, 0, 0);
      ok = check_storage (self, &check, config->storages->pdata[i], error);
    }
  if (ok && check.repair)
    ok = sk_down_pull (self->session->down, self->cancellable, error) && mend_folders (self, error);
  if (!ok)
    {
      g_variant_builder_clear (&check.list);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "problems", g_variant_builder_end (&check.list));
  g_variant_builder_add (&builder, "{sv}", "checked", g_variant_new_uint64 (check.checked));
  g_variant_builder_add (&builder, "{sv}", "seconds", g_variant_new_double ((double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC));
  g_variant_builder_add (&builder, "{sv}", "attention", g_variant_new_boolean (check.left));
  return g_variant_builder_end (&builder);
}

/* --- reading a storage back --- */

typedef struct
{
  SkCommand *command;
  SkFlowStorage *storage;
  GArray *packs;                 /* SkPackInfo */
  const SkPackInfo *bad_pack;
  GVariantBuilder bad;
  SkMendCount count;
  guint64 n_bad, n_mended;
} Verify;

static void
add_bad (Verify *verify, const SkFlowStorage *storage, const char *name, const char *why)
{
  GVariantBuilder builder;

  verify->n_bad++;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "storage", g_variant_new_string (storage->name));
  g_variant_builder_add (&builder, "{sv}", "name", g_variant_new_string (name));
  g_variant_builder_add (&builder, "{sv}", "why", g_variant_new_string (why));
  g_variant_builder_add_value (&verify->bad, g_variant_builder_end (&builder));
}

static void
on_verified_bad (const SkFlowStorage *storage, const char *name, const char *why, gboolean mended, gpointer user_data)
{
  Verify *verify = user_data;

  add_bad (verify, storage, name, why);
  verify->n_mended += mended ? 1 : 0;
}

/* Index thread. */
static gboolean
list_packs (SkSession *session, gpointer data, GError **error)
{
  Verify *verify = data;

  verify->packs = sk_index_packs (session->index, verify->storage->row, error);
  return verify->packs != NULL;
}

/* Index thread, in a transaction. */
static gboolean
give_up_pack (SkSession *session, gpointer data, GError **error)
{
  Verify *verify = data;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);

  return give_up (session, verify->storage, &verify->bad_pack->name, records, error) && sk_log_append (session, records, error);
}

static gboolean
verify_pack (Verify *verify, const SkPackInfo *pack, GError **error)
{
  SkCommand *self = verify->command;
  g_autofree char *name = sk_pack_object_name (&pack->name);
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) object = sk_store_get_sync (verify->storage->store, name, SK_PACK_SIZE_MAX, self->cancellable, &local);

  verify->count.objects++;
  if (object != NULL)
    {
      verify->count.bytes += g_bytes_get_size (object);
      return TRUE;
    }
  if (!g_error_matches (local, SK_ERROR, SK_ERROR_CORRUPT) && !g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND)
      && !g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  verify->bad_pack = pack;
  add_bad (verify, verify->storage, name, local->message);
  return sk_session_transact (self->session, give_up_pack, verify, error);
}

static gboolean
verify_storage (Verify *verify, GError **error)
{
  gboolean ok = sk_session_index (verify->command->session, list_packs, verify, error);

  for (guint i = 0; ok && i < verify->packs->len; i++)
    {
      SkPackInfo *pack = &g_array_index (verify->packs, SkPackInfo, i);

      if (pack->state != SK_PACK_LIVE)
        continue;
      sk_command_progress (verify->command, "Reading back", i, verify->packs->len, 0, verify->count.bytes);
      ok = verify_pack (verify, pack, error);
    }
  g_clear_pointer (&verify->packs, g_array_unref);
  return ok
         && sk_mend_storage (verify->command->session, verify->storage, SK_MEND_READ | SK_MEND_PUT, on_verified_bad, verify, &verify->count,
                             verify->command->cancellable, error);
}

/* Reads packs and logs back. What is bad is given up and stored anew from the files on this disk; what no device here has is left for another. */
GVariant *
sk_cmd_storage_verify (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  const char *only = sk_args_string (self->args, "name", NULL);
  g_autoptr(SkStorageRow) row = only != NULL ? sk_command_storage (self, only, error) : NULL;
  Verify verify = { .command = self };
  gint64 begin = g_get_monotonic_time ();
  GVariantBuilder builder;
  gboolean ok = only == NULL || row != NULL;

  g_variant_builder_init (&verify.bad, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; ok && i < config->storages->len; i++)
    {
      verify.storage = config->storages->pdata[i];
      if (row == NULL || row->row == verify.storage->row)
        ok = verify_storage (&verify, error);
    }
  if (!ok || (verify.n_bad > verify.n_mended && !mend_folders (self, error)))
    {
      g_variant_builder_clear (&verify.bad);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "objects", g_variant_new_uint64 (verify.count.objects));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (verify.count.bytes));
  g_variant_builder_add (&builder, "{sv}", "bad", g_variant_builder_end (&verify.bad));
  g_variant_builder_add (&builder, "{sv}", "repaired", g_variant_new_uint64 (verify.n_mended));
  g_variant_builder_add (&builder, "{sv}", "seconds", g_variant_new_double ((double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC));
  g_variant_builder_add (&builder, "{sv}", "attention", g_variant_new_boolean (verify.n_bad > verify.n_mended));
  return g_variant_builder_end (&builder);
}

static GVariant *
gc_dict (const SkFlowStorage *storage, const SkGcResult *result)
{
  GVariantBuilder builder;
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (&storage->id, hex);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "id", g_variant_new_string (hex));
  g_variant_builder_add (&builder, "{sv}", "name", g_variant_new_string (storage->name));
  g_variant_builder_add (&builder, "{sv}", "packs", g_variant_new_uint64 (result->packs));
  g_variant_builder_add (&builder, "{sv}", "condemned", g_variant_new_uint64 (result->condemned));
  g_variant_builder_add (&builder, "{sv}", "condemned-bytes", g_variant_new_uint64 (result->condemned_bytes));
  g_variant_builder_add (&builder, "{sv}", "removed", g_variant_new_uint64 (result->removed));
  g_variant_builder_add (&builder, "{sv}", "removed-bytes", g_variant_new_uint64 (result->removed_bytes));
  g_variant_builder_add (&builder, "{sv}", "skipped", g_variant_new_string (result->skipped != NULL ? result->skipped : ""));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_gc (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  gint64 begin = g_get_monotonic_time ();
  GVariantBuilder list, builder;

  if (!sk_down_pull (self->session->down, self->cancellable, error))
    return NULL;
  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < config->storages->len; i++)
    {
      SkFlowStorage *storage = config->storages->pdata[i];
      SkGcResult result = { 0 };
      g_autoptr(GError) local = NULL;

      if (!sk_gc_storage (self->session, storage, sk_args_bool (self->args, "dry-run"), &result, self->cancellable, &local))
        result.skipped = g_strdup (local->message);
      if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
        {
          sk_gc_result_clear (&result);
          g_variant_builder_clear (&list);
          return NULL;
        }
      g_variant_builder_add_value (&list, gc_dict (storage, &result));
      sk_gc_result_clear (&result);
    }
  {
    SkUpResult pushed;
    const gint64 none = -1;

    /* Condemnations count when they are in the storage. */
    if (sk_up_sync (self->session->up, &none, 1, &pushed, self->cancellable, NULL))
      sk_up_result_clear (&pushed);
  }
  if (!sk_args_bool (self->args, "dry-run"))
    {
      (void) sk_care_expire (self->session, self->cancellable);
      if (!sk_care_sweep (self->session, self->cancellable, error))
        {
          g_variant_builder_clear (&list);
          return NULL;
        }
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "storages", g_variant_builder_end (&list));
  g_variant_builder_add (&builder, "{sv}", "seconds", g_variant_new_double ((double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC));
  return g_variant_builder_end (&builder);
}
