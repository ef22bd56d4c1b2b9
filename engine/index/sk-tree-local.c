/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-tree-private.h"

SkVector *
sk_tree_join_maximal (SkTree *self, gint64 node, GError **error)
{
  g_autoptr(GPtrArray) versions = sk_index_versions (self->index, node, TRUE, error);
  g_autoptr(SkVector) joined = sk_vector_empty ();

  if (versions == NULL)
    return NULL;
  for (guint i = 0; i < versions->len; i++)
    {
      SkVector *wider = sk_vector_join (joined, ((SkVersion *) versions->pdata[i])->entry->vector);

      sk_vector_unref (joined);
      joined = wider;
    }
  return g_steal_pointer (&joined);
}

typedef struct
{
  SkTree *tree;
  const SkLocalChange *change;
  const SkId *log_writer;
  guint64 log_seq;
  GPtrArray *records;
  SkNode *node;
} Local;

/* An engine that was killed between its write and its base finds on the disk what it wrote; meanwhile the target may have moved on (B089). */
static gboolean
is_later (Local *l, gint64 row, gboolean *later, GError **error)
{
  const SkVector *base = l->node->base.vector;
  g_autoptr(SkVersion) version = NULL;

  if (base == NULL)
    return TRUE;
  version = sk_index_version (l->tree->index, row, error);
  if (version == NULL)
    return FALSE;
  *later = sk_vector_compare (base, version->entry->vector) == SK_ORDER_BEFORE;
  return TRUE;
}

/* A directory that was made here, and is wanted only because of what lies in it: its maker means it to stay when that goes. Not in the place of
 * something else: that may have been this engine, which was killed before it noted it. At a first contact only where nobody ever described or removed
 * it: then what lies in it was taken in before it was, and without an entry it would lose its mode, here as well. */
static gboolean
is_to_be_described (const Local *l)
{
  return l->change->kind == SK_KIND_DIR && l->node->target.kind == SK_KIND_DIR && l->node->target.version == 0
         && l->node->base.kind == SK_KIND_NONE && !l->change->withhold && (!l->change->first_contact || !l->node->mode_stamp[1].set);
}

static gboolean
gather_facts (Local *l, SkLocalFacts *facts, GError **error)
{
  const SkLocalChange *c = l->change;
  const SkNode *node = l->node;
  gint64 content = 0;

  *facts = (SkLocalFacts) { .disk_kind = c->kind, .base_kind = node->base.kind, .target_kind = node->target.kind,
                            .first_contact = c->first_contact, .written_here = c->written_here,
                            .base_deleted = node->base.kind == SK_KIND_NONE && node->base.vector != NULL
                                            && sk_vector_length (node->base.vector) > 0 };
  if (c->found != NULL)
    {
      gboolean has_content = c->kind == SK_KIND_FILE || c->kind == SK_KIND_SYMLINK;

      if (has_content)
        content = sk_index_content_row (l->tree->index, &c->found->content);
      facts->content_equals_base = c->kind == node->base.kind && (!has_content || (content != 0 && content == node->base.content));
      facts->content_equals_target = c->kind == node->target.kind && !is_to_be_described (l)
                                     && (!has_content || (content != 0 && content == node->target.content));
      if (content != 0 && !facts->content_equals_base && !facts->content_equals_target)
        {
          gint64 row = sk_index_version_with_content (l->tree->index, node->row, &c->found->content, error);

          if (row < 0)
            return FALSE;
          facts->content_equals_known = row > 0;
          if (row > 0 && !is_later (l, row, &facts->content_equals_later, error))
            return FALSE;
        }
    }
  /* A directory that has the target's mode already: this engine gave it, and did not come to note it, or it is what somebody else wants as well. */
  if (c->kind == SK_KIND_DIR && c->disk.mode != node->base.mode && node->base.kind == SK_KIND_DIR && node->target.kind == SK_KIND_DIR
      && node->target.version != 0 && c->disk.mode == node->target.mode)
    facts->content_equals_base = FALSE;
  facts->meta_equals_base = (c->kind == SK_KIND_SYMLINK || c->disk.mode == node->base.mode)
                            && (c->kind == SK_KIND_DIR || c->disk.mtime == node->base.mtime);
  return TRUE;
}

/* Where a directory was replaced by something else, its children are missing with it, and that is noted later than what replaced it, or not at all when
 * the pass ends early. As long as one has a base the next pass must ask for them again: nobody lists what is no directory. */
static gboolean
has_lost_children (Local *l, SkKind kind, gboolean *lost, GError **error)
{
  const SkBase *before = &l->node->base;
  g_autoptr(GPtrArray) children = NULL;

  *lost = FALSE;
  if (kind == SK_KIND_NONE || kind == SK_KIND_DIR || (before->kind != SK_KIND_DIR && !before->unproven))
    return TRUE;
  children = sk_index_children (l->tree->index, l->change->folder, l->node->row, TRUE, error);
  *lost = children != NULL && children->len > 0;
  return children != NULL;
}

/* The base takes the disk's numbers and keeps its version. */
static gboolean
remember_disk (Local *l, SkKind kind, gint64 version, SkVector *vector, gint64 content, GError **error)
{
  SkBase base = l->change->disk;
  gboolean lost_children;

  if (!has_lost_children (l, kind, &lost_children, error))
    return FALSE;
  base.unproven |= lost_children;
  base.kind = kind;
  base.version = version;
  base.vector = vector;
  base.content = content;
  if (kind == SK_KIND_DIR)
    base.mtime = 0;
  return sk_index_set_base (l->tree->index, l->node->row, &base, error);
}

static gboolean
adopt (Local *l, gboolean target_equal, GError **error)
{
  SkTree *self = l->tree;
  g_autoptr(SkVersion) version = NULL;
  gint64 row = target_equal ? l->node->target.version
                            : sk_index_version_with_content (self->index, l->node->row, &l->change->found->content, error);

  if (row < 0)
    return FALSE;
  if (row == 0)      /* an implied directory */
    {
      g_autoptr(SkVector) none = sk_vector_empty ();

      return remember_disk (l, SK_KIND_DIR, 0, none, 0, error) && sk_tree_recompute (self, l->node->row, error);
    }
  version = sk_index_version (self->index, row, error);
  if (version == NULL)
    return FALSE;
  return remember_disk (l, l->change->kind, row, version->entry->vector, version->content, error)
         && sk_tree_recompute (self, l->node->row, error);
}

/* What the change builds on, and before it as real entries the conflict copies of the contents that it dominates without building on them
 * (A7; sk_merge_build_on says which). (transfer full), NULL on error. */
static SkVector *
build_on (Local *l, const SkVersion *base_version, GError **error)
{
  SkTree *self = l->tree;
  g_autoptr(GPtrArray) versions = sk_index_versions (self->index, l->node->row, TRUE, error);
  g_autofree SkEntry **entries = NULL;
  g_autofree gboolean *copies = NULL;
  g_autoptr(SkVector) vector = NULL;
  SkVisible visible;
  gboolean has_content = l->node->base.kind == SK_KIND_FILE || l->node->base.kind == SK_KIND_SYMLINK;
  const SkHash *changed = has_content && base_version != NULL && !l->change->base_unsure ? &base_version->entry->content : NULL;

  if (versions == NULL)
    return NULL;
  entries = g_new0 (SkEntry *, versions->len + 1);
  copies = g_new0 (gboolean, versions->len + 1);
  for (guint i = 0; i < versions->len; i++)
    entries[i] = ((SkVersion *) versions->pdata[i])->entry;
  sk_merge_visible (entries, versions->len, l->node->live_children > 0, &visible);
  vector = sk_merge_build_on (entries, versions->len, &visible, l->node->base.vector, l->node->base.kind, changed, &self->writer,
                              self->counter + 1, copies);
  for (guint i = 0; i < versions->len; i++)
    {
      g_autoptr(SkEntry) copy = NULL;

      if (!copies[i])
        continue;
      if (!sk_tree_load_chunks (self, versions->pdata[i], error))
        return NULL;
      copy = sk_conflict_entry (entries[i]);
      if (!sk_tree_apply (self, copy, l->log_writer, l->log_seq, error))
        return NULL;
      g_ptr_array_add (l->records, sk_record_new_entry (g_steal_pointer (&copy)));
    }
  return g_steal_pointer (&vector);
}

static SkEntry *
entry_for (Local *l, SkKind kind)
{
  const SkLocalChange *c = l->change;
  const SkId none = { 0 };
  SkEntry *entry = c->found != NULL ? sk_entry_copy (c->found) : sk_entry_new (&none, c->path, kind);

  g_free (entry->path);
  entry->path = g_strdup (c->path);
  entry->kind = kind;
  entry->flags = (c->confirmed ? SK_ENTRY_CONFIRMED : 0) | (c->moved ? SK_ENTRY_MOVED : 0);
  g_free (entry->device_name);
  entry->device_name = g_strdup (l->tree->device_name);
  entry->wall = c->wall;
  entry->writer = l->tree->writer;
  entry->mode = c->disk.mode;
  entry->mtime = kind == SK_KIND_DIR ? 0 : c->disk.mtime;
  return entry;
}

static gboolean
set_folder (Local *l, SkEntry *entry, GError **error)
{
  return sk_index_folder_id (l->tree->index, l->change->folder, &entry->folder, error);
}

/* A content change that leaves the mode alone carries the newest metadata stamp that is known here (FORMAT.md), with its mode: somebody's chmod
 * may be known and not yet on this disk. */
static void
stamp_metadata (Local *l, SkEntry *entry, SkVersion *base_version)
{
  int class = entry->kind == SK_KIND_DIR || (entry->flags & SK_ENTRY_WAS_DIR) != 0;
  const SkModeStamp stamp = sk_tree_mode_stamp (l->node, class, &base_version, base_version != NULL ? 1 : 0);

  if (base_version != NULL && entry->mode == l->node->base.mode && stamp.set && stamp.lamport <= entry->lamport)
    {
      entry->mode = stamp.mode;
      entry->meta_lamport = stamp.lamport;
      entry->meta_writer = stamp.writer;
      return;
    }
  if (base_version != NULL && entry->mode == l->node->base.mode && base_version->entry->mode == entry->mode)
    {
      entry->meta_lamport = base_version->entry->meta_lamport;
      entry->meta_writer = base_version->entry->meta_writer;
      return;
    }
  entry->meta_lamport = entry->lamport;
  entry->meta_writer = entry->writer;
}

static gboolean
write_entry (Local *l, SkEntry *entry, GError **error)
{
  SkTree *self = l->tree;
  g_autoptr(SkEntry) owned = entry;
  gint64 row;
  gboolean is_gone = entry->kind == SK_KIND_TOMBSTONE;
  g_autoptr(SkVersion) version = NULL;

  sk_entry_seal_content (entry);
  if (!sk_entry_check (entry, error) || !sk_tree_note_mode (self, l->node->row, entry, error)
      || !sk_tree_insert (self, l->node->row, entry, FALSE, 0, l->log_writer, l->log_seq, &row, error))
    return FALSE;
  version = sk_index_version (self->index, row, error);
  if (version == NULL || !remember_disk (l, is_gone ? SK_KIND_NONE : entry->kind, is_gone ? 0 : row, entry->vector, version->content, error))
    return FALSE;
  g_ptr_array_add (l->records, sk_record_new_entry (g_steal_pointer (&owned)));
  return sk_tree_recompute (self, l->node->row, error);
}

static gboolean
write_content (Local *l, SkLocalVerdict verdict, GError **error)
{
  SkTree *self = l->tree;
  gboolean is_delete = verdict == SK_LOCAL_DELETE;
  g_autoptr(SkVector) vector = NULL;
  g_autoptr(SkVersion) base_version = NULL;
  g_autoptr(SkEntry) entry = entry_for (l, is_delete ? SK_KIND_TOMBSTONE : l->change->kind);

  if (!set_folder (l, entry, error))
    return FALSE;
  if (l->node->base.version != 0)
    {
      base_version = sk_index_version_of (self->index, l->node->row, l->node->base.version, error);
      if (base_version == NULL)
        return FALSE;
    }
  vector = build_on (l, base_version, error);
  if (vector == NULL)
    return FALSE;
  if (is_delete)
    {
      entry->mode = l->node->base.mode;
      entry->mtime = 0;
      if (l->node->base.kind == SK_KIND_DIR)
        entry->flags |= SK_ENTRY_WAS_DIR;
    }
  if (verdict == SK_LOCAL_UNION)
    {
      entry->flags |= SK_ENTRY_UNION;
      entry->lamport = 0;
    }
  else
    entry->lamport = ++self->lamport;
  stamp_metadata (l, entry, base_version);
  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_with (vector, &self->writer, ++self->counter);
  return write_entry (l, g_steal_pointer (&entry), error);
}

/* chmod or touch: the content stamp is repeated, the metadata stamp is new. */
static gboolean
write_meta (Local *l, GError **error)
{
  SkTree *self = l->tree;
  g_autoptr(SkVersion) version = NULL;
  g_autoptr(SkEntry) entry = NULL;

  if (l->node->base.version == 0)      /* an implied directory that somebody changed: now it is described */
    return write_content (l, SK_LOCAL_CONTENT, error);
  version = sk_index_version_of (self->index, l->node->row, l->node->base.version, error);
  if (version == NULL || !sk_tree_load_chunks (self, version, error))
    return FALSE;
  entry = sk_entry_copy (version->entry);
  entry->mode = l->change->disk.mode;
  entry->mtime = entry->kind == SK_KIND_DIR ? 0 : l->change->disk.mtime;
  entry->meta_lamport = ++self->lamport;
  entry->meta_writer = self->writer;
  if ((version->is_virtual && !sk_index_version_publish (self->index, version->row, l->log_writer, l->log_seq, error))
      || !sk_tree_note_mode (self, l->node->row, entry, error)
      || !sk_index_version_set_meta (self->index, version->row, entry->meta_lamport, &entry->meta_writer, entry->mode, entry->mtime, error)
      || !remember_disk (l, entry->kind, version->row, l->node->base.vector, version->content, error)
      || !sk_tree_lift (self, l->change->folder, entry, error))
    return FALSE;
  g_ptr_array_add (l->records, sk_record_new_entry (g_steal_pointer (&entry)));
  return sk_tree_recompute (self, l->node->row, error);
}

/* The disk is as the base says, and something else is to come: perhaps nobody may have this content any more then. */
static gboolean
restate_if_due (Local *l, gboolean *written, GError **error)
{
  SkTree *self = l->tree;
  g_autoptr(SkVersion) version = NULL;
  g_autoptr(SkVector) vector = NULL;
  SkTreeReplace replace;

  *written = FALSE;
  if (l->change->withhold)
    return TRUE;
  if (!sk_tree_before_replace (self, l->node, NULL, &replace, error))
    return FALSE;
  if (!replace.restate)
    return TRUE;
  version = sk_index_version_of (self->index, l->node->row, l->node->base.version, error);
  if (version == NULL || !sk_tree_load_chunks (self, version, error))
    return FALSE;
  vector = build_on (l, version, error);
  if (vector == NULL)
    return FALSE;
  *written = TRUE;
  return write_entry (l, sk_merge_restate (version->entry, vector, &self->writer, ++self->counter), error);
}

static gboolean
stays (Local *l, SkTreeOutcome *outcome, GError **error)
{
  gboolean written;

  *outcome = SK_TREE_NOTHING;
  if (l->change->kind == SK_KIND_NONE)
    return TRUE;
  if (!restate_if_due (l, &written, error))
    return FALSE;
  if (written)
    {
      *outcome = SK_TREE_WRITTEN;
      return TRUE;
    }
  return remember_disk (l, l->node->base.kind, l->node->base.version, l->node->base.vector, l->node->base.content, error);
}

static gboolean
carry_out (Local *l, const SkLocalFacts *facts, SkTreeOutcome *outcome, GError **error)
{
  SkLocalVerdict verdict = sk_merge_local (facts);
  g_autoptr(SkVector) vector = NULL;

  if (l->change->withhold
      && (verdict == SK_LOCAL_META || verdict == SK_LOCAL_CONTENT || verdict == SK_LOCAL_UNION || verdict == SK_LOCAL_DELETE))
    {
      *outcome = SK_TREE_WITHHELD;
      return TRUE;
    }
  switch (verdict)
    {
    case SK_LOCAL_SAME:
    case SK_LOCAL_STAT_ONLY:
      return stays (l, outcome, error);
    case SK_LOCAL_ADOPT:
      *outcome = SK_TREE_ADOPTED;
      return adopt (l, facts->content_equals_target, error);
    case SK_LOCAL_META:
      *outcome = SK_TREE_WRITTEN;
      return write_meta (l, error);
    case SK_LOCAL_FORGET:
      *outcome = SK_TREE_NOTHING;
      vector = sk_tree_join_maximal (l->tree, l->node->row, error);
      return vector != NULL && remember_disk (l, SK_KIND_NONE, 0, vector, 0, error);
    case SK_LOCAL_DELETE:
      if (!l->change->first_contact)
        {
          *outcome = SK_TREE_WRITTEN;
          return write_content (l, verdict, error);
        }
      /* A restored database speaks of files that the disk does not have: no deletion (A6), the vault's state comes back. */
      *outcome = SK_TREE_NOTHING;
      return remember_disk (l, SK_KIND_NONE, 0, NULL, 0, error);
    case SK_LOCAL_CONTENT:
    case SK_LOCAL_UNION:
    default:
      *outcome = SK_TREE_WRITTEN;
      return write_content (l, verdict, error);
    }
}

gboolean
sk_tree_local (SkTree *self, const SkLocalChange *change, const SkId *log_writer, guint64 log_seq, GPtrArray *records,
               SkTreeOutcome *outcome, GError **error)
{
  g_autoptr(SkNode) node = NULL;
  SkLocalChange as_kept = *change;
  Local l = { .tree = self, .change = &as_kept, .log_writer = log_writer, .log_seq = log_seq, .records = records };
  SkLocalFacts facts;
  gint64 row = sk_index_node_ensure (self->index, change->folder, change->path, error);

  if (row == 0)
    return FALSE;
  node = sk_index_node_by_row (self->index, row, error);
  if (node == NULL)
    return FALSE;
  if (node->generation != change->generation)
    {
      *outcome = SK_TREE_STALE;
      return TRUE;
    }
  l.node = node;
  /* The disk shows what it made of the time that was set (vfat keeps two seconds): that is still the time which the vault has. */
  if (change->kind != SK_KIND_NONE && change->kind == node->base.kind && change->disk.stat_mtime == node->base.stat_mtime)
    as_kept.disk.mtime = node->base.mtime;
  return gather_facts (&l, &facts, error) && carry_out (&l, &facts, outcome, error);
}

gboolean
sk_tree_revive (SkTree *self, gint64 node, gint64 version, const SkId *log_writer, guint64 log_seq, gint64 wall, GPtrArray *records,
                GError **error)
{
  g_autoptr(SkVersion) old = sk_index_version (self->index, version, error);
  g_autoptr(SkVector) joined = NULL;
  g_autoptr(SkEntry) entry = NULL;
  gint64 row;

  if (old == NULL || !sk_tree_load_chunks (self, old, error))
    return FALSE;
  joined = sk_tree_join_maximal (self, node, error);
  if (joined == NULL)
    return FALSE;
  entry = sk_entry_copy (old->entry);
  g_free (entry->device_name);
  entry->device_name = g_strdup (self->device_name);
  entry->writer = entry->meta_writer = self->writer;
  entry->wall = wall;
  entry->flags = 0;
  entry->lamport = entry->meta_lamport = ++self->lamport;
  sk_vector_unref (entry->vector);
  entry->vector = sk_vector_with (joined, &self->writer, ++self->counter);
  sk_entry_seal_content (entry);
  if (!sk_entry_check (entry, error) || !sk_tree_note_mode (self, node, entry, error)
      || !sk_tree_insert (self, node, entry, FALSE, 0, log_writer, log_seq, &row, error))
    return FALSE;
  g_ptr_array_add (records, sk_record_new_entry (g_steal_pointer (&entry)));
  return sk_tree_recompute (self, node, error);
}
