/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and looking below a directory: never through a symlink, never above it, and across mounts only on request.
 * The kernel checks it in one call (openat2, Linux 5.6); where that call is refused, a walk by components does the
 * same. Any thread, no state. */
#pragma once
#include "sk-root.h"

typedef enum
{
  SK_BENEATH_WALK = 1 << 0,      /* do not use openat2 */
  SK_BENEATH_MOUNTS = 1 << 1,    /* enter what is mounted below */
} SkBeneathFlags;

/* @path relative to @dirfd, of any length; "" is @dirfd itself, opened anew. @oflags as for open(2), without O_CREAT;
 * O_CLOEXEC and O_NOFOLLOW are added. Returns a descriptor, or -1 with errno: ELOOP for a symlink on the way or at the
 * end, EXDEV for a mount, EINVAL for an empty, "." or ".." component. */
int sk_beneath_open (int dirfd, const char *path, int oflags, SkBeneathFlags flags);
/* One call that tells whether openat2 is there. Containers say EPERM for what they do not know (RULES C16). */
gboolean sk_beneath_has_openat2 (int dirfd);

/* Looks at @name in @dirfd without following it or mounting anything; "" is @dirfd itself. FALSE with errno. */
gboolean sk_stat_at (int dirfd, const char *name, SkStat *out);

/* Sets @error for @errnum; the message is "Cannot DOING “PATH”: reason". Returns FALSE. */
gboolean sk_fail_errno (GError **error, int errnum, const char *doing, const char *path);
