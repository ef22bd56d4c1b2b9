/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mode of a path: that of the highest metadata stamp among all its entries of a class, which are kept per node, since the entry it came
 * from may be replaced and forgotten (FORMAT.md, "Metadata stamp"). */
#include "sk-tree-private.h"

#include <string.h>

/* The class of a mode stamp an entry contributes to, or -1. A tombstone carries the mode of what it removed, so that a
 * concurrent edit that brings the file back finds it; flags tell whether that was a directory. */
static int
mode_class (const SkEntry *entry)
{
  switch (entry->kind)
    {
    case SK_KIND_FILE:
      return 0;
    case SK_KIND_DIR:
      return 1;
    case SK_KIND_TOMBSTONE:
      return (entry->flags & SK_ENTRY_WAS_DIR) != 0 ? 1 : 0;
    case SK_KIND_SYMLINK:
    case SK_KIND_NONE:
    default:
      return -1;
    }
}

static SkModeStamp
stamp_of (const SkEntry *entry)
{
  return (SkModeStamp) { .lamport = entry->meta_lamport, .writer = entry->meta_writer, .mode = entry->mode, .set = TRUE };
}

static gboolean
mode_stamp_wins (const SkModeStamp *a, const SkModeStamp *b)
{
  int order;

  if (!b->set)
    return TRUE;
  if (a->lamport != b->lamport)
    return a->lamport > b->lamport;
  order = sk_id_compare (&a->writer, &b->writer);
  if (order != 0)
    return order > 0;
  return a->mode > b->mode;
}

SkModeStamp
sk_tree_mode_stamp (const SkNode *node, int class, SkVersion *const *versions, guint n)
{
  SkModeStamp highest = node->mode_stamp[class];

  for (guint i = 0; i < n; i++)
    {
      SkModeStamp stamp = stamp_of (versions[i]->entry);

      if (versions[i]->is_virtual && mode_class (versions[i]->entry) == class && mode_stamp_wins (&stamp, &highest))
        highest = stamp;
    }
  return highest;
}

gboolean
sk_tree_note_mode (SkTree *self, gint64 node_row, const SkEntry *entry, GError **error)
{
  int class = mode_class (entry);
  SkModeStamp stamp = stamp_of (entry);
  g_autoptr(SkNode) node = NULL;

  if (class < 0)
    return TRUE;
  node = sk_index_node_by_row (self->index, node_row, error);
  if (node == NULL)
    return FALSE;
  if (!mode_stamp_wins (&stamp, &node->mode_stamp[class]))
    return TRUE;
  return sk_index_set_mode_stamp (self->index, node_row, class, &stamp, error);
}


gboolean
sk_tree_take_modes (SkTree *self, const SkModes *modes, GError **error)
{
  gint64 folder, row;
  g_autoptr(SkNode) node = NULL;

  for (int i = 0; i < 2; i++)
    if (modes->stamp[i].set && !sk_tree_accepts_lamport (self, modes->stamp[i].lamport))
      return sk_fail (error, SK_ERROR_LIMIT, "the mode of “%s” in a snapshot jumps too far ahead and was refused", modes->path);
  folder = sk_index_folder_ensure (self->index, &modes->folder, error);
  if (folder == 0)
    return FALSE;
  row = sk_index_node_ensure (self->index, folder, modes->path, error);
  if (row == 0)
    return FALSE;
  node = sk_index_node_by_row (self->index, row, error);
  if (node == NULL)
    return FALSE;
  for (int i = 0; i < 2; i++)
    {
      const SkModeStamp *stamp = &modes->stamp[i];

      if (!stamp->set)
        continue;
      self->lamport = MAX (self->lamport, stamp->lamport);
      if (mode_stamp_wins (stamp, &node->mode_stamp[i]) && !sk_index_set_mode_stamp (self->index, row, i, stamp, error))
        return FALSE;
    }
  return sk_tree_recompute (self, row, error);
}

/* What a reader of the maximal @versions has as the stamp of @class. Copies nobody has appended yet are among them: the reader
 * makes the same ones. */
static SkModeStamp
stamp_given (GPtrArray *versions, int class)
{
  SkModeStamp given = { 0 };

  for (guint i = 0; i < versions->len; i++)
    {
      const SkEntry *entry = ((const SkVersion *) versions->pdata[i])->entry;
      SkModeStamp stamp = stamp_of (entry);

      if (mode_class (entry) == class && mode_stamp_wins (&stamp, &given))
        given = stamp;
    }
  return given;
}

gboolean
sk_tree_modes_beyond (SkTree *self, gint64 node_row, GPtrArray *versions, SkModes **out, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (self->index, node_row, error);
  g_autoptr(SkFolderRow) folder = NULL;
  g_autofree char *path = NULL;
  gboolean beyond = FALSE;

  *out = NULL;
  if (node == NULL)
    return FALSE;
  for (int i = 0; i < 2; i++)
    {
      SkModeStamp given = stamp_given (versions, i);

      beyond |= node->mode_stamp[i].set
                && (!given.set || (mode_stamp_wins (&node->mode_stamp[i], &given) && !mode_stamp_wins (&given, &node->mode_stamp[i])));
    }
  if (!beyond)
    return TRUE;
  folder = sk_index_folder (self->index, node->folder);
  path = sk_index_node_path (self->index, node_row, error);
  if (path == NULL)
    return FALSE;
  if (folder == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "the folder of “%s” is not in the database", path);
  *out = g_new0 (SkModes, 1);
  (*out)->folder = folder->id;
  (*out)->path = g_steal_pointer (&path);
  memcpy ((*out)->stamp, node->mode_stamp, sizeof node->mode_stamp);
  return TRUE;
}
