/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text form of an invitation code. FORMAT.md, "Joining". */
#include "sk-invite.h"

#include "sk-hash.h"
#include "sk-limits.h"

#include <sodium.h>
#include <string.h>

#define PREFIX "skerry:"
#define CODE_BYTES 16u
#define CODE_CHARS 26u
#define CHECK_CHARS 4u
#define HEAD_CHARS (CODE_CHARS + CHECK_CHARS)
#define PLACE_MIN (2 * sizeof (SkId))
#define PLACE_MAX (PLACE_MIN + SK_URI_MAX)
/* What a person may paste: the longest code, and as much again of line breaks and words around it. */
#define TEXT_MAX (4 * PLACE_MAX)

/* Crockford's base 32: no i, l, o, u. */
static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

void
sk_invite_code_clear (SkInviteCode *self)
{
  sk_key_clear (&self->code);
  g_clear_pointer (&self->storage_uri, g_free);
}

/* "scheme://user:password@host" without the password: a code never holds credentials (RULES B5). */
static char *
without_password (const char *uri)
{
  const char *authority = strstr (uri, "://"), *end, *at = NULL, *colon;

  if (authority == NULL)
    return g_strdup (uri);
  authority += 3;
  end = authority + strcspn (authority, "/?#");
  for (const char *p = authority; p < end; p++)
    if (*p == '@')
      at = p;
  colon = at != NULL ? memchr (authority, ':', (gsize) (at - authority)) : NULL;
  if (colon == NULL)
    return g_strdup (uri);
  return g_strdup_printf ("%.*s%s", (int) (colon - uri), uri, at);
}

void
sk_invite_code_new (const SkId *vault, const SkId *storage, const char *storage_uri,
                    SkInviteCode *out)
{
  memset (out, 0, sizeof *out);
  randombytes_buf (out->code.bytes, CODE_BYTES);
  out->vault = *vault;
  out->storage = *storage;
  out->storage_uri = without_password (storage_uri);
}

/* --- base 32 --- */

static void
append_base32 (GString *out, const guint8 *bytes, gsize len)
{
  guint32 bits = 0;
  guint n_bits = 0;

  for (gsize i = 0; i < len; i++)
    {
      bits = bits << 8 | bytes[i];
      n_bits += 8;
      for (; n_bits >= 5; n_bits -= 5)
        g_string_append_c (out, alphabet[bits >> (n_bits - 5) & 31]);
    }
  if (n_bits > 0)
    g_string_append_c (out, alphabet[bits << (5 - n_bits) & 31]);
}

static int
digit_value (char c)
{
  const char *p;

  c = c == 'i' || c == 'l' ? '1' : c == 'o' ? '0' : c;
  p = c != '\0' ? strchr (alphabet, c) : NULL;
  return p != NULL ? (int) (p - alphabet) : -1;
}

/* FALSE for another alphabet, or when the last character is superfluous or its spare bits are not
 * zero. */
static gboolean
read_base32 (const char *text, gsize len, GByteArray *out)
{
  guint32 bits = 0;
  guint n_bits = 0;

  for (gsize i = 0; i < len; i++)
    {
      int value = digit_value (text[i]);

      if (value < 0)
        return FALSE;
      bits = bits << 5 | (guint32) value;
      n_bits += 5;
      if (n_bits >= 8)
        {
          guint8 byte = (guint8) (bits >> (n_bits - 8));

          g_byte_array_append (out, &byte, 1);
          n_bits -= 8;
        }
    }
  return n_bits < 5 && (bits & ((1u << n_bits) - 1)) == 0;
}

/* --- the line --- */

static void
check_chars (const SkInviteCode *self, char out[CHECK_CHARS + 1])
{
  crypto_generichash_state state;
  guint8 digest[32];
  g_autoptr(GString) text = g_string_new (NULL);

  crypto_generichash_init (&state, NULL, 0, sizeof digest);
  crypto_generichash_update (&state, self->code.bytes, CODE_BYTES);
  crypto_generichash_update (&state, self->vault.bytes, sizeof self->vault.bytes);
  crypto_generichash_update (&state, self->storage.bytes, sizeof self->storage.bytes);
  crypto_generichash_update (&state, (const guint8 *) self->storage_uri,
                             strlen (self->storage_uri));
  crypto_generichash_final (&state, digest, sizeof digest);
  append_base32 (text, digest, 3);
  memcpy (out, text->str, CHECK_CHARS);
  out[CHECK_CHARS] = '\0';
}

char *
sk_invite_code_format (const SkInviteCode *self)
{
  GString *out = g_string_new (PREFIX);
  g_autoptr(GByteArray) place = g_byte_array_new ();
  char check[CHECK_CHARS + 1];

  check_chars (self, check);
  append_base32 (out, self->code.bytes, CODE_BYTES);
  g_string_append (out, check);
  g_string_append_c (out, '.');
  g_byte_array_append (place, self->vault.bytes, sizeof self->vault.bytes);
  g_byte_array_append (place, self->storage.bytes, sizeof self->storage.bytes);
  g_byte_array_append (place, (const guint8 *) self->storage_uri,
                       (guint) strlen (self->storage_uri));
  append_base32 (out, place->data, place->len);
  return g_string_free (out, FALSE);
}

/* What messengers, terminals and people put between characters. */
static gboolean
is_filler (gunichar c)
{
  return g_unichar_isspace (c) || g_unichar_iscntrl (c) || c == '-' || c == 0xad || c == 0x200b
         || c == 0x200c || c == 0x200d || c == 0x200e || c == 0x200f || c == 0x2060 || c == 0xfeff;
}

/* Lower case, without fillers, from behind the prefix to the last letter or digit; NULL without
 * prefix. */
static char *
clean (const char *text)
{
  g_autoptr(GString) out = g_string_new (NULL);
  const char *start;
  char *line;
  gsize len;

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (!is_filler (c))
        g_string_append_c (out, c < 0x80 ? g_ascii_tolower ((char) c) : '?');
    }
  start = strstr (out->str, PREFIX);
  line = start != NULL ? g_strdup (start + strlen (PREFIX) + strspn (start + strlen (PREFIX), "/"))
                       : NULL;
  sodium_memzero (out->str, out->len);
  if (line == NULL)
    return NULL;
  for (len = strlen (line); len > 0 && !g_ascii_isalnum (line[len - 1]); len--)
    line[len - 1] = '\0';
  return line;
}

static gboolean
is_address (const char *uri, gsize len)
{
  if (!g_utf8_validate (uri, (gssize) len, NULL))
    return FALSE;
  for (gsize i = 0; i < len; i++)
    if (g_ascii_iscntrl (uri[i]))
      return FALSE;
  return TRUE;
}

static gboolean
read_line (const char *line, SkInviteCode *out)
{
  g_autoptr(GByteArray) code = g_byte_array_new (), place = g_byte_array_new ();
  const char *dot = strchr (line, '.');
  char check[CHECK_CHARS + 1];
  gsize uri_len;
  gboolean fits = TRUE;

  if (dot == NULL || dot - line != HEAD_CHARS || strlen (dot + 1) > PLACE_MAX * 8 / 5 + 1)
    return FALSE;
  if (!read_base32 (line, CODE_CHARS, code) || !read_base32 (dot + 1, strlen (dot + 1), place))
    return FALSE;
  if (place->len < PLACE_MIN || place->len > PLACE_MAX
      || !is_address ((const char *) place->data + PLACE_MIN, place->len - PLACE_MIN))
    return FALSE;
  uri_len = place->len - PLACE_MIN;
  memcpy (out->code.bytes, code->data, CODE_BYTES);
  sodium_memzero (code->data, code->len);
  memcpy (out->vault.bytes, place->data, sizeof (SkId));
  memcpy (out->storage.bytes, place->data + sizeof (SkId), sizeof (SkId));
  out->storage_uri = g_strndup ((const char *) place->data + PLACE_MIN, uri_len);
  check_chars (out, check);
  for (guint i = 0; i < CHECK_CHARS; i++)
    fits &= digit_value (line[CODE_CHARS + i]) == digit_value (check[i]);
  return fits;
}

gboolean
sk_invite_code_parse (const char *text, SkInviteCode *out, GError **error)
{
  g_auto(SkInviteCode) found = { 0 };
  char *line = strnlen (text, TEXT_MAX + 1) <= TEXT_MAX && g_utf8_validate (text, -1, NULL)
                   ? clean (text)
                   : NULL;
  gboolean fits;

  if (line == NULL)
    return sk_fail (error, SK_ERROR_USAGE,
                    "This is not an invitation code: one begins with \"" PREFIX "\"");
  fits = read_line (line, &found);
  sodium_memzero (line, strlen (line));
  g_free (line);
  if (!fits)
    return sk_fail (
        error, SK_ERROR_WRONG_KEY,
        "The invitation code is not complete or has a wrong character; copy it again as a whole");
  *out = found;
  memset (&found, 0, sizeof found);
  return TRUE;
}

/* --- names --- */

void
sk_invite_tag (const SkInviteCode *code, SkId *out)
{
  static const char domain[] = "skerry join tag";
  SkHash hash;

  sk_blake2b_keyed (&code->code, (const guint8 *) domain, strlen (domain), &hash);
  memcpy (out->bytes, hash.bytes, sizeof out->bytes);
}

char *
sk_invite_object_name (const SkId *tag, const char *part)
{
  char hex[SK_ID_HEX_SIZE];

  sk_id_format (tag, hex);
  return g_strdup_printf ("join/%s/%s", hex, part);
}
