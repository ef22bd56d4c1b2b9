/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments of commands, checked against one table (COMMANDS.md): keys, types, ranges, what is
 * required. And the settings of storages and folders. Pure; any thread. */
#pragma once
#include <glib.h>
#include "sk-error.h"

/* SK_ERROR_NOT_FOUND: no such command. SK_ERROR_USAGE: a sentence that names the argument and
 * what is possible. @args may be NULL. After TRUE every key that is there has its type and
 * range, and every required one is there. */
gboolean sk_args_check (const char *command, GVariant *args, GError **error);
/* NULL-terminated names of all commands. (transfer container) */
const char **sk_args_commands (void);

/* Values after sk_args_check; the default when the key is not there. Strings and arrays are
 * owned by @args. */
const char *sk_args_string (GVariant *args, const char *key, const char *fallback);
const char *sk_args_bytes (GVariant *args, const char *key, const char *fallback);       /* ay without its final zero byte */
gboolean sk_args_bool (GVariant *args, const char *key);
guint64 sk_args_number (GVariant *args, const char *key);                                /* u, t, x; the table's default */
/* (transfer container), NULL-terminated; NULL when not there. as, aay */
const char **sk_args_list (GVariant *args, const char *key);

/* --- settings: key=value --- */
typedef enum { SK_SETTING_STORAGE, SK_SETTING_FOLDER } SkSettingScope;
/* *@normal: the value in its one form ("auto", "8", "1048576", "on"); (transfer full). A number
 * outside its range is brought into it and *@note says so (transfer full), else NULL.
 * SK_ERROR_USAGE: unknown key, or a value that is none; names what is possible. */
gboolean sk_setting_check (SkSettingScope scope, const char *key, const char *value, char **normal, char **note, GError **error);
/* Every key of @scope with its default, NULL at the end. */
typedef struct { const char *key, *fallback; } SkSettingDefault;
const SkSettingDefault *sk_setting_defaults (SkSettingScope scope);
