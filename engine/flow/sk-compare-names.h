/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names on a disk that normalises: it takes "é" as one character and lists it as two, or the other way round, and finds the file by either. What it
 * lists is then the name that is known, not another one (B052). Names are compared by their composed form (Unicode NFC). Index thread. */
#pragma once
#include "sk-flow.h"

/* Gives the items of @listing that are no child by their bytes the name of the child they are by their form, and sorts them again. A child that
 * has a base comes first, since that lies on this disk; one that is listed itself is not taken. */
void sk_compare_names_listed (SkScanDir *listing, const SkChild *children, guint n);
/* The same for one path, component by component. (transfer full), NULL on error. */
char *sk_compare_names_path (SkSession *session, gint64 folder, const char *path, GError **error);
