/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a pass: what is missing, and what was replaced by zeros or noise. Absence is believed only when the root is still the one it was
 * (RULES A10, C12); a loss that is large waits for the person (C17). What he said is kept in the database until a pass carried it out, since
 * the program that asked may have ended long ago. Up thread. */
#include "sk-mass.h"
#include "sk-up-scan.h"

#define AGAIN_US ((gint64) 300 * G_USEC_PER_SEC)
/* So many more than he was asked about are still what the person said yes to. */
#define MORE_THAN_ASKED 10u

#define HOLDERS_MAX 64u         /* names of one content that are looked at */
#define RECENT_MAX 256u
/* What one pass published of losses. Kept in the database, so that a program that is started for every pass counts as one that goes on. */
typedef struct { gint64 wall; guint64 removed, replaced, bytes; } Recent;

gboolean
sk_up_may_publish (const SkUpFolder *folder)
{
  return folder->flow != NULL && (folder->flow->mode != SK_FOLDER_RECEIVE || folder->publish);
}

/* --- what the person said, and what he is asked --- */

typedef struct
{
  SkUpFolder *folder;
  guint64 asked, mass, local, ask;       /* in and out */
} Decision;

enum { DECIDED_NOT, DECIDED_YES, DECIDED_NO };

static char *
setting (const char *what, const SkUpFolder *folder)
{
  return g_strdup_printf ("%s:%" G_GINT64_FORMAT, what, folder->row);
}

/* Index thread. */
static gboolean
load_decision (SkSession *session, gpointer data, GError **error)
{
  Decision *d = data;
  g_autofree char *asked = setting ("mass-asked", d->folder), *mass = setting ("mass-decision", d->folder);
  g_autofree char *local = setting ("local-decision", d->folder), *ask = setting ("ask-removed", d->folder);

  d->asked = sk_index_get_u64 (session->index, asked, 0);
  d->mass = sk_index_get_u64 (session->index, mass, DECIDED_NOT);
  d->local = sk_index_get_u64 (session->index, local, DECIDED_NOT);
  d->ask = sk_index_get_u64 (session->index, ask, 0);
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
store_decision (SkSession *session, gpointer data, GError **error)
{
  Decision *d = data;
  g_autofree char *asked = setting ("mass-asked", d->folder), *mass = setting ("mass-decision", d->folder);
  g_autofree char *local = setting ("local-decision", d->folder), *ask = setting ("ask-removed", d->folder);

  return sk_index_set_u64 (session->index, asked, d->asked, error) && sk_index_set_u64 (session->index, mass, d->mass, error)
         && sk_index_set_u64 (session->index, local, d->local, error) && sk_index_set_u64 (session->index, ask, d->ask, error);
}

void
sk_up_gone_begin (SkUp *self, SkUpFolder *folder)
{
  Decision d = { .folder = folder };
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < folder->suspects->len; i++)
    g_hash_table_remove (self->items, folder->suspects->pdata[i]);
  g_ptr_array_set_size (folder->suspects, 0);
  g_ptr_array_set_size (folder->gone, 0);
  folder->pass++;
  g_hash_table_remove_all (folder->withheld);
  g_hash_table_remove_all (folder->troubles);
  folder->waiting = 0;
  sk_up_hold_end (folder);
  folder->incomplete = FALSE;
  folder->again_at = 0;
  if (!sk_session_index (self->session, load_decision, &d, &error))
    g_ptr_array_add (self->failed, g_strdup (error->message));
  folder->asked = d.asked;
  folder->ask = d.ask != 0;
  folder->confirmed = d.mass == DECIDED_YES;
  folder->refused = d.mass == DECIDED_NO;
  folder->publish = d.local == DECIDED_YES;
  folder->revert = d.local == DECIDED_NO;
}

static void
decide (SkUp *self, SkUpFolder *folder, gboolean is_local, gboolean yes)
{
  Decision d = { .folder = folder };
  g_autofree char *key = setting (is_local ? "local-changes" : "mass-change", folder);
  g_autoptr(GError) error = NULL;
  gboolean ok = sk_session_index (self->session, load_decision, &d, &error);

  *(is_local ? &d.local : &d.mass) = yes ? DECIDED_YES : DECIDED_NO;
  if (!ok || !sk_session_transact (self->session, store_decision, &d, &error))
    {
      g_ptr_array_add (self->failed, g_strdup (error->message));
      return;
    }
  sk_session_settle_issue (self->session, key);
  sk_up_scan_all (self, folder);
}

void
sk_up_gone_decide (SkUp *self, SkUpFolder *folder, gboolean yes)
{
  decide (self, folder, FALSE, yes);
}

void
sk_up_gone_decide_local (SkUp *self, SkUpFolder *folder, gboolean publish)
{
  decide (self, folder, TRUE, publish);
}

/* --- how much is lost --- */

typedef struct
{
  SkUpFolder *folder;
  guint64 removed, replaced, bytes, files;     /* removed: their content is nowhere else in the folder */
  gboolean first_contact;
  SkRootNumbers numbers;
} GoneCall;

static void
count_suspects (GoneCall *call)
{
  for (guint i = 0; i < call->folder->suspects->len; i++)
    {
      SkUpItem *item = call->folder->suspects->pdata[i];

      call->replaced++;
      call->bytes += item->found->base_size;
    }
}

/* Index thread. */
static gboolean
count_gone (SkSession *session, gpointer data, GError **error)
{
  GoneCall *call = data;
  GPtrArray *gone = call->folder->gone;
  g_autoptr(GHashTable) missing = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_autoptr(SkFolderRow) row = sk_index_folder (session->index, call->folder->row);
  SkFolderCounts counts;

  if (row == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "the folder is not in the database");
  call->first_contact = row->first_contact;
  /* A path that was met twice counts once. */
  for (guint i = gone->len; i > 0; i--)
    {
      gint64 *node = &((SkFound *) gone->pdata[i - 1])->node;

      /* The set keeps the row of the one that stays. */
      if (g_hash_table_contains (missing, node))
        g_ptr_array_remove_index (gone, i - 1);
      else
        g_hash_table_add (missing, node);
    }
  for (guint i = 0; i < gone->len; i++)
    {
      SkFound *found = gone->pdata[i];

      if (found->base_kind != SK_KIND_FILE)
        continue;
      /* Under another name of this folder, that is not missing itself. */
      if (!sk_index_content_is_elsewhere (session->index, found->folder, found->base_content, missing, HOLDERS_MAX, &found->moved_away, error))
        return FALSE;
      if (found->moved_away)
        continue;
      call->removed++;
      call->bytes += found->base_size;
    }
  count_suspects (call);
  if (!sk_index_folder_counts (session->index, call->folder->row, &counts, error))
    return FALSE;
  call->files = (guint64) counts.files;
  return TRUE;
}

/* Index thread. */
static gboolean
load_recent (SkSession *session, gpointer data, GError **error)
{
  SkUpFolder *folder = data;
  g_autofree char *key = setting ("recent-losses", folder);
  g_autoptr(GBytes) bytes = sk_index_get (session->index, key);

  folder->recent = g_array_new (FALSE, FALSE, sizeof (Recent));
  if (bytes != NULL && g_bytes_get_size (bytes) % sizeof (Recent) == 0 && g_bytes_get_size (bytes) <= RECENT_MAX * sizeof (Recent))
    g_array_append_vals (folder->recent, g_bytes_get_data (bytes, NULL), (guint) (g_bytes_get_size (bytes) / sizeof (Recent)));
  return TRUE;
}

/* Index thread, in a transaction. */
static gboolean
store_recent (SkSession *session, gpointer data, GError **error)
{
  SkUpFolder *folder = data;
  g_autofree char *key = setting ("recent-losses", folder);

  return sk_index_set (session->index, key, folder->recent->len > 0 ? folder->recent->data : "", folder->recent->len * sizeof (Recent), error);
}

/* The sum of the last ten minutes; older ones, and those of a clock that was set back, are forgotten. */
static Recent
sum_recent (SkUp *self, SkUpFolder *folder)
{
  gint64 now = sk_session_wall (self->session);
  Recent sum = { 0 };

  if (folder->recent == NULL)
    (void) sk_session_index (self->session, load_recent, folder, NULL);
  for (guint i = folder->recent->len; i > 0; i--)
    {
      const Recent *recent = &g_array_index (folder->recent, Recent, i - 1);

      if (recent->wall < now - SK_MASS_WINDOW_S || recent->wall > now + SK_MASS_WINDOW_S)
        {
          g_array_remove_index (folder->recent, i - 1);
          continue;
        }
      sum.removed += recent->removed;
      sum.replaced += recent->replaced;
      sum.bytes += recent->bytes;
    }
  return sum;
}

static gboolean
must_ask (SkUp *self, SkUpFolder *folder, const GoneCall *call)
{
  guint64 lost = call->removed + call->replaced;
  Recent before;

  if (lost == 0 || call->first_contact || !sk_up_may_publish (folder) || folder->publish)
    return FALSE;
  if (folder->confirmed && lost <= folder->asked + MORE_THAN_ASKED)
    return FALSE;
  if (folder->ask)
    return TRUE;
  before = sum_recent (self, folder);
  /* What was removed before is not among the files any more; what is being removed still is. */
  return sk_mass_is (before.removed + before.replaced + lost, before.bytes + call->bytes, call->files + before.removed);
}

static void
remember_loss (SkUp *self, SkUpFolder *folder, const GoneCall *call)
{
  Recent recent = { .wall = sk_session_wall (self->session), .removed = call->removed, .replaced = call->replaced, .bytes = call->bytes };
  g_autoptr(GError) error = NULL;

  if (call->first_contact || call->removed + call->replaced == 0)
    return;
  (void) sum_recent (self, folder);
  /* He said yes once; what comes after that is counted anew. */
  if (folder->confirmed)
    g_array_set_size (folder->recent, 0);
  else
    g_array_append_val (folder->recent, recent);
  if (folder->recent->len > RECENT_MAX)
    {
      /* The two oldest become one, which is as recent as the newer of them. */
      Recent *first = &g_array_index (folder->recent, Recent, 0), *second = first + 1;

      second->removed += first->removed;
      second->replaced += first->replaced;
      second->bytes += first->bytes;
      g_array_remove_index (folder->recent, 0);
    }
  if (!sk_session_transact (self->session, store_recent, folder, &error))
    g_ptr_array_add (self->failed, g_strdup (error->message));
}

/* --- asking --- */

static void
add_sample (GString *samples, const char *path, guint *n)
{
  g_autofree char *shown = sk_path_display (path);

  if ((*n)++ < 3)
    g_string_append_printf (samples, "%s“%s”", samples->len > 0 ? ", " : "", shown);
}

static char *
samples_of (SkUpFolder *folder)
{
  GString *samples = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < folder->gone->len && n < 3; i++)
    if (((SkFound *) folder->gone->pdata[i])->base_kind == SK_KIND_FILE)
      add_sample (samples, ((SkFound *) folder->gone->pdata[i])->path, &n);
  for (guint i = 0; i < folder->suspects->len && n < 3; i++)
    add_sample (samples, ((SkUpItem *) folder->suspects->pdata[i])->found->path, &n);
  return g_string_free (samples, FALSE);
}

static void
ask (SkUp *self, SkUpFolder *folder, const GoneCall *call)
{
  g_autofree char *key = setting ("mass-change", folder), *samples = samples_of (folder);
  g_autoptr(GString) what = g_string_new (NULL);
  Decision d = { .folder = folder, .asked = call->removed + call->replaced, .ask = folder->ask };
  g_autoptr(GError) error = NULL;

  if (call->removed > 0)
    g_string_append_printf (what, "%" G_GUINT64_FORMAT " files were removed", call->removed);
  if (call->replaced > 0)
    g_string_append_printf (what, "%s%" G_GUINT64_FORMAT " files were overwritten with zeros or unreadable data", what->len > 0 ? " and " : "",
                            call->replaced);
  folder->waiting = folder->gone->len + folder->suspects->len;
  folder->confirmed = FALSE;
  if (!sk_session_transact (self->session, store_decision, &d, &error))
    g_ptr_array_add (self->failed, g_strdup (error->message));
  sk_session_raise (self->session, key, "mass-change", folder->row, NULL,
                    "In “%s” %s here (%s, …). Nothing of that was done on the other devices yet, and the old content is there; 'accept' does it there "
                    "too (the old content stays in the trash of each device), 'refuse' brings it back here", folder->flow->name, what->str, samples);
  g_ptr_array_add (self->failed, g_strdup_printf ("%s: %s; they wait for a decision", folder->flow->name, what->str));
}

static void
tell_local_changes (SkUp *self, SkUpFolder *folder)
{
  g_autofree char *key = setting ("local-changes", folder);
  g_autoptr(GString) samples = g_string_new (NULL);
  GHashTableIter iter;
  gpointer path;
  guint n = 0;

  folder->withheld_changed = FALSE;
  g_hash_table_iter_init (&iter, folder->withheld);
  while (g_hash_table_iter_next (&iter, &path, NULL) && n < 3)
    add_sample (samples, path, &n);
  if (g_hash_table_size (folder->withheld) == 0)
    sk_session_settle_issue (self->session, key);
  else
    sk_session_raise (self->session, key, "local-changes", folder->row, NULL,
                      "“%s” only receives on this device, and %u things in it differ here (%s, …). 'accept' publishes them, 'refuse' takes them back (what "
                      "is replaced goes to the trash)", folder->flow->name, g_hash_table_size (folder->withheld), samples->str);
}

/* --- the end of a pass --- */

typedef struct
{
  SkUpFolder *folder;
  gboolean nothing_missing;
} EndCall;

/* Index thread, in a transaction. */
static gboolean
store_end (SkSession *session, gpointer data, GError **error)
{
  EndCall *call = data;
  SkUpFolder *folder = call->folder;
  g_autoptr(SkFolderRow) row = sk_index_folder (session->index, folder->row);
  Decision before = { .folder = folder }, after = { .folder = folder };

  if (row == NULL)
    return TRUE;
  if (row->first_contact && !sk_index_folder_set_first_contact (session->index, folder->row, FALSE, error))
    return FALSE;
  (void) load_decision (session, &before, error);
  after.ask = before.ask != 0 && !call->nothing_missing;
  after.asked = call->nothing_missing ? 0 : before.asked;
  /* Not all could be taken back: the rest is by the next pass, and asks nobody. */
  after.mass = folder->refused && !call->nothing_missing ? DECIDED_NO : DECIDED_NOT;
  if (before.ask == after.ask && before.asked == after.asked && before.mass == after.mass && before.local == DECIDED_NOT)
    return TRUE;
  return store_decision (session, &after, error);
}

static void
revert_local_changes (SkUp *self, SkUpFolder *folder)
{
  g_autoptr(GPtrArray) founds = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer found;

  g_hash_table_iter_init (&iter, folder->withheld);
  while (g_hash_table_iter_next (&iter, NULL, &found))
    g_ptr_array_add (founds, found);
  sk_up_revert (self, folder, founds);
  g_hash_table_remove_all (folder->withheld);
}

/* What a complete pass did not meet again is over: a pipe that was removed, a disk that is as before. */
static void
settle_troubles (SkUp *self, SkUpFolder *folder)
{
  static const char *const kinds[] = { "item", "special", "mount" };
  g_autoptr(GPtrArray) over = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer key;

  g_mutex_lock (&self->session->lock);
  g_hash_table_iter_init (&iter, self->session->open_issues);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
      {
        g_autofree char *prefix = sk_up_issue_key (kinds[i], folder, "");

        if (g_str_has_prefix (key, prefix) && !g_hash_table_contains (folder->troubles, key))
          g_ptr_array_add (over, g_strdup (key));
      }
  g_mutex_unlock (&self->session->lock);
  for (guint i = 0; i < over->len; i++)
    sk_session_settle_issue (self->session, over->pdata[i]);
}

static void
end_pass (SkUp *self, SkUpFolder *folder, gboolean nothing_missing)
{
  EndCall call = { .folder = folder, .nothing_missing = nothing_missing };
  g_autoptr(GError) error = NULL;

  if (folder->full_scan && !folder->incomplete)
    {
      g_autofree char *key = setting ("mass-change", folder);

      if (folder->revert)
        revert_local_changes (self, folder);
      if (nothing_missing)
        sk_session_settle_issue (self->session, key);
      if (!sk_session_transact (self->session, store_end, &call, &error))
        g_ptr_array_add (self->failed, g_strdup (error->message));
      settle_troubles (self, folder);
      sk_live_scanned (self->session->live, folder->row, sk_session_wall (self->session));
      folder->withheld_changed |= folder->flow->mode == SK_FOLDER_RECEIVE;
    }
  if (folder->withheld_changed)
    tell_local_changes (self, folder);
  folder->full_scan = FALSE;
  folder->incomplete = FALSE;
  if (nothing_missing)
    folder->confirmed = folder->refused = FALSE;
  folder->publish = folder->revert = FALSE;
}

/* Index thread: the root's numbers for the check that follows. */
static gboolean
load_numbers (SkSession *session, gpointer data, GError **error)
{
  GoneCall *call = data;
  g_autoptr(SkFolderRow) row = sk_index_folder (session->index, call->folder->row);

  if (row == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "the folder is not in the database");
  call->numbers = (SkRootNumbers) { .dev = row->root_dev, .ino = row->root_ino, .fsid = row->root_fsid };
  return TRUE;
}

/* The root is looked at once more: only then does absence mean something. */
static gboolean
root_still_there (SkUp *self, SkUpFolder *folder)
{
  GoneCall call = { .folder = folder };

  return folder->flow->root != NULL && sk_session_index (self->session, load_numbers, &call, NULL)
         && sk_root_check (folder->flow->root, &folder->flow->id, &call.numbers) == SK_ROOT_OK;
}

/* FALSE: not all of it is taken back yet. What the person said holds until it is. */
static gboolean
refuse (SkUp *self, SkUpFolder *folder)
{
  g_autoptr(GPtrArray) founds = g_ptr_array_new ();
  gboolean all;

  for (guint i = 0; i < folder->gone->len; i++)
    g_ptr_array_add (founds, folder->gone->pdata[i]);
  for (guint i = 0; i < folder->suspects->len; i++)
    g_ptr_array_add (founds, ((SkUpItem *) folder->suspects->pdata[i])->found);
  all = sk_up_revert (self, folder, founds);
  g_ptr_array_set_size (folder->gone, 0);
  for (guint i = 0; i < folder->suspects->len; i++)
    g_hash_table_remove (self->items, folder->suspects->pdata[i]);
  g_ptr_array_set_size (folder->suspects, 0);
  if (!all)
    {
      folder->waiting = 0;
      folder->again_at = sk_clock_now (self->session->clock) + SK_UP_AGAIN_US;
    }
  return all;
}

static void
release (SkUp *self, SkUpFolder *folder)
{
  g_autofree char *key = setting ("mass-change", folder);

  sk_session_settle_issue (self->session, key);
  folder->waiting = 0;
  for (guint i = 0; i < folder->suspects->len; i++)
    {
      SkUpItem *item = folder->suspects->pdata[i];

      item->cleared = TRUE;
      sk_up_ready (self, item);
    }
  g_ptr_array_set_size (folder->suspects, 0);
  sk_up_scan_add (self, folder, folder->gone);
}

static void
distrust (SkUp *self, SkUpFolder *folder)
{
  g_ptr_array_set_size (folder->gone, 0);
  folder->incomplete = TRUE;
  folder->again_at = sk_clock_now (self->session->clock) + AGAIN_US;
  g_ptr_array_add (self->failed, g_strdup_printf ("%s: the folder changed or could not be read completely; nothing was taken as removed",
                                                  folder->flow->name));
}

/* How much is missing could not be found out: another pass does. */
static void
not_known (SkUp *self, SkUpFolder *folder, const GError *error)
{
  g_ptr_array_add (self->failed, g_strdup (error->message));
  g_ptr_array_set_size (folder->gone, 0);
  sk_up_hold_end (folder);
  folder->incomplete = TRUE;
  folder->again_at = sk_clock_now (self->session->clock) + AGAIN_US;
}

/* What is missing now is all of it: it is taken back, asked about, or released. TRUE when there are new candidates. */
static gboolean
judge (SkUp *self, SkUpFolder *folder)
{
  GoneCall call = { .folder = folder };
  g_autoptr(GError) error = NULL;

  sk_up_hold_end (folder);
  if (!sk_session_index (self->session, count_gone, &call, &error))
    {
      not_known (self, folder, error);
      return FALSE;
    }
  if (folder->refused)
    {
      end_pass (self, folder, refuse (self, folder));
      sk_down_wake (self->session->down);
      return FALSE;
    }
  if (must_ask (self, folder, &call))
    {
      ask (self, folder, &call);
      end_pass (self, folder, FALSE);
      return FALSE;
    }
  remember_loss (self, folder, &call);
  release (self, folder);
  return TRUE;
}

gboolean
sk_up_gone_finish (SkUp *self, SkUpFolder *folder)
{
  g_autoptr(GError) error = NULL;
  guint n = folder->gone->len + folder->suspects->len;

  if ((n > 0 && n == folder->waiting) || folder->flow->root == NULL)
    {
      sk_up_hold_end (folder);
      return FALSE;
    }
  if (folder->gone->len > 0 && (folder->incomplete || folder->flow->copied || !root_still_there (self, folder)))
    distrust (self, folder);
  if (sk_up_absent_look (self, folder))
    return FALSE;
  if (folder->gone->len + folder->suspects->len == 0)
    {
      sk_up_hold_end (folder);
      if (folder->full_scan || folder->withheld_changed)
        end_pass (self, folder, n == 0 || (folder->refused && !folder->incomplete));
      return FALSE;
    }
  switch (sk_up_hold (self, folder, &error))
    {
    case SK_UP_HOLD_ON:
      return FALSE;
    case SK_UP_HOLD_MOVED:
      return TRUE;
    case SK_UP_HOLD_FAILED:
      not_known (self, folder, error);
      return FALSE;
    case SK_UP_HOLD_OVER:
    default:
      return judge (self, folder);
    }
}
