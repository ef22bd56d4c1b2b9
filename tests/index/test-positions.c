/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings, folders, storages, log positions, segments, members, issues, activity. */
#include "index-support.h"

/* --- settings --- */

static void
test_settings (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) keys = NULL, more = NULL;
  g_autoptr(GBytes) value = NULL, empty = NULL;

  fixture_open (&f);
  g_assert_null (sk_index_get (f.index, "k"));
  g_assert_cmpuint (sk_index_get_u64 (f.index, "n", 7), ==, 7);
  begin (f.index);
  g_assert_true (sk_index_set (f.index, "k", "a\0b", 3, &error));
  g_assert_true (sk_index_set (f.index, "e", NULL, 0, &error));
  for (guint i = 0; i < 5; i++)
    {
      g_autofree char *key = g_strdup_printf ("many:%u", i);

      g_assert_true (sk_index_set (f.index, key, "x", 1, &error));
    }
  g_assert_true (sk_index_set (f.index, "many", "x", 1, &error));
  g_assert_true (sk_index_unset (f.index, "many:3", &error));
  g_assert_true (sk_index_unset (f.index, "never there", &error));
  g_assert_true (sk_index_set_u64 (f.index, "n", 1, &error));
  g_assert_true (sk_index_set_u64 (f.index, "n", G_MAXUINT64, &error));
  g_assert_no_error (error);
  commit (f.index);
  fixture_reopen (&f);
  keys = sk_index_keys (f.index, "many:", NULL, 3, &error);
  g_assert_cmpuint (keys->len, ==, 3);
  g_assert_cmpstr (keys->pdata[2], ==, "many:2");
  more = sk_index_keys (f.index, "many:", "many:2", 3, &error);
  g_assert_cmpuint (more->len, ==, 1);
  g_assert_cmpstr (more->pdata[0], ==, "many:4");
  value = sk_index_get (f.index, "k");
  empty = sk_index_get (f.index, "e");
  g_assert_cmpmem (g_bytes_get_data (value, NULL), g_bytes_get_size (value), "a\0b", 3);
  g_assert_cmpuint (g_bytes_get_size (empty), ==, 0);
  g_assert_cmpuint (sk_index_get_u64 (f.index, "n", 7), ==, G_MAXUINT64);

  /* A number that is none: the fallback, and the next change is refused once. */
  g_assert_cmpuint (sk_index_get_u64 (f.index, "k", 7), ==, 7);
  g_assert_false (sk_index_begin (f.index, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  begin (f.index);
  commit (f.index);
  fixture_close (&f);
}

/* --- folders and storages --- */

static void
test_definitions (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkFolderRow) row = NULL;
  SkId storages[] = { make_id (5), make_id (6) };
  g_autoptr(GArray) list = g_array_new (FALSE, FALSE, sizeof (SkId));
  SkFolderDef def = { .id = make_id (77), .name = (char *) "New", .lamport = 2, .writer = make_id (1), .storages = list };
  gboolean changed;

  g_array_append_vals (list, storages, 2);
  fixture_open (&f);
  begin (f.index);
  g_assert_true (sk_index_folder_define (f.index, &def, &changed, &error));
  g_assert_true (changed);
  g_assert_true (sk_index_folder_define (f.index, &def, &changed, &error));
  g_assert_false (changed);
  def.name = (char *) "Older";
  def.lamport = 1;
  g_assert_true (sk_index_folder_define (f.index, &def, &changed, &error));
  g_assert_false (changed);
  def.lamport = 2;
  def.writer = make_id (2);      /* the same Lamport number, a higher writer */
  def.name = (char *) "Newest";
  def.deleted = TRUE;
  g_assert_true (sk_index_folder_define (f.index, &def, &changed, &error));
  g_assert_true (changed);
  g_assert_no_error (error);
  commit (f.index);
  fixture_reopen (&f);
  row = sk_index_folder (f.index, f.folder);
  g_assert_cmpstr (row->name, ==, "Newest");
  g_assert_true (row->deleted);
  g_assert_cmpuint (row->storages->len, ==, 2);
  g_assert_true (sk_id_equal (&g_array_index (row->storages, SkId, 1), &storages[1]));
  g_assert_null (row->path);
  g_assert_null (sk_index_folder (f.index, 99));
  fixture_close (&f);
}

static void
test_attach_and_detach (void)
{
  static const char *const only[] = { "*.jpg", "a b", NULL };
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkFolderRow) row = NULL, detached = NULL;
  g_autoptr(SkNode) node = NULL;
  SkHash fsid = make_hash (3);
  SkFolderCounts counts;
  gint64 file;

  fixture_open (&f);
  begin (f.index);
  g_assert_true (sk_index_folder_attach (f.index, f.folder, "/home/x/\xff", SK_FOLDER_RECEIVE, only, &error));
  g_assert_true (sk_index_folder_set_numbers (f.index, f.folder, G_MAXUINT64, 5, &fsid, &error));
  g_assert_true (sk_index_folder_set_first_contact (f.index, f.folder, TRUE, &error));
  file = put_file (&f, "a/x", 1, 10, 2);
  commit (f.index);
  fixture_reopen (&f);
  row = sk_index_folder (f.index, f.folder);
  g_assert_cmpstr (row->path, ==, "/home/x/\xff");
  g_assert_cmpint (row->mode, ==, SK_FOLDER_RECEIVE);
  g_assert_cmpstrv (row->only, only);
  g_assert_true (row->first_contact);
  g_assert_cmpuint (row->root_dev, ==, G_MAXUINT64);
  g_assert_cmpuint (row->root_ino, ==, 5);
  g_assert_true (sk_hash_equal (&row->root_fsid, &fsid));
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  g_assert_cmpint (counts.dirty_nodes, ==, 0);

  /* Detaching forgets what is on this disk, and nothing else. */
  begin (f.index);
  g_assert_true (sk_index_folder_detach (f.index, f.folder, &error));
  g_assert_no_error (error);
  commit (f.index);
  node = get_node (&f, file);
  g_assert_cmpint (node->base.kind, ==, SK_KIND_NONE);
  g_assert_null (node->base.vector);
  g_assert_cmpint (node->target.kind, ==, SK_KIND_FILE);
  g_assert_true (node->dirty);
  g_assert_cmpuint (node->generation, ==, 2);
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  g_assert_cmpint (counts.dirty_nodes, ==, 1);
  g_assert_cmpint (counts.files, ==, 1);
  detached = sk_index_folder (f.index, f.folder);
  g_assert_null (detached->path);
  g_assert_null (detached->only);
  assert_sound (f.index);
  fixture_close (&f);
}

static void
test_mode_of_folder (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;

  fixture_open (&f);
  for (SkFolderMode mode = SK_FOLDER_BOTH; mode <= SK_FOLDER_RECEIVE; mode++)
    {
      g_autoptr(SkFolderRow) row = NULL;

      begin (f.index);
      g_assert_true (sk_index_folder_set_mode (f.index, f.folder, mode, &error));
      commit (f.index);
      row = sk_index_folder (f.index, f.folder);
      g_assert_cmpint (row->mode, ==, mode);
    }
  fixture_close (&f);
}

static void
test_storages (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) none = NULL, storages = NULL;
  SkId id = make_id (501);
  const SkStorageRow *row;
  gint64 early;

  fixture_open (&f);
  begin (f.index);
  early = sk_index_storage_ensure (f.index, &id, &error);
  none = sk_index_storages (f.index);
  g_assert_cmpuint (none->len, ==, 0);
  g_assert_cmpint (define_storage (f.index, &id, "bucket"), ==, early);
  g_assert_true (sk_index_storage_attach (f.index, early, "file:///mnt/x", &error));
  commit (f.index);
  storages = sk_index_storages (f.index);
  g_assert_cmpuint (storages->len, ==, 1);
  row = g_ptr_array_index (storages, 0);
  g_assert_cmpint (row->row, ==, early);
  g_assert_cmpstr (row->name, ==, "bucket");
  g_assert_cmpstr (row->defined_uri, ==, "file:///x");
  g_assert_cmpstr (row->uri, ==, "file:///mnt/x");
  begin (f.index);
  g_assert_true (sk_index_storage_attach (f.index, early, NULL, &error));
  commit (f.index);
  g_clear_pointer (&storages, g_ptr_array_unref);
  storages = sk_index_storages (f.index);
  g_assert_null (((SkStorageRow *) g_ptr_array_index (storages, 0))->uri);
  fixture_close (&f);
}

/* --- logs --- */

static SkPosition
make_position (guint64 writer, guint64 seq)
{
  return (SkPosition) { make_id (writer), seq, make_hash (seq) };
}

static void
test_positions (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) all = NULL, written = NULL, seen = NULL;
  SkPosition a = make_position (1, 5), b = make_position (2, 6), later = make_position (1, 9), found;
  SkId id = make_id (501);
  gint64 storage;

  fixture_open (&f);
  g_assert_false (sk_index_position (f.index, &a.writer, &found));
  begin (f.index);
  storage = define_storage (f.index, &id, "bucket");
  g_assert_true (sk_index_set_position (f.index, &b, &error));
  g_assert_true (sk_index_set_position (f.index, &a, &error));
  g_assert_true (sk_index_set_position (f.index, &later, &error));
  g_assert_true (sk_index_set_storage_position (f.index, storage, TRUE, &a, &error));
  g_assert_true (sk_index_set_storage_position (f.index, storage, FALSE, &b, &error));
  g_assert_no_error (error);
  commit (f.index);
  fixture_reopen (&f);
  g_assert_true (sk_index_position (f.index, &a.writer, &found));
  g_assert_cmpmem (&found, sizeof found, &later, sizeof later);
  all = sk_index_positions (f.index, &error);
  g_assert_cmpuint (all->len, ==, 2);
  written = sk_index_storage_positions (f.index, storage, TRUE, &error);
  seen = sk_index_storage_positions (f.index, storage, FALSE, &error);
  g_assert_cmpmem (written->data, written->len * sizeof a, &a, sizeof a);
  g_assert_cmpmem (seen->data, seen->len * sizeof b, &b, sizeof b);
  fixture_close (&f);
}

static void
test_segments (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autofree guint8 *noise = g_malloc0 (300000);
  g_autoptr(GBytes) first = g_bytes_new (noise, 300000), fork = g_bytes_new_static ("fork", 4), got = NULL, empty = g_bytes_new_static ("", 0);
  SkPosition position = make_position (1, 1), forked = { make_id (1), 1, make_hash (0) };
  SkHash hash;

  fixture_open (&f);
  begin (f.index);
  g_assert_true (sk_index_segment_keep (f.index, &position, first, &error));
  g_assert_true (sk_index_segment_keep (f.index, &position, first, &error));
  g_assert_true (sk_index_segment_keep (f.index, &forked, fork, &error));
  for (guint64 seq = 2; seq <= 10; seq++)
    {
      SkPosition next = make_position (1, seq);

      g_assert_true (sk_index_segment_keep (f.index, &next, empty, &error));
    }
  g_assert_no_error (error);
  commit (f.index);
  got = sk_index_segment_bytes (f.index, &position.writer, 1, &hash);
  g_assert_true (g_bytes_equal (got, first));
  g_assert_true (sk_hash_equal (&hash, &position.hash));      /* of two branches the one that came first */
  g_assert_null (sk_index_segment_bytes (f.index, &position.writer, 11, &hash));
  g_clear_pointer (&got, g_bytes_unref);
  got = sk_index_segment_bytes (f.index, &position.writer, 10, NULL);
  g_assert_cmpuint (g_bytes_get_size (got), ==, 0);
  fixture_close (&f);
}

static void
test_members (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) a = g_bytes_new_static ("one", 3), b = g_bytes_new_static ("two", 3), huge = NULL;
  g_autoptr(GPtrArray) members = NULL;

  fixture_open (&f);
  begin (f.index);
  g_assert_true (sk_index_member_add (f.index, b, &error));
  g_assert_true (sk_index_member_add (f.index, a, &error));
  g_assert_true (sk_index_member_add (f.index, b, &error));
  g_assert_no_error (error);
  huge = g_bytes_new_take (g_malloc0 (SK_MEMBER_MAX + 1), SK_MEMBER_MAX + 1);
  g_assert_false (sk_index_member_add (f.index, huge, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  commit (f.index);
  members = sk_index_members (f.index, NULL);
  g_assert_cmpuint (members->len, ==, 2);
  g_assert_true (g_bytes_equal (g_ptr_array_index (members, 0), b));
  fixture_close (&f);
}

/* --- issues and activity --- */

static void
raise_issue (Fixture *f, const char *key, const char *text)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_index_issue_raise (f->index, key, "unreadable", f->folder, "a/\xff", text, 100, &error));
  g_assert_no_error (error);
}

static void
test_issues (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) issues = NULL, left = NULL;
  const SkIssueRow *row;
  gboolean was_there;

  fixture_open (&f);
  begin (f.index);
  raise_issue (&f, "unreadable:1:a", "first");
  raise_issue (&f, "unreadable:1:a", "second");
  raise_issue (&f, "unreadable:1:b", "x");
  raise_issue (&f, "unreadable:2:a", "x");
  raise_issue (&f, "conflict:1:a", "x");
  commit (f.index);
  issues = sk_index_issues (f.index, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (issues->len, ==, 4);
  row = g_ptr_array_index (issues, 0);
  g_assert_cmpstr (row->key, ==, "unreadable:1:a");
  g_assert_cmpstr (row->text, ==, "second");
  g_assert_cmpstr (row->path, ==, "a/\xff");
  g_assert_cmpint (row->since, ==, 100);
  begin (f.index);
  g_assert_true (sk_index_issue_clear (f.index, "unreadable:1:a", &was_there, &error));
  g_assert_true (sk_index_issue_clear (f.index, "unreadable:1:b", &was_there, &error));
  g_assert_true (sk_index_issue_clear (f.index, "conflict:1:a", &was_there, &error));
  g_assert_true (was_there);
  g_assert_true (sk_index_issue_clear (f.index, "conflict:1:a", &was_there, &error));
  g_assert_false (was_there);
  commit (f.index);
  left = sk_index_issues (f.index, &error);
  g_assert_cmpuint (left->len, ==, 1);
  g_assert_cmpstr (((SkIssueRow *) g_ptr_array_index (left, 0))->key, ==, "unreadable:2:a");
  fixture_close (&f);
}

static void
test_activity_is_capped (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) few = NULL, all = NULL;
  const SkActivityRow *newest;

  fixture_open (&f);
  begin (f.index);
  for (gint64 i = 0; i < 10500; i++)
    g_assert_true (sk_index_activity_add (f.index, i, "written", f.folder, i % 2 ? "p" : NULL, NULL, &error));
  commit (f.index);
  few = sk_index_activity (f.index, 3, &error);
  all = sk_index_activity (f.index, 20000, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (few->len, ==, 3);
  newest = g_ptr_array_index (few, 0);
  g_assert_cmpint (newest->wall, ==, 10499);
  g_assert_cmpstr (newest->kind, ==, "written");
  g_assert_cmpstr (newest->path, ==, "p");
  g_assert_null (newest->detail);
  g_assert_cmpuint (all->len, ==, 10000);
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/positions/settings", test_settings);
  g_test_add_func ("/positions/definitions", test_definitions);
  g_test_add_func ("/positions/attach-and-detach", test_attach_and_detach);
  g_test_add_func ("/positions/mode-of-folder", test_mode_of_folder);
  g_test_add_func ("/positions/storages", test_storages);
  g_test_add_func ("/positions/log", test_positions);
  g_test_add_func ("/positions/segments", test_segments);
  g_test_add_func ("/positions/members", test_members);
  g_test_add_func ("/positions/issues", test_issues);
  g_test_add_func ("/positions/activity-is-capped", test_activity_is_capped);
  return g_test_run ();
}
