/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file system that normalises, as some do: names are kept and listed in decomposed form (Unicode NFD), and found by any form. What it holds lies
 * in another directory, under composed names. "nfd-fs DIRECTORY POINT": mounts, and ends when it is unmounted. */
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *backing;

static char *
composed (const char *path)
{
  char *form = g_utf8_normalize (path, -1, G_NORMALIZE_NFC);

  return form != NULL ? form : g_strdup (path);
}

/* Where it lies. (transfer full) */
static char *
real (const char *path)
{
  g_autofree char *form = composed (path);

  return g_strconcat (backing, form, NULL);
}

static int
result (int rc)
{
  return rc < 0 ? -errno : 0;
}

static void *
on_init (struct fuse_conn_info *connection, struct fuse_config *config)
{
  config->use_ino = 1;
  config->direct_io = 1;
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return NULL;
}

static int
on_getattr (const char *path, struct stat *out, struct fuse_file_info *file)
{
  g_autofree char *to = real (path);

  return result (file != NULL ? fstat ((int) file->fh, out) : lstat (to, out));
}

static int
on_readdir (const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
  g_autofree char *to = real (path);
  DIR *dir = opendir (to);
  struct dirent *entry;

  if (dir == NULL)
    return -errno;
  while ((entry = readdir (dir)) != NULL)
    {
      const struct stat st = { .st_ino = entry->d_ino, .st_mode = (mode_t) entry->d_type << 12 };
      g_autofree char *form = g_utf8_normalize (entry->d_name, -1, G_NORMALIZE_NFD);

      if (fill (buffer, form != NULL ? form : entry->d_name, &st, 0, 0) != 0)
        break;
    }
  closedir (dir);
  return 0;
}

static int
on_readlink (const char *path, char *out, size_t size)
{
  g_autofree char *to = real (path);
  ssize_t n = readlink (to, out, size - 1);

  if (n < 0)
    return -errno;
  out[n] = '\0';
  return 0;
}

static int
on_mkdir (const char *path, mode_t mode)
{
  g_autofree char *to = real (path);

  return result (mkdir (to, mode));
}

static int
on_unlink (const char *path)
{
  g_autofree char *to = real (path);

  return result (unlink (to));
}

static int
on_rmdir (const char *path)
{
  g_autofree char *to = real (path);

  return result (rmdir (to));
}

static int
on_symlink (const char *target, const char *path)
{
  g_autofree char *to = real (path);

  return result (symlink (target, to));
}

static int
on_rename (const char *from, const char *to, unsigned flags)
{
  g_autofree char *a = real (from), *b = real (to);

  return result (renameat2 (AT_FDCWD, a, AT_FDCWD, b, flags));
}

static int
on_chmod (const char *path, mode_t mode, struct fuse_file_info *file)
{
  g_autofree char *to = real (path);

  return result (chmod (to, mode));
}

static int
on_chown (const char *path, uid_t uid, gid_t gid, struct fuse_file_info *file)
{
  g_autofree char *to = real (path);

  return result (lchown (to, uid, gid));
}

static int
on_truncate (const char *path, off_t size, struct fuse_file_info *file)
{
  g_autofree char *to = real (path);

  return result (file != NULL ? ftruncate ((int) file->fh, size) : truncate (to, size));
}

static int
on_utimens (const char *path, const struct timespec times[2], struct fuse_file_info *file)
{
  g_autofree char *to = real (path);

  return result (utimensat (AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW));
}

static int
open_it (const char *path, int flags, mode_t mode, struct fuse_file_info *file)
{
  g_autofree char *to = real (path);
  int fd = open (to, flags, mode);

  if (fd < 0)
    return -errno;
  file->fh = (uint64_t) fd;
  return 0;
}

static int
on_open (const char *path, struct fuse_file_info *file)
{
  return open_it (path, file->flags, 0, file);
}

static int
on_create (const char *path, mode_t mode, struct fuse_file_info *file)
{
  return open_it (path, file->flags | O_CREAT, mode, file);
}

static int
on_read (const char *path, char *out, size_t size, off_t offset, struct fuse_file_info *file)
{
  ssize_t n = pread ((int) file->fh, out, size, offset);

  return n < 0 ? -errno : (int) n;
}

static int
on_write (const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *file)
{
  ssize_t n = pwrite ((int) file->fh, data, size, offset);

  return n < 0 ? -errno : (int) n;
}

static int
on_release (const char *path, struct fuse_file_info *file)
{
  return result (close ((int) file->fh));
}

static int
on_fsync (const char *path, int data, struct fuse_file_info *file)
{
  return result (fsync ((int) file->fh));
}

static int
on_fsyncdir (const char *path, int data, struct fuse_file_info *file)
{
  return 0;
}

static int
on_statfs (const char *path, struct statvfs *out)
{
  return result (statvfs (backing, out));
}

int
main (int argc, char **argv)
{
  static const struct fuse_operations operations = {
    .init = on_init, .getattr = on_getattr, .readdir = on_readdir, .readlink = on_readlink, .mkdir = on_mkdir, .unlink = on_unlink, .rmdir = on_rmdir,
    .symlink = on_symlink, .rename = on_rename, .chmod = on_chmod, .chown = on_chown, .truncate = on_truncate, .utimens = on_utimens, .open = on_open,
    .create = on_create, .read = on_read, .write = on_write, .release = on_release, .fsync = on_fsync, .fsyncdir = on_fsyncdir, .statfs = on_statfs,
  };
  char foreground[] = "-f", option[] = "-o", options[] = "auto_unmount,default_permissions";
  char *arguments[] = { argv[0], foreground, option, options, argc == 3 ? argv[2] : NULL, NULL };

  if (argc != 3)
    {
      fprintf (stderr, "nfd-fs DIRECTORY POINT\n");
      return 2;
    }
  umask (0);
  backing = argv[1];
  return fuse_main (5, arguments, &operations, NULL);
}
