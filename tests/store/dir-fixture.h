/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A storage in a fresh directory, for the tests of sk-store-dir. */
#pragma once
#include "sk-store.h"

#include <string.h>
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

static G_GNUC_UNUSED char *
fixture_path (Fixture *f, const char *name)
{
  return g_build_filename (f->root, name, NULL);
}

static G_GNUC_UNUSED void
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

static G_GNUC_UNUSED void
fixture_new (Fixture *f)
{
  g_autoptr(GError) error = NULL;

  fixture_open (f, "storage");
  g_assert_true (sk_store_initialise_sync (f->store, &f->marker, NULL, &error));
  g_assert_no_error (error);
}

static G_GNUC_UNUSED void
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

static G_GNUC_UNUSED void
fixture_end (Fixture *f)
{
  g_object_unref (f->store);
  sk_pool_free (f->pool);
  remove_tree (f->base);
  g_free (f->base);
  g_free (f->location);
  g_free (f->root);
}

static G_GNUC_UNUSED GBytes *
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

static G_GNUC_UNUSED char *
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

static G_GNUC_UNUSED char *
put_pack (Fixture *f, GBytes *data)
{
  char *name = pack_name (data);
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_store_put_sync (f->store, name, data, SK_PUT_NONE, NULL, &error));
  g_assert_no_error (error);
  return name;
}

static G_GNUC_UNUSED void
assert_get (Fixture *f, const char *name, GBytes *expected)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_sync (f->store, name, SK_PACK_SIZE_MAX, NULL, &error);

  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (data, expected));
}

static G_GNUC_UNUSED void
assert_get_fails (Fixture *f, const char *name, guint64 max_size, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_sync (f->store, name, max_size, NULL, &error);

  g_assert_null (data);
  g_assert_error (error, SK_ERROR, (int) code);
}

static G_GNUC_UNUSED void
assert_list_fails (Fixture *f, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) items = sk_store_list_sync (f->store, "", NULL, &error);

  g_assert_null (items);
  g_assert_error (error, SK_ERROR, (int) code);
}

static G_GNUC_UNUSED void
assert_put_fails (Fixture *f, const char *name, SkErrorCode code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = g_bytes_new_static ("x", 1);

  g_assert_false (sk_store_put_sync (f->store, name, data, SK_PUT_OVERWRITE, NULL, &error));
  g_assert_error (error, SK_ERROR, (int) code);
  if (code != SK_ERROR_USAGE)
    g_assert_nonnull (strstr (error->message, f->location));
}

static G_GNUC_UNUSED guint
count_temps (Fixture *f)
{
  g_autofree char *path = fixture_path (f, "tmp");
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}
