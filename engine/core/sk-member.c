/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of membership records. Who is a member is computed in sk-member-eval.c. */
#include "sk-member-private.h"

#include "sk-limits.h"

static void
device_free (SkDevice *self)
{
  g_free (self->name);
  g_clear_pointer (&self->cut, g_array_unref);
  g_free (self);
}

static SkMembers *
members_alloc (const SkId *vault, const SkPublicKey *recovery_sign, const SkPublicKey *recovery_box)
{
  SkMembers *self = g_new0 (SkMembers, 1);

  self->vault = *vault;
  self->recovery_sign = *recovery_sign;
  self->recovery_box = *recovery_box;
  self->records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_member_record_free);
  self->devices = g_ptr_array_new_with_free_func ((GDestroyNotify) device_free);
  return self;
}

SkMembers *
sk_members_new (const SkId *vault, const SkPublicKey *recovery_sign,
                const SkPublicKey *recovery_box, GError **error)
{
  SkId certified;

  sk_vault_id_from_recovery (recovery_sign, recovery_box, &certified);
  if (!sk_id_equal (&certified, vault))
    return sk_fail (error, SK_ERROR_UNTRUSTED, "The recovery keys are not those of this vault"),
           NULL;
  return members_alloc (vault, recovery_sign, recovery_box);
}

SkMembers *
sk_members_copy (SkMembers *self)
{
  SkMembers *copy = members_alloc (&self->vault, &self->recovery_sign, &self->recovery_box);

  for (guint i = 0; i < self->records->len; i++)
    {
      const SkMemberRecord *record = g_ptr_array_index (self->records, i);
      SkMemberRecord *again = sk_member_record_parse (record->bytes, &self->vault, NULL);

      /* A signature needs to be verified only once. */
      again->checked_key = record->checked_key;
      again->was_checked = record->was_checked;
      again->check_result = record->check_result;
      g_ptr_array_add (copy->records, again);
    }
  copy->n_by_recovery = self->n_by_recovery;
  return copy;
}

void
sk_members_free (SkMembers *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->devices);
  g_ptr_array_unref (self->records);
  g_free (self);
}

/* Where @hash is or belongs; the records are ascending. */
static guint
find_place (SkMembers *self, const SkHash *hash, gboolean *found)
{
  guint low = 0, high = self->records->len;

  *found = FALSE;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      int order = sk_hash_compare (
          &((SkMemberRecord *) g_ptr_array_index (self->records, middle))->hash, hash);

      if (order == 0)
        {
          *found = TRUE;
          return middle;
        }
      if (order < 0)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

gboolean
sk_members_add (SkMembers *self, GBytes *bytes, gboolean *is_new, GError **error)
{
  SkMemberRecord *record = sk_member_record_parse (bytes, &self->vault, error);
  gboolean known;
  guint place, n;

  if (is_new != NULL)
    *is_new = FALSE;
  if (record == NULL)
    return FALSE;
  place = find_place (self, &record->hash, &known);
  if (known)
    {
      sk_member_record_free (record);
      return TRUE;
    }
  /* The key of the recovery identity is known from the start: what it did not sign will never
   * count. */
  if (record->by_recovery && !sk_member_record_verify (record, &self->recovery_sign))
    {
      sk_member_record_free (record);
      return sk_fail (error, SK_ERROR_UNTRUSTED,
                      "A membership record is not signed by the recovery identity it names");
    }
  n = record->by_recovery ? self->n_by_recovery : self->records->len - self->n_by_recovery;
  if (n >= SK_MEMBER_RECORDS_MAX)
    {
      sk_member_record_free (record);
      return sk_fail (error, SK_ERROR_LIMIT, "There are more than %u membership records",
                      SK_MEMBER_RECORDS_MAX);
    }
  if (record->by_recovery)
    self->n_by_recovery++;
  g_ptr_array_insert (self->records, (gint) place, record);
  self->evaluated = FALSE;
  if (is_new != NULL)
    *is_new = TRUE;
  return TRUE;
}

GPtrArray *
sk_members_records (SkMembers *self)
{
  GPtrArray *records = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  for (guint i = 0; i < self->records->len; i++)
    g_ptr_array_add (
        records, g_bytes_ref (((SkMemberRecord *) g_ptr_array_index (self->records, i))->bytes));
  return records;
}

GPtrArray *
sk_members_devices (SkMembers *self)
{
  sk_members_evaluate (self);
  return self->devices;
}

const SkDevice *
sk_members_find (SkMembers *self, const SkDeviceId *device)
{
  sk_members_evaluate (self);
  for (guint i = 0; i < self->devices->len; i++)
    {
      const SkDevice *found = g_ptr_array_index (self->devices, i);

      if (sk_device_id_equal (&found->id, device))
        return found;
    }
  return NULL;
}

gboolean
sk_members_is_live (SkMembers *self, const SkDeviceId *device)
{
  const SkDevice *found = sk_members_find (self, device);

  return found != NULL && !found->revoked;
}

const SkPublicKey *
sk_members_sign_key (SkMembers *self, const SkDeviceId *device)
{
  const SkDevice *found = sk_members_find (self, device);

  return found != NULL ? &found->sign_key : NULL;
}
