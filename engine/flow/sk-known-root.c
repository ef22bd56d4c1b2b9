/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-known-root.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* Files that are compared when the numbers are new, so many of them per directory, and so many in a hundred that have to be right. */
#define SAMPLE_FILES 1000u
#define SAMPLE_PER_DIR 64u
#define SAMPLE_PERCENT 90u

typedef struct
{
  const SkFolderRow *row;
  GPtrArray *paths;              /* char* */
  GArray *bases;                 /* SkBase; numbers only */
} Sample;

static gboolean
add_children (SkSession *session, Sample *sample, gint64 parent, const char *path, GPtrArray *dirs, GError **error)
{
  g_autoptr(GPtrArray) children = sk_index_children (session->index, sample->row->row, parent, TRUE, error);
  guint step, n = 0;

  if (children == NULL)
    return FALSE;
  step = MAX (1, children->len / SAMPLE_PER_DIR);
  for (guint i = 0; i < children->len && sample->paths->len < SAMPLE_FILES; i++)
    {
      SkNode *child = children->pdata[i];

      if (child->base.kind == SK_KIND_DIR)
        g_ptr_array_add (dirs, sk_path_join (path, child->name));
      if (child->base.kind != SK_KIND_FILE || n++ % step != 0)
        continue;
      g_ptr_array_add (sample->paths, sk_path_join (path, child->name));
      g_array_append_val (sample->bases, child->base);
      g_array_index (sample->bases, SkBase, sample->bases->len - 1).vector = NULL;
    }
  return TRUE;
}

/* Index thread: files of many directories rather than many of one. */
static gboolean
take_sample (SkSession *session, gpointer data, GError **error)
{
  Sample *sample = data;
  g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (dirs, g_strdup (""));
  for (guint i = 0; i < dirs->len && sample->paths->len < SAMPLE_FILES; i++)
    {
      const char *path = dirs->pdata[i];
      g_autoptr(GError) local = NULL;
      g_autoptr(SkNode) node = *path != '\0' ? sk_index_node (session->index, sample->row->row, path, &local) : NULL;

      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if ((*path == '\0' || node != NULL) && !add_children (session, sample, node != NULL ? node->row : 0, path, dirs, error))
        return FALSE;
    }
  return TRUE;
}

/* Most of what the index knows lies here, with the same size and time. */
static gboolean
looks_right (SkSession *session, const SkFolderRow *row, SkRoot *root)
{
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GArray) bases = g_array_new (FALSE, FALSE, sizeof (SkBase));
  Sample sample = { .row = row, .paths = paths, .bases = bases };
  guint right = 0;

  if (!sk_session_index (session, take_sample, &sample, NULL))
    return FALSE;
  for (guint i = 0; i < paths->len; i++)
    {
      const SkBase *base = &g_array_index (bases, SkBase, i);
      SkStat stat;

      right += sk_root_stat (root, paths->pdata[i], &stat, NULL) && stat.kind == SK_KIND_FILE && stat.size == base->size
               && stat.mtime == base->stat_mtime;
    }
  return right * 100 >= paths->len * SAMPLE_PERCENT;
}

typedef struct
{
  const SkFolderRow *row;
  SkRootNumbers numbers;
  gboolean ask;
} Adopt;

static gboolean
set_numbers (SkSession *session, const Adopt *adopt, GError **error)
{
  return sk_index_folder_set_numbers (session->index, adopt->row->row, adopt->numbers.dev, adopt->numbers.ino, &adopt->numbers.fsid, error);
}

/* Index thread, in a transaction. */
static gboolean
adopt_numbers (SkSession *session, gpointer data, GError **error)
{
  Adopt *adopt = data;
  g_autofree char *key = g_strdup_printf ("ask-removed:%" G_GINT64_FORMAT, adopt->row->row);

  return set_numbers (session, adopt, error) && (!adopt->ask || sk_index_set_u64 (session->index, key, 1, error));
}

/* Right marker, other numbers. A folder whose numbers were never known (its database was lost) has no bases either. */
static SkRoot *
look_closer (SkSession *session, const SkFolderRow *row, char **why)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkRoot) root = sk_root_open (row->path, &error);
  Adopt adopt = { .row = row, .ask = row->root_dev != 0 || row->root_ino != 0 };

  if (root == NULL)
    {
      *why = g_strdup (error->message);
      return NULL;
    }
  if (!looks_right (session, row, root))
    {
      *why = g_strdup_printf ("“%s” carries the right marker but is on another disk than before and does not hold the files it held: an older copy, or "
                              "another one. Nothing is deleted. Put the right one back, or say 'skerryctl resolve ISSUE accept' if this is the folder: "
                              "what is missing then comes back", row->path);
      return NULL;
    }
  sk_root_numbers (root, &adopt.numbers);
  if (!sk_session_transact (session, adopt_numbers, &adopt, &error))
    {
      *why = g_strdup (error->message);
      return NULL;
    }
  return g_steal_pointer (&root);
}

static void
unlock_root (gpointer fd)
{
  close (GPOINTER_TO_INT (fd));
}

static char *
lock_key (SkRoot *root)
{
  SkRootNumbers numbers;

  sk_root_numbers (root, &numbers);
  return g_strdup_printf ("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, numbers.dev, numbers.ino);
}

/* Two engines on one directory would take each other's work for the person's. The lock is on the directory itself, and ends when no folder needs it;
 * where a file system has no locks there is none. */
static gboolean
lock_root (SkSession *session, SkRoot *root, char **why)
{
  g_autofree char *key = lock_key (root);
  int fd;

  if (session->root_locks == NULL)
    session->root_locks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, unlock_root);
  if (g_hash_table_contains (session->root_locks, key))
    return TRUE;
  fd = openat (sk_root_fd (root), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return TRUE;
  if (flock (fd, LOCK_EX | LOCK_NB) != 0)
    {
      int errnum = errno;

      close (fd);
      if (errnum != EWOULDBLOCK)
        return TRUE;
      *why = g_strdup_printf ("“%s” is in use by another engine of this device; detach it there, or stop that engine", sk_root_path (root));
      return FALSE;
    }
  g_hash_table_insert (session->root_locks, g_steal_pointer (&key), GINT_TO_POINTER (fd));
  return TRUE;
}

static gboolean
claim (SkSession *session, SkRoot *root, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autofree char *key = lock_key (root), *why = NULL;

  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *folder = config->folders->pdata[i];
      g_autofree char *taken = folder->root != NULL ? lock_key (folder->root) : NULL;

      if (g_strcmp0 (key, taken) == 0)
        return sk_fail (error, SK_ERROR_USAGE, "“%s” is in use already: it is the folder “%s”, attached at “%s”", sk_root_path (root), folder->name,
                        folder->path);
    }
  return lock_root (session, root, &why) || sk_fail (error, SK_ERROR_BUSY, "%s", why);
}

gboolean
sk_known_root_claim (SkSession *session, SkRoot *root, GError **error)
{
  gboolean ok;

  g_mutex_lock (&session->reloading);
  ok = claim (session, root, error);
  g_mutex_unlock (&session->reloading);
  return ok;
}

void
sk_known_root_release (SkSession *session, SkConfig *config)
{
  g_autoptr(GHashTable) needed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer key;

  if (session->root_locks == NULL)
    return;
  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *folder = config->folders->pdata[i];

      if (folder->root != NULL)
        g_hash_table_add (needed, lock_key (folder->root));
    }
  g_hash_table_iter_init (&iter, session->root_locks);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (!g_hash_table_contains (needed, key))
      g_hash_table_iter_remove (&iter);
}

static SkRoot *
find_root (SkSession *session, const SkFolderRow *row, const SkFlowFolder *known, char **why)
{
  g_autoptr(SkRoot) root = NULL;
  g_autoptr(GError) error = NULL;
  SkRootNumbers numbers = { .dev = row->root_dev, .ino = row->root_ino, .fsid = row->root_fsid };

  if (known != NULL && known->root != NULL && g_strcmp0 (known->path, row->path) == 0)
    root = sk_root_ref (known->root);
  else
    root = sk_root_open (row->path, &error);
  if (root == NULL)
    {
      *why = g_strdup_printf ("“%s” is not there (%s); nothing is deleted, syncing goes on when it is back", row->path, error->message);
      return NULL;
    }
  switch (sk_root_check (root, &row->id, &numbers))
    {
    case SK_ROOT_OK:
      return g_steal_pointer (&root);
    case SK_ROOT_NEW_NUMBERS:
      return look_closer (session, row, why);
    case SK_ROOT_NO_MARKER:
      *why = g_strdup_printf ("“%s” is there but its marker (.skerry/folder) is not: another disk, or the folder was emptied. Nothing is deleted. Put it "
                              "back, or say 'skerryctl resolve ISSUE accept' if this is the folder: what is missing then comes back", row->path);
      return NULL;
    case SK_ROOT_FOREIGN:
      *why = g_strdup_printf ("“%s” carries the marker of another folder", row->path);
      return NULL;
    case SK_ROOT_MISSING:
    default:
      *why = g_strdup_printf ("“%s” is not there; nothing is deleted, syncing goes on when it is back", row->path);
      return NULL;
    }
}

SkRoot *
sk_known_root (SkSession *session, const SkFolderRow *row, const SkFlowFolder *known, char **why)
{
  g_autoptr(SkRoot) root = find_root (session, row, known, why);

  return root != NULL && lock_root (session, root, why) ? g_steal_pointer (&root) : NULL;
}

/* Index thread, in a transaction. */
static gboolean
begin_again (SkSession *session, gpointer data, GError **error)
{
  Adopt *adopt = data;
  const SkFolderRow *row = adopt->row;

  return sk_index_folder_detach (session->index, row->row, error)
         && sk_index_folder_attach (session->index, row->row, row->path, row->mode, (const char *const *) row->only, error)
         && set_numbers (session, adopt, error) && sk_index_folder_set_first_contact (session->index, row->row, TRUE, error);
}

typedef struct { gint64 folder; SkFolderRow *row; } RowCall;

/* Index thread. */
static gboolean
read_row (SkSession *session, gpointer data, GError **error)
{
  RowCall *call = data;

  call->row = sk_index_folder (session->index, call->folder);
  return TRUE;
}

SkFlowFolder *
sk_known_root_original (SkConfig *config, const SkFlowFolder *folder)
{
  g_autoptr(SkRoot) root = folder->root == NULL ? sk_root_open (folder->path, NULL) : NULL;
  SkId there;

  if (root == NULL || !sk_root_marker (root, &there) || sk_id_equal (&there, &folder->id))
    return NULL;
  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *other = config->folders->pdata[i];

      if (sk_id_equal (&there, &other->id) && other->root != NULL)
        return other;
    }
  return NULL;
}

static gboolean
mark_as (SkRoot *root, const SkId *folder, gboolean is_copy, GError **error)
{
  return (!is_copy || sk_root_mark_anew (root, folder, error)) && sk_root_prepare (root, folder, error);
}

static gboolean
accept_root (SkSession *session, gint64 folder, gboolean is_copy, GError **error)
{
  RowCall call = { .folder = folder };
  g_autoptr(SkFolderRow) row = NULL;
  g_autoptr(SkRoot) root = NULL;
  Adopt adopt;

  if (!sk_session_index (session, read_row, &call, error))
    return FALSE;
  row = call.row;
  if (row == NULL || row->path == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "the folder is not attached here any more");
  root = sk_root_open (row->path, error);
  if (root == NULL || !mark_as (root, &row->id, is_copy, error))
    return FALSE;
  adopt = (Adopt) { .row = row };
  sk_root_numbers (root, &adopt.numbers);
  return sk_session_transact (session, begin_again, &adopt, error);
}

gboolean
sk_known_root_accept (SkSession *session, gint64 folder, GError **error)
{
  return accept_root (session, folder, FALSE, error);
}

gboolean
sk_known_root_accept_copy (SkSession *session, gint64 folder, GError **error)
{
  return accept_root (session, folder, TRUE, error);
}
