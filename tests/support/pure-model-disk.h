/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The second half of pure-model.h: between the disks of its devices and their entries. Header of one test program. */
#pragma once
#include "pure-model.h"

/* --- from the disk to entries --- */

static void
set_base (Node *node, const Thing *thing, SkEntry *entry, const SkVector *vector)
{
  g_autoptr(SkVector) none = sk_vector_empty ();

  node->base = *thing;
  if (thing->kind == SK_KIND_DIR)
    node->base.mtime = 0;
  node->base_entry = entry;
  set_vector (node, vector != NULL ? vector : none, none);
}

static SkVector *
join_maximal (const Node *node)
{
  SkVector *joined = sk_vector_empty ();

  for (guint i = 0; i < node->maximal->len; i++)
    {
      g_autoptr(SkVector) narrow = joined;

      joined = sk_vector_join (narrow, ((SkEntry *) node->maximal->pdata[i])->vector);
    }
  return joined;
}

static void
stamp_metadata (const Node *node, SkEntry *entry)
{
  const SkEntry *stamp = mode_stamp (node, entry->kind == SK_KIND_DIR || (entry->flags & SK_ENTRY_WAS_DIR) != 0);

  if (node->base_entry != NULL && entry->mode == node->base.mode && stamp != NULL && stamp->mode == entry->mode
      && stamp->meta_lamport <= entry->lamport)
    {
      entry->meta_lamport = stamp->meta_lamport;
      entry->meta_writer = stamp->meta_writer;
    }
  else
    {
      entry->meta_lamport = entry->lamport;
      entry->meta_writer = entry->writer;
    }
}

/* Publishes the conflict copies that have to come first, and returns what the change builds on. */
static SkVector *
build_on (Model *m, Device *d, Node *node)
{
  g_autofree gboolean *copies = g_new0 (gboolean, node->maximal->len + 1);
  g_autoptr(GPtrArray) first = g_ptr_array_new ();
  const SkHash *content = node->base.kind == SK_KIND_FILE || node->base.kind == SK_KIND_SYMLINK ? &node->base_entry->content : NULL;
  SkVector *vector = sk_merge_build_on ((SkEntry *const *) node->maximal->pdata, node->maximal->len, &node->visible,
                                        node->base_vector, node->base.kind, content, &d->writer, d->counter + 1, copies);

  for (guint i = 0; i < node->maximal->len; i++)
    if (copies[i])
      g_ptr_array_add (first, copy_of (m, node->maximal->pdata[i]));
  for (guint i = 0; i < first->len; i++)
    publish (m, d, first->pdata[i]);
  return vector;
}

static void
write_content (Model *m, Device *d, Node *node, const Thing *disk, gboolean is_union)
{
  gboolean is_gone = disk->kind == SK_KIND_NONE;
  Thing now = is_gone ? (Thing) { .kind = SK_KIND_TOMBSTONE, .mode = node->base.mode } : *disk;
  SkEntry *entry = pooled (m, entry_for (d, node->path, &now));
  g_autoptr(SkVector) vector = build_on (m, d, node);

  if (is_gone && node->base.kind == SK_KIND_DIR)
    entry->flags |= SK_ENTRY_WAS_DIR;
  if (is_union)
    entry->flags |= SK_ENTRY_UNION;
  entry->lamport = is_union ? 0 : ++d->lamport;
  entry->writer = d->writer;
  entry->wall = (gint64) (m->clock / 8) * 60;    /* several changes in one minute */
  stamp_metadata (node, entry);
  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_with (vector, &d->writer, ++d->counter);
  if (!is_gone && disk->token != 0)
    g_array_index (m->written, gboolean, disk->token) = TRUE;
  set_base (node, is_gone ? &(Thing) { .kind = SK_KIND_NONE } : disk, is_gone ? NULL : entry, entry->vector);
  publish (m, d, entry);
}

static void
write_meta (Model *m, Device *d, Node *node, const Thing *disk)
{
  SkEntry *entry;

  if (node->base_entry == NULL)    /* an implied directory is described now */
    {
      write_content (m, d, node, disk, FALSE);
      return;
    }
  entry = pooled (m, sk_entry_copy (node->base_entry));
  entry->mode = disk->mode;
  entry->mtime = disk->kind == SK_KIND_DIR ? 0 : disk->mtime;
  entry->meta_lamport = ++d->lamport;
  entry->meta_writer = d->writer;
  {
    g_autoptr(SkVector) vector = sk_vector_ref (node->base_vector);

    set_base (node, disk, entry, vector);
  }
  publish (m, d, entry);
}

static SkEntry *
known_version (const Node *node, const Thing *disk)
{
  for (guint i = node->entries->len; i-- > 0;)
    {
      SkEntry *e = node->entries->pdata[i];

      if (e->kind == disk->kind && token_of (e) == disk->token)
        return e;
    }
  return NULL;
}

/* Looks at one path of the disk. */
static void
scan_path (Model *m, Device *d, const char *path)
{
  const Thing *found = g_hash_table_lookup (d->disk, path);
  Thing disk = found != NULL ? *found : (Thing) { .kind = SK_KIND_NONE };
  Node *node = node_at (d, path);
  SkLocalFacts facts;
  SkEntry *known;

  recompute (m, d);
  known = disk.kind == SK_KIND_FILE || disk.kind == SK_KIND_SYMLINK ? known_version (node, &disk) : NULL;
  facts = (SkLocalFacts) {
    .disk_kind = disk.kind, .base_kind = node->base.kind, .target_kind = node->target.kind,
    .content_equals_base = same_content (&disk, &node->base), .content_equals_target = same_content (&disk, &node->target),
    .content_equals_known = known != NULL, .meta_equals_base = same_meta (&disk, &node->base),
    .base_deleted = node->base.kind == SK_KIND_NONE && node->base_vector != NULL, .first_contact = d->first_contact,
  };
  switch (sk_merge_local (&facts))
    {
    case SK_LOCAL_ADOPT:
      if (facts.content_equals_target)
        known = node->target_entry;
      set_base (node, &disk, known, known != NULL ? known->vector : NULL);
      d->stale = TRUE;
      /* The file shares the fate of that version from now on. Somebody may have deleted it already, or moved the very
       * content away: then it follows into the trash, as it would have, had it been here before. */
      if (disk.token != 0)
        g_array_index (m->superseded, gboolean, disk.token) = TRUE;
      break;
    case SK_LOCAL_META:
      write_meta (m, d, node, &disk);
      break;
    case SK_LOCAL_CONTENT:
    case SK_LOCAL_DELETE:
      write_content (m, d, node, &disk, FALSE);
      break;
    case SK_LOCAL_UNION:
      write_content (m, d, node, &disk, TRUE);
      break;
    case SK_LOCAL_FORGET:
      {
        g_autoptr(SkVector) vector = join_maximal (node);

        set_base (node, &disk, NULL, vector);
      }
      break;
    case SK_LOCAL_SAME:
    case SK_LOCAL_STAT_ONLY:
    default:
      break;
    }
}

static void
shuffle (GRand *rand, GPtrArray *array)
{
  for (guint i = array->len; i-- > 1;)
    {
      guint k = (guint) g_rand_int_range (rand, 0, (gint32) i + 1);
      gpointer swap = array->pdata[i];

      array->pdata[i] = array->pdata[k];
      array->pdata[k] = swap;
    }
}

/* Every path that the disk or the base knows, in any order. (transfer container; the names are owned) */
static GPtrArray *
all_paths (Model *m, Device *d)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer path, value;

  recompute (m, d);    /* conflict copies have paths of their own */
  g_hash_table_iter_init (&iter, d->nodes);
  while (g_hash_table_iter_next (&iter, &path, &value))
    g_ptr_array_add (paths, g_strdup (path));
  g_hash_table_iter_init (&iter, d->disk);
  while (g_hash_table_iter_next (&iter, &path, &value))
    if (!g_hash_table_contains (d->nodes, path))
      g_ptr_array_add (paths, g_strdup (path));
  g_ptr_array_sort (paths, compare_paths);
  shuffle (m->rand, paths);
  return paths;
}

static void
scan_all (Model *m, Device *d)
{
  g_autoptr(GPtrArray) paths = all_paths (m, d);

  for (guint i = 0; i < paths->len; i++)
    scan_path (m, d, paths->pdata[i]);
  d->first_contact = FALSE;
}

/* --- from targets to the disk --- */

static gboolean
has_children (Device *d, const char *path)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, d->disk);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (strcmp (key, path) != 0 && sk_path_is_below (key, path))
      return TRUE;
  return FALSE;
}

static gboolean
can_create (Device *d, const char *path)
{
  g_autofree char *parent = sk_path_parent (path);
  const Thing *thing = parent[0] != '\0' ? g_hash_table_lookup (d->disk, parent) : NULL;

  return parent[0] == '\0' || (thing != NULL && thing->kind == SK_KIND_DIR);
}

/* The copy that would keep what is on the disk at @node was deleted; perhaps just now, so it is looked at first. */
static gboolean
has_no_place_left (Model *m, Device *d, const Node *node)
{
  const SkEntry *base = node->base_entry;
  const Node *at;
  SkDeviceId device;

  if (node->base.kind != SK_KIND_FILE && node->base.kind != SK_KIND_SYMLINK)
    return FALSE;
  at = g_hash_table_lookup (d->nodes, copy_of (m, node->base_entry)->path);
  if (at == NULL)
    return FALSE;
  scan_path (m, d, at->path);
  recompute (m, d);
  device = sk_id_device (&d->writer);
  return node->base_entry == base
         && sk_merge_must_restate (base, (SkEntry *const *) node->entries->pdata, node->entries->len, (SkEntry *const *) at->maximal->pdata,
                                   at->maximal->len, &device);
}

static void
restate (Model *m, Device *d, Node *node)
{
  g_autoptr(SkVector) vector = build_on (m, d, node);
  SkEntry *entry = pooled (m, sk_merge_restate (node->base_entry, vector, &d->writer, ++d->counter));
  Thing thing = node->base;

  set_base (node, &thing, entry, entry->vector);
  publish (m, d, entry);
}

/* TRUE when something was done. */
static gboolean
apply_path (Model *m, Device *d, const char *path)
{
  Node *node;
  const Thing *found;
  SkApply action;

  recompute (m, d);
  node = node_at (d, path);
  found = g_hash_table_lookup (d->disk, path);
  action = sk_merge_apply (node->base.kind, node->target.kind, same_content (&node->base, &node->target),
                           same_meta (&node->base, &node->target));
  if (action == SK_APPLY_NOTHING)
    return FALSE;
  if (found == NULL ? node->base.kind != SK_KIND_NONE
                    : !same_content (found, &node->base) || !same_meta (found, &node->base))
    {
      scan_path (m, d, path);    /* the disk is not what the base says: that is a change */
      return FALSE;
    }
  if ((action == SK_APPLY_TRASH || action == SK_APPLY_REPLACE_KIND) && node->base.kind == SK_KIND_DIR && has_children (d, path))
    return FALSE;
  if (node->target.kind != SK_KIND_NONE && !can_create (d, path))
    return FALSE;

  if (action != SK_APPLY_META && has_no_place_left (m, d, node))
    {
      restate (m, d, node);
      return TRUE;
    }
  if (node->target.kind == SK_KIND_NONE)
    {
      g_autoptr(SkVector) vector = join_maximal (node);

      g_hash_table_remove (d->disk, path);
      set_base (node, &node->target, NULL, vector);
    }
  else
    {
      g_hash_table_insert (d->disk, g_strdup (path), g_memdup2 (&node->target, sizeof node->target));
      set_base (node, &node->target, node->target_entry, node->target_entry != NULL ? node->target_entry->vector : NULL);
    }
  d->stale = TRUE;
  return TRUE;
}

static gboolean
apply_all (Model *m, Device *d)
{
  g_autoptr(GPtrArray) paths = NULL;
  gboolean any = FALSE, did;

  do
    {
      did = FALSE;
      g_clear_pointer (&paths, g_ptr_array_unref);
      paths = all_paths (m, d);
      for (guint i = 0; i < paths->len; i++)
        did |= apply_path (m, d, paths->pdata[i]);
      any |= did;
    }
  while (did);
  return any;
}
