/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Retry delays with jitter. Pure given a random number. */
#pragma once
#include <glib.h>

typedef struct { gint64 first_us, max_us; guint attempt; } SkBackoff;
void sk_backoff_init (SkBackoff *self, gint64 first_us, gint64 max_us);
/* Delay before the next attempt: doubling, uniform in [d/2, d]; @random in [0, 1). */
gint64 sk_backoff_next (SkBackoff *self, double random);
void sk_backoff_reset (SkBackoff *self);
