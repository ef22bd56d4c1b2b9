/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What differs between the disk and the bases. Index thread; reads only. */
#include "sk-compare-names.h"

#include <string.h>

void
sk_found_free (SkFound *self)
{
  if (self == NULL)
    return;
  g_free (self->path);
  g_free (self->moved_from);
  g_free (self);
}

typedef struct
{
  gboolean modes;          /* without, the disk shows some for all: they are nobody's wish, and what is new gets the usual ones */
  gboolean normalises;     /* names */
} Habits;

static Habits
habits_of (SkSession *session, gint64 folder)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  const SkFlowFolder *flow = sk_config_folder (config, folder);
  const SkRootAbilities *can = flow != NULL && flow->root != NULL ? sk_root_abilities (flow->root) : NULL;

  return (Habits) { .modes = can == NULL || can->modes, .normalises = can != NULL && can->normalising };
}

static guint32
mode_without_modes (const SkStat *stat, const SkNode *node)
{
  if (node != NULL && node->base.kind == stat->kind)
    return node->base.mode;
  if (node != NULL && node->target.kind == stat->kind)
    return node->target.mode;
  return stat->kind == SK_KIND_DIR ? 0755 : 0644;
}

static gboolean
stat_equals_base (const SkStat *stat, const SkBase *base, gboolean modes)
{
  if (stat->kind != base->kind || (modes && stat->mode != base->mode))
    return FALSE;
  if (stat->kind == SK_KIND_DIR)
    return TRUE;
  return stat->size == base->size && stat->ino == base->ino && stat->mtime == base->stat_mtime && stat->ctime == base->ctime;
}

/* Numbers that a rename keeps: with an old name that is gone they prove that this is the same file, unread (C14). ctime changes, unless a
 * directory above was renamed. */
static gboolean
same_file_moved (const SkStat *stat, const SkBase *base)
{
  return stat->btime != 0 && stat->btime == base->btime && stat->ino == base->ino && stat->size == base->size
         && stat->mtime == base->stat_mtime;
}

static gboolean
look_for_move (SkSession *session, SkFound *found, gboolean modes, GError **error)
{
  g_autoptr(GPtrArray) nodes = NULL;

  if (found->stat.kind != SK_KIND_FILE || found->stat.btime == 0)
    return TRUE;
  nodes = sk_index_nodes_by_inode (session->index, found->folder, found->stat.ino, error);
  if (nodes == NULL)
    return FALSE;
  for (guint i = 0; i < nodes->len; i++)
    {
      SkNode *node = nodes->pdata[i];

      if (node->base.kind != SK_KIND_FILE || !same_file_moved (&found->stat, &node->base))
        continue;
      found->moved_from = sk_index_node_path (session->index, node->row, error);
      found->moved_content = node->base.content;
      found->mode = modes ? found->mode : node->base.mode;
      found->moved_with_dir = found->stat.ctime == node->base.ctime && !node->base.unproven;
      return found->moved_from != NULL;
    }
  return TRUE;
}

static gboolean
add_found (SkSession *session, gint64 folder, const char *path, const SkStat *stat, const SkNode *node, gboolean modes, GPtrArray *out, GError **error)
{
  SkFound *found = g_new0 (SkFound, 1);

  g_ptr_array_add (out, found);
  found->folder = folder;
  found->path = g_strdup (path);
  found->stat = *stat;
  found->mode = modes || stat->kind == SK_KIND_SYMLINK ? stat->mode : mode_without_modes (stat, node);
  found->generation = node != NULL ? node->generation : 0;
  found->node = node != NULL ? node->row : 0;
  if (node == NULL || node->base.kind == SK_KIND_NONE)
    {
      found->what = SK_FOUND_NEW;
      return look_for_move (session, found, modes, error);
    }
  found->base_kind = node->base.kind;
  found->base_size = node->base.size;
  found->base_content = node->base.content;
  /* Only mode differs, and nothing that goes with writing: the content needs no look. A changed ctime alone does (B071), since
   * mtime can be set back; chmod changes ctime as well, so the content of a small file is simply read again. */
  found->what = stat->kind == SK_KIND_DIR && node->base.kind == SK_KIND_DIR ? SK_FOUND_META : SK_FOUND_CHANGED;
  return TRUE;
}

static void
add_gone (gint64 folder, const char *path, const SkNode *node, GPtrArray *gone)
{
  SkFound *found = g_new0 (SkFound, 1);

  found->what = SK_FOUND_GONE;
  found->folder = folder;
  found->path = g_strdup (path);
  found->generation = node->generation;
  found->node = node->row;
  found->base_kind = node->base.kind;
  found->base_size = node->base.size;
  found->base_content = node->base.content;
  g_ptr_array_add (gone, found);
}

/* A missing directory: everything of ours below it is missing with it. Children first, so that the order of the log is that of deletion. */
static gboolean
add_gone_tree (SkSession *session, gint64 folder, const char *path, const SkNode *node, GPtrArray *gone, GError **error)
{
  if (node->base.kind == SK_KIND_DIR)
    {
      g_autoptr(GPtrArray) children = sk_index_children (session->index, folder, node->row, TRUE, error);

      if (children == NULL)
        return FALSE;
      for (guint i = 0; i < children->len; i++)
        {
          SkNode *child = children->pdata[i];
          g_autofree char *below = sk_path_join (path, child->name);

          if (!add_gone_tree (session, folder, below, child, gone, error))
            return FALSE;
        }
    }
  add_gone (folder, path, node, gone);
  return TRUE;
}

static gboolean
compare_one (SkSession *session, gint64 folder, const char *path, const SkStat *stat, const SkNode *node, gboolean modes, GPtrArray *out,
             GPtrArray *gone, GPtrArray *dirs, GPtrArray *unavailable, GError **error)
{
  gboolean had_base = node != NULL && node->base.kind != SK_KIND_NONE;

  if (stat->kind == SK_KIND_DIR && stat->mount_root != (had_base && node->base.mount_root) && (had_base || stat->mount_root))
    {
      /* Became or ceased to be a mount: what is or is not below says nothing about the person's wishes (A10). */
      if (unavailable != NULL)
        g_ptr_array_add (unavailable, g_strdup (path));
      return TRUE;
    }
  if (had_base && (node->base.kind == SK_KIND_DIR || node->base.unproven) && stat->kind != SK_KIND_DIR)
    {
      /* A directory was replaced by something else: its children are gone. That may be known of it, and not yet of them (remember_disk). */
      g_autoptr(GPtrArray) children = sk_index_children (session->index, folder, node->row, TRUE, error);

      if (children == NULL)
        return FALSE;
      for (guint i = 0; i < children->len; i++)
        {
          SkNode *child = children->pdata[i];
          g_autofree char *below = sk_path_join (path, child->name);

          if (!add_gone_tree (session, folder, below, child, gone, error))
            return FALSE;
        }
    }
  if (stat->kind == SK_KIND_DIR && dirs != NULL)
    g_ptr_array_add (dirs, g_strdup (path));
  if (had_base && stat_equals_base (stat, &node->base, modes) && !node->base.unproven)
    return TRUE;
  return add_found (session, folder, path, stat, node, modes, out, error);
}

static gboolean
is_listed (GPtrArray *names, const char *name)
{
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], name) == 0)
      return TRUE;
  return FALSE;
}

/* One listing on its way through the comparison. */
typedef struct
{
  SkSession *session;
  gint64 folder;
  const SkScanDir *listing;
  gboolean modes;
  GPtrArray *out, *gone, *dirs, *unavailable;
} Listing;

/* As stat_equals_base, and nothing else about it asks for a look. */
static gboolean
is_as_it_was (const Listing *self, const SkStat *stat, const SkChild *child)
{
  if (stat->kind != child->kind || stat->mount_root != child->mount_root || child->unproven || (self->modes && stat->mode != child->mode))
    return FALSE;
  return stat->kind == SK_KIND_DIR
         || (stat->size == child->size && stat->ino == child->ino && stat->mtime == child->stat_mtime && stat->ctime == child->ctime);
}

/* @child: what the index has of that name, or NULL. */
static gboolean
compare_item (Listing *self, const SkScanItem *item, const SkChild *child, GError **error)
{
  gboolean same = child != NULL && is_as_it_was (self, &item->stat, child);
  g_autofree char *path = NULL;
  g_autoptr(SkNode) node = NULL;

  if (item->stat.special || item->stat.kind == SK_KIND_NONE || (same && item->stat.kind != SK_KIND_DIR))
    return TRUE;
  path = sk_path_join (self->listing->path, item->name);
  if (same)
    {
      g_ptr_array_add (self->dirs, g_steal_pointer (&path));
      return TRUE;
    }
  if (child != NULL)
    {
      node = sk_index_node_by_row (self->session->index, child->row, error);
      if (node == NULL)
        return FALSE;
    }
  return compare_one (self->session, self->folder, path, &item->stat, node, self->modes, self->out, self->gone, self->dirs, self->unavailable, error);
}

/* What is not looked at is not gone (A14). */
static gboolean
compare_missing (Listing *self, const SkChild *child, GError **error)
{
  g_autofree char *path = NULL;
  g_autoptr(SkNode) node = NULL;

  if (child->kind == SK_KIND_NONE || is_listed (self->listing->ignored, child->name) || is_listed (self->listing->specials, child->name))
    return TRUE;
  path = sk_path_join (self->listing->path, child->name);
  node = sk_index_node_by_row (self->session->index, child->row, error);
  return node != NULL && add_gone_tree (self->session, self->folder, path, node, self->gone, error);
}

/* Both are sorted by name bytes. */
static gboolean
merge_join (Listing *self, const SkChild *children, guint n, GError **error)
{
  GPtrArray *items = self->listing->items;
  guint i = 0, k = 0;

  while (i < items->len || k < n)
    {
      const SkScanItem *item = i < items->len ? items->pdata[i] : NULL;
      const SkChild *child = k < n ? &children[k] : NULL;
      int order = item == NULL ? 1 : child == NULL ? -1 : strcmp (item->name, child->name);

      i += order <= 0;
      k += order >= 0;
      if (order > 0 ? !compare_missing (self, child, error) : !compare_item (self, item, order == 0 ? child : NULL, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
sk_compare_listing (SkSession *session, gint64 folder, SkScanDir *listing, GPtrArray *out, GPtrArray *gone, GPtrArray *dirs,
                    GPtrArray *unavailable, GError **error)
{
  Listing self = { .session = session, .folder = folder, .listing = listing, .out = out, .gone = gone, .dirs = dirs, .unavailable = unavailable };
  g_autoptr(SkChildList) known = sk_child_list_new ();
  g_autoptr(SkNode) parent = NULL;
  const SkChild *children;
  Habits habits;
  guint n;

  if (listing->error != NULL)
    return TRUE;
  if (*listing->path != '\0')
    {
      g_autoptr(GError) local = NULL;

      parent = sk_index_node (session->index, folder, listing->path, &local);
      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
    }
  habits = habits_of (session, folder);
  self.modes = habits.modes;
  /* Those without a base as well: what is made anew where something was removed is compared with that state of the node. */
  if ((*listing->path == '\0' || parent != NULL)
      && !sk_index_child_list (session->index, folder, parent != NULL ? parent->row : 0, known, error))
    return FALSE;
  children = sk_child_list_get (known, &n);
  if (habits.normalises)
    sk_compare_names_listed (listing, children, n);
  return merge_join (&self, children, n, error);
}

gboolean
sk_compare_path (SkSession *session, gint64 folder, const char *path, const SkStat *stat, GPtrArray *out, GPtrArray *gone, GPtrArray *dirs,
                 GError **error)
{
  const Habits habits = habits_of (session, folder);
  g_autofree char *known = NULL;
  g_autoptr(GError) local = NULL;
  g_autoptr(SkNode) node = NULL;

  if (habits.normalises)
    {
      known = sk_compare_names_path (session, folder, path, error);
      if (known == NULL)
        return FALSE;
      path = known;
    }
  node = sk_index_node (session->index, folder, path, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (stat->special)
    return TRUE;
  if (stat->kind == SK_KIND_NONE)
    return node == NULL || node->base.kind == SK_KIND_NONE || add_gone_tree (session, folder, path, node, gone, error);
  return compare_one (session, folder, path, stat, node, habits.modes, out, gone, dirs, NULL, error);
}
