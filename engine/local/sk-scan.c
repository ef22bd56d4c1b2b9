/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sk-path.h"
#include "sk-root-private.h"

/* One call to the kernel brings about 2 000 names. */
#define LISTING_BYTES (64u << 10)
/* Names looked at between two looks at the cancellable. */
#define CANCEL_STEP 512u

/* As getdents64(2) writes it. */
typedef struct
{
  guint64 ino;
  gint64 offset;
  guint16 length;
  guint8 type;
  char name[];
} Listed;

/* Name and item in one block: a million of them are made in a scan. */
typedef struct { SkScanItem item; gboolean asked_as_dir, asked_as_file; char name[]; } Found;

typedef struct
{
  SkScanDir *dir;
  SkIgnore *ignore;              /* may be NULL */
  GCancellable *cancellable;
  int fd;
  GString *path;                 /* prefix, then one name after the other */
  gsize prefix;
} Scan;

void
sk_scan_dir_free (SkScanDir *self)
{
  if (self == NULL)
    return;
  g_free (self->path);
  g_ptr_array_unref (self->items);
  g_ptr_array_unref (self->specials);
  g_ptr_array_unref (self->ignored);
  g_clear_error (&self->error);
  g_clear_pointer (&self->names, g_string_chunk_free);
  g_free (self);
}

static SkScanDir *
new_dir (const char *path)
{
  SkScanDir *self = g_new0 (SkScanDir, 1);

  self->path = g_strdup (path);
  self->items = g_ptr_array_new_with_free_func (g_free);
  self->specials = g_ptr_array_new_with_free_func (g_free);
  self->ignored = g_ptr_array_new_with_free_func (g_free);
  return self;
}

/* The first failure is kept: it says enough about the directory. */
static void
note_failure (Scan *scan, int errnum, const char *doing, const char *path)
{
  if (scan->dir->error == NULL)
    sk_fail_errno (&scan->dir->error, errnum, doing, path);
}

static gboolean
was_cancelled (Scan *scan)
{
  if (!g_cancellable_is_cancelled (scan->cancellable))
    return FALSE;
  if (scan->dir->error == NULL)
    sk_fail (&scan->dir->error, SK_ERROR_CANCELLED, "The scan was stopped");
  return TRUE;
}

static const char *
full_path (Scan *scan, const char *name)
{
  g_string_truncate (scan->path, scan->prefix);
  g_string_append (scan->path, name);
  return scan->path->str;
}

static gboolean
is_ignored (Scan *scan, const char *name, gboolean is_dir)
{
  return scan->ignore != NULL && sk_ignore_match_here (scan->ignore, full_path (scan, name), is_dir);
}

static void
add_name (Scan *scan, const Listed *listed)
{
  const char *name = listed->name;
  gsize len = strlen (name);
  gboolean known = listed->type != DT_UNKNOWN, is_dir = listed->type == DT_DIR;
  Found *found;

  if (strcmp (name, ".") == 0 || strcmp (name, "..") == 0 || strcmp (name, SK_OWN_DIR) == 0)
    return;
  /* Elsewhere it would be that one. */
  if (sk_name_is_own (name, len))
    {
      g_ptr_array_add (scan->dir->specials, g_strdup (name));
      return;
    }
  if (known && is_ignored (scan, name, is_dir))
    {
      g_ptr_array_add (scan->dir->ignored, g_strdup (name));
      return;
    }
  found = g_malloc (sizeof *found + len + 1);
  memcpy (found->name, name, len + 1);
  found->item = (SkScanItem) { .name = found->name, .stat = { .ino = listed->ino } };
  found->asked_as_dir = known && is_dir;
  found->asked_as_file = known && !is_dir;
  g_ptr_array_add (scan->dir->items, found);
}

/* Fills items with names and inode numbers. */
static void
list_names (Scan *scan)
{
  g_autofree char *buffer = g_malloc (LISTING_BYTES);

  for (;;)
    {
      gssize n = getdents64 (scan->fd, buffer, LISTING_BYTES);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        note_failure (scan, errno, "list", scan->dir->path);
      if (n <= 0 || was_cancelled (scan))
        return;
      for (gssize at = 0; at < n;)
        {
          const Listed *listed = (const Listed *) (buffer + at);

          add_name (scan, listed);
          at += listed->length;
        }
    }
}

static int
compare_inodes (gconstpointer a, gconstpointer b)
{
  const SkScanItem *x = *(SkScanItem *const *) a, *y = *(SkScanItem *const *) b;

  return (x->stat.ino > y->stat.ino) - (x->stat.ino < y->stat.ino);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  const SkScanItem *x = *(SkScanItem *const *) a, *y = *(SkScanItem *const *) b;

  return strcmp (x->name, y->name);
}

static gboolean
same_name (const SkScanItem *a, const SkScanItem *b)
{
  return a != NULL && b != NULL && strcmp (a->name, b->name) == 0;
}

/* TRUE when @item stays in the list. */
static gboolean
look_at (Scan *scan, Found *found)
{
  SkScanItem *item = &found->item;
  SkStat listed = item->stat;
  gboolean is_dir;

  if (!sk_stat_at (scan->fd, item->name, &item->stat))
    {
      item->stat = listed;
      /* Deleted since it was listed: as normal as if it had been deleted a moment before. */
      if (errno != ENOENT)
        note_failure (scan, errno, "look at", full_path (scan, item->name));
      return FALSE;
    }
  /* The rules were asked already, unless the list did not say the type or it changed meanwhile. */
  is_dir = item->stat.kind == SK_KIND_DIR;
  if (!(is_dir ? found->asked_as_dir : found->asked_as_file) && is_ignored (scan, item->name, is_dir))
    {
      g_ptr_array_add (scan->dir->ignored, g_strdup (item->name));
      return FALSE;
    }
  if (item->stat.special || item->stat.mount_root)
    g_ptr_array_add (scan->dir->specials, g_strdup (item->name));
  return !item->stat.special;
}

/* In the order of inodes, which is the order on most disks; then by name. */
static void
look_at_all (Scan *scan)
{
  GPtrArray *items = scan->dir->items;
  guint kept = 0;

  g_ptr_array_sort (items, compare_inodes);
  for (guint i = 0; i < items->len; i++)
    {
      if (i % CANCEL_STEP == 0 && was_cancelled (scan))
        break;
      if (look_at (scan, items->pdata[i]))
        {
          gpointer moved = items->pdata[kept];

          items->pdata[kept++] = items->pdata[i];
          items->pdata[i] = moved;
        }
    }
  g_ptr_array_set_size (items, (int) kept);
  g_ptr_array_sort (items, compare_names);

  /* A rename while the directory is read can list a name twice. */
  for (guint i = items->len; i > 1; i--)
    if (same_name (items->pdata[i - 1], items->pdata[i - 2]))
      g_ptr_array_remove_index (items, i - 1);
}

static int
open_to_scan (SkRoot *root, SkScanDir *dir)
{
  int fd;

  if (dir->path[0] != '\0' && !sk_path_check (dir->path, strlen (dir->path), &dir->error))
    return -1;
  fd = sk_root_open_dir (root, dir->path, &dir->error);
  if (fd < 0)
    return -1;
  /* Before it is listed: what changes from here on shows as another time than this one. */
  if (!sk_stat_at (fd, "", &dir->stat))
    {
      sk_fail_errno (&dir->error, errno, "look at", dir->path);
      close (fd);
      return -1;
    }
  if (dir->path[0] == '\0')
    dir->stat.mount_root = FALSE;
  return fd;
}

SkScanDir *
sk_scan_dir (SkRoot *root, const char *path, SkIgnore *ignore, GCancellable *cancellable)
{
  SkScanDir *dir = new_dir (path);
  Scan scan = { .dir = dir, .ignore = ignore, .cancellable = cancellable };

  scan.fd = open_to_scan (root, dir);
  if (scan.fd < 0)
    return dir;
  scan.path = g_string_new (path);
  if (path[0] != '\0')
    g_string_append_c (scan.path, '/');
  scan.prefix = scan.path->len;
  list_names (&scan);
  look_at_all (&scan);
  g_string_free (scan.path, TRUE);
  close (scan.fd);
  return dir;
}

/* ---- .skerryignore ---- */

SkIgnore *
sk_scan_read_ignore (SkRoot *root, GError **error)
{
  int fd = sk_root_openat (root, ".skerryignore", O_RDONLY | O_NONBLOCK);
  g_autofree char *text = NULL;
  gsize len = 0;
  SkStat stat;

  if (fd < 0 && errno == ENOENT)
    return sk_ignore_new (NULL, 0);
  if (fd < 0)
    {
      sk_fail_errno (error, errno, "read", ".skerryignore");
      return NULL;
    }
  if (!sk_stat_at (fd, "", &stat) || stat.kind != SK_KIND_FILE || stat.size > SK_SMALL_OBJECT_MAX)
    {
      close (fd);
      sk_fail (error, SK_ERROR_LIMIT, "it is not a file of at most 1 MiB");
      return NULL;
    }
  text = g_malloc (SK_SMALL_OBJECT_MAX);
  while (len < SK_SMALL_OBJECT_MAX)
    {
      gssize n = read (fd, text + len, SK_SMALL_OBJECT_MAX - len);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          sk_fail_errno (error, errno, "read", ".skerryignore");
          close (fd);
          return NULL;
        }
      if (n == 0)
        break;
      len += (gsize) n;
    }
  close (fd);
  /* What a crash leaves of a file, or text in another encoding: no line of it would be the rule that was meant. */
  if (memchr (text, 0, len) != NULL)
    {
      sk_fail (error, SK_ERROR_CORRUPT, "it holds zero bytes, so it is damaged or not UTF-8 text");
      return NULL;
    }
  return sk_ignore_new (text, len);
}
