/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of the kernel. It keeps names, attributes and pages in its caches, as of any disk, and writes through. */
#include "faultfs.h"

#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CACHED_S 1e6
#define BLOCKS_ALL (G_GUINT64_CONSTANT (4) << 18) /* 4 GiB in pages */
#define BLOCKS_FREE (G_GUINT64_CONSTANT (3) << 18)
#define NAME_BYTES_MAX 255

static FaultServer *
server_of (fuse_req_t req)
{
  return fuse_req_userdata (req);
}

static gboolean
is_full (FaultServer *self)
{
  return self->plan.errnum == ENOSPC && self->plan.until_cleared && self->plan.failed > 0;
}

static gboolean
is_counted (const FaultPlan *plan, FaultKind kind)
{
  switch (plan->counts)
    {
    case FAULT_COUNT_ALL:
      return TRUE;
    case FAULT_COUNT_SYNCS:
      return kind == FAULT_SYNCS;
    default:
      return kind == FAULT_SPACE || kind == FAULT_SYNCS || (kind == FAULT_WRITES && plan->errnum != ENOSPC);
    }
}

/* TRUE when the call was answered with a failure. Every call comes through here, once. */
static gboolean
fails (fuse_req_t req, FaultKind kind, const char *call, fuse_ino_t ino, const char *name)
{
  FaultServer *self = server_of (req);
  FaultPlan *plan = &self->plan;

  if (!self->dead && kind != FAULT_READS && ++self->writes == self->cut_at)
    {
      fault_disk_cut (self->disk, self->cut_as, &self->loss);
      self->dead = TRUE;
    }
  if (self->dead)
    {
      fuse_reply_err (req, EIO);
      return TRUE;
    }
  if (self->delay_every != 0 && ++self->delay_count % self->delay_every == 0)
    g_usleep (self->delay_us);
  if (!is_counted (plan, kind))
    return FALSE;
  plan->counted++;
  if (plan->at == 0 || plan->counted < plan->at || (plan->counted > plan->at && !plan->until_cleared))
    return FALSE;
  if (plan->failed++ == 0)
    g_snprintf (plan->first, sizeof plan->first, "%s %" G_GUINT64_FORMAT " %.80s", call, (guint64) ino & 0xffffff, name != NULL ? name : "");
  fuse_reply_err (req, plan->errnum);
  return TRUE;
}

/* NULL when it is not there, or was known before the last cut. */
static FaultNode *
find_node (FaultServer *self, fuse_ino_t id)
{
  if (id == FAULT_ROOT)
    return fault_disk_node (self->disk, FAULT_ROOT);
  if (id >> FAULT_EPOCH_SHIFT != self->epoch)
    return NULL;
  return fault_disk_node (self->disk, id & ((G_GUINT64_CONSTANT (1) << FAULT_EPOCH_SHIFT) - 1));
}

/* NULL after an answer. */
static FaultNode *
node_of (fuse_req_t req, fuse_ino_t ino)
{
  FaultNode *node = find_node (server_of (req), ino);

  if (node == NULL)
    fuse_reply_err (req, ESTALE);
  return node;
}

static void
attributes (FaultNode *node, struct stat *st)
{
  *st = (struct stat) { 0 };
  st->st_ino = node->ino;
  st->st_mode = node->meta.mode;
  st->st_uid = node->meta.uid;
  st->st_gid = node->meta.gid;
  st->st_mtim = node->meta.mtime;
  st->st_ctim = node->meta.ctime;
  st->st_atim = node->meta.atime;
  st->st_nlink = node->names != NULL && node->nlink > 0 ? 2 : node->nlink;
  st->st_blksize = FAULT_PAGE;
  st->st_size = node->data != NULL ? (off_t) node->data->len : node->link != NULL ? (off_t) strlen (node->link) : FAULT_PAGE;
  st->st_blocks = (st->st_size + 511) / 512;
}

static void
entry_of (FaultServer *self, FaultNode *node, struct fuse_entry_param *entry)
{
  *entry = (struct fuse_entry_param) { .ino = node->ino | self->epoch << FAULT_EPOCH_SHIFT, .attr_timeout = CACHED_S, .entry_timeout = CACHED_S };
  attributes (node, &entry->attr);
}

static void
note_top (FaultServer *self, fuse_ino_t parent, const char *name)
{
  if (parent == FAULT_ROOT)
    g_hash_table_add (self->tops, g_strdup (name));
}

static void
reply_entry (fuse_req_t req, FaultNode *node, fuse_ino_t parent, const char *name)
{
  FaultServer *self = server_of (req);
  struct fuse_entry_param entry;

  note_top (self, parent, name);
  entry_of (self, node, &entry);
  fuse_reply_entry (req, &entry);
}

static void
reply_attributes (fuse_req_t req, FaultNode *node)
{
  struct stat st;

  attributes (node, &st);
  fuse_reply_attr (req, &st, CACHED_S);
}

/* --- names --- */

static void
op_lookup (fuse_req_t req, fuse_ino_t parent, const char *name)
{
  FaultNode *dir, *node;

  if (fails (req, FAULT_READS, "lookup", parent, name))
    return;
  dir = node_of (req, parent);
  if (dir == NULL)
    return;
  node = fault_disk_find (server_of (req)->disk, dir, name);
  if (node != NULL)
    reply_entry (req, node, parent, name);
  else
    fuse_reply_err (req, strlen (name) > NAME_BYTES_MAX ? ENAMETOOLONG : ENOENT);
}

/* NULL after an answer. */
static FaultNode *
make (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, const char *link)
{
  const struct fuse_ctx *who = fuse_req_ctx (req);
  FaultDisk *disk = server_of (req)->disk;
  FaultNode *dir;

  if (fails (req, FAULT_SPACE, S_ISDIR (mode) ? "mkdir" : link != NULL ? "symlink" : "create", parent, name))
    return NULL;
  dir = node_of (req, parent);
  if (dir == NULL)
    return NULL;
  if (strlen (name) > NAME_BYTES_MAX || fault_disk_find (disk, dir, name) != NULL || dir->nlink == 0)
    {
      fuse_reply_err (req, strlen (name) > NAME_BYTES_MAX ? ENAMETOOLONG : dir->nlink == 0 ? ENOENT : EEXIST);
      return NULL;
    }
  return fault_disk_make (disk, dir, name, mode, who->uid, who->gid, link);
}

static void
op_mknod (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
  FaultNode *node = make (req, parent, name, mode, NULL);

  if (node != NULL)
    reply_entry (req, node, parent, name);
}

static void
op_mkdir (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
  FaultNode *node = make (req, parent, name, S_IFDIR | (mode & 07777), NULL);

  if (node != NULL)
    reply_entry (req, node, parent, name);
}

static void
op_symlink (fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
  FaultNode *node = make (req, parent, name, S_IFLNK | 0777, link);

  if (node != NULL)
    reply_entry (req, node, parent, name);
}

static void
op_create (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info)
{
  FaultNode *node = make (req, parent, name, S_IFREG | (mode & 07777), NULL);
  struct fuse_entry_param entry;

  if (node == NULL)
    return;
  note_top (server_of (req), parent, name);
  entry_of (server_of (req), node, &entry);
  info->keep_cache = 1;
  fuse_reply_create (req, &entry, info);
}

static void
remove_name (fuse_req_t req, fuse_ino_t parent, const char *name, gboolean is_dir)
{
  FaultDisk *disk = server_of (req)->disk;
  FaultNode *dir, *node;

  if (fails (req, FAULT_WRITES, is_dir ? "rmdir" : "unlink", parent, name))
    return;
  dir = node_of (req, parent);
  if (dir == NULL)
    return;
  node = fault_disk_find (disk, dir, name);
  if (node == NULL)
    fuse_reply_err (req, ENOENT);
  else if (is_dir && g_hash_table_size (node->names) > 0)
    fuse_reply_err (req, ENOTEMPTY);
  else
    {
      fault_disk_remove (disk, dir, name);
      fuse_reply_err (req, 0);
    }
}

static void
op_unlink (fuse_req_t req, fuse_ino_t parent, const char *name)
{
  remove_name (req, parent, name, FALSE);
}

static void
op_rmdir (fuse_req_t req, fuse_ino_t parent, const char *name)
{
  remove_name (req, parent, name, TRUE);
}

static void
op_link (fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
  FaultNode *node, *dir;

  if (fails (req, FAULT_SPACE, "link", parent, name))
    return;
  node = node_of (req, ino);
  dir = node != NULL ? node_of (req, parent) : NULL;
  if (dir == NULL)
    return;
  if (fault_disk_find (server_of (req)->disk, dir, name) != NULL)
    {
      fuse_reply_err (req, EEXIST);
      return;
    }
  fault_disk_link (server_of (req)->disk, node, dir, name);
  reply_entry (req, node, parent, name);
}

static int
rename_error (FaultNode *node, FaultNode *other, guint flags)
{
  if (node == NULL)
    return ENOENT;
  if ((flags & ~(guint) (RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0)
    return EINVAL;
  if ((flags & RENAME_EXCHANGE) != 0)
    return other == NULL ? ENOENT : 0;
  if (other == NULL)
    return 0;
  if ((flags & RENAME_NOREPLACE) != 0)
    return EEXIST;
  if (node->names != NULL && other->names == NULL)
    return ENOTDIR;
  if (node->names == NULL && other->names != NULL)
    return EISDIR;
  return other->names != NULL && g_hash_table_size (other->names) > 0 ? ENOTEMPTY : 0;
}

static void
op_rename (fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
  FaultDisk *disk = server_of (req)->disk;
  FaultNode *dir, *to;
  int errnum;

  if (fails (req, FAULT_SPACE, "rename", parent, name))
    return;
  dir = node_of (req, parent);
  to = dir != NULL ? node_of (req, new_parent) : NULL;
  if (to == NULL)
    return;
  note_top (server_of (req), new_parent, new_name);
  errnum = rename_error (fault_disk_find (disk, dir, name), fault_disk_find (disk, to, new_name), flags);
  if (errnum == 0)
    fault_disk_rename (disk, dir, name, to, new_name, (flags & RENAME_EXCHANGE) != 0);
  fuse_reply_err (req, errnum);
}

static void
op_readlink (fuse_req_t req, fuse_ino_t ino)
{
  FaultNode *node;

  if (fails (req, FAULT_READS, "readlink", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node != NULL)
    fuse_reply_readlink (req, node->link);
}

/* --- attributes --- */

static void
op_getattr (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
  FaultNode *node;

  if (fails (req, FAULT_READS, "getattr", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node != NULL)
    reply_attributes (req, node);
}

static void
set_times (FaultNode *node, const struct stat *st, int what)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  if ((what & FUSE_SET_ATTR_MTIME) != 0)
    node->meta.mtime = (what & FUSE_SET_ATTR_MTIME_NOW) != 0 ? now : st->st_mtim;
  if ((what & FUSE_SET_ATTR_ATIME) != 0)
    node->meta.atime = (what & FUSE_SET_ATTR_ATIME_NOW) != 0 ? now : st->st_atim;
}

static void
op_setattr (fuse_req_t req, fuse_ino_t ino, struct stat *st, int what, struct fuse_file_info *info)
{
  FaultDisk *disk = server_of (req)->disk;
  FaultNode *node;

  if (fails (req, FAULT_WRITES, "setattr", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  if ((what & FUSE_SET_ATTR_SIZE) != 0)
    {
      if (node->data == NULL || (guint64) st->st_size > FAULT_FILE_MAX)
        {
          fuse_reply_err (req, node->data == NULL ? EISDIR : EFBIG);
          return;
        }
      fault_disk_resize (disk, node, (guint64) st->st_size);
    }
  if ((what & FUSE_SET_ATTR_MODE) != 0)
    node->meta.mode = (node->meta.mode & S_IFMT) | (st->st_mode & 07777);
  if ((what & FUSE_SET_ATTR_UID) != 0)
    node->meta.uid = st->st_uid;
  if ((what & FUSE_SET_ATTR_GID) != 0)
    node->meta.gid = st->st_gid;
  set_times (node, st, what);
  fault_disk_touch (disk, node);
  reply_attributes (req, node);
}

static void
op_setxattr (fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
  g_autoptr(GBytes) bytes = g_bytes_new (value, size);
  FaultNode *node;

  if (fails (req, FAULT_SPACE, "setxattr", ino, name))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  fault_disk_attribute (server_of (req)->disk, node, name, bytes);
  fuse_reply_err (req, 0);
}

static void
reply_bytes (fuse_req_t req, const void *bytes, gsize len, size_t room)
{
  if (room == 0)
    fuse_reply_xattr (req, len);
  else if (len > room)
    fuse_reply_err (req, ERANGE);
  else
    fuse_reply_buf (req, bytes, len);
}

static void
op_getxattr (fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
  FaultNode *node;
  GBytes *value;
  gsize len;

  if (fails (req, FAULT_READS, "getxattr", ino, name))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  value = node->attributes != NULL ? g_hash_table_lookup (node->attributes, name) : NULL;
  if (value == NULL)
    fuse_reply_err (req, ENODATA);
  else
    reply_bytes (req, g_bytes_get_data (value, &len), g_bytes_get_size (value), size);
}

static void
op_listxattr (fuse_req_t req, fuse_ino_t ino, size_t size)
{
  g_autoptr(GString) list = g_string_new (NULL);
  FaultNode *node;
  GHashTableIter iter;
  gpointer name;

  if (fails (req, FAULT_READS, "listxattr", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  if (node->attributes != NULL)
    {
      g_hash_table_iter_init (&iter, node->attributes);
      while (g_hash_table_iter_next (&iter, &name, NULL))
        g_string_append_len (list, name, (gssize) strlen (name) + 1);
    }
  reply_bytes (req, list->str, list->len, size);
}

static void
op_removexattr (fuse_req_t req, fuse_ino_t ino, const char *name)
{
  FaultNode *node;

  if (fails (req, FAULT_WRITES, "removexattr", ino, name))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  if (node->attributes == NULL || !g_hash_table_contains (node->attributes, name))
    {
      fuse_reply_err (req, ENODATA);
      return;
    }
  fault_disk_attribute (server_of (req)->disk, node, name, NULL);
  fuse_reply_err (req, 0);
}

static void
op_statfs (fuse_req_t req, fuse_ino_t ino)
{
  FaultServer *self = server_of (req);
  struct statvfs fs = { .f_bsize = FAULT_PAGE, .f_frsize = FAULT_PAGE, .f_blocks = BLOCKS_ALL, .f_bfree = BLOCKS_FREE,
                        .f_files = 1000000, .f_ffree = 900000, .f_favail = 900000, .f_namemax = NAME_BYTES_MAX };

  if (fails (req, FAULT_READS, "statfs", ino, NULL))
    return;
  if (is_full (self))
    fs.f_bfree = 0;
  fs.f_bavail = fs.f_bfree;
  fuse_reply_statfs (req, &fs);
}

/* --- bytes --- */

static void
op_open (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
  FaultNode *node;

  if (fails (req, FAULT_READS, "open", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  if ((info->flags & O_TRUNC) != 0 && node->data != NULL)
    fault_disk_resize (server_of (req)->disk, node, 0);
  info->keep_cache = 1;
  fuse_reply_open (req, info);
}

static void
op_release (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
  fuse_reply_err (req, 0);
}

static void
op_read (fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
  FaultNode *node;
  gsize start;

  if (fails (req, FAULT_READS, "read", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  start = MIN ((gsize) offset, node->data->len);
  fuse_reply_buf (req, (const char *) node->data->data + start, MIN (size, node->data->len - start));
}

static void
op_write (fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
  FaultNode *node;

  if (fails (req, FAULT_SPACE, "write", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  if ((guint64) offset + size > FAULT_FILE_MAX)
    {
      fuse_reply_err (req, EFBIG);
      return;
    }
  fault_disk_write (server_of (req)->disk, node, (guint64) offset, (const guint8 *) bytes, size);
  fuse_reply_write (req, size);
}

static void
op_fallocate (fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, struct fuse_file_info *info)
{
  FaultDisk *disk = server_of (req)->disk;
  guint64 end = (guint64) offset + (guint64) length;
  FaultNode *node;

  if (fails (req, FAULT_SPACE, "fallocate", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)) != 0 || end > FAULT_FILE_MAX)
    {
      fuse_reply_err (req, end > FAULT_FILE_MAX ? EFBIG : EOPNOTSUPP);
      return;
    }
  if ((mode & FALLOC_FL_PUNCH_HOLE) != 0)
    fault_disk_punch (disk, node, (guint64) offset, (guint64) length);
  else if (mode == 0 && end > node->data->len)
    fault_disk_resize (disk, node, end);
  fuse_reply_err (req, 0);
}

static void
op_fsync (fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *info)
{
  FaultServer *self = server_of (req);
  guint64 failed = self->plan.failed;
  FaultNode *node = find_node (self, ino);

  if (fails (req, FAULT_SYNCS, "fsync", ino, NULL))
    {
      if (node != NULL && !self->dead && self->plan.failed != failed)
        fault_disk_lose_file (self->disk, node);
      return;
    }
  if (node != NULL)
    fault_disk_sync_file (self->disk, node);
  fuse_reply_err (req, node != NULL ? 0 : ESTALE);
}

/* --- directories --- */

typedef struct
{
  char *name;
  guint64 ino;
} Listed;

static void
listed_clear (gpointer data)
{
  g_free (((Listed *) data)->name);
}

/* As it was when it was opened: offsets stay what they are. */
static void
op_opendir (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
  GArray *list;
  FaultNode *node;
  GHashTableIter iter;
  gpointer name, child;

  if (fails (req, FAULT_READS, "opendir", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  list = g_array_new (FALSE, FALSE, sizeof (Listed));
  g_array_set_clear_func (list, listed_clear);
  g_hash_table_iter_init (&iter, node->names);
  while (g_hash_table_iter_next (&iter, &name, &child))
    {
      Listed item = { .name = g_strdup (name), .ino = *(guint64 *) child };

      g_array_append_val (list, item);
    }
  info->fh = (guint64) (guintptr) list;
  fuse_reply_open (req, info);
}

static void
op_readdir (fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
  GArray *list = (GArray *) (guintptr) info->fh;
  g_autofree char *buffer = g_malloc (size);
  gsize used = 0;

  if (fails (req, FAULT_READS, "readdir", ino, NULL))
    return;
  for (guint i = (guint) offset; i < list->len; i++)
    {
      Listed *item = &g_array_index (list, Listed, i);
      FaultNode *node = fault_disk_node (server_of (req)->disk, item->ino);
      struct stat st = { .st_ino = item->ino, .st_mode = node != NULL ? node->meta.mode : 0 };
      gsize len = fuse_add_direntry (req, buffer + used, size - used, item->name, &st, (off_t) i + 1);

      if (len > size - used)
        break;
      used += len;
    }
  fuse_reply_buf (req, buffer, used);
}

static void
op_releasedir (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
  g_array_unref ((GArray *) (guintptr) info->fh);
  fuse_reply_err (req, 0);
}

static void
op_fsyncdir (fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *info)
{
  FaultNode *node;

  if (fails (req, FAULT_SYNCS, "fsyncdir", ino, NULL))
    return;
  node = node_of (req, ino);
  if (node == NULL)
    return;
  fault_disk_sync_dir (server_of (req)->disk, node);
  fuse_reply_err (req, 0);
}

const struct fuse_lowlevel_ops fault_ops = {
  .lookup = op_lookup, .mknod = op_mknod, .mkdir = op_mkdir, .symlink = op_symlink, .create = op_create, .unlink = op_unlink,
  .rmdir = op_rmdir, .link = op_link, .rename = op_rename, .readlink = op_readlink, .getattr = op_getattr, .setattr = op_setattr,
  .setxattr = op_setxattr, .getxattr = op_getxattr, .listxattr = op_listxattr, .removexattr = op_removexattr,
  .statfs = op_statfs, .open = op_open, .release = op_release, .read = op_read, .write = op_write,
  .fallocate = op_fallocate, .fsync = op_fsync, .opendir = op_opendir, .readdir = op_readdir, .releasedir = op_releasedir,
  .fsyncdir = op_fsyncdir,
};
