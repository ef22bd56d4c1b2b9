/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The place of a storage in a directory: set up, missing, swapped, foreign, odd, full. */
#include "dir-fixture.h"
#include "sk-store-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

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

/* What a person reads when the storage is not what it was. */
static void
assert_says (Fixture *f, const char *what)
{
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_store_get_sync (f->store, "heads/none", 1000, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  g_assert_nonnull (strstr (error->message, what));
  g_assert_nonnull (strstr (error->message, f->location));
}

static void
test_swapped_for_other (void)
{
  Fixture f = { 0 }, other = { 0 };
  g_autofree char *aside = NULL, *lost = NULL, *file = NULL;

  fixture_new (&f);
  fixture_new (&other);
  aside = g_strconcat (f.location, ".real", NULL);
  g_assert_cmpint (rename (f.location, aside), ==, 0);
  /* The disk of another vault. */
  g_assert_cmpint (rename (other.location, f.location), ==, 0);
  assert_says (&f, "holds the storage of another vault");
  g_assert_cmpint (rename (f.location, other.location), ==, 0);
  /* A new disk, and one with other things. */
  lost = g_build_filename (f.location, "lost+found", NULL);
  g_assert_cmpint (mkdir (f.location, 0700), ==, 0);
  g_assert_cmpint (mkdir (lost, 0700), ==, 0);
  assert_says (&f, "is empty");
  file = g_build_filename (f.location, "photo.jpg", NULL);
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  assert_says (&f, "holds other files and nothing of this vault");
  remove_tree (f.location);
  g_assert_cmpint (rename (aside, f.location), ==, 0);
  fixture_end (&other);
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
  assert_says (&f, "is empty");
  g_assert_cmpint (rmdir (f.location), ==, 0); /* and it stayed empty */

  /* Nothing there at all. */
  assert_says (&f, "is not there");
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
  assert_says (&f, "is empty");
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
test_foreign_names_by_walking (void)
{
  sk_store_dir_test_walk = TRUE;
  test_foreign_names ();
  sk_store_dir_test_walk = FALSE;
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
  may_mount = mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
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

static void
test_unmounted (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autofree char *name = NULL;

  fixture_open (&f, "storage");
  if (!mount_small (f.location))
    g_test_skip ("this process may not mount a small file system");
  else
    {
      g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, NULL));
      name = put_pack (&f, data);
      /* Nothing of the store keeps the disk busy, and nothing is written beneath it. */
      g_assert_cmpint (umount (f.location), ==, 0);
      assert_get_fails (&f, name, 10000, SK_ERROR_OFFLINE);
      assert_list_fails (&f, SK_ERROR_OFFLINE);
      assert_put_fails (&f, "heads/aa", SK_ERROR_OFFLINE);
      g_assert_cmpint (rmdir (f.location), ==, 0);
      g_assert_cmpint (mkdir (f.location, 0700), ==, 0);
    }
  fixture_end (&f);
}

static void
test_read_only (void)
{
  Fixture f = { 0 };
  g_autoptr(GBytes) data = random_bytes (1000);
  g_autofree char *name = NULL;

  fixture_open (&f, "storage");
  if (!mount_small (f.location))
    g_test_skip ("this process may not mount a small file system");
  else
    {
      const char *names[] = { "skerry.json", NULL };
      g_autoptr(GError) error = NULL;

      g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, NULL));
      name = put_pack (&f, data);
      g_assert_cmpint (mount ("none", f.location, "tmpfs", MS_REMOUNT | MS_RDONLY, ""), ==, 0);
      assert_get (&f, name, data);
      assert_put_fails (&f, "heads/aa", SK_ERROR_PERMISSION);
      g_assert_false (sk_store_remove_sync (f.store, names, NULL, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_PERMISSION);
      g_assert_cmpint (umount (f.location), ==, 0);
    }
  fixture_end (&f);
}

int
main (int argc, char **argv)
{
  own_mounts ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/store-place/rule-c11/marker-is-last", test_marker_is_last);
  g_test_add_func ("/store-place/rule-c11/two-vaults-in-one-place", test_two_vaults_in_one_place);
  g_test_add_func ("/store-place/sit-B003/swapped-for-empty", test_swapped_for_empty);
  g_test_add_func ("/store-place/sit-B003/swapped-for-other", test_swapped_for_other);
  g_test_add_func ("/store-place/sit-B003/unmounted", test_unmounted);
  g_test_add_func ("/store-place/read-only", test_read_only);
  g_test_add_func ("/store-place/sit-B003/another-storage", test_another_storage);
  g_test_add_func ("/store-place/sit-B004/renamed-while-getting", test_renamed_while_getting);
  g_test_add_func ("/store-place/sit-B061/foreign-names", test_foreign_names);
  g_test_add_func ("/store-place/sit-B061/foreign-names-by-walking", test_foreign_names_by_walking);
  g_test_add_func ("/store-place/sit-B067/odd-location", test_odd_location);
  g_test_add_func ("/store-place/sit-B093/full", test_full);
  return g_test_run ();
}
