/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage in a directory: a disk, a removable one, a network mount. All of it is blocking and runs in the disk pool.
 *
 * Which directory it is, is looked at in each operation: the vault's directory is opened by its path, compared with the
 * one whose marker was read, and everything else is done beneath that descriptor. So an operation sees one directory from
 * beginning to end, whatever is mounted, unmounted or renamed meanwhile, and no descriptor stays open between operations
 * (it would keep a person's disk from being unmounted). */
#pragma once
#include "sk-store-job.h"

#define SK_TYPE_STORE_DIR (sk_store_dir_get_type ())
G_DECLARE_FINAL_TYPE (SkStoreDir, sk_store_dir, SK, STORE_DIR, SkStore)

/* One directory, as far as the kernel tells them apart. */
typedef struct { guint64 dev, ino; } SkDirIdentity;

struct _SkStoreDir
{
  SkStore parent_instance;
  char *location;           /* absolute path */
  char *path;               /* of the vault's directory; the location itself when there is no vault */

  GMutex lock;              /* guards what follows */
  gboolean pinned;
  gboolean unmarked;        /* the pinned directory was prepared and has no marker yet */
  SkDirIdentity pin;
  GHashTable *durable;      /* of char*: directories whose own entry is known to be durable */
  GPtrArray *placing;       /* of SkDirPut: written, to be made durable and renamed */
  guint64 placing_bytes;
  gboolean commit_queued;
};

/* --- sk-store-dir-root.c --- */
/* Opens the storage's directory, -1 when it is not there or not the one: SK_ERROR_OFFLINE and others. */
int sk_store_dir_open (SkStoreDir *self, GError **error);
/* Reads the marker again beneath @root, before an answer is given that something is absent: a directory that was emptied
 * or made anew may have the inode of the old one. */
gboolean sk_store_dir_confirm (SkStoreDir *self, int root, GError **error);
gboolean sk_store_dir_identify (int fd, SkDirIdentity *out);
/* The marker of a prepared storage was written. */
void sk_store_dir_marked (SkStoreDir *self);
/* Makes the directories of a new storage. SK_ERROR_EXISTS when it has a marker. */
gboolean sk_store_dir_prepare (SkStoreDir *self, GError **error);
/* Opens @name beneath @root without following links. -1 and errno. */
int sk_store_dir_open_beneath (int root, const char *name, int flags);
#if SK_TEST_HOOKS
/* As where the kernel has no openat2. */
extern gboolean sk_store_dir_test_walk;
#endif
/* A whole regular file of at most @max_size bytes, or @len bytes of it from @offset. */
GBytes *sk_store_dir_read (SkStoreDir *self, int fd, const char *name, guint64 offset, guint64 len, guint64 max_size, GCancellable *cancellable, GError **error);
/* Sets @error from @code (an errno) with the place, the object and what to do, and returns FALSE. */
gboolean sk_store_dir_fail (SkStoreDir *self, int code, const char *what, const char *name, GError **error);

/* --- sk-store-dir-put.c --- */
gboolean sk_store_dir_put_run (SkStoreJob *job, GCancellable *cancellable, GError **error);
/* Removes what killed puts left behind. */
void sk_store_dir_sweep (int root);
