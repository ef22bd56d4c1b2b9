/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "index-support.h"

static void
assert_entries_equal (const SkEntry *a, const SkEntry *b)
{
  g_assert_true (sk_id_equal (&a->folder, &b->folder));
  g_assert_cmpstr (a->path, ==, b->path);
  g_assert_cmpint (a->kind, ==, b->kind);
  g_assert_cmpuint (a->flags, ==, b->flags);
  g_assert_cmpint (sk_vector_compare (a->vector, b->vector), ==, SK_ORDER_EQUAL);
  g_assert_cmpuint (a->lamport, ==, b->lamport);
  g_assert_true (sk_id_equal (&a->writer, &b->writer));
  g_assert_cmpint (a->wall, ==, b->wall);
  g_assert_cmpstr (a->device_name, ==, b->device_name);
  g_assert_cmpuint (a->meta_lamport, ==, b->meta_lamport);
  g_assert_true (sk_id_equal (&a->meta_writer, &b->meta_writer));
  g_assert_cmpuint (a->mode, ==, b->mode);
  g_assert_cmpint (a->mtime, ==, b->mtime);
  g_assert_cmpuint (a->size, ==, b->size);
  g_assert_cmpstr (a->symlink, ==, b->symlink);
  g_assert_true (sk_hash_equal (&a->content, &b->content));
  g_assert_cmpint (a->xattrs != NULL, ==, b->xattrs != NULL);
  if (a->xattrs != NULL)
    g_assert_true (g_bytes_equal (a->xattrs, b->xattrs));
}

/* Every kind, with extremes, is read back as it was written, and its hash still fits. */
static void
test_round_trip (void)
{
  static const SkKind kinds[] = { SK_KIND_FILE, SK_KIND_DIR, SK_KIND_SYMLINK, SK_KIND_TOMBSTONE };
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  SkId log = make_id (55);

  fixture_open (&f);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    for (guint extreme = 0; extreme < 2; extreme++)
      {
        g_autofree char *path = g_strdup_printf ("d%u/x%u\xff", extreme, i);
        g_autoptr(SkEntry) entry = make_entry (&f, path, kinds[i], 10 + i, 50, i == 0 ? 3 : 0);
        g_autoptr(SkVersion) version = NULL;
        gint64 row;

        if (extreme)
          {
            entry->lamport = entry->meta_lamport = G_MAXINT64;
            entry->meta_writer = make_id (999);
            entry->mode = 07777;
            entry->mtime = kinds[i] == SK_KIND_DIR ? 0 : G_MININT64;
            entry->wall = SK_WALL_MIN;
            entry->flags = SK_ENTRY_CONFIRMED | SK_ENTRY_UNION;
            entry->xattrs = kinds[i] != SK_KIND_TOMBSTONE ? g_bytes_new ("a\0b", 3) : NULL;
            sk_entry_seal_content (entry);
          }
        begin (f.index);
        row = sk_index_version_add (f.index, ensure_node (&f, path), entry, FALSE, 0, extreme ? &log : NULL, extreme ? 7 : 0, &error);
        g_assert_no_error (error);
        commit (f.index);
        fixture_reopen (&f);
        version = get_version (&f, row);
        assert_entries_equal (version->entry, entry);
        g_assert_true (version->maximal);
        g_assert_cmpint (version->content != 0, ==, kinds[i] == SK_KIND_FILE || kinds[i] == SK_KIND_SYMLINK);
        g_assert_cmpuint (version->log_seq, ==, extreme ? 7 : 0);
        g_assert_cmpint (sk_id_equal (&version->log_writer, &log), ==, extreme);

        if (kinds[i] == SK_KIND_FILE)
          version->entry->chunks = sk_index_content_chunks (f.index, version->content, &error);
        g_assert_no_error (error);
        sk_entry_seal_content (version->entry);
        g_assert_true (sk_hash_equal (&version->entry->content, &entry->content));
      }
  assert_sound (f.index);
  fixture_close (&f);
}

static void
test_maximal_and_history (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) all = NULL, maximal = NULL;
  gint64 node, rows[3];

  fixture_open (&f);
  begin (f.index);
  node = ensure_node (&f, "x");
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr(SkEntry) entry = make_entry (&f, "x", SK_KIND_FILE, i + 1, 100 * i, 1);

      rows[i] = add_version (&f, node, entry);
    }
  g_assert_true (sk_index_version_set_maximal (f.index, rows[0], FALSE, &error));
  g_assert_true (sk_index_version_set_maximal (f.index, rows[1], FALSE, &error));
  commit (f.index);
  all = sk_index_versions (f.index, node, FALSE, &error);
  maximal = sk_index_versions (f.index, node, TRUE, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (all->len, ==, 3);
  g_assert_cmpuint (maximal->len, ==, 1);
  g_assert_cmpint (((SkVersion *) g_ptr_array_index (maximal, 0))->row, ==, rows[2]);

  begin (f.index);
  g_assert_true (sk_index_version_remove (f.index, rows[0], &error));
  commit (f.index);
  g_assert_null (sk_index_version (f.index, rows[0], &error));
  g_assert_no_error (error);
  fixture_close (&f);
}

static void
test_find (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkEntry) first = NULL, second = NULL, other = NULL;
  gint64 node, elsewhere, a, b;

  fixture_open (&f);
  first = make_entry (&f, "x", SK_KIND_FILE, 1, 10, 2);
  second = make_entry (&f, "x", SK_KIND_FILE, 2, 10, 2);     /* the same content again */
  other = make_entry (&f, "x", SK_KIND_FILE, 1, 99, 2);      /* the same vector, other bytes (A5) */
  begin (f.index);
  node = ensure_node (&f, "x");
  elsewhere = ensure_node (&f, "y");
  a = add_version (&f, node, first);
  b = add_version (&f, node, second);
  commit (f.index);

  g_assert_cmpint (sk_index_version_find (f.index, node, first->vector, &first->content, &error), ==, a);
  g_assert_cmpint (sk_index_version_find (f.index, node, second->vector, &first->content, &error), ==, b);
  g_assert_cmpint (sk_index_version_find (f.index, node, first->vector, &other->content, &error), ==, 0);
  g_assert_cmpint (sk_index_version_find (f.index, elsewhere, first->vector, &first->content, &error), ==, 0);
  g_assert_cmpint (sk_index_version_with_content (f.index, node, &first->content, &error), ==, b);
  g_assert_cmpint (sk_index_version_with_content (f.index, elsewhere, &first->content, &error), ==, 0);
  g_assert_no_error (error);
  fixture_close (&f);
}

static void
test_virtuals (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkEntry) loser = NULL, copy = NULL;
  g_autoptr(GPtrArray) virtuals = NULL, after = NULL;
  g_autoptr(SkVersion) published = NULL;
  SkId log = make_id (3);
  gint64 node, origin, row;

  fixture_open (&f);
  loser = make_entry (&f, "x", SK_KIND_FILE, 1, 10, 2);
  copy = make_entry (&f, "x (conflict)", SK_KIND_FILE, 1, 10, 2);
  begin (f.index);
  node = ensure_node (&f, "x");
  origin = add_version (&f, node, loser);
  row = sk_index_version_add (f.index, ensure_node (&f, "x (conflict)"), copy, TRUE, origin, NULL, 0, &error);
  g_assert_no_error (error);
  commit (f.index);
  virtuals = sk_index_virtuals_of (f.index, node, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (virtuals->len, ==, 1);
  g_assert_true (((SkVersion *) g_ptr_array_index (virtuals, 0))->is_virtual);
  g_assert_cmpint (((SkVersion *) g_ptr_array_index (virtuals, 0))->origin, ==, origin);
  g_assert_cmpstr (((SkVersion *) g_ptr_array_index (virtuals, 0))->entry->path, ==, "x (conflict)");

  begin (f.index);
  g_assert_true (sk_index_version_publish (f.index, row, &log, 12, &error));
  commit (f.index);
  after = sk_index_virtuals_of (f.index, node, &error);
  g_assert_cmpuint (after->len, ==, 0);
  published = get_version (&f, row);
  g_assert_false (published->is_virtual);
  g_assert_cmpuint (published->log_seq, ==, 12);
  g_assert_true (sk_id_equal (&published->log_writer, &log));
  fixture_close (&f);
}

static void
test_set_meta (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkEntry) entry = NULL;
  g_autoptr(SkVersion) version = NULL;
  SkId writer = make_id (44);
  gint64 row;

  fixture_open (&f);
  entry = make_entry (&f, "x", SK_KIND_FILE, 1, 10, 2);
  begin (f.index);
  row = add_version (&f, ensure_node (&f, "x"), entry);
  g_assert_true (sk_index_version_set_meta (f.index, row, 99, &writer, 0600, 123, &error));
  commit (f.index);
  version = get_version (&f, row);
  g_assert_cmpuint (version->entry->meta_lamport, ==, 99);
  g_assert_true (sk_id_equal (&version->entry->meta_writer, &writer));
  g_assert_cmpuint (version->entry->mode, ==, 0600);
  g_assert_cmpint (version->entry->mtime, ==, 123);
  g_assert_cmpuint (version->entry->lamport, ==, 1);
  fixture_close (&f);
}

/* An entry whose chunks do not make up its size, or are missing, is refused with all that it brought. */
static void
test_bad_content_is_refused (void)
{
  Fixture f = { 0 };
  g_autoptr(SkEntry) good = NULL;

  fixture_open (&f);
  good = make_entry (&f, "x", SK_KIND_FILE, 1, 10, 2);
  for (int way = 0; way < 2; way++)
    {
      g_autoptr(GError) error = NULL;
      g_autoptr(GError) refused = NULL;
      g_autoptr(SkEntry) bad = sk_entry_copy (good);

      if (way == 0)
        bad->size++;
      else
        g_clear_pointer (&bad->chunks, g_array_unref);
      sk_entry_seal_content (bad);
      begin (f.index);
      g_assert_cmpint (sk_index_version_add (f.index, ensure_node (&f, "x"), bad, FALSE, 0, NULL, 0, &error), ==, 0);
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
      g_assert_false (sk_index_commit (f.index, &refused));
      g_assert_cmpint (sk_index_content_row (f.index, &bad->content), ==, 0);
    }
  begin (f.index);
  add_version (&f, ensure_node (&f, "x"), good);
  commit (f.index);
  assert_sound (f.index);
  fixture_close (&f);
}

/* Old history goes; what is visible or lies on this disk stays, however old. */
static void
test_expire (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) left = NULL;
  gint64 node, rows[4];
  guint64 removed = 0;

  fixture_open (&f);
  begin (f.index);
  node = ensure_node (&f, "x");
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr(SkEntry) entry = make_entry (&f, "x", SK_KIND_FILE, i + 1, 100 * i, 1);

      entry->wall = 1000 * (i + 1);
      rows[i] = add_version (&f, node, entry);
      if (i < 3)
        g_assert_true (sk_index_version_set_maximal (f.index, rows[i], FALSE, &error));
    }
  set_base (&f, node, &(SkBase) { .kind = SK_KIND_FILE, .version = rows[1], .content = 2 });
  g_assert_true (sk_index_versions_expire (f.index, 3000, &removed, &error));
  g_assert_no_error (error);
  commit (f.index);
  g_assert_cmpuint (removed, ==, 1);
  left = sk_index_versions (f.index, node, FALSE, &error);
  g_assert_cmpuint (left->len, ==, 3);
  g_assert_cmpint (((SkVersion *) g_ptr_array_index (left, 0))->row, ==, rows[1]);
  fixture_close (&f);
}

/* More writers than are kept in memory. */
static void
test_many_writers (void)
{
  Fixture f = { 0 };
  g_autofree gint64 *rows = g_new (gint64, 10000);

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < 10000; i++)
    {
      g_autoptr(SkEntry) entry = NULL;

      f.writer = make_id (i % 5000 + 1);
      entry = make_entry (&f, "x", SK_KIND_TOMBSTONE, i + 1, 0, 0);
      rows[i] = add_version (&f, ensure_node (&f, "x"), entry);
    }
  commit (f.index);
  for (guint i = 0; i < 10000; i += 97)
    {
      g_autoptr(SkVersion) version = get_version (&f, rows[i]);
      SkId writer = make_id (i % 5000 + 1);

      g_assert_true (sk_id_equal (&version->entry->writer, &writer));
    }
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/versions/round-trip", test_round_trip);
  g_test_add_func ("/versions/maximal-and-history", test_maximal_and_history);
  g_test_add_func ("/versions/find", test_find);
  g_test_add_func ("/versions/virtuals", test_virtuals);
  g_test_add_func ("/versions/set-meta", test_set_meta);
  g_test_add_func ("/versions/bad-content-is-refused", test_bad_content_is_refused);
  g_test_add_func ("/versions/expire", test_expire);
  g_test_add_func ("/versions/many-writers", test_many_writers);
  return g_test_run ();
}
