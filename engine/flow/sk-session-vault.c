/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sk-attachments.h"
#include "sk-issues.h"
#include "sk-crash.h"
#include "sk-epochs.h"
#include "sk-invite-serve.h"
#include "sk-watch.h"

/* A damaged database is set aside, never deleted; the log copies in the storages and the disk rebuild it (B086). */
static gboolean
open_index (SkSession *session, gpointer data, GError **error)
{
  const char *path = data;
  g_autoptr(GError) local = NULL;
  g_autofree char *aside = NULL;

  session->index = sk_index_open (path, &local);
  if (session->index != NULL)
    return TRUE;
  if (!g_error_matches (local, SK_ERROR, SK_ERROR_CORRUPT))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  aside = g_strdup_printf ("%s.damaged-%" G_GINT64_FORMAT, path, sk_session_wall (session));
  if (!sk_index_set_aside (path, aside, error))
    return FALSE;
  g_message ("the database was damaged (%s); it is kept as “%s” and is being rebuilt", local->message, aside);
  session->index = sk_index_open (path, error);
  return session->index != NULL;
}

/* RULES A5: a home that was copied, restored or lost its database must not go on writing under the old name. */
static gboolean
settle_incarnation (SkSession *session, gpointer data, GError **error)
{
  gboolean *fresh = data;
  g_autoptr(GBytes) known = sk_index_get (session->index, "home-identity");
  g_autofree char *path = sk_home_file (session->home, "index.sqlite");
  SkHash now;

  sk_home_identity (session->home, path, &now);
  if (known != NULL && g_bytes_get_size (known) == sizeof now && memcmp (g_bytes_get_data (known, NULL), &now, sizeof now) == 0)
    return TRUE;
  *fresh = TRUE;
  sk_id_new_writer (&session->who.device, &session->who.writer);
  return sk_index_set (session->index, "home-identity", &now, sizeof now, error)
         && sk_index_set_u64 (session->index, "counter", 0, error);
}

/* After a lost or foreign database every attached folder is met for the first time again: union, no deletions (A6). */
static gboolean
restart_first_contact (SkSession *session, gpointer data, GError **error)
{
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);

  for (guint i = 0; i < folders->len; i++)
    {
      SkFolderRow *folder = folders->pdata[i];

      if (folder->path != NULL && !sk_index_folder_set_first_contact (session->index, folder->row, TRUE, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
make_tree (SkSession *session, gpointer data, GError **error)
{
  if (!sk_issues_load (session, error))
    return FALSE;
  session->tree = sk_tree_new (session->index, &session->who.writer, session->who.device_name);
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
change_writer (SkSession *session, gpointer data, GError **error)
{
  sk_id_new_writer (&session->who.device, &session->who.writer);
  if (!sk_index_set_u64 (session->index, "counter", 0, error) || !restart_first_contact (session, NULL, error))
    return FALSE;
  g_clear_pointer (&session->tree, sk_tree_free);
  session->tree = sk_tree_new (session->index, &session->who.writer, session->who.device_name);
  return TRUE;
}

gboolean
sk_session_new_incarnation (SkSession *self, GError **error)
{
  if (!sk_session_transact (self, change_writer, NULL, error) || !sk_home_save_config (self->home, &self->who, error))
    return FALSE;
  sk_session_raise (self, "restored", "restored", 0, NULL,
                    "The log of this device reaches further in a storage than here: this home was restored from a backup, or a copy of it is in use. "
                    "It goes on under a new identity, and nothing is deleted because of it");
  return TRUE;
}

/* Index thread. */
static gboolean
load_pause (SkSession *session, gpointer data, GError **error)
{
  gint64 until = (gint64) sk_index_get_u64 (session->index, "paused-until", 0);

  g_atomic_int_set (&session->paused, until > sk_session_wall (session));
  return TRUE;
}

void
sk_session_check_pause (SkSession *self)
{
  gboolean was = g_atomic_int_get (&self->paused);

  (void) sk_session_index (self, load_pause, NULL, NULL);
  if (was == g_atomic_int_get (&self->paused))
    return;
  if (was)
    {
      sk_up_publish (self->up);
      sk_down_poll (self->down);
    }
  sk_session_touch_report (self);
}

static gboolean
unlock (SkSession *self, const char *passphrase, GError **error)
{
  g_autoptr(SkKeyring) kept = NULL, keys = NULL;

  if (!sk_home_load_secrets (self->home, passphrase, &self->identity, &kept, &self->keep, error))
    return FALSE;
  keys = sk_epochs_load (self->home, &self->who.vault, self->identity, kept);
  sk_keyring_id_key (keys, &self->id_key);
  sk_gear_init (&self->gear, &self->id_key);
  sk_session_set_keys (self, keys);
  return TRUE;
}

gboolean
sk_session_open_vault (SkSession *self, const char *passphrase, GError **error)
{
  g_autofree char *path = sk_home_file (self->home, "index.sqlite");
  gboolean fresh = FALSE;
  g_autoptr(GError) local = NULL;

  self->has_vault = sk_home_load_config (self->home, &self->who, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (!self->has_vault)
    {
      sk_session_touch_report (self);
      return TRUE;
    }
  if (!unlock (self, passphrase, error))
    return FALSE;
  self->index_worker = sk_worker_new ("index");
  if (!sk_session_index (self, open_index, path, error) || !sk_session_transact (self, settle_incarnation, &fresh, error))
    return FALSE;
  if (fresh && !(sk_home_save_config (self->home, &self->who, error) && sk_session_transact (self, restart_first_contact, NULL, error)))
    return FALSE;
  if (!sk_session_index (self, sk_crash_load, NULL, error) || !sk_session_index (self, make_tree, NULL, error) || (fresh && !sk_attachments_restore (self, error))
      || !sk_session_reload (self, error))
    return FALSE;
  sk_session_check_pause (self);
  self->up = sk_up_new (self);
  self->down = sk_down_new (self);
  self->invites = sk_invites_new (self);
  if (self->watch)
    self->watcher = sk_watch_new (self);
  g_atomic_int_set (&self->is_open, 1);
  sk_session_touch_report (self);
  return TRUE;
}
