/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the encoder and the decoder of records share. Layout: FORMAT.md, "Records". */
#pragma once
#include "sk-segment.h"

#define SK_BODY_VERSION 1
#define SK_PACK_BODY_START 40u           /* bytes before the first sealed chunk of a pack */
#define SK_PACK_PUT_PLACED 1u            /* flag: each row has an explicit place */

/* Bytes of memory this record takes: the budget of a body (SK_BODY_MEMORY_MAX) counts these on both sides. */
gsize sk_record_memory (const SkRecord *self);
/* Everything a reader refuses a single record for. */
gboolean sk_record_check (const SkRecord *self, GError **error);
/* "entry \"a/b\"", "pack put", for reports. (transfer full) */
char *sk_record_describe (const SkRecord *self);
/* As sk_records_decode, with another budget of memory (SK_BODY_MEMORY_MAX there). */
GPtrArray *sk_records_decode_within (const guint8 *data, gsize len, gsize budget, GPtrArray *refused, GError **error);
