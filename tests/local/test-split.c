/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-split.h"

#include "local-support.h"
#include "sk-limits.h"

#include <sys/resource.h>
#include <sys/xattr.h>

#define KIB (G_GUINT64_CONSTANT (1) << 10)
#define MIB (G_GUINT64_CONSTANT (1) << 20)
#define GIB (G_GUINT64_CONSTANT (1) << 30)

static SkKey id_key = { { 7, 7, 7 } };
static SkGear gear;

static void
clear_chunk (gpointer data)
{
  sk_split_chunk_clear (data);
}

static GArray *
new_chunks (void)
{
  GArray *chunks = g_array_new (FALSE, FALSE, sizeof (SkSplitChunk));

  g_array_set_clear_func (chunks, clear_chunk);
  return chunks;
}

static void
look (Tree *tree, const char *path, SkStat *out)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_root_stat (tree->root, path, out, &error));
  g_assert_no_error (error);
}

static SkSplitter *
open_it (Tree *tree, const char *path)
{
  g_autoptr(GError) error = NULL;
  SkSplitter *splitter;
  SkStat stat;

  look (tree, path, &stat);
  splitter = sk_splitter_open (tree->root, path, &stat, &gear, &id_key, &error);
  g_assert_no_error (error);
  return splitter;
}

static GArray *
split (Tree *tree, const char *path, gsize step)
{
  g_autoptr(SkSplitter) splitter = open_it (tree, path);
  g_autoptr(GError) error = NULL;
  GArray *chunks = new_chunks ();
  gboolean done = FALSE;

  while (!done)
    {
      g_assert_true (sk_splitter_step (splitter, step, chunks, &done, NULL, &error));
      g_assert_no_error (error);
    }
  g_assert_true (sk_splitter_step (splitter, step, chunks, &done, NULL, &error));
  g_assert_true (done);
  return chunks;
}

static void
assert_equal_lists (GArray *a, GArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const SkSplitChunk *x = &g_array_index (a, SkSplitChunk, i), *y = &g_array_index (b, SkSplitChunk, i);

      g_assert_cmpuint (x->ref.size, ==, y->ref.size);
      g_assert_true (sk_hash_equal (&x->ref.id, &y->ref.id));
    }
}

/* Puts the chunks together again and compares; each id must be that of its bytes. */
static void
assert_holds (GArray *chunks, const guint8 *data, gsize len)
{
  SkChunkSizes sizes = sk_chunk_sizes_for (len);
  gsize at = 0;

  for (guint i = 0; i < chunks->len; i++)
    {
      const SkSplitChunk *chunk = &g_array_index (chunks, SkSplitChunk, i);

      g_assert_cmpuint (chunk->ref.size, >, 0);
      g_assert_cmpuint (chunk->ref.size, <=, len - at);
      if (sk_chunk_ref_is_zero (&chunk->ref))
        {
          g_assert_null (chunk->data);
          g_assert_cmpuint (chunk->ref.size % SK_ZERO_BLOCK, ==, 0);
          g_assert_cmpuint (at % SK_ZERO_BLOCK, ==, 0);
          g_assert_true (sk_all_zero (data + at, chunk->ref.size));
        }
      else
        {
          SkHash id;

          g_assert_cmpuint (g_bytes_get_size (chunk->data), ==, chunk->ref.size);
          g_assert_cmpuint (chunk->ref.size, <=, sizes.max);
          g_assert_true (memcmp (g_bytes_get_data (chunk->data, NULL), data + at, chunk->ref.size) == 0);
          sk_chunk_id (&id_key, data + at, chunk->ref.size, &id);
          g_assert_true (sk_hash_equal (&id, &chunk->ref.id));
        }
      at += chunk->ref.size;
    }
  g_assert_cmpuint (at, ==, len);
}

static guint8 *
random_bytes (GRand *rand, gsize len)
{
  guint8 *data = g_malloc (len + 4);

  for (gsize i = 0; i < len; i += 4)
    {
      guint32 word = g_rand_int (rand);

      memcpy (data + i, &word, 4);
    }
  return data;
}

static GRand *
seeded (void)
{
  guint32 seed = (guint32) g_test_rand_int ();

  g_test_message ("seed %u", seed);
  return g_rand_new_with_seed (seed);
}

static void
test_sizes (void)
{
  static const gsize sizes[] = { 0, 1, 10, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, MIB - 1, MIB, MIB + 1,
                                 4 * MIB, 4 * MIB + 10, 13 * MIB + 12345 };
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GRand) rand = seeded ();
  g_autofree guint8 *data = random_bytes (rand, 16 * MIB);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr(GArray) small_steps = NULL;
      g_autoptr(GArray) odd_steps = NULL;
      g_autoptr(GArray) one_step = NULL;

      tree_write (tree, "file", data, sizes[i]);
      small_steps = split (tree, "file", 1);
      odd_steps = split (tree, "file", 3 * MIB + 7);
      one_step = split (tree, "file", G_MAXUINT32);
      assert_holds (small_steps, data, sizes[i]);
      assert_equal_lists (small_steps, odd_steps);
      assert_equal_lists (small_steps, one_step);
      if (sizes[i] <= SK_SMALL_FILE)
        g_assert_cmpuint (one_step->len, ==, sizes[i] > 0 ? 1 : 0);
      else
        g_assert_cmpuint (one_step->len, >, 0);
    }
}

/* A small file of zeros is one chunk; below a whole block there is no run. */
static void
test_short_zeros (void)
{
  static const gsize sizes[] = { 1, 256 * KIB, 300 * KIB, MIB - 1 };
  g_autoptr(Tree) tree = tree_new ();
  g_autofree guint8 *zeros = g_malloc0 (MIB);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr(GArray) written = NULL;
      g_autoptr(GArray) hole = NULL;
      g_autofree char *path = tree_path (tree, "hole");

      tree_write (tree, "file", zeros, sizes[i]);
      tree_text (tree, "hole", "");
      g_assert_cmpint (truncate (path, (off_t) sizes[i]), ==, 0);
      written = split (tree, "file", MIB);
      hole = split (tree, "hole", MIB);
      assert_holds (written, zeros, sizes[i]);
      assert_equal_lists (written, hole);
      g_assert_false (sk_chunk_ref_is_zero (&g_array_index (written, SkSplitChunk, 0).ref));
    }
}

/* Same bytes, allocated in two ways: no difference may show. */
static void
test_allocation_does_not_matter (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GRand) rand = seeded ();
  g_autofree guint8 *noise = random_bytes (rand, 64 * KIB);
  g_autofree char *sparse = tree_path (tree, "sparse");

  for (guint round = 0; round < 12; round++)
    {
      gsize len = (gsize) g_rand_int_range (rand, 2 * MIB, 14 * MIB);
      g_autofree guint8 *data = g_malloc0 (len);
      g_autoptr(GArray) a = NULL;
      g_autoptr(GArray) b = NULL;
      guint islands = (guint) g_rand_int_range (rand, 0, 8);
      int fd;

      tree_text (tree, "sparse", "");
      fd = open (sparse, O_WRONLY | O_CLOEXEC);
      g_assert_cmpint (ftruncate (fd, (off_t) len), ==, 0);
      for (guint i = 0; i < islands; i++)
        {
          gsize n = (gsize) g_rand_int_range (rand, 1, 64 * KIB);
          gsize at = (gsize) g_rand_int_range (rand, 0, (gint32) (len - n));

          memcpy (data + at, noise, n);
          g_assert_cmpint (pwrite (fd, noise, n, (off_t) at), ==, (gssize) n);
        }
      close (fd);
      tree_write (tree, "dense", data, len);
      a = split (tree, "sparse", (gsize) g_rand_int_range (rand, 1, 6 * MIB));
      b = split (tree, "dense", (gsize) g_rand_int_range (rand, 1, 6 * MIB));
      assert_holds (a, data, len);
      assert_equal_lists (a, b);
      for (guint i = 1; i < a->len; i++)    /* neighbouring blocks are one run */
        g_assert_false (sk_chunk_ref_is_zero (&g_array_index (a, SkSplitChunk, i).ref)
                        && sk_chunk_ref_is_zero (&g_array_index (a, SkSplitChunk, i - 1).ref));
    }
}

static guint64
total (GArray *chunks)
{
  guint64 sum = 0;

  for (guint i = 0; i < chunks->len; i++)
    sum += g_array_index (chunks, SkSplitChunk, i).ref.size;
  return sum;
}

static glong
resident_peak (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/* A file of @size with a megabyte of data in the middle. */
static void
check_sparse (guint64 size, guint n_chunks_max)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GRand) rand = seeded ();
  g_autofree guint8 *data = random_bytes (rand, MIB);
  g_autofree char *path = tree_path (tree, "disk.img");
  g_autoptr(GArray) chunks = NULL;
  glong memory = resident_peak ();
  gint64 began;
  int fd;

  tree_text (tree, "disk.img", "");
  fd = open (path, O_WRONLY | O_CLOEXEC);
  if (ftruncate (fd, (off_t) size) != 0)
    {
      g_test_skip ("this file system has no files of that size");
      close (fd);
      return;
    }
  g_assert_cmpint (pwrite (fd, data, MIB, (off_t) (size / 2 + 4096)), ==, MIB);
  close (fd);

  began = g_get_monotonic_time ();
  chunks = split (tree, "disk.img", 8 * MIB);
  g_test_message ("%" G_GUINT64_FORMAT " GiB in %.1f ms, %u chunks", size / GIB,
                  (double) (g_get_monotonic_time () - began) / 1000, chunks->len);
  g_assert_cmpint (g_get_monotonic_time () - began, <, G_TIME_SPAN_SECOND);
  g_assert_cmpuint (total (chunks), ==, size);
  g_assert_cmpuint (chunks->len, <=, n_chunks_max);
  g_assert_cmpint (resident_peak () - memory, <, 64 << 10);    /* KiB */
  g_assert_true (sk_chunk_ref_is_zero (&g_array_index (chunks, SkSplitChunk, 0).ref));
  g_assert_cmpuint (g_array_index (chunks, SkSplitChunk, 0).ref.size, ==, size / 2);
}

static void
test_hundred_gib (void)
{
  check_sparse (100 * GIB, 8);
}

static void
test_one_tib (void)
{
  check_sparse (1024 * GIB, 8);
}

/* ---- changing while it is read ---- */

static void
assert_open_changed (Tree *tree, const char *path, const SkStat *expected)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_splitter_open (tree->root, path, expected, &gear, &id_key, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
}

static void
assert_step_changed (SkSplitter *splitter)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) chunks = new_chunks ();
  gboolean done = FALSE;

  while (!done && sk_splitter_step (splitter, 2 * MIB, chunks, &done, NULL, &error))
    ;
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
  g_assert_false (done);
}

static void
overwrite (Tree *tree, const char *path, gsize at, const char *text)
{
  g_autofree char *full = tree_path (tree, path);
  int fd = open (full, O_WRONLY | O_CLOEXEC);

  g_assert_cmpint (pwrite (fd, text, strlen (text), (off_t) at), ==, (gssize) strlen (text));
  close (fd);
}

static void
test_torn_read_refused (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree guint8 *data = g_malloc (10 * MIB);
  g_autofree char *path = tree_path (tree, "file");
  static const gsize where[] = { 0, 5 * MIB, 10 * MIB - 1, 10 * MIB };

  memset (data, 'x', 10 * MIB);
  for (guint i = 0; i < G_N_ELEMENTS (where); i++)
    {
      g_autoptr(SkSplitter) splitter = NULL;
      g_autoptr(GArray) chunks = new_chunks ();
      g_autoptr(GError) error = NULL;
      gboolean done;
      guint len;

      tree_write (tree, "file", data, 10 * MIB);
      splitter = open_it (tree, "file");
      g_assert_true (sk_splitter_step (splitter, 2 * MIB, chunks, &done, NULL, &error));
      g_assert_false (done);
      len = chunks->len;
      overwrite (tree, "file", where[i], "y");
      /* At once, not after all the rest was read; and nothing of the torn step is given out. */
      g_assert_false (sk_splitter_step (splitter, 2 * MIB, chunks, &done, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
      g_assert_cmpuint (chunks->len, ==, len);
    }
  {
    g_autoptr(SkSplitter) splitter = open_it (tree, "file");

    g_assert_cmpint (truncate (path, 3), ==, 0);
    assert_step_changed (splitter);
  }
}

/* Same size, and the old mtime put back: the ctime tells. */
static void
test_mtime_put_back (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *path = tree_path (tree, "file");
  struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };

  for (guint i = 0; i < 100; i++)
    {
      g_autoptr(SkSplitter) splitter = NULL;

      tree_text (tree, "file", "before");
      g_assert_cmpint (utimensat (AT_FDCWD, path, times, 0), ==, 0);
      splitter = open_it (tree, "file");    /* within the same tick of the clock */
      overwrite (tree, "file", 0, "after.");
      g_assert_cmpint (utimensat (AT_FDCWD, path, times, 0), ==, 0);
      assert_step_changed (splitter);
    }
}

static void
test_not_what_was_expected (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *path = tree_path (tree, "file"), *other = tree_path (tree, "other");
  SkStat stat;

  tree_text (tree, "file", "text");
  tree_text (tree, "other", "text");
  look (tree, "file", &stat);
  assert_open_changed (tree, "other", &stat);
  assert_open_changed (tree, "none", &stat);
  assert_open_changed (tree, "none/none", &stat);
  assert_open_changed (tree, "file/none", &stat);
  g_assert_cmpint (g_rename (other, path), ==, 0);    /* as an editor saves */
  assert_open_changed (tree, "file", &stat);
  g_assert_cmpint (unlink (path), ==, 0);
  tree_mkdir (tree, "file");
  assert_open_changed (tree, "file", &stat);
  look (tree, "file", &stat);
  assert_open_changed (tree, "file", &stat);
}

static void
test_symlink_is_not_followed (void)
{
  g_autoptr(Tree) tree = tree_new ();
  SkStat stat;

  tree_mkdir (tree, "real");
  tree_text (tree, "real/file", "secret");
  tree_link (tree, "real/file", "link");
  tree_link (tree, "real", "way");
  look (tree, "real/file", &stat);
  assert_open_changed (tree, "link", &stat);
  assert_open_changed (tree, "way/file", &stat);
}

/* A pipe in a file's place must not be waited for. */
static void
test_special_in_its_place (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *path = tree_path (tree, "file");
  SkStat stat;

  tree_text (tree, "file", "text");
  look (tree, "file", &stat);
  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  assert_open_changed (tree, "file", &stat);
}

static void
test_unreadable (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autofree char *path = tree_path (tree, "file");
  SkStat stat;

  tree_text (tree, "file", "text");
  g_assert_cmpint (chmod (path, 0), ==, 0);
  be_ordinary (tree, "file");
  look (tree, "file", &stat);
  g_assert_null (sk_splitter_open (tree->root, "file", &stat, &gear, &id_key, &error));
  be_oneself ();
  g_assert_error (error, SK_ERROR, SK_ERROR_PERMISSION);
}

/* Not the owner: without O_NOATIME. */
static void
test_somebody_elses (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GArray) chunks = NULL;

  tree_text (tree, "file", "text");
  tree_text (tree, "mine", "text");
  be_ordinary (tree, "mine");
  chunks = split (tree, "file", MIB);
  be_oneself ();
  assert_holds (chunks, (const guint8 *) "text", 4);
}

static void
test_cancelled (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  g_autoptr(GArray) chunks = new_chunks ();
  g_autoptr(GError) error = NULL;
  g_autofree guint8 *data = g_malloc (3 * MIB);
  g_autoptr(SkSplitter) splitter = NULL;
  gboolean done;

  memset (data, 1, 3 * MIB);
  tree_write (tree, "file", data, 3 * MIB);
  splitter = open_it (tree, "file");
  g_cancellable_cancel (cancellable);
  g_assert_false (sk_splitter_step (splitter, MIB, chunks, &done, cancellable, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CANCELLED);
}

/* ---- links, single chunks, attributes ---- */

static void
test_links (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autofree char *path = tree_path (tree, "link");
  g_autofree char *target = g_strnfill (4000, 't');
  g_autofree char *read = NULL;
  SkStat stat;

  tree_link (tree, target, "link");
  look (tree, "link", &stat);
  read = sk_local_read_link (tree->root, "link", &stat, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (read, ==, target);
  g_assert_cmpint (unlink (path), ==, 0);
  tree_link (tree, "elsewhere", "link");
  g_assert_null (sk_local_read_link (tree->root, "link", &stat, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
  g_clear_error (&error);
  g_assert_cmpint (unlink (path), ==, 0);
  tree_text (tree, "link", "a file");
  look (tree, "link", &stat);
  g_assert_null (sk_local_read_link (tree->root, "link", &stat, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
}

static void
test_single_chunks (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GRand) rand = seeded ();
  g_autofree guint8 *data = random_bytes (rand, 3 * MIB);
  g_autoptr(GArray) chunks = NULL;
  guint64 at = 0;

  tree_write (tree, "file", data, 3 * MIB);
  chunks = split (tree, "file", MIB);
  for (guint i = 0; i < chunks->len; i++)
    {
      const SkChunkRef *ref = &g_array_index (chunks, SkSplitChunk, i).ref;
      g_autoptr(GError) error = NULL;
      g_autoptr(GBytes) bytes = sk_local_read_chunk (tree->root, "file", at, ref, &id_key, &error);

      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (bytes, g_array_index (chunks, SkSplitChunk, i).data));
      /* Another place, past the end, and a changed file: never under the old id. */
      g_assert_null (sk_local_read_chunk (tree->root, "file", at + 1, ref, &id_key, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
      g_clear_error (&error);
      g_assert_null (sk_local_read_chunk (tree->root, "file", 3 * MIB, ref, &id_key, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
      g_clear_error (&error);
      overwrite (tree, "file", at, "changed");
      g_assert_null (sk_local_read_chunk (tree->root, "file", at, ref, &id_key, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
      at += ref->size;
    }
}

static void
test_hostile_refs (void)
{
  static const guint64 sizes[] = { 0, SK_CHUNK_SIZE_MAX + 1, G_MAXUINT64 };
  g_autoptr(Tree) tree = tree_new ();

  tree_text (tree, "file", "text");
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      SkChunkRef ref = { .id = { { 1 } }, .size = sizes[i] };
      g_autoptr(GError) error = NULL;

      g_assert_null (sk_local_read_chunk (tree->root, "file", 0, &ref, &id_key, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
    }
  {
    SkChunkRef ref = { .id = { { 1 } }, .size = 4 }, zero = { .size = MIB };
    g_autoptr(GError) error = NULL;

    g_assert_null (sk_local_read_chunk (tree->root, "file", G_MAXUINT64 - 1, &ref, &id_key, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
    g_clear_error (&error);
    g_assert_null (sk_local_read_chunk (tree->root, "file", 0, &zero, &id_key, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  }
}

static void
test_attributes (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GError) error = NULL;
  g_autofree char *path = tree_path (tree, "file");
  g_autoptr(GBytes) none = NULL;
  g_autoptr(GBytes) one = NULL;
  g_autoptr(GBytes) both = NULL;

  tree_text (tree, "file", "text");
  none = sk_local_read_xattrs (tree->root, "file", &error);
  g_assert_no_error (error);
  g_assert_null (none);
  if (setxattr (path, "user.b", "2", 1, 0) != 0)
    {
      g_test_skip ("no extended attributes here");
      return;
    }
  one = sk_local_read_xattrs (tree->root, "file", &error);
  g_assert_cmpint (setxattr (path, "user.a", "1", 1, 0), ==, 0);
  both = sk_local_read_xattrs (tree->root, "file", &error);
  g_assert_no_error (error);
  g_assert_nonnull (one);
  g_assert_cmpuint (g_bytes_get_size (both), ==, 2 * g_bytes_get_size (one));
  g_assert_null (sk_local_read_xattrs (tree->root, "none", &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
}

/* Part of what is read with the bytes: what changes meanwhile is no version. */
static void
test_attributes_of_the_same_file (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *path = tree_path (tree, "file");

  tree_text (tree, "file", "text");
  if (setxattr (path, "user.a", "1", 1, 0) != 0)
    {
      g_test_skip ("no extended attributes here");
      return;
    }
  for (guint changed = 0; changed < 2; changed++)
    {
      g_autoptr(GError) error = NULL;
      g_autoptr(GBytes) value = NULL;
      g_autoptr(GArray) out = g_array_new (FALSE, TRUE, sizeof (SkSplitChunk));
      g_autoptr(SkSplitter) splitter = NULL;
      gboolean done = FALSE, too_large = TRUE;
      SkStat stat;

      g_array_set_clear_func (out, (GDestroyNotify) sk_split_chunk_clear);
      g_assert_true (sk_root_stat (tree->root, "file", &stat, &error));
      splitter = sk_splitter_open (tree->root, "file", &stat, &gear, &id_key, &error);
      g_assert_true (sk_splitter_step (splitter, MIB, out, &done, NULL, &error));
      g_assert_true (done);
      if (changed)
        g_assert_cmpint (setxattr (path, "user.a", "2", 1, 0), ==, 0);
      g_assert_cmpint (sk_splitter_xattrs (splitter, &value, &too_large, &error), ==, !changed);
      g_assert_cmpint (value != NULL, ==, !changed);
      g_assert_false (too_large);
      if (changed)
        g_assert_error (error, SK_ERROR, SK_ERROR_CHANGED);
    }
}

static void
test_speed (void)
{
  gsize len = g_test_perf () ? 512 * MIB : 64 * MIB;
  g_autoptr(Tree) tree = tree_new ();
  g_autoptr(GRand) rand = seeded ();
  g_autofree guint8 *data = random_bytes (rand, len);
  gint64 began, plain, whole;
  SkHash id;

  tree_write (tree, "file", data, len);
  {
    g_autoptr(GArray) warm = split (tree, "file", 8 * MIB);
  }
  began = g_get_monotonic_time ();
  {
    SkChunker chunker;

    sk_chunker_init (&chunker, &gear, sk_chunk_sizes_for (len));
    for (gsize at = 0; at < len;)
      {
        gsize border = sk_chunker_feed (&chunker, data + at, len - at);
        gsize n = border > 0 ? border : len - at;

        sk_chunk_id (&id_key, data + at, n, &id);
        at += n;
      }
  }
  plain = g_get_monotonic_time () - began;
  began = g_get_monotonic_time ();
  {
    g_autoptr(SkSplitter) splitter = open_it (tree, "file");
    gboolean done = FALSE;

    while (!done)
      {
        g_autoptr(GArray) chunks = new_chunks ();

        g_assert_true (sk_splitter_step (splitter, 8 * MIB, chunks, &done, NULL, NULL));
      }
  }
  whole = g_get_monotonic_time () - began;
  g_test_message ("%" G_GSIZE_FORMAT " MiB: borders and ids alone %.0f ms, with reading %.0f ms, ratio %.2f", len >> 20,
                  (double) plain / 1000, (double) whole / 1000, (double) whole / (double) plain);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  sk_gear_init (&gear, &id_key);
  g_test_add_func ("/split/sizes", test_sizes);
  g_test_add_func ("/split/sit-B165/short-zeros", test_short_zeros);
  g_test_add_func ("/split/sit-B164/allocation-does-not-matter", test_allocation_does_not_matter);
  g_test_add_func ("/split/sit-B164/hundred-gib", test_hundred_gib);
  g_test_add_func ("/split/sit-B165/one-tib", test_one_tib);
  g_test_add_func ("/split/sit-B075/torn-read-refused", test_torn_read_refused);
  g_test_add_func ("/split/sit-B071/mtime-put-back", test_mtime_put_back);
  g_test_add_func ("/split/sit-B075/not-what-was-expected", test_not_what_was_expected);
  g_test_add_func ("/split/symlink-is-not-followed", test_symlink_is_not_followed);
  g_test_add_func ("/split/sit-B041/special-in-its-place", test_special_in_its_place);
  g_test_add_func ("/split/unreadable", test_unreadable);
  g_test_add_func ("/split/somebody-elses", test_somebody_elses);
  g_test_add_func ("/split/cancelled", test_cancelled);
  g_test_add_func ("/split/links", test_links);
  g_test_add_func ("/split/single-chunks", test_single_chunks);
  g_test_add_func ("/split/hostile-refs", test_hostile_refs);
  g_test_add_func ("/split/attributes", test_attributes);
  g_test_add_func ("/split/attributes-of-the-same-file", test_attributes_of_the_same_file);
  g_test_add_func ("/split/speed", test_speed);
  return g_test_run ();
}
