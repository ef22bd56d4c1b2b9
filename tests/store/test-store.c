/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front, over a storage that misbehaves on command. */
#include "sk-store.h"

#include <string.h>

#include "sk-hash.h"
#include "sk-test-store.h"

typedef struct
{
  SkTestStore *test;
  SkStore *store;
  SkStoreMarker marker;
  GBytes *data;
  char *name;
} Fixture;

static void
fixture_new (Fixture *f)
{
  static const char text[] = "a pack that is none, but has a hash";
  char hex[SK_HASH_HEX_SIZE];
  SkHash hash;

  f->marker.format = 1;
  sk_id_random (&f->marker.vault);
  sk_id_random (&f->marker.storage);
  f->test = sk_test_store_new (&f->marker.vault, NULL);
  f->store = SK_STORE (f->test);
  f->data = g_bytes_new_static (text, sizeof text);
  sk_sha256 ((const guint8 *) text, sizeof text, &hash);
  sk_hash_format (&hash, hex);
  f->name = g_strdup_printf ("packs/%.2s/%s", hex, hex);
}

static void
fixture_end (Fixture *f)
{
  g_object_unref (f->test);
  g_bytes_unref (f->data);
  g_free (f->name);
}

static void
assert_get (Fixture *f, const char *name, guint64 max_size, int code)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) data = sk_store_get_sync (f->store, name, max_size, NULL, &error);

  if (code < 0)
    {
      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (data, f->data));
    }
  else
    {
      g_assert_null (data);
      g_assert_error (error, SK_ERROR, code);
    }
}

static void
test_verifies_every_kind (void)
{
  Fixture f = { 0 };

  fixture_new (&f);
  g_assert_true (sk_store_put_sync (f.store, f.name, f.data, SK_PUT_NONE, NULL, NULL));
  assert_get (&f, f.name, 1000, -1);
  for (gsize bit = 0; bit < 8 * g_bytes_get_size (f.data); bit += 7)
    {
      sk_test_store_flip_bit (f.test, 1, bit);
      assert_get (&f, f.name, 1000, SK_ERROR_CORRUPT);
    }
  for (gsize keep = 0; keep < g_bytes_get_size (f.data); keep++)
    {
      sk_test_store_truncate (f.test, 1, keep);
      assert_get (&f, f.name, 1000, SK_ERROR_CORRUPT);
    }
  assert_get (&f, f.name, 1000, -1);
  assert_get (&f, f.name, 10, SK_ERROR_LIMIT);

  sk_test_store_poke (f.test, "packs/nothash", f.data);
  assert_get (&f, "packs/nothash", 1000, SK_ERROR_CORRUPT);
  sk_test_store_poke (f.test, "log/w/1", f.data);
  assert_get (&f, "log/w/1", 1000, SK_ERROR_CORRUPT);
  sk_test_store_poke (f.test, "heads/aa", f.data);
  assert_get (&f, "heads/aa", 1000, -1);
  fixture_end (&f);
}

static void
test_script (void)
{
  Fixture f = { 0 };
  SkStoreCounters counters;
  g_autoptr(GError) error = NULL;

  fixture_new (&f);
  sk_test_store_fail (f.test, SK_TEST_PUT, 2, 2, SK_ERROR_NO_SPACE);
  for (guint i = 1; i <= 4; i++)
    {
      gboolean ok = sk_store_put_sync (f.store, f.name, f.data, SK_PUT_NONE, NULL, &error);

      g_assert_true (ok == (i == 1 || i == 4));
      if (!ok)
        g_assert_error (error, SK_ERROR, SK_ERROR_NO_SPACE);
      g_clear_error (&error);
    }
  sk_test_store_lose_answer (f.test, SK_TEST_PUT, 1);
  g_assert_false (sk_store_put_sync (f.store, "heads/aa", f.data, SK_PUT_NONE, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_IO);
  assert_get (&f, "heads/aa", 1000, -1);
  sk_test_store_set_offline (f.test, TRUE);
  assert_get (&f, "heads/aa", 1000, SK_ERROR_OFFLINE);
  sk_test_store_set_offline (f.test, FALSE);
  assert_get (&f, "heads/none", 1000, SK_ERROR_NOT_FOUND);

  sk_store_counters (f.store, &counters);
  g_assert_cmpuint (counters.puts, ==, 5);
  g_assert_cmpuint (counters.gets, ==, 3);
  g_assert_cmpuint (counters.errors, ==, 4);
  g_assert_cmpuint (counters.bytes_up, ==, 2 * g_bytes_get_size (f.data));
  g_assert_cmpuint (counters.bytes_down, ==, g_bytes_get_size (f.data));
  fixture_end (&f);
}

typedef struct
{
  guint n_ok;
  guint n_cancelled;
} Outcome;

static void
note_put (GObject *object, GAsyncResult *result, gpointer user_data)
{
  Outcome *outcome = user_data;
  g_autoptr(GError) error = NULL;

  if (sk_store_put_finish (SK_STORE (object), result, &error))
    outcome->n_ok++;
  else
    {
      g_assert_error (error, SK_ERROR, SK_ERROR_CANCELLED);
      outcome->n_cancelled++;
    }
}

static void
test_held_and_shared (void)
{
  Fixture f = { 0 };
  g_autoptr(SkTestStore) other = NULL;
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  Outcome outcome = { 0 };

  fixture_new (&f);
  other = sk_test_store_new (&f.marker.vault, f.test);
  sk_test_store_hold (f.test, SK_TEST_PUT);
  sk_store_put_async (f.store, "heads/aa", f.data, SK_PUT_NONE, NULL, note_put, &outcome);
  sk_store_put_async (f.store, "heads/bb", f.data, SK_PUT_NONE, cancellable, note_put, &outcome);
  while (g_main_context_iteration (NULL, FALSE))
    continue;
  g_assert_cmpuint (sk_test_store_held (f.test), ==, 2);
  g_assert_cmpuint (sk_test_store_count (other, ""), ==, 0);
  g_cancellable_cancel (cancellable);
  sk_test_store_release (f.test);
  while (outcome.n_ok + outcome.n_cancelled < 2)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (outcome.n_ok, ==, 1);
  g_assert_cmpuint (sk_test_store_count (other, "heads/"), ==, 1);
  {
    g_autoptr(GBytes) seen = sk_store_get_sync (SK_STORE (other), "heads/aa", 1000, NULL, NULL);

    g_assert_true (g_bytes_equal (seen, f.data));
  }
  fixture_end (&f);
}

/* Two devices set up a storage at one place at the same moment: the one that comes second is told.
 */
static void
test_race_for_the_place (void)
{
  Fixture f = { 0 };
  g_autoptr(SkTestStore) other = NULL;
  g_autoptr(GError) error = NULL;
  SkStoreMarker second;

  fixture_new (&f);
  second = f.marker;
  sk_id_random (&second.storage);
  other = sk_test_store_new (&f.marker.vault, f.test);
  g_assert_true (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (sk_store_initialise_sync (SK_STORE (other), &second, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_true (
      sk_store_check_marker_sync (f.store, &f.marker.vault, &f.marker.storage, NULL, &error));

  /* A service without conditional writes: the marker that is read back is not the one written. */
  sk_test_store_poke (f.test, "skerry.json", NULL);
  sk_test_store_flip_bit (f.test, 1, 8 * 14);
  g_assert_false (sk_store_initialise_sync (f.store, &f.marker, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_EXISTS);
  fixture_end (&f);
}

static void
test_foreign_names (void)
{
  Fixture f = { 0 };
  g_autofree char *monster = g_strnfill (900, 'x');
  g_autoptr(GPtrArray) items = NULL;
  g_autoptr(GError) error = NULL;

  fixture_new (&f);
  sk_test_store_poke (f.test, monster, f.data);
  sk_test_store_poke (f.test, "heads/a b", f.data);
  sk_test_store_poke (f.test, "../../etc/passwd", f.data);
  sk_test_store_poke (f.test, "heads/\xff", f.data);
  sk_test_store_poke (f.test, "tmp/left", f.data);
  sk_test_store_poke (f.test, "heads/aa", f.data);
  g_test_expect_message (NULL, G_LOG_LEVEL_MESSAGE, "*5 names that are not Skerry's*");
  items = sk_store_list_sync (f.store, "", NULL, &error);
  g_test_assert_expected_messages ();
  g_assert_no_error (error);
  g_assert_cmpuint (items->len, ==, 1);
  g_assert_cmpstr (((SkStoreItem *) items->pdata[0])->name, ==, "heads/aa");
  fixture_end (&f);
}

static void
test_marker_missing_or_foreign (void)
{
  Fixture f = { 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) foreign = NULL;
  SkStoreMarker other;

  fixture_new (&f);
  g_assert_false (
      sk_store_check_marker_sync (f.store, &f.marker.vault, &f.marker.storage, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  g_clear_error (&error);

  other = f.marker;
  sk_id_random (&other.vault);
  foreign = sk_store_marker_build (&other);
  sk_test_store_poke (f.test, "skerry.json", foreign);
  g_assert_false (
      sk_store_check_marker_sync (f.store, &f.marker.vault, &f.marker.storage, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_OFFLINE);
  g_assert_nonnull (strstr (error->message, "another vault"));
  /* And it stays as it is. */
  {
    g_autoptr(GBytes) now = sk_test_store_peek (f.test, "skerry.json");

    g_assert_true (g_bytes_equal (now, foreign));
  }
  fixture_end (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/store/verifies-every-kind", test_verifies_every_kind);
  g_test_add_func ("/store/script", test_script);
  g_test_add_func ("/store/held-and-shared", test_held_and_shared);
  g_test_add_func ("/store/rule-c11/race-for-the-place", test_race_for_the_place);
  g_test_add_func ("/store/sit-B061/foreign-names", test_foreign_names);
  g_test_add_func ("/store/sit-B003/marker-missing-or-foreign", test_marker_missing_or_foreign);
  return g_test_run ();
}
