/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person wrote a moment ago may be lost by his disk for another half minute. Before it is published it is made durable here. */
#include "sk-write-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sk-path.h"

/* From one more on, one syncfs is cheaper (RULES C8). */
#define SINGLE_MAX 63u
/* A file system stamps with the clock of the last tick, or in steps of up to two seconds. */
#define TICK_US (50 * 1000)
#define COARSE_US (3 * G_USEC_PER_SEC)
#define COARSE_NS (10 * 1000 * 1000)
#define CLOCK_JUMP_US (G_USEC_PER_SEC / 2)

/* Whether the last syncfs began after what @stat stands for was on the disk's list. */
static gboolean
is_covered (SkWriterState *state, const SkStat *stat)
{
  gint64 slack = stat->ctime % COARSE_NS == 0 ? COARSE_US : TICK_US;
  gint64 offset = g_get_real_time () - g_get_monotonic_time ();
  gint64 whole_wall, whole_offset;

  g_mutex_lock (&state->lock);
  whole_wall = state->whole_wall;
  whole_offset = state->whole_offset;
  g_mutex_unlock (&state->lock);
  /* Where the clock was set since, times of files say nothing. */
  return whole_wall != 0 && ABS (offset - whole_offset) < CLOCK_JUMP_US && stat->ctime / 1000 < whole_wall - slack;
}

/* 0 or an errno. That something is not there any more is none, nor that it is mounted read-only: nothing of it can be on its way. */
static int
keep_at (SkRoot *root, const char *path, gboolean is_dir)
{
  int fd = sk_root_openat (root, path, is_dir ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK);
  int errnum;

  if (fd < 0)
    return errno == EMFILE || errno == ENFILE || errno == EIO || errno == ENOMEM ? errno : 0;
  errnum = is_dir ? sk_barrier_sync_dir (root, fd) : sk_barrier_sync_file (root, fd);
  close (fd);
  return errnum == EROFS ? 0 : errnum;
}

/* Of a new directory its mode as well as its name. */
static int
keep_dirs (SkRoot *root, GHashTable *dirs)
{
  GHashTableIter iter;
  gpointer dir;
  int failed = 0;

  g_hash_table_iter_init (&iter, dirs);
  while (g_hash_table_iter_next (&iter, &dir, NULL))
    {
      int errnum = keep_at (root, dir, TRUE);

      failed = failed != 0 ? failed : errnum;
    }
  return failed;
}

/* What @path was taken out of, or what that was taken out of. -1: it cannot be opened; *@dir, (transfer full): which it is. */
static int
open_nearest (SkRoot *root, const char *path, char **dir)
{
  char *at = sk_path_parent (path);
  int fd;

  while ((fd = sk_root_openat (root, at, O_RDONLY | O_DIRECTORY)) < 0 && *at != '\0' && (errno == ENOENT || errno == ENOTDIR))
    {
      char *above = sk_path_parent (at);

      g_free (at);
      at = above;
    }
  *dir = at;
  /* A mere path will do for a syncfs, where it may be searched but not read. */
  return fd < 0 && errno == EACCES ? sk_root_openat (root, at, O_PATH | O_DIRECTORY) : fd;
}

gboolean
sk_barrier_add_nearest (SkRoot *root, const char *path)
{
  g_autofree char *dir = NULL;
  int fd = open_nearest (root, path, &dir);

  if (fd < 0)
    return FALSE;
  sk_barrier_add_dir (root, fd);
  close (fd);
  return TRUE;
}

/* Of many that went with the directory they lay in, one look each is enough. */
static void
add_nearest (SkRoot *root, GHashTable *dirs, GHashTable *seen, const char *path)
{
  g_autofree char *parent = sk_path_parent (path);
  char *dir;
  int fd;

  if (!g_hash_table_add (seen, g_steal_pointer (&parent)))
    return;
  fd = open_nearest (root, path, &dir);
  if (fd >= 0)
    close (fd);
  g_hash_table_add (dirs, dir);
}

static int
keep_each (SkRoot *root, GPtrArray *fresh, GHashTable *dirs)
{
  /* Files before directories: a name never becomes durable before its bytes. */
  for (guint i = 0; i < fresh->len; i++)
    {
      SkRootRead *read = fresh->pdata[i];

      if (read->stat->kind == SK_KIND_FILE)
        read->lost = keep_at (root, read->path, FALSE) != 0;
      else if (read->stat->kind == SK_KIND_DIR)
        g_hash_table_add (dirs, g_strdup (read->path));
      g_hash_table_add (dirs, sk_path_parent (read->path));
    }
  return keep_dirs (root, dirs);
}

gboolean
sk_root_keep (SkRoot *self, SkRootRead *reads, guint n, GError **error)
{
  SkWriterState *state = sk_writer_state (self);
  g_autoptr(GPtrArray) fresh = g_ptr_array_new ();
  g_autoptr(GHashTable) dirs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  int errnum;

  for (guint i = 0; i < n; i++)
    if (reads[i].stat->kind == SK_KIND_NONE)
      add_nearest (self, dirs, seen, reads[i].path);
    else if (!is_covered (state, reads[i].stat))
      g_ptr_array_add (fresh, &reads[i]);
  if (fresh->len + g_hash_table_size (dirs) == 0)
    return TRUE;
  /* That it failed does not say for which file. */
  if (fresh->len + g_hash_table_size (dirs) > SINGLE_MAX && sk_barrier_may_sync_whole (self) && sk_barrier_sync_whole (self) == 0)
    return TRUE;
  errnum = keep_each (self, fresh, dirs);
  return errnum == 0 || sk_write_fail (error, self, errnum, "make durable what was written in", sk_root_path (self));
}
