/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of (writer, seq, hash), as heads, snapshots, revocations and grants hold them: varint count, then writer 16,
 * varint seq, hash 32, ascending by writer, no writer twice. */
#pragma once
#include "sk-head.h"

#define SK_POSITIONS_MAX 16384u          /* what a head has room for */

void sk_position_put (SkWriter *w, const SkPosition *position);
/* FALSE when the bytes do not parse or the seq is 0 or too large. */
gboolean sk_position_get (SkReader *r, SkPosition *out);
/* @positions in any order, NULL for none; written in order. FALSE (SK_ERROR_CORRUPT) when a writer is there twice or a
 * seq out of bounds. */
gboolean sk_positions_put (SkWriter *w, GArray *positions, GError **error);
/* NULL when they do not parse. (transfer full) */
GArray *sk_positions_get (SkReader *r);
/* A sorted copy. (transfer full) */
GArray *sk_positions_sorted (GArray *positions);
