/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of the index share: a database in a temporary directory, and entries to put into it. */
#pragma once
#include "sk-index.h"
#include "sk-path.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char *dir, *path;
  SkIndex *index;
  SkId folder_id, writer;
  gint64 folder;
} Fixture;

static inline void
remove_tree (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      remove_tree (child);
    }
  g_remove (path);
}

static inline SkIndex *
open_index (const char *path)
{
  g_autoptr(GError) error = NULL;
  SkIndex *index = sk_index_open (path, &error);

  g_assert_no_error (error);
  g_assert_nonnull (index);
  return index;
}

static inline void
begin (SkIndex *index)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_index_begin (index, &error));
  g_assert_no_error (error);
}

static inline void
commit (SkIndex *index)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_index_commit (index, &error));
  g_assert_no_error (error);
}

/* A distinguishable id or hash. */
static inline SkId
make_id (guint64 n)
{
  SkId id = { 0 };

  n = GUINT64_TO_BE (n);
  memcpy (id.bytes + 8, &n, sizeof n);
  id.bytes[0] = 1;
  return id;
}

static inline SkHash
make_hash (guint64 n)
{
  SkHash hash = { 0 };

  n = GUINT64_TO_BE (n);
  memcpy (hash.bytes + 24, &n, sizeof n);
  hash.bytes[0] = 2;
  return hash;
}

static inline gint64
define_folder (SkIndex *index, const SkId *id, const char *name, guint64 lamport)
{
  g_autoptr(GError) error = NULL;
  SkFolderDef def = { .id = *id, .name = (char *) name, .lamport = lamport, .writer = make_id (1) };
  gboolean changed;

  g_assert_true (sk_index_folder_define (index, &def, &changed, &error));
  g_assert_no_error (error);
  return sk_index_folder_row (index, id);
}

static inline gint64
define_storage (SkIndex *index, const SkId *id, const char *name)
{
  g_autoptr(GError) error = NULL;
  SkStorageDef def = { .id = *id, .name = (char *) name, .uri = (char *) "file:///x", .lamport = 1, .writer = make_id (1) };

  g_assert_true (sk_index_storage_define (index, &def, NULL, &error));
  g_assert_no_error (error);
  return sk_index_storage_row (index, id);
}

static inline void
fixture_open (Fixture *self)
{
  self->dir = g_dir_make_tmp ("skerry-index-XXXXXX", NULL);
  g_assert_nonnull (self->dir);
  self->path = g_build_filename (self->dir, "index.sqlite", NULL);
  self->index = open_index (self->path);
  self->folder_id = make_id (77);
  self->writer = make_id (1);
  begin (self->index);
  self->folder = define_folder (self->index, &self->folder_id, "Documents", 1);
  commit (self->index);
}

static inline void
fixture_reopen (Fixture *self)
{
  sk_index_close (self->index);
  self->index = open_index (self->path);
}

static inline void
fixture_close (Fixture *self)
{
  sk_index_close (self->index);
  remove_tree (self->dir);
  g_free (self->dir);
  g_free (self->path);
}

/* An entry by @writer with @counter. For a file: @n_chunks chunks with the ids make_hash (first_chunk + i), 1000 + i bytes each. */
static inline SkEntry *
make_entry (Fixture *self, const char *path, SkKind kind, guint64 counter, guint64 first_chunk, guint n_chunks)
{
  SkEntry *entry = sk_entry_new (&self->folder_id, path, kind);

  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_new (&(SkVectorItem) { self->writer, counter }, 1);
  entry->writer = entry->meta_writer = self->writer;
  entry->lamport = entry->meta_lamport = counter;
  entry->wall = 1700000000;
  entry->mode = kind == SK_KIND_DIR ? 0755 : 0644;
  g_free (entry->device_name);
  entry->device_name = g_strdup ("laptop");
  if (kind == SK_KIND_FILE)
    for (guint i = 0; i < n_chunks; i++)
      {
        SkChunkRef chunk = { make_hash (first_chunk + i), 1000 + i };

        g_array_append_val (entry->chunks, chunk);
        entry->size += chunk.size;
      }
  if (kind == SK_KIND_FILE || kind == SK_KIND_SYMLINK)
    entry->mtime = 1600000000000000000;
  if (kind == SK_KIND_SYMLINK)
    {
      g_free (entry->symlink);
      entry->symlink = g_strdup ("../target");
    }
  sk_entry_seal_content (entry);
  return entry;
}

static inline gint64
ensure_node (Fixture *self, const char *path)
{
  g_autoptr(GError) error = NULL;
  gint64 row = sk_index_node_ensure (self->index, self->folder, path, &error);

  g_assert_no_error (error);
  g_assert_cmpint (row, >, 0);
  return row;
}

static inline gint64
add_version (Fixture *self, gint64 node, const SkEntry *entry)
{
  g_autoptr(GError) error = NULL;
  gint64 row = sk_index_version_add (self->index, node, entry, FALSE, 0, NULL, 0, &error);

  g_assert_no_error (error);
  g_assert_cmpint (row, >, 0);
  return row;
}

static inline SkNode *
get_node (Fixture *self, gint64 row)
{
  g_autoptr(GError) error = NULL;
  SkNode *node = sk_index_node_by_row (self->index, row, &error);

  g_assert_no_error (error);
  g_assert_nonnull (node);
  return node;
}

static inline SkVersion *
get_version (Fixture *self, gint64 row)
{
  g_autoptr(GError) error = NULL;
  SkVersion *version = sk_index_version (self->index, row, &error);

  g_assert_no_error (error);
  g_assert_nonnull (version);
  return version;
}

static inline void
set_target (Fixture *self, gint64 node, const SkTarget *target)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_index_set_target (self->index, node, target, &error));
  g_assert_no_error (error);
}

static inline void
set_base (Fixture *self, gint64 node, const SkBase *base)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_index_set_base (self->index, node, base, &error));
  g_assert_no_error (error);
}

/* Makes the path a file that is visible and on this disk. Returns the node. */
static inline gint64
put_file (Fixture *self, const char *path, guint64 counter, guint64 first_chunk, guint n_chunks)
{
  g_autoptr(SkEntry) entry = make_entry (self, path, SK_KIND_FILE, counter, first_chunk, n_chunks);
  gint64 node = ensure_node (self, path);
  gint64 row = add_version (self, node, entry);
  gint64 content = sk_index_content_row (self->index, &entry->content);
  g_autoptr(SkNode) before = get_node (self, node);

  if (before->parent != 0 && before->target.kind == SK_KIND_NONE)
    g_assert_true (sk_index_add_live_children (self->index, before->parent, 1, NULL));
  set_target (self, node, &(SkTarget) { .kind = SK_KIND_FILE, .version = row, .content = content, .size = entry->size,
                                        .mode = entry->mode, .mtime = entry->mtime });
  set_base (self, node, &(SkBase) { .kind = SK_KIND_FILE, .version = row, .vector = entry->vector, .content = content,
                                    .mode = entry->mode, .mtime = entry->mtime, .size = entry->size, .ino = counter + 1000,
                                    .dev = 5, .stat_mtime = entry->mtime, .ctime = 3, .btime = 4 });
  return node;
}

static inline void
assert_sound (SkIndex *index)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) problems = sk_index_check (index, NULL, NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", (const char *) g_ptr_array_index (problems, i));
  g_assert_cmpuint (problems->len, ==, 0);
}

/* Something in every table, so that a walk over the whole has something to see. */
static inline void
fill_every_table (Fixture *self)
{
  g_autoptr(GBytes) bytes = g_bytes_new_static ("some bytes", 10);
  SkId storage_id = make_id (501);
  SkPosition position = { self->writer, 3, make_hash (3) };
  SkPackPut pack = { .storage = storage_id, .name = make_hash (7), .epoch = make_id (8), .size = 1540,
                     .rows = g_array_new (FALSE, FALSE, sizeof (SkPackRow)) };
  SkPackRow row = { make_hash (100), 40, 500, 1000, 1 };
  gint64 storage, node;

  g_array_append_val (pack.rows, row);
  begin (self->index);
  storage = define_storage (self->index, &storage_id, "bucket");
  g_assert_true (sk_index_pack_add (self->index, &pack, NULL));
  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir%u/sub/file-%u.txt", i / 20, i);

      put_file (self, path, i + 1, 100 + i, 1 + i % 3);
    }
  for (guint i = 0; i < 3; i++)
    {
      static const SkKind kinds[] = { SK_KIND_DIR, SK_KIND_SYMLINK, SK_KIND_TOMBSTONE };
      g_autofree char *path = g_strdup_printf ("other%u", i);
      g_autoptr(SkEntry) entry = make_entry (self, path, kinds[i], 300 + i, 0, 0);

      add_version (self, ensure_node (self, path), entry);
    }
  node = ensure_node (self, "held");
  g_assert_true (sk_index_set_mode_stamp (self->index, node, 0, &(SkModeStamp) { 4, self->writer, 0600, TRUE }, NULL));
  set_target (self, node, &(SkTarget) { .kind = SK_KIND_DIR, .mode = 0700 });
  g_assert_true (sk_index_set_hold (self->index, node, SK_HOLD_CLASH, NULL));
  g_assert_true (sk_index_folder_attach (self->index, self->folder, "/home/someone/Documents", SK_FOLDER_BOTH, (const char *[]) { "*.txt", NULL }, NULL));
  g_assert_true (sk_index_set_u64 (self->index, "counter", 300, NULL));
  g_assert_true (sk_index_set_position (self->index, &position, NULL));
  g_assert_true (sk_index_set_storage_position (self->index, storage, TRUE, &position, NULL));
  g_assert_true (sk_index_segment_keep (self->index, &position, bytes, NULL));
  g_assert_true (sk_index_member_add (self->index, bytes, NULL));
  g_assert_true (sk_index_issue_raise (self->index, "clash:1:held", "clash", self->folder, "held", "Two names", 5, NULL));
  g_assert_true (sk_index_activity_add (self->index, 5, "written", self->folder, "held", NULL, NULL));
  commit (self->index);
  g_array_unref (pack.rows);
}

/* --- reading everything from a database that may be damaged: errors are fine, anything else is not --- */

static inline void
visit_directory (SkIndex *index, gint64 folder, gint64 parent, guint depth)
{
  g_autoptr(GPtrArray) children = sk_index_children (index, folder, parent, depth % 2 == 1, NULL);

  for (guint i = 0; children != NULL && i < children->len && i < 50; i++)
    {
      const SkNode *node = g_ptr_array_index (children, i);
      g_autofree char *path = sk_index_node_path (index, node->row, NULL);
      g_autoptr(SkNode) again = path != NULL ? sk_index_node (index, folder, path, NULL) : NULL;
      g_autoptr(GPtrArray) versions = sk_index_versions (index, node->row, FALSE, NULL);
      g_autoptr(GPtrArray) virtuals = sk_index_virtuals_of (index, node->row, NULL);

      if (depth < 4)
        visit_directory (index, folder, node->row, depth + 1);
    }
}

static inline void
visit_chunks (SkIndex *index)
{
  for (gint64 content = 1; content < 220; content += 7)
    {
      g_autoptr(GArray) chunks = sk_index_content_chunks (index, content, NULL);

      for (guint i = 0; chunks != NULL && i < chunks->len && i < 5; i++)
        {
          const SkHash *id = &g_array_index (chunks, SkChunkRef, i).id;
          g_autoptr(GArray) places = sk_index_chunk_places (index, id, NULL);
          const gint64 storage = 1;
          gboolean held;
          gint64 where;
          guint64 offset;

          sk_index_chunks_held (index, id, 1, &storage, 1, &held, NULL);
          sk_index_chunk_local (index, id, &where, &offset, NULL);
        }
    }
}

static inline void
visit_lists (SkIndex *index)
{
  g_autoptr(GPtrArray) folders = sk_index_folders (index), storages = sk_index_storages (index);
  g_autoptr(GPtrArray) issues = sk_index_issues (index, NULL), activity = sk_index_activity (index, 100, NULL);
  g_autoptr(GPtrArray) members = sk_index_members (index, NULL), rows = sk_index_pack_rows (index, 1, NULL);
  g_autoptr(GArray) packs = sk_index_packs (index, 1, NULL), positions = sk_index_positions (index, NULL);
  g_autoptr(GArray) written = sk_index_storage_positions (index, 1, TRUE, NULL);
  g_autoptr(GPtrArray) dirty = sk_index_dirty (index, 1, 0, 100, NULL), held = sk_index_held (index, 1, G_MAXUINT32, 100, NULL);
  g_autoptr(GPtrArray) inode = sk_index_nodes_by_inode (index, 1, 1001, NULL), content = sk_index_nodes_by_content (index, 3, 100, NULL);
  SkId writer = make_id (1);
  g_autoptr(GBytes) segment = sk_index_segment_bytes (index, &writer, 3, NULL);
  SkFolderCounts counts;

  sk_index_folder_counts (index, 1, &counts, NULL);
  sk_index_get_u64 (index, "counter", 0);
}

static inline void
change_something (SkIndex *index)
{
  Fixture f = { .index = index, .folder_id = make_id (77), .writer = make_id (1) };
  g_autoptr(SkEntry) entry = make_entry (&f, "dir3/sub/new", SK_KIND_FILE, 999, 110, 3);
  g_autoptr(SkNode) node = NULL;
  gint64 row;

  if (!sk_index_begin (index, NULL) && !sk_index_begin (index, NULL))    /* the first reports what went wrong before */
    return;
  row = sk_index_node_ensure (index, 1, "dir3/sub/new", NULL);
  if (row != 0 && sk_index_version_add (index, row, entry, FALSE, 0, NULL, 0, NULL) != 0)
    sk_index_set_base (index, row, &(SkBase) { .kind = SK_KIND_FILE, .content = 5 }, NULL);
  node = sk_index_node (index, 1, "dir1/sub/file-21.txt", NULL);
  if (node != NULL)
    sk_index_set_target (index, node->row, &(SkTarget) { .kind = SK_KIND_NONE }, NULL);
  sk_index_commit (index, NULL);
}

static inline void
use_damaged (const char *path)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkIndex) index = sk_index_open (path, &error);
  g_autoptr(GPtrArray) problems = NULL;

  if (index == NULL)
    {
      g_assert_nonnull (error);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      return;
    }
  visit_directory (index, 1, 0, 0);
  visit_chunks (index);
  visit_lists (index);
  change_something (index);
  problems = sk_index_check (index, NULL, NULL, NULL);
}
