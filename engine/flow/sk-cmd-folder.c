/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "sk-attributes.h"
#include "sk-command.h"
#include "sk-known-root.h"
#include "sk-options.h"
#include "sk-place.h"
#include "sk-report.h"

typedef struct
{
  const SkId *id;
  gint64 row;
  char *path;                    /* as the person gave it: a link in it that is turned elsewhere must be noticed (B013) */
  SkFolderMode mode;
  const char *const *only;
  SkRootNumbers numbers;
  GPtrArray *paths;              /* roots and storages that are attached already */
  gboolean marked;               /* before it was prepared */
} AttachCall;

static gboolean
list_paths (SkSession *session, gpointer data, GError **error)
{
  AttachCall *call = data;
  g_autoptr(GPtrArray) rows = sk_index_folders (session->index);

  for (guint i = 0; i < rows->len; i++)
    {
      const char *path = ((SkFolderRow *) rows->pdata[i])->path;
      g_autofree char *resolved = path != NULL ? realpath (path, NULL) : NULL;

      if (path != NULL)
        g_ptr_array_add (call->paths, g_strdup (resolved != NULL ? resolved : path));
    }
  sk_place_list_storages (session, call->paths);
  return TRUE;
}

static gboolean
attach_folder (SkSession *session, gpointer data, GError **error)
{
  AttachCall *call = data;

  if (call->row == 0)
    call->row = sk_index_folder_row (session->index, call->id);
  return sk_index_folder_attach (session->index, call->row, call->path, call->mode, call->only, error)
         && sk_index_folder_set_numbers (session->index, call->row, call->numbers.dev, call->numbers.ino, &call->numbers.fsid, error)
         && sk_index_folder_set_first_contact (session->index, call->row, TRUE, error);
}

/* A copy of a root that is attached here is told by name. */
static gboolean
check_marker (SkCommand *self, SkRoot *root, const SkId *folder, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  SkId there;

  if (!sk_root_marker (root, &there) || sk_id_equal (&there, folder))
    return TRUE;
  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *other = config->folders->pdata[i];

      if (sk_id_equal (&there, &other->id))
        return sk_fail (error, SK_ERROR_EXISTS, "“%s” carries the marker of the folder “%s”, which is attached at “%s”: it is a copy of it. To make it a "
                        "folder of its own, remove .skerry from it first", sk_root_path (root), other->name, other->path);
    }
  return TRUE;                   /* sk_root_prepare refuses it */
}

/* The directory, checked and prepared: not inside another root, in use by nobody, marker written. Nothing is touched when it is refused. */
static SkRoot *
prepare_root (SkCommand *self, const char *path, const SkId *folder, AttachCall *attach, char **warning, GError **error)
{
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(SkRoot) root = NULL;

  attach->paths = paths;
  if (!sk_session_index (self->session, list_paths, attach, error))
    return NULL;
  g_ptr_array_add (paths, g_strdup (sk_home_path (self->session->home)));
  g_ptr_array_add (paths, NULL);
  if (!g_path_is_absolute (path))
    {
      sk_fail (error, SK_ERROR_USAGE, "“%s” is not an absolute path", path);
      return NULL;
    }
  if (!sk_root_acceptable (path, (const char *const *) paths->pdata, error))
    return NULL;
  root = sk_root_open (path, error);
  if (root == NULL || !check_marker (self, root, folder, error) || !sk_known_root_claim (self->session, root, error))
    return NULL;
  attach->marked = sk_root_marker (root, &(SkId) { 0 });
  if (!sk_root_prepare (root, folder, error))
    {
      (void) sk_command_reload (self, NULL);     /* the lock ends */
      return NULL;
    }
  *warning = sk_root_warning (root);
  sk_root_numbers (root, &attach->numbers);
  attach->path = g_canonicalize_filename (path, NULL);
  attach->paths = NULL;
  return g_steal_pointer (&root);
}

/* It was not attached after all: its marker would keep the directory from every other folder, its lock from every other engine. */
static void
give_back (SkCommand *self, SkRoot *root, const AttachCall *attach)
{
  if (!attach->marked)
    (void) sk_root_release (root, NULL);
  (void) sk_command_reload (self, NULL);
}

static GVariant *
folder_reply (const SkId *id, const char *name, const char *path, const char *warning)
{
  GVariantBuilder builder;
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "folder", g_variant_new_string (hex));
  g_variant_builder_add (&builder, "{sv}", "name", g_variant_new_string (name));
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (path));
  if (warning != NULL)
    g_variant_builder_add (&builder, "{sv}", "warning", g_variant_new_string (warning));
  return g_variant_builder_end (&builder);
}

static GArray *
storage_ids (SkCommand *self, GError **error)
{
  g_autofree const char **names = sk_args_list (self->args, "storages");
  g_autoptr(GArray) ids = g_array_new (FALSE, FALSE, sizeof (SkId));

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autoptr(SkStorageRow) row = sk_command_storage (self, names[i], error);

      if (row == NULL)
        return NULL;
      g_array_append_val (ids, row->id);
    }
  return g_steal_pointer (&ids);
}

GVariant *
sk_cmd_folder_add (SkCommand *self, GError **error)
{
  const char *name = sk_args_string (self->args, "name", ""), *path = sk_args_bytes (self->args, "path", "");
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  AttachCall attach = { .mode = SK_FOLDER_BOTH };
  g_autoptr(SkRoot) root = NULL;
  g_autoptr(GArray) storages = storage_ids (self, error);
  g_autofree char *warning = NULL, *given = NULL;
  SkFolderDef *def;
  SkId id;

  if (storages == NULL || !sk_command_check_label (name, error))
    return NULL;
  sk_id_random (&id);
  root = prepare_root (self, path, &id, &attach, &warning, error);
  given = attach.path;
  if (root == NULL)
    return NULL;
  def = g_new0 (SkFolderDef, 1);
  def->id = id;
  def->name = g_strdup (name);
  def->writer = self->session->who.writer;
  def->lamport = sk_report_next_lamport (self->session);
  def->storages = g_steal_pointer (&storages);
  g_ptr_array_add (records, sk_record_new_folder (def));
  attach.id = &id;
  if (!sk_command_append (self, records, attach_folder, &attach, error))
    {
      give_back (self, root, &attach);
      return NULL;
    }
  if (!sk_command_reload (self, error))
    return NULL;
  return folder_reply (&id, name, attach.path, warning);
}

static gboolean
parse_mode (const char *text, SkFolderMode *mode, GError **error)
{
  if (g_str_equal (text, "both"))
    *mode = SK_FOLDER_BOTH;
  else if (g_str_equal (text, "send"))
    *mode = SK_FOLDER_SEND;
  else if (g_str_equal (text, "receive"))
    *mode = SK_FOLDER_RECEIVE;
  else
    return sk_fail (error, SK_ERROR_USAGE, "“%s” is no mode: both, send or receive", text);
  return TRUE;
}

GVariant *
sk_cmd_folder_attach (SkCommand *self, GError **error)
{
  g_autoptr(SkFolderRow) row = sk_command_folder (self, sk_args_string (self->args, "name", ""), error);
  g_autofree const char **only = sk_args_list (self->args, "only");
  g_autoptr(GPtrArray) none = g_ptr_array_new ();
  AttachCall attach = { 0 };
  g_autoptr(SkRoot) root = NULL;
  g_autofree char *warning = NULL, *given = NULL;
  g_autoptr(SkOnly) globs = NULL;

  if (row == NULL)
    return NULL;
  globs = sk_only_new ((const char *const *) only, error);
  if (globs == NULL)
    return NULL;
  if (row->path != NULL)
    {
      sk_fail (error, SK_ERROR_EXISTS, "“%s” is attached at “%s” already; detach it first", row->name, row->path);
      return NULL;
    }
  if (!parse_mode (sk_args_string (self->args, "mode", "both"), &attach.mode, error))
    return NULL;
  root = prepare_root (self, sk_args_bytes (self->args, "path", ""), &row->id, &attach, &warning, error);
  given = attach.path;
  if (root == NULL)
    return NULL;
  attach.row = row->row;
  attach.only = (const char *const *) only;
  if (!sk_command_append (self, none, attach_folder, &attach, error))
    {
      give_back (self, root, &attach);
      return NULL;
    }
  if (!sk_command_reload (self, error))
    return NULL;
  sk_down_poll (self->session->down);
  return folder_reply (&row->id, row->name, attach.path, warning);
}

static gboolean
detach_folder (SkSession *session, gpointer data, GError **error)
{
  return sk_index_folder_detach (session->index, ((SkFolderRow *) data)->row, error);
}

typedef struct { gint64 folder; GPtrArray *keys; } IssuesCall;

/* Index thread. */
static gboolean
list_issues (SkSession *session, gpointer data, GError **error)
{
  IssuesCall *call = data;
  g_autoptr(GPtrArray) issues = sk_index_issues (session->index, error);

  for (guint i = 0; issues != NULL && i < issues->len; i++)
    {
      const SkIssueRow *issue = issues->pdata[i];

      /* What others removed waits for an answer wherever the folder is. */
      if (issue->folder == call->folder && !g_str_has_prefix (issue->key, "mass-change-in:"))
        g_ptr_array_add (call->keys, g_strdup (issue->key));
    }
  return issues != NULL;
}

/* Nothing is to be done any more about what was wrong with it on this disk. */
static void
settle_issues (SkSession *session, gint64 folder)
{
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  IssuesCall call = { .folder = folder, .keys = keys };

  (void) sk_session_index (session, list_issues, &call, NULL);
  for (guint i = 0; i < keys->len; i++)
    sk_session_settle_issue (session, keys->pdata[i]);
}

GVariant *
sk_cmd_folder_detach (SkCommand *self, GError **error)
{
  g_autoptr(SkFolderRow) row = sk_command_folder (self, sk_args_string (self->args, "name", ""), error);
  g_autoptr(SkRoot) root = NULL;
  SkId marked;

  if (row == NULL)
    return NULL;
  if (row->path == NULL)
    {
      sk_fail (error, SK_ERROR_NOT_FOUND, "“%s” is not attached here", row->name);
      return NULL;
    }
  if (!sk_session_transact (self->session, detach_folder, row, error))
    return NULL;
  root = sk_root_open (row->path, NULL);
  /* The marker of another folder, whose root was moved or copied here, is that one's. */
  if (root != NULL && sk_root_marker (root, &marked) && sk_id_equal (&marked, &row->id))
    (void) sk_root_release (root, NULL);
  if (!sk_command_reload (self, error))
    return NULL;
  settle_issues (self->session, row->row);
  return folder_reply (&row->id, row->name, row->path, NULL);
}

GVariant *
sk_cmd_folder_list (SkCommand *self, GError **error)
{
  return sk_report_part (self->session, "folders", error);
}

typedef struct { SkFolderRow *row; SkFolderMode mode; } ModeCall;

static gboolean
set_mode (SkSession *session, gpointer data, GError **error)
{
  ModeCall *call = data;

  return sk_index_folder_set_mode (session->index, call->row->row, call->mode, error);
}

typedef struct { SkFolderRow *row; const char *key, *value; } OptionCall;

static gboolean
set_option (SkSession *session, gpointer data, GError **error)
{
  OptionCall *call = data;

  return sk_option_set (session, SK_SETTING_FOLDER, &call->row->id, call->key, call->value, error);
}

/* What lies in the folder is read again, now that everybody knows of the setting. A disk that has no attributes is told of. */
static gboolean
take_attributes (SkCommand *self, SkFolderRow *row, GPtrArray *notes, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  SkFlowFolder *folder = sk_config_folder (config, row->row);

  if (folder != NULL && folder->root != NULL && !sk_root_abilities (folder->root)->xattr)
    g_ptr_array_add (notes, g_strdup_printf ("the disk of “%s” cannot hold extended attributes: those of other devices stay as they are", row->name));
  return sk_attributes_begin (self->session, row->row, error);
}

GVariant *
sk_cmd_folder_set (SkCommand *self, GError **error)
{
  g_autoptr(SkFolderRow) row = sk_command_folder (self, sk_args_string (self->args, "name", ""), error);
  g_autoptr(GVariant) settings = g_variant_lookup_value (self->args, "settings", G_VARIANT_TYPE ("a{ss}"));
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  GVariantBuilder builder, now;
  g_autoptr(GPtrArray) changed = g_ptr_array_new_with_free_func (g_free);
  GVariantIter iter;
  const char *key, *value;
  gboolean look_again = FALSE;

  if (row == NULL)
    return NULL;
  g_variant_builder_init (&now, G_VARIANT_TYPE ("a{ss}"));
  g_variant_iter_init (&iter, settings);
  while (g_variant_iter_next (&iter, "{&s&s}", &key, &value))
    {
      g_autofree char *normal = NULL;
      char *note = NULL;

      if (!sk_setting_check (SK_SETTING_FOLDER, key, value, &normal, &note, error))
        return NULL;
      if (note != NULL)
        g_ptr_array_add (changed, note);
      if (g_str_equal (key, "mode"))
        {
          ModeCall call = { .row = row };

          if (!parse_mode (normal, &call.mode, error) || !sk_session_transact (self->session, set_mode, &call, error))
            return NULL;
        }
      else if (g_str_equal (key, "name"))
        {
          SkFolderDef *def = g_new0 (SkFolderDef, 1);

          def->id = row->id;
          def->name = g_strdup (normal);
          def->storages = g_array_ref (row->storages);
          def->writer = self->session->who.writer;
          def->lamport = sk_report_next_lamport (self->session);
          g_ptr_array_add (records, sk_record_new_folder (def));
        }
      else if (g_str_equal (key, "trash-days") || g_str_equal (key, "xattrs"))
        {
          OptionCall call = { .row = row, .key = key, .value = normal };

          if (!sk_session_transact (self->session, set_option, &call, error))
            return NULL;
          look_again |= g_str_equal (key, "xattrs") && g_str_equal (normal, "on");
        }
      else
        {
          sk_fail (error, SK_ERROR_UNSUPPORTED, "“%s” cannot be changed in this version", key);
          return NULL;
        }
      g_variant_builder_add (&now, "{ss}", key, normal);
    }
  if ((records->len > 0 && !sk_command_append (self, records, NULL, NULL, error)) || !sk_command_reload (self, error)
      || (look_again && !take_attributes (self, row, changed, error)))
    return NULL;
  sk_up_publish (self->session->up);
  if (look_again && self->session->watch)
    sk_up_note (self->session->up, row->row, "", TRUE, FALSE);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "settings", g_variant_builder_end (&now));
  g_variant_builder_add (&builder, "{sv}", "changed", g_variant_new_strv ((const char *const *) changed->pdata, changed->len));
  return g_variant_builder_end (&builder);
}
