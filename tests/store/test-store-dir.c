/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects in a directory: what goes in comes out, damage, kills, many at once. */
#include "dir-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

/* --- a writer that is killed --- */

static char *own_program;

/* What the killed process does: puts without end, each object twice, so that it also meets its own.
 */
static int
put_for_ever (const char *location, const char *vault_hex)
{
  SkPool *pool = sk_pool_new ("disk", 2);
  g_autoptr(SkStore) store = NULL;
  SkId vault;

  if (!sk_id_parse (vault_hex, &vault, NULL))
    return 1;
  store = sk_store_new (location, &vault, pool, NULL);
  for (;;)
    {
      g_autoptr(GBytes) data = random_bytes (200000);
      g_autofree char *name = pack_name (data);

      for (guint i = 0; i < 2; i++)
        {
          if (!sk_store_put_sync (store, name, data, SK_PUT_NONE, NULL, NULL))
            return 1;
        }
    }
}

static GPtrArray *
list_packs (Fixture *f)
{
  g_autoptr(GError) error = NULL;
  GPtrArray *items = sk_store_list_sync (f->store, "packs/", NULL, &error);

  g_assert_no_error (error);
  return items;
}

static void
wait_for_packs (Fixture *f, guint n)
{
  gint64 limit = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;

  for (;;)
    {
      g_autoptr(GPtrArray) items = list_packs (f);

      if (items->len >= n)
        return;
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_thread_yield ();
    }
}

static void
test_killed_while_putting (void)
{
  Fixture f = { 0 };
  g_autofree char *hex = NULL;

  fixture_new (&f);
  hex = g_path_get_basename (f.root);
  for (guint round = 1; round <= 5; round++)
    {
      const char *argv[] = { own_program, "--put-for-ever", f.location, hex, NULL };
      g_autoptr(GPtrArray) items = NULL;
      g_autoptr(GError) error = NULL;
      GPid pid;

      g_assert_true (g_spawn_async (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                    NULL, &pid, &error));
      wait_for_packs (&f, 5 * round);
      g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
      g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);

      items = list_packs (&f);
      for (guint i = 0; i < items->len; i++)
        {
          g_autoptr(GBytes) data = sk_store_get_sync (
              f.store, ((SkStoreItem *) items->pdata[i])->name, 1 << 20, NULL, &error);

          g_assert_no_error (error);
        }
    }
  g_test_message ("%u temporary files were left", count_temps (&f));
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
  if (argc == 4 && strcmp (argv[1], "--put-for-ever") == 0)
    return put_for_ever (argv[2], argv[3]);

  own_program = argv[0];
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
  g_test_add_func ("/store-dir/sit-B128/killed-while-putting", test_killed_while_putting);
  g_test_add_func ("/store-dir/crowd", test_crowd);
  g_test_add_func ("/store-dir/pool-ends-first", test_pool_ends_first);
  g_test_add_func ("/store-dir/cancelled", test_cancelled);
  g_test_add_func ("/store-dir/inline-pool", test_inline_pool);
  if (g_test_perf ())
    g_test_add_func ("/store-dir/speed", test_speed);
  return g_test_run ();
}
