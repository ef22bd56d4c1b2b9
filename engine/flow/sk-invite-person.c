/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person does with invitations. Task threads; the worker looks after them meanwhile (sk-invite-serve.c). */
#include <string.h>

#include "sk-invite-private.h"
#include "sk-limits.h"

#define OPEN_MAX 16u                                      /* at a time: each is polled for */
#define KEPT_MAX 64u                                      /* with those that are over, for 'invite list' */
#define WAIT_SLICE_US (G_USEC_PER_SEC / 10)

static const char *const state_names[] = { "open", "asked", "admitted", "refused", "expired", "failed" };

/* --- what others see --- */

/* Under the lock. */
static GVariant *
describe (const SkInvitation *invitation)
{
  GVariantBuilder builder;
  char device[SK_DEVICE_ID_HEX_SIZE] = "";
  gboolean known = invitation->state != SK_INVITE_OPEN && invitation->answer.name != NULL;

  if (known)
    sk_device_id_format (&invitation->answer.device, device);
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "invite", g_variant_new_string (invitation->id));
  g_variant_builder_add (&builder, "{sv}", "state", g_variant_new_string (state_names[invitation->state]));
  g_variant_builder_add (&builder, "{sv}", "expires", g_variant_new_int64 (invitation->expires));
  g_variant_builder_add (&builder, "{sv}", "device", g_variant_new_string (device));
  g_variant_builder_add (&builder, "{sv}", "device-name", g_variant_new_string (known ? invitation->answer.name : ""));
  g_variant_builder_add (&builder, "{sv}", "words", g_variant_new_string (known ? invitation->words : ""));
  return g_variant_builder_end (&builder);
}

GVariant *
sk_invites_list (SkInvites *self)
{
  GVariantBuilder list;

  g_variant_builder_init (&list, G_VARIANT_TYPE ("aa{sv}"));
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->invitations->len; i++)
    g_variant_builder_add_value (&list, describe (self->invitations->pdata[i]));
  g_mutex_unlock (&self->lock);
  return g_variant_builder_end (&list);
}

/* --- taking --- */

/* Under the lock. NULL with SK_ERROR_NOT_FOUND. */
static SkInvitation *
find (SkInvites *self, const char *id, GError **error)
{
  for (guint i = 0; i < self->invitations->len; i++)
    {
      SkInvitation *invitation = self->invitations->pdata[i];

      if (g_str_equal (invitation->id, id))
        return invitation;
    }
  sk_fail (error, SK_ERROR_NOT_FOUND, "there is no invitation “%.64s”; they end with the engine that made them", id);
  return NULL;
}

/* Waits until nobody else works on it. */
static SkInvitation *
take (SkInvites *self, const char *id, GCancellable *cancellable, GError **error)
{
  SkInvitation *invitation;

  g_mutex_lock (&self->lock);
  while ((invitation = find (self, id, error)) != NULL && invitation->busy)
    {
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        {
          invitation = NULL;
          break;
        }
      g_cond_wait_until (&self->changed, &self->lock, g_get_monotonic_time () + WAIT_SLICE_US);
    }
  if (invitation != NULL)
    invitation->busy = TRUE;
  g_mutex_unlock (&self->lock);
  return invitation;
}

/* --- opening --- */

/* Under the lock. */
static gboolean
has_room (SkInvites *self, GError **error)
{
  guint n_open = 0;

  for (guint i = self->invitations->len; i > 0; i--)
    {
      SkInvitation *invitation = self->invitations->pdata[i - 1];

      n_open += !sk_invite_is_final (invitation->state);
    }
  if (n_open >= OPEN_MAX)
    return sk_fail (error, SK_ERROR_LIMIT, "there are %u open invitations already; refuse one or let it expire", OPEN_MAX);
  for (guint i = 0; i < self->invitations->len && self->invitations->len >= KEPT_MAX;)
    {
      SkInvitation *invitation = self->invitations->pdata[i];

      if (sk_invite_is_final (invitation->state) && !invitation->busy)
        g_ptr_array_remove_index (self->invitations, i);
      else
        i++;
    }
  return TRUE;
}

static SkInvitation *
invitation_new (SkInvites *self, SkFlowStorage *storage, guint seconds, gboolean yes, const SkInviteCode *code)
{
  SkInvitation *invitation = g_new0 (SkInvitation, 1);
  SkDeviceId id;

  sk_device_id_random (&id);
  sk_device_id_format (&id, invitation->id);
  invitation->expires = sk_session_wall (self->session) + seconds;
  invitation->begun = sk_clock_now (self->session->clock);
  invitation->until = invitation->begun + seconds * G_USEC_PER_SEC;
  invitation->yes = yes;
  invitation->storage_row = storage->row;
  invitation->storage = storage->id;
  invitation->store = g_object_ref (storage->store);
  invitation->side = sk_invite_side_new (code);
  sk_invite_tag (code, &invitation->tag);
  return invitation;
}

GVariant *
sk_invites_open (SkInvites *self, SkFlowStorage *storage, guint seconds, gboolean yes, char **code, GCancellable *cancellable, GError **error)
{
  g_auto(SkInviteCode) secret = { 0 };
  g_autofree char *name = NULL;
  g_autoptr(GBytes) offer = NULL;
  SkInvitation *invitation;
  GVariant *reply = NULL;

  sk_invite_code_new (&self->session->who.vault, &storage->id, sk_store_uri (storage->store), &secret);
  invitation = invitation_new (self, storage, seconds, yes, &secret);
  name = sk_invite_object_name (&invitation->tag, "offer");
  offer = sk_invite_build_offer (invitation->side);
  if (!sk_invite_litter_note (self->session, &storage->id, &invitation->tag, 0, error)
      || !sk_store_put_sync (storage->store, name, offer, SK_PUT_NONE, cancellable, error))
    {
      sk_invitation_free (invitation);
      return NULL;
    }
  g_mutex_lock (&self->lock);
  if (has_room (self, error))
    {
      g_ptr_array_add (self->invitations, invitation);
      reply = describe (invitation);
    }
  g_mutex_unlock (&self->lock);
  if (reply == NULL)
    {
      (void) sk_invite_remove (storage->store, &invitation->tag, "o", cancellable, NULL);
      sk_invitation_free (invitation);
      return NULL;
    }
  *code = sk_invite_code_format (&secret);
  sk_invite_need_worker (self);
  sk_invite_wake (self);
  return reply;
}

/* --- answers of the person --- */

GVariant *
sk_invites_wait (SkInvites *self, const char *id, const char *state, guint seconds, GCancellable *cancellable, GError **error)
{
  gint64 end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;
  SkInvitation *invitation;
  GVariant *reply = NULL;

  g_mutex_lock (&self->lock);
  while ((invitation = find (self, id, error)) != NULL)
    {
      gint64 now = g_get_monotonic_time ();

      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        break;
      if (now >= end || g_strcmp0 (state, state_names[invitation->state]) != 0)
        {
          reply = describe (invitation);
          break;
        }
      g_cond_wait_until (&self->changed, &self->lock, MIN (end, now + WAIT_SLICE_US));
    }
  g_mutex_unlock (&self->lock);
  return reply;
}

static GVariant *
describe_and_give_back (SkInvites *self, SkInvitation *invitation)
{
  GVariant *reply;

  g_mutex_lock (&self->lock);
  reply = describe (invitation);
  g_mutex_unlock (&self->lock);
  sk_invite_give_back (self, invitation);
  sk_invite_wake (self);
  return reply;
}

/* Only who was seen is admitted, and only while he is there. */
static gboolean
confirm (SkInvites *self, SkInvitation *invitation, const char *device, GCancellable *cancellable, GError **error)
{
  char asked[SK_DEVICE_ID_HEX_SIZE];
  gboolean waits;

  if (invitation->state == SK_INVITE_OPEN)
    return sk_fail (error, SK_ERROR_BUSY, "nobody has come with this invitation yet");
  if (invitation->state != SK_INVITE_ASKED && invitation->state != SK_INVITE_ADMITTED)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "this invitation is over (%s); make a new one", state_names[invitation->state]);
  sk_device_id_format (&invitation->answer.device, asked);
  if (device != NULL && !g_str_equal (device, asked))
    return sk_fail (error, SK_ERROR_UNTRUSTED, "another device asks than the one that was confirmed");
  if (invitation->state == SK_INVITE_ADMITTED)
    return TRUE;
  if (!sk_invite_still_waits (invitation, &waits, cancellable, error))
    return FALSE;
  if (!waits)
    {
      sk_invite_end (self, invitation, SK_INVITE_EXPIRED, cancellable);
      return sk_fail (error, SK_ERROR_NOT_FOUND, "“%s” does not wait any more; make a new invitation", invitation->answer.name);
    }
  if (!sk_invite_admit (self->session, invitation, cancellable, error))
    return FALSE;
  sk_invite_set_state (self, invitation, SK_INVITE_ADMITTED);
  return TRUE;
}

GVariant *
sk_invites_confirm (SkInvites *self, const char *id, const char *device, GCancellable *cancellable, GError **error)
{
  SkInvitation *invitation = take (self, id, cancellable, error);

  if (invitation == NULL)
    return NULL;
  if (confirm (self, invitation, device, cancellable, error))
    return describe_and_give_back (self, invitation);
  sk_invite_give_back (self, invitation);
  return NULL;
}

GVariant *
sk_invites_refuse (SkInvites *self, const char *id, GCancellable *cancellable, GError **error)
{
  SkInvitation *invitation = take (self, id, cancellable, error);

  if (invitation == NULL)
    return NULL;
  if (invitation->state == SK_INVITE_ADMITTED || invitation->enrolled)
    {
      sk_fail (error, SK_ERROR_EXISTS, "“%s” was let in already", invitation->answer.name);
      sk_invite_give_back (self, invitation);
      return NULL;
    }
  if (!sk_invite_is_final (invitation->state))
    sk_invite_end (self, invitation, SK_INVITE_REFUSED, cancellable);
  return describe_and_give_back (self, invitation);
}

gboolean
sk_invites_resolve (SkInvites *self, const char *issue_key, gboolean yes, GCancellable *cancellable, GError **error)
{
  const char *id = issue_key + strlen (SK_INVITE_ISSUE);
  g_autoptr(GVariant) reply = NULL;

  g_return_val_if_fail (g_str_has_prefix (issue_key, SK_INVITE_ISSUE), FALSE);
  reply = yes ? sk_invites_confirm (self, id, NULL, cancellable, error) : sk_invites_refuse (self, id, cancellable, error);
  if (reply != NULL)
    g_variant_ref_sink (reply);
  return reply != NULL;
}

