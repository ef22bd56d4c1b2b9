/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Homes and storages that are older than what is known: copied, restored, rolled back. */
#include "sk-fleet-check.h"
#include "sk-flow.h"
#include "sk-test-hooks.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
run (const char *first, ...)
{
  g_autoptr(GPtrArray) argv = g_ptr_array_new ();
  g_autoptr(GError) error = NULL;
  int status = -1;
  va_list args;

  g_ptr_array_add (argv, (char *) first);
  va_start (args, first);
  while (argv->pdata[argv->len - 1] != NULL)
    g_ptr_array_add (argv, va_arg (args, char *));
  va_end (args);
  g_spawn_sync (NULL, (char **) argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
}

static void
copy (const char *from, const char *to)
{
  run ("cp", "-a", from, to, NULL);
}

static void
forget_everything (const char *home)
{
  g_autofree char *db = g_build_filename (home, "index.sqlite", NULL), *wal = g_strconcat (db, "-wal", NULL), *shm = g_strconcat (db, "-shm", NULL);

  run ("rm", "-f", db, wal, shm, NULL);
}

static SkFleet *
share_files (char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (*a, "d/file", 12);
  sk_fleet_share (fleet, "f");
  return fleet;
}

static SkId
writer_of (SkFleet *fleet, guint i)
{
  return fleet->devices[i]->who.writer;
}

/* Into the files that are there, so that they keep their inodes: a restore that nothing but the log gives away. */
static void
restore_in_place (const char *from, const char *to)
{
  g_autoptr(GDir) dir = g_dir_open (to, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *old = g_build_filename (from, name, NULL), *now = g_build_filename (to, name, NULL);

      if (!g_file_test (now, G_FILE_TEST_IS_REGULAR))
        continue;
      if (!g_file_test (old, G_FILE_TEST_EXISTS))
        g_assert_cmpint (g_unlink (now), ==, 0);
      else
        run ("cp", "--preserve=mode,timestamps", old, now, NULL);
    }
}

/* The home comes from a backup; the folder is as it is now. */
static void
home_restored (gboolean in_place)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *backup = NULL;
  g_autoptr(SkFleet) fleet = share_files (&a, &b);
  SkId before;

  home = sk_fleet_home (fleet, 0);
  backup = g_strconcat (home, ".backup", NULL);
  sk_fleet_close (fleet, 0);
  copy (home, backup);
  sk_fleet_open (fleet, 0);
  before = writer_of (fleet, 0);
  /* After the backup: made, edited and removed here, all published; and something by the other one. */
  sk_put_file (a, "d/made-later", "made after the backup", -1);
  sk_put_file (a, "d/file1", "edited after the backup", -1);
  sk_unlink (a, "d/file2");
  sk_sync_all (fleet, 1);
  sk_put_file (b, "d/file3", "edited on b after the backup", -1);
  sk_sync_all (fleet, 2);
  sk_fleet_close (fleet, 0);
  if (in_place)
    restore_in_place (backup, home);
  else
    {
      g_autofree char *away = g_strconcat (home, ".away", NULL);

      g_assert_cmpint (g_rename (home, away), ==, 0);
      g_assert_cmpint (g_rename (backup, home), ==, 0);
    }
  sk_fleet_open (fleet, 0);
  sk_put_file (a, "d/made-last", "made after the restore", -1);
  sk_unlink (a, "d/file5");            /* while nobody looked: nobody can tell that from a lost file, so it comes back */
  sk_fleet_settle (fleet, 10);
  {
    SkId after = writer_of (fleet, 0);

    g_assert_false (sk_id_equal (&before, &after));
  }
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "d/made-later", "made after the backup");
  sk_assert_content (b, "d/file1", "edited after the backup");
  sk_assert_content (b, "d/file3", "edited on b after the backup");
  sk_assert_content (b, "d/made-last", "made after the restore");
  g_assert_false (sk_there (b, "d/file2"));
  g_assert_true (sk_there (b, "d/file5"));
  g_assert_cmpuint (sk_count_files (b), ==, 13);
  for (guint i = 0; i < 2; i++)
    g_assert_cmpuint (sk_issue (fleet, i, "mass-change", NULL), ==, 0);
  /* From now on as always. */
  sk_put_file (a, "d/file6", "edited at last", -1);
  sk_unlink (b, "d/file7");
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, "d/file6", "edited at last");
  g_assert_false (sk_there (a, "d/file7"));
}

static void
test_home_restored (void)
{
  home_restored (FALSE);
}

static void
test_home_restored_in_place (void)
{
  home_restored (TRUE);
}

/* The home is copied to another machine, and both are used. */
static void
test_home_copied (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *home_original = NULL, *home_clone = NULL, *f_original = NULL, *f_clone = NULL;
  g_autoptr(SkFleet) fleet = share_files (&a, &b);
  SkId original, clone;

  home = sk_fleet_home (fleet, 0);
  home_original = g_strconcat (home, ".original", NULL);
  home_clone = g_strconcat (home, ".clone", NULL);
  f_original = g_strconcat (a, ".original", NULL);
  f_clone = g_strconcat (a, ".clone", NULL);
  sk_fleet_close (fleet, 0);
  copy (home, home_clone);
  copy (a, f_clone);
  sk_fleet_open (fleet, 0);
  original = writer_of (fleet, 0);
  for (guint round = 0; round < 3; round++)
    {
      g_autofree char *of_original = g_strdup_printf ("original, round %u", round), *of_clone = g_strdup_printf ("clone, round %u", round);
      g_autofree char *name = g_strdup_printf ("d/o%u", round), *clone_name = g_strdup_printf ("d/c%u", round);

      /* Each of the two machines has its own home and folder at the same paths. */
      sk_put_file (a, "d/file1", of_original, -1);
      sk_put_file (a, name, of_original, -1);
      sk_sync (fleet, 0);
      sk_fleet_close (fleet, 0);
      g_assert_cmpint (g_rename (home, home_original), ==, 0);
      g_assert_cmpint (g_rename (home_clone, home), ==, 0);
      g_assert_cmpint (g_rename (a, f_original), ==, 0);
      g_assert_cmpint (g_rename (f_clone, a), ==, 0);
      sk_fleet_open (fleet, 0);
      clone = writer_of (fleet, 0);
      g_assert_false (sk_id_equal (&original, &clone));
      sk_put_file (a, "d/file1", of_clone, -1);
      sk_put_file (a, clone_name, of_clone, -1);
      sk_sync (fleet, 0);
      sk_sync (fleet, 1);
      sk_fleet_close (fleet, 0);
      g_assert_cmpint (g_rename (home, home_clone), ==, 0);
      g_assert_cmpint (g_rename (home_original, home), ==, 0);
      g_assert_cmpint (g_rename (a, f_clone), ==, 0);
      g_assert_cmpint (g_rename (f_original, a), ==, 0);
      sk_fleet_open (fleet, 0);
      sk_sync_all (fleet, 2);
      g_assert_cmpuint (sk_count_content (b, of_original), >=, 1);
      g_assert_cmpuint (sk_count_content (b, of_clone), >=, 1);
      sk_assert_content (b, name, of_original);
      sk_assert_content (b, clone_name, of_clone);
    }
  sk_fleet_settle (fleet, 10);
  sk_assert_equal_trees (fleet, "f");
  for (guint i = 0; i < 12; i++)
    {
      g_autofree char *name = g_strdup_printf ("d/file%u", i);

      g_assert_true (sk_there (b, name));
    }
}

/* The folder comes from an old backup as well: what is old takes no name from what is new (RULES A6). */
static void
test_stale_folder (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *old = NULL, *away = NULL;
  g_autoptr(SkFleet) fleet = share_files (&a, &b);

  old = g_strconcat (a, ".old", NULL);
  away = g_strconcat (a, ".away", NULL);
  home = sk_fleet_home (fleet, 0);
  copy (a, old);
  sk_put_file (old, "d/file0", "edited in the old copy only", -1);
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *name = g_strdup_printf ("d/file%u", i), *text = g_strdup_printf ("current text of %u", i);

      sk_put_file (b, name, text, -1);
    }
  sk_put_file (b, "d/newer", "only in the vault", -1);
  sk_fleet_settle (fleet, 8);
  sk_fleet_close (fleet, 0);
  forget_everything (home);
  g_assert_cmpint (g_rename (a, away), ==, 0);
  g_assert_cmpint (g_rename (old, a), ==, 0);
  sk_fleet_open (fleet, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *name = g_strdup_printf ("d/file%u", i), *text = g_strdup_printf ("current text of %u", i);

      sk_assert_content (b, name, text);
    }
  sk_assert_content (a, "d/newer", "only in the vault");
  /* Old versions that the vault knows are no copies; what nobody knew is one. */
  g_assert_cmpuint (sk_count_content (b, "edited in the old copy only"), ==, 1);
  g_assert_cmpuint (sk_count_files (b), ==, 14);
}

/* The storage is set back to an earlier state. */
static void
storage_rolled_back (gboolean seen_by_b)
{
  g_autofree char *a = NULL, *b = NULL, *backup = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = share_files (&a, &b);

  backup = g_strconcat (fleet->storage, ".backup", NULL);
  copy (fleet->storage, backup);
  sk_put_many (a, "d/later", 10);
  for (guint i = 0; i < 5; i++)
    {
      g_autofree char *name = g_strdup_printf ("d/file%u", i);

      sk_put_file (a, name, "edited after the backup of the storage", -1);
    }
  sk_unlink (a, "d/file9");
  sk_sync (fleet, 0);
  if (seen_by_b)
    sk_sync (fleet, 1);
  for (guint i = 0; i < 2; i++)
    sk_fleet_close (fleet, i);
  run ("rm", "-rf", fleet->storage, NULL);
  copy (backup, fleet->storage);
  sk_fleet_open (fleet, 0);
  sk_sync (fleet, 0);
  g_assert_cmpuint (sk_issue (fleet, 0, "rolled-back", &text), !=, 0);
  g_assert_nonnull (strstr (text, "main"));
  g_assert_cmpuint (sk_count_files (a), ==, 21);
  sk_fleet_open (fleet, 1);
  sk_fleet_settle (fleet, 10);
  g_assert_cmpuint (sk_count_files (a), ==, 21);
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_count_content (b, "edited after the backup of the storage"), ==, 5);
  /* Somebody who has nothing gets everything from it. */
  {
    g_autofree char *home = sk_fleet_home (fleet, 1), *away = g_strconcat (b, ".away", NULL);

    sk_fleet_close (fleet, 1);
    forget_everything (home);
    run ("find", b, "-type", "f", "-not", "-path", "*/.skerry/*", "-delete", NULL);
    sk_fleet_open (fleet, 1);
    sk_fleet_settle (fleet, 10);
    g_assert_cmpuint (sk_count_files (a), ==, 21);
    sk_assert_equal_trees (fleet, "f");
  }
}

static void
test_storage_rolled_back (void)
{
  storage_rolled_back (FALSE);
}

static void
test_storage_rolled_back_seen (void)
{
  storage_rolled_back (TRUE);
}

/* --- the two ways at once --- */

static SkFleet *racing;          /* device 1 publishes between two steps of its own pull */

static void
publish_in_between (const char *stage)
{
  SkFleet *fleet = racing;
  g_autoptr(GError) error = NULL;
  SkUpResult result;

  if (fleet == NULL || strcmp (stage, "pull") != 0)
    return;
  racing = NULL;
  g_assert_true (sk_up_sync (fleet->devices[1]->up, NULL, 0, &result, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (result.ok);
  sk_up_result_clear (&result);
}

/* A head that the way up puts while the heads are read is not ahead of this device. */
static void
test_own_head_while_pulling (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = share_files (&a, &b);
  SkId writer = writer_of (fleet, 1);

  sk_sync_all (fleet, 1);
  sk_put_file (b, "d/new", "published while the heads were read", -1);
  racing = fleet;
  sk_test_stage_hook = publish_in_between;
  sk_sync (fleet, 1);
  sk_test_stage_hook = NULL;
  g_assert_null (racing);
  g_assert_cmpuint (sk_issue (fleet, 1, "restored", NULL), ==, 0);
  g_assert_true (sk_id_equal (&writer, &fleet->devices[1]->who.writer));
  sk_put_file (b, "d/newer", "goes on in the same log", -1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
}

/* It gave up waiting for the storage: it looks at its folders now. */
static gboolean
has_compared (gpointer data)
{
  SkSession *session = data;

  sk_clock_step (session->clock, G_USEC_PER_SEC);
  return g_atomic_int_get (&session->compared);
}

typedef struct { SkFleet *fleet; const char *path; } Arrived;

static gboolean
has_arrived (gpointer data)
{
  Arrived *arrived = data;
  g_autofree char *a = sk_fleet_path (arrived->fleet, 0, "f");

  sk_clock_step (arrived->fleet->clock, G_USEC_PER_SEC);
  sk_sync (arrived->fleet, 0);
  return sk_there (a, arrived->path);
}

/* A database that was lost while the storage was away: nothing is put there before it was read, or the new head would be older than the one that the
 * others know. */
static void
test_lost_while_storage_away (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *away = NULL;
  g_autoptr(SkFleet) fleet = share_files (&a, &b);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  Arrived arrived = { .fleet = fleet, .path = "d/while-away" };

  for (guint i = 0; i < 6; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/before%u", i);

      sk_put_file (b, path, path, -1);
      sk_sync_all (fleet, 1);
    }
  sk_fleet_close (fleet, 1);
  home = sk_fleet_home (fleet, 1);
  forget_everything (home);
  away = g_strconcat (fleet->storage, ".away", NULL);
  g_assert_cmpint (g_rename (fleet->storage, away), ==, 0);
  sk_put_file (b, "d/while-away", "made while the storage was away", -1);
  fleet->clock = clock;
  fleet->watch = TRUE;
  sk_fleet_open (fleet, 1);
  g_assert_true (sk_wait (has_compared, fleet->devices[1], 25));
  g_assert_cmpint (g_rename (away, fleet->storage), ==, 0);
  /* What is due is put there before anything is read, as it would be by a change that is made right now. */
  sk_up_publish (fleet->devices[1]->up);
  g_assert_true (sk_wait (has_arrived, &arrived, 25));
  sk_assert_no_issues (fleet, 0);
  sk_fleet_close (fleet, 1);
  fleet->watch = FALSE;
  fleet->clock = NULL;
  sk_fleet_open (fleet, 1);
  sk_fleet_settle (fleet, 8);
  sk_assert_equal_trees (fleet, "f");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/forks/rule-a5/home-restored", test_home_restored);
  g_test_add_func ("/forks/rule-a5/home-restored-in-place", test_home_restored_in_place);
  g_test_add_func ("/forks/rule-a5/home-copied", test_home_copied);
  g_test_add_func ("/forks/rule-a5/own-head-while-pulling", test_own_head_while_pulling);
  g_test_add_func ("/forks/rule-b3/lost-while-storage-away", test_lost_while_storage_away);
  g_test_add_func ("/forks/rule-a6/stale-folder", test_stale_folder);
  g_test_add_func ("/forks/sit-B009/storage-rolled-back", test_storage_rolled_back);
  g_test_add_func ("/forks/sit-B009/storage-rolled-back-seen", test_storage_rolled_back_seen);
  return g_test_run ();
}
