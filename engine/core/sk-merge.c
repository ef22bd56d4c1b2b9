/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-merge.h"

#include <string.h>

static gboolean
is_live (SkKind kind)
{
  return kind == SK_KIND_FILE || kind == SK_KIND_DIR || kind == SK_KIND_SYMLINK;
}

/* A file or link: what becomes a conflict copy when it loses its name. */
static gboolean
has_content (const SkEntry *entry)
{
  return entry->kind == SK_KIND_FILE || entry->kind == SK_KIND_SYMLINK;
}

static gboolean
at_most (const SkVector *a, const SkVector *b)
{
  SkOrder order = sk_vector_compare (a, b);

  return order == SK_ORDER_BEFORE || order == SK_ORDER_EQUAL;
}

static int
compare_vector_bytes (const SkVector *a, const SkVector *b)
{
  guint n = MIN (sk_vector_length (a), sk_vector_length (b));
  const SkVectorItem *x = sk_vector_items (a), *y = sk_vector_items (b);

  for (guint i = 0; i < n; i++)
    {
      int order = sk_id_compare (&x[i].writer, &y[i].writer);

      if (order != 0)
        return order;
      if (x[i].counter != y[i].counter)
        return x[i].counter > y[i].counter ? 1 : -1;
    }
  return (sk_vector_length (a) > n) - (sk_vector_length (b) > n);
}

/* The rank, carried on until only entries that say the same are equal: a forked writer (A5) can give two entries one
 * rank, and every device must still choose alike, in whatever order they came. */
static int
compare (const SkEntry *a, const SkEntry *b)
{
  int order = sk_entry_rank (a, b);

  if (order == 0)
    order = compare_vector_bytes (a->vector, b->vector);
  if (order == 0)
    order = sk_entry_meta_rank (a, b);
  if (order == 0)
    order = (a->wall > b->wall) - (a->wall < b->wall);
  if (order == 0)
    order = g_strcmp0 (a->device_name, b->device_name);
  return order != 0 ? order : (a->flags > b->flags) - (a->flags < b->flags);
}

void
sk_merge_maximal (SkEntry *const *entries, guint n, gboolean *maximal)
{
  for (guint i = 0; i < n; i++)
    {
      maximal[i] = TRUE;
      for (guint k = 0; k < n && maximal[i]; k++)
        {
          SkOrder order = k != i ? sk_vector_compare (entries[i]->vector, entries[k]->vector) : SK_ORDER_CONCURRENT;

          if (order == SK_ORDER_BEFORE)
            maximal[i] = FALSE;
          else if (order == SK_ORDER_EQUAL && sk_hash_equal (&entries[i]->content, &entries[k]->content))
            {
              int newer = sk_entry_meta_rank (entries[i], entries[k]);

              if (newer == 0)
                newer = compare (entries[i], entries[k]);
              maximal[i] = newer > 0 || (newer == 0 && i < k);
            }
        }
    }
}

/* --- visible state --- */

static int
compare_indices (gconstpointer a, gconstpointer b, gpointer data)
{
  SkEntry *const *entries = data;

  return -compare (entries[*(const guint *) a], entries[*(const guint *) b]);
}

/* All files and links of @entries, best first. Free with g_free (). */
static guint *
rank_contents (SkEntry *const *entries, guint n, guint *n_ranked)
{
  guint *order = g_new (guint, n);

  *n_ranked = 0;
  for (guint i = 0; i < n; i++)
    if (has_content (entries[i]))
      order[(*n_ranked)++] = i;
  if (*n_ranked > 1)
    g_qsort_with_data (order, (int) *n_ranked, sizeof *order, compare_indices, (gpointer) entries);
  return order;
}

static gboolean
seen_before (SkEntry *const *entries, const guint *order, guint at)
{
  for (guint i = 0; i < at; i++)
    if (sk_hash_equal (&entries[order[i]]->content, &entries[order[at]]->content))
      return TRUE;
  return FALSE;
}

/* The newest metadata stamp among entries that @test accepts. */
static void
resolve_metadata (SkEntry *const *entries, guint n, gboolean (*test) (const SkEntry *, const SkEntry *), const SkEntry *winner,
                  SkVisible *out)
{
  for (guint i = 0; i < n; i++)
    {
      int order;

      if (!test (entries[i], winner))
        continue;
      order = out->meta < 0 ? 1 : sk_entry_meta_rank (entries[i], entries[out->meta]);
      if (order > 0 || (order == 0 && compare (entries[i], entries[out->meta]) > 0))
        out->meta = (int) i;
    }
  if (out->meta < 0)
    return;
  out->mode = entries[out->meta]->mode;
  out->mtime = out->kind == SK_KIND_DIR ? 0 : entries[out->meta]->mtime;
}

static gboolean
same_content (const SkEntry *entry, const SkEntry *winner)
{
  return has_content (entry) && sk_hash_equal (&entry->content, &winner->content);
}

static gboolean
is_directory (const SkEntry *entry, const SkEntry *winner)
{
  return entry->kind == SK_KIND_DIR;
}

static gboolean
was_directory (const SkEntry *entry, const SkEntry *winner)
{
  return entry->kind == SK_KIND_TOMBSTONE && (entry->flags & SK_ENTRY_WAS_DIR) != 0;
}

static int
best_directory (SkEntry *const *entries, guint n)
{
  int best = -1;

  for (guint i = 0; i < n; i++)
    if (entries[i]->kind == SK_KIND_DIR && (best < 0 || compare (entries[i], entries[best]) > 0))
      best = (int) i;
  return best;
}

void
sk_merge_visible (SkEntry *const *maximal, guint n, gboolean has_live_children, SkVisible *out)
{
  guint n_ranked;
  g_autofree guint *order = rank_contents (maximal, n, &n_ranked);
  int directory = best_directory (maximal, n);

  *out = (SkVisible) { .kind = SK_KIND_NONE, .winner = -1, .meta = -1 };
  if (directory >= 0 || has_live_children)
    {
      out->kind = SK_KIND_DIR;
      out->winner = directory;
      out->mode = 0755;
      resolve_metadata (maximal, n, directory >= 0 ? is_directory : was_directory, NULL, out);
    }
  else if (n_ranked > 0)
    {
      out->winner = (int) order[0];
      out->kind = maximal[order[0]]->kind;
      resolve_metadata (maximal, n, same_content, maximal[order[0]], out);
    }

  for (guint i = out->kind == SK_KIND_DIR ? 0 : 1; i < n_ranked && out->n_losers < G_N_ELEMENTS (out->losers); i++)
    if (!seen_before (maximal, order, i))
      out->losers[out->n_losers++] = (int) order[i];
}

/* --- before a local change --- */

/* The disk showed what wins: then the person saw that and the copies side by side, and a change answers all of them. */
static gboolean
base_is_winner (SkEntry *const *maximal, const SkVisible *visible, const SkVector *base, SkKind base_kind,
                const SkHash *base_content)
{
  const SkEntry *winner = visible->winner >= 0 ? maximal[visible->winner] : NULL;

  if (visible->kind != base_kind || base == NULL)
    return FALSE;
  if (winner == NULL)    /* nothing, or an implied directory */
    return TRUE;
  if (!at_most (winner->vector, base))
    return FALSE;
  return !has_content (winner) || (base_content != NULL && sk_hash_equal (&winner->content, base_content));
}

/* TRUE when no version with the content of entry @at outlives a change with @vector. */
static gboolean
content_ends (SkEntry *const *maximal, guint n, guint at, const SkVector *vector)
{
  for (guint i = 0; i < n; i++)
    if (same_content (maximal[i], maximal[at]) && !at_most (maximal[i]->vector, vector))
      return FALSE;
  return TRUE;
}

SkVector *
sk_merge_build_on (SkEntry *const *maximal, guint n, const SkVisible *visible, const SkVector *base,
                   SkKind base_kind, const SkHash *base_content, const SkId *writer, guint64 counter,
                   gboolean *copies)
{
  guint n_ranked;
  g_autofree guint *order = rank_contents (maximal, n, &n_ranked);
  g_autoptr(SkVector) vector = base != NULL ? sk_vector_ref ((SkVector *) base) : sk_vector_empty ();
  g_autoptr(SkVector) change = NULL;
  gboolean answers_all = base_is_winner (maximal, visible, base, base_kind, base_content);

  for (guint i = 0; i < n; i++)
    if (answers_all || sk_id_equal (&maximal[i]->writer, writer))
      {
        g_autoptr(SkVector) narrow = g_steal_pointer (&vector);

        vector = sk_vector_join (narrow, maximal[i]->vector);
      }
  change = sk_vector_with (vector, writer, counter);

  memset (copies, 0, n * sizeof *copies);
  for (guint i = 0; i < n_ranked; i++)
    {
      const SkEntry *entry = maximal[order[i]];

      if (base_content != NULL && sk_hash_equal (&entry->content, base_content))
        continue;    /* what the person changed */
      if (!seen_before (maximal, order, i) && content_ends (maximal, n, order[i], change))
        copies[order[i]] = TRUE;
    }
  return g_steal_pointer (&vector);
}

/* --- decisions --- */

SkLocalVerdict
sk_merge_local (const SkLocalFacts *facts)
{
  gboolean target_lives = is_live (facts->target_kind);

  if (!is_live (facts->disk_kind))
    {
      if (!is_live (facts->base_kind))
        return SK_LOCAL_SAME;
      return target_lives ? SK_LOCAL_DELETE : SK_LOCAL_FORGET;
    }

  if (is_live (facts->base_kind) && facts->content_equals_base)
    return facts->meta_equals_base ? SK_LOCAL_STAT_ONLY : SK_LOCAL_META;
  if (target_lives && facts->content_equals_target)
    return SK_LOCAL_ADOPT;
  if (facts->written_here && facts->content_equals_known)
    return SK_LOCAL_ADOPT;
  if (facts->content_equals_later && (is_live (facts->base_kind) || target_lives))
    return SK_LOCAL_ADOPT;
  if (is_live (facts->base_kind) || facts->base_deleted)
    return SK_LOCAL_CONTENT;
  if (target_lives && facts->content_equals_known)
    return SK_LOCAL_ADOPT;
  return facts->first_contact ? SK_LOCAL_UNION : SK_LOCAL_CONTENT;
}

static SkApply
create (SkKind kind)
{
  switch (kind)
    {
    case SK_KIND_FILE:
      return SK_APPLY_WRITE;
    case SK_KIND_DIR:
      return SK_APPLY_MKDIR;
    case SK_KIND_SYMLINK:
      return SK_APPLY_SYMLINK;
    case SK_KIND_NONE:
    case SK_KIND_TOMBSTONE:
    default:
      return SK_APPLY_NOTHING;
    }
}

SkApply
sk_merge_apply (SkKind base_kind, SkKind target_kind, gboolean content_equal, gboolean meta_equal)
{
  if (!is_live (base_kind))
    return create (target_kind);
  if (!is_live (target_kind))
    return SK_APPLY_TRASH;
  if (base_kind != target_kind)
    return SK_APPLY_REPLACE_KIND;
  if (base_kind != SK_KIND_DIR && !content_equal)
    return create (target_kind);
  return meta_equal ? SK_APPLY_NOTHING : SK_APPLY_META;
}
