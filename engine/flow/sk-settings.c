/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-args.h"

#include <math.h>
#include <string.h>

#include "sk-limits.h"

typedef enum
{
  KIND_NUMBER,
  KIND_SIZE,
  KIND_PRICE,
  KIND_SWITCH,
  KIND_MODE,
  KIND_STORAGES,
  KIND_LABEL
} Kind;

typedef struct
{
  const char *key;
  Kind kind;
  gboolean automatic; /* "auto" is a value */
  guint64 min, max;
  const char *possible; /* for people */
} Setting;

#define PRICE_MAX 1000000u

static const Setting storage_settings[] = {
  { "concurrency", KIND_NUMBER, TRUE, 1, 512, "auto or a number from 1 to 512" },
  { "pack-size", KIND_SIZE, TRUE, SK_PACK_TARGET_MIN, SK_PACK_TARGET_MAX,
    "auto or a size from 1M to 16M" },
  { "level", KIND_NUMBER, FALSE, 1, SK_ZSTD_LEVEL_MAX, "a number from 1 to 19" },
  { "verify", KIND_SWITCH, FALSE, 0, 0, "on or off" },
  { "price.stored", KIND_PRICE, FALSE, 0, PRICE_MAX, "a price from 0 to 1000000" },
  { "price.out", KIND_PRICE, FALSE, 0, PRICE_MAX, "a price from 0 to 1000000" },
  { "price.free-out", KIND_PRICE, FALSE, 0, PRICE_MAX, "an amount from 0 to 1000000" },
  { "price.request", KIND_PRICE, FALSE, 0, PRICE_MAX, "a price from 0 to 1000000" },
  { NULL, KIND_NUMBER, FALSE, 0, 0, NULL },
};

static const Setting folder_settings[] = {
  { "mode", KIND_MODE, FALSE, 0, 0, "both, send or receive" },
  { "storages", KIND_STORAGES, FALSE, 0, 0,
    "names of storages separated by commas, or all, or none" },
  { "trash-days", KIND_NUMBER, FALSE, 1, 3650, "a number from 1 to 3650" },
  { "xattrs", KIND_SWITCH, FALSE, 0, 0, "on or off" },
  { "name", KIND_LABEL, FALSE, 1, SK_LABEL_MAX, "a name of 1 to 128 bytes" },
  { NULL, KIND_NUMBER, FALSE, 0, 0, NULL },
};

static const SkSettingDefault storage_defaults[] = {
  { "concurrency", "auto" }, { "pack-size", "auto" },  { "level", "3" },
  { "verify", "off" },       { "price.stored", "0" },  { "price.out", "0" },
  { "price.free-out", "0" }, { "price.request", "0" }, { NULL, NULL },
};

static const SkSettingDefault folder_defaults[] = {
  { "mode", "both" },
  { "storages", "all" },
  { "trash-days", "30" },
  { "xattrs", "off" },
  { NULL, NULL },
};

const SkSettingDefault *
sk_setting_defaults (SkSettingScope scope)
{
  return scope == SK_SETTING_STORAGE ? storage_defaults : folder_defaults;
}

/* A decimal number with an optional sign and fraction, and nothing else: no exponent,
 * hexadecimal, infinity. */
static gboolean
parse_decimal (const char *text, double *out, const char **rest)
{
  gsize sign = *text == '-' || *text == '+' ? 1 : 0;
  gsize whole = strspn (text + sign, "0123456789");
  gsize part = text[sign + whole] == '.' ? 1 + strspn (text + sign + whole + 1, "0123456789") : 0;
  gsize len = sign + whole + part;
  g_autofree char *copy = NULL;

  if (whole == 0 || part == 1 || len > 400)
    return FALSE;
  copy = g_strndup (text, len);
  *out = g_ascii_strtod (copy, NULL);
  *rest = text + len;
  return isfinite (*out);
}

/* Any size, negative and huge ones too. */
static gboolean
parse_any_size (const char *text, double *out)
{
  static const char letters[] = "KMGTPE";
  const char *rest;
  const char *letter;

  if (!parse_decimal (text, out, &rest))
    return FALSE;
  if (*rest == ' ')
    rest++;
  if (*rest == '\0' || strcmp (rest, "B") == 0)
    return TRUE;
  letter = strchr (letters, g_ascii_toupper (*rest));
  if (letter == NULL)
    return FALSE;
  for (gsize steps = (gsize) (letter - letters) + 1; steps > 0; steps--)
    *out *= 1024;
  rest++;
  return *rest == '\0' || strcmp (rest, "B") == 0 || strcmp (rest, "iB") == 0;
}

static gboolean
fail_value (const Setting *setting, const char *value, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid (value, (gssize) MIN (strlen (value), 64));

  return sk_fail (error, SK_ERROR_USAGE, "“%s” is no value for “%s”: it must be %s", shown,
                  setting->key, setting->possible);
}

static gboolean
check_number (const Setting *setting, const char *value, char **normal, char **note, GError **error)
{
  const char *rest = "";
  double number;
  double inside;

  if (setting->kind == KIND_SIZE ? !parse_any_size (value, &number)
                                 : !parse_decimal (value, &number, &rest) || *rest != '\0')
    return fail_value (setting, value, error);
  inside = CLAMP (number, (double) setting->min, (double) setting->max);
  if (setting->kind == KIND_PRICE)
    {
      char text[G_ASCII_DTOSTR_BUF_SIZE];

      *normal = g_strdup (g_ascii_formatd (text, sizeof text, "%.9g", inside));
    }
  else
    *normal = g_strdup_printf ("%" G_GUINT64_FORMAT, (guint64) inside);
  if (number < (double) setting->min || number > (double) setting->max)
    *note = g_strdup_printf ("“%s” was set to %s: it must be %s", setting->key, *normal,
                             setting->possible);
  return TRUE;
}

static gboolean
check_switch (const Setting *setting, const char *value, char **normal, GError **error)
{
  static const char *const on[] = { "on", "yes", "true", "1", NULL };
  static const char *const off[] = { "off", "no", "false", "0", NULL };

  if (!g_strv_contains (on, value) && !g_strv_contains (off, value))
    return fail_value (setting, value, error);
  *normal = g_strdup (g_strv_contains (on, value) ? "on" : "off");
  return TRUE;
}

static gboolean
check_text (const Setting *setting, const char *value, char **normal, GError **error)
{
  static const char *const modes[] = { "both", "send", "receive", NULL };

  if (setting->kind == KIND_MODE && !g_strv_contains (modes, value))
    return fail_value (setting, value, error);
  if (*value == '\0' || !g_utf8_validate (value, -1, NULL))
    return fail_value (setting, value, error);
  if (setting->kind == KIND_LABEL && strlen (value) > setting->max)
    return fail_value (setting, value, error);
  if (strlen (value) > SK_STORAGES_MAX * (SK_LABEL_MAX + 1))
    return fail_value (setting, value, error);
  *normal = g_strdup (value);
  return TRUE;
}

static gboolean
fail_key (const Setting *settings, const char *key, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid (key, (gssize) MIN (strlen (key), 64));
  g_autoptr(GString) keys = g_string_new (NULL);

  for (const Setting *setting = settings; setting->key != NULL; setting++)
    g_string_append_printf (keys, "%s%s", keys->len > 0 ? ", " : "", setting->key);
  return sk_fail (error, SK_ERROR_USAGE, "There is no setting “%s”; there are: %s", shown,
                  keys->str);
}

gboolean
sk_setting_check (SkSettingScope scope, const char *key, const char *value, char **normal,
                  char **note, GError **error)
{
  const Setting *settings = scope == SK_SETTING_STORAGE ? storage_settings : folder_settings;
  const Setting *setting = settings;

  *normal = NULL;
  *note = NULL;
  while (setting->key != NULL && strcmp (setting->key, key) != 0)
    setting++;
  if (setting->key == NULL)
    return fail_key (settings, key, error);
  if (setting->automatic && strcmp (value, "auto") == 0)
    {
      *normal = g_strdup (value);
      return TRUE;
    }
  switch (setting->kind)
    {
    case KIND_SWITCH:
      return check_switch (setting, value, normal, error);
    case KIND_MODE:
    case KIND_STORAGES:
    case KIND_LABEL:
      return check_text (setting, value, normal, error);
    case KIND_NUMBER:
    case KIND_SIZE:
    case KIND_PRICE:
    default:
      return check_number (setting, value, normal, note, error);
    }
}
