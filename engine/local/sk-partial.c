/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file while it is being put together: ".skerry/tmp/<64 hex of content>", sparse at its full
 * length, only verified bytes. */
#include "sk-write-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-chunker.h"
#include "sk-limits.h"
#include "sk-read-private.h"

/* Others may put a finished partial at its place between our open and our lock. */
#define OPEN_TRIES 8u
/* Reflinks work on whole blocks. */
#define BLOCK 4096u
/* Buffer for comparing with zeros. */
#define ZERO_STEP (256u << 10)
#define EXPIRE_US (24 * 60 * 60 * (gint64) G_USEC_PER_SEC)

struct _SkPartial
{
  SkRoot *root;
  int fd; /* holds the lock: one writer of a content */
  char name[SK_HASH_HEX_SIZE];
  guint64 size;
  gboolean was_there;
  gboolean released;
};

int
sk_write_all (int fd, guint64 offset, const guint8 *data, gsize len)
{
  while (len > 0)
    {
      gssize n = pwrite (fd, data, len, (off_t) offset);

      if (n < 0 && errno != EINTR)
        return errno;
      if (n == 0)
        return EIO;
      if (n > 0)
        {
          offset += (guint64) n;
          data += n;
          len -= (gsize) n;
        }
    }
  return 0;
}

/* FALSE at the end of the file or on an error: for a partial both mean that it does not have these
 * bytes. */
static gboolean
read_all (int fd, guint64 offset, guint8 *data, gsize len)
{
  while (len > 0)
    {
      gssize n = pread (fd, data, len, (off_t) offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      offset += (guint64) n;
      data += n;
      len -= (gsize) n;
    }
  return TRUE;
}

/* ---- opening ---- */

/* What lies at @name and is not a plain file of ours alone is no partial: another name of its inode
 * could be a file of the person's, and metadata was set on it already when the engine died just
 * before the rename. */
static gboolean
make_usable (int tmp, const char *name)
{
  SkStat stat;

  if (!sk_stat_at (tmp, name, &stat))
    return errno == ENOENT;
  if (stat.kind != SK_KIND_FILE || stat.nlink != 1)
    return unlinkat (tmp, name, stat.kind == SK_KIND_DIR ? AT_REMOVEDIR : 0) == 0;
  return (stat.mode & 0600) == 0600 || fchmodat (tmp, name, 0600, 0) == 0;
}

/* Opens and locks. -1 with errno; EWOULDBLOCK when somebody else writes it. */
static int
open_locked (int tmp, const char *name)
{
  for (guint i = 0; i < OPEN_TRIES; i++)
    {
      SkStat there, mine;
      int fd, errnum;

      if (!make_usable (tmp, name))
        return -1;
      fd = openat (tmp, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (fd < 0)
        return -1;
      errnum = flock (fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
      /* A file system without locks has no second engine on it either: the root is locked by its
       * home. */
      if (errnum == EWOULDBLOCK)
        {
          close (fd);
          errno = errnum;
          return -1;
        }
      if (sk_stat_at (fd, "", &mine) && sk_stat_at (tmp, name, &there) && mine.ino == there.ino)
        return fd;
      close (fd);
    }
  errno = EWOULDBLOCK;
  return -1;
}

/* Its length is set first, so that zero runs need no writing and a resumed one can be told from a
 * foreign one. */
static gboolean
set_length (SkPartial *self)
{
  SkStat stat;

  if (!sk_stat_at (self->fd, "", &stat))
    return FALSE;
  self->was_there = stat.size == self->size && self->size > 0;
  if (self->was_there || stat.size == self->size)
    return TRUE;
  if (stat.size != 0 && ftruncate (self->fd, 0) != 0)
    return FALSE;
  return ftruncate (self->fd, (off_t) self->size) == 0;
}

SkPartial *
sk_partial_open (SkRoot *root, const SkHash *content, guint64 size, GError **error)
{
  SkPartial *self;
  int tmp;

  if (size > SK_FILE_SIZE_MAX)
    {
      sk_fail (error, SK_ERROR_LIMIT,
               "A file of %" G_GUINT64_FORMAT " bytes is larger than any that is synced", size);
      return NULL;
    }
  tmp = sk_dirs_open_own (root, SK_OWN_TMP, error);
  if (tmp < 0)
    return NULL;

  self = g_new0 (SkPartial, 1);
  self->root = sk_root_ref (root);
  self->size = size;
  sk_hash_format (content, self->name);
  self->fd = open_locked (tmp, self->name);
  if (self->fd < 0 || !set_length (self))
    {
      sk_write_fail (error, root, errno, "open the partial file", self->name);
      g_clear_pointer (&self, sk_partial_close);
    }
  close (tmp);
  return self;
}

void
sk_partial_close (SkPartial *self)
{
  if (self == NULL)
    return;
  if (self->fd >= 0)
    close (self->fd);
  sk_root_unref (self->root);
  g_free (self);
}

void
sk_partial_discard (SkPartial *self)
{
  int tmp;

  if (self == NULL)
    return;
  tmp = self->released ? -1 : sk_dirs_open_own (self->root, SK_OWN_TMP, NULL);
  if (tmp >= 0)
    {
      unlinkat (tmp, self->name, 0);
      close (tmp);
    }
  sk_partial_close (self);
}

gboolean
sk_partial_was_there (SkPartial *self)
{
  return self->was_there;
}

int
sk_partial_fd (SkPartial *self)
{
  return self->fd;
}

const char *
sk_partial_name (SkPartial *self)
{
  return self->name;
}

guint64
sk_partial_size (SkPartial *self)
{
  return self->size;
}

void
sk_partial_release (SkPartial *self)
{
  self->released = TRUE;
  /* The file is the person's now; a lock on it would disturb their programs. */
  flock (self->fd, LOCK_UN);
}

gboolean
sk_partial_is_released (SkPartial *self)
{
  return self->released;
}

/* ---- content ---- */

static gboolean
check_range (SkPartial *self, guint64 offset, guint64 len, GError **error)
{
  if (!self->released && offset <= self->size && len <= self->size - offset)
    return TRUE;
  return sk_fail (error, SK_ERROR_LIMIT, "Bytes beyond the end of the partial file \"%s\"",
                  self->name);
}

gboolean
sk_partial_write (SkPartial *self, guint64 offset, const guint8 *data, gsize len, GError **error)
{
  int errnum;

  if (!check_range (self, offset, len, error))
    return FALSE;
  errnum = sk_write_all (self->fd, offset, data, len);
  if (errnum != 0)
    return sk_write_fail (error, self->root, errnum, "write the partial file", self->name);
  return TRUE;
}

/* TRUE when there is no data at all in the range: the file system knows without reading. */
static gboolean
is_hole (int fd, guint64 offset, guint64 len)
{
  off_t data = lseek (fd, (off_t) offset, SEEK_DATA);

  return data < 0 ? errno == ENXIO : (guint64) data >= offset + len;
}

static gboolean
reads_as_zeros (int fd, guint64 offset, guint64 len)
{
  g_autofree guint8 *buffer = g_malloc (ZERO_STEP);

  while (len > 0)
    {
      gsize n = MIN (len, ZERO_STEP);

      if (is_hole (fd, offset, len))
        return TRUE;
      if (!read_all (fd, offset, buffer, n) || !sk_all_zero (buffer, n))
        return FALSE;
      offset += n;
      len -= n;
    }
  return TRUE;
}

static gboolean
holds (int fd, guint64 offset, const SkChunkRef *ref, const SkKey *id_key)
{
  g_autofree guint8 *buffer = g_try_malloc (ref->size);
  SkHash id;

  if (buffer == NULL || !read_all (fd, offset, buffer, ref->size))
    return FALSE;
  sk_chunk_id (id_key, buffer, ref->size, &id);
  return sk_hash_equal (&id, &ref->id);
}

gboolean
sk_partial_has (SkPartial *self, guint64 offset, const SkChunkRef *ref, const SkKey *id_key)
{
  if (!check_range (self, offset, ref->size, NULL))
    return FALSE;
  if (sk_chunk_ref_is_zero (ref))
    return reads_as_zeros (self->fd, offset, ref->size);
  if (ref->size == 0 || ref->size > SK_CHUNK_SIZE_MAX || is_hole (self->fd, offset, ref->size))
    return FALSE;
  return holds (self->fd, offset, ref, id_key);
}

/* ---- copying what this device has already ---- */

static int
open_source (SkRoot *root, const char *path, GError **error)
{
  int fd = sk_read_open (root, path, error);
  SkStat stat;

  if (fd < 0 || (sk_stat_at (fd, "", &stat) && stat.kind == SK_KIND_FILE))
    return fd;
  close (fd);
  sk_write_fail (error, root, ESTALE, "copy from", path);
  return -1;
}

/* Shares the blocks instead of copying them; compared afterwards, and taken back when they are not
 * what was wanted. */
static gboolean
try_reflink (SkPartial *self, guint64 offset, int from, guint64 from_offset, const SkChunkRef *ref,
             const SkKey *id_key)
{
  struct file_clone_range range = {
    .src_fd = from, .src_offset = from_offset, .src_length = ref->size, .dest_offset = offset
  };

  if (!sk_root_abilities (self->root)->reflink || offset % BLOCK != 0 || from_offset % BLOCK != 0)
    return FALSE;
  if (ref->size % BLOCK != 0 && offset + ref->size != self->size)
    return FALSE;
  if (ioctl (self->fd, FICLONERANGE, &range) != 0)
    return FALSE;
  if (holds (self->fd, offset, ref, id_key))
    return TRUE;
  fallocate (self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) offset,
             (off_t) ref->size);
  return FALSE;
}

/* The bytes have to be hashed in any case, so they are read once, compared, and written from
 * memory: nothing unverified ever gets into the partial, and the kernel copies as much as
 * copy_file_range and a read back would. */
static gboolean
copy_through_memory (SkPartial *self, guint64 offset, int from, const char *from_path,
                     guint64 from_offset, const SkChunkRef *ref, const SkKey *id_key,
                     GError **error)
{
  g_autofree guint8 *buffer = g_try_malloc (ref->size);
  SkHash id;

  if (buffer == NULL)
    return sk_fail (error, SK_ERROR_FAILED, "Not enough memory to copy %" G_GUINT64_FORMAT " bytes",
                    ref->size);
  if (!sk_read_exactly (from, buffer, ref->size, from_offset, from_path, error))
    return FALSE;
  sk_chunk_id (id_key, buffer, ref->size, &id);
  if (!sk_hash_equal (&id, &ref->id))
    return sk_write_fail (error, self->root, ESTALE, "copy from", from_path);
  return sk_partial_write (self, offset, buffer, ref->size, error);
}

gboolean
sk_partial_copy (SkPartial *self, guint64 offset, SkRoot *from_root, const char *from_path,
                 guint64 from_offset, const SkChunkRef *ref, const SkKey *id_key, GError **error)
{
  gboolean copied;
  int from;

  if (!check_range (self, offset, ref->size, error))
    return FALSE;
  if (sk_chunk_ref_is_zero (ref))
    return TRUE;
  if (ref->size > SK_CHUNK_SIZE_MAX || from_offset > SK_FILE_SIZE_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A chunk of %" G_GUINT64_FORMAT " bytes is too large",
                    ref->size);

  from = open_source (from_root, from_path, error);
  if (from < 0)
    return FALSE;
  copied = try_reflink (self, offset, from, from_offset, ref, id_key)
           || copy_through_memory (self, offset, from, from_path, from_offset, ref, id_key, error);
  close (from);
  return copied;
}

/* ---- expiry ---- */

/* Names this layer gives to files in .skerry/tmp. */
static gboolean
is_ours (const char *name, GHashTable *wanted)
{
  SkHash hash;

  if (sk_hash_parse (name, &hash, NULL))
    return wanted == NULL || !g_hash_table_contains (wanted, &hash);
  return g_str_has_prefix (name, "new-") || g_str_has_prefix (name, "probe-");
}

void
sk_partial_expire (SkRoot *root, GHashTable *wanted, gint64 wall_us)
{
  int fd = sk_dirs_open_own (root, SK_OWN_TMP, NULL);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *item;

  if (dir == NULL)
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  while ((item = readdir (dir)) != NULL)
    {
      SkStat stat;

      /* ctime: the mtime of a finished one is already that of the file it was to become. */
      if (is_ours (item->d_name, wanted) && sk_stat_at (dirfd (dir), item->d_name, &stat)
          && stat.ctime / 1000 < wall_us - EXPIRE_US)
        unlinkat (dirfd (dir), item->d_name, 0);
    }
  closedir (dir);
}
