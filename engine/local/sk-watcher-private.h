/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the watcher only. sk-watcher.c reads events and reports; sk-watch-walk.c puts watches on directories.
 *
 * Events tell what happened, in order, by the names of that time; a visit tells what is now, and so runs ahead of the events that were
 * not read yet. That the two agree in the end rests on three things: each event about a directory (made, moved, other rights) is
 * followed by a visit of what is there then, and of all below; a visit goes by watch descriptors, which never lie: the same directory
 * has the same one wherever it is found; and what a visit saw too early has an event still to come. */
#pragma once
#include "sk-root-private.h"
#include "sk-watch-tree.h"
#include "sk-watcher.h"

struct _SkWatcher
{
  int refs;
  gboolean closed;
  SkRoot *root;
  SkIgnore *ignore;              /* may be NULL */
  SkWatchFunc func;
  gpointer user_data;
  GMainContext *context;

  int fd;
  SkWatchTree tree;
  GSource *events;               /* waits for the descriptor, or for a short while */
  guint turn;                    /* how often the queue was found empty */
  GHashTable *leaving;           /* cookie -> first half of a move */
  gboolean gone_told;

  GSource *walking;              /* idle; NULL when there is nothing to visit */
  GQueue walk;                   /* paths (char*) of the walk over everything */
  GQueue fresh;                  /* paths that appeared; before the walk */
  GPtrArray *tops;               /* of @fresh: reported as trees when all below is watched */
  guint generation;              /* of the walk */
  gboolean walk_is_first, walk_again, ready;

  guint limit, room;             /* the sysctl's value, and what of it is used here */
  guint unwatched;               /* directories seen by the walk and not watched */
  gboolean limit_told;
};

void sk_watcher_unref (SkWatcher *self);
void sk_watcher_tell (SkWatcher *self, SkWatchEvent event, const char *path, const char *other);
/* The node at hand is where the disk has it: a move of it that was half read is no longer of interest. */
void sk_watcher_node_placed (SkWatcher *self, SkWatchNode *node);

/* --- sk-watch-walk.c --- */
gboolean sk_watch_root (SkWatcher *self, GError **error);
/* Looks at everything again; SK_WATCH_OVERFLOW (the first time TREE) at its end. */
void sk_watch_distrust (SkWatcher *self);
/* A directory that was not there, not readable, or somewhere else before. */
void sk_watch_add_fresh (SkWatcher *self, const char *path);
/* Visits what appeared, up to a step; the rest follows in idle turns. */
void sk_watch_walk_on (SkWatcher *self);
