/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-test-hooks.h"

#if SK_TEST_HOOKS

#include <signal.h>
#include <string.h>

void (*sk_test_stage_hook) (const char *stage);

void
sk_test_stage (const char *stage)
{
  static int passages;
  const char *wanted = g_getenv ("SKERRY_TEST_KILL_AT");
  gsize len = strlen (stage);

  if (sk_test_stage_hook != NULL)
    sk_test_stage_hook (stage);
  /* Only the wanted stage counts: one counter is enough. */
  if (wanted == NULL || strncmp (wanted, stage, len) != 0 || wanted[len] != ':')
    return;
  if ((guint64) g_atomic_int_add (&passages, 1) + 1 == g_ascii_strtoull (wanted + len + 1, NULL, 10))
    raise (SIGKILL);
}

gboolean
sk_test_mistake (const char *mistake)
{
  return g_strcmp0 (g_getenv ("SKERRY_TEST_MISTAKE"), mistake) == 0;
}

#endif
