/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the flows share. The session owns everything; the two flows (up, down) each own one worker thread and its state. Shared
 * configuration is an immutable snapshot (SkConfig) that is replaced as a whole. */
#pragma once
#include "sk-chunker.h"
#include "sk-clock.h"
#include "sk-compress.h"
#include "sk-home.h"
#include "sk-ignore.h"
#include "sk-index.h"
#include "sk-member.h"
#include "sk-path.h"
#include "sk-pool.h"
#include "sk-root.h"
#include "sk-scan.h"
#include "sk-session.h"
#include "sk-store.h"
#include "sk-tree.h"

/* A storage that is attached on this device. */
typedef struct
{
  gint64 row;
  SkId id;
  char *name;
  SkStore *store;
  int level;                     /* zstd level */
  gboolean verify;               /* every chunk is opened again before it is put, not one in sixteen (C18) */
} SkFlowStorage;

/* A folder that is attached on this device. */
typedef struct
{
  gint64 row;
  SkId id;
  char *name;
  char *path;
  SkFolderMode mode;
  char **only;
  gboolean xattrs;               /* those of the person are part of what is synced */
  SkRoot *root;                  /* NULL: unavailable, see @why */
  char *why;
  gboolean copied;               /* another root carries the marker of this folder, or this one's root that of another: nothing is taken as removed */
  GArray *storages;              /* gint64 rows; placement: never empty unless the vault has no storage here */
} SkFlowFolder;

/* Immutable once published. Atomic reference count. */
typedef struct
{
  gatomicrefcount refs;
  SkKeyring *keys;
  SkMembers *members;
  GPtrArray *storages;           /* SkFlowStorage */
  GPtrArray *folders;            /* SkFlowFolder */
  gboolean incomplete;           /* a root or a storage could not be had: it may be there the next time */
} SkConfig;
SkConfig *sk_config_ref (SkConfig *self);
void sk_config_unref (SkConfig *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkConfig, sk_config_unref)
SkFlowFolder *sk_config_folder (SkConfig *self, gint64 row);
SkFlowStorage *sk_config_storage (SkConfig *self, gint64 row);

typedef struct _SkUp SkUp;
typedef struct _SkDown SkDown;
typedef struct _SkWatch SkWatch;
typedef struct _SkInvites SkInvites;

/* Counters any thread may add to (g_atomic_pointer_add would do; these are 64 bit everywhere). */
typedef struct
{
  guint64 files_up, bytes_up;            /* taken in here */
  guint64 chunks_new, chunks_known, packs_up;
  guint64 files_down, bytes_down;
  guint64 chunks_local, chunks_storage;
  guint64 wire_up, wire_down;            /* stored bytes put and got */
  guint64 looked, listed;                /* paths of folders that were looked at; directories that were listed */
} SkCounters;

struct _SkSession
{
  SkHome *home;
  SkClock *clock;
  gboolean watch;
  SkHomeConfig who;              /* vault, device, writer, names, recovery keys */
  gboolean has_vault;
  SkKeep keep;
  SkIdentity *identity;
  SkKey id_key;
  SkGear gear;

  SkWorker *index_worker;        /* the only thread that touches index and tree */
  SkIndex *index;
  SkTree *tree;
  GHashTable *mass;              /* index thread: recent removals by device and folder, see sk-mass.c */
  SkPool *disk, *cpu, *store_pool;
  GAsyncQueue *compressors;      /* idle SkCompressor */

  GMutex lock;                   /* config, counters, report, open_issues */
  GHashTable *open_issues;       /* keys of the issues in the index, so that settling what is not there costs nothing */
  struct _SkIssues *issues;      /* under lock; sk-issues.h */
  SkConfig *config;
  SkCounters counters;
  guint64 rested;                /* bytes that had moved when memory was given back last; under lock */
  struct _SkLive *live;          /* sk-live.h */
  GHashTable *met;               /* gint64 rows of storages that were read to the end since opening; under lock */
  GArray *offered;               /* SkPosition: how far heads said that logs reach, since opening; under lock */
  GVariant *report;
  SkReportFunc report_func;
  gpointer report_data;
  int paused;                    /* atomic */
  int is_open;                   /* atomic: the vault is open and its flows are there; what asks earlier sees none of them */
  gint64 opened_wall, unclean_since; /* µs; sk-crash.h. Set when opening */
  int is_writing, swept;         /* atomic: files were changed; every folder was looked at since opening */
  int doubts_writes;             /* atomic: a disk failed to make durable what was put in place, and that could not be noted */
  int compared;                  /* atomic: the own head was compared with a storage, or none is reachable (A5) */

  GCancellable *stopping;
  SkUp *up;
  SkDown *down;
  SkWatch *watcher;
  SkInvites *invites;            /* sk-invite-serve.h */
  GMutex reloading;              /* held while a new config is made, so that an older one never replaces it */
  GHashTable *heads;             /* down's thread: heads as they were read; sk-heads.c */
  GHashTable *heads_read;        /* down's thread: storages of which nothing was left to read; sk-heads.c */
  GHashTable *root_locks;        /* under reloading: "DEV:INODE" -> descriptor; sk-known-root.c */
  struct _SkAttachments *attachments;    /* under reloading; sk-attachments.h */
  SkWorker *reporter;            /* while an engine runs */
  int report_wanted;             /* atomic */
  gboolean report_again;         /* reporter thread: one is due in a second anyway */
};

/* --- sk-session.c --- */
SkConfig *sk_session_config (SkSession *self);                            /* (transfer full) */
/* Reads storages, folders and members again and publishes a new snapshot. Any thread but the index thread; opens roots (blocking). */
gboolean sk_session_reload (SkSession *self, GError **error);
/* Replaces keys or members in the snapshot. */
void sk_session_set_keys (SkSession *self, SkKeyring *keys);
typedef gboolean (*SkIndexFunc) (SkSession *session, gpointer data, GError **error);
/* Runs @func on the index thread and waits; not from the index thread. */
gboolean sk_session_index (SkSession *self, SkIndexFunc func, gpointer data, GError **error);
/* The same inside one transaction; the tree is flushed before the commit. */
gboolean sk_session_transact (SkSession *self, SkIndexFunc func, gpointer data, GError **error);
/* The same for the thread that turns @context: what comes home there is dealt with while it waits. */
gboolean sk_session_transact_turning (SkSession *self, SkIndexFunc func, gpointer data, GMainContext *context, GError **error);
SkCompressor *sk_session_take_compressor (SkSession *self);
void sk_session_give_compressor (SkSession *self, SkCompressor *z);
/* A flow has nothing more to do: after large work the memory for it goes back. Any thread. */
void sk_session_rest (SkSession *self);
void sk_session_count (SkSession *self, const SkCounters *add);
/* RULES A5, B3: the own head in this storage was compared with the own log, so a new one may be put there. Any thread. */
gboolean sk_session_has_met (SkSession *self, gint64 storage);
/* FALSE when that was so before. */
gboolean sk_session_meet (SkSession *self, gint64 storage);
gint64 sk_session_wall (SkSession *self);                                  /* unix seconds */
/* --- sk-issues.c: issues; from any thread but the index thread. @key is made by the caller, stable for the thing. */
void sk_session_raise (SkSession *self, const char *key, const char *kind, gint64 folder, const char *path, const char *format, ...) G_GNUC_PRINTF (6, 7);
void sk_session_settle_issue (SkSession *self, const char *key);
/* Something a report shows has changed. */
void sk_session_touch_report (SkSession *self);

/* --- sk-session-vault.c: opening what belongs to a vault; after create, join or recover as well --- */
gboolean sk_session_open_vault (SkSession *self, const char *passphrase, GError **error);

/* This home was restored or copied: a new writer id, counters from zero, first contact with every folder (A5). Down's thread. */
gboolean sk_session_new_incarnation (SkSession *self, GError **error);
/* A pause that ran out, or that the person ended, ends: what waited for that begins. Not the index thread. */
void sk_session_check_pause (SkSession *self);

/* --- sk-up.c --- */
SkUp *sk_up_new (SkSession *session);
void sk_up_free (SkUp *self);                                              /* stops its thread */
typedef struct
{
  gboolean ok;
  GPtrArray *failed;             /* char* "path: why" */
  guint64 files, bytes, entries, scanned;
  gboolean again;                /* something waits to be looked at once more */
} SkUpResult;
void sk_up_result_clear (SkUpResult *self);
/* Scans @folders (rows; NULL = all attached), takes in what changed and publishes; waits until that is durable in the storages. */
gboolean sk_up_sync (SkUp *self, const gint64 *folders, guint n, SkUpResult *out, GCancellable *cancellable, GError **error);
/* Something at this path may have changed; from any thread. @tree: everything below as well. */
void sk_up_note (SkUp *self, gint64 folder, const char *path, gboolean tree, gboolean writing);
/* Positions changed (segments were merged): heads want writing. */
void sk_up_publish (SkUp *self);
guint sk_up_dirs_left (SkUp *self);                                         /* directories to be listed that are known by now, 0: no scan; any thread */
/* The way down has noted what it placed. Any thread. */
void sk_up_step_done (SkUp *self);
/* Own log and head into one storage (row) now, whatever else is on its way up; waits. Task threads. */
gboolean sk_up_push_now (SkUp *self, gint64 storage, GCancellable *cancellable, GError **error);
void sk_up_reload (SkUp *self);                                            /* config changed; waits until it is used */
void sk_up_refresh (SkUp *self);                                           /* the same without waiting: from down's thread */
/* Mass change of a folder: a person said yes or no. Carried out by the next pass. */
void sk_up_confirm (SkUp *self, gint64 folder, gboolean yes);
/* Local changes of a folder that only receives: @publish them, or take them back. Carried out by the next pass. */
void sk_up_decide_local (SkUp *self, gint64 folder, gboolean publish);

/* --- sk-down.c --- */
SkDown *sk_down_new (SkSession *session);
/* Ends the thread; calls from other threads are ignored from then on. */
void sk_down_end (SkDown *self);
void sk_down_free (SkDown *self);
typedef struct { char *path; char *why; } SkDownFailure;
typedef struct
{
  gboolean ok;
  double seconds;
  guint64 files, bytes;
  guint64 needed, local, peer, storage;       /* chunks */
  GArray *sources;               /* SkDownSource */
  GPtrArray *failed;             /* SkDownFailure */
  guint64 dirty_left;
  guint64 placed;                /* paths of every kind */
  gboolean again;                /* the way up has something to look at: what gave way, what was in the way, other rules */
} SkDownResult;
typedef struct { gint64 storage; guint64 chunks, wire_bytes, requests; } SkDownSource;
void sk_down_result_init (SkDownResult *self);
void sk_down_result_clear (SkDownResult *self);
/* Reads heads and logs of every reachable storage and merges. Task threads. */
gboolean sk_down_pull (SkDown *self, GCancellable *cancellable, GError **error);
/* Pulls, then brings @folders (NULL = all attached) to their targets. Waits. Adds to @out. */
gboolean sk_down_sync (SkDown *self, const gint64 *folders, guint n, SkDownResult *out, GCancellable *cancellable, GError **error);
/* Targets changed or a try may work now; from any thread. */
void sk_down_wake (SkDown *self);
/* Ends the round that nobody asked for, if one runs; it goes no further than the step it is in. From any thread. */
void sk_down_pause (SkDown *self);
/* One poll soon; from any thread. */
void sk_down_poll (SkDown *self);
/* Something was merged or moved in the last minute. */
gboolean sk_down_is_busy (SkDown *self);
/* For a while it counts as busy. Any thread. */
void sk_down_expect (SkDown *self);
/* Odd while things are placed that no base tells of yet; every step changes it. Any thread. */
int sk_down_steps (SkDown *self);

/* --- sk-pull.c: storage -> log -> index (blocking; down's thread) --- */
/* @unchanged: no head is another one than when everything was read, so nothing else was looked at. */
typedef struct { gboolean merged, unchanged; guint segments; guint64 entries; GPtrArray *problems; } SkPullResult;
gboolean sk_pull_storage (SkSession *session, SkFlowStorage *storage, SkPullResult *out, GCancellable *cancellable, GError **error);
/* Setting that keeps the highest counter of a device's head that was read from a storage (B3). (transfer full) */
char *sk_pull_seen_key (gint64 storage, const SkDeviceId *device);
/* The setting that holds when a device last wrote a head, by its clock (unix seconds, never in the future). */
char *sk_pull_last_seen_key (const SkDeviceId *device);

/* --- sk-push.c: own log and head -> storage (blocking; up's thread) --- */
gboolean sk_push_storage (SkSession *session, SkFlowStorage *storage, GCancellable *cancellable, GError **error);

/* --- sk-mass.c: index thread; mass changes that come from other devices (C17) --- */
/* An entry of another device was applied: a removal it did not get confirmed is counted, and beyond the limits held with all like it. */
gboolean sk_mass_note (SkSession *session, const SkEntry *entry, const SkId *writer, GError **error);
/* A person decided: carry out what is held in @folder, or write back what was removed (records are appended). In a transaction. */
gboolean sk_mass_accept (SkSession *session, gint64 folder, GError **error);
gboolean sk_mass_refuse (SkSession *session, gint64 folder, GPtrArray *records, GError **error);

/* --- sk-log.c: index thread, inside a transaction --- */
/* Position the next own segment will have. */
gboolean sk_log_next (SkSession *session, guint64 *seq, SkHash *prev, GError **error);
/* Appends @records (GPtrArray of SkRecord) as one own segment: bytes kept, position moved. Nothing when empty. */
gboolean sk_log_append (SkSession *session, GPtrArray *records, GError **error);
/* Applies one record of another's (or, rebuilding, the own) log. Refused entries go to @problems (char*). */
gboolean sk_log_apply (SkSession *session, SkRecord *record, const SkId *writer, guint64 seq, GPtrArray *problems, GError **error);

/* --- sk-compare.c: index thread --- */
typedef enum { SK_FOUND_NEW, SK_FOUND_CHANGED, SK_FOUND_META, SK_FOUND_GONE } SkFoundWhat;
/* One path whose disk differs from its base. */
typedef struct
{
  SkFoundWhat what;
  gint64 folder;
  char *path;
  guint32 generation;
  SkStat stat;                   /* kind NONE: gone */
  guint32 mode;                  /* of @stat; where the disk keeps no modes that of the base, which the vault has */
  gint64 node;                   /* row; 0: there is none yet */
  SkKind base_kind;
  guint64 base_size;
  gint64 base_content;           /* row; META: content is known to be the base's */
  char *moved_from;              /* NEW: base of this path has the same inode, birth time, size and mtime (C14) */
  gboolean weighed;              /* GONE: whether it was only renamed is known; see sk-up-hold.c */
  gboolean looked_again;         /* GONE: it was looked for after the base was read, and is missing */
  gboolean moved_with_dir;       /* ... and ctime: not the file was renamed, but a directory above it */
  gint64 moved_content;
  gboolean moved_away;           /* GONE: its content stands under another name now */
  gboolean renamed;              /* GONE: the same file has another name, see sk-up-hold.c */
} SkFound;
void sk_found_free (SkFound *self);
/* Compares a listing with the bases below its directory. Appends SkFound to @out; directories to descend into go to @dirs (char*).
 * What is missing goes to @gone (SkFound), whole sub-trees, deepest first. Unavailable sub-trees (mounts, A10) are named in @unavailable. */
gboolean sk_compare_listing (SkSession *session, gint64 folder, SkScanDir *listing, GPtrArray *out, GPtrArray *gone, GPtrArray *dirs,
                             GPtrArray *unavailable, GError **error);
/* The same for one path that was looked at by itself. */
gboolean sk_compare_path (SkSession *session, gint64 folder, const char *path, const SkStat *stat, GPtrArray *out, GPtrArray *gone,
                          GPtrArray *dirs, GError **error);
