/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the engine object (main thread) and the threads that open, command and close its
 * client. Inside api only. */
#pragma once
#include "sk-client.h"
#include "sk-engine.h"
#include "sk-mailbox.h"

/* What the threads hold of the engine: outlives it, and never leads back to it but through the
 * mailbox. */
typedef struct
{
  gatomicrefcount refs;
  SkMailbox *box;
  int report_pending;            /* atomic */
} SkEngineLink;

typedef enum { SAYS_OPENED, SAYS_REPORT, SAYS_LOST, SAYS_PROGRESS, SAYS_REPLY, SAYS_CLOSED } SkEngineSays;

typedef struct
{
  SkEngineSays says;
  SkClient *client;              /* OPENED, or NULL with @error */
  GError *error;
  GTask *task;                   /* PROGRESS, REPLY: borrowed from the command, which lives until its reply is handled */
  GVariant *value;
} SkEngineMessage;

/* One command on its way. Belongs to the task. */
typedef struct
{
  SkEngineLink *link;
  SkClient *client;
  GTask *task;
  char *name;
  GVariant *args;
  GCancellable *cancellable;     /* of its own; follows the caller's */
  GCancellable *callers;
  gulong handler;
  SkEngineProgressFunc progress;
  gpointer progress_data;
} SkEngineCommand;

/* What opening and closing take with them; the threads free it. */
typedef struct { SkEngineLink *link; char *home, *passphrase; GCancellable *cancellable; } SkEngineOpening;
typedef struct { SkEngineLink *link; SkClient *client; GThreadPool *pool; } SkEngineClosing;

SkEngineLink *sk_engine_link_ref (SkEngineLink *self);
void sk_engine_link_unref (SkEngineLink *self);
/* Any thread. */
void sk_engine_message_free (gpointer message);
/* Thread functions; each ends with one message: OPENED, CLOSED. */
gpointer sk_engine_open_thread (gpointer opening);
gpointer sk_engine_close_thread (gpointer closing);
/* GFunc of the command pool; ends with REPLY. */
void sk_engine_run_command (gpointer command, gpointer unused);
