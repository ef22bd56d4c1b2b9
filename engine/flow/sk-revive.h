/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Old versions of a folder's paths become the newest again, in place: a new entry for each, published, and one pass down. */
#pragma once
#include "sk-command.h"

/* One path and the version it shall have again (rows). */
typedef struct { gint64 node, version; } SkRevival;

typedef struct
{
  guint64 files, bytes;          /* revived */
  guint64 lost;                  /* of these the content is kept in no storage of the folder any more: left as they are */
  GArray *lost_nodes;            /* gint64 rows, for who knows another place */
  SkDownResult down;             /* of the pass */
} SkRevived;
void sk_revived_clear (SkRevived *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkRevived, sk_revived_clear)

/* The state of this disk becomes known first, so that nothing that was not taken in yet is replaced. @folder must take and give changes here
 * (SK_ERROR_USAGE tells what to do instead). Task threads. */
gboolean sk_revive_prepare (SkCommand *command, const SkFolderRow *folder, GError **error);
/* @revivals: SkRevival. @out is initialised. A version that is of another node, or gone, counts as lost. */
gboolean sk_revive (SkCommand *command, gint64 folder, const GArray *revivals, SkRevived *out, GError **error);
