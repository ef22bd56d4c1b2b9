/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes what the vault holds into a directory of the person, outside of the ways up and down: one file after the other, in bounded memory, never
 * over anything that is there. Chunks come from files of this disk where they are, else from the storages that are attached; each is verified by
 * its id. Blocking; one task thread. */
#pragma once
#include "sk-flow.h"

typedef struct _SkRestore SkRestore;
/* @dir absolute; made (0700) when it is not there. */
SkRestore *sk_restore_new (SkSession *session, const char *dir, GCancellable *cancellable, GError **error);
void sk_restore_free (SkRestore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkRestore, sk_restore_free)
/* The content of @version (row) at @path, relative to the directory; missing parents are made. A file gets its name when it is complete and on the
 * disk. A directory that is there is success; SK_ERROR_EXISTS for anything else; NOT_FOUND when a part is kept nowhere that can be reached from here.
 * *@bytes: of a file's content. */
gboolean sk_restore_version (SkRestore *self, gint64 version, const char *path, guint64 *bytes, GError **error);
