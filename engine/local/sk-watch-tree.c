/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-watch-tree.h"

#include <string.h>

static guint
hash_name (gconstpointer data)
{
  const SkWatchNode *node = data;

  return g_str_hash (node->name) ^ g_direct_hash (node->parent) * 31;
}

static gboolean
equal_name (gconstpointer a, gconstpointer b)
{
  const SkWatchNode *x = a, *y = b;

  return x->parent == y->parent && strcmp (x->name, y->name) == 0;
}

void
sk_watch_tree_init (SkWatchTree *self, SkWatchGone gone, gpointer gone_data)
{
  *self = (SkWatchTree) { .gone = gone, .gone_data = gone_data };
  self->by_wd = g_hash_table_new (g_direct_hash, g_direct_equal);
  self->by_name = g_hash_table_new (hash_name, equal_name);
  g_queue_init (&self->by_age);
}

void
sk_watch_tree_clear (SkWatchTree *self)
{
  if (self->root != NULL)
    sk_watch_tree_drop (self, self->root);
  g_clear_pointer (&self->by_wd, g_hash_table_destroy);
  g_clear_pointer (&self->by_name, g_hash_table_destroy);
}

guint
sk_watch_tree_size (SkWatchTree *self)
{
  return g_hash_table_size (self->by_wd);
}

SkWatchNode *
sk_watch_tree_by_wd (SkWatchTree *self, int wd)
{
  return g_hash_table_lookup (self->by_wd, GINT_TO_POINTER (wd));
}

SkWatchNode *
sk_watch_tree_child (SkWatchTree *self, SkWatchNode *parent, const char *name)
{
  const SkWatchNode key = { .parent = parent, .name = (char *) name };

  return g_hash_table_lookup (self->by_name, &key);
}

SkWatchNode *
sk_watch_tree_find (SkWatchTree *self, const char *path)
{
  SkWatchNode *node = self->root;
  const char *p = path;

  while (node != NULL && *p != '\0')
    {
      gsize n = strcspn (p, "/");
      g_autofree char *name = g_strndup (p, n);

      node = sk_watch_tree_child (self, node, name);
      p += n + (p[n] == '/' ? 1 : 0);
    }
  return node;
}

static void
unlink_node (SkWatchTree *self, SkWatchNode *node)
{
  g_hash_table_remove (self->by_name, node);
  if (node->previous != NULL)
    node->previous->next = node->next;
  else if (node->parent != NULL)
    node->parent->first_child = node->next;
  if (node->next != NULL)
    node->next->previous = node->previous;
  node->previous = node->next = NULL;
}

static void
link_node (SkWatchTree *self, SkWatchNode *node, SkWatchNode *parent)
{
  node->parent = parent;
  node->previous = NULL;
  node->next = parent != NULL ? parent->first_child : NULL;
  if (node->next != NULL)
    node->next->previous = node;
  if (parent != NULL)
    parent->first_child = node;
  g_hash_table_add (self->by_name, node);
}

static void
free_node (SkWatchTree *self, SkWatchNode *node)
{
  unlink_node (self, node);
  g_hash_table_remove (self->by_wd, GINT_TO_POINTER (node->wd));
  g_queue_unlink (&self->by_age, &node->age);
  if (self->root == node)
    self->root = NULL;
  self->gone (node, self->gone_data);
  g_free (node->name);
  g_free (node);
}

void
sk_watch_tree_drop (SkWatchTree *self, SkWatchNode *node)
{
  SkWatchNode *at = node;

  for (;;)    /* leaves first, without recursion: trees may be deep */
    {
      SkWatchNode *up = at->parent;

      if (at->first_child != NULL)
        {
          at = at->first_child;
          continue;
        }
      if (at == node)
        {
          free_node (self, node);
          return;
        }
      free_node (self, at);
      at = up;
    }
}

static gboolean
is_above (const SkWatchNode *node, const SkWatchNode *below)
{
  for (; below != NULL; below = below->parent)
    if (below == node)
      return TRUE;
  return FALSE;
}

gboolean
sk_watch_tree_move (SkWatchTree *self, SkWatchNode *node, SkWatchNode *parent, const char *name)
{
  SkWatchNode *there = sk_watch_tree_child (self, parent, name);

  if (there == node)
    return TRUE;
  if (node == self->root || is_above (node, parent))
    return FALSE;
  if (there != NULL && is_above (there, node))
    return FALSE;
  if (there != NULL)
    sk_watch_tree_drop (self, there);
  unlink_node (self, node);
  g_free (node->name);
  node->name = g_strdup (name);
  link_node (self, node, parent);
  return TRUE;
}

SkWatchNode *
sk_watch_tree_put (SkWatchTree *self, SkWatchNode *parent, const char *name, int wd)
{
  SkWatchNode *node = sk_watch_tree_by_wd (self, wd);
  SkWatchNode *there = parent != NULL ? sk_watch_tree_child (self, parent, name) : self->root;

  if (node != NULL && node == there)
    return node;
  if (node != NULL)
    return parent != NULL && sk_watch_tree_move (self, node, parent, name) ? node : NULL;
  if (there != NULL)
    sk_watch_tree_drop (self, there);
  node = g_new0 (SkWatchNode, 1);
  node->wd = wd;
  node->age.data = node;
  node->name = g_strdup (name);
  link_node (self, node, parent);
  g_hash_table_insert (self->by_wd, GINT_TO_POINTER (wd), node);
  g_queue_push_tail_link (&self->by_age, &node->age);
  if (parent == NULL)
    self->root = node;
  return node;
}

void
sk_watch_tree_drop_unseen (SkWatchTree *self, guint generation)
{
  g_autoptr(GPtrArray) tops = g_ptr_array_new ();

  /* A walk goes from above, so below what it did not see there is nothing that it saw. */
  for (GList *link = self->by_age.head; link != NULL; link = link->next)
    {
      SkWatchNode *node = link->data;

      if (node->generation != generation && node->parent != NULL && node->parent->generation == generation)
        g_ptr_array_add (tops, node);
    }
  for (guint i = 0; i < tops->len; i++)
    sk_watch_tree_drop (self, tops->pdata[i]);
}

char *
sk_watch_tree_path (SkWatchNode *node, const char *name)
{
  gsize len = name != NULL ? strlen (name) : 0;
  char *path, *p;

  for (const SkWatchNode *at = node; at->parent != NULL; at = at->parent)
    len += strlen (at->name) + (len > 0 ? 1 : 0);
  path = g_malloc (len + 1);
  p = path + len;
  *p = '\0';
  if (name != NULL)
    {
      p -= strlen (name);
      memcpy (p, name, strlen (name));
    }
  for (const SkWatchNode *at = node; at->parent != NULL; at = at->parent)
    {
      gsize n = strlen (at->name);

      if (p < path + len)
        *--p = '/';
      p -= n;
      memcpy (p, at->name, n);
    }
  return path;
}
