/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A new vault, and what there is to know about it. */
#include <glib/gstdio.h>
#include <string.h>

#include "sk-command.h"
#include "sk-phrase.h"

/* The recovery seed stays on the device that made the vault, sealed under the vault's own records key, until the person proved to have the
 * words on paper. */
#define RECOVERY_SETTING "recovery-seed"

typedef struct
{
  GPtrArray *records;            /* SkRecord */
  GBytes *sealed_seed;
} FirstSegment;

static gboolean
store_seed (SkSession *session, gpointer data, GError **error)
{
  FirstSegment *first = data;

  return sk_index_set (session->index, RECOVERY_SETTING, g_bytes_get_data (first->sealed_seed, NULL), g_bytes_get_size (first->sealed_seed), error);
}

static GBytes *
seal_seed (SkSession *session, const SkKey *seed, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_auto(SkKey) key = { 0 };

  if (!sk_keyring_get (config->keys, sk_keyring_current (config->keys), SK_USE_RECORDS, &key, error))
    return NULL;
  return sk_seal_bytes (&key, session->who.vault.bytes, sizeof session->who.vault.bytes, seed->bytes, sizeof seed->bytes);
}

static gboolean
load_seed (SkSession *session, gpointer data, GError **error)
{
  GBytes **sealed = data;

  *sealed = sk_index_get (session->index, RECOVERY_SETTING);
  return TRUE;
}

static char *
phrase_kept (SkSession *session, GError **error)
{
  g_autoptr(GBytes) sealed = NULL;
  g_autoptr(GBytes) plain = NULL;
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_auto(SkKey) key = { 0 };
  g_auto(SkKey) seed = { 0 };

  if (!sk_session_index (session, load_seed, &sealed, error))
    return NULL;
  if (sealed == NULL || g_bytes_get_size (sealed) == 0)
    {
      sk_fail (error, SK_ERROR_NOT_FOUND, "the recovery phrase is not kept on this device; it exists on paper only");
      return NULL;
    }
  if (!sk_keyring_get (config->keys, sk_keyring_current (config->keys), SK_USE_RECORDS, &key, error))
    return NULL;
  plain = sk_open_bytes (&key, session->who.vault.bytes, sizeof session->who.vault.bytes, g_bytes_get_data (sealed, NULL), g_bytes_get_size (sealed), error);
  if (plain == NULL || g_bytes_get_size (plain) != sizeof seed.bytes)
    return NULL;
  memcpy (seed.bytes, g_bytes_get_data (plain, NULL), sizeof seed.bytes);
  return sk_phrase_format (&seed);
}

void
sk_command_add_vault (SkSession *session, GVariantBuilder *builder)
{
  char vault[SK_ID_HEX_SIZE], device[SK_DEVICE_ID_HEX_SIZE];
  g_autofree char *warning = sk_home_keep_warning (session->home, session->keep);

  sk_id_format (&session->who.vault, vault);
  sk_device_id_format (&session->who.device, device);
  g_variant_builder_add (builder, "{sv}", "vault", g_variant_new_string (vault));
  g_variant_builder_add (builder, "{sv}", "vault-name", g_variant_new_string (session->who.vault_name));
  g_variant_builder_add (builder, "{sv}", "device", g_variant_new_string (device));
  g_variant_builder_add (builder, "{sv}", "device-name", g_variant_new_string (session->who.device_name));
  g_variant_builder_add (builder, "{sv}", "keys", g_variant_new_string (sk_keep_name (session->keep)));
  g_variant_builder_add (builder, "{sv}", "warning", g_variant_new_string (warning));
}

/* Everything a fresh device of a vault needs on this disk: keys, config, then the open session. Shared by create, join and recover. */
gboolean
sk_command_settle_home (SkCommand *self, SkHomeConfig *config, SkIdentity *identity, SkKeyring *keys, GError **error)
{
  const char *passphrase = sk_args_string (self->args, "passphrase", NULL);
  SkKeep keep;

  if (!sk_home_choose_keep (sk_args_bool (self->args, "no-passphrase"), passphrase, &keep, error)
      || !sk_home_save_secrets (self->session->home, keep, passphrase, identity, keys, error)
      || !sk_home_save_config (self->session->home, config, error))
    return FALSE;
  return sk_session_open_vault (self->session, passphrase, error);
}

GVariant *
sk_cmd_vault_create (SkCommand *self, GError **error)
{
  SkSession *session = self->session;
  g_auto(SkKey) seed = { 0 };
  g_autoptr(SkIdentity) recovery = NULL;
  g_autoptr(SkIdentity) device = sk_identity_new_random ();
  g_autoptr(SkKeyring) keys = sk_keyring_new_vault ();
  SkHomeConfig config = { 0 };
  const SkDeviceId by_recovery = { 0 };
  g_autoptr(GBytes) record = NULL;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  FirstSegment first = { .records = records };
  char *phrase;
  GVariantBuilder builder;
  gboolean ok;

  if (!sk_command_check_home (self, sk_args_string (self->args, "device-name", g_get_host_name ()), error)
      || !sk_command_check_label (sk_args_string (self->args, "name", ""), error))
    return NULL;
  recovery = sk_identity_new_random ();
  sk_identity_copy_seed (recovery, &seed);
  config.recovery_sign = *sk_identity_sign_key (recovery);
  config.recovery_box = *sk_identity_box_key (recovery);
  sk_vault_id_from_recovery (&config.recovery_sign, &config.recovery_box, &config.vault);
  sk_device_id_random (&config.device);
  sk_id_new_writer (&config.device, &config.writer);
  config.vault_name = g_strdup (sk_args_string (self->args, "name", ""));
  config.device_name = g_strdup (sk_args_string (self->args, "device-name", g_get_host_name ()));
  record = sk_member_build_add (&config.vault, &config.device, config.device_name, sk_identity_sign_key (device), sk_identity_box_key (device),
                                &by_recovery, recovery, sk_session_wall (session));
  ok = sk_command_settle_home (self, &config, device, keys, error);
  sk_home_config_clear (&config);
  if (!ok)
    return NULL;
  g_ptr_array_add (records, sk_record_new_member (g_steal_pointer (&record)));
  first.sealed_seed = seal_seed (session, &seed, error);
  ok = first.sealed_seed != NULL && sk_command_append (self, records, store_seed, &first, error) && sk_command_reload (self, error);
  g_clear_pointer (&first.sealed_seed, g_bytes_unref);
  if (!ok)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  sk_command_add_vault (session, &builder);
  phrase = sk_phrase_format (&seed);
  g_variant_builder_add (&builder, "{sv}", "phrase", g_variant_new_string (phrase));
  sk_phrase_free (phrase);
  return g_variant_builder_end (&builder);
}

typedef struct { guint folders, storages; gboolean seed; } ShowCall;

static gboolean
count_rows (SkSession *session, gpointer data, GError **error)
{
  ShowCall *call = data;
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index), storages = sk_index_storages (session->index);
  g_autoptr(GBytes) seed = sk_index_get (session->index, RECOVERY_SETTING);

  for (guint i = 0; i < folders->len; i++)
    call->folders += !((SkFolderRow *) folders->pdata[i])->deleted;
  for (guint i = 0; i < storages->len; i++)
    call->storages += !((SkStorageRow *) storages->pdata[i])->deleted;
  call->seed = seed != NULL && g_bytes_get_size (seed) > 0;
  return TRUE;
}

GVariant *
sk_cmd_vault_show (SkCommand *self, GError **error)
{
  SkSession *session = self->session;
  g_autoptr(SkConfig) config = sk_session_config (session);
  ShowCall call = { 0 };
  GVariantBuilder builder;
  char epoch[SK_ID_HEX_SIZE];
  guint live = 0;
  GPtrArray *devices = sk_members_devices (config->members);
  g_autofree char *key_file = sk_home_key_file (session->home, session->keep);

  if (!sk_session_index (session, count_rows, &call, error))
    return NULL;
  for (guint i = 0; i < devices->len; i++)
    live += !((SkDevice *) devices->pdata[i])->revoked;
  sk_id_format (sk_keyring_current (config->keys), epoch);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  sk_command_add_vault (session, &builder);
  g_variant_builder_add (&builder, "{sv}", "home", g_variant_new_bytestring (sk_home_path (session->home)));
  g_variant_builder_add (&builder, "{sv}", "key-file", g_variant_new_bytestring (key_file != NULL ? key_file : ""));
  g_variant_builder_add (&builder, "{sv}", "phrase-kept", g_variant_new_boolean (call.seed));
  g_variant_builder_add (&builder, "{sv}", "epoch", g_variant_new_string (epoch));
  g_variant_builder_add (&builder, "{sv}", "epochs", g_variant_new_uint32 (sk_keyring_n_epochs (config->keys)));
  g_variant_builder_add (&builder, "{sv}", "devices", g_variant_new_uint32 (live));
  g_variant_builder_add (&builder, "{sv}", "folders", g_variant_new_uint32 (call.folders));
  g_variant_builder_add (&builder, "{sv}", "storages", g_variant_new_uint32 (call.storages));
  return g_variant_builder_end (&builder);
}

static gboolean
forget_seed (SkSession *session, gpointer data, GError **error)
{
  return sk_index_set (session->index, RECOVERY_SETTING, "", 0, error);
}

/* The words give the recovery identity, and that certifies the vault id: no secret is needed to check them. */
static GVariant *
check_phrase (SkCommand *self, GError **error)
{
  g_auto(SkKey) seed = { 0 };
  g_autoptr(SkIdentity) recovery = NULL;
  SkId vault;
  GVariantBuilder builder;

  if (!sk_phrase_parse (sk_args_string (self->args, "phrase", ""), &seed, error))
    return NULL;
  recovery = sk_identity_new_from_seed (&seed);
  sk_vault_id_from_recovery (sk_identity_sign_key (recovery), sk_identity_box_key (recovery), &vault);
  if (!sk_id_equal (&vault, &self->session->who.vault))
    {
      sk_fail (error, SK_ERROR_WRONG_KEY, "these are the words of another vault");
      return NULL;
    }
  if (!sk_session_transact (self->session, forget_seed, NULL, error))
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "right", g_variant_new_boolean (TRUE));
  g_variant_builder_add (&builder, "{sv}", "phrase-kept", g_variant_new_boolean (FALSE));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_vault_recovery (SkCommand *self, GError **error)
{
  GVariantBuilder builder;
  char *phrase;

  if (sk_args_bool (self->args, "check"))
    return check_phrase (self, error);
  phrase = phrase_kept (self->session, error);
  if (phrase == NULL)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "phrase", g_variant_new_string (phrase));
  sk_phrase_free (phrase);
  return g_variant_builder_end (&builder);
}
