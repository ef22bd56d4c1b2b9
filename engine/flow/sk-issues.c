/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-issues.h"

#include <stdarg.h>
#include <string.h>
#include <sys/statvfs.h>

/* Below 2^53, so that every reader of JSON takes it as it is. */
#define UNSAVED_FIRST_ID (G_GINT64_CONSTANT (1) << 52)
#define HOME_FULL_ID (UNSAVED_FIRST_ID - 1)
/* Less than this and SQLite can write nothing any more. */
#define HOME_ROOM_MIN (256u << 10)
#define NAMED_MAX 3u

typedef struct
{
  char *text;
  char *group;                   /* NULL: is told alone in any case */
} Known;

/* Under the session's lock. */
struct _SkIssues
{
  GHashTable *known;             /* char* key -> Known: as in the index, or to be there */
  GHashTable *counts;            /* char* group -> how many of it are known */
  GHashTable *unsaved;           /* char* key -> SkIssueRow: the index could not take them */
  gint64 next_id;                /* of those */
};

static void
known_free (gpointer data)
{
  Known *self = data;

  g_free (self->text);
  g_free (self->group);
  g_free (self);
}

SkIssues *
sk_issues_new (void)
{
  SkIssues *self = g_new0 (SkIssues, 1);

  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, known_free);
  self->counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->unsaved = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) sk_issue_row_free);
  self->next_id = UNSAVED_FIRST_ID;
  return self;
}

void
sk_issues_free (SkIssues *self)
{
  g_hash_table_unref (self->known);
  g_hash_table_unref (self->counts);
  g_hash_table_unref (self->unsaved);
  g_free (self);
}

/* --- what has the same cause --- */

/* @text without the name of the thing, which @path says. (transfer full) */
static char *
without_name (const char *text, const char *path)
{
  g_autofree char *shown = sk_path_display (path);
  g_auto(GStrv) parts = *shown != '\0' ? g_strsplit (text, shown, -1) : NULL;

  return parts != NULL ? g_strjoinv ("…", parts) : g_strdup (text);
}

/* Things of one folder about which the same is said, but for their names and sizes. NULL: it is told alone. (transfer full) */
static char *
group_of (const char *kind, gint64 folder, const char *path, const char *text)
{
  g_autofree char *said = NULL;
  GString *group;

  if (path == NULL || *path == '\0' || (!g_str_equal (kind, "failed-item") && !g_str_equal (kind, "not-synced")))
    return NULL;
  said = without_name (text, path);
  group = g_string_new (NULL);
  g_string_printf (group, "%" G_GINT64_FORMAT ":%s:", folder, kind);
  for (const char *p = said; *p != '\0'; p++)
    if (!g_ascii_isdigit (*p))
      g_string_append_c (group, *p);
  return g_string_free (group, FALSE);
}

static guint
count_of (SkIssues *self, const char *group)
{
  return group != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (self->counts, group)) : 0;
}

static void
add_count (SkIssues *self, const char *group, int change)
{
  guint n = count_of (self, group);

  if (group == NULL)
    return;
  if ((int) n + change <= 0)
    g_hash_table_remove (self->counts, group);
  else
    g_hash_table_replace (self->counts, g_strdup (group), GUINT_TO_POINTER ((guint) ((int) n + change)));
}

/* Under the lock. */
static void
forget (SkIssues *self, const char *key)
{
  const Known *known = g_hash_table_lookup (self->known, key);

  if (known != NULL)
    add_count (self, known->group, -1);
  g_hash_table_remove (self->known, key);
  g_hash_table_remove (self->unsaved, key);
}

/* Under the lock. Takes @group. */
static void
learn (SkIssues *self, const char *key, const char *text, char *group)
{
  Known *known = g_new0 (Known, 1);

  forget (self, key);
  known->text = g_strdup (text);
  known->group = group;
  add_count (self, group, 1);
  g_hash_table_replace (self->known, g_strdup (key), known);
}

gboolean
sk_issues_load (SkSession *session, GError **error)
{
  g_autoptr(GPtrArray) rows = sk_index_issues (session->index, error);
  SkIssues *self = session->issues;

  if (rows == NULL)
    return FALSE;
  g_mutex_lock (&session->lock);
  g_hash_table_remove_all (self->known);
  g_hash_table_remove_all (self->counts);
  for (guint i = 0; i < rows->len; i++)
    {
      const SkIssueRow *row = rows->pdata[i];

      g_hash_table_add (session->open_issues, g_strdup (row->key));
      learn (self, row->key, row->text, group_of (row->kind, row->folder, row->path, row->text));
    }
  g_mutex_unlock (&session->lock);
  return TRUE;
}

/* --- raising and settling --- */

typedef struct
{
  const char *key, *kind, *path, *text;
  gint64 folder, wall;
  GPtrArray *keys;               /* char*: to be cleared */
  gboolean changed;
} IssueCall;

/* Index thread, in a transaction. */
static gboolean
raise_issue (SkSession *session, gpointer data, GError **error)
{
  IssueCall *call = data;

  return sk_index_issue_raise (session->index, call->key, call->kind, call->folder, call->path, call->text, call->wall, error);
}

/* Index thread, in a transaction. */
static gboolean
clear_issues (SkSession *session, gpointer data, GError **error)
{
  IssueCall *call = data;

  for (guint i = 0; i < call->keys->len; i++)
    {
      gboolean was_there = FALSE;

      if (!sk_index_issue_clear (session->index, call->keys->pdata[i], &was_there, error))
        return FALSE;
      call->changed |= was_there;
    }
  return TRUE;
}

/* FALSE: the index has it, word by word, or there are more than enough of its kind. */
static gboolean
is_news (SkSession *session, const IssueCall *call)
{
  SkIssues *self = session->issues;
  g_autofree char *group = group_of (call->kind, call->folder, call->path, call->text);
  const Known *known;
  gboolean news;

  g_mutex_lock (&session->lock);
  known = g_hash_table_lookup (self->known, call->key);
  if (known != NULL)
    news = !g_str_equal (known->text, call->text) || g_hash_table_contains (self->unsaved, call->key);
  else
    news = count_of (self, group) < SK_ISSUES_STORED_MAX;
  if (news)
    {
      g_hash_table_add (session->open_issues, g_strdup (call->key));
      learn (self, call->key, call->text, g_steal_pointer (&group));
    }
  g_mutex_unlock (&session->lock);
  return news;
}

/* A full disk, say: then it is at least told for as long as this program runs. TRUE: it is the first one. */
static gboolean
keep_in_memory (SkSession *session, const IssueCall *call)
{
  SkIssues *self = session->issues;
  SkIssueRow *row = g_new0 (SkIssueRow, 1);
  gboolean first;

  row->key = g_strdup (call->key);
  row->kind = g_strdup (call->kind);
  row->folder = call->folder;
  row->path = g_strdup (call->path);
  row->text = g_strdup (call->text);
  row->since = call->wall;
  g_mutex_lock (&session->lock);
  row->row = self->next_id++;
  first = g_hash_table_size (self->unsaved) == 0;
  g_hash_table_replace (self->unsaved, g_strdup (call->key), row);
  g_mutex_unlock (&session->lock);
  return first;
}

void
sk_session_raise (SkSession *self, const char *key, const char *kind, gint64 folder, const char *path, const char *format, ...)
{
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;
  IssueCall call = { .key = key, .kind = kind, .folder = folder, .path = path, .wall = sk_session_wall (self) };
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  call.text = text;
  if (!is_news (self, &call))
    return;
  if (!sk_session_transact (self, raise_issue, &call, &error))
    {
      if (keep_in_memory (self, &call))
        g_message ("an issue could not be stored (%s): %s", error->message, text);
    }
  sk_session_touch_report (self);
}

gboolean
sk_issues_raise_within (SkSession *session, const char *key, const char *kind, gint64 folder, const char *text, GError **error)
{
  IssueCall call = { .key = key, .kind = kind, .folder = folder, .text = text, .wall = sk_session_wall (session) };

  /* Written even when it is no news: what was learned last time may have been rolled back. */
  (void) is_news (session, &call);
  sk_session_touch_report (session);
  return raise_issue (session, &call, error);
}

/* Of @keys what is open. */
static void
settle_all (SkSession *self, GPtrArray *keys)
{
  IssueCall call = { .keys = keys };
  g_autoptr(GError) error = NULL;

  g_mutex_lock (&self->lock);
  for (guint i = keys->len; i-- > 0;)
    {
      forget (self->issues, keys->pdata[i]);
      if (!g_hash_table_remove (self->open_issues, keys->pdata[i]))
        g_ptr_array_remove_index_fast (keys, i);
    }
  g_mutex_unlock (&self->lock);
  if (keys->len == 0)
    return;
  if (!sk_session_transact (self, clear_issues, &call, &error))
    g_message ("an issue could not be cleared: %s", error->message);
  if (call.changed)
    sk_session_touch_report (self);
}

void
sk_session_settle_issue (SkSession *self, const char *key)
{
  g_autoptr(GPtrArray) keys = g_ptr_array_new ();

  g_ptr_array_add (keys, (gpointer) key);
  settle_all (self, keys);
}

void
sk_issues_settle_together (SkSession *session, const char *key)
{
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  const Known *wanted;
  GHashTableIter iter;
  gpointer other, known;

  g_mutex_lock (&session->lock);
  wanted = g_hash_table_lookup (session->issues->known, key);
  g_ptr_array_add (keys, g_strdup (key));
  if (wanted != NULL && count_of (session->issues, wanted->group) >= SK_ISSUES_GROUP_MIN)
    {
      g_hash_table_iter_init (&iter, session->issues->known);
      while (g_hash_table_iter_next (&iter, &other, &known))
        if (known != wanted && g_strcmp0 (((const Known *) known)->group, wanted->group) == 0)
          g_ptr_array_add (keys, g_strdup (other));
    }
  g_mutex_unlock (&session->lock);
  settle_all (session, keys);
}

/* --- telling --- */

typedef struct
{
  guint n;
  SkIssueRow *first;             /* in the list that is told */
  GString *names;                /* of the first ones */
} Many;

static void
many_free (gpointer data)
{
  Many *self = data;

  g_string_free (self->names, TRUE);
  g_free (self);
}

/* The first one stands for all of them. */
static void
tell_together (Many *many)
{
  SkIssueRow *row = many->first;
  g_autofree char *said = without_name (row->text, row->path), *one = g_steal_pointer (&row->text);
  g_autofree char *number = g_strdup_printf ("%s%u", many->n >= SK_ISSUES_STORED_MAX ? "at least " : "", many->n);
  const char *alone = "“…” could not ";

  if (g_str_has_prefix (said, alone))
    row->text = g_strdup_printf ("%s files could not %s; the first ones are %s", number, said + strlen (alone), many->names->str);
  else
    row->text = g_strdup_printf ("%s (%s like this; the first ones are %s)", one, number, many->names->str);
  g_clear_pointer (&row->path, g_free);
}

static void
count_in (GHashTable *groups, const char *group, const SkIssueRow *row)
{
  Many *many = g_hash_table_lookup (groups, group);
  g_autofree char *shown = NULL;

  if (many == NULL)
    {
      many = g_new0 (Many, 1);
      many->names = g_string_new (NULL);
      g_hash_table_insert (groups, g_strdup (group), many);
    }
  if (many->n++ >= NAMED_MAX)
    return;
  shown = sk_path_display (row->path);
  g_string_append_printf (many->names, "%s“%s”", many->n > 1 ? ", " : "", shown);
}

/* Takes those out of @rows for which another one stands. */
static void
put_together (GPtrArray *rows)
{
  g_autoptr(GHashTable) groups = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, many_free);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer value;
  guint kept = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      const SkIssueRow *row = rows->pdata[i];

      g_ptr_array_add (names, group_of (row->kind, row->folder, row->path, row->text));
      if (names->pdata[i] != NULL)
        count_in (groups, names->pdata[i], row);
    }
  for (guint i = 0; i < rows->len; i++)
    {
      SkIssueRow *row = rows->pdata[i];
      Many *many = names->pdata[i] != NULL ? g_hash_table_lookup (groups, names->pdata[i]) : NULL;

      if (many != NULL && many->n >= SK_ISSUES_GROUP_MIN && many->first != NULL)
        {
          many->first->since = MIN (many->first->since, row->since);
          sk_issue_row_free (row);
          continue;
        }
      if (many != NULL)
        many->first = row;
      rows->pdata[kept++] = row;
    }
  for (guint i = kept; i < rows->len; i++)
    rows->pdata[i] = NULL;       /* moved or freed */
  g_ptr_array_set_size (rows, (int) kept);
  g_hash_table_iter_init (&iter, groups);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((Many *) value)->n >= SK_ISSUES_GROUP_MIN)
      tell_together (value);
}

static SkIssueRow *
row_copy (const SkIssueRow *row)
{
  SkIssueRow *copy = g_new0 (SkIssueRow, 1);

  *copy = *row;
  copy->key = g_strdup (row->key);
  copy->kind = g_strdup (row->kind);
  copy->path = g_strdup (row->path);
  copy->text = g_strdup (row->text);
  return copy;
}

static void
add_unsaved (SkSession *session, GPtrArray *rows)
{
  g_autoptr(GHashTable) stored = g_hash_table_new (g_str_hash, g_str_equal);
  GHashTableIter iter;
  gpointer key, row;

  for (guint i = 0; i < rows->len; i++)
    g_hash_table_add (stored, ((SkIssueRow *) rows->pdata[i])->key);
  g_mutex_lock (&session->lock);
  g_hash_table_iter_init (&iter, session->issues->unsaved);
  while (g_hash_table_iter_next (&iter, &key, &row))
    if (!g_hash_table_contains (stored, key))
      g_ptr_array_add (rows, row_copy (row));
  g_mutex_unlock (&session->lock);
}

/* Looked at whenever issues are told, since there is no room to keep it as one. */
static void
add_full_home (SkSession *session, GPtrArray *rows)
{
  const char *home = sk_home_path (session->home);
  struct statvfs space;
  SkIssueRow *row;

  if (statvfs (home, &space) != 0 || space.f_blocks == 0 || (guint64) space.f_bavail * space.f_frsize >= HOME_ROOM_MIN)
    return;
  row = g_new0 (SkIssueRow, 1);
  row->row = HOME_FULL_ID;
  row->key = g_strdup ("home-full");
  row->kind = g_strdup ("home");
  row->text = g_strdup_printf ("The disk with the state of this device (“%s”) is full: nothing can be noted any more, so nothing is sent or received. "
                               "Make room there; it goes on by itself", home);
  row->since = sk_session_wall (session);
  g_ptr_array_add (rows, row);
}

GPtrArray *
sk_issues_list (SkSession *session, GError **error)
{
  g_autoptr(GPtrArray) rows = sk_index_issues (session->index, error);

  if (rows == NULL)
    return NULL;
  add_unsaved (session, rows);
  put_together (rows);
  add_full_home (session, rows);
  return g_steal_pointer (&rows);
}
