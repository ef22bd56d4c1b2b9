/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credits in bytes with high and low water. One thread only (the flow that owns it). */
#pragma once
#include <glib.h>

typedef struct { guint64 used, high, low; gboolean starved; guint64 peak; } SkBudget;
void sk_budget_init (SkBudget *self, guint64 high);            /* low = high / 2 */
/* FALSE and starved when use is at or above high; a cost above high is granted when nothing else is used. */
gboolean sk_budget_take (SkBudget *self, guint64 cost);
/* TRUE when a starved taker should try again (use fell to low). */
gboolean sk_budget_give (SkBudget *self, guint64 cost);
