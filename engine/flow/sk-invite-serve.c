/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of invitations and the thread that looks after them. What a person does with them: sk-invite-person.c. */
#include <string.h>

#include "sk-hash.h"
#include "sk-invite-private.h"
#include "sk-limits.h"

#define POLL_FIRST_US (G_USEC_PER_SEC / 20)
#define POLL_LAST_US (5 * G_USEC_PER_SEC)
#define POLL_AGE_PART 20                                  /* somebody who waits for 20 s does not mind one more */
#define FAREWELL_MS 2000

void
sk_invitation_free (gpointer data)
{
  SkInvitation *self = data;

  sk_invite_side_free (self->side);
  sk_invite_answer_clear (&self->answer);
  g_clear_pointer (&self->answer_object, g_bytes_unref);
  g_clear_pointer (&self->grant, g_bytes_unref);
  g_clear_object (&self->store);
  g_free (self->words);
  g_free (self);
}

gboolean
sk_invite_is_final (SkInviteState state)
{
  return state != SK_INVITE_OPEN && state != SK_INVITE_ASKED;
}

/* --- states --- */

void
sk_invite_give_back (SkInvites *self, SkInvitation *invitation)
{
  g_mutex_lock (&self->lock);
  invitation->busy = FALSE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

void
sk_invite_set_state (SkInvites *self, SkInvitation *invitation, SkInviteState state)
{
  g_autofree char *key = g_strconcat (SK_INVITE_ISSUE, invitation->id, NULL);

  if (sk_invite_is_final (state))
    g_clear_pointer (&invitation->side, sk_invite_side_free);
  else if (!invitation->yes)     /* before the state, so that whoever saw that finds the question */
    sk_session_raise (self->session, key, "newcomer", 0, NULL, "“%s” wants to join the vault and must show these words: %s", invitation->answer.name,
                      invitation->words);
  g_mutex_lock (&self->lock);
  invitation->state = state;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  if (sk_invite_is_final (state))
    sk_session_settle_issue (self->session, key);
  sk_session_touch_report (self->session);
}

static void
set_clean (SkInvites *self, SkInvitation *invitation)
{
  g_mutex_lock (&self->lock);
  invitation->clean = TRUE;
  g_mutex_unlock (&self->lock);
  sk_invite_litter_drop (self->session, &invitation->tag);
}

void
sk_invite_end (SkInvites *self, SkInvitation *invitation, SkInviteState state, GCancellable *cancellable)
{
  sk_invite_set_state (self, invitation, state);
  if (sk_invite_remove (invitation->store, &invitation->tag, "oa", cancellable, NULL))
    set_clean (self, invitation);
}

/* --- the worker: one look at one invitation --- */

static void
admit (SkInvites *self, SkInvitation *invitation)
{
  g_autoptr(GError) error = NULL;

  if (sk_invite_admit (self->session, invitation, self->session->stopping, &error))
    sk_invite_set_state (self, invitation, SK_INVITE_ADMITTED);
  else if (g_error_matches (error, SK_ERROR, SK_ERROR_UNTRUSTED))
    sk_invite_end (self, invitation, SK_INVITE_FAILED, self->session->stopping);
  else
    g_message ("“%s” could not be let in yet: %s", invitation->answer.name, error->message);
}

/* The same bad bytes count once: perhaps they could not be removed. */
static void
note_bad_answer (SkInvites *self, SkInvitation *invitation, const SkHash *hash, const GError *why)
{
  g_message ("an answer to an invitation was refused: %s", why->message);
  invitation->bad = *hash;
  if (++invitation->failures >= 3)
    {
      sk_invite_end (self, invitation, SK_INVITE_FAILED, self->session->stopping);
      return;
    }
  (void) sk_invite_remove (invitation->store, &invitation->tag, "a", self->session->stopping, NULL);
}

static void
look_for_answer (SkInvites *self, SkInvitation *invitation)
{
  g_autofree char *name = sk_invite_object_name (&invitation->tag, "answer");
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) object = sk_store_get_sync (invitation->store, name, SK_SMALL_OBJECT_MAX, self->session->stopping, &error);
  SkHash hash = { { 1 } };

  if (object == NULL && !g_error_matches (error, SK_ERROR, SK_ERROR_LIMIT))
    return;                      /* not there yet, or the storage is away for a moment */
  if (object != NULL)
    sk_sha256 (g_bytes_get_data (object, NULL), g_bytes_get_size (object), &hash);
  if (sk_hash_equal (&hash, &invitation->bad))
    return;
  if (object == NULL || !sk_invite_read_answer (invitation->side, object, &invitation->answer, &error))
    {
      note_bad_answer (self, invitation, &hash, error);
      return;
    }
  invitation->answer_object = g_steal_pointer (&object);
  invitation->words = sk_invite_words (invitation->side);
  if (invitation->yes)
    admit (self, invitation);
  if (invitation->state == SK_INVITE_OPEN)
    sk_invite_set_state (self, invitation, SK_INVITE_ASKED);
}

static void
look_after_question (SkInvites *self, SkInvitation *invitation)
{
  gboolean waits;

  if (!sk_invite_still_waits (invitation, &waits, self->session->stopping, NULL))
    return;
  if (!waits)
    sk_invite_end (self, invitation, SK_INVITE_EXPIRED, self->session->stopping);
  else if (invitation->yes)
    admit (self, invitation);
}

/* The newcomer removes its answer when it has what it needs. */
static void
clean_up (SkInvites *self, SkInvitation *invitation)
{
  GCancellable *cancellable = self->session->stopping;
  gboolean waits = FALSE;

  if (invitation->state == SK_INVITE_ADMITTED && sk_session_wall (self->session) < invitation->expires + SK_GRANT_KEPT_S
      && (!sk_invite_still_waits (invitation, &waits, cancellable, NULL) || waits))
    return;
  if (sk_invite_remove (invitation->store, &invitation->tag, "oag", cancellable, NULL))
    set_clean (self, invitation);
}

/* Both clocks count: one stands still while the machine sleeps, the other may be set back. */
static gboolean
is_expired (SkInvites *self, const SkInvitation *invitation)
{
  return sk_clock_now (self->session->clock) >= invitation->until || sk_session_wall (self->session) >= invitation->expires;
}

static void
look (SkInvites *self, SkInvitation *invitation)
{
  if (sk_invite_is_final (invitation->state))
    clean_up (self, invitation);
  else if (!invitation->enrolled && is_expired (self, invitation))
    sk_invite_end (self, invitation, SK_INVITE_EXPIRED, self->session->stopping);
  else if (invitation->state == SK_INVITE_OPEN)
    look_for_answer (self, invitation);
  else
    look_after_question (self, invitation);
}

/* Under the lock. */
static gboolean
needs_looks (const SkInvitation *invitation)
{
  return !invitation->clean || !sk_invite_is_final (invitation->state);
}

static gint64
pause_for (SkInvites *self, const SkInvitation *invitation)
{
  gint64 now = sk_clock_now (self->session->clock);
  gint64 pause = CLAMP ((now - invitation->begun) / POLL_AGE_PART, POLL_FIRST_US, POLL_LAST_US);

  return sk_invite_is_final (invitation->state) ? pause : MIN (pause, MAX (invitation->until - now, 0));
}

static gboolean on_timer (gpointer data);

static void
arm (SkInvites *self)
{
  gint64 pause = G_MAXINT64;

  g_clear_pointer (&self->timer, sk_timer_free);
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->invitations->len; i++)
    if (needs_looks (self->invitations->pdata[i]))
      pause = MIN (pause, pause_for (self, self->invitations->pdata[i]));
  g_mutex_unlock (&self->lock);
  if (pause != G_MAXINT64 && !g_cancellable_is_cancelled (self->session->stopping))
    self->timer = sk_clock_timer (self->session->clock, sk_worker_context (self->worker), pause, on_timer, self);
}

static gboolean
on_timer (gpointer data)
{
  SkInvites *self = data;

  for (guint i = 0;; i++)
    {
      SkInvitation *invitation = NULL;

      g_mutex_lock (&self->lock);
      while (i < self->invitations->len && invitation == NULL)
        {
          invitation = self->invitations->pdata[i];
          if (invitation->busy || !needs_looks (invitation))
            {
              invitation = NULL;
              i++;
            }
          else
            invitation->busy = TRUE;
        }
      g_mutex_unlock (&self->lock);
      if (invitation == NULL)
        break;
      look (self, invitation);
      sk_invite_give_back (self, invitation);
    }
  arm (self);
  return G_SOURCE_REMOVE;
}

static void
on_wake (gpointer data)
{
  arm (data);
}

void
sk_invite_wake (SkInvites *self)
{
  sk_worker_push (self->worker, on_wake, self, NULL);
}

static gboolean
is_ours (const SkId *tag, gpointer data)
{
  SkInvites *self = data;
  gboolean ours = FALSE;

  g_mutex_lock (&self->lock);
  for (guint i = 0; !ours && i < self->invitations->len; i++)
    ours = sk_id_equal (&((SkInvitation *) self->invitations->pdata[i])->tag, tag);
  g_mutex_unlock (&self->lock);
  return ours;
}

static void
on_sweep (gpointer data)
{
  SkInvites *self = data;

  sk_invite_litter_sweep (self->session, is_ours, self, self->session->stopping);
}

void
sk_invite_need_worker (SkInvites *self)
{
  g_mutex_lock (&self->lock);
  if (self->worker == NULL)
    {
      self->worker = sk_worker_new ("invite");
      sk_worker_push (self->worker, on_sweep, self, NULL);
    }
  g_mutex_unlock (&self->lock);
}

/* --- life --- */

/* Invitations end with their engine, and so do the questions they raised. */
static void
settle_old_questions (SkSession *session)
{
  g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer key;

  g_mutex_lock (&session->lock);
  g_hash_table_iter_init (&iter, session->open_issues);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (g_str_has_prefix (key, SK_INVITE_ISSUE))
      g_ptr_array_add (keys, g_strdup (key));
  g_mutex_unlock (&session->lock);
  for (guint i = 0; i < keys->len; i++)
    sk_session_settle_issue (session, keys->pdata[i]);
}

SkInvites *
sk_invites_new (SkSession *session)
{
  SkInvites *self = g_new0 (SkInvites, 1);

  self->session = session;
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  self->invitations = g_ptr_array_new_with_free_func (sk_invitation_free);
  settle_old_questions (session);
  if (session->watch)
    sk_invite_need_worker (self);
  return self;
}

static gboolean
cancel_farewell (gpointer data)
{
  g_cancellable_cancel (data);
  return G_SOURCE_REMOVE;
}

typedef struct
{
  gboolean done, removed;
} Farewell;

static void
on_farewell_done (GObject *object, GAsyncResult *result, gpointer data)
{
  Farewell *farewell = data;

  farewell->removed = sk_store_remove_finish (SK_STORE (object), result, NULL);
  farewell->done = TRUE;
}

/* So that somebody who has the code learns at once that it is void. What is not reached in time is left to the list of litter. */
static void
say_farewell (SkInvites *self, SkInvitation *invitation)
{
  g_autofree char *offer = sk_invite_object_name (&invitation->tag, "offer");
  g_autofree char *answer = sk_invite_object_name (&invitation->tag, "answer");
  const char *names[] = { offer, answer, NULL };
  g_autoptr(GCancellable) cancellable = g_cancellable_new ();
  GMainContext *context = g_main_context_new ();
  g_autoptr(GSource) timeout = g_timeout_source_new (FAREWELL_MS);
  Farewell farewell = { FALSE };

  g_main_context_push_thread_default (context);
  g_source_set_callback (timeout, cancel_farewell, cancellable, NULL);
  g_source_attach (timeout, context);
  sk_store_remove_async (invitation->store, names, cancellable, on_farewell_done, &farewell);
  while (!farewell.done)
    g_main_context_iteration (context, TRUE);
  g_source_destroy (timeout);
  g_main_context_pop_thread_default (context);
  g_main_context_unref (context);
  if (farewell.removed)
    sk_invite_litter_drop (self->session, &invitation->tag);
}

/* 'invite --wait' ends with the yes, and a moment later the newcomer has what it needs. */
static void
see_off (SkInvites *self, SkInvitation *invitation)
{
  gint64 end = g_get_monotonic_time () + FAREWELL_MS * 1000;
  gboolean waits = TRUE;

  while (sk_invite_still_waits (invitation, &waits, NULL, NULL) && waits && g_get_monotonic_time () < end)
    g_usleep (POLL_FIRST_US);
  if (!waits && sk_invite_remove (invitation->store, &invitation->tag, "oag", NULL, NULL))
    set_clean (self, invitation);
}

static void
on_stop (gpointer data)
{
  SkInvites *self = data;

  g_clear_pointer (&self->timer, sk_timer_free);
}

void
sk_invites_free (SkInvites *self)
{
  if (self == NULL)
    return;
  if (self->worker != NULL)
    {
      sk_worker_call (self->worker, on_stop, self);
      sk_worker_stop (self->worker);
    }
  for (guint i = 0; i < self->invitations->len; i++)
    {
      SkInvitation *invitation = self->invitations->pdata[i];

      g_clear_pointer (&invitation->side, sk_invite_side_free);
      if (!sk_invite_is_final (invitation->state))
        say_farewell (self, invitation);
      else if (invitation->state == SK_INVITE_ADMITTED && !invitation->clean)
        see_off (self, invitation);
    }
  g_ptr_array_unref (self->invitations);
  g_cond_clear (&self->changed);
  g_mutex_clear (&self->lock);
  g_free (self);
}
