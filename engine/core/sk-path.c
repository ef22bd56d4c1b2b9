/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-path.h"

#include <string.h>

/* Bytes of a hostile path that an error message repeats. */
#define SHOWN_MAX 200u
/* An extension longer than this, dot included, is taken for part of the name. */
#define EXTENSION_MAX 33u

static char *
display (const char *bytes, gsize len)
{
  GString *out = g_string_sized_new (len + 16);
  const char *p = bytes, *end = bytes + len;

  while (p < end)
    {
      gunichar c = g_utf8_get_char_validated (p, end - p);
      gsize n = 1;
      gboolean show = FALSE;

      if (c != (gunichar) -1 && c != (gunichar) -2)
        {
          n = (gsize) (g_utf8_next_char (p) - p);
          /* Marks that turn the direction of writing or start a line could disguise a name. */
          show = c != 0 && !g_unichar_iscntrl (c) && c != 0x200e && c != 0x200f && c != 0x2028
                 && c != 0x2029 && !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
        }
      if (show)
        g_string_append_len (out, p, (gssize) n);
      else
        for (gsize i = 0; i < n; i++)
          g_string_append_printf (out, "\\x%02x", (guint) (guint8) p[i]);
      p += n;
    }
  return g_string_free (out, FALSE);
}

char *
sk_path_display (const char *path)
{
  return display (path, strlen (path));
}

static gboolean
refuse (const char *path, gsize len, const char *why, GError **error)
{
  g_autofree char *shown = display (path, MIN (len, SHOWN_MAX));

  return sk_fail (error, SK_ERROR_CORRUPT, "The path \"%s\"%s %s", shown,
                  len > SHOWN_MAX ? " (cut)" : "", why);
}

/* Characters that HFS+ leaves out when it compares names. */
static gboolean
counts_for_nothing (gunichar c)
{
  return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x206a && c <= 0x206f) || c == 0xfeff;
}

/* @name as the most careless file system reads it. (transfer full) */
static char *
careless (const char *name, gsize len)
{
  g_autoptr(GString) out = g_string_sized_new (len + 1);

  for (const char *p = name; p < name + len; p = g_utf8_next_char (p))
    if (!counts_for_nothing (g_utf8_get_char (p)))
      g_string_append_unichar (out, g_utf8_get_char (p));
  while (out->len > 0 && (out->str[out->len - 1] == '.' || out->str[out->len - 1] == ' '))
    g_string_truncate (out, out->len - 1);
  return sk_name_fold_key (out->str, TRUE, TRUE);
}

/* "SKERRY~1": what vfat and NTFS call it where names are short. */
static gboolean
is_short_name (const char *name, gsize len)
{
  return len == strlen ("skerry~1") && g_ascii_strncasecmp (name, "skerry~", len - 1) == 0 && g_ascii_isdigit (name[len - 1]);
}

gboolean
sk_name_is_own (const char *name, gsize len)
{
  g_autofree char *key = NULL;
  guint8 first = len > 0 ? (guint8) name[0] : 0, second = len > 1 ? (guint8) name[1] : 0;

  if (len < strlen (".skerry"))
    return FALSE;
  if (first == 's' || first == 'S')
    return is_short_name (name, len);
  /* Nearly every name ends here. Those with e2 and ef may begin with a character that does not count. */
  if (first != 0xe2 && first != 0xef && (first != '.' || (second != 's' && second != 'S' && second < 0x80)))
    return FALSE;
  if (!g_utf8_validate (name, (gssize) len, NULL))
    return FALSE;
  key = careless (name, len);
  return strcmp (key, ".skerry") == 0;
}

/* NULL when @name is a legal component, else what is wrong with it. */
static const char *
component_fault (const char *name, gsize len)
{
  if (len == 0)
    return "has an empty component";
  if (len > SK_NAME_MAX)
    return "has a component longer than 255 bytes";
  if ((len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
    return "has a \".\" or \"..\" component";
  if (sk_name_is_own (name, len))
    return "lies in \".skerry\" or what a disk may take for it, which is never synced";
  return NULL;
}

gboolean
sk_path_check (const char *path, gsize len, GError **error)
{
  const char *p = path, *end = path + len;
  guint depth = 0;

  if (len == 0)
    return sk_fail (error, SK_ERROR_CORRUPT, "A path is empty");
  if (len > SK_PATH_MAX)
    return refuse (path, len, "is longer than 65536 bytes", error);
  if (memchr (path, 0, len) != NULL)
    return refuse (path, len, "contains a zero byte", error);

  for (;;)
    {
      const char *slash = memchr (p, '/', (gsize) (end - p));
      const char *stop = slash != NULL ? slash : end;
      const char *fault = component_fault (p, (gsize) (stop - p));

      if (fault != NULL)
        return refuse (path, len, fault, error);
      if (++depth > SK_DEPTH_MAX)
        return refuse (path, len, "has more than 1024 components", error);
      if (slash == NULL)
        return TRUE;
      p = slash + 1;
    }
}

const char *
sk_path_name (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? slash + 1 : path;
}

char *
sk_path_parent (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? g_strndup (path, (gsize) (slash - path)) : g_strdup ("");
}

char *
sk_path_join (const char *parent, const char *name)
{
  return parent[0] == '\0' ? g_strdup (name) : g_strconcat (parent, "/", name, NULL);
}

gboolean
sk_path_is_below (const char *path, const char *prefix)
{
  gsize n = strlen (prefix);

  if (n == 0)    /* the top of the folder */
    return TRUE;
  return strncmp (path, prefix, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Unicode folds Cherokee to capitals, GLib 2.74 swaps the two cases: starting from capitals gives one key. */
static char *
fold (const char *name)
{
  g_autoptr(GString) even = g_string_new (NULL);

  for (const char *p = name; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (g_unichar_get_script (c) == G_UNICODE_SCRIPT_CHEROKEE)
        c = g_unichar_toupper (c);
      g_string_append_unichar (even, c);
    }
  return g_utf8_casefold (even->str, -1);
}

char *
sk_name_fold_key (const char *name, gboolean fold_case, gboolean normalise)
{
  g_autofree char *key = g_strdup (name);

  /* A name that is not UTF-8 has no case and no normal form: file systems that fold treat it as bytes. */
  if (!g_utf8_validate (name, -1, NULL))
    return g_steal_pointer (&key);

  if (normalise)
    {
      g_autofree char *before = g_steal_pointer (&key);

      key = g_utf8_normalize (before, -1, G_NORMALIZE_NFC);
    }
  if (fold_case)
    {
      g_autofree char *before = g_steal_pointer (&key);

      key = fold (before);
    }
  if (fold_case && normalise)    /* folding can take a string out of its normal form */
    {
      g_autofree char *before = g_steal_pointer (&key);

      key = g_utf8_normalize (before, -1, G_NORMALIZE_NFC);
    }
  return g_steal_pointer (&key);
}

/* Where the extension of @name begins, its dot included; the end of @name when it has none. */
static const char *
find_extension (const char *name)
{
  const char *end = name + strlen (name);
  const char *dot = strrchr (name, '.');
  gsize stem;

  /* A leading dot hides a file, it does not begin an extension; nor does the dot of "Dr. Who" or "end.". */
  if (dot == NULL || dot[1] == '\0' || (gsize) (end - dot) > EXTENSION_MAX)
    return end;
  if (strspn (name, ".") >= (gsize) (dot - name) || strcspn (dot, " \t\n()") < (gsize) (end - dot))
    return end;

  stem = (gsize) (dot - name);
  if (stem > 4 && g_ascii_strncasecmp (dot - 4, ".tar", 4) == 0
      && strspn (name, ".") < stem - 4)
    return dot - 4;
  return dot;
}

/* @len or a little less, so that no character of @bytes is cut; invalid bytes are cut anywhere. */
static gsize
character_border (const char *bytes, gsize len)
{
  gsize at = len;

  while (at > 0 && len - at < 4 && ((guint8) bytes[at] & 0xc0) == 0x80)
    at--;
  return ((guint8) bytes[at] & 0xc0) == 0x80 ? len : at;
}

char *
sk_name_with_suffix (const char *name, const char *suffix)
{
  const char *extension = find_extension (name);
  gsize stem = (gsize) (extension - name);
  gsize suffix_len = strlen (suffix);
  gsize room;

  if (suffix_len > SK_NAME_MAX)
    suffix_len = character_border (suffix, SK_NAME_MAX);
  /* An extension that leaves no room for at least one character of the name is given up. */
  if (suffix_len + strlen (extension) + 4 > SK_NAME_MAX)
    {
      extension = name + strlen (name);
      stem = strlen (name);
    }
  room = SK_NAME_MAX - suffix_len - strlen (extension);
  if (stem > room)
    stem = character_border (name, room);
  return g_strdup_printf ("%.*s%.*s%s", (int) stem, name, (int) suffix_len, suffix, extension);
}
