/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-command.h"
#include "sk-membership.h"
#include "sk-place.h"
#include "sk-report.h"

typedef struct
{
  SkId id;
  const char *name, *uri;
  gint64 row;
} AttachCall;

static gboolean
attach_storage (SkSession *session, gpointer data, GError **error)
{
  AttachCall *call = data;
  const SkStorageDef def = { .id = call->id, .name = (char *) call->name, .uri = (char *) call->uri };

  /* One whose definition was not read yet: that has a Lamport number and replaces this one. */
  if (call->uri != NULL && !sk_index_storage_define (session->index, &def, NULL, error))
    return FALSE;
  call->row = sk_index_storage_row (session->index, &call->id);
  return call->row == 0 || sk_index_storage_attach (session->index, call->row, call->uri, error);
}

/* The place as an absolute URI: the engine has another working directory than the person. */
static SkStore *
open_store (SkCommand *self, const char *uri, GError **error)
{
  return sk_store_new (uri, &self->session->who.vault, self->session->store_pool, error);
}

/* The marker that lies there already, if it is of this vault. FALSE only on errors; *@found tells. */
static gboolean
look_for_marker (SkCommand *self, SkStore *store, SkStoreMarker *marker, gboolean *found, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) bytes = sk_store_get_sync (store, "skerry.json", SK_SMALL_OBJECT_MAX, self->cancellable, &local);

  *found = FALSE;
  if (bytes == NULL)
    {
      /* A vault directory that is not there answers OFFLINE: nothing of this vault was ever here. */
      if (g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND) || g_error_matches (local, SK_ERROR, SK_ERROR_OFFLINE))
        return TRUE;
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (!sk_store_marker_parse (bytes, marker, error))
    return FALSE;
  if (!sk_id_equal (&marker->vault, &self->session->who.vault))
    return sk_fail (error, SK_ERROR_UNTRUSTED, "the marker there belongs to another vault");
  *found = TRUE;
  return TRUE;
}

typedef struct
{
  const char *name;
  SkId id;
  gboolean taken;                /* @name, by another storage than @id */
  char *known_as;                /* @id */
} NameCall;

/* Index thread. */
static gboolean
look_for_name (SkSession *session, gpointer data, GError **error)
{
  NameCall *call = data;
  g_autoptr(GPtrArray) rows = sk_index_storages (session->index);

  for (guint i = 0; i < rows->len; i++)
    {
      const SkStorageRow *row = rows->pdata[i];
      gboolean same = sk_id_equal (&row->id, &call->id);

      if (same && call->known_as == NULL)
        call->known_as = g_strdup (row->name);
      call->taken |= !same && !row->deleted && g_str_equal (row->name, call->name);
    }
  return TRUE;
}

/* What lies there already keeps the name that the vault knows it by. */
static char *
name_of (SkCommand *self, const SkId *id, const char *given)
{
  NameCall call = { .name = given, .id = *id };

  if (!sk_session_index (self->session, look_for_name, &call, NULL) || call.known_as == NULL)
    return g_strdup (given);
  return call.known_as;
}

GVariant *
sk_cmd_storage_add (SkCommand *self, GError **error)
{
  const char *name = sk_args_string (self->args, "name", ""), *uri = sk_args_string (self->args, "uri", "");
  g_autoptr(SkStore) store = open_store (self, uri, error);
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  SkStoreMarker marker = { .format = 1, .vault = self->session->who.vault };
  gboolean found;
  AttachCall attach = { .name = name, .uri = uri };
  g_autoptr(GPtrArray) none = g_ptr_array_new ();
  NameCall names = { .name = name };
  g_autofree char *known_as = NULL, *warning = NULL;
  GVariantBuilder builder;
  char hex[SK_ID_HEX_SIZE];

  if (store == NULL || !sk_command_check_label (name, error) || !sk_place_check_storage (self, uri, error) || !look_for_marker (self, store, &marker, &found, error))
    return NULL;
  if (!found && !sk_session_index (self->session, look_for_name, &names, error))
    return NULL;
  g_clear_pointer (&names.known_as, g_free);
  if (names.taken)
    {
      sk_fail (error, SK_ERROR_EXISTS, "there is a storage “%s” in this vault already; give this one another name", name);
      return NULL;
    }
  if (!found)
    {
      SkStorageDef *def = g_new0 (SkStorageDef, 1);

      sk_id_random (&marker.storage);
      def->id = marker.storage;
      def->name = g_strdup (name);
      def->uri = g_strdup (uri);
      def->writer = self->session->who.writer;
      def->lamport = sk_report_next_lamport (self->session);
      g_ptr_array_add (records, sk_record_new_storage (def));
      /* The marker is the last object (C11). */
      if (!sk_store_prepare_sync (store, self->cancellable, error) || !sk_membership_put_epoch (self->session, store, self->cancellable, error)
          || !sk_store_initialise_sync (store, &marker, self->cancellable, error))
        return NULL;
    }
  attach.id = marker.storage;
  if (!sk_command_append (self, found ? none : records, attach_storage, &attach, error) || !sk_command_reload (self, error)
      || (found && !sk_down_pull (self->session->down, self->cancellable, error)))
    return NULL;
  sk_up_publish (self->session->up);
  sk_id_format (&marker.storage, hex);
  known_as = name_of (self, &marker.storage, name);
  warning = g_str_equal (known_as, name) ? g_strdup ("") : g_strdup_printf ("this place is the storage “%s” of the vault already, and keeps that name", known_as);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "storage", g_variant_new_string (hex));
  g_variant_builder_add (&builder, "{sv}", "name", g_variant_new_string (known_as));
  g_variant_builder_add (&builder, "{sv}", "uri", g_variant_new_string (uri));
  g_variant_builder_add (&builder, "{sv}", "new", g_variant_new_boolean (!found));
  g_variant_builder_add (&builder, "{sv}", "warning", g_variant_new_string (warning));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_cmd_storage_list (SkCommand *self, GError **error)
{
  return sk_report_part (self->session, "storages", error);
}

GVariant *
sk_cmd_storage_remove (SkCommand *self, GError **error)
{
  g_autoptr(SkStorageRow) row = sk_command_storage (self, sk_args_string (self->args, "name", ""), error);
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  AttachCall detach = { .uri = NULL };
  SkStorageDef *def;
  GVariantBuilder builder;
  char hex[SK_ID_HEX_SIZE];
  g_autofree char *warning = NULL;

  if (row == NULL)
    return NULL;
  def = g_new0 (SkStorageDef, 1);
  def->id = row->id;
  def->name = g_strdup (row->name);
  def->uri = g_strdup (row->uri);
  def->deleted = TRUE;
  def->writer = self->session->who.writer;
  def->lamport = sk_report_next_lamport (self->session);
  g_ptr_array_add (records, sk_record_new_storage (def));
  detach.id = row->id;
  /* The others read of it in this storage's own log, so it is published once more before it is left. */
  if (!sk_command_append (self, records, NULL, NULL, error))
    return NULL;
  {
    SkUpResult result;
    const gint64 none = -1;

    if (sk_up_sync (self->session->up, &none, 1, &result, self->cancellable, NULL))
      sk_up_result_clear (&result);
  }
  g_ptr_array_set_size (records, 0);
  if (!sk_command_append (self, records, attach_storage, &detach, error) || !sk_command_reload (self, error))
    return NULL;
  sk_id_format (&row->id, hex);
  warning = g_strdup_printf ("its objects stay where they are: %s", row->uri != NULL ? row->uri : "(not attached here)");
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "storage", g_variant_new_string (hex));
  g_variant_builder_add (&builder, "{sv}", "folders", g_variant_new_strv (NULL, 0));
  g_variant_builder_add (&builder, "{sv}", "warning", g_variant_new_string (warning));
  return g_variant_builder_end (&builder);
}
