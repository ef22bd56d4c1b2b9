/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bits and words: FORMAT.md, "Keys". */
#include "sk-phrase.h"

#include "sk-words.h"

#include <sodium.h>
#include <string.h>

#define N_WORDS 24u
#define WORD_BITS 11u
#define SHORT_WORD 4u            /* letters that tell any two words of the list apart */
#define TEXT_MAX 4096u           /* bytes a person may paste */

G_STATIC_ASSERT (SK_WORDS_COUNT == 1 << WORD_BITS);

/* Seed and check byte. */
typedef struct { guint8 bytes[N_WORDS * WORD_BITS / 8]; } Bits;
G_STATIC_ASSERT (sizeof (Bits) == sizeof (SkKey) + 1);

static void
bits_clear (Bits *self)
{
  sodium_memzero (self, sizeof *self);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bits, bits_clear)

static guint8
check_byte (const guint8 *seed)
{
  guint8 digest[crypto_generichash_BYTES];
  guint8 first;

  crypto_generichash (digest, sizeof digest, seed, sizeof (SkKey), NULL, 0);
  first = digest[0];
  sodium_memzero (digest, sizeof digest);
  return first;
}

char *
sk_phrase_format (const SkKey *seed)
{
  g_auto(Bits) bits = { 0 };
  gsize size = N_WORDS * (SK_WORD_MAX + 1);
  char *phrase = g_malloc0 (size);
  char *end = phrase;

  memcpy (bits.bytes, seed->bytes, sizeof seed->bytes);
  bits.bytes[sizeof seed->bytes] = check_byte (seed->bytes);
  for (guint i = 0; i < N_WORDS; i++)
    {
      guint number = 0;

      for (guint bit = i * WORD_BITS; bit < (i + 1) * WORD_BITS; bit++)
        number = number << 1 | (bits.bytes[bit / 8] >> (7 - bit % 8) & 1);
      if (i > 0)
        *end++ = ' ';
      end = g_stpcpy (end, sk_words[number]);
    }
  return phrase;
}

void
sk_phrase_free (char *phrase)
{
  if (phrase == NULL)
    return;
  sodium_memzero (phrase, strlen (phrase));
  g_free (phrase);
}

/* --- parsing --- */

typedef struct { char letters[SK_WORD_MAX + 1]; gsize len; } Word;

static void
word_clear (Word *self)
{
  sodium_memzero (self, sizeof *self);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Word, word_clear)

/* What may stand between words: white space, line numbers, punctuation, and the invisible marks
 * that come along when text is copied from a page. Any other letter belongs to a word, and to none
 * of the list if it is not A to Z. */
static gboolean
is_separator (gunichar c)
{
  return !g_unichar_isalpha (c) && !g_unichar_ismark (c);
}

/* Number of a whole word, or of its first four letters; -1 if there is none. */
static int
word_number (const Word *word)
{
  gsize len = word->len == SHORT_WORD ? SHORT_WORD : SK_WORD_MAX + 1;
  int low = 0, high = SK_WORDS_COUNT - 1;

  while (low <= high)
    {
      int middle = (low + high) / 2;
      int order = strncmp (word->letters, sk_words[middle], len);

      if (order == 0)
        return middle;
      if (order < 0)
        high = middle - 1;
      else
        low = middle + 1;
    }
  return -1;
}

/* Takes the next word from *@text; one with foreign letters or too many comes back as one that is
 * in no list. FALSE at the end. */
static gboolean
next_word (const char **text, Word *word)
{
  const char *p = *text;

  word_clear (word);
  while (*p != '\0' && is_separator (g_utf8_get_char (p)))
    p = g_utf8_next_char (p);
  for (; *p != '\0' && !is_separator (g_utf8_get_char (p)); p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);
      char letter = c < 0x80 ? g_ascii_tolower ((char) c) : '?';

      if (word->len < SK_WORD_MAX)
        word->letters[word->len++] = letter;
      else
        word->letters[0] = '?';
    }
  *text = p;
  return word->len > 0;
}

gboolean
sk_phrase_parse (const char *text, SkKey *seed, GError **error)
{
  g_auto(Bits) bits = { 0 };
  g_auto(Word) word = { 0 };
  guint n = 0;

  if (strnlen (text, TEXT_MAX + 1) > TEXT_MAX || !g_utf8_validate (text, -1, NULL))
    return sk_fail (error, SK_ERROR_WRONG_KEY,
                    "This is not a recovery phrase: %u words are expected", N_WORDS);

  for (; next_word (&text, &word); n++)
    {
      int number = word_number (&word);

      if (number < 0)
        return sk_fail (error, SK_ERROR_WRONG_KEY,
                        "Word %u of the recovery phrase is not one of the list; check its spelling",
                        n + 1);
      for (guint bit = 0; bit < WORD_BITS && n < N_WORDS; bit++)
        if (number >> (WORD_BITS - 1 - bit) & 1)
          bits.bytes[(n * WORD_BITS + bit) / 8] |= (guint8) (0x80 >> (n * WORD_BITS + bit) % 8);
    }

  if (n != N_WORDS)
    return sk_fail (error, SK_ERROR_WRONG_KEY, "The recovery phrase has %u words; these are %u",
                    N_WORDS, n);
  if (bits.bytes[sizeof seed->bytes] != check_byte (bits.bytes))
    return sk_fail (error, SK_ERROR_WRONG_KEY,
                    "The words do not fit together: one is wrong, or two changed places");
  memcpy (seed->bytes, bits.bytes, sizeof seed->bytes);
  return TRUE;
}
