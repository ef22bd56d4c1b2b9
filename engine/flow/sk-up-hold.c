/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An engine that watches meets a large removal in parts: while 'rm' goes on, the first files are quiet already, and a pass sees what is missing
 * when it looks. Judged in parts, the first ones would pass as small, and 'refuse' could not bring them back. So what is lost waits until no more
 * of it comes (C17). What was only renamed does not: the other devices are to see both names in one go. Up thread. */
#include "sk-up-scan.h"

#define QUIET_US (2 * G_TIME_SPAN_SECOND)
/* Something that never stops removing does not keep its removals to itself. */
#define PATIENCE_US (60 * G_TIME_SPAN_SECOND)

#define HOLDERS_MAX 64u         /* names of one content that are looked at */

void
sk_up_hold_end (SkUpFolder *folder)
{
  folder->held_since = folder->held_until = 0;
  folder->held = 0;
  folder->held_looked = FALSE;
}

gboolean
sk_up_hold_any (SkUp *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((SkUpFolder *) value)->held_until != 0)
      return TRUE;
  return FALSE;
}

/* Who asks for a pass, or has decided, waits for its end. */
static gboolean
may_hold (SkUp *self, SkUpFolder *folder)
{
  return self->session->watch && g_queue_is_empty (&self->requests) && !folder->confirmed && !folder->refused && !folder->publish
         && sk_up_may_publish (folder);
}

/* --- what was renamed --- */

typedef struct
{
  SkUpFolder *folder;
  GPtrArray *moved;              /* SkFound, out of the folder's @gone */
} MovedCall;

/* The same file, by the numbers a rename keeps. */
static gboolean
is_renamed (SkSession *session, const SkFound *found, gboolean *renamed, GError **error)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (session->index, found->node, error);
  g_autoptr(GPtrArray) holders = NULL;

  *renamed = FALSE;
  if (node == NULL)
    return FALSE;
  if (node->base.btime == 0)
    return TRUE;
  holders = sk_index_nodes_by_content (session->index, found->base_content, HOLDERS_MAX, error);
  if (holders == NULL)
    return FALSE;
  for (guint i = 0; i < holders->len && !*renamed; i++)
    {
      const SkNode *other = holders->pdata[i];

      *renamed = other->row != node->row && other->folder == node->folder && other->base.ino == node->base.ino && other->base.btime == node->base.btime;
    }
  return TRUE;
}

/* Index thread. Each is asked about once. */
static gboolean
pick_moved (SkSession *session, gpointer data, GError **error)
{
  MovedCall *call = data;
  GPtrArray *gone = call->folder->gone;
  g_autoptr(GHashTable) missing = g_hash_table_new (g_int64_hash, g_int64_equal);
  guint kept = 0;

  for (guint i = 0; i < gone->len; i++)
    g_hash_table_add (missing, &((SkFound *) gone->pdata[i])->node);
  for (guint i = 0; i < gone->len; i++)
    {
      SkFound *found = gone->pdata[i];
      gboolean is_new = !found->weighed && found->base_kind == SK_KIND_FILE, elsewhere = FALSE;

      found->weighed = TRUE;
      if (is_new
          && (!sk_index_content_is_elsewhere (session->index, found->folder, found->base_content, missing, HOLDERS_MAX, &elsewhere, error)
              || (elsewhere && !is_renamed (session, found, &found->renamed, error))))
        return FALSE;
      found->moved_away |= found->renamed;
    }
  for (guint i = 0; i < gone->len; i++)
    {
      SkFound *found = gone->pdata[i];

      /* Others whose content has another name may be part of what is asked about. */
      if (found->renamed)
        g_ptr_array_add (call->moved, found);
      else
        gone->pdata[kept++] = found;
    }
  /* What stands behind the kept ones has another owner now. */
  for (guint i = kept; i < gone->len; i++)
    gone->pdata[i] = NULL;
  g_ptr_array_set_size (gone, (int) kept);
  return TRUE;
}

/* Directories alone are none. */
static gboolean
has_loss (const SkUpFolder *folder)
{
  gboolean loss = folder->suspects->len > 0;

  for (guint i = 0; i < folder->gone->len && !loss; i++)
    loss = ((SkFound *) folder->gone->pdata[i])->base_kind == SK_KIND_FILE;
  return loss;
}

/* --- holding --- */

/* TRUE while more may come. */
static gboolean
is_growing (SkUpFolder *folder, gint64 now)
{
  guint n = folder->gone->len + folder->suspects->len;

  if (folder->held_since == 0)
    folder->held_since = now;
  if (n > folder->held)
    {
      folder->held_until = MIN (now + QUIET_US, folder->held_since + PATIENCE_US);
      folder->held_looked &= now >= folder->held_until;
    }
  folder->held = n;
  return now < folder->held_until;
}

SkUpHold
sk_up_hold (SkUp *self, SkUpFolder *folder, GError **error)
{
  if (may_hold (self, folder))
    {
      g_autoptr(GPtrArray) moved = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_found_free);
      MovedCall call = { .folder = folder, .moved = moved };

      if (!sk_session_index (self->session, pick_moved, &call, error))
        return SK_UP_HOLD_FAILED;
      if (moved->len > 0)
        {
          sk_up_scan_add (self, folder, moved);
          return SK_UP_HOLD_MOVED;
        }
      if (has_loss (folder) && is_growing (folder, sk_clock_now (self->session->clock)))
        return SK_UP_HOLD_ON;
    }
  if (folder->held_until == 0 || folder->held_looked)
    return SK_UP_HOLD_OVER;
  /* It was looked for long ago: what was put there meanwhile is not missing. */
  folder->held_looked = TRUE;
  for (guint i = 0; i < folder->gone->len; i++)
    ((SkFound *) folder->gone->pdata[i])->looked_again = FALSE;
  return sk_up_absent_look (self, folder) ? SK_UP_HOLD_ON : SK_UP_HOLD_OVER;
}
