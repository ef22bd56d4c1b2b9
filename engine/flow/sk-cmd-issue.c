/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sk-activity.h"
#include "sk-command.h"
#include "sk-known-root.h"
#include "sk-invite-serve.h"
#include "sk-issues.h"
#include "sk-report.h"

GVariant *
sk_cmd_issues (SkCommand *self, GError **error)
{
  g_autoptr(GVariant) part = g_variant_ref_sink (sk_report_part (self->session, "issues", error));
  g_autoptr(GVariant) list = g_variant_lookup_value (part, "issues", NULL);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "issues", list != NULL ? list : g_variant_new ("aa{sv}", NULL));
  g_variant_builder_add (&builder, "{sv}", "attention", g_variant_new_boolean (list != NULL && g_variant_n_children (list) > 0));
  return g_variant_builder_end (&builder);
}

typedef struct
{
  gint64 id;
  SkIssueRow *found;
  guint left;
  gboolean clear;
} FindCall;

static gboolean
find_issue (SkSession *session, gpointer data, GError **error)
{
  FindCall *call = data;
  g_autoptr(GPtrArray) issues = sk_issues_list (session, error);

  if (issues == NULL)
    return FALSE;
  call->left = issues->len;
  for (guint i = 0; call->found == NULL && i < issues->len; i++)
    if (((SkIssueRow *) issues->pdata[i])->row == call->id)
      {
        call->found = g_ptr_array_steal_index (issues, i);
        i--;
      }
  return TRUE;
}

typedef struct
{
  gint64 folder;
  gboolean yes;
  GPtrArray *records;
} IncomingCall;

static gboolean
carry_out_incoming (SkSession *session, gpointer data, GError **error)
{
  IncomingCall *call = data;

  if (call->yes)
    return sk_mass_accept (session, call->folder, error);
  return sk_mass_refuse (session, call->folder, call->records, error) && sk_log_append (session, call->records, error);
}

static gboolean
decide_incoming (SkCommand *self, const SkIssueRow *issue, gboolean yes, GError **error)
{
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  IncomingCall call = { .folder = issue->folder, .yes = yes, .records = records };

  if (!sk_session_transact (self->session, carry_out_incoming, &call, error))
    return FALSE;
  sk_session_settle_issue (self->session, issue->key);
  sk_up_publish (self->session->up);
  sk_down_wake (self->session->down);
  return TRUE;
}

GVariant *
sk_cmd_resolve (SkCommand *self, GError **error)
{
  const char *choice = sk_args_string (self->args, "choice", "");
  FindCall call = { .id = (gint64) sk_args_number (self->args, "issue") }, after = { .id = -1 };
  GVariantBuilder builder;
  gboolean ok = TRUE;
  gboolean yes = g_str_equal (choice, "accept");

  if (!sk_session_index (self->session, find_issue, &call, error))
    return NULL;
  if (call.found == NULL)
    {
      sk_fail (error, SK_ERROR_NOT_FOUND, "there is no open issue %" G_GINT64_FORMAT, call.id);
      return NULL;
    }
  if (g_str_has_prefix (call.found->key, "mass-change-in:") && (yes || g_str_equal (choice, "refuse")))
    ok = decide_incoming (self, call.found, yes, error);
  else if (g_str_equal (call.found->kind, "mass-change") && (yes || g_str_equal (choice, "refuse")))
    sk_up_confirm (self->session->up, call.found->folder, yes);
  else if (g_str_equal (call.found->kind, "newcomer") && (yes || g_str_equal (choice, "refuse")))
    ok = sk_invites_resolve (self->session->invites, call.found->key, yes, self->cancellable, error);
  else if (g_str_equal (call.found->kind, "local-changes") && (yes || g_str_equal (choice, "refuse")))
    sk_up_decide_local (self->session->up, call.found->folder, yes);
  else if (g_str_equal (call.found->kind, "folder-missing") && yes)
    ok = sk_known_root_accept (self->session, call.found->folder, error);
  else if (g_str_equal (call.found->kind, "folder-copy") && yes)
    ok = sk_known_root_accept_copy (self->session, call.found->folder, error);
  else if (g_str_equal (choice, "retry"))
    sk_issues_settle_together (self->session, call.found->key);
  else
    ok = sk_fail (error, SK_ERROR_USAGE, "“%s” is no way to resolve this issue; see 'skerryctl issues'", choice);
  if (ok && !g_str_equal (choice, "retry"))
    sk_activity_note (self->session, call.found->folder, "decision", call.found->path, "%s: %s", choice, call.found->text);
  sk_issue_row_free (call.found);
  if (!ok || !sk_command_reload (self, error) || !sk_session_index (self->session, find_issue, &after, error))
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "left", g_variant_new_uint32 (after.left));
  g_variant_builder_add (&builder, "{sv}", "attention", g_variant_new_boolean (after.left > 0));
  return g_variant_builder_end (&builder);
}
