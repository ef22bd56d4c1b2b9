/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-entry.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "log-fixture.h"

static SkEntry *
good_file (void)
{
  SkEntry *entry = fixture_entry (SK_KIND_FILE, "a/b", 5);
  SkHash id = fixture_hash (1), zero = { 0 };

  fixture_add_chunk (entry, &id, 1000);
  fixture_add_chunk (entry, &zero, 3 * SK_ZERO_BLOCK);
  return entry;
}

static void
test_good (void)
{
  for (SkKind kind = SK_KIND_FILE; kind <= SK_KIND_TOMBSTONE; kind++)
    {
      g_autoptr(SkEntry) entry = fixture_entry (kind, "a/b", 5);
      g_autoptr(GError) error = NULL;

      g_assert_true (sk_entry_check (entry, &error));
      g_assert_no_error (error);
    }
  {
    g_autoptr(SkEntry) entry = good_file ();

    g_assert_true (sk_entry_check (entry, NULL));
  }
}

static void spoil_kind (SkEntry *e) { e->kind = 9; }
static void spoil_none (SkEntry *e) { e->kind = SK_KIND_NONE; }
static void spoil_flags (SkEntry *e) { e->flags = 1 << 7; }
static void spoil_mode (SkEntry *e) { e->mode = 0100644; }
static void spoil_size (SkEntry *e) { e->size++; }
static void spoil_writer (SkEntry *e) { e->writer = fixture_id (77); }
static void spoil_no_writer (SkEntry *e) { memset (&e->writer, 0, sizeof e->writer); }
static void spoil_no_meta_writer (SkEntry *e) { memset (&e->meta_writer, 0, sizeof e->meta_writer); }
static void spoil_lamport (SkEntry *e) { e->lamport = SK_COUNTER_MAX + 1; }
static void spoil_meta_lamport (SkEntry *e) { e->meta_lamport = G_MAXUINT64; }
static void spoil_union (SkEntry *e) { e->flags = SK_ENTRY_UNION; }
static void spoil_wall (SkEntry *e) { e->wall = SK_WALL_MAX + 1; }
static void spoil_early_wall (SkEntry *e) { e->wall = G_MININT64; }
static void spoil_link (SkEntry *e) { e->symlink = g_strdup ("x"); }
static void spoil_no_chunks (SkEntry *e) { g_clear_pointer (&e->chunks, g_array_unref); }
static void spoil_chunk_size (SkEntry *e) { g_array_index (e->chunks, SkChunkRef, 0).size = 0; }
static void spoil_large_chunk (SkEntry *e) { g_array_index (e->chunks, SkChunkRef, 0).size = SK_CHUNK_SIZE_MAX + 1; }
static void spoil_zero_run (SkEntry *e) { g_array_index (e->chunks, SkChunkRef, 1).size--; }
static void spoil_no_xattrs (SkEntry *e) { e->xattrs = g_bytes_new (NULL, 0); }

static void
spoil_path (SkEntry *e)
{
  g_free (e->path);
  e->path = g_strdup ("../x");
}

static void
spoil_device (SkEntry *e)
{
  g_free (e->device_name);
  e->device_name = g_strdup ("../../x");
}

static void
spoil_vector (SkEntry *e)
{
  sk_vector_unref (e->vector);
  e->vector = sk_vector_empty ();
}

static void
spoil_huge (SkEntry *e)
{
  g_array_index (e->chunks, SkChunkRef, 1).size = SK_FILE_SIZE_MAX;
  e->size = SK_FILE_SIZE_MAX + 1000;
}

static void
spoil_wrap (SkEntry *e)
{
  g_array_index (e->chunks, SkChunkRef, 1).size = (guint64) 0 - SK_ZERO_BLOCK;
  e->size = 1000 - SK_ZERO_BLOCK;
}

static void
test_refused (void)
{
  static void (*const spoilers[]) (SkEntry *) = {
    spoil_kind, spoil_none, spoil_flags, spoil_mode, spoil_size, spoil_writer, spoil_no_writer, spoil_no_meta_writer,
    spoil_lamport, spoil_meta_lamport, spoil_union, spoil_wall, spoil_early_wall, spoil_link, spoil_no_chunks,
    spoil_chunk_size, spoil_large_chunk, spoil_zero_run, spoil_no_xattrs, spoil_path, spoil_device, spoil_vector,
    spoil_huge, spoil_wrap,
  };

  for (guint i = 0; i < G_N_ELEMENTS (spoilers); i++)
    {
      g_autoptr(SkEntry) entry = good_file ();
      g_autoptr(GError) error = NULL;

      spoilers[i] (entry);
      if (sk_entry_check (entry, &error))
        g_error ("spoiler %u was not noticed", i);
      g_assert_true (error->domain == SK_ERROR);
    }
}

/* One more never wraps and fits a database column; how far a number may jump is for those who know the others. */
static void
test_numbers (void)
{
  g_autoptr(SkEntry) entry = good_file ();

  entry->lamport = entry->meta_lamport = SK_COUNTER_MAX;
  g_assert_true (sk_entry_check (entry, NULL));
  entry->lamport++;
  g_assert_false (sk_entry_check (entry, NULL));
  entry->lamport = 0;
  entry->meta_lamport++;
  g_assert_false (sk_entry_check (entry, NULL));
  entry->meta_lamport = 0;
  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_new (&(SkVectorItem) { entry->writer, SK_COUNTER_MAX }, 1);
  g_assert_true (sk_entry_check (entry, NULL));
  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_new (&(SkVectorItem) { entry->writer, SK_COUNTER_MAX + 1 }, 1);
  g_assert_false (sk_entry_check (entry, NULL));
}

static void
test_kinds_refused (void)
{
  g_autoptr(SkEntry) dir = fixture_entry (SK_KIND_DIR, "d", 1);
  g_autoptr(SkEntry) link = fixture_entry (SK_KIND_SYMLINK, "l", 1);
  g_autoptr(SkEntry) gone = fixture_entry (SK_KIND_TOMBSTONE, "g", 1);

  dir->mtime = 5;
  g_assert_false (sk_entry_check (dir, NULL));
  link->symlink[0] = '\0';
  g_assert_false (sk_entry_check (link, NULL));
  g_free (link->symlink);
  link->symlink = g_strnfill (SK_SYMLINK_MAX + 1, 'x');
  g_assert_false (sk_entry_check (link, NULL));
  link->symlink[SK_SYMLINK_MAX] = '\0';
  g_assert_true (sk_entry_check (link, NULL));
  gone->size = 4;
  g_assert_false (sk_entry_check (gone, NULL));
  gone->size = 0;
  gone->xattrs = g_bytes_new ("x", 1);
  g_assert_false (sk_entry_check (gone, NULL));
}

/* The content id depends on each part of the content and on nothing else. */
static void
test_content (void)
{
  g_autoptr(SkEntry) entry = good_file ();
  SkHash before = entry->content;
  SkHash id = fixture_hash (9);
  g_autoptr(SkEntry) copy = sk_entry_copy (entry);
  g_autoptr(SkEntry) file = fixture_entry (SK_KIND_FILE, "x", 1);
  g_autoptr(SkEntry) dir = fixture_entry (SK_KIND_DIR, "x", 1);

  g_assert_false (sk_hash_equal (&file->content, &dir->content));
  copy->mode = 0600;
  copy->mtime = 1;
  copy->lamport = 99;
  copy->writer = fixture_id (8);
  g_free (copy->path);
  copy->path = g_strdup ("elsewhere");
  sk_entry_seal_content (copy);
  g_assert_true (sk_hash_equal (&before, &copy->content));

  copy->xattrs = g_bytes_new ("user.a=b", 8);
  sk_entry_seal_content (copy);
  g_assert_false (sk_hash_equal (&before, &copy->content));
  fixture_add_chunk (entry, &id, 5);
  g_assert_false (sk_hash_equal (&before, &entry->content));
}

static void
test_copy_is_apart (void)
{
  g_autoptr(SkEntry) entry = good_file ();
  g_autoptr(SkEntry) copy = sk_entry_copy (entry);

  g_assert_cmpstr (copy->path, ==, entry->path);
  g_assert_cmpuint (copy->chunks->len, ==, 2);
  g_array_set_size (copy->chunks, 0);
  copy->path[0] = 'z';
  g_assert_cmpuint (entry->chunks->len, ==, 2);
  g_assert_cmpstr (entry->path, ==, "a/b");
}

static void
test_rank (void)
{
  g_autoptr(SkEntry) a = fixture_entry (SK_KIND_FILE, "x", 5);
  g_autoptr(SkEntry) b = fixture_entry (SK_KIND_FILE, "x", 5);
  SkHash id = fixture_hash (1);

  g_assert_cmpint (sk_entry_rank (a, b), ==, 0);
  fixture_add_chunk (b, &id, 10);                 /* same stamp, other bytes: still a total order (A5) */
  g_assert_cmpint (sk_entry_rank (a, b), !=, 0);
  g_assert_cmpint (sk_entry_rank (a, b) > 0, ==, sk_entry_rank (b, a) < 0);
  b->writer = fixture_id (0x100);                 /* a higher device */
  g_assert_cmpint (sk_entry_rank (b, a), >, 0);
  a->lamport = 6;
  g_assert_cmpint (sk_entry_rank (a, b), >, 0);

  g_assert_cmpint (sk_entry_meta_rank (a, b), ==, 0);
  b->mode = 0755;
  g_assert_cmpint (sk_entry_meta_rank (b, a), >, 0);
  a->meta_lamport++;
  g_assert_cmpint (sk_entry_meta_rank (a, b), >, 0);
}

static void
test_labels (void)
{
  static const char *const good[] = { "laptop", "Åsas dator", "büro 2", "家", "a" };
  static const char *const bad[] = { "", "a/b", "a\nb", "a\x7f", "\xff", "x\xe2\x80\xae" "gpj", "a\tb", "x\xe2\x81\xa6y" };
  g_autofree char *longest = g_strnfill (SK_LABEL_MAX, 'n');
  g_autofree char *too_long = g_strnfill (SK_LABEL_MAX + 1, 'n');

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    g_assert_true (sk_label_check (good[i], NULL));
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_false (sk_label_check (bad[i], NULL));
  g_assert_true (sk_label_check (longest, NULL));
  g_assert_false (sk_label_check (too_long, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/entry/good", test_good);
  g_test_add_func ("/entry/refused", test_refused);
  g_test_add_func ("/entry/rule-b9/numbers", test_numbers);
  g_test_add_func ("/entry/kinds-refused", test_kinds_refused);
  g_test_add_func ("/entry/content", test_content);
  g_test_add_func ("/entry/copy-is-apart", test_copy_is_apart);
  g_test_add_func ("/entry/rank", test_rank);
  g_test_add_func ("/entry/labels", test_labels);
  return g_test_run ();
}
