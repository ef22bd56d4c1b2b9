/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device that takes part in less: only receiving, only some files, rules that leave files out, a storage it cannot write to. */
#include "sk-fleet-check.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static guint
count_objects (SkFleet *fleet, const char *kind)
{
  g_autoptr(GDir) vaults = g_dir_open (fleet->storage, 0, NULL);
  const char *vault;
  guint n = 0;

  while ((vault = g_dir_read_name (vaults)) != NULL)
    {
      g_autofree char *path = g_build_filename (fleet->storage, vault, kind, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        n += sk_count_files (path);
    }
  return n;
}

/* Device 1 only receives. */
static SkFleet *
receiving (char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (2, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (*a, "d/file", 6);
  sk_fleet_share (fleet, "f");
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.set", "{'name': <'f'>, 'settings': <{'mode': 'receive'}>}"));
  return fleet;
}

/* A new file, an edit, a removal, a chmod. */
static void
change_everything (const char *b)
{
  g_autofree char *mode = g_build_filename (b, "d/file3", NULL);

  sk_put_file (b, "new", "made where only receiving is allowed", -1);
  sk_put_file (b, "d/file1", "edited where only receiving is allowed", -1);
  sk_unlink (b, "d/file2");
  g_assert_cmpint (g_chmod (mode, 0700), ==, 0);
}

static void
test_receive_never_publishes (void)
{
  g_autofree char *a = NULL, *b = NULL, *before = NULL, *after = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = receiving (&a, &b);
  guint packs;

  sk_fleet_settle (fleet, 8);
  before = sk_tree_listing (a);
  packs = count_objects (fleet, "packs");
  change_everything (b);
  sk_sync_all (fleet, 3);
  after = sk_tree_listing (a);
  g_assert_cmpstr (before, ==, after);
  g_assert_cmpuint (count_objects (fleet, "packs"), ==, packs);
  g_assert_cmpuint (sk_issue (fleet, 1, "local-changes", &text), !=, 0);
  g_assert_nonnull (strstr (text, "4 "));
  g_assert_nonnull (strstr (text, "new"));
  /* What is here stays here; what comes goes on coming. */
  sk_assert_content (b, "new", "made where only receiving is allowed");
  sk_assert_content (b, "d/file1", "edited where only receiving is allowed");
  sk_put_file (a, "d/file5", "edited on a", -1);
  sk_sync_all (fleet, 2);
  sk_assert_content (b, "d/file5", "edited on a");
  /* A restart and a second pass tell the same. */
  sk_fleet_restart (fleet, 1);
  sk_sync (fleet, 1);
  g_assert_cmpuint (sk_issue (fleet, 1, "local-changes", NULL), !=, 0);
}

static void
test_receive_revert (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = receiving (&a, &b);

  sk_fleet_settle (fleet, 8);
  change_everything (b);
  sk_sync_all (fleet, 1);
  sk_fleet_restart (fleet, 1);
  sk_resolve (fleet, 1, "local-changes", "refuse");
  sk_fleet_restart (fleet, 1);
  sk_sync_all (fleet, 2);
  sk_assert_equal_trees (fleet, "f");
  g_assert_true (sk_in_trash (b, "new", "made where only receiving is allowed"));
  g_assert_true (sk_in_trash (b, "d/file1", "edited where only receiving is allowed"));
  g_assert_false (sk_in_trash (b, "d/file3", NULL));
  sk_assert_no_issues (fleet, 1);
  g_assert_cmpuint (sk_count_files (a), ==, 6);
}

static void
test_receive_publish (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = receiving (&a, &b);

  sk_fleet_settle (fleet, 8);
  change_everything (b);
  sk_sync_all (fleet, 1);
  sk_resolve (fleet, 1, "local-changes", "accept");
  sk_sync_all (fleet, 3);
  sk_assert_equal_trees (fleet, "f");
  sk_assert_content (a, "new", "made where only receiving is allowed");
  sk_assert_content (a, "d/file1", "edited where only receiving is allowed");
  g_assert_false (sk_there (a, "d/file2"));
  sk_assert_no_issues (fleet, 1);
  /* Once, and not from now on. */
  sk_put_file (b, "another", "a further change", -1);
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (a, "another"));
  g_assert_cmpuint (sk_issue (fleet, 1, "local-changes", NULL), !=, 0);
  /* The person takes it back himself. */
  sk_unlink (b, "another");
  sk_sync_all (fleet, 1);
  sk_assert_no_issues (fleet, 1);
}

/* A folder that only sends writes nothing. */
static void
test_send_only (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (a, "x", "from a", -1);
  sk_fleet_share (fleet, "f");
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.set", "{'name': <'f'>, 'settings': <{'mode': 'send'}>}"));
  sk_put_file (a, "y", "also from a", -1);
  sk_put_file (b, "z", "from b", -1);
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (b, "y"));
  sk_assert_content (a, "z", "from b");
  sk_assert_content (a, "y", "also from a");
}

/* --- only --- */

static void
attach_only (SkFleet *fleet, guint i, const char *path, const char *glob)
{
  const char *globs[] = { glob, NULL };
  g_autoptr(GVariant) list = g_variant_ref_sink (g_variant_new_bytestring_array (globs, -1));

  g_variant_unref (sk_fleet_run (fleet, i, "folder.attach", "{'name': <'f'>, 'path': <%^ay>, 'only': %v}", path, list));
}

static void
test_only (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "photos/p", 3);
  sk_put_many (a, "texts/t", 3);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  sk_sync_all (fleet, 1);
  attach_only (fleet, 1, b, "photos/*");
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_files (b), ==, 3);
  g_assert_true (sk_there (b, "photos/p0"));
  g_assert_false (sk_there (b, "texts/t0"));
  /* What is left out is absent by choice, on both sides and over a restart. */
  sk_fleet_restart (fleet, 1);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_files (a), ==, 6);
  g_assert_false (sk_sync_attention (fleet, 1));
  /* What is chosen goes both ways. */
  sk_put_file (b, "photos/new", "a new photo", -1);
  sk_unlink (b, "photos/p1");
  sk_put_file (a, "texts/t1", "edited", -1);
  sk_sync_all (fleet, 2);
  sk_assert_content (a, "photos/new", "a new photo");
  g_assert_false (sk_there (a, "photos/p1"));
  g_assert_false (sk_there (b, "texts/t1"));
  /* A file of the same name as one that is left out belongs to this disk alone. */
  sk_put_file (b, "texts/t2", "something else, on b only", -1);
  sk_sync_all (fleet, 2);
  g_assert_cmpuint (sk_count_content (a, "something else, on b only"), ==, 0);
  sk_unlink (b, "texts/t2");
  sk_sync_all (fleet, 2);
  g_assert_true (sk_there (a, "texts/t2"));
  g_assert_cmpuint (sk_count_files (a), ==, 6);
}

static void
test_only_nodes_are_held (void)
{
  g_autofree char *a = NULL, *b = NULL, *state = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "photos/p", 3);
  sk_put_many (a, "texts/t", 3);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  sk_sync_all (fleet, 1);
  attach_only (fleet, 1, b, "photos/*");
  sk_sync_all (fleet, 1);
  state = sk_folder_state (fleet, 1, "f");
  g_assert_cmpstr (state, ==, "up-to-date");
  /* Attached again with another choice: the rest comes. */
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.detach", "{'name': <'f'>}"));
  attach_only (fleet, 1, b, "texts/*");
  sk_sync_all (fleet, 2);
  g_assert_true (sk_there (b, "texts/t2"));
  g_assert_true (sk_there (b, "photos/p2"));
  g_assert_cmpuint (sk_count_files (a), ==, 6);
  /* And with everything. */
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.detach", "{'name': <'f'>}"));
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  sk_sync_all (fleet, 2);
  sk_assert_equal_trees (fleet, "f");
}

/* --- rules --- */

typedef struct { const char *path; SkKind kind; } Look;

static gboolean
look_at_target (SkSession *session, gpointer data, GError **error)
{
  Look *look = data;
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);
  g_autoptr(SkNode) node = sk_index_node (session->index, ((SkFolderRow *) folders->pdata[0])->row, look->path, error);

  look->kind = node != NULL ? node->target.kind : SK_KIND_NONE;
  return TRUE;
}

/* In the vault, as every device sees it, whatever is on the disks. */
static void
assert_lives (SkFleet *fleet, const char *path)
{
  for (guint i = 0; i < fleet->n; i++)
    {
      Look look = { .path = path };
      g_autoptr(GError) error = NULL;

      sk_session_index (fleet->devices[i], look_at_target, &look, &error);
      g_assert_no_error (error);
      g_assert_cmpint (look.kind, ==, SK_KIND_FILE);
    }
}

/* A pattern that is added, or taken away, deletes nothing anywhere (RULES A14). */
static void
test_ignored_is_not_deleted (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "logs/l", 3);
  sk_put_file (a, "one.log", "first", -1);
  sk_put_file (a, "text", "a text", -1);
  sk_fleet_share (fleet, "f");
  sk_put_file (a, ".skerryignore", "*.log\nlogs/\n", -1);
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, ".skerryignore", "*.log\nlogs/\n");
  sk_assert_content (b, "one.log", "first");
  g_assert_true (sk_there (b, "logs/l2"));
  /* Edits and removals of what is ignored stay where they were made. */
  sk_put_file (a, "one.log", "second", -1);
  sk_unlink (a, "logs/l0");
  sk_put_file (a, "two.log", "new", -1);
  sk_sync_all (fleet, 3);
  sk_assert_content (b, "one.log", "first");
  g_assert_true (sk_there (b, "logs/l0"));
  g_assert_false (sk_there (b, "two.log"));
  sk_unlink (b, "one.log");
  sk_sync_all (fleet, 3);
  sk_assert_content (a, "one.log", "second");
  assert_lives (fleet, "one.log");
  assert_lives (fleet, "logs/l0");
  for (guint i = 0; i < 2; i++)
    sk_assert_no_issues (fleet, i);
  /* The rules are gone: what was held up goes on. */
  sk_unlink (a, ".skerryignore");
  sk_fleet_settle (fleet, 10);
  g_assert_cmpuint (sk_count_content (b, "second"), ==, 1);
  sk_assert_content (b, "two.log", "new");
  sk_assert_equal_trees (fleet, "f");
}

/* What others publish of an ignored name is not written here, and comes when it is not ignored any more. */
static void
test_ignored_is_not_written (void)
{
  g_autofree char *a = NULL, *b = NULL, *state = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (3, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (a, "text", "a text", -1);
  sk_fleet_share (fleet, "f");
  /* B alone ignores: its rules are not merged yet elsewhere. */
  sk_fleet_close (fleet, 2);
  sk_put_file (b, ".skerryignore", "*.tmp2\n", -1);
  sk_put_file (a, "x.tmp2", "from a", -1);
  sk_sync (fleet, 0);
  sk_sync (fleet, 1);
  g_assert_false (sk_there (b, "x.tmp2"));
  state = sk_folder_state (fleet, 1, "f");
  g_assert_cmpstr (state, ==, "up-to-date");
  sk_sync (fleet, 0);
  g_assert_true (sk_there (a, "x.tmp2"));
  sk_fleet_open (fleet, 2);
  sk_unlink (b, ".skerryignore");
  sk_fleet_settle (fleet, 10);
  sk_assert_content (b, "x.tmp2", "from a");
  sk_assert_equal_trees (fleet, "f");
}

/* --- storages that refuse --- */

/* Credentials that may only read: what is made here is kept, and the person is told. */
static void
test_read_only_storage (void)
{
  g_autofree char *a = NULL, *b = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  SkFlaky *flaky;

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "d/file", 3);
  sk_fleet_share (fleet, "f");
  flaky = sk_fleet_make_flaky (fleet, 1);
  sk_flaky_fail_puts (flaky, "", G_MAXUINT, SK_ERROR_PERMISSION);
  sk_put_file (b, "only-here", "made without the right to write", -1);
  sk_put_file (b, "d/file1", "edited without the right to write", -1);
  g_assert_true (sk_sync_attention (fleet, 1));
  sk_put_file (a, "d/file2", "edited on a", -1);
  sk_sync (fleet, 0);
  g_assert_true (sk_sync_attention (fleet, 1));
  sk_assert_content (b, "only-here", "made without the right to write");
  sk_assert_content (b, "d/file1", "edited without the right to write");
  sk_assert_content (b, "d/file2", "edited on a");
  g_assert_cmpuint (sk_issues (fleet, 1), >, 0);
  sk_issue (fleet, 1, "failed-item", &text);
  g_assert_nonnull (text);
  /* With the right it goes out. */
  sk_flaky_fail_puts (flaky, NULL, 0, 0);
  sk_fleet_settle (fleet, 8);
  sk_assert_content (a, "only-here", "made without the right to write");
  sk_assert_equal_trees (fleet, "f");
  sk_assert_no_issues (fleet, 1);
}

/* RULES C1: a file that never rests, and a folder whose storage is away, hold up nothing else. */
typedef struct { char *path; int stop; } Restless;

static gpointer
never_rest (gpointer data)
{
  Restless *restless = data;
  int fd = open (restless->path, O_WRONLY | O_CREAT, 0644);

  for (guint64 i = 0; !g_atomic_int_get (&restless->stop); i++)
    g_assert_cmpint ((int) pwrite (fd, &i, sizeof i, (off_t) (i % 100000) * 64), ==, sizeof i);
  close (fd);
  return NULL;
}

static void
test_restless_file (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  Restless restless = { .stop = 0 };
  GThread *thread;

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (a, "first", "first", -1);
  sk_fleet_share (fleet, "f");
  restless.path = g_build_filename (a, "aaa-restless", NULL);
  thread = g_thread_new ("restless", never_rest, &restless);
  while (!sk_there (a, "aaa-restless"))
    g_usleep (1000);
  sk_put_many (a, "d/file", 20);
  sk_sync_all (fleet, 2);
  g_assert_true (sk_there (b, "d/file19"));
  sk_unlink (a, "first");
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (b, "first"));
  g_atomic_int_set (&restless.stop, 1);
  g_thread_join (thread);
  sk_fleet_settle (fleet, 10);
  sk_assert_equal_trees (fleet, "f");
  g_free (restless.path);
}

static void
test_storage_of_another_folder_away (void)
{
  g_autofree char *a = NULL, *b = NULL, *g = NULL, *second = NULL, *away = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);
  const char *const placed[] = { "second", NULL };

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  g = sk_fleet_path (fleet, 0, "g");
  second = sk_fleet_path (fleet, 0, "second-storage");
  away = g_strconcat (second, ".away", NULL);
  sk_put_file (a, "x", "x", -1);
  sk_fleet_share (fleet, "f");
  g_variant_unref (sk_fleet_run (fleet, 0, "storage.add", "{'name': <'second'>, 'uri': <%s>}", second));
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'g'>, 'path': <%^ay>, 'storages': <%^as>}", g, placed));
  sk_sync (fleet, 0);
  g_assert_cmpint (g_rename (second, away), ==, 0);
  sk_put_many (g, "waits", 3);
  sk_put_file (a, "y", "goes on", -1);
  g_assert_true (sk_sync_attention (fleet, 0));
  sk_sync (fleet, 1);
  sk_assert_content (b, "y", "goes on");
  sk_unlink (a, "x");
  sk_sync (fleet, 0);
  sk_sync (fleet, 1);
  g_assert_false (sk_there (b, "x"));
  g_assert_cmpint (g_rename (away, second), ==, 0);
  sk_sync (fleet, 0);
  sk_sync (fleet, 0);
  g_assert_false (sk_sync_attention (fleet, 0));
  sk_assert_no_issues (fleet, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/modes/receive/never-publishes", test_receive_never_publishes);
  g_test_add_func ("/modes/receive/revert", test_receive_revert);
  g_test_add_func ("/modes/receive/publish", test_receive_publish);
  g_test_add_func ("/modes/send/writes-nothing", test_send_only);
  g_test_add_func ("/modes/only/rule-a14/rest-is-absent-by-choice", test_only);
  g_test_add_func ("/modes/only/rule-a14/held", test_only_nodes_are_held);
  g_test_add_func ("/modes/ignore/rule-a14/not-deleted", test_ignored_is_not_deleted);
  g_test_add_func ("/modes/ignore/rule-a14/not-written", test_ignored_is_not_written);
  g_test_add_func ("/modes/sit-B081/read-only-storage", test_read_only_storage);
  g_test_add_func ("/modes/rule-c1/restless-file", test_restless_file);
  g_test_add_func ("/modes/rule-c1/storage-of-another-folder-away", test_storage_of_another_folder_away);
  return g_test_run ();
}
