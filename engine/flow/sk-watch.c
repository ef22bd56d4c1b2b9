/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-watch.h"

#include "sk-care.h"
#include "sk-rules.h"
#include "sk-target.h"
#include "sk-touched.h"
#include "sk-watcher.h"

#define POLL_BUSY_US (5 * G_USEC_PER_SEC)                         /* RULES C9 */
#define POLL_IDLE_US (60 * G_USEC_PER_SEC)
#define REVIVE_US (10 * G_USEC_PER_SEC)                           /* folders and storages that were away */
#define RESCAN_US (G_GINT64_CONSTANT (24) * 3600 * G_USEC_PER_SEC)
#define CARE_FIRST_US (G_GINT64_CONSTANT (600) * G_USEC_PER_SEC)   /* not while everything starts */
#define CARE_US (G_GINT64_CONSTANT (24) * 3600 * G_USEC_PER_SEC)
/* After something came into the trash it is looked at so often, then less and less; what is older than a day by the daily pass. */
#define LOOK_FIRST_US (10 * G_USEC_PER_SEC)
#define LOOK_LAST_US (G_GINT64_CONSTANT (3600) * G_USEC_PER_SEC)
#define LOOK_BACK_US (G_GINT64_CONSTANT (25) * 3600 * G_USEC_PER_SEC)
#define RESCAN_UNWATCHED_US (G_GINT64_CONSTANT (300) * G_USEC_PER_SEC)

typedef struct
{
  SkWatch *watch;
  gint64 row;
  char *name;
  SkRoot *root;
  SkWatcher *watcher;            /* NULL: none could be made */
  gboolean limited;
  SkRootPlace seen, now;         /* before the configuration was made anew last; when it was looked for last */
  gint64 rescan_at;
  guint arrivals;                /* in the trash, when that was looked at last */
  gint64 look_us, look_at;       /* from one look at the trash to the next; 0: none is due */
} Watched;

struct _SkWatch
{
  SkSession *session;
  SkWorker *worker, *care;
  GPtrArray *folders;            /* Watched */
  SkTimer *poll_timer, *revive_timer, *rescan_timer, *care_timer;
  gint64 poll_us;
  int looks_out;                 /* atomic: looks at a trash that have not ended */
};

static void
watched_free (gpointer data)
{
  Watched *self = data;

  g_clear_pointer (&self->watcher, sk_watcher_free);
  sk_root_unref (self->root);
  g_free (self->name);
  g_free (self);
}

static void
limit_reached (Watched *self)
{
  g_autofree char *key = g_strdup_printf ("watch-limit:%" G_GINT64_FORMAT, self->row);
  guint limit, needed;

  self->limited = TRUE;
  sk_watcher_limit (self->watcher, &limit, &needed);
  sk_session_raise (self->watch->session, key, "watch-limit", self->row, NULL,
                    "“%s” has at least %u directories and the system allows %u watches in all: changes are found by a scan every five minutes instead. "
                    "A higher number in the sysctl fs.inotify.max_user_watches makes them immediate", self->name, needed, limit);
}

static void on_event (SkWatchEvent event, const char *path, const char *other, gpointer data);

static void
start_watcher (Watched *self)
{
  SkSession *session = self->watch->session;
  /* Without the rules everything is watched: what is noted is looked at by the rules that are there then. */
  g_autoptr(SkIgnore) ignore = sk_rules_read (session, self->row, self->name, self->root, NULL);
  g_autoptr(GError) error = NULL;

  g_clear_pointer (&self->watcher, sk_watcher_free);
  self->watcher = sk_watcher_new (self->root, ignore, on_event, self, &error);
  self->limited = self->watcher == NULL;
  if (self->limited)
    g_message ("“%s” is scanned every five minutes: %s", self->name, error->message);
}

static gboolean
is_rules (const char *path)
{
  return g_strcmp0 (path, ".skerryignore") == 0;
}

static void
on_event (SkWatchEvent event, const char *path, const char *other, gpointer data)
{
  Watched *self = data;
  SkUp *up = self->watch->session->up;

  switch (event)
    {
    case SK_WATCH_DIRTY:
      sk_up_note (up, self->row, path, FALSE, FALSE);
      break;
    case SK_WATCH_WRITING:
      sk_up_note (up, self->row, path, FALSE, TRUE);
      break;
    case SK_WATCH_TREE:
      sk_up_note (up, self->row, path, TRUE, FALSE);
      break;
    case SK_WATCH_MOVED:
      sk_up_note (up, self->row, path, FALSE, FALSE);
      sk_up_note (up, self->row, other, FALSE, FALSE);
      break;
    case SK_WATCH_OVERFLOW:
      sk_up_note (up, self->row, "", TRUE, FALSE);
      break;
    case SK_WATCH_LIMIT:
      limit_reached (self);
      break;
    case SK_WATCH_ROOT_GONE:
    default:
      (void) sk_session_reload (self->watch->session, NULL);
      sk_up_reload (up);
      break;
    }
  /* Other directories are to be watched. */
  if ((event == SK_WATCH_DIRTY || event == SK_WATCH_MOVED) && (is_rules (path) || is_rules (other)))
    start_watcher (self);
}

static Watched *
find_watched (SkWatch *self, const SkFlowFolder *folder)
{
  for (guint i = 0; i < self->folders->len; i++)
    {
      Watched *watched = self->folders->pdata[i];

      if (watched->row == folder->row && watched->root == folder->root)
        return watched;
    }
  return NULL;
}

static void
add_watched (SkWatch *self, const SkFlowFolder *folder)
{
  Watched *watched = g_new0 (Watched, 1);

  watched->watch = self;
  watched->row = folder->row;
  watched->name = g_strdup (folder->name);
  watched->root = sk_root_ref (folder->root);
  watched->rescan_at = sk_clock_now (self->session->clock) + RESCAN_US;
  sk_root_look (watched->root, &watched->seen);
  start_watcher (watched);
  g_ptr_array_add (self->folders, watched);
  /* What happened before the watch existed is found by a pass. */
  sk_up_note (self->session->up, folder->row, "", TRUE, FALSE);
}

static void
on_reload (gpointer data)
{
  SkWatch *self = data;
  g_autoptr(SkConfig) config = sk_session_config (self->session);

  for (guint i = self->folders->len; i > 0; i--)
    {
      Watched *watched = self->folders->pdata[i - 1];
      SkFlowFolder *folder = sk_config_folder (config, watched->row);

      if (folder == NULL || folder->root != watched->root)
        g_ptr_array_remove_index_fast (self->folders, i - 1);
    }
  for (guint i = 0; i < config->folders->len; i++)
    {
      SkFlowFolder *folder = config->folders->pdata[i];

      if (folder->root != NULL && find_watched (self, folder) == NULL)
        add_watched (self, folder);
    }
}

void
sk_watch_reload (SkWatch *self)
{
  if (self != NULL)
    sk_worker_push (self->worker, on_reload, self, NULL);
}

static gboolean on_poll (gpointer data);

static void
arm_poll (SkWatch *self, gint64 us)
{
  g_clear_pointer (&self->poll_timer, sk_timer_free);
  self->poll_timer = sk_clock_timer (self->session->clock, sk_worker_context (self->worker), us, on_poll, self);
}

static gboolean
on_poll (gpointer data)
{
  SkWatch *self = data;

  sk_down_poll (self->session->down);
  self->poll_us = sk_down_is_busy (self->session->down) ? POLL_BUSY_US : MIN (self->poll_us * 2, POLL_IDLE_US);
  arm_poll (self, self->poll_us);
  return G_SOURCE_REMOVE;
}

static void
on_expect (gpointer data)
{
  SkWatch *self = data;

  sk_down_expect (self->session->down);
  self->poll_us = POLL_BUSY_US;
  arm_poll (self, self->poll_us);
}

void
sk_watch_expect (SkWatch *self)
{
  if (self != NULL)
    sk_worker_push (self->worker, on_expect, self, NULL);
}

/* --- a writer that goes on in the trash (A11) --- */

typedef struct
{
  SkWatch *watch;
  gint64 row;
  SkId id;
  SkRoot *root;
} Look;

static void
look_free (gpointer data)
{
  Look *look = data;

  g_atomic_int_add (&look->watch->looks_out, -1);
  sk_root_unref (look->root);
  g_free (look);
}

/* care thread */
static void
run_look (gpointer data)
{
  Look *look = data;
  SkSession *session = look->watch->session;

  sk_touched_restore (session, look->row, &look->id, look->root, sk_clock_wall (session->clock) - LOOK_BACK_US);
}

static gboolean
look_is_due (Watched *watched, gint64 now)
{
  guint arrivals = sk_trash_arrivals (watched->root);

  if (arrivals != watched->arrivals)
    {
      watched->arrivals = arrivals;
      watched->look_us = LOOK_FIRST_US;
      /* What comes all the time does not put it off. */
      watched->look_at = watched->look_at != 0 ? MIN (watched->look_at, now + LOOK_FIRST_US) : now + LOOK_FIRST_US;
    }
  if (watched->look_at == 0 || watched->look_at > now)
    return FALSE;
  watched->look_us = MIN (watched->look_us * 2, LOOK_LAST_US);
  watched->look_at = now + watched->look_us;
  return TRUE;
}

/* Nothing is put back while paused, and no look begins while others have not ended. */
static void
look_into_trash (SkWatch *self)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);

  if (g_atomic_int_get (&self->session->paused) || g_atomic_int_get (&self->looks_out) > 0)
    return;
  for (guint i = 0; i < self->folders->len; i++)
    {
      Watched *watched = self->folders->pdata[i];
      const SkFlowFolder *folder = sk_config_folder (config, watched->row);
      Look *look;

      if (folder == NULL || !look_is_due (watched, sk_clock_now (self->session->clock)))
        continue;
      look = g_new0 (Look, 1);
      *look = (Look) { .watch = self, .row = watched->row, .id = folder->id, .root = sk_root_ref (watched->root) };
      g_atomic_int_inc (&self->looks_out);
      sk_worker_push (self->care, run_look, look, look_free);
    }
}

/* Whether a folder or storage that was away may be back, or one that was there may be away. A configuration is not made anew only to find that
 * nothing changed: that would wake every thread. */
static gboolean
may_differ (SkWatch *self)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  gboolean differs = config->incomplete;

  for (guint i = 0; i < self->folders->len; i++)
    {
      Watched *watched = self->folders->pdata[i];

      sk_root_look (watched->root, &watched->now);
      differs |= !sk_root_place_same (&watched->now, &watched->seen);
    }
  return differs;
}

static gboolean
on_revive (gpointer data)
{
  SkWatch *self = data;
  g_autoptr(GError) error = NULL;

  g_clear_pointer (&self->revive_timer, sk_timer_free);
  if (g_atomic_int_get (&self->session->paused))
    sk_session_check_pause (self->session);
  if (may_differ (self) && sk_session_reload (self->session, &error))
    {
      /* As it was before that: what changes meanwhile is seen the next time. */
      for (guint i = 0; i < self->folders->len; i++)
        ((Watched *) self->folders->pdata[i])->seen = ((Watched *) self->folders->pdata[i])->now;
      sk_up_reload (self->session->up);
      on_reload (self);
    }
  look_into_trash (self);
  self->revive_timer = sk_clock_timer (self->session->clock, sk_worker_context (self->worker), REVIVE_US, on_revive, self);
  return G_SOURCE_REMOVE;
}

/* Once a day, as events can be lost; where there are none, every time. */
static gboolean
on_rescan (gpointer data)
{
  SkWatch *self = data;
  gint64 now = sk_clock_now (self->session->clock);

  g_clear_pointer (&self->rescan_timer, sk_timer_free);
  for (guint i = 0; i < self->folders->len; i++)
    {
      Watched *watched = self->folders->pdata[i];

      if (!watched->limited && watched->rescan_at > now)
        continue;
      watched->rescan_at = now + RESCAN_US;
      sk_up_note (self->session->up, watched->row, "", TRUE, FALSE);
    }
  self->rescan_timer = sk_clock_timer (self->session->clock, sk_worker_context (self->worker), RESCAN_UNWATCHED_US, on_rescan, self);
  return G_SOURCE_REMOVE;
}

/* care thread: it may take minutes, and events go on meanwhile */
static void
run_care (gpointer data)
{
  SkSession *session = data;

  (void) sk_care_expire (session, session->stopping);
}

static gboolean
on_care (gpointer data)
{
  SkWatch *self = data;

  g_clear_pointer (&self->care_timer, sk_timer_free);
  sk_worker_push (self->care, run_care, self->session, NULL);
  self->care_timer = sk_clock_timer (self->session->clock, sk_worker_context (self->worker), CARE_US, on_care, self);
  return G_SOURCE_REMOVE;
}

static void
on_start (gpointer data)
{
  SkWatch *self = data;
  GMainContext *context = sk_worker_context (self->worker);

  on_reload (self);
  self->poll_us = POLL_BUSY_US;
  arm_poll (self, 1000);
  self->revive_timer = sk_clock_timer (self->session->clock, context, REVIVE_US, on_revive, self);
  self->rescan_timer = sk_clock_timer (self->session->clock, context, RESCAN_UNWATCHED_US, on_rescan, self);
  self->care_timer = sk_clock_timer (self->session->clock, context, CARE_FIRST_US, on_care, self);
}

SkWatch *
sk_watch_new (SkSession *session)
{
  SkWatch *self = g_new0 (SkWatch, 1);

  self->session = session;
  self->folders = g_ptr_array_new_with_free_func (watched_free);
  self->worker = sk_worker_new ("engine");
  self->care = sk_worker_new ("care");
  sk_worker_push (self->worker, on_start, self, NULL);
  return self;
}

static void
on_stop (gpointer data)
{
  SkWatch *self = data;

  g_clear_pointer (&self->poll_timer, sk_timer_free);
  g_clear_pointer (&self->revive_timer, sk_timer_free);
  g_clear_pointer (&self->rescan_timer, sk_timer_free);
  g_clear_pointer (&self->care_timer, sk_timer_free);
  g_ptr_array_set_size (self->folders, 0);
}

void
sk_watch_free (SkWatch *self)
{
  if (self == NULL)
    return;
  sk_worker_call (self->worker, on_stop, self);
  sk_worker_stop (self->worker);
  sk_worker_stop (self->care);
  g_ptr_array_unref (self->folders);
  g_free (self);
}
