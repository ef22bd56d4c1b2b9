/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-attachments.h"

#include <glib/gstdio.h>

#include "sk-limits.h"
#include "sk-member-set.h"

#define LIST_NAME "attachments.json"
#define MEMBERS_NAME "members.bin"
#define LIST_SIZE_MAX (16u << 20)        /* 64 storages, and a few hundred folders with the longest paths */
#define ISSUE_KEY "attachments"

struct _SkAttachments
{
  GBytes *list;                  /* as it lies in the home; NULL: not looked yet */
  SkHash members;                /* state of what lies there */
  gboolean has_members;
};

SkAttachments *
sk_attachments_new (void)
{
  return g_new0 (SkAttachments, 1);
}

void
sk_attachments_free (SkAttachments *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->list, g_bytes_unref);
  g_free (self);
}

/* --- saving --- */

static GBytes *
format_rows (GPtrArray *storages, GPtrArray *folders)
{
  g_auto(SkAttachedList) list = { NULL };

  sk_attached_list_init (&list);
  for (guint i = 0; i < storages->len; i++)
    {
      const SkStorageRow *row = storages->pdata[i];
      SkAttachedStorage *storage;

      if (row->uri == NULL || row->deleted)
        continue;
      storage = g_new0 (SkAttachedStorage, 1);
      *storage = (SkAttachedStorage) { .id = row->id, .name = g_strdup (row->name), .uri = g_strdup (row->uri) };
      g_ptr_array_add (list.storages, storage);
    }
  for (guint i = 0; i < folders->len; i++)
    {
      const SkFolderRow *row = folders->pdata[i];
      SkAttachedFolder *folder;

      if (row->path == NULL || row->deleted)
        continue;
      folder = g_new0 (SkAttachedFolder, 1);
      *folder = (SkAttachedFolder) { .id = row->id, .name = g_strdup (row->name), .path = g_strdup (row->path), .mode = row->mode,
                                     .only = g_strdupv (row->only) };
      g_ptr_array_add (list.folders, folder);
    }
  return sk_attached_list_format (&list);
}

static gboolean
save_list (SkSession *session, GPtrArray *storages, GPtrArray *folders, GError **error)
{
  SkAttachments *self = session->attachments;
  g_autoptr(GBytes) list = format_rows (storages, folders);

  if (self->list == NULL)
    self->list = sk_home_read_file (session->home, LIST_NAME, LIST_SIZE_MAX, NULL);
  if (self->list != NULL && g_bytes_equal (self->list, list))
    return TRUE;
  if (!sk_home_write_file (session->home, LIST_NAME, g_bytes_get_data (list, NULL), g_bytes_get_size (list), error))
    return FALSE;
  g_clear_pointer (&self->list, g_bytes_unref);
  self->list = g_steal_pointer (&list);
  return TRUE;
}

static gboolean
save_members (SkSession *session, SkMembers *members, GError **error)
{
  SkAttachments *self = session->attachments;
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GBytes) object = NULL;
  SkHash state;

  sk_member_set_state (session->who.vault_name, members, config->keys, &state);
  if (self->has_members && sk_hash_equal (&self->members, &state))
    return TRUE;
  object = sk_member_set_build (&session->who.vault, &session->who.device, session->who.vault_name, members, config->keys, error);
  if (object == NULL
      || !sk_home_write_file (session->home, MEMBERS_NAME, g_bytes_get_data (object, NULL), g_bytes_get_size (object), error))
    return FALSE;
  self->members = state;
  self->has_members = TRUE;
  return TRUE;
}

void
sk_attachments_save (SkSession *session, GPtrArray *storages, GPtrArray *folders, SkMembers *members)
{
  g_autoptr(GError) error = NULL;

  if (save_list (session, storages, folders, &error) && save_members (session, members, &error))
    sk_session_settle_issue (session, ISSUE_KEY);
  else
    sk_session_raise (session, ISSUE_KEY, "home", 0, NULL,
                      "What is attached on this device could not be written down in its home, so it would not survive the loss of the database: %s",
                      error->message);
}

/* --- restoring --- */

typedef struct
{
  SkAttachedList list;
  SkMemberSet members;
} Restore;

static void
restore_clear (Restore *self)
{
  sk_attached_list_clear (&self->list);
  sk_member_set_clear (&self->members);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Restore, restore_clear)

/* The definitions carry Lamport 0: any of the logs is newer. */
static gboolean
restore_storage (SkSession *session, const SkAttachedStorage *storage, GPtrArray *rows, GError **error)
{
  const SkStorageDef def = { .id = storage->id, .name = storage->name, .uri = storage->uri };

  for (guint i = 0; i < rows->len; i++)
    {
      const SkStorageRow *row = rows->pdata[i];

      if (sk_id_equal (&row->id, &storage->id) && (row->uri != NULL || row->deleted))
        return TRUE;
    }
  return sk_index_storage_define (session->index, &def, NULL, error)
         && sk_index_storage_attach (session->index, sk_index_storage_row (session->index, &storage->id), storage->uri, error);
}

static gboolean
restore_folder (SkSession *session, const SkAttachedFolder *folder, GPtrArray *rows, GError **error)
{
  const SkFolderDef def = { .id = folder->id, .name = folder->name };
  gint64 row;

  for (guint i = 0; i < rows->len; i++)
    {
      const SkFolderRow *known = rows->pdata[i];

      if (sk_id_equal (&known->id, &folder->id) && (known->path != NULL || known->deleted))
        return TRUE;
    }
  if (!sk_index_folder_define (session->index, &def, NULL, error))
    return FALSE;
  row = sk_index_folder_row (session->index, &folder->id);
  return sk_index_folder_attach (session->index, row, folder->path, folder->mode, (const char *const *) folder->only, error)
         && sk_index_folder_set_first_contact (session->index, row, TRUE, error);
}

/* Index thread, in a transaction. */
static gboolean
put_back (SkSession *session, gpointer data, GError **error)
{
  Restore *restore = data;
  g_autoptr(GPtrArray) storages = sk_index_storages (session->index), folders = sk_index_folders (session->index);

  for (guint i = 0; restore->members.records != NULL && i < restore->members.records->len; i++)
    if (!sk_index_member_add (session->index, restore->members.records->pdata[i], error))
      return FALSE;
  for (guint i = 0; restore->list.storages != NULL && i < restore->list.storages->len; i++)
    if (!restore_storage (session, restore->list.storages->pdata[i], storages, error))
      return FALSE;
  for (guint i = 0; restore->list.folders != NULL && i < restore->list.folders->len; i++)
    if (!restore_folder (session, restore->list.folders->pdata[i], folders, error))
      return FALSE;
  return TRUE;
}

/* The bytes are kept: a person may read in them what was attached. */
static void
set_aside (SkSession *session, const char *name, const char *why)
{
  g_autofree char *path = sk_home_file (session->home, name);
  g_autofree char *aside = g_strdup_printf ("%s.damaged-%" G_GINT64_FORMAT, path, sk_session_wall (session));

  if (g_rename (path, aside) != 0)
    g_message ("“%s” could not be set aside", path);
  sk_session_raise (session, ISSUE_KEY ":damaged", "home", 0, NULL,
                    "The database of this device was lost, and the copy of what was attached is damaged (%s): attach your folders and storages again; "
                    "nothing was deleted. It is kept as “%s”", why, aside);
}

/* NULL without error: not there. Damage is told and passed over. */
static GBytes *
read_copy (SkSession *session, const char *name, gsize max, GError **error)
{
  g_autoptr(GError) local = NULL;
  GBytes *bytes = sk_home_read_file (session->home, name, max, &local);

  if (bytes != NULL || g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
    return bytes;
  if (g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT))
    set_aside (session, name, local->message);
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return NULL;
}

static gboolean
read_list (SkSession *session, SkAttachedList *out, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) bytes = read_copy (session, LIST_NAME, LIST_SIZE_MAX, &local);

  if (bytes != NULL && !sk_attached_list_parse (bytes, out, &local) && g_error_matches (local, SK_ERROR, SK_ERROR_CORRUPT))
    {
      set_aside (session, LIST_NAME, local->message);
      g_clear_error (&local);
    }
  if (local == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* Without it members come from the members/ objects of the storages. */
static gboolean
read_members (SkSession *session, SkMemberSet *out, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) bytes = read_copy (session, MEMBERS_NAME, SK_MEMBER_SET_MAX, &local);

  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (bytes != NULL && !sk_member_set_open (bytes, &session->who.vault, &session->who.device, config->keys, out, &local))
    g_message ("the copy of the members is not used: %s", local->message);
  return TRUE;
}

gboolean
sk_attachments_restore (SkSession *session, GError **error)
{
  g_auto(Restore) restore = { { NULL } };

  if (!read_list (session, &restore.list, error) || !read_members (session, &restore.members, error))
    return FALSE;
  if (restore.list.storages == NULL && restore.members.records == NULL)
    return TRUE;
  return sk_session_transact (session, put_back, &restore, error);
}

gboolean
sk_attachments_exist (SkHome *home)
{
  return sk_home_has_file (home, LIST_NAME) || sk_home_has_file (home, MEMBERS_NAME);
}
