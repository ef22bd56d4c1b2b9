/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-snapshot.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "log-fixture.h"

typedef struct
{
  SkKeyring *keys;
  SkIdentity *signer;
  SkCompressor *z;
  SkId vault;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  self->keys = sk_keyring_new_vault ();
  self->signer = sk_identity_new_random ();
  self->z = sk_compressor_new ();
  self->vault = fixture_id (9);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  sk_keyring_unref (self->keys);
  sk_identity_unref (self->signer);
  sk_compressor_free (self->z);
}

static GPtrArray *
records_of (guint first, guint n)
{
  GPtrArray *records = fixture_records ();

  for (guint i = first; i < first + n; i++)
    {
      g_autofree char *path = g_strdup_printf ("file %06u", i);
      SkEntry *entry = fixture_entry (SK_KIND_FILE, path, i + 1);
      SkHash id = fixture_hash (i);

      fixture_add_chunk (entry, &id, 1000 + i);
      g_ptr_array_add (records, sk_record_new_entry (entry));
    }
  return records;
}

static GBytes *
build_part (Fixture *self, guint first, guint n, SkPartRef *ref)
{
  g_autoptr(GPtrArray) records = records_of (first, n);
  g_autoptr(GError) error = NULL;
  GBytes *object = sk_part_build (records, &self->vault, self->keys, self->z, ref, &error);

  g_assert_no_error (error);
  return object;
}

static SkSnapshot *
make_list (Fixture *self, guint n_parts)
{
  SkSnapshot *list = sk_snapshot_new ();

  list->vault = self->vault;
  list->writer = fixture_id (2);
  list->epoch = *sk_keyring_current (self->keys);
  list->seq = 3;
  list->wall = 1700000000;
  for (guint i = 0; i < n_parts; i++)
    {
      SkPosition position = { fixture_id (100 - i), i + 1, fixture_hash (i) };
      SkPartRef part = { fixture_hash (1000 + i), fixture_hash (2000 + i), 5000 + i };

      g_array_append_val (list->coverage, position);
      g_array_append_val (list->parts, part);
    }
  return list;
}

static void
test_part_round_trip (Fixture *self, gconstpointer data)
{
  SkPartRef ref;
  g_autoptr(GBytes) object = build_part (self, 0, 1000, &ref);
  g_autoptr(GPtrArray) records = sk_part_open (object, &ref, &self->vault, self->keys, self->z, NULL, NULL);

  g_assert_cmpuint (records->len, ==, 1000);
  g_assert_cmpuint (ref.size, ==, g_bytes_get_size (object));
  g_assert_cmpuint (sk_padme (ref.size), ==, ref.size);
}

/* The plain hash is the same whoever seals, and in every epoch; the name is not. That is what reuse rests on. */
static void
test_plain_hash (Fixture *self, gconstpointer data)
{
  SkPartRef a, b, c, other;
  g_autoptr(GBytes) first = build_part (self, 0, 50, &a);
  g_autoptr(GBytes) second = build_part (self, 0, 50, &b);
  g_autoptr(GBytes) different = build_part (self, 1, 50, &other);
  g_autoptr(SkKeyring) old = self->keys;
  g_autoptr(GBytes) third = NULL;
  g_autoptr(GPtrArray) records = NULL;

  self->keys = sk_keyring_with_new_epoch (old);
  third = build_part (self, 0, 50, &c);
  g_assert_true (sk_hash_equal (&a.plain, &b.plain));
  g_assert_true (sk_hash_equal (&a.plain, &c.plain));
  g_assert_false (sk_hash_equal (&a.plain, &other.plain));
  g_assert_false (sk_hash_equal (&a.name, &b.name));
  /* A part of the earlier epoch is readable with the later keys. */
  records = sk_part_open (first, &a, &self->vault, self->keys, self->z, NULL, NULL);
  g_assert_cmpuint (records->len, ==, 50);
}

static void
test_part_refused (Fixture *self, gconstpointer data)
{
  SkPartRef ref, other_ref;
  g_autoptr(GBytes) object = build_part (self, 0, 20, &ref);
  g_autoptr(GBytes) other = build_part (self, 7, 20, &other_ref);
  gsize len = g_bytes_get_size (object);
  SkId vault = fixture_id (10);
  SkPartRef lie = ref;

  g_assert_null (sk_part_open (other, &ref, &self->vault, self->keys, self->z, NULL, NULL));
  g_assert_null (sk_part_open (object, &ref, &vault, self->keys, self->z, NULL, NULL));
  lie.plain = other_ref.plain;           /* a list that lies about the content */
  g_assert_null (sk_part_open (object, &lie, &self->vault, self->keys, self->z, NULL, NULL));
  for (gsize i = 0; i < len; i += 3)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len);
      SkPartRef named = ref;

      copy[i] ^= 1 << i % 8;
      g_assert_null (sk_part_open (spoilt, &ref, &self->vault, self->keys, self->z, NULL, NULL));
      sk_sha256 (copy, len, &named.name);
      g_assert_null (sk_part_open (spoilt, &named, &self->vault, self->keys, self->z, NULL, NULL));
    }
}

static void
test_list_round_trip (Fixture *self, gconstpointer data)
{
  g_autoptr(SkSnapshot) list = make_list (self, 40);
  g_autoptr(SkSnapshot) again = NULL;
  SkHash hash;
  g_autoptr(GBytes) object = sk_snapshot_build (list, self->keys, self->signer, &hash, NULL);
  SkId position = fixture_id (70);

  again = sk_snapshot_open (object, sk_identity_sign_key (self->signer), &self->vault, self->keys, NULL);
  g_assert_cmpuint (again->parts->len, ==, 40);
  g_assert_cmpuint (again->coverage->len, ==, 40);
  g_assert_cmpuint (sk_positions_find (again->coverage, &position)->seq, ==, 31);
  g_assert_cmpuint (again->seq, ==, 3);
  g_assert_true (sk_hash_equal (&again->state, &list->state));
  g_assert_cmpmem (again->parts->data, 40 * sizeof (SkPartRef), list->parts->data, 40 * sizeof (SkPartRef));
}

static void
test_list_refused (Fixture *self, gconstpointer data)
{
  g_autoptr(SkSnapshot) list = make_list (self, 3);
  SkHash hash;
  g_autoptr(GBytes) object = sk_snapshot_build (list, self->keys, self->signer, &hash, NULL);
  g_autoptr(SkIdentity) other = sk_identity_new_random ();
  gsize len = g_bytes_get_size (object);
  SkId vault = fixture_id (10);

  g_assert_null (sk_snapshot_open (object, sk_identity_sign_key (other), &self->vault, self->keys, NULL));
  g_assert_null (sk_snapshot_open (object, sk_identity_sign_key (self->signer), &vault, self->keys, NULL));
  for (gsize i = 0; i < len; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len);
      g_autoptr(GBytes) prefix = g_bytes_new (copy, i);

      copy[i] ^= 1 << i % 8;
      g_assert_null (sk_snapshot_open (spoilt, sk_identity_sign_key (self->signer), &self->vault, self->keys, NULL));
      g_assert_null (sk_snapshot_open (prefix, sk_identity_sign_key (self->signer), &self->vault, self->keys, NULL));
    }
}

/* The state is that of the parts in their order. */
static void
test_state (Fixture *self, gconstpointer data)
{
  g_autoptr(SkSnapshot) a = make_list (self, 3);
  g_autoptr(SkSnapshot) b = make_list (self, 3);
  g_autoptr(GBytes) first = NULL, second = NULL;
  SkPartRef swap;
  SkHash hash;

  first = sk_snapshot_build (a, self->keys, self->signer, &hash, NULL);
  b->seq = 9;
  b->writer = fixture_id (7);
  g_array_index (b->parts, SkPartRef, 0).name = fixture_hash (1);
  second = sk_snapshot_build (b, self->keys, self->signer, &hash, NULL);
  g_assert_true (sk_hash_equal (&a->state, &b->state));
  swap = g_array_index (b->parts, SkPartRef, 0);
  g_array_index (b->parts, SkPartRef, 0) = g_array_index (b->parts, SkPartRef, 1);
  g_array_index (b->parts, SkPartRef, 1) = swap;
  g_clear_pointer (&second, g_bytes_unref);
  second = sk_snapshot_build (b, self->keys, self->signer, &hash, NULL);
  g_assert_false (sk_hash_equal (&a->state, &b->state));
}

static void
test_ends (void)
{
  const guint n = 400000;
  guint ends = 0;

  for (guint i = 0; i < n; i++)
    {
      char key[32];

      g_snprintf (key, sizeof key, "path %u", i);
      if (sk_part_ends_after ((const guint8 *) key, strlen (key)))
        ends++;
    }
  g_test_message ("one part in %.0f records", (double) n / ends);
  g_assert_cmpuint (ends, >, n / 4096 / 2);
  g_assert_cmpuint (ends, <, n / 4096 * 2);
}

static void
test_names (void)
{
  SkId writer = { { 0x11, 0x22 } };
  SkHash hash = { { 0xab, 0xcd } };
  g_autofree char *list = sk_snapshot_object_name (&writer, 12);
  g_autofree char *part = sk_part_object_name (&hash);

  g_assert_cmpstr (list, ==, "snap/11220000000000000000000000000000/000000000012");
  g_assert_cmpstr (part, ==, "snap/parts/ab/abcd000000000000000000000000000000000000000000000000000000000000");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add ("/snapshot/part-round-trip", Fixture, NULL, set_up, test_part_round_trip, tear_down);
  g_test_add ("/snapshot/plain-hash", Fixture, NULL, set_up, test_plain_hash, tear_down);
  g_test_add ("/snapshot/part-refused", Fixture, NULL, set_up, test_part_refused, tear_down);
  g_test_add ("/snapshot/list-round-trip", Fixture, NULL, set_up, test_list_round_trip, tear_down);
  g_test_add ("/snapshot/rule-b6/list-refused", Fixture, NULL, set_up, test_list_refused, tear_down);
  g_test_add ("/snapshot/state", Fixture, NULL, set_up, test_state, tear_down);
  g_test_add_func ("/snapshot/ends", test_ends);
  g_test_add_func ("/snapshot/names", test_names);
  return g_test_run ();
}
