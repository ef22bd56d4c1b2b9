/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sk-command.h"
#include "sk-hash.h"
#include "sk-report.h"

GVariant *
sk_cmd_device_list (SkCommand *self, GError **error)
{
  return sk_report_part (self->session, "devices", error);
}

/* By name or id. */
static const SkDevice *
find_device (SkMembers *members, const char *wanted, GError **error)
{
  GPtrArray *devices = sk_members_devices (members);
  g_autoptr(GPtrArray) names = g_ptr_array_new ();
  g_autofree char *list = NULL;
  const SkDevice *found = NULL;

  for (guint i = 0; i < devices->len; i++)
    {
      const SkDevice *device = devices->pdata[i];
      char hex[SK_DEVICE_ID_HEX_SIZE];

      sk_device_id_format (&device->id, hex);
      g_ptr_array_add (names, device->name);
      if (g_str_equal (wanted, hex))
        return device;
      if (!g_str_equal (wanted, device->name))
        continue;
      if (found != NULL)
        {
          char other[SK_DEVICE_ID_HEX_SIZE];

          sk_device_id_format (&found->id, other);
          sk_fail (error, SK_ERROR_USAGE, "there are several devices called “%s”: give the id (%s, %s, ...)", wanted, other, hex);
          return NULL;
        }
      found = device;
    }
  if (found != NULL)
    return found;
  g_ptr_array_add (names, NULL);
  list = g_strjoinv (", ", (char **) names->pdata);
  sk_fail (error, SK_ERROR_NOT_FOUND, "there is no device “%s” in this vault (there is: %s)", wanted, list);
  return NULL;
}

typedef struct
{
  SkDeviceId device;
  guint64 merged;
} PositionCall;

/* Index thread: of all incarnations of the device. */
static gboolean
count_merged (SkSession *session, gpointer data, GError **error)
{
  PositionCall *call = data;
  g_autoptr(GArray) positions = sk_index_positions (session->index, error);

  if (positions == NULL)
    return FALSE;
  for (guint i = 0; i < positions->len; i++)
    {
      const SkPosition *position = &g_array_index (positions, SkPosition, i);
      SkDeviceId of = sk_id_device (&position->writer);

      if (sk_device_id_equal (&of, &call->device))
        call->merged += position->seq;
    }
  return TRUE;
}

/* As heads said that were read since the session began. */
static guint64
count_offered (SkSession *session, const SkDeviceId *device)
{
  guint64 offered = 0;

  g_mutex_lock (&session->lock);
  for (guint i = 0; i < session->offered->len; i++)
    {
      const SkPosition *position = &g_array_index (session->offered, SkPosition, i);
      SkDeviceId of = sk_id_device (&position->writer);

      if (sk_device_id_equal (&of, device))
        offered += position->seq;
    }
  g_mutex_unlock (&session->lock);
  return offered;
}

/* What two people can compare over the telephone: 128 bits over both public keys. */
static char *
fingerprint (const SkDevice *device)
{
  guint8 keys[2 * sizeof (SkPublicKey)];
  GString *text = g_string_new (NULL);
  SkHash hash;

  memcpy (keys, device->sign_key.bytes, sizeof (SkPublicKey));
  memcpy (keys + sizeof (SkPublicKey), device->box_key.bytes, sizeof (SkPublicKey));
  sk_blake2b (keys, sizeof keys, &hash);
  for (guint i = 0; i < 16; i++)
    g_string_append_printf (text, "%s%02x", i > 0 && i % 2 == 0 ? " " : "", hash.bytes[i]);
  return g_string_free (text, FALSE);
}

static GVariant *
find_dict (GVariant *list, const char *hex)
{
  for (gsize i = 0; list != NULL && i < g_variant_n_children (list); i++)
    {
      g_autoptr(GVariant) dict = g_variant_get_child_value (list, i);
      const char *id;

      if (g_variant_lookup (dict, "id", "&s", &id) && g_str_equal (id, hex))
        return g_steal_pointer (&dict);
    }
  return NULL;
}

GVariant *
sk_cmd_device_show (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  const SkDevice *device = find_device (config->members, sk_args_string (self->args, "name", ""), error);
  g_autoptr(GVariant) part = NULL, list = NULL, dict = NULL;
  g_autofree char *shown = NULL;
  PositionCall call = { .merged = 0 };
  char hex[SK_DEVICE_ID_HEX_SIZE];
  GVariantDict reply;
  guint64 known;

  if (device == NULL)
    return NULL;
  call.device = device->id;
  sk_device_id_format (&device->id, hex);
  part = sk_report_part (self->session, "devices", error);
  if (part == NULL || !sk_session_index (self->session, count_merged, &call, error))
    return NULL;
  g_variant_ref_sink (part);
  list = g_variant_lookup_value (part, "devices", NULL);
  dict = find_dict (list, hex);
  shown = fingerprint (device);
  known = MAX (count_offered (self->session, &device->id), call.merged);
  g_variant_dict_init (&reply, dict);
  g_variant_dict_insert (&reply, "position", "t", call.merged);
  g_variant_dict_insert (&reply, "behind", "t", known - call.merged);
  g_variant_dict_insert (&reply, "fingerprint", "s", shown);
  return g_variant_dict_end (&reply);
}
