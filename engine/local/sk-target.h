/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes to the person's tree: temp, verify, durable, rename without clobbering (RULES A11, A12). Blocking; disk pool. Every
 * call takes what the index believes is there now (@expected, NULL or kind NONE = nothing) and answers SK_ERROR_CHANGED, with
 * the tree as it was, when that is not so. Of a directory only the kind is compared. Missing parents are made (0755) where nothing
 * is expected. Whatever has no @batch parameter is as with @batch: durable after the next sk_root_barrier. Several threads may
 * work on one root, each on its own paths. Errors: CHANGED; PERMISSION (also a read-only file system) and EXISTS name the path;
 * NO_SPACE names the root; OFFLINE when .skerry is gone. */
#pragma once
#include "sk-root.h"

/* --- content into a partial file, ".skerry/tmp/<64 hex of content>"; survives restarts --- */
typedef struct _SkPartial SkPartial;
/* Opens or resumes. @size: final length; zero runs become holes. BUSY while another SkPartial of this content is open. */
SkPartial *sk_partial_open (SkRoot *root, const SkHash *content, guint64 size, GError **error);
void sk_partial_close (SkPartial *self);      /* keeps the file */
void sk_partial_discard (SkPartial *self);    /* removes it */
gboolean sk_partial_was_there (SkPartial *self);
/* Verified bytes only: the caller compared the chunk id. */
gboolean sk_partial_write (SkPartial *self, guint64 offset, const guint8 *data, gsize len, GError **error);
/* From a file of this or another root, also from the trash or another partial: by reflink, then read back and compared with @ref's id;
 * else read, compared and written. FALSE with SK_ERROR_CHANGED when the source no longer holds it. */
gboolean sk_partial_copy (SkPartial *self, guint64 offset, SkRoot *from_root, const char *from_path, guint64 from_offset,
                          const SkChunkRef *ref, const SkKey *id_key, GError **error);
/* TRUE when the bytes at @offset already are this chunk (after a restart). */
gboolean sk_partial_has (SkPartial *self, guint64 offset, const SkChunkRef *ref, const SkKey *id_key);

/* What a new file gets besides bytes. Attributes that the disk does not take never keep the bytes from being there: *@left_out, when
 * given, says why not all of them could be written (an errno; 0: all were). @xattrs NULL: those that are there stay. */
typedef struct { guint32 mode; gint64 mtime; GBytes *xattrs; int *left_out; } SkMeta;
/* Sets metadata, makes the bytes durable unless @batch (then the caller calls sk_root_barrier before it commits the base),
 * puts it at @path. A replaced file goes to the trash; a replaced directory has to be empty (SK_ERROR_EXISTS). *@out: the new
 * file's stat. The partial stays open and the caller's to close; after an error it can be placed again, unless its file is gone
 * (then NOT_FOUND), or is placed already and only its durability failed (IO). */
gboolean sk_target_place (SkRoot *root, SkPartial *partial, const char *path, const SkStat *expected, const SkMeta *meta,
                          gboolean batch, const char *trash_batch, SkStat *out, GError **error);
/* Directories that a run of changes keeps open, because the next one is mostly in the same: for one job on one thread, so for moments. A
 * directory that a person moves meanwhile takes along what is put into it, as if that had come before. */
typedef struct
{
  SkRoot *root;            /* borrowed */
  int tmp, parent;         /* -1: not open */
  char *parent_path;
} SkTargetRun;
#define SK_TARGET_RUN(of) { .root = (of), .tmp = -1, .parent = -1 }
void sk_target_run_clear (SkTargetRun *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkTargetRun, sk_target_run_clear)
/* A whole small file at once: no partial. */
gboolean sk_target_run_write (SkTargetRun *self, const char *path, const guint8 *data, gsize len, const SkStat *expected,
                              const SkMeta *meta, gboolean batch, const char *trash_batch, SkStat *out, GError **error);
/* The same for one alone. */
gboolean sk_target_write_small (SkRoot *root, const char *path, const guint8 *data, gsize len, const SkStat *expected,
                                const SkMeta *meta, gboolean batch, const char *trash_batch, SkStat *out, GError **error);
gboolean sk_target_symlink (SkRoot *root, const char *path, const char *link, const SkStat *expected, gint64 mtime,
                            const char *trash_batch, SkStat *out, GError **error);
/* Missing parents are made too (0755). An existing directory is success. */
gboolean sk_target_mkdir (SkRoot *root, const char *path, guint32 mode, SkStat *out, GError **error);
/* A new directory in the place of the file or link that is @expected there and goes to the trash, in one step where possible. */
gboolean sk_target_mkdir_over (SkRoot *root, const char *path, guint32 mode, const SkStat *expected, const char *trash_batch, SkStat *out,
                               GError **error);
/* FALSE when names in the directory @dir ("" = the root) cannot be changed by this process. One that is not there is no obstacle. */
gboolean sk_target_may_change (SkRoot *root, const char *dir, GError **error);
gboolean sk_target_set_meta (SkRoot *root, const char *path, const SkStat *expected, const SkMeta *meta, SkStat *out, GError **error);
/* Moves what this device has instead of writing it again: RENAME_NOREPLACE (or EXCHANGE over @expected_to). */
gboolean sk_target_rename(SkRoot *root, const char *from, const SkStat *expected_from, const char *to, const SkStat *expected_to,
                          const SkMeta *meta, const char *trash_batch, SkStat *out, GError **error);
/* File or link: into the trash. Directory: rmdir, and SK_ERROR_EXISTS when something unknown lies inside. */
gboolean sk_target_remove (SkRoot *root, const char *path, const SkStat *expected, const char *trash_batch, GError **error);
/* What was at @path is gone already, perhaps only in memory: that becomes durable with the next barrier, too. */
gboolean sk_target_keep_gone (SkRoot *root, const char *path, GError **error);
/* Durability of everything done with @batch since the last barrier, by any thread: syncfs when there are 64 files and directories or
 * more and the last one took under 2 s (else not for 10 minutes) and the file system is local, else fsync of each file and directory
 * (RULES C8). After an error none of it may be taken as durable. */
gboolean sk_root_barrier (SkRoot *root, GError **error);

/* --- trash: ".skerry/trash/<YYYYMMDDTHHMMSSZ>-<4 hex>/<original path>" ---
 * A second version of one path in one batch goes to the next batch of the same second, so that the path stays the original one. */
char *sk_trash_new_batch (gint64 wall_us);
typedef struct { char *batch; char *path; SkStat stat; } SkTrashItem;
/* Sorted by batch (oldest first) and path. */
GPtrArray *sk_trash_list (SkRoot *root, GError **error);
/* SK_ERROR_EXISTS when something is at @to_path. */
gboolean sk_trash_restore (SkRoot *root, const SkTrashItem *item, const char *to_path, GError **error);
/* Staggered: everything of the last day, then one per day and path, nothing older than @keep_us. Returns the count removed. */
guint sk_trash_expire (SkRoot *root, gint64 wall_us, gint64 keep_us, GCancellable *cancellable);
/* Items that were written to after they came here (a writer held them open, A11), or are saves that could not be put back: by comparing
 * mtime and size with how they came; for those of an earlier run of the engine by an mtime after the batch time that was stamped together
 * with the ctime. Files with another name elsewhere are not counted. Reads all batches that began at @since (wall µs) or later;
 * G_MININT64: the whole trash. Never NULL. (transfer full) */
GPtrArray *sk_trash_touched (SkRoot *root, gint64 since);
/* As it is now, @item is no news any more. */
void sk_trash_is_seen (SkRoot *root, const SkTrashItem *item);
/* How many files came into the trash since @root was opened. Any thread. */
guint sk_trash_arrivals (SkRoot *root);
/* Where @item lies, below the root. (transfer full) */
char *sk_trash_item_path (const SkTrashItem *item);
/* Partials nobody needs any more: not in @wanted (set of SkHash) and older than a day. */
void sk_partial_expire (SkRoot *root, GHashTable *wanted, gint64 wall_us);
