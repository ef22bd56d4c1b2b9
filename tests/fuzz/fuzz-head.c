/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a whole object. Else: the body of a validly signed head. What opens builds again. */
#include "forge-log.h"
#include "sk-limits.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const SkEnvelopeKind kind = { .what = "head", .magic = "SKHD", .fields_len = 4 * 16 + 8, .size_max = SK_HEAD_SIZE_MAX,
                                     .plain_max = SK_HEAD_SIZE_MAX, .is_signed = TRUE };

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  ForgeLog *log = forge_log ();
  const SkId *ids[] = { &forge_vault, &log->storage, &log->writer, &log->epoch };
  const guint64 counter = 5;
  g_autoptr(GBytes) object = NULL, again = NULL;
  g_autoptr(SkHead) head = NULL;
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
  return 0;
}
