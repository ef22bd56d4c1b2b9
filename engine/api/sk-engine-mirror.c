/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-engine-mirror.h"

#include <string.h>

#include "sk-device-object.h"
#include "sk-folder.h"
#include "sk-issue.h"
#include "sk-storage-object.h"

enum
{
  FOLDERS,
  DEVICES,
  STORAGES,
  ISSUES,
  N_LISTS
};

struct _SkMirror
{
  GListStore *stores[N_LISTS];
};

static const char *const keys[N_LISTS] = { "folders", "devices", "storages", "issues" };

SkMirror *
sk_mirror_new (void)
{
  SkMirror *self = g_new0 (SkMirror, 1);
  const GType types[N_LISTS] = { SK_TYPE_FOLDER, SK_TYPE_DEVICE, SK_TYPE_STORAGE, SK_TYPE_ISSUE };

  for (guint i = 0; i < N_LISTS; i++)
    self->stores[i] = g_list_store_new (types[i]);
  return self;
}

void
sk_mirror_free (SkMirror *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < N_LISTS; i++)
    g_object_unref (self->stores[i]);
  g_free (self);
}

GListModel *
sk_mirror_folders (SkMirror *self)
{
  return G_LIST_MODEL (self->stores[FOLDERS]);
}

GListModel *
sk_mirror_devices (SkMirror *self)
{
  return G_LIST_MODEL (self->stores[DEVICES]);
}

GListModel *
sk_mirror_storages (SkMirror *self)
{
  return G_LIST_MODEL (self->stores[STORAGES]);
}

GListModel *
sk_mirror_issues (SkMirror *self)
{
  return G_LIST_MODEL (self->stores[ISSUES]);
}

/* --- one list --- */

/* Text or number. (transfer full), NULL when there is none: such an element is not shown. */
static char *
id_of (GVariant *dictionary)
{
  const char *text;
  guint64 number;

  if (g_variant_lookup (dictionary, "id", "&s", &text))
    return g_strdup (text);
  if (g_variant_lookup (dictionary, "id", "t", &number))
    return g_strdup_printf ("%" G_GUINT64_FORMAT, number);
  return NULL;
}

static SkItem *
item_at (GListStore *store, guint position)
{
  g_autoptr(SkItem) item = g_list_model_get_item (G_LIST_MODEL (store), position);

  /* The store keeps it alive. */
  return item;
}

static guint
length (GListStore *store)
{
  return g_list_model_get_n_items (G_LIST_MODEL (store));
}

static gboolean
id_is (GListStore *store, guint position, const char *id)
{
  SkItem *item = position < length (store) ? item_at (store, position) : NULL;

  return item != NULL && strcmp (sk_item_get_id (item), id) == 0;
}

/* Runs of objects that are gone leave in one splice each. */
static void
remove_gone (GListStore *store, GHashTable *wanted)
{
  guint end = length (store);

  while (end > 0)
    {
      guint start = end;

      while (start > 0
             && !g_hash_table_contains (wanted, sk_item_get_id (item_at (store, start - 1))))
        start--;
      if (start < end)
        g_list_store_splice (store, start, end - start, NULL, 0);
      end = start > 0 ? start - 1 : 0;
    }
}

static SkItem *
new_item (GListStore *store, GVariant *dictionary)
{
  SkItem *item = g_object_new (g_list_model_get_item_type (G_LIST_MODEL (store)), NULL);

  sk_item_update (item, dictionary);
  return item;
}

static GHashTable *
present_ids (GListStore *store)
{
  GHashTable *present = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < length (store); i++)
    g_hash_table_add (present, (gpointer) sk_item_get_id (item_at (store, i)));
  return present;
}

/* Elements @from.. that are new, up to one that is there already: they come in one splice.
 * Returns how many. */
static guint
insert_run (GListStore *store, guint position, GPtrArray *ids, GPtrArray *dictionaries, guint from,
            GHashTable *present)
{
  g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = from; i < ids->len && !g_hash_table_contains (present, ids->pdata[i]); i++)
    g_ptr_array_add (items, new_item (store, dictionaries->pdata[i]));
  g_list_store_splice (store, position, 0, items->pdata, items->len);
  return items->len;
}

static void
move_here (GListStore *store, guint position, const char *id, GVariant *dictionary)
{
  for (guint i = position + 1; i < length (store); i++)
    {
      if (id_is (store, i, id))
        {
          g_autoptr(SkItem) item = g_object_ref (item_at (store, i));

          g_list_store_remove (store, i);
          g_list_store_insert (store, position, item);
          sk_item_update (item, dictionary);
          return;
        }
    }
}

static void
apply_list (GListStore *store, GPtrArray *ids, GPtrArray *dictionaries, GHashTable *wanted)
{
  g_autoptr(GHashTable) present = NULL;
  guint i = 0;

  remove_gone (store, wanted);
  present = present_ids (store);
  while (i < ids->len)
    {
      const char *id = ids->pdata[i];

      if (id_is (store, i, id))
        sk_item_update (item_at (store, i), dictionaries->pdata[i]);
      else if (g_hash_table_contains (present, id))
        move_here (store, i, id, dictionaries->pdata[i]);
      else
        {
          i += insert_run (store, i, ids, dictionaries, i, present);
          continue;
        }
      i++;
    }
}

void
sk_mirror_apply (SkMirror *self, GVariant *report)
{
  for (guint i = 0; i < N_LISTS; i++)
    {
      g_autoptr(GVariant) list
          = g_variant_lookup_value (report, keys[i], G_VARIANT_TYPE ("aa{sv}"));
      g_autoptr(GHashTable) wanted = g_hash_table_new (g_str_hash, g_str_equal);
      g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);
      g_autoptr(GPtrArray) dictionaries
          = g_ptr_array_new_with_free_func ((GDestroyNotify) g_variant_unref);

      for (gsize k = 0; list != NULL && k < g_variant_n_children (list); k++)
        {
          g_autoptr(GVariant) dictionary = g_variant_get_child_value (list, k);
          g_autofree char *id = id_of (dictionary);

          if (id == NULL || g_hash_table_contains (wanted, id))
            continue;
          g_hash_table_add (wanted, id);
          g_ptr_array_add (ids, g_steal_pointer (&id));
          g_ptr_array_add (dictionaries, g_steal_pointer (&dictionary));
        }
      apply_list (self->stores[i], ids, dictionaries, wanted);
    }
}
