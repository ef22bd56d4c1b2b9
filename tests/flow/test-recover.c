/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A vault from its storage and the 24 words. */
#include <glib/gstdio.h>
#include <string.h>

#include "sk-guests.h"
#include "sk-membership.h"
#include "sk-pair.h"

static char *
reply_text (SkGuests *guests, guint i, const char *command, const char *key)
{
  g_autoptr(GVariant) reply = sk_guests_run (guests, i, command, NULL);

  return sk_guests_text (reply, key);
}

static GVariant *
recover (SkGuests *guests, guint i, const char *phrase, const char *name)
{
  return sk_guests_run (guests, i, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'device-name': <%s>, 'no-passphrase': <true>}",
                        guests->storage, phrase, name);
}

/* Attaches the folder "docs" on device @i and brings it here. (transfer full): its path */
static char *
attach_docs (SkGuests *guests, guint i)
{
  char *path = sk_guests_path (guests, i, "docs");

  g_variant_unref (sk_guests_run (guests, i, "folder.attach", "{'name': <'docs'>, 'path': <%^ay>}", path));
  sk_guests_sync (guests, i);
  return path;
}

static char *
share_docs (SkGuests *guests)
{
  char *path = sk_guests_path (guests, 0, "docs");

  sk_put_file (path, "one", "in the first epoch", -1);
  g_variant_unref (sk_guests_run (guests, 0, "folder.add", "{'name': <'docs'>, 'path': <%^ay>}", path));
  sk_guests_sync (guests, 0);
  return path;
}

static void
assert_file (const char *dir, const char *name, const char *expected)
{
  g_autofree char *data = sk_get_file (dir, name);

  g_assert_cmpstr (data, ==, expected);
}

/* A new epoch as after a revocation: kept in the home, published, and written with from now on. */
static void
new_epoch (SkGuests *guests, guint i)
{
  SkSession *session = guests->sessions[i];
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(SkKeyring) keys = sk_keyring_with_new_epoch (config->keys);
  g_autoptr(GError) error = NULL;

  sk_home_save_secrets (session->home, SK_KEEP_PLAIN, NULL, session->identity, keys, &error);
  g_assert_no_error (error);
  sk_session_set_keys (session, keys);
  for (guint k = 0; k < config->storages->len; k++)
    {
      SkFlowStorage *storage = config->storages->pdata[k];

      sk_membership_put_epoch (session, storage->store, NULL, &error);
      g_assert_no_error (error);
    }
}

static char *
current_epoch (SkGuests *guests, guint i)
{
  return reply_text (guests, i, "vault.show", "epoch");
}

/* --- */

static void
test_files (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *b = NULL, *vault = NULL, *name = NULL, *epoch = NULL, *other = NULL;
  g_autoptr(GVariant) reply = recover (guests, 1, phrase, "restored");

  vault = sk_guests_text (reply, "vault-name");
  name = sk_guests_text (reply, "device-name");
  g_assert_cmpstr (vault, ==, "home");
  g_assert_cmpstr (name, ==, "restored");
  epoch = current_epoch (guests, 0);
  other = current_epoch (guests, 1);
  g_assert_cmpstr (epoch, ==, other);                /* it was usable: nothing new is needed */
  b = attach_docs (guests, 1);
  assert_file (b, "one", "in the first epoch");
  /* The others hear of it although it stands in no log but its own. */
  sk_put_file (b, "two", "from the restored", -1);
  sk_guests_sync (guests, 1);
  sk_guests_sync (guests, 0);
  assert_file (a, "two", "from the restored");
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 2);
}

static void
test_more_epochs (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *b = NULL, *there = NULL, *here = NULL;

  sk_guests_let_in (guests, 1, "second");
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("epoch-%u", i);

      new_epoch (guests, 0);
      sk_put_file (a, name, name, -1);
      sk_guests_sync (guests, 0);
    }
  g_assert_cmpuint (sk_guests_count_objects (guests, "epochs"), ==, 4);
  g_variant_unref (recover (guests, 2, phrase, "restored"));
  here = current_epoch (guests, 2);
  there = current_epoch (guests, 0);
  g_assert_cmpstr (here, ==, there);
  b = attach_docs (guests, 2);
  assert_file (b, "one", "in the first epoch");
  assert_file (b, "epoch-0", "epoch-0");
  assert_file (b, "epoch-1", "epoch-1");
  assert_file (b, "epoch-2", "epoch-2");
  g_assert_cmpuint (sk_guests_count_devices (guests, 2), ==, 3);
}

/* Every device is lost; nothing but the storage and the words is left. Twice. */
static void
test_all_lost (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *b = NULL, *c = NULL;

  g_assert_nonnull (a);
  sk_guests_close (guests, 1);
  sk_guests_open (guests, 1, NULL, FALSE);
  g_variant_unref (recover (guests, 1, phrase, "restored"));
  b = attach_docs (guests, 1);
  sk_put_file (b, "two", "from the restored", -1);
  sk_guests_sync (guests, 1);
  g_variant_unref (recover (guests, 2, phrase, "restored again"));
  c = attach_docs (guests, 2);
  assert_file (c, "one", "in the first epoch");
  assert_file (c, "two", "from the restored");
  g_assert_cmpuint (sk_guests_count_devices (guests, 2), ==, 3);
}

/* Device @by revokes @gone. */
static void
revoke_device (SkGuests *guests, guint by, guint gone)
{
  SkSession *session = guests->sessions[by];
  SkCommand command = { .session = session };
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GError) error = NULL;

  g_ptr_array_add (records, sk_record_new_member (sk_member_build_revoke (&session->who.vault, &guests->sessions[gone]->who.device, NULL,
                                                                          config->members, FALSE, &session->who.device, session->identity,
                                                                          sk_session_wall (session))));
  sk_command_append (&command, records, NULL, NULL, &error);
  g_assert_no_error (error);
  sk_command_reload (&command, &error);
  g_assert_no_error (error);
}

/* A revoked device publishes keys of its own: they are read, and nothing is written with them. */
static void
test_revoked_epoch (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *good = NULL, *bad = NULL, *chosen = NULL, *b = NULL;

  sk_guests_let_in (guests, 1, "thief");
  sk_guests_sync (guests, 0);
  revoke_device (guests, 0, 1);
  new_epoch (guests, 0);
  sk_put_file (a, "after", "after the revocation", -1);
  sk_guests_sync (guests, 0);
  new_epoch (guests, 1);                              /* the thief does not know that it is revoked */
  good = current_epoch (guests, 0);
  bad = current_epoch (guests, 1);
  g_variant_unref (recover (guests, 2, phrase, "restored"));
  chosen = current_epoch (guests, 2);
  g_assert_cmpstr (chosen, ==, good);
  g_assert_cmpstr (chosen, !=, bad);
  b = attach_docs (guests, 2);
  assert_file (b, "after", "after the revocation");
}

/* Two epochs: the second began when a device was revoked. */
static void
write_in_two_epochs (SkGuests *guests, const char *dir)
{
  sk_guests_let_in (guests, 1, "second");
  sk_guests_sync (guests, 0);
  revoke_device (guests, 0, 1);
  new_epoch (guests, 0);
  sk_put_file (dir, "after", "after the revocation", -1);
  sk_guests_sync (guests, 0);
}

static void
add_later (SkGuests *guests, const char *place)
{
  g_variant_unref (sk_guests_run (guests, 0, "storage.add", "{'name': <'later'>, 'uri': <%s>}", place));
}

/* From now on the guests mean @place when they say storage. (transfer full): the place before */
static char *
turn_to (SkGuests *guests, const char *place)
{
  char *before = g_steal_pointer (&guests->storage);

  guests->storage = g_strdup (place);
  return before;
}

/* With the keys that "later" has, and no others. What was stored before there was a "later" lies in the first one. */
static void
assert_recovers_from_later (SkGuests *guests, guint i, const char *phrase, const char *later)
{
  g_autoptr(GPtrArray) elsewhere = sk_guests_objects (guests, "epochs");
  g_autofree char *first = turn_to (guests, later), *dir = NULL;

  g_assert_cmpuint (sk_guests_count_objects (guests, "epochs"), ==, 2);
  for (guint k = 0; k < elsewhere->len; k++)
    g_assert_cmpint (g_unlink (elsewhere->pdata[k]), ==, 0);
  g_variant_unref (recover (guests, i, phrase, "restored"));
  dir = attach_docs (guests, i);
  assert_file (dir, "new", "stored twice");
  g_variant_unref (sk_guests_run (guests, i, "storage.add", "{'name': <'main'>, 'uri': <%s>}", first));
  sk_guests_sync (guests, i);
  assert_file (dir, "one", "in the first epoch");
  assert_file (dir, "after", "after the revocation");
}

/* A storage that came after an epoch began has the keys of what was written before. */
static void
test_added_later (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *place = g_build_filename (guests->base, "later", NULL);

  write_in_two_epochs (guests, a);
  add_later (guests, place);
  sk_put_file (a, "new", "stored twice", -1);
  sk_guests_sync (guests, 0);
  assert_recovers_from_later (guests, 2, phrase, place);
}

/* The only one that has the older keys is away while the other is added: the next pass that finds it puts them. */
static void
test_added_without_the_first (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *place = g_build_filename (guests->base, "later", NULL);
  g_autofree char *first = g_strdup (guests->storage), *away = g_strconcat (first, ".away", NULL);

  write_in_two_epochs (guests, a);
  g_assert_cmpint (g_rename (first, away), ==, 0);
  add_later (guests, place);
  sk_guests_sync (guests, 0);
  g_free (turn_to (guests, place));
  g_assert_cmpuint (sk_guests_count_objects (guests, "epochs"), ==, 1);
  g_free (turn_to (guests, first));
  g_assert_cmpint (g_rename (away, first), ==, 0);
  sk_put_file (a, "new", "stored twice", -1);
  sk_guests_sync (guests, 0);
  sk_guests_sync (guests, 0);
  assert_recovers_from_later (guests, 2, phrase, place);
}

/* No epoch is usable: a new one is made before anything is written. */
static void
test_no_usable_epoch (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *old = NULL, *chosen = NULL, *b = NULL;

  g_assert_nonnull (a);
  sk_guests_let_in (guests, 1, "thief");
  sk_guests_sync (guests, 0);
  revoke_device (guests, 0, 1);
  sk_guests_sync (guests, 0);
  old = current_epoch (guests, 0);
  g_variant_unref (recover (guests, 2, phrase, "restored"));
  chosen = current_epoch (guests, 2);
  g_assert_cmpstr (chosen, !=, old);
  g_assert_cmpuint (sk_guests_count_objects (guests, "epochs"), ==, 2);
  b = attach_docs (guests, 2);
  assert_file (b, "one", "in the first epoch");
}

/* Devices that run hear of an epoch made meanwhile, read and write with it, and still have it after a restart without any storage. */
static void
test_running_devices_follow (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (4);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *b = NULL, *d = NULL, *old = NULL, *chosen = NULL, *now = NULL, *kept = NULL;
  g_autofree char *thiefs = NULL, *away = NULL;
  g_autoptr(GVariant) thiefs_reply = NULL;

  sk_guests_let_in (guests, 1, "thief");
  sk_guests_let_in (guests, 3, "third");
  d = attach_docs (guests, 3);
  sk_guests_sync (guests, 0);
  revoke_device (guests, 0, 1);
  sk_guests_sync (guests, 0);
  old = current_epoch (guests, 0);
  g_variant_unref (recover (guests, 2, phrase, "restored"));
  chosen = current_epoch (guests, 2);
  g_assert_cmpstr (chosen, !=, old);
  b = attach_docs (guests, 2);
  sk_put_file (b, "two", "in the new epoch", -1);
  sk_guests_sync (guests, 2);
  sk_guests_sync (guests, 0);
  assert_file (a, "two", "in the new epoch");
  now = current_epoch (guests, 0);
  g_assert_cmpstr (now, ==, chosen);
  g_assert_cmpuint (sk_guests_count_devices (guests, 0), ==, 4);
  /* What is written now is for those who have the new keys. */
  sk_put_file (a, "three", "from the first", -1);
  sk_guests_sync (guests, 0);
  sk_guests_sync (guests, 2);
  assert_file (b, "three", "from the first");
  sk_guests_sync (guests, 3);
  assert_file (d, "two", "in the new epoch");
  assert_file (d, "three", "from the first");
  thiefs_reply = sk_session_command (guests->sessions[1], "sync", NULL, NULL, NULL, NULL, NULL);
  thiefs = current_epoch (guests, 1);
  g_assert_cmpstr (thiefs, ==, old);
  /* Without the storage. */
  away = g_strconcat (guests->storage, ".away", NULL);
  sk_guests_close (guests, 0);
  g_assert_cmpint (g_rename (guests->storage, away), ==, 0);
  sk_guests_open (guests, 0, NULL, FALSE);
  kept = current_epoch (guests, 0);
  g_assert_cmpstr (kept, ==, chosen);
  g_assert_cmpint (g_rename (away, guests->storage), ==, 0);
  sk_put_file (b, "four", "later", -1);
  sk_guests_sync (guests, 2);
  sk_guests_sync (guests, 0);
  assert_file (a, "four", "later");
}

/* --- RULES C11 --- */

static void
test_two_vaults (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (4);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *other = NULL, *b = NULL, *first = NULL, *second = NULL;
  g_autoptr(GVariant) made = sk_guests_run (guests, 1, "vault.create", "{'name': <'work'>, 'no-passphrase': <true>}"), one = NULL, two = NULL;
  g_autofree char *id = sk_guests_text (made, "vault");

  g_assert_nonnull (a);
  g_variant_unref (sk_guests_run (guests, 1, "storage.add", "{'name': <'main'>, 'uri': <%s>}", guests->storage));
  sk_guests_sync (guests, 1);
  other = sk_guests_text (made, "phrase");
  one = recover (guests, 2, phrase, "restored");
  first = sk_guests_text (one, "vault-name");
  g_assert_cmpstr (first, ==, "home");
  b = attach_docs (guests, 2);
  assert_file (b, "one", "in the first epoch");
  /* The words of one and the id of the other. */
  sk_guests_fail (guests, 3, SK_ERROR_WRONG_KEY, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'vault': <%s>, 'no-passphrase': <true>}",
                  guests->storage, phrase, id);
  two = sk_guests_run (guests, 3, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'vault': <%s>, 'no-passphrase': <true>}", guests->storage,
                       other, id);
  second = sk_guests_text (two, "vault-name");
  g_assert_cmpstr (second, ==, "work");
}

/* --- what people do wrong --- */

static void
test_bad_words (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests);
  g_autoptr(GVariant) made = sk_guests_run (guests, 1, "vault.create", "{'name': <'other'>, 'no-passphrase': <true>}");
  g_autofree char *other = sk_guests_text (made, "phrase"), *short_one = g_strndup (phrase, strlen (phrase) / 2);

  sk_guests_fail (guests, 2, SK_ERROR_WRONG_KEY, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'no-passphrase': <true>}", guests->storage, other);
  sk_guests_fail (guests, 2, SK_ERROR_WRONG_KEY, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'no-passphrase': <true>}", guests->storage,
                  short_one);
  sk_guests_fail (guests, 2, SK_ERROR_USAGE, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'vault': <'x'>, 'no-passphrase': <true>}",
                  guests->storage, phrase);
  sk_guests_fail (guests, 0, SK_ERROR_EXISTS, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'no-passphrase': <true>}", guests->storage, phrase);
  g_assert_false (guests->sessions[2]->has_vault);
}

static void
test_bad_place (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (2);
  g_autofree char *phrase = sk_guests_found (guests), *empty = g_strconcat (guests->base, "/empty", NULL);
  g_autofree char *nowhere = g_strconcat (guests->base, "/nowhere", NULL);
  g_autoptr(GPtrArray) epochs = sk_guests_objects (guests, "epochs");

  g_assert_cmpint (g_mkdir (empty, 0755), ==, 0);
  sk_guests_fail (guests, 1, SK_ERROR_NOT_FOUND, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'no-passphrase': <true>}", empty, phrase);
  sk_guests_fail (guests, 1, SK_ERROR_OFFLINE, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'no-passphrase': <true>}", nowhere, phrase);
  /* The keys were deleted by somebody. */
  for (guint i = 0; i < epochs->len; i++)
    g_assert_cmpint (g_unlink (epochs->pdata[i]), ==, 0);
  sk_guests_fail (guests, 1, SK_ERROR_CORRUPT, "vault.recover", "{'storage': <%s>, 'phrase': <%s>, 'no-passphrase': <true>}", guests->storage, phrase);
  g_assert_false (guests->sessions[1]->has_vault);
}

/* One damaged object of a kind is passed over; what the others say is enough. */
static void
test_damaged_members (void)
{
  g_autoptr(SkGuests) guests = sk_guests_new (3);
  g_autofree char *phrase = sk_guests_found (guests), *a = share_docs (guests), *b = NULL;
  g_autoptr(GPtrArray) members = NULL;

  g_assert_nonnull (a);
  sk_guests_let_in (guests, 1, "second");
  sk_guests_sync (guests, 1);
  members = sk_guests_objects (guests, "members");
  g_assert_cmpuint (members->len, ==, 2);
  for (guint i = 0; i < members->len; i++)
    {
      char first[SK_DEVICE_ID_HEX_SIZE];

      sk_device_id_format (&guests->sessions[0]->who.device, first);
      if (strstr (members->pdata[i], first) != NULL)
        g_assert_true (g_file_set_contents (members->pdata[i], "rubbish", -1, NULL));
    }
  g_variant_unref (recover (guests, 2, phrase, "restored"));
  b = attach_docs (guests, 2);
  assert_file (b, "one", "in the first epoch");
  g_assert_cmpuint (sk_guests_count_devices (guests, 2), ==, 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recover/files", test_files);
  g_test_add_func ("/recover/rule-b1/after-more-epochs", test_more_epochs);
  g_test_add_func ("/recover/rule-b1/every-device-lost", test_all_lost);
  g_test_add_func ("/recover/rule-b1/epoch-of-a-revoked-device-is-not-written-with", test_revoked_epoch);
  g_test_add_func ("/recover/rule-b1/from-a-storage-added-later", test_added_later);
  g_test_add_func ("/recover/rule-b1/from-a-storage-added-without-the-first", test_added_without_the_first);
  g_test_add_func ("/recover/rule-b1/new-epoch-when-none-is-usable", test_no_usable_epoch);
  g_test_add_func ("/recover/rule-b1/running-devices-follow", test_running_devices_follow);
  g_test_add_func ("/recover/rule-c11/two-vaults-in-one-place", test_two_vaults);
  g_test_add_func ("/recover/bad/words", test_bad_words);
  g_test_add_func ("/recover/bad/place", test_bad_place);
  g_test_add_func ("/recover/damaged-members-object", test_damaged_members);
  return g_test_run ();
}
