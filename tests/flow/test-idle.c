/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An engine with nothing to do does nothing, and misses nothing by it: what is left out must come back by itself, at its time. */
#include "sk-fleet-check.h"
#include "sk-pair.h"
#include "sk-watch.h"

#include <glib/gstdio.h>

#define SECOND ((gint64) G_USEC_PER_SEC)
#define BELIEVED 9u                        /* times in a row that a listing is believed */

typedef struct
{
  SkThree t;
  SkClock *clock;
} Idle;

/* "f" on two devices; device 0 is an engine whose clock is stepped when @watch. */
static void
idle_init (Idle *self, gboolean watch)
{
  self->clock = sk_clock_new_stepped (g_get_real_time ());
  sk_three_init (&self->t, 2);
  sk_fleet_close (self->t.fleet, 0);
  self->t.fleet->clock = self->clock;
  self->t.fleet->watch = watch;
  sk_fleet_open (self->t.fleet, 0);
}

static void
idle_clear (Idle *self)
{
  sk_fleet_close (self->t.fleet, 0);
  sk_three_clear (&self->t);
  sk_clock_unref (self->clock);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Idle, idle_clear)

typedef struct
{
  Idle *idle;
  const char *path;                        /* in the folder of device 0 */
  gint64 until, step;                      /* on the stepped clock; so far it may be stepped */
} Arrival;

static gboolean
is_there (gpointer data)
{
  Arrival *self = data;
  SkClock *clock = self->idle->clock;

  if (sk_there (self->idle->t.a, self->path))
    return TRUE;
  if (sk_clock_now (clock) + self->step <= self->until)
    sk_clock_step (clock, self->step);
  return FALSE;
}

/* @path comes to device 0 before @seconds passed there. */
static void
assert_arrives (Idle *idle, const char *path, gint64 seconds)
{
  Arrival arrival = { .idle = idle, .path = path, .until = sk_clock_now (idle->clock) + seconds * SECOND, .step = SECOND };

  g_assert_true (sk_wait (is_there, &arrival, 20));
}

static void
put_on_b (Idle *idle, const char *path)
{
  sk_put_file (idle->t.b, path, path, -1);
  sk_sync (idle->t.fleet, 1);
}

/* Polls are as rare as they become: a sync of the engine, and each timer that was due, between two steps. */
static void
become_idle (Idle *idle)
{
  for (guint i = 0; i < 24; i++)
    {
      sk_clock_step (idle->clock, 10 * SECOND);
      sk_sync (idle->t.fleet, 0);
    }
}

static gboolean
pull (Idle *idle)
{
  SkSession *session = idle->t.fleet->devices[0];
  g_autoptr(SkConfig) config = sk_session_config (session);
  SkPullResult result = { .problems = g_ptr_array_new_with_free_func (g_free) };
  g_autoptr(GPtrArray) problems = result.problems;
  g_autoptr(GError) error = NULL;

  /* No engine and no command runs: nobody else pulls. */
  g_assert_true (sk_pull_storage (session, config->storages->pdata[0], &result, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (problems->len, ==, 0);
  return result.unchanged;
}

/* A listing that says nothing new is believed, but not for ever, and only what the same configuration read. */
static void
test_listing_is_believed (void)
{
  g_auto(Idle) idle = { { NULL } };
  SkSession *session;
  g_autoptr(GError) error = NULL;

  idle_init (&idle, FALSE);
  session = idle.t.fleet->devices[0];
  sk_clock_step (idle.clock, 3600 * SECOND);              /* what is a moment old proves nothing */
  (void) pull (&idle);
  for (guint i = 0; i < BELIEVED; i++)
    g_assert_true (pull (&idle));
  g_assert_false (pull (&idle));
  g_assert_true (pull (&idle));
  put_on_b (&idle, "new");
  g_assert_false (pull (&idle));
  g_assert_true (pull (&idle));
  g_assert_true (sk_session_reload (session, &error));
  g_assert_no_error (error);
  g_assert_false (pull (&idle));
}

/* What was written a moment ago can be written again within the same tick of its clock. */
static void
test_young_heads_are_read (void)
{
  g_auto(Idle) idle = { { NULL } };

  idle_init (&idle, FALSE);
  put_on_b (&idle, "new");
  for (guint i = 0; i < 3; i++)
    g_assert_false (pull (&idle));
}

/* A storage whose marker is another one's is not believed because its listing is empty. */
static void
test_storage_that_is_away (void)
{
  g_auto(Idle) idle = { { NULL } };
  g_autofree char *away = NULL;

  idle_init (&idle, TRUE);
  become_idle (&idle);
  away = g_strconcat (idle.t.fleet->storage, ".away", NULL);
  g_assert_cmpint (g_rename (idle.t.fleet->storage, away), ==, 0);
  for (guint i = 0; i < 13; i++)
    sk_clock_step (idle.clock, 10 * SECOND);
  sk_put_file (idle.t.a, "mine", "mine", -1);
  for (guint i = 0; i < 12; i++)
    {
      sk_clock_step (idle.clock, 10 * SECOND);
      (void) sk_sync_attention (idle.t.fleet, 0);
    }
  g_assert_cmpuint (sk_issue (idle.t.fleet, 0, "storage", NULL), !=, 0);
  g_assert_cmpint (g_rename (away, idle.t.fleet->storage), ==, 0);
  put_on_b (&idle, "new");
  assert_arrives (&idle, "new", 61);
  sk_sync (idle.t.fleet, 0);
  sk_sync (idle.t.fleet, 1);
  sk_assert_content (idle.t.b, "mine", "mine");
  sk_assert_no_issues (idle.t.fleet, 0);
}

static void
test_change_arrives (void)
{
  g_auto(Idle) idle = { { NULL } };

  idle_init (&idle, TRUE);
  become_idle (&idle);
  put_on_b (&idle, "new");
  assert_arrives (&idle, "new", 61);
}

/* A device that was let in writes soon; the person looks at the list and waits for it. */
static void
test_expected_change (void)
{
  g_auto(Idle) idle = { { NULL } };

  idle_init (&idle, TRUE);
  become_idle (&idle);
  sk_watch_expect (idle.t.fleet->devices[0]->watcher);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("new %u", i);

      put_on_b (&idle, name);
      assert_arrives (&idle, name, 12);
    }
}

/* A command that only reads what is told leaves the work to the next poll, for which the storage then says nothing new. */
static void
test_told_by_another_command (void)
{
  g_auto(Idle) idle = { { NULL } };

  idle_init (&idle, TRUE);
  become_idle (&idle);
  put_on_b (&idle, "new");
  sk_clock_step (idle.clock, 0);
  g_variant_unref (sk_fleet_run (idle.t.fleet, 0, "gc", NULL));
  assert_arrives (&idle, "new", 61);
}

/* The end of a pause is a time: what came meanwhile is brought then, not with a poll that may be due a minute later. */
static void
test_pause_runs_out (void)
{
  g_auto(Idle) idle = { { NULL } };

  idle_init (&idle, TRUE);
  become_idle (&idle);
  g_variant_unref (sk_fleet_run (idle.t.fleet, 0, "pause", "{'seconds': <uint32 25>}"));
  put_on_b (&idle, "new");
  for (guint i = 0; i < 2; i++)
    sk_clock_step (idle.clock, 10 * SECOND);
  g_assert_false (sk_there (idle.t.a, "new"));
  assert_arrives (&idle, "new", 16);
}

typedef struct
{
  Idle *idle;
  SkFlaky *flaky;
  gint64 until;                            /* the clock is stepped so far */
} Failing;

static void
step (Failing *self, gint64 us)
{
  if (sk_clock_now (self->idle->clock) < self->until)
    sk_clock_step (self->idle->clock, us);
}

static gboolean
has_failed (gpointer data)
{
  Failing *self = data;

  step (self, SECOND / 2);
  return sk_flaky_failed (self->flaky) >= 4;
}

static gboolean
is_published (gpointer data)
{
  Failing *self = data;

  step (self, SECOND);
  sk_sync (self->idle->t.fleet, 1);
  return sk_there (self->idle->t.b, "mine");
}

/* A storage that did not take the head is asked again although nothing else happens. */
static void
test_failed_push_comes_again (void)
{
  g_auto(Idle) idle = { { NULL } };
  Failing failing = { .idle = &idle };

  idle_init (&idle, TRUE);
  become_idle (&idle);
  failing.flaky = sk_fleet_make_flaky (idle.t.fleet, 0);
  failing.until = sk_clock_now (idle.clock) + 200 * SECOND;      /* before everything is scanned again */
  sk_flaky_fail_puts (failing.flaky, "heads/", G_MAXUINT, SK_ERROR_IO);
  sk_put_file (idle.t.a, "mine", "mine", -1);
  g_assert_true (sk_wait (has_failed, &failing, 20));
  sk_flaky_fail_puts (failing.flaky, "heads/", 0, SK_ERROR_IO);
  g_assert_true (sk_wait (is_published, &failing, 20));
}

static gboolean
is_told (gpointer data)
{
  Failing *self = data;

  step (self, SECOND / 2);
  return sk_issue (self->idle->t.fleet, 0, "failed-item", NULL) != 0;
}

static gboolean
is_over (gpointer data)
{
  Failing *self = data;

  step (self, SECOND);
  return sk_issues (self->idle->t.fleet, 0) == 0;
}

/* A file that could not be taken in, and was removed before that succeeded, is nobody's trouble: without a scan of everything. */
static void
test_trouble_that_went (void)
{
  g_auto(Idle) idle = { { NULL } };
  Failing failing = { .idle = &idle };

  idle_init (&idle, TRUE);
  become_idle (&idle);
  failing.flaky = sk_fleet_make_flaky (idle.t.fleet, 0);
  failing.until = sk_clock_now (idle.clock) + 200 * SECOND;
  sk_flaky_fail_puts (failing.flaky, "", G_MAXUINT, SK_ERROR_IO);
  sk_put_file (idle.t.a, "mine", "mine", -1);
  g_assert_true (sk_wait (is_told, &failing, 20));
  sk_unlink (idle.t.a, "mine");
  sk_flaky_fail_puts (failing.flaky, "", 0, SK_ERROR_IO);
  g_assert_true (sk_wait (is_over, &failing, 20));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/idle/listing-is-believed", test_listing_is_believed);
  g_test_add_func ("/idle/young-heads-are-read", test_young_heads_are_read);
  g_test_add_func ("/idle/storage-that-is-away", test_storage_that_is_away);
  g_test_add_func ("/idle/change-arrives", test_change_arrives);
  g_test_add_func ("/idle/expected-change", test_expected_change);
  g_test_add_func ("/idle/told-by-another-command", test_told_by_another_command);
  g_test_add_func ("/idle/failed-push-comes-again", test_failed_push_comes_again);
  g_test_add_func ("/idle/trouble-that-went", test_trouble_that_went);
  g_test_add_func ("/idle/pause-runs-out", test_pause_runs_out);
  return g_test_run ();
}
