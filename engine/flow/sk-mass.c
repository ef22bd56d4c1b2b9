/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device that suddenly removes much is a mistake or a theft. Who removes asks before publishing (sk-up-scan.c) and says so in the entries;
 * what arrives without that is held here. Index thread, inside the transaction that applies the segment. */
#include "sk-flow.h"
#include "sk-mass.h"

typedef struct
{
  GArray *nodes;                 /* gint64 rows, oldest first */
  GArray *walls;                 /* gint64 seconds of the entries, by their writer's clock */
  guint64 bytes;
} Recent;

static void
recent_free (gpointer data)
{
  Recent *self = data;

  g_array_unref (self->nodes);
  g_array_unref (self->walls);
  g_free (self);
}

gboolean
sk_mass_is (guint64 removed, guint64 bytes, guint64 files_before)
{
  return removed >= SK_MASS_FILES || bytes >= SK_MASS_BYTES || (removed >= SK_MASS_HALF_FROM && removed * 2 >= files_before);
}

static Recent *
recent_of (SkSession *session, const SkId *writer, gint64 folder)
{
  SkDeviceId device = sk_id_device (writer);
  char hex[SK_DEVICE_ID_HEX_SIZE];
  g_autofree char *key = NULL;
  Recent *recent;

  if (session->mass == NULL)
    session->mass = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, recent_free);
  sk_device_id_format (&device, hex);
  key = g_strdup_printf ("%s:%" G_GINT64_FORMAT, hex, folder);
  recent = g_hash_table_lookup (session->mass, key);
  if (recent != NULL)
    return recent;
  recent = g_new0 (Recent, 1);
  recent->nodes = g_array_new (FALSE, FALSE, sizeof (gint64));
  recent->walls = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_hash_table_insert (session->mass, g_steal_pointer (&key), recent);
  return recent;
}

static void
forget_old (Recent *recent, gint64 wall)
{
  guint old = 0;

  while (old < recent->walls->len && g_array_index (recent->walls, gint64, old) < wall - SK_MASS_WINDOW_S)
    old++;
  if (old == 0)
    return;
  g_array_remove_range (recent->walls, 0, old);
  g_array_remove_range (recent->nodes, 0, old);
  if (recent->walls->len == 0)
    recent->bytes = 0;
}

static gboolean
hold_all (SkSession *session, Recent *recent, gint64 folder, const SkEntry *entry, GError **error)
{
  g_autofree char *key = g_strdup_printf ("mass-change-in:%" G_GINT64_FORMAT, folder);
  g_autofree char *text = NULL;

  for (guint i = 0; i < recent->nodes->len; i++)
    {
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, g_array_index (recent->nodes, gint64, i), error);

      if (node == NULL)
        return FALSE;
      if (node->dirty && (node->hold & SK_HOLD_MASS) == 0
          && !sk_index_set_hold (session->index, node->row, node->hold | SK_HOLD_MASS, error))
        return FALSE;
    }
  text = g_strdup_printf ("Device “%s” removed %u files within ten minutes. They are still here; 'accept' removes them (they stay in the trash), 'refuse' "
                          "gives them back to all devices", entry->device_name, recent->nodes->len);
  g_mutex_lock (&session->lock);
  g_hash_table_add (session->open_issues, g_strdup (key));
  g_mutex_unlock (&session->lock);
  return sk_index_issue_raise (session->index, key, "mass-change", folder, NULL, text, sk_session_wall (session), error);
}

gboolean
sk_mass_note (SkSession *session, const SkEntry *entry, const SkId *writer, GError **error)
{
  SkDeviceId device = sk_id_device (writer);
  gint64 folder;
  g_autoptr(SkNode) node = NULL;
  Recent *recent;
  SkFolderCounts counts;

  if (entry->kind != SK_KIND_TOMBSTONE || (entry->flags & (SK_ENTRY_CONFIRMED | SK_ENTRY_MOVED | SK_ENTRY_WAS_DIR)) != 0
      || sk_device_id_equal (&device, &session->who.device))
    return TRUE;
  folder = sk_index_folder_row (session->index, &entry->folder);
  node = sk_index_node (session->index, folder, entry->path, error);
  if (node == NULL)
    return error == NULL || *error == NULL;
  if (node->base.kind != SK_KIND_FILE || node->target.kind != SK_KIND_NONE)
    return TRUE;
  recent = recent_of (session, writer, folder);
  forget_old (recent, entry->wall);
  g_array_append_val (recent->nodes, node->row);
  g_array_append_val (recent->walls, entry->wall);
  recent->bytes += node->base.size;
  if (recent->nodes->len < SK_MASS_HALF_FROM && recent->bytes < SK_MASS_BYTES)
    return TRUE;
  if (!sk_index_folder_counts (session->index, folder, &counts, error))
    return FALSE;
  if (!sk_mass_is (recent->nodes->len, recent->bytes, (guint64) counts.files + recent->nodes->len))
    return TRUE;
  return hold_all (session, recent, folder, entry, error);
}

gboolean
sk_mass_accept (SkSession *session, gint64 folder, GError **error)
{
  for (;;)
    {
      g_autoptr(GPtrArray) held = sk_index_held (session->index, folder, SK_HOLD_MASS, 1000, error);

      if (held == NULL)
        return FALSE;
      if (held->len == 0)
        return TRUE;
      for (guint i = 0; i < held->len; i++)
        {
          SkNode *node = held->pdata[i];

          if (!sk_index_set_hold (session->index, node->row, node->hold & ~(guint32) SK_HOLD_MASS, error))
            return FALSE;
        }
    }
}

gboolean
sk_mass_refuse (SkSession *session, gint64 folder, GPtrArray *records, GError **error)
{
  guint64 seq;
  SkHash prev;

  if (!sk_log_next (session, &seq, &prev, error))
    return FALSE;
  for (;;)
    {
      g_autoptr(GPtrArray) held = sk_index_held (session->index, folder, SK_HOLD_MASS, 1000, error);

      if (held == NULL)
        return FALSE;
      if (held->len == 0)
        return TRUE;
      for (guint i = 0; i < held->len; i++)
        {
          SkNode *node = held->pdata[i];

          if (!sk_index_set_hold (session->index, node->row, node->hold & ~(guint32) SK_HOLD_MASS, error))
            return FALSE;
          if (node->base.version != 0 && node->target.kind == SK_KIND_NONE
              && !sk_tree_revive (session->tree, node->row, node->base.version, &session->who.writer, seq, sk_session_wall (session), records, error))
            return FALSE;
        }
    }
}
