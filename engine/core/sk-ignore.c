/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-ignore.h"
#include "sk-glob.h"
#include "sk-limits.h"
#include "sk-path.h"

#include <string.h>

/* An ignored file is one that a person believes to be safe and that is not. So only what surely is of no use on
 * another device stands here, in patterns that hardly fit a name a person would choose. Each can be taken back with
 * "!pattern". */
static const char *const defaults[] = {
  /* Editors. */
  "*.?*~",                /* the copy that gedit, Emacs, Kate leave of the text as it was before */
  ".*.sw[k-p]",           /* Vim's swap file while a file is open; not .swf */
  "\\#?*#",               /* Emacs: unsaved text of an open file */
  ".#?*",                 /* Emacs: lock, a link that points nowhere */
  ".~lock.?*#",           /* LibreOffice: lock of an open document */
  "~$*.*",                /* Microsoft Office: the same */
  ".goutputstream-??????", /* GLib: a file half saved, renamed when complete */
  ".*.kate-swp",          /* Kate: unsaved text of an open file */

  /* Partial downloads: renamed when complete, and then taken. */
  "*.part",               /* Firefox, KDE, wget-like tools */
  "*.crdownload",         /* Chromium and its family */
  "*.wkdownload",         /* GNOME Web */
  "*.partial",            /* Edge, and several package tools */

  /* Files deleted while open, kept under such a name by the file system until closed. */
  ".nfs[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]*",
  ".fuse_hidden[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]*",

  /* Trash of the desktop at the top of a mount: already deleted by the person. */
  ".Trash-[0-9]*/",

  /* View settings and previews that other systems make anew by themselves. */
  ".DS_Store",
  "Thumbs.db",

  /* State of other sync programs, true for one device only. */
  ".stfolder",
  ".stversions/",
  ".sync_*.db*",
};

typedef struct
{
  SkGlob *glob;
  SkGlobShape shape;
  const char *text;        /* of @glob, see sk_glob_shape() */
  gsize text_len;
  gboolean negated, dirs_only, anchored;
} Rule;

/* Rules by what a quick look at the path can exclude; each list holds indices into @rules, ascending. */
struct _SkIgnore
{
  gatomicrefcount ref_count;
  GArray *rules;
  GHashTable *by_name;            /* literal name -> GArray of guint */
  GHashTable *by_path;            /* literal path -> GArray of guint */
  GArray *by_first_of_name[256];  /* NULL when empty, as the next two */
  GArray *by_last_of_name[256];
  GArray *by_first_of_path[256];
  GArray *rest;
};

static void
clear_rule (gpointer data)
{
  sk_glob_free (((Rule *) data)->glob);
}

static void
append_to_table (GHashTable *table, const char *key, guint index)
{
  GArray *list = g_hash_table_lookup (table, key);

  if (list == NULL)
    {
      list = g_array_new (FALSE, FALSE, sizeof (guint));
      g_hash_table_insert (table, g_strdup (key), list);
    }
  g_array_append_val (list, index);
}

static void
append_to_list (GArray **list, guint index)
{
  if (*list == NULL)
    *list = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (*list, index);
}

static void
file_rule (SkIgnore *self, const Rule *rule, guint index)
{
  if (rule->shape == SK_GLOB_LITERAL)
    append_to_table (rule->anchored ? self->by_path : self->by_name, rule->text, index);
  else if (rule->shape == SK_GLOB_SUFFIX && !rule->anchored)
    append_to_list (&self->by_last_of_name[(guint8) rule->text[rule->text_len - 1]], index);
  else if (rule->shape == SK_GLOB_SUFFIX || rule->text_len == 0)
    append_to_list (&self->rest, index);
  else if (rule->anchored)
    append_to_list (&self->by_first_of_path[(guint8) rule->text[0]], index);
  else
    append_to_list (&self->by_first_of_name[(guint8) rule->text[0]], index);
}

/* Trailing spaces do not count unless a '\' stands before them. */
static gsize
trim (const char *line, gsize len)
{
  gsize end = 0;

  for (gsize i = 0; i < len; i++)
    {
      if (line[i] == '\\' && i + 1 < len)
        i++;
      else if (line[i] == ' ')
        continue;
      end = i + 1;
    }
  return end;
}

static void
add_line (SkIgnore *self, const char *line, gsize len)
{
  Rule rule = { 0 };

  if (len > 0 && line[len - 1] == '\r')
    len--;
  len = trim (line, len);
  if (len == 0 || line[0] == '#' || self->rules->len >= SK_PATTERNS_MAX)
    return;

  if (line[0] == '!')
    {
      rule.negated = TRUE;
      line++;
      len--;
    }
  if (len > 0 && line[len - 1] == '/')
    {
      rule.dirs_only = TRUE;
      len--;
    }
  rule.anchored = memchr (line, '/', len) != NULL;
  if (len > 0 && line[0] == '/')
    {
      line++;
      len--;
    }

  rule.glob = sk_glob_new (line, len);
  if (rule.glob == NULL)
    return;
  rule.shape = sk_glob_shape (rule.glob, &rule.text);
  rule.text_len = strlen (rule.text);
  file_rule (self, &rule, self->rules->len);
  g_array_append_val (self->rules, rule);
}

SkIgnore *
sk_ignore_new (const char *text, gsize len)
{
  SkIgnore *self = g_new0 (SkIgnore, 1);
  const char *p = text, *end = text != NULL ? text + len : NULL;

  g_atomic_ref_count_init (&self->ref_count);
  self->rules = g_array_new (FALSE, FALSE, sizeof (Rule));
  g_array_set_clear_func (self->rules, clear_rule);
  self->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_array_unref);
  self->by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_array_unref);

  for (guint i = 0; i < G_N_ELEMENTS (defaults); i++)
    add_line (self, defaults[i], strlen (defaults[i]));

  if (len >= 3 && text != NULL && memcmp (text, "\xef\xbb\xbf", 3) == 0)    /* byte order mark */
    p += 3;
  while (p < end)
    {
      const char *newline = memchr (p, '\n', (gsize) (end - p));
      const char *stop = newline != NULL ? newline : end;

      add_line (self, p, (gsize) (stop - p));
      p = newline != NULL ? newline + 1 : end;
    }
  return self;
}

SkIgnore *
sk_ignore_ref (SkIgnore *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
sk_ignore_unref (SkIgnore *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->ref_count))
    return;
  for (guint i = 0; i < 256; i++)
    {
      g_clear_pointer (&self->by_first_of_name[i], g_array_unref);
      g_clear_pointer (&self->by_last_of_name[i], g_array_unref);
      g_clear_pointer (&self->by_first_of_path[i], g_array_unref);
    }
  g_clear_pointer (&self->rest, g_array_unref);
  g_hash_table_unref (self->by_name);
  g_hash_table_unref (self->by_path);
  g_array_unref (self->rules);
  g_free (self);
}

typedef struct { const char *path, *name; gsize name_len; gboolean is_dir; } Question;

static gboolean
rule_matches (const Rule *rule, const Question *question)
{
  if (rule->dirs_only && !question->is_dir)
    return FALSE;
  if (rule->anchored)
    return sk_glob_match (rule->glob, question->path);

  switch (rule->shape)
    {
    case SK_GLOB_LITERAL:
      return TRUE;    /* found by its hash */
    case SK_GLOB_SUFFIX:
      return question->name_len >= rule->text_len
             && memcmp (question->name + question->name_len - rule->text_len, rule->text, rule->text_len) == 0;
    case SK_GLOB_PREFIX:
      return strncmp (question->name, rule->text, rule->text_len) == 0;
    case SK_GLOB_GENERAL:
    default:
      return sk_glob_match (rule->glob, question->name);
    }
}

/* The last rule that matches decides: looks from the end of @list and stops at what was found before. */
static void
look (const SkIgnore *self, const GArray *list, const Question *question, int *best)
{
  if (list == NULL)
    return;
  for (guint i = list->len; i-- > 0;)
    {
      int index = (int) g_array_index (list, guint, i);

      if (index <= *best)
        return;
      if (rule_matches (&g_array_index (self->rules, Rule, index), question))
        {
          *best = index;
          return;
        }
    }
}

gboolean
sk_ignore_match_here (SkIgnore *self, const char *path, gboolean is_dir)
{
  Question question = { .path = path, .name = sk_path_name (path), .is_dir = is_dir };
  int best = -1;

  question.name_len = strlen (question.name);
  if (question.name_len == 0)
    return FALSE;
  if (sk_name_is_own (question.name, question.name_len))    /* never, whatever a pattern says */
    return TRUE;

  look (self, g_hash_table_lookup (self->by_name, question.name), &question, &best);
  if (g_hash_table_size (self->by_path) > 0)
    look (self, g_hash_table_lookup (self->by_path, path), &question, &best);
  look (self, self->by_first_of_name[(guint8) question.name[0]], &question, &best);
  look (self, self->by_last_of_name[(guint8) question.name[question.name_len - 1]], &question, &best);
  look (self, self->by_first_of_path[(guint8) path[0]], &question, &best);
  look (self, self->rest, &question, &best);
  return best >= 0 && !g_array_index (self->rules, Rule, best).negated;
}

gboolean
sk_ignore_match (SkIgnore *self, const char *path, gboolean is_dir)
{
  g_autofree char *copy = g_strdup (path);

  for (char *slash = strchr (copy, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      *slash = '\0';
      if (sk_ignore_match_here (self, copy, TRUE))
        return TRUE;
      *slash = '/';
    }
  return sk_ignore_match_here (self, copy, is_dir);
}
