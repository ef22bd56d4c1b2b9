/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A disk in memory that knows what would be left of it if the power failed now.
 *
 * Each file and directory exists twice: as programs see it, and as the disk has it ("kept"). What was not synced is kept only by
 * chance. What is promised is what POSIX promises, a little less than ext4, XFS and btrfs do:
 * - fsync of a file keeps its bytes, size, mode, times and attributes, not its name;
 * - fsync of a directory keeps every change of names in it. A rename between two directories is kept in both or in neither, and
 *   so is what came before it in the other. Changes of one directory are kept in their order, those of two in any;
 * - a removed directory takes nothing with it that was moved out of it before;
 * - of unsynced bytes any 4 KiB page may be kept, each on its own, also an earlier state of it; where a later page of a grown
 *   file was kept and an earlier one was not, zeros are left; size and times may be kept without the bytes;
 * - of the last write any 512-byte sector may be kept;
 * - after an fsync that failed the bytes are lost for good, although they can still be read and the next fsync succeeds.
 * One thread. */
#pragma once
#include <glib.h>
#include <sys/stat.h>
#include <sys/types.h>

#define FAULT_PAGE 4096u
#define FAULT_SECTOR 512u
#define FAULT_FILE_MAX (G_GUINT64_CONSTANT (1) << 31)
#define FAULT_ROOT 1u

typedef struct
{
  mode_t mode;
  uid_t uid;
  gid_t gid;
  struct timespec mtime, ctime, atime;
} FaultMeta;

typedef struct
{
  guint64 ino;
  FaultMeta meta, kept_meta;
  guint nlink;                    /* of names as programs see them */
  char *link;                     /* symlinks */
  GByteArray *data, *kept_data;   /* files */
  GHashTable *dirty;              /* set of page numbers that differ from what is kept */
  GHashTable *names, *kept_names; /* directories: name -> inode number */
  GHashTable *attributes, *kept_attributes; /* name -> GBytes; NULL when there never were any */
} FaultNode;

typedef enum
{
  FAULT_CUT_NONE,    /* nothing unsynced is left */
  FAULT_CUT_ALL,     /* everything is left, but the last write is torn */
  FAULT_CUT_ORDERED, /* names up to some moment; bytes by chance */
  FAULT_CUT_RANDOM,  /* names up to a moment of its own per directory; bytes by chance */
} FaultCut;

typedef struct _FaultDisk FaultDisk;

/* What a cut has left. */
typedef struct
{
  guint names, names_kept;
  guint pages, pages_kept;
} FaultLoss;

FaultDisk *fault_disk_new (guint32 seed);
void fault_disk_free (FaultDisk *self);
void fault_disk_seed (FaultDisk *self, guint32 seed);

/* NULL when there is no such node. */
FaultNode *fault_disk_node (FaultDisk *self, guint64 ino);
/* NULL when @dir has no such name. */
FaultNode *fault_disk_find (FaultDisk *self, FaultNode *dir, const char *name);
FaultNode *fault_disk_make (FaultDisk *self, FaultNode *dir, const char *name, mode_t mode, uid_t uid, gid_t gid,
                            const char *link);
void fault_disk_link (FaultDisk *self, FaultNode *node, FaultNode *dir, const char *name);
void fault_disk_remove (FaultDisk *self, FaultNode *dir, const char *name);
/* What @to_name was is gone, or is at @name when @exchange. Both names were checked. */
void fault_disk_rename (FaultDisk *self, FaultNode *dir, const char *name, FaultNode *to, const char *to_name, gboolean exchange);

void fault_disk_write (FaultDisk *self, FaultNode *node, guint64 offset, const guint8 *bytes, gsize len);
void fault_disk_resize (FaultDisk *self, FaultNode *node, guint64 size);
void fault_disk_punch (FaultDisk *self, FaultNode *node, guint64 offset, guint64 len);
/* Mode, owner or times were changed. */
void fault_disk_touch (FaultDisk *self, FaultNode *node);
/* @value NULL removes it. */
void fault_disk_attribute (FaultDisk *self, FaultNode *node, const char *name, GBytes *value);

void fault_disk_sync_file (FaultDisk *self, FaultNode *node);
void fault_disk_sync_dir (FaultDisk *self, FaultNode *dir);
void fault_disk_sync_all (FaultDisk *self);
/* An fsync that failed: what was to be written is forgotten. */
void fault_disk_lose_file (FaultDisk *self, FaultNode *node);

/* The power fails; programs see from now on what was kept. */
void fault_disk_cut (FaultDisk *self, FaultCut cut, FaultLoss *loss);
/* Everything synced and put aside; and back to that. FALSE when nothing was put aside. */
void fault_disk_save (FaultDisk *self);
gboolean fault_disk_load (FaultDisk *self);
