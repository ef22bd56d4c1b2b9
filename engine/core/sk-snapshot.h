/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot: a signed list of sealed parts that together hold the merged state at a coverage. Parts are bodies of
 * records (sk_records_encode), cut by content so that the next snapshot reuses most of them. */
#pragma once
#include "sk-head.h"

typedef struct { SkHash name; SkHash plain; guint64 size; } SkPartRef;   /* name: SHA-256 of the object; plain: keyed hash of the body */

typedef struct
{
  SkId vault, writer, epoch;
  guint64 seq;
  gint64 wall;
  SkHash state;                  /* hash over all parts' plain hashes, in order */
  GArray *coverage;              /* SkPosition */
  GArray *parts;                 /* SkPartRef */
} SkSnapshot;
SkSnapshot *sk_snapshot_new (void);
void sk_snapshot_free (SkSnapshot *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkSnapshot, sk_snapshot_free)
GBytes *sk_snapshot_build (SkSnapshot *self, SkKeyring *keys, SkIdentity *signer, SkHash *hash, GError **error);
SkSnapshot *sk_snapshot_open (GBytes *object, const SkPublicKey *signer, const SkId *vault, SkKeyring *keys, GError **error);
/* One part. *@ref is filled. */
GBytes *sk_part_build (GPtrArray *records, const SkId *vault, SkKeyring *keys, SkCompressor *z, SkPartRef *ref, GError **error);
GPtrArray *sk_part_open (GBytes *object, const SkPartRef *ref, const SkId *vault, SkKeyring *keys, SkCompressor *z, GPtrArray *refused,
                         GError **error);
/* TRUE when a part ends after the record with this key (path or pack name): content-defined, about 1 in 4096. */
gboolean sk_part_ends_after (const guint8 *key, gsize len);
char *sk_snapshot_object_name (const SkId *writer, guint64 seq);         /* "snap/<writer>/<seq, 12 digits>" */
char *sk_part_object_name (const SkHash *name);                          /* "snap/parts/<2>/<64>" */
