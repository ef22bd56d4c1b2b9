/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device that dies runs in a process of its own: the test program, started again. */
#include "sk-fleet-check.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static char *program;

static int
sync_once (const char *home, gboolean dies)
{
  SkSessionOptions options = { .home = (char *) home };
  g_autoptr(GError) error = NULL;
  SkSession *session = sk_session_open (&options, &error);
  g_autoptr(GVariant) report = NULL;

  g_assert_no_error (error);
  report = sk_session_command (session, "sync", NULL, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  if (dies)
    raise (SIGKILL);
  sk_session_close (session);
  return 0;
}

gboolean
sk_is_child (int argc, char **argv)
{
  return argc == 4 && g_str_equal (argv[1], "--child");
}

int
sk_run_child (char **argv)
{
  return sync_once (argv[2], g_str_equal (argv[3], "dies"));
}

void
sk_set_child_program (const char *path)
{
  g_free (program);
  program = g_strdup (path);
}

gboolean
sk_sync_and_die (SkFleet *fleet, guint i, const char *stage)
{
  g_autofree char *home = sk_fleet_home (fleet, i);
  const char *argv[] = { program, "--child", home, stage == NULL ? "dies" : "lives", NULL };
  g_auto(GStrv) environment = g_get_environ ();
  g_autoptr(GError) error = NULL;
  int status;

  g_assert_nonnull (program);
  if (stage != NULL)
    environment = g_environ_setenv (environment, "SKERRY_TEST_KILL_AT", stage, TRUE);
  sk_fleet_close (fleet, i);
  g_spawn_sync (NULL, (char **) argv, environment, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_true ((WIFEXITED (status) && WEXITSTATUS (status) == 0) || (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL));
  sk_fleet_open (fleet, i);
  return WIFSIGNALED (status);
}
