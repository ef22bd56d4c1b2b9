/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One way to the engine of a home: over its control socket when an engine runs there, else in
 * this process. Everything here blocks and belongs on a task thread or in a command-line
 * program; sk-engine.h is the same for a window. */
#pragma once
#include <gio/gio.h>
/* The error domain is part of what the app sees; its header needs nothing but GLib. */
#include "../core/sk-error.h"

typedef struct _SkClient SkClient;

typedef enum
{
  SK_CLIENT_NONE = 0,
  SK_CLIENT_WATCH = 1 << 0,    /* in this process: stay, watch folders, poll storages ("run", the desktop) */
  SK_CLIENT_SERVE = 1 << 1,    /* in this process: offer the control socket, so that other programs can command meanwhile */
  SK_CLIENT_ALONE = 1 << 2,    /* never join an engine that runs already: SK_ERROR_BUSY at once */
} SkClientFlags;

typedef void (*SkClientFunc) (gpointer user_data);
/* As SkProgressFunc: a{sv}, at most ten times a second, on any thread while the command runs. */
typedef void (*SkClientProgressFunc) (GVariant *progress, gpointer user_data);

typedef struct
{
  const char *home;            /* NULL: sk_client_default_home () */
  const char *passphrase;      /* NULL: none; not kept */
  SkClientFlags flags;
  SkClientFunc report;         /* there is a new report; from any thread, soon and briefly. May be NULL */
  SkClientFunc lost;           /* joined an engine, and it ended; from any thread, once. May be NULL */
  gpointer user_data;
} SkClientOptions;

/* $XDG_DATA_HOME/skerry. (transfer full) */
char *sk_client_default_home (void);
/* Waits a few seconds for a home that another program has open for a moment; then SK_ERROR_BUSY
 * names that process. */
SkClient *sk_client_open (const SkClientOptions *options, GCancellable *cancellable, GError **error);
/* Cancels what runs. No function of the options is called afterwards. */
void sk_client_close (SkClient *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkClient, sk_client_close)
/* TRUE: joined an engine of another process. */
gboolean sk_client_is_remote (SkClient *self);
/* TRUE: joined, and the other process is gone. */
gboolean sk_client_is_lost (SkClient *self);
/* COMMANDS.md. @args floating is sunk. Several threads may command at once. (transfer full) */
GVariant *sk_client_command (SkClient *self, const char *name, GVariant *args, SkClientProgressFunc progress, gpointer user_data,
                             GCancellable *cancellable, GError **error);
/* The latest report; does not wait, but for the first time in a joined engine. Needs .report in
 * the options when joined. (transfer full) */
GVariant *sk_client_report (SkClient *self);
