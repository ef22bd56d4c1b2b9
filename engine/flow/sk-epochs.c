/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-epochs.h"

#include <string.h>

#include "sk-limits.h"
#include "sk-membership.h"

#define KEPT_NAME "epochs.bin"
#define KEPT_VERSION 1
#define KEPT_MAX (64u << 20)

/* --- one object --- */

/* The keys in @object; NULL when it is not for this device, of another vault, or has another id key: that one never changes. */
static SkKeyring *
open_epoch (GBytes *object, const SkId *vault, SkMembers *members, SkIdentity *identity, SkKeyring *own, SkId *epoch, GError **error)
{
  g_autoptr(SkKeyring) keys = NULL;
  SkPublicKey sign, box;

  if (!sk_epoch_open (object, vault, members, identity, epoch, &keys, &sign, &box, error))
    return NULL;
  if (!sk_keyring_shares_id_key (keys, own))
    {
      sk_fail (error, SK_ERROR_UNTRUSTED, "its id key is not that of this vault");
      return NULL;
    }
  return g_steal_pointer (&keys);
}

/* @own with the keys of @more; what is written with stays. (transfer full) */
static SkKeyring *
add_older (SkKeyring *own, SkKeyring *more)
{
  return sk_keyring_with_epochs_of (more, own);
}

/* @epoch, which @keys has, is written with from now on. (transfer full) */
static SkKeyring *
make_current (SkKeyring *keys, const SkId *epoch)
{
  const SkKey unused = { { 0 } };

  return sk_keyring_with_epoch (keys, epoch, &unused);
}

/* --- kept in the home: u8 version, id of the epoch that is written with, varint n, n x (varint length, object) --- */

static GPtrArray *
parse_kept (GBytes *bytes, SkId *current)
{
  g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  gsize size, len;
  const guint8 *data = bytes != NULL ? g_bytes_get_data (bytes, &size) : NULL;
  SkReader r;
  guint64 n;

  if (data == NULL)
    return g_steal_pointer (&objects);
  sk_reader_init (&r, data, size);
  if (sk_reader_u8 (&r) != KEPT_VERSION)
    return g_steal_pointer (&objects);
  sk_reader_id (&r, current);
  n = sk_reader_varint (&r, SK_EPOCHS_MAX);
  for (guint64 i = 0; i < n; i++)
    {
      const guint8 *object = sk_reader_blob (&r, SK_SMALL_OBJECT_MAX, &len);

      if (object == NULL)
        break;
      g_ptr_array_add (objects, g_bytes_new (object, len));
    }
  return g_steal_pointer (&objects);
}

/* What is damaged is fetched again when it is needed: the storages have it. */
SkKeyring *
sk_epochs_load (SkHome *home, const SkId *vault, SkIdentity *identity, SkKeyring *keys)
{
  g_autoptr(GBytes) bytes = sk_home_read_file (home, KEPT_NAME, KEPT_MAX, NULL);
  SkId current = { { 0 } };
  g_autoptr(GPtrArray) objects = parse_kept (bytes, &current);
  g_autoptr(SkKeyring) all = sk_keyring_ref (keys);

  for (guint i = 0; i < objects->len; i++)
    {
      SkId epoch;
      g_autoptr(GError) error = NULL;
      g_autoptr(SkKeyring) more = open_epoch (objects->pdata[i], vault, NULL, identity, all, &epoch, &error), before = NULL;

      if (more == NULL)
        {
          g_message ("an epoch kept in the home is left out: %s", error->message);
          continue;
        }
      before = all;
      all = add_older (before, more);
    }
  return sk_keyring_has_epoch (all, &current) ? make_current (all, &current) : g_steal_pointer (&all);
}

static gboolean
keep (SkSession *session, GPtrArray *fresh, const SkId *current, GError **error)
{
  g_autoptr(GBytes) before = sk_home_read_file (session->home, KEPT_NAME, KEPT_MAX, NULL), after = NULL;
  SkId unused;
  g_autoptr(GPtrArray) objects = parse_kept (before, &unused);
  g_auto(SkWriter) w = { 0 };

  for (guint i = 0; i < fresh->len; i++)
    g_ptr_array_add (objects, g_bytes_ref (fresh->pdata[i]));
  sk_writer_init (&w);
  sk_writer_u8 (&w, KEPT_VERSION);
  sk_writer_id (&w, current);
  sk_writer_varint (&w, objects->len);
  for (guint i = 0; i < objects->len; i++)
    {
      gsize len;
      gconstpointer data = g_bytes_get_data (objects->pdata[i], &len);

      sk_writer_blob (&w, data, len);
    }
  after = sk_writer_finish (&w);
  return sk_home_write_file (session->home, KEPT_NAME, g_bytes_get_data (after, NULL), g_bytes_get_size (after), error);
}

/* --- from a storage --- */

void
sk_epochs_clear (SkEpochs *self)
{
  g_clear_pointer (&self->objects, g_ptr_array_unref);
}

/* FALSE: the storage cannot be read. */
static gboolean
read_one (SkEpochs *self, SkSession *session, SkFlowStorage *storage, const char *name, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) object = NULL;
  g_autoptr(SkKeyring) keys = NULL, all = NULL;
  SkId named, epoch;

  if (!g_str_has_prefix (name, "epochs/") || !sk_id_parse (name + strlen ("epochs/"), &named, NULL) || sk_keyring_has_epoch (config->keys, &named))
    return TRUE;
  object = sk_store_get_sync (storage->store, name, SK_SMALL_OBJECT_MAX, cancellable, &local);
  if (object == NULL && (g_error_matches (local, SK_ERROR, SK_ERROR_OFFLINE) || g_cancellable_is_cancelled (cancellable)))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (object != NULL)
    keys = open_epoch (object, &session->who.vault, config->members, session->identity, config->keys, &epoch, &local);
  if (keys == NULL || !sk_id_equal (&epoch, &named))
    {
      g_message ("“%s” in storage “%s” is left out: %s", name, storage->name, local != NULL ? local->message : "it is another epoch");
      return TRUE;
    }
  all = add_older (config->keys, keys);
  sk_session_set_keys (session, all);
  if (self->objects == NULL)
    self->objects = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_ptr_array_add (self->objects, g_steal_pointer (&object));
  return TRUE;
}

gboolean
sk_epochs_read (SkEpochs *self, SkSession *session, SkFlowStorage *storage, gboolean *learnt, GCancellable *cancellable, GError **error)
{
  g_autoptr(GPtrArray) items = sk_store_list_sync (storage->store, "epochs/", cancellable, error);
  guint before = self->objects != NULL ? self->objects->len : 0;

  *learnt = FALSE;
  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len && i < 2 * SK_EPOCHS_MAX; i++)
    if (!read_one (self, session, storage, ((SkStoreItem *) items->pdata[i])->name, cancellable, error))
      return FALSE;
  *learnt = self->objects != NULL && self->objects->len > before;
  return TRUE;
}

gboolean
sk_epochs_settle (SkEpochs *self, SkSession *session, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  SkId current = *sk_keyring_current (config->keys);

  if (self->objects == NULL || self->objects->len == 0)
    return TRUE;
  for (guint i = 0; i < self->objects->len; i++)
    {
      SkId epoch;

      if (sk_epoch_usable (self->objects->pdata[i], &session->who.vault, config->members, &epoch, NULL))
        current = epoch;
    }
  /* Kept before anything is sealed with it: nobody but its maker may have it in a home yet. */
  if (!keep (session, self->objects, &current, error))
    return FALSE;
  g_ptr_array_set_size (self->objects, 0);
  if (!sk_id_equal (&current, sk_keyring_current (config->keys)))
    {
      g_autoptr(SkKeyring) keys = make_current (config->keys, &current);

      sk_session_set_keys (session, keys);
    }
  sk_up_refresh (session->up);
  return TRUE;
}

/* --- into a storage that lacks some --- */

static GBytes *
find_kept (SkSession *session, SkConfig *config, const char *name)
{
  g_autoptr(GBytes) bytes = sk_home_read_file (session->home, KEPT_NAME, KEPT_MAX, NULL);
  SkId unused;
  g_autoptr(GPtrArray) objects = parse_kept (bytes, &unused);

  for (guint i = 0; i < objects->len; i++)
    {
      g_autofree char *its = NULL;
      SkId epoch;

      if (!sk_epoch_is_genuine (objects->pdata[i], &session->who.vault, config->members, &epoch, NULL))
        continue;
      its = sk_epoch_object_name (&epoch);
      if (g_str_equal (its, name))
        return g_bytes_ref (objects->pdata[i]);
    }
  return NULL;
}

/* Of another storage. *@away: one that may have it cannot be read. */
static GBytes *
find_elsewhere (SkSession *session, SkFlowStorage *storage, SkConfig *config, const char *name, gboolean *away, GCancellable *cancellable)
{
  for (guint i = 0; i < config->storages->len; i++)
    {
      SkFlowStorage *other = config->storages->pdata[i];
      g_autoptr(GError) local = NULL;
      g_autoptr(GBytes) object = NULL;
      g_autofree char *own = NULL;
      SkId epoch;

      if (other->row == storage->row)
        continue;
      object = sk_store_get_sync (other->store, name, SK_SMALL_OBJECT_MAX, cancellable, &local);
      if (object != NULL && sk_epoch_is_genuine (object, &session->who.vault, config->members, &epoch, NULL))
        own = sk_epoch_object_name (&epoch);
      /* Another one under this name would count as there for ever. */
      if (own != NULL && g_str_equal (own, name))
        return g_steal_pointer (&object);
      *away |= local != NULL && !g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND) && !g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT);
    }
  return NULL;
}

/* Only as it was: made anew it would be boxed to those who are members today, and look as if nobody else had its keys. */
gboolean
sk_epochs_copy (SkSession *session, SkFlowStorage *storage, SkConfig *config, const char *name, GCancellable *cancellable, GError **error)
{
  gboolean away = FALSE;
  g_autoptr(GBytes) object = find_kept (session, config, name);

  if (object == NULL)
    object = find_elsewhere (session, storage, config, name, &away, cancellable);
  if (object != NULL)
    return sk_store_put_sync (storage->store, name, object, SK_PUT_OVERWRITE, cancellable, error);
  if (away)
    return sk_fail (error, SK_ERROR_OFFLINE, "no storage that can be read now has it");
  return sk_fail (error, SK_ERROR_NOT_FOUND, "no other storage that is attached here has it. The devices have its keys and go on; only the recovery "
                  "phrase could not open what was written under it");
}

typedef struct
{
  char *key;
  SkHash known;                  /* over the ids of the epochs that are known here */
  gboolean done;                 /* with these the storage was looked at */
} PushCall;

/* Index thread. */
static gboolean
load_pushed (SkSession *session, gpointer data, GError **error)
{
  PushCall *call = data;
  g_autoptr(GBytes) noted = sk_index_get (session->index, call->key);

  call->done = noted != NULL && g_bytes_get_size (noted) == sizeof call->known
               && memcmp (g_bytes_get_data (noted, NULL), &call->known, sizeof call->known) == 0;
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
store_pushed (SkSession *session, gpointer data, GError **error)
{
  PushCall *call = data;

  return sk_index_set (session->index, call->key, &call->known, sizeof call->known, error);
}

static void
hash_epochs (SkKeyring *keys, SkHash *out)
{
  g_auto(SkWriter) w = { 0 };

  sk_writer_init (&w);
  for (guint i = 0; i < sk_keyring_n_epochs (keys); i++)
    sk_writer_id (&w, sk_keyring_epoch (keys, i));
  sk_blake2b (w.bytes->data, w.bytes->len, out);
}

/* FALSE: the storage cannot be written. *@missed: it may be there to be put another time. */
static gboolean
push_one (SkSession *session, SkFlowStorage *storage, SkConfig *config, const SkId *epoch, gboolean *missed, GCancellable *cancellable, GError **error)
{
  g_autofree char *name = sk_epoch_object_name (epoch);
  g_autoptr(GError) local = NULL;

  if (sk_id_equal (epoch, sk_keyring_current (config->keys)))
    return sk_membership_put_epoch (session, storage->store, cancellable, error);
  if (sk_epochs_copy (session, storage, config, name, cancellable, &local))
    return TRUE;
  if (g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
    return TRUE;
  *missed = TRUE;
  g_message ("“%s” is put into storage “%s” later: %s", name, storage->name, local->message);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

gboolean
sk_epochs_push (SkSession *session, SkFlowStorage *storage, SkConfig *config, GCancellable *cancellable, GError **error)
{
  g_autofree char *key = g_strdup_printf ("epochs-put:%" G_GINT64_FORMAT, storage->row);
  PushCall call = { .key = key };
  g_autoptr(GHashTable) there = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr(GPtrArray) items = NULL;
  gboolean missed = FALSE;

  hash_epochs (config->keys, &call.known);
  if (!sk_session_index (session, load_pushed, &call, error))
    return FALSE;
  if (call.done)
    return TRUE;
  items = sk_store_list_sync (storage->store, "epochs/", cancellable, error);
  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    g_hash_table_add (there, ((SkStoreItem *) items->pdata[i])->name);
  for (guint i = 0; i < sk_keyring_n_epochs (config->keys); i++)
    {
      const SkId *epoch = sk_keyring_epoch (config->keys, i);
      g_autofree char *name = sk_epoch_object_name (epoch);

      if (!g_hash_table_contains (there, name) && !push_one (session, storage, config, epoch, &missed, cancellable, error))
        return FALSE;
    }
  return missed || sk_session_transact (session, store_pushed, &call, error);
}
