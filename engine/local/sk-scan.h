/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads directories. Blocking; disk pool. */
#pragma once
#include "sk-ignore.h"
#include "sk-root.h"

typedef struct { char *name; SkStat stat; } SkScanItem;
typedef struct
{
  char *path;              /* of the directory, relative */
  SkStat stat;             /* of the directory itself */
  GPtrArray *items;        /* SkScanItem, sorted by name bytes; ignored ones, specials and .skerry left out. What is mounted here
                            * is among them, with stat.mount_root, so that it never looks deleted */
  GPtrArray *specials;     /* char* names of devices, sockets, fifos; of other mounts, which are not entered; and those that a disk may take for .skerry */
  GPtrArray *ignored;      /* char* names left out by the rules */
  GStringChunk *names;     /* of items that a caller gave another name; NULL: none */
  GError *error;           /* set: nothing may be concluded from what is missing here */
} SkScanDir;
void sk_scan_dir_free (SkScanDir *self);
/* Never NULL. @ignore may be NULL. An error of the directory itself (NOT_FOUND, PERMISSION, OFFLINE for a mount, CHANGED for a link
 * or file in its place, CANCELLED) leaves the arrays empty or incomplete. */
SkScanDir *sk_scan_dir (SkRoot *root, const char *path, SkIgnore *ignore, GCancellable *cancellable);
/* .skerryignore of the root; built-in defaults when there is none; NULL with the reason when there is one that cannot be read: what was meant to
 * stay private must not be published then, and nothing may be written or deleted (RULES A14). */
SkIgnore *sk_scan_read_ignore (SkRoot *root, GError **error);
