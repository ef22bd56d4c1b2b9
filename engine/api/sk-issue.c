/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-issue.h"

struct _SkIssue { SkItem parent_instance; };
G_DEFINE_FINAL_TYPE (SkIssue, sk_issue, SK_TYPE_ITEM)

static const SkItemField fields[] = {
  { "number", SK_ITEM_NUMBER, "id", NULL },
  { "kind", SK_ITEM_STRING, "kind", NULL },
  { "folder", SK_ITEM_STRING, "folder", NULL },
  { "text", SK_ITEM_STRING, "text", NULL },
  { "path", SK_ITEM_FILENAME, "path", NULL },
  { "display-path", SK_ITEM_DISPLAY, "path", NULL },
  { "since", SK_ITEM_TIME, "since", NULL },
  { "choices", SK_ITEM_STRINGS, "choices", NULL },
  { NULL, SK_ITEM_STRING, NULL, NULL },
};

static void
sk_issue_class_init (SkIssueClass *class)
{
  sk_item_class_install (SK_ITEM_CLASS (class), fields);
}

static void
sk_issue_init (SkIssue *self)
{
}
