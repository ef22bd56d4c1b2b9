/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended attributes of the person (user.*): part of a file's content, taken in where the folder's setting "xattrs" is on.
 *
 * A disk need not hold what the base says: it has none, keeps only some KiB per file, or the setting was off while a program saved the
 * file anew. Read naively that is a removal, which would travel and be put back again and again (B167). So a mark is kept for each such
 * node: what lies on the disk instead. As long as that is still there, nobody changed anything, and what the base says is carried on.
 * What the mark says counts only while the content of the base has attributes, or cannot be read. */
#pragma once
#include "sk-flow.h"

typedef enum
{
  SK_ATTRIBUTES_UNLIKE = 0,      /* nothing went wrong: they were never compared */
  SK_ATTRIBUTES_LEFT_OUT = 1,    /* the disk did not take them */
  SK_ATTRIBUTES_TOO_LARGE = 2    /* those of the disk are more than SK_XATTR_MAX */
} SkAttributesWhy;
typedef struct
{
  guint8 why;                    /* SkAttributesWhy */
  SkHash here;                   /* of what lies on the disk */
} SkAttributesMark;

/* Of a value as sk-xattr.h has it; zeros for none. */
void sk_attributes_hash (GBytes *value, SkHash *out);

/* Index thread; the latter two in a transaction. */
gboolean sk_attributes_mark (SkSession *session, gint64 folder, gint64 node, SkAttributesMark *out);
gboolean sk_attributes_set_mark (SkSession *session, gint64 folder, gint64 node, const SkAttributesMark *mark, GError **error);
gboolean sk_attributes_clear_mark (SkSession *session, gint64 folder, gint64 node, GError **error);

/* The setting was turned on: every file of the folder is read again by the next pass. Task threads. */
gboolean sk_attributes_begin (SkSession *session, gint64 folder, GError **error);

/* One issue per folder: those of @path (and @more files) are not on the disk because of @errnum, or not taken in. */
void sk_attributes_tell (SkSession *session, const SkFlowFolder *folder, const char *path, guint more, SkAttributesWhy why, int errnum);
/* The issue is over when no file has anything left out. Not from the index thread. */
void sk_attributes_settle (SkSession *session, const SkFlowFolder *folder);
