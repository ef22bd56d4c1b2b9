/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading: many small files in one job, a large one step by step, always inside the byte budget. */
#include "sk-up-private.h"

#define RACY_US (20 * 1000)      /* file time stamps move in ticks of up to 10 ms */

#include "sk-crash.h"
#include "sk-test-hooks.h"

typedef struct
{
  SkUp *up;
  SkRoot *root;
  int generation;                /* of @up when it began */
  gboolean xattrs;               /* are taken in */
  GPtrArray *items;              /* SkUpItem; owned by the up thread's tables, touched only by this job meanwhile */
} ReadJob;

static void
read_job_free (gpointer data)
{
  ReadJob *job = data;

  sk_root_unref (job->root);
  g_ptr_array_unref (job->items);
  g_free (job);
}

static SkEntry *
empty_content (SkUpItem *item, SkKind kind)
{
  const SkId none = { 0 };

  return sk_entry_new (&none, item->found->path, kind);
}

/* The old name is gone and all numbers fit: the content is known without reading (C14). */
static gboolean
take_over_move (SkUpItem *item, SkRoot *root)
{
  SkStat old;

  if (item->found->moved_from == NULL || !sk_root_stat (root, item->found->moved_from, &old, NULL))
    return FALSE;
  return old.kind == SK_KIND_NONE || (old.ino != item->found->stat.ino && old.kind != SK_KIND_FILE);
}

/* What is not read is looked at once more, as a listing may be older than the base it was compared with. */
static gboolean
is_as_found (SkUpItem *item, SkRoot *root)
{
  const SkStat *found = &item->found->stat;
  SkStat now = { 0 };

  if (!sk_root_stat (root, item->found->path, &now, &item->error))
    return FALSE;
  if (now.kind == found->kind && now.mode == found->mode && now.ino == found->ino
      && (now.kind == SK_KIND_DIR || (now.size == found->size && now.mtime == found->mtime && now.ctime == found->ctime)))
    return TRUE;
  return sk_fail (&item->error, SK_ERROR_CHANGED, "it changed while it was looked at");
}

static void
collect (SkUpItem *item)
{
  for (guint i = 0; i < item->fresh->len; i++)
    g_array_append_val (item->content->chunks, g_array_index (item->fresh, SkSplitChunk, i).ref);
}

static gboolean
read_file (SkUpItem *item, SkSession *session, SkRoot *root, SkSlab *slab, gboolean xattrs)
{
  gboolean done = FALSE;

  if (item->content == NULL)
    {
      if (take_over_move (item, root))
        {
          if (!is_as_found (item, root))
            return FALSE;
          item->moved = TRUE;
          item->unproven = !item->found->moved_with_dir;
          item->read_done = TRUE;
          return TRUE;
        }
      item->suspect = item->blank = sk_crash_is_suspect (session, item);
      /* Changed within a clock tick of being read: a second change could leave the same numbers (B070). */
      item->unproven = item->found->stat.ctime > (g_get_real_time () - RACY_US) * 1000;
      item->content = empty_content (item, SK_KIND_FILE);
      item->content->size = item->found->stat.size;
      if (item->content->chunks == NULL)
        item->content->chunks = g_array_new (FALSE, FALSE, sizeof (SkChunkRef));
      item->splitter = sk_splitter_open (root, item->found->path, &item->found->stat, &session->gear, &session->id_key, &item->error);
      if (item->splitter == NULL)
        return FALSE;
    }
  sk_splitter_use_slab (item->splitter, slab);
  if (!sk_splitter_step (item->splitter, SK_UP_STEP, item->fresh, &done, session->stopping, &item->error))
    return FALSE;
  item->blank = item->blank && sk_crash_is_blank (item);
  item->holes = item->holes || (item->suspect && sk_crash_has_hole (item));
  collect (item);
  if (done)
    {
      if (xattrs && !sk_up_attributes_read (item))
        return FALSE;
      g_clear_pointer (&item->splitter, sk_splitter_free);
      sk_entry_seal_content (item->content);
      item->read_done = TRUE;
    }
  return TRUE;
}

static void
read_one (SkUpItem *item, SkSession *session, SkRoot *root, SkSlab *slab, gboolean xattrs)
{
  switch (item->found->stat.kind)
    {
    case SK_KIND_FILE:
      (void) read_file (item, session, root, slab, xattrs);
      break;
    case SK_KIND_SYMLINK:
      item->content = empty_content (item, SK_KIND_SYMLINK);
      g_free (item->content->symlink);
      item->content->symlink = sk_local_read_link (root, item->found->path, &item->found->stat, &item->error);
      if (item->content->symlink != NULL)
        sk_entry_seal_content (item->content);
      item->read_done = TRUE;
      break;
    case SK_KIND_DIR:
      if (!is_as_found (item, root))
        return;
      item->content = empty_content (item, SK_KIND_DIR);
      sk_entry_seal_content (item->content);
      item->read_done = TRUE;
      break;
    case SK_KIND_NONE:
    case SK_KIND_TOMBSTONE:
    default:
      item->read_done = TRUE;
      break;
    }
}

/* What the small files of this job have together. */
static gsize
small_bytes (const GPtrArray *items)
{
  gsize bytes = 0;

  for (guint i = 0; i < items->len; i++)
    {
      const SkFound *found = ((SkUpItem *) items->pdata[i])->found;

      if (found->stat.kind == SK_KIND_FILE && found->stat.size <= SK_SMALL_FILE && found->moved_from == NULL)
        bytes += found->stat.size;
    }
  return bytes;
}

/* disk pool */
static void
run_read (gpointer data)
{
  ReadJob *job = data;
  SkSlab slab;

  sk_slab_init (&slab, small_bytes (job->items));
  for (guint i = 0; i < job->items->len; i++)
    {
      SkUpItem *item = job->items->pdata[i];

      while (!item->read_done && item->error == NULL)
        {
          read_one (item, job->up->session, job->root, &slab, job->xattrs);
          sk_test_stage ("ingest");
          if (item->found->stat.size > SK_UP_SMALL)
            break;             /* one step of a large file per job */
        }
    }
  sk_slab_clear (&slab);
}

/* Index thread: the chunk list of a file that was moved. */
static gboolean
load_moved (SkSession *session, gpointer data, GError **error)
{
  GPtrArray *items = data;

  for (guint i = 0; i < items->len; i++)
    {
      SkUpItem *item = items->pdata[i];

      if (!item->moved || item->content != NULL)
        continue;
      item->content = empty_content (item, SK_KIND_FILE);
      g_clear_pointer (&item->content->chunks, g_array_unref);
      item->content->chunks = sk_index_content_chunks (session->index, item->found->moved_content, error);
      if (item->content->chunks == NULL)
        return FALSE;
      item->content->size = item->found->stat.size;
      if (!sk_up_attributes_of_moved (session, item, error))
        return FALSE;
      sk_entry_seal_content (item->content);
    }
  return TRUE;
}

/* up thread */
static void
read_done (gpointer data)
{
  ReadJob *job = data;
  SkUp *self = job->up;
  g_autoptr(GPtrArray) good = g_ptr_array_new ();
  g_autoptr(GError) error = NULL;
  gboolean any_moved = FALSE;

  self->reads_out--;
  for (guint i = 0; i < job->items->len; i++)
    {
      SkUpItem *item = job->items->pdata[i];

      item->reading = FALSE;
      if (job->generation != self->generation && item->error == NULL)
        g_set_error_literal (&item->error, SK_ERROR, SK_ERROR_CANCELLED, "nobody asks for it any more");
      if (item->error != NULL || !(item->read_done || item->splitter != NULL))
        {
          if (item->waiting > 0)
            {
              /* Chunks of it are on their way; the item ends when they have arrived. */
              item->read_done = TRUE;
              sk_up_give_budget (self, item->cost);
              item->cost = 0;
              continue;
            }
          sk_up_item_fail (self, item);
          continue;
        }
      any_moved |= item->moved;
      g_ptr_array_add (good, item);
    }
  if ((any_moved && !sk_session_index (self->session, load_moved, good, &error)) || !sk_up_attributes_settle (self, good, &error)
      || !sk_crash_sort_out (self, good, &error)
      || !sk_up_route (self, good, &error))
    for (guint i = 0; i < good->len; i++)
      {
        SkUpItem *item = good->pdata[i];

        g_set_error_literal (&item->error, error->domain, error->code, error->message);
        sk_up_item_fail (self, item);
      }
  sk_up_turn (self);
}

static guint64
step_cost (const SkUpItem *item)
{
  return item->found->stat.kind == SK_KIND_FILE && item->found->moved_from == NULL ? MIN (item->found->stat.size, SK_UP_STEP) : 0;
}

static void
push_job (SkUp *self, SkUpFolder *folder, GPtrArray *items)
{
  ReadJob *job = g_new0 (ReadJob, 1);

  job->up = self;
  job->root = sk_root_ref (folder->flow->root);
  job->xattrs = folder->flow->xattrs && sk_root_abilities (job->root)->xattr;
  job->items = items;
  job->generation = self->generation;
  for (guint i = 0; i < items->len; i++)
    ((SkUpItem *) items->pdata[i])->reading = TRUE;
  self->reads_out++;
  sk_pool_push (self->session->disk, run_read, read_done, job, read_job_free, NULL, sk_worker_context (self->worker));
}

/* The next step of the large file at the head; FALSE when the budget is used up. */
static gboolean
push_large (SkUp *self)
{
  SkUpItem *large = g_queue_peek_head (&self->large);
  GPtrArray *items;

  if (!sk_budget_take (&self->budget, SK_UP_STEP))
    return FALSE;
  g_queue_pop_head (&self->large);
  large->cost = SK_UP_STEP;
  items = g_ptr_array_new ();
  g_ptr_array_add (items, large);
  push_job (self, large->folder, items);
  return TRUE;
}

/* A batch of small items of one folder, from the head of the queue. */
static GPtrArray *
next_batch (SkUp *self, SkUpFolder **folder)
{
  GPtrArray *batch = g_ptr_array_new ();
  guint64 bytes = 0;

  *folder = NULL;
  while (batch->len < SK_UP_BATCH_ITEMS && !g_queue_is_empty (&self->candidates))
    {
      SkUpItem *item = g_queue_peek_head (&self->candidates);
      guint64 cost = step_cost (item);
      gboolean is_large = item->found->stat.size > SK_UP_SMALL && item->found->stat.kind == SK_KIND_FILE;

      if (*folder != NULL && (item->folder != *folder || is_large || bytes + cost > SK_UP_SMALL))
        break;
      if (!sk_budget_take (&self->budget, cost))
        break;
      item->cost = cost;
      bytes += cost;
      *folder = item->folder;
      g_ptr_array_add (batch, g_queue_pop_head (&self->candidates));
      if (is_large)
        break;
    }
  if (batch->len > 0)
    return batch;
  g_ptr_array_unref (batch);
  return NULL;
}

void
sk_up_read_more (SkUp *self)
{
  while (self->reads_out < SK_UP_READS_MAX && self->seals_out < SK_UP_SEALS_MAX)
    {
      SkUpFolder *folder;
      GPtrArray *items;
      SkUpItem *large = g_queue_peek_head (&self->large);

      if (large != NULL && self->reads_out < SK_UP_READS_MAX / 2)
        {
          /* Large files keep half of the readers, so that small ones are not held up behind them. */
          if (!push_large (self))
            return;
          continue;
        }
      items = next_batch (self, &folder);
      if (items != NULL)
        {
          if (folder->flow == NULL || folder->flow->root == NULL)
            {
              for (guint i = 0; i < items->len; i++)
                {
                  SkUpItem *item = items->pdata[i];

                  g_set_error (&item->error, SK_ERROR, SK_ERROR_OFFLINE, "the folder is not available");
                  sk_up_item_fail (self, item);
                }
              g_ptr_array_unref (items);
              continue;
            }
          push_job (self, folder, items);
          continue;
        }
      if (large == NULL || !push_large (self))
        return;
    }
}
