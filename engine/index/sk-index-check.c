/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at the whole database: is it sound, and how does SQLite find what the statements ask for. */
#include "sk-index-private.h"

#define PROBLEMS_MAX 100u    /* sentences; after that nobody reads on */
#define STEP_OPS 200000      /* of SQLite's machine between two questions whether to go on: some milliseconds */

typedef struct
{
  SkIndexStepFunc func;
  gpointer user_data;
  guint done;
} Step;

/* Each counts rows that cannot be. All of them walk whole tables: this is for fsck, not for a running engine. */
static const struct { const char *sql, *problem; } invariants[] = {
  { "SELECT count (*) FROM node n WHERE n.parent > 0 AND NOT EXISTS (SELECT 1 FROM node p WHERE p.row = n.parent AND p.folder = n.folder)",
    "paths have no parent in their folder" },
  { "SELECT count (*) FROM node n WHERE n.parent <= 0 AND (n.parent <> -n.folder OR NOT EXISTS (SELECT 1 FROM folder f WHERE f.row = n.folder))",
    "paths have no folder" },
  { "SELECT count (*) FROM node WHERE dirty <> sk_differs (base_kind, base_content, base_mode, base_mtime, target_kind, target_content, target_mode, target_mtime)",
    "paths are not marked for the work they need" },
  { "SELECT count (*) FROM node p WHERE p.live_children <> (SELECT count (*) FROM node c WHERE c.parent = p.row AND c.target_kind <> 0)",
    "directories have a wrong number of children" },
  { "SELECT count (*) FROM node n WHERE n.target_version <> 0 AND NOT EXISTS (SELECT 1 FROM version v WHERE v.row = n.target_version)",
    "paths show a version that is not there" },
  { "SELECT count (*) FROM node n WHERE (n.base_content <> 0 AND NOT EXISTS (SELECT 1 FROM content c WHERE c.row = n.base_content))"
    " OR (n.target_content <> 0 AND NOT EXISTS (SELECT 1 FROM content c WHERE c.row = n.target_content))",
    "paths have a content that is not there" },
  { "SELECT count (*) FROM version v WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.row = v.node) OR NOT EXISTS (SELECT 1 FROM content c WHERE c.row = v.content)",
    "versions have no path or no content" },
  { "SELECT count (*) FROM version v WHERE v.is_virtual <> 0 AND NOT EXISTS (SELECT 1 FROM version o WHERE o.row = v.origin)",
    "conflict copies are shown of versions that are not there" },
  { "SELECT count (*) FROM place l WHERE NOT EXISTS (SELECT 1 FROM pack p WHERE p.row = l.pack) OR NOT EXISTS (SELECT 1 FROM chunk c WHERE c.row = l.chunk)",
    "chunks lie in a pack that is not there" },
  { "SELECT count (*) FROM content c WHERE c.row <= (SELECT max (row) FROM content_key) "
    "AND NOT EXISTS (SELECT 1 FROM content_key k WHERE k.key = sk_key (c.hash) AND k.row = c.row)",
    "contents cannot be found" },
  { "SELECT count (*) FROM chunk c WHERE c.row <= (SELECT max (row) FROM chunk_key) "
    "AND NOT EXISTS (SELECT 1 FROM chunk_key k WHERE k.key = sk_key (c.id) AND k.row = c.row)",
    "chunks cannot be found" },
  { "SELECT count (*) FROM content_key a JOIN content_key b ON b.key = a.key AND b.row > a.row JOIN content c ON c.row = a.row "
    "JOIN content d ON d.row = b.row WHERE c.hash = d.hash", "contents are there twice" },
  { "SELECT count (*) FROM chunk_key a JOIN chunk_key b ON b.key = a.key AND b.row > a.row JOIN chunk c ON c.row = a.row "
    "JOIN chunk d ON d.row = b.row WHERE c.id = d.id AND c.size = d.size", "chunks are there twice" },
};

static void
add_problem (GPtrArray *problems, char *problem)
{
  if (problems->len < PROBLEMS_MAX)
    g_ptr_array_add (problems, problem);
  else
    g_free (problem);
}

/* A damaged file may fail any question. That is what was asked for, so it is a problem and not an error. */
static gboolean
take_result (SkIndex *self, int rc, GPtrArray *problems, GError **error)
{
  g_autoptr(GError) why = NULL;

  if (rc == SQLITE_DONE)
    return TRUE;
  sk_index_set_error (self->db, rc, self->path, &why);
  if (!g_error_matches (why, SK_ERROR, SK_ERROR_CORRUPT) && rc != SQLITE_ERROR)
    {
      g_propagate_error (error, g_steal_pointer (&why));
      return FALSE;
    }
  add_problem (problems, g_strdup (why->message));
  return TRUE;
}

static gboolean
quick_check (SkIndex *self, GPtrArray *problems, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (self->db, "PRAGMA quick_check (100)", -1, &statement, NULL);

  if (rc == SQLITE_OK)
    while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
      {
        const char *line = (const char *) sqlite3_column_text (statement, 0);

        if (g_strcmp0 (line, "ok") != 0)
          add_problem (problems, g_strdup_printf ("The database is damaged: %s", line != NULL ? line : "unknown"));
      }
  sqlite3_finalize (statement);
  return take_result (self, rc, problems, error);
}

static gboolean
check_invariant (SkIndex *self, guint i, GPtrArray *problems, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (self->db, invariants[i].sql, -1, &statement, NULL);

  if (rc == SQLITE_OK)
    while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
      {
        gint64 n = sqlite3_column_int64 (statement, 0);

        if (n > 0)
          add_problem (problems, g_strdup_printf ("%" G_GINT64_FORMAT " %s", n, invariants[i].problem));
      }
  sqlite3_finalize (statement);
  return take_result (self, rc, problems, error);
}

/* The tables as a fresh database has them. */
static char *
expected_schema (GError **error)
{
  sqlite3 *db = NULL;
  int rc = sqlite3_open_v2 (":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  char *dump = NULL;

  if (rc != SQLITE_OK)
    sk_index_set_error (db, rc, "in memory", error);
  else if (sk_index_migrate (db, "in memory", sk_index_steps, sk_index_n_steps, error))
    dump = sk_index_schema_dump (db, "in memory", error);
  sqlite3_close (db);
  return dump;
}

static gboolean
check_schema (SkIndex *self, GPtrArray *problems, GError **error)
{
  g_autoptr(GError) why = NULL;
  g_autofree char *expected = expected_schema (error);
  g_autofree char *found = NULL;

  if (expected == NULL)
    return FALSE;
  found = sk_index_schema_dump (self->db, self->path, &why);
  if (found == NULL && !g_error_matches (why, SK_ERROR, SK_ERROR_CORRUPT))
    {
      g_propagate_error (error, g_steal_pointer (&why));
      return FALSE;
    }
  if (g_strcmp0 (found, expected) != 0)
    add_problem (problems, g_strdup ("The tables of the database are not as this program makes them"));
  return TRUE;
}

static gboolean
check_chunk_lists (SkIndex *self, GPtrArray *problems, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (self->db, "SELECT row FROM content WHERE chunks IS NOT NULL", -1, &statement, NULL);
  gint64 broken = 0;

  if (rc == SQLITE_OK)
    while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
      {
        g_autoptr(GError) why = NULL;
        g_autoptr(GArray) chunks = sk_index_content_chunks (self, sqlite3_column_int64 (statement, 0), &why);

        broken += chunks == NULL;
      }
  sqlite3_finalize (statement);
  if (broken > 0)
    add_problem (problems, g_strdup_printf ("%" G_GINT64_FORMAT " files have a chunk list that cannot be read", broken));
  return take_result (self, rc, problems, error);
}

#define PARTS (G_N_ELEMENTS (invariants) + 2)

static gboolean
check_part (SkIndex *self, guint part, GPtrArray *problems, GError **error)
{
  if (part == 0)
    return quick_check (self, problems, error) && check_schema (self, problems, error);
  if (part == PARTS - 1)
    return check_chunk_lists (self, problems, error);
  return check_invariant (self, part - 1, problems, error);
}

static int
on_ops (void *data)
{
  Step *step = data;

  return !step->func (step->done, PARTS, step->user_data);
}

GPtrArray *
sk_index_check (SkIndex *self, SkIndexStepFunc func, gpointer user_data, GError **error)
{
  g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func (g_free);
  Step step = { .func = func, .user_data = user_data };
  gboolean ok = TRUE;

  if (func != NULL)
    sqlite3_progress_handler (self->db, STEP_OPS, on_ops, &step);
  for (; ok && step.done < PARTS; step.done++)
    ok = (func == NULL || !on_ops (&step) || sk_fail (error, SK_ERROR_CANCELLED, "Cancelled")) && check_part (self, step.done, problems, error);
  sqlite3_progress_handler (self->db, 0, NULL, NULL);
  return ok ? g_steal_pointer (&problems) : NULL;
}

GPtrArray *
sk_index_plans (SkIndex *self)
{
  g_autoptr(GPtrArray) plans = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < SK_SQL_COUNT; i++)
    {
      g_autofree char *sql = g_strconcat ("EXPLAIN QUERY PLAN ", sk_sql_text (i), NULL);
      GString *plan = g_string_new (sk_sql_text (i));
      sqlite3_stmt *statement = NULL;

      if (sqlite3_prepare_v2 (self->db, sql, -1, &statement, NULL) == SQLITE_OK)
        while (sqlite3_step (statement) == SQLITE_ROW)
          g_string_append_printf (plan, "\n  %s", (const char *) sqlite3_column_text (statement, 3));
      sqlite3_finalize (statement);
      g_ptr_array_add (plans, g_string_free (plan, FALSE));
    }
  return g_steal_pointer (&plans);
}
