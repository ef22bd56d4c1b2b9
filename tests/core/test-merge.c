/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-merge.h"

#include <string.h>

/* --- entries in a line: "A:3 B:1" --- */

static SkId
writer_id (char letter)
{
  SkId id = { { 0 } };

  id.bytes[7] = (guint8) letter;    /* the last byte of the device */
  id.bytes[15] = 1;
  return id;
}

static SkVector *
vector_from (const char *text)
{
  g_auto(GStrv) parts = g_strsplit (text, " ", -1);
  SkVectorItem items[16];
  guint n = 0;

  for (guint i = 0; parts[i] != NULL; i++)
    if (parts[i][0] != '\0')
      items[n++] = (SkVectorItem) { writer_id (parts[i][0]), g_ascii_strtoull (parts[i] + 2, NULL, 10) };
  return sk_vector_new (items, n);
}

/* @what: 'f' file, 'l' link, 'd' directory, 't' tombstone, 'T' tombstone of a directory; then a content byte. The
 * writer is the first of the vector. */
static SkEntry *
make (const char *what, const char *vector, guint64 lamport)
{
  static const SkId folder = { { 9 } };
  SkKind kind = what[0] == 'f' ? SK_KIND_FILE : what[0] == 'd' ? SK_KIND_DIR : what[0] == 'l' ? SK_KIND_SYMLINK
                : SK_KIND_TOMBSTONE;
  SkEntry *entry = sk_entry_new (&folder, "dir/name.txt", kind);

  if (kind == SK_KIND_FILE)
    {
      SkChunkRef chunk = { .id = { { (guint8) what[1] } }, .size = 1 };

      g_array_append_val (entry->chunks, chunk);
      entry->size = 1;
    }
  if (kind == SK_KIND_SYMLINK)
    {
      g_free (entry->symlink);
      entry->symlink = g_strdup (what + 1);
    }
  if (what[0] == 'T')
    entry->flags |= SK_ENTRY_WAS_DIR;
  sk_vector_unref (entry->vector);
  entry->vector = vector_from (vector);
  entry->writer = entry->meta_writer = writer_id (vector[0]);
  entry->lamport = entry->meta_lamport = lamport;
  entry->mode = kind == SK_KIND_DIR ? 0700 : 0644;
  entry->mtime = (gint64) lamport * 1000;
  g_free (entry->device_name);
  entry->device_name = g_strdup_printf ("%c", vector[0]);
  sk_entry_seal_content (entry);
  return entry;
}

typedef GPtrArray Set;

static Set *
new_set (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) sk_entry_free);
}

static SkEntry *
add (Set *set, const char *what, const char *vector, guint64 lamport)
{
  SkEntry *entry = make (what, vector, lamport);

  g_ptr_array_add (set, entry);
  return entry;
}

#define ENTRIES(set) ((SkEntry *const *) (set)->pdata)

/* What a set shows, in words that do not depend on the order of its entries. */
static char *
describe (SkEntry *const *entries, guint n, gboolean has_live_children)
{
  g_autoptr(GString) out = g_string_new (NULL);
  SkVisible visible;

  sk_merge_visible (entries, n, has_live_children, &visible);
  g_string_append_printf (out, "kind %d mode %o mtime %" G_GINT64_FORMAT, (int) visible.kind, visible.mode, visible.mtime);
  for (int i = -1; i < (int) visible.n_losers; i++)
    {
      int at = i < 0 ? visible.winner : visible.losers[i];
      g_autofree char *copy = NULL;

      if (at < 0)
        continue;
      if (i >= 0)
        copy = sk_conflict_path (entries[at]);
      g_string_append_printf (out, "; %s lamport %" G_GUINT64_FORMAT " content %02x%02x as %s", entries[at]->device_name,
                              entries[at]->lamport, entries[at]->content.bytes[0], entries[at]->content.bytes[1],
                              copy != NULL ? copy : "itself");
    }
  return g_strdup (out->str);
}

static void
assert_same_in_any_order (Set *set, gboolean has_live_children)
{
  g_autofree char *expected = describe (ENTRIES (set), set->len, has_live_children);

  for (guint round = 0; round < 12; round++)
    {
      g_autofree char *got = NULL;

      for (guint i = set->len; i-- > 1;)
        {
          guint k = (guint) g_test_rand_int_range (0, (gint32) i + 1);
          gpointer swap = set->pdata[i];

          set->pdata[i] = set->pdata[k];
          set->pdata[k] = swap;
        }
      got = describe (ENTRIES (set), set->len, has_live_children);
      g_assert_cmpstr (got, ==, expected);
    }
}

/* --- maximal entries --- */

static void
assert_maximal (Set *set, const char *expected)
{
  gboolean maximal[16];

  sk_merge_maximal (ENTRIES (set), set->len, maximal);
  for (guint i = 0; i < set->len; i++)
    g_assert_cmpint (maximal[i], ==, expected[i] == '1');
}

static void
test_maximal (void)
{
  g_autoptr(GPtrArray) set = new_set ();

  assert_maximal (set, "");
  add (set, "fa", "A:1", 1);
  assert_maximal (set, "1");
  add (set, "fb", "B:1 A:1", 2);
  assert_maximal (set, "01");
  add (set, "fc", "C:1 A:1", 2);
  assert_maximal (set, "011");
  add (set, "t", "A:2 B:1 C:1", 3);
  assert_maximal (set, "0001");
  add (set, "fd", "D:1", 1);
  assert_maximal (set, "00011");
}

/* A forked writer used one counter twice: "equal" must not read "already have it". */
static void
test_equal_vectors (void)
{
  g_autoptr(GPtrArray) set = new_set ();
  g_autoptr(GPtrArray) gone = new_set ();
  SkVisible visible;

  add (set, "fa", "A:1", 1);
  add (set, "fb", "A:1", 1);
  assert_maximal (set, "11");
  sk_merge_visible (ENTRIES (set), 2, FALSE, &visible);
  g_assert_cmpint (visible.kind, ==, SK_KIND_FILE);
  g_assert_cmpuint (visible.n_losers, ==, 1);
  g_assert_cmpint (visible.losers[0], ==, 1 - visible.winner);
  assert_same_in_any_order (set, FALSE);

  add (set, "fa", "A:1", 1);    /* quite equal to one of the two: the first of them stays */
  assert_same_in_any_order (set, FALSE);
  {
    gboolean maximal[3];

    sk_merge_maximal (ENTRIES (set), 3, maximal);
    g_assert_cmpint (maximal[0] + maximal[1] + maximal[2], ==, 2);
  }

  add (gone, "fa", "A:2", 2);
  add (gone, "t", "A:2", 2);
  assert_maximal (gone, "11");
  sk_merge_visible (ENTRIES (gone), 2, FALSE, &visible);
  g_assert_cmpint (visible.kind, ==, SK_KIND_FILE);    /* and a deletion does not win over content */
}

/* chmod repeats the content stamp: the newest metadata stands for the version, whichever came first. */
static void
test_metadata_of_one_version (void)
{
  for (guint newer = 0; newer < 2; newer++)
    {
      g_autoptr(GPtrArray) set = new_set ();
      SkEntry *a = add (set, "fa", "A:1", 1);
      SkEntry *b = add (set, "fa", "A:1", 1);
      SkVisible visible;

      (newer == 0 ? a : b)->meta_lamport = 5;
      (newer == 0 ? a : b)->mode = 0755;
      assert_maximal (set, newer == 0 ? "10" : "01");
      sk_merge_visible (ENTRIES (set), 2, FALSE, &visible);
      g_assert_cmpuint (visible.mode, ==, 0755);
      g_assert_cmpuint (visible.n_losers, ==, 0);
    }
}

/* --- visible state --- */

typedef struct
{
  const char *entries;      /* "what vector lamport", separated by ';' */
  gboolean children;
  const char *visible;      /* kind letter and the winner's index, or '-' for none */
  const char *losers;       /* indices, highest rank first */
} VisibleRow;

static Set *
parse_set (const char *text)
{
  Set *set = new_set ();
  g_auto(GStrv) parts = g_strsplit (text, ";", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      g_auto(GStrv) words = g_strsplit (g_strstrip (parts[i]), "@", -1);
      const char *vector;

      if (words[0] == NULL)
        continue;
      vector = strchr (words[0], ' ') + 1;
      g_strstrip (words[0]);
      {
        g_autofree char *what = g_strndup (words[0], (gsize) (vector - 1 - words[0]));

        add (set, what, vector, g_ascii_strtoull (words[1], NULL, 10));
      }
    }
  return set;
}

static void
check_visible (const VisibleRow *rows, guint n_rows)
{
  static const char letters[] = "-fdl";

  for (guint r = 0; r < n_rows; r++)
    {
      g_autoptr(GPtrArray) set = parse_set (rows[r].entries);
      g_autoptr(GString) losers = g_string_new (NULL);
      g_autofree char *got = NULL;
      SkVisible visible;

      sk_merge_visible (ENTRIES (set), set->len, rows[r].children, &visible);
      got = visible.winner < 0 ? g_strdup_printf ("%c-", letters[visible.kind])
                               : g_strdup_printf ("%c%d", letters[visible.kind], visible.winner);
      for (guint i = 0; i < visible.n_losers; i++)
        g_string_append_printf (losers, "%d", visible.losers[i]);
      if (strcmp (got, rows[r].visible) != 0 || strcmp (losers->str, rows[r].losers) != 0)
        g_error ("%s%s: got %s, losers %s", rows[r].entries, rows[r].children ? " with children" : "", got, losers->str);
      assert_same_in_any_order (set, rows[r].children);
    }
}

static void
test_contents (void)
{
  static const VisibleRow rows[] = {
    { "fa A:1@1", FALSE, "f0", "" },
    { "fa A:1@1; fb B:1@2", FALSE, "f1", "0" },
    { "fa A:1@2; fb B:1@2", FALSE, "f1", "0" },                       /* same Lamport: the device decides */
    { "fa A:1@3; fb B:1@2; fc C:1@1", FALSE, "f0", "12" },
    { "fa A:1@1; fb B:1@2; fc C:1@3", FALSE, "f2", "10" },
    { "fa A:1@1; lx B:1@2", FALSE, "l1", "0" },                       /* a link and a file: rank */
    { "fa A:1@1; la B:1@1", FALSE, "l1", "0" },
  };

  check_visible (rows, G_N_ELEMENTS (rows));
}

static void
test_equal_content_makes_no_copy (void)
{
  static const VisibleRow rows[] = {
    { "fa A:1@1; fa B:1@2", FALSE, "f1", "" },
    { "fa A:1@1; fb B:1@2; fa C:1@3", FALSE, "f2", "1" },             /* 3 devices, 2 contents: one copy */
    { "fb A:1@1; fb B:1@2; fa C:1@3", FALSE, "f2", "1" },             /* the copy is named after the highest */
    { "fb B:1@2; fa C:1@3; fb A:1@1", FALSE, "f1", "0" },
    { "lx A:1@1; lx B:1@2", FALSE, "l1", "" },
  };

  check_visible (rows, G_N_ELEMENTS (rows));
}

static void
test_deletions (void)
{
  static const VisibleRow rows[] = {
    { "t A:1@1", FALSE, "--", "" },
    { "t A:1@9; fa B:1@1", FALSE, "f1", "" },                         /* a content change wins over a deletion */
    { "t A:1@9; t B:1@1", FALSE, "--", "" },
    { "t A:1@9; fa B:1@1; fb C:1@2", FALSE, "f2", "1" },
    { "T A:1@9; d B:1@1", FALSE, "d1", "" },
    { "T A:1@9; fa B:1@1", FALSE, "f1", "" },
  };

  check_visible (rows, G_N_ELEMENTS (rows));
}

static void
test_directories (void)
{
  static const VisibleRow rows[] = {
    { "d A:1@1", FALSE, "d0", "" },
    { "d A:1@1; d B:1@2", FALSE, "d1", "" },                          /* equal content, whatever the modes */
    { "d A:1@1; fa B:1@9", FALSE, "d0", "1" },                        /* a directory keeps the name */
    { "d A:1@1; lx B:1@9; fa C:1@8; fa D:1@7", FALSE, "d0", "12" },
    { "", TRUE, "d-", "" },
    { "t A:1@5", TRUE, "d-", "" },
    { "T A:1@5", TRUE, "d-", "" },                                    /* what lives inside keeps it */
    { "fa A:1@5", TRUE, "d-", "0" },
    { "fa A:1@5; fb B:1@6", TRUE, "d-", "10" },
    { "d A:1@1; fa B:1@9", TRUE, "d0", "1" },
  };

  check_visible (rows, G_N_ELEMENTS (rows));
}

static void
test_union_never_takes_a_name (void)
{
  static const VisibleRow rows[] = {
    { "fa Z:9@0; fb A:1@1", FALSE, "f1", "0" },
    { "fa Z:9@0; fb Y:9@0; fc A:1@1", FALSE, "f2", "01" },
    { "fa Z:9@0; t A:1@1", FALSE, "f0", "" },                         /* but it is no deletion either */
    { "fa Z:9@0; d A:1@1", FALSE, "d1", "0" },
  };

  check_visible (rows, G_N_ELEMENTS (rows));
}

static void
test_mode_of_directories (void)
{
  static const struct { const char *entries; guint32 modes[3]; gboolean children; guint32 expected; } rows[] = {
    { "d A:1@1; d B:1@2", { 0711, 0755 }, FALSE, 0755 },
    { "d A:1@3; d B:1@2", { 0711, 0755 }, FALSE, 0711 },
    { "d A:1@1; T B:1@2", { 0711, 0700 }, FALSE, 0711 },              /* the living one describes it */
    { "T A:1@1; T B:1@2", { 0711, 0700 }, TRUE, 0700 },               /* nobody living: the last who knew */
    { "T A:1@1; t B:1@2", { 0711, 0600 }, TRUE, 0711 },               /* not the mode of a file */
    { "fa A:1@5", { 0600 }, TRUE, 0755 },
    { "", { 0 }, TRUE, 0755 },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    {
      g_autoptr(GPtrArray) set = parse_set (rows[r].entries);
      SkVisible visible;

      for (guint i = 0; i < set->len; i++)
        ENTRIES (set)[i]->mode = rows[r].modes[i];
      sk_merge_visible (ENTRIES (set), set->len, rows[r].children, &visible);
      g_assert_cmpuint (visible.mode, ==, rows[r].expected);
      g_assert_cmpint (visible.mtime, ==, 0);
      assert_same_in_any_order (set, rows[r].children);
    }
}

static void
test_metadata_is_of_the_winning_content (void)
{
  g_autoptr(GPtrArray) set = new_set ();
  SkVisible visible;

  add (set, "fa", "A:1", 5)->mode = 0600;
  add (set, "fa", "B:1", 1);
  add (set, "fb", "C:1", 4);
  ENTRIES (set)[1]->meta_lamport = 9;    /* chmod on a device that has the same bytes */
  ENTRIES (set)[1]->mode = 0755;
  ENTRIES (set)[2]->meta_lamport = 20;   /* and on one that has others */
  ENTRIES (set)[2]->mode = 0400;
  sk_merge_visible (ENTRIES (set), 3, FALSE, &visible);
  g_assert_cmpint (visible.winner, ==, 0);
  g_assert_cmpint (visible.meta, ==, 1);
  g_assert_cmpuint (visible.mode, ==, 0755);
  assert_same_in_any_order (set, FALSE);
}

static void
test_many_losers (void)
{
  g_autoptr(GPtrArray) set = new_set ();
  SkVisible visible;

  for (guint i = 0; i < 100; i++)
    {
      char what[3] = { 'f', (char) (0x80 + i), 0 }, vector[8];

      g_snprintf (vector, sizeof vector, "%c:1", (char) (0x80 + i));
      add (set, what, vector, i + 1);
    }
  sk_merge_visible (ENTRIES (set), set->len, FALSE, &visible);
  g_assert_cmpint (visible.winner, ==, 99);
  g_assert_cmpuint (visible.n_losers, ==, G_N_ELEMENTS (visible.losers));
  for (guint i = 0; i < visible.n_losers; i++)
    g_assert_cmpint (visible.losers[i], ==, 98 - (int) i);
}

/* Random sets with few values, so that every tie comes up: forked writers, equal contents, equal ranks. */
static void
test_any_order (void)
{
  static const char *const whats[] = { "fa", "fb", "lx", "d", "t", "T" };
  static const char *const vectors[] = { "A:1", "B:1", "A:2", "C:1", "B:1 C:1" };

  for (guint round = 0; round < 250; round++)
    {
      g_autoptr(GPtrArray) set = new_set ();
      g_autoptr(GPtrArray) maximal_set = g_ptr_array_new ();
      gboolean maximal[8];
      guint n = (guint) g_test_rand_int_range (1, 8);

      for (guint i = 0; i < n; i++)
        {
          SkEntry *entry = add (set, whats[g_test_rand_int_range (0, G_N_ELEMENTS (whats))],
                                vectors[g_test_rand_int_range (0, G_N_ELEMENTS (vectors))], (guint64) g_test_rand_int_range (0, 3));

          entry->meta_lamport = (guint64) g_test_rand_int_range (0, 3);
          entry->mode = g_test_rand_bit () ? 0644 : 0600;
          entry->wall = g_test_rand_int_range (0, 2) * 60;
        }
      assert_same_in_any_order (set, round % 4 == 0);

      sk_merge_maximal (ENTRIES (set), n, maximal);
      for (guint i = 0; i < n; i++)
        if (maximal[i])
          g_ptr_array_add (maximal_set, set->pdata[i]);
      g_assert_cmpuint (maximal_set->len, >, 0);
      assert_same_in_any_order (maximal_set, round % 4 == 0);
    }
}

/* --- what a local change builds on --- */

static void
check_build_on (Set *set, const char *base, SkKind base_kind, int base_index, char writer, guint64 counter, const char *vector,
                const char *copies)
{
  g_autoptr(SkVector) base_vector = base != NULL ? vector_from (base) : NULL;
  g_autoptr(SkVector) expected = vector_from (vector);
  g_autoptr(SkVector) got = NULL;
  SkId id = writer_id (writer);
  SkVisible visible;
  gboolean marked[16];

  sk_merge_visible (ENTRIES (set), set->len, FALSE, &visible);
  got = sk_merge_build_on (ENTRIES (set), set->len, &visible, base_vector, base_kind,
                           base_index >= 0 ? &ENTRIES (set)[base_index]->content : NULL, &id, counter, marked);
  g_assert_cmpint (sk_vector_compare (got, expected), ==, SK_ORDER_EQUAL);
  for (guint i = 0; i < set->len; i++)
    g_assert_cmpint (marked[i], ==, copies[i] == '1');
}

/* An edit here while a newer version is known but not yet on this disk builds on what is on the disk. */
static void
test_builds_on_base (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fb A:15@15");

  check_build_on (set, "A:10", SK_KIND_FILE, -1, 'B', 1, "A:10", "0");
  check_build_on (set, "A:15", SK_KIND_FILE, 0, 'B', 1, "A:15", "0");
  check_build_on (set, NULL, SK_KIND_NONE, -1, 'B', 1, "", "0");
}

static void
test_copies_come_first (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fa A:1@3; fb B:1@2; fc C:1@1; t D:1@9");

  /* The winner is on the disk: the edit answers all of them, so their copies become real first. */
  check_build_on (set, "A:1", SK_KIND_FILE, 0, 'A', 2, "A:1 B:1 C:1 D:1", "0110");
  /* A loser is still on the disk: its line goes on, the others stay concurrent. */
  check_build_on (set, "B:1", SK_KIND_FILE, 1, 'B', 2, "B:1", "0000");
  check_build_on (set, "B:1", SK_KIND_FILE, 1, 'E', 1, "B:1", "0000");
}

/* One copy for equal contents, none for what has the same content as the base. */
static void
test_copies_by_content (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fa A:1@9; fb B:1@2; fb C:1@3; fa D:1@1");

  check_build_on (set, "A:1", SK_KIND_FILE, 0, 'E', 1, "A:1 B:1 C:1 D:1", "0010");
}

/* The own counter stands for all that this device ever wrote at the path. B's edit lost, and A's next version is known
 * but not yet on the disk: B's new edit dominates B's old one although it does not build on it. */
static void
test_own_loser_is_kept (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fx A:3@9; fb B:1 A:1@4");

  check_build_on (set, "A:2", SK_KIND_FILE, -1, 'B', 2, "A:2 B:1", "01");
  check_build_on (set, "A:2", SK_KIND_FILE, -1, 'C', 2, "A:2", "00");
}

/* And it must not claim the old edit by halves: somebody who never saw that one would dominate it by the join of B:2 and
 * any counter of A. */
static void
test_own_vectors_grow (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fb B:1 A:1@4; d C:1@5; t B:2 D:1@6");

  check_build_on (set, "", SK_KIND_FILE, -1, 'B', 3, "A:1 B:2 D:1", "100");
  check_build_on (set, NULL, SK_KIND_NONE, -1, 'C', 3, "C:1", "000");
}

/* The same under an implied directory that is replaced by a file. */
static void
test_own_shadow_is_kept (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fb B:1@4");

  check_build_on (set, "", SK_KIND_DIR, -1, 'B', 2, "B:1", "1");
  check_build_on (set, "", SK_KIND_DIR, -1, 'C', 2, "", "0");
}

/* The other half of a fork has the vector that the base has. */
static void
test_fork_is_kept (void)
{
  g_autoptr(GPtrArray) set = parse_set ("fa A:1@1; fb A:1@1");
  SkVisible visible;
  int winner;

  sk_merge_visible (ENTRIES (set), 2, FALSE, &visible);
  winner = visible.winner;
  check_build_on (set, "A:1", SK_KIND_FILE, winner, 'A', 2, "A:1", winner == 0 ? "01" : "10");
  check_build_on (set, "A:1", SK_KIND_FILE, 1 - winner, 'A', 2, "A:1", winner == 0 ? "10" : "01");
}

/* More losers than are shown: none of them may be dominated without a copy. */
static void
test_hidden_losers_are_kept (void)
{
  g_autoptr(GPtrArray) set = new_set ();
  g_autofree gboolean *copies = g_new (gboolean, 100);
  g_autoptr(SkVector) vector = NULL;
  SkId writer = writer_id ('d');
  SkVisible visible;
  guint n = 0;

  for (guint i = 0; i < 90; i++)
    {
      char what[3] = { 'f', (char) (0x80 + i), 0 }, text[8];

      g_snprintf (text, sizeof text, "%c:1", (char) (0x80 + i));
      add (set, what, text, i + 1);
    }
  sk_merge_visible (ENTRIES (set), set->len, FALSE, &visible);
  vector = sk_merge_build_on (ENTRIES (set), set->len, &visible, ENTRIES (set)[visible.winner]->vector, SK_KIND_FILE,
                              &ENTRIES (set)[visible.winner]->content, &writer, 1, copies);
  for (guint i = 0; i < set->len; i++)
    n += copies[i] != FALSE;
  g_assert_cmpuint (n, ==, 89);
}

static void
test_copy_is_gone (void)
{
  g_autoptr(SkEntry) entry = make ("fa", "A:1", 1);
  g_autoptr(SkEntry) copy = sk_conflict_entry (entry);
  g_autoptr(SkEntry) other = make ("fb", "B:1", 1);
  g_autoptr(SkEntry) touched = sk_entry_copy (copy);
  g_autoptr(SkEntry) deleted = make ("t", "B:2", 2);
  SkEntry *const before[] = { other, copy, touched };
  SkEntry *const after[] = { other, deleted };
  SkId writer = writer_id ('B');

  touched->meta_lamport = 9;
  sk_vector_unref (deleted->vector);
  deleted->vector = sk_vector_with (copy->vector, &writer, 2);
  g_assert_false (sk_merge_copy_is_gone (entry, before, 0));
  g_assert_false (sk_merge_copy_is_gone (entry, before, 3));
  g_assert_true (sk_merge_copy_is_gone (entry, after, 2));
  g_assert_false (sk_merge_copy_is_gone (other, after, 2));
}

/* "a" by A, and what else is known of the path: does it lose its name against everybody's will? */
static void
test_loses_name (void)
{
  static const struct { struct { const char *what, *vector; guint64 lamport; } others[4]; gboolean loses; } rows[] = {
    { { { "fb", "B:1", 2 } }, TRUE },
    { { { "d", "B:1", 2 } }, TRUE },
    { { { "fb", "A:1 B:1", 2 } }, FALSE },                                               /* it was edited */
    { { { "t", "A:1 B:1", 2 } }, FALSE },                                                /* it was deleted */
    { { { "fb", "B:1", 2 }, { "fc", "A:1 B:2", 3 } }, TRUE },                            /* the winner was edited, the copy relied on */
    { { { "fb", "B:1", 2 }, { "t", "A:1 B:2", 3 } }, TRUE },
    { { { "fb", "B:1", 2 }, { "fc", "A:1 B:2", 3 }, { "fd", "A:1 B:2 C:1", 4 } }, TRUE },
    { { { "fb", "B:1", 0 }, { "fc", "A:1 B:2", 3 } }, FALSE },                           /* it was the winner itself */
    { { { "fb", "B:1", 2 }, { "t", "B:1 C:1", 3 }, { "fd", "A:1 B:1 C:2", 4 } }, FALSE }, /* it had come back, and was edited */
    { { { "fb", "B:1", 2 }, { "t", "B:1 C:1", 3 }, { "fd", "B:1 C:2", 4 } }, TRUE },     /* and lost again */
    { { { "fb", "B:1", 2 }, { "fc", "A:1 B:2", 3 }, { "fe", "A:1 C:1", 2 } }, FALSE },   /* two at once: one edited it */
    { { { "fb", "B:1", 2 }, { "fa", "C:1", 1 } }, FALSE },                               /* the content has another entry */
    { { { "fb", "B:1", 2 }, { "fa", "A:1 C:1", 1 } }, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr(GPtrArray) set = new_set ();
      SkEntry *entry = add (set, "fa", "A:1", 1);

      for (guint k = 0; k < G_N_ELEMENTS (rows[i].others) && rows[i].others[k].what != NULL; k++)
        add (set, rows[i].others[k].what, rows[i].others[k].vector, rows[i].others[k].lamport);
      g_test_message ("row %u", i);
      g_assert_true (sk_merge_loses_name (entry, ENTRIES (set), set->len) == rows[i].loses);
      /* In whatever order they are known. */
      for (guint k = 0; k < set->len / 2; k++)
        {
          gpointer swap = set->pdata[k];

          set->pdata[k] = set->pdata[set->len - 1 - k];
          set->pdata[set->len - 1 - k] = swap;
        }
      g_assert_true (sk_merge_loses_name (entry, ENTRIES (set), set->len) == rows[i].loses);
    }
}

/* Who took the copy away, and did the content come back to the name? */
static void
test_must_restate (void)
{
  for (guint i = 0; i < 32; i++)
    {
      gboolean gone = (i & 1) != 0, own = (i & 2) != 0, back = (i & 4) != 0, on_purpose = (i & 8) != 0, other_life = (i & 16) != 0;
      g_autoptr(GPtrArray) name = new_set (), copies = new_set ();
      SkEntry *entry = add (name, "fa", "A:1", 1);
      SkEntry *copy = sk_conflict_entry (entry), *deleted = make ("t", "D:1", 5);
      SkId deleter = writer_id ('D'), here = writer_id (own ? 'D' : 'H');
      SkDeviceId device = sk_id_device (&here);

      if (other_life)
        deleter.bytes[15] = 7;       /* another incarnation of the same device */
      sk_vector_unref (deleted->vector);
      deleted->vector = sk_vector_with (copy->vector, &deleter, 2);
      deleted->writer = deleter;
      g_ptr_array_add (copies, gone ? deleted : copy);
      sk_entry_free (gone ? copy : deleted);
      add (name, "fb", "B:1", 2);
      if (back)
        add (name, "t", "B:1 C:1", 3);
      add (name, "fc", on_purpose ? "A:1 E:1" : "B:1 E:1", 9);
      g_assert_true (sk_merge_must_restate (entry, ENTRIES (name), name->len, ENTRIES (copies), copies->len, &device)
                     == (gone && (own || back) && !on_purpose));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/merge/maximal", test_maximal);
  g_test_add_func ("/merge/rule-a5/equal-vectors-different-bytes", test_equal_vectors);
  g_test_add_func ("/merge/rule-a8/metadata-of-one-version", test_metadata_of_one_version);
  g_test_add_func ("/merge/rule-a7/contents", test_contents);
  g_test_add_func ("/merge/sit-B027/equal-content-makes-no-copy", test_equal_content_makes_no_copy);
  g_test_add_func ("/merge/deletions", test_deletions);
  g_test_add_func ("/merge/rule-a15/directories", test_directories);
  g_test_add_func ("/merge/rule-a6/union-never-takes-a-name", test_union_never_takes_a_name);
  g_test_add_func ("/merge/rule-a15/mode-of-directories", test_mode_of_directories);
  g_test_add_func ("/merge/rule-a8/metadata-is-of-the-winning-content", test_metadata_is_of_the_winning_content);
  g_test_add_func ("/merge/many-losers", test_many_losers);
  g_test_add_func ("/merge/sit-B027/any-order", test_any_order);
  g_test_add_func ("/merge/rule-a1/builds-on-base", test_builds_on_base);
  g_test_add_func ("/merge/rule-a7/copies-come-first", test_copies_come_first);
  g_test_add_func ("/merge/rule-a7/copies-by-content", test_copies_by_content);
  g_test_add_func ("/merge/rule-a7/own-loser-is-kept", test_own_loser_is_kept);
  g_test_add_func ("/merge/rule-a7/own-vectors-grow", test_own_vectors_grow);
  g_test_add_func ("/merge/rule-a7/own-shadow-is-kept", test_own_shadow_is_kept);
  g_test_add_func ("/merge/rule-a5/fork-is-kept", test_fork_is_kept);
  g_test_add_func ("/merge/rule-a7/hidden-losers-are-kept", test_hidden_losers_are_kept);
  g_test_add_func ("/merge/rule-a7/copy-is-gone", test_copy_is_gone);
  g_test_add_func ("/merge/rule-a7/loses-name", test_loses_name);
  g_test_add_func ("/merge/rule-a7/must-restate", test_must_restate);
  return g_test_run ();
}
