/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A phrase that is accepted has a canonical form that gives the same seed. */
#include "sk-phrase.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  SkKey seed, again;
  char *phrase;

  if (!sk_phrase_parse (text, &seed, NULL))
    return 0;
  phrase = sk_phrase_format (&seed);
  g_assert_true (sk_phrase_parse (phrase, &again, NULL));
  g_assert_cmpmem (&seed, sizeof seed, &again, sizeof again);
  sk_phrase_free (phrase);
  return 0;
}
