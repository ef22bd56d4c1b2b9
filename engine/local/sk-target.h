/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes to the person's tree: temp, verify, durable, rename without clobbering (RULES A11, A12). Blocking; disk pool. Every
 * call takes what the index believes is there now (@expected, NULL or kind NONE = nothing) and answers SK_ERROR_CHANGED, with
 * the tree as it was, when that is not so. */
#pragma once
#include "sk-root.h"

/* --- content into a partial file, ".skerry/tmp/<64 hex of content>"; survives restarts --- */
typedef struct _SkPartial SkPartial;
/* Opens or resumes. @size: final length; zero runs become holes. */
SkPartial *sk_partial_open (SkRoot *root, const SkHash *content, guint64 size, GError **error);
void sk_partial_close (SkPartial *self);      /* keeps the file */
void sk_partial_discard (SkPartial *self);    /* removes it */
gboolean sk_partial_was_there (SkPartial *self);
/* Verified bytes only: the caller compared the chunk id. */
gboolean sk_partial_write (SkPartial *self, guint64 offset, const guint8 *data, gsize len, GError **error);
/* From another file of this root, by reflink or copy_file_range, then read back and compared with @ref's id: FALSE with
 * SK_ERROR_CHANGED when the source no longer holds it. */
gboolean sk_partial_copy (SkPartial *self, guint64 offset, SkRoot *from_root, const char *from_path, guint64 from_offset,
                          const SkChunkRef *ref, const SkKey *id_key, GError **error);
/* TRUE when the bytes at @offset already are this chunk (after a restart). */
gboolean sk_partial_has (SkPartial *self, guint64 offset, const SkChunkRef *ref, const SkKey *id_key);

/* What a new file gets besides bytes. */
typedef struct { guint32 mode; gint64 mtime; GBytes *xattrs; } SkMeta;
/* Sets metadata, makes the bytes durable unless @batch (then the caller calls sk_root_barrier before it commits the base),
 * puts it at @path. A replaced file goes to the trash. *@out: the new file's stat. */
gboolean sk_target_place (SkRoot *root, SkPartial *partial, const char *path, const SkStat *expected, const SkMeta *meta,
                          gboolean batch, const char *trash_batch, SkStat *out, GError **error);
/* A whole small file at once: no partial. */
gboolean sk_target_write_small (SkRoot *root, const char *path, const guint8 *data, gsize len, const SkStat *expected,
                                const SkMeta *meta, gboolean batch, const char *trash_batch, SkStat *out, GError **error);
gboolean sk_target_symlink (SkRoot *root, const char *path, const char *link, const SkStat *expected, gint64 mtime,
                            const char *trash_batch, SkStat *out, GError **error);
/* Missing parents are made too (0755). An existing directory is success. */
gboolean sk_target_mkdir (SkRoot *root, const char *path, guint32 mode, SkStat *out, GError **error);
gboolean sk_target_set_meta (SkRoot *root, const char *path, const SkStat *expected, const SkMeta *meta, SkStat *out, GError **error);
/* Moves what this device has instead of writing it again: RENAME_NOREPLACE (or EXCHANGE over @expected_to). */
gboolean sk_target_rename(SkRoot *root, const char *from, const SkStat *expected_from, const char *to, const SkStat *expected_to,
                          const SkMeta *meta, const char *trash_batch, SkStat *out, GError **error);
/* File or link: into the trash. Directory: rmdir, and SK_ERROR_EXISTS when something unknown lies inside. */
gboolean sk_target_remove (SkRoot *root, const char *path, const SkStat *expected, const char *trash_batch, GError **error);
/* Durability of everything placed with @batch since the last barrier: syncfs when the count is 64 or more and the last one took
 * under 2 s and the file system is local, else fdatasync/fsync of each file and directory (RULES C8). */
gboolean sk_root_barrier (SkRoot *root, GError **error);

/* --- trash: ".skerry/trash/<YYYYMMDDTHHMMSSZ>-<4 hex>/<original path>" --- */
char *sk_trash_new_batch (gint64 wall_us);
typedef struct { char *batch; char *path; SkStat stat; } SkTrashItem;
void sk_trash_item_free (SkTrashItem *self);
GPtrArray *sk_trash_list (SkRoot *root, GError **error);
gboolean sk_trash_restore (SkRoot *root, const SkTrashItem *item, const char *to_path, GError **error);
/* Staggered: everything of the last day, then one per day and path, nothing older than @keep_us. Returns the count removed. */
guint sk_trash_expire (SkRoot *root, gint64 wall_us, gint64 keep_us, GCancellable *cancellable);
/* Items whose inode was written to after it came here (a writer held it open, A11): by comparing ctime/mtime with the
 * batch time. (transfer container of SkTrashItem) */
GPtrArray *sk_trash_touched (SkRoot *root);
/* Partials nobody needs any more: not in @wanted (set of SkHash) and older than a day. */
void sk_partial_expire (SkRoot *root, GHashTable *wanted, gint64 wall_us);
