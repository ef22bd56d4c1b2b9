/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-path.h"

#include <string.h>

static void
assert_refused (const char *path, gsize len)
{
  g_autoptr(GError) error = NULL;

  g_assert_false (sk_path_check (path, len, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_CORRUPT);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (strlen (error->message), <, 1200);
}

static void
assert_taken (const char *path)
{
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_path_check (path, strlen (path), &error));
  g_assert_no_error (error);
}

static void
test_dotdot_refused (void)
{
  static const char *const bad[] = {
    "", "/", ".", "..", "./a", "../x", "a/..", "a/.", "a/../b", "a/./b", "/etc/x", "//", "a//b", "a/",
    "//a", "a/b/", "../../../../etc/passwd", "a/..//b",
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    assert_refused (bad[i], strlen (bad[i]));
  assert_refused ("a\0b", 3);
  assert_refused ("a\0", 2);
  assert_refused ("\0", 1);
  assert_refused ("a/\0/b", 5);
}

static void
test_own_folder_refused (void)
{
  assert_refused (".skerry", 7);
  assert_refused (".skerry/trash/x", 15);
  assert_refused ("a/.skerry", 9);
  assert_refused ("a/b/.skerry/folder", 18);
  /* What some disk takes for it: case, long s, Kelvin sign, dots and blanks at the end, characters that HFS+ leaves out, the short name. */
  assert_refused (".SKERRY", 7);
  assert_refused (".Skerry/folder", 14);
  assert_refused ("a/.sKERRy/trash/x", 17);
  assert_refused (".\xc5\xbfkerry", 8);
  assert_refused (".s\xe2\x84\xaa" "erry", 9);
  assert_refused (".skerry.", 8);
  assert_refused (".skerry. .", 10);
  assert_refused (".ske\xe2\x80\x8crry", 10);
  assert_refused ("\xef\xbb\xbf.skerry", 10);
  assert_refused ("SKERRY~1", 8);
  assert_refused ("a/skerry~2/folder", 17);
  assert_taken ("skerry~");
  assert_taken ("skerry~1x");
  assert_taken ("skerry");
  assert_taken ("SKERRY");
  assert_taken (".sk\xff" "erry");
  assert_taken (".SKERRYIGNORE");
  assert_taken ("\xe2\x80\x8cskerry");
  assert_taken (".skerryignore");
  assert_taken ("a/.skerryignore");
  assert_taken ("skerry");
  assert_taken (".skerry2/x");
  assert_taken ("x.skerry");
}

static void
test_bounds (void)
{
  g_autofree char *longest = g_strnfill (SK_NAME_MAX, 'n');
  g_autofree char *too_long = g_strnfill (SK_NAME_MAX + 1, 'n');
  g_autofree char *below = g_strconcat ("a/", too_long, NULL);
  g_autoptr(GString) deep = g_string_new ("d");
  g_autoptr(GString) wide = g_string_new (longest);

  assert_taken (longest);
  assert_refused (too_long, strlen (too_long));
  assert_refused (below, strlen (below));

  for (guint i = 1; i < SK_DEPTH_MAX; i++)
    g_string_append (deep, "/d");
  assert_taken (deep->str);
  g_string_append (deep, "/d");
  assert_refused (deep->str, deep->len);

  while (wide->len + 1 + SK_NAME_MAX <= SK_PATH_MAX)
    {
      g_string_append_c (wide, '/');
      g_string_append (wide, longest);
    }
  g_assert_cmpuint (wide->len, ==, SK_PATH_MAX - 1);
  assert_taken (wide->str);
  g_string_append (wide, "/y");
  assert_refused (wide->str, wide->len);
}

/* Only the bytes inside @len count: a decoder's buffer goes on behind the path. */
static void
test_length_is_honoured (void)
{
  static const char buffer[] = { 'a', '/', 'b', '/' };

  g_assert_true (sk_path_check (buffer, 1, NULL));
  g_assert_false (sk_path_check (buffer, 2, NULL));
  g_assert_true (sk_path_check (buffer, 3, NULL));
  g_assert_false (sk_path_check (buffer, 4, NULL));
}

static void
test_backslash_is_a_byte (void)
{
  g_autofree char *parent = sk_path_parent ("a\\b/c\\d");

  assert_taken ("a\\b");
  assert_taken ("a\\b/c");
  assert_taken ("..\\x");
  assert_taken ("C:\\x");
  g_assert_cmpstr (parent, ==, "a\\b");
  g_assert_cmpstr (sk_path_name ("a\\b/c\\d"), ==, "c\\d");
  g_assert_cmpstr (sk_path_name ("a\\b"), ==, "a\\b");
}

static void
test_odd_names_are_bytes (void)
{
  static const char *const good[] = {
    "#", "%", "?", ":", "*", "\"", "<", ">", "|", "+", "&", ";", "`", "$", "'", "[", "]", "~", "two  spaces",
    "%2e%2e", "%2F", "-rf", "--", "ends with space ", " starts", "a\nb", "a\rb", "a\tb", "\x01", "\x7f",
    "\xff\xfe", "caf\xc3", "...", "..a", "a..", ".hidden", ". ", ".. ", "con", "NUL", "x.", "\xf0\x9f\x98\x80",
    "a/-/b", "\xc0\xaf", "\xe2\x80\xae" "gpj.exe",
  };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *below = g_strconcat ("dir/", good[i], NULL);

      assert_taken (good[i]);
      assert_taken (below);
    }
}

static void
test_parts (void)
{
  static const struct { const char *path, *parent, *name; } rows[] = {
    { "a", "", "a" }, { "a/b", "a", "b" }, { "a/b/c.txt", "a/b", "c.txt" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *parent = sk_path_parent (rows[i].path);
      g_autofree char *joined = sk_path_join (rows[i].parent, rows[i].name);

      g_assert_cmpstr (parent, ==, rows[i].parent);
      g_assert_cmpstr (sk_path_name (rows[i].path), ==, rows[i].name);
      g_assert_cmpstr (joined, ==, rows[i].path);
    }
  g_assert_true (sk_path_is_below ("a", "a"));
  g_assert_true (sk_path_is_below ("a/b", "a"));
  g_assert_true (sk_path_is_below ("a/b", ""));
  g_assert_false (sk_path_is_below ("ab", "a"));
  g_assert_false (sk_path_is_below ("a-b", "a"));
  g_assert_false (sk_path_is_below ("a", "a/b"));
}

#define NFC_A "\xc3\xa2"       /* a circumflex, one code point */
#define NFD_A "a\xcc\x82"      /* a, combining circumflex */

static void
test_nfc_and_nfd_are_two_names (void)
{
  g_autofree char *plain_c = sk_name_fold_key (NFC_A, FALSE, FALSE);
  g_autofree char *plain_d = sk_name_fold_key (NFD_A, FALSE, FALSE);
  g_autofree char *case_c = sk_name_fold_key (NFC_A, TRUE, FALSE);
  g_autofree char *case_d = sk_name_fold_key (NFD_A, TRUE, FALSE);
  g_autofree char *norm_c = sk_name_fold_key (NFC_A, FALSE, TRUE);
  g_autofree char *norm_d = sk_name_fold_key (NFD_A, FALSE, TRUE);

  assert_taken (NFC_A);
  assert_taken (NFD_A);
  g_assert_cmpstr (plain_c, ==, NFC_A);
  g_assert_cmpstr (plain_d, ==, NFD_A);
  g_assert_cmpstr (case_c, !=, case_d);
  g_assert_cmpstr (norm_c, ==, norm_d);
}

static void
test_fold_keys (void)
{
  static const struct { const char *a, *b; gboolean fold, normalise, clash; } rows[] = {
    { "file", "FILE", TRUE, FALSE, TRUE },
    { "file", "FILE", FALSE, TRUE, FALSE },
    { "file", "file2", TRUE, TRUE, FALSE },
    { "\xc3\x85", "\xc3\xa5", TRUE, FALSE, TRUE },                /* A ring, a ring */
    { "\xc3\x82", NFD_A, TRUE, TRUE, TRUE },                      /* capital NFC, small NFD */
    { "\xc3\x82", NFD_A, TRUE, FALSE, FALSE },
    { "\xff" "A", "\xff" "a", TRUE, TRUE, FALSE },                /* not UTF-8: bytes */
    { "\xff" "A", "\xff" "A", TRUE, TRUE, TRUE },
    { "\xcf\x83", "\xcf\x82", TRUE, TRUE, TRUE },                 /* the two small sigmas */
    { "\xe1\x8e\xa0", "\xea\xad\xb0", TRUE, FALSE, TRUE },        /* Cherokee, both cases */
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *a = sk_name_fold_key (rows[i].a, rows[i].fold, rows[i].normalise);
      g_autofree char *b = sk_name_fold_key (rows[i].b, rows[i].fold, rows[i].normalise);

      g_assert_cmpint (g_strcmp0 (a, b) == 0, ==, rows[i].clash);
    }
}

static void
test_display (void)
{
  static const struct { const char *path, *shown; } rows[] = {
    { "a/b c", "a/b c" }, { "a\nb", "a\\x0ab" }, { "\x1b[31m", "\\x1b[31m" }, { "\xff", "\\xff" },
    { "caf\xc3", "caf\\xc3" }, { NFC_A, NFC_A }, { "\xe2\x80\xae" "gpj", "\\xe2\\x80\\xaegpj" },
    { "\xc2\x85", "\\xc2\\x85" }, { "", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *shown = sk_path_display (rows[i].path);

      g_assert_cmpstr (shown, ==, rows[i].shown);
    }
}

static void
test_suffix_before_extension (void)
{
  static const struct { const char *name, *result; } rows[] = {
    { "a.txt", "a!.txt" },
    { "README", "README!" },
    { ".bashrc", ".bashrc!" },
    { ".config.json", ".config!.json" },
    { "x.tar.gz", "x!.tar.gz" },
    { "x.TAR.zst", "x!.TAR.zst" },
    { ".tar.gz", ".tar!.gz" },
    { "Dr. Who and the rest", "Dr. Who and the rest!" },
    { "ends.", "ends.!" },
    { "v1.2", "v1!.2" },
    { "...", "...!" },
    { "..x", "..x!" },
    { "a.this-is-no-extension-but-a-long-sentence", "a.this-is-no-extension-but-a-long-sentence!" },
    { "a.b.c", "a.b!.c" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *result = sk_name_with_suffix (rows[i].name, "!");

      g_assert_cmpstr (result, ==, rows[i].result);
    }
}

static void
test_suffix_fits (void)
{
  static const char *const units[] = { "x", NFC_A, "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x80", "\xff" };
  static const char suffix[] = " (conflict, laptop, 2024-01-02 03.04, abcd)";

  for (guint u = 0; u < G_N_ELEMENTS (units); u++)
    for (guint extension = 0; extension < 2; extension++)
      for (gsize len = 1; len <= SK_NAME_MAX; len++)
        {
          g_autoptr(GString) name = g_string_new (NULL);
          g_autofree char *result = NULL;

          while (name->len + strlen (units[u]) + (extension ? 4 : 0) <= len)
            g_string_append (name, units[u]);
          if (name->len == 0)
            continue;
          if (extension)
            g_string_append (name, ".odt");
          result = sk_name_with_suffix (name->str, suffix);
          g_assert_cmpuint (strlen (result), <=, SK_NAME_MAX);
          g_assert_nonnull (strstr (result, suffix));
          g_assert_true (!extension || g_str_has_suffix (result, ").odt"));
          if (g_utf8_validate (name->str, -1, NULL))
            g_assert_true (g_utf8_validate (result, -1, NULL));
          if (name->len + strlen (suffix) <= SK_NAME_MAX)
            g_assert_cmpuint (strlen (result), ==, name->len + strlen (suffix));
          else
            g_assert_cmpuint (strlen (result), >, SK_NAME_MAX - 4);
        }
}

static void
test_suffix_too_long (void)
{
  g_autofree char *suffix = g_strnfill (400, 's');
  g_autofree char *medium = g_strnfill (SK_NAME_MAX - 10, 's');
  g_autofree char *a = sk_name_with_suffix ("name.txt", suffix);
  g_autofree char *b = sk_name_with_suffix ("name.extension", medium);

  g_assert_cmpuint (strlen (a), ==, SK_NAME_MAX);
  g_assert_cmpuint (strlen (b), ==, SK_NAME_MAX);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/path/sit-B040/dotdot-refused", test_dotdot_refused);
  g_test_add_func ("/path/rule-c13/own-folder-refused", test_own_folder_refused);
  g_test_add_func ("/path/sit-B040/bounds", test_bounds);
  g_test_add_func ("/path/sit-B040/length-is-honoured", test_length_is_honoured);
  g_test_add_func ("/path/sit-B066/backslash-is-a-byte", test_backslash_is_a_byte);
  g_test_add_func ("/path/sit-B067/odd-names-are-bytes", test_odd_names_are_bytes);
  g_test_add_func ("/path/parts", test_parts);
  g_test_add_func ("/path/sit-B051/nfc-and-nfd-are-two-names", test_nfc_and_nfd_are_two_names);
  g_test_add_func ("/path/sit-B063/fold-keys", test_fold_keys);
  g_test_add_func ("/path/display", test_display);
  g_test_add_func ("/path/sit-B028/suffix-before-extension", test_suffix_before_extension);
  g_test_add_func ("/path/sit-B028/suffix-fits", test_suffix_fits);
  g_test_add_func ("/path/suffix-too-long", test_suffix_too_long);
  return g_test_run ();
}
