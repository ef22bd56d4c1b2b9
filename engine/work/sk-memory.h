/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How this process treats large blocks of memory. Any thread. */
#pragma once
#include <glib.h>

/* Buffers of some MiB are made and freed many times a second; the allocator keeps them, rather than
 * asking the kernel for zeroed pages each time. Once, before the first of them. */
void sk_memory_keep (void);
/* Gives back what it kept: when work ended and may not come again for long. Some milliseconds. */
void sk_memory_give_back (void);

/* @size bytes that hold anything, for the caller to fill through g_bytes_get_data() before somebody else sees them. A large block
 * lies in large pages where the system has them, and is kept for the next one when it is freed. (transfer full) */
GBytes *sk_memory_block (gsize size);

/* One block for many small things, one behind the other; it is free when the last of them is. One thread. */
typedef struct
{
  GBytes *block;           /* NULL: no room */
  gsize used;
} SkSlab;
void sk_slab_init (SkSlab *self, gsize size);
void sk_slab_clear (SkSlab *self);
/* Where the next @len bytes go; NULL when so many do not fit. */
guint8 *sk_slab_room (SkSlab *self, gsize len);
/* These bytes, which have been filled. (transfer full) */
GBytes *sk_slab_take (SkSlab *self, gsize len);
