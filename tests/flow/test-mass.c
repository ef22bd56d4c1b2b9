/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Much is lost at once: it waits for the person, on the device where it happened, and only there (RULES C17). */
#include "sk-fleet-check.h"
#include "sk-mass.h"
#include "sk-test-hooks.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static SkFleet *
fleet_with_files (guint n_devices, guint n_files, char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (n_devices, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (*a, "d/file", n_files);
  sk_fleet_share (fleet, "f");
  g_assert_cmpuint (sk_count_files (*b), ==, n_files);
  return fleet;
}

static void
remove_range (const char *dir, guint from, guint to)
{
  for (guint i = from; i < to; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i);

      sk_unlink (dir, path);
    }
}

/* All, 60 %, 10 %. */
static void
removal_of (guint percent, gboolean is_mass)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 50, &a, &b);
  guint n = 50 * percent / 100;

  remove_range (a, 0, n);
  g_assert_true (sk_sync_attention (fleet, 0) == is_mass);
  sk_sync (fleet, 1);
  if (!is_mass)
    {
      sk_assert_no_issues (fleet, 0);
      g_assert_cmpuint (sk_count_files (b), ==, 50 - n);
      g_assert_true (sk_in_trash (b, "d/file0", NULL));
      return;
    }
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", &text), !=, 0);
  g_assert_cmpuint (sk_count_files (b), ==, 50);
  sk_assert_no_issues (fleet, 1);
  /* Waiting changes nothing, however often it is asked and started again. */
  sk_fleet_restart (fleet, 0);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_files (b), ==, 50);
  sk_resolve (fleet, 0, "mass-change", "accept");
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 50 - n);
  g_assert_true (sk_in_trash (b, "d/file0", NULL));
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
}

static void
test_all_removed (void)
{
  removal_of (100, TRUE);
}

static void
test_most_removed (void)
{
  removal_of (60, TRUE);
}

static void
test_few_removed (void)
{
  removal_of (10, FALSE);
}

/* Everything that is not a clear yes leaves all as it is; the text says how many, which, and where the copies are. */
static void
test_dismissed (void)
{
  static const char *const dismissals[] = { "close", "", "escape", "timeout", "keep-mine", "yes" };
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);

  remove_range (a, 0, 20);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", &text), !=, 0);
  g_assert_nonnull (strstr (text, "20"));
  g_assert_nonnull (strstr (text, "d/file"));
  g_assert_nonnull (strstr (text, "trash"));
  g_assert_nonnull (strstr (text, "'refuse' brings it back"));
  for (guint i = 0; i < G_N_ELEMENTS (dismissals); i++)
    {
      g_assert_false (sk_try_resolve (fleet, 0, "mass-change", dismissals[i]));
      sk_sync_all (fleet, 1);
      g_assert_cmpuint (sk_count_files (b), ==, 20);
      g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
    }
}

/* 'refuse': the files come back, also when the program that said so has ended meanwhile. */
static void
test_refused (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);

  remove_range (a, 0, 15);
  sk_sync_all (fleet, 1);
  sk_fleet_restart (fleet, 0);
  sk_resolve (fleet, 0, "mass-change", "refuse");
  sk_fleet_restart (fleet, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 20);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
  sk_assert_no_issues (fleet, 0);
  sk_assert_equal_trees (fleet, "f");
}

static SkFleet *moving;

/* Index thread, in a transaction: as when a version of others that is the same joins what is here. */
static gboolean
move_on (SkSession *session, gpointer data, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node (session->index, 1, "d/file3", error);

  return node != NULL && sk_index_set_base (session->index, node->row, &node->base, error);
}

/* Up thread */
static void
move_on_once (const char *stage)
{
  SkFleet *fleet = g_str_equal (stage, "revert") ? g_steal_pointer (&moving) : NULL;

  if (fleet != NULL)
    g_assert_true (sk_session_transact (fleet->devices[0], move_on, NULL, NULL));
}

/* What could not be taken back yet is taken back with the next pass, and not sent out as removed. */
static void
test_refused_while_it_moves (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);

  remove_range (a, 0, 15);
  sk_sync_all (fleet, 1);
  /* Before the answer: it may be carried out at once. */
  moving = fleet;
  sk_test_stage_hook = move_on_once;
  sk_resolve (fleet, 0, "mass-change", "refuse");
  sk_sync (fleet, 0);
  sk_test_stage_hook = NULL;
  g_assert_null (moving);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 20);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
  sk_assert_no_issues (fleet, 0);
}

/* The person puts the files back himself. */
static void
test_put_back (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);
  g_autofree char *away = g_strconcat (a, ".d", NULL), *d = g_build_filename (a, "d", NULL);

  g_assert_cmpint (g_rename (d, away), ==, 0);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
  g_assert_cmpint (g_rename (away, d), ==, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_no_issues (fleet, 0);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
}

/* A thousand of many, less than half. */
static void
test_a_thousand (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  for (guint i = 0; i < 2100; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i), *text = g_strdup_printf ("%u", i);

      sk_put_file (a, path, text, -1);
    }
  sk_fleet_share (fleet, "f");
  remove_range (a, 0, 999);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 1101);
  sk_assert_no_issues (fleet, 0);
  /* One more within ten minutes makes a thousand. */
  remove_range (a, 999, 1000);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 1101);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
  sk_resolve (fleet, 0, "mass-change", "accept");
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 1100);
  /* Asked once: what follows is counted anew. */
  remove_range (a, 1000, 1010);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 1090);
}

/* Nine of nine are everyday, ten of twenty are not; a move is no removal, nor is one of two copies. */
static void
test_half_from_ten_on (void)
{
  g_autofree char *a = NULL, *b = NULL, *state = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 9, &a, &b);

  remove_range (a, 0, 9);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 0);
  sk_assert_no_issues (fleet, 0);
}

static void
test_moves_are_no_loss (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);

  sk_rename (a, "d", "e");
  sk_fleet_settle (fleet, 8);
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
  g_assert_true (sk_there (b, "e/file19"));
  g_assert_false (sk_there (b, "d"));
}

static void
test_equal_files_count (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  for (guint i = 0; i < 24; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i);

      sk_put_file (a, path, i % 2 == 0 ? "one of two texts" : "the other one", -1);
    }
  sk_fleet_share (fleet, "f");
  /* Both copies of everything go: that another one had the same content is no comfort. */
  remove_range (a, 0, 24);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 24);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
}

/* Ten GiB in few files. */
static void
test_ten_gib (void)
{
  g_autofree char *a = NULL, *b = NULL, *big = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "d/small", 30);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/big%u", a, i);
      int fd = open (path, O_WRONLY | O_CREAT, 0644);

      g_assert_cmpint (fd, >=, 0);
      g_assert_cmpint (ftruncate (fd, (off_t) (G_GINT64_CONSTANT (5) << 30) + (i << 20)), ==, 0);
      close (fd);
    }
  sk_fleet_share (fleet, "f");
  g_assert_true (sk_there (b, "big1"));
  sk_unlink (a, "big0");
  sk_sync_all (fleet, 1);
  g_assert_false (sk_there (b, "big0"));
  sk_unlink (a, "big1");
  sk_sync_all (fleet, 1);
  g_assert_true (sk_there (b, "big1"));
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
  sk_resolve (fleet, 0, "mass-change", "accept");
  sk_sync_all (fleet, 1);
  g_assert_false (sk_there (b, "big1"));
}

/* What was confirmed where it happened is asked nowhere else; what was not is held by everybody who gets it. */
static void
test_confirmed_once (void)
{
  g_autofree char *a = NULL, *b = NULL, *c = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (3, 20, &a, &b);

  c = sk_fleet_path (fleet, 2, "f");
  remove_range (a, 0, 16);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (c), ==, 20);
  sk_resolve (fleet, 0, "mass-change", "accept");
  sk_sync_all (fleet, 2);
  for (guint i = 0; i < 3; i++)
    sk_assert_no_issues (fleet, i);
  g_assert_cmpuint (sk_count_files (b), ==, 4);
  g_assert_cmpuint (sk_count_files (c), ==, 4);
}

/* A device that does not ask: tombstones without the flag, written past the guard. */
typedef struct { guint from, to; GPtrArray *records; } Forge;

static gboolean
forge_removals (SkSession *session, gpointer data, GError **error)
{
  Forge *forge = data;
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);
  gint64 folder = ((SkFolderRow *) folders->pdata[0])->row;
  guint64 seq;
  SkHash prev;

  if (!sk_log_next (session, &seq, &prev, error))
    return FALSE;
  for (guint i = forge->from; i < forge->to; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i);
      g_autoptr(SkNode) node = sk_index_node (session->index, folder, path, error);
      SkLocalChange change = { .folder = folder, .path = path, .generation = node->generation, .kind = SK_KIND_NONE,
                               .wall = sk_session_wall (session) };
      SkTreeOutcome outcome;

      if (!sk_tree_local (session->tree, &change, &session->who.writer, seq, forge->records, &outcome, error))
        return FALSE;
    }
  return sk_log_append (session, forge->records, error);
}

static void
forge (SkFleet *fleet, const char *a, guint from, guint to)
{
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  Forge call = { .from = from, .to = to, .records = records };
  g_autoptr(GError) error = NULL;

  remove_range (a, from, to);
  sk_session_transact (fleet->devices[0], forge_removals, &call, &error);
  g_assert_no_error (error);
  sk_sync (fleet, 0);
}

static void
test_incoming_held (void)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);

  forge (fleet, a, 0, 16);
  sk_sync (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
  g_assert_cmpuint (sk_issue (fleet, 1, "mass-change", &text), !=, 0);
  g_assert_nonnull (strstr (text, "device-0"));
  sk_fleet_restart (fleet, 1);
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
  sk_resolve (fleet, 1, "mass-change", "accept");
  sk_sync_all (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 4);
  g_assert_true (sk_in_trash (b, "d/file3", NULL));
}

static void
test_incoming_refused (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);

  forge (fleet, a, 0, 16);
  sk_sync (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
  sk_resolve (fleet, 1, "mass-change", "refuse");
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 20);
  g_assert_cmpuint (sk_count_files (a), ==, 20);
  sk_assert_equal_trees (fleet, "f");
}

/* --- replaced --- */

static void
overwrite (const char *dir, guint from, guint to, gboolean with_zeros)
{
  GRand *rand = g_rand_new_with_seed (16);
  guint8 bytes[1500] = { 0 };

  for (guint i = from; i < to; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i);

      for (guint k = 0; !with_zeros && k < sizeof bytes; k++)
        bytes[k] = (guint8) g_rand_int_range (rand, 0, 256);
      sk_put_file (dir, path, (const char *) bytes, sizeof bytes);
    }
  g_rand_free (rand);
}

static void
replaced (gboolean with_zeros, const char *choice)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL, *old = NULL, *again = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 50, &a, &b);

  old = sk_get_file (b, "d/file3");
  overwrite (a, 0, 40, with_zeros);
  sk_put_file (a, "d/file49", "an ordinary edit beside it", -1);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", &text), !=, 0);
  g_assert_nonnull (strstr (text, "40"));
  sk_assert_content (b, "d/file3", old);
  /* The rest goes on. */
  sk_assert_content (b, "d/file49", "an ordinary edit beside it");
  sk_fleet_restart (fleet, 0);
  sk_sync_all (fleet, 1);
  sk_assert_content (b, "d/file3", old);
  sk_resolve (fleet, 0, "mass-change", choice);
  sk_fleet_settle (fleet, 8);
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
  again = sk_get_file (b, "d/file3");
  if (g_str_equal (choice, "accept"))
    {
      g_assert_cmpstr (again, !=, old);
      g_assert_true (sk_in_trash (b, "d/file3", old));
    }
  else
    {
      g_assert_cmpstr (again, ==, old);
      sk_assert_content (a, "d/file3", old);
      g_assert_true (sk_in_trash (a, "d/file3", NULL));
    }
  sk_assert_equal_trees (fleet, "f");
}

static void
test_encrypted_refused (void)
{
  replaced (FALSE, "refuse");
}

static void
test_encrypted_accepted (void)
{
  replaced (FALSE, "accept");
}

static void
test_zeroed_refused (void)
{
  replaced (TRUE, "refuse");
}

static void
test_zeroed_accepted (void)
{
  replaced (TRUE, "accept");
}

/* Overwritten and renamed, as such programs do. */
static void
test_encrypted_and_renamed (void)
{
  g_autofree char *a = NULL, *b = NULL, *old = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 50, &a, &b);

  old = sk_get_file (b, "d/file3");
  overwrite (a, 0, 50, FALSE);
  for (guint i = 0; i < 50; i++)
    {
      g_autofree char *from = g_strdup_printf ("d/file%u", i), *to = g_strdup_printf ("d/file%u.locked", i);

      sk_rename (a, from, to);
    }
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
  sk_assert_content (b, "d/file3", old);
  sk_resolve (fleet, 0, "mass-change", "refuse");
  sk_fleet_settle (fleet, 8);
  sk_assert_content (a, "d/file3", old);
  sk_assert_content (b, "d/file3", old);
}

/* Few of them, and edits that stay text, are published without a question. */
static void
test_few_replaced (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 30, &a, &b);

  overwrite (a, 0, 4, FALSE);
  overwrite (a, 4, 8, TRUE);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  sk_put_many (a, "d/other", 30);
  for (guint i = 0; i < 30; i++)
    {
      g_autofree char *from = g_strdup_printf ("d/other%u", 29 - i), *to = g_strdup_printf ("d/file%u", i);

      sk_rename (a, from, to);
    }
  sk_fleet_settle (fleet, 8);
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
  sk_assert_equal_trees (fleet, "f");
}

/* A few at a time, by a program that is started for every pass. */
static void
test_few_at_a_time (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 30, &a, &b);

  for (guint i = 0; i < 5; i++)
    {
      remove_range (a, i * 3, i * 3 + 3);
      sk_sync (fleet, 0);
      sk_fleet_restart (fleet, 0);
    }
  sk_sync (fleet, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 18);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
  g_assert_cmpuint (sk_issue (fleet, 1, "mass-change", NULL), ==, 0);
}

static gboolean
forget_losses (SkSession *session, gpointer data, GError **error)
{
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);
  g_autofree char *key = g_strdup_printf ("recent-losses:%" G_GINT64_FORMAT, ((SkFolderRow *) folders->pdata[0])->row);

  return sk_index_set (session->index, key, "", 0, error);
}

/* A few at a time, by a device that forgets and so asks nobody: who gets it counts for himself. */
static void
test_incoming_replaced (void)
{
  g_autofree char *a = NULL, *b = NULL, *old = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 30, &a, &b);

  old = sk_get_file (b, "d/file3");
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr(GError) error = NULL;

      overwrite (a, i * 5, i * 5 + 5, i % 2 == 0);
      sk_sync (fleet, 0);
      sk_session_transact (fleet->devices[0], forget_losses, NULL, &error);
      g_assert_no_error (error);
      sk_fleet_restart (fleet, 0);
    }
  sk_sync (fleet, 1);
  sk_assert_content (b, "d/file3", old);
  g_assert_cmpuint (sk_issue (fleet, 1, "mass-change", &text), !=, 0);
  g_assert_nonnull (strstr (text, "device-0"));
  sk_resolve (fleet, 1, "mass-change", "refuse");
  sk_fleet_settle (fleet, 8);
  sk_assert_content (a, "d/file3", old);
  sk_assert_equal_trees (fleet, "f");
}

/* The same in an engine that watches. */
typedef struct { SkFleet *fleet; const char *dir; guint n; gboolean asked; } Watched;

static gboolean
is_so (gpointer data)
{
  Watched *watched = data;

  /* Slowly enough that the ten minutes of a mass change do not run out while a loaded machine gets there. */
  sk_clock_step (watched->fleet->clock, G_USEC_PER_SEC / 20);
  return (sk_issue (watched->fleet, 0, "mass-change", NULL) != 0) == watched->asked && sk_count_files (watched->dir) == watched->n;
}

/* Before the first pass of an engine has ended, it may not watch yet. */
static gboolean
is_watching (gpointer data)
{
  SkFleet *fleet = data;

  sk_clock_step (fleet->clock, G_USEC_PER_SEC / 20);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *state = sk_folder_state (fleet, i, "f");

      if (g_strcmp0 (state, "up-to-date") != 0)
        return FALSE;
    }
  return TRUE;
}

static int noted, wanted, checked;

static void
count_stages (const char *stage)
{
  if (strcmp (stage, "noted") == 0)
    g_atomic_int_inc (&noted);
  else if (strcmp (stage, "checked") == 0)
    g_atomic_int_inc (&checked);
}

static gboolean
all_noted (gpointer data)
{
  return g_atomic_int_get (&noted) >= wanted;
}

/* At one go also where time goes faster than the machine: told in parts, the first part might be small enough to pass. */
static void
remove_at_once (const char *dir, guint from, guint to)
{
  wanted = g_atomic_int_get (&noted) + (int) (to - from);
  remove_range (dir, from, to);
  g_assert_true (sk_wait (all_noted, NULL, 20));
}

static void
open_watching (SkFleet *fleet, SkClock *clock)
{
  for (guint i = 0; i < 2; i++)
    sk_fleet_close (fleet, i);
  sk_test_stage_hook = count_stages;
  fleet->clock = clock;
  fleet->watch = TRUE;
  for (guint i = 0; i < 2; i++)
    sk_fleet_open (fleet, i);
  g_assert_true (sk_wait (is_watching, fleet, 25));
}

static void
close_watching (SkFleet *fleet)
{
  for (guint i = 0; i < 2; i++)
    sk_fleet_close (fleet, i);
  sk_test_stage_hook = NULL;
}

static void
test_asked_while_watching (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  Watched asked = { .fleet = fleet, .dir = b, .n = 20, .asked = TRUE }, back = { .fleet = fleet, .dir = a, .n = 20 };
  Watched done = { .fleet = fleet, .dir = b, .n = 8 };

  open_watching (fleet, clock);
  remove_at_once (a, 0, 12);
  g_assert_true (sk_wait (is_so, &asked, 25));
  /* One more while it waits neither passes nor ends the question. */
  remove_at_once (a, 12, 13);
  for (guint i = 0; i < 40; i++)
    sk_clock_step (clock, G_USEC_PER_SEC / 4);
  g_assert_true (sk_wait (is_so, &asked, 25));
  sk_resolve (fleet, 0, "mass-change", "refuse");
  g_assert_true (sk_wait (is_so, &back, 25));
  remove_at_once (a, 0, 12);
  g_assert_true (sk_wait (is_so, &asked, 25));
  sk_resolve (fleet, 0, "mass-change", "accept");
  g_assert_true (sk_wait (is_so, &done, 25));
  close_watching (fleet);
}

/* What lay in a directory is met one by one and once more with the directory: it is one loss, and all of it comes back. */
static void
test_removed_with_its_directory (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  g_autofree char *d = g_build_filename (a, "d", NULL);
  Watched asked = { .fleet = fleet, .dir = b, .n = 20, .asked = TRUE }, back = { .fleet = fleet, .dir = a, .n = 20 };

  open_watching (fleet, clock);
  remove_at_once (a, 0, 20);
  g_assert_cmpint (g_rmdir (d), ==, 0);
  g_assert_true (sk_wait (is_so, &asked, 25));
  sk_resolve (fleet, 0, "mass-change", "refuse");
  g_assert_true (sk_wait (is_so, &back, 25));
  close_watching (fleet);
}

static gboolean
has_lost_none (gpointer data)
{
  SkFleet *fleet = data;
  g_autofree char *b = sk_fleet_path (fleet, 1, "f");

  return sk_issue (fleet, 0, "mass-change", NULL) == 0 && sk_count_files (b) == 20;
}

static gboolean
has_checked (gpointer data)
{
  return g_atomic_int_get (&checked) > *(int *) data;
}

/* The first files are quiet long before the last ones are removed: it is one removal all the same, and 'refuse' brings back all of it. */
static void
test_removed_in_parts (void)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  Watched asked = { .fleet = fleet, .dir = b, .n = 20, .asked = TRUE }, back = { .fleet = fleet, .dir = a, .n = 20 };

  open_watching (fleet, clock);
  for (guint i = 0; i < 4; i++)
    {
      int checks;

      remove_at_once (a, i * 4, i * 4 + 4);
      checks = g_atomic_int_get (&checked);
      sk_clock_step (clock, G_USEC_PER_SEC / 2);
      g_assert_true (sk_wait (has_checked, &checks, 20));
      g_assert_true (has_lost_none (fleet));
    }
  g_assert_true (sk_wait (is_so, &asked, 25));
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", &text), !=, 0);
  g_assert_nonnull (strstr (text, "16 files"));
  sk_resolve (fleet, 0, "mass-change", "refuse");
  g_assert_true (sk_wait (is_so, &back, 25));
  close_watching (fleet);
}

typedef struct { const char *path; gboolean has_base; } BaseCall;

static gboolean
look_at_base (SkSession *session, gpointer data, GError **error)
{
  BaseCall *call = data;
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);
  g_autoptr(SkNode) node = sk_index_node (session->index, ((SkFolderRow *) folders->pdata[0])->row, call->path, error);

  call->has_base = node != NULL && node->base.kind != SK_KIND_NONE;
  return error == NULL || *error == NULL;
}

static gboolean
has_moved (gpointer data)
{
  SkFleet *fleet = data;
  BaseCall from = { .path = "d/file3" }, to = { .path = "e" };
  g_autoptr(GError) error = NULL;

  sk_session_index (fleet->devices[0], look_at_base, &from, &error);
  g_assert_no_error (error);
  sk_session_index (fleet->devices[0], look_at_base, &to, &error);
  g_assert_no_error (error);
  return !from.has_base && to.has_base;
}

/* Renaming takes nothing away: it does not wait for more, not even beside a removal that does. */
static void
test_renamed_at_once (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 20, &a, &b);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  BaseCall removed = { .path = "d/file4" };
  g_autoptr(GError) error = NULL;

  open_watching (fleet, clock);
  remove_at_once (a, 4, 5);
  wanted = g_atomic_int_get (&noted) + 2;
  sk_rename (a, "d/file3", "e");
  g_assert_true (sk_wait (all_noted, NULL, 20));
  sk_clock_step (clock, G_USEC_PER_SEC / 2);
  g_assert_true (sk_wait (has_moved, fleet, 20));
  sk_session_index (fleet->devices[0], look_at_base, &removed, &error);
  g_assert_no_error (error);
  g_assert_true (removed.has_base);
  close_watching (fleet);
}

static gboolean
compare_with_nothing (SkSession *session, gpointer data, GError **error)
{
  const SkId none = { 0 };
  g_autoptr(SkEntry) entry = sk_entry_new (&none, "d/file0", SK_KIND_FILE);
  gboolean wiped = TRUE;

  return sk_mass_is_wiped (session, 0, entry, &wiped, error) && !wiped;
}

/* After a kill a file can lie here of which no content is known. What replaces it is no loss, and no reason to stop. */
static void
test_unknown_replaced (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (2, 1, &a, &b);
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_session_index (fleet->devices[1], compare_with_nothing, NULL, &error));
  g_assert_no_error (error);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mass/sit-B010/all-removed", test_all_removed);
  g_test_add_func ("/mass/sit-B010/most-removed", test_most_removed);
  g_test_add_func ("/mass/sit-B010/few-removed", test_few_removed);
  g_test_add_func ("/mass/sit-B012/dismissed", test_dismissed);
  g_test_add_func ("/mass/sit-B012/refused", test_refused);
  g_test_add_func ("/mass/sit-B010/put-back", test_put_back);
  g_test_add_func ("/mass/sit-B012/refused-while-it-moves", test_refused_while_it_moves);
  g_test_add_func ("/mass/rule-c17/a-thousand", test_a_thousand);
  g_test_add_func ("/mass/rule-c17/half-from-ten-on", test_half_from_ten_on);
  g_test_add_func ("/mass/rule-c17/moves-are-no-loss", test_moves_are_no_loss);
  g_test_add_func ("/mass/rule-c17/equal-files-count", test_equal_files_count);
  g_test_add_func ("/mass/rule-c17/ten-gib", test_ten_gib);
  g_test_add_func ("/mass/rule-c17/confirmed-once", test_confirmed_once);
  g_test_add_func ("/mass/rule-c17/incoming-held", test_incoming_held);
  g_test_add_func ("/mass/rule-c17/incoming-refused", test_incoming_refused);
  g_test_add_func ("/mass/rule-c17/few-at-a-time", test_few_at_a_time);
  g_test_add_func ("/mass/rule-c17/incoming-replaced", test_incoming_replaced);
  g_test_add_func ("/mass/rule-c17/unknown-replaced", test_unknown_replaced);
  g_test_add_func ("/mass/rule-c17/asked-while-watching", test_asked_while_watching);
  g_test_add_func ("/mass/rule-c17/removed-with-its-directory", test_removed_with_its_directory);
  g_test_add_func ("/mass/rule-c17/removed-in-parts", test_removed_in_parts);
  g_test_add_func ("/mass/rule-c17/renamed-at-once", test_renamed_at_once);
  g_test_add_func ("/mass/sit-B016/encrypted-refused", test_encrypted_refused);
  g_test_add_func ("/mass/sit-B016/encrypted-accepted", test_encrypted_accepted);
  g_test_add_func ("/mass/sit-B016/encrypted-and-renamed", test_encrypted_and_renamed);
  g_test_add_func ("/mass/sit-B016/few-replaced", test_few_replaced);
  g_test_add_func ("/mass/sit-B085/zeroed-refused", test_zeroed_refused);
  g_test_add_func ("/mass/sit-B085/zeroed-accepted", test_zeroed_accepted);
  return g_test_run ();
}
