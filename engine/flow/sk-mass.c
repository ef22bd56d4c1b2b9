/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device that suddenly removes much is a mistake or a theft. Who removes asks before publishing (sk-up-scan.c) and says so in the entries;
 * what arrives without that is held here. Index thread, inside the transaction that applies the segment. */
#include "sk-mass.h"

#include "sk-hash.h"
#include "sk-issues.h"

#define SAMPLES 8u
#define EVIDENCE_MIN 512u        /* plain bytes of a chunk whose being stored raw says something */
#define ZEROS_STORED_MAX 512u    /* bytes: more than a sealed chunk of zeros takes, whatever its length */

typedef struct
{
  GArray *nodes;                 /* gint64 rows, oldest first */
  GArray *walls;                 /* gint64 seconds of the entries, by their writer's clock */
  guint64 bytes;
  GArray *gone;                  /* gboolean: removed, not replaced */
  guint held;                    /* of @nodes: were held already */
} Recent;

static void
recent_free (gpointer data)
{
  Recent *self = data;

  g_array_unref (self->nodes);
  g_array_unref (self->walls);
  g_array_unref (self->gone);
  g_free (self);
}

gboolean
sk_mass_is (guint64 removed, guint64 bytes, guint64 files_before)
{
  return removed >= SK_MASS_FILES || bytes >= SK_MASS_BYTES || (removed >= SK_MASS_HALF_FROM && removed * 2 >= files_before);
}

/* --- replaced by nothing --- */

/* How a chunk is stored: FALSE without an error when no storage holds it. */
static gboolean
find_place (SkSession *session, const SkChunkRef *ref, SkChunkPlace *place, GError **error)
{
  g_autoptr(GArray) places = sk_index_chunk_places (session->index, &ref->id, error);

  if (places == NULL || places->len == 0)
    return FALSE;
  *place = g_array_index (places, SkChunkPlace, 0);
  return TRUE;
}

/* Zeros of a length have one id. Only what is stored as something tiny, or not stored, is worth computing that for. */
static gboolean
is_zeros (SkSession *session, const SkChunkRef *ref, gboolean *zeros, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autofree guint8 *bytes = NULL;
  SkChunkPlace place;
  SkHash id;

  *zeros = sk_chunk_ref_is_zero (ref);
  if (*zeros)
    return TRUE;
  if (find_place (session, ref, &place, &local) && place.row.stored_len > ZEROS_STORED_MAX)
    return TRUE;
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  bytes = g_malloc0 (ref->size);
  sk_chunk_id (&session->id_key, bytes, ref->size, &id);
  *zeros = sk_hash_equal (&id, &ref->id);
  return TRUE;
}

static gboolean
all_zeros (SkSession *session, const GArray *chunks, gboolean *zeros, GError **error)
{
  *zeros = TRUE;
  for (guint i = 0; i < chunks->len && *zeros; i++)
    if (!is_zeros (session, &g_array_index (chunks, SkChunkRef, i), zeros, error))
      return FALSE;
  return TRUE;
}

/* Of up to SAMPLES chunks spread over the file: how many are stored raw, how many compressed. */
static gboolean
count_methods (SkSession *session, const GArray *chunks, guint *raw, guint *packed, GError **error)
{
  guint step = MAX (1, (chunks->len + SAMPLES - 1) / SAMPLES);

  *raw = *packed = 0;
  for (guint i = 0; i < chunks->len; i += step)
    {
      SkChunkRef *ref = &g_array_index (chunks, SkChunkRef, i);
      g_autoptr(GError) local = NULL;
      SkChunkPlace place;

      if (sk_chunk_ref_is_zero (ref))
        (*packed)++;
      else if (ref->size >= EVIDENCE_MIN && find_place (session, ref, &place, &local))
        *(place.row.method == SK_METHOD_RAW ? raw : packed) += 1;
      else if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
sk_mass_is_wiped (SkSession *session, gint64 old_content, const SkEntry *entry, gboolean *wiped, GError **error)
{
  g_autoptr(GArray) old = NULL;
  gboolean old_zeros, zeros;
  guint old_raw, old_packed, raw, packed;

  *wiped = FALSE;
  /* What a crash left there is known by no content: nothing can be said of it. */
  if (old_content == 0)
    return TRUE;
  old = sk_index_content_chunks (session->index, old_content, error);
  if (old == NULL)
    return FALSE;
  if (old->len == 0 || entry->chunks == NULL)
    return TRUE;
  if (!all_zeros (session, entry->chunks, &zeros, error))
    return FALSE;
  if (zeros)
    {
      if (!all_zeros (session, old, &old_zeros, error))
        return FALSE;
      *wiped = !old_zeros;
      return TRUE;
    }
  if (!count_methods (session, old, &old_raw, &old_packed, error) || !count_methods (session, entry->chunks, &raw, &packed, error))
    return FALSE;
  *wiped = raw > 0 && packed == 0 && old_packed > 0 && old_packed >= old_raw;
  return TRUE;
}

/* --- what comes from others --- */

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
  recent->gone = g_array_new (FALSE, FALSE, sizeof (gboolean));
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
  g_array_remove_range (recent->gone, 0, old);
  g_array_remove_range (recent->nodes, 0, old);
  recent->held -= MIN (recent->held, old);
  if (recent->walls->len == 0)
    recent->bytes = 0;
}

/* Those are not among the files any more. */
static guint64
count_gone (const Recent *recent)
{
  guint64 n = 0;

  for (guint i = 0; i < recent->gone->len; i++)
    n += g_array_index (recent->gone, gboolean, i);
  return n;
}

static gboolean
hold_all (SkSession *session, Recent *recent, gint64 folder, const SkEntry *entry, GError **error)
{
  g_autofree char *key = g_strdup_printf ("mass-change-in:%" G_GINT64_FORMAT, folder);
  g_autofree char *text = NULL;

  for (; recent->held < recent->nodes->len; recent->held++)
    {
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, g_array_index (recent->nodes, gint64, recent->held), error);

      if (node == NULL)
        return FALSE;
      if (node->dirty && (node->hold & SK_HOLD_MASS) == 0
          && !sk_index_set_hold (session->index, node->row, node->hold | SK_HOLD_MASS, error))
        return FALSE;
    }
  text = g_strdup_printf ("Device “%s” removed %u files, or overwrote them with zeros or unreadable data, within ten minutes. They are still here; 'accept' "
                          "does the same here (the old content stays in the trash), 'refuse' gives them back to all devices", entry->device_name,
                          recent->nodes->len);
  return sk_issues_raise_within (session, key, "mass-change", folder, text, error);
}

/* Decided once; what comes after that is counted anew. @writer NULL: of all devices. */
static void
forget_recent (SkSession *session, const SkId *writer, gint64 folder)
{
  g_autofree char *ending = g_strdup_printf (":%" G_GINT64_FORMAT, folder);
  char hex[SK_DEVICE_ID_HEX_SIZE] = "";
  GHashTableIter iter;
  gpointer key;

  if (session->mass == NULL)
    return;
  if (writer != NULL)
    {
      SkDeviceId device = sk_id_device (writer);

      sk_device_id_format (&device, hex);
    }
  g_hash_table_iter_init (&iter, session->mass);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (g_str_has_suffix (key, ending) && g_str_has_prefix (key, hex))
      g_hash_table_iter_remove (&iter);
}

/* The entry was applied: does it take away what is on this disk? */
static gboolean
is_loss (SkSession *session, const SkNode *node, const SkEntry *entry, gboolean *loss, GError **error)
{
  *loss = FALSE;
  if (node->base.kind != SK_KIND_FILE)
    return TRUE;
  if (entry->kind == SK_KIND_TOMBSTONE)
    {
      *loss = node->target.kind == SK_KIND_NONE;
      return TRUE;
    }
  if (node->target.kind != SK_KIND_FILE || node->target.content == node->base.content
      || node->target.content != sk_index_content_row (session->index, &entry->content))
    return TRUE;
  return sk_mass_is_wiped (session, node->base.content, entry, loss, error);
}

gboolean
sk_mass_note (SkSession *session, const SkEntry *entry, const SkId *writer, GError **error)
{
  SkDeviceId device = sk_id_device (writer);
  gint64 folder;
  g_autoptr(SkNode) node = NULL;
  Recent *recent;
  SkFolderCounts counts;
  gboolean loss, is_gone;

  if ((entry->kind != SK_KIND_TOMBSTONE && entry->kind != SK_KIND_FILE) || sk_device_id_equal (&device, &session->who.device)
      || (entry->flags & (SK_ENTRY_MOVED | SK_ENTRY_WAS_DIR)) != 0)
    return TRUE;
  folder = sk_index_folder_row (session->index, &entry->folder);
  if ((entry->flags & SK_ENTRY_CONFIRMED) != 0)
    {
      /* Somebody was asked there about what went before as well. */
      forget_recent (session, writer, folder);
      return TRUE;
    }
  node = sk_index_node (session->index, folder, entry->path, error);
  if (node == NULL)
    return error == NULL || *error == NULL;
  if (!is_loss (session, node, entry, &loss, error))
    return FALSE;
  if (!loss)
    return TRUE;
  recent = recent_of (session, writer, folder);
  forget_old (recent, entry->wall);
  g_array_append_val (recent->nodes, node->row);
  g_array_append_val (recent->walls, entry->wall);
  is_gone = entry->kind == SK_KIND_TOMBSTONE;
  g_array_append_val (recent->gone, is_gone);
  recent->bytes += node->base.size;
  if (recent->nodes->len < SK_MASS_HALF_FROM && recent->bytes < SK_MASS_BYTES)
    return TRUE;
  if (!sk_index_folder_counts (session->index, folder, &counts, error))
    return FALSE;
  if (!sk_mass_is (recent->nodes->len, recent->bytes, (guint64) counts.files + count_gone (recent)))
    return TRUE;
  return hold_all (session, recent, folder, entry, error);
}

gboolean
sk_mass_accept (SkSession *session, gint64 folder, GError **error)
{
  forget_recent (session, NULL, folder);
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

  forget_recent (session, NULL, folder);
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
          if (node->base.version != 0 && (node->target.kind == SK_KIND_NONE || node->target.content != node->base.content)
              && !sk_tree_revive (session->tree, node->row, node->base.version, &session->who.writer, seq, sk_session_wall (session), records, error))
            return FALSE;
        }
    }
}
