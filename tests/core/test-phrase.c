/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phrases of the vectors were computed by another program from FORMAT.md and the list. */
#include "sk-phrase.h"
#include "sk-words.h"

#include <string.h>

static const struct { guint8 first, step; const char *phrase; } vectors[] = {
  { 0, 0,
    "abide abide abide abide abide abide abide abide abide abide abide abide abide abide abide "
    "abide abide abide "
    "abide abide abide abide abide author" },
  { 0, 1,
    "abide alone lend alone except adhere brave broke answer front domain border absurd mark empty "
    "limit bear risk "
    "akin couple razor arrow issue whose" },
  { 255, 0,
    "zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom zoom "
    "zoom zoom zoom zoom "
    "zoom wooden" },
};

static void
make_seed (guint i, SkKey *seed)
{
  for (guint n = 0; n < sizeof seed->bytes; n++)
    seed->bytes[n] = (guint8) (vectors[i].first + n * vectors[i].step);
}

static void
test_vectors (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      SkKey seed, parsed = { 0 };
      char *phrase;
      g_autoptr(GError) error = NULL;

      make_seed (i, &seed);
      phrase = sk_phrase_format (&seed);
      g_assert_cmpstr (phrase, ==, vectors[i].phrase);
      g_assert_true (sk_phrase_parse (phrase, &parsed, &error));
      g_assert_no_error (error);
      g_assert_cmpmem (&parsed, sizeof parsed, &seed, sizeof seed);
      sk_phrase_free (phrase);
    }
  sk_phrase_free (NULL);
}

static void
test_round_trip (void)
{
  guint32 number = (guint32) g_test_rand_int ();
  g_autoptr(GRand) rand = g_rand_new_with_seed (number);

  g_test_message ("seed %u", number);
  for (guint i = 0; i < 2000; i++)
    {
      SkKey seed, parsed;
      char *phrase;

      for (guint n = 0; n < sizeof seed.bytes; n++)
        seed.bytes[n] = (guint8) g_rand_int (rand);
      phrase = sk_phrase_format (&seed);
      g_assert_true (sk_phrase_parse (phrase, &parsed, NULL));
      g_assert_cmpmem (&parsed, sizeof parsed, &seed, sizeof seed);
      sk_phrase_free (phrase);
    }
}

static void
test_as_people_write (void)
{
  static const char *const texts[] = {
    "ABIDE Alone lend alone except adhere brave broke answer front domain border absurd mark empty "
    "limit bear risk akin "
    "couple razor arrow issue whose\n",
    " 1. abide  2. alone  3. lend  4. alone  5. except  6. adhere\r\n 7. brave  8. broke  9. "
    "answer 10. front 11. domain "
    "12. border\n13) absurd 14) mark 15) empty 16) limit 17) bear 18) risk\n19: "
    "akin,couple;razor\tarrow - issue. whose.",
    "\xef\xbb\xbf"
    "abide\xe2\x80\x8b alone\xc2\xa0lend alone exce adhe brav brok answ fron doma bord absu mark "
    "empt limi "
    "bear risk akin coup razo arro issu whos\xe2\x80\xa6",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      SkKey seed, parsed;
      g_autoptr(GError) error = NULL;

      make_seed (1, &seed);
      g_assert_true (sk_phrase_parse (texts[i], &parsed, &error));
      g_assert_no_error (error);
      g_assert_cmpmem (&parsed, sizeof parsed, &seed, sizeof seed);
    }
}

static void
assert_refused (const char *text, const char *message)
{
  SkKey seed = { { 42 } };
  g_autoptr(GError) error = NULL;

  g_assert_false (sk_phrase_parse (text, &seed, &error));
  g_assert_error (error, SK_ERROR, SK_ERROR_WRONG_KEY);
  if (message != NULL)
    g_assert_nonnull (strstr (error->message, message));
  g_assert_cmpint (seed.bytes[0], ==, 42);
}

static void
test_refused (void)
{
  g_autofree char *long_text = g_strnfill (5000, ' ');
  g_auto(GStrv) words = g_strsplit (vectors[1].phrase, " ", -1);
  g_autoptr(GError) error = NULL;
  SkKey seed;

  assert_refused ("", "these are 0");
  assert_refused (long_text, NULL);
  assert_refused ("abide \xff", NULL);
  assert_refused ("abide alone lenda alone", "Word 3 ");
  assert_refused ("abide alone lend extraordinarily", "Word 4 ");
  assert_refused ("abidé alone", "Word 1 ");
  assert_refused ("abid\xd0\xb5 alone", "Word 1 "); /* a Cyrillic letter that looks right */
  assert_refused ("abi", "Word 1 ");

  /* One word short, one too many, two that changed places. */
  for (guint drop = 0; drop < 24; drop++)
    {
      g_autoptr(GString) text = g_string_new (NULL);

      for (guint i = 0; i < 24; i++)
        if (i != drop)
          g_string_append_printf (text, "%s ", words[i]);
      assert_refused (text->str, "these are 23");
    }
  {
    g_autofree char *text = g_strconcat (vectors[1].phrase, " zoom", NULL);

    assert_refused (text, "these are 25");
  }
  for (guint i = 4; i + 1 < 24; i++)
    {
      g_auto(GStrv) swapped = g_strdupv (words);
      char *word = g_steal_pointer (&swapped[i]);
      g_autofree char *text = NULL;

      swapped[i] = swapped[i + 1];
      swapped[i + 1] = word;
      text = g_strjoinv (" ", swapped);
      assert_refused (text, "do not fit");
    }

  /* A message never repeats what was typed. */
  g_assert_false (sk_phrase_parse ("abide hunter2 zoom", &seed, &error));
  g_assert_null (strstr (error->message, "hunter"));
}

static void
test_wrong_word_is_noticed (void)
{
  g_auto(GStrv) words = g_strsplit (vectors[1].phrase, " ", -1);
  guint noticed = 0;
  SkKey seed;

  for (guint i = 0; i < SK_WORDS_COUNT; i++)
    {
      g_autofree char *text = NULL;

      g_free (words[7]);
      words[7] = g_strdup (sk_words[i]);
      text = g_strjoinv (" ", words);
      noticed += !sk_phrase_parse (text, &seed, NULL);
    }
  g_assert_cmpuint (noticed, >=, SK_WORDS_COUNT - SK_WORDS_COUNT / 256 * 4);
}

static void
test_list (void)
{
  for (guint i = 0; i < SK_WORDS_COUNT; i++)
    {
      gsize len = strlen (sk_words[i]);

      g_assert_cmpuint (len, >=, 3);
      g_assert_cmpuint (len, <=, 8);
      for (gsize n = 0; n < len; n++)
        g_assert_true (g_ascii_islower (sk_words[i][n]));
      if (i > 0)
        g_assert_cmpint (strncmp (sk_words[i - 1], sk_words[i], 4), <, 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (sk_crypto_init (NULL));
  g_test_add_func ("/phrase/vectors", test_vectors);
  g_test_add_func ("/phrase/round-trip", test_round_trip);
  g_test_add_func ("/phrase/as-people-write", test_as_people_write);
  g_test_add_func ("/phrase/refused", test_refused);
  g_test_add_func ("/phrase/wrong-word-is-noticed", test_wrong_word_is_noticed);
  g_test_add_func ("/phrase/list", test_list);
  return g_test_run ();
}
