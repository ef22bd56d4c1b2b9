/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of this layer share. */
#pragma once
#include "sk-store.h"

#define SK_STORE_MARKER "skerry.json"
#define SK_STORE_TEMP "tmp"             /* unfinished puts; never an object name */
#define SK_STORE_NAME_MAX 512u          /* bytes in an object name; the longest of ours has 104 */
#define SK_STORE_COMPONENT_MAX 128u     /* bytes between two slashes */
#define SK_STORE_DEPTH_MAX 8u           /* components; ours have 4 at most */
#define SK_STORE_LIST_MAX (4u << 20)    /* objects in one list; a vault of 4 TB has some 300 000 */

/* --- names (sk-store-name.c) --- */
/* SK_ERROR_USAGE when @name is no object name. */
gboolean sk_store_name_check (const char *name, GError **error);
/* A prefix is "" or the beginning of a name. */
gboolean sk_store_prefix_check (const char *prefix, GError **error);
/* Whether one component may occur in a name. */
gboolean sk_store_component_ok (const char *component);
/* Whether the name carries the hash of the object: packs/, snap/parts/ (SHA-256), log/ (its first 16 digits). */
gboolean sk_store_name_is_content (const char *name);
/* SK_ERROR_CORRUPT when @data is not what the name says; TRUE for names that say nothing. Hashes all of @data. */
gboolean sk_store_verify (const char *name, GBytes *data, GError **error);

/* --- the front (sk-store.c) --- */
const SkId *sk_store_vault (SkStore *self);         /* NULL: the location itself */
SkPool *sk_store_pool (SkStore *self);
/* The location as people read it, for messages: valid UTF-8, without a secret. */
const char *sk_store_place (SkStore *self);
/* The storage that must be here; FALSE while none is expected. Any thread. */
gboolean sk_store_expected (SkStore *self, SkId *out);
void sk_store_expect (SkStore *self, const SkId *storage);
/* An implementation that verified in its own thread says so, and saves the front's turn. */
void sk_store_task_set_verified (GTask *task);
/* TRUE, and @task is returned with an error, when the store was opened without a vault. */
gboolean sk_store_refuse_writing (SkStore *self, GTask *task);
/* An implementation that leaves out foreign names itself says how many, for the one line in the log. Any thread. */
void sk_store_note_foreign (SkStore *self, guint n);
void sk_store_prepare_async (SkStore *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean sk_store_prepare_finish (SkStore *self, GAsyncResult *result, GError **error);

/* --- the marker (sk-store-marker.c) --- */
/* Whether @data is the marker of this vault and of the expected storage. The first one seen is expected from then on.
 * SK_ERROR_OFFLINE with the reason, SK_ERROR_TOO_NEW. */
gboolean sk_store_accept_marker (SkStore *self, GBytes *data, GError **error);

/* --- implementations --- */
SkStore *sk_store_dir_new (const char *path, const char *uri, const SkId *vault, SkPool *pool);
SkStore *sk_store_gio_new (const char *uri, const SkId *vault, SkPool *pool);
