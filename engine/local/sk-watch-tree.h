/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which watch descriptor stands for which directory. A tree of names, so that renaming a directory is one step however much is
 * below it. Pure; the watcher's thread. */
#pragma once
#include <glib.h>

typedef struct _SkWatchNode SkWatchNode;
struct _SkWatchNode
{
  int wd;
  guint generation;        /* of the last walk that saw it */
  SkWatchNode *parent, *first_child, *previous, *next;
  GList age;               /* in SkWatchTree.by_age */
  char *name;
};

typedef void (*SkWatchGone) (SkWatchNode *node, gpointer data);
typedef struct
{
  SkWatchNode *root;       /* NULL until added */
  GHashTable *by_wd;       /* int -> SkWatchNode */
  GHashTable *by_name;     /* (parent, name) -> SkWatchNode */
  GQueue by_age;           /* newest last */
  SkWatchGone gone;        /* called for each node that goes */
  gpointer gone_data;
} SkWatchTree;

void sk_watch_tree_init (SkWatchTree *self, SkWatchGone gone, gpointer gone_data);
void sk_watch_tree_clear (SkWatchTree *self);
guint sk_watch_tree_size (SkWatchTree *self);
SkWatchNode *sk_watch_tree_by_wd (SkWatchTree *self, int wd);
SkWatchNode *sk_watch_tree_child (SkWatchTree *self, SkWatchNode *parent, const char *name);
/* The node of @path, NULL when that directory or one above it is not watched. */
SkWatchNode *sk_watch_tree_find (SkWatchTree *self, const char *path);
/* @wd now is @parent's child @name (@parent NULL: the root), whatever either was before. NULL when that would put a directory into
 * itself: the tree is out of date. */
SkWatchNode *sk_watch_tree_put (SkWatchTree *self, SkWatchNode *parent, const char *name, int wd);
/* FALSE as above. What was at the new place goes. */
gboolean sk_watch_tree_move (SkWatchTree *self, SkWatchNode *node, SkWatchNode *parent, const char *name);
/* With all that is below. */
void sk_watch_tree_drop (SkWatchTree *self, SkWatchNode *node);
/* Every node that the walk @generation did not see. */
void sk_watch_tree_drop_unseen (SkWatchTree *self, guint generation);
/* Path of @name in @node; @name NULL: of @node itself. (transfer full) */
char *sk_watch_tree_path (SkWatchNode *node, const char *name);
