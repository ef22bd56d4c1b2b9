/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the local layer only: what the files that change the person's tree share. Blocking; disk
 * pool, any thread. */
#pragma once
#include "sk-root-private.h"
#include "sk-target.h"
#include "sk-test-hooks.h"

#include <time.h>
#include <unistd.h>

/* As sk_fail_errno; for a full disk the message names the root, because that is where room has to
 * be made. */
gboolean sk_write_fail (GError **error, SkRoot *root, int errnum, const char *doing,
                        const char *path);

/* --- directories --- */
/* Both return a descriptor or -1; what they make is part of the next barrier. */
/* The directory of @path, made (0755) where it is missing; *@name points into @path. */
int sk_dirs_open_parent (SkRoot *root, const char *path, const char **name, GError **error);
/* A directory below .skerry, made (0700) where it is missing; never .skerry itself: without it this
 * is not our root (OFFLINE). */
int sk_dirs_open_own (SkRoot *root, const char *path, GError **error);

/* The same for a run of changes, which keeps the descriptor. A directory that is not there is made when @make. */
int sk_target_run_parent (SkTargetRun *self, const char *path, gboolean make, const char **name,
                          GError **error);
int sk_target_run_tmp (SkTargetRun *self, GError **error);

/* Closed where it goes out of scope; -1: none. */
typedef struct
{
  int fd;
} SkFd;

static inline void
sk_fd_clear (SkFd *self)
{
  if (self->fd >= 0)
    close (self->fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkFd, sk_fd_clear)

/* Adds to the barrier the directory that @path was taken out of, or the nearest above it that is
 * still there. FALSE and errno: it could not be opened. */
gboolean sk_barrier_add_nearest (SkRoot *root, const char *path);

/* --- one name in one open directory --- */
typedef struct
{
  int dir;
  const char *name;
} SkSpot;

/* TRUE when what is at @spot still is @expected; *@now: how it looks. Of a directory only the kind
 * is compared: its times change with its children. */
gboolean sk_spot_is (const SkSpot *spot, const SkStat *expected, SkStat *now);
/* Same file before and after a rename: inode, size, mtime and mode. rename itself stamps the ctime,
 * so that a write of equal length with the mtime put back, between the last look and the rename, is
 * the one thing this cannot see. */
gboolean sk_stat_same_moved (const SkStat *a, const SkStat *b);

/* Functions of this group that return int return 0 or an errno; ESTALE when the person's file is
 * not what was expected. "Own" is a name in .skerry, where nobody else makes any. */
/* From an own name to one that must be free: EEXIST when it is not. */
int sk_swap_put (SkRoot *root, const SkSpot *own, const SkSpot *to);
/* From a name of the person's, which must be @expected, to a free own one; looks at it there and
 * puts it back when it is something else. *@moved: its stat there. */
int sk_swap_take (SkRoot *root, const SkSpot *from, const SkSpot *own, const SkStat *expected,
                  SkStat *moved);
/* From one name of the person's to another that must be free, in one step. EOPNOTSUPP where that is
 * not possible. */
int sk_swap_relocate (SkRoot *root, const SkSpot *from, const SkSpot *to, const SkStat *expected,
                      SkStat *moved);
typedef enum
{
  SK_SWAP_KEPT, /* nothing happened; what was at @own is there again */
  SK_SWAP_DONE,
  SK_SWAP_LOST, /* nothing happened to the person's files, but what was at @own is gone */
} SkSwapResult;
/* Puts @own at @to, whose present content must be @expected and goes to @slot, a free name in the
 * trash. @to never is without content where the file system can exchange or link. When something
 * else comes out, everything is put back (RULES A11). A directory is replaced when it is empty
 * (else ENOTEMPTY), and is not kept. *@old: what lies in @slot now. */
SkSwapResult sk_swap_replace (SkRoot *root, const SkSpot *own, const SkSpot *to, const SkSpot *slot,
                              const SkStat *expected, SkStat *old, int *errnum);

/* --- trash --- */
/* A free name for @path in @batch; in a batch of the same second when it is taken there. Returns
 * the directory's descriptor or -1; *@name points into @path. */
int sk_trash_slot (SkRoot *root, const char *batch, const char *path, const char **name,
                   GError **error);
/* Remembers how a file looked when it came into the trash, for sk_trash_touched. */
void sk_trash_note (SkRoot *root, const SkStat *stat);
/* What lies at @slot is a person's save that could not be put back: it counts as touched. */
void sk_trash_note_lost (SkRoot *root, const SkSpot *slot);

/* --- barrier --- */
/* A file whose bytes and metadata, and a directory in which a name changed, are made durable by the
 * next barrier. The descriptors stay the caller's. */
void sk_barrier_add_file (SkRoot *root, int fd);
void sk_barrier_add_dir (SkRoot *root, int dir);
/* Now. Return 0 or an errno. */
int sk_barrier_sync_file (SkRoot *root, int fd);
int sk_barrier_sync_dir (SkRoot *root, int dir);
/* Everything on the file system; only where sk_barrier_may_sync_whole says so. */
int sk_barrier_sync_whole (SkRoot *root);
gboolean sk_barrier_may_sync_whole (SkRoot *root);

/* What this layer keeps with a root. */
typedef struct
{
  GMutex lock;            /* of all below, held for moments */
  GArray *held;           /* of SkHeld: to be synced one by one */
  gboolean more;          /* there is more than @held: only syncfs covers it */
  int failed;             /* errno of an early sync, told by the next barrier */
  gint64 slow_until;      /* monotonic µs: no syncfs before then */
  gint64 whole_wall;      /* wall µs when the last syncfs that succeeded began; 0: there was none */
  gint64 whole_offset;    /* µs between the wall clock and the monotonic one then */
  GHashTable *trashed[2]; /* set of SkTrashed: the newer half and the older half */
  guint arrivals;         /* in the trash, all in all */

  GMutex barrier; /* held through a whole sync; taken before @lock */
} SkWriterState;
SkWriterState *sk_writer_state (SkRoot *root);

/* --- what a file gets beside its content (sk-dress.c) --- */
void sk_dress_times (gint64 mtime, struct timespec times[2]);
/* The next three return 0 or an errno. On a new file, after its last byte: writing clears the
 * set-id bits and moves the mtime. */
int sk_dress (SkRoot *root, int fd, const SkMeta *meta);
/* The same for what is @now at @spot; ESTALE when that is something else. */
int sk_dress_in_place (SkRoot *root, const SkSpot *spot, const SkStat *now, const SkMeta *meta);
/* Adds what is at @spot to the barrier, where it can be opened: metadata alone is not made durable
 * by its directory. */
int sk_dress_remember (SkRoot *root, const SkSpot *spot, const SkStat *now);

/* --- partials --- */
int sk_partial_fd (SkPartial *self);
const char *sk_partial_name (SkPartial *self); /* in .skerry/tmp */
guint64 sk_partial_size (SkPartial *self);
/* Its file is at its place, or gone: nothing in .skerry/tmp belongs to it any more. */
void sk_partial_release (SkPartial *self);
gboolean sk_partial_is_released (SkPartial *self);
/* Writes all of it; 0 or an errno. */
int sk_write_all (int fd, guint64 offset, const guint8 *data, gsize len);

#if SK_TEST_HOOKS
typedef struct
{
  /* Called between two steps: "checked" (the target was looked at), "swapped" (something moved and
   * was not looked at yet), "linked", "moved" (the same in the two fallbacks), "back". */
  void (*at) (const char *point, gpointer data);
  gpointer data;
  gboolean refuse_flags;               /* renameat2 with flags says EINVAL */
  gboolean refuse_links;               /* linkat says EPERM */
  int sync_errnum;                     /* every sync says this */
  int file_sync_errnum;                /* syncs of single files say this */
  int made_errnum;                     /* opening a directory that was just made says this */
  int kept_errnum;                     /* opening what just got its metadata says this */
  gint64 syncfs_takes;                 /* µs added to what was measured */
  int file_syncs, dir_syncs, fs_syncs; /* atomic counters */
} SkWriteHooks;
extern SkWriteHooks sk_write_hooks;
/* clang-format off */
#define SK_WRITE_POINT(point) \
  G_STMT_START { \
    sk_test_stage ("rename"); \
    if (sk_write_hooks.at != NULL) sk_write_hooks.at (point, sk_write_hooks.data); \
  } G_STMT_END
#else
#define SK_WRITE_POINT(point) G_STMT_START { } G_STMT_END
/* clang-format on */
#endif
