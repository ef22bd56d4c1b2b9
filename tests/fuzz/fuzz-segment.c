/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a whole object. 1: an object name. Else: what lies inside the seal of a segment. */
#include "forge-log.h"
#include "forge-segment.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
look_at_name (const guint8 *data, gsize size)
{
  g_autofree char *name = g_strndup ((const char *) data, size);
  SkHash hash = { 0 };
  guint64 seq;
  SkId writer;

  if (sk_segment_parse_name (name, &writer, &seq, hash.bytes))
    {
      g_autofree char *again = sk_segment_object_name (&writer, seq, &hash);

      g_assert_cmpstr (again, ==, name);
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  ForgeLog *log = forge_log ();
  SkSegmentHeader header = { .vault = forge_vault, .writer = log->writer, .epoch = log->epoch, .seq = 1 };
  g_autoptr(GBytes) object = NULL;
  g_autoptr(GPtrArray) records = NULL;

  if (size == 0)
    return 0;
  if (data[0] == 1)
    look_at_name (data + 1, size - 1);
  else if (data[0] == 0)
    object = g_bytes_new (data + 1, size - 1);
  else
    object = forge_segment_inner (&header, data + 1, size - 1, log->keys, log->signer);
  if (object != NULL
      && sk_segment_open (object, sk_identity_sign_key (log->signer), &forge_vault, log->keys, log->z, &header, &records, NULL, NULL))
    g_assert_nonnull (records);
  return 0;
}
