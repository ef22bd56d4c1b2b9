/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Garbage, duplicates, condemned packs, damage and its repair. Grace and retention are zero here, so that only the other conditions protect. */
#include "sk-pair.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static void
collect_packs (const char *path, GPtrArray *out)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      char *below = g_build_filename (path, name, NULL);

      if (!g_file_test (below, G_FILE_TEST_IS_DIR))
        {
          g_ptr_array_add (out, below);
          continue;
        }
      collect_packs (below, out);
      g_free (below);
    }
}

static GPtrArray *
packs_of (SkFleet *fleet)
{
  GPtrArray *packs = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GDir) dir = g_dir_open (fleet->storage, 0, NULL);
  g_autofree char *path = g_build_filename (fleet->storage, g_dir_read_name (dir), "packs", NULL);

  collect_packs (path, packs);
  return packs;
}

/* Takes in and publishes without reading what the others wrote first. */
static void
up_only (SkFleet *fleet, guint i)
{
  SkUpResult result;
  g_autoptr(GError) error = NULL;

  sk_up_sync (fleet->devices[i]->up, NULL, 0, &result, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (result.ok);
  sk_up_result_clear (&result);
}

static guint64
gc_number (SkFleet *fleet, guint i, const char *key)
{
  g_autoptr(GVariant) reply = sk_fleet_run (fleet, i, "gc", NULL);
  g_autoptr(GVariant) storages = g_variant_lookup_value (reply, "storages", NULL);
  g_autoptr(GVariant) first = g_variant_get_child_value (storages, 0);
  guint64 number = 0;
  const char *skipped = "";

  g_variant_lookup (first, "skipped", "&s", &skipped);
  g_assert_cmpstr (skipped, ==, "");
  g_variant_lookup (first, key, "t", &number);
  return number;
}

static void
assert_joiner_has (SkFleet *fleet, guint i, const char *path, const char *content)
{
  g_autofree char *dir = sk_fleet_path (fleet, i, "f");
  g_autofree char *got = NULL;

  g_variant_unref (sk_fleet_sync (fleet, i));
  g_variant_unref (sk_fleet_run (fleet, i, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", dir));
  g_variant_unref (sk_fleet_sync (fleet, i));
  got = sk_get_file (dir, path);
  g_assert_cmpstr (got, ==, content);
}

static SkFleet *
shared_by_two (char **a, char **b)
{
  SkFleet *fleet = sk_fleet_new (3, FALSE);

  *a = sk_fleet_path (fleet, 0, "f");
  *b = sk_fleet_path (fleet, 1, "f");
  sk_put_file (*a, "keep", "something that stays", -1);
  g_variant_unref (sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", *a));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_variant_unref (sk_fleet_run (fleet, 1, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", *b));
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_variant_unref (sk_fleet_sync (fleet, 0));
  return fleet;
}

/* Two devices store the same chunk, both collect garbage: one copy stays, whoever runs first and however often. */
static void
test_duplicates (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = shared_by_two (&a, &b);
  g_autoptr(GPtrArray) before = NULL, after = NULL;

  sk_put_file (a, "on-a", "the same content on both", -1);
  sk_put_file (b, "on-b", "the same content on both", -1);
  up_only (fleet, 0);
  up_only (fleet, 1);
  before = packs_of (fleet);
  g_assert_cmpuint (before->len, ==, 3);
  for (guint round = 0; round < 4; round++)
    for (guint i = 0; i < 2; i++)
      {
        (void) gc_number (fleet, i, "condemned");
        g_variant_unref (sk_fleet_sync (fleet, i));
      }
  g_variant_unref (sk_fleet_sync (fleet, 2));
  for (guint round = 0; round < 3; round++)
    for (guint i = 0; i < 3; i++)
      {
        (void) gc_number (fleet, i, "condemned");
        g_variant_unref (sk_fleet_sync (fleet, i));
      }
  after = packs_of (fleet);
  g_assert_cmpuint (after->len, ==, 2);
  assert_joiner_has (fleet, 2, "on-b", "the same content on both");
}

/* A device that has not seen the condemnation uses the pack again: it comes back to life. */
static void
test_reuse_before_seen (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = shared_by_two (&a, &b);
  g_autofree char *gone = g_build_filename (a, "gone", NULL);

  sk_put_file (a, "gone", "reused content", -1);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpint (g_unlink (gone), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  g_assert_cmpuint (gc_number (fleet, 0, "condemned"), ==, 1);
  sk_put_file (b, "again", "reused content", -1);
  up_only (fleet, 1);
  g_assert_cmpuint (gc_number (fleet, 0, "removed"), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_variant_unref (sk_fleet_sync (fleet, 2));
  g_assert_cmpuint (gc_number (fleet, 0, "removed"), ==, 0);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  g_variant_unref (sk_fleet_sync (fleet, 2));
  g_assert_cmpuint (gc_number (fleet, 0, "removed"), ==, 0);
  assert_joiner_has (fleet, 2, "again", "reused content");
}

/* Who has seen the condemnation stores the chunk again; then the old pack may go. */
static void
test_reuse_after_seen (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = shared_by_two (&a, &b);
  g_autofree char *gone = g_build_filename (a, "gone", NULL);
  g_autoptr(GPtrArray) before = NULL, after = NULL;

  sk_put_file (a, "gone", "reused content", -1);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpint (g_unlink (gone), ==, 0);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (gc_number (fleet, 0, "condemned"), ==, 1);
  sk_fleet_settle (fleet, 8);
  before = packs_of (fleet);
  sk_put_file (b, "again", "reused content", -1);
  g_variant_unref (sk_fleet_sync (fleet, 1));
  after = packs_of (fleet);
  g_assert_cmpuint (after->len, ==, before->len + 1);
  sk_fleet_settle (fleet, 8);
  g_assert_cmpuint (gc_number (fleet, 0, "removed"), ==, 1);
  assert_joiner_has (fleet, 2, "again", "reused content");
}

/* Packs are emptied, cut short, swapped, one bit is flipped: nothing wrong is written, the file is named, a device that has it mends it. */
static void
test_damage (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = shared_by_two (&a, &b);
  g_autoptr(GPtrArray) packs = NULL;
  const char *const names[] = { "one", "two", "three" };

  for (guint i = 0; i < 3; i++)
    {
      sk_put_file (a, names[i], names[i], -1);
      g_variant_unref (sk_fleet_sync (fleet, 0));
    }
  packs = packs_of (fleet);
  g_assert_cmpuint (packs->len, ==, 4);
  g_assert_true (g_file_set_contents (packs->pdata[0], "", 0, NULL));
  g_assert_cmpint (truncate (packs->pdata[1], 60), ==, 0);
  {
    g_autofree char *data = NULL;
    gsize len;

    g_assert_true (g_file_get_contents (packs->pdata[2], &data, &len, NULL));
    data[len / 3] ^= 1;
    g_assert_true (g_file_set_contents (packs->pdata[2], data, (gssize) len, NULL));
    g_assert_true (g_file_set_contents (packs->pdata[3], data, (gssize) len, NULL));
  }
  {
    g_autofree char *c = sk_fleet_path (fleet, 2, "f");
    g_autoptr(GVariant) report = NULL, failed = NULL;

    g_variant_unref (sk_fleet_sync (fleet, 2));
    g_variant_unref (sk_fleet_run (fleet, 2, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", c));
    report = sk_fleet_sync (fleet, 2);
    failed = g_variant_lookup_value (report, "failed", NULL);
    g_assert_cmpuint (g_variant_n_children (failed), ==, 4);
    for (guint i = 0; i < 3; i++)
      {
        g_autofree char *got = sk_get_file (c, names[i]);

        g_assert_null (got);
      }
    g_variant_unref (sk_fleet_run (fleet, 0, "storage.verify", "{'all': <true>}"));
    g_variant_unref (sk_fleet_sync (fleet, 0));
    g_variant_unref (sk_fleet_sync (fleet, 2));
    for (guint i = 0; i < 3; i++)
      {
        g_autofree char *got = sk_get_file (c, names[i]);

        g_assert_cmpstr (got, ==, names[i]);
      }
  }
}

/* One byte of one of two files that share a chunk is edited: a fresh device has both right. */
static void
test_shared_chunk (void)
{
  g_autofree char *a = NULL, *b = NULL;
  g_autoptr(SkFleet) fleet = shared_by_two (&a, &b);
  g_autofree char *edited = NULL, *got = NULL, *c = sk_fleet_path (fleet, 2, "f");

  sk_put_file (a, "x", "shared by two files", -1);
  sk_put_file (a, "y", "shared by two files", -1);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  sk_put_file (a, "y", "Shared by two files", -1);
  g_variant_unref (sk_fleet_sync (fleet, 0));
  assert_joiner_has (fleet, 2, "x", "shared by two files");
  got = sk_get_file (c, "y");
  g_assert_cmpstr (got, ==, "Shared by two files");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("SKERRY_TEST_GC_PERIOD", "-5", TRUE);
  g_test_add_func ("/gc/rule-a2/duplicates", test_duplicates);
  g_test_add_func ("/gc/rule-a3/reuse-before-seen", test_reuse_before_seen);
  g_test_add_func ("/gc/rule-a3/reuse-after-seen", test_reuse_after_seen);
  g_test_add_func ("/gc/sit-B126/damage", test_damage);
  g_test_add_func ("/gc/sit-B130/shared-chunk", test_shared_chunk);
  return g_test_run ();
}
