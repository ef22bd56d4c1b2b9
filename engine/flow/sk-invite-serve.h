/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inviter's side of joining (RULES B5; FORMAT.md, "Joining"). While invitations are open, a worker thread of its own looks for answers in
 * the storage, in an engine that runs as well as in a program that only runs commands. Invitations live as long as the session. */
#pragma once
#include "sk-flow.h"

SkInvites *sk_invites_new (SkSession *session);
/* Forgets every key and ends the thread; offers nobody used are removed from their storages as far as that goes quickly. */
void sk_invites_free (SkInvites *self);

/* Task threads; blocking. Each answers with the invitation's dictionary of COMMANDS.md (floating) or an error. */
GVariant *sk_invites_open (SkInvites *self, SkFlowStorage *storage, guint seconds, gboolean yes, char **code, GCancellable *cancellable,
                           GError **error);
/* @state: the last one seen, NULL for none; answers as soon as it is another one, or after @seconds. */
GVariant *sk_invites_wait (SkInvites *self, const char *id, const char *state, guint seconds, GCancellable *cancellable, GError **error);
GVariant *sk_invites_confirm (SkInvites *self, const char *id, const char *device, GCancellable *cancellable, GError **error);
GVariant *sk_invites_refuse (SkInvites *self, const char *id, GCancellable *cancellable, GError **error);
/* aa{sv}, floating. */
GVariant *sk_invites_list (SkInvites *self);
/* A person resolved the issue "newcomer:<id>". */
gboolean sk_invites_resolve (SkInvites *self, const char *issue_key, gboolean yes, GCancellable *cancellable, GError **error);
