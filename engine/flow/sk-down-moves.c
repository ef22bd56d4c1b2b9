/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of a folder that holds the wanted content and is not wanted at its own name any more is moved, not copied. Of several that are equal the
 * one with the most similar path: in a directory that was renamed each file stays itself. */
#include "sk-down-private.h"

#include <string.h>

#define HOLDERS_MAX 16u          /* of one content that are looked at, where nothing tells which one it is */

struct _SkDownMoves
{
  GHashTable *taken;             /* gint64*: rows of nodes that are moved away; the items own them */
  GHashTable *dirs;              /* char* directory -> char* directory from which something was moved there */
};

SkDownMoves *
sk_down_moves_new (void)
{
  SkDownMoves *self = g_new0 (SkDownMoves, 1);

  self->taken = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->dirs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return self;
}

void
sk_down_moves_free (SkDownMoves *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->taken);
  g_hash_table_unref (self->dirs);
  g_free (self);
}

/* Only what is to be gone there anyway: after a kill in between, the old name that is empty must not be taken for a removal by the person, as it
 * would be where something else is wanted under that name. */
static gboolean
may_move (const SkDownMoves *self, const SkDownItem *item, const SkNode *holder)
{
  return holder->folder == item->node->folder && holder->row != item->node->row && holder->base.kind == SK_KIND_FILE && holder->hold == 0
         && holder->base.content == item->node->target.content && holder->target.kind == SK_KIND_NONE
         && !g_hash_table_contains (self->taken, &holder->row);
}

/* --- directories that were renamed --- */

/* Cuts the last component off; "" for what lies at the top. */
static void
cut (char *path)
{
  char *slash = strrchr (path, '/');

  *(slash != NULL ? slash : path) = '\0';
}

static void
learn (SkDownMoves *self, const char *to, const char *from)
{
  g_autofree char *to_dir = g_strdup (to), *from_dir = g_strdup (from);
  gboolean same;

  do
    {
      same = strcmp (sk_path_name (to_dir), sk_path_name (from_dir)) == 0;
      cut (to_dir);
      cut (from_dir);
      if (!g_hash_table_contains (self->dirs, to_dir))
        g_hash_table_insert (self->dirs, g_strdup (to_dir), g_strdup (from_dir));
    }
  while (same && *to_dir != '\0' && *from_dir != '\0');
}

/* Where @path was before its directory, or one above that, was renamed; NULL: nothing is known. (transfer full) */
static char *
guess (SkDownMoves *self, const char *path)
{
  g_autofree char *dir = g_strdup (path);

  do
    {
      const char *from;

      cut (dir);
      from = g_hash_table_lookup (self->dirs, dir);
      if (from != NULL)
        return sk_path_join (from, path + strlen (dir) + (*dir != '\0'));
    }
  while (*dir != '\0');
  return NULL;
}

static gboolean
look_where_guessed (SkDownMoves *self, SkSession *session, SkDownItem *item, GError **error)
{
  g_autofree char *path = guess (self, item->path);
  g_autoptr(GError) local = NULL;
  g_autoptr(SkNode) holder = path != NULL ? sk_index_node (session->index, item->node->folder, path, &local) : NULL;

  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (holder == NULL || !may_move (self, item, holder))
    return TRUE;
  item->move_from = g_steal_pointer (&path);
  item->move_node = g_steal_pointer (&holder);
  return TRUE;
}

/* --- by content --- */

/* Bytes at the end that both paths have in common. */
static gsize
common_tail (const char *a, const char *b)
{
  gsize a_len = strlen (a), b_len = strlen (b), n = 0;

  while (n < a_len && n < b_len && a[a_len - n - 1] == b[b_len - n - 1])
    n++;
  return n;
}

static gboolean
look_among_equals (SkDownMoves *self, SkSession *session, SkDownItem *item, GError **error)
{
  g_autoptr(GPtrArray) holders = sk_index_nodes_by_content (session->index, item->node->target.content, HOLDERS_MAX, error);
  gsize best_tail = 0;
  gint64 best = 0;

  if (holders == NULL)
    return FALSE;
  for (guint i = 0; i < holders->len; i++)
    {
      SkNode *holder = holders->pdata[i];
      g_autofree char *path = NULL;
      gsize tail;

      if (!may_move (self, item, holder))
        continue;
      path = sk_index_node_path (session->index, holder->row, error);
      if (path == NULL)
        return FALSE;
      tail = common_tail (path, item->path);
      if (item->move_from != NULL && tail <= best_tail)
        continue;
      best = holder->row;
      best_tail = tail;
      g_free (item->move_from);
      item->move_from = g_steal_pointer (&path);
    }
  if (item->move_from == NULL)
    return TRUE;
  item->move_node = sk_index_node_by_row (session->index, best, error);
  return item->move_node != NULL;
}

/* Among many equal ones the one that was met tells the directory, and the directory tells the right one. */
static gboolean
prefer_guessed (SkDownMoves *self, SkSession *session, SkDownItem *item, GError **error)
{
  g_autofree char *path = g_steal_pointer (&item->move_from);
  g_autoptr(SkNode) node = g_steal_pointer (&item->move_node);

  learn (self, item->path, path);
  if (strcmp (sk_path_name (path), sk_path_name (item->path)) != 0 && !look_where_guessed (self, session, item, error))
    return FALSE;
  if (item->move_from == NULL)
    {
      item->move_from = g_steal_pointer (&path);
      item->move_node = g_steal_pointer (&node);
    }
  return TRUE;
}

gboolean
sk_down_moves_look (SkDownMoves *self, SkSession *session, SkDownItem *item, GError **error)
{
  if (!look_where_guessed (self, session, item, error))
    return FALSE;
  if (item->move_from == NULL
      && (!look_among_equals (self, session, item, error) || (item->move_from != NULL && !prefer_guessed (self, session, item, error))))
    return FALSE;
  if (item->move_from == NULL)
    return TRUE;
  sk_down_expect_base (&item->move_node->base, &item->move_expected);
  g_hash_table_add (self->taken, &item->move_node->row);
  return TRUE;
}
