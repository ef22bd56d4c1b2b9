/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking back what was changed on this disk: it goes to the trash, the base is forgotten, and the way down brings what the vault has. */
#include "sk-up-scan.h"

#include "sk-target.h"
#include "sk-test-hooks.h"

#include <string.h>

typedef struct
{
  GPtrArray *done;               /* SkFound */
  gboolean left;                 /* one of them is not as it was found any more */
} RevertCall;

/* Index thread, in a transaction. */
static gboolean
forget_bases (SkSession *session, gpointer data, GError **error)
{
  RevertCall *call = data;

  for (guint i = 0; i < call->done->len; i++)
    {
      SkFound *found = call->done->pdata[i];
      g_autoptr(GError) local = NULL;
      g_autoptr(SkNode) node = sk_index_node (session->index, found->folder, found->path, &local);
      SkBase base = { .kind = SK_KIND_NONE };

      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (node == NULL)
        continue;
      if (node->generation != found->generation)
        {
          call->left = TRUE;
          continue;
        }
      if (found->what == SK_FOUND_META)
        {
          /* The content is the wanted one: the base says what is there, and the way down mends mode and time. */
          base = node->base;
          base.mode = found->mode;
          base.mtime = node->base.kind == SK_KIND_DIR ? 0 : found->stat.mtime;
          base.stat_mtime = found->stat.mtime;
          base.ctime = found->stat.ctime;
        }
      if (!sk_index_set_base (session->index, node->row, &base, error))
        return FALSE;
    }
  return TRUE;
}

/* TRUE when the place is free now; what somebody wrote to meanwhile stays. */
static gboolean
clear_place (SkUp *self, SkUpFolder *folder, const SkFound *found, const char *batch)
{
  g_autoptr(GError) error = NULL;
  SkStat now;

  if (found->what == SK_FOUND_META || found->stat.kind == SK_KIND_NONE)
    return TRUE;
  if (sk_target_remove (folder->flow->root, found->path, &found->stat, batch, &error))
    return TRUE;
  if (sk_root_stat (folder->flow->root, found->path, &now, NULL) && now.kind == SK_KIND_NONE && !now.special)
    return TRUE;
  g_ptr_array_add (self->failed, g_strdup_printf ("%s: it could not be taken back: %s", found->path, error->message));
  return FALSE;
}

/* Deepest first, so that a directory is empty when its turn comes. */
static int
by_path_backwards (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(SkFound *const *) b)->path, (*(SkFound *const *) a)->path);
}

gboolean
sk_up_revert (SkUp *self, SkUpFolder *folder, GPtrArray *founds)
{
  g_autofree char *batch = sk_trash_new_batch (sk_clock_wall (self->session->clock));
  g_autoptr(GPtrArray) sorted = g_ptr_array_new (), done = g_ptr_array_new ();
  g_autoptr(GError) error = NULL;
  RevertCall call = { .done = done };

  for (guint i = 0; i < founds->len; i++)
    g_ptr_array_add (sorted, founds->pdata[i]);
  g_ptr_array_sort (sorted, by_path_backwards);
  for (guint i = 0; i < sorted->len; i++)
    if (clear_place (self, folder, sorted->pdata[i], batch))
      g_ptr_array_add (done, sorted->pdata[i]);
  sk_test_stage ("revert");
  if (!sk_root_barrier (folder->flow->root, &error) || !sk_session_transact (self->session, forget_bases, &call, &error))
    {
      g_ptr_array_add (self->failed, g_strdup (error->message));
      return FALSE;
    }
  return !call.left;
}
