/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-json.h"

#include <string.h>

/* JsonParser takes several values in one text for the last of them, and never frees the others: of a file that was written twice over it would believe
 * the rest. It also knows comments and other quotes, which JSON does not have. */
static gboolean
is_one_object (const char *text, gsize len)
{
  static const char allowed[] = "{}[]:,+-. \t\r\n";
  gboolean in_string = FALSE, ended = FALSE;
  guint depth = 0;

  for (gsize i = 0; i < len; i++)
    {
      const char c = text[i];

      if (in_string)
        {
          if (c == '\\')
            i++;
          in_string = c != '"';
          continue;
        }
      if (g_ascii_isspace (c))
        continue;
      if (ended || (depth == 0 && c != '{') || c == '\0' || (c != '"' && !g_ascii_isalnum (c) && strchr (allowed, c) == NULL))
        return FALSE;
      in_string = c == '"';
      if (c == '{' || c == '[')
        depth++;
      else if (c == '}' || c == ']')
        depth--;
      ended = depth == 0;
    }
  return ended;
}

JsonParser *
sk_json_parse_object (const char *text, gsize len)
{
  g_autoptr(JsonParser) parser = json_parser_new ();
  JsonNode *root;

  if (!is_one_object (text, len) || !json_parser_load_from_data (parser, text, (gssize) len, NULL))
    return NULL;
  root = json_parser_get_root (parser);
  return root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? g_steal_pointer (&parser) : NULL;
}
