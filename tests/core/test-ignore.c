/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-glob.h"
#include "sk-ignore.h"
#include "sk-limits.h"

#include <string.h>

/* --- globs --- */

typedef struct { const char *pattern, *path; gboolean matches; } GlobRow;

static void
check_globs (const GlobRow *rows, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autoptr(SkGlob) glob = sk_glob_new (rows[i].pattern, strlen (rows[i].pattern));

      g_assert_nonnull (glob);
      if (sk_glob_match (glob, rows[i].path) != rows[i].matches)
        g_error ("pattern %s, path %s: expected %d", rows[i].pattern, rows[i].path, rows[i].matches);
    }
}

static void
test_glob_names (void)
{
  static const GlobRow rows[] = {
    { "a", "a", TRUE }, { "a", "b", FALSE }, { "a", "ab", FALSE }, { "ab", "a", FALSE }, { "a", "", FALSE },
    { "*", "anything", TRUE }, { "*", "", TRUE }, { "*", "a/b", FALSE }, { "*", ".hidden", TRUE },
    { "?", "a", TRUE }, { "?", "", FALSE }, { "?", "ab", FALSE }, { "??", "ab", TRUE },
    { "?", "\xc3\xa4", TRUE }, { "??", "\xc3\xa4", FALSE }, { "?", "\xff", TRUE }, { "?", "\xc3", TRUE },
    { "*.c", "x.c", TRUE }, { "*.c", ".c", TRUE }, { "*.c", "x.cc", FALSE }, { "*.c", "x.c.c", TRUE },
    { "a*b*c", "abc", TRUE }, { "a*b*c", "aXbYc", TRUE }, { "a*b*c", "aXbY", FALSE }, { "a*b*c", "abcbc", TRUE },
    { "*ab", "aab", TRUE }, { "*aab", "aaab", TRUE }, { "*a?c", "abcabbabc", TRUE },
    { "a**b", "axxb", TRUE }, { "a**b", "a/b", FALSE }, { "***", "ab", TRUE },
    { "\\*", "*", TRUE }, { "\\*", "x", FALSE }, { "a\\b", "ab", TRUE }, { "a\\\\b", "a\\b", TRUE },
    { "\\?", "?", TRUE }, { "\\[a]", "[a]", TRUE }, { "\\#", "#", TRUE }, { "\\!", "!", TRUE },
  };

  check_globs (rows, G_N_ELEMENTS (rows));
}

static void
test_glob_sets (void)
{
  static const GlobRow rows[] = {
    { "[abc]", "b", TRUE }, { "[abc]", "d", FALSE }, { "[a-c]", "b", TRUE }, { "[c-a]", "b", FALSE },
    { "[!a-c]", "d", TRUE }, { "[!a-c]", "b", FALSE }, { "[^a]", "b", TRUE }, { "[^a]", "a", FALSE },
    { "[]a]", "]", TRUE }, { "[!]a]", "]", FALSE }, { "[!]a]", "b", TRUE }, { "[a-]", "-", TRUE },
    { "[-a]", "-", TRUE }, { "[\\]]", "]", TRUE }, { "[a\\-c]", "b", FALSE }, { "[a\\-c]", "-", TRUE },
    { "[[]", "[", TRUE }, { "[[:digit:]]x", "5x", TRUE }, { "[[:digit:]]", "a", FALSE },
    { "[[:upper:][:digit:]]", "Q", TRUE }, { "[![:space:]]", " ", FALSE }, { "[[:nonsense:]]", "n", FALSE },
    { "[[:blank:]]", "\t", TRUE }, { "[[:xdigit:]_]", "_", TRUE },
    { "[\xc3\xa4-\xc3\xb6]", "\xc3\xa5", TRUE }, { "[\xc3\xa4]", "\xc3\xb6", FALSE }, { "[!a]", "\xc3\xb6", TRUE },
    { "[\xff]", "\xff", TRUE }, { "[\xff]", "\xfe", FALSE },
    { "x[a/b]y", "xay", TRUE }, { "x[a/b]y", "x/y", FALSE }, { "[!a]", "/", FALSE }, { "x[!a]y", "x/y", FALSE },
  };

  check_globs (rows, G_N_ELEMENTS (rows));
}

static void
test_glob_paths (void)
{
  static const GlobRow rows[] = {
    { "a/b", "a/b", TRUE }, { "a/b", "a/b/c", FALSE }, { "a/b", "x/a/b", FALSE }, { "a\\/b", "a/b", TRUE },
    { "a/*", "a/b", TRUE }, { "a/*", "a/b/c", FALSE }, { "a/*", "a", FALSE }, { "*/b", "a/b", TRUE },
    { "**/b", "b", TRUE }, { "**/b", "x/b", TRUE }, { "**/b", "x/y/b", TRUE }, { "**/b", "xb", FALSE },
    { "a/**", "a", FALSE }, { "a/**", "a/b", TRUE }, { "a/**", "a/b/c", TRUE }, { "a/**", "ab/c", FALSE },
    { "a/**/b", "a/b", TRUE }, { "a/**/b", "a/x/b", TRUE }, { "a/**/b", "a/x/y/b", TRUE }, { "a/**/b", "ab", FALSE },
    { "a/**/b", "a/xb", FALSE }, { "a/**/**/b", "a/b", TRUE }, { "**", "a/b", TRUE }, { "**/**", "a", TRUE },
    { "a/**/b/**/c", "a/b/x/b/c", TRUE }, { "a/**/b/**/c", "a/x/c", FALSE }, { "a/**/b/*/c", "a/b/b/b/c", TRUE },
    { "a/**b", "a/xb", TRUE }, { "a/**b", "a/x/b", FALSE }, { "a**/b", "axx/b", TRUE }, { "a**/b", "a/x/b", FALSE },
    { "***/b", "x/y/b", TRUE },
  };

  check_globs (rows, G_N_ELEMENTS (rows));
}

static void
test_glob_malformed (void)
{
  static const char *const bad[] = { "", "[", "[a", "[!", "[]", "[a\\", "x\\", "/a", "a//b", "a/", "[a-", "[[:alpha:]" };
  g_autofree char *longest = g_strnfill (SK_PATTERN_MAX, '?');
  g_autofree char *too_long = g_strnfill (SK_PATTERN_MAX + 1, '?');
  g_autoptr(SkGlob) glob = sk_glob_new (longest, SK_PATTERN_MAX);

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_null (sk_glob_new (bad[i], strlen (bad[i])));
  g_assert_null (sk_glob_new (too_long, SK_PATTERN_MAX + 1));
  g_assert_null (sk_glob_new ("a\0b", 3));
  g_assert_nonnull (glob);
}

/* Patterns that need years where each star is tried with each other. */
static void
test_glob_is_not_exponential (void)
{
  g_autoptr(GString) stars = g_string_new (NULL);
  g_autoptr(GString) spans = g_string_new (NULL);
  g_autoptr(GString) path = g_string_new ("a");
  g_autofree char *name = g_strnfill (SK_NAME_MAX, 'a');
  g_autoptr(SkGlob) star_glob = NULL;
  g_autoptr(SkGlob) span_glob = NULL;
  gint64 begin = g_get_monotonic_time ();

  while (stars->len + 3 < SK_PATTERN_MAX)
    g_string_append (stars, "*a");
  g_string_append (stars, "b");
  while (spans->len + 8 < SK_PATTERN_MAX)
    g_string_append (spans, "**/a/");
  g_string_append (spans, "b");
  while (path->len + 2 < 4096)
    g_string_append (path, "/a");

  star_glob = sk_glob_new (stars->str, stars->len);
  span_glob = sk_glob_new (spans->str, spans->len);
  g_assert_false (sk_glob_match (star_glob, name));
  g_assert_false (sk_glob_match (span_glob, path->str));
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 2 * G_USEC_PER_SEC);
}

/* --- rules --- */

typedef struct { const char *text, *path; gboolean is_dir, ignored; } IgnoreRow;

static void
check_ignores (const IgnoreRow *rows, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autoptr(SkIgnore) ignore = sk_ignore_new (rows[i].text, strlen (rows[i].text));

      if (sk_ignore_match (ignore, rows[i].path, rows[i].is_dir) != rows[i].ignored)
        g_error ("rules %s, path %s: expected %d", rows[i].text, rows[i].path, rows[i].ignored);
    }
}

static void
test_syntax (void)
{
  static const IgnoreRow rows[] = {
    { "", "a", FALSE, FALSE }, { "# a", "# a", FALSE, FALSE }, { "#a\na", "a", FALSE, TRUE },
    { "\\#a", "#a", FALSE, TRUE }, { "\\!a", "!a", FALSE, TRUE }, { "a  ", "a", FALSE, TRUE },
    { "a\\ ", "a ", FALSE, TRUE }, { "a\\  ", "a ", FALSE, TRUE }, { "a\\ ", "a", FALSE, FALSE },
    { " a", " a", FALSE, TRUE }, { " a", "a", FALSE, FALSE }, { "a\t", "a", FALSE, FALSE }, { "   ", "   ", FALSE, FALSE },
    { "a\r\nb\r\n", "a", FALSE, TRUE }, { "a\r\nb\r\n", "b", FALSE, TRUE }, { "a\r\nb", "b", FALSE, TRUE },
    { "\xef\xbb\xbf" "a", "a", FALSE, TRUE }, { "[\na", "a", FALSE, TRUE }, { "a\\\nb", "b", FALSE, TRUE },
    { "!", "a", FALSE, FALSE }, { "/", "a", TRUE, FALSE }, { "//", "a", TRUE, FALSE }, { "\n\n\na", "a", FALSE, TRUE },
    { "a#b", "a#b", FALSE, TRUE },
  };

  check_ignores (rows, G_N_ELEMENTS (rows));
}

static void
test_anchors (void)
{
  static const IgnoreRow rows[] = {
    { "a", "a", FALSE, TRUE }, { "a", "x/a", FALSE, TRUE }, { "a", "x/y/a", TRUE, TRUE }, { "a", "xa", FALSE, FALSE },
    { "/a", "a", FALSE, TRUE }, { "/a", "x/a", FALSE, FALSE }, { "x/a", "x/a", FALSE, TRUE }, { "/x/a", "x/a", FALSE, TRUE },
    { "x/a", "y/x/a", FALSE, FALSE }, { "**/x/a", "y/x/a", FALSE, TRUE }, { "/*.c", "a.c", FALSE, TRUE },
    { "/*.c", "x/a.c", FALSE, FALSE }, { "*.c", "x/a.c", FALSE, TRUE }, { "/a*", "ab", FALSE, TRUE }, { "/a*", "x/ab", FALSE, FALSE },
    { "a*", "x/ab", FALSE, TRUE }, { "x/**", "x", TRUE, FALSE }, { "x/**", "x/y", FALSE, TRUE }, { "x/*", "x/y/z", FALSE, TRUE },
    { "x/**/z", "x/z", FALSE, TRUE }, { "x/**/z", "x/1/2/z", FALSE, TRUE }, { "**", "x/y", FALSE, TRUE },
    { "/**", "x/y", FALSE, TRUE }, { "foo/bar", "foo/bar/deep/file", FALSE, TRUE }, { "*o*r*", "x/foobar", FALSE, TRUE },
  };

  check_ignores (rows, G_N_ELEMENTS (rows));
}

static void
test_directories_only (void)
{
  static const IgnoreRow rows[] = {
    { "a/", "a", TRUE, TRUE }, { "a/", "a", FALSE, FALSE }, { "a/", "a/x", FALSE, TRUE }, { "a/", "x/a/y/z", FALSE, TRUE },
    { "a/", "x/a", FALSE, FALSE }, { "x/a/", "x/a", TRUE, TRUE }, { "x/a/", "y/x/a", TRUE, FALSE }, { "/a/", "a", TRUE, TRUE },
    { "/a/", "x/a", TRUE, FALSE }, { "*/", "x", TRUE, TRUE }, { "*/", "x", FALSE, FALSE }, { "**/", "x/y", FALSE, TRUE },
    { "a*/", "ab/c", FALSE, TRUE }, { "*b/", "ab", FALSE, FALSE },
  };

  check_ignores (rows, G_N_ELEMENTS (rows));
}

static void
test_negation (void)
{
  static const IgnoreRow rows[] = {
    { "*.c\n!a.c", "a.c", FALSE, FALSE }, { "*.c\n!a.c", "b.c", FALSE, TRUE }, { "!a.c\n*.c", "a.c", FALSE, TRUE },
    { "*.c\n!a.c\n/a.c", "a.c", FALSE, TRUE }, { "*.c\n!a.c\n/a.c", "x/a.c", FALSE, FALSE },
    { "dir\n!dir/keep", "dir/keep", FALSE, TRUE },       /* a parent that is ignored cannot be opened again */
    { "dir/*\n!dir/keep", "dir/keep", FALSE, FALSE }, { "dir/*\n!dir/keep", "dir/other", FALSE, TRUE },
    { "/*\n!/foo\n/foo/*\n!/foo/bar", "foo/bar", FALSE, FALSE }, { "/*\n!/foo\n/foo/*\n!/foo/bar", "foo/x", FALSE, TRUE },
    { "/*\n!/foo\n/foo/*\n!/foo/bar", "x", FALSE, TRUE }, { "a\n!a/", "a", TRUE, FALSE }, { "a\n!a/", "a", FALSE, TRUE },
    { "!*.part", "x.part", FALSE, FALSE }, { "!.DS_Store", ".DS_Store", FALSE, FALSE },
    { "!.skerry\n!.skerry/\n!*", ".skerry", TRUE, TRUE }, { "!*", "a/.skerry/x", FALSE, TRUE },
  };

  check_ignores (rows, G_N_ELEMENTS (rows));
}

static void
test_defaults (void)
{
  static const char *const ignored[] = {
    "notes.txt~", "dir/notes.txt~", ".notes.txt.swp", ".Makefile.swo", "#notes.txt#", ".#notes.txt",
    ".~lock.report.odt#", "~$report.docx", ".goutputstream-AB12CD", "iso.part", "setup.crdownload", "x.wkdownload",
    "x.partial", ".nfs000000000123abcd00000001", ".fuse_hidden0000000300000002", ".Trash-1000/files/x", ".DS_Store",
    "a/.DS_Store", "Thumbs.db", ".stfolder", ".stversions/x", ".sync_0123.db", ".sync_0123.db-wal", ".skerry/tmp/x", "x/.skerry/y",
  };
  /* Names that a person may well have chosen. */
  static const char *const kept[] = {
    "a", "~", "a~", "#", "##", "#tag", "tag#", "~$", "$~", ".swp", ".film.swf", "4913", "desktop.ini", "core", "a.tmp", "a.bak",
    "a.old", "a.lock", "lock", "party", "x.part.odt", "x.part1.rar", ".nfs", ".Trash", ".trash/x", "Trash-1", ".hidden",
    ".skerryignore", ".git/config", ".gitignore", "Icon\r", ".~", ".#", "thumbs.db.txt", "a.download", ".env", "node_modules/x",
    "build/x", "x~y", "~x", "two  spaces", "ends with space ", "*", "?", "[", "]", "!", "a\nb", "\\",
  };
  g_autoptr(SkIgnore) ignore = sk_ignore_new (NULL, 0);

  for (guint i = 0; i < G_N_ELEMENTS (ignored); i++)
    if (!sk_ignore_match (ignore, ignored[i], FALSE))
      g_error ("%s is not ignored", ignored[i]);
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    if (sk_ignore_match (ignore, kept[i], FALSE) || sk_ignore_match (ignore, kept[i], TRUE))
      g_error ("%s is ignored", kept[i]);
}

static void
test_match_here (void)
{
  static const char text[] = "secret/\n/top/*.log\n";
  g_autoptr(SkIgnore) ignore = sk_ignore_new (text, strlen (text));

  g_assert_true (sk_ignore_match (ignore, "secret/a", FALSE));
  g_assert_false (sk_ignore_match_here (ignore, "secret/a", FALSE));
  g_assert_true (sk_ignore_match_here (ignore, "secret", TRUE));
  g_assert_true (sk_ignore_match_here (ignore, "top/x.log", FALSE));
  g_assert_false (sk_ignore_match_here (ignore, "x/top/x.log", FALSE));
  g_assert_false (sk_ignore_match (ignore, "", TRUE));
}

static void
test_hostile_text (void)
{
  g_autoptr(GString) text = g_string_new (NULL);
  g_autoptr(SkIgnore) many = NULL;
  g_autoptr(SkIgnore) zero = sk_ignore_new ("a\0b\nc", 5);
  g_autofree char *line = g_strnfill (SK_PATTERN_MAX + 1, 'x');

  g_assert_true (sk_ignore_match (zero, "c", FALSE));
  g_assert_false (sk_ignore_match (zero, "a", FALSE));

  for (guint i = 0; i < SK_PATTERNS_MAX + 10; i++)
    g_string_append_printf (text, "%s\nname%u\n", i % 100 == 0 ? line : "#", i);
  many = sk_ignore_new (text->str, text->len);
  g_assert_true (sk_ignore_match (many, "name0", FALSE));
  g_assert_true (sk_ignore_match (many, "name4000", FALSE));
  g_assert_false (sk_ignore_match (many, "name4105", FALSE));
}

/* A scan asks for every path; this must not be what it waits for. */
static void
test_speed (void)
{
  g_autoptr(GString) text = g_string_new (NULL);
  g_autoptr(SkIgnore) ignore = NULL;
  g_autoptr(GTimer) timer = NULL;
  guint n_ignored = 0, n = g_test_perf () ? 1000000 : 100000;

  for (guint i = 0; i < 100; i++)
    g_string_append_printf (text, "name%u\n*.ext%u\n/dir%u/file\n", i, i, i);
  ignore = sk_ignore_new (text->str, text->len);
  timer = g_timer_new ();
  for (guint i = 0; i < n; i++)
    {
      char path[64];

      g_snprintf (path, sizeof path, "photos/2024/%u/IMG_%05u.ext%u", i / 1000, i, i % 200);
      n_ignored += sk_ignore_match_here (ignore, path, FALSE);
    }
  g_assert_cmpuint (n_ignored, ==, n / 2);
  g_test_message ("%.2f us per path", g_timer_elapsed (timer, NULL) * 1e6 / n);
  g_assert_cmpfloat (g_timer_elapsed (timer, NULL) * 1e6 / n, <, 50);    /* about 1; sanitizers and a busy machine */
}

/* A pattern that comes later than the file does not make the entry a deletion: the question has no answer that
 * depends on what is known of the path, and the same path asked without the pattern is taken again. */
static void
test_pattern_only_hides (void)
{
  g_autoptr(SkIgnore) before = sk_ignore_new (NULL, 0);
  g_autoptr(SkIgnore) after = sk_ignore_new ("*.iso\n", 6);

  g_assert_false (sk_ignore_match (before, "big.iso", FALSE));
  g_assert_true (sk_ignore_match (after, "big.iso", FALSE));
  g_assert_true (sk_ignore_match (after, "dir/big.iso", TRUE));
  g_assert_false (sk_ignore_match (after, "dir", TRUE));
  g_assert_false (sk_ignore_match (before, "big.iso", FALSE));
}

/* --- only --- */

static void
test_only (void)
{
  static const char *const photos[] = { "photos", "*.pdf", NULL };
  static const char *const deep[] = { "a/b/*.txt", NULL };
  static const char *const wide[] = { "./a/**/z/", NULL };
  static const char *const bad[] = { "[", NULL };
  static const char *const none[] = { NULL };
  static const struct { const char *const *globs; const char *path; gboolean is_dir, selected; } rows[] = {
    { NULL, "x", FALSE, TRUE }, { none, "x", FALSE, TRUE },
    { photos, "photos", TRUE, TRUE }, { photos, "photos/x/y.jpg", FALSE, TRUE }, { photos, "x/photos/y", FALSE, TRUE },
    { photos, "x/y.pdf", FALSE, TRUE }, { photos, "x/y.txt", FALSE, FALSE }, { photos, "x", TRUE, TRUE },
    { deep, "a", TRUE, TRUE }, { deep, "a/b", TRUE, TRUE }, { deep, "a/c", TRUE, FALSE }, { deep, "b", TRUE, FALSE },
    { deep, "a", FALSE, FALSE }, { deep, "a/b/x.txt", FALSE, TRUE }, { deep, "a/b/x.c", FALSE, FALSE },
    { deep, "a/b/c", TRUE, FALSE },
    { wide, "a/q/r", TRUE, TRUE }, { wide, "a/q/z", TRUE, TRUE }, { wide, "a/q/z", FALSE, FALSE }, { wide, "a/z/f", FALSE, TRUE },
    { wide, "a/q/f", FALSE, FALSE }, { bad, "x", FALSE, FALSE }, { bad, "[", FALSE, FALSE },
  };
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr(SkOnly) only = sk_only_new (rows[i].globs, NULL);

      g_assert_cmpint (sk_only_match (rows[i].globs, rows[i].path, rows[i].is_dir), ==, rows[i].selected);
      g_assert_true (only == NULL || sk_only_selects (only, rows[i].path, rows[i].is_dir) == rows[i].selected);
    }
  g_assert_null (sk_only_new (bad, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_USAGE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ignore/glob/names", test_glob_names);
  g_test_add_func ("/ignore/glob/sets", test_glob_sets);
  g_test_add_func ("/ignore/glob/paths", test_glob_paths);
  g_test_add_func ("/ignore/glob/malformed", test_glob_malformed);
  g_test_add_func ("/ignore/glob/is-not-exponential", test_glob_is_not_exponential);
  g_test_add_func ("/ignore/syntax", test_syntax);
  g_test_add_func ("/ignore/anchors", test_anchors);
  g_test_add_func ("/ignore/directories-only", test_directories_only);
  g_test_add_func ("/ignore/negation", test_negation);
  g_test_add_func ("/ignore/rule-c13/defaults", test_defaults);
  g_test_add_func ("/ignore/match-here", test_match_here);
  g_test_add_func ("/ignore/hostile-text", test_hostile_text);
  g_test_add_func ("/ignore/speed", test_speed);
  g_test_add_func ("/ignore/rule-a14/pattern-only-hides", test_pattern_only_hides);
  g_test_add_func ("/ignore/only", test_only);
  return g_test_run ();
}
