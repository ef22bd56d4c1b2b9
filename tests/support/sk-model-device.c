/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The devices. The model has no thread and opens no session; whatever the engine does happens in a child that ends with it. */
#include "sk-model-private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sk-pair.h"
#include "sk-test-hooks.h"

#define FOLDER "f"
#define RACED "raced "
#define CHILD_S 120              /* longer than any sync takes on a machine with much else to do */

void
sk_model_say (int out, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  while (write (out, text, strlen (text)) < 0 && errno == EINTR)
    ;
}

/* Reads what the child says until it ends. */
static GString *
listen_to (SkModel *self, pid_t child, int in)
{
  GString *said = g_string_new (NULL);
  struct pollfd ready = { .fd = in, .events = POLLIN };
  char buffer[4096];
  gssize n;

  for (;;)
    {
      int events = poll (&ready, 1, CHILD_S * 1000);

      if (events < 0 && errno == EINTR)
        continue;
      if (events == 0)
        {
          sk_model_fail (self, "a device did not come to an end within %d s", CHILD_S);
          kill (child, SIGKILL);
          break;
        }
      n = read (in, buffer, sizeof buffer);
      if (n <= 0)
        break;
      g_string_append_len (said, buffer, n);
    }
  close (in);
  return said;
}

void
sk_model_log_quietly (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  if ((level & G_LOG_LEVEL_MASK) <= G_LOG_LEVEL_WARNING)
    g_log_default_handler (domain, level, message, data);
}

char *
sk_model_in_child (SkModel *self, SkModelChildFunc func, gpointer data, int *status)
{
  int pipes[2];
  pid_t child;
  GString *said;

  g_assert_cmpint (pipe (pipes), ==, 0);
  fflush (stdout);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      close (pipes[0]);
      g_log_set_default_handler (sk_model_log_quietly, NULL);
      func (self, pipes[1], data);
      _exit (0);
    }
  close (pipes[1]);
  said = listen_to (self, child, pipes[0]);
  while (waitpid (child, status, 0) < 0 && errno == EINTR)
    ;
  return g_string_free (said, FALSE);
}

/* --- making them --- */

static void
make (SkModel *self, int out, gpointer data)
{
  SkFleet *fleet = sk_fleet_new (SK_MODEL_DEVICES, FALSE);

  sk_fleet_share (fleet, FOLDER);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    sk_fleet_close (fleet, i);
  sk_model_say (out, "%s", fleet->base);
}

gboolean
sk_model_make_devices (SkModel *self)
{
  int status;
  g_autofree char *base = sk_model_in_child (self, make, NULL, &status);

  if (status != 0 || *base == '\0')
    {
      sk_model_fail (self, "the devices could not be made (status %d)", status);
      return FALSE;
    }
  self->base = g_steal_pointer (&base);
  self->storage = g_strdup_printf ("%s/storage", self->base);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    {
      self->homes[i] = g_strdup_printf ("%s/%u/home", self->base, i);
      self->roots[i] = g_strdup_printf ("%s/%u/%s", self->base, i, FOLDER);
    }
  return TRUE;
}

/* --- syncing --- */

typedef struct
{
  guint device;
  const SkModelSync *how;
} SyncCall;

static struct
{
  const SkModelSync *how;
  const char *root;
  int out, passed;
} race;

/* A person who saves right now; only what is there already, as a file. */
static void
save_in_between (const char *stage)
{
  g_autofree char *full = NULL, *old = NULL, *key = NULL;
  gsize len;

  if (!g_str_equal (stage, race.how->race_stage) || (guint) g_atomic_int_add (&race.passed, 1) + 1 != race.how->race_at)
    return;
  full = g_build_filename (race.root, race.how->race_path, NULL);
  if (!g_file_test (full, G_FILE_TEST_IS_REGULAR) || g_file_test (full, G_FILE_TEST_IS_SYMLINK) || !g_file_get_contents (full, &old, &len, NULL))
    return;
  key = sk_model_key (FALSE, old, len);
  if (sk_model_write (race.root, race.how->race_path, race.how->race_bytes, race.how->race_in_place))
    sk_model_say (race.out, RACED "%s\n", key);
}

static void
set_hooks (SkModel *self, const SyncCall *call, int out)
{
  const SkModelSync *how = call->how;

  if (how->kill_stage != NULL)
    {
      g_autofree char *at = g_strdup_printf ("%s:%u", how->kill_stage, how->kill_at);

      g_setenv ("SKERRY_TEST_KILL_AT", at, TRUE);
    }
#if SK_TEST_HOOKS
  if (how->race_stage != NULL)
    {
      race.how = how;
      race.root = self->roots[call->device];
      race.out = out;
      sk_test_stage_hook = save_in_between;
    }
#endif
}

static gboolean
load_issues (SkSession *session, gpointer data, GError **error)
{
  GPtrArray **out = data;

  *out = sk_index_issues (session->index, error);
  return *out != NULL;
}

static GPtrArray *
issues_of (SkSession *session)
{
  GPtrArray *issues = NULL;

  sk_session_index (session, load_issues, &issues, NULL);
  return issues != NULL ? issues : g_ptr_array_new ();
}

GVariant *
sk_model_command (SkSession *session, const char *name, GVariant *args, int out)
{
  g_autoptr(GError) error = NULL;
  GVariant *reply = sk_session_command (session, name, args, NULL, NULL, NULL, &error);

  if (reply == NULL)
    sk_model_say (out, "%s: %s\n", name, error->message);
  return reply;
}

gboolean
sk_model_accept_mass_changes (SkSession *session, int out)
{
  g_autoptr(GPtrArray) issues = issues_of (session);
  gboolean any = FALSE;

  for (guint i = 0; i < issues->len; i++)
    {
      SkIssueRow *issue = issues->pdata[i];
      g_autoptr(GVariant) reply = NULL;

      if (!g_str_equal (issue->kind, "mass-change"))
        continue;
      reply = sk_model_command (session, "resolve", g_variant_new_parsed ("{'issue': <%t>, 'choice': <'accept'>}", (guint64) issue->row), out);
      any |= reply != NULL;
    }
  return any;
}

void
sk_model_say_issues (SkSession *session, int out)
{
  g_autoptr(GPtrArray) issues = issues_of (session);

  for (guint i = 0; i < issues->len; i++)
    sk_model_say (out, "issue: %s: %s\n", ((SkIssueRow *) issues->pdata[i])->key, ((SkIssueRow *) issues->pdata[i])->text);
}

static void
say_failures (GVariant *report, int out)
{
  g_autoptr(GVariant) failed = g_variant_lookup_value (report, "failed", G_VARIANT_TYPE ("aa{sv}"));
  GVariantIter iter;
  GVariant *item;

  g_variant_iter_init (&iter, failed);
  while ((item = g_variant_iter_next_value (&iter)) != NULL)
    {
      const char *path = "", *why = "";

      g_variant_lookup (item, "path", "^&ay", &path);
      g_variant_lookup (item, "why", "&s", &why);
      sk_model_say (out, "failed: %s: %s\n", path, why);
      g_variant_unref (item);
    }
}

static void
sync_now (SkModel *self, int out, gpointer data)
{
  const SyncCall *call = data;
  SkSessionOptions options = { .home = self->homes[call->device] };
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) report = NULL;
  SkSession *session;

  set_hooks (self, call, out);
  session = sk_session_open (&options, &error);
  if (session == NULL)
    {
      sk_model_say (out, "open: %s\n", error->message);
      return;
    }
  report = sk_model_command (session, "sync", NULL, out);
  if (report != NULL && sk_model_accept_mass_changes (session, out))
    {
      g_variant_unref (report);
      report = sk_model_command (session, "sync", NULL, out);
    }
  if (report != NULL)
    say_failures (report, out);
  sk_model_say_issues (session, out);
  sk_session_close (session);
}

void
sk_model_synced_clear (SkModelSynced *self)
{
  g_free (self->raced);
  g_free (self->said);
}

void
sk_model_sync (SkModel *self, guint i, const SkModelSync *how, SkModelSynced *out)
{
  SyncCall call = { .device = i, .how = how };
  g_autofree char *away = g_strconcat (self->storage, ".away", NULL);
  int status;
  char *said;

  if (how->no_storage)
    g_assert_cmpint (g_rename (self->storage, away), ==, 0);
  said = sk_model_in_child (self, sync_now, &call, &status);
  if (how->no_storage)
    g_assert_cmpint (g_rename (away, self->storage), ==, 0);
  self->counts->syncs++;
  *out = (SkModelSynced) { .said = said };
  out->killed = WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL && how->kill_stage != NULL;
  self->killed[i] |= out->killed;
  if (status != 0 && !out->killed)
    sk_model_fail (self, "device %u ended with status %d: %s", i, status, said);
  if (g_str_has_prefix (said, RACED))
    {
      char *end = strchr (said, '\n') + 1;

      out->raced = g_strndup (said + strlen (RACED), (gsize) (end - 1 - said) - strlen (RACED));
      memmove (said, end, strlen (end) + 1);
    }
  out->clean = !out->killed && !how->no_storage && *said == '\0';
}

/* --- history --- */

typedef struct
{
  guint device;
  GHashTable *missing;
  SkSession *session;
  int out;
} FindCall;

/* The bytes of @data cut as @chunks says are what the ids say, and each piece lies in a storage. */
static gboolean
is_same_file (SkSession *session, GArray *chunks, GBytes *data)
{
  gsize left;
  const guint8 *at = g_bytes_get_data (data, &left);

  for (guint i = 0; i < chunks->len; i++)
    {
      const SkChunkRef *ref = &g_array_index (chunks, SkChunkRef, i);
      g_autoptr(GArray) places = NULL;
      SkHash id;

      if (sk_chunk_ref_is_zero (ref) || ref->size > left)
        return FALSE;
      sk_chunk_id (&session->id_key, at, ref->size, &id);
      if (!sk_hash_equal (&id, &ref->id))
        return FALSE;
      places = sk_index_chunk_places (session->index, &ref->id, NULL);
      if (places == NULL || places->len == 0)
        return FALSE;
      at += ref->size;
      left -= ref->size;
    }
  return left == 0;
}

static gboolean
is_version (SkSession *session, const SkVersion *version, const SkModelContent *content)
{
  g_autoptr(GArray) chunks = NULL;

  if (content->is_link)
    return version->entry->kind == SK_KIND_SYMLINK
           && strlen (version->entry->symlink) == g_bytes_get_size (content->data)
           && memcmp (version->entry->symlink, g_bytes_get_data (content->data, NULL), g_bytes_get_size (content->data)) == 0;
  if (version->entry->kind != SK_KIND_FILE || version->entry->size != g_bytes_get_size (content->data))
    return FALSE;
  chunks = sk_index_content_chunks (session->index, version->content, NULL);
  return chunks != NULL && is_same_file (session, chunks, content->data);
}

static gboolean
find_below (FindCall *call, gint64 folder, gint64 parent, GError **error)
{
  g_autoptr(GPtrArray) nodes = sk_index_children (call->session->index, folder, parent, FALSE, error);

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      SkNode *node = nodes->pdata[i];
      g_autoptr(GPtrArray) versions = sk_index_versions (call->session->index, node->row, FALSE, error);
      GHashTableIter iter;
      gpointer value;

      if (versions == NULL)
        return FALSE;
      g_hash_table_iter_init (&iter, call->missing);
      while (g_hash_table_iter_next (&iter, NULL, &value))
        for (guint k = 0; k < versions->len; k++)
          if (is_version (call->session, versions->pdata[k], value))
            {
              sk_model_say (call->out, "%s\n", ((SkModelContent *) value)->key);
              g_hash_table_iter_remove (&iter);
              break;
            }
      if (!find_below (call, folder, node->row, error))
        return FALSE;
    }
  return nodes != NULL;
}

static gboolean
find_all (SkSession *session, gpointer data, GError **error)
{
  FindCall *call = data;
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);

  for (guint i = 0; i < folders->len; i++)
    if (!find_below (call, ((SkFolderRow *) folders->pdata[i])->row, 0, error))
      return FALSE;
  return TRUE;
}

static void
find_now (SkModel *self, int out, gpointer data)
{
  FindCall *call = data;
  SkSessionOptions options = { .home = self->homes[call->device] };

  call->out = out;
  call->session = sk_session_open (&options, NULL);
  if (call->session == NULL)
    return;
  sk_session_index (call->session, find_all, call, NULL);
  sk_session_close (call->session);
}

void
sk_model_find_versions (SkModel *self, guint i, GHashTable *missing)
{
  FindCall call = { .device = i, .missing = missing };
  int status;
  g_autofree char *said = sk_model_in_child (self, find_now, &call, &status);
  g_auto(GStrv) keys = g_strsplit (said, "\n", -1);

  for (guint k = 0; keys[k] != NULL; k++)
    g_hash_table_remove (missing, keys[k]);
}
