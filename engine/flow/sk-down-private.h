/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way down, read top to bottom: sk-down.c (pull, rounds) -> sk-down-plan.c (what to do, from what) -> sk-down-fetch.c (ranges, open, verify)
 * -> sk-down-spare.c (what is not to be replaced yet) -> sk-down-stages.c (in which order) -> sk-down-write.c (files, renames, removals, barrier, base); sk-down-dirs.c lets it in
 * where nobody may write. All state belongs to the down thread. */
#pragma once
#include "sk-activity.h"
#include "sk-flow.h"
#include "sk-target.h"

#define SK_DOWN_WINDOW 4000u              /* nodes planned at once */
#define SK_DOWN_SMALL (4u << 20)          /* up to here a file is held in memory and written at once */
#define SK_DOWN_GROUP_BYTES (32u << 20)   /* plaintext of one group of fetches; up to three are in memory */
#define SK_DOWN_GETS 8u                   /* in flight */
#define SK_DOWN_COMMIT 1000u

/* A chunk that has to come from a storage. */
typedef struct
{
  SkChunkPlace place;
  GArray *uses;                  /* SkDownUse */
} SkDownNeed;

struct _SkDownItem;
typedef struct { struct _SkDownItem *item; guint chunk; guint64 offset; } SkDownUse;

typedef struct _SkDownItem
{
  SkNode *node;
  char *path;
  SkApply action;
  SkEntry *entry;                /* of the target's version; NULL for removals and implied directories */
  SkStat expected;               /* what the base says is there */
  SkTreeReplace replace;
  /* content from this disk */
  char *move_from;               /* a file of ours that is not wanted at its place any more */
  SkNode *move_node;
  SkStat move_expected;
  GPtrArray *sources;            /* per chunk: SkDownSourceFile* or NULL */
  /* content in memory (small) or in a partial file (large) */
  GPtrArray *data;               /* GBytes per chunk */
  SkPartial *partial;
  guint8 *have;                  /* per chunk: it is in place (or a zero run) */
  guint missing;                 /* chunks that are not there yet */
  SkStat out;
  int left_out;                  /* errno: why not all extended attributes are on the disk; 0: they are */
  SkHash xattrs_here;            /* then: of what is there instead (sk-attributes.h) */
  gboolean placed;
  GError *error;
} SkDownItem;

/* A place on this disk where a chunk should be. */
typedef struct { SkRoot *root; char *path; guint64 offset; } SkDownSourceFile;

struct _SkDown
{
  SkSession *session;
  SkWorker *worker;
  GMainContext *jobs;            /* completions of jobs and gets; iterated only while the down thread waits, so that messages wait their turn */
  SkConfig *config;              /* of the current round */
  SkConfig *level;               /* with which everything was as it is wanted when it was looked at last; NULL: it was not */
  SkDownResult *result;          /* of the current round */
  GCancellable *cancellable;
  GMutex lock;                   /* for @wake */
  GCancellable *wake;            /* of the last round nobody asked for */
  char *trash_batch;
  SkActivityPass *pass;          /* of the folder that is being brought to its target */
  GHashTable *bad_packs;         /* SkHash: answered wrongly or not at all in this request; other places are tried (A3 (f)) */
  GHashTable *planned_dirs;      /* gint64 row -> SkDownItem (borrowed): directories that the plan being carried out is about */
  GHashTable *not_placed;        /* gint64 rows: fetched in this request, and could not be placed; once is enough */
  int busy_until;                /* atomic: seconds of the clock */
  int wanted;                    /* atomic: a wake-up is queued */
  int steps;                     /* atomic: counts beginnings and ends of steps, odd while things are placed and not noted yet */
};

void sk_down_item_free (SkDownItem *self);
/* What a path with this base should look like on the disk. */
void sk_down_expect_base (const SkBase *base, SkStat *out);
/* sk-down-moves.c, index thread: files of the folder that are wanted elsewhere than where they lie. One per plan. */
typedef struct _SkDownMoves SkDownMoves;
SkDownMoves *sk_down_moves_new (void);
void sk_down_moves_free (SkDownMoves *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkDownMoves, sk_down_moves_free)
/* Sets move_from, move_node and move_expected of @item when a file is there that can be moved to its place. */
gboolean sk_down_moves_look (SkDownMoves *self, SkSession *session, SkDownItem *item, GError **error);
void sk_down_source_file_free (gpointer data);
/* Plans up to SK_DOWN_WINDOW dirty nodes after *@after, those that are to be nothing (@gone) or to be something; *@after moves on; 0 when there are
 * no more. What --only or the ignore rules leave out is held in the index and not planned again. */
GPtrArray *sk_down_plan (SkDown *self, SkFlowFolder *folder, gboolean gone, gint64 *after, GError **error);
/* Releases what was held by --only and the ignore rules when these are not the ones it was held by. */
void sk_down_release_holds (SkDown *self, SkFlowFolder *folder);
/* Takes out of @plan what must not be replaced yet, since nobody may have its content any more (sk_tree_before_replace): the way up is told to look
 * at it, or at its conflict copy, first. Then it is planned again. */
gboolean sk_down_spare (SkDown *self, SkFlowFolder *folder, GPtrArray *plan, GError **error);
typedef struct _SkDownFetch SkDownFetch;
/* Brings the content of @items here: of small ones while the caller goes on, until sk_down_fetch_end, which waits and frees; of a large one at once.
 * Errors are left in the items. */
SkDownFetch *sk_down_fetch_small (SkDown *self, SkFlowFolder *folder, GPtrArray *items);
void sk_down_fetch_end (SkDownFetch *self);
void sk_down_fetch_large (SkDown *self, SkFlowFolder *folder, SkDownItem *item);
/* sk-down-dirs.c */
/* With what mode a directory that is to have @mode is made. */
guint32 sk_down_dir_mode (SkFlowFolder *folder, guint32 mode);
/* Opens what lies above @items and keeps its owner out. (transfer full), NULL when there is nothing to be shut afterwards. */
GPtrArray *sk_down_dirs_open (SkDown *self, SkFlowFolder *folder, GPtrArray *items);
/* Before the barrier; @dirs may be NULL. Then, on the index thread and in the transaction of what was carried out, the other one. */
void sk_down_dirs_shut (SkDown *self, SkFlowFolder *folder, GPtrArray *dirs);
gboolean sk_down_dirs_note_shut (SkDown *self, GPtrArray *dirs, GError **error);
/* Leaves an error in those of @items for which there is no way into their directory, so that nothing is fetched for them. */
void sk_down_dirs_check (SkDown *self, SkFlowFolder *folder, GPtrArray *items);
/* sk-down-attributes.c: what of the extended attributes did not get there. Disk pool, after a file was placed; index thread, in the transaction of
 * its base; down thread. */
void sk_down_attributes_look (SkRoot *root, SkDownItem *item);
gboolean sk_down_attributes_note (SkSession *session, SkDownItem *item, GError **error);
void sk_down_attributes_tell (SkDown *self, SkFlowFolder *folder, GPtrArray *items);
/* sk-down-write.c: @items in this order, in one job. Returns how many were placed and noted. */
guint sk_down_run_in_order (SkDown *self, SkFlowFolder *folder, GPtrArray *items);
/* @items in any order, spread over the disk pool. What is placed is noted in parts, while the pool goes on with the next one. */
guint sk_down_run_spread (SkDown *self, SkFlowFolder *folder, GPtrArray *items);
/* An error of @item becomes an issue, a note to the way up, or part of the result; a success ends the issue. */
void sk_down_report_failure (SkDown *self, SkFlowFolder *folder, SkDownItem *item);
/* sk-down-stages.c: carries out a plan; returns how many nodes are as they should be afterwards. */
guint sk_down_carry_out (SkDown *self, SkFlowFolder *folder, GPtrArray *plan);
/* Iterates the down thread's context until *@left, which completions count down, is 0. */
void sk_down_wait_for (SkDown *self, const guint *left);
/* Runs @run on @pool and waits for it. */
void sk_down_run (SkDown *self, SkPool *pool, SkFunc run, gpointer data);
/* Runs @run on @pool, then @done on the down thread, while that waits for whatever it be. */
void sk_down_spawn (SkDown *self, SkPool *pool, SkFunc run, SkFunc done, gpointer data, GDestroyNotify free_data);
