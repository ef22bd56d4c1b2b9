/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-read-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sk-path.h"
#include "sk-split.h"
#include "sk-xattr.h"

int
sk_read_open (SkRoot *root, const char *path, GError **error)
{
  int fd = sk_root_openat (root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME);

  if (fd < 0 && errno == EPERM)    /* O_NOATIME is for the owner */
    fd = sk_root_openat (root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0)
    return fd;
  if (errno == ENOENT || errno == ENXIO)    /* ENXIO: a socket, or a device that is not there */
    {
      g_autofree char *shown = sk_path_display (path);

      sk_fail (error, SK_ERROR_CHANGED, "\"%s\" is no longer there", shown);
      return -1;
    }
  sk_fail_errno (error, errno, "read", path);
  return -1;
}

gboolean
sk_read_exactly (int fd, guint8 *buffer, gsize len, guint64 offset, const char *path, GError **error)
{
  gsize have = 0;

  while (have < len)
    {
      gssize n = pread (fd, buffer + have, len - have, (off_t) (offset + have));

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return sk_fail_errno (error, errno, "read", path);
      if (n == 0)
        {
          g_autofree char *shown = sk_path_display (path);

          return sk_fail (error, SK_ERROR_CHANGED, "\"%s\" became shorter while it was read", shown);
        }
      have += (gsize) n;
    }
  return TRUE;
}

char *
sk_local_read_link (SkRoot *root, const char *path, const SkStat *expected, GError **error)
{
  g_autofree char *link = g_malloc (SK_SYMLINK_MAX + 2);
  const char *name;
  int dir = sk_root_open_parent (root, path, &name, error);
  gboolean found;
  gssize n;
  int errnum;
  SkStat now;

  if (dir < 0)
    return NULL;
  n = readlinkat (dir, name, link, SK_SYMLINK_MAX + 1);
  errnum = errno;
  found = sk_stat_at (dir, name, &now);
  close (dir);
  if (!found || !sk_stat_same (&now, expected) || now.kind != SK_KIND_SYMLINK)
    {
      g_autofree char *shown = sk_path_display (path);

      sk_fail (error, SK_ERROR_CHANGED, "The link \"%s\" changed while it was read", shown);
      return NULL;
    }
  if (n < 0)
    sk_fail_errno (error, errnum, "read the link", path);
  else if (n > SK_SYMLINK_MAX)
    sk_fail_errno (error, ENAMETOOLONG, "read the link", path);
  if (n < 0 || n > SK_SYMLINK_MAX)
    return NULL;
  link[n] = '\0';
  return g_steal_pointer (&link);
}

static gboolean
chunk_is_gone (const char *path, GError **error)
{
  g_autofree char *shown = sk_path_display (path);

  return sk_fail (error, SK_ERROR_CHANGED, "\"%s\" no longer holds this piece", shown);
}

GBytes *
sk_local_read_chunk (SkRoot *root, const char *path, guint64 offset, const SkChunkRef *ref, const SkKey *id_key,
                     GError **error)
{
  g_autofree guint8 *buffer = NULL;
  gboolean good;
  SkStat stat;
  SkHash id;
  int fd;

  if (sk_chunk_ref_is_zero (ref) || ref->size == 0 || ref->size > SK_CHUNK_SIZE_MAX || offset > SK_FILE_SIZE_MAX)
    {
      sk_fail (error, SK_ERROR_LIMIT, "A piece of a file must have between 1 byte and 16 MiB");
      return NULL;
    }
  fd = sk_read_open (root, path, error);
  if (fd < 0)
    return NULL;
  /* The size first: it spares the memory and the reading, and a device has none. */
  good = sk_stat_at (fd, "", &stat) && stat.kind == SK_KIND_FILE && stat.size >= offset + ref->size;
  if (!good)
    chunk_is_gone (path, error);
  else
    {
      buffer = g_malloc (ref->size);
      good = sk_read_exactly (fd, buffer, ref->size, offset, path, error);
    }
  close (fd);
  if (!good)
    return NULL;
  sk_chunk_id (id_key, buffer, ref->size, &id);
  if (!sk_hash_equal (&id, &ref->id))
    {
      chunk_is_gone (path, error);
      return NULL;
    }
  return g_bytes_new_take (g_steal_pointer (&buffer), ref->size);
}

GBytes *
sk_local_read_xattrs (SkRoot *root, const char *path, GError **error)
{
  int fd = sk_read_open (root, path, error);
  GBytes *value;
  int errnum;

  if (fd < 0)
    return NULL;
  value = sk_xattr_read (fd, &errnum);
  close (fd);
  if (errnum == E2BIG)
    {
      g_autofree char *shown = sk_path_display (path);

      sk_fail (error, SK_ERROR_LIMIT, "The extended attributes of \"%s\" have more than 64 KiB", shown);
    }
  else if (errnum != 0)
    sk_fail_errno (error, errnum, "read the extended attributes of", path);
  return value;
}
