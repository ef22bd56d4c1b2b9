/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What wants the person. One row per thing in the index; what is told is one per thing or, when many things have the same cause, one
 * for all of them. An issue that the index cannot take is kept in memory. */
#pragma once
#include "sk-flow.h"

#define SK_ISSUES_GROUP_MIN 20u       /* from so many on they are told as one */
#define SK_ISSUES_STORED_MAX 1000u    /* of one cause; what is beyond comes up again when some of them are over */

typedef struct _SkIssues SkIssues;
SkIssues *sk_issues_new (void);
void sk_issues_free (SkIssues *self);
/* Index thread: learns what is open. */
gboolean sk_issues_load (SkSession *session, GError **error);
/* Index thread: what is to be told, of SkIssueRow in the order of the index. One that stands for many has no path. (transfer full) */
GPtrArray *sk_issues_list (SkSession *session, GError **error);
/* What sk_session_raise does, inside the transaction of something else. Index thread. */
gboolean sk_issues_raise_within (SkSession *session, const char *key, const char *kind, gint64 folder, const char *text, GError **error);
/* Settles @key and whatever is told together with it. Any thread but the index thread. */
void sk_issues_settle_together (SkSession *session, const char *key);
