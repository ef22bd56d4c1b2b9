/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A vault with named devices, for tests of membership, epochs and joining. */
#pragma once
#include "sk-member.h"

#include <string.h>

enum { RECOVERY = -1, FIXTURE_DEVICES = 6 };

typedef struct
{
  SkIdentity *recovery;
  SkIdentity *devices[FIXTURE_DEVICES];
  SkId vault;
  SkMembers *members;
} MemberFixture;

static inline SkDeviceId
member_id (int n)
{
  SkDeviceId id = { { 0 } };

  if (n != RECOVERY)
    memset (id.bytes, 0x11 * (n + 1), sizeof id.bytes);
  return id;
}

static inline SkIdentity *
member_identity (MemberFixture *self, int n)
{
  return n == RECOVERY ? self->recovery : self->devices[n];
}

static inline void
member_set_up (MemberFixture *self, gconstpointer data)
{
  g_autoptr(GError) error = NULL;

  self->recovery = sk_identity_new_random ();
  for (guint i = 0; i < FIXTURE_DEVICES; i++)
    self->devices[i] = sk_identity_new_random ();
  sk_vault_id_from_recovery (sk_identity_sign_key (self->recovery), sk_identity_box_key (self->recovery), &self->vault);
  self->members = sk_members_new (&self->vault, sk_identity_sign_key (self->recovery), sk_identity_box_key (self->recovery), &error);
  g_assert_no_error (error);
}

static inline void
member_tear_down (MemberFixture *self, gconstpointer data)
{
  sk_identity_unref (self->recovery);
  for (guint i = 0; i < FIXTURE_DEVICES; i++)
    sk_identity_unref (self->devices[i]);
  sk_members_free (self->members);
}

static inline GBytes *
member_add (MemberFixture *self, int signer, int device, gint64 now)
{
  static const char *const names[] = { "ada", "bob", "cyn", "dan", "eve", "fay" };
  SkDeviceId id = member_id (device), signer_id = member_id (signer);

  return sk_member_build_add (&self->vault, &id, names[device], sk_identity_sign_key (self->devices[device]),
                              sk_identity_box_key (self->devices[device]), &signer_id, member_identity (self, signer), now);
}

static inline GBytes *
member_rename (MemberFixture *self, int signer, int device, const char *name, guint64 lamport)
{
  SkDeviceId id = member_id (device), signer_id = member_id (signer);

  return sk_member_build_rename (&self->vault, &id, name, lamport, &signer_id, member_identity (self, signer), 5000);
}

/* What @signer would write knowing @known. */
static inline GBytes *
member_revoke (MemberFixture *self, int signer, int device, SkMembers *known, gboolean undo)
{
  SkDeviceId id = member_id (device), signer_id = member_id (signer);

  return sk_member_build_revoke (&self->vault, &id, NULL, known, undo, &signer_id, member_identity (self, signer), 6000);
}

static inline void
member_take (SkMembers *members, GBytes *record)       /* (transfer full) record */
{
  g_autoptr(GError) error = NULL;

  sk_members_add (members, record, NULL, &error);
  g_assert_no_error (error);
  g_bytes_unref (record);
}

static inline gboolean
member_is_live (SkMembers *members, int device)
{
  SkDeviceId id = member_id (device);

  return sk_members_is_live (members, &id);
}
