/* SPDX-License-Identifier: GPL-3.0-or-later */
/* .skerry: the engine's own directory inside a root, and the marker in it by which the root is known again. */
#include "sk-root-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-mounts.h"
#include "sk-path.h"

/* "skerry folder 1\n", 32 hex digits of the folder id, "\n". */
#define MARKER_TITLE "skerry folder 1\n"
#define MARKER_SIZE (sizeof MARKER_TITLE - 1 + SK_ID_HEX_SIZE)
/* Backup programs leave out a directory that holds this file. */
#define CACHE_TAG "Signature: 8a477f597d28d172789f06886806bc55\n"

typedef enum { MARKER_FOUND, MARKER_NONE, MARKER_GARBAGE, MARKER_UNREADABLE } MarkerState;

static int
open_at (int dirfd, const char *path, int oflags)
{
  int fd = sk_beneath_open (dirfd, path, oflags, 0);

  /* Once per check, not per file: here the walk may be found out the slow way. */
  if (fd < 0 && (errno == EPERM || errno == ENOSYS))
    fd = sk_beneath_open (dirfd, path, oflags, SK_BENEATH_WALK);
  return fd;
}

static gboolean
write_all (int fd, const char *text)
{
  gsize left = strlen (text);

  while (left > 0)
    {
      gssize n = write (fd, text, left);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      text += n;
      left -= (gsize) n;
    }
  return TRUE;
}

/* @name has all of @text or is as it was. */
static gboolean
put_file (int dirfd, const char *name, const char *text)
{
  g_autofree char *temporary = g_strdup_printf (".%s-%08x", name, g_random_int ());
  int fd = openat (dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  gboolean done;
  int saved;

  if (fd < 0)
    return FALSE;
  done = write_all (fd, text) && fsync (fd) == 0;
  saved = errno;
  close (fd);
  if (done && renameat (dirfd, temporary, dirfd, name) == 0)
    return TRUE;
  errno = done ? errno : saved;
  saved = errno;
  unlinkat (dirfd, temporary, 0);
  errno = saved;
  return FALSE;
}

static MarkerState
read_marker (int root_fd, SkId *out)
{
  char text[MARKER_SIZE + 2];
  gssize n;
  int fd = open_at (root_fd, SK_OWN_MARKER, O_RDONLY | O_NONBLOCK);

  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? MARKER_NONE : MARKER_UNREADABLE;
  n = read (fd, text, sizeof text - 1);
  close (fd);
  if (n < 0)
    return MARKER_UNREADABLE;
  text[n] = '\0';
  if ((gsize) n != MARKER_SIZE || !g_str_has_prefix (text, MARKER_TITLE) || text[n - 1] != '\n')
    return MARKER_GARBAGE;
  text[n - 1] = '\0';
  return sk_id_parse (text + strlen (MARKER_TITLE), out, NULL) ? MARKER_FOUND : MARKER_GARBAGE;
}

static gboolean
make_dir (int dirfd, const char *name)
{
  return mkdirat (dirfd, name, 0700) == 0 || errno == EEXIST;
}

/* Everything in .skerry but the marker. */
static gboolean
furnish (int own, SkRoot *self)
{
  int tmp;
  gboolean tagged;

  if (!make_dir (own, "tmp") || !make_dir (own, "trash") || !put_file (own, ".gitignore", "*\n"))
    return FALSE;
  tmp = sk_beneath_open (own, "tmp", O_RDONLY | O_DIRECTORY, sk_root_beneath (self));
  if (tmp < 0)
    return FALSE;
  tagged = put_file (tmp, "CACHEDIR.TAG", CACHE_TAG);
  close (tmp);
  return tagged;
}

static gboolean
put_marker (int own, const SkId *folder)
{
  char hex[SK_ID_HEX_SIZE];
  char text[MARKER_SIZE + 1];

  sk_id_format (folder, hex);
  g_snprintf (text, sizeof text, "%s%s\n", MARKER_TITLE, hex);
  return put_file (own, "folder", text);
}

gboolean
sk_root_marker (SkRoot *self, SkId *folder)
{
  return read_marker (self->fd, folder) == MARKER_FOUND;
}

gboolean
sk_root_mark_anew (SkRoot *self, const SkId *folder, GError **error)
{
  int own = sk_root_openat (self, SK_OWN_DIR, O_RDONLY | O_DIRECTORY);
  gboolean done = own >= 0 && put_marker (own, folder) && fsync (own) == 0;

  if (!done)
    sk_fail_errno (error, errno, "mark the folder", self->path);
  if (own >= 0)
    close (own);
  return done;
}

gboolean
sk_root_prepare (SkRoot *self, const SkId *folder, GError **error)
{
  SkId there;
  MarkerState state = read_marker (self->fd, &there);
  gboolean done;
  int own;

  if (state == MARKER_UNREADABLE)
    return sk_fail_errno (error, errno, "read the marker in", self->path);
  if (state == MARKER_FOUND && !sk_id_equal (&there, folder))
    {
      g_autofree char *shown = sk_path_display (self->path);

      return sk_fail (error, SK_ERROR_EXISTS,
                      "\"%s\" is marked as another synced folder: detach that one, or remove .skerry from it if it is a copy", shown);
    }
  if (!make_dir (self->fd, SK_OWN_DIR))
    return sk_fail_errno (error, errno, "make .skerry in", self->path);
  own = sk_root_openat (self, SK_OWN_DIR, O_RDONLY | O_DIRECTORY);
  if (own < 0)
    return sk_fail_errno (error, errno, "open .skerry in", self->path);
  done = furnish (own, self) && (state == MARKER_FOUND || put_marker (own, folder))
         && fsync (own) == 0 && fsync (self->fd) == 0;
  if (!done)
    sk_fail_errno (error, errno, "write into .skerry of", self->path);
  close (own);
  if (done)
    sk_probe_abilities (self->fd, &self->abilities);
  return done;
}

/* Everything inside @name; TRUE when nothing is left of it. Other mounts stay. */
static gboolean
remove_tree (SkRoot *self, int dirfd, const char *name, guint depth)
{
  int fd = sk_beneath_open (dirfd, name, O_RDONLY | O_DIRECTORY, sk_root_beneath (self));
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *item;

  if (dir == NULL)
    {
      if (fd >= 0)
        close (fd);
      return errno == ENOENT;
    }
  while (depth < SK_DEPTH_MAX && (item = readdir (dir)) != NULL)
    {
      if (strcmp (item->d_name, ".") == 0 || strcmp (item->d_name, "..") == 0)
        continue;
      if (unlinkat (fd, item->d_name, 0) != 0 && (errno == EISDIR || errno == EPERM))
        remove_tree (self, fd, item->d_name, depth + 1);
    }
  closedir (dir);
  return unlinkat (dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

gboolean
sk_root_release (SkRoot *self, GError **error)
{
  int own = sk_root_openat (self, SK_OWN_DIR, O_RDONLY | O_DIRECTORY);
  gboolean done;

  if (own < 0)
    return errno == ENOENT || sk_fail_errno (error, errno, "open .skerry in", self->path);
  done = (unlinkat (own, "folder", 0) == 0 || errno == ENOENT)
         && (unlinkat (own, ".gitignore", 0) == 0 || errno == ENOENT)
         && remove_tree (self, own, "tmp", 0);
  if (!done)
    sk_fail_errno (error, errno, "remove .skerry from", self->path);
  /* Neither goes while something is kept in the trash. */
  if (done && unlinkat (own, "trash", AT_REMOVEDIR) == 0)
    unlinkat (self->fd, SK_OWN_DIR, AT_REMOVEDIR);
  close (own);
  return done;
}

static gboolean
same_numbers (const SkRootNumbers *a, const SkRootNumbers *b)
{
  return a->dev == b->dev && a->ino == b->ino && sk_hash_equal (&a->fsid, &b->fsid);
}

SkRootState
sk_root_check (SkRoot *self, const SkId *folder, const SkRootNumbers *saved)
{
  /* By the person's own words, links included: a link that was turned elsewhere must be seen (B013). */
  int fd = open (self->given, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  SkRootNumbers numbers;
  MarkerState state;
  SkId there;

  if (fd < 0)
    return SK_ROOT_MISSING;
  state = read_marker (fd, &there);
  sk_root_read_numbers (fd, &numbers);
  close (fd);
  if (state == MARKER_UNREADABLE)
    return SK_ROOT_MISSING;
  if (state != MARKER_FOUND)
    return SK_ROOT_NO_MARKER;
  if (!sk_id_equal (&there, folder))
    return SK_ROOT_FOREIGN;
  if (!same_numbers (&numbers, &self->numbers) || (saved != NULL && !same_numbers (&numbers, saved)))
    return SK_ROOT_NEW_NUMBERS;
  return SK_ROOT_OK;
}

/* ---- which paths are taken as roots ---- */

static gboolean
is_inside (const char *path, const char *of)
{
  return strcmp (of, "/") == 0 || sk_path_is_below (path, of);
}

/* /run/user/UID/doc and /run/flatpak/doc: files come and go there without any event. */
static gboolean
is_document_portal (const char *path)
{
  g_auto(GStrv) parts = g_strsplit (path, "/", 6);
  guint n = g_strv_length (parts);

  if (n < 4 || strcmp (parts[1], "run") != 0)
    return FALSE;
  if (strcmp (parts[2], "flatpak") == 0 && strcmp (parts[3], "doc") == 0)
    return TRUE;
  return n >= 5 && strcmp (parts[2], "user") == 0 && strcmp (parts[4], "doc") == 0;
}

/* A folder of another engine or of an unknown one: its marker is in a directory above. (transfer full) */
static char *
marked_ancestor (const char *path)
{
  g_autofree char *at = g_path_get_dirname (path);

  for (;;)
    {
      g_autofree char *up = g_path_get_dirname (at);
      int fd = open (at, O_PATH | O_DIRECTORY | O_CLOEXEC);
      SkId id;
      gboolean marked = fd >= 0 && read_marker (fd, &id) == MARKER_FOUND;

      if (fd >= 0)
        close (fd);
      if (marked)
        return g_steal_pointer (&at);
      if (strcmp (up, at) == 0)
        return NULL;
      g_free (at);
      at = g_steal_pointer (&up);
    }
}

static gboolean
is_apart (const char *path, const char *shown, const char *const *others, GError **error)
{
  g_autoptr(SkMounts) mounts = sk_mounts_new ();
  g_autofree char *place = sk_mounts_place (mounts, path), *marked = NULL;

  for (guint i = 0; others != NULL && others[i] != NULL; i++)
    {
      g_autofree char *other = sk_path_display (others[i]), *there = sk_mounts_place (mounts, others[i]);
      gboolean placed = place != NULL && there != NULL;

      /* By name, and by where it is on the disk: a directory may be mounted a second time elsewhere. */
      if (is_inside (path, others[i]) || (placed && sk_path_is_below (place, there)))
        return sk_fail (error, SK_ERROR_USAGE, "\"%s\" lies in \"%s\", which is in use already", shown,
                        other);
      if (is_inside (others[i], path) || (placed && sk_path_is_below (there, place)))
        return sk_fail (error, SK_ERROR_USAGE, "\"%s\" contains \"%s\", which is in use already", shown,
                        other);
    }
  marked = marked_ancestor (path);
  if (marked != NULL)
    {
      g_autofree char *other = sk_path_display (marked);

      return sk_fail (error, SK_ERROR_USAGE, "\"%s\" lies in \"%s\", which is a synced folder itself",
                      shown, other);
    }
  return TRUE;
}

gboolean
sk_root_acceptable (const char *path, const char *const *others, GError **error)
{
  g_autofree char *shown = sk_path_display (path);
  char *resolved = realpath (path, NULL);
  g_autofree char *real = g_strdup (resolved);
  SkStat stat;

  free (resolved);
  if (real == NULL || !sk_stat_at (AT_FDCWD, real, &stat))
    return sk_fail_errno (error, errno, "use", path);
  if (stat.kind != SK_KIND_DIR)
    return sk_fail (error, SK_ERROR_USAGE, "\"%s\" is not a folder", shown);
  if (is_document_portal (real))
    return sk_fail (error, SK_ERROR_USAGE,
                    "\"%s\" is a view that the document portal lends out; give the program access to the "
                    "folder itself", shown);
  if (strstr (real, "/" SK_OWN_DIR "/") != NULL || g_str_has_suffix (real, "/" SK_OWN_DIR))
    return sk_fail (error, SK_ERROR_USAGE, "\"%s\" is kept by a synced folder for itself", shown);
  return is_apart (real, shown, others, error);
}

char *
sk_root_warning (SkRoot *self)
{
  static const struct { const char *name; const char *what; } marks[] = {
    { ".git", "a git repository: syncing one while both sides commit can damage it" },
    { ".stfolder", "Syncthing" },
    { ".nextcloudsync.log", "Nextcloud" },
    { ".owncloudsync.log", "ownCloud" },
    { ".dropbox", "Dropbox" },
    { ".dropbox.cache", "Dropbox" },
    { ".sync", "Resilio Sync" },
    { ".unison", "Unison" },
  };
  g_autoptr(GString) text = g_string_new (NULL);
  g_autoptr(GDir) dir = NULL;
  const char *name;
  g_autofree char *here = g_strdup_printf ("/proc/self/fd/%d", self->fd);

  dir = g_dir_open (here, 0, NULL);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      const char *what = NULL;

      for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
        if (strcmp (name, marks[i].name) == 0)
          what = marks[i].what;
      if ((g_str_has_prefix (name, ".sync_") || g_str_has_prefix (name, "._sync_"))
          && g_str_has_suffix (name, ".db"))
        what = "Nextcloud or ownCloud";
      if (what == NULL || strstr (text->str, what) != NULL)
        continue;
      if (text->len > 0)
        g_string_append (text, "; ");
      g_string_append_printf (text, strcmp (name, ".git") == 0 ? "This is %s" : "%s syncs this folder as well",
                              what);
    }
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}
