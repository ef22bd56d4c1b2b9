/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The own chain, and what every record of any chain does to the index. Index thread, inside a transaction. */
#include "sk-flow.h"

#include "sk-test-hooks.h"

gboolean
sk_log_next (SkSession *session, guint64 *seq, SkHash *prev, GError **error)
{
  SkPosition at = { 0 };

  if (!sk_index_position (session->index, &session->who.writer, &at))
    {
      *seq = 1;
      *prev = (SkHash) { 0 };
      return TRUE;
    }
  *seq = at.seq + 1;
  *prev = at.hash;
  return TRUE;
}

gboolean
sk_log_append (SkSession *session, GPtrArray *records, GError **error)
{
  g_autoptr(SkConfig) config = NULL;
  SkSegmentHeader header = { .version = 1, .vault = session->who.vault, .writer = session->who.writer };
  SkPosition position = { .writer = session->who.writer };
  g_autoptr(GBytes) object = NULL;
  SkCompressor *z;

  if (records->len == 0)
    return TRUE;
  config = sk_session_config (session);
  header.epoch = *sk_keyring_current (config->keys);
  header.wall = sk_session_wall (session);
  if (!sk_log_next (session, &header.seq, &header.prev, error))
    return FALSE;
  z = sk_session_take_compressor (session);
  object = sk_segment_build (&header, records, config->keys, session->identity, z, &position.hash, error);
  sk_session_give_compressor (session, z);
  if (object == NULL)
    return FALSE;
  position.seq = header.seq;
  return sk_index_segment_keep (session->index, &position, object, error) && sk_index_set_position (session->index, &position, error);
}

static gboolean
apply_entry (SkSession *session, const SkEntry *entry, const SkId *writer, guint64 seq, GPtrArray *problems, GError **error)
{
  g_autoptr(GError) local = NULL;

  if (entry->kind == SK_KIND_TOMBSTONE && sk_test_mistake ("lost-tombstone"))
    return TRUE;
  if (sk_tree_apply (session->tree, entry, writer, seq, &local))
    return sk_mass_note (session, entry, writer, error);
  if (g_error_matches (local, SK_ERROR, SK_ERROR_LIMIT))
    {
      g_ptr_array_add (problems, g_strdup (local->message));      /* one bad entry is one problem, not a stopped log */
      return TRUE;
    }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static gboolean
apply_pack_ref (SkSession *session, const SkRecord *record, const SkId *writer, GError **error)
{
  gint64 storage = sk_index_storage_row (session->index, &record->pack_ref->storage);

  if (storage == 0)
    return TRUE;
  if (record->type == SK_RECORD_PACK_VERIFIED)
    return TRUE;
  return sk_index_pack_set_state (session->index, storage, &record->pack_ref->name,
                                  record->type == SK_RECORD_PACK_DROP ? SK_PACK_CONDEMNED : SK_PACK_LIVE, writer,
                                  sk_session_wall (session), error);
}

gboolean
sk_log_apply (SkSession *session, SkRecord *record, const SkId *writer, guint64 seq, GPtrArray *problems, GError **error)
{
  gboolean changed;

  switch (record->type)
    {
    case SK_RECORD_ENTRY:
      return apply_entry (session, record->entry, writer, seq, problems, error);
    case SK_RECORD_FOLDER:
      return sk_index_folder_define (session->index, record->folder, &changed, error);
    case SK_RECORD_STORAGE:
      return sk_index_storage_define (session->index, record->storage, &changed, error);
    case SK_RECORD_PACK_PUT:
      if (sk_index_storage_row (session->index, &record->pack->storage) == 0)
        {
          /* A storage whose definition is in a log that was not read yet. */
          SkStorageDef def = { .id = record->pack->storage, .name = (char *) "", .uri = NULL };

          if (!sk_index_storage_define (session->index, &def, &changed, error))
            return FALSE;
        }
      return sk_index_pack_add (session->index, record->pack, error);
    case SK_RECORD_PACK_DROP:
    case SK_RECORD_PACK_KEEP:
    case SK_RECORD_PACK_VERIFIED:
      return apply_pack_ref (session, record, writer, error);
    case SK_RECORD_MEMBER:
      return sk_index_member_add (session->index, record->member, error);
    case SK_RECORD_MODES:      /* only in snapshots; a log has the entries themselves */
    default:
      return TRUE;
    }
}
