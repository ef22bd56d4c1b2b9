/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-engine.h"

#include <string.h>

#include <glib/gstdio.h>

#include "fake-session.h"
#include "sk-client.h"
#include "sk-engine-mirror.h"
#include "sk-folder.h"
#include "sk-issue.h"
#include "sk-keys.h"

typedef struct { char *dir; char *home; SkEngine *engine; } Fixture;

static void
remove_tree (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR))
        remove_tree (child);
      else
        g_unlink (child);
    }
  g_rmdir (path);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  f->dir = g_dir_make_tmp ("skerry-engine-XXXXXX", NULL);
  f->home = g_build_filename (f->dir, "home", NULL);
}

static void
on_stopped (GObject *source, GAsyncResult *result, gpointer data)
{
  gboolean *stopped = data;

  g_assert_true (sk_engine_stop_finish (SK_ENGINE (source), result, NULL));
  *stopped = TRUE;
}

static void
stop (SkEngine *engine)
{
  gboolean stopped = FALSE;

  sk_engine_stop_async (engine, on_stopped, &stopped);
  fake_wait_until (NULL, stopped);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  if (f->engine != NULL)
    {
      stop (f->engine);
      g_assert_finalize_object (f->engine);
    }
  fake_wait_until (NULL, fake_open_sessions () == 0);
  fake_reset ();
  remove_tree (f->dir);
  g_free (f->dir);
  g_free (f->home);
}

static SkEngineState
state (SkEngine *engine)
{
  SkEngineState value;

  g_object_get (engine, "state", &value, NULL);
  return value;
}

static guint
count (GListModel *list)
{
  return g_list_model_get_n_items (list);
}

static void
start (Fixture *f)
{
  f->engine = sk_engine_new (f->home);
  g_assert_cmpint (state (f->engine), ==, SK_STATE_STARTING);
  fake_wait_until (NULL, state (f->engine) == SK_STATE_NO_VAULT);
  g_assert_true (fake_watching ());
}

#define REPORT(state, folders) \
  "{'state': <'" state "'>, 'message': <'why'>, 'vault': <{'name': <'V'>, 'warning': <'not protected'>}>, 'device': <{'name': <'dev'>}>, " \
  "'n-issues': <uint32 2>, 'rates': <{'up': <uint64 5>, 'down': <uint64 6>}>, 'left': <{'files': <uint64 7>}>, 'folders': <@aa{sv} [" folders "]>, " \
  "'issues': <[{'id': <uint64 12>, 'kind': <'conflict'>, 'path': <b'a\\377'>, 'choices': <['retry']>}]>}"

static void
test_report (Fixture *f, gconstpointer data)
{
  g_autofree char *vault = NULL;
  g_autofree char *device = NULL;
  g_autofree char *warning = NULL;
  g_autofree char *path = NULL;
  g_autofree char *shown = NULL;
  g_auto(GStrv) choices = NULL;
  g_autoptr(SkIssue) issue = NULL;
  g_autoptr(SkItem) folder = NULL;
  guint64 up;
  guint64 files;
  guint n;

  start (f);
  fake_report (REPORT ("syncing", "{'id': <'1'>, 'name': <'Docs'>, 'bytes': <uint64 100>, 'dirty-bytes': <uint64 25>}"));
  fake_wait_until (NULL, state (f->engine) == SK_STATE_SYNCING);
  g_object_get (f->engine, "vault-name", &vault, "device-name", &device, "keys-warning", &warning, "bytes-up-per-second", &up, "left-files", &files,
                "n-issues", &n, NULL);
  g_assert_cmpstr (vault, ==, "V");
  g_assert_cmpstr (device, ==, "dev");
  g_assert_cmpstr (warning, ==, "not protected");
  g_assert_cmpuint (up, ==, 5);
  g_assert_cmpuint (files, ==, 7);
  g_assert_cmpuint (n, ==, 2);
  folder = g_list_model_get_item (sk_engine_get_folders (f->engine), 0);
  g_assert_cmpstr (sk_item_get_string (folder, "name"), ==, "Docs");
  g_assert_cmpfloat_with_epsilon (sk_item_get_double (folder, "progress"), 0.75, 1e-9);
  issue = g_list_model_get_item (sk_engine_get_issues (f->engine), 0);
  g_assert_cmpstr (sk_item_get_id (SK_ITEM (issue)), ==, "12");
  g_object_get (issue, "path", &path, "display-path", &shown, "choices", &choices, NULL);
  g_assert_cmpstr (path, ==, "a\377");
  g_assert_cmpstr (shown, ==, "a\\xff");
  g_assert_cmpstr (choices[0], ==, "retry");
  fake_report ("{'state': <'paused'>}");
  fake_wait_until (NULL, state (f->engine) == SK_STATE_PAUSED);
  g_assert_cmpuint (count (sk_engine_get_folders (f->engine)), ==, 0);
}

/* A thousand reports while main is busy are one change. */
static void
count_notify (GObject *object, GParamSpec *pspec, gpointer data)
{
  guint *n = data;

  (*n)++;
}

static void
test_merged (Fixture *f, gconstpointer data)
{
  guint notified = 0;

  start (f);
  g_signal_connect (f->engine, "notify::state", G_CALLBACK (count_notify), &notified);
  for (guint i = 0; i < 500; i++)
    {
      fake_report ("{'state': <'syncing'>}");
      fake_report ("{'state': <'up-to-date'>}");
    }
  fake_wait_until (NULL, state (f->engine) == SK_STATE_UP_TO_DATE);
  g_assert_cmpuint (notified, ==, 1);
  g_signal_handlers_disconnect_by_data (f->engine, &notified);
}

/* --- commands --- */

typedef struct { GVariant *reply; GError *error; gboolean done; guint progress; } Answer;

static void
on_answer (GObject *source, GAsyncResult *result, gpointer data)
{
  Answer *answer = data;

  g_assert_true (g_main_context_is_owner (g_main_context_default ()));
  answer->reply = sk_engine_command_finish (SK_ENGINE (source), result, &answer->error);
  answer->done = TRUE;
}

static void
on_progress (GVariant *progress, gpointer data)
{
  Answer *answer = data;

  g_assert_false (answer->done);
  answer->progress++;
}

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->reply, g_variant_unref);
  g_clear_error (&answer->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static void
test_commands (Fixture *f, gconstpointer data)
{
  g_auto(Answer) good = { 0 };
  g_auto(Answer) bad = { 0 };
  g_auto(Answer) early = { 0 };
  g_autofree char *args = NULL;

  f->engine = sk_engine_new (f->home);
  sk_engine_command_async (f->engine, "sync", NULL, NULL, on_answer, &early);
  fake_wait_until (NULL, early.done);
  g_assert_error (early.error, SK_ERROR, SK_ERROR_BUSY);
  fake_wait_until (NULL, state (f->engine) == SK_STATE_NO_VAULT);

  fake_reply ("folder.add", "{'folder': <'17'>}");
  fake_progress ("folder.add", "{'done': <uint64 1>}");
  fake_error ("gc", SK_ERROR_NO_SPACE, "The disk is full");
  sk_engine_command_progress_async (f->engine, "folder.add", g_variant_new_parsed ("{'name': <'x'>}"), NULL, on_progress, &good, on_answer, &good);
  sk_engine_command_async (f->engine, "gc", NULL, NULL, on_answer, &bad);
  g_assert_false (good.done);
  fake_wait_until (NULL, good.done && bad.done);
  g_assert_no_error (good.error);
  g_assert_cmpuint (good.progress, ==, 1);
  g_assert_error (bad.error, SK_ERROR, SK_ERROR_NO_SPACE);
  args = fake_args ("folder.add");
  g_assert_cmpstr (args, ==, "{'name': <'x'>}");
}

static void
test_cancel (Fixture *f, gconstpointer data)
{
  g_auto(Answer) first = { 0 };
  g_auto(Answer) second = { 0 };
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();

  start (f);
  fake_reply ("slow", "{}");
  fake_block ("slow");
  sk_engine_command_async (f->engine, "slow", NULL, cancellable, on_answer, &first);
  sk_engine_command_async (f->engine, "slow", NULL, NULL, on_answer, &second);
  fake_wait_until (NULL, fake_waiting () == 2);
  g_cancellable_cancel (cancellable);
  fake_wait_until (NULL, first.done);
  g_assert_error (first.error, SK_ERROR, SK_ERROR_CANCELLED);
  g_assert_false (second.done);

  /* Stopping cancels what is left; its answer comes first. */
  stop (f->engine);
  g_assert_true (second.done);
  g_assert_error (second.error, SK_ERROR, SK_ERROR_CANCELLED);
  g_assert_cmpint (state (f->engine), ==, SK_STATE_STOPPED);
  stop (f->engine);
}

static void
test_locked (Fixture *f, gconstpointer data)
{
  g_autofree char *message = NULL;

  fake_passphrase ("open sesame");
  f->engine = sk_engine_new (f->home);
  fake_wait_until (NULL, state (f->engine) == SK_STATE_LOCKED);
  g_object_get (f->engine, "message", &message, NULL);
  g_assert_cmpstr (message, !=, "");
  sk_engine_unlock (f->engine, "open barley");
  fake_wait_until (NULL, state (f->engine) == SK_STATE_STARTING);
  fake_wait_until (NULL, state (f->engine) == SK_STATE_LOCKED);
  sk_engine_unlock (f->engine, "open sesame");
  fake_wait_until (NULL, state (f->engine) == SK_STATE_NO_VAULT);
}

static void
test_failed (Fixture *f, gconstpointer data)
{
  g_autofree char *message = NULL;
  g_autofree char *file = g_build_filename (f->dir, "file", NULL);

  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  f->engine = sk_engine_new (f->dir);
  fake_wait_until (NULL, state (f->engine) == SK_STATE_FAILED);
  g_object_get (f->engine, "message", &message, NULL);
  g_assert_nonnull (strstr (message, f->dir));
}

/* Another process (here: another client) is the engine: it is joined, and its place is taken when it ends. */
static void
test_joined (Fixture *f, gconstpointer data)
{
  SkClientOptions options = { .home = f->home, .flags = SK_CLIENT_WATCH | SK_CLIENT_SERVE };
  g_autoptr(GError) error = NULL;
  SkClient *other = sk_client_open (&options, NULL, &error);
  g_auto(Answer) answer = { 0 };
  gboolean joined;

  g_assert_no_error (error);
  f->engine = sk_engine_new (f->home);
  fake_wait_until (NULL, state (f->engine) == SK_STATE_NO_VAULT);
  g_object_get (f->engine, "joined", &joined, NULL);
  g_assert_true (joined);
  g_assert_cmpuint (fake_open_sessions (), ==, 1);
  fake_reply ("pause", "{}");
  sk_engine_command_async (f->engine, "pause", NULL, NULL, on_answer, &answer);
  fake_wait_until (NULL, answer.done);
  g_assert_no_error (answer.error);
  fake_report ("{'state': <'offline'>}");
  fake_wait_until (NULL, state (f->engine) == SK_STATE_OFFLINE);

  sk_client_close (other);
  fake_wait_until (NULL, fake_open_sessions () == 1 && state (f->engine) == SK_STATE_OFFLINE);
  g_object_get (f->engine, "joined", &joined, NULL);
  g_assert_false (joined);
  g_assert_true (fake_watching ());
}

/* Dropped without a word, at any moment. */
static void
test_dropped (Fixture *f, gconstpointer data)
{
  guint before = fake_opened ();
  SkEngine *engine = sk_engine_new (f->home);

  g_assert_finalize_object (engine);
  fake_wait_until (NULL, fake_opened () > before && fake_open_sessions () == 0);
  start (f);
  g_assert_finalize_object (g_steal_pointer (&f->engine));
  fake_wait_until (NULL, fake_open_sessions () == 0);

  /* Stopped while it opens. */
  f->engine = sk_engine_new (f->home);
  stop (f->engine);
  g_assert_cmpint (state (f->engine), ==, SK_STATE_STOPPED);
}

/* --- the mirror --- */

typedef struct { guint signals, removed, added; } Changes;

static void
on_items_changed (GListModel *list, guint position, guint removed, guint added, gpointer data)
{
  Changes *changes = data;

  changes->signals++;
  changes->removed += removed;
  changes->added += added;
}

static GVariant *
report_of (const char *ids)
{
  GVariantBuilder list;
  GVariantDict dict;

  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (const char *id = ids; *id != '\0'; id++)
    {
      const char text[2] = { *id, '\0' };

      g_variant_builder_add (&list, "@a{sv}", g_variant_new_parsed ("{'id': <%s>, 'files': <uint64 1>}", text));
    }
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert_value (&dict, "folders", g_variant_builder_end (&list));
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

static void
assert_order (GListModel *list, const char *ids)
{
  g_assert_cmpuint (count (list), ==, strlen (ids));
  for (guint i = 0; ids[i] != '\0'; i++)
    {
      g_autoptr(SkItem) item = g_list_model_get_item (list, i);

      g_assert_cmpint (sk_item_get_id (item)[0], ==, ids[i]);
      g_assert_cmpint (sk_item_get_id (item)[1], ==, 0);
    }
}

static void
apply (SkMirror *mirror, const char *ids)
{
  g_autoptr(GVariant) report = report_of (ids);

  sk_mirror_apply (mirror, report);
  assert_order (sk_mirror_folders (mirror), ids);
}

static void
test_splices (void)
{
  static const struct { const char *before, *after; guint signals, removed, added; } cases[] = {
    { "", "abc", 1, 0, 3 }, { "abc", "abc", 0, 0, 0 }, { "abc", "ab", 1, 1, 0 }, { "abc", "", 1, 3, 0 }, { "abcdef", "af", 1, 4, 0 },
    { "ad", "abcd", 1, 0, 2 }, { "abc", "abxc", 1, 0, 1 }, { "abcde", "bd", 3, 3, 0 }, { "abc", "xyz", 2, 3, 3 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr(SkMirror) mirror = sk_mirror_new ();
      Changes changes = { 0 };

      apply (mirror, cases[i].before);
      g_signal_connect (sk_mirror_folders (mirror), "items-changed", G_CALLBACK (on_items_changed), &changes);
      apply (mirror, cases[i].after);
      g_assert_cmpuint (changes.signals, ==, cases[i].signals);
      g_assert_cmpuint (changes.removed, ==, cases[i].removed);
      g_assert_cmpuint (changes.added, ==, cases[i].added);
    }
}

/* Any list after any other, and objects of the same id stay the same. */
static void
test_random_lists (void)
{
  g_autoptr(SkMirror) mirror = sk_mirror_new ();
  guint32 seed = g_test_rand_int ();
  g_autoptr(GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr(GHashTable) objects = g_hash_table_new (g_direct_hash, g_direct_equal);

  g_test_message ("seed %u", seed);
  for (guint round = 0; round < 500; round++)
    {
      char ids[17] = { 0 };
      guint n = 0;
      g_autoptr(GHashTable) now = g_hash_table_new (g_direct_hash, g_direct_equal);

      for (char id = 'a'; id < 'a' + 16; id++)
        {
          guint at = (guint) g_rand_int_range (rand, 0, (gint) n + 1);

          if (g_rand_boolean (rand))
            continue;
          memmove (ids + at + 1, ids + at, n - at);
          ids[at] = id;
          n++;
        }
      apply (mirror, ids);
      for (guint i = 0; i < n; i++)
        {
          g_autoptr(SkItem) item = g_list_model_get_item (sk_mirror_folders (mirror), i);
          gpointer before = g_hash_table_lookup (objects, GINT_TO_POINTER ((int) ids[i]));

          g_assert_true (before == NULL || before == item);
          g_hash_table_insert (now, GINT_TO_POINTER ((int) ids[i]), item);
        }
      g_hash_table_unref (objects);
      objects = g_steal_pointer (&now);
    }
}

static void
test_notify_on_change (void)
{
  g_autoptr(SkItem) folder = g_object_new (SK_TYPE_FOLDER, NULL);
  g_autoptr(GVariant) first = g_variant_ref_sink (g_variant_new_parsed ("{'id': <'1'>, 'name': <'a'>, 'storages': <['x', 'y']>, 'files': <uint64 2>}"));
  g_autoptr(GVariant) second = g_variant_ref_sink (g_variant_new_parsed ("{'id': <'1'>, 'name': <'b'>, 'storages': <['x', 'y']>, 'files': <uint64 2>}"));
  g_autoptr(GVariant) odd = g_variant_ref_sink (g_variant_new_parsed ("{'id': <'1'>, 'name': <7>, 'files': <'x'>, 'path': <[byte 1, 2]>, 'storages': <1>}"));
  g_autofree char *name = NULL;
  guint notified = 0;

  g_object_get (folder, "name", &name, NULL);
  g_assert_cmpstr (name, ==, "");
  sk_item_update (folder, first);
  g_signal_connect (folder, "notify", G_CALLBACK (count_notify), &notified);
  sk_item_update (folder, first);
  g_assert_cmpuint (notified, ==, 0);
  sk_item_update (folder, second);
  g_assert_cmpuint (notified, ==, 1);
  g_assert_cmpstr (sk_item_get_string (folder, "name"), ==, "b");
  sk_item_update (folder, odd);
  g_assert_cmpstr (sk_item_get_string (folder, "name"), ==, "");
  g_assert_cmpuint (sk_item_get_number (folder, "files"), ==, 0);
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/engine/report", test_report);
  ADD ("/engine/reports-merged", test_merged);
  ADD ("/engine/commands", test_commands);
  ADD ("/engine/cancel", test_cancel);
  ADD ("/engine/locked", test_locked);
  ADD ("/engine/failed", test_failed);
  ADD ("/engine/sit-B096/joined", test_joined);
  ADD ("/engine/dropped", test_dropped);
  g_test_add_func ("/engine/splices", test_splices);
  g_test_add_func ("/engine/random-lists", test_random_lists);
  g_test_add_func ("/engine/notify-on-change", test_notify_on_change);
  return g_test_run ();
}
