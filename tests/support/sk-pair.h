/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices of one vault in one process: homes, folders and a directory storage below a temporary directory. Devices are enrolled by hand, without
 * an invitation, so that tests of the flows do not depend on joining. */
#pragma once
#include "sk-command.h"

typedef struct
{
  char *base;                    /* temporary directory */
  char *storage;                 /* directory used as the storage */
  SkClock *clock;                /* NULL: real */
  gboolean watch;
  guint n;
  SkSession *devices[8];
} SkFleet;

/* @n devices; the first one made the vault, the storage "main" is attached on all. */
SkFleet *sk_fleet_new (guint n, gboolean watch);
void sk_fleet_free (SkFleet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkFleet, sk_fleet_free)
/* Closes and opens device @i again. */
void sk_fleet_restart (SkFleet *self, guint i);
void sk_fleet_close (SkFleet *self, guint i);
void sk_fleet_open (SkFleet *self, guint i);
char *sk_fleet_home (SkFleet *self, guint i);
/* "<base>/<i>/NAME": where tests attach folders. Made when missing. (transfer full) */
char *sk_fleet_path (SkFleet *self, guint i, const char *name);
/* Runs a command; aborts the test when it fails. @format: a GVariant format of the arguments, NULL for none. */
GVariant *sk_fleet_run (SkFleet *self, guint i, const char *command, const char *format, ...);
/* The folder @name: added on device 0, attached on all others, all synced once. */
void sk_fleet_share (SkFleet *self, const char *name);
/* sync on device @i; returns the fetch report. */
GVariant *sk_fleet_sync (SkFleet *self, guint i);
/* sync on every device until two rounds in a row moved nothing; aborts after @rounds. */
void sk_fleet_settle (SkFleet *self, guint rounds);
/* Files of the tree below @path: "path kind mode mtime content-hash" lines, sorted; .skerry left out. (transfer full) */
char *sk_tree_listing (const char *path);
void sk_put_file (const char *dir, const char *path, const char *data, gssize len);
char *sk_get_file (const char *dir, const char *path);          /* NULL when absent */
