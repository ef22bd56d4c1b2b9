/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Version vectors: a counter per writer. Wall clocks never decide; these do. */
#pragma once
#include "sk-bytes.h"

typedef struct { SkId writer; guint64 counter; } SkVectorItem;
/* Immutable, items ascending by writer, counters above 0. Atomic reference count. */
typedef struct _SkVector SkVector;

SkVector *sk_vector_empty (void);
SkVector *sk_vector_new (const SkVectorItem *items, guint n);   /* any order, unique writers */
SkVector *sk_vector_ref (SkVector *self);
void sk_vector_unref (SkVector *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkVector, sk_vector_unref)
guint sk_vector_length (const SkVector *self);
const SkVectorItem *sk_vector_items (const SkVector *self);
guint64 sk_vector_get (const SkVector *self, const SkId *writer);

typedef enum { SK_ORDER_EQUAL, SK_ORDER_BEFORE, SK_ORDER_AFTER, SK_ORDER_CONCURRENT } SkOrder;
/* BEFORE: every counter of @a is at most @b's, and they differ. */
SkOrder sk_vector_compare (const SkVector *a, const SkVector *b);
SkVector *sk_vector_join (const SkVector *a, const SkVector *b);
/* @self with @writer set to @counter, which must be larger than before. */
SkVector *sk_vector_with (const SkVector *self, const SkId *writer, guint64 counter);
/* Self-contained bytes for the index: varint count, then (16, varint) each. */
GBytes *sk_vector_encode (const SkVector *self);
SkVector *sk_vector_decode (const guint8 *data, gsize len, GError **error);
