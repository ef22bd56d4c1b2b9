/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended attributes between disks of which one takes all, one some KiB per file, and one none. They are mounted here. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sk-fleet-check.h"
#include "sk-pair.h"

#define LARGE 60000u             /* bytes of one attribute */

typedef struct
{
  SkFleet *fleet;
  char *points[2];               /* of the disks */
  char *a, *b;                   /* the folder on either device */
} Fixture;

typedef enum { TAKES_ALL, TAKES_LITTLE, TAKES_NONE } Takes;

static gboolean
run (const char *const *argv, char **out)
{
  int status = -1;

  return g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL | (out == NULL ? G_SPAWN_STDOUT_TO_DEV_NULL : 0),
                       NULL, NULL, out, NULL, &status, NULL)
         && status == 0;
}

static gboolean
make_disk (char **point, const char *base, const char *name, Takes takes)
{
  g_autofree char *file = g_strdup_printf ("%s.img", name), *image = g_build_filename (base, file, NULL);
  const char *make[] = { "mkfs.ext4", "-q", "-O", takes == TAKES_ALL ? "ea_inode" : "^ea_inode", image, NULL };
  int fd = open (image, O_WRONLY | O_CREAT, 0600);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (ftruncate (fd, 32 << 20), ==, 0);
  close (fd);
  *point = g_build_filename (base, name, NULL);
  g_assert_cmpint (g_mkdir (*point, 0755), ==, 0);
  if (takes == TAKES_NONE)
    return mount ("none", *point, "ramfs", 0, NULL) == 0;
  {
    const char *loop[] = { "mount", "-o", "loop", image, *point, NULL };

    return run (make, NULL) && run (loop, NULL);
  }
}

/* FALSE: skipped, since nothing can be mounted here. */
static gboolean
set_up (Fixture *f, Takes a, Takes b)
{
  *f = (Fixture) { .fleet = sk_fleet_new (2, FALSE) };
  if (geteuid () != 0 || !make_disk (&f->points[0], f->fleet->base, "disk-a", a) || !make_disk (&f->points[1], f->fleet->base, "disk-b", b))
    {
      g_test_skip ("no disk can be mounted here");
      return FALSE;
    }
  f->a = g_build_filename (f->points[0], "f", NULL);
  f->b = g_build_filename (f->points[1], "f", NULL);
  g_assert_cmpint (g_mkdir (f->a, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (f->b, 0755), ==, 0);
  return TRUE;
}

static void
tear_down (Fixture *f)
{
  for (guint i = 0; i < 2; i++)
    {
      sk_fleet_close (f->fleet, i);
      if (f->points[i] != NULL)
        (void) umount (f->points[i]);
      g_free (f->points[i]);
    }
  sk_fleet_free (f->fleet);
  g_free (f->a);
  g_free (f->b);
}

static void
add (Fixture *f)
{
  g_variant_unref (sk_fleet_run (f->fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", f->a));
}

static void
attach (Fixture *f)
{
  g_variant_unref (sk_fleet_sync (f->fleet, 1));
  g_variant_unref (sk_fleet_run (f->fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", f->b));
}

static void
turn (Fixture *f, guint device, const char *value)
{
  g_variant_unref (sk_fleet_run (f->fleet, device, "folder.set", "{'name': <'f'>, 'settings': <{'xattrs': %s}>}", value));
}

static void
set (const char *dir, const char *path, const char *name, gsize len)
{
  g_autofree char *full = g_build_filename (dir, path, NULL), *value = g_malloc (len + 1);

  memset (value, 'v', len);
  g_assert_cmpint (setxattr (full, name, value, len, 0), ==, 0);
}

static void
unset (const char *dir, const char *path, const char *name)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (removexattr (full, name), ==, 0);
}

/* -1: there is none. */
static gssize
size_of (const char *dir, const char *path, const char *name)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  return getxattr (full, name, NULL, 0);
}

static guint
open_issues (Fixture *f, guint device, const char *part)
{
  g_autoptr(GVariant) reply = sk_fleet_run (f->fleet, device, "issues", NULL);
  g_autoptr(GVariant) list = g_variant_lookup_value (reply, "issues", G_VARIANT_TYPE ("aa{sv}"));
  guint n = 0;

  for (gsize i = 0; i < g_variant_n_children (list); i++)
    {
      g_autoptr(GVariant) issue = g_variant_get_child_value (list, i);
      const char *text = "";

      g_assert_true (g_variant_lookup (issue, "text", "&s", &text));
      g_test_message ("issue: %s", text);
      n += strstr (text, part) != NULL;
    }
  return n;
}

static guint
names_in (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  guint n = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    n += *name != '.';
  return n;
}

/* Objects of logs: what any device ever said. */
static guint
log_size (Fixture *f)
{
  g_autofree char *pattern = g_strdup_printf ("find '%s' -path '*/log/*' -type f | wc -l", f->fleet->storage);
  const char *argv[] = { "sh", "-c", pattern, NULL };
  g_autofree char *out = NULL;

  g_assert_true (run (argv, &out));
  return (guint) g_ascii_strtoull (out, NULL, 10);
}

/* Looks everywhere again and again: nothing more is said. */
static void
assert_rest (Fixture *f)
{
  guint before;

  sk_fleet_settle (f->fleet, 8);
  before = log_size (f);
  for (guint i = 0; i < 3; i++)
    {
      g_variant_unref (sk_fleet_sync (f->fleet, 0));
      g_variant_unref (sk_fleet_sync (f->fleet, 1));
    }
  g_assert_cmpuint (log_size (f), ==, before);
}

/* The folder of the first device comes to the second one, both with attributes. */
static void
join_on_both (Fixture *f)
{
  add (f);
  turn (f, 0, "on");
  g_variant_unref (sk_fleet_sync (f->fleet, 0));
  attach (f);
  turn (f, 1, "on");
  assert_rest (f);
}

/* As a program saves: a new file in the place of the old one. */
static void
save_anew (const char *dir, const char *path, const char *data)
{
  g_autofree char *from = g_build_filename (dir, "new.tmp", NULL), *to = g_build_filename (dir, path, NULL);

  sk_put_file (dir, "new.tmp", data, -1);
  g_assert_cmpint (g_rename (from, to), ==, 0);
}

static void
assert_file (const char *dir, const char *path, const char *data)
{
  g_autofree char *got = sk_get_file (dir, path);

  g_assert_cmpstr (got, ==, data);
}

/* --- B167 --- */

static void
test_none_there (void)
{
  g_autofree char *moved = NULL, *moved_from = NULL;
  Fixture f;

  if (set_up (&f, TAKES_ALL, TAKES_NONE))
    {
      sk_put_file (f.a, "one", "one", -1);
      sk_put_file (f.a, "two", "two", -1);
      set (f.a, "one", "user.tag", 5);
      set (f.a, "two", "user.tag", 6);
      join_on_both (&f);
      assert_file (f.b, "one", "one");
      g_assert_cmpuint (open_issues (&f, 1, "xtended attributes"), ==, 1);
      g_assert_cmpuint (open_issues (&f, 1, "cannot hold any"), ==, 1);
      g_assert_cmpuint (open_issues (&f, 0, ""), ==, 0);
      /* Whatever is done there, it is never told as a removal. */
      sk_put_file (f.b, "one", "edited on b", -1);
      save_anew (f.b, "two", "saved on b");
      assert_rest (&f);
      assert_file (f.a, "one", "edited on b");
      assert_file (f.a, "two", "saved on b");
      g_assert_cmpint (size_of (f.a, "one", "user.tag"), ==, 5);
      g_assert_cmpint (size_of (f.a, "two", "user.tag"), ==, 6);
      moved_from = g_build_filename (f.b, "one", NULL);
      moved = g_build_filename (f.b, "three", NULL);
      g_assert_cmpint (g_rename (moved_from, moved), ==, 0);
      sk_fleet_restart (f.fleet, 1);
      assert_rest (&f);
      g_assert_cmpint (size_of (f.a, "three", "user.tag"), ==, 5);
      g_assert_cmpuint (names_in (f.a), ==, 2);
      g_assert_cmpuint (open_issues (&f, 1, "cannot hold any"), ==, 1);
      /* Nothing has any more. */
      unset (f.a, "three", "user.tag");
      unset (f.a, "two", "user.tag");
      assert_rest (&f);
      g_assert_cmpuint (open_issues (&f, 1, ""), ==, 0);
      g_assert_cmpint (size_of (f.a, "two", "user.tag"), ==, -1);
    }
  tear_down (&f);
}

/* The same where the disk could hold them, and the setting is off. */
static void
test_off_there (void)
{
  Fixture f;

  if (set_up (&f, TAKES_ALL, TAKES_ALL))
    {
      sk_put_file (f.a, "one", "one", -1);
      set (f.a, "one", "user.tag", 5);
      add (&f);
      g_variant_unref (sk_fleet_sync (f.fleet, 0));
      attach (&f);
      assert_rest (&f);
      g_assert_cmpint (size_of (f.b, "one", "user.tag"), ==, -1);
      turn (&f, 0, "on");
      assert_rest (&f);
      g_assert_cmpint (size_of (f.b, "one", "user.tag"), ==, 5);
      save_anew (f.b, "one", "saved without");
      set (f.b, "one", "user.private", 3);
      assert_rest (&f);
      assert_file (f.a, "one", "saved without");
      g_assert_cmpint (size_of (f.a, "one", "user.tag"), ==, 5);
      g_assert_cmpint (size_of (f.a, "one", "user.private"), ==, -1);
      unset (f.b, "one", "user.private");
      /* Turned on later: what was lost meanwhile was no removal, and what comes then is a change. */
      turn (&f, 1, "on");
      assert_rest (&f);
      g_assert_cmpint (size_of (f.a, "one", "user.tag"), ==, 5);
      set (f.b, "one", "user.other", 7);
      assert_rest (&f);
      g_assert_cmpint (size_of (f.a, "one", "user.other"), ==, 7);
      g_assert_cmpuint (names_in (f.a), ==, 1);
      g_assert_cmpuint (open_issues (&f, 0, "") + open_issues (&f, 1, ""), ==, 0);
    }
  tear_down (&f);
}

/* --- what is on both sides travels --- */

static void
test_travel (void)
{
  g_autofree char *from = NULL, *to = NULL;
  Fixture f;

  if (set_up (&f, TAKES_ALL, TAKES_ALL))
    {
      sk_put_file (f.a, "one", "one", -1);
      sk_put_file (f.a, "empty", "", 0);
      set (f.a, "one", "user.tag", 5);
      set (f.a, "empty", "user.large", LARGE);
      join_on_both (&f);
      g_assert_cmpint (size_of (f.b, "one", "user.tag"), ==, 5);
      g_assert_cmpint (size_of (f.b, "empty", "user.large"), ==, LARGE);
      set (f.b, "one", "user.tag", 9);
      set (f.b, "one", "user.more", 0);
      assert_rest (&f);
      g_assert_cmpint (size_of (f.a, "one", "user.tag"), ==, 9);
      g_assert_cmpint (size_of (f.a, "one", "user.more"), ==, 0);
      from = g_build_filename (f.a, "one", NULL);
      to = g_build_filename (f.a, "moved", NULL);
      g_assert_cmpint (g_rename (from, to), ==, 0);
      g_assert_cmpint (chmod (to, 0600), ==, 0);
      assert_rest (&f);
      g_assert_cmpint (size_of (f.b, "moved", "user.tag"), ==, 9);
      g_assert_cmpint (size_of (f.a, "moved", "user.tag"), ==, 9);
      unset (f.a, "moved", "user.more");
      unset (f.a, "moved", "user.tag");
      assert_rest (&f);
      g_assert_cmpint (size_of (f.b, "moved", "user.tag"), ==, -1);
      g_assert_cmpint (size_of (f.b, "moved", "user.more"), ==, -1);
      g_assert_cmpuint (names_in (f.b), ==, 2);
    }
  tear_down (&f);
}

/* What both had before they knew each other is one file, whoever has attributes. */
static void
test_first_contact (void)
{
  Fixture f;

  if (set_up (&f, TAKES_ALL, TAKES_ALL))
    {
      sk_put_file (f.a, "tagged on a", "same", -1);
      sk_put_file (f.b, "tagged on a", "same", -1);
      sk_put_file (f.a, "tagged on b", "same too", -1);
      sk_put_file (f.b, "tagged on b", "same too", -1);
      set (f.a, "tagged on a", "user.tag", 5);
      set (f.b, "tagged on b", "user.tag", 6);
      join_on_both (&f);
      g_assert_cmpuint (names_in (f.a), ==, 2);
      g_assert_cmpuint (names_in (f.b), ==, 2);
      g_assert_cmpint (size_of (f.a, "tagged on a", "user.tag"), ==, 5);
      g_assert_cmpint (size_of (f.a, "tagged on b", "user.tag"), ==, 6);
      g_assert_cmpint (size_of (f.b, "tagged on b", "user.tag"), ==, 6);
    }
  tear_down (&f);
}

/* --- B169 --- */

static void
test_larger_than_the_disk_takes (void)
{
  g_autofree char *gone = NULL, *gone_too = NULL;
  Fixture f;

  if (set_up (&f, TAKES_ALL, TAKES_LITTLE))
    {
      sk_put_file (f.a, "one", "one", -1);
      sk_put_file (f.a, "two", "two", -1);
      set (f.a, "one", "user.large", LARGE);
      set (f.a, "one", "user.small", 5);
      set (f.a, "two", "user.large", LARGE);
      join_on_both (&f);
      assert_file (f.b, "one", "one");
      assert_file (f.b, "two", "two");
      g_assert_cmpint (size_of (f.b, "one", "user.small"), ==, 5);
      g_assert_cmpint (size_of (f.b, "one", "user.large"), ==, -1);
      g_assert_cmpuint (open_issues (&f, 1, ""), ==, 1);
      g_assert_cmpuint (open_issues (&f, 1, "larger than its disk allows for one file"), ==, 1);
      /* What is missing there is no removal, and other changes of the file come. */
      sk_put_file (f.b, "one", "edited on b", -1);
      assert_rest (&f);
      assert_file (f.a, "one", "edited on b");
      g_assert_cmpint (size_of (f.a, "one", "user.large"), ==, LARGE);
      g_assert_cmpint (size_of (f.a, "one", "user.small"), ==, 5);
      g_assert_cmpuint (open_issues (&f, 1, ""), ==, 1);
      gone = g_build_filename (f.a, "one", NULL);
      gone_too = g_build_filename (f.a, "two", NULL);
      g_assert_cmpint (g_unlink (gone), ==, 0);
      unset (f.a, "two", "user.large");
      assert_rest (&f);
      g_assert_cmpuint (open_issues (&f, 1, ""), ==, 0);
    }
  tear_down (&f);
}

/* More than is taken in at all. */
static void
test_larger_than_is_taken_in (void)
{
  Fixture f;

  if (set_up (&f, TAKES_ALL, TAKES_ALL))
    {
      sk_put_file (f.a, "one", "one", -1);
      set (f.a, "one", "user.first", LARGE);
      set (f.a, "one", "user.second", LARGE);
      join_on_both (&f);
      assert_file (f.b, "one", "one");
      g_assert_cmpint (size_of (f.b, "one", "user.first"), ==, -1);
      g_assert_cmpuint (open_issues (&f, 0, "more than 64 KiB"), ==, 1);
      unset (f.a, "one", "user.second");
      assert_rest (&f);
      g_assert_cmpint (size_of (f.b, "one", "user.first"), ==, LARGE);
      g_assert_cmpuint (open_issues (&f, 0, ""), ==, 0);
    }
  tear_down (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  /* What is mounted ends with this process, however it ends. */
  if (unshare (CLONE_NEWNS) == 0)
    (void) mount ("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
  g_test_add_func ("/attributes/sit-B167/none-there", test_none_there);
  g_test_add_func ("/attributes/sit-B167/off-there", test_off_there);
  g_test_add_func ("/attributes/travel", test_travel);
  g_test_add_func ("/attributes/first-contact", test_first_contact);
  g_test_add_func ("/attributes/sit-B169/larger-than-the-disk-takes", test_larger_than_the_disk_takes);
  g_test_add_func ("/attributes/sit-B169/larger-than-is-taken-in", test_larger_than_is_taken_in);
  return g_test_run ();
}
