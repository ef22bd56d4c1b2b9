/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries, packs and keys for tests of the log. Values are made from small numbers, so that two calls give equal ones. */
#pragma once
#include "sk-segment.h"

#include <string.h>

static inline SkId
fixture_id (guint n)
{
  SkId id;

  memset (id.bytes, 0x40 + (n >> 8), sizeof id.bytes);
  id.bytes[8] = (guint8) n;      /* the device part depends on the high byte only */
  return id;
}

static inline SkHash
fixture_hash (guint n)
{
  SkHash hash;

  sk_blake2b ((const guint8 *) &n, sizeof n, &hash);
  return hash;
}

static inline SkEntry *
fixture_entry (SkKind kind, const char *path, guint counter)
{
  SkId folder = fixture_id (1), writer = fixture_id (2);
  SkEntry *entry = sk_entry_new (&folder, path, kind);

  g_clear_pointer (&entry->vector, sk_vector_unref);
  entry->vector = sk_vector_new (&(SkVectorItem) { writer, counter }, 1);
  entry->lamport = entry->meta_lamport = counter;
  entry->writer = entry->meta_writer = writer;
  entry->wall = 1700000000;
  entry->mode = 0644;
  entry->mtime = kind == SK_KIND_DIR ? 0 : G_GINT64_CONSTANT (1700000000123456789);
  g_free (entry->device_name);
  entry->device_name = g_strdup ("laptop");
  if (kind == SK_KIND_SYMLINK)
    {
      g_free (entry->symlink);
      entry->symlink = g_strdup ("../target");
    }
  sk_entry_seal_content (entry);
  return entry;
}

static inline void
fixture_add_chunk (SkEntry *entry, const SkHash *id, guint64 size)
{
  SkChunkRef chunk = { .id = *id, .size = size };

  g_array_append_val (entry->chunks, chunk);
  entry->size += size;
  sk_entry_seal_content (entry);
}

static inline SkPackPut *
fixture_pack (guint n)
{
  SkPackPut *pack = g_new0 (SkPackPut, 1);

  pack->storage = fixture_id (3);
  pack->name = fixture_hash (1000000 + n);
  pack->epoch = fixture_id (4);
  pack->size = 1000;
  pack->rows = g_array_new (FALSE, FALSE, sizeof (SkPackRow));
  return pack;
}

/* Appends a row behind the last one, @gap bytes away. */
static inline void
fixture_add_row (SkPackPut *pack, const SkHash *id, guint32 plain_len, guint32 stored_len, guint gap)
{
  SkPackRow row = { .id = *id, .offset = 40, .plain_len = plain_len, .stored_len = stored_len };

  if (pack->rows->len > 0)
    {
      const SkPackRow *last = &g_array_index (pack->rows, SkPackRow, pack->rows->len - 1);

      row.offset = last->offset + last->stored_len;
    }
  row.offset += gap;
  row.method = stored_len == plain_len + SK_SEAL_OVERHEAD ? SK_METHOD_RAW : SK_METHOD_ZSTD;
  g_array_append_val (pack->rows, row);
  pack->size = row.offset + stored_len + 100;
}

static inline GPtrArray *
fixture_records (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
}
