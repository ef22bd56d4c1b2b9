/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that were written to after they came into the trash. */
#include "sk-fleet-check.h"
#include "sk-pair.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Less than an engine lets pass until it scans everything (300 s, then a day). */
#define NO_SCAN_US (250 * (gint64) G_USEC_PER_SEC)

typedef struct
{
  SkClock *clock;
  const char *dir, *content;
  gint64 until;
} Back;

static gboolean
is_back (gpointer data)
{
  Back *back = data;

  if (sk_clock_now (back->clock) < back->until)
    sk_clock_step (back->clock, G_USEC_PER_SEC);
  return sk_count_content (back->dir, back->content) == 1;
}

static void
in_trash_of_a (SkThree *t)
{
  sk_unlink (t->b, "x.txt");
  sk_sync (t->fleet, 1);
  sk_sync (t->fleet, 0);
  g_assert_true (sk_in_trash (t->a, "x.txt", "base"));
}

/* A program keeps the file open that is deleted under it, and goes on writing: an engine that watches finds it without scanning everything. */
static void
test_while_watching (void)
{
  g_auto(SkThree) t = { NULL };
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  g_autofree char *path = NULL;
  Back back = { .clock = clock, .content = "base and more" };
  int fd;

  sk_three_init (&t, 2);
  path = g_build_filename (t.a, "x.txt", NULL);
  fd = open (path, O_WRONLY | O_APPEND);
  g_assert_cmpint (fd, >=, 0);
  sk_fleet_close (t.fleet, 0);
  t.fleet->clock = clock;
  t.fleet->watch = TRUE;
  sk_fleet_open (t.fleet, 0);
  back.until = sk_clock_now (clock) + NO_SCAN_US;
  in_trash_of_a (&t);
  g_assert_cmpint ((int) write (fd, " and more", 9), ==, 9);
  close (fd);
  back.dir = t.a;
  g_assert_true (sk_wait (is_back, &back, 20));
  g_assert_false (sk_in_trash (t.a, "x.txt", NULL));
  g_assert_cmpuint (sk_count_names (t.a, "x (conflict, device-0, "), ==, 1);
  sk_fleet_close (t.fleet, 0);
}

/* A file that was removed right after it was written looks, to an engine that was started anew, like one that was written to in the trash. What it
 * holds is a version of its path: nothing is lost, and nothing comes back. */
static void
test_version_is_no_loss (void)
{
  g_auto(SkThree) t = { NULL };
  g_autoptr(GDir) batches = NULL;
  g_autofree char *trash = NULL, *path = NULL;
  const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };

  sk_three_init (&t, 2);
  in_trash_of_a (&t);
  sk_fleet_close (t.fleet, 0);
  trash = g_build_filename (t.a, ".skerry", "trash", NULL);
  batches = g_dir_open (trash, 0, NULL);
  g_assert_nonnull (batches);
  path = g_build_filename (trash, g_dir_read_name (batches), "x.txt", NULL);
  g_assert_cmpint (utimensat (AT_FDCWD, path, times, 0), ==, 0);
  sk_fleet_open (t.fleet, 0);
  sk_sync (t.fleet, 0);
  g_assert_true (sk_in_trash (t.a, "x.txt", "base"));
  g_assert_cmpuint (sk_count_files (t.a), ==, 0);
  sk_assert_no_issues (t.fleet, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/touched/rule-a11/while-watching", test_while_watching);
  g_test_add_func ("/touched/rule-a11/version-is-no-loss", test_version_is_no_loss);
  return g_test_run ();
}
