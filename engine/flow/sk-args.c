/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-args.h"

#include <string.h>

#include "sk-limits.h"

#define TEXT_MAX 4096u
#define CREDENTIALS_MAX 65536u
#define LIST_MAX 10000u
#define DAY 86400u

/* One argument. Strings: @max bytes and not empty. Numbers: @min to @max, @fallback when absent. */
typedef struct
{
  const char *key, *type;
  gboolean required;
  guint64 min, max, fallback;
  const char *choices;           /* of a string, separated by spaces */
} Arg;

typedef struct { const char *name; const Arg *args; } Command;

#define LABEL(k, r) { k, "s", r, 1, SK_LABEL_MAX, 0, NULL }
#define TEXT(k, r, m) { k, "s", r, 1, m, 0, NULL }
#define CHOICE(k, r, c) { k, "s", r, 1, TEXT_MAX, 0, c }
#define BYTES(k, r) { k, "ay", r, 1, SK_PATH_MAX, 0, NULL }
#define FLAG(k) { k, "b", FALSE, 0, 0, 0, NULL }
#define NUMBER(k, t, r, lo, hi, d) { k, t, r, lo, hi, d, NULL }
#define LIST(k, t) { k, t, FALSE, 0, LIST_MAX, 0, NULL }
#define KEYS TEXT ("passphrase", FALSE, TEXT_MAX), FLAG ("no-passphrase")
#define END { NULL, NULL, FALSE, 0, 0, 0, NULL }
#define ARGS(...) (const Arg[]) { __VA_ARGS__, END }
#define NONE (const Arg[]) { END }
#define SECONDS_MAX ((guint64) 253402300799)   /* the end of the year 9999 */

static const Command commands[] = {
  { "vault.create", ARGS (LABEL ("name", TRUE), LABEL ("device-name", FALSE), KEYS) },
  { "vault.join", ARGS (TEXT ("code", TRUE, TEXT_MAX), LABEL ("device-name", FALSE), NUMBER ("wait", "u", FALSE, 1, DAY, 60),
                        TEXT ("storage", FALSE, TEXT_MAX), TEXT ("credentials", FALSE, CREDENTIALS_MAX), KEYS) },
  { "vault.show", NONE },
  { "vault.recovery", ARGS (FLAG ("check"), TEXT ("phrase", FALSE, TEXT_MAX), TEXT ("passphrase", FALSE, TEXT_MAX)) },
  { "vault.recover", ARGS (TEXT ("storage", TRUE, TEXT_MAX), TEXT ("phrase", TRUE, TEXT_MAX), TEXT ("vault", FALSE, 32),
                           TEXT ("credentials", FALSE, CREDENTIALS_MAX), LABEL ("device-name", FALSE), KEYS) },
  { "storage.add", ARGS (LABEL ("name", TRUE), TEXT ("uri", TRUE, TEXT_MAX), TEXT ("credentials", FALSE, CREDENTIALS_MAX),
                         LIST ("settings", "a{ss}")) },
  { "storage.list", NONE },
  { "storage.show", ARGS (LABEL ("name", TRUE)) },
  { "storage.remove", ARGS (LABEL ("name", TRUE)) },
  { "storage.set", ARGS (LABEL ("name", TRUE), { "settings", "a{ss}", TRUE, 1, LIST_MAX, 0, NULL }) },
  { "storage.verify", ARGS (LABEL ("name", FALSE), FLAG ("all")) },
  { "folder.add", ARGS (LABEL ("name", TRUE), BYTES ("path", TRUE), LIST ("storages", "as")) },
  { "folder.attach", ARGS (LABEL ("name", TRUE), BYTES ("path", TRUE), CHOICE ("mode", FALSE, "both send receive"), LIST ("only", "aay")) },
  { "folder.detach", ARGS (LABEL ("name", TRUE)) },
  { "folder.list", NONE },
  { "folder.set", ARGS (LABEL ("name", TRUE), { "settings", "a{ss}", TRUE, 1, LIST_MAX, 0, NULL }) },
  { "invite", ARGS (NUMBER ("expires", "u", FALSE, 10, 7 * DAY, 600), FLAG ("yes"), LABEL ("storage", FALSE)) },
  { "invite.list", NONE },
  { "invite.wait", ARGS (TEXT ("invite", TRUE, 64), CHOICE ("state", FALSE, "open asked admitted refused expired failed"),
                         NUMBER ("timeout", "u", FALSE, 0, 3600, 60)) },
  { "invite.confirm", ARGS (TEXT ("invite", TRUE, 64), TEXT ("device", TRUE, 16)) },
  { "invite.refuse", ARGS (TEXT ("invite", TRUE, 64)) },
  { "device.list", NONE },
  { "device.show", ARGS (LABEL ("name", TRUE)) },
  { "sync", ARGS (LIST ("folders", "as")) },
  { "status", NONE },
  { "report", NONE },
  { "transfers", NONE },
  { "traffic", ARGS (NUMBER ("since", "x", FALSE, 0, SECONDS_MAX, 0)) },
  { "pause", ARGS (NUMBER ("seconds", "u", FALSE, 0, 365 * DAY, 0)) },
  { "resume", NONE },
  { "issues", NONE },
  { "resolve", ARGS (NUMBER ("issue", "t", TRUE, 1, G_MAXINT64, 0),
                     CHOICE ("choice", TRUE, "keep-mine keep-theirs keep-both merge accept refuse retry locate"), BYTES ("path", FALSE)) },
  { "activity", ARGS (NUMBER ("limit", "u", FALSE, 1, LIST_MAX, 100), NUMBER ("since", "x", FALSE, 0, SECONDS_MAX, 0)) },
  { "undo", ARGS (NUMBER ("activity", "t", TRUE, 1, G_MAXINT64, 0)) },
  { "versions", ARGS (LABEL ("folder", TRUE), BYTES ("path", TRUE)) },
  { "restore", ARGS (LABEL ("folder", TRUE), BYTES ("path", FALSE), TEXT ("version", FALSE, 128), BYTES ("to", FALSE),
                     NUMBER ("at", "x", FALSE, 1, SECONDS_MAX, 0)) },
  { "fsck", ARGS (FLAG ("repair")) },
  { "gc", ARGS (FLAG ("dry-run")) },
  { "diagnostics", ARGS (BYTES ("file", TRUE)) },
};

static const Command *
find_command (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      if (strcmp (commands[i].name, name) == 0)
        return &commands[i];
    }
  return NULL;
}

const char **
sk_args_commands (void)
{
  const char **names = g_new0 (const char *, G_N_ELEMENTS (commands) + 1);

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    names[i] = commands[i].name;
  return names;
}

/* --- one value --- */

static gboolean
check_choice (const Arg *arg, const char *text, GError **error)
{
  g_auto(GStrv) choices = g_strsplit (arg->choices, " ", 0);
  g_autofree char *shown = NULL;

  if (g_strv_contains ((const char *const *) choices, text))
    return TRUE;
  shown = g_strjoinv (", ", choices);
  return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” must be one of: %s", arg->key, shown);
}

/* The value itself is not repeated in the message: it may be a secret. */
static gboolean
check_text (const Arg *arg, const char *text, gsize len, GError **error)
{
  if (len < arg->min)
    return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” is empty", arg->key);
  if (len > arg->max)
    return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” is too long: at most %" G_GUINT64_FORMAT " bytes", arg->key, arg->max);
  return arg->choices == NULL || check_choice (arg, text, error);
}

/* GVariant hands out a bytestring only when its last byte is its first zero; otherwise "". */
static gboolean
check_bytes (const Arg *arg, GVariant *value, GError **error)
{
  const char *text = g_variant_get_bytestring (value);

  if (g_variant_get_size (value) > strlen (text) + 1)
    return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” must end with its only zero byte", arg->key);
  return check_text (arg, text, strlen (text), error);
}

static guint64
number_of (GVariant *value, gboolean *negative)
{
  gint64 number;

  *negative = FALSE;
  switch (g_variant_classify (value))
    {
    case G_VARIANT_CLASS_UINT32:
      return g_variant_get_uint32 (value);
    case G_VARIANT_CLASS_UINT64:
      return g_variant_get_uint64 (value);
    default:
      number = g_variant_get_int64 (value);
      *negative = number < 0;
      return (guint64) number;
    }
}

static gboolean
check_number (const Arg *arg, GVariant *value, GError **error)
{
  gboolean negative;
  guint64 number = number_of (value, &negative);

  if (negative || number < arg->min || number > arg->max)
    return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” must be from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, arg->key,
                    arg->min, arg->max);
  return TRUE;
}

static gboolean
check_value (const Arg *arg, GVariant *value, GError **error)
{
  if (!g_variant_is_of_type (value, G_VARIANT_TYPE (arg->type)))
    return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” has the wrong type: “%s” instead of “%s”", arg->key,
                    g_variant_get_type_string (value), arg->type);
  if (strcmp (arg->type, "b") == 0)
    return TRUE;
  if (strcmp (arg->type, "s") == 0)
    {
      gsize len;
      const char *text = g_variant_get_string (value, &len);

      return check_text (arg, text, len, error);
    }
  if (strcmp (arg->type, "ay") == 0)
    return check_bytes (arg, value, error);
  if (arg->type[0] == 'a')
    {
      if (g_variant_n_children (value) < arg->min || g_variant_n_children (value) > arg->max)
        return sk_fail (error, SK_ERROR_USAGE, "The argument “%s” must have %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " elements",
                        arg->key, arg->min, arg->max);
      return TRUE;
    }
  return check_number (arg, value, error);
}

/* --- a command --- */

static const Arg *
find_arg (const Command *command, const char *key)
{
  for (const Arg *arg = command->args; arg->key != NULL; arg++)
    {
      if (strcmp (arg->key, key) == 0)
        return arg;
    }
  return NULL;
}

static gboolean
check_given (const Command *command, GVariant *args, GError **error)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, args);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      g_autoptr(GVariant) owned = value;
      const Arg *arg = find_arg (command, key);

      if (arg == NULL)
        return sk_fail (error, SK_ERROR_USAGE, "The command “%s” has no argument “%.64s”", command->name, key);
      if (!check_value (arg, owned, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
has_key (GVariant *args, const char *key)
{
  g_autoptr(GVariant) value = args != NULL ? g_variant_lookup_value (args, key, NULL) : NULL;

  return value != NULL;
}

/* What depends on several arguments. */
static gboolean
check_together (const char *name, GVariant *args, GError **error)
{
  if (has_key (args, "passphrase") && sk_args_bool (args, "no-passphrase"))
    return sk_fail (error, SK_ERROR_USAGE, "A passphrase and --no-passphrase exclude each other");
  if (strcmp (name, "vault.recovery") == 0 && sk_args_bool (args, "check") != has_key (args, "phrase"))
    return sk_fail (error, SK_ERROR_USAGE, "To check the recovery phrase takes “check” and the phrase, to show it neither");
  if (strcmp (name, "resolve") == 0 && (strcmp (sk_args_string (args, "choice", ""), "locate") == 0) != has_key (args, "path"))
    return sk_fail (error, SK_ERROR_USAGE, "The choice “locate” needs a path, and no other choice has one");
  if (strcmp (name, "restore") != 0)
    return TRUE;
  if (has_key (args, "at") == has_key (args, "path"))
    return sk_fail (error, SK_ERROR_USAGE, "Restore either a path, or a whole folder as it was at a time (--at)");
  if (has_key (args, "at") && (!has_key (args, "to") || has_key (args, "version")))
    return sk_fail (error, SK_ERROR_USAGE, "To restore a whole folder as it was at a time needs a directory (--to) and no version");
  return TRUE;
}

gboolean
sk_args_check (const char *name, GVariant *args, GError **error)
{
  const Command *command = find_command (name);

  if (command == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "There is no command “%.64s”", name);
  if (args != NULL && !g_variant_is_of_type (args, G_VARIANT_TYPE_VARDICT))
    return sk_fail (error, SK_ERROR_USAGE, "Arguments must be of type a{sv}");
  if (args != NULL && !check_given (command, args, error))
    return FALSE;
  for (const Arg *arg = command->args; arg->key != NULL; arg++)
    {
      if (arg->required && !has_key (args, arg->key))
        return sk_fail (error, SK_ERROR_USAGE, "The command “%s” needs the argument “%s”", name, arg->key);
    }
  return check_together (name, args, error);
}

/* --- access --- */

const char *
sk_args_string (GVariant *args, const char *key, const char *fallback)
{
  const char *text = fallback;

  if (args != NULL)
    g_variant_lookup (args, key, "&s", &text);
  return text;
}

const char *
sk_args_bytes (GVariant *args, const char *key, const char *fallback)
{
  const char *text = fallback;

  if (args != NULL)
    g_variant_lookup (args, key, "^&ay", &text);
  return text;
}

gboolean
sk_args_bool (GVariant *args, const char *key)
{
  gboolean value = FALSE;

  if (args != NULL)
    g_variant_lookup (args, key, "b", &value);
  return value;
}

static guint64
fallback_of (const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      const Arg *arg = find_arg (&commands[i], key);

      if (arg != NULL)
        return arg->fallback;
    }
  return 0;
}

guint64
sk_args_number (GVariant *args, const char *key)
{
  g_autoptr(GVariant) value = args != NULL ? g_variant_lookup_value (args, key, NULL) : NULL;
  gboolean negative;
  guint64 number;

  /* A key has the same default wherever it occurs. */
  if (value == NULL)
    return fallback_of (key);
  number = number_of (value, &negative);
  return negative ? 0 : number;
}

const char **
sk_args_list (GVariant *args, const char *key)
{
  const char **list = NULL;

  if (args == NULL)
    return NULL;
  if (!g_variant_lookup (args, key, "^a&s", &list))
    g_variant_lookup (args, key, "^a&ay", &list);
  return list;
}
