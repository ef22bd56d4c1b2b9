/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A session without an engine: the functions of sk-session.h, scripted. It takes the real lock
 * of its home. A program that links this file gets it instead of the real one. */
#pragma once
#include "sk-session.h"

/* Reply of @command from now on, GVariant text of type a{sv}. */
void fake_reply (const char *command, const char *text);
/* @command fails from now on. */
void fake_error (const char *command, int code, const char *message);
/* @command sends this progress (GVariant text a{sv}) before it answers; once. */
void fake_progress (const char *command, const char *text);
/* @command waits until it is cancelled, or fake_release. */
void fake_block (const char *command);
void fake_release (const char *command);
/* Commands that are waiting so. */
guint fake_waiting (void);
/* Arguments of the last @command, printed with types; NULL when there was none. (transfer full) */
char *fake_args (const char *command);
/* The report, GVariant text of a{sv}; tells the session's report function. */
void fake_report (const char *text);
/* Opening a home fails with WRONG_KEY unless this passphrase is given. NULL: none. */
void fake_passphrase (const char *passphrase);
guint fake_open_sessions (void);
/* Sessions opened since the program began. */
guint fake_opened (void);
gboolean fake_watching (void);
void fake_reset (void);
/* Iterates @context (NULL: the default one) until @check is TRUE; fails after 10 s. */
#define fake_wait_until(context, check) \
  G_STMT_START { \
    gint64 fake_end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC; \
    while (!(check)) { \
      g_assert_cmpint (g_get_monotonic_time (), <, fake_end); \
      if (!g_main_context_iteration (context, FALSE)) \
        g_usleep (1000); \
    } \
  } G_STMT_END
