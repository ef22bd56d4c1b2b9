/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The local database of one vault: SQLite in WAL mode, used by one thread at a time (the index thread). Rebuildable from the log
 * copies and the disk, except for what is marked (own): own counters and the not-yet-published part. Functions that change
 * something must run between sk_index_begin and sk_index_commit; a failed statement leaves the transaction to be rolled back.
 * Rows are 64-bit integers; ids are stored as blobs once. */
#pragma once
#include "sk-entry.h"
#include "sk-head.h"

typedef struct _SkIndex SkIndex;
/* Opens or creates. SK_ERROR_TOO_NEW for a newer schema (untouched); SK_ERROR_CORRUPT for a file that is no database of ours or is
 * damaged (the caller sets it aside and rebuilds); NO_SPACE, IO, PERMISSION are never taken for corruption (B091). Temporary
 * data in memory (B094). synchronous=FULL. */
SkIndex *sk_index_open (const char *path, GError **error);
void sk_index_close (SkIndex *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkIndex, sk_index_close)
/* Renames a damaged database to @kept, and its companions likewise, so that a fresh one can be opened in its place. */
gboolean sk_index_set_aside (const char *path, const char *kept, GError **error);
/* Functions without a GError yield "nothing" when the database cannot be read. The failure is not lost: the next begin or commit
 * returns it, so that nothing that was decided on such an answer becomes durable. */
gboolean sk_index_begin (SkIndex *self, GError **error);
gboolean sk_index_commit (SkIndex *self, GError **error);
void sk_index_rollback (SkIndex *self);
/* Transactions committed since opening (for the budget of 5 per 1 000 files). */
guint64 sk_index_transactions (SkIndex *self);
/* Called several times a second while the database is looked at. FALSE: no more, the check ends as cancelled. Without it nothing asks. */
typedef gboolean (*SkIndexStepFunc) (guint done, guint total, gpointer user_data);
/* quick_check and our own invariants; each problem is a sentence. (transfer full array of char*) */
GPtrArray *sk_index_check (SkIndex *self, SkIndexStepFunc step, gpointer user_data, GError **error);
/* EXPLAIN QUERY PLAN of every prepared statement, for the test. (transfer full array of char*: "sql\n  plan") */
GPtrArray *sk_index_plans (SkIndex *self);

/* --- settings: small values by name --- */
gboolean sk_index_set (SkIndex *self, const char *key, const void *data, gsize len, GError **error);
GBytes *sk_index_get (SkIndex *self, const char *key);                 /* NULL when absent */
gboolean sk_index_unset (SkIndex *self, const char *key, GError **error);
/* Up to @limit keys that begin with @prefix, ascending, after @after (NULL: from the first). (transfer full), char* */
GPtrArray *sk_index_keys (SkIndex *self, const char *prefix, const char *after, guint limit, GError **error);
gboolean sk_index_set_u64 (SkIndex *self, const char *key, guint64 value, GError **error);
guint64 sk_index_get_u64 (SkIndex *self, const char *key, guint64 fallback);

/* --- storages and folders --- */
typedef struct { gint64 row; SkId id; char *name; char *defined_uri /* as defined by a member; NULL: none */;
                 char *uri /* as used on this device; NULL: known, not attached here */; gboolean deleted;
                 guint64 lamport; SkId writer; } SkStorageRow;
void sk_storage_row_free (SkStorageRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkStorageRow, sk_storage_row_free)
GPtrArray *sk_index_storages (SkIndex *self);
gint64 sk_index_storage_row (SkIndex *self, const SkId *id);          /* 0 when unknown */
/* A row for a storage or folder that something names before its definition arrived; not listed until then. 0 on error. */
gint64 sk_index_storage_ensure (SkIndex *self, const SkId *id, GError **error);
gint64 sk_index_folder_ensure (SkIndex *self, const SkId *id, GError **error);
/* Takes the definition when it is newer (lamport, writer) or the storage is unknown. */
gboolean sk_index_storage_define (SkIndex *self, const SkStorageDef *def, gboolean *changed, GError **error);
gboolean sk_index_storage_attach (SkIndex *self, gint64 row, const char *uri /* NULL: detach */, GError **error);

typedef enum { SK_FOLDER_BOTH, SK_FOLDER_SEND, SK_FOLDER_RECEIVE } SkFolderMode;
typedef struct
{
  gint64 row; SkId id; char *name; gboolean deleted; guint64 lamport; SkId writer; GArray *storages; /* SkId */
  char *path;              /* attached here; NULL when not */
  SkFolderMode mode;
  char **only;             /* globs, NULL when everything */
  gboolean first_contact;  /* the first complete scan here has not ended (A6) */
  guint64 root_dev, root_ino; SkHash root_fsid;
} SkFolderRow;
void sk_folder_row_free (SkFolderRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkFolderRow, sk_folder_row_free)
GPtrArray *sk_index_folders (SkIndex *self);
SkFolderRow *sk_index_folder (SkIndex *self, gint64 row);
gint64 sk_index_folder_row (SkIndex *self, const SkId *id);
gboolean sk_index_folder_id (SkIndex *self, gint64 row, SkId *out, GError **error);
gboolean sk_index_folder_define (SkIndex *self, const SkFolderDef *def, gboolean *changed, GError **error);
/* Local attachment. Detaching forgets every base of the folder (nothing is deleted, nothing published). */
gboolean sk_index_folder_attach (SkIndex *self, gint64 row, const char *path, SkFolderMode mode, const char *const *only, GError **error);
gboolean sk_index_folder_detach (SkIndex *self, gint64 row, GError **error);
gboolean sk_index_folder_set_numbers (SkIndex *self, gint64 row, guint64 dev, guint64 ino, const SkHash *fsid, GError **error);
gboolean sk_index_folder_set_mode (SkIndex *self, gint64 row, SkFolderMode mode, GError **error);
gboolean sk_index_folder_set_first_contact (SkIndex *self, gint64 row, gboolean value, GError **error);

/* --- nodes: one per path ever seen; base = what is on this disk, target = the merged state (A1) --- */
typedef struct
{
  SkKind kind;             /* NONE: nothing of ours on this disk */
  gint64 version;          /* row of the version that is there; 0 for an implied directory and for NONE */
  SkVector *vector;        /* what a local change builds on (join, A7); with NONE: of the deletion that was carried out here, or NULL */
  gint64 content;          /* row of the content, 0 for none */
  guint32 mode; gint64 mtime;                    /* as recorded in entries */
  guint64 size, ino, dev; gint64 stat_mtime, ctime, btime;   /* as last seen on disk */
  gboolean mount_root;
  gboolean unproven;       /* taken over by rename evidence (C14), or written since the last barrier (A12): hash it again */
} SkBase;
typedef struct
{
  SkKind kind;             /* NONE: not visible */
  gint64 version;          /* 0 for NONE and for an implied directory */
  gint64 content;
  guint64 size; guint32 mode; gint64 mtime;
} SkTarget;
typedef struct
{
  gint64 row, folder, parent;    /* parent 0: at the top */
  char *name;                    /* one component */
  guint32 generation;            /* changes whenever base does */
  SkBase base;
  SkTarget target;
  gint64 live_children;          /* children whose target is live */
  gboolean dirty;                /* base and target ask for work on this disk */
  guint32 hold;                  /* SK_HOLD_* : not to be applied now */
  SkModeStamp mode_stamp[2];     /* columns of the node's row */
} SkNode;
enum { SK_HOLD_MASS = 1 << 0, SK_HOLD_CLASH = 1 << 1, SK_HOLD_UNSUPPORTED = 1 << 2, SK_HOLD_NOT_SELECTED = 1 << 3, SK_HOLD_IGNORED = 1 << 4 };
void sk_base_clear (SkBase *self);
void sk_node_free (SkNode *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkNode, sk_node_free)

/* NULL without error when there is none. Path lookups are cached (parent rows). */
SkNode *sk_index_node (SkIndex *self, gint64 folder, const char *path, GError **error);
SkNode *sk_index_node_by_row (SkIndex *self, gint64 row, GError **error);
/* Makes the node and its parents. 0 on error. */
gint64 sk_index_node_ensure (SkIndex *self, gint64 folder, const char *path, GError **error);
char *sk_index_node_path (SkIndex *self, gint64 row, GError **error);      /* (transfer full) */
/* Children of a directory in one query, ascending by name bytes; @parent 0 = top. Only those with a base when @with_base. */
GPtrArray *sk_index_children (SkIndex *self, gint64 folder, gint64 parent, gboolean with_base, GError **error);
/* The same with only what a scan compares, for directories of any size, in memory that is used again. Without a base (kind NONE) the numbers are 0. */
typedef struct
{
  gint64 row;
  const char *name;              /* of the list */
  SkKind kind; guint32 mode; guint64 size, ino; gint64 stat_mtime, ctime; gboolean mount_root, unproven;     /* as in SkBase */
} SkChild;
typedef struct _SkChildList SkChildList;
SkChildList *sk_child_list_new (void);
void sk_child_list_free (SkChildList *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkChildList, sk_child_list_free)
/* What was in the list before is gone. */
gboolean sk_index_child_list (SkIndex *self, gint64 folder, gint64 parent, SkChildList *list, GError **error);
const SkChild *sk_child_list_get (const SkChildList *self, guint *n);      /* (transfer none) */
/* How many nodes there are, about: also of what was removed. */
gboolean sk_index_nodes_made (SkIndex *self, guint64 *n, GError **error);
/* Rows of nodes of every folder, ascending, after @after_row. */
GArray *sk_index_node_rows (SkIndex *self, gint64 after_row, guint limit, GError **error);
/* Both recompute dirty and, for the base, count the generation up. */
gboolean sk_index_set_base (SkIndex *self, gint64 node, const SkBase *base, GError **error);
gboolean sk_index_set_target (SkIndex *self, gint64 node, const SkTarget *target, GError **error);
gboolean sk_index_set_mode_stamp (SkIndex *self, gint64 node, int class, const SkModeStamp *stamp, GError **error);
gboolean sk_index_add_live_children (SkIndex *self, gint64 node, gint64 delta, GError **error);
gboolean sk_index_set_hold (SkIndex *self, gint64 node, guint32 hold, GError **error);
/* Work for this disk: dirty and not held, after @after_row, by row. */
GPtrArray *sk_index_dirty (SkIndex *self, gint64 folder, gint64 after_row, guint limit, GError **error);
/* The part of it that is to be nothing (@gone), or to be something. */
GPtrArray *sk_index_dirty_part (SkIndex *self, gint64 folder, gboolean gone, gint64 after_row, guint limit, GError **error);
/* Every node with a hold of @mask, or with a base of this inode, or with base content @content (any folder). */
GPtrArray *sk_index_held (SkIndex *self, gint64 folder, guint32 mask, guint limit, GError **error);
GPtrArray *sk_index_nodes_by_inode (SkIndex *self, gint64 folder, guint64 ino, GError **error);
GPtrArray *sk_index_nodes_by_content (SkIndex *self, gint64 content, guint limit, GError **error);
/* *@elsewhere: a file of the folder whose row (gint64*) is not in @except has this base content. At most @limit nodes are looked at. */
gboolean sk_index_content_is_elsewhere (SkIndex *self, gint64 folder, gint64 content, GHashTable *except, guint limit, gboolean *elsewhere,
                                        GError **error);
typedef struct { gint64 files, dirs, links, tombstones, dirty_nodes; guint64 bytes, dirty_bytes; } SkFolderCounts;
gboolean sk_index_folder_counts (SkIndex *self, gint64 folder, SkFolderCounts *out, GError **error);

/* --- versions: entries of a path; the maximal ones decide (A7), the others are history --- */
typedef struct
{
  gint64 row, node;
  SkEntry *entry;          /* with path; chunks are NULL until sk_index_content_chunks */
  gint64 content;          /* row, 0 for directories and tombstones */
  gboolean maximal;
  gboolean is_virtual;     /* a conflict copy nobody has appended yet; recomputed, never sent */
  gint64 origin;           /* virtual: row of the losing version */
  SkId log_writer; guint64 log_seq;   /* the segment it came in; zero: not in a log (early or virtual) */
} SkVersion;
void sk_version_free (SkVersion *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkVersion, sk_version_free)
/* Adds @entry (its content and chunk rows as well); maximal is set TRUE. 0 on error. */
gint64 sk_index_version_add (SkIndex *self, gint64 node, const SkEntry *entry, gboolean is_virtual, gint64 origin,
                             const SkId *log_writer, guint64 log_seq, GError **error);
GPtrArray *sk_index_versions (SkIndex *self, gint64 node, gboolean only_maximal, GError **error);      /* of SkVersion */
/* The maximal ones as they are in memory, oldest row first: not owned, and gone with the next call about any version or node. */
const GPtrArray *sk_index_peek_maximal (SkIndex *self, gint64 node, GError **error);
SkVersion *sk_index_version (SkIndex *self, gint64 row, GError **error);
/* The same where the maximal versions of @node will be asked for as well: they are read at once. */
SkVersion *sk_index_version_of (SkIndex *self, gint64 node, gint64 row, GError **error);
/* FALSE: the vault has no virtual version. TRUE also when that cannot be found out. */
gboolean sk_index_may_have_virtuals (SkIndex *self);
/* Virtual versions whose origin is a version of @node. */
GPtrArray *sk_index_virtuals_of (SkIndex *self, gint64 node, GError **error);
gboolean sk_index_version_set_maximal (SkIndex *self, gint64 row, gboolean maximal, GError **error);
/* A virtual version was appended to a log (by anybody): it becomes an ordinary one. */
gboolean sk_index_version_publish (SkIndex *self, gint64 row, const SkId *log_writer, guint64 log_seq, GError **error);
gboolean sk_index_version_remove (SkIndex *self, gint64 row, GError **error);
/* Replaces the metadata stamp of a version (the path's newest metadata travels in entries that repeat the content stamp). */
gboolean sk_index_version_set_meta (SkIndex *self, gint64 row, guint64 lamport, const SkId *writer, guint32 mode, gint64 mtime, GError **error);
/* Forgets versions that were replaced and are older than @before_wall (by their writers' clocks), except what lies on this disk. */
gboolean sk_index_versions_expire (SkIndex *self, gint64 before_wall, guint64 *removed, GError **error);
/* Version of @node with the same writer+counter stamp (equal vector) and content, or 0; negative on error. */
gint64 sk_index_version_find (SkIndex *self, gint64 node, const SkVector *vector, const SkHash *content, GError **error);
/* Any version of @node with this content, newest first, or 0; negative on error. */
gint64 sk_index_version_with_content (SkIndex *self, gint64 node, const SkHash *content, GError **error);

/* --- contents and chunks --- */
gint64 sk_index_content_row (SkIndex *self, const SkHash *content);        /* 0 when unknown */
GArray *sk_index_content_chunks (SkIndex *self, gint64 content, GError **error);   /* of SkChunkRef */
/* *@out: NULL when the content has none, or is 0. */
gboolean sk_index_content_xattrs (SkIndex *self, gint64 content, GBytes **out, GError **error);
/* held[i] = an uncondemned pack in one of @storages (rows) holds ids[i] (A3, A4). */
gboolean sk_index_chunks_held (SkIndex *self, const SkHash *ids, guint n, const gint64 *storages, guint n_storages, gboolean *held, GError **error);
/* Another number than before when a chunk that was held may not be held any more: a pack was condemned, or a transaction taken back. */
guint64 sk_index_losses (SkIndex *self);
typedef struct { gint64 storage; SkHash pack; SkId epoch; SkPackRow row; guint64 pack_size; gboolean condemned; } SkChunkPlace;
/* Where a chunk is stored, uncondemned packs first, of these the smallest name first. */
GArray *sk_index_chunk_places (SkIndex *self, const SkHash *id, GError **error);
/* A content known to hold this chunk and present on this disk (a node's base); 0 when none. *@offset inside the file. */
gint64 sk_index_chunk_local (SkIndex *self, const SkHash *id, gint64 *content, guint64 *offset, GError **error);

gboolean sk_index_pack_add (SkIndex *self, const SkPackPut *pack, GError **error);      /* again is success */
typedef enum { SK_PACK_LIVE = 0, SK_PACK_CONDEMNED = 1, SK_PACK_GONE = 2 /* seen missing in the storage */ } SkPackState;
gboolean sk_index_pack_set_state (SkIndex *self, gint64 storage, const SkHash *name, SkPackState state, const SkId *by, gint64 wall, GError **error);
typedef struct { gint64 row, storage; SkHash name; SkId epoch; guint64 size; SkPackState state; SkId by; gint64 wall; guint chunks, live_chunks; } SkPackInfo;
/* Packs of a storage with how many of their chunks belong to contents of versions that are kept. */
GArray *sk_index_packs (SkIndex *self, gint64 storage, GError **error);
GPtrArray *sk_index_pack_rows (SkIndex *self, gint64 pack, GError **error);   /* SkPackPut with one element */

/* Removes rows that nothing needs any more, at most @limit: contents of no kept version and of no file on this disk, chunks of no content
 * and no pack, the tables of packs that have been gone since before @gone_before (unix seconds). *@removed tells how many: call again
 * while it is @limit. Walks whole tables: now and then, not after every change. */
gboolean sk_index_sweep (SkIndex *self, gint64 gone_before, guint limit, guint *removed, GError **error);

/* --- log positions --- */
/* Merged position of a writer (segments applied here); @records NULL-safe. */
gboolean sk_index_set_position (SkIndex *self, const SkPosition *position, GError **error);
gboolean sk_index_position (SkIndex *self, const SkId *writer, SkPosition *out);
GArray *sk_index_positions (SkIndex *self, GError **error);                   /* of SkPosition */
/* Per storage: what was read from there, what of the own log was put there. */
gboolean sk_index_set_storage_position (SkIndex *self, gint64 storage, gboolean written, const SkPosition *position, GError **error);
GArray *sk_index_storage_positions (SkIndex *self, gint64 storage, gboolean written, GError **error);
/* Copies of segments: bytes of every log segment, own ones until published and all until truncated. */
gboolean sk_index_segment_keep (SkIndex *self, const SkPosition *position, GBytes *object, GError **error);
GBytes *sk_index_segment_bytes (SkIndex *self, const SkId *writer, guint64 seq, SkHash *hash);

/* --- membership records, verbatim --- */
gboolean sk_index_member_add (SkIndex *self, GBytes *record, GError **error);
GPtrArray *sk_index_members (SkIndex *self, GError **error);                  /* of GBytes */

/* --- issues: what wants the person --- */
typedef struct { gint64 row; char *key; char *kind; gint64 folder; char *path; char *text; gint64 since; gboolean resolved; } SkIssueRow;
void sk_issue_row_free (SkIssueRow *self);
/* One issue per @key ("unreadable:<folder>:<path>"); raising it again updates the text only. */
gboolean sk_index_issue_raise (SkIndex *self, const char *key, const char *kind, gint64 folder, const char *path, const char *text, gint64 wall, GError **error);
gboolean sk_index_issue_clear (SkIndex *self, const char *key, gboolean *was_there, GError **error);
GPtrArray *sk_index_issues (SkIndex *self, GError **error);
/* --- activity: what happened, newest first, capped --- */
gboolean sk_index_activity_add (SkIndex *self, gint64 wall, const char *kind, gint64 folder, const char *path, const char *detail, GError **error);
typedef struct { gint64 row, wall; char *kind; gint64 folder; char *path, *detail; } SkActivityRow;
void sk_activity_row_free (SkActivityRow *self);
GPtrArray *sk_index_activity (SkIndex *self, guint limit, GError **error);
