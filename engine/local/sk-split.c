/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file becomes regions of data between zero runs (FORMAT.md, "Zero runs"). It is read in buffers of a few MiB; the chunks are slices
 * of those, so no byte is copied, except the part of a chunk that reaches from one buffer into the next. */
#include "sk-split.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sk-path.h"
#include "sk-read-private.h"
#include "sk-xattr.h"

/* Bytes read into one buffer: at least this, and four average chunks. */
#define BUFFER_MIN (G_GUINT64_CONSTANT (4) << 20)
/* Clocks of file systems tick every 1 to 10 ms; a later tick than this far ahead is a wrong clock. */
#define TICK_NS (G_GINT64_CONSTANT (20) * 1000000)

struct _SkSplitter
{
  int fd;
  char *path;
  SkStat expected;
  const SkGear *gear;
  SkKey id_key;
  SkChunkSizes sizes;

  guint64 pos;             /* next byte to read: a multiple of SK_ZERO_BLOCK until the end */
  guint64 data_until;      /* up to here the file has no holes worth asking for */
  guint64 run;             /* zeros before @pos that were not given out yet; then no region is open */
  SkChunker chunker;       /* of the open region */
  GBytes *carry;           /* of the open region: taken in by the chunker, no border yet; NULL when empty */
  gboolean finished;
  SkSlab *slab;            /* lent for the next step, or NULL */
};

void
sk_split_chunk_clear (SkSplitChunk *self)
{
  g_clear_pointer (&self->data, g_bytes_unref);
}

/* A write in the same tick of the clock as the last one leaves no trace in the times. Wait until that tick is over: then each write
 * from here on shows. */
static void
let_tick_pass (gint64 ctime)
{
  for (guint i = 0; i < 10; i++)
    {
      struct timespec now;
      gint64 ahead;

      if (clock_gettime (CLOCK_REALTIME_COARSE, &now) != 0)
        return;
      ahead = ctime - (now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec);
      if (ahead < 0 || ahead > TICK_NS)
        return;
      g_usleep ((gulong) (ahead / 1000) + 1000);
    }
}

static gboolean
has_changed (const char *path, GError **error)
{
  g_autofree char *shown = sk_path_display (path);

  return sk_fail (error, SK_ERROR_CHANGED, "\"%s\" changed while it was read", shown);
}

/* Is the open file still what was asked for? */
static gboolean
check_stat (SkSplitter *self, GError **error)
{
  SkStat now;

  if (!sk_stat_at (self->fd, "", &now))
    return sk_fail_errno (error, errno, "look at", self->path);
  return sk_stat_same (&now, &self->expected) || has_changed (self->path, error);
}

SkSplitter *
sk_splitter_open (SkRoot *root, const char *path, const SkStat *expected, const SkGear *gear, const SkKey *id_key,
                  GError **error)
{
  g_autoptr(SkSplitter) self = NULL;
  int fd;

  if (expected->kind == SK_KIND_FILE && expected->size > SK_FILE_SIZE_MAX)
    {
      sk_fail (error, SK_ERROR_LIMIT, "A file of more than 1 PiB cannot be synced");
      return NULL;
    }
  fd = sk_read_open (root, path, error);
  if (fd < 0)
    return NULL;
  self = g_new0 (SkSplitter, 1);
  self->fd = fd;
  self->path = g_strdup (path);
  self->expected = *expected;
  self->gear = gear;
  self->id_key = *id_key;
  self->sizes = sk_chunk_sizes_for (expected->size);
  if (expected->kind != SK_KIND_FILE)
    {
      has_changed (path, error);
      return NULL;
    }
  let_tick_pass (expected->ctime);
  if (!check_stat (self, error))
    return NULL;
  if (expected->size > SK_SMALL_FILE)
    {
      posix_fadvise (fd, 0, 0, POSIX_FADV_SEQUENTIAL);
      sk_chunker_init (&self->chunker, gear, self->sizes);
    }
  return g_steal_pointer (&self);
}

void
sk_splitter_use_slab (SkSplitter *self, SkSlab *slab)
{
  self->slab = slab;
}

gboolean
sk_splitter_xattrs (SkSplitter *self, GBytes **out, gboolean *too_large, GError **error)
{
  int errnum;
  g_autoptr(GBytes) value = sk_xattr_read (self->fd, &errnum);

  *out = NULL;
  *too_large = errnum == E2BIG;
  if (errnum != 0 && errnum != E2BIG)
    return sk_fail_errno (error, errnum, "read the extended attributes of", self->path);
  if (!check_stat (self, error))
    return FALSE;
  *out = g_steal_pointer (&value);
  return TRUE;
}

void
sk_splitter_free (SkSplitter *self)
{
  if (self == NULL)
    return;
  close (self->fd);
  g_clear_pointer (&self->carry, g_bytes_unref);
  sk_key_clear (&self->id_key);
  g_free (self->path);
  g_free (self);
}

/* ---- giving out ---- */

/* (transfer full) @data */
static void
give_chunk (SkSplitter *self, GBytes *data, GArray *out)
{
  SkSplitChunk chunk = { .data = data };
  gsize len;
  const guint8 *bytes = g_bytes_get_data (data, &len);

  chunk.ref.size = len;
  sk_chunk_id (&self->id_key, bytes, len, &chunk.ref.id);
  g_array_append_val (out, chunk);
}

/* What is open ends here: a region without a border at its end, or a run. */
static void
close_region (SkSplitter *self, GArray *out)
{
  if (self->carry == NULL)
    return;
  /* A copy: the buffer behind it may be hundreds of times larger. */
  give_chunk (self, g_bytes_new (g_bytes_get_data (self->carry, NULL), g_bytes_get_size (self->carry)), out);
  g_clear_pointer (&self->carry, g_bytes_unref);
}

static void
close_run (SkSplitter *self, GArray *out)
{
  SkSplitChunk chunk = { .ref = { .size = self->run } };

  if (self->run == 0)
    return;
  g_array_append_val (out, chunk);
  self->run = 0;
  sk_chunker_init (&self->chunker, self->gear, self->sizes);
}

static void
add_zeros (SkSplitter *self, guint64 size, GArray *out)
{
  close_region (self, out);
  self->run += size;
}

/* Where few bytes of @buffer are in use, they get memory of their own. @first: the first chunk in @out that may lie in it. */
static void
unpin (GBytes *buffer, GArray *out, guint first)
{
  guint64 used = 0;

  for (guint i = first; i < out->len; i++)
    used += g_array_index (out, SkSplitChunk, i).data != NULL ? g_array_index (out, SkSplitChunk, i).ref.size : 0;
  if (used * 2 >= g_bytes_get_size (buffer))
    return;
  for (guint i = first; i < out->len; i++)
    {
      SkSplitChunk *chunk = &g_array_index (out, SkSplitChunk, i);
      g_autoptr(GBytes) slice = chunk->data;

      if (slice != NULL)
        chunk->data = g_bytes_new (g_bytes_get_data (slice, NULL), g_bytes_get_size (slice));
    }
}

/* ---- reading ---- */

/* Passes over holes from @pos on, in whole blocks. A block that is a hole in part only is read. */
static void
skip_holes (SkSplitter *self, GArray *out)
{
  guint64 size = self->expected.size;
  off_t data, hole;
  guint64 next;

  if (self->pos < self->data_until)
    return;
  data = lseek (self->fd, (off_t) self->pos, SEEK_DATA);
  if (data < 0 && errno != ENXIO)
    {
      self->data_until = size;    /* this file system does not know its holes */
      return;
    }
  next = data < 0 ? size : MIN ((guint64) data, size);
  if (next / SK_ZERO_BLOCK * SK_ZERO_BLOCK > self->pos)
    {
      add_zeros (self, next / SK_ZERO_BLOCK * SK_ZERO_BLOCK - self->pos, out);
      self->pos = next / SK_ZERO_BLOCK * SK_ZERO_BLOCK;
    }
  hole = next < size ? lseek (self->fd, (off_t) next, SEEK_HOLE) : -1;
  self->data_until = size;
  if (hole >= 0 && (guint64) hole < size)
    self->data_until = MIN (size, (MAX ((guint64) hole, self->pos + 1) + SK_ZERO_BLOCK - 1) / SK_ZERO_BLOCK * SK_ZERO_BLOCK);
}

/* The carry and the next bytes of the file in one buffer; *@carried: where the new ones begin. */
static GBytes *
fill_buffer (SkSplitter *self, guint64 max, gsize *carried, GError **error)
{
  gsize want = (gsize) MIN (max, self->data_until - self->pos);
  gsize before = self->carry != NULL ? g_bytes_get_size (self->carry) : 0;
  g_autoptr(GBytes) block = sk_memory_block (before + want);
  guint8 *buffer = (guint8 *) g_bytes_get_data (block, NULL);

  if (before > 0)
    memcpy (buffer, g_bytes_get_data (self->carry, NULL), before);
  g_clear_pointer (&self->carry, g_bytes_unref);
  if (!sk_read_exactly (self->fd, buffer + before, want, self->pos, self->path, error))
    return NULL;
  self->pos += want;
  *carried = before;
  return g_steal_pointer (&block);
}

/* Cuts @buffer, of which the chunker knows the first @carried bytes; the rest becomes the carry. */
static void
cut_buffer (SkSplitter *self, GBytes *buffer, gsize carried, GArray *out)
{
  gsize len, at = carried, start = 0;
  const guint8 *bytes = g_bytes_get_data (buffer, &len);

  while (at < len)
    {
      gsize block = MIN (SK_ZERO_BLOCK, len - at);

      if (block == SK_ZERO_BLOCK && sk_all_zero (bytes + at, block))
        {
          if (at > start)
            give_chunk (self, g_bytes_new_from_bytes (buffer, start, at - start), out);
          self->run += block;
          at += block;
          start = at;
          continue;
        }
      close_run (self, out);
      for (gsize end = at + block; at < end;)
        {
          gsize border = sk_chunker_feed (&self->chunker, bytes + at, end - at);

          at = border > 0 ? at + border : end;
          if (border == 0)
            break;
          give_chunk (self, g_bytes_new_from_bytes (buffer, start, at - start), out);
          start = at;
        }
    }
  if (start < len)
    self->carry = g_bytes_new_from_bytes (buffer, start, len - start);
}

static gboolean
read_some (SkSplitter *self, guint64 max, GArray *out, GError **error)
{
  g_autoptr(GBytes) buffer = NULL;
  guint first = out->len;
  gsize carried;

  buffer = fill_buffer (self, max, &carried, error);
  if (buffer == NULL)
    return FALSE;
  cut_buffer (self, buffer, carried, out);
  unpin (buffer, out, first);
  return TRUE;
}

/* Up to SK_SMALL_FILE bytes are one chunk, whatever they are; no bytes are no chunk. */
static gboolean
read_small (SkSplitter *self, GArray *out, GError **error)
{
  gsize size = (gsize) self->expected.size;
  guint8 *room = self->slab != NULL ? sk_slab_room (self->slab, size) : NULL;
  g_autofree guint8 *own = room == NULL ? g_malloc (MAX (size, 1)) : NULL;

  if (!sk_read_exactly (self->fd, room != NULL ? room : own, size, 0, self->path, error))
    return FALSE;
  self->pos = size;
  if (size > 0)
    give_chunk (self, room != NULL ? sk_slab_take (self->slab, size) : g_bytes_new_take (g_steal_pointer (&own), size), out);
  return TRUE;
}

static gboolean
read_large (SkSplitter *self, gsize max_bytes, GArray *out, GCancellable *cancellable, GError **error)
{
  guint64 per_buffer = MAX (BUFFER_MIN, 4 * (guint64) self->sizes.avg);
  guint64 left = MAX (max_bytes / SK_ZERO_BLOCK, 1) * SK_ZERO_BLOCK;

  while (left > 0)
    {
      guint64 before;

      if (g_cancellable_is_cancelled (cancellable))
        return sk_fail (error, SK_ERROR_CANCELLED, "Reading was stopped");
      skip_holes (self, out);
      if (self->pos == self->expected.size)
        break;
      before = self->pos;
      if (!read_some (self, MIN (per_buffer, left), out, error))
        return FALSE;
      left -= MIN (left, self->pos - before);
    }
  if (self->pos == self->expected.size)
    {
      close_region (self, out);
      close_run (self, out);
    }
  return TRUE;
}

gboolean
sk_splitter_step (SkSplitter *self, gsize max_bytes, GArray *out, gboolean *done, GCancellable *cancellable,
                  GError **error)
{
  guint first = out->len;
  gboolean good = TRUE;

  *done = self->finished;
  if (self->finished)
    return TRUE;
  if (self->expected.size <= SK_SMALL_FILE)
    good = read_small (self, out, error);
  else
    good = read_large (self, max_bytes, out, cancellable, error);
  self->slab = NULL;
  /* After each step, not only the last: of a file that grows for hours no more than one step is read in vain. */
  if (!good || !check_stat (self, error))
    {
      for (guint i = first; i < out->len; i++)
        sk_split_chunk_clear (&g_array_index (out, SkSplitChunk, i));
      g_array_set_size (out, first);
      return FALSE;
    }
  self->finished = *done = self->pos == self->expected.size;
  return TRUE;
}
