/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage in memory that does what a test tells it to. It goes through the same front as every other storage, so names
 * are checked and hashes verified. Any thread. */
#pragma once
#include "sk-store.h"

#define SK_TYPE_TEST_STORE (sk_test_store_get_type ())
G_DECLARE_FINAL_TYPE (SkTestStore, sk_test_store, SK, TEST_STORE, SkStore)

typedef enum { SK_TEST_PUT, SK_TEST_GET, SK_TEST_LIST, SK_TEST_REMOVE, SK_TEST_N_OPS } SkTestOp;

/* @share: a store whose objects this one shares, as two devices share a storage, each with a script of its own; or NULL. */
SkTestStore *sk_test_store_new (const SkId *vault, SkTestStore *share);

/* --- the script; operations of a kind are counted from now, @nth 1 is the next one --- */
/* @n operations from the @nth on fail with @code and change nothing. */
void sk_test_store_fail (SkTestStore *self, SkTestOp op, guint nth, guint n, SkErrorCode code);
/* The @nth put or remove is done, but fails with SK_ERROR_IO, as when an answer is lost on its way. */
void sk_test_store_lose_answer (SkTestStore *self, SkTestOp op, guint nth);
/* The @nth get returns only the first @keep bytes. */
void sk_test_store_truncate (SkTestStore *self, guint nth, gsize keep);
/* The @nth get returns bytes of which bit @bit (modulo the length) is wrong. */
void sk_test_store_flip_bit (SkTestStore *self, guint nth, gsize bit);
/* Operations of the kind wait, without effect, until they are released (in order) or cancelled (seen at the release). */
void sk_test_store_hold (SkTestStore *self, SkTestOp op);
guint sk_test_store_held (SkTestStore *self);
/* Lets all go that wait, of all kinds, and holds no more. */
void sk_test_store_release (SkTestStore *self);
/* While offline every operation is SK_ERROR_OFFLINE. */
void sk_test_store_set_offline (SkTestStore *self, gboolean offline);

/* --- past the front --- */
/* NULL when there is none. (transfer full) */
GBytes *sk_test_store_peek (SkTestStore *self, const char *name);
/* Sets an object, or with NULL takes it away. */
void sk_test_store_poke (SkTestStore *self, const char *name, GBytes *data);
guint sk_test_store_count (SkTestStore *self, const char *prefix);
