/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-crash.h"

#include "sk-test-hooks.h"

#include <string.h>

#define WRITING_SINCE "writing-since"   /* µs of the wall clock; 0: stopped cleanly */
#define HOLE_BYTES 8
#define BLOCK_BYTES 512          /* no disk writes less at once */
#define CLOCK_SLACK_US (10 * G_USEC_PER_SEC)   /* times of a file system lag behind the clock, or come from another machine */

gboolean
sk_crash_load (SkSession *session, gpointer unused, GError **error)
{
  session->opened_wall = sk_clock_wall (session->clock);
  session->unclean_since = (gint64) sk_index_get_u64 (session->index, WRITING_SINCE, 0);
  if (session->unclean_since != 0)
    g_message ("the engine was cut off the last time: files it wrote then are looked at");
  return TRUE;
}

typedef struct { gint64 since; } Mark;

static gboolean
store_mark (SkSession *session, gpointer data, GError **error)
{
  return sk_index_set_u64 (session->index, WRITING_SINCE, (guint64) ((Mark *) data)->since, error);
}

gboolean
sk_crash_begin_writing (SkSession *self, GError **error)
{
  Mark mark = { .since = self->unclean_since != 0 ? self->unclean_since : sk_clock_wall (self->clock) };

  if (g_atomic_int_get (&self->is_writing))
    return TRUE;
  if (!sk_session_transact (self, store_mark, &mark, error))
    return FALSE;
  g_atomic_int_set (&self->is_writing, 1);
  return TRUE;
}

gboolean
sk_crash_end (SkSession *session, gpointer unused, GError **error)
{
  Mark mark = { .since = 0 };

  if (g_atomic_int_get (&session->doubts_writes))
    return TRUE;
  if (session->unclean_since != 0 ? !g_atomic_int_get (&session->swept) : !g_atomic_int_get (&session->is_writing))
    return TRUE;
  return store_mark (session, &mark, error);
}

gboolean
sk_crash_is_suspect (SkSession *session, const SkUpItem *item)
{
  return session->unclean_since != 0 && item->found->stat.kind == SK_KIND_FILE && item->found->stat.ctime / 1000 < session->opened_wall;
}

static gboolean
is_zeros (GBytes *bytes)
{
  gsize len;
  const char *data = g_bytes_get_data (bytes, &len);

  return len == 0 || (data[0] == 0 && memcmp (data, data + 1, len - 1) == 0);
}

/* What a disk gives back for blocks that were never written. Text has no such bytes; so few are enough, as what was lost may end in what is not. */
gboolean
sk_crash_has_hole (const SkUpItem *item)
{
  static const char hole[HOLE_BYTES];

  for (guint i = 0; i < item->fresh->len; i++)
    {
      const SkSplitChunk *chunk = &g_array_index (item->fresh, SkSplitChunk, i);
      gsize len = 0;
      const char *data = chunk->data != NULL ? g_bytes_get_data (chunk->data, &len) : NULL;

      if (chunk->data == NULL || (len > 0 && memmem (data, len, hole, MIN (len, sizeof hole)) != NULL))
        return TRUE;
    }
  return FALSE;
}

gboolean
sk_crash_is_blank (const SkUpItem *item)
{
  for (guint i = 0; i < item->fresh->len; i++)
    {
      const SkSplitChunk *chunk = &g_array_index (item->fresh, SkSplitChunk, i);

      if (chunk->data != NULL && !is_zeros (chunk->data))
        return FALSE;
    }
  return TRUE;
}

/* @content is that of a file that somebody else's log or this one vouches for. */
static gboolean
is_other_content (const SkUpItem *item, gint64 known, gint64 found)
{
  return known != 0 && known != found && item->content != NULL;
}

/* What is left of a whole file when its last blocks did not reach the disk: nothing, a part that ends with a block, or all of its size with holes. */
static gboolean
is_what_is_left (const SkUpItem *item, guint64 whole)
{
  guint64 size = item->found->stat.size;

  return size == whole ? item->holes : size < whole && size % BLOCK_BYTES == 0;
}

/* Written before the barrier and the base: whoever wrote it set the time that the entry names. But a person may have kept that time when he
 * edited what was there. What this engine puts in a place is another file than before, made since it began to write, and damage takes away from it. */
static gboolean
is_torn_write (SkSession *session, const SkUpItem *item, const SkNode *node, gint64 found)
{
  const SkStat *stat = &item->found->stat;

  return node->target.kind == SK_KIND_FILE && node->target.content != node->base.content && stat->mtime == node->target.mtime
         && is_other_content (item, node->target.content, found) && (node->base.kind != SK_KIND_FILE || node->base.ino != stat->ino)
         && stat->ctime / 1000 >= session->unclean_since - CLOCK_SLACK_US && is_what_is_left (item, node->target.size);
}

/* A version that came after what the base stands for, and was written here: empty files are files, too. */
static gboolean
is_later_version (SkSession *session, const SkUpItem *item, const SkNode *node)
{
  gint64 row = sk_index_version_with_content (session->index, node->row, &item->content->content, NULL);
  g_autoptr(SkVersion) version = row > 0 ? sk_index_version (session->index, row, NULL) : NULL;

  return version != NULL && node->base.vector != NULL && sk_vector_compare (node->base.vector, version->entry->vector) == SK_ORDER_BEFORE;
}

/* Written by this engine since the one that was cut off began to write, and nothing is left of it. What a person here wrote is his. */
static gboolean
is_emptied (SkSession *session, const SkUpItem *item, const SkNode *node, gint64 found)
{
  g_autoptr(SkVersion) version = NULL;
  SkDeviceId device;

  if (!item->blank || node->base.kind != SK_KIND_FILE || node->base.version == 0
      || node->base.ctime / 1000 < session->unclean_since - CLOCK_SLACK_US || !is_other_content (item, node->base.content, found)
      || is_later_version (session, item, node))
    return FALSE;
  version = sk_index_version (session->index, node->base.version, NULL);
  if (version == NULL)
    return FALSE;
  device = sk_id_device (&version->entry->writer);
  return !sk_device_id_equal (&device, &session->who.device);
}

/* Put in its place, and the base did not follow: a version that this device never had, with the very time that its entry names. Where it was removed
 * elsewhere since, it must not come back as new. */
static gboolean
is_own_write (SkSession *session, const SkUpItem *item, const SkNode *node)
{
  g_autoptr(SkVersion) version = NULL;
  gint64 row;

  if (node->base.kind != SK_KIND_NONE)
    return FALSE;
  row = sk_index_version_with_content (session->index, node->row, &item->content->content, NULL);
  version = row > 0 ? sk_index_version (session->index, row, NULL) : NULL;
  return version != NULL && version->entry->mtime == item->found->stat.mtime
         && (node->base.vector == NULL || sk_vector_compare (node->base.vector, version->entry->vector) == SK_ORDER_BEFORE);
}

/* Put in its place, and the base did not follow. Perhaps the engine was killed before it could, perhaps the disk failed when this was to be made
 * durable, and then it is lost when the machine stops, however often it is synced from now on. Both look the same. */
static gboolean
is_unproven_write (SkUpItem *item, const SkNode *node, gint64 found)
{
  const SkStat *stat = &item->found->stat;

  return found != 0 && stat->kind == SK_KIND_FILE && node->target.kind == SK_KIND_FILE && node->target.content == found
         && node->base.content != found && stat->mtime == node->target.mtime
         && (node->base.kind != SK_KIND_FILE || node->base.ino != stat->ino) && !sk_test_mistake ("trust-failed-sync");
}

/* Index thread. */
static gboolean
find_damage (SkSession *session, gpointer data, GError **error)
{
  GPtrArray *items = data;

  for (guint i = 0; i < items->len; i++)
    {
      SkUpItem *item = items->pdata[i];
      g_autoptr(SkNode) node = NULL;
      g_autoptr(GError) local = NULL;
      gboolean suspect = sk_crash_is_suspect (session, item);
      gint64 found;

      if (!item->read_done || item->moved || item->content == NULL || (!suspect && !g_atomic_int_get (&session->doubts_writes)))
        continue;
      /* Where nothing is written by this engine there is nothing of its to mend. */
      if (item->folder->flow == NULL || item->folder->flow->mode == SK_FOLDER_SEND)
        continue;
      node = sk_index_node (session->index, item->found->folder, item->found->path, &local);
      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (node == NULL)
        continue;
      found = sk_index_content_row (session->index, &item->content->content);
      item->damaged = is_unproven_write (item, node, found)
                      || (suspect && (is_torn_write (session, item, node, found) || is_emptied (session, item, node, found)));
      item->written_here = suspect && !item->damaged && is_own_write (session, item, node);
    }
  return TRUE;
}

gboolean
sk_crash_sort_out (SkUp *self, GPtrArray *items, GError **error)
{
  if (self->session->unclean_since == 0 && !g_atomic_int_get (&self->session->doubts_writes))
    return TRUE;
  if (!sk_session_index (self->session, find_damage, items, error))
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    if (((SkUpItem *) items->pdata[i])->damaged)
      g_array_set_size (((SkUpItem *) items->pdata[i])->fresh, 0);
  return TRUE;
}

/* A version with @content that the base knows nothing of. What a person put back himself is one that the base was made from. */
static gboolean
is_beyond_base (SkSession *session, const SkNode *node, const SkHash *content)
{
  gint64 row = sk_index_version_with_content (session->index, node->row, content, NULL);
  g_autoptr(SkVersion) version = row > 0 ? sk_index_version (session->index, row, NULL) : NULL;
  SkOrder order;

  if (version == NULL || node->base.vector == NULL)
    return FALSE;
  order = sk_vector_compare (version->entry->vector, node->base.vector);
  return order != SK_ORDER_BEFORE && order != SK_ORDER_EQUAL;
}

/* What the engine may have put there itself before it was killed, although nothing of that is wanted any more: a directory in the place of a file, or
 * a version of others. */
static gboolean
may_be_ours (SkSession *session, const SkUpItem *item, const SkNode *node)
{
  const SkFound *found = item->found;

  if (found->what != SK_FOUND_CHANGED || node->base.kind == SK_KIND_NONE)
    return FALSE;
  if (found->stat.kind != node->base.kind)
    return TRUE;
  return found->stat.kind == SK_KIND_FILE && item->content != NULL
         && sk_index_content_row (session->index, &item->content->content) != node->base.content
         && is_beyond_base (session, node, &item->content->content);
}

gboolean
sk_crash_base_is_unsure (SkSession *session, const SkUpItem *item)
{
  g_autoptr(SkNode) node = NULL;

  if (session->unclean_since == 0 || g_atomic_int_get (&session->swept))
    return FALSE;
  node = sk_index_node (session->index, item->found->folder, item->found->path, NULL);
  return node != NULL && node->target.kind != SK_KIND_NONE
         && (node->target.kind != node->base.kind || node->target.content != node->base.content || may_be_ours (session, item, node));
}

/* Content 0 is that of no version: the node is dirty, and what is there is replaced only if it still has these numbers. */
static gboolean
forget_content (SkSession *session, const SkUpItem *item, SkNode *node, gint64 wall, const char *why, GError **error)
{
  const SkStat *stat = &item->found->stat;

  node->base.kind = SK_KIND_FILE;
  node->base.content = 0;
  node->base.mode = item->found->mode;
  node->base.mtime = node->base.stat_mtime = stat->mtime;
  node->base.size = stat->size;
  node->base.ino = stat->ino;
  node->base.dev = stat->dev;
  node->base.ctime = stat->ctime;
  node->base.btime = stat->btime;
  node->base.unproven = FALSE;
  return sk_index_set_base (session->index, node->row, &node->base, error)
         && (why == NULL || sk_index_activity_add (session->index, wall, "damaged", item->found->folder, item->found->path, why, error));
}

gboolean
sk_crash_forget_content (SkSession *session, const SkUpItem *item, gint64 wall, gboolean *stale, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(SkNode) node = sk_index_node (session->index, item->found->folder, item->found->path, &local);
  gboolean is_whole = node != NULL && sk_index_content_row (session->index, &item->content->content) == node->target.content;

  *stale = node == NULL || node->generation != item->found->generation;
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  return *stale
         || forget_content (session, item, node, wall, is_whole ? NULL : "damaged when the engine or the machine was cut off; fetched again", error);
}

gboolean
sk_crash_forget_kept (SkSession *session, const SkUpItem *item, gint64 wall, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(SkNode) node = sk_index_node (session->index, item->found->folder, item->found->path, &local);

  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  return node == NULL || forget_content (session, item, node, wall, "this disk could not keep it; fetched again", error);
}
