/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random lives of three devices. Afterwards, when every entry has reached everybody: all trees are equal, they are what
 * a newcomer sees that gets the same entries in another order, and no content is gone that nobody replaced or deleted. */
#include "pure-model-disk.h"

#include <stdio.h>
#include <stdlib.h>

static void
trace (Model *m, const Device *d, const char *what, const char *path, guint token)
{
  g_string_append_printf (m->trace, "  %c %s %s", d->name, what, path);
  if (token != 0)
    g_string_append_printf (m->trace, " = %u", token);
  g_string_append_c (m->trace, '\n');
}

/* --- a person at one device --- */

static guint
new_token (Model *m)
{
  gboolean no = FALSE;
  guint token;

  if (m->written->len == 0)
    {
      g_array_append_val (m->written, no);    /* 0 is no content */
      g_array_append_val (m->superseded, no);
    }
  token = m->written->len;
  g_array_append_val (m->written, no);
  g_array_append_val (m->superseded, no);
  return token;
}

static void
mark_superseded (Model *m, const Thing *thing)
{
  if (thing->token != 0)
    g_array_index (m->superseded, gboolean, thing->token) = TRUE;
}

/* Removes @path and what is below it. @moved: the content lives on elsewhere. */
static void
person_removes (Model *m, Device *d, const char *path, gboolean moved)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, d->disk);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (sk_path_is_below (key, path))
      {
        if (!moved)
          mark_superseded (m, value);
        g_hash_table_iter_remove (&iter);
      }
}

static void
person_puts (Model *m, Device *d, const char *path, const Thing *thing)
{
  g_autofree char *parent = sk_path_parent (path);
  const Thing *above = parent[0] != '\0' ? g_hash_table_lookup (d->disk, parent) : NULL;
  const Thing *old;

  if (parent[0] != '\0' && (above == NULL || above->kind != SK_KIND_DIR))
    {
      Thing directory = { .kind = SK_KIND_DIR, .mode = 0755 };

      person_puts (m, d, parent, &directory);
    }
  old = g_hash_table_lookup (d->disk, path);
  if (old != NULL && old->kind != thing->kind)
    person_removes (m, d, path, FALSE);
  else if (old != NULL && old->token != thing->token)
    mark_superseded (m, old);
  g_hash_table_insert (d->disk, g_strdup (path), g_memdup2 (thing, sizeof *thing));
}

static const char *
any_path (Model *m)
{
  static const char *const paths[] = { "a", "b", "a/x", "a/y", "b/x", "a/x/z" };

  return paths[g_rand_int_range (m->rand, 0, G_N_ELEMENTS (paths))];
}

/* Something that is on the disk, conflict copies included; NULL when nothing is. */
static char *
existing_path (Model *m, Device *d)
{
  g_autoptr(GPtrArray) paths = sorted_paths (d->disk);

  return paths->len > 0 ? g_strdup (paths->pdata[g_rand_int_range (m->rand, 0, (gint32) paths->len)]) : NULL;
}

static void
person_writes (Model *m, Device *d)
{
  g_autofree char *existing = g_rand_int_range (m->rand, 0, 3) == 0 ? existing_path (m, d) : NULL;
  const char *path = existing != NULL ? existing : any_path (m);
  const Thing *old = g_hash_table_lookup (d->disk, path);
  Thing thing = { .kind = g_rand_int_range (m->rand, 0, 6) == 0 ? SK_KIND_SYMLINK : SK_KIND_FILE, .mtime = (gint64) m->clock };

  thing.mode = old != NULL && old->kind == SK_KIND_FILE ? old->mode : 0644;
  /* Sometimes a content that was somewhere before: put back from a backup, or the same edit on two devices. */
  if (g_rand_int_range (m->rand, 0, 5) == 0 && m->written->len > 1)
    thing.token = (guint) g_rand_int_range (m->rand, 1, (gint32) m->written->len);
  else
    thing.token = new_token (m);
  trace (m, d, thing.kind == SK_KIND_FILE ? "writes" : "links", path, thing.token);
  person_puts (m, d, path, &thing);
}

static void
person_changes_metadata (Model *m, Device *d)
{
  static const guint32 modes[] = { 0644, 0755, 0600, 0700 };
  g_autofree char *path = existing_path (m, d);
  Thing *thing = path != NULL ? g_hash_table_lookup (d->disk, path) : NULL;

  if (thing == NULL)
    return;
  if (g_rand_boolean (m->rand))
    thing->mode = modes[g_rand_int_range (m->rand, 0, G_N_ELEMENTS (modes))];
  else
    thing->mtime = thing->kind == SK_KIND_DIR ? 0 : (gint64) m->clock;
  trace (m, d, "chmods", path, thing->mode);
}

static void
person_moves (Model *m, Device *d)
{
  g_autofree char *from = existing_path (m, d);
  const char *to = any_path (m);
  const Thing *thing = from != NULL ? g_hash_table_lookup (d->disk, from) : NULL;
  Thing moved;

  if (thing == NULL || thing->kind == SK_KIND_DIR || sk_path_is_below (to, from) || sk_path_is_below (from, to))
    return;
  moved = *thing;
  trace (m, d, "moves", from, moved.token);
  trace (m, d, "... to", to, 0);
  person_removes (m, d, from, TRUE);
  person_puts (m, d, to, &moved);
}

static void
person_acts (Model *m, Device *d)
{
  static const Thing directory = { .kind = SK_KIND_DIR, .mode = 0755 };
  g_autofree char *path = NULL;

  switch (g_rand_int_range (m->rand, 0, 10))
    {
    case 0:
    case 1:
      path = existing_path (m, d);
      if (path != NULL)
        {
          trace (m, d, "removes", path, 0);
          person_removes (m, d, path, FALSE);
        }
      break;
    case 2:
      path = g_strdup (any_path (m));
      trace (m, d, "makes directory", path, 0);
      person_puts (m, d, path, &directory);
      break;
    case 3:
      person_changes_metadata (m, d);
      break;
    case 4:
      person_moves (m, d);
      break;
    default:
      person_writes (m, d);
      break;
    }
}

/* --- the machinery, in small random pieces --- */

static void
deliver (Model *m, Device *d, guint per_mille)
{
  g_autoptr(GPtrArray) order = g_ptr_array_copy (m->log, NULL, NULL);

  shuffle (m->rand, order);
  for (guint i = 0; i < order->len; i++)
    if ((guint) g_rand_int_range (m->rand, 0, 1000) < per_mille)
      take_in (d, order->pdata[i]);
}

static void
step (Model *m)
{
  Device *d = &m->devices[g_rand_int_range (m->rand, 0, N_DEVICES)];
  g_autoptr(GPtrArray) paths = NULL;

  m->clock++;
  switch (g_rand_int_range (m->rand, 0, 20))
    {
    case 0:
    case 1:
    case 2:
      trace (m, d, "receives", "some", 0);
      deliver (m, d, 400);
      break;
    case 3:
      trace (m, d, "receives", "all", 0);
      deliver (m, d, 1000);
      break;
    case 4:
    case 5:
      trace (m, d, "scans", "all", 0);
      scan_all (m, d);
      break;
    case 6:
    case 7:
      paths = all_paths (m, d);
      if (paths->len > 0)
        {
          trace (m, d, "scans", paths->pdata[0], 0);
          scan_path (m, d, paths->pdata[0]);
        }
      break;
    case 8:
    case 9:
      trace (m, d, "applies", "all", 0);
      apply_all (m, d);
      break;
    case 10:
    case 11:
      paths = all_paths (m, d);
      for (guint i = 0; i < paths->len && i < 3; i++)
        {
          trace (m, d, "applies", paths->pdata[i], 0);
          apply_path (m, d, paths->pdata[i]);
        }
      break;
    case 12:
      if (g_rand_int_range (m->rand, 0, 4) == 0)
        {
          trace (m, d, "loses", "its state", 0);
          forget_everything (m, d);
        }
      break;
    default:
      person_acts (m, d);
      break;
    }
}

static void
settle (Model *m)
{
  guint rounds = 0;
  gboolean busy;

  do
    {
      guint before = m->log->len;

      busy = FALSE;
      for (guint i = 0; i < N_DEVICES; i++)
        {
          scan_all (m, &m->devices[i]);
          deliver (m, &m->devices[i], 1000);
          busy |= apply_all (m, &m->devices[i]);
        }
      busy |= m->log->len != before;
      g_assert_cmpuint (++rounds, <, 20);    /* devices that answer each other for ever */
    }
  while (busy);
}

/* --- what has to hold --- */

static char *
describe_disk (Device *d)
{
  g_autoptr(GPtrArray) paths = sorted_paths (d->disk);
  g_autoptr(GString) out = g_string_new (NULL);

  for (guint i = 0; i < paths->len; i++)
    {
      const Thing *t = g_hash_table_lookup (d->disk, paths->pdata[i]);

      g_string_append_printf (out, "%s kind %d token %u mode %o mtime %" G_GINT64_FORMAT "\n", (char *) paths->pdata[i], (int) t->kind,
                              t->token, t->kind == SK_KIND_SYMLINK ? 0 : t->mode,
                              t->kind == SK_KIND_FILE ? t->mtime : 0);
    }
  return g_strdup (out->str);
}

/* The tree of somebody who gets the same entries in another order and has nothing of his own. */
static char *
describe_newcomer (Model *m)
{
  Device d = { .name = 'N', .stale = TRUE };
  char *tree;

  d.nodes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, free_node);
  d.disk = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  d.seen = g_hash_table_new (NULL, NULL);
  deliver (m, &d, 1000);
  apply_all (m, &d);
  tree = describe_disk (&d);
  g_hash_table_unref (d.nodes);
  g_hash_table_unref (d.disk);
  g_hash_table_unref (d.seen);
  return tree;
}

static void
collect_tokens (Device *d, GHashTable *tokens)
{
  GHashTableIter iter;
  gpointer thing;

  g_hash_table_iter_init (&iter, d->disk);
  while (g_hash_table_iter_next (&iter, NULL, &thing))
    g_hash_table_add (tokens, GUINT_TO_POINTER (((Thing *) thing)->token));
}

static void
check (Model *m, guint32 seed)
{
  g_autofree char *first = describe_disk (&m->devices[0]);
  g_autofree char *newcomer = describe_newcomer (m);
  g_autoptr(GHashTable) tokens = g_hash_table_new (NULL, NULL);
  g_autofree char *lost = NULL;

  for (guint i = 1; i < N_DEVICES; i++)
    {
      g_autofree char *other = describe_disk (&m->devices[i]);

      if (strcmp (first, other) != 0)
        g_error ("seed %u: trees differ\n%s\nA has\n%s\n%c has\n%s", seed, m->trace->str, first, m->devices[i].name, other);
    }
  if (strcmp (first, newcomer) != 0)
    g_error ("seed %u: order of arrival matters\n%s\nA has\n%s\na newcomer has\n%s", seed, m->trace->str, first, newcomer);

  collect_tokens (&m->devices[0], tokens);
  for (guint token = 1; token < m->written->len; token++)
    if (g_array_index (m->written, gboolean, token) && !g_array_index (m->superseded, gboolean, token)
        && !g_hash_table_contains (tokens, GUINT_TO_POINTER (token)))
      g_error ("seed %u: content %u is gone\n%s\n%s", seed, token, m->trace->str, first);
}

static void
run_one (guint32 seed)
{
  Model *m = model_new (seed);
  guint n = (guint) g_rand_int_range (m->rand, 5, 60);

  for (guint i = 0; i < n; i++)
    step (m);
  settle (m);
  check (m, seed);
  model_free (m);
}

static void
test_random_lives (void)
{
  const char *fixed = g_getenv ("SK_MODEL_SEED");
  const char *many = g_getenv ("SK_MODEL_RUNS");
  guint32 first = fixed != NULL ? (guint32) strtoul (fixed, NULL, 10) : (guint32) g_test_rand_int ();
  guint runs = fixed != NULL ? 1 : many != NULL ? (guint) strtoul (many, NULL, 10) : 2000;

  g_test_message ("seeds from %u; SK_MODEL_SEED=N repeats one", first);
  for (guint i = 0; i < runs; i++)
    run_one (first + i);
}

/* --- lives with a plot --- */

static void
write_file (Model *m, guint device, const char *path, guint token)
{
  Thing thing = { .kind = SK_KIND_FILE, .token = token, .mode = 0644, .mtime = (gint64) ++m->clock };
  const Thing *old = g_hash_table_lookup (m->devices[device].disk, path);

  while (m->written->len <= token)
    new_token (m);
  if (old != NULL)
    thing.mode = old->mode;
  person_puts (m, &m->devices[device], path, &thing);
  scan_all (m, &m->devices[device]);
}

static void
move_file (Model *m, guint device, const char *from, const char *to)
{
  Device *d = &m->devices[device];
  Thing thing = *(Thing *) g_hash_table_lookup (d->disk, from);

  person_removes (m, d, from, TRUE);
  person_puts (m, d, to, &thing);
}

static const Thing *
thing_at (Model *m, guint device, const char *path)
{
  return g_hash_table_lookup (m->devices[device].disk, path);
}

/* The only conflict copy that a device has; "" when it has none. */
static char *
only_copy (Model *m, guint device)
{
  g_autoptr(GPtrArray) paths = sorted_paths (m->devices[device].disk);
  g_autofree char *found = NULL;

  for (guint i = 0; i < paths->len; i++)
    if (sk_is_conflict_name (sk_path_name (paths->pdata[i])))
      {
        g_assert_null (found);
        found = g_strdup (paths->pdata[i]);
      }
  return found != NULL ? g_steal_pointer (&found) : g_strdup ("");
}

static void
assert_token (Model *m, guint device, const char *path, guint token)
{
  const Thing *thing = thing_at (m, device, path);

  g_assert_nonnull (thing);
  g_assert_cmpuint (thing->token, ==, token);
}

static void
test_conflict_and_edit (void)
{
  Model *m = model_new (1);
  g_autofree char *copy = NULL;

  write_file (m, 0, "f", 1);
  write_file (m, 1, "f", 2);
  settle (m);
  copy = only_copy (m, 2);
  assert_token (m, 2, "f", 2);
  assert_token (m, 2, copy, 1);
  write_file (m, 0, "f", 3);    /* the winner is edited by somebody who saw both */
  settle (m);
  assert_token (m, 1, "f", 3);
  assert_token (m, 1, copy, 1);
  write_file (m, 0, copy, 4);   /* and the copy on two devices at once */
  write_file (m, 1, copy, 5);
  settle (m);
  for (guint i = 0; i < N_DEVICES; i++)
    {
      g_assert_cmpuint (g_hash_table_size (m->devices[i].disk), ==, 3);
      assert_token (m, i, copy, 5);
    }
  model_free (m);
}

static void
test_chmod_and_edit (void)
{
  for (guint order = 0; order < 2; order++)
    {
      Model *m = model_new (1);

      write_file (m, 0, "f", 1);
      settle (m);
      if (order == 0)
        write_file (m, 0, "f", 2);
      ((Thing *) thing_at (m, 1, "f"))->mode = 0755;
      scan_all (m, &m->devices[1]);
      if (order == 1)
        write_file (m, 0, "f", 2);
      settle (m);
      for (guint i = 0; i < N_DEVICES; i++)
        {
          assert_token (m, i, "f", 2);
          g_assert_cmpuint (thing_at (m, i, "f")->mode, ==, 0755);
          g_assert_cmpuint (g_hash_table_size (m->devices[i].disk), ==, 1);
        }
      model_free (m);
    }
}

static void
test_stale_files_take_no_name (void)
{
  Model *m = model_new (1);
  g_autofree char *copy = NULL;

  write_file (m, 0, "old", 1);
  write_file (m, 0, "mine", 2);
  settle (m);
  write_file (m, 0, "old", 3);
  write_file (m, 0, "mine", 4);
  deliver (m, &m->devices[1], 1000);    /* known, not yet on the disk; then the state is lost */
  forget_everything (m, &m->devices[1]);
  deliver (m, &m->devices[1], 1000);
  write_file (m, 1, "mine", 5);
  settle (m);
  for (guint i = 0; i < N_DEVICES; i++)
    {
      g_autofree char *one = only_copy (m, i);

      assert_token (m, i, "old", 3);     /* was a known version: no copy */
      assert_token (m, i, "mine", 4);
      assert_token (m, i, one, 5);
    }
  model_free (m);
}

/* mv there and back; the bytes are known and the path is deleted, which must not delete it again. */
static void
test_brought_back (void)
{
  Model *m = model_new (1);

  write_file (m, 0, "f", 1);
  settle (m);
  move_file (m, 0, "f", "g");
  settle (m);
  g_assert_null (thing_at (m, 1, "f"));
  move_file (m, 0, "g", "f");
  settle (m);
  for (guint i = 0; i < N_DEVICES; i++)
    assert_token (m, i, "f", 1);
  move_file (m, 1, "f", "g");
  settle (m);
  move_file (m, 1, "g", "f");    /* put back with the old bytes, while somebody else makes it anew */
  write_file (m, 0, "f", 2);
  settle (m);
  for (guint i = 0; i < N_DEVICES; i++)
    g_assert_cmpuint (g_hash_table_size (m->devices[i].disk), ==, 2);
  model_free (m);
}

/* A directory took the name; its owner empties it and moves the copy back, while somebody fills it again. */
static void
test_copy_moved_back (void)
{
  Model *m = model_new (1);
  g_autofree char *copy = NULL;

  write_file (m, 0, "p", 1);
  write_file (m, 1, "p/x", 2);
  settle (m);
  copy = only_copy (m, 0);
  assert_token (m, 0, copy, 1);
  g_assert_cmpint (thing_at (m, 0, "p")->kind, ==, SK_KIND_DIR);
  person_removes (m, &m->devices[0], "p", FALSE);
  scan_path (m, &m->devices[0], "p/x");    /* now the file has the name again */
  move_file (m, 0, copy, "p");
  scan_path (m, &m->devices[0], "p");
  scan_all (m, &m->devices[0]);
  write_file (m, 1, "p/y", 3);
  settle (m);
  for (guint i = 0; i < N_DEVICES; i++)
    {
      g_autofree char *again = only_copy (m, i);

      assert_token (m, i, "p/y", 3);
      assert_token (m, i, again, 1);
    }
  model_free (m);
}

static void
test_directory_comes_back (void)
{
  Model *m = model_new (1);

  write_file (m, 0, "d/kept", 1);
  write_file (m, 0, "d/gone", 2);
  settle (m);
  write_file (m, 1, "d/kept", 3);
  person_removes (m, &m->devices[0], "d", FALSE);
  settle (m);
  for (guint i = 0; i < N_DEVICES; i++)
    {
      assert_token (m, i, "d/kept", 3);
      g_assert_null (thing_at (m, i, "d/gone"));    /* only what is itself alive */
    }
  model_free (m);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/model/rule-a1/rule-a7/rule-a15/sit-B027/random-lives", test_random_lives);
  g_test_add_func ("/model/rule-a7/sit-B026/conflict-and-edit", test_conflict_and_edit);
  g_test_add_func ("/model/rule-a8/chmod-and-edit", test_chmod_and_edit);
  g_test_add_func ("/model/rule-a6/stale-files-take-no-name", test_stale_files_take_no_name);
  g_test_add_func ("/model/brought-back", test_brought_back);
  g_test_add_func ("/model/rule-a7/copy-moved-back", test_copy_moved_back);
  g_test_add_func ("/model/rule-a15/directory-comes-back", test_directory_comes_back);
  return g_test_run ();
}
