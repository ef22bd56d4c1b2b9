/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is told when many things fail alike, and when nothing can be noted any more. */
#include "sk-fleet-check.h"
#include "sk-test-hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANY 30u

static void
become (uid_t user)
{
  if (getuid () != 0)
    return;
  g_assert_cmpint (seteuid (0), ==, 0);
  g_assert_cmpint (seteuid (user), ==, 0);
  g_assert_cmpint (prctl (PR_SET_DUMPABLE, 1), ==, 0);
}

static void
set_modes (const char *dir, guint from, guint to, mode_t mode)
{
  for (guint i = from; i < to; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s/file %u", dir, i);

      g_assert_cmpint (chmod (name, mode), ==, 0);
    }
}

static guint64
n_failed (SkFleet *fleet)
{
  g_autoptr(GVariant) report = sk_fleet_sync (fleet, 0);
  guint64 n = G_MAXUINT64;

  g_assert_true (g_variant_lookup (report, "n-failed", "t", &n));
  return n;
}

static void
test_many_alike (void)
{
  g_autoptr(SkFleet) fleet = NULL;
  g_autofree char *dir = NULL, *text = NULL, *fewer = NULL, *again = NULL;

  become (65534);
  fleet = sk_fleet_new (1, FALSE);
  dir = sk_fleet_path (fleet, 0, "f");
  sk_put_many (dir, "file ", MANY);
  sk_put_file (dir, "elsewhere", "is taken in", -1);
  set_modes (dir, 0, MANY, 0);
  sk_fleet_share (fleet, "f");
  g_assert_cmpuint (n_failed (fleet), ==, MANY);
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 1);
  g_assert_cmpuint (sk_issue (fleet, 0, "failed-item", &text), !=, 0);
  g_test_message ("%s", text);
  g_assert_nonnull (strstr (text, "30 files could not be taken in: "));
  g_assert_nonnull (strstr (text, "permission denied; the first ones are “file "));
  /* Over a restart, and when some of them can be read. */
  sk_fleet_restart (fleet, 0);
  set_modes (dir, 0, 5, 0644);
  g_assert_cmpuint (n_failed (fleet), ==, MANY - 5);
  g_assert_cmpuint (sk_issue (fleet, 0, "failed-item", &fewer), !=, 0);
  g_assert_nonnull (strstr (fewer, "25 files could not be taken in"));
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 1);
  /* Few are told one by one. */
  set_modes (dir, 5, MANY - 3, 0644);
  sk_sync (fleet, 0);
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 3);
  set_modes (dir, 0, MANY, 0);
  sk_sync (fleet, 0);
  /* Settled as a whole; what still fails comes up again, as one. */
  sk_resolve (fleet, 0, "failed-item", "retry");
  sk_assert_no_issues (fleet, 0);
  sk_sync (fleet, 0);
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 1);
  set_modes (dir, 0, MANY, 0644);
  sk_sync (fleet, 0);
  sk_assert_no_issues (fleet, 0);
  become (0);
}

/* --- a home that takes nothing --- */

static void
run (const char *program, const char *option, const char *from, const char *to)
{
  const char *argv[] = { program, option, from, to, NULL };
  g_autoptr(GError) error = NULL;
  int status;

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
}

static void
fill (const char *path)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  char block[4096] = { 1 };

  while (write (fd, block, sizeof block) > 0)
    ;
  g_assert_cmpint (errno, ==, ENOSPC);
  close (fd);
}

static void
test_full_home (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  g_autofree char *dir = sk_fleet_path (fleet, 0, "f"), *home = sk_fleet_home (fleet, 0), *old = g_strconcat (home, ".old", NULL);
  g_autofree char *filler = g_build_filename (home, "filler", NULL), *text = NULL;
  g_autofree char *contents = g_build_filename (old, ".", NULL);
  g_autoptr(GVariant) issues = NULL;
  gboolean attention = FALSE;

  sk_put_file (dir, "first", "one", -1);
  sk_fleet_share (fleet, "f");
  sk_fleet_close (fleet, 0);
  g_assert_cmpint (rename (home, old), ==, 0);
  g_assert_cmpint (g_mkdir (home, 0700), ==, 0);
  if (mount ("none", home, "tmpfs", 0, "size=8m,mode=0700") != 0)
    {
      g_assert_cmpint (rename (old, home), ==, 0);
      sk_fleet_open (fleet, 0);
      g_test_skip ("mounting is not allowed here");
      return;
    }
  run ("cp", "-a", contents, home);
  sk_fleet_open (fleet, 0);
  sk_sync (fleet, 0);
  fill (filler);
  sk_put_many (dir, "new ", 40);
  g_assert_true (sk_sync_attention (fleet, 0));
  issues = sk_fleet_run (fleet, 0, "issues", NULL);
  g_assert_true (g_variant_lookup (issues, "attention", "b", &attention) && attention);
  g_assert_cmpuint (sk_issue (fleet, 0, "home", &text), !=, 0);
  g_assert_nonnull (strstr (text, "full"));
  /* The cause of all those files is one, and it is told although it cannot be stored. */
  g_assert_cmpuint (sk_issue (fleet, 0, "failed-item", NULL), !=, 0);
  g_assert_cmpuint (sk_issues (fleet, 0), <=, 5);
  g_assert_cmpint (unlink (filler), ==, 0);
  sk_sync (fleet, 0);
  sk_sync (fleet, 0);
  {
    g_autofree char *left = NULL;

    g_assert_cmpuint (sk_issue (fleet, 0, "failed-item", &left), ==, 0);
    g_assert_cmpuint (sk_issue (fleet, 0, "home", &left), ==, 0);
  }
  sk_fleet_close (fleet, 0);
  g_assert_cmpint (umount2 (home, MNT_DETACH), ==, 0);
  run ("rm", "-r", old, home);
  g_assert_cmpint (g_mkdir (home, 0700), ==, 0);
  sk_fleet_open (fleet, 0);
}

static struct { const char *dir, *dir_path; guint scans; } swap;       /* disk pool */

/* The root was listed, and "d" in it is to be. */
static void
swap_before_listing (const char *stage)
{
  if (strcmp (stage, "scan") != 0 || ++swap.scans != 2)
    return;
  sk_unlink (swap.dir, "d/x");
  g_assert_cmpint (g_rmdir (swap.dir_path), ==, 0);
  sk_put_file (swap.dir, "d", "a file now", -1);
}

/* A directory that became a file between two steps of a scan is nothing that cannot be read: it is a file. */
static void
test_directory_becomes_file (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f"), *d = g_build_filename (a, "d", NULL);

  sk_fleet_share (fleet, "f");
  sk_put_file (a, "d/x", "x", -1);
  sk_sync_all (fleet, 1);
  swap.dir = a;
  swap.dir_path = d;
  sk_test_stage_hook = swap_before_listing;
  sk_sync (fleet, 0);
  sk_test_stage_hook = NULL;
  g_assert_cmpuint (swap.scans, >=, 2);
  sk_assert_no_issues (fleet, 0);
  sk_sync_all (fleet, 2);
  sk_assert_no_issues (fleet, 0);
  sk_assert_content (b, "d", "a file now");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/issues/sit-B082/many-alike-are-one", test_many_alike);
  g_test_add_func ("/issues/directory-becomes-file", test_directory_becomes_file);
  g_test_add_func ("/issues/sit-B091/full-home", test_full_home);
  return g_test_run ();
}
