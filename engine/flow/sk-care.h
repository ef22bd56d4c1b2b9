/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept for a while and then goes: the trash of each folder, and partial files nobody needs any more. */
#pragma once
#include "sk-flow.h"

/* Every attached folder, by its setting trash-days. Blocking; task or disk pool threads. Returns the number of files removed. */
guint sk_care_expire (SkSession *session, GCancellable *cancellable);
/* Once in a while: rows of the database that nothing needs. Blocking; task threads. */
gboolean sk_care_sweep (SkSession *session, GCancellable *cancellable, GError **error);
