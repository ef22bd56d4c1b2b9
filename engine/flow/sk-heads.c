/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-heads.h"

#include "sk-limits.h"

#define BELIEVED_MAX 9u          /* times; some services give tags that do not change */
#define HEADS_MAX 4096u          /* of storages and devices that are not there any more, too */
#define AGE_US (10 * G_USEC_PER_SEC)   /* a coarse time proves nothing about what was written a moment ago */

typedef struct
{
  char *etag;
  guint64 size;
  gint64 mtime;
  GBytes *object;
  guint believed;
} Head;

static void
head_free (gpointer data)
{
  Head *self = data;

  g_free (self->etag);
  g_bytes_unref (self->object);
  g_free (self);
}

static gboolean
is_the_same (const Head *head, const SkStoreItem *item)
{
  return g_strcmp0 (head->etag, item->etag) == 0 && head->size == item->size && head->mtime == item->mtime;
}

/* Without a tag or a time, or with a time that is nearly now, the next change could look the same. */
static gboolean
is_telling (SkSession *session, const SkStoreItem *item)
{
  return item->etag != NULL && item->mtime >= 0 && item->mtime < sk_clock_wall (session->clock) - AGE_US;
}

static char *
head_key (const SkFlowStorage *storage, const SkStoreItem *item)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT ":%s", storage->row, item->name);
}

GBytes *
sk_heads_get (SkSession *session, SkFlowStorage *storage, const SkStoreItem *item, GCancellable *cancellable, GError **error)
{
  g_autofree char *key = head_key (storage, item);
  gboolean telling = is_telling (session, item);
  GBytes *object;
  Head *head;

  if (session->heads == NULL)
    session->heads = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, head_free);
  head = g_hash_table_lookup (session->heads, key);
  if (head != NULL && is_the_same (head, item) && head->believed < BELIEVED_MAX)
    {
      head->believed++;
      return g_bytes_ref (head->object);
    }
  g_hash_table_remove (session->heads, key);
  object = sk_store_get_sync (storage->store, item->name, SK_HEAD_SIZE_MAX, cancellable, error);
  if (object == NULL || !telling || g_hash_table_size (session->heads) >= HEADS_MAX)
    return object;
  head = g_new0 (Head, 1);
  *head = (Head) { .etag = g_strdup (item->etag), .size = item->size, .mtime = item->mtime, .object = g_bytes_ref (object) };
  g_hash_table_insert (session->heads, g_steal_pointer (&key), head);
  return object;
}

/* --- nothing new at all --- */

typedef struct
{
  guint n;
  SkConfig *config;        /* another one may let more be read: a new device, another key */
} ReadAll;

static void
read_all_free (gpointer data)
{
  sk_config_unref (((ReadAll *) data)->config);
  g_free (data);
}

gboolean
sk_heads_unchanged (SkSession *session, SkFlowStorage *storage, GPtrArray *items)
{
  const ReadAll *all = session->heads_read != NULL ? g_hash_table_lookup (session->heads_read, &storage->row) : NULL;
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GPtrArray) heads = g_ptr_array_new ();

  if (all == NULL || all->n != items->len || all->config != config)
    return FALSE;
  for (guint i = 0; i < items->len; i++)
    {
      const SkStoreItem *item = items->pdata[i];
      g_autofree char *key = head_key (storage, item);
      Head *head = session->heads != NULL ? g_hash_table_lookup (session->heads, key) : NULL;

      if (head == NULL || !is_the_same (head, item) || head->believed >= BELIEVED_MAX)
        return FALSE;
      g_ptr_array_add (heads, head);
    }
  for (guint i = 0; i < heads->len; i++)
    ((Head *) heads->pdata[i])->believed++;
  return TRUE;
}

void
sk_heads_read_all (SkSession *session, SkFlowStorage *storage, guint n)
{
  ReadAll *all = g_new0 (ReadAll, 1);

  *all = (ReadAll) { .n = n, .config = sk_session_config (session) };
  if (session->heads_read == NULL)
    session->heads_read = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, read_all_free);
  g_hash_table_replace (session->heads_read, g_memdup2 (&storage->row, sizeof storage->row), all);
}

void
sk_heads_forget_all (SkSession *session, SkFlowStorage *storage)
{
  if (session->heads_read != NULL)
    g_hash_table_remove (session->heads_read, &storage->row);
}
