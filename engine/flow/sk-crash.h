/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an unclean stop leaves behind (RULES A12). Before an engine changes the first file of a folder it notes in the database since when it writes; a
 * clean close takes the note back. An engine that finds one knows that the one before it was cut off, and that a power failure may have left
 * files of that time empty, full of zeros, or torn. Such a file is damage and no change: it is fetched again, and what was there goes to the trash. */
#pragma once
#include "sk-up-private.h"

/* Index thread, in a transaction; when a session opens. */
gboolean sk_crash_load (SkSession *session, gpointer unused, GError **error);
/* Down thread, before it changes a file; durable when it returns. Costs nothing after the first time. */
gboolean sk_crash_begin_writing (SkSession *self, GError **error);
/* Index thread, in a transaction; at a clean close. Keeps the note of an engine that was cut off until every folder was looked at. */
gboolean sk_crash_end (SkSession *session, gpointer unused, GError **error);

/* Could the file be damage? Not if it was changed since this session opened. Any thread. */
gboolean sk_crash_is_suspect (SkSession *session, const SkUpItem *item);
/* Disk pool: has what the last step read zeros in it, as blocks have that were never written? */
gboolean sk_crash_has_hole (const SkUpItem *item);
/* Disk pool: is what the last step read nothing but zeros? */
gboolean sk_crash_is_blank (const SkUpItem *item);
/* Up thread: marks those of @items that the engine that was cut off wrote and did not note, and those that are damage. The content of the latter
 * is forgotten, so that none of it is stored. */
gboolean sk_crash_sort_out (SkUp *self, GPtrArray *items, GError **error);
/* Index thread: the engine that was cut off was to put something else there. Perhaps it had just done so, and a person removed or changed that,
 * perhaps not: what is there now proves no wish about what the base speaks of. */
gboolean sk_crash_base_is_unsure (SkSession *session, const SkUpItem *item);
/* Index thread, in a transaction: the base says that the content is gone, so the way down brings it. *@stale: the base changed meanwhile. */
gboolean sk_crash_forget_content (SkSession *session, const SkUpItem *item, gint64 wall, gboolean *stale, GError **error);
/* Index thread, in a transaction, after the entry of @item was written: the same for what the disk here could not make durable. */
gboolean sk_crash_forget_kept (SkSession *session, const SkUpItem *item, gint64 wall, GError **error);
