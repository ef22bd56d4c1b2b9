/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metadata of conflict copies. A person can touch a file that lost its name elsewhere before that is known here: the new stamp then stands
 * in an entry of the loser, and the copy, which others may have appended with the older one, has to show it too. It is always the highest
 * stamp of both, whatever came first, or devices would disagree about the copy's mode and time. */
#include "sk-tree-private.h"

static gboolean
has_content (const SkEntry *entry)
{
  return entry->kind == SK_KIND_FILE || entry->kind == SK_KIND_SYMLINK;
}

/* NULL without error: there is no such node. */
static SkNode *
node_at (SkTree *self, gint64 folder, const char *path, gboolean *failed, GError **error)
{
  g_autoptr(GError) local = NULL;
  SkNode *node = sk_index_node (self->index, folder, path, &local);

  *failed = local != NULL;
  if (local != NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return node;
}

gboolean
sk_tree_lift_copy (SkTree *self, gint64 folder, const SkEntry *loser, GError **error)
{
  g_autoptr(SkEntry) copy = sk_conflict_entry (loser);
  gboolean failed;
  g_autoptr(SkNode) node = node_at (self, folder, copy->path, &failed, error);
  g_autoptr(SkVersion) version = NULL;
  gint64 row;

  if (node == NULL)
    return !failed;
  row = sk_index_version_find (self->index, node->row, copy->vector, &copy->content, error);
  if (row <= 0)
    return row == 0;
  version = sk_index_version (self->index, row, error);
  if (version == NULL)
    return FALSE;
  if (sk_entry_meta_rank (copy, version->entry) <= 0)
    return TRUE;
  return sk_tree_note_mode (self, node->row, copy, error)
         && sk_index_version_set_meta (self->index, row, copy->meta_lamport, &copy->meta_writer, copy->mode, copy->mtime, error)
         && sk_tree_recompute (self, node->row, error);
}

/* @copy came, and its loser may be known with a newer stamp. */
static gboolean
lift_from_loser (SkTree *self, gint64 folder, const SkEntry *copy, const char *original, GError **error)
{
  gboolean failed;
  g_autoptr(SkNode) node = node_at (self, folder, original, &failed, error);
  g_autoptr(GPtrArray) versions = NULL;

  if (node == NULL)
    return !failed;
  versions = sk_index_versions (self->index, node->row, FALSE, error);
  if (versions == NULL)
    return FALSE;
  for (guint i = 0; i < versions->len; i++)
    {
      const SkEntry *loser = ((SkVersion *) versions->pdata[i])->entry;

      if (has_content (loser) && sk_hash_equal (&loser->content, &copy->content) && sk_entry_meta_rank (loser, copy) > 0
          && !sk_tree_lift_copy (self, folder, loser, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
sk_tree_lift (SkTree *self, gint64 folder, const SkEntry *entry, GError **error)
{
  g_autofree char *original = NULL;

  if (!has_content (entry))
    return TRUE;
  /* Only a chmod or a touch has a stamp that is newer than its content. */
  if (entry->meta_lamport > entry->lamport && !sk_tree_lift_copy (self, folder, entry, error))
    return FALSE;
  if (sk_vector_length (entry->vector) != 1)
    return TRUE;
  original = sk_conflict_original (entry->path);
  return original == NULL || lift_from_loser (self, folder, entry, original, error);
}
