/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a device's database cannot be had from storages: which storages and folders are attached here, and who is a member (without
 * which no log can be verified). A copy lies in the home: "attachments.json" and "members.bin", both 0600, written by temp, fsync and rename.
 * So a database that is lost or damaged is built again without a person. */
#pragma once
#include "sk-flow.h"

typedef struct _SkAttachments SkAttachments;
SkAttachments *sk_attachments_new (void);
void sk_attachments_free (SkAttachments *self);
/* Writes what changed since the last time. @storages: SkStorageRow, @folders: SkFolderRow, all that the index has. Serialised by the
 * caller; never on the index thread. A failure becomes an issue: nothing that is going on has to stop for it. */
void sk_attachments_save (SkSession *session, GPtrArray *storages, GPtrArray *folders, SkMembers *members);
/* Puts back what the index lacks; folders are met for the first time again (A6). Before the first reload, when the home is fresh. No copy is
 * success; a damaged list is set aside and becomes an issue; one of a newer version is SK_ERROR_TOO_NEW. */
gboolean sk_attachments_restore (SkSession *session, GError **error);

/* TRUE when a vault has been in this home, whatever became of the rest. */
gboolean sk_attachments_exist (SkHome *home);

/* --- the list as text, for tests --- */
typedef struct { SkId id; char *name, *uri; } SkAttachedStorage;
typedef struct { SkId id; char *name, *path; SkFolderMode mode; char **only; } SkAttachedFolder;
typedef struct { GPtrArray *storages, *folders; } SkAttachedList;
void sk_attached_list_clear (SkAttachedList *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkAttachedList, sk_attached_list_clear)
void sk_attached_list_init (SkAttachedList *self);
GBytes *sk_attached_list_format (const SkAttachedList *self);
gboolean sk_attached_list_parse (GBytes *bytes, SkAttachedList *out, GError **error);
