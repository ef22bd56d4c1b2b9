/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-touched.h"

#include "sk-merge.h"
#include "sk-split.h"
#include "sk-target.h"

#include <string.h>

#define STEP (4u << 20)          /* read at once */

typedef struct
{
  gint64 folder;
  const SkEntry *entry;
  gboolean known;
} KnownCall;

/* Index thread. */
static gboolean
look_for_version (SkSession *session, gpointer data, GError **error)
{
  KnownCall *call = data;
  g_autoptr(SkNode) node = sk_index_node (session->index, call->folder, call->entry->path, NULL);

  call->known = node != NULL && sk_index_version_with_content (session->index, node->row, &call->entry->content, NULL) > 0;
  return TRUE;
}

/* Reads @item as the way up would, which gives its content its hash. *@xattrs: what it has of those, which a version may have or not. */
static gboolean
read_content (SkSession *session, SkRoot *root, const SkTrashItem *item, SkEntry *entry, GBytes **xattrs)
{
  gboolean too_large;
  g_autofree char *path = sk_trash_item_path (item);
  g_autoptr(SkSplitter) splitter = sk_splitter_open (root, path, &item->stat, &session->gear, &session->id_key, NULL);
  g_autoptr(GArray) fresh = g_array_new (FALSE, TRUE, sizeof (SkSplitChunk));
  gboolean done = splitter == NULL;

  g_array_set_clear_func (fresh, (GDestroyNotify) sk_split_chunk_clear);
  entry->size = item->stat.size;
  if (entry->chunks == NULL)
    entry->chunks = g_array_new (FALSE, FALSE, sizeof (SkChunkRef));
  while (!done)
    {
      if (!sk_splitter_step (splitter, STEP, fresh, &done, session->stopping, NULL))
        return FALSE;
      for (guint i = 0; i < fresh->len; i++)
        g_array_append_val (entry->chunks, g_array_index (fresh, SkSplitChunk, i).ref);
      g_array_set_size (fresh, 0);
    }
  sk_entry_seal_content (entry);
  return splitter != NULL && sk_splitter_xattrs (splitter, xattrs, &too_large, NULL);
}

/* After a restart its times alone tell that it was written to: those of a file that was removed right after it was written are the same. */
static gboolean
is_kept (SkSession *session, gint64 folder, const SkId *id, SkRoot *root, const SkTrashItem *item)
{
  g_autoptr(SkEntry) entry = sk_entry_new (id, item->path, SK_KIND_FILE);
  KnownCall call = { .folder = folder, .entry = entry };
  g_autoptr(GBytes) xattrs = NULL;

  if (!read_content (session, root, item, entry, &xattrs) || !sk_session_index (session, look_for_version, &call, NULL))
    return FALSE;
  if (call.known || xattrs == NULL)
    return call.known;
  entry->xattrs = g_steal_pointer (&xattrs);
  sk_entry_seal_content (entry);
  return sk_session_index (session, look_for_version, &call, NULL) && call.known;
}

static void
restore (SkSession *session, const SkId *id, SkRoot *root, const SkTrashItem *item)
{
  g_autoptr(SkEntry) loser = sk_entry_new (id, item->path, SK_KIND_FILE);
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;

  g_free (loser->device_name);
  loser->device_name = g_strdup (session->who.device_name);
  loser->wall = item->stat.mtime / 1000000000;
  memcpy (loser->content.bytes, &item->stat.ino, sizeof item->stat.ino);
  memcpy (loser->content.bytes + sizeof item->stat.ino, &item->stat.mtime, sizeof item->stat.mtime);
  path = sk_conflict_path (loser);
  if (!sk_trash_restore (root, item, path, &error))
    g_message ("a file that was written to in the trash stays there: %s", error->message);
}

void
sk_touched_restore (SkSession *session, gint64 folder, const SkId *id, SkRoot *root, gint64 since)
{
  g_autoptr(GPtrArray) touched = sk_trash_touched (root, since);

  for (guint i = 0; i < touched->len && !g_cancellable_is_cancelled (session->stopping); i++)
    {
      const SkTrashItem *item = touched->pdata[i];

      if (is_kept (session, folder, id, root, item))
        sk_trash_is_seen (root, item);
      else if (!g_cancellable_is_cancelled (session->stopping))
        restore (session, id, root, item);
    }
}
