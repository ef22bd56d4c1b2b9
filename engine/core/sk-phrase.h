/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 24 words of the recovery phrase: 256 bits and 8 check bits (BLAKE2b), 11 bits a word. */
#pragma once
#include "sk-keys.h"

/* (transfer full), wiped by the caller with sk_phrase_free. Words separated by one space. */
char *sk_phrase_format (const SkKey *seed);
/* Accepts any case, white space, line numbers; SK_ERROR_WRONG_KEY names the first bad word by its position only. */
gboolean sk_phrase_parse (const char *text, SkKey *seed, GError **error);
void sk_phrase_free (char *phrase);
