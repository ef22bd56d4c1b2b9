/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules that are there and cannot be read: what they hide must not go out, and nothing is taken as removed. */
#include "sk-fleet-check.h"
#include "sk-test-hooks.h"

#include <glib/gstdio.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RULES "*.key\n"
#define NOBODY 65534

typedef void (*Spoil) (const char *path);

static void
make_directory (const char *path)
{
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (g_mkdir (path, 0755), ==, 0);
}

static void
make_link (const char *path)
{
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (symlink ("elsewhere", path), ==, 0);
}

static void
make_large (const char *path)
{
  g_assert_cmpint (truncate (path, (1 << 20) + 1), ==, 0);
}

/* What a machine that lost its power leaves. */
static void
make_zeros (const char *path)
{
  g_assert_cmpint (truncate (path, 0), ==, 0);
  g_assert_cmpint (truncate (path, strlen (RULES)), ==, 0);
}

static void
make_secret (const char *path)
{
  g_assert_cmpint (g_chmod (path, 0), ==, 0);
}

static void
put_back (const char *path)
{
  if (g_file_test (path, G_FILE_TEST_IS_DIR) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK))
    g_assert_cmpint (g_rmdir (path), ==, 0);
  else
    g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_true (g_file_set_contents (path, RULES, -1, NULL));
}

static SkFleet *
sharing (char **a, char **b, gboolean watch)
{
  SkFleet *fleet = sk_fleet_new (2, watch);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (*a, ".skerryignore", RULES, -1);
  sk_put_file (*a, "text", "a text", -1);
  sk_put_file (*a, "other", "another text", -1);
  sk_put_file (*a, "private.key", "secret", -1);
  sk_fleet_share (fleet, "f");
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (*b, "private.key"));
  return fleet;
}

static void
check_spoilt (Spoil spoil)
{
  g_autofree char *a = NULL, *b = NULL, *path = NULL, *text = NULL;
  g_autoptr(SkFleet) fleet = sharing (&a, &b, FALSE);

  path = g_build_filename (a, ".skerryignore", NULL);
  spoil (path);
  sk_unlink (a, "text");
  sk_put_file (a, "new", "new", -1);
  sk_put_file (b, "other", "edited on b", -1);
  sk_sync (fleet, 1);
  g_assert_true (sk_sync_attention (fleet, 0));
  sk_fleet_restart (fleet, 0);
  g_assert_true (sk_sync_attention (fleet, 0));
  sk_sync (fleet, 1);
  /* Nothing went out, nothing came in, and nothing is taken as removed. */
  g_assert_false (sk_there (b, "private.key"));
  g_assert_false (sk_there (b, "new"));
  g_assert_true (sk_there (b, "text"));
  sk_assert_content (a, "other", "another text");
  g_assert_cmpuint (sk_issues (fleet, 0), ==, 1);
  g_assert_cmpuint (sk_issue (fleet, 0, "ignore-rules", &text), !=, 0);
  g_assert_nonnull (strstr (text, ".skerryignore"));
  g_assert_nonnull (strstr (text, "“f”"));
  sk_assert_content (b, ".skerryignore", RULES);

  put_back (path);
  sk_fleet_settle (fleet, 8);
  sk_assert_no_issues (fleet, 0);
  sk_assert_content (a, "other", "edited on b");
  sk_assert_content (b, "new", "new");
  g_assert_false (sk_there (b, "text"));
  g_assert_false (sk_there (b, "private.key"));
  g_assert_true (sk_there (a, "private.key"));
}

static void
test_directory (void)
{
  check_spoilt (make_directory);
}

static void
test_link (void)
{
  check_spoilt (make_link);
}

static void
test_large (void)
{
  check_spoilt (make_large);
}

static void
test_zeros (void)
{
  check_spoilt (make_zeros);
}

/* Root may read everything. */
static void
permission_as_nobody (void)
{
  const gid_t groups[] = { NOBODY };

  if (!g_test_subprocess ())
    return;
  if (geteuid () == 0)
    {
      g_assert_cmpint (setgroups (1, groups), ==, 0);
      g_assert_cmpint (setresgid (NOBODY, NOBODY, NOBODY), ==, 0);
      g_assert_cmpint (setresuid (NOBODY, NOBODY, NOBODY), ==, 0);
    }
  check_spoilt (make_secret);
}

static void
test_permission (void)
{
  g_test_trap_subprocess ("/rules/subprocess/permission-as-nobody", 0, 0);
  g_test_trap_assert_passed ();
}

/* A folder that is met for the first time is still that afterwards: nothing of it is taken as removed. */
static void
test_first_contact (void)
{
  g_autofree char *a = NULL, *b = NULL, *rules = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_many (a, "file", 5);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  sk_sync_all (fleet, 1);
  rules = g_build_filename (b, ".skerryignore", NULL);
  g_assert_cmpint (g_mkdir (rules, 0755), ==, 0);
  sk_put_file (b, "file1", "an older text", -1);
  sk_put_file (b, "private.key", "secret", -1);
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  sk_sync_all (fleet, 2);
  g_assert_false (sk_there (a, "private.key"));
  g_assert_false (sk_there (b, "file2"));
  put_back (rules);
  sk_fleet_settle (fleet, 10);
  g_assert_false (sk_there (a, "private.key"));
  g_assert_cmpuint (sk_count_content (a, "an older text"), ==, 1);
  g_assert_true (sk_there (b, "file2"));
  sk_assert_no_issues (fleet, 1);
}

typedef struct { const char *path; gboolean known; } Look;

static gboolean
look_for_node (SkSession *session, gpointer data, GError **error)
{
  Look *look = data;
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);
  g_autoptr(SkNode) node = sk_index_node (session->index, ((SkFolderRow *) folders->pdata[0])->row, look->path, NULL);

  look->known = node != NULL && node->target.kind != SK_KIND_NONE;
  return TRUE;
}

/* Whether the vault has it, as device @i knows. */
static gboolean
is_in_vault (SkFleet *fleet, guint i, const char *path)
{
  Look look = { .path = path };

  g_assert_true (sk_session_index (fleet->devices[i], look_for_node, &look, NULL));
  return look.known;
}

/* The rules are in the vault and not here yet: what they hide here does not go out before they came. */
static void
test_rules_on_their_way (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sk_fleet_new (2, FALSE);

  a = sk_fleet_path (fleet, 0, "f");
  b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (a, ".skerryignore", RULES, -1);
  sk_put_file (a, "text", "a text", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a));
  sk_sync_all (fleet, 1);
  sk_put_file (b, "private.key", "secret", -1);
  sk_put_file (b, "own", "own", -1);
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", b));
  sk_fleet_settle (fleet, 8);
  sk_assert_content (b, ".skerryignore", RULES);
  sk_assert_content (a, "own", "own");
  g_assert_true (is_in_vault (fleet, 0, "own"));
  g_assert_false (is_in_vault (fleet, 0, "private.key"));
  sk_assert_no_issues (fleet, 1);
}

typedef struct { SkFleet *fleet; const char *dir, *path; gboolean raised; } Until;

static gboolean
is_open (gpointer data)
{
  Until *until = data;

  return (sk_issue (until->fleet, 0, "ignore-rules", NULL) != 0) == until->raised;
}

static const char *changing;

/* Disk thread: while a scan is under way a person leaves something out and then makes it. */
static void
leave_out_once (const char *stage)
{
  const char *root = g_str_equal (stage, "scan") ? g_steal_pointer (&changing) : NULL;

  if (root == NULL)
    return;
  sk_put_file (root, ".skerryignore", "hidden/\n" RULES, -1);
  sk_put_file (root, "hidden/old", "old", -1);
}

static void
test_changed_during_a_scan (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = sharing (&a, &b, FALSE);

  changing = a;
  sk_test_stage_hook = leave_out_once;
  sk_sync (fleet, 0);
  sk_test_stage_hook = NULL;
  g_assert_null (changing);
  sk_fleet_settle (fleet, 8);
  g_assert_false (sk_there (b, "hidden/old"));
  g_assert_false (sk_there (b, "hidden"));
}

static gboolean
is_there (gpointer data)
{
  Until *until = data;

  return sk_there (until->dir, until->path);
}

/* An engine that runs notices both by itself, and then watches what the rules hid before. */
static void
test_running (void)
{
  g_autofree char *a = NULL, *b = NULL, *path = NULL;
  g_autoptr(SkFleet) fleet = sharing (&a, &b, TRUE);
  Until raised = { .fleet = fleet, .raised = TRUE }, over = { .fleet = fleet }, arrived = { .dir = b, .path = "hidden/new" };

  path = g_build_filename (a, ".skerryignore", NULL);
  make_zeros (path);
  g_assert_true (sk_wait (is_open, &raised, 20));
  put_back (path);
  g_assert_true (sk_wait (is_open, &over, 20));
  g_assert_true (g_file_set_contents (path, "hidden/\n" RULES, -1, NULL));
  sk_put_file (a, "hidden/old", "old", -1);
  sk_sync_all (fleet, 1);
  g_assert_false (sk_there (b, "hidden/old"));
  g_assert_true (g_file_set_contents (path, RULES, -1, NULL));
  sk_sync_all (fleet, 1);
  sk_put_file (a, "hidden/new", "new", -1);
  g_assert_true (sk_wait (is_there, &arrived, 30));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rules/rule-a14/a-directory", test_directory);
  g_test_add_func ("/rules/rule-a14/a-link", test_link);
  g_test_add_func ("/rules/rule-a14/too-large", test_large);
  g_test_add_func ("/rules/rule-a14/zeros", test_zeros);
  g_test_add_func ("/rules/rule-a14/permission", test_permission);
  g_test_add_func ("/rules/subprocess/permission-as-nobody", permission_as_nobody);
  g_test_add_func ("/rules/rule-a14/first-contact", test_first_contact);
  g_test_add_func ("/rules/rule-a14/on-their-way", test_rules_on_their_way);
  g_test_add_func ("/rules/rule-a14/changed-during-a-scan", test_changed_during_a_scan);
  g_test_add_func ("/rules/noticed-by-a-running-engine", test_running);
  return g_test_run ();
}
