/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-rules.h"

typedef struct { gint64 folder; gboolean coming; } ComingCall;

/* Index thread. */
static gboolean
look_for_rules (SkSession *session, gpointer data, GError **error)
{
  ComingCall *call = data;
  g_autoptr(SkFolderRow) row = sk_index_folder (session->index, call->folder);
  g_autoptr(SkNode) node = sk_index_node (session->index, call->folder, SK_RULES_NAME, NULL);

  call->coming = row != NULL && node != NULL && row->mode != SK_FOLDER_SEND && node->base.kind == SK_KIND_NONE
                 && node->target.kind == SK_KIND_FILE && node->dirty && node->hold == 0
                 && sk_only_match ((const char *const *) row->only, SK_RULES_NAME, FALSE);
  return TRUE;
}

gboolean
sk_rules_are_coming (SkSession *session, gint64 folder, SkRoot *root)
{
  ComingCall call = { .folder = folder };
  SkStat stat;

  if (!sk_root_stat (root, SK_RULES_NAME, &stat, NULL) || stat.kind != SK_KIND_NONE || stat.special)
    return FALSE;
  return sk_session_index (session, look_for_rules, &call, NULL) && call.coming;
}

SkIgnore *
sk_rules_read (SkSession *session, gint64 folder, const char *name, SkRoot *root, GError **error)
{
  g_autofree char *key = g_strdup_printf ("rules:%" G_GINT64_FORMAT, folder);
  g_autoptr(GError) local = NULL;
  g_autoptr(SkIgnore) rules = sk_scan_read_ignore (root, &local);

  if (rules != NULL && sk_rules_are_coming (session, folder, root))
    {
      sk_fail (error, SK_ERROR_BUSY, "%s: the rules that leave out files (" SK_RULES_NAME ") are not here yet; nothing is sent before", name);
      return NULL;
    }
  if (rules != NULL)
    {
      sk_session_settle_issue (session, key);
      return g_steal_pointer (&rules);
    }
  sk_session_raise (session, key, "ignore-rules", folder, SK_RULES_NAME,
                    "The rules of “%s” (" SK_RULES_NAME ") cannot be read: %s. Nothing in this folder is sent, written or removed until they can be. Make it "
                    "a text file that this program may read, or remove it if nothing is to be left out", name, local->message);
  sk_fail (error, local->code, "%s: " SK_RULES_NAME " cannot be read (%s)", name, local->message);
  return NULL;
}

void
sk_rules_stat (SkRoot *root, SkStat *out)
{
  *out = (SkStat) { 0 };
  /* What cannot be looked at cannot be read either, and reading says why. */
  if (!sk_root_stat (root, SK_RULES_NAME, out, NULL))
    *out = (SkStat) { 0 };
}
