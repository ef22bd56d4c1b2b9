/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convergence on the index: entries of others and changes of this disk go in, the visible tree (targets) comes out. Index thread;
 * inside a transaction. Joins sk-merge (rules) and sk-index (rows), does no I/O of its own. */
#pragma once
#include "sk-index.h"
#include "sk-merge.h"

typedef struct _SkTree SkTree;
/* @writer: this incarnation. Own counter and Lamport number are loaded from the settings; both only grow. */
SkTree *sk_tree_new (SkIndex *index, const SkId *writer, const char *device_name);
void sk_tree_free (SkTree *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkTree, sk_tree_free)
guint64 sk_tree_lamport (SkTree *self);
/* Before every commit of a transaction that used the tree: stores counter and Lamport number. */
gboolean sk_tree_flush (SkTree *self, GError **error);

/* Takes in an entry of a log (of any device, the own one included when the index is rebuilt). Applying it twice changes nothing.
 * SK_ERROR_LIMIT: refused because of its Lamport number (RULES B9); the transaction stays usable. */
gboolean sk_tree_apply (SkTree *self, const SkEntry *entry, const SkId *log_writer, guint64 log_seq, GError **error);

/* Takes in what a snapshot says about the mode of a path; @modes is checked. SK_ERROR_LIMIT as above. */
gboolean sk_tree_take_modes (SkTree *self, const SkModes *modes, GError **error);
/* What a snapshot has to say about the mode of @node beside its maximal @versions (of SkVersion); *@out is NULL when these tell it all.
 * (transfer full) */
gboolean sk_tree_modes_beyond (SkTree *self, gint64 node, GPtrArray *versions, SkModes **out, GError **error);

/* What was found on this disk at one path. */
typedef struct
{
  gint64 folder;
  const char *path;
  guint32 generation;      /* of the node's base when the disk was compared with it; 0 when there was no node */
  SkKind kind;             /* NONE: gone */
  const SkEntry *found;    /* kind, chunks, symlink, xattrs and content hash; NULL when gone. Stamps are ignored */
  SkBase disk;             /* stat numbers, mode, mtime, unproven; kind, version, vector, content are ignored */
  gboolean first_contact;  /* RULES A6 */
  gboolean withhold;       /* receive-only folder: adopt, but never write an entry */
  gboolean written_here;   /* by an engine that was cut off before the base followed */
  gboolean base_unsure;    /* after an engine was cut off: perhaps something else than the base was there when a person changed it */
  gboolean confirmed;      /* a person confirmed the mass change this is part of */
  gboolean moved;          /* gone, and its content stands under another name now */
  gint64 wall;             /* unix seconds */
} SkLocalChange;

typedef enum
{
  SK_TREE_NOTHING,         /* disk and base agree; stat numbers were remembered */
  SK_TREE_ADOPTED,         /* what is there is a known version; no entry */
  SK_TREE_WRITTEN,         /* entries were appended to @records */
  SK_TREE_WITHHELD,        /* a change of this disk that is not published (receive-only) */
  SK_TREE_STALE,           /* the base changed since the comparison: look again */
} SkTreeOutcome;

/* Takes in a local change: builds on the base, never on the target (A1); appends conflict copies before an entry that dominates them
 * (A7). @records: GPtrArray of SkRecord, appended. */
gboolean sk_tree_local (SkTree *self, const SkLocalChange *change, const SkId *log_writer, guint64 log_seq, GPtrArray *records,
                        SkTreeOutcome *outcome, GError **error);

/* What was carried out on this disk for a node: the base becomes the target that was carried out, if the node's generation is still
 * @generation; else *@stale. @done: kind, version, content, mode, mtime and stat numbers as they are on disk now. */
gboolean sk_tree_done (SkTree *self, gint64 node, guint32 generation, const SkBase *done, gboolean *stale, GError **error);

/* What has to happen before a target replaces or removes the file or link that is on this disk at a node. */
typedef struct
{
  gboolean restate;        /* it has to be written anew first (sk_merge_must_restate): sk_tree_local does, when it is told that the disk is as it was */
  gint64 look_at;          /* row of its conflict copy, which is on this disk as well: a person may just have taken that away; 0: none */
} SkTreeReplace;
/* @target: the entry that is to come, NULL when it is not known or there is none. */
gboolean sk_tree_before_replace (SkTree *self, const SkNode *node, const SkEntry *target, SkTreeReplace *out, GError **error);

/* Writes @version's content again as a new version of its path, above everything known: a restored version, or a removal that is taken back.
 * Its content must be durable in a storage of the folder (or here). @records: appended. */
gboolean sk_tree_revive (SkTree *self, gint64 node, gint64 version, const SkId *log_writer, guint64 log_seq, gint64 wall, GPtrArray *records,
                         GError **error);

/* Computes a node's target again; after a rebuild or a repair. */
gboolean sk_tree_recompute (SkTree *self, gint64 node, GError **error);
