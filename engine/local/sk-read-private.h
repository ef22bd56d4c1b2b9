/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the local layer only: reading files of the tree, or of .skerry, without touching them. */
#pragma once
#include "sk-root-private.h"

/* Opens for reading: no-follow, beneath the root, without waiting for a pipe and without a new access time where that is
 * allowed. Returns a descriptor or -1. SK_ERROR_CHANGED when nothing or something else than a file is there. */
int sk_read_open (SkRoot *root, const char *path, GError **error);
/* All @len bytes at @offset, or SK_ERROR_CHANGED when the file is shorter. @path for the message. */
gboolean sk_read_exactly (int fd, guint8 *buffer, gsize len, guint64 offset, const char *path, GError **error);
