/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "sk-invite-serve.h"
#include "sk-invite.h"

#define SK_INVITE_ISSUE "newcomer:"              /* and the id: key of the issue */

typedef enum
{
  SK_INVITE_OPEN,                /* nobody came */
  SK_INVITE_ASKED,               /* somebody proved the code; waits for a yes */
  SK_INVITE_ADMITTED,            /* the grant is in the storage */
  SK_INVITE_REFUSED,
  SK_INVITE_EXPIRED,             /* time over, or who asked has gone */
  SK_INVITE_FAILED,              /* third wrong proof */
} SkInviteState;

/* Legal: OPEN -> ASKED -> ADMITTED; OPEN and ASKED -> any of the others. Who has set @busy works on it alone; @state, @busy and @clean are
 * read by others under the lock of SkInvites, and changed with both. */
typedef struct
{
  char id[SK_DEVICE_ID_HEX_SIZE];
  SkInviteState state;
  gboolean busy, clean;          /* clean: nothing of it lies in the storage any more */
  gint64 expires;                /* unix seconds, for people */
  gint64 begun, until;           /* µs of the session's monotonic clock */
  gboolean yes;                  /* nobody is asked, or the person said so already */
  gboolean enrolled;             /* stands in the log: there is no way back but to revoke the device */
  gint64 storage_row;
  SkId storage;
  SkStore *store;
  SkId tag;
  SkInviteSide *side;            /* NULL: the key is forgotten */
  SkInviteAnswer answer;         /* from ASKED on, constant */
  GBytes *answer_object;
  char *words;
  GBytes *grant;                 /* built, perhaps not in the storage yet */
  SkHash bad;                    /* the last answer that did not verify */
  guint failures;
} SkInvitation;

struct _SkInvites
{
  SkSession *session;
  GMutex lock;                   /* invitations: the array, and state, busy and clean of each */
  GCond changed;
  GPtrArray *invitations;        /* SkInvitation, oldest first */
  SkWorker *worker;              /* from the first need on */
  SkTimer *timer;                /* worker */
};

/* --- sk-invite-serve.c --- */
void sk_invitation_free (gpointer data);
gboolean sk_invite_is_final (SkInviteState state);
/* The caller has @busy. */
void sk_invite_give_back (SkInvites *self, SkInvitation *invitation);
void sk_invite_set_state (SkInvites *self, SkInvitation *invitation, SkInviteState state);
/* Over without a newcomer: the key is forgotten first, then the objects go. */
void sk_invite_end (SkInvites *self, SkInvitation *invitation, SkInviteState state, GCancellable *cancellable);
void sk_invite_need_worker (SkInvites *self);
void sk_invite_wake (SkInvites *self);

/* --- sk-invite-admit.c: after the yes; the caller has @busy. Task thread or invite thread. --- */
/* Enrols the newcomer, publishes that, and puts the grant. May be repeated after a failure. */
gboolean sk_invite_admit (SkSession *session, SkInvitation *invitation, GCancellable *cancellable, GError **error);
/* Whether the answer that was accepted still lies there. FALSE with an error only when that is not known. */
gboolean sk_invite_still_waits (SkInvitation *invitation, gboolean *waits, GCancellable *cancellable, GError **error);

/* --- sk-invite-litter.c: what has to be removed from storages, also by a later engine --- */
#define SK_GRANT_KEPT_S 86400                    /* the longest a newcomer waits (COMMANDS.md, vault.join) */
/* @until: unix seconds; 0: the objects are void as soon as this session ends. Replaces what was noted for this tag. */
gboolean sk_invite_litter_note (SkSession *session, const SkId *storage, const SkId *tag, gint64 until, GError **error);
void sk_invite_litter_drop (SkSession *session, const SkId *tag);
/* Removes what earlier sessions left; @is_ours tells which tags are in use. */
typedef gboolean (*SkInviteIsOurs) (const SkId *tag, gpointer data);
void sk_invite_litter_sweep (SkSession *session, SkInviteIsOurs is_ours, gpointer data, GCancellable *cancellable);
/* Removes objects of an invitation; @parts: letters of "oag" (offer, answer, grant). */
gboolean sk_invite_remove (SkStore *store, const SkId *tag, const char *parts, GCancellable *cancellable, GError **error);
