/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disks that keep less than a file has: no modes, times of two seconds, no links. What they cannot keep stays as it is in the vault. */
#include "sk-fleet-check.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static guint
mode_of (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  struct stat st;

  g_assert_cmpint (lstat (full, &st), ==, 0);
  return st.st_mode & 07777;
}

static void
set_mode (const char *dir, const char *path, guint mode)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (g_chmod (full, (int) mode), ==, 0);
}

static void
set_time (const char *dir, const char *path, gint64 seconds, long nanoseconds)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  const struct timespec times[2] = { { .tv_sec = seconds, .tv_nsec = nanoseconds }, { .tv_sec = seconds, .tv_nsec = nanoseconds } };

  g_assert_cmpint (utimensat (AT_FDCWD, full, times, 0), ==, 0);
}

static gint64
time_of (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  struct stat st;

  g_assert_cmpint (lstat (full, &st), ==, 0);
  return (gint64) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* What the folder sent in one pass. */
static guint64
sent_files (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_sync (fleet, i), sent = g_variant_lookup_value (reply, "sent", NULL);
  guint64 files = 0;

  g_assert_true (g_variant_lookup (sent, "files", "t", &files));
  return files;
}

static SkRoot *
root_of (SkFleet *fleet, guint i)
{
  g_autoptr(SkConfig) config = sk_session_config (fleet->devices[i]);

  g_assert_cmpuint (config->folders->len, ==, 1);
  return sk_root_ref (((SkFlowFolder *) config->folders->pdata[0])->root);
}

static guint
segments (SkFleet *fleet)
{
  guint n = 0;
  g_autofree char *out = NULL;
  const char *argv[] = { "find", fleet->storage, "-path", "*/log/*", "-type", "f", NULL };

  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, NULL, NULL));
  for (const char *p = out; *p != '\0'; p++)
    n += *p == '\n';
  return n;
}

static void
make_source (const char *a)
{
  sk_put_file (a, "run", "a program", -1);
  sk_put_file (a, "open", "for everybody", -1);
  sk_put_file (a, "d/private", "private", -1);
  set_mode (a, "run", 0755);
  set_mode (a, "open", 0777);
  set_mode (a, "d/private", 0600);
  set_mode (a, "d", 0700);
  set_time (a, "run", 1234567891, 123456789);
  set_time (a, "open", 1600000001, 1);
}

static void
assert_source_as_it_was (const char *a)
{
  g_assert_cmpuint (mode_of (a, "run"), ==, 0755);
  g_assert_cmpuint (mode_of (a, "open"), ==, 0777);
  g_assert_cmpuint (mode_of (a, "d/private"), ==, 0600);
  g_assert_cmpuint (mode_of (a, "d"), ==, 0700);
}

/* What every disk without modes has to stand, whatever it is. @b lies on it. */
static void
check_modes (SkFleet *fleet, const char *a, const char *b, void (*again) (SkFleet *fleet))
{
  guint before;

  sk_assert_content (b, "run", "a program");
  again (fleet);
  before = segments (fleet);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (sent_files (fleet, 1), ==, 0);
      g_assert_cmpuint (sent_files (fleet, 0), ==, 0);
    }
  g_assert_cmpuint (segments (fleet), ==, before);
  assert_source_as_it_was (a);
  g_assert_cmpint (time_of (a, "run"), ==, 1234567891123456789);
  sk_assert_no_issues (fleet, 1);
  /* An edit on it takes no mode away. */
  sk_put_file (b, "run", "a better program", -1);
  sk_put_file (b, "d/new", "new", -1);
  sk_sync_all (fleet, 2);
  sk_assert_content (a, "run", "a better program");
  assert_source_as_it_was (a);
  g_assert_cmpuint (mode_of (a, "d/new"), ==, 0644);
  /* A chmod elsewhere arrives nowhere, and everywhere else; nothing comes back. */
  set_mode (a, "run", 0700);
  set_mode (a, "d", 0750);
  sk_sync_all (fleet, 2);
  again (fleet);
  before = segments (fleet);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (segments (fleet), ==, before);
  g_assert_cmpuint (mode_of (a, "run"), ==, 0700);
  g_assert_cmpuint (mode_of (a, "d"), ==, 0750);
  g_assert_cmpuint (sk_count_names (a, "run"), ==, 1);
  sk_assert_no_issues (fleet, 0);
  sk_assert_no_issues (fleet, 1);
}

static void
without_modes (SkFleet *fleet)
{
  g_autoptr(SkRoot) root = root_of (fleet, 1);

  sk_root_test_abilities (root)->modes = FALSE;
}

/* The modes that show on such a disk are the mount's. */
static void
show_other_modes (SkFleet *fleet)
{
  g_autofree char *b = sk_fleet_path (fleet, 1, "f");

  set_mode (b, "run", 0711);
  set_mode (b, "open", 0711);
  set_mode (b, "d/private", 0711);
  set_mode (b, "d", 0711);
}

static void
test_no_modes (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  make_source (a);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  sk_sync_all (fleet, 1);
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  without_modes (fleet);
  sk_sync_all (fleet, 2);
  check_modes (fleet, a, b, show_other_modes);
}

/* --- the real thing --- */

static char *
run (const char *const *argv)
{
  int status = -1;
  char *out = NULL;

  if (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &out, NULL, &status, NULL) && status == 0)
    return out;
  g_free (out);
  return NULL;
}

static char *disk_device, *disk_point;
static gboolean disk_by_fuse;

static gboolean
mount_disk (void)
{
  const char *kernel[] = { "mount", "-t", "vfat", "-o", "utf8", disk_device, disk_point, NULL };
  const char *fuse[] = { "mount.exfat-fuse", disk_device, disk_point, NULL };
  g_autofree char *done = run (disk_by_fuse ? fuse : kernel);

  return done != NULL;
}

/* vfat of the kernel, or exfat through FUSE. */
static gboolean
make_disk (SkFleet *fleet)
{
  g_autofree char *image = g_build_filename (fleet->base, "disk.img", NULL), *made = NULL;
  const char *attach[] = { "losetup", "-f", "--show", image, NULL };
  int fd = open (image, O_WRONLY | O_CREAT, 0600);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (ftruncate (fd, 32 << 20), ==, 0);
  close (fd);
  disk_point = g_build_filename (fleet->base, "disk", NULL);
  g_assert_cmpint (g_mkdir (disk_point, 0755), ==, 0);
  disk_device = run (attach);
  if (disk_device == NULL)
    return FALSE;
  g_strchomp (disk_device);
  for (guint i = 0; i < 2; i++)
    {
      const char *make[] = { i == 0 ? "mkfs.vfat" : "mkfs.exfat", disk_device, NULL };

      disk_by_fuse = i == 1;
      g_free (made);
      made = run (make);
      if (made != NULL && mount_disk ())
        return TRUE;
    }
  return FALSE;
}

static void
drop_disk (void)
{
  const char *detach[] = { "losetup", "-d", disk_device, NULL };

  if (disk_device != NULL)
    g_free (run (detach));
  g_clear_pointer (&disk_device, g_free);
  g_clear_pointer (&disk_point, g_free);
}

/* Inodes, change times and the parts of times that were never stored are new. */
static void
mount_again (SkFleet *fleet)
{
  sk_fleet_close (fleet, 1);
  g_assert_cmpint (umount (disk_point), ==, 0);
  g_assert_true (mount_disk ());
  sk_fleet_open (fleet, 1);
  sk_sync_all (fleet, 1);
}

static void
test_mounted (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  if (geteuid () != 0 || !make_disk (fleet))
    {
      g_test_skip ("no disk can be mounted here");
      drop_disk ();
      return;
    }
  a = sk_fleet_path (fleet, 0, "f");
  b = g_build_filename (disk_point, "f", NULL);
  g_assert_cmpint (g_mkdir (b, 0755), ==, 0);
  make_source (a);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  sk_sync_all (fleet, 1);
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  sk_sync_all (fleet, 2);
  check_modes (fleet, a, b, mount_again);
  sk_fleet_close (fleet, 1);
  g_assert_cmpint (umount (disk_point), ==, 0);
  drop_disk ();
}

/* Names that another disk takes for the engine's own directory: there they would be its marker. */
static void
check_own_name (gboolean watch)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, watch);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (a, "before", "before", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, ".SKERRY/folder", "a marker of somebody", -1);
  sk_put_file (a, "d/.Skerry.", "a file", -1);
  sk_put_file (a, "d/SKERRY~1", "a file", -1);
  sk_put_file (a, "d/after", "after", -1);
  sk_sync_all (fleet, 2);
  sk_assert_content (b, "d/after", "after");
  g_assert_false (sk_there (b, ".SKERRY"));
  g_assert_false (sk_there (b, "d/.Skerry."));
  g_assert_false (sk_there (b, "d/SKERRY~1"));
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 3);
  g_assert_cmpuint (sk_issue (fleet, 0, "not-synced", &text), !=, 0);
  g_assert_nonnull (strstr (text, "keeps for itself"));
  sk_assert_no_issues (fleet, 1);
  /* By another name they go. */
  sk_rename (a, ".SKERRY", "other");
  sk_unlink (a, "d/.Skerry.");
  sk_rename (a, "d/SKERRY~1", "d/short");
  sk_sync_all (fleet, 2);
  sk_assert_content (b, "other/folder", "a marker of somebody");
  sk_assert_content (b, "d/short", "a file");
  sk_assert_no_issues (fleet, 0);
  /* And back: what has such a name is not there for the others. */
  sk_rename (a, "other", ".skerry.");
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (b, "other"));
  g_assert_true (sk_there (a, ".skerry./folder"));
}

static void
test_own_name (void)
{
  check_own_name (FALSE);
}

static void
test_own_name_watched (void)
{
  check_own_name (TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plain-disk/rule-c13/own-name", test_own_name);
  g_test_add_func ("/plain-disk/rule-c13/own-name-watched", test_own_name_watched);
  g_test_add_func ("/plain-disk/sit-B170/no-modes", test_no_modes);
  g_test_add_func ("/plain-disk/sit-B170/mounted", test_mounted);
  return g_test_run ();
}
