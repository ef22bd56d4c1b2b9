/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-glob.h"
#include "sk-limits.h"

#include <string.h>

typedef enum { TOKEN_LITERAL, TOKEN_ANY, TOKEN_SET, TOKEN_STAR } TokenType;

/* @start and @n: bytes of a literal, or ranges of a set. */
typedef struct { TokenType type; gboolean negated; guint start, n; } Token;
typedef struct { gunichar first, last; } Range;
/* @start and @n: tokens. */
typedef struct { gboolean spans; guint start, n; } Component;

struct _SkGlob
{
  GArray *components;
  GArray *tokens;
  GArray *ranges;
  GString *literals;
  SkGlobShape shape;
  char *text;
};

typedef struct { const char *p, *end; } Cursor;

/* The character at @p and its length. A byte that is not UTF-8 stands for itself, in a range of code points that
 * valid UTF-8 cannot contain. */
static gunichar
next_character (const char *p, const char *end, gsize *len)
{
  gunichar c;

  *len = 1;
  if ((guint8) *p < 0x80)
    return (guint8) *p;
  c = g_utf8_get_char_validated (p, end - p);
  if (c == (gunichar) -1 || c == (gunichar) -2)
    return 0xdc00 + (guint8) *p;
  *len = (gsize) (g_utf8_next_char (p) - p);
  return c;
}

static gunichar
take (Cursor *in)
{
  gsize len;
  gunichar c = next_character (in->p, in->end, &len);

  in->p += len;
  return c;
}

static gboolean
in_class (const char *name, gsize len, guint8 c)
{
  static const struct { const char *name; guint16 mask; } rows[] = {
    { "alnum", G_ASCII_ALNUM }, { "alpha", G_ASCII_ALPHA }, { "cntrl", G_ASCII_CNTRL },
    { "digit", G_ASCII_DIGIT }, { "graph", G_ASCII_GRAPH }, { "lower", G_ASCII_LOWER },
    { "print", G_ASCII_PRINT }, { "punct", G_ASCII_PUNCT }, { "space", G_ASCII_SPACE },
    { "upper", G_ASCII_UPPER }, { "xdigit", G_ASCII_XDIGIT },
  };

  if (len == 5 && memcmp (name, "blank", 5) == 0)
    return c == ' ' || c == '\t';
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strlen (rows[i].name) == len && memcmp (rows[i].name, name, len) == 0)
      return (g_ascii_table[c] & rows[i].mask) != 0;
  return FALSE;
}

/* "[:name:]" after its first '['. FALSE when it is not one; an unknown name is a class with nothing in it. */
static gboolean
parse_class (SkGlob *self, Cursor *in)
{
  const char *name = in->p + 1;
  const char *stop;

  if (in->p == in->end || *in->p != ':')
    return FALSE;
  for (stop = name; stop < in->end && *stop != ']'; stop++)
    ;
  if (stop == in->end || stop == name || stop[-1] != ':')
    return FALSE;

  for (guint c = 1; c < 128; c++)
    if (in_class (name, (gsize) (stop - 1 - name), (guint8) c))
      {
        Range range = { c, c };

        g_array_append_val (self->ranges, range);
      }
  in->p = stop + 1;
  return TRUE;
}

/* A bracket expression after its '['. FALSE when it does not end. */
static gboolean
parse_set (SkGlob *self, Cursor *in)
{
  Token token = { .type = TOKEN_SET, .start = self->ranges->len };
  gboolean first = TRUE;

  if (in->p < in->end && (*in->p == '!' || *in->p == '^'))
    {
      token.negated = TRUE;
      in->p++;
    }
  while (in->p < in->end && (first || *in->p != ']'))
    {
      Range range;

      first = FALSE;
      range.first = take (in);
      if (range.first == '[' && parse_class (self, in))
        continue;
      if (range.first == '\\')
        {
          if (in->p == in->end)
            return FALSE;
          range.first = take (in);
        }
      range.last = range.first;
      if (in->end - in->p >= 2 && in->p[0] == '-' && in->p[1] != ']')
        {
          in->p++;
          range.last = take (in);
          if (range.last == '\\')
            {
              if (in->p == in->end)
                return FALSE;
              range.last = take (in);
            }
        }
      g_array_append_val (self->ranges, range);
    }
  if (in->p == in->end)
    return FALSE;
  in->p++;
  token.n = self->ranges->len - token.start;
  g_array_append_val (self->tokens, token);
  return TRUE;
}

static void
add_literal (SkGlob *self, const Component *component, const char *bytes, gsize n)
{
  Token *last = self->tokens->len > component->start
                ? &g_array_index (self->tokens, Token, self->tokens->len - 1) : NULL;

  if (last == NULL || last->type != TOKEN_LITERAL)
    {
      Token token = { .type = TOKEN_LITERAL, .start = (guint) self->literals->len };

      g_array_append_val (self->tokens, token);
      last = &g_array_index (self->tokens, Token, self->tokens->len - 1);
    }
  g_string_append_len (self->literals, bytes, (gssize) n);
  last->n += (guint) n;
}

static void
add_wildcard (SkGlob *self, const Component *component, TokenType type)
{
  Token token = { .type = type };

  /* Stars side by side are one star. */
  if (type == TOKEN_STAR && self->tokens->len > component->start
      && g_array_index (self->tokens, Token, self->tokens->len - 1).type == TOKEN_STAR)
    return;
  g_array_append_val (self->tokens, token);
}

/* One component, up to a '/' outside brackets or the end. */
static gboolean
parse_component (SkGlob *self, Cursor *in)
{
  Component component = { .start = self->tokens->len };
  const char *begin = in->p;

  while (in->p < in->end && *in->p != '/')
    {
      const char *at = in->p;
      gsize len;

      next_character (in->p, in->end, &len);
      in->p += len;
      if (*at == '*')
        add_wildcard (self, &component, TOKEN_STAR);
      else if (*at == '?')
        add_wildcard (self, &component, TOKEN_ANY);
      else if (*at == '[')
        {
          if (!parse_set (self, in))
            return FALSE;
        }
      else if (*at != '\\')
        add_literal (self, &component, at, len);
      else if (in->p == in->end)
        return FALSE;
      else if (*in->p != '/')    /* "\/" is a plain separator */
        {
          next_character (in->p, in->end, &len);
          add_literal (self, &component, in->p, len);
          in->p += len;
        }
    }

  component.n = self->tokens->len - component.start;
  component.spans = in->p - begin >= 2 && strspn (begin, "*") >= (gsize) (in->p - begin);
  g_array_append_val (self->components, component);
  return component.n > 0;
}

static const Component *
component_at (const SkGlob *self, guint i)
{
  return &g_array_index (self->components, Component, i);
}

static const Token *
token_at (const SkGlob *self, guint i)
{
  return &g_array_index (self->tokens, Token, i);
}

static void
append_token_text (const SkGlob *self, const Token *token, GString *text)
{
  g_string_append_len (text, self->literals->str + token->start, token->n);
}

/* Literal text at the start of @self, across components; TRUE when that is all there is. */
static gboolean
literal_start (const SkGlob *self, GString *text)
{
  for (guint i = 0; i < self->components->len; i++)
    {
      const Component *component = component_at (self, i);
      const Token *token = token_at (self, component->start);

      if (i > 0)
        g_string_append_c (text, '/');
      if (component->spans)
        {
          /* "a/" is no start of "a/" followed by "**", which may stand for nothing. */
          g_string_truncate (text, text->len > 0 ? text->len - 1 : 0);
          return FALSE;
        }
      if (token->type != TOKEN_LITERAL)
        return FALSE;
      append_token_text (self, token, text);
      if (component->n > 1)
        return FALSE;
    }
  return TRUE;
}

static void
find_shape (SkGlob *self)
{
  g_autoptr(GString) text = g_string_new (NULL);
  const Component *only = component_at (self, 0);
  const Token *first = token_at (self, only->start);

  self->shape = SK_GLOB_GENERAL;
  if (literal_start (self, text))
    self->shape = SK_GLOB_LITERAL;
  else if (self->components->len == 1 && only->n == 2)
    {
      if (first[0].type == TOKEN_STAR && first[1].type == TOKEN_LITERAL)
        {
          self->shape = SK_GLOB_SUFFIX;
          append_token_text (self, &first[1], text);
        }
      else if (first[0].type == TOKEN_LITERAL && first[1].type == TOKEN_STAR)
        self->shape = SK_GLOB_PREFIX;
    }
  self->text = g_string_free (g_steal_pointer (&text), FALSE);
}

SkGlob *
sk_glob_new (const char *pattern, gsize len)
{
  g_autoptr(SkGlob) self = NULL;
  g_autofree char *copy = NULL;
  Cursor in;

  if (len == 0 || len > SK_PATTERN_MAX || memchr (pattern, 0, len) != NULL)
    return NULL;
  copy = g_strndup (pattern, len);    /* ends in a zero byte, which strspn() relies on */
  in = (Cursor) { copy, copy + len };

  self = g_new0 (SkGlob, 1);
  self->components = g_array_new (FALSE, FALSE, sizeof (Component));
  self->tokens = g_array_new (FALSE, FALSE, sizeof (Token));
  self->ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  self->literals = g_string_new (NULL);
  for (;;)
    {
      if (!parse_component (self, &in))
        return NULL;
      if (in.p == in.end)
        break;
      in.p++;    /* the '/'; at the end of the pattern an empty component follows, which is refused */
    }
  find_shape (self);
  return g_steal_pointer (&self);
}

void
sk_glob_free (SkGlob *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->components);
  g_array_unref (self->tokens);
  g_array_unref (self->ranges);
  g_string_free (self->literals, TRUE);
  g_free (self->text);
  g_free (self);
}

SkGlobShape
sk_glob_shape (const SkGlob *self, const char **text)
{
  *text = self->text;
  return self->shape;
}

static gboolean
set_has (const SkGlob *self, const Token *token, gunichar c)
{
  for (guint i = 0; i < token->n; i++)
    {
      const Range *range = &g_array_index (self->ranges, Range, token->start + i);

      if (c >= range->first && c <= range->last)
        return !token->negated;
    }
  return token->negated;
}

/* Bytes at @p that @token (no star) takes; 0 when it does not match. */
static gsize
token_takes (const SkGlob *self, const Token *token, const char *p, const char *end)
{
  gsize len;
  gunichar c;

  if (token->type == TOKEN_LITERAL)
    return token->n <= (gsize) (end - p) && memcmp (self->literals->str + token->start, p, token->n) == 0
           ? token->n : 0;
  if (p == end)
    return 0;
  c = next_character (p, end, &len);
  return token->type == TOKEN_ANY || set_has (self, token, c) ? len : 0;
}

/* Only the last star is ever tried again: what an earlier one takes less, the last one can take more. */
static gboolean
component_matches (const SkGlob *self, const Component *component, const char *p, const char *end)
{
  const Token *tokens = token_at (self, component->start);
  guint i = 0, star = G_MAXUINT;
  const char *star_end = NULL;

  for (;;)
    {
      gsize len;

      if (i == component->n && p == end)
        return TRUE;
      if (i < component->n && tokens[i].type == TOKEN_STAR)
        {
          star = i++;
          star_end = p;
          if (i == component->n)
            return TRUE;
          continue;
        }
      len = i < component->n ? token_takes (self, &tokens[i], p, end) : 0;
      if (len > 0)
        {
          p += len;
          i++;
          continue;
        }
      if (star == G_MAXUINT || star_end == end)
        return FALSE;
      next_character (star_end, end, &len);
      star_end += len;
      p = star_end;
      i = star + 1;
    }
}

/* Which components may come next after @path was taken; @active has one byte per component and one for the end. */
static void
run (const SkGlob *self, const char *path, guint8 *active)
{
  guint n = self->components->len;
  const char *p = path;

  active[0] = 1;
  for (;;)
    {
      const char *end = strchrnul (p, '/');

      /* "**" before something may stand for nothing. */
      for (guint i = 0; i + 1 < n; i++)
        if (active[i] && component_at (self, i)->spans)
          active[i + 1] = 1;

      /* Backwards, since a component hands on to the next one only. */
      active[n] = 0;
      for (guint i = n; i-- > 0;)
        {
          const Component *component = component_at (self, i);

          if (!active[i])
            continue;
          active[i] = component->spans;
          if (component->spans ? i + 1 == n : component_matches (self, component, p, end))
            active[i + 1] = 1;
        }
      if (*end == '\0')
        return;
      p = end + 1;
    }
}

gboolean
sk_glob_match (const SkGlob *self, const char *path)
{
  guint8 active[SK_PATTERN_MAX / 2 + 2] = { 0 };

  if (self->components->len == 1 && !component_at (self, 0)->spans)
    {
      const char *end = strchrnul (path, '/');

      return *end == '\0' && component_matches (self, component_at (self, 0), path, end);
    }
  run (self, path, active);
  return active[self->components->len];
}

gboolean
sk_glob_match_below (const SkGlob *self, const char *path)
{
  guint8 active[SK_PATTERN_MAX / 2 + 2] = { 0 };

  if (path[0] == '\0')
    return TRUE;
  run (self, path, active);
  return memchr (active, 1, self->components->len) != NULL;
}
