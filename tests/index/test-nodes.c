/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "index-support.h"

static void
test_ensure_and_find (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  gint64 file, dir;

  fixture_open (&f);
  begin (f.index);
  file = ensure_node (&f, "a/b/c");
  dir = ensure_node (&f, "a/b");
  g_assert_cmpint (ensure_node (&f, "a/b/c"), ==, file);
  commit (f.index);

  for (int round = 0; round < 2; round++)
    {
      g_autoptr(SkNode) node = sk_index_node (f.index, f.folder, "a/b/c", &error);
      g_autofree char *path = sk_index_node_path (f.index, file, &error);
      g_autofree char *top = sk_index_node_path (f.index, ensure_node (&f, "a"), &error);

      g_assert_no_error (error);
      g_assert_cmpint (node->row, ==, file);
      g_assert_cmpint (node->parent, ==, dir);
      g_assert_cmpint (node->folder, ==, f.folder);
      g_assert_cmpstr (node->name, ==, "c");
      g_assert_cmpint (node->base.kind, ==, SK_KIND_NONE);
      g_assert_false (node->dirty);
      g_assert_cmpstr (path, ==, "a/b/c");
      g_assert_cmpstr (top, ==, "a");
      fixture_reopen (&f);    /* the second round has nothing in memory */
    }
  g_assert_null (sk_index_node (f.index, f.folder, "a/b/d", &error));
  g_assert_null (sk_index_node (f.index, f.folder, "x/b/c", &error));
  g_assert_null (sk_index_node (f.index, f.folder + 1, "a/b/c", &error));
  g_assert_null (sk_index_node_by_row (f.index, 99999, &error));
  g_assert_no_error (error);
  fixture_close (&f);
}

static void
test_names_are_bytes (void)
{
  static const char *const names[] = { "bad\xff\xfe", "tab\tnew\nline", "a'; DROP TABLE node; --", "A", "a", "\xc3\xa2", "a\xcc\x82", "-rf", "%s", "..." };
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) children = NULL;

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    ensure_node (&f, names[i]);
  commit (f.index);
  children = sk_index_children (f.index, f.folder, 0, FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (children->len, ==, G_N_ELEMENTS (names));
  for (guint i = 1; i < children->len; i++)
    g_assert_cmpint (strcmp (((SkNode *) g_ptr_array_index (children, i - 1))->name, ((SkNode *) g_ptr_array_index (children, i))->name), <, 0);
  fixture_close (&f);
}

/* What a scan reads in short is what the long way reads, in the same order. */
static void
test_child_list (void)
{
  enum { N = 500 };
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkChildList) list = sk_child_list_new ();
  g_autoptr(GPtrArray) nodes = NULL;
  const SkChild *children;
  guint n;

  fixture_open (&f);
  begin (f.index);
  ensure_node (&f, "other/x");
  for (guint i = 0; i < N; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir/\xff%u", i * 7919 % N);
      gint64 row = ensure_node (&f, path);

      if (i % 5 != 0)
        set_base (&f, row, &(SkBase) { .kind = i % 7 == 0 ? SK_KIND_DIR : SK_KIND_FILE, .mode = i, .size = i, .ino = G_MAXUINT64 - i, .stat_mtime = -(gint64) i,
                                       .ctime = i + 1, .mount_root = i % 2, .unproven = i % 3 == 0 });
    }
  commit (f.index);
  nodes = sk_index_children (f.index, f.folder, ensure_node (&f, "dir"), FALSE, &error);
  for (guint round = 0; round < 2; round++)     /* in memory that is used again */
    {
      g_assert_true (sk_index_child_list (f.index, f.folder, 0, list, &error));
      g_assert_true (sk_index_child_list (f.index, f.folder, ensure_node (&f, "dir"), list, &error));
    }
  children = sk_child_list_get (list, &n);
  g_assert_cmpuint (n, ==, N);
  for (guint i = 0; i < n; i++)
    {
      const SkNode *node = nodes->pdata[i];
      const SkChild *c = &children[i];

      g_assert_cmpstr (c->name, ==, node->name);
      g_assert_cmpint (c->row, ==, node->row);
      g_assert_true (c->kind == node->base.kind && c->mode == node->base.mode && c->size == node->base.size && c->ino == node->base.ino
                     && c->stat_mtime == node->base.stat_mtime && c->ctime == node->base.ctime && c->mount_root == node->base.mount_root
                     && c->unproven == node->base.unproven);
    }
  fixture_close (&f);
}

static void
test_bad_paths_are_refused (void)
{
  static const char *const bad[] = { "", "/a", "a/", "a//b", "..", "a/../b", ".", "a/.skerry/x" };
  Fixture f = { 0 };

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr(GError) error = NULL;

      g_assert_cmpint (sk_index_node_ensure (f.index, f.folder, bad[i], &error), ==, 0);
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
    }
  ensure_node (&f, "good");      /* a refused path does not spoil the transaction */
  commit (f.index);
  fixture_close (&f);
}

static void
test_deep_path (void)
{
  g_autoptr(GString) path = g_string_new ("d");
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autofree char *found = NULL;
  gint64 row;

  for (guint i = 1; i < SK_DEPTH_MAX; i++)
    g_string_append (path, "/d");
  fixture_open (&f);
  begin (f.index);
  row = ensure_node (&f, path->str);
  commit (f.index);
  fixture_reopen (&f);
  found = sk_index_node_path (f.index, row, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (found, ==, path->str);
  assert_sound (f.index);
  fixture_close (&f);
}

/* More directories than the memory of parents holds, visited twice. */
static void
test_more_parents_than_memory (void)
{
  enum { N = 12000 };
  Fixture f = { 0 };
  g_autofree gint64 *rows = g_new (gint64, N);

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < N; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/x", i);

      rows[i] = ensure_node (&f, path);
    }
  commit (f.index);
  for (guint i = 0; i < N; i++)
    {
      g_autoptr(GError) error = NULL;
      g_autofree char *path = g_strdup_printf ("d%u/x", (i * 7919) % N);
      g_autoptr(SkNode) node = sk_index_node (f.index, f.folder, path, &error);
      g_autofree char *back = sk_index_node_path (f.index, node->row, &error);

      g_assert_cmpint (node->row, ==, rows[(i * 7919) % N]);
      g_assert_cmpstr (back, ==, path);
    }
  fixture_close (&f);
}

static void
test_rollback_forgets (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  SkFolderCounts counts;
  gint64 lost, again;

  fixture_open (&f);
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  begin (f.index);
  lost = ensure_node (&f, "dir/lost");
  put_file (&f, "dir/file", 5, 100, 2);
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  g_assert_cmpint (counts.files, ==, 1);
  sk_index_rollback (f.index);

  g_assert_null (sk_index_node (f.index, f.folder, "dir/lost", &error));
  g_assert_no_error (error);
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  g_assert_cmpint (counts.files, ==, 0);

  begin (f.index);
  ensure_node (&f, "other/first");        /* takes the row that "dir" had */
  again = ensure_node (&f, "dir/lost");
  g_assert_cmpint (again, !=, lost);
  put_file (&f, "dir/file", 5, 100, 2);
  commit (f.index);
  assert_sound (f.index);
  fixture_close (&f);
}

/* --- base, target and what follows --- */

static void
test_base_and_target_come_back (void)
{
  Fixture f = { 0 };
  g_autoptr(SkVector) vector = sk_vector_new ((SkVectorItem[]) { { make_id (3), 7 }, { make_id (2), G_MAXINT64 } }, 2);
  SkBase base = { .kind = SK_KIND_FILE, .version = 11, .vector = vector, .content = 12, .mode = 07777, .mtime = -1, .size = 13,
                  .ino = G_MAXUINT64, .dev = G_MAXUINT64 - 1, .stat_mtime = G_MININT64, .ctime = G_MAXINT64, .btime = 14, .mount_root = TRUE, .unproven = TRUE };
  SkTarget target = { .kind = SK_KIND_SYMLINK, .version = 21, .content = 22, .size = 23, .mode = 0777, .mtime = -24 };
  g_autoptr(SkNode) node = NULL;
  gint64 row;

  fixture_open (&f);
  begin (f.index);
  row = ensure_node (&f, "x");
  set_base (&f, row, &base);
  set_target (&f, row, &target);
  commit (f.index);
  fixture_reopen (&f);
  node = get_node (&f, row);
  g_assert_cmpint (node->base.kind, ==, base.kind);
  g_assert_cmpint (node->base.version, ==, base.version);
  g_assert_cmpint (sk_vector_compare (node->base.vector, vector), ==, SK_ORDER_EQUAL);
  g_assert_cmpint (node->base.content, ==, base.content);
  g_assert_cmpuint (node->base.mode, ==, base.mode);
  g_assert_cmpint (node->base.mtime, ==, base.mtime);
  g_assert_cmpuint (node->base.size, ==, base.size);
  g_assert_cmpuint (node->base.ino, ==, base.ino);
  g_assert_cmpuint (node->base.dev, ==, base.dev);
  g_assert_cmpint (node->base.stat_mtime, ==, base.stat_mtime);
  g_assert_cmpint (node->base.ctime, ==, base.ctime);
  g_assert_cmpint (node->base.btime, ==, base.btime);
  g_assert_true (node->base.mount_root);
  g_assert_true (node->base.unproven);
  g_assert_cmpint (node->target.kind, ==, target.kind);
  g_assert_cmpint (node->target.version, ==, target.version);
  g_assert_cmpint (node->target.content, ==, target.content);
  g_assert_cmpuint (node->target.size, ==, target.size);
  g_assert_cmpuint (node->target.mode, ==, target.mode);
  g_assert_cmpint (node->target.mtime, ==, target.mtime);
  fixture_close (&f);
}

static void
test_generation_counts_base_only (void)
{
  Fixture f = { 0 };
  gint64 row;

  fixture_open (&f);
  begin (f.index);
  row = ensure_node (&f, "x");
  for (guint i = 1; i <= 3; i++)
    {
      g_autoptr(SkNode) node = NULL;

      set_base (&f, row, &(SkBase) { .kind = SK_KIND_DIR, .mode = 0755 });
      set_target (&f, row, &(SkTarget) { .kind = SK_KIND_DIR, .mode = 0700 + i });
      node = get_node (&f, row);
      g_assert_cmpuint (node->generation, ==, i);
    }
  commit (f.index);
  fixture_close (&f);
}

/* A deletion that was carried out keeps its vector, and nothing else (A1). */
static void
test_none_keeps_only_the_vector (void)
{
  Fixture f = { 0 };
  g_autoptr(SkVector) vector = sk_vector_new (&(SkVectorItem) { make_id (1), 9 }, 1);
  g_autoptr(SkNode) node = NULL;
  gint64 row;

  fixture_open (&f);
  begin (f.index);
  row = ensure_node (&f, "x");
  set_base (&f, row, &(SkBase) { .kind = SK_KIND_NONE, .vector = vector, .content = 5, .size = 6, .mode = 7, .unproven = TRUE });
  commit (f.index);
  node = get_node (&f, row);
  g_assert_nonnull (node->base.vector);
  g_assert_cmpuint (sk_vector_get (node->base.vector, &(SkId) { { 0 } }), ==, 0);
  g_assert_cmpint (node->base.content, ==, 0);
  g_assert_cmpuint (node->base.size, ==, 0);
  g_assert_false (node->dirty);
  assert_sound (f.index);
  fixture_close (&f);
}

typedef struct { SkKind base, target; gint64 content; guint32 mode; gint64 mtime; gboolean dirty; } DirtyCase;

static void
test_dirty_table (void)
{
  static const DirtyCase cases[] = {
    { SK_KIND_NONE, SK_KIND_NONE, 0, 0, 0, FALSE },
    { SK_KIND_NONE, SK_KIND_FILE, 0, 0, 0, TRUE },
    { SK_KIND_FILE, SK_KIND_NONE, 0, 0, 0, TRUE },
    { SK_KIND_NONE, SK_KIND_DIR, 0, 0, 0, TRUE },
    { SK_KIND_FILE, SK_KIND_DIR, 0, 0, 0, TRUE },
    { SK_KIND_FILE, SK_KIND_SYMLINK, 0, 0, 0, TRUE },
    { SK_KIND_FILE, SK_KIND_FILE, 0, 0, 0, FALSE },
    { SK_KIND_FILE, SK_KIND_FILE, 1, 0, 0, TRUE },
    { SK_KIND_FILE, SK_KIND_FILE, 0, 1, 0, TRUE },
    { SK_KIND_FILE, SK_KIND_FILE, 0, 0, 1, TRUE },
    { SK_KIND_DIR, SK_KIND_DIR, 0, 0, 0, FALSE },
    { SK_KIND_DIR, SK_KIND_DIR, 0, 1, 0, TRUE },
    { SK_KIND_DIR, SK_KIND_DIR, 0, 0, 1, FALSE },
    { SK_KIND_SYMLINK, SK_KIND_SYMLINK, 0, 0, 0, FALSE },
    { SK_KIND_SYMLINK, SK_KIND_SYMLINK, 1, 0, 0, TRUE },
    { SK_KIND_SYMLINK, SK_KIND_SYMLINK, 0, 1, 0, FALSE },
    { SK_KIND_SYMLINK, SK_KIND_SYMLINK, 0, 0, 1, TRUE },
  };
  Fixture f = { 0 };

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int order = 0; order < 2; order++)
      {
        const DirtyCase *c = &cases[i];
        g_autofree char *path = g_strdup_printf ("n%u-%d", i, order);
        gint64 row = ensure_node (&f, path);
        SkBase base = { .kind = c->base, .content = 10, .mode = 0644, .mtime = 100 };
        SkTarget target = { .kind = c->target, .content = 10 + c->content, .mode = 0644 + c->mode, .mtime = 100 + c->mtime };
        g_autoptr(SkNode) node = NULL;

        if (order == 0)
          set_base (&f, row, &base);
        set_target (&f, row, &target);
        if (order == 1)
          set_base (&f, row, &base);
        node = get_node (&f, row);
        g_test_message ("case %u, order %d", i, order);
        g_assert_cmpint (node->dirty, ==, c->dirty);
      }
  commit (f.index);
  fixture_close (&f);
}

static void
test_dirty_list_and_hold (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) first = NULL, rest = NULL, held = NULL, none = NULL, after = NULL;
  gint64 rows[10];

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *path = g_strdup_printf ("n%u", i);

      rows[i] = ensure_node (&f, path);
      set_target (&f, rows[i], &(SkTarget) { .kind = SK_KIND_FILE, .content = 1, .size = 100 });
    }
  g_assert_true (sk_index_set_hold (f.index, rows[2], SK_HOLD_MASS | SK_HOLD_CLASH, &error));
  g_assert_true (sk_index_set_hold (f.index, rows[3], SK_HOLD_CLASH, &error));
  commit (f.index);

  first = sk_index_dirty (f.index, f.folder, 0, 4, &error);
  g_assert_cmpuint (first->len, ==, 4);
  g_assert_cmpint (((SkNode *) g_ptr_array_index (first, 2))->row, ==, rows[4]);
  rest = sk_index_dirty (f.index, f.folder, ((SkNode *) g_ptr_array_index (first, 3))->row, 100, &error);
  g_assert_cmpuint (rest->len, ==, 4);
  held = sk_index_held (f.index, f.folder, SK_HOLD_MASS, 100, &error);
  g_assert_cmpuint (held->len, ==, 1);
  g_assert_cmpint (((SkNode *) g_ptr_array_index (held, 0))->row, ==, rows[2]);
  none = sk_index_held (f.index, f.folder, SK_HOLD_IGNORED, 100, &error);
  g_assert_cmpuint (none->len, ==, 0);

  begin (f.index);
  g_assert_true (sk_index_set_hold (f.index, rows[2], 0, &error));
  commit (f.index);
  after = sk_index_dirty (f.index, f.folder, 0, 100, &error);
  g_assert_cmpuint (after->len, ==, 9);
  g_assert_no_error (error);
  fixture_close (&f);
}

static void
test_lists_from_the_other_side (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) by_inode = NULL, by_content = NULL, all = NULL, based = NULL;
  gint64 rows[3];

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("n%u", i);

      rows[i] = ensure_node (&f, path);
      set_base (&f, rows[i], &(SkBase) { .kind = SK_KIND_FILE, .content = 5, .ino = 40 + i / 2, .unproven = i == 1 });
    }
  ensure_node (&f, "without");
  commit (f.index);
  by_inode = sk_index_nodes_by_inode (f.index, f.folder, 40, &error);
  by_content = sk_index_nodes_by_content (f.index, 5, 2, &error);
  all = sk_index_children (f.index, f.folder, 0, FALSE, &error);
  based = sk_index_children (f.index, f.folder, 0, TRUE, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (by_inode->len, ==, 2);
  g_assert_cmpuint (by_content->len, ==, 2);
  g_assert_cmpuint (all->len, ==, 4);
  g_assert_cmpuint (based->len, ==, 3);
  fixture_close (&f);
}

static void
test_mode_stamps (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkNode) node = NULL;
  SkModeStamp file = { .lamport = G_MAXINT64, .writer = make_id (8), .mode = 07777, .set = TRUE };
  SkModeStamp dir = { .lamport = 0, .writer = make_id (9), .mode = 0700, .set = TRUE };
  gint64 row;

  fixture_open (&f);
  begin (f.index);
  row = ensure_node (&f, "x");
  g_assert_true (sk_index_set_mode_stamp (f.index, row, 1, &dir, &error));
  g_assert_true (sk_index_set_mode_stamp (f.index, row, 0, &file, &error));
  g_assert_no_error (error);
  commit (f.index);
  fixture_reopen (&f);
  node = get_node (&f, row);
  g_assert_true (node->mode_stamp[0].set);
  g_assert_cmpuint (node->mode_stamp[0].lamport, ==, G_MAXINT64);
  g_assert_true (sk_id_equal (&node->mode_stamp[0].writer, &file.writer));
  g_assert_cmpuint (node->mode_stamp[0].mode, ==, 07777);
  g_assert_true (node->mode_stamp[1].set);
  g_assert_cmpuint (node->mode_stamp[1].lamport, ==, 0);
  g_assert_true (sk_id_equal (&node->mode_stamp[1].writer, &dir.writer));
  fixture_close (&f);
}

static void
assert_counts_equal (Fixture *f, const SkFolderCounts *expected)
{
  g_autoptr(GError) error = NULL;
  SkFolderCounts kept, walked;

  g_assert_true (sk_index_folder_counts (f->index, f->folder, &kept, &error));
  fixture_reopen (f);
  g_assert_true (sk_index_folder_counts (f->index, f->folder, &walked, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (&kept, sizeof kept, &walked, sizeof walked);
  if (expected != NULL)
    g_assert_cmpmem (&kept, sizeof kept, expected, sizeof *expected);
}

static void
test_counts (void)
{
  static const SkKind kinds[] = { SK_KIND_NONE, SK_KIND_FILE, SK_KIND_DIR, SK_KIND_SYMLINK };
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GRand) rand = g_rand_new_with_seed (4711);
  g_autoptr(SkEntry) tombstone = NULL;
  SkFolderCounts counts;
  gint64 nodes[20], gone;

  g_test_message ("seed 4711");
  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/n%u", i);

      nodes[i] = ensure_node (&f, path);
    }
  commit (f.index);
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  for (guint round = 0; round < 20; round++)
    {
      begin (f.index);
      for (guint i = 0; i < 100; i++)
        {
          gint64 node = nodes[g_rand_int_range (rand, 0, 20)];
          SkKind kind = kinds[g_rand_int_range (rand, 0, 4)];
          gint64 content = kind == SK_KIND_FILE || kind == SK_KIND_SYMLINK ? g_rand_int_range (rand, 1, 3) : 0;

          if (g_rand_boolean (rand))
            set_target (&f, node, &(SkTarget) { .kind = kind, .content = content, .size = kind == SK_KIND_FILE ? (guint64) content * 100 : 0 });
          else if (g_rand_boolean (rand))
            set_base (&f, node, &(SkBase) { .kind = kind, .content = content });
          else
            g_assert_true (sk_index_set_hold (f.index, node, (guint32) g_rand_int_range (rand, 0, 2), &error));
        }
      if (round % 3 == 2)
        sk_index_rollback (f.index);
      else
        commit (f.index);
      assert_counts_equal (&f, NULL);
    }

  tombstone = make_entry (&f, "d/n1", SK_KIND_TOMBSTONE, 9, 0, 0);
  g_assert_true (sk_index_folder_counts (f.index, f.folder, &counts, &error));
  begin (f.index);
  gone = add_version (&f, nodes[1], tombstone);
  add_version (&f, nodes[2], tombstone);
  g_assert_true (sk_index_version_set_maximal (f.index, gone, FALSE, &error));
  g_assert_true (sk_index_version_set_maximal (f.index, gone, FALSE, &error));
  commit (f.index);
  counts.tombstones = 1;
  assert_counts_equal (&f, &counts);
  begin (f.index);
  g_assert_true (sk_index_version_set_maximal (f.index, gone, TRUE, &error));
  g_assert_true (sk_index_version_remove (f.index, gone, &error));
  commit (f.index);
  assert_counts_equal (&f, &counts);
  fixture_close (&f);
}

static void
test_live_children (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkNode) node = NULL;
  gint64 row;

  fixture_open (&f);
  begin (f.index);
  row = ensure_node (&f, "x");
  g_assert_true (sk_index_add_live_children (f.index, row, 3, &error));
  g_assert_true (sk_index_add_live_children (f.index, row, -1, &error));
  commit (f.index);
  node = get_node (&f, row);
  g_assert_cmpint (node->live_children, ==, 2);
  fixture_close (&f);
}

/* --- speed, printed; the bounds are wide because other work may share the machine --- */

static void
insert_many (Fixture *f, guint n, guint per_directory)
{
  g_autoptr(SkVector) vector = NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir%05u/sub/file-%06u.txt", i / per_directory, i);

      if (i % 1000 == 0)
        begin (f->index);
      put_file (f, path, i + 1, 1000000 + i, 1);
      if (i % 1000 == 999 || i + 1 == n)
        commit (f->index);
    }
}

static void
test_speed (void)
{
  const guint n = 50000;
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  guint64 before, read = 0;
  gint64 started, wrote;

  fixture_open (&f);
  before = sk_index_transactions (f.index);
  started = g_get_monotonic_time ();
  insert_many (&f, n, 100);
  wrote = g_get_monotonic_time ();
  g_assert_cmpuint (sk_index_transactions (f.index) - before, <=, n / 1000 * 5);
  for (guint i = 0; i < n / 100; i++)
    {
      g_autofree char *path = g_strdup_printf ("dir%05u/sub", i);
      g_autoptr(SkNode) dir = sk_index_node (f.index, f.folder, path, &error);
      g_autoptr(GPtrArray) children = sk_index_children (f.index, f.folder, dir->row, TRUE, &error);

      read += children->len;
    }
  g_assert_cmpuint (read, ==, n);
  g_test_message ("%.0f files/s written with node, version, content, chunk, base and target; %.2f us per child read",
                  n * 1e6 / (double) (wrote - started), (double) (g_get_monotonic_time () - wrote) / n);
  g_assert_cmpfloat (n * 1e6 / (double) (wrote - started), >, 2000);
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/nodes/ensure-and-find", test_ensure_and_find);
  g_test_add_func ("/nodes/names-are-bytes", test_names_are_bytes);
  g_test_add_func ("/nodes/child-list", test_child_list);
  g_test_add_func ("/nodes/bad-paths-are-refused", test_bad_paths_are_refused);
  g_test_add_func ("/nodes/deep-path", test_deep_path);
  g_test_add_func ("/nodes/more-parents-than-memory", test_more_parents_than_memory);
  g_test_add_func ("/nodes/rollback-forgets", test_rollback_forgets);
  g_test_add_func ("/nodes/base-and-target-come-back", test_base_and_target_come_back);
  g_test_add_func ("/nodes/generation-counts-base-only", test_generation_counts_base_only);
  g_test_add_func ("/nodes/none-keeps-only-the-vector", test_none_keeps_only_the_vector);
  g_test_add_func ("/nodes/dirty-table", test_dirty_table);
  g_test_add_func ("/nodes/dirty-list-and-hold", test_dirty_list_and_hold);
  g_test_add_func ("/nodes/lists-from-the-other-side", test_lists_from_the_other_side);
  g_test_add_func ("/nodes/mode-stamps", test_mode_stamps);
  g_test_add_func ("/nodes/counts", test_counts);
  g_test_add_func ("/nodes/live-children", test_live_children);
  g_test_add_func ("/nodes/speed", test_speed);
  return g_test_run ();
}
