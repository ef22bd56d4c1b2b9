/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must be so: around every sync on one disk, and in the end everywhere. */
#include "sk-model-private.h"

#include <string.h>

#define ROUNDS_MAX 12u

static void
describe (SkModel *self, guint i, const SkModelSync *how, const SkModelSynced *synced)
{
  GString *text = g_string_new ("sync");

  self->acting = i;
  if (how->no_storage)
    g_string_append (text, " without the storage");
  if (how->kill_stage != NULL)
    g_string_append_printf (text, synced->killed ? ", killed at %s %u" : ", not reached: %s %u", how->kill_stage, how->kill_at);
  if (synced->raced != NULL)
    g_string_append_printf (text, ", at %s %u %s written %s (%zu)", how->race_stage, how->race_at, how->race_path,
                            how->race_in_place ? "in place" : "anew", g_bytes_get_size (how->race_bytes));
  if (*synced->said != '\0')
    g_string_append_printf (text, "\n    %.300s", synced->said);
  sk_model_trace (self, "%s", text->str);
  g_string_free (text, TRUE);
}

void
sk_model_checked_sync (SkModel *self, guint i, const SkModelSync *how, SkModelSynced *out)
{
  g_autoptr(GHashTable) before = sk_model_collect (self, i, FALSE);
  g_autoptr(GHashTable) after = NULL;
  GHashTableIter iter;
  gpointer key;

  sk_model_sync (self, i, how, out);
  describe (self, i, how, out);
  self->moment++;
  if (out->clean)
    g_array_append_val (self->clean_syncs, ((SkModelCleanSync) { .device = i, .moment = self->moment }));
  if (out->raced != NULL)
    {
      SkModelContent *overwritten = g_hash_table_lookup (self->contents, out->raced);

      self->counts->races++;
      self->counts->operations++;
      sk_model_note_written (self, i, how->race_path);
      /* NULL: the engine had brought it there just before. */
      if (overwritten != NULL)
        overwritten->let_go = TRUE;
      g_hash_table_remove (before, out->raced);
    }
  after = sk_model_collect (self, i, TRUE);
  if (out->raced != NULL)
    {
      g_autofree char *written = sk_model_key (FALSE, g_bytes_get_data (how->race_bytes, NULL), g_bytes_get_size (how->race_bytes));

      if (!g_hash_table_contains (after, written))
        sk_model_fail (self, "what a person wrote at %s while device %u synced is neither there nor in the trash", how->race_path, i);
    }
  g_hash_table_iter_init (&iter, before);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      SkModelContent *content = g_hash_table_lookup (self->contents, key);

      if (!g_hash_table_contains (after, key))
        sk_model_fail (self, "a content that lay on device %u (first seen at %s) is after a sync neither there nor in the trash", i,
                       content->seen_at);
      content->taken |= out->clean;
    }
}

/* --- coming to rest --- */

static guint
count_objects (SkModel *self)
{
  g_autoptr(GPtrArray) all = sk_model_list (self->storage);

  return all->len;
}

static void
come_to_rest (SkModel *self)
{
  g_autofree char *last = NULL;

  for (guint round = 0; round < ROUNDS_MAX && !sk_model_failed (self); round++)
    {
      GString *state = g_string_new (NULL);
      gboolean same, clean = TRUE;

      for (guint i = 0; i < SK_MODEL_DEVICES; i++)
        {
          const SkModelSync plain = { NULL };
          SkModelSynced synced;

          sk_model_checked_sync (self, i, &plain, &synced);
          clean &= synced.clean;
          sk_model_synced_clear (&synced);
        }
      for (guint i = 0; i < SK_MODEL_DEVICES; i++)
        {
          g_autofree char *listing = sk_model_listing (self, i);

          g_string_append (state, listing);
        }
      g_string_append_printf (state, "%u", count_objects (self));
      same = g_strcmp0 (last, state->str) == 0;
      g_free (last);
      last = g_string_free (state, FALSE);
      if (same && !clean)
        sk_model_fail (self, "at rest, but something failed or wants a person");
      if (same)
        return;
    }
  sk_model_fail (self, "the devices did not come to rest within %u rounds", ROUNDS_MAX);
}

/* --- in the end --- */

/* The lines of @a that are not in @b. */
static void
append_difference (GString *text, guint device, const char *a, const char *b)
{
  g_auto(GStrv) lines = g_strsplit (a, "\n", -1), others = g_strsplit (b, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    if (!g_strv_contains ((const char *const *) others, lines[i]))
      g_string_append_printf (text, "  only on device %u: %s\n", device, lines[i]);
}

static void
check_equal (SkModel *self)
{
  g_autofree char *first = sk_model_listing (self, 0);

  for (guint i = 1; i < SK_MODEL_DEVICES; i++)
    {
      g_autofree char *other = sk_model_listing (self, i);
      GString *text;

      if (g_str_equal (first, other))
        continue;
      text = g_string_new (NULL);
      append_difference (text, 0, first, other);
      append_difference (text, i, other, first);
      sk_model_fail (self, "the trees differ:\n%s", text->str);
      g_string_free (text, TRUE);
      return;
    }
}

/* What @from did at @since came to @to before @until: a sync of @from, and after it one of @to. */
static gboolean
was_told (SkModel *self, guint from, guint since, guint to, guint until)
{
  gboolean told = FALSE;

  for (guint i = 0; i < self->clean_syncs->len; i++)
    {
      const SkModelCleanSync *sync = &g_array_index (self->clean_syncs, SkModelCleanSync, i);

      if (sync->moment >= until)
        return FALSE;
      if (told && sync->device == to)
        return TRUE;
      told |= sync->moment > since && sync->device == from;
    }
  return FALSE;
}

/* A directory that is made where another device had one, of which this one did not know, is that one (A6, A15): when that device removes or moves it,
 * not knowing of this one, it goes with it. There is nothing in it, or that would keep it. One that is made where a removal was known stays. */
static gboolean
goes_with_another (SkModel *self, const char *path, const SkModelLast *last)
{
  for (guint i = 0; last->key == NULL && i < SK_MODEL_DEVICES; i++)
    {
      g_autofree char *removed = g_strdup_printf ("%u %s", i, path);
      gpointer moment;

      if (i != last->device && g_hash_table_lookup_extended (self->removed, removed, NULL, &moment)
          && !was_told (self, i, GPOINTER_TO_UINT (moment), last->device, last->moment))
        return TRUE;
    }
  return FALSE;
}

/* What a person last wrote to a path, and nobody removed, is there, or its content has another name (it lost this one to a directory, or to a
 * deletion that was made elsewhere at the same time). */
static void
check_paths (SkModel *self)
{
  g_autoptr(GPtrArray) items = sk_model_list (self->roots[0]);
  g_autoptr(GHashTable) tree = sk_model_collect (self, 0, FALSE);
  g_autoptr(GHashTable) there = g_hash_table_new (g_str_hash, g_str_equal);
  GHashTableIter iter;
  gpointer path, value;

  for (guint i = 0; i < items->len; i++)
    {
      g_hash_table_add (there, ((SkModelItem *) items->pdata[i])->path);
      self->counts->conflicts += strstr (((SkModelItem *) items->pdata[i])->path, " (conflict, ") != NULL;
    }
  g_hash_table_iter_init (&iter, self->last);
  while (g_hash_table_iter_next (&iter, &path, &value))
    {
      const SkModelLast *last = value;
      const SkModelContent *content = last->key != NULL ? g_hash_table_lookup (self->contents, last->key) : NULL;

      if (last->written && !g_hash_table_contains (there, path) && !goes_with_another (self, path, last)
          && (content == NULL || (!content->let_go && !g_hash_table_contains (tree, content->key))))
        sk_model_fail (self, "%s is gone, although nobody removed it since operation %u", (char *) path, last->operation);
    }
}

static void
check_contents (SkModel *self)
{
  g_autoptr(GHashTable) trees = g_hash_table_new (g_str_hash, g_str_equal), kept = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr(GHashTable) missing = g_hash_table_new (g_str_hash, g_str_equal);
  guint n_missing;
  GHashTableIter iter;
  gpointer key, value;

  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    {
      g_autoptr(GHashTable) tree = sk_model_collect (self, i, FALSE), all = sk_model_collect (self, i, TRUE);

      g_hash_table_iter_init (&iter, tree);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        g_hash_table_add (trees, key);
      g_hash_table_iter_init (&iter, all);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        g_hash_table_add (kept, key);
    }
  g_hash_table_iter_init (&iter, self->contents);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      SkModelContent *content = value;

      if (!content->taken || g_bytes_get_size (content->data) == 0)
        continue;
      self->counts->contents++;
      if (!content->let_go && !g_hash_table_contains (trees, key))
        sk_model_fail (self, "a content (first seen at %s) is in no tree, although nobody overwrote or removed it", content->seen_at);
      if (!g_hash_table_contains (kept, key))
        g_hash_table_insert (missing, key, value);
    }
  n_missing = g_hash_table_size (missing);
  for (guint i = 0; i < SK_MODEL_DEVICES && g_hash_table_size (missing) > 0; i++)
    sk_model_find_versions (self, i, missing);
  self->counts->from_versions += n_missing - g_hash_table_size (missing);
  g_hash_table_iter_init (&iter, missing);
  while (g_hash_table_iter_next (&iter, &key, &value))
    sk_model_fail (self, "a content (first seen at %s) is in no tree, no trash and no version", ((SkModelContent *) value)->seen_at);
}

void
sk_model_end (SkModel *self)
{
  come_to_rest (self);
  if (sk_model_failed (self))
    return;
  check_equal (self);
  check_paths (self);
  check_contents (self);
  sk_model_check_tombstones (self);
}
