/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine as the app sees it. Main thread only; never waits. The session runs in threads of
 * its own. */
#pragma once
#include <gio/gio.h>

#define SK_TYPE_ENGINE (sk_engine_get_type ())
G_DECLARE_FINAL_TYPE (SkEngine, sk_engine, SK, ENGINE, GObject)

typedef enum { SK_STATE_STARTING, SK_STATE_NO_VAULT, SK_STATE_LOCKED, SK_STATE_UP_TO_DATE, SK_STATE_SYNCING, SK_STATE_NEEDS_YOU, SK_STATE_PAUSED,
               SK_STATE_OFFLINE, SK_STATE_STOPPED, SK_STATE_FAILED } SkEngineState;
#define SK_TYPE_ENGINE_STATE (sk_engine_state_get_type ())
GType sk_engine_state_get_type (void);

/* Returns at once; see :state. @home NULL: the default place (XDG_DATA_HOME/skerry). Is the
 * engine of that home and offers its control socket; when another process is that already, joins
 * it, and takes over when it ends. Reports and callbacks arrive on the thread-default context of
 * this call. */
SkEngine *sk_engine_new (const char *home);
/* The passphrase for a locked home. */
void sk_engine_unlock (SkEngine *self, const char *passphrase);
/* Lists of mirror objects (transfer none): SkFolder, SkDevice, SkStorage, SkIssue (headers of
 * the same directory). Updated by exact splices. */
GListModel *sk_engine_get_folders (SkEngine *self);
GListModel *sk_engine_get_devices (SkEngine *self);
GListModel *sk_engine_get_storages (SkEngine *self);
GListModel *sk_engine_get_issues (SkEngine *self);
/* Properties: state, message (why, for FAILED/OFFLINE/LOCKED), vault-name, device-name,
 * bytes-up-per-second, bytes-down-per-second, n-issues, paused; left-files, left-bytes,
 * left-seconds (0: unknown); keys-warning ("" or what every status says); joined (another
 * process is the engine). */

/* Any command of COMMANDS.md; @args floating is sunk. The callback runs on the main thread.
 * SK_ERROR_BUSY before the engine is open. Several may run at once. */
void sk_engine_command_async (SkEngine *self, const char *name, GVariant *args, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GVariant *sk_engine_command_finish (SkEngine *self, GAsyncResult *result, GError **error);
/* As above, with progress (COMMANDS.md, at most ten times a second, on the main thread, not
 * after the callback). */
typedef void (*SkEngineProgressFunc) (GVariant *progress, gpointer user_data);
void sk_engine_command_progress_async (SkEngine *self, const char *name, GVariant *args, GCancellable *cancellable, SkEngineProgressFunc progress,
                                       gpointer progress_data, GAsyncReadyCallback callback, gpointer user_data);
/* Cancels what runs and closes. An engine that is dropped without it is closed in the
 * background. */
void sk_engine_stop_async (SkEngine *self, GAsyncReadyCallback callback, gpointer user_data);
gboolean sk_engine_stop_finish (SkEngine *self, GAsyncResult *result, GError **error);
