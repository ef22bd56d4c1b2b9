/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-rate.h"

#include <string.h>

static gint64
slot_of (const SkRate *self, gint64 now)
{
  return MAX (MAX (now, 0) / SK_RATE_SLOT_US, self->newest);
}

void
sk_rate_add (SkRate *self, guint64 bytes, gint64 now)
{
  gint64 slot = slot_of (self, now);

  if (slot - self->newest >= SK_RATE_SLOTS || self->since == 0)
    {
      memset (self->bytes, 0, sizeof self->bytes);
      self->since = MAX (now, 1);
    }
  else
    for (gint64 at = self->newest + 1; at <= slot; at++)
      self->bytes[at % SK_RATE_SLOTS] = 0;
  self->newest = slot;
  self->bytes[slot % SK_RATE_SLOTS] += bytes;
}

guint64
sk_rate_get (const SkRate *self, gint64 now)
{
  gint64 slot = slot_of (self, now), span;
  guint64 sum = 0;

  for (gint64 at = MAX (slot - SK_RATE_SLOTS + 1, 0); at <= self->newest; at++)
    sum += self->bytes[at % SK_RATE_SLOTS];
  span = CLAMP (now - self->since, SK_RATE_SLOT_US, SK_RATE_SLOTS * SK_RATE_SLOT_US);
  return (guint64) ((double) sum * G_USEC_PER_SEC / (double) span);
}
