/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-root-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Never filled by this engine: a full disk stops more than a sync. */
#define RESERVE_MAX (G_GINT64_CONSTANT (1) << 30)

gboolean
sk_stat_same (const SkStat *a, const SkStat *b)
{
  return a->kind == b->kind && a->ino == b->ino && a->size == b->size && a->mtime == b->mtime
         && a->ctime == b->ctime;
}

/* ---- life ---- */

void
sk_root_read_numbers (int fd, SkRootNumbers *out)
{
  struct stat st;
  struct statfs fs;
  gint64 type;

  *out = (SkRootNumbers) { 0 };
  if (fstat (fd, &st) != 0 || fstatfs (fd, &fs) != 0)
    return;
  out->dev = st.st_dev;
  out->ino = st.st_ino;
  type = fs.f_type;
  G_STATIC_ASSERT (sizeof type + sizeof fs.f_fsid <= sizeof out->fsid.bytes);
  memcpy (out->fsid.bytes, &type, sizeof type);
  memcpy (out->fsid.bytes + sizeof type, &fs.f_fsid, sizeof fs.f_fsid);
}

SkRoot *
sk_root_open (const char *path, GError **error)
{
  g_autoptr(SkRoot) self = g_new0 (SkRoot, 1);
  char *resolved;

  self->refs = 1;
  self->fd = -1;
  g_mutex_init (&self->lock);
  self->given = g_canonicalize_filename (path, NULL);
  resolved = realpath (self->given, NULL);
  if (resolved != NULL)
    {
      self->path = g_strdup (resolved);
      free (resolved);
      self->fd = open (self->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
  if (self->fd < 0)
    {
      sk_fail_errno (error, errno, "open the folder", path);
      return NULL;
    }
  sk_root_read_numbers (self->fd, &self->numbers);
  sk_probe_abilities (self->fd, &self->abilities);
  return g_steal_pointer (&self);
}

SkRoot *
sk_root_ref (SkRoot *self)
{
  g_atomic_int_inc (&self->refs);
  return self;
}

void
sk_root_unref (SkRoot *self)
{
  if (self == NULL || !g_atomic_int_dec_and_test (&self->refs))
    return;
  if (self->free_writer_state != NULL)
    self->free_writer_state (self->writer_state);
  if (self->fd >= 0)
    close (self->fd);
  g_mutex_clear (&self->lock);
  g_free (self->given);
  g_free (self->path);
  g_free (self);
}

int
sk_root_fd (SkRoot *self)
{
  return self->fd;
}

const char *
sk_root_path (SkRoot *self)
{
  return self->path;
}

const SkRootAbilities *
sk_root_abilities (SkRoot *self)
{
  return &self->abilities;
}

void
sk_root_numbers (SkRoot *self, SkRootNumbers *out)
{
  *out = self->numbers;
}

gpointer
sk_root_writer_state (SkRoot *self, gpointer (*make) (void), GDestroyNotify free_state)
{
  g_autoptr(GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  if (self->writer_state == NULL)
    {
      self->writer_state = make ();
      self->free_writer_state = free_state;
    }
  return self->writer_state;
}

#if SK_TEST_HOOKS
SkRootAbilities *
sk_root_test_abilities (SkRoot *self)
{
  return &self->abilities;
}
#endif

/* ---- beneath ---- */

SkBeneathFlags
sk_root_beneath (SkRoot *self)
{
  return self->abilities.openat2 ? 0 : SK_BENEATH_WALK;
}

int
sk_root_openat (SkRoot *self, const char *path, int oflags)
{
  return sk_beneath_open (self->fd, path, oflags, sk_root_beneath (self));
}

/* A directory that may be searched but not listed is good enough to reach its children. */
static int
open_dir_to_reach (SkRoot *self, const char *path)
{
  int fd = sk_root_openat (self, path, O_RDONLY | O_DIRECTORY);

  if (fd < 0 && errno == EACCES)
    fd = sk_root_openat (self, path, O_PATH | O_DIRECTORY);
  return fd;
}

/* -1 with errno. */
static int
open_parent (SkRoot *self, const char *path, const char **name)
{
  const char *slash = strrchr (path, '/');
  g_autofree char *parent = g_strndup (path, slash != NULL ? (gsize) (slash - path) : 0);

  *name = slash != NULL ? slash + 1 : path;
  if ((*name)[0] == '\0' || strcmp (*name, ".") == 0 || strcmp (*name, "..") == 0 || slash == path)
    {
      errno = EINVAL;
      return -1;
    }
  return open_dir_to_reach (self, parent);
}

int
sk_root_open_parent (SkRoot *self, const char *path, const char **name, GError **error)
{
  int fd = open_parent (self, path, name);

  if (fd < 0)
    sk_fail_errno (error, errno, "open the folder of", path);
  return fd;
}

int
sk_root_open_dir (SkRoot *self, const char *path, GError **error)
{
  int fd = sk_root_openat (self, path, O_RDONLY | O_DIRECTORY);

  if (fd < 0)
    sk_fail_errno (error, errno, "open the folder", path);
  return fd;
}

gboolean
sk_root_stat (SkRoot *self, const char *path, SkStat *out, GError **error)
{
  const char *name = "";
  int fd = path[0] == '\0' ? self->fd : open_parent (self, path, &name);
  gboolean found = fd >= 0 && sk_stat_at (fd, name, out);
  int errnum = errno;

  if (fd >= 0 && fd != self->fd)
    close (fd);
  if (found)
    {
      /* That the root itself may be a mount is the marker's business. */
      if (path[0] == '\0')
        out->mount_root = FALSE;
      return TRUE;
    }

  *out = (SkStat) { 0 };
  /* Where a parent is missing or is a file, nothing is there. Everything else is ignorance, not absence. */
  if (path[0] != '\0' && (errnum == ENOENT || errnum == ENOTDIR))
    return TRUE;
  return sk_fail_errno (error, errnum, "look at", path);
}

gint64
sk_root_space (SkRoot *self)
{
  struct statvfs fs;
  gint64 total, available;

  if (fstatvfs (self->fd, &fs) != 0)
    return 0;
  if (fs.f_blocks == 0)
    return G_MAXINT64;           /* it does not count: what a write says is all there is to know */
  total = (gint64) MIN ((guint64) fs.f_blocks, (guint64) (G_MAXINT64 / MAX (fs.f_frsize, 1)))
          * (gint64) fs.f_frsize;
  available = (gint64) MIN ((guint64) fs.f_bavail, (guint64) (G_MAXINT64 / MAX (fs.f_frsize, 1)))
              * (gint64) fs.f_frsize;
  return MAX (0, available - MIN (total / 100, RESERVE_MAX));
}

void
sk_root_look (SkRoot *self, SkRootPlace *out)
{
  g_autofree char *marker = g_build_filename (self->path, SK_OWN_MARKER, NULL);

  *out = (SkRootPlace) { .named.kind = SK_KIND_NONE, .marker.kind = SK_KIND_NONE };
  sk_stat_at (AT_FDCWD, self->given, &out->named);
  sk_stat_at (AT_FDCWD, marker, &out->marker);
}

/* Times of the directory itself say nothing: they change with what lies in it. */
gboolean
sk_root_place_same (const SkRootPlace *a, const SkRootPlace *b)
{
  return a->named.kind == b->named.kind && a->named.dev == b->named.dev && a->named.ino == b->named.ino && sk_stat_same (&a->marker, &b->marker);
}
