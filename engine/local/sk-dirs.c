/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories below a root, made where they are missing. */
#include "sk-write-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-path.h"

#define PARENT_MODE 0755u
#define OWN_MODE 0700u

gboolean
sk_write_fail (GError **error, SkRoot *root, int errnum, const char *doing, const char *path)
{
  g_autofree char *shown = NULL, *where = NULL;

  if (errnum == ESTALE)
    {
      shown = sk_path_display (path);
      return sk_fail (error, SK_ERROR_CHANGED,
                      "Cannot %s \"%s\": it changed on this device meanwhile", doing, shown);
    }
  if (errnum != ENOSPC && errnum != EDQUOT)
    return sk_fail_errno (error, errnum, doing, path);
  shown = sk_path_display (path);
  where = sk_path_display (sk_root_path (root));
  return sk_fail (error, SK_ERROR_NO_SPACE,
                  "Cannot %s \"%s\": %s for the folder \"%s\"; make room there", doing, shown,
                  errnum == ENOSPC ? "no space is left on the disk" : "the quota is used up",
                  where);
}

/* Opens @name in @dir, made when missing. Closes @dir. -1 with errno. */
static int
enter (SkRoot *root, int dir, const char *name, guint32 mode)
{
  int fd = -1, errnum;
  gboolean made = mkdirat (dir, name, mode) == 0;

  if (made || errno == EEXIST)
    fd = sk_beneath_open (dir, name, O_RDONLY | O_DIRECTORY, sk_root_beneath (root));
  errnum = errno;
  if (made)
    sk_barrier_add_dir (root, dir);
  close (dir);
  errno = errnum;
  return fd;
}

/* The longest part of @path that is there; *@rest: what is missing. -1 with errno. */
static int
open_existing (SkRoot *root, const char *path, const char **rest)
{
  g_autofree char *part = g_strdup (path);
  gsize n = strlen (part);
  int fd;

  for (;;)
    {
      fd = sk_root_openat (root, part, O_RDONLY | O_DIRECTORY);
      if (fd < 0 && errno == EACCES)
        fd = sk_root_openat (root, part, O_PATH | O_DIRECTORY);
      if (fd >= 0 || errno != ENOENT || n == 0)
        break;
      while (n > 0 && part[n] != '/')
        n--;
      part[n] = '\0';
    }
  *rest = path + n + (path[n] == '/' ? 1 : 0);
  return fd;
}

static int
open_making (SkRoot *root, const char *path, guint32 mode)
{
  const char *p;
  int fd = open_existing (root, path, &p);

  while (fd >= 0 && p[0] != '\0')
    {
      gsize n = strcspn (p, "/");
      g_autofree char *name = g_strndup (p, n);

      fd = enter (root, fd, name, mode);
      p += n + (p[n] == '/' ? 1 : 0);
    }
  return fd;
}

gboolean
sk_target_may_change (SkRoot *root, const char *dir, GError **error)
{
  int fd = sk_root_openat (root, dir, O_PATH | O_DIRECTORY), errnum = errno;

  if (fd >= 0)
    {
      errnum = faccessat (fd, ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
      close (fd);
    }
  /* What is in the way of a folder is for the change itself to tell. */
  if (errnum != EACCES && errnum != EPERM && errnum != EROFS)
    return TRUE;
  return sk_write_fail (error, root, errnum, "change anything in the folder", dir);
}

int
sk_dirs_open_parent (SkRoot *root, const char *path, const char **name, GError **error)
{
  g_autofree char *parent = sk_path_parent (path);
  int fd = open_making (root, parent, PARENT_MODE);

  *name = sk_path_name (path);
  if (fd < 0)
    sk_write_fail (error, root, errno, "make the folder of", path);
  return fd;
}

int
sk_dirs_open_own (SkRoot *root, const char *path, GError **error)
{
  int fd = sk_root_openat (root, path, O_RDONLY | O_DIRECTORY), own;

  if (fd >= 0)
    return fd;
  if (errno != ENOENT)
    {
      sk_write_fail (error, root, errno, "open", path);
      return -1;
    }
  own = sk_root_openat (root, SK_OWN_DIR, O_PATH | O_DIRECTORY);
  if (own < 0)
    {
      g_autofree char *where = sk_path_display (sk_root_path (root));

      sk_fail (error, SK_ERROR_OFFLINE,
               "The folder \"%s\" has lost its \".skerry\": nothing is written there", where);
      return -1;
    }
  close (own);
  fd = open_making (root, path, OWN_MODE);
  if (fd < 0)
    sk_write_fail (error, root, errno, "make the folder", path);
  return fd;
}

/* ---- a run of changes ---- */

static void
forget_parent (SkTargetRun *self)
{
  if (self->parent >= 0)
    close (self->parent);
  self->parent = -1;
  g_clear_pointer (&self->parent_path, g_free);
}

void
sk_target_run_clear (SkTargetRun *self)
{
  forget_parent (self);
  if (self->tmp >= 0)
    close (self->tmp);
  self->tmp = -1;
}

int
sk_target_run_tmp (SkTargetRun *self, GError **error)
{
  if (self->tmp < 0)
    self->tmp = sk_dirs_open_own (self->root, SK_OWN_TMP, error);
  return self->tmp;
}

int
sk_target_run_parent (SkTargetRun *self, const char *path, gboolean make, const char **name,
                      GError **error)
{
  gsize len = (gsize) (sk_path_name (path) - path);

  len -= len > 0;                       /* the slash */
  if (self->parent >= 0 && strlen (self->parent_path) == len
      && memcmp (self->parent_path, path, len) == 0)
    {
      *name = sk_path_name (path);
      return self->parent;
    }
  forget_parent (self);
  self->parent = make ? sk_dirs_open_parent (self->root, path, name, error)
                      : sk_root_open_parent (self->root, path, name, error);
  if (self->parent >= 0)
    self->parent_path = g_strndup (path, len);
  return self->parent;
}
