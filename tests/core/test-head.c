/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-head.h"

#include "sk-error.h"
#include "sk-limits.h"
#include "log-fixture.h"

typedef struct
{
  SkKeyring *keys;
  SkIdentity *signer;
  SkHead *head;
} Fixture;

static void
add_position (GArray *positions, guint writer, guint64 seq, guint hash)
{
  SkPosition position = { fixture_id (writer), seq, fixture_hash (hash) };

  g_array_append_val (positions, position);
}

static void
set_up (Fixture *self, gconstpointer data)
{
  self->keys = sk_keyring_new_vault ();
  self->signer = sk_identity_new_random ();
  self->head = sk_head_new ();
  self->head->vault = fixture_id (9);
  self->head->storage = fixture_id (3);
  self->head->epoch = *sk_keyring_current (self->keys);
  self->head->writer = fixture_id (0x105);
  self->head->device = sk_id_device (&self->head->writer);
  self->head->counter = 77;
  self->head->wall = 1700000000;
  self->head->snapshot_writer = fixture_id (2);
  self->head->snapshot_seq = 5;
  self->head->snapshot_hash = fixture_hash (500);
  /* Not in order; 2 is read as merged, 4 is merged further than read, 6 is read only. */
  add_position (self->head->merged, 4, 20, 20);
  add_position (self->head->merged, 2, 10, 10);
  add_position (self->head->read, 6, 1, 1);
  add_position (self->head->read, 4, 19, 19);
  add_position (self->head->read, 2, 10, 10);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  sk_keyring_unref (self->keys);
  sk_identity_unref (self->signer);
  sk_head_free (self->head);
}

static GBytes *
build (Fixture *self)
{
  g_autoptr(GError) error = NULL;
  GBytes *object = sk_head_build (self->head, self->keys, self->signer, &error);

  g_assert_no_error (error);
  return object;
}

static SkHead *
open_head (Fixture *self, GBytes *object, GError **error)
{
  return sk_head_open (object, sk_identity_sign_key (self->signer), &self->head->vault, &self->head->storage, self->keys, error);
}

static void
test_round_trip (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = build (self);
  g_autoptr(SkHead) head = open_head (self, object, NULL);
  SkId two = fixture_id (2), four = fixture_id (4), six = fixture_id (6), none = fixture_id (7);
  SkDeviceId device;

  g_assert_nonnull (head);
  g_assert_true (sk_head_peek (object, &device, NULL));
  g_assert_true (sk_device_id_equal (&device, &self->head->device));
  g_assert_true (sk_device_id_equal (&head->device, &self->head->device));
  g_assert_true (sk_id_equal (&head->writer, &self->head->writer));
  g_assert_cmpuint (head->counter, ==, 77);
  g_assert_cmpint (head->wall, ==, 1700000000);
  g_assert_cmpuint (head->merged->len, ==, 2);
  g_assert_cmpuint (head->read->len, ==, 3);
  g_assert_cmpuint (sk_positions_find (head->merged, &four)->seq, ==, 20);
  g_assert_cmpuint (sk_positions_find (head->read, &four)->seq, ==, 19);
  g_assert_cmpuint (sk_positions_find (head->read, &two)->seq, ==, 10);
  g_assert_cmpuint (sk_positions_find (head->read, &six)->seq, ==, 1);
  g_assert_null (sk_positions_find (head->read, &none));
  g_assert_cmpuint (head->snapshot_seq, ==, 5);
  g_assert_true (sk_hash_equal (&head->snapshot_hash, &self->head->snapshot_hash));
}

static void
test_empty (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = NULL;
  g_autoptr(SkHead) head = NULL;

  g_array_set_size (self->head->merged, 0);
  g_array_set_size (self->head->read, 0);
  self->head->snapshot_seq = 0;
  object = build (self);
  head = open_head (self, object, NULL);
  g_assert_cmpuint (head->merged->len, ==, 0);
  g_assert_true (sk_id_is_zero (&head->snapshot_writer));
}

static void
test_other_storage (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = build (self);
  SkId other = fixture_id (4);
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_head_open (object, sk_identity_sign_key (self->signer), &self->head->vault, &other, self->keys, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_nonnull (strstr (error->message, "another storage"));
}

static void
test_strangers (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = build (self);
  g_autoptr(SkIdentity) other = sk_identity_new_random ();
  g_autoptr(SkKeyring) other_keys = sk_keyring_new_vault ();
  SkId vault = fixture_id (10);
  g_autoptr(GError) error = NULL;

  g_assert_null (sk_head_open (object, sk_identity_sign_key (other), &self->head->vault, &self->head->storage, self->keys, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_UNTRUSTED);
  g_assert_null (sk_head_open (object, sk_identity_sign_key (self->signer), &vault, &self->head->storage, self->keys, NULL));
  g_assert_null (sk_head_open (object, sk_identity_sign_key (self->signer), &self->head->vault, &self->head->storage, other_keys, NULL));
}

static void
test_flips_and_prefixes (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = build (self);
  gsize len = g_bytes_get_size (object);

  for (gsize i = 0; i < len; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (g_bytes_get_data (object, NULL), len);
      g_autoptr(GBytes) spoilt = g_bytes_new_static (copy, len);
      g_autoptr(GBytes) prefix = g_bytes_new (copy, i);

      copy[i] ^= 1 << i % 8;
      g_assert_null (open_head (self, spoilt, NULL));
      g_assert_null (open_head (self, prefix, NULL));
    }
}

static void
test_build_refuses (Fixture *self, gconstpointer data)
{
  add_position (self->head->merged, 4, 21, 21);                  /* a writer twice */
  g_assert_null (sk_head_build (self->head, self->keys, self->signer, NULL));
  g_array_set_size (self->head->merged, 2);
  add_position (self->head->read, 7, 0, 0);                      /* position 0 */
  g_assert_null (sk_head_build (self->head, self->keys, self->signer, NULL));
  g_array_set_size (self->head->read, 3);
  self->head->counter = 0;
  g_assert_null (sk_head_build (self->head, self->keys, self->signer, NULL));
  self->head->counter = 1;
  sk_device_id_random (&self->head->device);                     /* not the writer's device */
  g_assert_null (sk_head_build (self->head, self->keys, self->signer, NULL));
}

static void
test_many_writers (Fixture *self, gconstpointer data)
{
  g_autoptr(GBytes) object = NULL;
  g_autoptr(SkHead) head = NULL;

  g_array_set_size (self->head->merged, 0);
  g_array_set_size (self->head->read, 0);
  for (guint i = 0; i < 10000; i++)
    {
      add_position (self->head->merged, i, i + 1, i);
      add_position (self->head->read, i, i + 1, i);
    }
  object = build (self);
  g_assert_cmpuint (g_bytes_get_size (object), <=, SK_HEAD_SIZE_MAX);
  head = open_head (self, object, NULL);
  g_assert_cmpuint (head->read->len, ==, 10000);
}

static void
test_name (void)
{
  SkDeviceId device = { { 0xab, 1, 2, 3, 4, 5, 6, 7 } };
  g_autofree char *name = sk_head_object_name (&device);

  g_assert_cmpstr (name, ==, "heads/ab01020304050607");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add ("/head/round-trip", Fixture, NULL, set_up, test_round_trip, tear_down);
  g_test_add ("/head/empty", Fixture, NULL, set_up, test_empty, tear_down);
  g_test_add ("/head/rule-b3/refused-in-another-storage", Fixture, NULL, set_up, test_other_storage, tear_down);
  g_test_add ("/head/strangers", Fixture, NULL, set_up, test_strangers, tear_down);
  g_test_add ("/head/rule-b6/flips-and-prefixes", Fixture, NULL, set_up, test_flips_and_prefixes, tear_down);
  g_test_add ("/head/build-refuses", Fixture, NULL, set_up, test_build_refuses, tear_down);
  g_test_add ("/head/many-writers", Fixture, NULL, set_up, test_many_writers, tear_down);
  g_test_add_func ("/head/name", test_name);
  return g_test_run ();
}
