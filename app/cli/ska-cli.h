/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skerryctl: one table of commands (ska-table.c); everything else, parsing, help, calling, is
 * driven by it. */
#pragma once
#include <stdio.h>
#include "sk-client.h"

/* --- the table --- */

typedef enum
{
  SKA_FLAG,          /* b; takes no value */
  SKA_TEXT,          /* s */
  SKA_CODE,          /* s; "-" reads standard input */
  SKA_CHOICE,        /* s, one of .choices */
  SKA_DURATION,      /* u, seconds: 90, 90s, 10m, 2h, 1h30m, 1d, 1w; .min to .max */
  SKA_COUNT,         /* u; .min to .max */
  SKA_NUMBER,        /* t; .min to .max */
  SKA_TIME,          /* x: an ISO date and time, @SECONDS, or a duration ago */
  SKA_PATH,          /* ay, as it is */
  SKA_PLACE,         /* ay, made absolute */
  SKA_URI,           /* s; a path is made absolute */
  SKA_SECRET_FILE,   /* s, the contents of the named file; "-" is standard input */
  SKA_NAMES,         /* as: all that follows */
  SKA_SETTINGS,      /* a{ss}: key=value, all that follows */
  SKA_GLOBS,         /* aay: an option that may be repeated */
} SkaKind;

typedef struct
{
  const char *name;         /* "--mode" or "NAME" */
  const char *key;          /* of the argument on the wire; one that begins with '.' is the program's own */
  SkaKind kind;
  gboolean required;
  const char *value;        /* what the help calls the value of an option */
  const char *choices;      /* SKA_CHOICE: words separated by spaces */
  guint64 min, max;
  const char *help;
} SkaArg;

typedef struct _SkaCli SkaCli;
typedef struct _SkaCommand SkaCommand;

typedef enum
{
  SKA_KEYS = 1 << 0,        /* makes keys: --passphrase-file and --no-passphrase are sent */
  SKA_PASSPHRASE = 1 << 1,  /* the passphrase is sent when there is one */
  SKA_LONG = 1 << 2,        /* may take long: in this process it offers the control socket meanwhile */
  SKA_REPORT = 1 << 3,      /* --json prints exactly the fetch report */
} SkaCommandFlags;

struct _SkaCommand
{
  const char *words;        /* "storage add" */
  const char *wire;         /* NULL: the program's own */
  const SkaArg *args;       /* ends with a NULL name; positional ones in their order */
  SkaCommandFlags flags;
  void (*print) (SkaCli *cli, GVariant *reply);
  gboolean (*run) (SkaCli *cli, GError **error);       /* NULL: open, call, print. Sets cli->status */
  const char *summary;      /* one line */
  const char *about;        /* the long text; NULL: the summary is all there is to say */
  const char *examples;     /* lines; may be NULL */
};

const SkaCommand *ska_commands (guint *n);
const SkaArg *ska_global_options (void);

/* --- one run --- */

enum { SKA_DONE = 0, SKA_FAILED = 1, SKA_USAGE = 2, SKA_ATTENTION = 3 };

struct _SkaCli
{
  FILE *in, *out, *err;
  char *home;
  gboolean json, help, version, no_passphrase;
  char *passphrase;          /* wiped at the end */
  const SkaCommand *command;
  GHashTable *values;        /* key -> GVariant, without the program's own */
  GHashTable *own;           /* ".key" -> GVariant */
  GCancellable *cancellable;
  SkClient *client;
  int status;
  gboolean bar;              /* a progress bar is on the screen */
  char *words;               /* last words shown while joining */
};

/* The whole program. Returns the exit code. The streams stay open. */
int ska_cli_run (int argc, char **argv, FILE *in, FILE *out, FILE *err);

/* ska-parse.c: fills the context. SK_ERROR_USAGE. */
gboolean ska_parse (SkaCli *cli, int argc, char **argv, GError **error);
gboolean ska_own_flag (SkaCli *cli, const char *key);
/* ska-value.c: text of one argument -> value on the wire (transfer full, floating).
 * SK_ERROR_USAGE names the argument. */
GVariant *ska_value (SkaCli *cli, const SkaArg *arg, const char *text, GError **error);
/* The contents of a small file, "-" = standard input; UTF-8, at most 64 KiB. (transfer full), to
 * be wiped by ska_wipe */
char *ska_read_text (SkaCli *cli, const char *name, GError **error);
void ska_wipe (char *secret);
gboolean ska_parse_duration (const char *text, guint64 *seconds);
/* @now: unix seconds that a duration counts back from. */
gboolean ska_parse_time (const char *text, gint64 now, gint64 *seconds);

/* ska-help.c */
void ska_help (SkaCli *cli, FILE *to);

/* ska-call.c: opening, calling, asking */
gboolean ska_open (SkaCli *cli, SkClientFlags flags, GError **error);
GVariant *ska_arguments (SkaCli *cli);
GVariant *ska_call (SkaCli *cli, const char *wire, GVariant *args, GError **error);
gboolean ska_run_plain (SkaCli *cli, GError **error);
/* A line from the terminal; without echo when @secret. NULL: none. (transfer full) */
char *ska_ask (SkaCli *cli, const char *question, gboolean secret);
gboolean ska_is_terminal (FILE *stream);

/* ska-talk.c: commands with a way of their own */
gboolean ska_run_invite (SkaCli *cli, GError **error);
gboolean ska_run_recovery (SkaCli *cli, GError **error);
gboolean ska_run_engine (SkaCli *cli, GError **error);

/* ska-progress.c */
void ska_progress (GVariant *progress, gpointer cli);
void ska_progress_end (SkaCli *cli);

/* ska-json.c */
void ska_json_reply (SkaCli *cli, GVariant *reply);
void ska_json_error (SkaCli *cli, const GError *error);
/* One object, without the newline. (transfer full) */
char *ska_json (GVariant *dictionary);

/* ska-text.c: for people. Each (transfer full) */
char *ska_escape (const char *bytes);                /* control characters and broken UTF-8 as \xNN */
char *ska_size (guint64 bytes);                      /* "1.2 GB" */
char *ska_duration (guint64 seconds);                /* "3 min 20 s" */
char *ska_time (gint64 seconds);                     /* local; "never" for 0 */
char *ska_ago (gint64 seconds);
char *ska_count (guint64 n, const char *one, const char *many);
/* Rows of cells (transfer none), columns aligned; @right: letters, 'r' = right. Rows are written
 * indented by two. */
typedef struct _SkaGrid SkaGrid;
SkaGrid *ska_grid_new (const char *columns);
void ska_grid_cell (SkaGrid *self, const char *text);           /* escaped */
void ska_grid_take (SkaGrid *self, char *text);                 /* (transfer full) */
void ska_grid_end (SkaGrid *self, FILE *to);                    /* writes, frees */

/* ska-reply.c: keys of a dictionary; a default when a key is missing. Strings belong to the
 * dictionary */
const char *ska_get (GVariant *dictionary, const char *key);    /* s or ay, "" */
guint64 ska_get_number (GVariant *dictionary, const char *key); /* u, t, x */
double ska_get_double (GVariant *dictionary, const char *key);
gboolean ska_get_flag (GVariant *dictionary, const char *key);
/* aa{sv} or a{sv}: (transfer full), an empty one when missing. */
GVariant *ska_get_list (GVariant *dictionary, const char *key);
GVariant *ska_get_dictionary (GVariant *dictionary, const char *key);

/* printers: ska-print-*.c */
void ska_print_note (SkaCli *cli, const char *text);
void ska_print_nothing (SkaCli *cli, GVariant *reply);
void ska_print_vault_new (SkaCli *cli, GVariant *reply);
void ska_print_vault (SkaCli *cli, GVariant *reply);
void ska_print_phrase (SkaCli *cli, GVariant *reply);
void ska_print_storage_new (SkaCli *cli, GVariant *reply);
void ska_print_storages (SkaCli *cli, GVariant *reply);
void ska_print_storage (SkaCli *cli, GVariant *reply);
void ska_print_storage_removed (SkaCli *cli, GVariant *reply);
void ska_print_settings (SkaCli *cli, GVariant *reply);
void ska_print_verify (SkaCli *cli, GVariant *reply);
void ska_print_folder_new (SkaCli *cli, GVariant *reply);
void ska_print_folder_detached (SkaCli *cli, GVariant *reply);
void ska_print_folders (SkaCli *cli, GVariant *reply);
void ska_print_invites (SkaCli *cli, GVariant *reply);
void ska_print_devices (SkaCli *cli, GVariant *reply);
void ska_print_device (SkaCli *cli, GVariant *reply);
void ska_print_sync (SkaCli *cli, GVariant *reply);
void ska_print_status (SkaCli *cli, GVariant *reply);
void ska_print_transfers (SkaCli *cli, GVariant *reply);
void ska_print_traffic (SkaCli *cli, GVariant *reply);
void ska_print_issues (SkaCli *cli, GVariant *reply);
void ska_print_activity (SkaCli *cli, GVariant *reply);
void ska_print_pause (SkaCli *cli, GVariant *reply);
void ska_print_resolved (SkaCli *cli, GVariant *reply);
void ska_print_undo (SkaCli *cli, GVariant *reply);
void ska_print_versions (SkaCli *cli, GVariant *reply);
void ska_print_restore (SkaCli *cli, GVariant *reply);
void ska_print_fsck (SkaCli *cli, GVariant *reply);
void ska_print_gc (SkaCli *cli, GVariant *reply);
void ska_print_diagnostics (SkaCli *cli, GVariant *reply);
