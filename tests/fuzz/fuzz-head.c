/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a whole object. Else: the body of a validly signed head. What opens builds again, and is then
 * what it was. */
#include "forge-log.h"
#include "sk-limits.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const SkEnvelopeKind kind = { .what = "head", .magic = "SKHD", .fields_len = 4 * 16 + 8, .size_max = SK_HEAD_SIZE_MAX,
                                     .plain_max = SK_HEAD_SIZE_MAX, .is_signed = TRUE };

static void
assert_alike (const SkHead *a, const SkHead *b)
{
  g_assert_true (sk_id_equal (&a->vault, &b->vault) && sk_id_equal (&a->storage, &b->storage) && sk_id_equal (&a->epoch, &b->epoch));
  g_assert_true (sk_device_id_equal (&a->device, &b->device) && sk_id_equal (&a->writer, &b->writer));
  g_assert_true (a->counter == b->counter && a->wall == b->wall && a->snapshot_seq == b->snapshot_seq);
  g_assert_true (sk_id_equal (&a->snapshot_writer, &b->snapshot_writer) && sk_hash_equal (&a->snapshot_hash, &b->snapshot_hash));
  g_assert_cmpmem (a->merged->data, a->merged->len * sizeof (SkPosition), b->merged->data, b->merged->len * sizeof (SkPosition));
  g_assert_cmpmem (a->read->data, a->read->len * sizeof (SkPosition), b->read->data, b->read->len * sizeof (SkPosition));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  ForgeLog *log = forge_log ();
  const SkId *ids[] = { &forge_vault, &log->storage, &log->writer, &log->epoch };
  const guint64 counter = 5;
  g_autoptr(GBytes) object = NULL, again = NULL;
  g_autoptr(SkHead) head = NULL, back = NULL;
  SkDeviceId device;

  if (size == 0)
    return 0;
  object = data[0] == 0 ? g_bytes_new (data + 1, size - 1)
                        : forge_envelope (&kind, SK_USE_LOG, ids, 4, &counter, 1, data + 1, size - 1);
  if (object == NULL)
    return 0;
  head = sk_head_open (object, sk_identity_sign_key (log->signer), &forge_vault, &log->storage, log->keys, NULL);
  if (head == NULL)
    return 0;
  g_assert_true (sk_head_peek (object, &device, NULL));
  again = sk_head_build (head, log->keys, log->signer, NULL);
  g_assert_nonnull (again);
  back = sk_head_open (again, sk_identity_sign_key (log->signer), &forge_vault, &log->storage, log->keys, NULL);
  g_assert_nonnull (back);
  assert_alike (head, back);
  return 0;
}
