/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-entry.h"

#include "sk-error.h"
#include "sk-path.h"

#include <sodium.h>
#include <string.h>

#define KNOWN_FLAGS (SK_ENTRY_CONFIRMED | SK_ENTRY_UNION | SK_ENTRY_WAS_DIR | SK_ENTRY_MOVED)
#define MODE_MASK 07777u

gboolean
sk_chunk_ref_is_zero (const SkChunkRef *self)
{
  return sk_hash_is_zero (&self->id);
}

SkEntry *
sk_entry_new (const SkId *folder, const char *path, SkKind kind)
{
  SkEntry *self = g_new0 (SkEntry, 1);

  self->folder = *folder;
  self->path = g_strdup (path);
  self->kind = kind;
  self->vector = sk_vector_empty ();
  self->device_name = g_strdup ("");
  if (kind == SK_KIND_FILE)
    self->chunks = g_array_new (FALSE, FALSE, sizeof (SkChunkRef));
  if (kind == SK_KIND_SYMLINK)
    self->symlink = g_strdup ("");
  sk_entry_seal_content (self);
  return self;
}

SkEntry *
sk_entry_copy (const SkEntry *self)
{
  SkEntry *copy = g_memdup2 (self, sizeof *self);

  copy->path = g_strdup (self->path);
  copy->device_name = g_strdup (self->device_name);
  copy->symlink = g_strdup (self->symlink);
  if (self->vector != NULL)
    copy->vector = sk_vector_ref (self->vector);
  if (self->chunks != NULL)
    copy->chunks = g_array_copy (self->chunks);
  if (self->xattrs != NULL)
    copy->xattrs = g_bytes_ref (self->xattrs);
  return copy;
}

void
sk_entry_free (SkEntry *self)
{
  if (self == NULL)
    return;
  g_free (self->path);
  g_free (self->device_name);
  g_free (self->symlink);
  g_clear_pointer (&self->vector, sk_vector_unref);
  g_clear_pointer (&self->chunks, g_array_unref);
  g_clear_pointer (&self->xattrs, g_bytes_unref);
  g_free (self);
}

/* --- content id --- */

static void
absorb_number (crypto_generichash_state *state, guint64 v)
{
  v = GUINT64_TO_LE (v);
  crypto_generichash_update (state, (const guint8 *) &v, sizeof v);
}

static void
absorb_blob (crypto_generichash_state *state, const void *data, gsize len)
{
  absorb_number (state, len);
  if (len > 0)
    crypto_generichash_update (state, data, len);
}

void
sk_entry_seal_content (SkEntry *self)
{
  static const char domain[] = "skerry content 1";
  crypto_generichash_state state;
  gsize n_chunks = self->chunks != NULL ? self->chunks->len : 0, xattrs_len = 0;
  const void *xattrs = self->xattrs != NULL ? g_bytes_get_data (self->xattrs, &xattrs_len) : NULL;

  crypto_generichash_init (&state, NULL, 0, sizeof self->content.bytes);
  crypto_generichash_update (&state, (const guint8 *) domain, sizeof domain);
  absorb_number (&state, self->kind);
  absorb_number (&state, self->size);
  absorb_number (&state, n_chunks);
  for (gsize i = 0; i < n_chunks; i++)
    {
      const SkChunkRef *chunk = &g_array_index (self->chunks, SkChunkRef, i);

      crypto_generichash_update (&state, chunk->id.bytes, sizeof chunk->id.bytes);
      absorb_number (&state, chunk->size);
    }
  absorb_blob (&state, self->symlink, self->symlink != NULL ? strlen (self->symlink) : 0);
  absorb_blob (&state, xattrs, xattrs_len);
  crypto_generichash_final (&state, self->content.bytes, sizeof self->content.bytes);
}

/* --- checks --- */

gboolean
sk_label_check (const char *label, GError **error)
{
  gsize len = strnlen (label, SK_LABEL_MAX + 1);

  if (len == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A name is empty");
  if (len > SK_LABEL_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A name is longer than %u bytes", SK_LABEL_MAX);
  if (!g_utf8_validate (label, -1, NULL))
    return sk_fail (error, SK_ERROR_CORRUPT, "A name is not valid UTF-8");
  for (const char *p = label; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      /* Marks that turn the direction of writing or start a line could disguise a device that asks to join. */
      if (c == '/' || g_unichar_iscntrl (c) || c == 0x200e || c == 0x200f || c == 0x2028 || c == 0x2029
          || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
        return sk_fail (error, SK_ERROR_CORRUPT, "A name contains the character U+%04X, which is not allowed in it", c);
    }
  return TRUE;
}

static gboolean
check_stamps (const SkEntry *self, GError **error)
{
  guint n = self->vector != NULL ? sk_vector_length (self->vector) : 0;

  if (n == 0 || n > SK_VECTOR_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "The version vector has %u writers", n);
  for (guint i = 0; i < n; i++)
    if (sk_vector_items (self->vector)[i].counter > SK_COUNTER_MAX)
      return sk_fail (error, SK_ERROR_LIMIT, "A counter of the version vector is too large");
  if (sk_id_is_zero (&self->writer) || sk_id_is_zero (&self->meta_writer))
    return sk_fail (error, SK_ERROR_CORRUPT, "The entry names no writer");
  if (sk_vector_get (self->vector, &self->writer) == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "The version vector does not contain the writer of the entry");
  if (self->lamport > SK_COUNTER_MAX || self->meta_lamport > SK_COUNTER_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A Lamport number is too large");
  if ((self->flags & SK_ENTRY_UNION) != 0 && self->lamport != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "An entry of a first contact has a Lamport number");
  if (self->wall < SK_WALL_MIN || self->wall > SK_WALL_MAX)
    return sk_fail (error, SK_ERROR_CORRUPT, "The time of the entry is not a date");
  if (self->device_name == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The entry names no device");
  return sk_label_check (self->device_name, error);
}

static gboolean
check_chunks (const SkEntry *self, GError **error)
{
  guint64 sum = 0;

  if (self->chunks == NULL || self->chunks->len > SK_ENTRY_CHUNKS_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A file has no chunk list or one that is too long");
  for (guint i = 0; i < self->chunks->len; i++)
    {
      const SkChunkRef *chunk = &g_array_index (self->chunks, SkChunkRef, i);
      gboolean fits = sk_chunk_ref_is_zero (chunk) ? chunk->size % SK_ZERO_BLOCK == 0 && chunk->size <= SK_FILE_SIZE_MAX
                                                   : chunk->size <= SK_CHUNK_SIZE_MAX;

      if (chunk->size == 0 || !fits)
        return sk_fail (error, SK_ERROR_CORRUPT, "A chunk has the impossible size %" G_GUINT64_FORMAT, chunk->size);
      sum += chunk->size;     /* at most 2^50 + 2^50 here, so it cannot wrap */
      if (sum > SK_FILE_SIZE_MAX)
        return sk_fail (error, SK_ERROR_LIMIT, "A file is larger than 1 PiB");
    }
  if (sum != self->size)
    return sk_fail (error, SK_ERROR_CORRUPT, "The chunks add up to %" G_GUINT64_FORMAT " bytes, the file has %" G_GUINT64_FORMAT,
                    sum, self->size);
  return TRUE;
}

static gboolean
check_content (const SkEntry *self, GError **error)
{
  gsize link_len = self->symlink != NULL ? strnlen (self->symlink, SK_SYMLINK_MAX + 1) : 0;

  if (self->kind < SK_KIND_FILE || self->kind > SK_KIND_TOMBSTONE)
    return sk_fail (error, SK_ERROR_CORRUPT, "The kind %d is unknown", (int) self->kind);
  if ((self->kind == SK_KIND_SYMLINK) != (self->symlink != NULL))
    return sk_fail (error, SK_ERROR_CORRUPT, "Link target and kind do not fit");
  if (self->symlink != NULL && (link_len == 0 || link_len > SK_SYMLINK_MAX))
    return sk_fail (error, SK_ERROR_CORRUPT, "A link target is empty or longer than %u bytes", SK_SYMLINK_MAX);
  if (self->xattrs != NULL && (g_bytes_get_size (self->xattrs) == 0 || g_bytes_get_size (self->xattrs) > SK_XATTR_MAX
                               || self->kind == SK_KIND_TOMBSTONE))
    return sk_fail (error, SK_ERROR_LIMIT, "Extended attributes are too large or where none can be");
  if (self->kind == SK_KIND_DIR && self->mtime != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A directory has a modification time");
  if (self->kind == SK_KIND_FILE)
    return check_chunks (self, error);
  if (self->chunks != NULL || self->size != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "Something that is not a file has content");
  return TRUE;
}

gboolean
sk_entry_check (const SkEntry *self, GError **error)
{
  if (self->path == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The entry has no path");
  if (!sk_path_check (self->path, strlen (self->path), error))
    return FALSE;
  if ((self->flags & ~(guint32) KNOWN_FLAGS) != 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "The entry has unknown flags");
  if (self->mode > MODE_MASK)
    return sk_fail (error, SK_ERROR_CORRUPT, "The mode %o is not one of permission bits", self->mode);
  return check_stamps (self, error) && check_content (self, error);
}

gboolean
sk_mode_stamp_check (const SkModeStamp *self, GError **error)
{
  if (self->mode > MODE_MASK)
    return sk_fail (error, SK_ERROR_CORRUPT, "The mode %o is not one of permission bits", self->mode);
  if (self->lamport > SK_COUNTER_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A Lamport number is too large");
  if (sk_id_is_zero (&self->writer))
    return sk_fail (error, SK_ERROR_CORRUPT, "The stamp of a mode has no writer");
  return TRUE;
}

/* --- order --- */

static int
compare_numbers (guint64 a, guint64 b)
{
  return (a > b) - (a < b);
}

static int
compare_writers (const SkId *a, const SkId *b)
{
  SkDeviceId x = sk_id_device (a), y = sk_id_device (b);
  int order = sk_device_id_compare (&x, &y);

  return order != 0 ? order : sk_id_compare (a, b);
}

int
sk_entry_rank (const SkEntry *a, const SkEntry *b)
{
  int order = compare_numbers (a->lamport, b->lamport);

  if (order == 0)
    order = compare_writers (&a->writer, &b->writer);
  return order != 0 ? order : sk_hash_compare (&a->content, &b->content);
}

int
sk_entry_meta_rank (const SkEntry *a, const SkEntry *b)
{
  int order = compare_numbers (a->meta_lamport, b->meta_lamport);

  if (order == 0)
    order = compare_writers (&a->meta_writer, &b->meta_writer);
  /* One stamp with two values comes from a forked or hostile writer: every device must still choose alike (A5). */
  if (order == 0)
    order = compare_numbers (a->mode, b->mode);
  return order != 0 ? order : (a->mtime > b->mtime) - (a->mtime < b->mtime);
}
