/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metadata of conflict copies, and copies that somebody took away. A person can touch a file that lost its name elsewhere before that is known here: the new stamp then stands
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
  /* The copy can have lost its name as well: then it has a copy of its own. Each stamp is set once, so this ends. */
  return (version->is_virtual || sk_tree_note_mode (self, node->row, copy, error))
         && sk_index_version_set_meta (self->index, row, copy->meta_lamport, &copy->meta_writer, copy->mode, copy->mtime, error)
         && sk_tree_recompute (self, node->row, error) && sk_tree_lift_copy (self, folder, copy, error);
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

/* --- what is on this disk is about to be replaced --- */

/* @target is one step beyond what is here, so that is what its writer changed. Nearly every change is of this kind. */
static gboolean
builds_on_base (const SkBase *base, const SkEntry *target)
{
  g_autoptr(SkVector) next = NULL;
  guint64 counter = target != NULL ? sk_vector_get (target->vector, &target->writer) : 0;

  if (counter == 0 || base->vector == NULL || counter <= sk_vector_get (base->vector, &target->writer))
    return FALSE;
  next = sk_vector_with (base->vector, &target->writer, counter);
  return sk_vector_compare (next, target->vector) == SK_ORDER_EQUAL;
}

/* (transfer container); the entries belong to @versions. */
static SkEntry **
entries_of (GPtrArray *versions)
{
  SkEntry **entries = g_new0 (SkEntry *, versions->len + 1);

  for (guint i = 0; i < versions->len; i++)
    entries[i] = ((SkVersion *) versions->pdata[i])->entry;
  return entries;
}

static gboolean
decide (SkTree *self, const SkNode *node, const SkNode *copy, const SkEntry *here, SkTreeReplace *out, GError **error)
{
  g_autoptr(GPtrArray) at_name = sk_index_versions (self->index, node->row, FALSE, error);
  g_autoptr(GPtrArray) at_copy = at_name != NULL ? sk_index_versions (self->index, copy->row, TRUE, error) : NULL;
  g_autofree SkEntry **named = NULL, **copied = NULL;
  SkDeviceId device = sk_id_device (&self->writer);

  if (at_copy == NULL)
    return FALSE;
  named = entries_of (at_name);
  copied = entries_of (at_copy);
  if (sk_merge_must_restate (here, named, at_name->len, copied, at_copy->len, &device))
    out->restate = TRUE;
  else if (copy->base.kind != SK_KIND_NONE && sk_merge_loses_name (here, named, at_name->len))
    out->look_at = copy->row;
  return TRUE;
}

gboolean
sk_tree_before_replace (SkTree *self, const SkNode *node, const SkEntry *target, SkTreeReplace *out, GError **error)
{
  const SkBase *base = &node->base;
  g_autoptr(SkVersion) here = NULL;
  g_autoptr(SkNode) copy = NULL;
  g_autofree char *path = NULL;
  gboolean failed;

  *out = (SkTreeReplace) { .restate = FALSE };
  if ((base->kind != SK_KIND_FILE && base->kind != SK_KIND_SYMLINK) || base->version == 0
      || (base->kind == node->target.kind && base->content == node->target.content) || builds_on_base (base, target))
    return TRUE;
  here = sk_index_version (self->index, base->version, error);
  if (here == NULL)
    return FALSE;
  path = sk_conflict_path (here->entry);
  copy = node_at (self, node->folder, path, &failed, error);
  if (copy == NULL)
    return !failed;
  return decide (self, node, copy, here->entry, out, error);
}
