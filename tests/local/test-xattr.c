/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-support.h"

#include "sk-limits.h"
#include "sk-xattr.h"

#include <sys/xattr.h>

static gboolean
check (const char *data, gsize len)
{
  g_autoptr(GBytes) value = g_bytes_new (data, len);

  return sk_xattr_check (value);
}
#define CHECK(text) check (text, sizeof text - 1)

static void
test_parse (void)
{
  static const char two[] = "\006user.a\001x\007user.bc\003y\0z";

  g_assert_true (CHECK (""));
  g_assert_true (CHECK (two));
  g_assert_false (CHECK ("\006user.b\000\006user.a\000")); /* not sorted */
  g_assert_false (CHECK ("\006user.a\000\006user.a\000")); /* twice */
  g_assert_false (CHECK ("\010system.a\001x"));
  g_assert_false (CHECK ("\013security.aa\001x"));
  g_assert_false (CHECK ("\012trusted.aa\001x"));
  g_assert_false (CHECK ("\005user.\001x"));
  g_assert_false (CHECK ("\000\000"));
  g_assert_false (CHECK ("\006use\0.a\000"));
  g_assert_false (CHECK ("\006user.a\200\000")); /* a longer form of 0 */
  /* A prefix is good only between two attributes. */
  for (gsize n = 0; n < sizeof two - 1; n++)
    g_assert_true (check (two, n) == (n == 0 || n == 9));
  for (gsize bit = 0; bit < 8 * (sizeof two - 1); bit++)
    {
      g_autofree char *copy = g_memdup2 (two, sizeof two - 1);

      copy[bit / 8] ^= (char) (1 << bit % 8);
      check (copy, sizeof two - 1);
    }
}

static void
test_bounds (void)
{
  g_autoptr(GByteArray) bytes = g_byte_array_new ();
  g_autofree guint8 *zeros = g_malloc0 (SK_XATTR_MAX);

  /* Name of 6, length of 3 bytes, and the value. */
  g_byte_array_append (bytes, (const guint8 *) "\006user.a", 7);
  g_byte_array_append (bytes, (const guint8 *) "\xf6\xff\x03", 3);
  g_byte_array_append (bytes, zeros, SK_XATTR_MAX - 10);
  g_assert_true (check ((const char *) bytes->data, bytes->len));
  bytes->data[7] = 0xf7;
  g_byte_array_append (bytes, zeros, 1);
  g_assert_false (check ((const char *) bytes->data, bytes->len));
}

static void
test_round_trip (void)
{
  g_autoptr(Tree) tree = tree_new ();
  g_autofree char *full = tree_path (tree, "f");
  g_autoptr(GBytes) value = NULL, again = NULL, bad = g_bytes_new_static ("\010system.a\001x", 11);
  int fd, errnum;
  char x;

  tree_text (tree, "f", "x");
  if (setxattr (full, "user.z", "last", 4, 0) != 0)
    {
      g_test_skip ("no extended attributes on this file system");
      return;
    }
  g_assert_cmpint (setxattr (full, "user.empty", "", 0, 0), ==, 0);
  g_assert_cmpint (setxattr (full, "user.a", "\0\1", 2, 0), ==, 0);
  fd = open (full, O_RDONLY | O_CLOEXEC);
  value = sk_xattr_read (fd, &errnum);
  g_assert_cmpint (errnum, ==, 0);
  g_assert_true (sk_xattr_check (value));

  /* What does not parse changes nothing. */
  g_assert_cmpint (sk_xattr_write (fd, bad), ==, EINVAL);
  g_assert_cmpint (getxattr (full, "user.a", &x, 1), ==, -1);
  g_assert_cmpint (errno, ==, ERANGE);
  g_assert_cmpint (sk_xattr_write (fd, NULL), ==, 0);
  again = sk_xattr_read (fd, &errnum);
  g_assert_null (again);
  g_assert_cmpint (errnum, ==, 0);
  g_assert_cmpint (setxattr (full, "user.foreign", "x", 1, 0), ==, 0);
  g_assert_cmpint (sk_xattr_write (fd, value), ==, 0);
  again = sk_xattr_read (fd, &errnum);
  g_assert_true (g_bytes_equal (value, again));
  close (fd);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/xattr/parse", test_parse);
  g_test_add_func ("/xattr/bounds", test_bounds);
  g_test_add_func ("/xattr/round-trip", test_round_trip);
  return g_test_run ();
}
