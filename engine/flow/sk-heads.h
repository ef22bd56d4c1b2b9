/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads of others, read only when a listing says that they changed (RULES C10). Down's thread. */
#pragma once
#include "sk-flow.h"

/* The object of @item, which a listing of @storage has just given: as it was read before, if the listing proves that it is the same and this was
 * believed fewer than ten times, else from the storage. Errors of sk_store_get_sync. (transfer full) */
GBytes *sk_heads_get (SkSession *session, SkFlowStorage *storage, const SkStoreItem *item, GCancellable *cancellable, GError **error);
/* A listing of all heads of @storage says nothing new since sk_heads_read_all, and may be believed once more. */
gboolean sk_heads_unchanged (SkSession *session, SkFlowStorage *storage, GPtrArray *items);
/* All heads of this listing were read, and what they told of, with what the configuration says now about who may write. */
void sk_heads_read_all (SkSession *session, SkFlowStorage *storage, guint n);
/* Something was wrong: the next time everything is looked at. */
void sk_heads_forget_all (SkSession *session, SkFlowStorage *storage);
