/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-memory.h"

#include <stdio.h>
#include <string.h>

#define MIB ((gsize) 1 << 20)

static GBytes *
filled (gsize size, int with)
{
  GBytes *block = sk_memory_block (size);
  gsize len;

  memset ((gpointer) g_bytes_get_data (block, &len), with, size);
  g_assert_cmpuint (len, ==, size);
  return block;
}

static void
assert_filled (GBytes *block, guint8 with)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (block, &len);

  for (gsize i = 0; i < len; i += MIB / 4)
    g_assert_cmpuint (data[i], ==, with);
  g_assert_cmpuint (data[len - 1], ==, with);
}

/* Blocks of all sizes do not overlap, also when freed ones are used again. */
static void
test_blocks (void)
{
  const gsize sizes[] = { 1, 4096, MIB - 1, MIB, 2 * MIB, 2 * MIB + 1, 8 * MIB, 33 * MIB };
  GBytes *blocks[G_N_ELEMENTS (sizes)];

  for (guint round = 0; round < 4; round++)
    {
      for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
        blocks[i] = filled (sizes[i], (int) (round * 16 + i));
      for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
        assert_filled (blocks[i], (guint8) (round * 16 + i));
      for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
        g_bytes_unref (blocks[i]);
      if (round == 1)
        sk_memory_give_back ();
    }
}

static gsize
resident (void)
{
  g_autofree char *text = NULL;
  unsigned long all, used;

  g_assert_true (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL));
  g_assert_cmpint (sscanf (text, "%lu %lu", &all, &used), ==, 2);
  return used * 4096;
}

/* No more than 64 MiB are kept, and nothing after it was given back. */
static void
test_kept (void)
{
  GBytes *blocks[20];
  gsize before = resident ();

  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = filled (8 * MIB, 7);
  g_assert_cmpuint (resident (), >=, before + 150 * MIB);
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    g_bytes_unref (blocks[i]);
#ifndef __SANITIZE_ADDRESS__
  g_assert_cmpuint (resident (), <=, before + 80 * MIB);
  sk_memory_give_back ();
  g_assert_cmpuint (resident (), <=, before + 10 * MIB);
#endif
}

/* Things of one slab live as long as the last of them; what does not fit gets no room. */
static void
test_slab (void)
{
  SkSlab slab;
  GBytes *parts[3];

  sk_slab_init (&slab, 3 * MIB);
  g_assert_null (sk_slab_room (&slab, 3 * MIB + 1));
  for (guint i = 0; i < 3; i++)
    {
      memset (sk_slab_room (&slab, MIB), (int) i, MIB);
      parts[i] = sk_slab_take (&slab, MIB);
    }
  g_assert_null (sk_slab_room (&slab, 1));
  g_assert_nonnull (sk_slab_room (&slab, 0));
  sk_slab_clear (&slab);
  for (guint i = 0; i < 3; i++)
    assert_filled (parts[i], (guint8) i);
  g_bytes_unref (parts[0]);
  g_bytes_unref (parts[2]);
  assert_filled (parts[1], 1);
  g_bytes_unref (parts[1]);

  sk_slab_init (&slab, 0);
  g_assert_null (sk_slab_room (&slab, 1));
  sk_slab_clear (&slab);
}

static gpointer
churn (gpointer data)
{
  for (guint i = 0; i < 200; i++)
    {
      GBytes *block = filled ((1 + i % 5) * MIB, GPOINTER_TO_INT (data));

      g_thread_yield ();
      assert_filled (block, (guint8) GPOINTER_TO_INT (data));
      g_bytes_unref (block);
    }
  return NULL;
}

static void
test_threads (void)
{
  GThread *threads[4];

  for (gssize i = 0; i < 4; i++)
    threads[i] = g_thread_new ("churn", churn, GINT_TO_POINTER ((int) i + 1));
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/blocks", test_blocks);
  g_test_add_func ("/memory/kept", test_kept);
  g_test_add_func ("/memory/slab", test_slab);
  g_test_add_func ("/memory/threads", test_threads);
  return g_test_run ();
}
