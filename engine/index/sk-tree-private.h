/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by sk-tree.c (merging), sk-tree-modes.c, sk-tree-copies.c and sk-tree-local.c (changes of this disk). */
#pragma once
#include "sk-limits.h"
#include "sk-tree.h"

/* A conflict on a conflict copy on a conflict copy ...: names replace their suffix, so this is never reached honestly. */
#define SK_TREE_DEPTH_MAX 64

struct _SkTree
{
  SkIndex *index;
  SkId writer;
  char *device_name;
  guint64 lamport, counter;
};

/* RULES B9. */
gboolean sk_tree_accepts_lamport (SkTree *self, guint64 lamport);
gboolean sk_tree_note_mode (SkTree *self, gint64 node_row, const SkEntry *entry, GError **error);
/* The highest stamp of a class (0 files and links, 1 directories) at @node, with those of copies among its maximal @versions that nobody has appended
 * yet: these count as long as they are there, since whoever reads the log later never meets one that was withdrawn. */
SkModeStamp sk_tree_mode_stamp (const SkNode *node, int class, SkVersion *const *versions, guint n);
gboolean sk_tree_insert (SkTree *self, gint64 node, const SkEntry *entry, gboolean is_virtual, gint64 origin,
                         const SkId *log_writer, guint64 log_seq, gint64 *row, GError **error);
gboolean sk_tree_load_chunks (SkTree *self, SkVersion *version, GError **error);
gboolean sk_tree_parent_changed (SkTree *self, gint64 parent_row, gboolean gained, GError **error);
/* After @entry was taken in: the conflict copy it is, or that it has, shows the highest metadata stamp of copy and loser. */
gboolean sk_tree_lift (SkTree *self, gint64 folder, const SkEntry *entry, GError **error);
/* The same for the copy of @loser, if there is one. */
gboolean sk_tree_lift_copy (SkTree *self, gint64 folder, const SkEntry *loser, GError **error);
/* Join of the vectors of all maximal versions; the empty vector when there is none. */
SkVector *sk_tree_join_maximal (SkTree *self, gint64 node, GError **error);
