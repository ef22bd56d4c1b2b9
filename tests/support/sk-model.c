/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sequence: at least 40 operations on three devices, three spells offline, two kills, one lost database. */
#include "sk-model-private.h"

#include <glib/gstdio.h>
#include <stdio.h>

#define OPERATIONS_MIN 40u
#define SPELLS 3u
#define KILLS 2u
#define FILES_AT_FIRST 10u

typedef struct
{
  guint begins, length;          /* in operations */
  guint device;
  gboolean no_storage;           /* else it does not sync at all */
} Spell;

typedef struct
{
  guint operations;
  Spell spells[SPELLS];
  guint lose_at, lose_device;
  guint kills_left;
} Plan;

void
sk_model_trace (SkModel *self, const char *format, ...)
{
  va_list args;

  g_string_append_printf (self->trace, "#%u device %u: ", self->operation, self->acting);
  va_start (args, format);
  g_string_append_vprintf (self->trace, format, args);
  va_end (args);
  g_string_append_c (self->trace, '\n');
}

void
sk_model_fail (SkModel *self, const char *format, ...)
{
  va_list args;

  if (sk_model_failed (self))
    return;
  va_start (args, format);
  g_string_append_vprintf (self->problem, format, args);
  va_end (args);
}

gboolean
sk_model_failed (SkModel *self)
{
  return self->problem->len > 0;
}

static guint
up_to (SkModel *self, guint n)
{
  return (guint) g_rand_int_range (self->rand, 0, (gint32) n);
}

static void
make_plan (SkModel *self, Plan *plan)
{
  *plan = (Plan) { .operations = OPERATIONS_MIN + up_to (self, 9), .kills_left = KILLS };
  for (guint i = 0; i < SPELLS; i++)
    {
      Spell *spell = &plan->spells[i];

      spell->length = 5 + up_to (self, 7);
      spell->begins = (plan->operations - 12) * i / SPELLS + up_to (self, 6);
      spell->device = up_to (self, SK_MODEL_DEVICES);
      spell->no_storage = up_to (self, 3) == 0;
    }
  plan->lose_at = plan->operations / 4 + up_to (self, plan->operations / 2);
  plan->lose_device = up_to (self, SK_MODEL_DEVICES);
}

static const Spell *
spell_of (const Plan *plan, guint device, guint operation)
{
  for (guint i = 0; i < SPELLS; i++)
    if (plan->spells[i].device == device && operation >= plan->spells[i].begins
        && operation < plan->spells[i].begins + plan->spells[i].length)
      return &plan->spells[i];
  return NULL;
}

/* --- syncs --- */

static const char *const stages[] = { "scan", "ingest", "put", "log-commit", "head", "fetch", "write", "rename" };

static void
add_race (SkModel *self, guint i, SkModelSync *how, char **path, GBytes **bytes)
{
  const char *const at[] = { "log-commit", "head", "fetch", "write", "write", "write", "rename", "ingest" };
  g_autoptr(GPtrArray) items = sk_model_list (self->roots[i]);
  SkModelItem *item;

  if (items->len == 0)
    return;
  item = items->pdata[up_to (self, items->len)];
  if (item->kind != 'f')
    return;
  *path = g_strdup (item->path);
  *bytes = sk_model_bytes (self);
  how->race_path = *path;
  how->race_bytes = *bytes;
  how->race_in_place = up_to (self, 2) == 0;
  how->race_stage = at[up_to (self, G_N_ELEMENTS (at))];
  how->race_at = 1 + up_to (self, 4);
}

static void
sync_device (SkModel *self, Plan *plan, guint i, gboolean no_storage, gboolean may_kill)
{
  SkModelSync how = { .no_storage = no_storage };
  g_autofree char *path = NULL;
  g_autoptr(GBytes) bytes = NULL;
  SkModelSynced synced;

  if (may_kill)
    {
      how.kill_stage = stages[up_to (self, G_N_ELEMENTS (stages))];
      how.kill_at = 1 + up_to (self, 6);
    }
  else if (up_to (self, 3) == 0)
    add_race (self, i, &how, &path, &bytes);
  sk_model_checked_sync (self, i, &how, &synced);
  if (synced.killed)
    {
      self->counts->kills++;
      plan->kills_left--;
    }
  sk_model_synced_clear (&synced);
}

void
sk_model_lose_state (SkModel *self, guint i)
{
  const char *const names[] = { "index.sqlite", "index.sqlite-wal", "index.sqlite-shm" };

  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    {
      g_autofree char *path = g_build_filename (self->homes[i], names[k], NULL);

      g_remove (path);
    }
  self->acting = i;
  self->counts->lost++;
  sk_model_trace (self, "loses its database");
}

/* --- operations --- */

static gboolean
is_file (SkModel *self, guint i, const char *path)
{
  g_autofree char *full = g_build_filename (self->roots[i], path, NULL);

  return g_file_test (full, G_FILE_TEST_IS_REGULAR);
}

char *
sk_model_pick_common (SkModel *self, guint *a, guint *b)
{
  g_autoptr(GPtrArray) items = NULL;
  g_autofree char *path = NULL;

  *a = up_to (self, SK_MODEL_DEVICES);
  *b = (*a + 1 + up_to (self, SK_MODEL_DEVICES - 1)) % SK_MODEL_DEVICES;
  items = sk_model_list (self->roots[*a]);
  path = items->len > 0 ? g_strdup (((SkModelItem *) items->pdata[up_to (self, items->len)])->path) : NULL;
  return path != NULL && is_file (self, *a, path) && is_file (self, *b, path) ? g_steal_pointer (&path) : NULL;
}

static void
act_on_both_sides (SkModel *self)
{
  guint a, b;
  g_autofree char *path = sk_model_pick_common (self, &a, &b);

  if (path == NULL)
    {
      sk_model_act (self, a);
      return;
    }
  self->forced = path;
  sk_model_act (self, a);
  self->forced = path;
  sk_model_act (self, b);
  self->forced = NULL;
}

static void
one_step (SkModel *self, Plan *plan, guint operation)
{
  guint i;

  if (up_to (self, 5) == 0)
    act_on_both_sides (self);
  else
    sk_model_act (self, up_to (self, SK_MODEL_DEVICES));
  for (guint k = 0; k < SPELLS; k++)
    if (plan->spells[k].begins == operation)
      self->counts->spells++;
  if (operation == plan->lose_at)
    sk_model_lose_state (self, plan->lose_device);
  if (up_to (self, 100) < 40)
    {
      const Spell *spell;

      i = up_to (self, SK_MODEL_DEVICES);
      spell = spell_of (plan, i, operation);
      if (spell == NULL || spell->no_storage)
        sync_device (self, plan, i, spell != NULL, plan->kills_left > 0 && operation > 5 && up_to (self, 2) == 0);
    }
}

static void
run (SkModel *self)
{
  Plan plan;
  const SkModelSync plain = { NULL };
  guint tries = 0;

  if (!sk_model_make_devices (self))
    return;
  sk_model_begin (self, FILES_AT_FIRST);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    {
      SkModelSynced synced;

      sk_model_checked_sync (self, i, &plain, &synced);
      sk_model_synced_clear (&synced);
    }
  make_plan (self, &plan);
  for (guint operation = 0; operation < plan.operations && !sk_model_failed (self); operation++)
    one_step (self, &plan, operation);
  /* Kills that no sync came to yet. */
  for (; plan.kills_left > 0 && tries < 60 && !sk_model_failed (self); tries++)
    {
      guint i = up_to (self, SK_MODEL_DEVICES);

      if (tries % 3 == 0)
        sk_model_act (self, i);
      sync_device (self, &plan, i, FALSE, TRUE);
    }
  if (!sk_model_failed (self))
    sk_model_end (self);
}

static void
model_clear (SkModel *self)
{
  if (self->base != NULL && !(sk_model_failed (self) && g_getenv ("SK_TEST_KEEP") != NULL))
    sk_model_remove_tree (self->base);
  g_free (self->base);
  g_free (self->storage);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    {
      g_free (self->homes[i]);
      g_free (self->roots[i]);
    }
  g_rand_free (self->rand);
  g_hash_table_unref (self->contents);
  g_hash_table_unref (self->seen);
  g_hash_table_unref (self->last);
  g_hash_table_unref (self->removed);
  g_array_unref (self->clean_syncs);
  g_string_free (self->trace, TRUE);
  g_string_free (self->problem, TRUE);
}

char *
sk_model_run_with (guint64 seed, SkModelCounts *counts, void (*sequence) (SkModel *self))
{
  const guint32 words[] = { (guint32) seed, (guint32) (seed >> 32) };
  SkModel self = { .seed = seed, .counts = counts };
  char *problem = NULL;

  self.rand = g_rand_new_with_seed_array (words, G_N_ELEMENTS (words));
  self.contents = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) sk_model_content_free);
  self.seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self.last = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self.removed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self.clean_syncs = g_array_new (FALSE, FALSE, sizeof (SkModelCleanSync));
  self.trace = g_string_new (NULL);
  self.problem = g_string_new (NULL);
  sequence (&self);
  counts->sequences++;
  if (sk_model_failed (&self))
    problem = g_strdup_printf ("SK_MODEL_SEED=%" G_GUINT64_FORMAT " (%s): %s\n%s", seed, self.base != NULL ? self.base : "", self.problem->str,
                               self.trace->str);
  model_clear (&self);
  return problem;
}

char *
sk_model_run (guint64 seed, SkModelCounts *counts)
{
  return sk_model_run_with (seed, counts, run);
}
