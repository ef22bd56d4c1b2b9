/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States, numbers and times as a person reads them, in the person's language. Pure: main thread, no widget. Results are (transfer full)
 * unless const. */
#pragma once
#include <glib.h>

#include "sk-engine.h"
#include "sk-item.h"

/* How a state looks: an icon of the theme, a CSS class of the library ("" = none) and a word for the screen reader. */
typedef struct
{
  const char *icon;
  const char *style;
  const char *word;              /* translated */
} SkaLook;

/* With its digits grouped as the locale does. */
char *ska_words_number (guint64 number);
/* "12 files (3 MB) to come": what other devices changed and this one does not have yet. @files 0: "". */
char *ska_words_to_come (guint64 files, guint64 bytes);
char *ska_words_rate (guint64 bytes_per_second);
/* "about 3 minutes"; @seconds 0: "". */
char *ska_words_left (guint64 seconds);
/* "3 minutes ago"; @when 0: NULL. Both in seconds since 1970. */
char *ska_words_ago (gint64 when, gint64 now);
/* Joins what is not empty with a middle dot. The list ends with NULL; an element may be "". */
char *ska_words_join (const char *first, ...) G_GNUC_NULL_TERMINATED;
/* An engine's text as a sentence: begins upper case, ends with a full stop. */
char *ska_words_sentence (const char *text);

SkaLook ska_words_engine_look (SkEngineState state);
SkaLook ska_words_folder_look (const char *state);
SkaLook ska_words_storage_look (const char *state);
SkaLook ska_words_device_look (const char *state);
/* One line: the state with what is left and how fast. */
char *ska_words_folder (SkItem *folder);
char *ska_words_storage (SkItem *storage);
char *ska_words_device (SkItem *device);
/* Second line: where and how much. */
char *ska_words_folder_detail (SkItem *folder);
char *ska_words_storage_detail (SkItem *storage);
/* What an issue is about, by its kind, and the label of a choice (COMMANDS.md, resolve). */
const char *ska_words_issue (const char *kind);
const char *ska_words_choice (const char *choice);
