/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-merge.h"

/* --- decisions, every combination of facts against the rules one by one --- */

/* Written as the rules are, not as the function is: the first rule that applies decides. */
static SkLocalVerdict
expected_verdict (const SkLocalFacts *f)
{
  gboolean disk = f->disk_kind != SK_KIND_NONE;
  gboolean base = f->base_kind != SK_KIND_NONE;
  gboolean target = f->target_kind != SK_KIND_NONE && f->target_kind != SK_KIND_TOMBSTONE;

  /* nothing there and nothing expected */
  if (!disk && !base)
    return SK_LOCAL_SAME;
  /* gone here: a deletion, unless the others deleted it as well */
  if (!disk && base && target)
    return SK_LOCAL_DELETE;
  if (!disk && base && !target)
    return SK_LOCAL_FORGET;
  /* as it was, but for metadata */
  if (disk && base && f->content_equals_base && f->meta_equals_base)
    return SK_LOCAL_STAT_ONLY;
  if (disk && base && f->content_equals_base && !f->meta_equals_base)
    return SK_LOCAL_META;
  /* what the others have as well */
  if (disk && target && f->content_equals_target)
    return SK_LOCAL_ADOPT;
  /* changed here */
  if (disk && base)
    return SK_LOCAL_CONTENT;
  /* made anew where it was deleted */
  if (disk && !base && f->base_deleted)
    return SK_LOCAL_CONTENT;
  /* A6: an old version is that version; but where nothing lives, adopting it would delete it */
  if (disk && !base && target && f->content_equals_known)
    return SK_LOCAL_ADOPT;
  /* A6: the rest of a first contact takes no names */
  if (disk && !base && f->first_contact)
    return SK_LOCAL_UNION;
  return SK_LOCAL_CONTENT;
}

static void
test_local_table (void)
{
  static const SkKind disks[] = { SK_KIND_NONE, SK_KIND_FILE, SK_KIND_DIR, SK_KIND_SYMLINK };
  static const SkKind targets[] = { SK_KIND_NONE, SK_KIND_FILE, SK_KIND_DIR, SK_KIND_SYMLINK, SK_KIND_TOMBSTONE };
  guint n = 0;

  for (guint disk = 0; disk < G_N_ELEMENTS (disks); disk++)
    for (guint base = 0; base < G_N_ELEMENTS (disks); base++)
      for (guint target = 0; target < G_N_ELEMENTS (targets); target++)
        for (guint bits = 0; bits < 64; bits++)
          {
            SkLocalFacts f = {
              .disk_kind = disks[disk], .base_kind = disks[base], .target_kind = targets[target],
              .content_equals_base = (bits & 1) != 0, .content_equals_target = (bits & 2) != 0,
              .content_equals_known = (bits & 4) != 0, .meta_equals_base = (bits & 8) != 0,
              .base_deleted = (bits & 16) != 0, .first_contact = (bits & 32) != 0,
            };

            /* Facts that cannot be: the content hash covers the kind. */
            if ((f.content_equals_base && f.disk_kind != f.base_kind) || (f.content_equals_target && f.disk_kind != f.target_kind)
                || (f.base_deleted && f.base_kind != SK_KIND_NONE))
              continue;
            g_assert_cmpint (sk_merge_local (&f), ==, expected_verdict (&f));
            n++;
          }
  g_test_message ("%u combinations", n);
  g_assert_cmpuint (n, ==, 1200);
}

typedef struct { const char *when; SkLocalFacts facts; SkLocalVerdict verdict; } LocalRow;

static void
check_local (const LocalRow *rows, guint n)
{
  for (guint i = 0; i < n; i++)
    if (sk_merge_local (&rows[i].facts) != rows[i].verdict)
      g_error ("%s: got %d", rows[i].when, (int) sk_merge_local (&rows[i].facts));
}

#define FILE3 .disk_kind = SK_KIND_FILE, .base_kind = SK_KIND_FILE, .target_kind = SK_KIND_FILE
#define NO_BASE .disk_kind = SK_KIND_FILE, .base_kind = SK_KIND_NONE

static void
test_local_named_cases (void)
{
  static const LocalRow rows[] = {
    { "edited while a newer version is on its way", { FILE3 }, SK_LOCAL_CONTENT },
    { "edited to what the others have", { FILE3, .content_equals_target = TRUE }, SK_LOCAL_ADOPT },
    { "written here, and cut off before the base followed", { FILE3, .content_equals_known = TRUE, .content_equals_later = TRUE }, SK_LOCAL_ADOPT },
    { "put back to an older version by hand", { FILE3, .content_equals_known = TRUE }, SK_LOCAL_CONTENT },
    { "chmod while a newer version is on its way", { FILE3, .content_equals_base = TRUE }, SK_LOCAL_META },
    { "deleted while a newer version is on its way",
      { .base_kind = SK_KIND_FILE, .target_kind = SK_KIND_FILE }, SK_LOCAL_DELETE },
    { "deleted on both", { .base_kind = SK_KIND_FILE, .target_kind = SK_KIND_NONE }, SK_LOCAL_FORGET },
    { "a file where a directory was", { .disk_kind = SK_KIND_FILE, .base_kind = SK_KIND_DIR, .target_kind = SK_KIND_DIR },
      SK_LOCAL_CONTENT },
    { "a link where a file was", { .disk_kind = SK_KIND_SYMLINK, .base_kind = SK_KIND_FILE, .target_kind = SK_KIND_FILE },
      SK_LOCAL_CONTENT },
    { "a new file", { NO_BASE }, SK_LOCAL_CONTENT },
    { "a directory both have", { .disk_kind = SK_KIND_DIR, .target_kind = SK_KIND_DIR, .content_equals_target = TRUE },
      SK_LOCAL_ADOPT },
  };

  check_local (rows, G_N_ELEMENTS (rows));
}

static void
test_local_first_contact (void)
{
  static const LocalRow rows[] = {
    { "unknown content", { NO_BASE, .target_kind = SK_KIND_FILE, .first_contact = TRUE }, SK_LOCAL_UNION },
    { "unknown path", { NO_BASE, .first_contact = TRUE }, SK_LOCAL_UNION },
    { "the current version", { NO_BASE, .target_kind = SK_KIND_FILE, .content_equals_target = TRUE, .first_contact = TRUE },
      SK_LOCAL_ADOPT },
    { "a stale version", { NO_BASE, .target_kind = SK_KIND_FILE, .content_equals_known = TRUE, .first_contact = TRUE },
      SK_LOCAL_ADOPT },
    { "a version deleted since: nothing is deleted at a first contact",
      { NO_BASE, .target_kind = SK_KIND_NONE, .content_equals_known = TRUE, .first_contact = TRUE }, SK_LOCAL_UNION },
  };

  check_local (rows, G_N_ELEMENTS (rows));
}

/* mv away and back, a checkout of another branch, a file taken out of the trash: the bytes are known, but they are wanted. */
static void
test_local_brought_back (void)
{
  static const LocalRow rows[] = {
    { "deleted here, put back", { NO_BASE, .base_deleted = TRUE, .content_equals_known = TRUE }, SK_LOCAL_CONTENT },
    { "the same, while others made it anew",
      { NO_BASE, .target_kind = SK_KIND_FILE, .base_deleted = TRUE, .content_equals_known = TRUE }, SK_LOCAL_CONTENT },
    { "the same, in a first contact", { NO_BASE, .base_deleted = TRUE, .content_equals_known = TRUE, .first_contact = TRUE },
      SK_LOCAL_CONTENT },
    { "deleted elsewhere before it ever was here", { NO_BASE, .content_equals_known = TRUE }, SK_LOCAL_CONTENT },
  };

  check_local (rows, G_N_ELEMENTS (rows));
}

static void
test_apply_table (void)
{
  static const SkKind kinds[] = { SK_KIND_NONE, SK_KIND_FILE, SK_KIND_DIR, SK_KIND_SYMLINK };
  /* by base and target, in the order of @kinds; '=': equal kinds, looked at below */
  static const SkApply table[4][4] = {
    { SK_APPLY_NOTHING, SK_APPLY_WRITE, SK_APPLY_MKDIR, SK_APPLY_SYMLINK },
    { SK_APPLY_TRASH, SK_APPLY_WRITE, SK_APPLY_REPLACE_KIND, SK_APPLY_REPLACE_KIND },
    { SK_APPLY_TRASH, SK_APPLY_REPLACE_KIND, SK_APPLY_NOTHING, SK_APPLY_REPLACE_KIND },
    { SK_APPLY_TRASH, SK_APPLY_REPLACE_KIND, SK_APPLY_REPLACE_KIND, SK_APPLY_SYMLINK },
  };

  for (guint base = 0; base < 4; base++)
    for (guint target = 0; target < 4; target++)
      for (guint bits = 0; bits < 4; bits++)
        {
          gboolean content = (bits & 1) != 0, meta = (bits & 2) != 0;
          SkApply expected = table[base][target];

          if (base == target && base != 0 && (content || kinds[base] == SK_KIND_DIR))
            expected = meta ? SK_APPLY_NOTHING : SK_APPLY_META;
          g_assert_cmpint (sk_merge_apply (kinds[base], kinds[target], content, meta), ==, expected);
        }
  g_assert_cmpint (sk_merge_apply (SK_KIND_FILE, SK_KIND_TOMBSTONE, FALSE, FALSE), ==, SK_APPLY_TRASH);
  g_assert_cmpint (sk_merge_apply (SK_KIND_TOMBSTONE, SK_KIND_FILE, FALSE, FALSE), ==, SK_APPLY_WRITE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/merge/local/table", test_local_table);
  g_test_add_func ("/merge/local/rule-a1/named-cases", test_local_named_cases);
  g_test_add_func ("/merge/local/rule-a6/first-contact", test_local_first_contact);
  g_test_add_func ("/merge/local/brought-back", test_local_brought_back);
  g_test_add_func ("/merge/apply-table", test_apply_table);
  return g_test_run ();
}
