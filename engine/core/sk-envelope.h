/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outer form of segments, heads and snapshots: clear header, sealed and padded body, signature over both.
 * FORMAT.md, "Segment". */
#pragma once
#include "sk-compress.h"
#include "sk-seal.h"

typedef struct
{
  const char *what;        /* for messages: "log segment" */
  const char *magic;       /* 4 bytes */
  gsize fields_len;        /* bytes of the header between version and body length */
  gsize size_max;          /* bytes of the whole object */
  gsize plain_max;         /* bytes of the body */
  gboolean is_signed;
} SkEnvelopeKind;

#define SK_ENVELOPE_VERSION 1u

/* Starts a header: magic and version. The caller writes the fields. */
void sk_envelope_begin (const SkEnvelopeKind *kind, SkWriter *header);
/* @header holds everything but the length of the body. @z NULL: not compressed. @signer NULL only for kinds without a
 * signature. @what->size_max is enforced (SK_ERROR_LIMIT). (transfer full) */
GBytes *sk_envelope_build (const SkEnvelopeKind *kind, SkWriter *header, const guint8 *body, gsize len, const SkKey *key,
                           SkCompressor *z, SkIdentity *signer, GError **error);
/* Checks lengths, magic and version and sets @fields to the clear fields. Nothing is verified yet. */
gboolean sk_envelope_peek (const SkEnvelopeKind *kind, GBytes *object, SkReader *fields, GError **error);
/* For a peeked object: TRUE when @signer signed header and body; else SK_ERROR_UNTRUSTED. */
gboolean sk_envelope_verify (const SkEnvelopeKind *kind, GBytes *object, const SkPublicKey *signer, GError **error);
/* For a peeked (and verified) object: the body. @z NULL: a compressed body is refused. (transfer full) */
GBytes *sk_envelope_open (const SkEnvelopeKind *kind, GBytes *object, const SkKey *key, SkCompressor *z, GError **error);
