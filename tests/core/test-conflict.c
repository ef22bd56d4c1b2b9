/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-limits.h"
#include "sk-merge.h"
#include "sk-path.h"

#include <string.h>

static SkEntry *
make_loser (const char *path, const char *device, gint64 wall, guint8 content)
{
  static const SkId folder = { { 7, 7, 7 } };
  SkId writer = { { 1, 2, 3 } };
  SkEntry *entry = sk_entry_new (&folder, path, SK_KIND_FILE);
  SkChunkRef chunk = { .id = { { content } }, .size = 10 };

  g_array_append_val (entry->chunks, chunk);
  entry->size = 10;
  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_new (&(SkVectorItem) { writer, 5 }, 1);
  entry->writer = entry->meta_writer = writer;
  entry->lamport = 17;
  entry->meta_lamport = 12;
  entry->wall = wall;
  g_free (entry->device_name);
  entry->device_name = g_strdup (device);
  entry->mode = 0640;
  entry->mtime = 123456789;
  sk_entry_seal_content (entry);
  return entry;
}

static char *
hex_of (const SkEntry *entry, guint digits)
{
  char hex[SK_HASH_HEX_SIZE];

  sk_hash_format (&entry->content, hex);
  return g_strndup (hex, digits);
}

/* 2024-02-29 23:59:59 UTC */
#define LEAP_NIGHT G_GINT64_CONSTANT (1709251199)

static void
test_name_is_deterministic (void)
{
  static const char *const zones[] = { "UTC", "Europe/Helsinki", "America/Los_Angeles", "Pacific/Kiritimati" };
  g_autoptr(SkEntry) loser = make_loser ("docs/letter.odt", "laptop", LEAP_NIGHT, 1);
  g_autofree char *hex = hex_of (loser, 4);
  g_autofree char *expected = g_strdup_printf ("docs/letter (conflict, laptop, 2024-02-29 23.59, %s).odt", hex);
  g_autofree char *before = g_strdup (g_getenv ("TZ"));

  for (guint i = 0; i < G_N_ELEMENTS (zones); i++)
    {
      g_autoptr(SkEntry) copy = NULL;
      g_autofree char *path = NULL;

      g_setenv ("TZ", zones[i], TRUE);
      path = sk_conflict_path (loser);
      copy = sk_conflict_entry (loser);
      g_assert_cmpstr (path, ==, expected);
      g_assert_cmpstr (copy->path, ==, expected);
    }
  if (before != NULL)
    g_setenv ("TZ", before, TRUE);
  else
    g_unsetenv ("TZ");
}

/* The name is the one that stands in the entry, whatever the device is called by now; and what belongs to one device
 * only (its metadata order, flags, ours) does not matter. */
static void
test_name_is_frozen (void)
{
  g_autoptr(SkEntry) a = make_loser ("a.txt", "old name", 0, 1);
  g_autoptr(SkEntry) b = make_loser ("a.txt", "new name", 0, 1);
  g_autofree char *path_a = sk_conflict_path (a);
  g_autofree char *path_b = sk_conflict_path (b);
  g_autofree char *again = NULL;

  g_assert_nonnull (strstr (path_a, ", 1970-01-01 00.00, "));
  g_assert_nonnull (strstr (path_a, "old name"));
  g_assert_nonnull (strstr (path_b, "new name"));
  a->lamport = 99;
  a->meta_lamport = 99;
  a->mode = 0777;
  again = sk_conflict_path (a);
  g_assert_cmpstr (path_a, ==, again);
}

static void
test_contents_have_their_own_names (void)
{
  g_autoptr(GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 1; i < 20; i++)
    {
      g_autoptr(SkEntry) loser = make_loser ("a.txt", "laptop", LEAP_NIGHT, (guint8) i);

      g_hash_table_add (names, sk_conflict_path (loser));
    }
  g_assert_cmpuint (g_hash_table_size (names), ==, 19);
}

static void
test_copy_entry (void)
{
  g_autoptr(SkEntry) loser = make_loser ("d/a.txt", "laptop", LEAP_NIGHT, 1);
  g_autoptr(SkEntry) same = make_loser ("d/a.txt", "laptop", LEAP_NIGHT, 1);
  g_autoptr(SkEntry) copy = NULL;
  g_autoptr(SkEntry) twin = NULL;
  g_autoptr(GError) error = NULL;

  loser->flags = SK_ENTRY_CONFIRMED;
  same->flags = 0;
  copy = sk_conflict_entry (loser);
  twin = sk_conflict_entry (same);
  g_assert_true (sk_entry_check (copy, &error));
  g_assert_no_error (error);
  g_assert_true (sk_id_equal (&copy->folder, &loser->folder));
  g_assert_cmpint (copy->kind, ==, SK_KIND_FILE);
  g_assert_true (sk_hash_equal (&copy->content, &loser->content));
  g_assert_cmpuint (copy->chunks->len, ==, 1);
  g_assert_cmpuint (copy->size, ==, loser->size);
  g_assert_cmpuint (copy->mode, ==, 0640);
  g_assert_cmpint (copy->mtime, ==, loser->mtime);
  g_assert_cmpuint (copy->lamport, ==, 17);
  g_assert_cmpuint (copy->meta_lamport, ==, 12);
  g_assert_cmpint (copy->wall, ==, loser->wall);
  g_assert_cmpstr (copy->device_name, ==, "laptop");
  g_assert_cmpuint (copy->flags, ==, 0);
  g_assert_cmpuint (sk_vector_length (copy->vector), ==, 1);
  g_assert_cmpuint (sk_vector_get (copy->vector, &copy->writer), ==, 1);
  g_assert_false (sk_id_equal (&copy->writer, &loser->writer));
  g_assert_true (sk_id_equal (&copy->writer, &twin->writer));
  g_assert_cmpint (sk_vector_compare (copy->vector, twin->vector), ==, SK_ORDER_EQUAL);
  g_assert_cmpuint (copy->flags, ==, twin->flags);
}

/* Everything the writer of a copy is made from changes it. */
static void
test_writer_names_the_loser (void)
{
  g_autoptr(SkEntry) base = make_loser ("a", "d", 0, 1);
  g_autoptr(SkEntry) base_copy = sk_conflict_entry (base);

  for (guint what = 0; what < 5; what++)
    {
      g_autoptr(SkEntry) other = make_loser (what == 0 ? "b" : "a", "d", 0, what == 1 ? 2 : 1);
      g_autoptr(SkEntry) copy = NULL;
      g_autoptr(SkVector) vector = sk_vector_ref (other->vector);

      if (what == 2)
        other->folder.bytes[0]++;
      if (what == 3)
        {
          sk_vector_unref (other->vector);
          other->vector = sk_vector_with (vector, &other->writer, 6);
        }
      if (what == 4)    /* not part of it: the same loser told by somebody else */
        other->wall = 5;
      copy = sk_conflict_entry (other);
      g_assert_cmpint (sk_id_equal (&copy->writer, &base_copy->writer), ==, what == 4);
    }
}

static void
test_union_copy (void)
{
  g_autoptr(SkEntry) loser = make_loser ("a", "d", 0, 1);
  g_autoptr(SkEntry) copy = NULL;
  g_autoptr(GError) error = NULL;

  loser->flags = SK_ENTRY_UNION | SK_ENTRY_CONFIRMED;
  loser->lamport = 0;
  copy = sk_conflict_entry (loser);
  g_assert_cmpuint (copy->lamport, ==, 0);
  g_assert_cmpuint (copy->flags, ==, SK_ENTRY_UNION);
  g_assert_true (sk_entry_check (copy, &error));
  g_assert_no_error (error);
}

static void
test_no_nested_suffix (void)
{
  static const char *const names[] = { "a.txt", "README", ".bashrc", "x.tar.gz", ".config.json", "Dr. Who", "caf\xc3\xa9.odt", "\xff.c" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr(SkEntry) first = make_loser (names[i], "laptop", LEAP_NIGHT, 1);
      g_autofree char *once = sk_conflict_path (first);
      g_autoptr(SkEntry) second = make_loser (once, "desk, the (big) one", LEAP_NIGHT + 3600, 2);
      g_autofree char *twice = sk_conflict_path (second);
      g_autoptr(SkEntry) direct = make_loser (names[i], "desk, the (big) one", LEAP_NIGHT + 3600, 2);
      g_autofree char *expected = sk_conflict_path (direct);

      g_assert_false (sk_is_conflict_name (names[i]));
      g_assert_true (sk_is_conflict_name (once));
      g_assert_true (sk_is_conflict_name (twice));
      g_assert_cmpstr (twice, ==, expected);
      g_assert_null (strstr (strstr (twice, "(conflict") + 1, "(conflict"));
    }
}

/* A copy that loses its name again goes on to new names and never back, or two virtual copies would chase each other. */
static void
test_chain_ends (void)
{
  g_autofree char *path = g_strdup ("a.txt");
  g_autoptr(GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint digits = 4; digits <= 64; digits += 4)
    {
      g_autoptr(SkEntry) loser = make_loser (path, "laptop", LEAP_NIGHT, 1);
      g_autofree char *hex = hex_of (loser, digits);
      g_autofree char *expected = g_strdup_printf ("a (conflict, laptop, 2024-02-29 23.59, %s).txt", hex);

      g_free (path);
      path = sk_conflict_path (loser);
      g_assert_cmpstr (path, ==, expected);
      g_assert_true (g_hash_table_add (seen, g_strdup (path)));
    }
}

static void
test_is_conflict_name (void)
{
  static const struct { const char *name; gboolean is; } rows[] = {
    { "a (conflict, B, 2024-01-02 03.04, abcd).txt", TRUE },
    { "a (conflict, B, 2024-01-02 03.04, abcd)", TRUE },
    { "a (conflict, my, own device, 2024-01-02 03.04, abcd12ef).tar.gz", TRUE },
    { "a (conflict, , 2024-01-02 03.04, abcd).txt", FALSE },
    { "a (conflict, B, 2024-01-02 03.04, abc).txt", FALSE },
    { "a (conflict, B, 2024-01-02 03.04, abcde).txt", FALSE },
    { "a (conflict, B, 2024-01-02 03.04, ABCD).txt", FALSE },
    { "a (conflict, B, 2024-01-02 03.04, ).txt", FALSE },
    { "a (conflict, B, 2024-01-02 0304, abcd).txt", FALSE },
    { "a (conflict, B, abcd).txt", FALSE },
    { "a (conflict).txt", FALSE },
    { "a (conflict, ", FALSE },
    { "a (conflict, )", FALSE },
    { "a (conflict, B, 2024-01-02 03.04, abcd", FALSE },
    { "a (conflict, B, 2024-01-02 03.04, abcd) final version.txt", FALSE },
    { " (conflict, B, 2024-01-02 03.04, abcd).txt", FALSE },
    { "a.txt", FALSE },
    { "", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (sk_is_conflict_name (rows[i].name) != rows[i].is)
      g_error ("%s: expected %d", rows[i].name, rows[i].is);
}

static void
test_long_name_fits (void)
{
  static const char *const units[] = { "x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
  static const char *const devices[] = { "B", "a quite long name of a device that goes on and on and on and on and on",
                                         "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
                                         "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac" };

  for (guint u = 0; u < G_N_ELEMENTS (units); u++)
    for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
      for (gsize len = 230; len <= SK_NAME_MAX; len++)
        {
          g_autoptr(GString) name = g_string_new (NULL);
          g_autoptr(SkEntry) loser = NULL;
          g_autoptr(SkEntry) other = NULL;
          g_autofree char *path = NULL;
          g_autofree char *second = NULL;

          while (name->len + strlen (units[u]) + 4 <= len)
            g_string_append (name, units[u]);
          g_string_append (name, ".odt");
          loser = make_loser (name->str, devices[d], LEAP_NIGHT, 1);
          other = make_loser (name->str, devices[d], LEAP_NIGHT, 2);
          path = sk_conflict_path (loser);
          second = sk_conflict_path (other);
          g_assert_cmpuint (strlen (path), <=, SK_NAME_MAX);
          g_assert_true (g_utf8_validate (path, -1, NULL));
          g_assert_true (g_str_has_suffix (path, ").odt"));
          g_assert_cmpstr (path, !=, second);
          g_assert_true (sk_is_conflict_name (path));
          g_assert_true (sk_path_check (path, strlen (path), NULL));
        }
}

/* Device names are checked when they enter; here they still cannot break a file name. */
static void
test_hostile_device (void)
{
  static const char *const devices[] = { "", "   ", "../../x", "a/b", "a\nb", "\x1b[31m", "\xff\xfe", ")", "x (conflict, y", "\xe2\x80\xae",
                                         ", 2024-01-01 00.00, ffff)" };

  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      g_autoptr(SkEntry) loser = make_loser ("dir/a.txt", devices[i], i % 2 ? G_MAXINT64 : G_MININT64, 1);
      g_autofree char *path = sk_conflict_path (loser);
      g_autofree char *parent = sk_path_parent (path);
      g_autofree char *shown = sk_path_display (path);

      g_assert_cmpstr (parent, ==, "dir");
      g_assert_true (sk_path_check (path, strlen (path), NULL));
      g_assert_cmpstr (shown, ==, path);    /* nothing in it that had to be escaped */
      g_assert_true (sk_is_conflict_name (sk_path_name (path)));
      g_assert_true (g_str_has_prefix (path, "dir/a (conflict, "));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/conflict/rule-a7/name-is-deterministic", test_name_is_deterministic);
  g_test_add_func ("/conflict/rule-a7/name-is-frozen", test_name_is_frozen);
  g_test_add_func ("/conflict/rule-a7/contents-have-their-own-names", test_contents_have_their_own_names);
  g_test_add_func ("/conflict/rule-a7/copy-entry", test_copy_entry);
  g_test_add_func ("/conflict/rule-a7/writer-names-the-loser", test_writer_names_the_loser);
  g_test_add_func ("/conflict/rule-a6/union-copy", test_union_copy);
  g_test_add_func ("/conflict/sit-B026/no-nested-suffix", test_no_nested_suffix);
  g_test_add_func ("/conflict/sit-B026/chain-ends", test_chain_ends);
  g_test_add_func ("/conflict/sit-B026/is-conflict-name", test_is_conflict_name);
  g_test_add_func ("/conflict/sit-B028/long-name-fits", test_long_name_fits);
  g_test_add_func ("/conflict/hostile-device", test_hostile_device);
  return g_test_run ();
}
