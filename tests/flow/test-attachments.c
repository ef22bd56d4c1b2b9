/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is attached survives the loss of the database. */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sk-attachments.h"
#include "sk-guests.h"
#include "sk-pair.h"

/* --- the list --- */

static GBytes *
sample (SkAttachedList *out)
{
  SkAttachedStorage *storage = g_new0 (SkAttachedStorage, 1);
  SkAttachedFolder *folder = g_new0 (SkAttachedFolder, 1), *plain = g_new0 (SkAttachedFolder, 1);
  const char *const only[] = { "*.txt", "a/[b-c]/**", "caf\xe9", NULL };

  sk_attached_list_init (out);
  *storage = (SkAttachedStorage) { .name = g_strdup ("main \"quoted\" \\ é"), .uri = g_strdup ("sftp://host/some%20where?a=b#c") };
  sk_id_random (&storage->id);
  g_ptr_array_add (out->storages, storage);
  *folder = (SkAttachedFolder) { .name = g_strdup ("photos"), .path = g_strdup ("/home/me/caf\xe9 % \n 'x'"), .mode = SK_FOLDER_RECEIVE,
                                 .only = g_strdupv ((char **) only) };
  sk_id_random (&folder->id);
  g_ptr_array_add (out->folders, folder);
  *plain = (SkAttachedFolder) { .name = g_strdup ("docs"), .path = g_strdup ("/d") };
  sk_id_random (&plain->id);
  g_ptr_array_add (out->folders, plain);
  return sk_attached_list_format (out);
}

static void
test_round_trip (void)
{
  g_auto(SkAttachedList) list = { NULL }, back = { NULL };
  g_autoptr(GBytes) bytes = sample (&list), again = NULL;
  g_autoptr(GError) error = NULL;
  SkAttachedFolder *folder, *plain;

  g_assert_true (sk_attached_list_parse (bytes, &back, &error));
  g_assert_no_error (error);
  again = sk_attached_list_format (&back);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), g_bytes_get_data (again, NULL), g_bytes_get_size (again));
  folder = back.folders->pdata[0];
  plain = back.folders->pdata[1];
  g_assert_cmpstr (folder->path, ==, "/home/me/caf\xe9 % \n 'x'");
  g_assert_cmpint (folder->mode, ==, SK_FOLDER_RECEIVE);
  g_assert_cmpuint (g_strv_length (folder->only), ==, 3);
  g_assert_cmpstr (folder->only[2], ==, "caf\xe9");
  g_assert_null (plain->only);
  g_assert_cmpint (plain->mode, ==, SK_FOLDER_BOTH);
}

static void
test_prefixes (void)
{
  g_auto(SkAttachedList) list = { NULL };
  g_autoptr(GBytes) bytes = sample (&list);

  for (gsize i = 0; i < g_bytes_get_size (bytes); i++)
    {
      g_autoptr(GBytes) cut = g_bytes_new_from_bytes (bytes, 0, i);
      g_auto(SkAttachedList) back = { NULL };
      g_autoptr(GError) error = NULL;

      g_assert_false (sk_attached_list_parse (cut, &back, &error));
      g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
      g_assert_null (back.storages);
    }
}

/* A flipped bit is refused or gives something valid, and never a crash. */
static void
test_bits (void)
{
  g_auto(SkAttachedList) list = { NULL };
  g_autoptr(GBytes) bytes = sample (&list);
  gsize len;
  const guint8 *data = g_bytes_get_data (bytes, &len);

  for (gsize bit = 0; bit < 8 * len; bit++)
    {
      g_autofree guint8 *copy = g_memdup2 (data, len);
      g_autoptr(GBytes) flipped = NULL;
      g_auto(SkAttachedList) back = { NULL };

      copy[bit / 8] ^= (guint8) (1u << bit % 8);
      flipped = g_bytes_new_static (copy, len);
      if (!sk_attached_list_parse (flipped, &back, NULL))
        continue;
      for (guint i = 0; i < back.folders->len; i++)
        g_assert_true (g_path_is_absolute (((SkAttachedFolder *) back.folders->pdata[i])->path));
    }
}

static void
test_refused (void)
{
  static const struct { const char *text; int code; } cases[] = {
    { "", SK_ERROR_CORRUPT },
    { "null", SK_ERROR_CORRUPT },
    { "[]", SK_ERROR_CORRUPT },
    { "{}{\"version\": 1, \"storages\": [], \"folders\": []}", SK_ERROR_CORRUPT },
    { "{\"version\": 0, \"storages\": [], \"folders\": []}", SK_ERROR_CORRUPT },
    { "{\"version\": 2, \"storages\": [], \"folders\": []}", SK_ERROR_TOO_NEW },
    { "{\"version\": 1, \"storages\": []}", SK_ERROR_CORRUPT },
    { "{\"version\": 1, \"storages\": [7], \"folders\": []}", SK_ERROR_CORRUPT },
    { "{\"version\": 1, \"storages\": [{\"id\": \"00112233445566778899aabbccddeeff\", \"name\": \"a\", \"uri\": \"\"}], \"folders\": []}", SK_ERROR_CORRUPT },
    { "{\"version\": 1, \"storages\": [], \"folders\": [{\"id\": \"00112233445566778899aabbccddeeff\", \"name\": \"a\", \"path\": \"relative\", \"mode\": "
      "\"both\", \"only\": []}]}", SK_ERROR_CORRUPT },
    { "{\"version\": 1, \"storages\": [], \"folders\": [{\"id\": \"00112233445566778899aabbccddeeff\", \"name\": \"a\", \"path\": \"/a%00b\", \"mode\": "
      "\"both\", \"only\": []}]}", SK_ERROR_CORRUPT },
    { "{\"version\": 1, \"storages\": [], \"folders\": [{\"id\": \"00112233445566778899aabbccddeeff\", \"name\": \"a\", \"path\": \"/a\", \"mode\": "
      "\"all\", \"only\": []}]}", SK_ERROR_CORRUPT },
    { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", SK_ERROR_CORRUPT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr(GBytes) bytes = g_bytes_new_static (cases[i].text, strlen (cases[i].text));
      g_auto(SkAttachedList) list = { NULL };
      g_autoptr(GError) error = NULL;

      g_assert_false (sk_attached_list_parse (bytes, &list, &error));
      g_assert_error (error, SK_ERROR, cases[i].code);
    }
}

static void
test_deep (void)
{
  g_autofree char *deep = g_malloc (8 << 20);
  g_autoptr(GBytes) bytes = NULL;
  g_auto(SkAttachedList) list = { NULL };

  memset (deep, '[', 8 << 20);
  bytes = g_bytes_new_static (deep, 8 << 20);
  g_assert_false (sk_attached_list_parse (bytes, &list, NULL));
}

/* --- a device --- */

static void
lose_database (SkGuests *guests, guint i)
{
  static const char *const names[] = { "index.sqlite", "index.sqlite-wal", "index.sqlite-shm" };
  g_autofree char *home = sk_guests_home (guests, i);

  sk_guests_close (guests, i);
  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    {
      g_autofree char *path = g_build_filename (home, names[k], NULL);

      g_unlink (path);
    }
}

static void
attach (SkGuests *guests, guint i, const char *path)
{
  g_variant_unref (sk_guests_run (guests, i, "folder.attach", "{'name': <'docs'>, 'path': <%^ay>}", path));
  sk_guests_sync (guests, i);
}

static char *
folder_value (SkGuests *guests, guint i, const char *key)
{
  g_autoptr(GVariant) reply = sk_guests_run (guests, i, "folder.list", NULL);
  g_autoptr(GVariant) list = g_variant_lookup_value (reply, "folders", NULL), one = NULL, value = NULL;

  g_assert_cmpuint (g_variant_n_children (list), ==, 1);
  one = g_variant_get_child_value (list, 0);
  value = g_variant_lookup_value (one, key, NULL);
  return g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING) ? g_variant_dup_bytestring (value, NULL) : g_variant_dup_string (value, NULL);
}

static void
assert_file (const char *dir, const char *name, const char *expected)
{
  g_autofree char *data = sk_get_file (dir, name);

  g_assert_cmpstr (data, ==, expected);
}

/* Two devices share "docs"; the second's path has bytes that are no UTF-8. */
static SkGuests *
share (char **a, char **b)
{
  SkGuests *guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests);

  *a = sk_guests_path (guests, 0, "docs");
  *b = sk_guests_path (guests, 1, "d\xf6""cs");
  sk_put_file (*a, "one", "one", -1);
  sk_put_file (*a, "two", "two", -1);
  g_variant_unref (sk_guests_run (guests, 0, "folder.add", "{'name': <'docs'>, 'path': <%^ay>}", *a));
  sk_guests_sync (guests, 0);
  sk_guests_let_in (guests, 1, "second");
  attach (guests, 1, *b);
  assert_file (*b, "one", "one");
  return guests;
}

static void
test_lost (void)
{
  g_autofree char *a = NULL, *b = NULL, *path = NULL, *name = NULL, *here = NULL, *there = NULL, *gone = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);

  lose_database (guests, 1);
  /* Meanwhile things happen on both sides. */
  gone = g_build_filename (b, "two", NULL);
  g_assert_cmpint (g_unlink (gone), ==, 0);
  sk_put_file (b, "mine", "made while the database was gone", -1);
  sk_put_file (a, "one", "newer", -1);
  sk_guests_sync (guests, 0);
  sk_guests_open (guests, 1, NULL, FALSE);
  path = folder_value (guests, 1, "path");
  name = folder_value (guests, 1, "name");
  g_assert_cmpstr (path, ==, b);
  g_assert_cmpstr (name, ==, "docs");
  for (guint i = 0; i < 3; i++)
    {
      sk_guests_sync (guests, 1);
      sk_guests_sync (guests, 0);
    }
  /* Union, no deletions (A6). */
  assert_file (a, "two", "two");
  assert_file (b, "two", "two");
  assert_file (b, "one", "newer");
  assert_file (a, "mine", "made while the database was gone");
  here = sk_tree_listing (a);
  there = sk_tree_listing (b);
  g_assert_cmpstr (here, ==, there);
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 2);
}

/* Members are known before any storage was reached. */
static void
test_members (void)
{
  g_autofree char *a = NULL, *b = NULL, *away = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);

  away = g_strconcat (guests->storage, ".away", NULL);
  lose_database (guests, 1);
  g_assert_cmpint (g_rename (guests->storage, away), ==, 0);
  sk_guests_open (guests, 1, NULL, FALSE);
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 2);
  g_assert_cmpint (g_rename (away, guests->storage), ==, 0);
}

/* Without the copy they come out of the storage. */
static void
test_members_gone (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *file = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);

  sk_guests_sync (guests, 1);
  lose_database (guests, 1);
  home = sk_guests_home (guests, 1);
  file = g_build_filename (home, "members.bin", NULL);
  g_assert_cmpint (g_unlink (file), ==, 0);
  sk_guests_open (guests, 1, NULL, FALSE);
  sk_guests_sync (guests, 1);
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 2);
  sk_put_file (a, "late", "late", -1);
  sk_guests_sync (guests, 0);
  sk_guests_sync (guests, 1);
  assert_file (b, "late", "late");
}

/* Nothing but keys and config is left: adding the storage again finds everything that is in it. */
static void
test_storage_again (void)
{
  static const char *const names[] = { "members.bin", "attachments.json" };
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *state = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);
  g_autoptr(GVariant) added = NULL;
  gboolean is_new = TRUE;

  lose_database (guests, 1);
  home = sk_guests_home (guests, 1);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (home, names[i], NULL);

      g_assert_cmpint (g_unlink (path), ==, 0);
    }
  sk_guests_open (guests, 1, NULL, FALSE);
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 0);
  added = sk_guests_run (guests, 1, "storage.add", "{'name': <'again'>, 'uri': <%s>}", guests->storage);
  g_assert_true (g_variant_lookup (added, "new", "b", &is_new));
  g_assert_false (is_new);
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 2);
  attach (guests, 1, b);
  state = folder_value (guests, 1, "path");
  g_assert_cmpstr (state, ==, b);
  sk_put_file (a, "late", "late", -1);
  sk_guests_sync (guests, 0);
  sk_guests_sync (guests, 1);
  assert_file (b, "late", "late");
}

/* A damaged list is kept aside and told, and the engine starts. */
static void
test_damaged (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *file = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);
  g_autoptr(GVariant) issues = NULL, list = NULL;
  g_autoptr(GDir) dir = NULL;
  const char *name;
  gboolean kept = FALSE;

  lose_database (guests, 1);
  home = sk_guests_home (guests, 1);
  file = g_build_filename (home, "attachments.json", NULL);
  g_assert_true (g_file_set_contents (file, "{\"version\": 1, \"sto", -1, NULL));
  sk_guests_open (guests, 1, NULL, FALSE);
  issues = sk_guests_run (guests, 1, "issues", NULL);
  list = g_variant_lookup_value (issues, "issues", NULL);
  g_assert_cmpuint (g_variant_n_children (list), ==, 1);
  dir = g_dir_open (home, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    kept |= g_str_has_prefix (name, "attachments.json.damaged-");
  g_assert_true (kept);
  assert_file (b, "one", "one");
}

static void
test_too_new (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *file = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);
  SkSessionOptions options = { 0 };
  g_autoptr(GError) error = NULL;

  lose_database (guests, 1);
  home = sk_guests_home (guests, 1);
  file = g_build_filename (home, "attachments.json", NULL);
  g_assert_true (g_file_set_contents (file, "{\"version\": 2}", -1, NULL));
  options.home = home;
  g_assert_null (sk_session_open (&options, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_TOO_NEW);
}

/* The files change with what is attached, and only then. */
static void
test_written (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *file = NULL, *members = NULL, *before = NULL, *after = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);
  g_autoptr(GError) error = NULL;
  struct stat one, two, set;

  home = sk_guests_home (guests, 1);
  file = g_build_filename (home, "attachments.json", NULL);
  members = g_build_filename (home, "members.bin", NULL);
  g_assert_cmpint (stat (file, &one), ==, 0);
  g_assert_cmpint (stat (members, &set), ==, 0);
  g_assert_cmpuint (one.st_mode & 0777, ==, 0600);
  g_assert_cmpuint (set.st_mode & 0777, ==, 0600);
  sk_session_reload (guests->sessions[1], &error);
  g_assert_no_error (error);
  g_assert_cmpint (stat (file, &two), ==, 0);
  g_assert_cmpuint (one.st_ino, ==, two.st_ino);
  g_assert_cmpint (stat (members, &two), ==, 0);
  g_assert_cmpuint (set.st_ino, ==, two.st_ino);
  g_assert_true (g_file_get_contents (file, &before, NULL, NULL));
  g_assert_nonnull (strstr (before, "d%F6cs"));
  g_variant_unref (sk_guests_run (guests, 1, "folder.detach", "{'name': <'docs'>}"));
  g_assert_true (g_file_get_contents (file, &after, NULL, NULL));
  g_assert_null (strstr (after, "d%F6cs"));
  /* What was detached stays so. */
  lose_database (guests, 1);
  sk_guests_open (guests, 1, NULL, FALSE);
  sk_guests_sync (guests, 1);
  g_free (before);
  before = folder_value (guests, 1, "path");
  g_assert_cmpstr (before, ==, "");
}

/* A copied home meets everything for the first time, and what is attached is not attached twice. */
static void
test_copied (void)
{
  g_autofree char *a = NULL, *b = NULL, *home = NULL, *database = NULL, *copy = NULL, *path = NULL;
  g_autoptr(SkGuests) guests = share (&a, &b);
  SkId before = guests->sessions[1]->who.writer;
  g_autofree char *data = NULL;
  gsize len;

  sk_guests_close (guests, 1);
  home = sk_guests_home (guests, 1);
  database = g_build_filename (home, "index.sqlite", NULL);
  copy = g_build_filename (home, "index.copy", NULL);
  g_assert_true (g_file_get_contents (database, &data, &len, NULL));
  g_assert_true (g_file_set_contents (copy, data, (gssize) len, NULL));
  g_assert_cmpint (g_rename (copy, database), ==, 0);
  sk_guests_open (guests, 1, NULL, FALSE);
  g_assert_false (sk_id_equal (&before, &guests->sessions[1]->who.writer));
  path = folder_value (guests, 1, "path");
  g_assert_cmpstr (path, ==, b);
  sk_guests_sync (guests, 1);
  assert_file (b, "two", "two");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/attachments/list/round-trip", test_round_trip);
  g_test_add_func ("/attachments/list/every-prefix-refused", test_prefixes);
  g_test_add_func ("/attachments/list/bit-flips", test_bits);
  g_test_add_func ("/attachments/list/refused", test_refused);
  g_test_add_func ("/attachments/list/deep-nesting-refused", test_deep);
  g_test_add_func ("/attachments/rule-a6/lost-database", test_lost);
  g_test_add_func ("/attachments/members-without-a-storage", test_members);
  g_test_add_func ("/attachments/members-out-of-the-storage", test_members_gone);
  g_test_add_func ("/attachments/storage-added-again", test_storage_again);
  g_test_add_func ("/attachments/damaged-list-is-set-aside", test_damaged);
  g_test_add_func ("/attachments/newer-list-is-refused", test_too_new);
  g_test_add_func ("/attachments/written-when-changed", test_written);
  g_test_add_func ("/attachments/rule-a5/copied-home", test_copied);
  return g_test_run ();
}
