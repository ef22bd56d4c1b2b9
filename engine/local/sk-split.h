/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a file and cuts it: no-follow, beneath the root, stat before and after. Blocking; disk pool; one step at a time, so that
 * a flow can hold its byte budget. */
#pragma once
#include "sk-chunker.h"
#include "sk-memory.h"
#include "sk-root.h"

typedef struct { SkChunkRef ref; GBytes *data; /* NULL for a zero run */ } SkSplitChunk;
void sk_split_chunk_clear (SkSplitChunk *self);

typedef struct _SkSplitter SkSplitter;
/* SK_ERROR_CHANGED when the file is not what @expected says (not there, replaced, a link or a pipe in its place); PERMISSION,
 * OFFLINE, IO as they are. @gear must outlive the splitter, @id_key is copied. May wait some milliseconds when the file was written
 * just now, so that no later write can go unnoticed. */
SkSplitter *sk_splitter_open (SkRoot *root, const char *path, const SkStat *expected, const SkGear *gear, const SkKey *id_key, GError **error);
void sk_splitter_free (SkSplitter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkSplitter, sk_splitter_free)
/* Appends the chunks of about the next @max_bytes to @out (GArray of SkSplitChunk). *@done after the last. At the end the
 * file is looked at again: SK_ERROR_CHANGED when it changed while it was read (never a torn version); of a file that grows this
 * shows at the next step. After an error @out is as it was before this step, and the splitter is of no more use. A step reads at
 * least 1 MiB. Chunks share buffers of a few MiB: their memory is free when the last of a buffer's chunks is. */
gboolean sk_splitter_step (SkSplitter *self, gsize max_bytes, GArray *out, gboolean *done, GCancellable *cancellable, GError **error);
/* The next step puts the bytes of a file that is one chunk into @slab (or NULL), if they fit. */
void sk_splitter_use_slab (SkSplitter *self, SkSlab *slab);
/* After the last step: the file's user.* attributes as sk-xattr.h has them; *@out NULL for none, *@too_large when they have more than
 * SK_XATTR_MAX bytes. SK_ERROR_CHANGED when the file is not what it was when it was opened. */
gboolean sk_splitter_xattrs (SkSplitter *self, GBytes **out, gboolean *too_large, GError **error);
/* Link target bytes of a symlink, checked against @expected. (transfer full) */
char *sk_local_read_link (SkRoot *root, const char *path, const SkStat *expected, GError **error);
/* One chunk of a file that is on this disk: read and verified against its id; for repair, repack and serving. */
GBytes *sk_local_read_chunk (SkRoot *root, const char *path, guint64 offset, const SkChunkRef *ref, const SkKey *id_key, GError **error);
/* Opted-in user.* xattrs as one opaque blob, sorted; NULL when there are none or the file system has none. */
GBytes *sk_local_read_xattrs (SkRoot *root, const char *path, GError **error);
