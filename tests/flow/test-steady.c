/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must not grow: memory and descriptors of an engine that goes on for long, objects for many small files, what is said about nothing. Each
 * measures the difference between two states of one process. */
#include <glib/gstdio.h>
#include <malloc.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sk-fleet-check.h"
#include "sk-pair.h"
#include "sk-test-hooks.h"

#if defined(__SANITIZE_ADDRESS__)
#define ROOM 6u                  /* what is freed is kept for a while there, and everything has a margin */
#else
#define ROOM 1u
#endif

static guint64
resident (void)
{
  g_autofree char *text = NULL;
  guint64 pages;

  g_assert_true (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL));
  pages = g_ascii_strtoull (strchr (text, ' '), NULL, 10);
  return pages * (guint64) sysconf (_SC_PAGESIZE);
}

/* In use, but for the cache of the database, which has a limit of its own. */
static guint64
heap (void)
{
  struct mallinfo2 info = mallinfo2 ();

  return info.uordblks + info.hblkhd - MIN ((guint64) sqlite3_memory_used (), info.uordblks);
}

static guint
descriptors (void)
{
  g_autoptr(GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static double
cpu_seconds (void)
{
  struct rusage usage;

  g_assert_cmpint (getrusage (RUSAGE_SELF, &usage), ==, 0);
  return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / G_USEC_PER_SEC;
}

static void
put_small (const char *dir, guint from, guint to)
{
  for (guint i = from; i < to; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/file%u", i / 100, i), *text = g_strdup_printf ("%u is the text of a small file %u", i, i * 7);

      sk_put_file (dir, path, text, -1);
    }
}

static SkFleet *
add_folder (guint n, gboolean watching, char **a)
{
  SkFleet *fleet = sk_fleet_new (n, watching);

  *a = sk_fleet_path (fleet, 0, "f");
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", *a));
  return fleet;
}

/* --- B179, B180 --- */

static void
test_memory_of_many (void)
{
  g_autofree char *a = NULL;
  g_autoptr(SkFleet) fleet = add_folder (1, FALSE, &a);
  const guint some = 3000, more = 9000;
  guint64 first, second, third, most;

  put_small (a, 0, some);
  sk_sync (fleet, 0);
  first = heap ();
  put_small (a, some, more);
  sk_sync (fleet, 0);
  second = heap ();
  sk_fleet_restart (fleet, 0);
  sk_sync (fleet, 0);
  third = heap ();
  most = resident ();
  g_test_message ("%u files: %" G_GUINT64_FORMAT " KiB, %u: %" G_GUINT64_FORMAT " KiB, after a restart %" G_GUINT64_FORMAT " KiB; resident %" G_GUINT64_FORMAT
                  " KiB", some, first / 1024, more, second / 1024, third / 1024, most / 1024);
  /* What is kept between syncs has limits of its own (nodes and versions that were used last); what a look at files in which nothing changed
   * needs does not grow with them. */
  g_assert_cmpuint (third, <, first + (more - some) * 100);
  g_assert_cmpuint (most, <, ROOM * (150u << 20));
}

static guint
count_objects (const char *dir)
{
  g_autoptr(GDir) names = g_dir_open (dir, 0, NULL);
  const char *name;
  guint n = 0;

  while (names != NULL && (name = g_dir_read_name (names)) != NULL)
    {
      g_autofree char *full = g_build_filename (dir, name, NULL);

      n += g_file_test (full, G_FILE_TEST_IS_DIR) ? count_objects (full) : 1;
    }
  return n;
}

typedef struct { SkFleet *fleet; int done; guint steps; } Watcher;

static void
slow_reading (const char *stage)
{
  if (strcmp (stage, "ingest") == 0)
    g_usleep (1000);
}

/* How many files wait, as a person sees it. */
static gpointer
look_at_progress (gpointer data)
{
  Watcher *watcher = data;
  guint64 last = 0;

  while (!g_atomic_int_get (&watcher->done))
    {
      g_autoptr(GVariant) status = sk_fleet_run (watcher->fleet, 0, "status", NULL);
      g_autoptr(GVariant) left = g_variant_lookup_value (status, "left", G_VARIANT_TYPE_VARDICT);
      guint64 files = 0;

      g_assert_nonnull (left);
      g_assert_true (g_variant_lookup (left, "files", "t", &files));
      watcher->steps += files != last;
      last = files;
      g_usleep (20 * 1000);
    }
  return NULL;
}

static void
test_many_small_in_few_objects (void)
{
  g_autofree char *a = NULL;
  g_autoptr(SkFleet) fleet = add_folder (1, FALSE, &a);
  Watcher watcher = { .fleet = fleet };
  const guint n = 3000;
  GThread *thread;
  guint objects;

  put_small (a, 0, n);
  objects = count_objects (fleet->storage);
  sk_test_stage_hook = slow_reading;
  thread = g_thread_new ("person", look_at_progress, &watcher);
  sk_sync (fleet, 0);
  sk_test_stage_hook = NULL;
  g_atomic_int_set (&watcher.done, 1);
  g_thread_join (thread);
  objects = count_objects (fleet->storage) - objects;
  g_test_message ("%u files in %u objects; %u steps of the progress", n, objects, watcher.steps);
  g_assert_cmpuint (objects, <, n / 100);
  g_assert_cmpuint (watcher.steps, >=, 3);
}

/* --- B183 --- */

static gboolean
all_up_to_date (gpointer data)
{
  for (guint i = 0; i < 15; i++)
    {
      g_autofree char *name = g_strdup_printf ("f%u", i), *state = sk_folder_state (data, 0, name);

      if (!g_str_equal (state, "up-to-date"))
        return FALSE;
    }
  return TRUE;
}

static void
test_idle (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  const double seconds = 3;
  double cpu;

  for (guint i = 0; i < 15; i++)
    {
      g_autofree char *name = g_strdup_printf ("f%u", i), *path = sk_fleet_path (fleet, 0, name);

      put_small (path, 0, 100);
      g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <%s>, 'path': <%^ay>}", name, path));
    }
  sk_sync (fleet, 0);
  sk_fleet_close (fleet, 0);
  fleet->watch = TRUE;
  sk_fleet_open (fleet, 0);
  g_assert_true (sk_wait (all_up_to_date, fleet, 20));
  g_usleep (G_USEC_PER_SEC);     /* what goes on after that: the last report */
  cpu = cpu_seconds ();
  g_usleep ((gulong) (seconds * G_USEC_PER_SEC));
  cpu = cpu_seconds () - cpu;
  g_test_message ("%.4f s of CPU in %.0f s", cpu, seconds);
  g_assert_cmpfloat (cpu, <, seconds * 0.005 * ROOM);
}

/* --- B185 --- */

static int lines;                /* atomic */

static GLogWriterOutput
count_line (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & G_LOG_LEVEL_DEBUG) == 0)
    g_atomic_int_inc (&lines);
  return G_LOG_WRITER_HANDLED;
}

static void
silent_passes (void)
{
  g_autofree char *a = NULL, *home = NULL;
  g_autoptr(SkFleet) fleet = NULL;
  guint objects;
  int before;

  if (!g_test_subprocess ())
    return;
  g_log_set_writer_func (count_line, NULL, NULL);
  fleet = add_folder (1, FALSE, &a);
  put_small (a, 0, 2000);
  sk_sync (fleet, 0);
  home = sk_fleet_home (fleet, 0);
  objects = count_objects (fleet->storage) + count_objects (home);
  before = g_atomic_int_get (&lines);
  for (guint i = 0; i < 50; i++)
    sk_sync (fleet, 0);
  g_assert_cmpint (g_atomic_int_get (&lines), ==, before);
  g_assert_cmpuint (count_objects (fleet->storage) + count_objects (home), <=, objects);
}

static void
test_nothing_said_about_nothing (void)
{
  g_test_trap_subprocess ("/steady/subprocess/silent-passes", 0, 0);
  g_test_trap_assert_passed ();
}

/* --- B187 --- */

static void
remove_packs (SkFleet *fleet)
{
  g_autofree char *command = g_strdup_printf ("find '%s' -path '*/packs/*' -type f -delete", fleet->storage);
  const char *argv[] = { "sh", "-c", command, NULL };
  int status;

  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL));
  g_assert_cmpint (status, ==, 0);
}

static void
test_failing_for_ever (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = add_folder (2, FALSE, &a);
  const guint warm = 60, passes = 240;
  guint64 before = 0, after;
  guint issues = 0, open = 0;

  b = sk_fleet_path (fleet, 1, "f");
  put_small (a, 0, 100);
  sk_sync (fleet, 0);
  sk_sync (fleet, 1);
  remove_packs (fleet);
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  for (guint i = 0; i < passes; i++)
    {
      if (i == warm)
        {
          before = resident ();
          open = descriptors ();
          issues = sk_issues (fleet, 1);
        }
      sk_sync (fleet, 1);
    }
  after = resident ();
  g_test_message ("%u passes: %" G_GUINT64_FORMAT " KiB, then %" G_GUINT64_FORMAT " KiB; %u issues", passes, before / 1024, after / 1024, issues);
  g_assert_cmpuint (issues, >=, 1);
  g_assert_cmpuint (sk_issues (fleet, 1), ==, issues);
  g_assert_cmpuint (sk_count_files (b), ==, 0);
  g_assert_cmpuint (after, <, before + ROOM * (4u << 20));
  g_assert_cmpuint (descriptors (), <=, open);
}

/* --- B188 --- */

static void
test_paused_again_and_again (void)
{
  g_autofree char *a = NULL;
  g_autoptr(SkFleet) fleet = add_folder (1, FALSE, &a);
  guint64 before = 0;
  guint open = 0;

  put_small (a, 0, 100);
  sk_sync (fleet, 0);
  sk_fleet_close (fleet, 0);
  fleet->watch = TRUE;
  sk_fleet_open (fleet, 0);
  for (guint i = 0; i < 500; i++)
    {
      if (i == 100)
        {
          before = resident ();
          open = descriptors ();
        }
      g_variant_unref (sk_fleet_run (fleet, 0, "pause", NULL));
      g_variant_unref (sk_fleet_run (fleet, 0, "resume", NULL));
    }
  sk_sync (fleet, 0);            /* whatever waited was done */
  g_test_message ("%" G_GUINT64_FORMAT " KiB, then %" G_GUINT64_FORMAT " KiB; %u descriptors, then %u", before / 1024, resident () / 1024, open,
                  descriptors ());
  g_assert_cmpuint (resident (), <, before + ROOM * (4u << 20));
  g_assert_cmpuint (descriptors (), <=, open + 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/steady/sit-B179/memory-of-many", test_memory_of_many);
  g_test_add_func ("/steady/sit-B180/many-small-in-few-objects", test_many_small_in_few_objects);
  g_test_add_func ("/steady/sit-B183/idle", test_idle);
  g_test_add_func ("/steady/sit-B185/nothing-said-about-nothing", test_nothing_said_about_nothing);
  g_test_add_func ("/steady/subprocess/silent-passes", silent_passes);
  g_test_add_func ("/steady/sit-B187/failing-for-ever", test_failing_for_ever);
  g_test_add_func ("/steady/sit-B188/paused-again-and-again", test_paused_again_and_again);
  return g_test_run ();
}
