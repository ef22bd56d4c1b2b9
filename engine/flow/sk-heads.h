/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads of others, read only when a listing says that they changed (RULES C10). Down's thread. */
#pragma once
#include "sk-flow.h"

/* The object of @item, which a listing of @storage has just given: as it was read before, if the listing proves that it is the same and this was
 * believed fewer than ten times, else from the storage. Errors of sk_store_get_sync. (transfer full) */
GBytes *sk_heads_get (SkSession *session, SkFlowStorage *storage, const SkStoreItem *item, GCancellable *cancellable, GError **error);
