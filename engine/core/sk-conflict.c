/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-hash.h"
#include "sk-limits.h"
#include "sk-merge.h"
#include "sk-path.h"

#include <string.h>

/* The suffix is SUFFIX_BEGIN, device, ", ", "YYYY-MM-DD HH.MM", ", ", hex digits of the content hash, ")". */
#define SUFFIX_BEGIN " (conflict, "
#define DATE_LENGTH 16u
#define DEVICE_SHOWN_MAX 40u      /* bytes of a device name; leaves room for the name itself */
#define DIGITS_MIN 4u
#define DIGITS_STEP 4u
#define DIGITS_MAX 64u

/* The device's name as a part of a file name, without what would end the suffix early or disguise it. */
static void
append_device (GString *out, const char *device_name)
{
  g_autofree char *valid = g_utf8_make_valid (device_name != NULL ? device_name : "", -1);
  gsize begin = out->len;

  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);
      char bytes[6];
      gsize len;

      if (c == '/' || c == '\\' || g_unichar_iscntrl (c) || g_unichar_type (c) == G_UNICODE_FORMAT
          || c == 0x2028 || c == 0x2029)
        c = '_';
      else if (c == '(' || c == ')')
        c = c == '(' ? '[' : ']';
      len = (gsize) g_unichar_to_utf8 (c, bytes);
      if (out->len - begin + len > DEVICE_SHOWN_MAX)
        break;
      g_string_append_len (out, bytes, (gssize) len);
    }
  while (out->len > begin && out->str[out->len - 1] == ' ')
    g_string_truncate (out, out->len - 1);
  if (out->len == begin)
    g_string_append (out, "device");
}

/* In UTC, or the name would differ between Helsinki and Paris. */
static void
append_date (GString *out, gint64 wall)
{
  g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc (CLAMP (wall, SK_WALL_MIN, SK_WALL_MAX));

  g_string_append_printf (out, "%04d-%02d-%02d %02d.%02d", g_date_time_get_year (time), g_date_time_get_month (time),
                          g_date_time_get_day_of_month (time), g_date_time_get_hour (time),
                          g_date_time_get_minute (time));
}

static gboolean
matches (const char *text, const char *pattern)
{
  for (; *pattern != '\0'; text++, pattern++)
    if (*pattern == '9' ? !g_ascii_isdigit (*text) : *text != *pattern)
      return FALSE;
  return TRUE;
}

/* Length of a whole suffix at @text, 0 when none stands there. */
static gsize
suffix_length (const char *text)
{
  const char *stop = strchr (text + 1, ')');
  const char *digits;
  gsize n_digits;

  if (!g_str_has_prefix (text, SUFFIX_BEGIN) || stop == NULL)
    return 0;
  for (digits = stop; digits > text && g_ascii_isxdigit (digits[-1]) && !g_ascii_isupper (digits[-1]); digits--)
    ;
  n_digits = (gsize) (stop - digits);
  if (n_digits < DIGITS_MIN || n_digits > DIGITS_MAX || n_digits % DIGITS_STEP != 0)
    return 0;
  /* At least one byte of a device name in between. */
  if ((gsize) (digits - text) < strlen (SUFFIX_BEGIN) + 1 + 2 + DATE_LENGTH + 2
      || !matches (digits - 2 - DATE_LENGTH - 2, ", 9999-99-99 99.99, "))
    return 0;
  return (gsize) (stop + 1 - text);
}

/* Finds the suffix of a name that already is a conflict copy: at its end, or before something like an extension. */
static gboolean
find_suffix (const char *name, gsize *at, gsize *len)
{
  for (const char *p = strstr (name, SUFFIX_BEGIN); p != NULL; p = strstr (p + 1, SUFFIX_BEGIN))
    {
      gsize n = suffix_length (p);
      const char *rest = p + n;

      if (n == 0 || p == name)
        continue;
      if (rest[0] != '\0' && (rest[0] != '.' || rest[strcspn (rest, " \t\n()")] != '\0'))
        continue;
      *at = (gsize) (p - name);
      *len = n;
      return TRUE;
    }
  return FALSE;
}

gboolean
sk_is_conflict_name (const char *name)
{
  gsize at, len;

  return find_suffix (name, &at, &len);
}

char *
sk_conflict_original (const char *path)
{
  const char *name = sk_path_name (path);
  g_autofree char *parent = NULL;
  g_autofree char *plain = NULL;
  gsize at, len;

  if (!find_suffix (name, &at, &len))
    return NULL;
  parent = sk_path_parent (path);
  plain = g_strdup_printf ("%.*s%s", (int) at, name, name + at + len);
  return sk_path_join (parent, plain);
}

static char *
conflict_name (const SkEntry *loser, const char *plain, guint n_digits)
{
  g_autoptr(GString) suffix = g_string_new (SUFFIX_BEGIN);
  char hex[SK_HASH_HEX_SIZE];

  append_device (suffix, loser->device_name);
  g_string_append (suffix, ", ");
  append_date (suffix, loser->wall);
  sk_hash_format (&loser->content, hex);
  g_string_append_printf (suffix, ", %.*s)", (int) n_digits, hex);
  return sk_name_with_suffix (plain, suffix->str);
}

char *
sk_conflict_path (const SkEntry *loser)
{
  const char *name = sk_path_name (loser->path);
  g_autofree char *parent = sk_path_parent (loser->path);
  g_autofree char *plain = NULL;
  g_autofree char *copy = NULL;
  gsize at, len;

  if (!find_suffix (name, &at, &len))
    plain = g_strdup (name);
  else
    plain = g_strdup_printf ("%.*s%s", (int) at, name, name + at + len);

  /* A copy that loses its own name (to a directory made there, or to another content with the same first digits) goes
   * to a longer name, and on, never back: so a chain of copies ends. */
  copy = conflict_name (loser, plain, DIGITS_MIN);
  for (guint n = DIGITS_MIN; n < DIGITS_MAX; n += DIGITS_STEP)
    {
      g_autofree char *own = conflict_name (loser, plain, n);

      if (strcmp (own, name) != 0)
        continue;
      g_free (copy);
      copy = conflict_name (loser, plain, n + DIGITS_STEP);
      break;
    }
  return sk_path_join (parent, copy);
}

/* A writer that no device has: the same on every device, and another one for every loser. */
static void
copy_writer (const SkEntry *loser, SkId *out)
{
  static const char domain[] = "skerry conflict copy 1";
  g_auto(SkWriter) writer = { 0 };
  g_autoptr(GBytes) vector = sk_vector_encode (loser->vector);
  g_autoptr(GBytes) input = NULL;
  SkHash hash;

  sk_writer_init (&writer);
  sk_writer_raw (&writer, domain, sizeof domain);
  sk_writer_id (&writer, &loser->folder);
  sk_writer_string (&writer, loser->path);
  sk_writer_blob (&writer, g_bytes_get_data (vector, NULL), g_bytes_get_size (vector));
  sk_writer_hash (&writer, &loser->content);
  input = sk_writer_finish (&writer);
  sk_blake2b (g_bytes_get_data (input, NULL), g_bytes_get_size (input), &hash);
  memcpy (out->bytes, hash.bytes, sizeof out->bytes);
}

SkEntry *
sk_conflict_entry (const SkEntry *loser)
{
  SkEntry *copy = sk_entry_copy (loser);

  g_free (copy->path);
  copy->path = sk_conflict_path (loser);
  copy_writer (loser, &copy->writer);
  sk_vector_unref (copy->vector);
  copy->vector = sk_vector_new (&(SkVectorItem) { copy->writer, 1 }, 1);
  copy->flags = loser->flags & SK_ENTRY_UNION;    /* goes with Lamport 0 */
  return copy;
}

gboolean
sk_merge_copy_is_gone (const SkEntry *entry, SkEntry *const *at_copy_path, guint n)
{
  SkId writer;

  copy_writer (entry, &writer);
  for (guint i = 0; i < n; i++)
    if (sk_vector_get (at_copy_path[i]->vector, &writer) > 0 && !sk_hash_equal (&at_copy_path[i]->content, &entry->content))
      return TRUE;
  return FALSE;
}

static gboolean
is_before (const SkEntry *a, const SkEntry *b)
{
  return sk_vector_compare (a->vector, b->vector) == SK_ORDER_BEFORE;
}

/* What the writer of @change saw at the path: the entries below it, and of these the maximal ones. */
static gboolean
writer_saw (const SkEntry *change, const SkEntry *entry, SkEntry *const *at_name, guint n)
{
  g_autoptr(GPtrArray) below = g_ptr_array_new (), seen = g_ptr_array_new ();
  g_autofree gboolean *maximal = g_new0 (gboolean, n + 1);
  SkVisible visible;

  for (guint i = 0; i < n; i++)
    if (is_before (at_name[i], change))
      g_ptr_array_add (below, at_name[i]);
  sk_merge_maximal ((SkEntry *const *) below->pdata, below->len, maximal);
  for (guint i = 0; i < below->len; i++)
    if (maximal[i])
      g_ptr_array_add (seen, below->pdata[i]);
  sk_merge_visible ((SkEntry *const *) seen->pdata, seen->len, FALSE, &visible);
  return visible.winner < 0 || sk_hash_equal (&((SkEntry *) seen->pdata[visible.winner])->content, &entry->content);
}

/* No other entry that dominates @entry is dominated by @change: it was the first that did. */
static gboolean
is_first_after (const SkEntry *change, const SkEntry *entry, SkEntry *const *at_name, guint n)
{
  if (!is_before (entry, change))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (is_before (entry, at_name[i]) && is_before (at_name[i], change))
      return FALSE;
  return TRUE;
}

gboolean
sk_merge_loses_name (const SkEntry *entry, SkEntry *const *at_name, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      if (sk_hash_equal (&at_name[i]->content, &entry->content)
          && !is_before (at_name[i], entry) && sk_vector_compare (at_name[i]->vector, entry->vector) != SK_ORDER_EQUAL)
        return FALSE;
      if (is_first_after (at_name[i], entry, at_name, n) && writer_saw (at_name[i], entry, at_name, n))
        return FALSE;
    }
  return TRUE;
}

/* By an entry of @device that built on the copy, in whatever incarnation. */
static gboolean
was_taken_by (const SkDeviceId *device, SkEntry *const *at_copy, guint n)
{
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < sk_vector_length (at_copy[i]->vector); k++)
      {
        SkDeviceId writer = sk_id_device (&sk_vector_items (at_copy[i]->vector)[k].writer);

        if (sk_device_id_equal (&writer, device))
          return TRUE;
      }
  return FALSE;
}

/* A deletion that did not know of @entry: it took away what was at the name instead. */
static gboolean
came_back (const SkEntry *entry, SkEntry *const *at_name, guint n)
{
  for (guint i = 0; i < n; i++)
    if (at_name[i]->kind == SK_KIND_TOMBSTONE && sk_vector_compare (at_name[i]->vector, entry->vector) == SK_ORDER_CONCURRENT)
      return TRUE;
  return FALSE;
}

gboolean
sk_merge_must_restate (const SkEntry *entry, SkEntry *const *at_name, guint n, SkEntry *const *at_copy, guint n_copy,
                       const SkDeviceId *device)
{
  return sk_merge_copy_is_gone (entry, at_copy, n_copy) && (was_taken_by (device, at_copy, n_copy) || came_back (entry, at_name, n))
         && sk_merge_loses_name (entry, at_name, n);
}

SkEntry *
sk_merge_restate (const SkEntry *entry, const SkVector *built_on, const SkId *writer, guint64 counter)
{
  SkEntry *again = sk_entry_copy (entry);

  sk_vector_unref (again->vector);
  again->vector = sk_vector_with (built_on, writer, counter);
  again->writer = *writer;
  again->flags = entry->flags & SK_ENTRY_UNION;    /* goes with Lamport 0 */
  return again;
}
