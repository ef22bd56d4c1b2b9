/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engines that run: each in a process of its own, which the model freezes (SIGSTOP) while a person does something, so that the books of the
 * model agree with the disk whatever the engine is in the middle of. The process is told what to do by lines: "state", "acted", "sync", "doom
 * STAGE N", "stop". */
#include "sk-model-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sk-flow.h"
#include "sk-live.h"
#include "sk-pair.h"
#include "sk-test-hooks.h"

#define ANSWER_S 120             /* longer than anything takes on a machine with much else to do */
#define TICK_MS 4
#define TICK_MAX_US (20 * 1000)  /* time stands still for a process that stands still */
#define LOOK_TICKS 12u           /* from one look at the state to the next */
#define STILL_FACTOR 8
#define POLL_TICKS 40u           /* from one poll of the storage to the next: nobody waits for the five seconds of C9 */

/* --- in the process --- */

typedef struct
{
  SkSession *session;
  SkClock *clock;
  int in, out;
  guint speed;
  int ended;                     /* atomic */
  char *looked;                  /* what was there at the last look */
  gint64 quiet_since, still_since;       /* of the clock, and of real time */
} Host;

static struct
{
  char stage[16];
  int at, passed;                /* atomic; at 0: not doomed */
} doom;

static void
pass_stage (const char *stage)
{
  const int at = g_atomic_int_get (&doom.at);

  if (at > 0 && g_str_equal (stage, doom.stage) && g_atomic_int_add (&doom.passed, 1) + 1 == at)
    raise (SIGKILL);
}

static gpointer
run_clock (gpointer data)
{
  Host *host = data;
  gint64 last = g_get_monotonic_time ();

  while (!g_atomic_int_get (&host->ended))
    {
      gint64 now;

      g_usleep (TICK_MS * 1000);
      now = g_get_monotonic_time ();
      sk_clock_step (host->clock, MIN (now - last, TICK_MAX_US) * host->speed);
      last = now;
    }
  return NULL;
}

typedef struct
{
  GString *coverage;
  SkFolderCounts counts;
} Look;

static int
by_writer (gconstpointer a, gconstpointer b)
{
  return memcmp (&((const SkPosition *) a)->writer, &((const SkPosition *) b)->writer, sizeof (SkId));
}

static gboolean
look_at_index (SkSession *session, gpointer data, GError **error)
{
  Look *look = data;
  g_autoptr(GArray) positions = sk_index_positions (session->index, error);
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);

  if (positions == NULL)
    return FALSE;
  g_array_sort (positions, by_writer);
  for (guint i = 0; i < positions->len; i++)
    {
      const SkPosition *position = &g_array_index (positions, SkPosition, i);
      char hex[SK_ID_HEX_SIZE];

      sk_id_format (&position->writer, hex);
      if (position->seq > 0)
        g_string_append_printf (look->coverage, "%.12s:%" G_GUINT64_FORMAT " ", hex, position->seq);
    }
  return folders->len > 0 && sk_index_folder_counts (session->index, ((SkFolderRow *) folders->pdata[0])->row, &look->counts, error);
}

static guint64
queued (Host *host)
{
  SkLiveFolder live;

  sk_live_folder (host->session->live, 0, sk_clock_now (host->clock), &live);
  return live.queued;
}

/* Text of all that matters, in @look as well. */
static char *
look_around (Host *host, Look *look)
{
  *look = (Look) { .coverage = g_string_new (NULL) };
  sk_session_index (host->session, look_at_index, look, NULL);
  return g_strdup_printf ("%s|%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT, look->coverage->str,
                          look->counts.files, look->counts.dirs, look->counts.links, look->counts.dirty_nodes, queued (host));
}

static void
note_noise (Host *host)
{
  host->quiet_since = sk_clock_now (host->clock);
  host->still_since = g_get_monotonic_time ();
}

static void
note_state (Host *host, Look *look)
{
  char *now = look_around (host, look);

  if (g_strcmp0 (now, host->looked) != 0 || look->counts.dirty_nodes > 0 || queued (host) > 0)
    note_noise (host);
  g_free (host->looked);
  host->looked = now;
}

static void
say_state (Host *host)
{
  Look look;
  gint64 quiet_us;

  note_state (host, &look);
  /* However fast the clock goes, an event needs a while to be heard. */
  quiet_us = MIN (sk_clock_now (host->clock) - host->quiet_since, (g_get_monotonic_time () - host->still_since) * STILL_FACTOR);
  sk_model_say (host->out, "%" G_GINT64_FORMAT "\n%s\n%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n",
                quiet_us, look.coverage->str, look.counts.files, look.counts.dirs, look.counts.links,
                look.counts.dirty_nodes);
  g_string_free (look.coverage, TRUE);
  sk_model_say_issues (host->session, host->out);
  sk_model_say (host->out, ".\n");
}

/* FALSE: it is to end. */
static gboolean
obey (Host *host, const char *line)
{
  if (g_str_equal (line, "state"))
    say_state (host);
  else if (g_str_equal (line, "acted"))
    note_noise (host);
  else if (g_str_equal (line, "sync"))
    {
      g_autoptr(GVariant) report = sk_session_command (host->session, "sync", NULL, NULL, NULL, NULL, NULL);
    }
  else if (g_str_has_prefix (line, "doom "))
    {
      guint at = 0;

      if (sscanf (line, "doom %15s %u", doom.stage, &at) == 2)
        g_atomic_int_set (&doom.at, (int) at);
    }
  else
    return FALSE;
  return TRUE;
}

/* FALSE: the model has ended, or wants this to end. */
static gboolean
hear (Host *host)
{
  static GString *heard;
  struct pollfd ready = { .fd = host->in, .events = POLLIN };
  char buffer[256];
  char *end;
  gssize n;

  if (heard == NULL)
    heard = g_string_new (NULL);
  if (poll (&ready, 1, TICK_MS) <= 0)
    return TRUE;
  n = read (host->in, buffer, sizeof buffer);
  if (n <= 0)
    return FALSE;
  g_string_append_len (heard, buffer, n);
  while ((end = strchr (heard->str, '\n')) != NULL)
    {
      g_autofree char *line = g_strndup (heard->str, (gsize) (end - heard->str));

      g_string_erase (heard, 0, end + 1 - heard->str);
      if (!obey (host, line))
        return FALSE;
    }
  return TRUE;
}

static void
host_engine (SkModel *self, Host *host, guint i)
{
  SkSessionOptions options = { .home = self->homes[i], .clock = host->clock, .watch = TRUE };
  g_autoptr(GError) error = NULL;
  GThread *ticker;

#if SK_TEST_HOOKS
  sk_test_stage_hook = pass_stage;
#endif
  host->session = sk_session_open (&options, &error);
  if (host->session == NULL)
    {
      sk_model_say (host->out, "0\n\n0 0 0 0\nopen: %s\n.\n", error->message);
      _exit (3);
    }
  ticker = g_thread_new ("clock", run_clock, host);
  for (guint tick = 0; hear (host); tick++)
    {
      if (tick % POLL_TICKS == 0)
        {
          sk_down_poll (host->session->down);
          sk_model_accept_mass_changes (host->session, -1);
        }
      if (tick % LOOK_TICKS == 0)
        {
          Look look;

          note_state (host, &look);
          g_string_free (look.coverage, TRUE);
        }
    }
  sk_session_close (host->session);
  g_atomic_int_set (&host->ended, 1);
  g_thread_join (ticker);
}

/* --- in the model --- */

void
sk_model_engine_start (SkModel *self, guint i, guint speed)
{
  SkModelEngine *engine = &self->engines[i];
  int to[2], from[2];

  g_assert_cmpint (pipe (to), ==, 0);
  g_assert_cmpint (pipe (from), ==, 0);
  fflush (stdout);
  engine->pid = fork ();
  g_assert_cmpint (engine->pid, >=, 0);
  if (engine->pid == 0)
    {
      g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
      Host host = { .clock = clock, .in = to[0], .out = from[1], .speed = speed };

      prctl (PR_SET_PDEATHSIG, SIGKILL);
      close (to[1]);
      close (from[0]);
      /* Or an engine would not hear that the model closed its end. */
      for (guint k = 0; k < SK_MODEL_DEVICES; k++)
        if (k != i && self->engines[k].pid != 0)
          {
            close (self->engines[k].in);
            close (self->engines[k].out);
          }
      if (chdir (self->homes[i]) != 0)          /* where a core would lie */
        _exit (4);
      g_log_set_default_handler (sk_model_log_quietly, NULL);
      host_engine (self, &host, i);
      _exit (0);
    }
  close (to[0]);
  close (from[1]);
  engine->in = to[1];
  engine->out = from[0];
}

static void
forget (SkModel *self, guint i, int status)
{
  SkModelEngine *engine = &self->engines[i];

  close (engine->in);
  close (engine->out);
  *engine = (SkModelEngine) { 0 };
  self->killed[i] |= WIFSIGNALED (status);
  if (WIFSIGNALED (status) ? WTERMSIG (status) != SIGKILL : WEXITSTATUS (status) != 0)
    sk_model_fail (self, "the engine of device %u ended with status %d", i, status);
}

gboolean
sk_model_engine_runs (SkModel *self, guint i)
{
  int status;

  if (self->engines[i].pid != 0 && waitpid (self->engines[i].pid, &status, WNOHANG) == self->engines[i].pid)
    forget (self, i, status);
  return self->engines[i].pid != 0;
}

static void
tell (SkModel *self, guint i, const char *line)
{
  /* One that was killed meanwhile does not hear it. */
  while (self->engines[i].pid != 0 && write (self->engines[i].in, line, strlen (line)) < 0 && errno == EINTR)
    ;
}

void
sk_model_engine_stop (SkModel *self, guint i)
{
  int status;

  if (self->engines[i].pid == 0)
    return;
  tell (self, i, "stop\n");
  while (waitpid (self->engines[i].pid, &status, 0) < 0 && errno == EINTR)
    ;
  forget (self, i, status);
}

void
sk_model_engine_kill (SkModel *self, guint i)
{
  int status;

  if (self->engines[i].pid == 0)
    return;
  kill (self->engines[i].pid, SIGKILL);
  while (waitpid (self->engines[i].pid, &status, 0) < 0 && errno == EINTR)
    ;
  forget (self, i, status);
}

void
sk_model_engine_freeze (SkModel *self, guint i)
{
  int status;

  if (!sk_model_engine_runs (self, i))
    return;
  kill (self->engines[i].pid, SIGSTOP);
  while (waitpid (self->engines[i].pid, &status, WUNTRACED) < 0 && errno == EINTR)
    ;
  if (!WIFSTOPPED (status))
    forget (self, i, status);
}

void
sk_model_engine_thaw (SkModel *self, guint i)
{
  if (self->engines[i].pid == 0)
    return;
  tell (self, i, "acted\n");
  kill (self->engines[i].pid, SIGCONT);
}

void
sk_model_engine_doom (SkModel *self, guint i, const char *stage, guint n)
{
  g_autofree char *line = g_strdup_printf ("doom %s %u\n", stage, n);

  tell (self, i, line);
}

void
sk_model_engine_sync (SkModel *self, guint i)
{
  tell (self, i, "sync\n");
}

void
sk_model_state_clear (SkModelState *self)
{
  g_clear_pointer (&self->coverage, g_free);
  g_clear_pointer (&self->said, g_free);
}

/* What it says up to a line with a dot; NULL when it ends before that. */
static char *
read_answer (SkModel *self, guint i)
{
  GString *said = g_string_new (NULL);
  struct pollfd ready = { .fd = self->engines[i].out, .events = POLLIN };
  char buffer[4096];

  while (!g_str_has_suffix (said->str, "\n.\n"))
    {
      int events = poll (&ready, 1, ANSWER_S * 1000);
      gssize n;

      if (events < 0 && errno == EINTR)
        continue;
      n = events > 0 ? read (ready.fd, buffer, sizeof buffer) : 0;
      if (events == 0)
        {
          sk_model_fail (self, "the engine of device %u does not answer for %d s", i, ANSWER_S);
          if (g_getenv ("SK_TEST_KEEP") != NULL)
            kill (self->engines[i].pid, SIGABRT);
          kill (self->engines[i].pid, SIGKILL);
        }
      if (n <= 0)
        {
          g_string_free (said, TRUE);
          return NULL;
        }
      g_string_append_len (said, buffer, n);
    }
  g_string_truncate (said, said->len - 2);
  return g_string_free (said, FALSE);
}

gboolean
sk_model_engine_state (SkModel *self, guint i, SkModelState *out)
{
  g_autofree char *said = NULL;
  g_auto(GStrv) lines = NULL;

  *out = (SkModelState) { 0 };
  if (!sk_model_engine_runs (self, i))
    return FALSE;
  tell (self, i, "state\n");
  said = read_answer (self, i);
  lines = said != NULL ? g_strsplit (said, "\n", 4) : NULL;
  if (lines == NULL || g_strv_length (lines) != 4)
    return FALSE;
  out->quiet_us = g_ascii_strtoll (lines[0], NULL, 10);
  out->coverage = g_strdup (lines[1]);
  sscanf (lines[2], "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &out->files, &out->dirs, &out->links, &out->dirty);
  out->said = g_strdup (lines[3]);
  return TRUE;
}
