/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-command.h"

#include <string.h>

#include "sk-watch.h"

static const struct
{
  const char *name;
  SkCommandFunc func;
  gboolean without_vault;
} commands[] = {
  { "vault.create", sk_cmd_vault_create, TRUE },
  { "vault.show", sk_cmd_vault_show, FALSE },
  { "vault.recovery", sk_cmd_vault_recovery, FALSE },
  { "vault.join", sk_cmd_vault_join, TRUE },
  { "vault.recover", sk_cmd_vault_recover, TRUE },
  { "invite", sk_cmd_invite, FALSE },
  { "invite.list", sk_cmd_invite_list, FALSE },
  { "invite.wait", sk_cmd_invite_wait, FALSE },
  { "invite.confirm", sk_cmd_invite_confirm, FALSE },
  { "invite.refuse", sk_cmd_invite_refuse, FALSE },
  { "device.list", sk_cmd_device_list, FALSE },
  { "device.show", sk_cmd_device_show, FALSE },
  { "storage.add", sk_cmd_storage_add, FALSE },
  { "storage.list", sk_cmd_storage_list, FALSE },
  { "storage.show", sk_cmd_storage_show, FALSE },
  { "storage.remove", sk_cmd_storage_remove, FALSE },
  { "folder.add", sk_cmd_folder_add, FALSE },
  { "folder.attach", sk_cmd_folder_attach, FALSE },
  { "folder.detach", sk_cmd_folder_detach, FALSE },
  { "folder.list", sk_cmd_folder_list, FALSE },
  { "folder.set", sk_cmd_folder_set, FALSE },
  { "sync", sk_cmd_sync, FALSE },
  { "status", sk_cmd_status, TRUE },
  { "report", sk_cmd_status, TRUE },
  { "pause", sk_cmd_pause, FALSE },
  { "resume", sk_cmd_resume, FALSE },
  { "issues", sk_cmd_issues, FALSE },
  { "resolve", sk_cmd_resolve, FALSE },
  { "activity", sk_cmd_activity, FALSE },
  { "storage.verify", sk_cmd_storage_verify, FALSE },
  { "fsck", sk_cmd_fsck, FALSE },
  { "gc", sk_cmd_gc, FALSE },
  { "versions", sk_cmd_versions, FALSE },
  { "restore", sk_cmd_restore, FALSE },
  { "undo", sk_cmd_undo, FALSE },
  { "transfers", sk_cmd_transfers, FALSE },
  { "traffic", sk_cmd_traffic, FALSE },
  { "diagnostics", sk_cmd_diagnostics, FALSE },
  { "storage.set", sk_cmd_storage_set, FALSE },
};

void
sk_command_progress (SkCommand *self, const char *text, guint64 done, guint64 total, guint64 files, guint64 bytes)
{
  g_autoptr(GVariant) progress = NULL;
  GVariantBuilder builder;

  if (self->progress == NULL)
    return;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "text", g_variant_new_string (text));
  g_variant_builder_add (&builder, "{sv}", "done", g_variant_new_uint64 (done));
  g_variant_builder_add (&builder, "{sv}", "total", g_variant_new_uint64 (total));
  g_variant_builder_add (&builder, "{sv}", "files", g_variant_new_uint64 (files));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (bytes));
  progress = g_variant_ref_sink (g_variant_builder_end (&builder));
  self->progress (progress, self->progress_data);
}

static gboolean
need_vault (SkCommand *self, GError **error)
{
  return self->session->has_vault
         || (sk_command_check_new_home (self, error)
             && sk_fail (error, SK_ERROR_USAGE, "there is no vault in this home yet: 'skerryctl vault create NAME' or 'skerryctl vault join CODE'"));
}

GVariant *
sk_session_command (SkSession *session, const char *name, GVariant *args, SkProgressFunc progress, gpointer user_data,
                    GCancellable *cancellable, GError **error)
{
  g_autoptr(GVariant) sunk = g_variant_ref_sink (args != NULL ? args : g_variant_new ("a{sv}", NULL));
  SkCommand command = { .session = session, .args = sunk, .progress = progress, .progress_data = user_data, .cancellable = cancellable };

  if (!sk_args_check (name, sunk, error))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      GVariant *reply;

      if (!g_str_equal (commands[i].name, name))
        continue;
      if (!commands[i].without_vault && !need_vault (&command, error))
        return NULL;
      reply = commands[i].func (&command, error);
      return reply != NULL ? g_variant_take_ref (reply) : NULL;
    }
  sk_fail (error, SK_ERROR_UNSUPPORTED, "this version cannot do “%s”", name);
  return NULL;
}

/* --- lookups by name or id --- */

typedef struct
{
  const char *name;
  GPtrArray *names;
  SkFolderRow *folder;
  SkStorageRow *storage;
} Lookup;

/* TRUE when @name or the hex of @id is what was asked for. */
static gboolean
is_named (const char *wanted, const char *name, const SkId *id)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  return g_str_equal (wanted, name) || g_str_equal (wanted, hex);
}

static gboolean
find_folder (SkSession *session, gpointer data, GError **error)
{
  Lookup *lookup = data;
  g_autoptr(GPtrArray) rows = sk_index_folders (session->index);
  gint64 found = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      SkFolderRow *row = rows->pdata[i];

      if (row->deleted)
        continue;
      g_ptr_array_add (lookup->names, g_strdup (row->name));
      if (!is_named (lookup->name, row->name, &row->id))
        continue;
      if (found != 0)
        return sk_fail (error, SK_ERROR_USAGE, "there are several folders called “%s”: give the id ('skerryctl folder list --json')", lookup->name);
      found = row->row;
    }
  if (found != 0)
    lookup->folder = sk_index_folder (session->index, found);
  return TRUE;
}

SkFolderRow *
sk_command_folder (SkCommand *self, const char *name, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  Lookup lookup = { .name = name, .names = names };

  if (!sk_session_index (self->session, find_folder, &lookup, error))
    return NULL;
  if (lookup.folder == NULL)
    {
      g_ptr_array_add (names, NULL);
      g_autofree char *list = g_strjoinv (", ", (char **) names->pdata);

      sk_fail (error, SK_ERROR_NOT_FOUND, "there is no folder “%s” in this vault (there is: %s)", name, *list != '\0' ? list : "none");
    }
  return lookup.folder;
}

static gboolean
find_storage (SkSession *session, gpointer data, GError **error)
{
  Lookup *lookup = data;
  g_autoptr(GPtrArray) rows = sk_index_storages (session->index);

  for (guint i = 0; i < rows->len; i++)
    {
      SkStorageRow *row = rows->pdata[i];

      if (row->deleted)
        continue;
      g_ptr_array_add (lookup->names, g_strdup (row->name));
      if (!is_named (lookup->name, row->name, &row->id))
        continue;
      if (lookup->storage != NULL)
        return sk_fail (error, SK_ERROR_USAGE, "there are several storages called “%s”: give the id ('skerryctl storage list --json')", lookup->name);
      lookup->storage = g_ptr_array_steal_index (rows, i--);
    }
  return TRUE;
}

SkStorageRow *
sk_command_storage (SkCommand *self, const char *name, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  Lookup lookup = { .name = name, .names = names };

  if (!sk_session_index (self->session, find_storage, &lookup, error))
    return NULL;
  if (lookup.storage == NULL)
    {
      g_ptr_array_add (names, NULL);
      g_autofree char *list = g_strjoinv (", ", (char **) names->pdata);

      sk_fail (error, SK_ERROR_NOT_FOUND, "there is no storage “%s” in this vault (there is: %s)", name, *list != '\0' ? list : "none");
    }
  return lookup.storage;
}

gboolean
sk_command_reload (SkCommand *self, GError **error)
{
  if (!sk_session_reload (self->session, error))
    return FALSE;
  sk_up_reload (self->session->up);
  sk_watch_reload (self->session->watcher);
  return TRUE;
}

typedef struct
{
  GPtrArray *records;
  SkIndexFunc also;
  gpointer data;
} Append;

static gboolean
append_records (SkSession *session, gpointer data, GError **error)
{
  Append *append = data;

  for (guint i = 0; i < append->records->len; i++)
    {
      g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func (g_free);

      if (!sk_log_apply (session, append->records->pdata[i], &session->who.writer, 0, problems, error))
        return FALSE;
    }
  return (append->also == NULL || append->also (session, append->data, error)) && sk_log_append (session, append->records, error);
}

gboolean
sk_command_append (SkCommand *self, GPtrArray *records, SkIndexFunc also, gpointer data, GError **error)
{
  Append append = { .records = records, .also = also, .data = data };

  return sk_session_transact (self->session, append_records, &append, error);
}
