/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First byte 0: the rest is a whole list, 1: a whole part, 2: the body of a validly signed list without its state (which
 * is put in), else: the body of a part that its list names rightly. */
#include "forge-log.h"
#include "sk-limits.h"
#include "sk-record-private.h"
#include "sk-snapshot.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const SkEnvelopeKind list_kind = { .what = "snapshot", .magic = "SKSN", .fields_len = 3 * 16 + 16,
                                          .size_max = 1 << 20, .plain_max = 1 << 20, .is_signed = TRUE };

static void
open_list (GBytes *object)
{
  ForgeLog *log = forge_log ();
  g_autoptr(SkSnapshot) list
      = sk_snapshot_open (object, sk_identity_sign_key (log->signer), &forge_vault, log->keys, NULL);
  SkHash hash, state;

  if (list == NULL)
    return;
  state = list->state;
  g_bytes_unref (sk_snapshot_build (list, log->keys, log->signer, &hash, NULL));
  g_assert_true (sk_hash_equal (&state, &list->state));
}

/* The list with the state that its parts give, as far as they can be read. */
static void
open_body (const guint8 *data, gsize size)
{
  ForgeLog *log = forge_log ();
  const SkId *ids[] = { &forge_vault, &log->writer, &log->epoch };
  const guint64 numbers[] = { 3, 1700000000 };
  g_auto(SkWriter) body = { 0 }, plain = { 0 };
  g_autoptr(GBytes) object = NULL;
  SkReader r;
  guint n;
  SkHash state;

  sk_writer_init (&plain);
  sk_reader_init (&r, data, size);
  n = (guint) sk_reader_varint (&r, 1000);
  for (guint i = 0; i < n; i++)
    {
      sk_reader_take (&r, 16);
      sk_reader_varint (&r, G_MAXUINT64);
      sk_reader_take (&r, 32);
    }
  n = (guint) sk_reader_varint (&r, 1000);
  for (guint i = 0; i < n && !r.failed; i++)
    {
      SkHash hash;

      sk_reader_take (&r, 32);
      sk_reader_hash (&r, &hash);
      sk_writer_hash (&plain, &hash);
      sk_reader_varint (&r, G_MAXUINT64);
    }
  sk_blake2b (plain.bytes->data, plain.bytes->len, &state);
  sk_writer_init (&body);
  sk_writer_hash (&body, &state);
  sk_writer_raw (&body, data, size);
  object = forge_envelope (&list_kind, SK_USE_SNAPSHOT, ids, 3, numbers, 2, body.bytes->data, body.bytes->len);
  if (object != NULL)
    open_list (object);
}

/* As sk-snapshot.c hashes what stands in a part. */
static void
plain_hash (const guint8 *body, gsize len, SkHash *out)
{
  static const char domain[] = "skerry snapshot part";
  SkKey id_key, part_key;
  SkHash derived;

  sk_keyring_id_key (forge_log ()->keys, &id_key);
  sk_blake2b_keyed (&id_key, (const guint8 *) domain, strlen (domain), &derived);
  memcpy (part_key.bytes, derived.bytes, sizeof part_key);
  sk_blake2b_keyed (&part_key, body, len, out);
}

/* What opens are records that pass all checks. With another plain hash nothing opens. */
static void
open_part (GBytes *object, const guint8 *body, gsize len)
{
  ForgeLog *log = forge_log ();
  SkPartRef ref = { .size = g_bytes_get_size (object) };
  g_autoptr(GPtrArray) refused = g_ptr_array_new_with_free_func (g_free), records = NULL;
  g_autoptr(GError) error = NULL;

  sk_sha256 (g_bytes_get_data (object, NULL), ref.size, &ref.name);
  g_assert_null (sk_part_open (object, &ref, &forge_vault, log->keys, log->z, NULL, NULL));
  plain_hash (body, len, &ref.plain);
  records = sk_part_open (object, &ref, &forge_vault, log->keys, log->z, refused, &error);
  g_assert_true ((records != NULL) == (error == NULL));
  for (guint i = 0; records != NULL && i < records->len; i++)
    g_assert_true (sk_record_check (g_ptr_array_index (records, i), NULL));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const SkEnvelopeKind part_kind = { .what = "snapshot part", .magic = "SKSP", .fields_len = 2 * 16,
                                            .size_max = 1 << 20, .plain_max = 1 << 20 };
  ForgeLog *log = forge_log ();
  const SkId *ids[] = { &forge_vault, &log->epoch };
  g_autoptr(GBytes) object = NULL;

  if (size == 0)
    return 0;
  if (data[0] == 2)
    open_body (data + 1, size - 1);
  else if (data[0] < 2)
    object = g_bytes_new (data + 1, size - 1);
  else
    object = forge_envelope (&part_kind, SK_USE_SNAPSHOT, ids, 2, NULL, 0, data + 1, size - 1);
  if (object != NULL && data[0] == 0)
    open_list (object);
  else if (object != NULL)
    open_part (object, data + 1, size - 1);
  return 0;
}
