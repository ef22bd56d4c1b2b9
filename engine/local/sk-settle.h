/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When is a file quiet? Pure: times come in. 0.3 s after close for a small one, 2 s while it grows or is written in place;
 * a file that keeps changing backs off (doubling to 60 s) so that others are not starved. One thread. */
#pragma once
#include <glib.h>

typedef struct _SkSettle SkSettle;
SkSettle *sk_settle_new (void);
void sk_settle_free (SkSettle *self);
/* Something happened to @path at @now (µs). @writing: it is still open for writing as far as is known. */
void sk_settle_note (SkSettle *self, const char *path, gboolean writing, guint64 size_hint, gint64 now);
/* It was taken and had changed while it was read: wait longer. */
void sk_settle_again (SkSettle *self, const char *path, gint64 now);
/* Paths quiet at @now, removed from the set. (transfer full array of char*) */
GPtrArray *sk_settle_due (SkSettle *self, gint64 now);
/* When the next one may be due; G_MAXINT64 when empty. */
gint64 sk_settle_next (SkSettle *self);
guint sk_settle_count (SkSettle *self);
