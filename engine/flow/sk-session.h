/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One home: its lock, keys, database, pools, storages, folders and flows. Thread table in README.md. A session is made, commanded
 * and stopped from outside the flow threads; commands block and belong on a task thread (or in a command-line program). */
#pragma once
#include <gio/gio.h>
#include "sk-clock.h"
#include "sk-error.h"

typedef struct _SkSession SkSession;

typedef struct
{
  const char *home;
  SkClock *clock;             /* NULL: real time */
  const char *passphrase;     /* unlocks the keys; NULL: keyring or plain file. Not kept */
  gboolean watch;             /* watch folders and poll storages until stopped ('run', the app); FALSE: only what commands ask for */
} SkSessionOptions;

/* Takes the home's lock (SK_ERROR_BUSY when another engine has it) and, when there is a vault, unlocks and opens it. Blocking. */
SkSession *sk_session_open (const SkSessionOptions *options, GError **error);
/* Cancels what runs, waits for it, closes. Blocking. Frees. */
void sk_session_close (SkSession *self);

/* Runs one command of engine/COMMANDS.md. @args: a{sv} or NULL (floating is sunk). Returns a{sv} (transfer full) or NULL with an error.
 * @progress may be NULL; it is called on the calling thread's side, at most ten times a second. */
typedef void (*SkProgressFunc) (GVariant *progress /* a{sv}: text s, done t, total t, files t, bytes t */, gpointer user_data);
GVariant *sk_session_command (SkSession *self, const char *name, GVariant *args, SkProgressFunc progress, gpointer user_data,
                              GCancellable *cancellable, GError **error);

/* The latest report: an immutable a{sv} as in COMMANDS.md, "status". Any thread, never waits for the engine. (transfer full) */
GVariant *sk_session_report (SkSession *self);
/* @func is called from an engine thread when a new report exists, at most ten times a second. Set before commands are run. */
typedef void (*SkReportFunc) (gpointer user_data);
void sk_session_set_report_func (SkSession *self, SkReportFunc func, gpointer user_data);
