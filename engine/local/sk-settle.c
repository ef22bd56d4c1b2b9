/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A path is due when it was quiet for a while. Two things bend that rule: patience (what is never quiet is tried once a
 * minute all the same, since reading refuses torn content by itself) and pace (what was found changed, and large files that
 * change again and again, are tried less and less often). A database's companions move together with it, so that the two are
 * looked at in one pass. */
#include "sk-settle.h"

#include <string.h>

#define QUIET_SMALL (300 * G_TIME_SPAN_MILLISECOND)
#define QUIET_LARGE (1 * G_TIME_SPAN_SECOND)
#define QUIET_WRITING (2 * G_TIME_SPAN_SECOND)
#define PATIENCE (60 * G_TIME_SPAN_SECOND)
#define PACE_MAX (60 * G_TIME_SPAN_SECOND)
#define LEVEL_MAX 6u
/* Reading up to this many bytes again costs nothing worth saving. */
#define SMALL_SIZE (G_GUINT64_CONSTANT (1) << 20)
/* Remembered takes are looked through for old ones when there are this many more than after the last time. */
#define SWEEP_STEP 1024u

typedef struct
{
  char *path;
  gint64 due;
  gint64 first, last;      /* notes since it was taken */
  gint64 not_before;
  guint64 size;
  guint level;
  gboolean writing;
  gboolean companion;      /* "-wal" and the like */
} Item;

/* What was taken lately and may need a slower pace. */
typedef struct { gint64 at; guint level; } Taken;

struct _SkSettle
{
  GHashTable *items;       /* path (owned by the Item) -> GSequenceIter */
  GSequence *by_due;       /* Item, owned */
  GHashTable *taken;       /* path -> Taken */
  guint sweep_at;
  guint n_companions;
};

static const char *const companion_endings[] = { "-wal", "-shm", "-journal" };

static void
item_free (gpointer data)
{
  Item *item = data;

  g_free (item->path);
  g_free (item);
}

SkSettle *
sk_settle_new (void)
{
  SkSettle *self = g_new0 (SkSettle, 1);

  self->items = g_hash_table_new (g_str_hash, g_str_equal);
  self->by_due = g_sequence_new (item_free);
  self->taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->sweep_at = SWEEP_STEP;
  return self;
}

void
sk_settle_free (SkSettle *self)
{
  if (self == NULL)
    return;
  g_hash_table_destroy (self->items);
  g_sequence_free (self->by_due);
  g_hash_table_destroy (self->taken);
  g_free (self);
}

static int
compare_due (gconstpointer a, gconstpointer b, gpointer data)
{
  const Item *x = a, *y = b;

  return (x->due > y->due) - (x->due < y->due);
}

static gint64
pace (guint level)
{
  return level == 0 ? 0 : MIN (PACE_MAX, G_TIME_SPAN_SECOND << level);
}

static gsize
companion_stem (const char *path)
{
  gsize len = strlen (path);

  for (guint i = 0; i < G_N_ELEMENTS (companion_endings); i++)
    if (g_str_has_suffix (path, companion_endings[i]))
      return len - strlen (companion_endings[i]);
  return 0;
}

static void
place (SkSettle *self, GSequenceIter *iter)
{
  Item *item = g_sequence_get (iter);
  gint64 quiet = item->writing ? QUIET_WRITING : item->size <= SMALL_SIZE ? QUIET_SMALL : QUIET_LARGE;

  item->due = MAX (MIN (item->last + quiet, item->first + PATIENCE), item->not_before);
  g_sequence_sort_changed (iter, compare_due, NULL);
}

/* A database and its companions wait for the one of them that has to wait longest. */
static void
level_companions (SkSettle *self, const Item *item)
{
  gsize stem = item->companion ? companion_stem (item->path) : strlen (item->path);
  GSequenceIter *members[G_N_ELEMENTS (companion_endings) + 1];
  gint64 due = item->due;
  guint n = 0;

  if (self->n_companions == 0)
    return;
  for (guint i = 0; i <= G_N_ELEMENTS (companion_endings); i++)
    {
      const char *ending = i < G_N_ELEMENTS (companion_endings) ? companion_endings[i] : "";
      g_autofree char *path = g_strdup_printf ("%.*s%s", (int) stem, item->path, ending);
      GSequenceIter *iter = g_hash_table_lookup (self->items, path);

      if (iter == NULL)
        continue;
      members[n++] = iter;
      due = MAX (due, ((Item *) g_sequence_get (iter))->due);
    }
  for (guint i = 0; i < n; i++)
    {
      ((Item *) g_sequence_get (members[i]))->due = due;
      g_sequence_sort_changed (members[i], compare_due, NULL);
    }
}

/* Of what was taken lately: how slowly it goes from here. */
static void
take_up_pace (SkSettle *self, Item *item, gint64 now)
{
  const Taken *taken = g_hash_table_lookup (self->taken, item->path);

  if (taken == NULL)
    return;
  if (now - taken->at <= MAX (2 * pace (taken->level), 10 * G_TIME_SPAN_SECOND))
    {
      item->level = MIN (LEVEL_MAX, taken->level + (item->size > SMALL_SIZE ? 1 : 0));
      item->not_before = taken->at + pace (item->level);
    }
  g_hash_table_remove (self->taken, item->path);
}

static GSequenceIter *
find_or_add (SkSettle *self, const char *path, guint64 size, gint64 now)
{
  GSequenceIter *iter = g_hash_table_lookup (self->items, path);
  Item *item;

  if (iter != NULL)
    {
      item = g_sequence_get (iter);
      item->size = MAX (item->size, size);
      return iter;
    }
  item = g_new0 (Item, 1);
  item->path = g_strdup (path);
  item->first = now;
  item->size = size;
  item->companion = companion_stem (path) > 0;
  self->n_companions += item->companion ? 1 : 0;
  take_up_pace (self, item, now);
  iter = g_sequence_append (self->by_due, item);
  g_hash_table_insert (self->items, item->path, iter);
  return iter;
}

void
sk_settle_note (SkSettle *self, const char *path, gboolean writing, guint64 size_hint, gint64 now)
{
  GSequenceIter *iter = find_or_add (self, path, size_hint, now);
  Item *item = g_sequence_get (iter);

  item->writing = writing;
  item->last = now;
  place (self, iter);
  level_companions (self, item);
}

void
sk_settle_again (SkSettle *self, const char *path, gint64 now)
{
  const Taken *taken = g_hash_table_lookup (self->taken, path);
  guint level = taken != NULL ? taken->level : 0;
  GSequenceIter *iter;
  Item *item;

  g_hash_table_remove (self->taken, path);
  iter = find_or_add (self, path, 0, now);
  item = g_sequence_get (iter);
  item->level = MIN (LEVEL_MAX, MAX (item->level, level) + 1);
  item->not_before = now + pace (item->level);
  item->last = MAX (item->last, now);
  place (self, iter);
}

static gboolean
is_forgotten (gpointer path, gpointer data, gpointer now)
{
  const Taken *taken = data;

  return *(const gint64 *) now - taken->at > 2 * PACE_MAX;
}

static void
remember (SkSettle *self, Item *item, gint64 now)
{
  Taken *taken = g_new (Taken, 1);
  gboolean restless = now < item->last + QUIET_SMALL;

  taken->at = now;
  taken->level = MIN (LEVEL_MAX, item->level + (restless ? 1 : 0));
  g_hash_table_replace (self->taken, g_strdup (item->path), taken);
  if (g_hash_table_size (self->taken) >= self->sweep_at)
    {
      g_hash_table_foreach_remove (self->taken, is_forgotten, &now);
      self->sweep_at = g_hash_table_size (self->taken) + SWEEP_STEP;
    }
}

GPtrArray *
sk_settle_due (SkSettle *self, gint64 now)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);

  for (;;)
    {
      GSequenceIter *iter = g_sequence_get_begin_iter (self->by_due);
      Item *item;

      if (g_sequence_iter_is_end (iter))
        return paths;
      item = g_sequence_get (iter);
      if (item->due > now)
        return paths;
      g_ptr_array_add (paths, g_strdup (item->path));
      if (item->level > 0 || item->size > SMALL_SIZE || now < item->last + QUIET_SMALL)
        remember (self, item, now);
      self->n_companions -= item->companion ? 1 : 0;
      g_hash_table_remove (self->items, item->path);
      g_sequence_remove (iter);
    }
}

gint64
sk_settle_next (SkSettle *self)
{
  GSequenceIter *iter = g_sequence_get_begin_iter (self->by_due);

  return g_sequence_iter_is_end (iter) ? G_MAXINT64 : ((Item *) g_sequence_get (iter))->due;
}

guint
sk_settle_count (SkSettle *self)
{
  return (guint) g_hash_table_size (self->items);
}
