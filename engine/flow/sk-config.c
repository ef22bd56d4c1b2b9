/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-attachments.h"
#include "sk-known-root.h"
#include "sk-limits.h"
#include "sk-options.h"

static void
flow_storage_free (gpointer data)
{
  SkFlowStorage *self = data;

  g_clear_object (&self->store);
  g_free (self->name);
  g_free (self);
}

static void
flow_folder_free (gpointer data)
{
  SkFlowFolder *self = data;

  g_clear_pointer (&self->root, sk_root_unref);
  g_clear_pointer (&self->storages, g_array_unref);
  g_strfreev (self->only);
  g_free (self->name);
  g_free (self->path);
  g_free (self->why);
  g_free (self);
}

static SkConfig *
config_new (SkKeyring *keys, SkMembers *members)
{
  SkConfig *self = g_new0 (SkConfig, 1);

  g_atomic_ref_count_init (&self->refs);
  self->keys = sk_keyring_ref (keys);
  self->members = sk_members_copy (members);
  sk_members_devices (self->members);      /* evaluated once, here: from now on threads only read it */
  self->storages = g_ptr_array_new_with_free_func (flow_storage_free);
  self->folders = g_ptr_array_new_with_free_func (flow_folder_free);
  return self;
}

SkConfig *
sk_config_ref (SkConfig *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
sk_config_unref (SkConfig *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->refs))
    return;
  g_ptr_array_unref (self->folders);
  g_ptr_array_unref (self->storages);
  sk_members_free (self->members);
  sk_keyring_unref (self->keys);
  g_free (self);
}

SkFlowFolder *
sk_config_folder (SkConfig *self, gint64 row)
{
  for (guint i = 0; i < self->folders->len; i++)
    if (((SkFlowFolder *) self->folders->pdata[i])->row == row)
      return self->folders->pdata[i];
  return NULL;
}

SkFlowStorage *
sk_config_storage (SkConfig *self, gint64 row)
{
  for (guint i = 0; i < self->storages->len; i++)
    if (((SkFlowStorage *) self->storages->pdata[i])->row == row)
      return self->storages->pdata[i];
  return NULL;
}

typedef struct { int level; gboolean verify; } Tuning;

/* What the index knows, read in one go on its thread. */
typedef struct
{
  GPtrArray *storages, *folders, *members;
  GArray *tunings;               /* Tuning: of each storage */
  GArray *xattrs;                /* gboolean: of each folder */
} Rows;

static gboolean
read_rows (SkSession *session, gpointer data, GError **error)
{
  Rows *rows = data;

  rows->storages = sk_index_storages (session->index);
  rows->folders = sk_index_folders (session->index);
  rows->members = sk_index_members (session->index, error);
  rows->tunings = g_array_new (FALSE, FALSE, sizeof (Tuning));
  rows->xattrs = g_array_new (FALSE, FALSE, sizeof (gboolean));
  for (guint i = 0; i < rows->storages->len; i++)
    {
      const SkId *id = &((SkStorageRow *) rows->storages->pdata[i])->id;
      g_autofree char *verify = sk_option_get (session, SK_SETTING_STORAGE, id, "verify");
      Tuning tuning = { .level = (int) CLAMP (sk_option_number (session, SK_SETTING_STORAGE, id, "level"), 1, SK_ZSTD_LEVEL_MAX),
                        .verify = g_strcmp0 (verify, "on") == 0 };

      g_array_append_val (rows->tunings, tuning);
    }
  for (guint i = 0; i < rows->folders->len; i++)
    {
      g_autofree char *xattrs = sk_option_get (session, SK_SETTING_FOLDER, &((SkFolderRow *) rows->folders->pdata[i])->id, "xattrs");
      gboolean on = g_strcmp0 (xattrs, "on") == 0;

      g_array_append_val (rows->xattrs, on);
    }
  return rows->members != NULL;
}

static void
rows_clear (Rows *rows)
{
  g_clear_pointer (&rows->storages, g_ptr_array_unref);
  g_clear_pointer (&rows->folders, g_ptr_array_unref);
  g_clear_pointer (&rows->members, g_ptr_array_unref);
  g_clear_pointer (&rows->tunings, g_array_unref);
  g_clear_pointer (&rows->xattrs, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rows, rows_clear)

/* A store that is attached already keeps its object: connections, counters and what it knows about the place. */
static SkStore *
store_for (SkSession *session, SkConfig *old, const SkStorageRow *row, GError **error)
{
  SkFlowStorage *known = old != NULL ? sk_config_storage (old, row->row) : NULL;

  if (known != NULL && g_strcmp0 (sk_store_uri (known->store), row->uri) == 0)
    return g_object_ref (known->store);
  return sk_store_new (row->uri, &session->who.vault, session->store_pool, error);
}

static void
add_storages (SkSession *session, SkConfig *config, SkConfig *old, GPtrArray *rows, const GArray *tunings)
{
  for (guint i = 0; i < rows->len; i++)
    {
      SkStorageRow *row = rows->pdata[i];
      g_autoptr(GError) error = NULL;
      g_autofree char *key = g_strdup_printf ("storage:%" G_GINT64_FORMAT, row->row);
      SkFlowStorage *storage;
      SkStore *store;

      if (row->deleted || row->uri == NULL)
        continue;
      store = store_for (session, old, row, &error);
      if (store == NULL)
        {
          sk_session_raise (session, key, "storage", 0, NULL, "%s", error->message);
          config->incomplete = TRUE;
          continue;
        }
      storage = g_new0 (SkFlowStorage, 1);
      storage->row = row->row;
      storage->id = row->id;
      storage->name = g_strdup (row->name);
      storage->store = store;
      storage->level = g_array_index (tunings, Tuning, i).level;
      storage->verify = g_array_index (tunings, Tuning, i).verify;
      g_ptr_array_add (config->storages, storage);
    }
}

static GArray *
placement (SkConfig *config, const SkFolderRow *row)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = 0; i < config->storages->len; i++)
    {
      SkFlowStorage *storage = config->storages->pdata[i];
      gboolean wanted = row->storages == NULL || row->storages->len == 0;

      for (guint k = 0; !wanted && k < row->storages->len; k++)
        wanted = sk_id_equal (&g_array_index (row->storages, SkId, k), &storage->id);
      if (wanted)
        g_array_append_val (rows, storage->row);
    }
  return rows;
}

static void
add_folders (SkSession *session, SkConfig *config, SkConfig *old, GPtrArray *rows, const GArray *xattrs)
{
  for (guint i = 0; i < rows->len; i++)
    {
      SkFolderRow *row = rows->pdata[i];
      SkFlowFolder *folder;

      if (row->deleted || row->path == NULL)
        continue;
      folder = g_new0 (SkFlowFolder, 1);
      folder->row = row->row;
      folder->id = row->id;
      folder->name = g_strdup (row->name);
      folder->path = g_strdup (row->path);
      folder->mode = row->mode;
      folder->only = g_strdupv (row->only);
      folder->xattrs = g_array_index (xattrs, gboolean, i);
      folder->storages = placement (config, row);
      folder->root = sk_known_root (session, row, old != NULL ? sk_config_folder (old, row->row) : NULL, &folder->why);
      config->incomplete |= folder->root == NULL;
      g_ptr_array_add (config->folders, folder);
    }
}

/* What cannot be used, and why; when all roots are known. */
static void
tell_roots (SkSession *session, SkConfig *config)
{
  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *folder = config->folders->pdata[i], *original = sk_known_root_original (config, folder);
      g_autofree char *missing = g_strdup_printf ("folder-missing:%" G_GINT64_FORMAT, folder->row);
      g_autofree char *copy = g_strdup_printf ("folder-copy:%" G_GINT64_FORMAT, folder->row);

      if (original != NULL)
        {
          folder->copied = original->copied = TRUE;
          sk_session_settle_issue (session, missing);
          sk_session_raise (session, copy, "folder-copy", folder->row, NULL,
                            "“%s” (folder “%s”) carries the marker of “%s” at “%s”: one is a copy of the other. “%s” is not synced and nothing that is "
                            "missing in either is removed elsewhere. Put the right one back or detach “%s”; or 'accept': what is there is “%s” from "
                            "now on", folder->path, folder->name, original->name, original->path, folder->name, folder->name, folder->name);
          continue;
        }
      sk_session_settle_issue (session, copy);
      if (folder->root == NULL)
        sk_session_raise (session, missing, "folder-missing", folder->row, NULL, "%s", folder->why);
      else
        sk_session_settle_issue (session, missing);
    }
}

/* A record that nobody can have signed, or one too many, is left out: it stands in somebody's log and must not stop anybody. */
static void
read_members (SkMembers *members, GPtrArray *records)
{
  for (guint i = 0; i < records->len; i++)
    {
      g_autoptr(GError) error = NULL;

      if (!sk_members_add (members, records->pdata[i], NULL, &error))
        g_message ("a membership record is left out: %s", error->message);
    }
}

static gboolean
reload (SkSession *self, GError **error)
{
  g_autoptr(SkConfig) old = sk_session_config (self);
  g_autoptr(SkConfig) config = NULL;
  g_autoptr(SkMembers) members = NULL;
  g_auto(Rows) rows = { NULL };

  if (!sk_session_index (self, read_rows, &rows, error))
    return FALSE;
  members = sk_members_new (&self->who.vault, &self->who.recovery_sign, &self->who.recovery_box, error);
  if (members == NULL)
    return FALSE;
  read_members (members, rows.members);
  config = config_new (old->keys, members);
  add_storages (self, config, old, rows.storages, rows.tunings);
  add_folders (self, config, old, rows.folders, rows.xattrs);
  tell_roots (self, config);
  sk_known_root_release (self, config);
  g_mutex_lock (&self->lock);
  sk_config_unref (self->config);
  self->config = sk_config_ref (config);
  g_mutex_unlock (&self->lock);
  sk_attachments_save (self, rows.storages, rows.folders, members);
  sk_session_touch_report (self);
  return TRUE;
}

gboolean
sk_session_reload (SkSession *self, GError **error)
{
  gboolean ok;

  g_mutex_lock (&self->reloading);
  ok = reload (self, error);
  g_mutex_unlock (&self->reloading);
  return ok;
}

SkConfig *
sk_session_config (SkSession *self)
{
  SkConfig *config;

  g_mutex_lock (&self->lock);
  config = sk_config_ref (self->config);
  g_mutex_unlock (&self->lock);
  return config;
}

void
sk_session_set_keys (SkSession *self, SkKeyring *keys)
{
  g_autoptr(SkMembers) none = self->config == NULL
                                ? sk_members_new (&self->who.vault, &self->who.recovery_sign, &self->who.recovery_box, NULL) : NULL;
  SkConfig *config;

  g_mutex_lock (&self->reloading);         /* what is made meanwhile would bring the old keys back */
  g_mutex_lock (&self->lock);
  config = config_new (keys, none != NULL ? none : self->config->members);
  if (self->config != NULL)
    {
      /* Same storages and folders: the arrays are immutable, so they are shared. */
      g_ptr_array_unref (config->storages);
      g_ptr_array_unref (config->folders);
      config->storages = g_ptr_array_ref (self->config->storages);
      config->folders = g_ptr_array_ref (self->config->folders);
      sk_config_unref (self->config);
    }
  self->config = config;
  g_mutex_unlock (&self->lock);
  g_mutex_unlock (&self->reloading);
}
