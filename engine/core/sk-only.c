/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-glob.h"
#include "sk-ignore.h"
#include "sk-path.h"

#include <string.h>

typedef struct { SkGlob *glob; gboolean dirs_only, anchored; } Choice;

struct _SkOnly { GArray *choices; };

static void
clear_choice (gpointer data)
{
  sk_glob_free (((Choice *) data)->glob);
}

static gboolean
parse (const char *glob, Choice *out)
{
  gsize len = strlen (glob);
  Choice choice = { 0 };

  if (g_str_has_prefix (glob, "./"))    /* as a shell would complete it */
    {
      glob++;
      len--;
    }
  if (len > 0 && glob[len - 1] == '/')
    {
      choice.dirs_only = TRUE;
      len--;
    }
  choice.anchored = memchr (glob, '/', len) != NULL;
  if (len > 0 && glob[0] == '/')
    {
      glob++;
      len--;
    }
  choice.glob = sk_glob_new (glob, len);
  *out = choice;
  return choice.glob != NULL;
}

SkOnly *
sk_only_new (const char *const *globs, GError **error)
{
  g_autoptr(SkOnly) self = g_new0 (SkOnly, 1);

  self->choices = g_array_new (FALSE, FALSE, sizeof (Choice));
  g_array_set_clear_func (self->choices, clear_choice);
  for (guint i = 0; globs != NULL && globs[i] != NULL; i++)
    {
      Choice choice;

      if (!parse (globs[i], &choice))
        {
          g_autofree char *shown = sk_path_display (globs[i]);

          sk_fail (error, SK_ERROR_USAGE, "\"%s\" is not a pattern: look for an open bracket, an empty component, "
                   "or a backslash at the end", shown);
          return NULL;
        }
      g_array_append_val (self->choices, choice);
    }
  return g_steal_pointer (&self);
}

void
sk_only_free (SkOnly *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->choices);
  g_free (self);
}

static gboolean
choice_matches (const Choice *choice, const char *path, gboolean is_dir)
{
  if (choice->dirs_only && !is_dir)
    return FALSE;
  return sk_glob_match (choice->glob, choice->anchored ? path : sk_path_name (path));
}

static gboolean
choice_selects (const Choice *choice, char *path, gboolean is_dir)
{
  for (char *slash = strchr (path, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      gboolean matches;

      *slash = '\0';
      matches = choice_matches (choice, path, TRUE);
      *slash = '/';
      if (matches)
        return TRUE;
    }
  if (choice_matches (choice, path, is_dir))
    return TRUE;
  return is_dir && (!choice->anchored || sk_glob_match_below (choice->glob, path));
}

gboolean
sk_only_selects (const SkOnly *self, const char *path, gboolean is_dir)
{
  g_autofree char *copy = NULL;

  if (self->choices->len == 0)
    return TRUE;
  copy = g_strdup (path);
  for (guint i = 0; i < self->choices->len; i++)
    if (choice_selects (&g_array_index (self->choices, Choice, i), copy, is_dir))
      return TRUE;
  return FALSE;
}

gboolean
sk_only_match (const char *const *globs, const char *path, gboolean is_dir)
{
  g_autofree char *copy = NULL;

  if (globs == NULL || globs[0] == NULL)
    return TRUE;
  copy = g_strdup (path);
  for (guint i = 0; globs[i] != NULL; i++)
    {
      Choice choice;
      gboolean selects;

      if (!parse (globs[i], &choice))
        continue;
      selects = choice_selects (&choice, copy, is_dir);
      clear_choice (&choice);
      if (selects)
        return TRUE;
    }
  return FALSE;
}
