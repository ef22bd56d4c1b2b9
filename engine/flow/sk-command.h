/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands of COMMANDS.md. Each runs on the calling (task) thread and may block; arguments were checked by sk_args_check. */
#pragma once
#include "sk-args.h"
#include "sk-flow.h"

typedef struct
{
  SkSession *session;
  GVariant *args;
  SkProgressFunc progress;
  gpointer progress_data;
  GCancellable *cancellable;
} SkCommand;

typedef GVariant *(*SkCommandFunc) (SkCommand *command, GError **error);
/* NULL when nobody asked. */
void sk_command_progress (SkCommand *self, const char *text, guint64 done, guint64 total, guint64 files, guint64 bytes);
/* By name or id; SK_ERROR_NOT_FOUND names what there is. (transfer full) */
SkFolderRow *sk_command_folder (SkCommand *self, const char *name, GError **error);
SkStorageRow *sk_command_storage (SkCommand *self, const char *name, GError **error);
/* Reads definitions and attachments again after a change, and tells the flows. */
gboolean sk_command_reload (SkCommand *self, GError **error);
/* Records of this device in one segment, in one transaction with @also (may be NULL). */
gboolean sk_command_append (SkCommand *self, GPtrArray *records, SkIndexFunc also, gpointer data, GError **error);

/* Keys every answer about the vault has. */
void sk_command_add_vault (SkSession *session, GVariantBuilder *builder);
/* Writes keys and config of a fresh device into the home and opens the vault; for create, join and recover. Keys are kept as the
 * arguments 'passphrase' and 'no-passphrase' say. */
gboolean sk_command_settle_home (SkCommand *self, SkHomeConfig *config, SkIdentity *identity, SkKeyring *keys, GError **error);

/* What a fresh device starts with; for join and recover, after sk_command_settle_home. sk-cmd-adopt.c */
typedef struct
{
  SkId storage;                  /* through which it came */
  const char *uri;               /* its address here */
  GPtrArray *members;            /* GBytes: membership records */
  GArray *sponsor;               /* SkPosition to be merged before anything is published (A3e); NULL: none */
  GPtrArray *records;            /* SkRecord for its own log; NULL: none */
} SkNewDevice;
/* Takes that into the index, attaches the storage and reads the logs in it for the first time, as far as it can be reached. */
gboolean sk_command_adopt (SkCommand *self, const SkNewDevice *with, GError **error);
/* A vault in this home already, a device name that is none, or no place for keys: told before anything is begun. */
gboolean sk_command_check_home (SkCommand *self, const char *device_name, GError **error);
/* FALSE: a vault was here, and the file that names it is gone. Nobody may take the home for an empty one: its keys would be lost. */
gboolean sk_command_check_new_home (SkCommand *self, GError **error);
/* A name that a person gave to a vault, device, folder or storage; SK_ERROR_USAGE. */
gboolean sk_command_check_label (const char *label, GError **error);

#define SK_COMMAND(name) GVariant *name (SkCommand *self, GError **error)
/* sk-cmd-vault.c */
SK_COMMAND (sk_cmd_vault_create);
SK_COMMAND (sk_cmd_vault_show);
SK_COMMAND (sk_cmd_vault_recovery);
/* sk-cmd-join.c, sk-cmd-recover.c */
SK_COMMAND (sk_cmd_vault_join);
SK_COMMAND (sk_cmd_vault_recover);
SK_COMMAND (sk_cmd_invite);
SK_COMMAND (sk_cmd_invite_list);
SK_COMMAND (sk_cmd_invite_wait);
SK_COMMAND (sk_cmd_invite_confirm);
SK_COMMAND (sk_cmd_invite_refuse);
SK_COMMAND (sk_cmd_device_list);
SK_COMMAND (sk_cmd_device_show);
/* sk-cmd-storage.c */
SK_COMMAND (sk_cmd_storage_add);
SK_COMMAND (sk_cmd_storage_list);
SK_COMMAND (sk_cmd_storage_show);
SK_COMMAND (sk_cmd_storage_remove);
SK_COMMAND (sk_cmd_storage_set);
SK_COMMAND (sk_cmd_storage_verify);
/* sk-cmd-folder.c */
SK_COMMAND (sk_cmd_folder_add);
SK_COMMAND (sk_cmd_folder_attach);
SK_COMMAND (sk_cmd_folder_detach);
SK_COMMAND (sk_cmd_folder_list);
SK_COMMAND (sk_cmd_folder_set);
/* sk-cmd-sync.c */
SK_COMMAND (sk_cmd_sync);
SK_COMMAND (sk_cmd_status);
SK_COMMAND (sk_cmd_transfers);
SK_COMMAND (sk_cmd_traffic);
SK_COMMAND (sk_cmd_pause);
SK_COMMAND (sk_cmd_resume);
/* sk-cmd-issue.c */
SK_COMMAND (sk_cmd_issues);
SK_COMMAND (sk_cmd_resolve);
SK_COMMAND (sk_cmd_activity);
SK_COMMAND (sk_cmd_undo);
/* sk-cmd-version.c */
SK_COMMAND (sk_cmd_versions);
SK_COMMAND (sk_cmd_restore);
/* sk-cmd-care.c */
SK_COMMAND (sk_cmd_fsck);
SK_COMMAND (sk_cmd_gc);
SK_COMMAND (sk_cmd_diagnostics);
