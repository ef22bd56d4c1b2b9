/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a record, 1: an epoch object. Else: a story of what five devices do, four bytes a step; told
 * in any order it ends alike, and the recovery identity has the last word. */
#include "sk-member.h"

#include "sk-limits.h"

#include <string.h>

enum { N_DEVICES = 5, STEP = 4, STEPS_MAX = 40 };

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef struct
{
  SkIdentity *recovery, *devices[N_DEVICES];
  SkId vault;
} World;

static World *
world (void)
{
  static World self;

  if (self.recovery == NULL)
    {
      SkKey seed = { { 1 } };

      g_assert_true (sk_crypto_init (NULL));
      self.recovery = sk_identity_new_from_seed (&seed);
      for (guint i = 0; i < N_DEVICES; i++)
        {
          seed.bytes[0] = (guint8) (i + 2);
          self.devices[i] = sk_identity_new_from_seed (&seed);
        }
      sk_vault_id_from_recovery (sk_identity_sign_key (self.recovery), sk_identity_box_key (self.recovery), &self.vault);
    }
  return &self;
}

/* 0 is the recovery identity. */
static SkDeviceId
device_id (guint n)
{
  return (SkDeviceId) { { (guint8) n } };
}

static SkMembers *
nobody (void)
{
  World *w = world ();

  return sk_members_new (&w->vault, sk_identity_sign_key (w->recovery), sk_identity_box_key (w->recovery), NULL);
}

static GBytes *
do_step (SkMembers *known, const guint8 step[STEP])
{
  World *w = world ();
  guint signer = step[1] % (N_DEVICES + 1), subject = 1 + step[2] % N_DEVICES;
  /* Now and then a key that is not the one of that device. */
  guint keys = step[0] & 0x80 ? step[3] % N_DEVICES : subject - 1;
  SkDeviceId signer_id = device_id (signer), id = device_id (subject);
  SkIdentity *identity = signer == 0 ? w->recovery : w->devices[signer - 1];

  switch (step[0] % 4)
    {
    case 0:
      return sk_member_build_rename (&w->vault, &id, step[3] & 1 ? "one" : "two", step[3], &signer_id, identity, step[3]);
    case 1:
      return sk_member_build_revoke (&w->vault, &id, NULL, known, step[3] & 1, &signer_id, identity, step[3]);
    default:
      return sk_member_build_add (&w->vault, &id, "device", sk_identity_sign_key (w->devices[keys]),
                                  sk_identity_box_key (w->devices[keys]), &signer_id, identity, step[3]);
    }
}

static void
assert_alike (SkMembers *a, SkMembers *b)
{
  GPtrArray *x = sk_members_devices (a), *y = sk_members_devices (b);

  g_assert_cmpuint (x->len, ==, y->len);
  for (guint i = 0; i < x->len; i++)
    {
      const SkDevice *p = g_ptr_array_index (x, i), *q = g_ptr_array_index (y, i);

      g_assert_true (sk_device_id_equal (&p->id, &q->id));
      g_assert_true (p->revoked == q->revoked);
      g_assert_cmpstr (p->name, ==, q->name);
      g_assert_cmpmem (&p->sign_key, sizeof p->sign_key, &q->sign_key, sizeof q->sign_key);
      g_assert_cmpmem (&p->box_key, sizeof p->box_key, &q->box_key, sizeof q->box_key);
      /* One device, one key. */
      for (guint j = 0; j < i; j++)
        g_assert_false (sk_device_id_equal (&p->id, &((SkDevice *) g_ptr_array_index (x, j))->id));
    }
}

static void
tell (const guint8 *data, gsize size)
{
  g_autoptr(SkMembers) forwards = nobody (), backwards = nobody ();
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr(SkMembers) known = nobody ();
  guint8 last[STEP] = { 1, 0, 0, 1 };

  for (gsize i = 0; i + STEP <= size && records->len < STEPS_MAX; i += STEP)
    {
      GBytes *record = do_step (known, data + i);

      g_ptr_array_add (records, record);
      g_assert_true (sk_members_add (forwards, record, NULL, NULL));
      /* What the next one knows lags behind now and then. */
      if ((data[i] & 0x40) == 0)
        {
          sk_members_free (known);
          known = sk_members_copy (forwards);
        }
    }
  for (guint i = records->len; i > 0; i--)
    {
      g_assert_true (sk_members_add (backwards, g_ptr_array_index (records, i - 1), NULL, NULL));
      sk_members_devices (backwards);
    }
  assert_alike (forwards, backwards);
  {
    g_autoptr(GBytes) word = do_step (forwards, last);
    SkDeviceId id = device_id (1);

    g_assert_true (sk_members_add (forwards, word, NULL, NULL));
    g_assert_false (sk_members_is_live (forwards, &id));
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr(SkMembers) members = nobody ();
  g_autoptr(GBytes) rest = NULL;

  if (size == 0)
    return 0;
  rest = g_bytes_new (data + 1, size - 1);
  if (data[0] == 0)
    {
      if (sk_members_add (members, rest, NULL, NULL))
        g_assert_cmpuint (sk_members_devices (members)->len, <=, 1);
    }
  else if (data[0] == 1)
    {
      g_autoptr(SkKeyring) keys = NULL;
      SkPublicKey sign, box;
      SkId epoch;

      sk_epoch_usable (rest, &world ()->vault, members, &epoch, NULL);
      sk_epoch_open (rest, &world ()->vault, NULL, world ()->recovery, &epoch, &keys, &sign, &box, NULL);
    }
  else
    tell (data + 1, size - 1);
  return 0;
}
