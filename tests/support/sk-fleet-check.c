/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-fleet-check.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
sk_assert_equal_trees (SkFleet *fleet, const char *folder)
{
  g_autofree char *first_path = sk_fleet_path (fleet, 0, folder);
  g_autofree char *first = sk_tree_listing (first_path);

  for (guint i = 1; i < fleet->n; i++)
    {
      g_autofree char *path = sk_fleet_path (fleet, i, folder);
      g_autofree char *other = sk_tree_listing (path);

      g_assert_cmpstr (first, ==, other);
    }
}

void
sk_three_init (SkThree *self, guint n)
{
  self->fleet = sk_fleet_new (n, FALSE);
  self->a = sk_fleet_path (self->fleet, 0, "f");
  self->b = n > 1 ? sk_fleet_path (self->fleet, 1, "f") : NULL;
  self->c = n > 2 ? sk_fleet_path (self->fleet, 2, "f") : NULL;
  sk_put_file (self->a, "x.txt", "base", -1);
  sk_fleet_share (self->fleet, "f");
}

void
sk_three_clear (SkThree *self)
{
  g_clear_pointer (&self->fleet, sk_fleet_free);
  g_free (self->a);
  g_free (self->b);
  g_free (self->c);
}

void
sk_three_assert_everywhere (SkThree *self, const char *content, guint times)
{
  const char *const dirs[] = { self->a, self->b, self->c };

  for (guint i = 0; i < G_N_ELEMENTS (dirs); i++)
    if (dirs[i] != NULL)
      g_assert_cmpuint (sk_count_content (dirs[i], content), ==, times);
}

gboolean
sk_there (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  struct stat st;

  return lstat (full, &st) == 0;
}

void
sk_assert_content (const char *dir, const char *path, const char *content)
{
  g_autofree char *data = sk_get_file (dir, path);

  g_assert_cmpstr (data, ==, content);
}

void
sk_unlink (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);

  g_assert_cmpint (g_remove (full), ==, 0);
}

void
sk_rename (const char *dir, const char *from, const char *to)
{
  g_autofree char *old = g_build_filename (dir, from, NULL), *new = g_build_filename (dir, to, NULL);

  g_assert_cmpint (g_rename (old, new), ==, 0);
}

void
sk_put_many (const char *dir, const char *prefix, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s%u", prefix, i);
      g_autoptr(GString) text = g_string_new (NULL);

      for (guint line = 0; line < 24; line++)
        g_string_append_printf (text, "line %u of file number %u, which holds nothing remarkable\n", line, i);
      sk_put_file (dir, path, text->str, (gssize) text->len);
    }
}

guint
sk_count_names (const char *dir, const char *prefix)
{
  g_autoptr(GDir) open = g_dir_open (dir, 0, NULL);
  const char *name;
  guint n = 0;

  while (open != NULL && (name = g_dir_read_name (open)) != NULL)
    n += g_str_has_prefix (name, prefix);
  return n;
}

static guint walk_count;
static const char *walk_content;

static int
walk_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  g_autofree char *data = NULL;

  if (!S_ISREG (st->st_mode) || strstr (path, "/.skerry/") != NULL)
    return 0;
  if (walk_content == NULL)
    {
      walk_count++;
      return 0;
    }
  if (g_file_get_contents (path, &data, NULL, NULL))
    walk_count += g_str_equal (data, walk_content);
  return 0;
}

guint
sk_count_content (const char *dir, const char *content)
{
  walk_count = 0;
  walk_content = content;
  nftw (dir, walk_one, 32, FTW_PHYS);
  return walk_count;
}

guint
sk_count_files (const char *dir)
{
  return sk_count_content (dir, NULL);
}

gboolean
sk_in_trash (const char *dir, const char *path, const char *content)
{
  g_autofree char *trash = g_build_filename (dir, ".skerry/trash", NULL);
  g_autoptr(GDir) open = g_dir_open (trash, 0, NULL);
  const char *batch;

  while (open != NULL && (batch = g_dir_read_name (open)) != NULL)
    {
      g_autofree char *full = g_build_filename (trash, batch, path, NULL);
      g_autofree char *data = NULL;

      if (g_file_get_contents (full, &data, NULL, NULL) && (content == NULL || g_str_equal (data, content)))
        return TRUE;
    }
  return FALSE;
}

void
sk_sync (SkFleet *fleet, guint i)
{
  g_variant_unref (sk_fleet_sync (fleet, i));
}

void
sk_sync_all (SkFleet *fleet, guint times)
{
  for (guint k = 0; k < times; k++)
    for (guint i = 0; i < fleet->n; i++)
      if (fleet->devices[i] != NULL)
        sk_sync (fleet, i);
}

gboolean
sk_sync_attention (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) report = sk_fleet_sync (fleet, i);
  gboolean attention = FALSE;

  g_variant_lookup (report, "attention", "b", &attention);
  return attention;
}

static GVariant *
issue_list (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) reply = sk_fleet_run (fleet, i, "issues", NULL);

  return g_variant_lookup_value (reply, "issues", G_VARIANT_TYPE ("aa{sv}"));
}

guint
sk_issues (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) list = issue_list (fleet, i);

  return (guint) g_variant_n_children (list);
}

void
sk_assert_no_issues (SkFleet *fleet, guint i)
{
  g_autoptr(GVariant) list = issue_list (fleet, i);
  g_autofree char *text = NULL;

  if (g_variant_n_children (list) > 0)
    {
      g_autoptr(GVariant) dict = g_variant_get_child_value (list, 0);

      g_variant_lookup (dict, "text", "s", &text);
    }
  g_assert_cmpstr (text, ==, NULL);
}

guint64
sk_issue (SkFleet *fleet, guint i, const char *kind, char **text)
{
  g_autoptr(GVariant) list = issue_list (fleet, i);

  if (text != NULL)
    *text = NULL;
  for (gsize k = 0; k < g_variant_n_children (list); k++)
    {
      g_autoptr(GVariant) dict = g_variant_get_child_value (list, k);
      const char *is = "";
      guint64 id = 0;

      g_variant_lookup (dict, "kind", "&s", &is);
      if (!g_str_equal (is, kind))
        continue;
      g_variant_lookup (dict, "id", "t", &id);
      if (text != NULL)
        g_variant_lookup (dict, "text", "s", text);
      return id;
    }
  return 0;
}

gboolean
sk_try_resolve (SkFleet *fleet, guint i, const char *kind, const char *choice)
{
  guint64 id = sk_issue (fleet, i, kind, NULL);
  g_autoptr(GVariant) reply = NULL;
  g_autoptr(GError) error = NULL;

  g_assert_cmpuint (id, !=, 0);
  reply = sk_session_command (fleet->devices[i], "resolve", g_variant_new_parsed ("{'issue': <%t>, 'choice': <%s>}", id, choice), NULL, NULL, NULL,
                              &error);
  return reply != NULL;
}

void
sk_resolve (SkFleet *fleet, guint i, const char *kind, const char *choice)
{
  g_assert_true (sk_try_resolve (fleet, i, kind, choice));
}

char *
sk_folder_state (SkFleet *fleet, guint i, const char *folder)
{
  g_autoptr(GVariant) reply = sk_fleet_run (fleet, i, "folder.list", NULL);
  g_autoptr(GVariant) list = g_variant_lookup_value (reply, "folders", G_VARIANT_TYPE ("aa{sv}"));

  for (gsize k = 0; k < g_variant_n_children (list); k++)
    {
      g_autoptr(GVariant) dict = g_variant_get_child_value (list, k);
      const char *name = "";
      char *state = NULL;

      g_variant_lookup (dict, "name", "&s", &name);
      if (g_str_equal (name, folder) && g_variant_lookup (dict, "state", "s", &state))
        return state;
    }
  return NULL;
}

gboolean
sk_wait (SkTest test, gpointer data, guint seconds)
{
  gint64 until = g_get_monotonic_time () + (gint64) seconds * G_USEC_PER_SEC;

  while (!test (data))
    {
      if (g_get_monotonic_time () > until)
        return FALSE;
      g_usleep (5000);
    }
  return TRUE;
}

/* --- a storage that fails --- */

struct _SkFlaky
{
  SkStore parent_instance;
  SkStore *real;
  GMutex lock;
  char *put_prefix, *get_prefix;
  guint puts, gets, failed;
  int put_code, get_code;
  gboolean lose;                 /* puts that are to fail are carried out */
  gint64 ahead;                  /* µs: its clock, of what it lists */
};

#define SK_TYPE_FLAKY (sk_flaky_get_type ())
G_DECLARE_FINAL_TYPE (SkFlaky, sk_flaky, SK, FLAKY, SkStore)
G_DEFINE_FINAL_TYPE (SkFlaky, sk_flaky, SK_TYPE_STORE)

static gboolean
must_fail (SkFlaky *self, const char *name, const char *prefix, guint *n, int code, GTask *task)
{
  gboolean fail;

  g_mutex_lock (&self->lock);
  fail = *n > 0 && prefix != NULL && g_str_has_prefix (name, prefix);
  if (fail)
    {
      *n -= *n != G_MAXUINT;
      self->failed++;
    }
  g_mutex_unlock (&self->lock);
  if (fail)
    g_task_return_new_error (task, SK_ERROR, code, "the storage was told to fail for “%s”", name);
  return fail;
}

static void
put_done (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(GTask) task = data;
  GError *error = NULL;

  if (!sk_store_put_finish (SK_STORE (source), result, &error))
    g_task_return_error (task, error);
  else if (GPOINTER_TO_INT (g_task_get_task_data (task)))
    g_task_return_new_error (task, SK_ERROR, SK_ERROR_IO, "the answer was lost");
  else
    g_task_return_boolean (task, TRUE);
}

/* The object arrives, its writer does not hear of it. */
static gboolean
loses_answer (SkFlaky *self, const char *name)
{
  gboolean lose;

  g_mutex_lock (&self->lock);
  lose = self->lose && self->puts > 0 && g_str_has_prefix (name, self->put_prefix);
  if (lose)
    {
      self->puts--;
      self->failed++;
    }
  g_mutex_unlock (&self->lock);
  return lose;
}

static void
flaky_put (SkStore *store, const char *name, GBytes *data, SkPutFlags flags, GTask *task)
{
  SkFlaky *self = SK_FLAKY (store);

  if (loses_answer (self, name))
    g_task_set_task_data (task, GINT_TO_POINTER (TRUE), NULL);
  else if (!self->lose && must_fail (self, name, self->put_prefix, &self->puts, self->put_code, task))
    return;
  sk_store_put_async (self->real, name, data, flags, g_task_get_cancellable (task), put_done, g_object_ref (task));
}

static void
get_done (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(GTask) task = data;
  GError *error = NULL;
  GBytes *bytes = sk_store_get_finish (SK_STORE (source), result, &error);

  if (bytes != NULL)
    g_task_return_pointer (task, bytes, (GDestroyNotify) g_bytes_unref);
  else
    g_task_return_error (task, error);
}

static void
flaky_get (SkStore *store, const char *name, guint64 offset, guint64 len, guint64 max_size, GTask *task)
{
  SkFlaky *self = SK_FLAKY (store);

  if (must_fail (self, name, self->get_prefix, &self->gets, self->get_code, task))
    return;
  if (offset == 0 && len == G_MAXUINT64)
    sk_store_get_async (self->real, name, max_size, g_task_get_cancellable (task), get_done, g_object_ref (task));
  else
    sk_store_get_range_async (self->real, name, offset, len, g_task_get_cancellable (task), get_done, g_object_ref (task));
}

static void
list_done (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(GTask) task = data;
  GError *error = NULL;
  SkFlaky *self = g_task_get_source_object (task);
  GPtrArray *items = sk_store_list_finish (SK_STORE (source), result, &error);

  for (guint i = 0; items != NULL && i < items->len; i++)
    ((SkStoreItem *) items->pdata[i])->mtime += self->ahead;
  if (items != NULL)
    g_task_return_pointer (task, items, (GDestroyNotify) g_ptr_array_unref);
  else
    g_task_return_error (task, error);
}

static void
flaky_list (SkStore *store, const char *prefix, GTask *task)
{
  sk_store_list_async (SK_FLAKY (store)->real, prefix, g_task_get_cancellable (task), list_done, g_object_ref (task));
}

static void
remove_done (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(GTask) task = data;
  GError *error = NULL;

  if (sk_store_remove_finish (SK_STORE (source), result, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
flaky_remove (SkStore *store, const char *const *names, GTask *task)
{
  sk_store_remove_async (SK_FLAKY (store)->real, names, g_task_get_cancellable (task), remove_done, g_object_ref (task));
}

static void
flaky_finalize (GObject *object)
{
  SkFlaky *self = SK_FLAKY (object);

  g_clear_object (&self->real);
  g_free (self->put_prefix);
  g_free (self->get_prefix);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (sk_flaky_parent_class)->finalize (object);
}

static void
sk_flaky_class_init (SkFlakyClass *class)
{
  SkStoreClass *store = SK_STORE_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = flaky_finalize;
  store->put = flaky_put;
  store->get = flaky_get;
  store->list = flaky_list;
  store->remove = flaky_remove;
}

static void
sk_flaky_init (SkFlaky *self)
{
  g_mutex_init (&self->lock);
}

SkFlaky *
sk_fleet_make_flaky (SkFleet *fleet, guint i)
{
  SkSession *session = fleet->devices[i];
  g_autoptr(SkConfig) config = sk_session_config (session);
  SkFlowStorage *storage = config->storages->pdata[0];
  SkFlaky *self = g_object_new (SK_TYPE_FLAKY, NULL);

  self->real = storage->store;
  sk_store_bind (SK_STORE (self), sk_store_uri (self->real), &session->who.vault, session->store_pool);
  /* A configuration keeps the stores of the one before it, so this one stays. Nothing runs while a test does this. */
  storage->store = SK_STORE (self);
  return self;
}

static void
fail (SkFlaky *self, char **prefix, guint *n, int *code, const char *new_prefix, guint new_n, int new_code)
{
  g_mutex_lock (&self->lock);
  g_free (*prefix);
  *prefix = g_strdup (new_prefix);
  *n = new_n;
  *code = new_code;
  g_mutex_unlock (&self->lock);
}

void
sk_flaky_lose_answers (SkFlaky *self, const char *prefix, guint n)
{
  self->lose = TRUE;
  fail (self, &self->put_prefix, &self->puts, &self->put_code, prefix, n, SK_ERROR_IO);
}

void
sk_flaky_fail_puts (SkFlaky *self, const char *prefix, guint n, int code)
{
  self->lose = FALSE;
  fail (self, &self->put_prefix, &self->puts, &self->put_code, prefix, n, code);
}

void
sk_flaky_fail_gets (SkFlaky *self, const char *prefix, guint n, int code)
{
  fail (self, &self->get_prefix, &self->gets, &self->get_code, prefix, n, code);
}

void
sk_flaky_set_clock (SkFlaky *self, gint64 ahead_us)
{
  self->ahead = ahead_us;
}

guint
sk_flaky_failed (SkFlaky *self)
{
  guint failed;

  g_mutex_lock (&self->lock);
  failed = self->failed;
  g_mutex_unlock (&self->lock);
  return failed;
}
