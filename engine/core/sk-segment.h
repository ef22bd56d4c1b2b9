/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log segment: clear signed header, sealed zstd body of records. FORMAT.md, "Segment". The same body
 * codec serves snapshot parts, which are segments without a chain. */
#pragma once
#include "sk-entry.h"
#include "sk-pack.h"

typedef enum
{
  SK_RECORD_FOLDER = 1,
  SK_RECORD_ENTRY = 2,
  SK_RECORD_PACK_PUT = 3,
  SK_RECORD_PACK_DROP = 4,       /* condemned */
  SK_RECORD_PACK_KEEP = 5,       /* condemnation taken back */
  SK_RECORD_PACK_VERIFIED = 6,
  SK_RECORD_STORAGE = 7,
  SK_RECORD_MEMBER = 8,          /* a membership record, verbatim with its own signature */
  SK_RECORD_MODES = 9,           /* in snapshots: what entries that are not in it say about the mode of a path */
} SkRecordType;

/* A folder definition; the highest (lamport, writer) stands. */
typedef struct { SkId id; char *name; gboolean deleted; guint64 lamport; SkId writer; GArray *storages; /* SkId */ } SkFolderDef;
typedef struct { SkId id; char *name; char *uri; gboolean deleted; guint64 lamport; SkId writer; } SkStorageDef;
typedef struct { SkId storage; SkHash name; SkId epoch; guint64 size; GArray *rows; /* SkPackRow */ } SkPackPut;
typedef struct { SkId storage; SkHash name; } SkPackRef;
/* By class; at least one is set. */
typedef struct { SkId folder; char *path; SkModeStamp stamp[2]; } SkModes;

typedef struct
{
  SkRecordType type;
  union
  {
    SkEntry *entry;
    SkFolderDef *folder;
    SkStorageDef *storage;
    SkPackPut *pack;
    SkPackRef *pack_ref;         /* drop, keep, verified */
    GBytes *member;
    SkModes *modes;
  };
} SkRecord;
SkRecord *sk_record_new_entry (SkEntry *entry);          /* (transfer full), likewise below */
SkRecord *sk_record_new_folder (SkFolderDef *folder);
SkRecord *sk_record_new_storage (SkStorageDef *storage);
SkRecord *sk_record_new_pack (SkPackPut *pack);
SkRecord *sk_record_new_pack_ref (SkRecordType type, const SkId *storage, const SkHash *name);
SkRecord *sk_record_new_member (GBytes *member);
SkRecord *sk_record_new_modes (SkModes *modes);
void sk_record_free (SkRecord *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkRecord, sk_record_free)
void sk_pack_put_free (SkPackPut *self);
void sk_modes_free (SkModes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkModes, sk_modes_free)

/* Body codec. @records: GPtrArray of SkRecord. Deterministic: equal records give equal bytes. */
GBytes *sk_records_encode (GPtrArray *records, GError **error);
/* A record whose frame parses but whose content is refused is left out, and a line for people ("Record 7: why") is added
 * to @refused (char *, freed by the array; may be NULL). NULL only when tables or frames do not parse. */
GPtrArray *sk_records_decode (const guint8 *data, gsize len, GPtrArray *refused, GError **error);

typedef struct
{
  guint16 version;
  SkId vault, writer, epoch;
  guint64 seq;                   /* 1 for the first */
  SkHash prev;                   /* hash of the previous segment of the chain; zero for the first */
  gint64 wall;
} SkSegmentHeader;

/* Builds the whole object: compress, pad, seal, sign. *@hash = SHA-256 of the object. */
GBytes *sk_segment_build (const SkSegmentHeader *header, GPtrArray *records, SkKeyring *keys, SkIdentity *signer,
                          SkCompressor *z, SkHash *hash, GError **error);
/* Reads only the clear header (not verified). */
gboolean sk_segment_peek (GBytes *object, SkSegmentHeader *out, GError **error);
/* Verify signature, open, decompress, parse, in this order. *@records: GPtrArray of SkRecord; @refused as above. */
gboolean sk_segment_open (GBytes *object, const SkPublicKey *signer, const SkId *vault, SkKeyring *keys, SkCompressor *z,
                          SkSegmentHeader *header, GPtrArray **records, GPtrArray *refused, GError **error);
/* "log/<32 hex writer>/<seq, 12 digits>-<16 hex of hash>" (transfer full) */
char *sk_segment_object_name (const SkId *writer, guint64 seq, const SkHash *hash);
/* Parses such a name; *@hash_prefix receives the 8 bytes. */
gboolean sk_segment_parse_name (const char *name, SkId *writer, guint64 *seq, guint8 hash_prefix[8]);
