/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is not there is not what a person removed: roots that went away, directories that cannot be read, lost databases. */
#include "sk-fleet-check.h"
#include "sk-test-hooks.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNTS_SKIP "needs the right to mount"

static gboolean may_mount;

static SkFleet *
fleet_with_files (guint n_files, char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (*a, "d/file", n_files);
  sk_fleet_share (fleet, "f");
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_count_files (*b), ==, n_files);
  return fleet;
}

static void
assert_unavailable (SkFleet *fleet, const char *b, guint n_files)
{
  for (guint pass = 0; pass < 3; pass++)
    {
      g_autofree char *state = NULL;

      sk_sync_all (fleet, 1);
      state = sk_folder_state (fleet, 0, "f");
      g_assert_cmpstr (state, ==, "unavailable");
      g_assert_cmpuint (sk_issue (fleet, 0, "folder-missing", NULL), !=, 0);
      g_assert_cmpuint (sk_count_files (b), ==, n_files);
    }
}

static void
assert_works_again (SkFleet *fleet, const char *a, const char *b, guint n_files)
{
  g_autofree char *state = NULL, *ours = NULL, *theirs = NULL;

  sk_put_file (a, "d/afterwards", "made after it came back", -1);
  sk_fleet_settle (fleet, 8);
  state = sk_folder_state (fleet, 0, "f");
  g_assert_cmpstr (state, ==, "up-to-date");
  g_assert_cmpuint (sk_issue (fleet, 0, "folder-missing", NULL), ==, 0);
  g_assert_cmpuint (sk_count_files (b), ==, n_files + 1);
  ours = sk_tree_listing (a);
  theirs = sk_tree_listing (b);
  g_assert_cmpstr (ours, ==, theirs);
}

/* The folder was renamed away and an empty one stands in its place. */
static void
test_root_replaced (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (50, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);

  sk_fleet_close (fleet, 0);
  g_assert_cmpint (g_rename (a, away), ==, 0);
  g_assert_cmpint (g_mkdir (a, 0755), ==, 0);
  sk_fleet_open (fleet, 0);
  assert_unavailable (fleet, b, 50);
  g_assert_false (sk_there (a, ".skerry"));
  g_assert_cmpint (g_rmdir (a), ==, 0);
  g_assert_cmpint (g_rename (away, a), ==, 0);
  assert_works_again (fleet, a, b, 50);
}

/* The same while the engine is running on it. */
static void
test_root_replaced_while_open (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (12, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);

  g_assert_cmpint (g_rename (a, away), ==, 0);
  assert_unavailable (fleet, b, 12);
  g_assert_cmpint (g_mkdir (a, 0755), ==, 0);
  assert_unavailable (fleet, b, 12);
  g_assert_cmpint (g_rmdir (a), ==, 0);
  g_assert_cmpint (g_rename (away, a), ==, 0);
  assert_works_again (fleet, a, b, 12);
}

/* An empty folder where the marker is gone, and the person says that this is it: what the vault has comes back. */
static void
test_emptied_and_accepted (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (12, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);

  g_assert_cmpint (g_rename (a, away), ==, 0);
  g_assert_cmpint (g_mkdir (a, 0755), ==, 0);
  sk_sync_all (fleet, 1);
  sk_resolve (fleet, 0, "folder-missing", "accept");
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 12);
  g_assert_cmpuint (sk_count_files (a), ==, 12);
  sk_assert_equal_trees (fleet, "f");
}

static void
set_capabilities (guint32 clear, guint32 set)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct data[2];

  if (geteuid () != 0)
    return;
  g_assert_cmpint ((int) syscall (SYS_capget, &header, data), ==, 0);
  data[0].effective = (data[0].effective & ~clear) | (set & data[0].permitted);
  g_assert_cmpint ((int) syscall (SYS_capset, &header, data), ==, 0);
}

/* For root nothing is unreadable: the threads of the next session go without that. */
static void
respect_modes (gboolean respect)
{
  const guint32 mask = (1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH);

  set_capabilities (respect ? mask : 0, respect ? 0 : mask);
}

static void
test_unreadable_directory (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (6, &a, &b);
  g_autofree char *dir = g_build_filename (a, "d", NULL);
  /* So few that a removal would not be asked about. */
  g_autofree char *before = sk_tree_listing (b), *after = NULL, *text = NULL;

  sk_fleet_close (fleet, 0);
  g_assert_cmpint (g_chmod (dir, 0), ==, 0);
  respect_modes (TRUE);
  sk_fleet_open (fleet, 0);
  respect_modes (FALSE);
  g_assert_true (sk_sync_attention (fleet, 0));
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_issue (fleet, 0, "failed-item", &text), !=, 0);
  g_assert_nonnull (strstr (text, "d"));
  g_assert_cmpuint (sk_count_files (b), ==, 6);
  g_assert_cmpint (g_chmod (dir, 0755), ==, 0);
  sk_fleet_restart (fleet, 0);
  sk_fleet_settle (fleet, 8);
  after = sk_tree_listing (b);
  g_assert_cmpstr (before, ==, after);
  sk_assert_no_issues (fleet, 0);
  /* A removal that can be seen is one. */
  sk_unlink (a, "d/file3");
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (b, "d/file3"));
}

static void
remove_database (SkFleet *fleet, guint i)
{
  g_autofree char *home = sk_fleet_home (fleet, i);

  for (guint k = 0; k < 3; k++)
    {
      static const char *const names[] = { "index.sqlite", "index.sqlite-wal", "index.sqlite-shm" };
      g_autofree char *path = g_build_filename (home, names[k], NULL);

      g_unlink (path);
    }
}

/* The database is gone: everything is met for the first time, nothing is deleted. */
static void
test_lost_database (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (40, &a, &b);

  sk_put_file (b, "d/of-b", "made on b", -1);
  sk_sync (fleet, 1);
  sk_fleet_close (fleet, 0);
  remove_database (fleet, 0);
  sk_unlink (a, "d/file7");              /* nobody knows that it was there */
  sk_put_file (a, "d/of-a", "made on a meanwhile", -1);
  sk_fleet_open (fleet, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 42);
  g_assert_true (sk_there (b, "d/file7"));
  g_assert_cmpuint (sk_count_names (b, "d"), ==, 1);
  sk_assert_content (b, "d/of-a", "made on a meanwhile");
  sk_assert_equal_trees (fleet, "f");
  for (guint i = 0; i < 2; i++)
    g_assert_cmpuint (sk_issue (fleet, i, "mass-change", NULL), ==, 0);
}

/* A full folder meets a new vault with an empty storage. */
static void
test_first_contact_with_empty_storage (void)
{
  g_autofree char *a = NULL, *b = NULL, *c = NULL;
  g_autoptr(SkFleet) old = fleet_with_files (40, &a, &b);
  g_autoptr(SkFleet) fresh = sk_fleet_new (2, FALSE);

  g_variant_unref (sk_fleet_run (old, 0, "folder.detach", "{'name': <'f'>}"));
  sk_fleet_close (old, 0);
  remove_database (old, 0);
  g_variant_unref (sk_fleet_run (fresh, 0, "folder.add", "{'name': <'g'>, 'path': <%^ay>}", a));
  sk_sync (fresh, 0);
  g_assert_cmpuint (sk_count_files (a), ==, 40);
  sk_sync (fresh, 1);
  c = sk_fleet_path (fresh, 1, "g");
  g_variant_unref (sk_fleet_run (fresh, 1, "folder.attach", "{'name': <'g'>, 'path': <%^ay>}", c));
  sk_fleet_settle (fresh, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 40);
  g_assert_cmpuint (sk_count_files (c), ==, 40);
  /* The other way: a full folder on the other device meets what is there already. */
  sk_put_many (c, "d/of-c", 5);
  sk_fleet_settle (fresh, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 45);
}

/* The folder was given by a link, and the link is turned to another directory. */
static void
test_link_turned_elsewhere (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  g_autofree char *real = sk_fleet_path (fleet, 0, "real"), *other = sk_fleet_path (fleet, 0, "other");
  g_autofree char *link = g_build_filename (fleet->base, "0", "f", NULL), *b = NULL;

  sk_put_many (real, "d/file", 15);
  g_assert_cmpint (symlink ("real", link), ==, 0);
  sk_fleet_share (fleet, "f");
  b = sk_fleet_path (fleet, 1, "f");
  g_assert_cmpuint (sk_count_files (b), ==, 15);
  g_assert_cmpint (g_unlink (link), ==, 0);
  g_assert_cmpint (symlink ("other", link), ==, 0);
  assert_unavailable (fleet, b, 15);
  g_assert_false (sk_there (other, "d"));
  g_assert_cmpint (g_unlink (link), ==, 0);
  g_assert_cmpint (symlink ("real", link), ==, 0);
  assert_works_again (fleet, real, b, 15);
}

static void
test_mount_over_root (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = NULL;

  if (!may_mount)
    {
      g_test_skip (MOUNTS_SKIP);
      return;
    }
  fleet = fleet_with_files (15, &a, &b);
  g_assert_cmpint (mount ("none", a, "tmpfs", 0, "size=1m"), ==, 0);
  assert_unavailable (fleet, b, 15);
  sk_fleet_restart (fleet, 0);
  assert_unavailable (fleet, b, 15);
  g_assert_cmpuint (sk_count_names (a, ""), ==, 0);
  g_assert_cmpint (umount (a), ==, 0);
  assert_works_again (fleet, a, b, 15);
}

/* A disk inside of the folder goes and comes (RULES A10). */
static void
test_mount_inside (void)
{
  g_autofree char *a = NULL, *b = NULL, *photos = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = NULL;

  if (!may_mount)
    {
      g_test_skip (MOUNTS_SKIP);
      return;
    }
  fleet = fleet_with_files (5, &a, &b);
  photos = g_build_filename (a, "photos", NULL);
  sk_put_many (a, "photos/p", 8);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 13);
  /* Something is mounted over it: an empty, readable directory. */
  g_assert_cmpint (mount ("none", photos, "tmpfs", 0, "size=1m"), ==, 0);
  sk_put_file (a, "photos/on-the-disk", "not part of the folder", -1);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_files (b), ==, 13);
  g_assert_false (sk_there (b, "photos/on-the-disk"));
  g_assert_cmpuint (sk_issue (fleet, 0, "unavailable", &text), !=, 0);
  g_assert_nonnull (strstr (text, "photos"));
  /* What the others write there waits and is not written into the other disk. */
  sk_put_file (b, "photos/of-b", "from b", -1);
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (a, "photos/of-b"));
  g_assert_cmpint (umount (photos), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 14);
  sk_assert_content (a, "photos/of-b", "from b");
  sk_assert_equal_trees (fleet, "f");
  g_assert_cmpuint (sk_issue (fleet, 0, "unavailable", NULL), ==, 0);
}

/* A disk that was mounted inside from the beginning is not entered, and its going away deletes nothing. */
static void
test_mount_inside_from_the_beginning (void)
{
  g_autofree char *a = NULL, *b = NULL, *usb = NULL;
  g_autoptr(SkFleet) fleet = NULL;

  if (!may_mount)
    {
      g_test_skip (MOUNTS_SKIP);
      return;
    }
  fleet = fleet_with_files (5, &a, &b);
  usb = g_build_filename (a, "usb", NULL);
  g_assert_cmpint (g_mkdir (usb, 0755), ==, 0);
  g_assert_cmpint (mount ("none", usb, "tmpfs", 0, "size=1m"), ==, 0);
  sk_put_many (a, "usb/x", 6);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_issues (fleet, 0), >, 0);
  g_assert_cmpuint (sk_count_files (b), ==, 5);
  g_assert_cmpint (umount (usb), ==, 0);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_files (b), ==, 5);
  g_assert_cmpuint (sk_count_files (a), ==, 5);
}

/* The folder is not there when the engine starts, comes, goes and comes again while it runs. */
typedef struct { SkFleet *fleet; guint device; const char *state; const char *dir, *path; } Wanted;

static gboolean
has_state (gpointer data)
{
  Wanted *wanted = data;
  g_autofree char *state = sk_folder_state (wanted->fleet, wanted->device, "f");

  if (wanted->fleet->clock != NULL)
    sk_clock_step (wanted->fleet->clock, G_USEC_PER_SEC);
  return g_strcmp0 (state, wanted->state) == 0;
}

static gboolean
has_file (gpointer data)
{
  Wanted *wanted = data;

  sk_clock_step (wanted->fleet->clock, G_USEC_PER_SEC);
  return sk_there (wanted->dir, wanted->path);
}

static void
test_root_away_for_a_while (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (12, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);
  g_autoptr(SkClock) clock = sk_clock_new_stepped (g_get_real_time ());
  Wanted gone = { .fleet = fleet, .state = "unavailable" }, there = { .fleet = fleet, .state = "up-to-date" };
  Wanted arrived = { .fleet = fleet, .dir = b, .path = "d/while-away" };

  for (guint i = 0; i < 2; i++)
    sk_fleet_close (fleet, i);
  g_assert_cmpint (g_rename (a, away), ==, 0);
  sk_put_file (away, "d/while-away", "made while the folder was away", -1);
  fleet->clock = clock;
  fleet->watch = TRUE;
  for (guint i = 0; i < 2; i++)
    sk_fleet_open (fleet, i);
  g_assert_true (sk_wait (has_state, &gone, 30));
  sk_clock_step (clock, (gint64) 120 * G_USEC_PER_SEC);
  g_assert_cmpuint (sk_count_files (b), ==, 12);
  g_assert_cmpint (g_rename (away, a), ==, 0);
  g_assert_true (sk_wait (has_file, &arrived, 30));
  g_assert_true (sk_wait (has_state, &there, 30));
  /* And once more while it is watched. */
  g_assert_cmpint (g_rename (a, away), ==, 0);
  g_assert_true (sk_wait (has_state, &gone, 30));
  g_assert_cmpuint (sk_count_files (b), ==, 13);
  g_assert_cmpint (g_rename (away, a), ==, 0);
  g_assert_true (sk_wait (has_state, &there, 30));
  g_assert_cmpuint (sk_count_files (b), ==, 13);
  sk_assert_no_issues (fleet, 0);
  for (guint i = 0; i < 2; i++)
    sk_fleet_close (fleet, i);
}

/* The folder lies on a disk with other numbers than before, or was restored: it is looked at (RULES C12). */
static void
copy_tree (const char *from, const char *to)
{
  const char *argv[] = { "cp", "-a", from, to, NULL };
  int status = -1;
  g_autoptr(GError) error = NULL;

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
}

static void
test_new_numbers_adopted (void)
{
  g_autofree char *a = NULL, *b = NULL, *state = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (30, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);

  g_assert_cmpint (g_rename (a, away), ==, 0);
  copy_tree (away, a);
  sk_sync_all (fleet, 2);
  state = sk_folder_state (fleet, 0, "f");
  g_assert_cmpstr (state, ==, "up-to-date");
  sk_assert_no_issues (fleet, 0);
  sk_assert_equal_trees (fleet, "f");
  /* From now on as always: a removal is one, without a question. */
  sk_unlink (a, "d/file1");
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (b, "d/file1"));
}

static void
test_new_numbers_deletions_wait (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (30, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);

  g_assert_cmpint (g_rename (a, away), ==, 0);
  copy_tree (away, a);
  sk_unlink (a, "d/file1");
  sk_unlink (a, "d/file2");
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_files (b), ==, 30);
  g_assert_cmpuint (sk_issue (fleet, 0, "mass-change", NULL), !=, 0);
  sk_resolve (fleet, 0, "mass-change", "accept");
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 28);
  sk_assert_no_issues (fleet, 0);
  sk_unlink (a, "d/file3");
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (b), ==, 27);
}

static void
test_new_numbers_refused (void)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (30, &a, &b);
  g_autofree char *away = g_strconcat (a, ".real", NULL);

  g_assert_cmpint (g_rename (a, away), ==, 0);
  copy_tree (away, a);
  for (guint i = 0; i < 9; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/file%u", i);

      sk_unlink (a, path);
    }
  assert_unavailable (fleet, b, 30);
  sk_issue (fleet, 0, "folder-missing", &text);
  g_assert_nonnull (strstr (text, "accept"));
  sk_resolve (fleet, 0, "folder-missing", "accept");
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (sk_count_files (a), ==, 30);
  g_assert_cmpuint (sk_count_files (b), ==, 30);
  sk_assert_no_issues (fleet, 0);
  sk_assert_equal_trees (fleet, "f");
}

/* --- the two ways at once --- */

static SkFleet *racing;          /* device 1 brings itself up to date while its listing waits to be compared */

static void
receive_in_between (const char *stage)
{
  SkFleet *fleet = racing;
  g_autoptr(GError) error = NULL;
  SkDownResult result;

  if (fleet == NULL || strcmp (stage, "listed") != 0)
    return;
  racing = NULL;
  sk_down_result_init (&result);
  g_assert_true (sk_down_sync (fleet->devices[1]->down, NULL, 0, &result, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (result.dirty_left, ==, 0);
  sk_down_result_clear (&result);
}

static void
sync_with_old_listing (SkFleet *fleet)
{
  sk_sync (fleet, 0);
  racing = fleet;
  sk_test_stage_hook = receive_in_between;
  sk_sync (fleet, 1);
  sk_test_stage_hook = NULL;
  g_assert_null (racing);
  sk_fleet_settle (fleet, 8);
}

static gboolean
read_position (SkSession *session, gpointer position, GError **error)
{
  sk_index_position (session->index, &session->who.writer, position);
  return TRUE;
}

/* Segments that device @i wrote. */
static guint
published (SkFleet *fleet, guint i)
{
  SkPosition position = { .seq = 0 };

  g_assert_true (sk_session_index (fleet->devices[i], read_position, &position, NULL));
  return (guint) position.seq;
}

/* A listing that is older than what the way down put there: nothing was removed. */
static void
test_old_listing_removes_nothing (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (3, &a, &b);

  sk_put_many (a, "d/new", 30);
  sk_put_file (a, "e/f/deep", "x", -1);
  sync_with_old_listing (fleet);
  g_assert_cmpuint (sk_count_files (b), ==, 34);
  sk_assert_equal_trees (fleet, "f");
  /* Nor for a while, until it was found again. */
  g_assert_false (sk_in_trash (a, "e/f/deep", NULL));
  g_assert_cmpuint (published (fleet, 1), ==, 0);
  g_assert_cmpuint (sk_issue (fleet, 1, "mass-change", NULL), ==, 0);
}

/* The same with a mode, a content and a name: nothing is taken back. */
static void
test_old_listing_changes_nothing (void)
{
  g_autofree char *a = NULL, *b = NULL, *dir = NULL, *file = NULL, *from = NULL, *to = NULL;
  g_autoptr(SkFleet) fleet = fleet_with_files (3, &a, &b);
  struct stat st;

  dir = g_build_filename (a, "d", NULL);
  file = g_build_filename (a, "d/file0", NULL);
  from = g_build_filename (a, "d/file1", NULL);
  to = g_build_filename (a, "d/moved", NULL);
  g_assert_cmpint (chmod (dir, 0700), ==, 0);
  g_assert_cmpint (chmod (file, 0600), ==, 0);
  g_assert_cmpint (g_rename (from, to), ==, 0);
  sk_put_file (a, "d/file2", "new content", -1);
  sync_with_old_listing (fleet);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (b, "d/file2", "new content");
  g_assert_false (sk_there (a, "d/file1"));
  g_assert_true (sk_there (a, "d/moved"));
  g_assert_cmpint (stat (dir, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
  g_assert_cmpint (stat (file, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0600);
  g_assert_cmpuint (sk_count_files (a), ==, 3);
  g_assert_cmpuint (published (fleet, 1), ==, 0);
}

int
main (int argc, char **argv)
{
  /* Mounts of this test are its own, whatever happens to it. */
  may_mount = unshare (CLONE_NEWNS) == 0 && mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/absence/sit-B001/root-replaced", test_root_replaced);
  g_test_add_func ("/absence/sit-B001/root-replaced-while-open", test_root_replaced_while_open);
  g_test_add_func ("/absence/sit-B001/emptied-and-accepted", test_emptied_and_accepted);
  g_test_add_func ("/absence/sit-B005/unreadable-directory", test_unreadable_directory);
  g_test_add_func ("/absence/sit-B008/lost-database", test_lost_database);
  g_test_add_func ("/absence/sit-B008/empty-storage", test_first_contact_with_empty_storage);
  g_test_add_func ("/absence/sit-B013/link-turned-elsewhere", test_link_turned_elsewhere);
  g_test_add_func ("/absence/sit-B015/mount-over-root", test_mount_over_root);
  g_test_add_func ("/absence/sit-B178/root-away-for-a-while", test_root_away_for_a_while);
  g_test_add_func ("/absence/rule-a10/mount-inside", test_mount_inside);
  g_test_add_func ("/absence/rule-a10/mount-inside-from-the-beginning", test_mount_inside_from_the_beginning);
  g_test_add_func ("/absence/rule-c12/adopted", test_new_numbers_adopted);
  g_test_add_func ("/absence/rule-c12/deletions-wait", test_new_numbers_deletions_wait);
  g_test_add_func ("/absence/rule-c12/another-disk", test_new_numbers_refused);
  g_test_add_func ("/absence/old-listing/removes-nothing", test_old_listing_removes_nothing);
  g_test_add_func ("/absence/old-listing/changes-nothing", test_old_listing_changes_nothing);
  return g_test_run ();
}
