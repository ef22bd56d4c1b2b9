/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The small JSON files of a home and of a folder. */
#pragma once
#include <json-glib/json-glib.h>

/* @text is one JSON object and nothing else: (transfer full) a parser with it as its root. Else NULL. */
JsonParser *sk_json_parse_object (const char *text, gsize len);
