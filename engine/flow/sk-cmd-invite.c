/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-command.h"
#include "sk-invite-serve.h"

/* The named one, or the first that answers as what it should be. */
static SkFlowStorage *
choose_storage (SkCommand *self, SkConfig *config, GError **error)
{
  const char *name = sk_args_string (self->args, "storage", NULL);
  g_autoptr(SkStorageRow) row = NULL;
  g_autoptr(GError) local = NULL;

  if (name != NULL && (row = sk_command_storage (self, name, error)) == NULL)
    return NULL;
  if (config->storages->len == 0)
    {
      sk_fail (error, SK_ERROR_USAGE, "this device has no storage, and devices meet in one: 'skerryctl storage add NAME URI' first");
      return NULL;
    }
  for (guint i = 0; i < config->storages->len; i++)
    {
      SkFlowStorage *storage = config->storages->pdata[i];

      if (row != NULL && row->row != storage->row)
        continue;
      g_clear_error (&local);
      if (sk_store_check_marker_sync (storage->store, &self->session->who.vault, &storage->id, self->cancellable, &local))
        return storage;
    }
  if (local == NULL)
    sk_fail (error, SK_ERROR_USAGE, "the storage “%s” is not attached here", row->name);
  else if (g_cancellable_is_cancelled (self->cancellable))
    g_propagate_error (error, g_steal_pointer (&local));
  else
    sk_fail (error, SK_ERROR_OFFLINE, "no storage can be reached to invite through: %s", local->message);
  return NULL;
}

GVariant *
sk_cmd_invite (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  SkFlowStorage *storage = choose_storage (self, config, error);
  g_autoptr(GVariant) invitation = NULL;
  g_autofree char *code = NULL;
  GVariantDict reply;

  if (storage == NULL)
    return NULL;
  invitation = sk_invites_open (self->session->invites, storage, (guint) sk_args_number (self->args, "expires"),
                                sk_args_bool (self->args, "yes"), &code, self->cancellable, error);
  if (invitation == NULL)
    return NULL;
  g_variant_ref_sink (invitation);
  g_variant_dict_init (&reply, invitation);
  g_variant_dict_insert (&reply, "code", "s", code);
  g_variant_dict_insert (&reply, "storage", "s", storage->name);
  return g_variant_dict_end (&reply);
}

GVariant *
sk_cmd_invite_list (SkCommand *self, GError **error)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "invites", sk_invites_list (self->session->invites));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_invite_wait (SkCommand *self, GError **error)
{
  return sk_invites_wait (self->session->invites, sk_args_string (self->args, "invite", ""), sk_args_string (self->args, "state", NULL),
                          (guint) sk_args_number (self->args, "timeout"), self->cancellable, error);
}

GVariant *
sk_cmd_invite_confirm (SkCommand *self, GError **error)
{
  return sk_invites_confirm (self->session->invites, sk_args_string (self->args, "invite", ""), sk_args_string (self->args, "device", ""),
                             self->cancellable, error);
}

GVariant *
sk_cmd_invite_refuse (SkCommand *self, GError **error)
{
  return sk_invites_refuse (self->session->invites, sk_args_string (self->args, "invite", ""), self->cancellable, error);
}
