/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-mounts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sk-path.h"

#define MOUNTS_MAX (16u << 20)   /* bytes; a hundred thousand mounts */

typedef struct { char *device, *root, *point; } Mount;

struct _SkMounts
{
  GArray *mounts;                /* Mount, in the order in which they were made */
};

static void
mount_clear (gpointer data)
{
  Mount *self = data;

  g_free (self->device);
  g_free (self->root);
  g_free (self->point);
}

/* Space, tab, newline and backslash are written as three octal digits. "/" becomes "", so that paths can be put behind it. */
static char *
unescape (const char *text)
{
  GString *out = g_string_new (NULL);

  for (const char *p = text; *p != '\0'; p++)
    if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7')
      {
        g_string_append_c (out, (char) ((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0')));
        p += 3;
      }
    else
      g_string_append_c (out, *p);
  if (out->len == 1 && out->str[0] == '/')
    g_string_truncate (out, 0);
  return g_string_free (out, FALSE);
}

SkMounts *
sk_mounts_parse (const char *text)
{
  SkMounts *self = g_new0 (SkMounts, 1);
  g_auto(GStrv) lines = g_strsplit (text, "\n", -1);

  self->mounts = g_array_new (FALSE, FALSE, sizeof (Mount));
  g_array_set_clear_func (self->mounts, mount_clear);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      /* ID PARENT MAJOR:MINOR ROOT POINT ... */
      g_auto(GStrv) words = g_strsplit (lines[i], " ", 6);
      Mount mount;

      if (g_strv_length (words) < 5 || strchr (words[2], ':') == NULL || words[3][0] != '/' || words[4][0] != '/')
        continue;
      mount = (Mount) { .device = g_strdup (words[2]), .root = unescape (words[3]), .point = unescape (words[4]) };
      g_array_append_val (self->mounts, mount);
    }
  return self;
}

SkMounts *
sk_mounts_new (void)
{
  int fd = open ("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  g_autoptr(GString) text = g_string_new (NULL);
  char part[16384];
  gssize n;

  while (fd >= 0 && text->len < MOUNTS_MAX && (n = read (fd, part, sizeof part)) > 0)
    g_string_append_len (text, part, n);
  if (fd >= 0)
    close (fd);
  return sk_mounts_parse (text->str);
}

void
sk_mounts_free (SkMounts *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->mounts);
  g_free (self);
}

char *
sk_mounts_place (const SkMounts *self, const char *path)
{
  const Mount *best = NULL;

  /* Of two at one point the later one lies on top. */
  for (guint i = 0; i < self->mounts->len; i++)
    {
      const Mount *mount = &g_array_index (self->mounts, Mount, i);

      if (sk_path_is_below (path, mount->point) && (best == NULL || strlen (mount->point) >= strlen (best->point)))
        best = mount;
    }
  if (best == NULL)
    return NULL;
  path += strlen (best->point);
  return g_strconcat (best->device, best->root, strcmp (path, "/") != 0 ? path : "", NULL);
}
