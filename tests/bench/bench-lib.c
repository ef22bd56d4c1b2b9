/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one file costs with an engine that runs: bench-lib [NAME]..., below TMPDIR.
 *
 *   write_file   from the closed file to durable in the storage and in the log there
 *   read_file    from the request, on an empty attached folder, to the renamed, verified file
 *   remove_file  from unlink to gone on the other device, its content in the trash there
 *   sync         from the closed file on one device to the renamed file on the other
 *
 * Time that an engine lets pass on purpose (until a file is quiet, until it asks a storage again) costs nothing: the clock of the engines is stepped
 * without pause while a measurement runs. What is printed is the mean with its 95 % confidence interval. */
#include "sk-fleet-check.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEASURED 12
#define WARM_UP 2
#define T_95 2.201                       /* Student's, MEASURED - 1 degrees of freedom */
#define LIMIT_US (60 * G_USEC_PER_SEC)
#define STEP_US G_USEC_PER_SEC           /* of the engines' clock, */
#define PAUSE_US 100                     /* so often */
#define BESIDE 40u                       /* small files beside the one that is measured, so that its removal is no mass change */

static const gsize sizes[] = { 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20 };

typedef struct
{
  SkFleet *fleet;
  SkClock *clock;
  char *a, *b;                           /* "f" on both */
  char *name;                            /* of the file that is measured */
  char *data;
  gsize size;
  struct stat head;                      /* of device 0 in the storage, before */
} Bench;

typedef gboolean (*Done) (Bench *self);

/* --- one file --- */

static void
new_file (Bench *self, guint i)
{
  static guint64 serial;
  g_autoptr(GRand) rand = g_rand_new_with_seed ((guint32) ++serial);

  g_free (self->name);
  self->name = g_strdup_printf ("file %u of %" G_GSIZE_FORMAT, i, self->size);
  for (gsize at = 0; at < self->size; at += 4)
    {
      guint32 word = g_rand_int (rand);

      memcpy (self->data + at, &word, 4);
    }
}

static void
write_it (Bench *self)
{
  g_autofree char *path = g_build_filename (self->a, self->name, NULL);
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

  g_assert_cmpint (fd, >=, 0);
  for (gsize at = 0; at < self->size;)
    {
      gssize n = write (fd, self->data + at, self->size - at);

      g_assert_cmpint (n, >, 0);
      at += (gsize) n;
    }
  g_assert_cmpint (close (fd), ==, 0);
}

static void
stat_head (Bench *self, struct stat *out)
{
  const SkHomeConfig *who = &self->fleet->devices[0]->who;
  char vault[SK_ID_HEX_SIZE], device[SK_DEVICE_ID_HEX_SIZE];
  g_autofree char *path = NULL;

  sk_id_format (&who->vault, vault);
  sk_device_id_format (&who->device, device);
  path = g_build_filename (self->fleet->storage, vault, "heads", device, NULL);
  g_assert_cmpint (stat (path, out), ==, 0);
}

static gboolean
is_published (Bench *self)
{
  struct stat now;

  stat_head (self, &now);
  return now.st_ino != self->head.st_ino || now.st_mtim.tv_sec != self->head.st_mtim.tv_sec || now.st_mtim.tv_nsec != self->head.st_mtim.tv_nsec;
}

static gboolean
is_there (Bench *self)
{
  return sk_there (self->b, self->name);
}

static gboolean
is_gone (Bench *self)
{
  return !sk_there (self->b, self->name);
}

static void
assert_same (Bench *self, const char *dir)
{
  g_autofree char *path = g_build_filename (dir, self->name, NULL), *content = NULL;
  gsize len;

  g_assert_true (g_file_get_contents (path, &content, &len, NULL));
  g_assert_cmpmem (content, len, self->data, self->size);
}

/* --- time --- */

/* Seconds until @done. */
static double
until (Bench *self, gint64 begin, Done done)
{
  while (!done (self))
    {
      if (g_get_monotonic_time () - begin > LIMIT_US)
        g_error ("“%s” did not come to its end", self->name);
      sk_clock_step (self->clock, STEP_US);
      g_usleep (PAUSE_US);
    }
  return (double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC;
}

static void
settle (Bench *self)
{
  for (guint i = 0; i < self->fleet->n; i++)
    if (self->fleet->devices[i] != NULL)
      sk_sync (self->fleet, i);
}

static double
measure_write (Bench *self)
{
  double seconds;

  stat_head (self, &self->head);
  write_it (self);
  seconds = until (self, g_get_monotonic_time (), is_published);
  settle (self);
  return seconds;
}

/* The folder loses all it has, again and again. */
static void
accept_removal (Bench *self)
{
  for (guint i = 0; i < 2; i++)
    if (sk_issue (self->fleet, i, "mass-change", NULL) != 0)
      sk_resolve (self->fleet, i, "mass-change", "accept");
  settle (self);
}

static gpointer
run_request (gpointer data)
{
  sk_sync (((Bench *) data)->fleet, 1);
  return NULL;
}

static double
measure_read (Bench *self)
{
  g_autofree char *path = g_build_filename (self->a, self->name, NULL);
  GThread *thread;
  gint64 begin;
  double seconds;

  write_it (self);
  sk_sync (self->fleet, 0);
  begin = g_get_monotonic_time ();
  thread = g_thread_new ("request", run_request, self);
  seconds = until (self, begin, is_there);
  g_thread_join (thread);
  assert_same (self, self->b);
  g_assert_cmpint (unlink (path), ==, 0);
  settle (self);
  accept_removal (self);
  g_assert_cmpuint (sk_count_files (self->b), ==, 0);
  return seconds;
}

static double
measure_sync (Bench *self)
{
  double seconds;

  write_it (self);
  seconds = until (self, g_get_monotonic_time (), is_there);
  assert_same (self, self->b);
  settle (self);
  return seconds;
}

static double
measure_remove (Bench *self)
{
  g_autofree char *path = g_build_filename (self->a, self->name, NULL);
  double seconds;
  gint64 begin;

  write_it (self);
  (void) until (self, g_get_monotonic_time (), is_there);
  settle (self);
  begin = g_get_monotonic_time ();
  g_assert_cmpint (unlink (path), ==, 0);
  seconds = until (self, begin, is_gone);
  g_assert_true (sk_in_trash (self->b, self->name, NULL));
  settle (self);
  return seconds;
}

/* --- statistics --- */

static void
show_throughput (gsize size, double seconds, const char *end)
{
  g_print ("%.4g MiB/s%s", (double) size / (double) (1 << 20) / seconds, end);
}

static void
show (const char *name, gsize size, const double *seconds)
{
  g_autofree char *amount = size < 1 << 20 ? g_strdup_printf ("%" G_GSIZE_FORMAT " KiB", size >> 10) : g_strdup_printf ("%" G_GSIZE_FORMAT " MiB", size >> 20);
  double mean = 0, squares = 0, half;

  for (guint i = 0; i < MEASURED; i++)
    mean += seconds[i] / MEASURED;
  for (guint i = 0; i < MEASURED; i++)
    squares += (seconds[i] - mean) * (seconds[i] - mean);
  half = MIN (T_95 * sqrt (squares / (MEASURED - 1) / MEASURED), mean * 0.99);
  g_print ("%s/%s time: [%.4g ms %.4g ms %.4g ms] thrpt: [", name, amount, (mean - half) * 1000, mean * 1000, (mean + half) * 1000);
  show_throughput (size, mean + half, " ");
  show_throughput (size, mean, " ");
  show_throughput (size, mean - half, "]\n");
}

/* --- the measurements --- */

static const struct
{
  const char *name;
  double (*measure) (Bench *self);
  gboolean beside;                       /* with other files in the folder */
  gboolean first_runs, second_runs;      /* an engine watches on that device */
} kinds[] = {
  { "write_file", measure_write, TRUE, TRUE, FALSE },
  { "read_file", measure_read, FALSE, FALSE, TRUE },
  { "remove_file", measure_remove, TRUE, TRUE, TRUE },
  { "sync", measure_sync, TRUE, TRUE, TRUE },
};

static void
run_kind (guint kind)
{
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  Bench self = { .fleet = fleet, .clock = clock, .a = sk_fleet_path (fleet, 0, "f"), .b = sk_fleet_path (fleet, 1, "f") };

  sk_fleet_share (fleet, "f");
  if (kinds[kind].beside)
    sk_put_many (self.a, "beside ", BESIDE);
  sk_sync_all (fleet, 1);
  fleet->clock = clock;
  for (guint i = 0; i < 2; i++)
    {
      sk_fleet_close (fleet, i);
      fleet->watch = i == 0 ? kinds[kind].first_runs : kinds[kind].second_runs;
      if (i == 0 || fleet->watch)
        sk_fleet_open (fleet, i);
    }
  /* It is asked to read, and is not to be there first. */
  if (!kinds[kind].first_runs)
    g_variant_unref (sk_fleet_run (fleet, 1, "pause", NULL));
  settle (&self);
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      double seconds[WARM_UP + MEASURED];

      self.size = sizes[s];
      self.data = g_malloc (self.size);
      for (guint i = 0; i < G_N_ELEMENTS (seconds); i++)
        {
          new_file (&self, i);
          seconds[i] = kinds[kind].measure (&self);
        }
      show (kinds[kind].name, self.size, seconds + WARM_UP);
      g_free (self.data);
    }
  if (fleet->devices[1] == NULL)
    sk_fleet_open (fleet, 1);
  settle (&self);
  sk_assert_equal_trees (fleet, "f");
  g_free (self.a);
  g_free (self.b);
  g_free (self.name);
}

int
main (int argc, char **argv)
{
  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    if (argc == 1 || g_strv_contains ((const char *const *) argv + 1, kinds[kind].name))
      run_kind (kind);
  return 0;
}
