/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Somebody else writes to the same path between two of our calls (RULES A11), on file systems that
 * can exchange names, that can only link, and that can do neither (RULES C16). */
#include "write-support.h"

enum
{
  EXCHANGE,
  LINK,
  NEITHER,
  WAYS
};

typedef struct
{
  Tree *tree;
  const char *path;
  const char *when[2]; /* points */
  const char *what[2]; /* text to save; NULL: remove; "+": append in place; "": nothing */
  guint next;
} Person;

static void
person_acts (const char *point, gpointer data)
{
  Person *self = data;
  const char *what;

  if (self->next >= G_N_ELEMENTS (self->when) || g_strcmp0 (point, self->when[self->next]) != 0)
    return;
  what = self->what[self->next++];
  if (what == NULL)
    person_removes (self->tree, self->path);
  else if (strcmp (what, "+") == 0)
    {
      g_autofree char *full = tree_path (self->tree, self->path);
      FILE *file = fopen (full, "ae");

      fputs ("+", file);
      fclose (file);
    }
  else if (what[0] != '\0')
    person_saves (self->tree, self->path, what);
}

static Tree *
tree_for (int way)
{
  Tree *tree = tree_new_prepared ();

  sk_write_hooks.refuse_flags = way != EXCHANGE;
  sk_write_hooks.refuse_links = way == NEITHER;
  return tree;
}

static void
watch (Person *person)
{
  sk_write_hooks.at = person_acts;
  sk_write_hooks.data = person;
}

static guint
trash_count (Tree *tree, const char *text)
{
  g_autoptr(GPtrArray) items = sk_trash_list (tree->root, NULL);
  guint count = 0;

  for (guint i = 0; i < items->len; i++)
    {
      const SkTrashItem *item = g_ptr_array_index (items, i);
      g_autofree char *path = g_build_filename (SK_OWN_TRASH, item->batch, item->path, NULL);
      g_autofree char *held = tree_read (tree, path);

      count += strcmp (held, text) == 0;
    }
  return count;
}

/* The save comes at any point before ours is there: it stays, whichever way. */
static void
test_save_before_replace (void)
{
  static const char *const saves[] = { "saved", "+" };

  for (int way = 0; way < WAYS; way++)
    for (guint i = 0; i < G_N_ELEMENTS (saves); i++)
      {
        g_autoptr(Tree) tree = tree_for (way);
        g_autoptr(GError) error = NULL;
        SkStat old = given (tree, "f", "old"), out;
        Person person = { tree, "f", { "checked" }, { saves[i] }, 0 };

        watch (&person);
        g_assert_false (write_small (tree, "f", "new", &old, &out, &error));
        assert_code (error, SK_ERROR_CHANGED, "\"f\"");
        g_assert_cmpuint (person.next, ==, 1);
        assert_text (tree, "f", i == 0 ? "saved" : "old+");
        assert_tmp_empty (tree);
        g_assert_cmpuint (trash_count (tree, "new"), ==, 0);
      }
}

/* The new file is written into as soon as it is in its place: the numbers that are told must not be
 * those of the edit, or no scan would ever notice it. */
static void
test_edit_of_what_just_came (void)
{
  g_autoptr(Tree) tree = tree_for (EXCHANGE);
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "old"), out, there;
  Person person = { tree, "f", { "swapped" }, { "+" } };

  watch (&person);
  g_assert_true (write_small (tree, "f", "new", &old, &out, &error));
  g_assert_no_error (error);
  assert_text (tree, "f", "new+");
  there = tree_stat (tree, "f");
  g_assert_false (sk_stat_same (&out, &there));
}

static void
test_save_while_linking (void)
{
  g_autoptr(Tree) tree = tree_for (LINK);
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "old"), out;
  Person person = { tree, "f", { "linked" }, { "saved" }, 0 };

  watch (&person);
  g_assert_false (write_small (tree, "f", "new", &old, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  assert_text (tree, "f", "saved");
  assert_tmp_empty (tree);
}

static void
test_save_while_moving (void)
{
  g_autoptr(Tree) tree = tree_for (NEITHER);
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "old"), out;
  Person person = { tree, "f", { "moved" }, { "saved" }, 0 };

  watch (&person);
  g_assert_false (write_small (tree, "f", "new", &old, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  assert_text (tree, "f", "saved");
  g_assert_cmpuint (trash_count (tree, "old"), ==, 1);
}

/* Saved before the exchange, and again before it was undone: the last save is at its place, the one
 * before in the trash. */
static void
test_save_twice (void)
{
  static const char *const second[] = { "swapped", "back" };

  for (guint i = 0; i < G_N_ELEMENTS (second); i++)
    {
      g_autoptr(Tree) tree = tree_for (EXCHANGE);
      g_autoptr(GError) error = NULL;
      SkStat old = given (tree, "f", "old"), out;
      Person person = { tree, "f", { "checked", second[i] }, { "first save", "second save" }, 0 };

      watch (&person);
      g_assert_false (write_small (tree, "f", "new", &old, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      g_assert_cmpuint (person.next, ==, 2);
      assert_text (tree, "f", "second save");
      g_assert_cmpuint (trash_count (tree, "first save"), ==, i == 0 ? 1 : 0);
      assert_tmp_empty (tree);
    }
}

/* Saved and removed by the person: no file, and the save in the trash. */
static void
test_save_and_remove (void)
{
  g_autoptr(Tree) tree = tree_for (EXCHANGE);
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "old"), out;
  Person person = { tree, "f", { "checked", "swapped" }, { "saved", NULL }, 0 };

  watch (&person);
  g_assert_false (write_small (tree, "f", "new", &old, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  g_assert_false (tree_has (tree, "f"));
  g_assert_cmpuint (trash_count (tree, "saved"), ==, 1);
}

static void
test_removed_before_replace (void)
{
  for (int way = 0; way < WAYS; way++)
    {
      g_autoptr(Tree) tree = tree_for (way);
      g_autoptr(GError) error = NULL;
      SkStat old = given (tree, "f", "old"), out;
      Person person = { tree, "f", { "checked" }, { NULL }, 0 };

      watch (&person);
      g_assert_false (write_small (tree, "f", "new", &old, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      g_assert_false (tree_has (tree, "f"));
      assert_tmp_empty (tree);
      g_assert_cmpuint (trash_count (tree, "new"), ==, 0);
    }
}

static void
test_save_before_remove (void)
{
  static const char *const saves[] = { "saved", "+" };

  for (int way = 0; way < WAYS; way++)
    for (guint i = 0; i < G_N_ELEMENTS (saves); i++)
      {
        g_autoptr(Tree) tree = tree_for (way);
        g_autoptr(GError) error = NULL;
        SkStat old = given (tree, "f", "old");
        Person person = { tree, "f", { "checked" }, { saves[i] }, 0 };

        watch (&person);
        g_assert_false (sk_target_remove (tree->root, "f", &old, BATCH, &error));
        assert_code (error, SK_ERROR_CHANGED, "\"f\"");
        assert_text (tree, "f", i == 0 ? "saved" : "old+");
      }
}

/* Saved before the removal and again after it: both are kept. */
static void
test_save_around_remove (void)
{
  for (int way = 0; way < WAYS; way++)
    {
      g_autoptr(Tree) tree = tree_for (way);
      g_autoptr(GError) error = NULL;
      SkStat old = given (tree, "f", "old");
      Person person = { tree, "f", { "checked", "swapped" }, { "first save", "second save" }, 0 };

      watch (&person);
      g_assert_false (sk_target_remove (tree->root, "f", &old, BATCH, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      assert_text (tree, "f", "second save");
      g_assert_cmpuint (trash_count (tree, "first save"), ==, 1);
    }
}

static void
test_save_before_rename (void)
{
  for (int way = 0; way < WAYS; way++)
    for (guint replaced = 0; replaced < 2; replaced++)
      {
        g_autoptr(Tree) tree = tree_for (way);
        g_autoptr(GError) error = NULL;
        SkStat from = given (tree, "a", "A"), to = given (tree, "b", "B"), out;
        Person person = { tree, "a", { "checked" }, { "saved" }, 0 };

        watch (&person);
        g_assert_false (sk_target_rename (tree->root, "a", &from, replaced ? "b" : "c",
                                          replaced ? &to : NULL, NULL, BATCH, &out, &error));
        assert_code (error, SK_ERROR_CHANGED, "");
        assert_text (tree, "a", "saved");
        assert_text (tree, "b", "B");
        g_assert_false (tree_has (tree, "c"));
        assert_tmp_empty (tree);
      }
}

/* Saved before the move and again after it: both are there, the first one in the trash or, where it
 * was moved in one step, at the new name. */
static void
test_save_around_rename (void)
{
  for (int way = 0; way < WAYS; way++)
    for (guint replaced = 0; replaced < 2; replaced++)
      {
        g_autoptr(Tree) tree = tree_for (way);
        g_autoptr(GError) error = NULL;
        SkStat from = given (tree, "a", "A"), to = given (tree, "b", "B"), out;
        Person person = { tree, "a", { "checked", "swapped" }, { "first save", "second save" }, 0 };

        sk_root_test_abilities (tree->root)->rename_noreplace = way == EXCHANGE;
        watch (&person);
        g_assert_false (sk_target_rename (tree->root, "a", &from, replaced ? "b" : "c",
                                          replaced ? &to : NULL, NULL, BATCH, &out, &error));
        assert_code (error, SK_ERROR_CHANGED, "");
        g_assert_cmpuint (person.next, ==, 2);
        assert_text (tree, "a", "second save");
        assert_text (tree, "b", "B");
        if (way == EXCHANGE && !replaced)
          assert_text (tree, "c", "first save");
        else
          g_assert_cmpuint (trash_count (tree, "first save"), ==, 1);
        assert_tmp_empty (tree);
      }
}

/* The file at the new name is saved meanwhile: before it was looked at, and after. */
static void
test_save_at_rename_target (void)
{
  static const char *const when[] = { "swapped", "checked" };

  for (int way = 0; way < WAYS; way++)
    for (guint i = 0; i < G_N_ELEMENTS (when); i++)
      {
        g_autoptr(Tree) tree = tree_for (way);
        g_autoptr(GError) error = NULL;
        SkStat from = given (tree, "a", "A"), to = given (tree, "b", "B"), out;
        /* The first "checked" is that of the source. */
        Person person = { tree, "b", { "checked", when[i] }, { "", "saved" }, 0 };

        watch (&person);
        g_assert_false (
            sk_target_rename (tree->root, "a", &from, "b", &to, NULL, BATCH, &out, &error));
        assert_code (error, SK_ERROR_CHANGED, "\"b\"");
        g_assert_cmpuint (person.next, ==, 2);
        assert_text (tree, "b", "saved");
        assert_text (tree, "a", "A");
        assert_tmp_empty (tree);
      }
}

/* Creation does not replace what appeared meanwhile. */
static void
test_appears_before_create (void)
{
  for (int way = 0; way < WAYS; way++)
    {
      g_autoptr(Tree) tree = tree_for (way);
      g_autoptr(GError) error = NULL;
      SkStat out;

      tree_text (tree, "f", "mine");
      g_assert_false (write_small (tree, "f", "new", NULL, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      g_assert_false (sk_target_symlink (tree->root, "f", "x", NULL, 0, BATCH, &out, &error));
      assert_code (error, SK_ERROR_CHANGED, "\"f\"");
      assert_text (tree, "f", "mine");
      assert_tmp_empty (tree);
    }
}

/* An edit just before the mtime would be set over it stays visible. */
static void
test_edit_before_meta (void)
{
  g_autoptr(Tree) tree = tree_new_prepared ();
  g_autoptr(GError) error = NULL;
  SkStat old = given (tree, "f", "old"), out;
  Person person = { tree, "f", { "checked" }, { "+" }, 0 };

  watch (&person);
  g_assert_false (
      sk_target_set_meta (tree->root, "f", &old, &(SkMeta) { 0600, 1, NULL }, &out, &error));
  assert_code (error, SK_ERROR_CHANGED, "\"f\"");
  g_assert_cmpint (tree_stat (tree, "f").mtime, >, old.mtime);
  g_assert_cmpuint (tree_stat (tree, "f").mode, ==, old.mode);
}

/* Everything works where the kernel, a filter or the file system says no to flags and links. */
static void
test_fallbacks (void)
{
  for (int way = 0; way < WAYS; way++)
    for (guint probed = 0; probed < 2; probed++)
      {
        g_autoptr(Tree) tree = tree_for (way);
        g_autoptr(GError) error = NULL;
        SkStat out, old;

        /* Known from the probe, or found out in the act. */
        if (probed == 1 && way != EXCHANGE)
          sk_root_test_abilities (tree->root)->rename_exchange
              = sk_root_test_abilities (tree->root)->rename_noreplace = FALSE;
        old = given (tree, "f", "one");
        g_assert_true (write_small (tree, "f", "two", &old, &out, &error));
        g_assert_no_error (error);
        assert_text (tree, "f", "two");
        assert_trash (tree, "f", "one");
        g_assert_cmpuint (tree_stat (tree, SK_OWN_TRASH "/" BATCH "/f").nlink, ==, 1);
        g_assert_true (sk_target_symlink (tree->root, "f", "x", &out, 0, BATCH, &out, &error));
        g_assert_no_error (error);
        g_assert_cmpuint (trash_count (tree, "two"), ==, 1);
        g_assert_true (sk_target_remove (tree->root, "f", &out, BATCH, &error));
        g_assert_no_error (error);
        g_assert_false (tree_has (tree, "f"));
        assert_tmp_empty (tree);
      }
}

/* ---- the old version stays readable ---- */

typedef struct
{
  Tree *tree;
  gint stop;
  guint reads, missing, wrong;
} Reader;

static gpointer
read_on (gpointer data)
{
  Reader *self = data;
  g_autofree char *full = tree_path (self->tree, "f");

  while (!g_atomic_int_get (&self->stop))
    {
      char buffer[256];
      int fd = open (full, O_RDONLY | O_CLOEXEC);
      gssize n = fd >= 0 ? read (fd, buffer, sizeof buffer) : 0;

      if (fd < 0)
        self->missing++;
      else if (n != 200 || memcmp (buffer, buffer + 1, 199) != 0)
        self->wrong++;
      self->reads++;
      if (fd >= 0)
        close (fd);
    }
  return NULL;
}

static void
test_readable_throughout (void)
{
  for (int way = EXCHANGE; way <= LINK; way++)
    {
      g_autoptr(Tree) tree = tree_for (way);
      Reader reader = { .tree = tree };
      g_autofree char *first = g_strnfill (200, 'a');
      SkStat stat = given (tree, "f", first);
      GThread *thread = g_thread_new ("reader", read_on, &reader);

      for (guint i = 1; i < 200; i++)
        {
          g_autofree char *text = g_strnfill (200, 'a' + (char) (i % 26)),
                          *batch = sk_trash_new_batch ((gint64) i * G_USEC_PER_SEC);
          g_autoptr(GError) error = NULL;

          if (!sk_target_write_small (tree->root, "f", (const guint8 *) text, 200, &stat,
                                      &plain_meta, TRUE, batch, &stat, &error))
            g_assert_no_error (error);
        }
      g_atomic_int_set (&reader.stop, 1);
      g_thread_join (thread);
      g_test_message ("%u reads", reader.reads);
      g_assert_cmpuint (reader.missing, ==, 0);
      g_assert_cmpuint (reader.wrong, ==, 0);
    }
}

/* ---- a move is never half done ---- */

static guint points;

static void
look_at_both (const char *point, gpointer data)
{
  Tree *tree = data;
  g_autofree char *a = tree_read (tree, "a"), *b = tree_read (tree, "b");

  points++;
  g_assert_true (strcmp (a, "A") == 0 || strcmp (b, "A") == 0 || strcmp (b, "B") == 0);
  /* B is at its place or in the trash. */
  g_assert_true (strcmp (b, "B") == 0 || trash_count (tree, "B") == 1);
}

static void
test_move_cut_anywhere (void)
{
  for (int way = EXCHANGE; way <= LINK; way++)
    {
      g_autoptr(Tree) tree = tree_for (way);
      g_autoptr(GError) error = NULL;
      SkStat a = given (tree, "a", "A"), b = given (tree, "b", "B"), out;

      points = 0;
      sk_write_hooks.at = look_at_both;
      sk_write_hooks.data = tree;
      g_assert_true (sk_target_rename (tree->root, "a", &a, "b", &b, NULL, BATCH, &out, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (points, >=, 4);
      assert_text (tree, "b", "A");
      assert_trash (tree, "b", "B");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/race/rule-a11/save-before-replace", test_save_before_replace);
  g_test_add_func ("/race/rule-a11/edit-of-what-just-came", test_edit_of_what_just_came);
  g_test_add_func ("/race/rule-a11/save-while-linking", test_save_while_linking);
  g_test_add_func ("/race/rule-a11/save-while-moving", test_save_while_moving);
  g_test_add_func ("/race/rule-a11/save-twice", test_save_twice);
  g_test_add_func ("/race/rule-a11/save-and-remove", test_save_and_remove);
  g_test_add_func ("/race/rule-a11/removed-before-replace", test_removed_before_replace);
  g_test_add_func ("/race/rule-a11/save-before-remove", test_save_before_remove);
  g_test_add_func ("/race/rule-a11/save-around-remove", test_save_around_remove);
  g_test_add_func ("/race/rule-a11/save-before-rename", test_save_before_rename);
  g_test_add_func ("/race/rule-a11/save-around-rename", test_save_around_rename);
  g_test_add_func ("/race/rule-a11/save-at-rename-target", test_save_at_rename_target);
  g_test_add_func ("/race/rule-a11/appears-before-create", test_appears_before_create);
  g_test_add_func ("/race/sit-B022/edit-before-meta", test_edit_before_meta);
  g_test_add_func ("/race/rule-c16/fallbacks", test_fallbacks);
  g_test_add_func ("/race/sit-B032/readable-throughout", test_readable_throughout);
  g_test_add_func ("/race/sit-B049/move-cut-anywhere", test_move_cut_anywhere);
  return g_test_run ();
}
