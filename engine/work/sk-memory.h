/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How this process treats large blocks of memory. Any thread. */
#pragma once

/* Buffers of some MiB are made and freed many times a second; the allocator keeps them, rather than
 * asking the kernel for zeroed pages each time. Once, before the first of them. */
void sk_memory_keep (void);
/* Gives back what it kept: when work ended and may not come again for long. Some milliseconds. */
void sk_memory_give_back (void);
