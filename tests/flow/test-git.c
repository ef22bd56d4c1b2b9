/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Git work tree as a folder: it is said at once, and nothing of it is lost when both sides commit. */
#include "sk-pair.h"

#include <glib/gstdio.h>
#include <string.h>

static void
git (const char *dir, const char *arguments)
{
  g_autofree char *quoted = g_shell_quote (dir);
  g_autofree char *line = g_strdup_printf ("git -C %s -c user.name=test -c user.email=test@example.invalid -c gc.auto=0 %s", quoted, arguments);
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr(GError) error = NULL;
  int status;

  g_spawn_command_line_sync (line, &out, &err, &status, &error);
  g_assert_no_error (error);
  if (status != 0)
    g_error ("%s: %s%s", line, out, err);
}

static gboolean
git_has (const char *dir, const char *what)
{
  g_autofree char *quoted = g_shell_quote (dir);
  g_autofree char *line = g_strdup_printf ("git -C %s cat-file -e %s", quoted, what);
  g_autofree char *err = NULL;
  int status = -1;

  g_spawn_command_line_sync (line, NULL, &err, &status, NULL);
  return status == 0;
}

static char *
git_tip (const char *dir)
{
  g_autofree char *quoted = g_shell_quote (dir);
  g_autofree char *line = g_strdup_printf ("git -C %s rev-parse HEAD", quoted);
  char *out = NULL;

  g_assert_true (g_spawn_command_line_sync (line, &out, NULL, NULL, NULL));
  return g_strstrip (out);
}

static void
test_commits_on_both (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *tip_a = NULL, *tip_b = NULL;
  g_autoptr(GVariant) added = NULL, activity = NULL, rows = NULL;
  const char *warning = "";
  gboolean told = FALSE;

  git (a, "init -q -b main");
  sk_put_file (a, "file", "first\n", -1);
  git (a, "add file");
  git (a, "commit -q -m first");
  added = sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a);
  /* The warning comes with the answer, before anything happened. */
  g_variant_lookup (added, "warning", "&s", &warning);
  g_assert_nonnull (strstr (warning, "git"));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  git (b, "fsck --strict");
  /* Both commit at once: refs and index conflict, both commits stay reachable by their objects. */
  sk_put_file (a, "file", "on a\n", -1);
  sk_put_file (b, "file", "on b\n", -1);
  git (a, "commit -q -a -m on-a");
  git (b, "commit -q -a -m on-b");
  tip_a = git_tip (a);
  tip_b = git_tip (b);
  sk_fleet_settle (fleet, 8);
  g_assert_true (git_has (a, tip_a) && git_has (a, tip_b));
  g_assert_true (git_has (b, tip_a) && git_has (b, tip_b));
  /* And the conflict is said. */
  activity = sk_fleet_run (fleet, 1, "activity", NULL);
  rows = g_variant_lookup_value (activity, "activity", NULL);
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr(GVariant) row = g_variant_get_child_value (rows, i);
      const char *kind = "";

      g_variant_lookup (row, "kind", "&s", &kind);
      told |= strstr (kind, "conflict") != NULL;
    }
  g_assert_true (told);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/git/sit-B174/commits-on-both", test_commits_on_both);
  return g_test_run ();
}
