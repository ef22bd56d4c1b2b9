/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-store-job.h"

SkStoreJob *
sk_store_job_new (GTask *task, SkStoreJobFunc func)
{
  SkStoreJob *job = g_new0 (SkStoreJob, 1);

  job->task = g_object_ref (task);
  job->func = func;
  return job;
}

static void
sk_store_job_free (SkStoreJob *job)
{
  g_object_unref (job->task);
  g_free (job->name);
  g_strfreev (job->names);
  g_clear_pointer (&job->data, g_bytes_unref);
  if (job->result != NULL)
    job->free_result (job->result);
  g_free (job);
}

SkStore *
sk_store_job_store (SkStoreJob *job)
{
  return g_task_get_source_object (job->task);
}

void
sk_store_job_return (SkStoreJob *job, gpointer result, GDestroyNotify free_result)
{
  if (free_result != NULL)
    g_task_return_pointer (job->task, result, free_result);
  else
    g_task_return_boolean (job->task, TRUE);
  sk_store_job_free (job);
}

void
sk_store_job_fail (SkStoreJob *job, GError *error)
{
  g_task_return_error (job->task, error);
  sk_store_job_free (job);
}

/* Between the pool and the job, because the job may be gone when the pool frees what it was given.
 */
typedef struct
{
  SkStoreJob *job; /* NULL once it was handed on or answered */
  GError *error;
} SkStoreJobBox;

/* pool thread */
static void
sk_store_job_run (gpointer data)
{
  SkStoreJobBox *box = data;
  SkStoreJob *job = g_steal_pointer (&box->job);
  GCancellable *cancellable = g_task_get_cancellable (job->task);
  GError *error = NULL;

  if (g_cancellable_set_error_if_cancelled (cancellable, &error)
      || !job->func (job, cancellable, &error))
    sk_store_job_fail (job, error);
}

static void
sk_store_job_box_free (gpointer data)
{
  SkStoreJobBox *box = data;

  if (box->job != NULL)
    sk_store_job_fail (box->job, g_error_new_literal (SK_ERROR, SK_ERROR_CANCELLED,
                                                      "The storage is being closed"));
  g_clear_error (&box->error);
  g_free (box);
}

void
sk_store_job_push (SkStoreJob *job, SkPool *pool)
{
  SkStoreJobBox *box = g_new0 (SkStoreJobBox, 1);

  box->job = job;
  /* Without a done: the task itself brings the answer to its context. */
  sk_pool_push (pool, sk_store_job_run, NULL, box, sk_store_job_box_free, NULL,
                g_task_get_context (job->task));
}

/* pool thread */
static void
sk_store_job_run_home (gpointer data)
{
  SkStoreJobBox *box = data;
  GCancellable *cancellable = g_task_get_cancellable (box->job->task);

  if (!g_cancellable_set_error_if_cancelled (cancellable, &box->error))
    box->job->func (box->job, cancellable, &box->error);
}

/* the task's context */
static void
sk_store_job_done_home (gpointer data)
{
  SkStoreJobBox *box = data;
  SkStoreJob *job = g_steal_pointer (&box->job);

  if (box->error != NULL)
    sk_store_job_fail (job, g_steal_pointer (&box->error));
  else
    sk_store_job_return (job, g_steal_pointer (&job->result), job->free_result);
}

void
sk_store_job_push_home (SkStoreJob *job, SkPool *pool)
{
  SkStoreJobBox *box = g_new0 (SkStoreJobBox, 1);

  box->job = job;
  sk_pool_push (pool, sk_store_job_run_home, sk_store_job_done_home, box, sk_store_job_box_free,
                NULL, g_task_get_context (job->task));
}
