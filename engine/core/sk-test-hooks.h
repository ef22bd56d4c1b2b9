/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where tests let the engine die or err. Nothing of it is in a build without -Dtest-hooks=true. Any thread. */
#pragma once
#include <glib.h>

#if SK_TEST_HOOKS
/* A place at which a kill is worth trying: scan, ingest, put, log-commit, head, fetch, write, rename. With SKERRY_TEST_KILL_AT=STAGE:N
 * in the environment the process raises SIGKILL when a thread passes STAGE for the N-th time; N counts from 1. Where a stage has a
 * before and an after, each is a passage. */
void sk_test_stage (const char *stage);
/* Called at every passage of every stage, on the thread that passes; set before a session is opened. */
extern void (*sk_test_stage_hook) (const char *stage);
/* TRUE when SKERRY_TEST_MISTAKE names @mistake: the caller then does the wrong thing, so that a test can show that it would notice. */
gboolean sk_test_mistake (const char *mistake);
#else
#define sk_test_stage(stage) G_STMT_START { } G_STMT_END
#define sk_test_mistake(mistake) FALSE
#endif
