/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two or three real devices in one process that meet in a directory. */
#include <glib/gstdio.h>
#include <string.h>

#include "sk-guests.h"
#include "sk-pair.h"

/* --- the whole way --- */

/* Both sides show the same words; the person says yes; then files go both ways. */
static void
test_whole (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *invite = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, FALSE, &invite);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (guests, 1, code, "second", NULL, 10);
  g_autofree char *there = sk_joiner_words (joiner);
  g_autoptr(GVariant) asked = sk_guests_await (guests, 0, invite, "asked");
  g_autofree char *here = sk_guests_text (asked, "words"), *name = sk_guests_text (asked, "device-name"), *device = sk_guests_text (asked, "device");
  g_autofree char *a = sk_guests_path (guests, 0, "docs"), *b = sk_guests_path (guests, 1, "docs"), *vault = NULL, *said = NULL, *back = NULL;
  g_autoptr(GVariant) confirmed = NULL;
  g_auto(GStrv) words = g_strsplit (here, " ", 0);

  g_assert_cmpstr (here, ==, there);
  g_assert_cmpuint (g_strv_length (words), ==, 6);
  g_assert_cmpstr (name, ==, "second");
  g_assert_cmpuint (sk_guests_count_objects (guests, "join"), ==, 2);      /* nothing secret before the yes */
  confirmed = sk_guests_run (guests, 0, "invite.confirm", "{'invite': <%s>, 'device': <%s>}", invite, device);
  said = sk_guests_text (confirmed, "state");
  g_assert_cmpstr (said, ==, "admitted");
  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
  vault = sk_guests_text (joiner->reply, "vault-name");
  g_assert_cmpstr (vault, ==, "home");
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 2);

  sk_put_file (a, "hello", "from first", -1);
  g_variant_unref (sk_guests_run (guests, 0, "folder.add", "{'name': <'docs'>, 'path': <%^ay>}", a));
  sk_guests_sync (guests, 0);
  sk_guests_sync (guests, 1);
  g_variant_unref (sk_guests_run (guests, 1, "folder.attach", "{'name': <'docs'>, 'path': <%^ay>}", b));
  sk_guests_sync (guests, 1);
  g_free (said);
  said = sk_get_file (b, "hello");
  g_assert_cmpstr (said, ==, "from first");
  sk_put_file (b, "answer", "from second", -1);
  sk_guests_sync (guests, 1);
  sk_guests_sync (guests, 0);
  back = sk_get_file (a, "answer");
  g_assert_cmpstr (back, ==, "from second");
  sk_guests_until (sk_guests_count_objects (guests, "join") == 0);          /* used and removed */
}

/* The storage's own definition, with its name, comes with the logs. */
static void
test_storage_name (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *name = NULL, *uri = NULL;
  g_autoptr(GVariant) reply = NULL, list = NULL, storage = NULL;

  sk_guests_let_in (guests, 1, "second");
  reply = sk_guests_run (guests, 1, "storage.list", NULL);
  list = g_variant_lookup_value (reply, "storages", NULL);
  g_assert_cmpuint (g_variant_n_children (list), ==, 1);
  storage = g_variant_get_child_value (list, 0);
  name = sk_guests_text (storage, "name");
  uri = sk_guests_text (storage, "uri");
  g_assert_cmpstr (name, ==, "main");
  g_assert_cmpstr (uri, ==, guests->storage);
}

/* The third device comes through the second; the first reads of it in the second's log. */
static void
test_chain (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *code = NULL, *by = NULL;
  g_autoptr(SkJoiner) joiner = NULL;
  g_autoptr(GVariant) shown = NULL;
  guint64 behind = 99;

  sk_guests_let_in (guests, 1, "second");
  code = sk_guests_invite (guests, 1, TRUE, NULL);
  joiner = sk_joiner_start (guests, 2, code, "third", NULL, 10);
  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
  sk_guests_sync (guests, 2);
  sk_guests_sync (guests, 0);
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 3);
  g_assert_cmpuint (sk_guests_count_devices (guests, 2), ==, 3);
  shown = sk_guests_run (guests, 0, "device.show", "{'name': <'third'>}");
  by = sk_guests_text (shown, "added-by");
  g_assert_cmpstr (by, ==, "second");
  g_assert_true (g_variant_lookup (shown, "behind", "t", &behind));
  g_assert_cmpuint (behind, ==, 0);
  sk_guests_fail (guests, 0, SK_ERROR_NOT_FOUND, "device.show", "{'name': <'nobody'>}");
}

/* Killed engines leave offers behind; the next one that invites removes them. */
static void
test_litter (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (1);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, NULL), *again = NULL;
  g_autofree char *hidden = g_strconcat (guests->storage, ".away", NULL);

  /* The storage is away while the engine ends. */
  g_assert_cmpint (g_rename (guests->storage, hidden), ==, 0);
  sk_guests_close (guests, 0);
  g_assert_cmpint (g_rename (hidden, guests->storage), ==, 0);
  sk_guests_open (guests, 0, NULL, FALSE);
  g_assert_cmpuint (sk_guests_count_objects (guests, "join"), ==, 1);
  again = sk_guests_invite (guests, 0, TRUE, NULL);
  sk_guests_until (sk_guests_count_objects (guests, "join") == 1);
  sk_guests_close (guests, 0);
  sk_guests_open (guests, 0, NULL, FALSE);
  g_assert_cmpuint (sk_guests_count_objects (guests, "join"), ==, 0);
}

/* --- RULES A3 (e) --- */

/* A storage that hides what the sponsor knew: the newcomer publishes nothing until it is shown. */
static void
test_sponsor (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *head = NULL, *hidden = NULL, *own = NULL, *invite = NULL, *code = NULL;
  g_autofree char *device = NULL;
  char first[SK_DEVICE_ID_HEX_SIZE], second[SK_DEVICE_ID_HEX_SIZE];
  g_autoptr(SkJoiner) joiner = NULL;
  g_autoptr(GVariant) asked = NULL;
  g_autoptr(GPtrArray) heads = NULL, none = NULL, both = NULL;

  sk_guests_sync (guests, 0);
  code = sk_guests_invite (guests, 0, FALSE, &invite);
  joiner = sk_joiner_start (guests, 1, code, "second", NULL, 20);
  asked = sk_guests_await (guests, 0, invite, "asked");
  device = sk_guests_text (asked, "device");
  sk_device_id_format (&guests->sessions[0]->who.device, first);
  heads = sk_guests_objects (guests, "heads");
  g_assert_cmpuint (heads->len, ==, 1);
  head = g_strdup (heads->pdata[0]);
  hidden = g_strconcat (guests->base, "/hidden-head", NULL);
  /* The head goes away between the grant and the newcomer's first look. */
  {
    g_autofree char *old = NULL;
    gsize len;

    g_assert_true (g_file_get_contents (head, &old, &len, NULL));
    g_variant_unref (sk_guests_run (guests, 0, "invite.confirm", "{'invite': <%s>, 'device': <%s>}", invite, device));
    g_assert_cmpint (g_rename (head, hidden), ==, 0);
    g_assert_true (g_file_set_contents (head, old, (gssize) len, NULL));      /* an older one is offered instead */
  }
  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
  sk_guests_sync (guests, 1);
  sk_device_id_format (&guests->sessions[1]->who.device, second);
  none = sk_guests_objects (guests, "heads");
  g_assert_cmpuint (none->len, ==, 1);
  g_assert_cmpuint (sk_guests_count_objects (guests, "members"), ==, 1);

  g_assert_cmpint (g_rename (hidden, head), ==, 0);
  sk_guests_sync (guests, 1);
  both = sk_guests_objects (guests, "heads");
  g_assert_cmpuint (both->len, ==, 2);
  own = g_strconcat ("heads/", second, NULL);
  g_assert_true (g_str_has_suffix (both->pdata[0], own) || g_str_has_suffix (both->pdata[1], own));
}

/* --- what people do wrong --- */

static void
test_has_vault (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, NULL);

  sk_guests_fail (guests, 0, SK_ERROR_EXISTS, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
  sk_guests_fail (guests, 1, SK_ERROR_USAGE, "vault.join", "{'code': <%s>, 'device-name': <'a/b'>, 'no-passphrase': <true>}", code);
  sk_guests_fail (guests, 1, SK_ERROR_UNSUPPORTED, "vault.join", "{'code': <%s>, 'credentials': <'x'>, 'no-passphrase': <true>}", code);
}

static void
test_other_place (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, NULL), *other = g_strconcat (guests->base, "/other", NULL);
  g_autofree char *nowhere = g_strconcat (guests->base, "/nowhere", NULL);

  /* Another vault's storage, an empty directory, and none. */
  g_assert_cmpint (g_mkdir (other, 0755), ==, 0);
  sk_guests_fail (guests, 1, SK_ERROR_OFFLINE, "vault.join", "{'code': <%s>, 'storage': <%s>, 'no-passphrase': <true>}", code, other);
  g_variant_unref (sk_guests_run (guests, 2, "vault.create", "{'name': <'other'>, 'no-passphrase': <true>}"));
  g_variant_unref (sk_guests_run (guests, 2, "storage.add", "{'name': <'main'>, 'uri': <%s>}", other));
  sk_guests_fail (guests, 1, SK_ERROR_OFFLINE, "vault.join", "{'code': <%s>, 'storage': <%s>, 'no-passphrase': <true>}", code, other);
  sk_guests_fail (guests, 1, SK_ERROR_OFFLINE, "vault.join", "{'code': <%s>, 'storage': <%s>, 'no-passphrase': <true>}", code, nowhere);
  g_assert_false (guests->sessions[1]->has_vault);
}

/* The vault's directory with the marker of another vault: what a copied or mixed-up bucket looks like. */
static void
test_foreign_marker (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autofree char *code = sk_guests_invite (guests, 0, TRUE, NULL);
  g_autoptr(GPtrArray) marker = sk_guests_objects (guests, "skerry.json");
  g_autoptr(GBytes) foreign = NULL;
  SkStoreMarker other = { .format = 1 };

  g_assert_cmpuint (marker->len, ==, 1);
  sk_id_random (&other.vault);
  sk_id_random (&other.storage);
  foreign = sk_store_marker_build (&other);
  g_assert_true (g_file_set_contents (marker->pdata[0], g_bytes_get_data (foreign, NULL), (gssize) g_bytes_get_size (foreign), NULL));
  sk_guests_fail (guests, 1, SK_ERROR_OFFLINE, "vault.join", "{'code': <%s>, 'no-passphrase': <true>}", code);
}

static void
test_nobody_confirms (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *device = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, FALSE, &invite);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (guests, 1, code, "second", NULL, 1);
  g_autoptr(GVariant) asked = sk_guests_await (guests, 0, invite, "asked"), gone = NULL;

  sk_joiner_end (joiner);
  g_assert_error (joiner->error, SK_ERROR, SK_ERROR_BUSY);
  g_assert_false (guests->sessions[1]->has_vault);
  /* It does not wait any more, so nobody is enrolled by a late yes. */
  device = sk_guests_text (asked, "device");
  sk_guests_fail (guests, 0, SK_ERROR_NOT_FOUND, "invite.confirm", "{'invite': <%s>, 'device': <%s>}", invite, device);
  gone = sk_guests_await (guests, 0, invite, "expired");
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 1);
}

static void
test_cancelled (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *invite = NULL, *words = NULL, *again = NULL;
  g_autofree char *code = sk_guests_invite (guests, 0, FALSE, &invite);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (guests, 1, code, "second", NULL, 60);
  g_autoptr(GVariant) gone = NULL;

  words = sk_joiner_words (joiner);
  g_cancellable_cancel (joiner->cancellable);
  sk_joiner_end (joiner);
  g_assert_nonnull (joiner->error);
  sk_guests_until (sk_guests_count_objects (guests, "join") <= 1);
  /* From the state it left, it can be repeated. */
  sk_guests_let_in (guests, 1, "second");
  g_assert_cmpuint (sk_guests_count_devices (guests, 1), ==, 2);
}

static void
test_no_storage (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (1);

  sk_guests_fail (guests, 0, SK_ERROR_USAGE, "invite", NULL);
  g_variant_unref (sk_guests_run (guests, 0, "vault.create", "{'name': <'home'>, 'no-passphrase': <true>}"));
  sk_guests_fail (guests, 0, SK_ERROR_USAGE, "invite", NULL);
  sk_guests_fail (guests, 0, SK_ERROR_NOT_FOUND, "invite.wait", "{'invite': <'0123'>}");
  sk_guests_fail (guests, 0, SK_ERROR_NOT_FOUND, "invite.confirm", "{'invite': <'0123'>, 'device': <'0123'>}");
  g_variant_unref (sk_guests_run (guests, 0, "storage.add", "{'name': <'main'>, 'uri': <%s>}", guests->storage));
  sk_guests_fail (guests, 0, SK_ERROR_NOT_FOUND, "invite", "{'storage': <'other'>}");
  {
    g_autofree char *hidden = g_strconcat (guests->storage, ".away", NULL);

    g_assert_cmpint (g_rename (guests->storage, hidden), ==, 0);
    sk_guests_fail (guests, 0, SK_ERROR_OFFLINE, "invite", NULL);
    g_assert_cmpint (g_rename (hidden, guests->storage), ==, 0);
  }
}

/* An engine that runs serves invitations too, and a newcomer may be one. */
static void
test_running (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests);

  sk_guests_close (guests, 0);
  sk_guests_open (guests, 0, NULL, TRUE);
  sk_guests_close (guests, 1);
  sk_guests_open (guests, 1, NULL, TRUE);
  sk_guests_let_in (guests, 1, "second");
  sk_guests_until (sk_guests_count_objects (guests, "join") == 0);
  sk_guests_until (sk_guests_count_objects (guests, "heads") == 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/join/both-sides", test_whole);
  g_test_add_func ("/join/storage-is-defined-by-the-logs", test_storage_name);
  g_test_add_func ("/join/through-a-device-that-joined", test_chain);
  g_test_add_func ("/join/running-engines", test_running);
  g_test_add_func ("/join/litter-is-removed-later", test_litter);
  g_test_add_func ("/join/rule-a3e/first-head-covers-the-sponsor", test_sponsor);
  g_test_add_func ("/join/bad/home-has-a-vault", test_has_vault);
  g_test_add_func ("/join/bad/other-place", test_other_place);
  g_test_add_func ("/join/bad/foreign-marker", test_foreign_marker);
  g_test_add_func ("/join/bad/nobody-confirms", test_nobody_confirms);
  g_test_add_func ("/join/bad/cancelled", test_cancelled);
  g_test_add_func ("/join/bad/no-storage", test_no_storage);
  return g_test_run ();
}
