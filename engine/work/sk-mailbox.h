/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one way across threads: push from any thread; delivered in order on the thread that iterates the context; at most one
 * GSource attached however many messages wait. */
#pragma once
#include <gio/gio.h>

typedef struct _SkMailbox SkMailbox;
typedef void (*SkMailboxFunc) (gpointer message, gpointer user_data);
SkMailbox *sk_mailbox_new (GMainContext *context, SkMailboxFunc handler, gpointer user_data, GDestroyNotify free_message);
SkMailbox *sk_mailbox_ref (SkMailbox *self);
void sk_mailbox_unref (SkMailbox *self);
void sk_mailbox_push (SkMailbox *self, gpointer message);     /* (transfer full), any thread */
/* On the receiving thread: nothing is delivered afterwards, waiting messages are freed. Close before the last unref: a
 * waiting message keeps mailbox and context alive. On another thread a handler may be running while it returns. */
void sk_mailbox_close (SkMailbox *self);
