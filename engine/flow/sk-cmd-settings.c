/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a storage, and everything there is to know about one. */
#include "sk-command.h"
#include "sk-options.h"
#include "sk-report.h"

/* What this program acts on. Others are refused rather than kept without a use. */
static const char *const storage_keys[] = { "level", "verify" };

static gboolean
is_used (const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS (storage_keys); i++)
    if (g_str_equal (storage_keys[i], key))
      return TRUE;
  return FALSE;
}

typedef struct
{
  const SkStorageRow *row;
  GPtrArray *keys, *values;      /* char*: to be set */
  GVariant *settings;            /* a{ss}, floating: all, afterwards */
  guint64 packs, bytes;
} Call;

static GVariant *
all_settings (SkSession *session, const SkId *id)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  for (const SkSettingDefault *setting = sk_setting_defaults (SK_SETTING_STORAGE); setting->key != NULL; setting++)
    {
      g_autofree char *value = is_used (setting->key) ? sk_option_get (session, SK_SETTING_STORAGE, id, setting->key) : g_strdup (setting->fallback);

      g_variant_builder_add (&builder, "{ss}", setting->key, value);
    }
  return g_variant_builder_end (&builder);
}

/* Index thread, in a transaction. */
static gboolean
set_all (SkSession *session, gpointer data, GError **error)
{
  Call *call = data;

  for (guint i = 0; i < call->keys->len; i++)
    if (!sk_option_set (session, SK_SETTING_STORAGE, &call->row->id, call->keys->pdata[i], call->values->pdata[i], error))
      return FALSE;
  call->settings = all_settings (session, &call->row->id);
  return TRUE;
}

static gboolean
check_all (GVariant *settings, Call *call, GVariantBuilder *changed, GError **error)
{
  GVariantIter iter;
  const char *key, *value;

  g_variant_iter_init (&iter, settings);
  while (g_variant_iter_next (&iter, "{&s&s}", &key, &value))
    {
      char *normal = NULL;
      g_autofree char *note = NULL;

      if (!sk_setting_check (SK_SETTING_STORAGE, key, value, &normal, &note, error))
        return FALSE;
      g_ptr_array_add (call->keys, g_strdup (key));
      g_ptr_array_add (call->values, normal);
      if (!is_used (key))
        return sk_fail (error, SK_ERROR_UNSUPPORTED, "“%s” cannot be changed in this version", key);
      if (note != NULL)
        g_variant_builder_add (changed, "s", note);
    }
  return TRUE;
}

GVariant *
sk_cmd_storage_set (SkCommand *self, GError **error)
{
  g_autoptr(SkStorageRow) row = sk_command_storage (self, sk_args_string (self->args, "name", ""), error);
  g_autoptr(GVariant) settings = g_variant_lookup_value (self->args, "settings", G_VARIANT_TYPE ("a{ss}"));
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  Call call = { .row = row, .keys = keys, .values = values };
  GVariantBuilder builder, changed;

  if (row == NULL)
    return NULL;
  g_variant_builder_init (&changed, G_VARIANT_TYPE ("as"));
  if (!check_all (settings, &call, &changed, error) || !sk_session_transact (self->session, set_all, &call, error) || !sk_command_reload (self, error))
    {
      g_variant_builder_clear (&changed);
      g_clear_pointer (&call.settings, g_variant_unref);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "settings", call.settings);
  g_variant_builder_add (&builder, "{sv}", "changed", g_variant_builder_end (&changed));
  return g_variant_builder_end (&builder);
}

/* Index thread. */
static gboolean
look (SkSession *session, gpointer data, GError **error)
{
  Call *call = data;
  g_autoptr(GArray) packs = sk_index_packs (session->index, call->row->row, error);

  if (packs == NULL)
    return FALSE;
  for (guint i = 0; i < packs->len; i++)
    if (g_array_index (packs, SkPackInfo, i).state != SK_PACK_GONE)
      {
        call->packs++;
        call->bytes += g_array_index (packs, SkPackInfo, i).size;
      }
  call->settings = all_settings (session, &call->row->id);
  return TRUE;
}

/* Folders that are placed here, as the report says. */
static GVariant *
placed_folders (SkCommand *self, const char *storage)
{
  g_autoptr(GVariant) part = g_variant_ref_sink (sk_report_part (self->session, "folders", NULL));
  g_autoptr(GVariant) folders = g_variant_lookup_value (part, "folders", G_VARIANT_TYPE ("aa{sv}"));
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("as"));
  for (gsize i = 0; folders != NULL && i < g_variant_n_children (folders); i++)
    {
      g_autoptr(GVariant) folder = g_variant_get_child_value (folders, i);
      g_autofree const char **storages = NULL;
      const char *name;

      if (g_variant_lookup (folder, "name", "&s", &name) && g_variant_lookup (folder, "storages", "^a&s", &storages)
          && g_strv_contains (storages, storage))
        g_variant_builder_add (&builder, "s", name);
    }
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_storage_show (SkCommand *self, GError **error)
{
  g_autoptr(SkStorageRow) row = sk_command_storage (self, sk_args_string (self->args, "name", ""), error);
  g_autoptr(GVariant) reported = NULL;
  g_autoptr(GVariant) settings = NULL;
  Call call = { .row = row };
  GVariantDict dict;

  if (row == NULL)
    return NULL;
  reported = sk_report_one (self->session, "storages", &row->id, error);
  if (reported == NULL || !sk_session_index (self->session, look, &call, error))
    return NULL;
  settings = g_variant_ref_sink (call.settings);
  g_variant_dict_init (&dict, reported);
  g_variant_dict_insert_value (&dict, "settings", settings);
  g_variant_dict_insert (&dict, "packs", "t", call.packs);
  g_variant_dict_insert (&dict, "packs-bytes", "t", call.bytes);
  g_variant_dict_insert (&dict, "verified-bytes", "t", (guint64) 0);
  g_variant_dict_insert_value (&dict, "folders", placed_folders (self, row->name));
  return g_variant_dict_end (&dict);
}
