/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of a storage that are lost or damaged, and a storage that takes nothing: found, told and put right. */
#include "sk-membership.h"
#include "sk-pair.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  SkFleet *fleet;
  char *vault;                   /* directory of the vault in the storage */
  char *dirs[2];
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  char hex[SK_ID_HEX_SIZE];

  f->fleet = sk_fleet_new (2, FALSE);
  f->dirs[0] = sk_fleet_path (f->fleet, 0, "f");
  f->dirs[1] = sk_fleet_path (f->fleet, 1, "f");
  sk_put_file (f->dirs[0], "from-a", "something", -1);
  sk_fleet_share (f->fleet, "f");
  sk_put_file (f->dirs[1], "from-b", "something else", -1);
  sk_fleet_settle (f->fleet, 8);
  sk_id_format (&f->fleet->devices[0]->who.vault, hex);
  f->vault = g_build_filename (f->fleet->storage, hex, NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  sk_fleet_free (f->fleet);
  g_free (f->dirs[0]);
  g_free (f->dirs[1]);
  g_free (f->vault);
}

typedef enum { GONE, EMPTY, FLIPPED, N_DAMAGES } Damage;

static void
damage (const char *path, Damage how)
{
  g_autofree char *bytes = NULL;
  gsize len;

  g_assert_true (g_file_get_contents (path, &bytes, &len, NULL));
  g_assert_cmpint (g_unlink (path), ==, 0);
  if (how == GONE)
    return;
  bytes[len / 2] ^= 1;
  g_assert_true (g_file_set_contents (path, bytes, how == EMPTY ? 0 : (gssize) len, NULL));
}

static guint
count (GVariant *reply, const char *key)
{
  g_autoptr(GVariant) list = g_variant_lookup_value (reply, key, NULL);

  return (guint) g_variant_n_children (list);
}

static gboolean
wants_person (GVariant *reply)
{
  gboolean attention = FALSE;

  g_variant_lookup (reply, "attention", "b", &attention);
  return attention;
}

static gboolean
sync_wants_person (Fixture *f, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_sync (f->fleet, i);

  return wants_person (reply);
}

static guint
open_issues (Fixture *f, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_run (f->fleet, i, "issues", NULL);

  return count (reply, "issues");
}

/* The only file in @path below the vault, or the first of @n. */
static char *
file_in (Fixture *f, const char *path)
{
  g_autofree char *dir = g_build_filename (f->vault, path, NULL);
  g_autoptr(GDir) list = g_dir_open (dir, 0, NULL);

  g_assert_nonnull (list);
  return g_build_filename (dir, g_dir_read_name (list), NULL);
}

static void
look_for_newest (const char *path, char **newest, gint64 *newest_at)
{
  g_autoptr(GDir) list = g_dir_open (path, 0, NULL);
  const char *name;

  g_assert_nonnull (list);
  while ((name = g_dir_read_name (list)) != NULL)
    {
      g_autofree char *full = g_build_filename (path, name, NULL);
      GStatBuf st;
      gint64 at;

      if (g_file_test (full, G_FILE_TEST_IS_DIR))
        {
          look_for_newest (full, newest, newest_at);
          continue;
        }
      g_assert_cmpint (g_stat (full, &st), ==, 0);
      at = (gint64) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
      if (*newest != NULL && (at < *newest_at || (at == *newest_at && strcmp (full, *newest) < 0)))
        continue;
      *newest_at = at;
      g_free (*newest);
      *newest = g_steal_pointer (&full);
    }
}

/* What was written last in @path below the vault; of several, the one with the last name. */
static char *
newest_in (Fixture *f, const char *path)
{
  g_autofree char *dir = g_build_filename (f->vault, path, NULL);
  char *newest = NULL;
  gint64 at = 0;

  look_for_newest (dir, &newest, &at);
  g_assert_nonnull (newest);
  return newest;
}

static char *
object_of (Fixture *f, const char *kind, guint i)
{
  char hex[SK_DEVICE_ID_HEX_SIZE];

  sk_device_id_format (&f->fleet->devices[i]->who.device, hex);
  return g_build_filename (f->vault, kind, hex, NULL);
}

/* A device that has nothing new to say puts its head again, too; the other one is told until then. */
static void
test_head (Fixture *f, gconstpointer data)
{
  g_autofree char *head = object_of (f, "heads", 1);

  for (Damage how = EMPTY; how < N_DAMAGES; how++)
    {
      damage (head, how);
      g_assert_true (sync_wants_person (f, 0));
      g_assert_cmpuint (open_issues (f, 0), ==, 1);
      g_assert_false (sync_wants_person (f, 1));
      g_assert_false (sync_wants_person (f, 0));
      g_assert_cmpuint (open_issues (f, 0), ==, 0);
      g_assert_cmpuint (open_issues (f, 1), ==, 0);
    }
}

/* The head of another device in the place of its own says nothing about either. */
static void
test_exchanged_head (Fixture *f, gconstpointer data)
{
  g_autofree char *mine = object_of (f, "heads", 0), *other = object_of (f, "heads", 1), *bytes = NULL;
  gsize len;

  g_assert_true (g_file_get_contents (mine, &bytes, &len, NULL));
  g_assert_true (g_file_set_contents (other, bytes, (gssize) len, NULL));
  g_assert_true (sync_wants_person (f, 0));
  g_assert_false (sync_wants_person (f, 1));
  g_assert_false (sync_wants_person (f, 0));
  g_assert_cmpuint (open_issues (f, 0), ==, 0);
}

/* @path: an object that nobody reads while all goes well. It is found by fsck, and put again by any device in @by. */
static void
assert_mended (Fixture *f, const char *path, guint by)
{
  for (Damage how = GONE; how < N_DAMAGES; how++)
    {
      g_autoptr(GVariant) found = NULL, repaired = NULL, after = NULL;

      damage (path, how);
      if (how != FLIPPED || strstr (path, "/log/") == NULL)
        {
          found = sk_fleet_run (f->fleet, by, "fsck", NULL);
          g_assert_cmpuint (count (found, "problems"), ==, 1);
          g_assert_true (wants_person (found));
          repaired = sk_fleet_run (f->fleet, by, "fsck", "{'repair': <true>}");
          g_assert_cmpuint (count (repaired, "problems"), ==, 1);
        }
      else
        {
          /* As long as it should be: only reading it tells. */
          repaired = sk_fleet_run (f->fleet, by, "storage.verify", "{'all': <true>}");
          g_assert_cmpuint (count (repaired, "bad"), ==, 1);
        }
      g_assert_false (wants_person (repaired));
      after = sk_fleet_run (f->fleet, by, "storage.verify", "{'all': <true>}");
      g_assert_cmpuint (count (after, "bad"), ==, 0);
    }
}

static void
test_epoch (Fixture *f, gconstpointer data)
{
  g_autofree char *path = file_in (f, "epochs");

  assert_mended (f, path, 0);
  assert_mended (f, path, 1);
}

static void
test_members (Fixture *f, gconstpointer data)
{
  g_autofree char *path = object_of (f, "members", 1);

  assert_mended (f, path, 1);
}

/* The own log, and that of the other one, who may never come back. */
static void
test_log (Fixture *f, gconstpointer data)
{
  char hex[SK_ID_HEX_SIZE];
  g_autofree char *dir = NULL, *path = NULL;

  sk_id_format (&f->fleet->devices[0]->who.writer, hex);
  dir = g_build_filename ("log", hex, NULL);
  path = file_in (f, dir);
  assert_mended (f, path, 0);
  assert_mended (f, path, 1);
}

/* What can be read and not written: the change of this device is not out, and it says so until it is. */
static void
test_read_only (Fixture *f, gconstpointer data)
{
  g_autofree char *dir = NULL, *aside = NULL, *state = NULL, *gone = g_build_filename (f->dirs[1], "from-a", NULL);
  g_autoptr(GVariant) report = NULL, storages = NULL;
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (&f->fleet->devices[1]->who.writer, hex);
  dir = g_build_filename (f->vault, "log", hex, NULL);
  aside = g_strconcat (f->vault, "-log", NULL);
  g_assert_cmpint (g_rename (dir, aside), ==, 0);
  g_assert_true (g_file_set_contents (dir, "in the way of a directory", -1, NULL));
  g_assert_cmpint (g_unlink (gone), ==, 0);
  g_assert_true (sync_wants_person (f, 1));
  g_assert_cmpuint (open_issues (f, 1), ==, 1);
  report = sk_fleet_run (f->fleet, 1, "status", NULL);
  g_assert_true (wants_person (report));
  storages = g_variant_lookup_value (report, "storages", NULL);
  {
    g_autoptr(GVariant) first = g_variant_get_child_value (storages, 0);

    g_assert_true (g_variant_lookup (first, "state", "s", &state));
    g_assert_cmpstr (state, ==, "behind");
  }
  g_assert_cmpint (g_unlink (dir), ==, 0);
  g_assert_cmpint (g_rename (aside, dir), ==, 0);
  g_assert_false (sync_wants_person (f, 1));
  g_assert_cmpuint (open_issues (f, 1), ==, 0);
}

/* A home whose vault.json is lost is not an empty one: the keys in it stay. */
static void
test_no_config (Fixture *f, gconstpointer data)
{
  g_autofree char *home = sk_fleet_home (f->fleet, 1), *config = g_build_filename (home, "vault.json", NULL);
  g_autofree char *keys = g_build_filename (home, "keys", NULL), *before = NULL, *after = NULL;
  g_autoptr(GError) error = NULL;
  gsize len_before, len_after;

  sk_fleet_close (f->fleet, 1);
  g_assert_true (g_file_get_contents (keys, &before, &len_before, NULL));
  g_assert_cmpint (g_unlink (config), ==, 0);
  sk_fleet_open (f->fleet, 1);
  g_assert_null (sk_session_command (f->fleet->devices[1], "vault.create", g_variant_new_parsed ("{'name': <'x'>, 'no-passphrase': <true>}"), NULL, NULL,
                                     NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_nonnull (strstr (error->message, "vault.json"));
  g_clear_error (&error);
  g_assert_null (sk_session_command (f->fleet->devices[1], "sync", NULL, NULL, NULL, NULL, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_true (g_file_get_contents (keys, &after, &len_after, NULL));
  g_assert_cmpmem (before, len_before, after, len_after);
}

/* What a snapshot is made of: damaged, it helps no newcomer, and the logs it stands for may be gone by then. */
static void
test_snapshot (Fixture *f, gconstpointer data)
{
  for (Damage how = GONE; how < N_DAMAGES; how++)
    for (guint which = 0; which < 2; which++)
      {
        g_autofree char *dir = NULL, *path = NULL;
        g_autoptr(GVariant) repaired = NULL, after = NULL;
        char hex[SK_ID_HEX_SIZE];

        g_setenv ("SKERRY_TEST_SNAPSHOT_TAIL", "1", TRUE);
        sk_put_file (f->dirs[0], "from-a", how == GONE ? "more" : how == EMPTY ? "and more" : "and still more", -1);
        g_variant_unref (sk_fleet_sync (f->fleet, 0));
        sk_id_format (&f->fleet->devices[0]->who.writer, hex);
        dir = which == 0 ? g_strdup ("snap/parts") : g_build_filename ("snap", hex, NULL);
        path = newest_in (f, dir);
        damage (path, how);
        if (how != FLIPPED || which == 1)
          {
            g_autoptr(GVariant) found = sk_fleet_run (f->fleet, 0, "fsck", NULL);

            g_assert_cmpuint (count (found, "problems"), ==, 1);
            g_assert_true (wants_person (found));
          }
        repaired = sk_fleet_run (f->fleet, 0, "storage.verify", "{'all': <true>}");
        g_assert_cmpuint (count (repaired, "bad"), ==, 1);
        g_assert_false (wants_person (repaired));
        after = sk_fleet_run (f->fleet, 0, "storage.verify", "{'all': <true>}");
        g_assert_cmpuint (count (after, "bad"), ==, 0);
        g_unsetenv ("SKERRY_TEST_SNAPSHOT_TAIL");
      }
}

static void
new_epoch (SkSession *session)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(SkKeyring) keys = sk_keyring_with_new_epoch (config->keys);
  g_autoptr(GError) error = NULL;

  sk_home_save_secrets (session->home, SK_KEEP_PLAIN, NULL, session->identity, keys, &error);
  g_assert_no_error (error);
  sk_session_set_keys (session, keys);
  for (guint i = 0; i < config->storages->len; i++)
    {
      sk_membership_put_epoch (session, ((SkFlowStorage *) config->storages->pdata[i])->store, NULL, &error);
      g_assert_no_error (error);
    }
}

/* The object of an epoch that is not the current one any more, with what was written under it: as it was, or not at all. */
static void
test_old_epoch (Fixture *f, gconstpointer data)
{
  g_autofree char *second = g_build_filename (f->fleet->base, "second", NULL), *path = file_in (f, "epochs"), *name = g_path_get_basename (path);
  g_autofree char *vault = g_path_get_basename (f->vault), *copy = g_build_filename (second, vault, "epochs", name, NULL), *bytes = NULL, *put = NULL;
  gsize len = 0, len_put = 0;

  g_assert_true (g_file_get_contents (path, &bytes, &len, NULL));
  g_variant_unref (sk_fleet_run (f->fleet, 0, "storage.add", "{'name': <'second'>, 'uri': <%s>}", second));
  new_epoch (f->fleet->devices[0]);
  g_variant_unref (sk_fleet_sync (f->fleet, 0));
  for (Damage how = GONE; how < N_DAMAGES; how++)
    {
      g_autoptr(GVariant) found = NULL, repaired = NULL, after = NULL;

      damage (path, how);
      found = sk_fleet_run (f->fleet, 0, "fsck", NULL);
      g_assert_cmpuint (count (found, "problems"), ==, 1);
      repaired = sk_fleet_run (f->fleet, 0, "fsck", "{'repair': <true>}");
      g_assert_cmpuint (count (repaired, "problems"), ==, 1);
      g_assert_false (wants_person (repaired));
      after = sk_fleet_run (f->fleet, 0, "storage.verify", "{'all': <true>}");
      g_assert_cmpuint (count (after, "bad"), ==, 0);
    }
  /* Without another one it is told, and nothing is put that was not there. */
  damage (copy, GONE);
  damage (path, GONE);
  {
    g_autoptr(GVariant) left = sk_fleet_run (f->fleet, 0, "fsck", "{'repair': <true>}");

    g_assert_true (wants_person (left));
    g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  }
  g_assert_true (g_file_set_contents (path, bytes, (gssize) len, NULL));
  g_variant_unref (sk_fleet_run (f->fleet, 0, "fsck", "{'repair': <true>}"));
  g_assert_true (g_file_get_contents (copy, &put, &len_put, NULL));
  g_assert_cmpmem (bytes, len, put, len_put);
}

/* What lies beside a segment under a name of its own, whether somebody put it there or a fork did, holds nobody up when it is damaged. */
static void
test_damaged_branch (Fixture *f, gconstpointer data)
{
  static const char *const beside[] = { "0000000000000000", "ffffffffffffffff" };
  char hex[SK_ID_HEX_SIZE];
  g_autofree char *logs = NULL, *last = NULL, *bytes = NULL;
  g_autoptr(GDir) dir = NULL;
  const char *name;
  gsize len;

  sk_put_file (f->dirs[0], "news", "what comes after the fork", -1);
  g_assert_false (sync_wants_person (f, 0));
  sk_id_format (&f->fleet->devices[0]->who.writer, hex);
  logs = g_build_filename (f->vault, "log", hex, NULL);
  dir = g_dir_open (logs, 0, NULL);
  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (last == NULL || strcmp (name, last) > 0)
      {
        g_free (last);
        last = g_strdup (name);
      }
  {
    g_autofree char *path = g_build_filename (logs, last, NULL);

    g_assert_true (g_file_get_contents (path, &bytes, &len, NULL));
  }
  for (guint i = 0; i < G_N_ELEMENTS (beside); i++)
    {
      g_autofree char *other = g_strdup_printf ("%s/%.*s%s", logs, (int) (strlen (last) - 16), last, beside[i]);

      bytes[len / 2] ^= 1;
      g_assert_true (g_file_set_contents (other, bytes, (gssize) len, NULL));
      bytes[len / 2] ^= 1;
    }
  g_assert_false (sync_wants_person (f, 1));
  {
    g_autofree char *text = sk_get_file (f->dirs[1], "news");

    g_assert_cmpstr (text, ==, "what comes after the fork");
  }
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

/* --- heads that are read only when they changed (RULES C10) --- */

static void
make_old (Fixture *f)
{
  g_autofree char *dir = g_build_filename (f->vault, "heads", NULL);
  g_autoptr(GDir) names = g_dir_open (dir, 0, NULL);
  const char *name;

  g_assert_nonnull (names);
  while ((name = g_dir_read_name (names)) != NULL)
    {
      g_autofree char *path = g_build_filename (dir, name, NULL);

      g_assert_cmpint (utimensat (AT_FDCWD, path, (struct timespec[]) { { .tv_sec = 1600000000 }, { .tv_sec = 1600000000 } }, 0), ==, 0);
    }
}

/* GETs of one pass of device 1. */
static guint64
gets_of_sync (Fixture *f)
{
  g_autoptr(SkConfig) config = sk_session_config (f->fleet->devices[1]);
  SkStore *store = ((SkFlowStorage *) config->storages->pdata[0])->store;
  SkStoreCounters before, after;

  sk_store_counters (store, &before);
  g_variant_unref (sk_fleet_sync (f->fleet, 1));
  sk_store_counters (store, &after);
  return after.gets - before.gets;
}

static void
test_unchanged_heads (Fixture *f, gconstpointer data)
{
  guint64 all, later;
  guint read_again = 0;
  g_autofree char *got = NULL;

  make_old (f);
  all = gets_of_sync (f);
  later = gets_of_sync (f);
  g_assert_cmpuint (later + 2, ==, all);
  /* A tag that does not tell the truth is not believed for ever. */
  for (guint i = 0; i < 20; i++)
    read_again += gets_of_sync (f) == all;
  g_assert_cmpuint (read_again, >, 0);
  g_assert_cmpuint (read_again, <=, 4);
  /* A change is seen at once, also when it was made a moment after it was looked at. */
  for (guint i = 0; i < 5; i++)
    {
      g_autofree char *text = g_strdup_printf ("change %u", i);

      sk_put_file (f->dirs[0], "from-a", text, -1);
      g_variant_unref (sk_fleet_sync (f->fleet, 0));
      g_variant_unref (sk_fleet_sync (f->fleet, 1));
      g_free (got);
      got = sk_get_file (f->dirs[1], "from-a");
      g_assert_cmpstr (got, ==, text);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/mend/head", test_head);
  ADD ("/mend/exchanged-head", test_exchanged_head);
  ADD ("/mend/rule-c10/unchanged-heads", test_unchanged_heads);
  ADD ("/mend/epoch", test_epoch);
  ADD ("/mend/members", test_members);
  ADD ("/mend/log", test_log);
  ADD ("/mend/snapshot", test_snapshot);
  ADD ("/mend/old-epoch", test_old_epoch);
  ADD ("/mend/rule-a5/damaged-branch", test_damaged_branch);
  ADD ("/mend/read-only", test_read_only);
  ADD ("/mend/no-config", test_no_config);
  return g_test_run ();
}
