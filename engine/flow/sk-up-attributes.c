/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The extended attributes of a file on its way up: those of the disk, or those that its base says it has (sk-attributes.h). */
#include "sk-up-private.h"

gboolean
sk_up_attributes_read (SkUpItem *item)
{
  gboolean too_large;

  if (!sk_splitter_xattrs (item->splitter, &item->xattrs, &too_large, &item->error))
    return FALSE;
  item->xattrs_read = !too_large;
  item->xattrs_too_large = too_large;
  return TRUE;
}

/* Not what is new under every name. */
static gboolean
is_concerned (const SkUpItem *item)
{
  const SkFound *found = item->found;

  return item->content != NULL && item->content->kind == SK_KIND_FILE && item->read_done && !item->moved
         && (found->node != 0 || item->xattrs_read || item->xattrs_too_large || found->moved_from != NULL || found->stat.btime == 0);
}

static gboolean
same_bytes (GBytes *a, GBytes *b)
{
  return a == b || (a != NULL && b != NULL && g_bytes_equal (a, b));
}

static gboolean
has_bytes_of (SkSession *session, const SkUpItem *item, gint64 content, guint64 size, gboolean *same, GError **error)
{
  g_autoptr(GArray) chunks = NULL;
  const GArray *read = item->content->chunks;

  *same = FALSE;
  if (content == 0 || size != item->content->size)
    return TRUE;
  chunks = sk_index_content_chunks (session->index, content, error);
  if (chunks == NULL)
    return FALSE;
  *same = chunks->len == read->len;
  for (guint i = 0; *same && i < chunks->len; i++)
    {
      const SkChunkRef *a = &g_array_index (chunks, SkChunkRef, i), *b = &g_array_index (read, SkChunkRef, i);

      *same = a->size == b->size && sk_hash_equal (&a->id, &b->id);
    }
  return TRUE;
}

/* Is what was read what is wanted here, but for the attributes? Then it is no other version: the same file that was here before the folder was,
 * or one that was placed and not noted. */
static gboolean
is_wanted (SkSession *session, const SkUpItem *item, const SkNode *node, GBytes *wanted, gboolean *same, GError **error)
{
  *same = FALSE;
  return node->target.kind != SK_KIND_FILE || (node->base.kind == SK_KIND_FILE && node->base.content == node->target.content)
         || same_bytes (wanted, item->xattrs) || has_bytes_of (session, item, node->target.content, node->target.size, same, error);
}

static void
mark (SkUpItem *item, SkAttributesWhy why)
{
  item->mark_wanted = TRUE;
  item->mark.why = why;
  sk_attributes_hash (item->xattrs, &item->mark.here);
}

/* @value instead of what was read. */
static void
carry (SkUpItem *item, GBytes *value)
{
  item->content->xattrs = value != NULL ? g_bytes_ref (value) : NULL;
}

/* Wanted here with the attributes @value, of which the disk has others: what it has is a change of its own, told when this is the base. */
static void
adopt (SkUpItem *item, GBytes *value)
{
  carry (item, value);
  if (item->xattrs == NULL)
    mark (item, SK_ATTRIBUTES_UNLIKE);
  else
    item->unproven = TRUE;
}

/* A new name of the file of another one, which was read since the disk cannot prove that (C14): what that one has, if it has the same bytes and
 * the disk does not hold its attributes. */
static gboolean
take_from_old_name (SkSession *session, SkUpItem *item, GError **error)
{
  g_autoptr(GPtrArray) nodes = sk_index_nodes_by_inode (session->index, item->found->folder, item->found->stat.ino, error);
  SkHash here;

  if (nodes == NULL)
    return FALSE;
  sk_attributes_hash (item->xattrs, &here);
  for (guint i = 0; i < nodes->len && item->content->xattrs == NULL; i++)
    {
      const SkNode *node = nodes->pdata[i];
      g_autoptr(GBytes) value = NULL;
      SkAttributesMark known;
      gboolean same, is_marked = sk_attributes_mark (session, node->folder, node->row, &known);

      if (node->base.kind != SK_KIND_FILE || (item->xattrs_read && !(is_marked && sk_hash_equal (&known.here, &here))))
        continue;
      if (!sk_index_content_xattrs (session->index, node->base.content, &value, error)
          || (value != NULL && !has_bytes_of (session, item, node->base.content, node->base.size, &same, error)))
        return FALSE;
      if (value == NULL || !same)
        continue;
      carry (item, value);
      item->mark_wanted = is_marked;
      item->mark = known;
    }
  return TRUE;
}

static gboolean
settle_one (SkSession *session, SkUpItem *item, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (session->index, item->found->node, error);
  g_autoptr(GBytes) base = NULL, wanted = NULL;
  SkAttributesMark known;
  SkHash here;
  gboolean same;

  if (node == NULL || !sk_index_content_xattrs (session->index, node->base.kind == SK_KIND_FILE ? node->base.content : 0, &base, error)
      || !sk_index_content_xattrs (session->index, node->target.kind == SK_KIND_FILE ? node->target.content : 0, &wanted, error)
      || !is_wanted (session, item, node, wanted, &same, error))
    return FALSE;
  sk_attributes_hash (item->xattrs, &here);
  if (!item->xattrs_read)
    carry (item, same ? wanted : base);
  else if (same && (node->base.kind != SK_KIND_FILE || item->xattrs == NULL))
    adopt (item, wanted);
  else if (base != NULL && !same_bytes (base, item->xattrs) && sk_attributes_mark (session, node->folder, node->row, &known)
           && sk_hash_equal (&known.here, &here))
    {
      carry (item, base);
      item->mark_wanted = TRUE;
      item->mark = known;
    }
  else
    carry (item, item->xattrs);
  return node->base.kind == SK_KIND_FILE || same || item->content->xattrs != NULL || take_from_old_name (session, item, error);
}

/* Index thread; reads only. */
static gboolean
settle_all (SkSession *session, gpointer data, GError **error)
{
  GPtrArray *items = data;

  for (guint i = 0; i < items->len; i++)
    {
      SkUpItem *item = items->pdata[i];

      if (!is_concerned (item))
        continue;
      if (item->found->node != 0 && !settle_one (session, item, error))
        return FALSE;
      if (item->found->node == 0)
        {
          carry (item, item->xattrs);
          if (item->content->xattrs == NULL && (item->found->moved_from != NULL || item->found->stat.btime == 0)
              && !take_from_old_name (session, item, error))
            return FALSE;
        }
      if (item->xattrs_too_large)
        {
          mark (item, SK_ATTRIBUTES_TOO_LARGE);
          item->mark.here.bytes[0] = 1;          /* nothing that is read later is like it */
        }
      if (item->content->xattrs != NULL)
        sk_entry_seal_content (item->content);
    }
  return TRUE;
}

gboolean
sk_up_attributes_settle (SkUp *self, GPtrArray *items, GError **error)
{
  gboolean any = FALSE;

  for (guint i = 0; i < items->len; i++)
    {
      SkUpItem *item = items->pdata[i];

      any |= is_concerned (item);
      if (item->xattrs_too_large && item->folder->flow != NULL)
        sk_attributes_tell (self->session, item->folder->flow, item->found->path, 0, SK_ATTRIBUTES_TOO_LARGE, 0);
    }
  return !any || sk_session_index (self->session, settle_all, items, error);
}

/* Index thread: what the file has under its new name is what it had under the old one. */
gboolean
sk_up_attributes_of_moved (SkSession *session, SkUpItem *item, GError **error)
{
  g_autoptr(SkNode) old = NULL;
  g_autoptr(GError) local = NULL;

  if (!sk_index_content_xattrs (session->index, item->found->moved_content, &item->content->xattrs, error))
    return FALSE;
  if (item->content->xattrs == NULL)
    return TRUE;
  old = sk_index_node (session->index, item->found->folder, item->found->moved_from, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  item->mark_wanted = old != NULL && sk_attributes_mark (session, old->folder, old->row, &item->mark);
  return TRUE;
}

/* Index thread, in the transaction of the base. Where nothing was read, what is known of the disk stays known. */
gboolean
sk_up_attributes_note (SkSession *session, const SkUpItem *item, GError **error)
{
  g_autoptr(SkNode) node = NULL;
  g_autoptr(GError) local = NULL;

  if (item->content == NULL || (item->content->xattrs == NULL && !item->mark_wanted) || !(item->xattrs_read || item->mark_wanted || item->moved))
    return TRUE;
  node = sk_index_node (session->index, item->found->folder, item->found->path, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (node == NULL)
    return TRUE;
  return item->mark_wanted ? sk_attributes_set_mark (session, node->folder, node->row, &item->mark, error)
                           : sk_attributes_clear_mark (session, node->folder, node->row, error);
}
