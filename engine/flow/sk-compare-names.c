/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-compare-names.h"

#include <string.h>

/* NULL for what has one form only: ASCII, or no UTF-8. (transfer full) */
static char *
form_of (const char *name)
{
  return g_str_is_ascii (name) ? NULL : g_utf8_normalize (name, -1, G_NORMALIZE_NFC);
}

static int
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(SkScanItem *const *) a)->name, (*(SkScanItem *const *) b)->name);
}

/* Those that may be meant by another form of their name: form -> SkChild. */
static GHashTable *
children_by_form (const SkChild *children, guint n, GHashTable *listed)
{
  GHashTable *forms = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < n; i++)
    {
      char *form = form_of (children[i].name);
      const SkChild *other = form != NULL ? g_hash_table_lookup (forms, form) : NULL;

      if (form == NULL || g_hash_table_contains (listed, children[i].name) || (other != NULL && other->kind != SK_KIND_NONE))
        g_free (form);
      else
        g_hash_table_replace (forms, form, (gpointer) &children[i]);
    }
  return forms;
}

void
sk_compare_names_listed (SkScanDir *listing, const SkChild *children, guint n)
{
  g_autoptr(GHashTable) listed = g_hash_table_new (g_str_hash, g_str_equal), forms = NULL, known = NULL;
  gboolean changed = FALSE;

  for (guint i = 0; i < listing->items->len; i++)
    if (!g_str_is_ascii (((SkScanItem *) listing->items->pdata[i])->name))
      g_hash_table_add (listed, ((SkScanItem *) listing->items->pdata[i])->name);
  if (g_hash_table_size (listed) == 0)
    return;
  known = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < n; i++)
    g_hash_table_add (known, (gpointer) children[i].name);
  forms = children_by_form (children, n, listed);
  for (guint i = 0; i < listing->items->len; i++)
    {
      SkScanItem *item = listing->items->pdata[i];
      g_autofree char *form = g_hash_table_contains (known, item->name) ? NULL : form_of (item->name);
      const SkChild *child = form != NULL ? g_hash_table_lookup (forms, form) : NULL;

      if (child == NULL)
        continue;
      if (listing->names == NULL)
        listing->names = g_string_chunk_new (1024);
      item->name = g_string_chunk_insert (listing->names, child->name);
      g_hash_table_remove (forms, form);
      changed = TRUE;
    }
  if (changed)
    g_ptr_array_sort (listing->items, by_name);
}

/* (transfer full), NULL when no child is meant by another form of @name. */
static char *
known_name (SkSession *session, gint64 folder, gint64 parent, const char *name, gint64 *row, GError **error)
{
  g_autoptr(SkChildList) list = sk_child_list_new ();
  g_autofree char *form = form_of (name);
  const SkChild *children, *best = NULL;
  guint n;

  if (!sk_index_child_list (session->index, folder, parent, list, error))
    return NULL;
  children = sk_child_list_get (list, &n);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *other = NULL;

      if (strcmp (children[i].name, name) == 0 && (children[i].kind != SK_KIND_NONE || form == NULL || best == NULL))
        best = &children[i];
      if (form == NULL || (best != NULL && best->kind != SK_KIND_NONE))
        continue;
      other = form_of (children[i].name);
      if (g_strcmp0 (other, form) == 0 && (best == NULL || children[i].kind != SK_KIND_NONE))
        best = &children[i];
    }
  *row = best != NULL ? best->row : 0;
  return g_strdup (best != NULL ? best->name : name);
}

char *
sk_compare_names_path (SkSession *session, gint64 folder, const char *path, GError **error)
{
  g_auto(GStrv) names = NULL;
  gint64 parent = 0;

  if (g_str_is_ascii (path))
    return g_strdup (path);
  names = g_strsplit (path, "/", -1);
  for (guint i = 0; names[i] != NULL && (i == 0 || parent != 0); i++)
    {
      char *name = known_name (session, folder, parent, names[i], &parent, error);

      if (name == NULL)
        return NULL;
      g_free (names[i]);
      names[i] = name;
    }
  return g_strjoinv ("/", names);
}
