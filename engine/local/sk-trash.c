/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trash of a root. A batch mirrors the paths of what was replaced or removed, with their names
 * untouched; the second version of one path in a batch goes to a batch of the same second with the
 * next number, so that every path in the trash is an original path, also one with a name of 255
 * bytes. */
#include "sk-write-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sk-path.h"

#define SECOND_US ((gint64) G_USEC_PER_SEC)
#define DAY_US (24 * 60 * 60 * SECOND_US)
/* "YYYYMMDDTHHMMSSZ" and "-xxxx". */
#define STAMP_SIZE 16u
#define BATCH_SIZE (STAMP_SIZE + 5u)
/* Batches tried in order for one path; then at random. */
#define SLOT_STEPS 64u
#define SLOT_TRIES 4096u
/* Entries in one half of what is remembered for sk_trash_touched; about 64 bytes each. */
#define NOTES_MAX 32768u
/* A write stamps mtime and ctime in one go; a move only the ctime. */
#define SAME_STAMP_NS (G_GINT64_CONSTANT (10) * 1000 * 1000)

typedef struct
{
  guint64 ino;
  gint64 mtime;
  guint64 size;
} SkTrashed;

/* ---- names of batches ---- */

char *
sk_trash_new_batch (gint64 wall_us)
{
  g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc (wall_us / SECOND_US);
  g_autofree char *stamp = when != NULL ? g_date_time_format (when, "%Y%m%dT%H%M%SZ") : NULL;

  /* A clock before 1970 or after 9999 gives no such stamp. */
  if (stamp == NULL || strlen (stamp) != STAMP_SIZE)
    return g_strdup_printf ("19700101T000000Z-%04x", g_random_int () & 0xffff);
  return g_strdup_printf ("%s-%04x", stamp, g_random_int () & 0xffff);
}

/* FALSE when @batch is no name of a batch. */
static gboolean
batch_time (const char *batch, gint64 *wall_us)
{
  g_autoptr(GDateTime) when = NULL;
  int f[6], used = 0;

  if (strlen (batch) != BATCH_SIZE || batch[STAMP_SIZE] != '-'
      || strspn (batch + STAMP_SIZE + 1, "0123456789abcdef") != BATCH_SIZE - STAMP_SIZE - 1
      || sscanf (batch, "%4d%2d%2dT%2d%2d%2dZ%n", &f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &used)
             != 6
      || used != (int) STAMP_SIZE)
    return FALSE;
  when = g_date_time_new_utc (f[0], f[1], f[2], f[3], f[4], f[5]);
  if (when == NULL)
    return FALSE;
  *wall_us = g_date_time_to_unix (when) * SECOND_US;
  return TRUE;
}

/* The @step-th batch of the same second. */
static char *
batch_step (const char *batch, guint step)
{
  guint64 number = g_ascii_strtoull (batch + STAMP_SIZE + 1, NULL, 16);

  if (step >= SLOT_STEPS)
    number = g_random_int ();
  else
    number += step;
  return g_strdup_printf ("%.*s-%04x", (int) STAMP_SIZE, batch, (guint) (number & 0xffff));
}

static char *
trash_path (const char *batch, const char *path)
{
  return path[0] != '\0' ? g_strconcat (SK_OWN_TRASH "/", batch, "/", path, NULL)
                         : g_strconcat (SK_OWN_TRASH "/", batch, NULL);
}

/* ---- into the trash ---- */

/* The directory for @name below @batch. -1 without @error: the name or its directory's is taken
 * there. */
static int
slot_in (SkRoot *root, const char *batch, const char *parent, const char *name, GError **error)
{
  g_autofree char *path = trash_path (batch, parent);
  int dir = sk_root_openat (root, path, O_RDONLY | O_DIRECTORY);
  SkStat stat;

  if (dir < 0 && (errno == ENOTDIR || errno == ELOOP))
    return -1;
  if (dir < 0)
    dir = sk_dirs_open_own (root, path, error);
  if (dir < 0)
    return -1;
  if (!sk_stat_at (dir, name, &stat))
    {
      if (errno == ENOENT)
        return dir;
      sk_write_fail (error, root, errno, "look at", path);
    }
  close (dir);
  return -1;
}

int
sk_trash_slot (SkRoot *root, const char *batch, const char *path, const char **name, GError **error)
{
  g_autofree char *parent = sk_path_parent (path);
  g_autofree char *own = NULL;
  gint64 when;

  if (batch == NULL || !batch_time (batch, &when))
    batch = own = sk_trash_new_batch (g_get_real_time ());
  *name = sk_path_name (path);
  for (guint step = 0; step < SLOT_TRIES; step++)
    {
      g_autofree char *there = batch_step (batch, step);
      g_autoptr(GError) failed = NULL;
      int dir = slot_in (root, there, parent, *name, &failed);

      if (dir >= 0)
        return dir;
      if (failed != NULL)
        {
          g_autofree char *shown = sk_path_display (path);

          g_propagate_prefixed_error (error, g_steal_pointer (&failed),
                                      "Cannot move \"%s\" to the trash: ", shown);
          return -1;
        }
    }
  sk_write_fail (error, root, EEXIST, "move to the trash", path);
  return -1;
}

static guint
trashed_hash (gconstpointer key)
{
  return g_int64_hash (&((const SkTrashed *) key)->ino);
}

static gboolean
trashed_equal (gconstpointer a, gconstpointer b)
{
  return ((const SkTrashed *) a)->ino == ((const SkTrashed *) b)->ino;
}

static void
note (SkRoot *root, const SkStat *stat, gint64 mtime, guint arrivals)
{
  SkWriterState *state;
  g_autoptr(GMutexLocker) locker = NULL;
  SkTrashed *trashed;

  if (stat->kind != SK_KIND_FILE)
    return;
  state = sk_writer_state (root);
  locker = g_mutex_locker_new (&state->lock);
  if (state->trashed[0] == NULL || g_hash_table_size (state->trashed[0]) >= NOTES_MAX)
    {
      g_clear_pointer (&state->trashed[1], g_hash_table_unref);
      state->trashed[1] = state->trashed[0];
      state->trashed[0] = g_hash_table_new_full (trashed_hash, trashed_equal, g_free, NULL);
    }
  trashed = g_new0 (SkTrashed, 1);
  trashed->ino = stat->ino;
  trashed->mtime = mtime;
  trashed->size = stat->size;
  g_hash_table_replace (state->trashed[0], trashed, trashed);
  state->arrivals += arrivals;
}

void
sk_trash_note (SkRoot *root, const SkStat *stat)
{
  note (root, stat, stat->mtime, 1);
}

void
sk_trash_note_lost (SkRoot *root, const SkSpot *slot)
{
  SkStat stat;

  /* A time that no file has: it differs from this note whatever happens. */
  if (sk_stat_at (slot->dir, slot->name, &stat))
    note (root, &stat, G_MININT64, 1);
}

guint
sk_trash_arrivals (SkRoot *root)
{
  SkWriterState *state = sk_writer_state (root);
  g_autoptr(GMutexLocker) locker = g_mutex_locker_new (&state->lock);

  return state->arrivals;
}

/* ---- walking ---- */

static void
trash_item_free (SkTrashItem *self)
{
  if (self == NULL)
    return;
  g_free (self->batch);
  g_free (self->path);
  g_free (self);
}

typedef struct
{
  const char *batch, *path;
  int dir;
  const char *name;
  SkStat stat;
} Found;
typedef void (*FoundFunc) (SkRoot *root, const Found *found, gpointer data);

/* One directory of a batch; its sub-directories are added to @dirs. */
static void
walk_dir (SkRoot *root, const char *batch, const char *below, GPtrArray *dirs, FoundFunc func,
          gpointer data)
{
  g_autofree char *path = trash_path (batch, below);
  int fd = sk_root_openat (root, path, O_RDONLY | O_DIRECTORY);
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
      Found found = { .batch = batch, .dir = dirfd (dir), .name = item->d_name };
      g_autofree char *child = NULL;

      if (strcmp (item->d_name, ".") == 0 || strcmp (item->d_name, "..") == 0
          || !sk_stat_at (dirfd (dir), item->d_name, &found.stat))
        continue;
      child = sk_path_join (below, item->d_name);
      found.path = child;
      if (found.stat.kind != SK_KIND_DIR)
        func (root, &found, data);
      else if (!found.stat.mount_root && strlen (child) <= SK_PATH_MAX)
        g_ptr_array_add (dirs, g_steal_pointer (&child));
    }
  closedir (dir);
}

/* Everything in @batch that is not a directory. The directories, parents before children. (transfer
 * full) */
static GPtrArray *
walk_batch (SkRoot *root, const char *batch, GCancellable *cancellable, FoundFunc func,
            gpointer data)
{
  GPtrArray *dirs = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (dirs, g_strdup (""));
  for (guint i = 0; i < dirs->len && !g_cancellable_is_cancelled (cancellable); i++)
    walk_dir (root, batch, g_ptr_array_index (dirs, i), dirs, func, data);
  return dirs;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Oldest first. NULL on an error; no trash is no batches. */
static GPtrArray *
list_batches (SkRoot *root, GError **error)
{
  g_autoptr(GPtrArray) batches = g_ptr_array_new_with_free_func (g_free);
  int fd = sk_root_openat (root, SK_OWN_TRASH, O_RDONLY | O_DIRECTORY);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *item;
  gint64 when;

  if (dir == NULL)
    {
      int errnum = errno;

      if (fd >= 0)
        close (fd);
      if (fd < 0 && errnum == ENOENT)
        return g_steal_pointer (&batches);
      sk_write_fail (error, root, errnum, "read the trash", SK_OWN_TRASH);
      return NULL;
    }
  while ((item = readdir (dir)) != NULL)
    if (batch_time (item->d_name, &when))
      g_ptr_array_add (batches, g_strdup (item->d_name));
  closedir (dir);
  g_ptr_array_sort (batches, compare_names);
  return g_steal_pointer (&batches);
}

static void
add_item (SkRoot *root, const Found *found, gpointer data)
{
  SkTrashItem *item = g_new0 (SkTrashItem, 1);

  item->batch = g_strdup (found->batch);
  item->path = g_strdup (found->path);
  item->stat = found->stat;
  g_ptr_array_add (data, item);
}

static int
compare_items (gconstpointer a, gconstpointer b)
{
  const SkTrashItem *const *x = a, *const *y = b;
  int order = strcmp ((*x)->batch, (*y)->batch);

  return order != 0 ? order : strcmp ((*x)->path, (*y)->path);
}

/* What @func adds to an array, of all batches that began at @since or later. */
static GPtrArray *
collect (SkRoot *root, gint64 since, FoundFunc func, GError **error)
{
  g_autoptr(GPtrArray) batches = list_batches (root, error);
  g_autoptr(GPtrArray) items = NULL;

  if (batches == NULL)
    return NULL;
  items = g_ptr_array_new_with_free_func ((GDestroyNotify) trash_item_free);
  for (guint i = 0; i < batches->len; i++)
    {
      const char *batch = g_ptr_array_index (batches, i);
      g_autoptr(GPtrArray) dirs = NULL;
      gint64 when = 0;

      if (batch_time (batch, &when) && when >= since)
        dirs = walk_batch (root, batch, NULL, func, items);
    }
  g_ptr_array_sort (items, compare_items);
  return g_steal_pointer (&items);
}

GPtrArray *
sk_trash_list (SkRoot *root, GError **error)
{
  return collect (root, G_MININT64, add_item, error);
}

/* ---- looking once more ---- */

/* -1: not remembered (an earlier run), else whether it was written to. */
static int
differs_from_note (SkRoot *root, const SkStat *stat)
{
  SkWriterState *state = sk_writer_state (root);
  g_autoptr(GMutexLocker) locker = g_mutex_locker_new (&state->lock);
  SkTrashed key = { .ino = stat->ino };

  for (guint i = 0; i < G_N_ELEMENTS (state->trashed); i++)
    {
      const SkTrashed *known
          = state->trashed[i] != NULL ? g_hash_table_lookup (state->trashed[i], &key) : NULL;

      if (known != NULL)
        return known->mtime != stat->mtime || known->size != stat->size;
    }
  return -1;
}

static void
add_touched (SkRoot *root, const Found *found, gpointer data)
{
  const SkStat *stat = &found->stat;
  gint64 when = 0;
  int differs;

  /* With another name elsewhere nothing is lost, whoever writes. */
  if (stat->kind != SK_KIND_FILE || stat->nlink != 1)
    return;
  differs = differs_from_note (root, stat);
  if (differs < 0)
    differs = batch_time (found->batch, &when) && stat->mtime / 1000 >= when
              && stat->mtime <= stat->ctime && stat->ctime - stat->mtime < SAME_STAMP_NS;
  if (differs > 0)
    add_item (root, found, data);
}

GPtrArray *
sk_trash_touched (SkRoot *root, gint64 since)
{
  GPtrArray *items = collect (root, since, add_touched, NULL);

  return items != NULL ? items
                       : g_ptr_array_new_with_free_func ((GDestroyNotify) trash_item_free);
}

void
sk_trash_is_seen (SkRoot *root, const SkTrashItem *item)
{
  note (root, &item->stat, item->stat.mtime, 0);
}

char *
sk_trash_item_path (const SkTrashItem *item)
{
  return trash_path (item->batch, item->path);
}

/* ---- out of the trash ---- */

gboolean
sk_trash_restore (SkRoot *root, const SkTrashItem *item, const char *to_path, GError **error)
{
  g_autofree char *from_path = NULL;
  SkSpot from, to;
  gint64 when;
  int errnum;

  if (!batch_time (item->batch, &when))
    return sk_fail (error, SK_ERROR_USAGE, "There is no such batch in the trash");
  if (!sk_path_check (item->path, strlen (item->path), error)
      || !sk_path_check (to_path, strlen (to_path), error))
    return FALSE;
  from_path = trash_path (item->batch, item->path);
  from.dir = sk_root_open_parent (root, from_path, &from.name, error);
  if (from.dir < 0)
    return FALSE;
  to.dir = sk_dirs_open_parent (root, to_path, &to.name, error);
  if (to.dir < 0)
    {
      close (from.dir);
      return FALSE;
    }

  errnum = sk_swap_put (root, &from, &to);
  if (errnum == 0)
    {
      sk_barrier_add_dir (root, from.dir);
      sk_barrier_add_dir (root, to.dir);
    }
  close (from.dir);
  close (to.dir);
  return errnum == 0 || sk_write_fail (error, root, errnum, "restore", to_path);
}

/* ---- expiry ---- */

typedef struct
{
  gboolean all;     /* the batch is older than is kept */
  GHashTable *seen; /* paths of which the day's newest version was met */
  guint removed;
} Expiry;

static void
expire_item (SkRoot *root, const Found *found, gpointer data)
{
  Expiry *expiry = data;

  if (!expiry->all && g_hash_table_add (expiry->seen, g_strdup (found->path)))
    return;
  if (unlinkat (found->dir, found->name, 0) == 0)
    expiry->removed++;
}

/* Directories that became empty, children first. */
static void
prune (SkRoot *root, const char *batch, GPtrArray *dirs)
{
  for (guint i = dirs->len; i-- > 0;)
    {
      g_autofree char *path = trash_path (batch, g_ptr_array_index (dirs, i));
      const char *name;
      int dir = sk_root_open_parent (root, path, &name, NULL);

      if (dir < 0)
        continue;
      unlinkat (dir, name, AT_REMOVEDIR);
      close (dir);
    }
}

guint
sk_trash_expire (SkRoot *root, gint64 wall_us, gint64 keep_us, GCancellable *cancellable)
{
  g_autoptr(GPtrArray) batches = list_batches (root, NULL);
  g_autoptr(GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Expiry expiry = { .seen = seen };
  gint64 day = G_MAXINT64;

  /* Newest first. */
  for (guint i = batches != NULL ? batches->len : 0;
       i-- > 0 && !g_cancellable_is_cancelled (cancellable);)
    {
      const char *batch = g_ptr_array_index (batches, i);
      g_autoptr(GPtrArray) dirs = NULL;
      gint64 when = 0;

      if (!batch_time (batch, &when) || (wall_us - when <= DAY_US && wall_us - when <= keep_us))
        continue;
      if (when / DAY_US != day)
        g_hash_table_remove_all (seen);
      day = when / DAY_US;
      expiry.all = wall_us - when > keep_us;
      dirs = walk_batch (root, batch, cancellable, expire_item, &expiry);
      if (!g_cancellable_is_cancelled (cancellable))
        prune (root, batch, dirs);
    }
  return expiry.removed;
}
