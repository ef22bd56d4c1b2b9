/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

#include <string.h>

/* --- names --- */

/* Also the marks that turn the direction of writing: they can make one name look like another. */
static gboolean
is_safe (gunichar c)
{
  if (c < 0x20 || (c >= 0x7f && c < 0xa0))
    return FALSE;
  return !(c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e)
           || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff);
}

char *
ska_escape (const char *bytes)
{
  GString *out = g_string_new (NULL);

  while (*bytes != '\0')
    {
      gunichar c = g_utf8_get_char_validated (bytes, -1);
      gboolean valid = c != (gunichar) -1 && c != (gunichar) -2;
      gsize len = valid ? (gsize) (g_utf8_next_char (bytes) - bytes) : 1;

      if (valid && is_safe (c))
        g_string_append_len (out, bytes, (gssize) len);
      else
        for (gsize i = 0; i < len; i++)
          g_string_append_printf (out, "\\x%02x", (guint8) bytes[i]);
      bytes += len;
    }
  return g_string_free (out, FALSE);
}

/* --- numbers --- */

char *
ska_size (guint64 bytes)
{
  static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
  double value = (double) bytes;
  guint unit = 0;

  if (bytes < 1000)
    return g_strdup_printf ("%u %s", (guint) bytes, bytes == 1 ? "byte" : "bytes");
  value /= 1000;
  /* 999.95 and above would be printed as 1000.0. */
  while (value >= 999.95 && unit + 1 < G_N_ELEMENTS (units))
    {
      value /= 1000;
      unit++;
    }
  return g_strdup_printf ("%.1f %s", value, units[unit]);
}

char *
ska_duration (guint64 seconds)
{
  if (seconds < 60)
    return g_strdup_printf ("%u s", (guint) seconds);
  if (seconds < 3600)
    return seconds % 60 == 0
               ? g_strdup_printf ("%u min", (guint) seconds / 60)
               : g_strdup_printf ("%u min %u s", (guint) seconds / 60, (guint) seconds % 60);
  if (seconds < 2 * 86400)
    return seconds % 3600 < 60 ? g_strdup_printf ("%u h", (guint) seconds / 3600)
                               : g_strdup_printf ("%u h %u min", (guint) seconds / 3600,
                                                  (guint) seconds % 3600 / 60);
  return g_strdup_printf ("%" G_GUINT64_FORMAT " days", seconds / 86400);
}

char *
ska_time (gint64 seconds)
{
  g_autoptr(GDateTime) time = seconds > 0 ? g_date_time_new_from_unix_local (seconds) : NULL;

  if (time == NULL)
    return g_strdup (seconds > 0 ? "far in the future" : "never");
  return g_date_time_format (time, "%Y-%m-%d %H:%M");
}

char *
ska_ago (gint64 seconds)
{
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;
  g_autofree char *text = NULL;

  if (seconds <= 0)
    return g_strdup ("never");
  if (now - seconds < 5)
    return g_strdup ("just now");
  text = ska_duration ((guint64) (now - seconds));
  return g_strconcat (text, " ago", NULL);
}

char *
ska_count (guint64 n, const char *one, const char *many)
{
  return g_strdup_printf ("%" G_GUINT64_FORMAT " %s", n, n == 1 ? one : many);
}

/* --- columns --- */

struct _SkaGrid
{
  char *columns;
  guint width; /* columns */
  GPtrArray *cells;
};

SkaGrid *
ska_grid_new (const char *columns)
{
  SkaGrid *self = g_new0 (SkaGrid, 1);

  self->columns = g_strdup (columns);
  self->width = (guint) strlen (columns);
  self->cells = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
ska_grid_cell (SkaGrid *self, const char *text)
{
  g_ptr_array_add (self->cells, ska_escape (text));
}

void
ska_grid_take (SkaGrid *self, char *text)
{
  g_ptr_array_add (self->cells, text);
}

static guint
screen_width (const char *text)
{
  guint width = 0;

  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      gunichar c = g_utf8_get_char (text);

      if (!g_unichar_iszerowidth (c))
        width += g_unichar_iswide (c) ? 2 : 1;
    }
  return width;
}

/* Columns of row @row up to its last cell that is not empty. */
static guint
used_columns (SkaGrid *self, guint row)
{
  guint used = self->width;

  while (used > 0 && *(const char *) self->cells->pdata[row * self->width + used - 1] == '\0')
    used--;
  return used;
}

static void
write_cell (const char *text, guint width, gboolean right, gboolean last, FILE *to)
{
  int fill = (int) (width - screen_width (text));

  if (right)
    fprintf (to, "%*s%s%s", fill, "", text, last ? "" : "  ");
  else if (last)
    fputs (text, to);
  else
    fprintf (to, "%s%*s", text, fill + 2, "");
}

void
ska_grid_end (SkaGrid *self, FILE *to)
{
  g_autofree guint *widths = g_new0 (guint, self->width);

  g_assert (self->cells->len % self->width == 0);
  for (guint i = 0; i < self->cells->len; i++)
    widths[i % self->width]
        = MAX (widths[i % self->width], screen_width (g_ptr_array_index (self->cells, i)));
  for (guint row = 0; row < self->cells->len / self->width; row++)
    {
      guint used = used_columns (self, row);

      fputs ("  ", to);
      for (guint i = 0; i < used; i++)
        write_cell (self->cells->pdata[row * self->width + i], widths[i], self->columns[i] == 'r',
                    i + 1 == used, to);
      fputc ('\n', to);
    }
  g_ptr_array_unref (self->cells);
  g_free (self->columns);
  g_free (self);
}
