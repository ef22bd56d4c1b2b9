/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage that went back in time: restored from a backup, or a copy that is used in its place (RULES B3). Nothing is taken as removed from it,
 * and what this device had put there is put there again. Blocking; down's thread or a task thread. */
#pragma once
#include "sk-flow.h"

/* Counter of the last own head that was put into a storage (row), 0 for none. Index thread. */
guint64 sk_rollback_last_put (SkSession *session, gint64 storage);
/* @own: this device's head as it lies in @storage, NULL when there is none; @last_put: as it was before that head was read, since another thread
 * may put a newer one meanwhile. When the head is older than that, everything since counts as not put: segments and head go there again with the
 * next push, packs that are missing are given up, and files whose content no storage holds any more are read again by the next pass. An issue
 * tells. */
gboolean sk_rollback_check (SkSession *session, SkFlowStorage *storage, const SkHead *own, guint64 last_put, GCancellable *cancellable, GError **error);
/* A head with this counter is in @storage (row) now. Index thread, in a transaction. */
gboolean sk_rollback_note_put (SkSession *session, gint64 storage, guint64 counter, GError **error);
/* The own head in @storage (row) is not what was put there: the next push puts one. Index thread, in a transaction. */
gboolean sk_rollback_forget_head (SkSession *session, gint64 storage, GError **error);
/* Files of all attached folders whose content no storage of their folder holds are marked to be read again, which stores them anew. */
gboolean sk_rollback_mark_files (SkSession *session, GCancellable *cancellable, GError **error);
