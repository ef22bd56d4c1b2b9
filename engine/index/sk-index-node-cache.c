/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes in memory, with their maximal versions. Merging asks for the same few nodes again and again and changes one several times: here it is
 * read once, and what changed is written once, before any statement looks at the table in another way (sk_sql sees to that) and before the
 * commit. No other connection writes, so what is here stays true from one transaction to the next; a rollback drops it. */
#include "sk-index-private.h"

#include <string.h>

#define NODES_MAX 32768u         /* about 1 KiB each, with a version */

struct _SkNodeCache
{
  GHashTable *nodes;             /* &node.row -> SkCachedNode */
  GHashTable *by_name;           /* SkCachedNode by parent and name */
  GHashTable *versions;          /* &version.row -> SkVersion, owned by the node's array */
  GPtrArray *changed;            /* SkCachedNode, not owned */
};

static void
cached_free (gpointer data)
{
  SkCachedNode *self = data;

  g_clear_pointer (&self->versions, g_ptr_array_unref);
  g_clear_pointer (&self->node.base.vector, sk_vector_unref);
  g_free (self->node.name);
  g_free (self);
}

/* What the column of the same name holds. */
static gint64
parent_of (const SkNode *node)
{
  return node->parent != 0 ? node->parent : SK_TOP_PARENT (node->folder);
}

static guint
name_hash (gconstpointer key)
{
  const SkNode *node = key;
  gint64 parent = parent_of (node);

  return g_int64_hash (&parent) * 31u + g_str_hash (node->name);
}

static gboolean
name_equal (gconstpointer a, gconstpointer b)
{
  const SkNode *x = a, *y = b;

  return parent_of (x) == parent_of (y) && strcmp (x->name, y->name) == 0;
}

SkNodeCache *
sk_node_cache_new (void)
{
  SkNodeCache *self = g_new0 (SkNodeCache, 1);

  self->nodes = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, cached_free);
  self->by_name = g_hash_table_new (name_hash, name_equal);
  self->versions = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->changed = g_ptr_array_new ();
  return self;
}

void
sk_node_cache_free (SkNodeCache *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->changed);
  g_hash_table_unref (self->by_name);
  g_hash_table_unref (self->versions);
  g_hash_table_unref (self->nodes);
  g_free (self);
}

void
sk_node_cache_drop (SkNodeCache *self)
{
  g_ptr_array_set_size (self->changed, 0);
  g_hash_table_remove_all (self->by_name);
  g_hash_table_remove_all (self->versions);
  g_hash_table_remove_all (self->nodes);
}

/* --- writing what changed --- */

/* Per class the writer's row (0: none), Lamport number and mode, as varints. */
static gboolean
encode_stamps (SkIndex *self, const SkNode *node, SkWriter *writer, GError **error)
{
  for (int i = 0; i < 2; i++)
    {
      const SkModeStamp *one = &node->mode_stamp[i];
      gint64 row = one->set ? sk_intern_id (self, &one->writer, error) : 0;

      if (one->set && row == 0)
        return FALSE;
      sk_writer_varint (writer, (guint64) row);
      sk_writer_varint (writer, one->set ? one->lamport : 0);
      sk_writer_varint (writer, one->set ? one->mode : 0);
    }
  return TRUE;
}

static void
bind_sides (SkStatement *statement, const SkBase *base, const SkTarget *target, GBytes *vector)
{
  const gint64 values[] = {
    base->kind, base->version, base->content, base->mode, base->mtime, (gint64) base->size, (gint64) base->ino, (gint64) base->dev,
    base->stat_mtime, base->ctime, base->btime, base->mount_root != 0, base->unproven != 0,
    target->kind, target->version, target->content, (gint64) target->size, target->mode, target->mtime,
  };

  sk_bind_bytes (statement, 7, vector);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    sk_bind_int (statement, 8 + (int) i, values[i]);
}

static gboolean
store (SkIndex *self, const SkCachedNode *cached, GError **error)
{
  const SkNode *node = &cached->node;
  g_autoptr(GBytes) vector = node->base.vector != NULL ? sk_vector_encode (node->base.vector) : NULL;
  g_auto(SkWriter) stamps = { 0 };
  g_autoptr(SkStatement) statement = NULL;

  sk_writer_init (&stamps);
  if (!encode_stamps (self, node, &stamps, error))
    return FALSE;
  statement = sk_sql (self, cached->is_new ? SK_SQL_NODE_ADD : cached->base_changed ? SK_SQL_NODE_STORE : SK_SQL_NODE_STORE_TARGET, error);
  if (statement == NULL)
    return FALSE;
  if (cached->is_new)
    {
      sk_bind_int (statement, 27, node->folder);
      sk_bind_int (statement, 28, parent_of (node));
      sk_bind_text (statement, 29, node->name);
    }
  sk_bind_int (statement, 1, node->row);
  sk_bind_int (statement, 2, node->generation);
  sk_bind_int (statement, 3, node->live_children);
  sk_bind_int (statement, 4, node->hold);
  sk_bind_int (statement, 5, node->dirty);
  if (node->mode_stamp[0].set || node->mode_stamp[1].set)
    sk_bind_blob (statement, 6, stamps.bytes->data, stamps.bytes->len);
  bind_sides (statement, &node->base, &node->target, vector);
  return sk_run (self, statement, error);
}

gboolean
sk_node_cache_flush (SkIndex *self, GError **error)
{
  GPtrArray *changed = self->nodes->changed;

  for (guint i = 0; i < changed->len; i++)
    {
      SkCachedNode *cached = changed->pdata[i];

      if (!store (self, cached, error))
        return FALSE;
      cached->changed = cached->is_new = cached->base_changed = FALSE;
    }
  g_ptr_array_set_size (changed, 0);
  return TRUE;
}

gboolean
sk_node_cache_has_changes (const SkNodeCache *self)
{
  return self->changed->len > 0;
}

/* --- nodes --- */

static gboolean
make_room (SkIndex *self, GError **error)
{
  if (g_hash_table_size (self->nodes->nodes) < NODES_MAX)
    return TRUE;
  if (sk_node_cache_has_changes (self->nodes) && !sk_node_cache_flush (self, error))
    return FALSE;
  sk_node_cache_drop (self->nodes);
  return TRUE;
}

static void
put (SkNodeCache *self, SkCachedNode *cached)
{
  g_hash_table_insert (self->nodes, &cached->node.row, cached);
  g_hash_table_add (self->by_name, cached);
}

/* (transfer full) @node, which the table has as well. */
static SkCachedNode *
remember (SkNodeCache *self, SkNode *node)
{
  SkCachedNode *cached = g_new0 (SkCachedNode, 1);

  cached->node = *node;
  g_free (node);                 /* what it owned moved */
  put (self, cached);
  return cached;
}

SkCachedNode *
sk_cached_node (SkIndex *self, gint64 row, GError **error)
{
  SkCachedNode *cached = g_hash_table_lookup (self->nodes->nodes, &row);
  SkNode *node;

  if (cached != NULL)
    return cached;
  if (!make_room (self, error))
    return NULL;
  node = sk_node_read_row (self, row, error);
  return node != NULL ? remember (self->nodes, node) : NULL;
}

gboolean
sk_cached_nodes_take (SkIndex *self, GPtrArray *nodes, GError **error)
{
  for (guint i = 0; i < nodes->len; i++)
    {
      const SkNode *node = nodes->pdata[i];

      if (g_hash_table_contains (self->nodes->nodes, &node->row))
        continue;
      if (!make_room (self, error))
        return FALSE;
      remember (self->nodes, sk_node_copy (node));
    }
  return TRUE;
}

SkCachedNode *
sk_cached_node_needed (SkIndex *self, gint64 row, GError **error)
{
  g_autoptr(GError) why = NULL;
  SkCachedNode *cached = sk_cached_node (self, row, &why);

  if (cached != NULL)
    return cached;
  if (why == NULL)
    sk_index_damaged (self, "a node is missing", error);
  else
    g_propagate_error (error, g_steal_pointer (&why));
  return NULL;
}

void
sk_cached_node_changed (SkIndex *self, SkCachedNode *cached)
{
  g_assert (self->in_transaction);
  if (!cached->changed)
    g_ptr_array_add (self->nodes->changed, cached);
  cached->changed = TRUE;
}

static gboolean
load_next_row (SkIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gint64 last;

  if (self->next_node != 0)
    return TRUE;
  statement = sk_sql (self, SK_SQL_NODE_LAST, error);
  if (statement == NULL || !sk_read_int (self, statement, 0, &last, error))
    return FALSE;
  if (last < 0 || last == G_MAXINT64)
    return sk_index_damaged (self, "a node has an impossible row", error);
  self->next_node = last + 1;
  return TRUE;
}

gboolean
sk_index_nodes_made (SkIndex *self, guint64 *n, GError **error)
{
  if (!load_next_row (self, error))
    return FALSE;
  *n = (guint64) self->next_node - 1;
  return TRUE;
}

gint64
sk_cached_node_add (SkIndex *self, gint64 folder, gint64 parent, const char *name, gsize len, GError **error)
{
  SkCachedNode *cached;
  gint64 row;

  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return 0;
    }
  if (!make_room (self, error) || !load_next_row (self, error))
    return 0;
  row = self->next_node++;
  cached = g_new0 (SkCachedNode, 1);
  cached->node.row = row;
  cached->node.folder = folder;
  cached->node.parent = MAX (parent, 0);
  cached->node.name = g_strndup (name, len);
  cached->is_new = TRUE;
  cached->versions = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_version_free);
  cached->no_more_versions = TRUE;
  put (self->nodes, cached);
  sk_cached_node_changed (self, cached);
  return row;
}

gint64
sk_cached_node_find (SkIndex *self, gint64 folder, gint64 parent, const char *name, gsize len)
{
  char copy[SK_NAME_MAX + 1];
  const SkNode wanted = { .folder = folder, .parent = MAX (parent, 0), .name = copy };
  const SkCachedNode *cached;

  if (len > SK_NAME_MAX)
    return 0;
  memcpy (copy, name, len);
  copy[len] = '\0';
  cached = g_hash_table_lookup (self->nodes->by_name, &wanted);
  return cached != NULL ? cached->node.row : 0;
}

SkNode *
sk_node_copy (const SkNode *node)
{
  SkNode *copy = g_memdup2 (node, sizeof *node);

  copy->name = g_strdup (node->name);
  if (node->base.vector != NULL)
    copy->base.vector = sk_vector_ref (node->base.vector);
  return copy;
}

/* --- versions --- */

void
sk_cached_versions_set (SkIndex *self, SkCachedNode *node, GPtrArray *versions)
{
  g_assert (node->versions == NULL);
  node->versions = g_ptr_array_ref (versions);
  for (guint i = 0; i < versions->len; i++)
    g_hash_table_insert (self->nodes->versions, &((SkVersion *) versions->pdata[i])->row, versions->pdata[i]);
}

void
sk_cached_version_add (SkIndex *self, SkVersion *version)
{
  SkCachedNode *node = g_hash_table_lookup (self->nodes->nodes, &version->node);

  if (node == NULL || node->versions == NULL)
    {
      sk_version_free (version);
      return;
    }
  g_ptr_array_add (node->versions, version);
  g_hash_table_insert (self->nodes->versions, &version->row, version);
}

SkVersion *
sk_cached_version (SkIndex *self, gint64 row)
{
  return g_hash_table_lookup (self->nodes->versions, &row);
}

void
sk_cached_version_remove (SkIndex *self, gint64 row)
{
  SkVersion *version = sk_cached_version (self, row);
  SkCachedNode *node = version != NULL ? g_hash_table_lookup (self->nodes->nodes, &version->node) : NULL;

  if (node == NULL)
    return;
  g_hash_table_remove (self->nodes->versions, &row);
  /* It may live on in the table, as one that is not maximal. */
  node->no_more_versions = FALSE;
  g_ptr_array_remove (node->versions, version);
}

void
sk_cached_versions_forget (SkIndex *self, gint64 node_row)
{
  SkCachedNode *node = g_hash_table_lookup (self->nodes->nodes, &node_row);

  if (node == NULL || node->versions == NULL)
    return;
  for (guint i = 0; i < node->versions->len; i++)
    g_hash_table_remove (self->nodes->versions, &((SkVersion *) node->versions->pdata[i])->row);
  g_clear_pointer (&node->versions, g_ptr_array_unref);
  node->no_more_versions = FALSE;
}
