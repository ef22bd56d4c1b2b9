/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control socket "control" in the home: a private D-Bus connection (no bus), mode 0600, peer uid checked. Interface
 * org.skerry.Control: Call (s name, a{sv} args) -> a{sv}; Cancel (u serial); signals Progress (u serial, a{sv}) and Report (a{sv}). */
#pragma once
#include <gio/gio.h>
#include "sk-session.h"

typedef struct _SkControl SkControl;
/* Serves @session; on the thread-default context. Commands run on task threads, at most 16 at once; "status" is answered at once. */
SkControl *sk_control_new (SkSession *session, const char *home, GError **error);
void sk_control_free (SkControl *self);
/* Client side, blocking: NULL without error when no engine runs on this home. */
GDBusConnection *sk_control_connect (const char *home, GCancellable *cancellable, GError **error);
GVariant *sk_control_call (GDBusConnection *connection, const char *name, GVariant *args, SkProgressFunc progress, gpointer user_data,
                           GCancellable *cancellable, GError **error);
