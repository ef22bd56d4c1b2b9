/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-place.h"

#include <stdlib.h>

#include "sk-path.h"

/* Links are followed as far as the path is there. (transfer full) */
static char *
resolve (const char *path)
{
  g_autofree char *at = g_canonicalize_filename (path, "/");
  g_autofree char *rest = g_strdup ("");

  for (;;)
    {
      g_autofree char *real = realpath (at, NULL);
      g_autofree char *base = g_path_get_basename (at), *above = g_path_get_dirname (at);
      char *longer;

      if (real != NULL)
        return *rest != '\0' ? g_build_filename (real, rest, NULL) : g_steal_pointer (&real);
      if (g_str_equal (above, at))
        return g_strdup (path);
      longer = *rest != '\0' ? g_build_filename (base, rest, NULL) : g_strdup (base);
      g_free (rest);
      rest = longer;
      g_free (at);
      at = g_steal_pointer (&above);
    }
}

/* Where the objects of a storage at @uri lie, links resolved, also when it is not there yet; NULL: not a directory of this computer. (transfer full) */
static char *
place_of_storage (const char *uri, const SkId *vault)
{
  g_autofree char *path = uri[0] == '/' ? g_strdup (uri) : g_filename_from_uri (uri, NULL, NULL);
  g_autofree char *full = NULL;
  char hex[SK_ID_HEX_SIZE];

  if (path == NULL)
    return NULL;
  sk_id_format (vault, hex);
  full = g_build_filename (path, hex, NULL);
  return resolve (full);
}

void
sk_place_list_storages (SkSession *session, GPtrArray *paths)
{
  g_autoptr(GPtrArray) rows = sk_index_storages (session->index);

  for (guint i = 0; i < rows->len; i++)
    {
      const SkStorageRow *row = rows->pdata[i];
      char *place = row->uri != NULL && !row->deleted ? place_of_storage (row->uri, &session->who.vault) : NULL;

      if (place != NULL)
        g_ptr_array_add (paths, place);
    }
}

/* Index thread. */
static gboolean
list_folders (SkSession *session, gpointer data, GError **error)
{
  GPtrArray *paths = data;
  g_autoptr(GPtrArray) rows = sk_index_folders (session->index);

  for (guint i = 0; i < rows->len; i++)
    {
      const char *path = ((SkFolderRow *) rows->pdata[i])->path;

      if (path != NULL)
        g_ptr_array_add (paths, resolve (path));
    }
  return TRUE;
}

gboolean
sk_place_check_storage (SkCommand *self, const char *uri, GError **error)
{
  g_autofree char *place = place_of_storage (uri, &self->session->who.vault);
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  if (place == NULL)
    return TRUE;
  if (!sk_session_index (self->session, list_folders, paths, error))
    return FALSE;
  for (guint i = 0; i < paths->len; i++)
    if (sk_path_is_below (place, paths->pdata[i]))
      {
        g_autofree char *shown = sk_path_display (paths->pdata[i]);

        return sk_fail (error, SK_ERROR_USAGE, "“%s” lies in the synced folder “%s”: the storage would be synced into itself. Give it a place outside", uri,
                        shown);
      }
  if (sk_path_is_below (place, sk_home_path (self->session->home)))
    return sk_fail (error, SK_ERROR_USAGE, "“%s” lies in the home of this device; give the storage a place outside", uri);
  return TRUE;
}
