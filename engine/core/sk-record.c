/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records as values: making, freeing, checking. The body codec is in sk-record-encode.c and
 * sk-record-decode.c. */
#include "sk-record-private.h"

#include "sk-error.h"
#include "sk-path.h"

#include <string.h>

static SkRecord *
record_new (SkRecordType type)
{
  SkRecord *self = g_new0 (SkRecord, 1);

  self->type = type;
  return self;
}

SkRecord *
sk_record_new_entry (SkEntry *entry)
{
  SkRecord *self = record_new (SK_RECORD_ENTRY);

  self->entry = entry;
  return self;
}

SkRecord *
sk_record_new_folder (SkFolderDef *folder)
{
  SkRecord *self = record_new (SK_RECORD_FOLDER);

  self->folder = folder;
  return self;
}

SkRecord *
sk_record_new_storage (SkStorageDef *storage)
{
  SkRecord *self = record_new (SK_RECORD_STORAGE);

  self->storage = storage;
  return self;
}

SkRecord *
sk_record_new_pack (SkPackPut *pack)
{
  SkRecord *self = record_new (SK_RECORD_PACK_PUT);

  self->pack = pack;
  return self;
}

SkRecord *
sk_record_new_pack_ref (SkRecordType type, const SkId *storage, const SkHash *name)
{
  SkRecord *self = record_new (type);

  g_assert (type == SK_RECORD_PACK_DROP || type == SK_RECORD_PACK_KEEP
            || type == SK_RECORD_PACK_VERIFIED);
  self->pack_ref = g_new0 (SkPackRef, 1);
  self->pack_ref->storage = *storage;
  self->pack_ref->name = *name;
  return self;
}

SkRecord *
sk_record_new_member (GBytes *member)
{
  SkRecord *self = record_new (SK_RECORD_MEMBER);

  self->member = member;
  return self;
}

SkRecord *
sk_record_new_modes (SkModes *modes)
{
  SkRecord *self = record_new (SK_RECORD_MODES);

  self->modes = modes;
  return self;
}

static void
folder_def_free (SkFolderDef *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_clear_pointer (&self->storages, g_array_unref);
  g_free (self);
}

static void
storage_def_free (SkStorageDef *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->uri);
  g_free (self);
}

void
sk_pack_put_free (SkPackPut *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->rows, g_array_unref);
  g_free (self);
}

void
sk_modes_free (SkModes *self)
{
  if (self == NULL)
    return;
  g_free (self->path);
  g_free (self);
}

void
sk_record_free (SkRecord *self)
{
  if (self == NULL)
    return;
  switch (self->type)
    {
    case SK_RECORD_FOLDER:
      folder_def_free (self->folder);
      break;
    case SK_RECORD_ENTRY:
      sk_entry_free (self->entry);
      break;
    case SK_RECORD_PACK_PUT:
      sk_pack_put_free (self->pack);
      break;
    case SK_RECORD_PACK_DROP:
    case SK_RECORD_PACK_KEEP:
    case SK_RECORD_PACK_VERIFIED:
      g_free (self->pack_ref);
      break;
    case SK_RECORD_STORAGE:
      storage_def_free (self->storage);
      break;
    case SK_RECORD_MEMBER:
      g_clear_pointer (&self->member, g_bytes_unref);
      break;
    case SK_RECORD_MODES:
      sk_modes_free (self->modes);
      break;
    }
  g_free (self);
}

static gsize
entry_memory (const SkEntry *entry)
{
  gsize size = sizeof *entry + strlen (entry->path) + strlen (entry->device_name);

  size += sk_vector_length (entry->vector) * sizeof (SkVectorItem);
  if (entry->chunks != NULL)
    size += (gsize) entry->chunks->len * sizeof (SkChunkRef);
  if (entry->symlink != NULL)
    size += strlen (entry->symlink);
  if (entry->xattrs != NULL)
    size += g_bytes_get_size (entry->xattrs);
  return size;
}

gsize
sk_record_memory (const SkRecord *self)
{
  switch (self->type)
    {
    case SK_RECORD_FOLDER:
      return sizeof *self + sizeof *self->folder + strlen (self->folder->name)
             + (self->folder->storages != NULL ? self->folder->storages->len * sizeof (SkId) : 0);
    case SK_RECORD_ENTRY:
      return sizeof *self + entry_memory (self->entry);
    case SK_RECORD_PACK_PUT:
      return sizeof *self + sizeof *self->pack + self->pack->rows->len * sizeof (SkPackRow);
    case SK_RECORD_STORAGE:
      return sizeof *self + sizeof *self->storage + strlen (self->storage->name)
             + strlen (self->storage->uri);
    case SK_RECORD_MEMBER:
      return sizeof *self + g_bytes_get_size (self->member);
    case SK_RECORD_MODES:
      return sizeof *self + sizeof *self->modes + strlen (self->modes->path);
    case SK_RECORD_PACK_DROP:
    case SK_RECORD_PACK_KEEP:
    case SK_RECORD_PACK_VERIFIED:
      break;
    }
  return sizeof *self + sizeof *self->pack_ref;
}

char *
sk_record_describe (const SkRecord *self)
{
  static const char *const names[] = {
    [SK_RECORD_FOLDER] = "folder",       [SK_RECORD_ENTRY] = "entry",
    [SK_RECORD_PACK_PUT] = "pack",       [SK_RECORD_PACK_DROP] = "condemned pack",
    [SK_RECORD_PACK_KEEP] = "kept pack", [SK_RECORD_PACK_VERIFIED] = "verified pack",
    [SK_RECORD_STORAGE] = "storage",     [SK_RECORD_MEMBER] = "membership",
    [SK_RECORD_MODES] = "modes",
  };

  if (self->type == SK_RECORD_ENTRY && self->entry->path != NULL
      && strlen (self->entry->path) <= SK_NAME_MAX)
    {
      g_autofree char *shown = sk_path_display (self->entry->path);

      return g_strdup_printf ("entry \"%s\"", shown);
    }
  return g_strdup (names[self->type]);
}

/* --- checks --- */

static gboolean
check_definition (const SkId *id, const char *name, guint64 lamport, const SkId *writer,
                  GError **error)
{
  if (sk_id_is_zero (id) || sk_id_is_zero (writer))
    return sk_fail (error, SK_ERROR_CORRUPT, "A definition has no id or no writer");
  if (lamport > SK_COUNTER_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A Lamport number is too large");
  if (name == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "A definition has no name");
  return sk_label_check (name, error);
}

static gboolean
check_folder (const SkFolderDef *folder, GError **error)
{
  guint n = folder->storages != NULL ? folder->storages->len : 0;

  if (!check_definition (&folder->id, folder->name, folder->lamport, &folder->writer, error))
    return FALSE;
  if (n > SK_STORAGES_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A folder has %u storages, more than %u", n,
                    SK_STORAGES_MAX);
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < i; j++)
      if (sk_id_equal (&g_array_index (folder->storages, SkId, i),
                       &g_array_index (folder->storages, SkId, j)))
        return sk_fail (error, SK_ERROR_CORRUPT, "A folder names one storage twice");
  return TRUE;
}

static gboolean
check_storage (const SkStorageDef *storage, GError **error)
{
  gsize len = storage->uri != NULL ? strnlen (storage->uri, SK_URI_MAX + 1) : 0;

  if (!check_definition (&storage->id, storage->name, storage->lamport, &storage->writer, error))
    return FALSE;
  if (len == 0 || len > SK_URI_MAX || !g_utf8_validate (storage->uri, -1, NULL))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The address of a storage is empty, too long or not valid UTF-8");
  for (const char *p = storage->uri; *p != '\0'; p = g_utf8_next_char (p))
    if (g_unichar_iscntrl (g_utf8_get_char (p)))
      return sk_fail (error, SK_ERROR_CORRUPT,
                      "The address of a storage contains a control character");
  return TRUE;
}

static gboolean
check_row (const SkPackRow *row, guint64 behind, guint64 size, GError **error)
{
  if (sk_hash_is_zero (&row->id))
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack holds a chunk without an id");
  if (!sk_pack_row_is_valid (row))
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack holds a chunk of impossible length or method");
  if (row->offset < behind || row->offset > size || row->stored_len > size - row->offset)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A pack holds a chunk that overlaps another or lies outside");
  return TRUE;
}

static gboolean
check_pack (const SkPackPut *pack, GError **error)
{
  guint64 behind = SK_PACK_BODY_START;

  if (sk_id_is_zero (&pack->storage) || sk_id_is_zero (&pack->epoch))
    return sk_fail (error, SK_ERROR_CORRUPT, "A pack has no storage or no epoch");
  if (pack->size > SK_PACK_SIZE_MAX || pack->rows == NULL || pack->rows->len == 0
      || pack->rows->len > SK_PACK_CHUNKS_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A pack is too large, or empty");
  for (guint i = 0; i < pack->rows->len; i++)
    {
      const SkPackRow *row = &g_array_index (pack->rows, SkPackRow, i);

      if (!check_row (row, behind, pack->size, error))
        return FALSE;
      behind = row->offset + row->stored_len;
    }
  return TRUE;
}

static gboolean
check_modes (const SkModes *modes, GError **error)
{
  if (sk_id_is_zero (&modes->folder) || modes->path == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The modes of a path have no folder or no path");
  if (!modes->stamp[0].set && !modes->stamp[1].set)
    return sk_fail (error, SK_ERROR_CORRUPT, "The modes of a path are none");
  for (guint i = 0; i < G_N_ELEMENTS (modes->stamp); i++)
    if (modes->stamp[i].set && !sk_mode_stamp_check (&modes->stamp[i], error))
      return FALSE;
  return sk_path_check (modes->path, strlen (modes->path), error);
}

gboolean
sk_record_check (const SkRecord *self, GError **error)
{
  switch (self->type)
    {
    case SK_RECORD_FOLDER:
      return check_folder (self->folder, error);
    case SK_RECORD_ENTRY:
      return sk_entry_check (self->entry, error);
    case SK_RECORD_PACK_PUT:
      return check_pack (self->pack, error);
    case SK_RECORD_PACK_DROP:
    case SK_RECORD_PACK_KEEP:
    case SK_RECORD_PACK_VERIFIED:
      if (sk_id_is_zero (&self->pack_ref->storage))
        return sk_fail (error, SK_ERROR_CORRUPT, "A pack has no storage");
      return TRUE;
    case SK_RECORD_STORAGE:
      return check_storage (self->storage, error);
    case SK_RECORD_MEMBER:
      if (g_bytes_get_size (self->member) == 0 || g_bytes_get_size (self->member) > SK_MEMBER_MAX)
        return sk_fail (error, SK_ERROR_LIMIT, "A membership record is empty or too large");
      return TRUE;
    case SK_RECORD_MODES:
      return check_modes (self->modes, error);
    }
  return sk_fail (error, SK_ERROR_CORRUPT, "The type %d of a record is unknown", (int) self->type);
}
