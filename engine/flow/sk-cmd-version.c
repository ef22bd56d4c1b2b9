/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a path was before, and bringing it back. */
#include <string.h>

#include "sk-activity.h"
#include "sk-command.h"
#include "sk-restore.h"
#include "sk-revive.h"

#define LIST_MAX 10000u

/* A version by what every device calls it the same: writer, its counter, and the beginning of the content's hash for the rare case of a counter
 * that was used twice. */
static char *
version_name (const SkEntry *entry)
{
  char writer[SK_ID_HEX_SIZE];

  sk_id_format (&entry->writer, writer);
  return g_strdup_printf ("%s-%" G_GUINT64_FORMAT "-%02x%02x%02x%02x", writer, sk_vector_get (entry->vector, &entry->writer), entry->content.bytes[0],
                          entry->content.bytes[1], entry->content.bytes[2], entry->content.bytes[3]);
}

static int
newest_first (gconstpointer a, gconstpointer b)
{
  const SkVersion *x = *(SkVersion *const *) a, *y = *(SkVersion *const *) b;

  return -sk_entry_rank (x->entry, y->entry);
}

/* Index thread. */
static GPtrArray *
sorted_versions (SkSession *session, gint64 node, GError **error)
{
  GPtrArray *versions = sk_index_versions (session->index, node, FALSE, error);

  if (versions != NULL)
    g_ptr_array_sort (versions, newest_first);
  return versions;
}

static SkNode *
find_node (SkSession *session, gint64 folder, const char *path, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autofree char *shown = sk_path_display (path);
  SkNode *node = sk_path_check (path, strlen (path), NULL) ? sk_index_node (session->index, folder, path, &local) : NULL;

  if (local != NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  else if (node == NULL)
    sk_fail (error, SK_ERROR_NOT_FOUND, "nothing is known of “%s” in this folder", shown);
  return node;
}

/* --- versions --- */

typedef struct
{
  gint64 folder;
  const char *path;
  GVariantBuilder list;
  gboolean truncated;
} VersionsCall;

static const char *
kind_name (SkKind kind)
{
  switch (kind)
    {
    case SK_KIND_DIR:
      return "dir";
    case SK_KIND_SYMLINK:
      return "symlink";
    case SK_KIND_TOMBSTONE:
      return "deleted";
    case SK_KIND_FILE:
    case SK_KIND_NONE:
    default:
      return "file";
    }
}

/* On this disk, under whatever name. */
static gboolean
is_here (SkSession *session, const SkVersion *version)
{
  g_autoptr(GPtrArray) nodes = version->content != 0 ? sk_index_nodes_by_content (session->index, version->content, 1, NULL) : NULL;

  return nodes != NULL && nodes->len > 0;
}

static GVariant *
version_dict (SkSession *session, const SkNode *node, const SkVersion *version)
{
  const SkEntry *entry = version->entry;
  SkDeviceId device = sk_id_device (&entry->writer);
  g_autofree char *name = version_name (entry);
  char hex[SK_DEVICE_ID_HEX_SIZE];
  GVariantBuilder builder;

  sk_device_id_format (&device, hex);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "version", g_variant_new_string (name));
  g_variant_builder_add (&builder, "{sv}", "time", g_variant_new_int64 (entry->mtime / 1000000000));
  g_variant_builder_add (&builder, "{sv}", "seen", g_variant_new_int64 (entry->wall));
  g_variant_builder_add (&builder, "{sv}", "size", g_variant_new_uint64 (entry->kind == SK_KIND_FILE ? entry->size : 0));
  g_variant_builder_add (&builder, "{sv}", "kind", g_variant_new_string (kind_name (entry->kind)));
  g_variant_builder_add (&builder, "{sv}", "device", g_variant_new_string (hex));
  g_variant_builder_add (&builder, "{sv}", "device-name", g_variant_new_string (entry->device_name != NULL ? entry->device_name : ""));
  g_variant_builder_add (&builder, "{sv}", "current",
                         g_variant_new_boolean (version->row == node->target.version
                                                || (node->target.kind == SK_KIND_NONE && version->maximal && entry->kind == SK_KIND_TOMBSTONE)));
  g_variant_builder_add (&builder, "{sv}", "here", g_variant_new_boolean (is_here (session, version)));
  return g_variant_builder_end (&builder);
}

/* Index thread. */
static gboolean
list_versions (SkSession *session, gpointer data, GError **error)
{
  VersionsCall *call = data;
  g_autoptr(SkNode) node = find_node (session, call->folder, call->path, error);
  g_autoptr(GPtrArray) versions = node != NULL ? sorted_versions (session, node->row, error) : NULL;

  if (versions == NULL)
    return FALSE;
  for (guint i = 0; i < versions->len && i < LIST_MAX; i++)
    g_variant_builder_add_value (&call->list, version_dict (session, node, versions->pdata[i]));
  call->truncated = versions->len > LIST_MAX;
  return TRUE;
}

GVariant *
sk_cmd_versions (SkCommand *self, GError **error)
{
  g_autoptr(SkFolderRow) row = sk_command_folder (self, sk_args_string (self->args, "folder", ""), error);
  VersionsCall call = { .path = sk_args_bytes (self->args, "path", "") };
  GVariantBuilder builder;

  if (row == NULL)
    return NULL;
  call.folder = row->row;
  g_variant_builder_init (&call.list, G_VARIANT_TYPE ("aa{sv}"));
  if (!sk_session_index (self->session, list_versions, &call, error))
    {
      g_variant_builder_clear (&call.list);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "versions", g_variant_builder_end (&call.list));
  if (call.truncated)
    g_variant_builder_add (&builder, "{sv}", "truncated", g_variant_new_boolean (TRUE));
  return g_variant_builder_end (&builder);
}

/* --- which versions to restore --- */

/* One thing to restore. */
typedef struct
{
  SkRevival what;
  char *path;                    /* inside the folder */
} Wanted;

typedef struct
{
  gint64 folder;
  const char *path;              /* of what is asked for; "" the whole folder */
  const char *version;           /* NULL: the newest that is not the current one */
  gint64 at;                     /* 0: not as it was at a time */
  GArray *wanted;                /* Wanted */
  GArray *dirs;                  /* gint64 rows of nodes to descend into; 0: the top */
  gint64 dir;
} Choice;

static void
wanted_clear (gpointer data)
{
  g_free (((Wanted *) data)->path);
}

static gboolean
want (SkSession *session, Choice *choice, gint64 node, gint64 version, GError **error)
{
  Wanted wanted = { .what = { node, version }, .path = sk_index_node_path (session->index, node, error) };

  if (wanted.path == NULL)
    return FALSE;
  g_array_append_val (choice->wanted, wanted);
  return TRUE;
}

/* The version of @node that counts for @choice, or NULL. */
static const SkVersion *
pick (const Choice *choice, const SkNode *node, const GPtrArray *versions)
{
  for (guint i = 0; i < versions->len; i++)
    {
      const SkVersion *version = versions->pdata[i];
      g_autofree char *name = choice->version != NULL ? version_name (version->entry) : NULL;

      if (name != NULL && g_str_equal (name, choice->version))
        return version;
      if (choice->version != NULL)
        continue;
      if (choice->at != 0)
        {
          if (version->entry->wall <= choice->at)
            return version;
          continue;
        }
      if (version->row != node->target.version && version->entry->kind != SK_KIND_TOMBSTONE
          && (version->content == 0 || version->content != node->target.content))
        return version;
    }
  return NULL;
}

/* Index thread: what the person named. */
static gboolean
choose_path (SkSession *session, gpointer data, GError **error)
{
  Choice *choice = data;
  g_autoptr(SkNode) node = find_node (session, choice->folder, choice->path, error);
  g_autoptr(GPtrArray) versions = node != NULL ? sorted_versions (session, node->row, error) : NULL;
  g_autofree char *shown = sk_path_display (choice->path);
  const SkVersion *version;
  gboolean is_dir;

  if (versions == NULL)
    return FALSE;
  version = pick (choice, node, versions);
  is_dir = version != NULL ? version->entry->kind == SK_KIND_DIR : versions->len == 0 || node->target.kind == SK_KIND_DIR;
  if (is_dir && choice->version == NULL)
    g_array_append_val (choice->dirs, node->row);
  else if (version == NULL && choice->version != NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "“%s” has no version %s: see 'skerryctl versions'", shown, choice->version);
  else if (version == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "no other version of “%s” is kept", shown);
  if (version != NULL && version->entry->kind == SK_KIND_TOMBSTONE)
    return sk_fail (error, SK_ERROR_USAGE, "this version of “%s” is its removal: there is nothing to restore", shown);
  /* A directory that is there needs nothing itself. */
  return version == NULL || (is_dir && node->target.kind == SK_KIND_DIR) || want (session, choice, node->row, version->row, error);
}

/* Index thread: the children of one directory. Of a directory that is restored: what was removed from it. */
static gboolean
choose_children (SkSession *session, gpointer data, GError **error)
{
  Choice *choice = data;
  g_autoptr(GPtrArray) children = sk_index_children (session->index, choice->folder, choice->dir, FALSE, error);

  if (children == NULL)
    return FALSE;
  for (guint i = 0; i < children->len; i++)
    {
      const SkNode *node = children->pdata[i];
      g_autoptr(GPtrArray) versions = sorted_versions (session, node->row, error);
      const SkVersion *version;

      if (versions == NULL)
        return FALSE;
      version = pick (choice, node, versions);
      g_array_append_val (choice->dirs, node->row);
      if (version == NULL || version->entry->kind == SK_KIND_TOMBSTONE || (choice->at == 0 && node->target.kind != SK_KIND_NONE))
        continue;
      if (!want (session, choice, node->row, version->row, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
choose (SkCommand *self, Choice *choice, GError **error)
{
  const gint64 top = 0;

  if (choice->at != 0)
    g_array_append_val (choice->dirs, top);
  else if (!sk_session_index (self->session, choose_path, choice, error))
    return FALSE;
  while (choice->dirs->len > 0)
    {
      if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
        return FALSE;
      choice->dir = g_array_index (choice->dirs, gint64, choice->dirs->len - 1);
      g_array_set_size (choice->dirs, choice->dirs->len - 1);
      if (!sk_session_index (self->session, choose_children, choice, error))
        return FALSE;
    }
  if (choice->wanted->len == 0 && choice->at == 0)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "nothing that was removed from there is kept");
  return TRUE;
}

/* --- restoring --- */

typedef struct
{
  guint64 files, bytes;
  GVariantBuilder failed;
  guint n_failed;
} Outcome;

static void
add_failed (Outcome *outcome, const char *path, const char *why)
{
  GVariantBuilder builder;

  if (outcome->n_failed++ >= LIST_MAX)
    return;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (path));
  g_variant_builder_add (&builder, "{sv}", "why", g_variant_new_string (why));
  g_variant_builder_add (&builder, "{sv}", "folder", g_variant_new_string (""));
  g_variant_builder_add_value (&outcome->failed, g_variant_builder_end (&builder));
}

static gboolean
restore_elsewhere (SkCommand *self, const Choice *choice, const char *to, Outcome *outcome, GError **error)
{
  g_autoptr(SkRestore) restore = sk_restore_new (self->session, to, self->cancellable, error);
  gboolean alone = choice->at == 0 && choice->wanted->len == 1;

  if (restore == NULL)
    return FALSE;
  for (guint i = 0; i < choice->wanted->len; i++)
    {
      const Wanted *wanted = &g_array_index (choice->wanted, Wanted, i);
      g_autoptr(GError) why = NULL;
      guint64 bytes;

      if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
        return FALSE;
      sk_command_progress (self, "Restoring", i, choice->wanted->len, outcome->files, outcome->bytes);
      if (sk_restore_version (restore, wanted->what.version, alone ? sk_path_name (wanted->path) : wanted->path, &bytes, &why))
        {
          outcome->files++;
          outcome->bytes += bytes;
        }
      else if (alone)
        {
          g_propagate_error (error, g_steal_pointer (&why));
          return FALSE;
        }
      else
        add_failed (outcome, wanted->path, why->message);
    }
  return TRUE;
}

static gboolean
restore_in_place (SkCommand *self, const SkFolderRow *row, const Choice *choice, Outcome *outcome, GError **error)
{
  g_autoptr(GArray) revivals = g_array_new (FALSE, FALSE, sizeof (SkRevival));
  g_auto(SkRevived) revived = { 0 };

  for (guint i = 0; i < choice->wanted->len; i++)
    g_array_append_val (revivals, g_array_index (choice->wanted, Wanted, i).what);
  if (!sk_revive (self, row->row, revivals, &revived, error))
    return FALSE;
  outcome->files = revived.files;
  outcome->bytes = revived.bytes;
  for (guint i = 0; i < revived.lost_nodes->len; i++)
    for (guint k = 0; k < choice->wanted->len; k++)
      if (g_array_index (choice->wanted, Wanted, k).what.node == g_array_index (revived.lost_nodes, gint64, i))
        add_failed (outcome, g_array_index (choice->wanted, Wanted, k).path, "its content is kept in no storage of the folder any more");
  for (guint i = 0; i < revived.down.failed->len; i++)
    {
      const SkDownFailure *failure = revived.down.failed->pdata[i];

      add_failed (outcome, failure->path, failure->why);
    }
  if (revived.files == 1 && choice->wanted->len == 1)
    sk_activity_note (self->session, row->row, "restored", g_array_index (choice->wanted, Wanted, 0).path, "an earlier version is the current one again");
  else if (revived.files > 0)
    sk_activity_note (self->session, row->row, "restored", choice->path, "%" G_GUINT64_FORMAT " files and folders are back", revived.files);
  return TRUE;
}

GVariant *
sk_cmd_restore (SkCommand *self, GError **error)
{
  g_autoptr(SkFolderRow) row = sk_command_folder (self, sk_args_string (self->args, "folder", ""), error);
  const char *to = sk_args_bytes (self->args, "to", NULL);
  g_autoptr(GArray) all_wanted = g_array_new (FALSE, FALSE, sizeof (Wanted));
  g_autoptr(GArray) dirs = g_array_new (FALSE, FALSE, sizeof (gint64));
  Choice choice = { .path = sk_args_bytes (self->args, "path", ""), .version = sk_args_string (self->args, "version", NULL),
                    .at = (gint64) sk_args_number (self->args, "at"), .wanted = all_wanted, .dirs = dirs };
  Outcome outcome = { 0 };
  GVariantBuilder builder;
  gboolean ok;

  g_array_set_clear_func (all_wanted, wanted_clear);
  if (row == NULL || (to == NULL && !sk_revive_prepare (self, row, error)))
    return NULL;
  choice.folder = row->row;
  g_variant_builder_init (&outcome.failed, G_VARIANT_TYPE ("aa{sv}"));
  ok = choose (self, &choice, error)
       && (to != NULL ? restore_elsewhere (self, &choice, to, &outcome, error) : restore_in_place (self, row, &choice, &outcome, error));
  if (!ok)
    {
      g_variant_builder_clear (&outcome.failed);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "files", g_variant_new_uint64 (outcome.files));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (outcome.bytes));
  g_variant_builder_add (&builder, "{sv}", "to", g_variant_new_bytestring (to != NULL ? to : row->path));
  g_variant_builder_add (&builder, "{sv}", "failed", g_variant_builder_end (&outcome.failed));
  g_variant_builder_add (&builder, "{sv}", "attention", g_variant_new_boolean (outcome.n_failed > 0));
  return g_variant_builder_end (&builder);
}
