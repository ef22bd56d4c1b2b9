/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Something that wants the person. Properties: number, kind, folder, text (strings but number);
 * path (exact bytes), display-path; since (time); choices (strings: for "resolve"). */
#pragma once
#include "sk-item.h"

#define SK_TYPE_ISSUE (sk_issue_get_type ())
G_DECLARE_FINAL_TYPE (SkIssue, sk_issue, SK, ISSUE, SkItem)
