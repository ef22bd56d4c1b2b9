/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories that keep their owner out (no read, write or search permission): made open, opened while names in them change, and shut again.
 * What is on the disk stands in the base before it is there, so that the way up never takes a momentary mode for a person's wish, and after a
 * kill the difference to the target tells that the directory is to be shut. Down thread. */
#include "sk-down-private.h"

#include <string.h>

#define OWNER_BITS 0700u

typedef struct
{
  gint64 row;
  guint32 generation;            /* of the node while the directory is open */
  char *path;
  guint32 mode;                  /* by the base, before it was opened */
  gboolean opened;
  gboolean is_shut;              /* the disk has @mode */
} ShutDir;

typedef struct
{
  SkDown *down;
  SkFlowFolder *folder;
  GPtrArray *items;              /* SkDownItem */
  GHashTable *seen;              /* gint64 rows of directories that were looked at */
  GPtrArray *dirs;               /* ShutDir */
  GHashTable *refused;           /* char* directory -> GError: names in it cannot be changed */
} DirsCall;

static void
shut_dir_free (gpointer data)
{
  ShutDir *self = data;

  g_free (self->path);
  g_free (self);
}

static guint32
open_mode (guint32 mode)
{
  return mode | OWNER_BITS;
}

guint32
sk_down_dir_mode (SkFlowFolder *folder, guint32 mode)
{
  return sk_root_abilities (folder->root)->modes ? open_mode (mode) : mode;
}

/* --- which ones --- */

static gboolean
look_above (SkSession *session, DirsCall *call, const SkNode *node, GError **error)
{
  gint64 parent = node->parent;

  while (parent != 0 && g_hash_table_add (call->seen, g_memdup2 (&parent, sizeof parent)))
    {
      g_autoptr(SkNode) above = sk_index_node_by_row (session->index, parent, error);
      ShutDir *dir;

      if (above == NULL)
        return FALSE;
      parent = above->parent;
      if (above->base.kind != SK_KIND_DIR || open_mode (above->base.mode) == above->base.mode)
        continue;
      dir = g_new0 (ShutDir, 1);
      g_ptr_array_add (call->dirs, dir);
      dir->row = above->row;
      dir->mode = above->base.mode;
      dir->path = sk_index_node_path (session->index, above->row, error);
      if (dir->path == NULL)
        return FALSE;
    }
  return TRUE;
}

/* Index thread. */
static gboolean
find_dirs (SkSession *session, gpointer data, GError **error)
{
  DirsCall *call = data;

  for (guint i = 0; i < call->items->len; i++)
    {
      const SkDownItem *item = call->items->pdata[i];

      if (!look_above (session, call, item->node, error) || (item->move_node != NULL && !look_above (session, call, item->move_node, error)))
        return FALSE;
    }
  return TRUE;
}

static int
by_path (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(ShutDir *const *) a)->path, (*(ShutDir *const *) b)->path);
}

/* Parents before children. (transfer full), NULL on an error. */
static GPtrArray *
dirs_above (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  g_autoptr(GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func (shut_dir_free);
  DirsCall call = { .down = self, .folder = folder, .items = items, .seen = seen, .dirs = dirs };
  g_autoptr(GError) error = NULL;

  if (sk_root_abilities (folder->root)->modes && !sk_session_index (self->session, find_dirs, &call, &error))
    {
      g_message ("“%s”: %s", folder->name, error->message);
      return NULL;
    }
  g_ptr_array_sort (dirs, by_path);
  return g_steal_pointer (&dirs);
}

/* --- open --- */

/* Index thread: the base of a directory gets @mode, which the disk has or is to have in a moment. What is planned for it stays valid. */
static gboolean
set_base_mode (SkSession *session, SkDown *down, ShutDir *dir, SkNode *node, guint32 mode, GError **error)
{
  SkDownItem *item = g_hash_table_lookup (down->planned_dirs, &dir->row);
  guint32 before = node->generation;
  g_autoptr(SkNode) after = NULL;

  node->base.mode = mode;
  if (!sk_index_set_base (session->index, node->row, &node->base, error))
    return FALSE;
  after = sk_index_node_by_row (session->index, node->row, error);
  if (after == NULL)
    return FALSE;
  dir->generation = after->generation;
  if (item != NULL && item->node->generation == before)
    item->node->generation = after->generation;
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
note_open (SkSession *session, gpointer data, GError **error)
{
  DirsCall *call = data;

  for (guint i = 0; i < call->dirs->len; i++)
    {
      ShutDir *dir = call->dirs->pdata[i];
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, dir->row, error);

      if (node == NULL)
        return FALSE;
      /* It may have changed since it was found: then it stays as it is. */
      if (node->base.kind == SK_KIND_DIR && node->base.mode == dir->mode
          && !set_base_mode (session, call->down, dir, node, open_mode (dir->mode), error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
has_mode (SkRoot *root, const ShutDir *dir, guint32 mode)
{
  SkStat now;

  return sk_root_stat (root, dir->path, &now, NULL) && now.kind == SK_KIND_DIR && !now.mount_root && now.mode == mode;
}

static gboolean
change_mode (SkRoot *root, const ShutDir *dir, guint32 mode)
{
  const SkStat expected = { .kind = SK_KIND_DIR };
  const SkMeta meta = { .mode = mode };
  g_autoptr(GError) error = NULL;
  SkStat out;

  if (sk_target_set_meta (root, dir->path, &expected, &meta, &out, &error))
    return TRUE;
  g_message ("%s", error->message);
  return FALSE;
}

/* disk pool */
static void
run_open (gpointer data)
{
  DirsCall *call = data;

  for (guint i = 0; i < call->dirs->len; i++)
    {
      ShutDir *dir = call->dirs->pdata[i];

      /* Another mode than the base's is a person's, and is taken in first. */
      dir->opened = dir->generation != 0 && has_mode (call->folder->root, dir, dir->mode)
                    && change_mode (call->folder->root, dir, open_mode (dir->mode));
    }
}

GPtrArray *
sk_down_dirs_open (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  g_autoptr(GPtrArray) dirs = dirs_above (self, folder, items);
  DirsCall call = { .down = self, .folder = folder, .dirs = dirs };
  g_autoptr(GError) error = NULL;

  if (dirs == NULL || dirs->len == 0)
    return NULL;
  if (!sk_session_transact (self->session, note_open, &call, &error))
    {
      g_message ("“%s”: %s", folder->name, error->message);
      return NULL;
    }
  sk_down_run (self, self->session->disk, run_open, &call);
  return g_steal_pointer (&dirs);
}

/* --- and shut --- */

/* disk pool */
static void
run_shut (gpointer data)
{
  DirsCall *call = data;

  for (guint i = call->dirs->len; i-- > 0;)
    {
      ShutDir *dir = call->dirs->pdata[i];
      const SkDownItem *item = g_hash_table_lookup (call->down->planned_dirs, &dir->row);

      if (!dir->opened)
        dir->is_shut = dir->generation != 0;
      /* What was carried out for the directory itself stands. */
      else if ((item == NULL || !item->placed) && has_mode (call->folder->root, dir, open_mode (dir->mode)))
        dir->is_shut = change_mode (call->folder->root, dir, dir->mode);
    }
}

void
sk_down_dirs_shut (SkDown *self, SkFlowFolder *folder, GPtrArray *dirs)
{
  DirsCall call = { .down = self, .folder = folder, .dirs = dirs };

  if (dirs == NULL)
    return;
  sk_down_run (self, self->session->disk, run_shut, &call);
}

gboolean
sk_down_dirs_note_shut (SkDown *self, GPtrArray *dirs, GError **error)
{
  for (guint i = 0; dirs != NULL && i < dirs->len; i++)
    {
      ShutDir *dir = dirs->pdata[i];
      g_autoptr(SkNode) node = NULL;

      if (!dir->is_shut)
        continue;
      node = sk_index_node_by_row (self->session->index, dir->row, error);
      if (node == NULL)
        return FALSE;
      if (node->base.kind == SK_KIND_DIR && node->generation == dir->generation
          && !set_base_mode (self->session, self, dir, node, dir->mode, error))
        return FALSE;
    }
  return TRUE;
}

/* --- before anything is fetched --- */

static gboolean
is_to_be_opened (const DirsCall *call, const char *path)
{
  for (guint i = 0; i < call->dirs->len; i++)
    {
      const char *dir = ((ShutDir *) call->dirs->pdata[i])->path;
      gsize n = strlen (dir);

      if (strncmp (path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/'))
        return TRUE;
    }
  return FALSE;
}

/* disk pool */
static void
run_look (gpointer data)
{
  DirsCall *call = data;

  for (guint i = 0; i < call->items->len; i++)
    {
      const SkDownItem *item = call->items->pdata[i];
      g_autofree char *dir = sk_path_parent (item->path);
      GError *error = NULL;

      if (g_hash_table_contains (call->refused, dir))
        continue;
      if (!sk_target_may_change (call->folder->root, dir, &error) && is_to_be_opened (call, dir))
        g_clear_error (&error);
      g_hash_table_insert (call->refused, g_steal_pointer (&dir), error);
    }
}

static void
error_free (gpointer data)
{
  if (data != NULL)
    g_error_free (data);
}

void
sk_down_dirs_check (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  g_autoptr(GPtrArray) dirs = dirs_above (self, folder, items);
  g_autoptr(GHashTable) refused = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, error_free);
  DirsCall call = { .down = self, .folder = folder, .items = items, .dirs = dirs, .refused = refused };

  if (dirs == NULL)
    return;
  sk_down_run (self, self->session->disk, run_look, &call);
  for (guint i = 0; i < items->len; i++)
    {
      SkDownItem *item = items->pdata[i];
      g_autofree char *dir = sk_path_parent (item->path);
      const GError *error = g_hash_table_lookup (refused, dir);

      if (error != NULL && item->error == NULL)
        item->error = g_error_copy (error);
    }
}
