/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-care.h"

#include "sk-gc.h"
#include "sk-options.h"
#include "sk-target.h"

#define DAY_US (G_GINT64_CONSTANT (86400) * G_USEC_PER_SEC)
#define WINDOW 1000u
#define SWEEP_ROWS 20000u                /* of one transaction: others wait for it */

typedef struct
{
  const SkFlowFolder *folder;
  gint64 keep_us;
  GHashTable *wanted;            /* SkHash: contents that are still to be written here */
} Expiry;

static gboolean
add_wanted (SkSession *session, Expiry *expiry, const SkNode *node, GError **error)
{
  g_autoptr(SkVersion) version = NULL;

  if (node->target.kind != SK_KIND_FILE || node->target.version == 0)
    return TRUE;
  version = sk_index_version (session->index, node->target.version, error);
  if (version == NULL)
    return FALSE;
  g_hash_table_add (expiry->wanted, g_memdup2 (&version->entry->content, sizeof (SkHash)));
  return TRUE;
}

/* Index thread. */
static gboolean
look (SkSession *session, gpointer data, GError **error)
{
  Expiry *expiry = data;
  gint64 after = 0;

  expiry->keep_us = MAX (1, sk_option_number (session, SK_SETTING_FOLDER, &expiry->folder->id, "trash-days")) * DAY_US;
  do
    {
      g_autoptr(GPtrArray) dirty = sk_index_dirty (session->index, expiry->folder->row, after, WINDOW, error);

      if (dirty == NULL)
        return FALSE;
      after = dirty->len == WINDOW ? ((SkNode *) dirty->pdata[WINDOW - 1])->row : 0;
      for (guint i = 0; i < dirty->len; i++)
        if (!add_wanted (session, expiry, dirty->pdata[i], error))
          return FALSE;
    }
  while (after != 0);
  return TRUE;
}

guint
sk_care_expire (SkSession *session, GCancellable *cancellable)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  gint64 now = sk_clock_wall (session->clock);
  guint removed = 0;

  for (guint i = 0; i < config->folders->len && !g_cancellable_is_cancelled (cancellable); i++)
    {
      const SkFlowFolder *folder = config->folders->pdata[i];
      g_autoptr(GHashTable) wanted = g_hash_table_new_full (sk_hash_hash, sk_hash_equal_func, g_free, NULL);
      Expiry expiry = { .folder = folder, .wanted = wanted };
      g_autoptr(GError) error = NULL;

      if (folder->root == NULL)
        continue;
      if (!sk_session_index (session, look, &expiry, &error))
        {
          g_message ("the trash of “%s” was not looked through: %s", folder->name, error->message);
          continue;
        }
      removed += sk_trash_expire (folder->root, now, expiry.keep_us, cancellable);
      sk_partial_expire (folder->root, wanted, now);
    }
  return removed;
}

typedef struct { guint removed; } Sweep;

/* Index thread, in a transaction. */
static gboolean
sweep_some (SkSession *session, gpointer data, GError **error)
{
  return sk_index_sweep (session->index, sk_session_wall (session) - SK_GC_RETENTION_S, SWEEP_ROWS, &((Sweep *) data)->removed, error);
}

gboolean
sk_care_sweep (SkSession *session, GCancellable *cancellable, GError **error)
{
  Sweep sweep;

  do
    {
      if (g_cancellable_set_error_if_cancelled (cancellable, error) || !sk_session_transact (session, sweep_some, &sweep, error))
        return FALSE;
    }
  while (sweep.removed >= SWEEP_ROWS);
  return TRUE;
}
