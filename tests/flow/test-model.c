/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random sequences on three real devices. "test-model FIRST COUNT" runs the sequences with the seeds FIRST to FIRST+COUNT-1, "test-model FIRST
 * COUNT running" those in which the engines of all devices run at once; so do SK_MODEL_SEED and SK_MODEL_COUNT in the environment, which come first. */
#include "sk-model.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* The sanitizers are three times as slow; the full number runs without them. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED TRUE
#else
#define SANITIZED FALSE
#endif

static guint64 first_seed = 1, n_sequences = 4;

static void
run_sequences (char *(*run) (guint64 seed, SkModelCounts *counts))
{
  SkModelCounts counts = { 0 };
  guint failed = 0;
  const gboolean go_on = g_getenv ("SK_MODEL_GO_ON") != NULL;

  for (guint64 i = 0; i < n_sequences && (failed == 0 || go_on); i++)
    {
      g_autofree char *problem = run (first_seed + i, &counts);

      if (problem == NULL)
        continue;
      failed++;
      fputs (problem, stderr);
    }
  g_test_message ("seeds %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ": %u sequences, %u operations (%u in the middle of a sync), %u syncs, %u spells "
                  "offline, %u kills, %u lost databases; %u contents found again, %u of them only in the history; %u conflict copies, %u deletions; %u failed",
                  first_seed, first_seed + n_sequences - 1, counts.sequences, counts.operations, counts.races, counts.syncs, counts.spells,
                  counts.kills, counts.lost, counts.contents, counts.from_versions, counts.conflicts, counts.tombstones, failed);
  g_assert_cmpuint (failed, ==, 0);
  g_assert_cmpuint (counts.operations, >=, 40 * counts.sequences);
  g_assert_cmpuint (counts.spells, >=, 3 * counts.sequences);
  g_assert_cmpuint (counts.kills, >=, 2 * counts.sequences);
  g_assert_cmpuint (counts.lost, >=, counts.sequences);
}

static void
test_sequences (void)
{
  run_sequences (sk_model_run);
}

static void
test_running (void)
{
  run_sequences (sk_model_run_running);
}

static guint64
number (const char *text, guint64 fallback)
{
  return text != NULL && *text != '\0' ? g_ascii_strtoull (text, NULL, 10) : fallback;
}

int
main (int argc, char **argv)
{
  /* Memory, where there is some to be had as a file system: the model tries rules, not disks. */
  if (g_getenv ("TMPDIR") == NULL && access ("/dev/shm", W_OK | X_OK) == 0)
    g_setenv ("TMPDIR", "/dev/shm", TRUE);
  g_test_init (&argc, &argv, NULL);
  signal (SIGPIPE, SIG_IGN);           /* a device that was killed does not listen any more */
  first_seed = number (argc > 1 ? argv[1] : NULL, first_seed);
  n_sequences = number (argc > 2 ? argv[2] : NULL, n_sequences);
  if (SANITIZED)
    n_sequences = (n_sequences + 2) / 3;
  first_seed = number (g_getenv ("SK_MODEL_SEED"), first_seed);
  n_sequences = number (g_getenv ("SK_MODEL_COUNT"), g_getenv ("SK_MODEL_SEED") != NULL ? 1 : n_sequences);
  if (argc > 3 && g_str_equal (argv[3], "running"))
    g_test_add_func ("/model/running", test_running);
  else
    g_test_add_func ("/model/sequences", test_sequences);
  return g_test_run ();
}
