/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last part of joining and of being restored from the phrase. */
#include "sk-attachments.h"
#include "sk-command.h"
#include "sk-membership.h"

gboolean
sk_command_check_label (const char *label, GError **error)
{
  g_autoptr(GError) local = NULL;

  return sk_label_check (label, &local) || sk_fail (error, SK_ERROR_USAGE, "%s", local->message);
}

gboolean
sk_command_check_new_home (SkCommand *self, GError **error)
{
  g_autofree char *file = NULL;

  if (self->session->has_vault || !sk_attachments_exist (self->session->home))
    return TRUE;
  file = sk_home_file (self->session->home, SK_HOME_CONFIG_NAME);
  return sk_fail (error, SK_ERROR_CORRUPT,
                  "“%s” is missing, and this home has the keys of a vault: restore the file from a backup, or let the device join again in a new "
                  "home. Nothing was changed", file);
}

gboolean
sk_command_check_home (SkCommand *self, const char *device_name, GError **error)
{
  SkKeep keep;

  if (self->session->has_vault)
    return sk_fail (error, SK_ERROR_EXISTS, "this home has the vault “%s” already; another vault needs another --home",
                    self->session->who.vault_name);
  return sk_command_check_new_home (self, error) && sk_command_check_label (device_name, error)
         && sk_home_choose_keep (sk_args_bool (self->args, "no-passphrase"), sk_args_string (self->args, "passphrase", NULL), &keep, error);
}

/* Index thread, in a transaction. The definition carries Lamport 0: the one in the logs is newer. */
static gboolean
take_over (SkSession *session, gpointer data, GError **error)
{
  const SkNewDevice *with = data;
  const SkStorageDef def = { .id = with->storage, .name = (char *) "storage", .uri = (char *) with->uri };
  gint64 row;

  for (guint i = 0; i < with->members->len; i++)
    if (!sk_index_member_add (session->index, with->members->pdata[i], error))
      return FALSE;
  if (!sk_index_storage_define (session->index, &def, NULL, error))
    return FALSE;
  row = sk_index_storage_row (session->index, &with->storage);
  return sk_index_storage_attach (session->index, row, with->uri, error)
         && (with->sponsor == NULL || sk_sponsor_keep (session->index, row, with->sponsor, error));
}

gboolean
sk_command_adopt (SkCommand *self, const SkNewDevice *with, GError **error)
{
  g_autoptr(GPtrArray) none = g_ptr_array_new ();

  if (!sk_command_append (self, with->records != NULL ? with->records : none, take_over, (gpointer) with, error)
      || !sk_command_reload (self, error))
    return FALSE;
  sk_command_progress (self, "Reading what the other devices wrote", 0, 0, 0, 0);
  if (!sk_down_pull (self->session->down, self->cancellable, error))
    return FALSE;
  /* The others see this device from its first head on. */
  sk_up_publish (self->session->up);
  return TRUE;
}
