/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control socket "control" in the home: a private D-Bus connection (no bus), mode 0600, peer
 * uid checked. Interface org.skerry.Control: Call (s name, a{sv} args) -> a{sv}; Cancel (u
 * serial); signals Progress (u serial, a{sv}) and Report (a{sv}). */
#pragma once
#include <gio/gio.h>
#include "sk-session.h"

typedef struct _SkControl SkControl;
/* Serves @session; on the thread-default context. Commands run on task threads, at most 16 at
 * once; "status" and "report" are answered at once from the latest report, when the session
 * makes reports by itself (@watching). The home's lock is held by @session, so a socket that is
 * there already was left by a crash and is replaced. */
SkControl *sk_control_new (SkSession *session, const char *home, gboolean watching, GError **error);
/* On the same thread. Takes no more calls, cancels those that run, waits for them and sends
 * their answers. */
void sk_control_free (SkControl *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkControl, sk_control_free)
/* The session has a new report: it is sent to every connection that asked for one. Any thread,
 * but not while sk_control_free runs. */
void sk_control_report_changed (SkControl *self);
/* Client side, blocking: NULL without error when no engine runs on this home. BUSY as below. */
GDBusConnection *sk_control_connect (const char *home, GCancellable *cancellable, GError **error);
/* Blocks until the answer; iterates a context of its own. A cancelled call is cancelled in the
 * engine as well and its answer awaited for a while. IO: the engine ended meanwhile. BUSY: it gives no
 * sign of life any more; the message names its process. */
GVariant *sk_control_call (GDBusConnection *connection, const char *name, GVariant *args, SkProgressFunc progress, gpointer user_data,
                           GCancellable *cancellable, GError **error);

#define SK_CONTROL_PATH "/org/skerry/Control"
#define SK_CONTROL_INTERFACE "org.skerry.Control"
/* Makes the codes of SK_ERROR known to D-Bus; called by the functions above. */
void sk_control_register_errors (void);
/* Only the domain SK_ERROR goes out: whatever else a library gave becomes its nearest code.
 * Takes and gives the error. */
GError *sk_control_own_error (GError *error);
/* Path of the socket as this process can reach it: @dir is the open home. (transfer full) */
char *sk_control_socket (const char *home, int dir);
