/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding contents and chunks by their hash.
 *
 * Hashes are random, so with an ordinary index every new row changes another page: a first index of a million small files wrote
 * 17 GB to the disk that way, and 1.5 GB with what is done here: the newest rows are known in memory only, and go into the index
 * on disk a batch at a time, sorted, so that a page is written once for many of them. Rows are numbered in the order in which they
 * were made, and the table itself is written front to back: what is not in the index yet is its tail, which is read again after a
 * start or a rollback.
 *
 * Both know 64 bits of a hash; the row decides. Every query is for equality, so no order is needed.
 *
 * What is new is asked for several times before it is added, and each time a page of the index would be read to find nothing: a filter
 * (Bloom, 1970) answers most of these questions. It is made when enough of them were asked, so that a short command does not pay for it. */
#include "sk-index-private.h"

#include <string.h>

#define BATCH 65536u
#define SLOTS_MIN 1024u       /* of the table in memory: a power of two, never more than half full, so 2 MiB for a batch */

#define FILTER_BITS_PER_KEY 16u          /* two of them are set: 1 to 2 % of the answers are in vain */
#define FILTER_BITS_MIN (1u << 22)
#define FILTER_BITS_MAX (1u << 26)       /* 8 MiB; of more keys it still answers for many */
#define FILTER_MISSES 8192u              /* questions in vain before it is made */

typedef struct { guint64 key; gint64 row; } Slot;    /* row 0: free */

struct _SkHashIndex
{
  SkSql find, merge, tail, last, all;
  const char *setting;    /* the last row that is in the index on disk */
  gboolean loaded;
  gint64 merged;
  Slot *slots;
  guint n_slots, used;
  guint64 *filter;        /* of the keys on disk, and after a rollback or a removal of some that are not; NULL: not made */
  guint64 filter_bits;    /* a power of two */
  guint64 filtered;       /* keys in it */
  guint misses;
};

SkHashIndex *
sk_hash_index_new (SkSql find, SkSql merge, SkSql tail, SkSql last, SkSql all, const char *setting)
{
  SkHashIndex *self = g_new0 (SkHashIndex, 1);

  self->find = find;
  self->merge = merge;
  self->tail = tail;
  self->last = last;
  self->all = all;
  self->setting = setting;
  return self;
}

void
sk_hash_index_free (SkHashIndex *self)
{
  if (self == NULL)
    return;
  g_free (self->slots);
  g_free (self->filter);
  g_free (self);
}

void
sk_hash_index_forget (SkHashIndex *self)
{
  g_clear_pointer (&self->slots, g_free);
  self->n_slots = self->used = 0;
  self->loaded = FALSE;
}

static guint64
key_of (const guint8 *hash)
{
  guint64 words[4];

  memcpy (words, hash, sizeof words);
  return GUINT64_FROM_LE (words[0] ^ words[1] ^ words[2] ^ words[3]);
}

void
sk_hash_key_sql (sqlite3_context *context, int n, sqlite3_value **values)
{
  const guint8 *hash = sqlite3_value_blob (values[0]);

  if (hash != NULL && sqlite3_value_bytes (values[0]) == (int) sizeof (SkHash))
    sqlite3_result_int64 (context, (gint64) key_of (hash));
  else
    sqlite3_result_null (context);
}

/* --- the table in memory --- */

static guint
first_slot (const SkHashIndex *self, guint64 key)
{
  /* Ids from a hostile log need not be random. */
  key ^= key >> 32;
  key *= G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (guint) (key >> 40) & (self->n_slots - 1);
}

static void
place (SkHashIndex *self, Slot slot)
{
  guint at = first_slot (self, slot.key);

  while (self->slots[at].row != 0)
    at = (at + 1) & (self->n_slots - 1);
  self->slots[at] = slot;
}

static void
put (SkHashIndex *self, guint64 key, gint64 row)
{
  if (2 * (self->used + 1) > self->n_slots)
    {
      g_autofree Slot *old = self->slots;
      guint n = self->n_slots;

      self->n_slots = MAX (2 * n, SLOTS_MIN);
      self->slots = g_new0 (Slot, self->n_slots);
      for (guint i = 0; i < n; i++)
        if (old[i].row != 0)
          place (self, old[i]);
    }
  place (self, (Slot) { key, row });
  self->used++;
}

/* --- the filter --- */

static gboolean
filter_take (SkHashIndex *self, guint64 key, gboolean add)
{
  guint64 mixed = (key ^ key >> 32) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  const guint64 at[2] = { mixed & (self->filter_bits - 1), mixed >> 32 & (self->filter_bits - 1) };
  gboolean was = TRUE;

  for (guint i = 0; i < G_N_ELEMENTS (at); i++)
    {
      guint64 *word = &self->filter[at[i] / 64], bit = G_GUINT64_CONSTANT (1) << at[i] % 64;

      was = was && (*word & bit) != 0;
      if (add)
        *word |= bit;
    }
  return was;
}

static void
filter_drop (SkHashIndex *self)
{
  g_clear_pointer (&self->filter, g_free);
  self->filtered = 0;
}

static gboolean
filter_make (SkIndex *index, SkHashIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, self->all, error);
  guint64 wanted = (guint64) self->merged * 2 * FILTER_BITS_PER_KEY;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  self->filter_bits = FILTER_BITS_MIN;
  while (self->filter_bits < MIN (wanted, FILTER_BITS_MAX))
    self->filter_bits *= 2;
  self->filter = g_new0 (guint64, self->filter_bits / 64);
  while ((step = sk_step (index, statement, error)) == SK_STEP_ROW)
    {
      filter_take (self, (guint64) sk_col_int (statement, 0), TRUE);
      self->filtered++;
    }
  if (step == SK_STEP_DONE)
    return TRUE;
  filter_drop (self);
  return FALSE;
}

/* The newest rows go to the disk. A filter that has become too small is made again when it is missed. */
static void
filter_follow (SkHashIndex *self)
{
  for (guint i = 0; self->filter != NULL && i < self->n_slots; i++)
    if (self->slots[i].row != 0)
      filter_take (self, self->slots[i].key, TRUE);
  self->filtered += self->used;
  if (self->filter != NULL && self->filtered * FILTER_BITS_PER_KEY > self->filter_bits && self->filter_bits < FILTER_BITS_MAX)
    filter_drop (self);
}

/* --- disk --- */

static gboolean
merge (SkIndex *index, SkHashIndex *self, gint64 last, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, self->merge, error);

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, self->merged);
  sk_bind_int (statement, 2, last);
  if (!sk_run (index, statement, error) || !sk_index_set_u64 (index, self->setting, (guint64) last, error))
    return FALSE;
  filter_follow (self);
  self->merged = last;
  self->used = 0;
  memset (self->slots, 0, self->n_slots * sizeof *self->slots);
  return TRUE;
}

static gboolean
read_tail (SkIndex *index, SkHashIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = sk_sql (index, self->tail, error);
  gboolean damaged = FALSE;
  SkStep step;

  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, self->merged);
  while ((step = sk_step (index, statement, error)) == SK_STEP_ROW && self->used < BATCH && !damaged)
    {
      gint64 row = sk_col_int (statement, 0);
      SkHash hash;

      sk_col_hash (statement, 1, &hash, &damaged);
      damaged |= row <= 0;
      if (!damaged)
        put (self, key_of (hash.bytes), row);
    }
  /* A longer tail than a batch cannot come about. */
  return step == SK_STEP_DONE ? TRUE : step == SK_STEP_ROW ? sk_index_damaged (index, "the index of hashes is too far behind", error) : FALSE;
}

static gboolean
load (SkIndex *index, SkHashIndex *self, GError **error)
{
  guint64 merged;

  if (self->loaded)
    return TRUE;
  if (!sk_index_read_u64 (index, self->setting, 0, &merged, error))
    return FALSE;
  sk_hash_index_forget (self);
  self->merged = (gint64) MIN (merged, (guint64) G_MAXINT64);
  self->loaded = read_tail (index, self, error);
  return self->loaded;
}

/* --- use --- */

static gboolean
find_on_disk (SkIndex *index, SkHashIndex *self, guint64 key, GArray *rows, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gboolean found = FALSE;
  SkStep step;

  if (self->filter == NULL && self->misses >= FILTER_MISSES && !filter_make (index, self, error))
    return FALSE;
  if (self->filter != NULL && !filter_take (self, key, FALSE))
    return TRUE;
  statement = sk_sql (index, self->find, error);
  if (statement == NULL)
    return FALSE;
  sk_bind_int (statement, 1, (gint64) key);
  while ((step = sk_step (index, statement, error)) == SK_STEP_ROW)
    {
      gint64 row = sk_col_int (statement, 0);

      g_array_append_val (rows, row);
      found = TRUE;
    }
  if (!found && self->misses < FILTER_MISSES)
    self->misses++;
  return step == SK_STEP_DONE;
}

gboolean
sk_hash_index_find (SkIndex *index, SkHashIndex *self, const SkHash *hash, GArray *rows, GError **error)
{
  guint64 key = key_of (hash->bytes);

  g_array_set_size (rows, 0);
  if (!load (index, self, error))
    return FALSE;
  if (self->used > 0)
    for (guint at = first_slot (self, key); self->slots[at].row != 0; at = (at + 1) & (self->n_slots - 1))
      if (self->slots[at].key == key)
        g_array_append_val (rows, self->slots[at].row);
  return self->merged == 0 || find_on_disk (index, self, key, rows, error);
}

gboolean
sk_hash_index_add (SkIndex *index, SkHashIndex *self, const SkHash *hash, gint64 row, GError **error)
{
  if (!load (index, self, error))
    return FALSE;
  put (self, key_of (hash->bytes), row);
  return self->used < BATCH || merge (index, self, row, error);
}

gboolean
sk_hash_index_rewind (SkIndex *index, SkHashIndex *self, GError **error)
{
  g_autoptr(SkStatement) statement = NULL;
  gint64 last;

  if (!load (index, self, error))
    return FALSE;
  statement = sk_sql (index, self->last, error);
  if (statement == NULL || !sk_read_int (index, statement, 0, &last, error))
    return FALSE;
  if (last < self->merged && !sk_index_set_u64 (index, self->setting, (guint64) last, error))
    return FALSE;
  sk_hash_index_forget (self);
  return TRUE;
}
