/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a step of a plan does to the disk, item by item, and how it is noted: change, barrier, base (A12). */
#include "sk-down-private.h"

#include <string.h>

#include "sk-merge.h"
#include "sk-rules.h"
#include "sk-test-hooks.h"

typedef struct
{
  SkDown *down;
  SkFlowFolder *folder;
  GPtrArray *items;              /* SkDownItem */
  GPtrArray *dirs;               /* opened for this step, see sk-down-dirs.c; may be NULL */
  GError *lost;                  /* why it could not be made durable */
  guint done;
  guint *left;                   /* jobs of its part that have not ended */
} Step;

/* Of a file that is here already: its attributes belong to its content, which stays. */
static void
meta_of (const SkDownItem *item, SkMeta *out)
{
  *out = (SkMeta) { .mode = item->node->target.mode, .mtime = item->node->target.mtime };
}

static const SkStat *
expected_of (const SkDownItem *item)
{
  return item->node->base.kind != SK_KIND_NONE ? &item->expected : NULL;
}

/* --- one item, on the disk pool --- */

/* Only a directory, which is empty then, goes beforehand. A file or link is exchanged for what comes in its place: a kill in between would
 * leave an empty name, which the next scan takes for a removal by the person. */
static gboolean
make_room (SkDown *down, SkRoot *root, SkDownItem *item, const SkStat **expected)
{
  *expected = expected_of (item);
  if (item->action != SK_APPLY_REPLACE_KIND || item->node->base.kind != SK_KIND_DIR)
    return TRUE;
  *expected = NULL;
  return sk_target_remove (root, item->path, &item->expected, down->trash_batch, &item->error);
}

/* Wanted only because of what lies in it, and there already: a person made it, and what he put into it was taken in first. It is the way up's,
 * which describes it; noted here as placed it would be nobody's wish, and would go with the last thing in it. */
static gboolean
is_a_persons (SkRoot *root, const SkDownItem *item)
{
  SkStat now;

  return item->node->target.version == 0 && item->node->base.kind == SK_KIND_NONE && sk_root_stat (root, item->path, &now, NULL)
         && now.kind == SK_KIND_DIR;
}

static gboolean
make_directory (SkDown *down, SkFlowFolder *folder, SkDownItem *item)
{
  SkRoot *root = folder->root;
  guint32 mode = sk_down_dir_mode (folder, item->node->target.mode);

  if (is_a_persons (root, item))
    return sk_fail (&item->error, SK_ERROR_CHANGED, "a directory was made here meanwhile");
  if (item->action == SK_APPLY_REPLACE_KIND)
    return sk_target_mkdir_over (root, item->path, mode, &item->expected, down->trash_batch, &item->out, &item->error);
  return sk_target_mkdir (root, item->path, mode, &item->out, &item->error);
}

static gboolean
move_file (SkDown *down, SkRoot *root, SkDownItem *item)
{
  SkMeta meta;

  meta_of (item, &meta);
  return sk_target_rename (root, item->move_from, &item->move_expected, item->path, NULL, &meta, down->trash_batch, &item->out, &item->error);
}

static GBytes *
join_chunks (const SkDownItem *item)
{
  GByteArray *all;

  if (item->data->len == 1)
    return g_bytes_ref (item->data->pdata[0]);
  all = g_byte_array_sized_new ((guint) item->entry->size);
  for (guint i = 0; i < item->data->len; i++)
    {
      GBytes *part = item->data->pdata[i];
      SkChunkRef *ref = &g_array_index (item->entry->chunks, SkChunkRef, i);

      if (part != NULL)
        g_byte_array_append (all, g_bytes_get_data (part, NULL), (guint) g_bytes_get_size (part));
      else
        {
          /* A zero run. */
          guint at = all->len;

          g_byte_array_set_size (all, at + (guint) ref->size);
          memset (all->data + at, 0, ref->size);
        }
    }
  return g_byte_array_free_to_bytes (all);
}

static gboolean
write_file (SkDown *down, SkTargetRun *run, SkDownItem *item)
{
  SkRoot *root = run->root;
  const SkStat *expected;
  SkMeta meta;

  meta_of (item, &meta);
  meta.xattrs = item->entry->xattrs;
  meta.left_out = &item->left_out;
  if (!make_room (down, root, item, &expected))
    return FALSE;
  if (item->partial != NULL)
    {
      gboolean ok = sk_target_place (root, item->partial, item->path, expected, &meta, TRUE, down->trash_batch, &item->out, &item->error);

      /* An open descriptor for writing would keep a program from being started. After an error the bytes are kept for the next try. */
      g_clear_pointer (&item->partial, sk_partial_close);
      return ok;
    }
  {
    g_autoptr(GBytes) bytes = join_chunks (item);
    gsize len;
    const guint8 *data = g_bytes_get_data (bytes, &len);

    return sk_target_run_write (run, item->path, data, len, expected, &meta, TRUE, down->trash_batch, &item->out, &item->error);
  }
}

static gboolean
make_link (SkDown *down, SkRoot *root, SkDownItem *item)
{
  const SkStat *expected;

  if (!make_room (down, root, item, &expected))
    return FALSE;
  return sk_target_symlink (root, item->path, item->entry->symlink, expected, item->node->target.mtime, down->trash_batch, &item->out, &item->error);
}

static gboolean
set_meta (SkRoot *root, SkDownItem *item)
{
  SkMeta meta;

  meta_of (item, &meta);
  return sk_target_set_meta (root, item->path, &item->expected, &meta, &item->out, &item->error);
}

/* What is gone already is as it should be. */
static gboolean
remove_path (SkDown *down, SkRoot *root, SkDownItem *item)
{
  SkStat now;

  if (sk_target_remove (root, item->path, &item->expected, down->trash_batch, &item->error))
    return TRUE;
  if (!sk_root_stat (root, item->path, &now, NULL) || now.kind != SK_KIND_NONE || now.special)
    return FALSE;
  g_clear_error (&item->error);
  return sk_target_keep_gone (root, item->path, &item->error);
}

/* disk pool */
static void
run_step (gpointer data)
{
  Step *step = data;
  SkRoot *root = step->folder->root;
  g_auto(SkTargetRun) run = SK_TARGET_RUN (root);

  for (guint i = 0; i < step->items->len && !g_cancellable_is_cancelled (step->down->cancellable); i++)
    {
      SkDownItem *item = step->items->pdata[i];

      if (item->error != NULL)
        continue;
      sk_test_stage ("write");
      if (item->move_from != NULL)
        item->placed = move_file (step->down, root, item);
      else if (item->node->target.kind == SK_KIND_NONE)
        item->placed = remove_path (step->down, root, item);
      else if (item->action == SK_APPLY_META)
        item->placed = set_meta (root, item);
      else if (item->node->target.kind == SK_KIND_DIR)
        item->placed = make_directory (step->down, step->folder, item);
      else if (item->node->target.kind == SK_KIND_SYMLINK)
        item->placed = make_link (step->down, root, item);
      else
        item->placed = write_file (step->down, &run, item);
      sk_down_attributes_look (root, item);
    }
}

/* --- the base follows --- */

static void
base_of (SkFlowFolder *folder, const SkDownItem *item, SkBase *out)
{
  const SkTarget *target = &item->node->target;

  *out = (SkBase) { .kind = target->kind, .version = target->version, .content = target->content, .mode = target->mode, .mtime = target->mtime };
  if (target->kind == SK_KIND_NONE)
    return;
  /* What the disk has, so that the difference to the target is set right and not taken for a person's wish: it is made open until what lies in it is
   * there, and it may have been there already, made by a person or by an attempt that failed halfway. */
  if (target->kind == SK_KIND_DIR && item->action != SK_APPLY_META && sk_root_abilities (folder->root)->modes)
    out->mode = item->out.mode;
  out->size = item->out.size;
  out->ino = item->out.ino;
  out->dev = item->out.dev;
  out->stat_mtime = item->out.mtime;
  out->ctime = item->out.ctime;
  out->btime = item->out.btime;
  out->mount_root = item->out.mount_root;
  /* The content was not written here: whoever doubts it goes on doubting. */
  if (item->action == SK_APPLY_META || item->move_node != NULL)
    out->unproven = item->move_node != NULL ? item->move_node->base.unproven : item->node->base.unproven;
}

/* The base of a file that is there, with content that is not to be relied upon. */
static void
forget (SkBase *base)
{
  base->version = 0;
  base->content = 0;
}

/* Index thread, in a transaction. */
static gboolean
commit_items (SkSession *session, gpointer data, GError **error)
{
  Step *step = data;

  for (guint i = 0; i < step->items->len; i++)
    {
      SkDownItem *item = step->items->pdata[i];
      SkBase base;
      gboolean stale;

      if (!item->placed || (step->lost != NULL && item->node->target.kind != SK_KIND_FILE))
        continue;
      /* With @lost the old name may come back: that it is gone is noted when it is taken away once more. */
      if (item->move_node != NULL && step->lost == NULL)
        {
          /* The old name is gone from this disk; whether that was wanted says its target. */
          const SkBase nothing = { .kind = SK_KIND_NONE };

          if (!sk_tree_done (session->tree, item->move_node->row, item->move_node->generation, &nothing, &stale, error))
            return FALSE;
        }
      base_of (step->folder, item, &base);
      if (step->lost != NULL)
        forget (&base);
      if (!sk_tree_done (session->tree, item->node->row, item->node->generation, &base, &stale, error))
        return FALSE;
      if (!stale && !sk_down_attributes_note (session, item, error))
        return FALSE;
      step->done++;
    }
  return step->lost != NULL || sk_down_dirs_note_shut (step->down, step->dirs, error);
}

/* disk pool */
static void
run_barrier (gpointer data)
{
  Step *step = data;

  (void) sk_root_barrier (step->folder->root, &step->lost);
}

/* After a sync that failed the bytes may be lost, although they can be read until the machine stops, and although the next sync succeeds. So
 * what is there now is as good as no version: it is written anew. */
static gboolean
commit_step (SkDown *self, Step *step, GError **error)
{
  /* What is being fetched gets on meanwhile. */
  sk_down_run (self, self->session->disk, run_barrier, step);
  if (step->lost == NULL)
    return sk_session_transact_turning (self->session, commit_items, step, self->jobs, error);
  if (!sk_test_mistake ("trust-failed-sync") && !sk_session_transact (self->session, commit_items, step, NULL))
    g_atomic_int_set (&self->session->doubts_writes, 1);
  g_propagate_error (error, g_steal_pointer (&step->lost));
  return FALSE;
}

static void
count_placed (SkDown *self, SkDownItem *item)
{
  SkCounters add = { 0 };

  self->result->placed += item->placed;
  /* What was there before lies in the trash now, perhaps with a person's last words in it (A11). */
  self->result->again |= item->placed && (item->node->base.kind != SK_KIND_NONE || item->move_from != NULL || strcmp (item->path, SK_RULES_NAME) == 0);
  if (!item->placed || item->node->target.kind != SK_KIND_FILE || item->action == SK_APPLY_META)
    return;
  add.files_down = 1;
  add.bytes_down = item->node->target.size;
  self->result->files++;
  self->result->bytes += item->node->target.size;
  sk_session_count (self->session, &add);
}

/* What a person sees as done by other devices; what this one wrote itself (a restored version) it has told already. */
static void
tell (SkDown *self, SkDownItem *item)
{
  const SkNode *node = item->node;
  SkDeviceId writer = item->entry != NULL ? sk_id_device (&item->entry->writer) : (SkDeviceId) { 0 };

  if (!item->placed || item->action == SK_APPLY_META)
    return;
  if (node->target.kind == SK_KIND_NONE && node->base.kind != SK_KIND_DIR)
    sk_activity_pass_add (self->pass, SK_DID_REMOVE, node, item->path);
  else if (node->target.kind == SK_KIND_FILE && node->base.kind == SK_KIND_NONE && sk_is_conflict_name (sk_path_name (item->path)))
    sk_activity_pass_conflict (self->pass, item->path);
  else if (node->target.kind != SK_KIND_FILE || sk_device_id_equal (&writer, &self->session->who.device))
    return;
  else if (item->move_from != NULL)
    sk_activity_pass_add (self->pass, SK_DID_MOVE, node, item->path);
  else
    sk_activity_pass_add (self->pass, node->base.kind == SK_KIND_NONE ? SK_DID_RECEIVE : SK_DID_REPLACE, node, item->path);
}

void
sk_down_report_failure (SkDown *self, SkFlowFolder *folder, SkDownItem *item)
{
  g_autofree char *key = g_strdup_printf ("apply:%" G_GINT64_FORMAT ":%s", folder->row, item->path);
  g_autofree char *shown = sk_path_display (item->path);
  SkDownFailure *failure;

  if (item->error == NULL)
    {
      if (item->placed && item->node->hold == 0)
        sk_session_settle_issue (self->session, key);
      return;
    }
  if (g_error_matches (item->error, SK_ERROR, SK_ERROR_CHANGED) || g_error_matches (item->error, SK_ERROR, SK_ERROR_EXISTS))
    {
      /* The disk is not as the base says: that is a local change, and the way up takes it first. */
      self->result->again = TRUE;
      sk_up_note (self->session->up, folder->row, item->path, FALSE, FALSE);
      if (item->move_from != NULL)
        sk_up_note (self->session->up, folder->row, item->move_from, FALSE, FALSE);
      return;
    }
  if (g_error_matches (item->error, SK_ERROR, SK_ERROR_CANCELLED) || g_error_matches (item->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  if (item->have != NULL && item->missing == 0)
    g_hash_table_add (self->not_placed, g_memdup2 (&item->node->row, sizeof item->node->row));
  sk_session_raise (self->session, key, "failed-item", folder->row, item->path, "“%s” could not be brought up to date: %s", shown, item->error->message);
  failure = g_new0 (SkDownFailure, 1);
  failure->path = g_steal_pointer (&shown);
  failure->why = g_strdup (item->error->message);
  g_ptr_array_add (self->result->failed, failure);
}

/* What the disk jobs placed is made durable and noted. */
static guint
note_items (SkDown *self, SkFlowFolder *folder, GPtrArray *items, GPtrArray *dirs)
{
  Step step = { .down = self, .folder = folder, .items = items, .dirs = dirs };
  g_autoptr(GError) error = NULL;

  sk_test_stage ("write");
  if (!commit_step (self, &step, &error))
    {
      g_message ("“%s”: %s", folder->name, error->message);
      for (guint i = 0; i < items->len; i++)
        if (((SkDownItem *) items->pdata[i])->error == NULL)
          ((SkDownItem *) items->pdata[i])->error = g_error_copy (error);
      step.done = 0;
    }
  for (guint i = 0; i < items->len; i++)
    {
      if (step.done > 0)
        {
          count_placed (self, items->pdata[i]);
          tell (self, items->pdata[i]);
        }
      sk_down_report_failure (self, folder, items->pdata[i]);
    }
  if (step.done > 0)
    sk_down_attributes_tell (self, folder, items);
  sk_session_touch_report (self->session);
  return step.done;
}

/* From here to end_step, and to nothing in between, others see that things are being placed. */
static GPtrArray *
begin_step (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  g_atomic_int_inc (&self->steps);
  return sk_down_dirs_open (self, folder, items);
}

static void
end_step (SkDown *self)
{
  g_atomic_int_inc (&self->steps);
  sk_up_step_done (self->session->up);
}

guint
sk_down_run_in_order (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  Step step = { .down = self, .folder = folder, .items = items };
  g_autoptr(GPtrArray) dirs = NULL;
  guint done;

  if (items->len == 0)
    return 0;
  dirs = begin_step (self, folder, items);
  sk_down_run (self, self->session->disk, run_step, &step);
  sk_down_dirs_shut (self, folder, dirs);
  done = note_items (self, folder, items, dirs);
  end_step (self);
  return done;
}

static void
step_free (gpointer data)
{
  Step *step = data;

  g_ptr_array_unref (step->items);
  g_free (step);
}

static void
step_done (gpointer data)
{
  --*((Step *) data)->left;
}

static GPtrArray *
part_of (GPtrArray *items, guint at, guint len)
{
  GPtrArray *part = g_ptr_array_new ();

  for (guint i = at; i < items->len && i < at + len; i++)
    g_ptr_array_add (part, items->pdata[i]);
  return part;
}

guint
sk_down_run_spread (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  const guint slice = SK_DOWN_COMMIT / 8;
  const guint n_parts = (items->len + SK_DOWN_COMMIT - 1) / SK_DOWN_COMMIT;
  g_autofree guint *left = g_new0 (guint, n_parts);          /* jobs of each part */
  g_autoptr(GPtrArray) dirs = NULL;
  guint done = 0;

  if (items->len == 0)
    return 0;
  dirs = begin_step (self, folder, items);
  for (guint at = 0; at < items->len; at += slice)
    {
      Step *step = g_new0 (Step, 1);

      *step = (Step) { .down = self, .folder = folder, .items = part_of (items, at, slice), .left = &left[at / SK_DOWN_COMMIT] };
      ++*step->left;
      sk_down_spawn (self, self->session->disk, run_step, step_done, step, step_free);
    }
  for (guint part = 0; part < n_parts; part++)
    {
      g_autoptr(GPtrArray) placed = part_of (items, part * SK_DOWN_COMMIT, SK_DOWN_COMMIT);
      gboolean is_last = part + 1 == n_parts;

      sk_down_wait_for (self, &left[part]);
      if (is_last)
        sk_down_dirs_shut (self, folder, dirs);
      done += note_items (self, folder, placed, is_last ? dirs : NULL);
    }
  end_step (self);
  return done;
}
