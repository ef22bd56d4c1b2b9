/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-backoff.h"

void
sk_backoff_init (SkBackoff *self, gint64 first_us, gint64 max_us)
{
  g_return_if_fail (first_us > 0 && max_us >= first_us);

  *self = (SkBackoff) { .first_us = first_us, .max_us = max_us };
}

gint64
sk_backoff_next (SkBackoff *self, double random)
{
  gint64 delay = self->first_us;

  for (guint i = 0; i < self->attempt && delay < self->max_us; i++)
    delay = delay > self->max_us / 2 ? self->max_us : delay * 2;
  if (delay < self->max_us)
    self->attempt++;    /* stops counting at the ceiling, so it cannot wrap */

  return delay / 2 + (gint64) (CLAMP (random, 0.0, 1.0) * (double) (delay - delay / 2));
}

void
sk_backoff_reset (SkBackoff *self)
{
  self->attempt = 0;
}
