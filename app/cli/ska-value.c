/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

#include <errno.h>
#include <string.h>

#define TEXT_FILE_MAX 65536u
#define SECONDS_MAX ((guint64) 253402300799) /* the end of the year 9999 */

void
ska_wipe (char *secret)
{
  if (secret == NULL)
    return;
  explicit_bzero (secret, strlen (secret));
  g_free (secret);
}

/* --- durations and times --- */

static guint64
unit_seconds (char unit)
{
  switch (unit)
    {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    case 'w':
      return 7 * 86400;
    default:
      return 0;
    }
}

gboolean
ska_parse_duration (const char *text, guint64 *seconds)
{
  guint64 sum = 0;

  if (!g_ascii_isdigit (*text))
    return FALSE;
  while (*text != '\0')
    {
      guint64 number = 0;
      guint64 unit = 1;

      if (!g_ascii_isdigit (*text))
        return FALSE;
      for (; g_ascii_isdigit (*text); text++)
        number = MIN (number * 10 + (guint64) (*text - '0'), SECONDS_MAX);
      if (*text != '\0' && (unit = unit_seconds (*text++)) == 0)
        return FALSE;
      sum = MIN (sum + number * unit, SECONDS_MAX);
    }
  *seconds = sum;
  return TRUE;
}

static GDateTime *
parse_iso (const char *text)
{
  g_autofree char *full = g_strdup (text);
  g_autoptr(GTimeZone) zone = g_time_zone_new_local ();
  char *space = strchr (full, ' ');
  g_autofree char *completed = NULL;

  if (space != NULL)
    *space = 'T';
  /* A date alone is its beginning; hours and minutes alone get their seconds. */
  if (strchr (full, 'T') == NULL)
    completed = g_strconcat (full, "T00:00:00", NULL);
  else if (strlen (strchr (full, 'T')) == strlen ("T12:30"))
    completed = g_strconcat (full, ":00", NULL);
  else
    completed = g_steal_pointer (&full);
  return g_date_time_new_from_iso8601 (completed, zone);
}

gboolean
ska_parse_time (const char *text, gint64 now, gint64 *seconds)
{
  g_autoptr(GDateTime) time = NULL;
  guint64 number;

  if (*text == '@')
    {
      if (!g_ascii_string_to_unsigned (text + 1, 10, 0, SECONDS_MAX, &number, NULL))
        return FALSE;
      *seconds = (gint64) number;
      return TRUE;
    }
  if (strlen (text) > 64 || !g_utf8_validate (text, -1, NULL))
    return FALSE;
  if (ska_parse_duration (text, &number) && !g_ascii_isdigit (text[strlen (text) - 1]))
    {
      *seconds = MAX (0, now - (gint64) number);
      return TRUE;
    }
  time = parse_iso (text);
  if (time == NULL)
    return FALSE;
  *seconds = MAX (0, g_date_time_to_unix (time));
  return TRUE;
}

/* --- files --- */

static gboolean
read_stream (FILE *stream, char *buffer, gsize *len)
{
  *len = 0;
  while (*len <= TEXT_FILE_MAX)
    {
      gsize n = fread (buffer + *len, 1, TEXT_FILE_MAX + 1 - *len, stream);

      if (n == 0)
        break;
      *len += n;
    }
  return !ferror (stream);
}

char *
ska_read_text (SkaCli *cli, const char *name, GError **error)
{
  gboolean standard = strcmp (name, "-") == 0;
  g_autofree char *shown = ska_escape (name);
  FILE *stream = standard ? cli->in : fopen (name, "rbe");
  char *buffer;
  char *text = NULL;
  gsize len = 0;
  gboolean done;
  int saved;

  if (stream == NULL)
    {
      sk_fail (error, SK_ERROR_USAGE, "Cannot read “%s”: %s", shown, g_strerror (errno));
      return NULL;
    }
  /* Unbuffered, so that no copy of a secret stays in the stream. */
  setvbuf (stream, NULL, _IONBF, 0);
  buffer = g_malloc (TEXT_FILE_MAX + 1);
  done = read_stream (stream, buffer, &len);
  saved = errno;
  if (!standard)
    fclose (stream);
  if (!done)
    sk_fail (error, SK_ERROR_USAGE, "Cannot read “%s”: %s", shown, g_strerror (saved));
  else if (len > TEXT_FILE_MAX)
    sk_fail (error, SK_ERROR_USAGE, "“%s” is larger than %u bytes", shown, TEXT_FILE_MAX);
  else if (memchr (buffer, '\0', len) != NULL || !g_utf8_validate_len (buffer, len, NULL))
    sk_fail (error, SK_ERROR_USAGE, "“%s” holds no UTF-8 text", shown);
  else
    text = g_strndup (buffer, len);
  explicit_bzero (buffer, TEXT_FILE_MAX + 1);
  g_free (buffer);
  return text;
}

/* --- values --- */

static GVariant *
fail_value (const SkaArg *arg, const char *text, const char *wanted, GError **error)
{
  g_autofree char *shown = ska_escape (text);
  g_autofree char *begin = g_utf8_substring (shown, 0, MIN (60, g_utf8_strlen (shown, -1)));

  sk_fail (error, SK_ERROR_USAGE, "“%s%s” is no value for %s: it must be %s", begin,
           strlen (begin) < strlen (shown) ? "..." : "", arg->name, wanted);
  return NULL;
}

static GVariant *
parse_choice (const SkaArg *arg, const char *text, GError **error)
{
  g_auto(GStrv) choices = g_strsplit (arg->choices, " ", 0);
  g_autofree char *wanted = NULL;

  if (g_strv_contains ((const char *const *) choices, text))
    return g_variant_new_string (text);
  wanted = g_strjoinv (", ", choices);
  return fail_value (arg, text, wanted, error);
}

static GVariant *
parse_number (const SkaArg *arg, const char *text, GError **error)
{
  g_autofree char *wanted = NULL;
  guint64 number;

  if (g_ascii_string_to_unsigned (text, 10, arg->min, arg->max, &number, NULL))
    return arg->kind == SKA_COUNT ? g_variant_new_uint32 ((guint32) number)
                                  : g_variant_new_uint64 (number);
  if (arg->max >= G_MAXINT64)
    wanted = g_strdup ("a number");
  else
    wanted = g_strdup_printf ("a number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, arg->min,
                              arg->max);
  return fail_value (arg, text, wanted, error);
}

static GVariant *
parse_duration (const SkaArg *arg, const char *text, GError **error)
{
  g_autofree char *least = ska_duration (arg->min);
  g_autofree char *most = ska_duration (arg->max);
  g_autofree char *wanted
      = g_strdup_printf ("a time such as 90s, 10m, 2h or 1d, from %s to %s", least, most);
  guint64 seconds;

  if (!ska_parse_duration (text, &seconds) || seconds < arg->min || seconds > arg->max)
    return fail_value (arg, text, wanted, error);
  return g_variant_new_uint32 ((guint32) seconds);
}

static GVariant *
parse_time (const SkaArg *arg, const char *text, GError **error)
{
  gint64 seconds;

  if (!ska_parse_time (text, g_get_real_time () / G_USEC_PER_SEC, &seconds))
    return fail_value (
        arg, text, "a time such as 2024-05-01, “2024-05-01 12:30” or so long ago: 2h, 7d", error);
  return g_variant_new_int64 (seconds);
}

static GVariant *
parse_uri (const SkaArg *arg, const char *text, GError **error)
{
  g_autofree char *scheme = g_uri_parse_scheme (text);
  g_autofree char *path = NULL;
  g_autofree char *uri = NULL;

  /* One letter and a colon is no scheme that a person means. */
  if (scheme != NULL && strlen (scheme) > 1)
    return g_utf8_validate (text, -1, NULL) ? g_variant_new_string (text)
                                            : fail_value (arg, text, "UTF-8", error);
  path = g_canonicalize_filename (text, NULL);
  if (g_utf8_validate (path, -1, NULL))
    return g_variant_new_string (path);
  uri = g_filename_to_uri (path, NULL, NULL);
  return g_variant_new_string (uri);
}

static GVariant *
parse_secret_file (SkaCli *cli, const char *name, GError **error)
{
  char *text = ska_read_text (cli, name, error);
  GVariant *value = text != NULL ? g_variant_new_string (text) : NULL;

  ska_wipe (text);
  return value;
}

static GVariant *
parse_code (SkaCli *cli, const SkaArg *arg, const char *text, GError **error)
{
  if (strcmp (text, "-") == 0)
    return parse_secret_file (cli, text, error);
  return g_utf8_validate (text, -1, NULL)
             ? g_variant_new_string (text)
             : fail_value (arg, "", "the line that “invite” printed", error);
}

GVariant *
ska_value (SkaCli *cli, const SkaArg *arg, const char *text, GError **error)
{
  g_autofree char *place = NULL;

  if (*text == '\0')
    {
      sk_fail (error, SK_ERROR_USAGE, "%s is empty", arg->name);
      return NULL;
    }
  switch (arg->kind)
    {
    case SKA_CHOICE:
      return parse_choice (arg, text, error);
    case SKA_DURATION:
      return parse_duration (arg, text, error);
    case SKA_COUNT:
    case SKA_NUMBER:
      return parse_number (arg, text, error);
    case SKA_TIME:
      return parse_time (arg, text, error);
    case SKA_PATH:
      return g_variant_new_bytestring (text);
    case SKA_PLACE:
      place = g_canonicalize_filename (text, NULL);
      return g_variant_new_bytestring (place);
    case SKA_URI:
      return parse_uri (arg, text, error);
    case SKA_SECRET_FILE:
      return parse_secret_file (cli, text, error);
    case SKA_CODE:
      return parse_code (cli, arg, text, error);
    case SKA_TEXT:
    default:
      return g_utf8_validate (text, -1, NULL) ? g_variant_new_string (text)
                                              : fail_value (arg, text, "UTF-8", error);
    }
}
