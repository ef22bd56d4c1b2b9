/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is a member: a pure function of the set of records. The rules and why they hold are in
 * FORMAT.md, "Membership". */
#include "sk-member-private.h"

#include "sk-limits.h"

#include <string.h>

typedef struct
{
  GPtrArray *records;      /* of the members, borrowed */
  GPtrArray *nodes;        /* SkIdentityNode, in order of rank */
  GHashTable *revocations; /* device id -> GPtrArray of SkMemberRecord that revoke it, those of the
                              recovery first */
  GHashTable *adds;        /* device id -> GPtrArray of SkMemberRecord that add it */
  guint visits;            /* numbers given while looking for a circle */
} Evaluation;

static guint
device_hash (gconstpointer key)
{
  guint32 v;

  memcpy (&v, key, sizeof v);
  return v;
}

static gboolean
device_equal (gconstpointer a, gconstpointer b)
{
  return sk_device_id_equal (a, b);
}

static gboolean
same_keys (const SkMemberRecord *a, const SkMemberRecord *b)
{
  return memcmp (&a->sign_key, &b->sign_key, sizeof a->sign_key) == 0
         && memcmp (&a->box_key, &b->box_key, sizeof a->box_key) == 0;
}

/* --- attacks --- */

static void
file_under (GHashTable *table, SkMemberRecord *record)
{
  GPtrArray *list = g_hash_table_lookup (table, &record->subject);

  if (list == NULL)
    {
      list = g_ptr_array_new ();
      g_hash_table_insert (table, &record->subject, list);
    }
  g_ptr_array_add (list, record);
}

static int
by_authority (gconstpointer a, gconstpointer b)
{
  return sk_member_compare_authority (*(SkMemberRecord *const *) a, *(SkMemberRecord *const *) b);
}

static gboolean
is_kept (const SkMemberRecord *revocation, const SkHash *hash)
{
  guint low = 0, high = revocation->kept->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      int order = sk_hash_compare (&g_array_index (revocation->kept, SkHash, middle), hash);

      if (order == 0)
        return TRUE;
      if (order < 0)
        low = middle + 1;
      else
        high = middle;
    }
  return FALSE;
}

/* TRUE when @record enrolled @node or one of its ancestors. */
static gboolean
is_ancestral (const SkIdentityNode *node, const SkMemberRecord *record)
{
  for (; node != NULL; node = node->origin->by)
    if (node->origin == record)
      return TRUE;
  return FALSE;
}

/* @revocation revokes the signer of @record. */
static gboolean
revocation_attacks (const SkMemberRecord *revocation, const SkMemberRecord *record)
{
  return revocation != record && !is_kept (revocation, &record->hash)
         && !is_ancestral (revocation->by, record);
}

typedef gboolean (*AttackerFunc) (SkMemberRecord *attacker, gpointer data);

/* Calls @func for each record that attacks @record until it returns TRUE; whether it did. */
static gboolean
for_each_attacker (Evaluation *self, const SkMemberRecord *record, AttackerFunc func, gpointer data)
{
  GPtrArray *list
      = record->by_recovery ? NULL : g_hash_table_lookup (self->revocations, &record->signer);

  for (guint i = 0; list != NULL && i < list->len; i++)
    {
      SkMemberRecord *attacker = g_ptr_array_index (list, i);

      if (revocation_attacks (attacker, record) && func (attacker, data))
        return TRUE;
    }
  list = record->type == SK_MEMBER_ADD ? g_hash_table_lookup (self->adds, &record->subject) : NULL;
  for (guint i = 0; list != NULL && i < list->len; i++)
    {
      SkMemberRecord *attacker = g_ptr_array_index (list, i);

      if (!same_keys (attacker, record) && sk_member_compare_adds (attacker, record) < 0
          && func (attacker, data))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_in (SkMemberRecord *attacker, gpointer data)
{
  return attacker->state == SK_MEMBER_IN;
}

static gboolean
is_not_out (SkMemberRecord *attacker, gpointer data)
{
  return attacker->state != SK_MEMBER_OUT;
}

/* --- states --- */

static SkMemberState
node_state (const SkIdentityNode *node)
{
  SkMemberState state = SK_MEMBER_OUT;

  for (guint i = 0; i < node->adds->len; i++)
    {
      const SkMemberRecord *add = g_ptr_array_index (node->adds, i);

      if (add->state == SK_MEMBER_IN)
        return SK_MEMBER_IN;
      if (add->state == SK_MEMBER_OPEN)
        state = SK_MEMBER_OPEN;
    }
  return state;
}

static SkMemberState
signer_state (const SkMemberRecord *record)
{
  return record->by_recovery ? SK_MEMBER_IN : node_state (record->by);
}

/* Applies the rule to all open records until nothing changes. */
static void
settle (Evaluation *self)
{
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < self->records->len; i++)
        {
          SkMemberRecord *record = g_ptr_array_index (self->records, i);
          SkMemberState signer;

          if (record->state != SK_MEMBER_OPEN)
            continue;
          signer = signer_state (record);
          if (signer == SK_MEMBER_OUT || for_each_attacker (self, record, is_in, NULL))
            record->state = SK_MEMBER_OUT;
          else if (signer == SK_MEMBER_IN && !for_each_attacker (self, record, is_not_out, NULL))
            record->state = SK_MEMBER_IN;
          changed |= record->state != SK_MEMBER_OPEN;
        }
    }
}

/* --- circles --- */

typedef struct
{
  SkMemberRecord *record;
  GPtrArray *needs; /* records whose state must be known first */
  guint next;
} Frame;

static gboolean
collect_open (SkMemberRecord *attacker, gpointer data)
{
  if (attacker->state == SK_MEMBER_OPEN)
    g_ptr_array_add (data, attacker);
  return FALSE;
}

static void
push_frame (Evaluation *self, GArray *frames, GPtrArray *path, SkMemberRecord *record)
{
  Frame frame = { .record = record, .needs = g_ptr_array_new () };

  for_each_attacker (self, record, collect_open, frame.needs);
  for (guint i = 0; !record->by_recovery && node_state (record->by) == SK_MEMBER_OPEN
                    && i < record->by->adds->len;
       i++)
    collect_open (g_ptr_array_index (record->by->adds, i), frame.needs);
  record->visit = record->low = ++self->visits;
  record->on_path = TRUE;
  g_ptr_array_add (path, record);
  g_array_append_val (frames, frame);
}

/* The first strongly connected component that Tarjan's algorithm completes from @start: open
 * records that all wait for each other and for nothing else. They are the end of @path, from the
 * returned place on. */
static guint
find_circle (Evaluation *self, SkMemberRecord *start, GPtrArray *path)
{
  g_autoptr(GArray) frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  guint place = 0;

  push_frame (self, frames, path, start);
  while (frames->len > 0)
    {
      Frame *frame = &g_array_index (frames, Frame, frames->len - 1);
      SkMemberRecord *record = frame->record;

      if (frame->next < frame->needs->len)
        {
          SkMemberRecord *need = g_ptr_array_index (frame->needs, frame->next++);

          if (need->visit == 0)
            push_frame (self, frames, path, need);
          else if (need->on_path)
            record->low = MIN (record->low, need->visit);
          continue;
        }
      if (record->low == record->visit)
        {
          for (place = path->len; g_ptr_array_index (path, place - 1) != record; place--)
            ;
          place--;
          break;
        }
      g_ptr_array_unref (frame->needs);
      g_array_set_size (frames, frames->len - 1);
      frame = &g_array_index (frames, Frame, frames->len - 1);
      frame->record->low = MIN (frame->record->low, record->low);
    }
  for (guint i = 0; i < frames->len; i++)
    g_ptr_array_unref (g_array_index (frames, Frame, i).needs);
  return place;
}

/* Finds open records that wait for each other. The revocation of least authority among them falls;
 * where there is none, they only hold each other up, and all fall. FALSE when nothing is open. */
static gboolean
cut_circle (Evaluation *self)
{
  g_autoptr(GPtrArray) path = g_ptr_array_new ();
  SkMemberRecord *start = NULL, *least = NULL;
  guint place;

  self->visits = 0;
  for (guint i = 0; i < self->records->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (self->records, i);

      record->visit = 0;
      record->on_path = FALSE;
      if (record->state == SK_MEMBER_OPEN)
        start = record;
    }
  if (start == NULL)
    return FALSE;
  place = find_circle (self, start, path);
  for (guint i = place; i < path->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (path, i);

      if (record->type == SK_MEMBER_REVOKE
          && (least == NULL || sk_member_compare_authority (record, least) > 0))
        least = record;
    }
  for (guint i = place; i < path->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (path, i);

      if (least == NULL || record == least)
        record->state = SK_MEMBER_OUT;
    }
  return TRUE;
}

static void
decide (Evaluation *self)
{
  GHashTableIter iter;
  gpointer list;

  for (guint i = 0; i < self->records->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (self->records, i);
      gboolean counts = (record->by != NULL || record->by_recovery)
                        && record->type <= SK_MEMBER_REVOKE
                        && (record->type != SK_MEMBER_ADD || record->makes != NULL);

      record->state = counts ? SK_MEMBER_OPEN : SK_MEMBER_OUT;
      if (counts && record->type == SK_MEMBER_REVOKE)
        file_under (self->revocations, record);
      if (counts && record->type == SK_MEMBER_ADD)
        file_under (self->adds, record);
    }
  g_hash_table_iter_init (&iter, self->revocations);
  while (g_hash_table_iter_next (&iter, NULL, &list))
    g_ptr_array_sort (list, by_authority);

  do
    settle (self);
  while (cut_circle (self));
}

/* --- devices --- */

static const SkMemberRecord *
strongest_revocation (Evaluation *self, const SkDeviceId *device)
{
  GPtrArray *list = g_hash_table_lookup (self->revocations, device);

  for (guint i = 0; list != NULL && i < list->len; i++)
    {
      const SkMemberRecord *record = g_ptr_array_index (list, i);

      if (record->state == SK_MEMBER_IN)
        return record;
    }
  return NULL;
}

static const SkMemberRecord *
strongest_add (const SkIdentityNode *node)
{
  const SkMemberRecord *best = NULL;

  for (guint i = 0; i < node->adds->len; i++)
    {
      const SkMemberRecord *add = g_ptr_array_index (node->adds, i);

      if (add->state == SK_MEMBER_IN && (best == NULL || sk_member_compare_adds (add, best) < 0))
        best = add;
    }
  return best;
}

static gboolean
names_better (const SkMemberRecord *a, const SkMemberRecord *b)
{
  if (a->by_recovery != b->by_recovery)
    return a->by_recovery;
  if (a->lamport != b->lamport)
    return a->lamport > b->lamport;
  return sk_hash_compare (&a->hash, &b->hash) > 0;
}

static const char *
current_name (Evaluation *self, const SkMemberRecord *add)
{
  const SkMemberRecord *best = NULL;

  for (guint i = 0; i < self->records->len; i++)
    {
      const SkMemberRecord *record = g_ptr_array_index (self->records, i);

      if (record->type == SK_MEMBER_RENAME && record->state == SK_MEMBER_IN
          && sk_device_id_equal (&record->subject, &add->subject)
          && (best == NULL || names_better (record, best)))
        best = record;
    }
  return best != NULL ? best->name : add->name;
}

static void
list_devices (Evaluation *self, GPtrArray *devices)
{
  guint n_live = 0;

  for (guint i = 0; i < self->nodes->len; i++)
    {
      const SkMemberRecord *add = strongest_add (g_ptr_array_index (self->nodes, i)), *revocation;
      SkDevice *device;

      if (add == NULL)
        continue;
      revocation = strongest_revocation (self, &add->subject);
      if (revocation == NULL && n_live++ >= SK_DEVICES_MAX)
        continue;
      device = g_new0 (SkDevice, 1);
      device->id = add->subject;
      device->name = g_strdup (current_name (self, add));
      device->sign_key = add->sign_key;
      device->box_key = add->box_key;
      device->added_by = add->signer;
      device->added = add->time;
      device->revoked = revocation != NULL;
      device->cut = revocation != NULL ? g_array_ref (revocation->cut) : NULL;
      g_ptr_array_add (devices, device);
    }
}

static void
evaluation_init (Evaluation *self, GPtrArray *records)
{
  self->records = records;
  self->nodes = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_identity_node_free);
  self->revocations
      = g_hash_table_new_full (device_hash, device_equal, NULL, (GDestroyNotify) g_ptr_array_unref);
  self->adds
      = g_hash_table_new_full (device_hash, device_equal, NULL, (GDestroyNotify) g_ptr_array_unref);
  for (guint i = 0; i < records->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (records, i);

      record->by = record->makes = NULL;
    }
}

static void
evaluation_clear (Evaluation *self)
{
  for (guint i = 0; i < self->records->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (self->records, i);

      record->by = record->makes = NULL; /* the nodes go now; the states stay */
    }
  g_ptr_array_unref (self->nodes);
  g_hash_table_unref (self->revocations);
  g_hash_table_unref (self->adds);
}

void
sk_members_evaluate (SkMembers *self)
{
  Evaluation evaluation;

  if (self->evaluated)
    return;
  evaluation_init (&evaluation, self->records);
  sk_members_find_identities (evaluation.records, evaluation.nodes);
  decide (&evaluation);
  g_ptr_array_set_size (self->devices, 0);
  list_devices (&evaluation, self->devices);
  evaluation_clear (&evaluation);
  self->evaluated = TRUE;
}

GPtrArray *
sk_members_valid_records (SkMembers *self, const SkDeviceId *first)
{
  g_autoptr(GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *valid = g_ptr_array_new ();
  SkDeviceId device = *first;
  const SkDevice *found;

  sk_members_evaluate (self);
  /* From @first upwards: each step is a device of lesser rank, so this ends at the recovery
   * identity. */
  for (guint steps = 0;
       steps <= self->devices->len && (found = sk_members_find (self, &device)) != NULL; steps++)
    {
      for (guint i = 0; i < self->records->len; i++)
        {
          SkMemberRecord *record = g_ptr_array_index (self->records, i);

          if (record->type == SK_MEMBER_ADD && record->state == SK_MEMBER_IN
              && sk_device_id_equal (&record->subject, &device) && g_hash_table_add (seen, record))
            g_ptr_array_add (valid, record);
        }
      device = found->added_by;
    }
  for (guint type = SK_MEMBER_ADD; type <= SK_MEMBER_REVOKE; type++)
    for (guint i = 0; i < self->records->len; i++)
      {
        SkMemberRecord *record = g_ptr_array_index (self->records, i);

        if (record->type == type && record->state == SK_MEMBER_IN
            && g_hash_table_add (seen, record))
          g_ptr_array_add (valid, record);
      }
  return valid;
}
