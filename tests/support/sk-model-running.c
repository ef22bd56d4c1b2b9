/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sequence on three engines that run: at least 40 operations, three spells offline, two kills, one lost database. A person acts while each
 * engine is wherever it is. In the end all of them come to rest by themselves; what syncs that are asked for find afterwards is nothing. */
#include "sk-model-private.h"

#include <glib/gstdio.h>
#include <string.h>

#define OPERATIONS_MIN 40u
#define SPELLS 3u
#define KILLS 2u
#define FILES_AT_FIRST 10u
/* Longer than a file settles (2 s), of the engine's time. */
#define QUIET_US (3 * G_USEC_PER_SEC)
#define REST_S 90                /* until all is at rest, at most */
#define LOOK_US (20 * 1000)

typedef struct
{
  guint begins, ends;            /* in operations */
  guint device;
  gboolean storage;              /* it is out of reach for all; else the engine of the device is closed */
} Spell;

typedef struct
{
  guint operations;
  Spell spells[SPELLS];
  guint lose_at, lose_device;
  guint kills_at[KILLS];
  guint speed;
  int doomed;                    /* the device that is to die next, or -1 */
  gboolean no_storage;
  gboolean away[SK_MODEL_DEVICES];
} Plan;

static const char *const stages[] = { "scan", "ingest", "put", "log-commit", "head", "fetch", "write", "rename", "listed" };
static const guint speeds[] = { 4, 8, 20 };

static guint
up_to (SkModel *self, guint n)
{
  return (guint) g_rand_int_range (self->rand, 0, (gint32) n);
}

static void
make_plan (SkModel *self, Plan *plan)
{
  const guint part = OPERATIONS_MIN / SPELLS;

  *plan = (Plan) { .operations = OPERATIONS_MIN + up_to (self, 9), .doomed = -1, .speed = speeds[up_to (self, G_N_ELEMENTS (speeds))] };
  for (guint i = 0; i < SPELLS; i++)
    {
      Spell *spell = &plan->spells[i];

      spell->begins = 1 + part * i + up_to (self, 4);
      spell->ends = spell->begins + 3 + up_to (self, part - 7);
      spell->device = up_to (self, SK_MODEL_DEVICES);
      spell->storage = up_to (self, 3) == 0;
    }
  for (guint i = 0; i < KILLS; i++)
    plan->kills_at[i] = 4 + plan->operations / KILLS * i + up_to (self, plan->operations / KILLS - 6);
  plan->lose_at = plan->operations / 4 + up_to (self, plan->operations / 2);
  plan->lose_device = up_to (self, SK_MODEL_DEVICES);
}

static void
move_storage (SkModel *self, Plan *plan, gboolean away)
{
  g_autofree char *aside = g_strconcat (self->storage, ".away", NULL);

  if (plan->no_storage == away)
    return;
  g_assert_cmpint (away ? g_rename (self->storage, aside) : g_rename (aside, self->storage), ==, 0);
  plan->no_storage = away;
  sk_model_trace (self, "the storage is %s", away ? "away" : "back");
}

/* A device that was killed, or was away, is started again. */
static void
start (SkModel *self, Plan *plan, guint i)
{
  if (!plan->away[i] && !sk_model_engine_runs (self, i))
    sk_model_engine_start (self, i, plan->speed);
}

/* --- what befalls the devices --- */

static void
begin_and_end_spells (SkModel *self, Plan *plan, guint operation)
{
  for (guint k = 0; k < SPELLS; k++)
    {
      const Spell *spell = &plan->spells[k];

      self->acting = spell->device;
      if (spell->begins == operation)
        {
          self->counts->spells++;
          if (spell->storage)
            move_storage (self, plan, TRUE);
          else
            {
              sk_model_trace (self, "is closed");
              sk_model_engine_stop (self, spell->device);
              plan->away[spell->device] = TRUE;
            }
        }
      else if (spell->ends == operation && spell->storage)
        move_storage (self, plan, FALSE);
      else if (spell->ends == operation)
        {
          sk_model_trace (self, "runs again");
          plan->away[spell->device] = FALSE;
          start (self, plan, spell->device);
        }
    }
}

/* Who was to die and did not come to his stage dies now. */
static void
end_doom (SkModel *self, Plan *plan)
{
  if (plan->doomed < 0)
    return;
  self->acting = (guint) plan->doomed;
  sk_model_trace (self, sk_model_engine_runs (self, self->acting) ? "is killed" : "was killed at its stage");
  sk_model_engine_kill (self, self->acting);
  self->counts->kills++;
  start (self, plan, self->acting);
  plan->doomed = -1;
}

static void
choose_doomed (SkModel *self, Plan *plan)
{
  guint i = up_to (self, SK_MODEL_DEVICES), n = 1 + up_to (self, 6);
  const char *stage = stages[up_to (self, G_N_ELEMENTS (stages))];

  end_doom (self, plan);
  while (plan->away[i])
    i = (i + 1) % SK_MODEL_DEVICES;
  self->acting = i;
  sk_model_trace (self, "is to be killed at %s %u", stage, n);
  sk_model_engine_doom (self, i, stage, n);
  plan->doomed = (int) i;
}

static void
lose_one (SkModel *self, Plan *plan)
{
  const guint i = plan->lose_device;

  if (plan->doomed == (int) i)
    end_doom (self, plan);
  if (up_to (self, 2) == 0)
    sk_model_engine_stop (self, i);
  else
    sk_model_engine_kill (self, i);
  sk_model_lose_state (self, i);
  start (self, plan, i);
}

/* --- what the person does --- */

static void
act (SkModel *self, guint i)
{
  sk_model_engine_freeze (self, i);
  sk_model_act (self, i);
  sk_model_engine_thaw (self, i);
}

static void
act_somewhere (SkModel *self)
{
  guint a, b;
  g_autofree char *path = NULL;

  if (up_to (self, 5) > 0)
    {
      act (self, up_to (self, SK_MODEL_DEVICES));
      return;
    }
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    sk_model_engine_freeze (self, i);
  path = sk_model_pick_common (self, &a, &b);
  self->forced = path;
  sk_model_act (self, a);
  self->forced = path;
  if (path != NULL)
    sk_model_act (self, b);
  self->forced = NULL;
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    sk_model_engine_thaw (self, i);
}

/* What stands on device @i has to be found from now on: the engine has been quiet for longer than a file settles. */
static void
take_note (SkModel *self, guint i)
{
  SkModelState state;
  g_autoptr(GHashTable) there = NULL;
  GHashTableIter iter;
  gpointer key;

  if (!sk_model_engine_state (self, i, &state))
    return;
  if (state.quiet_us >= QUIET_US && *state.said == '\0')
    {
      sk_model_engine_freeze (self, i);
      there = sk_model_collect (self, i, FALSE);
      sk_model_engine_thaw (self, i);
      g_hash_table_iter_init (&iter, there);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        ((SkModelContent *) g_hash_table_lookup (self->contents, key))->taken = TRUE;
      self->acting = i;
      sk_model_trace (self, "is quiet");
    }
  sk_model_state_clear (&state);
}

static void
one_step (SkModel *self, Plan *plan, guint operation)
{
  /* A person's pace: in bursts, and with time for a pass in between. */
  static const guint pace_ms[] = { 0, 0, 0, 1, 5, 20, 60, 150, 400 };

  begin_and_end_spells (self, plan, operation);
  for (guint k = 0; k < KILLS; k++)
    if (plan->kills_at[k] == operation)
      choose_doomed (self, plan);
  if (plan->doomed >= 0 && (!sk_model_engine_runs (self, (guint) plan->doomed) || up_to (self, 8) == 0))
    end_doom (self, plan);
  if (operation == plan->lose_at)
    lose_one (self, plan);
  act_somewhere (self);
  if (up_to (self, 6) == 0)
    {
      sk_model_engine_sync (self, up_to (self, SK_MODEL_DEVICES));
      self->counts->syncs++;
    }
  g_usleep (pace_ms[up_to (self, G_N_ELEMENTS (pace_ms))] * 1000);
  if (up_to (self, 4) == 0)
    take_note (self, up_to (self, SK_MODEL_DEVICES));
}

/* --- coming to rest --- */

/* NULL when all have done everything, or what is still to be done. */
static char *
why_not_at_rest (SkModel *self)
{
  SkModelState states[SK_MODEL_DEVICES] = { 0 };
  g_autofree char *first = NULL;
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    {
      g_autofree char *listing = NULL;

      if (!sk_model_engine_state (self, i, &states[i]))
        {
          g_string_append_printf (text, "device %u does not run; ", i);
          continue;
        }
      listing = sk_model_listing (self, i);
      if (states[i].quiet_us < QUIET_US || states[i].dirty > 0)
        g_string_append_printf (text, "device %u was quiet for %.1f s, %" G_GINT64_FORMAT " are not as they should be; ", i,
                                (double) states[i].quiet_us / G_USEC_PER_SEC, states[i].dirty);
      if (*states[i].said != '\0')
        g_string_append_printf (text, "device %u: %s", i, states[i].said);
      if (i > 0 && g_strcmp0 (states[i].coverage, states[0].coverage) != 0)
        g_string_append_printf (text, "device 0 has merged %s, device %u %s; ", states[0].coverage, i, states[i].coverage);
      if (i > 0 && g_strcmp0 (first, listing) != 0)
        g_string_append_printf (text, "the trees of devices 0 and %u differ; ", i);
      if (i == 0)
        first = g_steal_pointer (&listing);
    }
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    sk_model_state_clear (&states[i]);
  if (text->len > 0)
    return g_string_free (text, FALSE);
  g_string_free (text, TRUE);
  return NULL;
}

static void
wait_for_rest (SkModel *self)
{
  const gint64 until = g_get_monotonic_time () + (gint64) REST_S * G_USEC_PER_SEC;
  g_autofree char *why = NULL;

  while ((why = why_not_at_rest (self)) != NULL && !sk_model_failed (self))
    {
      if (g_get_monotonic_time () > until)
        sk_model_fail (self, "the engines did not come to rest within %d s: %s", REST_S, why);
      g_free (why);
      g_usleep (LOOK_US);
    }
}

/* The sums the engines keep are those of the trees. */
static void
check_counters (SkModel *self)
{
  for (guint i = 0; i < SK_MODEL_DEVICES && !sk_model_failed (self); i++)
    {
      g_autoptr(GPtrArray) items = sk_model_list (self->roots[i]);
      gint64 files = 0, dirs = 0, links = 0;
      SkModelState state;

      for (guint k = 0; k < items->len; k++)
        {
          const char kind = ((SkModelItem *) items->pdata[k])->kind;

          files += kind == 'f';
          dirs += kind == 'd';
          links += kind == 'l';
        }
      if (!sk_model_engine_state (self, i, &state))
        sk_model_fail (self, "the engine of device %u ended", i);
      else if (state.files != files || state.dirs != dirs || state.links != links)
        sk_model_fail (self, "device %u counts %" G_GINT64_FORMAT " files, %" G_GINT64_FORMAT " directories, %" G_GINT64_FORMAT " links and has %"
                       G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT, i, state.files, state.dirs, state.links, files, dirs, links);
      sk_model_state_clear (&state);
    }
}

static void
end_running (SkModel *self, Plan *plan)
{
  g_autofree char *before = NULL, *after = NULL;

  self->operation++;
  end_doom (self, plan);
  move_storage (self, plan, FALSE);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    {
      plan->away[i] = FALSE;
      start (self, plan, i);
    }
  wait_for_rest (self);
  if (!sk_model_failed (self))
    check_counters (self);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    sk_model_engine_stop (self, i);
  if (sk_model_failed (self))
    return;
  before = sk_model_listing (self, 0);
  sk_model_end (self);
  after = sk_model_listing (self, 0);
  if (!g_str_equal (before, after))
    sk_model_fail (self, "a sync that was asked for found what the engines had not:\n%s\nbecame\n%s", before, after);
}

/* What a person neither overwrote nor removed is in a tree, also when no engine had the time to be quiet about it. */
static void
take_note_of_all (SkModel *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->contents);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    ((SkModelContent *) value)->taken |= !((SkModelContent *) value)->let_go;
}

static void
run (SkModel *self)
{
  Plan plan;

  if (!sk_model_make_devices (self))
    return;
  make_plan (self, &plan);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    start (self, &plan, i);
  sk_model_engine_freeze (self, 0);
  sk_model_begin (self, FILES_AT_FIRST);
  sk_model_engine_thaw (self, 0);
  wait_for_rest (self);
  for (guint operation = 0; operation < plan.operations && !sk_model_failed (self); operation++)
    one_step (self, &plan, operation);
  take_note_of_all (self);
  if (!sk_model_failed (self))
    end_running (self, &plan);
  for (guint i = 0; i < SK_MODEL_DEVICES; i++)
    sk_model_engine_kill (self, i);
}

char *
sk_model_run_running (guint64 seed, SkModelCounts *counts)
{
  return sk_model_run_with (seed, counts, run);
}
