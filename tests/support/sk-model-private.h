/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the model share: sk-model.c (the sequence), sk-model-person.c (what a person does), sk-model-disk.c (trees and
 * contents), sk-model-device.c (processes that sync), sk-model-check.c (what must be so in the end), sk-model-tombs.c (what is told of as
 * removed); with engines that run: sk-model-running.c (the sequence), sk-model-engine.c (the processes). */
#pragma once
#include <sys/types.h>

#include "sk-model.h"
#include "sk-session.h"

/* A content a person made: the bytes of a file, or the target of a link. Two files with the same bytes are one content. */
typedef struct
{
  char *key;
  GBytes *data;
  gboolean is_link;
  gboolean taken;                /* a device synced to the end while this stood on its disk: from then on it must be found */
  gboolean let_go;               /* a person overwrote or removed it somewhere: it need not be in a tree */
  char *seen_at;                 /* where it was seen first */
} SkModelContent;

/* The last thing a person did to a path. */
typedef struct
{
  gboolean written;              /* else removed or moved away */
  const char *key;               /* the content that was written; NULL: a directory */
  guint operation, device;
  guint moment;
} SkModelLast;

/* A sync that came to its end without a failure. */
typedef struct { guint device, moment; } SkModelCleanSync;

typedef struct
{
  char *path;
  char kind;                     /* 'f', 'd' or 'l' */
} SkModelItem;

/* A device whose engine runs in a process of its own (sk-model-engine.c). */
typedef struct
{
  pid_t pid;                     /* 0: none runs */
  int in, out;                   /* to and from it */
} SkModelEngine;

typedef struct
{
  guint64 seed;
  GRand *rand;
  SkModelCounts *counts;
  char *base, *storage;
  char *homes[SK_MODEL_DEVICES], *roots[SK_MODEL_DEVICES];
  GHashTable *contents;          /* key -> SkModelContent; owns both */
  GHashTable *seen;              /* numbers of a file -> its SkModelContent, so that a file is read once */
  GHashTable *last;              /* path -> SkModelLast */
  GHashTable *removed;           /* "DEVICE PATH" of all that a person removed or moved away -> the moment of the last time; owns the keys */
  GArray *clean_syncs;           /* SkModelCleanSync, in the order of time */
  guint moment;                  /* counts what persons and syncs do */
  gboolean killed[SK_MODEL_DEVICES];
  SkModelEngine engines[SK_MODEL_DEVICES];
  GString *trace;
  GString *problem;              /* empty: all well */
  guint operation;               /* number of the current one */
  guint acting;                  /* the device it is on */
  const char *forced;            /* the path the next operation is about, or NULL */
} SkModel;

/* A line about what is done on self->acting. */
void sk_model_trace (SkModel *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Only the first problem is of interest. */
void sk_model_fail (SkModel *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean sk_model_failed (SkModel *self);

/* --- sk-model-disk.c --- */
void sk_model_item_free (SkModelItem *self);
void sk_model_content_free (SkModelContent *self);
/* Everything below @root but .skerry, by path. */
GPtrArray *sk_model_list (const char *root);
/* Set of the keys (owned by self->contents) of what lies on device @i: files and links of the tree, of the trash with @with_trash. */
GHashTable *sk_model_collect (SkModel *self, guint i, gboolean with_trash);
/* Key of a content, (transfer full). */
char *sk_model_key (gboolean is_link, const void *data, gsize len);
/* The content at @path of device @i, or NULL when that is no file or link. */
SkModelContent *sk_model_content_at (SkModel *self, guint i, const char *path);
/* "kind mode mtime content" per path, sorted: what has to be equal. */
char *sk_model_listing (SkModel *self, guint i);
void sk_model_remove_tree (const char *path);

/* --- sk-model-person.c --- */
/* One random operation on device @i; FALSE when none was possible. */
gboolean sk_model_act (SkModel *self, guint i);
/* Files to begin with, on device 0. */
void sk_model_begin (SkModel *self, guint files);
/* Bytes that exist nowhere else. */
GBytes *sk_model_bytes (SkModel *self);
/* A person writes at @path, in place or by renaming a new file over it. FALSE when that fails. */
gboolean sk_model_write (const char *root, const char *path, GBytes *bytes, gboolean in_place);
void sk_model_note_written (SkModel *self, guint i, const char *path);

/* --- sk-model-device.c --- */
typedef struct
{
  const char *kill_stage;        /* NULL: to the end */
  guint kill_at;
  /* In the middle, at the @race_at-th passage of @race_stage, a person writes @race_bytes at @race_path. */
  const char *race_stage, *race_path;
  guint race_at;
  GBytes *race_bytes;
  gboolean race_in_place;
  gboolean no_storage;
} SkModelSync;
typedef struct
{
  gboolean killed;
  char *raced;                   /* key of the content that was overwritten in the middle; NULL: nothing was */
  gboolean clean;                /* came to the end, nothing failed */
  char *said;                    /* failures and issues, a line each; "" when there are none */
} SkModelSynced;
/* Makes the devices and the folder they share. */
gboolean sk_model_make_devices (SkModel *self);
void sk_model_synced_clear (SkModelSynced *self);
void sk_model_sync (SkModel *self, guint i, const SkModelSync *how, SkModelSynced *out);
/* What an engine tells about kills and lost databases is no news here: warnings and worse are shown. A GLogFunc. */
void sk_model_log_quietly (const char *domain, GLogLevelFlags level, const char *message, gpointer data);
/* Runs @func in a process of its own. Returns what it said; *@status as from waitpid. */
typedef void (*SkModelChildFunc) (SkModel *self, int out, gpointer data);
char *sk_model_in_child (SkModel *self, SkModelChildFunc func, gpointer data, int *status);
/* In such a process. */
void sk_model_say (int out, const char *format, ...) G_GNUC_PRINTF (2, 3);
GVariant *sk_model_command (SkSession *session, const char *name, GVariant *args, int out);
/* A person who is asked about a mass change says yes. TRUE when there was one. */
gboolean sk_model_accept_mass_changes (SkSession *session, int out);
/* A line for each open issue. */
void sk_model_say_issues (SkSession *session, int out);
/* Removes from @missing (key -> SkModelContent) what the history of device @i holds, with all chunks in a storage. */
void sk_model_find_versions (SkModel *self, guint i, GHashTable *missing);

/* --- sk-model-check.c --- */
/* Syncs until nothing changes any more, then checks everything. */
void sk_model_end (SkModel *self);
/* A sync with what has to hold around it. */
void sk_model_checked_sync (SkModel *self, guint i, const SkModelSync *how, SkModelSynced *out);

/* --- sk-model-tombs.c --- */
/* Every deletion that stands in the history of a device was made by a person on the device that published it. */
void sk_model_check_tombstones (SkModel *self);

/* --- sk-model-engine.c --- */
/* @speed: how many times faster than real time the engine's clock goes. */
void sk_model_engine_start (SkModel *self, guint i, guint speed);
/* Ends it as a person does. Not running: nothing. */
void sk_model_engine_stop (SkModel *self, guint i);
/* The engine stands still between these, wherever it is: what is done meanwhile happens at one moment for it. */
void sk_model_engine_freeze (SkModel *self, guint i);
void sk_model_engine_thaw (SkModel *self, guint i);
/* SIGKILL when @stage is passed for the @n-th time from now on; the engine may end before that as well. */
void sk_model_engine_doom (SkModel *self, guint i, const char *stage, guint n);
void sk_model_engine_kill (SkModel *self, guint i);
/* A sync that a person asks for; its end is not waited for. */
void sk_model_engine_sync (SkModel *self, guint i);
/* FALSE when no engine runs, or when SIGKILL ended it. */
gboolean sk_model_engine_runs (SkModel *self, guint i);
typedef struct
{
  gint64 quiet_us;               /* of the engine's clock: nothing was to be done and nothing happened for so long */
  char *coverage;                /* what of every log was merged */
  gint64 files, dirs, links, dirty;
  char *said;                    /* issues, a line each */
} SkModelState;
void sk_model_state_clear (SkModelState *self);
/* FALSE when it does not run. */
gboolean sk_model_engine_state (SkModel *self, guint i, SkModelState *out);

/* --- sk-model.c --- */
void sk_model_lose_state (SkModel *self, guint i);
/* Makes a model for @seed, runs @sequence on it and takes it away. NULL, or what is wrong. */
char *sk_model_run_with (guint64 seed, SkModelCounts *counts, void (*sequence) (SkModel *self));
/* Two devices do something to one path, neither knowing of the other: the two, and whether a path was found. Sets self->forced. */
char *sk_model_pick_common (SkModel *self, guint *a, guint *b);
