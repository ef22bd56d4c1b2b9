/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skerryctl as a whole, in this process, before a scripted session. */
#include "ska-cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>

#include "fake-session.h"
#include "sk-args.h"
#include "sk-keys.h"

typedef struct { char *dir; char *home; } Fixture;

/* What a run gave. */
typedef struct { int status; char *out, *err; } Result;

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
  f->dir = g_dir_make_tmp ("skerry-cli-XXXXXX", NULL);
  f->home = g_build_filename (f->dir, "home", NULL);
  g_assert_cmpint (chdir (f->dir), ==, 0);
  g_unsetenv ("SKERRY_PASSPHRASE_FILE");
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_assert_cmpuint (fake_open_sessions (), ==, 0);
  fake_reset ();
  g_assert_cmpint (chdir ("/"), ==, 0);
  remove_tree (f->dir);
  g_free (f->dir);
  g_free (f->home);
}

static void
result_clear (Result *result)
{
  free (result->out);
  free (result->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Result, result_clear)

/* @words: the command line in shell syntax; "--home" of the fixture is put before it. */
static Result
run_with_input (Fixture *f, const char *words, const char *input)
{
  g_autofree char *line = g_strdup_printf ("skerryctl --home %s %s", f->home, words);
  g_auto(GStrv) argv = NULL;
  g_autoptr(GError) error = NULL;
  Result result = { 0 };
  gsize out_len;
  gsize err_len;
  FILE *in = tmpfile ();
  FILE *out = open_memstream (&result.out, &out_len);
  FILE *err = open_memstream (&result.err, &err_len);
  int argc;

  g_assert_true (g_shell_parse_argv (line, &argc, &argv, &error));
  g_assert_no_error (error);
  fputs (input, in);
  rewind (in);
  result.status = ska_cli_run (argc, argv, in, out, err);
  fclose (in);
  fclose (out);
  fclose (err);
  return result;
}

static Result
run (Fixture *f, const char *words)
{
  return run_with_input (f, words, "");
}

static void
assert_contains (const char *text, const char *part)
{
  if (strstr (text, part) == NULL)
    g_error ("“%s” is not in:\n%s", part, text);
}

static JsonNode *
parse_json (const char *text)
{
  g_autoptr(GError) error = NULL;
  JsonNode *node = json_from_string (text, &error);

  g_assert_no_error (error);
  g_assert_true (g_str_has_suffix (text, "\n"));
  return node;
}

/* --- what goes over the wire --- */

static const struct { const char *line, *wire, *args; } lines[] = {
  { "vault create Family", "vault.create", "{'name': <'Family'>}" },
  { "vault create Family --name nas --no-passphrase", "vault.create", "{'name': <'Family'>, 'device-name': <'nas'>, 'no-passphrase': <true>}" },
  { "--no-passphrase vault create Family", "vault.create", "{'name': <'Family'>, 'no-passphrase': <true>}" },
  { "vault create --passphrase-file pw Family", "vault.create", "{'name': <'Family'>, 'passphrase': <'my secret'>}" },
  { "vault join skerry:abc --name laptop --wait 2m", "vault.join", "{'code': <'skerry:abc'>, 'device-name': <'laptop'>, 'wait': <uint32 120>}" },
  { "vault join --name=laptop -- -odd", "vault.join", "{'code': <'-odd'>, 'device-name': <'laptop'>}" },
  { "vault join -", "vault.join", "{'code': <'from input'>}" },
  { "vault show", "vault.show", "@a{sv} {}" },
  { "vault recovery", "vault.recovery", "@a{sv} {}" },
  { "--passphrase-file pw vault recovery", "vault.recovery", "{'passphrase': <'my secret'>}" },
  { "vault recovery --check --phrase-file words", "vault.recovery", "{'check': <true>, 'phrase': <'one two\\n'>}" },
  { "vault recovery --check", "vault.recovery", "{'check': <true>, 'phrase': <'from input'>}" },
  { "vault recover --storage /s --phrase-file words --name n", "vault.recover",
    "{'storage': <'/s'>, 'phrase': <'one two\\n'>, 'device-name': <'n'>}" },
  { "storage add nas store", "storage.add", "{'name': <'nas'>, 'uri': <'DIR/store'>}" },
  { "storage add nas ../x/./y level=9 verify=off", "storage.add",
    "{'name': <'nas'>, 'uri': <'TMP/x/y'>, 'settings': <{'level': '9', 'verify': 'off'}>}" },
  { "storage add nas file:///mnt/x --credentials-file words", "storage.add",
    "{'name': <'nas'>, 'uri': <'file:///mnt/x'>, 'credentials': <'one two\\n'>}" },
  { "storage list", "storage.list", "@a{sv} {}" },
  { "storage show nas", "storage.show", "{'name': <'nas'>}" },
  { "storage remove nas", "storage.remove", "{'name': <'nas'>}" },
  { "storage set nas price.stored=0.01 concurrency=auto", "storage.set",
    "{'name': <'nas'>, 'settings': <{'price.stored': '0.01', 'concurrency': 'auto'}>}" },
  { "storage verify", "storage.verify", "@a{sv} {}" },
  { "storage verify --all nas", "storage.verify", "{'name': <'nas'>, 'all': <true>}" },
  { "folder add Docs docs", "folder.add", "{'name': <'Docs'>, 'path': <b'DIR/docs'>}" },
  { "folder attach Docs /d --mode receive --only '*.c' --only=b", "folder.attach",
    "{'name': <'Docs'>, 'path': <b'/d'>, 'mode': <'receive'>, 'only': <[b'*.c', b'b']>}" },
  { "folder detach Docs", "folder.detach", "{'name': <'Docs'>}" },
  { "folder list", "folder.list", "@a{sv} {}" },
  { "folder set Docs mode=send", "folder.set", "{'name': <'Docs'>, 'settings': <{'mode': 'send'}>}" },
  { "invite list", "invite.list", "@a{sv} {}" },
  { "device list", "device.list", "@a{sv} {}" },
  { "device show x", "device.show", "{'name': <'x'>}" },
  { "sync", "sync", "@a{sv} {}" },
  { "sync A 'B c' --json", "sync", "{'folders': <['A', 'B c']>}" },
  { "transfers", "transfers", "@a{sv} {}" },
  { "traffic", "traffic", "@a{sv} {}" },
  { "traffic --since @77", "traffic", "{'since': <int64 77>}" },
  { "issues", "issues", "@a{sv} {}" },
  { "activity --limit 3", "activity", "{'limit': <uint32 3>}" },
  { "pause", "pause", "@a{sv} {}" },
  { "pause 1h30m", "pause", "{'seconds': <uint32 5400>}" },
  { "resume", "resume", "@a{sv} {}" },
  { "resolve 12 keep-both", "resolve", "{'issue': <uint64 12>, 'choice': <'keep-both'>}" },
  { "resolve 12 locate here", "resolve", "{'issue': <uint64 12>, 'choice': <'locate'>, 'path': <b'DIR/here'>}" },
  { "undo 5", "undo", "{'activity': <uint64 5>}" },
  { "versions F a/b", "versions", "{'folder': <'F'>, 'path': <b'a/b'>}" },
  { "restore F a/b --version 3f", "restore", "{'folder': <'F'>, 'path': <b'a/b'>, 'version': <'3f'>}" },
  { "restore F --at 2024-05-01T10:00:00Z --to out", "restore", "{'folder': <'F'>, 'at': <int64 1714557600>, 'to': <b'DIR/out'>}" },
  { "fsck --repair", "fsck", "{'repair': <true>}" },
  { "gc --dry-run", "gc", "{'dry-run': <true>}" },
  { "diagnostics report", "diagnostics", "{'file': <b'DIR/report'>}" },
};

static GVariant *
parse_args (Fixture *f, const char *text)
{
  g_autoptr(GString) expanded = g_string_new (text);
  g_autofree char *parent = g_path_get_dirname (f->dir);
  g_autoptr(GError) error = NULL;
  GVariant *args;

  g_string_replace (expanded, "DIR", f->dir, 0);
  g_string_replace (expanded, "TMP", parent, 0);
  args = g_variant_parse (G_VARIANT_TYPE_VARDICT, expanded->str, NULL, NULL, &error);
  g_assert_no_error (error);
  return args;
}

/* The order of keys does not matter. */
static gboolean
same_dictionary (GVariant *a, GVariant *b)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  if (g_variant_n_children (a) != g_variant_n_children (b))
    return FALSE;
  g_variant_iter_init (&iter, a);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      g_autoptr(GVariant) owned = value;
      g_autoptr(GVariant) other = g_variant_lookup_value (b, key, g_variant_get_type (value));

      if (other == NULL || !g_variant_equal (owned, other))
        return FALSE;
    }
  return TRUE;
}

static void
test_wire (Fixture *f, gconstpointer data)
{
  g_assert_true (g_file_set_contents ("pw", "my secret\nsecond line\n", -1, NULL));
  g_assert_true (g_file_set_contents ("words", "one two\n", -1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_auto(Result) result = { 0 };
      g_autoptr(GVariant) wanted = parse_args (f, lines[i].args);
      g_autoptr(GVariant) got = NULL;
      g_autofree char *printed = NULL;
      g_autoptr(GError) error = NULL;

      g_test_message ("%s", lines[i].line);
      fake_reset ();
      fake_reply (lines[i].wire, "{}");
      result = run_with_input (f, lines[i].line, "from input");
      g_assert_cmpstr (result.err, ==, "");
      g_assert_cmpint (result.status, ==, 0);
      printed = fake_args (lines[i].wire);
      g_assert_nonnull (printed);
      got = g_variant_parse (G_VARIANT_TYPE_VARDICT, *printed != '\0' ? printed : "@a{sv} {}", NULL, NULL, &error);
      g_assert_no_error (error);
      if (!same_dictionary (wanted, got))
        g_error ("sent %s", printed);
      g_assert_true (sk_args_check (lines[i].wire, got, &error));
      g_assert_no_error (error);
    }
}

/* Each command of the table is known to the engine, and each of its arguments too. */
static void
test_table (void)
{
  g_autofree const char **names = sk_args_commands ();
  guint n;
  const SkaCommand *commands = ska_commands (&n);

  for (guint i = 0; i < n; i++)
    {
      g_assert_true (commands[i].wire == NULL || g_strv_contains (names, commands[i].wire));
      g_assert_nonnull (commands[i].summary);
      for (const SkaArg *arg = commands[i].args; arg->name != NULL; arg++)
        {
          g_assert_nonnull (arg->help);
          g_assert_true (arg->name[0] != '-' || arg->kind == SKA_FLAG || arg->value != NULL);
          g_assert_true (arg->kind != SKA_CHOICE || arg->choices != NULL);
        }
    }
}

static void
test_odd_bytes (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };
  g_autofree char *args = NULL;

  fake_reply ("versions", "{}");
  result = run (f, "versions F 'caf\xe9/\x01'");
  g_assert_cmpint (result.status, ==, 0);
  args = fake_args ("versions");
  assert_contains (args, "b'caf\\351/\\001'");
}

/* --- usage --- */

static void
assert_usage (Fixture *f, const char *line, const char *part)
{
  g_auto(Result) result = run (f, line);

  g_test_message ("%s", result.err);
  g_assert_cmpint (result.status, ==, 2);
  g_assert_cmpstr (result.out, ==, "");
  assert_contains (result.err, part);
  g_assert_true (g_utf8_validate (result.err, -1, NULL));
}

static void
test_usage (Fixture *f, gconstpointer data)
{
  assert_usage (f, "", "No command");
  assert_usage (f, "nothing", "“nothing”");
  assert_usage (f, "vault", "further word");
  assert_usage (f, "vault nothing", "vault nothing");
  assert_usage (f, "vault create", "NAME");
  assert_usage (f, "vault create A B", "“B”");
  assert_usage (f, "vault create ''", "empty");
  assert_usage (f, "vault create A --nothing", "--nothing");
  assert_usage (f, "vault create A --name", "--name");
  assert_usage (f, "vault create A --name x --name y", "twice");
  assert_usage (f, "--nothing status", "--nothing");
  assert_usage (f, "status --json=x", "no value");
  assert_usage (f, "vault create A --passphrase-file none", "none");
  assert_usage (f, "vault create A --passphrase-file pw --no-passphrase", "Cannot read");
  assert_usage (f, "vault recover --phrase-file x", "Cannot read");
  assert_usage (f, "vault recovery --phrase-file /dev/null --check", "empty");
  assert_usage (f, "vault recovery --phrase-file /dev/null", "--check");
  assert_usage (f, "vault join '\xff'", "CODE");
  assert_usage (f, "storage set nas level", "key=value");
  assert_usage (f, "storage set nas =1", "key=value");
  assert_usage (f, "storage set nas", "key=value");
  assert_usage (f, "folder attach F /x --mode up", "receive");
  assert_usage (f, "resolve 1 nothing", "keep-mine");
  assert_usage (f, "restore F --at yesterday --to /x", "--at");
  assert_usage (f, "sync '\xff\xfe'", "\\xff\\xfe");
  g_assert_false (g_file_test (f->home, G_FILE_TEST_EXISTS));
}

/* 0, -1, huge and text, wherever a number is taken. */
static void
test_numbers (Fixture *f, gconstpointer data)
{
  static const char *const places[] = { "vault join x --wait=%s", "invite --expires=%s", "activity --limit=%s", "pause -- %s", "resolve -- %s retry", "undo -- %s" };
  static const char *const values[] = { "0", "-1", "99999999999999999999999999999999999999", "text", "1e9", "0x10", "1.5", "1 2", "+1", "''", "1y", "inf" };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_auto(GStrv) parts = g_strsplit (places[i], "%s", 2);

      for (guint j = 0; j < G_N_ELEMENTS (values); j++)
        {
          const char *quote = strchr (values[j], ' ') != NULL ? "'" : "";
          g_autofree char *line = g_strconcat (parts[0], quote, values[j], quote, parts[1], NULL);

          assert_usage (f, line, strcmp (values[j], "''") == 0 ? "empty" : "must be");
        }
    }
}

static void
test_help (Fixture *f, gconstpointer data)
{
  guint n;
  const SkaCommand *commands = ska_commands (&n);
  g_auto(Result) all = run (f, "--help");
  g_auto(Result) group = run (f, "storage --help");
  g_auto(Result) word = run (f, "help storage add");
  g_auto(Result) version = run (f, "--version");

  g_assert_cmpint (all.status, ==, 0);
  g_assert_cmpint (group.status, ==, 0);
  assert_contains (group.out, "storage verify");
  g_assert_null (strstr (group.out, "vault create"));
  assert_contains (word.out, "Usage: skerryctl [GLOBAL OPTIONS] storage add NAME URI");
  assert_contains (version.out, "skerryctl ");
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *line = g_strconcat (commands[i].words, " --help", NULL);
      g_autofree char *before = g_strconcat ("-h ", commands[i].words, NULL);
      g_auto(Result) result = run (f, line);
      g_auto(Result) same = run (f, before);

      assert_contains (all.out, commands[i].words);
      g_assert_cmpint (result.status, ==, 0);
      g_assert_cmpstr (result.out, ==, same.out);
      g_assert_cmpstr (result.err, ==, "");
      assert_contains (result.out, commands[i].words);
      for (const SkaArg *arg = commands[i].args; arg->name != NULL; arg++)
        assert_contains (result.out, arg->name);
    }
  g_assert_false (g_file_test (f->home, G_FILE_TEST_EXISTS));
}

/* Man page and completion know every command and every option. */
static void
test_documents (void)
{
  guint n;
  const SkaCommand *commands = ska_commands (&n);
  g_autofree char *man_path = g_build_filename (SK_TEST_DATA_DIR, "skerryctl.1", NULL);
  g_autofree char *completion_path = g_build_filename (SK_TEST_DATA_DIR, "completions", "skerryctl", NULL);
  g_autofree char *man = NULL;
  g_autofree char *completion = NULL;
  g_autoptr(GString) plain = NULL;

  g_assert_true (g_file_get_contents (man_path, &man, NULL, NULL));
  g_assert_true (g_file_get_contents (completion_path, &completion, NULL, NULL));
  plain = g_string_new (man);
  g_string_replace (plain, "\\-", "-", 0);
  for (guint i = 0; i < n; i++)
    {
      g_auto(GStrv) words = g_strsplit (commands[i].words, " ", 0);

      assert_contains (plain->str, commands[i].words);
      for (guint j = 0; words[j] != NULL; j++)
        assert_contains (completion, words[j]);
      for (const SkaArg *arg = commands[i].args; arg->name != NULL; arg++)
        {
          if (arg->name[0] != '-')
            continue;
          assert_contains (plain->str, arg->name);
          assert_contains (completion, arg->name);
        }
    }
}

/* --- results --- */

#define SYNC_REPLY \
  "{'seconds': <1.23456>, 'files': <uint64 3>, 'bytes': <uint64 5000000000>, " \
  "'chunks': <{'needed': <uint64 6>, 'local': <uint64 1>, 'peer': <uint64 2>, 'storage': <uint64 3>}>, " \
  "'sources': <[{'kind': <'storage'>, 'name': <'nas'>, 'path': <''>, 'chunks': <uint64 3>, 'wire_bytes': <uint64 10>, 'requests': <uint64 1>}, " \
  "{'kind': <'device'>, 'name': <'b'>, 'path': <'lan'>, 'chunks': <uint64 2>, 'wire_bytes': <uint64 9>, 'requests': <uint64 1>}]>, " \
  "'failed': <[{'path': <b'caf\\351'>, 'why': <'cannot be read'>, 'folder': <'F'>}]>, " \
  "'sent': <{'files': <uint64 1>}>, 'attention': <true>}"

static void
test_sync_json (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };
  g_autoptr(JsonNode) node = NULL;
  g_autoptr(GList) members = NULL;
  JsonObject *object;
  JsonObject *source;
  JsonObject *failed;

  fake_reply ("sync", SYNC_REPLY);
  result = run (f, "sync --json");
  g_assert_cmpint (result.status, ==, 3);
  g_assert_cmpstr (result.err, ==, "");
  node = parse_json (result.out);
  object = json_node_get_object (node);
  members = json_object_get_members (object);
  g_assert_cmpuint (g_list_length (members), ==, 6);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (object, "seconds"), 1.235, 1e-9);
  g_assert_cmpint (json_object_get_int_member (object, "bytes"), ==, G_GINT64_CONSTANT (5000000000));
  g_assert_cmpint (json_object_get_int_member (json_object_get_object_member (object, "chunks"), "needed"), ==, 6);
  source = json_array_get_object_element (json_object_get_array_member (object, "sources"), 0);
  g_assert_true (json_object_get_null_member (source, "path"));
  source = json_array_get_object_element (json_object_get_array_member (object, "sources"), 1);
  g_assert_cmpstr (json_object_get_string_member (source, "path"), ==, "lan");
  failed = json_array_get_object_element (json_object_get_array_member (object, "failed"), 0);
  g_assert_cmpstr (json_object_get_string_member (failed, "path"), ==, "caf\\xe9");
  g_assert_cmpstr (json_object_get_string_member (failed, "path-bytes"), ==, "Y2Fm6Q==");
}

/* A name may hold every byte but NUL and '/'; what a reader of JSON gets is that name. */
static void
test_json_controls (void)
{
  char name[128] = "";
  g_autoptr(GVariant) value = NULL;
  g_autoptr(JsonNode) node = NULL;
  g_autofree char *text = NULL;

  for (int i = 0; i < 127; i++)
    name[i] = (char) (i + 1);
  value = g_variant_ref_sink (g_variant_new_parsed ("{'p': <%^ay>}", name));
  text = ska_json (value);
  for (const char *p = text; *p != '\0'; p++)
    g_assert_cmpint ((guchar) *p, >=, 0x20);
  node = json_from_string (text, NULL);
  g_assert_nonnull (node);
  g_assert_cmpstr (json_object_get_string_member (json_node_get_object (node), "p"), ==, name);
}

static void
test_json_bytes (void)
{
  static const struct { const char *value, *wanted; } cases[] = {
    { "{'p': <b'plain'>}", "{\"p\":\"plain\"}" },
    { "{'p': <b'back\\\\slash'>}", "{\"p\":\"back\\\\slash\"}" },
    { "{'p': <b'back\\\\\\377'>}", "{\"p\":\"back\\\\x5c\\\\xff\",\"p-bytes\":\"YmFja1z/\"}" },
    { "{'p': <[b'a', b'b']>}", "{\"p\":[\"a\",\"b\"]}" },
    { "{'p': <[b'a', b'\\377']>}", "{\"p\":[\"a\",\"\\\\xff\"],\"p-bytes\":[\"YQ==\",\"/w==\"]}" },
    { "{'l': <[{'p': <b'\\377'>}]>}", "{\"l\":[{\"p\":\"\\\\xff\",\"p-bytes\":\"/w==\"}]}" },
    { "{'n': <uint64 18446744073709551615>, 'u': <uint32 7>, 'b': <false>}", "{\"n\":9223372036854775807,\"u\":7,\"b\":false}" },
    { "{'s': <{'a': 'b'}>, 'e': <@aa{sv} []>, 'l': <['x']>}", "{\"s\":{\"a\":\"b\"},\"e\":[],\"l\":[\"x\"]}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr(GVariant) value = g_variant_parse (G_VARIANT_TYPE_VARDICT, cases[i].value, NULL, NULL, NULL);
      g_autofree char *text = ska_json (value);

      g_assert_cmpstr (text, ==, cases[i].wanted);
    }
}

static void
test_results (Fixture *f, gconstpointer data)
{
  g_auto(Result) failed = { 0 };
  g_auto(Result) json = { 0 };
  g_auto(Result) usage = { 0 };
  g_auto(Result) none = { 0 };
  g_autoptr(JsonNode) node = NULL;
  JsonObject *error;

  fake_error ("gc", SK_ERROR_NO_SPACE, "The disk is full");
  failed = run (f, "gc");
  g_assert_cmpint (failed.status, ==, 1);
  g_assert_cmpstr (failed.err, ==, "skerryctl: The disk is full\n");
  g_assert_cmpstr (failed.out, ==, "");
  json = run (f, "--json gc");
  g_assert_cmpint (json.status, ==, 1);
  node = parse_json (json.out);
  error = json_object_get_object_member (json_node_get_object (node), "error");
  g_assert_cmpstr (json_object_get_string_member (error, "code"), ==, "no-space");
  g_assert_cmpstr (json_object_get_string_member (error, "message"), ==, "The disk is full");
  fake_error ("storage.set", SK_ERROR_USAGE, "There is no setting “x”");
  usage = run (f, "storage set nas x=1");
  g_assert_cmpint (usage.status, ==, 2);

  fake_reply ("issues", "{'issues': <@aa{sv} []>, 'attention': <false>}");
  none = run (f, "issues --json");
  g_assert_cmpint (none.status, ==, 0);
  g_assert_cmpstr (none.out, ==, "{\"issues\":[]}\n");
}

/* No file name reaches the terminal as it is. */
static void
test_hostile_names (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };

  fake_reply ("issues", "{'attention': <true>, 'issues': <[{'id': <uint64 4>, 'kind': <'conflict'>, 'folder': <'F'>, "
                        "'path': <b'a\\033[2J\\n\\377\\342\\200\\256'>, 'text': <'two versions'>, 'since': <int64 1>, 'choices': <['keep-mine', 'keep-both']>}]>}");
  result = run (f, "issues");
  g_assert_cmpint (result.status, ==, 3);
  assert_contains (result.out, "4  F: a\\x1b[2J\\x0a\\xff\\xe2\\x80\\xae: two versions");
  assert_contains (result.out, "resolve 4 keep-mine | keep-both");
  g_assert_null (strchr (result.out, 033));
}

static const struct { const char *line, *wire, *reply, *parts[3]; } printed[] = {
  { "vault create V", "vault.create",
    "{'vault': <'id1'>, 'vault-name': <'V'>, 'device': <'d1'>, 'device-name': <'dev'>, 'keys': <'plain'>, 'warning': <'The keys are not protected'>, 'phrase': <'one two'>}",
    { "V (id1)", "one two\n", "Note: The keys are not protected." } },
  { "vault show", "vault.show", "{'vault-name': <'V'>, 'vault': <'id1'>, 'keys': <'plain'>, 'key-file': <b'/h/keys'>, 'warning': <'Not protected'>, 'phrase-kept': <true>}",
    { "/h/keys", "not protected", "not yet checked" } },
  { "vault recovery", "vault.recovery", "{'phrase': <'one two'>}", { "one two\n", NULL, NULL } },
  { "storage list", "storage.list", "{'storages': <[{'name': <'nas'>, 'state': <'offline'>, 'uri': <'/mnt/nas'>, 'message': <'not mounted'>}]>}",
    { "nas  offline  /mnt/nas  not mounted", NULL, NULL } },
  { "storage set n level=99", "storage.set", "{'settings': <{'level': '19'}>, 'changed': <['“level” was set to 19']>}", { "level=19", "Note: “level” was set to 19.", NULL } },
  { "folder list", "folder.list", "{'folders': <[{'name': <'D'>, 'state': <'up-to-date'>, 'mode': <'both'>, 'files': <uint64 1>, 'bytes': <uint64 1500>, 'path': <b'/d'>}]>}",
    { "1 file", "1.5 kB", "/d" } },
  { "sync", "sync", SYNC_REPLY, { "Received 3 files (5.0 GB; 19 bytes fetched), sent 1 file (0 bytes; 0 bytes stored), in 1.2 s.",
                                  "caf\\xe9: cannot be read", "skerryctl issues" } },
  { "gc", "gc", "{'storages': <[{'name': <'nas'>, 'packs': <uint64 7>, 'condemned': <uint64 2>, 'condemned-bytes': <uint64 2000000>, 'skipped': <''>}]>}",
    { "nas: 7 packs, 2 condemned (2.0 MB)", NULL, NULL } },
  { "activity", "activity", "{'activity': <[{'id': <uint64 9>, 'time': <int64 1714557600>, 'kind': <'received'>, 'folder': <'D'>, 'path': <b'x'>, 'detail': <'from b'>}]>}",
    { "9  2024-05-01", "D: x", "from b" } },
  { "resolve 1 retry", "resolve", "{'left': <uint32 0>}", { "Nothing else", NULL, NULL } },
  { "fsck", "fsck", "{'checked': <uint64 5>, 'problems': <[{'text': <'bad row'>, 'path': <b''>, 'repaired': <true>}]>}", { "bad row (repaired)", "1 problem", NULL } },
};

static void
test_printed (Fixture *f, gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (printed); i++)
    {
      g_auto(Result) result = { 0 };

      fake_reply (printed[i].wire, printed[i].reply);
      result = run (f, printed[i].line);
      g_test_message ("%s\n%s", printed[i].line, result.out);
      g_assert_cmpstr (result.err, ==, "");
      for (guint j = 0; j < G_N_ELEMENTS (printed[i].parts) && printed[i].parts[j] != NULL; j++)
        assert_contains (result.out, printed[i].parts[j]);
    }
}

/* Any printer takes a reply without keys. */
static void
test_empty_replies (Fixture *f, gconstpointer data)
{
  guint n;
  const SkaCommand *commands = ska_commands (&n);
  g_autoptr(GVariant) empty = g_variant_ref_sink (g_variant_new ("a{sv}", NULL));

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = NULL;
      gsize len;
      SkaCli cli = { .out = open_memstream (&text, &len), .command = &commands[i] };

      commands[i].print (&cli, empty);
      fclose (cli.out);
      g_assert_true (g_utf8_validate (text, -1, NULL));
    }
}

static void
test_status (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };

  fake_report ("{'state': <'needs-you'>, 'message': <'2 issues'>, 'running': <true>, 'vault': <{'id': <'1'>, 'name': <'V'>, 'keys': <'plain'>, "
               "'warning': <'The keys are not protected'>}>, 'device': <{'id': <'2'>, 'name': <'dev'>}>, 'n-issues': <uint32 2>, 'attention': <true>, "
               "'folders': <[{'name': <'D'>, 'state': <'syncing'>, 'files': <uint64 3>, 'bytes': <uint64 9>, 'path': <b'/d'>, 'dirty-files': <uint64 2>}]>, "
               "'left': <{'files': <uint64 2>, 'bytes': <uint64 3000000>, 'seconds': <uint64 90>}>}");
  result = run (f, "status");
  g_assert_cmpint (result.status, ==, 3);
  assert_contains (result.out, "Needs you: 2 issues\n");
  assert_contains (result.out, "The keys are not protected");
  assert_contains (result.out, "2 to receive");
  assert_contains (result.out, "To do: 2 files, 3.0 MB, about 1 min 30 s");
  assert_contains (result.out, "2 issues: see");
}

/* --- secrets --- */

static void
test_passphrase (Fixture *f, gconstpointer data)
{
  g_auto(Result) missing = { 0 };
  g_auto(Result) option = { 0 };
  g_auto(Result) environment = { 0 };
  g_auto(Result) input = { 0 };
  g_auto(Result) wrong = { 0 };

  g_assert_true (g_file_set_contents ("pw", "my secret\r\nrest", -1, NULL));
  g_assert_true (g_file_set_contents ("bad", "other", -1, NULL));
  fake_passphrase ("my secret");
  fake_reply ("vault.show", "{}");
  missing = run (f, "vault show");
  g_assert_cmpint (missing.status, ==, 1);
  option = run (f, "vault show --passphrase-file pw");
  g_assert_cmpint (option.status, ==, 0);
  input = run_with_input (f, "vault show --passphrase-file -", "my secret\n");
  g_assert_cmpint (input.status, ==, 0);
  g_setenv ("SKERRY_PASSPHRASE_FILE", "pw", TRUE);
  environment = run (f, "vault show");
  g_assert_cmpint (environment.status, ==, 0);
  wrong = run (f, "--passphrase-file=bad vault show");
  g_assert_cmpint (wrong.status, ==, 1);
  g_assert_null (strstr (wrong.err, "other"));
  g_unsetenv ("SKERRY_PASSPHRASE_FILE");
}

/* --- signals --- */

static gpointer
interrupt_when_waiting (gpointer data)
{
  gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;

  while (fake_waiting () == 0 && g_get_monotonic_time () < end)
    g_usleep (1000);
  kill (getpid (), SIGINT);
  return NULL;
}

static void
test_interrupt (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };
  GThread *thread;

  fake_reply ("sync", "{}");
  fake_block ("sync");
  thread = g_thread_new ("interrupt", interrupt_when_waiting, NULL);
  result = run (f, "sync");
  g_thread_join (thread);
  g_assert_cmpint (result.status, ==, 1);
  assert_contains (result.err, "Cancelled");
}

/* --- two programs on one home --- */

static gpointer
leave_when_waiting (gpointer data)
{
  gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;

  while (fake_waiting () == 0 && g_get_monotonic_time () < end)
    g_usleep (1000);
  sk_client_close (data);
  fake_release ("sync");
  return NULL;
}

/* The program that had the home ends while it does the command of another one: that one goes on alone. */
static void
test_left_alone (Fixture *f, gconstpointer data)
{
  SkClientOptions options = { .home = f->home, .flags = SK_CLIENT_SERVE };
  g_autoptr(GError) error = NULL;
  g_auto(Result) result = { 0 };
  SkClient *first = sk_client_open (&options, NULL, &error);
  GThread *thread;

  g_assert_no_error (error);
  fake_reply ("sync", "{}");
  fake_block ("sync");
  thread = g_thread_new ("leave", leave_when_waiting, first);
  result = run (f, "sync");
  g_thread_join (thread);
  g_assert_cmpstr (result.err, ==, "");
  g_assert_cmpint (result.status, ==, 0);
  g_assert_cmpuint (fake_opened (), >=, 2);
}

/* While "run" runs, other commands go through it; a second "run" is refused and told who is there. */
static gpointer
use_running_engine (gpointer data)
{
  Fixture *f = data;
  g_autofree char *pid = g_strdup_printf ("process %ld)", (long) getpid ());
  gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;
  g_autofree char *socket = g_build_filename (f->home, "control", NULL);

  while ((!fake_watching () || !g_file_test (socket, G_FILE_TEST_EXISTS)) && g_get_monotonic_time () < end)
    g_usleep (1000);
  {
    g_auto(Result) show = run (f, "vault show");
    g_auto(Result) second = run (f, "run");

    g_assert_cmpint (show.status, ==, 0);
    g_assert_cmpint (second.status, ==, 1);
    assert_contains (second.err, pid);
  }
  fake_report ("{'state': <'syncing'>, 'message': <'1 file'>}");
  kill (getpid (), SIGTERM);
  return NULL;
}

static void
test_run (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };
  GThread *thread;

  fake_reply ("vault.show", "{'vault-name': <'V'>}");
  thread = g_thread_new ("user", use_running_engine, f);
  result = run (f, "run --no-lan");
  g_thread_join (thread);
  g_assert_cmpint (result.status, ==, 0);
  assert_contains (result.out, "Skerry runs on ");
  assert_contains (result.out, "no-vault\n");
  assert_contains (result.out, "syncing: 1 file\n");
  g_assert_false (fake_watching ());
}

/* --- invite --- */

static void
test_invite (Fixture *f, gconstpointer data)
{
  g_auto(Result) used = { 0 };
  g_auto(Result) expired = { 0 };
  g_autofree char *args = NULL;
  g_autofree char *wait_args = NULL;

  fake_reply ("invite", "{'invite': <'17'>, 'code': <'skerry:CODE'>, 'expires': <int64 99>, 'storage': <'nas'>}");
  fake_reply ("invite.wait", "{'invite': <'17'>, 'state': <'admitted'>, 'device': <'d'>, 'device-name': <'phone'>}");
  used = run (f, "invite --wait --yes --expires 1h");
  g_assert_cmpint (used.status, ==, 0);
  g_assert_cmpstr (used.out, ==, "skerry:CODE\n");
  assert_contains (used.err, "“phone” is now a device");
  args = fake_args ("invite");
  assert_contains (args, "'yes': <true>");
  assert_contains (args, "'expires': <uint32 3600>");
  wait_args = fake_args ("invite.wait");
  assert_contains (wait_args, "'17'");
  fake_reply ("invite.wait", "{'invite': <'17'>, 'state': <'expired'>}");
  expired = run (f, "invite");
  g_assert_cmpint (expired.status, ==, 1);
  g_assert_cmpstr (expired.out, ==, "skerry:CODE\n");
  assert_contains (expired.err, "No engine runs");
}

static void
test_join_words (Fixture *f, gconstpointer data)
{
  g_auto(Result) result = { 0 };

  fake_progress ("vault.join", "{'text': <'waiting'>, 'words': <'a b c d e f'>}");
  fake_reply ("vault.join", "{'vault-name': <'V'>, 'vault': <'1'>}");
  result = run (f, "vault join skerry:x --no-passphrase");
  g_assert_cmpint (result.status, ==, 0);
  assert_contains (result.err, "  a b c d e f\n");
}

/* --- text --- */

static void
test_text (void)
{
  static const struct { guint64 n; const char *size, *duration; } cases[] = {
    { 0, "0 bytes", "0 s" }, { 1, "1 byte", "1 s" }, { 999, "999 bytes", "16 min 39 s" }, { 1000, "1.0 kB", "16 min 40 s" },
    { 999949, "999.9 kB", "11 days" }, { 999950, "1.0 MB", "11 days" }, { 3600, "3.6 kB", "1 h" }, { 90000, "90.0 kB", "25 h" },
    { G_MAXUINT64, "18.4 EB", "213503982334601 days" },
  };
  guint64 seconds;
  gint64 time;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *size = ska_size (cases[i].n);
      g_autofree char *duration = ska_duration (cases[i].n);

      g_assert_cmpstr (size, ==, cases[i].size);
      g_assert_cmpstr (duration, ==, cases[i].duration);
    }
  g_assert_true (ska_parse_duration ("1w2d", &seconds));
  g_assert_cmpuint (seconds, ==, 9 * 86400);
  g_assert_true (ska_parse_duration ("90", &seconds));
  g_assert_cmpuint (seconds, ==, 90);
  g_assert_false (ska_parse_duration ("", &seconds));
  g_assert_false (ska_parse_duration ("h", &seconds));
  g_assert_false (ska_parse_duration ("1hh", &seconds));
  g_assert_true (ska_parse_time ("2h", 10000, &time));
  g_assert_cmpint (time, ==, 2800);
  g_assert_true (ska_parse_time ("999999w", 10000, &time));
  g_assert_cmpint (time, ==, 0);
  g_assert_true (ska_parse_time ("2024-05-01 12:30", 0, &time));
  g_assert_true (ska_parse_time ("2024-05-01T12:30:05Z", 0, &time));
  g_assert_cmpint (time, ==, 1714566605);
  g_assert_false (ska_parse_time ("2024-13-01", 0, &time));
  g_assert_false (ska_parse_time ("", 0, &time));
  g_assert_false (ska_parse_time ("@-1", 0, &time));
  g_assert_false (ska_parse_time ("2h later", 0, &time));
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("TZ", "UTC", TRUE);
  g_assert_true (sk_crypto_init (NULL));
  ADD ("/cli/wire", test_wire);
  g_test_add_func ("/cli/table", test_table);
  ADD ("/cli/odd-bytes", test_odd_bytes);
  ADD ("/cli/usage", test_usage);
  ADD ("/cli/sit-B184/numbers", test_numbers);
  ADD ("/cli/help", test_help);
  g_test_add_func ("/cli/documents", test_documents);
  ADD ("/cli/sync-json", test_sync_json);
  g_test_add_func ("/cli/json-bytes", test_json_bytes);
  g_test_add_func ("/cli/json-controls", test_json_controls);
  ADD ("/cli/results", test_results);
  ADD ("/cli/hostile-names", test_hostile_names);
  ADD ("/cli/printed", test_printed);
  ADD ("/cli/empty-replies", test_empty_replies);
  ADD ("/cli/rule-b9/status-says-so", test_status);
  ADD ("/cli/passphrase", test_passphrase);
  ADD ("/cli/interrupt", test_interrupt);
  ADD ("/cli/left-alone", test_left_alone);
  ADD ("/cli/sit-B096/run", test_run);
  ADD ("/cli/invite", test_invite);
  ADD ("/cli/join-words", test_join_words);
  g_test_add_func ("/cli/text", test_text);
  return g_test_run ();
}
