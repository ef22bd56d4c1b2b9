/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a mass change is (RULES C17): half the files, or 1 000, or 10 GiB, removed within ten minutes by one device. Half counts from ten
 * files on: two of three files are a person's everyday. */
#pragma once
#include <glib.h>

#define SK_MASS_WINDOW_S 600
#define SK_MASS_FILES 1000u
#define SK_MASS_HALF_FROM 10u
#define SK_MASS_BYTES (G_GUINT64_CONSTANT (10) << 30)

/* @files_before: how many there were before the removals. */
gboolean sk_mass_is (guint64 removed, guint64 bytes, guint64 files_before);
