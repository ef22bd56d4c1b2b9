/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What programs see, and how they change it. */
#include "faultfs-disk-private.h"

#include <string.h>

/* One in so many writes and changes of names lets the disk keep something of what is waiting. */
#define WRITEBACK_ODDS 24

/* --- nodes --- */

guint64 *
fault_key (guint64 ino)
{
  return g_memdup2 (&ino, sizeof ino);
}

void
fault_node_free (gpointer data)
{
  FaultNode *self = data;

  g_free (self->link);
  g_clear_pointer (&self->data, g_byte_array_unref);
  g_clear_pointer (&self->kept_data, g_byte_array_unref);
  g_clear_pointer (&self->dirty, g_hash_table_unref);
  g_clear_pointer (&self->names, g_hash_table_unref);
  g_clear_pointer (&self->kept_names, g_hash_table_unref);
  g_clear_pointer (&self->attributes, g_hash_table_unref);
  g_clear_pointer (&self->kept_attributes, g_hash_table_unref);
  g_free (self);
}

static FaultNode *
node_add (FaultDisk *self, mode_t mode, uid_t uid, gid_t gid, const char *link)
{
  FaultNode *node = g_new0 (FaultNode, 1);

  node->ino = self->next_ino++;
  node->meta = (FaultMeta) { .mode = mode, .uid = uid, .gid = gid };
  clock_gettime (CLOCK_REALTIME, &node->meta.mtime);
  node->meta.ctime = node->meta.atime = node->meta.mtime;
  node->kept_meta = node->meta;
  node->link = g_strdup (link);
  if (S_ISDIR (mode))
    {
      node->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      node->kept_names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    }
  else if (S_ISREG (mode))
    {
      node->data = g_byte_array_new ();
      node->kept_data = g_byte_array_new ();
      node->dirty = g_hash_table_new (NULL, NULL);
    }
  g_hash_table_insert (self->nodes, fault_key (node->ino), node);
  return node;
}

void
fault_step_free (gpointer data)
{
  FaultStep *step = data;

  for (guint i = 0; i < step->n; i++)
    g_free (step->changes[i].name);
  g_free (step);
}

FaultDisk *
fault_disk_new (guint32 seed)
{
  FaultDisk *self = g_new0 (FaultDisk, 1);

  self->nodes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, fault_node_free);
  self->steps = g_ptr_array_new_with_free_func (fault_step_free);
  self->unkept = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->next_ino = FAULT_ROOT;
  self->rng = g_rand_new_with_seed (seed);
  node_add (self, S_IFDIR | 0755, 0, 0, NULL)->nlink = 1;
  return self;
}

void
fault_disk_free (FaultDisk *self)
{
  g_hash_table_unref (self->nodes);
  g_clear_pointer (&self->put_by, g_hash_table_unref);
  g_ptr_array_unref (self->steps);
  g_hash_table_unref (self->unkept);
  g_rand_free (self->rng);
  g_free (self);
}

void
fault_disk_seed (FaultDisk *self, guint32 seed)
{
  g_rand_set_seed (self->rng, seed);
}

FaultNode *
fault_disk_node (FaultDisk *self, guint64 ino)
{
  return g_hash_table_lookup (self->nodes, &ino);
}

FaultNode *
fault_disk_find (FaultDisk *self, FaultNode *dir, const char *name)
{
  guint64 *ino = g_hash_table_lookup (dir->names, name);

  return ino != NULL ? fault_disk_node (self, *ino) : NULL;
}

static void
stamp (FaultNode *node, gboolean content)
{
  clock_gettime (CLOCK_REALTIME, &node->meta.ctime);
  if (content)
    node->meta.mtime = node->meta.ctime;
}

/* --- changes --- */

/* Now and then the disk keeps something by itself. */
static void
maybe_keep (FaultDisk *self, FaultNode *node)
{
  g_autoptr(GArray) pages = NULL;

  if (fault_below (self, WRITEBACK_ODDS) != 0)
    return;
  if (node->data == NULL)
    {
      if (self->steps->len > 0)
        fault_keep_dir (self, node->ino, fault_below (self, self->steps->len + 1));
      return;
    }
  pages = fault_dirty_pages (node);
  for (guint i = 0; i < pages->len; i++)
    if (fault_below (self, 2) != 0)
      fault_keep_page (node, g_array_index (pages, guint, i));
}

static void
mark (FaultDisk *self, FaultNode *node, guint64 from, guint64 to)
{
  if (to > from)
    for (guint page = (guint) (from / FAULT_PAGE); page <= (guint) ((to - 1) / FAULT_PAGE); page++)
      g_hash_table_add (node->dirty, GUINT_TO_POINTER (page));
  g_hash_table_add (self->unkept, fault_key (node->ino));
}

static FaultStep *
step_add (FaultDisk *self, FaultNode *dir, const char *name, guint64 ino)
{
  FaultStep *step = g_new0 (FaultStep, 1);

  step->n = 1;
  step->changes[0] = (FaultChange) { .dir = dir->ino, .ino = ino, .name = g_strdup (name) };
  step->dirs[0] = dir->ino;
  g_ptr_array_add (self->steps, step);
  if (ino != 0)
    g_hash_table_replace (dir->names, g_strdup (name), fault_key (ino));
  else
    g_hash_table_remove (dir->names, name);
  stamp (dir, TRUE);
  return step;
}

FaultNode *
fault_disk_make (FaultDisk *self, FaultNode *dir, const char *name, mode_t mode, uid_t uid, gid_t gid, const char *link)
{
  FaultNode *node = node_add (self, mode, uid, gid, link);

  node->nlink = 1;
  step_add (self, dir, name, node->ino);
  maybe_keep (self, dir);
  return node;
}

void
fault_disk_link (FaultDisk *self, FaultNode *node, FaultNode *dir, const char *name)
{
  node->nlink++;
  stamp (node, FALSE);
  step_add (self, dir, name, node->ino);
  maybe_keep (self, dir);
}

/* @gone lost a name by @step. */
static void
unname (FaultStep *step, FaultNode *gone)
{
  gone->nlink--;
  stamp (gone, FALSE);
  if (gone->names != NULL)
    step->dirs[2] = gone->ino;
}

void
fault_disk_remove (FaultDisk *self, FaultNode *dir, const char *name)
{
  FaultNode *gone = fault_disk_find (self, dir, name);

  g_assert (gone != NULL);
  unname (step_add (self, dir, name, 0), gone);
  maybe_keep (self, dir);
}

void
fault_disk_rename (FaultDisk *self, FaultNode *dir, const char *name, FaultNode *to, const char *to_name, gboolean exchange)
{
  FaultNode *node = fault_disk_find (self, dir, name);
  FaultNode *other = fault_disk_find (self, to, to_name);
  FaultStep *step;

  g_assert (node != NULL && (other != NULL || !exchange));
  if (node == other)
    return;
  step = step_add (self, dir, name, exchange ? other->ino : 0);
  step->n = 2;
  step->changes[1] = (FaultChange) { .dir = to->ino, .ino = node->ino, .name = g_strdup (to_name) };
  step->dirs[1] = to->ino;
  g_hash_table_replace (to->names, g_strdup (to_name), fault_key (node->ino));
  stamp (to, TRUE);
  stamp (node, FALSE);
  if (exchange)
    stamp (other, FALSE);
  else if (other != NULL)
    unname (step, other);
  maybe_keep (self, dir);
}

void
fault_disk_resize (FaultDisk *self, FaultNode *node, guint64 size)
{
  guint64 before = node->data->len;

  g_byte_array_set_size (node->data, (guint) size);
  if (size > before)
    memset (node->data->data + before, 0, size - before);
  mark (self, node, MIN (before, size), MAX (before, size));
  stamp (node, TRUE);
}

void
fault_disk_write (FaultDisk *self, FaultNode *node, guint64 offset, const guint8 *bytes, gsize len)
{
  if (len == 0)
    return;
  if (offset + len > node->data->len)
    fault_disk_resize (self, node, offset + len);
  memcpy (node->data->data + offset, bytes, len);
  mark (self, node, offset, offset + len);
  stamp (node, TRUE);
  self->last_ino = node->ino;
  self->last_offset = offset;
  self->last_len = len;
  maybe_keep (self, node);
}

void
fault_disk_punch (FaultDisk *self, FaultNode *node, guint64 offset, guint64 len)
{
  guint64 end = MIN (offset + len, node->data->len);

  if (end <= offset)
    return;
  memset (node->data->data + offset, 0, end - offset);
  mark (self, node, offset, end);
  stamp (node, TRUE);
}

void
fault_disk_touch (FaultDisk *self, FaultNode *node)
{
  g_hash_table_add (self->unkept, fault_key (node->ino));
  stamp (node, FALSE);
}

void
fault_disk_attribute (FaultDisk *self, FaultNode *node, const char *name, GBytes *value)
{
  fault_disk_touch (self, node);
  if (node->attributes == NULL)
    node->attributes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_bytes_unref);
  if (value != NULL)
    g_hash_table_replace (node->attributes, g_strdup (name), g_bytes_ref (value));
  else
    g_hash_table_remove (node->attributes, name);
}
