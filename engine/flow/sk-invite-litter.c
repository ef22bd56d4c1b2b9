/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list in the settings of which invitations may still have objects in a storage. It is written before the first of them is put, so that
 * none stays behind when the program is killed. */
#include <string.h>

#include "sk-invite-private.h"

#define SETTING "join-objects"
/* A storage that was not seen for so long is not waited for any more. */
#define FORGET_AFTER_S (G_GINT64_CONSTANT (90) * 86400)
#define ENTRIES_MAX 256u

typedef struct
{
  SkId storage, tag;
  gint64 until;                  /* 0: void with its session */
  gint64 noted;
} Entry;

static GArray *
load_entries (SkIndex *index)
{
  GArray *entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_autoptr(GBytes) kept = sk_index_get (index, SETTING);
  gsize size = 0;
  const guint8 *data = kept != NULL ? g_bytes_get_data (kept, &size) : NULL;

  if (size % sizeof (Entry) == 0 && size / sizeof (Entry) <= ENTRIES_MAX)
    g_array_append_vals (entries, data, (guint) (size / sizeof (Entry)));
  return entries;
}

typedef struct
{
  Entry entry;
  gboolean drop;
} NoteCall;

/* Index thread, in a transaction. */
static gboolean
change_entries (SkSession *session, gpointer data, GError **error)
{
  NoteCall *call = data;
  g_autoptr(GArray) entries = load_entries (session->index);

  for (guint i = entries->len; i > 0; i--)
    if (sk_id_equal (&g_array_index (entries, Entry, i - 1).tag, &call->entry.tag))
      g_array_remove_index (entries, i - 1);
  if (!call->drop && entries->len == ENTRIES_MAX)
    g_array_remove_index (entries, 0);
  if (!call->drop)
    g_array_append_val (entries, call->entry);
  return sk_index_set (session->index, SETTING, entries->data, entries->len * sizeof (Entry), error);
}

gboolean
sk_invite_litter_note (SkSession *session, const SkId *storage, const SkId *tag, gint64 until, GError **error)
{
  NoteCall call = { .entry = { .storage = *storage, .tag = *tag, .until = until, .noted = sk_session_wall (session) } };

  return sk_session_transact (session, change_entries, &call, error);
}

void
sk_invite_litter_drop (SkSession *session, const SkId *tag)
{
  NoteCall call = { .entry = { .tag = *tag }, .drop = TRUE };
  g_autoptr(GError) error = NULL;

  if (!sk_session_transact (session, change_entries, &call, &error))
    g_message ("the list of used invitations could not be written: %s", error->message);
}

gboolean
sk_invite_remove (SkStore *store, const SkId *tag, const char *parts, GCancellable *cancellable, GError **error)
{
  g_autofree char *offer = sk_invite_object_name (tag, "offer");
  g_autofree char *answer = sk_invite_object_name (tag, "answer");
  g_autofree char *grant = sk_invite_object_name (tag, "grant");
  const char *names[4] = { NULL };
  guint n = 0;

  if (strchr (parts, 'o') != NULL)
    names[n++] = offer;
  if (strchr (parts, 'a') != NULL)
    names[n++] = answer;
  if (strchr (parts, 'g') != NULL)
    names[n++] = grant;
  return sk_store_remove_sync (store, names, cancellable, error);
}

/* Index thread. */
static gboolean
read_entries (SkSession *session, gpointer data, GError **error)
{
  *(GArray **) data = load_entries (session->index);
  return TRUE;
}

static SkStore *
find_store (SkConfig *config, const SkId *storage)
{
  for (guint i = 0; i < config->storages->len; i++)
    {
      SkFlowStorage *flow = config->storages->pdata[i];

      if (sk_id_equal (&flow->id, storage))
        return flow->store;
    }
  return NULL;
}

/* A grant stays until the newcomer took it: he removes his answer then. */
static gboolean
is_over (SkStore *store, const Entry *entry, gint64 now, GCancellable *cancellable)
{
  g_autofree char *answer = sk_invite_object_name (&entry->tag, "answer");
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GError) error = NULL;

  if (entry->until < now)
    return TRUE;
  object = sk_store_get_sync (store, answer, SK_SMALL_OBJECT_MAX, cancellable, &error);
  return g_error_matches (error, SK_ERROR, SK_ERROR_NOT_FOUND);
}

void
sk_invite_litter_sweep (SkSession *session, SkInviteIsOurs is_ours, gpointer data, GCancellable *cancellable)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GArray) entries = NULL;
  gint64 now = sk_session_wall (session);

  if (!sk_session_index (session, read_entries, &entries, NULL))
    return;
  for (guint i = 0; i < entries->len && !g_cancellable_is_cancelled (cancellable); i++)
    {
      const Entry *entry = &g_array_index (entries, Entry, i);
      SkStore *store = find_store (config, &entry->storage);

      if (is_ours (&entry->tag, data))
        continue;
      if (store != NULL ? is_over (store, entry, now, cancellable) && sk_invite_remove (store, &entry->tag, "oag", cancellable, NULL)
                        : entry->noted + FORGET_AFTER_S < now)
        sk_invite_litter_drop (session, &entry->tag);
    }
}
