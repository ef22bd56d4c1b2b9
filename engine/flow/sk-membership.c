/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-membership.h"

#include <string.h>

#include "sk-limits.h"
#include "sk-member-set.h"

/* --- the own object --- */

typedef struct
{
  gint64 storage;
  SkHash state;
  gboolean written;
} StateCall;

static char *
state_key (gint64 storage)
{
  return g_strdup_printf ("members-state:%" G_GINT64_FORMAT, storage);
}

/* Index thread. */
static gboolean
load_state (SkSession *session, gpointer data, GError **error)
{
  StateCall *call = data;
  g_autofree char *key = state_key (call->storage);
  g_autoptr(GBytes) known = sk_index_get (session->index, key);

  call->written = known != NULL && g_bytes_get_size (known) == sizeof call->state
                  && memcmp (g_bytes_get_data (known, NULL), &call->state, sizeof call->state) == 0;
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
store_state (SkSession *session, gpointer data, GError **error)
{
  StateCall *call = data;
  g_autofree char *key = state_key (call->storage);

  return sk_index_set (session->index, key, &call->state, sizeof call->state, error);
}

gboolean
sk_membership_push (SkSession *session, SkFlowStorage *storage, SkConfig *config, GCancellable *cancellable, GError **error)
{
  StateCall call = { .storage = storage->row };

  sk_member_set_state (session->who.vault_name, config->members, config->keys, &call.state);
  return sk_session_index (session, load_state, &call, error)
         && (call.written || sk_membership_put (session, storage, config, cancellable, error));
}

gboolean
sk_membership_put (SkSession *session, SkFlowStorage *storage, SkConfig *config, GCancellable *cancellable, GError **error)
{
  StateCall call = { .storage = storage->row };
  g_autofree char *name = sk_member_set_object_name (&session->who.device);
  g_autoptr(GBytes) object = NULL;

  sk_member_set_state (session->who.vault_name, config->members, config->keys, &call.state);
  object = sk_member_set_build (&session->who.vault, &session->who.device, session->who.vault_name, config->members, config->keys, error);
  return object != NULL && sk_store_put_sync (storage->store, name, object, SK_PUT_OVERWRITE, cancellable, error)
         && sk_session_transact (session, store_state, &call, error);
}

gboolean
sk_membership_put_epoch (SkSession *session, SkStore *store, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  const SkId *epoch = sk_keyring_current (config->keys);
  g_autofree char *name = sk_epoch_object_name (epoch);
  g_autoptr(GBytes) object = sk_epoch_build (&session->who.vault, config->keys, epoch, config->members, &session->who.device,
                                             session->identity, error);

  return object != NULL && sk_store_put_sync (store, name, object, SK_PUT_OVERWRITE, cancellable, error);
}

/* --- those of others --- */

/* Index thread, in a transaction. */
static gboolean
add_records (SkSession *session, gpointer data, GError **error)
{
  GPtrArray *records = data;

  for (guint i = 0; i < records->len; i++)
    if (!sk_index_member_add (session->index, records->pdata[i], error))
      return FALSE;
  return TRUE;
}

gboolean
sk_membership_learn (SkSession *session, SkFlowStorage *storage, SkConfig *config, const SkDeviceId *device, gboolean *learnt,
                     GCancellable *cancellable, GError **error)
{
  g_autofree char *name = sk_member_set_object_name (device);
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) object = sk_store_get_sync (storage->store, name, SK_MEMBER_SET_MAX, cancellable, &local);
  g_autoptr(SkMembers) members = NULL;
  g_autoptr(GPtrArray) fresh = g_ptr_array_new ();
  g_auto(SkMemberSet) set = { 0 };

  if (object == NULL)
    {
      if (g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
        return TRUE;
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (!sk_member_set_open (object, &session->who.vault, device, config->keys, &set, error))
    return FALSE;
  members = sk_members_copy (config->members);
  for (guint i = 0; i < set.records->len; i++)
    {
      gboolean is_new = FALSE;

      /* One that nobody can have signed is left out; the others stand. */
      if (sk_members_add (members, set.records->pdata[i], &is_new, NULL) && is_new)
        g_ptr_array_add (fresh, set.records->pdata[i]);
    }
  if (fresh->len == 0)
    return TRUE;
  *learnt = TRUE;
  return sk_session_transact (session, add_records, fresh, error);
}

gboolean
sk_membership_read_all (SkStore *store, const SkId *vault, SkKeyring *keys, SkMembers *members, char **vault_name,
                        GCancellable *cancellable, GError **error)
{
  g_autoptr(GPtrArray) items = sk_store_list_sync (store, "members/", cancellable, error);
  g_autoptr(GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  GPtrArray *devices;

  *vault_name = NULL;
  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    {
      const SkStoreItem *item = items->pdata[i];
      g_autoptr(GError) local = NULL;
      g_autoptr(GBytes) object = NULL;
      g_auto(SkMemberSet) set = { 0 };
      SkDeviceId device;
      char hex[SK_DEVICE_ID_HEX_SIZE];

      if (!sk_member_set_parse_name (item->name, &device))
        continue;
      object = sk_store_get_sync (store, item->name, SK_MEMBER_SET_MAX, cancellable, &local);
      if (object == NULL && !g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND) && !g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (object == NULL || !sk_member_set_open (object, vault, &device, keys, &set, &local))
        {
          g_message ("“%s” is left out: %s", item->name, local->message);
          continue;
        }
      for (guint k = 0; k < set.records->len; k++)
        (void) sk_members_add (members, set.records->pdata[k], NULL, NULL);
      sk_device_id_format (&device, hex);
      g_hash_table_insert (names, g_strdup (hex), g_steal_pointer (&set.vault_name));
    }
  /* In order of enrolment, so that the first device that is still there has the word. */
  devices = sk_members_devices (members);
  for (guint i = 0; *vault_name == NULL && i < devices->len; i++)
    {
      const SkDevice *device = devices->pdata[i];
      char hex[SK_DEVICE_ID_HEX_SIZE];

      sk_device_id_format (&device->id, hex);
      if (!device->revoked)
        *vault_name = g_strdup (g_hash_table_lookup (names, hex));
    }
  return TRUE;
}

/* --- the sponsor's positions --- */

static char *
sponsor_key (gint64 storage)
{
  return g_strdup_printf ("sponsor:%" G_GINT64_FORMAT, storage);
}

gboolean
sk_sponsor_keep (SkIndex *index, gint64 storage, GArray *positions, GError **error)
{
  g_autofree char *key = sponsor_key (storage);

  return sk_index_set (index, key, positions->data, positions->len * sizeof (SkPosition), error);
}

gboolean
sk_sponsor_is_reached (SkIndex *index, gint64 storage)
{
  g_autofree char *key = sponsor_key (storage);
  g_autoptr(GBytes) kept = sk_index_get (index, key);
  gsize size;
  const guint8 *data = kept != NULL ? g_bytes_get_data (kept, &size) : NULL;

  if (data == NULL)
    return TRUE;
  for (gsize at = 0; at + sizeof (SkPosition) <= size; at += sizeof (SkPosition))
    {
      SkPosition wanted, have;

      memcpy (&wanted, data + at, sizeof wanted);
      if (!sk_index_position (index, &wanted.writer, &have) || have.seq < wanted.seq)
        return FALSE;
    }
  return TRUE;
}
