/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model test: three real devices (homes, folders, one directory storage), on which a person does random things while they sync,
 * are away, are killed and lose their state. Every sync runs in a process of its own, so that a kill is a kill. When everything came
 * to rest the trees have to be equal, and nothing may be lost or removed that nobody removed. One thread; a sequence is replayed by
 * its seed. */
#pragma once
#include <glib.h>

#define SK_MODEL_DEVICES 3u

/* What happened, summed up over sequences. */
typedef struct
{
  guint sequences;
  guint operations;              /* of the person */
  guint races;                   /* of these, in the middle of a sync */
  guint syncs;
  guint spells;                  /* a device was away for a while, or its storage was */
  guint kills;                   /* processes that SIGKILL ended while they synced */
  guint lost;                    /* databases that were removed */
  guint contents;                /* that had to be found again in the end */
  guint from_versions;           /* of these, found in no tree and no trash, but in the history */
  guint conflicts;               /* conflict copies in the final trees */
  guint tombstones;              /* deletions in the histories, each of which a person made */
} SkModelCounts;

/* Runs the sequence of @seed and adds to @counts. NULL, or what is wrong and what had been done (transfer full). */
char *sk_model_run (guint64 seed, SkModelCounts *counts);
/* The same while the engines of all devices run: up and down at once, on all three. How their steps fall is up to the machine, so a seed
 * replays what the person does, not all of what happens. */
char *sk_model_run_running (guint64 seed, SkModelCounts *counts);
