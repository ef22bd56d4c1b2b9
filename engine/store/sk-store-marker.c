/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The marker "skerry.json": {"format":1,"vault":"<32 hex>","storage":"<32 hex>"}. It is plain, so
 * that a person can see what the directory is, and JSON, so that other tools can read it. The
 * parser takes one flat object whose values are strings without escapes or whole numbers; members
 * it does not know are passed over. */
#include "sk-store-private.h"

#include <string.h>

#include "sk-limits.h"

#define MARKER_FORMAT 1u
#define MARKER_SIZE_MAX 4096u /* bytes; ours has 115 */
#define MARKER_MEMBERS_MAX 32u
#define MARKER_STRING_MAX 256u /* bytes in a key or value */
#define VAULTS_MAX 1024u       /* under one location */

GBytes *
sk_store_marker_build (const SkStoreMarker *marker)
{
  char vault[SK_ID_HEX_SIZE];
  char storage[SK_ID_HEX_SIZE];
  char *text;

  sk_id_format (&marker->vault, vault);
  sk_id_format (&marker->storage, storage);
  text = g_strdup_printf ("{\"format\":%u,\"vault\":\"%s\",\"storage\":\"%s\"}\n", marker->format,
                          vault, storage);
  return g_bytes_new_take (text, strlen (text));
}

typedef struct
{
  const char *p;
  const char *end;
} SkJsonCursor;

static void
sk_json_skip_space (SkJsonCursor *self)
{
  while (self->p < self->end && strchr (" \t\r\n", *self->p) != NULL && *self->p != '\0')
    self->p++;
}

/* Takes @c, with space before it. */
static gboolean
sk_json_take (SkJsonCursor *self, char c)
{
  sk_json_skip_space (self);
  if (self->p == self->end || *self->p != c)
    return FALSE;
  self->p++;
  return TRUE;
}

static gboolean
sk_json_string (SkJsonCursor *self, char out[MARKER_STRING_MAX + 1])
{
  gsize len = 0;

  if (!sk_json_take (self, '"'))
    return FALSE;
  for (; self->p < self->end && *self->p != '"'; self->p++)
    {
      if (*self->p == '\\' || (guchar) *self->p < 0x20 || len == MARKER_STRING_MAX)
        return FALSE;
      out[len++] = *self->p;
    }
  out[len] = '\0';
  return sk_json_take (self, '"');
}

static gboolean
sk_json_number (SkJsonCursor *self, guint *out)
{
  guint64 value = 0;
  guint n_digits = 0;

  sk_json_skip_space (self);
  for (; self->p < self->end && g_ascii_isdigit (*self->p); self->p++)
    {
      value = value * 10 + (guint64) (*self->p - '0');
      if (++n_digits > 9)
        return FALSE;
    }
  *out = (guint) value;
  return n_digits > 0;
}

typedef struct
{
  SkStoreMarker marker;
  gboolean has_format;
  gboolean has_vault;
  gboolean has_storage;
} SkMarkerParse;

/* FALSE when the member comes twice or has a value that it cannot have. */
static gboolean
sk_marker_member (SkMarkerParse *self, const char *key, const char *string, guint number)
{
  gboolean *seen = NULL;

  if (strcmp (key, "format") == 0)
    seen = &self->has_format;
  else if (strcmp (key, "vault") == 0)
    seen = &self->has_vault;
  else if (strcmp (key, "storage") == 0)
    seen = &self->has_storage;
  if (seen == NULL)
    return TRUE;
  if (*seen)
    return FALSE;

  *seen = TRUE;
  if (seen == &self->has_format)
    {
      self->marker.format = number;
      return string == NULL && number > 0;
    }
  return string != NULL
         && sk_id_parse (
             string, seen == &self->has_vault ? &self->marker.vault : &self->marker.storage, NULL);
}

static gboolean
sk_marker_parse_member (SkJsonCursor *cursor, SkMarkerParse *self)
{
  char key[MARKER_STRING_MAX + 1];
  char string[MARKER_STRING_MAX + 1];
  guint number = 0;

  if (!sk_json_string (cursor, key) || !sk_json_take (cursor, ':'))
    return FALSE;
  sk_json_skip_space (cursor);
  if (cursor->p < cursor->end && *cursor->p == '"')
    return sk_json_string (cursor, string) && sk_marker_member (self, key, string, 0);
  return sk_json_number (cursor, &number) && sk_marker_member (self, key, NULL, number);
}

static gboolean
sk_marker_parse_object (SkJsonCursor *cursor, SkMarkerParse *self)
{
  guint n = 0;

  if (!sk_json_take (cursor, '{'))
    return FALSE;
  do
    {
      if (++n > MARKER_MEMBERS_MAX || !sk_marker_parse_member (cursor, self))
        return FALSE;
    }
  while (sk_json_take (cursor, ','));
  if (!sk_json_take (cursor, '}'))
    return FALSE;
  sk_json_skip_space (cursor);
  return cursor->p == cursor->end;
}

gboolean
sk_store_marker_parse (GBytes *data, SkStoreMarker *out, GError **error)
{
  SkMarkerParse parse = { 0 };
  SkJsonCursor cursor;
  gsize size;

  cursor.p = g_bytes_get_data (data, &size);
  cursor.end = cursor.p + size;
  if (size == 0 || size > MARKER_SIZE_MAX || !sk_marker_parse_object (&cursor, &parse)
      || !parse.has_format)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file " SK_STORE_MARKER " of the storage is damaged");
  if (parse.marker.format > MARKER_FORMAT)
    return sk_fail (
        error, SK_ERROR_TOO_NEW,
        "The storage has format %u, which is newer than this version of Skerry; update it",
        parse.marker.format);
  if (!parse.has_vault || !parse.has_storage)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file " SK_STORE_MARKER " of the storage is incomplete");

  *out = parse.marker;
  return TRUE;
}

gboolean
sk_store_accept_marker (SkStore *self, GBytes *data, GError **error)
{
  const SkId *vault = sk_store_vault (self);
  g_autoptr(GError) reason = NULL;
  SkStoreMarker marker;
  SkId expected;

  if (!sk_store_marker_parse (data, &marker, &reason))
    return sk_fail (error, reason->code == SK_ERROR_TOO_NEW ? SK_ERROR_TOO_NEW : SK_ERROR_OFFLINE,
                    "Storage “%s” cannot be used: %s", sk_store_place (self), reason->message);
  if (vault != NULL && !sk_id_equal (&marker.vault, vault))
    return sk_fail (
        error, SK_ERROR_OFFLINE,
        "“%s” holds the storage of another vault; connect the right disk or correct the address",
        sk_store_place (self));
  if (!sk_store_expected (self, &expected))
    sk_store_expect (self, &marker.storage);
  else if (!sk_id_equal (&marker.storage, &expected))
    return sk_fail (
        error, SK_ERROR_OFFLINE,
        "“%s” holds another storage of this vault than the one that was there; connect the right "
        "disk or correct the address",
        sk_store_place (self));
  return TRUE;
}

gboolean
sk_store_check_marker_sync (SkStore *self, const SkId *vault, const SkId *storage,
                            GCancellable *cancellable, GError **error)
{
  g_autoptr(GError) reason = NULL;
  g_autoptr(GBytes) data = NULL;
  SkStoreMarker marker;

  /* Before the look, so that a foreign storage stays refused afterwards as well. */
  if (storage != NULL)
    sk_store_expect (self, storage);

  data = sk_store_get_sync (self, SK_STORE_MARKER, SK_SMALL_OBJECT_MAX, cancellable, &reason);
  if (g_error_matches (reason, SK_ERROR, SK_ERROR_NOT_FOUND))
    return sk_fail (error, SK_ERROR_OFFLINE,
                    "“%s” is not the storage: it has no " SK_STORE_MARKER
                    "; connect the disk or the network share, or correct the address",
                    sk_store_place (self));
  if (data == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
  if (!sk_store_accept_marker (self, data, error))
    return FALSE;
  if (vault != NULL
      && (!sk_store_marker_parse (data, &marker, NULL) || !sk_id_equal (&marker.vault, vault)))
    return sk_fail (
        error, SK_ERROR_OFFLINE,
        "“%s” holds the storage of another vault; connect the right disk or correct the address",
        sk_store_place (self));
  return TRUE;
}

gboolean
sk_store_initialise_sync (SkStore *self, const SkStoreMarker *marker, GCancellable *cancellable,
                          GError **error)
{
  const SkId *vault = sk_store_vault (self);
  g_autoptr(GBytes) data = sk_store_marker_build (marker);
  g_autoptr(GBytes) back = NULL;

  g_return_val_if_fail (vault != NULL && sk_id_equal (vault, &marker->vault), FALSE);

  if (!sk_store_prepare_sync (self, cancellable, error)
      || !sk_store_put_sync (self, SK_STORE_MARKER, data, SK_PUT_NONE, cancellable, error))
    return FALSE;

  sk_store_expect (self, &marker->storage);
  back = sk_store_get_sync (self, SK_STORE_MARKER, SK_SMALL_OBJECT_MAX, cancellable, error);
  if (back == NULL)
    return FALSE;
  if (!g_bytes_equal (back, data))
    return sk_fail (
        error, SK_ERROR_EXISTS,
        "Another device set up a storage at “%s” at the same moment; add that one instead",
        sk_store_place (self));
  return TRUE;
}

/* NULL when @name is not "<vault>/skerry.json", or what is there is no marker of that vault. */
static SkStoreMarker *
sk_store_read_vault (SkStore *location, const char *name, GCancellable *cancellable)
{
  g_autofree char *hex = g_strndup (name, SK_ID_HEX_SIZE - 1);
  g_autoptr(GBytes) data = NULL;
  SkStoreMarker marker;
  SkId vault;

  if (!sk_id_parse (hex, &vault, NULL) || strcmp (name + strlen (hex), "/" SK_STORE_MARKER) != 0)
    return NULL;
  data = sk_store_get_sync (location, name, SK_SMALL_OBJECT_MAX, cancellable, NULL);
  if (data == NULL || !sk_store_marker_parse (data, &marker, NULL)
      || !sk_id_equal (&marker.vault, &vault))
    return NULL;
  return g_memdup2 (&marker, sizeof marker);
}

GPtrArray *
sk_store_find_vaults_sync (SkStore *location, GCancellable *cancellable, GError **error)
{
  g_autoptr(GPtrArray) items = NULL;
  GPtrArray *found;

  g_return_val_if_fail (sk_store_vault (location) == NULL, NULL);

  items = sk_store_list_sync (location, "", cancellable, error);
  if (items == NULL)
    return NULL;

  found = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < items->len && found->len < VAULTS_MAX; i++)
    {
      const SkStoreItem *item = g_ptr_array_index (items, i);
      SkStoreMarker *marker = sk_store_read_vault (location, item->name, cancellable);

      if (marker != NULL)
        g_ptr_array_add (found, marker);
    }
  return found;
}
