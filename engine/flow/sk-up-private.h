/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way up, read top to bottom: sk-up.c (what to look at) -> sk-up-read.c (split, id, known?) -> sk-up-pack.c (compress, seal, put)
 * -> sk-up-commit.c (entries and log, then segments and heads). All state belongs to the up thread. */
#pragma once
#include "sk-attributes.h"
#include "sk-budget.h"
#include "sk-flow.h"
#include "sk-live.h"
#include "sk-scan.h"
#include "sk-settle.h"
#include "sk-split.h"

#define SK_UP_BYTES_MAX (96u << 20)       /* read and not yet stored */
#define SK_UP_SMALL (4u << 20)            /* up to here a file is read in one go, many in one job */
#define SK_UP_STEP (8u << 20)             /* of a larger file per job */
#define SK_UP_READS_MAX 8u                /* jobs in flight: enough for the time that a commit takes */
#define SK_UP_SEALS_MAX 4u                /* packs that wait for a processor: to read on would only fill memory, and empty the caches */
#define SK_UP_BATCH_ITEMS 256u            /* files per read job */
#define SK_UP_CANDIDATES_HIGH 4000u       /* the scanner pauses above */
#define SK_UP_SCAN_DIRS 32u               /* directories per scan job */
#define SK_UP_SCANS_MAX 3u                /* jobs of a folder in flight: while one is compared the disk has work */
/* The size of a full pack, all included: below this power of two the steps of its padding are half as wide as above it. */
#define SK_UP_PACK_TARGET (8u << 20)
#define SK_UP_PACK_FRAME 1024u           /* what a pack has besides its chunks: header, trailer, seals */
#define SK_UP_PACK_ROW 88u               /* and with each chunk: its seal and its row, at most */
#define SK_UP_PACK_CHUNKS 8192u           /* files of a few bytes: far below what a pack and a record of it may hold, and few wait for it */
#define SK_UP_COMMIT_ITEMS 1000u
#define SK_UP_COMMIT_PACKS 512u          /* 4 GiB: a pack logged apart from its entry costs its chunk ids twice */
#define SK_UP_COMMIT_DELAY_US (250 * 1000)
#define SK_UP_AGAIN_US (10 * G_USEC_PER_SEC)    /* after rules that cannot be read, a loss not taken back yet, a storage that did not answer */

typedef struct _SkUpFolder SkUpFolder;
typedef struct _SkUpLane SkUpLane;

/* One path on its way. */
typedef struct
{
  SkUp *up;
  SkFound *found;
  SkUpFolder *folder;
  guint64 queued;                /* bytes of the file, as they are counted in what waits */
  SkEntry *content;              /* what was found there; NULL when gone */
  SkSplitter *splitter;          /* large files, between two steps */
  GArray *fresh;                 /* SkSplitChunk of the current step */
  guint64 cost;                  /* bytes of budget this step holds */
  guint waiting;                 /* chunks that are not durable yet */
  gboolean asked;                /* which of its chunks are held, when these two were so: */
  guint64 asked_losses;          /* sk_index_losses */
  guint asked_config;            /* SkUp.configs */
  gboolean unsent;               /* chunks of it went nowhere, as nothing of the folder might be published */
  gboolean read_done;
  gboolean reading;              /* a job has it: what the job writes does not count yet */
  gboolean moved;                /* content taken over from another name, unread (C14) */
  gboolean unproven;             /* to be hashed again by a later pass */
  gboolean unkept;               /* the disk it was read from could not make it durable */
  gboolean blank;                /* after an unclean stop: nothing but zeros was read so far */
  gboolean suspect, holes;       /* after an unclean stop; zeros were read */
  gboolean written_here;         /* by the engine that was cut off, which did not come to note it */
  gboolean damaged;              /* by the unclean stop: fetched again, never published (A12) */
  GBytes *xattrs;                /* as they are on the disk; NULL: none, or not read */
  gboolean xattrs_read, xattrs_too_large;
  gboolean mark_wanted;          /* the disk has others than @content says: @mark is kept with the base */
  SkAttributesMark mark;
  gboolean cleared;              /* a replacement by zeros or noise that may be published (C17) */
  GError *error;
} SkUpItem;

/* A chunk that is on its way into a storage. */
typedef struct
{
  SkHash id;
  GPtrArray *items;              /* SkUpItem waiting for it */
} SkUpChunk;

typedef struct
{
  SkUp *up;
  SkUpLane *lane;
  int generation;                /* of @up when it was sealed */
  GArray *chunks;                /* SkSplitChunk with data */
  guint64 cost;                  /* bytes of budget it holds */
  int level;
  gboolean verify;               /* every chunk, not one in sixteen */
  SkKeyring *keys;
  GBytes *object;                /* until it is stored */
  guint64 size;
  SkHash name;
  SkId epoch;
  GArray *rows;
  GError *error;
  guint puts_left;
  GArray *stored;                /* gint64 rows of storages that have it */
} SkUpPack;

/* Chunks for one set of storages. */
struct _SkUpLane
{
  char *key;
  GArray *storages;              /* gint64 rows */
  GArray *open;                  /* SkSplitChunk: the next pack */
  guint64 open_bytes;            /* of the pack, should nothing compress */
  guint64 open_cost;
  GHashTable *in_flight;         /* SkHash -> SkUpChunk */
};

struct _SkUpFolder
{
  gint64 row;
  SkFlowFolder *flow;            /* of the config the up thread holds */
  SkIgnore *ignore;              /* NULL: the next scan job reads the rules */
  SkStat rules;                  /* of the file they were read from */
  guint full_scans;              /* that began: what jobs bring from before the last one does not count */
  GQueue dirs;                   /* char*: to scan */
  guint scans_out;
  gboolean full_scan;            /* this pass began at the root */
  gboolean incomplete;           /* a directory could not be read: nothing may be concluded from absence */
  gint64 again_at;               /* µs: what was missing could not be believed, another pass then; 0: no need */
  GPtrArray *gone;               /* SkFound: seen missing, not yet decided */
  GPtrArray *suspects;           /* SkUpItem: files replaced by zeros or noise, not yet decided; the items table owns them */
  guint waiting;                 /* so many of both wait for the person (C17); 0: none were asked about */
  gint64 held_since, held_until; /* µs: what is missing waits for more of it, see sk-up-hold.c; 0: nothing does */
  guint held;                    /* so many of both do */
  gboolean held_looked;          /* they were looked for once more after that */
  gboolean confirmed, refused;   /* what the person said about a mass change, for this pass */
  guint64 asked;                 /* how many files that was about */
  gboolean ask;                  /* the root has new numbers: whatever is missing waits for the person (C12) */
  GArray *recent;                /* losses of the last ten minutes, see sk-up-gone.c; NULL: not loaded yet */
  GHashTable *troubles;          /* keys of the issues about single paths that this pass raised; others are over when it ends */
  SkSettle *settle;
  GHashTable *withheld;          /* receive-only: char* path -> SkFound, what differs here */
  gboolean withheld_changed;
  gboolean publish, revert;      /* what the person said about that, for this pass */
  guint checks_out, looks_out;
  guint pass;                    /* counts sk_up_gone_begin: what is in @gone belongs to this one */
};

typedef struct
{
  gint64 *folders;
  guint n;
  gboolean started;
  GAsyncQueue *reply;
  SkUpResult *result;
} SkUpRequest;

struct _SkUp
{
  SkSession *session;
  SkWorker *worker;
  SkConfig *config;              /* the up thread's */
  guint configs;                 /* counts them */
  SkBudget budget;
  GHashTable *folders;           /* gint64 row -> SkUpFolder */
  GHashTable *items;             /* every SkUpItem on its way; owns them */
  GQueue candidates;             /* SkUpItem */
  GQueue large;                  /* SkUpItem between two steps */
  guint reads_out;
  GPtrArray *lanes;
  guint packs_out;
  guint seals_out;               /* of these those that are not sealed yet */
  GPtrArray *finished;           /* SkUpPack stored, not yet in the log */
  GPtrArray *ready;              /* SkUpItem */
  GSource *commit_source;
  SkTimer *settle_timer;
  gboolean push_wanted;
  gint64 push_at;                /* then it is tried again, if it is still wanted */
  GQueue requests;               /* SkUpRequest */
  GPtrArray *failed;             /* char*: of the passes since the last request began */
  guint64 files, bytes, entries, scanned;
  int waits_for_step;            /* atomic: paths are due, but the way down is placing things; it calls sk_up_step_done */
  gboolean closing;
  int dirs_left;                 /* atomic: sk_up_scan_left when it was asked last */
  int generation;                /* atomic: counts how often everything on its way was given up */
};

/* Takes @found. The up thread's table owns items; removing one frees it. */
SkUpItem *sk_up_item_new (SkUp *self, SkUpFolder *folder, SkFound *found);
/* The item ends here: an error becomes an issue, the path is looked at again later. Frees. */
void sk_up_item_fail (SkUp *self, SkUpItem *item);
/* Starts whatever can be started; called after every event. */
void sk_up_turn (SkUp *self);

/* sk-up-read.c */
void sk_up_read_more (SkUp *self);
/* sk-up-attributes.c */
/* Disk pool, after the last step of the splitter. */
gboolean sk_up_attributes_read (SkUpItem *item);
/* What goes into the content of those that were read to the end. */
gboolean sk_up_attributes_settle (SkUp *self, GPtrArray *items, GError **error);
/* Index thread. The first one before the content is sealed, the second one in the transaction that sets the base. */
gboolean sk_up_attributes_of_moved (SkSession *session, SkUpItem *item, GError **error);
gboolean sk_up_attributes_note (SkSession *session, const SkUpItem *item, GError **error);
/* sk-up-pack.c */
/* Takes over the fresh chunks of an item: those not held anywhere go into a pack. */
gboolean sk_up_route (SkUp *self, GPtrArray *items, GError **error);
void sk_up_seal_idle (SkUp *self);
/* Nothing on its way is wanted any more: what waits for chunks fails as cancelled. Packs that are being put are put and noted. */
void sk_up_pack_give_up (SkUp *self);
void sk_up_lane_free (gpointer data);
void sk_up_pack_free (gpointer data);
void sk_up_give_budget (SkUp *self, guint64 cost);
/* sk-up-commit.c */
void sk_up_ready (SkUp *self, SkUpItem *item);
void sk_up_commit (SkUp *self);
/* Of the issue of @kind ("item", "special", "mount") about @path. (transfer full) */
char *sk_up_issue_key (const char *kind, const SkUpFolder *folder, const char *path);
void sk_up_push (SkUp *self);

/* What this folder's changes may do: FALSE in a folder that only receives, unless the person said 'publish'. */
gboolean sk_up_may_publish (const SkUpFolder *folder);
