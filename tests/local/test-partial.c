/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "write-support.h"

#define CHUNK 100000u
#define MEGA (1u << 20)

static const SkKey key = { { 3, 1, 4 } };
static const SkHash content = { { 0xab, 0xcd } };

static guint8 *
some_bytes (guint32 seed, gsize len)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);
  guint8 *data = g_malloc (len);

  for (gsize i = 0; i < len; i++)
    data[i] = (guint8) g_rand_int (rand);
  return data;
}

static char *
partial_path (void)
{
  char hex[SK_HASH_HEX_SIZE];

  sk_hash_format (&content, hex);
  return g_build_filename (SK_OWN_TMP, hex, NULL);
}

static SkPartial *
open_partial (Tree *tree, guint64 size)
{
  g_autoptr(GError) error = NULL;
  SkPartial *partial = sk_partial_open (tree->root, &content, size, &error);

  g_assert_no_error (error);
  g_assert_nonnull (partial);
  return partial;
}

static void
test_resumes (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree guint8 *data = some_bytes (1, CHUNK);
  g_autoptr(GError) error = NULL;
  SkPartial *partial = open_partial (tree, 3 * CHUNK);
  SkChunkRef ref;

  chunk_of (&key, data, CHUNK, &ref);
  g_assert_false (sk_partial_was_there (partial));
  g_assert_false (sk_partial_has (partial, CHUNK, &ref, &key));
  g_assert_true (sk_partial_write (partial, CHUNK, data, CHUNK, &error));
  sk_partial_close (partial);

  partial = open_partial (tree, 3 * CHUNK);
  g_assert_true (sk_partial_was_there (partial));
  g_assert_true (sk_partial_has (partial, CHUNK, &ref, &key));
  g_assert_false (sk_partial_has (partial, 0, &ref, &key));
  g_assert_false (sk_partial_has (partial, CHUNK + 1, &ref, &key));
  g_assert_false (sk_partial_has (partial, 2 * CHUNK + 1, &ref, &key));
  sk_partial_close (partial);

  /* Another length: not the same content. */
  partial = open_partial (tree, 2 * CHUNK);
  g_assert_false (sk_partial_was_there (partial));
  g_assert_false (sk_partial_has (partial, CHUNK, &ref, &key));
  sk_partial_discard (partial);
  assert_tmp_empty (tree);
}

static void
test_one_writer (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkPartial *partial = open_partial (tree, 10);

  g_assert_null (sk_partial_open (tree->root, &content, 10, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  sk_partial_close (partial);
  sk_partial_close (open_partial (tree, 10));
}

static void
test_leftovers (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *path = partial_path (), *full = tree_path (tree, path),
                  *mine = tree_path (tree, "mine");
  g_autoptr(GError) error = NULL;
  SkPartial *partial;

  /* A symlink and a hard link of that name do not let anything through to the person's file. */
  tree_text (tree, "mine", "0123456789");
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpint (i == 0 ? symlink (mine, full) : link (mine, full), ==, 0);
      partial = open_partial (tree, 10);
      g_assert_false (sk_partial_was_there (partial));
      g_assert_true (sk_partial_write (partial, 0, (const guint8 *) "overwrites", 10, &error));
      sk_partial_discard (partial);
      assert_text (tree, "mine", "0123456789");
    }

  /* Stopped between chmod and rename. */
  sk_partial_close (open_partial (tree, 10));
  g_assert_cmpint (chmod (full, 0), ==, 0);
  tree_give_away (tree, SK_OWN_DIR);
  tree_give_away (tree, SK_OWN_TMP);
  be_ordinary (tree, path);
  partial = sk_partial_open (tree->root, &content, 10, &error);
  be_oneself ();
  g_assert_no_error (error);
  g_assert_true (sk_partial_was_there (partial));
  sk_partial_close (partial);
}

static void
test_bounds (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkPartial *partial = open_partial (tree, 10);
  SkChunkRef huge = { .size = G_MAXUINT64 };

  huge.id.bytes[0] = 1;
  g_assert_false (sk_partial_write (partial, 5, (const guint8 *) "123456", 6, &error));
  assert_code (error, SK_ERROR_LIMIT, "");
  g_assert_false (sk_partial_write (partial, G_MAXUINT64, (const guint8 *) "12", 2, &error));
  assert_code (error, SK_ERROR_LIMIT, "");
  g_assert_false (sk_partial_copy (partial, 1, tree->root, "x", 0, &huge, &key, &error));
  assert_code (error, SK_ERROR_LIMIT, "");
  g_assert_false (sk_partial_has (partial, 1, &huge, &key));
  sk_partial_close (partial);
  g_assert_null (sk_partial_open (tree->root, &content, G_MAXUINT64, &error));
  assert_code (error, SK_ERROR_LIMIT, "");
}

static void
test_zero_runs (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *path = partial_path (), *full = tree_path (tree, path);
  g_autoptr(GError) error = NULL;
  SkPartial *partial = open_partial (tree, 64 * MEGA);
  SkChunkRef zeros = { .size = 64 * MEGA };
  struct stat st;

  g_assert_true (sk_partial_has (partial, 0, &zeros, &key));
  g_assert_true (sk_partial_copy (partial, 0, tree->root, "whatever", 0, &zeros, &key, &error));
  g_assert_cmpint (stat (full, &st), ==, 0);
  g_assert_cmpint (st.st_size, ==, 64 * MEGA);
  g_assert_cmpint (st.st_blocks, <, 128);
  g_assert_true (sk_partial_write (partial, 33 * MEGA + 5, (const guint8 *) "x", 1, &error));
  g_assert_false (sk_partial_has (partial, 0, &zeros, &key));
  zeros.size = 33 * MEGA;
  g_assert_true (sk_partial_has (partial, 0, &zeros, &key));
  sk_partial_close (partial);
}

static void
test_copies (void)
{
  g_autoptr(Tree) tree = tree_new_prepared (), other = tree_new ();
  g_autofree guint8 *data = some_bytes (2, 3 * MEGA);
  g_autoptr(GError) error = NULL;
  SkPartial *partial = open_partial (tree, 2 * MEGA);
  SkChunkRef whole, odd;

  tree_mkdir (other, "d");
  tree_write (other, "d/source", data, 3 * MEGA);
  chunk_of (&key, data + MEGA, MEGA, &whole);
  chunk_of (&key, data + 4711, 70001, &odd);
  g_assert_true (
      sk_partial_copy (partial, MEGA, other->root, "d/source", MEGA, &whole, &key, &error));
  g_assert_no_error (error);
  g_assert_true (sk_partial_has (partial, MEGA, &whole, &key));
  g_assert_true (sk_partial_copy (partial, 99, other->root, "d/source", 4711, &odd, &key, &error));
  g_assert_true (sk_partial_has (partial, 99, &odd, &key));
  sk_partial_close (partial);
}

static void
test_source_changed (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree guint8 *data = some_bytes (3, 2 * MEGA);
  g_autoptr(GError) error = NULL;
  SkPartial *partial = open_partial (tree, MEGA);
  SkChunkRef ref, zeros = { .size = MEGA };

  tree_mkdir (tree, "d");
  tree_write (tree, "d/source", data, 2 * MEGA);
  tree_link (tree, "d", "link");
  tree_link (tree, "source", "d/link");
  chunk_of (&key, data, MEGA, &ref);
  g_assert_false (sk_partial_copy (partial, 0, tree->root, "d/source", MEGA, &ref, &key, &error));
  assert_code (error, SK_ERROR_CHANGED, "d/source");
  g_assert_false (
      sk_partial_copy (partial, 0, tree->root, "d/source", 2 * MEGA - 1, &ref, &key, &error));
  assert_code (error, SK_ERROR_CHANGED, "d/source");
  g_assert_false (sk_partial_copy (partial, 0, tree->root, "link/source", 0, &ref, &key, &error));
  assert_code (error, SK_ERROR_CHANGED, "link/source");
  g_assert_false (sk_partial_copy (partial, 0, tree->root, "d/link", 0, &ref, &key, &error));
  assert_code (error, SK_ERROR_CHANGED, "d/link");
  g_assert_false (sk_partial_copy (partial, 0, tree->root, "d", 0, &ref, &key, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"d\"");
  /* Nothing that was not wanted got in. */
  g_assert_true (sk_partial_has (partial, 0, &zeros, &key));
  sk_partial_close (partial);
}

static void
test_disk_full (void)
{
  g_autoptr(Tree) outer = tree_new (), tree = NULL;
  g_autofree guint8 *data = some_bytes (4, 4 * MEGA);
  g_autofree char *mounted = tree_path (outer, "mounted"), *ballast = NULL;
  g_autoptr(GError) error = NULL;
  SkStat stat;
  SkPartial *partial;
  SkChunkRef first;

  tree_mkdir (outer, "mounted");
  if (mount ("skerry-test", mounted, "tmpfs", 0, "size=5m") != 0)
    {
      g_test_skip ("mounting is not allowed here");
      return;
    }
  tree = g_new0 (Tree, 1);
  tree->top = g_strdup (mounted);
  tree->root = sk_root_open (mounted, &error);
  g_assert_no_error (error);
  tree_prepare (tree);
  ballast = tree_path (tree, "ballast");
  tree_write (tree, "ballast", data, 3 * MEGA);

  partial = open_partial (tree, 4 * MEGA);
  chunk_of (&key, data, MEGA, &first);
  g_assert_true (sk_partial_write (partial, 0, data, MEGA, &error));
  g_assert_false (sk_partial_write (partial, MEGA, data + MEGA, 3 * MEGA, &error));
  assert_code (error, SK_ERROR_NO_SPACE, tree->top);
  g_assert_false (sk_target_write_small (tree->root, "big", data, 2 * MEGA, NULL, &plain_meta, TRUE,
                                         BATCH, &stat, &error));
  assert_code (error, SK_ERROR_NO_SPACE, tree->top);
  sk_partial_close (partial);
  g_assert_cmpuint (tree_count (tree, ""), ==, 1); /* the ballast: nothing partial is visible */
  g_assert_cmpuint (tree_count (tree, SK_OWN_TMP), ==,
                    1); /* and of the small one nothing is left */

  g_assert_cmpint (unlink (ballast), ==, 0);
  partial = open_partial (tree, 4 * MEGA);
  g_assert_true (sk_partial_was_there (partial));
  g_assert_true (sk_partial_has (partial, 0, &first, &key));
  g_assert_true (sk_partial_write (partial, MEGA, data + MEGA, 3 * MEGA, &error));
  g_assert_no_error (error);
  g_assert_true (
      sk_target_place (tree->root, partial, "big", NULL, &plain_meta, FALSE, BATCH, &stat, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (stat.size, ==, 4 * MEGA);
  sk_partial_close (partial);
  sk_root_unref (tree->root);
  g_free (tree->top);
  g_clear_pointer (&tree, g_free);
  tree_unmount (outer, "mounted");
}

static void
test_expire (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GHashTable) wanted = g_hash_table_new (sk_hash_hash, sk_hash_equal_func);
  g_autofree char *path = partial_path ();
  gint64 now = g_get_real_time (), day = 24 * 60 * 60 * (gint64) G_USEC_PER_SEC;

  sk_partial_close (open_partial (tree, 10));
  tree_text (tree, SK_OWN_TMP "/new-0123", "x");
  tree_text (tree, SK_OWN_TMP "/somebody else's", "x");
  sk_partial_expire (tree->root, NULL, now + day - 10 * G_USEC_PER_SEC);
  g_assert_cmpuint (tree_count (tree, SK_OWN_TMP), ==, 3);
  g_hash_table_add (wanted, (gpointer) &content);
  sk_partial_expire (tree->root, wanted, now + day + 10 * G_USEC_PER_SEC);
  g_assert_cmpuint (tree_count (tree, SK_OWN_TMP), ==, 2);
  g_assert_true (tree_has (tree, path));
  sk_partial_expire (tree->root, NULL, now + day + 10 * G_USEC_PER_SEC);
  g_assert_false (tree_has (tree, path));
  g_assert_true (tree_has (tree, SK_OWN_TMP "/somebody else's"));
  g_assert_true (tree_has (tree, SK_OWN_TMP "/CACHEDIR.TAG"));
}

static void
test_own_folder (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autofree char *tmp = tree_path (tree, SK_OWN_TMP), *own = tree_path (tree, SK_OWN_DIR);
  g_autoptr(GError) error = NULL;

  /* Somebody cleaned up: tmp is made again, .skerry is not. */
  tree_remove (tmp);
  sk_partial_discard (open_partial (tree, 10));
  tree_remove (own);
  g_assert_null (sk_partial_open (tree->root, &content, 10, &error));
  assert_code (error, SK_ERROR_OFFLINE, ".skerry");
  g_assert_false (tree_has (tree, SK_OWN_DIR));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/partial/resumes", test_resumes);
  g_test_add_func ("/partial/one-writer", test_one_writer);
  g_test_add_func ("/partial/leftovers", test_leftovers);
  g_test_add_func ("/partial/bounds", test_bounds);
  g_test_add_func ("/partial/zero-runs", test_zero_runs);
  g_test_add_func ("/partial/copies", test_copies);
  g_test_add_func ("/partial/source-changed", test_source_changed);
  g_test_add_func ("/partial/sit-B090/full-disk", test_disk_full);
  g_test_add_func ("/partial/expire", test_expire);
  g_test_add_func ("/partial/own-folder", test_own_folder);
  return g_test_run ();
}
