/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happened, and taking back what a pass removed or replaced here. */
#include "sk-activity.h"
#include "sk-command.h"
#include "sk-revive.h"
#include "sk-target.h"

#define LIST_MAX 10000u

typedef struct
{
  guint limit;
  gint64 since;
  GVariantBuilder list;
} ActivityCall;

static const char *
folder_name (const GPtrArray *folders, gint64 row)
{
  for (guint i = 0; i < folders->len; i++)
    if (((SkFolderRow *) folders->pdata[i])->row == row)
      return ((SkFolderRow *) folders->pdata[i])->name;
  return "";
}

static GVariant *
activity_dict (SkSession *session, const GPtrArray *folders, const SkActivityRow *row)
{
  g_autoptr(GArray) undo = sk_activity_undo (session, row->row);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "id", g_variant_new_uint64 ((guint64) row->row));
  g_variant_builder_add (&builder, "{sv}", "time", g_variant_new_int64 (row->wall));
  g_variant_builder_add (&builder, "{sv}", "kind", g_variant_new_string (row->kind));
  g_variant_builder_add (&builder, "{sv}", "folder", g_variant_new_string (folder_name (folders, row->folder)));
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (row->path != NULL ? row->path : ""));
  g_variant_builder_add (&builder, "{sv}", "detail", g_variant_new_string (row->detail != NULL ? row->detail : ""));
  g_variant_builder_add (&builder, "{sv}", "undo", g_variant_new_boolean (undo != NULL));
  return g_variant_builder_end (&builder);
}

/* Index thread. */
static gboolean
read_activity (SkSession *session, gpointer data, GError **error)
{
  ActivityCall *call = data;
  g_autoptr(GPtrArray) rows = sk_index_activity (session->index, call->limit, error);
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);

  if (rows == NULL)
    return FALSE;
  for (guint i = 0; i < rows->len; i++)
    if (((SkActivityRow *) rows->pdata[i])->wall >= call->since)
      g_variant_builder_add_value (&call->list, activity_dict (session, folders, rows->pdata[i]));
  return TRUE;
}

GVariant *
sk_cmd_activity (SkCommand *self, GError **error)
{
  ActivityCall call = { .limit = (guint) sk_args_number (self->args, "limit"), .since = (gint64) sk_args_number (self->args, "since") };
  GVariantBuilder builder;

  g_variant_builder_init (&call.list, G_VARIANT_TYPE ("aa{sv}"));
  if (!sk_session_index (self->session, read_activity, &call, error))
    {
      g_variant_builder_clear (&call.list);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "activity", g_variant_builder_end (&call.list));
  return g_variant_builder_end (&builder);
}

/* --- undo --- */

typedef struct
{
  gint64 id;
  gint64 folder;
  GArray *undo;                  /* SkUndo */
  GArray *revivals;              /* SkRevival */
  guint changed;                 /* paths that are something else by now */
  const GArray *lost;            /* gint64 nodes */
  GPtrArray *lost_paths;         /* char* */
} UndoCall;

/* Index thread. */
static gboolean
load_undo (SkSession *session, gpointer data, GError **error)
{
  UndoCall *call = data;
  g_autoptr(GPtrArray) rows = sk_index_activity (session->index, LIST_MAX, error);
  gboolean known = FALSE;

  if (rows == NULL)
    return FALSE;
  for (guint i = 0; i < rows->len; i++)
    {
      const SkActivityRow *row = rows->pdata[i];

      if (row->row != call->id)
        continue;
      known = TRUE;
      call->folder = row->folder;
    }
  if (!known)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "there is no activity %" G_GINT64_FORMAT ": see 'skerryctl activity'", call->id);
  call->undo = sk_activity_undo (session, call->id);
  return call->undo != NULL || sk_fail (error, SK_ERROR_USAGE, "activity %" G_GINT64_FORMAT " cannot be undone", call->id);
}

/* Index thread. What was changed since is not touched. */
static gboolean
choose_revivals (SkSession *session, gpointer data, GError **error)
{
  UndoCall *call = data;

  for (guint i = 0; i < call->undo->len; i++)
    {
      const SkUndo *undo = &g_array_index (call->undo, SkUndo, i);
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, undo->node, error);
      SkRevival revival = { undo->node, undo->before };

      if (node == NULL)
        return FALSE;
      if (node->folder == call->folder && node->target.version == undo->after && (undo->after != 0 || node->target.kind == SK_KIND_NONE))
        g_array_append_val (call->revivals, revival);
      else
        call->changed++;
    }
  return TRUE;
}

/* Index thread. */
static gboolean
name_lost (SkSession *session, gpointer data, GError **error)
{
  UndoCall *call = data;

  for (guint i = 0; i < call->lost->len; i++)
    {
      char *path = sk_index_node_path (session->index, g_array_index (call->lost, gint64, i), error);

      if (path == NULL)
        return FALSE;
      g_ptr_array_add (call->lost_paths, path);
    }
  return TRUE;
}

static gboolean
forget_undo (SkSession *session, gpointer data, GError **error)
{
  return sk_activity_undone (session, ((UndoCall *) data)->id, error);
}

/* Content that no storage keeps may lie in the trash of this device. It comes back as a file of this disk and is taken in like one. */
static guint
from_trash (SkCommand *self, UndoCall *call, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  SkFlowFolder *folder = sk_config_folder (config, call->folder);
  g_autoptr(GPtrArray) items = NULL;
  guint n = 0;
  SkUpResult up;

  if (folder == NULL || folder->root == NULL || !sk_session_index (self->session, name_lost, call, error))
    return 0;
  items = sk_trash_list (folder->root, error);
  for (guint i = 0; items != NULL && i < call->lost_paths->len; i++)
    for (guint k = items->len; k-- > 0;)
      {
        const SkTrashItem *item = items->pdata[k];

        if (!g_str_equal (item->path, call->lost_paths->pdata[i]))
          continue;
        n += sk_trash_restore (folder->root, item, item->path, NULL);
        break;
      }
  if (n > 0 && sk_up_sync (self->session->up, &call->folder, 1, &up, self->cancellable, NULL))
    sk_up_result_clear (&up);
  return n;
}

static gboolean
undo_folder (SkCommand *self, UndoCall *call, GError **error)
{
  char hex[SK_ID_HEX_SIZE];
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  SkFlowFolder *folder = sk_config_folder (config, call->folder);
  g_autoptr(SkFolderRow) row = NULL;

  if (folder == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "the folder is not attached here any more");
  sk_id_format (&folder->id, hex);
  row = sk_command_folder (self, hex, error);
  return row != NULL && sk_revive_prepare (self, row, error);
}

static GVariant *
undo_reply (const UndoCall *call, guint64 back, guint64 lost)
{
  g_autoptr(GString) text = g_string_new (NULL);
  GVariantBuilder builder;

  g_string_printf (text, "%" G_GUINT64_FORMAT " %s as before", back, back == 1 ? "path is" : "paths are");
  if (call->changed > 0)
    g_string_append_printf (text, "; %u changed since then and stay as they are", call->changed);
  if (lost > 0)
    g_string_append_printf (text, "; the old content of %" G_GUINT64_FORMAT " is kept nowhere any more", lost);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "files", g_variant_new_uint64 (back));
  g_variant_builder_add (&builder, "{sv}", "text", g_variant_new_string (text->str));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_undo (SkCommand *self, GError **error)
{
  g_autoptr(GArray) revivals = g_array_new (FALSE, FALSE, sizeof (SkRevival));
  g_autoptr(GPtrArray) lost_paths = g_ptr_array_new_with_free_func (g_free);
  g_auto(SkRevived) revived = { 0 };
  UndoCall call = { .id = (gint64) sk_args_number (self->args, "activity"), .revivals = revivals, .lost_paths = lost_paths };
  g_autoptr(GArray) undo = NULL;
  guint found = 0;

  if (!sk_session_index (self->session, load_undo, &call, error))
    return NULL;
  undo = call.undo;
  if (!undo_folder (self, &call, error) || !sk_session_index (self->session, choose_revivals, &call, error)
      || !sk_revive (self, call.folder, revivals, &revived, error))
    return NULL;
  call.lost = revived.lost_nodes;
  if (revived.lost > 0)
    found = from_trash (self, &call, NULL);
  if (!sk_session_transact (self->session, forget_undo, &call, error))
    return NULL;
  if (revived.files + found > 0)
    sk_activity_note (self->session, call.folder, "undone", NULL, "%" G_GUINT64_FORMAT " paths are as they were before another device changed them",
                      revived.files + found);
  return undo_reply (&call, revived.files + found, revived.lost - found);
}
