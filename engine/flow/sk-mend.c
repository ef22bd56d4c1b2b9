/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-mend.h"

#include "sk-epochs.h"
#include "sk-member-set.h"
#include "sk-membership.h"
#include "sk-snapshot-flow.h"
#include "sk-snapshot.h"

typedef struct
{
  SkSession *session;
  SkFlowStorage *storage;
  SkConfig *config;
  SkMendFlags flags;
  SkMendFunc found;
  gpointer user_data;
  SkMendCount *count;
  GCancellable *cancellable;
  GArray *positions;             /* SkPosition: how far the storage has each log */
  /* one segment */
  SkPosition at;
  GBytes *segment;               /* NULL: it was never read here, a snapshot told what it says */
  GHashTable *epochs;            /* SkId: what the segments in this storage were sealed under */
  SkSnapshotRef snapshot;        /* the newest one that is known here; seq 0: none */
} Mend;

/* Of an object that cannot be had: it is the object's fault, and not the way's. */
static gboolean
is_damage (const GError *error)
{
  return g_error_matches (error, SK_ERROR, SK_ERROR_CORRUPT) || g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND)
         || g_error_matches (error, SK_ERROR, SK_ERROR_LIMIT) || g_error_matches (error, SK_ERROR, SK_ERROR_UNTRUSTED)
         || g_error_matches (error, SK_ERROR, SK_ERROR_WRONG_KEY);
}

/* @put: what mends it; only called where that is wanted. */
static gboolean
tell (Mend *self, const char *name, const GError *damage, gboolean (*put) (Mend *self, const char *name, GError **error), GError **error)
{
  const char *why = g_error_matches (damage, SK_ERROR, SK_ERROR_NOT_FOUND) ? "missing" : damage->message;
  g_autoptr(GError) local = NULL;
  g_autofree char *text = NULL;

  if ((self->flags & SK_MEND_PUT) == 0)
    {
      self->found (self->storage, name, why, FALSE, self->user_data);
      return TRUE;
    }
  if (put (self, name, &local))
    {
      self->found (self->storage, name, why, TRUE, self->user_data);
      return TRUE;
    }
  if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
    return FALSE;
  text = g_strdup_printf ("%s; it could not be put again: %s", why, local->message);
  self->found (self->storage, name, text, FALSE, self->user_data);
  return TRUE;
}

/* --- segments --- */

/* Index thread. */
static gboolean
load_positions (SkSession *session, gpointer data, GError **error)
{
  Mend *self = data;
  g_autoptr(GArray) written = sk_index_storage_positions (session->index, self->storage->row, TRUE, error);

  if (written == NULL)
    return FALSE;
  self->positions = sk_index_storage_positions (session->index, self->storage->row, FALSE, error);
  if (self->positions == NULL)
    return FALSE;
  for (guint i = 0; i < written->len; i++)
    {
      const SkPosition *own = &g_array_index (written, SkPosition, i);
      const SkPosition *read = sk_positions_find (self->positions, &own->writer);

      if (read == NULL || read->seq < own->seq)
        g_array_append_val (self->positions, *own);
    }
  return TRUE;
}

/* Index thread. */
static gboolean
load_segment (SkSession *session, gpointer data, GError **error)
{
  Mend *self = data;
  SkSegmentHeader header;

  g_clear_pointer (&self->segment, g_bytes_unref);
  self->segment = sk_index_segment_bytes (session->index, &self->at.writer, self->at.seq, &self->at.hash);
  if (self->segment != NULL && sk_segment_peek (self->segment, &header, NULL))
    g_hash_table_add (self->epochs, g_memdup2 (&header.epoch, sizeof header.epoch));
  return TRUE;
}

static gboolean
put_segment (Mend *self, const char *name, GError **error)
{
  return sk_store_put_sync (self->storage->store, name, self->segment, SK_PUT_NONE, self->cancellable, error);
}

/* @size: as LIST shows it, NULL when it does not. LIST is a hint (C10): what it does not show is asked for by name. */
static gboolean
check_segment (Mend *self, const char *name, const guint64 *size, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) object = NULL;

  self->count->objects++;
  if (size != NULL && *size == g_bytes_get_size (self->segment) && (self->flags & SK_MEND_READ) == 0)
    return TRUE;
  object = sk_store_get_sync (self->storage->store, name, SK_SEGMENT_SIZE_MAX, self->cancellable, &local);
  if (object != NULL)
    {
      self->count->bytes += g_bytes_get_size (object);
      return TRUE;
    }
  if (is_damage (local))
    return tell (self, name, local, put_segment, error);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static gboolean
check_log (Mend *self, const SkPosition *end, GError **error)
{
  char hex[SK_ID_HEX_SIZE];
  g_autofree char *prefix = NULL;
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GHashTable) there = g_hash_table_new (g_str_hash, g_str_equal);

  sk_id_format (&end->writer, hex);
  prefix = g_strdup_printf ("log/%s/", hex);
  items = sk_store_list_sync (self->storage->store, prefix, self->cancellable, error);
  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    g_hash_table_insert (there, ((SkStoreItem *) items->pdata[i])->name, &((SkStoreItem *) items->pdata[i])->size);
  for (guint64 seq = 1; seq <= end->seq; seq++)
    {
      g_autofree char *name = NULL;

      self->at = (SkPosition) { .writer = end->writer, .seq = seq };
      if (g_cancellable_set_error_if_cancelled (self->cancellable, error) || !sk_session_index (self->session, load_segment, self, error))
        return FALSE;
      if (self->segment == NULL)
        continue;
      name = sk_segment_object_name (&self->at.writer, seq, &self->at.hash);
      if (!check_segment (self, name, g_hash_table_lookup (there, name), error))
        return FALSE;
    }
  return TRUE;
}

/* --- what opens the logs --- */

static gboolean
put_epoch (Mend *self, const char *name, GError **error)
{
  return sk_membership_put_epoch (self->session, self->storage->store, self->cancellable, error);
}

static gboolean
put_members (Mend *self, const char *name, GError **error)
{
  return sk_membership_put (self->session, self->storage, self->config, self->cancellable, error);
}

/* The signature is over all of it. Whether this device is among those it is for does not matter: any one that was put will do, and this device
 * has the keys. */
static gboolean
read_epoch (Mend *self, const char *name, GError **error)
{
  g_autoptr(GBytes) object = sk_store_get_sync (self->storage->store, name, SK_SMALL_OBJECT_MAX, self->cancellable, error);
  SkId epoch;

  return object != NULL && sk_epoch_usable (object, &self->session->who.vault, self->config->members, &epoch, error);
}

static gboolean
read_members (Mend *self, const char *name, GError **error)
{
  g_autoptr(GBytes) object = sk_store_get_sync (self->storage->store, name, SK_MEMBER_SET_MAX, self->cancellable, error);
  g_auto(SkMemberSet) set = { 0 };

  return object != NULL
         && sk_member_set_open (object, &self->session->who.vault, &self->session->who.device, self->config->keys, &set, error);
}

static gboolean
check_object (Mend *self, const char *name, gboolean (*read) (Mend *self, const char *name, GError **error),
              gboolean (*put) (Mend *self, const char *name, GError **error), GError **error)
{
  g_autoptr(GError) local = NULL;

  self->count->objects++;
  if (read (self, name, &local))
    return TRUE;
  if (is_damage (local))
    return tell (self, name, local, put, error);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* Only where this device has published: before that it has put neither. */
static gboolean
check_keys (Mend *self, GError **error)
{
  g_autofree char *epoch = sk_epoch_object_name (sk_keyring_current (self->config->keys));
  g_autofree char *members = sk_member_set_object_name (&self->session->who.device);

  return check_object (self, epoch, read_epoch, put_epoch, error) && check_object (self, members, read_members, put_members, error);
}

/* --- older epochs: without them the recovery phrase does not open what was written before the last one --- */

static gboolean
read_old_epoch (Mend *self, const char *name, GError **error)
{
  g_autoptr(GBytes) object = sk_store_get_sync (self->storage->store, name, SK_SMALL_OBJECT_MAX, self->cancellable, error);
  SkId epoch;

  return object != NULL && sk_epoch_is_genuine (object, &self->session->who.vault, self->config->members, &epoch, error);
}

static gboolean
copy_old_epoch (Mend *self, const char *name, GError **error)
{
  return sk_epochs_copy (self->session, self->storage, self->config, name, self->cancellable, error);
}

static gboolean
check_old_epochs (Mend *self, GError **error)
{
  GHashTableIter iter;
  gpointer epoch;

  g_hash_table_iter_init (&iter, self->epochs);
  while (g_hash_table_iter_next (&iter, &epoch, NULL))
    {
      g_autofree char *name = sk_epoch_object_name (epoch);

      if (!sk_id_equal (epoch, sk_keyring_current (self->config->keys)) && !check_object (self, name, read_old_epoch, copy_old_epoch, error))
        return FALSE;
    }
  return TRUE;
}

/* --- the snapshot --- */

/* Index thread. */
static gboolean
load_snapshot (SkSession *session, gpointer data, GError **error)
{
  Mend *self = data;

  if (!sk_snapshot_ref_load (session, self->storage->row, &self->snapshot))
    self->snapshot.seq = 0;
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
forget_snapshot (SkSession *session, gpointer data, GError **error)
{
  Mend *self = data;

  return sk_snapshot_forget (session, self->storage->row, error);
}

/* A new one takes its place, whole: what the logs say is here. */
static gboolean
put_snapshot (Mend *self, const char *name, GError **error)
{
  const SkSnapshotRef damaged = self->snapshot;
  const gint64 none = -1;
  SkUpResult pushed;

  if (!sk_session_transact (self->session, forget_snapshot, self, error)
      || !sk_up_sync (self->session->up, &none, 1, &pushed, self->cancellable, error))
    return FALSE;
  sk_up_result_clear (&pushed);
  if (!sk_session_index (self->session, load_snapshot, self, error))
    return FALSE;
  return (self->snapshot.seq != 0 && !sk_hash_equal (&self->snapshot.hash, &damaged.hash))
         || sk_fail (error, SK_ERROR_FAILED, "the logs are too short for another one; it is not named any more, and the logs tell the same");
}

static SkSnapshot *
read_snapshot (Mend *self, const char *name, GError **error)
{
  SkDeviceId device = sk_id_device (&self->snapshot.writer);
  const SkPublicKey *key = sk_members_sign_key (self->config->members, &device);
  g_autoptr(GBytes) object = sk_store_get_sync (self->storage->store, name, SK_SEGMENT_SIZE_MAX, self->cancellable, error);
  gsize len;
  const guint8 *bytes;
  SkHash hash;

  if (object == NULL)
    return NULL;
  bytes = g_bytes_get_data (object, &len);
  sk_sha256 (bytes, len, &hash);
  self->count->bytes += len;
  if (key == NULL || !sk_hash_equal (&hash, &self->snapshot.hash))
    return sk_fail (error, SK_ERROR_CORRUPT, "it is not the snapshot that was put there"), NULL;
  return sk_snapshot_open (object, key, &self->session->who.vault, self->config->keys, error);
}

static gboolean
check_part (Mend *self, const char *name, const SkPartRef *ref, const guint64 *size, GError **error)
{
  g_autoptr(GBytes) object = NULL;

  self->count->objects++;
  if (size != NULL && *size == ref->size && (self->flags & SK_MEND_READ) == 0)
    return TRUE;
  object = sk_store_get_sync (self->storage->store, name, ref->size, self->cancellable, error);
  if (object != NULL)
    self->count->bytes += g_bytes_get_size (object);
  return object != NULL;
}

/* One part that is damaged makes all of it useless: the first one is told, and mended with the whole. */
static gboolean
check_parts (Mend *self, SkSnapshot *snapshot, GError **error)
{
  g_autoptr(GPtrArray) items = sk_store_list_sync (self->storage->store, "snap/parts/", self->cancellable, error);
  g_autoptr(GHashTable) there = g_hash_table_new (g_str_hash, g_str_equal);

  if (items == NULL)
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    g_hash_table_insert (there, ((SkStoreItem *) items->pdata[i])->name, &((SkStoreItem *) items->pdata[i])->size);
  for (guint i = 0; i < snapshot->parts->len; i++)
    {
      const SkPartRef *ref = &g_array_index (snapshot->parts, SkPartRef, i);
      g_autofree char *name = sk_part_object_name (&ref->name);
      g_autoptr(GError) local = NULL;

      if (check_part (self, name, ref, g_hash_table_lookup (there, name), &local))
        continue;
      if (is_damage (local))
        return tell (self, name, local, put_snapshot, error);
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_snapshot (Mend *self, GError **error)
{
  g_autofree char *name = NULL;
  g_autoptr(SkSnapshot) snapshot = NULL;
  g_autoptr(GError) local = NULL;

  if (!sk_session_index (self->session, load_snapshot, self, error))
    return FALSE;
  if (self->snapshot.seq == 0)
    return TRUE;
  name = sk_snapshot_object_name (&self->snapshot.writer, self->snapshot.seq);
  self->count->objects++;
  snapshot = read_snapshot (self, name, &local);
  if (snapshot != NULL)
    return check_parts (self, snapshot, error);
  if (is_damage (local))
    return tell (self, name, local, put_snapshot, error);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

gboolean
sk_mend_storage (SkSession *session, SkFlowStorage *storage, SkMendFlags flags, SkMendFunc found, gpointer user_data, SkMendCount *count,
                 GCancellable *cancellable, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  Mend self = { .session = session, .storage = storage, .config = config, .flags = flags, .found = found, .user_data = user_data, .count = count,
                .cancellable = cancellable };
  gboolean ok = sk_session_index (session, load_positions, &self, error);
  g_autoptr(GArray) positions = self.positions;
  g_autoptr(GHashTable) epochs = g_hash_table_new_full (sk_id_hash, sk_id_equal_func, g_free, NULL);

  self.epochs = epochs;
  if (ok && sk_positions_find (positions, &session->who.writer) != NULL)
    ok = check_keys (&self, error);
  for (guint i = 0; ok && i < positions->len; i++)
    ok = check_log (&self, &g_array_index (positions, SkPosition, i), error);
  g_clear_pointer (&self.segment, g_bytes_unref);
  return ok && check_old_epochs (&self, error) && check_snapshot (&self, error);
}
