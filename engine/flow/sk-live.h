/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reports show of the moment: queues, rates, when something was last looked at. Any thread; times in µs of the session's clock. */
#pragma once
#include <gio/gio.h>

typedef struct _SkLive SkLive;
typedef struct
{
  guint64 queued, queued_bytes;  /* on the way up: paths, bytes of files */
  guint64 up_rate, down_rate;    /* bytes of content per second */
  guint64 moved_down;            /* bytes of content that came from storages since the engine started */
  gint64 last_scan;              /* unix seconds, 0: not since the engine started */
} SkLiveFolder;
typedef struct { guint64 queued_bytes, up_rate, down_rate; gint64 last_seen; } SkLiveStorage;

SkLive *sk_live_new (void);
void sk_live_free (SkLive *self);
/* @files and @bytes may be negative: what was counted leaves the queue. */
void sk_live_queue (SkLive *self, gint64 folder, gint64 files, gint64 bytes);
void sk_live_moved (SkLive *self, gint64 folder, guint64 up, guint64 down, gint64 now);
void sk_live_scanned (SkLive *self, gint64 folder, gint64 wall);
void sk_live_storage_queue (SkLive *self, gint64 storage, gint64 bytes);
void sk_live_storage_moved (SkLive *self, gint64 storage, guint64 up, guint64 down, gint64 now);
void sk_live_storage_seen (SkLive *self, gint64 storage, gint64 wall);
/* Zero for what was never heard of. @folder 0: sums over all. */
void sk_live_folder (SkLive *self, gint64 folder, gint64 now, SkLiveFolder *out);
void sk_live_storage (SkLive *self, gint64 storage, gint64 now, SkLiveStorage *out);
