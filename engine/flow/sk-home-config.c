/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "vault.json": the public half of what a device keeps. */
#include "sk-home.h"

#include <string.h>

#include "sk-json.h"
#include "sk-limits.h"

#define CONFIG_VERSION 1
/* Seven short values; a small bound also bounds how deep the JSON parser can be led. */
#define CONFIG_SIZE_MAX 8192u

void
sk_home_config_clear (SkHomeConfig *self)
{
  g_clear_pointer (&self->vault_name, g_free);
  g_clear_pointer (&self->device_name, g_free);
  memset (self, 0, sizeof *self);
}

static const char *
member (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_STRING)
    return "";
  return json_node_get_string (node);
}

static gboolean
take_label (JsonObject *object, const char *name, char **out)
{
  const char *text = member (object, name);

  if (*text == '\0' || strlen (text) > SK_LABEL_MAX || !g_utf8_validate (text, -1, NULL))
    return FALSE;
  *out = g_strdup (text);
  return TRUE;
}

static gboolean
take_key (JsonObject *object, const char *name, SkPublicKey *out)
{
  SkHash bytes;

  if (!sk_hash_parse (member (object, name), &bytes, NULL))
    return FALSE;
  memcpy (out->bytes, bytes.bytes, sizeof out->bytes);
  return TRUE;
}

static gboolean
parse_config (GBytes *bytes, SkHomeConfig *out, GError **error)
{
  gsize len;
  const char *text = g_bytes_get_data (bytes, &len);
  g_autoptr(JsonParser) parser = sk_json_parse_object (text, len);
  JsonObject *object;
  JsonNode *version;

  if (parser == NULL)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file “" SK_HOME_CONFIG_NAME "” of the home is damaged: it is no JSON object");
  object = json_node_get_object (json_parser_get_root (parser));
  version = json_object_get_member (object, "version");
  if (version == NULL || !JSON_NODE_HOLDS_VALUE (version) || json_node_get_int (version) < 1)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file “" SK_HOME_CONFIG_NAME "” of the home is damaged: it has no version");
  if (json_node_get_int (version) > CONFIG_VERSION)
    return sk_fail (error, SK_ERROR_TOO_NEW,
                    "This home was written by a newer Skerry (version %d of “" SK_HOME_CONFIG_NAME "”)",
                    (int) MIN (json_node_get_int (version), G_MAXINT));
  if (!sk_id_parse (member (object, "vault"), &out->vault, NULL)
      || !sk_device_id_parse (member (object, "device"), &out->device, NULL)
      || !sk_id_parse (member (object, "writer"), &out->writer, NULL)
      || !take_key (object, "recovery-sign", &out->recovery_sign)
      || !take_key (object, "recovery-box", &out->recovery_box)
      || !take_label (object, "vault-name", &out->vault_name)
      || !take_label (object, "device-name", &out->device_name))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The file “" SK_HOME_CONFIG_NAME
                    "” of the home is damaged: a value is missing or wrong");
  return TRUE;
}

gboolean
sk_home_load_config (SkHome *self, SkHomeConfig *out, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) bytes = NULL;

  memset (out, 0, sizeof *out);
  bytes = sk_home_read_file (self, SK_HOME_CONFIG_NAME, CONFIG_SIZE_MAX, &local);
  if (bytes == NULL)
    {
      if (!g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
        g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (parse_config (bytes, out, error))
    return TRUE;
  sk_home_config_clear (out);
  return FALSE;
}

static void
add_id (JsonBuilder *builder, const char *name, const SkId *id)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (id, hex);
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, hex);
}

static void
add_key (JsonBuilder *builder, const char *name, const SkPublicKey *key)
{
  char hex[SK_HASH_HEX_SIZE];
  SkHash bytes;

  memcpy (bytes.bytes, key->bytes, sizeof bytes.bytes);
  sk_hash_format (&bytes, hex);
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, hex);
}

static char *
format_config (const SkHomeConfig *config)
{
  g_autoptr(JsonBuilder) builder = json_builder_new ();
  g_autoptr(JsonNode) root = NULL;
  char device[SK_DEVICE_ID_HEX_SIZE];

  sk_device_id_format (&config->device, device);
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "version");
  json_builder_add_int_value (builder, CONFIG_VERSION);
  add_id (builder, "vault", &config->vault);
  json_builder_set_member_name (builder, "vault-name");
  json_builder_add_string_value (builder, config->vault_name);
  json_builder_set_member_name (builder, "device");
  json_builder_add_string_value (builder, device);
  json_builder_set_member_name (builder, "device-name");
  json_builder_add_string_value (builder, config->device_name);
  add_id (builder, "writer", &config->writer);
  add_key (builder, "recovery-sign", &config->recovery_sign);
  add_key (builder, "recovery-box", &config->recovery_box);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}

gboolean
sk_home_save_config (SkHome *self, const SkHomeConfig *config, GError **error)
{
  g_autofree char *text = NULL;
  g_autofree char *line = NULL;

  if (config->vault_name == NULL || *config->vault_name == '\0'
      || strlen (config->vault_name) > SK_LABEL_MAX
      || !g_utf8_validate (config->vault_name, -1, NULL))
    return sk_fail (error, SK_ERROR_USAGE, "The name of the vault must be 1 to %u bytes of text",
                    SK_LABEL_MAX);
  if (config->device_name == NULL || *config->device_name == '\0'
      || strlen (config->device_name) > SK_LABEL_MAX
      || !g_utf8_validate (config->device_name, -1, NULL))
    return sk_fail (error, SK_ERROR_USAGE, "The name of the device must be 1 to %u bytes of text",
                    SK_LABEL_MAX);
  text = format_config (config);
  line = g_strconcat (text, "\n", NULL);
  return sk_home_write_file (self, SK_HOME_CONFIG_NAME, line, strlen (line), error);
}
