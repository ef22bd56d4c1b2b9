/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that a person writes down or compares, in as many columns as there is room for. */
#pragma once
#include <adwaita.h>

#define SKA_TYPE_PHRASE_GRID (ska_phrase_grid_get_type ())
G_DECLARE_FINAL_TYPE (SkaPhraseGrid, ska_phrase_grid, SKA, PHRASE_GRID, AdwBin)

/* @words: with single spaces between; "" takes them away. */
void ska_phrase_grid_set_words (SkaPhraseGrid *self, const char *words);
