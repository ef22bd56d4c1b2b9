/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command is cancelled while it works: it ends soon, nothing is half-done, and the same command does it the next time. The long version, with
 * jobs of many seconds: tests/shows/02-12. */
#include "sk-fleet-check.h"

#include "sk-test-hooks.h"

#define FILES 80u
#define FILE_BYTES (640u << 10)        /* together more than is read ahead */
/* The bound is one second; a machine with other work and sanitizers gets more. */
#define END_US (5 * G_USEC_PER_SEC)

static struct
{
  const char *stage;
  int left, passed;              /* atomic: passages until the cancel; all of them */
  GCancellable *cancellable;
  gint64 at;
} plan;

static void
on_stage (const char *stage)
{
  if (g_strcmp0 (stage, plan.stage) != 0)
    return;
  g_atomic_int_inc (&plan.passed);
  if (!g_atomic_int_dec_and_test (&plan.left))
    {
      /* So that it is not over before anybody knows that it was cancelled. */
      if (g_cancellable_is_cancelled (plan.cancellable))
        g_usleep (20 * 1000);
      return;
    }
  plan.at = g_get_monotonic_time ();
  g_cancellable_cancel (plan.cancellable);
}

/* (transfer full) */
static char *
random_bytes (gsize len, guint32 seed)
{
  g_autoptr(GRand) rng = g_rand_new_with_seed (seed);
  guint32 *data = g_malloc (len);

  for (gsize i = 0; i < len / 4; i++)
    data[i] = g_rand_int (rng);
  return (char *) data;
}

static void
make_random (const char *dir, const char *path, gsize len, guint32 seed)
{
  g_autofree char *data = random_bytes (len, seed);

  sk_put_file (dir, path, data, (gssize) len);
}

/* @command is cancelled when a thread passes @stage for the @n-th time. */
static void
cancel_at (SkFleet *fleet, guint device, const char *command, const char *stage, guint n)
{
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  g_autoptr(GError) error = NULL;

  plan.stage = stage;
  plan.cancellable = cancellable;
  plan.passed = 0;
  g_atomic_int_set (&plan.left, (int) n);
  sk_test_stage_hook = on_stage;
  g_assert_null (sk_session_command (fleet->devices[device], command, NULL, NULL, NULL, cancellable, &error));
  g_assert_true (g_cancellable_is_cancelled (cancellable));
  g_assert_true (g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED) || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED));
  g_assert_cmpint (g_get_monotonic_time () - plan.at, <=, END_US);
}

/* Until what was on its way has ended; how often the stage was passed until then. */
static guint
settle_passages (SkFleet *fleet, guint device)
{
  const gint64 none = -1;
  SkUpResult result;

  g_assert_true (sk_up_sync (fleet->devices[device]->up, &none, 1, &result, NULL, NULL));
  sk_up_result_clear (&result);
  sk_test_stage_hook = NULL;
  return (guint) g_atomic_int_get (&plan.passed);
}

static void
assert_clean (SkFleet *fleet)
{
  for (guint i = 0; i < fleet->n; i++)
    {
      g_autoptr(GVariant) fsck = sk_fleet_run (fleet, i, "fsck", NULL);
      g_autoptr(GVariant) issues = sk_fleet_run (fleet, i, "issues", NULL);
      g_autoptr(GVariant) problems = g_variant_lookup_value (fsck, "problems", NULL), list = g_variant_lookup_value (issues, "issues", NULL);

      g_assert_cmpuint (g_variant_n_children (problems), ==, 0);
      g_assert_cmpuint (g_variant_n_children (list), ==, 0);
    }
}

static void
assert_equal (const char *a, const char *b)
{
  g_autofree char *left = sk_tree_listing (a), *right = sk_tree_listing (b);

  g_assert_cmpstr (left, ==, right);
}

/* Every line of what is there stands in what there will be: no file is half written, nothing has a name that nobody gave it. */
static void
assert_part (const char *whole, const char *part)
{
  g_autofree char *left = sk_tree_listing (whole), *right = sk_tree_listing (part);
  g_auto(GStrv) lines = g_strsplit (right, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    g_assert_nonnull (strstr (left, lines[i]));
}

static void
test_scan_and_ingest (gconstpointer data)
{
  const char *stage = data;
  static const guint points[] = { 10, 90 };
  /* A directory is listed once; it and what lies in it are taken in. */
  guint passages = strcmp (stage, "scan") == 0 ? FILES : 2 * FILES;

  for (guint k = 0; k < G_N_ELEMENTS (points); k++)
    {
      g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
      g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");

      sk_fleet_share (fleet, "f");
      for (guint i = 0; i < FILES; i++)
        {
          g_autofree char *path = g_strdup_printf ("d%03u/file", i);

          make_random (a, path, FILE_BYTES, i);
        }
      cancel_at (fleet, 0, "sync", stage, passages * points[k] / 100);
      /* What was read ahead is read, and no more. */
      if (points[k] == 10 && passages > FILES)
        g_assert_cmpuint (settle_passages (fleet, 0), <, passages);
      sk_test_stage_hook = NULL;
      sk_fleet_settle (fleet, 8);
      assert_equal (a, b);
      assert_clean (fleet);
    }
}

static void
test_fetch (gconstpointer data)
{
  const char *stage = data;
  static const guint points[] = { 10, 90 };

  for (guint k = 0; k < G_N_ELEMENTS (points); k++)
    {
      g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
      g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
      guint passages = strcmp (stage, "fetch") == 0 ? 4 : FILES;

      sk_fleet_share (fleet, "f");
      for (guint i = 0; i < FILES; i++)
        {
          g_autofree char *path = g_strdup_printf ("file%02u", i);

          make_random (a, path, FILE_BYTES / 8, i);
        }
      make_random (a, "large", 9u << 20, 1000);
      g_variant_unref (sk_fleet_sync (fleet, 0));
      cancel_at (fleet, 1, "sync", stage, MAX (passages * points[k] / 100, 1));
      sk_test_stage_hook = NULL;
      assert_part (a, b);
      sk_fleet_settle (fleet, 8);
      assert_equal (a, b);
      assert_clean (fleet);
    }
}

static void
slow (const char *stage)
{
  /* Longer than a commit waits; and what is put takes less than half of that. */
  if (strcmp (stage, "ingest") == 0)
    g_usleep (400 * 1000);
  else if (strcmp (stage, "put") == 0)
    g_usleep (80 * 1000);
}

/* A file is read in steps of 8 MiB, and everything of it that was new before the last step is stored after that was read and before that is told: it is
 * not published before its end is stored as well. Known bytes in the middle, and two new files that come with the second step and fill the pack, let
 * that happen. */
static void
test_last_step (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f"), *b = sk_fleet_path (fleet, 1, "f");
  g_autofree char *fresh = random_bytes (7u << 20, 7), *known = random_bytes (12u << 20, 8), *last = random_bytes (1u << 20, 9);
  g_autoptr(GByteArray) whole = g_byte_array_new ();

  sk_put_file (a, "known", known, 12 << 20);
  sk_fleet_share (fleet, "f");
  g_byte_array_append (whole, (const guint8 *) fresh, 7u << 20);
  g_byte_array_append (whole, (const guint8 *) known, 12u << 20);
  g_byte_array_append (whole, (const guint8 *) last, 1u << 20);
  sk_put_file (a, "large", (const char *) whole->data, whole->len);
  make_random (a, "one", 2u << 20, 11);
  make_random (a, "two", 2u << 20, 12);
  sk_test_stage_hook = slow;
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_test_stage_hook = NULL;
  sk_fleet_settle (fleet, 8);
  assert_equal (a, b);
  assert_clean (fleet);
}

static void
test_fsck (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (1, FALSE);
  static const char *const commands[] = { "fsck", "storage.verify", "gc" };

  sk_fleet_share (fleet, "f");
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_autoptr(GCancellable) cancellable = g_cancellable_new ();
      g_autoptr(GError) error = NULL;

      g_cancellable_cancel (cancellable);
      g_assert_null (sk_session_command (fleet->devices[0], commands[i], NULL, NULL, NULL, cancellable, &error));
      g_assert_true (g_error_matches (error, SK_ERROR, SK_ERROR_CANCELLED) || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED));
    }
  assert_clean (fleet);
}

typedef struct { guint n; guint64 done[3], total[3]; } Seen;
static const char *const words[] = { "Looking for changes", "Sending", "Receiving" };

static void
note (GVariant *progress, gpointer user_data)
{
  Seen *seen = user_data;
  const char *text;
  guint64 done, total;

  g_assert_true (g_variant_lookup (progress, "text", "&s", &text));
  g_assert_true (g_variant_lookup (progress, "done", "t", &done));
  g_assert_true (g_variant_lookup (progress, "total", "t", &total));
  seen->n++;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (strcmp (text, words[i]) == 0 && total > 0)
      {
        g_assert_cmpuint (done, <=, total);
        if (i > 0)
          g_assert_cmpuint (done, >=, seen->done[i]);
        seen->done[i] = done;
        seen->total[i] = MAX (seen->total[i], total);
      }
}

static void
slower (const char *stage)
{
  if (strcmp (stage, "ingest") == 0 || strcmp (stage, "fetch") == 0)
    g_usleep (150 * 1000);       /* longer than from one report to the next */
}

/* How far a sync is, in bytes of content, both ways; also within one large file. */
static void
test_progress (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  Seen up = { 0 }, down = { 0 };
  g_autoptr(GError) error = NULL;

  sk_fleet_share (fleet, "f");
  /* More than the two parts that are fetched at once: what came of the first is told before the last is there. */
  make_random (a, "large", 96u << 20, 3);
  sk_test_stage_hook = slower;
  g_variant_unref (sk_session_command (fleet->devices[0], "sync", NULL, note, &up, NULL, &error));
  g_assert_no_error (error);
  g_variant_unref (sk_session_command (fleet->devices[1], "sync", NULL, note, &down, NULL, &error));
  g_assert_no_error (error);
  sk_test_stage_hook = NULL;
  /* A file that was written this moment may be read once more. */
  g_assert_cmpuint (up.total[1], >=, 96u << 20);
  g_assert_cmpuint (up.done[1], >=, 16u << 20);
  g_assert_cmpuint (down.total[2], ==, 96u << 20);
  g_assert_cmpuint (down.done[2], >=, 8u << 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/cancel/scan", "scan", test_scan_and_ingest);
  g_test_add_data_func ("/cancel/ingest", "ingest", test_scan_and_ingest);
  g_test_add_data_func ("/cancel/fetch", "fetch", test_fetch);
  g_test_add_data_func ("/cancel/write", "write", test_fetch);
  g_test_add_func ("/cancel/last-step-of-a-large-file", test_last_step);
  g_test_add_func ("/cancel/fsck", test_fsck);
  g_test_add_func ("/cancel/progress", test_progress);
  return g_test_run ();
}
