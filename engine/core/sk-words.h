/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The word list of recovery phrases. */
#pragma once

#define SK_WORDS_COUNT 2048
#define SK_WORD_MAX 8     /* letters */

/* Sorted, lower case a-z; unique in the first four letters. */
extern const char sk_words[SK_WORDS_COUNT][SK_WORD_MAX + 1];
