/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells how far a sync is while the thread of its command waits for the two ways. */
#pragma once
#include "sk-command.h"

typedef struct _SkProgress SkProgress;
/* @folders as for sk_up_sync, borrowed; begins with the way up. NULL when nobody asked @command for progress; all functions take that. */
SkProgress *sk_progress_new (SkCommand *command, const gint64 *folders, guint n);
/* Which way is waited for. Task thread. */
void sk_progress_turn (SkProgress *self, gboolean down);
/* No report comes after it. Frees. */
void sk_progress_free (SkProgress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkProgress, sk_progress_free)
