/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A writer that held a file open goes on writing to it in the trash (RULES A11). */
#pragma once
#include "sk-flow.h"

/* What was written there comes back into @root, under the name of a conflict copy; not what is kept as a version of its path: that is lost to nobody.
 * Looks into the batches that began at @since (wall µs) or later; G_MININT64: all. @folder: row, @id: its id. Blocking; any thread but the index
 * thread. */
void sk_touched_restore (SkSession *session, gint64 folder, const SkId *id, SkRoot *root, gint64 since);
