/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An operation of a storage that is done by blocking calls: what was asked, carried to a thread of a pool and back. */
#pragma once
#include "sk-store-private.h"

typedef struct _SkStoreJob SkStoreJob;
/* Pool thread. For sk_store_job_push(): does the work and gives the answer by sk_store_job_return() or by FALSE and @error. TRUE without an answer
 * means that the function took the job (sk_store_job_return() or sk_store_job_fail() follow later, on any thread). For
 * sk_store_job_push_home(): does the work and leaves what there is to return in @result and @free_result. */
typedef gboolean (*SkStoreJobFunc) (SkStoreJob *job, GCancellable *cancellable, GError **error);

struct _SkStoreJob
{
  SkStoreJobFunc func;
  GTask *task;          /* NULL once returned */
  char *name;           /* object or prefix */
  char **names;         /* of a remove */
  GBytes *data;         /* of a put */
  SkPutFlags flags;
  guint64 offset;
  guint64 len;          /* G_MAXUINT64: to the end */
  guint64 max_size;
  gpointer result;      /* the answer of a job that was pushed home */
  GDestroyNotify free_result;
};

/* The job for @task, with everything else still empty. */
SkStoreJob *sk_store_job_new (GTask *task, SkStoreJobFunc func);
/* (transfer full) @job. */
void sk_store_job_push (SkStoreJob *job, SkPool *pool);
/* The same, but the answer is returned, and the store's reference dropped, on the task's context only: for a store that
 * owns @pool and could not free it from one of its threads. */
void sk_store_job_push_home (SkStoreJob *job, SkPool *pool);
SkStore *sk_store_job_store (SkStoreJob *job);
/* Both free the job. @result: GBytes or GPtrArray (transfer full) with its free function; NULL for operations without one. */
void sk_store_job_return (SkStoreJob *job, gpointer result, GDestroyNotify free_result);
void sk_store_job_fail (SkStoreJob *job, GError *error);
