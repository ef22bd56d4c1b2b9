/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-progress.h"

#include "sk-live.h"

#define STEP_US (100 * 1000)

/* What one look at the flows found, all since the command began but what is left. */
typedef struct
{
  guint64 looked, known;         /* paths looked at; paths the vault has in these folders */
  guint64 listed, dirs_left;     /* directories listed; that wait for it, as far as they are known */
  guint64 files, bytes;          /* done on the way that is waited for */
  guint64 moved, left;           /* bytes of content: on their way or done; still to do */
} Sample;

struct _SkProgress
{
  SkCommand *command;
  const gint64 *folders;
  guint n;
  GThread *thread;
  GMutex lock;                   /* down, ended */
  GCond changed;
  gboolean down, ended;
  SkCounters before;
  guint64 moved_before;          /* on the way down */
  guint64 total;                 /* bytes: the most there was to do at once; thread's own, as the two below */
  const char *text;
  double share;                  /* of the total, told last with @text: it never goes back */
};

static gboolean
is_wanted (SkProgress *self, gint64 row)
{
  for (guint i = 0; i < self->n; i++)
    if (self->folders[i] == row)
      return TRUE;
  return self->n == 0;
}

typedef struct
{
  SkProgress *progress;
  Sample *sample;
  gboolean down;
} CountCall;

/* Index thread. */
static gboolean
count_known (SkSession *session, gpointer data, GError **error)
{
  CountCall *call = data;
  g_autoptr(SkConfig) config = sk_session_config (session);

  for (guint i = 0; i < config->folders->len; i++)
    {
      const SkFlowFolder *folder = config->folders->pdata[i];
      SkFolderCounts counts;

      if (!is_wanted (call->progress, folder->row))
        continue;
      if (!sk_index_folder_counts (session->index, folder->row, &counts, error))
        return FALSE;
      call->sample->known += (guint64) (counts.files + counts.dirs + counts.links);
      if (call->down)
        call->sample->left += counts.dirty_bytes;
    }
  return TRUE;
}

static gboolean
look (SkProgress *self, gboolean down, Sample *out)
{
  SkSession *session = self->command->session;
  CountCall call = { .progress = self, .sample = out, .down = down };
  SkCounters now;
  SkLiveFolder live;

  *out = (Sample) { 0 };
  g_mutex_lock (&session->lock);
  now = session->counters;
  g_mutex_unlock (&session->lock);
  sk_live_folder (session->live, 0, sk_clock_now (session->clock), &live);
  out->looked = now.looked - self->before.looked;
  out->listed = now.listed - self->before.listed;
  out->dirs_left = sk_up_dirs_left (session->up);
  out->files = down ? now.files_down - self->before.files_down : now.files_up - self->before.files_up;
  out->bytes = out->moved = down ? now.bytes_down - self->before.bytes_down : now.bytes_up - self->before.bytes_up;
  if (down)
    out->moved = MAX (out->moved, live.moved_down - self->moved_before);
  else
    out->left = live.queued_bytes;
  return sk_session_index (session, count_known, &call, NULL);
}

static void
tell_share (SkProgress *self, const char *text, guint64 done, guint64 total, const Sample *now)
{
  if (g_strcmp0 (self->text, text) != 0)
    self->share = 0;
  self->text = text;
  if (total > 0)
    self->share = MAX (self->share, (double) done / (double) total);
  sk_command_progress (self->command, text, (guint64) (self->share * (double) total), total, now->files, now->bytes);
}

/* Of what a first scan will find nobody knows how much it is: it is as far as it came with the directories it knows of.
 * Of a file that is under way, what left the queue counts as done, though the whole is not yet: the total is what there was at most. */
static void
tell (SkProgress *self, gboolean down, const Sample *now)
{
  self->total = MAX (self->total, now->bytes + now->left);
  if (down)
    tell_share (self, "Receiving", MIN (now->moved, self->total), self->total, now);
  else if (now->dirs_left == 0)
    tell_share (self, "Sending", self->total - now->left, self->total, now);
  else if (now->looked <= now->known)
    tell_share (self, "Looking for changes", now->looked, now->known, now);
  else
    tell_share (self, "Looking for changes", now->listed, now->listed + now->dirs_left, now);
}

static gpointer
run (gpointer data)
{
  SkProgress *self = data;
  gboolean was_down = FALSE;

  g_mutex_lock (&self->lock);
  while (!self->ended)
    {
      gboolean down = self->down;
      Sample now;

      g_mutex_unlock (&self->lock);
      if (down != was_down)
        self->total = 0;
      was_down = down;
      if (look (self, down, &now))
        tell (self, down, &now);
      g_mutex_lock (&self->lock);
      if (!self->ended)
        g_cond_wait_until (&self->changed, &self->lock, g_get_monotonic_time () + STEP_US);
    }
  g_mutex_unlock (&self->lock);
  return NULL;
}

SkProgress *
sk_progress_new (SkCommand *command, const gint64 *folders, guint n)
{
  SkProgress *self;
  SkLiveFolder live;

  if (command->progress == NULL)
    return NULL;
  self = g_new0 (SkProgress, 1);
  self->command = command;
  self->folders = folders;
  self->n = n;
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  g_mutex_lock (&command->session->lock);
  self->before = command->session->counters;
  g_mutex_unlock (&command->session->lock);
  sk_live_folder (command->session->live, 0, sk_clock_now (command->session->clock), &live);
  self->moved_before = live.moved_down;
  self->thread = g_thread_new ("progress", run, self);
  return self;
}

void
sk_progress_turn (SkProgress *self, gboolean down)
{
  if (self == NULL)
    return;
  g_mutex_lock (&self->lock);
  self->down = down;
  g_mutex_unlock (&self->lock);
}

void
sk_progress_free (SkProgress *self)
{
  if (self == NULL)
    return;
  g_mutex_lock (&self->lock);
  self->ended = TRUE;
  g_cond_signal (&self->changed);
  g_mutex_unlock (&self->lock);
  g_thread_join (self->thread);
  g_cond_clear (&self->changed);
  g_mutex_clear (&self->lock);
  g_free (self);
}
