/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deletions that nobody made, also those that were taken back: they stand in the history as long as it reaches. */
#include "sk-model-private.h"

#include <stdio.h>
#include <string.h>

#include "sk-pair.h"

#define DEVICE_NAME "device-"    /* and its number: sk-pair.c */

typedef struct
{
  guint device;
  SkSession *session;
  int out;
} TombsCall;

/* A line "DEVICE PATH" for each deletion of a path that has one. */
static gboolean
say_tombs_below (TombsCall *call, gint64 folder, gint64 parent, GError **error)
{
  g_autoptr(GPtrArray) nodes = sk_index_children (call->session->index, folder, parent, FALSE, error);

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      SkNode *node = nodes->pdata[i];
      g_autofree char *path = sk_index_node_path (call->session->index, node->row, error);
      g_autoptr(GPtrArray) versions = sk_index_versions (call->session->index, node->row, FALSE, error);

      if (versions == NULL || path == NULL)
        return FALSE;
      for (guint k = 0; k < versions->len; k++)
        {
          SkVersion *version = versions->pdata[k];
          const char *device = version->entry->device_name;

          if (version->entry->kind == SK_KIND_TOMBSTONE && !version->is_virtual)
            sk_model_say (call->out, "%s %s\n", g_str_has_prefix (device, DEVICE_NAME) ? device + strlen (DEVICE_NAME) : "?", path);
        }
      if (!say_tombs_below (call, folder, node->row, error))
        return FALSE;
    }
  return nodes != NULL;
}

static gboolean
say_tombs (SkSession *session, gpointer data, GError **error)
{
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);

  for (guint i = 0; i < folders->len; i++)
    if (!say_tombs_below (data, ((SkFolderRow *) folders->pdata[i])->row, 0, error))
      return FALSE;
  return TRUE;
}

static void
tombs_now (SkModel *self, int out, gpointer data)
{
  TombsCall *call = data;
  SkSessionOptions options = { .home = self->homes[call->device] };
  g_autoptr(GError) error = NULL;

  call->out = out;
  call->session = sk_session_open (&options, &error);
  if (call->session == NULL || !sk_session_index (call->session, say_tombs, call, &error))
    sk_model_say (out, "! %s\n", error->message);
  g_clear_pointer (&call->session, sk_session_close);
}

/* @tomb: "DEVICE PATH". Device @of is where a person did it. A directory that a person removed or moved took along whatever the engine had just put there. */
static gboolean
was_made_on (SkModel *self, guint of, const char *tomb)
{
  const char *path = strchr (tomb, ' ');
  g_autofree char *at = path != NULL ? g_strdup_printf ("%u%s", of, path) : g_strdup (tomb);

  for (;;)
    {
      char *slash;

      if (g_hash_table_contains (self->removed, at))
        return TRUE;
      slash = strrchr (at, '/');
      if (slash == NULL)
        return FALSE;
      *slash = '\0';
    }
}

/* One that was killed after it did here what a person did elsewhere, and before it noted that, tells of it once more: nothing is lost by that. */
static gboolean
has_maker (SkModel *self, const char *tomb)
{
  const guint device = (guint) g_ascii_strtoull (tomb, NULL, 10);
  gboolean made = FALSE;

  for (guint of = 0; of < SK_MODEL_DEVICES && device < SK_MODEL_DEVICES; of++)
    made |= (of == device || self->killed[device]) && was_made_on (self, of, tomb);
  return made;
}

void
sk_model_check_tombstones (SkModel *self)
{
  for (guint i = 0; i < SK_MODEL_DEVICES && !sk_model_failed (self); i++)
    {
      TombsCall call = { .device = i };
      int status;
      g_autofree char *said = sk_model_in_child (self, tombs_now, &call, &status);
      g_auto(GStrv) tombs = g_strsplit (said, "\n", -1);

      for (guint k = 0; tombs[k] != NULL && *tombs[k] != '\0'; k++)
        {
          if (!has_maker (self, tombs[k]))
            sk_model_fail (self, "the history of device %u tells of a deletion that nobody made (device, path): %s", i, tombs[k]);
          self->counts->tombstones++;
        }
    }
}
