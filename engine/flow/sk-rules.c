/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-rules.h"

#define RULES_NAME ".skerryignore"

SkIgnore *
sk_rules_read (SkSession *session, gint64 folder, const char *name, SkRoot *root, GError **error)
{
  g_autofree char *key = g_strdup_printf ("rules:%" G_GINT64_FORMAT, folder);
  g_autoptr(GError) local = NULL;
  SkIgnore *rules = sk_scan_read_ignore (root, &local);

  if (rules != NULL)
    {
      sk_session_settle_issue (session, key);
      return rules;
    }
  sk_session_raise (session, key, "ignore-rules", folder, RULES_NAME,
                    "The rules of “%s” (" RULES_NAME ") cannot be read: %s. Nothing in this folder is sent, written or removed until they can be. Make it "
                    "a text file that this program may read, or remove it if nothing is to be left out", name, local->message);
  sk_fail (error, local->code, "%s: " RULES_NAME " cannot be read (%s)", name, local->message);
  return NULL;
}
