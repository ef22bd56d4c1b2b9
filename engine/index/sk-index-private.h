/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this layer share: the connection, the table of statements and the small helpers that bind, step and read.
 * Index thread only. */
#pragma once
#include "sk-index.h"
#include "sk-path.h"

#include <sqlite3.h>

typedef struct _SkParentCache SkParentCache;
typedef struct _SkOffsetCache SkOffsetCache;
typedef struct _SkHashIndex SkHashIndex;
typedef struct _SkNodeCache SkNodeCache;
typedef struct { SkHash hash; gint64 row; } SkKnownContent;
#define SK_KNOWN_CONTENTS 4096u
typedef struct { gint64 row; guint64 size; gint64 hint, hint_newer; } SkChunkRow;
typedef struct { SkHash id; SkChunkRow chunk; } SkKnownChunk;     /* row 0: free */
#define SK_KNOWN_CHUNKS 16384u   /* 1 MiB: twice what a pack of small files holds, since they are asked for when it is added and again with their files */

struct _SkIndex
{
  sqlite3 *db;
  char *path;
  gboolean in_transaction;
  GError *failure;               /* why this transaction can only be rolled back */
  GError *unreported;            /* a failure outside of a transaction in a function that has no GError: the next begin reports it */
  guint64 transactions;
  sqlite3_stmt **statements;     /* by SkSql */
  gboolean *sees_nodes;          /* by SkSql: see sk_sql_prepare */

  /* Everything below mirrors rows and is dropped on rollback. */
  SkParentCache *parents;
  SkNodeCache *nodes;
  GHashTable *interned;          /* GBytes -> gint64 row */
  GHashTable *interned_by_row;   /* gint64 row -> GBytes; keys and values belong to the other table */
  GHashTable *folder_ids;        /* gint64 folder row -> SkId */
  GHashTable *folder_rows;       /* SkId -> gint64 folder row */
  GHashTable *counts;            /* gint64 folder row -> SkFolderCounts */
  gint64 next_content, next_node;    /* 0: not read yet */
  guint64 losses;                    /* see sk_index_losses */
  enum { SK_VIRTUALS_UNKNOWN, SK_VIRTUALS_NONE, SK_VIRTUALS_SOME } virtuals;
  SkOffsetCache *offsets;
  SkHashIndex *content_hashes, *chunk_hashes;
  SkKnownContent *known_contents;    /* SK_KNOWN_CONTENTS of them, by hash; what was asked for last */
  SkKnownChunk *known_chunks;        /* the same; only those whose id has one row */
};


/* --- schema: steps as data, append only. Entry i takes a database from version i to i + 1 --- */
#define SK_INDEX_APPLICATION_ID 0x536b4958    /* "SkIX" */
extern const char *const sk_index_steps[];
extern const guint sk_index_n_steps;
/* Brings @db from its user_version to @n_steps, each step in a transaction of its own together with the version. */
gboolean sk_index_migrate (sqlite3 *db, const char *path, const char *const *steps, guint n_steps, GError **error);
gboolean sk_index_user_version (sqlite3 *db, const char *path, int *version, GError **error);
/* "type name sql" of everything in the schema, ascending, one per line. (transfer full) */
char *sk_index_schema_dump (sqlite3 *db, const char *path, GError **error);

/* --- errors --- */
/* Maps a result code of SQLite. Full, unreachable, read-only and failing disks have codes of their own and are never called
 * corruption (B091, B099). @db may be NULL. */
SkErrorCode sk_index_error_code (int rc, int system_errno);
gboolean sk_index_set_error (sqlite3 *db, int rc, const char *path, GError **error);
/* The same where SQLite does not know why, but the caller saw @errnum. */
gboolean sk_index_set_error_seen (sqlite3 *db, int rc, int errnum, const char *path, GError **error);
/* The same for a failed system call on a file of the database. */
gboolean sk_index_set_errno (int errnum, const char *path, const char *what, GError **error);
/* Passes @why on (transfer full). A transaction is lost with it: changes and the commit will be refused for the same reason. FALSE. */
gboolean sk_index_lose (SkIndex *self, GError *why, GError **error);
/* A row that cannot be: FALSE, and the transaction is lost. */
gboolean sk_index_damaged (SkIndex *self, const char *what, GError **error);
/* Keeps @error (transfer full, not NULL) for the next begin; inside a transaction sk_index_lose has seen to it already. */
void sk_index_keep_error (SkIndex *self, GError *error);

/* --- statements --- */
/* Runs all of @sql, commits included. */
gboolean sk_index_exec (sqlite3 *db, const char *sql, const char *path, GError **error);
typedef enum
{
#define SK_STATEMENT(name, sql) SK_SQL_##name,
#include "sk-index-statements.h"
#undef SK_STATEMENT
  SK_SQL_COUNT
} SkSql;
const char *sk_sql_text (SkSql id);

/* A statement in use. Leaving the scope resets it and clears its bindings, so that whatever was bound needs to live only as
 * long as the statement is in use. */
typedef sqlite3_stmt SkStatement;
static inline void
sk_statement_done (SkStatement *self)
{
  sqlite3_reset (self);
  sqlite3_clear_bindings (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkStatement, sk_statement_done)

/* Compiles it; SK_ERROR_CORRUPT when the tables are not the ones it is for. */
gboolean sk_sql_prepare (SkIndex *self, SkSql id, GError **error);
/* NULL when the transaction is lost. A statement that changes something is only for inside one. */
SkStatement *sk_sql (SkIndex *self, SkSql id, GError **error);
typedef enum { SK_STEP_ERROR = -1, SK_STEP_DONE = 0, SK_STEP_ROW = 1 } SkStep;
SkStep sk_step (SkIndex *self, SkStatement *statement, GError **error);
/* Steps to the end; no row is expected. */
gboolean sk_run (SkIndex *self, SkStatement *statement, GError **error);
/* The first column of the first row, @fallback when there is none; FALSE on error, and *@out is @fallback as well. */
gboolean sk_read_int (SkIndex *self, SkStatement *statement, gint64 fallback, gint64 *out, GError **error);

/* Bound bytes are not copied. NULL binds NULL. */
void sk_bind_int (SkStatement *statement, int at, gint64 value);
void sk_bind_blob (SkStatement *statement, int at, gconstpointer data, gsize len);
void sk_bind_text (SkStatement *statement, int at, const char *text);
void sk_bind_bytes (SkStatement *statement, int at, GBytes *bytes);
void sk_bind_id (SkStatement *statement, int at, const SkId *id);
void sk_bind_hash (SkStatement *statement, int at, const SkHash *hash);

/* Columns of the current row. What does not fit sets *@damaged and yields something harmless, so that a row is read straight
 * through and checked once. */
gconstpointer sk_col_blob (SkStatement *statement, int at, gsize *len);
char *sk_col_text (SkStatement *statement, int at, gboolean *damaged);     /* NULL for NULL (transfer full) */
GBytes *sk_col_bytes (SkStatement *statement, int at);                     /* NULL for NULL (transfer full) */
void sk_col_id (SkStatement *statement, int at, SkId *out, gboolean *damaged);       /* zero for NULL */
void sk_col_hash (SkStatement *statement, int at, SkHash *out, gboolean *damaged);   /* zero for NULL */
guint sk_col_bounded (SkStatement *statement, int at, guint max, gboolean *damaged);

static inline gint64
sk_col_int (SkStatement *statement, int at)
{
  return sqlite3_column_int64 (statement, at);
}

/* As sk_index_get_u64, with the error at once. */
gboolean sk_index_read_u64 (SkIndex *self, const char *key, guint64 fallback, guint64 *out, GError **error);

/* --- short byte strings that repeat in many rows: writers, device names --- */
gint64 sk_intern (SkIndex *self, gconstpointer data, gsize len, GError **error);     /* 0 on error */
GBytes *sk_interned (SkIndex *self, gint64 row, GError **error);                     /* (transfer none) */
gint64 sk_intern_id (SkIndex *self, const SkId *id, GError **error);
gboolean sk_interned_id (SkIndex *self, gint64 row, SkId *out, GError **error);

/* --- parent rows by path and back, bounded --- */
/* A path is added once per row; a row never gets another path. */
SkParentCache *sk_parent_cache_new (void);
void sk_parent_cache_free (SkParentCache *self);
void sk_parent_cache_clear (SkParentCache *self);
gint64 sk_parent_cache_row (SkParentCache *self, gint64 folder, const char *path, gsize len);   /* 0 when not cached */
const char *sk_parent_cache_path (SkParentCache *self, gint64 row);                              /* NULL when not cached */
void sk_parent_cache_add (SkParentCache *self, gint64 folder, const char *path, gsize len, gint64 row);

/* --- nodes in memory: see sk-index-node-cache.c. Pointers to them are valid until the next call that may read another one --- */
typedef struct
{
  SkNode node;
  gboolean changed;              /* not written yet */
  gboolean is_new;               /* not in the table at all */
  gboolean base_changed;         /* of what is not written: the base as well */
  GPtrArray *versions;           /* SkVersion, the maximal ones; NULL: not read yet */
  gboolean no_more_versions;     /* the node is so new that it has no others */
} SkCachedNode;
SkNodeCache *sk_node_cache_new (void);
void sk_node_cache_free (SkNodeCache *self);     /* NULL allowed */
void sk_node_cache_drop (SkNodeCache *self);
gboolean sk_node_cache_has_changes (const SkNodeCache *self);
gboolean sk_node_cache_flush (SkIndex *self, GError **error);
/* NULL without error when there is no such node. */
SkCachedNode *sk_cached_node (SkIndex *self, gint64 row, GError **error);
/* Nodes (SkNode) that were just read from the table are known from here on. */
gboolean sk_cached_nodes_take (SkIndex *self, GPtrArray *nodes, GError **error);
/* NULL on error, a missing node is one. */
SkCachedNode *sk_cached_node_needed (SkIndex *self, gint64 row, GError **error);
/* Inside a transaction: it differs from the table. */
void sk_cached_node_changed (SkIndex *self, SkCachedNode *cached);
/* A node that is not there yet, in a row of its own; @parent as in the column. The row, 0 on error. Inside a transaction. */
gint64 sk_cached_node_add (SkIndex *self, gint64 folder, gint64 parent, const char *name, gsize len, GError **error);
/* The row of a node that is in memory; 0 when there is none of that name, which can be in the table then if it is not new. */
gint64 sk_cached_node_find (SkIndex *self, gint64 folder, gint64 parent, const char *name, gsize len);
SkNode *sk_node_copy (const SkNode *node);
/* Past the memory. */
SkNode *sk_node_read_row (SkIndex *self, gint64 row, GError **error);
/* Maximal versions of a node. */
void sk_cached_versions_set (SkIndex *self, SkCachedNode *node, GPtrArray *versions);
void sk_cached_version_add (SkIndex *self, SkVersion *version);    /* (transfer full) */
SkVersion *sk_cached_version (SkIndex *self, gint64 row);         /* (transfer none), NULL when not in memory */
void sk_cached_version_remove (SkIndex *self, gint64 row);
void sk_cached_versions_forget (SkIndex *self, gint64 node);

/* --- definitions of storages and folders: the highest (lamport, writer) stands --- */
typedef struct { SkSql find, add, stamp, define; } SkDefinitionSql;
/* The row of @id, made without a definition when it is new. 0 on error. */
gint64 sk_index_definition_ensure (SkIndex *self, const SkDefinitionSql *sql, const SkId *id, GError **error);
/* The statement that defines @id, with its row as parameter 1; NULL without error (*@newer FALSE) when what stands is not older. */
SkStatement *sk_index_definition_begin (SkIndex *self, const SkDefinitionSql *sql, const SkId *id, guint64 lamport, const SkId *writer,
                                        gboolean *newer, GError **error);

/* --- nodes --- */
/* The "parent" column of a node at the top of a folder is minus the folder's row, so that one index serves every level. */
#define SK_TOP_PARENT(folder) (-(folder))
gboolean sk_node_name_is_sound (const char *name, gsize len);
void sk_node_differs_sql (sqlite3_context *context, int n, sqlite3_value **values);
gboolean sk_index_forget_bases (SkIndex *self, gint64 folder, GError **error);
/* Counts the tombstones of the folder of @node by @delta. */
gboolean sk_index_count_tombstone (SkIndex *self, gint64 node, gint64 delta, GError **error);
/* FALSE without error when there is no such node. */
gboolean sk_index_node_place (SkIndex *self, gint64 row, gint64 *folder, gint64 *parent, char **name, GError **error);
/* The path, and in *@folder the folder's row. (transfer full) */
char *sk_index_node_locate (SkIndex *self, gint64 row, gint64 *folder, GError **error);

/* --- rows by hash: see sk-index-hashes.c --- */
SkHashIndex *sk_hash_index_new (SkSql find, SkSql merge, SkSql tail, SkSql last, SkSql all, const char *setting);
void sk_hash_index_free (SkHashIndex *self);    /* NULL allowed */
void sk_hash_index_forget (SkHashIndex *self);
/* Rows that may have @hash; the row itself has to be looked at. */
gboolean sk_hash_index_find (SkIndex *index, SkHashIndex *self, const SkHash *hash, GArray *rows /* gint64 */, GError **error);
/* After the row was inserted, with a higher row number than any before it. */
gboolean sk_hash_index_add (SkIndex *index, SkHashIndex *self, const SkHash *hash, gint64 row, GError **error);
/* After rows were removed: the numbers of the last ones will be given again. */
gboolean sk_hash_index_rewind (SkIndex *index, SkHashIndex *self, GError **error);
void sk_hash_key_sql (sqlite3_context *context, int n, sqlite3_value **values);

/* --- contents and chunks --- */
/* The row of the entry's content, made when it is new, with its chunks; also for directories and tombstones. 0 on error. */
gint64 sk_index_content_add (SkIndex *self, const SkEntry *entry, GError **error);
void sk_index_forget_contents (SkIndex *self);                                         /* after rows were removed */
gint64 sk_index_content_find (SkIndex *self, const SkHash *content, GError **error);  /* 0 when unknown; look at @error */
/* Every row of a chunk with this id: one, unless somebody lied about its size. (transfer full) */
GArray *sk_index_chunk_rows (SkIndex *self, const SkHash *id, GError **error);
/* The only row of that id, when it is in memory; NULL is no answer. (transfer none) */
const SkChunkRow *sk_index_known_chunk (SkIndex *self, const SkHash *id);
/* What was last found out about the first hint of a chunk: whether a file on this disk has that content. */
typedef struct { gint64 content; gboolean here; } SkHintMemo;
/* Row of the chunk (@id, @size), made when it is new. Rows of equal id and other size may exist: one of them is a lie that
 * somebody put into a log, and it must not spoil the other. @content: holds the chunk, with @memo; 0 when not known. 0 on error. */
gint64 sk_index_chunk_ensure (SkIndex *self, const SkHash *id, guint64 size, gint64 content, SkHintMemo *memo, GError **error);

/* A chunk list: one varint per element, in order. A zero run: (number of zero blocks << 1) | 1. A chunk: zig-zag of
 * (its row - row of the chunk before) << 1, so that the chunks of a new file take one byte each. */
void sk_chunk_list_add_zeros (SkWriter *writer, guint64 size);
void sk_chunk_list_add_chunk (SkWriter *writer, gint64 row, gint64 *previous);
typedef struct { gint64 chunk; guint64 zero_size; } SkChunkListItem;    /* chunk 0: a zero run */
/* (transfer full) of SkChunkListItem; NULL when the bytes are damaged. */
GArray *sk_chunk_list_decode (const guint8 *data, gsize len);
/* What is in use: contents of kept versions and of files on this disk, and their chunks. Walks whole tables. */
typedef struct _SkMarks SkMarks;
SkMarks *sk_marks_new (SkIndex *index, GError **error);
void sk_marks_free (SkMarks *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkMarks, sk_marks_free)
gboolean sk_marks_has_chunk (const SkMarks *self, gint64 row);
void sk_offset_cache_free (SkOffsetCache *self);    /* NULL allowed */
