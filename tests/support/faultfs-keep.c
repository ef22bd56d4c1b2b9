/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the disk keeps: by syncs, by chance, and at a cut. */
#include "faultfs-disk-private.h"

#include <string.h>

/* --- copies --- */

static GHashTable *
table_copy (GHashTable *from)
{
  GHashTable *to = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  GHashTableIter iter;
  gpointer name, ino;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &name, &ino))
    g_hash_table_insert (to, g_strdup (name), g_memdup2 (ino, sizeof (guint64)));
  return to;
}

static GHashTable *
attributes_copy (GHashTable *from)
{
  GHashTable *to;
  GHashTableIter iter;
  gpointer name, value;

  if (from == NULL)
    return NULL;
  to = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_bytes_unref);
  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &name, &value))
    g_hash_table_insert (to, g_strdup (name), g_bytes_ref (value));
  return to;
}

static GByteArray *
data_copy (GByteArray *from)
{
  GByteArray *to = g_byte_array_sized_new (from->len);

  return from->len > 0 ? g_byte_array_append (to, from->data, from->len) : to;
}

/* As the disk has it; both views are the same. */
static FaultNode *
node_as_kept (FaultNode *from)
{
  FaultNode *to = g_new0 (FaultNode, 1);

  to->ino = from->ino;
  to->meta = to->kept_meta = from->kept_meta;
  to->link = g_strdup (from->link);
  to->attributes = attributes_copy (from->kept_attributes);
  to->kept_attributes = attributes_copy (from->kept_attributes);
  if (from->kept_names != NULL)
    {
      to->names = table_copy (from->kept_names);
      to->kept_names = table_copy (from->kept_names);
    }
  if (from->kept_data != NULL)
    {
      to->data = data_copy (from->kept_data);
      to->kept_data = data_copy (from->kept_data);
      to->dirty = g_hash_table_new (NULL, NULL);
    }
  return to;
}

/* --- what the disk keeps --- */

guint
fault_below (FaultDisk *self, guint n)
{
  return (guint) g_rand_int_range (self->rng, 0, (gint32) MAX (n, 1));
}

void
fault_keep_page (FaultNode *node, guint page)
{
  guint64 start = (guint64) page * FAULT_PAGE;
  guint64 end = MIN (start + FAULT_PAGE, node->data->len);

  g_hash_table_remove (node->dirty, GUINT_TO_POINTER (page));
  if (end <= start)
    return;
  if (node->kept_data->len < end)
    {
      guint before = node->kept_data->len;

      g_byte_array_set_size (node->kept_data, (guint) end);
      memset (node->kept_data->data + before, 0, end - before);
    }
  memcpy (node->kept_data->data + start, node->data->data + start, end - start);
}

static void
keep_size (FaultNode *node)
{
  guint before = node->kept_data->len;

  g_byte_array_set_size (node->kept_data, node->data->len);
  if (node->data->len > before)
    memset (node->kept_data->data + before, 0, node->data->len - before);
}

static int
compare_pages (gconstpointer a, gconstpointer b)
{
  const guint *left = a, *right = b;

  return (*left > *right) - (*left < *right);
}

GArray *
fault_dirty_pages (FaultNode *node)
{
  GArray *pages = g_array_new (FALSE, FALSE, sizeof (guint));
  GHashTableIter iter;
  gpointer page;

  g_hash_table_iter_init (&iter, node->dirty);
  while (g_hash_table_iter_next (&iter, &page, NULL))
    {
      guint number = GPOINTER_TO_UINT (page);

      g_array_append_val (pages, number);
    }
  g_array_sort (pages, compare_pages);
  return pages;
}

static void
keep_meta (FaultNode *node)
{
  node->kept_meta = node->meta;
  g_clear_pointer (&node->kept_attributes, g_hash_table_unref);
  node->kept_attributes = attributes_copy (node->attributes);
}

void
fault_disk_sync_file (FaultDisk *self, FaultNode *node)
{
  keep_meta (node);
  if (node->data != NULL)
    {
      GHashTableIter iter;
      gpointer page;

      keep_size (node);
      g_hash_table_iter_init (&iter, node->dirty);
      while (g_hash_table_iter_next (&iter, &page, NULL))
        {
          guint64 start = (guint64) GPOINTER_TO_UINT (page) * FAULT_PAGE;

          if (start < node->data->len)
            memcpy (node->kept_data->data + start, node->data->data + start, MIN (FAULT_PAGE, node->data->len - start));
        }
      g_hash_table_remove_all (node->dirty);
    }
  g_hash_table_remove (self->unkept, &node->ino);
}

void
fault_disk_lose_file (FaultDisk *self, FaultNode *node)
{
  if (node->dirty != NULL)
    g_hash_table_remove_all (node->dirty);
  g_hash_table_remove (self->unkept, &node->ino);
}

static void
keep_step (FaultDisk *self, FaultStep *step)
{
  for (guint i = 0; i < step->n; i++)
    {
      FaultChange *change = &step->changes[i];
      FaultNode *dir = fault_disk_node (self, change->dir);

      if (change->ino == 0)
        g_hash_table_remove (dir->kept_names, change->name);
      else
        g_hash_table_replace (dir->kept_names, g_strdup (change->name), fault_key (change->ino));
    }
}

static gboolean
step_touches (FaultStep *step, GHashTable *dirs)
{
  for (guint i = 0; i < G_N_ELEMENTS (step->dirs); i++)
    if (step->dirs[i] != 0 && g_hash_table_contains (dirs, &step->dirs[i]))
      return TRUE;
  return FALSE;
}

static void
add_dirs (FaultStep *step, GHashTable *dirs)
{
  for (guint i = 0; i < G_N_ELEMENTS (step->dirs); i++)
    if (step->dirs[i] != 0)
      g_hash_table_add (dirs, fault_key (step->dirs[i]));
}

/* Keeps the steps that @wanted says, oldest first, and forgets that they waited. */
static guint
keep_steps (FaultDisk *self, const gboolean *wanted)
{
  g_autoptr(GPtrArray) rest = g_ptr_array_new_with_free_func (fault_step_free);
  guint kept = 0;

  for (guint i = 0; i < self->steps->len; i++)
    {
      FaultStep *step = g_steal_pointer (&self->steps->pdata[i]);

      if (!wanted[i])
        {
          g_ptr_array_add (rest, step);
          continue;
        }
      keep_step (self, step);
      fault_step_free (step);
      kept++;
    }
  g_ptr_array_set_free_func (self->steps, NULL);
  g_ptr_array_unref (self->steps);
  self->steps = g_steal_pointer (&rest);
  return kept;
}

void
fault_keep_dir (FaultDisk *self, guint64 dir, guint n)
{
  g_autofree gboolean *wanted = g_new0 (gboolean, self->steps->len + 1);
  g_autoptr(GHashTable) dirs = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);

  g_hash_table_add (dirs, fault_key (dir));
  for (guint i = n; i-- > 0;)
    {
      FaultStep *step = self->steps->pdata[i];

      wanted[i] = step_touches (step, dirs);
      if (wanted[i])
        add_dirs (step, dirs);
    }
  keep_steps (self, wanted);
}

void
fault_disk_sync_dir (FaultDisk *self, FaultNode *dir)
{
  keep_meta (dir);
  fault_keep_dir (self, dir->ino, self->steps->len);
}

void
fault_disk_sync_all (FaultDisk *self)
{
  g_autofree gboolean *wanted = g_new0 (gboolean, self->steps->len + 1);
  GHashTableIter iter;
  gpointer node;

  for (guint i = 0; i < self->steps->len; i++)
    wanted[i] = TRUE;
  keep_steps (self, wanted);
  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    fault_disk_sync_file (self, node);
}

/* --- the cut --- */

/* Sectors of the last write, each by chance; the rest stays as it was kept. */
static void
tear_last (FaultDisk *self)
{
  FaultNode *node = fault_disk_node (self, self->last_ino);
  guint64 end;

  if (node == NULL || node->data == NULL || g_hash_table_size (node->dirty) == 0)
    return;
  end = MIN (self->last_offset + self->last_len, MIN (node->data->len, node->kept_data->len));
  for (guint64 at = self->last_offset; at < end;)
    {
      guint64 next = MIN (end, (at / FAULT_SECTOR + 1) * FAULT_SECTOR);

      if (g_hash_table_contains (node->dirty, GUINT_TO_POINTER ((guint) (at / FAULT_PAGE))) && fault_below (self, 2) != 0)
        memcpy (node->kept_data->data + at, node->data->data + at, next - at);
      at = next;
    }
}

static void
keep_some_of (FaultDisk *self, FaultNode *node, FaultCut cut, FaultLoss *loss)
{
  g_autoptr(GArray) pages = fault_dirty_pages (node);
  /* Per file: nothing, half or everything. */
  guint odds = cut == FAULT_CUT_ALL ? 2 : fault_below (self, 3);
  gboolean last = node->ino == self->last_ino;

  loss->pages += pages->len;
  if (cut == FAULT_CUT_NONE)
    return;
  if (cut == FAULT_CUT_ALL || fault_below (self, 2) != 0)
    keep_size (node);
  if (cut == FAULT_CUT_ALL || fault_below (self, 2) != 0)
    keep_meta (node);
  for (guint i = 0; i < pages->len; i++)
    {
      guint page = g_array_index (pages, guint, i);
      gboolean torn = last && (guint64) (page + 1) * FAULT_PAGE > self->last_offset
                      && (guint64) page * FAULT_PAGE < self->last_offset + self->last_len;

      if (torn || fault_below (self, 2) >= odds)
        continue;
      fault_keep_page (node, page);
      loss->pages_kept++;
    }
}

static int
compare_inos (gconstpointer a, gconstpointer b)
{
  const guint64 *left = a, *right = b;

  return (*left > *right) - (*left < *right);
}

static void
cut_bytes (FaultDisk *self, FaultCut cut, FaultLoss *loss)
{
  g_autoptr(GList) inos = g_list_sort (g_hash_table_get_keys (self->unkept), compare_inos);

  for (GList *at = inos; at != NULL; at = at->next)
    {
      FaultNode *node = fault_disk_node (self, *(guint64 *) at->data);

      if (node->data != NULL)
        keep_some_of (self, node, cut, loss);
      else if (cut != FAULT_CUT_NONE && fault_below (self, 2) != 0)
        keep_meta (node);
    }
  if (cut != FAULT_CUT_NONE)
    tear_last (self);
}

static void
cut_names (FaultDisk *self, FaultCut cut, FaultLoss *loss)
{
  g_autofree gboolean *wanted = g_new0 (gboolean, self->steps->len + 1);
  g_autoptr(GHashTable) ended = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  guint n = self->steps->len;
  guint until = fault_below (self, n + 1);
  guint odds = 2 + fault_below (self, n + 1);

  loss->names += n;
  for (guint i = 0; i < n; i++)
    {
      FaultStep *step = self->steps->pdata[i];
      gboolean ends = step_touches (step, ended)
                      || (cut == FAULT_CUT_RANDOM && fault_below (self, odds) == 0)
                      || (cut == FAULT_CUT_ORDERED && i >= until) || cut == FAULT_CUT_NONE;

      if (ends)
        add_dirs (step, ended);
      wanted[i] = !ends;
    }
  loss->names_kept += keep_steps (self, wanted);
  g_ptr_array_set_size (self->steps, 0);
}

/* What can be reached from the root by names that were kept. */
static GHashTable *
nodes_as_kept (FaultDisk *self)
{
  GHashTable *nodes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, fault_node_free);
  g_autoptr(GQueue) waiting = g_queue_new ();
  FaultNode *root = node_as_kept (fault_disk_node (self, FAULT_ROOT));

  root->nlink = 1;
  g_hash_table_insert (nodes, fault_key (root->ino), root);
  g_queue_push_tail (waiting, root);
  while (!g_queue_is_empty (waiting))
    {
      FaultNode *dir = g_queue_pop_head (waiting);
      GHashTableIter iter;
      gpointer ino;

      g_hash_table_iter_init (&iter, dir->names);
      while (g_hash_table_iter_next (&iter, NULL, &ino))
        {
          FaultNode *node = g_hash_table_lookup (nodes, ino);

          if (node == NULL)
            {
              node = node_as_kept (fault_disk_node (self, *(guint64 *) ino));
              g_hash_table_insert (nodes, fault_key (node->ino), node);
              if (node->names != NULL)
                g_queue_push_tail (waiting, node);
            }
          node->nlink++;
        }
    }
  return nodes;
}

static void
replace_nodes (FaultDisk *self, GHashTable *nodes)
{
  g_hash_table_unref (self->nodes);
  self->nodes = nodes;
  g_hash_table_remove_all (self->unkept);
  g_ptr_array_set_size (self->steps, 0);
  self->last_ino = 0;
}

void
fault_disk_cut (FaultDisk *self, FaultCut cut, FaultLoss *loss)
{
  *loss = (FaultLoss) { 0 };
  cut_bytes (self, cut, loss);
  cut_names (self, cut, loss);
  replace_nodes (self, nodes_as_kept (self));
}

void
fault_disk_save (FaultDisk *self)
{
  fault_disk_sync_all (self);
  g_clear_pointer (&self->put_by, g_hash_table_unref);
  self->put_by = nodes_as_kept (self);
}

gboolean
fault_disk_load (FaultDisk *self)
{
  GHashTable *current;

  if (self->put_by == NULL)
    return FALSE;
  /* nodes_as_kept copies from self->nodes. */
  current = g_steal_pointer (&self->nodes);
  self->nodes = self->put_by;
  self->put_by = nodes_as_kept (self);
  g_hash_table_unref (current);
  g_hash_table_remove_all (self->unkept);
  g_ptr_array_set_size (self->steps, 0);
  self->last_ino = 0;
  return TRUE;
}
