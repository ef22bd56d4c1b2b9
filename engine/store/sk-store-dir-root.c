/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding the storage's directory, and reading in it. */
#include "sk-store-dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sk-limits.h"
#include "sk-memory.h"

#define LOOK_MAX 1000u        /* names that are looked at for a message */
#define READ_SLICE (4u << 20) /* bytes between two looks at the cancellable */

static SkErrorCode
sk_store_dir_code (int code)
{
  switch (code)
    {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return SK_ERROR_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
      return SK_ERROR_PERMISSION;
    case ENODEV:
    case ENXIO:
    case ESTALE:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ECONNABORTED:
    case ECONNREFUSED:
    case ECONNRESET:
    case ESHUTDOWN:
    case EREMOTEIO:
      return SK_ERROR_OFFLINE;
    default:
      return SK_ERROR_IO;
    }
}

static const char *
sk_store_dir_advice (SkErrorCode code)
{
  switch (code)
    {
    case SK_ERROR_NO_SPACE:
      return "free some space there or add another storage";
    case SK_ERROR_PERMISSION:
      return "check who owns the directory and whether the disk is mounted for writing";
    case SK_ERROR_OFFLINE:
      return "connect the disk or the network share again";
    default:
      return "check the disk";
    }
}

gboolean
sk_store_dir_fail (SkStoreDir *self, int code, const char *what, const char *name, GError **error)
{
  SkErrorCode kind = sk_store_dir_code (code);

  return sk_fail (error, kind, "Storage “%s”: cannot %s “%s”: %s; %s",
                  sk_store_place (SK_STORE (self)), what, name, g_strerror (code),
                  sk_store_dir_advice (kind));
}

/* One directory after the other, through no link. Names have no "..": the front checked them. */
static int
open_by_walking (int root, const char *name, int flags)
{
  const char *slash;
  int at = root, fd;

  while ((slash = strchr (name, '/')) != NULL)
    {
      g_autofree char *part = g_strndup (name, (gsize) (slash - name));
      int next = openat (at, part, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      int failed = errno;

      if (at != root)
        close (at);
      if (next < 0)
        {
          errno = failed;
          return -1;
        }
      at = next;
      name = slash + 1;
    }
  fd = openat (at, name, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (at != root)
    {
      int failed = errno;

      close (at);
      errno = failed;
    }
  return fd;
}

#if SK_TEST_HOOKS
gboolean sk_store_dir_test_walk;
#else
#define sk_store_dir_test_walk FALSE
#endif

int
sk_store_dir_open_beneath (int root, const char *name, int flags)
{
  static gint no_openat2; /* atomic: an old kernel, or a sandbox that refuses the call */
  struct open_how how = { .flags = (guint64) (flags | O_CLOEXEC | O_NOFOLLOW) };

  if (!g_atomic_int_get (&no_openat2) && !sk_store_dir_test_walk)
    {
      int fd;

      how.mode = (flags & O_CREAT) != 0 ? 0666 : 0;
      how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
      fd = (int) syscall (SYS_openat2, root, name, &how, sizeof how);
      if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
      /* EPERM can also be the object's own; then the other way says the same. */
      if (errno == ENOSYS)
        g_atomic_int_set (&no_openat2, TRUE);
    }
  return open_by_walking (root, name, flags);
}

/* --- what is there instead --- */

typedef struct
{
  gboolean readable;
  guint n_other;   /* names that no new or repaired file system has by itself */
  guint n_vaults;  /* directories with the marker of a storage */
} SkDirLook;

static gboolean
sk_store_dir_is_own_name (const char *name)
{
  static const char *const names[]
      = { ".", "..", "lost+found", "System Volume Information", "$RECYCLE.BIN", SK_STORE_TEMP };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (name, names[i]) == 0)
      return TRUE;
  return g_str_has_prefix (name, ".Trash");
}

static gboolean
sk_store_dir_is_vault (int dir, const char *name)
{
  g_autofree char *marker = g_build_filename (name, SK_STORE_MARKER, NULL);
  SkId id;

  return strlen (name) == SK_ID_HEX_SIZE - 1 && sk_id_parse (name, &id, NULL)
         && faccessat (dir, marker, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* For people only: nothing is decided on it. */
static void
sk_store_dir_look_around (const char *path, SkDirLook *out)
{
  DIR *dir = opendir (path);
  struct dirent *entry;

  *out = (SkDirLook) { .readable = dir != NULL };
  if (dir == NULL)
    return;
  while ((entry = readdir (dir)) != NULL && out->n_other < LOOK_MAX)
    if (!sk_store_dir_is_own_name (entry->d_name))
      {
        out->n_other++;
        out->n_vaults += sk_store_dir_is_vault (dirfd (dir), entry->d_name);
      }
  closedir (dir);
}

static gboolean
sk_store_dir_fail_empty (SkStoreDir *self, GError **error)
{
  return sk_fail (error, SK_ERROR_OFFLINE,
                  "Storage “%s” is empty: its disk is probably not mounted, or somebody emptied "
                  "it. Mount the disk or the network share; if what was there is lost, remove the "
                  "storage and add it again",
                  sk_store_place (SK_STORE (self)));
}

/* The vault's directory is not there, by @code. */
static gboolean
sk_store_dir_fail_absent (SkStoreDir *self, int code, GError **error)
{
  SkDirLook look = { .readable = FALSE };

  if (code == ENOENT && sk_store_vault (SK_STORE (self)) != NULL)
    sk_store_dir_look_around (self->location, &look);
  if (!look.readable)
    return sk_fail (error, SK_ERROR_OFFLINE,
                    "Storage “%s” is not there (%s); connect the disk or the network share, or "
                    "correct the address",
                    sk_store_place (SK_STORE (self)), g_strerror (code));
  if (look.n_other == 0)
    return sk_store_dir_fail_empty (self, error);
  if (look.n_vaults > 0)
    return sk_fail (error, SK_ERROR_OFFLINE,
                    "“%s” holds the storage of another vault, and nothing of this one; connect "
                    "the right disk or correct the address",
                    sk_store_place (SK_STORE (self)));
  return sk_fail (error, SK_ERROR_OFFLINE,
                  "“%s” is there, but holds other files and nothing of this vault; connect the "
                  "right disk or correct the address",
                  sk_store_place (SK_STORE (self)));
}

/* --- the marker --- */

static gboolean
sk_store_dir_no_marker (SkStoreDir *self, GError **error)
{
  SkDirLook look;

  sk_store_dir_look_around (self->path, &look);
  if (look.readable && look.n_other == 0)
    return sk_store_dir_fail_empty (self, error);
  return sk_fail (error, SK_ERROR_OFFLINE,
                  "“%s” is not the storage: its " SK_STORE_MARKER
                  " is missing; connect the disk or the network share, or correct the address",
                  sk_store_place (SK_STORE (self)));
}

/* *@present FALSE: there is no such file. FALSE and @error: it is there, or may be, and is not
 * right. */
static gboolean
sk_store_dir_read_marker (SkStoreDir *self, int root, gboolean *present, GError **error)
{
  g_autoptr(GError) reason = NULL;
  g_autoptr(GBytes) data = NULL;
  int fd = sk_store_dir_open_beneath (root, SK_STORE_MARKER, O_RDONLY | O_NONBLOCK);

  *present = fd >= 0 || errno != ENOENT;
  if (!*present)
    return TRUE;
  if (fd < 0)
    return sk_store_dir_fail (self, errno, "read", SK_STORE_MARKER, error);

  data = sk_store_dir_read (self, fd, SK_STORE_MARKER, 0, G_MAXUINT64, SK_SMALL_OBJECT_MAX, NULL,
                            &reason);
  close (fd);
  if (data == NULL)
    return sk_fail (error, reason->code == SK_ERROR_IO ? SK_ERROR_IO : SK_ERROR_OFFLINE, "%s",
                    reason->message);
  return sk_store_accept_marker (SK_STORE (self), data, error);
}

gboolean
sk_store_dir_confirm (SkStoreDir *self, int root, GError **error)
{
  gboolean present;
  gboolean unmarked;

  if (sk_store_vault (SK_STORE (self)) == NULL)
    return TRUE;

  g_mutex_lock (&self->lock);
  unmarked = self->unmarked;
  g_mutex_unlock (&self->lock);

  if (!sk_store_dir_read_marker (self, root, &present, error))
    return FALSE;
  if (present && unmarked)
    sk_store_dir_marked (self);
  return present || unmarked || sk_store_dir_no_marker (self, error);
}

void
sk_store_dir_marked (SkStoreDir *self)
{
  g_mutex_lock (&self->lock);
  self->unmarked = FALSE;
  g_mutex_unlock (&self->lock);
}

/* --- the directory --- */

gboolean
sk_store_dir_identify (int fd, SkDirIdentity *out)
{
  struct stat info;

  if (fstat (fd, &info) != 0)
    return FALSE;
  out->dev = info.st_dev;
  out->ino = info.st_ino;
  return TRUE;
}

static void
sk_store_dir_set_pin (SkStoreDir *self, const SkDirIdentity *identity, gboolean unmarked)
{
  g_mutex_lock (&self->lock);
  self->pin = *identity;
  self->pinned = TRUE;
  self->unmarked = unmarked;
  g_mutex_unlock (&self->lock);
}

static gboolean
sk_store_dir_is_pinned (SkStoreDir *self, const SkDirIdentity *identity)
{
  gboolean same;

  g_mutex_lock (&self->lock);
  same = self->pinned && self->pin.dev == identity->dev && self->pin.ino == identity->ino;
  g_mutex_unlock (&self->lock);
  return same;
}

static gboolean
sk_store_dir_look (SkStoreDir *self, int root, GError **error)
{
  SkDirIdentity identity;
  gboolean present;

  if (!sk_store_dir_identify (root, &identity))
    return sk_store_dir_fail (self, errno, "look at", self->path, error);
  if (sk_store_vault (SK_STORE (self)) == NULL || sk_store_dir_is_pinned (self, &identity))
    return TRUE;

  if (!sk_store_dir_read_marker (self, root, &present, error))
    return FALSE;
  if (!present)
    return sk_store_dir_no_marker (self, error);
  sk_store_dir_set_pin (self, &identity, FALSE);
  sk_store_dir_sweep (root);
  return TRUE;
}

int
sk_store_dir_open (SkStoreDir *self, GError **error)
{
  /* The path up to here is the person's and may have links in it. */
  int root = open (self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (root < 0)
    {
      int code = errno;

      if (sk_store_dir_code (code) == SK_ERROR_PERMISSION)
        sk_store_dir_fail (self, code, "open", self->path, error);
      else
        sk_store_dir_fail_absent (self, code, error);
      return -1;
    }
  if (!sk_store_dir_look (self, root, error))
    {
      close (root);
      return -1;
    }
  return root;
}

static gboolean
sk_store_dir_make (SkStoreDir *self, const char *path, GError **error)
{
  if (mkdir (path, 0777) == 0 || errno == EEXIST)
    return TRUE;
  if (errno == ENOENT)
    return sk_fail (error, SK_ERROR_OFFLINE,
                    "Storage “%s” cannot be set up: the directory above it does not exist; connect "
                    "the disk or make "
                    "the directory first",
                    sk_store_place (SK_STORE (self)));
  return sk_store_dir_fail (self, errno, "make the directory", path, error);
}

static gboolean
sk_store_dir_prepare_root (SkStoreDir *self, int root, GError **error)
{
  SkDirIdentity identity;
  gboolean present;

  if (!sk_store_dir_read_marker (self, root, &present, error))
    return FALSE;
  if (present)
    return sk_fail (error, SK_ERROR_EXISTS, "“%s” is a storage of this vault already",
                    sk_store_place (SK_STORE (self)));
  if (mkdirat (root, SK_STORE_TEMP, 0777) != 0 && errno != EEXIST)
    return sk_store_dir_fail (self, errno, "make the directory", SK_STORE_TEMP, error);
  if (!sk_store_dir_identify (root, &identity))
    return sk_store_dir_fail (self, errno, "look at", self->path, error);
  sk_store_dir_set_pin (self, &identity, TRUE);
  return TRUE;
}

/* Makes the entry of the vault's directory durable; the rest follows with the first put. */
static void
sk_store_dir_sync_location (SkStoreDir *self)
{
  int fd = open (self->location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0)
    return;
  fsync (fd);
  close (fd);
}

gboolean
sk_store_dir_prepare (SkStoreDir *self, GError **error)
{
  gboolean ok;
  int root;

  if (!sk_store_dir_make (self, self->location, error)
      || !sk_store_dir_make (self, self->path, error))
    return FALSE;
  root = open (self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return sk_store_dir_fail (self, errno, "open", self->path, error);
  ok = sk_store_dir_prepare_root (self, root, error);
  close (root);
  sk_store_dir_sync_location (self);
  return ok;
}

/* --- reading --- */

static gboolean
sk_store_dir_fill (SkStoreDir *self, int fd, const char *name, guint8 *to, gsize len,
                   guint64 offset, GCancellable *cancellable, GError **error)
{
  gsize done = 0;

  while (done < len)
    {
      gssize n;

      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      n = pread (fd, to + done, MIN (len - done, READ_SLICE), (off_t) (offset + done));
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return sk_store_dir_fail (self, errno, "read", name, error);
      if (n == 0)
        return sk_fail (error, SK_ERROR_CORRUPT, "Storage “%s”: “%s” was cut while it was read",
                        sk_store_place (SK_STORE (self)), name);
      done += (gsize) n;
    }
  return TRUE;
}

GBytes *
sk_store_dir_read (SkStoreDir *self, int fd, const char *name, guint64 offset, guint64 len,
                   guint64 max_size, GCancellable *cancellable, GError **error)
{
  g_autoptr(GBytes) bytes = NULL;
  struct stat info;
  guint64 size;

  if (fstat (fd, &info) != 0)
    return sk_store_dir_fail (self, errno, "read", name, error), NULL;
  if (!S_ISREG (info.st_mode) || offset > (guint64) info.st_size)
    {
      sk_fail (error, SK_ERROR_CORRUPT,
               "Storage “%s”: “%s” is not a file of at least %" G_GUINT64_FORMAT " bytes",
               sk_store_place (SK_STORE (self)), name, offset);
      return NULL;
    }
  size = MIN (len, (guint64) info.st_size - offset);
  if (size > max_size)
    {
      sk_fail (error, SK_ERROR_LIMIT,
               "Storage “%s”: “%s” has %" G_GUINT64_FORMAT
               " bytes, more than the %" G_GUINT64_FORMAT " that it may have",
               sk_store_place (SK_STORE (self)), name, size, max_size);
      return NULL;
    }
  bytes = sk_memory_block (size);
  if (!sk_store_dir_fill (self, fd, name, (guint8 *) g_bytes_get_data (bytes, NULL), size, offset, cancellable, error))
    return NULL;
  return g_steal_pointer (&bytes);
}
