/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees and contents as a person sees them: plain system calls, nothing of the engine. */
#include "sk-model-private.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-hash.h"

void
sk_model_item_free (SkModelItem *self)
{
  g_free (self->path);
  g_free (self);
}

void
sk_model_content_free (SkModelContent *self)
{
  g_free (self->key);
  g_bytes_unref (self->data);
  g_free (self->seen_at);
  g_free (self);
}

static int
by_path (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(SkModelItem *const *) a)->path, (*(SkModelItem *const *) b)->path);
}

static void
list_below (const char *root, const char *path, GPtrArray *out)
{
  g_autofree char *full = g_build_filename (root, path, NULL);
  DIR *dir = opendir (full);
  struct dirent *entry;

  if (dir == NULL)
    return;
  while ((entry = readdir (dir)) != NULL)
    {
      SkModelItem *item;
      struct stat st;

      if (g_str_equal (entry->d_name, ".") || g_str_equal (entry->d_name, "..") || g_str_equal (entry->d_name, ".skerry")
          || fstatat (dirfd (dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      item = g_new0 (SkModelItem, 1);
      item->path = *path != '\0' ? g_strdup_printf ("%s/%s", path, entry->d_name) : g_strdup (entry->d_name);
      item->kind = S_ISDIR (st.st_mode) ? 'd' : S_ISLNK (st.st_mode) ? 'l' : 'f';
      g_ptr_array_add (out, item);
      if (item->kind == 'd')
        list_below (root, item->path, out);
    }
  closedir (dir);
}

GPtrArray *
sk_model_list (const char *root)
{
  GPtrArray *out = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_model_item_free);

  list_below (root, "", out);
  g_ptr_array_sort (out, by_path);
  return out;
}

char *
sk_model_key (gboolean is_link, const void *data, gsize len)
{
  char hex[SK_HASH_HEX_SIZE];
  SkHash hash;

  sk_blake2b (data, len, &hash);
  sk_hash_format (&hash, hex);
  return g_strdup_printf ("%c%.24s", is_link ? 'l' : 'f', hex);
}

static char *
read_all (SkModel *self, const char *full, gboolean is_link, gsize *len)
{
  char *data = NULL;

  if (is_link)
    {
      data = g_file_read_link (full, NULL);
      *len = data != NULL ? strlen (data) : 0;
    }
  else if (!g_file_get_contents (full, &data, len, NULL))
    data = NULL;
  if (data == NULL)
    sk_model_fail (self, "%s cannot be read", full);
  return data;
}

static SkModelContent *
add_content (SkModel *self, const char *full, gboolean is_link, const char *shown)
{
  gsize len = 0;
  g_autofree char *data = read_all (self, full, is_link, &len);
  g_autofree char *key = data != NULL ? sk_model_key (is_link, data, len) : NULL;
  SkModelContent *content = key != NULL ? g_hash_table_lookup (self->contents, key) : NULL;

  if (content != NULL || key == NULL)
    return content;
  content = g_new0 (SkModelContent, 1);
  content->key = g_steal_pointer (&key);
  content->data = g_bytes_new_take (g_steal_pointer (&data), len);
  content->is_link = is_link;
  content->seen_at = g_strdup (shown);
  g_hash_table_insert (self->contents, content->key, content);
  return content;
}

static SkModelContent *
content_of (SkModel *self, const char *full, const char *shown)
{
  struct stat st;
  g_autofree char *numbers = NULL;
  SkModelContent *content;

  if (lstat (full, &st) != 0 || S_ISDIR (st.st_mode))
    return NULL;
  /* Whoever writes in place here leaves a time of his own. */
  numbers = g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT ".%ld %" G_GINT64_FORMAT ".%ld", (guint64) st.st_ino,
                             (gint64) st.st_size, (gint64) st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (gint64) st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
  content = g_hash_table_lookup (self->seen, numbers);
  if (content != NULL)
    return content;
  content = add_content (self, full, S_ISLNK (st.st_mode), shown);
  if (content != NULL)
    g_hash_table_insert (self->seen, g_steal_pointer (&numbers), content);
  return content;
}

SkModelContent *
sk_model_content_at (SkModel *self, guint i, const char *path)
{
  g_autofree char *full = g_build_filename (self->roots[i], path, NULL);

  return content_of (self, full, path);
}

static void
collect_below (SkModel *self, const char *top, GHashTable *out)
{
  g_autoptr(GPtrArray) items = sk_model_list (top);

  for (guint i = 0; i < items->len; i++)
    {
      SkModelItem *item = items->pdata[i];
      g_autofree char *full = g_build_filename (top, item->path, NULL);
      SkModelContent *content = item->kind != 'd' ? content_of (self, full, item->path) : NULL;

      if (content != NULL)
        g_hash_table_add (out, content->key);
    }
}

GHashTable *
sk_model_collect (SkModel *self, guint i, gboolean with_trash)
{
  GHashTable *out = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree char *trash = g_build_filename (self->roots[i], ".skerry/trash", NULL);

  collect_below (self, self->roots[i], out);
  if (with_trash)
    collect_below (self, trash, out);
  return out;
}

char *
sk_model_listing (SkModel *self, guint i)
{
  g_autoptr(GPtrArray) items = sk_model_list (self->roots[i]);
  GString *text = g_string_new (NULL);

  for (guint k = 0; k < items->len; k++)
    {
      SkModelItem *item = items->pdata[k];
      g_autofree char *full = g_build_filename (self->roots[i], item->path, NULL);
      SkModelContent *content = item->kind != 'd' ? content_of (self, full, item->path) : NULL;
      struct stat st = { 0 };

      lstat (full, &st);
      g_string_append_printf (text, "%s %c", item->path, item->kind);
      if (item->kind != 'l')
        g_string_append_printf (text, " %04o", st.st_mode & 07777);
      if (content != NULL)
        g_string_append_printf (text, " %" G_GINT64_FORMAT ".%09ld %s", (gint64) st.st_mtim.tv_sec, st.st_mtim.tv_nsec, content->key);
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

static int
remove_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  if (type == FTW_DNR)
    chmod (path, 0700);
  return remove (path);
}

void
sk_model_remove_tree (const char *path)
{
  nftw (path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}
