/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Durability in batches. Up to HELD_MAX descriptors of files and directories wait for the barrier;
 * beyond that one syncfs covers everything, unless it may not be used here: then the batch is
 * synced early, one by one. Either way the number of open descriptors stays bounded. */
#include "sk-write-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* From one more on, one syncfs is cheaper (RULES C8). */
#define HELD_MAX 63u
/* syncfs also flushes what other programs wrote; a slow one would hold up commits. */
#define SYNCFS_SLOW_US (2 * G_USEC_PER_SEC)
#define SYNCFS_PAUSE_US (10 * 60 * (gint64) G_USEC_PER_SEC)

typedef struct
{
  int fd;
  gboolean dir;
  guint64 dev, ino;
} SkHeld;

#if SK_TEST_HOOKS
SkWriteHooks sk_write_hooks;
#define COUNT(what) g_atomic_int_inc (&sk_write_hooks.what)
#define PLANTED sk_write_hooks.sync_errnum
#define PLANTED_FILE (sk_write_hooks.file_sync_errnum != 0 ? sk_write_hooks.file_sync_errnum : PLANTED)
#else
#define COUNT(what)                                                                                \
  G_STMT_START {}                                                                                  \
  G_STMT_END
#define PLANTED 0
#define PLANTED_FILE 0
#endif

static void
held_clear (gpointer data)
{
  SkHeld *held = data;

  close (held->fd);
}

static GArray *
held_new (void)
{
  GArray *held = g_array_new (FALSE, FALSE, sizeof (SkHeld));

  g_array_set_clear_func (held, held_clear);
  return held;
}

/* ---- state of a root ---- */

static gpointer
state_make (void)
{
  SkWriterState *self = g_new0 (SkWriterState, 1);

  g_mutex_init (&self->lock);
  g_mutex_init (&self->barrier);
  self->held = held_new ();
  return self;
}

static void
state_free (gpointer data)
{
  SkWriterState *self = data;

  g_array_unref (self->held);
  for (guint i = 0; i < G_N_ELEMENTS (self->trashed); i++)
    g_clear_pointer (&self->trashed[i], g_hash_table_unref);
  g_mutex_clear (&self->lock);
  g_mutex_clear (&self->barrier);
  g_free (self);
}

SkWriterState *
sk_writer_state (SkRoot *root)
{
  return sk_root_writer_state (root, state_make, state_free);
}

/* ---- one by one ---- */

static int
sync_file_system (SkRoot *root)
{
  COUNT (fs_syncs);
  return syncfs (sk_root_fd (root)) == 0 ? PLANTED : errno;
}

int
sk_barrier_sync_file (SkRoot *root, int fd)
{
  COUNT (file_syncs);
  /* Not fdatasync: a new file's inode is written in any case, and mode and mtime belong to what has
   * to survive. */
  return fsync (fd) == 0 ? PLANTED_FILE : errno;
}

int
sk_barrier_sync_dir (SkRoot *root, int dir)
{
  COUNT (dir_syncs);
  if (fsync (dir) == 0)
    return PLANTED;
  if (errno == EBADF) /* searchable but not readable: it was opened as a mere path */
    return sync_file_system (root);
  /* Several network and FUSE file systems have nothing to sync for a directory, and say so. */
  return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
}

/* The first error; all are synced. */
static int
sync_held (SkRoot *root, GArray *held)
{
  int failed = 0;

  /* Files before directories: a name never becomes durable before its bytes. */
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < held->len; i++)
      {
        SkHeld *item = &g_array_index (held, SkHeld, i);
        int errnum;

        if (item->dir != (pass == 1))
          continue;
        errnum = item->dir ? sk_barrier_sync_dir (root, item->fd)
                           : sk_barrier_sync_file (root, item->fd);
        if (failed == 0)
          failed = errnum;
      }
  return failed;
}

/* ---- collecting ---- */

gboolean
sk_barrier_may_sync_whole (SkRoot *root)
{
  SkWriterState *self = sk_writer_state (root);

  return sk_root_abilities (root)->whole_sync && g_get_monotonic_time () >= self->slow_until;
}

/* Syncs what is held so far, so that there is room again. Under the barrier's lock, because a
 * barrier that starts meanwhile has to wait for these as well. */
static void
sync_early (SkRoot *root, SkWriterState *self)
{
  g_autoptr(GMutexLocker) whole = g_mutex_locker_new (&self->barrier);
  g_autoptr(GArray) held = NULL;
  int errnum;

  g_mutex_lock (&self->lock);
  held = g_steal_pointer (&self->held);
  self->held = held_new ();
  g_mutex_unlock (&self->lock);

  errnum = sync_held (root, held);
  if (errnum == 0)
    return;
  g_mutex_lock (&self->lock);
  self->failed = errnum;
  g_mutex_unlock (&self->lock);
}

static gboolean
is_held (SkWriterState *self, const SkHeld *item)
{
  for (guint i = 0; i < self->held->len; i++)
    {
      const SkHeld *other = &g_array_index (self->held, SkHeld, i);

      if (other->dir && other->dev == item->dev && other->ino == item->ino)
        return TRUE;
    }
  return FALSE;
}

/* Takes over item->fd. */
static void
add (SkRoot *root, const SkHeld *item)
{
  SkWriterState *self = sk_writer_state (root);
  gboolean full;

  g_mutex_lock (&self->lock);
  full = self->held->len >= HELD_MAX && !self->more;
  if (full && sk_barrier_may_sync_whole (root))
    {
      g_array_set_size (self->held, 0);
      self->more = TRUE;
      full = FALSE;
    }
  g_mutex_unlock (&self->lock);
  if (full)
    sync_early (root, self);

  g_mutex_lock (&self->lock);
  if (self->more || (item->dir && is_held (self, item)))
    close (item->fd);
  else
    g_array_append_vals (self->held, item, 1);
  g_mutex_unlock (&self->lock);
}

/* A descriptor to wait with. Read-only where that is possible: one for writing would keep a program
 * that was just placed from being run (ETXTBSY) and a disk from being unmounted. */
static int
open_again (int fd)
{
  char path[32];
  int again;

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  again = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  return again >= 0 ? again : fcntl (fd, F_DUPFD_CLOEXEC, 0);
}

static void
add_copy (SkRoot *root, int fd, gboolean dir)
{
  SkWriterState *self = sk_writer_state (root);
  SkHeld item = { .fd = -1, .dir = dir };
  gboolean covered;
  struct stat st;
  int errnum;

  g_mutex_lock (&self->lock);
  covered = self->more;
  g_mutex_unlock (&self->lock);
  if (covered || fstat (fd, &st) != 0)
    return;
  item.dev = st.st_dev;
  item.ino = st.st_ino;
  item.fd = dir ? fcntl (fd, F_DUPFD_CLOEXEC, 0) : open_again (fd);
  if (item.fd >= 0)
    {
      add (root, &item);
      return;
    }
  /* No descriptor left to wait with. */
  errnum = dir ? sk_barrier_sync_dir (root, fd) : sk_barrier_sync_file (root, fd);
  if (errnum == 0)
    return;
  g_mutex_lock (&self->lock);
  self->failed = errnum;
  g_mutex_unlock (&self->lock);
}

void
sk_barrier_add_file (SkRoot *root, int fd)
{
  add_copy (root, fd, FALSE);
}

void
sk_barrier_add_dir (SkRoot *root, int dir)
{
  add_copy (root, dir, TRUE);
}

/* ---- the barrier ---- */

int
sk_barrier_sync_whole (SkRoot *root)
{
  SkWriterState *self = sk_writer_state (root);
  gint64 wall = g_get_real_time ();
  gint64 start = g_get_monotonic_time ();
  int errnum = sync_file_system (root);
  gint64 took = g_get_monotonic_time () - start;

#if SK_TEST_HOOKS
  took += sk_write_hooks.syncfs_takes;
#endif
  g_mutex_lock (&self->lock);
  if (took >= SYNCFS_SLOW_US)
    self->slow_until = g_get_monotonic_time () + SYNCFS_PAUSE_US;
  if (errnum == 0)
    {
      self->whole_wall = wall;
      self->whole_offset = wall - start;
    }
  g_mutex_unlock (&self->lock);
  return errnum;
}

gboolean
sk_root_barrier (SkRoot *root, GError **error)
{
  SkWriterState *self = sk_writer_state (root);
  g_autoptr(GMutexLocker) whole = g_mutex_locker_new (&self->barrier);
  g_autoptr(GArray) held = NULL;
  gboolean more;
  int failed, errnum;

  g_mutex_lock (&self->lock);
  held = g_steal_pointer (&self->held);
  self->held = held_new ();
  more = self->more;
  self->more = FALSE;
  failed = self->failed;
  self->failed = 0;
  g_mutex_unlock (&self->lock);

  errnum = more ? sk_barrier_sync_whole (root) : sync_held (root, held);
  if (failed == 0)
    failed = errnum;
  if (failed != 0)
    return sk_write_fail (error, root, failed, "make changes durable in", sk_root_path (root));
  return TRUE;
}
