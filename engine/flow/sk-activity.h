/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happened, for people: one row per folder and pass with counts, never a row per file; and what it takes to undo a pass that removed or
 * replaced. Kinds: received, moved, replaced, removed, conflict, restored, undone, decision. */
#pragma once
#include "sk-flow.h"

/* What a pass did to one path: undone only while @after is still what is there. Rows of node and versions; @after 0: removed. */
typedef struct { gint64 node, before, after; } SkUndo;

/* Something that cannot be undone; @path NULL: of the folder. Any thread but the index thread; what fails is logged, since what happened has happened. */
void sk_activity_note (SkSession *session, gint64 folder, const char *kind, const char *path, const char *format, ...) G_GNUC_PRINTF (5, 6);
/* Index thread. Of activity row @row, NULL when it has none. */
GArray *sk_activity_undo (SkSession *session, gint64 row);
/* Index thread, in a transaction: it was undone. */
gboolean sk_activity_undone (SkSession *session, gint64 row, GError **error);

/* --- one folder's pass of the way down; down's thread --- */
typedef struct _SkActivityPass SkActivityPass;
SkActivityPass *sk_activity_pass_new (SkSession *session, gint64 folder);
typedef enum { SK_DID_RECEIVE, SK_DID_MOVE, SK_DID_REPLACE, SK_DID_REMOVE } SkDid;
/* @node: as it was before; @path of it. */
void sk_activity_pass_add (SkActivityPass *self, SkDid did, const SkNode *node, const char *path);
/* A conflict copy appeared at @path. */
void sk_activity_pass_conflict (SkActivityPass *self, const char *path);
/* Writes its rows in one transaction, if there are any, and frees it. */
void sk_activity_pass_end (SkActivityPass *self);
