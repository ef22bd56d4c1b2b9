/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The newcomer's side of joining (RULES B5; FORMAT.md, "Joining"). Until the grant is opened nothing is written into the home. */
#include "sk-command.h"
#include "sk-invite.h"
#include "sk-limits.h"

#define POLL_FIRST_MS 50
#define POLL_LAST_MS 5000
#define POLL_AGE_PART 20

typedef struct
{
  SkCommand *command;
  SkInviteCode code;
  SkStore *store;
  SkId tag;
  SkInviteSide *side;
  SkIdentity *identity;
  SkDeviceId device;
  const char *device_name;
  GBytes *answer;
  gboolean answered;
  char *words;
  gint64 begun, end;             /* µs of the session's monotonic clock */
} Join;

static void
join_clear (Join *self)
{
  sk_invite_code_clear (&self->code);
  g_clear_object (&self->store);
  g_clear_pointer (&self->side, sk_invite_side_free);
  g_clear_pointer (&self->identity, sk_identity_unref);
  g_clear_pointer (&self->answer, g_bytes_unref);
  g_clear_pointer (&self->words, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Join, join_clear)

static GBytes *
get_part (Join *self, const char *part, GError **error)
{
  g_autofree char *name = sk_invite_object_name (&self->tag, part);

  return sk_store_get_sync (self->store, name, SK_SMALL_OBJECT_MAX, self->command->cancellable, error);
}

static gboolean
fail_void (GError **error)
{
  return sk_fail (error, SK_ERROR_NOT_FOUND,
                  "the invitation was used, refused or has run out, or its engine has ended; ask for a new one on the other device");
}

/* Address and vault come from the code, never from what lies in the storage. */
static gboolean
open_storage (Join *self, GError **error)
{
  SkCommand *command = self->command;
  const char *uri = sk_args_string (command->args, "storage", self->code.storage_uri);

  if (sk_args_string (command->args, "credentials", NULL) != NULL)
    return sk_fail (error, SK_ERROR_UNSUPPORTED, "this kind of storage takes no credentials");
  self->store = sk_store_new (uri, &self->code.vault, command->session->store_pool, error);
  return self->store != NULL
         && sk_store_check_marker_sync (self->store, &self->code.vault, &self->code.storage, command->cancellable, error);
}

static gboolean
read_offer (Join *self, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) offer = NULL;

  sk_invite_tag (&self->code, &self->tag);
  offer = get_part (self, "offer", &local);
  if (offer == NULL && g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
    return fail_void (error);
  if (offer == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  self->side = sk_invite_side_new (&self->code);
  if (!sk_invite_read_offer (self->side, offer, error))
    return FALSE;
  self->identity = sk_identity_new_random ();
  sk_device_id_random (&self->device);
  self->answer = sk_invite_build_answer (self->side, &self->device, self->device_name, self->identity);
  self->words = sk_invite_words (self->side);
  return TRUE;
}

static void
show_words (Join *self)
{
  SkCommand *command = self->command;
  g_autoptr(GVariant) progress = NULL;
  GVariantDict dict;

  if (command->progress == NULL)
    return;
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "text", "s", "Waiting until the other device confirms these words");
  g_variant_dict_insert (&dict, "done", "t", (guint64) 0);
  g_variant_dict_insert (&dict, "total", "t", (guint64) 0);
  g_variant_dict_insert (&dict, "files", "t", (guint64) 0);
  g_variant_dict_insert (&dict, "bytes", "t", (guint64) 0);
  g_variant_dict_insert (&dict, "words", "s", self->words);
  progress = g_variant_ref_sink (g_variant_dict_end (&dict));
  command->progress (progress, command->progress_data);
}

/* Returns at once when cancelled. */
static void
pause_a_moment (Join *self)
{
  gint64 now = sk_clock_now (self->command->session->clock);
  gint64 ms = CLAMP ((now - self->begun) / 1000 / POLL_AGE_PART, POLL_FIRST_MS, POLL_LAST_MS);
  GPollFD fd;

  ms = MIN (ms, MAX ((self->end - now) / 1000, 1));
  if (!g_cancellable_make_pollfd (self->command->cancellable, &fd))
    {
      g_usleep ((gulong) ms * 1000);
      return;
    }
  g_poll (&fd, 1, (int) ms);
  g_cancellable_release_fd (self->command->cancellable);
}

/* An answer of somebody else may lie there; the inviter removes it when it proves nothing. */
static gboolean
put_answer (Join *self, GError **error)
{
  g_autofree char *name = sk_invite_object_name (&self->tag, "answer");
  g_autoptr(GError) local = NULL;

  self->answered = sk_store_put_sync (self->store, name, self->answer, SK_PUT_NONE, self->command->cancellable, &local);
  if (self->answered || g_error_matches (local, SK_ERROR, SK_ERROR_EXISTS))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* One look. FALSE with an error: it is over, or the storage is away (SK_ERROR_OFFLINE, IO: look again). *@granted: @out is filled. */
static gboolean
look_for_grant (Join *self, SkInviteGrant *out, gboolean *granted, GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(GBytes) grant = NULL;
  g_autoptr(GBytes) offer = NULL;

  if (!self->answered && !put_answer (self, error))
    return FALSE;
  grant = get_part (self, "grant", &local);
  if (grant == NULL && g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
    {
      g_clear_error (&local);
      offer = get_part (self, "offer", &local);
      if (offer != NULL)
        return TRUE;
      if (g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
        {
          /* The offer goes after the grant has come: once more. */
          g_clear_error (&local);
          grant = get_part (self, "grant", &local);
          if (grant == NULL && g_error_matches (local, SK_ERROR, SK_ERROR_NOT_FOUND))
            return fail_void (error);
        }
    }
  if (grant == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  *granted = sk_invite_read_grant (self->side, grant, out, error);
  return *granted;
}

/* Whoever can write into the storage can put rubbish under the grant's name, so only what the right inviter can have made ends it. */
static gboolean
is_passing (const GError *error)
{
  return g_error_matches (error, SK_ERROR, SK_ERROR_OFFLINE) || g_error_matches (error, SK_ERROR, SK_ERROR_IO)
         || g_error_matches (error, SK_ERROR, SK_ERROR_CORRUPT) || g_error_matches (error, SK_ERROR, SK_ERROR_LIMIT);
}

static gboolean
wait_for_grant (Join *self, SkInviteGrant *out, GError **error)
{
  g_autoptr(GError) last = NULL;

  for (;;)
    {
      gboolean granted = FALSE;

      g_clear_error (&last);
      if (g_cancellable_set_error_if_cancelled (self->command->cancellable, error))
        return FALSE;
      if (!look_for_grant (self, out, &granted, &last) && !is_passing (last))
        {
          g_propagate_error (error, g_steal_pointer (&last));
          return FALSE;
        }
      if (granted)
        return TRUE;
      if (sk_clock_now (self->command->session->clock) >= self->end)
        break;
      show_words (self);
      pause_a_moment (self);
    }
  if (last != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&last));
      return FALSE;
    }
  return sk_fail (error, SK_ERROR_BUSY, "nobody confirmed on the other device in time; try again with a new invitation");
}

/* Tells the inviter that this device has all it needs, or does not wait any more. Also when the command was cancelled. */
static void
remove_answer (Join *self)
{
  g_autofree char *name = sk_invite_object_name (&self->tag, "answer");
  const char *names[] = { name, NULL };
  g_autoptr(GError) error = NULL;

  if (self->answered && !sk_store_remove_sync (self->store, names, NULL, &error))
    g_message ("the answer to the invitation could not be removed: %s", error->message);
}

static gboolean
settle (Join *self, SkInviteGrant *grant, GError **error)
{
  SkHomeConfig config = { .vault = self->code.vault, .device = self->device, .recovery_sign = grant->recovery_sign,
                          .recovery_box = grant->recovery_box };
  SkNewDevice with = { .storage = self->code.storage, .uri = sk_store_uri (self->store), .members = grant->members,
                       .sponsor = grant->positions };
  gboolean ok;

  sk_id_new_writer (&config.device, &config.writer);
  config.vault_name = g_strdup (grant->vault_name);
  config.device_name = g_strdup (self->device_name);
  ok = sk_command_settle_home (self->command, &config, self->identity, grant->keys, error);
  sk_home_config_clear (&config);
  if (!ok)
    return FALSE;
  remove_answer (self);
  return sk_command_adopt (self->command, &with, error);
}

GVariant *
sk_cmd_vault_join (SkCommand *self, GError **error)
{
  g_auto(Join) join = { .command = self, .device_name = sk_args_string (self->args, "device-name", g_get_host_name ()) };
  SkInviteGrant grant = { 0 };
  GVariantBuilder builder;
  gboolean ok;

  join.begun = sk_clock_now (self->session->clock);
  join.end = join.begun + (gint64) sk_args_number (self->args, "wait") * G_USEC_PER_SEC;
  if (!sk_command_check_home (self, join.device_name, error)
      || !sk_invite_code_parse (sk_args_string (self->args, "code", ""), &join.code, error) || !open_storage (&join, error)
      || !read_offer (&join, error))
    return NULL;
  show_words (&join);
  if (!wait_for_grant (&join, &grant, error))
    {
      remove_answer (&join);
      return NULL;
    }
  ok = settle (&join, &grant, error);
  sk_invite_grant_clear (&grant);
  if (!ok)
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  sk_command_add_vault (self->session, &builder);
  g_variant_builder_add (&builder, "{sv}", "words", g_variant_new_string (join.words));
  return g_variant_builder_end (&builder);
}
