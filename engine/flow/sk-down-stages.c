/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Carrying out a plan in an order that never takes away before it has given: directories, moves, files, links and metadata, removals, then
 * what takes the place of a removed directory, and last the modes of directories. */
#include "sk-down-private.h"

#include <string.h>

static gboolean
has_room (SkFlowFolder *folder, SkDownItem *item, gint64 *room)
{
  if ((gint64) item->entry->size <= *room)
    {
      *room -= (gint64) item->entry->size;
      return TRUE;
    }
  g_set_error (&item->error, SK_ERROR, SK_ERROR_NO_SPACE, "there is no room for its %" G_GUINT64_FORMAT " bytes in “%s”; free some space, the rest goes on",
               item->entry->size, folder->path);
  return FALSE;
}

/* Takes out of @items what cannot be placed: for that nothing is fetched. */
static void
leave_out_hopeless (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  guint kept = 0;

  sk_down_dirs_check (self, folder, items);
  for (guint i = 0; i < items->len; i++)
    {
      SkDownItem *item = items->pdata[i];

      if (item->error != NULL)
        sk_down_report_failure (self, folder, item);
      else
        items->pdata[kept++] = item;
    }
  g_ptr_array_set_size (items, (int) kept);
}

/* Small files on their way: while one group is being written the next ones are fetched. */
#define AHEAD 2u

typedef struct
{
  GPtrArray *items;
  SkDownFetch *fetch;
} Fetched;

/* The oldest of @groups. */
static guint
write_group (SkDown *self, SkFlowFolder *folder, GQueue *groups)
{
  Fetched *group = g_queue_pop_head (groups);
  guint done;

  sk_down_fetch_end (group->fetch);
  done = sk_down_run_spread (self, folder, group->items);
  for (guint i = 0; i < group->items->len; i++)
    g_clear_pointer (&((SkDownItem *) group->items->pdata[i])->data, g_ptr_array_unref);
  g_ptr_array_unref (group->items);
  g_free (group);
  return done;
}

static guint
write_groups (SkDown *self, SkFlowFolder *folder, GQueue *groups)
{
  guint done = 0;

  while (!g_queue_is_empty (groups))
    done += write_group (self, folder, groups);
  return done;
}

/* (transfer full) @items. Fetches them; of what was fetched before them the oldest is written when enough is on its way. */
static guint
next_group (SkDown *self, SkFlowFolder *folder, GPtrArray *items, GQueue *groups)
{
  Fetched *next = g_new0 (Fetched, 1);

  next->items = items;
  leave_out_hopeless (self, folder, items);
  next->fetch = sk_down_fetch_small (self, folder, items);
  g_queue_push_tail (groups, next);
  return g_queue_get_length (groups) > AHEAD ? write_group (self, folder, groups) : 0;
}

static guint
write_large (SkDown *self, SkFlowFolder *folder, SkDownItem *item)
{
  g_autoptr(GPtrArray) one = g_ptr_array_new ();

  g_ptr_array_add (one, item);
  leave_out_hopeless (self, folder, one);
  if (one->len > 0)
    sk_down_fetch_large (self, folder, item);
  return sk_down_run_in_order (self, folder, one);
}

/* Files, small ones in groups through memory, large ones one by one through partial files. */
static guint
write_files (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  guint done = 0;
  gint64 room = sk_root_space (folder->root);
  g_autoptr(GPtrArray) group = g_ptr_array_new ();
  GQueue groups = G_QUEUE_INIT;  /* Fetched */
  guint64 bytes = 0;

  for (guint i = 0; i <= items->len; i++)
    {
      SkDownItem *item = i < items->len ? items->pdata[i] : NULL;
      gboolean is_large = item != NULL && item->entry->size > SK_DOWN_SMALL;

      if (group->len > 0 && (item == NULL || bytes >= SK_DOWN_GROUP_BYTES || group->len >= SK_DOWN_COMMIT))
        {
          done += next_group (self, folder, g_steal_pointer (&group), &groups);
          group = g_ptr_array_new ();
          bytes = 0;
        }
      if (item == NULL || g_cancellable_is_cancelled (self->cancellable))
        break;
      if (g_hash_table_contains (self->not_placed, &item->node->row))
        continue;
      if (!has_room (folder, item, &room))
        {
          sk_down_report_failure (self, folder, item);
          continue;
        }
      if (is_large)
        {
          done += write_groups (self, folder, &groups);
          done += write_large (self, folder, item);
          continue;
        }
      bytes += item->entry->size;
      g_ptr_array_add (group, item);
    }
  return done + write_groups (self, folder, &groups);
}

static int
by_path (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(SkDownItem *const *) a)->path, (*(SkDownItem *const *) b)->path);
}

static int
by_path_backwards (gconstpointer a, gconstpointer b)
{
  return by_path (b, a);
}

/* Small ones before large ones; small ones in the order of the log, which is that of the packs, so that a pack is read once. */
static int
by_size (gconstpointer a, gconstpointer b)
{
  const SkNode *x = (*(SkDownItem *const *) a)->node, *y = (*(SkDownItem *const *) b)->node;
  guint64 i = MAX (x->target.size, SK_DOWN_SMALL), k = MAX (y->target.size, SK_DOWN_SMALL);

  if (i != k)
    return i < k ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

typedef struct
{
  GPtrArray *dirs, *moves, *files, *links, *removals, *late_files, *late_links, *dir_modes, *untouched;
} Stages;

static void
sort_out (GPtrArray *plan, Stages *stages)
{
  for (guint i = 0; i < plan->len; i++)
    {
      SkDownItem *item = plan->pdata[i];
      gboolean replaces_dir = item->action == SK_APPLY_REPLACE_KIND && item->node->base.kind == SK_KIND_DIR;

      if (item->action == SK_APPLY_NOTHING)
        g_ptr_array_add (stages->untouched, item);
      else if (item->node->target.kind == SK_KIND_NONE)
        g_ptr_array_add (stages->removals, item);
      else if (item->action == SK_APPLY_META)
        g_ptr_array_add (item->node->target.kind == SK_KIND_DIR ? stages->dir_modes : stages->links, item);
      else if (item->move_from != NULL)
        g_ptr_array_add (stages->moves, item);
      else if (item->node->target.kind == SK_KIND_DIR)
        g_ptr_array_add (stages->dirs, item);
      else if (item->node->target.kind == SK_KIND_SYMLINK)
        g_ptr_array_add (replaces_dir ? stages->late_links : stages->links, item);
      else
        g_ptr_array_add (replaces_dir ? stages->late_files : stages->files, item);
    }
}

guint
sk_down_carry_out (SkDown *self, SkFlowFolder *folder, GPtrArray *plan)
{
  Stages stages;
  guint done = 0;
  GPtrArray **each[] = { &stages.dirs, &stages.moves, &stages.files, &stages.links, &stages.removals, &stages.late_files, &stages.late_links,
                         &stages.dir_modes, &stages.untouched };

  for (guint i = 0; i < G_N_ELEMENTS (each); i++)
    *each[i] = g_ptr_array_new ();
  sort_out (plan, &stages);
  for (guint i = 0; i < plan->len; i++)
    if (((SkDownItem *) plan->pdata[i])->node->base.kind == SK_KIND_DIR)
      g_hash_table_insert (self->planned_dirs, &((SkDownItem *) plan->pdata[i])->node->row, plan->pdata[i]);
  g_ptr_array_sort (stages.dirs, by_path);
  g_ptr_array_sort (stages.removals, by_path_backwards);
  /* A directory that is shut leaves no way to those in it. */
  g_ptr_array_sort (stages.dir_modes, by_path_backwards);
  g_ptr_array_sort (stages.files, by_size);
  done += sk_down_run_in_order (self, folder, stages.dirs);
  done += sk_down_run_spread (self, folder, stages.moves);
  done += write_files (self, folder, stages.files);
  done += sk_down_run_spread (self, folder, stages.links);
  done += sk_down_run_in_order (self, folder, stages.removals);
  done += write_files (self, folder, stages.late_files);
  done += sk_down_run_in_order (self, folder, stages.late_links);
  done += sk_down_run_in_order (self, folder, stages.dir_modes);
  g_hash_table_remove_all (self->planned_dirs);
  for (guint i = 0; i < G_N_ELEMENTS (each); i++)
    g_ptr_array_unref (*each[i]);
  return done;
}
