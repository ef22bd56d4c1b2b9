/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the yes to the grant. The newcomer must be able to verify everything it is given, so its record is in the log, the log and the keys
 * in the storage and the head written before the grant is. */
#include <string.h>

#include "sk-command.h"
#include "sk-invite-private.h"
#include "sk-limits.h"
#include "sk-membership.h"
#include "sk-watch.h"

gboolean
sk_invite_still_waits (SkInvitation *invitation, gboolean *waits, GCancellable *cancellable, GError **error)
{
  g_autofree char *name = sk_invite_object_name (&invitation->tag, "answer");
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) object = sk_store_get_sync (invitation->store, name, SK_SMALL_OBJECT_MAX, cancellable, &local);

  if (object == NULL && !g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  *waits = object != NULL && g_bytes_equal (object, invitation->answer_object);
  return TRUE;
}

/* *@known: a member already, which is so when an earlier try ended in between. */
static gboolean
look_up (SkMembers *members, const SkInviteAnswer *answer, gboolean *known, GError **error)
{
  const SkDevice *device = sk_members_find (members, &answer->device);

  *known = device != NULL;
  if (device == NULL)
    return TRUE;
  if (device->revoked || memcmp (&device->sign_key, &answer->sign_key, sizeof answer->sign_key) != 0
      || memcmp (&device->box_key, &answer->box_key, sizeof answer->box_key) != 0)
    return sk_fail (error, SK_ERROR_UNTRUSTED, "“%s” gave the id of another device of the vault; it is not let in", answer->name);
  return TRUE;
}

static gboolean
enrol (SkSession *session, SkInvitation *invitation, GError **error)
{
  const SkInviteAnswer *answer = &invitation->answer;
  SkCommand command = { .session = session };
  g_autoptr(SkConfig) before = sk_session_config (session);
  g_autoptr(SkConfig) after = NULL;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  gboolean known;

  if (!look_up (before->members, answer, &known, error))
    return FALSE;
  invitation->yes = TRUE;        /* when what follows fails, it is tried again without asking */
  if (known)
    return TRUE;
  g_ptr_array_add (records, sk_record_new_member (sk_member_build_add (&session->who.vault, &answer->device, answer->name, &answer->sign_key,
                                                                       &answer->box_key, &session->who.device, session->identity,
                                                                       sk_session_wall (session))));
  if (!sk_command_append (&command, records, NULL, NULL, error) || !sk_command_reload (&command, error))
    return FALSE;
  invitation->enrolled = TRUE;
  after = sk_session_config (session);
  if (!sk_members_is_live (after->members, &answer->device))
    return sk_fail (error, SK_ERROR_LIMIT, "The vault has %u devices already, or this device may let nobody in", SK_DEVICES_MAX);
  return TRUE;
}

typedef struct
{
  gint64 storage;
  GArray *positions;
} PositionsCall;

static void
take_further (GArray *positions, GArray *more)
{
  for (guint i = 0; i < more->len; i++)
    {
      const SkPosition *position = &g_array_index (more, SkPosition, i);
      SkPosition *known = (SkPosition *) sk_positions_find (positions, &position->writer);

      if (known == NULL)
        g_array_append_val (positions, *position);
      else if (known->seq < position->seq)
        *known = *position;
    }
}

/* Index thread: what this storage can show, the own log included. Not what came from elsewhere: the newcomer may never see that place. */
static gboolean
read_positions (SkSession *session, gpointer data, GError **error)
{
  PositionsCall *call = data;
  g_autoptr(GArray) read = sk_index_storage_positions (session->index, call->storage, FALSE, error);
  g_autoptr(GArray) written = read != NULL ? sk_index_storage_positions (session->index, call->storage, TRUE, error) : NULL;

  SkPosition own;
  const SkPosition *put;

  if (written == NULL)
    return FALSE;
  put = sk_positions_find (written, &session->who.writer);
  if (sk_index_position (session->index, &session->who.writer, &own) && (put == NULL || put->seq < own.seq))
    return sk_fail (error, SK_ERROR_BUSY, "this device may not publish in this storage yet, so it can let nobody in; see 'skerryctl issues'");
  call->positions = g_array_new (FALSE, FALSE, sizeof (SkPosition));
  take_further (call->positions, read);
  take_further (call->positions, written);
  return TRUE;
}

static gboolean
make_grant (SkSession *session, SkInvitation *invitation, GError **error)
{
  g_autoptr(SkConfig) config = sk_session_config (session);
  g_autoptr(GPtrArray) members = sk_members_records (config->members);
  PositionsCall call = { .storage = invitation->storage_row };
  SkInviteGrant grant = { .keys = config->keys, .members = members, .recovery_sign = session->who.recovery_sign,
                          .recovery_box = session->who.recovery_box, .vault_name = session->who.vault_name };

  if (!sk_session_index (session, read_positions, &call, error))
    return FALSE;
  grant.positions = call.positions;
  invitation->grant = sk_invite_build_grant (invitation->side, &grant, error);
  g_array_unref (call.positions);
  return invitation->grant != NULL;
}

gboolean
sk_invite_admit (SkSession *session, SkInvitation *invitation, GCancellable *cancellable, GError **error)
{
  g_autofree char *name = sk_invite_object_name (&invitation->tag, "grant");

  /* Nothing is appended before the own head was compared (A5). */
  if (!g_atomic_int_get (&session->compared) && !sk_down_pull (session->down, cancellable, error))
    return FALSE;
  if (invitation->grant == NULL
      && (!enrol (session, invitation, error) || !sk_membership_put_epoch (session, invitation->store, cancellable, error)
          || !sk_up_push_now (session->up, invitation->storage_row, cancellable, error) || !make_grant (session, invitation, error)))
    return FALSE;
  if (!sk_invite_litter_note (session, &invitation->storage, &invitation->tag, sk_session_wall (session) + SK_GRANT_KEPT_S, error)
      || !sk_store_put_sync (invitation->store, name, invitation->grant, SK_PUT_OVERWRITE, cancellable, error))
    return FALSE;
  /* From here on nobody else finds an invitation under this code. */
  (void) sk_invite_remove (invitation->store, &invitation->tag, "o", cancellable, NULL);
  sk_watch_expect (session->watcher);
  return TRUE;
}
