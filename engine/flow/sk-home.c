/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#define LOCK_NAME "lock"
#define MACHINE_ID_MAX 64

struct _SkHome
{
  char *path;
  int dir;
  int lock;
};

static gboolean
fail_errno (GError **error, int saved, const char *what, const char *name)
{
  SkErrorCode code;

  switch (saved)
    {
    case ENOENT:
      code = SK_ERROR_NOT_FOUND;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = SK_ERROR_PERMISSION;
      break;
    case ENOSPC:
    case EDQUOT:
      code = SK_ERROR_NO_SPACE;
      break;
    default:
      code = SK_ERROR_IO;
    }
  return sk_fail (error, code, "Cannot %s “%s”: %s", what, name, g_strerror (saved));
}

/* --- opening and the lock --- */

/* A home is recognised by its lock file, or by what is in it where somebody removed the lock for a
 * stale one; anything else must be empty, so that "--home ~" does not take over a person's tree. */
static gboolean
check_contents (int dir, const char *path, GError **error)
{
  DIR *stream;
  int copy;
  gboolean foreign = FALSE;

  if (faccessat (dir, LOCK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0
      || faccessat (dir, SK_HOME_CONFIG_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return TRUE;
  copy = openat (dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0 || (stream = fdopendir (copy)) == NULL)
    {
      int saved = errno;

      if (copy >= 0)
        close (copy);
      return fail_errno (error, saved, "read the directory", path);
    }
  for (struct dirent *entry = readdir (stream); entry != NULL && !foreign; entry = readdir (stream))
    foreign = strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0;
  closedir (stream);
  if (foreign)
    return sk_fail (error, SK_ERROR_EXISTS,
                    "“%s” is not empty and not a home of Skerry; name an empty or a new directory",
                    path);
  return TRUE;
}

static gboolean
check_owner (int dir, const char *path, GError **error)
{
  struct stat st;

  if (fstat (dir, &st) != 0)
    return fail_errno (error, errno, "look at", path);
  if (st.st_uid != geteuid ())
    return sk_fail (error, SK_ERROR_PERMISSION,
                    "“%s” belongs to another user (%u); the home must be your own", path,
                    (guint) st.st_uid);
  if (!check_contents (dir, path, error))
    return FALSE;
  if ((st.st_mode & 077) != 0 && fchmod (dir, 0700) != 0)
    return fail_errno (error, errno, "close to other users", path);
  return TRUE;
}

static gboolean
fail_busy (int lock, const char *path, GError **error)
{
  char text[24] = { 0 };
  gssize n = pread (lock, text, sizeof text - 1, 0);
  gint64 pid = n > 0 ? g_ascii_strtoll (text, NULL, 10) : 0;

  if (pid <= 0)
    return sk_fail (error, SK_ERROR_BUSY, "Another Skerry has the home “%s” open", path);
  return sk_fail (error, SK_ERROR_BUSY,
                  "Another Skerry (process %" G_GINT64_FORMAT ") has the home “%s” open", pid,
                  path);
}

/* flock, not fcntl: it also holds between two opens in one process. */
static gboolean
take_lock (SkHome *self, GError **error)
{
  g_autofree char *text = g_strdup_printf ("%ld\n", (long) getpid ());
  int result;

  self->lock = openat (self->dir, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (self->lock < 0)
    return fail_errno (error, errno, "open the lock of", self->path);
  do
    result = flock (self->lock, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EWOULDBLOCK)
    return fail_busy (self->lock, self->path, error);
  if (result != 0)
    return sk_fail (error, SK_ERROR_UNSUPPORTED,
                    "The file system of “%s” cannot lock files (%s); put the home on a local disk",
                    self->path, g_strerror (errno));
  if (ftruncate (self->lock, 0) != 0
      || pwrite (self->lock, text, strlen (text), 0) != (gssize) strlen (text))
    return fail_errno (error, errno, "write the lock of", self->path);
  return TRUE;
}

SkHome *
sk_home_open (const char *path, GError **error)
{
  g_autoptr(SkHome) self = g_new0 (SkHome, 1);
  char *resolved;

  self->dir = -1;
  self->lock = -1;
  if (path == NULL || *path == '\0')
    {
      sk_fail (error, SK_ERROR_USAGE, "The name of the home is empty");
      return NULL;
    }
  if (g_mkdir_with_parents (path, 0700) != 0)
    {
      fail_errno (error, errno, "create the home", path);
      return NULL;
    }
  resolved = realpath (path, NULL);
  if (resolved == NULL)
    {
      fail_errno (error, errno, "open the home", path);
      return NULL;
    }
  self->path = g_strdup (resolved);
  free (resolved);
  self->dir = open (self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (self->dir < 0)
    {
      fail_errno (error, errno, "open the home", self->path);
      return NULL;
    }
  if (!check_owner (self->dir, self->path, error) || !take_lock (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
sk_home_close (SkHome *self)
{
  if (self == NULL)
    return;
  /* The lock file stays: to unlink it would let a third process lock a file that a second one
   * waits for. */
  if (self->lock >= 0)
    close (self->lock);
  if (self->dir >= 0)
    close (self->dir);
  g_free (self->path);
  g_free (self);
}

const char *
sk_home_path (SkHome *self)
{
  return self->path;
}

char *
sk_home_file (SkHome *self, const char *name)
{
  return g_build_filename (self->path, name, NULL);
}

/* --- identity --- */

static gsize
read_machine_id (char out[MACHINE_ID_MAX])
{
  static const char *const places[] = { "/etc/machine-id", "/var/lib/dbus/machine-id" };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      int fd = open (places[i], O_RDONLY | O_CLOEXEC);
      gssize n;

      if (fd < 0)
        continue;
      n = read (fd, out, MACHINE_ID_MAX);
      close (fd);
      if (n > 0)
        return (gsize) n;
    }
  return 0;
}

void
sk_home_identity (SkHome *self, const char *database, SkHash *out)
{
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GBytes) bytes = NULL;
  char machine[MACHINE_ID_MAX];
  gsize machine_len = read_machine_id (machine);
  struct statx st = { 0 };

  if (statx (self->dir, database, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) != 0)
    memset (&st, 0, sizeof st);
  sk_writer_init (&writer);
  sk_writer_string (&writer, "home identity 1");
  sk_writer_blob (&writer, machine, machine_len);
  sk_writer_u64 (&writer, st.stx_ino);
  /* Without a birth time the inode has to do. The device number is no evidence: it changes at
   * boot. */
  if ((st.stx_mask & STATX_BTIME) != 0)
    {
      sk_writer_u64 (&writer, (guint64) st.stx_btime.tv_sec);
      sk_writer_u32 (&writer, st.stx_btime.tv_nsec);
    }
  bytes = sk_writer_finish (&writer);
  sk_blake2b (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), out);
}

/* --- small files --- */

static gboolean
write_all (int fd, const guint8 *data, gsize len)
{
  while (len > 0)
    {
      gssize n = write (fd, data, len);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      data += n;
      len -= (gsize) n;
    }
  return TRUE;
}

gboolean
sk_home_write_file (SkHome *self, const char *name, gconstpointer data, gsize len, GError **error)
{
  g_autofree char *temp = g_strconcat (name, ".new", NULL);
  gboolean done;
  int saved;
  int fd;

  /* A left-over of a crash; only this process, which holds the lock, writes here. */
  unlinkat (self->dir, temp, 0);
  fd = openat (self->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return fail_errno (error, errno, "write in the home the file", name);
  done = write_all (fd, data, len) && fsync (fd) == 0;
  saved = errno;
  if (close (fd) != 0 && done)
    {
      done = FALSE;
      saved = errno;
    }
  if (done && renameat (self->dir, temp, self->dir, name) != 0)
    {
      done = FALSE;
      saved = errno;
    }
  if (!done)
    {
      unlinkat (self->dir, temp, 0);
      return fail_errno (error, saved, "write in the home the file", name);
    }
  if (fsync (self->dir) != 0)
    return fail_errno (error, errno, "make durable in the home the file", name);
  return TRUE;
}

static GBytes *
read_open_file (int fd, const char *name, gsize max, GError **error)
{
  struct stat st;
  guint8 *buffer;
  gsize len = 0;
  gssize n;

  if (fstat (fd, &st) != 0 || !S_ISREG (st.st_mode))
    {
      sk_fail (error, SK_ERROR_CORRUPT, "“%s” in the home is not an ordinary file", name);
      return NULL;
    }
  if ((guint64) st.st_size > max)
    {
      sk_fail (error, SK_ERROR_LIMIT,
               "“%s” in the home is larger than it can be (%" G_GUINT64_FORMAT " bytes)", name,
               (guint64) st.st_size);
      return NULL;
    }
  if ((st.st_mode & 077) != 0)
    fchmod (fd, 0600);
  buffer = sk_secret_alloc ((gsize) st.st_size + 1);
  while ((n = read (fd, buffer + len, (gsize) st.st_size + 1 - len)) != 0)
    {
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 || len + (gsize) n > (gsize) st.st_size)
        {
          int saved = n < 0 ? errno : EIO;

          g_bytes_unref (sk_secret_take (buffer, 0));
          fail_errno (error, saved, "read in the home the file", name);
          return NULL;
        }
      len += (gsize) n;
    }
  return sk_secret_take (buffer, len);
}

GBytes *
sk_home_read_file (SkHome *self, const char *name, gsize max, GError **error)
{
  int fd = openat (self->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  GBytes *bytes;

  if (fd < 0)
    {
      fail_errno (error, errno, "open in the home the file", name);
      return NULL;
    }
  bytes = read_open_file (fd, name, max, error);
  close (fd);
  return bytes;
}

gboolean
sk_home_has_file (SkHome *self, const char *name)
{
  return faccessat (self->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

gboolean
sk_home_remove_file (SkHome *self, const char *name, GError **error)
{
  if (unlinkat (self->dir, name, 0) != 0 && errno != ENOENT)
    return fail_errno (error, errno, "remove in the home the file", name);
  if (fsync (self->dir) != 0)
    return fail_errno (error, errno, "make durable the removal of", name);
  return TRUE;
}
