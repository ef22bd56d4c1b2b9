/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A disk that lists names in another form than they were given. */
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sk-fleet-check.h"
#include "sk-pair.h"

#define COMPOSED "caf\xc3\xa9"
#define DECOMPOSED "cafe\xcc\x81"

typedef struct
{
  SkFleet *fleet;
  GPid server;
  char *point, *a, *b;
} Fixture;

static gboolean
is_mounted (gpointer point)
{
  g_autofree char *parent = g_path_get_dirname (point);
  struct stat here, above;

  return stat (point, &here) == 0 && stat (parent, &above) == 0 && here.st_dev != above.st_dev;
}

static char *
server_program (void)
{
  char *here = g_test_build_filename (G_TEST_BUILT, "nfd-fs", NULL);

  if (g_file_test (here, G_FILE_TEST_IS_EXECUTABLE))
    return here;
  g_free (here);
  return g_test_build_filename (G_TEST_BUILT, "flow", "nfd-fs", NULL);
}

static gboolean
mount_disk (Fixture *f)
{
  g_autofree char *program = server_program (), *backing = g_build_filename (f->fleet->base, "backing", NULL);
  const char *argv[] = { program, backing, f->point, NULL };

  g_assert_cmpint (g_mkdir (backing, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (f->point, 0755), ==, 0);
  return g_spawn_async (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                        &f->server, NULL)
         && sk_wait (is_mounted, f->point, 5);
}

static gboolean
set_up (Fixture *f)
{
  *f = (Fixture) { .fleet = sk_fleet_new (2, FALSE) };
  f->point = g_build_filename (f->fleet->base, "disk", NULL);
  if (access ("/dev/fuse", R_OK | W_OK) != 0 || !mount_disk (f))
    {
      g_test_skip ("no file system of one's own can be mounted here");
      return FALSE;
    }
  f->a = sk_fleet_path (f->fleet, 0, "f");
  f->b = g_build_filename (f->point, "f", NULL);
  g_assert_cmpint (g_mkdir (f->b, 0755), ==, 0);
  return TRUE;
}

static void
tear_down (Fixture *f)
{
  for (guint i = 0; i < 2; i++)
    sk_fleet_close (f->fleet, i);
  if (f->server != 0)
    {
      (void) umount2 (f->point, MNT_DETACH);
      (void) kill (f->server, SIGTERM);
      (void) waitpid (f->server, NULL, 0);
    }
  sk_fleet_free (f->fleet);
  g_free (f->point);
  g_free (f->a);
  g_free (f->b);
}

static void
assert_rest (Fixture *f)
{
  sk_fleet_settle (f->fleet, 8);
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr(GVariant) reply = sk_fleet_sync (f->fleet, i % 2);
      g_autoptr(GVariant) sent = g_variant_lookup_value (reply, "sent", G_VARIANT_TYPE_VARDICT);
      guint64 down = 1, up = 1;

      g_assert_true (g_variant_lookup (reply, "files", "t", &down));
      g_assert_true (g_variant_lookup (sent, "files", "t", &up));
      g_assert_cmpuint (down, ==, 0);
      g_assert_cmpuint (up, ==, 0);
    }
  sk_assert_no_issues (f->fleet, 0);
  sk_assert_no_issues (f->fleet, 1);
}

static gboolean
has_come (gpointer data)
{
  Fixture *f = data;
  g_autofree char *got = NULL;

  g_variant_unref (sk_fleet_sync (f->fleet, 0));
  got = sk_get_file (f->a, COMPOSED "/" COMPOSED ".txt");
  return g_strcmp0 (got, "noticed on b") == 0;
}

static void
test_other_form (void)
{
  Fixture f;

  if (set_up (&f))
    {
      sk_put_file (f.a, COMPOSED "/" COMPOSED ".txt", "from a", -1);
      sk_put_file (f.a, COMPOSED "/plain", "plain", -1);
      sk_put_file (f.a, DECOMPOSED "2", "a name in the form of the disk", -1);
      g_variant_unref (sk_fleet_run (f.fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", f.a));
      sk_sync_all (f.fleet, 1);
      g_variant_unref (sk_fleet_run (f.fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", f.b));
      assert_rest (&f);
      g_assert_cmpuint (sk_count_names (f.b, DECOMPOSED), ==, 2);
      g_assert_cmpuint (sk_count_names (f.b, COMPOSED), ==, 0);
      sk_fleet_restart (f.fleet, 1);
      assert_rest (&f);
      /* By any form, on either side. */
      sk_put_file (f.b, DECOMPOSED "/" DECOMPOSED ".txt", "edited on b", -1);
      sk_put_file (f.b, DECOMPOSED "/new", "new", -1);
      assert_rest (&f);
      sk_assert_content (f.a, COMPOSED "/" COMPOSED ".txt", "edited on b");
      sk_assert_content (f.a, COMPOSED "/new", "new");
      sk_put_file (f.a, COMPOSED "/" COMPOSED ".txt", "edited on a", -1);
      assert_rest (&f);
      sk_assert_content (f.b, DECOMPOSED "/" DECOMPOSED ".txt", "edited on a");
      sk_unlink (f.b, COMPOSED "/plain");
      sk_unlink (f.b, COMPOSED "2");
      assert_rest (&f);
      g_assert_false (sk_there (f.a, COMPOSED "/plain"));
      g_assert_false (sk_there (f.a, DECOMPOSED "2"));
      g_assert_cmpuint (sk_count_files (f.a), ==, 2);
      /* And where single paths are looked at. */
      sk_fleet_close (f.fleet, 1);
      f.fleet->watch = TRUE;
      sk_fleet_open (f.fleet, 1);
      sk_put_file (f.b, DECOMPOSED "/" DECOMPOSED ".txt", "noticed on b", -1);
      sk_up_note (f.fleet->devices[1]->up, 1, DECOMPOSED "/" DECOMPOSED ".txt", FALSE, FALSE);
      g_assert_true (sk_wait (has_come, &f, 20));
      g_assert_cmpuint (sk_count_files (f.a), ==, 2);
    }
  tear_down (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/normalised/sit-B052/other-form", test_other_form);
  return g_test_run ();
}
