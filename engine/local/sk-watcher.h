/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inotify per directory, on the context under which it was made. A hint; the scan is the truth. */
#pragma once
#include "sk-ignore.h"
#include "sk-root.h"

typedef enum
{
  SK_WATCH_DIRTY,          /* look at this path (a file or a directory's own entry) */
  SK_WATCH_WRITING,        /* opened for writing or written to; not closed yet */
  SK_WATCH_TREE,           /* look at everything below this directory */
  SK_WATCH_MOVED,          /* @other is the old path (paired by cookie); directories too. What is at either path by now may be
                            * something else: take the old one's record over only when the inode is the same */
  SK_WATCH_OVERFLOW,       /* everything */
  SK_WATCH_ROOT_GONE,      /* the root itself was moved, deleted or unmounted */
  SK_WATCH_LIMIT,          /* no more watches: periodic scans needed; reported once */
} SkWatchEvent;
typedef void (*SkWatchFunc) (SkWatchEvent event, const char *path, const char *other, gpointer user_data);

typedef struct _SkWatcher SkWatcher;
/* Adds watches in steps of at most 200 per loop turn. The end of the first walk is told by SK_WATCH_TREE of "": a scan that begins
 * then misses nothing. Watches added later are followed by SK_WATCH_TREE of their directory, or of one above it that is as new,
 * once all below is watched (C15). After an overflow everything is walked again, then SK_WATCH_OVERFLOW is told. Reading and
 * opening cause no event; closing after writing does. @func is called from the loop, never from these functions, and may free the
 * watcher. Paths for which it is called never are ignored ones; @ignore may be NULL. New rules need a new watcher. */
SkWatcher *sk_watcher_new (SkRoot *root, SkIgnore *ignore, SkWatchFunc func, gpointer user_data, GError **error);
void sk_watcher_free (SkWatcher *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkWatcher, sk_watcher_free)
gboolean sk_watcher_ready (SkWatcher *self);        /* the first walk is done */
guint sk_watcher_count (SkWatcher *self);
/* The sysctl's value and the number of directories seen, for the issue text. */
void sk_watcher_limit (SkWatcher *self, guint *limit, guint *needed);
