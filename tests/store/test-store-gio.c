/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The storage over GIO. By itself it goes through GIO's local files; with-sshd.sh runs the same
 * against an SSH server through gvfs, which is what it is for. Both have a local path at which a
 * test can do harm. */
#include "sk-store-private.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-hash.h"
#include "sk-limits.h"

typedef struct
{
  char *dir; /* local path of the location */
  char *uri;
  char *root; /* local path of the vault's directory */
  SkStoreMarker marker;
  SkPool *pool;
  SkStore *store;
} Fixture;

static void
remove_tree (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR))
        remove_tree (child);
      else
        g_assert_cmpint (unlink (child), ==, 0);
    }
  g_assert_cmpint (rmdir (path), ==, 0);
}

static SkStore *
open_store (Fixture *f)
{
  return sk_store_gio_new (f->uri, &f->marker.vault, f->pool);
}

static void
fixture_open (Fixture *f, const char *name)
{
  const char *sftp = g_getenv ("SK_TEST_SFTP");
  char hex[SK_ID_HEX_SIZE];

  f->marker.format = 1;
  sk_id_random (&f->marker.vault);
  sk_id_random (&f->marker.storage);
  if (sftp != NULL)
    {
      g_autofree char *escaped = g_uri_escape_string (name, NULL, FALSE);

      f->dir = g_build_filename (g_getenv ("SK_TEST_SFTP_DIR"), name, NULL);
      f->uri = g_strconcat (sftp, "/", escaped, NULL);
    }
  else
    {
      g_autofree char *base = g_dir_make_tmp ("skerry-gio-XXXXXX", NULL);

      f->dir = g_build_filename (base, name, NULL);
      f->uri = g_filename_to_uri (f->dir, NULL, NULL);
    }
  sk_id_format (&f->marker.vault, hex);
  f->root = g_build_filename (f->dir, hex, NULL);
  f->pool = sk_pool_new ("disk", 2);
  f->store = open_store (f);
}

static void
fixture_new (Fixture *f)
{
  g_autoptr(GError) error = NULL;

  fixture_open (f, "storage");
  sk_store_initialise_sync (f->store, &f->marker, NULL, &error);
  g_assert_no_error (error);
}

static void
fixture_end (Fixture *f)
{
  g_object_unref (f->store);
  sk_pool_free (f->pool);
  remove_tree (f->dir);
  if (g_getenv ("SK_TEST_SFTP") == NULL)
    {
      g_autofree char *base = g_path_get_dirname (f->dir);

      g_assert_cmpint (rmdir (base), ==, 0);
    }
  g_free (f->dir);
  g_free (f->uri);
  g_free (f->root);
}

static GBytes *
random_bytes (gsize size)
{
  guint8 *data = g_malloc (MAX (size, 1));

  for (gsize i = 0; i < size; i++)
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
assert_list (Fixture *f, const char *prefix, guint n)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) items = sk_store_list_sync (f->store, prefix, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (items->len, ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_true (g_str_has_prefix (((SkStoreItem *) items->pdata[i])->name, prefix));
}

static guint
count_temps (Fixture *f)
{
  g_autofree char *path = g_build_filename (f->root, "tmp", NULL);
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
test_round_trip (void)
{
  static const gsize sizes[] = { 0, 1, 70000, (3 << 20) + 5 };
  g_autoptr(GError) error = NULL;
  Fixture f = { 0 };

  fixture_new (&f);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr(GBytes) data = random_bytes (sizes[i]);
      g_autofree char *name = put_pack (&f, data);
      const char *names[] = { name, "packs/00/absent", "nowhere/x", NULL };

      assert_get (&f, name, data);
      g_free (put_pack (&f, data)); /* again is success */
      assert_list (&f, "", 2);
      if (sizes[i] > 0)
        assert_get_fails (&f, name, sizes[i] - 1, SK_ERROR_LIMIT);
      g_assert_true (sk_store_remove_sync (f.store, names, NULL, &error));
      g_assert_no_error (error);
      assert_get_fails (&f, name, 100, SK_ERROR_NOT_FOUND);
    }
  assert_list (&f, "heads/", 0);
  assert_list (&f, "", 1);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  fixture_end (&f);
}

static void
test_ranges (void)
{
  static const guint64 ranges[][2]
      = { { 0, 100000 }, { 0, 1 }, { 99999, 1 }, { 5000, 70000 }, { 99000, G_MAXUINT64 } };
  g_autoptr(GBytes) data = random_bytes (100000);
  g_autofree char *name = NULL;
  Fixture f = { 0 };

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
  }
  fixture_end (&f);
}

static void
test_overwrite (void)
{
  g_autoptr(GBytes) first = g_bytes_new_static ("first", 5);
  g_autoptr(GBytes) second = g_bytes_new_static ("other", 5);
  g_autoptr(GError) error = NULL;
  Fixture f = { 0 };

  fixture_new (&f);
  g_assert_true (sk_store_put_sync (f.store, "heads/aa", first, SK_PUT_NONE, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sk_store_put_sync (f.store, "heads/aa", first, SK_PUT_NONE, NULL, &error));
  g_assert_false (sk_store_put_sync (f.store, "heads/aa", second, SK_PUT_NONE, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_clear_error (&error);
  assert_get (&f, "heads/aa", first);
  g_assert_true (sk_store_put_sync (f.store, "heads/aa", second, SK_PUT_OVERWRITE, NULL, &error));
  g_assert_no_error (error);
  assert_get (&f, "heads/aa", second);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  fixture_end (&f);
}

static void
test_damaged_is_replaced (void)
{
  g_autoptr(GBytes) data = random_bytes (50000);
  g_autofree char *name = NULL;
  g_autofree char *path = NULL;
  g_autofree char *bytes = NULL;
  Fixture f = { 0 };

  fixture_new (&f);
  name = put_pack (&f, data);
  path = g_build_filename (f.root, name, NULL);
  g_assert_cmpint (truncate (path, 100), ==, 0);
  assert_get_fails (&f, name, 100000, SK_ERROR_CORRUPT);
  g_free (put_pack (&f, data));
  assert_get (&f, name, data);

  bytes = g_memdup2 (g_bytes_get_data (data, NULL), 50000);
  bytes[777] ^= 1;
  g_assert_true (g_file_set_contents (path, bytes, 50000, NULL));
  assert_get_fails (&f, name, 100000, SK_ERROR_CORRUPT);
  g_free (put_pack (&f, data));
  assert_get (&f, name, data);
  g_assert_cmpuint (count_temps (&f), ==, 0);
  fixture_end (&f);
}

static void
test_marker_is_last (void)
{
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autoptr(SkStore) other = NULL;
  g_autoptr(SkStore) location = NULL;
  g_autoptr(GPtrArray) found = NULL;
  g_autoptr(GError) error = NULL;
  g_autofree char *name = NULL;
  Fixture f = { 0 };

  fixture_open (&f, "storage");
  assert_get_fails (&f, "heads/aa", 100, SK_ERROR_OFFLINE);
  g_assert_false (g_file_test (f.dir, G_FILE_TEST_EXISTS));
  g_assert_true (sk_store_prepare_sync (f.store, NULL, &error));
  g_assert_no_error (error);
  name = put_pack (&f, data);
  other = open_store (&f);
  g_assert_null (sk_store_get_sync (other, name, 10000, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  g_clear_error (&error);

  g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
  g_assert_no_error (error);
  assert_get (&f, name, data);
  g_assert_true (
      sk_store_check_marker_sync (other, &f.marker.vault, &f.marker.storage, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (sk_store_initialise_sync (other, &f.marker, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_clear_error (&error);

  location = sk_store_gio_new (f.uri, NULL, f.pool);
  found = sk_store_find_vaults_sync (location, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (found->len, ==, 1);
  g_assert_true (sk_id_equal (&((SkStoreMarker *) found->pdata[0])->storage, &f.marker.storage));
  fixture_end (&f);
}

static void
test_swapped_for_empty (void)
{
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autofree char *name = NULL;
  g_autofree char *aside = NULL;
  const char *names[] = { "heads/aa", NULL };
  Fixture f = { 0 };

  fixture_new (&f);
  name = put_pack (&f, data);
  aside = g_strconcat (f.dir, ".real", NULL);
  for (guint round = 0; round < 2; round++)
    {
      g_autoptr(GError) error = NULL;

      g_assert_cmpint (rename (f.dir, aside), ==, 0);
      if (round == 1)
        g_assert_cmpint (mkdir (f.dir, 0700), ==, 0);
      assert_get_fails (&f, name, 10000, SK_ERROR_OFFLINE);
      assert_get_fails (&f, "heads/none", 10000, SK_ERROR_OFFLINE);
      g_assert_null (sk_store_list_sync (f.store, "", NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
      g_clear_error (&error);
      g_assert_null (sk_store_list_sync (f.store, "heads/", NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
      g_clear_error (&error);
      g_assert_false (
          sk_store_put_sync (f.store, "heads/aa", data, SK_PUT_OVERWRITE, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
      g_clear_error (&error);
      g_assert_false (sk_store_remove_sync (f.store, names, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
      if (round == 1)
        g_assert_cmpint (rmdir (f.dir), ==, 0); /* and it stayed empty */
      g_assert_cmpint (rename (aside, f.dir), ==, 0);
      assert_get (&f, name, data);
      assert_get_fails (&f, "heads/none", 10000, SK_ERROR_NOT_FOUND);
    }
  fixture_end (&f);
}

static void
test_odd_location (void)
{
  static const char *const odd[]
      = { "# % ? : * \" < > | + & ; ` $ ' [ ] ~  two", "%20%2F", "ünï ☃" };

  for (guint i = 0; i < G_N_ELEMENTS (odd); i++)
    {
      g_autoptr(GBytes) data = random_bytes (100);
      g_autoptr(GError) error = NULL;
      g_autofree char *name = NULL;
      Fixture f = { 0 };

      fixture_open (&f, odd[i]);
      g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
      g_assert_no_error (error);
      g_assert_true (g_file_test (f.root, G_FILE_TEST_IS_DIR)); /* byte-exact */
      name = put_pack (&f, data);
      assert_get (&f, name, data);
      fixture_end (&f);
    }
}

typedef struct
{
  Fixture *f;
  GPtrArray *objects;
  GPtrArray *names;
  guint n_waiting;
} Crowd;

static void
crowd_got (GObject *object, GAsyncResult *result, gpointer user_data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_finish (SK_STORE (object), result, &error);

  g_assert_no_error (error);
  g_assert_nonnull (data);
  ((Crowd *) user_data)->n_waiting--;
}

static void
crowd_put (GObject *object, GAsyncResult *result, gpointer user_data)
{
  Crowd *crowd = user_data;
  g_autoptr(GError) error = NULL;

  sk_store_put_finish (SK_STORE (object), result, &error);
  g_assert_no_error (error);
  crowd->n_waiting--;
}

static void
test_crowd (void)
{
  Crowd crowd = { 0 };
  Fixture f = { 0 };

  fixture_new (&f);
  crowd.f = &f;
  crowd.objects = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  crowd.names = g_ptr_array_new_with_free_func (g_free);
  crowd.n_waiting = 60;
  g_test_timer_start ();
  for (guint i = 0; i < 60; i++)
    {
      GBytes *data = random_bytes (20000);

      g_ptr_array_add (crowd.objects, data);
      g_ptr_array_add (crowd.names, pack_name (data));
      sk_store_put_async (f.store, crowd.names->pdata[i], data, SK_PUT_NONE, NULL, crowd_put,
                          &crowd);
    }
  while (crowd.n_waiting > 0)
    g_main_context_iteration (NULL, TRUE);
  g_test_message ("60 puts: %.3f s", g_test_timer_elapsed ());

  crowd.n_waiting = 60;
  g_test_timer_start ();
  for (guint i = 0; i < 60; i++)
    sk_store_get_async (f.store, crowd.names->pdata[i], SK_PACK_SIZE_MAX, NULL, crowd_got, &crowd);
  while (crowd.n_waiting > 0)
    g_main_context_iteration (NULL, TRUE);
  g_test_message ("60 gets: %.3f s", g_test_timer_elapsed ());
  assert_list (&f, "packs/", 60);
  g_ptr_array_unref (crowd.objects);
  g_ptr_array_unref (crowd.names);
  fixture_end (&f);
}

/* The front picks this kind; a place that nobody can reach is offline, in plain words, and nobody
 * is asked. */
static void
test_unreachable (void)
{
  SkPool *pool = sk_pool_new ("disk", 1);
  g_autoptr(SkStore) store = NULL;
  g_autoptr(GError) error = NULL;
  SkId vault;

  sk_id_random (&vault);
  store = sk_store_new ("sftp://127.0.0.1:1/nowhere", &vault, pool, &error);
  g_assert_no_error (error);
  g_assert_null (sk_store_get_sync (store, "heads/aa", 100, NULL, &error));
  g_test_message ("%s", error->message);
  /* Without gvfs there is no such thing at all. */
  if (!g_error_matches (error, SK_ERROR, SK_ERROR_UNSUPPORTED))
    g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  g_assert_nonnull (strstr (error->message, "sftp://127.0.0.1:1/nowhere"));
  g_clear_object (&store);
  sk_pool_free (pool);
}

static void
note_result (GObject *object, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

/* Somebody unmounts the place in the file manager while it is in use: the next operation mounts it
 * again. */
static void
test_mounted_again (void)
{
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autoptr(GError) error = NULL;
  g_autoptr(GFile) place = NULL;
  g_autoptr(GMount) mount = NULL;
  g_autoptr(GAsyncResult) result = NULL;
  g_autofree char *name = NULL;
  Fixture f = { 0 };

  fixture_new (&f);
  name = put_pack (&f, data);
  place = g_file_new_for_uri (f.uri);
  mount = g_file_find_enclosing_mount (place, NULL, &error);
  g_assert_no_error (error);
  g_mount_unmount_with_operation (mount, G_MOUNT_UNMOUNT_FORCE, NULL, NULL, note_result, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (g_mount_unmount_with_operation_finish (mount, result, &error));
  g_assert_no_error (error);

  assert_get (&f, name, data);
  assert_list (&f, "packs/", 1);
  fixture_end (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/store-gio/round-trip", test_round_trip);
  g_test_add_func ("/store-gio/ranges", test_ranges);
  g_test_add_func ("/store-gio/overwrite", test_overwrite);
  g_test_add_func ("/store-gio/sit-B128/damaged-is-replaced", test_damaged_is_replaced);
  g_test_add_func ("/store-gio/rule-c11/marker-is-last", test_marker_is_last);
  g_test_add_func ("/store-gio/sit-B003/swapped-for-empty", test_swapped_for_empty);
  g_test_add_func ("/store-gio/sit-B067/odd-location", test_odd_location);
  g_test_add_func ("/store-gio/crowd", test_crowd);
  g_test_add_func ("/store-gio/unreachable", test_unreachable);
  /* Local files are not mounted by GIO. */
  if (g_getenv ("SK_TEST_SFTP") != NULL)
    g_test_add_func ("/store-gio/mounted-again", test_mounted_again);
  return g_test_run ();
}
