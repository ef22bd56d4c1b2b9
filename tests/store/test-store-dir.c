/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-hash.h"
#include "sk-limits.h"

typedef struct
{
  char *base;     /* a fresh directory */
  char *location; /* <base>/storage */
  char *root;     /* <location>/<vault hex> */
  SkStoreMarker marker;
  SkPool *pool;
  SkStore *store;
} Fixture;

static char *
fixture_path (Fixture *f, const char *name)
{
  return g_build_filename (f->root, name, NULL);
}

static void
fixture_open (Fixture *f, const char *name)
{
  char hex[SK_ID_HEX_SIZE];
  g_autoptr(GError) error = NULL;

  f->base = g_dir_make_tmp ("skerry-store-XXXXXX", NULL);
  f->location = g_build_filename (f->base, name, NULL);
  f->marker.format = 1;
  sk_id_random (&f->marker.vault);
  sk_id_random (&f->marker.storage);
  sk_id_format (&f->marker.vault, hex);
  f->root = g_build_filename (f->location, hex, NULL);
  f->pool = sk_pool_new ("disk", 2);
  f->store = sk_store_new (f->location, &f->marker.vault, f->pool, &error);
  g_assert_no_error (error);
}

static void
fixture_new (Fixture *f)
{
  g_autoptr(GError) error = NULL;

  fixture_open (f, "storage");
  g_assert_true (sk_store_initialise_sync (f->store, &f->marker, NULL, &error));
  g_assert_no_error (error);
}

static void
remove_tree (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR) && !g_file_test (child, G_FILE_TEST_IS_SYMLINK))
        remove_tree (child);
      else
        g_assert_cmpint (unlink (child), ==, 0);
    }
  g_assert_cmpint (rmdir (path), ==, 0);
}

static void
fixture_end (Fixture *f)
{
  g_object_unref (f->store);
  sk_pool_free (f->pool);
  remove_tree (f->base);
  g_free (f->base);
  g_free (f->location);
  g_free (f->root);
}

static GBytes *
random_bytes (gsize size)
{
  guint8 *data = g_malloc (MAX (size, 1));
  guint32 *words = (guint32 *) (gpointer) data;

  for (gsize i = 0; i + 4 <= size; i += 4)
    words[i / 4] = g_random_int ();
  for (gsize i = size & ~(gsize) 3; i < size; i++)
    data[i] = (guint8) g_random_int ();
  return g_bytes_new_take (data, size);
}

static char *
pack_name (GBytes *data)
{
  char hex[SK_HASH_HEX_SIZE];
  SkHash hash;
  gsize size;
  const guint8 *bytes = g_bytes_get_data (data, &size);

  sk_sha256 (bytes, size, &hash);
  sk_hash_format (&hash, hex);
  return g_strdup_printf ("packs/%.2s/%s", hex, hex);
}

static char *
put_pack (Fixture *f, GBytes *data)
{
  char *name = pack_name (data);
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_store_put_sync (f->store, name, data, SK_PUT_NONE, NULL, &error));
  g_assert_no_error (error);
  return name;
}

static void
assert_get (Fixture *f, const char *name, GBytes *expected)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_sync (f->store, name, SK_PACK_SIZE_MAX, NULL, &error);

  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (data, expected));
}

static void
assert_get_fails (Fixture *f, const char *name, guint64 max_size, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_sync (f->store, name, max_size, NULL, &error);

  g_assert_null (data);
  g_assert_error (error, SK_ERROR, (int) code);
}

static void
assert_list_fails (Fixture *f, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) items = sk_store_list_sync (f->store, "", NULL, &error);

  g_assert_null (items);
  g_assert_error (error, SK_ERROR, (int) code);
}

static void
assert_put_fails (Fixture *f, const char *name, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = g_bytes_new_static ("x", 1);

  g_assert_false (sk_store_put_sync (f->store, name, data, SK_PUT_OVERWRITE, NULL, &error));
  g_assert_error (error, SK_ERROR, (int) code);
  if (code != SK_ERROR_USAGE)
    g_assert_nonnull (strstr (error->message, f->location));
}

static guint
count_temps (Fixture *f)
{
  g_autofree char *path = fixture_path (f, "tmp");
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

/* --- the ordinary --- */

static void
test_round_trip (void)
{
  Fixture f = { 0 };
  static const gsize sizes[] = { 0, 1, 1000, 65536, (5 << 20) + 3 };
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;
  SkStoreCounters counters;

  fixture_new (&f);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr(GBytes) data = random_bytes (sizes[i]);
      g_autofree char *name = put_pack (&f, data);
      const char *names[] = { name, "packs/00/absent", "nowhere/x", NULL };

      assert_get (&f, name, data);
      g_free (put_pack (&f, data)); /* again is success */
      g_assert_true (sk_store_remove_sync (f.store, names, NULL, &error));
      g_assert_no_error (error);
      assert_get_fails (&f, name, 100, SK_ERROR_NOT_FOUND);
    }
  items = sk_store_list_sync (f.store, "", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (items->len, ==, 1);
  g_assert_cmpstr (((SkStoreItem *) items->pdata[0])->name, ==, "skerry.json");
  sk_store_counters (f.store, &counters);
  g_assert_cmpuint (counters.puts, ==, 1 + 2 * G_N_ELEMENTS (sizes));
  g_assert_cmpuint (counters.bytes_down, >, sizes[4]);
  g_assert_cmpuint (counters.errors, ==, 0);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  fixture_end (&f);
}

static void
test_ranges (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (100000);
  g_autofree char *name = NULL;
  static const guint64 ranges[][2] = { { 0, 100000 },   { 0, 1 },      { 99999, 1 },
                                       { 5000, 70000 }, { 100000, 0 }, { 99000, G_MAXUINT64 } };

  fixture_new (&f);
  name = put_pack (&f, data);
  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    {
      guint64 len = MIN (ranges[i][1], 100000 - ranges[i][0]);
      g_autoptr(GBytes) expected = g_bytes_new_from_bytes (data, ranges[i][0], len);
      g_autoptr(GError) error = NULL;
      g_autoptr(GBytes) part
          = sk_store_get_range_sync (f.store, name, ranges[i][0], ranges[i][1], NULL, &error);

      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (part, expected));
    }
  {
    g_autoptr(GError) error = NULL;

    g_assert_null (sk_store_get_range_sync (f.store, name, 99999, 2, NULL, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
    g_clear_error (&error);
    g_assert_null (sk_store_get_range_sync (f.store, name, 100001, 1, NULL, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  }
  fixture_end (&f);
}

static void
test_names (void)
{
  Fixture f = { 0 };
  g_autofree char *long_name = g_strnfill (900, 'a');
  g_autofree char *long_component = g_strnfill (129, 'a');
  const char *bad[] = { "",        "/",           "/etc/passwd", "..",   ".",
                        "a/../b",  "a/./b",       "a//b",        "a/",   "../x",
                        "a b",     "a\nb",        "ä",           "a%2e", ".hidden",
                        "a/.b",    "tmp/x",       "a\\b",        "a:b",  "1/2/3/4/5/6/7/8/9",
                        long_name, long_component };

  fixture_new (&f);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      const char *names[] = { bad[i], NULL };
      g_autoptr(GError) error = NULL;

      assert_get_fails (&f, bad[i], 100, SK_ERROR_USAGE);
      assert_put_fails (&f, bad[i], SK_ERROR_USAGE);
      g_assert_false (sk_store_remove_sync (f.store, names, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
    }
  fixture_end (&f);
}

static void
test_overwrite (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) first = g_bytes_new_static ("first", 5);
  g_autoptr(GBytes) second = g_bytes_new_static ("other", 5);
  g_autoptr(GError) error = NULL;

  fixture_new (&f);
  g_assert_true (
      sk_store_put_sync (f.store, "heads/0011223344556677", first, SK_PUT_NONE, NULL, &error));
  g_assert_true (
      sk_store_put_sync (f.store, "heads/0011223344556677", first, SK_PUT_NONE, NULL, &error));
  g_assert_false (
      sk_store_put_sync (f.store, "heads/0011223344556677", second, SK_PUT_NONE, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_clear_error (&error);
  assert_get (&f, "heads/0011223344556677", first);
  g_assert_true (sk_store_put_sync (f.store, "heads/0011223344556677", second, SK_PUT_OVERWRITE,
                                    NULL, &error));
  assert_get (&f, "heads/0011223344556677", second);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  fixture_end (&f);
}

static void
test_list_prefix (void)
{
  Fixture f = { 0 };
  static const char *const names[]
      = { "heads/aa", "heads/ab", "headsx/aa", "log/w1/1", "log/w2/1", "log/w2/2" };
  static const struct
  {
    const char *prefix;
    guint n;
  } cases[] = {
    { "", 7 },         { "heads/", 2 },        { "heads", 3 },   { "heads/a", 2 },
    { "heads/ab", 1 }, { "log/", 3 },          { "log/w2/", 2 }, { "log/w", 3 },
    { "log/w2/2", 1 }, { "nothing/here/", 0 }, { "s", 1 },       { "heads/aa/x", 0 },
  };
  g_autoptr(GBytes) data = g_bytes_new_static ("x", 1);

  fixture_new (&f);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_true (sk_store_put_sync (f.store, names[i], data, SK_PUT_NONE, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr(GError) error = NULL;
      g_autoptr(GPtrArray) items = sk_store_list_sync (f.store, cases[i].prefix, NULL, &error);

      g_assert_no_error (error);
      g_test_message ("prefix \"%s\"", cases[i].prefix);
      g_assert_cmpuint (items->len, ==, cases[i].n);
      for (guint k = 0; k < items->len; k++)
        {
          SkStoreItem *item = items->pdata[k];

          g_assert_true (g_str_has_prefix (item->name, cases[i].prefix));
          g_assert_cmpint (ABS (item->mtime - g_get_real_time ()), <, 60 * G_TIME_SPAN_SECOND);
          g_assert_nonnull (item->etag);
        }
    }
  fixture_end (&f);
}

static void
test_addresses (void)
{
  static const struct
  {
    const char *uri;
    SkErrorCode code;
  } bad[] = {
    { "relative/path", SK_ERROR_USAGE },
    { "", SK_ERROR_USAGE },
    { "file://elsewhere/tmp/x", SK_ERROR_USAGE },
    { "s3://bucket/prefix?endpoint=https://x", SK_ERROR_UNSUPPORTED },
    { "sftp://me:secret@host/dir", SK_ERROR_USAGE },
  };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStore) store = NULL;
  SkPool *pool = sk_pool_new ("disk", 1);
  SkId vault;

  sk_id_random (&vault);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_assert_null (sk_store_new (bad[i].uri, &vault, pool, &error));
      g_assert_error (error, SK_ERROR, (int) bad[i].code);
      g_assert_null (strstr (error->message, "secret"));
      g_clear_error (&error);
    }
  store = sk_store_new ("file:///tmp/with%20space", &vault, pool, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sk_store_uri (store), ==, "file:///tmp/with%20space");
  g_clear_object (&store);
  sk_pool_free (pool);
}

/* --- damage --- */

static void
test_verified (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (70000);
  g_autoptr(GBytes) segment = g_bytes_new_static ("segment", 7);
  g_autofree char *name = NULL;
  g_autofree char *path = NULL;
  g_autofree char *bytes = NULL;
  gsize len;

  fixture_new (&f);
  name = put_pack (&f, data);
  path = fixture_path (&f, name);
  g_assert_true (g_file_get_contents (path, &bytes, &len, NULL));
  bytes[69999] ^= 1;
  g_assert_true (g_file_set_contents (path, bytes, (gssize) len, NULL));
  assert_get_fails (&f, name, 100000, SK_ERROR_CORRUPT);

  /* The name of a segment carries 16 digits of its hash. */
  g_assert_true (
      sk_store_put_sync (f.store, "log/w/1-0000000000000000", segment, SK_PUT_NONE, NULL, NULL));
  assert_get_fails (&f, "log/w/1-0000000000000000", 100000, SK_ERROR_CORRUPT);
  {
    g_autofree char *pack = pack_name (segment);
    g_autofree char *good = g_strdup_printf ("log/w/1-%.16s", pack + strlen ("packs/xx/"));
    g_autofree char *part = g_strdup_printf ("snap/parts/%s", pack + strlen ("packs/xx/"));

    g_assert_true (sk_store_put_sync (f.store, good, segment, SK_PUT_NONE, NULL, NULL));
    assert_get (&f, good, segment);
    g_assert_true (sk_store_put_sync (f.store, part, segment, SK_PUT_NONE, NULL, NULL));
    assert_get (&f, part, segment);
  }
  fixture_end (&f);
}

static void
test_bounded (void)
{
  Fixture f = { 0 };
  g_autofree char *path = NULL;
  g_autofree char *heads = NULL;
  int fd;

  /* A terabyte of nothing: refused by its size, before anything is allocated. */
  fixture_new (&f);
  heads = fixture_path (&f, "heads");
  path = fixture_path (&f, "heads/aa");
  g_assert_cmpint (mkdir (heads, 0700), ==, 0);
  fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  g_assert_cmpint (ftruncate (fd, (off_t) 1 << 40), ==, 0);
  close (fd);
  assert_get_fails (&f, "heads/aa", SK_HEAD_SIZE_MAX, SK_ERROR_LIMIT);
  {
    g_autoptr(GError) error = NULL;

    g_assert_null (sk_store_get_range_sync (f.store, "heads/aa", 0, G_MAXUINT64, NULL, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_LIMIT);
  }
  fixture_end (&f);
}

static void
test_truncated_is_replaced (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (50000);
  g_autoptr(GBytes) wrong = random_bytes (50000);
  g_autoptr(GError) error = NULL;
  g_autofree char *name = NULL;
  g_autofree char *path = NULL;
  g_autofree char *bytes = NULL;

  fixture_new (&f);
  name = put_pack (&f, data);
  path = fixture_path (&f, name);
  g_assert_cmpint (truncate (path, 100), ==, 0);
  assert_get_fails (&f, name, 100000, SK_ERROR_CORRUPT);
  g_free (put_pack (&f, data));
  assert_get (&f, name, data);

  /* Of the same size, with one bit wrong. */
  bytes = g_memdup2 (g_bytes_get_data (data, NULL), 50000);
  bytes[12345] ^= 4;
  g_assert_true (g_file_set_contents (path, bytes, 50000, NULL));
  g_free (put_pack (&f, data));
  assert_get (&f, name, data);

  /* But bytes that do not match the name replace nothing. */
  g_assert_false (sk_store_put_sync (f.store, name, wrong, SK_PUT_NONE, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  assert_get (&f, name, data);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  fixture_end (&f);
}

static void
test_killed_put_leaves_no_object (void)
{
  Fixture f = { 0 };
  g_autofree char *fresh = NULL;
  g_autofree char *old = NULL;
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStore) again = NULL;
  struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

  /* What a kill leaves lies in tmp/ and is no object; after a day the next engine removes it. */
  fixture_new (&f);
  fresh = fixture_path (&f, "tmp/0123456789abcdef0123456789abcdef");
  old = fixture_path (&f, "tmp/ffffffffffffffffffffffffffffffff");
  g_assert_true (g_file_set_contents (fresh, "half", 4, NULL));
  g_assert_true (g_file_set_contents (old, "half", 4, NULL));
  g_assert_cmpint (utimensat (AT_FDCWD, old, times, 0), ==, 0);

  again = sk_store_new (f.location, &f.marker.vault, f.pool, NULL);
  items = sk_store_list_sync (again, "", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (items->len, ==, 1);
  g_assert_true (g_file_test (fresh, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (old, G_FILE_TEST_EXISTS));
  fixture_end (&f);
}

/* --- the storage that is not there --- */

static void
test_marker_is_last (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStore) other = NULL;
  g_autofree char *name = NULL;
  g_autofree char *marker_path = NULL;
  SkStoreMarker foreign;

  fixture_open (&f, "storage");
  marker_path = fixture_path (&f, "skerry.json");
  assert_put_fails (&f, "heads/aa", SK_ERROR_OFFLINE);
  g_assert_false (g_file_test (f.location, G_FILE_TEST_EXISTS));

  /* The first objects come before the marker, and until it is there nobody else takes the place for
   * a storage. */
  g_assert_true (sk_store_prepare_sync (f.store, NULL, &error));
  name = put_pack (&f, data);
  g_assert_false (g_file_test (marker_path, G_FILE_TEST_EXISTS));
  other = sk_store_new (f.location, &f.marker.vault, f.pool, NULL);
  g_assert_null (sk_store_get_sync (other, name, 10000, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  g_clear_error (&error);

  g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
  g_assert_no_error (error);
  assert_get (&f, name, data);
  g_assert_true (
      sk_store_check_marker_sync (other, &f.marker.vault, &f.marker.storage, NULL, &error));

  /* Never a second time, with the same storage or another. */
  g_assert_false (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_clear_error (&error);
  foreign = f.marker;
  sk_id_random (&foreign.storage);
  g_assert_false (sk_store_initialise_sync (other, &foreign, NULL, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  assert_get (&f, name, data);
  fixture_end (&f);
}

static void
test_two_vaults_in_one_place (void)
{
  Fixture f = { 0 };
  g_autoptr(GPtrArray) found = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStore) location = NULL;
  g_autoptr(SkStore) second = NULL;
  g_autofree char *junk = NULL;
  SkStoreMarker marker = { .format = 1 };

  fixture_new (&f);
  sk_id_random (&marker.vault);
  sk_id_random (&marker.storage);
  second = sk_store_new (f.location, &marker.vault, f.pool, NULL);
  g_assert_true (sk_store_initialise_sync (second, &marker, NULL, &error));
  junk = g_build_filename (f.location, "photos", NULL);
  g_assert_cmpint (mkdir (junk, 0700), ==, 0);

  location = sk_store_new (f.location, NULL, f.pool, NULL);
  found = sk_store_find_vaults_sync (location, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (found->len, ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      SkStoreMarker *one = found->pdata[i];
      const SkStoreMarker *expected
          = sk_id_equal (&one->vault, &marker.vault) ? &marker : &f.marker;

      g_assert_true (sk_id_equal (&one->vault, &expected->vault));
      g_assert_true (sk_id_equal (&one->storage, &expected->storage));
    }
  fixture_end (&f);
}

static void
test_swapped_for_empty (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autofree char *name = NULL;
  g_autofree char *aside = NULL;

  fixture_new (&f);
  name = put_pack (&f, data);
  aside = g_strconcat (f.location, ".real", NULL);

  /* The whole place swapped for an empty directory, as an unmounted disk leaves one. */
  g_assert_cmpint (rename (f.location, aside), ==, 0);
  g_assert_cmpint (mkdir (f.location, 0700), ==, 0);
  assert_get_fails (&f, name, 10000, SK_ERROR_OFFLINE);
  assert_get_fails (&f, "heads/none", 10000, SK_ERROR_OFFLINE);
  assert_list_fails (&f, SK_ERROR_OFFLINE);
  assert_put_fails (&f, "heads/aa", SK_ERROR_OFFLINE);
  g_assert_cmpint (rmdir (f.location), ==, 0); /* and it stayed empty */

  /* Nothing there at all. */
  assert_get_fails (&f, name, 10000, SK_ERROR_OFFLINE);
  assert_list_fails (&f, SK_ERROR_OFFLINE);
  assert_put_fails (&f, "heads/aa", SK_ERROR_OFFLINE);

  g_assert_cmpint (rename (aside, f.location), ==, 0);
  assert_get (&f, name, data);
  assert_get_fails (&f, "heads/none", 10000, SK_ERROR_NOT_FOUND);

  /* Emptied in place: the directory is the same to the kernel. */
  remove_tree (f.root);
  g_assert_cmpint (mkdir (f.root, 0700), ==, 0);
  assert_get_fails (&f, name, 10000, SK_ERROR_OFFLINE);
  assert_list_fails (&f, SK_ERROR_OFFLINE);
  assert_put_fails (&f, "heads/aa", SK_ERROR_OFFLINE);
  {
    const char *names[] = { name, NULL };
    g_autoptr(GError) error = NULL;

    g_assert_false (sk_store_remove_sync (f.store, names, NULL, &error));
    g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  }
  fixture_end (&f);
}

static void
test_another_storage (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = NULL;
  g_autoptr(GError) error = NULL;
  g_autofree char *path = NULL;
  g_autofree char *aside = NULL;
  SkStoreMarker marker;

  /* Another disk of the same vault mounted in its place. */
  fixture_new (&f);
  path = fixture_path (&f, "skerry.json");
  aside = g_strconcat (f.root, ".real", NULL);
  marker = f.marker;
  sk_id_random (&marker.storage);
  data = sk_store_marker_build (&marker);
  g_assert_cmpint (rename (f.root, aside), ==, 0);
  g_assert_cmpint (mkdir (f.root, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, g_bytes_get_data (data, NULL),
                                      (gssize) g_bytes_get_size (data), NULL));
  assert_get_fails (&f, "heads/aa", 10000, SK_ERROR_OFFLINE);
  assert_list_fails (&f, SK_ERROR_OFFLINE);
  assert_put_fails (&f, "heads/aa", SK_ERROR_OFFLINE);

  g_assert_false (
      sk_store_check_marker_sync (f.store, &f.marker.vault, &f.marker.storage, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  fixture_end (&f);
}

typedef struct
{
  Fixture *f;
  char *aside;
  gint stop; /* atomic */
  guint n;
} Mover;

static gpointer
mover_main (gpointer data)
{
  Mover *mover = data;

  while (!g_atomic_int_get (&mover->stop))
    {
      g_assert_cmpint (rename (mover->f->location, mover->aside), ==, 0);
      if (mover->n % 3 == 0) /* now and then an empty directory stands in for it */
        g_assert_cmpint (mkdir (mover->f->location, 0700), ==, 0);
      g_usleep (1000);
      if (mover->n % 3 == 0)
        g_assert_cmpint (rmdir (mover->f->location), ==, 0);
      g_assert_cmpint (rename (mover->aside, mover->f->location), ==, 0);
      mover->n++;
      g_usleep (2000);
    }
  return NULL;
}

/* Gets @name until the storage was there; counts how often it was not. */
static guint
get_through (Fixture *f, const char *name, GBytes *expected)
{
  for (guint n = 0;; n++)
    {
      g_autoptr(GError) error = NULL;
      g_autoptr(GBytes) data = sk_store_get_sync (f->store, name, 100000, NULL, &error);

      if (data != NULL)
        {
          g_assert_true (g_bytes_equal (data, expected));
          return n;
        }
      g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
    }
}

static void
test_renamed_while_getting (void)
{
  Fixture f = { 0 };
  Mover mover = { .f = &f };
  GThread *thread;
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  guint n_offline = 0;

  fixture_new (&f);
  for (guint i = 0; i < 20; i++)
    {
      GBytes *data = random_bytes (2000 + i);

      g_ptr_array_add (objects, data);
      g_ptr_array_add (names, put_pack (&f, data));
    }
  mover.aside = g_strconcat (f.location, ".away", NULL);
  thread = g_thread_new ("mover", mover_main, &mover);
  for (guint i = 0; i < 2000; i++)
    {
      n_offline += get_through (&f, names->pdata[i % 20], objects->pdata[i % 20]);
      if (i % 10 == 0)
        {
          g_autoptr(GError) error = NULL;
          g_autoptr(GPtrArray) items = sk_store_list_sync (f.store, "packs/", NULL, &error);

          if (items != NULL)
            g_assert_cmpuint (items->len, ==, 20);
          else
            g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
        }
    }
  g_atomic_int_set (&mover.stop, TRUE);
  g_thread_join (thread);
  g_test_message ("renamed %u times, %u gets met an absent storage", mover.n, n_offline);
  g_free (mover.aside);
  fixture_end (&f);
}

/* --- odd places --- */

static void
test_foreign_names (void)
{
  Fixture f = { 0 };
  g_autofree char *long_path = g_strnfill (240, 'n');
  g_autofree char *path = NULL;
  g_autofree char *spaced = NULL;
  g_autofree char *raw = NULL;
  g_autofree char *deep = NULL;
  g_autofree char *link_path = NULL;
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;

  /* A path of 900 bytes needs several components here; each of them is no name of ours. */
  fixture_new (&f);
  deep = g_strdup_printf ("%s/%s/%s/%s", long_path, long_path, long_path, long_path);
  path = fixture_path (&f, deep);
  g_assert_cmpint (g_mkdir_with_parents (path, 0700), ==, 0);
  spaced = fixture_path (&f, "Holiday photo (1).jpg");
  g_assert_true (g_file_set_contents (spaced, "x", 1, NULL));
  raw = fixture_path (&f, "\xff\xfe\n");
  g_assert_true (g_file_set_contents (raw, "x", 1, NULL));
  link_path = fixture_path (&f, "packs");
  g_assert_cmpint (symlink ("/etc", link_path), ==, 0);

  g_test_expect_message (NULL, G_LOG_LEVEL_MESSAGE, "*3 names that are not Skerry's*");
  items = sk_store_list_sync (f.store, "", NULL, &error);
  g_test_assert_expected_messages ();
  g_assert_no_error (error);
  g_assert_cmpuint (items->len, ==, 1);
  g_clear_pointer (&items, g_ptr_array_unref);
  items = sk_store_list_sync (f.store, "", NULL, &error); /* told once */
  g_assert_cmpuint (items->len, ==, 1);

  /* A link inside the storage leads nowhere, neither to read nor to write. */
  {
    g_autoptr(GBytes) data = random_bytes (10);
    g_autoptr(GError) refused = NULL;
    g_autofree char *name = pack_name (data);

    g_assert_null (sk_store_get_range_sync (f.store, "packs/passwd", 0, 1, NULL, &refused));
    g_assert_nonnull (refused);
    g_clear_error (&refused);
    g_assert_false (sk_store_put_sync (f.store, name, data, SK_PUT_NONE, NULL, &refused));
    g_assert_nonnull (refused);
  }
  fixture_end (&f);
}

static void
test_odd_location (void)
{
  static const char *const odd[] = { "# % ? : * \" < > | + & ; ` $ ' [ ] ~  two",
                                     "%20%2F",
                                     "ünï ☃",
                                     "\xff\xfe raw",
                                     " lead and trail ",
                                     "file:x",
                                     "new\nline" };

  for (guint i = 0; i < G_N_ELEMENTS (odd); i++)
    {
      Fixture f = { 0 };
      g_autoptr(GBytes) data = random_bytes (100);
      g_autoptr(GError) error = NULL;
      g_autoptr(SkStore) by_uri = NULL;
      g_autoptr(GBytes) back = NULL;
      g_autofree char *uri = NULL;
      g_autofree char *name = NULL;

      fixture_open (&f, odd[i]);
      g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
      g_assert_no_error (error);
      g_assert_true (g_file_test (f.root, G_FILE_TEST_IS_DIR)); /* byte-exact */
      name = put_pack (&f, data);
      uri = g_filename_to_uri (f.location, NULL, NULL);
      by_uri = sk_store_new (uri, &f.marker.vault, f.pool, &error);
      g_assert_no_error (error);
      back = sk_store_get_sync (by_uri, name, 1000, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (back, data));
      assert_get_fails (&f, "heads/none", 100, SK_ERROR_NOT_FOUND);
      fixture_end (&f);
    }
}

static gboolean may_mount;

static void
write_text (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);

  if (fd < 0)
    return;
  if (write (fd, text, strlen (text)) < 0)
    g_test_message ("%s: %s", path, g_strerror (errno));
  close (fd);
}

/* A view of the mounts of our own, before there are threads (each has one). */
static void
own_mounts (void)
{
  g_autofree char *uids = g_strdup_printf ("0 %u 1", (guint) geteuid ());
  g_autofree char *gids = g_strdup_printf ("0 %u 1", (guint) getegid ());

  if (geteuid () != 0)
    {
      if (unshare (CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return;
      write_text ("/proc/self/setgroups", "deny");
      write_text ("/proc/self/uid_map", uids);
      write_text ("/proc/self/gid_map", gids);
    }
  else if (unshare (CLONE_NEWNS) != 0)
    return;
  may_mount = mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static gboolean
mount_small (const char *path)
{
  g_assert_cmpint (mkdir (path, 0700), ==, 0);
  return may_mount && mount ("none", path, "tmpfs", 0, "size=1m") == 0;
}

static void
test_full (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) small = random_bytes (300000);
  g_autoptr(GBytes) large = random_bytes (2000000);
  g_autoptr(GError) error = NULL;
  g_autofree char *kept = NULL;
  g_autofree char *name = pack_name (large);

  fixture_open (&f, "storage");
  if (!mount_small (f.location))
    g_test_skip ("this process may not mount a small file system");
  else
    {
      g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
      kept = put_pack (&f, small);
      for (guint i = 0; i < 3; i++)
        {
          g_assert_false (sk_store_put_sync (f.store, name, large, SK_PUT_NONE, NULL, &error));
          g_assert_error (error, SK_ERROR, SK_ERROR_NO_SPACE);
          g_assert_nonnull (strstr (error->message, "free some space"));
          g_clear_error (&error);
          g_assert_cmpuint (count_temps (&f), ==, 0); /* the half object gives its space back */
        }
      assert_get (&f, kept, small);
      assert_get_fails (&f, name, 10000000, SK_ERROR_NOT_FOUND);
      g_assert_cmpint (umount (f.location), ==, 0);
    }
  fixture_end (&f);
}

/* --- many at once --- */

typedef struct
{
  Fixture *f;
  GMainLoop *loop;
  GPtrArray *objects;
  GPtrArray *names;
  guint n_waiting;
} Crowd;

static void
crowd_got (GObject *object, GAsyncResult *result, gpointer user_data)
{
  Crowd *crowd = user_data;
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_finish (SK_STORE (object), result, &error);

  g_assert_no_error (error);
  g_assert_nonnull (data);
  if (--crowd->n_waiting == 0)
    g_main_loop_quit (crowd->loop);
}

static void
crowd_put (GObject *object, GAsyncResult *result, gpointer user_data)
{
  Crowd *crowd = user_data;
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_store_put_finish (SK_STORE (object), result, &error));
  g_assert_no_error (error);
  if (--crowd->n_waiting == 0)
    g_main_loop_quit (crowd->loop);
}

static void
crowd_fill (Crowd *crowd, guint n, gsize size)
{
  for (guint i = 0; i < n; i++)
    {
      GBytes *data = random_bytes (size);

      g_ptr_array_add (crowd->objects, data);
      g_ptr_array_add (crowd->names, pack_name (data));
    }
}

/* All puts at once; each object's get starts with the put of the one @lag places further on. */
static void
crowd_run (Crowd *crowd, guint lag)
{
  guint n = crowd->objects->len;

  crowd->n_waiting = n;
  for (guint i = 0; i < n; i++)
    sk_store_put_async (crowd->f->store, crowd->names->pdata[i], crowd->objects->pdata[i],
                        SK_PUT_NONE, NULL, crowd_put, crowd);
  g_main_loop_run (crowd->loop);
  if (lag == 0)
    return;
  crowd->n_waiting = 2 * n;
  for (guint i = 0; i < n; i++)
    {
      sk_store_get_async (crowd->f->store, crowd->names->pdata[i], SK_PACK_SIZE_MAX, NULL,
                          crowd_got, crowd);
      sk_store_put_async (crowd->f->store, crowd->names->pdata[(i + lag) % n],
                          crowd->objects->pdata[(i + lag) % n], SK_PUT_NONE, NULL, crowd_put,
                          crowd);
    }
  g_main_loop_run (crowd->loop);
}

static void
crowd_open (Crowd *crowd, Fixture *f)
{
  crowd->f = f;
  crowd->loop = g_main_loop_new (NULL, FALSE);
  crowd->objects = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  crowd->names = g_ptr_array_new_with_free_func (g_free);
}

static void
crowd_end (Crowd *crowd)
{
  g_main_loop_unref (crowd->loop);
  g_ptr_array_unref (crowd->objects);
  g_ptr_array_unref (crowd->names);
}

static void
test_crowd (void)
{
  Fixture f = { 0 };
  Crowd crowd;

  fixture_new (&f);
  crowd_open (&crowd, &f);
  crowd_fill (&crowd, 200, 20000);
  crowd_run (&crowd, 7);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  crowd_end (&crowd);
  fixture_end (&f);
}

static void
note_closed (GObject *object, GAsyncResult *result, gpointer user_data)
{
  Crowd *crowd = user_data;
  g_autoptr(GError) error = NULL;

  if (!sk_store_put_finish (SK_STORE (object), result, &error))
    g_assert_error (error, SK_ERROR, SK_ERROR_CANCELLED);
  crowd->n_waiting--;
}

static void
test_pool_ends_first (void)
{
  for (guint round = 0; round < 10; round++)
    {
      Fixture f = { 0 };
      Crowd crowd;

      fixture_new (&f);
      crowd_open (&crowd, &f);
      crowd_fill (&crowd, 100, 3000);
      crowd.n_waiting = 100;
      for (guint i = 0; i < 100; i++)
        sk_store_put_async (f.store, crowd.names->pdata[i], crowd.objects->pdata[i], SK_PUT_NONE,
                            NULL, note_closed, &crowd);
      for (guint i = 0; i < round * 3; i++)
        g_main_context_iteration (NULL, FALSE);
      sk_pool_free (f.pool);
      while (crowd.n_waiting > 0) /* each is answered, and no temporary file stays */
        g_main_context_iteration (NULL, TRUE);
      g_assert_cmpuint (count_temps (&f), ==, 0);
      f.pool = sk_pool_new ("disk", 1);
      crowd_end (&crowd);
      fixture_end (&f);
    }
}

static void
test_cancelled (void)
{
  Fixture f = { 0 };
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autoptr(GError) error = NULL;
  g_autofree char *name = pack_name (data);

  fixture_new (&f);
  g_cancellable_cancel (cancellable);
  g_assert_false (sk_store_put_sync (f.store, name, data, SK_PUT_NONE, cancellable, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_null (sk_store_list_sync (f.store, "", cancellable, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CANCELLED);
  assert_get_fails (&f, name, 10000, SK_ERROR_NOT_FOUND);
  fixture_end (&f);
}

static void
test_inline_pool (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autofree char *name = NULL;

  fixture_open (&f, "storage");
  g_clear_object (&f.store);
  sk_pool_free (f.pool);
  f.pool = sk_pool_new_inline (NULL);
  f.store = sk_store_new (f.location, &f.marker.vault, f.pool, NULL);
  g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, NULL));
  name = put_pack (&f, data);
  assert_get (&f, name, data);
  fixture_end (&f);
}

static void
test_speed (void)
{
  static const struct
  {
    guint n;
    gsize size;
  } runs[] = { { 70, 4 << 20 }, { 2000, 1024 } };

  if (!g_test_perf ())
    {
      g_test_skip ("measured with -m perf");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      Fixture f = { 0 };
      Crowd crowd;
      double seconds;

      fixture_new (&f);
      crowd_open (&crowd, &f);
      crowd_fill (&crowd, runs[i].n, runs[i].size);
      g_test_timer_start ();
      crowd_run (&crowd, 0);
      seconds = g_test_timer_elapsed ();
      g_test_minimized_result (
          seconds, "%u puts of %" G_GSIZE_FORMAT " bytes: %.3f s, %.1f MiB/s, %.0f puts/s",
          runs[i].n, runs[i].size, seconds,
          (double) runs[i].n * (double) runs[i].size / seconds / 1048576.0, runs[i].n / seconds);
      crowd_end (&crowd);
      fixture_end (&f);
    }
}

int
main (int argc, char **argv)
{
  own_mounts ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/store-dir/round-trip", test_round_trip);
  g_test_add_func ("/store-dir/ranges", test_ranges);
  g_test_add_func ("/store-dir/names", test_names);
  g_test_add_func ("/store-dir/overwrite", test_overwrite);
  g_test_add_func ("/store-dir/list-prefix", test_list_prefix);
  g_test_add_func ("/store-dir/addresses", test_addresses);
  g_test_add_func ("/store-dir/verified", test_verified);
  g_test_add_func ("/store-dir/bounded", test_bounded);
  g_test_add_func ("/store-dir/sit-B128/damaged-is-replaced", test_truncated_is_replaced);
  g_test_add_func ("/store-dir/sit-B128/killed-put-leaves-no-object",
                   test_killed_put_leaves_no_object);
  g_test_add_func ("/store-dir/rule-c11/marker-is-last", test_marker_is_last);
  g_test_add_func ("/store-dir/rule-c11/two-vaults-in-one-place", test_two_vaults_in_one_place);
  g_test_add_func ("/store-dir/sit-B003/swapped-for-empty", test_swapped_for_empty);
  g_test_add_func ("/store-dir/sit-B003/another-storage", test_another_storage);
  g_test_add_func ("/store-dir/sit-B004/renamed-while-getting", test_renamed_while_getting);
  g_test_add_func ("/store-dir/sit-B061/foreign-names", test_foreign_names);
  g_test_add_func ("/store-dir/sit-B067/odd-location", test_odd_location);
  g_test_add_func ("/store-dir/sit-B093/full", test_full);
  g_test_add_func ("/store-dir/crowd", test_crowd);
  g_test_add_func ("/store-dir/pool-ends-first", test_pool_ends_first);
  g_test_add_func ("/store-dir/cancelled", test_cancelled);
  g_test_add_func ("/store-dir/inline-pool", test_inline_pool);
  g_test_add_func ("/store-dir/speed", test_speed);
  return g_test_run ();
}
