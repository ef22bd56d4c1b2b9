/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two files of the disk share. */
#pragma once
#include "faultfs-disk.h"

/* One name in one directory; @ino 0: gone. */
typedef struct
{
  guint64 dir, ino;
  char *name;
} FaultChange;

/* What becomes durable in one step. */
typedef struct
{
  guint n;
  FaultChange changes[2];
  guint64 dirs[3]; /* in whose order it stands; 0: none */
} FaultStep;

struct _FaultDisk
{
  GHashTable *nodes;   /* of FaultNode, by inode number */
  GHashTable *put_by;  /* what fault_disk_save put aside, or NULL */
  GPtrArray *steps;    /* of FaultStep, not kept yet, oldest first */
  GHashTable *unkept;  /* set of inode numbers of files with something unsynced */
  guint64 next_ino;
  GRand *rng;
  guint64 last_ino, last_offset;
  gsize last_len;
};

guint64 *fault_key (guint64 ino);
void fault_step_free (gpointer step);
void fault_node_free (gpointer node);
/* Below @n, by the seed. */
guint fault_below (FaultDisk *self, guint n);
/* All that has to be kept with the changes of @dir among the first @n steps. */
void fault_keep_dir (FaultDisk *self, guint64 dir, guint n);
void fault_keep_page (FaultNode *node, guint page);
/* Ascending. (transfer full) */
GArray *fault_dirty_pages (FaultNode *node);
