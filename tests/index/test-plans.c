/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No statement may walk a table that grows with the number of files, except for the few that are meant to. */
#include "index-support.h"

typedef struct { const char *begins, *why; } Allowed;
static const Allowed allowed[] = {
  { "SELECT row, id, name, defined_uri, uri, deleted, lamport, writer FROM storage", "a handful of rows, all are wanted" },
  { "SELECT row, id, name, deleted, lamport, writer, storages", "a handful of rows, all are wanted" },
  { "UPDATE node SET generation = (generation + 1) & 4294967295, dirty = sk_differs", "detaching a folder touches nearly all of its rows" },
  { "SELECT target_kind, count", "once per folder and start; kept up from then on" },
  { "SELECT count (*) FROM version v JOIN node", "walks the partial index of tombstones, once per folder and start" },
  { "SELECT content FROM version", "garbage collection marks everything" },
  { "SELECT base_content FROM node", "garbage collection marks everything" },
  { "SELECT row, chunks FROM content", "garbage collection marks everything" },
  { "SELECT key FROM content_key", "once, when many new contents were asked for: the filter is made" },
  { "SELECT key FROM chunk_key", "once, when many new chunks were asked for: the filter is made" },
  { "DELETE FROM version WHERE maximal = 0", "forgetting history looks at all of it, now and then" },
  { "SELECT row, sk_key (hash) FROM content", "sweeping looks at everything" },
  { "SELECT c.row, sk_key (c.id) FROM chunk c", "sweeping looks at everything" },
  { "DELETE FROM place WHERE (pack, chunk) IN", "a row per pack; sweeping looks at all of them" },
  { "SELECT writer, seq, hash FROM position", "one row per writer, all are wanted" },
  { "SELECT record FROM member", "one row per member, all are wanted" },
  { "SELECT row, key, kind, folder, path, text, since FROM issue", "all are wanted" },
  { "SELECT row, wall, kind, folder, path, detail FROM activity", "backwards by row, stops at the limit" },
};

static void
test_no_scans (void)
{
  Fixture f = { 0 };
  g_autoptr(GPtrArray) plans = NULL;
  gboolean used[G_N_ELEMENTS (allowed)] = { FALSE };

  fixture_open (&f);
  plans = sk_index_plans (f.index);
  g_assert_cmpuint (plans->len, >, 80);
  for (guint i = 0; i < plans->len; i++)
    {
      const char *plan = g_ptr_array_index (plans, i);
      gboolean excused = FALSE;

      for (guint j = 0; j < G_N_ELEMENTS (allowed); j++)
        if (g_str_has_prefix (plan, allowed[j].begins))
          excused = used[j] = TRUE;
      if (strstr (plan, "\n  SCAN ") != NULL && !excused)
        g_error ("%s", plan);
    }
  for (guint j = 0; j < G_N_ELEMENTS (allowed); j++)
    g_assert_true (used[j]);      /* no excuse outlives its statement */
  fixture_close (&f);
}

static void
test_statement (GPtrArray *plans, const char *begins, const char *index)
{
  for (guint i = 0; i < plans->len; i++)
    if (g_str_has_prefix (g_ptr_array_index (plans, i), begins))
      {
        if (strstr (g_ptr_array_index (plans, i), index) == NULL || strstr (g_ptr_array_index (plans, i), "TEMP B-TREE") != NULL)
          g_error ("%s", (const char *) g_ptr_array_index (plans, i));
        return;
      }
  g_error ("no statement begins with \"%s\"", begins);
}

/* The ones a budget depends on: by which index, and without sorting. */
static void
test_hot_statements (void)
{
  Fixture f = { 0 };
  g_autoptr(GPtrArray) plans = NULL;

  fixture_open (&f);
  plans = sk_index_plans (f.index);
  test_statement (plans, "SELECT row FROM node WHERE parent = ?1 AND name = ?2", "COVERING INDEX node_name (parent=? AND name=?)");
  for (guint i = 0; i < plans->len; i++)
    {
      const char *plan = g_ptr_array_index (plans, i);

      if (strstr (plan, "FROM node WHERE parent = ?1 ORDER BY name\n") != NULL || strstr (plan, "AND base_kind <> 0 ORDER BY name\n") != NULL)
        g_assert_nonnull (strstr (plan, "USING INDEX node_name (parent=?)"));
      if (strstr (plan, "ORDER BY name\n") != NULL)
        g_assert_null (strstr (plan, "TEMP B-TREE"));
      if (strstr (plan, "WHERE dirty = 1 AND hold = 0") != NULL && g_str_has_prefix (plan, "SELECT row, folder"))
        g_assert_nonnull (strstr (plan, "USING INDEX node_dirty (folder=? AND rowid>?)"));
      if (strstr (plan, "WHERE base_unproven = 1") != NULL)
        g_assert_nonnull (strstr (plan, "USING INDEX node_unproven (folder=? AND rowid>?)"));
    }
  test_statement (plans, "SELECT row FROM chunk_key", "PRIMARY KEY (key=?)");
  test_statement (plans, "SELECT p.storage FROM place", "INDEX place_chunk (chunk=?)");
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plans/no-scans", test_no_scans);
  g_test_add_func ("/plans/hot-statements", test_hot_statements);
  return g_test_run ();
}
