/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The root of an attached folder on this device: an open directory, what its file system can do, and the marker that proves that
 * it is the one. Blocking; disk pool or flow threads. Immutable after opening, shared by reference. */
#pragma once
#include <gio/gio.h>
#include "sk-error.h"
#include "sk-hash.h"
#include "sk-entry.h"

typedef struct
{
  SkKind kind;             /* FILE, DIR, SYMLINK; NONE: absent */
  gboolean special;        /* device, socket, fifo: reported, not synced (kind NONE) */
  guint64 size;
  guint32 mode;            /* 07777 */
  gint64 mtime, ctime;     /* ns */
  gint64 btime;            /* ns, 0 when the file system has none */
  guint64 ino, dev;
  gboolean mount_root;     /* something else is mounted here (RULES A10) */
  guint32 nlink;
} SkStat;
/* Same inode, size, mtime, ctime: nobody touched it since. */
gboolean sk_stat_same (const SkStat *a, const SkStat *b);

typedef struct
{
  gboolean openat2, rename_exchange, rename_noreplace, reflink, xattr, symlinks, modes, birth_time, case_folding, normalising, network;
  gboolean whole_sync;     /* syncfs reaches the disk */
} SkRootAbilities;

typedef struct { guint64 dev, ino; SkHash fsid; } SkRootNumbers;   /* a trigger for a check, not a verdict (C12) */

typedef struct _SkRoot SkRoot;
/* @path may be a symlink once: the resolved directory is pinned by its descriptor (B013). */
SkRoot *sk_root_open (const char *path, GError **error);
SkRoot *sk_root_ref (SkRoot *self);
void sk_root_unref (SkRoot *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkRoot, sk_root_unref)
int sk_root_fd (SkRoot *self);
const char *sk_root_path (SkRoot *self);
/* What stands now where the person named the root, and where its marker should be (kind NONE: nothing, or it cannot be looked at). As long as the
 * numbers are the same it need not be opened again. */
typedef struct { SkStat named, marker; } SkRootPlace;
void sk_root_look (SkRoot *self, SkRootPlace *out);
gboolean sk_root_place_same (const SkRootPlace *a, const SkRootPlace *b);
const SkRootAbilities *sk_root_abilities (SkRoot *self);
void sk_root_numbers (SkRoot *self, SkRootNumbers *out);
/* Creates .skerry/ (0700) with folder marker, tmp, trash, .gitignore, CACHEDIR.TAG (C13). */
gboolean sk_root_prepare (SkRoot *self, const SkId *folder, GError **error);
/* Id of the folder that the directory is marked as; FALSE: no marker that can be read. */
gboolean sk_root_marker (SkRoot *self, SkId *folder);
/* Marks a directory that is marked already (a copy of another root) as this folder. */
gboolean sk_root_mark_anew (SkRoot *self, const SkId *folder, GError **error);
/* Removes .skerry except the trash. */
gboolean sk_root_release (SkRoot *self, GError **error);

typedef enum { SK_ROOT_OK, SK_ROOT_MISSING /* gone or not a directory or unreadable */, SK_ROOT_NO_MARKER, SK_ROOT_FOREIGN, SK_ROOT_NEW_NUMBERS } SkRootState;
/* Looks again at the path from scratch: is it still this directory, with this marker? */
SkRootState sk_root_check (SkRoot *self, const SkId *folder, const SkRootNumbers *saved);
/* Reasons not to take a path as a root: inside or around another root or a state directory, the document portal,
 * not a directory. @others: NULL-terminated resolved paths. */
gboolean sk_root_acceptable (const char *path, const char *const *others, GError **error);
/* Warnings: other sync tools' markers, .git at the root. (transfer full), NULL when none */
char *sk_root_warning (SkRoot *self);

/* --- opens beneath the root, never through a symlink --- */
/* @path relative, any depth (works above PATH_MAX). *@name points into @path. Returns the parent's descriptor or -1.
 * It can be fsynced, except where the directory may be searched but not read (then it is O_PATH). Other mounts are not entered.
 * Codes: NOT_FOUND; CHANGED when a link or a file is in the way; OFFLINE for a mount; PERMISSION. */
int sk_root_open_parent (SkRoot *self, const char *path, const char **name, GError **error);
int sk_root_open_dir (SkRoot *self, const char *path, GError **error);       /* "" = the root */
/* Absent is success with kind NONE; unreadable parent etc. is an error, never absence. */
gboolean sk_root_stat (SkRoot *self, const char *path, SkStat *out, GError **error);
/* What was read at a path, and how it looked then. Borrowed. @lost is the answer: the disk could not keep the bytes of this file. They may be lost
 * although they can still be read, and although the next fsync succeeds: only writing them anew helps. */
typedef struct { const char *path; const SkStat *stat; gboolean lost; } SkRootRead;
/* Makes durable what was read at @reads: bytes, metadata and name; and of what is gone (kind NONE) that it is. What the log of this device says must
 * not be forgotten by its own disk in a power cut: the file would look removed, emptied, taken back or made again by its person. What is another file
 * by now, or not there any more, is no failure: a new scan finds it. One syncfs for 64 or more, fsync of each below; nothing for what an earlier
 * syncfs covers (RULES C8). FALSE when names could not be made durable. */
gboolean sk_root_keep (SkRoot *self, SkRootRead *reads, guint n, GError **error);
/* Free bytes on this file system, less the reserve (1 % or 1 GiB, whichever is smaller). */
gint64 sk_root_space (SkRoot *self);

#if SK_TEST_HOOKS
/* For tests of the fallbacks: what is set FALSE here is not used. */
SkRootAbilities *sk_root_test_abilities (SkRoot *self);
#endif
