/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-write-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-path.h"
#include "sk-test-hooks.h"

#define OWN_NAME_SIZE 24u

/* A change to one path, while it is being made. */
typedef struct
{
  SkRoot *root;
  const char *path;
  SkTargetRun *run; /* the one it belongs to, which keeps to.dir; or NULL */
  SkSpot to;
  SkSpot slot; /* in the trash; slot.dir -1 when none is needed */
} Change;

static void
change_clear (Change *self)
{
  if (self->to.dir >= 0 && self->run == NULL)
    close (self->to.dir);
  if (self->slot.dir >= 0)
    close (self->slot.dir);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Change, change_clear)

static gboolean
is_absent (const SkStat *expected)
{
  return expected == NULL || expected->kind == SK_KIND_NONE || expected->kind == SK_KIND_TOMBSTONE;
}

/* What the errno of a move means for the caller: another content than expected is a change, also
 * when it is none. */
static gboolean
fail_change (const Change *change, int errnum, const char *doing, GError **error)
{
  if (errnum == EEXIST || errnum == ENOENT)
    errnum = ESTALE;
  return sk_write_fail (error, change->root, errnum, doing, change->path);
}

/* Opens the directory of the path; makes it when nothing is expected there yet. */
static gboolean
change_begin (Change *self, SkRoot *root, const char *path, const SkStat *expected, GError **error)
{
  g_autoptr(GError) failed = NULL;

  self->root = root;
  self->path = path;
  if (!sk_path_check (path, strlen (path), error))
    return FALSE;
  if (self->run != NULL)
    self->to.dir
        = sk_target_run_parent (self->run, path, is_absent (expected), &self->to.name, &failed);
  else if (is_absent (expected))
    self->to.dir = sk_dirs_open_parent (root, path, &self->to.name, &failed);
  else
    self->to.dir = sk_root_open_parent (root, path, &self->to.name, &failed);
  if (self->to.dir < 0)
    {
      if (g_error_matches (failed, SK_ERROR, SK_ERROR_NOT_FOUND))
        return fail_change (self, ESTALE, "change", error);
      g_propagate_error (error, g_steal_pointer (&failed));
      return FALSE;
    }
  return TRUE;
}

/* As change_begin; with something to replace, also a free place for it in the trash. */
static gboolean
change_begin_replacing (Change *self, SkRoot *root, const char *path, const SkStat *expected,
                        const char *trash_batch, GError **error)
{
  if (!change_begin (self, root, path, expected, error))
    return FALSE;
  if (!is_absent (expected))
    self->slot.dir = sk_trash_slot (root, trash_batch, path, &self->slot.name, error);
  return is_absent (expected) || self->slot.dir >= 0;
}

/* @old came into the trash. */
static void
change_trashed (Change *self, const SkStat *old)
{
  if (old->kind == SK_KIND_DIR)
    return;
  sk_trash_note (self->root, old);
  sk_barrier_add_dir (self->root, self->slot.dir);
}

/* Puts @own at its place. */
static SkSwapResult
change_install (Change *self, const SkSpot *own, const SkStat *expected, GError **error)
{
  SkSwapResult result = SK_SWAP_DONE;
  SkStat old;
  int errnum;

  if (is_absent (expected))
    {
      sk_test_stage ("rename");
      errnum = sk_swap_put (self->root, own, &self->to);
      sk_test_stage ("rename");
      if (errnum != 0)
        result = SK_SWAP_KEPT;
    }
  else
    result = sk_swap_replace (self->root, own, &self->to, &self->slot, expected, &old, &errnum);
  if (result != SK_SWAP_DONE)
    {
      if (result == SK_SWAP_LOST)
        sk_trash_note_lost (self->root, &self->slot);
      fail_change (self, errnum, is_absent (expected) ? "create" : "replace", error);
      return result;
    }
  if (!is_absent (expected))
    change_trashed (self, &old);
  sk_barrier_add_dir (self->root, self->to.dir);
  return SK_SWAP_DONE;
}

/* How the file behind @fd, which was @ready before it came to its place, is told to the index. A
 * person may have written into it since: then it is told as it was, so that the next scan notices. */
static gboolean
look_at_installed (int fd, const char *name, const SkStat *ready, SkStat *out)
{
  if (!sk_stat_at (fd, name, out))
    return FALSE;
  if (!sk_stat_same_moved (ready, out))
    *out = *ready;
  return TRUE;
}

/* The same for what was @now before it got @meta in its place. A write leaves one time in both
 * stamps. */
static gboolean
look_at_dressed (const SkSpot *spot, const SkStat *now, const SkMeta *meta, SkStat *out)
{
  if (!sk_stat_at (spot->dir, spot->name, out))
    return FALSE;
  if (out->kind != now->kind || out->ino != now->ino
      || (out->kind == SK_KIND_FILE
          && (out->size != now->size || (out->mtime != meta->mtime && out->mtime == out->ctime))))
    *out = *now;
  return TRUE;
}

/* A name of our own in .skerry/tmp. */
static void
own_name (char out[OWN_NAME_SIZE])
{
  g_snprintf (out, OWN_NAME_SIZE, "new-%08x%08x", g_random_int (), g_random_int ());
}

/* ---- files ---- */

gboolean
sk_target_place (SkRoot *root, SkPartial *partial, const char *path, const SkStat *expected,
                 const SkMeta *meta, gboolean batch, const char *trash_batch, SkStat *out,
                 GError **error)
{
  g_auto(Change) change = { .to.dir = -1, .slot.dir = -1 };
  g_auto(SkFd) tmp = { -1 };
  int fd = sk_partial_fd (partial), errnum;
  SkSwapResult result;
  SkStat ready;

  if (!change_begin_replacing (&change, root, path, expected, trash_batch, error))
    return FALSE;
  tmp.fd = sk_dirs_open_own (root, SK_OWN_TMP, error);
  if (tmp.fd < 0)
    return FALSE;
  if (sk_partial_is_released (partial))
    return sk_fail (error, SK_ERROR_NOT_FOUND, "The content for \"%s\" is gone: fetch it again",
                    sk_partial_name (partial));
  if (!sk_stat_at (fd, "", &ready) || ready.size != sk_partial_size (partial))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The partial file \"%s\" was changed by another program",
                    sk_partial_name (partial));

  errnum = sk_dress (root, fd, meta);
  if (errnum == 0 && !batch)
    errnum = sk_barrier_sync_file (root, fd);
  if (errnum == 0 && !sk_stat_at (fd, "", &ready))
    errnum = errno;
  if (errnum != 0)
    return sk_write_fail (error, root, errnum, "finish", path);
  result
      = change_install (&change, &(SkSpot) { tmp.fd, sk_partial_name (partial) }, expected, error);
  if (result != SK_SWAP_KEPT)
    sk_partial_release (partial);
  if (result != SK_SWAP_DONE)
    return FALSE;
  if (!look_at_installed (fd, "", &ready, out))
    return sk_write_fail (error, root, errno, "look at", path);
  if (!batch)
    return sk_root_barrier (root, error);
  sk_barrier_add_file (root, fd);
  return TRUE;
}

/* A finished file at @own, not in its place yet. Returns its descriptor, or -1 with errno. */
static int
make_small (SkRoot *root, const SkSpot *own, const guint8 *data, gsize len, const SkMeta *meta,
            gboolean batch, SkStat *ready)
{
  int fd = openat (own->dir, own->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
      errnum;

  if (fd < 0)
    return -1;
  errnum = sk_write_all (fd, 0, data, len);
  if (errnum == 0)
    errnum = sk_dress (root, fd, meta);
  if (errnum == 0 && !batch)
    errnum = sk_barrier_sync_file (root, fd);
  if (errnum == 0 && !sk_stat_at (fd, "", ready))
    errnum = errno;
  if (errnum == 0)
    return fd;
  unlinkat (own->dir, own->name, 0);
  close (fd);
  errno = errnum;
  return -1;
}

#if SK_TEST_HOOKS
/* What must never be done, so that the tests of kills can show that they would notice. */
static gboolean
write_in_place (const SkSpot *to, const guint8 *data, gsize len, const SkMeta *meta, SkRoot *root,
                SkStat *out)
{
  g_auto(SkFd) file = { openat (to->dir, to->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) };

  if (file.fd < 0 || sk_write_all (file.fd, 0, data, len / 2) != 0)
    return FALSE;
  sk_test_stage ("rename");
  return sk_write_all (file.fd, len / 2, data + len / 2, len - len / 2) == 0
         && sk_dress (root, file.fd, meta) == 0 && sk_stat_at (file.fd, "", out);
}
#endif

/* A named temporary file and a rename, not an unnamed one and a link: for 10 000 files of 1 000
 * bytes the two made 73 000 to 90 000 against 79 000 to 107 000 a second on tmpfs, but 9 400 to 20
 * 700 against 5 400 to 8 400 on ext4. */
gboolean
sk_target_run_write (SkTargetRun *run, const char *path, const guint8 *data, gsize len,
                     const SkStat *expected, const SkMeta *meta, gboolean batch,
                     const char *trash_batch, SkStat *out, GError **error)
{
  SkRoot *root = run->root;
  g_auto(Change) change = { .run = run, .to.dir = -1, .slot.dir = -1 };
  g_auto(SkFd) file = { -1 };
  int tmp;
  SkSwapResult result;
  char name[OWN_NAME_SIZE];
  SkStat ready;
  SkSpot own;

  if (!change_begin_replacing (&change, root, path, expected, trash_batch, error))
    return FALSE;
  tmp = sk_target_run_tmp (run, error);
  if (tmp < 0)
    return FALSE;
#if SK_TEST_HOOKS
  if (sk_test_mistake ("write-in-place"))
    return write_in_place (&change.to, data, len, meta, root, out);
#endif
  own_name (name);
  own = (SkSpot) { tmp, name };
  file.fd = make_small (root, &own, data, len, meta, batch, &ready);
  if (file.fd < 0)
    return sk_write_fail (error, root, errno, "write", path);

  result = change_install (&change, &own, expected, error);
  if (result == SK_SWAP_KEPT)
    unlinkat (tmp, name, 0);
  if (result != SK_SWAP_DONE)
    return FALSE;
  if (!look_at_installed (file.fd, "", &ready, out))
    return sk_write_fail (error, root, errno, "look at", path);
  if (!batch)
    return sk_root_barrier (root, error);
  sk_barrier_add_file (root, file.fd);
  return TRUE;
}

gboolean
sk_target_write_small (SkRoot *root, const char *path, const guint8 *data, gsize len,
                       const SkStat *expected, const SkMeta *meta, gboolean batch,
                       const char *trash_batch, SkStat *out, GError **error)
{
  g_auto(SkTargetRun) run = SK_TARGET_RUN (root);

  return sk_target_run_write (&run, path, data, len, expected, meta, batch, trash_batch, out, error);
}

/* ---- links and directories ---- */

gboolean
sk_target_symlink (SkRoot *root, const char *path, const char *link, const SkStat *expected,
                   gint64 mtime, const char *trash_batch, SkStat *out, GError **error)
{
  g_auto(Change) change = { .to.dir = -1, .slot.dir = -1 };
  g_auto(SkFd) tmp = { -1 };
  struct timespec times[2];
  SkSwapResult result;
  char name[OWN_NAME_SIZE];
  SkStat ready;

  if (link[0] == '\0' || strlen (link) > SK_SYMLINK_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A symbolic link has an empty or too long target");
  if (!change_begin_replacing (&change, root, path, expected, trash_batch, error))
    return FALSE;
  tmp.fd = sk_dirs_open_own (root, SK_OWN_TMP, error);
  if (tmp.fd < 0)
    return FALSE;
  own_name (name);
  if (symlinkat (link, tmp.fd, name) != 0)
    return sk_write_fail (error, root, errno == EPERM ? EOPNOTSUPP : errno,
                          "make the symbolic link", path);
  sk_dress_times (mtime, times);
  utimensat (tmp.fd, name, times, AT_SYMLINK_NOFOLLOW);
  if (!sk_stat_at (tmp.fd, name, &ready))
    return sk_write_fail (error, root, errno, "look at", path);

  result = change_install (&change, &(SkSpot) { tmp.fd, name }, expected, error);
  if (result == SK_SWAP_KEPT)
    unlinkat (tmp.fd, name, 0);
  if (result != SK_SWAP_DONE)
    return FALSE;
  if (!look_at_installed (change.to.dir, change.to.name, &ready, out))
    return fail_change (&change, errno, "look at", error);
  return TRUE;
}

/* By descriptor: the mode of what was made here, not of what was put in its place since. -1 and
 * errno. */
static int
open_made (const SkSpot *spot)
{
#if SK_TEST_HOOKS
  if (sk_write_hooks.made_errnum != 0)
    {
      errno = sk_write_hooks.made_errnum;
      return -1;
    }
#endif
  return openat (spot->dir, spot->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

gboolean
sk_target_mkdir (SkRoot *root, const char *path, guint32 mode, SkStat *out, GError **error)
{
  g_auto(Change) change = { .to.dir = -1, .slot.dir = -1 };
  g_auto(SkFd) made = { -1 };

  if (!change_begin (&change, root, path, NULL, error))
    return FALSE;
  /* With its mode from the start, as far as the process may: what follows can fail. */
  if (mkdirat (change.to.dir, change.to.name, (mode & 0777) | 0700) != 0)
    {
      if (errno != EEXIST)
        return sk_write_fail (error, root, errno, "make the folder", path);
      if (!sk_stat_at (change.to.dir, change.to.name, out) || out->kind != SK_KIND_DIR)
        return fail_change (&change, ESTALE, "make the folder", error);
      /* Perhaps made here, and not durable yet. */
      sk_barrier_add_dir (root, change.to.dir);
      return TRUE;
    }
  made.fd = open_made (&change.to);
  if (made.fd < 0)
    return fail_change (&change, errno == ENOTDIR || errno == ELOOP ? ESTALE : errno,
                        "make the folder", error);
  if (fchmod (made.fd, mode & 07777) != 0 && sk_root_abilities (root)->modes)
    return sk_write_fail (error, root, errno, "set the permissions of", path);
  if (!sk_stat_at (made.fd, "", out))
    return sk_write_fail (error, root, errno, "look at", path);
  sk_barrier_add_dir (root, made.fd);
  sk_barrier_add_dir (root, change.to.dir);
  return TRUE;
}

gboolean
sk_target_mkdir_over (SkRoot *root, const char *path, guint32 mode, const SkStat *expected,
                      const char *trash_batch, SkStat *out, GError **error)
{
  g_auto(Change) change = { .to.dir = -1, .slot.dir = -1 };
  g_auto(SkFd) tmp = { -1 }, made = { -1 };
  SkSwapResult result;
  char name[OWN_NAME_SIZE];

  if (!change_begin_replacing (&change, root, path, expected, trash_batch, error))
    return FALSE;
  tmp.fd = sk_dirs_open_own (root, SK_OWN_TMP, error);
  if (tmp.fd < 0)
    return FALSE;
  own_name (name);
  if (mkdirat (tmp.fd, name, 0700) != 0)
    return sk_write_fail (error, root, errno, "make the folder", path);
  made.fd = openat (tmp.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (made.fd < 0 || (fchmod (made.fd, mode & 07777) != 0 && sk_root_abilities (root)->modes))
    {
      int errnum = errno;

      unlinkat (tmp.fd, name, AT_REMOVEDIR);
      return sk_write_fail (error, root, errnum, "set the permissions of", path);
    }
  result = change_install (&change, &(SkSpot) { tmp.fd, name }, expected, error);
  if (result == SK_SWAP_KEPT)
    unlinkat (tmp.fd, name, AT_REMOVEDIR);
  if (result != SK_SWAP_DONE)
    return FALSE;
  if (!sk_stat_at (made.fd, "", out))
    return sk_write_fail (error, root, errno, "look at", path);
  sk_barrier_add_dir (root, made.fd);
  return TRUE;
}

gboolean
sk_target_set_meta (SkRoot *root, const char *path, const SkStat *expected, const SkMeta *meta,
                    SkStat *out, GError **error)
{
  g_auto(Change) change = { .to.dir = -1, .slot.dir = -1 };
  SkStat now;
  int errnum;

  if (is_absent (expected))
    return sk_fail (error, SK_ERROR_CHANGED,
                    "Metadata for a file that is not expected to be there");
  if (!change_begin (&change, root, path, expected, error))
    return FALSE;
  if (!sk_spot_is (&change.to, expected, &now))
    return fail_change (&change, ESTALE, "set the permissions and times of", error);
  SK_WRITE_POINT ("checked");
  errnum = sk_dress_in_place (root, &change.to, &now, meta);
  if (errnum != 0)
    return fail_change (&change, errnum, "set the permissions and times of", error);
  if (!look_at_dressed (&change.to, &now, meta, out))
    return fail_change (&change, errno, "look at", error);
  errnum = sk_dress_remember (root, &change.to, out);
  if (errnum != 0)
    return fail_change (&change, errnum, "set the permissions and times of", error);
  sk_barrier_add_dir (root, change.to.dir);
  return TRUE;
}

/* ---- moving and removing ---- */

/* By way of the trash: where it is not possible in one step, and where something is replaced. There
 * it would stay, under its own path, if it could neither be put at its new place nor back. */
static gboolean
move_through_trash (Change *from, Change *to, const SkStat *expected_from,
                    const SkStat *expected_to, const char *trash_batch, GError **error)
{
  SkStat moved;
  int errnum;

  from->slot.dir = sk_trash_slot (from->root, trash_batch, from->path, &from->slot.name, error);
  if (from->slot.dir < 0)
    return FALSE;
  errnum = sk_swap_take (from->root, &from->to, &from->slot, expected_from, &moved);
  if (errnum != 0)
    return fail_change (from, errnum, "move", error);
  switch (change_install (to, &from->slot, expected_to, error))
    {
    case SK_SWAP_DONE:
      return TRUE;
    case SK_SWAP_KEPT:
      sk_swap_put (from->root, &from->slot, &from->to);
      return FALSE;
    case SK_SWAP_LOST:
    default:
      return FALSE;
    }
}

/* On a file system that does not tell "a" from "A" the new name of a file is taken by itself. */
static gboolean
is_itself (SkRoot *root, const SkSpot *to, const SkStat *expected_from)
{
  const SkRootAbilities *can = sk_root_abilities (root);
  SkStat there;

  return (can->case_folding || can->normalising) && sk_stat_at (to->dir, to->name, &there)
         && there.ino == expected_from->ino;
}

static gboolean
move (Change *from, Change *to, const SkStat *expected_from, const SkStat *expected_to,
      const char *trash_batch, GError **error)
{
  SkStat moved;
  int errnum = EOPNOTSUPP;

  if (is_absent (expected_to))
    errnum = sk_swap_relocate (to->root, &from->to, &to->to, expected_from, &moved);
  if (errnum == EOPNOTSUPP || (errnum == EEXIST && is_itself (to->root, &to->to, expected_from)))
    return move_through_trash (from, to, expected_from, expected_to, trash_batch, error);
  return errnum == 0 || fail_change (to, errnum, "move to", error);
}

gboolean
sk_target_rename (SkRoot *root, const char *from, const SkStat *expected_from, const char *to,
                  const SkStat *expected_to, const SkMeta *meta, const char *trash_batch,
                  SkStat *out, GError **error)
{
  g_auto(Change) source = { .to.dir = -1, .slot.dir = -1 },
                  target = { .to.dir = -1, .slot.dir = -1 };
  SkStat moved;
  int errnum = 0;

  if (is_absent (expected_from))
    return sk_fail (error, SK_ERROR_CHANGED, "A move of a file that is not expected to be there");
  if (!change_begin (&source, root, from, expected_from, error)
      || !change_begin_replacing (&target, root, to, expected_to, trash_batch, error))
    return FALSE;
  if (!move (&source, &target, expected_from, expected_to, trash_batch, error))
    return FALSE;
  sk_barrier_add_dir (root, source.to.dir);
  sk_barrier_add_dir (root, target.to.dir);
  if (!look_at_installed (target.to.dir, target.to.name, expected_from, out))
    return fail_change (&target, errno, "look at", error);
  if (meta == NULL)
    return TRUE;

  moved = *out;
  errnum = sk_dress_in_place (root, &target.to, &moved, meta);
  if (errnum != 0)
    return fail_change (&target, errnum, "set the permissions and times of", error);
  if (!look_at_dressed (&target.to, &moved, meta, out))
    return fail_change (&target, errno, "look at", error);
  errnum = sk_dress_remember (root, &target.to, out);
  return errnum == 0
         || fail_change (&target, errnum, "set the permissions and times of", error);
}

static gboolean
remove_directory (Change *change, const SkStat *expected, GError **error)
{
  SkStat now;

  if (!sk_spot_is (&change->to, expected, &now))
    return fail_change (change, ESTALE, "remove the folder", error);
  if (unlinkat (change->to.dir, change->to.name, AT_REMOVEDIR) != 0)
    /* Both mean that it is not empty. */
    return sk_write_fail (error, change->root, errno == EEXIST ? ENOTEMPTY : errno,
                          "remove the folder", change->path);
  sk_barrier_add_dir (change->root, change->to.dir);
  return TRUE;
}

gboolean
sk_target_remove (SkRoot *root, const char *path, const SkStat *expected, const char *trash_batch,
                  GError **error)
{
  g_auto(Change) change = { .to.dir = -1, .slot.dir = -1 };
  SkStat moved;
  int errnum;

  if (is_absent (expected))
    return sk_fail (error, SK_ERROR_CHANGED,
                    "A removal of a file that is not expected to be there");
  if (expected->kind == SK_KIND_DIR)
    return change_begin (&change, root, path, expected, error)
           && remove_directory (&change, expected, error);
  if (!change_begin_replacing (&change, root, path, expected, trash_batch, error))
    return FALSE;

  errnum = sk_swap_take (root, &change.to, &change.slot, expected, &moved);
  if (errnum != 0)
    return fail_change (&change, errnum, "remove", error);
  change_trashed (&change, &moved);
  sk_barrier_add_dir (root, change.to.dir);
  return TRUE;
}

gboolean
sk_target_keep_gone (SkRoot *root, const char *path, GError **error)
{
  return sk_barrier_add_nearest (root, path)
         || sk_write_fail (error, root, errno, "make durable that it is gone", path);
}
