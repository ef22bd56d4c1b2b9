/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies as JSON; the rules are in COMMANDS.md, "--json". */
#include "ska-cli.h"

#include <string.h>

#include <json-glib/json-glib.h>

static JsonNode *build (GVariant *value);

/* Lossless: valid UTF-8 without a backslash stays as it is; else every byte outside valid UTF-8,
 * and every backslash, is \xNN. */
static char *
escape_bytes (const char *bytes)
{
  GString *out;

  if (g_utf8_validate (bytes, -1, NULL))
    return g_strdup (bytes);
  out = g_string_new (NULL);
  while (*bytes != '\0')
    {
      gunichar c = g_utf8_get_char_validated (bytes, -1);
      gboolean valid = c != (gunichar) -1 && c != (gunichar) -2 && c != '\\';
      gsize len = valid ? (gsize) (g_utf8_next_char (bytes) - bytes) : 1;

      if (valid)
        g_string_append_len (out, bytes, (gssize) len);
      else
        g_string_append_printf (out, "\\x%02x", (guint8) *bytes);
      bytes += len;
    }
  return g_string_free (out, FALSE);
}

static JsonNode *
string_node (const char *text)
{
  return json_node_init_string (json_node_alloc (), text);
}

static JsonNode *
base64_node (const char *bytes)
{
  g_autofree char *text = g_base64_encode ((const guchar *) bytes, strlen (bytes));

  return string_node (text);
}

static gboolean
is_bytes (GVariant *value)
{
  return g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING);
}

static gboolean
is_bytes_list (GVariant *value)
{
  return g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING_ARRAY);
}

static JsonNode *
build_bytes (GVariant *value)
{
  g_autofree char *text = escape_bytes (g_variant_get_bytestring (value));

  return string_node (text);
}

/* The second key of what is not UTF-8, or NULL. */
static JsonNode *
build_exact (GVariant *value)
{
  JsonArray *array;
  gboolean odd = FALSE;

  if (is_bytes (value))
    {
      const char *bytes = g_variant_get_bytestring (value);

      return g_utf8_validate (bytes, -1, NULL) ? NULL : base64_node (bytes);
    }
  if (!is_bytes_list (value))
    return NULL;
  array = json_array_new ();
  for (gsize i = 0; i < g_variant_n_children (value); i++)
    {
      g_autoptr(GVariant) child = g_variant_get_child_value (value, i);
      const char *bytes = g_variant_get_bytestring (child);

      odd = odd || !g_utf8_validate (bytes, -1, NULL);
      json_array_add_element (array, base64_node (bytes));
    }
  if (odd)
    {
      JsonNode *node = json_node_new (JSON_NODE_ARRAY);

      json_node_take_array (node, array);
      return node;
    }
  json_array_unref (array);
  return NULL;
}

static JsonNode *
take_array (JsonArray *array)
{
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);

  json_node_take_array (node, array);
  return node;
}

static JsonNode *
build_array (GVariant *value)
{
  JsonArray *array = json_array_new ();

  for (gsize i = 0; i < g_variant_n_children (value); i++)
    {
      g_autoptr(GVariant) child = g_variant_get_child_value (value, i);

      json_array_add_element (array, build (child));
    }
  return take_array (array);
}

static JsonNode *
build_object (GVariant *value)
{
  JsonObject *object = json_object_new ();
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);
  GVariantIter iter;
  GVariant *entry;

  g_variant_iter_init (&iter, value);
  while ((entry = g_variant_iter_next_value (&iter)) != NULL)
    {
      g_autoptr(GVariant) owned = entry;
      g_autoptr(GVariant) key = g_variant_get_child_value (entry, 0);
      g_autoptr(GVariant) inner = g_variant_get_child_value (entry, 1);
      g_autoptr(GVariant) plain = g_variant_is_of_type (inner, G_VARIANT_TYPE_VARIANT)
                                       ? g_variant_get_variant (inner)
                                       : g_variant_ref (inner);
      JsonNode *exact = build_exact (plain);

      json_object_set_member (object, g_variant_get_string (key, NULL), build (plain));
      if (exact != NULL)
        {
          g_autofree char *name = g_strconcat (g_variant_get_string (key, NULL), "-bytes", NULL);

          json_object_set_member (object, name, exact);
        }
    }
  json_node_take_object (node, object);
  return node;
}

/* Counters end where JSON readers lose precision anyway; seconds are good to a millisecond. */
static JsonNode *
build_number (GVariant *value)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    return json_node_init_int (json_node_alloc (),
                               (gint64) MIN (g_variant_get_uint64 (value), (guint64) G_MAXINT64));
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_DOUBLE))
    {
      double number = g_variant_get_double (value);

      if (!(number > -1e15 && number < 1e15))
        number = 0;
      return json_node_init_double (
          json_node_alloc (), (double) (gint64) (number * 1000 + (number < 0 ? -0.5 : 0.5)) / 1000);
    }
  return json_gvariant_serialize (value);
}

static JsonNode *
build (GVariant *value)
{
  if (is_bytes (value))
    return build_bytes (value);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_DICTIONARY))
    return build_object (value);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_ARRAY))
    return build_array (value);
  return build_number (value);
}

/* Json-glib leaves the last control character, 0x1f, as it is, and readers refuse it. The text has no line ends between values, so that whatever
 * control character is left in it belongs to a string. (transfer full) @text */
static char *
escape_controls (char *text)
{
  GString *out;
  gboolean any = FALSE;

  for (const char *p = text; *p != '\0' && !any; p++)
    any = (guchar) *p < 0x20;
  if (!any)
    return text;
  out = g_string_new (NULL);
  for (const char *p = text; *p != '\0'; p++)
    if ((guchar) *p < 0x20)
      g_string_append_printf (out, "\\u%04x", (guchar) *p);
    else
      g_string_append_c (out, *p);
  g_free (text);
  return g_string_free (out, FALSE);
}

static char *
to_text (JsonNode *node)
{
  g_autoptr(JsonGenerator) generator = json_generator_new ();

  json_generator_set_root (generator, node);
  return escape_controls (json_generator_to_data (generator, NULL));
}

char *
ska_json (GVariant *dictionary)
{
  g_autoptr(JsonNode) node = build_object (dictionary);

  return to_text (node);
}

/* Exactly the keys of the fetch report; "" as the way to a source is null. */
static void
trim_report (JsonObject *object)
{
  static const char *const keys[]
      = { "seconds", "files", "bytes", "chunks", "sources", "failed", NULL };
  g_autoptr(GList) members = json_object_get_members (object);
  JsonArray *sources;

  for (GList *item = members; item != NULL; item = item->next)
    {
      if (!g_strv_contains (keys, item->data))
        json_object_remove_member (object, item->data);
    }
  if (!json_object_has_member (object, "sources"))
    return;
  sources = json_object_get_array_member (object, "sources");
  for (guint i = 0; i < json_array_get_length (sources); i++)
    {
      JsonObject *source = json_array_get_object_element (sources, i);

      if (json_object_has_member (source, "path")
          && *json_object_get_string_member (source, "path") == '\0')
        json_object_set_null_member (source, "path");
    }
}

void
ska_json_reply (SkaCli *cli, GVariant *reply)
{
  g_autoptr(JsonNode) node = build_object (reply);
  g_autofree char *text = NULL;
  JsonObject *object = json_node_get_object (node);

  if (!ska_get_flag (reply, "attention"))
    json_object_remove_member (object, "attention");
  if (cli->command != NULL && (cli->command->flags & SKA_REPORT) != 0)
    trim_report (object);
  text = to_text (node);
  fprintf (cli->out, "%s\n", text);
}

void
ska_json_error (SkaCli *cli, const GError *error)
{
  g_autoptr(GVariant) inner = NULL;
  g_autoptr(GVariant) outer = NULL;
  g_autofree char *text = NULL;

  inner = g_variant_ref_sink (g_variant_new_parsed (
      "{'code': <%s>, 'message': <%s>}",
      sk_error_code_name (error->domain == SK_ERROR ? (SkErrorCode) error->code : SK_ERROR_FAILED),
      error->message));
  outer = g_variant_ref_sink (g_variant_new_parsed ("{'error': <%@a{sv}>}", inner));
  text = ska_json (outer);
  fprintf (cli->out, "%s\n", text);
}
