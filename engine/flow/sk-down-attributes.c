/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended attributes that a disk does not take: the file is there without them (sk-attributes.h). */
#include "sk-attributes.h"
#include "sk-down-private.h"
#include "sk-split.h"

void
sk_down_attributes_look (SkRoot *root, SkDownItem *item)
{
  g_autoptr(GBytes) here = NULL;

  if (!item->placed || item->left_out == 0)
    return;
  here = sk_local_read_xattrs (root, item->path, NULL);
  sk_attributes_hash (here, &item->xattrs_here);
}

/* What of the attributes is not on the disk is no change of the person. */
gboolean
sk_down_attributes_note (SkSession *session, SkDownItem *item, GError **error)
{
  const SkNode *node = item->node;
  SkAttributesMark mark = { .why = SK_ATTRIBUTES_LEFT_OUT, .here = item->xattrs_here };
  gboolean has_mark = item->left_out != 0;

  if (node->target.kind != SK_KIND_FILE || item->action == SK_APPLY_META || item->entry == NULL || item->entry->xattrs == NULL)
    return TRUE;
  if (item->move_node != NULL)
    has_mark = sk_attributes_mark (session, node->folder, item->move_node->row, &mark);
  return has_mark ? sk_attributes_set_mark (session, node->folder, node->row, &mark, error)
                  : sk_attributes_clear_mark (session, node->folder, node->row, error);
}

void
sk_down_attributes_tell (SkDown *self, SkFlowFolder *folder, GPtrArray *items)
{
  const SkDownItem *first = NULL;
  guint n = 0;

  for (guint i = 0; i < items->len; i++)
    {
      const SkDownItem *item = items->pdata[i];

      if (!item->placed || item->left_out == 0)
        continue;
      first = first != NULL ? first : item;
      n++;
    }
  if (first != NULL)
    sk_attributes_tell (self->session, folder, first->path, n - 1, SK_ATTRIBUTES_LEFT_OUT, first->left_out);
}
