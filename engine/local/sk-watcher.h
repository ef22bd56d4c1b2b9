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
  SK_WATCH_MOVED,          /* @other is the old path (paired by cookie); directories too */
  SK_WATCH_OVERFLOW,       /* everything */
  SK_WATCH_ROOT_GONE,      /* the root itself was moved, deleted or unmounted */
  SK_WATCH_LIMIT,          /* no more watches: periodic scans needed; reported once */
} SkWatchEvent;
typedef void (*SkWatchFunc) (SkWatchEvent event, const char *path, const char *other, gpointer user_data);

typedef struct _SkWatcher SkWatcher;
/* Adds watches in steps of at most 200 per loop turn; each new watch is followed by SK_WATCH_TREE of that directory when it was
 * not part of the first walk (C15). Reading and opening cause no event; closing after writing does. */
SkWatcher *sk_watcher_new (SkRoot *root, SkIgnore *ignore, SkWatchFunc func, gpointer user_data, GError **error);
void sk_watcher_free (SkWatcher *self);
gboolean sk_watcher_ready (SkWatcher *self);        /* the first walk is done */
guint sk_watcher_count (SkWatcher *self);
/* The sysctl's value and the number of directories seen, for the issue text. */
void sk_watcher_limit (SkWatcher *self, guint *limit, guint *needed);
