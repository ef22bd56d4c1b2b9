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
  g_autoptr(GPtrArray) problems = sk_index_check (index, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", (const char *) g_ptr_array_index (problems, i));
  g_assert_cmpuint (problems->len, ==, 0);
}
