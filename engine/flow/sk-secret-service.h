/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets in the session's keyring (Secret Service). Every function blocks for at most 10 s,
 * whatever a locked or broken keyring does, and fails at once where there is no session bus. Any
 * thread. The code of a failure is OFFLINE, except where said. */
#pragma once
#include <gio/gio.h>
#include "sk-error.h"

/* @home: random id of a home; @what: which of its secrets. @label is shown by keyring managers. */
gboolean sk_secret_service_store (const char *home, const char *what, const char *label, GBytes *secret, GError **error);
/* NOT_FOUND when the keyring answers and has none. (transfer full): secret memory */
GBytes *sk_secret_service_lookup (const char *home, const char *what, GError **error);
/* Absent is success. */
gboolean sk_secret_service_clear (const char *home, const char *what, GError **error);
/* Stores and removes a trial item: the only proof that storing works. */
gboolean sk_secret_service_probe (GError **error);

#if SK_TEST_HOOKS
void sk_secret_service_test_limit (guint ms);
#endif
