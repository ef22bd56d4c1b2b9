/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A vault from a storage and the 24 words (RULES B1): the recovery identity opens every epoch, the records in the storage tell who is a member,
 * and a new device signed by the recovery identity reads the logs. */
#include "sk-command.h"
#include "sk-limits.h"
#include "sk-membership.h"
#include "sk-phrase.h"

typedef struct
{
  SkId id;
  SkKeyring *keys;               /* its id key and this epoch */
  GBytes *object;
  gboolean usable;               /* may be written with */
  gint64 seen;                   /* the newest head of a live device that uses it, unix seconds */
  gint64 stored;                 /* when its object was put, as the storage says */
} Epoch;

typedef struct
{
  SkCommand *command;
  SkIdentity *recovery;
  SkId vault, storage;
  SkStore *store;
  GPtrArray *epochs;             /* Epoch */
  SkKeyring *keys;
  SkMembers *members;
  char *vault_name;
} Recover;

static void
epoch_free (gpointer data)
{
  Epoch *self = data;

  sk_keyring_unref (self->keys);
  g_bytes_unref (self->object);
  g_free (self);
}

static void
recover_clear (Recover *self)
{
  g_clear_pointer (&self->recovery, sk_identity_unref);
  g_clear_object (&self->store);
  g_clear_pointer (&self->epochs, g_ptr_array_unref);
  g_clear_pointer (&self->keys, sk_keyring_unref);
  g_clear_pointer (&self->members, sk_members_free);
  g_clear_pointer (&self->vault_name, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Recover, recover_clear)

/* The words certify the vault: of several in one place they open one only (C11). */
static gboolean
read_phrase (Recover *self, GError **error)
{
  const char *wanted = sk_args_string (self->command->args, "vault", NULL);
  g_auto(SkKey) seed = { 0 };
  SkId vault;

  if (!sk_phrase_parse (sk_args_string (self->command->args, "phrase", ""), &seed, error))
    return FALSE;
  self->recovery = sk_identity_new_from_seed (&seed);
  sk_vault_id_from_recovery (sk_identity_sign_key (self->recovery), sk_identity_box_key (self->recovery), &self->vault);
  if (wanted == NULL)
    return TRUE;
  if (!sk_id_parse (wanted, &vault, NULL))
    return sk_fail (error, SK_ERROR_USAGE, "the id of a vault has 32 digits of 0-9 and a-f");
  return sk_id_equal (&vault, &self->vault) || sk_fail (error, SK_ERROR_WRONG_KEY, "these are the words of another vault");
}

/* Nothing of this vault is there: is anything? */
static gboolean
tell_what_is_there (Recover *self, const char *uri, GError **error)
{
  g_autoptr(SkStore) location = sk_store_new (uri, NULL, self->command->session->store_pool, error);
  g_autoptr(GPtrArray) vaults = location != NULL ? sk_store_find_vaults_sync (location, self->command->cancellable, error) : NULL;

  if (vaults == NULL)
    return FALSE;
  if (vaults->len == 0)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "there is no vault at “%s”", uri);
  return sk_fail (error, SK_ERROR_WRONG_KEY, "these are not the words of %s at “%s”",
                  vaults->len == 1 ? "the vault" : "any vault", uri);
}

static gboolean
open_storage (Recover *self, GError **error)
{
  SkCommand *command = self->command;
  const char *uri = sk_args_string (command->args, "storage", "");
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) object = NULL;
  SkStoreMarker marker;

  if (sk_args_string (command->args, "credentials", NULL) != NULL)
    return sk_fail (error, SK_ERROR_UNSUPPORTED, "this kind of storage takes no credentials");
  self->store = sk_store_new (uri, &self->vault, command->session->store_pool, error);
  if (self->store == NULL)
    return FALSE;
  object = sk_store_get_sync (self->store, "skerry.json", SK_SMALL_OBJECT_MAX, command->cancellable, &local);
  if (object == NULL)
    {
      if (g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND) || g_error_matches (local, SK_ERROR, SK_ERROR_OFFLINE))
        return tell_what_is_there (self, uri, error);
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (!sk_store_marker_parse (object, &marker, error))
    return FALSE;
  self->storage = marker.storage;
  return sk_store_check_marker_sync (self->store, &self->vault, &marker.storage, command->cancellable, error);
}

/* --- keys --- */

static void
open_epoch (Recover *self, GBytes *object, const SkStoreItem *item)
{
  g_autoptr(GError) error = NULL;
  SkPublicKey sign, box;
  SkKeyring *keys;
  Epoch *epoch;
  SkId id;

  if (!sk_epoch_open (object, &self->vault, NULL, self->recovery, &id, &keys, &sign, &box, &error))
    {
      g_message ("“%s” is left out: %s", item->name, error->message);
      return;
    }
  epoch = g_new0 (Epoch, 1);
  *epoch = (Epoch) { .id = id, .keys = keys, .object = g_bytes_ref (object), .stored = item->mtime };
  g_ptr_array_add (self->epochs, epoch);
}

static gboolean
read_epochs (Recover *self, GError **error)
{
  GCancellable *cancellable = self->command->cancellable;
  g_autoptr(GPtrArray) items = sk_store_list_sync (self->store, "epochs/", cancellable, error);

  if (items == NULL)
    return FALSE;
  self->epochs = g_ptr_array_new_with_free_func (epoch_free);
  for (guint i = 0; i < items->len && self->epochs->len < SK_EPOCHS_MAX; i++)
    {
      const SkStoreItem *item = items->pdata[i];
      g_autoptr(GError) local = NULL;
      g_autoptr(GBytes) object = sk_store_get_sync (self->store, item->name, SK_SMALL_OBJECT_MAX, cancellable, &local);

      if (object != NULL)
        open_epoch (self, object, item);
      else if (!g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND) && !g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
    }
  return self->epochs->len > 0
         || sk_fail (error, SK_ERROR_CORRUPT, "the storage has the vault but none of its keys (epochs/); restore these objects, or use another "
                                              "storage of the vault");
}

/* @base, then the epochs of all that share its id key (@strict), or of all. (transfer full) */
static SkKeyring *
unite (Recover *self, const Epoch *base, gboolean strict)
{
  SkKeyring *keys = sk_keyring_ref (base->keys);

  for (guint i = 0; i < self->epochs->len; i++)
    {
      const Epoch *epoch = self->epochs->pdata[i];
      SkKeyring *more;

      if (strict && !sk_keyring_shares_id_key (base->keys, epoch->keys))
        continue;
      more = sk_keyring_with_epochs_of (keys, epoch->keys);
      sk_keyring_unref (keys);
      keys = more;
    }
  return keys;
}

static gboolean
read_members (Recover *self, GError **error)
{
  g_autoptr(SkKeyring) all = unite (self, self->epochs->pdata[0], FALSE);

  self->members = sk_members_new (&self->vault, sk_identity_sign_key (self->recovery), sk_identity_box_key (self->recovery), error);
  if (self->members == NULL
      || !sk_membership_read_all (self->store, &self->vault, all, self->members, &self->vault_name, self->command->cancellable, error))
    return FALSE;
  if (self->vault_name == NULL)
    self->vault_name = g_strdup ("vault");
  for (guint i = 0; i < self->epochs->len; i++)
    {
      Epoch *epoch = self->epochs->pdata[i];
      SkId id;

      epoch->usable = sk_epoch_usable (epoch->object, &self->vault, self->members, &id, NULL);
    }
  return TRUE;
}

/* Which epochs the living write with now. A head that cannot be read says nothing. */
static void
note_head (Recover *self, GBytes *object, SkKeyring *all)
{
  g_autoptr(SkHead) head = NULL;
  SkDeviceId device;

  if (!sk_head_peek (object, &device, NULL) || !sk_members_is_live (self->members, &device))
    return;
  head = sk_head_open (object, sk_members_sign_key (self->members, &device), &self->vault, &self->storage, all, NULL);
  for (guint i = 0; head != NULL && i < self->epochs->len; i++)
    {
      Epoch *epoch = self->epochs->pdata[i];

      if (sk_id_equal (&epoch->id, &head->epoch))
        epoch->seen = MAX (epoch->seen, head->wall);
    }
}

static gboolean
read_heads (Recover *self, GError **error)
{
  GCancellable *cancellable = self->command->cancellable;
  g_autoptr(SkKeyring) all = unite (self, self->epochs->pdata[0], FALSE);
  g_autoptr(GPtrArray) items = sk_store_list_sync (self->store, "heads/", cancellable, error);

  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len && i < 2 * SK_DEVICES_MAX; i++)
    {
      g_autoptr(GBytes) object = sk_store_get_sync (self->store, ((SkStoreItem *) items->pdata[i])->name, SK_HEAD_SIZE_MAX, cancellable, NULL);

      if (object != NULL)
        note_head (self, object, all);
    }
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

/* Usable ones before others, of these what was written with last. A hostile member could have published an epoch with another id key, but none
 * that the living use. Heads of one second are told apart by the age of the epoch objects. */
static gboolean
is_better (const Epoch *a, const Epoch *b)
{
  if (a->usable != b->usable)
    return a->usable;
  return a->seen != b->seen ? a->seen > b->seen : a->stored > b->stored;
}

static void
choose_keys (Recover *self)
{
  const Epoch *best = self->epochs->pdata[0];
  g_autoptr(SkKeyring) all = NULL;

  for (guint i = 1; i < self->epochs->len; i++)
    if (is_better (self->epochs->pdata[i], best))
      best = self->epochs->pdata[i];
  all = unite (self, best, TRUE);
  self->keys = best->usable ? sk_keyring_with_epochs_of (all, best->keys) : sk_keyring_with_new_epoch (all);
}

/* --- the new device --- */

static gboolean
settle (Recover *self, const char *device_name, GError **error)
{
  SkSession *session = self->command->session;
  g_autoptr(SkIdentity) identity = sk_identity_new_random ();
  g_autoptr(GPtrArray) members = sk_members_records (self->members);
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  const SkDeviceId by_recovery = { { 0 } };
  SkHomeConfig config = { .vault = self->vault, .recovery_sign = *sk_identity_sign_key (self->recovery),
                          .recovery_box = *sk_identity_box_key (self->recovery) };
  SkNewDevice with = { .storage = self->storage, .uri = sk_store_uri (self->store), .members = members, .records = records };
  gboolean ok;

  sk_device_id_random (&config.device);
  sk_id_new_writer (&config.device, &config.writer);
  config.vault_name = g_strdup (self->vault_name);
  config.device_name = g_strdup (device_name);
  g_ptr_array_add (records, sk_record_new_member (sk_member_build_add (&config.vault, &config.device, device_name, sk_identity_sign_key (identity),
                                                                       sk_identity_box_key (identity), &by_recovery, self->recovery,
                                                                       sk_session_wall (session))));
  ok = sk_command_settle_home (self->command, &config, identity, self->keys, error);
  sk_home_config_clear (&config);
  return ok && sk_command_adopt (self->command, &with, error)
         && sk_membership_put_epoch (session, self->store, self->command->cancellable, error);
}

GVariant *
sk_cmd_vault_recover (SkCommand *self, GError **error)
{
  const char *device_name = sk_args_string (self->args, "device-name", g_get_host_name ());
  g_auto(Recover) recover = { .command = self };
  GVariantBuilder builder;

  if (!sk_command_check_home (self, device_name, error) || !read_phrase (&recover, error) || !open_storage (&recover, error)
      || !read_epochs (&recover, error) || !read_members (&recover, error) || !read_heads (&recover, error))
    return NULL;
  choose_keys (&recover);
  if (!settle (&recover, device_name, error))
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  sk_command_add_vault (self->session, &builder);
  return g_variant_builder_end (&builder);
}
