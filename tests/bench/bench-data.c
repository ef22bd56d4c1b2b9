/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the data that is measured with; the same bytes for the same seed, but only where that matters not to caches.
 * Usage: bench-data KIND DIRECTORY COUNT [SEED]
 *   random  COUNT MiB of noise in DIRECTORY/0 (COUNT,N: N files of so much each)
 *   text    COUNT files of 4 MiB of a web server's log
 *   small   COUNT files, log-normal, median 16 KiB, 1 to 256 KiB, every 20th a copy of one before, 20 a directory
 *   tiny    COUNT files of 100 bytes, 100 a directory, 100 directories a directory */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIB (1u << 20)
#define TEXT_SIZE (4 * MIB)
#define SMALL_MIN 1024u
#define SMALL_MAX (256u << 10)

static guint64 state[2];
static guint8 buffer[TEXT_SIZE];

/* xoroshiro128+: Blackman and Vigna, 2018. */
static guint64
next (void)
{
  guint64 a = state[0], b = state[1];
  guint64 result = a + b;

  b ^= a;
  state[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
  state[1] = (b << 37) | (b >> 27);
  return result;
}

static void
seed (guint64 value)
{
  state[0] = value * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) + 1;
  state[1] = ~value;
  for (guint i = 0; i < 16; i++)
    next ();
}

/* In [0, 1). */
static double
unit (void)
{
  return (double) (next () >> 11) * 0x1p-53;
}

/* Of @n things the first ones most often. */
static guint
rank (guint n)
{
  return (guint) (n * pow (unit (), 2.5));
}

static void
noise (gsize len)
{
  for (gsize i = 0; i < len; i += 8)
    {
      guint64 value = next ();

      memcpy (buffer + i, &value, 8);
    }
}

static void
fail (const char *path)
{
  fprintf (stderr, "bench-data: %s: %s\n", path, g_strerror (errno));
  exit (1);
}

static void
append (const char *path, gsize len, int flags)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

  if (fd < 0 || write (fd, buffer, len) != (ssize_t) len || close (fd) != 0)
    fail (path);
}

static void
make_random (const char *directory, guint64 mib, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/%u", directory, i);

      for (guint64 k = 0; k < mib; k++)
        {
          noise (MIB);
          append (path, MIB, k == 0 ? O_TRUNC : O_APPEND);
        }
    }
}

static gsize
log_line (char *out, gsize size, double *now)
{
  static const char *const places[] = { "shop", "media", "help", "forum", "maps", "mail", "feeds", "archive" };
  static const char *const kinds[] = { "list", "item", "search", "photo", "style", "script", "font", "comment" };
  static const guint answers[] = { 200, 200, 200, 200, 304, 304, 404, 301, 403, 500 };
  static const char *const programs[]
      = { "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "Mozilla/5.0 (Macintosh) AppleWebKit/605", "Wget/1.21", "feedfetcher/2.0 (+bot)" };
  time_t second;
  struct tm tm;
  guint client = rank (4000) * 2654435761u;

  *now += unit () * 0.5;
  second = (time_t) *now;
  gmtime_r (&second, &tm);
  return (gsize) g_snprintf (out, size, "%04d-%02d-%02dT%02d:%02d:%02dZ 10.%u.%u.%u %s /%s/%s/%u?v=%x %u %u %.3f \"%s\" id=%08x%08x%08x%08x\n",
                             tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, client >> 24, client >> 16 & 255,
                             client & 255, next () % 8 != 0 ? "GET" : "POST", places[rank (G_N_ELEMENTS (places))],
                             kinds[rank (G_N_ELEMENTS (kinds))], rank (20000), (guint) next () & 0xffff, answers[rank (G_N_ELEMENTS (answers))],
                             rank (90000), unit () * unit () * 3, programs[rank (G_N_ELEMENTS (programs))], (guint) next (), (guint) next (),
                             (guint) next (), (guint) next ());
}

static void
make_text (const char *directory, guint n)
{
  double now = 1767225600;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/access-%03u.log", directory, i);
      gsize len = 0;

      while (len < TEXT_SIZE)
        {
          char line[512];
          gsize n_line = MIN (log_line (line, sizeof line, &now), TEXT_SIZE - len);

          memcpy (buffer + len, line, n_line);
          len += n_line;
        }
      append (path, len, O_TRUNC);
    }
}

static void
make_directory (const char *path)
{
  if (mkdir (path, 0755) != 0 && errno != EEXIST)
    fail (path);
}

static void
make_small (const char *directory, guint n, guint64 first)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *parent = g_strdup_printf ("%s/%04u", directory, i / 20);
      g_autofree char *path = g_strdup_printf ("%s/%u.dat", parent, i);
      double normal;
      gsize len;

      /* Every file has a seed of its own, so that a copy is made by the seed of another. */
      seed (first * 1000003 + (i % 20 == 19 ? i - 7 : i));
      normal = sqrt (-2 * log (1 - unit ())) * cos (2 * G_PI * unit ());
      len = (gsize) CLAMP (16384 * exp (1.1 * normal), SMALL_MIN, SMALL_MAX);
      noise (len + 8);
      if (i % 20 == 0)
        make_directory (parent);
      append (path, len, O_TRUNC);
    }
}

static void
make_tiny (const char *directory, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *upper = g_strdup_printf ("%s/%03u", directory, i / 10000);
      g_autofree char *parent = g_strdup_printf ("%s/%02u", upper, i / 100 % 100);
      g_autofree char *path = g_strdup_printf ("%s/%02u", parent, i % 100);

      if (i % 10000 == 0)
        make_directory (upper);
      if (i % 100 == 0)
        make_directory (parent);
      noise (104);
      append (path, 100, O_TRUNC);
    }
}

int
main (int argc, char **argv)
{
  guint64 count, first;
  char *end;

  if (argc < 4)
    return fprintf (stderr, "usage: bench-data random|text|small|tiny DIRECTORY COUNT[,FILES] [SEED]\n"), 2;
  count = g_ascii_strtoull (argv[3], &end, 10);
  first = argc > 4 ? g_ascii_strtoull (argv[4], NULL, 10) : 1;
  seed (first);
  make_directory (argv[2]);
  if (g_str_equal (argv[1], "random"))
    make_random (argv[2], count, *end == ',' ? (guint) atoi (end + 1) : 1);
  else if (g_str_equal (argv[1], "text"))
    make_text (argv[2], (guint) count);
  else if (g_str_equal (argv[1], "small"))
    make_small (argv[2], (guint) count, first);
  else if (g_str_equal (argv[1], "tiny"))
    make_tiny (argv[2], (guint) count);
  else
    return 2;
  return 0;
}
