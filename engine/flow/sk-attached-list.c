/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "attachments.json". Names of files are any bytes, JSON is UTF-8: paths and patterns are percent-encoded. */
#include "sk-attachments.h"

#include <string.h>

#include "sk-json.h"

#include "sk-limits.h"

#define LIST_VERSION 1
/* The parser calls itself for every level. */
#define DEPTH_MAX 8u
#define FOLDERS_MAX 4096u

static const char *const mode_names[] = { "both", "send", "receive" };

static void
storage_free (gpointer data)
{
  SkAttachedStorage *self = data;

  g_free (self->name);
  g_free (self->uri);
  g_free (self);
}

static void
folder_free (gpointer data)
{
  SkAttachedFolder *self = data;

  g_free (self->name);
  g_free (self->path);
  g_strfreev (self->only);
  g_free (self);
}

void
sk_attached_list_init (SkAttachedList *self)
{
  self->storages = g_ptr_array_new_with_free_func (storage_free);
  self->folders = g_ptr_array_new_with_free_func (folder_free);
}

void
sk_attached_list_clear (SkAttachedList *self)
{
  g_clear_pointer (&self->storages, g_ptr_array_unref);
  g_clear_pointer (&self->folders, g_ptr_array_unref);
}

/* --- writing --- */

static void
put_string (JsonBuilder *builder, const char *key, const char *value)
{
  json_builder_set_member_name (builder, key);
  json_builder_add_string_value (builder, value);
}

static void
put_id (JsonBuilder *builder, const SkId *id)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  put_string (builder, "id", hex);
}

static char *
escape (const char *bytes)
{
  return g_uri_escape_string (bytes, "/ *?[]!{},", FALSE);
}

static void
put_folder (JsonBuilder *builder, const SkAttachedFolder *folder)
{
  g_autofree char *path = escape (folder->path);

  json_builder_begin_object (builder);
  put_id (builder, &folder->id);
  put_string (builder, "name", folder->name);
  put_string (builder, "path", path);
  put_string (builder, "mode", mode_names[folder->mode]);
  json_builder_set_member_name (builder, "only");
  json_builder_begin_array (builder);
  for (guint i = 0; folder->only != NULL && folder->only[i] != NULL; i++)
    {
      g_autofree char *pattern = escape (folder->only[i]);

      json_builder_add_string_value (builder, pattern);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
}

GBytes *
sk_attached_list_format (const SkAttachedList *self)
{
  g_autoptr(JsonBuilder) builder = json_builder_new ();
  g_autoptr(JsonNode) root = NULL;
  char *text;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "version");
  json_builder_add_int_value (builder, LIST_VERSION);
  json_builder_set_member_name (builder, "storages");
  json_builder_begin_array (builder);
  for (guint i = 0; i < self->storages->len; i++)
    {
      const SkAttachedStorage *storage = g_ptr_array_index (self->storages, i);

      json_builder_begin_object (builder);
      put_id (builder, &storage->id);
      put_string (builder, "name", storage->name);
      put_string (builder, "uri", storage->uri);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "folders");
  json_builder_begin_array (builder);
  for (guint i = 0; i < self->folders->len; i++)
    put_folder (builder, g_ptr_array_index (self->folders, i));
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  text = json_to_string (root, TRUE);
  return g_bytes_new_take (text, strlen (text));
}

/* --- reading --- */

static gboolean
is_shallow (const char *text, gsize len)
{
  gboolean in_string = FALSE;
  guint depth = 0;

  for (gsize i = 0; i < len; i++)
    {
      if (in_string && text[i] == '\\')
        i++;
      else if (text[i] == '"')
        in_string = !in_string;
      else if (!in_string && (text[i] == '[' || text[i] == '{') && ++depth > DEPTH_MAX)
        return FALSE;
      else if (!in_string && (text[i] == ']' || text[i] == '}') && depth > 0)
        depth--;
      else if (!in_string && (text[i] == '/' || text[i] == '\''))
        return FALSE;            /* comments and other quotes, which the parser would take and this count does not know */
    }
  return TRUE;
}

static const char *
take_string (JsonObject *object, const char *key, gsize max)
{
  JsonNode *node = json_object_get_member (object, key);
  const char *text;

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return NULL;
  text = json_node_get_string (node);
  return *text != '\0' && strlen (text) <= max ? text : NULL;
}

static JsonArray *
take_array (JsonObject *object, const char *key, guint max)
{
  JsonNode *node = json_object_get_member (object, key);
  JsonArray *array = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  return array != NULL && json_array_get_length (array) <= max ? array : NULL;
}

static JsonObject *
object_at (JsonArray *array, guint i)
{
  JsonNode *node = json_array_get_element (array, i);

  return JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static gboolean
take_head (JsonObject *object, SkId *id, char **name)
{
  const char *hex = take_string (object, "id", SK_ID_HEX_SIZE), *label = take_string (object, "name", SK_LABEL_MAX);

  if (hex == NULL || label == NULL || !sk_id_parse (hex, id, NULL))
    return FALSE;
  *name = g_strdup (label);
  return TRUE;
}

static gboolean
read_storage (JsonObject *object, SkAttachedList *out)
{
  SkAttachedStorage *storage = g_new0 (SkAttachedStorage, 1);
  const char *uri;

  g_ptr_array_add (out->storages, storage);
  if (object == NULL || !take_head (object, &storage->id, &storage->name))
    return FALSE;
  uri = take_string (object, "uri", SK_URI_MAX);
  storage->uri = g_strdup (uri);
  return uri != NULL;
}

static gboolean
read_only (JsonArray *array, SkAttachedFolder *folder)
{
  g_autoptr(GPtrArray) only = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      const char *escaped = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
      char *pattern = escaped != NULL ? g_uri_unescape_string (escaped, NULL) : NULL;

      if (pattern == NULL)
        return FALSE;
      g_ptr_array_add (only, pattern);
      if (*pattern == '\0' || strlen (pattern) > SK_PATTERN_MAX)
        return FALSE;
    }
  if (only->len == 0)
    return TRUE;
  g_ptr_array_add (only, NULL);
  folder->only = (char **) g_ptr_array_free (g_steal_pointer (&only), FALSE);
  return TRUE;
}

static gboolean
read_folder (JsonObject *object, SkAttachedList *out)
{
  SkAttachedFolder *folder = g_new0 (SkAttachedFolder, 1);
  const char *path, *mode;
  JsonArray *only;

  g_ptr_array_add (out->folders, folder);
  if (object == NULL || !take_head (object, &folder->id, &folder->name))
    return FALSE;
  path = take_string (object, "path", 3 * SK_PATH_MAX);
  mode = take_string (object, "mode", 16);
  only = take_array (object, "only", SK_PATTERNS_MAX);
  folder->path = path != NULL ? g_uri_unescape_string (path, NULL) : NULL;
  if (folder->path == NULL || !g_path_is_absolute (folder->path) || mode == NULL || only == NULL)
    return FALSE;
  while (folder->mode < G_N_ELEMENTS (mode_names) && !g_str_equal (mode_names[folder->mode], mode))
    folder->mode++;
  return folder->mode < G_N_ELEMENTS (mode_names) && read_only (only, folder);
}

static gboolean
read_lists (JsonObject *root, SkAttachedList *out)
{
  JsonArray *storages = take_array (root, "storages", SK_STORAGES_MAX), *folders = take_array (root, "folders", FOLDERS_MAX);

  if (storages == NULL || folders == NULL)
    return FALSE;
  for (guint i = 0; i < json_array_get_length (storages); i++)
    if (!read_storage (object_at (storages, i), out))
      return FALSE;
  for (guint i = 0; i < json_array_get_length (folders); i++)
    if (!read_folder (object_at (folders, i), out))
      return FALSE;
  return TRUE;
}

gboolean
sk_attached_list_parse (GBytes *bytes, SkAttachedList *out, GError **error)
{
  g_autoptr(JsonParser) parser = NULL;
  g_auto(SkAttachedList) found = { NULL };
  JsonObject *root;
  JsonNode *version;
  gsize len;
  const char *text = g_bytes_get_data (bytes, &len);

  if (len > 0 && g_utf8_validate (text, (gssize) len, NULL) && is_shallow (text, len))
    parser = sk_json_parse_object (text, len);
  if (parser == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT, "The list of what is attached is damaged: it is no JSON of the right form");
  root = json_node_get_object (json_parser_get_root (parser));
  version = json_object_get_member (root, "version");
  if (version == NULL || !JSON_NODE_HOLDS_VALUE (version) || json_node_get_int (version) < 1)
    return sk_fail (error, SK_ERROR_CORRUPT, "The list of what is attached is damaged: it has no version");
  if (json_node_get_int (version) > LIST_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW, "The list of what is attached was written by a newer version of this program; update this one");
  sk_attached_list_init (&found);
  if (!read_lists (root, &found))
    return sk_fail (error, SK_ERROR_CORRUPT, "The list of what is attached is damaged: a value is missing or impossible");
  *out = found;
  found = (SkAttachedList) { NULL };
  return TRUE;
}
