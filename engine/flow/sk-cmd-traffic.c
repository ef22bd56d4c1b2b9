/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is on its way, and how much went. */
#include "sk-command.h"

#define LIST_MAX 10000u

/* --- transfers --- */

typedef struct
{
  SkConfig *config;
  GVariantBuilder list;
  guint n;
  gboolean truncated;
} TransfersCall;

static GVariant *
transfer_dict (const SkFlowFolder *folder, const char *path, const SkNode *node)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "folder", g_variant_new_string (folder->name));
  g_variant_builder_add (&builder, "{sv}", "path", g_variant_new_bytestring (path));
  g_variant_builder_add (&builder, "{sv}", "direction", g_variant_new_string ("down"));
  g_variant_builder_add (&builder, "{sv}", "state", g_variant_new_string ("waiting"));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (node->target.kind == SK_KIND_FILE ? node->target.size : 0));
  g_variant_builder_add (&builder, "{sv}", "done", g_variant_new_uint64 (0));
  g_variant_builder_add (&builder, "{sv}", "rate", g_variant_new_uint64 (0));
  g_variant_builder_add (&builder, "{sv}", "via", g_variant_new_string (""));
  return g_variant_builder_end (&builder);
}

/* Index thread: what this disk still lacks. */
static gboolean
list_transfers (SkSession *session, gpointer data, GError **error)
{
  TransfersCall *call = data;

  for (guint i = 0; i < call->config->folders->len && !call->truncated; i++)
    {
      const SkFlowFolder *folder = call->config->folders->pdata[i];
      g_autoptr(GPtrArray) dirty = folder->mode == SK_FOLDER_SEND ? g_ptr_array_new ()
                                                                  : sk_index_dirty (session->index, folder->row, 0, LIST_MAX + 1 - call->n, error);

      if (dirty == NULL)
        return FALSE;
      for (guint k = 0; k < dirty->len && !call->truncated; k++)
        {
          g_autofree char *path = sk_index_node_path (session->index, ((SkNode *) dirty->pdata[k])->row, error);

          if (path == NULL)
            return FALSE;
          call->truncated = call->n >= LIST_MAX;
          if (!call->truncated)
            g_variant_builder_add_value (&call->list, transfer_dict (folder, path, dirty->pdata[k]));
          call->n++;
        }
    }
  return TRUE;
}

GVariant *
sk_cmd_transfers (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  TransfersCall call = { .config = config };
  GVariantBuilder builder;

  g_variant_builder_init (&call.list, G_VARIANT_TYPE ("aa{sv}"));
  if (!sk_session_index (self->session, list_transfers, &call, error))
    {
      g_variant_builder_clear (&call.list);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "transfers", g_variant_builder_end (&call.list));
  if (call.truncated)
    g_variant_builder_add (&builder, "{sv}", "truncated", g_variant_new_boolean (TRUE));
  return g_variant_builder_end (&builder);
}

/* --- traffic --- */

static GVariant *
storage_dict (const SkFlowStorage *storage, const SkStoreCounters *counters)
{
  char hex[SK_ID_HEX_SIZE];
  GVariantBuilder builder;
  const struct { const char *key; guint64 value; } numbers[] = {
    { "up", counters->bytes_up }, { "down", counters->bytes_down }, { "chunks-up", 0 }, { "chunks-down", 0 }, { "puts", counters->puts },
    { "gets", counters->gets }, { "lists", counters->lists }, { "removes", counters->removes }, { "errors", counters->errors },
  };

  sk_id_format (&storage->id, hex);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "id", g_variant_new_string (hex));
  g_variant_builder_add (&builder, "{sv}", "name", g_variant_new_string (storage->name));
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    g_variant_builder_add (&builder, "{sv}", numbers[i].key, g_variant_new_uint64 (numbers[i].value));
  return g_variant_builder_end (&builder);
}

/* Counters live as long as the engine runs: 'since' is when that began, whatever was asked for. */
GVariant *
sk_cmd_traffic (SkCommand *self, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  guint64 up = 0, down = 0;
  GVariantBuilder list, builder;

  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < config->storages->len; i++)
    {
      const SkFlowStorage *storage = config->storages->pdata[i];
      SkStoreCounters counters;

      sk_store_counters (storage->store, &counters);
      up += counters.bytes_up;
      down += counters.bytes_down;
      g_variant_builder_add_value (&list, storage_dict (storage, &counters));
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "since", g_variant_new_int64 (self->session->opened_wall / G_USEC_PER_SEC));
  g_variant_builder_add (&builder, "{sv}", "up", g_variant_new_uint64 (up));
  g_variant_builder_add (&builder, "{sv}", "down", g_variant_new_uint64 (down));
  g_variant_builder_add (&builder, "{sv}", "devices", g_variant_new ("aa{sv}", NULL));
  g_variant_builder_add (&builder, "{sv}", "storages", g_variant_builder_end (&list));
  return g_variant_builder_end (&builder);
}
