/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was read becomes durable before it is published; and which disks let that be known. */
#include "write-support.h"

#include <gio/gunixsocketaddress.h>
#include <sys/wait.h>

#define MANY 100u

typedef struct
{
  int files, dirs, systems;
} Syncs;

static Syncs
syncs_since (void)
{
  Syncs syncs = { g_atomic_int_get (&sk_write_hooks.file_syncs), g_atomic_int_get (&sk_write_hooks.dir_syncs),
                  g_atomic_int_get (&sk_write_hooks.fs_syncs) };

  sk_write_hooks.file_syncs = sk_write_hooks.dir_syncs = sk_write_hooks.fs_syncs = 0;
  return syncs;
}

typedef struct
{
  char paths[MANY][32];
  SkStat stats[MANY];
  SkRootRead reads[MANY];
  guint n;
} Reads;

/* @n files of a person, over four directories. */
static void
write_files (Tree *tree, Reads *reads, guint n)
{
  *reads = (Reads) { .n = n };
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *dir = g_strdup_printf ("%s/d%u", tree->top, i % 4);

      g_assert_cmpint (g_mkdir_with_parents (dir, 0755), ==, 0);
      g_snprintf (reads->paths[i], sizeof reads->paths[i], "d%u/f%u", i % 4, i);
      tree_write (tree, reads->paths[i], "x", 1);
      reads->stats[i] = tree_stat (tree, reads->paths[i]);
      reads->reads[i] = (SkRootRead) { .path = reads->paths[i], .stat = &reads->stats[i] };
    }
  syncs_since ();
}

static Syncs
keep (Tree *tree, Reads *reads)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_root_keep (tree->root, reads->reads, reads->n, &error));
  g_assert_no_error (error);
  return syncs_since ();
}

static void
test_each (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree Reads *reads = g_new0 (Reads, 1);
  Syncs syncs;

  write_files (tree, reads, 12);
  syncs = keep (tree, reads);
  g_assert_cmpint (syncs.files, ==, 12);
  g_assert_cmpint (syncs.dirs, ==, 4);
  g_assert_cmpint (syncs.systems, ==, 0);

  /* One in the folder itself. */
  tree_write (tree, "top", "x", 1);
  reads->stats[0] = tree_stat (tree, "top");
  reads->reads[0].path = "top";
  reads->n = 1;
  syncs_since ();
  syncs = keep (tree, reads);
  g_assert_cmpint (syncs.files, ==, 1);
  g_assert_cmpint (syncs.dirs, ==, 1);
}

/* One syncfs, and what is older than it needs no other; what is younger does. */
static void
test_many (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree Reads *reads = g_new0 (Reads, 1);
  Syncs syncs;

  write_files (tree, reads, MANY);
  syncs = keep (tree, reads);
  g_assert_cmpint (syncs.files + syncs.dirs, ==, 0);
  g_assert_cmpint (syncs.systems, ==, 1);

  for (guint i = 0; i < MANY; i++)
    reads->stats[i].ctime -= 10 * G_USEC_PER_SEC * (gint64) 1000;
  syncs = keep (tree, reads);
  g_assert_cmpint (syncs.files + syncs.dirs + syncs.systems, ==, 0);

  write_files (tree, reads, 5);
  g_assert_cmpint (keep (tree, reads).files, ==, 5);
}

/* Where the disk does not hear of syncfs every file is synced, however many. */
static void
test_without_syncfs (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree Reads *reads = g_new0 (Reads, 1);
  Syncs syncs;

  sk_root_test_abilities (tree->root)->whole_sync = FALSE;
  write_files (tree, reads, MANY);
  for (guint i = 0; i < MANY; i++)
    reads->stats[i].ctime -= 10 * G_USEC_PER_SEC * (gint64) 1000;
  syncs = keep (tree, reads);
  g_assert_cmpint (syncs.files, ==, (int) MANY);
  g_assert_cmpint (syncs.systems, ==, 0);
}

/* What is gone by now is for the next scan. */
static void
test_gone (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree Reads *reads = g_new0 (Reads, 1);
  g_autofree char *path = NULL, *dir = NULL;

  write_files (tree, reads, 3);
  path = tree_path (tree, reads->paths[1]);
  dir = tree_path (tree, "d1");
  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_cmpint (rmdir (dir), ==, 0);
  g_assert_cmpint (keep (tree, reads).files, ==, 2);
  for (guint i = 0; i < reads->n; i++)
    g_assert_false (reads->reads[i].lost);
}

/* Of what was removed the directory is synced, once, or the nearest that is still there. */
static void
test_removed (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree Reads *reads = g_new0 (Reads, 1);
  g_autofree char *dir = tree_path (tree, "d0");
  Syncs syncs;

  write_files (tree, reads, 12);
  for (guint i = 0; i < reads->n; i++)
    {
      g_autofree char *path = tree_path (tree, reads->paths[i]);

      g_assert_cmpint (unlink (path), ==, 0);
      reads->stats[i] = (SkStat) { .kind = SK_KIND_NONE };
    }
  g_assert_cmpint (rmdir (dir), ==, 0);
  syncs = keep (tree, reads);
  g_assert_cmpint (syncs.files + syncs.systems, ==, 0);
  g_assert_cmpint (syncs.dirs, ==, 4);      /* d1, d2, d3 and what d0 was in */
  sk_write_hooks.sync_errnum = EIO;
  g_assert_false (sk_root_keep (tree->root, reads->reads, reads->n, NULL));
  sk_write_hooks.sync_errnum = 0;

  syncs_since ();
  g_assert_true (sk_target_keep_gone (tree->root, "d0/f0", NULL));
  g_assert_true (sk_root_barrier (tree->root, NULL));
  g_assert_cmpint (syncs_since ().dirs, ==, 1);
}

/* Which files the disk could not keep is told file by file, also when the syncfs of many failed first; that a name could not be kept is an error. */
static void
test_failure (void)
{
  static const guint counts[] = { 3, MANY };

  for (guint k = 0; k < G_N_ELEMENTS (counts); k++)
    {
      g_autoptr(Tree) tree = tree_new_prepared ();
      g_autofree Reads *reads = g_new0 (Reads, 1);
      g_autoptr(GError) error = NULL;

      write_files (tree, reads, counts[k]);
      sk_write_hooks.sync_errnum = EIO;
      g_assert_false (sk_root_keep (tree->root, reads->reads, reads->n, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_IO);
      for (guint i = 0; i < reads->n; i++)
        g_assert_true (reads->reads[i].lost);
      sk_write_hooks.sync_errnum = 0;
    }
}

/* --- a FUSE file system --- */

static char *
tell (const char *socket, const char *command)
{
  g_autoptr(GSocketClient) client = g_socket_client_new ();
  g_autoptr(GSocketAddress) address = g_unix_socket_address_new (socket);
  g_autoptr(GSocketConnection) connection = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, NULL);
  char reply[512];
  gssize n;

  if (connection == NULL)
    return NULL;
  g_assert_true (g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (connection)), command, strlen (command), NULL, NULL, NULL));
  n = g_input_stream_read (g_io_stream_get_input_stream (G_IO_STREAM (connection)), reply, sizeof reply, NULL, NULL);
  return g_strndup (reply, (gsize) MAX (n, 0));
}

static void
tell_ok (const char *socket, const char *command)
{
  g_autofree char *reply = tell (socket, command);

  g_assert_nonnull (reply);
  g_assert_true (g_str_has_prefix (reply, "ok "));
}

/* A server of FUSE is never told of syncfs, which the kernel answers with success. And a full disk is not one that knows no links. */
static void
check_fuse (const char *mount, const char *socket)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkRoot) root = sk_root_open (mount, &error), full = NULL;
  static const SkId folder = { { 9 } };

  g_assert_no_error (error);
  g_assert_false (sk_root_abilities (root)->whole_sync);
  g_assert_true (sk_root_prepare (root, &folder, &error));
  for (guint i = 1; i < 12; i++)
    {
      g_autofree char *plan = g_strdup_printf ("fail writes %u ENOSPC on", i);

      tell_ok (socket, plan);
      full = sk_root_open (mount, &error);
      g_assert_no_error (error);
      g_assert_true (sk_root_abilities (full)->symlinks);
      g_assert_true (sk_root_abilities (full)->modes);
      g_assert_true (sk_root_abilities (full)->rename_noreplace);
      g_clear_pointer (&full, sk_root_unref);
      tell_ok (socket, "clear");
    }
}

static void
test_fuse (void)
{
  g_autofree char *base = g_dir_make_tmp ("skerry-keep-XXXXXX", NULL);
  g_autofree char *mount = g_build_filename (base, "disk", NULL), *socket = g_build_filename (base, "control", NULL);
  const char *const argv[] = { g_getenv ("SK_FAULTFS"), mount, socket, NULL };
  gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;
  g_autofree char *state = NULL;
  GPid pid;

  if (argv[0] == NULL || geteuid () != 0 || access ("/dev/fuse", R_OK | W_OK) != 0)
    {
      rmdir (base);
      g_test_skip ("SKIPPED: no /dev/fuse here");
      return;
    }
  g_assert_cmpint (mkdir (mount, 0700), ==, 0);
  g_assert_true (g_spawn_async (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL));
  while ((state = tell (socket, "state")) == NULL && g_get_monotonic_time () < end)
    g_usleep (5000);
  g_assert_nonnull (state);
  check_fuse (mount, socket);
  tell_ok (socket, "quit");
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  g_assert_cmpint (rmdir (mount), ==, 0);
  g_assert_cmpint (rmdir (base), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/keep/rule-a12/each-file-and-directory", test_each);
  g_test_add_func ("/keep/rule-c8/one-syncfs-for-many", test_many);
  g_test_add_func ("/keep/rule-c8/without-syncfs", test_without_syncfs);
  g_test_add_func ("/keep/gone-meanwhile", test_gone);
  g_test_add_func ("/keep/rule-a12/removed", test_removed);
  g_test_add_func ("/keep/rule-a12/failure-is-told", test_failure);
  g_test_add_func ("/keep/rule-c16/fuse", test_fuse);
  return g_test_run ();
}
