/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-memory.h"

#ifdef __GLIBC__
#include <malloc.h>

/* The largest block that the allocator takes from its heaps at all. */
#define KEEP_BLOCK (32 << 20)
/* Above this much at the end of a heap it gives some back by itself. */
#define KEEP_FREE (64 << 20)

void
sk_memory_keep (void)
{
  mallopt (M_MMAP_THRESHOLD, KEEP_BLOCK);
  mallopt (M_TRIM_THRESHOLD, KEEP_FREE);
}

void
sk_memory_give_back (void)
{
  malloc_trim (0);
}
#else
void
sk_memory_keep (void)
{
}

void
sk_memory_give_back (void)
{
}
#endif
