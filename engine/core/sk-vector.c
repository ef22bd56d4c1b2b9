/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-vector.h"

#include "sk-error.h"
#include "sk-limits.h"

#include <string.h>

struct _SkVector
{
  gatomicrefcount refs;
  guint length;
  SkVectorItem items[];
};

static SkVector *
vector_alloc (guint length)
{
  SkVector *self = g_malloc (sizeof *self + length * sizeof (SkVectorItem));

  g_atomic_ref_count_init (&self->refs);
  self->length = length;
  return self;
}

static int
compare_items (gconstpointer a, gconstpointer b)
{
  const SkVectorItem *x = a, *y = b;

  return sk_id_compare (&x->writer, &y->writer);
}

SkVector *
sk_vector_empty (void)
{
  return vector_alloc (0);
}

SkVector *
sk_vector_new (const SkVectorItem *items, guint n)
{
  SkVector *self = vector_alloc (n);

  if (n == 0)
    return self;
  memcpy (self->items, items, n * sizeof *items);
  qsort (self->items, n, sizeof *items, compare_items);
  for (guint i = 0; i < n; i++)
    {
      g_assert (self->items[i].counter > 0);
      g_assert (i == 0 || compare_items (&self->items[i - 1], &self->items[i]) < 0);
    }
  return self;
}

SkVector *
sk_vector_ref (SkVector *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
sk_vector_unref (SkVector *self)
{
  if (g_atomic_ref_count_dec (&self->refs))
    g_free (self);
}

guint
sk_vector_length (const SkVector *self)
{
  return self->length;
}

const SkVectorItem *
sk_vector_items (const SkVector *self)
{
  return self->items;
}

guint64
sk_vector_get (const SkVector *self, const SkId *writer)
{
  guint low = 0, high = self->length;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      int order = sk_id_compare (&self->items[middle].writer, writer);

      if (order == 0)
        return self->items[middle].counter;
      if (order < 0)
        low = middle + 1;
      else
        high = middle;
    }
  return 0;
}

/* One step of walking two vectors together: the counters of the lowest writer not yet seen, zero
 * where it is absent. */
static const SkId *
next_pair (const SkVector *a, const SkVector *b, guint *i, guint *j, guint64 *x, guint64 *y)
{
  const SkVectorItem *left = *i < a->length ? &a->items[*i] : NULL;
  const SkVectorItem *right = *j < b->length ? &b->items[*j] : NULL;
  int order;

  if (left == NULL && right == NULL)
    return NULL;
  order = left == NULL ? 1 : right == NULL ? -1 : sk_id_compare (&left->writer, &right->writer);
  *x = order <= 0 ? left->counter : 0;
  *y = order >= 0 ? right->counter : 0;
  if (order <= 0)
    (*i)++;
  if (order >= 0)
    (*j)++;
  return order <= 0 ? &left->writer : &right->writer;
}

SkOrder
sk_vector_compare (const SkVector *a, const SkVector *b)
{
  gboolean less = FALSE, more = FALSE;
  guint i = 0, j = 0;
  guint64 x, y;

  while (next_pair (a, b, &i, &j, &x, &y) != NULL)
    {
      less |= x < y;
      more |= x > y;
      if (less && more)
        return SK_ORDER_CONCURRENT;
    }
  if (less)
    return SK_ORDER_BEFORE;
  return more ? SK_ORDER_AFTER : SK_ORDER_EQUAL;
}

SkVector *
sk_vector_join (const SkVector *a, const SkVector *b)
{
  SkVector *self = vector_alloc (a->length + b->length);
  guint i = 0, j = 0, n = 0;
  const SkId *writer;
  guint64 x, y;

  while ((writer = next_pair (a, b, &i, &j, &x, &y)) != NULL)
    self->items[n++] = (SkVectorItem) { *writer, MAX (x, y) };
  self->length = n;
  return self;
}

SkVector *
sk_vector_with (const SkVector *self, const SkId *writer, guint64 counter)
{
  SkVector *single = sk_vector_new (&(SkVectorItem) { *writer, counter }, 1);
  SkVector *result;

  g_assert (counter > sk_vector_get (self, writer));
  result = sk_vector_join (self, single);
  sk_vector_unref (single);
  return result;
}

GBytes *
sk_vector_encode (const SkVector *self)
{
  g_auto(SkWriter) writer = { 0 };

  sk_writer_init (&writer);
  sk_writer_varint (&writer, self->length);
  for (guint i = 0; i < self->length; i++)
    {
      sk_writer_id (&writer, &self->items[i].writer);
      sk_writer_varint (&writer, self->items[i].counter);
    }
  return sk_writer_finish (&writer);
}

SkVector *
sk_vector_decode (const guint8 *data, gsize len, GError **error)
{
  g_autoptr(SkVector) self = NULL;
  SkReader reader;
  guint n;

  sk_reader_init (&reader, data, len);
  n = (guint) sk_reader_varint (&reader, SK_VECTOR_MAX);
  /* Each item is at least 17 bytes: the count cannot ask for more memory than that many bytes
   * justify. */
  if (reader.failed || n > sk_reader_left (&reader) / (sizeof (SkId) + 1))
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "A version vector is damaged: its length is impossible"),
           NULL;

  self = vector_alloc (n);
  for (guint i = 0; i < n; i++)
    {
      SkVectorItem *item = &self->items[i];

      sk_reader_id (&reader, &item->writer);
      item->counter = sk_reader_varint (&reader, SK_COUNTER_MAX);
      if (reader.failed || item->counter == 0 || (i > 0 && compare_items (item - 1, item) >= 0))
        return sk_fail (error, SK_ERROR_CORRUPT,
                        "A version vector is damaged: its items are out of order or bounds"),
               NULL;
    }
  if (!sk_reader_done (&reader))
    return sk_fail (error, SK_ERROR_CORRUPT, "A version vector is damaged: bytes are left over"),
           NULL;
  return g_steal_pointer (&self);
}
