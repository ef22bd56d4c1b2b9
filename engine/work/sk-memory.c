/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page of 4 KiB costs its fault, 2 to 4 us on a virtual machine, which is as much as hashing its bytes: buffers of MiB lie in
 * pages of 2 MiB and are used again. */
#include "sk-memory.h"

#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* The largest block that the allocator takes from its heaps at all. */
#define KEEP_BLOCK (32 << 20)
/* Above this much at the end of a heap it gives some back by itself. */
#define KEEP_FREE (64 << 20)

#define LARGE_PAGE ((gsize) 2 << 20)
#define SIZES 16u                         /* multiples of a large page that are kept */
#define KEPT_MAX ((gsize) 64 << 20)
#define SMALL ((gsize) 1 << 20)           /* below, the allocator does as well */

/* Blocks that are not in use, by size; a block's first word is the next one. */
static GMutex lock;
static gpointer kept[SIZES + 1];
static gsize kept_bytes;

static gsize
pages_of (gsize size)
{
  return (size + LARGE_PAGE - 1) / LARGE_PAGE;
}

/* The kernel gives large pages only where they lie on their own borders. */
static gpointer
map_pages (gsize pages)
{
  gsize size = pages * LARGE_PAGE;
  guint8 *at = mmap (NULL, size + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  gsize before;

  if (at == MAP_FAILED)
    g_error ("Out of memory: %" G_GSIZE_FORMAT " bytes", size);
  before = (LARGE_PAGE - (gsize) at % LARGE_PAGE) % LARGE_PAGE;
  if (before > 0)
    munmap (at, before);
  if (before < LARGE_PAGE)
    munmap (at + before + size, LARGE_PAGE - before);
  madvise (at + before, size, MADV_HUGEPAGE);
  return at + before;
}

static gpointer
take_pages (gsize pages)
{
  gpointer block = NULL;

  g_mutex_lock (&lock);
  if (pages <= SIZES && kept[pages] != NULL)
    {
      block = kept[pages];
      kept[pages] = *(gpointer *) block;
      kept_bytes -= pages * LARGE_PAGE;
    }
  g_mutex_unlock (&lock);
  return block != NULL ? block : map_pages (pages);
}

static void
give_pages (gpointer block, gsize pages)
{
  gboolean keep;

  g_mutex_lock (&lock);
  keep = pages <= SIZES && kept_bytes + pages * LARGE_PAGE <= KEPT_MAX;
  if (keep)
    {
      *(gpointer *) block = kept[pages];
      kept[pages] = block;
      kept_bytes += pages * LARGE_PAGE;
    }
  g_mutex_unlock (&lock);
  if (!keep)
    munmap (block, pages * LARGE_PAGE);
}

static void
drop_kept (void)
{
  for (gsize pages = 1; pages <= SIZES; pages++)
    for (;;)
      {
        gpointer block;

        g_mutex_lock (&lock);
        block = kept[pages];
        if (block != NULL)
          {
            kept[pages] = *(gpointer *) block;
            kept_bytes -= pages * LARGE_PAGE;
          }
        g_mutex_unlock (&lock);
        if (block == NULL)
          break;
        munmap (block, pages * LARGE_PAGE);
      }
}

void
sk_memory_keep (void)
{
#ifdef __GLIBC__
  mallopt (M_MMAP_THRESHOLD, KEEP_BLOCK);
  mallopt (M_TRIM_THRESHOLD, KEEP_FREE);
#endif
}

void
sk_memory_give_back (void)
{
  drop_kept ();
#ifdef __GLIBC__
  malloc_trim (0);
#endif
}

typedef struct { gpointer pages; gsize n; } Block;

static void
block_free (gpointer data)
{
  Block *block = data;

  give_pages (block->pages, block->n);
  g_free (block);
}

/* Under a sanitizer each block comes from its allocator, which notices what is read or written beside it. */
static gboolean
is_small (gsize size)
{
#ifdef __SANITIZE_ADDRESS__
  return TRUE;
#else
  return size < SMALL;
#endif
}

GBytes *
sk_memory_block (gsize size)
{
  Block *block;

  if (is_small (size))
    return g_bytes_new_take (g_malloc (MAX (size, 1)), size);
  block = g_new (Block, 1);
  block->n = pages_of (size);
  block->pages = take_pages (block->n);
  return g_bytes_new_with_free_func (block->pages, size, block_free, block);
}

void
sk_slab_init (SkSlab *self, gsize size)
{
  self->block = size > 0 ? sk_memory_block (size) : NULL;
  self->used = 0;
}

void
sk_slab_clear (SkSlab *self)
{
  g_clear_pointer (&self->block, g_bytes_unref);
}

guint8 *
sk_slab_room (SkSlab *self, gsize len)
{
  gsize size;
  guint8 *data;

  if (self->block == NULL)
    return NULL;
  data = (guint8 *) g_bytes_get_data (self->block, &size);
  return len <= size - self->used ? data + self->used : NULL;
}

GBytes *
sk_slab_take (SkSlab *self, gsize len)
{
  GBytes *taken = g_bytes_new_from_bytes (self->block, self->used, len);

  self->used += len;
  return taken;
}
