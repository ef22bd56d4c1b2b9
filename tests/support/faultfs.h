/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program faultfs is made of: the disk, the plan of failures, and the calls of the kernel. One thread. */
#pragma once
#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include "faultfs-disk.h"

typedef enum
{
  FAULT_READS,  /* lookups, opens, reads, attributes, space */
  FAULT_SPACE,  /* writes that may need room: new names, bytes, attributes, renames */
  FAULT_SYNCS,  /* the same, and what is lost when they fail cannot be seen until the machine stops */
  FAULT_WRITES, /* other changes: removals, truncation, modes and times */
} FaultKind;

typedef enum
{
  FAULT_COUNT_CHANGES, /* with ENOSPC only what needs room */
  FAULT_COUNT_ALL,
  FAULT_COUNT_SYNCS,
} FaultCount;

typedef struct
{
  FaultCount counts;
  guint64 at;         /* 0: none is planned; the first is 1 */
  int errnum;
  gboolean until_cleared;
  guint64 counted, failed;
  char first[160];    /* the call that failed first */
} FaultPlan;

typedef struct
{
  FaultDisk *disk;
  FaultPlan plan;
  guint64 writes;     /* changes since the last cut */
  guint64 cut_at;     /* the power fails instead of this one; 0: it does not */
  FaultCut cut_as;
  FaultLoss loss;     /* of the last cut */
  gboolean dead;      /* cut, and the power is not back: every call fails */
  guint64 epoch;      /* of node ids: with the next one the kernel knows nothing that it knew before */
  GHashTable *tops;   /* set of names in the root that the kernel may know */
  guint64 delay_us, delay_every, delay_count;
} FaultServer;

/* Inode numbers stay what they are, node ids do not. */
#define FAULT_EPOCH_SHIFT 40

extern const struct fuse_lowlevel_ops fault_ops;
