/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-control.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "fake-session.h"
#include "sk-client.h"
#include "sk-home.h"

typedef struct { char *dir; char *home; SkClient *server; GDBusConnection *connection; } Fixture;

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

static SkClient *
open_client (const char *home, SkClientFlags flags, GError **error)
{
  SkClientOptions options = { .home = home, .flags = flags };

  return sk_client_open (&options, NULL, error);
}

/* @data: a long name below the temporary directory, or NULL. */
static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;

  f->dir = g_dir_make_tmp ("skerry-control-XXXXXX", NULL);
  f->home = data == NULL ? g_build_filename (f->dir, "home", NULL)
                         : g_build_filename (f->dir, "a-name-that-is-so-long-that-a-socket-in-a-directory-below-it-cannot-be-named",
                                             "and-another-one-of-that-kind-to-be-quite-sure", "home", NULL);
  f->server = open_client (f->home, SK_CLIENT_WATCH | SK_CLIENT_SERVE, &error);
  g_assert_no_error (error);
  f->connection = sk_control_connect (f->home, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (f->connection);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_clear_object (&f->connection);
  g_clear_pointer (&f->server, sk_client_close);
  g_assert_cmpuint (fake_open_sessions (), ==, 0);
  fake_reset ();
  remove_tree (f->dir);
  g_free (f->dir);
  g_free (f->home);
}

static void
assert_reply (GDBusConnection *connection, const char *name, const char *args, const char *wanted)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GVariant) expected = g_variant_parse (G_VARIANT_TYPE_VARDICT, wanted, NULL, NULL, NULL);

  reply = sk_control_call (connection, name, args != NULL ? g_variant_new_parsed (args) : NULL, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_equal (reply, expected));
}

static void
test_call (Fixture *f, gconstpointer data)
{
  g_autofree char *args = NULL;
  g_autofree char *socket = g_build_filename (f->home, "control", NULL);
  struct stat st;

  g_assert_cmpint (lstat (socket, &st), ==, 0);
  g_assert_true (S_ISSOCK (st.st_mode));
  g_assert_cmpuint (st.st_mode & 07777, ==, 0600);
  g_assert_cmpint (lstat (f->home, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0700);

  fake_reply ("vault.show", "{'name': <'v'>, 'path': <b'\\377x'>, 'n': <uint64 18446744073709551615>}");
  assert_reply (f->connection, "vault.show", "{'a': <'b'>, 'p': <b'\\377'>}", "{'name': <'v'>, 'path': <b'\\377x'>, 'n': <uint64 18446744073709551615>}");
  args = fake_args ("vault.show");
  g_assert_nonnull (strstr (args, "\\377"));
  assert_reply (f->connection, "status", NULL, "{'state': <'no-vault'>}");
}

static void
test_errors (Fixture *f, gconstpointer data)
{
  for (int code = SK_ERROR_FAILED; code <= SK_ERROR_IO; code++)
    {
      g_autoptr(GError) error = NULL;

      fake_error ("x", code, "The disk “ä” is full");
      g_assert_null (sk_control_call (f->connection, "x", NULL, NULL, NULL, NULL, &error));
      g_assert_error (error, SK_ERROR, code);
      g_assert_cmpstr (error->message, ==, "The disk “ä” is full");
    }
}

static void
note_progress (GVariant *progress, gpointer user_data)
{
  GPtrArray *seen = user_data;

  g_ptr_array_add (seen, g_variant_print (progress, FALSE));
}

static void
test_progress (Fixture *f, gconstpointer data)
{
  g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GError) error = NULL;

  fake_progress ("sync", "{'text': <'half'>, 'done': <uint64 1>}");
  fake_reply ("sync", "{'files': <uint64 2>}");
  reply = sk_control_call (f->connection, "sync", NULL, note_progress, seen, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (seen->len, ==, 1);
  g_assert_cmpstr (seen->pdata[0], ==, "{'text': <'half'>, 'done': <uint64 1>}");
}

typedef struct { GDBusConnection *connection; const char *name; GCancellable *cancellable; GVariant *reply; GError *error; gint done; } Caller;

static gpointer
call_in_thread (gpointer data)
{
  Caller *caller = data;

  caller->reply = sk_control_call (caller->connection, caller->name, NULL, NULL, NULL, caller->cancellable, &caller->error);
  g_atomic_int_set (&caller->done, 1);
  return NULL;
}

static void
caller_clear (Caller *caller)
{
  g_clear_error (&caller->error);
  g_clear_pointer (&caller->reply, g_variant_unref);
  g_clear_object (&caller->cancellable);
}

static void
test_cancel (Fixture *f, gconstpointer data)
{
  Caller caller = { .connection = f->connection, .name = "slow", .cancellable = g_cancellable_new () };
  Caller other = { .connection = f->connection, .name = "other", .cancellable = g_cancellable_new () };
  GThread *first;
  GThread *second;

  fake_reply ("slow", "{'x': <true>}");
  fake_reply ("other", "{'x': <true>}");
  fake_block ("slow");
  fake_block ("other");
  first = g_thread_new ("call", call_in_thread, &caller);
  second = g_thread_new ("call", call_in_thread, &other);
  fake_wait_until (NULL, fake_waiting () == 2);

  /* Meanwhile status answers at once. */
  assert_reply (f->connection, "status", NULL, "{'state': <'no-vault'>}");
  g_cancellable_cancel (caller.cancellable);
  g_thread_join (first);
  g_assert_error (caller.error, SK_ERROR, SK_ERROR_CANCELLED);
  g_assert_cmpuint (fake_waiting (), ==, 1);
  fake_release ("other");
  g_thread_join (second);
  g_assert_no_error (other.error);
  g_assert_nonnull (other.reply);
  caller_clear (&caller);
  caller_clear (&other);
}

static void
test_closing_cancels (Fixture *f, gconstpointer data)
{
  g_autoptr(GDBusConnection) second = sk_control_connect (f->home, NULL, NULL);
  Caller caller = { .connection = second, .name = "slow" };
  GThread *thread;

  fake_reply ("slow", "{}");
  fake_block ("slow");
  thread = g_thread_new ("call", call_in_thread, &caller);
  fake_wait_until (NULL, fake_waiting () == 1);
  g_assert_true (g_dbus_connection_close_sync (second, NULL, NULL));
  g_thread_join (thread);
  g_assert_error (caller.error, SK_ERROR, SK_ERROR_IO);
  fake_wait_until (NULL, fake_waiting () == 0);
  caller_clear (&caller);
}

/* The engine ends while a command runs: the command is cancelled and its answer still arrives. */
static void
test_stop_answers (Fixture *f, gconstpointer data)
{
  Caller caller = { .connection = f->connection, .name = "slow" };
  GThread *thread;
  g_autofree char *socket = g_build_filename (f->home, "control", NULL);
  g_autoptr(GError) error = NULL;

  fake_reply ("slow", "{}");
  fake_block ("slow");
  thread = g_thread_new ("call", call_in_thread, &caller);
  fake_wait_until (NULL, fake_waiting () == 1);
  g_clear_pointer (&f->server, sk_client_close);
  g_thread_join (thread);
  g_assert_error (caller.error, SK_ERROR, SK_ERROR_CANCELLED);
  caller_clear (&caller);
  g_assert_false (g_file_test (socket, G_FILE_TEST_EXISTS));
  g_assert_null (sk_control_connect (f->home, NULL, &error));
  g_assert_no_error (error);
}

static void
test_many_calls (Fixture *f, gconstpointer data)
{
  Caller callers[40];
  GThread *threads[40];

  fake_reply ("slow", "{'x': <1>}");
  fake_block ("slow");
  for (guint i = 0; i < G_N_ELEMENTS (callers); i++)
    {
      callers[i] = (Caller) { .connection = f->connection, .name = "slow" };
      threads[i] = g_thread_new ("call", call_in_thread, &callers[i]);
    }
  fake_wait_until (NULL, fake_waiting () == 16);
  assert_reply (f->connection, "status", NULL, "{'state': <'no-vault'>}");
  g_assert_cmpuint (fake_waiting (), ==, 16);
  fake_release ("slow");
  for (guint i = 0; i < G_N_ELEMENTS (callers); i++)
    {
      g_thread_join (threads[i]);
      g_assert_no_error (callers[i].error);
      caller_clear (&callers[i]);
    }
}

static void
count (gpointer user_data)
{
  g_atomic_int_inc ((gint *) user_data);
}

static gboolean
state_is (SkClient *client, const char *state)
{
  g_autoptr(GVariant) report = sk_client_report (client);
  const char *found = "";

  g_variant_lookup (report, "state", "&s", &found);
  return strcmp (found, state) == 0;
}

static void
test_reports (Fixture *f, gconstpointer data)
{
  gint reports = 0;
  gint lost = 0;
  SkClientOptions options = { .home = f->home, .report = count, .user_data = &reports };
  SkClient *client;
  g_autoptr(GError) error = NULL;

  client = sk_client_open (&options, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sk_client_is_remote (client));
  g_assert_true (state_is (client, "no-vault"));
  fake_report ("{'state': <'syncing'>}");
  fake_wait_until (NULL, g_atomic_int_get (&reports) == 1);
  g_assert_true (state_is (client, "syncing"));
  sk_client_close (client);

  options.report = count;
  options.lost = count;
  options.user_data = &lost;
  client = sk_client_open (&options, NULL, &error);
  g_assert_no_error (error);
  g_clear_pointer (&f->server, sk_client_close);
  fake_wait_until (NULL, g_atomic_int_get (&lost) == 1);
  sk_client_close (client);
}

/* The second program on a home joins; one that insists on being the engine is refused and told who has it. */
static void
test_second (Fixture *f, gconstpointer data)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(SkClient) second = open_client (f->home, SK_CLIENT_SERVE, &error);
  g_autofree char *pid = g_strdup_printf ("process %ld)", (long) getpid ());

  g_assert_no_error (error);
  g_assert_true (sk_client_is_remote (second));
  g_assert_cmpuint (fake_open_sessions (), ==, 1);
  g_assert_null (open_client (f->home, SK_CLIENT_WATCH | SK_CLIENT_SERVE | SK_CLIENT_ALONE, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  g_assert_nonnull (strstr (error->message, pid));
}

/* What a killed engine leaves. */
static void
test_stale (void)
{
  g_autofree char *dir = g_dir_make_tmp ("skerry-control-XXXXXX", NULL);
  g_autofree char *home = g_build_filename (dir, "home", NULL);
  g_autofree char *socket_path = g_build_filename (home, "control", NULL);
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autoptr(GError) error = NULL;
  g_autoptr(SkClient) server = NULL;
  g_autoptr(GDBusConnection) connection = NULL;
  int fd;

  g_assert_null (sk_control_connect (home, NULL, &error));
  g_assert_no_error (error);
  sk_home_close (sk_home_open (home, NULL));
  g_strlcpy (address.sun_path, socket_path, sizeof address.sun_path);
  fd = socket (AF_UNIX, SOCK_STREAM, 0);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  close (fd);
  g_assert_null (sk_control_connect (home, NULL, &error));
  g_assert_no_error (error);

  server = open_client (home, SK_CLIENT_SERVE, &error);
  g_assert_no_error (error);
  connection = sk_control_connect (home, NULL, &error);
  g_assert_no_error (error);
  assert_reply (connection, "report", NULL, "{'state': <'no-vault'>}");
  g_clear_object (&connection);
  g_clear_pointer (&server, sk_client_close);
  fake_reset ();
  remove_tree (dir);
}

static void
send_line (int fd, const char *text)
{
  g_assert_cmpint (write (fd, text, strlen (text)), ==, (int) strlen (text));
}

/* Nobody is let in without EXTERNAL and our own uid: what an unauthenticated or a lying peer gets is REJECTED. */
static void
test_authentication (Fixture *f, gconstpointer data)
{
  static const char *const attempts[] = {
    "AUTH ANONYMOUS\r\n",
    "AUTH DBUS_COOKIE_SHA1 30\r\n",
    "AUTH EXTERNAL 3939393939\r\n",    /* uid 99999 */
  };
  g_autofree char *path = g_build_filename (f->home, "control", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (attempts); i++)
    {
      struct sockaddr_un address = { .sun_family = AF_UNIX };
      char answer[200] = { 0 };
      gsize len = 0;
      int fd = socket (AF_UNIX, SOCK_STREAM, 0);

      g_strlcpy (address.sun_path, path, sizeof address.sun_path);
      g_assert_cmpint (connect (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
      g_assert_cmpint (write (fd, "", 1), ==, 1);
      send_line (fd, attempts[i]);
      while (len + 1 < sizeof answer && strchr (answer, '\n') == NULL)
        {
          gssize n = read (fd, answer + len, sizeof answer - 1 - len);

          g_assert_cmpint (n, >, 0);
          len += (gsize) n;
        }
      g_assert_true (g_str_has_prefix (answer, "REJECTED"));
      g_assert_null (strstr (answer, "ANONYMOUS"));
      g_assert_null (strstr (answer, "COOKIE"));
      close (fd);
    }
}

/* Calls that are no calls of ours end in an error, not in the engine. */
static void
test_hostile (Fixture *f, gconstpointer data)
{
  static const char *const bodies[] = { "('x',)", "('x', 1)", "(1, @a{sv} {})", "('x', {'a': 1})", "()" };
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) cancelled = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      g_autoptr(GVariant) reply = NULL;

      reply = g_dbus_connection_call_sync (f->connection, NULL, SK_CONTROL_PATH, SK_CONTROL_INTERFACE, "Call",
                                           g_variant_new_parsed (bodies[i]), NULL, 0, -1, NULL, &error);
      g_assert_null (reply);
      g_assert_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS);
      g_clear_error (&error);
    }
  cancelled = g_dbus_connection_call_sync (f->connection, NULL, SK_CONTROL_PATH, SK_CONTROL_INTERFACE, "Cancel",
                                           g_variant_new ("(u)", 4000000000u), NULL, 0, -1, NULL, &error);
  g_assert_no_error (error);
}

/* --- an engine that says nothing --- */

#define SILENCE_MS 500                   /* long enough for a busy machine to answer a ping */

static const char *self_path;

/* The engine is a process of its own: this program, started again. It ends when its input does. */
static int
run_engine (const char *home)
{
  g_autoptr(GError) error = NULL;
  SkClient *server = open_client (home, SK_CLIENT_WATCH | SK_CLIENT_SERVE, &error);
  char end;

  g_assert_no_error (error);
  fake_reply ("vault.show", "{'name': <'v'>}");
  fake_reply ("slow", "{'took': <'long'>}");
  fake_block ("slow");
  g_assert_cmpint (write (STDOUT_FILENO, "!", 1), ==, 1);
  g_assert_cmpint (read (STDIN_FILENO, &end, 1), ==, 1);      /* "slow" is being waited for */
  g_usleep (5 * SILENCE_MS / 2 * G_TIME_SPAN_MILLISECOND);
  fake_release ("slow");
  while (read (STDIN_FILENO, &end, 1) > 0)
    ;
  sk_client_close (server);
  return 0;
}

static void
assert_names_process (const GError *error, GPid pid)
{
  g_autofree char *named = g_strdup_printf ("(process %d)", (int) pid), *help = g_strdup_printf ("kill -CONT %d", (int) pid);

  g_assert_error (error, SK_ERROR, SK_ERROR_BUSY);
  g_assert_nonnull (strstr (error->message, named));
  g_assert_nonnull (strstr (error->message, help));
}

static void
test_stopped (void)
{
  g_autofree char *dir = g_dir_make_tmp ("skerry-control-XXXXXX", NULL), *home = g_build_filename (dir, "home", NULL);
  const char *argv[] = { self_path, "--engine", home, NULL };
  g_autoptr(GDBusConnection) connection = NULL;
  g_autoptr(GError) error = NULL;
  gint64 begin;
  GPid pid;
  int in, out, status;
  char ready;

  g_setenv ("SKERRY_TEST_SILENCE_MS", G_STRINGIFY (SILENCE_MS), TRUE);
  g_spawn_async_with_pipes (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &in, &out, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (read (out, &ready, 1), ==, 1);
  connection = sk_control_connect (home, NULL, &error);
  g_assert_no_error (error);
  assert_reply (connection, "vault.show", NULL, "{'name': <'v'>}");
  /* A command that says nothing for long is not cut off. */
  g_assert_cmpint (write (in, "s", 1), ==, 1);
  begin = g_get_monotonic_time ();
  assert_reply (connection, "slow", NULL, "{'took': <'long'>}");
  g_assert_cmpint (g_get_monotonic_time () - begin, >=, 2 * SILENCE_MS * G_TIME_SPAN_MILLISECOND);

  g_assert_cmpint (kill (pid, SIGSTOP), ==, 0);
  g_assert_cmpint (waitpid (pid, &status, WUNTRACED), ==, pid);      /* until then it may still answer */
  g_assert_true (WIFSTOPPED (status));
  begin = g_get_monotonic_time ();
  g_assert_null (sk_control_call (connection, "vault.show", NULL, NULL, NULL, NULL, &error));
  assert_names_process (error, pid);
  g_clear_error (&error);
  g_assert_null (sk_control_connect (home, NULL, &error));
  assert_names_process (error, pid);
  g_clear_error (&error);
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 6 * G_USEC_PER_SEC);
  /* And it goes on when the process does. */
  g_assert_cmpint (kill (pid, SIGCONT), ==, 0);
  assert_reply (connection, "vault.show", NULL, "{'name': <'v'>}");
  g_clear_object (&connection);
  close (in);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  close (out);
  g_unsetenv ("SKERRY_TEST_SILENCE_MS");
  remove_tree (dir);
}

#define ADD(path, data, func) g_test_add (path, Fixture, data, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  self_path = argv[0];
  if (argc == 3 && g_str_equal (argv[1], "--engine"))
    return run_engine (argv[2]);
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/control/call", NULL, test_call);
  ADD ("/control/call-long-home", "long", test_call);
  ADD ("/control/errors", NULL, test_errors);
  ADD ("/control/progress", NULL, test_progress);
  ADD ("/control/cancel", NULL, test_cancel);
  ADD ("/control/closing-cancels", NULL, test_closing_cancels);
  ADD ("/control/stop-answers", NULL, test_stop_answers);
  ADD ("/control/many-calls", NULL, test_many_calls);
  ADD ("/control/reports", NULL, test_reports);
  ADD ("/control/sit-B096/second-joins-or-is-refused", NULL, test_second);
  ADD ("/control/authentication", NULL, test_authentication);
  ADD ("/control/hostile", NULL, test_hostile);
  g_test_add_func ("/control/stale-socket", test_stale);
  g_test_add_func ("/control/stopped-engine-is-named", test_stopped);
  return g_test_run ();
}
