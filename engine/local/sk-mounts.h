/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a path is on its file system, whatever it is called here: two bind mounts of a directory have one place. Blocking; any thread. */
#pragma once
#include <glib.h>

typedef struct _SkMounts SkMounts;
/* The mounts as they are now. Never NULL; without /proc it knows none. */
SkMounts *sk_mounts_new (void);
void sk_mounts_free (SkMounts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkMounts, sk_mounts_free)
/* From the text of /proc/self/mountinfo (proc(5)); lines that do not parse are left out. For tests. */
SkMounts *sk_mounts_parse (const char *text);
/* "MAJOR:MINOR/path/on/it" of @path (absolute, without links; it need not be there); one place lies below another exactly if its path does.
 * NULL when it is below no known mount. (transfer full) */
char *sk_mounts_place (const SkMounts *self, const char *path);
