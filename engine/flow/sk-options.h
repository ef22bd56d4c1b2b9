/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of storages and folders as this device keeps them (names and values: sk_setting_check). Index thread. */
#pragma once
#include "sk-args.h"
#include "sk-flow.h"

/* The value, or its default; NULL for a key that has none. (transfer full) */
char *sk_option_get (SkSession *session, SkSettingScope scope, const SkId *id, const char *key);
/* The same as a number; 0 when it is none. */
gint64 sk_option_number (SkSession *session, SkSettingScope scope, const SkId *id, const char *key);
/* In a transaction. @value in its one form. */
gboolean sk_option_set (SkSession *session, SkSettingScope scope, const SkId *id, const char *key, const char *value, GError **error);
