/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-xattr.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "sk-bytes.h"
#include "sk-limits.h"

#define PREFIX "user."
/* The kernel's own limit for a list of names and for a value (XATTR_LIST_MAX, XATTR_SIZE_MAX). */
#define KERNEL_MAX 65536u

typedef struct
{
  char *name;
  GBytes *value;
} Attribute;

static void
attribute_free (gpointer data)
{
  Attribute *self = data;

  g_free (self->name);
  g_clear_pointer (&self->value, g_bytes_unref);
  g_free (self);
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const Attribute *const *x = a, *const *y = b;

  return strcmp ((*x)->name, (*y)->name);
}

/* ---- the file ---- */

/* Names without values. NULL with errno. */
static GPtrArray *
list_names (int fd)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func (attribute_free);
  g_autofree char *list = g_malloc (KERNEL_MAX);
  gssize n = flistxattr (fd, list, KERNEL_MAX);

  if (n < 0)
    return NULL;
  for (const char *p = list; p < list + n; p += strlen (p) + 1)
    if (g_str_has_prefix (p, PREFIX) && p[strlen (PREFIX)] != '\0')
      {
        Attribute *attribute = g_new0 (Attribute, 1);

        attribute->name = g_strdup (p);
        g_ptr_array_add (names, attribute);
      }
  g_ptr_array_sort (names, compare);
  return g_steal_pointer (&names);
}

static gboolean
is_missing (int errnum)
{
  return errnum == EOPNOTSUPP || errnum == ENOSYS;
}

GBytes *
sk_xattr_read (int fd, int *errnum)
{
  g_autoptr(GPtrArray) names = list_names (fd);
  g_autofree guint8 *buffer = g_malloc (KERNEL_MAX);
  g_auto(SkWriter) writer = { 0 };

  *errnum = names != NULL || is_missing (errno) ? 0 : errno;
  if (names == NULL || names->len == 0)
    return NULL;

  sk_writer_init (&writer);
  for (guint i = 0; i < names->len; i++)
    {
      const Attribute *attribute = g_ptr_array_index (names, i);
      gssize n = fgetxattr (fd, attribute->name, buffer, KERNEL_MAX);

      if (n < 0 && errno == ENODATA) /* removed since it was listed */
        continue;
      if (n < 0)
        *errnum = errno;
      else
        {
          sk_writer_blob (&writer, attribute->name, strlen (attribute->name));
          sk_writer_blob (&writer, buffer, (gsize) n);
        }
      if (writer.bytes->len > SK_XATTR_MAX)
        *errnum = E2BIG;
      if (*errnum != 0)
        return NULL;
    }
  return writer.bytes->len > 0 ? sk_writer_finish (&writer) : NULL;
}

/* ---- the value ---- */

/* NULL when it does not parse. */
static GPtrArray *
parse (GBytes *value)
{
  g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func (attribute_free);
  const char *last = "";
  SkReader reader;
  gsize len;
  const guint8 *data = g_bytes_get_data (value, &len);

  if (len > SK_XATTR_MAX)
    return NULL;
  sk_reader_init (&reader, data, len);
  while (sk_reader_left (&reader) > 0 && !reader.failed)
    {
      g_autofree char *name = sk_reader_string (&reader, SK_NAME_MAX);
      const guint8 *bytes = sk_reader_blob (&reader, KERNEL_MAX, &len);
      Attribute *attribute;

      if (reader.failed || !g_str_has_prefix (name, PREFIX) || name[strlen (PREFIX)] == '\0'
          || strcmp (last, name) >= 0)
        return NULL;
      attribute = g_new0 (Attribute, 1);
      attribute->name = g_steal_pointer (&name);
      attribute->value = g_bytes_new (bytes, len);
      g_ptr_array_add (found, attribute);
      last = attribute->name;
    }
  return sk_reader_done (&reader) ? g_steal_pointer (&found) : NULL;
}

gboolean
sk_xattr_check (GBytes *value)
{
  g_autoptr(GPtrArray) found = parse (value);

  return found != NULL;
}

static gboolean
is_among (GPtrArray *attributes, const char *name)
{
  for (guint i = 0; i < attributes->len; i++)
    if (strcmp (((const Attribute *) g_ptr_array_index (attributes, i))->name, name) == 0)
      return TRUE;
  return FALSE;
}

static int
remove_others (int fd, GPtrArray *wanted)
{
  g_autoptr(GPtrArray) present = list_names (fd);

  if (present == NULL)
    return errno;
  for (guint i = 0; i < present->len; i++)
    {
      const Attribute *attribute = g_ptr_array_index (present, i);

      if (!is_among (wanted, attribute->name) && fremovexattr (fd, attribute->name) != 0
          && errno != ENODATA)
        return errno;
    }
  return 0;
}

int
sk_xattr_write (int fd, GBytes *value)
{
  g_autoptr(GPtrArray) wanted = value != NULL ? parse (value) : g_ptr_array_new ();
  int errnum;

  if (wanted == NULL)
    return EINVAL;
  errnum = remove_others (fd, wanted);
  if (errnum != 0)
    return wanted->len == 0 && is_missing (errnum) ? 0 : errnum;
  for (guint i = 0; i < wanted->len; i++)
    {
      const Attribute *attribute = g_ptr_array_index (wanted, i);
      gsize len;
      const void *bytes = g_bytes_get_data (attribute->value, &len);

      if (fsetxattr (fd, attribute->name, bytes, len, 0) != 0 && errnum == 0)
        errnum = errno;
    }
  return errnum;
}
