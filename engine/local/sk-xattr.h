/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended attributes of a file as one value: for each user.* attribute, sorted by the bytes of its
 * name, the name and the value, each as a varint length and the bytes. At most SK_XATTR_MAX bytes.
 * Any thread. */
#pragma once
#include <glib.h>

/* NULL when there are none (*@errnum 0; also where the file system has none) or on an error
 * (*@errnum set; E2BIG: more than are kept). */
GBytes *sk_xattr_read (int fd, int *errnum);
/* Makes the user.* attributes of @fd those of @value (NULL: none). Returns 0 or an errno: EINVAL
 * for a value that does not parse (and then nothing was changed), EOPNOTSUPP where the file system
 * has none. One that the file system does not take keeps no other from being written: many allow
 * only some KiB per file, and say ENOSPC. */
int sk_xattr_write (int fd, GBytes *value);
/* TRUE when @value parses: sorted, no duplicates, only user.*, in bounds. */
gboolean sk_xattr_check (GBytes *value);
