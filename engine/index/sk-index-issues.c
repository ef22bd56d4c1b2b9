/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What wants the person, and what happened. */
#include "sk-index-private.h"

#define ACTIVITY_KEPT 10000    /* rows; about a screenful a day for a year */

/* --- issues --- */

void
sk_issue_row_free (SkIssueRow *self)
{
  if (self == NULL)
    return;
  g_free (self->key);
  g_free (self->kind);
  g_free (self->path);
  g_free (self->text);
  g_free (self);
}

gboolean
sk_index_issue_raise (SkIndex *self, const char *key, const char *kind, gint64 folder, const char *path, const char *text, gint64 wall,
                      GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_ISSUE_RAISE, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_text (statement, 1, key);
  sk_bind_text (statement, 2, kind);
  sk_bind_int (statement, 3, folder);
  sk_bind_text (statement, 4, path);
  sk_bind_text (statement, 5, text);
  sk_bind_int (statement, 6, wall);
  return sk_run (self, statement, error);
}

gboolean
sk_index_issue_clear (SkIndex *self, const char *key, gboolean *was_there, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_ISSUE_CLEAR, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_text (statement, 1, key);
  if (!sk_run (self, statement, error))
    return FALSE;
  if (was_there != NULL)
    *was_there = sqlite3_changes (self->db) > 0;
  return TRUE;
}

GPtrArray *
sk_index_issues (SkIndex *self, GError **error)
{
  g_autoptr(GPtrArray) issues = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_issue_row_free);
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_ISSUE_LIST, error);
  gboolean damaged = FALSE;
  SkStep step;

  if (statement == NULL)
    return NULL;
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkIssueRow *row = g_new0 (SkIssueRow, 1);

      g_ptr_array_add (issues, row);
      row->row = sk_col_int (statement, 0);
      row->key = sk_col_text (statement, 1, &damaged);
      row->kind = sk_col_text (statement, 2, &damaged);
      row->folder = sk_col_int (statement, 3);
      row->path = sk_col_text (statement, 4, &damaged);
      row->text = sk_col_text (statement, 5, &damaged);
      row->since = sk_col_int (statement, 6);
    }
  if (damaged)
    return sk_index_damaged (self, "an issue is impossible", error), NULL;
  return step == SK_STEP_DONE ? g_steal_pointer (&issues) : NULL;
}

/* --- activity --- */

void
sk_activity_row_free (SkActivityRow *self)
{
  if (self == NULL)
    return;
  g_free (self->kind);
  g_free (self->path);
  g_free (self->detail);
  g_free (self);
}

static gboolean
trim_activity (SkIndex *self, gint64 last, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_ACTIVITY_TRIM, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, last);
  return sk_run (self, statement, error);
}

gboolean
sk_index_activity_add (SkIndex *self, gint64 wall, const char *kind, gint64 folder, const char *path, const char *detail, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_ACTIVITY_ADD, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, wall);
  sk_bind_text (statement, 2, kind);
  sk_bind_int (statement, 3, folder);
  sk_bind_text (statement, 4, path);
  sk_bind_text (statement, 5, detail);
  return sk_run (self, statement, error) && trim_activity (self, sqlite3_last_insert_rowid (self->db) - ACTIVITY_KEPT, error);
}

GPtrArray *
sk_index_activity (SkIndex *self, guint limit, GError **error)
{
  g_autoptr(GPtrArray) activity = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_activity_row_free);
  g_autoptr(SkStatement) statement = sk_sql (self, SK_SQL_ACTIVITY_LIST, error);
  gboolean damaged = FALSE;
  SkStep step;

  if (statement == NULL)
    return NULL;
  sk_bind_int (statement, 1, limit);
  while ((step = sk_step (self, statement, error)) == SK_STEP_ROW)
    {
      SkActivityRow *row = g_new0 (SkActivityRow, 1);

      g_ptr_array_add (activity, row);
      row->row = sk_col_int (statement, 0);
      row->wall = sk_col_int (statement, 1);
      row->kind = sk_col_text (statement, 2, &damaged);
      row->folder = sk_col_int (statement, 3);
      row->path = sk_col_text (statement, 4, &damaged);
      row->detail = sk_col_text (statement, 5, &damaged);
    }
  if (damaged)
    return sk_index_damaged (self, "an activity is impossible", error), NULL;
  return step == SK_STEP_DONE ? g_steal_pointer (&activity) : NULL;
}
