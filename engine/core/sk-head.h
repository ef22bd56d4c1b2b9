/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a device in one storage: how far its log and its knowledge reach. FORMAT.md, "Head". */
#pragma once
#include "sk-segment.h"

/* (seq, hash) of one writer's chain. */
typedef struct { SkId writer; guint64 seq; SkHash hash; } SkPosition;

typedef struct
{
  SkId vault, storage, epoch;
  SkDeviceId device;
  SkId writer;                   /* the incarnation that writes now */
  guint64 counter;               /* own, per storage, only grows */
  gint64 wall;
  GArray *merged;                /* SkPosition: merged and durable here */
  GArray *read;                  /* SkPosition: as read from this storage */
  SkId snapshot_writer;          /* newest good snapshot this device knows in this storage; zero when none */
  guint64 snapshot_seq;
  SkHash snapshot_hash;
} SkHead;

SkHead *sk_head_new (void);
void sk_head_free (SkHead *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkHead, sk_head_free)
GBytes *sk_head_build (const SkHead *self, SkKeyring *keys, SkIdentity *signer, GError **error);
/* The device of a head, not verified, to look its key up. */
gboolean sk_head_peek (GBytes *object, SkDeviceId *device, GError **error);
SkHead *sk_head_open (GBytes *object, const SkPublicKey *signer, const SkId *vault, const SkId *storage, SkKeyring *keys, GError **error);
/* "heads/<16 hex device>" */
char *sk_head_object_name (const SkDeviceId *device);
const SkPosition *sk_positions_find (GArray *positions, const SkId *writer);
