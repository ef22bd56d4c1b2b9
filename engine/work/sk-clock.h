/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time. Real, or stepped by a test. Thread-safe. */
#pragma once
#include <gio/gio.h>

typedef struct _SkClock SkClock;
SkClock *sk_clock_new_real (void);
SkClock *sk_clock_new_stepped (gint64 wall_us);
SkClock *sk_clock_ref (SkClock *self);
void sk_clock_unref (SkClock *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkClock, sk_clock_unref)
gint64 sk_clock_wall (SkClock *self);          /* µs since 1970 */
gint64 sk_clock_now (SkClock *self);           /* µs, monotonic */
/* Advances a stepped clock (both times) and makes due timers fire on their contexts. */
void sk_clock_step (SkClock *self, gint64 us);
gboolean sk_clock_is_stepped (SkClock *self);

typedef struct _SkTimer SkTimer;
/* Fires once on @context (NULL: thread-default) after @us. Free cancels; freeing is done on that context's thread. */
SkTimer *sk_clock_timer (SkClock *self, GMainContext *context, gint64 us, GSourceFunc func, gpointer data);
void sk_timer_free (SkTimer *self);
