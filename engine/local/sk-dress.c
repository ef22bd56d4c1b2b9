/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file gets beside its content: mode, time and extended attributes. */
#include "sk-write-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-xattr.h"

#define NANOS G_GINT64_CONSTANT (1000000000)
#define PROC_FD_SIZE 40u

static int
open_to_keep (const SkSpot *spot)
{
#if SK_TEST_HOOKS
  if (sk_write_hooks.kept_errnum != 0)
    {
      errno = sk_write_hooks.kept_errnum;
      return -1;
    }
#endif
  return openat (spot->dir, spot->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

void
sk_dress_times (gint64 mtime, struct timespec times[2])
{
  gint64 seconds = mtime / NANOS, rest = mtime % NANOS;

  times[0] = (struct timespec) { .tv_nsec = UTIME_OMIT };
  times[1] = (struct timespec) { .tv_sec = rest < 0 ? seconds - 1 : seconds,
                                .tv_nsec = rest < 0 ? rest + NANOS : rest };
}

static void
write_xattrs (SkRoot *root, int fd, const SkMeta *meta)
{
  int errnum = 0;

  if (meta->xattrs != NULL)
    errnum = sk_root_abilities (root)->xattr ? sk_xattr_write (fd, meta->xattrs) : EOPNOTSUPP;
  if (meta->left_out != NULL)
    *meta->left_out = errnum;
}

int
sk_dress (SkRoot *root, int fd, const SkMeta *meta)
{
  struct timespec times[2];

  write_xattrs (root, fd, meta);
  if (fchmod (fd, meta->mode & 07777) != 0 && sk_root_abilities (root)->modes)
    return errno;
  sk_dress_times (meta->mtime, times);
  return futimens (fd, times) == 0 ? 0 : errno;
}

/* Extended attributes of the file behind @path, which may forbid its owner to write. Returns 0 or
 * an errno. */
static int
write_xattrs_in_place (SkRoot *root, const char *path, guint32 mode, const SkMeta *meta)
{
  g_auto(SkFd) file = { -1 };
  int errnum = 0;

  if ((mode & 0600) != 0600 && chmod (path, mode | 0600) != 0)
    return errno;
  file.fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file.fd < 0)
    errnum = errno;
  else
    write_xattrs (root, file.fd, meta);
  if ((mode & 0600) != 0600 && chmod (path, mode) != 0 && errnum == 0)
    errnum = errno;
  return errnum;
}

static gboolean
is_untouched (const SkStat *before, const SkStat *now)
{
  if (before->kind == SK_KIND_FILE && (before->size != now->size || before->mtime != now->mtime))
    return FALSE;
  return before->kind == now->kind && before->ino == now->ino;
}

/* Through a mere path descriptor, so that it works on a file that may not be read, and on nothing
 * but this inode. */
int
sk_dress_in_place (SkRoot *root, const SkSpot *spot, const SkStat *now, const SkMeta *meta)
{
  g_auto(SkFd) handle = { openat (spot->dir, spot->name, O_PATH | O_NOFOLLOW | O_CLOEXEC) };
  char path[PROC_FD_SIZE];
  struct timespec times[2];
  SkStat late;
  int errnum = 0;

  if (handle.fd < 0)
    return errno == ENOENT ? ESTALE : errno;
  if (!sk_stat_at (handle.fd, "", &late) || !is_untouched (now, &late))
    return ESTALE;
  sk_dress_times (meta->mtime, times);
  if (now->kind == SK_KIND_SYMLINK)
    return utimensat (spot->dir, spot->name, times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", handle.fd);
  if (now->kind == SK_KIND_FILE && meta->xattrs != NULL)
    errnum = write_xattrs_in_place (root, path, now->mode, meta);
  if (errnum != 0)
    return errnum;
  if ((meta->mode & 07777) != now->mode && chmod (path, meta->mode & 07777) != 0
      && sk_root_abilities (root)->modes)
    return errno;
  if (now->kind != SK_KIND_FILE || meta->mtime == now->mtime)
    return 0;
  /* The mtime is what shows an edit: it is set only over the one that was expected. */
  if (!sk_stat_at (handle.fd, "", &late) || !is_untouched (now, &late))
    return ESTALE;
  return utimensat (AT_FDCWD, path, times, 0) == 0 ? 0 : errno;
}

/* A file that nobody may read has none, and what is not there any more is nobody's. */
static gboolean
has_no_descriptor (int errnum)
{
  return errnum == EACCES || errnum == EPERM || errnum == ENOENT || errnum == ELOOP || errnum == ENXIO;
}

int
sk_dress_remember (SkRoot *root, const SkSpot *spot, const SkStat *now)
{
  g_auto(SkFd) file = { -1 };

  if (now->kind == SK_KIND_SYMLINK)
    return 0;
  file.fd = open_to_keep (spot);
  if (file.fd < 0)
    return has_no_descriptor (errno) ? 0 : errno;
  if (now->kind == SK_KIND_FILE)
    sk_barrier_add_file (root, file.fd);
  else
    sk_barrier_add_dir (root, file.fd);
  return 0;
}
