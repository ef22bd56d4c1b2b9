/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sk-path.h"

/* Bytes given to the kernel in one call: below PATH_MAX, so that deeper trees are reached in several steps. */
#define HOP_MAX 4000u
/* The kernel says EAGAIN when a rename anywhere raced with the walk. */
#define RACE_RETRIES 32u
#define LOOK_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH)

static const struct { int errnum; SkErrorCode code; const char *reason; } meanings[] = {
  { ENOENT, SK_ERROR_NOT_FOUND, "it is not there" },
  { ENOTDIR, SK_ERROR_CHANGED, "something that is not a folder is in its place" },
  { ELOOP, SK_ERROR_CHANGED, "a symbolic link is in its place" },
  { EISDIR, SK_ERROR_CHANGED, "a folder is in its place" },
  { EXDEV, SK_ERROR_OFFLINE, "something else is mounted there" },
  { EACCES, SK_ERROR_PERMISSION, "permission denied" },
  { EPERM, SK_ERROR_PERMISSION, "this is not permitted" },
  { EROFS, SK_ERROR_PERMISSION, "the file system is read-only" },
  { ENOSPC, SK_ERROR_NO_SPACE, "no space is left" },
  { EDQUOT, SK_ERROR_NO_SPACE, "the quota is used up" },
  { EEXIST, SK_ERROR_EXISTS, "something is there already" },
  { ENOTEMPTY, SK_ERROR_EXISTS, "the folder is not empty" },
  { ENAMETOOLONG, SK_ERROR_LIMIT, "the name is too long for this file system" },
  { EFBIG, SK_ERROR_LIMIT, "it is too large for this file system" },
  { EMFILE, SK_ERROR_BUSY, "too many files are open" },
  { ENFILE, SK_ERROR_BUSY, "too many files are open" },
  { EBUSY, SK_ERROR_BUSY, "it is in use" },
  { ETXTBSY, SK_ERROR_BUSY, "it is in use" },
  { EAGAIN, SK_ERROR_BUSY, "it is in use" },
  { ESTALE, SK_ERROR_OFFLINE, "the server lost it" },
  { ENOTCONN, SK_ERROR_OFFLINE, "the file system is not connected" },
  { EHOSTDOWN, SK_ERROR_OFFLINE, "the server does not answer" },
  { ENODEV, SK_ERROR_OFFLINE, "the device is gone" },
  { ENXIO, SK_ERROR_OFFLINE, "the device is gone" },
  { EOPNOTSUPP, SK_ERROR_UNSUPPORTED, "this file system cannot do that" },
  { ENOSYS, SK_ERROR_UNSUPPORTED, "this system cannot do that" },
};

gboolean
sk_fail_errno (GError **error, int errnum, const char *doing, const char *path)
{
  g_autofree char *shown = sk_path_display (path);
  SkErrorCode code = SK_ERROR_IO;
  const char *reason = g_strerror (errnum);

  for (guint i = 0; i < G_N_ELEMENTS (meanings); i++)
    if (meanings[i].errnum == errnum)
      {
        code = meanings[i].code;
        reason = meanings[i].reason;
      }
  return sk_fail (error, code, "Cannot %s \"%s\": %s", doing, shown[0] != '\0' ? shown : ".", reason);
}

/* ---- looking ---- */

static SkKind
kind_from_mode (guint32 st_mode, gboolean *special)
{
  *special = FALSE;
  switch (st_mode & S_IFMT)
    {
    case S_IFREG:
      return SK_KIND_FILE;
    case S_IFDIR:
      return SK_KIND_DIR;
    case S_IFLNK:
      return SK_KIND_SYMLINK;
    default:
      *special = TRUE;
      return SK_KIND_NONE;
    }
}

static gint64
nanoseconds (gint64 seconds, guint32 nanos)
{
  /* Beyond the years 1678 to 2262 a time does not fit; a file system may hold any. */
  if (seconds > G_MAXINT64 / 1000000000 - 1 || seconds < G_MININT64 / 1000000000 + 1)
    return seconds > 0 ? G_MAXINT64 : G_MININT64;
  return seconds * 1000000000 + (gint64) nanos;
}

/* @parent: descriptor of the directory above, -1 for a root. */
static gboolean
is_mount_root (int parent, const struct statx *stx)
{
  struct stat st;

  if (stx->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
    return (stx->stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  /* Before Linux 5.8: another device number than the directory's. */
  return parent >= 0 && fstat (parent, &st) == 0
         && st.st_dev != makedev (stx->stx_dev_major, stx->stx_dev_minor);
}

/* Where a filter refuses statx: all but the birth time and mounts of the same device. */
static gboolean
look_plainly (int dirfd, const char *name, struct statx *stx)
{
  struct stat st;

  if (fstatat (dirfd, name, &st, LOOK_FLAGS) != 0)
    return FALSE;
  *stx = (struct statx) {
    .stx_mask = STATX_BASIC_STATS,
    .stx_nlink = (guint32) st.st_nlink,
    .stx_mode = (guint16) st.st_mode,
    .stx_ino = st.st_ino,
    .stx_size = (guint64) st.st_size,
    .stx_mtime = { .tv_sec = st.st_mtim.tv_sec, .tv_nsec = (guint32) st.st_mtim.tv_nsec },
    .stx_ctime = { .tv_sec = st.st_ctim.tv_sec, .tv_nsec = (guint32) st.st_ctim.tv_nsec },
    .stx_dev_major = major (st.st_dev),
    .stx_dev_minor = minor (st.st_dev),
  };
  return TRUE;
}

static gboolean
look (int dirfd, const char *name, struct statx *stx)
{
  if (statx (dirfd, name, LOOK_FLAGS, STATX_BASIC_STATS | STATX_BTIME, stx) == 0)
    return TRUE;
  return (errno == EPERM || errno == ENOSYS) && look_plainly (dirfd, name, stx);
}

gboolean
sk_stat_at (int dirfd, const char *name, SkStat *out)
{
  struct statx stx;

  if (!look (dirfd, name, &stx))
    return FALSE;
  *out = (SkStat) {
    .kind = SK_KIND_NONE,
    .size = stx.stx_size,
    .mode = stx.stx_mode & 07777,
    .mtime = nanoseconds (stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec),
    .ctime = nanoseconds (stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec),
    .ino = stx.stx_ino,
    .dev = makedev (stx.stx_dev_major, stx.stx_dev_minor),
    .mount_root = is_mount_root (name[0] == '\0' ? -1 : dirfd, &stx),
    .nlink = stx.stx_nlink,
  };
  if (stx.stx_mask & STATX_BTIME)
    out->btime = nanoseconds (stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec);
  out->kind = kind_from_mode (stx.stx_mode, &out->special);
  return TRUE;
}

/* ---- opening ---- */

static int
call_openat2 (int dirfd, const char *path, int oflags, guint64 resolve)
{
  struct open_how how = { .flags = (guint64) oflags, .resolve = resolve };

  return (int) syscall (SYS_openat2, dirfd, path, &how, sizeof how);
}

gboolean
sk_beneath_has_openat2 (int dirfd)
{
  int fd = call_openat2 (dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC,
                         RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

  if (fd < 0)
    return FALSE;
  close (fd);
  return TRUE;
}

static gboolean
components_are_plain (const char *path)
{
  const char *p = path;

  for (;;)
    {
      gsize n = strcspn (p, "/");

      if (n == 0 || n > SK_NAME_MAX || (n == 1 && p[0] == '.')
          || (n == 2 && p[0] == '.' && p[1] == '.'))
        return FALSE;
      if (p[n] == '\0')
        return TRUE;
      p += n + 1;
    }
}

static void
close_keeping_errno (int fd)
{
  int saved = errno;

  close (fd);
  errno = saved;
}

/* 0, or the errno for what must not be entered. O_PATH opens a link itself instead of refusing it. */
static int
objection (int parent, int fd, SkBeneathFlags flags)
{
  struct statx stx;

  if (!look (fd, "", &stx))
    return errno;
  if (S_ISLNK (stx.stx_mode))
    return ELOOP;
  return !(flags & SK_BENEATH_MOUNTS) && is_mount_root (parent, &stx) ? EXDEV : 0;
}

/* One component, by hand. */
static int
step (int dirfd, const char *name, int oflags, SkBeneathFlags flags)
{
  int fd = openat (dirfd, name, oflags | O_NOFOLLOW | O_CLOEXEC);
  SkStat stat;
  int no;

  if (fd < 0)
    {
      /* With O_DIRECTORY a link is called "not a directory". */
      if (errno == ENOTDIR)
        errno = sk_stat_at (dirfd, name, &stat) && stat.kind == SK_KIND_SYMLINK ? ELOOP : ENOTDIR;
      return -1;
    }
  no = objection (dirfd, fd, flags);
  if (no == 0)
    return fd;
  close (fd);
  errno = no;
  return -1;
}

static int
open_by_walking (int dirfd, const char *path, int oflags, SkBeneathFlags flags)
{
  char name[SK_NAME_MAX + 1];
  const char *p = path;
  int at = dirfd;

  for (;;)
    {
      gsize n = strcspn (p, "/");
      gboolean last = p[n] == '\0';
      int next;

      memcpy (name, p, n);
      name[n] = '\0';
      next = step (at, name, last ? oflags : O_PATH | O_DIRECTORY, flags);
      if (at != dirfd)
        close_keeping_errno (at);
      if (next < 0 || last)
        return next;
      at = next;
      p += n + 1;
    }
}

static int
hop (int dirfd, const char *path, int oflags, SkBeneathFlags flags)
{
  guint64 resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int fd = -1;

  /* Without O_NOFOLLOW: with it a link at the end would be called "not a directory", or opened by O_PATH. */
  oflags &= ~O_NOFOLLOW;
  if (!(flags & SK_BENEATH_MOUNTS))
    resolve |= RESOLVE_NO_XDEV;
  for (guint i = 0; i < RACE_RETRIES; i++)
    {
      fd = call_openat2 (dirfd, path, oflags | O_CLOEXEC, resolve);
      if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
        break;
    }
  return fd;
}

static int
open_by_hops (int dirfd, const char *path, int oflags, SkBeneathFlags flags)
{
  const char *p = path;
  gsize left = strlen (path);
  int at = dirfd, fd;

  while (left > HOP_MAX)
    {
      g_autofree char *part = NULL;
      gsize n = HOP_MAX;
      int next;

      while (p[n] != '/')    /* a component is at most SK_NAME_MAX bytes */
        n--;
      part = g_strndup (p, n);
      next = hop (at, part, O_PATH | O_DIRECTORY, flags);
      if (at != dirfd)
        close_keeping_errno (at);
      if (next < 0)
        return -1;
      at = next;
      p += n + 1;
      left -= n + 1;
    }

  fd = hop (at, p, oflags, flags);
  if (at != dirfd)
    close_keeping_errno (at);
  return fd;
}

int
sk_beneath_open (int dirfd, const char *path, int oflags, SkBeneathFlags flags)
{
  if (path[0] == '\0')
    return openat (dirfd, ".", oflags | O_CLOEXEC);
  if (!components_are_plain (path))
    {
      errno = EINVAL;
      return -1;
    }
  if (flags & SK_BENEATH_WALK)
    return open_by_walking (dirfd, path, oflags, flags);
  return open_by_hops (dirfd, path, oflags, flags);
}
