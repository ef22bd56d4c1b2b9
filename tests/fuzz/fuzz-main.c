/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays files through a fuzz target, so that a corpus runs as an ordinary test without libFuzzer. Arguments:
 * files or directories (one level). */
#include <glib.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static guint
replay_file (const char *path)
{
  g_autofree char *data = NULL;
  gsize len;
  g_autoptr(GError) error = NULL;

  if (!g_file_get_contents (path, &data, &len, &error))
    g_error ("%s", error->message);
  /* An exact-size heap copy, so that a sanitizer sees one byte too far. */
  {
    g_autofree guint8 *copy = g_memdup2 (data, len);

    LLVMFuzzerTestOneInput (copy != NULL ? copy : (const guint8 *) "", len);
  }
  return 1;
}

int
main (int argc, char **argv)
{
  guint n = 0;

  for (int i = 1; i < argc; i++)
    {
      g_autoptr(GDir) dir = g_dir_open (argv[i], 0, NULL);
      const char *name;

      if (dir == NULL)
        {
          n += replay_file (argv[i]);
          continue;
        }
      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *path = g_build_filename (argv[i], name, NULL);

          n += replay_file (path);
        }
    }
  printf ("replayed %u inputs\n", n);
  return n == 0;    /* an empty corpus tests nothing */
}
