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
  GPtrArray *items;        /* SkScanItem, sorted by name bytes; ignored ones and .skerry left out */
  GPtrArray *specials;     /* char* names of devices, sockets, fifos; and other mounts not entered */
  GPtrArray *ignored;      /* char* names left out by the rules */
  GError *error;           /* set: nothing may be concluded from what is missing here */
} SkScanDir;
void sk_scan_dir_free (SkScanDir *self);
/* Never NULL. */
SkScanDir *sk_scan_dir (SkRoot *root, const char *path, SkIgnore *ignore, GCancellable *cancellable);
/* .skerryignore of the root; built-in defaults when there is none. */
SkIgnore *sk_scan_load_ignore (SkRoot *root);
