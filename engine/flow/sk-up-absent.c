/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Absence is looked at twice. A listing may be older than the base it is compared with: the way down can have put a file there, and noted it, in
 * between. So what is missing is looked for once more after its base was read; for what happens after that, the generation of the node tells,
 * which is compared when the change is committed. Up thread; the looking itself is a job of the disk pool. */
#include "sk-up-scan.h"

typedef struct
{
  SkUp *up;
  SkUpFolder *folder;
  guint pass;
  SkRoot *root;
  GPtrArray *founds;             /* SkFound, of the folder: only as long as the pass is the same */
  GPtrArray *paths;              /* char* */
  GArray *absent;                /* gboolean */
} AbsentJob;

static void
absent_job_free (gpointer data)
{
  AbsentJob *job = data;

  sk_root_unref (job->root);
  g_ptr_array_unref (job->founds);
  g_ptr_array_unref (job->paths);
  g_array_unref (job->absent);
  g_free (job);
}

/* disk pool */
static void
run_look (gpointer data)
{
  AbsentJob *job = data;

  for (guint i = 0; i < job->paths->len; i++)
    {
      g_autoptr(GError) error = NULL;
      SkStat now = { 0 };
      /* What cannot be looked at is not missing; what would lie behind a link or a file is. */
      gboolean absent = sk_root_stat (job->root, job->paths->pdata[i], &now, &error) ? now.kind == SK_KIND_NONE && !now.special
                                                                                     : g_error_matches (error, SK_ERROR, SK_ERROR_CHANGED);

      g_array_append_val (job->absent, absent);
    }
}

static void
look_done (gpointer data)
{
  AbsentJob *job = data;
  SkUpFolder *folder = job->folder;
  g_autoptr(GHashTable) there = g_hash_table_new (NULL, NULL);
  gint64 now = sk_clock_now (job->up->session->clock);

  folder->looks_out--;
  for (guint i = 0; i < job->paths->len && job->pass == folder->pass; i++)
    {
      SkFound *found = job->founds->pdata[i];

      found->looked_again = TRUE;
      if (g_array_index (job->absent, gboolean, i))
        continue;
      g_hash_table_add (there, found);
      sk_settle_note (folder->settle, job->paths->pdata[i], FALSE, 0, now);
    }
  for (guint i = folder->gone->len; i > 0 && g_hash_table_size (there) > 0; i--)
    if (g_hash_table_contains (there, folder->gone->pdata[i - 1]))
      g_ptr_array_remove_index (folder->gone, i - 1);
  sk_up_turn (job->up);
}

gboolean
sk_up_absent_look (SkUp *self, SkUpFolder *folder)
{
  AbsentJob *job = g_new0 (AbsentJob, 1);

  *job = (AbsentJob) { .up = self, .folder = folder, .pass = folder->pass, .root = sk_root_ref (folder->flow->root), .founds = g_ptr_array_new (),
                       .paths = g_ptr_array_new_with_free_func (g_free), .absent = g_array_new (FALSE, FALSE, sizeof (gboolean)) };
  for (guint i = 0; i < folder->gone->len; i++)
    {
      SkFound *found = folder->gone->pdata[i];

      if (found->looked_again)
        continue;
      g_ptr_array_add (job->founds, found);
      g_ptr_array_add (job->paths, g_strdup (found->path));
    }
  if (job->founds->len == 0)
    {
      absent_job_free (job);
      return FALSE;
    }
  folder->looks_out++;
  sk_pool_push (self->session->disk, run_look, look_done, job, absent_job_free, NULL, sk_worker_context (self->worker));
  return TRUE;
}
