/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Identities, the order in which they were enrolled, and who signed what. FORMAT.md, "Membership",
 * step 1. */
#include "sk-member-private.h"

#include "sk-limits.h"

#include <string.h>

void
sk_identity_node_free (SkIdentityNode *self)
{
  g_ptr_array_unref (self->adds);
  g_free (self);
}

static int
compare_ranks (const SkRank *a, const SkRank *b)
{
  if (a->time != b->time)
    return a->time < b->time ? -1 : 1;
  if (a->depth != b->depth)
    return a->depth < b->depth ? -1 : 1;
  return sk_hash_compare (&a->hash, &b->hash);
}

int
sk_member_compare_authority (const SkMemberRecord *a, const SkMemberRecord *b)
{
  int order = 0;

  if (a->by_recovery != b->by_recovery)
    return a->by_recovery ? -1 : 1;
  if (!a->by_recovery)
    order = compare_ranks (&a->by->rank, &b->by->rank);
  return order != 0 ? order : sk_hash_compare (&a->hash, &b->hash);
}

int
sk_member_compare_adds (const SkMemberRecord *a, const SkMemberRecord *b)
{
  if (a->by_recovery != b->by_recovery)
    return a->by_recovery ? -1 : 1;
  return compare_ranks (&a->rank, &b->rank);
}

static SkIdentityNode *
node_for (GPtrArray *nodes, SkMemberRecord *add)
{
  SkIdentityNode *node;

  for (guint i = 0; i < nodes->len; i++)
    {
      node = g_ptr_array_index (nodes, i);
      if (sk_device_id_equal (&node->id, &add->subject)
          && memcmp (&node->sign_key, &add->sign_key, sizeof add->sign_key) == 0)
        return node;
    }
  node = g_new0 (SkIdentityNode, 1);
  node->id = add->subject;
  node->sign_key = add->sign_key;
  node->rank = add->rank;
  node->origin = add;
  node->adds = g_ptr_array_new ();
  g_ptr_array_add (nodes, node);
  return node;
}

/* Puts into @reached every add record that @node (NULL: the recovery identity) signed, with its
 * rank. */
static void
reach (GPtrArray *records, SkIdentityNode *node, GPtrArray *reached)
{
  for (guint i = 0; i < records->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (records, i);

      if (record->type != SK_MEMBER_ADD || record->by_recovery != (node == NULL)
          || record->by != NULL)
        continue;
      if (node != NULL
          && (!sk_device_id_equal (&record->signer, &node->id)
              || !sk_member_record_verify (record, &node->sign_key)))
        continue;
      record->by = node;
      record->rank
          = (SkRank) { .time = node != NULL ? MAX (record->time, node->rank.time) : record->time,
                       .depth = node != NULL ? node->rank.depth + 1 : 1,
                       .hash = record->hash };
      g_ptr_array_add (reached, record);
    }
}

/* The reached record of least rank leaves first, as in Dijkstra's algorithm: ranks grow along every
 * chain. */
static SkMemberRecord *
take_least (GPtrArray *reached)
{
  guint least = 0;

  for (guint i = 1; i < reached->len; i++)
    if (compare_ranks (&((SkMemberRecord *) g_ptr_array_index (reached, i))->rank,
                       &((SkMemberRecord *) g_ptr_array_index (reached, least))->rank)
        < 0)
      least = i;
  return g_ptr_array_steal_index_fast (reached, least);
}

static void
find_identities (GPtrArray *records, GPtrArray *nodes)
{
  g_autoptr(GPtrArray) reached = g_ptr_array_new ();

  reach (records, NULL, reached);
  while (reached->len > 0)
    {
      SkMemberRecord *add = take_least (reached);
      guint known = nodes->len;

      add->makes = node_for (nodes, add);
      g_ptr_array_add (add->makes->adds, add);
      if (nodes->len > known && add->rank.depth <= SK_DEVICES_MAX)
        reach (records, add->makes, reached);
    }
}

static void
find_signers (GPtrArray *records, GPtrArray *nodes)
{
  for (guint i = 0; i < records->len; i++)
    {
      SkMemberRecord *record = g_ptr_array_index (records, i);

      for (guint j = 0; j < nodes->len && record->by == NULL && !record->by_recovery; j++)
        {
          SkIdentityNode *node = g_ptr_array_index (nodes, j);

          if (sk_device_id_equal (&node->id, &record->signer)
              && sk_member_record_verify (record, &node->sign_key))
            record->by = node;
        }
    }
}

void
sk_members_find_identities (GPtrArray *records, GPtrArray *nodes)
{
  find_identities (records, nodes);
  find_signers (records, nodes);
}
