/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Putting objects into a directory, in two steps. First each object is written under a temporary
 * name and its writing to the disk is started. Then one job takes all that were written meanwhile,
 * waits for their data, renames them and makes the directories durable, each once. The first wait
 * commits the file system's journal for all of them, so a hundred small objects cost about as much
 * as one. A kill at any instruction leaves a temporary file, or the whole object. */
#include "sk-store-dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sk-id.h"

#define WRITE_SLICE (4u << 20) /* bytes between two looks at the cancellable */
#define COMPARE_SLICE (256u << 10)
#define BATCH_PUTS 64u              /* written and waiting; each holds two descriptors */
#define BATCH_BYTES (64u << 20)     /* the same, in bytes of objects */
#define TEMP_AGE_MAX (24 * 60 * 60) /* seconds; no put takes a day */
#define SWEEP_MAX 10000u            /* temporary files looked at in one sweep */

typedef struct
{
  SkStoreJob *job; /* NULL once answered */
  int root;
  int fd; /* of the temporary file */
  char temp[sizeof SK_STORE_TEMP + SK_ID_HEX_SIZE];
  SkDirIdentity identity; /* of root */
  gboolean placed;        /* the temporary name is gone */
  GError *error;
} SkDirPut;

/* One turn of the second step. */
typedef struct
{
  SkStoreDir *self;
  GPtrArray *puts;
  GHashTable *dirs; /* key -> descriptor of a directory to be made durable */
  GPtrArray *fresh; /* keys of directories whose own entry will be durable then */
} SkDirCommit;

static SkStoreDir *
sk_dir_put_store (SkDirPut *put)
{
  return SK_STORE_DIR (sk_store_job_store (put->job));
}

/* --- first step: write --- */

static int
sk_dir_put_create (SkDirPut *put)
{
  return sk_store_dir_open_beneath (put->root, put->temp, O_WRONLY | O_CREAT | O_EXCL);
}

static gboolean
sk_dir_put_open_temp (SkDirPut *put, GError **error)
{
  char hex[SK_ID_HEX_SIZE];
  SkId random;

  sk_id_random (&random);
  sk_id_format (&random, hex);
  g_snprintf (put->temp, sizeof put->temp, SK_STORE_TEMP "/%s", hex);
  put->fd = sk_dir_put_create (put);
  if (put->fd < 0 && errno == ENOENT)
    {
      /* Somebody emptied the directory. It is made again only where the marker still is. */
      if (!sk_store_dir_confirm (sk_dir_put_store (put), put->root, error))
        return FALSE;
      mkdirat (put->root, SK_STORE_TEMP, 0777);
      put->fd = sk_dir_put_create (put);
    }
  return put->fd >= 0
         || sk_store_dir_fail (sk_dir_put_store (put), errno, "write", put->job->name, error);
}

static gboolean
sk_dir_put_write (SkDirPut *put, GCancellable *cancellable, GError **error)
{
  gsize len;
  const guint8 *bytes = g_bytes_get_data (put->job->data, &len);

  while (len > 0)
    {
      gssize n;

      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      n = write (put->fd, bytes, MIN (len, WRITE_SLICE));
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return sk_store_dir_fail (sk_dir_put_store (put), errno, "write", put->job->name, error);
      bytes += n;
      len -= (gsize) n;
    }
  /* Only a start: where it is refused, the wait in the second step does all of it. */
  sync_file_range (put->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  return TRUE;
}

/* Lets go of the place, so that a person may unmount it once he has the answer. */
static void
sk_dir_put_close (SkDirPut *put)
{
  if (put->fd >= 0)
    {
      close (put->fd);
      if (!put->placed)
        unlinkat (put->root, put->temp, 0);
    }
  if (put->root >= 0)
    close (put->root);
  put->fd = -1;
  put->root = -1;
}

/* Answers, once. */
static void
sk_dir_put_finish (SkDirPut *put)
{
  SkStoreJob *job = g_steal_pointer (&put->job);

  sk_dir_put_close (put);
  if (put->error != NULL)
    sk_store_job_fail (job, g_steal_pointer (&put->error));
  else
    sk_store_job_return (job, NULL, NULL);
  g_free (put);
}

/* --- second step: the directories of a turn --- */

static char *
sk_dir_key (const SkDirIdentity *identity, const char *path)
{
  return g_strdup_printf ("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x/%s", identity->dev,
                          identity->ino, path);
}

static void
sk_dir_close (gpointer fd)
{
  close (GPOINTER_TO_INT (fd));
}

/* The descriptor of the directory @path, which will be made durable at the end of the turn. -1 and
 * errno. */
static int
sk_dir_commit_open (SkDirCommit *commit, SkDirPut *put, const char *path)
{
  g_autofree char *key = sk_dir_key (&put->identity, path);
  gpointer known;
  int fd;

  if (g_hash_table_lookup_extended (commit->dirs, key, NULL, &known))
    return GPOINTER_TO_INT (known);
  fd = sk_store_dir_open_beneath (put->root, path[0] != '\0' ? path : ".", O_RDONLY | O_DIRECTORY);
  if (fd >= 0)
    g_hash_table_insert (commit->dirs, g_steal_pointer (&key), GINT_TO_POINTER (fd));
  return fd;
}

/* Whether the entry of @path in its parent is known to be durable. */
static gboolean
sk_dir_commit_is_durable (SkDirCommit *commit, const char *key)
{
  gboolean durable;

  g_mutex_lock (&commit->self->lock);
  durable = g_hash_table_contains (commit->self->durable, key);
  g_mutex_unlock (&commit->self->lock);
  return durable;
}

/* Opens the directory of the put's object and makes it and those above where they are missing. */
static int
sk_dir_commit_open_parent (SkDirCommit *commit, SkDirPut *put)
{
  const char *name = put->job->name;

  for (const char *slash = strchr (name, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      g_autofree char *path = g_strndup (name, (gsize) (slash - name));
      g_autofree char *above = g_path_get_dirname (path);
      g_autofree char *key = sk_dir_key (&put->identity, path);
      gboolean made = FALSE;

      if (!sk_dir_commit_is_durable (commit, key))
        {
          made = mkdirat (put->root, path, 0777) == 0;
          if ((!made && errno != EEXIST)
              || sk_dir_commit_open (commit, put, above[0] != '.' ? above : "") < 0)
            return -1;
          g_ptr_array_add (commit->fresh, g_steal_pointer (&key));
        }
    }
  {
    g_autofree char *parent = g_path_get_dirname (name);

    return sk_dir_commit_open (commit, put, parent[0] != '.' ? parent : "");
  }
}

/* Somebody removed directories that were known: they are looked at again. */
static void
sk_dir_commit_forget_durable (SkDirCommit *commit)
{
  g_mutex_lock (&commit->self->lock);
  g_hash_table_remove_all (commit->self->durable);
  g_mutex_unlock (&commit->self->lock);
}

/* --- second step: one object --- */

/* Whether the file holds exactly the object's bytes. */
static gboolean
sk_dir_put_is_same (SkDirPut *put, int fd)
{
  g_autofree guint8 *slice = g_malloc (COMPARE_SLICE);
  gsize len;
  const guint8 *bytes = g_bytes_get_data (put->job->data, &len);
  struct stat info;

  if (fstat (fd, &info) != 0 || !S_ISREG (info.st_mode) || (guint64) info.st_size != len)
    return FALSE;
  while (len > 0)
    {
      gssize n = read (fd, slice, MIN (len, COMPARE_SLICE));

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0 || memcmp (slice, bytes, (gsize) n) != 0)
        return FALSE;
      bytes += n;
      len -= (gsize) n;
    }
  return TRUE;
}

/* There is an object of that name already. */
static gboolean
sk_dir_put_meet (SkDirPut *put, int parent, const char *base, GError **error)
{
  SkStoreDir *self = sk_dir_put_store (put);
  const char *name = put->job->name;
  int fd = openat (parent, base, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  gboolean same = fd >= 0 && sk_dir_put_is_same (put, fd);

  /* Its writer may have been killed before he waited for the disk. */
  if (same && fdatasync (fd) != 0)
    same = FALSE;
  if (fd >= 0)
    close (fd);
  if (same)
    return TRUE;

  if (!sk_store_name_is_content (name))
    return sk_fail (error, SK_ERROR_EXISTS, "Storage “%s” has another “%s” already",
                    sk_store_place (SK_STORE (self)), name);
  /* What is there is damaged, unless it is ours that is. */
  if (!sk_store_verify (name, put->job->data, error))
    return FALSE;
  if (renameat (put->root, put->temp, parent, base) != 0)
    return sk_store_dir_fail (self, errno, "replace the damaged", name, error);
  put->placed = TRUE;
  return TRUE;
}

/* 0 or errno; EEXIST: there is one. */
static int
sk_dir_put_rename (SkDirPut *put, int parent, const char *base)
{
  struct stat info;

  if ((put->job->flags & SK_PUT_OVERWRITE) == 0)
    {
      if (renameat2 (put->root, put->temp, parent, base, RENAME_NOREPLACE) == 0)
        return 0;
      if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return errno;
      /* Network and FUSE file systems: a look and a rename. Every object has one writer, and two
       * writers of one content name write the same bytes, so the gap between the two does no harm.
       */
      if (fstatat (parent, base, &info, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    }
  return renameat (put->root, put->temp, parent, base) == 0 ? 0 : errno;
}

static gboolean
sk_dir_put_place (SkDirCommit *commit, SkDirPut *put, GError **error)
{
  const char *slash = strrchr (put->job->name, '/');
  const char *base = slash != NULL ? slash + 1 : put->job->name;
  int parent = sk_dir_commit_open_parent (commit, put);
  int code;

  if (parent < 0 && errno == ENOENT)
    {
      sk_dir_commit_forget_durable (commit);
      parent = sk_dir_commit_open_parent (commit, put);
    }
  if (parent < 0)
    return sk_store_dir_fail (commit->self, errno, "open the directory of", put->job->name, error);

  code = sk_dir_put_rename (put, parent, base);
  if (code == EEXIST)
    return sk_dir_put_meet (put, parent, base, error);
  if (code != 0)
    return sk_store_dir_fail (commit->self, code, "write", put->job->name, error);
  put->placed = TRUE;
  return TRUE;
}

/* --- second step: a turn --- */

/* Some file systems have nothing to do for a directory and say so. */
static gboolean
sk_dir_sync (int fd)
{
  return fsync (fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP
         || errno == EROFS;
}

static int
sk_dir_commit_sync (SkDirCommit *commit)
{
  GHashTableIter iter;
  gpointer fd;

  g_hash_table_iter_init (&iter, commit->dirs);
  while (g_hash_table_iter_next (&iter, NULL, &fd))
    {
      if (!sk_dir_sync (GPOINTER_TO_INT (fd)))
        return errno;
    }

  g_mutex_lock (&commit->self->lock);
  for (guint i = 0; i < commit->fresh->len; i++)
    g_hash_table_add (commit->self->durable, g_steal_pointer (&commit->fresh->pdata[i]));
  g_mutex_unlock (&commit->self->lock);
  return 0;
}

static void
sk_dir_commit_answer (SkDirCommit *commit, int sync_code)
{
  for (guint i = 0; i < commit->puts->len; i++)
    sk_dir_put_close (g_ptr_array_index (commit->puts, i));
  g_hash_table_remove_all (commit->dirs);

  for (guint i = 0; i < commit->puts->len; i++)
    {
      SkDirPut *put = g_ptr_array_index (commit->puts, i);

      if (put->error == NULL && sync_code != 0)
        sk_store_dir_fail (commit->self, sync_code, "make durable", put->job->name, &put->error);
      else if (put->error == NULL && strcmp (put->job->name, SK_STORE_MARKER) == 0)
        sk_store_dir_marked (commit->self);
      sk_dir_put_finish (put);
    }
}

/* (transfer full) @puts; the caller holds @self. */
static void
sk_dir_commit (SkStoreDir *self, GPtrArray *puts)
{
  g_autoptr(GPtrArray) owned = puts;
  g_autoptr(GHashTable) dirs
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, sk_dir_close);
  g_autoptr(GPtrArray) fresh = g_ptr_array_new_with_free_func (g_free);
  SkDirCommit commit = { .self = self, .puts = puts, .dirs = dirs, .fresh = fresh };

  for (guint i = 0; i < puts->len; i++)
    {
      SkDirPut *put = g_ptr_array_index (puts, i);

      if (fdatasync (put->fd) != 0)
        sk_store_dir_fail (self, errno, "write", put->job->name, &put->error);
    }
  for (guint i = 0; i < puts->len; i++)
    {
      SkDirPut *put = g_ptr_array_index (puts, i);

      if (put->error == NULL)
        sk_dir_put_place (&commit, put, &put->error);
    }
  sk_dir_commit_answer (&commit, sk_dir_commit_sync (&commit));
}

static GPtrArray *
sk_dir_take_placing (SkStoreDir *self)
{
  GPtrArray *puts;

  g_mutex_lock (&self->lock);
  puts = g_steal_pointer (&self->placing);
  self->placing = g_ptr_array_new ();
  self->placing_bytes = 0;
  g_mutex_unlock (&self->lock);
  return puts;
}

/* What the pool is given for the second step. */
typedef struct
{
  SkStoreDir *self;
  gboolean ran;
} SkDirCommitJob;

/* What is written from here on asks for a turn of its own, so nothing is left without one. */
static GPtrArray *
sk_dir_take_turn (SkStoreDir *self)
{
  g_mutex_lock (&self->lock);
  self->commit_queued = FALSE;
  g_mutex_unlock (&self->lock);
  return sk_dir_take_placing (self);
}

static void
sk_dir_commit_run (gpointer data)
{
  SkDirCommitJob *job = data;

  job->ran = TRUE;
  sk_dir_commit (job->self, sk_dir_take_turn (job->self));
}

static void
sk_dir_commit_job_free (gpointer data)
{
  SkDirCommitJob *job = data;

  if (!job->ran)
    {
      g_autoptr(GPtrArray) puts = sk_dir_take_turn (job->self);

      for (guint i = 0; i < puts->len; i++)
        {
          SkDirPut *put = g_ptr_array_index (puts, i);

          g_set_error_literal (&put->error, SK_ERROR, SK_ERROR_CANCELLED,
                               "The storage is being closed");
          sk_dir_put_finish (put);
        }
    }
  g_object_unref (job->self);
  g_free (job);
}

static void
sk_dir_put_queue (SkStoreDir *self, SkDirPut *put)
{
  GMainContext *context = g_task_get_context (put->job->task);
  gboolean push;
  gboolean full;

  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->placing, put);
  self->placing_bytes += g_bytes_get_size (put->job->data);
  full = self->placing->len >= BATCH_PUTS || self->placing_bytes >= BATCH_BYTES;
  push = !full && !self->commit_queued;
  self->commit_queued |= push;
  g_mutex_unlock (&self->lock);

  if (full)
    sk_dir_commit (self, sk_dir_take_placing (self));
  if (push)
    {
      SkDirCommitJob *job = g_new0 (SkDirCommitJob, 1);

      job->self = g_object_ref (self);
      sk_pool_push (sk_store_pool (SK_STORE (self)), sk_dir_commit_run, NULL, job,
                    sk_dir_commit_job_free, NULL, context);
    }
}

gboolean
sk_store_dir_put_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  /* Held, because another thread may answer, and drop the task's reference, before this returns. */
  g_autoptr(SkStoreDir) self = g_object_ref (SK_STORE_DIR (sk_store_job_store (job)));
  SkDirPut *put = g_new0 (SkDirPut, 1);

  put->job = job;
  put->fd = -1;
  put->root = sk_store_dir_open (self, &put->error);
  if (put->root >= 0 && sk_store_dir_identify (put->root, &put->identity)
      && sk_dir_put_open_temp (put, &put->error)
      && sk_dir_put_write (put, cancellable, &put->error))
    {
      sk_dir_put_queue (self, put);
      return TRUE;
    }
  if (put->error == NULL)
    sk_store_dir_fail (self, EIO, "look at", self->path, &put->error);
  sk_dir_put_finish (put);
  return TRUE;
}

/* --- what killed puts left --- */

void
sk_store_dir_sweep (int root)
{
  int fd = sk_store_dir_open_beneath (root, SK_STORE_TEMP, O_RDONLY | O_DIRECTORY);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *entry;
  guint n = 0;

  if (dir == NULL)
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  while (n++ < SWEEP_MAX && (entry = readdir (dir)) != NULL)
    {
      struct stat info;

      if (fstatat (fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG (info.st_mode)
          && info.st_mtim.tv_sec < time (NULL) - TEMP_AGE_MAX)
        unlinkat (fd, entry->d_name, 0);
    }
  closedir (dir);
}
