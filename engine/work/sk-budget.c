/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-budget.h"

void
sk_budget_init (SkBudget *self, guint64 high)
{
  *self = (SkBudget) { .high = high, .low = high / 2 };
}

gboolean
sk_budget_take (SkBudget *self, guint64 cost)
{
  gboolean fits = self->used < self->high && cost <= self->high - self->used;

  if (!fits && self->used > 0)
    {
      self->starved = TRUE;
      return FALSE;
    }
  self->used += cost;
  self->peak = MAX (self->peak, self->used);
  return TRUE;
}

gboolean
sk_budget_give (SkBudget *self, guint64 cost)
{
  g_assert (cost <= self->used);

  self->used -= cost;
  if (!self->starved || self->used > self->low)
    return FALSE;
  self->starved = FALSE;
  return TRUE;
}
