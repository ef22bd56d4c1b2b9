/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a mass change is (RULES C17): half the files, or 1 000, or 10 GiB, removed within ten minutes by one device. Half counts from ten
 * files on: two of three files are a person's everyday. */
#pragma once
#include "sk-flow.h"

#define SK_MASS_WINDOW_S 600
#define SK_MASS_FILES 1000u
#define SK_MASS_HALF_FROM 10u
#define SK_MASS_BYTES (G_GUINT64_CONSTANT (10) << 30)

/* @files_before: how many there were before the removals. */
gboolean sk_mass_is (guint64 removed, guint64 bytes, guint64 files_before);

/* Index thread. A file with @old_content (row) was replaced by @entry: does that count like a removal? *@wiped: all of it is zeros now, or
 * nothing, and was not before; or it was worth compressing and is not any more, as after encryption. How chunks are stored decides (the method in
 * the rows of packs), so that nothing has to be read; up to eight chunks of each are looked at: all new ones raw, and of the old ones at least
 * half compressed. A chunk below 512 bytes is no evidence: short text is stored raw too. Content that no storage holds is only compared with
 * zeros. @old_content 0: what was there is not known, so nothing can be said of it. */
gboolean sk_mass_is_wiped (SkSession *session, gint64 old_content, const SkEntry *entry, gboolean *wiped, GError **error);
