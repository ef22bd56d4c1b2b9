/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single paths that became quiet: looked at on the disk pool, compared on the index thread. Up thread. */
#include "sk-rules.h"
#include "sk-up-scan.h"

#include "sk-test-hooks.h"

typedef struct
{
  SkUp *up;
  SkUpFolder *folder;
  SkRoot *root;
  GPtrArray *paths;              /* char* */
  GArray *stats;                 /* SkStat */
  GPtrArray *errors;             /* GError* or NULL */
  GPtrArray *out, *gone, *below;
  int steps;                     /* of the way down when it began */
  SkStat rules;                  /* see ScanJob */
  gboolean other_rules;
  guint full_scans;
} CheckJob;

static void
check_job_free (gpointer data)
{
  CheckJob *job = data;

  sk_root_unref (job->root);
  g_ptr_array_unref (job->paths);
  g_array_unref (job->stats);
  for (guint i = 0; i < job->errors->len; i++)
    g_clear_error ((GError **) &job->errors->pdata[i]);
  g_ptr_array_unref (job->errors);
  g_ptr_array_unref (job->out);
  g_ptr_array_unref (job->gone);
  g_ptr_array_unref (job->below);
  g_free (job);
}

/* disk pool */
static void
run_check (gpointer data)
{
  CheckJob *job = data;
  SkStat rules;

  for (guint i = 0; i < job->paths->len; i++)
    {
      SkStat stat = { 0 };
      GError *error = NULL;

      /* What would lie behind a link or a file is not there. */
      if (!sk_root_stat (job->root, job->paths->pdata[i], &stat, &error) && g_error_matches (error, SK_ERROR, SK_ERROR_CHANGED))
        {
          g_clear_error (&error);
          stat = (SkStat) { 0 };
        }
      g_array_append_val (job->stats, stat);
      g_ptr_array_add (job->errors, error);
    }
  sk_rules_stat (job->root, &rules);
  job->other_rules = !sk_stat_same (&rules, &job->rules);
}

/* Index thread. */
static gboolean
compare_paths (SkSession *session, gpointer data, GError **error)
{
  CheckJob *job = data;

  for (guint i = 0; i < job->paths->len; i++)
    if (job->errors->pdata[i] == NULL
        && !sk_compare_path (session, job->folder->row, job->paths->pdata[i], &g_array_index (job->stats, SkStat, i), job->out, job->gone,
                             job->below, error))
      return FALSE;
  return TRUE;
}

static void
add_paths (GHashTable *set, GPtrArray *founds)
{
  for (guint i = 0; i < founds->len; i++)
    g_hash_table_add (set, ((SkFound *) founds->pdata[i])->path);
}

/* What could not be taken in, and is gone by now or as it was before, is no trouble any more: nobody will take it in. */
static void
settle_checked (SkUp *self, SkUpFolder *folder, CheckJob *job)
{
  g_autoptr(GHashTable) news = g_hash_table_new (g_str_hash, g_str_equal);

  if (g_hash_table_size (folder->troubles) == 0)
    return;
  add_paths (news, job->out);
  add_paths (news, job->gone);
  for (guint i = 0; i < job->paths->len; i++)
    {
      const char *path = job->paths->pdata[i];
      g_autofree char *key = sk_up_issue_key ("item", folder, path);

      if (job->errors->pdata[i] == NULL && !g_hash_table_contains (news, path) && g_hash_table_remove (folder->troubles, key))
        sk_session_settle_issue (self->session, key);
    }
}

static void
check_done (gpointer data)
{
  SkCounters looked = { .looked = ((CheckJob *) data)->paths->len };
  CheckJob *job = data;
  SkUp *self = job->up;
  SkUpFolder *folder = job->folder;
  g_autoptr(GError) error = NULL;

  folder->checks_out--;
  sk_session_count (self->session, &looked);
  if (job->full_scans != folder->full_scans || job->other_rules)
    {
      if (job->full_scans == folder->full_scans)
        sk_up_scan_all (self, folder);
      sk_up_turn (self);
      return;
    }
  for (guint i = 0; i < job->paths->len; i++)
    {
      const SkStat *stat = &g_array_index (job->stats, SkStat, i);

      if (job->errors->pdata[i] != NULL)
        sk_settle_again (folder->settle, job->paths->pdata[i], sk_clock_now (self->session->clock));
      /* What was put there and removed again before it was noted would never be missed. */
      else if (stat->kind == SK_KIND_NONE && !stat->special && job->steps != sk_down_steps (self->session->down))
        sk_settle_note (folder->settle, job->paths->pdata[i], FALSE, 0, sk_clock_now (self->session->clock));
    }
  if (!sk_session_index (self->session, compare_paths, job, &error))
    g_ptr_array_add (self->failed, g_strdup (error->message));
  else
    {
      settle_checked (self, folder, job);
      for (guint i = 0; i < job->below->len; i++)
        g_queue_push_tail (&folder->dirs, g_steal_pointer (&job->below->pdata[i]));
      g_ptr_array_set_size (job->below, 0);
      sk_up_scan_gone (folder, job->gone);
      sk_up_scan_add (self, folder, job->out);
    }
  sk_up_turn (self);
  sk_test_stage ("checked");
}

static gboolean
is_among (GPtrArray *paths, const char *path)
{
  return g_ptr_array_find_with_equal_func (paths, path, g_str_equal, NULL);
}

/* Things are being placed, and are not noted yet: looking at them now would take them for news. */
static gboolean
must_wait_for_step (SkUp *self, int *steps)
{
  *steps = sk_down_steps (self->session->down);
  if ((*steps & 1) == 0)
    return FALSE;
  g_atomic_int_set (&self->waits_for_step, 1);
  *steps = sk_down_steps (self->session->down);     /* it may have ended just before that, and then nobody calls */
  if ((*steps & 1) != 0)
    return TRUE;
  g_atomic_int_set (&self->waits_for_step, 0);
  return FALSE;
}

void
sk_up_check_due (SkUp *self, SkUpFolder *folder)
{
  g_autoptr(GPtrArray) due = NULL;
  CheckJob *job;
  int steps;

  /* Without the rules nothing is looked at; a pass brings them. */
  if (folder->flow == NULL || folder->flow->root == NULL || folder->checks_out > 0 || folder->ignore == NULL)
    return;
  if (sk_settle_next (folder->settle) > sk_clock_now (self->session->clock) || must_wait_for_step (self, &steps))
    return;
  due = sk_settle_due (folder->settle, sk_clock_now (self->session->clock));
  if (due->len == 0)
    return;
  if (is_among (due, ".skerryignore"))
    {
      /* Other rules: everything is to be looked at, and nothing by the old ones. */
      sk_up_scan_all (self, folder);
      return;
    }
  job = g_new0 (CheckJob, 1);
  job->up = self;
  job->folder = folder;
  job->steps = steps;
  job->rules = folder->rules;
  job->full_scans = folder->full_scans;
  job->root = sk_root_ref (folder->flow->root);
  job->paths = g_ptr_array_new_with_free_func (g_free);
  job->stats = g_array_new (FALSE, FALSE, sizeof (SkStat));
  job->errors = g_ptr_array_new ();
  job->out = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_found_free);
  job->gone = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_found_free);
  job->below = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < due->len; i++)
    {
      const char *path = due->pdata[i];

      if (*path == '\0' || sk_up_is_left_out (folder, path, FALSE))
        continue;
      g_ptr_array_add (job->paths, g_strdup (path));
    }
  folder->checks_out++;
  sk_pool_push (self->session->disk, run_check, check_done, job, check_job_free, NULL, sk_worker_context (self->worker));
}
