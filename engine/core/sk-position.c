/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-position-private.h"

#include "sk-error.h"
#include "sk-limits.h"

static int
compare_positions (gconstpointer a, gconstpointer b)
{
  return sk_id_compare (&((const SkPosition *) a)->writer, &((const SkPosition *) b)->writer);
}

static gboolean
ascends (GArray *positions, guint i)
{
  return i == 0
         || compare_positions (&g_array_index (positions, SkPosition, i - 1),
                               &g_array_index (positions, SkPosition, i))
                < 0;
}

void
sk_position_put (SkWriter *w, const SkPosition *position)
{
  sk_writer_id (w, &position->writer);
  sk_writer_varint (w, position->seq);
  sk_writer_hash (w, &position->hash);
}

gboolean
sk_position_get (SkReader *r, SkPosition *out)
{
  sk_reader_id (r, &out->writer);
  out->seq = sk_reader_varint (r, SK_SEQ_MAX);
  sk_reader_hash (r, &out->hash);
  return !r->failed && out->seq > 0;
}

GArray *
sk_positions_sorted (GArray *positions)
{
  GArray *sorted = positions != NULL ? g_array_copy (positions)
                                     : g_array_new (FALSE, FALSE, sizeof (SkPosition));

  g_array_sort (sorted, compare_positions);
  return sorted;
}

gboolean
sk_positions_put (SkWriter *w, GArray *positions, GError **error)
{
  g_autoptr(GArray) sorted = sk_positions_sorted (positions);

  if (sorted->len > SK_POSITIONS_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "A list of log positions is too long");
  sk_writer_varint (w, sorted->len);
  for (guint i = 0; i < sorted->len; i++)
    {
      const SkPosition *position = &g_array_index (sorted, SkPosition, i);

      if (position->seq == 0 || position->seq > SK_SEQ_MAX || !ascends (sorted, i))
        return sk_fail (error, SK_ERROR_CORRUPT,
                        "A list of log positions names a writer twice or an impossible number");
      sk_position_put (w, position);
    }
  return TRUE;
}

GArray *
sk_positions_get (SkReader *r)
{
  g_autoptr(GArray) positions = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  guint n = (guint) sk_reader_varint (r, SK_POSITIONS_MAX);

  for (guint i = 0; i < n; i++)
    {
      SkPosition position;

      if (!sk_position_get (r, &position))
        return NULL;
      g_array_append_val (positions, position);
      if (!ascends (positions, i))
        return NULL;
    }
  return r->failed ? NULL : g_steal_pointer (&positions);
}

const SkPosition *
sk_positions_find (GArray *positions, const SkId *writer)
{
  for (guint i = 0; positions != NULL && i < positions->len; i++)
    if (sk_id_equal (&g_array_index (positions, SkPosition, i).writer, writer))
      return &g_array_index (positions, SkPosition, i);
  return NULL;
}
