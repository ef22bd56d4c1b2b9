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

#include "sk-flow.h"

#include <fcntl.h>
#include <ftw.h>
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
  struct stat placed;                    /* the head of device 0 in the storage, before, */
  GBytes *noted;                         /* and what it noted of that */
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

/* Index thread. */
static gboolean
read_head (SkSession *session, gpointer data, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  const SkFlowStorage *storage = config->storages->pdata[0];
  g_autofree char *key = g_strdup_printf ("head-state:%" G_GINT64_FORMAT, storage->row);

  *(GBytes **) data = sk_index_get (session->index, key);
  return TRUE;
}

static GBytes *
noted_head (Bench *self)
{
  GBytes *head = NULL;

  g_assert_true (sk_session_index (self->fleet->devices[0], read_head, &head, NULL));
  g_assert_nonnull (head);
  return head;
}

static void
placed_head (Bench *self, struct stat *out)
{
  const SkHomeConfig *who = &self->fleet->devices[0]->who;
  char vault[SK_ID_HEX_SIZE], device[SK_DEVICE_ID_HEX_SIZE];
  g_autofree char *path = NULL;

  sk_id_format (&who->vault, vault);
  sk_device_id_format (&who->device, device);
  path = g_build_filename (self->fleet->storage, vault, "heads", device, NULL);
  g_assert_cmpint (stat (path, out), ==, 0);
}

/* The last that a push does: packs, the segment of the log and the head that names it are durable in the storage, and that is noted. The index is
 * not asked before there is a new head, as the engine needs it. */
static gboolean
is_published (Bench *self)
{
  g_autoptr(GBytes) now = NULL;
  struct stat head;

  placed_head (self, &head);
  if (head.st_ino == self->placed.st_ino && head.st_mtim.tv_sec == self->placed.st_mtim.tv_sec && head.st_mtim.tv_nsec == self->placed.st_mtim.tv_nsec)
    return FALSE;
  now = noted_head (self);
  return !g_bytes_equal (now, self->noted);
}

static guint64 stored;

static int
add_stored (const char *path, const struct stat *stat, int kind, struct FTW *where)
{
  stored += kind == FTW_F ? (guint64) stat->st_size : 0;
  return 0;
}

static guint64
stored_bytes (Bench *self)
{
  stored = 0;
  g_assert_cmpint (nftw (self->fleet->storage, add_stored, 16, FTW_PHYS), ==, 0);
  return stored;
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

static gboolean
is_same (Bench *self, const char *path)
{
  g_autofree char *content = NULL;
  gsize len;

  return g_file_get_contents (path, &content, &len, NULL) && len == self->size && memcmp (content, self->data, len) == 0;
}

static void
assert_same (Bench *self, const char *dir)
{
  g_autofree char *path = g_build_filename (dir, self->name, NULL);

  g_assert_true (is_same (self, path));
}

static gboolean
is_in_trash (Bench *self)
{
  g_autofree char *trash = g_build_filename (self->b, ".skerry/trash", NULL);
  g_autoptr(GDir) batches = g_dir_open (trash, 0, NULL);
  const char *batch;

  while (batches != NULL && (batch = g_dir_read_name (batches)) != NULL)
    {
      g_autofree char *path = g_build_filename (trash, batch, self->name, NULL);

      if (is_same (self, path))
        return TRUE;
    }
  return FALSE;
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
  guint64 before = stored_bytes (self);
  double seconds;

  placed_head (self, &self->placed);
  self->noted = noted_head (self);
  write_it (self);
  seconds = until (self, g_get_monotonic_time (), is_published);
  g_assert_cmpuint (stored_bytes (self), >=, before + self->size);
  g_clear_pointer (&self->noted, g_bytes_unref);
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
  g_assert_true (is_in_trash (self));
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
  g_print ("# [low mean high]: the mean and its 95 %% confidence interval, %d files after %d\n", MEASURED, WARM_UP);
  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    if (argc == 1 || g_strv_contains ((const char *const *) argv + 1, kinds[kind].name))
      run_kind (kind);
  return 0;
}
