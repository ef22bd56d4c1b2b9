/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parent rows by path and back. A pass works directory by directory, so a small memory of the last few thousand directories
 * turns the walk from the top into one look-up. */
#include "sk-index-private.h"

#include <string.h>

#define GENERATION_ENTRIES 4096u
#define GENERATION_BYTES (1u << 20)    /* of paths: long ones must not fill the memory */

typedef struct { gint64 folder, row; gsize len; const char *path; } Entry;    /* the bytes of an owned path follow it */

typedef struct { GHashTable *by_path, *by_row; gsize bytes; } Generation;

/* Two generations: a full young one becomes the old one, and what is still asked for moves back into the young one. */
struct _SkParentCache { Generation young, old; };

static guint
entry_path_hash (gconstpointer key)
{
  const Entry *entry = key;
  guint hash = 5381u + (guint) entry->folder;

  for (gsize i = 0; i < entry->len; i++)
    hash = hash * 33u + (guint8) entry->path[i];
  return hash;
}

static gboolean
entry_path_equal (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  return x->folder == y->folder && x->len == y->len && memcmp (x->path, y->path, x->len) == 0;
}

static guint
entry_row_hash (gconstpointer key)
{
  return g_int64_hash (&((const Entry *) key)->row);
}

static gboolean
entry_row_equal (gconstpointer a, gconstpointer b)
{
  return ((const Entry *) a)->row == ((const Entry *) b)->row;
}

static void
generation_init (Generation *self)
{
  self->by_row = g_hash_table_new (entry_row_hash, entry_row_equal);
  self->by_path = g_hash_table_new_full (entry_path_hash, entry_path_equal, g_free, NULL);
  self->bytes = 0;
}

static void
generation_clear (Generation *self)
{
  g_clear_pointer (&self->by_row, g_hash_table_unref);
  g_clear_pointer (&self->by_path, g_hash_table_unref);
}

SkParentCache *
sk_parent_cache_new (void)
{
  SkParentCache *self = g_new0 (SkParentCache, 1);

  generation_init (&self->young);
  generation_init (&self->old);
  return self;
}

void
sk_parent_cache_free (SkParentCache *self)
{
  generation_clear (&self->young);
  generation_clear (&self->old);
  g_free (self);
}

void
sk_parent_cache_clear (SkParentCache *self)
{
  generation_clear (&self->young);
  generation_clear (&self->old);
  generation_init (&self->young);
  generation_init (&self->old);
}

void
sk_parent_cache_add (SkParentCache *self, gint64 folder, const char *path, gsize len, gint64 row)
{
  Entry probe = { .folder = folder, .row = row, .path = path, .len = len };
  Entry *entry;

  if (g_hash_table_contains (self->young.by_row, &probe))
    return;
  /* Copied first: @path may lie in the generation that is about to go. */
  entry = g_malloc (sizeof *entry + len + 1);
  memcpy (entry + 1, path, len);
  ((char *) (entry + 1))[len] = '\0';
  *entry = (Entry) { .folder = folder, .row = row, .path = (char *) (entry + 1), .len = len };
  if (g_hash_table_size (self->young.by_row) >= GENERATION_ENTRIES || self->young.bytes >= GENERATION_BYTES)
    {
      generation_clear (&self->old);
      self->old = self->young;
      generation_init (&self->young);
    }
  self->young.bytes += sizeof *entry + len;
  g_hash_table_add (self->young.by_path, entry);
  g_hash_table_add (self->young.by_row, entry);
}

static const Entry *
find (SkParentCache *self, const Entry *probe, gboolean by_row)
{
  const Entry *entry = g_hash_table_lookup (by_row ? self->young.by_row : self->young.by_path, probe);

  if (entry != NULL)
    return entry;
  entry = g_hash_table_lookup (by_row ? self->old.by_row : self->old.by_path, probe);
  if (entry == NULL)
    return NULL;
  /* Moving it may throw the old generation away, so what it holds is asked for again afterwards. */
  sk_parent_cache_add (self, entry->folder, entry->path, entry->len, entry->row);
  return g_hash_table_lookup (by_row ? self->young.by_row : self->young.by_path, probe);
}

gint64
sk_parent_cache_row (SkParentCache *self, gint64 folder, const char *path, gsize len)
{
  const Entry *entry = find (self, &(Entry) { .folder = folder, .path = path, .len = len }, FALSE);

  return entry != NULL ? entry->row : 0;
}

const char *
sk_parent_cache_path (SkParentCache *self, gint64 row)
{
  const Entry *entry = find (self, &(Entry) { .row = row }, TRUE);

  return entry != NULL ? entry->path : NULL;
}
