/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conflict copies that a person deleted, moved back or edited, and what becomes of the version they were a copy of. */
#include "sk-fleet-check.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "sk-test-hooks.h"

typedef struct
{
  SkThree at;
  SkFlaky *of_b, *of_c;
  char *copy;                    /* name of the conflict copy of "from a" */
} Copies;

static void
copies_clear (Copies *self)
{
  sk_three_clear (&self->at);
  g_free (self->copy);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Copies, copies_clear)

/* A pass that may fail in part. */
static void
pass (Copies *self, guint i)
{
  g_variant_unref (sk_fleet_sync (self->at.fleet, i));
}

/* Device @i cannot read the log of device @of (of all, when that is -1), as if it had not arrived yet. */
static void
make_blind (Copies *self, SkFlaky *flaky, int of)
{
  char hex[SK_ID_HEX_SIZE];
  g_autofree char *prefix = NULL;

  if (of >= 0)
    sk_id_format (&self->at.fleet->devices[of]->who.writer, hex);
  prefix = of >= 0 ? g_strdup_printf ("log/%s/", hex) : g_strdup ("log/");
  sk_flaky_fail_gets (flaky, prefix, G_MAXUINT, SK_ERROR_IO);
}

static void
see_all (Copies *self)
{
  sk_flaky_fail_gets (self->of_b, NULL, 0, 0);
  sk_flaky_fail_gets (self->of_c, NULL, 0, 0);
}

static char *
find_copy (const char *dir)
{
  g_autoptr(GDir) open = g_dir_open (dir, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (open)) != NULL)
    if (strstr (name, "(conflict, ") != NULL)
      return g_strdup (name);
  return NULL;
}

/* A wrote "from a" and B, who did not know, "from b", which wins. C has what B wrote, and B knows of nobody. */
static void
copies_init (Copies *self)
{
  sk_three_init (&self->at, 3);
  self->of_b = sk_fleet_make_flaky (self->at.fleet, 1);
  self->of_c = sk_fleet_make_flaky (self->at.fleet, 2);
  make_blind (self, self->of_b, -1);
  make_blind (self, self->of_c, 0);
  sk_put_file (self->at.a, "x.txt", "from a", -1);
  pass (self, 0);
  /* Changes raise the number that decides who wins. */
  sk_put_many (self->at.b, "other", 4);
  pass (self, 1);
  sk_put_file (self->at.b, "x.txt", "from b", -1);
  pass (self, 1);
  pass (self, 2);
  sk_assert_content (self->at.c, "x.txt", "from b");
}

/* Then C, who knows only of B's, deletes that, and "from a" is at its name again on A, beside its copy, which somebody touched meanwhile. */
static void
come_back (Copies *self)
{
  g_autofree char *full = NULL;

  copies_init (self);
  pass (self, 0);
  sk_assert_content (self->at.a, "x.txt", "from b");
  self->copy = find_copy (self->at.a);
  g_assert_nonnull (self->copy);
  sk_assert_content (self->at.a, self->copy, "from a");
  full = g_build_filename (self->at.a, self->copy, NULL);
  g_assert_cmpint (g_chmod (full, 0640), ==, 0);
  pass (self, 0);
  sk_unlink (self->at.c, "x.txt");
  pass (self, 2);
  pass (self, 0);
  sk_assert_content (self->at.a, "x.txt", "from a");
  sk_assert_content (self->at.a, self->copy, "from a");
}

/* B, who still knows of nobody, writes again, and "from a" loses the name once more. */
static void
lose_again (Copies *self)
{
  sk_put_file (self->at.b, "x.txt", "second of b", -1);
  pass (self, 1);
}

static void
assert_kept (Copies *self)
{
  see_all (self);
  sk_fleet_settle (self->at.fleet, 8);
  sk_assert_equal_trees (self->at.fleet, "f");
  sk_assert_content (self->at.a, "x.txt", "second of b");
  sk_three_assert_everywhere (&self->at, "from a", 1);
  sk_three_assert_everywhere (&self->at, "second of b", 1);
  for (guint i = 0; i < 3; i++)
    sk_assert_no_issues (self->at.fleet, i);
}

/* Who has the content twice and deletes the copy has not thrown the content away. */
static void
test_deleted_beside_the_name (void)
{
  for (guint deleter = 0; deleter < 2; deleter++)
    {
      g_auto(Copies) t = { NULL };

      come_back (&t);
      if (deleter == 1)
        {
          sk_flaky_fail_gets (t.of_c, NULL, 0, 0);
          pass (&t, 2);
          sk_assert_content (t.at.c, "x.txt", "from a");
        }
      sk_unlink (deleter == 0 ? t.at.a : t.at.c, t.copy);
      pass (&t, deleter == 0 ? 0 : 2);
      pass (&t, 0);
      g_assert_cmpuint (sk_count_content (t.at.a, "from a"), ==, 1);
      lose_again (&t);
      pass (&t, 0);
      sk_assert_content (t.at.a, "x.txt", "second of b");
      g_assert_cmpuint (sk_count_content (t.at.a, "from a"), ==, 1);
      assert_kept (&t);
    }
}

/* B, who saw "from b" win, relies on the copy and deletes the name, without knowing that the one "from b" is gone already. The copy is deleted on A
 * in the very pass that brings this, after the disk was looked at. */
static Copies *deleted_in;

static void
delete_once (const char *stage)
{
  Copies *t = deleted_in;

  if (t == NULL || !g_str_equal (stage, "write"))
    return;
  deleted_in = NULL;
  sk_unlink (t->at.a, t->copy);
}

static void
test_deleted_in_the_last_moment (void)
{
  g_auto(Copies) t = { NULL };

  come_back (&t);
  make_blind (&t, t.of_b, 2);
  pass (&t, 1);
  sk_assert_content (t.at.b, "x.txt", "from b");
  sk_assert_content (t.at.b, t.copy, "from a");
  sk_unlink (t.at.b, "x.txt");
  sk_put_file (t.at.b, "one more", "one more", -1);
  pass (&t, 1);
  deleted_in = &t;
  sk_test_stage_hook = delete_once;
  pass (&t, 0);
  sk_test_stage_hook = NULL;
  g_assert_null (deleted_in);
  g_assert_cmpuint (sk_count_content (t.at.a, "from a"), ==, 1);
  see_all (&t);
  sk_fleet_settle (t.at.fleet, 8);
  sk_assert_equal_trees (t.at.fleet, "f");
  sk_three_assert_everywhere (&t.at, "from a", 1);
}

/* A person saw what won and threw the copy away: devices that still have its content at the name do not bring it back. */
static void
test_deleted_stays_deleted (void)
{
  g_auto(Copies) t = { NULL };

  copies_init (&t);
  /* B hears of it, and decides; A has not heard of B yet. */
  see_all (&t);
  pass (&t, 1);
  t.copy = find_copy (t.at.b);
  g_assert_nonnull (t.copy);
  sk_assert_content (t.at.b, t.copy, "from a");
  sk_assert_content (t.at.a, "x.txt", "from a");
  sk_unlink (t.at.b, t.copy);
  pass (&t, 1);
  pass (&t, 0);
  sk_assert_content (t.at.a, "x.txt", "from b");
  g_assert_true (sk_in_trash (t.at.a, "x.txt", "from a"));
  sk_fleet_settle (t.at.fleet, 8);
  sk_assert_equal_trees (t.at.fleet, "f");
  sk_three_assert_everywhere (&t.at, "from a", 0);
  /* Nor does it later. */
  sk_put_file (t.at.a, "x.txt", "third", -1);
  sk_fleet_settle (t.at.fleet, 8);
  sk_unlink (t.at.c, "x.txt");
  sk_fleet_settle (t.at.fleet, 8);
  sk_three_assert_everywhere (&t.at, "from a", 0);
  g_assert_false (sk_there (t.at.a, "x.txt"));
}

/* What was changed or deleted on purpose, at its name, is no conflict, whatever became of a copy long ago. */
static void
test_changed_on_purpose (void)
{
  for (guint deleted = 0; deleted < 2; deleted++)
    {
      g_auto(Copies) t = { NULL };

      come_back (&t);
      sk_unlink (t.at.a, t.copy);
      see_all (&t);
      sk_fleet_settle (t.at.fleet, 8);
      sk_three_assert_everywhere (&t.at, "from a", 1);
      if (deleted == 1)
        sk_unlink (t.at.c, "x.txt");
      else
        sk_put_file (t.at.c, "x.txt", "edited on c", -1);
      sk_fleet_settle (t.at.fleet, 8);
      sk_assert_equal_trees (t.at.fleet, "f");
      sk_three_assert_everywhere (&t.at, "from a", 0);
      sk_three_assert_everywhere (&t.at, "edited on c", deleted == 1 ? 0 : 1);
      g_assert_cmpuint (sk_count_names (t.at.a, "x"), ==, deleted == 1 ? 0 : 1);
    }
}

static void
test_edited (void)
{
  g_auto(Copies) t = { NULL };

  come_back (&t);
  sk_put_file (t.at.a, t.copy, "the copy, edited", -1);
  pass (&t, 0);
  lose_again (&t);
  pass (&t, 0);
  g_assert_cmpuint (sk_count_content (t.at.a, "from a"), ==, 1);
  assert_kept (&t);
  sk_three_assert_everywhere (&t.at, "the copy, edited", 1);
}

/* --- moved back, with and without a kill --- */

static void
test_moved_back (void)
{
  static const char *const stages[] = { NULL, "log-commit:2", "write:1", "write:3" };

  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    {
      g_auto(Copies) t = { NULL };

      come_back (&t);
      sk_rename (t.at.a, t.copy, "x.txt");
      lose_again (&t);
      g_test_message ("killed at %s", stages[i] != NULL ? stages[i] : "no stage");
      if (stages[i] != NULL)
        g_assert_true (sk_sync_and_die (t.at.fleet, 0, stages[i]));
      pass (&t, 0);
      sk_assert_content (t.at.a, "x.txt", "second of b");
      g_assert_cmpuint (sk_count_content (t.at.a, "from a"), ==, 1);
      assert_kept (&t);
    }
}

int
main (int argc, char **argv)
{
  if (sk_is_child (argc, argv))
    return sk_run_child (argv);
  sk_set_child_program (argv[0]);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/copies/rule-a7/deleted-beside-the-name", test_deleted_beside_the_name);
  g_test_add_func ("/copies/rule-a7/deleted-in-the-last-moment", test_deleted_in_the_last_moment);
  g_test_add_func ("/copies/rule-a7/deleted-stays-deleted", test_deleted_stays_deleted);
  g_test_add_func ("/copies/rule-a7/changed-on-purpose", test_changed_on_purpose);
  g_test_add_func ("/copies/sit-B026/edited", test_edited);
  g_test_add_func ("/copies/rule-a7/moved-back", test_moved_back);
  return g_test_run ();
}
