/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes per second of the last few seconds. Pure: times come in. One thread. */
#pragma once
#include <glib.h>

#define SK_RATE_SLOTS 8
#define SK_RATE_SLOT_US (G_USEC_PER_SEC / 2)

/* All zero is empty. */
typedef struct
{
  guint64 bytes[SK_RATE_SLOTS];
  gint64 newest;                 /* number of the newest slot, counted from time 0 */
  gint64 since;                  /* µs: the first byte after a pause */
} SkRate;

/* @now in µs; a clock that goes back is taken as standing still. */
void sk_rate_add (SkRate *self, guint64 bytes, gint64 now);
/* Over the last four seconds, or since the first byte when that is less long ago (but at least one slot). */
guint64 sk_rate_get (const SkRate *self, gint64 now);
