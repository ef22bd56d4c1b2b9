/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-up-scan.h"

#include "sk-merge.h"
#include "sk-rules.h"
#include "sk-test-hooks.h"
#include "sk-touched.h"

#include <string.h>

/* --- candidates --- */

void
sk_up_scan_add (SkUp *self, SkUpFolder *folder, GPtrArray *founds)
{
  for (guint i = 0; i < founds->len; i++)
    {
      SkFound *found = founds->pdata[i];
      SkUpItem *item = sk_up_item_new (self, folder, found);

      founds->pdata[i] = NULL;
      if (found->what == SK_FOUND_GONE)
        {
          item->read_done = TRUE;
          sk_up_ready (self, item);
        }
      else
        g_queue_push_tail (&self->candidates, item);
    }
  g_ptr_array_set_size (founds, 0);
}

/* --- scan jobs --- */

typedef struct
{
  SkUp *up;
  SkUpFolder *folder;
  SkRoot *root;
  SkIgnore *ignore;
  char **only;
  SkId id;                       /* of the folder */
  char *name;                    /* of the folder */
  GError *no_rules;              /* why nothing was looked at */
  GPtrArray *dirs;               /* char* */
  GPtrArray *listings;           /* SkScanDir */
  gboolean load_ignore;
  SkStat rules;                  /* of the file that holds them, when they were read */
  gboolean other_rules;          /* it changed until everything was listed */
  guint full_scans;              /* of the folder, when the job was made */
  /* filled by the index thread */
  GPtrArray *out, *gone, *below, *unavailable;
} ScanJob;

static ScanJob *
scan_job_new (SkUp *self, SkUpFolder *folder)
{
  ScanJob *job = g_new0 (ScanJob, 1);

  job->up = self;
  job->folder = folder;
  job->root = sk_root_ref (folder->flow->root);
  job->ignore = folder->ignore != NULL ? sk_ignore_ref (folder->ignore) : NULL;
  job->load_ignore = folder->ignore == NULL;
  job->rules = folder->rules;
  job->full_scans = folder->full_scans;
  job->only = g_strdupv (folder->flow->only);
  job->id = folder->flow->id;
  job->name = g_strdup (folder->flow->name);
  job->dirs = g_ptr_array_new_with_free_func (g_free);
  job->listings = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_scan_dir_free);
  job->out = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_found_free);
  job->gone = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_found_free);
  job->below = g_ptr_array_new_with_free_func (g_free);
  job->unavailable = g_ptr_array_new_with_free_func (g_free);
  return job;
}

static void
scan_job_free (gpointer data)
{
  ScanJob *job = data;

  sk_root_unref (job->root);
  g_clear_pointer (&job->ignore, sk_ignore_unref);
  g_strfreev (job->only);
  g_free (job->name);
  g_clear_error (&job->no_rules);
  g_ptr_array_unref (job->dirs);
  g_ptr_array_unref (job->listings);
  g_ptr_array_unref (job->out);
  g_ptr_array_unref (job->gone);
  g_ptr_array_unref (job->below);
  g_ptr_array_unref (job->unavailable);
  g_free (job);
}

/* What --only leaves out is treated like what the rules ignore: not looked at, not missing. Globs that cannot be understood (NULL) select nothing. */
static void
leave_out (SkScanDir *listing, const SkOnly *only)
{
  guint kept = 0;

  for (guint i = 0; i < listing->items->len; i++)
    {
      SkScanItem *item = listing->items->pdata[i];
      g_autofree char *path = sk_path_join (listing->path, item->name);

      if (only != NULL && sk_only_selects (only, path, item->stat.kind == SK_KIND_DIR))
        {
          /* Swapped, so that what is cut off at the end is what was left out; the order of the kept ones stays. */
          listing->items->pdata[i] = listing->items->pdata[kept];
          listing->items->pdata[kept++] = item;
        }
      else
        g_ptr_array_add (listing->ignored, g_strdup (item->name));
    }
  g_ptr_array_set_size (listing->items, (int) kept);
}

/* disk pool */
static void
run_scan (gpointer data)
{
  ScanJob *job = data;
  g_autoptr(SkOnly) only = job->only != NULL ? sk_only_new ((const char *const *) job->only, NULL) : NULL;
  SkStat rules;

  if (job->load_ignore)
    {
      sk_rules_stat (job->root, &job->rules);
      job->ignore = sk_rules_read (job->up->session, job->folder->row, job->name, job->root, &job->no_rules);
      if (job->ignore == NULL)
        return;
      sk_touched_restore (job->up->session, job->folder->row, &job->id, job->root, G_MININT64);
    }
  for (guint i = 0; i < job->dirs->len; i++)
    {
      SkScanDir *listing;

      sk_test_stage ("scan");
      listing = sk_scan_dir (job->root, job->dirs->pdata[i], job->ignore, job->up->session->stopping);
      if (job->only != NULL)
        leave_out (listing, only);
      g_ptr_array_add (job->listings, listing);
    }
  sk_rules_stat (job->root, &rules);
  job->other_rules = !sk_stat_same (&rules, &job->rules);
  sk_test_stage ("listed");
}

gboolean
sk_up_is_left_out (const SkUpFolder *folder, const char *path, gboolean is_dir)
{
  return (folder->ignore != NULL && sk_ignore_match (folder->ignore, path, is_dir))
         || (folder->flow != NULL && !sk_only_match ((const char *const *) folder->flow->only, path, is_dir));
}

/* A link whose disk became one without links. */
static gboolean
cannot_be_here (const SkUpFolder *folder, const SkFound *found)
{
  return found->base_kind == SK_KIND_SYMLINK && folder->flow != NULL && folder->flow->root != NULL
         && !sk_root_abilities (folder->flow->root)->symlinks;
}

void
sk_up_scan_gone (SkUpFolder *folder, GPtrArray *gone)
{
  for (guint i = 0; i < gone->len; i++)
    {
      SkFound *found = gone->pdata[i];

      if (sk_up_is_left_out (folder, found->path, found->base_kind == SK_KIND_DIR) || cannot_be_here (folder, found))
        continue;
      g_ptr_array_add (folder->gone, found);
      gone->pdata[i] = NULL;
    }
  g_ptr_array_set_size (gone, 0);
}

/* Index thread. */
static gboolean
compare_listings (SkSession *session, gpointer data, GError **error)
{
  ScanJob *job = data;

  for (guint i = 0; i < job->listings->len; i++)
    if (!sk_compare_listing (session, job->folder->row, job->listings->pdata[i], job->out, job->gone, job->below, job->unavailable, error))
      return FALSE;
  return TRUE;
}

static void
listing_trouble (SkUp *self, SkUpFolder *folder, SkScanDir *listing)
{
  g_autofree char *key = sk_up_issue_key ("item", folder, listing->path);
  g_autofree char *shown = sk_path_display (listing->path);

  if (listing->error == NULL)
    {
      sk_session_settle_issue (self->session, key);
      return;
    }
  if (g_error_matches (listing->error, SK_ERROR, SK_ERROR_NOT_FOUND) || g_cancellable_is_cancelled (self->session->stopping))
    return;                      /* vanished meanwhile: its parent tells */
  if (!g_error_matches (listing->error, SK_ERROR, SK_ERROR_PERMISSION))
    folder->incomplete = TRUE;   /* EIO, ESTALE, ...: absence proves nothing in this pass */
  if (g_error_matches (listing->error, SK_ERROR, SK_ERROR_CHANGED) && *listing->path != '\0')
    {
      /* Something else stands there since its parent was listed: what it is, a look at the path tells. */
      sk_settle_note (folder->settle, listing->path, FALSE, 0, sk_clock_now (self->session->clock));
      return;
    }
  g_hash_table_add (folder->troubles, g_strdup (key));
  sk_session_raise (self->session, key, "failed-item", folder->row, listing->path, "“%s” cannot be read: %s; what is in it stays as it is on the other devices",
                    *shown != '\0' ? shown : folder->flow->name, listing->error->message);
  g_ptr_array_add (self->failed, g_strdup_printf ("%s: %s", shown, listing->error->message));
}

static void
report_specials (SkUp *self, SkUpFolder *folder, ScanJob *job)
{
  for (guint i = 0; i < job->listings->len; i++)
    {
      SkScanDir *listing = job->listings->pdata[i];

      for (guint k = 0; k < listing->specials->len; k++)
        {
          const char *name = listing->specials->pdata[k];
          g_autofree char *path = sk_path_join (listing->path, name);
          g_autofree char *key = sk_up_issue_key ("special", folder, path);
          g_autofree char *shown = sk_path_display (path);

          g_hash_table_add (folder->troubles, g_strdup (key));
          sk_session_raise (self->session, key, "not-synced", folder->row, path,
                            sk_name_is_own (name, strlen (name))
                              ? "“%s” is not synced: other disks take its name for “.skerry”, which this program keeps for itself; give it another"
                              : "“%s” is a device, socket, pipe or another mounted disk: it is not synced", shown);
        }
    }
  for (guint i = 0; i < job->unavailable->len; i++)
    {
      const char *path = job->unavailable->pdata[i];
      g_autofree char *key = sk_up_issue_key ("mount", folder, path);
      g_autofree char *shown = sk_path_display (path);

      g_hash_table_add (folder->troubles, g_strdup (key));
      sk_session_raise (self->session, key, "unavailable", folder->row, path,
                        "“%s” became or ceased to be a mount point: nothing in it is synced or deleted until it is as before", shown);
    }
}

/* Nothing is known about what may be looked at: the pass ends here, and proves nothing. */
static void
without_rules (SkUp *self, SkUpFolder *folder, const GError *why)
{
  folder->ignore = sk_ignore_new ("*\n", 2);
  folder->incomplete = TRUE;
  folder->again_at = sk_clock_now (self->session->clock) + SK_UP_AGAIN_US;
  g_queue_clear_full (&folder->dirs, g_free);
  g_ptr_array_add (self->failed, g_strdup (why->message));
}

static void
rules_came (SkUp *self, ScanJob *job)
{
  SkUpFolder *folder = job->folder;

  if (!job->load_ignore || folder->ignore != NULL)
    return;
  folder->rules = job->rules;
  if (job->ignore != NULL)
    folder->ignore = sk_ignore_ref (job->ignore);
  else
    without_rules (self, folder, job->no_rules);
}

/* up thread */
static void
scan_done (gpointer data)
{
  ScanJob *job = data;
  SkCounters looked = { .listed = job->listings->len };
  SkUp *self = job->up;
  SkUpFolder *folder = job->folder;
  g_autoptr(GError) error = NULL;

  folder->scans_out--;
  /* A full scan is on its way, by the rules as they are then. */
  if (job->full_scans != folder->full_scans || job->other_rules)
    {
      if (job->full_scans == folder->full_scans)
        sk_up_scan_all (self, folder);
      sk_up_turn (self);
      return;
    }
  rules_came (self, job);
  for (guint i = 0; i < job->listings->len; i++)
    {
      SkScanDir *listing = job->listings->pdata[i];

      self->scanned += listing->items->len;
      looked.looked += listing->items->len + 1;
      listing_trouble (self, folder, listing);
    }
  sk_session_count (self->session, &looked);
  if (!sk_session_index (self->session, compare_listings, job, &error))
    {
      folder->incomplete = TRUE;
      g_ptr_array_add (self->failed, g_strdup (error->message));
    }
  else
    {
      report_specials (self, folder, job);
      for (guint i = 0; i < job->below->len; i++)
        g_queue_push_tail (&folder->dirs, g_steal_pointer (&job->below->pdata[i]));
      g_ptr_array_set_size (job->below, 0);
      sk_up_scan_gone (folder, job->gone);
      sk_up_scan_add (self, folder, job->out);
    }
  sk_up_turn (self);
}

void
sk_up_scan_all (SkUp *self, SkUpFolder *folder)
{
  g_queue_clear_full (&folder->dirs, g_free);
  g_clear_pointer (&folder->ignore, sk_ignore_unref);
  folder->full_scans++;
  sk_up_gone_begin (self, folder);
  folder->full_scan = TRUE;
  if (folder->flow == NULL || folder->flow->root == NULL)
    {
      folder->full_scan = FALSE;
      if (folder->flow != NULL)
        g_ptr_array_add (self->failed, g_strdup_printf ("%s: %s", folder->flow->name, folder->flow->why));
      return;
    }
  g_queue_push_tail (&folder->dirs, g_strdup (""));
}

void
sk_up_scan_give_up (SkUp *self, SkUpFolder *folder)
{
  sk_up_scan_all (self, folder);
  if (self->session->watch)
    return;
  g_queue_clear_full (&folder->dirs, g_free);
  folder->full_scan = FALSE;
}

static void
start_scans (SkUp *self, SkUpFolder *folder)
{
  while (!g_queue_is_empty (&folder->dirs) && folder->scans_out < SK_UP_SCANS_MAX
         && g_queue_get_length (&self->candidates) < SK_UP_CANDIDATES_HIGH)
    {
      ScanJob *job;

      if (folder->flow == NULL || folder->flow->root == NULL)
        {
          g_queue_clear_full (&folder->dirs, g_free);
          return;
        }
      if (folder->ignore == NULL && folder->scans_out > 0)
        return;                  /* the first job brings the rules */
      job = scan_job_new (self, folder);
      while (job->dirs->len < SK_UP_SCAN_DIRS && !g_queue_is_empty (&folder->dirs))
        g_ptr_array_add (job->dirs, g_queue_pop_head (&folder->dirs));
      folder->scans_out++;
      sk_pool_push (self->session->disk, run_scan, scan_done, job, scan_job_free, NULL, sk_worker_context (self->worker));
    }
}

/* While paused only what a request asks for; never before the own head was compared with what a storage has (A5). */
static gboolean
may_scan (SkUp *self)
{
  if (!g_atomic_int_get (&self->session->compared))
    return FALSE;
  return !g_atomic_int_get (&self->session->paused) || !g_queue_is_empty (&self->requests);
}

void
sk_up_scan_more (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;

  if (!may_scan (self))
    return;
  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      sk_up_check_due (self, value);
      start_scans (self, value);
    }
}

guint
sk_up_scans_out (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const SkUpFolder *folder = value;

      n += folder->scans_out + folder->checks_out + folder->looks_out;
    }
  return n;
}

gboolean
sk_up_scan_idle (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (!g_queue_is_empty (&((SkUpFolder *) value)->dirs) && ((SkUpFolder *) value)->flow != NULL)
      return !may_scan (self);
  return sk_up_scans_out (self) == 0;
}

guint
sk_up_scan_left (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;
  guint left = 1;

  if (sk_up_scan_idle (self))
    return 0;
  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    left += g_queue_get_length (&((SkUpFolder *) value)->dirs) + ((SkUpFolder *) value)->scans_out * SK_UP_SCAN_DIRS;
  return left;
}

gboolean
sk_up_scan_finish (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;
  gboolean more = FALSE;

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      SkUpFolder *folder = value;

      /* Directories may still be queued: paused, or before the own head was compared. */
      if (folder->flow != NULL && g_queue_is_empty (&folder->dirs))
        more |= sk_up_gone_finish (self, folder);
    }
  return more;
}

void
sk_up_scan_due (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      SkUpFolder *folder = value;

      if (folder->again_at != 0 && folder->again_at <= sk_clock_now (self->session->clock) && folder->flow != NULL && folder->flow->root != NULL)
        sk_up_scan_all (self, folder);
    }
}

static gboolean
on_settle_timer (gpointer data)
{
  SkUp *self = data;

  g_clear_pointer (&self->settle_timer, sk_timer_free);
  sk_up_scan_due (self);
  sk_up_turn (self);
  return G_SOURCE_REMOVE;
}

void
sk_up_arm_settle (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;
  gint64 next = G_MAXINT64, now = sk_clock_now (self->session->clock);

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      SkUpFolder *folder = value;

      if (folder->flow == NULL)
        continue;
      if (folder->checks_out == 0 && folder->ignore != NULL)
        next = MIN (next, sk_settle_next (folder->settle));
      /* With directories to scan the pass does not end yet. */
      if (folder->held_until != 0 && g_queue_is_empty (&folder->dirs))
        next = MIN (next, folder->held_until);
      /* One that is under way, or may not begin, ends without a timer. */
      if (folder->again_at != 0 && folder->flow->root != NULL && g_queue_is_empty (&folder->dirs))
        next = MIN (next, folder->again_at);
    }
  if (self->push_wanted && self->session->watch)
    next = MIN (next, self->push_at);
  g_clear_pointer (&self->settle_timer, sk_timer_free);
  if (next == G_MAXINT64 || self->closing || g_atomic_int_get (&self->waits_for_step))
    return;
  self->settle_timer = sk_clock_timer (self->session->clock, sk_worker_context (self->worker), MAX (next - now, 1000), on_settle_timer, self);
}
