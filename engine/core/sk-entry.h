/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An entry: the state of one path as one device wrote it. Two stamps (RULES A8): the content stamp has a
 * version vector; the metadata stamp (mode, mtime) needs none, because its winner is the highest
 * (Lamport, writer) and a later writer always has the higher Lamport (FORMAT.md, "Metadata stamp"). */
#pragma once
#include "sk-hash.h"
#include "sk-vector.h"

typedef enum
{
  SK_KIND_NONE = 0,        /* nothing known or nothing there */
  SK_KIND_FILE = 1,
  SK_KIND_DIR = 2,
  SK_KIND_SYMLINK = 3,
  SK_KIND_TOMBSTONE = 4,
} SkKind;

/* A run of zeros has a zero id and any size that is a multiple of SK_ZERO_BLOCK. */
typedef struct { SkHash id; guint64 size; } SkChunkRef;
gboolean sk_chunk_ref_is_zero (const SkChunkRef *self);

enum { SK_ENTRY_CONFIRMED = 1 << 0,    /* a person confirmed the mass change this is part of (RULES C17) */
       SK_ENTRY_UNION = 1 << 1,        /* first contact: Lamport 0, never takes a name (RULES A6) */
       SK_ENTRY_WAS_DIR = 1 << 2,      /* tombstone of a directory */
       SK_ENTRY_MOVED = 1 << 3 };      /* tombstone of a file whose content lives on under another name: no loss (C17) */

typedef struct
{
  SkId folder;
  char *path;              /* relative, '/' between components, any byte but NUL; owned */
  SkKind kind;
  guint32 flags;

  SkVector *vector;        /* content stamp */
  guint64 lamport;
  SkId writer;
  gint64 wall;             /* unix seconds; only for names and for people */
  char *device_name;       /* as it was when this was written; owned */

  guint64 meta_lamport;    /* metadata stamp */
  SkId meta_writer;
  guint32 mode;            /* permission bits 07777; for a tombstone those of what was deleted */
  gint64 mtime;            /* ns since 1970, files and symlinks only; 0 for directories */

  guint64 size;            /* file: sum of the chunk sizes */
  GArray *chunks;          /* file: SkChunkRef; NULL otherwise */
  char *symlink;           /* symlink: target bytes; NULL otherwise */
  GBytes *xattrs;          /* opaque to core, NULL when none */
  SkHash content;          /* sk_entry_content_hash, kept up to date by the constructors and the decoder */
} SkEntry;

/* The mode that stands for a path: of the highest metadata stamp among ALL entries of the path of that class, dominated ones
 * included, so that a chmod survives a concurrent edit (A8). Class 0: files and links, 1: directories. Not @set: none yet. */
typedef struct { guint64 lamport; SkId writer; guint32 mode; gboolean set; } SkModeStamp;

SkEntry *sk_entry_new (const SkId *folder, const char *path, SkKind kind);
SkEntry *sk_entry_copy (const SkEntry *self);
void sk_entry_free (SkEntry *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkEntry, sk_entry_free)
/* BLAKE2b over kind, size, chunk list, link target and xattrs: equal hash = equal content and kind. */
void sk_entry_seal_content (SkEntry *self);
/* Bounds, path rules, sizes adding up: everything a decoder checks, for entries made here as well. */
gboolean sk_entry_check (const SkEntry *self, GError **error);
/* The same for a stamp that stands alone. */
gboolean sk_mode_stamp_check (const SkModeStamp *self, GError **error);
/* The name of a device, folder, storage or vault: 1 to SK_LABEL_MAX bytes of UTF-8 without control characters,
 * direction marks and '/', since it ends in file names (conflict copies) and in front of people. */
gboolean sk_label_check (const char *label, GError **error);
/* Total order between two entries: (lamport, device, writer, content). >0 when @a wins. RULES A5: also
 * decides between equal vectors with different bytes. */
int sk_entry_rank (const SkEntry *a, const SkEntry *b);
/* >0 when @a's metadata stamp wins. */
int sk_entry_meta_rank (const SkEntry *a, const SkEntry *b);
